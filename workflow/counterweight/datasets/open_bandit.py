"""Open Bandit (fashion recommendations, 2019): logs of two policies, typed table, twin."""

from pathlib import Path

from counterweight.datasets.reading import refuse
from counterweight.errors import CounterweightError, listed
from counterweight.tables import replacing, write_table

TITLE = "Open Bandit, samples of the men and women campaigns"
LICENCE = "CC BY 4.0 (ZOZO, Inc.); repository of the Open Bandit Pipeline, Apache 2.0"
ROWS = 40000
FILES = {
    "random/men/men.csv": "ede6d08c6877f99cd3770f7d09e26c738e6aa6de4445ccccfb1356ba5d06b1eb",
    "random/men/item_context.csv":
        "6d855c2b7e917d0448d71bbe62c023147495882c0fdc8c41e86fef86abf9fe09",
    "random/women/women.csv": "e65f3bd3beb17664fa69cc129bf7bf852a775f8ffa630506e505fc905315bb34",
    "random/women/item_context.csv":
        "b1ca4905f97703d196004f2ad4552c1e90c2afad8b50688d333b0d2dc0b33147",
    "bts/men/men.csv": "db6d1f7ed2d591ba521533e45286d4c1fba7fe57a8ad2e80342210335f43c527",
    "bts/men/item_context.csv":
        "3b411ed6b0471316321a6b93f4f756bb25888eac6218cd71d0b603d41d85732d",
    "bts/women/women.csv": "e5d1b49a39b608585a2f3014a3f54970430cd37a495c1b73fceb85cdf428a5b8",
    "bts/women/item_context.csv":
        "a56295bad066a558eb783055afd9279f5f4e209a4776eafc22151c53f0ac89d4",
}  # fmt: skip
SOURCES = [
    {
        "url": "https://raw.githubusercontent.com/st-tech/zr-obp/master/obd/random/men/men.csv",
        "file": "random/men/men.csv",
    },
    {
        "url": "https://raw.githubusercontent.com/st-tech/zr-obp/master/obd/random/men/item_context.csv",
        "file": "random/men/item_context.csv",
    },
    {
        "url": "https://raw.githubusercontent.com/st-tech/zr-obp/master/obd/random/women/women.csv",
        "file": "random/women/women.csv",
    },
    {
        "url": "https://raw.githubusercontent.com/st-tech/zr-obp/master/obd/random/women/item_context.csv",
        "file": "random/women/item_context.csv",
    },
    {
        "url": "https://raw.githubusercontent.com/st-tech/zr-obp/master/obd/bts/men/men.csv",
        "file": "bts/men/men.csv",
    },
    {
        "url": "https://raw.githubusercontent.com/st-tech/zr-obp/master/obd/bts/men/item_context.csv",
        "file": "bts/men/item_context.csv",
    },
    {
        "url": "https://raw.githubusercontent.com/st-tech/zr-obp/master/obd/bts/women/women.csv",
        "file": "bts/women/women.csv",
    },
    {
        "url": "https://raw.githubusercontent.com/st-tech/zr-obp/master/obd/bts/women/item_context.csv",
        "file": "bts/women/item_context.csv",
    },
]
#: Items that each campaign chooses from.
ITEMS = {"men": 34, "women": 46}
POLICIES = ("random", "bts")
POSITIONS = (1, 2, 3)
USER = [f"user_feature_{i}" for i in range(4)]
LOG_COLUMNS = ["timestamp", "item_id", "position", "click", "propensity_score", *USER]

# The twin: levels of the user features and their shares; days that a log covers.
USER_LEVELS = (
    (0.85, 0.12, 0.03),
    (0.40, 0.28, 0.18, 0.10, 0.04),
    (0.34, 0.20, 0.14, 0.12, 0.08, 0.06, 0.03, 0.02, 0.01),
    (0.55, 0.16, 0.11, 0.07, 0.05, 0.03, 0.02, 0.01),
)
START, DAYS = "2019-11-24", 7
CLICK_LOG_ODDS, POSITION_LOG_ODDS = -5.35, (0.1, 0.0, -0.1)


