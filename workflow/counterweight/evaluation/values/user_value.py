"""Value of a policy from a log whose rows belong to users: users are the independent draws."""

import math
from dataclasses import replace

import numpy as np

from counterweight.evaluation.values.sums import value_interval
from counterweight.evaluation.values.value import PolicyValue
from counterweight.numerics.estimate import shape_of
from counterweight.numerics.zero_rejection import keep_weights

#: Columns that are summed by user.
_COLUMNS = ("rows", "stand_for", "earned", "weight", "robust")


class UserValue(PolicyValue):
    """As `PolicyValue`, with intervals that allow for users.

    Values are the same. The influence of a user is the sum of that of its rows: with top and bottom
    of the ratio V by user, ``(top - V bottom) / sum bottom``. Where the number of rows before any
    was dropped is known it has no chance, but how it is spread over users is not: then it is
    ``top / rows``, which is on the large side.

    Parameters
    ----------
    clusters : int
        Users are numbered from 0 to below this; several may share a number.
    estimators, **options
        Of `PolicyValue`.

    References
    ----------
    Cochran, W. G. (1977). Sampling Techniques, section 9A.2.
    """

    def __init__(self, estimators, *, clusters, **options):
        super().__init__(estimators, **options)
        self._by_user = dict(zip(_COLUMNS, np.zeros((len(_COLUMNS), clusters)), strict=True))

    def update(self, reward, propensity, target, *, cluster, keep_rate=None, q=None, v=None):
        """Add rows; ``cluster`` (n,) is the number of each row's user."""
        super().update(reward, propensity, target, keep_rate=keep_rate, q=q, v=v)
        reward = np.asarray(reward, float)
        times = keep_weights(reward, 1.0 if keep_rate is None else keep_rate)
        w = np.asarray(target, float) / propensity
        columns = {"rows": None, "stand_for": times, "earned": reward * w, "weight": times * w}
        if q is not None and v is not None:
            columns["robust"] = times * (v + w * (reward - q))
        for name, values in columns.items():
            own = self._by_user[name]
            own += np.bincount(cluster, values, len(own))
        return self

    def _estimate(self, kind, sums, zero, rows, total=None):
        plain = super()._estimate(kind, sums, zero, rows, total)
        own, known = self._by_user, kind == "one" and rows > self.rows
        top = own["robust" if kind == "robust" else "earned"]
        bottom = own["weight" if kind == "weight" else "stand_for"]
        filled = own["rows"] > 0
        top, bottom, users = top[filled], bottom[filled], int(filled.sum())
        if known:
            influence, pull = top / rows, 0.0
        else:
            influence = (top - plain.value * bottom) / bottom.sum()
            pull = float(influence @ bottom) / float(bottom.sum())
        squares = influence * influence
        second = float(squares.sum())
        moments = (second, float(squares @ influence), float(squares @ squares))
        shape = shape_of(users, 1.0, *moments, pull)
        told = {
            "value": plain.value,
            "second": second,
            "standard_error": math.sqrt(second * users / (users - 1)) if users > 1 else math.nan,
            "skewness": shape.skewness,
            "pull": shape.pull,
            "kurtosis": shape.kurtosis,
        }
        low, high = value_interval(
            told, users, self.level, self.reward_range, weighted=kind == "weight"
        )
        return replace(plain, standard_error=told["standard_error"], low=low, high=high)
