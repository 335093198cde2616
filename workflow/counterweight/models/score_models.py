"""Models of the registry asked about encoded rows, and which columns moved what they say.

`EncodedModel.explained` says how a raw score (log odds of a class, or the expected number) comes
about: its mean over the labeled rows, and what each column of the table adds to it; both sum to the
raw score. Regressions give ``coef (x - mean)``, summed over the features that a column became;
boosted trees the changes on the way from root to leaf (see
`counterweight.numerics.boosted_trees.raw_and_parts`); any other model what it changes to set
columns from their means to a row's values, one after the other.

A `StackedModel` sums raw scores, each times a factor from 0 up, and a constant. The factors are
fitted to the models' predictions of labeled rows that they did not learn from, so that a model
which is overfitted gets little, and scores that are too bold are shrunk. The constant makes the
weighted sum of what is left 0: weighted to a target population, the mean of the combined estimates
is that of the outcomes, as far as the weights are right. Of amounts, numbers from 0 up, the
constant is a share of their mean, from 0 up, and a factor of all makes the sum 0, so that no
estimate is below 0; where they have a largest value, such as a share, none is above it.

Wolpert (1992), *Neural Networks* 5; Breiman (1996), *Machine Learning* 24, for factors from 0 up;
van der Laan, Polley & Hubbard (2007), *Statistical Applications in Genetics* 6, for a loss of one's
own and for what is judged on folds that no part of it has seen.
"""

import contextlib

import numpy as np
from scipy.special import expit, logit

from counterweight.errors import CounterweightError, in_figures
from counterweight.fragments import Array, Text
from counterweight.labeling.missing_outcomes import FOLDS
from counterweight.models.boosting import BoostedClassifier
from counterweight.models.classifier import class_within, positive, stored_within
from counterweight.models.logistic import LogisticModel
from counterweight.numerics import linear
from counterweight.numerics.linear import EDGE, fitted_factors, row_blocks
from counterweight.plan.components import load
from counterweight.tables.parquet import MODEL, model_table, stacked, write_table
from counterweight.tables.study_data import predicted

#: Share of rows later than all with an outcome from which on the first sentence says what it takes.
LATER = 0.05
#: Standard errors from which on time itself is said to tell who has an outcome.
CERTAIN = 3.0
#: Chances of an outcome below count as that where rows are weighted by it.
LEAST_CHANCE = 0.05

TASK_BY_NAME = {"given_predictions": "prediction_logs", "stacked": "missing_outcomes"}
OPTIONS_BY_NAME = {
    "given_predictions": {"column": Text(..., "Column of the log that holds the predictions.")},
    "stacked": {
        "parts": Array(..., "Methods of the study that are combined.", items={"type": "string"},
            minItems=1, uniqueItems=True),
    },
}  # fmt: skip
LABEL_BY_NAME = {"given_predictions": "{column}", "stacked": "Combined model"}
#: How many columns are named beside a score, and what the columns of names are called.
NAMED = 3
TOP = tuple(f"top_feature_{k + 1}" for k in range(NAMED))
#: Learners of a class (or of a number) that other models hold, with their options.
LEARNERS = {
    "linear": (LogisticModel, {"l2": 1.0, "per_row": False}),
    "boosting": (BoostedClassifier, {"max_bins": 255}),
}


