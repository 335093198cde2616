"""Which labels to buy next: who is drawn, with what chance, and what interval to expect of it.

Rows have an order by coin over size: coins are keyed hashes of their ids, sizes go by how hard the
outcome is to foretell. The first rows of the order are the plan at any budget, so that a larger one
contains a smaller one, and whoever stops early still has a sample with known chances
(`counterweight.numerics.designs.stopped_chances`). No label that was bought moves it.
"""

import hashlib

import numpy as np
import pandas as pd

from counterweight.delivery.bought_file import column_names, read_bought
from counterweight.delivery.filter_keys import own_key
from counterweight.delivery.final_scores import Fitted
from counterweight.errors import CounterweightError
from counterweight.numerics.coins import canonical_ids
from counterweight.numerics.designs import (
    budget_for,
    expected_half_width,
    half_widths,
    inclusion_chances,
    keyed_uniforms,
    stopped_chances,
)
from counterweight.tables.parquet import read_table

#: What coins are drawn for, so that a key has others for everything else.
PURPOSE = "counterweight labels to buy"
#: Part of all rows by whose budget sizes are told: so small that no chance is 1.
SMALL = 1e-9
#: Budgets of the curve, in parts of the one that is asked for.
PARTS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
#: Times the mean size from which a row is drawn because it is hard to foretell.
HARD = 1.0


def level_of(collect):
    """Level of an interval that may be looked at so often: all looks together have 95 %."""
    return 1 - 0.05 / ((collect or {}).get("batches") or 1)


def half_width(which, value, binary, **place):
    """A record of half of an interval: of a rate in points, of a mean in the outcome's own unit."""
    name, factor = ("points", 100) if binary else ("half_width", 1)
    return place | {"metric": f"{which}_{name}", "value": factor * float(value)}


def planned_labels(job):
    """Rows to label, the plan of all rows without an outcome, and records of what to expect."""
    given, collect = job.given, job.given["collect"]
    fit, frame = Fitted.of(job), read_table(job.input.table)
    blank = np.flatnonzero(~fit.data.labeled)
    if not len(blank):
        raise CounterweightError(
            "collect is for rows without an outcome, and there is none: leave collect out."
        )
    if collect["for"] != "mean" and not fit.data.binary:
        raise CounterweightError(
            f"collect.for is {collect['for']}, which is of a class, and the outcome is a number: "
            "leave collect.for out."
        )
    person = given["id"]
    told = {"column": person, "people": "table"}
    ids = canonical_ids(frame[person].to_numpy()[blank], **told)
    rows = _Rows.of(fit, frame, blank, collect)
    key = own_key(given["key"])
    coins = keyed_uniforms(ids, key, PURPOSE)
    total = float(rows.cost.sum())
    size = rows.chances(SMALL * total)
    place = coins / size
    budget = collect["budget"]
    if budget is None:
        budget = rows.enough(collect["half_width"])
    drawn, chance = _drawn(place, size, rows, budget, collect["cost"])
    order = np.empty(len(blank), "int32")
    order[np.argsort(place, kind="stable")] = np.arange(1, len(blank) + 1)
    plan = pd.DataFrame(
        {
            "id": ids,
            "row": fit.data.rows[blank],
            "estimate": rows.estimate,
            "spread": rows.truth,
            "size": size,
            "place": place,
            "order": order,
            "chance": chance,
            "drawn": drawn,
            "group": rows.group,
        }
    )
    digest = _digest(ids, size, key)
    plan["plan"] = digest
    asked = (
        read_bought(job.input.collected, given, fit.data, frame) if job.input.collected else None
    )
    if asked is not None:
        asked.check_plan(plan, digest)
    records = rows.expected(budget, drawn, chance, level_of(collect))
    records.append({"metric": "labels_budget", "value": float(budget)})
    if collect["cost"]:
        records.append({"metric": "labels_cost", "value": float(rows.cost[drawn].sum())})
    job.log.info("%d of %d rows without an outcome are drawn", drawn.sum(), len(blank))
    place = {"repeat": 0, "target": "unlabeled", "rows": len(blank)}
    shown = frame[person].to_numpy()[blank]
    return _to_label(plan, shown, rows, given, asked), plan, [place | one for one in records]


