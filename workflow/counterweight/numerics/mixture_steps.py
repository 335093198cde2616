"""Sufficient statistics and M-steps of many Gaussian mixtures at once.

The log density of a Gaussian is linear in the quadratic features
(1, x_i, x_i x_j), and so are the statistics that the M-step needs. One E-step of R
mixtures of K components is therefore one matrix product with the feature matrix,
and the statistics are one more. Arrays that describe a batch of mixtures start with
the axes (K, R): sums over components then run over contiguous memory.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

CACHE_BYTES = 256 << 20
#: Up to this many Gaussians reading a second layout costs more than it saves.
NARROW = 12
#: Rows of a tile: matrix products this small are spared BLAS's repacking of the operands.
TILE = 64
#: Logarithms of shares that are lifted to this: smaller ones change no sum, but their products are
#: numbers below the least normal one, with which a processor is some ten times slower.
LEAST_LOGS = {np.float32: -60.0, np.float64: -600.0}
LOG_2PI = float(np.log(2 * np.pi))


@cache
def upper_triangle(d):
    """Row and column indices of the upper triangle of a (d, d) matrix."""
    return np.triu_indices(d)


class Parameters(NamedTuple):
    """A batch of R mixtures with K components over d features.

    Attributes
    ----------
    weights : ndarray (K, R)
        Mixing proportions; each column sums to one.
    means : ndarray (K, R, d)
    covariances : ndarray (K, R, d, d)
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def restarts(self, index):
        """The mixtures at `index` of the batch."""
        return Parameters(*(values[:, index] for values in self))


class Statistics(NamedTuple):
    """What an E-step leaves for the M-step.

    Attributes
    ----------
    moments : ndarray (K, R, q)
        Weighted sums of responsibility times quadratic features.
    log_likelihood : ndarray (R,)
        Sum over rows of weight times log density.
    hard : ndarray (K, R)
        Rows, by weight, whose largest responsibility is this component's (a tie counts for
        both).
    """

    moments: np.ndarray
    log_likelihood: np.ndarray
    hard: np.ndarray


def density_coefficients(parameters):
    """Coefficients (K, R, q) of log weight + log density in the quadratic features."""
    weights, means, covariances = parameters
    d = means.shape[-1]
    factor = np.linalg.cholesky(covariances)
    inverse = np.linalg.inv(factor)
    precision = np.swapaxes(inverse, -1, -2) @ inverse
    linear = (precision @ means[..., None])[..., 0]
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    with np.errstate(divide="ignore"):
        constant = np.log(weights)
    constant = constant - 0.5 * (
        d * LOG_2PI + 2 * np.log(diagonal).sum(-1) + (linear * means).sum(-1)
    )
    i, j = upper_triangle(d)
    quadratic = precision[..., i, j] * np.where(i == j, -0.5, -1.0)
    return np.concatenate([constant[..., None], linear, quadratic], axis=-1)


