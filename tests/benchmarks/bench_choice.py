"""The predictive choice model, on one thread.

- Algorithm 1 of Noor et al. (2014) on 18 simulated segments (9,000 rows, J = 1 to 25, 10 random
  starts for each J, tolerance 1e-6 for a row) in less than 90 s, beside one start of R's flexmix,
  whose mixture of 18 segments is the same.
- EM with 10 segments grows no faster than the rows, from 10^4 to 10^6: time and memory per row at
  most 1.5 times those at the smallest size (10^5 rows for memory, where fixed costs are small).
- A million new people are priced by three segments (soft, with intervals) in less than 20 s, also
  where a number moves their thresholds, and get offers under a capacity and a budget in 10 s.
"""

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import r_peer
from counterweight.datasets.simulated_offers import EighteenSegments
from counterweight.delivery.saved_offers import SavedOffers
from counterweight.labeling.encoding import fitted_encoder
from counterweight.models.choice.predictive_choice import PredictiveChoiceModel
from counterweight.models.choice.search import Search
from counterweight.models.choice.steps import ChoiceRows, climb
from table import Case, Timed, require, timed

SEED = 0
STEPS = 10
SEGMENTS = 10
PEOPLE = 1_000_000
#: One EM run of flexmix from random starting classes.
FLEXMIX = """
set.seed(1)
seconds <- sum(system.time(m <- flexmix(~ 1, data = d, k = 18, control = list(tolerance = 1e-6),
  model = list(FLXMCmvnorm(cbind(x1, x2) ~ 1, diagonal = FALSE),
               FLXMRglm(cbind(y, 1 - y) ~ t, family = "binomial"))))[c("user.self", "sys.self")])
found <- c(as.numeric(logLik(m)), m@k)
"""


def algorithm_one():
    """The model of Algorithm 1."""
    table, _ = EighteenSegments.simulate(9000, np.random.default_rng(SEED))
    X = table[["x1", "x2"]].to_numpy()
    model = PredictiveChoiceModel(most_components=25, n_init=10, tol=1e-6)
    rng = np.random.default_rng(SEED)
    return model.fit(X, table.answer_uniform, table.offer_uniform, rng=rng)


def flexmix():
    """Log-likelihood and segments left of one start on the same rows."""
    table, _ = EighteenSegments.simulate(9000, np.random.default_rng(SEED))
    table = table.rename(columns={"offer_uniform": "t", "answer_uniform": "y"})
    return r_peer.run(("flexmix", "mvtnorm"), table[["x1", "x2", "t", "y"]], FLEXMIX)


