"""Intervals for measurements that were repeated over random splits."""

import numpy as np


def mean_variance(variance, k, test_share, row_variance):
    """Variance of a mean over splits; for arrays, too.

    Up to a test share t of one half it is Nadeau and Bengio's (see `paired_interval`). Beyond,
    theirs is many times too large, since they take all chance to be shared by t. There it is told
    apart: test rows, of which two splits share t, give each value the variance v = `row_variance`
    (its standard error squared); training rows, of which they share 1 - t, the rest u, with
    s² = (1 - t) v + t u. The mean then has ``s² / k + t v + (1 - t) u``.

    Parameters
    ----------
    variance : float
        s², sample variance over splits.
    k : int
        Splits.
    test_share : float
    row_variance : float
        Mean square of the standard errors; NaN where none is known: then Nadeau and Bengio's.
    """
    plain = variance * (1 / k + test_share / (1 - test_share))
    if test_share <= 0.5:
        return plain
    rest = np.maximum(variance - (1 - test_share) * row_variance, 0) / test_share
    apart = variance / k + test_share * row_variance + (1 - test_share) * rest
    return np.where(np.isnan(row_variance), plain, np.minimum(apart, plain))


def paired_interval(differences, test_share, level=0.95):
    """Corrected resampled t interval for the mean of paired differences.

    Random splits of one data set share most of their rows, so their results are
    correlated and the usual variance of a mean, ``s² / k``, is too small. Nadeau and
    Bengio (2003, *Machine Learning* 52, section 3) replace it by
    ``s² (1/k + n_test / n_train)``, which this function does with
    ``n_test / n_train = test_share / (1 - test_share)``.

    Assumes that the correlation between two splits is about the test share. Where
    repeats are independent data sets, the interval is wider than it needs to be.

    Parameters
    ----------
    differences : array-like of shape (k,)
        One difference (or one value) for each split.
    test_share : float
        Share of the rows that each split holds out, in [0, 1).
    level : float
        Coverage, in (0, 1).

    Returns
    -------
    mean, low, high : float
        `low` and `high` are NaN for fewer than two splits, from which no variance can
        be had; all three are NaN for none.

    Raises
    ------
    ValueError
        For a share or level out of range.
    """
    if not 0 <= test_share < 1:
        raise ValueError(f"test_share must be at least 0 and below 1, not {test_share}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    differences = np.asarray(differences, dtype=float).ravel()
    k = differences.size
    if k == 0:
        return np.nan, np.nan, np.nan
    mean = float(differences.mean())
    if k == 1 or not np.isfinite(mean):
        return mean, np.nan, np.nan
    from scipy.special import stdtrit

    variance = float(differences.var(ddof=1)) * (1 / k + test_share / (1 - test_share))
    half = float(stdtrit(k - 1, 0.5 + level / 2)) * np.sqrt(variance)
    return mean, mean - half, mean + half


def normal_interval(value, standard_error, level=0.95):
    """Interval ``value ± z · standard_error`` of one estimate.

    Parameters
    ----------
    value, standard_error : float
    level : float

    Returns
    -------
    low, high : float
        NaN where the standard error is not known.
    """
    from scipy.special import ndtri

    half = float(ndtri(0.5 + level / 2)) * standard_error
    return value - half, value + half
