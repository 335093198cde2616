"""Checks of logged rows: one sentence for each mistake, with column, rows and what to do."""

import contextlib

import numpy as np

from counterweight.errors import CounterweightError

_MEANING = {
    "propensity": "not above 0 and at most 1: it is the probability with which the logging policy "
    "took the logged action",
    "target": "not between 0 and 1: it is the probability with which the policy to be evaluated "
    "takes the logged action",
    "q": "missing or not finite: the reward model failed in these rows",
    "reward": "missing or not finite: fill in or drop these rows",
}


#: Importance weights, and these times rewards, must be smaller: fourth powers are summed.
LARGEST = 1e70


class RowChecks:
    """Checks of batches of one log. A good batch costs a pass or two over each column.

    Parameters
    ----------
    names : mapping of str to str
        Column names for messages, by ``reward``, ``propensity``, ``target``, ``q``, ``v``.
    reward_range : (float, float), optional
        Least and greatest reward.
    """

    def __init__(self, names, reward_range=None):
        self.names = names
        self.reward_range = reward_range
        if reward_range is not None and not reward_range[0] <= reward_range[1]:
            raise CounterweightError(
                f"The range of rewards is {reward_range[0]} to {reward_range[1]}: give the least "
                "reward first, then the greatest."
            )

    def arrays(self, columns):
        """Columns as arrays of numbers, all of one length; None stays None.

        Parameters
        ----------
        columns : dict of str to array or None
            The first sets the length.
        """
        arrays = {}
        for name, values in columns.items():
            if values is None:
                continue
            arrays[name] = values = _numbers(values)
            first = next(iter(arrays.values()))
            if values.ndim != 1 or values.shape != first.shape:
                raise CounterweightError(
                    f"The column {self._named(name)} has the shape {values.shape} beside "
                    f"{first.size} rewards: give one value for each row."
                )
            if values.dtype.kind not in "biuf":
                raise CounterweightError(
                    f"The column {self._named(name)} holds no numbers but values of type "
                    f"{values.dtype}: recode it first."
                )
        return arrays

    def propensities(self, values, start):
        """Refuse propensities that are not in (0, 1]."""
        if not (values.min() > 0 and values.max() <= 1):
            self.refuse("propensity", values, ~((values > 0) & (values <= 1)), start)

    def targets(self, values, start):
        """Refuse target probabilities that are not in [0, 1]; return the least."""
        least = values.min()
        if not (least >= 0 and values.max() <= 1):
            self.refuse("target", values, ~((values >= 0) & (values <= 1)), start)
        return least

    def rewards(self, values, nonzero, start):
        """Refuse rewards that are missing or out of range.

        Parameters
        ----------
        values : array (n,)
        nonzero : array (m,)
            Those that are not 0, as floats.
        start : int
            Number of the first row.
        """
        low, high = self.reward_range or (-np.inf, np.inf)
        least, most = (nonzero.min(), nonzero.max()) if len(nonzero) else (0.0, 0.0)
        if len(nonzero) < len(values):
            least, most = min(least, 0.0), max(most, 0.0)
        if least >= low and most <= high and np.isfinite([least, most]).all():
            return
        if not np.isfinite(nonzero).all():
            self.refuse("reward", values, ~np.isfinite(values), start)
        self.refuse(
            "reward",
            values,
            ~((values >= low) & (values <= high)),
            start,
            f"outside the declared range from {low:g} to {high:g}: correct them, or declare "
            "another range",
        )

    def finite(self, name, values, start):
        """Refuse values that are missing or infinite."""
        if not np.isfinite(values.sum(dtype=float)) and not np.isfinite(values).all():
            self.refuse(name, values, ~np.isfinite(values), start, _MEANING["q"])

    def products(self, reward, propensity, weight, where, start):
        """Refuse rewards and importance weights whose fourth powers no float holds.

        Parameters
        ----------
        reward, propensity : array (n,)
        weight : array (m,)
            Importance weights of the rows `where`.
        where : array of int (m,)
        start : int
        """
        with np.errstate(over="ignore", invalid="ignore"):
            rewards = weight * np.abs(reward[where])
        for name, values, size, problem in (
            ("propensity", propensity, weight, "too small to divide by"),
            ("reward", reward, rewards, "too large to be squared: rescale them"),
        ):
            far = np.flatnonzero(~(size < LARGEST))
            if len(far):
                bad = np.zeros(len(values), bool)
                bad[where[far]] = True
                self.refuse(name, values, bad, start, problem)

    def refuse(self, name, values, bad, start, problem=None):
        """Raise the sentence on the bad values of a column."""
        first = int(np.argmax(bad))
        raise CounterweightError(
            f"{int(bad.sum())} of {len(values)} values of the column {self._named(name)} are "
            f"{problem or _MEANING[name]} (first: {float(values[first]):g} in row "
            f"{start + first})."
        )

    def _named(self, name):
        return self.names.get(name, name)


def _numbers(values):
    """An array that can be computed with: whole numbers would wrap, halves overflow."""
    values = np.asarray(values)
    if values.dtype.kind in "biu" or values.dtype == np.float16:
        return values.astype(float)
    if values.dtype == object and not any(isinstance(value, str) for value in values.flat):
        # Decimals, and numbers with missing ones among them.
        with contextlib.suppress(TypeError, ValueError):
            return values.astype(float)
    return values
