"""What the classifiers that are trained on rates of data sets share."""

from __future__ import annotations

import logging
import warnings
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Flag, Integer, Number
from counterweight.models.constraints.feature_maps import (
    FeatureMap,
    beside,
    dense,
    indicators,
    spread_of,
    standardised,
    thinned,
)
from counterweight.models.constraints.newton import DistinctRows
from counterweight.numerics.checks import check_options, with_columns
from counterweight.numerics.estimator import (
    NamedColumns,
    generator,
    is_missing,
    one_column,
    two_classes,
)
from counterweight.numerics.rates.datasets import (
    DataSets,
    checked_features,
    follows,
    is_sparse,
    named_masks,
)
from counterweight.numerics.rates.language import RATES, Rate, nodes
from counterweight.numerics.rates.values import constraint_values, plain_constraints, verdicts_of

if TYPE_CHECKING:
    from counterweight.numerics.rates.values import ConstraintCheck

PARAMETER_OPTIONS = {
    "kappa": Number(None, "Value of the parameter kappa in the expressions.", above=0, null=True),
    "target": Number(None, "Value of the parameter target in the expressions.", null=True),
}  # fmt: skip
GROUP_OPTIONS = {
    "groups": Array(["male", "female"], "Names of the two data sets.", items={"type": "string"}, minItems=2, maxItems=2),
}  # fmt: skip
SVM_OPTIONS = {
    "penalty": Number(None, "lambda of the SVM's penalty lambda/2 |w|^2. null: 2/n for n labeled rows (LIBLINEAR's C = 1).", above=0, null=True),
    "penalties": Array([],
        "In place of penalty, several to choose from, as of an error rate: that whose SVM without constraints errs "
        "least on a fifth of the labeled rows, which it does not see.", items={"type": "number", "exclusiveMinimum": 0}),
    "standardise": Flag(False, "Whether features are brought to mean 0 and standard deviation 1 before the penalty counts (sparse ones are scaled only)."),
}  # fmt: skip
MAP_OPTIONS = {
    "features": Choice("none", ["none", "fourier"], "Fixed map of the features that makes a kernel classifier."),
    "linear_part": Flag(False, "Whether the features themselves stand beside those of the map."),
    "feature_count": Integer(300, "Features of the map.", minimum=1),
    "feature_scale": Number(None,
        "Scale of the map's Gaussian kernel in standard deviations of the features; null: the median distance of 1,000 "
        "rows.", above=0, null=True),
}  # fmt: skip
log = logging.getLogger("counterweight")
#: A column of texts is no category where more than this share of the rows have their own.
OWN = 0.5
#: Rows from which that is looked at.
FEW = 50
#: Attributes that had other names in version 1.0, which are answered for one version.
RENAMED = {
    "promises_": "constraint_checks_",
    "held_out_promises_": "held_out_checks_",
    "test_promises": "check_constraints",
}


def seen_labels(y):
    """Labels as 1, 0 and -1 where hidden, and the two classes; other than two are refused.

    Hidden are -1 beside 0 and 1, NaN and None.
    """
    y = one_column(y)
    if y.ndim != 1:
        return y, np.array([0, 1])
    if y.dtype.kind in "if" and np.array_equal(np.unique(y), (-1, 1)):
        # Nothing could be learned from positives and hidden labels alone.
        text = "Labels are -1 and 1: -1 is the negative class here, and hidden only beside 0 and 1."
        warnings.warn(text, UserWarning, stacklevel=4)
        return (y > 0).astype(int), np.array([-1, 1])
    seen = ~is_missing(y)
    if not seen.any():
        raise CounterweightError("Input y contains NaN alone: no row has a label.")
    if y.dtype.kind in "iuf" and np.isin(y[seen], (-1, 0, 1)).all():
        return np.where(seen, y, -1), np.array([0, 1])
    codes, classes = two_classes(y[seen])
    whole = np.full(len(y), -1)
    whole[seen] = codes
    return whole, classes


