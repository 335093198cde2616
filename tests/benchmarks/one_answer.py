"""How good one answer about blank outcomes is: other names, peers, cuts, many columns.

    COUNTERWEIGHT_MIRROR=DATA PYTHONPATH=workflow python tests/benchmarks/one_answer.py \\
        [names] [seeds] [cuts] [alarms] [experiment] [instrument] [moments] [products] \\
        [--rows 1000] [--runs 5] [--tables hmeq,adult] [--jobs 2]

Prints a table in Markdown for each part. Tables of real people are read from the folder that the
variable names (``practice/hmeq.csv``, ``adult/adult.data``, ``bank_marketing/bank-full.csv``) and
sampled; where it is not set, the two generated tables are used alone.

``names``: the same rows under other names (two a run), in other orders of rows and columns (one
each): ten, five and five by ``names --runs 5 --rows 600``. ``seeds``: labels
of half of the rows hidden at random, log loss on these by what is delivered, by the middle of its
band and by scikit-learn's cross-validated logistic regression and boosting (``--peers no`` leaves
these out); whether the rate is in its interval; on up to 10,000 fresh rows the AUC, and on these
with the hidden ones the shares of tenths in their bands (see `held`: a tenth of 1,000 rows has a
rate that is off by .03, as much as the band of 15,000 labels is wide).
``cuts``: labels hidden beyond a cut of one column; of half of the others, too, or sharp: all others
have one. ``alarms``: new rows of the law of the labeled
ones, ten draws a run of `--runs`, by `Support` alone (chances of a label flag none at random).
``experiment``: the mean outcome of a randomised arm, whose outcomes are hidden, from people who
chose the treatment by their features: is it in the interval; 100 by
``experiment --runs 100 --rows 240``.
``instrument``: the rate of those without an outcome by ``weights: heckman``, in tables where all
that it supposes is so: whether the bounds, or the interval where there are none, hold it, and the
interval of the part that rests on data the rate of that part. 40 by
``instrument --runs 40 --rows 600``; of a number, its mean, by ``instrument --numbers yes``.
``moments``: the rate of those without an outcome by weights of Rosset's moments with one feature
named, and how often the run stops since the table speaks against them; 200 tables each by
``moments --runs 200 --rows 1000``.
``products``: labels and outcome both go by the product of two columns, which no main effect shows:
whether the interval holds the rate of those without an outcome, and how far the tried methods are
apart beside what it reaches; without the product, too. ``products --runs 1 --rows 100000``.
"""

import os
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse  # noqa: E402
import logging  # noqa: E402
import warnings  # noqa: E402
from concurrent.futures import ProcessPoolExecutor  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from counterweight import missing_outcomes  # noqa: E402
from counterweight.errors import CounterweightError  # noqa: E402
from counterweight.weighting.importance_weights import Rows  # noqa: E402
from counterweight.weighting.outcome_selection import moment_weights, refuse_refuted  # noqa: E402
from counterweight.weighting.overlap import Support  # noqa: E402
from scipy.special import expit  # noqa: E402

DATA = Path(os.environ.get("COUNTERWEIGHT_MIRROR") or "absent")
#: Column that is cut, and whether those above it are without a label, by table.
CUTS = {
    "hmeq": [
        ("DEBTINC", True),
        ("LOAN", False),
        ("CLAGE", False),
        ("DELINQ", True),
        ("VALUE", True),
    ],
    "adult": [
        ("age", False),
        ("education_num", False),
        ("hours", True),
        ("gain", True),
        ("loss", True),
    ],
    "mixed": [("x0", True), ("x1", True), ("x2", False), ("x3", False), ("x4", True)],
}
#: Labeled rows of the normal law of which false alarms are counted.
ALARM_ROWS = 570


#: Of generated tables the chance of each row, which nobody is shown.
CHANCE = "chance"
ENDS = ["low", "high"]


def hmeq():
    return pd.read_csv(DATA / "practice" / "hmeq.csv").rename(columns={"BAD": "y"})


def adult():
    names = "age workclass weight education education_num marital job relation race sex gain loss"
    names = [*names.split(), "hours", "country", "y"]
    read = {"names": names, "skipinitialspace": True, "na_values": "?"}
    made = pd.read_csv(DATA / "adult" / "adult.data", **read).drop(columns="weight")
    return made.assign(y=(made["y"] == ">50K").astype(int))


