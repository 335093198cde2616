"""Labels bought by design, of a table with blanks or of a log whose predictions are judged: which
to buy next, and what those that are there say."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from counterweight.delivery.bought_file import (
    Events,
    asked_alone,
    column_names,
    read_bought,
    refuse_one_class,
    rewards_read,
    written,
)
from counterweight.delivery.final_scores import Fitted
from counterweight.delivery.label_plans import (
    DEFAULTS,
    REFITTED,
    PlannedRows,
    asked_so_far,
    asked_to_explore,
    explored,
    groups_of,
    level_of,
    planned,
    rows_to_label,
    spans_of,
    with_ids,
)
from counterweight.errors import CounterweightError
from counterweight.evaluation.collected import (
    collected_by_group,
    collected_difference,
    collected_mean,
    collected_metric,
    over_share,
    recalibration,
)
from counterweight.evaluation.refutation import (
    ENDS,
    collected_rates,
    decided_of,
    estimate_records,
    facts_of,
    half_width,
    refusal_bounds,
    refuted,
)
from counterweight.evaluation.scored_log import RATIO, counted_of
from counterweight.labeling.sensitive import yes_or_no
from counterweight.models.score_tilt import ScoreTilt, chance_of_outcome
from counterweight.numerics.checks import check_aim
from counterweight.numerics.coins import canonical_ids, own_key
from counterweight.numerics.designs import mixed
from counterweight.numerics.estimate import Estimate, share_interval
from counterweight.numerics.ranking import FEW_DRAWS, moves_of_auc
from counterweight.numerics.sensitivity import TWICE
from counterweight.tables.parquet import read_table

#: Metrics of the estimates on rows without an outcome, by the labels bought.
METRICS = ("auc", "log_loss", "brier")


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

    decided = None

    def __init__(self, job, fit, frame, plan=None):
        given, self.data = job.given, fit.data
        self.collect, self.band = given["collect"], fit.band
        self.tested, self.held_out = fit.tested, fit.held_out
        self.level = level_of(self.collect)
        self.file = file = read_bought(job.input.collected, given, fit.data, frame)
        self.blank = np.flatnonzero(~fit.data.labeled)
        self.predicted, self.group = fit.told[self.blank], None
        if plan is None and job.input.plan:
            plan = read_table(job.input.plan)
        if explored := plan is not None and not self.collect:
            # Who is decided by chance has the chances of the file, of whatever plan that was.
            file.check_explored(plan)
            plan = None
        if plan is not None and self.collect["by"]:
            self.group = plan["group"].to_numpy(dtype=object).astype(str)
        lack = "" if explored else "without an outcome"
        asked = asked_of(file, fit.data.rows[self.blank], plan, lack)
        self.outcome, self.drawn, self.asked, self.waiting = asked
        self.bought = self.came = ~np.isnan(self.outcome)
        self.refused = int((self.drawn & ~self.bought).sum())
        # Who did not answer is taken to be like the others that were asked, at equal estimates.
        self.chances = self.asked * (self.bought.sum() / self.drawn.sum())
        self.binary, self.target = fit.data.binary, given["target"]
        self.decided = asked_decisions(fit, frame, self.collect, self.target)
        self._check_classes()
        refuse_one_class(self, 2 * [file.shown[file.known.argmax()]] if self.binary else ())

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

    @property
    def reached(self):
        """Half of the interval of that mean."""
        found = self.mean()
        return (found.high - found.low) / 2

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
            most=min(self.tested.most, 1e300),
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
        spread = None if self.binary else self.band.spread(self.predicted)[1]
        return refuted(*self.told(), group=self.group, seen=seen, spread=spread)

    def facts(self):
        """What the saved model keeps of it, for the page."""
        count = int(self.bought.sum())
        return {
            "labels": count,
            "refused": self.refused,
            "waiting": self.waiting,
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
            made += estimate_records(metric, found, part=f"{part} at random".strip())
        hidden = self.mean()
        made.append(half_width("reached", self.reached, self.binary))
        if self.refused:
            made += self._without_answer()
        if self.group is not None:
            made += self._by_group()
        if self.decided and np.ptp(self.outcome[self.bought]):
            rates = collected_rates(*self.told(), self.decided, level=self.level)
            for (name, part), one in rates.items():
                made += estimate_records(f"decided_{name}_collected", one, part=part)
        if self.binary and 0 < self.outcome[self.bought].mean() < 1:
            for name in METRICS:
                found = collected_metric(name, *self.told(), level=self.level)
                made += estimate_records(f"{name}_collected", found)
            expected = float(self.predicted.mean())
            ratio = {end: getattr(hidden, end) / expected for end in ("value", *ENDS)}
            error = hidden.standard_error / expected
            made += estimate_records(
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
            made += estimate_records(f"{self.kind}_by_group_collected", one, **place)
            made.append(place | {"metric": f"{self.kind}_by_group_at_random", "value": expected})
            count = float(self.bought[self.group == name].sum())
            made.append(place | {"metric": "labels_bought", "value": count})
        return made

    def _refutation(self):
        found, made = self.test(), []
        whole = {"": found} | found.groups
        for name, one in whole.items():
            place = {"part": str(name)}
            if np.isnan(one.delta):
                continue
            made.append(place | {"metric": "random_refuted", "value": float(one.refuted)})
            if np.isinf(one.delta):  # labels that are all alike have one end only
                continue
            value = one.gamma if self.binary else one.delta
            ends = (one.low, one.high)
            if not self.binary:
                ends = tuple(one.delta + side * 1.959964 * one.error for side in (-1, 1))
            metric = "odds_to_random" if self.binary else "shift_to_random"
            error = one.error * (one.gamma if self.binary else 1)
            told = Estimate(value, error, *ends, one.rows, float(one.rows), np.nan)
            made += estimate_records(metric, told, **place)
            if np.isfinite(one.slope):
                error = one.slope_error
                told = {"metric": "slope_to_random", "value": one.slope, "standard_error": error}
                made.append(place | told)
        return made


def asked_of(file, rows, plan, lack="without a reward"):
    """Outcomes of the rows (N,) without one, who was asked, by what chances, and who waits.

    `file` is what came back, `plan` the plan that drew it, None where there is none; `lack` is
    that of `asked_alone`.
    """
    places, outcome = np.searchsorted(rows, file.rows), np.full(len(rows), np.nan)
    outcome[places] = file.y
    if plan is not None:
        file.check_plan(plan)
        return outcome, *asked_so_far(plan, ~np.isnan(outcome))
    return outcome, *asked_alone(len(rows), places, file.chance, lack, plan=file.plan), 0


def _named(fit, frame, by):
    """A frame whose groups of yes and no are called so."""
    named = by and fit.data.types.get(by) == "boolean"
    return frame.assign(**{by: yes_or_no(frame[by])}) if named else frame


def _without_outcome(job, key):
    """The fit, the table, the places of rows without an outcome, these rows, and their ids."""
    fit, frame = Fitted.of(job).hidden, read_table(job.input.table)
    blank = np.flatnonzero(~fit.data.labeled)
    if not len(blank):
        raise CounterweightError(
            f"{key} is for rows without an outcome, and there is none: leave {key} out."
        )
    people = _named(fit, frame.iloc[blank], (job.given[key] or {}).get("by"))
    shown = people[job.given["id"]].to_numpy()
    ids = canonical_ids(shown, column=job.given["id"], people="table")
    return fit, frame, blank, people, shown, ids


def asked_decisions(fit, frame, collect, target):
    """The `Decided` of the rows that an answer is for, whose rates a plan is for; None without."""
    if not collect or collect["for"] != "rates":
        return None
    by, outcome = collect["by"], np.where(fit.data.labeled, fit.data.y, np.nan)
    own = np.isnan(outcome) | (target != "unlabeled")
    frame = _named(fit, frame[own], by)
    return decided_of(frame, collect, outcome[own], groups_of(frame, by, len(frame)))


def planned_labels(job):
    """Rows to label, the plan of all rows without an outcome, and records of what to expect."""
    given, collect = job.given, job.given["collect"]
    fit, frame, blank, people, shown, ids = _without_outcome(job, "collect")
    check_aim(collect, number=not fit.data.binary)
    person, outcome = given["id"], given["outcome"]["options"]["column"]
    told = fit.band, fit.data.binary, people, collect
    decided = asked_decisions(fit, frame, collect, given["target"])
    rows = PlannedRows.of(fit.told[blank], *told, decided)
    plan, budget = planned(rows, ids, own_key(given["key"]), collect)
    plan.insert(1, "row", fit.data.rows[blank])
    known, expected = None, rows
    if job.input.collected:
        bought = CollectedAnswers(job, fit, frame, plan)
        # Labels that are there put right what is expected of more, and not whom to ask.
        expected = rows.after(bought).going_on(bought, budget)
        known = bought.file.filled(plan["row"].to_numpy())

    to_label = rows_to_label(plan, shown, rows, person, outcome, known)
    job.log.info("%d of %d rows without an outcome are drawn", len(to_label), len(blank))
    place = {"repeat": 0, "target": "unlabeled", "rows": len(blank)}
    records = expected_records(plan, expected, budget, collect, known is None)
    if collect["for"] == "auc":
        up, down = moves_of_auc(expected.estimate)
        value = expected.half(expected.chances(budget), moves=np.abs(up - down))
        records.append({"metric": "planned_auc", "value": value})
    for (name, part), value in expected.expected_rates(budget).items() if decided else ():
        if np.isfinite(value):
            records.append({"metric": f"planned_decided_{name}", "part": part, "value": value})
    return to_label, with_ids(plan, person, shown), [place | one for one in records]


def explored_labels(job):
    """As `planned_labels`, of decisions by chance: who of the rows without an outcome, and records
    of what that costs and teaches by month."""
    given, explore = job.given, job.given["explore"]
    fit, frame, blank, people, shown, ids = _without_outcome(job, "explore")
    explore = asked_to_explore(explore, fit.data.binary)
    person, outcome = given["id"], given["outcome"]["options"]["column"]
    asked = DEFAULTS | {"by": explore["by"]}
    rows = PlannedRows.of(fit.told[blank], fit.band, True, people, asked)
    known, expected = None, None
    if job.input.collected:
        bought = CollectedAnswers(job, fit, frame)
        # Outcomes that are there put right what is expected of more, and not who is drawn.
        expected = rows.after(bought)
        known = bought.file.filled(fit.data.rows[blank])

    plan, months = explored(rows, ids, own_key(given["key"]), explore, expected)
    plan.insert(1, "row", fit.data.rows[blank])
    if job.input.collected:
        bought.file.check_explored(plan)
    place = {"repeat": 0, "target": "unlabeled", "rows": len(blank)}
    made = [{"metric": "explore_drawn", "value": float(plan["drawn"].sum())}]
    for line in months.to_dict("records"):
        at = {"part": f"{line['month']:.0f}"}
        made.append(half_width("explore", line["half_width"], True, **at))
        for name in ("labels", "events", "cost", "most"):
            made.append(at | {"metric": f"explore_{name}", "value": line[name]})
    enough = months.loc[months["events"] >= REFITTED, "month"]
    if len(enough):
        made.append({"metric": "explore_refit", "value": float(enough.iloc[0])})
    listed = rows_to_label(plan, shown, rows, person, outcome, known)
    listed[column_names(person, outcome)["reason"]] = "drawn by chance: decide in its favour"
    job.log.info("%d of %d rows without an outcome are drawn by chance", len(listed), len(blank))
    made = [place | one for one in made if np.isfinite(one["value"])]
    return listed, with_ids(plan, person, shown), made


def expected_records(plan, rows, budget, collect, first):
    """Records of half-widths by budget and by group, and of what is drawn.

    `first` says that no label was bought yet.
    """
    drawn, chance = plan["drawn"].to_numpy(), rows.chances(budget)
    curves = rows.curves(budget, first)
    made = [
        half_width("expected", value, rows.points, part=f"{at:g}", variable=which)
        for at, *values in curves.itertuples(index=False)
        for which, value in zip(curves.columns[1:], values, strict=True)
        if np.isfinite(value)
    ]
    if first:
        # No label says yet how rows without an outcome differ: one number would promise too much.
        ends = zip(ENDS, rows.spans([chance])[0], strict=True)
        made += [
            half_width("planned", value, rows.points, variable=end)
            for end, value in ends
            if np.isfinite(value)
        ]
    for name, count, value in rows.groups(drawn, chance):
        made.append({"metric": "labels_planned", "part": name, "value": float(count)})
        if np.isfinite(value):
            made.append(half_width("planned", value, rows.points, part=name))
    made.append({"metric": "labels_budget", "value": float(budget)})
    if wanted := collect["half_width"]:
        made.append(half_width("wanted", wanted, rows.points))
        if rows.least <= wanted:
            made.append({"metric": "budget_needed", "value": float(rows.enough(wanted))})
        else:
            made.append(half_width("least", rows.least, rows.points))
    if collect["cost"]:
        made.append({"metric": "labels_cost", "value": float(rows.cost[drawn].sum())})
    return made


# A log of predictions: which events a judge is to see.


#: What chances are best for where that is not said: all of it.
EVERYTHING = "all"
#: Metrics of predictions that labels bought tell; those beside the first are of chances.
JUDGED = ("auc", "log_loss", "brier")
#: Part of a budget of labels for predictions that is spread by importance alone, where it is not
#: said. Half of it costs little where predictions are right, and keeps what is rare in view.
SPREAD = 0.5


class PlannedEvents(PlannedRows):
    """Events without a reward: what each tells of each measure of each of the predictions.

    Sizes are those of `counterweight.numerics.designs.mixed`.
    """

    def __init__(self, events, collect):
        own, blank = events.chance[events.blank], events.blank
        self.events, self.asked_for = events, collect["for"]
        self.measures, truth = self.moved(own), np.sqrt(own * (1 - own))
        wanted = [self.measures[key] for key in self.wanted]
        spread, importance = mixed([moves for moves, _ in wanted], truth)
        collect = collect | {"floor": SPREAD if collect["floor"] is None else collect["floor"]}
        ones, empty = np.ones(len(blank)), np.full(len(blank), "", object)
        super().__init__(own, truth, spread, importance, ones, empty, True, collect)
        self.moves, self._alone = wanted[0]
        self.points, self.beyond = collect["for"] in (EVERYTHING, "auc"), True

    @property
    def every(self):
        """Measures, as (measure, predictions, share), that of the first predictions first."""
        shares = (1.0, *self.events.tops)
        for name in self.events.predicted:
            yield "auc", name, 0.0
            yield from (("ratio", name, share) for share in shares)

    def moved(self, own, only=None):
        """How far each event without a reward moves each measure, where chances of 1 are `own`.

        A dict of (measure, predictions, share), all or those of `only`, to moves (N,), in parts of
        how far a row moves a mean, and how far its reward alone moves it where nothing is foretold,
        (N,).
        """
        events, found = self.events, {}
        blank, known = events.blank, events.reward.copy()
        known[blank] = own
        # Sums are over all rows, and half-widths in parts of those without a reward.
        scale = len(blank) / len(known)
        for key in self.every if only is None else only:
            kind, name, share = key
            score = events.predicted[name]
            if kind == "auc":
                up, down = (one[blank] * scale for one in moves_of_auc(known, score))
                aside = np.sqrt(own * up**2 + (1 - own) * down**2)
                found[key] = np.abs(up - down), aside
                continue
            inside = events.tops[share][name] if share < 1 else np.ones(len(known), bool)
            # Of a ratio: what is foretold over what is observed, about its size.
            told, rewards = score[inside].sum(), max(known[inside].sum(), 1e-9)
            moves = inside[blank] * len(blank) * told / rewards**2
            mean = known[inside].mean()
            aside = moves * np.sqrt(own * (1 - mean) ** 2 + (1 - own) * mean**2)
            found[key] = moves, aside
        return found

    def after(self, answers):
        """As `PlannedRows.after`; how far events move what is asked goes by how many have a 1."""
        made = super().after(answers)
        made.measures = self.moved(made.estimate)
        made.moves, made._alone = made.measures[self.wanted[0]]
        return made

    @property
    def wanted(self):
        """Those of `every` that are asked for, the one that is told first."""
        fits = {
            "auc": lambda kind, share: kind == "auc",
            "calibration": lambda kind, share: share == 1.0,
            "top": lambda kind, share: 0 < share < 1,
        }.get(self.asked_for, lambda kind, share: True)
        return [key for key in self.every if fits(key[0], key[2])]

    @property
    def alone(self):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.moves > 0, self._alone / self.moves, 0.0)

    @property
    def moves_alike(self):
        first = self.wanted[0]
        alike = np.full(len(self.estimate), self.estimate.mean())
        return self.moved(alike, [first])[first][0]

    def spans(self, chances):
        """As `PlannedRows.spans`: of rewards whose odds are others than those foretold."""
        first = self.wanted[0]
        told = {"moved": lambda own: self.moved(own, [first])[first][0], "points": 7}
        made = spans_of(chances, self.estimate, level=self.level, beyond=True, **told)
        return np.minimum(made, 0.5) if self.points else made

    def each(self, chance):
        """Records of the half-width to expect of every measure of every predictions."""
        for (kind, name, share), (moves, _) in self.measures.items():
            value = self.half(chance, moves=moves)
            place = {"part": name, "variable": f"top {share:g}" if 0 < share < 1 else ""}
            if np.isfinite(value):
                yield place | {"metric": f"planned_{kind}", "value": value}


class EventAnswers:
    """Measures of predictions over a log, by rewards that are known and labels bought by design.

    A reward that the log has counts for itself, whatever led to it: its chance is 1.
    """

    def __init__(self, events, job, plan=None):
        given, self.events = job.given, events
        collect = given["collect"]
        self.level, self.wanted = level_of(collect), (collect or {}).get("for")
        data = SimpleNamespace(rows=np.arange(len(events.ids)), labeled=~np.isnan(events.reward))
        person = given["id"]
        asked = {"id": person, "outcome": {"options": given["outcome"]}}
        asked["reading"] = given["reading"]
        self.file = read_bought(
            job.input.collected,
            asked,
            data,
            {person: events.shown},
            lambda path, table, column: (
                rewards_read(shown := written(table, column), given["outcome"], path),
                shown,
            ),
        )
        outcome, drawn, asked, self.waiting = asked_of(self.file, events.blank, plan)
        self.drawn, self.came = drawn, ~np.isnan(outcome)
        self.labels, self.refused = int(self.came.sum()), int((drawn & ~self.came).sum())
        self.outcome, self.chances = events.reward.copy(), np.ones(len(events.ids))
        self.outcome[events.blank] = outcome
        # Who got no label is taken to be like the others that were asked, at equal predictions.
        self.chances[events.blank] = np.minimum(asked * (self.labels / drawn.sum()), 1.0)
        self.bought = ~np.isnan(self.outcome)
        if not 0 < self.outcome[self.bought].mean() < 1:
            raise CounterweightError(
                f"All {int(self.bought.sum())} rewards that are known are alike, so nothing ranks: "
                "buy more labels before they are used."
            )

    def told(self):
        """What the functions of `counterweight.evaluation.collected` take first."""
        return self.outcome, self.chances, self.bought, self.events.chance

    @property
    def ranks(self):
        """Whether the plan is for an AUC, and not for predicted over observed."""
        return self.wanted not in ("calibration", "top")

    @property
    def reached(self):
        """Half of the interval of what the plan is for, of the first predictions."""
        name, p = next(iter(self.events.predicted.items()))
        if self.ranks:
            told = {"chance": self.events.chance, "level": self.level, "beyond": True}
            found = collected_metric("auc", *self.told()[:3], p, **told)
        else:
            tops = next(iter(self.events.tops.values())) if self.wanted == "top" else {}
            found = self._ratio(p, tops.get(name, np.ones(len(p), bool)))
        return (found.high - found.low) / 2

    def measures(self):
        """Lists ``estimates`` and ``differences``, as `evaluation.scored_log.ScoredLog.merge`."""
        told, base = {"level": self.level, "beyond": True}, self.told()[:3]
        chance = told | {"chance": self.events.chance}
        names, found, pairs = list(self.events.predicted), [], []
        for name, p in self.events.predicted.items():
            own = JUDGED if name in self.events.chances else JUDGED[:1]
            made = {metric: (1.0, collected_metric(metric, *base, p, **chance)) for metric in own}
            ratios = {1.0: np.ones(len(p), bool)} | {
                share: inside[name] for share, inside in self.events.tops.items()
            }
            ratios = ratios if name in self.events.chances else {}
            place = {"predictions": name}
            found += [self._line(place, metric, *one) for metric, one in made.items()]
            found += [
                self._line(place, RATIO, share, self._ratio(p, inside), inside)
                for share, inside in ratios.items()
            ]
            for other in names[: names.index(name)]:
                rival = self.events.predicted[other]
                both = own if other in self.events.chances else JUDGED[:1]
                pairs += [
                    place
                    | {"other": other, "metric": metric}
                    | facts_of(collected_difference(metric, *base, p, rival, **chance))
                    for metric in both
                ]
        return {"estimates": found, "differences": pairs}

    def _ratio(self, p, inside):
        """What is predicted over what is observed among some rows, an `Estimate`.

        Of fewer labels than `FEW_DRAWS` it has no interval, as of a log whose rewards are known.
        """
        options = {"binary": True, "level": self.level, "beyond": True}
        if inside.all():
            return over_share(float(p.mean()), collected_mean(*self.told(), **options))
        found = collected_by_group(*self.told(), inside, **options)[True]
        # Few rows, some of them alike: their share goes by counts.
        told = found.value, found.standard_error, found.rows, self.level
        if np.isfinite(found.value):
            found = replace(found, **dict(zip(ENDS, share_interval(*told), strict=True)))
        ratio = over_share(float(p[inside].mean()), found)
        none = dict.fromkeys(("standard_error", *ENDS), np.nan) if found.rows < FEW_DRAWS else {}
        return replace(ratio, **none)

    def _line(self, place, metric, share, found, inside=None):
        inside = self.bought if inside is None else self.bought & inside
        size = {"rows": int(inside.sum()), "nonzero": int(np.nansum(self.outcome[inside]))}
        return place | {"metric": metric, "top": share} | facts_of(found) | size


def planned_events(job):
    """As `planned_labels`, of the events of a log whose rewards are to be judged."""
    given, collect, events = job.given, job.given["collect"], Events(job)
    blank = events.blank
    rows = PlannedEvents(events, collect)
    plan, budget = planned(rows, [events.ids[at] for at in blank], own_key(given["key"]), collect)
    plan.insert(1, "row", blank)
    known, expected = None, rows
    if job.input.collected:
        bought = EventAnswers(events, job, plan)
        expected = rows.after(bought).going_on(bought, budget)
        known = bought.file.filled(blank)

    column = given["outcome"]["column"]
    to_label = rows_to_label(plan, events.shown[blank], rows, given["id"], column, known)
    job.log.info("%d of %d events without a reward are drawn", len(to_label), len(blank))
    place = {"repeat": 0, "target": "unlabeled", "rows": len(blank)}
    records = expected_records(plan, expected, budget, collect, known is None)
    ids = given["ids"]
    records += [one | {"part": ids[one["part"]]} for one in expected.each(rows.chances(budget))]
    plan = with_ids(plan, given["id"], events.shown[blank])
    return to_label, plan, [place | one for one in records]


def event_measures(job):
    """What `evaluation.scored_log.ScoredLog.merge` tells, by labels bought; empty before any.

    Its rows are those whose reward is known. With it the rows of the log, and numbers of what was
    bought, by metric.
    """
    events, made = Events(job), {"estimates": [], "differences": []}
    reward, told = events.reward, {}
    if job.input.collected:
        plan = read_table(job.input.plan) if job.input.plan else None
        bought = EventAnswers(events, job, plan)
        made, reward = bought.measures(), bought.outcome
        told = {"labels_bought": bought.labels, "labels_refused": bought.refused}
        told |= {"labels_waiting": bought.waiting}
        reached = half_width("reached", bought.reached, bought.ranks)
        told |= {reached["metric"]: reached["value"]} if np.isfinite(reached["value"]) else {}
    known, ones = int((~np.isnan(reward)).sum()), int(np.nansum(reward))
    told |= {"rows_known": known, "rows_nonzero": ones, "clusters": 0}
    facts = {"rows": known, "nonzero": ones, "binary": True, "clusters": 0}
    facts["columns"] = {name: counted_of(p, reward) for name, p in events.predicted.items()}
    return facts | made, len(reward), {name: float(one) for name, one in told.items()}
