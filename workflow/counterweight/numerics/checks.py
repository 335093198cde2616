"""Checks of columns, rows, labels and options that estimators share; sums by group, exact sums."""

import math
import re
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

import numpy as np

from counterweight.errors import CounterweightError, listed


class NoNumbers(CounterweightError, TypeError):
    """Features that are no numbers: also the error that scikit-learn's tools expect."""


def labels_of(X):
    """Names of the columns of a data frame, a list; None where there are none."""
    labels = getattr(X, "column_names", getattr(X, "columns", None))
    if labels is None or not hasattr(X, "shape"):
        return None
    labels = list(labels)
    return None if labels == list(range(len(labels))) else labels


def check_same_columns(known, given, what, width=None, warn=True):
    """Refuse columns that have other names than those of a fit, or another order.

    `known`, `given` list or None: from `labels_of`; `what` str: whose columns they are, for the
    message; `width` int, optional: how many the fit had, where it had no names; `warn` bool:
    whether to warn where one of them has no names.
    """
    if known is None and given is not None and not all(isinstance(name, str) for name in given):
        # Numbers in another order than 0, 1, 2, ... say that columns were chosen.
        known = None if width is None else list(range(width))
    if known == given:
        return
    if known is None or given is None:
        if warn:
            import warnings

            told = (
                ("X has", "was fitted without")
                if known is None
                else ("X does not have valid", "was fitted with")
            )
            warnings.warn(
                f"{told[0]} feature names, but {what} {told[1]} feature names: columns are taken "
                "by their position.",
                stacklevel=4,
            )
        return
    # The words are scikit-learn's, whose tools look for them.
    unseen, missing = ([x for x in a if x not in b] for a, b in ((given, known), (known, given)))
    parts = ["The feature names should match those that were passed during fit."]
    for names, text in (
        (unseen, "unseen at fit time"),
        (missing, "seen at fit time, yet now missing"),
    ):
        if names:
            parts += [f"Feature names {text}:", *(f"- {name}" for name in names[:5])]
            parts += ["- ..."] * (len(names) > 5)
    if not (unseen or missing):
        parts.append("Feature names must be in the same order as they were in fit.")
    raise CounterweightError(
        "\n".join(parts) + f"\nGive {what} the columns of the fit: {listed(known, 20)}."
    )


def named(index, feature_names=None):
    """Features by name, or by number where there are no names."""
    return [feature_names[i] if feature_names is not None else f"number {i}" for i in index]


#: Names of the features of fits, and those of which was said what there is to say.
_names = ContextVar("names of features", default=(None, None))


@contextmanager
def features_named(names):
    """Fits inside call features by these names, where there are so many; see `unsaid`."""
    token = _names.set((names, set()))
    try:
        yield
    finally:
        _names.reset(token)


def unsaid(index, width):
    """Of `width` features those to warn of: within `features_named` by name, each but once.

    Columns behind those that have names are made of them (marks, products): they are not told.
    """
    names, said = _names.get()
    if names is None or len(names) > width:
        return named(index)
    told = [name for name in named(index[index < len(names)], names) if name not in said]
    said.update(told)
    return told


def pandas_frame(given, what):
    """A data frame of pandas, also of a frame that can become one, such as of polars; else refused.

    `what` are words for the rows.
    """
    import pandas as pd

    if not isinstance(given, pd.DataFrame) and hasattr(given, "to_pandas"):
        given = given.to_pandas()
    if not isinstance(given, pd.DataFrame):
        raise CounterweightError(
            f"The {what} are of the type {type(given).__name__}: give a data frame of pandas."
        )
    return given


