"""Named data sets over one table of rows: told by expressions, columns, functions or masks."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import (
    as_numbers,
    check_same_columns,
    checked_weights,
    group_sums,
    labels_of,
    number_table,
    one_of_each,
)
from counterweight.numerics.rates.language import (
    BUILTIN_SETS,
    UndefinedRate,
    check_set,
    is_name,
    nearest,
    set_text,
)
from counterweight.numerics.rates.values import bases, constraint_values, measure


def is_sparse(X):
    """Whether `X` is a scipy sparse matrix, asked without importing scipy."""
    return hasattr(X, "tocsr")


def checked_features(X, what="features"):
    """Rows as a float matrix, dense or csr; raises unless every value is a finite number."""
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise CounterweightError(
            f"Complex data not supported: the {what} must be real numbers, not complex ones."
        )
    if is_sparse(X):
        X = X.tocsr()
        X = X if X.dtype == float else X.astype(float)
        bad = np.flatnonzero(~np.isfinite(X.data))
        rows = np.unique(np.searchsorted(X.indptr, bad, side="right") - 1)
    else:
        X = number_table(X, empty=True)
        # The sum is finite if all values are: one pass without a table of flags.
        whole = np.isfinite(X.sum()) or np.isfinite(X).all()
        rows = () if whole else np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(rows):
        raise CounterweightError(
            f"Missing or infinite values in {len(rows)} rows of the {what} "
            f"(first: row {rows[0]}): fill or drop them first."
        )
    return X


def checked_seen_labels(y, rows, what="label"):
    """Labels as int8, one for each row: 1, 0, or -1 where hidden; others are refused."""
    y = np.asarray(y)
    if y.shape != (rows,):
        raise CounterweightError(f"There are {rows} rows but a {what} of shape {y.shape}.")
    if y.dtype.kind == "O" and all(isinstance(value, (bool, int, float, np.number)) for value in y):
        y = y.astype(float)
    if y.dtype.kind not in "biuf" or not np.isin(y, (-1, 0, 1)).all():
        numbers = y.dtype.kind in "biuf"
        values = np.unique(y if numbers else y.astype(str)).tolist()
        raise CounterweightError(
            f"Each {what} must be 0 or 1 (or -1 where hidden); found {listed(values)}: "
            "recode it first."
        )
    return y.astype(np.int8)


def _own_labels(y, rows, what):
    """Labels of a person's own table: -1 and 1 alone are more likely two classes."""
    y = checked_seen_labels(y, rows, what)
    if (y == 1).any() and (y == -1).any() and not (y == 0).any():
        raise CounterweightError(
            f"The values of the {what} are -1 and 1, and -1 marks a hidden label here: recode "
            "negatives to 0."
        )
    return y


#: What to do where a cross-validation cut the rows, and not the masks.
_SLICED = (
    "; a cross-validation cuts masks where they are a data frame, one column each, and need not "
    "cut names of columns or functions of the rows"
)


