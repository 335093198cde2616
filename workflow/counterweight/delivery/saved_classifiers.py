"""What a study of classifiers delivers: the fit on every label that may be seen."""

from __future__ import annotations

import logging
import re

import numpy as np
import pandas as pd

from counterweight.datasets.own_table import new_rows
from counterweight.delivery.saved_models import (
    SavedPredictor,
    as_frame,
    encoded,
    feature_arrays,
    feature_facts,
)
from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import condition_mask, refuse_blank_scores
from counterweight.models.classifier import positive, stored_within
from counterweight.numerics.rates.datasets import DataSets
from counterweight.numerics.rates.values import ConstraintCheck
from counterweight.tables.table_reader import read_people

log = logging.getLogger("counterweight")
#: Estimates are compared with the threshold after rounding to so many decimals, so that no
#: decision hangs on the order in which a sum was added up.
DECIMALS = 12
#: Words for yes and no in columns that were prepared as 1 and 0.
TRUTHS = {"true": "1", "false": "0"}
#: A promise is kept that is missed by no more than this.
KEPT = 1e-6
#: Among groups that promises name: rows in none of them, in whose columns a blank stands.
BLANK = "those whose group is blank"


class SavedClassifier(SavedPredictor):
    """A fitted classifier with all that new rows need: encoder, groups, threshold.

    It assumes that new people are as those of the fit; `drift` compares them.

    Parameters
    ----------
    facts : dict
        ``model``, ``options``, ``target``, ``threshold``, ``id`` (column or None), ``features``,
        ``groups`` (conditions of the groups that the model goes by), ``typed`` (their columns:
        number or text), ``types`` and ``forms`` of the columns of a table of one's own,
        ``promised`` (``groups`` that its promises name, ``types`` and ``forms`` of their columns,
        which new rows may have), ``promises``, ``certificate``, ``measures``, ``rows``,
        ``labeled``; perhaps ``study``, ``title``, ``method``, ``setting``, ``outcome``.
    arrays : dict of str to array
        Of the model (``model.*``), and ``feature.fill, low, high, mean, sd``.

    Attributes
    ----------
    encoder : TabularEncoder
    model
        The fitted classifier.
    """

    KIND = "classifier"
    BATCH = 1 << 16

    def __init__(self, facts: dict, arrays: dict) -> None:
        super().__init__(facts, arrays)
        self.model = stored_within(facts["model"], facts["options"], self.part("model"))

    @classmethod
    def of(cls, model, X, encoder, facts, weights=None):
        """Keep a fitted classifier; `X` (n, d) are features of all rows of the fit.

        `weights` (n,) are told where these stand for others, as of a log that dropped rows.
        """
        arrays = {f"model.{name}": values for name, values in model.to_arrays().items()}
        return cls(facts | feature_facts(encoder), arrays | feature_arrays(encoder, X, weights))

    @property
    def promises_(self) -> list[ConstraintCheck]:
        """Each constraint on the rows of the fit, randomised and deterministic."""
        return [ConstraintCheck(*told) for told in self.facts["promises"]]

    @property
    def promises(self) -> list[dict]:
        """What was promised, and what the rows of the fit show of it: a list of dicts.

        ``promise`` is a plain constraint, ``excess`` its left side minus its right side for the
        randomised classifier (at most 0 where it is kept), ``excess_decided`` for the decisions.
        """
        told = self.promises_
        return [
            {"promise": one.constraint, "excess": other.excess, "excess_decided": one.excess}
            for one, other in zip(told[::2], told[1::2], strict=True)
        ]

    @property
    def held_out_promises_(self) -> list[ConstraintCheck]:
        """The same on rows that had no say in the weights, where the fit held some out."""
        return [ConstraintCheck(*told) for told in self.facts.get("judged", ())]

    @property
    def certificate(self) -> str:
        """What held-out rows show of new ones: a sentence, or why they show nothing."""
        return self.facts.get("certificate", "")

    def kept(self) -> list[str]:
        """A sentence on each promise: whether the rows of the fit show it kept."""
        said = []
        for promise in self.promises:
            parts = [
                f"{rule} {'kept' if promise[key] <= KEPT else f'missed by {promise[key]:.3g}'}"
                for key, rule in (("excess", "by chances"), ("excess_decided", "by decisions"))
            ]
            said.append(f"{promise['promise']}: {', '.join(parts)} on the rows of the fit.")
        return said

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """The second of `classes_` where it is decided yes, else the first, (n,); see `decide`."""
        made = self.scored(self.typed(frame), reasons=False, tell="once")
        return self.classes_[made["decision"].astype(int)]

    def decide(self, frame: pd.DataFrame) -> np.ndarray:
        """Decisions on new rows, bool (n,); errors as `predict_proba`.

        Yes where the estimate is above the threshold, or where the score is above the thresholds
        that were repaired so that decisions keep the promises.
        """
        return self.scored(self.typed(frame), tell=True)["decision"]

    def scores(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The released table: the id (else ``row``), ``estimate`` and ``decision``.

        Returns
        -------
        pandas.DataFrame
            With the index of `frame`.
        """
        typed = self.typed(frame)
        return as_frame(self.named(typed) | self.scored(typed, tell=True), frame)

    @property
    def columns(self) -> list[str]:
        """Columns that new rows must have, without the id."""
        return list(dict.fromkeys([*self.encoder.columns_, *self.facts["typed"]]))

    def new_rows(self, path, reading=None):
        """The rows of a file in batches, typed as those of the fit, each with who they are."""
        types, person, first = self.facts["types"], self.facts["id"], 0
        if types:
            needed = self.columns + ([person] if person else [])
            also = {"types": {}, "forms": {}} | self.facts.get("promised", {})
            told = {"forms": also["forms"] | self.facts["forms"], "also": [*also["types"]]}
            told |= {"reading": reading, "rows": self.BATCH}
            parts = new_rows(path, also["types"] | types, needed, **told)
        else:
            frame = read_people(path, absent="correct the path under score", nameless=True)
            parts = (part for part, _ in self.batches(frame))
        for part in parts:
            yield part, self.named(part, first)
            first += len(part)

    def encode(self, frame, first=0):
        """Features (n, d) of a table; `first` is the number of its first row, for messages."""
        return encoded(frame, self.encoder, people="people", saved="classifier", first=first)

    def answered(self, frame, first=0, reasons=True):
        """Estimates and decisions of typed rows, and what `drift` needs of them."""
        if getattr(type(self.model), "WHOLE", False):
            refuse_blank_scores(frame, [*self.encoder.columns_][0], first)
        X, decision = self.encode(frame, first), None
        if hasattr(type(self.model), "SAMPLED"):
            groups = _groups_of(self, frame, first) if self.facts["groups"] else None
            estimate, decision = self.model.answers(X, groups)
            if getattr(self.model, "ESTIMATES", False):
                estimate = self.model.predict_proba(X)[:, 1]
        else:
            estimate = positive(self.model, X, self.facts["target"])
        decision = self.decided(estimate) if decision is None else decision
        return {"estimate": estimate, "decision": decision}, self.sums(X)

    def counts_by_group(self, frame: pd.DataFrame, made: dict) -> dict:
        promised = self.facts.get("promised", {}).get("groups", {})
        there = {name: {*columns_in({name: promised[name]})} <= {*frame} for name in promised}
        # Where some are told, nobody may take these for all.
        groups = {
            name: condition_mask(frame, condition, f"the group {name}")
            if there[name]
            else np.zeros(len(frame), bool)
            for name, condition in promised.items()
            if any(there.values())
        }
        blank = frame[[name for name in columns_in(promised) if name in frame]].isna().any(axis=1)
        blank = blank.to_numpy() & ~np.any([*groups.values(), np.zeros(len(frame), bool)], axis=0)
        groups |= {BLANK: blank} if blank.any() else {}
        return {
            name: (int(mask.sum()), int(made["decision"][mask].sum()))
            for name, mask in groups.items()
        }

    def decided(self, estimate):
        """Decisions (n,) by estimates (n,) alone."""
        threshold, estimate = self.facts["threshold"], np.round(estimate, DECIMALS)
        # Where both classes are as likely, probabilities say yes, and scores of 0 say no.
        if hasattr(type(self.model), "SAMPLED"):
            return estimate > threshold
        return estimate >= threshold

    def shown(self) -> dict:
        # What the library calls constraints is a promise of a study's, as on its page.
        told = re.sub(r"(\d)%", r"\1 %", self.certificate.replace("constraint", "promise"))
        kept = {f"promise {k}": one for k, one in enumerate(self.kept(), start=1)}
        return ({"certificate": told} if told else {}) | kept


def columns_in(groups):
    """Columns that the conditions of groups ask about."""
    found = []
    for condition in groups.values():
        parts = condition.get("all")
        found += columns_in(dict(enumerate(parts))) if parts else [condition["column"]]
    return list(dict.fromkeys(found))


def _groups_of(saved, frame, first):
    """The groups of new rows as data sets."""
    typed, groups = _typed(frame, saved.facts["typed"], first), saved.facts["groups"]
    members = {
        name: condition_mask(typed, condition, f"the group {name}")
        for name, condition in groups.items()
    }
    counts = np.sum([members[name] for name in groups], axis=0)
    several = np.flatnonzero(counts > 1)
    if len(several) and getattr(saved.model, "GROUPED", False):
        raise CounterweightError(
            f"{len(several)} people (first: row {first + several[0]}, counted from 0) are in "
            f"more than one of the groups {listed(groups)}: correct these rows."
        )
    if nobodys := int((counts == 0).sum()):
        log.warning(
            "%d of %d people are in none of the groups %s, by which this classifier has its cuts: "
            "a cut of its own decides on them, and no promise about a group is one for them.",
            nobodys,
            len(frame),
            listed(groups),
        )
    return DataSets(None, np.full(len(frame), -1), None, members)


def _typed(frame, kinds, first):
    """The columns that groups are told by: numbers or texts, as in the prepared table."""
    columns = {}
    for column, kind in kinds.items():
        if column not in frame.columns:
            raise CounterweightError(
                f"The table of people has no column {column!r}, which says their groups: this "
                "classifier goes by them; add the column."
            )
        values = frame[column]
        if pd.api.types.is_numeric_dtype(values) == (kind == "number"):
            columns[column] = values
        elif kind == "text":
            columns[column] = values.astype("str")
        else:
            words = values.astype("str").str.strip()
            numbers = pd.to_numeric(words.str.lower().map(TRUTHS).fillna(words), errors="coerce")
            wrong = np.flatnonzero(numbers.isna() & words.notna() & (words != ""))
            if len(wrong):
                raise CounterweightError(
                    f"Column {column!r} of the people holds text where numbers are expected in "
                    f"{len(wrong)} rows (first: row {first + wrong[0]}, "
                    f"{words.iloc[wrong[0]]!r}; rows are counted from 0): correct these rows."
                )
            columns[column] = numbers
    return pd.DataFrame(columns)
