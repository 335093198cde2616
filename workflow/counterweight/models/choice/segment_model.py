"""Features of a model of segments and response curves, and what the fitted model says of people."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from counterweight.errors import CounterweightError, listed
from counterweight.models.choice.covariates import (
    GATE_DRAWN_STEPS,
    Thresholds,
    as_choices,
    few_steps_apart,
    fit_gates,
    gate_design,
)
from counterweight.models.choice.offer_model import (
    BLOCK,
    OfferModel,
    Offers,
    acceptance,
    best_offers,
    checked_offers,
    checked_revenue,
    mixed_acceptance,
)
from counterweight.models.choice.steps import MOST_POSITION, ChoiceRows, Choices, few_steps
from counterweight.numerics.checks import checked_labels, named, unsaid
from counterweight.numerics.emissions import COVARIANCES, Emission, Layout

log = logging.getLogger("counterweight")

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
#: Numbers (draws x rows) of bootstrap weights at a time, and EM steps of a draw.
DRAWN, STEPS = 4_000_000, 5
#: Offers of the first grid on which the best offers of a draw are looked for.
DRAWN_POINTS = 33
#: Centre and scale of the numbers; and what is empty where all features are categories.
SCALING = ("centre", "scale")
MAYBE = (*LISTS, *SCALING, "features_used", "means", "covariances")


@dataclass
class Features:
    """Numbers and categories of a fit, and how any rows are turned into them.

    A category is what a layout declares, or, unless told otherwise, a number with two values,
    ``low, high`` (NaN of all others). Numbers are centred and scaled. A number whose flag (the
    column ``flag``, -1 for none) is 1 is missing, whatever stands in its place; so is a category
    with a level that the fit has not seen. ``numbers`` are columns and ``categories`` places in the
    layout of those in use; ``constant`` and ``duplicated`` columns have one value, or are as good
    as one other.
    """

    layout: Layout
    low: np.ndarray
    high: np.ndarray
    flag: np.ndarray
    numbers: np.ndarray = None
    centre: np.ndarray = None
    scale: np.ndarray = None
    categories: np.ndarray = None
    constant: list = None
    duplicated: list = None

    @classmethod
    def fitted(cls, X, row_weights, floor, told=None, find=True, feature_names=None):
        """Find out how the columns of X (n, width), NaN where missing, are used.

        `floor` is of `used_features`, `told` a `Layout`; `find` says whether numbers with two
        values are categories. Refused where nothing varies, a category holds what is none of its
        levels, or squares of values overflow.
        """
        width = X.shape[1]
        told = Layout.of(width) if told is None else told
        flag, (low, high) = np.full(width, -1), np.full((2, width), np.nan)
        for number, column in told.flags:
            flag[number] = column
        made = cls(told, low, high, flag)
        X = made._with_gaps(X)
        blocks, levels = list(told.categories), list(told.levels)
        for block, count in zip(blocks, levels, strict=True):
            if len(block) == 1 and count == 2:
                low[block[0]], high[block[0]] = 0.0, 1.0
        for column in told.numbers if find else ():
            there = X[~np.isnan(X[:, column]), column]
            ends = (there.min(), there.max()) if len(there) else (0.0, 0.0)
            if ends[0] < ends[1] and np.isin(there, ends).all():
                low[column], high[column] = ends
                blocks.append((column,))
                levels.append(2)
        taken = {column for block in blocks for column in block}
        numbers = tuple(column for column in range(width) if column not in taken)
        made.layout = Layout(numbers, tuple(blocks), tuple(levels))
        values, codes = made.layout.split(made._with_codes(X, strict=True))
        kept, alike, same = _distinct(codes, levels)
        made.categories = np.array(kept, dtype=int)
        names = named(list(numbers), feature_names)
        asked = np.ascontiguousarray(values), row_weights, floor, names
        used, made.centre, made.scale, *left = used_features(*asked, alone=not len(kept))
        at = np.array(numbers, dtype=int)
        made.numbers = at[used]
        made.constant, made.duplicated = (
            sorted([*at[out].tolist(), *(column for block in places for column in blocks[block])])
            for out, places in zip(left, (same, alike), strict=True)
        )
        return made

    def without(self, places):
        """The same without some of the categories in use, by their places among these."""
        return replace(self, categories=np.delete(self.categories, places))

    @property
    def levels(self):
        """Of each category in use."""
        return tuple(self.layout.levels[at] for at in self.categories)

    def columns(self, places):
        """Columns of some of the categories in use."""
        return [column for at in self.categories[places] for column in self.layout.categories[at]]

    def split(self, X):
        """Scaled numbers (n, a), NaN where missing, and codes (n, b), -1 where missing."""
        codes = None
        if len(self.layout.categories) or (self.flag >= 0).any():
            X = self._with_codes(self._with_gaps(X))
            codes = self.layout.split(X)[1][:, self.categories]
        return (X[:, self.numbers] - self.centre) / self.scale, codes

    def _with_gaps(self, X):
        X = np.array(X, dtype=float)
        for number in np.flatnonzero(self.flag >= 0):
            X[X[:, self.flag[number]] == 1, number] = np.nan
        return X

    def _with_codes(self, X, strict=False):
        """Columns that are categories of their own as 0 and 1; unknown values are missing."""
        for column in np.flatnonzero(~np.isnan(self.low)):
            values, (low, high) = X[:, column], (self.low[column], self.high[column])
            unknown = (values != low) & (values != high)
            if strict and (unknown & ~np.isnan(values)).any():
                raise CounterweightError(
                    f"Feature column {column} is declared a category but is not 0 or 1 in some "
                    "rows: add no noise to categories, or declare it a number."
                )
            X[:, column] = np.where(unknown, np.nan, values == high)
        return X

    def to_arrays(self):
        """What `from_arrays` needs, by name."""
        layout = self.layout.to_arrays()
        return {
            "layout_category": layout["category"],
            "layout_levels": layout["levels"],
            "binary_low": np.nan_to_num(self.low),
            "binary_high": np.nan_to_num(self.high),
            "number_flag": self.flag,
            "categories_used": self.categories,
        }

    @classmethod
    def from_arrays(cls, arrays, numbers, centre, scale):
        """From what `to_arrays` gave; entries without values may be absent."""
        category = np.asarray(arrays["layout_category"], dtype=int)
        told = {"category": category, "flag": np.full(len(category), -1)}
        layout = Layout.from_arrays(told | {"levels": arrays.get("layout_levels", ())})
        low, high = (np.array(arrays[f"binary_{end}"], dtype=float) for end in ("low", "high"))
        low[low == high] = high[low == high] = np.nan
        flag = np.asarray(arrays["number_flag"], dtype=int)
        used = np.asarray(arrays.get("categories_used", ())).astype(int).reshape(-1)
        return cls(layout, low, high, flag, numbers, centre, scale, used)


def _distinct(codes, levels):
    """Categories of two levels or more, those that tell what an earlier one does, and the rest."""
    kept, alike, same = [], [], []
    for at in range(codes.shape[1]):
        own = codes[:, at] + 1
        count = len(np.unique(own))
        pairs = ((other, own * (levels[other] + 1) + codes[:, other] + 1) for other in kept)
        if len(np.unique(own[own > 0])) < 2:
            same.append(at)
        elif any(count == len(np.unique(codes[:, o])) == len(np.unique(p)) for o, p in pairs):
            alike.append(at)
        else:
            kept.append(at)
    return kept, alike, same


def used_features(X, row_weights, floor, feature_names=None, alone=True):
    """Features (n, d) in use; their centre and scale; constant and duplicated ones.

    Constant features and linear functions of one other are left out. The scale is the standard
    deviation. That of a feature with few values is stretched, so that the floor (the least variance
    of a scaled feature in a segment) is its `least_variance`; without this, segments shrink to
    single values. Refused where no feature varies (unless others do, not `alone`) or squares
    overflow.
    """
    seen = ~np.isnan(X)
    mass = np.maximum(row_weights @ seen, 1e-300)
    with np.errstate(over="ignore", invalid="ignore"):
        centre = row_weights @ np.where(seen, X, 0.0) / mass
        rest = np.where(seen, X - centre, 0.0)
        deviation = np.sqrt(row_weights @ np.square(rest) / mass)
    if not np.isfinite(deviation).all():
        raise CounterweightError("Values of the features are too large to square: rescale them.")
    spread = np.where(seen, X, -np.inf).max(axis=0) > np.where(seen, X, np.inf).min(axis=0)
    varies = spread & (deviation > 1e-12 * np.abs(centre))
    constant, used = np.flatnonzero(~varies), np.flatnonzero(varies)
    if not len(used) and alone:
        raise CounterweightError(
            f"All {X.shape[1]} features are constant over the {len(X)} rows given, so there "
            "are no segments to tell apart: add features that vary."
        )
    standard = rest[:, used] / deviation[used]
    likeness = np.abs((standard * row_weights[:, None]).T @ standard)
    same = np.triu(likeness > (1 - 1e-10) * np.sqrt(np.outer(mass[used], mass[used])), 1)
    present = seen[:, used].sum(axis=0)
    twice = (same & (present[:, None] == present)).any(axis=0)
    duplicated, used = used[twice], used[~twice]
    for left_out, what in ((constant, "constant"), (duplicated, "duplicated")):
        told = (
            unsaid(left_out, X.shape[1])
            if feature_names is None
            else named(left_out, feature_names)
        )
        if told:
            log.warning("Left out as %s: feature %s.", what, listed(told))
    scale = deviation[used]
    for place, feature in enumerate(used):
        _, values = np.unique(X[seen[:, feature], feature], return_inverse=True)
        shares = np.bincount(values, row_weights[seen[:, feature]])
        scale[place] *= np.sqrt(max(least_variance(shares) / floor, 1.0))
    return used, centre[used], scale, constant, duplicated


def least_variance(shares):
    """Variance, in units of the whole one, below which segments would shrink to single values.

    `shares` are the rows, by weight, of each value. Of a feature with two values, p of the rarer,
    it is the least variance at which no mixture is likelier than one Gaussian, so that a category
    alone makes no segments. One Gaussian of variance v is the best mixture with this variance
    exactly if E exp(s x) is at most exp(s^2 v / 2) for all s, and the least such v of a Bernoulli
    variable is (1 - 2p) / (2 log((1 - p)/p)) (Kearns & Saul 1998); that is the variance itself if p
    = 1/2. With more values of entropy H it is exp(1 - 2H), or 1/(2H) if H is below 1/2: there, one
    narrow Gaussian for each value is no likelier than one for all. It is near 0 for many
    different values.
    """
    shares = shares[shares > 0] / shares.sum()
    if len(shares) == 2:
        p = shares.min()
        if p > 0.5 - 1e-6:
            return 1.0
        return float((1 - 2 * p) / (2 * np.log((1 - p) / p)) / (p * (1 - p)))
    entropy = -(shares * np.log(shares)).sum()
    return float(np.exp(1 - 2 * entropy) if entropy >= 0.5 else 0.5 / max(entropy, 1e-12))


def segment_shares(rows, parameters):
    """p(j | x) by the features alone, (n, J), of `ChoiceRows` and a batch of one model."""
    joint = rows.log_joint(parameters)
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


class SegmentModel(OfferModel):
    """Segments of people with response curves: predictions, best offers, storage, the bootstrap.

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
        return np.zeros(len(X)) if self._thresholds is None else self._thresholds.moves(X)

    def predict_segments(self, X: ArrayLike) -> np.ndarray:
        """p(j | x) by the features alone, (n, J); the weights where all are missing."""
        return self._segments(self._features_of(X))

    def _segments(self, X):
        return segment_shares(self._choice_rows(X), self._parameters())

    def predict_acceptance(
        self, X: ArrayLike, t: ArrayLike | None = None, assignment: ArrayLike | None = None
    ) -> np.ndarray:
        """Probability that each row accepts its offer t, (n,)."""
        X, t = self._parted(X, t)
        shares = self._segments(X)
        t = checked_offers(t, len(shares)) - self._moves(X)
        return mixed_acceptance(self._assigned(shares, assignment), t, self.eta_, self.k_)

    def optimal_offers(
        self,
        X: ArrayLike,
        assignment: ArrayLike | None = None,
        revenue: tuple[float, float] = (1.0, -1.0),
        low: float = 0.0,
        high: float = 1.0,
        grid: ArrayLike | None = None,
    ) -> np.ndarray:
        """`Offers`: that of largest expected revenue for each row, on the scale of t.

        Offers lie between low and high, or are of `grid`; an accepted one earns a + b t, with
        ``revenue = (a, b)``; the assignment is the option of the model if not given.
        """
        a, b = checked_revenue(revenue)
        X = self._features_of(X)
        shares, moves = self._assigned(self._segments(X), assignment), self._moves(X)
        own = None if self._thresholds is None else moves
        asked = assignment or self.assignment, own, low, high, revenue, grid
        offers = best_offers(shares, self.eta_, self.k_, *asked)
        p = mixed_acceptance(shares, offers - moves, self.eta_, self.k_)
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
        model.covariance_ = COVARIANCES[int(np.ravel(arrays.get("covariance_kind", 0))[0])]
        for name, kind in STORED.items():
            value = np.asarray(arrays.get(name, ()) if name in MAYBE else arrays[name]).astype(kind)
            if name in LISTS:
                value = value.reshape(-1).tolist()
            setattr(model, f"{name}_", value if np.ndim(value) else value.item())
        used = [np.reshape(getattr(model, f"{n}_"), -1) for n in ("features_used", *SCALING)]
        model.features_used_, model.centre_, model.scale_ = used
        size, count = len(model.k_), len(used[0])
        model.means_ = np.reshape(model.means_, (size, count))
        model.covariances_ = np.reshape(model.covariances_, (size, count, count))
        model._features = Features.from_arrays(arrays, *used)
        model._thresholds = Thresholds.from_arrays(arrays, model._features)
        shares = np.asarray(arrays.get("shares", ()), dtype=float)
        model.shares_ = shares.reshape(size, sum(model._features.levels))
        if "gates" in arrays:
            model.gates_ = np.reshape(np.asarray(arrays["gates"], float), (size, -1))
        return model

    @property
    def _emission(self):
        covariance = self.covariance_ if self.gates_ is None else "tied"
        return Emission(len(self.centre_), self._features.levels, covariance)

    def _choice_rows(self, X, *answered):
        """`ChoiceRows` of rows without offers; perhaps with offers, answers and weights."""
        numbers, codes = self._features.split(np.asarray(X, dtype=float))
        if self.gates_ is not None:
            # Gates take what is missing for the mean, which is 0 here.
            numbers = np.nan_to_num(numbers)
        return ChoiceRows(numbers, *(answered or (None, None, None)), codes, self._emission)

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

    def refits(self, X, y, t, *, rng, draws):
        """Bootstrap draws in batches: number of the first, `Choices`, moving thresholds or None.

        Each draw resamples the training rows ``X, y, t`` with replacement and takes a few EM steps
        from the fitted model, so segments keep their meaning. The number of segments is not chosen
        again, and few steps do not reach the new optimum where segments overlap much: intervals are
        then too narrow. The coefficients of moving thresholds are (draws, a + L).
        """
        n, start, told = len(X), self._parameters(), self._thresholds
        t, y = checked_offers(t, n), checked_labels(y, n, "answer")
        data = self._choice_rows(X, t, y, np.ones(n))
        size, coefficients, found = 1, None, []
        if told is not None:
            used = told.coefficients != 0
            rows = told.rows(X)[:, used]
            rule = self._rule(data.moved(rows @ told.coefficients[used]))
        elif self.gates_ is not None:
            rows, prior = gate_design(data), self._rule(data)["prior"]
        else:
            rule, size = self._rule(data), max(min(DRAWN // n, draws), 1)
        for first in range(0, draws, size):
            number = min(size, draws - first)
            times = [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(number)]
            times = np.array(times, dtype=float)
            if told is not None:
                asked = rows, start, told.coefficients[used], STEPS
                batch, moves = few_steps_apart(data.reweighted(times[0]), *asked, **rule)
                coefficients = np.zeros((1, len(used)))
                coefficients[0, used] = moves
            elif self.gates_ is not None:
                asked = self.gates_, start.curves[:, 0], prior, times[0], rows, GATE_DRAWN_STEPS
                gated = fit_gates(data, *asked)
                batch = as_choices(gated.gates, gated.curves, len(self.centre_))
            else:
                batch = Choices(*(np.repeat(values, number, axis=1) for values in start))
                batch = few_steps(data.reweighted(times), batch, STEPS, **rule)
            found.append((first, batch, coefficients))
        return found

    def refitted(self, X, y, t, *, rng, draws):
        """The draws of `refits` as one batch of `Choices`, and (draws, a + L) or None."""
        _, parts, moved = zip(*self.refits(X, y, t, rng=rng, draws=draws), strict=True)
        batch = Choices(*(np.concatenate(values, axis=1) for values in zip(*parts, strict=True)))
        return batch, None if self._thresholds is None else np.concatenate(moved)

    def _apart(self, X):
        """What thresholds of people are linear in; None where nothing moves them."""
        return None if self._thresholds is None else self._thresholds.rows(np.asarray(X, float))

    def _redrawn(self, refits, X, assignment):
        """Of each draw its number, p(j | x) of rows, thresholds, slopes, moves (n,) or None."""
        rows, apart = self._choice_rows(X), self._apart(X)
        for first, batch, coefficients in refits:
            for number in range(batch.weights.shape[1]):
                one = batch.at([number])
                position, k = one.curves[:, 0].T
                moves = None if apart is None else apart @ coefficients[number]
                shares = self._assigned(segment_shares(rows, one), assignment)
                yield first + number, shares, 0.5 - position / k, k, moves

    def bootstrap_totals(
        self,
        X,
        y,
        t,
        new_X,
        new_t,
        *,
        rng,
        draws,
        revenue=(1.0, -1.0),
        assignment=None,
        refits=None,
    ):
        """Expected enrolment and revenue (draws,) of new rows at offers `new_t`, by `refits`.

        Quantiles of them are the interval; the noise of the answers themselves is not in it. Draws
        that were made already, `refits`, are used again.
        """
        a, b = checked_revenue(revenue)
        refits = self.refits(X, y, t, rng=rng, draws=draws) if refits is None else refits
        new_t, totals = checked_offers(new_t, len(new_X)), np.empty((2, draws))
        for number, shares, eta, k, moves in self._redrawn(refits, new_X, assignment):
            p = mixed_acceptance(shares, new_t if moves is None else new_t - moves, eta, k)
            totals[:, number] = p.sum(), p @ (a + b * new_t)
        return totals[0], totals[1]

    def bootstrap_claims(
        self,
        X,
        y,
        t,
        new_X,
        *,
        rng,
        draws,
        revenue=(1.0, -1.0),
        assignment=None,
        grid=None,
        refits=None,
    ):
        """By how much claims of best offers exceed what they would bring, by the bootstrap.

        The best offers of a fit are best by its own errors, so what it claims for them is too much
        on the average. Each draw of `refits` finds its best offers anew, among those of `grid` if
        given, and takes what it claims for them, less what the model of all rows expects of these
        same offers. This excess stands for that of the claim over the truth: the claim less
        quantiles of it is an interval for what the offers bring. Three arrays (draws,): the excess
        of enrolment and of revenue, summed over the new rows, and the one offer to all of them that
        earns most, by the likeliest segments.
        """
        a, b = checked_revenue(revenue)
        refits = self.refits(X, y, t, rng=rng, draws=draws) if refits is None else refits
        fitted, how = self.threshold_moves(new_X), assignment or self.assignment
        own = self._assigned(self._segments(new_X), assignment)
        found, tried = np.empty((3, draws)), np.linspace(0.0, 1.0, 1001) if grid is None else grid
        step = max(BLOCK // len(tried), 1)
        for number, shares, eta, k, moves in self._redrawn(refits, new_X, assignment):
            asked = how, moves, 0.0, 1.0, revenue, grid, DRAWN_POINTS
            offers = best_offers(shares, eta, k, *asked)
            gap = mixed_acceptance(shares, offers if moves is None else offers - moves, eta, k)
            gap = gap - mixed_acceptance(own, offers - fitted, self.eta_, self.k_)
            likeliest = shares.argmax(axis=1)
            if moves is None:
                people = np.bincount(likeliest, minlength=len(k))
                earned = people @ acceptance(tried, eta[:, None], k[:, None])
            else:
                place, slope, earned = eta[likeliest] + moves, k[likeliest], np.zeros(len(tried))
                for start in range(0, len(place), step):
                    at = slice(start, start + step)
                    earned += acceptance(tried, place[at, None], slope[at, None]).sum(axis=0)
            single = tried[(earned * (a + b * tried)).argmax()]
            found[:, number] = gap.sum(), gap @ (a + b * offers), single
        return tuple(found)
