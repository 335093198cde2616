"""Groups that are asked for by design: a bound that needs no assumption of who told."""

import dataclasses
import itertools
from types import SimpleNamespace

import filter_study as towns
import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.group_plans import GroupAnswers, GroupPlan, Untold
from counterweight.delivery.label_plans import DEFAULTS, SMALL, chances_by_place
from counterweight.delivery.saved_filters import decided
from counterweight.errors import CounterweightError
from counterweight.numerics.groups import disclosure_by_design, part_counts

BUDGET = 240


def a_filter(leaves, groups=("a", "b")):
    """What `GroupAnswers` needs of a saved filter."""
    return SimpleNamespace(
        sizes=[len(groups)],
        mass=np.zeros(leaves),
        groups=list(groups),
        target=np.full(len(groups), 1 / len(groups)),
        facts={"alpha": 0.2},
    )


def answered(leaf, group, asked, chances=None, refused=(), level=0.95, groups=2):
    Z = np.eye(groups)[group].astype(float)
    bought = np.isin(np.arange(len(leaf)), asked)
    Z[~bought] = np.nan
    drawn = bought | np.isin(np.arange(len(leaf)), refused)
    people = {"leaf": np.asarray(leaf), "probability": np.full(len(leaf), 0.5)}
    chances = np.ones(len(leaf)) if chances is None else chances
    names = ("a", "b", "c")[:groups]
    told = Z, drawn, chances, 0, level
    return GroupAnswers(a_filter(max(leaf) + 1, names), people, *told)


def test_shares_are_unbiased_over_all_samples():
    leaf = np.repeat([0, 1], [4, 5])
    group = np.array([0, 0, 1, 1, 1, 1, 1, 0, 1])
    found = []
    for first in itertools.combinations(range(4), 2):
        for second in itertools.combinations(range(4, 9), 3):
            made = answered(leaf, group, [*first, *second], np.repeat([0.5, 0.6], [4, 5]))
            found.append([made.before["b"].value, made.accepted["b"].value])
    np.testing.assert_allclose(np.mean(found, axis=0), group.mean(), rtol=1e-12)


def test_with_everybody_asked_the_bound_is_what_the_leaves_tell():
    leaf, group = np.repeat([0, 1], [30, 70]), np.repeat([0, 1, 0, 1], [24, 6, 20, 50])
    made = answered(leaf, group, range(100))
    found = [made.value, made.bound, made.worst]
    assert found == pytest.approx([24 / 30 - 0.44] * 3)
    assert made.certified is False and made.refused == 0


def test_shares_leave_no_room_for_what_known_groups_rule_out():
    leaf, group = np.repeat([0, 1], 20), np.tile([0, 0, 0, 1], 10)
    made = answered(leaf, group, np.flatnonzero(np.arange(40) % 20 < 17))
    for told in (made.before, made.accepted):
        # Of 34 who answered 26 are of a: at least 26 and at most 32 of all 40 are.
        assert (
            26 / 40 - 1e-12 <= told["a"].low < told["a"].value < told["a"].high <= 32 / 40 + 1e-12
        )
        assert told["b"].low == pytest.approx(1 - told["a"].high)


def test_an_unknown_leaf_may_tell_everything_and_chances_of_a_file_may_differ():
    leaf, group = np.repeat([0, 1], 50), np.tile([0, 1], 50)
    assert answered(leaf, group, range(50)).bound == 1
    # Two of three of a leaf asked with twice the chance weigh half as much.
    chances = np.where(np.arange(100) % 2 == 0, 0.8, 0.4)
    made = answered(leaf, group, np.r_[0:20, 60:80], chances)
    assert made.before["a"].value == pytest.approx(1 / 3)


@pytest.mark.parametrize("group", [0, 1, 2])
def test_the_worst_bound_holds_whatever_the_groups_of_the_silent_are(group):
    rng = np.random.default_rng(1)
    leaf, own = np.repeat([0, 1, 2], 40), rng.integers(0, 3, 120)
    asked, silent = np.r_[0:20, 40:60, 80:100], np.array([20, 21, 60])
    own[silent] = group
    told = answered(leaf, own, asked, refused=silent, groups=3)
    whole = answered(leaf, own, [*asked, *silent], groups=3)
    assert told.refused == 3 and whole.refused == 0
    assert told.worst >= whole.bound and told.worst > told.bound


