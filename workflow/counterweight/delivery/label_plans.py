"""Which labels to buy next, of rows of a file or of a frame, and what those bought say.

Rows have an order by coin over size: coins are keyed hashes of their ids, sizes go by how hard the
outcome is to foretell. The first rows of the order are the plan at any budget, so that a larger one
contains a smaller one, and whoever stops early still has a sample with known chances
(`counterweight.numerics.designs.stopped_chances`). No label that was bought moves it.
"""

from __future__ import annotations

import copy
import hashlib
import logging
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from counterweight.delivery.bought_file import (
    ShownAnswers,
    ShownPlan,
    as_columns,
    asked_alone,
    check_at_random,
    column_names,
    costs_of,
    filled_in,
    in_order,
    plan_name,
    refuse_one_class,
    refuse_other,
    refuse_undrawn,
    without_outcome,
    word,
)
from counterweight.errors import CounterweightError, in_brackets, in_figures, listed
from counterweight.evaluation.collected import (
    collected_by_group,
    collected_calibration,
    collected_mean,
    collected_metric,
    recalibration,
)
from counterweight.evaluation.refutation import (
    Decided,
    collected_rates,
    decided_of,
    refusal_bounds,
    refuted,
)
from counterweight.labeling.columns import free_name
from counterweight.labeling.sensitive import explored_chances
from counterweight.numerics.checks import check_aim, check_numbers, check_positive
from counterweight.numerics.coins import canonical_ids, key_of_plan
from counterweight.numerics.designs import (
    NEAREST,
    expected_half_width,
    inclusion_chances,
    keyed_uniforms,
    least_budget,
    mixed,
    spans_of,
    stopped_chances,
)
from counterweight.numerics.linear import expit, logit
from counterweight.numerics.ranking import moves_of_auc
from counterweight.numerics.sensitivity import SPAN

log = logging.getLogger("counterweight")

#: What coins are drawn for, so that a key has others for everything else.
PURPOSE = "counterweight labels to buy"
EXPLORED = "counterweight decisions by chance"
#: Part of all rows by whose budget sizes are told: so small that no chance is 1.
SMALL = 1e-9
#: Budgets of the curve, in parts of the one that is asked for.
PARTS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
#: Times the mean size from which a row is drawn because it is hard to foretell.
HARD = 1.0
#: What is asked of a plan where it is not said.
DEFAULTS = {"budget": None, "half_width": None, "cost": None, "by": None}
DEFAULTS |= {"for": "mean", "floor": None, "batches": 1, "decision": None, "worth": None}


def level_of(collect):
    """Level of an interval that may be looked at so often: all looks together have 95 %."""
    return 1 - 0.05 / ((collect or {}).get("batches") or 1)


def groups_of(frame, by, rows):
    """Names of the groups of rows of a frame, "" without a column of them."""
    if not by:
        return np.full(rows, "", object)
    values = frame[by]
    return values.astype(object).where(values.notna(), "not known").map(word).to_numpy()


def chances_by_place(place, size, count):
    """Chances of rows where the first `count` of the order by place, coin over size, are asked."""
    return stopped_chances(size / size.max(), place * size, count)


def planned(rows, ids, key, collect):
    """The plan of all rows (N,), a frame.

    `rows` are `PlannedRows`, `ids` canonical texts, `collect` the settings of a plan.

    Columns: ``id``, ``estimate``, ``spread`` (of the outcome), ``size``, ``place`` (coin over
    size), ``order`` (from 1), ``chance``, ``drawn``, ``group``, ``plan`` (which tells it from
    others, whatever the budget and the order of rows).
    """
    coins = keyed_uniforms(ids, key, PURPOSE)
    size = rows.chances(SMALL * float(rows.cost.sum()))
    place = coins / size
    budget = collect["budget"]
    if budget is None:
        wanted = collect["half_width"]
        budget = rows.enough(wanted)
        if rows.least > wanted:
            told = "The labels of all rows are expected to give ±%.3g, and ±%.3g is wanted."
            log.warning(told, rows.least, wanted)
    order = np.empty(len(place), "int32")
    order[np.argsort(place, kind="stable")] = np.arange(1, len(place) + 1)
    if collect["cost"]:
        # Each row is drawn by its own coin, so that what they cost is the budget in the mean.
        chance = rows.chances(budget)
        drawn = place * size < chance
    else:
        count = min(max(int(round(budget)), 1), len(place))
        drawn, chance = order <= count, chances_by_place(place, size, count)
    return pd.DataFrame(
        {
            "id": ids,
            "estimate": rows.estimate,
            "spread": rows.truth,
            "size": size,
            "place": place,
            "order": order,
            "chance": chance,
            "drawn": drawn,
            "group": rows.group,
            "plan": digest_of(ids, size, key),
        }
    ), budget


