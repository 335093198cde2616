"""Studies of a table of one's own with blank outcomes: an answer for every row, and for new ones.

Protocol: see `counterweight.tasks`. Nobody knows the hidden outcomes, so methods are
cross-validated on labeled rows, weighted to the rows that the answers are for. What is
delivered is fitted on all labeled rows.
"""

from counterweight.errors import CounterweightError, listed
from counterweight.plan import components
from counterweight.plan.components import assumed, declared_assumption
from counterweight.plan.jobs import Job, draws, labeling_of, protocol_of, roles_of, weighing_of
from counterweight.plan.methods import looked_up, weighted_to
from counterweight.tasks.beside_answers import (
    asked_rehearsal,
    own_collection,
    plan_collection,
    plan_copy,
    plan_exploring,
    with_collected,
)
from counterweight.tasks.beside_answers import copies as rehearsals
from counterweight.tasks.beside_answers import plan_summed_up as plan_rehearsed
from counterweight.tasks.own_studies import BOOSTED, LINEAR, check_method

WORDS = "studies of outcomes with blanks"
ASKS = "what the outcome would be where it is blank"
ROLES = ("outcome",)
#: Roles whose columns new rows need besides the features.
NEW_ROWS_NEED = ("id",)
KEYS = frozenset({"selection", "weighting", "deliver", "score", "tilt", "rehearse"})
KEYS |= {"collect", "collected", "explore"}
#: Components of another kind that fit as well.
TAKES = {"selector": "classification", "weighting": "classification", "model": "classification"}
ITEM_KEYS = {
    "selection": {"calibration": "isotonic", "folds": 5},
    "weighting": {"max_weight": 50.0},
}
#: Numbers of its own for `counterweight.plan.stages.MEMORY`, of a table that is asked once.
MEMORY = {"evaluate": (0, 17), "label": (5, 26), "select": (329, 34), "train": (241, 64)}
#: What a table of one's own asks for in parts of a study, by the names that it has there.
CARRIED = {"weighting": {"weights": "weighting"}}
PAGE = {
    "table": "counterweight.reporting.pages.blanks_page:table",
    "page": "counterweight.reporting.pages.blanks_page:PAGE",
}
__all__ = ["plan_rehearsed", "rehearsals"]
_HERE = "counterweight.tasks.missing_outcomes"
#: The weighting to a target that is not the rest of the table, and what it is called in a config.
ELSEWHERE, TARGET_KEYS = "to_target", ("table", "margins")
#: The weighting of each target, where none is asked for.
LEMMAS = {"general": "lemma1", "unlabeled": "lemma2"}
#: The model that combines other methods, and what the method is called.
STACKED, COMBINED = "stacked", "combined"
#: The largest weight, in means, where none is asked for: heavier ones cost more than they tell.
MOST_WEIGHT = 20.0
#: Options that are chosen by the labeled rows that a fit has not seen.
CHOSEN_LINEAR = {"l2": None}
CHOSEN_BOOSTED = {"max_iter": None, "max_leaf_nodes": None}
#: Rows without an outcome below which nothing is made up for.
FEW = 25
#: Metrics that a results table shows, as far as they are measured.
COLUMNS = ("auc", "log_loss", "brier", "accuracy", "calibration_ratio", "mse", "mae", "r2")
#: What is so in copies of a table, those of a rehearsal that does not say first.
SCENARIOS = ("assumed", "outcome", "hidden", "overlap")
#: Metrics of predictions that say what others say here: the calibration ratio, and accuracy.
TOLD_OTHERWISE = ("balanced_accuracy", "calibration_error")


