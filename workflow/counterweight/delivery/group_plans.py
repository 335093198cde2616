"""Whose group to ask for, so that what a filter tells is known of people who had told none, too.

A filter is fitted to people who told their group, and judged by others of them. Those who told none
may be unlike them. Everybody's leaf is known, so a leaf is a stratum: its people have equal chances
to be asked, and a bound of what the leaves tell needs no assumption of who told.
Of several columns a person is asked for all that are blank. The largest shift is beyond the bound
only if it is beyond that of its own group, so that more columns cost no confidence (Berger 1982).
"""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from counterweight.delivery.bought_file import (
    ShownAnswers,
    ShownPlan,
    as_codes,
    asked_alone,
    places_in,
    read_bought,
    refuse_other,
    refuse_undrawn,
    typed_as_table,
    written,
)
from counterweight.delivery.collected_answers import estimate_records
from counterweight.delivery.label_plans import (
    PlannedRows,
    asked_so_far,
    budgets_about,
    check_numbers,
    fitting,
    planned,
    rows_to_label,
    with_ids,
)
from counterweight.delivery.saved_filters import SavedFilter, decided, key_of_filter
from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import forms_of, types_of
from counterweight.labeling.sensitive import group_texts
from counterweight.numerics.checks import pandas_frame
from counterweight.numerics.coins import own_key
from counterweight.numerics.estimate import possible, ratio_mean
from counterweight.numerics.groups import (
    block_starts,
    disclosure_by_design,
    imbalance,
    memberships,
    part_counts,
)
from counterweight.tables.parquet import read_table

#: Samples by which it is told what labels may be expected to tell; ends of the range of these.
DRAWS, ENDS = 400, {"low": 0.1, "high": 0.9}
#: Settings of a plan of labels that are of an outcome, and of no filter.
UNFIT = ("half_width", "cost", "by", "for", "floor", "decision", "worth")


class PlannedGroups(PlannedRows):
    """People whose group is not known, by the leaf of the filter that each of them is in.

    As many of each leaf are asked: the bound is the largest of all leaves. Where it was tried,
    shares by Neyman's rule for the sum of all variances gave the same bounds to a hundredth.
    """

    def __init__(self, leaf, told, sizes, alpha, level, collect):
        self.leaf, self.sizes, self.alpha = leaf, sizes, alpha
        self.count = np.bincount(leaf, minlength=len(told))
        self.mass = self.count / len(leaf)
        # One row more, of the groups of all, so that no group is thought to be absent.
        starts = block_starts(sizes)
        rows, total = told[:, : sizes[0]].sum(axis=1), told.sum(axis=0) + 1e-9
        base = total / np.repeat(np.add.reduceat(total, starts), sizes)
        self.shares = (told + base) / (rows + 1)[:, None]
        shift = np.abs(self.shares - self.mass @ self.shares).max(axis=1)
        spread = np.sqrt((self.shares * (1 - self.shares)).sum(axis=1))
        ones, group = np.ones(len(leaf)), np.array([f"leaf {at + 1}" for at in leaf], object)
        told = shift[leaf], spread[leaf], ones, 1 / self.count[leaf], ones, group
        super().__init__(*told, True, collect | {"floor": None})
        self.level = level

    def sampled(self, counts):
        """Bounds (`DRAWS`,) of samples of so many people of each leaf, (L,) or (`DRAWS`, L).

        Groups are those of people who told.
        """
        rng = np.random.default_rng(0)  # the same samples for each budget: a smooth curve
        rows = np.minimum(np.round(np.broadcast_to(counts, (DRAWS, len(self.mass)))), self.count)
        hits, starts = np.empty((DRAWS, *self.shares.shape)), block_starts(self.sizes)
        for first, size in zip(starts, self.sizes, strict=True):
            own = self.shares[:, first : first + size]
            hits[..., first : first + size] = rng.multinomial(rows.astype(int), own)
        shares = hits / np.maximum(rows, 1)[..., None]
        rows = np.where(rows == self.count, np.inf, rows)
        return disclosure_by_design(shares, rows, self.mass, self.level)[1]

    def by_leaf(self, chance):
        """People of each leaf who are expected to answer, (L,)."""
        return np.bincount(self.leaf, chance * self.answered, minlength=len(self.mass))

    def curves(self, budget):
        """What is expected at several budgets, a frame.

        ``plan`` and ``plain`` (of a simple random sample) are bounds that one in two samples stays
        below, ``certified`` is the chance that the plan's is within alpha.
        """
        people, made = len(self.leaf), []
        for at in budgets_about(budget, people):
            bounds = self.sampled(self.by_leaf(self.chances(at)))
            even = np.random.default_rng(1).multinomial(round(at), self.mass, DRAWS)
            plain = self.sampled(even * self.by_leaf(np.ones(people)) / self.count)
            sure = float((bounds <= self.alpha).mean())
            made.append((at, float(np.median(bounds)), sure, float(np.median(plain))))
        return pd.DataFrame(made, columns=["budget", "plan", "certified", "plain"])

    def reasons(self, at, chance):
        leaf, several = self.leaf[at], self.count
        asked = np.bincount(leaf, minlength=len(several))
        return [
            f"one of {asked[one]} to ask among {several[one]} whom the filter takes for alike"
            for one in leaf.tolist()
        ]

    def records(self, plan, budget):
        """What the people to ask are expected to tell, as metric records."""
        bounds = self.sampled(self.by_leaf(plan["drawn"].to_numpy(dtype=float)))
        ends = {"": 0.5} | ENDS
        made = [
            {"metric": "labels_planned", "value": float(plan["drawn"].sum())},
            {"metric": "labels_budget", "value": float(budget)},
            {"metric": "planned_certified", "value": float((bounds <= self.alpha).mean())},
        ]
        for name, share in ends.items():
            value = {"value": float(np.quantile(bounds, share))}
            made.append({"metric": "planned_disclosivity", "variable": name} | value)
        for line in self.curves(budget).to_dict("records"):
            for name in ("plan", "plain"):
                place = {"metric": "expected_disclosivity", "part": f"{line['budget']:g}"}
                made.append(place | {"variable": name, "value": line[name]})
        return made


