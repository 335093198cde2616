"""Whom to make which offer next, so that what offers earn is known by answers alone.

An offer is drawn for each person near the best one, with a chance that is told; a person is asked
with a chance, too. A rule that would have made the same offer has that answer with the product of
both: what the rule earns is the mean of a sample with known chances, as any label bought by design.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from counterweight.delivery.bought_file import (
    LEAST,
    ShownAnswers,
    ShownPlan,
    asked_alone,
    places_in,
    read_bought,
    refuse_other,
    refuse_undrawn,
    typed_as_table,
    word,
    written,
)
from counterweight.delivery.collected_answers import estimate_records, expected_records, half_width
from counterweight.delivery.label_plans import (
    DEFAULTS,
    PlannedRows,
    asked_so_far,
    check_numbers,
    digest_of,
    fitting,
    planned,
    rows_to_label,
    with_ids,
)
from counterweight.delivery.saved_offers import SavedOffers
from counterweight.errors import CounterweightError, in_brackets
from counterweight.evaluation.collected import assisting_model, bought_rows, collected_mean
from counterweight.labeling.columns import forms_of, types_of
from counterweight.labeling.outcome_rules import WORDS, accepts
from counterweight.models.choice.offers_to_try import TRYING, offers_to_try
from counterweight.numerics.checks import pandas_frame
from counterweight.numerics.coins import canonical_ids, key_of_plan, own_key
from counterweight.numerics.designs import keyed_uniforms
from counterweight.tables.parquet import read_table

#: Settings of a plan of labels that are of an outcome, and of no offers.
UNFIT = ("cost", "by", "for", "decision", "worth")
#: The rule that makes each person the offer that is expected to earn most.
BEST = "best"


class PlannedOffers(PlannedRows):
    """People to make offers to: which one each would get, and what is told by it.

    `estimate` is what the best offer is expected to bring, `follow` the chance that it is the one
    that is drawn. Chances to be asked go by how uncertain that is. Half-widths count that answers
    could have come out otherwise.
    """

    beyond = True

    def __init__(self, made, drawn, collect):
        self.made, self.drawn, at = made, drawn, np.arange(len(drawn))
        best = made.best
        self.follow, self.own = made.chances[at, best], made.chances[at, drawn]
        self.answered = self.follow
        p, mean = made.p[at, best], made.earned[at, best]
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.where(p > 0, mean / p, 0.0)
        truth = np.abs(worth) * np.sqrt(p * (1 - p))
        squares, ones = float(np.mean(worth**2 * p)), np.ones(len(p))
        self._plain = np.sqrt(max(squares - float(mean.mean()) ** 2, 0.0))
        # A rule's variance is that of its answers over the chance that one of them is drawn.
        spread = truth / np.sqrt(self.follow)
        group = np.full(len(p), "", object)
        super().__init__(mean, truth, spread, None, ones, group, False, collect)

    @property
    def plain(self):
        return np.full(len(self.estimate), self._plain)

    def alike(self, budget):
        """As `PlannedRows.alike`, of people and offers drawn alike."""
        even = np.full(len(self.estimate), budget / len(self.estimate))
        offer = 1 / (self.made.chances > 0).sum(axis=1)
        told = {"answered": self.answered / self.follow * offer, "parameters": 0}
        return self.half(even, self.plain, **told)

    def reasons(self, at, chance):
        texts, offers = [], self.made.offers
        for row, own in zip(at.tolist(), self.own[at].tolist(), strict=True):
            drawn, best = offers[self.drawn[row]], offers[self.made.best[row]]
            why = "the best of those to choose from" if drawn == best else f"best is {best:g}"
            texts.append(f"{drawn:g} was drawn with the chance {own:.2g}: {why}")
        return texts

    def planned(self, ids, key, collect):
        """The plan of all people, a frame with ``offer`` and ``offer_chance``, and its budget."""
        plan, budget = planned(self, ids, key, collect)
        plan["offer"], plan["offer_chance"] = self.made.offers[self.drawn], self.own
        # Other offers, or other chances of them, are another plan.
        plan["plan"] = digest_of(ids, plan["size"] * self.own * (1 + self.drawn), key)
        return plan, budget

    def to_make(self, plan, shown, names, known=None):
        """Offers to make in their order; `names` are the columns of id, offer and answer."""
        person, offer, answer = names
        told = plan.assign(chance=plan["chance"] * plan["offer_chance"])
        made = rows_to_label(told, shown, self, person, answer, known)
        at = plan.index[plan["drawn"]].to_numpy()
        at = at[np.argsort(plan["order"].to_numpy()[at])]
        if offer in made:
            raise CounterweightError(
                f"The offer's column is called {offer!r}, as one of collect.csv is: rename it."
            )
        made.insert(2, offer, plan["offer"].to_numpy()[at])
        return made


class TriedAnswers(ShownAnswers):
    """What answers to offers that were drawn say of what offers earn.

    Attributes
    ----------
    revenue : dict of str to Estimate
        What a person brings, with its 95 % interval: ``best``, by the offer for each that the model
        says earns most; and by each offer to everybody, by its size, as far as ten answers tell.
        It counts that answers could have come out otherwise, so that of the best ones is of later
        people like these, too. The largest of several is mostly too high.
    over_best : dict of str to Estimate
        What each offer to everybody brings more than the best one for each. The intervals hold
        together for all these offers, so that the best of them may be chosen by theirs.
    claimed : dict of str to float
        The same as the model has it, which has seen none of these answers.
    left_out : dict of str to str
        Offers of which ``revenue`` tells nothing, and why.
    counts : dict of str to int
        Answers to each of these offers, and to the best one for each.
    answers, refused, waiting : int
        People who answered; who were made an offer and did not; who are still to be made one.
    """

    def __init__(
        self,
        made: object,
        revenue: Callable,
        offer: ArrayLike,
        answer: ArrayLike,
        drawn: ArrayLike,
        chances: ArrayLike,
        waiting: int,
        level: float,
        own: ArrayLike | None = None,
    ) -> None:
        self.drawn, self.came = drawn, (known := ~np.isnan(answer))
        self.answers, self.waiting = int(known.sum()), waiting
        self.refused, self.level = int((drawn & ~known).sum()), level
        # Who did not answer is taken to be like the others that were made an offer.
        chances = np.minimum(chances * (known.sum() / max(drawn.sum(), 1)), 1.0)
        rows, self.revenue, self.claimed, self.over_best = np.arange(len(answer)), {}, {}, {}
        self.counts, self.left_out, self._never = {}, {}, {}
        best = made.offers[made.best]
        bought, expected = known & (offer == best), made.earned[rows, made.best]
        with np.errstate(invalid="ignore"):
            earned = np.where(bought, answer * revenue(np.where(bought, offer, 0.0)), np.nan)

        def by_best(who, level):
            return _mean(earned[who], chances[who], bought[who], expected[who], level)

        if self._told(BEST, bought):
            self.revenue[BEST] = by_best(slice(None), level)
            self.claimed[BEST] = float(expected.mean())
        found = {}
        for at, one in enumerate(made.offers):
            same, earns = known & (offer == one), float(revenue(np.array([one]))[0])
            # Of people to whom it was never made no chance is known.
            if not self._told(f"{one:g}", same, never=(made.chances[:, at] <= 0).mean()):
                continue
            # The chance of this offer, of who was made another one, too.
            each = chances if own is None else chances / own * made.chances[:, at]
            found[at] = earns, each, same, own is not None
            told = answer, each, same, made.p[:, at], level, own is not None
            self.revenue[f"{one:g}"] = _times(_share(*told), earns)
            self.claimed[f"{one:g}"] = earns * float(made.p[:, at].mean())
        for at, (earns, each, same, all_known) in found.items():
            # Who would get this offer anyway earns the same by both.
            who, strict = best != made.offers[at], 1 - (1 - level) / len(found)
            if min(same[who].sum(), bought[who].sum()) < LEAST:
                continue
            told = answer[who], each[who], same[who], made.p[who, at], strict, all_known
            pair = _times(_share(*told), earns), by_best(who, strict)
            self.over_best[f"{made.offers[at]:g}"] = _difference(*pair, who.mean(), level)

    def _told(self, name, same, never=0.0):
        """Whether answers to an offer (n,) tell what it brings; else why not is kept."""
        count = self.counts[name] = int(same.sum())
        if never > 0:
            self._never[name] = float(never)
            self.left_out[name] = f"no chance of it for {100 * never:.1f} % of the people"
        elif count < LEAST:
            self.left_out[name] = f"{count} answers, and {LEAST} are needed"
        return name not in self.left_out

    def _said(self):
        best = self.revenue.get(BEST)
        told = None if best is None else in_brackets(best.value, best.low, best.high)
        return {"revenue of the best offers": told or self.left_out[BEST]}

    @property
    def reached(self) -> float:
        """Half of the interval of what the best offers bring, NaN where too few tell it."""
        best = self.revenue.get(BEST)
        return np.nan if best is None else (best.high - best.low) / 2

    def records(self) -> list[dict]:
        """What it says, as metric records."""
        told = {"labels_bought": self.answers, "labels_refused": self.refused}
        told["labels_waiting"] = self.waiting
        made = [{"metric": name, "value": float(value)} for name, value in told.items()]
        for name, one in self.revenue.items():
            made += estimate_records("revenue_collected", one, part=name)
            claimed = {"metric": "collected_claim", "part": name}
            made.append(claimed | {"value": self.claimed[name]})
        for name, one in self.over_best.items():
            made += estimate_records("revenue_over_best", one, part=name)
        counted = ("offer_answers", self.counts), ("offer_unmade", self._never)
        for metric, own in counted:
            made += [{"metric": metric, "part": k, "value": float(v)} for k, v in own.items()]
        made.append(half_width("reached", self.reached, False))
        return [one for one in made if np.isfinite(one["value"])]


def _mean(earned, chances, bought, expected, level):
    """What is earned a person, an `Estimate`; what answers could have been is counted."""
    told = {"binary": False, "level": level, "beyond": True}
    return collected_mean(earned, chances, bought, expected, **told)


def _share(answer, chances, bought, p, level, known):
    """The share that accepts one offer, an `Estimate`, whose answers may be few of uneven weight.

    The interval is that of a binomial share of as many answers as have its variance: the one that
    answers show, or the one to expect by the chances of all people where that is more (only of
    those bought, where no others are `known`), since those who were hardest to draw may be missing.

    References
    ----------
    Korn, E. & Graubard, B. (1998). Confidence intervals for proportions with small expected number
    of positive counts estimated from survey data. Survey Methodology 24.
    """
    from scipy.special import betaincinv, stdtrit

    options = {"binary": True, "beyond": True}
    found = collected_mean(answer, chances, bought, p, level=level, **options)
    y, count = answer[bought], int(bought.sum())
    g = np.full(len(p), (y.sum() + 0.5) / (count + 1))
    if np.ptp(y) > 0:
        g = assisting_model(bought_rows(answer, chances, bought, p, **options)).expected
    noise = g * (1 - g)
    parts = noise / chances if known else (noise / chances**2)[bought]
    variance = max(found.standard_error**2, float(parts.sum()) / len(p) ** 2)
    middle, tail = float(g.mean()), (1 - level) / 2
    size = middle * (1 - middle) / variance
    ratio = stdtrit(max(min(size, count) - 1, 1.0), tail) / stdtrit(np.inf, tail)
    size = size / ratio**2
    yes, no = found.value * size, (1 - found.value) * size
    low = float(betaincinv(yes, no + 1, tail)) if yes > 0 else 0.0
    high = float(betaincinv(yes + 1, no, 1 - tail)) if no > 0 else 1.0
    return replace(found, low=low, high=high, standard_error=float(np.sqrt(variance)))


def _difference(one, two, share, level):
    """``share`` times an `Estimate` less another of other answers (Zou & Donner 2008)."""
    value, error = one.value - two.value, np.hypot(one.standard_error, two.standard_error)
    below = np.hypot(one.value - one.low, two.high - two.value)
    above = np.hypot(one.high - one.value, two.value - two.low)
    told = {"value": value, "standard_error": error, "low": value - below, "high": value + above}
    told = {name: float(share * number) for name, number in told.items()}
    return replace(one, **told, level=level)


def _times(found, factor):
    """An `Estimate` of a share, times what each brings."""
    ends = sorted((factor * found.low, factor * found.high))
    error = abs(factor) * found.standard_error
    told = {"value": factor * found.value, "standard_error": error}
    return replace(found, low=ends[0], high=ends[1], **told)


def tried(saved, X, ids, key, collect, experiment):
    """`PlannedOffers` of people with these features, each offer drawn by a keyed coin of the id."""
    made = offers_to_try(saved, X, **(experiment or {}))
    return PlannedOffers(made, made.drawn(keyed_uniforms(ids, key, TRYING)), collect)


class OfferPlan(ShownPlan):
    """Whom to make which offer next, as `counterweight.SavedOffers.collect` plans it.

    Attributes
    ----------
    frame : pandas.DataFrame
        People in their order: id, ``order``, the offer to make, the answer to fill in, ``chance``
        (to be asked, and of this offer), ``reason``, ``plan``. A larger budget with the same
        frame, model and key has these first.
    people : pandas.DataFrame
        The plan of all of them; its index is that of the frame.
    """

    def __init__(
        self,
        saved: object,
        frame: pd.DataFrame,
        *,
        key: object = None,
        experiment: dict | None = None,
        **collect: object,
    ) -> None:
        collect = fitting(collect, UNFIT, "offers")
        if (collect["budget"] is None) == (collect["half_width"] is None):
            raise CounterweightError(
                "collect goes by budget or by half_width: give one of the two."
            )
        check_numbers(collect)
        person = saved.facts["id"]
        if not person:
            raise CounterweightError(
                "The model was fitted without an id, by which offers are drawn and answers known "
                "again: fit it with one."
            )
        frame = pandas_frame(frame, "people")
        named = saved.named(frame)[person]
        ids = canonical_ids(named, column=person, people="people")
        key, self._collect = key_of_plan(key), collect
        self._saved = saved
        self._rows = tried(saved, saved.encoded(frame), ids, key, collect, experiment)
        plan, self.budget = self._rows.planned(ids, key, collect)
        self._names = person, saved.facts["offer"]["column"] or "offer", "answer"
        self.frame = self._rows.to_make(plan, np.asarray(named), self._names)
        self.people = plan.set_axis(frame.index)

    def expected(self, labels: pd.DataFrame | None = None) -> pd.DataFrame:
        """Half-widths of the 95 % interval to expect of what a person brings with the best offers,
        at several budgets, a frame.

        Columns: ``budget``; ``plan``, if the model is right; ``wrong``, if what it says of single
        people is worth nothing; ``plain``, of people and offers drawn alike, without a model. With
        answers that are there, as `with_labels` takes them, others are expected to come as often.
        """
        rows = self._rows
        if labels is not None:
            rows = rows.going_on(self.with_labels(labels), self.budget)
        return rows.curves(self.budget, first=False)

    def with_labels(self, labels: pd.DataFrame) -> TriedAnswers:
        """What answers say, `TriedAnswers`.

        `labels` are `frame` with the column ``answer`` filled in by 0 and 1, or no and yes, as far
        as it is: blank of who gave none, or was not asked yet.
        """
        person, offer, answer = self._names
        labels = pandas_frame(labels, "labels")
        at = places_in(labels, (person, answer), self.people["id"].tolist())
        _check_offers("The table of labels", self.people, at, labels.get(offer))
        refuse_other(labels, person, answer, self.people, at)
        values = labels[answer].astype(object)
        blank = values.isna() | values.map(lambda one: str(one).strip() == "")
        if blank.all():
            raise CounterweightError(
                f"No answer is filled in under {answer!r}, the column of the plan: write it there."
            )
        words = values.map(word).where(~blank, None).to_numpy()
        for one in words[~blank.to_numpy()]:
            if one.strip().lower() not in WORDS:
                raise CounterweightError(
                    f"An answer in the labels is {one!r}: write yes or 1 under {answer!r} where "
                    "the offer was accepted, and no or 0 where it was not."
                )
        said = pd.DataFrame({"row": np.arange(len(labels)), answer: words})
        told = accepts(said, np.ones(len(said), bool), column=answer, blanks="unanswered")
        return _answers(self._saved, self._rows, self.people, at, np.asarray(told, float))


def _check_offers(path, plan, at, offers):
    """Refuse people who are not drawn, or who were made other offers than the plan's."""
    refuse_undrawn(f"{path} has", plan["id"].iloc[at], plan["drawn"].to_numpy()[at])
    made = pd.to_numeric(offers, errors="coerce").to_numpy(float) if offers is not None else 0
    wrong = ~np.isclose(plan["offer"].to_numpy()[at], made, rtol=1e-9)
    if wrong.any():
        first = plan["id"].iloc[at[np.argmax(wrong)]]
        raise CounterweightError(
            f"{path} has {int(wrong.sum())} offers that are not those of the plan (first: of "
            f"{first!r}): make the offers of collect.csv, or give a file of others with their "
            "chances, without collect."
        )