def own_study(entry):
    """The study of a table of one's own; see `counterweight.plan.own`."""
    outcome = entry["outcome"]
    outcome = dict(outcome) if isinstance(outcome, dict) else {"column": outcome}
    if outcome.get("kind") == "number" and "positive" in outcome:
        raise CounterweightError(
            "outcome.kind is number, and positive is the value of a class: leave one of them out."
        )
    labeled = entry.get("labeled") or {}
    target = "unlabeled" if entry.get("target") == "unlabeled" else "general"
    weighting = _weighting(entry, target)
    name = weighting["weighting"]
    fits = [LINEAR | {"label": _line(outcome)} | CHOSEN_LINEAR, BOOSTED | CHOSEN_BOOSTED]
    models = [part for fit in fits for part in (fit, _weighted(fit, name))]
    # Weights that were asked for are in all that is delivered.
    parts = [one["name"] for one in models if not entry.get("weights") or "weights" in one]
    models.append({"model": STACKED, "name": COMBINED, "parts": parts})
    roles = {"outcome": outcome, "labeled": labeled}
    roles |= {key: entry[key] for key in ("weight", "time", "group") if key in entry}
    bought = own_collection(entry, roles)
    return {
        "roles": roles,
        "tilt": _tilt(entry, weighting),
        "features": {"recipe": "typed"},
        "outcome": {"rule": "given"} | outcome,
        "labeling": {"rule": "present"} | labeled,
        "targets": [target],
        "selection": [{"selector": "better_of_two"}],
        "weighting": [weighting],
        "models": models,
        "evaluation": {"protocol": "cross_validation"},
        "figures": [
            *["rehearsal"] * ("rehearse" in entry),
            *bought.pop("figures"),
            "weights",
            "selection",
        ],
    } | bought


def _weighted(fit, name):
    """The same model with the weights of a name."""
    told = {"name": f"{fit['name']}-{name}", "label": f"{fit['label']}, weighted"}
    return fit | told | {"weights": name}


def _line(outcome):
    """What the linear model is called, as far as the outcome is told."""
    if outcome.get("kind") == "number":
        return "Linear regression"
    told = outcome.get("kind") == "class" or "positive" in outcome
    return "Logistic regression" if told else "Linear model"


def _tilt(entry, weighting):
    """How much the odds of rows without an outcome differ, as it is asked for; None if not."""
    asked = entry.get("tilt")
    if asked is None:
        return None
    if len(asked) != 1:
        raise CounterweightError(
            "tilt says one thing of the rows without an outcome: rate (that of the outcome 1), times "
            "(their odds over those of like rows that have one) or by: em."
        )
    if isinstance(entry.get("target"), dict):
        raise CounterweightError(
            "tilt is for rows of the table without an outcome, and target names others: leave one "
            "of the two out."
        )
    if isinstance(entry["outcome"], dict) and entry["outcome"].get("kind") == "number":
        raise CounterweightError(
            "tilt is for an outcome of two classes, and outcome.kind is number: leave tilt out."
        )
    for spec in [weighting, *entry.get("study", {}).get("weighting", [])]:
        if components.declared("weighting", spec["weighting"], "RATIO") == "outcome":
            raise CounterweightError(
                f"tilt and the weights {spec['weighting']} stand together, and both say how rows "
                "without an outcome differ from like rows that have one, which would be counted "
                "twice: leave one of the two out."
            )
    return asked


def _weighting(entry, target):
    """The weighting of a study: the lemma of its target, or what the table's ``weights`` name."""
    chosen = entry.get("weights")
    if isinstance(entry.get("target"), dict):
        if chosen:
            raise CounterweightError(
                "weights cannot be combined with a target of its own, whose weights go by "
                "target.method: leave one of the two out."
            )
        _refuse_roles(entry)
        if "weighting" in entry.get("study", {}):
            raise CounterweightError(
                "study.weighting takes the place of the weights to target, without which answers "
                f"are not for those that target names: leave one of the two out. Models call the "
                f"weights to target {ELSEWHERE} (weights: {ELSEWHERE})."
            )
        return {"weighting": ELSEWHERE} | _elsewhere(entry["target"])
    if not chosen:
        return {"weighting": LEMMAS[target], "max_weight": MOST_WEIGHT}
    chosen = {"weighting": chosen} if isinstance(chosen, str) else dict(chosen)
    asked = "target" in components.options("weighting", chosen["weighting"])
    return ({"target": target} if asked else {}) | chosen


def _refuse_roles(entry):
    """Refuse a target that is told by the outcome or the id, which say nothing of new people."""
    outcome, told = entry["outcome"], entry["target"]
    outcome = outcome["column"] if isinstance(outcome, dict) else outcome
    for name in [*told.get("margins", {}), *told.get("columns", [])]:
        if name in (outcome, entry.get("id")):
            raise CounterweightError(
                f"target goes by the column {name!r}, which is the outcome or the id: name columns "
                "that are known of everybody."
            )


