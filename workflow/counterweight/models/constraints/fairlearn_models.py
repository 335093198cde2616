"""Fair classifiers of the package fairlearn: exponentiated gradient, threshold optimiser."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Flag, Integer, Number
from counterweight.models.constraints.estimator import SVM_OPTIONS, RateEstimator, own, two_columns
from counterweight.models.constraints.feature_maps import spread_of, standardised, thinned
from counterweight.models.constraints.linear_svm import (
    GroupedRule,
    SvmBaseline,
    group_masks,
    labeled_rows,
)
from counterweight.numerics.rates.datasets import is_sparse

FAIR_OPTIONS = {
    "rate": Choice("demographic_parity", ["demographic_parity", "equal_opportunity", "equalised_odds"],
        "Rates that are to agree: positive predictions; those among the positives; those among the positives and among "
        "the negatives."),
    "groups": Array(["male", "female"], "Names of the data sets that are compared.", items={"type": "string"}, minItems=2),
}  # fmt: skip
OPTIONS_BY_NAME = {
    "exponentiated_gradient": {
        **FAIR_OPTIONS,
        "ratio": Number(0.8, "Least ratio of a group's rate to the rate of all rows, and of the rate of all rows to a group's.", above=0, maximum=1),
        "tol": Number(0.01, "Violation that is allowed; 1/tol bounds the multipliers.", above=0, below=1),
        "max_iter": Integer(50, "Most steps of exponentiated gradient.", minimum=1),
        "standardise": Flag(False, "Whether features are brought to mean 0 and standard deviation 1 before the penalty counts."),
    },
    "threshold_optimizer": {
        **FAIR_OPTIONS,
        "grid_size": Integer(1000, "Points of the grid of rates that is searched.", minimum=2),
        **SVM_OPTIONS,
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "exponentiated_gradient": "Exponentiated gradient",
    "threshold_optimizer": "Threshold optimiser",
}
ROLE = "peer"
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


def _labeled_groups(samples, groups, what):
    """The labeled rows, with their labels and the numbers of their groups; weights are refused."""
    seen = labeled_rows(samples)
    weight = samples.weight[seen]
    if np.ptp(weight) > 1e-12 * weight.max():
        raise CounterweightError(
            f"fairlearn's {what} takes no weights of the rows, and the labeled rows have weights "
            f"from {weight.min():.4g} to {weight.max():.4g}: leave this method out of weighted "
            "studies."
        )
    numbers = _group_numbers(group_masks(samples, groups))[seen]
    missing = [name for g, name in enumerate(groups) if not (numbers == g).any()]
    if missing:
        raise CounterweightError(f"The group {listed(missing)} has no labeled row to learn from.")
    return seen, samples.y[seen].astype(int), numbers


def _group_numbers(masks):
    """Number of the group of each row, `NEITHER` where it is in none."""
    return np.where(masks.any(axis=0), masks.argmax(axis=0), NEITHER)


class _Shared:
    """Training rows that copies of a classifier share; without them they are given rows."""

    def __init__(self, rows):
        self.rows = rows

    def __deepcopy__(self, memo):
        return self


class ByNumber(ClassifierMixin, BaseEstimator):
    """A linear classifier of rows that are told by numbers: fairlearn takes dense tables."""

    def __init__(self, shared, base):
        self.shared, self.base = shared, base

    def fit(self, numbers, y, sample_weight=None):
        """Fit to the rows of these numbers."""
        rows = self.shared.rows[np.ravel(numbers)]
        self.fitted_ = clone(self.base).fit(rows, y, sample_weight=sample_weight)
        self.classes_ = self.fitted_.classes_
        return self

    def predict(self, numbers):
        """Classes of the rows of these numbers; after the whole fit, of the rows given."""
        rows = self.shared.rows
        return self.fitted_.predict(numbers if rows is None else rows[np.ravel(numbers)])


@dataclass(eq=False, repr=False)
class ExponentiatedGradientModel(RateEstimator):
    """fairlearn's `ExponentiatedGradient`: a random mixture of reweighted logistic regressions.

    After Agarwal, Beygelzimer, Dudik, Langford & Wallach (2018). A row is predicted by a classifier
    drawn with the mixture's weights, so its probability of a positive prediction is the weight of
    the classifiers that predict positive. fairlearn's bound is not that of `ConstrainedClassifier`:
    each group's rate is compared with the rate of all labeled rows, ratio <= group / all and ratio
    <= all / group, up to `tol`, so that two groups may differ by more than `ratio`; compare at
    observed ratios. Rows in no group form one of their own. Only labeled rows are used. Weights of
    rows are refused. Options: `OPTIONS_BY_NAME`.

    Attributes
    ----------
    weights_ : ndarray (k,)
    coef_ : ndarray (k, d)
    intercept_ : ndarray (k,)
    gap_ : float
        fairlearn's duality gap of the mixture.
    evaluations_, n_iter_ : int
        Classifiers that were fitted, and steps.
    """

    rate: str = "demographic_parity"
    ratio: float = 0.8
    groups: tuple = ("male", "female")
    tol: float = 0.01
    max_iter: int = 50
    standardise: bool = False

    FITTED = {
        **own("weights"),
        "coefficients": "coef_",
        "intercepts": "intercept_",
        **own("gap", "evaluations"),
    }
    NUMBERS = {"gap": float, "evaluations": int}
    KEPT = tuple(FITTED)
    _options = OPTIONS_BY_NAME["exponentiated_gradient"]

    def _fit(self, samples, rng):
        """Refuses weights that differ, and groups that are unknown, overlap or have no label."""
        from sklearn.linear_model import LogisticRegression

        reductions = _imported("fairlearn.reductions")
        seen, labels, groups = _labeled_groups(samples, self.groups, "ExponentiatedGradient")
        rows, scale, centre = thinned(samples.X[seen]), None, None
        if self.standardise and is_sparse(rows):
            # Nothing but the intercept, which is not penalised, knows of the means.
            scale, centre = spread_of(samples.X[seen])[0], np.zeros(rows.shape[1])
            rows.data = rows.data / scale[rows.indices]
        elif self.standardise:
            rows, scale, centre = standardised(rows)
        moments = {
            "demographic_parity": reductions.DemographicParity,
            "equal_opportunity": reductions.TruePositiveRateParity,
            "equalised_odds": reductions.EqualizedOdds,
        }
        shared, base = _Shared(rows), LogisticRegression(solver="newton-cholesky", max_iter=200)
        mixture = reductions.ExponentiatedGradient(
            ByNumber(shared, base),
            moments[self.rate](ratio_bound=self.ratio, ratio_bound_slack=0.0),
            eps=self.tol,
            max_iter=self.max_iter,
        )
        with _quiet():
            mixture.fit(np.arange(len(labels))[:, None], labels, sensitive_features=groups)
        shared.rows = None
        used = [k for k in sorted(mixture.weights_.index) if mixture.weights_[k] > 0]
        fitted = (mixture.predictors_[k] for k in used)
        linear = [_linear(getattr(one, "fitted_", one), rows.shape[1]) for one in fitted]
        self.weights_ = np.array([mixture.weights_[k] for k in used], dtype=float)
        self.coef_ = np.array([coefficient for coefficient, _ in linear])
        self.intercept_ = np.array([intercept for _, intercept in linear])
        if self.standardise:
            self.coef_ = self.coef_ / scale
            self.intercept_ = self.intercept_ - self.coef_ @ centre
        self.gap_ = float(mixture.best_gap_)
        self.evaluations_, self.n_iter_ = int(mixture.n_oracle_calls_), int(mixture.last_iter_) + 1
        self.fairlearn_ = mixture

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities (n, 2) of the mixture's negative and positive predictions."""
        X = self._checked(X)
        positive = np.zeros(X.shape[0])
        members = zip(self.weights_, self.coef_, self.intercept_, strict=True)
        for weight, coefficient, intercept in members:
            positive += weight * (np.asarray(X @ coefficient).ravel() + intercept > 0)
        # The weights sum to 1 up to rounding.
        return two_columns(np.clip(positive / self.weights_.sum(), 0.0, 1.0))