def number_table(X, empty=False):
    """A float matrix of rows by features, its values unchecked.

    `X` array-like; `empty` bool: whether it may hold nothing.
    """
    if getattr(X, "dtype", None) is not None and np.dtype(getattr(X, "dtype", float)).kind == "c":
        raise CounterweightError("Complex data not supported: features are real numbers.")
    frame = hasattr(X, "columns") and hasattr(X, "iloc")
    if frame and (dates := [name for name, one in X.dtypes.items() if one.kind in "mM"]):
        raise NoNumbers(
            f"The features must be numbers, and {listed(dates)} are dates or times: make numbers "
            "of them, such as days since a date, or leave them out."
        )
    try:
        # Nullable columns of pandas hold what is missing as a value that is no float.
        X = X.to_numpy(float, na_value=np.nan) if frame else np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        kind = NoNumbers if isinstance(error, TypeError) else CounterweightError
        raise kind(
            f"The features must be numbers in a table of rows by features: {error}."
        ) from error
    if X.ndim != 2 or not (X.size or empty):
        more = ""
        if X.ndim == 1:
            more = " Reshape your data: X.reshape(1, -1) is one row, X.reshape(-1, 1) one feature."
        raise CounterweightError(
            f"The features must be a table of rows by features, got the shape {X.shape}.{more}"
        )
    return X


