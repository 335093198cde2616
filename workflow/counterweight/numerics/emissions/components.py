"""Densities of mixed features within a component: a Gaussian of the numbers, a share of each level.

p(x | j) = N(x_num; mu_j, Sigma_j) prod_c theta_{j, c, x_c}. Given its component, a category is
independent of all other features; that is what the model assumes, and components multiply until it
is nearly so where it is false. A missing entry integrates out: its category's factor is left
out, and the Gaussian is that of the numbers that are there. This is right where a value is
missing whatever it is, given the others and the component.

The log density is linear in the numbers, their products and an indicator of each level, so an
E-step is two matrix products over the rows of each pattern of missing numbers, as in
`counterweight.numerics.mixture_steps`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.mixture_steps import (
    LOG_2PI,
    Parameters,
    density_coefficients,
    floored,
    maximisation,
    split_moments,
    upper_triangle,
)

COVARIANCES = ("full", "diagonal", "tied")
#: Rows added to each level of a category in each component: Dirichlet smoothing.
SMOOTHING = 0.5


class MixedParameters(NamedTuple):
    """A batch of R mixtures with K components over a numbers and categories of L levels in all.

    Attributes
    ----------
    weights : ndarray (K, R)
    means : ndarray (K, R, a)
    covariances : ndarray (K, R, a, a)
    shares : ndarray (K, R, L)
        Of the levels, category after category; those of a category sum to one.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    shares: np.ndarray

    def restarts(self, index):
        """The mixtures at `index` of the batch."""
        return MixedParameters(*(values[:, index] for values in self))


@dataclass(frozen=True)
class Emission:
    """What components look like.

    Attributes
    ----------
    numbers : int
    levels : tuple of int
        Of each category.
    covariance : {"full", "diagonal", "tied"}
        Of the numbers: one matrix a component, variances only, or one matrix for all.
    """

    numbers: int
    levels: tuple = ()
    covariance: str = "full"

    def __post_init__(self):
        if self.covariance not in COVARIANCES:
            raise CounterweightError(
                f"covariance must be one of {', '.join(COVARIANCES)}, not {self.covariance!r}."
            )

    @property
    def offsets(self):
        """Where the levels of each category begin among all levels, and their end."""
        return np.concatenate([[0], np.cumsum(self.levels)]).astype(int)

    def parameter_count(self, components):
        """Free parameters of a mixture: weights, means, covariances, shares of levels."""
        a = self.numbers
        matrix = a if self.covariance == "diagonal" else a * (a + 1) // 2
        matrices = 1 if self.covariance == "tied" else components
        shares = sum(levels - 1 for levels in self.levels)
        return components - 1 + components * (a + shares) + matrices * matrix

    def log_prior(self, shares):
        """What smoothing adds to the log-likelihood, (R,), for shares (K, R, L)."""
        return SMOOTHING * np.log(shares).sum(axis=(0, 2))

    def coefficients(self, parameters, observed=None):
        """Coefficients (K, R, q) of log weight + log density of the numbers at `observed`.

        In (1, x_i, x_i x_j, levels); diagonal: (1, x_i, x_i^2, levels).
        """
        means, covariances = parameters.means, parameters.covariances
        if observed is not None and len(observed) < self.numbers:
            means = means[..., observed]
            covariances = covariances[..., observed[:, None], observed]
        if self.covariance == "diagonal":
            precision = 1 / np.diagonal(covariances, axis1=-2, axis2=-1)
            linear = means * precision
            with np.errstate(divide="ignore"):
                constant = np.log(parameters.weights) - 0.5 * (
                    means.shape[-1] * LOG_2PI - np.log(precision).sum(-1) + (linear * means).sum(-1)
                )
            gaussian = np.concatenate([constant[..., None], linear, -0.5 * precision], axis=-1)
        else:
            gaussian = density_coefficients(Parameters(parameters.weights, means, covariances))
        return np.concatenate([gaussian, np.log(parameters.shares)], axis=-1)

    def completed(self, moments, parameters, observed):
        """Moments with those of all numbers, from moments with the observed ones only.

        Missing numbers count by their conditional mean and covariance given the observed ones.
        """
        a, o = self.numbers, len(observed)
        if o == a:
            return moments
        at = 1 + 2 * o if self.covariance == "diagonal" else 1 + o + o * (o + 1) // 2
        gaussian, counts = moments[..., :at], moments[..., at:]
        missing = np.setdiff1d(np.arange(a), observed)
        if self.covariance == "diagonal":
            total = gaussian[..., 0]
            first, second = (np.empty(total.shape + (a,)) for _ in range(2))
            first[..., observed] = gaussian[..., 1 : 1 + o]
            second[..., observed] = gaussian[..., 1 + o :]
            mean = parameters.means[..., missing]
            variance = np.diagonal(parameters.covariances, axis1=-2, axis2=-1)[..., missing]
            first[..., missing] = total[..., None] * mean
            second[..., missing] = total[..., None] * (mean**2 + variance)
            return np.concatenate([total[..., None], first, second, counts], axis=-1)
        return np.concatenate(
            [_completed(gaussian, parameters, observed, missing), counts], axis=-1
        )

    def split(self, moments):
        """Totals (...), first (..., a) and second (..., a, a) moments, and counts of levels."""
        levels = int(self.offsets[-1])
        gaussian, counts = np.split(moments, [moments.shape[-1] - levels], axis=-1)
        if self.covariance == "diagonal":
            gaussian = _with_products(gaussian, self.numbers)
        return *split_moments(gaussian, self.numbers), counts

    def smoothed(self, counts):
        """Shares of levels (..., L) from their counts."""
        shares = np.empty(counts.shape)
        for start, end in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            part = counts[..., start:end] + SMOOTHING
            shares[..., start:end] = part / part.sum(axis=-1, keepdims=True)
        return shares

    def maximisation(self, moments, previous, held, floor):
        """M-step, exact for the log-likelihood plus `log_prior`; see `mixture_steps`."""
        a, levels = self.numbers, int(self.offsets[-1])
        gaussian, counts = np.split(moments, [moments.shape[-1] - levels], axis=-1)
        if self.covariance == "diagonal":
            gaussian = _with_products(gaussian, a)
        full = self.covariance == "full"
        asked = gaussian, previous, held, floor if full else None
        weights, means, covariances = maximisation(*asked)
        if self.covariance == "diagonal":
            covariances = np.maximum(covariances, floor) * np.eye(a)
        elif self.covariance == "tied":
            total, first, second = split_moments(gaussian, a)
            outer = means[..., :, None] * first[..., None, :]
            scatter = second - outer - np.swapaxes(outer, -1, -2)
            scatter += total[..., None, None] * means[..., :, None] * means[..., None, :]
            pooled = scatter.sum(axis=0) / total.sum(axis=0)[..., None, None]
            covariances = np.broadcast_to(floored(pooled, floor), covariances.shape).copy()
        shares = self.smoothed(counts)
        if previous is not None and levels:
            shares = np.where(held[..., None], previous.shares, shares)
        return MixedParameters(weights, means, covariances, shares)


