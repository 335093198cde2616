"""Sums that ratio estimators of values need, in one pass, and the intervals that follow from them.

Every estimator is a ratio V = sum y z / sum y: IPS with y = 1 and z = r w, self-normalised IPS with
y = w and z = r, and so on. By linearisation its error is the mean of e = y (z - V), over the mean
of y. Sums of y^a (z - shift)^j for j <= a <= 4 give the second to fourth moments of e about any V,
in closed form and without storing rows; the shift, a typical z, keeps the digits when z varies
little. Rows where z is exactly 0 need only the sums of y^a.
"""

import math
from fractions import Fraction

import numpy as np

from counterweight.numerics.estimate import mean_interval, shape_of

#: Powers (a, j) of y and of z - shift, in the order in which sums are stored.
POWERS = ((1, 0), (1, 1), *((a, j) for a in (2, 3, 4) for j in range(a + 1)))


def power_sums(y, z):
    """Sums (14,) of y^a z^j in the order of `POWERS`; y is None for ones, z (n,) is shifted."""
    if y is None:
        z2 = z * z
        moments = (len(z), z.sum(), z2.sum(), _dot(z2, z), _dot(z2, z2))
        return np.array([moments[j] for _, j in POWERS])
    if not z.any():
        # All rewards alike, as clicks are: only the powers of y are left.
        alone = zero_sums(y)
        return np.array([0.0 if j else alone[a - 1] for a, j in POWERS])
    u = y * z
    y2, yu, u2 = y * y, y * u, u * u
    pairs = (y2, yu, u2)
    sums = [y.sum(), u.sum(), *(part.sum() for part in pairs)]
    sums += [_dot(part, y) for part in pairs] + [_dot(u2, u)]
    sums += [_dot(part, y2) for part in pairs] + [_dot(u2, yu), _dot(u2, u2)]
    return np.array(sums)


def _dot(a, b):
    """Sum of products on one thread, without the products in memory."""
    return np.einsum("i,i->", a, b)


def zero_sums(y, squares=None):
    """Sums (4,) of y, y^2, y^3 and y^4: what rows with z = 0 add; `squares` is room for y^2."""
    y2 = np.multiply(y, y, out=squares)
    first, second = y.sum(), y2.sum()
    return np.array([first, second, _dot(y2, y), _dot(y2, y2)])


def ratio_moments(sums, zero, shift, rows, total=None):
    """Value of a ratio estimator, and the moments of its influence values, from sums.

    `sums` (14, ...) are `power_sums` over the rows where z is not 0, `zero` (4, ...) `zero_sums`
    over the others; `shift` is what was taken from z, `rows` the number of all rows, independent
    draws, and `total` the sum of y z, where it is known more precisely. All but the shift may have
    further axes, e.g. one entry for each resampling.

    Returns
    -------
    dict of str to array (...)
        ``value``, ``denominator`` (sum y), ``standard_error`` (linearised; for y = 1 it is
        s / sqrt(n); NaN below two rows), ``second`` (sum e^2) and the ``skewness``,
        ``pull`` and ``kurtosis`` of ``estimate.Shape``. NaN where the denominator is 0.
    """
    sums, zero, rows = (np.asarray(part, float) for part in (sums, zero, rows))
    with np.errstate(divide="ignore", invalid="ignore"):
        denominator = sums[0] + zero[0]
        if total is None:
            total = sums[1] + shift * sums[0]
        value = np.where(denominator > 0, total / denominator, np.nan)
        d = shift - value
        pull = sums[3] + d * sums[2] - value * zero[1]
        second = sums[4] + 2 * d * sums[3] + d**2 * sums[2] + value**2 * zero[1]
        second = np.maximum(second, 0.0)
        third = sums[8] + 3 * d * sums[7] + 3 * d**2 * sums[6] + d**3 * sums[5]
        third = third - value**3 * zero[2]
        fourth = sums[13] + 4 * d * sums[12] + 6 * d**2 * sums[11] + 4 * d**3 * sums[10]
        fourth = fourth + d**4 * sums[9] + value**4 * zero[3]
        error = np.where(rows > 1, np.sqrt(second * rows / (rows - 1)) / denominator, np.nan)
        varies = second > 0
        return {
            "value": value,
            "denominator": denominator,
            "standard_error": error,
            "second": second,
            "skewness": np.where(varies, np.sqrt(rows) * third / second**1.5, 0.0),
            "pull": np.where(varies, np.sqrt(rows / second) * pull / denominator, 0.0),
            "kurtosis": np.where(varies, rows * fourth / second**2, 3.0),
        }


