"""Records of how wrong an answer about rows without a label could be; see `numerics.sensitivity`.

They stand at the setting ``gamma=2.0``: the variables least and most are the bounds, fewer and
more what one shift of all rows gives, -log Γ or log Γ.
"""

from dataclasses import dataclass, replace

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.estimate import around
from counterweight.numerics.sensitivity import (
    MOST,
    TWICE,
    Repair,
    SweptMean,
    SweptNumber,
    accuracy_parts,
    brier_parts,
    turns_at,
)
from counterweight.numerics.tilt import Calibration
from counterweight.tables.parquet import setting_name
from counterweight.tables.study_data import by_repeat, found_rows, prediction_blocks

#: Least rows on each side for a sweep to say anything; 97.5 % quantile of the normal law.
LEAST, NORMAL = 20, 1.959964


#: Variables of the records by what they are of a sweep.
ENDS = {"least": "low", "most": "high", "fewer": "fewer", "more": "more"}


def sweep_records(metric, sweep, errors=False, bounds=(-np.inf, np.inf)):
    """Records of a `counterweight.numerics.sensitivity.Sweep`, kept within bounds.

    With `errors` the bounds have standard errors; else repeats tell of chance.
    """
    records = []
    for at, gamma in enumerate(sweep.gamma):
        place = {"metric": metric, "setting": setting_name({"gamma": float(gamma)})}
        for variable, end in ENDS.items():
            value = float(np.clip(getattr(sweep, end)[at], *bounds))
            if np.isfinite(value):
                error = getattr(sweep, f"{end}_error", None) if errors else None
                known = {} if error is None else {"standard_error": float(error[at])}
                place["variable"] = variable
                records.append(place | {"value": value} | known)
                if known and np.isfinite(bounds[0]) and not np.isfinite(bounds[1]):
                    # Of outcomes that are not negative no end is.
                    ends = around(value, NORMAL * known["standard_error"], bounds)
                    records += [
                        place | {"metric": f"{metric}_{name}", "value": float(end)}
                        for name, end in zip(("low", "high"), ends, strict=True)
                        if np.isfinite(end)
                    ]
    return records


def turn_records(conclusion, mean, limit=0.0):
    """Records of `turns_at` for two conclusions on a mean: it is above a limit, and it is below.

    The value is the breakdown value, and `MOST` where there is none up to that; 1 where the
    conclusion does not hold at all. `conclusion` is what the mean is of, the part of the records.
    """
    turns = {
        "above": turns_at(lambda gamma: mean.low(gamma) - limit),
        "below": turns_at(lambda gamma: limit - mean.high(gamma)),
    }
    return [
        {"metric": "turns_at", "part": conclusion, "variable": side, "value": min(gamma, MOST)}
        for side, gamma in turns.items()
    ]


def parts_beyond(parts, others):
    """Slope and base of a difference of two quantities."""
    return tuple(np.subtract(one, other) for one, other in zip(parts, others, strict=True))


def gamma_of(mean, truth):
    """The least Γ whose bounds hold the truth; `MOST` where none up to that does."""

    def outside(gamma):
        return max(mean.low(gamma) - truth, truth - mean.high(gamma))

    return min(turns_at(outside), MOST)


