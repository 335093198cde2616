"""Limits of constraints: exactness by enumeration, looser constraints, rows that would do."""

import numpy as np
import pytest
from counterweight.numerics.rates import DataSets
from counterweight.numerics.rates.limits import (
    LOOSER,
    least_loosened,
    loosened_text,
    rows_needed,
    upper_limits,
)
from counterweight.numerics.rates.values import compile as compile_rates
from counterweight.numerics.rates.values import constant_rule, constraint_values, plain_constraints
from scipy.stats import beta, binom, norm

GROUPS = {"a": 30, "b": 50}


def rows_of(hits, labels=None):
    """Rows of which so many of each group have a yes, and their decisions."""
    group = np.repeat(list(GROUPS), list(GROUPS.values()))
    decided = np.concatenate(
        [np.arange(count) < hits[name] for name, count in GROUPS.items()]
    ).astype(float)
    members = {name: group == name for name in GROUPS}
    y = np.ones(len(group), int) if labels is None else labels
    return DataSets(None, y, None, members), decided


@pytest.mark.parametrize("asked, sign", [("coverage(a) >= 0.6", 1), ("coverage(a) <= 0.6", -1)])
def test_a_share_is_shown_by_the_exact_binomial_test(asked, sign):
    n, shown = GROUPS["a"], []
    for hits in range(n + 1):
        data, decided = rows_of({"a": hits, "b": 3})
        excess, upper = upper_limits(decided, data, [asked])[0, :, 0]
        assert excess == pytest.approx(sign * (0.6 - hits / n))
        shown.append(upper <= 0)
    # The test that rejects where such a count, or one further away, has a chance of 5 % at most.
    at = np.arange(n + 1)
    tail = binom.sf(at - 1, n, 0.6) if sign > 0 else binom.cdf(at, n, 0.6)
    np.testing.assert_array_equal(shown, tail <= 0.05)
    assert 0.01 < binom.pmf(at, n, 0.6) @ shown <= 0.05


@pytest.mark.parametrize("ratio", [0.6, 0.8, 1.0])
def test_a_ratio_of_two_groups_is_shown_wrongly_in_five_per_cent_at_most(ratio):
    # All pairs of counts, at all rates on the bound: the chance that a rule on it is shown kept.
    asked, (n, m) = [f"coverage(a) >= {ratio} * coverage(b)"], GROUPS.values()
    shown = np.array(
        [
            [upper_limits(d, data, asked)[0, 1, 0] <= 0 for data, d in line]
            for line in ([rows_of({"a": i, "b": j}) for j in range(m + 1)] for i in range(n + 1))
        ]
    )
    sizes = [
        binom.pmf(np.arange(n + 1), n, ratio * rate) @ shown @ binom.pmf(np.arange(m + 1), m, rate)
        for rate in np.linspace(0.05, 0.95, 19)
    ]
    assert max(sizes) <= 0.05 and max(sizes) > 0.025


def test_precision_is_a_share_of_the_positive_decisions():
    labels = np.zeros(80, int)
    labels[:12] = 1
    data, decided = rows_of({"a": 15, "b": 5}, labels)
    excess, upper = upper_limits(decided, data, ["precision(everyone) >= 0.4"])[0, :, 0]
    assert excess == pytest.approx(0.4 - 12 / 20)
    assert upper == pytest.approx(0.4 - beta.ppf(0.05, 12, 9))


def test_few_heavy_rows_may_have_met_none_so_that_one_more_is_counted():
    """Twelve rows with a yes are right, and a wrong one would have counted twenty."""
    labels = np.arange(80) < 12
    data, decided = rows_of({"a": 12, "b": 0}, labels.astype(int))
    heavy = DataSets(None, data.y, np.where(labels, 1.0, 20.0), data.members)
    asked = ["precision(labeled) >= 0.5"]
    excess, upper = upper_limits(decided, heavy, asked)[0, :, 0]
    part, z = 20 / (12 + 20), norm.ppf(0.95)
    count = heavy.weight.sum() ** 2 / (heavy.weight @ heavy.weight)
    spread = part**2 + z**2 / 4 / count**2
    assert excess == pytest.approx(-0.5)
    assert upper == pytest.approx(0.5 - 12 / (12 + 20) + z * np.sqrt(spread))
    # Not where all rows count alike, whatever they count, and hardly where they are many.
    alike = [DataSets(None, data.y, np.full(80, k), data.members) for k in (1.0, 20.0)]
    for own in alike:
        assert upper_limits(decided, own, asked)[0, 1, 0] < 0
    many = np.repeat(np.arange(80), 400)
    members = {name: mask[many] for name, mask in data.members.items()}
    more = DataSets(None, data.y[many], heavy.weight[many], members)
    assert upper_limits(decided[many], more, asked)[0, 1, 0] < -0.48


