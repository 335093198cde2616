"""Selection model: one Gaussian mixture for the labeled rows, one for the others."""

from sklearn.base import BaseEstimator

from counterweight.fragments import Integer, Number
from counterweight.numerics.estimator import NamedColumns
from counterweight.numerics.gaussian_mixture import fit_class_mixtures, fit_mixture, posterior

OPTIONS = {
    "components": Integer(6, "Gaussian components of each mixture.", minimum=1),
    "restarts": Integer(5, "Random starts of the mixture of all rows.", minimum=1),
    "tolerance": Number(1e-6, "Relative change of the log-likelihood at which EM stops.", above=0),
}  # fmt: skip
LABEL = "Gaussian mixture"


class GaussianMixtureSelector(NamedColumns, BaseEstimator):
    """p(s = 1 | x) by Bayes' rule from two Gaussian mixtures.

    Both start from one mixture of p(x). That one never sees s, so all folds of the
    calibration share it.

    Parameters
    ----------
    components, restarts : int
    tolerance : float
    """

    def __init__(self, components=6, restarts=5, tolerance=1e-6):
        self.components = components
        self.restarts = restarts
        self.tolerance = tolerance

    def prepare(self, X, rng):
        """The mixture of p(x) that all folds start from."""
        return fit_mixture(
            X, self.components, restarts=self.restarts, tolerance=self.tolerance, rng=rng
        )

    def fit(self, X, s, *, rng=None, shared=None):
        """Fit on rows X, shape (n, d), with labeled or not s, shape (n,)."""
        options = {"restarts": self.restarts, "tolerance": self.tolerance}
        self.mixtures_, fitted, _ = fit_class_mixtures(
            X, s, self.components, rng=rng, base=shared, **options
        )
        self.converged_ = all(mixture.converged for mixture in fitted)
        return self

    def predict(self, X):
        """Uncalibrated p(s = 1 | x), shape (n,)."""
        return posterior(self.mixtures_.joint_log_density(X))[:, 1]