def _with_products(moments, a):
    """Moments (1, x_i, x_i x_j) from (1, x_i, x_i^2), different numbers uncorrelated."""
    i, j = upper_triangle(a)
    first = moments[..., 1 : 1 + a]
    products = first[..., i] * first[..., j] / np.maximum(moments[..., :1], np.finfo(float).tiny)
    products[..., i == j] = moments[..., 1 + a :]
    return np.concatenate([moments[..., : 1 + a], products], axis=-1)


def _completed(moments, parameters, observed, missing):
    """See `Emission.completed`, for covariances that are not diagonal."""
    d = len(observed) + len(missing)
    total, first, second = split_moments(moments, len(observed))
    covariances = parameters.covariances
    across = covariances[..., missing[:, None], observed]
    within = covariances[..., observed[:, None], observed]
    slopes = np.swapaxes(np.linalg.solve(within, np.swapaxes(across, -1, -2)), -1, -2)
    rest = covariances[..., missing[:, None], missing] - slopes @ np.swapaxes(across, -1, -2)
    known = (slopes @ parameters.means[..., observed, None])[..., 0]
    base = parameters.means[..., missing] - known
    mapped = (slopes @ first[..., None])[..., 0]
    outer = base[..., :, None] * mapped[..., None, :]
    mixed = base[..., :, None] * first[..., None, :] + slopes @ second
    square = base[..., :, None] * base[..., None, :]
    full_first = np.empty(total.shape + (d,))
    full_first[..., observed] = first
    full_first[..., missing] = base * total[..., None] + mapped
    full = np.empty(total.shape + (d, d))
    full[..., observed[:, None], observed] = second
    full[..., missing[:, None], observed] = mixed
    full[..., observed[:, None], missing] = np.swapaxes(mixed, -1, -2)
    full[..., missing[:, None], missing] = (
        total[..., None, None] * (rest + square)
        + outer
        + np.swapaxes(outer, -1, -2)
        + slopes @ second @ np.swapaxes(slopes, -1, -2)
    )
    i, j = upper_triangle(d)
    return np.concatenate([total[..., None], full_first, full[..., i, j]], axis=-1)
