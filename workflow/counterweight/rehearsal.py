"""Rehearsals: one's own answer, whole, on synthetic copies of one's own table with known truth.

A copy has the rows and features of the table. Who has an outcome, and how everyone turns out, are
drawn anew from what was fitted to the table (a plasmode): who has one by the cross-fitted chance of
it, how rows turn out by the delivered model. Then the study is run on the copy as it was on the
table, every stage of it, and its answer is held against what was drawn. A copy is as the table is
only as far as the models are; what it can show is whether an answer of this kind, from a table of
this size and these blanks, would have been right if the world were as supposed, and how wrong it
would be where it is not:

``assumed``
    Rows without an outcome turn out as the study takes for granted: like rows that have one, or at
    its tilt.
``outcome``
    The odds of rows without an outcome are Γ times those, up in every second copy and down in the
    others; of a number, its deviation from what is expected is tilted by Γ a standard deviation.
``hidden``
    As assumed given all columns, of which the answer is not shown the strongest.
``overlap``
    As assumed, and the log odds of having an outcome are twice as far from their mean.

Rows are not drawn with replacement: answers are of the rows at hand, and doubled rows would have
neighbours that no real row has. References: Franklin, Schneeweiss, Polinski & Rassen (2014), *CSDA*
72, on plasmodes; Schuler, Jung, Tibshirani, Hastie & Shah (2017), on choosing methods by them.
"""

import tempfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import betaincinv, expit, logit

from counterweight.answers import headline, run_jobs
from counterweight.delivery.final_scores import ENDS, Fitted
from counterweight.delivery.saved_scores import SavedScores
from counterweight.evaluation.cross_validation import losses
from counterweight.labeling.columns import features_of
from counterweight.plan.stages import Stages
from counterweight.tables.parquet import (
    METRICS,
    metrics_table,
    read_columns,
    read_facts,
    read_table,
    setting_name,
    stacked,
    write_table,
)
from counterweight.tables.study_data import generator

#: The source of its measurements.
SOURCE = "rehearsal"
#: Chances are kept from 0 and 1 by this, so that their odds can be moved.
EDGE = 1e-9
#: Whose mean is told: the target of the answer, and the rows without an outcome.
WHOM = ("", "unlabeled")


def drawn_copy(expected, chance, weight, rng, *, spread=None, factor=1.0, gamma=1.0, overlap=1.0):
    """Who has an outcome in a copy, and how everybody turns out.

    Parameters
    ----------
    expected : (n,) array
        Expected outcome of a row that has one: the chance of 1 of a class.
    chance : (n,) array
        Chance of having an outcome.
    weight : (n,) array
        Design weights; the weighted share that has one is kept by `overlap`.
    rng : numpy.random.Generator
    spread : (m,) array, optional
        Deviations of numbers from what was expected, which are drawn from; a class has none.
    factor, gamma : float
        Odds of 1 of a row without an outcome over those of a like row that has one: as the study
        assumes, and beyond that. Of numbers a deviation d counts ``(factor gamma) ** (d / sd)``.
    overlap : float
        Factor of the log odds of having an outcome.

    Returns
    -------
    labeled : (n,) array of bool
    outcome : (n,) array
    """
    chance = np.clip(chance, EDGE, 1 - EDGE)
    if overlap != 1:
        steep, share = overlap * logit(chance), np.average(chance, weights=weight)
        reach = np.abs(steep).max() + 1 / EDGE
        move = brentq(
            lambda at: np.average(expit(steep + at), weights=weight) - share, -reach, reach
        )
        chance = expit(steep + move)
    labeled = rng.random(len(chance)) < chance
    delta = np.log(factor * gamma)
    if spread is None:
        odds = logit(np.clip(expected, EDGE, 1 - EDGE))
        p = np.where(labeled, expected, expit(odds + delta))
        return labeled, (rng.random(len(p)) < p).astype(float)
    drawn = rng.choice(spread, len(chance))
    scale = spread.std()
    if delta and scale > 0:
        tilted = np.exp(delta * (spread - spread.mean()) / scale)
        drawn = np.where(labeled, drawn, rng.choice(spread, len(chance), p=tilted / tilted.sum()))
    return labeled, expected + drawn