def chances_by_place(place, size, count):
    """Chances of rows where the first `count` of the order by place, coin over size, are asked."""
    return stopped_chances(size / size.max(), place * size, count)


def _drawn(place, size, rows, budget, cost):
    """Mask of the rows of a budget and the chance of each row, given where the order stops.

    With costs each row is drawn by its own coin, so that what they cost is the budget in the mean.
    """
    if cost:
        chance = rows.chances(budget)
        return place * size < chance, chance
    count = min(max(int(round(budget)), 1), len(place))
    drawn = np.zeros(len(place), bool)
    drawn[np.argsort(place, kind="stable")[:count]] = True
    return drawn, chances_by_place(place, size, count)


def _digest(ids, size, key):
    """Tells plans apart: rows, sizes and the key, whatever the budget is."""
    made = hashlib.sha256(key.digest.encode())
    for text, one in zip(ids, size, strict=True):
        made.update(f"{len(text)} {text} {one:.9e}\n".encode())
    return made.hexdigest()[:12]


def _to_label(plan, ids, rows, given, asked):
    """The rows to label in their order; outcomes that were bought before are filled in."""
    person, outcome = given["id"], given["outcome"]["options"]["column"]
    names = column_names(person, outcome)
    shown = plan[plan["drawn"]].sort_values("order")
    at = shown.index.to_numpy()
    known = asked.texts(shown["row"].to_numpy()) if asked is not None else [""] * len(shown)
    return pd.DataFrame(
        {
            person: ids[at],
            names["order"]: np.arange(1, len(shown) + 1),
            outcome: known,
            names["chance"]: shown["chance"].to_numpy(),
            names["reason"]: rows.reasons(at, shown["chance"].to_numpy()),
            names["plan"]: shown["plan"].to_numpy(),
        }
    )


