"""Best offers, their intervals, offers under a capacity, judged on made-up worlds of known truth.

    python tests/benchmarks/offer_worlds.py [--worlds 40] [--rows 2000] [WORLD ...]

Prices are drawn at random, and people buy by a curve of their own. For each world a table is drawn,
the methods that tables of one's own get are compared as the workflow does, and the one chosen
prices 5,000 new people. Printed, as means over the worlds: true revenue of a new person, the best
possible, that of the best single price; the share of new people whose interval holds their best
price; the chance that the truth keeps a capacity with the confidence that was asked (.95); how
often one price for all was given away; the mean log loss of each method; which were chosen.

    python tests/benchmarks/offer_worlds.py --tables FOLDER

The cross-validated log loss of each method on Kakadu and Natural Park as tables of one's own.

    python tests/benchmarks/offer_worlds.py --capacity offer_additive [--worlds 24] [WORLD ...]

How often a capacity is kept by the fit of one method, which is not compared with others: over the
coins of 500 and of 3,000 new people, with capacities of .25, .6 and .9 of what the best offers are
expected to bring; the least over the worlds, what is used and expected of the capacity, and mean
and deviation of what is used over what is expected.

    python tests/benchmarks/offer_worlds.py --told offer_boosting [--worlds 4] [--by strongly] ...

How far what the offers of one method are told to bring is off, by how much prices went by the
columns (`BY`): true revenue of a new person, the best possible one, the claim and what is told over
the truth, how often its interval holds the truth, and the chance that capacities are kept.

    python tests/benchmarks/offer_worlds.py --more offer_additive [--by strongly] ...

The same of what best offers bring the people of the table, and of what they bring them more than
past ones and than one offer for all: the true value, what is told less it, the mean size of that,
how often the interval holds it, its width, and how often less than nothing is told, or a gain is
said to be shown where there is none. `--by few`: of four prices one is nearly everybody's.
"""

import argparse
import collections
import contextlib
import logging
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from counterweight.datasets.kakadu import Kakadu
from counterweight.datasets.natural_park import NaturalPark
from counterweight.delivery.final_offers import _gains, _levels, drawn_offers, drawn_within
from counterweight.delivery.saved_models import learned_encoder
from counterweight.delivery.saved_offers import SavedOffers
from counterweight.evaluation.offer_value import chance_of_draws
from counterweight.labeling.recipes import one_hot
from counterweight.models.choice import offer_model, offer_training
from counterweight.models.choice.offer_limits import allotted
from counterweight.models.choice.offer_model import optimal_offer
from counterweight.tasks.offers import own_study
from scipy.special import expit
from scipy.stats import norm

LOW, HIGH = 5.0, 45.0
NEW, CONFIDENCE = 5000, 0.95
WORLDS = ("smooth", "categories", "many", "segments", "levels", "noise", "boxes")
#: Correlation of the normal score of a price with what the columns say, where they make prices.
BY = {"random": 0.0, "weakly": 0.45, "strongly": 0.9, "few": 0.0}
#: Prices and their shares where few were asked.
FEW = [15.0, 20.0, 25.0, 30.0], [0.02, 0.02, 0.94, 0.02]


def _people(rows, rng):
    frame = pd.DataFrame(
        rng.normal(size=(rows, 4)).round(3), columns=["age", "use", "size", "since"]
    )
    for name, levels in (("town", 6), ("plan", 4), ("channel", 3)):
        shares = rng.dirichlet(np.full(levels, 5.0))
        frame[name] = np.array([f"{name}{k}" for k in range(levels)])[
            rng.choice(levels, rows, p=shares)
        ]
    shares = 0.9 ** np.arange(60)
    frame["shop"] = np.array([f"shop{k:02d}" for k in range(60)])[
        rng.choice(60, rows, p=shares / shares.sum())
    ]
    return frame


