"""Tables with blank outcomes: who is labeled, folds, and what later stages see of them."""

import copy

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.labeling.columns import forms_of, require, types_of
from counterweight.labeling.encoding import TabularEncoder
from counterweight.tables.parquet import read_columns, read_table
from counterweight.tables.study_data import StudyData

LABELS = (
    ("repeat", "int16"),
    ("row", "int32"),
    ("role", "string"),
    ("selected", "int8"),
    ("y", "float64"),
    ("weight", "float64"),
    ("fold", "int16"),
    ("group", "int32"),
)
FOLDS = 5
#: Least labeled rows, and least of each class, to learn from.
LEAST_ROWS, LEAST_OF_CLASS = 20, 5


def label_blanks(frame, types, features, outcome, rule, roles, rng):
    """Who is labeled, what is seen and what is hidden.

    `features` are names of columns; ``outcome(frame, types) -> values, binary, names``;
    ``rule(frame, types, values)`` gives a mask (n,), or a dict of that as ``labeled`` and of how
    many rows each stands for as ``weight``; `roles` are columns by role, of which ``weight``,
    ``time`` and ``group`` count here; `rng` draws the folds.

    Gives feature columns as they are; labels in the layout `LABELS` (``y`` is NaN unless labeled,
    ``fold`` -1 for rows that are learned from only, in all folds); outcomes that are known and
    hidden; whether there are two classes, and their names.
    """
    values, binary, names = outcome(frame, types)
    if not features:
        raise CounterweightError(
            "No column is left as a feature: see the column report; insist on columns by "
            "columns.keep, or give a table with more of them."
        )
    found = rule(frame, types, values)
    labeled, times = (found["labeled"], found["weight"]) if isinstance(found, dict) else (found, 1)
    _check_labeled(values[labeled], binary, names)
    n = len(frame)
    group = _codes(frame, roles.get("group"))
    weight = _weights(frame, roles.get("weight")) * times
    fold = np.full(n, -1, "int16")
    fold[labeled] = folds(
        values[labeled], binary, _time(frame, roles, labeled), group[labeled], rng
    )
    ids = {"repeat": np.zeros(n, "int16"), "row": frame["row"].to_numpy("int32")}
    labels = ids | {
        "role": np.where(labeled, "labeled", "unlabeled"),
        "selected": labeled.astype("int8"),
        "y": np.where(labeled, values, np.nan),
        "weight": weight,
        "fold": fold,
        "group": group,
    }
    hidden = ~labeled & ~np.isnan(values)
    truth = {name: column[hidden] for name, column in ids.items()} | {"y": values[hidden]}
    return frame[["row", *features]], labels, truth, binary, names


def _check_labeled(values, binary, names):
    if len(values) < LEAST_ROWS:
        raise CounterweightError(
            f"Only {len(values)} rows are labeled, and {LEAST_ROWS} are needed at least: loosen "
            "labeled.where, or give a table with more outcomes."
        )
    if binary:
        ones = int(values.sum())
        few = min(ones, len(values) - ones)
        if few < LEAST_OF_CLASS:
            raise CounterweightError(
                f"Of the {len(values)} labeled rows {ones} are {names[1]!r} and "
                f"{len(values) - ones} are {names[0]!r}: {LEAST_OF_CLASS} of each are needed to "
                "learn what tells them apart."
            )
    elif np.ptp(values) == 0:
        raise CounterweightError(
            f"The outcome is {values[0]:g} in all {len(values)} labeled rows: there is nothing to "
            "learn."
        )


def _codes(frame, column):
    """Number of each row's group; -1 without groups, and a number of its own where missing."""
    import pandas as pd

    if column is None:
        return np.full(len(frame), -1, "int32")
    require(frame, [column], "role group")
    codes = pd.factorize(frame[column], sort=True)[0].astype("int32")
    missing = codes < 0
    codes[missing] = codes.max() + 1 + np.arange(missing.sum())
    return codes


def _weights(frame, column):
    if column is None:
        return np.ones(len(frame))
    require(frame, [column], "role weight")
    if frame[column].dtype == object or str(frame[column].dtype) == "str":
        raise CounterweightError(f"The weight {column!r} holds text: give a column of numbers.")
    weight = frame[column].to_numpy(dtype=float, na_value=np.nan)
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any() or not weight.any():
        first = int(np.argmax(wrong))
        raise CounterweightError(
            f"The weight {column!r} is missing, negative or not finite in {int(wrong.sum())} rows "
            f"(first: row {first}), or 0 in all: weights are numbers from 0 up."
        )
    return weight


def _time(frame, roles, labeled):
    column = roles.get("time")
    if column is None:
        return None
    require(frame, [column], "role time")
    try:
        time = frame[column].to_numpy(dtype=float, na_value=np.nan)[labeled]
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The time {column!r} holds text that is no date: name its format under columns.dates."
        ) from error
    if np.isnan(time).any():
        raise CounterweightError(
            f"The time {column!r} is missing in {int(np.isnan(time).sum())} labeled rows: fill it, "
            "or leave time out."
        )
    return time


