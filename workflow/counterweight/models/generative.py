"""Generative classifier: a prior and a Gaussian mixture of the features for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from counterweight.fragments import Choice, Integer, Number
from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.checks import check_options
from counterweight.numerics.emissions import Layout
from counterweight.numerics.gaussian_mixture import ClassMixtures, fit_class_mixtures, posterior

OPTIONS = {
    "components": Integer(6, "Gaussian components of each class.", minimum=1),
    "n_init": Integer(25, "Random starts of EM; the one with the best log-likelihood is kept.", minimum=1),
    "tol": Number(1.0e-7, "EM stops when the log-likelihood changes by less than this share.", minimum=0, below=1),
    "max_iter": Integer(2000, "Most EM iterations of one start.", minimum=1),
    "start": Choice("shared", ["shared", "separate"],
        "shared: both classes start from one mixture of all rows; separate: each class has random starts of its own."),
    "draw": Integer(0, "Number of the set of random starts: another number, another set.", minimum=0),
    "reg_covar": Number(1.0e-6, "Least eigenvalue of a covariance of standardised features.", above=0, below=1),
    "covariance": Choice("full", ["full", "diagonal", "tied"], "One matrix for each component; variances only; or one matrix for all components of a class."),
    "categories": Choice("auto", ["auto", "none"],
        "auto: features that the recipe declares categories are categories; none: they are numbers like all others."),
}  # fmt: skip
LABEL = "Class mixtures"


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
        check_options(vars(self), OPTIONS)
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
