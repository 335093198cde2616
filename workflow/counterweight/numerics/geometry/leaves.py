"""Leaves of a proxy as masses and shares: what noise and acceptance make of them.

A leaf j holds the share r'_j of the rows (its mass), and A_jk is the share of group k among
them. Groups may be those of several columns (classes): a distribution over the K groups then
sums to 1 within each class.

References
----------
Deng, Diana, Kearns & Roth (2023), Balanced Filtering via Non-Disclosive Proxies.
"""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.geometry.hulls import checked_shares
from counterweight.numerics.groups import TOLERANCE, checked_target


def checked_vector(values, leaves, name):
    """One finite number of at least 0 for each of so many leaves; `name` says what they are."""
    try:
        values = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise CounterweightError(f"The {name} of the leaves must be numbers: {error}.") from error
    if values.shape != (leaves,):
        raise CounterweightError(
            f"There are {name} of shape {values.shape} for {leaves} leaves: give one for each leaf."
        )
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise CounterweightError(
            f"{len(wrong)} of {leaves} {name} of leaves are negative or not finite (first: leaf "
            f"{wrong[0]}, {values[wrong[0]]:g}): they are numbers of at least 0."
        )
    return values


def checked_leaves(mass, A):
    """Masses (L,) that sum to 1 and shares (L, K), 0 in leaves without mass."""
    mass = checked_vector(mass, np.size(mass), "masses")
    if abs(mass.sum() - 1) > TOLERANCE:
        raise CounterweightError(
            f"The masses of the leaves sum to {mass.sum():g}, not 1: give the share of the rows in "
            "each leaf."
        )
    if np.shape(A)[:1] == mass.shape and np.ndim(A) == 2:
        A = np.where(mass[:, None] > 0, A, 0.0)
    A, _ = checked_shares(A, np.zeros(np.shape(A)[1:]))
    return checked_vector(mass, len(A), "masses"), A


def realised(rho, mass, A):
    """Expected distribution of the groups among the accepted rows.

    Parameters
    ----------
    rho, mass : array (L,)
    A : array (L, K)

    Returns
    -------
    array (K,)
        NaN when nothing is accepted.
    """
    accepted = np.asarray(rho, dtype=float) * mass
    total = accepted.sum()
    return accepted @ A / total if total > 0 else np.full(np.shape(A)[1], np.nan)


def interpolated(mass, A, eta):
    """Leaves of a proxy whose value is replaced by a uniformly drawn leaf with probability eta.

    Appendix A.1.1 in closed form: r'_j(eta) = (1 - eta) r'_j + eta / L and
    A_j(eta) = [(1 - eta) r'_j A_j + (eta / L) r] / r'_j(eta), with r = r'A.

    Parameters
    ----------
    mass : array (L,)
        Sums to 1.
    A : array (L, K)
    eta : float
        From 0 (the proxy itself) to 1 (no information at all).

    Returns
    -------
    mass : array (L,)
    A : array (L, K)
        The row of a leaf without mass is r, that of all rows.

    Raises
    ------
    CounterweightError
        When eta is outside [0, 1], or the masses are no distribution over the leaves.
    """
    _check_share(eta, "eta")
    mass, A = checked_leaves(mass, A)
    joint = mass[:, None] * A
    base = joint.sum(axis=0)
    new = (1 - eta) * mass + eta / len(mass)
    made = np.tile(base, (len(mass), 1))
    joint = (1 - eta) * joint + eta / len(mass) * base
    np.divide(joint, new[:, None], out=made, where=new[:, None] > 0)
    return new, made


def interpolated_rows(memberships, eta):
    """Memberships of rows in the leaves after the replacement: (1 - eta) m + eta / L.

    Parameters
    ----------
    memberships : array (n, L)
        Rows that sum to 1.
    eta : float

    Returns
    -------
    array (n, L)
    """
    _check_share(eta, "eta")
    return (1 - eta) * memberships + eta / memberships.shape[1]


def imbalance_floor(r, target, alpha, classes):
    """Least imbalance that any filter of disclosivity `alpha` can reach.

    The distance from the target to the distributions x with |x_k - r_k| <= alpha for all k:
    every leaf lies in this set, which is convex, so every realised distribution does too.
    Per class the nearest point is x = clip(U + t, lower, upper) for the one t at which it
    sums to 1, found exactly from the sorted ends of the pieces.

    Parameters
    ----------
    r : array (K,)
        Base shares, summing to 1 within each class.
    target : array (K,)
    alpha : float
    classes : sequence of int
        Number of groups of each class, summing to K.

    Returns
    -------
    float
        ||r - U|| at alpha 0, and 0 at alpha 1.

    Raises
    ------
    CounterweightError
        When alpha is outside [0, 1], or base shares or target are no distribution within each
        class.
    """
    _check_share(alpha, "alpha")
    r, target = (
        checked_target(shares, classes, name) for shares, name in ((r, "base"), (target, "target"))
    )
    squares, start = 0.0, 0
    for groups in classes:
        part = slice(start, start + groups)
        start += groups
        lower = np.maximum(r[part] - alpha, 0.0)
        upper = np.minimum(r[part] + alpha, 1.0)
        ends = np.unique(np.concatenate([lower, upper]) - np.tile(target[part], 2))
        sums = np.clip(target[part] + ends[:, None], lower, upper).sum(axis=1)
        shift = np.interp(r[part].sum(), sums, ends)
        squares += ((np.clip(target[part] + shift, lower, upper) - target[part]) ** 2).sum()
    return float(np.sqrt(squares))


def _check_share(value, name):
    if not (np.isscalar(value) and 0 <= value <= 1):
        raise CounterweightError(f"{name} is {value!r}: give a number in [0, 1].")
