"""The language of rates: texts, data sets, coefficients and measures."""

import subprocess
import sys
from graphlib import TopologicalSorter

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.rates import DataSets, measure, parse_constraint, parse_expression
from counterweight.numerics.rates import compile as compile_rates
from counterweight.numerics.rates.language import RATES, check_text
from counterweight.plan import components, digests


def world(n=400, seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    y = rng.choice([0, 1, -1], n, p=[0.5, 0.3, 0.2]).astype(np.int8)
    members = {"a": rng.random(n) < 0.6, "b": rng.random(n) < 0.3, "d3": rng.random(n) < 0.5}
    weight = rng.uniform(0.2, 3, n) if weighted else None
    data = DataSets(rng.normal(size=(n, 3)), y, weight, members, rng.normal(size=n))
    return data, rng.random(n), rng


def test_modules_import_in_one_direction_and_nothing_above_numerics():
    folder = components.PACKAGE / "numerics" / "rates"
    graph = {
        f"counterweight.numerics.rates.{path.stem}": digests.imports(path)
        for path in folder.glob("[!_]*.py")
    }
    assert list(TopologicalSorter(graph).static_order())
    above = {name for names in graph.values() for name in names if ".numerics" not in name}
    assert above <= {"counterweight.errors"}


def test_texts_are_checked_without_numpy():
    code = "import sys, counterweight.numerics.rates.language; sys.exit('numpy' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=components.PACKAGE.parent).returncode == 0
    )


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


def test_groups_of_any_number_are_compared_in_every_ordered_pair():
    from itertools import permutations

    sets = ["a", "b & d3", "d3", "unlabeled | a"]
    for level in (", 0.7", "; 0.7", "; kappa", ", kappa", ", (kappa)", "; rho / 2"):
        k = level.strip(",; ")
        k = f"({k})" if "/" in k else k
        given = ", ".join(sets)
        for name in ("parity", "demographic_parity"):
            told = [plain.text for plain in parse_constraint(f"{name}({given}{level})")]
            assert told == [
                f"coverage({a}) >= {k} * coverage({b})" for a, b in permutations(sets, 2)
            ]
        told = [plain.text for plain in parse_constraint(f"equalized_odds({given}{level})")]
        assert told == [
            f"{rate}({a}) >= {k} * {rate}({b})"
            for rate in ("recall", "false_positive_rate")
            for a, b in permutations(sets, 2)
        ]
    told = [plain.text for plain in parse_constraint("equal_opportunity(a, b, c)")]
    assert told == [f"recall({a}) >= 1 * recall({b})" for a, b in permutations("abc", 2)]
    told = [plain.text for plain in parse_constraint("four_fifths(a, b, c)")]
    assert told == [f"coverage({a}) >= 0.8 * coverage({b})" for a, b in permutations("abc", 2)]


@pytest.mark.parametrize(
    ("short", "plain"),
    [
        ("fairness(b, a, kappa)", ["coverage(b) >= kappa * coverage(a)"]),
        (
            "demographic_parity(a, b, 0.9)",
            ["coverage(a) >= 0.9 * coverage(b)", "coverage(b) >= 0.9 * coverage(a)"],
        ),
        (
            "four_fifths(a, b)",
            ["coverage(a) >= 0.8 * coverage(b)", "coverage(b) >= 0.8 * coverage(a)"],
        ),
        (
            "equal_opportunity(a, b & d3)",
            ["recall(a) >= 1 * recall(b & d3)", "recall(b & d3) >= recall(a)"],
        ),
        (
            "equalised_odds(a, b, kappa - 0.1)",
            [
                "recall(a) >= (kappa - 0.1) * recall(b)",
                "recall(b) >= (kappa - 0.1) * recall(a)",
                "false_positive_rate(a) >= (kappa - 0.1) * false_positive_rate(b)",
                "false_positive_rate(b) >= (kappa - 0.1) * false_positive_rate(a)",
            ],
        ),
        ("egregious(b, 0.9)", ["recall(b) >= 0.9", "true_negative_rate(b) >= 0.9"]),
        ("egregious_positives(b, 0.9)", ["recall(b) >= 0.9"]),
        ("egregious_negatives(b, 0.9)", ["true_negative_rate(b) >= 0.9"]),
        ("neyman_pearson(labeled, 0.1)", ["false_positive_rate(labeled) <= 0.1"]),
        ("stability(d3, target)", ["churn(d3) <= target"]),
        ("precision(a) >= 0.4", ["0.4 * false_positives(a) / 2 <= 0.6 * true_positives(a) / 2"]),
    ],
)
def test_shorthands_equal_their_expansions(short, plain):
    data, _, _ = world()
    parameters = {"kappa": 0.7, "target": 0.1}
    one = compile_rates("error(labeled)", [short], data, parameters)
    other = compile_rates("error(labeled)", plain, data, parameters)
    scale = 1.0
    if short.startswith("precision"):
        scale = 2 / data.weight[data.members["a"] & (data.y >= 0)].sum()
    assert one.positive.shape == other.positive.shape
    assert np.allclose(one.positive[1:], scale * other.positive[1:], atol=1e-15)
    assert np.allclose(one.negative[1:], scale * other.negative[1:], atol=1e-15)
    assert np.allclose(
        one.bounds - one.constants[1:], scale * (other.bounds - other.constants[1:]), atol=1e-12
    )


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