def texts_of(options):
    """Constraints among the options of a model, as a list of texts."""
    one = options.get("constraint")
    return [*(options.get("constraints") or ()), *([one] if one else [])]


def own(*names):
    """What is fitted and kept under its own name: the attribute by the name of its array."""
    return {name: f"{name}_" for name in names}


def numbers_among(options):
    """Parameters of texts among the options of a model."""
    return {name: options.get(name) for name in PARAMETER_OPTIONS}


def one_hot(X):
    """An encoder of the columns of categories of a data frame; None where there are none.

    Columns of numbers stay as they are, after those of the categories. A category that was not seen
    has 0 in all of its columns; a missing one is a category of its own. Refuses dates, and texts of
    which most are there once.
    """
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return None
    names = [name for name in X.columns if not _numbers(X[name])]
    for name in names:
        if X[name].dtype.kind in "mM":
            raise CounterweightError(
                f"The column {name!r} of the features holds dates or times: make numbers of them, "
                "or leave it out."
            )
        different = X[name].astype(str).nunique()
        if len(X) >= FEW and different > OWN * len(X):
            raise CounterweightError(
                f"The column {name!r} of the features has {different} different texts in {len(X)} "
                "rows, so that it tells rows, not kinds of them: leave it out."
            )
    if not names:
        return None
    # Loaded where there are categories: this takes as long as to load all the rest.
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    coded = OneHotEncoder(handle_unknown="ignore"), names
    encoder = make_column_transformer(coded, remainder="passthrough", sparse_threshold=0.0)
    return encoder.fit(_plain(X, names))


def encoded(encoder, X):
    """Rows of a data frame, which must have the columns of the fit, as numbers."""
    names = list(encoder.transformers_[0][2])
    if not hasattr(X, "columns") or not set(names) <= set(X.columns):
        raise CounterweightError(
            f"The model was fitted to a data frame with the categories {listed(map(str, names))}: "
            "give a data frame with these columns."
        )
    return encoder.transform(_plain(X, names))


def _plain(X, names):
    """Categories as texts, so that one column has one type; missing ones, of any kind, as empty."""
    texts = {name: X[name].astype(object).map(str).where(X[name].notna(), "") for name in names}
    return with_columns(X, texts)


def _numbers(column):
    """Whether a column is numbers, true or false, or texts of numbers."""
    if column.dtype.kind in "biuf":
        return True
    if str(column.dtype) == "category" or column.dtype.kind in "mM":
        return False
    try:
        np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        return False
    return True