def sweep_predictions(predictions, reference, labels, truth, *, compared):
    """Sweeps of the predictions of a method of a study of classifiers, by repeat and target.

    What would be seen if labels were missing at random comes from the test rows' predictions by a
    reference, a method that learned from labeled rows as they are, calibrated on the labeled test
    rows. Hidden labels count in the metric ``gamma_of_truth`` alone. A method that is `compared` is
    another one than the reference, and held against it; of the reference the rates are told.
    """
    seen, known = by_repeat(labels), by_repeat(truth)
    other = {key: (rows, p) for key, rows, p in _blocks(reference)}
    records = []
    for key, rows, q in _blocks(predictions):
        repeat, target = key
        if key not in other or not np.array_equal(other[key][0], rows):
            raise CounterweightError(
                f"Predictions of repeat {repeat} are of other rows than those that they are "
                "compared with: delete the predictions of the study and run again."
            )
        absent = f"Labels of repeat {repeat} lack rows that are predicted: run the study again."
        hidden = seen[repeat]["selected"][found_rows(seen[repeat]["row"], rows, absent)] == 0
        y = known[repeat][f"y_{target}"][found_rows(known[repeat]["row"], rows, absent)]
        place = {"repeat": repeat, "target": target, "rows": len(rows)}
        labeled = _labeled(other, repeat, target, seen[repeat], known[repeat])
        if labeled is None or hidden.sum() < LEAST:
            continue
        calibration, rate = labeled
        p = np.where(hidden, calibration(other[key][1]), y)
        made = _swept(p, q, other[key][1], y, hidden, None if compared else rate)
        records += [place | record for record in made]
    return records


def _blocks(predictions):
    """Repeat and target, rows and p of the blocks without a setting."""
    for repeat, target, setting, part in prediction_blocks(predictions):
        if setting == "":
            yield (repeat, target), predictions["row"][part], predictions["p"][part]


def _labeled(reference, repeat, target, labels, truth):
    """Calibration of the reference on labeled test rows, and their rate; None for too few rows.

    The unlabeled target has no labeled row, so it takes the calibration of the general one, whose
    labels may be made by another rule.
    """
    whose = "general" if (repeat, "general") in reference else target
    rows, p = reference[repeat, whose]
    seen = labels["selected"][np.searchsorted(labels["row"], rows)] == 1
    where = np.searchsorted(truth["row"], rows)[seen]
    y = truth[f"y_{whose}"][where]
    if min((y == 0).sum(), (y == 1).sum()) < LEAST:
        return None
    return Calibration.fitted(p[seen], y.astype(int)), float(truth[f"y_{target}"][where].mean())


def _swept(p, q, base, y, hidden, rate):
    """Records of one block; `y` of hidden rows counts as the truth alone.

    `rate` is that of the labeled rows, None for a method that is compared with the reference.
    """
    means = {"swept_accuracy": accuracy_parts(q), "swept_brier": brier_parts(q)}
    if rate is not None:
        means["swept_rate"] = (np.ones(len(p)), np.zeros(len(p)))
    records = []
    for metric, (slope, constant) in means.items():
        mean = SweptMean(p, slope, constant, hidden=hidden)
        records += sweep_records(metric, mean.sweep())
        truth = float((constant + slope * y).mean())
        records.append({"metric": "gamma_of_truth", "part": metric, "value": gamma_of(mean, truth)})
        if metric == "swept_rate":
            records.append({"metric": metric, "variable": "truth", "value": truth})
            records += turn_records("rate", mean, rate)
    accuracy = means["swept_accuracy"]
    constants = accuracy_parts(np.full(len(q), float(p.mean() >= 0.5)))
    mean = SweptMean(p, *parts_beyond(accuracy, constants), hidden=hidden)
    records += turn_records("constant", mean)
    if rate is None:
        # In points, as differences of shares are told.
        slope, constant = parts_beyond(accuracy, accuracy_parts(base))
        mean = SweptMean(p, 100 * slope, 100 * constant, hidden=hidden)
        records += sweep_records("swept_gain", mean.sweep()) + turn_records("reference", mean)
    return records


SHARE = (0.0, 1.0)


