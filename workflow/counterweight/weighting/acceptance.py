"""Acceptance probabilities of the leaves of a proxy, for a balanced sample.

A proxy sorts rows into leaves j. Of it only two things count: the mass r'_j, the share
of the rows in leaf j, and the matrix A of the shares A_jk of group k within leaf j.
Accepting the rows of leaf j with probability rho_j makes leaf j the share
q_j = rho_j r'_j / sum(rho r') of the accepted rows, and so qA the distribution of their
groups. Any q is reached by rho_j proportional to q_j / r'_j; the largest rho is 1, for
as many accepted rows as there can be.

Groups may be those of several columns (classes). Then K is the number of groups of all
columns and a distribution sums to 1 within each class.

References
----------
Deng, Diana, Kearns & Roth (2023), Balanced Filtering via Non-Disclosive Proxies:
Algorithm 1, Lemmas 1 and 2, appendix A.1.1 (interpolation) and A.2 (several classes).
"""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.groups import TOLERANCE, checked_target

KIND = "filter"

OPTIONS = {
    "etas": {
        "type": "array",
        "items": {"type": "number", "minimum": 0, "maximum": 1},
        "uniqueItems": True,
        "default": [],
        "description": "Probabilities with which a row's leaf is replaced by one drawn uniformly; "
        "for proxies of one setting only, [] for none.",
    }
}

#: An acceptance of the linear program this close to a bound is at the bound.
BOUND = 1e-7
#: Error of a distribution that counts as none.
EXACT = 1e-12
#: Least relative gain of accepted rows that is worth another solution.
GAIN = 1e-9


class Weighed(NamedTuple):
    """A proxy's leaves with the probabilities of acceptance, at one level of noise.

    Attributes
    ----------
    eta : float or None
        Probability that the leaf of a row was replaced by a drawn one; None for a proxy
        used as it is.
    mass : array (L,)
        Share of the rows in each leaf, after the replacement.
    shares : array (L, K)
        Shares of the groups within each leaf, after the replacement.
    q : array (L,)
        Share of each leaf among the accepted rows; sums to 1.
    rho : array (L,)
        Probability of acceptance; the largest is 1.
    rate : float
        Expected share of the rows that are accepted.
    distance : float
        Distance from the solution to the target as solved: ||qA - U||, for the relaxed
        problem with the q that need not sum to 1.
    """

    eta: float | None
    mass: np.ndarray
    shares: np.ndarray
    q: np.ndarray
    rho: np.ndarray
    rate: float
    distance: float


def setting_name(setting, eta):
    """Name of a setting in files: that of the proxy, or ``eta=...``."""
    return setting if eta is None else f"eta={round(eta, 10):g}"


def _checked_shares(A, target):
    """Shares of the leaves (L, K) and a target (K,) as finite arrays that fit together."""
    try:
        A, target = np.asarray(A, dtype=float), np.asarray(target, dtype=float)
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The shares of the leaves and the target must be numbers: {error}."
        ) from error
    if A.ndim != 2 or not A.size or target.shape != A.shape[1:]:
        raise CounterweightError(
            f"The shares of the leaves are of shape {A.shape} and the target of {target.shape}: "
            "give a row for each leaf, at least one, and as many columns as the target has groups."
        )
    if not (np.isfinite(A).all() and np.isfinite(target).all()):
        wrong = int((~np.isfinite(A)).any(axis=1).sum())
        raise CounterweightError(
            f"The shares of {wrong} of {len(A)} leaves or of the target are missing or infinite: "
            "leave leaves without rows out."
        )
    return A, target


def _checked_leaves(mass, A):
    """Masses (L,) that sum to 1 and shares (L, K), 0 in leaves without mass."""
    mass = _checked_vector(mass, np.size(mass), "masses")
    if abs(mass.sum() - 1) > TOLERANCE:
        raise CounterweightError(
            f"The masses of the leaves sum to {mass.sum():g}, not 1: give the share of the rows in "
            "each leaf."
        )
    if np.shape(A)[:1] == mass.shape and np.ndim(A) == 2:
        A = np.where(mass[:, None] > 0, A, 0.0)
    A, _ = _checked_shares(A, np.zeros(np.shape(A)[1:]))
    return _checked_vector(mass, len(A), "masses"), A


def _checked_vector(values, leaves, name):
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


def _check_share(value, name):
    if not (np.isscalar(value) and 0 <= value <= 1):
        raise CounterweightError(f"{name} is {value!r}: give a number in [0, 1].")


def closest_in_hull(A, target):
    """Weights of the point nearest to the target in the convex hull of the rows of `A`.

    argmin ||qA - U|| subject to q >= 0 and sum(q) = 1, exactly: with y = s q the
    non-negative least squares problem ||(A - U)'y||^2 + (sum(y) - 1)^2 has for given q the
    minimum d^2 / (1 + d^2) over s, which rises with d = ||qA - U||, so q = y / sum(y).
    Where several q give the nearest point, one with at most K + 1 positive entries is found.

    Parameters
    ----------
    A : array (L, K)
    target : array (K,)

    Returns
    -------
    array (L,)

    Raises
    ------
    CounterweightError
        When there is no leaf, or shares and target do not fit together or are not finite.
    """
    from scipy.optimize import nnls

    A, target = _checked_shares(A, target)
    system = np.vstack([(A - target).T, np.ones(len(A))])
    y, _ = nnls(system, np.append(np.zeros(A.shape[1]), 1.0), maxiter=100 * len(A) + 300)
    return y / y.sum()


