"""Several models made one: factors, the constant, and what is told of a row."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.missing_outcomes import OutOfFold
from counterweight.models.score_models import (
    FOLDS,
    CombinedModel,
    InTime,
    combined_out_of_fold,
    scores_of,
    through,
    write_stacked,
)
from counterweight.numerics.linear import centred, factor_to, fitted_factors
from scipy.special import expit


def rows(binary, seed=0, count=4000):
    rng = np.random.default_rng(seed)
    right, noise = rng.normal(size=count), rng.normal(size=count)
    y = rng.random(count) < expit(1.5 * right - 1) if binary else right + rng.normal(size=count)
    return np.column_stack([right, noise]), y.astype(float), rng.random(count) + 0.5


@pytest.mark.parametrize(("binary", "factor"), [(True, 1.5), (False, 1.0)])
def test_the_right_part_gets_its_factor_and_noise_next_to_none(binary, factor):
    scores, y, weight = rows(binary)
    factors, constant = fitted_factors(scores, y, weight, binary)
    assert factors[0] == pytest.approx(factor, abs=0.12) and 0 <= factors[1] < 0.1
    assert constant == pytest.approx(-1 if binary else 0, abs=0.12)


def test_a_part_that_points_the_wrong_way_gets_nothing():
    scores, y, weight = rows(True)
    factors, _ = fitted_factors(np.column_stack([scores[:, 0], -scores[:, 0]]), y, weight, True)
    assert factors[1] == 0


@pytest.mark.parametrize("binary", [True, False])
def test_weighted_residuals_sum_to_nothing(binary):
    scores, y, weight = rows(binary)
    factors, constant = fitted_factors(scores, y, weight, binary)
    score = scores @ factors + constant
    assert weight @ (y - (expit(score) if binary else score)) == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("copies", [1, 10])
def test_copies_of_all_rows_change_no_factor(copies):
    scores, y, weight = rows(True, count=60)
    once = fitted_factors(scores, y, weight, True)
    told = (
        np.tile(part, (copies, 1)) if part.ndim > 1 else np.tile(part, copies)
        for part in (scores, y, weight)
    )
    again = fitted_factors(*told, True, copies)
    assert again[0] == pytest.approx(once[0], abs=1e-5) and again[1] == pytest.approx(
        once[1], abs=1e-5
    )


@pytest.mark.parametrize("score", [np.zeros(50), np.linspace(-30, 30, 50), np.full(50, 40.0)])
def test_the_constant_is_found_wherever_scores_lie(score):
    y = (np.arange(50) % 5 == 0).astype(float)
    constant = centred(score, y, np.ones(50), True)
    assert expit(score + constant).mean() == pytest.approx(0.2, abs=1e-9)


def test_a_row_says_nothing_of_its_own_prediction():
    scores, y, weight = rows(True, count=200)
    fold = np.arange(200) % 5
    before = combined_out_of_fold(scores, y, weight, fold, True)
    changed = y.copy()
    changed[fold == 2] = 1 - changed[fold == 2]
    after = combined_out_of_fold(scores, changed, weight, fold, True)
    assert (before[fold == 2] == after[fold == 2]).all() and (before != after).any()


class Part:
    """A linear score of one column."""

    binary = True

    def __init__(self, column):
        self.column = column

    def score(self, rows):
        return rows.values[:, self.column]

    def explained(self, rows):
        parts = np.zeros(rows.values.shape)
        parts[:, self.column] = self.score(rows) - 1.0
        return self.score(rows), 1.0, parts


class Rows:
    names = ["a", "b"]

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)


def test_contributions_sum_to_the_score():
    told = Rows(np.random.default_rng(0).normal(size=(30, 2)))
    model = CombinedModel([Part(0), Part(1)], [0.7, 0.2], -0.3)
    score, base, parts = model.explained(told)
    assert score == pytest.approx(model.score(told)) and score == pytest.approx(
        base + parts.sum(axis=1)
    )
    assert model.predict(told) == pytest.approx(expit(told.values @ [0.7, 0.2] - 0.3))
    assert model.shares == pytest.approx([7 / 9, 2 / 9])


@pytest.mark.parametrize("amounts", [False, True])
def test_a_model_at_the_level_of_rows_has_their_weighted_mean(amounts):
    rng = np.random.default_rng(3)
    rows, weight = Rows(rng.normal(size=(50, 2))), rng.random(50)
    y = rng.gamma(2.0, size=50) if amounts else (rng.random(50) < 0.3).astype(float)
    parts = [Part(0), Part(1)]
    parts[0].binary = not amounts
    model = CombinedModel(parts, [0.7, 0.2], 0.4, amounts)
    factor, constant = model.level_of(rows, y, weight)
    # By a constant, of amounts by a factor: the order of rows stays.
    assert constant == 0 if amounts else factor == 1
    within = factor * model.score(rows) + constant
    assert np.average(model.answers(within), weights=weight) == pytest.approx(
        weight @ y / weight.sum()
    )
    # Of a table in time it is the level of all rows but the later ones, told or explained.
    made, later = InTime(model, (factor, constant), np.arange(10)), model.score(rows)
    told = Rows(rows.values)
    told.row = np.arange(50)
    assert made.predict(told)[10:] == pytest.approx(model.answers(within)[10:])
    assert made.predict(told)[:10] == pytest.approx(model.answers(later)[:10])
    assert made.answers(made.explained(told)[0]) == pytest.approx(made.predict(told))


@pytest.mark.parametrize("amounts", [False, True])
def test_a_model_of_a_number_is_moved_to_a_mean(amounts):
    rng = np.random.default_rng(4)
    rows, weight = Rows(rng.normal(size=(50, 2))), rng.random(50)
    parts = [Part(0), Part(1)]
    parts[0].binary = False
    model = CombinedModel(parts, [0.7, 0.2], 0.4, amounts)
    before = model.predict(rows)
    model.move_to(2.5, rows, weight)
    after = model.predict(rows)
    assert np.average(after, weights=weight) == pytest.approx(2.5)
    # As a whole: of amounts by a factor, so that none falls below 0.
    changed = after / before if amounts else after - before
    assert changed == pytest.approx(changed[0])


def test_what_time_would_add_is_its_slope_times_how_much_later_rows_without_an_outcome_are():
    rng, n = np.random.default_rng(5), 400
    time, later = rng.permutation(n).astype(float), np.zeros(n, bool)
    early = rng.random(n) < 1 - time / n
    flat = SimpleNamespace(score=lambda rows: np.zeros(len(rows)), answers=lambda score: score)

    def moved(y, seen, later=later, chance=None):
        data = SimpleNamespace(labeled=seen, later=later, weight=np.ones(n), y=y)
        data.encoded = SimpleNamespace(take=lambda rows: np.zeros(rows.sum()))
        return InTime(flat, (1.0, y[seen].mean()), []).by_time(data, time, chance)

    # Without noise the move is what truth is off by, whatever the weights of labeled rows.
    steady = 3.0 * time / n
    add, sure = moved(steady, early)
    assert add == pytest.approx(steady[~early].mean() - steady[early].mean(), rel=0.02)
    assert sure > 5
    some = moved(steady, early, chance=np.where(time < 200, 0.8, 0.2))[0]
    weight = np.where(time < 200, 0.25, 4.0)[early]
    expected = steady[~early].mean() - np.average(steady[early], weights=weight)
    assert some == pytest.approx(expected, rel=0.05)
    # Nothing, where outcomes do not change with time, or time does not tell who has one.
    noise = rng.normal(size=n)
    assert moved(noise, early)[1] < 3 and moved(steady + noise, rng.random(n) < 0.5)[1] < 3
    assert moved(steady, early, later=~early) == (0.0, 0.0)  # later ones are told otherwise


def test_scores_are_log_odds_within_bounds():
    assert scores_of(np.array([0.5, 0.0, 1.0]), True) == pytest.approx(
        [0, -27.631, 27.631], abs=1e-3
    )
    assert (scores_of(np.array([-3.0, 8.0]), False) == [-3, 8]).all()


def test_a_factor_a_part():
    with pytest.raises(CounterweightError, match="2 models have 1 factors"):
        CombinedModel([Part(0), Part(1)], [1.0], 0.0)


def spent(count=800, seed=0):
    """Predictions of amounts by a fit that is right and one of noise, and the amounts."""
    rng = np.random.default_rng(seed)
    right, noise = rng.gamma(1, 3, count), rng.gamma(1, 3, count)
    y = right * rng.gamma(0.5, 2, count) * (rng.random(count) < 0.8)
    return np.column_stack([right, noise]), y, rng.random(count) + 0.5


def test_what_is_combined_of_amounts_is_from_0_up_and_has_their_mean():
    scores, y, weight = spent()
    factors, constant = fitted_factors(scores, y, weight, False, amounts=True)
    assert factors.min() >= 0 and constant >= 0 and factors[0] > 5 * factors[1]
    assert weight @ (y - scores @ factors - constant) == pytest.approx(0, abs=1e-8)
    # Of noise alone the mean is left, where rows are many beside those that hold the factors.
    scores, y, weight = spent(8000)
    factors, constant = fitted_factors(scores[:, 1:], y, weight, False, amounts=True)
    assert constant > 0.5 * np.average(y, weights=weight) and factors[0] < 0.4
    fold = np.arange(len(y)) % 5
    assert combined_out_of_fold(scores, y, weight, fold, False, True).min() >= 0
    assert (scores_of(np.array([-3.0, 8.0]), False, True) == [0, 8]).all()
    assert factor_to(scores[:, 0], y, weight) * (weight @ scores[:, 0]) == pytest.approx(weight @ y)


def test_a_few_large_amounts_do_not_choose_the_factors():
    """Of money with a heavy tail, factors differ less between samples than by plain squares."""
    rng = np.random.default_rng(4)
    right = np.exp(rng.normal(size=4000))
    scores = np.column_stack([right, right.mean() * rng.gamma(4, 0.25, 4000)])
    y = right * np.exp(rng.normal(0, 1.3, 4000) - 1.3**2 / 2)
    apart = {}
    for most in (np.inf, 1e9):  # a largest that none is near: plain squares
        found = [
            fitted_factors(scores[part], y[part], np.ones(200), False, amounts=True, most=most)[0]
            for part in np.split(np.arange(4000), 20)
        ]
        apart[most] = np.std([factors[0] for factors in found])
    assert apart[np.inf] < 0.75 * apart[1e9]


def test_amounts_with_a_largest_are_not_above_it_and_have_the_mean_of_outcomes():
    scores, y, weight = spent()
    y = np.minimum(y, 4.0)
    factors, constant = fitted_factors(scores, y, weight, False, amounts=True, most=4.0)
    p = np.minimum(scores @ factors + constant, 4.0)
    assert (p == 4.0).any() and weight @ (y - p) == pytest.approx(0, abs=1e-8)
    factor = factor_to(scores[:, 0], y, weight, 4.0)
    assert factor > factor_to(scores[:, 0], y, weight)
    assert weight @ (y - np.minimum(factor * scores[:, 0], 4.0)) == pytest.approx(0, abs=1e-8)
    fold = np.arange(len(y)) % 5
    assert combined_out_of_fold(scores, y, weight, fold, False, True, 4.0).max() == 4.0
    assert (scores_of(np.array([-3.0, 8.0]), False, True, 4.0) == [0, 4]).all()
    # The mean of outcomes that are all at the largest cannot be met by any factor.
    assert np.isfinite(factor_to(scores[:, 0], np.full(len(y), 5.0), weight, 4.0))
    parts = [Part(0), Part(1)]
    for part in parts:
        part.binary = False
    model = CombinedModel(parts, [3.0, 2.0], 0.5, True, 4.0)
    told = Rows(np.random.default_rng(0).normal(size=(50, 2)) + 1)
    assert model.predict(told).max() == 4.0 < model.score(told).max()
    model.move_to(1.5, told, np.ones(50))
    assert model.predict(told).mean() == pytest.approx(1.5)


class Linked:
    """Parts whose answers are a function of a score, as `EncodedModel` tells them."""

    binary = False

    def __init__(self, answers):
        self.answers, self.part = answers, Part(0)

    def score(self, rows):
        return self.answers(self.part.score(rows))

    def explained(self, rows):
        return through(self.answers, *self.part.explained(rows))


def test_contributions_sum_to_the_amount_through_a_link():
    told = Rows(np.r_[np.random.default_rng(0).normal(size=(30, 2)), [[1.0, 0.0]]])
    parts = [Linked(np.exp), Linked(lambda score: score)]
    model = CombinedModel(parts, [0.7, 0.2], 0.1, amounts=True)
    score, base, added = model.explained(told)
    assert score == pytest.approx(base + added.sum(axis=1))
    x = told.values[:, 0]
    expected = 0.7 * np.exp(x) + 0.2 * np.maximum(x, 0) + 0.1
    assert score == pytest.approx(expected) and model.predict(told) == pytest.approx(expected)
    assert (x < 0).any() and model.predict(told).min() >= 0


def test_where_the_other_folds_tell_nothing_scores_count_alike():
    scores = np.random.default_rng(2).normal(size=(6, 2))
    fold, y, weight = np.repeat([0, 1], 3), np.repeat([1.0, 0.0], 3), np.ones(6)
    made = combined_out_of_fold(scores, y, weight, fold, True)
    np.testing.assert_allclose(made[:3], expit(scores[:3].mean(axis=1)))
    amounts = combined_out_of_fold(np.abs(scores), y, weight, fold, False, True)
    np.testing.assert_allclose(amounts[:3], np.abs(scores[:3]).mean(axis=1))


@pytest.mark.parametrize("apart", [False, True])
def test_factors_are_written_with_predictions_that_saw_no_row_of_the_fold(apart, tmp_path):
    scores, y, weight = rows(True, count=120)
    folds = np.stack([np.arange(120) % FOLDS, np.arange(120)[::-1] % FOLDS])
    chances = [np.stack([expit(own), expit(0.9 * own)]) for own in scores.T]
    tested = OutOfFold(
        np.arange(120) + 7, y, weight, np.ones(120), None, chances, folds, weight / 240, True
    )
    hidden = replace(tested, weight=weight[::-1].copy())
    if apart:
        tested.apart = lambda: (tested, hidden)
    given = {"target": "unlabeled" if not apart else "general", "parts": ["a", "b"], "apart": apart}
    output = SimpleNamespace(model=tmp_path / "m.parquet", predictions=tmp_path / "p.parquet")
    log = SimpleNamespace(info=lambda *told: None)
    write_stacked(SimpleNamespace(given=given, output=output, log=log), tested)
    told = pd.read_parquet(output.predictions)
    whom = {"general": tested, "unlabeled": hidden} if apart else {"unlabeled": tested}
    assert {*told["target"]} == {*whom} and len(told) == 240 * len(whom)
    for name, of in whom.items():
        own = told[told["target"] == name]
        share = of.to_hidden("general" if apart else name)
        for draw in range(2):
            part = own[(own["repeat"] - 1) // FOLDS == draw].sort_values("row")
            assert (part["row"] == tested.row).all()
            assert ((part["repeat"] - 1) % FOLDS == folds[draw]).all()
            log_odds = np.column_stack([np.log(p[draw] / (1 - p[draw])) for p in chances])
            expected = combined_out_of_fold(log_odds, y, share, folds[draw], True)
            np.testing.assert_allclose(part["p"], expected, atol=1e-6)


def test_where_a_score_is_the_mean_score_contributions_go_by_the_slope():
    parts = np.array([[0.5, -0.5], [0.2, -0.2], [1.0, 1.0]])
    raw, base = 0.7 + parts.sum(axis=1), 0.7
    value, begun, told = through(expit, raw, base, parts)
    slope = expit(0.7) * (1 - expit(0.7))
    np.testing.assert_allclose(told[:2], parts[:2] * slope, rtol=1e-5)
    np.testing.assert_allclose(begun + told.sum(axis=1), value, atol=1e-12)
