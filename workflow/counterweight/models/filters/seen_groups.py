"""Classifiers trained on samples that are balanced by seeing everybody's group: bounds of filters.

References
----------
Chawla, Bowyer, Hall & Kegelmeyer (2002), SMOTE: synthetic minority over-sampling technique.
"""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Choice, Integer, Number
from counterweight.models.filters.balanced_filter import BalancedFilter
from counterweight.numerics.checks import checked_new_rows
from counterweight.numerics.linear import fit_logistic, logistic_probability

TASK = "filter"
OPTIONS = {
    "by": Choice("sampling", ["sampling", "reweighting", "smote"],
        "How the training rows are balanced: rows are drawn, all rows are weighted, or rows of small groups are made "
        "up between neighbours (imbalanced-learn)."),
    "neighbours": Integer(5,
        "Neighbours among which SMOTE makes up rows; a group and outcome of no more rows than these has its rows "
        "repeated instead.", minimum=1),
    "l2": Number(1e-4, "Penalty on standardised coefficients, for each row.", above=0),
}  # fmt: skip
LABEL = "{by}, groups seen"
ROLE = "bound"
VALUE_LABELS = {"by": {"sampling": "sampling", "reweighting": "reweighting", "smote": "SMOTE"}}
#: More rows than so many times the training rows are not made up.
MOST = 50


class SeenGroupsClassifier(BalancedFilter):
    """Logistic regression on training rows balanced by one of three ways that see the groups.

    The shares that are aimed at are those among the accepted of the filter that it stands beside:
    of `OwnGroupProxy` and quadratic acceptance, the target itself. With ``sampling`` the rows are
    those drawn; with ``reweighting`` each row counts by its probability of acceptance; with
    ``smote`` no row is left out, and rows are made up for each group, of each outcome as many as
    it has by share. SMOTE interpolates standardised features, categories (0 and 1) included.

    Parameters
    ----------
    by : str
    neighbours : int
    l2 : float

    Attributes
    ----------
    taught_ : dict of str to ndarray (K,)
        Shares of the groups among the rows that were learned from, weights counted.
    coef_, intercept_, n_iter_, converged_, rows_, missing_
        As `BalancedFilter`.
    """

    #: What `BalancedFilter.requested` goes by: the setting of `OwnGroupProxy`.
    classifier, settings, sees_groups = "logistic", (), True
    OPTIONS = OPTIONS

    def __init__(self, by="sampling", neighbours=5, l2=1e-4):
        self.by, self.neighbours, self.l2 = by, neighbours, l2

    def fit(self, X, y, accepted, *, chance, Z, rng):
        """Fit at every setting.

        As `BalancedFilter.fit`, but rows without an outcome are left out. `chance` (n,) is the
        probability of acceptance at the same settings, `Z` (n, K) are memberships. Refused where
        imbalanced-learn is missing, or more rows would have to be made up than `MOST` times those
        there are.
        """
        X, y, known = self._begin(X, y, self.OPTIONS)
        self.taught_ = {}
        X, y, Z = X[known], y[known], np.asarray(Z, dtype=float)[known]
        for name, mask in accepted.items():
            made, at, weight = self._made(X, y, Z, mask[known], chance[name][known], rng)
            self.rows_[name] = len(at)
            if not len(at) or np.ptp(y[at]) == 0:
                self.missing_.append(name)
                continue
            self.taught_[name] = np.average(Z[at], axis=0, weights=weight)
            self._keep(name, *fit_logistic(made, y[at], weight, self.l2))
        return self

    def _made(self, X, y, Z, accepted, chance, rng):
        """Features to learn from, the row whose group and outcome each has, and weights or None."""
        if self.by == "sampling" or np.ptp(chance) == 0:
            at = np.flatnonzero(accepted)
            return X[at], at, None
        able = np.flatnonzero(chance > 0)
        if self.by == "reweighting":
            return X[able], able, chance[able]
        _, group = np.unique(Z[able], axis=0, return_inverse=True)
        wanted = np.bincount(group, chance[able]) / np.bincount(group)
        factor = wanted / wanted.min()
        cell = 2 * group + (y[able] > 0.5)
        counts = np.bincount(cell, minlength=2 * len(factor))
        goal = np.rint(counts * np.repeat(factor, 2)).astype(int)
        if goal.sum() > MOST * len(able):
            raise CounterweightError(
                f"SMOTE would have to make {goal.sum():,} rows of {len(able):,} for the shares "
                "that are wanted: leave by: smote out, or aim at shares nearer to those of all."
            )
        made, at = smote(X[able], cell, goal, self.neighbours, rng)
        return made, able[at], None

    def predict(self, X):
        """p(y = 1 | x) by setting: dict of str to array (n,)."""
        X = checked_new_rows(X, len(next(iter(self.coef_.values())))) if self.coef_ else X
        fitted = {name: (w, self.intercept_[name]) for name, w in self.coef_.items()}
        return {name: logistic_probability(X, *line) for name, line in fitted.items()}

    def to_arrays(self):
        """Fitted numbers by name and setting."""
        taught = {("taught", name): shares for name, shares in self.taught_.items()}
        return super().to_arrays() | taught


def smote(X, cell, goal, neighbours, rng):
    """Rows as they are, and rows made up until each cell has as many as wanted.

    `cell` (n,) numbers from 0; `goal` (C,) is at least the rows that each cell has. Cells of no
    more rows than `neighbours` have them repeated in turn. Gives the rows made (m, d), and for
    each a row (m,) of its cell.
    """
    try:
        from imblearn.over_sampling import SMOTE
    except ImportError as error:
        raise CounterweightError(
            "by: smote needs the package imbalanced-learn (0.14.2), which is not installed: "
            f"install it, or leave the method out ({error})."
        ) from error
    counts = np.bincount(cell, minlength=len(goal))
    able = counts > neighbours
    if able.sum() < 2:
        able[:] = False
    rows = [
        np.resize(np.flatnonzero(cell == one), goal[one])
        for one in np.flatnonzero(~able & (counts > 0))
    ]
    at = np.concatenate([np.zeros(0, int), *rows])
    if not able.any():
        return X[at], at
    spread = X.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    own = np.flatnonzero(able[cell])
    sampler = SMOTE(
        sampling_strategy={int(one): int(goal[one]) for one in np.flatnonzero(able)},
        k_neighbors=neighbours,
        random_state=int(rng.integers(2**31)),
    )
    made, label = sampler.fit_resample(X[own] / scale, cell[own])
    first = np.unique(cell, return_index=True)
    row_of = np.zeros(len(goal), int)
    row_of[first[0]] = first[1]
    return np.concatenate([X[at], made * scale]), np.concatenate([at, row_of[label]])
