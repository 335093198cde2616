"""What a fitted model of segments and response curves says of people."""

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator

from counterweight.errors import CounterweightError
from counterweight.models.choice.checks import checked_new_rows_with_gaps, checked_offers
from counterweight.models.choice.offers import (
    Offers,
    checked_revenue,
    mixed_acceptance,
    optimal_offer,
    soft_optimal_offer,
)
from counterweight.models.choice.steps import MOST_POSITION, ChoiceRows, Choices

#: Fitted numbers that a model is stored in, in order, and their types.
WHOLE = (
    *("n_components", "n_features_in", "n_iter", "features_used", "sizes", "slopes_at_bound"),
    *("monotone_active", "one_answer_segments", "covariances_at_floor", "updates_held"),
    *("rows_missing", "components_capped"),
)
LISTS = ("constant_features", "duplicated_features")
STORED = dict.fromkeys(
    (
        *("weights", "means", "covariances", "eta", "k", "centre", "scale", "log_likelihood"),
        *("mdl", "log_likelihoods", "history", "offer_deviation"),
    ),
    float,
) | {"converged": bool, **dict.fromkeys((*WHOLE, *LISTS), int)}


def segment_shares(rows, parameters):
    """p(j | x) by the features alone, (n, J), of `ChoiceRows` and a batch of one model."""
    joint = rows.log_joint(parameters)
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


class SegmentModel(BaseEstimator):
    """Segments of people with response curves: predictions, best offers, storage.

    A subclass fits what is in `STORED` (each with ``_`` at its end), and has the option
    ``assignment``.
    """

    def predict_segments(self, X):
        """p(j | x) by the features alone, (n, J); the weights where all are missing."""
        return segment_shares(self._new_rows(X), self._parameters())

    def predict_acceptance(self, X, t, assignment=None):
        """Probability that each row accepts its offer t, (n,)."""
        shares = self.predict_segments(X)
        t = checked_offers(t, len(shares))
        return mixed_acceptance(self._assigned(shares, assignment), t, self.eta_, self.k_)

    def optimal_offers(self, X, assignment=None, revenue=(1.0, -1.0), low=0.0, high=1.0, grid=None):
        """Offer of largest expected revenue for each row, on the scale of t.

        Parameters
        ----------
        X : array (n, features)
        assignment : {"hard", "soft"}, optional
            The option of the model if not given.
        revenue : tuple (a, b)
            Revenue a + b t of an accepted offer.
        low, high : float
            Bounds of the offer.
        grid : array, optional
            The only offers that can be made.

        Returns
        -------
        Offers
        """
        a, b = checked_revenue(revenue)
        shares = self._assigned(self.predict_segments(X), assignment)
        if (assignment or self.assignment) == "hard":
            best = optimal_offer(self.eta_, self.k_, low, high, revenue, grid)
            offers = best[shares.argmax(axis=1)]
        else:
            offers = soft_optimal_offer(shares, self.eta_, self.k_, low, high, revenue, grid)
        p = mixed_acceptance(shares, offers, self.eta_, self.k_)
        return Offers(offers, p, p * (a + b * offers))

    def _assigned(self, shares, assignment):
        assignment = assignment or self.assignment
        if assignment not in ("hard", "soft"):
            raise CounterweightError(f"assignment must be hard or soft, not {assignment}.")
        if assignment == "soft":
            return shares
        return np.eye(shares.shape[1])[shares.argmax(axis=1)]

    def to_arrays(self):
        """Fitted numbers by name."""
        return {name: np.asarray(getattr(self, f"{name}_")) for name in STORED}

    @classmethod
    def from_arrays(cls, arrays, **options):
        """Fitted model from `to_arrays`; a list that was stored without any entry may be absent."""
        model = cls(**options)
        for name, kind in STORED.items():
            value = arrays.get(name, ()) if name in LISTS else arrays[name]
            value = np.asarray(value).astype(kind)
            if name in LISTS:
                value = value.reshape(-1).tolist()
            elif value.ndim == 0:
                value = value.item()
            setattr(model, f"{name}_", value)
        return model

    def _scaled(self, X):
        return (X[:, self.features_used_] - self.centre_) / self.scale_

    def _new_rows(self, X):
        return ChoiceRows(self._scaled(checked_new_rows_with_gaps(X, self.n_features_in_)))

    def _parameters(self):
        curves = np.stack([self.k_ * (0.5 - self.eta_), self.k_], axis=-1)
        curves[:, 0] = np.clip(curves[:, 0], -MOST_POSITION, MOST_POSITION)
        return Choices(
            self.weights_[:, None],
            ((self.means_ - self.centre_) / self.scale_)[:, None],
            (self.covariances_ / np.outer(self.scale_, self.scale_))[:, None],
            curves[:, None],
        )
