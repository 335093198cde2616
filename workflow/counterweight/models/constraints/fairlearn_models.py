"""Fair classifiers of the package fairlearn: exponentiated gradient, threshold optimiser."""

import contextlib
import importlib
import warnings

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.models.constraints.estimator import RateEstimator, check_options
from counterweight.models.constraints.svm_baseline import (
    SvmBaseline,
    group_masks,
    standardised,
    training_sets,
)
from counterweight.numerics.rates.datasets import DataSets, checked_features, is_sparse

OPTIONS_BY_NAME = {
    "exponentiated_gradient": {
        "rate": {
            "enum": ["demographic_parity", "equal_opportunity", "equalised_odds"],
            "default": "demographic_parity",
            "description": "Rates that are to agree: positive predictions; those among the "
            "positives; those among the positives and among the negatives.",
        },
        "ratio": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 1,
            "default": 0.8,
            "description": "Least ratio of a group's rate to the rate of all rows, and of the "
            "rate of all rows to a group's.",
        },
        "groups": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 2,
            "default": ["male", "female"],
            "description": "Names of the data sets that are compared.",
        },
        "base": {
            "enum": ["logistic", "svm"],
            "default": "logistic",
            "description": "Classifier that is reweighted: logistic regression or linear SVM.",
        },
        "base_c": {
            "type": "number",
            "exclusiveMinimum": 0,
            "default": 1.0,
            "description": "Inverse penalty C of the classifier that is reweighted.",
        },
        "eps": {
            "type": "number",
            "exclusiveMinimum": 0,
            "exclusiveMaximum": 1,
            "default": 0.01,
            "description": "Violation that is allowed; 1/eps bounds the multipliers.",
        },
        "max_iter": {
            "type": "integer",
            "minimum": 1,
            "default": 50,
            "description": "Most steps of exponentiated gradient.",
        },
        "standardise": {
            "type": "boolean",
            "default": False,
            "description": "Whether features are brought to mean 0 and standard deviation 1 "
            "before the penalty counts.",
        },
    },
    "threshold_optimizer": {
        "rate": {
            "enum": ["demographic_parity", "equal_opportunity", "equalised_odds"],
            "default": "demographic_parity",
            "description": "Rates that are to agree: positive predictions; those among the "
            "positives; those among the positives and among the negatives.",
        },
        "groups": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 2,
            "default": ["male", "female"],
            "description": "Names of the data sets that are compared.",
        },
        "grid_size": {
            "type": "integer",
            "minimum": 2,
            "default": 1000,
            "description": "Points of the grid of rates that is searched.",
        },
        "penalty": {
            "type": ["number", "null"],
            "exclusiveMinimum": 0,
            "default": None,
            "description": "lambda of the SVM's penalty lambda/2 |w|^2. null: 2/n for n labeled "
            "rows (LIBLINEAR's C = 1).",
        },
        "bias": {
            "enum": ["regularised", "free", "none"],
            "default": "regularised",
            "description": "regularised: a constant feature 1, penalised as the others; free: "
            "not penalised; none: through the origin.",
        },
        "standardise": {
            "type": "boolean",
            "default": False,
            "description": "Whether features are brought to mean 0 and standard deviation 1 "
            "before the penalty counts.",
        },
    },
}
#: fairlearn's name of each rate, for its threshold optimiser.
THRESHOLD_NAMES = {
    "demographic_parity": "demographic_parity",
    "equal_opportunity": "true_positive_rate_parity",
    "equalised_odds": "equalized_odds",
}
#: Group of the rows that are in none of the groups named.
NEITHER = -1


def _imported(module):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise CounterweightError(
            "This method needs the package fairlearn (0.15.0), which is not installed: install "
            f"it, or leave the method out ({error})."
        ) from error


@contextlib.contextmanager
def _quiet():
    """Without fairlearn's warnings of what pandas will change in its next version."""
    with warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning):
            warnings.filterwarnings("ignore", category=category, module="fairlearn")
        yield


