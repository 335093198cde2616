"""A generated log of actions and rare clicks, with the exact value of three policies."""

import numpy as np
import pandas as pd
from scipy.special import expit, softmax

from counterweight.datasets.published import chosen
from counterweight.errors import CounterweightError
from counterweight.tables.parquet import ROW_GROUP

SIMULATED = True
ROWS = 1000000
TITLE = "Simulated log of actions with known values"
LICENCE = "made by this program"
#: Columns of the log and their Arrow types.
LAYOUT = (
    ("row", "int32"),
    ("device", "int8"),
    ("daypart", "int8"),
    ("segment", "int8"),
    ("visits", "int16"),
    ("action", "int8"),
    ("propensity", "float64"),
    ("click", "int8"),
    ("reward", "float64"),
    ("stochastic", "float64"),
    ("stochastic_action", "int8"),
    ("deterministic", "float64"),
    ("deterministic_action", "int8"),
)
ACTIONS = 10
#: Share of each level of a context column; segments depend on the device.
DEVICES = (0.60, 0.30, 0.10)
DAYPARTS = (0.15, 0.30, 0.35, 0.20)
SEGMENTS = (
    (0.40, 0.25, 0.20, 0.10, 0.05),
    (0.20, 0.20, 0.20, 0.20, 0.20),
    (0.05, 0.10, 0.20, 0.25, 0.40),
)
#: A click is worth 1 with this probability, else uniform on (0, 1].
FULL_REWARD = 0.7


class LoggedClicks:
    """A log whose contexts are few, so that policy values are sums and not estimates.

    A context x is a device (3 levels), a daypart (4) and a segment (5, by device): 60 in
    all. The logging policy takes one of K = 10 actions with probability
    mu(a | x) = 0.02 + 0.8 s(a | x), s a softmax of fixed scores that lean to the actions that
    are clicked; it lies in [0.02, 0.55]. A click has probability p(x, a), fixed by
    `_click_rates`, about 1 % on average, and brings a reward in (0, 1]; without a click the
    reward is 0.

    Two policies that did not log are given by the probability that they have for the
    logged action: ``stochastic``, pi(a | x) = 0.01 + 0.9 times another softmax, and
    ``deterministic``, which takes the action with the highest p(x, a). The columns
    ``stochastic_action`` and ``deterministic_action`` hold one action that each would take in
    the row's context, drawn from the policy and independent of the logged one.
    ``visits`` varies with the segment and, given that, says nothing of clicks.
    """

    #: Columns of the log and their Arrow types.
    LAYOUT = LAYOUT

    @staticmethod
    def simulate(rows, rng):
        """Draw a log whole: the rows of `simulate_batches`, and `known_values`."""
        frame = pd.concat(LoggedClicks.simulate_batches(rows, rng), ignore_index=True)
        return frame, LoggedClicks.known_values()

    @staticmethod
    def simulate_batches(rows, rng, size=ROW_GROUP):
        """Draw a log in batches, so that memory does not grow with the rows.

        Parameters
        ----------
        rows : int
        rng : numpy.random.Generator
        size : int
            Rows of a batch. Another size gives another log of the same kind.

        Yields
        ------
        pandas.DataFrame
            The columns of `LAYOUT`.

        Raises
        ------
        CounterweightError
            When `rows` is less than 1, or more than the row ids can number.
        """
        if not 1 <= rows < 2**31:
            raise CounterweightError(
                f"A log of {rows} rows cannot be drawn: choose a number from 1 to {2**31 - 1}."
            )
        tables = policy_tables()
        for start in range(0, rows, size):
            yield _draw(np.arange(start, min(start + size, rows)), tables, rng)

    @staticmethod
    def known_values():
        """Exact values of the policies, by summation over contexts and actions.

        Returns
        -------
        pandas.DataFrame
            ``policy`` (``stochastic``, ``deterministic``, and ``logging``, the one that
            logged), ``value``, the mean reward of a row, ``standard_error`` = 0, and
            ``rows`` = 0, since no row is used.
        """
        tables = policy_tables()
        reward = tables["click"] * mean_reward_of_a_click()
        names = ["stochastic", "deterministic", "logging"]
        values = [float((tables["share"][:, None] * tables[n] * reward).sum()) for n in names]
        return pd.DataFrame({"policy": names, "value": values, "standard_error": 0.0, "rows": 0})


def mean_reward_of_a_click():
    """1 with probability `FULL_REWARD`, else uniform on (0, 1] with mean 1/2."""
    return FULL_REWARD + (1 - FULL_REWARD) / 2


def policy_tables():
    """Everything that is fixed, as arrays: ``device, daypart, segment`` of each of the 60 contexts,
    their ``share`` (60,), and by context and action (60, 10) the probabilities ``logging,
    stochastic, deterministic`` and rates ``click``.
    """
    device, daypart, segment = (
        grid.ravel() for grid in np.indices((len(DEVICES), len(DAYPARTS), len(SEGMENTS[0])))
    )
    share = np.array(DEVICES)[device] * np.array(DAYPARTS)[daypart]
    share *= np.array(SEGMENTS)[device, segment]
    action = np.arange(ACTIONS)
    x = {"device": device, "daypart": daypart, "segment": segment}
    column = {name: values[:, None] for name, values in x.items()}
    click = _click_rates(column["device"], column["daypart"], column["segment"], action)
    odds = np.log(click / (1 - click))
    # Waves give each context other scores without a table of 600 numbers.
    wave = 1.3 * column["device"] + 0.9 * column["daypart"] + 0.6 * column["segment"]
    scores = 1.6 * np.sin(wave + 1.1 * action) + 1.5 * (odds - odds.mean(axis=1, keepdims=True))
    logging = 0.02 + 0.8 * softmax(scores, axis=1)
    stochastic = 0.01 + 0.9 * softmax(1.5 * np.sin(0.8 * wave + 1.7 * action + 0.5), axis=1)
    deterministic = (action == click.argmax(axis=1)[:, None]).astype(float)
    return x | {
        "share": share,
        "logging": logging,
        "stochastic": stochastic,
        "deterministic": deterministic,
        "click": click,
    }


def _click_rates(device, daypart, segment, action):
    taste = np.sin(1.9 * action + 0.7 * segment) + 0.5 * np.cos(1.3 * action * (1 + device))
    return expit(-5.15 + 0.7 * taste - 0.3 * device + 0.1 * daypart + 0.1 * segment)


def _draw(rows, tables, rng):
    n = len(rows)
    context = rng.choice(len(tables["share"]), n, p=tables["share"])
    cumulated = {name: np.cumsum(tables[name], axis=1) for name in ("logging", "stochastic")}
    action = chosen(cumulated["logging"][context], rng)
    click = rng.random(n) < tables["click"][context, action]
    worth = np.where(rng.random(n) < FULL_REWARD, 1.0, 1.0 - rng.random(n))
    columns = {
        "row": rows,
        "device": tables["device"][context],
        "daypart": tables["daypart"][context],
        "segment": tables["segment"][context],
        "visits": 1 + rng.poisson(2.0 + tables["segment"][context]),
        "action": action,
        "propensity": tables["logging"][context, action],
        "click": click,
        "reward": np.where(click, worth, 0.0),
        "stochastic": tables["stochastic"][context, action],
        "stochastic_action": chosen(cumulated["stochastic"][context], rng),
        "deterministic": tables["deterministic"][context, action],
        "deterministic_action": tables["deterministic"].argmax(axis=1)[context],
    }
    return pd.DataFrame({name: columns[name].astype(kind) for name, kind in LAYOUT})
