"""Certified filters: the promise holds for new people, and tables that are too small are told."""

import re

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.final_filters import careful_to_bold, certified_setting, chosen_setting
from counterweight.errors import CounterweightError
from counterweight.labeling.sensitive import label_groups, sensitive
from counterweight.numerics.groups import (
    disclosure,
    drawn_parts,
    leaf_table,
    memberships,
    part_counts,
)
from counterweight.selection.split_tree import SplitTreeProxy
from counterweight.weighting.acceptance import quadratic_acceptance

GROUPS = ["blue", "green", "red"]
ALPHAS = [0.0, 0.05, 0.1, 0.15, 0.2]
ALPHA, LEVEL = 0.2, 0.9


def world(rng, n):
    """Features that tell something about the group."""
    group = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    X = rng.normal(size=(n, 3)) + np.array([[0.0], [0.6], [1.2]])[group]
    return X, memberships([np.array(GROUPS, object)[group]], [GROUPS])


def acceptances(proxy, X, Z):
    made = {}
    for setting, member in proxy.leaves(X):
        (weighed,) = quadratic_acceptance(*leaf_table(member, Z), np.full(3, 1 / 3))
        made[setting] = weighed.rho
    return made


def certified(seed, rows=3000):
    rng = np.random.default_rng(seed)
    X, Z = world(rng, rows)
    proxy = SplitTreeProxy(alphas=ALPHAS, min_weight_fraction_leaf=0.1, thresholds=2, rounds=3)
    proxy.fit(X, Z, classes=[3], rng=rng)
    held = world(rng, rows)
    _, setting, tests = certified_setting(
        {"only": (proxy, acceptances(proxy, X, Z))},
        *held,
        target=np.full(3, 1 / 3),
        classes=[3],
        alpha=ALPHA,
        level=LEVEL,
        rng=rng,
    )
    return proxy, setting, tests, held


def leaves(proxy, setting, X, rng):
    member = dict(proxy.leaves(X))[setting]
    return drawn_parts(member, rng.random(len(X))), member.shape[1]


def test_the_true_disclosivity_of_certified_filters_is_within_alpha():
    rng = np.random.default_rng(0)
    fresh, broken, made = world(rng, 200_000), 0, 0
    for seed in range(40):
        try:
            proxy, setting, *_ = certified(seed)
        except CounterweightError:
            continue
        made += 1
        part, number = leaves(proxy, setting, fresh[0], rng)
        broken += disclosure(part_counts(part, fresh[1], number), [3]).value > ALPHA
    assert made >= 30
    assert broken <= made * (1 - LEVEL) + 2 * np.sqrt(made * LEVEL * (1 - LEVEL))


def test_the_choice_balances_and_its_own_rows_bound_it():
    proxy, setting, tests, (X, Z) = certified(1)
    assert setting in proxy.settings_ and setting != "alpha=0" and 1 <= tests < len(ALPHAS)
    part, number = leaves(proxy, setting, X, np.random.default_rng(0))
    assert disclosure(part_counts(part, Z, number), [3], LEVEL).bound <= ALPHA + 0.02


def two_sizes(rough=120):
    rng = np.random.default_rng(5)
    candidates = {}
    for name, rows, limit in (("rough", rough, ALPHA), ("fine", 3000, ALPHA / 2)):
        X, Z = world(rng, rows)
        proxy = SplitTreeProxy(alphas=[limit], min_weight_fraction_leaf=0.1, thresholds=2, rounds=3)
        proxy.fit(X, Z, classes=[3], rng=rng)
        candidates[name] = proxy, acceptances(proxy, X, Z)
    return candidates, world(rng, 20_000), rng


ASKED = {"target": np.full(3, 1 / 3), "classes": [3], "alpha": 0.18, "level": LEVEL}


def test_of_several_methods_held_out_rows_choose_one_that_keeps_alpha():
    candidates, (X, Z), rng = two_sizes()
    method, setting, tests = certified_setting(candidates, X, Z, rng=rng, **ASKED)
    assert (method, setting, tests) == ("fine", f"alpha={ALPHA / 2:g}", 2)
    part, number = leaves(candidates["rough"][0], f"alpha={ALPHA:g}", X, rng)
    assert disclosure(part_counts(part, Z, number), [3], LEVEL).bound > 0.18


