"""How wrong the answer to a table with blanks could be: its records, by Γ."""

from dataclasses import dataclass, replace

import numpy as np

from counterweight.evaluation.metrics.sensitivity import parts_beyond, sweep_records, turn_records
from counterweight.numerics.sensitivity import (
    TWICE,
    Repair,
    SweptMean,
    SweptNumber,
    accuracy_parts,
    brier_parts,
)

SHARE = (0.0, 1.0)


@dataclass(frozen=True)
class TargetRows:
    """Rows that an answer is for, and the labeled rows that put its mean right.

    Attributes
    ----------
    where : int array (T,)
        Places in the table.
    hidden : bool array (T,)
        Rows that no outcome is seen of.
    weight : array (T,)
        Design weights; weights to the target where labeled rows stand for it.
    tried : int array (M,)
        Places of labeled rows in the table.
    y, to_target, own : array (M,)
        Of these; `own` is a row's own share of the target.
    labeled_mean : float
        Mean outcome of these, by their design weights.
    """

    where: np.ndarray
    hidden: np.ndarray
    weight: np.ndarray
    tried: np.ndarray
    y: np.ndarray
    to_target: np.ndarray
    own: np.ndarray
    labeled_mean: float

    @classmethod
    def here(cls, data, tried, target):
        """A target among the rows of the table."""
        mask = ~data.labeled if target == "unlabeled" else data.labeled | True
        mask = mask if mask.any() else data.labeled | True
        where = np.flatnonzero(mask)
        places = np.searchsorted(data.row, tried.row)
        weight = data.weight[where]
        own = np.where(mask[places], data.weight[places] / weight.sum(), 0.0)
        mean = float(np.average(tried.y, weights=tried.design))
        return cls(where, ~data.labeled[where], weight, places, tried.y, tried.weight, own, mean)

    @classmethod
    def elsewhere(cls, data, tried):
        """A target that is not in the table: labeled rows stand for it by their weights."""
        places = np.searchsorted(data.row, tried.row)
        all_of_them, none = np.ones(len(places), bool), np.zeros(len(places))
        weight, mean = tried.weight, float(np.average(tried.y, weights=tried.design))
        return cls(places, all_of_them, weight, places, tried.y, weight, none, mean)

    def mean(self, p, parts=(1.0, 0.0), slope=1.0, centre=0.0):
        """The `SweptMean` of a quantity, from the chances of all rows of the table."""
        repair = Repair(self.y - p[self.tried], p[self.tried], self.to_target, self.own, slope)
        return SweptMean(
            p[self.where], *parts, self.weight, self.hidden, repair=repair, centre=centre
        )

    def quality(self, p, parts, centre=0.0):
        """As `mean`, of slope and base of all rows of the table."""
        slope, base = parts
        return self.mean(p, (slope[self.where], base[self.where]), slope[self.tried], centre)

    def number(self, values):
        """The `SweptNumber`, from the estimates of all rows of the table."""
        repair = Repair(self.y - values[self.tried], values[self.tried], self.to_target, self.own)
        return SweptNumber(values[self.where], repair, self.weight, self.hidden)


def sensitivity_records(rows, p, answers, given_away, *, binary, centre=0.0, estimate=None):
    """Sweeps and breakdown values of what is given away.

    Parameters
    ----------
    rows : TargetRows
    p : array (n,)
        Estimates of all rows of the table as among labeled ones; of labeled rows out of fold.
    answers : dict of str to array (n,)
        The answers of each method, after a tilt.
    given_away : str
        The method.
    binary : bool
    centre : float
        The tilt that is swept around.
    estimate : float, optional
        The mean outcome as it is told elsewhere: the sweep begins there.

    Returns
    -------
    list of dict
    """
    if not rows.hidden.any():
        return []
    metric, bounds = ("swept_rate", SHARE) if binary else ("swept_mean", (-np.inf, np.inf))
    mean = rows.mean(p, centre=centre) if binary else rows.number(p)
    sweep = mean.sweep()
    offset = 0.0 if estimate is None else estimate - sweep.low[0]
    moved = {end: getattr(sweep, end) + offset for end in ("low", "high", "fewer", "more")}
    records = sweep_records(metric, replace(sweep, **moved), True, bounds)
    records += turn_records("rate", mean, rows.labeled_mean - offset)
    if not binary:
        return records
    q = answers[given_away]
    for name, parts in (("swept_accuracy", accuracy_parts), ("swept_brier", brier_parts)):
        found = rows.quality(p, parts(q), centre).sweep()
        records += sweep_records(name, found, True, SHARE)
    constant = np.full(len(q), float(mean.at(0.0)[0] >= 0.5))
    for name, other in ({"constant": constant} | answers).items():
        if name != given_away:
            gain = parts_beyond(accuracy_parts(q), accuracy_parts(other))
            records += turn_records(name, rows.quality(p, gain, centre))
    blank = q[rows.where][rows.hidden]
    odds = np.maximum(blank, 1 - blank) / np.maximum(np.minimum(blank, 1 - blank), 1e-12)
    open_ones = float(np.average(odds <= TWICE, weights=rows.weight[rows.hidden]))
    return records + [{"metric": "decisions_open", "value": open_ones}]
