"""Mixture regression for covariate shift: two sources, of which one has labeled rows only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from counterweight.errors import CounterweightError
from counterweight.fragments import Integer, Number
from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.checks import check_options, checked_new_rows, two_class_rows
from counterweight.numerics.emissions import gaussian_log_density, log_sum_exp
from counterweight.numerics.gaussian_mixture import Mixture, Standardised, fit_mixture
from counterweight.numerics.linear import fit_logistic
from counterweight.numerics.mixture_steps import Parameters, QuadraticRows, maximisation

OPTIONS = {
    "components": Integer(3, "Gaussian components of each source.", minimum=1),
    "n_init": Integer(5, "Random starts of the mixture that each source begins from.", minimum=1),
    "tol": Number(1.0e-6, "EM stops when the log-likelihood rises by less than this share of it.", above=0, below=1),
    "max_iter": Integer(100, "Most EM iterations.", minimum=1),
    "l2": Number(1e-6, "Penalty on standardised coefficients, for each row; 0 for none.", minimum=0),
}  # fmt: skip
LABEL = "Two-source mixture regression"
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
        check_options(vars(self), OPTIONS)
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
