"""What a fitted model of segments and response curves says of people."""

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator

from counterweight.errors import CounterweightError
from counterweight.models.choice.checks import (
    checked_new_rows_with_gaps,
    checked_offers,
    checked_rows_with_gaps,
)
from counterweight.models.choice.offers import (
    Offers,
    acceptance,
    checked_revenue,
    mixed_acceptance,
    optimal_offer,
    soft_optimal_offer,
)
from counterweight.models.choice.scaling import Features
from counterweight.models.choice.steps import MOST_POSITION, ChoiceRows, Choices, few_steps
from counterweight.numerics.checks import checked_labels, checked_weights
from counterweight.numerics.emissions.components import COVARIANCES, Emission

#: Fitted numbers that a model is stored in, in order, and their types.
WHOLE = (
    *("n_components", "n_features_in", "n_iter", "features_used", "sizes", "slopes_at_bound"),
    *("monotone_active", "one_answer_segments", "covariances_at_floor", "updates_held"),
    *("rows_missing", "components_capped"),
)
LISTS = ("constant_features", "duplicated_features", "uninformative_features")
STORED = dict.fromkeys(
    (
        *("weights", "means", "covariances", "eta", "k", "centre", "scale", "log_likelihood"),
        *("mdl", "log_likelihoods", "history", "offer_deviation"),
    ),
    float,
) | {"converged": bool, **dict.fromkeys((*WHOLE, *LISTS), int)}
#: Numbers (draws x rows) of bootstrap weights at a time.
DRAWN = 4_000_000
#: Offers of the first grid on which the best offers of a draw are looked for.
DRAWN_POINTS = 33
#: Centre and scale of the numbers; and what is empty where all features are categories.
SCALING = ("centre", "scale")
MAYBE = (*LISTS, *SCALING, "features_used", "means", "covariances")


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
        arrays = {name: np.asarray(getattr(self, f"{name}_")) for name in STORED}
        arrays |= self._features.to_arrays() | {"shares": self.shares_}
        return arrays | {"covariance_kind": np.array(COVARIANCES.index(self.covariance_))}

    @classmethod
    def from_arrays(cls, arrays, **options):
        """Fitted model from `to_arrays`; a list that was stored without any entry may be absent."""
        model = cls(**options)
        if "covariance_kind" in arrays:
            model.covariance_ = COVARIANCES[int(np.ravel(arrays["covariance_kind"])[0])]
        else:
            model.covariance_ = "full"
        for name, kind in STORED.items():
            value = arrays.get(name, ()) if name in MAYBE else arrays[name]
            value = np.asarray(value).astype(kind)
            if name in LISTS:
                value = value.reshape(-1).tolist()
            elif value.ndim == 0:
                value = value.item()
            setattr(model, f"{name}_", value)
        used = [np.reshape(getattr(model, f"{n}_"), -1) for n in ("features_used", *SCALING)]
        model.features_used_, model.centre_, model.scale_ = used
        count = len(used[0])
        model.means_ = np.reshape(model.means_, (-1, count)) if count else model._empty(0)
        model.covariances_ = np.reshape(model.covariances_, (-1, count, count))
        if not count:
            model.covariances_ = model._empty(0, 0)
        model._features = Features.from_arrays(arrays, *used)
        levels = sum(model._features.levels)
        shares = np.asarray(arrays.get("shares", ()), dtype=float)
        model.shares_ = shares.reshape(-1, levels) if levels else model._empty(0)
        return model

    def _empty(self, *shape):
        return np.empty((len(self.weights_), *shape))

    @property
    def _emission(self):
        return Emission(len(self.centre_), self._features.levels, self.covariance_)

    def _rows(self, X, *answered):
        """`ChoiceRows` of checked rows, perhaps with offers, answers and weights."""
        numbers, codes = self._features.split(X)
        answered = answered or (None, None, None)
        return ChoiceRows(numbers, *answered, codes, self._emission)

    def _new_rows(self, X):
        return self._rows(checked_new_rows_with_gaps(X, self.n_features_in_))

    def _parameters(self):
        curves = np.stack([self.k_ * (0.5 - self.eta_), self.k_], axis=-1)
        curves[:, 0] = np.clip(curves[:, 0], -MOST_POSITION, MOST_POSITION)
        return Choices(
            self.weights_[:, None],
            ((self.means_ - self.centre_) / self.scale_)[:, None],
            (self.covariances_ / np.outer(self.scale_, self.scale_))[:, None],
            curves[:, None],
            self.shares_[:, None],
        )

    def bootstrap_totals(
        self,
        X,
        t,
        y,
        new_X,
        new_t,
        *,
        rng,
        draws=200,
        steps=5,
        revenue=(1.0, -1.0),
        assignment=None,
        sample_weight=None,
    ):
        """Expected enrolment and revenue of new rows at given offers, refitted many times.

        Each draw resamples the training rows with replacement and takes a few EM steps from
        the fitted model, so segments keep their meaning. The number of segments is not chosen
        again, and few steps do not reach the new optimum where segments overlap much:
        intervals are then too narrow. The noise of the answers themselves is not in them.

        Parameters
        ----------
        X, t, y, sample_weight
            Training rows, as in `fit`.
        new_X : array (m, features)
        new_t : array (m,)
            Offers whose totals are wanted.
        rng : numpy.random.Generator
        draws, steps : int
        revenue, assignment
            See `optimal_offers`.

        Returns
        -------
        enrolment, revenue : ndarray (draws,)
            Sums over the new rows. Quantiles of them are the interval.
        """
        a, b = checked_revenue(revenue)
        X = checked_rows_with_gaps(X)
        n = len(X)
        row_weights = checked_weights(sample_weight, n)
        t, y = checked_offers(t, n), checked_labels(y, n, "answer")
        data = self._rows(X, t, y, row_weights)
        new = self._new_rows(new_X)
        new_t = checked_offers(new_t, len(new.rows))
        totals = np.empty((2, draws))
        for first, refitted in self._refitted(data, rng, draws, steps):
            for number in range(refitted.weights.shape[1]):
                one = refitted.restarts([number])
                position, k = one.curves[:, 0].T
                shares = self._assigned(segment_shares(new, one), assignment)
                p = mixed_acceptance(shares, new_t, 0.5 - position / k, k)
                totals[:, first + number] = p.sum(), p @ (a + b * new_t)
        return totals[0], totals[1]

    def bootstrap_claims(
        self,
        X,
        t,
        y,
        new_X,
        *,
        rng,
        draws=200,
        steps=5,
        revenue=(1.0, -1.0),
        assignment=None,
        grid=None,
    ):
        """By how much claims of best offers exceed what they would bring, by the bootstrap.

        The best offers of a fit are best by its own errors, so what it claims for them is too
        much on the average. Each draw refits the model to resampled rows (as `bootstrap_totals`
        does), finds its best offers anew, and takes what it claims for them, less what the model
        of all rows expects of these same offers. This excess stands for that of the claim over
        the truth: the claim less quantiles of it is an interval for what the offers bring.

        Parameters
        ----------
        X, t, y
            Training rows, as in `fit`.
        new_X : array (m, features)
        rng, draws, steps, revenue, assignment
            See `bootstrap_totals`.
        grid : array, optional
            The only offers that can be made.

        Returns
        -------
        enrolment, revenue : ndarray (draws,)
            Sums over the new rows.
        single : ndarray (draws,)
            The one offer to all of them that earns most, by the likeliest segments.
        """
        a, b = checked_revenue(revenue)
        n = len(X)
        t, y = checked_offers(t, n), checked_labels(y, n, "answer")
        data = self._rows(checked_rows_with_gaps(X), t, y, np.ones(n))
        new = self._new_rows(new_X)
        own = self._assigned(segment_shares(new, self._parameters()), assignment)
        found, tried = np.empty((3, draws)), np.linspace(0.0, 1.0, 1001) if grid is None else grid
        for first, refitted in self._refitted(data, rng, draws, steps):
            for number in range(refitted.weights.shape[1]):
                one = refitted.restarts([number])
                position, k = one.curves[:, 0].T
                eta = 0.5 - position / k
                shares = self._assigned(segment_shares(new, one), assignment)
                if (assignment or self.assignment) == "hard":
                    offers = optimal_offer(eta, k, revenue=revenue, grid=grid)
                    offers = offers[shares.argmax(axis=1)]
                else:
                    offers = soft_optimal_offer(
                        shares, eta, k, revenue=revenue, grid=grid, points=DRAWN_POINTS
                    )
                gap = mixed_acceptance(shares, offers, eta, k)
                gap = gap - mixed_acceptance(own, offers, self.eta_, self.k_)
                people = np.bincount(shares.argmax(axis=1), minlength=len(k))
                earned = people @ acceptance(tried, eta[:, None], k[:, None]) * (a + b * tried)
                totals = gap.sum(), gap @ (a + b * offers), tried[earned.argmax()]
                found[:, first + number] = totals
        return tuple(found)

    def refitted(self, X, t, y, *, rng, draws, steps=5):
        """Bootstrap draws of the model itself, in scaled features; see `bootstrap_totals`.

        Returns
        -------
        Choices
            A batch of `draws` models.
        """
        data = self._rows(checked_rows_with_gaps(X), t, y, np.ones(len(X)))
        parts = [batch for _, batch in self._refitted(data, rng, draws, steps)]
        return Choices(*(np.concatenate(values, axis=1) for values in zip(*parts, strict=True)))

    def _refitted(self, data, rng, draws, steps):
        """Batches of refitted models, each with the number of its first draw."""
        n, rule = len(data.rows), self._rule(data)
        step = max(min(DRAWN // n, draws), 1)
        for first in range(0, draws, step):
            size = min(step, draws - first)
            drawn = np.stack(
                [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(size)]
            )
            start = Choices(*(np.repeat(values, size, axis=1) for values in self._parameters()))
            weighted = data.reweighted(drawn * data.row_weights)
            yield first, few_steps(weighted, start, steps, **rule)
