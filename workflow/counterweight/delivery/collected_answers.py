"""Labels bought by design, of a table with blanks: which next, and what those there are say."""

from dataclasses import replace

import numpy as np

from counterweight.delivery.bought_file import read_bought
from counterweight.delivery.final_scores import Fitted
from counterweight.delivery.label_plans import (
    PlannedRows,
    asked_so_far,
    level_of,
    planned,
    rows_to_label,
)
from counterweight.errors import CounterweightError
from counterweight.evaluation.collected import (
    collected_by_group,
    collected_mean,
    collected_metric,
    recalibration,
    refusal_bounds,
)
from counterweight.evaluation.refutation import refuted
from counterweight.models.score_tilt import ScoreTilt, chance_of_outcome
from counterweight.numerics.coins import canonical_ids, own_key
from counterweight.numerics.estimate import Estimate
from counterweight.numerics.sensitivity import TWICE
from counterweight.tables.parquet import read_table

#: Metrics of the estimates on rows without an outcome, by the labels bought.
METRICS = ("auc", "log_loss", "brier")
#: Ends of an interval, variables of its records.
ENDS = ("low", "high")


class CollectedAnswers:
    """What labels bought by design say of the N rows without an outcome of a table.

    Attributes
    ----------
    outcome : array (N,)
        NaN where no label was bought.
    bought : bool array (N,)
    chances : array (N,)
        To be bought and to be answered; of rows that were not bought they say nothing.
    predicted : array (N,)
        What is delivered where labels are missing at random, which has seen no label bought.
    refused, waiting : int
        Rows that were drawn and have no label: those before the last one in the order of the plan
        that has one, and those behind it.
    """

    def __init__(self, job, fit, frame, plan=None):
        given, self.data = job.given, fit.data
        self.collect, self.tested, self.held_out = given["collect"], fit.tested, fit.held_out
        self.level = level_of(self.collect)
        self.file = file = read_bought(job.input.collected, given, fit.data, frame)
        self.blank = np.flatnonzero(~fit.data.labeled)
        places = np.searchsorted(fit.data.rows[self.blank], file.rows)
        size = len(self.blank)
        self.predicted, self.outcome = fit.told[self.blank], np.full(size, np.nan)
        self.outcome[places] = file.y
        self.bought = ~np.isnan(self.outcome)
        drawn = np.zeros(size, bool)
        drawn[places] = True
        chances = np.ones(size)
        chances[places] = file.chance
        self.group, self.waiting = None, 0
        if plan is None and job.input.plan:
            plan = read_table(job.input.plan)
        if plan is not None:
            file.check_plan(plan)
            if self.collect["by"]:
                self.group = plan["group"].to_numpy(dtype=object).astype(str)
            if not self.collect["cost"]:
                drawn, chances, self.waiting = asked_so_far(plan, drawn, self.bought, None)
        self.drawn, self.asked = drawn, chances
        self.refused = int((drawn & ~self.bought).sum())
        # Who did not answer is taken to be like the others that were asked, at equal estimates.
        self.chances = chances * (self.bought.sum() / drawn.sum())
        self.binary, self.target = fit.data.binary, given["target"]
        self._check_classes()

    def _check_classes(self):
        seen = self.outcome[self.bought]
        if not self.binary and np.isin(seen, (0, 1)).all():
            # Numbers that are 0 and 1 by chance would be taken for classes.
            raise CounterweightError(
                f"All {len(seen)} bought outcomes are 0 or 1, and the outcome is a number: buy "
                "more labels before they are used, or correct outcome.kind."
            )

    def told(self):
        """What the functions of `counterweight.evaluation.collected` take first."""
        return self.outcome, self.chances, self.bought, self.predicted

    def mean(self):
        """The mean outcome of the rows without one, an `Estimate`."""
        return collected_mean(*self.told(), binary=self.binary, level=self.level)

    def means(self):
        """As `counterweight.delivery.final_scores` has them: of the target, of the blank rows."""
        hidden = self.mean()
        if self.target == "unlabeled":
            return [("", hidden), ("unlabeled", hidden)]
        rows = len(self.data.labeled)
        known, share = self.data.y[self.data.labeled].sum() / rows, len(self.blank) / rows
        ends = {name: known + share * getattr(hidden, name) for name in ("value", *ENDS)}
        error = share * hidden.standard_error
        return [("", replace(hidden, standard_error=error, **ends)), ("unlabeled", hidden)]

    def tilt(self, selection, general):
        """The `ScoreTilt` that is fitted to the labels bought, and the facts that go with it."""
        constant, slope, covariance = recalibration(*self.told())
        facts = {"by": "collected", "delta": constant, "chance": None, "rests": ""}
        chance = None
        if general:
            facts["chance"], chance = chance_of_outcome(self.data, selection)
        made = ScoreTilt(
            constant,
            chance=chance,
            error=float(np.sqrt(covariance[0, 0])),
            steep=slope,
            steep_error=float(np.sqrt(covariance[1, 1])),
            both=float(covariance[0, 1]),
            odds=float(self.binary),
            least=0.0 if self.tested.amounts else -1e300,
        )
        return made, facts

    def fill(self, scores, classes):
        """Put the labels bought into the scores of the table, in place."""
        where = self.blank[self.bought]
        for column in ("estimate", "low", "high"):
            scores.loc[where, column] = self.outcome[self.bought]
        if self.binary:
            scores.loc[where, "decision"] = classes[self.outcome[self.bought].astype(int)]
        scores.loc[where, "supported"], scores.loc[where, "reason"] = True, ""
        scores["bought"] = False
        scores.loc[where, "bought"] = True

    def test(self):
        """Whether missing at random is refuted, a `Refutation` of `evaluation.refutation`."""
        weight = self.tested.to_hidden(self.target)
        seen = self.tested.y, self.held_out, weight / weight.sum()
        return refuted(*self.told(), group=self.group, seen=seen)

    def facts(self):
        """What the saved model keeps of it, for the page."""
        count = int(self.bought.sum())
        return {
            "labels": count,
            "refused": self.refused,
            "waiting": self.waiting,
            "wanted": (self.collect or {}).get("half_width"),
            "batches": (self.collect or {}).get("batches", 1),
        }

    def records(self, at_random):
        """What else labels bought tell; `at_random` are the means without them, as `means`."""
        metric = "target_rate" if self.binary else "target_mean"
        made = [
            {"metric": "labels_bought", "value": float(self.bought.sum())},
            {"metric": "labels_refused", "value": float(self.refused)},
            {"metric": "labels_waiting", "value": float(self.waiting)},
        ]
        for part, found in at_random:
            made += _of(metric, found, part=f"{part} at random".strip())
        hidden = self.mean()
        made.append(half_width("reached", (hidden.high - hidden.low) / 2, self.binary))
        if self.refused:
            made += self._without_answer()
        if self.group is not None:
            made += self._by_group()
        if self.binary and 0 < self.outcome[self.bought].mean() < 1:
            for name in METRICS:
                found = collected_metric(name, *self.told(), level=self.level)
                made += _of(f"{name}_collected", found)
            expected = float(self.predicted.mean())
            ratio = {end: getattr(hidden, end) / expected for end in ("value", *ENDS)}
            error = hidden.standard_error / expected
            made += _of(
                "calibration_ratio_collected", replace(hidden, standard_error=error, **ratio)
            )
        return made + self._refutation()

    def _without_answer(self):
        """Bounds of the mean: what those who were asked and did not answer could make of it."""
        y = np.where(self.drawn, self.outcome, np.nan)
        asked = y, self.asked, self.drawn, self.predicted
        told = {"gammas": (TWICE, np.inf), "binary": self.binary, "level": self.level}
        made = []
        for gamma, ends in refusal_bounds(*asked, **told).items():
            place = {"metric": f"{self.kind}_bounds_collected"}
            place["part"] = f"gamma={gamma:g}" if np.isfinite(gamma) else "worst"
            for end, found in zip(ENDS, ends, strict=True):
                made.append(place | {"variable": end, "value": getattr(found, end)})
        return made

    @property
    def kind(self):
        """What the mean outcome is called in metrics."""
        return "rate" if self.binary else "mean"

    def _by_group(self):
        """The mean of each group, by its design, and as if missing at random."""
        found = collected_by_group(*self.told(), self.group, level=self.level)
        made = []
        for name, one in found.items():
            expected = float(self.predicted[self.group == name].mean())
            place = {"part": str(name)}
            made += _of(f"{self.kind}_by_group_collected", one, **place)
            made.append(place | {"metric": f"{self.kind}_by_group_at_random", "value": expected})
            count = float(self.bought[self.group == name].sum())
            made.append(place | {"metric": "labels_bought", "value": count})
        return made

    def _refutation(self):
        found, made = self.test(), []
        whole = {"": found} | found.groups
        for name, one in whole.items():
            place = {"part": str(name)}
            if not np.isfinite(one.delta):
                continue
            value = one.gamma if self.binary else one.delta
            ends = (one.low, one.high)
            if not self.binary:
                ends = tuple(one.delta + side * 1.959964 * one.error for side in (-1, 1))
            metric = "odds_to_random" if self.binary else "shift_to_random"
            error = one.error * (one.gamma if self.binary else 1)
            told = Estimate(value, error, *ends, one.rows, float(one.rows), np.nan)
            made += _of(metric, told, **place)
            made.append(place | {"metric": "random_refuted", "value": float(one.refuted)})
            if np.isfinite(one.slope):
                error = one.slope_error
                told = {"metric": "slope_to_random", "value": one.slope, "standard_error": error}
                made.append(place | told)
        return made