def _linear(predictor, features):
    """Coefficients and intercept of a mixture's classifier; a constant one has only the latter."""
    if hasattr(predictor, "coef_"):
        return np.ravel(predictor.coef_).astype(float), float(np.ravel(predictor.intercept_)[0])
    return np.zeros(features), 1.0 if predictor.constant else -1.0


def _scorer():
    """What fairlearn takes for a fitted classifier whose score is its only feature."""
    from sklearn.svm import LinearSVC

    svm = LinearSVC()
    svm.coef_, svm.intercept_ = np.ones((1, 1)), np.zeros(1)
    svm.classes_, svm.n_features_in_ = np.array([0, 1]), 1
    return svm


@dataclass(eq=False, repr=False)
class ThresholdOptimizerModel(GroupedRule, SvmBaseline):
    """fairlearn's `ThresholdOptimizer` on an unconstrained SVM: randomised group thresholds.

    After Hardt, Price & Srebro (2016): a group's prediction is a random choice between two
    thresholds, such that the rates of all groups agree exactly on the labeled rows (up to the grid)
    and the accuracy is the highest. There is no ratio: the rates are equal. It needs to know the
    group of each row to predict; rows in no group form one of their own, which must have been there
    in training. Only labeled rows are used. Weights of rows are refused. Options:
    `OPTIONS_BY_NAME`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    rules_ : ndarray (k, 9)
        One line for each group: its number (-1 for rows in none); the share of a constant
        prediction, and that prediction; then for each of two rules its share, its threshold and 1
        (positive above the threshold) or -1 (below).
    """

    rate: str = "demographic_parity"
    groups: tuple = ("male", "female")
    grid_size: int = 1000

    FITTED = SvmBaseline.FITTED | {"rules": "rules_"}
    KEPT = ("coefficient", "intercept", "rules")
    _options = OPTIONS_BY_NAME["threshold_optimizer"]

    def _fit(self, samples, rng):
        """Refuses weights that differ, and groups that are unknown, overlap or have one class."""
        postprocessing = _imported("fairlearn.postprocessing")
        seen, labels, groups = _labeled_groups(samples, self.groups, "ThresholdOptimizer")
        for number in np.unique(groups):
            if np.ptp(labels[groups == number]) == 0:
                name = "no group" if number == NEITHER else self.groups[number]
                raise CounterweightError(
                    f"All labeled rows of {name} have one label, so fairlearn has no rates to "
                    "choose from: merge groups or label more rows."
                )
        self._learn(samples, seen, rng)
        optimizer = postprocessing.ThresholdOptimizer(
            estimator=_scorer(),
            constraints=THRESHOLD_NAMES[self.rate],
            prefit=True,
            predict_method="decision_function",
            grid_size=self.grid_size,
        )
        scores = self.decision_function(samples.X[seen])
        with _quiet():
            optimizer.fit(scores[:, None], labels, sensitive_features=groups)
        self.fairlearn_ = optimizer
        rules = []
        for number, choice in optimizer.interpolated_thresholder_.interpolation_dict.items():
            line = [number, choice.get("p_ignore", 0.0), choice.get("prediction_constant", 0.0)]
            for k in "01":
                operation = choice[f"operation{k}"]
                sign = 1.0 if operation._operator == ">" else -1.0
                line += [choice[f"p{k}"], operation._threshold, sign]
            rules.append(line)
        self.rules_ = np.array(sorted(rules), dtype=float)

    def _positive(self, scores, masks):
        """Refuses rows in no group, where no training row was in none."""
        groups, positive = _group_numbers(masks), np.full(len(scores), np.nan)
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
        return np.clip(positive, 0.0, 1.0)