def _answers(saved, rows, plan, at, answer):
    """`TriedAnswers` of places (K,) of a plan, which may stop anywhere."""
    found = np.full(len(plan), np.nan)
    found[at] = answer
    if (~np.isnan(found)).sum() < LEAST:
        count = int((~np.isnan(found)).sum())
        raise CounterweightError(f"{LEAST} answers are needed at least; filled in: {count}.")
    drawn, chances, waiting = asked_so_far(plan, ~np.isnan(found))
    offer, own = plan["offer"].to_numpy(), plan["offer_chance"].to_numpy()
    told = rows.made, saved.scale.revenue, offer, found, drawn, chances * own, waiting
    return TriedAnswers(*told, rows.level, own)


def planned_offers(job):
    """Offers to make and the plan of all who have no answer, None without one; records.

    With what answers that came back say of what offers earn.
    """
    given, key = job.given, own_key(job.given["key"])
    saved, frame = SavedOffers.read(job.input.model), read_table(job.input.table)
    person, answer = given["id"], given["outcome"]["column"]
    options = given["outcome"] | {"blanks": "unanswered"}
    known = ~np.isnan(np.asarray(accepts(frame, np.ones(len(frame), bool), **options), float))
    blank = np.flatnonzero(~known)
    if not len(blank):
        raise CounterweightError(
            f"collect is for people whose {answer} is blank, to whom offers are to be made, and "
            "there is none: add them to the table, or leave collect out."
        )
    people = frame.iloc[blank]
    shown = people[person].to_numpy()
    ids, collect = canonical_ids(shown, column=person, people="table"), given["collect"]
    asking = DEFAULTS | (collect or {"budget": 1})
    rows = tried(saved, saved.encoded(people), ids, key, asking, given.get("experiment"))
    names = person, saved.facts["offer"]["column"], answer
    plan = to_make = texts = None
    made = []
    if collect:
        plan, budget = rows.planned(ids, key, asking)
        plan.insert(1, "row", blank)
    if job.input.collected:
        file, offers = _read(job, frame, known, names)
        at = np.searchsorted(blank, file.rows)
        if plan is None:
            told = _by_file(saved, rows, at, offers, file)
        else:
            file.check_plan(plan)
            _check_offers(file.path, plan, at, pd.Series(offers))
            told = _answers(saved, rows, plan, at, file.y)
        made += told.records()
        job.log.info("%d answers to offers that were drawn", told.answers)
        texts = file.filled(blank)

    if plan is not None:
        to_make = rows.to_make(plan, shown, names, texts)
        expected = rows if texts is None else rows.going_on(told, budget)
        made += expected_records(plan, expected, budget, asking, False)
        job.log.info("%d of %d people without an answer are drawn", len(to_make), len(blank))
        plan = with_ids(plan, person, shown)
    place = {"repeat": 0, "target": "unlabeled", "rows": len(blank)}
    return to_make, plan, [place | one for one in made]


