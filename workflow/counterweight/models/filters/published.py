"""Shares of groups that a filter is published with: noise with a stated epsilon, a least cell.

The file and the card of a filter tell the shares of the groups among all and in each leaf of the
rows that it was fitted on. Both steps are about these shares alone. The tree and its chances
of acceptance were fitted to the groups without noise, and the bounds of what the filter tells are
measured without it: epsilon is no promise about them.

References
----------
Dwork, McSherry, Nissim & Smith (2006), Calibrating noise to sensitivity in private data analysis.
"""

from dataclasses import replace

import numpy as np

from counterweight.numerics.groups import block_starts

#: What held-out rows tell of the groups' shares without noise.
_SHARES = ("share_before", "share_after")


def published(saved, rng, *, epsilon=None, least_cell=0):
    """A filter with the shares of groups that may be told.

    Parameters
    ----------
    saved : counterweight.models.filters.table.SavedFilter
    rng : numpy.random.Generator
    epsilon : float, optional
        Shares are of counts with Laplace noise (see `noisy_counts`). Shares of held-out rows, which
        have none, are left out.
    least_cell : float
        Leaves in which some group has fewer rows, and groups with fewer in all, are told without
        shares (NaN); never one alone, as the others would tell it (see `withheld`).

    Returns
    -------
    SavedFilter
    """
    rows = saved.facts["rows"]
    classes = [saved.classes.count(name) for name in dict.fromkeys(saved.classes)]
    counts, told, held = rows * saved.mass[:, None] * saved.shares, {}, dict(saved.held)
    shares, base = saved.shares, saved.base
    if epsilon is not None:
        counts = noisy_counts(counts, classes, epsilon, rng)
        shares, base = shares_of(counts, classes), shares_of(counts.sum(axis=0)[None], classes)[0]
        held = {key: value for key, value in held.items() if key[0] not in _SHARES}
        told["epsilon"] = float(epsilon)
    if least_cell:
        leaves = withheld(counts.min(axis=1), least_cell)
        groups = np.concatenate(
            [withheld(part, least_cell) for part in np.split(counts.sum(axis=0), _edges(classes))]
        )
        shares = np.where(leaves[:, None] | groups, np.nan, shares)
        base = np.where(groups, np.nan, base)
        held = {key: v for key, v in held.items() if key[0] not in _SHARES or not groups[key[2]]}
        told["least_cell"] = float(least_cell)
    return replace(saved, facts=saved.facts | told, shares=shares, base=base, held=held)


def _edges(classes):
    return block_starts(classes)[1:]


def noisy_counts(counts, classes, epsilon, rng):
    """Counts with Laplace noise, none below 0.

    One person more or less moves the counts of each class by 1 in all (a row that a leaf is
    drawn for counts in several by parts), so the noise has the scale len(classes) / epsilon: the
    table of counts is epsilon-differentially private with respect to one person, whatever is
    made of it.

    Parameters
    ----------
    counts : array (L, K)
    classes : sequence of int
    epsilon : float
        Above 0.
    rng : numpy.random.Generator

    Returns
    -------
    array (L, K)
    """
    noise = rng.laplace(scale=len(classes) / epsilon, size=counts.shape)
    return np.maximum(counts + noise, 0.0)


def shares_of(counts, classes):
    """Shares of the groups within each class, (L, K); 0 where a row has no count."""
    parts = []
    for part in np.split(counts, _edges(classes), axis=1):
        total = part.sum(axis=1, keepdims=True)
        parts.append(np.divide(part, total, out=np.zeros_like(part), where=total > 0))
    return np.hstack(parts)


def withheld(counts, least):
    """Which counts are below a limit; where it is one alone, the next smallest with it."""
    few = counts < least
    if few.sum() == 1 and len(counts) > 1:
        few[np.argsort(counts, kind="stable")[1]] = True
    return few
