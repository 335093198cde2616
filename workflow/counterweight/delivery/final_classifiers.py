"""The final fit of a classifier: on all rows whose labels may be seen, training and test alike."""

import numpy as np

from counterweight.delivery.saved_classifiers import BLANK, SavedClassifier, columns_in
from counterweight.delivery.saved_models import traced_encoder
from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import forms_of, types_of
from counterweight.labeling.outcome_rules import classes_as_given
from counterweight.models.constraints.certificates import MOST
from counterweight.models.constraints.estimator import numbers_among, texts_of
from counterweight.models.constraints.thresholds import named_groups
from counterweight.models.training import seen_rows, settings
from counterweight.numerics.rates.datasets import DataSets
from counterweight.numerics.rates.language import RATES, rates
from counterweight.numerics.rates.values import (
    RULES,
    ConstraintCheck,
    bases,
    constraint_values,
    measure,
    plain_constraints,
    verdicts_of,
)
from counterweight.plan.components import load
from counterweight.selection.selectors import selection_probabilities
from counterweight.tables.parquet import setting_name
from counterweight.tables.study_data import StudyData, found_rows, generator
from counterweight.weighting.importance_weights import Rows, made_weights

#: What the given of a job tells of its study, kept with the model.
TOLD = ("study", "title", "method", "setting", "target", "id", "outcome")


def final_classifier(frame, columns, features, labels, outcome, given, categories=None):
    """Fit the method that a study delivers, and score every row of its table.

    `frame` is the prepared table, `columns` the column report of a table of one's own or None,
    `features` and `labels` tables of the study, `outcome` its rule. `given` has `TOLD`;
    ``methods``, ``weightings``, ``selectors`` by id; ``features`` (the recipe), ``samples``,
    ``measures``, ``seed`` and ``stream``. Gives the `SavedClassifier` and the scores, a dict of
    arrays (n,).
    """
    target, streams = given["target"], {"seed": given["seed"], "study": given["stream"]}
    data = seen_data(features, labels, frame, outcome, target, categories)
    seen = frame
    if columns is not None:
        seen = frame[["row", *columns["column"][columns["use"] == "feature"]]]
    encoder = traced_encoder(
        data, seen, given["features"], given["outcome"]["options"].get("column"), saved="classifier"
    )

    def weights_of(weighting):
        spec = given["weightings"][weighting]
        return seen_weights(data, spec, given["selectors"].get(spec["selector"]), **streams)

    model, options = fit_method(
        data, given["methods"], given["method"], given["setting"], target, weights_of, **streams
    )
    X = data.X[data.rows_of(0)]
    groups, typed = groups_of(model, options, given["samples"], frame)
    facts = {key: given[key] for key in TOLD} | {"options": options, "threshold": 0.5}
    facts |= {"model": given["methods"][given["method"]]["model"], "groups": groups}
    facts |= {"typed": typed, "rows": len(X), "labeled": int(data.role(0, "labeled").sum())}
    facts |= {"types": {}, "forms": {}, "promises": [], "measures": {}}
    rates = data.labels[0].get("keep_rate")
    stands = None if rates is None else 1 / rates  # how many rows each one stands for
    saved = SavedClassifier.of(model, X, encoder, facts, stands)
    if columns is not None:
        named = named_groups({key: options[key] for key in options if key != "groups"})
        whole = {name: one for name, one in given["samples"].items() if "most" not in one}
        saved.facts["promised"] = {"groups": {name: whole[name] for name in named if name in whole}}
        own = {*saved.columns, given["id"]}, {*columns_in(saved.facts["promised"]["groups"])}
        for key, told in (("types", types_of(columns)), ("forms", forms_of(columns))):
            for facts, names in zip((saved.facts, saved.facts["promised"]), own, strict=True):
                facts[key] = {name: value for name, value in told.items() if name in names}
        saved.facts["classes"] = _classes(data, frame, columns, given)
    scores = saved.named(frame) | saved.scored(frame)
    own = found_rows(frame["row"].to_numpy(), data.labels[0]["row"], "Run the study again.")
    decided = scores["decision"][own]
    # Who estimates the outcome tosses no coin.
    chances = (
        decided.astype(float) if getattr(model, "ESTIMATES", False) else scores["estimate"][own]
    )
    saved.facts["promises"], saved.facts["measures"] = measured_promises(
        data, target, chances, decided, options, given["measures"]
    )
    saved.facts["certificate"] = getattr(model, "certificate_", "") if texts_of(options) else ""
    saved.facts["certified"] = bool(getattr(model, "certified_", False))
    saved.facts["judged"] = [list(one) for one in getattr(model, "held_out_checks_", ())]
    saved.facts["behind"] = getattr(model, "trivial_told_", "")
    told = shown_records(model) if texts_of(options) else []
    if columns is not None:
        kind = estimate_kind(model, scores)
        told += [
            *rate_rows(data, target, options),
            *promise_records(saved.facts["promises"]),
            *(
                expected_rates(data, target, scores["estimate"][own], decided, options)
                if kind == "outcome"
                else ()
            ),
            {"metric": "estimate", "part": kind, "value": 1.0},
            {"metric": "fit_yes", "value": float(np.average(decided, weights=stands))},
            *_blank_groups(saved, frame, scores),
            *chosen_of(model),
            *cuts_of(model),
        ]
    saved.facts["shown"] = told
    return saved, scores


