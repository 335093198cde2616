"""What the baselines that start from a linear SVM share."""

import hashlib
import weakref

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.models.constraints.estimator import RateEstimator
from counterweight.models.constraints.feature_maps import FeatureMap, deviations, means
from counterweight.models.constraints.linear_svm import HingeRows
from counterweight.numerics.rates.datasets import DataSets, checked_features, is_sparse

#: Rows denser than this stay dense in the solver.
SPARSE_SHARE = 0.25
_FITS = weakref.WeakKeyDictionary()


def training_sets(X, y, sample_weight, samples, datasets=None, deployed=None):
    """Data sets of the training rows: those given, or made from the arguments of `fit`.

    Raises
    ------
    CounterweightError
        When there is neither, and when the labeled rows do not hold both classes.
    """
    if samples is None:
        if X is None or y is None:
            raise CounterweightError("fit needs X and y, or samples.")
        samples = DataSets.stack(X, y, sample_weight, datasets, deployed)
    seen = samples.mask((("labeled",),)) & (samples.weight > 0)
    for label in (0, 1):
        if not (samples.y[seen] == label).any():
            raise CounterweightError(
                f"No labeled row with a positive weight has the label {label}: a classifier needs "
                "both classes."
            )
    return samples, seen


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


def cuts(scores):
    """Thresholds between different scores, and how many of the scores are above each.

    Scores that differ by rounding only count as equal, so that no threshold parts them.

    Parameters
    ----------
    scores : array, shape (n,)

    Returns
    -------
    order : int array, shape (n,)
        The scores from high to low.
    above : int array, shape (k + 1,)
        0 = above[0] < above[1] < ... < above[k] = n.
    edges : float array, shape (k + 1, 2)
        A threshold between the two edges (the second is the higher one) leaves `above` scores
        above it; infinite at both ends.
    """
    order = np.argsort(-scores, kind="stable")
    high = scores[order]
    same = 1e-9 * (1 + np.abs(high).max(initial=0.0))
    ends = np.flatnonzero(high[:-1] - high[1:] > same) + 1
    above = np.concatenate([[0], ends, [len(high)]])
    upper = np.concatenate([[np.inf], high[ends - 1], high[-1:]])
    lower = np.concatenate([high[:1], high[ends], [-np.inf]])
    return order, above, np.column_stack([lower, upper])


def threshold_within(edges):
    """The threshold of an interval between two scores: 0 if it is inside, else the middle."""
    low, high = edges
    if low <= 0 < high:
        return 0.0
    apart = 1e-6 * (1 + min(abs(low), abs(high)))
    if np.isinf(high):
        return float(low + apart)
    if np.isinf(low):
        return float(high - apart)
    return float(0.5 * (low + high))


def shift_of(edges):
    """How far each interval of thresholds is from 0, shape (k,); 0 where it holds 0."""
    low, high = edges[:, 0], edges[:, 1]
    return np.where((low <= 0) & (high > 0), 0.0, np.minimum(np.abs(low), np.abs(high)))


def standardised(X):
    """Rows with features of standard deviation 1, and mean 0 unless sparse.

    Returns
    -------
    rows : array or csr_matrix
    scale : array (d,)
    centre : array (d,) or None
    """
    scale = deviations(X)
    if is_sparse(X):
        from scipy import sparse

        return (X @ sparse.diags(1 / scale)).tocsr(), scale, None
    centre = means(X)
    return (X - centre) / scale, scale, centre