def folds(y, binary, time, group, rng, count=FOLDS):
    """Fold of each labeled row, (M,).

    By time: blocks of about equal size in order, the first of which (-1) is only learned from.
    By group: whole groups. Else at random, classes (or thirds of a number) alike in all.
    """
    n = len(y)
    if time is not None:
        rank = np.searchsorted(np.sort(time), time)
        fold = (rank * (count + 1)) // n
        if len(np.unique(fold)) < 3:
            raise CounterweightError(
                "The time has too few different values to try methods on later rows: leave time "
                "out, or give dates that differ."
            )
        return fold.astype("int16") - 1
    if (group >= 0).all():
        names, sizes = np.unique(group, return_counts=True)
        if len(names) < count:
            raise CounterweightError(
                f"There are {len(names)} groups among the labeled rows, and {count} are needed to "
                "try methods on other groups than they learned from: leave group out."
            )
        # Large groups first, each to the smallest fold so far, ties in the order of a draw.
        order = np.lexsort((rng.permutation(len(names)), -sizes))
        of_group, filled = np.empty(len(names), "int16"), np.zeros(count)
        for at in order:
            of_group[at] = int(filled.argmin())
            filled[of_group[at]] += sizes[at]
        return of_group[np.searchsorted(names, group)]
    part = y if binary else np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
    order = np.lexsort((rng.permutation(n), part))
    fold = np.empty(n, "int16")
    fold[order] = np.arange(n) % count
    return fold


class BlankData(StudyData):
    """A table with blanks as the stages after labeling see a study: one repeat without test rows.

    `cross_validated` adds a repeat a fold, whose test rows are the labeled rows of that fold.

    Attributes
    ----------
    encoder : TabularEncoder
        Fitted on all rows; it uses no outcome.
    encoded : counterweight.labeling.encoding.Encoded
        All n rows; `X` are the features for linear models.
    y, weight, fold, group : array (n,)
        Outcomes, NaN where blank; design weights; folds; groups.
    labeled : array of bool (n,)
    types, forms : dict of str to str
    """

    tests_labeled = True

    def __init__(self, frame, types, labels, max_levels, forms=None, weights=None):
        names = [name for name in frame.columns if name != "row"]
        self.encoder = TabularEncoder(max_levels=max_levels).fit(frame, names, types)
        self.encoded, self.types, self.forms = self.encoder.encode(frame), dict(types), forms or {}
        self.y, self.weight = labels["y"], labels["weight"]
        self.fold, self.group = labels["fold"], labels["group"]
        self.labeled = labels["selected"] == 1
        self.numbers = not np.isin(self.y[self.labeled], (0.0, 1.0)).all()
        features = {"row": labels["row"]}
        features |= dict(zip(self.encoded.dense_names, self.encoded.dense().T, strict=True))
        own = {name: labels[name] for name in ("repeat", "row", "role")}
        own |= {"selected": self.labeled.astype(int), "keep_rate": np.ones(len(self.y))}
        own |= {"y_general": self.y, "y_unlabeled": self.y}
        if weights is None:
            weights = {name: own[name][self.labeled] for name in ("repeat", "row")}
            weights["weight"] = self.weight[self.labeled]
        super().__init__(features, own, weights)

    @classmethod
    def read(cls, features, columns, labels, max_levels=50, weights=None):
        """From Parquet files: of the features, the column report, labels, weights if there are."""
        facts = read_table(columns)
        weights = read_columns(weights) if weights else None
        told = max_levels, forms_of(facts), weights
        return cls(read_table(features), types_of(facts), read_columns(labels), *told)

    @property
    def binary(self):
        """Whether the outcome is one of two classes."""
        return not self.numbers

    def taken_by(self, component):
        """With `X` of the form that a class of models takes: ``TYPED`` codes, ``ENCODED`` rows."""
        taken = copy.copy(self)
        if getattr(component, "ENCODED", False):
            taken.X = self.encoded
        elif getattr(component, "TYPED", False):
            taken.X, taken.categorical = self.encoded.typed(), self.encoded.is_category
        return taken

    def cross_validated(self):
        """The same with a repeat for each fold, from 1 on; 0 is the fit to all labeled rows.

        Refused where the rows that a fold learns from are of one class.
        """
        made, fold = copy.copy(self), np.where(self.labeled, self.fold, -2)
        own, weight = self.labels[0], self.weights[0]["weight"]
        made.labels, made.weights = dict(self.labels), dict(self.weights)
        ordered = (fold == -1).any()  # by time: only earlier rows are learned from
        for number in np.unique(fold[fold >= 0]).tolist():
            learned = (fold < number if ordered else fold != number) & self.labeled
            if self.binary and len(np.unique(self.y[learned])) < 2:
                raise CounterweightError(
                    f"The rows that fold {number} learns from have one outcome only: leave group "
                    "or time out, or give a table with more outcomes."
                )
            roles = np.where(learned, "labeled", np.where(self.labeled, "left out", "unlabeled"))
            roles[fold == number] = "test"
            repeat = np.full(len(roles), number + 1, own["repeat"].dtype)
            made.labels[number + 1] = own | {"repeat": repeat, "role": roles}
            made.weights[number + 1] = {
                "row": own["row"][learned],
                "weight": weight[learned[self.labeled]],
            }
        return made

    def tested(self, repeat, target):
        return self.role(repeat, "test")


def describe_blanks(labels, truth, binary):
    """Sizes and means of a table with blanks, as metric records."""
    labeled = labels["selected"] == 1
    sizes = {
        "rows_all": len(labeled),
        "rows_labeled": labeled.sum(),
        "rows_unlabeled": (~labeled).sum(),
        "rows_hidden": len(truth["row"]),
    }
    records = [
        {"metric": metric, "value": float(value), "rows": len(labeled)}
        for metric, value in sizes.items()
    ]
    y, weight = labels["y"][labeled], labels["weight"][labeled]
    mean = float(np.average(y, weights=weight))
    error = float(np.sqrt(((weight * (y - mean)) ** 2).sum()) / weight.sum())
    records.append(
        {
            "metric": "positive_share" if binary else "outcome_mean",
            "part": "labeled",
            "target": "general",
            "value": mean,
            "standard_error": error,
            "rows": int(labeled.sum()),
        }
    )
    return records
