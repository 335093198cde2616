"""Leaves of a proxy as masses and shares, and the geometry that acceptance needs of them.

A leaf j holds the share r'_j of the rows (its mass), and A_jk is the share of group k among
them. Groups may be those of several columns (classes): a distribution over the K groups then
sums to 1 within each class. Noise and acceptance change masses and shares; the best acceptance is
the point of a convex hull, or of a cone, that is nearest to a target.

How far are those accepted of a group from the group? With w_jk the share of group k that is in
leaf j and q_j A_jk / (qA)_k that of its accepted, the distance is the total variation over the
leaves: the share of the accepted of the group that would have to be others to be spread as the
group is. Acceptance goes by the leaf alone, so that no feature of the group's people differs more:
a share of them by this much at most, a mean by this much of the range. The paper leaves distortion
within groups to future work (section 7).

References
----------
Deng, Diana, Kearns & Roth (2023), Balanced Filtering via Non-Disclosive Proxies.
"""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.groups import TOLERANCE, block_starts, checked_target


def checked_shares(A, target):
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


def closest(A, U, cone=False):
    """The mixture of rows that is nearest to a target, and how far it is; nothing is checked.

    In the hull, argmin ||qA - U|| subject to q >= 0 and sum(q) = 1, exactly: with y = s q the
    non-negative least squares problem ||(A - U)'y||^2 + (sum(y) - 1)^2 has for given q the
    minimum d^2 / (1 + d^2) over s, which rises with d = ||qA - U||, so q = y / sum(y).
    Where several q give the nearest point, one with at most K + 1 positive entries is found.

    In the cone, argmin ||qA - U|| subject to q >= 0: the relaxed problem of Deng, Diana,
    Kearns & Roth (2023), section 5. For the uniform target over one class of groups, its q
    divided by its sum solves the constrained problem too.

    `A` (L, K) and `U` (K,) give q (L,), not normalised for a cone, and ||qA - U||.
    """
    from scipy.optimize import nnls  # its import takes longer than the jobs that need no hull

    most = 100 * len(A) + 300
    if cone:
        q, _ = nnls(A.T, U, maxiter=most)
    else:
        system = np.vstack([(A - U).T, np.ones(len(A))])
        y, _ = nnls(system, np.append(np.zeros(len(U)), 1.0), maxiter=most)
        q = y / y.sum()
    return q, float(np.linalg.norm(q @ A - U))


def closest_in_hull(A, target):
    """Weights q (L,) of the point of the convex hull of the rows of `A` that `closest` gives."""
    return closest(*checked_shares(A, target))[0]


def closest_in_cone(A, target):
    """Weights q (L,), not normalised, of the nearest point of the cone of the rows of `A`."""
    return closest(*checked_shares(A, target), cone=True)[0]


#: Weight of the condition that shares sum to 1 among the equations of `closest_bounded`.
EXACT = 1e5


def closest_bounded(A, target, most):
    """Weights q (L,) of the point nearest to the target whose weights are at most `most`.

    argmin ||qA - U|| subject to 0 <= q <= most and sum(q) = 1, by least squares within bounds;
    `most` (L,) sums to 1 at least.
    """
    from scipy.optimize import lsq_linear

    A, target = checked_shares(A, target)
    most = np.asarray(most, dtype=float)
    if most.sum() <= 1:
        return most / most.sum()
    system = np.vstack([A.T, np.full(len(A), EXACT)])
    found = lsq_linear(system, np.append(target, EXACT), (0.0, most), method="bvls", tol=1e-14)
    q = np.clip(found.x, 0.0, most)
    return q / q.sum()


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
    """Expected shares (K,) of the groups among the accepted rows; NaN when nothing is accepted."""
    accepted = np.asarray(rho, dtype=float) * mass
    total = accepted.sum()
    return accepted @ A / total if total > 0 else np.full(np.shape(A)[1], np.nan)


def interpolated(mass, A, eta):
    """Leaves of a proxy whose value is replaced by a uniformly drawn leaf with probability eta.

    Appendix A.1.1 in closed form: r'_j(eta) = (1 - eta) r'_j + eta / L and
    A_j(eta) = [(1 - eta) r'_j A_j + (eta / L) r] / r'_j(eta), with r = r'A. At eta 0 it is the
    proxy itself, at 1 there is no information at all. Masses (L,) and shares (L, K), of which the
    row of a leaf without mass is r, that of all rows.
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
    """Memberships (n, L) of rows in the leaves after the replacement: (1 - eta) m + eta / L."""
    _check_share(eta, "eta")
    return (1 - eta) * memberships + eta / memberships.shape[1]


def imbalance_floor(r, target, alpha, classes):
    """Least imbalance that any filter of disclosivity `alpha` can reach.

    The distance from the target to the distributions x with |x_k - r_k| <= alpha for all k:
    every leaf lies in this set, which is convex, so every realised distribution does too.
    Per class the nearest point is x = clip(U + t, lower, upper) for the one t at which it
    sums to 1, found exactly from the sorted ends of the pieces. `classes` are the numbers of
    groups of each class. It is ||r - U|| at alpha 0, and 0 at alpha 1.
    """
    _check_share(alpha, "alpha")
    r, target = (
        checked_target(shares, classes, name) for shares, name in ((r, "base"), (target, "target"))
    )
    squares, edges = 0.0, block_starts(classes)[1:]
    for base, U in zip(np.split(r, edges), np.split(target, edges), strict=True):
        lower, upper = np.maximum(base - alpha, 0.0), np.minimum(base + alpha, 1.0)
        ends = np.unique(np.concatenate([lower, upper]) - np.tile(U, 2))
        sums = np.clip(U + ends[:, None], lower, upper).sum(axis=1)
        shift = np.interp(base.sum(), sums, ends)
        squares += ((np.clip(U + shift, lower, upper) - U) ** 2).sum()
    return float(np.sqrt(squares))


def _check_share(value, name):
    if not (np.isscalar(value) and 0 <= value <= 1):
        raise CounterweightError(f"{name} is {value!r}: give a number in [0, 1].")


#: A bound that is exceeded by less is met; what is left is taken away in closed form.
NEAR = 1e-9
#: Most rounds of new conditions, and of the linear program; each round adds one for each group.
ROUNDS = 200


def distorted(q, mass, A):
    """Distance in total variation (K,) of the accepted of each group from the group.

    `q` (L,) is the share of each leaf among the accepted rows, or any multiple of it. NaN for a
    group without rows, or of which nobody is accepted.
    """
    q, own = np.asarray(q, dtype=float), np.asarray(mass, dtype=float)[:, None] * A
    kept = q[:, None] * A
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.abs(kept / kept.sum(axis=0) - own / own.sum(axis=0)).sum(axis=0) / 2


def _excess(q, mass, A, most):
    """By how much each group is beyond the bound, as a share of all accepted; its leaves' signs."""
    own = mass[:, None] * A
    total = own.sum(axis=0)
    share = np.divide(own, total, out=np.zeros_like(own), where=total > 0)
    moved = q[:, None] * A - share * (q @ A)
    more = moved > 0
    return np.where(more, moved, 0.0).sum(axis=0) - most * (q @ A), more, share


