"""Γ against columns that are seen: factors that were put in, closed forms, names and order."""

import numpy as np
import pytest
from counterweight.evaluation.hidden_labels import EITHER, TOLD, column_strengths
from counterweight.numerics.linear import expit, fit_logistic
from counterweight.numerics.sensitivity import joint_gamma

ROWS, SELECTED_BY, DECIDES = 20_000, 4.0, 3.0


def table(seed=0, of_outcome=DECIDES, number=False):
    """A binary column alone decides who has no outcome; it goes with the outcome by a factor."""
    rng = np.random.default_rng(seed)
    u = rng.integers(0, 2, ROWS).astype(float)
    X = np.column_stack([u, rng.normal(size=(ROWS, 3))])
    blank = rng.random(ROWS) < expit(-0.3 + np.log(SELECTED_BY) * u)
    if number:
        y = 2.0 * u + X[:, 1] + rng.normal(size=ROWS)
    else:
        y = (rng.random(ROWS) < expit(-1 + np.log(of_outcome) * u + X[:, 1])).astype(float)
    return X, ~blank, np.where(blank, np.nan, y), np.where(blank, 1 / blank.sum(), 0.0)


def found(X, labeled, y, hidden, names="abcd", **options):
    records = column_strengths(X, list(names), labeled, y, hidden=hidden, **options)
    return {(one["part"], one["metric"], one["variable"]): one["value"] for one in records}


@pytest.fixture(scope="module")
def strengths():
    return found(*table())


def test_a_column_that_alone_decides_who_has_no_outcome_has_the_factor_that_was_put_in(strengths):
    assert strengths["a", "column_gamma", "selection"] == pytest.approx(SELECTED_BY, rel=0.08)
    assert strengths["a", "column_gamma", "outcome"] == pytest.approx(DECIDES, rel=0.2)
    gamma = strengths["a", "column_gamma", ""]
    assert gamma == pytest.approx(joint_gamma(SELECTED_BY, DECIDES), rel=0.08)
    assert [key[0] for key in strengths if key[0] != EITHER][0] == "a"
    for name in "bcd":  # who is labeled does not go by them
        assert strengths[name, "column_gamma", "selection"] < 1.2
        assert strengths[name, "column_gamma", ""] < 1.1


def test_columns_of_chance_have_no_factor_on_the_average():
    factors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(400, 6)), rng.integers(0, 2, 400).astype(float)
        labeled = rng.random(400) < 0.5
        known = found(X, labeled, y, ~labeled / 200, "abcdef")
        factors += [
            v for (_, metric, of), v in known.items() if (metric, of) == ("column_gamma", "")
        ]
    assert np.median(factors) == 1.0 and np.mean(factors) < 1.03


def test_of_a_number_the_factor_is_that_of_a_logistic_law():
    known = found(*table(number=True), binary=False)
    assert known["a", "column_gamma", "outcome"] == pytest.approx(
        np.exp(2 * np.pi / np.sqrt(3)), rel=0.1
    )
    # Without the column rows without an outcome count as labeled ones: 2 times their difference.
    u, labeled = table(number=True)[:2]
    move = 2 * (u[labeled, 0].mean() - u[~labeled, 0].mean())
    assert known["a", "column_move", ""] == pytest.approx(move, abs=0.03)


def test_the_answer_without_a_column_is_that_of_a_fit_without_it(strengths):
    X, labeled, y, hidden = table()
    means = []
    for columns in ([0, 1, 2, 3], [1, 2, 3]):
        rows = X[:, columns]
        coef, constant, *_ = fit_logistic(rows[labeled], y[labeled].astype(int))
        means.append(hidden @ expit(rows @ coef + constant))
    assert abs(means[1] - means[0]) > 0.05
    assert strengths["a", "column_move", ""] == pytest.approx(means[1] - means[0], abs=0.004)


def test_neither_names_nor_order_of_columns_or_rows_count(strengths):
    X, labeled, y, hidden = table()
    columns, rows = [2, 0, 3, 1], np.random.default_rng(9).permutation(ROWS)
    told = {EITHER: EITHER, "a": "zz", "b": "yy", "c": "xx", "d": "ww"}
    again = found(
        X[rows][:, columns],
        *(values[rows] for values in (labeled, y, hidden)),
        [told["abcd"[at]] for at in columns],
    )
    assert {told[key[0]] for key in strengths} == {key[0] for key in again}
    for (name, *rest), value in strengths.items():
        assert again[(told[name], *rest)] == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_features_of_one_column_go_together_and_the_strongest_columns_are_told():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 40))
    labeled = rng.random(3000) < expit(X[:, 0] - X[:, 1] + 0.3 * X[:, 2])
    y = np.where(labeled, (rng.random(3000) < expit(X[:, 0] - X[:, 1])) * 1.0, np.nan)
    names = ["pair", "pair", *(f"x{at}" for at in range(2, 40))]
    known = found(X, labeled, y, ~labeled / 3000, names)
    parts = list(dict.fromkeys(part for part, *_ in known))
    assert {*parts[:2]} == {EITHER, "pair"} and len(parts) <= TOLD + 1
    assert known[EITHER, "column_gamma", ""] >= known["pair", "column_gamma", ""]


def test_answers_range_over_what_the_columns_gamma_allows(strengths):
    known = found(*table(), span=lambda gammas: (-gammas, gammas))
    for name in ("a", "b", EITHER):
        gamma = known[name, "column_gamma", ""]
        assert known[name, "column_range", "least"] == -gamma
        assert known[name, "column_range", "most"] == gamma
    factors = ("selection", "outcome")
    largest = [max(known[one, "column_gamma", of] for one in "abcd") for of in factors]
    assert [known[EITHER, "column_gamma", of] for of in factors] == largest
    assert not any(metric == "column_range" for _, metric, _ in strengths)


def test_nothing_is_told_of_too_few_rows_or_one_column():
    X, labeled, y, hidden = table()
    assert found(X[:, :1], labeled, y, hidden, "a") == {}
    few = labeled & (np.cumsum(labeled) <= 10)
    assert found(X, few, y, hidden) == {}
    assert found(X, labeled, np.zeros(ROWS), hidden) == {}


def test_a_column_that_has_no_part_in_the_outcome_is_no_measure_of_a_hidden_one(strengths):
    known = found(*table(), excluded="a")
    assert "a" not in {part for part, *_ in known}
    for place, value in known.items():
        if place[0] != EITHER:
            assert value == strengths[place]
    assert known[EITHER, "column_gamma", ""] < strengths[EITHER, "column_gamma", ""]
