"""Made-up records of what is delivered beyond methods: labels to buy, rehearsals, certificates."""

import numpy as np
import pandas as pd
import report_rates as rates
from counterweight.evaluation.rehearsed_copies import summed_up
from counterweight.rehearsal import SOURCE
from counterweight.tables.parquet import metrics_table, write_table

BUDGETS = (50, 100, 200, 400, 800)
SCENARIOS = {"assumed": 0.0, "outcome=2.0": 0.05}


def metrics(name):
    """Records of a study's labels to buy, of its rehearsal and of its tested rules."""
    made = {"collect": collect_records(), SOURCE: rehearsal_records(), "delivered": delivered()}
    made["logistic"] = logged()
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
    for month in range(1, 13):
        at = place | {"part": str(month)}
        told = {"points": 12.0 / month**0.5, "cost": 900.0 * month, "most": 2000.0 * month}
        for name, value in told.items():
            yield at | {"metric": f"explore_{name}", "value": value}
    yield place | {"metric": "explore_refit", "value": 7.0}


def people_to_ask(name):
    """Metrics of a filter's people to ask: bounds that fall with how many are, and what came."""
    place = {"target": "unlabeled"}
    made = [
        place
        | {"metric": "expected_disclosivity", "part": f"{budget:g}", "variable": which}
        | {"value": least + 2.0 / budget**0.5}
        for budget in BUDGETS
        for which, least in (("plan", 0.1), ("plain", 0.15))
    ]
    told = {"labels_planned": 200, "labels_budget": 200, "labels_bought": 190}
    told |= {"planned_disclosivity": 0.24, "collected_at_most": 0.26}
    made += [place | {"metric": metric, "value": float(value)} for metric, value in told.items()]
    return metrics_table(name, "collect", made).to_pandas()


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
        ("labels_waiting", 20.0),
        ("reached_points", 4.9),
        ("fit_constant", 0.25),
    ):
        yield place | {"metric": metric, "value": value}
    for share in range(-20, 60, 10):
        yield place | {"metric": "bound_cost", "part": f"{share}", "value": 0.2 - 0.0008 * share}


def logged():
    """A policy's value by the log, beside that of the log's own."""
    place = {"target": "general", "keep_rate": 1.0}
    for metric, by, value in (("whole_value", "ips", 0.06), ("logged_value", "mean", 0.04)):
        yield place | {"metric": metric, "measure": by, "value": value, "standard_error": 0.004}


class Promised:
    """A study of two promises, by a method that keeps them and one that was not asked to."""

    TEXTS = ("coverage(old) <= 1.25 * coverage(young)", "error(old) <= 0.3")

    @classmethod
    def plan(cls):
        methods = [rates.method("ramp", constraints=cls.TEXTS), rates.method("svm")]
        options = {"measures": {"error": "error(everyone)"}}
        return {"studies": {"promised": rates.study("My own", methods, options)}}

    @classmethod
    def metrics(cls, plan):
        frames = []
        for source, off in (("ramp", 0.0), ("svm", 0.1)):
            records = [
                {"target": "general", "repeat": repeat, "metric": metric, "part": part}
                | {"value": off + value + 0.01 * repeat, "measure": measure}
                for repeat in range(5)
                for metric, part, value, measure in (
                    *(
                        ("promise_excess_deterministic", f"{j}", 0.02 - 0.08 * j, "")
                        for j in (0, 1)
                    ),
                    ("deterministic", "", 0.2, "error"),
                )
            ]
            frames.append(metrics_table("promised", source, records).to_pandas())
        return pd.concat(frames, ignore_index=True)


def answers(folder):
    """Answers for the rows of a table, and for new rows, as a study gives them away."""
    rng = np.random.default_rng(0)
    for name, rows in (("scores", 400), ("new_scores", 100)):
        table = pd.DataFrame({"row": np.arange(rows), "estimate": rng.beta(2, 5, rows)})
        kinds = (("row", "int64"), ("estimate", "float64"))
        write_table(folder / f"{name}.parquet", table, kinds)
