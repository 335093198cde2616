"""Open Bandit (fashion recommendations, 2019): logs of two policies, typed table, twin."""

import hashlib

import numpy as np

from counterweight.datasets.published import Published, chosen, expect, read_fields, write_fields

TITLE = "Open Bandit, samples of the men and women campaigns"
LICENCE = "CC BY 4.0 (ZOZO, Inc.); repository of the Open Bandit Pipeline, Apache 2.0"
ROWS = 40000
FILES = {
    "random/men/men.csv": "ede6d08c6877f99cd3770f7d09e26c738e6aa6de4445ccccfb1356ba5d06b1eb",
    "random/men/item_context.csv": "6d855c2b7e917d0448d71bbe62c023147495882c0fdc8c41e86fef86abf9fe09",  # noqa: E501
    "random/women/women.csv": "e65f3bd3beb17664fa69cc129bf7bf852a775f8ffa630506e505fc905315bb34",
    "random/women/item_context.csv": "b1ca4905f97703d196004f2ad4552c1e90c2afad8b50688d333b0d2dc0b33147",  # noqa: E501
    "bts/men/men.csv": "db6d1f7ed2d591ba521533e45286d4c1fba7fe57a8ad2e80342210335f43c527",
    "bts/men/item_context.csv": "3b411ed6b0471316321a6b93f4f756bb25888eac6218cd71d0b603d41d85732d",  # noqa: E501
    "bts/women/women.csv": "e5d1b49a39b608585a2f3014a3f54970430cd37a495c1b73fceb85cdf428a5b8",
    "bts/women/item_context.csv": "a56295bad066a558eb783055afd9279f5f4e209a4776eafc22151c53f0ac89d4",  # noqa: E501
}
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
# The first column of each file, without a name, numbers its rows.
LOG_COLUMNS = {
    "": "integer",
    "timestamp": "text",
    "item_id": "integer",
    "position": "integer",
    "click": "integer",
    "propensity_score": "number",
} | dict.fromkeys(USER, "text")
ITEM_COLUMNS = {
    "": "integer",
    "item_id": "integer",
    "item_feature_0": "number",
    "item_feature_1": "text",
    "item_feature_2": "text",
    "item_feature_3": "text",
}

# The twin: levels of the user features and their shares; days that a log covers.
USER_LEVELS = (
    (0.85, 0.12, 0.03),
    (0.40, 0.28, 0.18, 0.10, 0.04),
    (0.34, 0.20, 0.14, 0.12, 0.08, 0.06, 0.03, 0.02, 0.01),
    (0.55, 0.16, 0.11, 0.07, 0.05, 0.03, 0.02, 0.01),
)
START, DAYS = "2019-11-24", 7
CLICK_LOG_ODDS, POSITION_LOG_ODDS = -5.35, (0.1, 0.0, -0.1)


class OpenBandit(Published):
    """Impressions of a shop's recommendations: which item was shown, and whether it was clicked.

    Two policies logged them in the same week of November 2019: one uniform over the items
    (``random``), one Bernoulli Thompson sampling (``bts``), each with the probability of the
    item that it showed (Saito, Aihara, Matsutani & Narita 2020).
    """

    NAME, LEAST = "Open Bandit", 4

    @staticmethod
    def table(folder):
        """Typed table of the four logs, men and women, random and bts; see `Published.read`.

        ``campaign``, ``policy``, ``timestamp`` (UTC), ``item``, ``position``, ``click`` (integers),
        ``propensity`` (of the item given its position), ``user_feature_0`` to ``3`` (text),
        ``affinity`` (past clicks of the user on the logged item) and ``item_feature_0`` (of the
        logged item). The file ``item_context.csv`` stands beside each log.
        """
        import pandas as pd

        frames = []
        for file in FILES:
            policy, campaign, name = file.split("/")
            if name != "item_context.csv":
                items = _read_items(folder / policy / campaign / "item_context.csv")
                frame = _read_log(folder / file, items)
                frame.insert(0, "campaign", campaign)
                frame.insert(1, "policy", policy)
                frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    @staticmethod
    def twin(folder, rows, rng):
        """Write the eight files of a twin; see `Published.generate`.

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
        """
        models = {campaign: _draw_items(count, rng) for campaign, count in ITEMS.items()}
        truths, start = [], 0
        logs = [(policy, campaign) for policy in POLICIES for campaign in ITEMS]
        for number, (policy, campaign) in enumerate(logs):
            stop = rows * (number + 1) // 4
            columns, truth = _draw_log(models[campaign], policy, stop - start, rng)
            items = _item_context(models[campaign], policy)
            for file, table in ((f"{campaign}.csv", columns), ("item_context.csv", items)):
                _write(folder / policy / campaign / file, table)
            truths.append(truth)
            start = stop
        return {name: np.concatenate([part[name] for part in truths]) for name in truths[0]}