def _elsewhere(told):
    """A target of its own as options of its weighting; levels of margins as texts."""
    if len(told.keys() & {*TARGET_KEYS}) != 1:
        raise CounterweightError(
            "target names a table or margins, one of the two: a file of the people that answers "
            "are for, or shares and means by column."
        )
    if "margins" in told and told.get("method") in ("cbps", "ipw"):
        raise CounterweightError(
            f"target.method is {told['method']}, which compares people with people, and margins "
            "are of nobody: use rake or poststratify, or name a table."
        )
    for column, margin in told.get("margins", {}).items():
        if isinstance(column, tuple):
            raise CounterweightError(
                f"target.margins goes by {' and '.join(map(str, column))} together, and margins of "
                "a study are of one column each: make a column of both, or use Sample.adjust."
            )
        if margin.keys() == {"mean", "sd"}:
            raise CounterweightError(
                f"target.margins.{column} gives an sd beside the mean, and weights meet means "
                "alone: leave it out, or name a table of such people under target.table."
            )
        shares = [share for level, share in margin.items() if level != "mean"]
        total = sum(shares)
        # Shares sum to 1, and totals are larger than that each.
        wrong = total <= 0 or (max(shares) <= 1 and abs(total - 1) > 0.02) if shares else False
        if wrong or min(shares, default=0) < 0:
            raise CounterweightError(
                f"target.margins.{column} has {listed(shares)}, which are neither shares that sum "
                "to 1 nor totals: correct them."
            )
    margins = {
        column: {str(level): share for level, share in margin.items()}
        for column, margin in told.get("margins", {}).items()
    }
    return told | ({"margins": margins} if margins else {})


def complete(name, study, plan):
    columns = [*COLUMNS, *(one for one in _further(plan) if one not in COLUMNS)]
    study |= {"repeats": 1, "test_share": 0.0, "columns": columns}
    # Its name draws nothing: see `counterweight.labeling.column_statistics.content_order`.
    study["stream"] = "missing outcomes"
    if len(study["targets"]) > 1:
        raise CounterweightError(
            f"studies.{name}.targets names two populations: answers are for one, general or "
            "unlabeled."
        )
    _weigh_to_the_target(study)
    if study.get("rehearse") and any(one["weighting"] == ELSEWHERE for one in study["weighting"]):
        raise CounterweightError(
            f"studies.{name}.rehearse is for answers about the rows of the table, and target names "
            "other people: leave one of the two out."
        )
    study["rehearse"] = asked_rehearsal(name, study, plan, SCENARIOS, 2)


def _weigh_to_the_target(study):
    """Have weights to those that answers are for among those of a study: what is told goes by them.

    A weighting with an option `target` gets the study's; where none leads there, the lemma does.
    """
    (target,) = study["targets"]
    items = [
        {"target": target} | item
        if "target" in components.options("weighting", item["weighting"])
        else item
        for item in study["weighting"]
    ]
    led = {weighted_to(item["weighting"], item) for item in items}
    if items and not led & {target, ""}:
        items.append({"weighting": LEMMAS[target], "max_weight": MOST_WEIGHT})
    study["weighting"] = items


def _further(plan):
    """Metrics of predictions that a config asks for."""
    return [metric for metric in plan["metrics"] if metric not in TOLD_OTHERWISE]


def finish(name, study):
    if study.get("deliver"):
        check_method(f"studies.{name}.deliver.method", study["deliver"]["method"], study["methods"])


def _rows(study, at):
    """Files that hold the rows, and what is told of their encoding."""
    inputs = {"features": at.features, "columns": at.columns, "labels": at.labels}
    return inputs, {"max_levels": study["features"]["options"]["max_levels"]}


def _data(job):
    """The rows of a job, as `_rows` planned them."""
    from counterweight.labeling.missing_outcomes import BlankData

    files = job.input.features, job.input.columns, job.input.labels
    return BlankData.read(*files, job.given["max_levels"], getattr(job.input, "weights", None))


