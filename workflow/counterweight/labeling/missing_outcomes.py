"""Tables with blank outcomes: who is labeled, folds, and what later stages see of them.

Neither names nor the order of rows or columns decide anything: rows are fitted, and folds drawn, in
an order by what stands in them (`content_order`), which is the same however a table is written.
"""

import copy
import functools
import logging
from dataclasses import dataclass, replace

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Option
from counterweight.labeling.column_statistics import content_order
from counterweight.labeling.columns import condition_mask, forms_of, holds, require, types_of
from counterweight.labeling.encoding import DenseRows, TabularEncoder
from counterweight.numerics.checks import group_sums, one_of_each
from counterweight.numerics.linear import FOLD_ROWS, HELD_ROWS, first_of_each, group_folds
from counterweight.tables.parquet import read_columns, read_table
from counterweight.tables.study_data import StudyData

log = logging.getLogger("counterweight")

#: Studies with the labeling rule `present` are about outcomes of which some are blank.
TASK = "missing_outcomes"
LABEL = "the outcome is seen where it is not blank"
OPTIONS = {
    "where": Option({},
        "Columns with the value that labeled rows have; {} for every row whose outcome is there.", type="object", **{"x-condition": "by column"}),
}  # fmt: skip
LABELS = (
    ("repeat", "int16"),
    ("row", "int32"),
    ("role", "string"),
    ("selected", "int8"),
    ("y", "float64"),
    ("weight", "float64"),
    ("fold", "int16"),
    ("group", "int32"),
    ("order", "int32"),
)
#: Folds at most: a repeat is ``1 + FOLDS * draw + fold``. Of few rows, fits to four fifths tell an
#: AUC that is too low: so many labeled rows as `FEW` says are in ten folds, if nothing forbids it.
#: Of many, as few folds as leave `FOLD_ROWS` to learn from, which is all that a fit takes.
FOLDS, FEWER_FOLDS, FEW = 10, 5, (50, 5000)
#: Fits at most, and how often folds are drawn for them: as long as the rows of all draws are no
#: more than so many. What a draw adds by chance falls as the rows grow.
FITS, DRAWN_ROWS = 50, 50_000
#: Largest values that outcomes may have: of shares, of percentages. One is taken to be there where
#: this many known outcomes lie within this many standard deviations below it, and none above.
LARGEST, CLOSE_ROWS, CLOSE = (1.0, 100.0), 10, 0.25
#: Part of a share below which a difference is rounding.
ROUNDING = 1e-9
#: Least labeled rows, and least of each class, to learn from.
LEAST_ROWS, LEAST_OF_CLASS = 20, 5


def present(frame, types, outcome, *, where=()):
    """Rows whose outcome is there (not NaN), and for which the conditions hold.

    `where` has the value of each column, or its bounds, as ``{"at_least": 60}``.
    """
    masks = [~np.isnan(outcome)]
    for column, value in dict(where).items():
        if isinstance(value, dict):
            place = f"labeled.where.{column}"
            masks.append(condition_mask(frame, {"column": column} | value, place))
            if not masks[-1].any():
                raise CounterweightError(
                    f"No row has {value!r} in the column {column!r}: correct the bounds in the "
                    "config."
                )
        else:
            masks.append(holds(frame, types, column, value))
    return np.logical_and.reduce(masks)


