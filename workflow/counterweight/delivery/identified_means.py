"""What a table says of a mean where some of those that it is for are unlike all labeled rows.

Of rows that resemble labeled ones the mean has an interval. Of the others nothing is known but
what is assumed: anything at all (Manski 2003), odds off by a factor, or a score between that of the
nearest supported features and twice the way from there to what the model says.
"""

from dataclasses import dataclass

import numpy as np

from counterweight.numerics.estimate import hidden_mean, t_interval
from counterweight.numerics.sensitivity import TWICE, step_bounds
from counterweight.numerics.tilt import tilted

#: Share of those that answers are for above which bounds stand in place of the estimate.
MOST_UNSUPPORTED = 0.05
#: Share that rests on data which is all of it.
ALL = 1 - 1e-9


@dataclass(frozen=True)
class Ends:
    """Of the rows without an outcome (N,): what is expected of each and between what it lies.

    `expected` (N,), `supported` (N,) of bool, `design` (N,); `anything` are the least and largest
    outcome; `twice` and `slope` are pairs of arrays (N,), None where nothing is told.
    """

    expected: np.ndarray
    supported: np.ndarray
    design: np.ndarray
    anything: tuple
    twice: tuple
    slope: tuple | None

    def kinds(self):
        """Ends by kind of bounds: pairs of numbers or of arrays (N,)."""
        return {"worst": self.anything, f"gamma={TWICE:g}": self.twice, "slope": self.slope}


def ends_of(saved, rows, expected, supported, design, seen):
    """`Ends` of encoded rows without an outcome, by the saved model.

    `seen` are known outcomes, their out-of-fold residuals and weights to the rows without one: of a
    number, odds off by a factor of 2 are residuals weighted up to twice as much.
    """
    y, residual, weight = seen
    if saved.binary:
        anything = 0.0, 1.0
        twice = tuple(tilted(expected, side * np.log(TWICE)) for side in (-1, 1))
    else:
        anything = float(y.min()), float(y.max())
        low, high, *_ = step_bounds(residual, weight, (1.0, TWICE))
        twice = expected + (low[1] - low[0]), expected + (high[1] - high[0])
    slope = _slope(saved, rows, expected, ~supported)
    return Ends(expected, supported, design, anything, twice, slope)


def _slope(saved, rows, expected, asked):
    """Answers at the nearest supported features and twice as far as the model goes from there, of
    the rows `asked` for, a mask; of others what is expected.

    What is expected of a row, calibrated as it may be, lies between them.

    None with a tilt, which moves scores by what no feature says.
    """
    if saved.tilt is not None:
        return None
    made, rows, expected = (expected.copy(), expected.copy()), rows.take(asked), expected[asked]
    X = rows.dense()
    nearest, numbers = saved.support.nearest(X), rows.numbers.copy()
    for at, feature in enumerate(rows.encoder.features_):
        moved = nearest[:, at] != X[:, at]
        if feature.kind == "number" and moved.any():
            numbers[moved, rows.names.index(feature.column)] = nearest[moved, at]
    there = type(rows)(rows.encoder, rows.row, numbers, rows.codes, rows.unseen)
    flat, own = saved.model.score(there), saved.model.score(rows)
    ends = saved.model.answers(flat), saved.model.answers(2 * own - flat)
    made[0][asked] = np.minimum(expected, np.minimum(*ends))
    made[1][asked] = np.maximum(expected, np.maximum(*ends))
    return made


def identified_records(ends, known, share, error_of, metric):
    """Records of what rests on data among those that answers are for, and bounds of their mean.

    Parameters
    ----------
    ends : Ends
    known : float
        What known outcomes add to the mean.
    share : float
        Share of rows without an outcome among those that answers are for.
    error_of : callable
        ``error_of(mask)``: mean, its error and ends of its interval, of the hidden rows of a mask.
    metric : str
        That of the mean.

    Returns
    -------
    list of dict, and the worst ends or None where all of them rest on data or enough does.
    """
    design, on = ends.design / ends.design.sum(), ends.supported
    beyond = float(design[~on].sum())
    rests = 1 - share * beyond
    records = [{"metric": "supported_share", "value": rests}]
    if rests > ALL:
        return records, None
    mean, error, low, high = error_of(on) if on.any() else (0.0,) * 4
    inner = share * (1 - beyond)
    if rests > 0:
        told = ((known + inner * end) / rests for end in (mean, low, high))
        for variable, value in zip(("", "low", "high"), told, strict=True):
            place = (
                {"variable": variable} if variable else {"standard_error": inner * error / rests}
            )
            records.append({"metric": metric, "part": "supported", "value": value} | place)
    worst = None
    for kind, pair in ends.kinds().items():
        if pair is None:
            continue
        least, most = (
            share * float(design[~on] @ np.broadcast_to(end, on.shape)[~on]) for end in pair
        )
        found = known + inner * low + least, known + inner * high + most
        worst = found if kind == "worst" else worst
        records += [
            {"metric": "target_bounds", "part": kind, "variable": variable, "value": value}
            for variable, value in zip(("low", "high"), found, strict=True)
        ]
    far = share * beyond > MOST_UNSUPPORTED
    records.append({"metric": "unsupported_headline", "value": float(far)})
    return records, worst if far else None


def mean_of_some(residual, weight, expected, design, noise, group, bounds):
    """Function of a mask (N,): mean of these hidden rows, its error, ends of its interval."""

    def told(mask):
        own = noise[mask] if np.ndim(noise) else noise
        mean, error, freedom = hidden_mean(
            residual, weight, expected[mask], design[mask], own, group
        )
        return mean, error, *t_interval(mean, error, freedom, bounds)

    return told