def digest_of(ids, size, key):
    """Tells plans apart: rows, sizes and the key, whatever the budget and the order of rows."""
    made = hashlib.sha256(key.digest.encode())
    for text, one in sorted(zip(ids, size, strict=True)):
        made.update(f"{len(text)} {text} {one:.6e}\n".encode())
    return plan_name(made.hexdigest(), len(ids))


def with_ids(plan, person, shown):
    """A plan (N,) as it is written: ids as they are given, under their column's own name."""
    plan = plan.drop(columns="id")
    plan.insert(0, free_name(person, plan.columns), shown)
    return plan


def rows_to_label(plan, shown, rows, person, outcome, known=None):
    """Rows of a plan that are drawn, in their order, with a column for the outcome.

    `shown` (N,) are ids as they are given; `known` a callable of places to what is filled in. Where
    the outcome is a list of columns, that is a list of each.
    """
    names, columns = column_names(person, outcome), as_columns(outcome)
    drawn = plan[plan["drawn"]].sort_values("order")
    at = drawn.index.to_numpy()
    chance = drawn["chance"].to_numpy()
    filled = [[""] * len(drawn)] * len(columns)
    if known is not None:
        filled = [known(at)] if isinstance(outcome, str) else known(at)
    return pd.DataFrame(
        {
            person: shown[at],
            names["order"]: np.arange(1, len(drawn) + 1),
            **dict(zip(columns, filled, strict=True)),
            names["chance"]: chance,
            names["reason"]: rows.reasons(at, chance),
            names["plan"]: drawn["plan"].to_numpy(),
        }
    )


def asked_so_far(plan, bought):
    """Who of a plan was asked up to the last one with a label, by what chances, how many wait.

    Buying may stop anywhere in the order: then chances are those of the rows up to there. That
    holds with costs, too, whose plan is the rows of the order up to some coin over size.
    """
    order, drawn = plan["order"].to_numpy(), plan["drawn"].to_numpy()
    last = int(order[bought].max())
    waiting = int((drawn & (order > last)).sum())
    if not waiting:
        return drawn, plan["chance"].to_numpy(), 0
    chances = chances_by_place(plan["place"].to_numpy(), plan["size"].to_numpy(), last)
    return drawn & (order <= last), chances, waiting


