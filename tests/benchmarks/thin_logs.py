"""Intervals of values, gains and differences of policies where few rewards carry them, judged on
made-up logs whose truth is known.

    python tests/benchmarks/thin_logs.py [--logs 400] [WORLD ...]

For each world a table: of every estimate the share of logs whose interval holds the truth, those
below and above it, and the median width of the interval over the distance between the 2.5 % and
97.5 % quantiles of the estimate. Prints the largest width and the least and largest share last.
"""

import argparse
import warnings

import numpy as np
from counterweight.evaluation.log_values import log_values
from counterweight.evaluation.policy_value import ips

ACTIONS = 5
#: Rows, rewards a row.
SIZES = {
    "480 rows, 15 rewards": (480, 0.031),
    "4,000 rows, 60 rewards": (4_000, 0.015),
    "500 rows, 250 rewards": (500, 0.5),
    "5,000 rows, 2,500 rewards": (5_000, 0.5),
}
#: Rewards that come rarely, and worlds of heavy weights with those that come often.
WORLDS = (
    "uniform",
    "softmax",
    "greedy",
    "hardly",
    "uniform money",
    "softmax money",
    "greedy money",
)


def a_log(world, rows, rate, rng):
    """Rewards (n,), propensities (n,), weights (n, 2) of two policies.

    uniform: actions at random, policies that take one each (weights 0 and 5). softmax: policies of
    chances unlike the log's. greedy: the log takes its best action in .84, and the first policy
    another one in a fifth of the rows, with weight 22. hardly: the log takes its best action but in
    a twentieth, the first policy another one in two fifths, with weight 100. money: rewards are
    log-normal.
    """
    x, every = rng.normal(size=rows), np.arange(rows)
    if world.startswith("uniform"):
        action, best = rng.integers(ACTIONS, size=rows), np.abs(3 * x).astype(int) % ACTIONS
        own = action[:, None] == np.stack([best, (best + 1) % ACTIONS], axis=1)
        p_logged = np.full(rows, 1 / ACTIONS)
        weights, chance = ACTIONS * own, rate * (1 + own[:, 0]) / 1.2
    elif world.startswith("softmax"):
        tilts = np.exp(np.array([0.6, -0.4, 0.2])[:, None, None] * np.outer(x, np.arange(-2, 3)))
        policies = tilts / tilts.sum(axis=2, keepdims=True)
        action = _drawn(policies[0], rng)
        p_logged, *p = policies[:, every, action]
        weights, chance = (p / p_logged).T, rate * (1 + 0.3 * (action - 2) * np.sign(x)) / 1.2
    elif world == "hardly":
        chances, best = np.full((rows, ACTIONS), 0.01), (x > 0).astype(int)
        chances[every, best] = 0.96
        action = _drawn(chances, rng)
        new = np.where(rng.random(rows) < 0.6, best, 2)
        own = np.stack([action == new, action == 3], axis=1)
        p_logged = chances[every, action]
        weights, chance = own / p_logged[:, None], rate * (0.6 + own[:, 0])
    else:
        chances, best = np.full((rows, ACTIONS), 0.04), (x > 0).astype(int)
        chances[every, best] = 0.84
        action = _drawn(chances, rng)
        own, p_logged = action == (x > -0.5), chances[every, action]
        weights = np.stack([np.where(own, 0.9, 0.025), np.full(rows, 0.2)], axis=1)
        weights, chance = weights / p_logged[:, None], rate * (0.8 + 0.4 * own)
    reward = (rng.random(rows) < chance).astype(float)
    if world.endswith("money"):
        reward *= 20 * rng.lognormal(size=rows)
    return reward, p_logged, weights.astype(float)


def _drawn(chances, rng):
    below = chances.cumsum(axis=1) < rng.random(len(chances))[:, None]
    return below.sum(axis=1).clip(0, chances.shape[1] - 1)


def truth_of(world, rate, rows=8_000_000, step=400_000):
    """Values of the log and of both policies."""
    total = np.zeros(3)
    for part in range(rows // step):
        reward, _, weights = a_log(world, step, rate, np.random.default_rng([part, 7]))
        total += [reward.mean(), *(reward @ weights / step)]
    return total * step / rows


def estimates(reward, propensity, weights, low, high):
    """Estimates of one log by name, in the order of the truth's differences."""
    p = (weights * propensity[:, None])[:, ::-1]
    batch = {"reward": reward, "propensity": propensity, "p": p}
    batch |= {"keep_rate": np.ones(len(reward)), "weight": np.ones(len(reward))}
    known = log_values(lambda: [batch], ["other", "new"], reward_range=(low, high))
    first = {"ips()": ips(reward, batch["propensity"], batch["p"][:, 1])}
    first |= {"log": known.logged} | {name: known.values["new", name] for name in ("ips", "snips")}
    for label, other in (("gain", ""), ("difference", "other")):
        for name in ("ips", "snips"):
            first[f"{label} {name}"] = known.differences["new", other, name]
    return first


def judged(world, rows, rate, logs):
    """For each estimate: share of intervals that hold the truth, below it and above, width."""
    own, values, truth = {}, {}, truth_of(world, rate)
    places = {"log": truth[0], "gain": truth[1] - truth[0], "difference": truth[1] - truth[2]}
    for number in range(logs):
        log = a_log(world, rows, rate, np.random.default_rng([number, 11]))
        high = None if world.endswith("money") else 1.0
        for name, one in estimates(*log, None, high).items():
            true = places.get(name.split()[0], truth[1])
            own.setdefault(name, []).append((one.low > true, one.high < true, one.high - one.low))
            values.setdefault(name, []).append(one.value)
    for name, found in own.items():
        above, below, width = np.transpose(found)
        spread = np.subtract(*np.quantile(values[name], [0.975, 0.025]))
        held = 1 - above.mean() - below.mean()
        yield name, held, below.mean(), above.mean(), np.median(width) / spread


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("worlds", nargs="*", metavar="WORLD", default=WORLDS)
    warnings.simplefilter("ignore", UserWarning)  # a policy of one action takes few logged ones
    asked.add_argument("--logs", type=int, default=400)
    given, found = asked.parse_args(), []
    for size, (rows, rate) in SIZES.items():
        for world in given.worlds:
            print(f"\n{world}, {size}\n| estimate | holds | all below | all above | width |")
            for name, *numbers in judged(world, rows, rate, given.logs):
                found.append((numbers[0], numbers[-1]))
                print(f"| {name} | {' | '.join(f'{one:.3f}' for one in numbers)} |", flush=True)
    held, width = np.transpose(found)
    print(f"\nholds {held.min():.3f} to {held.max():.3f}, ", end="")
    print(f"width {width.min():.2f} to {width.max():.2f}")


if __name__ == "__main__":
    main()
