"""What the baselines that start from a linear SVM share."""

import hashlib
import weakref
from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.models.constraints.estimator import LinearScore, two_columns
from counterweight.models.constraints.linear_svm import HingeRows, best_penalty
from counterweight.numerics.estimator import NamedColumns

_FITS = weakref.WeakKeyDictionary()
_SCORES = weakref.WeakKeyDictionary()


def labeled_rows(samples):
    """Rows to learn from, bool (n,): those with a label and a weight above 0.

    Raises
    ------
    CounterweightError
        When they do not hold both classes.
    """
    seen = samples.mask((("labeled",),)) & (samples.weight > 0)
    for label in (0, 1):
        if not (samples.y[seen] == label).any():
            raise CounterweightError(
                f"No labeled row with a positive weight has the label {label}: a classifier needs "
                "both classes."
            )
    return seen


def group_masks(samples, groups, exactly=None):
    """Rows of each group, bool (k, n); a row may be in none, and in one at most.

    Raises
    ------
    CounterweightError
        For a wrong number of groups, a group that is unknown or without rows, and rows in
        two groups.
    """
    groups = list(groups)
    if len(set(groups)) < len(groups) or len(groups) < 2 or len(groups) != (exactly or len(groups)):
        raise CounterweightError(
            f"groups must name {exactly or 'two or more'} different data sets, got "
            f"{listed(groups) or 'none'}."
        )
    masks = np.array([samples.mask(((name,),)) for name in groups])
    twice = masks.sum(axis=0) > 1
    if twice.any():
        raise CounterweightError(
            f"{int(twice.sum())} rows (first: row {int(np.argmax(twice))}) are in more than one of "
            f"the groups {listed(groups)}: name groups without rows in common."
        )
    return masks


@dataclass(eq=False, repr=False, kw_only=True)
class SvmBaseline(LinearScore):
    """A linear SVM, and what is needed to predict with it.

    Parameters
    ----------
    penalty, penalties, bias, standardise
        See `options.SVM_OPTIONS`.

    Attributes
    ----------
    coef_ : numpy.ndarray
        For features in their own units (of the map's features, if there is a map).
    intercept_, objective_, gap_, penalty_, norm_ : float
    evaluations_ : int
    map_ : FeatureMap or None
    """

    penalty: float | None = None
    penalties: tuple = ()
    bias: str = "regularised"
    standardise: bool = False

    FITTED = {
        "coefficient": "coef_",
        "intercept": "intercept_",
        "objective": "objective_",
        "gap": "gap_",
        "feasible": "feasible_",
        "penalty": "penalty_",
        "evaluations": "evaluations_",
        "coefficient_norm": "norm_",
        "map": "map_",
    }
    NUMBERS = {
        "intercept": float,
        "objective": float,
        "gap": float,
        "feasible": bool,
        "penalty": float,
        "evaluations": int,
        "coefficient_norm": float,
    }
    KEPT = (*(name for name in FITTED if name != "map"), "thresholds")
    feasible_ = True
    _scored = None

    def _learn(self, samples, seen, rng, direction=None):
        """Fit the SVM to the rows `seen`.

        `direction`, if given, is a function from the solver's rows of all training rows to
        ``line, bound``: |line @ w| <= bound then holds.
        """
        self._draw_map(samples.X, rng)
        # The settings of a sweep share the training rows, and what follows from them alone.
        fits, key = {}, None
        if self.map_ is None:
            fits = _FITS.setdefault(samples, {})
            sums = (hashlib.sha256(v.tobytes()).digest() for v in (samples.y, samples.weight, seen))
            grid = tuple(self.penalties)
            key = (id(samples.X), self.penalty, grid, self.bias, self.standardise, *sums)
        if key not in fits:
            rows, scale, centre = self._solver_rows(samples.X)
            told = rows[seen], samples.y[seen], samples.weight[seen]
            penalty = best_penalty(*told, self.penalty, self.penalties, self.bias, rng)
            hinges = HingeRows(*told, penalty, self.bias)
            fits[key] = rows, scale, centre, hinges, hinges.solve()
        rows, scale, centre, hinges, svm = fits[key]
        if direction is not None:
            line, bound = direction(rows)
            value = line @ svm.coefficient
            if abs(value) > bound and line.any():
                # The problem is convex, so the constraint that is broken holds with equality.
                svm = hinges.solve(line, np.copysign(bound, value), start=svm)
        self.penalty_, self.gap_, self.objective_ = hinges.penalty, svm.gap, svm.objective
        self.evaluations_ = svm.evaluations
        self._keep_score(svm.coefficient, svm.intercept, scale, centre)

    def scores_of(self, samples):
        """Scores of the rows of data sets, (n,); equal classifiers of a sweep share them."""
        known = _SCORES.setdefault(samples, {})
        drawn = () if self.map_ is None else tuple(self.map_.to_arrays().values())
        told = (self.coef_, *drawn)
        key = id(samples.X), self.intercept_, *(np.asarray(part).tobytes() for part in told)
        if key not in known:
            known.clear()
            known[key] = self.decision_function(samples.X)
        return known[key].copy()

    def answers(self, X, samples=None):
        """See `Promises`; rows of data sets have their scores from `scores_of`."""
        if samples is None or X is not samples.X:
            return super().answers(X, samples)
        self._scored = X, self.scores_of(samples)
        try:
            return super().answers(X, samples)
        finally:
            self._scored = None

    def decision_function(self, X):
        """f(x) of rows, dense or sparse, before any threshold; (n,)."""
        if self._scored is not None and X is self._scored[0]:
            return self._scored[1]
        return super().decision_function(X)


@dataclass(eq=False, repr=False, kw_only=True)
class MappedSvm(SvmBaseline):
    """The same, of a fixed map of the features if asked.

    Parameters
    ----------
    penalty, penalties, bias, standardise
        See `options.SVM_OPTIONS`.
    features, linear_part, feature_count, feature_scale
        See `options.MAP_OPTIONS`.
    """

    features: str = "none"
    linear_part: bool = False
    feature_count: int = 300
    feature_scale: float | None = None


class GroupedRule(NamedColumns):
    """Predictions by the score of a row and its group; subclasses have `_positive`."""

    GROUPED = True

    def predict_proba(self, X, samples=None):
        """Probabilities (n, 2) of a negative and a positive prediction.

        Parameters
        ----------
        X : array (n, d)
        samples : DataSets
            Says which rows are in which group.

        Raises
        ------
        CounterweightError
            When `samples` are not given, are not of these rows, or lack a group.
        """
        if samples is None or len(samples) != X.shape[0]:
            raise CounterweightError(
                "Group thresholds need the group of each row to predict: give samples, with the "
                f"data sets {listed(self.groups)} over these {X.shape[0]} rows."
            )
        missing = [name for name in self.groups if name not in samples.members]
        if missing:
            raise CounterweightError(
                f"The rows to predict have no data set {listed(missing)}; they have "
                f"{listed(samples.members) or 'none'}."
            )
        masks = np.array([samples.members[name] for name in self.groups])
        return two_columns(self._positive(self.decision_function(X), masks))