class PlannedRows:
    """Rows without an outcome: what is expected of each, how sure that is, what a label costs.

    `truth` (N,) is the spread of the outcome in its own units, `spread` what chances go by beside
    `importance`, how much each row counts in what is asked; `group` are names, "" without.
    `decided` is the `Decided` whose rates are asked for, if they are.
    `moves` (N,) say how far a row moves what is asked, in parts of how far it moves a mean, where
    that is no mean, `moves_alike` if all had one chance of it; `beyond` whether outcomes could have
    come out otherwise; `tails`, of numbers, how long theirs is. `answered` (one or (N,)) is the
    chance that a row that is asked tells what is asked for. Of labels that are there `spent` is
    what they cost, `excess` by which part of it the square of their half-width is above its due.
    """

    moves, moves_alike, beyond, tails, decided = None, None, False, None, None
    answered, spent, excess = 1.0, 0.0, 0.0

    def __init__(self, estimate, truth, spread, importance, cost, group, binary, collect):
        self.estimate, self.truth, self.spread = estimate, truth, spread
        self.cost, self.group, self.binary = cost, group, binary
        self.asked = {"floor": collect["floor"], "importance": importance}
        if collect["cost"]:
            self.asked["cost"] = cost
        self.level, self.points = level_of(collect), binary

    @classmethod
    def of(cls, estimate, band, binary, frame, collect, decided=None):
        """Of estimates (N,) with their band, of the rows of a frame, and of their decisions."""
        if binary:
            spread = truth = np.sqrt(estimate * (1 - estimate))
        else:
            spread, truth = band.spread(estimate)  # chances go by no long tail
        if collect["for"] == "auc":
            up, down = moves_of_auc(estimate)
            spread = truth * np.abs(up - down)
        group, importance = groups_of(frame, collect["by"], len(estimate)), None
        if decided:
            spread, importance = mixed([*decided.moves(estimate).values()], truth)
        elif collect["by"]:
            # The sum of the variances of all groups' means is what becomes least.
            _, place, count = np.unique(group, return_inverse=True, return_counts=True)
            importance = 1 / count[place]
        cost = costs_of(frame, collect["cost"]) if collect["cost"] else np.ones(len(estimate))
        made = cls(estimate, truth, spread, importance, cost, group, binary, collect)
        made.tails, made.decided = band.tails_, decided
        return made

    def expected_rates(self, budget):
        """Half-widths to expect of rates of decisions, by (rate, group)."""
        chance, made = self.chances(budget), copy.copy(self)
        made.points = False  # a value may be known to less than half
        moved = self.decided.moves(self.estimate)
        return {key: made.half(chance, moves=moves) for key, moves in moved.items()}

    def after(self, answers):
        """These rows, of which it is told by `LabelAnswers` what is to be expected."""
        constant, slope, _ = recalibration(*answers.told())
        made = copy.copy(self)
        if self.binary:
            odds = logit(np.clip(self.estimate, NEAREST, 1 - NEAREST))
            made.estimate = expit(constant + slope * odds)
            made.truth = np.sqrt(made.estimate * (1 - made.estimate))
        else:
            left = (answers.outcome - constant - slope * self.estimate)[answers.bought]
            weight = 1 / answers.chances[answers.bought]
            made.truth = self.truth * np.sqrt(
                weight @ left**2 / (weight @ self.truth[answers.bought] ** 2)
            )
            made.estimate = constant + slope * self.estimate
        return made

    def answering(self, answers):
        """These rows, which answer as often as those of their group who were asked."""
        made, place = copy.copy(self), np.unique(self.group, return_inverse=True)[1]
        asked, came = (np.bincount(place, one) for one in (answers.drawn, answers.came))
        share = came.sum() / asked.sum()
        # Each group has one row more, which answers as often as all do: none never answers.
        made.answered = self.answered * ((came + share) / (asked + 1))[place]
        return made

    def going_on(self, answers, budget):
        """As `answering`, of which more are asked up to a budget: half-widths go on from the one
        that is reached."""
        made = self.answering(answers)
        made.spent = float(self.cost[answers.drawn].sum()) if answers.waiting else budget
        expected = made.half(made.chances(made.spent))
        if expected > 0 and np.isfinite(answers.reached):
            made.excess = (answers.reached / expected) ** 2 - 1
        return made

    def chances(self, budget):
        return inclusion_chances(self.spread, budget, **self.asked)

    def half(self, chance, truth=None, own=slice(None), **told):
        """Half-width to expect where rows are asked with these chances (N,): of all or of `own`.

        Labels that are there count with what came of them, others with what is expected.
        """
        truth = self.truth if truth is None else truth
        asked = chance * told.pop("answered", self.answered)
        known = {"level": self.level, "binary": self.binary, "beyond": self.beyond}
        known |= {"moves": self.moves, "tails": self.tails} | told
        part = min(self.spent / float(self.cost @ chance), 1.0) * self.excess
        half = float(expected_half_width(asked[own], truth[own], **known) * np.sqrt(1 + part))
        return min(half, 0.5) if self.points else half

    def enough(self, half_width):
        """The least budget of an interval of a half-width."""
        return least_budget(
            lambda budget: self.half(self.chances(budget)) <= half_width,
            float(self.cost.sum()),
            whole="cost" not in self.asked,
        )

    @property
    def least(self):
        """The half-width to expect with the labels of all rows."""
        return self.half(np.ones(len(self.estimate)))

    @property
    def plain(self):
        """Spread of the outcome of a row of which nothing is known, (N,)."""
        mean = self.estimate.mean()
        own = mean * (1 - mean) if self.binary else np.mean(self.truth**2) + self.estimate.var()
        return np.full(len(self.estimate), np.sqrt(own))

    def alike(self, budget):
        """Half-width to expect of a simple random sample, without predictions."""
        cost = {"cost": self.asked["cost"]} if "cost" in self.asked else {}
        chance = inclusion_chances(np.ones(len(self.estimate)), budget, floor=1.0, **cost)
        return self.half(chance, self.alone, parameters=0)

    @property
    def alone(self):
        """Spread of the outcome about nothing but its mean, as a sample without predictions has it,
        (N,)."""
        return self.plain

    def curves(self, budget, first=True):
        """Half-widths to expect at several budgets, a frame: of the plan, if nothing of what is
        expected of the rows is worth anything (`wrong`), of a sample without predictions
        (`plain`); with `first`, while no label is there, from `low` to `high`, as `spans`."""
        budgets, told = budgets_about(budget, float(self.cost.sum())), {"moves": self.moves_alike}
        chances = [self.chances(at) for at in budgets]
        wrong = [self.half(one, self.plain, **told) for one in chances]
        made = {"budget": budgets, "plan": [*map(self.half, chances)], "wrong": wrong}
        made = pd.DataFrame(made | {"plain": [*map(self.alike, budgets)]})
        if first:
            made[["low", "high"]] = self.spans(chances)
        return made

    def groups(self, drawn, chance):
        """Labels that are drawn and half-width to expect, by group, all rows ("") first."""
        for name in ["", *np.unique(self.group[self.group != ""])]:
            own = (self.group == name) | (name == "")
            yield str(name), int(drawn[own].sum()), self.half(chance, own=own)

    def spans(self, chances):
        """As `spans_of`, while nobody knows how rows without an outcome differ; NaN of a number."""
        if not self.binary:
            return np.full((len(chances), 2), np.nan)
        return spans_of(chances, self.estimate, level=self.level)

    def reasons(self, at, chance):
        """Why each of the rows at these places is to be labeled, in words."""
        mean, texts = self.spread.mean(), []
        for row, own in zip(at.tolist(), chance.tolist(), strict=True):
            shown = f"{self.estimate[row]:.2f}" if self.binary else in_figures(self.estimate[row])
            if own >= 1:
                texts.append(f"drawn for certain at this budget: estimate {shown}")
            elif self.spread[row] >= HARD * mean:
                texts.append(f"hard to foretell: estimate {shown}")
            else:
                texts.append(f"for surprises: estimate {shown} looks sure")
        return texts