def _labeled_groups(samples, seen, groups, what):
    """Labels and groups of the labeled rows; weights are refused."""
    weight = samples.weight[seen]
    if np.ptp(weight) > 1e-12 * weight.max():
        raise CounterweightError(
            f"fairlearn's {what} takes no weights of the rows, and the labeled rows have weights "
            f"from {weight.min():.4g} to {weight.max():.4g}: leave this method out of weighted "
            "studies."
        )
    found = _group_numbers(group_masks(samples, groups))
    missing = [name for g, name in enumerate(groups) if not (found[seen] == g).any()]
    if missing:
        raise CounterweightError(f"The group {listed(missing)} has no labeled row to learn from.")
    return samples.y[seen].astype(int), found[seen]


def _group_numbers(masks):
    """Number of the group of each row, `NEITHER` where it is in none."""
    return np.where(masks.any(axis=0), masks.argmax(axis=0), NEITHER)


class ExponentiatedGradientModel(RateEstimator):
    """fairlearn's `ExponentiatedGradient`: a random mixture of reweighted linear classifiers.

    After Agarwal, Beygelzimer, Dudik, Langford & Wallach (2018). A row is predicted by a
    classifier drawn with the mixture's weights, so its probability of a positive prediction is
    the weight of the classifiers that predict positive. fairlearn's bound is not that of
    `ConstrainedClassifier`: each group's rate is compared with the rate of all labeled rows,
    ratio <= group / all and ratio <= all / group, up to `eps`, so that two groups may differ
    by more than `ratio`; compare at observed ratios. Rows in no group form one of their own.

    Only labeled rows are used. Weights of rows are refused.

    Parameters
    ----------
    rate, ratio, groups, base, base_c, eps, max_iter, standardise
        See `OPTIONS_BY_NAME`.

    Attributes
    ----------
    weights_ : numpy.ndarray, shape (k,)
    coef_ : numpy.ndarray, shape (k, d)
    intercept_ : numpy.ndarray, shape (k,)
    gap_ : float
        fairlearn's duality gap of the mixture.
    evaluations_ : int
        Classifiers that were fitted.
    """

    SAMPLED = DataSets
    KEPT = ("weights", "coefficients", "intercepts", "gap", "evaluations")

    def __init__(
        self,
        rate="demographic_parity",
        ratio=0.8,
        groups=("male", "female"),
        base="logistic",
        base_c=1.0,
        eps=0.01,
        max_iter=50,
        standardise=False,
    ):
        self.rate = rate
        self.ratio = ratio
        self.groups = groups
        self.base = base
        self.base_c = base_c
        self.eps = eps
        self.max_iter = max_iter
        self.standardise = standardise

    def fit(self, X=None, y=None, sample_weight=None, *, samples=None, datasets=None, rng=None):
        """Fit; `rng` is accepted and not needed.

        Parameters
        ----------
        X, y, sample_weight, samples, datasets
            As `CovarianceConstraint.fit` takes them.

        Raises
        ------
        CounterweightError
            For weights that differ, a ratio outside (0, 1], unusable data or groups.
        """
        reductions = _imported("fairlearn.reductions")
        check_options(self, OPTIONS_BY_NAME["exponentiated_gradient"])
        samples, seen = training_sets(X, y, sample_weight, samples, datasets)
        labels, groups = _labeled_groups(samples, seen, self.groups, "ExponentiatedGradient")
        rows, scale, centre = _dense(samples.X[seen]), None, None
        if self.standardise:
            rows, scale, centre = standardised(rows)
        moments = {
            "demographic_parity": reductions.DemographicParity,
            "equal_opportunity": reductions.TruePositiveRateParity,
            "equalised_odds": reductions.EqualizedOdds,
        }
        found = reductions.ExponentiatedGradient(
            self._base(),
            moments[self.rate](ratio_bound=self.ratio, ratio_bound_slack=0.0),
            eps=self.eps,
            max_iter=self.max_iter,
        )
        with _quiet():
            found.fit(rows, labels, sensitive_features=groups)
        used = [k for k in sorted(found.weights_.index) if found.weights_[k] > 0]
        linear = [_linear(found.predictors_[k], rows.shape[1]) for k in used]
        self.weights_ = np.array([found.weights_[k] for k in used], dtype=float)
        self.coef_ = np.array([coefficient for coefficient, _ in linear])
        self.intercept_ = np.array([intercept for _, intercept in linear])
        if self.standardise:
            self.coef_ = self.coef_ / scale
            self.intercept_ = self.intercept_ - self.coef_ @ centre
        self.gap_ = float(found.best_gap_)
        self.evaluations_ = int(found.n_oracle_calls_)
        self.n_features_in_ = rows.shape[1]
        self.fairlearn_ = found
        return self

    def _base(self):
        if self.base == "logistic":
            from sklearn.linear_model import LogisticRegression

            return LogisticRegression(C=self.base_c, solver="newton-cholesky", max_iter=200)
        from sklearn.svm import LinearSVC

        return LinearSVC(C=self.base_c, dual=False, random_state=0)

    def predict_proba(self, X):
        """Probabilities (n, 2) of the mixture's negative and positive predictions."""
        self._check_fitted()
        X = checked_features(X)
        if X.shape[1] != self.n_features_in_:
            raise CounterweightError(
                f"The model has {self.n_features_in_} features, the rows to predict {X.shape[1]}."
            )
        positive = np.zeros(X.shape[0])
        for weight, coefficient, intercept in zip(
            self.weights_, self.coef_, self.intercept_, strict=True
        ):
            positive += weight * (np.asarray(X @ coefficient).ravel() + intercept > 0)
        # The weights sum to 1 up to rounding.
        positive = np.clip(positive / self.weights_.sum(), 0.0, 1.0)
        return np.column_stack([1 - positive, positive])

    def to_arrays(self):
        """Everything fitted, as arrays by name."""
        return {
            "weights": self.weights_,
            "coefficients": self.coef_,
            "intercepts": self.intercept_,
            "gap": np.array([self.gap_]),
            "evaluations": np.array([float(self.evaluations_)]),
        }


