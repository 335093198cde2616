"""What makes up for the shift and the classifier fitted as one.

Bickel, Brueckner & Scheffer (2007) fit the weights with the classifier; mixture regression has two
sources, of which one has labeled rows only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit

from counterweight.errors import CounterweightError
from counterweight.fragments import Choice, Integer, Number
from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.checks import (
    check_options,
    checked_labels,
    checked_new_rows,
    checked_rows,
    two_class_rows,
)
from counterweight.numerics.emissions import gaussian_log_density, log_sum_exp
from counterweight.numerics.gaussian_mixture import Mixture, Standardised, fit_mixture
from counterweight.numerics.linear import RIDGE, chosen_penalty, fit_logistic
from counterweight.numerics.mixture_steps import Parameters, QuadraticRows, maximisation

OPTIONS_BY_NAME = {
    "bickel_joint": {
        **RIDGE,
        "loss": Choice("logistic", ["logistic", "exponential"],
            "Of label and selection alike. The objective is convex for the exponential loss only; for the logistic one it "
            "is left where two stages lead to."),
    },
    "two_sources": {
        "components": Integer(3, "Gaussian components of each source.", minimum=1),
        "n_init": Integer(5, "Random starts of the mixture that each source begins from.", minimum=1),
        "tol": Number(1.0e-6, "EM stops when the log-likelihood rises by less than this share of it.", above=0, below=1),
        "max_iter": Integer(100, "Most EM iterations.", minimum=1),
        "l2": Number(1e-6, "Penalty on standardised coefficients, for each row; 0 for none.", minimum=0),
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "bickel_joint": "Bickel et al., joint, {loss} loss",
    "two_sources": "Two-source mixture regression",
}
VALUE_LABELS_BY_NAME = {
    "bickel_joint": {"loss": {"logistic": "logistic", "exponential": "exponential"}}
}
#: Populations that are fitted to, in the order of the arrays.
TARGETS = ("general", "unlabeled")
#: The search ends when no mean score is larger than this, and at the latest after so many steps.
TOLERANCE, STEPS = 1e-8, 500


@dataclass(eq=False, repr=False)
class JointClassifier(BinaryClassifier):
    """A linear classifier and the selection model of its weights, fitted together.

    Over v (selection, a = v'x) and w (label, f = w'x), both with a constant, it minimises

        sum_{s=1} omega(a_i) l(y_i f_i) + sum_all l(s_i a_i) + n l2/2 (|v|^2 + |w|^2),

    y and s in -1 and 1, where omega is the weight of a labeled row by the selection model itself:
    share / (1 - share) p(s=-1|x) / p(s=1|x) towards unlabeled rows, share / p(s=1|x) towards all.
    It assumes that labels are missing at random, and that the log odds of s are linear in x. Where
    the second fails, the weights are wrong as those of two stages are; where the first fails, no
    weights by features are right. As the label's loss pulls at v, too, rows that no line fits lose
    weight, right or not.

    With the exponential loss l(z) = exp(-z), whose minimiser is half the log odds, omega is
    exp(-2a) times a constant: sums of exponentials of linear functions, so the objective is convex
    and the optimum unique. With the logistic loss it is not: the search begins at the two stages,
    and ends in the local optimum that it comes to; `converged_` says whether it is one.

    Parameters
    ----------
    l2 : float or None
        Penalty on the coefficients of standardised features, for each row. None: v and w have one
        each, that of their stage alone by rows left out (`numerics.linear.chosen_penalty`).
    loss : {"logistic", "exponential"}

    Attributes
    ----------
    coef_, selection_coef_ : numpy.ndarray (2, d)
        w and v towards all rows, and towards the unlabeled ones, in units of 1/feature.
    intercept_, selection_intercept_ : numpy.ndarray (2,)
    n_iter_ : int
        The larger number of steps.
    converged_ : bool
    least_curvature_ : float
        Least second derivative of the objective over some points, as a share of the largest at
        the same point; below 0 it is not convex. The points are those on the line through 0 and
        the optimum, and others whose labels are turned.

    References
    ----------
    Bickel, Brueckner & Scheffer (2007), "Discriminative learning for differing training and test
    distributions", the integrated model.
    """

    UNLABELED = TARGETED = True

    l2: float = 1e-6
    loss: str = "logistic"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_unlabeled: ArrayLike | None = None,
        rng: np.random.Generator | None = None,
    ) -> Self:
        """Fit towards both populations.

        Parameters
        ----------
        X : array (M, d)
            Labeled rows.
        y : array (M,) of 0 and 1
        sample_weight : array (M,), optional
            How many rows each stands for, in both sums: by design, not by selection.
        X_unlabeled : array (N, d)
        rng
            Not needed: nothing is drawn.

        Raises
        ------
        CounterweightError
            For options, rows, labels or weights that cannot be used, one class only, or no
            unlabeled rows.
        """
        check_options(vars(self), OPTIONS_BY_NAME["bickel_joint"])
        X, y, design = two_class_rows(X, y, sample_weight, "The joint fit")
        if not np.size(X_unlabeled):
            raise CounterweightError(
                "The joint fit learns who is labeled, and no row is unlabeled: use logistic."
            )
        hidden = checked_new_rows(X_unlabeled, X.shape[1])
        both = np.concatenate([X, hidden])
        centre, scale = both.mean(axis=0), both.std(axis=0)
        scale[scale <= 1e-12 * np.abs(centre)] = 1.0
        Z = np.column_stack([np.ones(len(both)), (both - centre) / scale])
        fits = []
        for target in TARGETS:
            objective = Objective(Z, y, design, self.loss, target, self.l2)
            found = objective.minimised()
            fits.append((*found, objective.least_curvature(found[0])))
        ends, steps, converged, curvatures = zip(*fits, strict=True)
        self.least_curvature_ = min(curvatures)
        beta = np.array(ends).reshape(2, 2, -1)
        coef = beta[:, :, 1:] / scale
        constant = beta[:, :, 0] - coef @ centre
        self.selection_coef_, self.coef_ = coef[:, 0], coef[:, 1]
        self.selection_intercept_, self.intercept_ = constant[:, 0], constant[:, 1]
        self.n_iter_, self.converged_ = max(steps), all(converged)
        return self

    def predict_proba(self, X: ArrayLike, target: str = "general") -> np.ndarray:
        """Class probabilities, (n, 2), of the fit towards a target.

        Parameters
        ----------
        X : array (n, d)
        target : {"general", "unlabeled"}
        """
        if target not in TARGETS:
            raise CounterweightError(f"target must be general or unlabeled, not {target!r}.")
        at = TARGETS.index(target)
        X = checked_rows(X, empty=True)
        score = X @ self.coef_[at] + self.intercept_[at]
        positive = expit(2 * score if self.loss == "exponential" else score)
        return np.column_stack([1 - positive, positive])

    def to_arrays(self):
        """Fitted numbers by name."""
        return {
            "coef": self.coef_,
            "intercept": self.intercept_,
            "selection_coef": self.selection_coef_,
            "selection_intercept": self.selection_intercept_,
            "exponential": float(self.loss == "exponential"),
            "iterations": self.n_iter_,
            "converged": float(self.converged_),
            "least_curvature": self.least_curvature_,
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls(loss="exponential" if arrays["exponential"] else "logistic")
        for name in ("coef", "intercept", "selection_coef", "selection_intercept"):
            setattr(model, f"{name}_", np.asarray(arrays[name], dtype=float))
        model.n_iter_ = int(arrays["iterations"])
        model.converged_ = bool(arrays["converged"])
        model.least_curvature_ = float(arrays["least_curvature"])
        return model


class Objective:
    """The joint objective over theta = (v, w), each with its constant first; see the class above.

    `Z` (n, k) has labeled rows first, and a column of ones first; `y` and `design` (M,) are theirs.
    """

    def __init__(self, Z, y, design, loss, target, l2):
        self.Z, self.y = Z, checked_labels(y, len(y))
        self.labeled = Z[: len(y)]
        self.sign_y, self.sign_s = 2.0 * y - 1, np.where(np.arange(len(Z)) < len(y), 1.0, -1.0)
        self.design = np.r_[design, np.ones(len(Z) - len(y))]
        self.loss, self.target = loss, target
        # Of log odds of s that omega goes by: the score, or twice it.
        self.per_score = 2.0 if loss == "exponential" else 1.0
        share = len(y) / len(Z)
        self.factor = share if target == "general" else share / (1 - share)
        self.given = l2
        self.start, l2s = self.two_stages()
        self.l2 = np.kron(l2s, np.r_[0.0, np.ones(Z.shape[1] - 1)])

    def _losses(self, z):
        """Loss of margins (n,), with its first and second derivative."""
        if self.loss == "exponential":
            held = np.exp(-z)
            return held, -held, held
        p = expit(-z)
        return np.logaddexp(0, -z), -p, p * (1 - p)

    def omega(self, v):
        """Weights of the labeled rows (M,) by a selection model (k,), with both derivatives."""
        odds = self.factor * np.exp(-self.per_score * (self.labeled @ v))
        first, second = -self.per_score * odds, self.per_score**2 * odds
        return odds + (self.factor if self.target == "general" else 0.0), first, second

    def parts(self, theta):
        """Derivatives by the scores: value, those by a (n,), by f (M,), and the second ones."""
        v, w = np.split(theta, 2)
        with np.errstate(over="ignore", invalid="ignore"):
            chosen, chosen1, chosen2 = self._losses(self.sign_s * (self.Z @ v))
            told, told1, told2 = self._losses(self.sign_y * (self.labeled @ w))
            weight, weight1, weight2 = self.omega(v)
            design, m = self.design, len(self.y)
            value = design @ chosen + design[:m] @ (weight * told)
            by_a, by_aa = design * self.sign_s * chosen1, design * chosen2
            by_a[:m] += design[:m] * weight1 * told
            by_aa[:m] += design[:m] * weight2 * told
            by_f = design[:m] * weight * told1 * self.sign_y
            by_af = design[:m] * weight1 * told1 * self.sign_y
            by_ff = design[:m] * weight * told2
        return value, by_a, by_f, by_aa, by_af, by_ff

    def value(self, theta):
        """Objective and gradient (2k,), as means over the n rows."""
        n = len(self.Z)
        value, by_a, by_f, *_ = self.parts(theta)
        gradient = np.r_[by_a @ self.Z, by_f @ self.labeled] / n + self.l2 * theta
        return value / n + self.l2 @ theta**2 / 2, gradient

    def hessian(self, theta):
        """Second derivatives (2k, 2k), as means over the n rows."""
        _, _, _, by_aa, by_af, by_ff = self.parts(theta)
        chosen = (self.Z * by_aa[:, None]).T @ self.Z
        crossed = (self.labeled * by_af[:, None]).T @ self.labeled
        told = (self.labeled * by_ff[:, None]).T @ self.labeled
        whole = np.block([[chosen, crossed], [crossed.T, told]]) / len(self.Z)
        return whole + np.diag(self.l2)

    def least_curvature(self, theta):
        """Least eigenvalue of the second derivatives over its largest, least over some points.

        The points are t (v, w) and t (v, -w), whose labels are turned, for some t.
        """
        turned = np.r_[theta[: len(theta) // 2], -theta[len(theta) // 2 :]]
        least = np.inf
        for t in (0.0, 0.5, 1.0, 2.0):
            for point in (theta, turned):
                values = np.linalg.eigvalsh(self.hessian(t * point))
                least = min(least, values[0] / np.abs(values).max())
        return float(least)

    def two_stages(self):
        """Theta (2k,) of the selection model alone, and of the classifier with its weights; and
        the penalty on each (2,), for each of all rows."""
        n, m, X = len(self.Z), len(self.y), self.Z[:, 1:]
        v, of_v = self._stage(X, (np.arange(n) < m).astype(int), self.design)
        w, of_w = self._stage(X[:m], self.y, self.design[:m] * self.omega(v)[0])
        return np.r_[v, w], [of_v, of_w]

    def _stage(self, X, y, weight):
        """Logistic regression as theta (k,), and its penalty for each of all rows: as given, or
        chosen, on log odds."""
        own = self.given
        if own is None:
            own = chosen_penalty(X, y, weight) / len(X)
        coef, intercept, *_ = fit_logistic(X, y, weight, own)
        theta = np.r_[intercept, coef] / self.per_score
        if self.given is None:
            own *= self.per_score**2 * len(X) / len(self.Z)
        return theta, own

    def minimised(self):
        """Theta (2k,), steps, and whether it is a minimum: no slope, and no way down by curvature.

        From the two stages, by a trust region with exact second derivatives.
        """
        found = minimize(
            self.value,
            self.start,
            jac=True,
            hess=self.hessian,
            method="trust-exact",
            options={"gtol": TOLERANCE, "maxiter": STEPS},
        )
        flat = np.abs(found.jac).max() <= 10 * TOLERANCE
        least = np.linalg.eigvalsh(self.hessian(found.x))[0]
        return found.x, int(found.nit), bool(flat and least > -TOLERANCE)


COVARIANCE_FLOOR = 1e-6


class _Source(NamedTuple):
    """A mixture of the standardised features and a logistic regression of the label."""

    mixture: Parameters
    coef: np.ndarray
    intercept: float

    def components(self, Z):
        """Log weight plus log density of each component, (n, K)."""
        weights, means, covariances = (part[:, 0] for part in self.mixture)
        with np.errstate(divide="ignore"):
            return gaussian_log_density(Z, means, covariances) + np.log(weights)

    def label(self, Z, sign):
        """Log p(y | x) of labels -1 or 1, (n,)."""
        return -np.logaddexp(0.0, -sign * (Z @ self.coef + self.intercept))


@dataclass(eq=False, repr=False)
class TwoSourceClassifier(BinaryClassifier):
    """Two sources of rows, the second of which the unlabeled rows have none of.

    Labeled rows are a mixture of both sources, p(x, y) = sum_i gamma_i p_i(x) p_i(y | x);
    unlabeled rows are of the first alone. p_i(x) is a Gaussian mixture, p_i(y | x) a logistic
    regression. EM fits all at once on labeled and unlabeled rows; the label of an unlabeled row is
    integrated out, so it tells of p_1(x) only. Where p_1(y | x) alone holds for unlabeled rows, the
    fit finds the labeled rows that are like them, by features and labels, and learns from these.

    It assumes that what is missing at random within a source is all that is missing: the unlabeled
    rows follow the first source's p(y | x). Where rows are labeled by their outcome, they do not,
    and no labeled row shows it. Where the sources do not differ, gamma is not identified, which
    does no harm: both regressions are then the same. EM finds a local optimum; it begins
    with a mixture of the unlabeled rows as the first source and one of the labeled as the second.

    Parameters
    ----------
    components, n_init, tol, max_iter, l2
        See `OPTIONS`.
    random_state : int, Generator or None
        Where `fit` is given no `rng`.

    Attributes
    ----------
    coef_ : ndarray (2, d)
        Of each source, in units of 1/feature.
    intercept_ : ndarray (2,)
    sources_ : list of Mixture
        p_1(x) and p_2(x).
    first_share_ : float
        gamma_1, the share of labeled rows that are of the first source.
    selected_share_ : float
        Labeled rows as a share of all.
    log_likelihood_ : ndarray
        Of labeled and unlabeled rows, at each iteration; it never falls, up to the small change of
        the ridge with the weights of a source.
    converged_ : bool

    References
    ----------
    Storkey & Sugiyama (2007), "Mixture regression for covariate shift", sections 3 and 4.
    """

    components: int = 3
    n_init: int = 5
    tol: float = 1e-6
    max_iter: int = 100
    l2: float = 1e-6
    random_state: object = 0

    UNLABELED = TARGETED = True

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_unlabeled: ArrayLike | None = None,
        rng: np.random.Generator | None = None,
    ) -> Self:
        """Fit both sources.

        Parameters
        ----------
        X : array (M, d)
        y : array (M,) of 0 and 1
        sample_weight : array (M,), optional
            How many rows each stands for.
        X_unlabeled : array (N, d)
        rng : numpy.random.Generator

        Raises
        ------
        CounterweightError
            For options, rows, labels or weights that cannot be used, one class only, a constant
            feature, or too few rows of either kind.
        """
        check_options(vars(self), OPTIONS_BY_NAME["two_sources"])
        X, y, weight = two_class_rows(X, y, sample_weight, "Mixture regression")
        if not np.size(X_unlabeled):
            raise CounterweightError(
                "Mixture regression learns from unlabeled rows, and there is none: use logistic."
            )
        hidden = checked_new_rows(X_unlabeled, X.shape[1])
        both = np.concatenate([X, hidden])
        scaled = Standardised(both, np.ones(len(both)))
        Z, H = np.split(scaled.features.rows, [len(X)])
        run = _Fit(Z, y, weight, H, l2=self.l2)
        values, converged = [], False
        sources, share = run.start(self.components, self.n_init, rng)
        while True:
            value, resp = run.expectation(sources, share)
            values.append(value - len(both) * np.log(scaled.scale).sum())
            rise = values[-1] - values[-2] if len(values) > 1 else np.inf
            converged = bool(rise <= self.tol * max(abs(value), len(both)))
            if converged or len(values) > self.max_iter:
                break
            sources, share = run.maximisation(sources, *resp)
        self.coef_ = np.array([source.coef for source in sources]) / scaled.scale
        self.intercept_ = np.array([s.intercept for s in sources]) - self.coef_ @ scaled.mean
        self.sources_ = [Mixture(**scaled.outward(source.mixture)) for source in sources]
        self.first_share_, self.selected_share_ = float(share), len(X) / len(both)
        self.log_likelihood_, self.converged_ = np.array(values), converged
        return self

    @property
    def n_iter_(self) -> int:
        """EM iterations, one at least."""
        return max(1, len(self.log_likelihood_) - 1)

    def predict_proba(self, X: ArrayLike, target: str = "unlabeled") -> np.ndarray:
        """Class probabilities (n, 2).

        Parameters
        ----------
        X : array (n, d)
        target : {"unlabeled", "general"}
            unlabeled: those of the first source. general: of the source that the row is of,
            labeled and unlabeled rows together.
        """
        X = checked_new_rows(X, self.coef_.shape[1])
        positive = expit(X @ self.coef_.T + self.intercept_)
        if target == "unlabeled":
            p = positive[:, 0]
        elif target == "general":
            second = self.selected_share_ * (1 - self.first_share_)
            with np.errstate(divide="ignore"):
                masses = np.log([1 - second, second])
            joint = np.column_stack([source.log_density(X) for source in self.sources_]) + masses
            p = (np.exp(joint - log_sum_exp(joint)[:, None]) * positive).sum(axis=1)
        else:
            raise CounterweightError(f"target must be unlabeled or general, not {target!r}.")
        return np.column_stack([1 - p, p])

    def to_arrays(self):
        """Everything fitted, as arrays of at most three dimensions, by name."""
        return {
            "coef": self.coef_,
            "intercept": self.intercept_,
            "weights": np.array([source.weights for source in self.sources_]),
            "means": np.array([source.means for source in self.sources_]),
            "covariances": np.concatenate([source.covariances for source in self.sources_]),
            "first_share": np.array([self.first_share_]),
            "selected_share": np.array([self.selected_share_]),
            "log_likelihood": self.log_likelihood_,
            "iterations": np.array([len(self.log_likelihood_) - 1]),
            "converged": np.array([float(self.converged_)]),
        }

    @classmethod
    def from_arrays(cls, arrays):
        """A fitted model from what `to_arrays` gave."""
        arrays = {name: np.asarray(values, dtype=float) for name, values in arrays.items()}
        means = arrays["means"]
        _, k, d = means.shape
        model = cls(components=k)
        model.coef_, model.intercept_ = arrays["coef"], arrays["intercept"]
        covariances = arrays["covariances"].reshape(2, k, d, d)
        model.sources_ = [Mixture(arrays["weights"][i], means[i], covariances[i]) for i in (0, 1)]
        for name in ("first_share", "selected_share", "converged"):
            setattr(model, f"{name}_", float(np.ravel(arrays[name])[0]))
        model.log_likelihood_ = arrays["log_likelihood"]
        return model


class _Fit:
    """The rows of a fit, standardised, and its EM steps."""

    def __init__(self, Z, y, weight, H, l2):
        self.Z, self.y, self.weight, self.H, self.l2 = Z, y, weight, H, l2
        self.sign = 2.0 * y - 1.0
        self.labeled = QuadraticRows(Z, weight)
        self.unlabeled = QuadraticRows(H, np.ones(len(H)))

    def start(self, k, n_init, rng):
        """Mixtures of the unlabeled and of the labeled rows; sources told by features alone."""
        options = {"n_init": n_init, "rng": rng, "tol": 1e-5}
        options |= {"scale": np.ones(self.Z.shape[1])}
        first = fit_mixture(self.H, k, **options)
        second = fit_mixture(self.Z, k, sample_weight=self.weight, **options)
        gap = first.log_density(self.Z) - second.log_density(self.Z)
        of_first = expit(gap)
        sources = []
        for mixture, part in ((first, of_first), (second, 1 - of_first)):
            parts = (mixture.weights, mixture.means, mixture.covariances)
            batch = Parameters(*(values[:, None] for values in parts))
            sources.append(_Source(batch, *self._regression(part)))
        return sources, np.average(of_first, weights=self.weight)

    def expectation(self, sources, share):
        """Log-likelihood, and responsibilities: of both sources' components for labeled rows,
        of the first source's for unlabeled ones.
        """
        with np.errstate(divide="ignore"):
            masses = np.log([share, 1 - share])
        joint = np.hstack(
            [
                source.components(self.Z) + source.label(self.Z, self.sign)[:, None] + mass
                for source, mass in zip(sources, masses, strict=True)
            ]
        )
        total = log_sum_exp(joint)
        hidden = sources[0].components(self.H)
        alone = log_sum_exp(hidden)
        value = self.weight @ total + alone.sum()
        return value, (np.exp(joint - total[:, None]), np.exp(hidden - alone[:, None]))

    def maximisation(self, sources, seen, hidden):
        """Sources and the share of the first, from the responsibilities."""
        k = hidden.shape[1]
        moments = self.labeled.moments(seen[None])
        moments[:k] += self.unlabeled.moments(hidden[None])
        made = []
        for source, part, rows in zip(
            sources, np.split(moments, 2), np.split(seen, 2, axis=1), strict=True
        ):
            held = part[..., 0] < 2 * self.Z.shape[1]
            mixture = maximisation(part, source.mixture, held, COVARIANCE_FLOOR)
            made.append(_Source(mixture, *self._regression(rows.sum(axis=1))))
        return made, np.average(seen[:, :k].sum(axis=1), weights=self.weight)

    def _regression(self, part):
        """Coefficients and constant of the label, from the rows that are of a source in part."""
        coef, intercept, *_ = fit_logistic(
            self.Z, self.y, np.maximum(self.weight * part, 1e-12), self.l2
        )
        return coef, intercept
