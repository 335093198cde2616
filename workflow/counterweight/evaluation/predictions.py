"""Every metric of every block of predictions, and paired differences of two methods."""

import math

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics import (
    CLIP,
    compare_metrics,
    compare_segments,
    grouped_estimate,
    metric_estimate,
    predicted_over_observed,
    reliability_curve,
)
from counterweight.fragments import Array, Flag, Text
from counterweight.tables.parquet import by_setting
from counterweight.tables.study_data import by_repeat, found_rows, prediction_blocks

#: Numbers that a fitted model may carry, and the metric that reports them.
FITTED = {
    "log_likelihood": "log_likelihood",
    "unlabeled_log_likelihood": "log_likelihood",
    "restart_log_likelihood": "restart_log_likelihood",
    "iterations": "iterations",
    "converged": "converged",
    "components_held": "components_held",
    "components_small": "components_small",
    "least_curvature": "least_curvature",
    "decisions_moved": "decisions_moved",
    "log_likelihood_falls": "log_likelihood_falls",
    "rows_trained": "rows_trained",
    "spline_gap": "spline_gap",
    "predictions_out_of_range": "predictions_out_of_range",
    "rows_bought": "rows_bought",
    "chosen_share": "chosen_share",
    "budget_excess": "budget_excess",
    "constant_model": "constant_model",
    "rows_without_policy": "rows_without_policy",
    "actions_unseen": "actions_unseen",
    "delta": "delta",
    "rate_unlabeled": "rate_unlabeled",
    "rate_at_end": "rate_at_end",
    "label_shift_assumed": "label_shift_assumed",
    "gap_left": "gap_left",
}
#: Ends the name of an array that holds the standard error of the number with the rest as name.
ERROR = "_standard_error"
OPTIONS = {
    "reliability": Flag(False, "Whether to keep the points of each reliability curve."),
    "against": Text("", "Method that every other one is compared with on the same test rows, paired; empty for none."),
    "segment": Text("", "Column of the table in whose segments methods are compared as well, with intervals that hold all at once."),
    "top": Array([],
        "Shares of the rows, those of the highest predictions, in which the mean prediction is compared with the share "
        "of positives; 1 for all rows.", items={"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
}  # fmt: skip
LABEL = "metrics of predictions on test rows"

#: Test rows that lost zeros are weighed by their keep rates.
WEIGHS = True
#: Rows of a user may depend on each other.
BY_USER = True
#: Where rows have no label, what their labels could make of the metrics is swept.
SWEEPS_GAMMA = True


def evaluate_predictions(
    predictions,
    truth,
    metrics,
    *,
    rates=None,
    reliability=False,
    top=(),
    against="",
    segment="",
    compared_with=None,
    segments=None,
    seed=None,
    stream=None,
):
    """Metric records for each repeat, target and setting.

    On a log that lost a part of its zero rows, each kept row stands for 1 / l rows, so the
    metrics are weighted means (Mineiro 2010, regression section).

    `predictions` have repeat, row, p, and target and setting as ``(codes, names)``; rows of one
    repeat, target and setting stand together. `truth` has repeat, row (ascending within a repeat)
    and ``y_{target}``; with ``user``, errors and intervals are those of users as independent draws,
    and intervals stand beside them. `metrics` are ``metric(y, p, weight) -> (value, standard
    error)`` by name, `rates` repeat, row and the keep_rate l of rows. Points of the reliability
    curve have the bin as part, shares of `top` rows ``top`` and the share. `against` and `segment`
    name what comes as `compared_with`, predictions of another method, and `segments`: row
    (ascending) and segment. Nothing is drawn by `seed` and `stream`.
    """
    p_all = predictions["p"]
    if not np.isfinite(p_all).all():
        raise CounterweightError(
            f"{int((~np.isfinite(p_all)).sum())} predictions are not finite numbers: the model "
            "failed; see its log."
        )
    records = []
    for place, _, y, p, weight, user in _known_blocks(predictions, truth, rates):
        place |= {"rows": len(p)}
        if weight is not None:
            effective = weight.sum() ** 2 / (weight @ weight)
            records += [
                place | {"metric": "effective_rows", "value": effective},
                place | {"metric": "largest_keep_weight", "value": weight.max()},
            ]
        told = _of_block(metrics, y, p, weight, user, reliability, top)
        records += [place | record for record in told]
    if compared_with is not None:
        records += compare_predictions(
            predictions, compared_with, truth, metrics, rates=rates, segments=segments
        )
    return records


def _known_blocks(predictions, truth, rates):
    """Place, rows, y, p, weights (None without `rates`) and users (or None) of each block."""
    known, rates = by_repeat(truth), None if rates is None else by_repeat(rates)
    for repeat, target, setting, part in prediction_blocks(predictions):
        rows, own, weight = predictions["row"][part], known[repeat], None
        where = found_rows(own["row"], rows, _AGAIN)
        if rates is not None:
            logged = found_rows(rates[repeat]["row"], rows, _AGAIN)
            weight = 1.0 / rates[repeat]["keep_rate"][logged]
        user = own["user"][where] if "user" in own else None
        place = {"repeat": repeat, "target": target, "setting": setting}
        yield place, rows, own[f"y_{target}"][where], predictions["p"][part], weight, user


def _of_block(metrics, y, p, weight, user, reliability, top):
    """Records of the rows of one repeat, target and setting."""
    for name, metric in metrics.items():
        if user is not None:
            yield from _told(grouped_estimate(metric, y, p, user, weight), {"metric": name})
            continue
        value, error = metric(y, p, weight)
        yield {"metric": name, "value": value, "standard_error": error}
    if reliability:
        predicted, observed, mass = reliability_curve(y, p, weight)
        for name, values in (("predicted", predicted), ("observed", observed)):
            for k, value in enumerate(values):
                if mass[k] > 0:
                    yield {"metric": f"reliability_{name}", "part": str(k), "value": value}
    for share in top:
        value, error = predicted_over_observed(y, p, weight, share, user)
        own = {"metric": "predicted_over_observed", "part": f"top {share:g}"}
        yield own | {"value": value, "standard_error": error}
    clipped = int(((p < CLIP) | (p > 1 - CLIP)).sum())
    yield {"metric": "probabilities_clipped", "value": clipped}


def describe_fits(models):
    """Metric records of what the fitted models (see `tables.read_models`) say of themselves.

    Of an array of several numbers, ``step`` is the place in it. What is not finite has no
    value; a number has a standard error where the model gives one under its name with `ERROR`.
    """
    records = []
    for (repeat, target), arrays in models.items():
        for setting, own in by_setting(arrays).items():
            place = {"repeat": repeat, "target": target, "setting": setting}
            for name, values in own.items():
                if name not in FITTED:
                    continue
                values = np.ravel(values)
                series = not setting and len(values) > 1
                error = np.nan if series else np.ravel(own.get(name + ERROR, np.nan))[-1]
                records += [
                    place
                    | {
                        "metric": name if setting else FITTED[name],
                        "step": k if series else None,
                        "value": float(value) if np.isfinite(value) else np.nan,
                        "standard_error": float(error),
                    }
                    for k, value in enumerate(values)
                ]
    return records


#: Segments beyond which a comparison would be a list of noise.
MOST_SEGMENTS = 50


def compare_predictions(predictions, other, truth, metrics, *, rates=None, segments=None):
    """Paired differences of every metric, by repeat, target and setting.

    The other method has one setting. ``paired_difference`` stands by measure; its ``part`` is the
    segment, its variables ``low`` and ``high`` are the ends of its interval. Intervals of segments
    hold all at once (Bonferroni); more than `MOST_SEGMENTS` of them are refused.
    """
    names = np.unique(segments["segment"]) if segments else ()
    if len(names) > MOST_SEGMENTS:
        raise CounterweightError(
            f"evaluation.segment has {len(names)} segments: name a column of at most "
            f"{MOST_SEGMENTS} values."
        )
    theirs = {(repeat, target): part for repeat, target, _, part in prediction_blocks(other)}
    records = []
    for place, rows, y, p, weight, user in _known_blocks(predictions, truth, rates):
        against = theirs.get((place["repeat"], place["target"]))
        if against is None:
            continue  # the other has fewer repeats
        if not np.array_equal(rows, other["row"][against]):
            raise CounterweightError(
                "Two methods predict different rows: delete the predictions of the study and run "
                "again."
            )
        pair, options = (p, other["p"][against]), {"weight": weight, "groups": user}
        place |= {"metric": "paired_difference", "rows": len(rows)}
        told = decided_otherwise(*pair, **options)
        records.append(place | {"metric": "decided_otherwise"} | told)
        for name, metric in metrics.items():
            own = place | {"measure": name}
            records += _told(compare_metrics(metric, y, *pair, **options), own)
            if segments:
                where = found_rows(segments["row"], rows, _AGAIN)
                found = compare_segments(metric, y, *pair, segments["segment"][where], **options)
                for segment, gap in found.items():
                    if gap is not None:
                        records += _told(gap, own | {"part": str(segment)})
    return records


def decided_otherwise(p, other, weight=None, groups=None):
    """Share of rows on which two methods decide differently (p at least 1/2), and its error."""
    alike = grouped_estimate if groups is not None else metric_estimate
    told = {"weight": weight} | ({"groups": groups} if groups is not None else {})
    found = alike("accuracy", (other >= 0.5).astype(float), p, **told)
    return {"value": 1.0 - found.value, "standard_error": found.standard_error}


_AGAIN = (
    "Predictions are of rows that the study does not have: delete the predictions of the study and "
    "run again."
)


def _told(gap, place):
    yield place | {"value": gap.value, "standard_error": gap.standard_error}
    for end in ("low", "high"):
        yield place | {"variable": end, "value": getattr(gap, end)}


def describe_moves(predictions, before, truth, target):
    """Records of ``moved_right``, for each repeat and setting of a target.

    Among the test rows whose decision (p at least 1/2) is not that of the model begun from, whose
    predictions are `before`: the share that is right now minus the share that was right before,
    between -1 and 1. It is the gain of accuracy by the moves over the share that moved; its
    standard error takes rows as independent. Nothing is told where no decision moved.
    """
    known, began, records = by_repeat(truth), {}, []
    for repeat, _, rows, p in _of_target(before, target):
        began[repeat] = rows, p >= 0.5
    for repeat, setting, rows, p in _of_target(predictions, target):
        earlier, old = began[repeat]
        old = old[found_rows(earlier, rows, _OTHER_ROWS.format(repeat))]
        y = known[repeat][f"y_{target}"][found_rows(known[repeat]["row"], rows, _AGAIN)]
        moved = (p >= 0.5) != old
        if not moved.any():
            continue
        # Of two different decisions exactly one is right.
        right = np.where((p >= 0.5)[moved] == (y[moved] == 1), 1.0, -1.0)
        place = {"repeat": repeat, "target": target, "setting": setting, "rows": len(right)}
        known_of_it = {"value": right.mean(), "standard_error": right.std() / math.sqrt(len(right))}
        records.append(place | {"metric": "moved_right"} | known_of_it)
    return records


_OTHER_ROWS = (
    "Predictions of repeat {} are of rows that those of the model begun from do not have: delete "
    "the predictions of the study and run again."
)


def _of_target(predictions, target):
    """Repeat, setting, rows and p of each block of predictions for a target."""
    for repeat, own, setting, part in prediction_blocks(predictions):
        if own == target:
            yield repeat, setting, predictions["row"][part], predictions["p"][part]