class EncodedModel:
    """A fitted model that is asked about rows of a `TabularEncoder`.

    `centre` (d,) are the means of the dense features over the rows of the fit, `target` is whom
    answers are for; `binary` says whether the outcome is a class.
    """

    def __init__(self, model, centre, target="general", binary=True):
        self.model, self.centre, self.target, self.binary = model, centre, target, binary
        #: The rows that were asked last, and their scores; scores that `explained` tells, if kept.
        self._asked, self._heard = (None, None), None

    @classmethod
    def learned(cls, learner, rows, y, weight=None, *, binary):
        """One of `LEARNERS` fitted to encoded rows, their outcomes and weights (n,)."""
        component, options = LEARNERS[learner]
        component = component if binary else component.NUMBERS
        told = {"categorical": rows.is_category} if hasattr(component, "TYPED") else {}
        model = component(**options).fit(seen_by(component, rows), y, weight, **told)
        return cls(model, rows.dense().mean(axis=0), binary=binary)

    @classmethod
    def nearest(cls, rows, y, known):
        """Of the learners of a class the one nearest to known chances (n,): its name and model."""
        fits = {name: cls.learned(name, rows, y, binary=True) for name in LEARNERS}
        name = min(fits, key=lambda one: np.square(fits[one].predict(rows) - known).mean())
        return name, fits[name]

    @classmethod
    def from_arrays(cls, name, options, target, arrays, binary=True):
        """A model of the registry from what `to_arrays` gave.

        Files of 1.0.0 have the arrays of classifiers with ``model_`` before their names.
        """
        own = {key: values for key, values in arrays.items() if key not in ("centre", "binary")}
        if any(key.startswith("model_") for key in own):
            own = {key.removeprefix("model_"): v for key, v in own.items() if key != "converged"}
        model = stored_within(name, options, own, binary)
        return cls(model, arrays.get("centre"), target, binary)

    @classmethod
    def of_learner(cls, learner, arrays):
        """The same of `learned`."""
        component, _ = LEARNERS[learner]
        binary = bool(arrays["binary"])
        component = component if binary else component.NUMBERS
        own = {key: values for key, values in arrays.items() if key not in ("centre", "binary")}
        return cls(component.from_arrays(own), arrays.get("centre"), binary=binary)

    def to_arrays(self):
        """Fitted numbers by name."""
        own = {"centre": self.centre, "binary": float(self.binary)}
        return self.model.to_arrays() | own

    def raw(self, X, target=None):
        """Log odds, or the expected number, (n,), of rows as the model takes them."""
        if hasattr(self.model, "raw"):
            return self.model.raw(X)
        return logit(np.clip(positive(self.model, X, target or self.target), EDGE, 1 - EDGE))

    def score(self, rows):
        """Log odds, or the expected number, (n,), of encoded rows."""
        if self._asked[0] is not rows:
            raw = [self.raw(seen_by(self.model, rows[part])) for part in row_blocks(len(rows))]
            raw = np.concatenate(raw)
            self._asked = rows, self.model.answers(raw) if self._linked else raw
        return self._asked[1]

    @property
    def _linked(self):
        """Whether raw scores of a number are other than what is expected."""
        return hasattr(self.model, "link_")

    def answers(self, raw):
        """The chance of 1, or the expected number, of raw scores."""
        if hasattr(self.model, "answers") and not self._linked:
            return self.model.answers(raw)
        return expit(raw) if self.binary else raw

    def predict(self, rows):
        """The chance of 1, or the expected number, (n,)."""
        return self.answers(self.score(rows))

    def explained(self, rows):
        """Score (n,), its mean, contributions (n, k) of `rows.names`; see the module."""
        found = self._explained(rows)
        found = through(self.model.answers, *found) if self._linked else found
        if self._heard is not None:
            self._heard.append(found[0])
        return found

    @contextlib.contextmanager
    def remembering(self, rows):
        """Keep scores of rows, all of which `explained` is asked about in the block, in turns."""
        self._heard = []
        yield
        if self._heard:
            self._asked = rows, np.concatenate(self._heard)
        self._heard = None

    def _explained(self, rows):
        X = seen_by(self.model, rows)
        if hasattr(self.model, "contributions"):
            return self.model.contributions(X)
        names = list(rows.names)
        place = np.array([names.index(feature.column) for feature in rows.encoder.features_])
        if hasattr(self.model, "raw"):
            spread = np.zeros((len(place), len(names)))
            spread[np.arange(len(place)), place] = self.model.coef_
            base = float(self.model.intercept_ + self.centre @ self.model.coef_)
            return self.raw(X), base, X @ spread - self.centre @ spread
        base, raw = float(self.raw(self.centre[None])[0]), self.raw(X)
        parts = np.zeros((len(X), len(names)))
        # Of two columns that matter only together the first in order would get nothing: both
        # orders are gone, and averaged.
        for order in (range(len(names)), range(len(names) - 1, -1, -1)):
            moved, before = np.tile(self.centre, (len(X), 1)), base
            for column in order:
                own = np.flatnonzero(place == column)
                if len(own):
                    moved[:, own] = X[:, own]
                    after = self.raw(moved)
                    parts[:, column] += (after - before) / 2
                    before = after
        return raw, base, parts