def label_blanks(frame, types, features, outcome, rule, roles, rng, copies=None):
    """Who is labeled, what is seen and what is hidden.

    `features` are names of columns; ``outcome(frame, types) -> values, binary, names``;
    ``rule(frame, types, values)`` gives a mask (n,), or a dict of that as ``labeled`` and of how
    many rows each stands for as ``weight``; `roles` are columns by role, of which ``weight``,
    ``time`` and ``group`` count here; `rng` draws the folds; `copies` (n,) are as of
    `counterweight.labeling.columns.copies_together`, which are groups where none is named.

    Gives feature columns as they are; labels in the layout `LABELS` (``y`` is NaN unless labeled,
    ``fold`` -1 for rows that are learned from only, in all folds); outcomes that are known and
    hidden; whether there are two classes, and their names. The columns of the features stand in the
    order of their content, ``order`` is a row's place by content, ``fold`` its fold in the first
    draw, ``fold_1`` and so on those of further ones.
    """
    values, binary, names = outcome(frame, types)
    if not features:
        raise CounterweightError(
            "No column is left as a feature: see the column report; insist on columns by "
            "columns.keep, or give a table with more of them."
        )
    found = rule(frame, types, values)
    labeled, times = (found["labeled"], found["weight"]) if isinstance(found, dict) else (found, 1)
    _check_labeled(values[labeled], binary, names, None if copies is None else copies[labeled])
    n = len(frame)
    group = _codes(frame, roles.get("group")) if copies is None else copies
    weight = _weights(frame, roles.get("weight"), labeled) * times
    seen = np.where(labeled, values, np.nan)
    column = roles.get("group")
    # Weights tell by their ratios, whatever they are counted in.
    beside = [seen, (weight / weight.max()).astype("float32")]
    beside += [] if column is None else [frame[column]]
    beside += [] if copies is None else [np.bincount(copies)[copies]]
    features, order = content_order(frame, features, beside)
    time = time_of(frame, roles, labeled)
    if time is not None and (undated := int(np.isnan(time).sum())):
        log.warning(
            "The time %r is missing in %d rows without an outcome: they are taken to be no later "
            "than rows that have one. Fill it in where it is known.",
            roles["time"],
            undated,
        )
    known = None if time is None else time[labeled]
    drawn = _drawn(seen, labeled, order, binary, known, group, rng, copies is not None)
    if time is not None:
        drawn[0][~labeled & ~(time > known.max())] = SAME_TIME
    ids = {"repeat": np.zeros(n, "int16"), "row": frame["row"].to_numpy("int32")}
    labels = ids | {
        "role": np.where(labeled, "labeled", "unlabeled"),
        "selected": labeled.astype("int8"),
        "y": seen,
        "weight": weight,
        "fold": drawn[0],
        "group": group,
        "order": order,
    }
    labels |= {f"fold_{draw}": fold for draw, fold in enumerate(drawn[1:], 1)}
    hidden = ~labeled & ~np.isnan(values)
    truth = {name: column[hidden] for name, column in ids.items()} | {"y": values[hidden]}
    return frame[["row", *features]], labels, truth, binary, names