def test_the_order_is_from_careful_to_bold_and_goes_by_rows_of_the_fit_alone():
    candidates, _, _ = two_sizes(rough=3000)
    asked = ASKED["target"], ASKED["classes"], LEVEL
    order = careful_to_bold(candidates, 5000, *asked)
    assert order == [("fine", f"alpha={ALPHA / 2:g}"), ("rough", f"alpha={ALPHA:g}")]
    # Where none balances anything there is nothing to test.
    rho = {name: {key: np.ones(len(one)) for key, one in a.items()} for name, (_, a) in
           candidates.items()}  # fmt: skip
    alike = {name: (proxy, rho[name]) for name, (proxy, _) in candidates.items()}
    assert careful_to_bold(alike, 5000, *asked) == []


def test_the_first_that_fails_ends_the_tests_and_the_refusal_says_its_bound():
    candidates, (X, Z), rng = two_sizes()
    alpha = 0.07
    with pytest.raises(
        CounterweightError, match="fine, alpha=0.1, may tell new people up to"
    ) as told:
        certified_setting(candidates, X, Z, rng=rng, **ASKED | {"alpha": alpha})
    bound = float(re.search(r"up to (\d\.\d+)", str(told.value))[1])
    part, number = leaves(candidates["fine"][0], "alpha=0.1", X, rng)
    again = disclosure(part_counts(part, Z, number), [3], LEVEL).bound
    assert bound > alpha and bound == pytest.approx(again, abs=0.01)


def test_without_a_promise_held_out_rows_themselves_are_told_at_most_alpha():
    candidates, (X, Z), rng = two_sizes()
    told = {}
    for name, (proxy, _) in candidates.items():
        part, number = leaves(proxy, proxy.settings_[0], X, rng)
        told[name] = disclosure(part_counts(part, Z, number), [3]).value
    assert told["fine"] < 0.18 < told["rough"]
    assert chosen_setting(candidates, X, Z, rng=rng, **ASKED)[0] == "fine"
    least = ASKED | {"alpha": told["fine"] / 2}  # none keeps it: the one that tells least
    assert chosen_setting(candidates, X, Z, rng=rng, **least)[0] == "fine"
    most = ASKED | {"alpha": 1.0}
    assert chosen_setting(candidates, X, Z, rng=rng, **most)[2] == 2


def test_without_a_promise_either_nothing_is_given_away_that_balances_no_better_than_everybody():
    candidates, (X, Z), rng = two_sizes()
    for alpha in (1.0, 0.001):  # the best balanced within it, or the one that tells least
        asked = ASKED | {"alpha": alpha}
        assert chosen_setting(candidates, X, Z, rng=rng, **asked)
        with pytest.raises(CounterweightError, match="balances anything on 20000 rows.*among all"):
            chosen_setting(candidates, X, rng.permutation(Z), rng=rng, **asked)


def test_where_nothing_can_be_certified_nothing_is_given_away():
    with pytest.raises(CounterweightError, match="No filter of this study is certified.*held-out"):
        certified(2, rows=30)


def table(n, few=0.1):
    rng = np.random.default_rng(3)
    group = np.where(rng.random(n) < few, "few", "many")
    return pd.DataFrame(
        {"row": np.arange(n, dtype="int32"), "x": rng.normal(size=n), "group": group}
    )


def labeled(frame, certified=None, stratified=True, test_share=0.5):
    return label_groups(
        frame,
        frame[["row", "x"]],
        lambda rows, types: sensitive(rows, types, group="group", stratified=stratified),
        lambda rows, population: np.full(len(rows), np.nan),
        seed=1,
        study="s",
        repeats=3,
        test_share=test_share,
        certified=certified,
    )


def test_a_table_too_small_is_told_before_anything_is_fitted():
    promise = {"alpha": 0.1, "level": 0.95}
    with pytest.raises(CounterweightError, match="200 rows.*too few to certify.*at least"):
        labeled(table(200), promise)
    labeled(table(5000), promise)


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_each_group_is_held_out_by_the_same_share(share):
    labels, truth = labeled(table(400, few=0.02), test_share=share)
    for _, part in truth.assign(test=labels["role"] == "test").groupby("repeat"):
        assert part["test"].sum() == pytest.approx(400 * share, abs=2)
        for _, group in part.groupby("group_group"):
            assert group["test"].sum() == pytest.approx(len(group) * share, abs=1)
            assert 0 < group["test"].sum() < len(group)


def test_a_group_of_one_row_stays_in_the_training_part():
    frame = table(50)
    frame["group"] = np.where(frame["row"] == 7, "one", "many")
    labels, _ = labeled(frame)
    assert (labels.loc[labels["row"] == 7, "role"] == "train").all()
