"""Policy values beside vw-estimators: same values, time, and coverage of intervals of few clicks.

Draws small logs of six expected clicks whose policies' values are known. vw-estimators is no
dependency: ``pip install vw-estimators``.
"""

import numpy as np
from counterweight.evaluation.log_values import log_values
from table import Absent, Case, require

LOGS, ROWS, CHANCE = 400, 600, 0.01
LOGGING, TARGET = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])


def a_log(rng):
    """Rewards, propensities and target probabilities; every policy is worth `CHANCE`."""
    action = rng.choice(3, size=ROWS, p=LOGGING)
    return (rng.random(ROWS) < CHANCE).astype(float), LOGGING[action], TARGET[action]


def ours(reward, propensity, target):
    ones = np.ones(len(reward))
    batch = {"reward": reward, "propensity": propensity, "keep_rate": ones, "weight": ones}
    known = log_values(
        lambda: [batch | {"p": target[:, None]}], ["new"], reward_range=(0, 1)
    )  # fmt: skip
    mine, other = known.values["new", "ips"], known.values["new", "snips"]
    return mine.value, other.value, mine.low, mine.high


def vw(reward, propensity, target):
    try:
        from estimators.bandits import cressieread, ips, snips
    except ImportError:
        raise Absent("vw-estimators is not installed") from None
    known = ips.Estimator(), snips.Estimator(), cressieread.Interval(0, 1 / LOGGING.min())
    for r, p, t in zip(reward.tolist(), propensity.tolist(), target.tolist(), strict=True):
        for one in known:
            one.add_example(p, r, t)
    return known[0].get(), known[1].get(), *known[2].get()


def same(mine, theirs):
    def held(found):
        return np.mean((found[:, 2] <= CHANCE) & (found[:, 3] >= CHANCE))

    mine = np.array(mine)
    if theirs is None:
        return f"95 % intervals hold {held(mine):.3f}"
    theirs = np.array(theirs)
    apart = np.abs(mine - theirs)[:, :2] / np.maximum(np.abs(theirs[:, :2]), 1e-12)
    require(apart.max() <= 1e-9, f"values differ by {apart.max():.1e}")
    return (
        f"values {apart.max():.0e} apart; 95 % intervals hold {held(mine):.3f}, theirs "
        f"{held(theirs):.3f}"
    )


def cases():
    rng = np.random.default_rng(0)
    logs = [a_log(rng) for _ in range(LOGS)]
    yield Case(
        stage="evaluation",
        what=f"IPS and SNIPS with intervals, {LOGS} logs of {ROWS} rows",
        ours=lambda: [ours(*log) for log in logs],
        peer="vw-estimators",
        theirs=lambda: [vw(*log) for log in logs],
        quality=same,
    )