def _population(plan, study, at, weighting):
    """Files of a target that is not the rest of the table, and how they are read."""
    from pathlib import Path

    from counterweight.tables.table_reader import parts_of

    path = weighting["options"]["table"]
    files = [path] if path else []
    if path and Path(path).is_dir():
        files = [str(part) for part, _ in parts_of(path, "correct the path under target.table")]
    return {"population": files}, {"reading": plan["datasets"][study["dataset"]].get("reading", {})}


def _to_the_target(study):
    """The weighting to those that answers are for, by id; None where the study has none."""
    (target,), known = study["targets"], study["weightings"]
    own = [name for name, one in known.items() if one["target"] in (target, "")]
    return min(own, key=lambda name: known[name]["weighting"] != ELSEWHERE, default=None)


def _target_weights(study, at):
    """Weights to the target population, or [] where the study has none."""
    return at.weights(name) if (name := _to_the_target(study)) else []


def _apart(study):
    """Whether new rows are told otherwise than rows without one; see `OutOfFold.apart`."""
    spec = study["weightings"].get(_to_the_target(study))
    ratio = spec and components.declared("weighting", spec["weighting"], "RATIO")
    return {"apart": True} if ratio == "outcome" and study["targets"] == ["general"] else {}


def _models(study):
    """Look-ups of all models of a study, one of which is delivered."""
    return tuple({use: 0 for spec in study["methods"].values() for use in looked_up(spec)})


def plan_label(plan, study, at):
    parts, uses = labeling_of(study)
    given = parts | {"roles": {}} | roles_of(plan, study) | draws(plan, study)
    given["target"] = study["targets"][0]
    uses = tuple(pair for pair in uses if pair[0] != "features")
    inputs = {"table": at.table, "columns": at.columns}
    return Job(f"{_HERE}:label", inputs, given, uses)


def label(job):
    import numpy as np

    from counterweight.labeling.columns import copies_of, features_of, recorded_columns, types_of
    from counterweight.labeling.missing_outcomes import (
        LABELS,
        describe_blanks,
        label_blanks,
        largest_outcome,
    )
    from counterweight.tables.parquet import read_table, write_table
    from counterweight.tables.study_data import generator

    given, frame = job.given, read_table(job.input.table)
    columns, copies = recorded_columns(job), copies_of(job, frame)
    features, labels, truth, binary, names = label_blanks(
        frame,
        types_of(columns),
        features_of(columns),
        components.configured("outcome", given["outcome"]),
        components.configured("labeling", given["labeling"]),
        given["roles"],
        generator(given["seed"], given["stream"], 0, "folds"),
        copies,
    )
    if given["target"] == "unlabeled" and labels["selected"].all():
        raise CounterweightError(
            "target is unlabeled, and every row of the table has an outcome: there is nobody to "
            "answer for. Leave target out, or name the people that answers are for (target: "
            "{table: people.csv}), or give the table with the rows that have none."
        )
    write_table(job.output.features, features)
    told = tuple((name, "int16") for name in labels if name.startswith("fold_"))
    asked, known = given["outcome"]["options"]["most"], labels["y"][labels["selected"] == 1]
    if not binary and (most := largest_outcome(known, asked)) is not None:
        labels["most"], told = np.full(len(labels["y"]), most), (*told, ("most", "float64"))
        job.log.info("No outcome is taken to be above %g.", most)
    write_table(job.output.labels, labels, LABELS + told)
    write_table(job.output.truth, truth)
    records = describe_blanks(labels, truth, binary, copies is not None)
    sizes = {record["metric"]: record["value"] for record in records}
    told = sizes["rows_labeled"], sizes["rows_unlabeled"]
    job.log.info("%d rows with an outcome, %d without", *told)
    return records


def plan_select(plan, study, selector, at):
    spec = study["selectors"][selector]
    inputs, told = _rows(study, at)
    uses = (("selector", spec["selector"]),)
    return Job(f"{_HERE}:select", inputs, told | {"selector": spec} | draws(plan, study), uses)


def select(job):
    from counterweight.selection.selectors import selected

    return selected(job, _data(job), FEW)