def test_sets_by_mask_equal_sets_as_separate_rows():
    data, _, rng = world()
    w = rng.normal(size=3)
    score = data.deployed
    masked = DataSets.stack(
        data.X, data.y, data.weight, {"a": data.members["a"], "d3": data.members["d3"]}, score
    )
    a, d3 = data.members["a"], data.members["d3"]
    separate = DataSets.stack(
        data.X,
        data.y,
        data.weight,
        {"a": (data.X[a], data.y[a], data.weight[a]), "d3": (data.X[d3], None, None, score[d3])},
    )
    texts = [
        "coverage(a) <= 0.3",
        "recall(a) >= 0.5",
        "churn(d3) <= 0.1",
        "coverage(unlabeled) + coverage(everyone) <= 1",
    ]
    values = []
    for table in (masked, separate):
        made = compile_rates("error(labeled)", texts, table)
        p = 1 / (1 + np.exp(-table.X @ w))
        values.append(made.positive @ p + made.negative @ (1 - p) + made.constants)
        values.append(made.bounds)
    assert np.allclose(values[0], values[2], atol=1e-12)
    assert np.allclose(values[1], values[3], atol=1e-12)


def test_sparse_rows_make_the_same_data_sets():
    from scipy import sparse

    data, _, _ = world()
    table = DataSets.stack(sparse.csr_matrix(data.X), data.y, datasets={"d": (data.X[:9], None)})
    assert table.X.shape == (409, 3)
    assert table.mask((("d",),)).sum() == 9
    assert table.mask((("everyone",),)).sum() == 400


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recal(a) >= 0.9", "position 1: there is no rate 'recal'; did you mean recall"),
        ("coverage(a) <= 2 * covrage(b)", "position 20.*covrage.*coverage"),
        ("coverage(a) == 0.3", "two constraints with a margin"),
        ("coverage(a) < 0.3", "write <="),
        ("0.1 <= coverage(a) <= 0.3", "position 20.*one comparison"),
        ("coverage(a)", "expected <= or >="),
        ("coverage(a) <=", "position 15.*expected a rate"),
        ("coverage <= 0.2", "coverage needs a data set"),
        ("coverage(a <= 0.2", "position 12.*expected '\\)'"),
        ("coverage(a) <= 0.2 $", "position 20: '\\$' has no meaning"),
        ("0.3 >= 0.2", "needs a rate"),
        ("recall(a, b) >= 0.2", "takes one data set"),
        ("fairness(a, b)", "fairness\\(set, set, level\\)"),
        ("fairness(a, b, 1) <= 2", "expected an operator or the end"),
        ("fairness(a, b, d3, 1)", "expected '\\)' as in fairness\\(set, set, level\\)"),
        ("parity(a)", "expected ',' as in parity\\(set, set, ..., level\\)"),
        ("parity(a, b, a, 0.8)", "position 14: a is named twice"),
        ("parity(a, b,", "expected"),
        ("four_fifths(a, b, 0.8)", "expected '\\)' as in four_fifths\\(set, set, ...\\)"),
        ("parity(a, b, d3; 1.2)", "level must be above 0 and at most 1"),
        ("coverage(a; 2) <= 1", "position 11: expected"),
        ("fmeasure(a, b) >= 0.2", "one data set, and beta, a number above 0"),
        ("fmeasure(a, 0) >= 0.2", "beta, a number above 0"),
        ("fmeasure(a) >= 1", "above 0 and below 1"),
        ("fmeasure(a) >= 1.2", "no decisions can keep it: shares are between 0 and 1"),
        ("fmeasure(a) + recall(b) >= 1.2", "compared with a number"),
        ("fmeasure(negatives) >= 0.2", "no positive label"),
        ("1 - four_fifths(a, b) <= 1", "whole constraint"),
        ("coverage(c) <= 0.1", "no data set 'c'.*known: labeled, unlabeled, everyone, a, b"),
        ("coverage(a) <= kapa", "'kapa' has no value; did you mean kappa"),
        ("coverage(a) * recall(b) <= 0.1", "product of the rates"),
        ("coverage(a) / coverage(b) <= 2", "multiply the constraint out"),
        ("coverage(a) <= 1 / 0", "divides by 0"),
        ("coverage(a & unlabeled & labeled) <= 1", "no rows"),
        ("recall(unlabeled) >= 0.5", "recall\\(unlabeled\\) needs labels"),
        ("recall(negatives) >= 0.5", "no positive label.*negatives"),
        ("precision(a) >= precision(b)", "compared with a number"),
        ("precision(a) >= 1", "above 0 and below 1"),
        ("coverage(a) >= 80", "no decisions can keep it"),
        ("error(a) - error(b) <= -1.5", "no decisions can keep it"),
        ("coverage(a) >= 1e999", "too large"),
        ("coverage(a) >= 1e308 * 10", "too large"),
        ("coverage(a) >= 1 / (1 - 1)", "divides by 0"),
        ("coverage(a) >= coverage(a)", "cancel out"),
        ("equal_opportunity(a, b, 1.2)", "above 0 and at most 1, not 1.2"),
        ("fairness(a, b, -1)", "above 0, not -1"),
        ("(" * 60 + "coverage(a)" + ")" * 60 + " <= 1", "nested more than 50"),
        ("coverage(a)" + " + coverage(a)" * 1000 + " <= 1", "too long"),
        ("churn(unscored) <= 0.1", "no score for 400 of 400"),
    ],
)
def test_bad_constraints_are_told(text, message):
    data, _, _ = world()
    data.members["negatives"] = data.y == 0
    data.members["unscored"] = np.ones(400, bool)
    if "unscored" in text:
        data.deployed[:] = np.nan
    with pytest.raises(CounterweightError, match=message):
        compile_rates("error(labeled)", [text], data, {"kappa": 0.8})