def through(answers, raw, base, parts):
    """Scores (n,), their mean and contributions (n, k), of a function of the scores.

    Each contribution is changed by the same factor, so that they sum to the change of the function.
    """
    value, begun, gap = answers(raw), float(answers(np.float64(base))), raw - base
    slope = (float(answers(np.float64(base + 1e-6))) - begun) / 1e-6
    far = np.abs(gap) > 1e-6
    rate = np.where(far, (value - begun) / np.where(far, gap, 1.0), slope)
    return value, begun, parts * rate[:, None]


def seen_by(model, rows):
    """Encoded rows as a model or its class takes them: a column a level, codes, or as they are."""
    if getattr(model, "ENCODED", False):
        return rows
    return rows.typed() if getattr(model, "TYPED", False) else rows.dense()


def check_fits_blanks(name, target, binary):
    """Refuse a model of the registry that a table with blanks cannot be answered by.

    Raises
    ------
    CounterweightError
        When it asks for more than rows, the outcome is a number and it has no sibling for numbers,
        or it tells rows with and without outcome apart and the target is both.
    """
    component = load("model", name)
    if not binary and not hasattr(component, "NUMBERS"):
        raise CounterweightError(
            f"The model {name} is for outcomes of two classes, and this outcome is a number: "
            "choose logistic or gradient_boosting."
        )
    if not getattr(component, "ENCODED", False):
        class_within(name, "used for a table with blanks", refused=("SAMPLED", "KEYED"))
    if getattr(component, "MOVES", False) and target != "unlabeled":
        raise CounterweightError(
            f"The model {name} answers otherwise for rows with an outcome than for rows without: "
            "set target: unlabeled, or choose another model."
        )


class GivenPredictions:
    """Predictions by a column of the log; nothing is learned."""

    def __init__(self, column):
        self.column = column


def digits_for(values):
    """Digits behind the point for contributions to a number: a hundredth of its spread shows."""
    spread = float(np.std(values))
    return int(np.clip(2 - np.floor(np.log10(spread)), 0, 12)) if spread > 0 else 2


def most_moved(parts, names, digits=2):
    """The columns that contribute most, in words such as ``late payments +0.83``.

    Of contributions `parts` (n, k) of columns `names`: `TOP` by name, (n,) texts, the largest in
    absolute size first, of equals the first column; "" where fewer columns contribute, or what
    they do rounds to 0 at `digits` behind the point.
    """
    import pandas as pd

    # Rounded beforehand, so that a last bit decides neither order nor figures.
    ticks = np.rint(np.round(parts * 10.0**digits, 5)).T
    sizes = np.abs(ticks)
    made, every = {}, np.arange(ticks.shape[1])
    for title in TOP[: len(names)]:
        which = sizes.argmax(axis=0)
        tick = np.where(sizes[which, every] > 0, ticks[which, every], 0.0)
        sizes[which, every] = -1.0
        code, known = pd.factorize(tick * len(names) + np.where(tick == 0, 0, which))
        column = np.mod(known, len(names)).astype(int)
        value = (known - column) / len(names) / 10.0**digits
        words = [
            f"{names[at]} {size:+.{digits}f}" if size else ""
            for at, size in zip(column.tolist(), value.tolist(), strict=True)
        ]
        made[title] = np.array(words, object)[code]
    return made | {title: np.full(len(every), "", object) for title in TOP[len(names) :]}


