"""How far those accepted of a group are from the group, over the leaves, and a bound of it.

With w_jk the share of group k that is in leaf j and q_j A_jk / (qA)_k that of its accepted, the
distance is the total variation: the share of the accepted of the group that would have to be others
to be spread as the group is. Acceptance goes by the leaf alone, so that no feature of the group's
people differs more: a share of them by this much at most, a mean by this much of the range.

The paper leaves distortion within groups to future work (Deng et al. 2023, section 7).
"""

import numpy as np

from counterweight.numerics.geometry.hulls import EXACT, checked_shares, closest, closest_within

#: A bound that is exceeded by less is met; what is left is taken away in closed form.
NEAR = 1e-9
#: Most rounds of new conditions, and of the linear program; each round adds one for each group.
ROUNDS = 200


def distorted(q, mass, A):
    """Distance in total variation of the accepted of each group from the group.

    Parameters
    ----------
    q : array (L,)
        Share of each leaf among the accepted rows, or any multiple of it.
    mass : array (L,)
    A : array (L, K)

    Returns
    -------
    array (K,)
        NaN for a group without rows, or of which nobody is accepted.
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
    """Acceptance that meets the bound, by as little as possible of the same chance for everybody.

    Parameters
    ----------
    rho, mass : array (L,)
    A : array (L, K)
    most : float

    Returns
    -------
    array (L,)
    """
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
    condition; those that are broken are added until none is.

    Parameters
    ----------
    A : array (L, K)
    target : array (K,)
    mass : array (L,)
        All above 0.
    most : float
        In [0, 1].
    limits : array (L,), optional
        Upper limits of q, which sums to 1 then.
    cone : bool

    Returns
    -------
    q : array (L,)
    """
    A, target = checked_shares(A, target)
    C = np.zeros((0, len(A)))
    q = closest(A, target, cone)[0] if limits is None else closest_within(A, target, limits)
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

    Parameters
    ----------
    rho, mass : array (L,)
    A : array (L, K)
    most : float

    Returns
    -------
    array (L,)
        `rho` itself where nothing is gained.
    """
    from scipy.optimize import linprog

    found = (rho * mass) @ A / (rho @ mass)
    balance = (mass[:, None] * (A - found)).T
    C, new = _conditions(rho * mass, mass, A, most), rho
    for _ in range(ROUNDS):
        program = linprog(
            -mass,
            A_eq=balance,
            b_eq=np.zeros(len(balance)),
            A_ub=C * mass if len(C) else None,
            b_ub=np.zeros(len(C)) if len(C) else None,
            bounds=(0, 1),
            method="highs",
        )
        if program.status != 0:
            return rho
        new = np.clip(program.x, 0.0, 1.0)
        broken = _conditions(new * mass, mass, A, most)
        if not len(broken):
            break
        C = np.vstack([C, broken])
    return new / new.max() if new @ mass > (rho @ mass) * (1 + NEAR) else rho
