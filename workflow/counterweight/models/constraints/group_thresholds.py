"""SVM with a threshold of its own for each of two groups."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.models.constraints.estimator import check_options
from counterweight.models.constraints.svm_baseline import (
    SvmBaseline,
    cuts,
    group_masks,
    shift_of,
    threshold_within,
    training_sets,
)
from counterweight.numerics.rates.coefficients import rate_parts

OPTIONS = {
    "kappa": {
        "type": "number",
        "exclusiveMinimum": 0,
        "default": 1.0,
        "description": "The first group's rate is at most the second's divided by kappa.",
    },
    "groups": {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 2,
        "maxItems": 2,
        "default": ["male", "female"],
        "description": "Names of the two data sets.",
    },
    "rate": {
        "enum": ["coverage", "recall", "false_positive_rate"],
        "default": "coverage",
        "description": "Rate of positive predictions that is compared: coverage for demographic "
        "parity, recall for equal opportunity.",
    },
    "both": {
        "type": "boolean",
        "default": False,
        "description": "Whether the second group's rate is bounded by the first's likewise.",
    },
    "penalty": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "lambda of the SVM's penalty lambda/2 |w|^2. null: 2/n for n labeled rows "
        "(LIBLINEAR's C = 1).",
    },
    "bias": {
        "enum": ["regularised", "free", "none"],
        "default": "regularised",
        "description": "regularised: a constant feature 1, penalised as the others; free: not "
        "penalised; none: through the origin.",
    },
    "features": {
        "enum": ["none", "fourier", "nystroem"],
        "default": "none",
        "description": "Fixed map of the features that makes a kernel classifier.",
    },
    "feature_count": {
        "type": "integer",
        "minimum": 1,
        "default": 300,
        "description": "Features of the map.",
    },
    "feature_scale": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "Scale of the map's Gaussian kernel in standard deviations of the "
        "features; null: the median distance of 1,000 rows.",
    },
    "standardise": {
        "type": "boolean",
        "default": False,
        "description": "Whether features are brought to mean 0 and standard deviation 1 before "
        "the penalty counts (sparse ones are scaled only).",
    },
}


class GroupThresholds(SvmBaseline):
    """An unconstrained SVM with the two thresholds of least training error under a constraint.

    After Hardt, Price & Srebro (2016), without randomisation: rate(A) <= rate(B) / kappa for
    deterministic predictions on the training rows. The search is exact, over all pairs of
    thresholds that differ in their predictions: for each threshold of A the rate bounds those
    of B to an interval of the sorted scores, whose least error a table of minima over powers
    of two gives; n log n in all. Among pairs of equal error the one with the smallest shifts
    is taken. Rows in neither group keep the threshold 0.

    It needs to know the group of each row to predict.

    Parameters
    ----------
    kappa, groups, rate, both, penalty, bias, features, feature_count, feature_scale,
    standardise
        See `OPTIONS`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    thresholds_ : numpy.ndarray, shape (2,)
    """

    GROUPED = True

    def __init__(
        self,
        kappa=1.0,
        groups=("male", "female"),
        rate="coverage",
        both=False,
        penalty=None,
        bias="regularised",
        features="none",
        feature_count=300,
        feature_scale=None,
        standardise=False,
    ):
        self.kappa = kappa
        self.groups = groups
        self.rate = rate
        self.both = both
        self.penalty = penalty
        self.bias = bias
        self.features = features
        self.feature_count = feature_count
        self.feature_scale = feature_scale
        self.standardise = standardise

    def fit(
        self,
        X=None,
        y=None,
        sample_weight=None,
        *,
        samples=None,
        datasets=None,
        deployed=None,
        rng=None,
    ):
        """Fit, and choose the thresholds.

        Parameters
        ----------
        X : array or scipy.sparse matrix (n, d), optional
        y : array (n,) of 1 and 0, or -1 where the label is hidden, optional
        sample_weight : array (n,), optional
        samples : DataSets, optional
            The training rows with their labels, weights and data sets; nothing else is looked
            at then.
        datasets, deployed
            Named data sets and scores of a deployed model, as `ConstrainedClassifier.fit` takes
            them.
        rng : numpy.random.Generator, optional
            Draws the random features, if there are any.

        Raises
        ------
        CounterweightError
            For unusable data, groups that are unknown or overlap or lack what the rate needs.
        """
        check_options(self, OPTIONS)
        if self.both and self.kappa > 1:
            raise CounterweightError(
                f"kappa is {self.kappa}; it must be at most 1 where both groups are bounded."
            )
        samples, seen = training_sets(X, y, sample_weight, samples, datasets, deployed)
        masks = group_masks(samples, self.groups, exactly=2)
        self._learn(samples, seen, rng)
        scores = self.decision_function(samples.X)
        gain = np.where(seen, samples.weight * np.where(samples.y == 1, -1.0, 1.0), 0.0)
        total = samples.weight[seen].sum()
        sides = []
        for name, mask in zip(self.groups, masks, strict=True):
            parts = rate_parts(self.rate, ((name,),), samples)
            share = np.zeros(len(samples))
            share[parts.rows] = parts.positive / parts.mass.sum()
            order, above, edges = cuts(scores[mask])
            rates, errors = (
                np.concatenate([[0.0], np.cumsum(values[mask][order])])[above]
                for values in (share, gain / total)
            )
            # A shift breaks ties only: all shifts together weigh less than one row.
            shift = np.minimum(shift_of(edges), 1e3)
            sides.append((rates, errors + 1e-12 * shift, edges))
        first, second = self._best(*sides[0][:2], *sides[1][:2])
        self.thresholds_ = np.array(
            [threshold_within(sides[0][2][first]), threshold_within(sides[1][2][second])]
        )
        return self

    def _best(self, rate, error, other_rate, other_error):
        """Positions of the best pair; rates ascend along their arrays."""
        low = np.searchsorted(other_rate, self.kappa * rate - 1e-12)
        high = np.full(len(rate), len(other_rate))
        if self.both:
            high = np.searchsorted(other_rate, rate / self.kappa + 1e-12, side="right")
        possible = low < high
        least, at = _interval_minima(other_error, low[possible], high[possible])
        sums = error[possible] + least
        best = int(np.argmin(sums))
        return int(np.flatnonzero(possible)[best]), int(at[best])

    def predict_proba(self, X, samples=None):
        """Probabilities (n, 2): max(0, min(1, 1/2 + f - threshold of the group)) of positive.

        Parameters
        ----------
        X : array (n, d)
        samples : DataSets
            Says which rows are in which group.
        """
        if samples is None or len(samples) != X.shape[0]:
            raise CounterweightError(
                "Group thresholds need the group of each row to predict: give samples, with the "
                f"data sets {listed(self.groups)} over these {X.shape[0]} rows."
            )
        scores = self.decision_function(X)
        for name, threshold in zip(self.groups, self.thresholds_, strict=True):
            if name not in samples.members:
                raise CounterweightError(
                    f"The rows to predict have no data set {name}; they have "
                    f"{listed(samples.members) or 'none'}."
                )
            scores = scores - threshold * samples.members[name]
        return self._probabilities(scores)

    def to_arrays(self):
        """Everything fitted, as arrays by name."""
        return super().to_arrays() | {"thresholds": self.thresholds_}


def _interval_minima(values, low, high):
    """Least of values[low:high] of each (nonempty) interval, and the first place of it.

    Minima over all runs of 2^k values are kept; two runs, which may overlap, make up any
    interval.
    """
    places = [np.arange(len(values))]
    while 2 ** len(places) <= len(values):
        before, half = places[-1], 2 ** (len(places) - 1)
        left, right = before[:-half], before[half:]
        places.append(np.where(values[right] < values[left], right, left))
    level = np.frexp((high - low).astype(float))[1] - 1
    at = np.empty(len(low), dtype=np.int64)
    for k, place in enumerate(places):
        rows = level == k
        left, right = place[low[rows]], place[high[rows] - 2**k]
        at[rows] = np.where(values[right] < values[left], right, left)
    return values[at], at