#: Begins the names of the arrays of each part, with its number.
PART = "part{}_"


def scores_of(p, binary, amounts=False, most=np.inf):
    """Raw scores of predictions: log odds of chances, numbers as they are, amounts from 0 up.

    Amounts are `most` at most.
    """
    if binary:
        return linear.logit(np.clip(p, EDGE, 1 - EDGE))
    return np.clip(p, 0.0, most) if amounts else np.asarray(p, float)


def combined_out_of_fold(scores, y, weight, fold, binary, amounts=False, most=np.inf):
    """Combined predictions (M,) of rows by factors that were fitted to the other folds, `fold`."""
    made = np.empty(len(y))
    for number in np.unique(fold):
        held = fold == number
        told = scores[~held], y[~held], weight[~held], binary, 1, amounts, most
        some = weight[~held] @ y[~held] > 0 if binary or amounts else weight[~held].sum() > 0
        factors, constant = fitted_factors(*told) if some else (1 / scores.shape[1], 0.0)
        made[held] = (scores[held] * factors).sum(axis=1) + constant
    return expit(made) if binary else np.minimum(made, most)


def write_stacked(job, tested):
    """Write the factors of methods, and combined predictions of labeled rows, of a job.

    `tested` is a `counterweight.labeling.missing_outcomes.OutOfFold`. The factors are those of all
    draws of the folds, weighted to the rows without an outcome that answers are for; a row's
    prediction is combined by factors of the other folds of its draw. Where these rows are told
    `apart`, there are factors and predictions of everyone, and of them.
    """
    kind = tested.kind
    scores = scores_of(np.stack(tested.draws, axis=-1), *kind)
    target, models, tables = job.given["target"], [], []
    told = {target: tested}
    if job.given.get("apart"):
        told = dict(zip((target, "unlabeled"), tested.apart(), strict=True))
    for whom, of in told.items():
        weight = of.to_hidden(target)
        factors, constant = _factors(scores, tested, weight)
        for part, factor in zip(job.given["parts"], factors, strict=True):
            job.log.info("%s: factor %.3f", part, factor)
        arrays = {"factors": factors, "constant": constant}
        models.append(model_table(arrays, 0, whom))
        for draw, (own, fold) in enumerate(zip(scores, tested.folds, strict=True)):
            p = combined_out_of_fold(own, tested.y, weight, fold, *kind)
            for number in np.unique(fold):
                held, repeat = fold == number, 1 + FOLDS * draw + int(number)
                tables.append(predicted(repeat, whom, "", tested.row[held], p[held]))
    write_table(job.output.model, stacked(models), MODEL)
    write_table(job.output.predictions, stacked(tables))


def _factors(scores, tested, weight):
    """Factors and constant of scores (R, M, K) of all draws, by weights of the rows."""
    draws, rows, parts = scores.shape
    told = np.tile(tested.y, draws), np.tile(weight / weight.sum() * rows, draws), tested.binary
    return fitted_factors(scores.reshape(-1, parts), *told, draws, *tested.kind[1:])


class StackedModel:
    """Methods of a table with blanks, `parts`, combined by their out-of-fold predictions."""

    def __init__(self, parts):
        self.parts = parts


