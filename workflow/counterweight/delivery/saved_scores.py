"""The final model of a table with blanks: fitted on all labeled rows, saved, used on new rows."""

import logging
from dataclasses import dataclass

import numpy as np

from counterweight.datasets.own_table import typed_like
from counterweight.delivery.saved_models import (
    BATCH,
    SavedPredictor,
    as_frame,
    check_id,
    classes_array,
)
from counterweight.errors import CounterweightError
from counterweight.labeling.column_statistics import (
    added,
    count_rows,
    describe_new,
    drift_sentences,
)
from counterweight.labeling.columns import free_name
from counterweight.labeling.encoding import TabularEncoder
from counterweight.models.score_models import EncodedModel, most_moved
from counterweight.models.score_tilt import ScoreTilt
from counterweight.numerics.bands import CalibrationBand
from counterweight.tables.saved_form import writing_answers
from counterweight.tables.table_reader import row_batches
from counterweight.weighting.overlap import Support

log = logging.getLogger("counterweight")
#: Models of files of 1.0.0 by the names that they have now.
OLD_NAMES = {"linear": "logistic", "boosting": "gradient_boosting"}
#: What to do where the new rows are not there.
ABSENT = "correct the path under score"


@dataclass
class SavedScores(SavedPredictor):
    """Estimates of an outcome for rows of a table, with how far to trust each.

    Attributes
    ----------
    facts : dict
        ``study``, ``outcome`` (column), ``names`` (what 0 and 1 stand for; empty of a number),
        ``id``, ``types`` and ``forms`` of the columns, ``model``, ``options``, ``threshold``.
    encoder : TabularEncoder
    model : object
        With ``predict(rows)``.
    band : CalibrationBand
    support : Support
    versions : dict
        Of the libraries that it was fitted with; empty before it is saved.
    tilt : ScoreTilt or None
        None where labels are taken to be missing at random.
    """

    KIND = "scores"

    facts: dict
    encoder: TabularEncoder
    model: object
    band: CalibrationBand
    support: Support
    versions: dict
    tilt: ScoreTilt | None = None

    @property
    def binary(self):
        """Whether the outcome is one of two classes."""
        return bool(self.facts["names"])

    @property
    def classes_(self):
        if not self.binary:
            raise AttributeError(f"The outcome {self.facts['outcome']!r} is a number: no classes.")
        return classes_array(self.facts.get("classes", self.facts["names"]))

    def scores(self, frame, reasons=True):
        """Estimate, interval, support and decision of each row.

        Parameters
        ----------
        frame : pandas.DataFrame
            With the columns that the model was fitted on (``facts["types"]``), read as text or
            typed; others are passed over.
        reasons : bool
            Whether to say why a row is outside of what is known, and what moved its score.

        Returns
        -------
        pandas.DataFrame
            ``estimate`` (the chance of 1, or the expected number), ``low`` and ``high`` (95 %:
            of the share of 1 among rows with such a score, or of a new person's number),
            with a tilt ``at_random`` (the estimate without it, labels missing at random),
            ``supported`` (whether labeled rows resemble it), ``reason`` (why not), and for
            classes ``decision``; with `reasons` also ``top_feature_1`` to ``top_feature_3``, the
            columns that moved the score most from its mean (see `contributions`), with how much;
            first the id, where the fit had one. The index is that of `frame`.

        Raises
        ------
        CounterweightError
            When a column or the id is missing, or one holds something else than in the fit.
        """
        made = self._scored(frame, reasons)
        if self.facts["id"]:
            check_id(frame.columns, self.facts["id"], "rows")
            made.insert(0, self.facts["id"], frame[self.facts["id"]].to_numpy())
        return as_frame(made, frame)

    def _scored(self, frame, reasons=True):
        return self.scored(self.typed(frame), reasons)

    def typed(self, frame, where="The table", reading=None, first=0):
        """The columns of the fit of new rows; see `counterweight.datasets.own_table.typed_like`."""
        types, forms = self.facts["types"], self.facts["forms"]
        told = {"needed": [*types], "forms": forms, "reading": reading, "first": first}
        return typed_like(where, frame, types, **told)

    def scored(self, typed, reasons=True):
        """As `scores`, of rows that are typed already."""
        import pandas as pd

        parts = [
            self.scored_rows(self.encoder.encode(typed.iloc[start : start + BATCH]), reasons)
            for start in range(0, max(len(typed), 1), BATCH)
        ]
        return pd.concat(parts, ignore_index=True)

    def scored_rows(self, rows, reasons=True):
        """As `scores`, of encoded rows."""
        import pandas as pd

        if reasons:
            raw, _, parts = self.model.explained(rows)
            estimate = self.model.answers(raw)
        else:
            estimate = self.model.predict(rows)
        low, high = self.band.interval(estimate)
        X = rows.dense()
        columns = {"estimate": estimate, "low": low, "high": high}
        if self.tilt is not None:
            at_random = self.tilt.calibrated(estimate)
            estimate, low, high = self.tilt.moved(rows, estimate, low, high)
            columns = {"estimate": estimate, "low": low, "high": high, "at_random": at_random}
        if reasons:
            reason = self.support.reason(X)
            columns |= {"supported": reason == "", "reason": reason.astype(str)}
        else:
            columns["supported"] = ~self.support.outside(X)
        if self.binary:
            decided = (estimate >= self.facts["threshold"]).astype(int)
            columns["decision"] = self.classes_[decided]
        if reasons:
            columns |= most_moved(parts, self.encoder.names, self.facts.get("digits", 2))
        return pd.DataFrame(columns)

    def contributions(self, frame):
        """What each column contributes to the score of each row.

        Parameters
        ----------
        frame : pandas.DataFrame
            As of `scores`.

        Returns
        -------
        pandas.DataFrame
            A column for each column of the fit, and ``base``, the mean score over the labeled
            rows: together they sum to the log odds of a class, or to the expected number. A
            column that the model does not use has 0. See
            `counterweight.models.score_models` for what is put down to a column. They are
            of the score before a tilt.

        Raises
        ------
        CounterweightError
            As `scores`.
        """
        import pandas as pd

        typed = self.typed(frame)
        names, made = self.encoder.names, []
        for start in range(0, max(len(typed), 1), BATCH):
            _, base, parts = self.model.explained(
                self.encoder.encode(typed.iloc[start : start + BATCH])
            )
            made.append(pd.DataFrame(parts, columns=names))
        made = pd.concat(made, ignore_index=True)[list(self.facts["types"])]
        made[free_name("base", names)] = base
        return as_frame(made, frame)

    def predict_proba(self, frame):
        """Chances of both classes, (n, 2), as scikit-learn gives them.

        Raises
        ------
        CounterweightError
            When the outcome is a number, or as `scores`.
        """
        if not self.binary:
            raise CounterweightError(
                f"The outcome {self.facts['outcome']!r} is a number, so there are no chances of "
                "classes: use predict."
            )
        p = self._scored(frame, reasons=False)["estimate"].to_numpy()
        return np.column_stack([1 - p, p])

    def predict(self, frame):
        """The expected number, or the class of `classes_` that is decided for, (n,)."""
        made = self._scored(frame, reasons=False)
        return made["decision" if self.binary else "estimate"].to_numpy()

    def drift(self, counts):
        """Sentences on how new rows differ from those of the fit.

        Parameters
        ----------
        counts : dict
            Of the new rows, from `counterweight.labeling.column_statistics.count_rows`.
        """
        return drift_sentences(describe_new(self.encoder, counts))

    def to_gift(self):
        """Kind, facts and arrays for `counterweight.tables.saved_form.write_gift`."""
        facts, arrays = dict(self.facts), {}
        columns_of = {
            "encoder": self.encoder.to_table(),
            "model": self.model.to_arrays(),
            "band": self.band.to_arrays(),
            "support": self.support.to_arrays(),
        }
        if self.tilt is not None:
            columns_of["tilt"] = self.tilt.to_arrays()
        for part, columns in columns_of.items():
            texts = {}
            for name, values in columns.items():
                values = np.asarray(values)
                if values.dtype.kind in "OUS":
                    texts[name] = values.tolist()
                else:
                    arrays[f"{part}.{name}"] = values
            facts[f"texts of the {part}"] = texts
        return "scores", facts, arrays

    @classmethod
    def from_gift(cls, gift):
        """The model that `to_gift` gave."""
        facts = {name: fact for name, fact in gift.facts.items() if not name.startswith("texts of")}
        parts = {}
        facts["model"] = OLD_NAMES.get(facts["model"], facts["model"])
        known = facts.get("tilt")
        for part in ("encoder", "model", "band", "support", *(["tilt"] if known else [])):
            texts = gift.facts[f"texts of the {part}"]
            parts[part] = {name: np.asarray(words, object) for name, words in texts.items()} | {
                name.partition(".")[2]: values
                for name, values in gift.arrays.items()
                if name.startswith(f"{part}.")
            }
        return cls(
            facts,
            TabularEncoder.from_table(parts["encoder"]),
            EncodedModel.from_arrays(
                facts["model"],
                facts.get("options", {}),
                facts.get("answers for", "general"),
                parts["model"],
                bool(facts["names"]),
            ),
            CalibrationBand.from_arrays(parts["band"]),
            Support.from_arrays(parts["support"]),
            gift.versions,
            ScoreTilt.from_arrays(parts["tilt"], known["chance"]) if known else None,
        )


