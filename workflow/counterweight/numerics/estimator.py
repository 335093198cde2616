"""The base of all estimators: parameters, columns by name, rows, labels, chance and errors.

scikit-learn is imported only where it is needed: its import takes longer than many a job that
applies a model.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from contextvars import ContextVar

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import (
    as_numbers,
    check_same_columns,
    finite_rows,
    labels_of,
    named,
    number_table,
)

#: Methods that learn which columns there are. All others that begin with X are asked about these,
#: but for those that prepare a fit.
LEARNING, PREPARING = ("fit", "partial_fit"), ("prepare", "settled")
#: Other arguments that hold rows of the same columns, and those that have an entry for each row.
ROWS = ("X_unlabeled", "X_new", "new_X")
BESIDE = ("t", "component", "sample_weight", "keys", "rates", "keep_rate", "row_keep_rate")
#: Estimators in a method of which we are: what they ask of themselves was checked already.
_inside = ContextVar("inside", default=())


def __getattr__(name):
    """`NotFitted`, made when it is first asked for: scikit-learn takes long to import."""
    if name != "NotFitted":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import NotFittedError

    told = {"__doc__": "Asked before ``fit``; also scikit-learn's error.", "__module__": __name__}
    made = globals()[name] = type(name, (CounterweightError, NotFittedError), told)
    return made


class Parameters:
    """Parameters as attributes of the names that ``__init__`` has, as scikit-learn has them."""

    @classmethod
    def _names(cls):
        return list(inspect.signature(cls).parameters)

    def get_params(self, deep=True):
        """Parameters by name; no parameter is an estimator, so `deep` does nothing."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params):
        """Set parameters by name; one that there is not is refused."""
        names = self._names()
        strange = [name for name in params if name not in names]
        if strange:
            raise CounterweightError(
                f"{type(self).__name__} has no parameter {strange[0]!r}: it has {listed(names)}."
            )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self):
        known = inspect.signature(type(self)).parameters
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(known[name].default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self):
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(None, TargetTags(required=True), input_tags=InputTags())


class NamedColumns:
    """Estimators that answer for the columns that they were fitted on, as scikit-learn's do.

    Each method of a subclass that begins with ``X`` is checked, with no word in the subclass.
    ``fit`` keeps the names of a data frame's columns and their number. Rows that come later must
    have these columns in this order: a permuted, missing or additional one is refused, by name,
    and so is another number of columns. Rows without names, such as arrays, are taken by position;
    where the fit had names that is warned of, as is a data frame after a fit that had none.
    Columns numbered from 0 on have no names.

    Attributes
    ----------
    n_features_in_ : int
        Columns of the fit.
    feature_names_in_ : ndarray of object
        Their names; only where all are texts.
    """

    _labels = None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            if name.startswith("_") or name in PREPARING or not inspect.isfunction(method):
                continue
            if [*inspect.signature(method).parameters][1:2] == ["X"]:
                setattr(cls, name, _checking(method, name in LEARNING))

    def _is_fitted(self):
        told = getattr(self, "__sklearn_is_fitted__", None)
        return told() if told else any(name[-1] == "_" != name[0] for name in vars(self))

    def _check_fitted(self):
        if not self._is_fitted():
            raise __getattr__("NotFitted")(
                f"This {type(self).__name__} is not fitted yet: call fit first."
            )

    def _keep_columns(self, X):
        """Remember the columns of the rows of a fit."""
        self._labels, width = labels_of(X), _width(X)
        if width is not None:
            self.n_features_in_ = width
        if self._labels and all(isinstance(label, str) for label in self._labels):
            self.feature_names_in_ = np.asarray(self._labels, dtype=object)

    def _check_columns(self, X):
        """Refuse rows of other columns than the fit's."""
        self._check_fitted()
        if X is None:
            return
        name, known = type(self).__name__, getattr(self, "n_features_in_", None)
        check_same_columns(self._labels, labels_of(X), name, width=known)
        found = _width(X)
        if known is not None and found is not None and found != known:
            raise CounterweightError(
                f"X has {found} features, but {name} is expecting {known} features as input: "
                "give the columns of the fit, in their order."
            )

    def _receive(self, given, known, learning, first):
        """Change the arguments of a method that was called from outside; here they stay."""