def plan_weigh(plan, study, weighting, at):
    spec = study["weightings"][weighting]
    inputs, told = _rows(study, at)
    if spec["weighting"] == ELSEWHERE:
        files, reading = _population(plan, study, at, spec)
        given = told | reading | {"weighting": spec}
        inputs |= files | {"table": at.table}
        uses, own = (("weighting", ELSEWHERE),), tuple(files["population"])
        return Job(f"{_HERE}:weigh_to_target", inputs, given, uses, own=own)
    inputs["selection"] = at.selection(spec["selector"]) if spec["selector"] else []
    given, uses = weighing_of(plan, study, weighting)
    return Job(f"{_HERE}:weigh", inputs, told | given, uses)


def weigh(job):
    from counterweight.weighting.importance_weights import weighed

    data = _data(job)
    return weighed(job, data, data.weight, FEW)


def weigh_to_target(job):
    import numpy as np

    from counterweight.tables.parquet import write_table
    from counterweight.weighting.to_target import describe_to_target, weighted_to_target

    spec = job.given["weighting"]
    data = _data(job)
    adjusted, raw, *_ = weighted_to_target(data, job.input.table, job.given["reading"], spec)
    for line in adjusted.summary().split("\n"):
        job.log.info(line)
    weights = adjusted.weights.to_numpy()
    ids = {"repeat": np.zeros(len(weights), "int16"), "row": data.rows[data.labeled]}
    write_table(job.output.table, ids | {"weight": weights / weights.mean()})
    described = describe_to_target(adjusted, raw)
    return [{"repeat": 0, "target": spec["target"]} | record for record in described]


def plan_train(plan, study, method, at):
    spec = study["methods"][method]
    if spec["model"] == STACKED:
        return _plan_stacked(study, spec, at)
    inputs, told = _rows(study, at)
    inputs["weights"] = at.weights(spec["weights"]) if spec["weights"] else []
    given = told | {"method": {key: spec[key] for key in ("model", "options", "sweep")}}
    given |= {"targets": study["targets"]} | draws(plan, study)
    return Job(f"{_HERE}:train", inputs, given, looked_up(spec))


def train(job):
    """Repeat 0 is the fit to all labeled rows, each further one tests a fold."""
    from counterweight.models.score_models import check_fits_blanks
    from counterweight.models.training import cross_fitted

    data = _data(job)
    check_fits_blanks(job.given["method"]["model"], job.given["targets"][0], data.binary)
    cross_fitted(job, data.cross_validated())


def _plan_stacked(study, spec, at):
    """What combines other methods: their predictions, and the weights that they are judged by."""
    inputs = {
        "labels": at.labels,
        "weights": _target_weights(study, at),
        "predictions": [at.predictions(part) for part in spec["options"]["parts"]],
    }
    given = {"target": study["targets"][0], "parts": spec["options"]["parts"]} | _apart(study)
    return Job(f"{_HERE}:train_stacked", inputs, given, looked_up(spec))


def train_stacked(job):
    """The factors of the parts, fitted to all draws; predictions are by those of other folds."""
    from counterweight.labeling.missing_outcomes import OutOfFold
    from counterweight.models.score_models import write_stacked

    tested = OutOfFold.read(job.input.labels, job.input.weights, job.input.predictions)
    write_stacked(job, tested)


def plan_evaluate(plan, study, method, at):
    parts, uses = protocol_of(study)
    inputs = {
        "predictions": at.predictions(method),
        "labels": at.labels,
        "weights": _target_weights(study, at),
    }
    given = {"target": study["targets"][0], "metrics": _further(plan)}
    uses += tuple(("metric", metric) for metric in given["metrics"])
    return Job(f"{_HERE}:evaluate", inputs, parts | given, uses)


def evaluate(job):
    from counterweight.labeling.missing_outcomes import OutOfFold

    tested = OutOfFold.read(job.input.labels, job.input.weights, [job.input.predictions])
    metrics = {name: components.load("metric", name) for name in job.given["metrics"]}
    protocol = components.configured("protocol", job.given["protocol"])
    return protocol(tested, tested.draws[0], metrics, target=job.given["target"])


def plan_collect(plan, study, at):
    if study["explore"]:
        return plan_exploring(plan, study, at, *_fits(plan, study, at))
    return plan_collection(plan, study, at, *_fits(plan, study, at)) if study["collect"] else None