@dataclass(frozen=True)
class TargetRows:
    """Rows that an answer is for, and the labeled rows that put its mean right.

    `where` (T,) are their places in the table, `hidden` (T,) says of which no outcome is seen,
    `weight` (T,) are design weights, or weights to the target where labeled rows stand for it.
    `tested` (M,) are the places of labeled rows, with their outcomes `y` and weights `to_target`;
    `own` (M,) is a row's own share of the target, `labeled_mean` their mean outcome by design
    weights.
    """

    where: np.ndarray
    hidden: np.ndarray
    weight: np.ndarray
    tested: np.ndarray
    y: np.ndarray
    to_target: np.ndarray
    own: np.ndarray
    labeled_mean: float

    @property
    def least(self):
        """What no mean lies below: 0 of outcomes none of which does."""
        return 0.0 if self.y.min() >= 0 else -np.inf

    @classmethod
    def here(cls, data, tested, target):
        """A target among the rows of the table."""
        mask = ~data.labeled if target == "unlabeled" else data.labeled | True
        mask = mask if mask.any() else data.labeled | True
        where = np.flatnonzero(mask)
        places = np.searchsorted(data.rows, tested.row)
        weight = data.weight[where]
        own = np.where(mask[places], data.weight[places] / weight.sum(), 0.0)
        mean = float(np.average(tested.y, weights=tested.design))
        return cls(where, ~data.labeled[where], weight, places, tested.y, tested.weight, own, mean)

    @classmethod
    def elsewhere(cls, data, tested):
        """A target that is not in the table: labeled rows stand for it by their weights."""
        places = np.searchsorted(data.rows, tested.row)
        all_of_them, none = np.ones(len(places), bool), np.zeros(len(places))
        weight, mean = tested.weight, float(np.average(tested.y, weights=tested.design))
        return cls(places, all_of_them, weight, places, tested.y, weight, none, mean)

    def mean(self, p, parts=(1.0, 0.0), slope=1.0, centre=0.0):
        """The `SweptMean` of a quantity, from the chances of all rows of the table."""
        repair = Repair(self.y - p[self.tested], p[self.tested], self.to_target, self.own, slope)
        return SweptMean(
            p[self.where], *parts, self.weight, self.hidden, repair=repair, centre=centre
        )

    def quality(self, p, parts, centre=0.0):
        """As `mean`, of slope and base of all rows of the table."""
        slope, base = parts
        return self.mean(p, (slope[self.where], base[self.where]), slope[self.tested], centre)

    def number(self, values):
        """The `SweptNumber`, from the estimates of all rows of the table."""
        repair = Repair(self.y - values[self.tested], values[self.tested], self.to_target, self.own)
        return SweptNumber(values[self.where], repair, self.weight, self.hidden)


def sensitivity_records(rows, p, answers, delivered, *, binary, centre=0.0, estimate=None):
    """Sweeps and breakdown values of the `delivered` method.

    `p` (n,) are estimates of all rows of the table as among labeled ones, of labeled rows out of
    fold; `answers` (n,) those of each method after a tilt, `centre` the tilt that is swept around.
    The sweep of the mean outcome begins at `estimate`, as it is told elsewhere.
    """
    if not rows.hidden.any():
        return []
    metric, bounds = ("swept_rate", SHARE) if binary else ("swept_mean", (rows.least, np.inf))
    mean = rows.mean(p, centre=centre) if binary else rows.number(p)
    sweep = mean.sweep()
    offset = 0.0 if estimate is None else estimate - sweep.low[0]
    moved = {end: getattr(sweep, end) + offset for end in ("low", "high", "fewer", "more")}
    records = sweep_records(metric, replace(sweep, **moved), True, bounds)
    records += turn_records("rate", mean, rows.labeled_mean - offset)
    if not binary:
        return records
    q = answers[delivered]
    for name, parts in (("swept_accuracy", accuracy_parts), ("swept_brier", brier_parts)):
        found = rows.quality(p, parts(q), centre).sweep()
        records += sweep_records(name, found, True, SHARE)
    constant = np.full(len(q), float(mean.mean(0.0) >= 0.5))
    for name, other in ({"constant": constant} | answers).items():
        if name != delivered:
            gain = parts_beyond(accuracy_parts(q), accuracy_parts(other))
            records += turn_records(name, rows.quality(p, gain, centre))
    blank = q[rows.where][rows.hidden]
    odds = np.maximum(blank, 1 - blank) / np.maximum(np.minimum(blank, 1 - blank), 1e-12)
    open_ones = float(np.average(odds <= TWICE, weights=rows.weight[rows.hidden]))
    return records + [{"metric": "decisions_open", "value": open_ones}]