@pytest.mark.parametrize("shares", [[[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.3, 0.2]] * 3])
def test_the_bound_holds_over_draws(shares):
    shares, rng = np.asarray(shares), np.random.default_rng(3)
    mass = np.full(len(shares), 1 / len(shares))
    truth = np.abs(shares - mass @ shares).max()
    rows = np.full((400, len(shares)), 60)
    found = rng.multinomial(rows, shares) / 60
    _, bound = disclosure_by_design(found, rows, mass)
    # Two standard errors of 400 draws below the level; of no use if it said 1.
    assert np.mean(bound >= truth) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 400)
    assert np.median(bound) < truth + 0.25


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A filter, people most of whom did not tell their group, and the groups that they have."""
    saved = towns.case("split", tmp_path_factory.mktemp("filter")).saved
    frame, rng = towns.people(3000, seed=9), np.random.default_rng(1)
    truth = frame["group"].copy()
    frame["group"] = truth.mask(rng.random(3000) < np.where(truth == "red", 0.8, 0.4))
    return SimpleNamespace(
        saved=saved, frame=frame, truth=dict(zip(frame["person"], truth, strict=True))
    )


def plan_of(asked, budget=BUDGET, **options):
    return GroupPlan(asked.saved, asked.frame, key=towns.SEED, budget=budget, **options)


def filled(asked, plan, rows=None):
    labels = plan.frame.assign(group=plan.frame["person"].map(asked.truth))
    labels.loc[np.arange(len(labels)) >= (len(labels) if rows is None else rows), "group"] = None
    return labels


def test_as_many_of_each_leaf_are_asked_and_a_larger_plan_goes_on(asked):
    plan, more = plan_of(asked), plan_of(asked, BUDGET + 60)
    assert len(plan.frame) == BUDGET and plan.frame["group"].eq("").all()
    assert more.frame["person"].tolist()[:BUDGET] == plan.frame["person"].tolist()
    assert asked.frame["group"].loc[plan.people.index].isna().all()
    expected = plan.people["chance"].groupby(plan.people["group"]).sum()
    assert expected.max() < 1.02 * expected.min()
    curve = plan.expected()
    assert (curve["plan"] < curve["plain"]).all() and curve["certified"].between(0, 1).all()
    assert curve["plan"].is_monotonic_decreasing


def test_the_order_of_rows_and_columns_decides_nothing(asked):
    plan, turned = plan_of(asked), asked.frame.iloc[::-1, ::-1]
    again = GroupPlan(asked.saved, turned, key=towns.SEED, budget=BUDGET)
    pd.testing.assert_frame_equal(again.frame, plan.frame)
    labels = filled(asked, plan)
    turned = again.with_labels(labels.iloc[::-1, ::-1])
    assert turned.bound == pytest.approx(plan.with_labels(labels).bound, rel=1e-12)


def test_answers_hold_over_draws_where_people_who_told_are_others(asked):
    own = Untold(asked.saved, asked.frame, towns.key_of_seed(towns.SEED), DEFAULTS)
    rows, leaf = plan_of(asked)._rows, own.people["leaf"]
    group = np.array([towns.GROUPS.index(asked.truth[one]) for one in own.ids])
    counts = part_counts(leaf, np.eye(3)[group], len(asked.saved.mass))
    shares, mass = counts / counts.sum(axis=1)[:, None], counts.sum(axis=1) / len(leaf)
    truth, size, found = np.abs(shares - mass @ shares).max(), rows.chances(SMALL * len(leaf)), []
    for turn in range(120):
        place = np.random.default_rng([4, turn]).random(len(size)) / size
        at, chance = np.argsort(place)[:BUDGET], chances_by_place(place, size, BUDGET)
        made = own.answers(at, group[at].astype(float), chance[at])
        red = made.before["red"]
        found.append([made.bound >= truth, red.low <= np.mean(group == 2) <= red.high, red.value])
    bound, interval, value = np.array(found).T
    error = value.std() / np.sqrt(len(value))
    assert abs(value.mean() - np.mean(group == 2)) < 4 * error
    assert bound.mean() >= 0.9 and interval.mean() >= 0.9
    # Of those who told it is another share, which no sample of them could put right.
    told = asked.frame["group"].dropna()
    assert abs(np.mean(told == "red") - np.mean(group == 2)) > 10 * error


def test_buying_may_stop_anywhere_and_who_is_silent_is_told(asked):
    plan = plan_of(asked)
    made = plan.with_labels(filled(asked, plan, 150))
    assert (made.labels, made.refused, made.waiting) == (150, 0, BUDGET - 150)
    labels = filled(asked, plan)
    labels.loc[[3, 7], "group"] = None
    made = plan.with_labels(labels)
    assert (made.labels, made.refused, made.waiting) == (BUDGET - 2, 2, 0)
    assert made.worst > made.bound > made.value
    told = f"answers {BUDGET - 2}, of rows {len(plan.people)}, no answer 2, still to ask 0)"
    assert repr(made) == f"GroupAnswers(a leaf tells at most {made.bound:.10g}, {told}"
    wide = plan_of(asked, batches=5)
    assert wide.with_labels(filled(asked, wide)).bound > plan.with_labels(filled(asked, plan)).bound


def test_what_cannot_be_is_told_in_a_sentence(asked):
    with pytest.raises(CounterweightError, match="has no .by.; it has budget, batches"):
        plan_of(asked, by="town")
    for budget in (None, 0, "many"):
        with pytest.raises(CounterweightError, match="budget"):
            plan_of(asked, budget)
    known = asked.frame.assign(group="red")
    with pytest.raises(CounterweightError, match="whose group is not known, and there is none"):
        GroupPlan(asked.saved, known, key=towns.SEED, budget=9)
    with pytest.raises(CounterweightError, match="have no column 'group'"):
        GroupPlan(asked.saved, known.drop(columns="group"), key=towns.SEED, budget=9)
    with pytest.raises(CounterweightError, match="give a data frame"):
        GroupPlan(asked.saved, [1], key=towns.SEED, budget=9)
    plan = plan_of(asked)
    labels = filled(asked, plan)
    with pytest.raises(CounterweightError, match="do not know|does not know"):
        plan.with_labels(labels.assign(group="violet"))
    with pytest.raises(CounterweightError, match="no group filled in"):
        plan.with_labels(labels.assign(group=None))
    with pytest.raises(CounterweightError, match="order or chance is not that of their plan"):
        plan.with_labels(labels.assign(person=labels["person"].sort_values().tolist()))
    strange = plan.people.loc[~plan.people["drawn"], "id"].iloc[0]
    labels.loc[0, "person"] = strange
    with pytest.raises(CounterweightError, match="1 people that the plan does not have"):
        plan.with_labels(labels)


HANDS = ["left", "right"]


@pytest.fixture(scope="module")
def crossed(asked):
    """As `asked`, of two columns: of some people both are blank, of some one."""
    saved = dataclasses.replace(
        asked.saved,
        groups=[f"group={name}" for name in towns.GROUPS] + [f"hand={name}" for name in HANDS],
        classes=["group"] * 3 + ["hand"] * 2,
        target=np.array([1 / 3] * 3 + [1 / 2] * 2),
    )
    frame, rng = asked.frame.copy(), np.random.default_rng(7)
    group = frame["person"].map(asked.truth)
    leaf = decided(frame, asked.saved, towns.key_of_seed(towns.SEED))["leaf"]
    left = rng.random(len(frame)) < np.where(leaf == 0, 0.95, 0.2)
    frame["hand"] = np.where(left, *HANDS)
    truth = pd.DataFrame({"group": group, "hand": frame["hand"]}).set_index(frame["person"])
    frame["hand"] = frame["hand"].mask(rng.random(len(frame)) < np.where(left, 0.5, 0.1))
    return SimpleNamespace(saved=saved, frame=frame, truth=truth)


def both(crossed, plan):
    told = crossed.truth.loc[plan.frame["person"]].reset_index(drop=True)
    return plan.frame.assign(group=told["group"], hand=told["hand"])


def test_of_several_columns_what_is_blank_is_asked_for(crossed):
    plan = plan_of(crossed)
    given = crossed.frame.set_index("person").loc[plan.frame["person"], ["group", "hand"]]
    assert plan.frame.columns.tolist()[:4] == ["person", "order", "group", "hand"]
    np.testing.assert_array_equal(plan.frame[["group", "hand"]], given.fillna(""))
    assert given.isna().any(axis=1).all() and given.notna().any().all()
    labels = both(crossed, plan)
    made = plan.with_labels(labels)
    assert list(made.before) == crossed.saved.groups
    for column in ("group", "hand"):
        own = [one.value for name, one in made.before.items() if name.startswith(column)]
        assert sum(own) == pytest.approx(1)
    # Who gave one of the two gave no answer; whatever is blank, the bound at worst holds.
    labels.loc[[2, 5], "hand"] = None
    some = plan.with_labels(labels)
    assert (some.labels, some.refused) == (BUDGET - 2, 2) and some.worst > some.bound


def test_the_bound_holds_over_draws_for_the_groups_of_both_columns_at_once(crossed):
    own = Untold(crossed.saved, crossed.frame, towns.key_of_seed(towns.SEED), DEFAULTS)
    rows, leaf = plan_of(crossed)._rows, own.people["leaf"]
    truth = crossed.truth.loc[own.ids]
    places = [truth["group"].map(towns.GROUPS.index), truth["hand"].map(HANDS.index)]
    Z = np.hstack([np.eye(size)[at] for size, at in zip((3, 2), places, strict=True)])
    counts = part_counts(leaf, Z, len(crossed.saved.mass))
    mass = counts[:, :3].sum(axis=1) / len(leaf)
    shift = np.abs(counts / (mass * len(leaf))[:, None] - Z.mean(axis=0)).max(axis=0)
    codes, size = np.ravel_multi_index(places, (3, 2)), rows.chances(SMALL * len(leaf))
    # The second column tells most: a bound of the first alone would not hold.
    assert shift[3:].max() > shift[:3].max() + 0.05
    held, values = [], []
    for turn in range(120):
        place = np.random.default_rng([8, turn]).random(len(size)) / size
        at, chance = np.argsort(place)[:BUDGET], chances_by_place(place, size, BUDGET)
        made = own.answers(at, codes[at].astype(float), chance[at])
        held.append(made.bound >= shift.max())
        values.append([one.value for one in made.before.values()])
    assert np.mean(held) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 120) and made.bound < 1
    error = np.std(values, axis=0) / np.sqrt(len(values))
    assert (np.abs(np.mean(values, axis=0) - Z.mean(axis=0)) < 4 * error).all()