def _conditions(q, mass, A, most):
    """The conditions C q <= 0 that `q` breaks: of each group, for the leaves it has too much of."""
    excess, more, share = _excess(q, mass, A, most)
    at = np.flatnonzero(excess > NEAR * q.sum())
    rows = A[:, at] * (more[:, at] - (share * more).sum(axis=0)[at] - most)
    return (rows / np.abs(rows).max(axis=0)).T


def drawn_in(rho, mass, A, most):
    """Acceptance that meets the bound, by as little as possible of one chance for everybody."""
    excess = _excess(rho * mass, mass, A, most)[0]
    # Excess is convex along the way to equal chances, where it is -most times the group's share.
    room = most * (mass @ A)
    over = excess > 0
    if not over.any():
        return rho
    t = float((excess[over] / (excess[over] + room[over])).max())
    return np.where(mass > 0, (1 - t) * rho + t, rho)


def closest_spread(A, target, mass, most, limits=None, cone=False):
    """Weights q (L,) nearest to a target whose distortion within each group is at most `most`.

    argmin ||qA - U|| over the simplex (or the cone) with sum_j max(q_j A_jk - w_jk (qA)_k, 0) <=
    most (qA)_k for all k. The sum is the largest over sets of leaves, each of which is one linear
    condition; those that are broken are added until none is. `mass` (L,) is above 0 everywhere;
    `limits` (L,) are upper ones of q, which sums to 1 then.
    """
    A, target = checked_shares(A, target)
    C = np.zeros((0, len(A)))
    q = closest(A, target, cone)[0] if limits is None else closest_bounded(A, target, limits)
    for _ in range(ROUNDS):
        broken = _conditions(q, mass, A, most)
        if not len(broken):
            break
        C = np.vstack([C, broken])
        q = _solved(A, target, C, limits, cone)
    return q


def _solved(A, target, C, limits, cone):
    """The nearest q with C q <= 0 and q <= limits: least squares with one slack a condition."""
    from scipy.optimize import nnls

    leaves = len(A)
    if limits is not None:
        top = np.vstack([A.T, np.full(leaves, EXACT)])
        right = np.append(target, EXACT)
        C = np.vstack([C, np.eye(leaves)])
        right = np.concatenate([right, np.zeros(len(C) - leaves), EXACT * limits])
    else:
        top = A.T if cone else np.vstack([(A - target).T, np.ones(leaves)])
        right = target if cone else np.append(np.zeros(len(target)), 1.0)
        right = np.append(right, np.zeros(len(C)))
    slack = np.zeros((len(top), len(C)))
    system = np.block([[top, slack], [EXACT * C, EXACT * np.eye(len(C))]])
    q = nnls(system, right, maxiter=100 * system.shape[1] + 300)[0][:leaves]
    q = q if limits is None else np.minimum(q, limits)
    return q if cone else q / q.sum()


def most_spread(rho, mass, A, most):
    """Of acceptances with the same groups and within the bound, one that accepts most rows.

    `rho` (L,) itself where nothing is gained.
    """
    C, new = _conditions(rho * mass, mass, A, most), rho
    for _ in range(ROUNDS):
        new = largest_acceptance(rho, mass, A, C * mass)
        if new is None:
            return rho
        broken = _conditions(new * mass, mass, A, most)
        if not len(broken):
            break
        C = np.vstack([C, broken])
    return new / new.max() if new @ mass > (rho @ mass) * (1 + NEAR) else rho


def largest_acceptance(rho, mass, A, C=()):
    """The acceptance (L,) of most rows with the groups of `rho` and C rho <= 0; None if none is.

    A linear program: maximise sum(rho r') subject to 0 <= rho <= 1 and sum_j rho_j r'_j (A_j - x) =
    0, with x the distribution accepted now.
    """
    from scipy.optimize import linprog

    balance = (mass[:, None] * (A - realised(rho, mass, A))).T
    most = {"A_ub": C, "b_ub": np.zeros(len(C))} if len(C) else {}
    program = linprog(
        -mass, A_eq=balance, b_eq=np.zeros(len(balance)), bounds=(0, 1), method="highs", **most
    )
    return np.clip(program.x, 0.0, 1.0) if program.status == 0 else None