class GroupAnswers(ShownAnswers):
    """What groups that were asked for by design say of the people who had told none.

    Attributes
    ----------
    value, bound : float
        Largest shift of a group's share in a leaf, as it was found, and its upper bound for the
        people whose group was not known; nothing is assumed of who had told it.
    worst : float
        The bound whatever the groups of those are who were asked and did not answer.
    certified : bool or None
        Whether the bound is within the filter's alpha; None of a filter that promises none.
    level : float
        Confidence of the bounds.
    labels, refused, waiting : int
        Groups that came back; people who were asked and gave none; those still to be asked.
    before, accepted : dict of str to Estimate
        Shares of the groups among these people, and among those of them whom the filter accepts.
    imbalance_before, imbalance : float
        Distance of these from what is aimed at.
    """

    def __init__(
        self,
        saved: object,
        people: dict,
        Z: ArrayLike,
        drawn: ArrayLike,
        chances: ArrayLike,
        waiting: int,
        level: float,
    ) -> None:
        leaf, bought = people["leaf"], np.isfinite(Z[:, 0])
        parts = len(saved.mass)
        count = np.bincount(leaf, minlength=parts)
        self.labels, self.waiting, self.level = int(bought.sum()), waiting, level
        self.refused, self.drawn, self.came = int((drawn & ~bought).sum()), drawn, bought
        own, weight = leaf[bought], 1 / chances[bought]
        total = np.bincount(own, weight, minlength=parts)
        squares = np.bincount(own, weight**2, minlength=parts)
        there, answers = total > 0, np.bincount(own, minlength=parts)
        counts = part_counts(own, Z[bought] * weight[:, None], parts)
        #: Of each group in each leaf (L, K), those who answered.
        self.counts = part_counts(own, Z[bought], parts)
        shares = counts / np.where(there, total, 1.0)[:, None]
        rows = np.where(there, total**2 / np.where(there, squares, 1.0), 0.0)
        mass = count / len(leaf)
        lost = np.bincount(leaf[drawn & ~bought], minlength=parts)
        lost = lost * np.where(there, rows / np.maximum(answers, 1), 1.0)
        # Where everybody of a leaf was asked and answered nothing is left to chance.
        rows = np.where(there & (answers == count), np.inf, rows)
        self.value, self.bound = map(float, disclosure_by_design(shares, rows, mass, level))
        self.worst = float(disclosure_by_design(shares, rows, mass, level, lost)[1])
        alpha = saved.facts.get("alpha", saved.facts.get("chosen"))
        self.certified = None if alpha is None else bool(self.bound <= alpha)
        # The sample of a leaf stands for all of its people.
        weight = weight * (count / np.where(there, total, 1.0))[own]
        chance = people["probability"]
        self.before = self._shares(saved, Z[bought], weight, 1 / len(leaf))
        told = saved, Z[bought], weight * chance[bought], chance[bought] / max(chance.sum(), 1e-9)
        self.accepted = self._shares(*told) if chance[bought].any() else {}
        self.imbalance_before, self.imbalance = (
            imbalance([one.value for one in found.values()], saved.target) if found else np.nan
            for found in (self.before, self.accepted)
        )

    def _shares(self, saved, Z, weight, part):
        """Shares of the groups, within what those can make who are left; `part` is how much each of
        those who answered is of all these people."""
        told, made = {"level": self.level, "bounds": (0, 1)}, {}
        for name, own in zip(saved.groups, Z.T, strict=True):
            found = ratio_mean(own, weight, **told)
            made[name] = possible(found, (part * own).sum(), 1 - (part * (1 - own)).sum())
        return made

    def _said(self):
        told = {"a leaf tells at most": self.bound}
        return told if self.certified is None else told | {"certified": str(self.certified)}

    def records(self) -> list[dict]:
        """What it says, as metric records."""
        told = {"labels_bought": self.labels, "labels_refused": self.refused}
        told |= {"labels_waiting": self.waiting, "confidence_collected": self.level}
        told |= {"disclosivity_collected": self.value, "collected_at_most": self.bound}
        if self.refused:
            told["collected_at_worst"] = self.worst
        if self.certified is not None:
            told["certified_collected"] = self.certified
        told |= {"imbalance_before_collected": self.imbalance_before}
        told |= {"imbalance_collected": self.imbalance}
        made = [{"metric": name, "value": float(value)} for name, value in told.items()]
        for when, found in (("before", self.before), ("after", self.accepted)):
            for name, one in found.items():
                made += estimate_records(f"share_{when}_collected", one, part=name)
        return [one for one in made if np.isfinite(one["value"])]


