"""The final model of a table with blanks: fitted on all labeled rows, saved, used on new rows.

How far the answer for one row can be trusted is a function of its score: `CalibrationBand`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from counterweight.models.score_models import CombinedModel, EncodedModel, InTime, most_moved
from counterweight.numerics.checks import as_numbers, checked_weights
from counterweight.numerics.linear import wider
from counterweight.numerics.ranking import ScoreWindows, tails_of, upper_end
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
#: What a band may be of.
KINDS = ("binary", "number", "amount")
#: Below this share of the mean amount, differences count more than ratios.
SMALL = 0.1
#: How far below any prediction an interval begins that begins at 0, on the scale of ratios.
BELOW_0 = 1e3


def _stored_model(facts, arrays):
    """The model of a file; before several were combined there was one."""
    told = facts.get("answers for", "general"), arrays, bool(facts["names"])
    if "combined" in facts:
        return CombinedModel.from_arrays(facts["combined"], *told)
    return EncodedModel.from_arrays(facts["model"], facts.get("options", {}), *told)


@dataclass
class HiddenRows:
    """By what rows without an outcome are told, where selection goes by it: factors and constant
    of the parts that new rows are told by, and the band."""

    factors: np.ndarray
    constant: float
    band: CalibrationBand

    def to_arrays(self):
        """Fitted numbers by name."""
        own = {"factors": self.factors, "constant": float(self.constant)}
        return own | self.band.to_arrays()

    @classmethod
    def from_arrays(cls, arrays):
        """What `to_arrays` gave."""
        told = np.ravel(arrays["factors"]), float(arrays["constant"])
        return cls(*told, CalibrationBand.from_arrays(arrays))


@dataclass(repr=False)
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
    hidden : HiddenRows or None
        None where rows without an outcome are told as new ones.
    """

    KIND, MADE_BY = "scores", ""

    facts: dict
    encoder: TabularEncoder
    model: object
    band: CalibrationBand
    support: Support
    versions: dict
    tilt: object = None
    chance: object = None
    known: np.ndarray = ()
    hidden: HiddenRows | None = None

    def of_hidden(self) -> SavedScores:
        """The same for rows of which it is known that they have no outcome."""
        if self.hidden is None:
            return self
        own, by = self.model, self.hidden
        model = CombinedModel(own.parts, by.factors, by.constant, own.amounts, own.most)
        return replace(self, model=model, band=by.band, hidden=None)

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
        made = self.scored(self.typed(frame), reasons, tell=True)
        person = self.facts["id"]
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
        return self.told(rows, reasons), count_rows(rows)

    def told(self, rows, reasons=True):
        """Answers for encoded rows, a dict of arrays (n,)."""
        if reasons:
            raw, _, parts = self.model.explained(rows)
            estimate = self.model.answers(raw)
        else:
            estimate = self.model.predict(rows)
        low, high = self.band.interval(estimate, contain="combined" not in self.facts)
        estimate = np.clip(estimate, low, high)
        # Any other tilt knows or estimates the level of rows without an outcome.
        if self.tilt is None or self.facts["tilt"].get("by") == "times":
            timed = isinstance(self.model, InTime)
            later = self.model.is_later(rows) if timed else np.ones(len(rows), bool)
            low, high = self.band.of_later(estimate, low, high, later)
        columns = {"estimate": estimate, "low": low, "high": high}
        if self.tilt is not None:
            at_random = self.tilt.calibrated(estimate)
            estimate, low, high = self.tilt.moved(rows, estimate, low, high)
            columns = {"estimate": estimate, "low": low, "high": high, "at_random": at_random}
        asked = np.flatnonzero(~np.isin(rows.row, self.known)) if len(self.known) else slice(None)
        unlike = np.full(len(rows), "" if reasons else False, dtype=object if reasons else bool)
        unlike[asked] = self.unlike(rows.take(asked), reasons)
        columns |= {"supported": ~unlike.astype(bool)} | ({"reason": unlike} if reasons else {})
        columns |= self.unidentified(columns)
        if self.binary:
            columns["decision"] = self.classes_[(estimate >= self.facts["threshold"]).astype(int)]
        if reasons:
            columns |= most_moved(parts, self.encoder.names, self.facts.get("digits", 2))
        return columns

    def unlike(self, rows, reasons=False):
        """Whether encoded rows are like no row with an outcome, bool (n,); or why, "" of others."""
        X, chance = rows.dense(), None if self.chance is None else self.chance.predict(rows)
        blank = rows.newly_blank()
        if reasons:
            return np.where(blank != "", blank, self.support.reason(X, chance))
        return (blank != "") | self.support.outside(X, chance)

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
            rows: together they sum to the log odds of a class, or to the expected number (before
            it is kept to the largest). A column that the model does not use has 0. See
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
            file ``filter.key``, which is made where it is not there.
        **options
            ``cost`` and ``by`` (columns), ``for`` (``"mean"``, ``"auc"`` or ``"rates"``, with
            ``decision`` and ``worth``), ``floor``, ``batches``, as under ``collect`` in a config.

        Returns
        -------
        LabelPlan
            ``frame`` are the rows to label; ``expected()`` what interval they will give;
            ``with_labels(labels)`` what they say.
        """
        told = {"budget": budget, "half_width": half_width} | options
        return reference(PLANS + ":LabelPlan")(self.of_hidden(), frame, key=key, **told)

    def explore(
        self,
        frame: pd.DataFrame,
        share: object,
        monthly: float,
        *,
        key: object = None,
        **options: object,
    ) -> object:
        """Whom chance draws to be decided in favour of, and what that costs and teaches by month.

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
            ``frame`` are the rows that chance drew, ``months`` costs and half-widths; labels come
            back by ``with_labels``.
        """
        told = {"share": share, "monthly": monthly} | options
        return reference(PLANS + ":LabelPlan")(self.of_hidden(), frame, key=key, explore=told)

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
        return reference(PLANS + ":answers_with")(self.of_hidden(), frame, labels)

    def added(self, sums, more):
        return added(sums, more)

    def drift(self, sums, still=()):
        """Sentences on how new rows differ from those of the fit; see `answered`.

        Where rows of the fit stand for several, what they stand for is compared, too. Columns that
        stand `still` are passed over.
        """
        weighted, loose = self.facts["designed"], {}
        if weighted is True:  # files of 1.0.0 do not say what they stand for
            weighted, loose = None, dict.fromkeys(("psi", "missing", "shift"), np.inf)
        facts = describe_new(self.encoder, sums, weighted)
        return drift_sentences([one for one in facts if one.column not in still], **loose)

    def to_saved(self):
        """Kind, facts and arrays for `counterweight.tables.saved_form.write_saved`."""
        facts, arrays = dict(self.facts), {}
        columns_of = {
            "encoder": self.encoder.to_table(),
            "model": self.model.to_arrays(),
            "band": self.band.to_arrays(),
            "support": self.support.to_arrays(),
        }
        for part in ("tilt", "chance", "hidden"):
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
        further += ["hidden"] * ("texts of the hidden" in stored.facts)
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
            hidden=HiddenRows.from_arrays(parts["hidden"]) if "hidden" in parts else None,
        )


class CalibrationBand:
    """An interval for each row's answer, from the outcomes of labeled rows with like scores.

    ``binary``: of the true rate among rows with such a score. In a window of scores the weighted
    rate has Wilson's interval for the window's effective rows; it is moved from the window's middle
    to each score along a recalibrated curve, so that windows may be wide. Isotonic regression then
    makes estimate and ends rise with the score. ``number``: of a new row's
    outcome, by conformal prediction: quantiles of the labeled rows' residuals, in units of
    their size at such predictions, each tail by itself. It covers at least `level` of new rows,
    averaged over rows, if labeled rows and new ones are exchangeable after weighting.
    ``amount``: the same of numbers from 0 up, by residuals of log(1 + amount / unit), the unit
    a tenth of the mean: on the scale of ratios, where zeros are allowed and no end is below 0.
    Sizes are of each side by itself, since amounts lie further above what is expected than
    below. Where more rows of a window are 0 than lie below an interval, it begins at 0, and ends
    at the quantile of the window's own residuals. No end is above `most`, the largest value.

    Attributes
    ----------
    score_, low_, middle_, high_ : arrays (P,)
        Grid of scores, ascending; ends and estimate there, of numbers relative to the prediction.
    unit_ : float
        Of amounts; 0 of others.
    block_ : float
        Half-width, in the log odds, of what a block of time has of its own: rates of rows later
        than all known ones are as much less sure. Numbers' residuals are of several blocks, and
        hold it. 0 where there is no time.
    enough_ : bool
        Whether there are rows enough for the level (numbers: else the largest residuals stand).
    spread_, tails_ : arrays (P,), (K,)
        Of numbers: root mean square of what they are off the prediction, on the grid, and
        `counterweight.numerics.ranking.tails_of` it. None in files of 1.0.0.

    References
    ----------
    Wilson (1927); Tibshirani, Foygel Barber, Candes & Ramdas (2019), *NeurIPS* 32; Lei et al.
    (2018), *JASA* 113, section 5.2.
    """

    block_, enough_ = 0.0, True
    spread_ = tails_ = None

    def __init__(self, kind="binary", level=0.95, most=np.inf):
        self.kind, self.level, self.most = kind, level, most

    def fit(self, y, prediction, weight=None):
        """Fit on out-of-fold predictions of the labeled rows.

        Parameters
        ----------
        y, prediction, weight : array (M,)
            As in `counterweight.evaluation.cross_validation.quality`.
        """
        y, prediction = np.asarray(y, float), np.asarray(prediction, float)
        weight = checked_weights(weight, len(prediction))
        used = weight > 0
        order = np.flatnonzero(used)[np.argsort(prediction[used], kind="stable")]
        y, prediction, weight = y[order], prediction[order], weight[order]
        windows = ScoreWindows(prediction, weight)
        self.score_ = windows.score
        self.unit_ = SMALL * float(np.average(y, weights=weight)) if self.kind == "amount" else 0.0
        (self._fit_rates if self.kind == "binary" else self._fit_numbers)(
            y, prediction, weight, windows
        )
        return self

    def _fit_rates(self, y, p, weight, windows):
        from scipy.optimize import isotonic_regression
        from scipy.special import expit, ndtri

        recalibrated = _Recalibration(y, p, weight)
        curve = expit(recalibrated(p))
        rate, expected = windows.mean(y), windows.mean(curve)
        n, z = windows.effective, ndtri(0.5 + self.level / 2)
        middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
        # From the window's mean to the score, along the curve, whose own error comes to it.
        move = recalibrated(windows.score) - _logit(expected)
        basis = np.column_stack([windows.mean(column) for column in recalibrated.basis(p).T])
        blur = z * recalibrated.error(recalibrated.basis(windows.score) - basis)
        centre, ends = _logit(middle), [_logit(middle - half), _logit(middle + half)]
        low, high = (
            expit(centre + sign * np.hypot(end - centre, blur) + move)
            for sign, end in zip((-1, 1), ends, strict=True)
        )
        low, high = np.where(rate > 0, low, 0.0), np.where(rate < 1, high, 1.0)
        moved = expit(_logit(rate) + move)
        # Monotone by averages, not by running extremes, which would pick lucky windows.
        self.low_, self.middle_, self.high_ = (
            isotonic_regression(ends, weights=n).x for ends in (low, moved, high)
        )
        self.middle_ = np.clip(self.middle_, self.low_, self.high_)

    def _fit_numbers(self, y, prediction, weight, windows):
        residual = self._scaled(y) - self._scaled(prediction)
        own = weight @ weight / weight.sum()
        # A new row of the target has weight sum w^2 / sum w on the average.
        tail = (1 - self.level) / 2 * (weight.sum() + own)
        self.enough_, ends = bool(tail >= own), []
        for sign in (-1, 1):
            part = np.maximum(sign * residual, 0) if self.unit_ else np.abs(residual)
            size, overall = windows.mean(part), np.average(part, weights=weight)
            # Towards the overall size, so that a window of good luck does not promise too much.
            n = windows.effective
            size = (n * size + 10 * overall) / (n + 10)
            size = np.maximum(size, 1e-3 * overall) if overall > 0 else np.ones(len(size))
            scaled = sign * residual / np.interp(prediction, windows.score, size)
            end = upper_end(scaled, weight, tail - own if self.enough_ else 0.0)
            ends.append(sign * max(end, 0.0) * size)
        self.low_, self.high_ = ends
        self.middle_ = np.zeros(len(size))
        # How far outcomes are from predictions, in their own unit: ends tell that of no long tail.
        square, n = np.square(y - prediction), windows.effective
        overall = np.average(square, weights=weight)
        self.spread_ = np.sqrt((n * windows.mean(square) + 10 * overall) / (n + 10))
        size = np.interp(prediction, self.score_, self.spread_) ** 2
        self.tails_ = tails_of(square / np.where(size > 0, size, 1), weight)
        heap = np.flatnonzero(windows.mean(y == 0) > (1 - self.level) / 2) if self.unit_ else ()
        for at in heap:
            part = slice(windows.start[at], windows.stop[at])
            own = weight[part] @ weight[part] / weight[part].sum()
            spared = (1 - self.level) * (weight[part].sum() + own) - own
            end = upper_end(residual[part], weight[part], max(spared, 0.0))
            self.low_[at], self.high_[at] = -BELOW_0, max(end, 1e-9)

    def _scaled(self, values):
        """Amounts on the scale of ratios; other numbers as they are."""
        return np.log1p(np.maximum(values, 0) / self.unit_) if self.unit_ else values

    def fit_blocks(self, prediction, weight, variance, freedom):
        """Know what a block of time has of its own.

        `prediction`, `weight` (M,) are as in `fit`, `variance` and `freedom` of
        `counterweight.numerics.estimate.variance_of_block`: that of a mean rate, which one shift
        of all log odds moves by its mean slope.
        """
        if self.kind == "binary":
            from scipy.special import stdtrit

            slope = np.average(prediction * (1 - prediction), weights=weight)
            reach = stdtrit(freedom, 0.5 + self.level / 2) * np.sqrt(variance)
            self.block_ = float(reach / max(slope, 1e-300)) if reach else 0.0

    def of_later(self, estimate, low, high, later):
        """Ends (m,) of intervals, those of `later` rows (a mask) with what a block has of its own.

        On the log odds, where it comes to what is not sure of the rows' scores.
        """
        if not self.block_:
            return low, high
        low, high = np.minimum(low, estimate), np.maximum(high, estimate)
        return tuple(
            np.where(later, wider(estimate, end, side * self.block_), end)
            for side, end in ((-1, low), (1, high))
        )

    def interval(self, prediction, contain=True):
        """Ends (m,) of the interval of each row's answer; NaN where the prediction is.

        `contain` widens intervals of rates to hold the prediction itself, where a model is so badly
        calibrated that they do not.
        """
        prediction = as_numbers(prediction, "predictions")
        low = np.interp(prediction, self.score_, self.low_)
        high = np.interp(prediction, self.score_, self.high_)
        if self.unit_:
            middle = self._scaled(prediction)
            ends = (self.unit_ * np.expm1(np.maximum(middle + end, 0)) for end in (low, high))
            return tuple(np.minimum(end, self.most) for end in ends)
        if self.kind != "binary":
            return prediction + low, prediction + high
        if contain:
            low, high = np.minimum(low, prediction), np.maximum(high, prediction)
        return low, high

    def spread(self, prediction):
        """Of numbers, by the ends of their intervals and by `spread_`: standard deviations (m,)."""
        low, high = self.interval(prediction)
        by_ends = (high - low) / (2 * 1.959964)
        known = self.spread_ is not None
        return by_ends, np.interp(prediction, self.score_, self.spread_) if known else by_ends

    def estimate(self, prediction):
        """Recalibrated rate of rows with such scores; numbers are returned as they are."""
        prediction = as_numbers(prediction, "predictions")
        binary = self.kind == "binary"
        return np.interp(prediction, self.score_, self.middle_) if binary else prediction

    def to_arrays(self):
        """Fitted numbers by name."""
        return {
            "kind": float(KINDS.index(self.kind)),
            "level": self.level,
            "score": self.score_,
            "low": self.low_,
            "middle": self.middle_,
            "high": self.high_,
            "enough": float(self.enough_),
            "unit": self.unit_,
            **({"block": self.block_} if self.block_ else {}),
            **({"most": self.most} if np.isfinite(self.most) else {}),
            **({} if self.spread_ is None else {"spread": self.spread_, "tails": self.tails_}),
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted band from `to_arrays`."""
        told = float(arrays["level"]), float(arrays.get("most", np.inf))  # only of amounts
        band = cls(KINDS[int(arrays["kind"])], *told)
        for name in {"score", "low", "middle", "high", "spread", "tails"} & {*arrays}:
            setattr(band, f"{name}_", np.asarray(arrays[name], dtype=float))
        band.enough_ = bool(arrays["enough"])
        band.unit_ = float(arrays.get("unit", 0.0))  # none in files of 1.0.0
        band.block_ = float(arrays.get("block", 0.0))  # only of rows in time
        return band


