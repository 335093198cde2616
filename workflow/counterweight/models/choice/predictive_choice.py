"""Predictive choice model: segments of people, and how each answers an offer.

Of models of every number of segments it is the one of least description length.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from counterweight.errors import CounterweightError
from counterweight.fragments import Choice, Flag, Integer, Number
from counterweight.models.choice.covariates import (
    Mover,
    gate_design,
    gate_parameters,
    gates_by_size,
    memberships,
)
from counterweight.models.choice.offer_model import checked_offers
from counterweight.models.choice.search import Search, Sizes
from counterweight.models.choice.segment_model import Features, SegmentModel
from counterweight.models.choice.steps import (
    LEAST_SLOPE,
    MOST_SLOPE,
    Choices,
    Prior,
    climb,
    fit_curves,
)
from counterweight.numerics.checks import check_options, checked_weights

log = logging.getLogger("counterweight")

TASK = "offers"
#: Its people are priced by segments, hard or soft; a study with such a method gives offers away.
OFFERS = True
OPTIONS = {
    "components": Integer(None, "Number of segments; null: the number of least description length.", minimum=1, null=True),
    "most_components": Integer(10, "Largest number of segments tried when components is null.", minimum=1),
    "n_init": Integer(10, "Random starts for each number of segments.", minimum=1),
    "tol": Number(1e-6, "EM stops when the log-likelihood of a row rises by less.", minimum=0, below=1),
    "iterations": Integer(1000, "Largest number of EM steps of a start.", minimum=1),
    "reg_covar": Number(1e-3,
        "Least variance of a segment, as a share of that of a feature. It is larger for features of few values, which "
        "segments would shrink to otherwise.", above=0, below=1),
    "covariance": Choice("auto", ["auto", "full", "diagonal", "tied"],
        "Of the numbers in a segment: one matrix each, variances only, or one matrix for all. auto: full, but with "
        "fewer than 30 rows for each parameter of a segment the one of least description length."),
    "categories": Choice("auto", ["auto", "declared", "none"],
        "declared: features that the recipe declares categories have a share of each level in each segment. auto: "
        "features with two values, too. none: all are numbers."),
    "membership": Choice("features", ["features", "gates"],
        "Who is of which segment. features: segments say how features are distributed, too. gates: a multinomial logit "
        "of the features, which says nothing of them, so that segments are what tells answers apart."),
    "thresholds": Choice("auto", ["auto", "segments", "additive"],
        "segments: one threshold in each segment. additive: also tried with thresholds that features move, by as much "
        "in all segments; kept where the description is shorter. auto: additive where there are categories."),
    "prior": Choice("none", ["none", "pooled"], "pooled: normal prior of each response curve around that of all rows."),
    "prior_slope": Number(None,
        "Mean of the slope k under the prior; null: the slope of all rows. Give one where past offers were made by "
        "segment, since the slope of all rows is then none.", above=0, null=True),
    "prior_position_deviation": Number(2.0, "Standard deviation of the log odds at the middle offer under the prior.", above=0),
    "prior_slope_deviation": Number(5.0, "Standard deviation of the slope k under the prior.", above=0),
    "selection": Choice("observed", ["observed", "complete"],
        "Log-likelihood that decides between starts: observed, or, as in the paper's Algorithm 1, expected of the "
        "completed data."),
    "moves": Flag(True, "Start also from splits and merges of the best models of other sizes."),
    "curves": Choice("random", ["random", "regression"],
        "Response curves of random starts: drawn around that of all rows, or, as in the paper's section 3.4, by linear "
        "regression of the answers on the offers of each starting segment."),
    "assignment": Choice("soft", ["hard", "soft"], "hard: the curve of the likeliest segment; soft: the mean over segments."),
}  # fmt: skip
LABEL = "Choice model"

#: The chosen model is run on until a row's log-likelihood rises by less than this share of
#: the tolerance.
POLISH = 1e-3
#: Rows for each parameter of a segment below which covariances other than full are tried.
FEW_ROWS = 30
#: Searches, at most, each without the categories that the last one had no use for.
PASSES = 3


@dataclass(eq=False, repr=False)
class PredictiveChoiceModel(SegmentModel):
    """Mixture of segments of features, each with a monotone logistic response to an offer.

    p(x, y | t) = sum_j w_j p_j(x) f_j(t)^y (1 - f_j(t))^(1 - y), with
    f_j(t) = logistic(k_j (t - eta_j)) and 0 < k_j <= 30, fitted by EM. Numbers are Gaussian in a
    segment, N(x; mu_j, Sigma_j), categories have a share of each level, and are independent of
    everything else in it. It assumes that within a segment the answer depends on the offer alone.
    Then it does not matter how past offers depended on x (Theorem 1), as long as they varied
    within each segment; where they hardly did (``offer_deviation_``), eta and k are a guess, to
    which the option ``prior`` gives a centre. A new case is assigned by x alone: p(j | x).

    With gates (`counterweight.models.choice.covariates`) p(j | x) is a multinomial logit and the
    density that of the answers alone, nu_J = (J - 1)(1 + numbers + levels - 1 of each category) +
    2 J. ``means_``, ``covariances_`` and ``shares_`` then describe the members. With categories it
    is also tried to let features move the thresholds of all segments alike (same module); ``eta_``
    is then that of a person whom they do not move, and `threshold_moves` tells by how much.

    Missing features (NaN) are integrated out, in training and for new cases, which is right
    if they are missing at random. Features without variation, and those that are a linear function
    of one other, are left out. So are categories that segments do not tell apart: where shares of
    its own in each segment make the likelihood of a category larger by less than their parameters
    cost, (J - 1)(levels - 1) log(N) / 2, it has the same shares in all and says nothing of
    segments. Shares are smoothed by half a row a level. For numbers with few values (three or
    more) the least variance of a segment is larger (`segment_model.least_variance`): otherwise
    segments would shrink to single values.

    Parameters are told by `OPTIONS`; `random_state` is of the random starts.

    Attributes
    ----------
    weights_, eta_, k_ : ndarray (J,)
        Segments come by falling weight.
    means_, covariances_ : ndarray (J, d), (J, d, d)
        In the units of the features; d numbers are used, ``features_used_``. ``covariance_`` is
        full, diagonal or tied.
    shares_ : ndarray (J, L)
        Of the levels of the categories that are used, category after category.
    n_components_, n_iter_, converged_, log_likelihood_
        The last is observed, of all rows, in the units of the features.
    sizes_, mdl_, log_likelihoods_ : ndarray
        The numbers of segments tried, and their description length
        -log L + nu_J log(N) / 2, and log L. Of full covariances nu_J = J - 1 +
        J (d + d (d + 1) / 2 + 2); each category adds J (levels - 1).
    history_ : ndarray
        Objective after each EM step of the winner.
    slopes_at_bound_, monotone_active_, one_answer_segments_ : int
        Segments with k at 30 (answers separated by the offer), with k at its least (acceptance
        does not rise with the offer), with less than one row of one kind of answer.
    covariances_at_floor_, updates_held_ : int
        Segments with a variance at the floor; updates that a segment missed for lack of rows.
    offer_deviation_ : ndarray (J,)
        Standard deviation of the offers in each segment.
    constant_features_, duplicated_features_, uninformative_features_ : list of int
        Left out; the last are the columns of categories that segments do not tell apart.
    rows_missing_, components_capped_ : int
        Rows with a missing feature; 0, or the largest number of segments that there are rows for,
        if more were to be tried.

    References
    ----------
    Noor, Dailey & Haddawy (2014), sections 2 and 3.
    """

    components: int | None = None
    most_components: int = 10
    n_init: int = 10
    tol: float = 1e-6
    iterations: int = 1000
    reg_covar: float = 1e-3
    covariance: str = "auto"
    categories: str = "auto"
    membership: str = "features"
    thresholds: str = "auto"
    prior: str = "none"
    prior_slope: float | None = None
    prior_position_deviation: float = 2.0
    prior_slope_deviation: float = 5.0
    selection: str = "observed"
    moves: bool = True
    curves: str = "random"
    assignment: str = "soft"
    random_state: int = 0

    #: `fit` is told which features are categories.
    CATEGORIES = True

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        t: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        rng: np.random.Generator | None = None,
        feature_names: Sequence[str] | None = None,
        categories: dict | None = None,
    ) -> Self:
        """Fit the model and choose the number of segments.

        Parameters
        ----------
        X : array (n, features)
            Numbers; NaN where missing.
        y : array (n,) of two classes
            The second of them, such as 1, if the offer was accepted.
        t : array (n,), optional
            Offers made, scaled to [0, 1] so that acceptance rises with them; the last column of X
            without them, see `OfferModel`.
        sample_weight : array (n,), optional
            A row of weight two counts as two rows.
        rng : numpy.random.Generator, optional
            In place of one by `random_state`.
        feature_names : sequence of str, optional
            For messages.
        categories : Layout, optional
            Which columns are categories; see the option of this name.

        Raises
        ------
        CounterweightError
            For unusable rows, offers or answers, answers of one kind only, or fewer rows than
            parameters.
        """
        check_options(self.get_params(), OPTIONS)
        self.gates_, gated = None, self.membership == "gates"
        if gated and self.thresholds == "additive":
            raise CounterweightError(
                "Thresholds cannot be additive where membership is by gates: leave one of them out."
            )
        X, t = self._parted(X, t, fitting=True)
        t = checked_offers(t, len(X))
        row_weights = checked_weights(sample_weight, len(X))
        used = row_weights > 0
        X, t, y, row_weights = X[used], t[used], y[used], row_weights[used]
        if (y == y[0]).all():
            raise CounterweightError(
                f"All {len(y)} answers are {int(y[0])}, of one class, so no response to an offer "
                "can be learned: check the answer column, or add rows with the other answer."
            )
        told = None if self.categories == "none" else categories
        self._features = whole = Features.fitted(
            X, row_weights, self.reg_covar, told, self.categories == "auto", feature_names
        )
        self.features_used_, self.centre_, self.scale_ = whole.numbers, whole.centre, whole.scale
        self.constant_features_, self.duplicated_features_ = whole.constant, whole.duplicated
        kinds = [self.covariance] if self.covariance != "auto" else self._kinds(row_weights)
        fits = [self._searched(kind, X, t, y, row_weights, rng) for kind in kinds]
        found = min(fits, key=lambda one: one.length)
        additive = self.thresholds == "additive" or (
            self.thresholds == "auto" and len(whole.categories)
        )
        if additive and not gated:
            moved = self._moved(found, X, t, y, row_weights, rng)
            found = found if moved is None else min(found, moved, key=lambda one: one.length)
        self._take(found)
        if gated:
            self._take_gates(found, whole, X, t, y, row_weights)
        found = {
            "with a slope at its bound: the offer separates the answers": self.slopes_at_bound_,
            "in which acceptance does not rise with the offer": self.monotone_active_,
            "with one kind of answer": self.one_answer_segments_,
            "with a variance at the floor": self.covariances_at_floor_,
        }
        for place, (what, count) in enumerate(found.items()):
            # The last two are as small tables have them, and say nothing of curves.
            tell = log.warning if place < 2 else log.info
            if count:
                tell("%d of %d segments %s.", count, self.n_components_, what)
        if not self.converged_:
            log.warning("EM did not converge within %d steps: raise iterations.", self.iterations)
        return self

    def _take_gates(self, found, whole, X, t, y, row_weights):
        """Keep gates that begin at the segments of one search; see `covariates.fit_gates`."""
        self._features, self.uninformative_features_ = whole, []
        self.covariance_, prior = "full", found.rule["prior"]
        data = self._choice_rows(X, t, y, row_weights)
        starts = {
            size: (found.data.log_joint(best.parameters), best.parameters.curves[:, 0])
            for size, best in found.best.items()
        }
        made, half_log = gates_by_size(data, starts, prior), 0.5 * np.log(float(data.total))
        self.sizes_ = np.array([*made])
        self.log_likelihoods_ = np.array([one.log_likelihood for one in made.values()])
        counts = np.array([gate_parameters(size, data) for size in made])
        self.mdl_ = half_log * counts - self.log_likelihoods_
        one = made[self.components or int(self.sizes_[self.mdl_.argmin()])]
        order = np.argsort(-(memberships(data, one)[0] @ data.row_weights), kind="stable")
        one = one._replace(gates=one.gates[order], curves=one.curves[order])
        prior, gamma = memberships(data, one)
        # Moments of the members, missing numbers at their mean.
        self.gates_ = one.gates
        mass = np.maximum(gamma @ data.row_weights, 1e-300)
        share, numbers = gamma * data.row_weights / mass[:, None], np.nan_to_num(data.rows)
        means = share @ numbers
        gaps = numbers - means[:, None]
        spread = np.einsum("jn,jna,jnb->jab", share, gaps, gaps)
        spread += self.reg_covar * np.eye(len(self.scale_))
        marks = gate_design(data)[:, 1 + len(self.scale_) :]
        shares = data.emission.smoothed((share * mass[:, None]) @ marks)
        weights = (prior @ data.row_weights) / float(data.total)
        self._keep(data, gamma * data.row_weights, mass, weights, means, spread, shares, one.curves)
        self.log_likelihood_ = one.log_likelihood
        self.history_, self.n_iter_ = np.array([one.objective]), int(one.iterations)
        self.converged_, self.updates_held_, self.covariances_at_floor_ = one.converged, 0, 0

    def _keep(self, data, gamma, mass, weights, means, covariances, shares, curves):
        """Keep segments in scaled features, and what is told of them; gamma (J, n) is weighted."""
        self.weights_, self.shares_, self.n_components_ = weights, shares, len(weights)
        self.means_ = self.centre_ + self.scale_ * means
        self.covariances_ = covariances * np.outer(self.scale_, self.scale_)
        self.k_ = curves[:, 1]
        self.eta_ = 0.5 - curves[:, 0] / self.k_
        self.slopes_at_bound_ = int((self.k_ >= MOST_SLOPE - 1e-6).sum())
        self.monotone_active_ = int((self.k_ <= LEAST_SLOPE * (1 + 1e-6)).sum())
        yes = gamma @ data.y
        self.one_answer_segments_ = int((np.minimum(yes, mass - yes) < 1.0).sum())
        mean = gamma @ data.offered / mass
        spread = gamma @ np.square(data.offered) / mass - mean**2
        self.offer_deviation_ = np.sqrt(np.maximum(spread, 0.0))

    def _kinds(self, row_weights):
        """Covariances to try: full alone where there are rows enough, or one number."""
        rows, parameters = row_weights.sum(), {}
        for self.covariance_ in ("full", "diagonal", "tied"):
            parameters[self.covariance_] = self.n_parameters(self.components or 1)
        self.covariance_ = "full"
        if rows >= FEW_ROWS * self.n_parameters(1) or len(self.centre_) < 2:
            return ["full"]
        return [kind for kind, count in parameters.items() if count < rows] or ["full"]

    def _moved(self, found, X, t, y, row_weights, rng):
        """The same with thresholds that move with the features; None where no feature pays."""
        mover = Mover(X, t, y, row_weights, self._features)
        columns, moves = mover.begin()
        if not columns:
            return None
        # With moving thresholds it takes no more segments than without.
        asked = found.covariance, X, t - mover.design[:, columns] @ moves, y, row_weights, rng
        made = self._searched(*asked, columns, found.chosen)
        whole, self._features = self._features, made.features
        data = self._choice_rows(X, t, y, row_weights)
        steps = {"tol": self.tol, "iterations": self.iterations} | made.rule
        best = made.best[made.chosen].parameters
        run, columns, moves = mover.settled(data, best, columns, moves, **steps)
        self._features = whole
        if not columns:
            return None
        made.data = data.moved(mover.design[:, columns] @ moves)
        made.spare(len(made.moving) - len(columns))
        made.moving = columns
        made.settle(run, float(made.data.expectation(run.parameters).log_likelihood[0]))
        made.thresholds = mover.thresholds(columns, moves)
        return made

    def _searched(self, kind, X, t, y, row_weights, rng, moving=(), most=None):
        """Best models of every size under one kind of covariance; see `search.Sizes`.

        Categories that tell nothing are left out, and the search done anew, a few times at most.
        """
        self.covariance_, common, whole = kind, 0.0, self._features
        self._moving = moving
        names = ("n_init", "tol", "iterations", "selection", "moves", "curves")
        asked = {name: getattr(self, name) for name in names}
        for left in reversed(range(PASSES)):
            data = self._choice_rows(X, t, y, row_weights)
            largest, capped = self._most_components(data)
            rule = self._rule(data)
            best = Search(data, rng, **asked, **rule).up_to(min(largest, most or largest))
            found = Sizes(data, best, rule, self.n_parameters, self._features, capped)
            if self.components is None:
                found.choose()
            useless = found.useless() if left else []
            if not len(useless):
                break
            common += found.marginal(useless)
            self._features = self._features.without(useless)
        found.length = float(found.mdl[found.chosen - 1] - common)
        found.covariance, found.moving, self._features = kind, moving, whole
        return found

    def _take(self, found):
        """Keep what one search has found, run on to a smaller tolerance."""
        whole, self._features = self._features, found.features
        left = np.setdiff1d(whole.categories, self._features.categories)
        self.uninformative_features_ = whole.columns(np.searchsorted(whole.categories, left))
        self.covariance_, self.components_capped_ = found.covariance, found.capped
        self._thresholds, self._moving = found.thresholds, found.moving
        data, best = found.data, found.best[found.chosen]
        seen = ~np.isnan(data.rows) * data.row_weights[:, None]
        jacobian = float(seen.sum(axis=0) @ np.log(self.scale_))
        self.sizes_ = found.sizes
        self.log_likelihoods_, self.mdl_ = found.logs - jacobian, found.mdl + jacobian
        self.rows_missing_ = int((np.isnan(data.rows).any(1) | (data.codes < 0).any(1)).sum())
        steps = {"tol": self.tol * POLISH, "iterations": self.iterations}
        last = climb(data, best.parameters, **steps, **found.rule)
        parameters = last.parameters
        first = parameters.means if len(self.centre_) else parameters.shares
        order = np.lexsort((first[:, 0, 0], -parameters.weights[:, 0]))
        parameters = Choices(*(values[order] for values in parameters))
        answered = data.log_joint(parameters) + data.log_answer(parameters.curves[:, 0])
        total = logsumexp(answered, axis=1, keepdims=True)
        gamma = np.exp(answered - total).T * data.row_weights
        weights, *own = (values[:, 0] for values in parameters)
        means, covariances, curves, shares = own
        mass = np.maximum(gamma.sum(axis=1), 1e-300)
        weights = weights / parameters.weights.sum()
        self._keep(data, gamma, mass, weights, means, covariances, shares, curves)
        self.log_likelihood_ = float((total[:, 0] * data.row_weights).sum()) - jacobian
        history = np.concatenate([best.history, [row[0] for row in last.history[1:]]])
        self.history_ = history[~np.isnan(history)]
        self.converged_ = bool(best.converged)
        self.n_iter_ = int(best.iterations + last.iterations[0])
        least = np.linalg.eigvalsh(covariances)[:, :1]
        self.covariances_at_floor_ = int((least <= self.reg_covar * (1 + 1e-6)).sum())
        self.updates_held_ = int(best.held + last.held[0])

    def n_parameters(self, components):
        """nu_J: free parameters of a model of J segments."""
        return self._emission.parameter_count(components) + 2 * components + len(self._moving)

    def _most_components(self, data):
        rows = float(data.total)
        largest = int(rows // (self.n_parameters(1) + 1)) + 1
        while largest > 0 and self.n_parameters(largest) >= rows:
            largest -= 1
        wanted = self.most_components if self.components is None else self.components
        if largest < 1 or (self.components is not None and largest < wanted):
            least = self.n_parameters(1 if largest < 1 else wanted)
            features = len(self.centre_) + len(self._features.categories)
            what = "one segment" if largest < 1 or wanted == 1 else f"{wanted} segments"
            raise CounterweightError(
                f"A model of {what} of {features} features has {least} parameters, "
                f"but there are {rows:.6g} rows: give more rows, fewer features"
                + ("." if largest < 1 else f", or at most {largest} segments.")
            )
        if largest < wanted:
            log.info(
                "%.6g rows are enough for %d segments only: %d are not tried.",
                rows,
                largest,
                wanted,
            )
        return min(wanted, largest), largest if largest < wanted else 0

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
        return {"floor": self.reg_covar, "minimum_rows": least, "prior": prior}