class QuadraticRows:
    """Rows of standardised features, expanded to quadratic features block by block.

    Parameters
    ----------
    rows : ndarray (n, d)
    row_weights : ndarray (n,)
        Positive.
    block : int
        Rows treated at a time: some tiles of 64 rows, at most 31 of them. The result does
        not depend on it beyond rounding. Rows of an odd number of tiles do not compete
        for the same lines of the processor's cache.
    cache_bytes : int
        The expanded rows are kept if they take no more than this, else made anew each time.
    """

    def __init__(self, rows, row_weights, block=1984, cache_bytes=CACHE_BYTES):
        self.rows = rows
        self.row_weights = row_weights
        self._unweighted = bool((row_weights == 1).all())
        # `expectation` counts at most 255 groups of 8 rows in a byte, so 31 tiles of 64.
        self.block = TILE * min(max(int(block) // TILE, 1), 255 * 8 // TILE)
        n, d = rows.shape
        self.width = 1 + d + len(upper_triangle(d)[0])
        self._keep = 2 * n * self.width * 8 <= cache_bytes
        self._kept = {}

    def _expand(self, start, dtype):
        # Padding is a row in the centre, of weight zero.
        rows = self.rows[start : start + self.block]
        n, d = rows.shape
        tiles = -(-n // TILE)
        columns = np.zeros((tiles * TILE, d), dtype)
        columns[:n] = rows
        columns = columns.reshape(tiles, TILE, d).swapaxes(1, 2).copy()
        across = np.empty((tiles, self.width, TILE), dtype)
        across[:, 0] = 1
        across[:, 1 : d + 1] = columns
        at = d + 1
        for i in range(d):
            np.multiply(columns[:, i : i + 1], columns[:, i:], out=across[:, at : at + d - i])
            at += d - i
        row_weights = np.zeros(tiles * TILE)
        row_weights[:n] = self.row_weights[start : start + self.block]
        return across, row_weights

    def blocks(self, dtype=np.float64):
        """Yield the blocks of rows, each cut into T tiles; the last is padded.

        Yields `start` int; `across` ndarray (T, q, TILE): quadratic features, a row for each
        feature; `down` ndarray (T, TILE, q): the same, transposed; laid out anew where it is kept,
        since each of the two matrix products of an iteration is faster with a layout of its own;
        `row_weights` ndarray (T * TILE,): zero for the padding.
        """
        dtype = np.dtype(dtype)
        starts = range(0, len(self.rows), self.block)
        if self._keep and dtype not in self._kept:
            blocks = [self._expand(start, dtype) for start in starts]
            self._kept[dtype] = [
                (across, across.swapaxes(1, 2).copy(), weights) for across, weights in blocks
            ]
        for number, start in enumerate(starts):
            if self._keep:
                across, down, weights = self._kept[dtype][number]
            else:
                across, weights = self._expand(start, dtype)
                down = across.swapaxes(1, 2)
            yield start, across, down, weights

    def coefficients(self, parameters):
        """Coefficients (K, R, q) of the log density in the expanded features."""
        return density_coefficients(parameters)

    def expectation(self, parameters, dtype=np.float64, count=True):
        """One E-step of all mixtures over all rows; without `count`, ``hard`` stays zero.

        In single precision the log-likelihood is corrected to first order for the
        rounding of the coefficients, which would be its largest error: its derivative
        with respect to a coefficient is the moment of that feature.
        """
        k, r = parameters.weights.shape
        exact = self.coefficients(parameters).reshape(k * r, -1)
        coefficients = exact.astype(dtype)
        moments = np.zeros((k * r, self.width))
        log_likelihood = np.zeros(r)
        hard = np.zeros((k, r))
        tiles = -(-min(self.block, len(self.rows)) // TILE)
        buffer = np.empty(k * r * tiles * TILE, dtype)
        parts = np.empty((tiles, k * r, self.width), dtype)
        for _, across, down, weights in self.blocks(dtype):
            t, n = len(across), len(weights)
            flat = buffer[: k * r * n].reshape(k * r, n)
            tiled = flat.reshape(k * r, t, TILE).swapaxes(0, 1)
            np.matmul(coefficients, across, out=tiled)
            joint = flat.reshape(k, r, n)
            top = joint.max(axis=0)
            joint -= top
            if count:
                largest = joint == 0
                if self._unweighted:
                    largest[..., weights == 0] = False
                    # Eight rows a word: each byte of the sum counts at most 255 groups.
                    words = largest.view(np.uint64).sum(axis=-1, dtype=np.uint64)
                    hard += words[..., None].view(np.uint8).sum(axis=-1, dtype=np.int64)
                else:
                    hard += largest @ weights
            np.maximum(joint, LEAST_LOGS[joint.dtype.type], out=joint)
            np.exp(joint, out=joint)
            total = joint.sum(axis=0)
            joint *= np.divide(weights, total, dtype=dtype, casting="same_kind")
            np.log(total, out=total)
            total += top
            log_likelihood += total.astype(np.float64, copy=False) @ weights
            if k * r <= NARROW:
                down = across.swapaxes(1, 2)
            moments += np.matmul(tiled, down, out=parts[:t]).sum(axis=0)
        if coefficients.dtype != exact.dtype:
            lost = (exact - coefficients) * moments
            log_likelihood += lost.reshape(k, r, -1).sum(axis=(0, 2))
        return Statistics(moments.reshape(k, r, -1), log_likelihood, hard)

    def random_moments(self, k, r, rng):
        """Moments (K, R, q) of uniform random responsibilities, each row's sum one.

        Row i of every restart takes its numbers from the same place of the stream
        whatever the block size.
        """
        moments = np.zeros((k * r, self.width))
        for start, _, down, _ in self.blocks():
            weights = self.row_weights[start : start + self.block]
            draw = rng.random((len(weights), k, r))
            draw *= weights[:, None, None] / draw.sum(axis=1, keepdims=True)
            moments += draw.reshape(-1, k * r).T @ down.reshape(-1, self.width)[: len(weights)]
        return moments.reshape(k, r, -1)

    def moments(self, responsibilities):
        """Moments (K, R, q) of given responsibilities (R, n, K)."""
        r, _, k = responsibilities.shape
        moments = np.zeros((k, r, self.width))
        for start, _, down, _ in self.blocks():
            weights = self.row_weights[start : start + self.block]
            part = responsibilities[:, start : start + self.block] * weights[:, None]
            features = down.reshape(-1, self.width)[: len(weights)]
            moments += (features.T @ part).transpose(2, 0, 1)
        return moments


def floored(covariances, floor):
    """Raise the eigenvalues of covariances (..., d, d) that lie below `floor` to it.

    For a Gaussian whose covariance may not fall below ``floor`` times the identity this
    is the exact maximiser of the expected log-likelihood, so the likelihood of EM stays
    monotone.
    """
    d = covariances.shape[-1]
    lowered = covariances - floor * np.eye(d)
    try:
        np.linalg.cholesky(lowered)
        return covariances
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(covariances)
    low = values[..., 0] <= floor
    values = np.maximum(values, floor)
    raised = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    raised = 0.5 * (raised + np.swapaxes(raised, -1, -2))
    return np.where(low[..., None, None], raised, covariances)


def split_moments(moments, d):
    """Totals (...), first moments (..., d) and second moments (..., d, d) of `moments`."""
    total = moments[..., 0]
    first = moments[..., 1 : d + 1]
    i, j = upper_triangle(d)
    second = np.empty(moments.shape[:-1] + (d, d))
    second[..., i, j] = moments[..., d + 1 :]
    second[..., j, i] = moments[..., d + 1 :]
    return total, first, second


def maximisation(moments, previous, held, floor):
    """Constrained M-step of all mixtures, from moments (K, R, q).

    Components that are `held` (K, R) are not updated: weight, mean and covariance stay those of
    `previous`, the weights of the others share the rest. This still cannot lower the likelihood (a
    generalised EM step). `previous` may be None when nothing is held. `floor` is the least
    eigenvalue of a covariance; None for covariances as they come.
    """
    width = moments.shape[-1]
    d = int(round((np.sqrt(8 * width + 1) - 3) / 2))
    total, first, second = split_moments(moments, d)
    if previous is None:
        held = np.zeros(total.shape, dtype=bool)
    safe = np.where(held, 1.0, total)
    means = first / safe[..., None]
    covariances = second / safe[..., None, None] - means[..., :, None] * means[..., None, :]
    if held.any():
        means = np.where(held[..., None], previous.means, means)
        covariances = np.where(held[..., None, None], previous.covariances, covariances)
        moved = np.where(held, 0.0, total)
        rest = 1.0 - np.where(held, previous.weights, 0.0).sum(axis=0)
        shares = moved / np.maximum(moved.sum(axis=0), np.finfo(float).tiny)
        weights = np.where(held, previous.weights, shares * rest)
    else:
        weights = total / total.sum(axis=0)
    if floor is not None:
        covariances = floored(covariances, floor)
    return Parameters(weights, means, covariances)


def chosen(where, one, other):
    """Of each mixture of a batch the parameters of `one` where `where` (R,), else of `other`."""
    return type(one)(
        *(
            np.where(where.reshape((-1,) + (1,) * (a.ndim - 2)), a, b)
            for a, b in zip(one, other, strict=True)
        )
    )


#: Logarithm of the most by which a step beyond three scales a covariance, and a share of a level.
MOST_SCALED, MOST_SHARED = 7.0, 600.0
#: Information in a row on the position and the slope of its response curve, roughly.
CURVED = np.array([0.2, 0.02])


def extrapolated(path, reach, floor, normalised):
    """Parameters beyond three that EM went through, and how far the next ones may reach, (R,).

    On logarithms of shares, means, and logarithms of covariances in units of the middle ones, so
    that what comes out is a mixture again, and goes with the rows under any affine map. The length
    of the step is that of scheme S3 of Varadhan & Roland (2008), up to `reach`, which grows by four
    where it is met; distances are those of the information in rows whose component is known.
    `normalised` makes the shares of the levels of each category sum to one. Of what comes after
    covariances, `shares` go by their logarithms, `curves` as they are; bounds are not looked at.
    """
    weights, means, covariances, *more = zip(*path, strict=True)
    shared = [name == "shares" for name in path[0]._fields[3:]]
    factor = np.linalg.cholesky(covariances[1])
    inverse = np.linalg.inv(factor)
    across = np.swapaxes(inverse, -1, -2)
    values = [
        [np.log(np.maximum(one, np.finfo(float).tiny)) for one in weights],
        [(inverse @ one[..., None])[..., 0] for one in means],
        [_logarithm(inverse @ one @ across) for one in covariances[::2]],
        *(
            [np.log(one) if log else one for one in three]
            for log, three in zip(shared, more, strict=True)
        ),
    ]
    values[2].insert(1, np.zeros_like(factor))
    moves = [(one - start, end - 2 * one + start) for start, one, end in values]
    # Of covariances half the squares count; of shares each by its size.
    size = (
        1.0,
        1.0,
        0.5,
        *(one[1] if log else CURVED for log, one in zip(shared, more, strict=True)),
    )
    long, bend = (
        sum(
            (weights[1] * (by * move[which] ** 2).sum(axis=tuple(range(2, move[which].ndim)))).sum(
                0
            )
            for by, move in zip(size, moves, strict=True)
        )
        for which in (0, 1)
    )
    length = np.sqrt(long / np.maximum(bend, np.finfo(float).tiny))
    length = np.clip(length, 1.0, reach)
    made = []
    for (start, *_), (step, turn) in zip(values, moves, strict=True):
        by = length.reshape((-1,) + (1,) * (start.ndim - 2))
        made.append(start + by * (2 * step + by * turn))
    # What EM held stays; the others share the rest.
    still = (weights[0] == weights[1]) & (weights[1] == weights[2])
    moved = np.where(still, 0.0, np.exp(made[0] - made[0].max(axis=0)))
    total = np.maximum(moved.sum(axis=0), np.finfo(float).tiny)
    rest = 1.0 - np.where(still, weights[1], 0.0).sum(axis=0)
    values, vectors = np.linalg.eigh(made[2])
    root = factor @ vectors * np.exp(np.clip(values, -MOST_SCALED, MOST_SCALED) / 2)[..., None, :]
    parameters = type(path[0])(
        np.where(still, weights[1], moved / total * rest),
        (factor @ made[1][..., None])[..., 0],
        floored(root @ np.swapaxes(root, -1, -2), floor),
        *(
            normalised(np.exp(np.clip(one, -MOST_SHARED, MOST_SHARED))) if log else one
            for log, one in zip(shared, made[3:], strict=True)
        ),
    )
    return parameters, np.where(length >= reach, 4 * reach, reach)


def _logarithm(matrices):
    """Logarithms of positive definite matrices (..., d, d), to third order around the identity."""
    one = np.eye(matrices.shape[-1])
    made = 2 * one - 4 * np.linalg.inv(matrices + one)
    return 0.5 * (made + np.swapaxes(made, -1, -2))