class OpenBandit:
    """Impressions of a shop's recommendations: which item was shown, and whether it was clicked.

    Two policies logged them in the same week of November 2019: one uniform over the items
    (``random``), one Bernoulli Thompson sampling (``bts``), each with the probability of the
    item that it showed (Saito, Aihara, Matsutani & Narita 2020).
    """

    @staticmethod
    def read(folder):
        """Typed table of the four logs: men and women, random and bts.

        Parameters
        ----------
        folder : str or Path
            Holds ``{policy}/{campaign}/{campaign}.csv`` and the ``item_context.csv`` beside it.

        Returns
        -------
        pandas.DataFrame
            ``row`` (int32 from 0), ``campaign``, ``policy``, ``timestamp`` (UTC), ``item``,
            ``position``, ``click`` (integers), ``propensity`` (of the item given its position),
            ``user_feature_0`` to ``3`` (text), ``affinity`` (past clicks of the user on the
            logged item) and ``item_feature_0`` (of the logged item).

        Raises
        ------
        CounterweightError
            When a file is missing or malformed: names file, line and column.
        """
        import numpy as np
        import pandas as pd

        frames = []
        for file in FILES:
            policy, campaign, name = file.split("/")
            if name != "item_context.csv":
                items = _read_items(Path(folder, policy, campaign, "item_context.csv"))
                frame = _read_log(Path(folder, file), items)
                frame.insert(0, "campaign", campaign)
                frame.insert(1, "policy", policy)
                frames.append(frame)
        frame = pd.concat(frames, ignore_index=True)
        frame.insert(0, "row", np.arange(len(frame), dtype=np.int32))
        return frame

    @staticmethod
    def generate(folder, rows, rng):
        """Write a twin: the eight files in the upstream format, and the truth.

        The model. The rows are spread evenly over the four logs. Times are uniform over the
        week, in order; positions are uniform; user features are independent with the shares in
        `USER_LEVELS`. A campaign has items with log odds of a click
        ``CLICK_LOG_ODDS + 0.6 z + POSITION_LOG_ODDS[position] + affinity``, z standard normal
        by item, the same in both logs of the campaign. The random policy shows each of
        the K items with probability 1/K; bts with a softmax of
        ``0.7 u[position, item] + (0.5 + t) (0.6 z) + t d[item]``, u and d standard normal and
        fixed, t the share of the week that has passed: a policy that leans more and more
        to the items that are clicked. Affinities are 0 or, with probability 0.0015,
        one more than a Poisson number with mean 0.2.

        ``truth.parquet`` has ``row``; ``p_click``, the probability of a click on the item
        shown; ``value_random`` and ``value_bts``, the mean of the same over the items that each
        policy would show at that time and position to that user.

        Parameters
        ----------
        folder : str or Path
        rows : int
            Rows of the four logs together.
        rng : numpy.random.Generator

        Raises
        ------
        CounterweightError
            When `rows` is less than 4 or the folder cannot be written.
        """
        import numpy as np

        if rows < 4:
            raise CounterweightError(f"A twin of Open Bandit needs at least 4 rows, not {rows}.")
        folder = Path(folder)
        models = {campaign: _draw_items(count, rng) for campaign, count in ITEMS.items()}
        truths, start = [], 0
        logs = [(policy, campaign) for policy in POLICIES for campaign in ITEMS]
        for number, (policy, campaign) in enumerate(logs):
            stop = rows * (number + 1) // 4
            columns, truth = _draw_log(models[campaign], policy, stop - start, rng)
            _write_csv(folder / policy / campaign / f"{campaign}.csv", columns)
            _write_csv(
                folder / policy / campaign / "item_context.csv",
                _item_context(models[campaign], policy),
            )
            truths.append(truth)
            start = stop
        truth = {name: np.concatenate([part[name] for part in truths]) for name in truths[0]}
        write_table(folder / "truth.parquet", {"row": np.arange(rows, dtype=np.int32)} | truth)