class CombinedModel:
    """Fitted models of encoded rows combined; asked as an `EncodedModel` is.

    The `parts` (K) are `EncodedModel`, with `factors` (K,) and a constant. With `amounts` what each
    part expects counts from 0 up, and `most` is the largest value that an amount can have.
    """

    def __init__(self, parts, factors, constant, amounts=False, most=np.inf):
        if len(parts) != len(factors):
            raise CounterweightError(
                f"{len(parts)} models have {len(factors)} factors: delete the results of the study "
                "and run again."
            )
        self.parts, self.factors, self.constant = parts, np.asarray(factors, float), constant
        self.amounts, self.most = amounts, most

    def level_of(self, rows, y, weight):
        """Factor and constant of scores whose weighted mean over rows (M,) is that of outcomes."""
        score = self.score(rows)
        if self.amounts:
            return linear.factor_to(score, y, weight, self.most), 0.0
        return 1.0, linear.centred(score, y, weight, self.binary)

    def move_to(self, mean, rows, weight):
        """Move what is expected of rows, so that its weighted mean is this one, of a number."""
        score = self.score(rows)
        if self.amounts:
            factor = linear.factor_to(score, np.full(len(score), mean), weight, self.most)
            self.factors, self.constant = self.factors * factor, self.constant * factor
        else:
            self.constant += mean - np.average(score, weights=weight)

    @property
    def binary(self):
        return self.parts[0].binary

    @property
    def shares(self):
        """Share of each part in the factors, (K,); all 0 where none tells more than the mean."""
        return self.factors / (self.factors.sum() or 1.0)

    def score(self, rows):
        """Log odds, or the expected number, (n,), of encoded rows."""
        made = np.full(len(rows), float(self.constant))
        for factor, part in zip(self.factors, self.parts, strict=True):
            if factor > 0:
                made += factor * self._own(part.score(rows))
        return made

    def _own(self, score):
        return np.clip(score, 0.0, self.most) if self.amounts else score

    def answers(self, score):
        """The chance of 1, or the expected number, of raw scores."""
        return expit(score) if self.binary else np.minimum(score, self.most)

    def predict(self, rows):
        """The chance of 1, or the expected number, (n,)."""
        return self.answers(self.score(rows))

    def explained(self, rows):
        """Raw score (n,), its mean, contributions (n, k) of `rows.names`."""
        score, base = np.full(len(rows), float(self.constant)), float(self.constant)
        parts = np.zeros((len(rows), len(rows.names)))
        for factor, part in zip(self.factors, self.parts, strict=True):
            if factor > 0:
                told = part.explained(rows)
                own, begun, added = through(self._own, *told) if self.amounts else told
                score, base, parts = (
                    score + factor * own,
                    base + factor * begun,
                    parts + factor * added,
                )
        return score, base, parts

    @contextlib.contextmanager
    def remembering(self, rows):
        """Of each part; see `EncodedModel.remembering`."""
        with contextlib.ExitStack() as stack:
            for part in self.parts:
                stack.enter_context(part.remembering(rows))
            yield

    def to_arrays(self):
        """Fitted numbers by name."""
        made = {"factors": self.factors, "constant": float(self.constant)}
        made |= {"amounts": 1.0} if self.amounts else {}
        made |= {"most": self.most} if np.isfinite(self.most) else {}
        for at, part in enumerate(self.parts):
            made |= {PART.format(at) + name: v for name, v in part.to_arrays().items()}
        return made

    @classmethod
    def from_arrays(cls, told, target, arrays, binary=True):
        """The model from `to_arrays`; `told` are name and options of each part's model."""
        parts = []
        for at, (name, options) in enumerate(told):
            start = PART.format(at)
            own = {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}
            parts.append(EncodedModel.from_arrays(name, options, target, own, binary))
        told = np.ravel(arrays["factors"]), float(arrays["constant"])
        return cls(
            parts, *told, bool(arrays.get("amounts", 0.0)), float(arrays.get("most", np.inf))
        )