def a_world(name, rng):
    """Price that half of the people like one accept, and slope: functions of a table of people."""
    table = {
        column: dict(zip(sorted(values), rng.normal(size=len(values)), strict=True))
        for column, values in {
            "town": [f"town{k}" for k in range(6)],
            "plan": [f"plan{k}" for k in range(4)],
            "channel": [f"channel{k}" for k in range(3)],
            "shop": [f"shop{k:02d}" for k in range(60)],
        }.items()
    }
    cells = {(a, b): 3 * rng.normal() for a in table["town"] for b in table["plan"]}
    waves = rng.normal(size=3)
    if name == "boxes":  # Eight of them, which three cuts make.
        cuts, high = rng.normal(size=3) * 0.4, 8 * rng.normal(size=(2, 2, 2))

    def of(frame):
        level = {
            column: frame[column].map(values).to_numpy(float) for column, values in table.items()
        }
        age, use, size = (frame[column].to_numpy() for column in ("age", "use", "size"))
        slope = np.full(len(frame), 0.25)
        if name == "smooth":
            worth = 25 + 6 * np.sin(1.5 * age + waves[0]) + 3 * use + 1.5 * size * np.cos(waves[1])
            slope = 0.25 * np.exp(0.3 * np.tanh(size))
        elif name in ("categories", "levels"):
            worth = 25 + 5 * level["town"] + 3 * level["plan"] + 1.5 * use
            worth += np.array(
                [cells[pair] for pair in zip(frame["town"], frame["plan"], strict=True)]
            )
            slope = 0.25 * np.exp(0.3 * level["channel"])
        elif name == "many":
            worth = 25 + 5 * level["shop"] + 2 * age
        elif name == "segments":
            rich = (age + use > 0.5).astype(float)
            worth, slope = 18 + 18 * rich + level["town"], 0.2 + 0.2 * rich
        elif name == "boxes":
            own = zip((age, use, size), cuts, strict=True)
            box = tuple((values > cut).astype(int) for values, cut in own)
            worth, slope = 25 + high[box], slope + 0.05
        else:
            worth = np.full(len(frame), 25.0)
        return np.clip(worth, 0, 60), slope

    return of


def a_seller(rng, by):
    """Prices by the columns: function of people, what they find it worth, and a generator.

    Who finds it worth more is asked for more, in most worlds, beside what nobody buys by.
    """
    part, angle, towns = rng.uniform(-0.3, 0.95), rng.uniform(0, 2 * np.pi), rng.normal(size=6)

    def standard(values):
        return (values - values.mean()) / max(values.std(), 1e-9)

    def of(frame, worth, rng):
        town = frame["town"].str.removeprefix("town").astype(int).to_numpy()
        other = frame["age"] * np.cos(angle) + frame["use"] * np.sin(angle) + towns[town]
        score = part * standard(worth) + np.sqrt(1 - part**2) * standard(other.to_numpy())
        chance = np.sqrt(1 - BY[by] ** 2) * rng.normal(size=len(frame))
        share = norm.cdf(BY[by] * standard(score) + chance)
        return (LOW + (HIGH - LOW) * share).round(2)

    return of


def few_prices(frame, worth, rng):
    """Prices by `FEW`."""
    return rng.choice(FEW[0], len(frame), p=FEW[1])


def drawn(name, rows, rng, world, seller=None):
    frame = _people(rows, rng)
    worth, slope = world(frame)
    price = rng.uniform(LOW, HIGH, rows).round(2)
    if seller is not None:
        price = seller(frame, worth, rng)
    if name == "levels":
        price = np.round((price - LOW) / 5) * 5 + LOW
    chance = expit(slope * (worth - price))
    return frame, price, (rng.random(rows) < chance).astype(float), worth, slope


def candidates():
    """Methods that tables of one's own are offered, in the ways that they are used."""
    found = []
    for spec in own_study({"offer": "price", "answer": "bought"})["models"]:
        options = {key: v for key, v in spec.items() if key not in ("model", "name", "label")}
        ways = ("soft", "hard") if spec["model"] == "predictive_choice" else ("",)
        name = spec.get("name", spec["model"])
        found += [
            {"method": name, "model": spec["model"], "options": options, "setting": way}
            for way in ways
        ]
    return found


def encoded(frame):
    options = own_study({"offer": "price", "answer": "bought"})["features"]
    options = {key: value for key, value in options.items() if key != "recipe"}
    numbered = frame.assign(row=np.arange(len(frame)))
    features = one_hot(numbered, np.random.default_rng(0), **options)
    names = [name for name in features.columns if name != "row"]
    encoder = learned_encoder(numbered, names, {"name": "one_hot", "options": options})
    return encoder, features[names].to_numpy(float), features.attrs.get("categories"), names