class Untold:
    """People of a typed frame of whom a group is not known, with the leaf of each.

    Beside them ``told`` (L, K), how many of those who told all of theirs are in each leaf.
    """

    def __init__(self, saved, frame, key, collect):
        self.saved, self.collect = saved, collect
        self.columns = list(dict.fromkeys(saved.classes))
        for column in self.columns:
            if column not in frame:
                raise CounterweightError(
                    f"The people have no column {column!r}, whose blanks collect is about; they "
                    f"have {listed(frame.columns, 20)}."
                )
        of = list(zip(saved.groups, saved.classes, strict=True))
        start = "{}=" if len(self.columns) > 1 else ""
        #: Groups of each column as the column has them.
        self.words = [
            [name.removeprefix(start.format(column)) for name, own in of if own == column]
            for column in self.columns
        ]
        values, blank = zip(*(self.texts(name, frame[name]) for name in self.columns), strict=True)
        gone, known = np.any(blank, axis=0), ~np.any(blank, axis=0)
        for own, names in zip(values, self.words, strict=True):
            known &= np.isin(own, names)
        found = decided(frame, saved, key)
        self.at, self.told = np.flatnonzero(gone), np.zeros((len(saved.mass), len(saved.groups)))
        if not len(self.at):
            raise CounterweightError(
                f"collect is for people whose {' or '.join(self.columns)} is not known, and there "
                "is none: leave collect out."
            )
        if known.any():
            Z = memberships([own[known] for own in values], self.words)
            self.told = part_counts(found["leaf"][known], Z, len(saved.mass))
        #: What each of them told, by column, "" where it is blank.
        self.given = np.array(
            [np.where(b, "", v)[gone] for v, b in zip(values, blank, strict=True)]
        )
        self.people = {name: found[name][self.at] for name in ("leaf", "probability")}
        self.ids = [found["id"][at] for at in self.at]
        self.shown = frame[saved.facts["id"]].to_numpy()[self.at]

    def texts(self, column, values):
        """Groups of a column as the filter has them, and where they are missing."""
        words = self.words[self.columns.index(column)]
        return group_texts(values, boolean=set(words) == {"no", "yes"})

    @property
    def level(self):
        """Confidence of what is told, which several looks share out."""
        level = self.saved.facts.get("level", 0.95)
        return 1 - (1 - level) / ((self.collect or {}).get("batches") or 1)

    def expected(self, answers=None):
        """`PlannedGroups`, with the groups of those who told, or of those who were asked."""
        alpha = self.saved.facts.get("alpha", self.saved.facts.get("chosen", np.nan))
        told = self.told if answers is None else answers.counts
        told = told, self.saved.sizes, alpha, self.level, self.collect
        rows = PlannedGroups(self.people["leaf"], *told)
        return rows if answers is None else rows.answering(answers)

    def planned(self, key):
        """`PlannedGroups`, the plan of all of them, and its budget."""
        rows = self.expected()
        plan, budget = planned(rows, self.ids, key, self.collect)
        return rows, plan, budget

    def to_ask(self, rows, plan, known=None):
        """People to ask in their order, a frame; what they told, or `known` gives, is filled in.

        `known` is a callable of places (K,) to texts of the columns, a tuple of each, or "".
        """

        def filled(at):
            new = [""] * len(at) if known is None else known(at)
            return [
                [(one and one[i]) or old for one, old in zip(new, told, strict=True)]
                for i, told in enumerate(self.given[:, at].tolist())
            ]

        return rows_to_label(plan, self.shown, rows, self.saved.facts["id"], self.columns, filled)

    def answers(self, at, codes, chance=None, plan=None, called=""):
        """`GroupAnswers` of places (K,) of these people and numbers of their groups, NaN if blank.

        A number is of a group of each column, as `numpy.ravel_multi_index` counts them. By the
        chances (K,) of a file, whose plan is `called` so, or those of a plan, which may stop
        anywhere.
        """
        size, Z = len(self.at), np.full((len(self.at), len(self.saved.groups)), np.nan)
        there = ~np.isnan(codes)
        found = np.unravel_index(codes[there].astype(int), self.saved.sizes)
        blocks = [np.eye(size)[own] for size, own in zip(self.saved.sizes, found, strict=True)]
        Z[at[there]] = np.hstack(blocks)
        if plan is not None:
            drawn, chances, waiting = asked_so_far(plan, np.isfinite(Z[:, 0]))
        else:
            asked = asked_alone(size, at, chance, "without a group", plan=called)
            (drawn, chances), waiting = asked, 0
        told = Z, drawn, chances, waiting, self.level
        return GroupAnswers(self.saved, self.people, *told)


