"""A sample as a data frame, its adjustment to a target (table or margins), and means by it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, Shown, html_facts, listed
from counterweight.numerics.checks import checked_weights, pandas_frame
from counterweight.numerics.estimate import from_moments, shape_of
from counterweight.weighting.coded import Coded, Column, as_column, binned, code_tables
from counterweight.weighting.importance_weights import effective_sample_size
from counterweight.weighting.targets import (
    fit_balance,
    fit_odds,
    gram,
    post_stratify,
    rake,
    require_means,
    shares_of,
    solved,
    standard,
    times,
    trim_weights,
    weighted_sums,
)

#: What each method is called in a sentence.
METHODS = {
    "cbps": "the covariate-balancing propensity",
    "ipw": "the odds of a logistic regression",
    "rake": "raking to margins",
    "poststratify": "post-stratification",
    "given": "the weights given",
}


class Adjusted:
    """A sample and weights by which it stands for its target; made by `Sample.adjust`.

    Attributes
    ----------
    weights : pandas.Series
        One a row, by the sample's id (its index where it has none). They sum to the target's total:
        of its weights (its rows, where it has none), of margins given as totals, or of the sample's
        own weights where margins are shares.
    design_effect : float
        Rows over effective rows (Kish 1965).
    effective_rows : float
    largest : float
        The largest weight over the mean weight.
    mean_difference_before, mean_difference_after : float
        Mean over columns of the absolute standardised differences; the levels of a column share
        its place.
    method : str
    converged : bool
    notes : list of str
        Sentences: what was made of the columns, what the target has that the sample lacks.
    """

    def __init__(self, frame, index, base, weights, columns, influence, method, **facts):
        self._frame, self._base, self._columns = frame, base, columns
        self._influence = influence
        self._target_rows = facts.pop("target_rows")
        self.method = method
        self.converged = facts.pop("converged")
        self.notes = facts.pop("notes")
        self.weights = pd.Series(weights, index=index, name="weight")
        self.effective_rows = effective_sample_size(weights)
        self.design_effect = len(weights) / self.effective_rows
        self.largest = float(weights.max() / weights.mean())
        self._balance = _balance_table(columns, base, weights)
        flags = {c.name for c in columns if c.is_flag}
        table = self._balance
        table = table[~(table["column"].isin(flags) & (table["level"] == "missing"))]
        self.mean_difference_before, self.mean_difference_after = (
            float(table[part].abs().groupby(table["column"]).mean().mean())
            for part in ("before", "after")
        )

    def balance(self):
        """Standardised differences, a line for each number and each level.

        Returns
        -------
        pandas.DataFrame
            ``column``, ``level`` (empty for a number); ``sample``, ``adjusted`` and ``target``:
            means or shares of the values present; ``before`` and ``after``: (mean - mean of the
            target) / standard deviation of the target, 0 where that is 0.
        """
        return self._balance.copy()

    def worst(self):
        """What has the largest difference left, in print, and its line of `balance`.

        Returns
        -------
        name : str
        line : pandas.Series
        """
        line = self._balance.loc[self._balance["after"].abs().idxmax()]
        return line["column"] + (f" = {line['level']}" if line["level"] else ""), line

    def mean(self, column, *, equals=None, level=0.95, fixed_target=False):
        """Weighted mean of a column for the target, with a standard error.

        The error knows that the weights were made to meet the target: residuals of the column on
        what was balanced for calibrated weights (Deville & Särndal 1992), the scores of the
        logistic regression for odds, and the chance in a target that is a sample itself.
        Trimmed or given weights, and columns with missing values, are taken as they are.

        Parameters
        ----------
        column : str
            Of the sample's frame; rows where it is missing are left out.
        equals : str, optional
            The mean is then the share of rows with this value.
        level : float
            Coverage of the interval.
        fixed_target : bool
            Whether the target's rows are the whole population, not a sample of it.
        """
        if column not in self._frame:
            raise CounterweightError(
                f"The sample has no column {column!r}; it has {listed(list(self._frame.columns))}."
            )
        values = self._frame[column]
        missing = values.isna().to_numpy()
        if equals is not None:
            y = np.where(missing, np.nan, (values == equals).to_numpy(dtype=float, na_value=np.nan))
        else:
            y = as_column(values, column)
            if getattr(y, "dtype", None) is None or y.dtype.kind != "f":
                raise CounterweightError(
                    f"Column {column!r} is text, which has no mean: name a value by equals, for "
                    "its share."
                )
        weights = self.weights.to_numpy()
        used = ~missing & (weights > 0)
        if not used.any():
            raise CounterweightError(f"Column {column!r} has no value in rows with weight.")
        w = np.where(used, weights, 0.0)
        w = w / w.sum()
        value = float(w[used] @ y[used])
        centered = np.where(used, y - value, 0.0)
        own, other = w * centered, np.zeros(0)
        if self._influence is not None and not missing.any():
            own, other = self._influence(w, centered)
        parts = [own] if fixed_target or other is None else [own, other]
        second, third, fourth = (
            sum(float((part**power).sum()) for part in parts) for power in (2, 3, 4)
        )
        rows = int(used.sum())
        return from_moments(
            value,
            second,
            shape_of(rows, 1.0, second, third, fourth, float(w @ own)),
            rows=rows,
            total=1.0,
            effective_rows=effective_sample_size(w[used]),
            largest_weight=float(w.max() * rows),
            level=level,
        )

    def summary(self):
        """What was reached, at what price, and what the target has that the sample lacks."""
        n, table = len(self.weights), self._balance
        stands = "known margins" if self._target_rows is None else f"{self._target_rows:,} rows"
        name, worst = self.worst()
        lines = [
            f"{n:,} rows stand for {stands} by {METHODS[self.method]}, over "
            f"{table['column'].nunique()} columns.",
            f"The mean standardised difference was {_small(self.mean_difference_before)} and is "
            f"{_small(self.mean_difference_after)}; the largest left is {_small(worst['after'])} "
            f"({name}).",
            f"The price is a design effect of {self.design_effect:.2f}: the rows are worth "
            f"{self.effective_rows:,.0f} of equal weight, and the largest weight is "
            f"{self.largest:.1f} times the mean.",
        ]
        if not self.converged:
            lines.append("The weights did not reach all that was asked of them.")
        return "\n".join([*lines, *self.notes])

    def __repr__(self):
        return f"Adjusted:\n{self.summary()}"

    def _repr_html_(self):
        said = dict(enumerate(self.summary().split("\n"), start=1))
        return html_facts("Adjusted", said) + self.balance().round(3).to_html(index=False, border=0)


def _small(difference):
    """The size of a standardised difference in print: what is next to nothing is 0."""
    return f"{abs(difference):.2g}" if abs(difference) >= 5e-5 else "0"


def percent(share):
    """A share in print."""
    return f"{100 * share:.3g} %" if not 0 < share < 1e-4 else "less than 0.01 %"


def lacking(columns, weight, target_weight):
    """Sentences on what the target has that the sample lacks: levels, and numbers out of range."""
    lines, there = [], weight > 0
    for column in columns:
        if column.is_number:
            if column.other is None or column.is_flag:
                continue
            low, high = np.nanmin(column.own[there]), np.nanmax(column.own[there])
            outside = (column.other < low) | (column.other > high)
            share = target_weight[outside].sum() / target_weight.sum()
            if share > 0:
                lines.append(
                    f"{percent(share)} of the target lie beyond the sample's range of "
                    f"{column.name} ({low:g} to {high:g})."
                )
            continue
        mean = column.means(weight)
        unseen = np.flatnonzero((column.mean > 0) & ~(mean > 0))
        if len(unseen):
            lines.append(
                f"The target has {column.name} = {listed([column.labels[k] for k in unseen])} "
                f"({percent(column.mean[unseen].sum())} of it), and the sample has no row of that."
            )
    return lines


def _balance_table(columns, base, weights):
    parts = []
    for column in columns:
        before, after = column.means(base), column.means(weights)
        spread = np.where(column.spread > 0, column.spread, np.inf)
        parts.append(
            pd.DataFrame(
                {
                    "column": column.name,
                    "level": [str(label) for label in column.labels],
                    "sample": before,
                    "adjusted": after,
                    "target": column.mean,
                    "before": (before - column.mean) / spread,
                    "after": (after - column.mean) / spread,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


class Sample(Shown):
    """Rows that were not drawn at random from those that they are to stand for.

    Parameters
    ----------
    frame : pandas.DataFrame
        Numbers, booleans, dates, text or categories, one row at least.
    id : str, optional
        Column that names the rows, each once.
    weight : str, optional
        Column of design weights: how many members of its population a row stands for.
    columns : sequence of str, optional
        Columns to balance; those that both sample and target have, where neither names any.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        id: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        frame = pandas_frame(frame, "rows of a sample")
        if not len(frame):
            raise CounterweightError("A sample is a data frame with one row at least: it has none.")
        twice = frame.columns[frame.columns.duplicated()]
        if len(twice):
            raise CounterweightError(f"Column {twice[0]!r} stands twice in the table: rename one.")
        for name in [id, weight, *(columns or ())]:
            if name is not None and name not in frame:
                raise CounterweightError(
                    f"The table has no column {name!r}; it has {listed(list(frame.columns))}."
                )
        self.frame, self.id, self.columns = frame, id, columns
        self.roles = {name for name in (id, weight) if name is not None}
        if id is not None:
            wrong = frame[id].isna() | frame[id].duplicated()
            if wrong.any():
                first = int(np.flatnonzero(wrong)[0])
                raise CounterweightError(
                    f"Id column {id!r} is missing or repeated in {int(wrong.sum())} rows (first: "
                    f"row {first}): each row needs an id of its own."
                )
        self.weight = np.ones(len(frame))
        if weight is not None:
            values = as_column(frame[weight], weight)
            if getattr(values, "dtype", None) != np.float64:
                raise CounterweightError(f"Weight column {weight!r} is text: weights are numbers.")
            self.weight = checked_weights(values, len(frame))

    def _shown(self):
        told = {"rows": f"{len(self.frame):,}", "id": self.id or "none"}
        return told | {"rows of equal weight": f"{effective_sample_size(self.weight):,.0f}"}

    def _repr_html_(self):
        kinds = {f"column {name}": str(kind) for name, kind in self.frame.dtypes.items()}
        return html_facts("Sample", self._shown() | kinds)

    def adjust(
        self,
        target: Sample | pd.DataFrame | dict,
        method: str | None = None,
        *,
        weights: ArrayLike | None = None,
        l2: float = 1e-3,
        most_effect: float | None = None,
        trim: float | None = None,
        bins: int = 10,
        most_levels: int = 50,
    ) -> Adjusted:
        """Weights by which the sample stands for a target.

        Parameters
        ----------
        target : Sample, pandas.DataFrame or dict
            A table, or margins by column: ``{"sex": {"f": .51, "m": .49}, "age": {"mean": 41.2}}``;
            shares, or totals of one population. A tuple of columns has tuples of levels. A mean may
            have its standard deviation beside it (``"sd"``).
        method : {"cbps", "ipw", "rake", "poststratify"}, optional
            See `targets`. For a table "cbps" unless named, for margins "rake", which then meets
            means as well. Raking and post-stratification to a table cut its numbers into `bins`.
        weights : array, shape (n,), optional
            Weights from elsewhere, to be judged instead of made.
        l2 : float
            Of cbps and ipw: the penalty on coefficients of standardised features.
        most_effect : float, optional
            Of cbps: the largest design effect to pay.
        trim : float, optional
            No weight is then more than so many times the mean.
        bins : int
        most_levels : int
            Levels of a text column of a table that are told apart; its rarest share one.

        Raises
        ------
        CounterweightError
            When the target cannot be met or the method does not fit it; names the column.
        """
        table = not isinstance(target, dict)
        method = "given" if weights is not None else method or ("cbps" if table else "rake")
        if method not in METHODS:
            raise CounterweightError(
                f"method is {method!r}; it must be one of cbps, ipw, rake, poststratify."
            )
        if most_effect is not None and method != "cbps":
            raise CounterweightError(f"most_effect is an option of cbps, not of {method}.")
        if table:
            target = target if isinstance(target, Sample) else Sample(target)
            columns, notes = self._coded(target, most_levels)
            other, total = target.weight, target.weight.sum()
        else:
            columns, total = _of_margins(self.frame, target)
            other, notes = None, []
            total = self.weight.sum() if total is None else total
        options = {"l2": l2, "most_effect": most_effect, "bins": bins}
        made = _METHODS_OF[method](columns, self.weight, other, options, weights)
        weights, influence, converged = made
        weights = weights * (total / weights.sum())
        if trim is not None:
            cut = trim_weights(weights, mean_ratio=trim)
            if (cut != weights).any():
                capped = int((cut >= cut.max() * (1 - 1e-12)).sum())
                notes.append(f"{capped:,} weights were cut to {trim:g} times the mean.")
                weights, influence = cut, None
        index = self.frame.index if self.id is None else pd.Index(self.frame[self.id])
        return Adjusted(
            self.frame,
            index,
            self.weight,
            weights,
            columns,
            influence,
            method,
            target_rows=len(other) if table else None,
            converged=converged,
            notes=notes,
        )

    def _coded(self, target, most_levels):
        """Columns to balance, coded alike in both tables, and what is to be said of them."""
        names = self._shared(target)
        columns, notes = code_tables(self.frame, target.frame, names, target.weight, most_levels)
        if not columns:
            raise CounterweightError(
                f"None of the columns {listed(names)} can be balanced: " + " ".join(notes)
            )
        return columns, notes + lacking(columns, self.weight, target.weight)

    def _shared(self, target):
        """Columns to balance."""
        asked = self.columns if self.columns is not None else target.columns
        away = self.roles | target.roles
        if asked is None:
            asked = [name for name in self.frame if name in target.frame and name not in away]
        for where, frame in (("sample", self.frame), ("target", target.frame)):
            lost = [name for name in asked if name not in frame]
            if lost:
                raise CounterweightError(
                    f"The {where} has no column {lost[0]!r}, which is to be balanced: leave it out "
                    "of columns."
                )
        if not asked:
            raise CounterweightError(
                "Sample and target have no column in common besides ids and weights."
            )
        return list(asked)