def test_bad_data_is_told():
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    cases = [
        (lambda: DataSets(X, [0, 1, 2, 1]), "0 or 1.*found 0, 1, 2"),
        (lambda: DataSets(np.array([[0.0], [np.nan]]), [0, 1]), "1 rows.*first: row 1"),
        (lambda: DataSets(X, y, members={"a": [1, 0]}), "data set a needs"),
        (lambda: DataSets(X, y, members={"labeled": y == 1}), "labeled is always there"),
        (lambda: DataSets(X, y, members={"a-b": y == 1}), "cannot be called 'a-b'"),
        (lambda: DataSets.stack(X, y, datasets={"d": (np.zeros((3, 3)), None)}), "3 features.*2"),
        (lambda: compile_rates("churn(labeled)", [], DataSets(X, y)), "deployed model"),
        (lambda: compile_rates("error(labeled)", [], DataSets(X, y), {"kappa": 0}), "above 0"),
        (lambda: compile_rates("kappa + 1", [], DataSets(X, y), {"kappa": 1}), "no rate"),
        (lambda: measure([0.5, 2, 0, 0], DataSets(None, y), {}), "first: row 1"),
        (
            lambda: measure(np.ones(4), DataSets(None, y), {"c": "coverage(unlabeled)"}),
            "Measure c.*no rows",
        ),
    ]
    for call, message in cases:
        with pytest.raises(CounterweightError, match=message):
            call()


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


def test_texts_are_checked_without_data():
    check_text(
        "coverage(a) <= coverage(b) / kappa", constraint=True, sets="ab", parameters=["kappa"]
    )
    check_text("coverage(a) / coverage(everyone)", sets=["a"])
    with pytest.raises(CounterweightError, match="no data set 'mal'.*did you mean male"):
        check_text("coverage(mal)", sets=["male", "women"])
    with pytest.raises(CounterweightError, match="comparison"):
        parse_expression("coverage(a) <= 1")
    assert parse_constraint("coverage(a) ≤ .5")[0].sign == "<="


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": [1, -1, 1, -1]}, "values of the label are -1 and 1"),
        ({"datasets": {"d2": (np.zeros((3, 2)), [-1, 1, 1])}}, "label of the data set d2 are -1"),
        ({"y": np.array(["a", 1, 0, 1], object)}, "must be 0 or 1"),
        ({"y": np.array([None, True, False, True], object)}, "must be 0 or 1"),
        ({"X": np.zeros((4, 2), complex)}, "real numbers"),
        ({"X": np.zeros((0, 2)), "y": []}, "no rows to learn from"),
        ({"weight": ["a"] * 4}, "weights must be numbers"),
        ({"deployed": ["a"] * 4}, "scores of the deployed model must be numbers"),
        ({"datasets": [[True] * 4]}, "datasets must be a dict"),
        ({"datasets": {3: [True] * 4}}, "cannot be called 3"),
        ({"datasets": {"a·b": [True] * 4}}, "cannot be called 'a·b'"),
        ({"datasets": {"d": [np.zeros((4, 2)), np.zeros(4)]}}, "tuple"),
    ],
)
def test_tables_that_cannot_be_used_are_told(given, message):
    with pytest.raises(CounterweightError, match=message):
        DataSets.stack(**{"X": np.zeros((4, 2)), "y": [0, 1, 0, 1]} | given)


def test_labels_may_be_python_numbers_in_a_column_of_objects():
    data = DataSets.stack(np.zeros((3, 1)), np.array([0, True, 1.0], object))
    assert data.y.tolist() == [0, 1, 1]


def test_a_table_of_positives_only_needs_no_negatives():
    data = DataSets.stack(np.zeros((3, 1)), [0, 1, 1], datasets={"d": (np.ones((2, 1)), [1, 1])})
    assert data.y.tolist() == [0, 1, 1, 1, 1]