class _Rows:
    """Rows without an outcome: what is expected of each, how sure that is, what a label costs.

    `truth` (N,) is the spread of the outcome in its own units, `spread` what chances go by;
    `group` names of groups, "" without.
    """

    def __init__(self, estimate, truth, spread, cost, group, binary, collect):
        self.estimate, self.truth, self.spread = estimate, truth, spread
        self.cost, self.group, self.binary = cost, group, binary
        self.asked = {} if collect["floor"] is None else {"floor": collect["floor"]}
        if collect["cost"]:
            self.asked["cost"] = cost
        self.level = level_of(collect)

    @classmethod
    def of(cls, fit, frame, blank, collect):
        estimate = fit.told[blank]
        if fit.data.binary:
            truth = np.sqrt(estimate * (1 - estimate))
        else:
            low, high = fit.band.interval(estimate)
            truth = (high - low) / (2 * 1.959964)
        spread = truth
        if collect["for"] == "auc":
            spread = truth * _moves_auc(estimate)
        group = np.full(len(blank), "", object)
        if collect["by"]:
            values = frame[collect["by"]].iloc[blank]
            group = values.astype(object).where(values.notna(), "not known").map(_word).to_numpy()
            # The sum of the variances of all groups' means is what becomes least.
            _, place, count = np.unique(group, return_inverse=True, return_counts=True)
            spread = spread / count[place]
        cost = np.ones(len(blank))
        if collect["cost"]:
            cost = _costs(frame, collect["cost"], blank)
        return cls(estimate, truth, spread, cost, group, fit.data.binary, collect)

    def chances(self, budget):
        return inclusion_chances(self.spread, budget, **self.asked)

    def enough(self, half_width):
        """The least budget of an interval of a half-width."""
        told = {"truth": self.truth, "level": self.level, "binary": self.binary}
        return budget_for(half_width, self.spread, **self.asked, **told)

    @property
    def plain(self):
        """Spread of the outcome of a row of which nothing is known, (N,)."""
        mean = self.estimate.mean()
        own = mean * (1 - mean) if self.binary else np.mean(self.truth**2) + self.estimate.var()
        return np.full(len(self.estimate), np.sqrt(own))

    def expected(self, budget, drawn, chance, level):
        """Records of half-widths to expect, by budget: of the plan, of a plain sample, if wrong."""
        total = float(self.cost.sum())
        budgets = sorted({min(max(round(part * budget), 1), total) for part in PARTS})
        told = {"level": level, "binary": self.binary}
        curves = {
            "plan": half_widths(self.spread, budgets, truth=self.truth, **self.asked, **told),
            "wrong": half_widths(self.spread, budgets, truth=self.plain, **self.asked, **told),
            "plain": half_widths(
                np.ones(len(drawn)),
                budgets,
                truth=self.plain,
                parameters=0,
                **self.asked | {"floor": 1.0},
                **told,
            ),
        }
        made = [
            half_width("expected", value, self.binary, part=f"{at:g}", variable=which)
            for at, *values in zip(budgets, *curves.values(), strict=True)
            for which, value in zip(curves, values, strict=True)
            if np.isfinite(value)
        ]
        for name in ["", *np.unique(self.group[self.group != ""])]:
            own = (self.group == name) | (name == "")
            value = expected_half_width(chance[own], self.truth[own], **told)
            place = {"part": str(name)}
            made.append(place | {"metric": "labels_planned", "value": float(drawn[own].sum())})
            if np.isfinite(value):
                made.append(half_width("planned", value, self.binary, **place))
        return made

    def reasons(self, at, chance):
        """Why each of the rows at these places is to be labeled, in words."""
        mean, texts = self.spread.mean(), []
        for row, own in zip(at.tolist(), chance.tolist(), strict=True):
            shown = f"{self.estimate[row]:.2f}" if self.binary else f"{self.estimate[row]:.4g}"
            if own >= 1:
                texts.append(f"drawn for certain: estimate {shown}, as hard to foretell as any")
            elif self.spread[row] >= HARD * mean:
                texts.append(f"hard to foretell: estimate {shown}")
            else:
                texts.append(f"for surprises: estimate {shown} looks sure")
        return texts


def _moves_auc(p):
    """How far the outcome of a row moves the AUC of the estimates, (N,), up to a factor.

    The difference of the influence of a row as a positive and as a negative one, by the chances p
    themselves (DeLong, DeLong & Clarke-Pearson 1988).
    """
    order = np.argsort(p, kind="stable")
    values, place = np.unique(p[order], return_inverse=True)
    ones, zeros = np.bincount(place, p[order]), np.bincount(place, 1 - p[order])
    below = (np.cumsum(zeros) - zeros / 2) / zeros.sum()
    above = 1 - (np.cumsum(ones) - ones / 2) / ones.sum()
    auc = float(ones @ below / ones.sum())
    move = (below - auc) / ones.sum() - (above - auc) / zeros.sum()
    return np.abs(move)[np.searchsorted(values, p)] * len(p)


def _costs(frame, column, blank):
    """What a label of each row costs."""
    values = frame[column].iloc[blank]
    if not pd.api.types.is_numeric_dtype(values):
        raise CounterweightError(
            f"collect.cost names {column!r}, which holds text: give a column of numbers above 0."
        )
    cost = values.to_numpy(dtype=float, na_value=np.nan)
    wrong = ~(np.isfinite(cost) & (cost > 0))
    if wrong.any():
        raise CounterweightError(
            f"collect.cost names {column!r}, which is missing or not above 0 in {int(wrong.sum())} "
            f"rows without an outcome (first: row {blank[np.argmax(wrong)]}): fill it in."
        )
    return cost


def _word(value):
    """A group as it is told: whole numbers without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
