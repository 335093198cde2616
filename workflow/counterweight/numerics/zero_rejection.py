"""Rejection of zero-reward rows at known rates, seeded by row key.

A row of reward 0 is kept with probability l, any other row always. The draw of a row is
a hash of its key and the seed, so it depends neither on the order of the rows nor on
what other rows there are, and the rows kept at a lower rate are among those kept at a
higher one.

References
----------
Mineiro, P. (2010). The Unimportance of Zeroes. Machined Learnings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError

#: Constants of the 64-bit finaliser of SplitMix (Steele, Lea & Flood 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def _mixed(z):
    """Mix 64-bit numbers in place: a bijection whose outputs look independent."""
    z += _STEP
    z ^= z >> np.uint64(30)
    z *= _FIRST
    z ^= z >> np.uint64(27)
    z *= _SECOND
    z ^= z >> np.uint64(31)
    return z


def row_uniforms(keys, seed):
    """One number in [0, 1) for each row, a multiple of 2^-53, from its key (a whole number) and the
    seed.

    Equal keys get equal numbers, so the keys of a log must be distinct for its rows to be kept
    independently; different seeds give unrelated numbers.
    """
    keys = np.asarray(keys)
    if keys.dtype.kind not in "iu":
        raise CounterweightError(
            f"Row keys must be whole numbers, got values of type {keys.dtype}: number the rows and "
            "use these numbers."
        )
    z = _mixed(keys.astype(np.uint64))
    seed = int(seed)
    # A seed of more than 64 bits counts in full, one word after the other.
    while True:
        z ^= _mixed(np.array([seed & 0xFFFFFFFFFFFFFFFF], np.uint64))
        z = _mixed(z)
        seed >>= 64
        if seed in (0, -1):
            break
    z >>= np.uint64(11)
    return z * 2.0**-53


def checked_rates(reward, rate, start=0):
    """Keep rates of the zero-reward rows, checked: one number in (0, 1], or one for each row, which
    may be missing (NaN) where the reward is not 0. `start` is the number of the first row, for
    messages.
    """
    try:
        rate = np.asarray(rate, dtype=float)
    except (TypeError, ValueError) as error:
        raise CounterweightError(f"The keep rate is {rate!r}; it must be a number.") from error
    if rate.ndim == 0:
        if not 0 < rate <= 1:
            raise CounterweightError(
                f"The keep rate of zero-reward rows is {float(rate):g}: give a number above 0 and "
                "at most 1."
            )
        return float(rate)
    reward = np.asarray(reward)
    if rate.shape != reward.shape:
        raise CounterweightError(
            f"There are {reward.size} rows but {rate.size} keep rates: give one rate, or one for "
            "each row."
        )
    # The cheap test first: a good column costs one pass.
    if rate.size == 0 or (rate.min() > 0 and rate.max() <= 1):
        return rate
    missing = np.isnan(rate)
    outside = ~missing & ~((rate > 0) & (rate <= 1))
    if outside.any():
        first = int(np.argmax(outside))
        raise CounterweightError(
            f"{int(outside.sum())} of {rate.size} keep rates are not above 0 and at most 1 (first: "
            f"{rate[first]:g} in row {start + first}): a rate is the probability with which a "
            "zero-reward row was kept."
        )
    missing &= reward == 0
    if missing.any():
        first = start + int(np.argmax(missing))
        raise CounterweightError(
            f"The keep rate is missing in {int(missing.sum())} of {rate.size} rows whose reward is "
            f"0 (first: row {first}): fill in the probability with which these rows were kept, or "
            "drop them and give the number of all rows."
        )
    return rate


def kept_rows(reward: ArrayLike, keys: ArrayLike, rate: ArrayLike, seed: int) -> np.ndarray:
    """Which rows are kept when zero-reward rows are rejected with probability 1 - l.

    Parameters
    ----------
    reward : array (n,)
        A row of reward other than 0 is always kept.
    keys : array of integers, shape (n,)
        See `row_uniforms`.
    rate : float, or array (n,)
        The keep rate l in (0, 1]; it may be NaN where the reward is not 0. The rows kept
        at a rate are among those kept at any higher one.
    seed : int

    Returns
    -------
    array of bool, shape (n,)

    Raises
    ------
    CounterweightError
        See `checked_rates`; and when there is not one key for each row, or a reward is
        missing.
    """
    reward, keys = np.asarray(reward), np.asarray(keys)
    if reward.shape != keys.shape:
        raise CounterweightError(
            f"There are {reward.size} rewards but {keys.size} row keys: give one key for each row."
        )
    _no_missing(reward)
    rate = checked_rates(reward, rate)
    return (reward != 0) | (row_uniforms(keys, seed) < rate)


def keep_weights(reward: ArrayLike, rate: ArrayLike) -> np.ndarray:
    """Weight 1/l of a kept zero-reward row, 1 of any other: w = [r=0]/l + [r!=0].

    Parameters
    ----------
    reward : array (n,)
    rate : float, or array (n,)
        In (0, 1]; it may be NaN where the reward is not 0.

    Returns
    -------
    array of float64, shape (n,)

    Raises
    ------
    CounterweightError
        See `checked_rates`; and when a reward is missing.
    """
    reward = np.asarray(reward)
    _no_missing(reward)
    rate = checked_rates(reward, rate)
    return np.where(reward == 0, 1 / rate, 1.0)


def rate_for_share(share: float, nonzero: ArrayLike, zero: ArrayLike) -> float:
    """Keep rate that makes non-zero rows the given share of the rows kept.

    Parameters
    ----------
    share : float
        In (0, 1); 0.5 balances the two.
    nonzero, zero : int
        Rows of reward other than 0, and of reward 0.

    Returns
    -------
    float
        l = nonzero (1 - share) / (share zero), at most 1: zero rows cannot be multiplied.

    Raises
    ------
    CounterweightError
        When the share is not between 0 and 1, or there is no non-zero row.
    """
    if not 0 < share < 1:
        raise CounterweightError(
            f"The share of non-zero rows is {share:g}: give a number between 0 and 1, e.g. 0.5."
        )
    if nonzero <= 0:
        raise CounterweightError(
            f"All {zero} rows have reward 0, so no rate makes the others {share:g} of what is "
            "kept: use a log with rewards."
        )
    if zero <= 0:
        return 1.0
    return min(1.0, nonzero * (1 - share) / (share * zero))


def _no_missing(reward):
    if reward.dtype.kind not in "biuf":
        raise CounterweightError(
            f"Rewards must be numbers, got values of type {reward.dtype}: recode them, and fill in "
            "or drop rows where they are missing."
        )
    if reward.dtype.kind == "f" and reward.size and np.isnan(reward.min()):
        missing = np.isnan(reward)
        raise CounterweightError(
            f"The reward is missing in {int(missing.sum())} of {reward.size} rows (first: row "
            f"{int(np.argmax(missing))}): fill in or drop these rows."
        )


def key_order(keys, rows):
    """Order by key, so that sums and passes do not depend on the order of the rows."""
    if keys.shape != (rows,):
        raise CounterweightError(f"There are {rows} rows but {keys.size} keys: give one for each.")
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    if len(same):
        raise CounterweightError(
            f"{len(same)} keys stand more than once (first: {keys[order][same[0]]}): rows are "
            "drawn by key, so each needs its own."
        )
    return order


def drawing_order(keys, seed):
    """Order in which rows are drawn without replacement: by `row_uniforms`, then by key.

    The first rows of a longer draw are those of a shorter one.
    """
    return np.lexsort((keys, row_uniforms(keys, seed)))