def _balanced(columns, weight, other, options, _):
    """Covariate-balancing propensity; to means exactly where the ridge is 0."""
    X = Coded(columns)
    mean = np.concatenate([_reachable(c, weight, options["l2"]) for c in columns])
    known = np.concatenate([c.spread for c in columns])
    fit = fit_balance(
        X,
        mean,
        weight,
        options["l2"],
        None if np.isnan(known).any() else known**2,
        options["most_effect"],
    )
    names = [f"{c.name} = {label}" if label else c.name for c in columns for label in c.labels]
    require_means(fit, options["l2"], names)
    target = Coded(columns, "other") if other is not None else None
    return fit.weights, _residuals(X, target, other, fit.center, fit.scale), fit.converged


def _reachable(column, weight, l2):
    """Target's means; the levels that the sample has stand for those that it lacks."""
    if column.is_number or not l2:
        return column.mean
    seen = column.means(weight) > 0
    share = column.mean[seen].sum()
    return np.where(seen, column.mean / share, column.mean) if share > 0 else column.mean


def _odds(columns, weight, other, options, _):
    if other is None:
        raise CounterweightError(
            "ipw compares rows with rows, and the target has margins only: use cbps or rake."
        )
    X, X_target = Coded(columns), Coded(columns, "other")
    fit = fit_odds(X, X_target, weight, other, options["l2"])

    def influence(w, centered):
        Z = standard(X, fit.center, fit.scale)
        Z_target = standard(X_target, fit.center, fit.scale)
        lean = np.r_[0.0, weighted_sums(Z, w * centered)]
        z = solved(fit.curvature, lean)
        parts = []
        for table, mass in ((Z, weight), (Z_target, other)):
            eta = fit.coef[0] + times(table, fit.coef[1:])
            p = 1 / (1 + np.exp(np.clip(-eta, -700, 700)))
            wrong = 1 - p if table is Z else -p
            score = mass / mass.sum() / 2 * wrong
            parts.append(-score * (z[0] + times(table, z[1:])))
        return w * centered + parts[0], parts[1]

    return fit.weights, influence, fit.converged


