"""Predictive choice model: segments of people, and how each answers an offer."""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from counterweight.errors import CounterweightError
from counterweight.models.choice.checks import checked_offers, checked_rows_with_gaps
from counterweight.models.choice.offers import checked_revenue, mixed_acceptance
from counterweight.models.choice.scaling import used_features
from counterweight.models.choice.search import Search
from counterweight.models.choice.segment_model import SegmentModel, segment_shares
from counterweight.models.choice.steps import (
    LEAST_SLOPE,
    MOST_SLOPE,
    ChoiceRows,
    Choices,
    Prior,
    climb,
    few_steps,
    fit_curves,
)
from counterweight.numerics.checks import checked_labels, checked_weights
from counterweight.numerics.options import check_options

log = logging.getLogger("counterweight")

KIND = "offers"
#: Its offers are what a study gives away.
OFFERS = True
OPTIONS = {
    "components": {
        "type": ["integer", "null"],
        "minimum": 1,
        "default": None,
        "description": "Number of segments; null: the number of least description length.",
    },
    "most_components": {
        "type": "integer",
        "minimum": 1,
        "default": 10,
        "description": "Largest number of segments tried when components is null.",
    },
    "restarts": {
        "type": "integer",
        "minimum": 1,
        "default": 10,
        "description": "Random starts for each number of segments.",
    },
    "tolerance": {
        "type": "number",
        "minimum": 0,
        "exclusiveMaximum": 1,
        "default": 1e-6,
        "description": "EM stops when the log-likelihood of a row rises by less.",
    },
    "iterations": {
        "type": "integer",
        "minimum": 1,
        "default": 1000,
        "description": "Largest number of EM steps of a start.",
    },
    "covariance_floor": {
        "type": "number",
        "exclusiveMinimum": 0,
        "exclusiveMaximum": 1,
        "default": 1e-3,
        "description": "Least variance of a segment, as a share of that of a feature. It is "
        "larger for features of few values, which segments would shrink to otherwise.",
    },
    "prior": {
        "enum": ["none", "pooled"],
        "default": "none",
        "description": "pooled: normal prior of each response curve around that of all rows.",
    },
    "prior_slope": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "Mean of the slope k under the prior; null: the slope of all rows. Give one "
        "where past offers were made by segment, since the slope of all rows is then none.",
    },
    "prior_position_deviation": {
        "type": "number",
        "exclusiveMinimum": 0,
        "default": 2.0,
        "description": "Standard deviation of the log odds at the middle offer under the prior.",
    },
    "prior_slope_deviation": {
        "type": "number",
        "exclusiveMinimum": 0,
        "default": 5.0,
        "description": "Standard deviation of the slope k under the prior.",
    },
    "selection": {
        "enum": ["observed", "complete"],
        "default": "observed",
        "description": "Log-likelihood that decides between starts: observed, or, as in the "
        "paper's Algorithm 1, expected of the completed data.",
    },
    "moves": {
        "type": "boolean",
        "default": True,
        "description": "Start also from splits and merges of the best models of other sizes.",
    },
    "assignment": {
        "enum": ["hard", "soft"],
        "default": "soft",
        "description": "hard: the curve of the likeliest segment; soft: the mean over segments.",
    },
}
LABEL = "Choice model"

#: The chosen model is run on until a row's log-likelihood rises by less than this share of
#: the tolerance.
POLISH = 1e-3
#: Numbers (draws x rows) of bootstrap weights at a time.
DRAWN = 4_000_000