def half_width(which, value, binary, **place):
    """A record of half of an interval: of a rate in points, of a mean in the outcome's own unit."""
    name, factor = ("points", 100) if binary else ("half_width", 1)
    return place | {"metric": f"{which}_{name}", "value": factor * float(value)}


def _of(metric, found, **place):
    """Records of an `Estimate` with its interval, where it is known."""
    if not np.isfinite(found.value):
        return []
    place = {"metric": metric, "rows": found.rows} | place
    error = {"standard_error": found.standard_error} if np.isfinite(found.standard_error) else {}
    made = [place | {"value": found.value} | error]
    known = [end for end in ENDS if np.isfinite(getattr(found, end))]
    return made + [place | {"variable": end, "value": getattr(found, end)} for end in known]


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
    person, outcome = given["id"], given["outcome"]["options"]["column"]
    people = frame.iloc[blank]
    shown = people[person].to_numpy()
    ids = canonical_ids(shown, column=person, people="table")
    rows = PlannedRows.of(fit.told[blank], fit.band, fit.data.binary, people, collect)
    plan, budget = planned(rows, ids, own_key(given["key"]), collect)
    plan.insert(1, "row", fit.data.rows[blank])
    known, expected = None, rows
    if job.input.collected:
        bought = CollectedAnswers(job, fit, frame, plan)
        # Labels that are there put right what is expected of more, and not whom to ask.
        expected = rows.after(bought)

        def known(at):
            return bought.file.texts(plan["row"].to_numpy()[at])

    to_label = rows_to_label(plan, shown, rows, person, outcome, known)
    job.log.info("%d of %d rows without an outcome are drawn", len(to_label), len(blank))
    place = {"repeat": 0, "target": "unlabeled", "rows": len(blank)}
    return (
        to_label,
        plan,
        [place | one for one in _expected(plan, expected, budget, collect, known is None)],
    )