class RateEstimator(NamedColumns, ClassifierMixin, BaseEstimator):
    """scikit-learn's habits, for classifiers that go by named data sets.

    Subclasses have `_fit`, which sets `coef_` (or what `FITTED_BY` names), and ``predict_proba``;
    `_options`, the `OPTIONS` of their module; and `FITTED`, the attribute behind each array of
    `to_arrays`, in order (``map`` stands for the arrays of a `FeatureMap`, if there is one); of
    these, `NUMBERS` are single numbers, with their type, and `KEPT` is what is kept of each setting
    of a sweep, None for all. The map of a sweep is kept, too.

    Attributes
    ----------
    constraint_checks_ : list of ConstraintCheck
        Each plain constraint on the training rows, deterministic and randomised: value, bound,
        interval and verdict. Empty where nothing is asked.
    one_answer_ : str
        "yes" or "no" where decisions under constraints are the same for all training rows.
    """

    SAMPLED = DataSets
    FITTED = {}
    NUMBERS = {}
    FITTED_BY = "coef_"
    classes_ = np.array([0, 1])
    constraint_checks_ = fit_warnings_ = ()
    one_answer_ = ""
    encoder_ = data_set_rules_ = _coded = _seen = None
    _options = {}

    def _receive(self, given, known, learning, first):
        # Named data sets and categories go by pandas' columns; polars' frames become such.
        if hasattr(given.get("X"), "to_pandas"):
            given["X"] = given["X"].to_pandas()

    def set_params(self, **options):
        """Set constructor arguments by name."""
        known = self.get_params()
        for name in options:
            if name not in known:
                raise CounterweightError(f"There is no option {name!r}: {listed(known, 30)}.")
        return super().set_params(**options)

    def __getattr__(self, name):
        if name not in RENAMED:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        warnings.warn(f"{name} is now {RENAMED[name]}.", FutureWarning, stacklevel=2)
        return getattr(self, RENAMED[name])

    def fit(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        datasets: object = None,
        deployed: ArrayLike | None = None,
        rng: np.random.Generator | None = None,
        samples: ArrayLike | None = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array, scipy.sparse matrix or data frame (n, d), optional
            Rows of ``everyone``. Not looked at where `samples` are given. Columns of categories in
            a data frame are one-hot from here on.
        y : array (n,) of 0 and 1, or of any two classes, optional
            NaN, or -1 beside 0 and 1, where the label is hidden; such rows are in ``unlabeled``. Of
            other classes the second in order is the positive one (`classes_`).
        sample_weight : array (n,), optional
            Weights of the labeled rows, e.g. of Lemma 1 or 2.
        datasets : dict of str to object, or data frame of masks, optional
            The named data sets: masks over the rows of `X`, names of columns of a data frame X that
            are true or false, functions of X that give masks, or tables ``(X2, y2)`` or ``(X2, y2,
            weight2)`` of their own, with None for `y2` where there are no labels. A
            cross-validation slices a frame of masks (``set_fit_request(datasets=True)``); columns
            and functions it need not slice; a dict of arrays it cannot.
        deployed : array (n,) or callable, optional
            Scores of the deployed model (positive iff above 0), or a function of features.
        rng : numpy.random.Generator, optional
            For what the class draws, such as the feature map; a fixed one by default.
        samples : DataSets, optional
            All of the above in one.

        Returns
        -------
        RateEstimator
            Itself. Options, data, groups or texts that cannot be used raise.
        """
        check_options(vars(self), self._options)
        if samples is None:
            if X is None or y is None:
                raise CounterweightError(
                    "fit needs X and y, or samples: it requires y to be passed, but the target "
                    "y is None."
                )
            y, self.classes_ = seen_labels(y)
            self.encoder_ = one_hot(X)
            samples = self._stacked(X, y, sample_weight, datasets, deployed)
            self._tell_unweighted(samples)
            rules = hasattr(datasets, "items") and getattr(self, "repair", "") == "by_group"
            rules = datasets.items() if rules else ()
            self.data_set_rules_ = {name: rule for name, rule in rules if follows(rule)}
        else:
            self.encoder_ = self.data_set_rules_ = None
        self.n_features_in_ = samples.X.shape[1]
        self._coded = self.n_features_in_ if self.encoder_ is not None else None
        if not self.n_features_in_:
            raise CounterweightError(
                f"Found array with 0 feature(s) (shape={samples.X.shape}) while a minimum of 1 "
                "is required."
            )
        self._learn_all(samples, generator(0) if rng is None else rng)
        return self

    def _tell_unweighted(self, samples):
        """Warn of weights that count in no rate of all rows of a set, though every row has one."""
        weight = samples.weight[samples.main]
        if not (samples.y >= 0).all() or np.ptp(weight) <= 1e-12 * weight.max():
            return
        bare = {
            str(rate)
            for one in plain_constraints(getattr(self, "constraints", ()))
            for side in (one.left, one.right)
            for rate in nodes(side, Rate)
            if not (RATES[rate.name].labels or samples.weighted(rate.sets))
        }
        if bare:
            warnings.warn(
                f"Weights do not count in {listed(sorted(bare))}, of all rows of a set: write "
                "`& labeled` behind its name where each row is to count by its weight.",
                UserWarning,
                stacklevel=3,
            )

    def _stacked(self, X, y, sample_weight=None, datasets=None, deployed=None):
        """Rows and data sets as they are given to `fit`, labels as 0 and 1."""
        datasets = named_masks(datasets, X)
        if self.encoder_ is not None:
            X = encoded(self.encoder_, X)
            for name, given in (datasets or {}).items():
                if isinstance(given, tuple) and given:
                    datasets[name] = (encoded(self.encoder_, given[0]), *given[1:])
        return DataSets.stack(X, y, sample_weight, datasets, deployed)

    def _learn_all(self, samples, rng):
        """The fit, and what comes of it on its own rows."""
        self._fit(samples, rng)
        self._settle(samples)

    def _settle(self, samples):
        """After a fit: decisions on the training rows, and what they make of each constraint."""
        self._check_training(samples)

    def _check_training(self, samples):
        self.constraint_checks_, self.one_answer_ = [], ""
        if texts := texts_of(vars(self)):
            p, decided = self._seen = self.answers(samples.X, samples)
            values = constraint_values(p, decided, samples, texts, self._numbers())
            self.constraint_checks_ = verdicts_of(values, texts, "training")
            decided = p > 0.5 if decided is None else decided
            self.one_answer_ = "" if 0 < decided.mean() < 1 else "yes" if decided.all() else "no"
            if self.one_answer_ and (told := self.warnings_[len(self.fit_warnings_) :]):
                log.warning("%s", told[0])

    def _numbers(self):
        """Parameters of the texts of constraints."""
        return numbers_among(vars(self))

    def _log_warnings(self):
        """Log what is wrong with a fit, and at which parameters."""
        asked = [f"{name} {at:g}" for name, at in self._numbers().items() if at is not None]
        for text in self.fit_warnings_:
            log.warning("%s%s", f"At {', '.join(asked)}: " if asked else "", text)

    @property
    def warnings_(self):
        """What is wrong with the result, in sentences; also logged."""
        told = list(self.fit_warnings_)
        if self.one_answer_ and not getattr(self, "collapsed_", False):
            done, why = getattr(self, "repair_", None), "."
            moved = done and max(done["excess_before"].values(), default=0.0) > 0
            if moved and not done["missed"]:
                why = (
                    ", since of the thresholds that keep all constraints, as far as the repair "
                    "looks at them, none costs less: loosen constraints a little, set repair: "
                    "by_group, or take the randomised rule."
                )
            told.append(
                f"By the deterministic rule all training rows have a {self.one_answer_}{why}"
            )
        return told

    def answers(self, X, samples=None):
        """Chances of a yes (n,), and decisions (n,) or None for chances above 1/2."""
        grouped = {"samples": samples} if getattr(self, "GROUPED", False) else {}
        return self.predict_proba(X, **grouped)[:, 1], None

    def fitted_on(self, samples):
        """The rows and data sets of the fit, where they are not all that it was given."""
        return samples

    def training_answers(self, samples):
        """`answers` for the rows of the fit; those of the fit itself are given once."""
        seen, self._seen = self._seen, None
        return self.answers(samples.X, samples) if seen is None else seen

    def check_constraints(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        datasets: object = None,
        deployed: ArrayLike | None = None,
        level: float = 0.95,
    ) -> list[ConstraintCheck]:
        """Each constraint on rows that the fit did not see: a list of `ConstraintCheck`.

        Arguments are those of ``fit``; a constraint is kept or broken where the whole interval of
        its excess says so, else undecided.
        """
        if set(self.classes_) != {0, 1}:
            given = np.asarray(y)
            if not np.isin(given, self.classes_).all():
                raise CounterweightError(f"Labels must be of the classes {listed(self.classes_)}.")
            y = (given == self.classes_[1]).astype(int)
        samples, texts = (
            self._stacked(X, y, sample_weight, datasets, deployed),
            texts_of(vars(self)),
        )
        p, decided = self.answers(samples.X, samples)
        values = constraint_values(p, decided, samples, texts, self._numbers(), level)
        return verdicts_of(values, texts, "test", level)

    @classmethod
    def _swept(cls, settings):
        """Models of the settings of a sweep that may share a fit, their options checked.

        None where they differ in more than numbers of the constraints, or have margins of their
        own.
        """
        models = [cls(**options) for options in settings]
        same = [
            {name: value for name, value in vars(model).items() if name not in PARAMETER_OPTIONS}
            for model in models
        ]
        alone = models[0].confidence is not None or models[0].held_out
        if alone or any(options != same[0] for options in same):
            return None
        for model in models:
            check_options(vars(model), cls._options)
        return models

    def predict(self, X: ArrayLike, **sets: object) -> np.ndarray:
        """The second class where the probability of the positive prediction is above 1/2.

        `sets` go to ``predict_proba`` (``samples``, of models that need groups to predict).
        """
        return self.classes_[(self.predict_proba(X, **sets)[:, 1] > 0.5).astype(int)]

    def to_arrays(self):
        """Everything fitted, as arrays by name."""
        self._check_fitted()
        if self.encoder_ is not None:
            raise CounterweightError(
                "A model of a data frame with categories is kept by pickle or joblib, not as "
                "arrays; or make the columns numbers first."
            )
        arrays = {}
        for name, attribute in self.FITTED.items():
            value = getattr(self, attribute)
            if name != "map":
                arrays[name] = np.atleast_1d(np.asarray(value, dtype=float))
            elif value is not None:
                arrays |= value.to_arrays()
        return arrays

    @classmethod
    def from_arrays(cls, arrays):
        """A fitted model from what `to_arrays` gave, or from what is kept of it in a sweep.

        It can predict. Options are no numbers: they have their defaults, None where there is
        none; ``set_params`` gives others, such as the names of groups.
        """
        needed = [
            one.name
            for one in fields(cls)
            if one.default is MISSING and one.default_factory is MISSING
        ]
        model = cls(**dict.fromkeys(needed))
        for name, attribute in cls.FITTED.items():
            # Arrays without any entry, such as the multipliers of no constraint, are not kept.
            values, number = np.asarray(arrays.get(name, ()), dtype=float), cls.NUMBERS.get(name)
            if name != "map" and (values.size or not number):
                setattr(model, attribute, number(values.item()) if number else values)
        if "map" in cls.FITTED:
            model.map_ = FeatureMap.from_arrays(arrays) if "map_kind" in arrays else None
        added = len(np.unique(model.boxes[:, 0])) if isinstance(model, LinearScore) else 0
        if "coef_" in vars(model):
            model.n_features_in_ = model.coef_.shape[-1] - added
        if "map_kind" in arrays:
            model.features = "fourier"
            model.linear_part = len(model.coef_) - added > model.map_.projection_.shape[1]
            model.n_features_in_ = len(model.map_.deviation_)
        return model

    def _check_columns(self, X):
        # Of rows that are coded already, `_checked` knows how many numbers there are.
        coded = self.encoder_ is not None and not hasattr(X, "columns")
        super()._check_columns(None if coded else X)

    def _checked(self, X):
        """Rows to predict, dense or csr, as many numbers as those of the training rows."""
        coded = self.encoder_ is not None and hasattr(X, "columns")
        X = checked_features(encoded(self.encoder_, X) if coded else X)
        known = self._coded or self.n_features_in_
        if not coded and X.shape[1] != known:
            raise CounterweightError(
                f"The model has {known} features, the rows to predict {X.shape[1]}."
            )
        return X

    def __sklearn_is_fitted__(self):
        return hasattr(self, self.FITTED_BY)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class LinearScore(RateEstimator):
    """A linear score of the features, or of a fixed map of them, and its randomised rule.

    Options are those of `SVM_OPTIONS`.

    Attributes
    ----------
    coef_ : ndarray (d,)
        For features in their own units: those given, then the indicators of groups, then those of
        the map; those given only if there is no map, or `linear_part`.
    intercept_ : float
    norm_ : float
        Length of w, the bias included, in the solver's units.
    map_ : FeatureMap or None
    group_boxes_ : ndarray (k, 4)
        Boxes whose indicators are features; see `told_boxes`.
    """

    penalty: float | None = None
    penalties: tuple = ()
    standardise: bool = False

    features = "none"
    linear_part = False
    group_boxes_ = np.zeros((0, 4))

    @property
    def boxes(self):
        """`group_boxes_`, also where it was kept without its shape."""
        return np.reshape(self.group_boxes_, (-1, 4))

    def _linear(self, X):
        """Rows before any map: what stands beside it, or everything."""
        more = indicators(X, self.boxes)
        if self.map_ is None:
            return beside(X, more)
        return beside(dense(X), more) if self.linear_part else more

    def _draw_map(self, X, rng):
        """Draw the feature map, if there is one."""
        self.map_ = None
        if self.features != "none":
            self.map_ = FeatureMap(self.feature_count, self.feature_scale)
            self.map_.fit(X, rng)

    def _mapped(self, X):
        """Rows as the linear classifier sees them."""
        if self.map_ is None:
            return self._linear(X)
        for seen, mapped in self.map_.remembered or ():
            if seen is X:
                return mapped
        mapped = beside(self._linear(X), self.map_.transform(X))
        if self.map_.remembered is not None:
            self.map_.remembered.append((X, mapped))
        return mapped

    def _solver_rows(self, X, used=None):
        """Rows `used` for the solver, and the scale and centre that they were given, or None."""
        rows, scale, centre = X if used is None or used.all() else X[used], None, None
        if self.map_ is not None:
            mapped = self.map_.transform(rows)
            plain = self._linear(rows)
            if not plain.shape[1]:
                return mapped, None, None
            if self.standardise:
                _, scale, centre = standardised(plain[:0], self._linear(X))
                plain = (plain - centre) / scale
                scale = np.append(scale, np.ones(mapped.shape[1]))
                centre = np.append(centre, np.zeros(mapped.shape[1]))
            return np.hstack([plain, mapped]), scale, centre
        rows = self._linear(rows)
        if self.standardise:
            rows, scale, centre = standardised(rows, self._linear(X))
        return thinned(rows), scale, centre

    def _distinct_rows(self, X, used):
        """The same as `DistinctRows`; mostly empty rows stay so when they are standardised."""
        if self.map_ is None and self.standardise and not is_sparse(X):
            whole = self._linear(X)
            rows = thinned(whole if used.all() else whole[used])
            if is_sparse(rows):
                scale, centre = spread_of(whole)
                rows.data = rows.data / scale[rows.indices]
                return DistinctRows(rows, centre=centre / scale), scale, centre
        rows, scale, centre = self._solver_rows(X, used)
        return DistinctRows(rows), scale, centre

    def _keep_score(self, coefficient, intercept, scale, centre):
        """Keep the solver's classifier, for features in their own units."""
        self.norm_ = float(np.sqrt(coefficient @ coefficient + intercept**2))
        self.coef_ = coefficient if scale is None else coefficient / scale
        self.intercept_ = intercept
        if centre is not None:
            self.intercept_ -= float(centre @ self.coef_)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """f(x) of rows, dense or sparse, before any threshold; (n,)."""
        X = self._mapped(self._checked(X))
        return np.asarray(X @ self.coef_).ravel() + self.intercept_

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The randomised classifier: probabilities (n, 2) of a negative and positive prediction.

        Column 1 is max(0, min(1, 1/2 + f)). It is no estimate of p(y | x).
        """
        return self._randomised(self.decision_function(X))

    @staticmethod
    def _randomised(scores):
        return two_columns(np.clip(0.5 + scores, 0.0, 1.0))


@dataclass(eq=False, repr=False, kw_only=True)
class MappedScore(LinearScore):
    """The same, of a fixed map of the features if asked; see `MAP_OPTIONS`."""

    features: str = "none"
    linear_part: bool = False
    feature_count: int = 300
    feature_scale: float | None = None


def two_columns(positive):
    """Probabilities (n, 2) of a negative and a positive prediction."""
    return np.column_stack([1 - positive, positive])
