"""Methods compared over many data sets: ranks, critical differences, tests of pairs, shares.

A data set counts once, whatever its size; values of one data set are not independent draws, those
of different ones are taken to be. References: Demšar (2006), *JMLR* 7, on all of these; Iman &
Davenport (1980) for the F form of Friedman's test; Holm (1979).
"""

from dataclasses import dataclass

import numpy as np

#: Level of tests and intervals.
LEVEL = 0.05


def ranks(values, better="less"):
    """Rank of each method in each data set: 1 is best, equal values share the mean of theirs.

    Parameters
    ----------
    values : array (N, k)
        A row a data set, a column a method; NaN, a method without an answer, ranks last.
    better : {"less", "more"}
    """
    from scipy.stats import rankdata

    values = np.asarray(values, float)
    values = values if better == "less" else -values
    return rankdata(np.where(np.isnan(values), np.inf, values), axis=1)


@dataclass(frozen=True)
class Friedman:
    """Whether methods differ at all: chi square, its F form and the chance of as much."""

    chi_square: float
    f: float
    p: float


def friedman(ranked):
    """Friedman's test of ranks (N, k) in the form of Iman and Davenport, corrected for ties."""
    from scipy.stats import f as law

    sets, k = ranked.shape
    spread = np.square(ranked - (k + 1) / 2).sum()
    apart = sets * np.square(ranked.mean(axis=0) - (k + 1) / 2).sum()
    if sets < 2 or k < 2 or spread == 0:
        return Friedman(0.0, 0.0, 1.0)
    chi = (k - 1) * sets * apart / spread
    left = sets * (k - 1) - chi
    value = (sets - 1) * chi / left if left > 1e-12 else np.inf
    return Friedman(float(chi), float(value), float(law.sf(value, k - 1, (k - 1) * (sets - 1))))


def critical_difference(methods, sets, level=LEVEL):
    """Nemenyi's: mean ranks that differ by as much differ at the level, all pairs at once."""
    from scipy.stats import studentized_range

    q = studentized_range.ppf(1 - level, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * sets)))


def holm(p):
    """Chances (k,) of single tests made such that none of k is false at a level, by steps down."""
    p = np.asarray(p, float)
    order = np.argsort(p, kind="stable")
    grown = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty_like(grown)
    found[order] = np.minimum(grown, 1.0)
    return found


def signed_ranks(differences):
    """Chance of Wilcoxon's signed ranks (Pratt's of zeros), both sides; 1 where all are zero."""
    from scipy.stats import wilcoxon

    differences = np.asarray(differences, float)
    differences = differences[np.isfinite(differences)]
    if not differences.any():
        return 1.0
    return float(wilcoxon(differences, zero_method="pratt").pvalue)


def signs(differences):
    """How many differences are below 0, equal and above it, and the sign test's chance."""
    from scipy.stats import binomtest

    differences = np.asarray(differences, float)
    below, above = int((differences < 0).sum()), int((differences > 0).sum())
    p = float(binomtest(below, below + above).pvalue) if below + above else 1.0
    return below, int((differences == 0).sum()), above, p


def recovered(plain, method, equal):
    """Share of what was lost that a method wins back, all data sets together.

    Sum of ``plain - method`` over the sum of ``plain - equal``: 0 for what makes nothing up, 1 for
    what has as little loss as the one that had nothing to make up for. The interval is the
    jackknife's over data sets.

    Parameters
    ----------
    plain, method, equal : array (N,)
        Losses by data set; those with a NaN are left out.

    Returns
    -------
    share, low, high : float
        NaN where nothing is lost, by the same jackknife at two standard errors.
    """
    from scipy.stats import t

    told = np.column_stack([plain, method, equal]).astype(float)
    told = told[np.isfinite(told).all(axis=1)]
    won, lost, count = told[:, 0] - told[:, 1], told[:, 0] - told[:, 2], len(told)
    nothing = (float("nan"),) * 3
    if count < 3 or lost.mean() <= 2 * lost.std(ddof=1) / np.sqrt(count):
        return nothing
    share = won.sum() / lost.sum()
    out = (won.sum() - won) / (lost.sum() - lost)
    error = np.sqrt((count - 1) / count * np.square(out - out.mean()).sum())
    reach = t.ppf(1 - LEVEL / 2, count - 1) * error
    return float(share), float(share - reach), float(share + reach)
