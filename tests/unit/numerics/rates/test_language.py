"""The language of rates: shorthands, mistakes, checks without data."""

import subprocess
import sys
from graphlib import TopologicalSorter

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.rates import compile as compile_rates
from counterweight.numerics.rates import parse_constraint, parse_expression
from counterweight.numerics.rates.language import check_text, slackened
from counterweight.plan import components, digests
from rated_rows import world


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
            "parity(a, b, 1, 0.02)",
            ["coverage(a) >= 1 * coverage(b) - 0.02", "coverage(b) >= coverage(a) - 0.02"],
        ),
        (
            "equal_opportunity(a, b; kappa, target / 2)",
            [
                "recall(a) >= kappa * recall(b) - target / 2",
                "recall(b) >= kappa * recall(a) - target / 2",
            ],
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
        ("parity(a, b, 1, coverage(a))", "tolerance of a shorthand is a number"),
        ("parity(a, b, 1, 0.1, 0.1)", "expected '\\)' as in parity"),
        ("parity(a, b, 1, 1.5)", "level must be between 0 and 1, not 1.5"),
        ("fairness(a, b, 1, 0.1)", "expected '\\)' as in fairness"),
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


def test_a_slack_stands_in_each_plain_constraint():
    assert slackened("parity(a, b, 0.9)", 0.02) == [
        "coverage(a) >= 0.9 * coverage(b) - 0.02",
        "coverage(b) >= 0.9 * coverage(a) - 0.02",
    ]
    assert slackened("churn(a) <= 0.1", 0.05) == ["churn(a) <= 0.1 + 0.05"]
    assert slackened("parity(a, b)", 0) == ["parity(a, b)"]