def fitted(frame, price, bought, rng, among):
    """The saved offers of the chosen method as `final_offers` fits them, losses, `Drawn`."""
    encoder, X, categories, names = encoded(frame)
    offer = {"column": "price", "low": price.min(), "high": price.max(), "direction": "down"}
    offer |= {"revenue": None, "grid": None}
    scaling = offer_model.scale_of(offer, price)
    told = partial(offer_training.told_categories, names=names, categories=categories)
    t = scaling[0].scaled(price)
    compared = offer_training.compared(X, t, bought, among, rng, told)
    place = compared.near_best()
    chosen = among[place]
    drawn = drawn_offers(compared, chosen | {"place": place}, X, t, bought, scaling)
    saved = SavedOffers.fitted(
        X,
        price,
        bought,
        encoder,
        method={name: chosen[name] for name in ("model", "options")},
        setting=chosen["setting"],
        offer=offer,
        rng=rng,
        categories=categories,
        rivals=compared.rivals(place, among, bought),
        facts={"single_offer": drawn.single} if drawn.instead else {},
    )
    own = {name_of(one): loss for one, loss in zip(among, compared.losses, strict=True)}
    return saved, name_of(chosen), own, drawn


def name_of(candidate):
    return f"{candidate['method']} {candidate['setting']}".strip()


def judged(name, rows, seed, among=None):
    rng, fresh, ours = np.random.default_rng([seed, WORLDS.index(name)]).spawn(3)
    world = a_world(name, rng)
    frame, price, bought, *_ = drawn(name, rows, rng, world)
    people, asked, answers, worth, slope = drawn(name, NEW, fresh, world)
    saved, chosen, losses, drawn_value = fitted(frame, price, bought, ours, among)
    offers = saved.optimal_offers(people)
    best = offers["best_offer"].to_numpy(float)
    low, high = offers["offered_min"].to_numpy(float), offers["offered_max"].to_numpy(float)
    # On t = -price acceptance rises: k (t + worth).
    ideal = -optimal_offer(-worth, slope, -HIGH, -LOW, (0.0, -1.0))

    def earned(price):
        return float((expit(slope * (worth - price)) * price).mean())

    grid = np.linspace(LOW, HIGH, 161)
    found = {
        "revenue": earned(best),
        "possible": earned(ideal),
        "single": max(earned(d) for d in grid),
        "claimed": float(offers["best_revenue"].mean()),
    }
    ends = offers["low"].to_numpy(float), offers["high"].to_numpy(float)
    reached = np.clip(ideal, low, high)
    found["instead"] = float(drawn_value.instead)
    found["p"] = drawn_value.p
    if drawn_value.gain is not None:
        found["gain"] = drawn_value.gain.value
        found["gain_error"] = drawn_value.gain.standard_error
    if np.isfinite(ends[0]).all():
        found["holds"] = float(((ends[0] <= reached + 1e-6) & (reached <= ends[1] + 1e-6)).mean())
        found["width"] = float((ends[1] - ends[0]).mean())
    some, capacity = people.iloc[:500], 120
    with contextlib.suppress(Exception):
        allotted, _ = saved.allot(some, capacity=capacity, confidence=CONFIDENCE)
        given = allotted["offer"].to_numpy(float)
        p = np.where(np.isnan(given), 0.0, expit(slope[:500] * (worth[:500] - given)))
        deviation = np.sqrt((p * (1 - p)).sum())
        # The chance, over the coins of the people, that the capacity is kept.
        found["kept"] = float(norm.cdf((capacity + 0.5 - p.sum()) / deviation))
        found["used"] = float(p.sum())
    chance = saved.acceptance(people, np.clip(asked, saved.scale.low, saved.scale.high))
    found["new_log_loss"] = offer_training.answer_loss(chance, answers)
    return found | {"chosen": chosen} | {f"loss {k}": v for k, v in losses.items()}