class Estimator(NamedColumns):
    """`NamedColumns` that take what scikit-learn's estimators take, with its errors in our words.

    Rows may be anything that is a table of numbers. Labels may be any two classes (`LABELS`);
    rows without one, NaN or None in `y`, are unlabeled: a ``fit`` that has the argument
    `X_unlabeled` learns of them by it, any other leaves them out. A ``fit`` that has the argument
    `rng` needs none: it is a generator by the parameter `random_state`, or a fixed one. So what a
    method gets is a matrix of floats, and labels 0 and 1 or numbers, as many as there are rows.
    """

    #: What `y` is: "classes", coded as 0 and 1; "numbers"; or None, which leaves it as it is.
    LABELS = None
    #: Whether NaN in X is taken, and whether sparse X is.
    BLANKS = SPARSE = False

    def _receive(self, given, known, learning, first):
        X = given.get("X")
        if X is None and not learning:
            return
        blanks = self._takes_blanks(given)
        given["X"] = X = self._rows(X, blanks, learning)
        if not learning:
            return
        asked = "y" in known and (given.get("y") is not None or known["y"].default is not None)
        if self.LABELS and asked:
            classes = given.get("classes")
            if classes is None and not first and self.LABELS == "classes":
                classes = self.classes_
            given["y"], labeled = self._coded(given.get("y"), len(X), classes)
            if given.get("sample_weight") is not None:
                given["sample_weight"] = _one_each(given["sample_weight"], len(X))
            self._part(given, known, labeled, blanks)
        if "rng" in known and given.get("rng") is None:
            given["rng"] = generator(getattr(self, "random_state", 0))

    def _takes_blanks(self, given):
        """Whether NaN in X is taken by a method with these arguments."""
        return self.BLANKS or given.get("categories") is not None

    def _rows(self, X, blanks=False, learning=False):
        """Rows as floats, or sparse where that is taken."""
        names = labels_of(X)
        if hasattr(X, "toarray"):
            if self.SPARSE:
                return X
            raise CounterweightError(
                f"Sparse data was passed, and {type(self).__name__} needs dense rows: give "
                "X.toarray()."
            )
        X = number_table(X, empty=True)
        if learning:
            for count, what in zip(X.shape, ("sample", "feature"), strict=True):
                if not count:
                    raise CounterweightError(
                        f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is "
                        "required."
                    )
        if not blanks:
            return finite_rows(X, names)
        bad = np.flatnonzero(np.isinf(X).any(axis=0))
        if len(bad):
            raise CounterweightError(
                f"Input X contains infinity in feature {listed(named(bad, names))}: NaN alone is a "
                "missing value."
            )
        return X

    def _coded(self, y, rows, classes=None):
        """Labels as numbers, and which rows have one; sets `classes_`, to those known if told."""
        name = type(self).__name__
        if y is None:
            raise CounterweightError(
                f"{name} requires y to be passed, but the target y is None: give a label for each "
                "row."
            )
        y = one_column(y)
        if y.shape != (rows,):
            raise CounterweightError(f"There are {rows} rows but a label of shape {y.shape}.")
        labeled = ~is_missing(y)
        if not labeled.any():
            raise CounterweightError(
                f"Input y contains NaN alone: no row has a label, and {name} learns from those "
                "that have one."
            )
        values = y[labeled]
        if self.LABELS == "numbers":
            return _finite_numbers(y), labeled
        codes, self.classes_ = two_classes(values, classes)
        if labeled.all():
            return codes, labeled
        whole = np.zeros(rows, dtype=codes.dtype)
        whole[labeled] = codes
        return whole, labeled

    def _part(self, given, known, labeled, blanks):
        """Unlabeled rows of `y` out of the labeled ones, to `X_unlabeled` where there is one."""
        X = given["X"]
        if "X_unlabeled" in known:
            if given.get("X_unlabeled") is not None:
                if not labeled.all():
                    raise CounterweightError(
                        "Unlabeled rows are given twice: by NaN in y and as X_unlabeled. Give them "
                        "in one of these ways."
                    )
                given["X_unlabeled"] = self._rows(given["X_unlabeled"], blanks)
            elif labeled.all():
                warnings.warn(
                    "No row is unlabeled (NaN in y): the population is taken to be like the "
                    "labeled rows.",
                    UserWarning,
                    stacklevel=4,
                )
                given["X_unlabeled"] = X
            else:
                given["X_unlabeled"] = X[~labeled]
        if not labeled.all():
            for name in ("X", "y", *BESIDE):
                if np.ndim(given.get(name)):
                    values = given[name]
                    given[name] = (values if name == "X" else np.asarray(values))[labeled]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan, tags.input_tags.sparse = self.BLANKS, self.SPARSE
        return tags