def _raked(columns, weight, other, options, _):
    if other is None and any(c.is_number for c in columns):
        return _balanced(columns, weight, other, {"l2": 0.0, "most_effect": None}, _)
    cut = _as_margins(columns, weight, other, options["bins"])
    margins = [column.mean for column in cut]
    codes = [column.own for column in cut]
    weights = rake(codes, margins, weight, names=[c.name for c in cut])
    X, target = Coded(cut), Coded(cut, "other") if other is not None else None
    mean = np.concatenate(margins)
    return weights, _residuals(X, target, other, mean, np.ones(len(mean))), True


def _stratified(columns, weight, other, options, _):
    if other is None:
        if len(columns) != 1 or columns[0].is_number:
            raise CounterweightError(
                f"Post-stratification takes the shares of one set of cells, not of "
                f"{listed([c.name for c in columns])}: give their joint shares under a tuple of "
                "columns, or rake."
            )
        cells, cells_target, shares = columns[0].own, None, columns[0].mean
    else:
        cut = _as_margins(columns, weight, other, options["bins"], strict=False)
        joined = np.zeros(len(weight) + len(other), dtype=np.int64)
        for column in cut:
            both = np.r_[column.own, column.other]
            joined = np.unique(joined * (both.max() + 1) + both, return_inverse=True)[1]
        cells, cells_target = joined[: len(weight)], joined[len(weight) :]
        shares = np.bincount(cells_target, other, joined.max() + 1) / other.sum()
    name = " x ".join(dict.fromkeys(c.name for c in columns))
    weights = post_stratify(cells, shares, weight, name=name)

    def influence(w, centered):
        inside = np.bincount(cells, w, len(shares))
        level = np.bincount(cells, w * centered, len(shares))
        level = np.divide(level, inside, out=np.zeros_like(level), where=inside > 0)
        theirs = None if other is None else other / other.sum() * level[cells_target]
        return w * (centered - level[cells]), theirs

    return weights, influence, True