class GroupPlan(ShownPlan):
    """Whose group to ask for, as `counterweight.SavedFilter.collect` plans it.

    Attributes
    ----------
    frame : pandas.DataFrame
        People to ask in their order: id, ``order``, the group to fill in, ``chance``, ``reason``,
        ``plan``. A larger budget with the same frame, filter and key has these first.
    people : pandas.DataFrame
        The plan of all whose group is not known, with ``chance`` and ``drawn``; its index is that
        of the frame.
    """

    def __init__(
        self, saved: object, frame: pd.DataFrame, *, key: object = None, **collect: object
    ) -> None:
        collect = fitting(collect, UNFIT, "a filter")
        check_numbers(collect)
        if collect["budget"] is None:
            raise CounterweightError("collect goes by budget, how many groups to ask for: give it.")
        key = key_of_filter(key)
        frame = pandas_frame(frame, "people")
        self._untold = Untold(saved, saved.typed(frame), key, collect)
        self._rows, plan, self.budget = self._untold.planned(key)
        self.frame = self._untold.to_ask(self._rows, plan)
        self.people = plan.set_axis(frame.index[self._untold.at])

    def expected(self, labels: pd.DataFrame | None = None) -> pd.DataFrame:
        """What is expected at several budgets, a frame.

        Columns: ``budget``; ``plan``, the bound of what a leaf tells about the group of people who
        did not tell it that one in two samples stays below, if they are like those who told;
        ``certified``, the chance that it is within the filter's alpha; ``plain``, the bound of a
        simple random sample. With groups that are there, as `with_labels` takes them, people are
        expected to be like those who were asked, and to answer as often.
        """
        rows = self._rows if labels is None else self._untold.expected(self.with_labels(labels))
        return rows.curves(self.budget)

    def with_labels(self, labels: pd.DataFrame) -> GroupAnswers:
        """What groups say that came back: `frame` with its group columns filled in, as far as they
        are. Who has one blank gave no answer, or was not asked yet."""
        own, person = self._untold, self._untold.saved.facts["id"]
        labels = pandas_frame(labels, "labels")
        at = places_in(labels, (person, *own.columns), own.ids)
        drawn = self.people["drawn"].to_numpy()
        refuse_undrawn("The labels have", [own.ids[one] for one in at], drawn[at])
        refuse_other(labels, person, own.columns, self.people, at)
        found = [(*own.texts(name, labels[name]), labels[name].tolist()) for name in own.columns]
        codes = _codes("The table of labels", own, found)
        return own.answers(at, codes, plan=self.people)