def _checking(method, learning):
    """A method of `NamedColumns` with the checks before it, once a call from outside."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def checked(self, *arguments, **named):
        inside = _inside.get()
        # Rows of a table that are made on demand are of one encoder, which has checked them.
        if id(self) in inside or (arguments and hasattr(arguments[0], "encoded")):
            return method(self, *arguments, **named)
        bound = signature.bind(self, *arguments, **named)
        given = bound.arguments
        X = given.get("X")
        first = learning and (method.__name__ == "fit" or not self._is_fitted())
        token = _inside.set((*inside, id(self)))
        try:
            if not first:
                self._check_columns(X)
            for other in ROWS:
                if given.get(other) is not None:
                    check_same_columns(labels_of(X), labels_of(given[other]), other, warn=False)
            if first:
                self._labels = None
                vars(self).pop("feature_names_in_", None)
                if "names" in signature.parameters and given.get("names") is None:
                    given["names"] = labels_of(X)
            self._receive(given, signature.parameters, learning, first)
            answer = method(*bound.args, **bound.kwargs)
            if first and X is not None:
                self._keep_columns(X)
            return answer
        finally:
            _inside.reset(token)

    return checked


class TwoClasses(Estimator):
    """An `Estimator` of the probability of the second of two classes.

    Subclasses have ``fit``, and ``_positive(X)``, p(y = 1 | x) of shape (n,), or a
    ``predict_proba`` of their own. ``fit`` gets labels 0 and 1,
    whatever the two classes are: the second in order, of `classes_`, is 1.
    """

    LABELS = "classes"
    classes_ = np.array([0, 1])

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Class probabilities, (n, 2)."""
        positive = self._positive(X)
        return np.column_stack([1 - positive, positive])

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class whose probability is larger, the second where both are 1/2, (n,)."""
        return self.classes_[(self.predict_proba(X)[:, 1] >= 0.5).astype(int)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _width(X):
    """Columns of rows; None where they have no two dimensions."""
    try:
        shape = getattr(X, "shape", None)
        shape = np.asarray(X).shape if shape is None else shape
    except (TypeError, ValueError):  # rows of several lengths, for the method itself to refuse
        return None
    return shape[1] if len(shape) == 2 else None


def _one_each(weights, rows):
    """Weights as floats, one for each row."""
    weights = as_numbers(weights, "sample weights")
    if weights.shape != (rows,):
        raise CounterweightError(
            f"There are {weights.size} weights for {rows} rows: give one weight for each row."
        )
    return weights


def generator(random_state):
    """A generator from what scikit-learn takes for `random_state`, or itself."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    return np.random.default_rng(random_state)


def one_column(y):
    """Labels as an array; a column of them is taken as one, with scikit-learn's warning."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        text = "A column-vector y was passed when a 1d array was expected: it is taken as one."
        warnings.warn(text, DataConversionWarning, stacklevel=5)
        return y.ravel()
    return y


def is_missing(y):
    """Which labels are NaN, None or another sign of pandas that there is none, (n,)."""
    if y.dtype.kind in "fc":
        return np.isnan(y)
    if y.dtype.kind != "O":
        return np.zeros(len(y), bool)
    import pandas as pd

    return pd.isna(y)


def _finite_numbers(y):
    """Rewards as floats, NaN where there is none."""
    if y.dtype.kind == "c":
        raise CounterweightError("Complex data not supported: y must be numbers.")
    try:
        y = y.astype(float, copy=False)
    except (TypeError, ValueError) as error:
        raise CounterweightError(f"The labels y must be numbers, not text: {error}.") from error
    if np.isinf(y).any():
        raise CounterweightError("Input y contains infinity or a value too large for float64.")
    return y


def two_classes(y, known=None):
    """Labels as 0 and 1, and the two classes in order; labels 0 and 1 stay as they are.

    Where the classes are `known`, as to a second batch, rows may be of one."""
    if known is not None:
        known = np.sort(np.asarray(known))
        strange = ~np.isin(y, known)
        if len(known) != 2 or strange.any():
            raise CounterweightError(
                f"The classes are {listed(known)}: two are asked for, and {int(strange.sum())} "
                "labels are none of them."
            )
        return (y == known[1]).astype(int), known
    if y.dtype.kind == "b" or (y.dtype.kind in "iuf" and np.isin(y, (0, 1)).all()):
        return y, np.array([0, 1])
    if y.dtype.kind == "c":
        raise CounterweightError("Complex data not supported: labels are two classes.")
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise CounterweightError("Input y contains infinity: labels are two classes.")
        if (y != np.round(y)).any():
            raise CounterweightError(
                "Unknown label type: continuous. Labels are two classes, such as 0 and 1."
            )
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise CounterweightError(
            f"Unknown label type: the labels have no order ({error}). Labels are two classes."
        ) from error
    if len(classes) > 2:
        raise CounterweightError(
            "Only binary classification is supported. The type of the target is multiclass: found "
            f"{listed(classes)}. Each label must be 0 or 1, or one of two classes."
        )
    if len(classes) < 2:
        raise CounterweightError(
            f"All labels are of one class ({classes[0]!r}): give rows of two classes."
        )
    return codes, classes
