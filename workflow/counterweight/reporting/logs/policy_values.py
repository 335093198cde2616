"""What tables of policy values say, in sentences and formatted rows that are computed."""

import numpy as np

from counterweight.reporting.page.summaries import coverage_grade, small
from counterweight.reporting.page.wording import (
    estimator_name,
    interval,
    listing,
    number,
    percent,
    places_for,
)

#: Error of a value relative to the truth: good up to, fair up to.
VALUE_BIAS = (0.01, 0.05)


def value_rows(table):
    """Formatted rows of a table of policy values.

    Parameters
    ----------
    table : pandas.DataFrame
        From `counterweight.reporting.logs.tables.value_table`.
    """
    places = places_for([table["value"].abs().max(), table["truth"].abs().max()], 3)
    labels = table["method"].nunique() > 1
    before = None
    for row in table.itertuples():
        truth = row.truth
        low, high = row.low, row.high
        if np.isnan(low):
            low, high = row.typical_low, row.typical_high
        inside = ""
        if not np.isnan([truth, low, high]).any():
            inside = "yes" if low <= truth <= high else "no"
        relative, shift = (part / truth if truth else np.nan for part in (row.bias, row.shift))
        yield {
            "label": row.label,
            "group": row.label if labels and row.label != before else "",
            "failed": row.status == "failed",
            "reason": row.reason,
            "estimator": estimator_name(row.estimator),
            "rate": f"{row.keep_rate:g}",
            "value": number(row.value, places),
            "interval": interval(row.low, row.high, places),
            "typical": number(row.typical, places),
            "typical_interval": interval(row.typical_low, row.typical_high, places),
            "inside": inside,
            "bias": "–" if np.isnan(relative) else number(100 * relative, 1, sign=True) + " %",
            "bias_interval": _relative_interval(row.bias_low, row.bias_high, truth),
            "bias_grade": small(relative, VALUE_BIAS) if np.isnan(row.coverage_whole) else "",
            "shift": "–" if np.isnan(shift) else number(100 * shift, 1, sign=True) + " %",
            "shift_interval": _relative_interval(row.shift_low, row.shift_high, truth),
            "shift_grade": small(shift, VALUE_BIAS),
            "spread": number(row.spread, places),
            "coverage": percent(row.coverage),
            "coverage_grade": coverage_grade(row.coverage) if np.isnan(row.coverage_whole) else "",
            "coverage_whole": "" if np.isnan(row.coverage_whole) else percent(row.coverage_whole),
            "coverage_whole_grade": coverage_grade(row.coverage_whole),
            "rows": number(row.rows, 0),
            "effective": number(row.effective_rows, 0),
            "largest": number(row.largest_weight, 1),
        }
        before = row.label


def _relative_interval(low, high, truth):
    """An interval in per cent of the truth."""
    if not truth:
        return ""
    return interval(*sorted((100 * low / truth, 100 * high / truth)), 1)


def _rates(rates):
    return listing(f"{rate:g}" for rate in rates)


def value_sentences(table):
    """What a table of policy values shows, one sentence for each method."""
    for label, rows in table.groupby("label", sort=False):
        rows, label = rows[rows["status"] == "ok"], label[0].upper() + label[1:]
        if rows.empty:
            yield f"{label}: no value was estimated."
            continue
        yield from (sentence for sentence in _value_sentence(label, rows) if sentence)


def _value_sentence(label, rows):
    truth, low, high = rows[["truth", "truth_low", "truth_high"]].iloc[0]
    if np.isnan(truth):
        yield f"{label}: the true value is not known, so nothing can be said about errors."
        return
    places = places_for([truth], 3)
    known = "known by construction"
    if high > low:
        known = f"95 % interval {interval(low, high, places)}"
    yield (
        f"{label}: the value to be found is {number(truth, places)} ({known}). "
        + _held(rows, truth, "low", "high", "from the whole log")
        + " "
        + _held(rows, truth, "typical_low", "typical_high", "of a typical resampling")
    )
    yield _bias_sentence(rows, truth) + _coverage_sentence(rows)
    missing = rows[rows["missing"] > 0]
    if len(missing):
        parts = [
            f"{estimator_name(row.estimator)} at l = {row.keep_rate:g} in {row.missing:.0f}"
            for row in missing.itertuples()
        ]
        yield f"Resamplings without an estimate are left out: {'; '.join(parts)}."


def _held(rows, truth, low, high, origin):
    """How many intervals hold the truth, and which do not."""
    known = rows[rows[[low, high]].notna().all(axis=1)]
    missed = known[(known[low] > truth) | (known[high] < truth)]
    if known.empty:
        return f"There is no interval {origin}."
    if missed.empty:
        return f"All {len(known)} intervals {origin} hold it."
    parts = [
        f"{estimator_name(name)} at l = {_rates(part['keep_rate'])}"
        for name, part in missed.groupby("estimator", sort=False)
    ]
    return (
        f"{len(known) - len(missed)} of {len(known)} intervals {origin} hold it, but not those "
        f"of {'; '.join(parts)}."
    )


def _bias_sentence(rows, truth):
    """The worst mean error of each estimator; of a bootstrap, what rejection adds to it."""
    column, what = "bias", "mean error over resamplings"
    if rows["coverage_whole"].notna().any():
        column, what = "shift", "mean change by the rejection of zero rows"
    rows = rows[rows[column].notna() & ((column == "bias") | (rows["keep_rate"] < 1))]
    if rows.empty or not truth:
        return ""
    parts = []
    for name, part in rows.groupby("estimator", sort=False):
        worst = part.loc[part[column].abs().idxmax()]
        share = worst[column] / truth
        parts.append(
            f"{estimator_name(name)} {percent(share)} at l = {worst['keep_rate']:g} "
            f"({small(share, VALUE_BIAS)})"
        )
    return f"Largest {what}, relative to the truth: {'; '.join(parts)}. "


def _coverage_sentence(rows):
    """Coverage graded; of the whole log's value where the resamplings are drawn from it."""
    column, what = "coverage", "the truth"
    if rows["coverage_whole"].notna().any():
        column, what = "coverage_whole", "the value of the log that is resampled"
    rows = rows[rows[column].notna()]
    if rows.empty:
        return ""
    grades = {}
    for coverage in rows[column]:
        grades.setdefault(coverage_grade(coverage), []).append(coverage)
    parts = []
    for word in ("good", "fair", "poor"):
        if word in grades:
            found = [percent(pick(grades[word])) for pick in (min, max)]
            parts.append(f"{word} for {len(grades[word])} ({' to '.join(dict.fromkeys(found))})")
    return (
        f"Coverage of {what}, nominally 95 %, is {listing(parts)} of {len(rows)} estimators and "
        "rates."
    )