@pytest.mark.parametrize("groups", [("a & labeled", "b & labeled"), ("a", "b")])
def test_one_more_heavy_row_stands_on_the_side_that_breaks_a_ratio(groups):
    """Of weighted shares: fewer yes in the one group, more in the other; none without weights."""
    data, decided = rows_of({"a": 20, "b": 30})
    weight = np.where(np.arange(80) % 5, 1.0, 10.0)
    heavy = DataSets(None, data.y, weight, data.members)
    asked = [f"coverage({groups[0]}) >= 0.5 * coverage({groups[1]})"]
    excess, upper = upper_limits(decided, heavy, asked)[0, :, 0]
    if "&" not in groups[0]:
        assert upper == upper_limits(decided, data, asked)[0, 1, 0]
        return
    moved, worst = 0.0, 0.0
    for name, factor, end in (("a", -1.0, 0.0), ("b", 0.5, 1.0)):
        own = heavy.members[name]
        mass, share = weight[own].sum(), weight[own] @ decided[own] / weight[own].sum()
        moved += factor * 10 * (end - share) / (mass + 10)
        worst += factor * (weight[own] @ decided[own] + 10 * end) / (mass + 10)
    assert excess + moved == pytest.approx(worst)
    assert upper > worst > excess


def test_chances_and_rates_on_the_same_rows_have_the_limit_of_the_delta_method():
    rng = np.random.default_rng(0)
    data, decided = rows_of({"a": 12, "b": 20}, rng.integers(0, 2, 80))
    chances = rng.random(80)
    for predicted, text in ((chances, "coverage(a) <= 0.7"), (decided, "coverage(a) <= error(a)")):
        _, upper = upper_limits(predicted, data, [text])[0, :, 0]
        told = constraint_values(predicted, predicted, data, [text], level=0.9)[0, 0]
        assert upper == pytest.approx(told[2] + norm.ppf(0.95) * told[3])


def test_a_looser_constraint_has_the_limit_of_its_text():
    data, decided = rows_of({"a": 12, "b": 30})
    texts = [
        "coverage(a) >= 0.8 * coverage(b)",
        "coverage(b) <= 0.5",
        "coverage(a) >= coverage(b) - 0.1",
    ]
    limits = upper_limits(decided, data, texts, None, 0.95, LOOSER)
    for plain, own in zip(plain_constraints(texts), limits, strict=True):
        assert (np.diff(own[1]) < 0).all()  # looser ones are kept by more
        text = loosened_text(plain, 0.25)
        again = upper_limits(decided, data, [text])[0, 1, 0]
        assert (again <= 0) == (own[1, 25] <= 0)
    words = [loosened_text(plain, 0.25) for plain in plain_constraints(texts)]
    assert words == [
        "coverage(a) >= 0.6 * coverage(b)",
        "coverage(b) <= 0.667",
        "coverage(a) >= 0.75 * coverage(b) - 0.1",
    ]


def test_the_least_share_holds_from_there_on_for_all_constraints():
    limits = np.ones((2, 100))
    assert least_loosened(limits) is None
    limits[0, 10:] = limits[1, 30:] = -1
    assert least_loosened(limits) == 0.3
    limits[0, 50] = 1  # shown before, and not there: not counted
    assert least_loosened(limits) == 0.51
    assert least_loosened(-np.ones((2, 100))) == 0


def test_rows_that_would_do_have_room_for_the_margin_and_for_what_is_flattered():
    # No flattery: the margin, with the power of four tests in five, is as large as the room.
    margin = (norm.ppf(0.95) + norm.ppf(0.8)) / norm.ppf(0.95) * 0.06
    assert rows_needed(100, -0.02, 0.04, -0.02) == pytest.approx(100 * (margin / 0.02) ** 2)
    more = rows_needed(100, -0.01, 0.05, -0.02)
    share = np.sqrt(100 / more)
    assert pytest.approx(margin * share + 0.01 * share**2) == 0.02
    assert rows_needed(100, 0.1, 0.2, 0.0) == np.inf


def test_the_best_rule_that_looks_at_nobody_is_a_chance():
    y = np.repeat([1, 0], [2, 8])
    data = DataSets(None, y, None, {})
    problem = compile_rates("error(labeled)", ["recall(labeled) >= 0.5"], data)
    one = constant_rule(problem)
    assert one.keeps and one.chance == pytest.approx(0.5, abs=1e-5)
    assert one.cost == pytest.approx(0.5 * 0.8 + 0.5 * 0.2, abs=1e-5)
    free = constant_rule(compile_rates("error(labeled)", ["coverage(labeled) <= 0.9"], data))
    assert free == (0.0, pytest.approx(0.2), True) and free.words == "a no to everybody"
    clash = ["recall(labeled) >= 0.5", "false_positive_rate(labeled) <= 0.1"]
    assert not constant_rule(compile_rates("error(labeled)", clash, data)).keeps
