"""SVM whose mean scores in two groups may not differ by more than a bound."""

import numpy as np

from counterweight.models.constraints.estimator import check_options
from counterweight.models.constraints.svm_baseline import SvmBaseline, group_masks, training_sets

OPTIONS = {
    "c": {
        "type": "number",
        "minimum": 0,
        "description": "Largest difference of the mean scores of the two groups.",
    },
    "groups": {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 2,
        "maxItems": 2,
        "default": ["male", "female"],
        "description": "Names of the two data sets.",
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


class CovarianceConstraint(SvmBaseline):
    """Least hinge loss subject to |<w, mean of A - mean of B>| <= c.

    Zafar, Valera, Gomez Rodriguez & Gummadi (2015) as Goh et al. (2016) compare with it,
    equation (8): the bound is on the difference of the groups' mean scores, a stand-in for
    the difference of their rates, to which c has no known relation. The means are over all
    rows of the data sets, labeled or not, each counting once. The hinge is 1/2 - y f with y
    in -1, 1, so a score is that of `ConstrainedClassifier`: half of the textbook SVM's.

    The problem is convex. Where the unconstrained SVM breaks the bound, it holds with
    equality at the optimum, which is then found within that plane.

    Parameters
    ----------
    c : float
    groups, penalty, bias, features, feature_count, feature_scale, standardise
        See `OPTIONS`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    difference_ : float
        Mean score of the first group minus that of the second.
    """

    def __init__(
        self,
        c,
        groups=("male", "female"),
        penalty=None,
        bias="regularised",
        features="none",
        feature_count=300,
        feature_scale=None,
        standardise=False,
    ):
        self.c = c
        self.groups = groups
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
        """Fit.

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
            For a negative bound, unusable data, and groups that are unknown or overlap.
        """
        check_options(self, OPTIONS)
        samples, seen = training_sets(X, y, sample_weight, samples, datasets, deployed)
        first, second = group_masks(samples, self.groups, exactly=2)

        def direction(rows):
            means = [np.asarray(rows[mask].mean(axis=0)).ravel() for mask in (first, second)]
            return means[0] - means[1], self.c

        self._learn(samples, seen, rng, direction)
        scores = self.decision_function(samples.X)
        self.difference_ = float(scores[first].mean() - scores[second].mean())
        return self

    def predict_proba(self, X):
        """Probabilities (n, 2) of the randomised rule: max(0, min(1, 1/2 + f)) of positive."""
        return self._probabilities(self.decision_function(X))

    def to_arrays(self):
        """Everything fitted, as arrays by name."""
        return super().to_arrays() | {"difference": np.array([self.difference_])}