def rehearse(job):
    """Run the study on one copy of its table; write what it said and what was drawn."""
    given, paths = job.given, job.input
    name, scenario, number = given["study"], given["scenario"], given["copy"]
    saved, table = SavedScores.read(paths.model), read_table(paths.table)
    labels, scores = read_columns(paths.labels), read_table(paths.scores)
    features = features_of(read_table(paths.columns))
    chance = np.ones(len(table))
    if paths.selection:
        chance = read_columns(paths.selection[0])["p"]
    elif not (labels["selected"] == 1).all():
        chance[:] = (labels["selected"] == 1).mean()
    rng = generator(given["seed"], given["stream"], number, f"rehearsal {scenario}")
    made, factor, spread = _expected(saved, table, labels, scores)
    turned = given["gamma"] if number % 2 == 0 else 1 / given["gamma"]
    labeled, y = drawn_copy(
        made,
        chance,
        labels["weight"],
        rng,
        spread=spread,
        factor=factor,
        gamma=turned if scenario == "outcome" else 1.0,
        overlap=2.0 if scenario == "overlap" else 1.0,
    )
    if spread is not None and saved.facts["range"][0] >= 0:
        y = np.maximum(y, 0.0)
    hidden = _strongest(paths.metrics) if scenario == "hidden" else None
    with tempfile.TemporaryDirectory(prefix="counterweight-") as place:
        kept = [one for one in features if one != hidden]
        frame = _frame(saved, table, labels, kept, given["roles"], labeled, y)
        found, losses_of = _answered(given, frame, read_facts(paths.table), kept, place, y)
    truth = {
        "": np.average(y, weights=labels["weight"])
        if given["target"] == "general"
        else np.average(y[~labeled], weights=labels["weight"][~labeled]),
        "unlabeled": np.average(y[~labeled], weights=labels["weight"][~labeled]),
    }
    naive = float(np.average(y[labeled], weights=labels["weight"][labeled]))
    setting = setting_name({scenario: given["gamma"]}) if scenario == "outcome" else scenario
    place = {"target": given["target"], "setting": setting, "step": float(number)}
    records = [
        place | {"metric": f"rehearsed_{what}", "part": part, "value": value, "rows": len(y)}
        for part in WHOM
        for what, value in {"truth": truth[part], "naive": naive, **found.get(part, {})}.items()
    ]
    at = place | {"part": "unlabeled", "rows": int((~labeled).sum())}
    records += [
        at | {"metric": "rehearsed_loss", "variable": method, "value": loss}
        for method, loss in losses_of.items()
    ]
    write_table(job.output.table, metrics_table(name, SOURCE, records), METRICS)


def _expected(saved, table, labels, scores):
    """What rows with an outcome are expected to have, the study's odds factor, deviations."""
    told, tilt = pd.DataFrame(saved.scored(table, reasons=False)), saved.facts["tilt"]
    expected = told["at_random" if tilt else "estimate"].to_numpy()
    if saved.binary:
        return expected, float(tilt["odds"]) if tilt else 1.0, None
    known = (labels["selected"] == 1) & scores["cross_validated"].notna().to_numpy()
    return expected, 1.0, labels["y"][known] - scores["cross_validated"].to_numpy()[known]


def _strongest(metrics):
    """The column that goes most with having no outcome and with the outcome, both together."""
    known = read_table(metrics)
    known = known[known["metric"].eq("column_gamma") & known["variable"].eq("")]
    known = known[known["part"].ne(known["part"].iloc[0])] if len(known) else known
    return str(known.sort_values("value", kind="stable")["part"].iloc[-1]) if len(known) else None


def _frame(saved, table, labels, features, roles, labeled, y):
    """The copy as a table: features and roles as they are, the outcome as it was drawn."""
    column = saved.facts["outcome"]
    others = [name for name in roles if name in table and name not in (column, *features)]
    frame = table[["row", *features, *others]].copy()
    if not saved.binary:
        frame[column] = pd.Series(np.where(labeled, y, np.nan), frame.index)
        return frame
    known = labels["selected"] == 1
    words = [table[column][known & (labels["y"] == value)].iloc[0] for value in (0, 1)]
    values = pd.Series(words, dtype=table[column].dtype).take(y.astype(int))
    frame[column] = values.set_axis(frame.index).where(labeled)
    return frame


def _answered(given, frame, facts, features, place, y):
    """What the study says of a copy, by whom: estimate and interval, or bounds in its place.

    Then the mean loss of each method on the outcomes that are hidden in the copy, by label.
    """
    name = given["study"]
    study = given["as"] | {"dataset": name, "figures": [], "score": None}
    study |= {"collect": None, "collected": None}
    options = study["labeling"]["options"] | {"where": {}}
    study |= {"labeling": study["labeling"] | {"options": options}}
    dataset = given["dataset"] | {"path": "a copy", "columns": {"keep": features}}
    dataset["roles"] = {
        role: {} if role == "labeled" else columns for role, columns in dataset["roles"].items()
    }
    plan = given["plan"] | {"results": f"{place}/results", "data": f"{place}/data"}
    plan |= {"datasets": {name: dataset}, "studies": {name: study}}
    stages = Stages(plan, "")
    # Typed as the table is: nothing is read anew.
    write_table(stages.paths.prepared(name), frame, facts=facts)
    asked = [("columns", name), ("label", name)]
    items = {"select": "selectors", "weigh": "weightings", "train": "methods"}
    asked += [(stage, name, one) for stage, item in items.items() for one in study[item]]
    run_jobs(stages, name, [*asked, ("deliver", name)])
    records = read_table(stages.paths.study(name).metrics("delivered"))

    found = {}
    for part in WHOM:
        answer, bounds = headline(records, part)
        if answer is not None:
            ends = dict(zip(ENDS, bounds or (answer.low, answer.high), strict=True))
            found[part] = {"estimate": answer.value} | ends | {"bounded": float(bool(bounds))}
    return found, _losses(stages.job("deliver", name), y)


