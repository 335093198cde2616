"""Value of a policy from the log of another: IPS, self-normalised IPS, doubly robust.

One pass over the log, a batch at a time; nothing is kept but sums. A log may hold all its
rows; or only those of non-zero reward, with the number of all rows known; or the zero-reward
rows kept at known rates l, with that number lost.

References
----------
Mineiro, P. (2010). The Unimportance of Zeroes. Machined Learnings.
Swaminathan, A. & Joachims, T. (2015). The self-normalized estimator for counterfactual
learning. NeurIPS.
Dudik, M., Langford, J. & Li, L. (2011). Doubly robust policy evaluation and learning. ICML.
"""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.evaluation.values.logged_rows import LARGEST, RowChecks
from counterweight.evaluation.values.sums import (
    ExactSum,
    RunningSum,
    power_sums,
    ratio_moments,
    value_interval,
    zero_sums,
)
from counterweight.numerics.estimate import Estimate
from counterweight.numerics.zero_rejection import checked_rates

#: Estimators by name, as files and the protocol call them.
ESTIMATORS = ("ips", "ips_lost", "snips", "dr")
_ORDERS = np.arange(1.0, 5.0)


class PolicyValue:
    """Value of a policy from logged rows, gathered batch by batch.

    Row i holds the reward r of the logged action, its propensity p (the probability that
    the logging policy gave it) and its target probability t (the one that the policy to be
    evaluated gives it); w = t / p. Assumed: rows are independent draws, propensities are
    right, and the policy takes no action that the logging policy never takes; otherwise the
    value is that of the part of the policy that the log can show. Nothing is clipped.

    Parameters
    ----------
    estimators : sequence of str
        Of ``ips``, ``ips_lost``, ``snips`` and ``dr``: what the batches are summed for. The
        first two need nothing of a zero-reward row but its presence.
    reward_range : (float, float), optional
        Least and greatest reward; rewards outside it are refused.
    level : float
        Coverage of the intervals.
    names : mapping of str to str, optional
        Column names for messages, by ``reward``, ``propensity``, ``target``, ``q``
        and ``v``.

    Attributes
    ----------
    rows, nonzero : int
        Rows seen, and those of non-zero reward.
    rows_unsupported : int
        Rows whose logged action the policy never takes. They are used (with weight 0).
    subsampled : bool
        Whether a zero-reward row came with a keep rate below 1.

    Notes
    -----
    The value by IPS is an exact sum of r w over the non-zero rows, rounded once, over the
    number of rows: no batch size, no order and no zero-reward row changes a bit of it.

    Intervals come from the first four moments of the linearised estimate. In simulations
    (nominal 95 %) they hold the value in 93-97 % of the logs where some 50 non-zero rows match
    the policy and some 80 zero-reward rows are left. With fewer zero rows, as at l = 0.01 in a
    log of 4,000, those of ``dr`` fell to 92 % (85 % with 45 zero rows and weights up to 30),
    those of ``snips`` held up to 99 %; about ten weighted rewards: anything from 70 to 99 %.
    """

    def __init__(
        self,
        estimators=("ips", "ips_lost", "snips", "dr"),
        *,
        reward_range=None,
        level=0.95,
        names=None,
    ):
        estimators = (estimators,) if isinstance(estimators, str) else estimators
        unknown = [name for name in estimators if name not in ESTIMATORS]
        if unknown:
            raise CounterweightError(
                f"There is no value estimator {listed(unknown)}; choose of {listed(ESTIMATORS)}."
            )
        self.estimators, self.reward_range, self.level = tuple(estimators), reward_range, level
        self._checks = RowChecks({"target": "target probability"} | (names or {}), reward_range)
        self.rows = self.nonzero = self.rows_unsupported = 0
        self.subsampled = False
        self._weighted = bool({"snips", "dr"} & set(estimators))
        self._total = ExactSum()
        self._reward_total = RunningSum(())
        self._one = RunningSum(14)  # y = 1, z = r w over the non-zero rows
        self._weight = RunningSum(14)  # y = w, z = r over the non-zero rows
        self._keep = RunningSum(4)  # powers of 1/l over the zero-reward rows
        self._keep_weight = RunningSum(4)  # powers of w/l over them
        self._robust = RunningSum(14)  # y = 1/l or 1, z = v + w (r - q) over all rows
        self._shifts = {}
        self._largest = [0.0, 0.0]
        self._with_model = None
        self._scratch = np.empty((2, 0))

    def update(self, reward, propensity, target, *, keep_rate=None, q=None, v=None):
        """Add rows.

        Parameters
        ----------
        reward, propensity, target : array (n,)
        keep_rate : float or array (n,), optional
            Rate l at which zero-reward rows were kept; NaN is fine in other rows.
        q, v : array (n,), optional
            A reward model, fitted on other rows: its prediction for the logged action, and
            its mean over the policy's actions. Needed in every batch or in none.

        Returns
        -------
        PolicyValue
            Itself.

        Raises
        ------
        CounterweightError
            When lengths differ; when a propensity is not in (0, 1], a target probability not
            in [0, 1], a keep rate not in (0, 1] or missing where the reward is 0, a reward
            missing or out of its range, or a prediction missing.
        """
        checks, start = self._checks, self.rows
        columns = checks.arrays(
            {"reward": reward, "propensity": propensity, "target": target, "q": q, "v": v}
        )
        reward, propensity, target = columns["reward"], columns["propensity"], columns["target"]
        rows = len(reward)
        if not rows:
            return self
        where = np.flatnonzero(reward != 0)
        pick = where if len(where) < rows else slice(None)  # copies cost time
        r = reward[pick].astype(float, copy=False)
        checks.rewards(reward, r, start)
        checks.propensities(propensity, start)
        if checks.targets(target, start) == 0:
            self.rows_unsupported += rows - int(np.count_nonzero(target))
        keep = 1.0 if keep_rate is None else checked_rates(reward, keep_rate, start)
        self._add_keep(keep, where, rows - len(where))
        with np.errstate(over="ignore"):
            w = np.divide(target[pick], propensity[pick], dtype=float)
            f = r * w
            if len(f) and not max(w.max(), f.max(), -f.min()) < LARGEST:
                checks.products(reward, propensity, w, where, start)
        self._total.add(f)
        self._reward_total.add(r.sum())
        if len(where):
            self._largest[0] = max(self._largest[0], float(w.max()))
            self._one.add(power_sums(None, f - self._shift("one", f)))
            self._weight.add(power_sums(w, r - self._shift("weight", r, w)))
        if self._weighted and (len(where) < rows or "dr" in self.estimators):
            model = columns.get("q"), columns.get("v")
            self._add_weighted(reward, propensity, target, keep, where, *model)
        self.rows += rows
        self.nonzero += len(where)
        return self

    def _shift(self, name, values, weight=None):
        """A typical value, fixed with the first batch that has any."""
        if name not in self._shifts:
            weighted = weight is not None and weight.any()
            self._shifts[name] = float(np.average(values, weights=weight if weighted else None))
        return self._shifts[name]

    def _add_keep(self, keep, where, zeros):
        if isinstance(keep, float):
            self.subsampled |= bool(zeros) and keep < 1
            self._keep.add(zeros * keep**-_ORDERS)
            return
        inverse = 1 / keep
        inverse[where] = 0
        self.subsampled |= bool(inverse.max() > 1)
        self._keep.add(zero_sums(inverse))

    def _add_weighted(self, reward, propensity, target, keep, where, q, v):
        """Sums that need the weight of every row, those of reward 0 included."""
        # Kept between batches: fresh memory costs more than the arithmetic.
        if self._scratch.shape[1] < len(target):
            self._scratch = np.empty((2, len(target)))
        w, squares = self._scratch[:, : len(target)]
        with np.errstate(over="ignore"):
            np.divide(target, propensity, out=w, dtype=float)
        if not w.max() < LARGEST:
            self._checks.products(reward, propensity, w, np.arange(len(w)), self.rows)
        if "dr" in self.estimators:
            self._add_robust(reward, w, keep, where, q, v)
        w[where] = 0
        if isinstance(keep, float):
            scale = 1 / keep
        else:
            w /= keep
            w[where] = 0
            scale = 1.0
        self._keep_weight.add(zero_sums(w, squares) * scale**_ORDERS)
        self._largest[1] = max(self._largest[1], float(w.max()) * scale)

    def _add_robust(self, reward, w, keep, where, q, v):
        given = q is not None and v is not None
        if (q is None) != (v is None) or self._with_model not in (None, given):
            raise CounterweightError(
                "The doubly robust value needs both predictions q and v of the reward model in "
                "every batch: give both, or leave both out."
            )
        self._with_model = given
        if not given:
            return
        self._checks.finite("q", q, self.rows)
        self._checks.finite("v", v, self.rows)
        z = v + w * np.subtract(reward, q, dtype=float)
        z -= self._shift("robust", z)
        y = None
        if not isinstance(keep, float) or keep < 1:
            y = np.full(len(z), 1 / keep) if isinstance(keep, float) else 1 / keep
            y[where] = 1
        self._robust.add(power_sums(y, z))

    def ips(self, rows=None):
        """Mean of r w over all rows of the log: sum r w / |H|.

        Parameters
        ----------
        rows : int, optional
            Number |H| of rows before any was dropped. Without it all rows must be there.

        Returns
        -------
        Estimate
            Its rows are |H|; effective rows and largest weight are of the weights w of the
            non-zero rows, the only ones in the sum.

        Raises
        ------
        CounterweightError
            When there is no row, when `rows` is less than were seen, or when zero-reward
            rows were kept at rates below 1 and `rows` is not given.
        """
        if rows is None and self.subsampled:
            raise CounterweightError(
                "Zero-reward rows were kept at rates below 1, so the number of all rows is not "
                "that of the rows at hand: give the number of all rows, or use ips_lost."
            )
        rows = self._count(rows)
        zeros = np.full(4, rows - self.nonzero, float)
        return self._estimate("one", self._one.value, zeros, rows, self._total.value())

    def ips_lost(self):
        """IPS with the number of all rows estimated: sum r w / eta, eta = sum [r=0]/l + [r!=0].

        Biased, by about a share (1 - l) / (l |H|) of the value (for rare rewards).

        Returns
        -------
        Estimate
            As of `ips`, but its rows are those seen.
        """
        self._count(None)
        total = self._total.value()
        return self._estimate("one", self._one.value, self._keep.value, self.rows, total)

    def snips(self, rows=None):
        """Self-normalised IPS, sum k w r / sum k w with k = [r=0]/l + [r!=0].

        Every zero-reward row must be there, or a sample with its keep rates. Where they were
        dropped the rows at hand do not show it: give their number to have that checked.

        Parameters
        ----------
        rows : int, optional
            Number of rows before any was dropped, if it is known; only compared.

        Returns
        -------
        Estimate
            Effective rows and largest weight are of k w.

        Raises
        ------
        CounterweightError
            When there is no row, when all weights are 0, or when zero-reward rows were
            dropped altogether.
        """
        self._summed("snips", self._weighted)
        self._whole("The self-normalised value", rows)
        sums, zero = self._weight.value, self._keep_weight.value
        if not sums[0] + zero[0] > 0:
            raise CounterweightError(
                f"All {self.rows} importance weights are 0 (the policy never takes a logged "
                "action), so the self-normalised value does not exist: check that target "
                "probabilities and actions belong together."
            )
        return self._estimate("weight", sums, zero, self.rows, self._total.value())

    def dr(self, rows=None):
        """Doubly robust value, sum k (v + w (r - q)) / sum k with k = [r=0]/l + [r!=0].

        Unbiased (up to the ratio) for any q that was not fitted on these rows. Its standard
        error takes q as given. For the rows that must be there see `snips`.

        Parameters
        ----------
        rows : int, optional
            As in `snips`.

        Returns
        -------
        Estimate
            As of `snips`.

        Raises
        ------
        CounterweightError
            When there is no row, no reward model, or when zero-reward rows were dropped
            altogether.
        """
        self._summed("dr", bool(self._with_model))
        self._whole("The doubly robust value", rows)
        return self._estimate("robust", self._robust.value, np.zeros(4), self.rows)

    def note(self):
        """A sentence on rows outside the policy's support; None if there are none."""
        if not self.rows_unsupported:
            return None
        return (
            f"The policy never takes the logged action in {self.rows_unsupported} of {self.rows} "
            "rows: they count with importance weight 0."
        )

    def totals(self):
        """Plain weighted sums, for identities.

        Returns
        -------
        dict of str to float
            ``rows`` (sum of k, i.e. eta), ``reward`` (sum of k r) and ``importance`` (sum of
            k w; NaN unless summed for).
        """
        importance = float(self._weight.value[0] + self._keep_weight.value[0])
        return {
            "rows": self.nonzero + float(self._keep.value[0]),
            "reward": float(self._reward_total.value),
            "importance": importance if self._weighted else float("nan"),
        }

    def _estimate(self, kind, sums, zero, rows, total=None):
        moments = ratio_moments(sums, zero, self._shifts.get(kind, 0.0), rows, total)
        moments = {name: float(value) for name, value in moments.items()}
        weights = self._weight.value
        first, second, largest = weights[0], weights[2], self._largest[0]
        if kind != "one":
            first, second = first + self._keep_weight.value[0], second + self._keep_weight.value[1]
            largest = max(self._largest)
        low, high = value_interval(
            moments, rows, self.level, self.reward_range, weighted=kind == "weight"
        )
        return Estimate(
            value=moments["value"],
            standard_error=moments["standard_error"],
            low=low,
            high=high,
            rows=rows,
            effective_rows=float(first**2 / second) if second > 0 else 0.0,
            largest_weight=largest,
            level=self.level,
        )

    def _count(self, rows):
        if rows is None:
            rows = self.rows
        if not (rows == np.floor(rows) and rows >= self.rows):
            raise CounterweightError(
                f"The log is said to have had {rows} rows, but {self.rows} were seen: give the "
                "number of rows before any was dropped."
            )
        if rows == 0:
            raise CounterweightError("The log is empty: there is no row to evaluate a policy on.")
        return int(rows)

    def _summed(self, name, done):
        self._count(None if self.rows else 0)
        if not done:
            raise CounterweightError(
                f"The batches were not summed for {name}: name it among the estimators"
                + (", and give q and v." if name == "dr" else ".")
            )

    def _whole(self, what, rows):
        if rows is None or self.subsampled:
            return
        missing = self._count(rows) - self.rows
        if missing:
            raise CounterweightError(
                f"{what} needs the {missing} zero-reward rows that were dropped from the log, or a "
                "sample of them with its keep rates: use ips, which needs only their number."
            )