@dataclass(eq=False, repr=False)
class PredictiveChoiceModel(SegmentModel):
    """Mixture of Gaussian segments, each with a monotone logistic response to an offer.

    p(x, y | t) = sum_j w_j N(x; mu_j, Sigma_j) f_j(t)^y (1 - f_j(t))^(1 - y), with
    f_j(t) = logistic(k_j (t - eta_j)) and 0 < k_j <= 30, fitted by EM. It assumes that within a
    segment the answer depends on the offer alone. Then it does not matter how past offers
    depended on x (Theorem 1), as long as they varied within each segment; where they hardly
    did (``offer_deviation_``), eta and k are a guess, to which the option ``prior`` gives
    a centre.

    A new case is assigned by x alone: p(j | x).

    Missing features (NaN) are integrated out, in training and for new cases, which is right
    if they are missing at random; the rows are counted. Categories have to be coded as
    numbers (0/1 columns). Features without variation, and those that are a linear function of
    one other, are left out and counted. For features with few values the least variance of a
    segment is larger (`scaling.least_variance`): otherwise segments would shrink to single
    values.

    Parameters
    ----------
    components, most_components, restarts, tolerance, iterations, covariance_floor, prior, \
prior_slope, prior_position_deviation, prior_slope_deviation, selection, moves, assignment
        See `OPTIONS`.

    Attributes
    ----------
    weights_, eta_, k_ : ndarray (J,)
        Segments come by falling weight.
    means_ : ndarray (J, d)
        In the units of the features; d features are used, ``features_used_``.
    covariances_ : ndarray (J, d, d)
    n_components_ : int
    log_likelihood_ : float
        Observed, of all rows, in the units of the features.
    sizes_, mdl_, log_likelihoods_ : ndarray
        The numbers of segments tried, and their description length
        -log L + nu_J log(N) / 2, nu_J = J - 1 + J (d + d (d + 1) / 2 + 2), and log L.
    history_ : ndarray
        Objective after each EM step of the winner.
    converged_ : bool
    n_iter_ : int
    slopes_at_bound_, monotone_active_, one_answer_segments_ : int
        Segments with k at 30 (answers separated by the offer), with k at its least (acceptance
        does not rise with the offer), with less than one row of one kind of answer.
    covariances_at_floor_, updates_held_ : int
        Segments with a variance at the floor; updates that a segment missed for lack of rows.
    offer_deviation_ : ndarray (J,)
        Standard deviation of the offers in each segment.
    rows_missing_ : int
        Rows with a missing feature.
    constant_features_, duplicated_features_ : list of int
        Left out.
    components_capped_ : int
        0, or the largest number of segments that there are rows for, if more were to be tried.

    References
    ----------
    Noor, Dailey & Haddawy (2014), sections 2 and 3.
    """

    components: int | None = None
    most_components: int = 10
    restarts: int = 10
    tolerance: float = 1e-6
    iterations: int = 1000
    covariance_floor: float = 1e-3
    prior: str = "none"
    prior_slope: float | None = None
    prior_position_deviation: float = 2.0
    prior_slope_deviation: float = 5.0
    selection: str = "observed"
    moves: bool = True
    assignment: str = "soft"

    def fit(self, X, t, y, sample_weight=None, *, rng, feature_names=None):
        """Fit the model and choose the number of segments.

        Parameters
        ----------
        X : array (n, features)
            Numbers; NaN where missing.
        t : array (n,)
            Offers made, scaled to [0, 1] so that acceptance rises with them.
        y : array (n,) of 0 and 1
            1 if the offer was accepted.
        sample_weight : array (n,), optional
            A row of weight two counts as two rows.
        rng : numpy.random.Generator
        feature_names : sequence of str, optional
            For messages.

        Returns
        -------
        self

        Raises
        ------
        CounterweightError
            For unusable rows, offers or answers, answers of one kind only, or fewer rows than
            parameters.
        """
        check_options(self.get_params(), OPTIONS)
        X = checked_rows_with_gaps(X, feature_names)
        n = len(X)
        t = checked_offers(t, n)
        y = checked_labels(y, n, "answer")
        row_weights = checked_weights(sample_weight, n)
        used = row_weights > 0
        X, t, y, row_weights = X[used], t[used], y[used], row_weights[used]
        if (y == y[0]).all():
            raise CounterweightError(
                f"All {len(y)} answers are {y[0]}, so no response to an offer can be learned: "
                "check the answer column, or add rows with the other answer."
            )
        self.n_features_in_ = X.shape[1]
        features = used_features(X, row_weights, self.covariance_floor, feature_names)
        self.features_used_, self.centre_, self.scale_ = features[:3]
        self.constant_features_, self.duplicated_features_ = features[3:]
        data = ChoiceRows(self._scaled(X), t, y, row_weights)
        self.rows_missing_ = int(np.isnan(data.rows).any(axis=1).sum())
        most = self._most_components(data)
        rule = self._rule(data)
        search = Search(
            data,
            rng,
            restarts=self.restarts,
            tolerance=self.tolerance,
            iterations=self.iterations,
            selection=self.selection,
            moves=self.moves,
            **rule,
        )
        best = search.up_to(most)
        seen = ~np.isnan(data.rows) * row_weights[:, None]
        jacobian = float(seen.sum(axis=0) @ np.log(self.scale_))
        self.sizes_ = np.arange(1, most + 1)
        self.log_likelihoods_ = np.array([best[j].log_likelihood for j in self.sizes_]) - jacobian
        parameters_used = np.array([self.n_parameters(j) for j in self.sizes_])
        self.mdl_ = -self.log_likelihoods_ + 0.5 * parameters_used * np.log(data.total)
        chosen = int(self.sizes_[self.mdl_.argmin()]) if self.components is None else most
        self._finish(data, best[chosen], rule, jacobian)
        self._report()
        return self

    def n_parameters(self, components):
        """nu_J: free parameters of a model of J segments."""
        d = len(self.features_used_)
        return (components - 1) + components * (d + d * (d + 1) // 2 + 2)

    def _most_components(self, data):
        rows = float(data.total)
        largest = int(rows // (self.n_parameters(1) + 1)) + 1
        while largest > 0 and self.n_parameters(largest) >= rows:
            largest -= 1
        wanted = self.most_components if self.components is None else self.components
        self.components_capped_ = 0
        if largest < 1 or (self.components is not None and largest < wanted):
            least = self.n_parameters(1 if largest < 1 else wanted)
            what = "one segment" if largest < 1 or wanted == 1 else f"{wanted} segments"
            raise CounterweightError(
                f"A model of {what} of {len(self.features_used_)} features has {least} parameters, "
                f"but there are {rows:.6g} rows: give more rows, fewer features"
                + ("." if largest < 1 else f", or at most {largest} segments.")
            )
        if largest < wanted:
            self.components_capped_ = largest
            log.warning(
                "%.6g rows are enough for %d segments only: %d are not tried.",
                rows,
                largest,
                wanted,
            )
        return min(wanted, largest)

    def _rule(self, data):
        """What every EM step on the rows goes by."""
        prior = None
        if self.prior == "pooled":
            deviations = np.array([self.prior_position_deviation, self.prior_slope_deviation])
            pooled = fit_curves(data.t, data.y, data.row_weights)[0]
            if self.prior_slope is not None:
                pooled[1] = self.prior_slope
            prior = Prior(pooled, 1.0 / deviations**2)
        least = data.rows.shape[1] + 2.0
        return {"floor": self.covariance_floor, "minimum_rows": least, "prior": prior}

    def _finish(self, data, best, rule, jacobian):
        steps = {"tolerance": self.tolerance * POLISH, "iterations": self.iterations}
        last = climb(data, best.parameters, **steps, **rule)
        parameters = last.parameters
        order = np.lexsort((parameters.means[:, 0, 0], -parameters.weights[:, 0]))
        parameters = Choices(*(values[order] for values in parameters))
        joint = data.log_joint(parameters)
        answered = joint + self._log_answer(data, parameters.curves[:, 0])
        total = logsumexp(answered, axis=1, keepdims=True)
        gamma = np.exp(answered - total).T * data.row_weights
        mass = np.maximum(gamma.sum(axis=1), 1e-300)
        self.weights_ = parameters.weights[:, 0] / parameters.weights.sum()
        self.means_ = self.centre_ + self.scale_ * parameters.means[:, 0]
        self.covariances_ = parameters.covariances[:, 0] * np.outer(self.scale_, self.scale_)
        self.k_ = parameters.curves[:, 0, 1]
        self.eta_ = 0.5 - parameters.curves[:, 0, 0] / self.k_
        self.n_components_ = len(self.k_)
        self.log_likelihood_ = float((total[:, 0] * data.row_weights).sum()) - jacobian
        self.history_ = np.concatenate([best.history, [row[0] for row in last.history[1:]]])
        self.history_ = self.history_[~np.isnan(self.history_)]
        self.converged_ = bool(best.converged)
        self.n_iter_ = int(best.iterations + last.iterations[0])
        self.slopes_at_bound_ = int((self.k_ >= MOST_SLOPE - 1e-6).sum())
        self.monotone_active_ = int((self.k_ <= LEAST_SLOPE * (1 + 1e-6)).sum())
        yes = gamma @ data.y
        self.one_answer_segments_ = int((np.minimum(yes, mass - yes) < 1.0).sum())
        least = np.linalg.eigvalsh(parameters.covariances[:, 0])[:, 0]
        self.covariances_at_floor_ = int((least <= self.covariance_floor * (1 + 1e-6)).sum())
        self.updates_held_ = int(best.held + last.held[0])
        mean = gamma @ data.t / mass
        spread = gamma @ np.square(data.t) / mass - mean**2
        self.offer_deviation_ = np.sqrt(np.maximum(spread, 0.0))

    @staticmethod
    def _log_answer(data, curves):
        sign = 2.0 * data.y - 1.0
        odds = curves[:, 0] + (data.t[:, None] - 0.5) * curves[:, 1]
        return -np.logaddexp(0.0, -sign[:, None] * odds)

    def _report(self):
        for count, what in (
            (self.slopes_at_bound_, "with a slope at its bound: the offer separates the answers"),
            (self.monotone_active_, "in which acceptance does not rise with the offer"),
            (self.one_answer_segments_, "with one kind of answer"),
            (self.covariances_at_floor_, "with a variance at the floor"),
        ):
            if count:
                log.warning("%d of %d segments %s.", count, self.n_components_, what)
        if not self.converged_:
            log.warning("EM did not converge within %d steps: raise iterations.", self.iterations)

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
        data = ChoiceRows(self._scaled(X), t, y, row_weights)
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

    def refitted(self, X, t, y, *, rng, draws, steps=5):
        """Bootstrap draws of the model itself, in scaled features; see `bootstrap_totals`.

        Returns
        -------
        Choices
            A batch of `draws` models.
        """
        data = ChoiceRows(self._scaled(checked_rows_with_gaps(X)), t, y)
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