def fitted_alone(frame, price, bought, rng, one, grid=None):
    """The saved offers of a candidate that is compared with none."""
    encoder, X, categories, _ = encoded(frame)
    offer = {"column": "price", "low": price.min(), "high": price.max(), "direction": "down"}
    return SavedOffers.fitted(
        X,
        price,
        bought,
        encoder,
        method={name: one[name] for name in ("model", "options")},
        setting=one["setting"],
        offer=offer | {"revenue": None, "grid": grid},
        rng=rng,
        categories=categories,
    )


def capacities(name, count, rows, one):
    """How often a capacity is kept, by people and by its part of what is free."""
    made = []
    for seed in range(300, 300 + count):
        rng, fresh, ours = np.random.default_rng([seed, WORLDS.index(name)]).spawn(3)
        world = a_world(name, rng)
        frame, price, bought, *_ = drawn(name, rows, rng, world)
        people, _, _, worth, slope = drawn(name, NEW, fresh, world)
        saved = fitted_alone(frame, price, bought, ours, one)
        for size in (500, 3000):
            some = people.iloc[:size]
            free = saved.optimal_offers(some)["best_p"].sum()
            for part in (0.25, 0.6, 0.9):
                capacity = round(part * free)
                told, _ = saved.allot(some, capacity=capacity, confidence=CONFIDENCE)
                given, expected = told["offer"].to_numpy(float), told["p"].sum()
                p = expit(slope[:size] * (worth[:size] - given))
                p = np.where(np.isnan(given), 0.0, p)
                kept = norm.cdf((capacity + 0.5 - p.sum()) / np.sqrt((p * (1 - p)).sum()))
                used = p.sum() / capacity, expected / capacity, p.sum() / expected
                made.append((size, part, kept, *used))
    columns = ["people", "part", "kept", "used", "expected", "ratio"]
    table = pd.DataFrame(made, columns=columns).groupby(columns[:2])
    told = table.mean().assign(least=table["kept"].min(), deviation=table["ratio"].std())
    print(f"\n{name}: {count} worlds of {rows} people, {name_of(one)}")
    print(told.round(3).to_string(), flush=True)


def told_of(name, rows, seed, one, by):
    """What the offers of a method are told to bring in one world, and what is true."""
    rng, fresh, _, other = np.random.default_rng([seed, WORLDS.index(name), 77]).spawn(4)
    world, seller = a_world(name, rng), a_seller(other, by)
    frame, price, bought, *_ = drawn(name, rows, rng, world, seller)
    people, _, _, worth, slope = drawn(name, 1000, fresh, world, seller)
    saved = fitted_alone(frame, price, bought, np.random.default_rng(seed), one)
    offers, expected = saved.optimal_offers(people), saved.expected(people)
    best = offers["best_offer"].to_numpy(float)
    ideal = -optimal_offer(-worth, slope, -HIGH, -LOW, (0.0, -1.0))
    truth, possible = (
        float((expit(slope * (worth - asked)) * asked).mean()) for asked in (best, ideal)
    )
    found = {"truth": truth, "possible": possible}
    found["claim"] = offers["best_revenue"].mean() / truth - 1
    found["told"] = expected.value / truth - 1
    found["held"] = float(expected.low <= truth <= expected.high)
    for size, part in ((500, 0.6), (1000, 0.25), (1000, 0.9)):
        capacity = round(part * offers["best_p"][:size].sum())
        own, _ = saved.allot(people[:size], capacity=capacity, confidence=CONFIDENCE)
        given = own["offer"].to_numpy(float)
        p = expit(slope[:size] * (worth[:size] - given))
        p = np.where(np.isnan(given), 0.0, p)
        kept = norm.cdf((capacity + 0.5 - p.sum()) / np.sqrt((p * (1 - p)).sum()))
        found[f"kept {size} {part}"] = kept
    return found


def told(name, count, rows, one, by):
    """A line of means over worlds of one name whose prices go by the columns as `by` says."""
    table = pd.DataFrame([told_of(name, rows, seed, one, by) for seed in range(7000, 7000 + count)])
    print(f"\n{name}, prices {by} by columns: {count} worlds of {rows} people, {name_of(one)}")
    print(table.mean().round(3).to_frame().T.to_string(index=False))
    print(f"deviation of told {table['told'].std():.3f}", flush=True)


