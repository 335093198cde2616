"""Rows of numbers and categories laid out for EM, grouped by which numbers are missing."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import named
from counterweight.numerics.emissions.components import Emission, MixedParameters
from counterweight.numerics.mixture_steps import (
    CACHE_BYTES,
    TILE,
    QuadraticRows,
    Statistics,
    floored,
    upper_triangle,
)


class _Pattern(QuadraticRows):
    """Rows with the same numbers missing, expanded to what the emission is linear in."""

    def __init__(self, emission, numbers, codes, observed, row_weights, **layout):
        super().__init__(np.ascontiguousarray(numbers[:, observed]), row_weights, **layout)
        self.emission, self.codes, self.observed = emission, codes, observed
        self._diagonal = emission.covariance == "diagonal"
        self._levels = int(emission.offsets[-1])
        a = len(observed)
        self.gaussian = 1 + 2 * a if self._diagonal else 1 + a + a * (a + 1) // 2
        self.width = self.gaussian + self._levels
        self._keep = 2 * len(numbers) * self.width * 8 <= layout.get("cache_bytes", CACHE_BYTES)

    def _expand(self, start, dtype):
        rows = self.rows[start : start + self.block]
        n, a = rows.shape
        tiles = -(-n // TILE)
        across = np.zeros((self.width, tiles * TILE), dtype)
        across[0] = 1
        across[1 : 1 + a, :n] = rows.T
        if self._diagonal:
            across[1 + a : 1 + 2 * a] = across[1 : 1 + a] ** 2
        else:
            i, j = upper_triangle(a)
            np.multiply(across[1 + i], across[1 + j], out=across[1 + a : self.gaussian])
        codes = self.codes[start : start + self.block]
        for at, offset in enumerate(self.emission.offsets[:-1]):
            there = np.flatnonzero(codes[:, at] >= 0)
            across[self.gaussian + offset + codes[there, at], there] = 1
        across = across.reshape(self.width, tiles, TILE).swapaxes(0, 1).copy()
        row_weights = np.zeros(tiles * TILE)
        row_weights[:n] = self.row_weights[start : start + self.block]
        return across, row_weights

    def coefficients(self, parameters):
        return self.emission.coefficients(parameters, self.observed)


class EmissionRows:
    """Rows of numbers and codes, grouped by which numbers are missing.

    Parameters
    ----------
    emission : Emission
    numbers : ndarray (n, a)
        Standardised; NaN where missing.
    codes : ndarray of int (n, b)
        -1 where missing.
    row_weights : ndarray (n,)
        Positive.
    """

    def __init__(self, emission, numbers, codes, row_weights, block=1984):
        self.emission = emission
        missing = np.isnan(numbers)
        if missing.any():
            patterns, which = np.unique(missing, axis=0, return_inverse=True)
            order = np.argsort(which.reshape(-1), kind="stable")
            cuts = np.cumsum(np.bincount(which.reshape(-1), minlength=len(patterns)))[:-1]
            self._index = np.split(order, cuts)
        else:
            patterns, self._index = missing[:1], [np.arange(len(numbers))]
        cache = CACHE_BYTES // max(len(self._index), 1)
        self.patterns = [
            _Pattern(
                emission,
                numbers[index],
                codes[index],
                np.flatnonzero(~pattern),
                row_weights[index],
                block=block,
                cache_bytes=cache,
            )
            for index, pattern in zip(self._index, patterns, strict=True)
        ]
        self.width = max(pattern.width for pattern in self.patterns)

    def expectation(self, parameters, dtype=np.float64, count=True):
        """One E-step of all mixtures over all rows; see `QuadraticRows.expectation`."""
        parts = [pattern.expectation(parameters, dtype, count) for pattern in self.patterns]
        moments = [
            self.emission.completed(part.moments, parameters, pattern.observed)
            for part, pattern in zip(parts, self.patterns, strict=True)
        ]
        return Statistics(
            sum(moments), sum(p.log_likelihood for p in parts), sum(p.hard for p in parts)
        )

    def _started(self, moments_of, shape):
        """Sum of the completed moments of each pattern, missing numbers as in N(0, 1)."""
        a, levels = self.emission.numbers, int(self.emission.offsets[-1])
        unit = np.broadcast_to(np.eye(a), (*shape, a, a))
        plain = MixedParameters(
            np.ones(shape), np.zeros((*shape, a)), unit, np.ones((*shape, levels))
        )
        return sum(
            self.emission.completed(moments_of(pattern, index), plain, pattern.observed)
            for pattern, index in zip(self.patterns, self._index, strict=True)
        )

    def random_moments(self, k, r, rng):
        """Moments (K, R, q) of uniform random responsibilities."""
        return self._started(lambda pattern, _: pattern.random_moments(k, r, rng), (k, r))

    def moments(self, responsibilities):
        """Moments (K, R, q) of given responsibilities (R, n, K)."""
        r, _, k = responsibilities.shape
        return self._started(lambda part, index: part.moments(responsibilities[:, index]), (k, r))


class MixedRows:
    """Rows standardised for EM, with categories as they are, and the way back.

    Parameters
    ----------
    X : ndarray (n, d)
        NaN where missing.
    row_weights : ndarray (n,)
        Rows of weight zero are left out.
    layout : Layout
    covariance : {"full", "diagonal", "tied"}
    scale : ndarray (a,), optional
        Of the numbers, to divide by instead of their standard deviations.

    Raises
    ------
    CounterweightError
        When a number is constant or missing everywhere.
    """

    def __init__(self, X, row_weights, layout, covariance="full", block=1984, scale=None):
        self.layout = layout
        self.emission = Emission(len(layout.numbers), layout.levels, covariance)
        self.used = np.flatnonzero(row_weights > 0)
        row_weights = row_weights[self.used]
        self.total = row_weights.sum()
        numbers, codes = layout.split(X[self.used])
        there = ~np.isnan(numbers)
        seen = row_weights @ there
        filled = np.where(there, numbers, 0.0)
        constant = [
            at
            for at in range(numbers.shape[1])
            if not there[:, at].any() or np.ptp(numbers[there[:, at], at]) == 0
        ]
        if constant:
            raise CounterweightError(
                f"Feature {listed(named([layout.numbers[at] for at in constant]))} is constant "
                f"over the {len(numbers)} rows given, so its variance does not exist: drop the "
                "feature, or declare it a category."
            )
        self.mean = row_weights @ filled / seen
        rows = numbers - self.mean
        self.scale = np.sqrt(row_weights @ np.where(there, rows, 0.0) ** 2 / seen)
        if scale is not None:
            self.scale = np.asarray(scale, dtype=float)
        rows /= self.scale
        self.features = EmissionRows(self.emission, rows, codes, row_weights, block)
        self.log_jacobian = seen @ np.log(self.scale)

    def inward(self, start, floor):
        """Parameters (K, 1, ...) of a `Mixture` in the units of the rows."""
        return MixedParameters(
            np.asarray(start.weights, dtype=float)[:, None],
            ((start.means - self.mean) / self.scale)[:, None],
            floored(start.covariances / np.outer(self.scale, self.scale), floor)[:, None],
            np.asarray(start.shares, dtype=float)[:, None],
        )

    def outward(self, parameters):
        """What a `Mixture` is made of, by name, of a batch of one."""
        return {
            "weights": parameters.weights[:, 0],
            "means": self.mean + self.scale * parameters.means[:, 0],
            "covariances": np.outer(self.scale, self.scale) * parameters.covariances[:, 0],
            "shares": parameters.shares[:, 0],
            "layout": self.layout,
        }

    def batch(self, weights, means, covariances, shares):
        """Parameters of standardised rows, each with the axes (K, R)."""
        return MixedParameters(weights, means, covariances, shares)

    def moments(self, moments):
        """Totals (...), first (..., a) and second (..., a, a) moments, and counts of levels."""
        return self.emission.split(moments)

    def shares(self, counts):
        """Smoothed shares of levels from their counts."""
        return self.emission.smoothed(counts)

    def log_prior(self, parameters):
        """What smoothing adds to the log-likelihood, (R,)."""
        return self.emission.log_prior(parameters.shares)

    def maximisation(self, moments, previous, held, floor):
        """See `Emission`."""
        return self.emission.maximisation(moments, previous, held, floor)