#: What is asked of exploring where it is not said.
EXPLORING = {"share": None, "monthly": None, "by": None, "months": 12, "loss": None, "gain": None}
#: Explored rows of the rarer outcome that a constant and a slope need: ten each (Peduzzi 1996).
REFITTED = 20


def explored(rows, ids, key, explore, expected=None):
    """Who is decided by chance, and what that costs and teaches by month.

    Each row has its own coin, a keyed hash of its id. Months are like the rows that are there; what
    they cost and teach goes by `expected`, these rows as outcomes have put them right, if any came.

    Returns
    -------
    plan : pandas.DataFrame
        As `planned`, of all rows (N,).
    months : pandas.DataFrame
        By ``month``: ``labels`` and ``events`` (of the rarer outcome) expected so far,
        ``half_width`` of the 95 % interval of the mean of such rows; with a ``loss``, ``cost`` so
        far, and ``most``, if their odds are `SPAN` times those that no outcome has put right.
    """
    share = explore["share"]
    if isinstance(share, dict):
        share = {word(one): own for one, own in share.items()}
    chance = explored_chances(share, rows.group)
    coins = keyed_uniforms(ids, key, EXPLORED)
    place = coins / chance
    order = np.empty(len(place), "int32")
    order[np.argsort(place, kind="stable")] = np.arange(1, len(place) + 1)
    plan = {"id": ids, "estimate": rows.estimate, "spread": rows.truth, "size": chance}
    plan |= {"place": place, "order": order, "chance": chance, "drawn": coins < chance}
    plan |= {"group": rows.group, "plan": digest_of(ids, chance, key)}
    first, expected = expected is None, expected or rows
    p, per, made = expected.estimate, float(explore["monthly"]), []
    loss = np.nan if explore["loss"] is None else explore["loss"]
    worse = expit(logit(np.clip(p, NEAREST, 1 - NEAREST)) + np.log(SPAN if first else np.nan))
    cost = [chance @ (q * loss - (1 - q) * (explore["gain"] or 0)) / len(p) for q in (p, worse)]
    rare = min(chance @ p, chance @ (1 - p)) / len(p)
    for month in range(1, explore["months"] + 1):
        count = max(int(per * month), 1)
        at = (np.arange(count) * len(p)) // count if count < len(p) else np.arange(count) % len(p)
        half = expected_half_width(chance[at], expected.truth[at], level=rows.level, beyond=True)
        each = (per * month * one for one in (chance.mean(), rare, *cost))
        made.append((month, half, *each))
    names = ["month", "half_width", "labels", "events", "cost", "most"]
    return pd.DataFrame(plan), pd.DataFrame(made, columns=names)


