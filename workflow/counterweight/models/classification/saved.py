"""What a study of classifiers gives away: the fit on every label that may be seen."""

import numpy as np
import pandas as pd

from counterweight.datasets.own_table import new_rows, typed_like
from counterweight.errors import CounterweightError, listed
from counterweight.files.people import read_people
from counterweight.labeling.encoding import Feature, TabularEncoder
from counterweight.labeling.samples import condition_mask
from counterweight.models.classifier import positive
from counterweight.models.filters.candidates import TRUTHS, check_frame, encoded
from counterweight.models.saved import SavedModel, as_frame, classes_array
from counterweight.numerics.rates.datasets import DataSets
from counterweight.numerics.rates.promises import Promise
from counterweight.plan.components import load

KIND = "classifier"
#: People handled at a time.
BATCH = 1 << 16
#: Estimates are compared with the threshold after rounding to so many decimals, so that no
#: decision hangs on the order in which a sum was added up.
DECIMALS = 12
#: A promise is kept that is missed by no more than this.
KEPT = 1e-6
#: A mean that moved by more than this many standard deviations is drift; so is a greater share
#: of values outside the range of the fit.
MOVED, OUTSIDE = 0.5, 0.01


class SavedClassifier(SavedModel):
    """A fitted classifier with all that new rows need: encoder, groups, threshold.

    It assumes that new people are as those of the fit; `drift` compares them.

    Parameters
    ----------
    facts : dict
        ``model``, ``options``, ``target``, ``threshold``, ``id`` (column or None), ``features``,
        ``groups`` (conditions of the groups that the model goes by), ``typed`` (their columns:
        number or text), ``types`` and ``forms`` of the columns of a table of one's own,
        ``promises``, ``certificate``, ``measures``, ``rows``, ``labeled``; perhaps ``study``,
        ``title``, ``method``, ``setting``, ``outcome``.
    arrays : dict of str to array
        Of the model (``model.*``), and ``feature.fill, low, high, mean, sd``.

    Attributes
    ----------
    encoder : TabularEncoder
    model
        The fitted classifier.
    """

    def __init__(self, facts, arrays):
        self.facts, self.arrays = facts, {k: np.asarray(v, float) for k, v in arrays.items()}
        fills = self.arrays["feature.fill"]
        self.encoder = TabularEncoder.of(
            Feature(*told, fill=float(fill))
            for told, fill in zip(facts["features"], fills, strict=True)
        )
        own = {
            name.removeprefix("model."): values
            for name, values in self.arrays.items()
            if name.startswith("model.")
        }
        self.model = load("model", facts["model"]).from_arrays(own).set_params(**facts["options"])

    @classmethod
    def of(cls, model, X, encoder, facts):
        """Keep a fitted classifier.

        Parameters
        ----------
        model
            With ``to_arrays``.
        X : array (n, d)
            Features of the rows of the fit, labeled or not, by `encoder`.
        encoder : TabularEncoder
        facts : dict
            See the class, without ``features``.
        """
        features = encoder.features_
        arrays = {f"model.{name}": values for name, values in model.to_arrays().items()}
        arrays["feature.fill"] = [feature.fill for feature in features]
        arrays |= {"feature.low": X.min(axis=0), "feature.high": X.max(axis=0)}
        arrays |= {"feature.mean": X.mean(axis=0), "feature.sd": X.std(axis=0)}
        return cls(facts | {"features": [list(feature[:4]) for feature in features]}, arrays)

    def to_gift(self):
        """Kind, facts and arrays for `counterweight.files.gifts.write_gift`."""
        return KIND, self.facts, self.arrays

    @classmethod
    def from_gift(cls, gift):
        """From what `counterweight.files.gifts.read_gift` gives."""
        return cls(gift.facts, gift.arrays)

    @property
    def promises_(self):
        """Each promise on the rows of the fit, by chances and by decisions; a list of `Promise`."""
        return [Promise(*told) for told in self.facts["promises"]]

    @property
    def promises(self):
        """What was promised, and what the rows of the fit show of it: a list of dicts.

        ``promise`` is a plain constraint, ``excess`` its left side minus its right side for the
        randomised classifier (at most 0 where it is kept), ``excess_decided`` for the decisions.
        """
        told = self.promises_
        return [
            {"promise": one.promise, "excess": other.excess, "excess_decided": one.excess}
            for one, other in zip(told[::2], told[1::2], strict=True)
        ]

    @property
    def held_out_promises_(self):
        """The same on rows that had no say in the weights, where the fit held some out."""
        return [Promise(*told) for told in self.facts.get("judged", ())]

    @property
    def certificate(self):
        """What held-out rows show of new ones: a sentence, or why they show nothing."""
        return self.facts.get("certificate", "")

    def kept(self):
        """A sentence on each promise: whether the rows of the fit show it kept."""
        said = []
        for promise in self.promises:
            parts = [
                f"{rule} {'kept' if promise[key] <= KEPT else f'missed by {promise[key]:.3g}'}"
                for key, rule in (("excess", "by chances"), ("excess_decided", "by decisions"))
            ]
            said.append(f"{promise['promise']}: {', '.join(parts)} on the rows of the fit.")
        return said

    def predict_proba(self, frame):
        """Estimates for new rows, (n, 2), column 1 of a positive outcome.

        Of classifiers under promises it is the chance with which the randomised classifier says
        yes, which is no estimate of the outcome.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns as in the table of the fit; those that nothing needs are passed over.

        Raises
        ------
        CounterweightError
            When there is nobody, a column is missing, or holds text instead of numbers; for
            models that go by groups also when a row is in none or in two of them.
        """
        positive, _ = self._answered(self._like_the_fit(frame))
        return np.column_stack([1 - positive, positive])

    def _like_the_fit(self, frame):
        """New rows as a file has them, typed as those of the fit."""
        types = {
            name: kind for name, kind in self.facts.get("types", {}).items() if name in self.columns
        }
        if not types or not isinstance(frame, pd.DataFrame) or not len(frame):
            return frame  # told by `encode`
        made = typed_like(
            "The table of people", frame, types, needed=[*types], forms=self.facts["forms"]
        )
        return frame.assign(**{name: made[name].to_numpy() for name in types})

    def _answered(self, frame):
        """Estimates and decisions (n,) of typed rows, part by part."""
        parts = [
            self.answers(part, self.encode(part, first), first) for part, first in in_parts(frame)
        ]
        return tuple(np.concatenate(both) for both in zip(*parts, strict=True))

    @property
    def classes_(self):
        return classes_array(self.facts.get("classes", (0, 1)))

    def predict(self, frame):
        """The second of `classes_` where it is decided yes, else the first, (n,); see `decide`."""
        return self.classes_[self.decide(frame).astype(int)]

    def decide(self, frame):
        """Decisions on new rows, bool (n,); errors as `predict_proba`.

        Yes where the estimate is above the threshold, or where the score is above the thresholds
        that were repaired so that decisions keep the promises.
        """
        return self._answered(self._like_the_fit(frame))[1]

    def scores(self, frame):
        """The released table: the id (else ``row``), ``estimate`` and ``decision``.

        Returns
        -------
        pandas.DataFrame
            With the index of `frame`.
        """
        return as_frame(self.scored(self._like_the_fit(frame)), frame)

    def scored(self, frame):
        """As `scores`, of rows that are typed already: a dict of str to array (n,)."""
        estimate, decision = self._answered(frame)
        return self.named(frame) | {"estimate": estimate, "decision": decision}

    @property
    def columns(self):
        """Columns that new rows must have, without the id."""
        return list(dict.fromkeys([*self.encoder.columns_, *self.facts["typed"]]))

    def new_rows(self, path, reading=None):
        """The rows of a file in batches, typed as those of the fit.

        Parameters
        ----------
        path : str
        reading : dict, optional
            How the text is read; see `counterweight.files.people`.

        Yields
        ------
        pandas.DataFrame
        """
        types, person = self.facts["types"], self.facts["id"]
        if types:
            needed = self.columns + ([person] if person else [])
            yield from new_rows(
                path, types, needed, forms=self.facts["forms"], reading=reading, rows=BATCH
            )
        else:
            frame = read_people(path, absent="correct the path under score", nameless=True)
            yield from (part for part, _ in in_parts(frame))

    # Encoded people, batch by batch.

    def encode(self, frame, first=0):
        """Features (n, d) of a table; `first` is the number of its first row, for messages."""
        return encoded(frame, self.encoder, people="people", gift="classifier", first=first)

    def named(self, frame, first=0):
        """``{column: values}`` that tell the people of a table apart: the id, else the row.

        Raises
        ------
        CounterweightError
            When the table has no column of the id, or it is blank or repeated.
        """
        return named_people(frame, self.facts["id"], first)

    def answers(self, frame, X, first=0):
        """Estimates and decisions (n,) of people with these features; the table says groups."""
        decision = None
        if hasattr(type(self.model), "SAMPLED"):
            groups = self._groups(frame, first) if self.facts["groups"] else None
            estimate, decision = self.model.answers(X, groups)
        else:
            estimate = positive(self.model, X, self.facts["target"])
        return estimate, self.decided(estimate) if decision is None else decision

    def decided(self, estimate):
        """Decisions (n,) by estimates (n,) alone."""
        threshold, estimate = self.facts["threshold"], np.round(estimate, DECIMALS)
        # Where both classes are as likely, probabilities say yes, and scores of 0 say no.
        if hasattr(type(self.model), "SAMPLED"):
            return estimate > threshold
        return estimate >= threshold

    def _groups(self, frame, first):
        """The groups of new rows as data sets."""
        typed, groups = _typed(frame, self.facts["typed"], first), self.facts["groups"]
        members = {
            name: condition_mask(typed, condition, f"the group {name}")
            for name, condition in groups.items()
        }
        counts = np.sum([members[name] for name in groups], axis=0)
        several = np.flatnonzero(counts > 1)
        if len(several) and getattr(self.model, "GROUPED", False):
            raise CounterweightError(
                f"{len(several)} people (first: row {first + several[0]}, counted from 0) are in "
                f"more than one of the groups {listed(groups)}: correct these rows."
            )
        return DataSets(None, np.full(len(frame), -1), None, members)

    # Drift.

    def sums(self, X):
        """What `drift` needs of a batch, (3, d); sums of batches add up."""
        outside = (self.arrays["feature.low"] > X) | (self.arrays["feature.high"] < X)
        return np.vstack([np.full(X.shape[1], len(X)), X.sum(axis=0), outside.sum(axis=0)])

    def drift(self, sums):
        """Sentences on how new people differ from those of the fit; none where they do not.

        A feature is told whose mean moved by more than half a standard deviation of the fit (and
        three standard errors), or that is outside its range for more than 1 % of the people.

        Parameters
        ----------
        sums : array (3, d)
        """
        rows, total, outside = sums
        mean, sd = self.arrays["feature.mean"], self.arrays["feature.sd"]
        moved = np.abs(total / rows - mean) / np.where(sd > 0, sd, np.inf)
        moved = moved > np.maximum(MOVED, 3 / np.sqrt(rows))
        beyond = outside > np.maximum(OUTSIDE * rows, 1)
        said = []
        for at in np.flatnonzero(moved | beyond):
            parts = [f"its mean is {total[at] / rows[at]:.4g}, {mean[at]:.4g} in the fit"]
            parts += [f"{outside[at] / rows[at]:.1%} are outside its range in the fit"]
            parts = [
                part for part, told in zip(parts, (moved[at], beyond[at]), strict=True) if told
            ]
            said.append(
                f"The feature {self.encoder.features_[at].name!r} has changed: {'; '.join(parts)}."
            )
        return said

    def __repr__(self):
        return (
            f"SavedClassifier({self.facts['model']} by {listed([*self.encoder.columns_], 8)}; "
            f"fitted to {self.facts['labeled']} labels)"
        )


def named_people(frame, column, first=0):
    """``{column: values}`` that tell the people of a table apart: the id, else the row.

    Parameters
    ----------
    frame : pandas.DataFrame
    column : str or None
        That holds the id.
    first : int
        Number of the first row.

    Raises
    ------
    CounterweightError
        When the column is missing.
    """
    if column is None:
        rows = np.arange(first, first + len(frame), dtype=np.int64)
        return {"row": frame["row"].to_numpy() if "row" in frame.columns else rows}
    if column not in frame.columns:
        raise CounterweightError(
            f"The table of people has no column {column!r}, which says who they are; it has "
            f"{listed(frame.columns, 30)}: name the columns as in the table of the fit."
        )
    return {column: frame[column].to_numpy()}


def in_parts(frame):
    """A table in batches, each with the number of its first row."""
    check_frame(frame)
    for first in range(0, max(len(frame), 1), BATCH):
        yield frame.iloc[first : first + BATCH], first


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