class InTime:
    """A model of rows in time, asked about rows of its table.

    Its level is that of rows later than those that it learned from, since it is tried on such.
    `rows` are later than all with an outcome; the others have the `level` of labeled rows, from
    `CombinedModel.level_of`.
    """

    def __init__(self, model, level, rows):
        self.model, self.level, self.rows = model, level, rows

    def answers(self, score):
        """See `CombinedModel`."""
        return self.model.answers(score)

    def predict(self, rows):
        """See `CombinedModel`."""
        return self.answers(self._levelled(rows, self.model.score(rows)))

    def explained(self, rows):
        """See `CombinedModel`; the base is that of later rows."""
        later, base, parts = self.model.explained(rows)
        return self._levelled(rows, later), base, parts

    def is_later(self, rows):
        """Which encoded rows are later than all with an outcome, (n,) of bool."""
        return np.isin(rows.row, self.rows)

    def within(self, score):
        """Scores at the level of labeled rows."""
        factor, constant = self.level
        return factor * score + constant

    def by_time(self, data, time, chance):
        """How much higher rows without an outcome would be told if time counted, and how surely.

        Of labeled rows, weighted towards the others by the `chance` (n,) of an outcome, what fits
        left is regressed on the place of their `time` (n,) in order. The move is the slope times
        how much later the others are; as sure as the less sure of both, in standard errors.
        """
        seen, blank = data.labeled, ~data.labeled & ~data.later & np.isfinite(time)
        if not blank.any():
            return 0.0, 0.0
        place = np.searchsorted(np.sort(time[seen | blank]), time) / (seen | blank).sum()
        p = np.full(len(time), 0.5) if chance is None else np.clip(chance, LEAST_CHANCE, 1.0)
        share = (data.weight * (1 - p) / p)[seen]
        share = share / share.sum()
        score = self.model.score(data.encoded.take(seen))
        left = data.y[seen] - self.answers(self.within(score))
        left, apart = left - share @ left, place[seen] - share @ place[seen]
        spread = share @ apart**2
        if not spread > 0:
            return 0.0, 0.0
        slope = (share * apart) @ left / spread
        error = np.sqrt(np.sum((share * apart * (left - slope * apart)) ** 2)) / spread
        later = np.average(place[blank], weights=data.weight[blank]) - share @ place[seen]
        noise = np.sqrt(np.sum((share * apart) ** 2) + np.var(place[blank]) / blank.sum())
        sure = min(abs(slope) / max(error, 1e-300), abs(later) / max(noise, 1e-300))
        return float(slope * later), float(sure)

    def tell(self, facts, data, time, chance):
        """Tell in `facts` what is taken for granted of rows in time; see `by_time`."""
        blank = ~data.labeled
        score = self.model.score(data.encoded.take(blank))
        later, within = (np.mean(self.answers(one)) for one in (score, self.within(score)))
        share = float(np.average(data.later[blank], weights=data.weight[blank]))

        def told(moved):
            word = "higher" if moved > 0 else "lower"
            if data.binary:
                return f"{100 * abs(moved):.1f} points {word}"
            return f"{in_figures(abs(moved), facts['digits'] + 1)} {word}"

        undated = int(np.isnan(time[blank]).sum())
        undated = f" ({undated} without a time among them)" if undated else ""
        as_these = f", as are the {100 * share:.0f} % of the rows without an outcome that are later"
        as_these = f"{as_these} than all with one" if share > 0 else ""
        rests = [
            f"In this table later rows turned out {told(later - within)} than fits to earlier ones "
            f"foretold. New rows are taken for later ones and are told so{as_these}; "
            f"the others{undated} are told at the level of rows with one. Time itself is no "
            "feature unless columns.keep names it."
            + " Intervals of later rows allow for how much blocks of time differ."
            * data.binary
        ]
        assumed = ["rows go on changing with time as they did"] * (share >= LATER)
        moved, sure = self.by_time(data, time, chance)
        if sure > CERTAIN:
            assumed.append("time itself tells nothing of who has one (in this table it does)")
            rests.append(
                "Who has an outcome goes by the time itself, and outcomes change with it: rows "
                f"without one would be told {told(moved)} if time counted. Name its column under "
                "columns.keep, which makes it a feature."
            )
        facts["rests_on"] = [*facts["rests_on"], *rests]
        if facts["assumes"] and assumed:
            first = ", and ".join([facts["assumes"]["if"], *assumed])
            facts["assumes"] = facts["assumes"] | {"if": first}

    def _levelled(self, rows, later):
        return np.where(self.is_later(rows), later, self.within(later))