def _given(columns, weight, other, options, weights):
    return checked_weights(weights, len(weight)), None, True


#: How each method makes its weights: columns, design weights, target's weights, options, given
#: weights -> weights, their influence on a mean (or None), whether they reached what was asked.
_METHODS_OF = {
    "cbps": _balanced,
    "ipw": _odds,
    "rake": _raked,
    "poststratify": _stratified,
    "given": _given,
}


def _residuals(X, X_target, target_weight, center, scale):
    """Influence of rows on a mean by weights that were calibrated to means."""

    def influence(w, centered):
        Z = standard(X, center, scale)
        G, g = gram(Z, w)
        b = solved(G - np.outer(g, g) + 1e-9 * np.eye(len(g)), weighted_sums(Z, w * centered))
        own = w * (centered - times(Z, b))
        if X_target is None:
            return own, None
        share = target_weight / target_weight.sum()
        explained = times(standard(X_target, center, scale), b)
        return own, share * (explained - share @ explained)

    return influence


def _as_margins(columns, weight, other, bins, strict=True):
    """Columns as levels: numbers cut at the target's quantiles."""
    if other is None:
        return columns
    cut = []
    for column in columns:
        if column.is_flag:
            continue
        labels, own, theirs = binned(column, bins)
        share = np.bincount(theirs, other, len(labels)) / other.sum()
        empty = np.flatnonzero((share > 0) & ~(np.bincount(own, weight, len(labels)) > 0))
        if len(empty) and strict:
            raise CounterweightError(
                f"The target has {column.name} = {labels[empty[0]]} ({percent(share[empty[0]])} of "
                "it) and the sample has no row of that, so its margin cannot be met: pool it with "
                "another level, leave the column out, or use cbps."
            )
        cut.append(Column(column.name, labels, own, theirs, share, np.sqrt(share * (1 - share))))
    return cut


