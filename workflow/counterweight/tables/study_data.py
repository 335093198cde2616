"""What the stages after labeling see of a study, and its random streams."""

import hashlib

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.tables.parquet import arrow_table, blocks, constant, read_columns, read_facts


def generator(seed, study, repeat, purpose):
    """Independent random generator for one use: one stream a (seed, study, repeat, purpose).

    `study` may be a data set, for draws that studies share; `purpose` says what the numbers are
    for, such as ``"split"``. The same call gives the same numbers in any order and on any number
    of cores, two different ones share none.
    """
    of_study, of_purpose = (
        int.from_bytes(hashlib.sha256(str(text).encode()).digest()[:8], "little")
        for text in (study, purpose)
    )
    entropy = [int(seed), of_study, int(repeat), of_purpose]
    return np.random.default_rng(np.random.SeedSequence(entropy))


def by_repeat(columns):
    """Split columns with ``repeat``, whose rows stand together, into a dict for each repeat."""
    return {
        int(columns["repeat"][part][0]): {name: values[part] for name, values in columns.items()}
        for part in blocks(columns, "repeat")
    }


def predicted(repeat, target, setting, rows, p, decided=None):
    """Predictions as a table: of rows (m,) in a repeat, for a target, by a setting."""
    told = {} if decided is None else {"decision": np.asarray(decided, "int8")}
    return arrow_table(
        {
            "repeat": np.full(len(rows), repeat, "int16"),
            "target": constant(target, len(rows)),
            "setting": constant(setting, len(rows), "int16"),
            "row": rows.astype("int32"),
            "p": p,
        }
        | told
    )


def prediction_blocks(predictions):
    """Repeat, target, setting and place of each block of predictions, whose rows stand together."""
    (targets, target_names), (settings, setting_names) = (
        predictions[key] for key in ("target", "setting")
    )
    for part in blocks(predictions, "repeat", "target", "setting"):
        at = part.start
        names = target_names[targets[at]], setting_names[settings[at]]
        yield int(predictions["repeat"][at]), *names, part


def check_row_ids(rows):
    """Refuse row ids that are not ascending: rows are looked up by them."""
    rows = np.asarray(rows)
    wrong = np.flatnonzero(rows[1:] <= rows[:-1])
    if len(wrong):
        raise CounterweightError(
            f"Row ids must ascend without repetition; id {rows[wrong[0] + 1]} follows "
            f"{rows[wrong[0]]}: number the rows of the table anew, in its order."
        )


def found_rows(rows, wanted, absent):
    """Positions of ids in the ids `rows`, each there once; `absent` is said where one is not."""
    order = np.argsort(rows, kind="stable")
    where = order[np.minimum(np.searchsorted(rows, wanted, sorter=order), len(rows) - 1)]
    if not np.array_equal(rows[where], wanted):
        raise CounterweightError(absent)
    return where


def taken(X, where):
    """Rows by place or mask, made later where all are made on demand."""
    return X.take(where) if hasattr(X, "encoded") else X[where]


