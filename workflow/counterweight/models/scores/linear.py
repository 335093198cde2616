"""Linear models of an outcome on typed columns: logistic regression, or ridge regression."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Number
from counterweight.numerics.checks import checked_weights
from counterweight.numerics.linear import fit_logistic

KIND = "blanks"
OPTIONS = {
    "penalty": Number(1.0, "Penalty on the coefficients of standardised features, in all.", above=0),
}  # fmt: skip
LABEL = "Linear model"


class LinearScore:
    """Logistic regression of a class, ridge regression of a number, weighted.

    Minimises the weighted loss of n rows plus ``penalty / 2 |coef|^2`` on standardised features
    (one column a level of a category): a normal prior of variance 1 / penalty, whatever n is.

    Parameters
    ----------
    penalty : float

    Attributes
    ----------
    coef_ : numpy.ndarray (d,)
        In units of 1/feature (of the outcome per feature, where that is a number).
    intercept_ : float
    centre_ : numpy.ndarray (d,)
        Means of the features over the rows of the fit.
    binary_, converged_ : bool
    """

    def __init__(self, penalty=1.0):
        self.penalty = penalty

    def fit(self, rows, y, weight=None, *, binary, rng=None):
        """Fit.

        Parameters
        ----------
        rows : counterweight.labeling.encoding.Encoded
            n rows.
        y : array (n,)
            0 and 1 where `binary`, else numbers.
        weight : array (n,), optional
        binary : bool
        rng
            Not needed: the optimum is unique.

        Raises
        ------
        CounterweightError
            When rows, outcomes or weights cannot be used.
        """
        X = rows.dense()
        self.binary_, self.converged_ = bool(binary), True
        self.centre_ = X.mean(axis=0)
        if binary:
            self.coef_, self.intercept_, _, self.converged_ = fit_logistic(
                X, y, weight, self.penalty / len(X)
            )
        else:
            self.coef_, self.intercept_ = _ridge(X, y, weight, self.penalty)
        return self

    def predict(self, rows):
        """Chance of 1, or the expected number, (n,)."""
        return self.answers(rows.dense() @ self.coef_ + self.intercept_)

    def answers(self, raw):
        """What `predict` makes of raw scores."""
        from scipy.special import expit

        return expit(raw) if self.binary_ else raw

    def explained(self, rows):
        """Raw score, its mean, contributions; see `counterweight.models.scores.contributions`."""
        from counterweight.models.scores.contributions import linear_parts

        X = rows.dense()
        base = float(self.intercept_ + self.centre_ @ self.coef_)
        raw = X @ self.coef_ + self.intercept_
        return raw, base, linear_parts(rows, X, self.coef_, self.centre_)

    def to_arrays(self):
        """Fitted numbers by name."""
        return {
            "coef": self.coef_,
            "centre": self.centre_,
            "intercept": self.intercept_,
            "binary": float(self.binary_),
            "converged": float(self.converged_),
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls()
        model.coef_ = np.asarray(arrays["coef"], dtype=float)
        model.centre_ = np.asarray(arrays["centre"], dtype=float)
        model.intercept_ = float(arrays["intercept"])
        model.binary_ = bool(arrays["binary"])
        model.converged_ = bool(arrays["converged"])
        return model


def _ridge(X, y, weight, penalty):
    """Coefficients and intercept of weighted ridge regression on standardised features."""
    weight = checked_weights(weight, len(X))
    if not np.isfinite(y).all():
        raise CounterweightError("Outcomes must be finite numbers in the rows of a fit.")
    weight = weight / weight.mean()
    share = weight / weight.sum()
    centre, middle = share @ X, share @ y
    scale = np.sqrt(share @ (X - centre) ** 2)
    scale[scale == 0] = 1.0
    standard = (X - centre) / scale
    gram = (standard * weight[:, None]).T @ standard + penalty * np.eye(X.shape[1])
    coef = np.linalg.solve(gram, standard.T @ (weight * (y - middle))) / scale
    return coef, float(middle - coef @ centre)
