"""A sample with its new weights: what they reached, at what price, and means by them."""

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.estimate import from_moments, shape_of
from counterweight.weighting.coded import as_column
from counterweight.weighting.diagnostics import effective_sample_size

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

        Returns
        -------
        Estimate
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
        worst = table.loc[table["after"].abs().idxmax()]
        name = worst["column"] + (f" = {worst['level']}" if worst["level"] else "")
        lines = [
            f"{n:,} rows stand for {stands} by {METHODS[self.method]}, over "
            f"{table['column'].nunique()} columns.",
            f"The mean standardised difference was {self.mean_difference_before:.3g} and is "
            f"{self.mean_difference_after:.3g}; the largest left is {abs(worst['after']):.2g} "
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


def percent(share):
    """A share in print."""
    return f"{100 * share:.3g}%"


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
