"""Every metric of every block of predictions, and paired differences of two methods.

The protocol `ranking_resamples` asks how the AUC of a ranking behaves when it is measured on few of
the rows. The test rows of a split, with the scores of a method, are the population: its AUC is
known. Rows are then rejected, or drawn within a budget, many times over, and the AUC of what is
left is compared with that of the population (Mineiro 2010, section "AUC").
"""

import math
from dataclasses import dataclass

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
from counterweight.fragments import RATES, Array, Flag, Integer, Number, Option, Text
from counterweight.numerics.ranking import (
    MOST_TIED,
    agarwal_bound,
    auc_estimate,
    auc_interval,
    auc_moments,
    highest_rows,
    places,
    shares_below,
)
from counterweight.tables.parquet import blocks, by_setting
from counterweight.tables.study_data import by_repeat, found_rows, generator, prediction_blocks

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
OPTIONS_BY_NAME = {
    "metrics": {
        "reliability": Flag(False, "Whether to keep the points of each reliability curve."),
        "against": Text("", "Method that every other one is compared with on the same test rows, paired; empty for none."),
        "segment": Text("", "Column of the table in whose segments methods are compared as well, with intervals that hold all at once."),
        "top": Array([],
            "Shares of the rows, those of the highest predictions, in which the mean prediction is compared with the share "
            "of positives; 1 for all rows.", items={"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
    },
    "ranking_resamples": {
        "keep_rates": Option([1.0, 0.1, 0.01], "Rates at which the rows of one class are kept.", **RATES),
        "budgets": Array([100, 400], "Numbers of rows to draw with a set share of positives.", items={"type": "integer", "minimum": 2}, uniqueItems=True),
        "shares": Array([0.03125, 0.0625, 0.125, 0.25, 0.5, 0.75, 0.875],
            "Shares of positives among the rows of a budget.", items={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, uniqueItems=True),
        "resamples": Integer(1000, "Resamples of each kind.", minimum=2),
        "delta": Number(0.05, "Probability with which a deviation may pass the bound.", above=0, below=1),
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "metrics": "metrics of predictions on test rows",
    "ranking_resamples": "AUC of a fixed ranker on subsampled rows",
}
#: Test rows that lost zeros are weighed by their keep rates.
WEIGHS_BY_NAME = {"metrics": True}
#: Rows of a user may depend on each other.
BY_USER_BY_NAME = {"metrics": True}
#: Where rows have no label, what their labels could make of the metrics is swept.
SWEEPS_GAMMA_BY_NAME = {"metrics": True}
TASK_BY_NAME = {"ranking_resamples": "classification"}


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
    repeat, target and setting stand together. `truth` has repeat, row (each once in a repeat)
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
    records, alone = [], len(by_repeat(truth)) == 1
    for place, _, y, p, weight, user in _known_blocks(predictions, truth, rates):
        place |= {"rows": len(p)}
        if weight is not None:
            effective = weight.sum() ** 2 / (weight @ weight)
            records += [
                place | {"metric": "effective_rows", "value": effective},
                place | {"metric": "largest_keep_weight", "value": weight.max()},
            ]
        told = _of_block(metrics, y, p, weight, user, reliability, top, alone)
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


def _of_block(metrics, y, p, weight, user, reliability, top, alone):
    """Records of the rows of one repeat, target and setting; `alone` where no other repeat says how
    far chance moves them."""
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
        own = {"metric": "predicted_over_observed", "part": f"top {share:g}"}
        if not alone:
            value, error = predicted_over_observed(y, p, weight, share, user)
            yield own | {"value": value, "standard_error": error}
            continue
        made = highest_rows(y, p, weight, share, user)
        mass = len(p) if weight is None else weight.sum()
        if made.weight > MOST_TIED * share * mass:
            continue
        told = made.told(0.95)
        own |= {"rows": told["rows"]}
        yield own | {name: told[name] for name in ("value", "standard_error")}
        yield from (own | {"variable": end, "value": told[end]} for end in ("low", "high"))
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


#: Numbers in one block of resamples.
BLOCK = 2_000_000

#: Fewest rows of a class that a resample may be expected to keep.
FEWEST = 0.01


def ranking_resamples(
    predictions,
    truth,
    metrics,
    *,
    seed,
    stream,
    keep_rates=(1.0, 0.1, 0.01),
    budgets=(100, 400),
    shares=(0.03125, 0.0625, 0.125, 0.25, 0.5, 0.75, 0.875),
    resamples=1000,
    delta=0.05,
):
    """Metric records of a ranking, and of its AUC on subsampled rows.

    For the predictions of target "general" (settings of a sweep are left to the ordinary
    metrics), beside what ``evaluate.evaluate_predictions`` gives:

    - auc_bias, auc_spread: mean and standard deviation of (AUC of the rows kept - AUC of all
      rows) with the zeros kept at a rate (part "zeros"), with the positives kept at it
      ("positives"), and of a single pair ("one pair", without a rate).
    - auc_covered (part "zeros", by rate): share of the intervals that hold the AUC of all
      rows; a resample is a bootstrap of the rows, then rejection of zeros.
    - auc_deviation, auc_deviation_quantile, agarwal_bound, bound_violated (setting
      "N=400,rho=0.5"): mean and 1 - delta quantile of abs(AUC of N rows - AUC of all) with
      round(rho N) positives, at least one row of each class, drawn with replacement from
      their class; the bound for those rows; the share of resamples at or beyond it.
    - resamples_redrawn, only where there are any: resamples that kept no row of a class,
      which have no AUC and were drawn again; those of auc_covered have the part "bootstrap".

    Rows count through the distinct scores of the rarer class only, so a resample costs as much
    as that class has rows, however many the other has.

    Predictions, truth and metrics are those of ``evaluate.evaluate_predictions``; `seed` and
    `stream` (the study and method) say what the random numbers are drawn for, beside the repeat;
    for the others see `OPTIONS`. Standard errors are those of the Monte-Carlo resampling.

    Raises
    ------
    CounterweightError
        For test rows of one class, and rates so small that nearly no resample keeps a row.
    """
    records = evaluate_predictions(predictions, truth, metrics)
    known = by_repeat(truth)
    targets, settings = predictions["target"][1], predictions["setting"][1]
    for part in blocks(predictions, "repeat", "target", "setting"):
        target = targets[predictions["target"][0][part.start]]
        setting = settings[predictions["setting"][0][part.start]]
        if target != "general" or setting != "":
            continue
        repeat = int(predictions["repeat"][part.start])
        where = found_rows(known[repeat]["row"], predictions["row"][part], _AGAIN)
        ranking = Ranking.of(known[repeat]["y_general"][where], predictions["p"][part])
        _check_rates(ranking, keep_rates)
        place = {"repeat": repeat, "target": target}

        def rng(purpose, repeat=repeat):
            return generator(seed, stream, repeat, f"ranking {purpose}")

        measured = [
            *_rejection(ranking, keep_rates, resamples, rng),
            *_coverage(ranking, keep_rates, resamples, rng),
            *_budgets(ranking, budgets, shares, resamples, delta, rng),
        ]
        records += [place | record for record in measured]
    return records


@dataclass(frozen=True)
class Ranking:
    """Scored rows, reduced to what an AUC depends on.

    ``rare`` (K,) are rows of the rarer class at each of its distinct scores, ``gaps`` (K + 1,)
    those of the other class between these, ``ties`` (K,) or None those at these; ``value`` is the
    AUC of all.
    """

    rare: np.ndarray
    gaps: np.ndarray
    ties: np.ndarray | None
    rare_is_positive: bool
    value: float

    @classmethod
    def of(cls, y, score):
        """From the labels and scores of rows; one class only is refused."""
        value = auc_estimate(y, score).value
        y = np.asarray(y) == 1
        rare_is_positive = bool(2 * y.sum() <= len(y))
        is_rare = y == rare_is_positive
        rare, common = np.sort(score[is_rare]), np.sort(score[~is_rare])
        first, left, right = places(rare, common)
        gaps = np.append(left, len(common)) - np.concatenate([[0], right])
        ties = None if right is left else right - left
        return cls(np.diff(np.append(first, len(rare))), gaps, ties, rare_is_positive, value)

    @property
    def common(self):
        """Rows of the commoner class in all its places: gaps, then ties."""
        return self.gaps if self.ties is None else np.concatenate([self.gaps, self.ties])

    @property
    def rows(self):
        """Rows of both classes."""
        return int(self.rare.sum() + self.common.sum())

    def counts(self, positive):
        """Counts of one class by place."""
        return self.rare if bool(positive) == self.rare_is_positive else self.common

    def _sides(self, positives, negatives):
        """Counts of the rare class, and of the other in gaps and in ties, as floats."""
        rare, common = (positives, negatives)[:: 1 if self.rare_is_positive else -1]
        rare, common = np.atleast_2d(rare).astype(float), np.atleast_2d(common).astype(float)
        ties = None if self.ties is None else common[:, len(self.gaps) :]
        return rare, common[:, : len(self.gaps)], ties

    def moments(self, positives, negatives):
        """AUC and its variance from counts (resamples, places) of each class."""
        rare, gaps, ties = self._sides(positives, negatives)
        rows = gaps.sum(1) + (0 if ties is None else ties.sum(1))
        ties = None if ties is None else [ties] * 3
        return auc_moments([rare] * 3, [gaps] * 3, ties, rare.sum(1), rows, self.rare_is_positive)

    def auc(self, positives, negatives):
        """AUC alone, (resamples,); counts of a class may be the same for all, (places,)."""
        rare, gaps, ties = self._sides(positives, negatives)
        held = np.einsum("...k,...k->...", rare, shares_below(gaps, ties)[0])
        value = np.clip(held / rare.sum(1), 0.0, 1.0)  # by rounding only
        return value if self.rare_is_positive else 1 - value

    def draw(self, positives, negatives, resamples, rng):
        """AUC of resamples of so many rows of each class, drawn with replacement."""
        rare_rows, common_rows = (positives, negatives)[:: 1 if self.rare_is_positive else -1]
        # A score is 2k + 1, the gap before it 2k, and the tie with it 2k + 1.
        codes = 2 * np.arange(len(self.gaps))
        if self.ties is not None:
            codes = np.concatenate([codes, 2 * np.arange(len(self.rare)) + 1])
        rare_codes = np.repeat(2 * np.arange(len(self.rare)) + 1, self.rare)
        common_codes = np.repeat(codes, self.common)
        values = []
        for count in _block_sizes(resamples, positives + negatives):
            offset = (2 * len(self.gaps) + 2) * np.arange(count)[:, None]
            rare = rare_codes[rng.integers(0, len(rare_codes), (count, rare_rows))] + offset
            common = common_codes[rng.integers(0, len(common_codes), (count, common_rows))]
            common = np.sort((common + offset).ravel())
            below = np.searchsorted(common, rare) + np.searchsorted(common, rare, side="right")
            below = below / 2 - common_rows * np.arange(count)[:, None]
            values.append(below.mean(axis=1) / common_rows)
        values = np.concatenate(values)
        return values if self.rare_is_positive else 1 - values


def _rejection(ranking, keep_rates, resamples, rng):
    """Bias and spread of the AUC when one class is kept at a rate, and of one pair."""
    for part, purpose in (("zeros", ""), ("positives", "positives ")):
        for rate in keep_rates:
            if rate == 1:
                values, redrawn = np.full(resamples, ranking.value), 0
            else:
                source = rng(f"{purpose}l={rate}")
                values, redrawn = _rejected(ranking, part == "positives", rate, resamples, source)
            place = {"part": part, "keep_rate": rate}
            yield from _deviations(ranking, place, values)
            if redrawn:
                yield place | {"metric": "resamples_redrawn", "value": redrawn}
    pairs = ranking.draw(1, 1, resamples, rng("one pair"))
    yield from _deviations(ranking, {"part": "one pair"}, pairs)


def _rejected(ranking, positive, rate, resamples, rng):
    own, other = ranking.counts(positive), ranking.counts(not positive)
    values, redrawn = [], 0
    for count in _block_sizes(resamples, len(own) + len(other)):
        kept, again = _with_rows(lambda size: rng.binomial(own, rate, (size, len(own))), count)
        redrawn += again
        values.append(ranking.auc(*((kept, other) if positive else (other, kept))))
    return np.concatenate(values), redrawn


def _deviations(ranking, place, values):
    spread, resamples = float(values.std(ddof=1)), len(values)
    place = place | {"rows": ranking.rows}
    bias = float((values - ranking.value).mean())
    yield place | {
        "metric": "auc_bias",
        "value": bias,
        "standard_error": spread / np.sqrt(resamples),
    }
    yield place | {
        "metric": "auc_spread",
        "value": spread,
        "standard_error": spread / np.sqrt(2 * (resamples - 1)),
    }


def _coverage(ranking, keep_rates, resamples, rng):
    """Share of intervals that hold the AUC of the population the rows were drawn from."""
    positives, negatives = ranking.counts(True), ranking.counts(False)
    share = positives.sum() / ranking.rows
    of_positives, of_negatives = positives / positives.sum(), negatives / negatives.sum()
    for rate in keep_rates:
        place, source = {"keep_rate": rate}, rng(f"bootstrap l={rate}")
        covered, redrawn = 0, 0

        def drawn(size, source=source, rate=rate):
            ones = source.binomial(ranking.rows, share, size)
            zeros = source.binomial(ranking.rows - ones, rate)
            return np.stack([ones, zeros], axis=1)

        for count in _block_sizes(resamples, len(positives) + len(negatives)):
            rows, again = _with_rows(drawn, count, both=True)
            redrawn += again
            moments = ranking.moments(
                source.multinomial(rows[:, 0], of_positives),
                source.multinomial(rows[:, 1], of_negatives),
            )
            low, high = auc_interval(moments)
            covered += int(((low <= ranking.value) & (ranking.value <= high)).sum())
        where = {"part": "zeros", "rows": ranking.rows}
        yield place | where | _share("auc_covered", covered, resamples)
        if redrawn:
            yield place | {"metric": "resamples_redrawn", "part": "bootstrap", "value": redrawn}


def _budgets(ranking, budgets, shares, resamples, delta, rng):
    """Deviation of the AUC of few rows beside the bound."""
    for budget in budgets:
        for share in shares:
            setting = f"N={budget},rho={share}"
            positives = min(max(round(share * budget), 1), budget - 1)
            values = ranking.draw(positives, budget - positives, resamples, rng(setting))
            deviation = np.abs(values - ranking.value)
            bound = agarwal_bound(positives, budget - positives, delta)
            place = {"setting": setting, "rows": int(budget)}
            error = float(deviation.std(ddof=1) / np.sqrt(resamples))
            mean = float(deviation.mean())
            yield place | {"metric": "auc_deviation", "value": mean, "standard_error": error}
            quantile = float(np.quantile(deviation, 1 - delta))
            yield place | {"metric": "auc_deviation_quantile", "value": quantile}
            yield place | {"metric": "agarwal_bound", "value": bound}
            beyond = int((deviation >= bound).sum())
            yield place | _share("bound_violated", beyond, resamples)


def _share(metric, count, total):
    share = count / total
    error = float(np.sqrt(share * (1 - share) / total))
    return {"metric": metric, "value": share, "standard_error": error}


def _block_sizes(resamples, width):
    size = max(BLOCK // max(width, 1), 1)
    return [min(size, resamples - done) for done in range(0, resamples, size)]


def _with_rows(draw, size, both=False):
    """Draws of counts (size, ...) that are not empty, and how many had to be drawn again.

    Empty is a draw without any row or, with `both`, with none of either class.
    """
    drawn, redrawn = draw(size), 0
    while True:
        empty = np.flatnonzero(~(drawn.all(axis=1) if both else drawn.any(axis=1)))
        if not len(empty):
            return drawn, redrawn
        redrawn += len(empty)
        drawn[empty] = draw(len(empty))


def _check_rates(ranking, keep_rates):
    for positive in (True, False):
        rows = int(ranking.counts(positive).sum())
        if rows * min(keep_rates) < FEWEST:
            raise CounterweightError(
                f"At the keep rate {min(keep_rates)} hardly a resample keeps one of the {rows} "
                f"rows of class {int(positive)}: use larger rates or more rows."
            )