def told_of(value, draws, second, third, fourth, pull):
    """Moments as of `ratio_moments`, from the sums of c^2, c^3, c^4 and the pull of influences."""
    shape = shape_of(draws, 1.0, second, third, fourth, pull)
    error = math.sqrt(second * draws / (draws - 1)) if draws > 1 else math.nan
    return {
        "value": value,
        "second": second,
        "standard_error": error,
        "skewness": shape.skewness,
        "pull": shape.pull,
        "kurtosis": shape.kurtosis,
    }


def value_interval(moments, rows, level=0.95, reward_range=None, *, weighted=False):
    """Interval of a value from the moments (`ratio_moments`) of its influence values.

    It stays in the range of rewards if the value does: an unweighted mean of r w can lie outside.
    `weighted` are means of rewards (self-normalised). NaN where nothing can be said, as for the
    upper end when no reward was seen.
    """
    low, high = reward_range or (None, None)
    value = moments["value"]
    if not weighted and reward_range is not None:
        varies = moments["second"] > 0
        low = low if low <= value and (varies or low == 0) else None
        high = high if value <= high and (varies or high == 0) else None
    return mean_interval(
        value,
        moments["standard_error"],
        moments["skewness"],
        rows,
        level,
        (low, high),
        pull=moments["pull"],
        kurtosis=moments["kurtosis"],
    )


def gamma_interval(value, second, largest, total, level=0.95):
    """Interval of a weighted sum of rare rewards, over a total (Fay & Feuer 1997).

    Each kind of reward is taken for a Poisson count, as rare rewards of independent rows are; the
    weighted sum of counts is compared with a gamma variable of the same mean and variance, the
    upper end with one more reward of the `largest` weight. With six rewards that count alike it is
    the exact interval of a Poisson count, and its coverage is at least nominal. `value` is ``sum x
    / total``, not negative, `second` is ``sum x^2`` over the independent draws.

    References
    ----------
    Fay, M. & Feuer, E. (1997). Confidence intervals for directly standardized rates: a method
    based on the gamma distribution. Statistics in Medicine 16.
    """
    from scipy.special import chdtri

    tail = (1 - level) / 2
    sum_, low = value * total, 0.0
    if sum_ > 0 and second > 0:
        low = second / (2 * sum_) * chdtri(2 * sum_**2 / second, 1 - tail) / total
    more, spread = sum_ + largest, second + largest**2
    high = spread / (2 * more) * chdtri(2 * more**2 / spread, tail) / total
    return float(low), float(high)


def anytime_interval(value, standard_error, draws, at, level=0.95):
    """An interval that may be looked at after every row: an asymptotic confidence sequence.

    All intervals of a growing log hold the value at once with the given chance, up to the normal
    approximation of sums; it is narrowest about `at` draws, and wider than one that is looked at
    once by some two thirds there.

    References
    ----------
    Waudby-Smith, I., Arbour, D., Sinha, R., Kennedy, E. & Ramdas, A. (2024). Time-uniform central
    limit theory and asymptotic confidence sequences. Annals of Statistics 52, Theorem 2.2.
    """
    alpha = 1 - level
    scale = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha)) + 1) / at
    inner = draws * scale + 1
    half = standard_error * math.sqrt(
        2 * inner / (draws * scale) * math.log(math.sqrt(inner) / alpha)
    )
    return value - half, value + half


class ExactSum:
    """Sum of floats without any rounding before the end: the same in any order and batches.

    Each pass cuts from all values the digits above one common place; these add up without
    rounding in whatever order numpy takes them, and what is left goes to the next pass
    (Rump, Ogita & Oishi 2008, "Accurate floating-point summation", part I).
    """

    def __init__(self):
        self._sum = Fraction(0)

    def add(self, values):
        """Add finite numbers, an array (n,) of float64."""
        spare = math.ceil(math.log2(len(values) + 2))
        while len(values) and (most := max(float(values.max()), -float(values.min()))):
            exponent = spare + math.frexp(most)[1]
            if exponent > 1023:
                self._sum += sum(map(Fraction, values.tolist()))
                return
            place = math.ldexp(1.0, exponent)
            high = values + place
            high -= place
            self._sum += Fraction(float(high.sum()))
            values = np.subtract(values, high, out=high)

    def value(self):
        """The sum, rounded once."""
        return float(self._sum)
