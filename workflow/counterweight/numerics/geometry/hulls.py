"""The point of a convex hull, or of a cone, that is nearest to a target."""

import numpy as np

from counterweight.errors import CounterweightError


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

    Parameters
    ----------
    A : array (L, K)
    U : array (K,)
    cone : bool
        Drop the condition that the weights sum to 1.

    Returns
    -------
    q : array (L,)
        Not normalised for a cone.
    distance : float
        ||qA - U||.
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
    """Weights q (L,) of the point of the convex hull of the rows of `A` that `closest` gives.

    Raises
    ------
    CounterweightError
        When there is no leaf, or shares and target do not fit together or are not finite.
    """
    return closest(*checked_shares(A, target))[0]


def closest_in_cone(A, target):
    """Weights q (L,), not normalised, of the nearest point of the cone of the rows of `A`.

    Raises
    ------
    CounterweightError
        As `closest_in_hull`.
    """
    return closest(*checked_shares(A, target), cone=True)[0]


#: Weight of the condition that shares sum to 1 among the equations of `closest_within`.
EXACT = 1e5


def closest_within(A, target, most):
    """Weights q (L,) of the point nearest to the target whose weights are at most `most`.

    argmin ||qA - U|| subject to 0 <= q <= most and sum(q) = 1, by least squares within bounds.

    Parameters
    ----------
    A : array (L, K)
    target : array (K,)
    most : array (L,)
        Sums to 1 at least.

    Raises
    ------
    CounterweightError
        As `closest_in_hull`, and where the limits do not sum to 1.
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
