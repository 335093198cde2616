"""Means from bought labels against the package `ppi-python`: equal figures, and narrower intervals.

50,000 rows of a made-up population with a class, 1,000 of them bought as a simple sample. At given
powers lambda (0, .5, 1, and the one that the peer chooses) both give the same mean; the peer's
error has a part for the labels, which ours is but for the finite population, and one for the rows,
which are the population here. Where the design goes by the predictions and these are calibrated to
the labels bought, the interval of the same number of labels is narrower.
"""

from functools import partial

import numpy as np
from counterweight.evaluation.collected import collected_mean
from counterweight.numerics.designs import draw, inclusion_chances, stopped_chances
from table import Absent, Case, require

ROWS, LABELS = 50_000, 1_000
POWERS = (0.0, 0.5, 1.0)


def population():
    rng = np.random.default_rng(1)
    score = rng.normal(-1, 1.6, ROWS)
    y = (rng.random(ROWS) < 1 / (1 + np.exp(-score))).astype(float)
    # What a model says that is not right among these rows.
    f = 1 / (1 + np.exp(-0.7 * score + 0.4))
    return y, f, rng.random(ROWS)


def ours(y, f, coins, power):
    flat = np.full(ROWS, LABELS / ROWS)
    mask = draw(flat, coins, design="fixed").mask
    told = {"design": "fixed", "how": "ppi"}
    plain = [collected_mean(y, flat, mask, f, power=one, **told) for one in (*POWERS, power)]
    chances = inclusion_chances(np.sqrt(f * (1 - f)), LABELS)
    order = draw(chances, coins).order
    best = collected_mean(y, stopped_chances(chances, coins, LABELS), order < LABELS, f)
    return plain, collected_mean(y, flat, mask, f, **told), best


def chosen(y, f, coins):
    """What the peer's power is, by its formula (Angelopoulos, Duchi & Zrnic 2023, section 6)."""
    mask = draw(np.full(ROWS, LABELS / ROWS), coins, design="fixed").mask
    covariance = np.mean((y[mask] - y[mask].mean()) * (f[mask] - f[mask].mean()))
    spread = np.concatenate([f[mask], f]).var(ddof=1)
    return float(np.clip(covariance / ((1 + LABELS / ROWS) * spread), 0, 1))


def theirs(y, f, coins):
    try:
        from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    except ImportError as error:
        raise Absent(f"pip install ppi-python ({error})") from None
    mask = draw(np.full(ROWS, LABELS / ROWS), coins, design="fixed").mask
    told = y[mask], f[mask], f
    values = [float(np.squeeze(ppi_mean_pointestimate(*told, lam=one))) for one in POWERS]
    values.append(float(np.squeeze(ppi_mean_pointestimate(*told))))
    ends = [np.ravel(ppi_mean_ci(*told, alpha=0.05, lam=one)) for one in POWERS]
    ends.append(np.ravel(ppi_mean_ci(*told, alpha=0.05)))
    return values, [float(high - low) / 2 for low, high in ends]


def equal(y, f, powers, found, peer):
    """Equal figures where both have the estimator, to 1e-9; narrower by design."""
    plain, tuned, best = found
    halves = [(one.high - one.low) / 2 for one in (tuned, best)]
    require(abs(best.value - y.mean()) < 2 * (best.high - best.low), "the truth is far away")
    if peer is None:
        return f"half-width {100 * halves[1]:.2f} points by design, {100 * halves[0]:.2f} without"
    off = max(abs(one.value - value) for one, value in zip(plain, peer[0], strict=True))
    require(off < 1e-9, f"the means differ by {off:.2g}")
    quantile = 1.959963984540054
    for one, power, half in zip(plain, powers, peer[1], strict=True):
        labels = one.standard_error**2 / (1 - LABELS / ROWS) * (LABELS - 1) / LABELS
        error = np.sqrt(labels + power**2 * f.var() / ROWS)
        require(abs(quantile * error - half) < 1e-9, f"the errors differ at {power:.2f}")
    require(halves[1] < halves[0] < peer[1][-1], "the design does not help")
    told = [100 * half for half in (halves[1], halves[0], peer[1][-1])]
    return (
        f"means and errors equal to {max(off, 1e-16):.0e}; half-width in points by design "
        f"{told[0]:.2f}, of the rows at hand {told[1]:.2f}, peer {told[2]:.2f}"
    )


def cases():
    y, f, coins = population()
    power = chosen(y, f, coins)
    yield Case(
        "collect",
        "Mean from 1,000 of 50,000 labels, five estimates",
        partial(ours, y, f, coins, power),
        partial(equal, y, f, (*POWERS, power)),
        "ppi-python 0.2.3",
        partial(theirs, y, f, coins),
        seconds=2.0,
    )