def _blank_groups(saved, frame, scores):
    """Share of a yes among rows whose group is blank: no promise about a group is one for them."""
    rows, yes = saved.counts_by_group(frame, scores).get(BLANK, (0, 0))
    return [{"metric": "fit_yes", "part": BLANK, "value": yes / rows, "rows": rows}] if rows else []


def estimate_kind(model, scores):
    """What the estimates of a fitted classifier are, by these `scores`.

    ``decision``: the decisions, as 1 and 0. ``outcome``: chances of the outcome. ``yes``: chances
    of a yes, by a rule that tosses a coin near the boundary.
    """
    if np.array_equal(scores["estimate"], scores["decision"]):
        return "decision"
    parts = model.models_ if getattr(model, "ESTIMATES", False) else [model]
    return "yes" if any(hasattr(type(part), "SAMPLED") for part in parts) else "outcome"


def chosen_of(model):
    """Which of several candidates is given away, as a record ``delivered_from``.

    The part is its place among them, from 0; that of what combines them comes last.
    """
    costs = getattr(model, "candidate_costs_", None)
    if costs is None or len(costs) < 3:
        return []
    taken = int(np.nanargmax(costs[:, 2]))
    return [{"metric": "delivered_from", "part": str(taken), "value": 1.0}]


def cuts_of(rule):
    """Above which score of somebody else's it is a yes, by group, as records ``cut``.

    Before them ``score_auc``, ``score_turned`` where that is below .5 beyond chance, and
    ``cut_given``, which promises have moved.
    """
    if getattr(rule, "above_", None) is None:
        return []
    auc = getattr(rule, "auc_", None)
    told = [] if auc is None else [{"metric": "score_auc", "value": auc.value}]
    if told and auc.high < 0.5:
        told.append({"metric": "score_turned", "value": 1.0})
    if getattr(rule, "above", None) is not None and np.any(rule.thresholds_):
        told.append({"metric": "cut_given", "value": float(rule.above)})
    names = np.array(named_groups(vars(rule)) if rule.threshold_groups_.size else [], object)
    return told + [
        {"metric": "cut", "part": " & ".join(names[group > 0.5]), "value": rule.above_ + float(at)}
        for group, at in zip(rule.threshold_groups_, rule.thresholds_, strict=True)
    ]


def shown_records(model):
    """What a classifier under constraints is given away with, as metric records of `delivered`.

    ``fit_cost`` is its objective beside that of the best rule that uses no columns and keeps the
    constraints (``fit_constant``, with the ``_chance`` of its yes and whether it ``_keeps`` them)
    or keeps nothing (``fit_free``), on the rows that judge, else of the fit. Of a confidence:
    ``fit_confidence``, ``fit_certified``, ``fit_held_out`` (the share), ``fit_shown`` (the least
    share by which looser constraints are shown; absent without one), ``fit_needed`` (rows that
    constraints as asked would take; absent where that says nothing), ``fit_needed_by`` (the place
    of the constraint that would take the most), ``fit_judges`` (rows), and
    ``bound_cost``: by each share in hundredths (the part) the objective of a rule that is shown to
    keep constraints looser by it, the best of those that were looked at.
    """
    one, shown, values = getattr(model, "trivial_", None), getattr(model, "shown_", None), {}
    if one is not None:
        values = {"cost": one.cost, "constant": one.rule.cost, "constant_keeps": one.rule.keeps}
        values |= {"constant_chance": one.rule.chance, "free": one.free.cost}
        values |= {"free_chance": one.free.chance, "behind": one.behind}
    if shown is not None:
        values |= {"confidence": model.confidence, "certified": model.certified_}
        values |= {"held_out": model.held_out, "judges": shown.rows, "stable": shown.stable}
        values |= {} if shown.share is None else {"shown": shown.share}
        values |= {"needed": shown.needed} if shown.needed <= MOST * shown.rows else {}
        values |= {} if shown.by is None else {"needed_by": shown.by}
    records = [{"metric": f"fit_{name}", "value": float(value)} for name, value in values.items()]
    costs = {}
    for share, cost in getattr(model, "line_", ()):
        if share is not None:
            costs[share] = min(cost, costs.get(share, cost))
    return records + [
        {"metric": "bound_cost", "part": f"{100 * share:.0f}", "value": cost}
        for share, cost in sorted(costs.items())
    ]


