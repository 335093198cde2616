"""What a fitted model of segments and response curves says of people."""

import numpy as np
from scipy.special import logsumexp

from counterweight.errors import CounterweightError
from counterweight.models.choice.acceptance import (
    Offers,
    acceptance,
    checked_revenue,
    mixed_acceptance,
    optimal_offer,
    soft_optimal_offer,
)
from counterweight.models.choice.choice_features import Features
from counterweight.models.choice.covariates import (
    Thresholds,
    as_choices,
    few_steps_apart,
    gate_draws,
)
from counterweight.models.choice.offer_model import (
    OfferModel,
    checked_new_rows_with_gaps,
    checked_offers,
    checked_rows_with_gaps,
)
from counterweight.models.choice.steps import MOST_POSITION, ChoiceRows, Choices, few_steps
from counterweight.numerics.checks import checked_labels, checked_weights
from counterweight.numerics.emissions import COVARIANCES, Emission

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


class SegmentModel(OfferModel):
    """Segments of people with response curves: predictions, best offers, storage.

    A subclass fits what is in `STORED` (each with ``_`` at its end), and has the option
    ``assignment``. Where thresholds move with the features (see
    `counterweight.models.choice.covariates`), ``eta_`` are those of somebody whom they do not move.
    """

    #: Parameters of moving thresholds that are fitted; and what moves them.
    _moving, _thresholds = (), None
    #: Coefficients of the gates that tell who is of which segment, instead of its features.
    gates_ = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Where acceptance falls with the last column, segments are no classifiers of it.
        tags.classifier_tags.poor_score = True
        return tags

    def threshold_moves(self, X):
        """How far thresholds (n,) are from those of the segments, on the scale of t."""
        return self._moves(self._features_of(X))

    def _moves(self, X):
        if self._thresholds is None:
            return np.zeros(len(X))
        return self._thresholds.moves(checked_new_rows_with_gaps(X, self._width))

    def predict_segments(self, X):
        """p(j | x) by the features alone, (n, J); the weights where all are missing."""
        return self._segments(self._features_of(X))

    def _segments(self, X):
        return segment_shares(self._new_rows(X), self._parameters())

    def predict_acceptance(self, X, t=None, assignment=None):
        """Probability that each row accepts its offer t, (n,)."""
        X, t = self._parted(X, t)
        shares = self._segments(X)
        t = checked_offers(t, len(shares)) - self._moves(X)
        return mixed_acceptance(self._assigned(shares, assignment), t, self.eta_, self.k_)

    def optimal_offers(self, X, assignment=None, revenue=(1.0, -1.0), low=0.0, high=1.0, grid=None):
        """`Offers`: that of largest expected revenue for each row, on the scale of t.

        Offers lie between low and high, or are of `grid`; an accepted one earns a + b t, with
        ``revenue = (a, b)``; the assignment is the option of the model if not given.
        """
        a, b = checked_revenue(revenue)
        X = self._features_of(X)
        shares = self._assigned(self._segments(X), assignment)
        eta, k, moves = self.eta_, self.k_, self._moves(X)
        if (assignment or self.assignment) == "hard":
            own = shares.argmax(axis=1)
            offers = optimal_offer(eta[own] + moves, k[own], low, high, revenue, grid)
        else:
            moves = None if self._thresholds is None else moves
            offers = soft_optimal_offer(shares, eta, k, low, high, revenue, grid, moves=moves)
        p = mixed_acceptance(shares, offers - self._moves(X), eta, k)
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
        if self._thresholds is not None:
            arrays |= self._thresholds.to_arrays()
        if self.gates_ is not None:
            arrays["gates"] = self.gates_
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
        model._thresholds = Thresholds.from_arrays(arrays, model._features)
        levels = sum(model._features.levels)
        shares = np.asarray(arrays.get("shares", ()), dtype=float)
        model.shares_ = shares.reshape(-1, levels) if levels else model._empty(0)
        if "gates" in arrays:
            model.gates_ = np.reshape(np.asarray(arrays["gates"], float), (len(model.k_), -1))
        return model

    def _empty(self, *shape):
        return np.empty((len(self.weights_), *shape))

    @property
    def _emission(self):
        covariance = self.covariance_ if self.gates_ is None else "tied"
        return Emission(len(self.centre_), self._features.levels, covariance)

    def _choice_rows(self, X, *answered):
        """`ChoiceRows` of checked rows, perhaps with offers, answers and weights."""
        numbers, codes = self._features.split(X)
        answered = answered or (None, None, None)
        if self.gates_ is not None:
            # Gates take what is missing for the mean, which is 0 here.
            numbers = np.nan_to_num(numbers)
        return ChoiceRows(numbers, *answered, codes, self._emission)

    @property
    def _width(self):
        """Features of the fit, without an offer among the columns."""
        return len(self._features.flag)

    def _new_rows(self, X):
        return self._choice_rows(checked_new_rows_with_gaps(X, self._width))

    def _parameters(self):
        curves = np.stack([self.k_ * (0.5 - self.eta_), self.k_], axis=-1)
        curves[:, 0] = np.clip(curves[:, 0], -MOST_POSITION, MOST_POSITION)
        if self.gates_ is not None:
            return as_choices(self.gates_, curves, len(self.centre_))
        return Choices(
            self.weights_[:, None],
            ((self.means_ - self.centre_) / self.scale_)[:, None],
            (self.covariances_ / np.outer(self.scale_, self.scale_))[:, None],
            curves[:, None],
            self.shares_[:, None],
        )