def as_numbers(values, what):
    """Values as an array of float64."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise CounterweightError(f"The {what} must be numbers, not text: {error}.") from error


def as_marks(values, what):
    """Marks of rows, such as which have a label, as a bool array; text and blanks are refused."""
    marks = as_numbers(values, what)
    wrong = ~np.isin(marks, (0, 1))
    if wrong.any():
        raise CounterweightError(
            f"The {what} must be true or false (1 or 0): {int(wrong.sum())} of {marks.size} are "
            f"neither, the first is {float(marks[wrong][0]):g}."
        )
    return marks.astype(bool)


def checked_rows(X, feature_names=None, empty=False):
    """Rows as a float matrix; without any row only if `empty`."""
    return finite_rows(number_table(X, empty), feature_names)


def finite_rows(X, feature_names=None):
    """Rows (n, d), if no value is missing or infinite."""
    bad = np.flatnonzero(~np.isfinite(X).all(axis=0))
    if len(bad):
        rows = int((~np.isfinite(X)).any(axis=1).sum())
        raise CounterweightError(
            f"Missing or infinite values in {rows} rows of feature "
            f"{listed(named(bad, feature_names))}: fill or drop them first."
        )
    return X


def checked_labels(y, rows, what="label"):
    """Labels as 0 and 1.

    `y` array (n,) of 0 and 1, or of bool; `what` str: for the message.
    """
    y = np.asarray(y)
    if y.shape != (rows,):
        raise CounterweightError(f"There are {rows} rows but a {what} of shape {y.shape}.")
    seen = set(np.unique(y[:1000].astype(str))) if y.dtype.kind not in "biuf" else None
    if seen is not None or not np.isin(y, (0, 1)).all():
        values = sorted(seen) if seen is not None else np.unique(y).tolist()
        raise CounterweightError(
            f"Each {what} must be 0 or 1; found {listed(values)}: recode it first."
        )
    return y.astype(int)


def checked_weights(sample_weight, rows):
    """Row weights as floats; ones if None."""
    if sample_weight is None:
        return np.ones(rows)
    weights = np.asarray(sample_weight, dtype=float)
    if weights.shape != (rows,):
        raise CounterweightError(
            f"There are {weights.size} weights for {rows} rows: give one weight for each row."
        )
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        raise CounterweightError(
            f"{int(bad.sum())} of {rows} weights are negative or not finite (first: row "
            f"{int(np.flatnonzero(bad)[0])}): weights are numbers from 0 up."
        )
    if not weights.any():
        raise CounterweightError(
            f"All {rows} weights are 0, and nothing can be learned from rows of zero weight: the "
            "labeled rows do not overlap the target population; check the selection model."
        )
    return weights


def mean_one_weights(sample_weight, rows):
    """Row weights of mean 1 over the rows that have one, and their mean before.

    For fits that depend on the scale of weights: by floors, priors, penalties or counts of rows.
    """
    weights = checked_weights(sample_weight, rows)
    unit = float(weights[weights > 0].mean())
    return weights / unit, unit


def group_sums(values, group):
    """Sums of `values` (n,) by `group` (n,), in the order of its values; as they are without."""
    at = None if group is None else np.unique(group, return_inverse=True)[1]
    return values if group is None else np.bincount(at, values)


def one_of_each(kind, rows):
    """Places of one row of each `kind` (n,), in order, and which of them each of the n `rows` is.

    All of them, and a slice, where there are no kinds.
    """
    if kind is None:
        return np.arange(rows), slice(None)
    one, place = np.unique(kind, return_index=True, return_inverse=True)[1:]
    in_order = np.argsort(one)
    return one[in_order], np.argsort(in_order)[place]


def two_class_rows(X, y, sample_weight=None, what="A classifier", blanks=False):
    """Rows that a classifier can learn from: those with weight, weights of mean 1, both classes.

    `X` array (n, d); `y` array (n,) of 0 and 1; `sample_weight` array (n,), optional; `what` str:
    begins the message; `blanks` bool: whether NaN is a value of X. Returns `X` numpy.ndarray (m,
    d); `y`, `weights` numpy.ndarray (m,).
    """
    X = number_table(X) if blanks else checked_rows(X)
    y = checked_labels(y, len(X))
    weights, _ = mean_one_weights(sample_weight, len(X))
    used = weights > 0
    if not (used.all() and X.flags.c_contiguous):
        X, y, weights = X[used], y[used], weights[used]
    present = np.unique(y)
    if len(present) < 2:
        raise CounterweightError(
            f"{what} needs both classes; the {len(y)} rows with weight are of one class, "
            f"{present[0]}."
        )
    return X, y, weights


def checked_new_rows(X, d):
    """Rows to predict, as floats."""
    X = checked_rows(X)
    if X.shape[1] != d:
        raise CounterweightError(f"The model has {d} features, the rows to predict {X.shape[1]}.")
    return X


def note_wrong(noted, name, wrong, values, rows):
    """Count wrong values over the batches of a table, and remember the first.

    `noted` dict of str to (int, value, row): how many, the first and its row id, by name of what is
    wrong; changed in place; `wrong` bool array (n,); `values`, `rows` array (n,).
    """
    if wrong.any():
        first = int(np.argmax(wrong))
        count, *seen = noted.get(name, (0, values[first], rows[first]))
        noted[name] = (count + int(wrong.sum()), *seen)


_BOUNDS = (
    ("minimum", "at least", np.greater_equal),
    ("exclusiveMinimum", "above", np.greater),
    ("maximum", "at most", np.less_equal),
    ("exclusiveMaximum", "below", np.less),
)
_KINDS = {
    "number": ("a number", (int, float, np.integer, np.floating)),
    "integer": ("a whole number", (int, np.integer)),
    "boolean": ("true or false", (bool, np.bool_)),
    "string": ("a text", str),
    "array": ("a list of texts", (list, tuple, np.ndarray)),
    "null": ("null", type(None)),
}


def check_options(values, options):
    """Refuse values that their entry in `options` excludes.

    A config is checked by the same fragments; this is for those who construct an estimator
    themselves. What the items of a list are is left to the estimator, and so are options
    with neither ``enum`` nor ``type``.

    `values` mapping of str to value: by name, all options: ``vars`` of an estimator; `options`
    mapping of str to dict: JSON-schema fragments: enum, or type (one or several), bounds and a
    pattern of words.
    """
    for name, node in options.items():
        value = values[name]
        if "enum" in node:
            fits = isinstance(value, str) and value in node["enum"]
        else:
            fits = "type" not in node or any(_meets(value, kind, node) for kind in _kinds(node))
        if not fits:
            raise CounterweightError(f"{name} must be {_asked(node)}, not {value!r}.")


def _kinds(node):
    return [node["type"]] if isinstance(node["type"], str) else node["type"]


def _meets(value, kind, node):
    if not isinstance(value, _KINDS[kind][1]):
        return False
    if kind == "string":
        return re.search(node.get("pattern", ""), value) is not None
    if kind not in ("number", "integer"):
        return True
    bounded = all(fits(value, node[key]) for key, _, fits in _BOUNDS if key in node)
    return bool(not isinstance(value, bool) and np.isfinite(value) and bounded)


def _asked(node):
    """What an option must be, in words."""
    if "enum" in node:
        return f"one of {listed(node['enum'])}"
    asked = []
    for kind in _kinds(node):
        text = _KINDS[kind][0]
        if kind in ("number", "integer"):
            bounds = [f"{word} {node[key]}" for key, word, _ in _BOUNDS if key in node]
            text = " ".join([text, " and ".join(bounds)]).strip()
        elif kind == "string" and "pattern" in node:
            words = node["pattern"].strip("^()$").split("|")
            text = words[0] if len(words) == 1 else f"one of {listed(words)}"
        asked += [text] if kind != "null" else []
    return ", or ".join(asked)


def check_positive(name, value, most=np.inf, whole=False):
    """Refuse what is no number above 0, and up to `most`, where one may be given."""
    right = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    right = right and np.isfinite(value) and 0 < value <= most and not (whole and value % 1)
    if value is not None and not right:
        upto, what = f" and up to {most:g}" * bool(most < np.inf), "whole " * whole
        raise CounterweightError(f"{name} is {value!r}: give a {what}number above 0{upto}.")


def with_columns(frame, made):
    """A frame with further columns, or others in the place of its own, by any name.

    `DataFrame.assign` takes names as arguments, and stops at a column that is called ``self``.
    """
    frame = frame.copy(deep=False)
    for name, values in made.items():
        frame[name] = values
    return frame


class ExactSum:
    """Sum of floats without any rounding before the end: the same in any order and batches.

    Each pass cuts from all values the digits above one common place; these add up without
    rounding in whatever order numpy takes them, and what is left goes to the next pass
    (Rump, Ogita & Oishi 2008, "Accurate floating-point summation", part I).
    """

    def __init__(self):
        self._sum = Fraction(0)

    def add(self, values):
        """Add finite numbers, an array (n,) of float64."""
        spare = math.ceil(math.log2(len(values) + 2))
        while len(values) and (most := max(float(values.max()), -float(values.min()))):
            exponent = spare + math.frexp(most)[1]
            if exponent > 1023:
                self._sum += sum(map(Fraction, values.tolist()))
                return
            place = math.ldexp(1.0, exponent)
            high = values + place
            high -= place
            self._sum += Fraction(float(high.sum()))
            values = np.subtract(values, high, out=high)

    def merge(self, other):
        """Add another sum."""
        self._sum += other._sum

    def value(self):
        """The sum, rounded once."""
        return float(self._sum)


class RunningSum:
    """Sum of small arrays over many batches, with the rounding carried along (Neumaier)."""

    def __init__(self, shape):
        self._sum, self._lost = np.zeros(shape), np.zeros(shape)

    def add(self, values):
        new = self._sum + values
        larger = np.abs(self._sum) >= np.abs(values)
        self._lost += np.where(larger, (self._sum - new) + values, (values - new) + self._sum)
        self._sum = new

    @property
    def value(self):
        return self._sum + self._lost


def check_aim(collect, number):
    """Refuse what labels of rows with an outcome are best for (`for`) where it does not fit.

    `collect` are the settings of a plan, `number` says whether the outcome is one.
    """
    aim = collect["for"]
    if aim == "top":
        raise CounterweightError(
            "collect.for is top, which is of the highest predictions of a log, and this table has "
            "an outcome: choose mean, auc, calibration or rates."
        )
    if aim not in ("mean", "auc", "calibration", "rates"):
        raise CounterweightError(f"collect.for is {aim!r}: choose mean, auc, calibration or rates.")
    if (aim == "rates") != (collect["decision"] is not None):
        raise CounterweightError(
            "collect.for: rates is of a decision, and collect.decision names its column: give both,"
            " or leave both out."
        )
    if collect["worth"] and aim != "rates":
        raise CounterweightError(
            "collect.worth is what decisions come to, and collect.for is not rates: leave one of "
            "the two out."
        )
    if number and aim != "mean":
        raise CounterweightError(
            f"collect.for is {aim}, which is of a class, and the outcome is a number: leave "
            "collect.for out."
        )
    by = collect["by"] and aim != "rates"
    if aim != "mean" and (by or collect["half_width"]):
        other = "by" if by else "half_width"
        raise CounterweightError(
            f"collect.for is {aim}, and collect.{other} is of the mean: leave one of the two out."
        )


def check_numbers(collect):
    """Refuse numbers of a plan that cannot be, as the schema of a config does."""
    for name, most in {"budget": np.inf, "half_width": np.inf, "floor": 1, "batches": 20}.items():
        check_positive(f"collect.{name}", collect[name], most, whole=name == "batches")
