"""The selection model by Gaussian mixtures, which no other selection model needs to load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from counterweight.fragments import Integer, Number
from counterweight.numerics.gaussian_mixture import fit_class_mixtures, fit_mixture, posterior
from counterweight.selection.selectors import Selector

LABEL = "Gaussian mixture"
OPTIONS = {
    "components": Integer(6, "Gaussian components of each mixture.", minimum=1),
    "n_init": Integer(5, "Random starts of the mixture of all rows.", minimum=1),
    "tol": Number(1e-6, "Relative change of the log-likelihood at which EM stops.", above=0),
}


@dataclass(eq=False, repr=False)
class GaussianMixtureSelector(Selector):
    """p(s = 1 | x) by Bayes' rule from two Gaussian mixtures.

    Both start from one mixture of p(x). That one never sees s, so all folds of the
    calibration share it.

    Parameters
    ----------
    components, n_init : int
    tol : float
    random_state : int, Generator or None
        Of the random starts, where ``fit`` is given no `rng`.
    """

    components: int = 6
    n_init: int = 5
    tol: float = 1e-6
    random_state: int = 0

    def prepare(self, X, rng):
        """The mixture of p(x) that all folds start from."""
        return fit_mixture(X, self.components, n_init=self.n_init, tol=self.tol, rng=rng)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rng: np.random.Generator | None = None,
        shared: object = None,
    ) -> Self:
        """Fit on rows (n, d) and whether each is labeled (n,); `shared` is of `prepare`."""
        options = {"n_init": self.n_init, "tol": self.tol}
        self.mixtures_, fitted, _ = fit_class_mixtures(
            X, y, self.components, rng=rng, base=shared, **options
        )
        self.converged_ = all(mixture.converged for mixture in fitted)
        return self

    def _positive(self, X):
        return posterior(self.mixtures_.joint_log_density(X))[:, 1]