def _dense(X):
    return np.ascontiguousarray(X.toarray() if is_sparse(X) else X)


def _linear(predictor, features):
    """Coefficients and intercept of a mixture's classifier; a constant one has only the latter."""
    if hasattr(predictor, "coef_"):
        return np.ravel(predictor.coef_).astype(float), float(np.ravel(predictor.intercept_)[0])
    return np.zeros(features), 1.0 if predictor.constant else -1.0


def _scorer():
    """What fairlearn takes for a fitted classifier whose score is its only feature."""
    from sklearn.svm import LinearSVC

    found = LinearSVC()
    found.coef_, found.intercept_ = np.ones((1, 1)), np.zeros(1)
    found.classes_, found.n_features_in_ = np.array([0, 1]), 1
    return found


class ThresholdOptimizerModel(SvmBaseline):
    """fairlearn's `ThresholdOptimizer` on an unconstrained SVM: randomised group thresholds.

    After Hardt, Price & Srebro (2016): a group's prediction is a random choice between two
    thresholds, such that the rates of all groups agree exactly on the labeled rows (up to the
    grid) and the accuracy is the highest. There is no ratio: the rates are equal. It needs to
    know the group of each row to predict; rows in no group form one of their own, which must
    have been there in training.

    Only labeled rows are used. Weights of rows are refused.

    Parameters
    ----------
    rate, groups, grid_size, penalty, bias, standardise
        See `OPTIONS_BY_NAME`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    rules_ : numpy.ndarray, shape (k, 9)
        One line for each group: its number (-1 for rows in none); the share of a constant
        prediction, and that prediction; then for each of two rules its share, its threshold
        and 1 (positive above the threshold) or -1 (below).
    """

    GROUPED = True
    KEPT = ("rules",)

    def __init__(
        self,
        rate="demographic_parity",
        groups=("male", "female"),
        grid_size=1000,
        penalty=None,
        bias="regularised",
        standardise=False,
    ):
        self.rate = rate
        self.groups = groups
        self.grid_size = grid_size
        self.penalty = penalty
        self.bias = bias
        self.standardise = standardise

    features, feature_count, feature_scale = "none", None, None

    def fit(self, X=None, y=None, sample_weight=None, *, samples=None, datasets=None, rng=None):
        """Fit the SVM and the rules; `rng` is accepted and not needed.

        Parameters
        ----------
        X, y, sample_weight, samples, datasets
            As `CovarianceConstraint.fit` takes them.

        Raises
        ------
        CounterweightError
            For weights that differ, unusable data or groups, and a group with one class.
        """
        postprocessing = _imported("fairlearn.postprocessing")
        check_options(self, OPTIONS_BY_NAME["threshold_optimizer"])
        samples, seen = training_sets(X, y, sample_weight, samples, datasets)
        labels, groups = _labeled_groups(samples, seen, self.groups, "ThresholdOptimizer")
        for number in np.unique(groups):
            if np.ptp(labels[groups == number]) == 0:
                name = "no group" if number == NEITHER else self.groups[number]
                raise CounterweightError(
                    f"All labeled rows of {name} have one label, so fairlearn has no rates to "
                    "choose from: merge groups or label more rows."
                )
        self._learn(samples, seen, rng)
        found = postprocessing.ThresholdOptimizer(
            estimator=_scorer(),
            constraints=THRESHOLD_NAMES[self.rate],
            prefit=True,
            predict_method="decision_function",
            grid_size=self.grid_size,
        )
        scores = self.decision_function(samples.X[seen])
        with _quiet():
            found.fit(scores[:, None], labels, sensitive_features=groups)
        self.fairlearn_ = found
        rules = []
        for number, choice in found.interpolated_thresholder_.interpolation_dict.items():
            line = [number, choice.get("p_ignore", 0.0), choice.get("prediction_constant", 0.0)]
            for share, operation in (
                (choice.p0, choice.operation0),
                (choice.p1, choice.operation1),
            ):
                sign = 1.0 if operation._operator == ">" else -1.0
                line += [share, operation._threshold, sign]
            rules.append(line)
        self.rules_ = np.array(sorted(rules), dtype=float)
        return self

    def predict_proba(self, X, samples=None):
        """Probabilities (n, 2) of a negative and a positive prediction.

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
        missing = [name for name in self.groups if name not in samples.members]
        if missing:
            raise CounterweightError(
                f"The rows to predict have no data set {listed(missing)}; they have "
                f"{listed(samples.members) or 'none'}."
            )
        groups = _group_numbers(np.array([samples.members[name] for name in self.groups]))
        scores, positive = self.decision_function(X), np.full(X.shape[0], np.nan)
        for number, ignored, constant, *rules in self.rules_:
            rows = groups == number
            mixed = np.zeros(int(rows.sum()))
            for share, threshold, sign in (rules[:3], rules[3:]):
                mixed += share * (sign * (scores[rows] - threshold) > 0)
            positive[rows] = ignored * constant + (1 - ignored) * mixed
        unknown = np.isnan(positive)
        if unknown.any():
            raise CounterweightError(
                f"{int(unknown.sum())} rows to predict (first: row {int(np.argmax(unknown))}) are "
                f"in none of the groups {listed(self.groups)}, and no training row was: name "
                "groups that hold every row."
            )
        positive = np.clip(positive, 0.0, 1.0)
        return np.column_stack([1 - positive, positive])

    def to_arrays(self):
        """Everything fitted, as arrays by name."""
        return super().to_arrays() | {"rules": self.rules_}