def asked_to_explore(explore, binary):
    """What is asked of decisions by chance, spelled out and checked, where no config was."""
    for strange in explore.keys() - EXPLORING.keys():
        raise CounterweightError(
            f"explore has no {strange!r}; it has {', '.join(EXPLORING)}: correct it."
        )
    told = EXPLORING | explore
    if not binary:
        raise CounterweightError(
            "explore is for an outcome of two classes, and this one is a number: leave explore out."
        )
    shares = told["share"]
    if isinstance(shares, dict) and not told["by"]:
        raise CounterweightError(
            "explore.share has a share by stratum, and nothing says which: name the column of "
            "strata as explore.by, or give one share."
        )
    for one in shares.values() if isinstance(shares, dict) else [shares]:
        check_positive("explore.share", one, 1)
    for name, most in (("monthly", np.inf), ("months", 60)):
        check_positive(f"explore.{name}", told[name], most)
    return told | {"months": int(told["months"])}


class LabelPlan(ShownPlan):
    """Which rows of a frame to label, as `counterweight.SavedScores.collect` plans it.

    Attributes
    ----------
    frame : pandas.DataFrame
        Rows to label in their order: id, ``order``, the outcome to fill in, ``chance``, ``reason``,
        ``plan``. A larger budget with the same frame and key has these rows first.
    budget : float
        As asked, or the least for the half-width asked.
    months : pandas.DataFrame
        Of decisions by chance (`counterweight.SavedScores.explore`): costs and half-widths.
    people : pandas.DataFrame
        The plan of all rows without an outcome, with ``estimate``, ``chance`` and ``drawn``; its
        index is that of the frame.
    """

    def __init__(
        self,
        saved: object,
        frame: pd.DataFrame,
        *,
        key: object = None,
        explore: dict | None = None,
        **collect: object,
    ) -> None:
        self._saved, self._own_coins = saved, explore is not None
        if explore is not None:
            explore = asked_to_explore(explore, saved.binary)
            # Nobody is asked in an order: outcomes come as they come.
            collect = {"budget": 1, "by": explore["by"]}
        for strange in collect.keys() - DEFAULTS.keys():
            raise CounterweightError(
                f"collect has no {strange!r}; it has {', '.join(sorted(DEFAULTS))}: correct it."
            )
        self.collect = DEFAULTS | collect
        if (self.collect["budget"] is None) == (self.collect["half_width"] is None):
            raise CounterweightError(
                "collect goes by budget or by half_width: give one of the two."
            )
        check_numbers(self.collect)
        check_aim(self.collect, number=not saved.binary)
        self.person, self.outcome = saved.facts["id"], saved.facts["outcome"]
        if not self.person:
            raise CounterweightError(
                "The model was fitted without an id, by which rows are drawn and known again: fit "
                "it with one."
            )
        self._group = None
        people = without_outcome(frame, self.person, self.outcome)
        decision = self.collect["decision"]
        decision = decision["column"] if isinstance(decision, dict) else decision
        for name in (self.collect["cost"], self.collect["by"], decision):
            if name is not None and name not in people.columns:
                raise CounterweightError(
                    f"The frame has no column {name!r}, which collect names; it has "
                    f"{listed(people.columns, 20)}."
                )
        estimate = saved.scored(saved.typed(people), reasons=False)["estimate"]
        decided = decided_of(
            people, self.collect, group=groups_of(people, self.collect["by"], len(people))
        )
        told = saved.band, saved.binary, people, self.collect, decided
        self._rows = PlannedRows.of(estimate, *told)
        shown = people[self.person].to_numpy()
        ids = canonical_ids(shown, column=self.person, people="frame")
        if explore is None:
            plan, self.budget = planned(self._rows, ids, key_of_plan(key), self.collect)
        else:
            plan, self.months = explored(self._rows, ids, key_of_plan(key), explore)
            self.budget = float(plan["chance"].sum())
        self.people = plan.set_axis(people.index)
        self.frame = rows_to_label(plan, shown, self._rows, self.person, self.outcome)

    def expected(self, labels: pd.DataFrame | None = None) -> pd.DataFrame:
        """Half-widths of the 95 % interval of the mean to expect at several budgets, a frame.

        Columns: ``budget``; ``plan``, if the estimates are right on average, so if labels were
        missing at random; ``wrong``, if they are worth nothing; ``plain``, of a simple random
        sample whose predictions nobody uses; ``low`` and ``high`` (NaN of a number), the ends of
        ``plan`` over odds up to 3 times those estimated, or a third. With labels that are there,
        as `with_labels` takes them, estimates are put right first, there are no such ends, and rows
        that are asked are expected to have none as often as those of their group ``by`` which were.
        """
        if labels is None:
            return self._rows.curves(self.budget)
        answers = self.with_labels(labels)
        return self._rows.after(answers).going_on(answers, self.budget).curves(self.budget, False)

    def with_labels(self, labels: pd.DataFrame, level: float | None = None) -> LabelAnswers:
        """What labels say, `LabelAnswers`.

        Parameters
        ----------
        labels : pandas.DataFrame
            `frame` with its outcome column filled in, as far as it is; the outcome is blank of
            those who refused, or who were not asked yet.
        level : float, optional
            Of the intervals: of a look that was planned that of `counterweight.look_levels`. By
            default all ``batches`` that were told together have 95 %.
        """
        at, outcome = filled_in(self._saved, labels, self.people["id"])
        drawn, chances = (self.people[name].to_numpy() for name in ("drawn", "chance"))
        refuse_undrawn("The labels have", self.people["id"].iloc[at], drawn[at], "rows")
        refuse_other(labels, self.person, self.outcome, self.people, at, self._own_coins)
        y, waiting = np.full(len(drawn), np.nan), 0
        y[at] = outcome
        if not self._own_coins:
            drawn, chances, waiting = asked_so_far(self.people, np.isfinite(y))
        told = self.people["estimate"].to_numpy(), y, drawn, chances, waiting
        level = self._rows.level if level is None else level
        told = *told, level, self.people.index, self._rows.decided
        return LabelAnswers(self._saved, *told)


