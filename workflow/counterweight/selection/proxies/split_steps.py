"""How a tree came about, split by split: what Lemma 3 asks of a split, and what it does.

References
----------
Deng, Diana, Kearns & Roth (2023), Balanced Filtering via Non-Disclosive Proxies: Definition 13
and Lemma 3.
"""

from typing import NamedTuple

import numpy as np

from counterweight.selection.proxies.split_rules import ROOT, ancestors


class Step(NamedTuple):
    """One split: distance of the hull from the target before and after, and Lemma 3."""

    before: float
    after: float
    qualified: bool


def lemma3(parent, child, nearest, target, gamma):
    """Whether a split meets the three conditions of Lemma 3.

    Parameters
    ----------
    parent, child : array (K,)
        Shares R(V) of the leaf that is split, and R(V1) of the child farther towards the target.
    nearest : array (K,)
        Point U' of the hull before the split that is closest to the target.
    target : array (K,)
        U.
    gamma : float
        Share by which the distance is to shrink, in (0, 1).

    Returns
    -------
    bool
        False also where the target is in the hull already.
    """
    to_target, move, rest = target - nearest, child - parent, 2 * gamma - gamma**2
    distance, from_parent = np.linalg.norm(to_target), np.linalg.norm(parent - nearest)
    inner = 2 - rest * from_parent**2
    if distance == 0 or inner < 0:
        return False
    root = 2 - from_parent**2 + 2 * from_parent * (1 - gamma) * np.sqrt(inner)
    f = np.sqrt(rest) * np.sqrt(max(root, 0.0))
    # U'' is the foot of the perpendicular on the segment from R(V1) to U', if it is inside it.
    along = nearest - child
    length = along @ along
    t = (target - child) @ along / length if length > 0 else -1.0
    return bool(
        move @ to_target / distance >= f
        and np.linalg.norm(move) >= np.sqrt(rest) / (1 - gamma) * distance
        and 0 < t < 1
    )


#: A split that meets Lemma 3 as printed at the share GAMMA, though not its result: the leaf is not
#: the nearest point of the hull, and the second child takes hardly any rows, so that the other one
#: stays where the leaf was. The leaf, another leaf, the child; the target is uniform.
GAMMA = 0.139
CASE = np.array([[0.002, 0.998, 0.0], [0.226, 0.473, 0.301], [0.014, 0.004, 0.982]])


def counterexample(nearest):
    """Distance that the split `CASE` leaves, over the most that Lemma 3 as printed allows.

    Parameters
    ----------
    nearest : callable
        See `steps`.

    Returns
    -------
    float
        Above 1 where the conditions are met and the result is not; NaN where they are not met.
    """
    target = np.full(3, 1 / 3)
    before = nearest(CASE[:2], target) @ CASE[:2]
    if not lemma3(CASE[0], CASE[2], before, target, GAMMA):
        return float("nan")
    left = np.linalg.norm(nearest(CASE, target) @ CASE - target)
    return float(left / (1 - GAMMA) / np.linalg.norm(before - target))


def steps(splits, leaves, mass, shares, target, nearest, gamma=0.1):
    """The splits of one tree in the order of its growth.

    Parameters
    ----------
    splits : list of counterweight.selection.proxies.split_rules.Split
        In the order in which they were made.
    leaves : list of (int, int)
    mass : array (L,)
    shares : array (L, K)
    target : array (K,)
    nearest : callable
        ``nearest(A, target)``: weights q of the point qA of the hull that is closest.
    gamma : float

    Returns
    -------
    list of Step
    """
    order = sorted(ancestors(splits, leaves))
    known = {leaf: (m, m * a) for leaf, m, a in zip(leaves, mass, shares, strict=True)}
    for s in reversed(order):
        (m1, a1), (m0, a0) = known[s, 1], known[s, 0]
        known[splits[s].place] = (m1 + m0, a1 + a0)
    rows = {place: a / m if m > 0 else a for place, (m, a) in known.items()}

    def closest(places):
        A = np.array([rows[place] for place in places])
        return nearest(A, target) @ A

    held, taken = [ROOT], []
    point = closest(held)
    for s in order:
        place, before = splits[s].place, np.linalg.norm(target - point)
        towards = max(
            ((s, 1), (s, 0)), key=lambda child: (rows[child] - rows[place]) @ (target - point)
        )
        qualified = lemma3(rows[place], rows[towards], point, target, gamma)
        held = [one for one in held if one != place] + [(s, 1), (s, 0)]
        point = closest(held)
        taken.append(Step(float(before), float(np.linalg.norm(target - point)), qualified))
    return taken


def step_records(taken):
    """The splits that `steps` lists, as metrics by name.

    Returns
    -------
    dict of str to float
        ``split_shrink``, the largest remaining share of the distance after a split (of a tree
        with splits); ``lemma3_splits``, how many splits met the conditions of Lemma 3, and
        ``lemma3_shrink``, the largest remaining share after one of these (where there is one).
    """
    shrunk = [step.after / step.before for step in taken if step.before > 0]
    qualified = [step.after / step.before for step in taken if step.qualified]
    records = {"lemma3_splits": float(len(qualified))}
    if shrunk:
        records["split_shrink"] = max(shrunk)
    if qualified:
        records["lemma3_shrink"] = max(qualified)
    return records