class SvmBaseline(RateEstimator):
    """A linear SVM, and what is needed to predict with it.

    Subclasses have the options `penalty`, `bias`, `features`, `feature_count`,
    `feature_scale` and `standardise` of `ConstrainedClassifier`.

    Attributes
    ----------
    coef_ : numpy.ndarray
        For features in their own units (of the map's features, if there is a map).
    intercept_, objective_, gap_, penalty_, norm_ : float
    evaluations_ : int
    map_ : FeatureMap or None
    """

    SAMPLED = DataSets
    KEPT = (
        "coefficient",
        "intercept",
        "objective",
        "gap",
        "feasible",
        "penalty",
        "evaluations",
        "coefficient_norm",
        "thresholds",
    )

    def _learn(self, samples, seen, rng, direction=None):
        """Fit the SVM to the labeled rows.

        `direction`, if given, is a function from the solver's rows of all training rows to
        ``line, bound``: |line @ w| <= bound is then kept.
        """
        self.n_features_in_ = samples.X.shape[1]
        # The settings of a sweep share the training rows, and what follows from them alone.
        fits, key = {}, None
        if self.features == "none":
            fits = _FITS.setdefault(samples, {})
            sums = (hashlib.sha256(v.tobytes()).digest() for v in (samples.y, samples.weight, seen))
            key = (id(samples.X), self.penalty, self.bias, self.standardise, *sums)
        if key not in fits:
            fits[key] = self._unconstrained(samples, seen, rng)
        self.map_, rows, scale, centre, hinges, found = fits[key]
        if direction is not None:
            line, bound = direction(rows)
            value = line @ found.coefficient
            if abs(value) > bound and line.any():
                # The problem is convex, so the constraint that is broken holds with equality.
                found = hinges.solve(line, np.copysign(bound, value), start=found)
        self.penalty_, self.gap_, self.objective_ = hinges.penalty, found.gap, found.objective
        self.evaluations_ = found.evaluations
        penalised = found.intercept if self.bias == "regularised" else 0.0
        self.norm_ = float(np.sqrt(found.coefficient @ found.coefficient + penalised**2))
        self.coef_ = found.coefficient if scale is None else found.coefficient / scale
        self.intercept_ = found.intercept
        if centre is not None:
            self.intercept_ -= float(centre @ self.coef_)

    def _unconstrained(self, samples, seen, rng):
        """The map, the solver's rows with their scale and centre, and the SVM."""
        found_map, rows = None, samples.X
        if self.features != "none":
            found_map = FeatureMap(self.features, self.feature_count, self.feature_scale)
            found_map.fit(rows, np.random.default_rng(0) if rng is None else rng)
            rows = found_map.transform(rows)
        scale = centre = None
        if self.standardise and found_map is None:
            rows, scale, centre = standardised(rows)
        if not is_sparse(rows) and np.count_nonzero(rows) < SPARSE_SHARE * rows.size:
            from scipy import sparse

            rows = sparse.csr_matrix(rows)
        hinges = HingeRows(
            rows[seen], samples.y[seen], samples.weight[seen], self.penalty, self.bias
        )
        return found_map, rows, scale, centre, hinges, hinges.solve()

    def decision_function(self, X):
        """Scores of rows, dense or sparse, before any threshold; (n,)."""
        self._check_fitted()
        X = checked_features(X)
        if X.shape[1] != self.n_features_in_:
            raise CounterweightError(
                f"The model has {self.n_features_in_} features, the rows to predict {X.shape[1]}."
            )
        if self.map_ is not None:
            X = self.map_.transform(X)
        return np.asarray(X @ self.coef_).ravel() + self.intercept_

    def _probabilities(self, scores):
        positive = np.clip(0.5 + scores, 0.0, 1.0)
        return np.column_stack([1 - positive, positive])

    def to_arrays(self):
        """Everything fitted, as arrays by name."""
        self._check_fitted()
        arrays = {
            "coefficient": self.coef_,
            "intercept": np.array([self.intercept_]),
            "objective": np.array([self.objective_]),
            "gap": np.array([self.gap_]),
            "feasible": np.array([1.0]),
            "penalty": np.array([self.penalty_]),
            "evaluations": np.array([float(self.evaluations_)]),
            "coefficient_norm": np.array([self.norm_]),
        }
        return arrays | (self.map_.to_arrays() if self.map_ is not None else {})