def _fits(plan, study, at):
    """Files and settings of what is delivered before anything is told of it, and its look-ups."""
    methods = {
        name: {key: spec[key] for key in ("model", "options", "label")}
        | {"weights": bool(spec["weights"]), "assumes": _assumed(study, spec)}
        for name, spec in study["methods"].items()
        if spec["reported"]
    }
    inputs, told = _rows(study, at)
    inputs |= {
        "table": at.table,
        "weights": _target_weights(study, at),
        "predictions": [at.predictions(method) for method in methods],
        "models": [at.model(method) for method in methods],
    }
    parts, uses = labeling_of(study)
    given = told | _apart(study)
    given |= {
        "study": study["id"],
        "methods": methods,
        "chosen": (study.get("deliver") or {}).get("method"),
        "target": study["targets"][0],
        "outcome": parts["outcome"],
        "time": plan["datasets"][study["dataset"]].get("roles", {}).get("time"),
    }
    uses = tuple(pair for pair in uses if pair[0] == "outcome") + _models(study)
    return inputs, given, uses


def plan_deliver(plan, study, at):
    inputs, given, uses = _fits(plan, study, at)
    inputs["selection"] = [at.selection(selector) for selector in study["selectors"]]
    given |= {
        "id": plan["datasets"][study["dataset"]].get("roles", {}).get("id"),
        "tilt": study["tilt"],
        "influence": _influence(study),
    }
    given |= {"thinned": True} if _thinned(study) and not _counted(study) else {}
    elsewhere = next(
        (spec for spec in study["weightings"].values() if spec["weighting"] == ELSEWHERE), None
    )
    if elsewhere:
        files, reading = _population(plan, study, at, elsewhere)
        inputs |= files
        given |= reading | {"elsewhere": elsewhere}
    outputs = {
        "model": f"{at.folder}/model.parquet",
        "scores": f"{at.folder}/scores.parquet",
        "csv": f"{at.folder}/scores.csv",
        "metrics": at.metrics("delivered"),
    }
    given, own = given | draws(plan, study), tuple(inputs.get("population", ()))
    whose = "deliver_tilted" if study["tilt"] else "deliver_elsewhere" if elsewhere else "deliver"
    modules = [given["influence"]["function"].split(":")[0]] if given["influence"] else ()
    job = Job(f"{_HERE}:{whose}", inputs, given, uses, outputs, own=own, modules=tuple(modules))
    return with_collected(plan, study, at, job) if study["collected"] else job


def _assumed(study, spec):
    """What answers of a method rest on: what its model does, or the weights to the target."""
    weighting = study["weightings"].get(_to_the_target(study), {"weighting": None, "options": {}})
    pair = declared_assumption(weighting["weighting"], spec["model"])
    return assumed(pair, weighting["options"], "{whom}")


def _thinned(study):
    """Whether the table is a log that kept a part of its rows of outcome 0."""
    return components.declared("labeling", study["labeling"]["rule"], "KEPT", False)


def _counted(study):
    """Whether it is known how many rows that log had: its mean then has no chance."""
    return _thinned(study) and bool(study["labeling"]["options"]["rows_before"])


def _influence(study):
    """The function that knows the error of the weights to the target themselves; None without."""
    spec = study["weightings"].get(_to_the_target(study))
    function = spec and components.declared("weighting", spec["weighting"], "INFLUENCE")
    if not function:
        return None
    options = {key: told for key, told in spec["options"].items() if key != "target"}
    mean = components.declared("weighting", spec["weighting"], "MEAN")
    told = {"mean": mean} if mean else {}
    return {"function": function, "options": options | {"most": spec["max_weight"]}} | told


def deliver_tilted(job):
    from counterweight.models.score_tilt import fitted_tilt

    deliver(job, tilted=fitted_tilt)


def deliver_elsewhere(job):
    from counterweight.weighting.to_target import mean_elsewhere

    deliver(job, elsewhere=mean_elsewhere)


def deliver_collected(job):
    from counterweight.delivery.collected_answers import CollectedAnswers

    deliver(job, collected=CollectedAnswers)


def deliver(job, **further):
    from counterweight.delivery.final_scores import final_scores
    from counterweight.tables.parquet import metrics_table, write_table
    from counterweight.tables.saved_form import write_answers

    saved, scores, records = final_scores(job, **further)
    saved.facts["answers"] = _shown(job, saved.facts, records)
    saved.save(job.output.model)
    write_answers(job.output.scores, job.output.csv, scores)
    write_table(job.output.metrics, metrics_table(job.given["study"], "delivered", records))