def rows_of(n, rng):
    """Rows of 18 segments, `n` of them, standardised, with offers and answers."""
    table, _ = EighteenSegments.simulate(9000, rng)
    chosen = rng.integers(len(table), size=n)
    X = table[["x1", "x2"]].to_numpy()[chosen] + rng.normal(0, 0.1, (n, 2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, table.offer_uniform.to_numpy()[chosen], table.answer_uniform.to_numpy()[chosen]


def fixed_steps(n):
    """Peak bytes of a fixed number of EM steps with the data laid out anew, and their seconds."""
    rng = np.random.default_rng(SEED)
    X, t, y = rows_of(n, rng)
    rule = {"floor": 1e-3, "minimum_rows": 4.0, "tol": 0.0, "iterations": STEPS}
    search = Search(ChoiceRows(X[:5000], t[:5000], y[:5000]), rng, n_init=1, **rule)
    start = search.random(SEGMENTS)
    _, seconds, _ = timed(lambda: climb(ChoiceRows(X, t, y), start, **rule))
    tracemalloc.start()
    climb(ChoiceRows(X, t, y), start, **(rule | {"iterations": 1}))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Timed(peak, seconds)


def a_million(moved=False):
    """A fitted model, and a million people; a third number moves their thresholds, or not."""
    rng = np.random.default_rng(SEED)
    centres, eta, k = [[0, 0], [4, 0], [0, 4]], [0.3, 0.55, 0.7], [8, 12, 10]

    def people(n):
        own = rng.integers(3, size=n)
        x = np.array(centres)[own] + rng.normal(size=(n, 2))
        t = rng.random(n)
        z = rng.normal(size=n)
        odds = np.array(k)[own] * (t - np.array(eta)[own] - 0.08 * moved * z)
        frame = pd.DataFrame(x, columns=["a", "b"])
        frame = frame.assign(z=z) if moved else frame
        return frame, t, rng.random(n) < 1 / (1 + np.exp(-odds))

    frame, t, y = people(3000)
    encoder = fitted_encoder(frame)
    offer = {"low": 0, "high": 1, "direction": "up", "revenue": None, "column": "aid"}
    saved = SavedOffers.fitted(
        encoder.transform(frame),
        t,
        y.astype(float),
        encoder,
        method={
            "model": "predictive_choice",
            "options": {"components": 3, "n_init": 3}
            | ({"thresholds": "additive"} if moved else {}),
        },
        setting="soft",
        offer=offer,
        rng=rng,
    )
    return saved, people(PEOPLE)[0]


def same_segments(mine, theirs):
    text = f"{mine.n_components_} of 18 segments, log-likelihood {mine.log_likelihood_:.5g}"
    if theirs is None:
        return text
    value, left = theirs
    require(mine.log_likelihood_ >= value - 1e-3 * abs(value), f"{text}; flexmix {value:.5g}")
    return f"{text}; one start of the peer {left:.0f}, {value:.5g}"


def grown(mine, _):
    factor = mine / 10**6 / (fixed_steps(10**5).result / 10**5)
    require(factor <= 1.5, f"memory for each row is {factor:.2f} times that at 10^5 rows")
    return f"{mine / 10**6:.0f} bytes a row, {factor:.2f} times those at 10^5 rows"


def priced(offers, _):
    best = np.asarray(offers["best_offer"], dtype=float)
    require(len(best) == PEOPLE and ((best >= 0) & (best <= 1)).all(), "offers beyond the scale")
    return "an offer within the scale for each"


def allotted(found, _):
    given, accepted = found[0], PEOPLE / 5
    expected = given["p"].where(given["offer"].notna(), 0).sum()
    spent = (given["p"] * given["offer"]).sum()
    kept = expected <= accepted * (1 + 1e-6) and spent <= PEOPLE / 20 * (1 + 1e-6)
    require(kept, f"{expected:.0f} of {accepted:.0f} places, {spent:.0f} spent")
    return (
        f"{expected:.0f} expected of {accepted:.0f} places, {spent:.0f} of {PEOPLE / 20:.0f} spent"
    )


def cases():
    fixed_steps(1000)
    what = "Algorithm 1, 9,000 rows, 1 to 25 segments, 10 starts each"
    yield Case(
        "models", what, algorithm_one, same_segments, "flexmix (R), one start", flexmix, seconds=90
    )
    yield Case(
        stage="models",
        what=f"EM, {SEGMENTS} segments, {STEPS} steps, 10^6 rows",
        ours=lambda: fixed_steps(10**6),
        peer="its own 10^4 rows, times 100",
        theirs=lambda: Timed(None, 100 * fixed_steps(10**4).seconds),
        quality=grown,
        at_most=1.5,
    )
    saved, new = a_million()
    yield Case(
        "models",
        "Best offers for 10^6 people",
        partial(saved.optimal_offers, new),
        priced,
        seconds=20,
    )
    allot = partial(saved.allot, new, capacity=PEOPLE / 5, budget=PEOPLE / 20)
    what = "Offers for 10^6 people under capacity and budget"
    yield Case("models", what, allot, allotted, seconds=10)
    saved, new = a_million(moved=True)
    what = "Best offers for 10^6 people, thresholds that move"
    yield Case("models", what, partial(saved.optimal_offers, new), priced, seconds=20)