def within_of(name, rows, seed, one, by):
    """What offers of a method within capacities bring the people of its table: a dict a part."""
    rng, _, ours, other = np.random.default_rng([seed, WORLDS.index(name)]).spawn(4)
    world, seller = a_world(name, rng), None if by == "random" else a_seller(other, by)
    frame, price, bought, worth, slope = drawn(name, rows, rng, world, seller)
    saved = fitted_alone(frame, price, bought, ours, one)
    X, t = saved.encoded(frame), saved.scale.scaled(price)
    offers = saved.priced(X)

    def earned(asked):
        return float(np.nan_to_num(expit(slope * (worth - asked)) * asked).sum())

    best, told = offers["best_offer"], saved.expected_of(X, offers)
    reached = -optimal_offer(-worth, slope, -HIGH, -LOW, (0.0, -1.0))
    reached = np.clip(reached, offers["offered_min"], offers["offered_max"])
    held = (offers["low"] <= reached + 1e-6) & (reached <= offers["high"] + 1e-6)
    truth = earned(best) / rows
    made = [{"part": 1.0, "best held": held.mean(), "told": told.value / truth - 1}]
    made[0]["claim"] = offers["best_revenue"].mean() / truth - 1
    made[0]["held"] = told.low <= truth <= told.high
    if by == "random":
        compared = offer_training.compared(X, t, bought, [one], rng)
        chosen = one | {"place": 0}
        told_by = compared, chosen, X, t, bought, saved.scale, np.arange(rows)
        answers = partial(drawn_within, *told_by)
    for part in (0.25, 0.6, 0.9):
        capacity = round(part * offers["best_p"].sum())
        own, found, asked = allotted(saved, X, frame, CONFIDENCE, capacity=capacity)
        truth, given = earned(own["offer"]), own["offer"]
        p = np.nan_to_num(expit(slope * (worth - given)))
        kept = norm.cdf((capacity + 0.5 - p.sum()) / np.sqrt((p * (1 - p)).sum()))
        found_of = {"part": part, "kept": kept, "claim": own["revenue"].sum() / truth - 1}
        found_of |= {"told": found.value / truth - 1, "held": found.low <= truth <= found.high}
        found_of |= {"width": (found.high - found.low) / truth}
        if by == "random" and (right := answers(asked, found)):
            value, low, high = right
            found_of |= {"answers": value / truth - 1, "answers held": low <= truth <= high}
            found_of |= {"answers width": (high - low) / truth}
        made.append(found_of)
    return made


def within(name, count, rows, one, by, first):
    """Means by part of the capacity over worlds of one name."""
    seeds = range(first, first + count)
    table = pd.DataFrame([made for at in seeds for made in within_of(name, rows, at, one, by)])
    print(f"\n{name}, prices {by} by columns: {count} worlds of {rows} people, {name_of(one)}")
    found = table.astype(float).groupby("part")
    print(found.mean().assign(deviation=found["told"].std()).round(3).to_string(), flush=True)


def more_of(name, rows, seed, one, by):
    """What best offers bring the people of their table, and more than others: a dict each."""
    rng, _, ours, other = np.random.default_rng([seed, WORLDS.index(name), 5]).spawn(4)
    world = a_world(name, rng)
    seller = few_prices if by == "few" else None if by == "random" else a_seller(other, by)
    frame, price, bought, worth, slope = drawn(name, rows, rng, world, seller)
    saved = fitted_alone(frame, price, bought, ours, one, FEW[0] if by == "few" else None)
    X = saved.encoded(frame)
    saved.facts["optimism"], offers = saved.optimism(X), saved.priced(X)

    def earned(asked):
        return float((expit(slope * (worth - asked)) * asked).mean())

    levels, whole = _levels(saved, X, price), saved.expected_of(X, offers)
    rates = {one["part"]: one["value"] for one in levels if one["metric"] == "uniform_revenue"}
    best, single = earned(offers["best_offer"]), earned(float(max(rates, key=rates.get)))
    truths = {"past": best - earned(price), "single": best - single}
    found = _gains(saved, X, offers, levels, price)
    told = {name: [one["value"] for one in found if one["part"] == name] for name in truths}
    truths, told = {"value": best} | truths, {"value": list(whole[:3])} | told
    made = []
    for what, truth in truths.items():
        value, low, high = told.get(what) or [np.nan] * 3
        own = {"what": what, "truth": truth, "off": value - truth, "size": abs(value - truth)}
        own |= {"held": low <= truth <= high, "width": high - low, "negative": value < 0}
        made.append(own | {"wrong": low > 0 >= truth})
    return made


