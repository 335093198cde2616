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
Algorithm 1, Lemmas 1 and 2, appendix A.1.1
(`counterweight.numerics.geometry.interpolated`) and A.2 (several classes).
"""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Array, Choice, Number
from counterweight.numerics.geometry import (
    checked_leaves,
    checked_shares,
    checked_vector,
    closest_bounded,
    closest_in_cone,
    closest_in_hull,
    closest_spread,
    drawn_in,
    interpolated,
    largest_acceptance,
    most_spread,
    realised,
)

TASK = "filter"
OPTIONS = {
    "etas": Array([],
        "Probabilities with which a row's leaf is replaced by one drawn uniformly; for proxies of one setting only, [] "
        "for none.", items={"type": "number", "minimum": 0, "maximum": 1}, uniqueItems=True),
    "under_noise": Choice("solved", ["solved", "kept"],
        "Acceptance of the leaves at each eta: solved for the leaves as the noise leaves them, or kept from the proxy "
        "without noise (appendix A.1.1 as printed)."),
    "min_acceptance_rate": Number(0.0, "Least share of the people that is accepted, at the price of balance.", minimum=0, below=1),
    "max_distortion": Number(1.0,
        "Largest share of a group's accepted that may have to be others for them to be spread over the leaves as the "
        "group is, at the price of balance; 1 for no limit.", minimum=0, maximum=1),
}  # fmt: skip
LABEL_BY_NAME = {"equal": "naive", "quadratic": "QP", "relaxed": "relaxed"}
VALUE_LABELS = {"under_noise": {"kept": "A.1.1 as printed"}}
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


def acceptance(q, mass):
    """Probabilities of acceptance rho_j proportional to q_j / r'_j, the largest 1.

    q (L,) are at least 0, not all 0, and need not sum to 1; leaves without mass get probability
    0, and their q must be 0. With them the expected share of the rows that are accepted.
    """
    q = checked_vector(q, np.size(q), "shares q")
    mass = checked_vector(mass, len(q), "masses")
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
    rows they accept. The answer of `largest_acceptance` is made exact by solving for the entries
    between the bounds. `rho` (L,) itself where nothing is gained.
    """
    new = largest_acceptance(rho, mass, A)
    if new is None:
        return rho
    balance = (mass[:, None] * (A - realised(rho, mass, A))).T
    new[new < BOUND], new[new > 1 - BOUND] = 0.0, 1.0
    free = (new > 0) & (new < 1)
    if free.any():
        right = -balance[:, ~free] @ new[~free]
        new[free] = np.linalg.lstsq(balance[:, free], right, rcond=None)[0]
    exact = np.abs(balance @ new).max() <= EXACT and new.min() >= 0 and new.max() <= 1 + EXACT
    return new / new.max() if exact and new @ mass > (rho @ mass) * (1 + GAIN) else rho


def _weighed(mass, A, target, solve, etas, under_noise, most=1.0):
    """`Weighed` at each eta, by a function from shares, target and masses to q of the leaves."""
    mass, A = checked_leaves(mass, A)
    _, target = checked_shares(A, target)
    kept = _solved(mass, A, target, solve, most)[0] if under_noise == "kept" else None
    made = []
    for eta in etas or (None,):
        new, shares = (mass, A) if eta is None else interpolated(mass, A, eta)
        shares = np.where(new[:, None] > 0, shares, 0.0)
        rho, distance = kept, None
        if kept is None:
            rho, distance = _solved(new, shares, target, solve, most)
        q = rho * new
        q = q / q.sum()
        if distance is None:
            distance = float(np.linalg.norm(q @ shares - target))
        made.append(Weighed(eta, new, shares, q, rho, float(rho @ new), distance))
    return made


def _solved(mass, A, target, solve, most):
    """Acceptance of the leaves, and the distance from the target as solved."""
    with_rows = mass > 0
    solution = solve(A[with_rows], target, mass[with_rows])
    distance = float(np.linalg.norm(solution @ A[with_rows] - target))
    q = np.zeros(len(mass))
    q[with_rows] = solution
    rho, _ = acceptance(q, mass)
    if solve is _equal:
        return rho, distance
    if most < 1:
        return drawn_in(most_spread(rho, mass, A, most), mass, A, most), distance
    return most_accepted(rho, mass, A), distance


def _limited(cone, least, most):
    """A solution within the limits of the acceptance rate and of the distortion.

    The acceptance is q_j / r'_j times the rate, and at most 1: so that as many as wanted are
    accepted, no q_j is above r'_j / least.
    """
    closest = closest_in_cone if cone else closest_in_hull

    def solved(A, target, mass):
        q = closest_spread(A, target, mass, most, cone=cone) if most < 1 else closest(A, target)
        if not least or (q / q.sum() / mass).max() * least <= 1:
            return q
        if most < 1:
            return closest_spread(A, target, mass, most, limits=mass / least)
        return closest_bounded(A, target, mass / least)

    return solved


def _equal(A, target, mass):
    return np.full(len(A), 1 / len(A))


def equal_acceptance(
    mass, A, target, *, etas=(), under_noise="solved", min_acceptance_rate=0.0, max_distortion=1.0
):
    """The same number of rows from each leaf, whatever is in it: the naive proxies of section 5.

    Parameters
    ----------
    mass : array (L,)
        Share of the rows in each leaf.
    A : array (L, K)
        Shares of the groups within each leaf.
    target : array (K,)
        Shares wanted among the accepted.
    etas : sequence of float
        Probabilities that a leaf is replaced by one drawn uniformly; none for the proxy as
        it is.
    under_noise : {"solved", "kept"}
        Whether the acceptance is solved for again at each eta, or kept from the proxy without
        noise. A.1.1 reads as the second: labels are replaced, then Algorithm 2 samples.
    min_acceptance_rate, max_distortion : float
        Least rate, and most distortion within a group (see
        `counterweight.numerics.geometry`); must be 0 and 1 here, where every leaf gives
        as many rows.

    Returns
    -------
    list of Weighed
        One for each eta, in their order.
    """
    if min_acceptance_rate or max_distortion < 1:
        raise CounterweightError(
            "min_acceptance_rate and max_distortion have no meaning for the weighting equal, which "
            "gives every leaf the same number of rows: choose quadratic."
        )
    return _weighed(mass, A, target, _equal, etas, under_noise)


def quadratic_acceptance(
    mass, A, target, *, etas=(), under_noise="solved", min_acceptance_rate=0.0, max_distortion=1.0
):
    """Algorithm 1: the q on the simplex whose qA is nearest to the target.

    Where several q are, that which accepts most rows (see `most_accepted`).

    Parameters and result as `equal_acceptance`. With `min_acceptance_rate`, at least that share of
    the rows is accepted: the same problem with q_j <= r'_j / min_acceptance_rate. With
    `max_distortion`, the accepted of no group differ more from the group (`closest_spread`);
    chances that are kept under noise met that without noise.
    """
    solve = _limited(False, min_acceptance_rate, max_distortion)
    return _weighed(mass, A, target, solve, etas, under_noise, max_distortion)


def relaxed_acceptance(
    mass, A, target, *, etas=(), under_noise="solved", min_acceptance_rate=0.0, max_distortion=1.0
):
    """Algorithm 1 without the constraint that q sums to 1; q is normalised afterwards.

    Parameters and result as `equal_acceptance`; `Weighed.distance` is that of the q which is
    not normalised, so it can be below the imbalance of the rows accepted.
    """
    solve = _limited(True, min_acceptance_rate, max_distortion)
    return _weighed(mass, A, target, solve, etas, under_noise, max_distortion)