def _read_items(path):
    """``item_feature_0`` by item, after a check that the items are 0 to K - 1."""
    frame = read_fields(path, ITEM_COLUMNS, header=True, numbered=True)
    items = frame["item_id"].to_numpy(int)
    known = (items >= 0) & (items < len(items))
    expect(
        path,
        frame,
        ("item_id", known, f"an item from 0 to {len(items) - 1}"),
        ("item_id", ~frame["item_id"].duplicated(), "an item that does not stand twice"),
    )
    return frame["item_feature_0"].to_numpy()[np.argsort(items)]


def _read_log(path, items):
    import pandas as pd

    affinities = [f"user-item_affinity_{item}" for item in range(len(items))]
    columns = LOG_COLUMNS | dict.fromkeys(affinities, "number")
    frame = read_fields(path, columns, header=True, numbered=True)
    time = pd.to_datetime(frame["timestamp"], format="ISO8601", utc=True, errors="coerce")
    among = f"an item of item_context.csv (0 to {len(items) - 1})"
    share = frame["propensity_score"].between(0, 1, inclusive="right")
    expect(
        path,
        frame,
        ("timestamp", time.notna(), "a time"),
        ("item_id", frame["item_id"].between(0, len(items) - 1), among),
        ("position", frame["position"].isin(POSITIONS), "1, 2 or 3"),
        ("click", frame["click"].isin((0, 1)), "0 or 1"),
        ("propensity_score", share, "a probability above 0 and at most 1"),
    )
    item = frame["item_id"].to_numpy("int16")
    columns = {
        "timestamp": time.dt.as_unit("us"),
        "item": item,
        "position": frame["position"].to_numpy("int8"),
        "click": frame["click"].to_numpy("int8"),
        "propensity": frame["propensity_score"],
    }
    columns |= {name: frame[name] for name in USER}
    columns["affinity"] = frame[affinities].to_numpy()[np.arange(len(item)), item]
    columns["item_feature_0"] = items[item]
    return pd.DataFrame(columns)


def _draw_items(count, rng):
    """What both logs of a campaign share: appeal, tastes of the bts policy, drift, a feature."""
    return {
        "appeal": 0.6 * rng.standard_normal(count),
        "taste": 0.7 * rng.standard_normal((len(POSITIONS), count)),
        "drift": rng.standard_normal(count),
        "feature": np.round(rng.gamma(1.0, 1.0, count) - 1.0, 12),
    }


def _draw_log(model, policy, rows, rng):
    """Columns of one log in the upstream order, and its truth."""
    from scipy.special import expit, softmax

    count = len(model["appeal"])
    span = DAYS * 86_400_000_000
    micro = np.sort(rng.integers(0, span, rows))
    position = rng.integers(0, len(POSITIONS), rows)
    passed = (micro / span)[:, None]
    bts = softmax(
        model["taste"][position] + (0.5 + passed) * model["appeal"] + passed * model["drift"],
        axis=1,
    )
    shown = np.full((rows, count), 1.0 / count) if policy == "random" else bts
    item = chosen(np.cumsum(shown, axis=1), rng)
    affinity = np.where(
        rng.random((rows, count)) < 0.0015, 1.0 + rng.poisson(0.2, (rows, count)), 0.0
    )
    rates = expit(
        CLICK_LOG_ODDS + model["appeal"] + np.array(POSITION_LOG_ODDS)[position][:, None] + affinity
    )
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
    count = len(model["feature"])
    columns = {"": np.arange(count), "item_id": np.arange(count)}
    columns["item_feature_0"] = model["feature"]
    for number, levels in ((1, 8), (2, 16), (3, 5)):
        words = [_hashed(f"{policy} {number} {k * 7 % levels}") for k in range(count)]
        columns[f"item_feature_{number}"] = np.array(words)
    return columns


def _hashed(text):
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _write(path, columns):
    def text(values):
        if values.dtype.kind != "f":
            return values
        # repr, as upstream: the shortest text that reads back, "0.0" for zero.
        words, codes = np.unique(values, return_inverse=True)
        return np.array([repr(float(word)) for word in words])[codes]

    write_fields(path, map(text, columns.values()), before=",".join(columns) + "\n")
