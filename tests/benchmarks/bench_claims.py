"""Coverage of the intervals of what best offers would bring, in simulated admissions.

For the three historical policies of `Admissions` the choice model is fitted in some worlds, finds
best offers, and `totals_intervals` gives the 95 % intervals of the enrolment and the revenue that
these bring. The truth is known in each world. Where offers hardly varied there must be no interval.
Exits with status 1 where intervals of revenue hold the truth in less than `LEAST` of the worlds, or
there is one under the policy that is a function of the features. Times are CPU times.

Call: python tests/benchmarks/bench_claims.py [worlds [seed]]
"""

import logging
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

from counterweight.datasets.simulated_offers import FEATURES, Admissions  # noqa: E402
from counterweight.labeling.offered import OfferScale  # noqa: E402
from counterweight.models.choice.offer_model import acceptance  # noqa: E402
from counterweight.models.choice.offer_training import segment_predictions, totals_intervals  # noqa: E402
from counterweight.models.choice.predictive_choice import PredictiveChoiceModel  # noqa: E402

LEAST, DRAWS = 0.9, 50


def one(policy, seed):
    """Per setting: claim, truth and interval (or None) of revenue and of enrolment."""
    rng = np.random.default_rng(seed)
    table, truth = (pd.DataFrame(part) for part in Admissions._world(0, rng))
    train = table.part.to_numpy() == "train"
    X, scale = table[list(FEATURES)].to_numpy(), OfferScale(0.0, 1.0, "up")
    t, y = table[f"offer_{policy}"].to_numpy(), table[f"answer_{policy}"].to_numpy(float)
    model = PredictiveChoiceModel(components=20, n_init=5)
    model.fit(X[train], y[train], t[train], rng=rng)
    said = segment_predictions(model, X, t, scale)
    rows = {"X": X, "t": t, "train": train, "answer": y[train]}
    intervals, found = totals_intervals(model, rows, scale, said, rng, DRAWS), {}
    eta, k = (truth[name].to_numpy()[~train] for name in ("eta", "k"))
    for setting, own in said.items():
        own = {name: values[~train] for name, values in own.items()}
        p = acceptance(own["best_offer"], eta, k)
        told = {"enrolment": p.sum(), "revenue": (p * scale.revenue(own["best_offer"])).sum()}
        for name, brought in told.items():
            claim = own["best_p" if name == "enrolment" else "best_revenue"].sum()
            found[name, setting] = claim, brought, intervals.get((f"{name}_claimed", setting))
    return found


def main(worlds, seed):
    """Run all, print the table, and return the exit status."""
    fine = True
    for policy, count in (("policy", 2), ("noisy", worlds), ("noisier", worlds)):
        clock = time.process_time()
        all_of = [one(policy, [seed, number]) for number in range(count)]
        seconds = time.process_time() - clock
        for key in all_of[0]:
            told = [found[key] for found in all_of]
            claim, truth = (np.array([one[at] for one in told]) for at in (0, 1))
            name = f"{policy:8} {key[0]:9} {key[1]}: claimed {claim.mean():.1f}, true "
            name += f"{truth.mean():.1f}"
            ends = [one[2] for one in told]
            if any(one is None for one in ends):
                refused = sum(one is None for one in ends)
                print(f"{name}; no interval in {refused} of {count} worlds")
                fine &= policy != "policy" or refused == count
                continue
            low, high = np.array(ends).T
            inside = (low <= truth) & (truth <= high)
            print(
                f"{name}; {inside.sum()} of {count} intervals hold it ({(truth < low).sum()} lie "
                f"above, {(truth > high).sum()} below), mean length {(high - low).mean():.1f}"
            )
            fine &= policy != "policy" and (key[0] != "revenue" or inside.mean() >= LEAST)
        print(f"{policy}: {seconds:.1f} s, {seconds / count:.1f} s a world")
    return 0 if fine else 1


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    with threadpool_limits(limits=1):
        status = main(*(int(told) for told in (*sys.argv[1:], *("12", "0")[len(sys.argv) - 1 :])))
    sys.exit(status)