#: Measures of the model that a notebook shows.
_SHOWN = {"auc": "AUC", "r2": "R²"}
_WHOSE = {"general": "of everyone", "unlabeled": "of those without an outcome"}


def _shown(job, facts, records):
    """What a notebook shows of the fit: the answer, and how well the model tells outcomes."""
    from counterweight.evaluation.cross_validation import over_draws
    from counterweight.labeling.missing_outcomes import OutOfFold
    from counterweight.labeling.outcome_rules import value_in_words

    given, paths, binary, ends = job.given, job.input, bool(facts["names"]), ("", "low", "high")

    def of(metric, part):
        same = (one for one in records if (one["metric"], one.get("part") or "") == (metric, part))
        return {one.get("variable", ""): one["value"] for one in same}

    delivered = next((one["part"] for one in records if one["metric"] == "delivered"), None)
    ahead, far = of("auc_doubly_robust", delivered), any(of("unsupported_headline", "").values())
    what, whose = facts["outcome"], _WHOSE.get(given["target"], given["target"])
    what = f"{what} = {value_in_words(facts)}" if binary else f"mean {what}"
    what += f", {'all rows of the log' if given.get('thinned') else whose}" + ", bounds" * far
    answer = of("target_rate" if binary else "target_mean", "")
    told = {what: [binary, *(answer.get(end, float("nan")) for end in ends)]}
    if ahead:
        told["AUC to expect without an outcome"] = [False, *map(ahead.get, ends)]
    if not (facts["tilt"] or facts.get("collected")):
        tested = OutOfFold.read(paths.labels, paths.weights, paths.predictions)
        drawn = tested.draws[list(given["methods"]).index(delivered)]
        for name, known in over_draws(tested, drawn, only=(*_SHOWN,)).items():
            told[f"{_SHOWN[name]}, cross-validated"] = [False, known.value, known.low, known.high]
    return told


def plan_apply(plan, study, at):
    if not study["score"]:
        return None
    inputs = {"model": f"{at.folder}/model.parquet", "score": study["score"]}
    outputs = {"scores": f"{at.folder}/new_scores.parquet", "csv": f"{at.folder}/new_scores.csv"}
    dataset = plan["datasets"][study["dataset"]]
    given = {"study": study["id"], "reading": dataset.get("reading", {})}
    own = (study["score"],)
    tilted = study["tilt"] or study["collected"]
    modules = ("counterweight.models.score_tilt",) if tilted else ()
    return Job(f"{_HERE}:apply", inputs, given, _models(study), outputs, own=own, modules=modules)


def apply(job):
    from counterweight.delivery.saved_scores import SavedScores

    saved, paths = SavedScores.read(job.input.model), (job.output.scores, job.output.csv)
    rows = saved.score_file(str(job.input.score), *paths, job.given["reading"])
    job.log.info("%d new rows scored", rows)


def plan_rehearse(plan, study, copy, at):
    inputs = {
        "table": at.table,
        "columns": at.columns,
        "labels": at.labels,
        "selection": [at.selection(selector) for selector in study["selectors"]],
        "scores": f"{at.folder}/scores.parquet",
        "model": f"{at.folder}/model.parquet",
        "metrics": at.metrics("delivered") if copy.startswith("hidden_") else [],
    }
    return plan_copy("counterweight.rehearsal:rehearse", plan, study, copy, at, inputs)


def shown(study):
    weightings = study["weightings"].values()
    elsewhere = [spec for spec in weightings if spec["weighting"] == ELSEWHERE]
    return {
        "whom": "those that answers are for" if elsewhere else "",
        "people": any(spec["options"]["table"] for spec in elsewhere),
        "thinned": _thinned(study),
        "counted": _counted(study),
        "delivered": {"method": (study.get("deliver") or {}).get("method")},
        "tilt": study["tilt"],
        "mixed": bool(_apart(study)),
        "at_random": all(
            declared_assumption(spec["weighting"]) == declared_assumption() for spec in weightings
        ),
    }
