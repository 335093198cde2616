"""SVM whose threshold is shifted until a constraint on rates holds."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.estimator import check_options
from counterweight.models.constraints.svm_baseline import (
    SvmBaseline,
    cuts,
    shift_of,
    threshold_within,
    training_sets,
)
from counterweight.numerics.rates.coefficients import compile as compile_rates

OPTIONS = {
    "constraint": {
        "type": "string",
        "description": "What has to hold on the training rows, e.g. recall(d2) >= 0.9.",
    },
    "kappa": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "Value of the parameter kappa in the constraint.",
    },
    "target": {
        "type": ["number", "null"],
        "default": None,
        "description": "Value of the parameter target in the constraint.",
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

#: Rounding that a sum of shares may have.
ROUNDING = 1e-12


class ShiftedThreshold(SvmBaseline):
    """An unconstrained SVM, its bias then shifted as little as the constraint allows.

    The baseline of section 4.2 of Goh et al. (2016). A row is predicted positive iff its score
    is above the threshold; all thresholds are tried that differ in their predictions on the
    training rows, and among those where the constraint (deterministic rates, training rows)
    holds the one nearest to 0 is taken, in the middle between the two neighbouring scores.
    A shorthand that stands for several plain constraints asks for all of them.

    Parameters
    ----------
    constraint : str
        In the language of `counterweight.numerics.rates.language`.
    kappa, target, penalty, bias, features, feature_count, feature_scale, standardise
        See `OPTIONS`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    threshold_ : float
        0 where the SVM meets the constraint as it is.
    """

    def __init__(
        self,
        constraint,
        kappa=None,
        target=None,
        penalty=None,
        bias="regularised",
        features="none",
        feature_count=300,
        feature_scale=None,
        standardise=False,
    ):
        self.constraint = constraint
        self.kappa = kappa
        self.target = target
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
        """Fit, and shift.

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
            For unusable data, a constraint that cannot be read, and one that holds at no
            threshold (with the least violation).
        """
        check_options(self, OPTIONS)
        samples, seen = training_sets(X, y, sample_weight, samples, datasets, deployed)
        parameters = {"kappa": self.kappa, "target": self.target}
        problem = compile_rates("coverage(everyone)", [self.constraint], samples, parameters)
        self._learn(samples, seen, rng)
        order, above, edges = cuts(self.decision_function(samples.X))
        excess = np.full(len(above), -np.inf)
        for j, bound in enumerate(problem.bounds, start=1):
            # Moving a row from negative to positive changes the rate by P - N.
            change = problem.positive[j] - problem.negative[j]
            totals = np.concatenate([[0.0], np.cumsum(change[order])])[above]
            found = totals + problem.negative[j].sum() + problem.constants[j] - bound
            size = problem.positive[j].sum() + problem.negative[j].sum() + abs(bound)
            excess = np.maximum(excess, found - ROUNDING * (1 + size))
        shift = np.where(excess <= 0, shift_of(edges), np.inf)
        best = int(np.argmin(shift))
        if not np.isfinite(shift[best]):
            raise CounterweightError(
                f"No threshold of the SVM meets {self.constraint} on the {len(samples)} training "
                f"rows; the least violation is {excess.min():.4g}: loosen the constraint."
            )
        self.threshold_ = threshold_within(edges[best])
        return self

    def predict_proba(self, X):
        """Probabilities (n, 2): max(0, min(1, 1/2 + f - threshold)) of a positive prediction."""
        return self._probabilities(self.decision_function(X) - self.threshold_)

    def to_arrays(self):
        """Everything fitted, as arrays by name."""
        return super().to_arrays() | {"thresholds": np.array([self.threshold_])}