class DataSets:
    """Rows and the data sets that they are in; a row may be in several.

    ``everyone`` (all rows), ``labeled`` (rows with a seen label) and ``unlabeled`` are always
    there. Raises for shapes that differ, values that are not finite, labels that are not binary,
    and names that the language cannot read.

    Parameters
    ----------
    X : array or scipy.sparse matrix (n, d), or None
        Features; None where only predictions are to be measured.
    y : array (n,) of 1, 0, and -1 where the label is hidden
    weight : array (n,), optional
        Used by rates that need labels, and by all rates on ``labeled``. 1 by default.
    members : dict of str to bool array (n,), optional
        The named data sets.
    deployed : array (n,), optional
        Score of the deployed model, positive prediction iff above 0; NaN where it has none.
    main : bool array (n,), optional
        Rows that the built-in sets are made of; the others are in named sets only.
    copies : int array (n,), optional
        The same number for rows that are copies of each other: they are one draw, and in one part.
    """

    def __init__(self, X, y, weight=None, members=None, deployed=None, main=None, copies=None):
        rows = X.shape[0] if hasattr(X, "shape") else len(y if X is None else X)
        self.X = None if X is None else checked_features(X)
        self.y = checked_seen_labels(y, rows)
        self.weight = _weights(weight, rows)
        self.main = np.ones(rows, bool) if main is None else np.asarray(main, bool)
        members = members or {}
        self.members = {name: self._mask(name, mask, rows) for name, mask in members.items()}
        self.deployed = None if deployed is None else _scores_of(deployed, rows)
        self.copies = copies

    @staticmethod
    def _mask(name, mask, rows):
        if name in BUILTIN_SETS:
            raise CounterweightError(f"{name} is always there: give the data set another name.")
        if not is_name(name):
            raise CounterweightError(
                f"A data set cannot be called {name!r}: use letters, digits and _."
            )
        if isinstance(mask, list) and len(mask) != rows:
            raise CounterweightError(
                f"The data set {name} needs one true or false for each of the {rows} rows, got a "
                f"list of {len(mask)}; a table is given as a tuple (X, y)."
            )
        mask = np.asarray(mask)
        if (
            mask.shape != (rows,)
            or mask.dtype.kind not in "biuf"
            or not np.isin(mask, (0, 1)).all()
        ):
            raise CounterweightError(
                f"The data set {name} needs one true or false for each of the {rows} rows, got "
                f"{mask.dtype} of shape {mask.shape}"
                f"{_SLICED if mask.shape[:1] != (rows,) else ''}."
            )
        return mask.astype(bool)

    def __len__(self):
        return len(self.y)

    @property
    def names(self):
        """Names of all data sets, the built-in ones first."""
        return [*BUILTIN_SETS, *self.members]

    def mask(self, sets):
        """Rows of a data set, as the language's tuple of alternatives; bool (n,).

        Raises where a name is unknown; `UndefinedRate` where no row is in the set.
        """
        rows = np.zeros(len(self), bool)
        for part in sets:
            rows |= np.all([self._named(name) for name in part], axis=0)
        if not rows.any():
            raise UndefinedRate(
                f"The data set {set_text(sets)} has no rows among the {len(self)} here: drop "
                "what is asked of it, or give it rows."
            )
        return rows

    def _named(self, name):
        if name in BUILTIN_SETS:
            sides = {"labeled": self.y >= 0, "unlabeled": self.y < 0}
            return self.main & sides.get(name, True)
        check_set(name, self.names)
        return self.members[name]

    @staticmethod
    def weighted(sets):
        """Whether label-free rates on the set use the weights: all of it is ``labeled``."""
        return all("labeled" in part for part in sets)

    def only(self, rows):
        """The same table with every data set cut to some rows (bool (n,)); no copy of `X`."""
        cut = object.__new__(DataSets)
        cut.X, cut.y, cut.weight, cut.deployed = self.X, self.y, self.weight, self.deployed
        cut.copies = self.copies
        cut.main = self.main & rows
        cut.members = {name: mask & rows for name, mask in self.members.items()}
        return cut

    def held_out(self, share, rng):
        """A random share of the rows of every combination of data sets and label; bool (n,)."""
        one, place = one_of_each(self.copies, len(self))
        rank, order = self._ranks(rng, one)
        held = np.zeros(len(one), bool)
        held[order] = np.floor((rank + 1) * share + 0.5) > np.floor(rank * share + 0.5)
        return held[place]

    def folds(self, count, rng, constraints=()):
        """Parts 0 to count - 1, alike in every combination of data sets and label; int (n,).

        Each part has rows of what the rates of `constraints` are shares of, where there are as
        many: those that would be in fewer parts are dealt out one by one, the fewest last.
        """
        one, place = one_of_each(self.copies, len(self))
        rank, order = self._ranks(rng, one)
        part = np.zeros(len(one), dtype=np.int64)
        part[order] = rank % count
        for mask in sorted(bases(constraints, self).values(), key=np.count_nonzero, reverse=True):
            rows = order[mask[one][order]]
            if len(np.unique(part[rows])) < min(count, len(rows)):
                part[rows] = np.arange(len(rows)) % count
        return part[place]

    def by_draw(self, values, rows=slice(None)):
        """Numbers (..., n) of some rows, summed up over the copies of each."""
        if self.copies is None:
            return values
        return np.apply_along_axis(group_sums, -1, values, self.copies[rows])

    def _ranks(self, rng, one):
        """Rows `one` by their combination, in random order within; the rank of each there."""
        kinds = np.column_stack([self.y, self.main, *self.members.values()]).astype(np.int8)
        _, kind = np.unique(kinds[one], axis=0, return_inverse=True)
        order = rng.permutation(len(one))
        order = order[np.argsort(kind.ravel()[order], kind="stable")]
        in_order = kind.ravel()[order]
        return np.arange(len(order)) - np.searchsorted(in_order, in_order), order

    def measure(self, p, expressions, options=None, *, errors=False, decided=None):
        """Expressions of rates for predictions `p`: `counterweight.numerics.rates.measure`.

        Of `options`, the numbers are parameters. What cannot be known here, such as the error
        on rows whose labels are hidden, is NaN.
        """
        numbers = {
            name: value
            for name, value in (options or {}).items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        shared = {"errors": errors, "undefined": "nan", "decided": decided}
        return measure(p, self, expressions, numbers, **shared)

    def constraint_values(self, p, decided, constraints, parameters=None):
        """`counterweight.numerics.rates.values.constraint_values` on these rows."""
        return constraint_values(p, decided, self, constraints, parameters)

    @classmethod
    def stack(cls, X, y, weight=None, datasets=None, deployed=None):
        """Data sets given as masks over `X` or as tables of their own.

        `X`, `y` and `weight` are rows of ``everyone``. `datasets` are masks (n,) by name, or tuples
        ``X2, y2`` and if need be ``weight2`` and ``deployed2``, None for what there is not; all
        tables have the same number of features. `deployed` are scores of the deployed model on `X`,
        or a function from features to scores, which is asked about the rows of all data sets.
        """
        X = checked_features(X)
        n, d = X.shape
        if not n:
            raise CounterweightError("There are no rows to learn from: X has none.")
        y = _own_labels(y, n, "label")
        tables, parts = [X], [(y, _weights(weight, n), None)]
        masks, own = {}, {}
        if not (datasets is None or hasattr(datasets, "items")):
            raise CounterweightError(
                "datasets must be a dict of names to masks or to tables (X, y), not "
                f"{type(datasets).__name__}."
            )
        for name, given in (datasets or {}).items():
            if not isinstance(given, tuple):
                masks[name] = cls._mask(name, given, n)
                continue
            rows2, *part = _own_table(name, given, d)
            own[name] = len(tables)
            tables.append(rows2)
            parts.append(part)
        scores = _scores(tables, [part[2] for part in parts], deployed)
        table = np.repeat(np.arange(len(tables)), [rows.shape[0] for rows in tables])
        more = np.zeros(len(table) - n, bool)
        members = {name: np.append(mask, more) for name, mask in masks.items()}
        members |= {name: table == number for name, number in own.items()}
        y, weight = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        return cls(_stacked(tables), y, weight, members, scores, table == 0)


def _weights(weight, rows, where=""):
    """Weights as floats; ones if None."""
    return checked_weights(None if weight is None else as_numbers(weight, f"weights{where}"), rows)


def _stacked(tables):
    if len(tables) == 1:
        return tables[0]
    if any(is_sparse(table) for table in tables):
        from scipy import sparse

        return sparse.vstack(tables, format="csr")
    return np.concatenate(tables)


def _own_table(name, given, features):
    """Rows, labels, weights and scores of a data set that is a table of its own."""
    if len(given) not in (1, 2, 3, 4):
        raise CounterweightError(
            f"The data set {name} must be a mask or (X, y, weight, deployed scores)."
        )
    rows, y, weight, deployed = (*given, None, None, None)[:4]
    rows = checked_features(rows, f"features of the data set {name}")
    count, d = rows.shape
    if d != features:
        raise CounterweightError(
            f"The data set {name} has {d} features, the rows to train on {features}: give all data "
            "sets the same ones."
        )
    if not count:
        raise CounterweightError(f"The data set {name} has no rows.")
    y = np.full(count, -1, np.int8) if y is None else y
    y = _own_labels(y, count, f"label of the data set {name}")
    return rows, y, _weights(weight, count, f" of the data set {name}"), deployed


def _scores(tables, given, deployed):
    """Scores of the deployed model on all rows, NaN where unknown; None if nowhere known."""
    if callable(deployed):
        pairs = zip(tables, given, strict=True)
        given = [deployed(table) if own is None else own for table, own in pairs]
    else:
        given = [deployed, *given[1:]]
    if all(own is None for own in given):
        return None
    pairs = zip(tables, given, strict=True)
    return np.concatenate([_scores_of(own, table.shape[0]) for table, own in pairs])


def _scores_of(own, rows):
    """Scores of the deployed model as floats; NaN if None."""
    own = as_numbers(np.full(rows, np.nan) if own is None else own, "scores of the deployed model")
    if own.shape != (rows,):
        raise CounterweightError(
            f"There are {rows} rows but scores of the deployed model of shape {own.shape}: give "
            "one for each row, NaN where there is none."
        )
    return own


def follows(given):
    """Whether a data set is a rule that tells the rows of any frame: a column or a function."""
    return isinstance(given, str) or callable(given)


def named_masks(datasets, X):
    """Data sets as masks and tables, whatever they were told by.

    `datasets` is a dict, a data frame of masks, or None. A data set is told by a name of a column
    of X (true or false, or 1 and 0); a function of X that gives a mask; a mask, which goes by the
    index where both it and X have one; or a table as a tuple. Raises for columns that X lacks or
    that hold other values, and for masks with another index.
    """
    if not hasattr(datasets, "items"):
        return datasets
    return {name: _mask(name, given, X) for name, given in datasets.items()}


def _mask(name, given, X):
    if isinstance(given, tuple) and given:
        told = f"the data set {name}"
        check_same_columns(labels_of(X), labels_of(given[0]), told, warn=False)
    if isinstance(given, str):
        return _column(name, given, X)
    if callable(given):
        try:
            return np.asarray(given(X))
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            kind = "a data frame" if hasattr(X, "columns") else f"a {type(X).__name__}"
            raise CounterweightError(
                f"The function of the data set {name} cannot use the rows, which are {kind}: "
                f"{type(error).__name__} {error}."
            ) from error
    if hasattr(given, "reindex") and hasattr(X, "columns") and not given.index.equals(X.index):
        return _by_index(name, given, X)
    return given


def _column(name, column, X):
    if not hasattr(X, "columns"):
        raise CounterweightError(
            f"The data set {name} is told by the column {column!r}, and the rows are no data "
            "frame: give one, or a mask."
        )
    known = [str(one) for one in X.columns]
    if column not in known:
        raise CounterweightError(
            f"There is no column {column!r} for the data set {name}{nearest(column, known)} "
            f"(columns: {listed(known, 20)})."
        )
    values = X[column]
    if values.isna().any() or not values.isin([0, 1]).all():
        found = listed([str(value) for value in values.unique()[:5]])
        raise CounterweightError(
            f"The column {column!r} of the data set {name} must be true or false (or 1 and 0), it "
            f"has {found}: give a function, e.g. {name}=lambda X: X[{column!r}] == "
            f"{values.iloc[0]!r}."
        )
    return values.to_numpy().astype(bool)


def _by_index(name, mask, X):
    """A mask of a longer table, cut to the rows of X."""
    known = mask.index.is_unique and len(mask) > len(X) and X.index.isin(mask.index).all()
    if not known:
        raise CounterweightError(
            f"The mask of the data set {name} has another index than the rows: bring both in one "
            "order, or give the mask as an array."
        )
    return mask.loc[X.index].to_numpy()