def bank():
    made = pd.read_csv(DATA / "bank_marketing" / "bank-full.csv", sep=";").drop(columns="duration")
    return made.assign(y=(made["y"] == "yes").astype(int))


def linear(rows=40_000):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 8))
    p = expit(X @ [1.0, -0.8, 0.6, 0.4, 0, 0, 0, 0] - 0.7)
    made = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)])
    return made.assign(y=(rng.random(rows) < p).astype(int), **{CHANCE: p})


def mixed(rows=40_000):
    rng = np.random.default_rng(2)
    X, kind = rng.normal(size=(rows, 6)), rng.choice(list("abcd"), rows)
    score = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + (kind == "a") - 0.5 * X[:, 3] - 1.2
    made = pd.DataFrame(X, columns=[f"x{k}" for k in range(6)]).assign(kind=kind)
    p = expit(1.2 * score)
    return made.assign(y=(rng.random(rows) < p).astype(int), **{CHANCE: p})


TABLES = {"hmeq": hmeq, "adult": adult, "bank": bank, "linear": linear, "mixed": mixed}


def sampled(table, rows, seed):
    """Rows of a table drawn without replacement, and up to 10,000 others; numbered anew."""
    whole = TABLES[table]().sample(frac=1, random_state=seed).reset_index(drop=True)
    return whole[:rows], whole[rows : rows + 10_000].reset_index(drop=True)


def shown(frame):
    """Without the chances."""
    return frame.drop(columns=CHANCE, errors="ignore")


