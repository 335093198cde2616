"""Regression of weighted rows, of a class or a number; and kept near one of all rows (MAP).

By costing, rejection sampling and averaging, any classifier honours weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin

from counterweight.errors import CounterweightError
from counterweight.fragments import Flag, Integer, Number, Option
from counterweight.models.classifier import BinaryClassifier, class_within, stored_within
from counterweight.numerics.checks import (
    check_options,
    checked_new_rows,
    checked_weights,
    two_class_rows,
)
from counterweight.numerics.estimator import Estimator
from counterweight.numerics.linear import (
    ASKED_ROWS,
    CHOICES,
    FARTHEST,
    RIDGE,
    fit_logistic,
    fit_poisson,
    folds,
    left_out_amounts,
    left_out_losses,
    left_out_squares,
    logistic_probability,
    standard_rows,
)

OPTIONS_BY_NAME = {
    "logistic": {
        "l2": Number(1e-6,
            "Penalty on standardised coefficients, for each row; 0 for none, null: chosen by approximate leave-one-out.",
            minimum=0, null=True),
        "per_row": Flag(True, "Whether l2 is for each row; else it is for all together: a normal prior of variance 1 / l2, however many there are."),
    },
    "map_adapted": {
        **RIDGE,
        "penalty": Number(None,
            "Penalty on the distance from the background model, in coefficients of standardised features, for each row; "
            "null: chosen by cross-validation.", minimum=0, null=True),
        "folds": Integer(5, "Folds of the cross-validation.", minimum=2),
    },
    "costing": {
        "classifier": Option({"model": "logistic"},
            "Classifier of the accepted rows: model, and its options.", type="object", **{"x-component-with-options": ["model", "model"]}),
        "models": Integer(100, "Samples that are drawn, each with a classifier of its own.", minimum=1),
        "draw": Integer(0, "Number of the set of samples: another number, another set.", minimum=0),
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "logistic": "Logistic regression",
    "map_adapted": "MAP adaptation",
    "costing": "Costing, {classifier}",
}
VALUE_LABELS_BY_NAME = {
    "costing": {
        "classifier": {
            "logistic": "logistic regression",
            "generative": "class mixtures",
            "gradient_boosting": "boosting",
        }
    }
}


class _Linear:
    """What regressions of a class and of a number share."""

    def __init__(self, l2: float = 1e-6, per_row: bool = True) -> None:
        self.l2 = l2
        self.per_row = per_row

    def _penalty(self, X, y, weight):
        """The penalty a row: as given, or chosen."""
        options = {"l2": self.l2, "per_row": self.per_row} | self.settled(X, y, weight)
        return options["l2"] if options["per_row"] else options["l2"] / len(X)

    def settled(self, X, y, weight=None):
        """Options that are null, chosen for rows of a fit: the penalty on all rows of `CHOICES`
        with the least loss of rows left out; of more than `ASKED_ROWS`, of the first ones."""
        if self.l2 is not None:
            return {}
        weight = checked_weights(weight, len(X))[:ASKED_ROWS]
        found = type(self).left_out(X[:ASKED_ROWS], y[:ASKED_ROWS], weight, CHOICES)
        return {"l2": CHOICES[int(np.argmin(found))], "per_row": False}

    def raw(self, X):
        """Log odds, or the expected number, (n,)."""
        return X @ self.coef_ + self.intercept_

    def to_arrays(self):
        """Fitted numbers by name."""
        return {
            "coef": self.coef_,
            "intercept": self.intercept_,
            "iterations": self.n_iter_,
            "converged": float(self.converged_),
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls()
        model.coef_ = np.asarray(arrays["coef"], dtype=float)
        model.intercept_ = float(arrays["intercept"])
        model.n_iter_ = int(arrays.get("iterations", 0))  # none in files of 1.0.0 of scores
        model.converged_ = bool(arrays["converged"])
        return model


def _moments(X, weight):
    """What a ridge regression needs of its rows and weights, the latter first."""
    share = weight / weight.sum()
    centre = share @ X
    scale = np.sqrt(share @ (X - centre) ** 2)
    scale[scale == 0] = 1.0
    standard = (X - centre) / scale
    return weight, centre, scale, standard, (standard * weight[:, None]).T @ standard


class RidgeModel(_Linear, Estimator, RegressorMixin, BaseEstimator):
    """Ridge regression of a number, the sibling of `LogisticModel`, with the same parameters."""

    LABELS = "numbers"
    left_out = staticmethod(left_out_squares)

    def fit(self, X, y, sample_weight=None, *, rng=None):
        """Minimise the weighted squared error; nothing is drawn by `rng`."""
        X = np.asarray(X, float)
        weight = checked_weights(sample_weight, len(X))
        if not np.isfinite(y).all():
            raise CounterweightError("Outcomes must be finite numbers in the rows of a fit.")
        weight = weight / weight.mean()
        return self._solved(y, self._penalty(X, y, weight), *_moments(X, weight))

    def _solved(self, y, penalty, weight, centre, scale, standard, gram):
        """The fit by its penalty a row, and by what rows and weights alone say."""
        middle = (weight / weight.sum()) @ y
        gram = gram + len(y) * penalty * np.eye(len(gram))
        self.coef_ = np.linalg.solve(gram, standard.T @ (weight * (y - middle))) / scale
        self.intercept_ = float(middle - self.coef_ @ centre)
        self.n_iter_, self.converged_ = 1, True
        return self

    @classmethod
    def of_several(cls, X, outcomes):
        """Fits to several outcomes (m, n) of the same rows, each with the penalty chosen."""
        weight = np.ones(len(X))
        asked = X[:ASKED_ROWS], outcomes[:, :ASKED_ROWS], weight[:ASKED_ROWS]
        found = np.argmin(cls.left_out(*asked, CHOICES), axis=1)
        told, penalties = _moments(X, weight), np.array(CHOICES)[found] / len(X)
        return [
            cls(penalty)._solved(y, penalty, *told)
            for y, penalty in zip(outcomes, penalties, strict=True)
        ]

    def predict(self, X):
        """The expected number, (n,)."""
        return self.raw(X)


class _Linked(_Linear):
    """Chooses link and penalty of a regression of amounts."""

    def settled(self, X, y, weight=None):
        """Options that are null, chosen for rows of a fit by the squared error of rows left out."""
        if self.l2 is not None and self.link is not None:
            return {}
        weight = checked_weights(weight, len(X))
        X, y, weight = X[:ASKED_ROWS], np.asarray(y, float)[:ASKED_ROWS], weight[:ASKED_ROWS]
        given = [] if self.l2 is None else [self.l2 * (len(X) if self.per_row else 1)]
        links = [self.link] if self.link else ["identity", "log"]
        if not weight @ y > 0:
            links = ["identity"]
        asked = {"identity": left_out_squares, "log": left_out_amounts}
        losses = [asked[link](X, y, weight, given or CHOICES) for link in links]
        link, at = np.unravel_index(np.argmin(losses), np.shape(losses))
        own = {} if given else {"l2": CHOICES[at], "per_row": False}
        return own | {"link": links[link]}


class AmountModel(_Linked, RidgeModel):
    """Regression of amounts: Poisson regression, or `RidgeModel` with answers from 0 up.

    With a log link what a feature does is a factor; see `counterweight.numerics.linear`. The
    penalty is then on standardised features and amounts over their mean, so that no unit counts.

    Parameters
    ----------
    l2, per_row
        As of `RidgeModel`.
    link : str or None
        ``log`` or ``identity``; None: that with the least squared error of rows left out.

    Attributes
    ----------
    link_ : str
    top_ : float
        Largest score, of a log link.
    """

    def __init__(self, l2=1e-6, per_row=True, link=None):
        super().__init__(l2, per_row)
        self.link = link

    def fit(self, X, y, sample_weight=None, *, rng=None):
        """Fit to amounts (n,), from 0 up; nothing is drawn by `rng`."""
        X, y = np.asarray(X, float), np.asarray(y, float)
        told = {"l2": self.l2, "per_row": self.per_row, "link": self.link}
        told |= self.settled(X, y, sample_weight)
        self.link_, self.top_ = told.pop("link"), np.inf
        if self.link_ == "identity":
            fitted = RidgeModel(**told).fit(X, y, sample_weight)
            self.coef_, self.intercept_ = fitted.coef_, fitted.intercept_
            self.n_iter_, self.converged_ = fitted.n_iter_, fitted.converged_
            return self
        weight = checked_weights(sample_weight, len(X))
        weight = weight / weight.mean()
        middle = float(np.average(y, weights=weight))
        rows, penalised, centre, scale = standard_rows(X, weight)
        ridge = told["l2"] * (len(X) if told["per_row"] else 1) * penalised
        found, _, self.n_iter_, self.converged_ = fit_poisson(rows, y / middle, weight, ridge)
        self.coef_ = found[:-1] / scale
        self.intercept_ = float(found[-1] + np.log(middle) - self.coef_ @ centre)
        self.top_ = float(np.log(FARTHEST * y.max()))
        return self

    def answers(self, raw):
        """The expected amount of raw scores."""
        if self.link_ == "log":
            return np.exp(np.minimum(raw, self.top_))
        return np.maximum(raw, 0.0)

    def predict(self, X):
        """The expected amount, (n,)."""
        return self.answers(self.raw(X))

    def to_arrays(self):
        """Fitted numbers by name."""
        return super().to_arrays() | {"log": float(self.link_ == "log"), "top": self.top_}

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = super().from_arrays(arrays)
        model.link_ = "log" if arrays["log"] else "identity"
        model.top_ = float(arrays["top"])
        return model


#: What learns numbers from 0 up in its place.
RidgeModel.AMOUNTS = AmountModel


class LogisticModel(_Linear, BinaryClassifier):
    """Logistic regression with importance weights.

    Minimises (1/M) sum_i w_i L(f(x_i), y_i) with the log loss. When the logistic form
    is right, weights change nothing but the variance; when it is wrong, the unweighted
    fit is the best line for the labeled rows, not for the target population.

    Parameters
    ----------
    l2 : float or None
        Penalty on the coefficients of standardised features. None: that of `CHOICES` with the least
        log loss of rows left out, by one Newton step from the fit to all
        (`counterweight.numerics.linear.left_out_losses`).
    per_row : bool
        Whether `l2` is for each row; else for all together, a normal prior of variance 1 / l2.

    Attributes
    ----------
    coef_ : numpy.ndarray, shape (d,)
        In units of 1/feature.
    intercept_ : float
    n_iter_ : int
    converged_ : bool

    References
    ----------
    Smith & Elkan (2007), section 3.
    """

    #: What learns a number in its place.
    NUMBERS = RidgeModel
    left_out = staticmethod(left_out_losses)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        rng: np.random.Generator | None = None,
    ) -> Self:
        """Fit; `rng` is accepted and not needed, since the optimum is unique."""
        l2 = self._penalty(X, y, sample_weight)
        self.coef_, self.intercept_, self.n_iter_, self.converged_ = fit_logistic(
            X, y, sample_weight, l2
        )
        return self

    def _positive(self, X):
        return logistic_probability(X, self.coef_, self.intercept_)


#: Penalties to choose from: from hardly any to hardly any freedom.
PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
#: Newton steps end when no mean score is larger than this, and at the latest after so many.
TOLERANCE, STEPS = 1e-9, 100


@dataclass(eq=False, repr=False)
class AdaptedLogistic(BinaryClassifier):
    """Logistic regression of weighted rows, with a normal prior around a background model.

    The background b is logistic regression of all labeled rows as they are. The weights say how
    much each of these stands for the target. Of n labeled rows with weights w of mean 1,

        (1/n) sum_i w_i log loss(y_i, (1, x_i)'beta) + penalty/2 |beta - b|^2

    is minimised: the most probable beta if the prior is N(b, I / (n penalty)), in standardised
    features and with the constant. Large penalties give the background, penalty 0 the weighted
    fit, so it lies between what is known of many rows and what is asked of few. It assumes what
    its weights assume: by those of the lemmas, labels missing at random. Where they are not, it
    goes from one wrong model towards another one. Without weights it is the background.

    Parameters
    ----------
    l2 : float or None
        Of the background model; None: chosen by rows left out, in each fold again.
    penalty : float, optional
        None: that of `PENALTIES` with the smallest weighted log loss of labeled rows that neither
        background nor adaptation has seen. No hidden label is looked at.
    folds : int
    random_state : int, Generator or None
        Draws the folds where `fit` is given no `rng`.

    Attributes
    ----------
    coef_ : numpy.ndarray, shape (d,)
    intercept_ : float
    background_ : tuple of array (d,) and float
        Its coefficients and constant.
    penalty_ : float
    losses_ : numpy.ndarray, shape (6,) or (0,)
        Weighted log loss of each of `PENALTIES` on held-out rows.
    n_iter_ : int
    converged_ : bool

    References
    ----------
    Chelba & Acero (2006), "Adaptation of maximum entropy capitalizer: little data can help a
    lot", on MAP adaptation; Sugiyama, Krauledat & Mueller (2007) on weighted cross-validation.
    """

    l2: float = 1e-6
    penalty: float | None = None
    folds: int = 5
    random_state: int = 0

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        rng: np.random.Generator | None = None,
        background: ArrayLike | None = None,
    ) -> Self:
        """Fit background and adaptation.

        Parameters
        ----------
        X : array (n, d)
        y : array (n,) of 0 and 1
        sample_weight : array (n,), optional
        rng : numpy.random.Generator, optional
            Draws the folds.
        background : classifier, optional
            With ``coef_`` and ``intercept_``, instead of the fit of the rows without weights.

        Raises
        ------
        CounterweightError
            For options, rows, labels or weights that cannot be used, and for one class only.
        """
        check_options(vars(self), OPTIONS_BY_NAME["map_adapted"])
        two_class_rows(X, y, sample_weight, "The adaptation")
        X, y, _ = two_class_rows(X, y)
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        weights = weights / weights.mean()
        self.penalty_, self.losses_, sound = self.penalty, np.empty(0), True
        if self.penalty is None:
            self.losses_, sound = self._losses(X, y, weights, rng, background)
            self.penalty_ = PENALTIES[int(np.argmin(self.losses_))]
        fits = self._path(X, y, weights, [self.penalty_], background)
        ((self.coef_, self.intercept_, self.n_iter_, self.converged_),) = fits
        self.converged_ = bool(self.converged_ and sound)
        return self

    def _losses(self, X, y, weights, rng, background):
        """Weighted log loss of held-out rows by penalty, and whether all fits converged."""
        fold, total, sound = folds(y, self.folds, rng), np.zeros(len(PENALTIES)), True
        for out in range(self.folds):
            seen = fold != out
            fits = self._path(X[seen], y[seen], weights[seen], PENALTIES, background)
            sign = 2 * y[~seen] - 1
            for at, (coef, intercept, _, converged) in enumerate(fits):
                score = X[~seen] @ coef + intercept
                total[at] += weights[~seen] @ np.logaddexp(0, -sign * score)
                sound = sound and converged
        return total / weights.sum(), sound

    def _path(self, X, y, weights, penalties, background):
        """Coefficients, constant, steps and convergence by penalty, each from the one before."""
        if background is None:
            coef, intercept, _, sound = fit_logistic(X, y, None, self.l2)
        else:
            coef, intercept = np.asarray(background.coef_, float), float(background.intercept_)
            sound = True
        self.background_ = coef, intercept
        centre, scale = X.mean(axis=0), X.std(axis=0)
        scale[scale <= 1e-12 * np.abs(centre)] = 1.0
        Z = np.column_stack([np.ones(len(X)), (X - centre) / scale])
        prior = np.r_[intercept + coef @ centre, coef * scale]
        weights, beta, fits = weights / weights.mean(), prior, []
        for penalty in penalties:
            beta, steps, converged = adapted(Z, y, weights, prior, penalty, beta)
            own = beta[1:] / scale
            fits.append((own, float(beta[0] - own @ centre), steps, converged and sound))
        return fits

    def _positive(self, X):
        return logistic_probability(X, self.coef_, self.intercept_)

    def to_arrays(self):
        """Fitted numbers by name."""
        return {
            "coef": self.coef_,
            "intercept": self.intercept_,
            "background": np.r_[self.background_[1], self.background_[0]],
            "penalty": self.penalty_,
            "losses": self.losses_,
            "iterations": self.n_iter_,
            "converged": float(self.converged_),
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls()
        model.coef_ = np.asarray(arrays["coef"], dtype=float)
        model.intercept_ = float(arrays["intercept"])
        background = np.asarray(arrays["background"], dtype=float)
        model.background_ = background[1:], float(background[0])
        model.penalty_, model.n_iter_ = float(arrays["penalty"]), int(arrays["iterations"])
        model.losses_ = np.asarray(arrays.get("losses", ()), dtype=float)
        model.converged_ = bool(arrays["converged"])
        return model


def adapted(Z, y, weights, prior, penalty, start=None):
    """Minimise the mean weighted log loss plus ``penalty / 2 |beta - prior|^2`` by Newton's method.

    Of rows Z (n, k); gives beta (k,), the steps and whether it converged.
    """
    n, sign = len(Z), 2 * y - 1
    beta = prior if start is None else start

    def value(beta, score):
        return weights @ np.logaddexp(0, -sign * score) / n + penalty / 2 * np.sum(
            (beta - prior) ** 2
        )

    score = Z @ beta
    now = value(beta, score)
    for step in range(STEPS):
        p = expit(score)
        gradient = (weights * (p - y)) @ Z / n + penalty * (beta - prior)
        if np.abs(gradient).max() <= TOLERANCE:
            return beta, step, True
        curved = (Z * (weights * p * (1 - p) / n)[:, None]).T @ Z + penalty * np.eye(len(beta))
        move, size = np.linalg.lstsq(curved, gradient, rcond=None)[0], 1.0
        along = Z @ move
        # Halved until it goes down; where rounding lets nothing go down, the last step was it.
        while not value(beta - size * move, score - size * along) < now and size > 1e-9:
            size /= 2
        if size <= 1e-9:
            return beta, step, bool(np.abs(gradient).max() <= 1e3 * TOLERANCE)
        beta, score = beta - size * move, score - size * along
        now = value(beta, score)
    return beta, STEPS, False


#: Default of the option that is a mapping.
CLASSIFIER = {"model": "logistic"}


@dataclass(eq=False, repr=False)
class CostingClassifier(BinaryClassifier):
    """The average of classifiers, each fitted without weights to rows accepted by their weight.

    A row of weight w is accepted with chance w / max w, each time anew. The accepted rows are a
    sample of the weighted population, in which rows count alike: over the draws, their loss is
    the weighted loss of all rows, divided by max w. So a classifier that knows nothing of weights
    learns for the target, and no row is seen twice, as it is when rows are drawn with
    replacement. It assumes what the weights assume; one very large weight leaves few rows
    (sum w / max w) in each sample, and then each classifier knows little: cap the weights, or
    average more. A sample in which one class is left says that class.

    Parameters
    ----------
    classifier : dict, optional
        ``model``, a name of the registry, with its options; logistic regression if None.
    models : int
    draw : int
        Does nothing here: the caller seeds `rng` by it.
    random_state : int, Generator or None
        Where `fit` is given no `rng`.

    Attributes
    ----------
    models_ : list
        Fitted classifiers, of samples with both classes.
    constant_ : numpy.ndarray
        The class of each other sample.
    rows_trained_ : float
        Mean number of accepted rows.
    converged_ : bool

    References
    ----------
    Zadrozny, Langford & Abe (2003), "Cost-sensitive learning by cost-proportionate example
    weighting", section 3: 10 to 200 samples there.
    """

    classifier: object = None
    models: int = 100
    draw: int = 0
    random_state: int = 0

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        rng: np.random.Generator | None = None,
    ) -> Self:
        """Draw the samples and fit a classifier to each.

        Without weights, or with equal ones, every sample is all rows: one is drawn.

        Raises
        ------
        CounterweightError
            For rows, labels or weights that cannot be used, one class only, or a classifier that
            cannot be used here.
        """
        check_options(
            vars(self), {name: OPTIONS_BY_NAME["costing"][name] for name in ("models", "draw")}
        )
        name, options = self._within()
        component = class_within(name, "used in costing")
        X, y, weights = two_class_rows(X, y, sample_weight, "Costing")
        chance = acceptance(weights)
        self.models_, constant, rows = [], [], []
        for _ in range(1 if (chance == 1).all() else self.models):
            seen = rng.random(len(y)) < chance
            rows.append(seen.sum())
            ones = y[seen].mean()
            if ones in (0, 1):
                constant.append(ones)
            else:
                self.models_.append(component(**options).fit(X[seen], y[seen], rng=rng))
        self.constant_, self.rows_trained_ = np.array(constant, float), float(np.mean(rows))
        fits = [np.min(getattr(model, "converged_", 1.0)) for model in self.models_]
        self.converged_ = bool(np.min(fits, initial=1.0))
        self.features_ = X.shape[1]
        return self

    def _positive(self, X):
        X = checked_new_rows(X, self.features_)
        total, models = np.full(len(X), self.constant_.sum()), self._fitted()
        for model in models:
            total += model.predict_proba(X)[:, 1]
        return total / (len(models) + len(self.constant_))

    def _fitted(self):
        """The classifiers, brought back from numbers when they are first needed."""
        if not hasattr(self, "models_"):
            name, options = self._within()
            self.models_ = [stored_within(name, options, own) for own in unpacked(self._packed)]
        return self.models_

    def _within(self):
        """Name and options of the classifier."""
        options = dict(CLASSIFIER if self.classifier is None else self.classifier)
        return options.pop("model", None), options

    def to_arrays(self):
        """Fitted numbers by name."""
        return packed([model.to_arrays() for model in self._fitted()]) | {
            "constant": self.constant_,
            "features": float(self.features_),
            "rows_trained": self.rows_trained_,
            "converged": float(self.converged_),
        }

    @classmethod
    def from_arrays(cls, arrays):
        """What predicts, from `to_arrays`, once the option `classifier` is as it was."""
        model = cls()
        model._packed = dict(arrays)
        model.constant_ = np.ravel(arrays.get("constant", ())).astype(float)
        model.features_ = int(arrays["features"])
        model.rows_trained_ = float(arrays["rows_trained"])
        model.converged_ = bool(arrays["converged"])
        return model


def acceptance(weights):
    """Chance of each row to be accepted, (n,), from weights from 0 up: the largest has 1."""
    return weights / weights.max()


#: Begins the names of arrays of several models on end, and of how long each part is.
PART, LONG = "part_", "long_"


def packed(models):
    """Arrays of several models of one class as arrays: each name's on end, and their lengths.

    `models` list of dict of str to array: with the same names. Returns dict of str to array: for
    `unpacked`. A length of -1 is that of a single number.
    """
    arrays = {}
    for name in models[0] if models else ():
        parts = [np.asarray(model[name], dtype=float) for model in models]
        arrays[f"{PART}{name}"] = np.concatenate([np.atleast_1d(part) for part in parts])
        arrays[f"{LONG}{name}"] = np.array([len(part) if part.ndim else -1 for part in parts])
    return arrays


def unpacked(arrays):
    """The arrays of each model, from `packed`; other names are passed over."""
    count = max(
        (len(np.ravel(arrays[name])) for name in arrays if name.startswith(LONG)), default=0
    )
    models = [{} for _ in range(count)]
    for name in arrays:
        if not name.startswith(LONG):
            continue
        own, lengths = name.removeprefix(LONG), np.ravel(arrays[name]).astype(int)
        whole = np.asarray(arrays.get(f"{PART}{own}", np.empty(0)), dtype=float)
        ends = np.cumsum(np.abs(lengths))
        for model, end, length in zip(models, ends, lengths, strict=True):
            model[own] = whole[end - length : end] if length >= 0 else float(whole[end - 1])
    return models