def rate_rows(data, target, options):
    """Records of the rows that each promised rate is a share of: ``rate_rows``, by its text."""
    found = bases(texts_of(options), DataSets(**data.sampled(0, target)))
    return [
        {"metric": "rate_rows", "part": rate, "value": float(mask.sum())}
        for rate, mask in found.items()
    ]


def expected_rates(data, target, chances, decided, options):
    """Records of promised rates of outcomes among all rows, where some have no outcome.

    A row without one counts as a yes by its chance (n,), as a no by the rest; it assumes that
    outcomes are missing at random. ``rate_expected`` stands beside ``rate_seen``, of the rows with
    an outcome, by the rate's text; ``fit_labeled`` are these rows.
    """
    one = DataSets(**data.sampled(0, target))
    seen, told = one.y >= 0, numbers_among(options)
    texts = {
        str(rate): str(rate)
        for plain in plain_constraints(texts_of(options))
        for rate in (*rates(plain.left), *rates(plain.right))
        if RATES[rate.name].labels and np.isfinite(RATES[rate.name].most)
    }
    if seen.all() or not texts:
        return []
    yes = np.where(seen, one.y == 1, chances)
    twice = DataSets(
        None,
        np.repeat([1, 0], len(yes)),
        np.append(one.weight * yes, one.weight * (1 - yes)),
        {name: np.tile(mask, 2) for name, mask in one.members.items()},
        None if one.deployed is None else np.tile(one.deployed, 2),
        np.tile(one.main, 2),
    )
    records = [{"metric": "fit_labeled", "value": float(seen.sum())}]
    for name, sets, answers in (("seen", one, decided), ("expected", twice, np.tile(decided, 2))):
        found = measure(answers.astype(float), sets, texts, told, undefined="nan")
        records += [
            {"metric": f"rate_{name}", "part": text, "value": value}
            for text, (value, _) in found.items()
        ]
    return records