def _codes(path, own, filled):
    """Numbers of the groups that were filled in, NaN where a column is blank.

    `filled` are of each column its values as texts, where they are blank, and as they are written.
    """
    codes = np.array(
        [
            as_codes(path, column, values, dict(zip(names, count(0.0))), blank, shown)
            for column, names, (values, blank, shown) in zip(
                own.columns, own.words, filled, strict=True
            )
        ]
    )
    there = ~np.isnan(codes).any(axis=0)
    if not there.any():
        raise CounterweightError(
            f"{path} has no group filled in in {' and '.join(map(repr, own.columns))}: fill in "
            "some."
        )
    made = np.full(len(there), np.nan)
    made[there] = np.ravel_multi_index(tuple(codes[:, there].astype(int)), own.saved.sizes)
    return made


def planned_groups(job):
    """The filter; people to ask and the plan of all whose group is not known, None without one;
    records, with what groups that came back say of the filter; these as `GroupAnswers`, or None.
    """
    given, key = job.given, own_key(job.given["key"])
    saved, frame = SavedFilter.read(job.input.model), read_table(job.input.table)
    own = Untold(saved, frame, key, given["collect"])
    rows = plan = asked = known = answers = None
    if given["collect"]:
        rows, plan, budget = own.planned(key)
        plan.insert(1, "row", own.at)
    made = []
    if job.input.collected:
        file = _read(job, own, frame)
        if plan is not None:
            file.check_plan(plan)
        at = np.searchsorted(own.at, file.rows)
        answers = own.answers(at, file.y, file.chance, plan, file.plan)
        made += answers.records()
        job.log.info(
            "By %d groups a leaf tells at most %.3f about people with a blank group",
            answers.labels,
            answers.bound,
        )
        known = file.filled(own.at)

    if plan is not None:
        asked = own.to_ask(rows, plan, known)
        made += own.expected(answers).records(plan, budget)
        job.log.info("%d of %d people without a group are drawn", len(asked), len(own.at))
        plan = with_ids(plan, saved.facts["id"], own.shown)
    place = {"repeat": 0, "target": "unlabeled", "rows": len(own.at)}
    return saved, asked, plan, [place | one for one in made], answers


def _read(job, own, frame):
    """The `Bought` groups of a file that came back."""
    report, size = read_table(job.input.columns), len(frame)
    labeled = np.ones(size, bool)
    labeled[own.at] = False
    data = SimpleNamespace(rows=np.arange(size), labeled=labeled)
    data.types, data.forms = types_of(report), forms_of(report)
    person = own.saved.facts["id"]
    asked = {"id": person, "outcome": {"options": {"column": own.columns}}}
    asked["reading"] = job.given["reading"]

    def coded(path, table, columns):
        filled = []
        for column in columns:
            typed = typed_as_table(path, table.select([column]), column, data, asked["reading"])
            filled.append((*own.texts(column, typed), written(table, column)))
        shown = list(zip(*(shown for _, _, shown in filled), strict=True))
        return _codes(path, own, filled), shown

    return read_bought(job.input.collected, asked, data, frame, coded)
