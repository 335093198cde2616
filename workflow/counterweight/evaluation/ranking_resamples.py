"""How the AUC of a ranking behaves when it is measured on few of the rows.

The test rows of a split, with the scores of a method, are the population: its AUC is known.
Rows are then rejected, or drawn within a budget, many times over, and the AUC of what is
left is compared with that of the population (Mineiro 2010, section "AUC").
"""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.predictions import evaluate_predictions
from counterweight.fragments import RATES, Array, Integer, Number, Option
from counterweight.numerics.ranking import (
    agarwal_bound,
    auc_estimate,
    auc_interval,
    auc_moments,
    places,
)
from counterweight.tables.parquet import blocks
from counterweight.tables.study_data import by_repeat, generator

TASK = "classification"

OPTIONS = {
    "keep_rates": Option([1.0, 0.1, 0.01], "Rates at which the rows of one class are kept.", **RATES),
    "budgets": Array([100, 400], "Numbers of rows to draw with a set share of positives.", items={"type": "integer", "minimum": 2}, uniqueItems=True),
    "shares": Array([0.03125, 0.0625, 0.125, 0.25, 0.5, 0.75, 0.875],
        "Shares of positives among the rows of a budget.", items={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, uniqueItems=True),
    "resamples": Integer(1000, "Resamples of each kind.", minimum=2),
    "delta": Number(0.05, "Probability with which a deviation may pass the bound.", above=0, below=1),
}  # fmt: skip
LABEL = "AUC of a fixed ranker on subsampled rows"

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
        where = np.searchsorted(known[repeat]["row"], predictions["row"][part])
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

    def moments(self, positives, negatives):
        """AUC and its variance from counts (resamples, places) of each class."""
        rare, common = (positives, negatives)[:: 1 if self.rare_is_positive else -1]
        rare, common = np.atleast_2d(rare).astype(float), np.atleast_2d(common).astype(float)
        gaps = common[:, : len(self.gaps)]
        ties = None if self.ties is None else [common[:, len(self.gaps) :]] * 3
        return auc_moments(
            [rare] * 3, [gaps] * 3, ties, rare.sum(1), common.sum(1), self.rare_is_positive
        )

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
        every = np.broadcast_to(other, (count, len(other)))
        values.append(ranking.moments(*((kept, every) if positive else (every, kept))).value)
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