class LabelAnswers(ShownAnswers):
    """What labels bought by design say of the rows of a frame that had no outcome.

    Attributes
    ----------
    mean : Estimate
        The rate or the mean of these rows, with its 95 % interval; nothing is assumed of who had a
        label before.
    outcome : array (N,)
        NaN where there is no label.
    chances, predicted : array (N,)
    bought : bool array (N,)
    refused, waiting : int
        Rows that were asked and have no label; rows of the plan behind the last one that has."""

    def __init__(
        self,
        saved: object,
        predicted: ArrayLike,
        outcome: ArrayLike,
        drawn: ArrayLike,
        chances: ArrayLike,
        waiting: int = 0,
        level: float = 0.95,
        index: ArrayLike | None = None,
        decided: Decided | None = None,
    ) -> None:
        self._decided = decided
        self._saved, self.predicted, self.outcome, self._index = saved, predicted, outcome, index
        self.bought = self.came = np.isfinite(outcome)
        self.drawn, self.asked, self.level, self.waiting = drawn, chances, level, waiting
        self.refused = int((drawn & ~self.bought).sum())
        # Who did not answer is taken to be like the others that were asked, at equal estimates.
        self.chances = chances * (self.bought.sum() / drawn.sum())
        refuse_one_class(self, saved.classes_ if saved.binary else ())
        self.mean = collected_mean(*self.told(), binary=saved.binary, level=level)

    def _said(self):
        one = self.mean
        return {"mean": in_brackets(one.value, one.low, one.high, self._saved.binary)}

    @property
    def reached(self) -> float:
        """Half of that interval."""
        return (self.mean.high - self.mean.low) / 2

    def told(self):
        """What the functions of `counterweight.evaluation.collected` take first."""
        return self.outcome, self.chances, self.bought, self.predicted

    def by_group(self, group: ArrayLike) -> dict:
        """`Estimate` of the mean by group; `group` (N,) is of the rows without an outcome.

        A series that has the index of these rows goes by that, others by their order."""
        group = in_order(group, self._index)
        if len(group) != len(self.predicted):
            raise CounterweightError(
                f"by_group takes the groups of {len(self.predicted)} rows without an outcome, in "
                f"their order; there are {len(group)}."
            )
        return collected_by_group(*self.told(), group, binary=self._saved.binary, level=self.level)

    def metric(self, name: str) -> dict:
        """A metric of the estimates on these rows, such as ``"auc"``, an `Estimate`."""
        return collected_metric(name, *self.told(), level=self.level)

    def rates(self) -> dict:
        """Rates of the decisions of a plan ``for`` rates, by (rate, group): `collected_rates`."""
        if self._decided is None:
            raise CounterweightError(
                "rates are of a plan with for: rates and a decision: make one."
            )
        return collected_rates(*self.told(), self._decided, level=self.level)

    def calibration(self) -> pd.DataFrame:
        """Mean estimate over the share of 1, an `Estimate`."""
        return collected_calibration(*self.told(), level=self.level)

    def refuted(self, group: str | None = None) -> object:
        """Whether they refute that labels were missing at random, a `Refutation`.

        The error of the model, which all rows share, is half of the width of its band over 1.96, of
        a number that of the mean of as many residuals as it learned from: only what no error of the
        model explains refutes.
        """
        check_at_random(self._saved)
        band = self._saved.band
        low, high = band.interval(self.predicted)
        error, spread = (high - low) / (2 * 1.959964), None
        if not self._saved.binary:
            spread = band.spread(self.predicted)[1]
            error = spread / np.sqrt(self._saved.facts.get("known", np.inf))
        return refuted(*self.told(), error, in_order(group, self._index), spread=spread)

    def refusals(self, gammas: Sequence[float] = (1.0, 2.0, np.inf)) -> pd.DataFrame:
        """Bounds of the mean for those who refused; see `counterweight.refusal_bounds`."""
        told = self.outcome, self.asked, self.drawn, self.predicted
        return refusal_bounds(*told, gammas=gammas, binary=self._saved.binary, level=self.level)


