"""How good answers from labels bought by design are, on tables whose outcomes are all known.

    COUNTERWEIGHT_MIRROR=DATA PYTHONPATH=workflow python tests/benchmarks/collected.py \\
        [coverage] [worth] [refuted] [looks] [events] [--repeats 400]
        [--tables hmeq,adult,bank,mixed] [--budgets 50,200,1000] [--rows 6000] [--own]

Prints a table in Markdown for each part. Tables of real people are read from the folder that the
variable names (as `one_answer.py` does) and sampled once; without it the generated ones are used.
Labels are missing at ``random`` given the columns, by the ``outcome``, with poor ``overlap``
(hardly any label beyond the middle of a column), or by a ``hidden`` column. Predictions are those
of boosting, fitted once to the labels that are there; with ``--own`` those that a table of one's
own is given, by the methods that its page compares.

``coverage``: share of repeats whose interval holds the truth of the rows without a label, for the
mean, the mean of each of up to four groups, the AUC and the calibration ratio of the predictions.
``worth``: by how many labels of a simple random sample 200 bought ones are matched, and with
predictions that are shuffled, and negated, by what they were off and by the errors told; the
half-width expected before, and after 50 labels, over the one reached, and the share of repeats
whose half-width lies in the range that is told before any label.
``refuted``: how often missing at random is refuted by 300 labels where it holds, and where the odds
of those without a label are three times as high (``thrice``), over labelings and draws. ``looks``:
batches of 50 up to 400 labels, stopped where the half-width is as wanted: coverage of the intervals
of planned looks, of plain ones, and of those for any time. ``events``: AUC of the predictions of a
generated log, right or badly calibrated: coverage, and the half-width expected before any label and
by those bought over the one reached; the share of repeats whose half-width is in the range told.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse  # noqa: E402
from functools import cached_property  # noqa: E402
from types import SimpleNamespace  # noqa: E402

import numpy as np  # noqa: E402
import one_answer  # noqa: E402
import pandas as pd  # noqa: E402
from counterweight.answers import missing_outcomes  # noqa: E402
from counterweight.delivery.bought_file import Events  # noqa: E402
from counterweight.delivery.collected_answers import PlannedEvents  # noqa: E402
from counterweight.delivery.label_plans import SMALL, chances_by_place, spans_of  # noqa: E402
from counterweight.evaluation.collected import (  # noqa: E402
    collected_by_group,
    collected_calibration,
    collected_mean,
    collected_metric,
    recalibration,
)
from counterweight.evaluation.metrics import auc  # noqa: E402
from counterweight.evaluation.refutation import refuted  # noqa: E402
from counterweight.numerics.designs import (  # noqa: E402
    anytime_interval,
    draw,
    expected_half_width,
    inclusion_chances,
    look_levels,
    stopped_chances,
)
from counterweight.tasks.beside_answers import EVENTS  # noqa: E402
from scipy.special import expit, logit  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: E402
from sklearn.model_selection import cross_val_predict  # noqa: E402

TABLES = ("hmeq", "adult", "bank", "mixed")
SETTINGS = ("random", "outcome", "overlap", "hidden")
#: Not by default: labels are missing by the outcome, of the other class.
OTHER = "likelier"
#: The generated table has its truth by a formula, so it is drawn here.
REAL = ("hmeq", "adult", "bank")


def mixed(rows=12_000):
    """Numbers and a class, with an outcome that goes by some of them."""
    rng = np.random.default_rng(11)
    made = pd.DataFrame(rng.normal(size=(rows, 6)), columns=[f"x{k}" for k in range(6)])
    made["kind"] = rng.choice(list("abcd"), rows, p=[0.4, 0.3, 0.2, 0.1])
    score = made["x0"] + made["x1"] * (made["kind"] == "a") + np.abs(made["x2"]) * 1.2
    made["y"] = (rng.random(rows) < expit(1.6 * score - 2.4)).astype(int)
    return made


def table(name, rows):
    made = mixed() if name == "mixed" else getattr(one_answer, name)()
    made = made.sample(min(rows, len(made)), random_state=5).reset_index(drop=True)
    y = made.pop("y").to_numpy(dtype=float)
    codes = {
        column: made[column].astype("category").cat.codes
        for column in made.columns
        if not pd.api.types.is_numeric_dtype(made[column])
    }
    return made.assign(**codes).astype(float), y, made


def labeled(X, y, setting, rng):
    """Mask of rows that have a label, and columns that the model may see."""
    columns, spread = list(X.columns), X.rank(pct=True).to_numpy()
    spread = np.where(np.isnan(spread), 0.5, spread) - 0.5
    told = np.abs(np.corrcoef(np.column_stack([spread, y]).T)[-1, :-1])
    strong = int(np.nanargmax(told))
    sign = np.sign(np.corrcoef(spread[:, strong], y)[0, 1])
    if setting == "thrice":
        # At equal columns the odds of a label are a third where the outcome is 1.
        score = 0.3 - 3 * sign * spread[:, strong] - np.log(3) * y
    elif setting == "outcome":
        score = 0.3 - 1.5 * y + spread[:, strong]
    elif setting == OTHER:
        score = 1.5 * y - 0.7 + spread[:, strong]
    elif setting == "overlap":
        score = np.where(spread[:, strong] * sign < 0.1, 1.5, -4.0)
    else:
        score = 0.3 - 3 * sign * spread[:, strong]
    if setting == "hidden":
        columns.pop(strong)
    return rng.random(len(y)) < expit(score), columns


class World:
    """Rows without a label: truth, predictions, groups; and what the labels before show."""

    def __init__(self, name, setting, rows, seed=3, own=False):
        X, y, words = table(name, rows)
        known, columns = labeled(X, y, setting, np.random.default_rng(seed))
        X = X[columns]
        model = HistGradientBoostingClassifier(
            max_iter=150, learning_rate=0.06, max_leaf_nodes=12, random_state=0
        ).fit(X[known], y[known])
        self.name, self.setting = name, setting
        self.y, self.f = y[~known], model.predict_proba(X[~known])[:, 1]
        if own:
            told = pd.Series(y.astype(int), dtype="Int64").where(known)
            told = words[columns].assign(row_id=np.arange(len(y)), told=told)
            outcome = {"column": "told", "positive": 1}
            found = missing_outcomes(told, outcome, id="row_id", target="unlabeled")
            self.f = found.scores["estimate"].to_numpy(float)[~known]
        few = [column for column in words.columns if 2 <= words[column].nunique(dropna=False) <= 40]
        group = words[few[0]].map(str).to_numpy(dtype=str) if few else np.where(y < 0, "", "")
        names, counts = np.unique(group, return_counts=True)
        common = names[np.argsort(-counts)[:3]]
        self.group = np.where(np.isin(group, common), group, "other")[~known]
        self.before = X, y, known, model

    @cached_property
    def seen(self):
        """Labels that are there, what is foretold of them without them, weights to the others."""
        X, y, known, model = self.before
        held = cross_val_predict(model, X[known], y[known], cv=5, method="predict_proba")[:, 1]
        chance = cross_val_predict(
            HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0),
            X,
            known,
            cv=5,
            method="predict_proba",
        )[:, 1].clip(0.02, 0.98)[known]
        return y[known], held, (1 - chance) / chance

    def plan(self, budget, turn, f=None):
        """Chances, mask and what was expected of a plan that stops after `budget` labels."""
        f = self.f if f is None else f
        spread = np.sqrt(f * (1 - f))
        chances = inclusion_chances(spread, budget)
        coins = np.random.default_rng([17, turn]).random(len(f))
        order = draw(chances, coins).order
        count = min(budget, len(f))
        return stopped_chances(chances, coins, count), order < count, chances, coins

    def spread_after(self, budget, turn):
        """Spread of the outcome as the first labels put the predictions right."""
        pi, mask, *_ = self.plan(budget, turn)
        if not 0 < self.y[mask].mean() < 1:
            return np.sqrt(self.f * (1 - self.f))
        constant, slope, _ = recalibration(self.y, pi, mask, self.f)
        g = expit(constant + slope * logit(self.f.clip(1e-6, 1 - 1e-6)))
        return np.sqrt(g * (1 - g))


def coverage(worlds, budgets, repeats):
    print("\n| table | labels missing | budget | mean | groups | no group | AUC | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for world in worlds:
        y, f, names = world.y, world.f, np.unique(world.group)
        truth = {name: y[world.group == name].mean() for name in names}
        area, ratio = auc(y, f)[0], f.mean() / y.mean()
        for budget in budgets:
            held = {"mean": [], "groups": [], "none": [], "auc": [], "ratio": []}
            for turn in range(repeats):
                pi, mask, *_ = world.plan(budget, turn)
                held["mean"].append(holds(collected_mean(y, pi, mask, f), y.mean()))
                for name, found in collected_by_group(y, pi, mask, f, world.group).items():
                    held["none"].append(np.isnan(found.low))
                    if not np.isnan(found.low):
                        held["groups"].append(holds(found, truth[name]))
                held["ratio"].append(holds(collected_calibration(y, pi, mask, f), ratio))
                if 2 <= y[mask].sum() <= mask.sum() - 2:
                    held["auc"].append(holds(collected_metric("auc", y, pi, mask, f), area))
            shares = [np.mean(held[name]) for name in ("mean", "groups", "none", "auc", "ratio")]
            told = " | ".join(f"{share:.3f}" for share in shares)
            print(f"| {world.name} | {world.setting} | {budget} | {told} |", flush=True)


def holds(found, truth):
    return found.low - 1e-12 <= truth <= found.high + 1e-12


def worth(worlds, budgets, repeats):
    print("\n| table | missing | AUC | labels | own | shuffled | negated | by errors | ", end="")
    print("expected/reached | after 50 | range holds it |\n" + "| --- " * 11 + "|")
    for world in worlds:
        y, rows = world.y, len(world.y)
        shuffled = np.random.default_rng(1).permutation(world.f)
        for budget in budgets:
            if budget >= rows:
                continue
            matched, by_error = [], []
            for f in (world.f, shuffled, 1 - world.f):
                off, half, error, later = [], [], [], []
                for turn in range(repeats):
                    pi, mask, chances, _ = world.plan(budget, turn, f)
                    found = collected_mean(y, pi, mask, f)
                    off.append(found.value - y.mean())
                    half.append((found.high - found.low) / 2)
                    error.append(found.standard_error)
                    if f is world.f and turn < 50:
                        later.append(expected_half_width(chances, world.spread_after(50, turn)))
                spread = y.var(ddof=1)
                matched.append(1 / (np.mean(np.square(off)) / spread + 1 / rows))
                by_error.append(1 / (np.mean(np.square(error)) / spread + 1 / rows))
                if f is world.f:
                    expected = expected_half_width(chances, np.sqrt(f * (1 - f)))
                    ratios = expected / np.mean(half), np.median(later) / np.mean(half)
                    ((low, high),) = spans_of([chances], f)
                    within = np.mean([low <= one <= high for one in half])
            told = " | ".join(f"{one:.0f}" for one in matched)
            errors = ", ".join(f"{one:.0f}" for one in by_error)
            area = auc(y, world.f)[0]
            print(
                f"| {world.name} | {world.setting} | {area:.3f} | {budget} | {told} | {errors} |"
                f" {ratios[0]:.3f} | {ratios[1]:.3f} | {within:.2f} |",
                flush=True,
            )


def refutation(names, rows, repeats, budget=300, worlds=40):
    print(
        "\n| table | labels missing | refuted | with seen labels | Gamma | its interval holds it |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for name in names:
        for setting in ("random", "thrice"):
            plain, seen, gamma, held = [], [], [], []
            for seed in range(worlds):
                world = World(name, setting, rows, seed)
                for turn in range(max(repeats // worlds, 1)):
                    pi, mask, *_ = world.plan(budget, turn)
                    told = world.y, pi, mask, world.f
                    plain.append(refuted(*told).refuted)
                    found = refuted(*told, seen=world.seen)
                    seen.append(found.refuted)
                    gamma.append(found.delta)
                    held.append(found.low <= (3 if setting == "thrice" else 1) <= found.high)
            # Draws of one labeling share its model, so that they err together.
            off = np.reshape(seen, (worlds, -1)).mean(axis=1).std(ddof=1) / np.sqrt(worlds)
            told = f"{np.mean(plain):.3f} | {np.mean(seen):.3f} ± {off:.3f} "
            told += f"| {np.exp(np.mean(gamma)):.2f}"
            print(f"| {name} | {setting} | {told} | {np.mean(held):.3f} |", flush=True)


def looks(worlds, repeats, batch=50, most=400):
    at = np.arange(batch, most + 1, batch)
    levels = {"planned": look_levels(at), "pocock": look_levels(at, spending="pocock")}
    levels["plain"] = np.full(len(at), 0.95)
    print("\n| table | labels missing | way | coverage | labels | half-width |")
    print("| --- | --- | --- | --- | --- | --- |")
    for world in worlds:
        y, f = world.y, world.f
        wanted = expected_half_width(
            inclusion_chances(np.sqrt(f * (1 - f)), 250), np.sqrt(f * (1 - f))
        )
        ends = {way: [] for way in (*levels, "any time")}
        for turn in range(repeats):
            for way, level in levels.items():
                for look, own in zip(at, level, strict=True):
                    pi, mask, *_ = world.plan(int(look), turn)
                    found = collected_mean(y, pi, mask, f, level=float(own))
                    half = (found.high - found.low) / 2
                    if half <= wanted:
                        break
                ends[way].append((holds(found, y.mean()), look, half))
            *_, chances, coins = world.plan(most, turn)
            low, high = anytime_interval(y, chances, coins, most, f)
            ends["any time"].append((low <= y.mean() <= high, most, (high - low) / 2))
        for way, made in ends.items():
            share, labels, half = np.mean(made, axis=0)
            print(
                f"| {world.name} | {world.setting} | {way} | {share:.3f} | {labels:.0f} | "
                f"{half:.4f} |",
                flush=True,
            )


def log_of(kind, rows=4000):
    """Predictions of the events of a log whose rewards are all blank, and the rewards."""
    rng = np.random.default_rng(3)
    score = 1.5 * rng.normal(size=rows) - 2
    y = (rng.random(rows) < expit(score)).astype(float)
    said = {"right": score, "too high": score + 1.5, "too low": score - 1.5}
    said |= {"too steep": 2.5 * score + 2, "too flat": 0.4 * score - 1}
    events = Events.__new__(Events)
    events.reward, events.blank = np.full(rows, np.nan), np.arange(rows)
    events.chance = expit(said[kind])
    events.predicted, events.tops = {"now": events.chance}, {}
    return events, y


def of_events(budgets, repeats):
    print("\n| predictions | labels | coverage | expected/reached | by labels | in the range |")
    print("| --- " * 6 + "|")
    for kind in ("right", "too high", "too low", "too steep", "too flat"):
        events, y = log_of(kind)
        rows, p = PlannedEvents(events, EVENTS | {"for": "auc"}), events.chance
        truth, size = auc(y, p)[0], rows.chances(SMALL * len(y))
        for budget in budgets:
            held, half, later = [], [], []
            for turn in range(repeats):
                place = np.random.default_rng([5, turn]).random(len(y)) / size
                mask = np.argsort(np.argsort(place)) < budget
                pi = chances_by_place(place, size, budget)
                if not 2 <= y[mask].sum() <= budget - 2:
                    continue
                found = collected_metric("auc", y, pi, mask, p, beyond=True)
                held.append(holds(found, truth))
                half.append((found.high - found.low) / 2)
                if turn < 50:
                    told = SimpleNamespace(told=lambda own=(y, pi, mask, p): own)
                    later += [one for *_, one in rows.after(told).groups(mask, pi)]
            ((*_, expected),), ((low, high),) = rows.groups(mask, pi), rows.spans([pi])
            told = [np.mean(held), expected / np.mean(half), np.median(later) / np.mean(half)]
            told.append(np.mean([low <= one <= high for one in half]))
            shown = " | ".join(f"{one:.3f}" for one in told)
            print(f"| {kind} | {budget} | {shown} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "parts", nargs="*", default=["coverage", "worth", "refuted", "looks", "events"]
    )
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--budgets", default="50,200,1000")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--own", action="store_true")
    asked = parser.parse_args()
    budgets = [int(one) for one in asked.budgets.split(",")]
    names = [
        name for name in asked.tables.split(",") if name not in REAL or one_answer.DATA.exists()
    ]
    settings = asked.settings.split(",") if {*asked.parts} - {"refuted", "events"} else []
    worlds = [
        World(name, setting, asked.rows, own=asked.own) for name in names for setting in settings
    ]
    if "coverage" in asked.parts:
        coverage(worlds, budgets, asked.repeats)
    if "worth" in asked.parts:
        worth(worlds, [one for one in budgets if one >= 200], asked.repeats)
    if "refuted" in asked.parts:
        refutation(names, asked.rows, asked.repeats)
    if "looks" in asked.parts:
        looks(worlds, max(asked.repeats // 4, 50))
    if "events" in asked.parts:
        of_events(budgets, asked.repeats)


if __name__ == "__main__":
    main()