def _of_margins(frame, margins):
    """Columns of a sample whose means or shares in the target are known, and the target's total."""
    if not margins:
        raise CounterweightError("The target names no margin: give shares or a mean by column.")
    columns, names, shares = [], [], []
    for name, margin in margins.items():
        parts = list(name) if isinstance(name, tuple) else [name]
        lost = [part for part in parts if part not in frame]
        if lost or not isinstance(margin, dict) or not margin:
            raise CounterweightError(
                f"Margin {name!r} is of column {lost[0]!r}, which the sample lacks."
                if lost
                else f"Margin {name!r} must give shares by level, or a mean; got {margin!r}."
            )
        if set(margin) <= {"mean", "sd"}:
            columns.append(_mean_margin(frame[name], name, margin))
            continue
        title = " x ".join(map(str, parts))
        joint = len(parts) > 1
        keys = pd.MultiIndex.from_tuples(margin) if joint else pd.Index(list(margin))
        values = pd.MultiIndex.from_frame(frame[parts]) if joint else pd.Index(frame[name])
        codes = keys.get_indexer(values)
        if (codes < 0).any():
            row = int(np.flatnonzero(codes < 0)[0])
            told = frame[parts].astype(object).where(frame[parts].notna(), "a blank").astype(str)
            lost = told.agg(", ".join, axis=1)[codes < 0]
            counts = lost.value_counts(sort=False)
            raise CounterweightError(
                f"Margin {title} has no share for "
                + listed(f"{level} ({count} rows)" for level, count in counts.items())
                + f" of the sample (first: row {row}): give each a share, 0 if there are none, or "
                "leave the rows out."
            )
        empty = [
            k for k, share in enumerate(margin.values()) if share > 0 and not (codes == k).any()
        ]
        if empty:
            raise CounterweightError(
                f"Margin {title} asks for {list(margin)[empty[0]]!r}, and the sample has no row of "
                "it: pool it with another level."
            )
        columns.append(Column(title, [str(key) for key in margin], codes, None))
        names.append(title)
        shares.append(list(margin.values()))
    total = None
    if shares:
        made, total = shares_of(shares, names, np.nan)
        total = None if np.isnan(total) else total
        for column in columns:
            if not column.is_number:
                column.mean = made.pop(0)
                column.spread = np.sqrt(column.mean * (1 - column.mean))
    return columns, total


def _mean_margin(values, name, margin):
    numbers = as_column(values, name)
    if getattr(numbers, "dtype", None) != np.float64 or "mean" not in margin:
        raise CounterweightError(f"Margin {name!r} is a mean, and its column is not of numbers.")
    if np.isnan(numbers).any():
        raise CounterweightError(
            f"Column {name!r} is missing in {int(np.isnan(numbers).sum())} rows of the sample, and "
            "its mean is a margin: fill the column or leave the rows out."
        )
    low, high, mean = numbers.min(), numbers.max(), margin["mean"]
    if not low < mean < high and not low == mean == high:
        raise CounterweightError(
            f"The mean of {name!r} is to be {mean:g}, and the sample's values lie between {low:g} "
            f"and {high:g}: no weights reach it."
        )
    spread = margin.get("sd", numbers.std())
    return Column(name, [""], numbers, None, np.array([float(mean)]), np.array([float(spread)]))
