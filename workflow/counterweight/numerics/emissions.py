"""Densities of mixed features within a component: a Gaussian of the numbers, a share of each level.

p(x | j) = N(x_num; mu_j, Sigma_j) prod_c theta_{j, c, x_c}. Given its component, a category is
independent of all other features; that is what the model assumes, and components multiply until it
is nearly so where it is false. A missing entry integrates out: its category's factor is left
out, and the Gaussian is that of the numbers that are there. This is right where a value is
missing whatever it is, given the others and the component.

The log density is linear in the numbers, their products and an indicator of each level, so an
E-step is two matrix products over the rows of each pattern of missing numbers, as in
`counterweight.numerics.mixture_steps`. Rows are laid out for that, grouped by their pattern.
"""

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import named
from counterweight.numerics.mixture_steps import (
    CACHE_BYTES,
    LEAST_LOGS,
    LOG_2PI,
    TILE,
    Parameters,
    QuadraticRows,
    Statistics,
    density_coefficients,
    floored,
    maximisation,
    split_moments,
    upper_triangle,
)

#: Rows whose densities are found at a time.
DENSITY_ROWS = 4096


def log_sum_exp(values):
    """Logarithm of the sum of exponentials over the last axis, without overflow."""
    # Column by column: over a short last axis this takes a part of the time.
    top = values[..., 0].copy()
    for number in range(1, values.shape[-1]):
        np.maximum(top, values[..., number], out=top)
    finite = np.isfinite(top)
    base = np.where(finite, top, 0.0)
    power = values - base[..., None]
    # What is less adds nothing, and takes the processor a hundred times as long.
    np.maximum(power, LEAST_LOGS[np.float64], out=power)
    total = np.exp(power, out=power).sum(axis=-1)
    return np.where(finite, np.log(total) + base, top)


def gaussian_log_density(X, means, covariances):
    """Log density of each row under each Gaussian.

    `X` array (n, d); `means` ndarray (K, d); `covariances` ndarray (K, d, d): positive definite.
    Returns ndarray (n, K).
    """
    X = np.asarray(X, dtype=float)
    factor = np.linalg.cholesky(covariances)
    inverse = np.linalg.inv(factor)
    log_scale = np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    result = np.empty((len(X), len(means)))
    # As many rows at a time as stay in the cache with their distances.
    for start in range(0, len(X), DENSITY_ROWS):
        rows = X[start : start + DENSITY_ROWS]
        away, distance = np.empty((2, *rows.shape))
        for c, mean in enumerate(means):
            np.subtract(rows, mean, out=away)
            np.matmul(away, inverse[c].T, out=distance)
            square = np.einsum("nd,nd->n", distance, distance)
            np.multiply(-0.5, square, out=result[start : start + DENSITY_ROWS, c])
    return result - log_scale - 0.5 * X.shape[1] * LOG_2PI


def mixed_log_density(numbers, codes, means, covariances, shares, offsets):
    """Log density of rows of numbers and categories under each component.

    `numbers` ndarray (n, a): NaN where missing; `codes` ndarray of int (n, b): -1 where missing;
    `means` ndarray (K, a); `covariances` ndarray (K, a, a); `shares` ndarray (K, L): of the levels,
    category after category; `offsets` ndarray of int (b + 1,): where the levels of each category
    begin. Returns ndarray (n, K).
    """
    result = np.zeros((len(numbers), len(means)))
    missing = np.isnan(numbers)
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    which = which.reshape(-1)
    for at, pattern in enumerate(patterns):
        there = np.flatnonzero(~pattern)
        if len(there):
            rows = np.flatnonzero(which == at) if len(patterns) > 1 else slice(None)
            result[rows] = gaussian_log_density(
                numbers[rows][:, there], means[:, there], covariances[:, there[:, None], there]
            )
    logs = np.log(shares).T
    for at, offset in enumerate(offsets[:-1]):
        seen = np.flatnonzero(codes[:, at] >= 0)
        result[seen] += logs[offset + codes[seen, at]]
    return result


