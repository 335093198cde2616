"""The final model of a table with blanks: fitted on all labeled rows, saved, used on new rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from counterweight.datasets.own_table import typed_like
from counterweight.delivery.saved_models import SavedPredictor, as_frame, check_id
from counterweight.errors import CounterweightError
from counterweight.labeling.column_statistics import (
    added,
    count_rows,
    describe_new,
    drift_sentences,
)
from counterweight.labeling.columns import free_name
from counterweight.labeling.encoding import TabularEncoder
from counterweight.models.score_models import CombinedModel, EncodedModel, most_moved
from counterweight.numerics.bands import CalibrationBand
from counterweight.plan.components import reference
from counterweight.tables.table_reader import row_batches
from counterweight.weighting.overlap import Support

#: Models of files of 1.0.0 by the names that they have now.
OLD_NAMES = {"linear": "logistic", "boosting": "gradient_boosting"}
#: The class of a tilt, which only jobs of studies with one load.
TILT = "counterweight.models.score_tilt:ScoreTilt"
#: Plans of labels to buy, which are made beside jobs.
PLANS = "counterweight.delivery.label_plans"
#: What to do where the new rows are not there.
ABSENT = "correct the path under score"


def _stored_model(facts, arrays):
    """The model of a file; before several were combined there was one."""
    told = facts.get("answers for", "general"), arrays, bool(facts["names"])
    if "combined" in facts:
        return CombinedModel.from_arrays(facts["combined"], *told)
    return EncodedModel.from_arrays(facts["model"], facts.get("options", {}), *told)


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
    chance : EncodedModel or None
        Of the chance of an outcome, where rows with hardly any are not supported.
    known : array
        Ids of rows whose outcome is known, of which nobody asks what resembles them.
    """

    KIND = "scores"

    facts: dict
    encoder: TabularEncoder
    model: object
    band: CalibrationBand
    support: Support
    versions: dict
    tilt: object = None
    chance: object = None
    known: np.ndarray = ()

    @property
    def binary(self) -> bool:
        return bool(self.facts["names"])

    def scores(self, frame: pd.DataFrame, reasons: bool = True) -> pd.DataFrame:
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
            ``supported`` (whether labeled rows resemble it; if not, the interval is that of any
            outcome), ``reason`` (why not), and for
            classes ``decision``; with `reasons` also ``top_feature_1`` to ``top_feature_3``, the
            columns that moved the score most from its mean (see `contributions`), with how much;
            first the id, where the fit had one. The index is that of `frame`.

        Raises
        ------
        CounterweightError
            When a column or the id is missing, or one holds something else than in the fit.
        """
        made, person = self.scored(self.typed(frame), reasons), self.facts["id"]
        if person:
            check_id(frame.columns, person, "rows")
            made = {person: frame[person].to_numpy()} | made
        return as_frame(made, frame)

    def typed(self, frame, where="The table", reading=None, first=0):
        """The columns of the fit of new rows; see `counterweight.datasets.own_table.typed_like`."""
        types, forms = self.facts["types"], self.facts["forms"]
        told = {"needed": [*types], "forms": forms, "reading": reading, "first": first}
        return typed_like(where, frame, types, **told)

    def new_rows(self, path, reading=None):
        """The rows of a file in batches, typed as those of the fit, each with who they are."""
        person, first = self.facts["id"], 0
        for part in row_batches(path, absent=ABSENT, rows=self.BATCH, reading=reading):
            frame = self.typed(part, path, reading, first)
            if person:
                check_id(part.column_names, person, "new rows")
                named = {person: part[person].to_pandas().to_numpy()}
            else:
                named = {"row": frame["row"].to_numpy()}
            yield frame, named
            first += len(frame)
        if not first:
            raise CounterweightError(f"{path} has no row: there is nobody to score.")

    def answered(self, frame, first=0, reasons=True):
        """Answers for typed rows, see `scores`, and what `drift` needs of them."""
        rows = self.encoder.encode(frame)
        if reasons:
            raw, _, parts = self.model.explained(rows)
            estimate = self.model.answers(raw)
        else:
            estimate = self.model.predict(rows)
        low, high = self.band.interval(estimate, contain="combined" not in self.facts)
        estimate = np.clip(estimate, low, high)
        columns = {"estimate": estimate, "low": low, "high": high}
        if self.tilt is not None:
            at_random = self.tilt.calibrated(estimate)
            estimate, low, high = self.tilt.moved(rows, estimate, low, high)
            columns = {"estimate": estimate, "low": low, "high": high, "at_random": at_random}
        chance = None if self.chance is None else self.chance.predict(rows)
        asked = np.flatnonzero(~np.isin(rows.row, self.known)) if len(self.known) else slice(None)
        X, chance = rows.take(asked).dense(), None if chance is None else chance[asked]
        if reasons:
            reason = np.full(len(rows), "", dtype=object)
            reason[asked] = self.support.reason(X, chance)
            columns |= {"supported": reason == "", "reason": reason.astype(str)}
        else:
            columns["supported"] = np.ones(len(rows), bool)
            columns["supported"][asked] = ~self.support.outside(X, chance)
        columns |= self.unidentified(columns)
        if self.binary:
            columns["decision"] = self.classes_[(estimate >= self.facts["threshold"]).astype(int)]
        if reasons:
            columns |= most_moved(parts, self.encoder.names, self.facts.get("digits", 2))
        return columns, count_rows(rows)

    def unidentified(self, columns):
        """Ends of the answers: of rows that are not supported, those of any outcome at all."""
        ends = {end: columns[end] for end in ("low", "high")}
        if "range" not in self.facts:
            return ends
        estimate, on = columns["estimate"], columns["supported"]
        least, most = self.facts["range"]
        return {
            "low": np.where(on, ends["low"], np.minimum(least, estimate)),
            "high": np.where(on, ends["high"], np.maximum(most, estimate)),
        }

    def contributions(self, frame: pd.DataFrame) -> pd.DataFrame:
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
        parts = [
            self.model.explained(self.encoder.encode(part))
            for part, _ in self.batches(self.typed(frame))
        ]
        names = self.encoder.names
        made = pd.DataFrame(np.concatenate([part for _, _, part in parts]), columns=names)
        made = made[list(self.facts["types"])]
        made[free_name("base", names)] = parts[0][1]
        return as_frame(made, frame)

    def collect(
        self,
        frame: pd.DataFrame,
        budget: float | None = None,
        *,
        half_width: float | None = None,
        key: object = None,
        **options: object,
    ) -> object:
        """Plan which rows of a frame to label, so that the answer rests on no assumption.

        Parameters
        ----------
        frame : pandas.DataFrame
            As of `scores`, with the id; rows whose outcome is there are passed over.
        budget : float, optional
            Labels to buy; with `cost` what they may cost together.
        half_width : float, optional
            In place of it: of the interval that is wanted.
        key : int, bytes, path or Key, optional
            What rows are drawn by with their ids: a seed, a secret, the file of one. By default the
            file ``collect.key``, which is made where it is not there.
        **options
            ``cost`` and ``by`` (columns), ``for`` (``"mean"`` or ``"auc"``), ``floor`` and
            ``batches``, as under ``collect`` in a config.

        Returns
        -------
        LabelPlan
            ``frame`` are the rows to label; ``expected()`` what interval they will give;
            ``with_labels(labels)`` what they say.
        """
        told = {"budget": budget, "half_width": half_width} | options
        return reference(PLANS + ":LabelPlan")(self, frame, key=key, **told)

    def explore(
        self,
        frame: pd.DataFrame,
        share: object,
        monthly: float,
        *,
        key: object = None,
        **options: object,
    ) -> object:
        """Whom to decide by chance, and what that costs and teaches by month.

        Parameters
        ----------
        frame : pandas.DataFrame
            As of `collect`: the rows without an outcome are such as will be refused.
        share : float or dict
            Chance of each of them; by stratum with ``by``.
        monthly : float
            How many such rows come a month.
        key : int, bytes, path or Key, optional
            As of `collect`.
        **options
            ``by`` (column of strata), ``months``, ``loss`` and ``gain``, as under ``explore``.

        Returns
        -------
        LabelPlan
            ``frame`` are the rows decided by chance, ``months`` costs and half-widths; labels come
            back by ``with_labels``.
        """
        told = {"share": share, "monthly": monthly} | options
        return reference(PLANS + ":LabelPlan")(self, frame, key=key, explore=told)

    def with_labels(self, labels: pd.DataFrame, frame: pd.DataFrame) -> object:
        """What labels bought by a plan say of the rows of a frame without an outcome.

        Parameters
        ----------
        labels : pandas.DataFrame
            Rows of a plan with their ``chance``, and the outcome filled in; blank where somebody
            refused. Where buying stopped before the end of the plan, ask the plan itself.
        frame : pandas.DataFrame
            As of `collect`.

        Returns
        -------
        LabelAnswers
        """
        return reference(PLANS + ":answers_with")(self, frame, labels)

    def added(self, sums, more):
        return added(sums, more)

    def drift(self, sums):
        """Sentences on how new rows differ from those of the fit; see `answered`."""
        return drift_sentences(describe_new(self.encoder, sums))

    def to_saved(self):
        """Kind, facts and arrays for `counterweight.tables.saved_form.write_saved`."""
        facts, arrays = dict(self.facts), {}
        columns_of = {
            "encoder": self.encoder.to_table(),
            "model": self.model.to_arrays(),
            "band": self.band.to_arrays(),
            "support": self.support.to_arrays(),
        }
        for part in ("tilt", "chance"):
            if getattr(self, part) is not None:
                columns_of[part] = getattr(self, part).to_arrays()
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
    def from_saved(cls, stored):
        """The model that `to_saved` gave."""
        facts = {
            name: fact for name, fact in stored.facts.items() if not name.startswith("texts of")
        }
        parts = {}
        facts["model"] = OLD_NAMES.get(facts["model"], facts["model"])
        known, learner = facts.get("tilt"), facts.get("chance")
        further = ["tilt"] * bool(known) + ["chance"] * bool(learner)
        for part in ("encoder", "model", "band", "support", *further):
            texts = stored.facts[f"texts of the {part}"]
            parts[part] = {name: np.asarray(words, object) for name, words in texts.items()} | {
                name.partition(".")[2]: values
                for name, values in stored.arrays.items()
                if name.startswith(f"{part}.")
            }
        return cls(
            facts,
            TabularEncoder.from_table(parts["encoder"]),
            _stored_model(facts, parts["model"]),
            CalibrationBand.from_arrays(parts["band"]),
            Support.from_arrays(parts["support"]),
            stored.versions,
            reference(TILT).from_arrays(parts["tilt"], known["chance"]) if known else None,
            EncodedModel.of_learner(learner, parts["chance"]) if learner else None,
        )