def score_file(model, new, table, csv, reading=None, batch=BATCH):
    """Score the rows of a file in batches, and say how they differ from those of the fit.

    Parameters
    ----------
    model : str
        File of a saved model.
    new : str
        Table of new rows.
    table, csv : str
        Where the scores go.
    reading : dict, optional
        How the text is read; see `counterweight.tables.table_reader`.
    batch : int
        Rows at a time; answers do not depend on it.

    Raises
    ------
    CounterweightError
        When there is no row, or a row cannot be scored: nothing is then written.
    """
    saved = SavedScores.read(model)
    identity, total, counts = saved.facts["id"], 0, None
    with writing_answers(table, csv) as write:
        for part in row_batches(new, absent=ABSENT, rows=batch, reading=reading):
            frame = saved.typed(part, new, reading, total)
            rows = saved.encoder.encode(frame)
            scores, counts = saved.scored_rows(rows), added(counts, count_rows(rows))
            if identity:
                check_id(part.column_names, identity, "new rows")
                scores.insert(0, identity, part[identity].to_pandas().to_numpy())
            else:
                scores.insert(0, "row", frame["row"].to_numpy())
            write(scores)
            total += len(scores)
        if not total:
            raise CounterweightError(f"{new} has no row: there is nobody to score.")
    log.info("%d new rows scored", total)
    for sentence in saved.drift(counts):
        log.warning(sentence)
