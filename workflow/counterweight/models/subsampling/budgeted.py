"""Training rows bought by class on a budget (Weiss & Provost 2003)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError
from counterweight.fragments import Choice, Integer, Option
from counterweight.models.subsampling.calibration import shifted_odds
from counterweight.models.subsampling.learners import (
    LEAF,
    LEARNER_NAMES,
    ConstantModel,
    KeyedClassifier,
    Tree,
)
from counterweight.numerics.checks import check_options, checked_new_rows
from counterweight.numerics.zero_rejection import drawing_order

log = logging.getLogger("counterweight")

TASK = "classification"
OPTIONS = {
    "learner": Choice("tree", LEARNER_NAMES, "What learns from the bought rows."),
    "budget": Integer(1000, "Rows that may be bought.", minimum=4),
    "share": Option("natural",
        "Share of class 1 among the bought rows; natural: that of the training rows; progressive: found by "
        "budget-sensitive progressive sampling; all: all training rows, whatever the budget; oversampled: these, with "
        "the rarer class repeated to 1:1.", type=["number", "string"], above=0, below=1, pattern="^(natural|progressive|oversampled|all)$"),
    "criterion": Choice("auc", ["auc", "error"], "What progressive sampling looks at."),
    "correction": Choice("counts", ["counts", "odds"],
        "How a tree is corrected from the training share to the base rate. counts: rows of class 0 in a leaf are "
        "multiplied before smoothing (Weiss & Provost 2003, Table 1); odds: the odds of the smoothed estimate. Other "
        "learners: always the odds."),
    "folds": Integer(5, "Folds of the bought rows in which progressive sampling evaluates shares.", minimum=2),
    **LEAF,
}  # fmt: skip
LABEL = "Tree, {share}"
VALUE_LABELS = {
    "share": {
        "natural": "natural share",
        "progressive": "progressive sampling",
        "oversampled": "positives oversampled",
        "all": "all rows",
    },
    "criterion": {"error": "by error", "auc": "by AUC"},
    "correction": {"odds": "corrected by odds"},
}

#: Progressive sampling: each step has FACTOR times the rows of the one before, STEPS steps
#: lead to the budget, and neither class is below LEAST_SHARE of the budget in the end.
FACTOR = 2
STEPS = 5
LEAST_SHARE = 1 / 32
#: Shares tried in a step, equally spaced over the beam, beside the best so far.
CANDIDATES = 7


@dataclass(eq=False, repr=False)
class BudgetedClassifier(KeyedClassifier):
    """p(y = 1 | x) learned from no more rows than a budget, chosen by their class.

    The training rows are a pool that is sorted into its classes; a row bought costs the same
    whatever its class, and the base rate of the pool is known. The rows of a class are bought in an
    order that hangs on their keys and the seed, so those bought for one share are among those for a
    share that needs more. Where the pool has too few rows of a class, the other fills the budget.

    Estimates are corrected from the share of class 1 in the training set to the base rate, so that
    the threshold 1/2 is right for the 0/1 error. The two corrections of a tree differ in small
    leaves, where the error of an unpruned tree is made: for over-sampled class 1 the odds call few
    small leaves positive, the counts many.

    Parameters
    ----------
    learner, budget, share, criterion, correction, folds, min_samples_leaf
        See `OPTIONS`.
    random_state : int, Generator or None
        Where `fit` is given no `rng`.

    Attributes
    ----------
    rows_bought_, budget_excess_ : int
        Different rows that were looked at or learned from; beyond the budget (None without one).
    chosen_share_, base_rate_ : float
        Share of class 1 in the training set, and in the pool.
    steps_ : numpy.ndarray, shape (k, 3)
        Progressive sampling: rows of the sets of a step, the best share, its criterion (AUC or
        minus the error).
    predictions_out_of_range_ : float
    constant_, converged_ : bool
        Whether the training set is of one class; whether the learner converged.

    Notes
    -----
    Progressive sampling keeps to the budget because every row bought in a step is in the training
    set at the end. Step j of 5 forms sets of budget / 2^(6 - j) rows, with shares over a beam. The
    first beam is as wide as the end (1/32 to 31/32) allows; then its radius around the best share b
    is min(b, 1 - b) / 3, so that even a move to its edge leaves room for all rows bought. Shares
    are compared by cross-validation within the bought rows, the error weighted to the base rate. A
    budget below 128 rows leaves out the steps with sets of fewer than 4.

    References
    ----------
    Weiss & Provost (2003), Learning when training data are costly, JAIR 19.
    Batista, Prati & Monard (2004) for random oversampling.
    """

    learner: str = "tree"
    budget: int = 1000
    share: float | str = "natural"
    criterion: str = "auc"
    correction: str = "counts"
    folds: int = 5
    min_samples_leaf: int = 2
    random_state: object = 0

    SWEPT = (
        "rows_bought",
        "chosen_share",
        "budget_excess",
        "predictions_out_of_range",
        "constant_model",
        "converged",
    )

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        unweighted: ArrayLike | None = None,
        *,
        rng: np.random.Generator | None = None,
        keys: ArrayLike | None = None,
    ) -> Self:
        """Buy rows of the pool X (n, d), y (n,) of 0 and 1, and learn.

        `keys` are row ids (n,), their place in the table if None; `rng` a Generator. One class
        only, bad options, rows or keys are refused, and so are weights: a share of the rows by
        class has no meaning for weighted rows.
        """
        if unweighted is not None:
            raise CounterweightError(
                "Buying rows by class takes no sample weights: use this model in a study without "
                "weighting."
            )
        check_options(vars(self), OPTIONS)
        X, y, _, keys = self._by_key(X, y, None, keys)
        self.base_rate_ = float(y.mean())
        draw, learning = (int(seed) for seed in rng.integers(2**62, size=2))
        pool = Pool(y, keys, draw)
        self.steps_ = np.empty((0, 3))
        if self.share in ("all", "oversampled"):
            rows = np.arange(len(y))
            if self.share == "oversampled":
                rows = np.r_[rows, _repeats(y, np.random.default_rng([draw, 1]))]
            self.rows_bought_, self.budget_excess_ = len(y), None
        else:
            budget = min(self.budget, len(y))
            ones = (
                self._progressive(X, y, pool, budget, learning)
                if self.share == "progressive"
                else budget * (self.base_rate_ if self.share == "natural" else self.share)
            )
            rows = pool.rows(*pool.counts(ones, budget))
            self.rows_bought_ = len(rows)
            self.budget_excess_ = self.rows_bought_ - self.budget
            if self.budget > len(y):
                log.warning("A budget of %d rows buys all %d training rows.", self.budget, len(y))
        self.chosen_share_ = float(y[rows].mean())
        if not isinstance(self.share, str) and abs(self.chosen_share_ - self.share) > 1 / len(rows):
            log.warning(
                "The %d training rows have too few of a class for a share of %g in %d rows: it is "
                "%.4g.",
                len(y),
                self.share,
                len(rows),
                self.chosen_share_,
            )
        self._use(self._learned_from(X, y, rows, learning), X[rows])
        return self

    def _positive(self, X):
        X = checked_new_rows(X, self.n_features_in_)
        return self._score(self.learner_, self.chosen_share_, X)

    def to_arrays(self):
        """All that was fitted; ``learner`` and ``correction`` are places in lists of `OPTIONS`."""
        return self._arrays(
            learner=OPTIONS["learner"]["enum"].index(self.learner),
            correction=OPTIONS["correction"]["enum"].index(self.correction),
            features=self.n_features_in_,
            rows_bought=self.rows_bought_,
            chosen_share=self.chosen_share_,
            budget_excess=self.budget_excess_,
            base_rate=self.base_rate_,
            steps=self.steps_,
        )

    @classmethod
    def from_arrays(cls, arrays):
        """A model from what `to_arrays` gave; it can predict."""
        model = cls._stored(arrays, OPTIONS)
        model.chosen_share_ = float(np.ravel(arrays["chosen_share"])[0])
        model.base_rate_ = float(np.ravel(arrays["base_rate"])[0])
        return model

    def _learned_from(self, X, y, rows, seed):
        return self._learned(X[rows], y[rows], np.ones(len(rows)), seed)

    def _score(self, model, share, X):
        if isinstance(model, ConstantModel) or share == self.base_rate_:
            # A factor of 1 with a rounding error would break the ties at 1/2.
            return model.score(X)
        over = share / (1 - share) * (1 - self.base_rate_) / self.base_rate_
        if isinstance(model, Tree) and self.correction == "counts":
            return model.score(X, over)
        return shifted_odds(model.score(X), 1 / over)

    def _progressive(self, X, y, pool, budget, seed):
        """Rows of class 1 in the final training set."""
        bought = np.zeros(2, int)
        best, steps = self.base_rate_, []
        for step in range(STEPS):
            size = int(budget / FACTOR ** (STEPS - step))
            if size < 4:
                continue
            low, high = beam(best, not steps, size, pool.available)
            tried = np.unique(np.r_[np.linspace(low, high, CANDIDATES), np.clip(best, low, high)])
            sets = np.unique([pool.counts(share * size, size) for share in tried], axis=0)
            bought = np.maximum(bought, sets.max(axis=0))
            values = self._evaluated(X, y, pool, sets, bought, seed)
            shares = sets[:, 1] / sets.sum(axis=1)
            # Of shares that do as well, the one nearest to the best so far.
            winner = np.lexsort((np.abs(shares - best), -values))[0]
            best = shares[winner]
            steps.append((size, best, values[winner]))
        self.steps_ = np.array(steps).reshape(-1, 3)
        return np.clip(best * budget, bought[1], budget - bought[0])

    def _evaluated(self, X, y, pool, sets, bought, seed):
        """Criterion of each candidate set, cross-validated within the bought rows."""
        owned = pool.rows(*bought)
        fold = pool.place[owned] % self.folds
        estimate = np.empty((len(sets), len(owned)))
        for k, counts in enumerate(sets):
            inside = pool.place[owned] < counts[y[owned]]
            for part in range(self.folds):
                held = fold == part
                rows = owned[inside & ~held]
                if not held.any():
                    continue
                share = y[rows].sum() / max(len(rows), 1)
                model = self._learned_from(X, y, rows, seed)
                estimate[k, held] = self._score(model, share, X[owned[held]])
        positive = y[owned] == 1
        if self.criterion == "auc":
            return np.array([_mean_auc(row, positive, fold) for row in estimate])
        wrong = (estimate >= 0.5) != positive
        rates = [
            wrong[:, part].mean(axis=1) if part.any() else np.zeros(len(sets))
            for part in (~positive, positive)
        ]
        return -((1 - self.base_rate_) * rates[0] + self.base_rate_ * rates[1])


class Pool:
    """Rows for sale, by class, in the order in which they are bought.

    ``available`` (2,) are rows of each class, ``place`` (n,) is that of a row in the order of its
    class, from 0.
    """

    def __init__(self, y, keys, seed):
        self.queues = [
            rows[drawing_order(keys[rows], seed)]
            for rows in (np.flatnonzero(y == 0), np.flatnonzero(y == 1))
        ]
        self.available = np.array([len(queue) for queue in self.queues])
        self.place = np.empty(len(y), int)
        for queue in self.queues:
            self.place[queue] = np.arange(len(queue))

    def counts(self, ones, size):
        """Rows of class 0 and of class 1 in a set of `size`, about `ones` of class 1.

        At least one of each class, and not more than there are.
        """
        most = min(self.available[1], size - 1)
        least = max(1, size - self.available[0])
        ones = int(np.clip(np.floor(ones + 0.5), least, max(least, most)))
        return np.array([min(size - ones, self.available[0]), ones])

    def rows(self, zeros, ones):
        """The first rows of each class, ascending."""
        return np.sort(np.r_[self.queues[0][:zeros], self.queues[1][:ones]])


def beam(best, first, size, available):
    """Shares of class 1 that a step of progressive sampling tries, about the `best` so far; the
    first step looks at all. `size` are rows of its training sets, `available` (2,) rows of each
    class.
    """
    radius = min(best, 1 - best) * (FACTOR - 1) / (FACTOR + 1)
    ends = (LEAST_SHARE, 1 - LEAST_SHARE) if first else (best - radius, best + radius)
    return np.clip(ends, max(0.0, 1 - available[0] / size), min(1.0, available[1] / size))


def _mean_auc(estimate, positive, fold):
    """AUC within each fold that has both classes, averaged over pairs."""
    from scipy.stats import rankdata

    total, pairs = 0.0, 0
    for part in np.unique(fold):
        held = fold == part
        ones = positive[held]
        m, n = int(ones.sum()), int((~ones).sum())
        if m and n:
            total += rankdata(estimate[held])[ones].sum() - m * (m + 1) / 2
            pairs += m * n
    return total / pairs if pairs else 0.5


def _repeats(y, rng):
    """Rows of the rarer class to add, drawn with replacement, to reach 1:1."""
    ones = np.flatnonzero(y == 1)
    zeros = np.flatnonzero(y == 0)
    rarer = ones if len(ones) < len(zeros) else zeros
    return rng.choice(rarer, abs(len(ones) - len(zeros)))
