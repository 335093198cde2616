"""The language of rates: texts, data sets, coefficients and measures."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.rates import DataSets, measure, parse_expression
from counterweight.numerics.rates import compile as compile_rates
from counterweight.numerics.rates.language import RATES, Rate
from counterweight.numerics.rates.values import (
    ROUNDING,
    affine,
    constant_rule,
    constraint_values,
    ratio_base,
    verdict,
    verdicts_of,
)
from rated_rows import world
from scipy.stats import norm


def counts(data, p, mask, weight):
    """Direct weighted counts of a deterministic or randomised prediction."""
    positive, d = data.y == 1, data.deployed > 0
    seen = mask & (data.y >= 0)
    w = np.where(seen, data.weight, 0)
    tp, fn = (w * positive * p).sum(), (w * positive * (1 - p)).sum()
    fp, tn = (w * ~positive * p).sum(), (w * ~positive * (1 - p)).sum()
    v = np.where(mask, weight, 0)
    changes = (v * np.where(d, 1 - p, p)).sum()
    right, before = np.where(positive, p, 1 - p), positive == d
    wins, losses = (w * right * ~before).sum(), (w * (1 - right) * before).sum()
    return {
        "coverage": (v * p).sum() / v.sum(),
        "negative_rate": (v * (1 - p)).sum() / v.sum(),
        "error": (fp + fn) / w.sum(),
        "accuracy": (tp + tn) / w.sum(),
        "recall": tp / (tp + fn),
        "false_negative_rate": fn / (tp + fn),
        "false_positive_rate": fp / (fp + tn),
        "true_negative_rate": tn / (fp + tn),
        "precision": tp / (tp + fp),
        "fmeasure": 2 * tp / (2 * tp + fp + fn),
        "true_positives": tp,
        "true_negatives": tn,
        "false_positives": fp,
        "false_negatives": fn,
        "errors": fp + fn,
        "churn": changes / v.sum(),
        "changes": changes,
        "wins": wins,
        "losses": losses,
        "win_rate": wins / w.sum(),
        "loss_rate": losses / w.sum(),
    }


@pytest.mark.parametrize("name", RATES)
def test_every_rate_equals_its_direct_count(name):
    data, p, _ = world()
    a, b = data.members["a"], data.members["b"]
    ones = np.ones(len(p))
    cases = {
        "a": (a, ones),
        "a & b": (a & b, ones),
        "a & b | unlabeled & d3": (a & b | (data.y < 0) & data.members["d3"], ones),
        "everyone": (ones > 0, ones),
        "labeled": (data.y >= 0, data.weight),
        "a & labeled": (a & (data.y >= 0), data.weight),
    }
    for sets, (mask, weight) in cases.items():
        found = measure(p, data, {"m": f"{name}({sets})"})["m"]
        for value, prediction in zip(found, (p > 0.5, p), strict=True):
            assert value == pytest.approx(counts(data, prediction, mask, weight)[name], rel=1e-12)


@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_the_f_measure_is_scikit_learns(beta):
    from sklearn.metrics import f1_score, fbeta_score

    data, p, _ = world()
    seen = data.members["a"] & (data.y >= 0)
    texts = {"f": f"fmeasure(a, {beta})", "one": "f1(a)", "old": f"deployed_fmeasure(a, {beta})"}
    found = measure(p, data, texts)
    y, w = data.y[seen], data.weight[seen]
    decided = p[seen] > 0.5
    own = fbeta_score(y, decided, beta=beta, sample_weight=w)
    assert found["f"][0] == pytest.approx(own, rel=1e-12)
    assert found["one"][0] == pytest.approx(f1_score(y, decided, sample_weight=w), rel=1e-12)
    before = fbeta_score(y, data.deployed[seen] > 0, beta=beta, sample_weight=w)
    assert found["old"] == pytest.approx((before, before), rel=1e-12)
    assert str(parse_expression("fmeasure(a, 2)")) == "fmeasure(a, 2)"


def test_changes_equal_wins_plus_losses_where_all_is_labeled():
    data, p, _ = world(weighted=False)
    found = measure(p, data, {"m": "changes(a & labeled) - wins(a, deployed) - losses(a)"})
    assert np.allclose(found["m"], 0, atol=1e-10)


@pytest.mark.parametrize(
    ("left", "sign", "right"),
    [
        ("coverage(a)", "<=", "coverage(b) / kappa"),
        ("2 * recall(a) - 3 * (churn(d3) - 0.5)", ">=", "error(labeled) - 1 / 4"),
        ("errors(a) + false_positives(b) * 2", "<=", "wins(a) - losses(b) + 7"),
        ("coverage(a & b) + coverage(everyone)", ">=", "target - coverage(b)"),
        ("recall(a)", ">=", "deployed_recall(a) - 0.02"),
        ("-accuracy(labeled)", "<=", "-0.5"),
    ],
)
def test_coefficients_reproduce_what_is_measured(left, sign, right):
    data, _, rng = world()
    parameters = {"kappa": 0.8, "target": 0.3}
    made = compile_rates(
        "error(a) + 2 * churn(d3) - recall(b)", [f"{left} {sign} {right}"], data, parameters
    )
    assert (made.positive >= 0).all()
    assert (made.negative >= 0).all()
    assert not (made.positive * made.negative).any()
    for _ in range(3):
        p = rng.random(len(data))
        value = made.positive @ p + made.negative @ (1 - p) + made.constants
        asked = measure(
            p,
            data,
            {"o": "error(a) + 2 * churn(d3) - recall(b)", "l": left, "r": right},
            parameters,
        )
        difference = (asked["l"][1] - asked["r"][1]) * (1 if sign == "<=" else -1)
        assert value[0] == pytest.approx(asked["o"][1], abs=1e-12)
        assert value[1] - made.bounds[0] == pytest.approx(difference, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("sign", [">=", "<="])
def test_a_bound_on_precision_holds_exactly_when_the_coefficients_do(sign):
    data, _, rng = world()
    for level in (0.2, 0.38, 0.6):
        made = compile_rates("error(labeled)", [f"precision(labeled) {sign} {level}"], data)
        for _ in range(5):
            p = rng.random(len(data))
            over = (
                made.positive[1] @ p
                + made.negative[1] @ (1 - p)
                + made.constants[1]
                - made.bounds[0]
            )
            c = counts(data, p, data.y >= 0, data.weight)
            total = data.weight[data.y >= 0].sum()
            asked = level * c["false_positives"] - (1 - level) * c["true_positives"]
            assert over == pytest.approx((1 if sign == ">=" else -1) * asked / total, abs=1e-12)
            assert (over <= 0) == ((c["precision"] >= level) == (sign == ">="))


@pytest.mark.parametrize("sign", [">=", "<="])
@pytest.mark.parametrize("beta", [0.5, 1, 3])
def test_a_bound_on_the_f_measure_is_linear_when_it_is_multiplied_out(sign, beta):
    data, _, rng = world()
    seen = data.members["a"] & (data.y >= 0)
    total = data.weight[seen].sum()
    for level in (0.2, 0.43, 0.6):
        text = f"fmeasure(a, {beta}) {sign} {level}"
        made = compile_rates("error(labeled)", [text], data)
        for _ in range(5):
            p = rng.random(len(data))
            value = made.positive[1] @ p + made.negative[1] @ (1 - p) + made.constants[1]
            over = value - made.bounds[0]
            c, b = counts(data, p, data.members["a"], data.weight), beta**2
            top = (1 + b) * c["true_positives"]
            bottom = top + c["false_positives"] + b * c["false_negatives"]
            asked = (level * bottom - top) / total
            assert over == pytest.approx(asked if sign == ">=" else -asked, abs=1e-12)
            found = measure(p, data, {"f": f"fmeasure(a, {beta})"})["f"][1]
            assert (over <= 0) == ((found >= level) == (sign == ">="))


def test_whole_weights_equal_repeated_rows():
    data, p, rng = world()
    times = rng.integers(0, 4, len(p))
    again = np.repeat(np.arange(len(p)), times)
    weighted = DataSets(data.X, data.y, times, data.members, data.deployed)
    repeated = DataSets(
        data.X[again],
        data.y[again],
        None,
        {name: mask[again] for name, mask in data.members.items()},
        data.deployed[again],
    )
    texts = {
        "e": "error(a)",
        "r": "recall(b)",
        "w": "wins(a)",
        "c": "coverage(labeled)",
        "p": "precision(a) / false_positive_rate(b)",
    }
    one, other = measure(p, weighted, texts), measure(p[again], repeated, texts)
    for name in texts:
        assert np.allclose(one[name], other[name], rtol=1e-12)


def test_standard_errors_match_resampled_rows():
    data, p, rng = world(n=1500)
    texts = {
        "ratio": "coverage(a) / coverage(b)",
        "recall": "recall(a)",
        "fp": "errors(a)",
        "precision": "precision(labeled)",
        "f": "fmeasure(a, 2)",
    }
    found = measure(p, data, texts, errors=True)
    draws = []
    for _ in range(400):
        i = rng.integers(0, len(p), len(p))
        again = DataSets(
            None, data.y[i], data.weight[i], {name: mask[i] for name, mask in data.members.items()}
        )
        draws.append([value for pair in measure(p[i], again, texts).values() for value in pair])
    spread = np.std(draws, axis=0)
    formula = [value for name in texts for value in found[name][2:]]
    assert np.allclose(formula, spread, rtol=0.15)


def test_what_cannot_be_measured_is_nan_when_asked():
    data = DataSets(None, np.array([0, 1]))
    texts = {"c": "churn(everyone)", "r": "recall(everyone)", "p": "precision(everyone)"}
    found = measure(np.array([0.2, 0.4]), data, texts, errors=True, undefined="nan")
    assert np.isnan(found["c"]).all()
    again = data.measure(np.array([0.2, 0.4]), texts, {"kappa": 0.5, "loss": "ramp"})
    assert again["r"] == found["r"][:2]
    with pytest.raises(CounterweightError, match="no data set"):
        data.measure(np.array([0.2, 0.4]), {"r": "recall(everybody)"})
    assert found["r"][:2] == (0, 0.4)
    assert np.isnan(found["p"][0])
    assert found["p"][1] == pytest.approx(0.4 / 0.6)


def test_rates_of_the_deployed_model_are_numbers():
    data, p, _ = world()
    found = measure(p, data, {"r": "deployed_recall(a)", "p": "deployed_precision(labeled)"})
    now = (data.deployed > 0).astype(float)
    again = measure(now, data, {"r": "recall(a)", "p": "precision(labeled)"})
    assert found["r"] == pytest.approx(again["r"])
    assert found["p"] == pytest.approx(again["p"])


def test_a_verdict_goes_by_the_end_of_the_interval_and_a_fact_by_itself():
    edge = ROUNDING
    assert verdict(-0.1, -0.2, edge) == "kept" and verdict(-0.1, -0.2, 2 * edge) == "undecided"
    assert verdict(0.1, edge, 0.2) == "undecided" and verdict(0.1, 2 * edge, 0.2) == "broken"
    assert verdict(edge, -1, 1, fact=True) == "kept"
    assert verdict(2 * edge, -1, 1, fact=True) == "broken"
    assert verdict(np.nan, -1, 1, fact=True) == "undecided"


def test_intervals_are_normal_ones_with_what_few_rows_add():
    y = np.array([1, 1, 0, 0, 1, 0, 1, 0, 0, 0])
    data = DataSets(None, y, None, {"a": np.arange(10) < 4})
    p = np.linspace(0, 0.9, 10)
    (both,) = constraint_values(p, None, data, ["coverage(a) <= 0.3"], level=0.9)
    assert both[1, :3] == pytest.approx([0.15, 0.3, -0.15])
    spread = ((p[:4] - 0.15) ** 2).sum() / 16
    z = norm.ppf(0.95)
    assert both[1, 3] == pytest.approx(np.sqrt(spread + z**2 / (4 * 16)))
    (_, by_chance) = verdicts_of([both], ["coverage(a) <= 0.3"], "test", 0.9)
    assert by_chance.high - by_chance.low == pytest.approx(2 * z * both[1, 3])
    assert by_chance.excess == pytest.approx(-0.15) and by_chance.constraint == "coverage(a) <= 0.3"
    # The interval holds 0, so new rows leave it open; of rows that were trained on it is a fact.
    assert by_chance.low < 0 < by_chance.high and by_chance.verdict == "undecided"
    (_, fact) = verdicts_of([both], ["coverage(a) <= 0.3"], "training", 0.9)
    assert fact.verdict == "kept" and fact[3:-1] == by_chance[3:-1]
    (above,) = constraint_values(p, None, data, ["coverage(a) >= 0.3"])
    assert above[1, 2] == pytest.approx(0.15)


def test_what_a_ratio_is_a_share_of():
    data = DataSets(None, [1, 1, 0, 0, -1], [1.0, 2.0, 1.0, 1.0, 1.0])
    p = np.array([1.0, 0.5, 0.5, 0.0, 1.0])
    precision, churn = Rate("precision", (("labeled",),)), Rate("churn", (("labeled",),))
    assert ratio_base(precision, p, data) == pytest.approx((1 + 1 + 0.5) / 5)
    assert ratio_base(churn, p, data) == 1.0
    f2 = Rate("fmeasure", (("labeled",),), beta=2.0)
    assert ratio_base(f2, p, data) == pytest.approx((5 * 2 + 0.5 + 4 * 1) / 5)


def test_an_affine_form_adds_and_scales_rates_and_numbers():
    data = DataSets(None, [1, 0], None, {"a": [True, True]}, np.array([1.0, -1.0]))
    a, b = Rate("recall", (("a",),)), Rate("coverage", (("a",),))
    for text, constant, terms in (
        ("1 - 2 * recall(a) / kappa", 1.0, {a: -4.0}),
        ("(recall(a) - coverage(a)) * 3 - 2", -2.0, {a: 3.0, b: -3.0}),
        ("deployed_coverage(a) + kappa / 0.25 - -1", 3.5, {}),
        ("recall(a) - recall(a)", 0.0, {a: 0.0}),
    ):
        assert affine(parse_expression(text), data, {"kappa": 0.5}) == (constant, terms), text


def trivial(slope, no, bounds, changes, before):
    """A problem of which objective and constraints are these at chance 0, and change by these."""
    positive = np.r_[no + slope, np.add(before, changes)][:, None]
    negative = np.r_[no, before][:, None]
    return SimpleNamespace(
        positive=positive,
        negative=negative,
        constants=np.zeros(len(positive)),
        bounds=np.array(bounds),
    )


@pytest.mark.parametrize(
    ("slope", "bounds", "changes", "before", "chance", "keeps"),
    [
        (-1.0, [0.3], [1.0], [0.0], 0.3, True),  # a yes is good, and is bounded above
        (-1.0, [0.3, 0.2], [1.0, 1.0], [0.0, 0.0], 0.2, True),
        (1.0, [-0.4], [-1.0], [0.0], 0.4, True),  # a yes costs, and some are asked for
        (1.0, [0.3], [1.0], [0.0], 0.0, True),
        (0.0, [0.3], [1.0], [0.0], 0.0, True),
        (-1.0, [5.0], [0.0], [4.0], 1.0, True),  # of no chance of a yes: kept
        (-1.0, [3.0], [0.0], [4.0], 1.0, False),  # and broken by everybody
        (1.0, [0.2, -0.5], [1.0, -1.0], [0.0, 0.0], 0.0, False),  # they contradict each other
        (1.0, [0.5, -0.5], [1.0, -1.0], [0.0, 0.0], 0.5, True),  # they leave one chance
        (1.0, [0.3, -0.1], [1.0, -1 / 3], [0.0, 0.0], 0.3, True),  # and so up to sums
        (-1.0, [0.0, 0.0], [0.03, -0.1], [0.0, 0.0], 0.0, True),  # no yes keeps the first
    ],
)
def test_the_best_rule_that_looks_at_nobody(slope, bounds, changes, before, chance, keeps):
    found = constant_rule(trivial(slope, 2.0, bounds, changes, before))
    assert found.chance == pytest.approx(chance, abs=2e-6) and found.keeps is keeps
    assert found.cost == pytest.approx(2.0 + slope * chance, abs=2e-6)
    words = {0.0: "a no to everybody", 1.0: "a yes to everybody"}
    assert found.words == words.get(
        found.chance, f"a yes to {100 * chance:.3g} % of the people, drawn at random"
    )
