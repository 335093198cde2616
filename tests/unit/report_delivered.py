"""Made-up records of what is delivered beyond methods: labels to buy, rehearsals, certificates."""

import numpy as np
import pandas as pd
from counterweight.evaluation.rehearsed_copies import summed_up
from counterweight.rehearsal import SOURCE
from counterweight.tables.parquet import metrics_table

BUDGETS = (50, 100, 200, 400, 800)
SCENARIOS = {"assumed": 0.0, "outcome=2.0": 0.05}


def metrics(name):
    """Records of a study's labels to buy, of its rehearsal and of its tested rules."""
    made = {"collect": collect_records(), SOURCE: rehearsal_records(), "delivered": delivered()}
    frames = [metrics_table(name, source, rows).to_pandas() for source, rows in made.items()]
    return pd.concat(frames, ignore_index=True)


def collect_records():
    """Half-widths in points fall with the root of the budget, as labels to buy have them."""
    place = {"target": "unlabeled"}
    for budget in BUDGETS:
        for which, factor in (("plan", 0.8), ("wrong", 1.1), ("plain", 1.0)):
            at = {"part": f"{budget:g}", "variable": which}
            value = factor * 98 * 0.4 / budget**0.5 * 2
            yield place | at | {"metric": "expected_points", "value": value}
    for metric, value in (("labels_planned", 200.0), ("planned_points", 4.4)):
        yield place | {"metric": metric, "value": value}
    yield place | {"metric": "labels_budget", "value": 200.0}


def rehearsal_records(copies=20):
    """Single copies, whose errors are larger where the world is not as assumed, and their sum."""
    rng, rows = np.random.default_rng(0), []
    for setting, off in SCENARIOS.items():
        for step in range(copies):
            truth = 0.3 + rng.normal(0, 0.01)
            estimate = truth + off * (-1) ** step + rng.normal(0, 0.02)
            values = {"truth": truth, "estimate": estimate, "naive": 0.4, "bounded": 0.0}
            values |= {"low": estimate - 0.04, "high": estimate + 0.04}
            place = {"target": "general", "setting": setting, "part": "unlabeled"}
            rows += [
                place | {"metric": f"rehearsed_{what}", "step": float(step), "value": value}
                for what, value in values.items()
            ]
    return [*rows, *summed_up(pd.DataFrame(rows))]


def delivered():
    """The rate that is delivered, labels that were bought, and rules tested for new rows."""
    place = {"target": "general"}
    for metric, value in (
        ("target_rate", 0.3),
        ("labels_bought", 180.0),
        ("reached_points", 4.9),
        ("fit_constant", 0.25),
    ):
        yield place | {"metric": metric, "value": value}
    for share in range(-20, 60, 10):
        yield place | {"metric": "bound_cost", "part": f"{share}", "value": 0.2 - 0.0008 * share}