def answers_with(saved, frame, labels):
    """`LabelAnswers` of rows of a frame without a plan: chances are those in the labels."""
    person, outcome = saved.facts["id"], saved.facts["outcome"]
    people = without_outcome(frame, person, outcome)
    ids = canonical_ids(people[person].to_numpy(), column=person, people="frame")
    at, told = filled_in(saved, labels, pd.Series(ids))
    name, plan = (column_names(person, outcome)[one] for one in ("chance", "plan"))
    if name not in labels.columns:
        raise CounterweightError(
            f"The labels have no column {name!r}, the chance that each row had to be asked: give "
            "the frame of the plan with its outcomes filled in."
        )
    y = np.full(len(ids), np.nan)
    y[at] = told
    called = labels[plan].iloc[0] if plan in labels else ""
    drawn, chances = asked_alone(len(ids), at, labels[name].to_numpy(dtype=float), plan=called)
    estimate = saved.scored(saved.typed(people), reasons=False)["estimate"]
    return LabelAnswers(saved, estimate, y, drawn, chances, index=people.index)


def budgets_about(budget, total):
    """Budgets of a curve about one, up to what all that may be bought costs."""
    around = {max(round(part * budget), 1) for part in PARTS if part != 1}
    return sorted({min(one, total) for one in (budget, *around)})


def fitting(collect, unfit, whom):
    """Settings of a plan of labels of `whom`, spelled out; those that do not fit are refused."""
    known = [name for name in DEFAULTS if name not in unfit]
    strange = [name for name in collect if name not in known]
    if strange:
        raise CounterweightError(
            f"collect of {whom} has no {strange[0]!r}; it has {listed(known)}: correct it."
        )
    return DEFAULTS | collect