def _read_text(path, required, optional=()):
    """Columns of a comma-separated file with a header, as text, and their line numbers."""
    import csv

    import pandas as pd

    try:
        with open(path, encoding="utf-8") as stream:
            header = stream.readline().strip("\r\n").split(",")
        missing = [name for name in required if name not in header]
        if missing:
            raise CounterweightError(
                f"{path}, line 1 has no column {listed(missing)}; it has {listed(header)}: fetch "
                "the file anew."
            )
        frame = pd.read_csv(
            path, usecols=lambda name: name in required or name in optional, dtype="str",
            index_col=False, keep_default_na=False, skip_blank_lines=False,
            quoting=csv.QUOTE_NONE, encoding="utf-8", on_bad_lines="error",
        )  # fmt: skip
    except FileNotFoundError as error:
        raise CounterweightError(
            f"{path} is not there: run the download, or put the file there by hand."
        ) from error
    except UnicodeDecodeError as error:
        raise CounterweightError(
            f"{path} is not text (byte {error.start}): it may be packed or damaged; fetch it anew."
        ) from error
    except OSError as error:
        raise CounterweightError(f"{path} cannot be read ({error.strerror}).") from error
    except pd.errors.ParserError as error:
        what = str(error).split("C error: ")[-1].strip()
        raise CounterweightError(f"{path} cannot be read: {what}; fetch it anew.") from error
    blank = frame.isna() | (frame == "")
    frame = frame[~blank.all(axis=1)]
    if not len(frame):
        raise CounterweightError(f"{path} has no rows: delete it and fetch it anew.")
    return frame, frame.index.to_numpy() + 2


def _numbers(path, frame, column, lines, expected, right):
    """One column as floats; refuses text, and values for which `right` does not hold."""
    import numpy as np
    import pandas as pd

    values = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=float)
    with np.errstate(invalid="ignore"):
        wrong = ~np.isfinite(values) | ~right(values)
    refuse(path, column, wrong, frame[column].fillna(""), lines, expected)
    return values


def _whole(values):
    return values % 1 == 0


def _read_items(path):
    """``item_feature_0`` by item, after a check that the items are 0 to K - 1."""
    import numpy as np

    frame, lines = _read_text(path, ["item_id", "item_feature_0"])
    count = len(frame)
    items = _numbers(
        path, frame, "item_id", lines, f"a whole number from 0 to {count - 1}",
        lambda values: _whole(values) & (values >= 0) & (values < count),
    ).astype(int)  # fmt: skip
    again = np.ones(count, bool)
    again[np.unique(items, return_index=True)[1]] = False
    refuse(path, "item_id", again, frame["item_id"], lines, "an item that does not stand twice")
    feature = _numbers(path, frame, "item_feature_0", lines, "a number", np.isfinite)
    return feature[np.argsort(items)]


def _read_log(path, items):
    import numpy as np
    import pandas as pd

    affinities = [f"user-item_affinity_{item}" for item in range(len(items))]
    frame, lines = _read_text(path, [*LOG_COLUMNS, *affinities])
    item = _numbers(
        path, frame, "item_id", lines,
        f"an item of item_context.csv (a whole number from 0 to {len(items) - 1})",
        lambda values: _whole(values) & (values >= 0) & (values < len(items)),
    ).astype("int16")  # fmt: skip
    position = _numbers(
        path, frame, "position", lines, "1, 2 or 3", lambda values: np.isin(values, POSITIONS)
    )
    click = _numbers(path, frame, "click", lines, "0 or 1", lambda values: np.isin(values, (0, 1)))
    propensity = _numbers(
        path, frame, "propensity_score", lines, "a probability above 0 and at most 1",
        lambda values: (values > 0) & (values <= 1),
    )  # fmt: skip
    affinity = np.column_stack(
        [_numbers(path, frame, name, lines, "a number", np.isfinite) for name in affinities]
    )
    time = pd.to_datetime(frame["timestamp"], format="ISO8601", utc=True, errors="coerce")
    refuse(path, "timestamp", time.isna(), frame["timestamp"].fillna(""), lines, "a time")
    for name in USER:
        text = frame[name].fillna("")
        refuse(path, name, text == "", text, lines, "some text")
    columns = {
        "timestamp": time.dt.as_unit("us").array, "item": item,
        "position": position.astype("int8"), "click": click.astype("int8"),
        "propensity": propensity,
    }  # fmt: skip
    columns |= {name: frame[name].array for name in USER}
    columns["affinity"] = affinity[np.arange(len(item)), item]
    columns["item_feature_0"] = items[item]
    return pd.DataFrame(columns)