def _expected(plan, rows, budget, collect, first):
    """Records of half-widths by budget and by group, and of what is drawn.

    `first` says that no label was bought yet.
    """
    drawn, curves = plan["drawn"].to_numpy(), rows.curves(budget)
    made = [
        half_width("expected", value, rows.binary, part=f"{at:g}", variable=which)
        for at, *values in curves[["budget", "plan", "wrong", "plain"]].itertuples(index=False)
        for which, value in zip(("plan", "wrong", "plain"), values, strict=True)
        if np.isfinite(value)
    ]
    if first:
        # No label says yet how rows without an outcome differ: one number would promise too much.
        ends = zip(ENDS, rows.span(plan["chance"].to_numpy()), strict=True)
        made += [
            half_width("planned", value, rows.binary, variable=end)
            for end, value in ends
            if np.isfinite(value)
        ]
    for name, count, value in rows.groups(drawn, plan["chance"].to_numpy()):
        made.append({"metric": "labels_planned", "part": name, "value": float(count)})
        if np.isfinite(value):
            made.append(half_width("planned", value, rows.binary, part=name))
    made.append({"metric": "labels_budget", "value": float(budget)})
    if collect["half_width"]:
        made.append({"metric": "budget_needed", "value": float(rows.enough(collect["half_width"]))})
    if collect["cost"]:
        made.append({"metric": "labels_cost", "value": float(rows.cost[drawn].sum())})
    return made