def _losses(deliver, y):
    """Mean loss of each method on the rows without an outcome, whose outcomes are known here."""
    fit = Fitted.of(SimpleNamespace(given=deliver.given, input=SimpleNamespace(**deliver.inputs)))
    data, answers = fit.data, fit.answers
    blank, kind = ~data.labeled, "binary" if data.binary else "number"
    weight = data.weight[blank]
    return {
        method["label"]: float(
            np.average(losses(y[blank], answers.of(name)[blank], kind), weights=weight)
        )
        for name, method in deliver.given["methods"].items()
    }


def rehearsed(job):
    """All copies of a study in one table, with what they say together."""
    copies = pd.concat([read_table(path) for path in job.input.copies], ignore_index=True)
    write_table(
        job.output.metrics,
        stacked(
            [
                metrics_table(job.given["study"], SOURCE, summed_up(copies)),
                metrics_table(job.given["study"], SOURCE, copies[_KEPT].to_dict("records")),
            ]
        ),
        METRICS,
    )


_KEPT = ["target", "metric", "setting", "part", "variable", "step", "value", "rows"]


def summed_up(copies):
    """Of each scenario and population: how often the interval held the truth, and how far off.

    Parameters
    ----------
    copies : DataFrame
        Records of single copies, as `rehearse` writes them.

    Returns
    -------
    list of dict
        ``rehearsed_held`` (share of copies whose interval, or bounds, held the truth),
        ``rehearsed_off`` (mean of estimate minus truth), ``rehearsed_rmse`` and
        ``rehearsed_naive_rmse`` (root mean squared errors of the answer, and of the mean of the
        labeled rows), ``rehearsed_half_width`` and ``rehearsed_bounded`` (share of copies that had
        bounds in place of an interval); of each method (a variable) ``rehearsed_mean_loss``, the
        mean loss on the outcomes that are hidden in the copy, and ``rehearsed_best``, the share of
        copies in which that was the least; ``rows`` is the number of copies.
    """
    keys = ["target", "setting", "part"]
    by_method = copies[copies["metric"].eq("rehearsed_loss")]
    records = _best(by_method, keys)
    copies = copies[copies["metric"].ne("rehearsed_loss")]
    wide = copies.pivot_table("value", [*keys, "step"], "metric", sort=False)
    wide = wide.rename(columns=lambda name: name.removeprefix("rehearsed_")).dropna()
    for place, one in wide.groupby(keys, sort=False):
        off, naive = one["estimate"] - one["truth"], one["naive"] - one["truth"]
        held = (one["low"] <= one["truth"]) & (one["truth"] <= one["high"])
        count = len(one)
        told = {
            "held": (held.mean(), np.sqrt(held.mean() * (1 - held.mean()) / count)),
            "off": (off.mean(), off.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan),
            "rmse": (np.sqrt((off**2).mean()), np.nan),
            "naive_rmse": (np.sqrt((naive**2).mean()), np.nan),
            "half_width": ((one["high"] - one["low"]).mean() / 2, np.nan),
            "bounded": (one["bounded"].mean(), np.nan),
        }
        records += [
            dict(zip(keys, place, strict=True))
            | {"metric": f"rehearsed_{what}", "value": value, "standard_error": error}
            | {"rows": count}
            for what, (value, error) in told.items()
        ]
        # Exact interval of a share (Clopper & Pearson 1934).
        hits = held.sum()
        ends = {
            "low": betaincinv(hits, count - hits + 1, 0.025) if hits else 0.0,
            "high": betaincinv(hits + 1, count - hits, 0.975) if hits < count else 1.0,
        }
        records += [
            dict(zip(keys, place, strict=True))
            | {"metric": "rehearsed_held", "variable": end, "value": value, "rows": count}
            for end, value in ends.items()
        ]
    return records


def _best(copies, keys):
    """Mean loss of each method over copies, and the share of copies in which it was the least."""
    records = []
    for place, one in copies.groupby(keys, sort=False):
        wide = one.pivot(index="step", columns="variable", values="value")
        wide = wide[list(dict.fromkeys(one["variable"]))]
        least = wide.idxmin(axis=1)
        for method in wide:
            at = dict(zip(keys, place, strict=True)) | {"rows": len(wide), "variable": method}
            values, count = wide[method], len(wide)
            error = values.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan
            records += [
                at
                | {
                    "metric": "rehearsed_mean_loss",
                    "value": values.mean(),
                    "standard_error": error,
                },
                at | {"metric": "rehearsed_best", "value": (least == method).mean()},
            ]
    return records
