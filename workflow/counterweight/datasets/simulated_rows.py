"""Simulated rows with known truth: points of four kinds, and a log of actions and rare clicks."""

import numpy as np
import pandas as pd
from scipy.special import expit, softmax

from counterweight.datasets.published import chosen
from counterweight.errors import CounterweightError
from counterweight.tables.parquet import ROW_GROUP

SIMULATED = True
ROWS_BY_NAME = {
    "curved": 5000,
    "straight": 5000,
    "screening": 12000,
    "rare_clicks": 200000,
    "logged_clicks": 1000000,
}
TITLE_BY_NAME = {
    "curved": "Simulated points, curved boundary",
    "straight": "Simulated points, straight boundary",
    "screening": "Simulated screening by 31 features",
    "rare_clicks": "Simulated rare clicks",
    "logged_clicks": "Simulated log of actions with known values",
}
LICENCE = "made by this program"


class Curved:
    """Points whose true boundary is a parabola.

    x1 is uniform on [-2, 2], x2 normal with mean 0 and deviation 1.5;
    p(y = 1 | x) = logistic(2 (x2 - x1**2 + 1)); p(s = 1 | x) = logistic(1.6 x1). The
    labeling depends on x1 alone, so labels are missing at random, mostly on the left.
    A logistic regression linear in x cannot follow the boundary: where it lies depends
    on where the labels are, and Lemma 1 weights move it to where all points put it
    (Smith & Elkan 2007, figure 1).
    """

    @staticmethod
    def simulate(rows, rng):
        """Draw the points.

        Returns
        -------
        frame : pandas.DataFrame
            ``row`` (int32), ``x1``, ``x2``, ``label`` (0 or 1).
        truth : pandas.DataFrame
            ``row``, ``p_positive`` = p(y = 1 | x), ``p_selected`` = p(s = 1 | x), the
            latter within [0.039, 0.961].
        """
        x1 = rng.uniform(-2.0, 2.0, rows)
        x2 = rng.normal(0.0, 1.5, rows)
        return _tables([x1, x2], 2.0 * (x2 - x1**2 + 1.0), rng, p_selected=expit(1.6 * x1))


class Straight:
    """Points whose true boundary is a line, in clusters that no single Gaussian fits.

    x1 is uniform on [-2, 2]; x2 = h(x1) + e, h = 1.5 on the right half and -1.5 on the left
    with probability 0.85 and the other way round otherwise, e normal with deviation 0.4;
    p(y = 1 | x) = logistic(2 (x2 - x1)); p(s = 1 | x) = logistic(1.6 x1). Logistic
    regression is well specified, so labels missing at random do not bias it. A generative
    classifier with one Gaussian per class is not, so its boundary depends on the labeling.
    """

    @staticmethod
    def simulate(rows, rng):
        """Draw the points; see `Curved.simulate`."""
        x1 = rng.uniform(-2.0, 2.0, rows)
        side = np.where(rng.random(rows) < 0.85, 1.5, -1.5) * np.sign(x1)
        x2 = side + rng.normal(0.0, 0.4, rows)
        return _tables([x1, x2], 2.0 * (x2 - x1), rng, p_selected=expit(1.6 * x1))


def _tables(features, log_odds, rng, label="label", **known):
    """The rows, features named x1, x2, ... and a label drawn by its odds; and their truth."""
    p_positive = expit(log_odds)
    drawn = (rng.random(len(p_positive)) < p_positive).astype(np.int8)
    row = {"row": np.arange(len(drawn), dtype=np.int32)}
    columns = {f"x{number}": values for number, values in enumerate(features, 1)}
    truth = pd.DataFrame(row | {"p_positive": p_positive} | known)
    return pd.DataFrame(row | columns | {label: drawn}), truth


#: Share of positives in the population, E p(y = 1 | x).
RATE = 0.01
#: Makes E p(y = 1 | x) equal `RATE` to within 1e-8, by numerical integration.
INTERCEPT = -6.056891


class RareClicks:
    """Points of which one in a hundred is positive, nearly linear in the log odds.

    x1 to x4 are standard normal, x5 uniform on [-1, 1], x6 is 1 with probability 0.3 and
    0 otherwise, all independent;

        log odds = `INTERCEPT` + 0.8 x1 - 0.6 x2 + 0.5 x3 - 0.3 x4 + 0.5 x5 - 0.4 x6
                   - 1.2 x1 x6 + 0.2 x2**2 + 1.5 x5**2.

    The second line makes models that are linear in x mildly misspecified (they rank
    with an AUC of about 0.79 where the truth has 0.83), so that a learner of curves and
    interactions can gain, and so that weighted and unweighted training on subsampled
    rows differ in the limit.
    """

    @staticmethod
    def simulate(rows, rng):
        """Draw the points: ``x1`` to ``x6`` (float64), ``click`` (0 or 1); see `Curved.simulate`.

        The truth is ``p_positive`` = p(click = 1 | x).
        """
        x1, x2, x3, x4 = rng.standard_normal((4, rows))
        x5 = rng.uniform(-1.0, 1.0, rows)
        x6 = (rng.random(rows) < 0.3).astype(float)
        line = 0.8 * x1 - 0.6 * x2 + 0.5 * x3 - 0.3 * x4 + 0.5 * x5 - 0.4 * x6
        odds = INTERCEPT + line - 1.2 * x1 * x6 + 0.2 * x2**2 + 1.5 * x5**2
        return _tables([x1, x2, x3, x4, x5, x6], odds, rng, "click")


FEATURES = 31


class Screening:
    """Rows with as many features as the private data of Goh et al. (2016), section 4.2.

    All features are standard normal and independent. With a_k = cos(k) for k from 1 to 31,

        log odds = 0.9 sum a_k x_k / sqrt(5) + 1.2 sum x_k x_(k+10) / sqrt(10) - 1,

    the second sum over k from 1 to 10: a classifier that is linear in x can learn the first half
    only, one that is linear in many random features of x more, the more rows it has.
    """

    @staticmethod
    def simulate(rows, rng):
        """Draw the rows: ``x1`` to ``x31`` and ``label`` (0 or 1); see `Curved.simulate`."""
        x = rng.standard_normal((rows, FEATURES))
        line = x @ np.cos(np.arange(1, FEATURES + 1)) / np.sqrt(5)
        together = (x[:, :10] * x[:, 10:20]).sum(axis=1) / np.sqrt(10)
        return _tables(x.T, 0.9 * line + 1.2 * together - 1.0, rng)


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
        """Draw a log in batches of `size` rows, so that memory does not grow with the rows.

        Each is a data frame with the columns of `LAYOUT`. Another size gives another log of the
        same kind. Refused where `rows` is less than 1, or more than the row ids can number.
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
