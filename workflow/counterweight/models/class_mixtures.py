"""Generative classifiers: a prior and a Gaussian mixture of the features for each class.

The shifted mixture has two, of the labeled and of the unlabeled rows. The unlabeled one starts from
the Lemma 2 fit, or from the labeled one, and is moved by EM on the unlabeled rows.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Choice, Integer, Number, Option
from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.checks import check_options, checked_new_rows
from counterweight.numerics.emissions import Layout, MixedRows
from counterweight.numerics.gaussian_mixture import (
    ClassMixtures,
    Standardised,
    fit_class_mixtures,
    posterior,
)
from counterweight.numerics.linear import fit_logistic, logistic_probability
from counterweight.numerics.mixture_steps import floored
from counterweight.weighting.importance_weights import unlabeled_weights

log = logging.getLogger(__name__)

#: Models that are trained first; their arrays are passed to `fit` under these names.
STARTS_BY_NAME = {
    "shifted_mixture": {
        "labeled": {"model": "generative"},
        "unlabeled": {"model": "generative", "weights": "lemma2", "unless": {"start": "labeled"}},
    }
}
OPTIONS_BY_NAME = {
    "shifted_mixture": {
        "inertia": Number(0.99,
            "Share lambda of the old parameters that is kept (reading: keep) or of the new ones that is taken (reading: "
            "step) in each iteration.", minimum=0, maximum=1),
        "iterations": Integer(5, "EM iterations on the unlabeled rows.", minimum=0),
        "shifts": Option("all",
            "Parameters that move: all, one kind, or a list of kinds.",
            anyOf=[
                {"enum": ["all", "priors", "weights", "means", "covariances"]},
                {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"enum": ["priors", "weights", "means", "covariances"]}},
            ]),
        "reading": Choice("keep", ["keep", "step"], "keep: new = lambda * old + (1 - lambda) * EM; step: new = (1 - lambda) * old + lambda * EM."),
        "start": Choice("lemma2", ["lemma2", "labeled"],
            "What the unlabeled classifier begins from: the fit with Lemma 2 weights, or the unweighted fit to the labeled "
            "rows."),
        "prior_rows": Number(0, "MAP adaptation: the start counts as this many rows beside the unlabeled ones; 0 for none.", minimum=0),
    },
    "generative": {
        "components": Integer(6, "Gaussian components of each class.", minimum=1),
        "n_init": Integer(25, "Random starts of EM; the one with the best log-likelihood is kept.", minimum=1),
        "tol": Number(1.0e-7, "EM stops when the log-likelihood changes by less than this share.", minimum=0, below=1),
        "max_iter": Integer(2000, "Most EM iterations of one start.", minimum=1),
        "start": Choice("shared", ["shared", "separate"],
            "shared: both classes start from one mixture of all rows; separate: each class has random starts of its own."),
        "draw": Integer(0, "Number of the set of random starts: another number, another set.", minimum=0),
        "reg_covar": Number(1.0e-6, "Least eigenvalue of a covariance of standardised features.", above=0, below=1),
        "covariance": Choice("full", ["full", "diagonal", "tied"],
            "One matrix for each component; variances only; or one matrix for all components of a class."),
        "categories": Choice("auto", ["auto", "none"],
            "auto: features that the recipe declares categories are categories; none: they are numbers like all others."),
    },
}  # fmt: skip
LABEL_BY_NAME = {"shifted_mixture": "Shifted mixture", "generative": "Class mixtures"}


KINDS = ("priors", "weights", "means", "covariances")
COVARIANCE_FLOOR = 1e-6
PREDICT_ROWS = 1 << 16


class MixtureClassifier(BinaryClassifier):
    """What classifiers share whose fitted parameters are a `ClassMixtures`."""

    mixtures_ = None

    def _takes_blanks(self, given):
        # Missing entries integrate out where a layout says which columns are categories.
        layout = None if self.mixtures_ is None else self.mixtures_.layout
        return layout is not None or super()._takes_blanks(given)

    def _take(self, mixtures):
        self.mixtures_ = mixtures
        self.prior_, self.weights_, self.means_, self.covariances_ = mixtures[:4]


def _shifting(shifts):
    names = KINDS if shifts == "all" else (shifts,) if isinstance(shifts, str) else tuple(shifts)
    unknown = [name for name in names if name not in KINDS]
    if unknown or not names:
        raise CounterweightError(
            f"shifts: {listed(unknown) or 'an empty list'} is not a kind of parameter; "
            f"choose all or some of {listed(KINDS)}."
        )
    return frozenset(names)


def _starting(starts, which):
    if which not in starts:
        raise CounterweightError(
            f"The shifted mixture model needs the fitted {which} start model: train it first."
        )
    return GenerativeClassifier.from_arrays(starts[which])


@dataclass(eq=False, repr=False)
class ShiftedMixtureClassifier(MixtureClassifier):
    """Shifted mixture model (Smith & Elkan 2007, section 4).

    Two generative classifiers: one of the labeled rows, and one of the unlabeled rows, which starts
    from the fit with Lemma 2 weights (or from the first: with the priors alone shifting that is
    prior shift by EM, right where features given the class are alike in both populations). EM on
    the unlabeled rows moves it, class and component hidden. With z the responsibilities at the
    current parameters each iteration computes the prior ``sum z_y / N``, the weights ``sum z_yc /
    sum z_y``, the means and shares of levels weighted by ``z_yc``, and the covariances, around the
    new means if these shift, else around the current ones; and moves each shifting parameter theta
    towards its value theta' by the share ``1 - lambda`` (reading "keep") or ``lambda`` (reading
    "step").

    With `prior_rows` tau, the start counts as tau rows distributed as it says: theta' then
    maximises the log-likelihood less tau times the Kullback-Leibler divergence of the model from
    its start (conjugate MAP adaptation, near the start the quadratic penalty of Chelba & Acero
    2006, each parameter in units of its own information).

    With a full step the likelihood of the unlabeled rows cannot fall; with a partial one it may,
    and the falls are counted. The shift helps when the unlabeled population differs by more than
    the weights correct for, and when the classes are clusters of the features. Nothing ties a class
    to its label once labels are hidden, so long runs without inertia may wander off.

    Parameters
    ----------
    inertia, iterations, shifts, reading, start, prior_rows
        See `OPTIONS`.
    components, random_state
        Of the start models, where `fit` is given none; see `GenerativeClassifier`.

    Attributes
    ----------
    labeled_ : GenerativeClassifier
    mixtures_, prior_, weights_, means_, covariances_
        Of the unlabeled population, as in `GenerativeClassifier`.
    selected_share_ : float
        pi, the share of labeled rows.
    unlabeled_log_likelihood_ : ndarray (iterations + 1,)
        Mean over the unlabeled rows of log p(x), from the start to the end.
    log_likelihood_falls_, decisions_moved_ : int, float
        Iterations that lowered it; share of unlabeled rows whose more probable class has changed.
    """

    inertia: float = 0.99
    iterations: int = 5
    shifts: str | list = "all"
    reading: str = "keep"
    start: str = "lemma2"
    prior_rows: float = 0
    components: int = 6
    random_state: object = 0

    #: Its predictions are of the population that is asked for.
    TARGETED = True
    #: Numbers (the last of each) that a sweep keeps for every setting.
    SWEPT = ("unlabeled_log_likelihood", "decisions_moved")

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        unweighted: ArrayLike | None = None,
        *,
        X_unlabeled: ArrayLike | None = None,
        starts: ArrayLike | None = None,
        selected_share: float | None = None,
        rng: np.random.Generator | None = None,
    ) -> Self:
        """Shift the unlabeled classifier.

        Parameters
        ----------
        X : array (n, d)
            Labeled rows. Where `starts` are given, only their shape is checked.
        y : array (n,)
            For the starts, where they are not given.
        unweighted : None
            Weights are refused: they enter by the start that was fitted with them.
        X_unlabeled : array (N, d)
        starts : dict of str to dict, optional
            Arrays of the fitted models of `STARTS` (``GenerativeClassifier.to_arrays``), fitted
            here if not given; the weights of Lemma 2 are then by logistic regression.
        selected_share : float, optional
            pi, the share of labeled among labeled and unlabeled rows; that of the rows if None.
        rng : numpy.random.Generator, optional
        """
        if starts is None and y is None:
            raise CounterweightError(
                "The shifted mixture requires y to be passed, but the target y is None: give "
                "labels, or the start models."
            )
        if unweighted is not None:
            raise CounterweightError(
                "The shifted mixture model takes no row weights: they enter by the start "
                "model, which is fitted with the weights of Lemma 2."
            )
        if np.ndim(X) != 2 or np.shape(X)[1] != np.shape(X_unlabeled)[1]:
            raise CounterweightError(
                f"Labeled rows have the shape {np.shape(X)}, unlabeled rows "
                f"{np.shape(X_unlabeled)}: both need the same features."
            )
        if starts is None:
            starts = self._starts(X, y, X_unlabeled, rng)
        ((_, model),) = self.path(
            X_unlabeled,
            starts=starts,
            selected_share=selected_share or len(X) / (len(X) + len(X_unlabeled)),
            iterations=[self.iterations],
            inertia=self.inertia,
            shifts=self.shifts,
            reading=self.reading,
            start=self.start,
            prior_rows=self.prior_rows,
        )
        found = {name: value for name, value in vars(model).items() if name[-1] == "_"}
        vars(self).update(found)
        return self

    def _starts(self, X, y, X_unlabeled, rng):
        """Arrays of the start models, by name."""
        weights = {"labeled": None}
        if self.start == "lemma2":
            both, s = (
                np.concatenate([X, X_unlabeled]),
                np.repeat([1, 0], [len(X), len(X_unlabeled)]),
            )
            coef, intercept, *_ = fit_logistic(both, s)
            p = np.maximum(logistic_probability(X, coef, intercept), 1e-12)
            weights["unlabeled"] = unlabeled_weights(p, len(X) / len(both))
        return {
            name: GenerativeClassifier(self.components).fit(X, y, weight, rng=rng).to_arrays()
            for name, weight in weights.items()
        }

    @classmethod
    def path(cls, X_unlabeled, *, starts, selected_share, iterations, **options):
        """Fitted models at several iteration counts of one run, each as a separate fit makes it.

        `options` are those of `OPTIONS`; the others as of `fit`.

        Yields
        ------
        count : int
            In ascending order.
        model : ShiftedMixtureClassifier
        """
        models = [cls(iterations=count, **options) for count in sorted(set(iterations))]
        if not models:
            raise CounterweightError("iterations must be one whole number from 0, or more.")
        for model in models:
            check_options(vars(model), OPTIONS_BY_NAME["shifted_mixture"])
        if not 0 < selected_share < 1:
            raise CounterweightError(
                f"The share of labeled rows must lie between 0 and 1, not {selected_share}."
            )
        one = models[0]
        shifting = _shifting(one.shifts)
        labeled = _starting(starts, "labeled")
        begun = labeled if one.start == "labeled" else _starting(starts, "unlabeled")
        begun = begun.mixtures_
        if (labeled.mixtures_.width, labeled.mixtures_.layout) != (begun.width, begun.layout):
            raise CounterweightError(
                f"The labeled start model has {labeled.mixtures_.width} features, the unlabeled "
                f"one {begun.width}, or other categories: fit both to the same features."
            )
        if begun.layout is None:
            X = checked_new_rows(X_unlabeled, begun.width)
            data = Standardised(X, np.ones(len(X)))
        else:
            X = np.asarray(X_unlabeled, dtype=float)
            data = MixedRows(X, np.ones(len(X)), begun.layout, begun.covariance)
        step = 1 - one.inertia if one.reading == "keep" else one.inertia
        first_decisions = _decisions(X, begun)
        values = []
        if shifting == {"priors"}:
            states = _prior_states(X, begun, step, one.prior_rows)
        else:
            states = _states(data, begun, shifting, step, one.prior_rows)
        for model in models:
            while len(values) <= model.iterations:
                mixtures, value = next(states)
                values.append(value)
            model.labeled_ = labeled
            model.selected_share_ = float(selected_share)
            model._take(mixtures)
            model.unlabeled_log_likelihood_ = np.array(values)
            falls = np.diff(values) < -1e-12 * np.abs(values[:-1])
            model.log_likelihood_falls_ = int(falls.sum())
            model.decisions_moved_ = float((_decisions(X, mixtures) != first_decisions).mean())
            log.info(
                "shift of %d iterations: unlabeled log-likelihood per row %.6f -> %.6f "
                "(%d falls), decisions moved %.2f %%",
                model.iterations,
                values[0],
                values[-1],
                model.log_likelihood_falls_,
                100 * model.decisions_moved_,
            )
            yield model.iterations, model

    def joint_log_density(self, X, target="unlabeled"):
        """Log p(y, x) of the target population, (n, 2)."""
        hidden = self.mixtures_.joint_log_density(X)
        if target == "unlabeled":
            return hidden
        if target != "general":
            raise CounterweightError(f"target must be unlabeled or general, not {target!r}.")
        seen = self.labeled_.joint_log_density(X)
        share = self.selected_share_
        return np.logaddexp(np.log(share) + seen, np.log1p(-share) + hidden)

    def predict_proba(self, X: ArrayLike, target: str = "unlabeled") -> np.ndarray:
        """Class probabilities (n, 2).

        Parameters
        ----------
        X : array (n, d)
        target : {"unlabeled", "general"}
            unlabeled: p(y | x, s=0). general: p(y | x), proportional to the sum over s of
            p(s) p(y | s) p(x | y, s).
        """
        return posterior(self.joint_log_density(X, target))

    def to_arrays(self):
        """Everything fitted, as arrays of at most three dimensions, by name."""
        arrays = {f"labeled_{name}": part for name, part in self.labeled_.to_arrays().items()}
        return (
            arrays
            | self.mixtures_.to_arrays()
            | {
                "selected_share": np.array([self.selected_share_]),
                "unlabeled_log_likelihood": self.unlabeled_log_likelihood_,
                "log_likelihood_falls": np.array([self.log_likelihood_falls_]),
                "decisions_moved": np.array([self.decisions_moved_]),
            }
        )

    @classmethod
    def from_arrays(cls, arrays):
        """A fitted model from what `to_arrays` gave."""
        values = np.asarray(arrays["unlabeled_log_likelihood"], dtype=float)
        model = cls(iterations=len(values) - 1)
        prefix = "labeled_"
        model.labeled_ = GenerativeClassifier.from_arrays(
            {n[len(prefix) :]: v for n, v in arrays.items() if n.startswith(prefix)}
        )
        model._take(ClassMixtures.from_arrays(arrays))
        model.selected_share_ = float(np.ravel(arrays["selected_share"])[0])
        model.unlabeled_log_likelihood_ = values
        model.log_likelihood_falls_ = int(np.ravel(arrays["log_likelihood_falls"])[0])
        model.decisions_moved_ = float(np.ravel(arrays["decisions_moved"])[0])
        return model


def _decisions(X, mixtures):
    """Whether class 1 is the more probable, for each row."""
    joints = (
        mixtures.joint_log_density(X[at : at + PREDICT_ROWS])
        for at in range(0, len(X), PREDICT_ROWS)
    )
    return np.concatenate([joint[:, 1] > joint[:, 0] for joint in joints])


def _prior_states(X, start, step, prior_rows):
    """What `_states` yields where the priors alone shift: densities are looked at once."""
    joint = start.joint_log_density(X) - np.log(start.prior)
    top = joint.max(axis=1, keepdims=True)
    chance, prior = np.exp(joint - top), start.prior
    while True:
        joint = chance * prior
        total = joint.sum(axis=1)
        yield start._replace(prior=prior), float((np.log(total) + top[:, 0]).mean())
        by_class = (joint / total[:, None]).sum(axis=0) + prior_rows * start.prior
        prior = prior + step * (by_class / by_class.sum() - prior)


def _states(data, start, shifting, step, prior_rows=0):
    """Yield (mixtures in the units of the rows, log-likelihood per row) of each iteration."""
    n = data.total
    _, k, d = start.means.shape
    scale = np.outer(data.scale, data.scale)
    prior, weights = start.prior, start.weights
    means = (start.means - data.mean) / data.scale
    covariances = start.covariances / scale
    shares = np.empty((2, k, 0)) if start.layout is None else start.shares
    at_start = _start_moments(prior[:, None] * weights, means, covariances, shares, prior_rows)
    outward = start
    while True:
        statistics = data.features.expectation(
            data.batch(
                (prior[:, None] * weights).reshape(2 * k, 1),
                means.reshape(2 * k, 1, d),
                covariances.reshape(2 * k, 1, d, d),
                shares.reshape(2 * k, 1, -1),
            ),
            count=False,
        )
        yield outward, float((statistics.log_likelihood[0] - data.log_jacobian) / n)
        moments = data.moments(statistics.moments[:, 0].reshape(2, k, -1))
        total, first, second, counts = (
            part + more if prior_rows else part
            for part, more in zip(moments, at_start, strict=True)
        )
        # A component without any mass has no new mean: it stays where it is.
        empty = total <= 1e-10 * n
        safe = np.where(empty, 1.0, total)
        by_class = total.sum(axis=1)
        new_prior = by_class / by_class.sum()
        lost = by_class[:, None] <= 1e-10 * n
        new_weights = np.where(lost, weights, total / np.where(lost, 1.0, by_class[:, None]))
        new_means = np.where(empty[..., None], means, first / safe[..., None])
        centre = new_means if "means" in shifting else means
        mean = first / safe[..., None]
        spread = second / safe[..., None, None]
        spread = spread - mean[..., :, None] * centre[..., None, :]
        spread = spread - centre[..., :, None] * (mean - centre)[..., None, :]
        if start.covariance == "diagonal":
            spread = spread * np.eye(d)
        elif start.covariance == "tied":
            pooled = (safe[..., None, None] * spread).sum(axis=1) / safe.sum(axis=1)[:, None, None]
            spread = np.broadcast_to(pooled[:, None], spread.shape)
        new_covariances = np.where(
            empty[..., None, None], covariances, floored(spread, COVARIANCE_FLOOR)
        )
        if "priors" in shifting:
            prior = prior + step * (new_prior - prior)
        if "weights" in shifting:
            weights = weights + step * (new_weights - weights)
        if "means" in shifting:
            means = means + step * (new_means - means)
            new_shares = data.shares(counts)
            shares = shares + step * (np.where(empty[..., None], shares, new_shares) - shares)
        if "covariances" in shifting:
            covariances = covariances + step * (new_covariances - covariances)
        outward = start._replace(
            prior=prior,
            weights=weights,
            means=data.mean + data.scale * means,
            covariances=covariances * scale,
            shares=None if start.layout is None else shares,
        )


def _start_moments(mass, means, covariances, shares, rows):
    """Expected totals, first and second moments and counts of levels of rows like the start."""
    mass = rows * mass
    second = covariances + means[..., :, None] * means[..., None, :]
    return (mass, mass[..., None] * means, mass[..., None, None] * second, mass[..., None] * shares)


@dataclass(eq=False, repr=False)
class GenerativeClassifier(MixtureClassifier):
    """Bayes' rule with a Gaussian mixture for each class (Smith & Elkan 2007, section 4).

    p(y) is the weighted share of the class, p(x | y) a mixture fitted by weighted EM.
    With the weights of Lemma 1 or 2 the model estimates the general or the unlabeled
    population, given that labels are missing at random and the weights are right; without
    weights it describes the labeled population only.

    Parameters
    ----------
    components, n_init, tol, max_iter, start, draw, reg_covar, covariance, categories
        See `OPTIONS`. `draw` does nothing here: the caller seeds `rng` by it.
    random_state : int, Generator or None
        Where `fit` is given no `rng`.

    Attributes
    ----------
    prior_ : ndarray (2,)
    weights_ : ndarray (2, K)
    means_ : ndarray (2, K, d)
    covariances_ : ndarray (2, K, d, d)
        Of the numbers.
    mixtures_ : ClassMixtures
        The four of them, and the shares of levels where there are categories.
    log_likelihood_ : float
        Sum over rows of row weight times log p(x, y).
    restart_log_likelihood_ : ndarray
        Of the mixture of all rows; with separate starts, of class 0 and then of class 1.
    iterations_, converged_, components_held_, components_small_ : ndarray
        One entry for each mixture: all rows (shared start only), class 0, class 1.
    base_ : Mixture or None
        The mixture of all rows.
    """

    components: int = 6
    n_init: int = 25
    tol: float = 1e-7
    max_iter: int = 2000
    start: str = "shared"
    draw: int = 0
    reg_covar: float = 1e-6
    covariance: str = "full"
    categories: str = "auto"
    random_state: object = 0

    #: `fit` is told which features are categories.
    CATEGORIES = Layout
    #: Fitted attribute that a later fit to the same rows and weights may be given.
    REUSED = "base"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        rng: np.random.Generator | None = None,
        base: ArrayLike | None = None,
        categories: dict | None = None,
    ) -> Self:
        """Fit both class mixtures.

        Parameters
        ----------
        X : array (n, d)
        y : array (n,) of 0 and 1
        sample_weight : array (n,), optional
        rng : numpy.random.Generator
        base : Mixture, optional
            ``base_`` of a model fitted to the same rows and weights with other labels;
            saves fitting it again. Shared start only.
        categories : Layout, optional
            Which features are categories; none if not given, or if the option says so.

        Raises
        ------
        CounterweightError
            For one class only, too few rows in a class, or unusable rows or weights.
        """
        check_options(vars(self), OPTIONS_BY_NAME["generative"])
        mixtures, fitted, self.log_likelihood_ = fit_class_mixtures(
            X,
            y,
            self.components,
            sample_weight=sample_weight,
            rng=rng,
            base=base,
            separate=self.start == "separate",
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            reg_covar=self.reg_covar,
            covariance=self.covariance,
            layout=categories if self.categories == "auto" else None,
        )
        self._take(mixtures)
        self.base_ = fitted[0] if self.start == "shared" else None
        started = fitted[:1] if self.start == "shared" else fitted
        self.restart_log_likelihood_ = np.concatenate(
            [mixture.restart_log_likelihood for mixture in started]
        )
        self.iterations_ = np.array([mixture.n_iter for mixture in fitted])
        self.converged_ = np.array([mixture.converged for mixture in fitted])
        self.components_held_ = np.array([mixture.updates_held for mixture in fitted])
        self.components_small_ = np.array([mixture.components_small for mixture in fitted])
        return self

    @property
    def n_iter_(self) -> int:
        """Most EM iterations of a mixture, one at least."""
        return max(1, int(np.max(self.iterations_)))

    def joint_log_density(self, X):
        """Log p(y) + log p(x | y), (n, 2)."""
        return self.mixtures_.joint_log_density(X)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Class probabilities p(y | x), (n, 2)."""
        return posterior(self.joint_log_density(X))

    def to_arrays(self):
        """Everything fitted, as arrays of at most three dimensions, by name."""
        return self.mixtures_.to_arrays() | {
            "log_likelihood": np.array([self.log_likelihood_]),
            "restart_log_likelihood": self.restart_log_likelihood_,
            "iterations": self.iterations_,
            "converged": self.converged_,
            "components_held": self.components_held_,
            "components_small": self.components_small_,
        }

    @classmethod
    def from_arrays(cls, arrays):
        """A fitted model from what `to_arrays` gave; it can predict, not be fitted further."""
        mixtures = ClassMixtures.from_arrays(arrays)
        model = cls(components=mixtures.means.shape[1])
        model._take(mixtures)
        model.base_ = None
        model.log_likelihood_ = float(np.ravel(arrays["log_likelihood"])[0])
        model.restart_log_likelihood_ = np.asarray(arrays["restart_log_likelihood"], dtype=float)
        model.iterations_ = np.asarray(arrays["iterations"], dtype=int)
        model.converged_ = np.asarray(arrays["converged"], dtype=bool)
        model.components_held_ = np.asarray(arrays["components_held"], dtype=int)
        model.components_small_ = np.asarray(arrays["components_small"], dtype=int)
        return model