def _drawn(y, labeled, order, binary, time, group, rng, copies=False):
    """Folds (n,) of each draw, -1 where a row is learned from in all; see `folds`.

    Where groups are `copies` of a row, folds are drawn of one of each, which the others follow.
    """
    rows = np.flatnonzero(labeled)
    rows = rows[np.argsort(order[rows])]
    alike = copies and time is None
    one, place = one_of_each(group[rows] if alike else None, len(rows))
    if alike:
        group = np.full(len(y), -1)
    if time is not None:
        time = time[np.argsort(order[labeled])]
    few = FEW[0] <= len(one) <= FEW[1] and time is None
    groups = np.unique(group[rows])
    few = few and (groups[0] < 0 or len(groups) >= FOLDS)
    count, made = FOLDS if few else FEWER_FOLDS, []
    if time is None and groups[0] < 0 and len(rows) > FOLD_ROWS:
        count = min(count, -(-len(rows) // (len(rows) - FOLD_ROWS)))
    draws = 1 if time is not None else min(FITS // count, max(1, DRAWN_ROWS // len(rows)))
    for _ in range(draws):
        fold, own = np.full(len(y), -1, "int16"), rows[one]
        fold[rows] = folds(y[own], binary, time, group[own], rng, count)[place]
        made.append(fold)
    return made


def largest_outcome(y, asked=None):
    """The largest value that an outcome can have, by known ones (M,); None where there is none.

    `asked` is what a config says: a number, ``none``, or None to find out. A bound is found where
    known outcomes crowd below it and stop there: a number that only happens to lie below thins out
    before. Of the values near a point of a smooth density about half lie above it, so that ten of
    them all below are no chance.
    """
    if asked == "none" or y.min() < 0:
        return None
    if asked is not None:
        return float(asked)
    bound = next((bound for bound in LARGEST if y.max() <= bound), None)
    if bound is None or (y > bound - CLOSE * np.std(y)).sum() < CLOSE_ROWS:
        return None
    return bound


def _check_labeled(values, binary, names, copies):
    of_each = "" if copies is None else ", copies of a row counted once"
    if copies is not None:
        values = values[first_of_each(copies)]
    if len(values) < LEAST_ROWS:
        raise CounterweightError(
            f"Only {len(values)} rows are labeled, and {LEAST_ROWS} are needed at least{of_each}: "
            "loosen labeled.where, or give a table with more outcomes."
        )
    if binary:
        ones = int(values.sum())
        few = min(ones, len(values) - ones)
        if few < LEAST_OF_CLASS:
            raise CounterweightError(
                f"Of the {len(values)} labeled rows {ones} are {names[1]!r} and "
                f"{len(values) - ones} are {names[0]!r}: {LEAST_OF_CLASS} of each are needed to "
                f"learn what tells them apart{of_each}."
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


def _weights(frame, column, labeled):
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
    for part, which in ((labeled, "with"), (~labeled, "without")):
        if part.any() and not weight[part].any():
            raise CounterweightError(
                f"The weight {column!r} is 0 in all {int(part.sum())} rows {which} an outcome, so "
                "that these count as nobody: give them the weights that they have among everybody, "
                "or leave weight out."
            )
    # Weights that are all alike are none, whatever their unit.
    return np.ones(len(weight)) if (weight == weight[0]).all() else weight


def time_of(frame, roles, labeled):
    """When each row was, (n,), NaN where a row without an outcome does not say; None without."""
    column = roles.get("time")
    if column is None:
        return None
    require(frame, [column], "role time")
    try:
        time = frame[column].to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The time {column!r} holds text that is no date: name its format under columns.dates; "
            "a quarter is written as its first day, such as 2018-01-01."
        ) from error
    if missing := int(np.isnan(time[labeled]).sum()):
        raise CounterweightError(
            f"The time {column!r} is missing in {missing} labeled rows: fill it, or leave time out."
        )
    return time


def folds(y, binary, time, group, rng, count=FEWER_FOLDS):
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
        names = np.unique(group)
        if len(names) < count:
            raise CounterweightError(
                f"There are {len(names)} groups among the labeled rows, and {count} are needed to "
                "try methods on other groups than they learned from: leave group out."
            )
        return group_folds(group, count, rng)
    part = y if binary else np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
    order = np.lexsort((rng.permutation(n), part))
    fold = np.empty(n, "int16")
    fold[order] = np.arange(n) % count
    return fold


#: Fold of a row without an outcome that is no later than the last row with one, of a table in time.
SAME_TIME = -3


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
    later : array of bool (n,), or None
        Of a table in time: rows without an outcome that are later than all with one.
    """

    tests_labeled = True
    #: A row's place by content, (n,).
    order = None
    #: Most rows that a fit learns from, the first by content, which is as good as drawn; None: all.
    most = None

    def __init__(self, frame, types, labels, max_levels, forms=None, weights=None):
        names = [name for name in frame.columns if name != "row"]
        self.encoder = TabularEncoder(max_levels=max_levels).fit(frame, names, types)
        self.encoded, self.types, self.forms = self.encoder.encode(frame), dict(types), forms or {}
        self.y, self.weight = labels["y"], labels["weight"]
        self.group = labels["group"]
        drawn = (name for name in labels if name.startswith("fold_"))
        self.folds = [labels[name] for name in ("fold", *drawn)]
        self.order = labels.get("order", np.arange(len(self.y)))
        self.labeled = labels["selected"] == 1
        in_time = (self.labeled & (self.folds[0] == -1)).any()
        self.later = ~self.labeled & (self.folds[0] != SAME_TIME) if in_time else None
        self.numbers = not np.isin(self.y[self.labeled], (0.0, 1.0)).all()
        self.amounts = bool(self.numbers and self.y[self.labeled].min() >= 0)
        features = {"row": labels["row"]} | dict.fromkeys(self.encoded.dense_names)
        own = {name: labels[name] for name in ("repeat", "row", "role")}
        own |= {"selected": self.labeled.astype(int), "keep_rate": np.ones(len(self.y))}
        own |= {"y_general": self.y, "y_unlabeled": self.y, "group": self.group}
        if weights is None:
            weights = {name: own[name][self.labeled] for name in ("repeat", "row")}
            weights["weight"] = self.weight[self.labeled]
        super().__init__(features, own, weights)

    def _together(self, features):
        # Of many rows those that are asked for are made then, as of categories they are wide.
        return DenseRows(self.encoded) if len(self.y) > HELD_ROWS else self.encoded.dense()

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
        taken.most = getattr(component, "MOST_ROWS", None)
        if getattr(component, "ENCODED", False):
            taken.X = self.encoded
        elif getattr(component, "TYPED", False):
            taken.X, taken.categorical = self.encoded.typed(), self.encoded.is_category
        return taken

    def cross_validated(self):
        """The same with a repeat for each fold of each draw; 0 is the fit to all labeled rows.

        Repeat ``1 + FOLDS * draw + fold``. Refused where the rows that a fold learns from are of
        one class.
        """
        made = copy.copy(self)
        made.labels, made.weights = dict(self.labels), dict(self.weights)
        for draw, fold in enumerate(self.folds):
            self._add_folds(made, 1 + FOLDS * draw, np.where(self.labeled, fold, -2))
        return made

    def _add_folds(self, made, first, fold):
        own, weight = self.labels[0], self.weights[0]["weight"]
        ordered = self.later is not None  # only earlier rows are learned from
        for number in np.unique(fold[fold >= 0]).tolist():
            learned = (fold < number if ordered else fold != number) & self.labeled
            if self.binary and len(np.unique(self.y[learned])) < 2:
                raise CounterweightError(
                    f"The rows that fold {number} learns from have one outcome only: leave group "
                    "or time out, or give a table with more outcomes."
                )
            roles = np.where(learned, "labeled", np.where(self.labeled, "left out", "unlabeled"))
            roles[fold == number] = "test"
            repeat = np.full(len(roles), first + number, own["repeat"].dtype)
            made.labels[first + number] = own | {"repeat": repeat, "role": roles}
            made.weights[first + number] = {
                "row": own["row"][learned],
                "weight": weight[learned[self.labeled]],
            }

    def in_order(self, where):
        """Places of rows in the order of their content; see `content_order`."""
        return np.argsort(self.order[where])

    def _taken(self, where, repeat):
        most = self.most or (FOLD_ROWS if repeat else None)
        return self.in_order(where)[:most]

    def unlabeled(self, repeat, target):
        X, y = super().unlabeled(repeat, target)
        at = self.in_order(self.positions(repeat, self.role(repeat, "unlabeled")))
        return X[at], None if y is None else y[at]

    def tested(self, repeat, target):
        return self.role(repeat, "test")

    def tested_weights(self, repeat):
        """Weights of the test rows of a repeat, as labeled rows have them in a fit, (T,)."""
        weight = np.zeros(len(self.y))
        weight[self.labeled] = self.weights[0]["weight"]
        return weight[self.role(repeat, "test")]


def describe_blanks(labels, truth, binary, copied=False):
    """Sizes and means of a table with blanks, as metric records; groups are those of `copied`
    rows, or what a person named."""
    labeled = labels["selected"] == 1
    sizes = {
        "rows_all": len(labeled),
        "rows_labeled": labeled.sum(),
        "rows_unlabeled": (~labeled).sum(),
        "rows_hidden": len(truth["row"]),
    }
    groups = labels["group"][labeled]
    grouped = (groups >= 0).all() and len(groups) > 0
    name = "rows_different" if copied else "groups_labeled"
    sizes |= {name: len(np.unique(groups))} if grouped else {}
    records = [
        {"metric": metric, "value": float(value), "rows": len(labeled)}
        for metric, value in sizes.items()
    ]
    y, weight = labels["y"][labeled], labels["weight"][labeled]
    mean = float(np.average(y, weights=weight))
    parts = group_sums(weight * (y - mean), groups if grouped else None)
    error = float(np.sqrt((parts**2).sum()) / weight.sum())
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


@dataclass
class OutOfFold:
    """Out-of-fold predictions of several methods on the same M labeled rows, all (M,).

    `weight` are weights to the target population, of mean 1, `design` those of the design; `group`
    is None without groups; no outcome is above `most`. `draws` are each method's predictions (R, M)
    by draw of the folds, in the order of the files; `folds` (R, M) are those of all of them; `own`
    is a row's own share of all rows of the table. `of_labeled` are weights and shares of all
    labeled rows. `of_hidden` are draws as they are told of rows without an outcome, where those of
    everyone are others; see `apart`.
    """

    row: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    design: np.ndarray
    group: np.ndarray | None
    draws: list
    folds: np.ndarray
    own: np.ndarray
    binary: bool
    amounts: bool = False
    of_labeled: tuple = ()
    most: float = np.inf
    of_hidden: list = ()

    @property
    def kind(self):
        """What raw scores go by: whether it is a class, whether amounts, and their largest."""
        return self.binary, self.amounts, self.most

    @property
    def bounds(self):
        """What no mean outcome lies beyond; None where there is no bound."""
        if self.binary:
            return 0.0, 1.0
        least = 0.0 if self.amounts else None
        return least, float(self.most) if np.isfinite(self.most) else None

    def to_hidden(self, target, *, of_labeled=False):
        """Weights to the rows without an outcome that answers are for, (M,); see `own`.

        Of everyone in the table labeled rows stand for themselves, and with what their weights have
        beyond that for the others. Where nobody is left, the weights to the target. With
        `of_labeled` those of all labeled rows, also of those that are not tested.
        """
        weight, own = self.of_labeled if of_labeled else (self.weight, self.own)
        if target != "general":
            return weight
        share = weight / weight.sum()
        beyond = np.maximum(share - own, 0.0)
        beyond[beyond <= ROUNDING * share] = 0.0
        return beyond if beyond.any() else weight

    def apart(self):
        """These as they are told of everyone, and of rows without an outcome.

        Where selection goes by the outcome, rows without one differ from like rows that have one,
        and of a new row nobody knows which it would be. Weights of both are as `to_hidden` gives
        them: to everyone no row stands for itself.
        """
        pairs = [(self.weight, self.of_labeled[0], self.draws)]
        told = (self.to_hidden("general", of_labeled=one) for one in (False, True))
        pairs.append((*told, self.of_hidden or self.draws))
        return [
            replace(
                self,
                weight=weight,
                own=np.zeros(len(weight)),
                of_labeled=(of_all, np.zeros(len(of_all))),
                draws=draws,
                of_hidden=[],
            )
            for weight, of_all, draws in pairs
        ]

    def about_most(self, asked):
        """Whether there is a largest outcome, in a sentence, where it is not what `asked` says."""
        if asked is not None or not self.amounts:
            return []
        if np.isfinite(self.most):
            return [
                f"No known outcome is above {self.most:g}, and many lie just below: none is taken "
                "to be above it. Say outcome.most: none if one can be."
            ]
        if self.y.max() > 1:
            return []
        return [
            "All known outcomes lie between 0 and 1, which is taken for chance: estimates and "
            "intervals may be above 1. Say outcome.most: 1 if no outcome can be."
        ]

    @functools.cached_property
    def predictions(self):
        """Of each method, averaged over the draws."""
        return [drawn.mean(axis=0) for drawn in self.draws]

    @classmethod
    def read(cls, labels, weights, predictions, apart=False):
        """From Parquet files: labels, weights (or an empty list), predictions of each method.

        With those of rows without an outcome if they are told `apart` from everyone.
        """
        labels = read_columns(labels)
        labeled = labels["selected"] == 1
        rows, design = labels["row"][labeled], labels["weight"][labeled]
        weight = design / design.mean()
        if weights:
            weight = read_columns(weights)["weight"]
        tables = [read_columns(path) for path in predictions]
        found = [_by_draw(table) for table in tables]
        tested, folds, _ = found[0]
        where = np.searchsorted(rows, tested)
        if len(weight) != len(rows) or any(
            not np.array_equal(own, tested) or not np.array_equal(split, folds)
            for own, split, _ in found
        ):
            raise CounterweightError(
                "Predictions and weights are of other rows than the labels: delete the results of "
                "the study and run again."
            )
        y, group = labels["y"][labeled], labels["group"][labeled]
        # By time the first rows are not tested: the others stand for them, too.
        own = design[where] / design[where].sum() * design.sum() / labels["weight"].sum()
        return cls(
            row=tested,
            y=y[where],
            weight=weight[where],
            design=design[where],
            group=group[where] if group.min() >= 0 else None,
            draws=[drawn for *_, drawn in found],
            folds=folds,
            own=own,
            binary=bool(np.isin(y, (0.0, 1.0)).all()),
            amounts=bool(not np.isin(y, (0.0, 1.0)).all() and y.min() >= 0),
            of_labeled=(weight, design / labels["weight"].sum()),
            most=float(labels["most"][0]) if "most" in labels else np.inf,
            of_hidden=[_by_draw(table, hidden=True)[-1] for table in tables * apart],
        )


def _by_draw(table, hidden=False):
    """Rows (M,), their folds and predictions (R, M) of a table of predictions.

    Where there are some of everyone and of rows without an outcome, the latter if `hidden`.
    """
    of = table["target"] == "unlabeled"
    if 0 < of.sum() < len(of):
        table = {name: values[of == hidden] for name, values in table.items()}
    draw, fold = np.divmod(table["repeat"].astype(int) - 1, FOLDS)
    order = np.lexsort((table["row"], draw))
    draws = draw.max() + 1
    shape = draws, len(order) // draws
    rows, fold, p = (values[order].reshape(shape) for values in (table["row"], fold, table["p"]))
    return rows[0], fold, p