class ResampledModel(SegmentModel):
    """A `SegmentModel` refitted to resampled rows: how sure totals and best offers are."""

    def bootstrap_totals(
        self,
        X,
        y,
        t,
        new_X,
        new_t,
        *,
        rng,
        draws=200,
        steps=5,
        revenue=(1.0, -1.0),
        assignment=None,
        sample_weight=None,
        refits=None,
    ):
        """Expected enrolment and revenue (draws,) of new rows at offers `new_t`, by refits.

        Quantiles of them are the interval. Each draw resamples the training rows ``X, y, t`` with
        replacement and takes a few EM steps from the fitted model, so segments keep their meaning.
        The number of segments is not chosen again, and few steps do not reach the new optimum where
        segments overlap much: intervals are then too narrow. The noise of the answers themselves is
        not in them. `refits`, from the method of this name, may be used again.
        """
        a, b = checked_revenue(revenue)
        asked = {"rng": rng, "draws": draws, "steps": steps, "sample_weight": sample_weight}
        refits = self.refits(X, y, t, **asked) if refits is None else refits
        new = self._new_rows(new_X)
        new_t = checked_offers(new_t, len(new.rows))
        totals = np.empty((2, draws))
        apart = self._apart(new_X)
        for first, refitted, coefficients in refits:
            for number in range(refitted.weights.shape[1]):
                one = refitted.restarts([number])
                position, k = one.curves[:, 0].T
                shares = self._assigned(segment_shares(new, one), assignment)
                moved = new_t if apart is None else new_t - apart @ coefficients[number]
                p = mixed_acceptance(shares, moved, 0.5 - position / k, k)
                totals[:, first + number] = p.sum(), p @ (a + b * new_t)
        return totals[0], totals[1]

    def bootstrap_claims(
        self,
        X,
        y,
        t,
        new_X,
        *,
        rng,
        draws=200,
        steps=5,
        revenue=(1.0, -1.0),
        assignment=None,
        grid=None,
        refits=None,
    ):
        """By how much claims of best offers exceed what they would bring, by the bootstrap.

        The best offers of a fit are best by its own errors, so what it claims for them is too much
        on the average. Each draw refits the model to resampled rows (as `bootstrap_totals` does,
        whose arguments these are), finds its best offers anew, among those of `grid` if given, and
        takes what it claims for them, less what the model of all rows expects of these same offers.
        This excess stands for that of the claim over the truth: the claim less quantiles of it is
        an interval for what the offers bring.

        Returns
        -------
        enrolment, revenue : ndarray (draws,)
            Sums over the new rows.
        single : ndarray (draws,)
            The one offer to all of them that earns most, by the likeliest segments.
        """
        a, b = checked_revenue(revenue)
        if refits is None:
            refits = self.refits(X, y, t, rng=rng, draws=draws, steps=steps)
        new, apart, fitted = self._new_rows(new_X), self._apart(new_X), self.threshold_moves(new_X)
        own = self._assigned(segment_shares(new, self._parameters()), assignment)
        found, tried = np.empty((3, draws)), np.linspace(0.0, 1.0, 1001) if grid is None else grid
        for first, refitted, coefficients in refits:
            for number in range(refitted.weights.shape[1]):
                one = refitted.restarts([number])
                position, k = one.curves[:, 0].T
                eta = 0.5 - position / k
                moves = None if apart is None else apart @ coefficients[number]
                shares = self._assigned(segment_shares(new, one), assignment)
                likeliest = shares.argmax(axis=1)
                if (assignment or self.assignment) == "hard":
                    place = eta if moves is None else eta[likeliest] + moves
                    slope = k if moves is None else k[likeliest]
                    offers = optimal_offer(place, slope, revenue=revenue, grid=grid)
                    offers = offers[likeliest] if moves is None else offers
                else:
                    offers = soft_optimal_offer(
                        shares, eta, k, revenue=revenue, grid=grid, points=DRAWN_POINTS, moves=moves
                    )
                gap = mixed_acceptance(shares, offers if moves is None else offers - moves, eta, k)
                gap = gap - mixed_acceptance(own, offers - fitted, self.eta_, self.k_)
                if moves is None:
                    people = np.bincount(likeliest, minlength=len(k))
                    earned = people @ acceptance(tried, eta[:, None], k[:, None])
                else:
                    earned = _together(eta[likeliest] + moves, k[likeliest], tried)
                earned = earned * (a + b * tried)
                totals = gap.sum(), gap @ (a + b * offers), tried[earned.argmax()]
                found[:, first + number] = totals
        return tuple(found)

    def refits(self, X, y, t, *, rng, draws, steps=5, sample_weight=None):
        """Batches of bootstrap draws: number of the first, `Choices`, moving thresholds."""
        X, n = checked_rows_with_gaps(X), len(X)
        t, y = checked_offers(t, n), checked_labels(y, n, "answer")
        data = self._choice_rows(X, t, y, checked_weights(sample_weight, n))
        return list(self._refitted(data, rng, draws, steps, X))

    def refitted(self, X, y, t, *, rng, draws, steps=5):
        """Bootstrap draws of the model itself, in scaled features; see `bootstrap_totals`.

        Returns
        -------
        Choices
            A batch of `draws` models.
        ndarray (draws, a + L) or None
            Coefficients of their moving thresholds.
        """
        refits = self.refits(X, y, t, rng=rng, draws=draws, steps=steps)
        _, parts, moved = zip(*refits, strict=True)
        batch = Choices(*(np.concatenate(values, axis=1) for values in zip(*parts, strict=True)))
        return batch, None if self._thresholds is None else np.concatenate(moved)

    def _apart(self, X):
        """What thresholds of people are linear in; None where nothing moves them."""
        return None if self._thresholds is None else self._thresholds.rows(np.asarray(X, float))

    def _refitted(self, data, rng, draws, steps, X):
        """Batches of refitted models: number of the first draw, `Choices`, moving thresholds."""
        if self._thresholds is not None:
            yield from self._refitted_apart(data, rng, draws, steps, X)
            return
        if self.gates_ is not None:
            curves = self._parameters().curves[:, 0]
            yield from gate_draws(data, self.gates_, curves, self._rule(data)["prior"], rng, draws)
            return
        n, rule = len(data.rows), self._rule(data)
        step = max(min(DRAWN // n, draws), 1)
        for first in range(0, draws, step):
            size = min(step, draws - first)
            drawn = np.stack(
                [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(size)]
            )
            start = Choices(*(np.repeat(values, size, axis=1) for values in self._parameters()))
            weighted = data.reweighted(drawn * data.row_weights)
            yield first, few_steps(weighted, start, steps, **rule), None

    def _refitted_apart(self, data, rng, draws, steps, X):
        """The same draw by draw, with thresholds that are fitted anew."""
        told = self._thresholds.coefficients
        used = told != 0
        rows, coefficients = self._apart(X)[:, used], np.zeros((1, len(told)))
        rule, n = self._rule(data.moved(rows @ told[used])), len(data.rows)
        for number in range(draws):
            drawn = np.bincount(rng.integers(n, size=n), minlength=n)
            weighted = data.reweighted(drawn * data.row_weights)
            start = self._parameters()
            one, moves = few_steps_apart(weighted, rows, start, told[used], steps, **rule)
            coefficients[0, used] = moves
            yield number, one, coefficients.copy()


def _together(eta, k, tried, block=1 << 15):
    """People, in expectation, who accept the same offer, for some offers (m,)."""
    total, step = np.zeros(len(tried)), max(block // len(tried), 1)
    for start in range(0, len(eta), step):
        at = slice(start, start + step)
        total += acceptance(tried, eta[at, None], k[at, None]).sum(axis=0)
    return total