def more(name, count, rows, one, by, first):
    """Means over worlds of one name."""
    seeds = range(first, first + count)
    table = pd.DataFrame([made for at in seeds for made in more_of(name, rows, at, one, by)])
    print(f"\n{name}, prices {by} by columns: {count} worlds of {rows} people, {name_of(one)}")
    means = table.dropna().set_index("what").astype(float).groupby("what").mean()
    print(means.round(3).to_string(), flush=True)


def tables(folder):
    """Cross-validated log loss by method on the two surveys, as tables of one's own."""
    for kind in (Kakadu, NaturalPark):
        frame = kind.table(Path(folder) / kind.__name__.lower().replace("park", "_park"))
        known = ["offer", "answer", "first_known", "accepted", "refused"]
        known += ["second_offer", "second_answer"]
        X = frame.drop(columns=[name for name in known if name in frame])
        price, bought = (frame[name].to_numpy(float) for name in ("offer", "answer"))
        _, X, categories, names = encoded(X)
        told = partial(offer_training.told_categories, names=names, categories=categories)
        t = (price.max() - price) / np.ptp(price)
        among, rng = candidates(), np.random.default_rng(1)
        found = offer_training.compared(X, t, bought, among, rng, told)
        print(f"\n{kind.__name__}: {len(X)} people, {X.shape[1]} features")
        for place, (one, loss) in enumerate(zip(among, found.losses, strict=True)):
            taken = " (delivered)" if place == found.near_best() else ""
            print(f"{name_of(one):28} {loss:.4f}{taken}")
        constant = np.full(len(bought), bought.mean())
        print(f"{'constant':28} {offer_training.answer_loss(constant, bought):.4f}")
        print(f"p of the test of chance {chance_of_draws(X, t):.2g}", flush=True)


def shown(name, count, rows, among):
    """A table of means over worlds of one name."""
    begun = time.process_time()
    table = pd.DataFrame([judged(name, rows, seed, among) for seed in range(count)])
    seconds = time.process_time() - begun
    print(f"\n{name}: {count} worlds of {rows} people, {seconds:.0f} CPU s")
    print(table.drop(columns="chosen").mean().round(4).to_string())
    print(f"revenue of the best possible {table['revenue'].mean() / table['possible'].mean():.4f}")
    print(dict(collections.Counter(table["chosen"])), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=WORLDS, metavar="WORLD")
    parser.add_argument("--worlds", type=int, default=40)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--only", default="", help="methods whose name has this alone")
    parser.add_argument("--tables", default="", help="folder of the two surveys")
    parser.add_argument("--capacity", default="", help="method whose capacities are judged")
    parser.add_argument("--told", default="", help="method whose expected revenue is judged")
    parser.add_argument("--within", default="", help="method whose totals in limits are judged")
    parser.add_argument("--more", default="", help="method whose gains are judged")
    parser.add_argument("--first", type=int, default=0, help="first seed of --within and --more")
    parser.add_argument("--by", default="strongly", choices=BY, help="how prices went by columns")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)
    among = [one for one in candidates() if asked.only in name_of(one)]
    if asked.tables:
        return tables(asked.tables)
    if alone := asked.capacity or asked.told or asked.within or asked.more:
        (one,) = [one for one in candidates() if name_of(one) == alone]
    for name in asked.names:
        if asked.told:
            told(name, asked.worlds, asked.rows, one, asked.by)
        elif asked.more:
            more(name, asked.worlds, asked.rows, one, asked.by, asked.first or 500)
        elif asked.within:
            within(name, asked.worlds, asked.rows, one, asked.by, asked.first or 9000)
        elif asked.capacity:
            capacities(name, asked.worlds, asked.rows, one)
        else:
            shown(name, asked.worlds, asked.rows, among)


if __name__ == "__main__":
    main()