class StudyData:
    """Features, roles and what is seen of each row, from columns as arrays by name.

    `features` has ``row``, ids that differ, and the features (NaN where missing); `labels`, of all
    repeats, ``repeat, row, role`` and what is seen of the rows; `weights` ``repeat, row, weight``
    of the labeled ones; `truth` what is hidden, only for evaluation and for an oracle. `categories`
    says which features the recipe declares such: ``blocks``, lists of names that make up one each
    (one name: a feature of 0 and 1), and ``flags``, by the name of a number that of the feature
    that says where it is missing.
    """

    #: Begins the names of columns that hold a sensitive group.
    GROUP = "group_"
    #: Whether outcomes are numbers instead of classes, and none below 0, and whether test rows are
    #: labeled ones.
    numbers = amounts = tests_labeled = False
    #: Features that are codes of categories, (d,) of bool, where models take them as codes.
    categorical = None
    #: Seed and study by which an oracle draws as many rows as are labeled; None where it has all.
    drawn_by = None

    def __init__(self, features, labels, weights=None, truth=None, categories=None):
        self.rows = features["row"]
        check_row_ids(np.sort(self.rows))
        self.names = [name for name in features if name != "row"]
        self.X = self._together(features)
        self.categories = categories or {}
        self.labels = by_repeat(labels)
        self.weights = None if weights is None else by_repeat(weights)
        self.truth = None if truth is None else by_repeat(truth)
        self._lately = None, {}
        groups = (name for name in labels if name.startswith(self.GROUP))
        self.group_columns = [name.removeprefix(self.GROUP) for name in groups]

    def _together(self, features):
        """The features side by side, (n, d)."""
        columns = [features[name] for name in self.names]
        return np.column_stack(columns).astype(float, copy=False)

    @classmethod
    def read(cls, features, labels, *, weights=None, truth=None):
        """The same from Parquet files; those that are not needed may be left out or empty."""
        weights, truth = (read_columns(path) if path else None for path in (weights, truth))
        known = read_facts(features).get("categories")
        labels = read_columns(labels, categories=["role"])
        # Texts of a fixed width take a fraction of the time of objects.
        codes, roles = labels["role"]
        labels["role"] = np.array(roles)[codes]
        return cls(read_columns(features), labels, weights, truth, known)

    def rows_of(self, repeat):
        """Positions in `X` of all rows of a repeat, in the order of its labels."""
        kept = self._kept(repeat)
        if "places" not in kept:
            kept["places"] = found_rows(
                self.rows,
                self.labels[repeat]["row"],
                f"Labels of repeat {repeat} are of rows that the features do not have: delete the "
                "results of the study and run again.",
            )
        return kept["places"]

    def keys(self, rows):
        """Keys (n,) that rows are drawn by: their ids, or their places where ids do not ascend.

        Features of one's own table stand in the order of their content; ids tell that of the file.
        """
        if (self.rows[1:] > self.rows[:-1]).all():
            return rows
        return found_rows(self.rows, rows, "Rows are not among the features: run the study again.")

    def _kept(self, repeat):
        """What is kept of the repeat that was looked at last, and of no other."""
        if self._lately[0] != repeat:
            self._lately = repeat, {}
        return self._lately[1]

    def positions(self, repeat, mask):
        """Positions in `X` of the rows of a repeat where `mask` holds."""
        return self.rows_of(repeat)[mask]

    def taken(self, where):
        """Rows of `X` to be looked at a block at a time: as they are made, where they are many."""
        return taken(self.X, where)

    def in_order(self, where):
        """Places among rows `where` of `X`, in the order in which fits take them."""
        return np.arange(len(where))

    def role(self, repeat, name):
        """Mask over the rows of a repeat; it is kept, and not to be changed."""
        kept = self._kept(repeat)
        if ("role", name) not in kept:
            kept["role", name] = self.labels[repeat]["role"] == name
        return kept["role", name]

    def selected_share(self, repeat):
        """Labeled rows as a share of all training rows."""
        labeled = self.role(repeat, "labeled").sum()
        return labeled / (labeled + self.role(repeat, "unlabeled").sum())

    def training(self, repeat, target, *, seen=False):
        """``X, y, weight, row ids`` to learn from; an oracle gets the target's own rows.

        With `seen`, an oracle gets the labeled rows too, as everybody does. With ``drawn_by`` it
        gets no more rows than are labeled, drawn from those.
        """
        labels = self.labels[repeat]
        if self.truth is not None and not seen:
            mask = self.role(repeat, "unlabeled")
            mask = ~self.role(repeat, "test") if target == "general" else mask
            if self.drawn_by is not None:
                mask = self._as_many(repeat, target, mask)
            y = self.truth[repeat][f"y_{target}"][mask]
        else:
            mask = self.role(repeat, "labeled")
            y = labels[f"y_{target}"][mask]
        where = self.positions(repeat, mask)
        weight = None
        if self.weights is not None:
            table = self.weights[repeat]
            if not np.array_equal(table["row"], self.rows[where]):
                raise CounterweightError(
                    f"The weights of repeat {repeat} are not those of its labeled rows: delete the "
                    "weights folder of the study and run again."
                )
            weight = table["weight"]
        at, y = self._taken(where, repeat), y if self.numbers else y.astype(int)
        weight = None if weight is None else weight[at]
        return self.X[where[at]], y[at], weight, self.rows[where[at]]

    def _taken(self, where, repeat):
        """Places among rows `where` of `X` that a fit learns from, in the order that it takes."""
        return slice(None)

    def _as_many(self, repeat, target, mask):
        """A random part of the rows of a mask, as many as are labeled; all if there are fewer."""
        rows, most = np.flatnonzero(mask), int(self.role(repeat, "labeled").sum())
        if len(rows) <= most:
            return mask
        rng = generator(*self.drawn_by, repeat, f"rows of an oracle for {target}")
        drawn = np.zeros(len(mask), bool)
        drawn[rng.choice(rows, most, replace=False)] = True
        return drawn

    def taken_by(self, component):
        """The same rows as a class of models takes them."""
        return self

    def keep_rates(self, repeat, target):
        """Rates at which labeled rows were kept before they came here; None where all were."""
        labels = self.labels[repeat]
        if "keep_rate" not in labels:
            return None
        rates = labels["keep_rate"][self.role(repeat, "labeled")]
        return rates if (rates < 1).any() else None

    def unlabeled(self, repeat, target):
        """Unlabeled training rows: ``X`` (N, d), and for an oracle their labels (N,), else None."""
        mask = self.role(repeat, "unlabeled")
        X = self.X[self.positions(repeat, mask)]
        if self.truth is None:
            return X, None
        return X, self.truth[repeat][f"y_{target}"][mask].astype(int)

    def sampled(self, repeat, target, test=False):
        """All training rows (or test rows) of a repeat with what may be seen of them.

        ``X``, ``y`` (1, 0; -1 where hidden), ``weight`` (1 where there is none, of training rows
        times 1 / the rate at which each was kept), ``members`` (masks of the named data sets, by
        name), ``deployed`` (score of a deployed model, or None) and, where rows are copies of
        others, ``copies``.
        """
        labels = self.labels[repeat]
        mask = self.role(repeat, "test") == test
        where = self.positions(repeat, mask)
        y = labels[f"y_{target}"][mask].astype(float)
        weight = np.ones(len(y))
        if self.weights is not None and not test:
            weight[self.role(repeat, "labeled")[mask]] = self.weights[repeat]["weight"]
        if "keep_rate" in labels and not test:
            weight = weight / labels["keep_rate"][mask]
        told = ((name, values[mask]) for name, values in labels.items() if name.startswith("in_"))
        members = {name.removeprefix("in_"): values.astype(bool) for name, values in told}
        deployed = labels["deployed"][mask] if "deployed" in labels else None
        y = np.where(np.isnan(y), -1, y).astype("int8")
        sampled = {"X": self.X[where], "y": y, "weight": weight}
        sampled |= {"copies": labels["copies"][mask]} if "copies" in labels else {}
        return sampled | {"members": members, "deployed": deployed}

    def test(self, repeat, target):
        """Positions in `X` of the test rows that stand for the target population."""
        return self.positions(repeat, self.tested(repeat, target))

    def tested(self, repeat, target):
        """Mask over the rows of a repeat: the test rows that stand for the target population."""
        mask = self.role(repeat, "test")
        return mask & (self.labels[repeat]["selected"] == 0) if target == "unlabeled" else mask