@dataclass(frozen=True)
class Layout:
    """Which columns of a matrix of rows are numbers, and which make up a category.

    Attributes
    ----------
    numbers : tuple of int
        Columns.
    categories : tuple of tuple of int
        Columns of each category: one column of codes from 0, or one column of 0 and 1 for
        each level.
    levels : tuple of int
        Of each category.
    flags : tuple of (int, int)
        A number's column and the column of 0 and 1 that says where it is missing, whatever
        then stands in its place. The flag is a category as well.
    """

    numbers: tuple
    categories: tuple = ()
    levels: tuple = ()
    flags: tuple = ()

    @classmethod
    def of(cls, width, blocks=(), flags=()):
        """The layout of a matrix with `width` columns; a block of one column is 0 or 1."""
        blocks = tuple(tuple(int(column) for column in block) for block in blocks)
        taken = [column for block in blocks for column in block]
        if len(set(taken)) < len(taken) or not all(0 <= column < width for column in taken):
            raise CounterweightError(
                f"Columns {taken} of categories must be different ones from 0 to {width - 1}."
            )
        numbers = tuple(column for column in range(width) if column not in set(taken))
        levels = tuple(max(len(block), 2) for block in blocks)
        flags = tuple((int(number), int(flag)) for number, flag in flags)
        return cls(numbers, blocks, levels, flags)

    @classmethod
    def named(cls, names, blocks, flags=None):
        """The layout of columns with these names; blocks and flags are told by name."""
        at = {name: number for number, name in enumerate(names)}
        told = [(at[number], at[flag]) for number, flag in (flags or {}).items()]
        return cls.of(len(names), [[at[name] for name in block] for block in blocks], told)

    @property
    def features(self):
        """Numbers and categories, counted."""
        return len(self.numbers) + len(self.categories)

    @cached_property
    def offsets(self):
        """Where the levels of each category begin among all levels, and their end."""
        return np.concatenate([[0], np.cumsum(self.levels)]).astype(int)

    @property
    def width(self):
        """Columns of the matrix."""
        return len(self.numbers) + sum(len(block) for block in self.categories)

    def split(self, X):
        """Numbers (n, a), NaN where missing, and codes (n, b), -1 where missing."""
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.width:
            raise CounterweightError(
                f"Rows have the shape {X.shape}, but the layout has {self.width} columns."
            )
        numbers = X[:, list(self.numbers)]
        if np.isinf(numbers).any():
            raise CounterweightError("A number among the features is infinite: correct the data.")
        for number, flag in self.flags:
            numbers[X[:, flag] == 1, self.numbers.index(number)] = np.nan
        codes = np.empty((len(X), len(self.categories)), dtype=np.int32)
        for at, (block, levels) in enumerate(zip(self.categories, self.levels, strict=True)):
            codes[:, at] = _codes(X[:, list(block)], levels, block)
        return numbers, codes

    def to_arrays(self):
        """Of each column its category (-1 for numbers) and its flag (-1 for none); the levels."""
        of, flag = np.full(self.width, -1), np.full(self.width, -1)
        for at, block in enumerate(self.categories):
            of[list(block)] = at
        for number, column in self.flags:
            flag[number] = column
        return {"category": of, "flag": flag, "levels": np.array(self.levels, dtype=int)}

    @classmethod
    def from_arrays(cls, arrays):
        """The layout from what `to_arrays` gave."""
        of, flag = (np.asarray(arrays[name], dtype=int) for name in ("category", "flag"))
        levels = tuple(int(count) for count in np.ravel(arrays.get("levels", ())))
        blocks = tuple(tuple(map(int, np.flatnonzero(of == at))) for at in range(len(levels)))
        flags = tuple((int(at), int(flag[at])) for at in np.flatnonzero(flag >= 0))
        return cls(tuple(map(int, np.flatnonzero(of < 0))), blocks, levels, flags)


def _codes(values, levels, block):
    """Codes (n,) of one category from its columns; -1 where a row has no level."""
    known = ~np.isnan(values).any(axis=1)
    values = np.where(known[:, None], values, 0.0)
    if len(block) > 1:
        wrong = ((values != 0) & (values != 1)).any(axis=1) | (values.sum(axis=1) > 1)
        known &= values.any(axis=1)
        codes = values.argmax(axis=1)
    else:
        codes = values[:, 0]
        wrong = (codes != np.floor(codes)) | (codes < 0) | (codes >= levels)
    if wrong.any():
        raise CounterweightError(
            f"Feature column {listed_columns(block)} is declared a category of {levels} levels but "
            f"is none of them in {int(wrong.sum())} rows (first: {values[np.argmax(wrong)]}): "
            "add no noise to categories, or declare it a number."
        )
    return np.where(known, codes, -1).astype(np.int32)


def listed_columns(block):
    """Columns of a category in print."""
    return ", ".join(str(column) for column in block[:5]) + (", ..." if len(block) > 5 else "")


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

    @cached_property
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
        at = moments.shape[-1] - int(self.offsets[-1])
        gaussian, counts = moments[..., :at], moments[..., at:]
        if self.covariance == "diagonal":
            gaussian = _with_products(gaussian, self.numbers)
        return *split_moments(gaussian, self.numbers), counts

    def smoothed(self, counts):
        """Shares of levels (..., L) from their counts."""
        return self.normalised(counts + SMOOTHING)

    def normalised(self, shares):
        """Shares (..., L) of which those of each category sum to one."""
        made = np.empty(shares.shape)
        for start, end in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            part = shares[..., start:end]
            made[..., start:end] = part / part.sum(axis=-1, keepdims=True)
        return made

    def maximisation(self, moments, previous, held, floor):
        """M-step, exact for the log-likelihood plus `log_prior`; see `mixture_steps`."""
        a, levels = self.numbers, int(self.offsets[-1])
        at = moments.shape[-1] - levels
        gaussian, counts = moments[..., :at], moments[..., at:]
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
            mass = np.maximum(total.sum(axis=0), np.finfo(float).tiny)
            pooled = scatter.sum(axis=0) / mass[..., None, None]
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

    `numbers` (n, a) are standardised, NaN where missing; `codes` (n, b) are -1 where missing;
    `row_weights` (n,) are positive.
    """

    def __init__(self, emission, numbers, codes, row_weights, block=1984):
        self.emission, self.numbers, self.codes = emission, numbers, codes
        self.row_weights, self.block = row_weights, block
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

    def part(self, at, row_weights):
        """The rows at `at`, with other weights."""
        rows = self.numbers[at], self.codes[at]
        return EmissionRows(self.emission, *rows, row_weights, self.block)

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

    X (n, d) has NaN where values are missing; rows of weight zero are left out. Numbers are divided
    by `scale` (a,), if given, instead of their standard deviations.
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

    def normalised(self, shares):
        """Shares of which those of each category sum to one."""
        return self.emission.normalised(shares)

    def part(self, counts):
        """The rows that are counted, as often as they are, in the same units."""
        at, part = np.flatnonzero(counts), copy.copy(self)
        part.features, part.total = self.features.part(at, counts[at]), counts.sum()
        return part

    def log_prior(self, parameters):
        """What smoothing adds to the log-likelihood, (R,)."""
        return self.emission.log_prior(parameters.shares)

    def maximisation(self, moments, previous, held, floor):
        """See `Emission`."""
        return self.emission.maximisation(moments, previous, held, floor)