def promise_records(promises):
    """Records of what came of each promise on the rows of the fit: sides and excess, by rule."""
    for place, told in enumerate(promises):
        one = ConstraintCheck(*told)
        for what in ("left", "right", "excess"):
            record = {"metric": f"promise_{what}_{one.rule}", "part": str(place // len(RULES))}
            yield record | {"value": float(getattr(one, what))}


def _classes(data, frame, columns, given):
    """What no and yes stand for in a table of one's own."""
    column, own = given["outcome"]["options"].get("column"), data.labels[0]
    if column not in frame:
        return [0, 1]
    values = frame.set_index("row")[column].loc[own["row"]].reset_index(drop=True)
    told = types_of(columns).get(column), forms_of(columns).get(column)
    return classes_as_given(values, own[f"y_{given['target']}"], (0, 1), *told)


def seen_data(features, labels, frame, outcome, target, categories=None):
    """A study's rows without any test, as `StudyData` of one repeat, 0.

    Who is labeled, and the data sets, are those of repeat 0. What the rule ``outcome(frame,
    population)`` says of rows that are not labeled is not looked at.
    """
    own = StudyData(features, labels).labels[0]
    selected = own["selected"] > 0
    rows = frame.set_index("row", drop=False).loc[own["row"]].reset_index(drop=True)
    population = np.ones(len(rows), bool) if target == "general" else ~selected
    y = np.full(len(rows), np.nan)
    y[selected] = np.asarray(outcome(rows, population), float)[selected]
    further = ("deployed", "keep_rate", "copies")
    kept = {name: values for name, values in own.items() if name[:3] == "in_" or name in further}
    role = np.where(selected, "labeled", "unlabeled").astype(object)
    told = {"repeat": own["repeat"], "row": own["row"], "role": role, "selected": own["selected"]}
    return StudyData(features, told | {f"y_{target}": y} | kept, categories=categories)


def seen_weights(data, weighting, selector, *, seed, study):
    """A table of weights of all labeled rows, by a selection model of all rows if it needs one."""
    labels, labeled, p = data.labels[0], data.role(0, "labeled"), None
    if selector:
        p, *_ = selection_probabilities(
            load("selector", selector["selector"])(**selector["options"]),
            data.X[data.rows_of(0)],
            labels["selected"],
            data.X[:0],
            generator(seed, study, 0, "selection"),
            calibration=selector["calibration"],
            n_folds=selector["folds"],
        )
        p = p[labeled]
    name = weighting["weighting"]
    rng = generator(seed, study, 0, f"weigh {name}")
    rows = Rows.of(data, 0, weighting["target"], p, rng)
    _, weight, _ = made_weights(load("weighting", name), weighting, rows)
    return {"repeat": labels["repeat"][labeled], "row": labels["row"][labeled], "weight": weight}


def fit_method(data, methods, name, setting, target, weights_of, *, seed, study):
    """Fit a method of a study to all that may be seen; the fitted classifier and its options.

    `methods` have ``model``, ``options``, ``sweep``, ``weights``, ``starts`` by id, those that the
    method begins from included; ``weights_of(weighting)`` gives a table of weights.
    """
    spec = methods[name]
    points = {setting_name(point): point for point in settings(spec["sweep"] or {})}
    options = spec["options"] | points[setting]
    component = load("model", spec["model"])
    rng = generator(seed, study, 0, f"train {spec['model']} {options.get('draw', 0)}")
    if spec["starts"]:
        starts = {
            start: fit_method(data, methods, other, "", target, weights_of, seed=seed, study=study)[
                0
            ].to_arrays()
            for start, other in spec["starts"].items()
        }
        hidden = data.X[data.positions(0, data.role(0, "unlabeled"))]
        share = data.selected_share(0)
        model = component(**options).fit(
            hidden[:1], X_unlabeled=hidden, starts=starts, selected_share=share
        )
        return model, options
    if spec["weights"]:
        data = _with_weights(data, weights_of(spec["weights"]))
    X, y, weight, given = seen_rows(component, data, 0, target)
    if hasattr(component, "SAMPLED"):
        given["samples"] = component.SAMPLED(**data.sampled(0, target))
    return component(**options).fit(X, y, weight, rng=rng, **given), options


def _with_weights(data, weights):
    features = {"row": data.rows} | dict(zip(data.names, data.X.T, strict=True))
    return StudyData(features, data.labels[0], weights, categories=data.categories)


def groups_of(model, options, samples, frame):
    """Conditions of the groups that a model asks for in new rows, and the types of their columns.

    Both are empty for models that ask for none; a group that no condition of `samples` tells is
    refused.
    """
    import pandas as pd

    if getattr(model, "GROUPED", False):
        names = options["groups"]
    else:
        names = named_groups(options) if options.get("repair") == "by_group" else ()
    if not names:
        return {}, {}
    unknown = [name for name in names if name not in samples]
    if unknown:
        raise CounterweightError(
            f"The method needs to know who of new people is in {listed(unknown)}, and no condition "
            "under samples tells it: choose a method that does not go by groups."
        )
    groups = {name: dict(samples[name]) for name in names}
    for condition in groups.values():
        condition.pop("most", None)
    typed = {
        column: "number" if pd.api.types.is_numeric_dtype(frame[column]) else "text"
        for column in columns_in(groups)
    }
    return groups, typed


def measured_promises(data, target, p, decided, options, measures=None):
    """What was promised, and what is measured, on the rows of the fit.

    `p` and `decided` (n,) are of the rows of repeat 0. Promises are the fields of
    `ConstraintCheck`, by constraint and rule; measures by name the randomised value, and that of
    the decisions, None where it is not defined.
    """
    samples = DataSets(**data.sampled(0, target))
    texts, decided = texts_of(options), np.asarray(decided, float)
    promises = []
    if texts:
        values = constraint_values(p, decided, samples, texts, numbers_among(options))
        promises = [list(one) for one in verdicts_of(values, texts, "training")]
    found = samples.measure(p, measures or {}, options, decided=decided)
    measured = {
        name: [float(value) if np.isfinite(value) else None for value in values[::-1]]
        for name, values in found.items()
    }
    return promises, measured