def asked(frame, hidden, **keys):
    """The call on a frame whose outcomes are hidden where `hidden` is true."""
    y, frame = frame["y"].astype(float).where(~hidden), shown(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return missing_outcomes(frame.assign(y=y), "y", 1, **keys)


def log_loss(y, p):
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return float(-np.mean(np.where(y == 1, np.log(p), np.log(1 - p))))


def peers(frame, hidden):
    """Chances of hidden rows by the peers."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    texts = make_column_selector(dtype_exclude="number")
    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False, min_frequency=5), texts),
        (SimpleImputer(add_indicator=True), make_column_selector(dtype_include="number")),
    )
    X, y = shown(frame).drop(columns="y"), frame["y"]
    models = {
        "logistic regression": (
            StandardScaler(),
            LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=2000),
        ),
        "boosting": (HistGradientBoostingClassifier(early_stopping=True, random_state=0),),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: make_pipeline(encoded, *model)
            .fit(X[~hidden], y[~hidden])
            .predict_proba(X[hidden])[:, 1]
            for name, model in models.items()
        }


def auc_and_error(y, p):
    """AUC and its standard error (Hanley & McNeil 1982)."""
    from scipy.stats import rankdata

    ones = int(y.sum())
    zeros = len(y) - ones
    auc = (rankdata(p)[y == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros)
    same, other = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    spread = auc * (1 - auc) + (ones - 1) * (same - auc**2) + (zeros - 1) * (other - auc**2)
    return auc, np.sqrt(spread / (ones * zeros))


def held(rows, ends, score):
    """Share of tenths by score whose rate lies in the mean band, ends (n, 2) of each row.

    Where chances are known it is their mean. Else the rate of outcomes has an error of its own,
    which comes to that of the band by squares: a tenth fails by a test at the level of 5 %.
    """
    found = []
    for at in np.array_split(np.argsort(score, kind="stable"), 10):
        rate, (low, high) = rows["y"].to_numpy()[at].mean(), ends[at].mean(axis=0)
        middle, blur = (low + high) / 2, 1.96 * np.sqrt(rate * (1 - rate) / len(at))
        if CHANCE in rows:
            rate, blur = rows[CHANCE].to_numpy()[at].mean(), 0.0
        found.append(abs(rate - middle) <= np.hypot((high - low) / 2, blur))
    return float(np.mean(found))


def one_seed(table, rows, seed, against=True):
    """A run with half of the outcomes hidden at random; the peers where it is held against them."""
    frame, fresh = sampled(table, rows, seed)
    hidden = pd.Series(np.random.default_rng(seed).random(len(frame)) < 0.5)
    found = asked(frame, hidden)
    scores, y = found.scores[hidden], frame["y"][hidden].to_numpy()
    p, low, high = (scores[name].to_numpy() for name in ("estimate", "low", "high"))
    of = {"delivered": p, "middle of the band": (low + high) / 2}
    of |= peers(frame, hidden) if against else {}
    others = found.saved.scores(shown(fresh), reasons=False)
    truth, answer = frame["y"].mean(), found.answer
    auc, own = auc_and_error(fresh["y"].to_numpy(), others["estimate"].to_numpy())
    told = found.metrics.query("metric == 'auc' and source == 'combined'")
    told = told[told["part"].fillna("") == ""]
    told = dict(zip(told["variable"].fillna(""), told["value"], strict=True))
    side = told["high" if auc > told[""] else "low"] - told[""]
    return {f"log loss: {name}": log_loss(y, chance) for name, chance in of.items()} | {
        "rate is covered": answer.low <= truth <= answer.high,
        "half-width": (answer.high - answer.low) / 2,
        "squared error": (answer.value - truth) ** 2,
        "AUC is covered": abs(told[""] - auc) <= np.hypot(side, 1.96 * own),
        "AUC told less true": told[""] - auc,
        "AUC half-width": (told["high"] - told["low"]) / 2,
        "bins held": held(
            pd.concat([frame[hidden], fresh]),
            np.concatenate([scores[ENDS], others[ENDS]]),
            np.concatenate([p, others["estimate"]]),
        ),
        "estimate is an end": float(np.mean((p <= low + 1e-12) | (p >= high - 1e-12))),
        "estimate is outside": float(np.mean((p < low - 1e-12) | (p > high + 1e-12))),
        "flagged": float((~scores["supported"]).mean()),
    }


def one_name(table, rows, way, number):
    """The same rows otherwise: columns renamed, rows or columns in another order."""
    frame, _ = sampled(table, rows, 0)
    hidden = pd.Series(np.random.default_rng(0).random(len(frame)) < 0.5)
    rng, frame = np.random.default_rng(number + 1), shown(frame)
    features = [column for column in frame if column != "y"]
    if way == "rows":
        order = rng.permutation(len(frame))
        frame, hidden = frame.iloc[order], hidden.iloc[order]
    elif way == "columns":
        frame = frame[[*rng.permutation(features), "y"]]
    else:
        letters = [f"{chr(97 + rng.integers(26))}{number}_{k}" for k in range(len(features))]
        frame = frame.rename(columns=dict(zip(features, letters, strict=True)))
    found = asked(frame, hidden)
    scores = found.scores.sort_index()
    return {
        "rate": found.answer.value,
        "error": found.answer.standard_error,
        "method": found.saved.facts["method"],
        "estimates": scores[["estimate", "low", "high"]].to_numpy(),
    }


def one_cut(table, rows, column, above, sharp):
    """Nobody labeled beyond a cut of a column, half of the others labeled, or all if `sharp`."""
    frame, _ = sampled(table, rows, 0)
    values = frame[column].astype(float)
    cut = values.quantile(0.7 if above else 0.3)
    beyond = (values > cut) if above else (values < cut)
    hidden = beyond | ((np.random.default_rng(0).random(len(frame)) < 0.5) & (not sharp))
    found = asked(frame, hidden)
    bounds, truth = found.bounds or (np.nan, np.nan), frame["y"].mean()
    flagged = ~found.scores["supported"]
    return {
        "truth": truth,
        "answer": found.answer.value,
        "low": found.answer.low,
        "high": found.answer.high,
        "bounds": "{:.3f} to {:.3f}".format(*bounds) if found.bounds else "none",
        "bounds hold it": bounds[0] <= truth <= bounds[1],
        "flagged beyond": flagged[beyond].mean(),
        "flagged else": np.nan if sharp else flagged[hidden & ~beyond].mean(),
        "first sentence": found.sentence,
    }


def one_alarm(columns, draws, rows=ALARM_ROWS, new=2000):
    """Rows of the same normal law without a label: whom are they said not to be like.

    Power: the same of rows whose first column is 6 standard deviations more.
    """
    found = []
    for draw in range(draws):
        rng = np.random.default_rng([draw, columns])
        X, fresh = rng.normal(size=(rows, columns)), rng.normal(size=(new, columns))
        told = {"unlabeled": fresh[:rows], "onehot": np.full(columns, -1), "rng": rng}
        support = Support().fit(X, **told)
        moved = fresh.copy()
        moved[:, 0] += 6
        found.append([support.outside(fresh).mean(), support.outside(moved).mean()])
    alarm, power = np.array(found).T
    return {
        "draws": draws,
        "flagged": alarm.mean(),
        "standard error": alarm.std(ddof=1) / np.sqrt(draws),
        "most of a draw": alarm.max(),
        "of rows moved by 6 in a column": power.mean(),
    }


def one_experiment(rows, seed):
    """Those who chose a treatment by their features answer for a randomised arm, a second table.

    The arm has half as many people as the table, of another mix, and the outcome goes by the
    features alone: by a product of two and the size of one, too.
    """
    rng = np.random.default_rng([29, seed])
    chose, arm = rng.normal(size=(rows, 4)), rng.normal(size=(rows // 2, 4)) + [0.4, 0, 0, 0]

    def outcomes(X):
        score = X[:, 0] - 0.7 * X[:, 1] + 0.5 * X[:, 0] * X[:, 2] + 0.4 * np.abs(X[:, 3]) - 0.6
        return (rng.random(len(X)) < expit(score)).astype(float)

    names = [f"x{k}" for k in range(4)]
    table, others = pd.DataFrame(chose, columns=names), pd.DataFrame(arm, columns=names)
    treated = rng.random(rows) < expit(0.8 * chose[:, 1] - 0.5 * chose[:, 0])
    table["y"] = pd.Series(outcomes(chose)).where(treated)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = missing_outcomes(table, "y", 1, target=others)
    truth, answer = outcomes(arm).mean(), found.answer
    return {
        "truth": truth,
        "of those who chose": table["y"].mean(),
        "answer": answer.value,
        "covered": answer.low <= truth <= answer.high,
        "half-width": (answer.high - answer.low) / 2,
    }


def one_instrument(rows, seed, numbers):
    """An unseen cause that outcome and label share, and a column that has to do with labels alone.

    How strong it is, how far causes are shared and the share of labels differ from table to table.
    """
    rng = np.random.default_rng([6, seed])
    strength, shared = rng.uniform(0.3, 1.5), rng.uniform(-0.8, 0.8)
    X, far = rng.normal(size=(rows, 3)), rng.normal(size=rows)
    cause, unseen = rng.multivariate_normal([0, 0], [[1, shared], [shared, 1]], rows).T
    y = rng.uniform(-0.5, 0.5) + X @ [0.8, -0.5, 0.3] + cause
    y = y if numbers else (y > 0).astype(float)
    labeled = rng.uniform(-0.5, 0.5) + X @ [0.3, 0.3, -0.3] + strength * far + unseen > 0
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(3)]).assign(far=far, y=y)
    frame["y"] = frame["y"].where(labeled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            told = {"weights": {"weighting": "heckman", "exclusion": "far"}}
            positive = None if numbers else 1
            found = missing_outcomes(frame, "y", positive, target="unlabeled", **told)
        except CounterweightError as error:
            return {"strength": strength, "shared": shared, "refused": str(error)}
    on = found.scores["supported"][~labeled].to_numpy()
    metric = "target_mean" if numbers else "target_rate"
    part = found.metrics.query(f"part == 'supported' and metric == '{metric}'")
    part = dict(zip(part["variable"].fillna(""), part["value"], strict=True))
    low, high = found.bounds or (found.answer.low, found.answer.high)
    truth, inner = y[~labeled].mean(), y[~labeled][on].mean()
    made = {"strength": strength, "shared": shared, "truth": truth}
    made |= {"of those with one": y[labeled].mean(), "bounds": found.bounds is not None}
    made |= {"low": low, "high": high, "held": low <= truth <= high}
    made |= {"rests on data": on.mean(), "answer": found.answer.value, "inner held": None}
    if part:
        made["inner held"] = part["low"] <= inner <= part["high"]
    return made


def one_product(rows, strength, seed):
    """Labels and outcome by the same features, and by the product of two of them."""
    rng = np.random.default_rng([47, seed])
    X, kind = rng.normal(size=(rows, 8)), rng.integers(0, 12, rows)
    score = X[:, :4] @ [0.7, 0.5, -0.5, 0.4] + rng.normal(0, 0.3, 12)[kind] - 1.2
    score += strength * X[:, 4] * X[:, 5]
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)]).assign(kind=kind.astype(str))
    y = pd.Series((rng.random(rows) < expit(score)).astype(float))
    labeled = rng.random(rows) < expit(-0.2 - 0.8 * score)
    found = asked(table.assign(y=y), ~labeled, target="unlabeled")
    answer, truth = found.answer, y[~labeled].mean()
    kept = found.metrics[found.metrics["metric"].eq("rate_doubly_robust")]["value"]
    half = (answer.high - answer.low) / 2
    return {
        "truth": truth,
        "answer": answer.value,
        "half-width": half,
        "held": answer.low <= truth <= answer.high,
        "methods apart by half-widths": np.ptp(kept) / half,
    }


#: How the chance of a label goes by features (n, d) and outcome, and whether moments suppose that.
SELECTIONS = {
    "the outcome and the feature named": lambda X, y: 0.2 - y + 0.5 * X[:, 0],
    "two other features": lambda X, y: 0.6 - 0.8 * X[:, 1] + 0.6 * X[:, 3] + 0.5 * X[:, 0],
    "the outcome and another feature": lambda X, y: 0.2 - y + 0.7 * X[:, 3] + 0.5 * X[:, 0],
}


def one_moments(rows, columns, selection, draws):
    """Weights by moments with the first feature named."""
    off, stopped = [], []
    for draw in range(draws):
        rng = np.random.default_rng([draw, columns, rows])
        X = rng.normal(size=(rows, columns))
        X[:, 1], X[:, 2] = rng.exponential(size=rows), rng.random(rows) < 0.3
        score = X[:, :5] @ [0.5, 0.8, -1.0, 0.6, 0.3] - 0.8
        y = (rng.random(rows) < expit(score)).astype(float)
        s = rng.random(rows) < expit(SELECTIONS[selection](X, y))
        made = Rows(X[s], y[s], X[~s], names=tuple(f"x{k}" for k in range(columns)))
        weight = moment_weights(made, target="unlabeled", features=["x0"])
        off.append(np.average(y[s], weights=weight) - y[~s].mean())
        try:
            refuse_refuted(made, "rosset", features=["x0"])
            stopped.append(False)
        except CounterweightError:
            stopped.append(True)
    return {"stopped": np.mean(stopped), "off by": float(np.sqrt(np.mean(np.square(off))))}


def done(item):
    logging.disable(logging.WARNING)
    key, function, *told = item
    return key, globals()[function](*told)


def results(items, jobs):
    """What each item gave, as it comes, said on the terminal."""
    made = []
    with ProcessPoolExecutor(jobs) as pool:
        for key, result in pool.map(done, items):
            short = {name: v for name, v in result.items() if not isinstance(v, np.ndarray)}
            print(key, short, file=sys.stderr, flush=True)
            made.append((key, result))
    return made


def printed(title, rows):
    """A table in Markdown."""
    frame = pd.DataFrame(rows)
    print(f"\n{title}\n\n| {' | '.join(frame.columns)} |\n|{' --- |' * frame.shape[1]}")
    for row in frame.itertuples(index=False):
        cells = [f"{v:.4g}" if isinstance(v, (float, np.floating)) else str(v) for v in row]
        print(f"| {' | '.join(cells)} |")
    sys.stdout.flush()


def part_seeds(asked):
    items = [
        (table, "one_seed", table, asked.rows, seed, asked.peers == "yes")
        for seed in range(asked.first, asked.first + asked.runs)
        for table in asked.tables
    ]
    made = pd.DataFrame([{"table": key} | one for key, one in results(items, asked.jobs)])
    mean = made.set_index("table").astype(float).groupby("table", sort=False).mean()
    rmse = np.sqrt(mean.pop("squared error"))
    mean["half-width / RMSE"] = mean["half-width"] / rmse
    printed(f"Hidden at random, {asked.runs} seeds of {asked.rows} rows", mean.reset_index())


def part_names(asked):
    ways = {"names": 2 * asked.runs, "rows": asked.runs, "columns": asked.runs}
    items = [
        ((table, way), "one_name", table, asked.rows, way, number)
        for table in asked.tables
        for way, times in ways.items()
        for number in range(times)
    ]
    made, rows = results(items, asked.jobs), []
    for table in asked.tables:
        first = next(one for key, one in made if key[0] == table)
        for way in ways:
            of = [one for key, one in made if key == (table, way)]
            rates = [first["rate"], *(one["rate"] for one in of)]
            moved = [np.abs(one["estimates"] - first["estimates"]).max() for one in of]
            rows.append(
                {
                    "table": table,
                    "changed": way,
                    "runs": len(of),
                    "sd of the rate / error": np.std(rates) / first["error"],
                    "flips of the method": sum(one["method"] != first["method"] for one in of),
                    "largest move of a row": max(moved),
                }
            )
    printed(f"Other names and orders, {asked.rows} rows", rows)


def part_cuts(asked):
    items = [
        ((table, column, sharp), "one_cut", table, asked.rows, column, above, sharp)
        for table in asked.tables
        for column, above in CUTS.get(table, [])
        for sharp in (False, True)
    ]
    made = results(items, asked.jobs)
    rows = [dict(zip(("table", "cut", "sharp"), key, strict=True)) | one for key, one in made]
    printed(f"Nobody labeled beyond a cut, {asked.rows} rows", rows)


def part_alarms(asked):
    draws = 10 * asked.runs
    items = [(columns, "one_alarm", columns, draws) for columns in (20, 50, 100, 200, 300)]
    rows = [{"columns": key} | one for key, one in results(items, asked.jobs)]
    printed(f"New rows of the same law, {ALARM_ROWS} labeled", rows)


def part_experiment(asked):
    seeds = range(asked.first, asked.first + asked.runs)
    items = [(seed, "one_experiment", asked.rows, seed) for seed in seeds]
    made = pd.DataFrame([one for _, one in results(items, asked.jobs)]).astype(float)
    off = {f"RMSE: {name}": made[name] - made["truth"] for name in ("answer", "of those who chose")}
    errors = {name: float(np.sqrt(np.mean(value**2))) for name, value in off.items()}
    row = made.mean()[["covered", "half-width"]].to_dict() | errors
    printed(f"A randomised arm hidden, {asked.runs} repeats of {asked.rows} rows", [row])


def part_instrument(asked):
    seeds = range(asked.first, asked.first + asked.runs)
    items = [(seed, "one_instrument", asked.rows, seed, asked.numbers == "yes") for seed in seeds]
    made = pd.DataFrame([one for _, one in results(items, asked.jobs)])
    answered, refused = made[made["truth"].notna()], made["truth"].isna().sum()
    rows = []
    for bounds, part in answered.groupby("bounds"):
        inner = part["inner held"].dropna().astype(bool)
        rows.append(
            {
                "told by": "bounds" if bounds else "interval",
                "tables": len(part),
                "held": f"{int(part['held'].sum())} of {len(part)}",
                "mean width": (part["high"] - part["low"]).mean(),
                "rests on data": part["rests on data"].mean(),
                "the part on data is held": f"{int(inner.sum())} of {len(inner)}",
                "RMSE of the estimate": np.sqrt(np.mean((part["answer"] - part["truth"]) ** 2)),
                "of those with an outcome": np.sqrt(
                    np.mean((part["of those with one"] - part["truth"]) ** 2)
                ),
            }
        )
    printed(f"An instrument, {len(made)} tables of {asked.rows} rows, {refused} refused", rows)


def part_moments(asked):
    items = [
        ((columns, selection), "one_moments", asked.rows, columns, selection, asked.runs)
        for columns in (5, 20, 60)
        for selection in SELECTIONS
    ]
    made = results(items, asked.jobs)
    rows = [dict(zip(("columns", "labels go by"), key, strict=True)) | one for key, one in made]
    printed(f"Weights by moments, {asked.runs} tables of {asked.rows} rows", rows)


def part_products(asked):
    seeds = range(asked.first, asked.first + asked.runs)
    items = [(s, "one_product", asked.rows, s, k) for s in (0.0, 0.3) for k in seeds]
    made = results(items, asked.jobs)
    printed(f"A product behind both, {asked.rows} rows", [{"product": k} | one for k, one in made])


PARTS = {"seeds": part_seeds, "names": part_names, "cuts": part_cuts}
PARTS |= {"alarms": part_alarms, "experiment": part_experiment}
PARTS |= {"instrument": part_instrument, "moments": part_moments}
PARTS |= {"products": part_products}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--peers", choices=["yes", "no"], default="yes")
    parser.add_argument("--numbers", choices=["yes", "no"], default="no")
    parser.add_argument("--jobs", type=int, default=2)
    known = list(TABLES) if DATA.is_dir() else ["linear", "mixed"]
    parser.add_argument("--tables", type=lambda text: text.split(","), default=known)
    told = parser.parse_args(arguments)
    for part in told.parts or PARTS:
        PARTS[part](told)


if __name__ == "__main__":
    main(sys.argv[1:])