def _logit(p):
    from scipy.special import logit

    return logit(np.clip(p, 1e-6, 1 - 1e-6))


class _Recalibration:
    """Logit of the rate as a broken line of the logit of the score, by logistic regression."""

    def __init__(self, y, p, weight):
        from scipy.special import expit

        from counterweight.numerics.linear import fit_logistic

        # Sums in bins of like scores are as good as rows, and few.
        bins = np.arange(len(p)) * min(1000, len(p)) // len(p)
        total = np.bincount(bins, weight)
        score = np.bincount(bins, weight * p) / np.maximum(total, 1e-300)
        ones = np.bincount(bins, weight * y)
        at = _logit(score)
        effective = weight.sum() ** 2 / (weight @ weight)
        parts = [0.2, 0.5, 0.8] if effective >= 500 else [0.5] if effective >= 200 else []
        self.knots = np.unique(np.quantile(at, parts))
        rate = (ones.sum() + 0.5) / (total.sum() + 1)
        self.coef, self.shift = np.zeros(1 + len(self.knots)), float(_logit(rate))
        self.covariance = np.zeros((len(self.coef),) * 2)
        if not 0 < ones.sum() < total.sum() * (1 - 1e-12) or np.ptp(at) < 1e-6:
            return
        X = self.basis(score)
        varies = np.ptp(X, axis=0) > 1e-9
        label = np.repeat([1, 0], len(at))
        both = np.concatenate([ones, np.maximum(total - ones, 0)])
        found = fit_logistic(np.tile(X[:, varies], (2, 1)), label, both, 1e-3)
        self.coef[varies], self.shift = found[:2]
        rates = expit(self(score))
        worth = total * rates * (1 - rates) * effective / total.sum()
        centred = X - worth @ X / worth.sum()
        self.covariance = np.linalg.pinv(
            (centred.T * worth) @ centred + 1e-3 * effective * np.diag(X.var(axis=0))
        )

    def basis(self, p):
        """Columns of the broken line: the logit, and how far it is beyond each knot."""
        at = _logit(p)
        return np.column_stack([at, *(np.maximum(at - knot, 0) for knot in self.knots)])

    def error(self, step):
        """Standard error of the line's change over steps (m, columns)."""
        return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", step, self.covariance, step), 0))

    def __call__(self, p):
        """Logit of the rate."""
        return np.clip(self.basis(p) @ self.coef + self.shift, -14, 14)