def closest_in_cone(A, target):
    """Weights of the point nearest to the target in the cone of the rows of `A`.

    argmin ||qA - U|| subject to q >= 0: the relaxed problem of section 5, without the
    constraint sum(q) = 1. For the uniform target over one class of groups, the q found,
    divided by its sum, solves the constrained problem too.

    Parameters
    ----------
    A : array (L, K)
    target : array (K,)

    Returns
    -------
    array (L,)
        Not normalised.

    Raises
    ------
    CounterweightError
        As `closest_in_hull`.
    """
    from scipy.optimize import nnls

    A, target = _checked_shares(A, target)
    q, _ = nnls(A.T, target, maxiter=100 * len(A) + 300)
    return q


def acceptance(q, mass):
    """Probabilities of acceptance rho_j proportional to q_j / r'_j, the largest 1.

    Parameters
    ----------
    q : array (L,)
        At least 0, not all 0; need not sum to 1.
    mass : array (L,)
        Leaves without mass get probability 0, and their q must be 0.

    Returns
    -------
    rho : array (L,)
    rate : float
        Expected share of the rows that are accepted, sum(rho r').

    Raises
    ------
    CounterweightError
        When a leaf without any row is to give accepted rows, or no leaf is; or when a number
        is negative or not finite, or there is not one for each leaf.
    """
    q = _checked_vector(q, np.size(q), "shares q")
    mass = _checked_vector(mass, len(q), "masses")
    empty = (mass <= 0) & (q > 0)
    if empty.any() or not (q > 0).any():
        raise CounterweightError(
            f"{int(empty.sum())} leaves without any row are to give a share of the accepted rows "
            f"(first: leaf {int(np.argmax(empty))}): fit the proxy on the rows that it weighs."
            if empty.any()
            else "No leaf is to give any accepted row: the target has no share in common with any "
            "leaf of the proxy; choose another target."
        )
    rho = np.divide(q, mass, out=np.zeros(len(q)), where=mass > 0)
    rho /= rho.max()
    return rho, float(rho @ mass)


def most_accepted(rho, mass, A):
    """Of all acceptances with the same accepted distribution, the one that accepts most rows.

    Where the leaves are many, several q give the same point qA, and they differ in how many
    rows they accept. The largest number is a linear program: maximise sum(rho r') subject to
    0 <= rho <= 1 and sum_j rho_j r'_j (A_j - x) = 0, with x the distribution accepted now. Its
    answer is made exact by solving for the entries between the bounds.

    Parameters
    ----------
    rho, mass : array (L,)
    A : array (L, K)

    Returns
    -------
    array (L,)
        `rho` itself where nothing is gained.
    """
    from scipy.optimize import linprog

    balance = (mass[:, None] * (A - realised(rho, mass, A))).T
    found = linprog(-mass, A_eq=balance, b_eq=np.zeros(len(balance)), bounds=(0, 1), method="highs")
    if found.status != 0:
        return rho
    new = np.clip(found.x, 0.0, 1.0)
    new[new < BOUND], new[new > 1 - BOUND] = 0.0, 1.0
    free = (new > 0) & (new < 1)
    if free.any():
        right = -balance[:, ~free] @ new[~free]
        new[free] = np.linalg.lstsq(balance[:, free], right, rcond=None)[0]
    exact = np.abs(balance @ new).max() <= EXACT and new.min() >= 0 and new.max() <= 1 + EXACT
    return new / new.max() if exact and new @ mass > (rho @ mass) * (1 + GAIN) else rho


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
    mass, A = _checked_leaves(mass, A)
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


def _weighed(mass, A, target, etas, solve):
    """`Weighed` at each eta, by a function from shares and target to q of the leaves with rows."""
    mass, A = _checked_leaves(mass, A)
    _, target = _checked_shares(A, target)
    made = []
    for eta in etas or (None,):
        new, shares = (mass, A) if eta is None else interpolated(mass, A, eta)
        with_rows = new > 0
        shares = np.where(with_rows[:, None], shares, 0.0)
        solution = solve(shares[with_rows], target)
        distance = float(np.linalg.norm(solution @ shares[with_rows] - target))
        q = np.zeros(len(new))
        q[with_rows] = solution
        rho, rate = acceptance(q, new)
        if solve is not _equal:
            rho = most_accepted(rho, new, shares)
            rate = float(rho @ new)
        q = rho * new
        made.append(Weighed(eta, new, shares, q / q.sum(), rho, rate, distance))
    return made


def _equal(A, target):
    return np.full(len(A), 1 / len(A))


def equal_acceptance(mass, A, target, *, etas=()):
    """The same number of rows from each leaf, whatever is in it: the naive proxies of section 5.

    Parameters
    ----------
    mass : array (L,)
        Share of the rows in each leaf.
    A : array (L, K)
        Shares of the groups within each leaf.
    target : array (K,)
        Not used but for the distance.
    etas : sequence of float
        Probabilities that a leaf is replaced by one drawn uniformly; none for the proxy as
        it is.

    Returns
    -------
    list of Weighed
        One for each eta, in their order.
    """
    return _weighed(mass, A, target, etas, _equal)


def quadratic_acceptance(mass, A, target, *, etas=()):
    """Algorithm 1: the q on the simplex whose qA is nearest to the target.

    Where several q are, that which accepts most rows (see `most_accepted`).

    Parameters and result as `equal_acceptance`.
    """
    return _weighed(mass, A, target, etas, closest_in_hull)


def relaxed_acceptance(mass, A, target, *, etas=()):
    """Algorithm 1 without the constraint that q sums to 1; q is normalised afterwards.

    Parameters and result as `equal_acceptance`; `Weighed.distance` is that of the q which is
    not normalised, so it can be below the imbalance of the rows accepted.

    Raises
    ------
    CounterweightError
        When the nearest point of the cone is 0: the target has no group in common with any
        leaf.
    """
    return _weighed(mass, A, target, etas, closest_in_cone)
