"""Rows of a plan that come back with a column sorted or changed alone are refused, whatever was
asked for; what spreadsheets round, larger budgets and rows that were cut off change nothing."""

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.bought_file import refuse_changed
from counterweight.delivery.label_plans import (
    DEFAULTS,
    EXPLORING,
    PlannedRows,
    explored,
    planned,
    rows_to_label,
)
from counterweight.errors import CounterweightError
from counterweight.numerics.coins import key_of_seed

ROWS = 300
IDS = [f"P{at:03d}" for at in range(ROWS)]
SHARE = {"far": 0.4, "near": 0.2}
REFUSED = "whose order or chance is not that of their plan"
#: Plans of a number of labels, of what they may cost, of offers, and of decisions by chance.
KINDS = ("count", "cost", "offers", "explore")


def plan_of(kind, budget=80):
    """A plan, and the rows of its file."""
    rng, collect = np.random.default_rng(3), DEFAULTS | {"budget": budget}
    p, cost = rng.beta(1, 2, ROWS), rng.uniform(0.5, 1.5, ROWS)
    collect |= {"cost": "price"} if kind == "cost" else {}
    group = np.array(["far", "near"] * (ROWS // 2), object)
    spread = np.sqrt(p * (1 - p))
    rows = PlannedRows(p, spread, spread, None, cost, group, True, collect)
    if kind == "explore":
        explore = EXPLORING | {"share": SHARE, "by": "g", "monthly": 10}
        plan = explored(rows, IDS, key_of_seed(5), explore)[0]
    else:
        plan = planned(rows, IDS, key_of_seed(5), collect)[0]
    file = plan
    if kind == "offers":
        plan["offer_chance"] = np.random.default_rng(1).choice([0.1, 0.7, 0.2], ROWS)
        file = plan.assign(chance=plan["chance"] * plan["offer_chance"])
    return plan, rows_to_label(file, np.array(IDS, object), rows, "id", "y")


def check(plan, file, kind):
    """Refuse a file that was changed, as `check_plan` does."""
    told = {name: file[name].astype(str).tolist() for name in ("order", "chance") if name in file}
    at = plan["id"].searchsorted(file["id"])
    refuse_changed("It has", file["id"].tolist(), told, plan, at, fixed=kind == "explore")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_as_it_was_written_is_taken(kind):
    plan, file = plan_of(kind)
    assert 40 < len(file) < 120
    check(plan, file, kind)
    check(plan, file.sample(frac=1, random_state=1), kind)
    check(plan, file.iloc[[3, 17, 30]], kind)
    check(plan, file.drop(columns="order"), kind)
    check(
        plan, file.assign(order=file["order"].astype(float), chance=file["chance"].round(9)), kind
    )
    comma = file["chance"].map(lambda one: f"{one:.3f}".replace(".", ","))
    check(plan, file.assign(chance=comma, order=""), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("digits", [16, 3])
def test_a_column_that_was_sorted_or_changed_alone_is_refused_by_the_first_id(kind, digits):
    plan, file = plan_of(kind)
    file["chance"] = file["chance"].round(digits)
    ids = file["id"].sort_values().tolist()
    wrong = {
        "ids": file.assign(id=ids),
        "shifted": file.assign(id=np.roll(file["id"], 1)),
        "order": file.assign(order=file["order"].to_numpy()[::-1]),
        "chances": file.assign(chance=file["chance"] / 2),
        "doubled": file.assign(chance=np.minimum(file["chance"] * 2, 1)),
    }
    if kind != "explore":
        # Of decisions by chance many have the same; with both other columns nothing else is told.
        wrong["sorted"] = file.drop(columns="order").assign(chance=file["chance"].sort_values())
        wrong["sorted"]["chance"] = file["chance"].sort_values().to_numpy()
    for name, changed in wrong.items():
        with pytest.raises(CounterweightError, match=REFUSED) as told:
            check(plan, changed, kind)
        assert len(str(told.value).splitlines()) == 1, name
    with pytest.raises(CounterweightError, match=f"first {ids[0]!r} with order 1 .in the plan"):
        check(plan, wrong["ids"], kind)


@pytest.mark.parametrize("kind", KINDS[:3])
def test_chances_of_a_smaller_budget_stay_right(kind):
    small, large = (plan_of(kind, budget) for budget in (50, 90))
    check(large[0], small[1], kind)
    # The next rows, put below those that were asked by the first plan.
    more = large[1].iloc[len(small[1]) :]
    check(large[0], pd.concat([small[1], more]), kind)
    check(plan_of(kind, 10_000)[0], small[1], kind)
    # A larger plan was cut off, or its budget was made less: those are no chances of this one.
    with pytest.raises(CounterweightError, match=REFUSED):
        check(small[0], large[1].iloc[:30], kind)


def test_one_chance_that_was_changed_a_little_is_found():
    plan, file = plan_of("count")
    file.loc[7, "chance"] *= 0.999
    with pytest.raises(CounterweightError, match=f"has 1 rows .* first {file['id'][7]!r} with"):
        check(plan, file, "count")