def _draw_items(count, rng):
    """What both logs of a campaign share: appeal, tastes of the bts policy, drift, a feature."""
    import numpy as np

    return {
        "appeal": 0.6 * rng.standard_normal(count),
        "taste": 0.7 * rng.standard_normal((len(POSITIONS), count)),
        "drift": rng.standard_normal(count),
        "feature": np.round(rng.gamma(1.0, 1.0, count) - 1.0, 12),
    }


def _draw_log(model, policy, rows, rng):
    """Columns of one log in the upstream order, and its truth."""
    import numpy as np
    from scipy.special import expit, softmax

    count = len(model["appeal"])
    span = DAYS * 86_400_000_000
    micro = np.sort(rng.integers(0, span, rows))
    position = rng.integers(0, len(POSITIONS), rows)
    passed = (micro / span)[:, None]
    bts = softmax(
        model["taste"][position]
        + (0.5 + passed) * model["appeal"]
        + passed * model["drift"],
        axis=1,
    )  # fmt: skip
    shown = np.full((rows, count), 1.0 / count) if policy == "random" else bts
    cumulated = np.cumsum(shown, axis=1)
    draws = rng.random(rows)[:, None] * cumulated[:, -1:]
    item = (draws >= cumulated).sum(axis=1)
    affinity = np.where(
        rng.random((rows, count)) < 0.0015, 1.0 + rng.poisson(0.2, (rows, count)), 0.0
    )
    rates = expit(
        CLICK_LOG_ODDS
        + model["appeal"]
        + np.array(POSITION_LOG_ODDS)[position][:, None]
        + affinity
    )  # fmt: skip
    every = np.arange(rows)
    p_click = rates[every, item]
    time = np.datetime64(START, "us") + micro
    columns = {
        "": every,
        "timestamp": np.char.add(np.char.replace(time.astype(str), "T", " "), "+00:00"),
        "item_id": item,
        "position": np.array(POSITIONS)[position],
        "click": (rng.random(rows) < p_click).astype(int),
        "propensity_score": shown[every, item],
    }
    for name, shares in zip(USER, USER_LEVELS, strict=True):
        words = np.array([_hashed(f"{name} {level}") for level in range(len(shares))])
        columns[name] = words[rng.choice(len(shares), rows, p=shares)]
    columns |= {f"user-item_affinity_{k}": affinity[:, k] for k in range(count)}
    truth = {
        "p_click": p_click,
        "value_random": rates.mean(axis=1),
        "value_bts": (bts * rates).sum(axis=1),
    }
    return columns, truth


def _item_context(model, policy):
    """Columns of ``item_context.csv``; features 1 to 3 are hashed anew for each policy."""
    import numpy as np

    count = len(model["feature"])
    columns = {"": np.arange(count), "item_id": np.arange(count)}
    columns["item_feature_0"] = model["feature"]
    for number, levels in ((1, 8), (2, 16), (3, 5)):
        words = [_hashed(f"{policy} {number} {k * 7 % levels}") for k in range(count)]
        columns[f"item_feature_{number}"] = np.array(words)
    return columns


def _hashed(text):
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _write_csv(path, columns):
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = []
    for values in columns.values():
        if values.dtype.kind == "f":
            words, codes = np.unique(values, return_inverse=True)
            # repr, as upstream: the shortest text that reads back, "0.0" for zero.
            values = np.array([repr(float(word)) for word in words])[codes]
        texts.append(pc.cast(pa.array(values), pa.string()))
    lines = pc.binary_join_element_wise(*texts, ",").to_pylist()
    with replacing(path) as temporary, open(temporary, "w", encoding="ascii", newline="") as out:
        out.write(",".join(columns) + "\n")
        out.write("\n".join(lines) + "\n" if lines else "")
