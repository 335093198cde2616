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

Rows are not drawn with replacement: these answers are of the rows at hand, and doubled rows would
have neighbours that no real row has. Copies of other tables:

a log (`rehearse_log`)
    Users, or rows, are drawn with replacement, with chances by which the weights of every policy
    average 1; the reward of a row is that of a row whose reward is expected to be about the same,
    and rows without one are dropped again at their rate. ``outcome``: odds of a reward of the rows
    that were logged (not 0, or above the mean) are Γ times those of the same choices otherwise.
offers (`rehearse_offers`)
    People and their offers as they are; answers by the delivered model.
groups of a filter (`rehearse_filter`)
    People as they are; the groups of each by cross-fitted chances.
promises (`rehearse_promises`)
    Half of the people, since promises are about new people, with their groups, and nobody twice,
    since a model knows again whom it has seen: rates among half of n differ from those among all n
    by as much as rates among n do from those of a population, 1/(n/2) (1 - 1/2) = 1/n in units of
    the variance. Models learn from half the rows. Outcomes by cross-fitted chances.

References: Franklin, Schneeweiss, Polinski & Rassen (2014), *CSDA* 72, on plasmodes; Schuler, Jung,
Tibshirani, Hastie & Shah (2017), on choosing methods by them; Hainmueller (2012), *Political
Analysis* 20, on chances by which means are met (entropy balancing).
"""

import tempfile
from types import SimpleNamespace

import numpy as np
import pandas as pd

from counterweight.answers import headline, run_jobs
from counterweight.delivery.final_scores import ENDS, Fitted
from counterweight.delivery.saved_scores import SavedScores
from counterweight.errors import CounterweightError
from counterweight.evaluation.cross_validation import losses
from counterweight.evaluation.rehearsed_copies import (
    balancing,
    donors,
    drawn_copy,
    foretold,
    summed_up,
)
from counterweight.labeling.column_statistics import by_content
from counterweight.labeling.columns import features_of
from counterweight.numerics.checks import with_columns
from counterweight.plan import components
from counterweight.plan.stages import Stages
from counterweight.plan.tasks import jobs_of_answer
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
#: Whose mean is told: the target of the answer, and the rows without an outcome.
WHOM = ("", "unlabeled")
#: Standard errors by which a log's weights must average other than 1 before it is said.
OFF = 4.0


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
        y = np.clip(y, 0.0, saved.band.most)
    hidden = _strongest(paths.metrics) if scenario == "hidden" else None
    with tempfile.TemporaryDirectory(prefix="counterweight-") as place:
        kept = [one for one in features if one != hidden]
        frame = _frame(saved, table, labels, kept, given["roles"], labeled, y)
        labeling = given["as"]["labeling"]
        options = labeling["options"] | {"where": {}}
        stages = _run(
            given,
            frame,
            read_facts(paths.table),
            place,
            labeling={"labeling": labeling | {"options": options}},
            keep=kept,
            seen={"labeled": {}},
        )
        found, losses_of = _answered(stages, name, y)
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


def _run(given, frame, facts, place, *, labeling=None, keep=None, seen=None, seed=None):
    """Run a study on a copy, up to what it delivers; the `Stages` of the copy.

    `labeling` is what the study says otherwise of its copy, `keep` the features where they are
    named, `seen` roles of columns that are otherwise, `seed` one of its own.
    """
    name, dataset = given["study"], dict(given["dataset"])
    study = given["as"] | {"dataset": name, "figures": [], "score": None, "title": ""}
    study |= {"rehearse": None, "collect": None, "collected": None} | (labeling or {})
    if keep is not None:
        dataset["columns"] = {"keep": keep}
    dataset["roles"] = dataset["roles"] | (seen or {})
    plan = given["plan"] | {"results": f"{place}/results", "data": f"{place}/data"}
    plan |= {"datasets": {name: dataset}, "studies": {name: study}, "filter_key": ""}
    plan |= {"seed": seed} if seed is not None else {}
    stages = Stages(plan, "")
    # Typed as the table is: nothing is read anew.
    write_table(stages.paths.prepared(name), frame, facts=facts)
    at = stages.paths.study(name)
    steps = [(stage[0], name, *stage[1:]) for stage, _ in jobs_of_answer(plan, study, at)]
    run_jobs(stages, name, [("columns", name), *steps])
    return stages


def _answered(stages, name, y):
    """What the study says of a copy, by whom: estimate and interval, or bounds in its place.

    Then the mean loss of each method on the outcomes that are hidden in the copy, by label.
    """
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
    data, answers = fit.data, fit.hidden.answers
    blank, kind = ~data.labeled, "binary" if data.binary else "number"
    weight = data.weight[blank]
    return {
        method["label"]: float(
            np.average(losses(y[blank], answers.of(name)[blank], kind), weights=weight)
        )
        for name, method in deliver.given["methods"].items()
    }


def _records(job, found, rows, **further):
    """Write what a copy said: by what is estimated, its truth, estimate, ends and so on.

    `found` are dicts of values by part, which may lack ends; `further` are records by name.
    """
    given = job.given
    setting = given["scenario"]
    if setting == "outcome":
        setting = setting_name({setting: given["gamma"]})
    place = {"target": given["target"], "setting": setting, "step": float(given["copy"])}
    place["rows"] = int(rows)
    records = [
        place | {"metric": f"rehearsed_{what}", "part": part, "value": float(value)}
        for part, values in found.items()
        for what, value in values.items()
        if not np.isnan(value)
    ]
    records += [
        place | {"metric": f"rehearsed_{metric}", "part": "", "variable": name, "value": value}
        for metric, values in further.items()
        for name, value in values.items()
    ]
    write_table(job.output.table, metrics_table(given["study"], SOURCE, records), METRICS)


def _draws(given):
    """The random numbers of a copy, and a seed for the study on it."""
    rng = generator(given["seed"], given["stream"], given["copy"], f"rehearsal {given['scenario']}")
    return rng, int(rng.integers(2**31))


def _turned(given):
    """The factor of the odds in a copy: up in every second one, down in the others."""
    if given["scenario"] != "outcome":
        return 1.0
    return given["gamma"] if given["copy"] % 2 == 0 else 1 / given["gamma"]


def rehearse_log(job):
    """Run a study of a log on one copy of it; write the values it told, and the true ones."""
    given, paths = job.given, job.input
    rng, seed = _draws(given)
    labels = read_columns(paths.labels)
    table = read_table(paths.table).set_index("row", drop=False).loc[labels["row"]]
    taken = {
        name: read_columns(path)["p"]
        for name, path in zip(given["policies"], paths.predictions, strict=True)
    }
    weights = np.column_stack([*taken.values()]) / labels["propensity"][:, None]
    reward, rate = labels["reward"], labels["keep_rate"]
    # How many rows of the log as it was each row stands for, and how much one counts.
    times, counts = np.where(reward == 0, 1 / rate, 1.0), labels["weight"]
    by = with_columns(table[given["by"]], {f"p {name}": p for name, p in taken.items()})
    expected = foretold(by.assign(propensity=labels["propensity"]), reward, None, rng)
    among = given["action"] and pd.factorize(table[given["action"]])[0] + 1
    mean, draw = donors(expected, reward, times, _turned(given), rng, among=among)
    unit, users = np.arange(len(reward)), given["user"]
    if users:
        unit = np.unique(labels["cluster"], return_inverse=True)[1]
    total = np.bincount(unit, times * counts)
    moments = np.column_stack(
        [np.bincount(unit, times * counts * one) - total for one in weights.T]
    )
    for name, one in zip(given["policies"], moments.T, strict=True):
        off, error = one.sum() / total.sum(), np.sqrt(one @ one) / total.sum()
        if abs(off) > OFF * error:
            job.log.warning(
                "The weights of %s average %.3g in the log and are made to average 1 in its "
                "copies: these do not show what wrong propensities do to its value.",
                given["labels"][name],
                1 + off,
            )
    chance = balancing(moments)
    chance = np.full(len(total), 1 / len(total)) if chance is None else chance
    row = chance[unit] * times * counts
    truth = {
        name: (row * one) @ mean / (row @ one)
        for name, one in zip(given["policies"], weights.T, strict=True)
    }
    if users:
        rows, who = _of_units(rng.multinomial(len(total), chance), unit)
        # Each stands for as many as were dropped with it, which its user had, too.
        often = np.floor(times[rows] + rng.random(len(rows))).astype(int)
        rows, who = np.repeat(rows, often), np.repeat(who, often)
    else:
        often = chance * times
        rows = np.sort(rng.choice(len(often), int(round(times.sum())), p=often / often.sum()))
    before, donor = len(rows), draw(rows)
    kept = (reward[donor] != 0) | (rng.random(before) < rate[rows])
    rows, donor = rows[kept], donor[kept]
    frame = table.iloc[rows].reset_index(drop=True)
    column = given["as"]["outcome"]["options"]["column"]
    frame[column] = table[column].iloc[donor].to_numpy()
    frame["row"] = np.arange(len(frame))
    # A row that was drawn twice is two rows, and a user two users.
    own = {given["dataset"]["roles"].get("id"): frame["row"].to_numpy()}
    own |= {users: who[kept]} if users else {}
    for name in own.keys() - {None}:
        words = not pd.api.types.is_numeric_dtype(frame[name])
        frame[name] = [f"u{one}" for one in own[name]] if words else own[name]
    labeling = given["as"]["labeling"]
    options = dict(labeling["options"])
    options["rows_before"] = before if options["rows_before"] else options["rows_before"]
    with tempfile.TemporaryDirectory(prefix="counterweight-") as place:
        told = {"labeling": {"labeling": labeling | {"options": options}}, "seed": seed}
        stages = _run(given, frame, read_facts(paths.table), place, **told)
        made = stages.job("deliver", given["study"]).outputs["values_parquet"]
        values = read_table(made)
    found, losses_of = {}, {}
    for name, one in truth.items():
        own = values[values["policy"].eq(given["labels"][name])]
        first = own.iloc[0]
        ends = {"estimate": first["value"], "low": first["low"], "high": first["high"]}
        naive = np.average(reward[donor], weights=np.where(reward[donor] == 0, 1 / rate[rows], 1.0))
        found[given["labels"][name]] = {"truth": one, "naive": naive} | ends
        for line in own.itertuples():
            losses_of[line.estimator] = losses_of.get(line.estimator, 0.0) + (
                line.value - one
            ) ** 2 / len(truth)
    _records(job, found, len(frame), loss=losses_of)


def _of_units(drawn, unit):
    """Rows of units that are drawn so often (m,), and a number of its own for each drawn unit.

    `unit` (n,) are numbers of the units of rows, from 0.
    """
    again = np.repeat(np.arange(len(drawn)), drawn)
    order, start = np.argsort(unit, kind="stable"), np.r_[0, np.cumsum(np.bincount(unit))]
    sizes = np.diff(start)[again]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[np.repeat(start[again], sizes) + within], np.repeat(np.arange(len(again)), sizes)


def rehearse_offers(job):
    """Run a study of offers on one copy of its table; write what its offers earn, and would."""
    from counterweight.delivery.saved_offers import SavedOffers

    given, paths = job.given, job.input
    rng, seed = _draws(given)
    saved, table = SavedOffers.read(paths.model), read_table(paths.table)
    table = table.iloc[by_content(table, (), given["dataset"]["roles"].get("id"))[0]]
    table = table.assign(row=np.arange(len(table), dtype="int32")).reset_index(drop=True)
    X, column = saved.encoded(table), given["as"]["outcome"]["options"]["column"]
    offers = table[saved.facts["offer"]["column"]].to_numpy(float, na_value=np.nan)
    inside = np.clip(np.nan_to_num(offers, nan=saved.scale.low), saved.scale.low, saved.scale.high)
    seen = _seen(given, table)
    accepts = rng.random(len(X)) < saved.accepted(X, inside)
    frame = _with_outcomes(table, column, seen, accepts)
    best = saved.priced(X)
    with tempfile.TemporaryDirectory(prefix="counterweight-") as place:
        stages = _run(given, frame, read_facts(paths.table), place, seed=seed)
        made = stages.job("deliver", given["study"]).outputs
        again, records = SavedOffers.read(made["model"]), read_table(made["metrics"])
    told = again.priced(X)
    none = np.isnan(told["best_offer"])
    offers = np.where(none, saved.scale.low, told["best_offer"])
    revenue = np.where(none, 0.0, saved.scale.revenue(offers))
    earned = saved.accepted(X, offers) * revenue

    def value(metric):
        there = records[records["metric"].eq(metric) & records["part"].eq("best")]["value"]
        return float(there.iloc[0]) if len(there) else np.nan

    ends = {end: value(f"drawn_snips_{end}") for end in ("low", "high")}
    by_answers = value("drawn_snips")
    claimed = by_answers if np.isfinite(by_answers) else float(told["best_revenue"].mean())
    found = {"revenue a person": {"truth": earned.mean(), "estimate": claimed} | ends}
    # A copy may have other offers to choose from, by how it tells kinds of people apart.
    found["revenue a person"]["possible"] = np.maximum(best["best_revenue"], earned).mean()
    if np.isfinite(told["low"]).all():
        held = (told["low"] <= best["best_offer"]) & (best["best_offer"] <= told["high"])
        offers = {"truth": best["best_offer"].mean(), "estimate": told["best_offer"].mean()}
        found["best offer"] = offers | {"share": held.mean()}
    _records(job, found, len(frame))


def _seen(given, table):
    """Outcomes (n,) that the table knows: 1, 0, NaN of others."""
    _, outcome, _ = components.labeling_rules(given["rules"])
    return np.asarray(outcome(table, np.ones(len(table), bool)), float)


def _with_outcomes(table, column, seen, drawn):
    """The table with other outcomes where it has one, in its own words for yes and no."""
    words = [table[column][seen == code].iloc[0] for code in (0, 1)]
    made = pd.Series(words, dtype=table[column].dtype).take(np.asarray(drawn, int))
    return with_columns(table, {column: made.set_axis(table.index).where(~np.isnan(seen))})


def rehearse_filter(job):
    """Run a study of a filter on one copy of its table; write what its leaves tell, and say."""
    from counterweight.delivery.saved_filters import SavedFilter
    from counterweight.numerics.groups import disclosivity, imbalance, leaf_table

    given, paths = job.given, job.input
    rng, seed = _draws(given)
    table, features = read_table(paths.table), features_of(read_table(paths.columns))
    groups = given["as"]["labeling"]["options"]["group"]
    groups = [groups] if isinstance(groups, str) else list(groups)
    table = table[table[groups].notna().all(axis=1)]
    order, features = by_content(table, features, given["dataset"]["roles"].get("id"))
    table = table.iloc[order].reset_index(drop=True)
    table["row"] = np.arange(len(table), dtype="int32")
    joint = table.groupby(groups, observed=True).ngroup().to_numpy()
    chance = foretold(table[features], joint, joint.max() + 1, rng)
    drawn = (rng.random(len(table))[:, None] > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
    first = pd.Series(joint).drop_duplicates().sort_values()
    frame = table.copy()
    for name in groups:
        frame[name] = table[name].iloc[first.index].take(drawn).set_axis(frame.index)
    blocks = []
    for name in groups:
        own = table[name].iloc[first.index].astype(str)
        blocks += [chance[:, (own == one).to_numpy()].sum(axis=1) for one in sorted(own.unique())]
    Z = np.column_stack(blocks)
    with tempfile.TemporaryDirectory(prefix="counterweight-") as place:
        try:
            stages = _run(given, frame, read_facts(paths.table), place, seed=seed)
        except CounterweightError as error:
            # As on a table of one's own: no filter, and a sentence why.
            job.log.info("%s", error)
            return _records(job, {"": {"refused": 1.0}}, len(frame))
        made = stages.job("deliver", given["study"]).outputs
        saved, records = SavedFilter.read(made["filter"]), read_table(made["metrics"])
    member = saved.memberships(saved.encoder.transform(table))
    told = records[records["part"].eq("")].set_index("metric")["value"]
    mass, shares = leaf_table(member, Z)
    p = np.minimum(member @ saved.acceptance, 1.0)
    leaks = disclosivity(mass, shares, Z.mean(axis=0))
    found = {
        "": {"refused": 0.0},
        "what a leaf tells": {
            "truth": leaks,
            "estimate": told.get("disclosivity", np.nan),
            "low": 0.0,
            "high": told.get("disclosivity_at_most", np.nan),
        },
        "the change of the imbalance": {
            "truth": imbalance(p @ Z / p.sum(), saved.target)
            - imbalance(Z.mean(axis=0), saved.target),
            "estimate": told.get("imbalance_change", np.nan),
            "low": told.get("imbalance_change_low", np.nan),
            "high": told.get("imbalance_change_high", np.nan),
        },
    }
    _records(job, found, len(frame))


#: Times that everybody's outcome is drawn anew to tell whether a rule keeps its promises.
FRESH = 20


def rehearse_promises(job):
    """Run a study of promises on one copy of its table; write how far each is missed.

    A copy has half of the people of the table, on all of whom its rule is then judged.
    """
    from counterweight.delivery.saved_classifiers import KEPT, SavedClassifier
    from counterweight.models.constraints.estimator import numbers_among, texts_of
    from counterweight.numerics.rates.datasets import DataSets
    from counterweight.numerics.rates.values import constraint_values

    given, paths = job.given, job.input
    rng, seed = _draws(given)
    labels, column = read_columns(paths.labels), given["as"]["outcome"]["options"]["column"]
    first = labels["repeat"] == 0
    labels = {name: values[first] for name, values in labels.items()}
    table = read_table(paths.table).set_index("row", drop=False).loc[labels["row"]]
    table = table.reset_index(drop=True)
    seen = np.where(labels["selected"] > 0, _seen(given, table), np.nan)
    features = [name for name in features_of(read_table(paths.columns)) if name != column]
    person = given["dataset"]["roles"].get("id")
    by = table[by_content(table, {*features, *given["groups"]}, person)[1]]
    chance = foretold(by, np.nan_to_num(seen, nan=-1).astype(int), 2, rng)[:, 1]
    frame = _with_outcomes(table, column, seen, rng.random(len(by)) < chance)
    drawn = frame.iloc[np.sort(rng.choice(len(frame), len(frame) // 2, replace=False))]
    drawn = drawn.assign(row=np.arange(len(drawn), dtype="int32")).reset_index(drop=True)
    with tempfile.TemporaryDirectory(prefix="counterweight-") as place:
        try:
            facts = read_facts(paths.table) | {"drawn": True}
            stages = _run(given, drawn, facts, place, seed=seed)
        except CounterweightError as error:
            job.log.info("%s", error)
            return _records(job, {"": {"refused": 1.0}}, len(frame))
        again = SavedClassifier.read(stages.job("deliver", given["study"]).outputs["model"])
    decided = again.scored(table)["decision"].astype(float)
    members = {
        name.removeprefix("in_"): np.tile(values.astype(bool), FRESH)
        for name, values in labels.items()
        if name.startswith("in_")
    }
    fresh = (rng.random((FRESH, len(table))) < chance).ravel().astype("int8")
    told = {"members": members}
    if "deployed" in labels:
        told["deployed"] = np.tile(labels["deployed"], FRESH)
    samples = DataSets(None, fresh, **told)
    options, decided = again.facts["options"], np.tile(decided, FRESH)
    asked = texts_of(options), numbers_among(options)
    values = constraint_values(decided, decided, samples, *asked)[:, 0, 2]
    shown = {one.constraint: one.excess for one in again.promises_[::2]}
    found = {
        text: {"truth": excess, "estimate": shown[text], "low": -np.inf, "high": KEPT}
        for text, excess in zip(shown, values, strict=True)
    }
    _records(job, {"": {"refused": 0.0}} | found, len(frame))


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