def _by_file(saved, rows, at, offers, file):
    """`TriedAnswers` by the offers and the chances of a file alone."""
    size = len(rows.estimate)
    asked = file.chance, "without an answer", offers, file.plan
    drawn, chances = asked_alone(size, at, *asked)
    found, made = np.full(size, np.nan), np.full(size, np.nan)
    found[at], made[at] = file.y, offers
    told = rows.made, saved.scale.revenue, made, found, drawn, chances, 0, rows.level
    return TriedAnswers(*told)


def _read(job, frame, known, names):
    """The `Bought` answers of a file that came back, and the offers (K,) that stand in it."""
    report, (person, offer, answer) = read_table(job.input.columns), names
    data = SimpleNamespace(rows=np.arange(len(frame)), labeled=known)
    data.types, data.forms = types_of(report), forms_of(report)
    asked = {"id": person, "outcome": {"options": {"column": answer}}}
    asked["reading"], offers = job.given["reading"], []

    def coded(path, table, column):
        if offer not in table.column_names:
            raise CounterweightError(
                f"{path} has no column {offer!r}, the offer that was made: give the file "
                "collect.csv with its answers filled in, other columns as they are."
            )
        told = asked["reading"]
        offers.append(typed_as_table(path, table.select([offer]), offer, data, told))
        values = typed_as_table(path, table.select([column]), column, data, told)
        # With the answers of the table, so that all words are known.
        both = pd.concat([frame.loc[known, column], values], ignore_index=True)
        both = pd.DataFrame({"row": np.arange(len(both)), column: both})
        options = job.given["outcome"] | {"blanks": "unanswered"}
        found = np.asarray(accepts(both, np.ones(len(both), bool), **options), float)
        return found[len(both) - table.num_rows :], written(table, column)

    file = read_bought(job.input.collected, asked, data, frame, coded)
    return file, offers[0].to_numpy(float)
