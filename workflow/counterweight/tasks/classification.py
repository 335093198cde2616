"""Studies of classifiers: outcomes of which some are missing, or promised rates.

Protocol: see `counterweight.tasks`.
"""

from counterweight.errors import CounterweightError, listed
from counterweight.plan import components
from counterweight.plan.jobs import Job, draws, labeling_of, protocol_of, roles_of, weighing_of
from counterweight.plan.methods import looked_up, same_fits
from counterweight.tasks.beside_answers import asked_rehearsal, plan_copy
from counterweight.tasks.beside_answers import copies as rehearsals
from counterweight.tasks.beside_answers import plan_summed_up as plan_rehearsed
from counterweight.tasks.own_studies import check_method
from counterweight.tasks.own_studies import of_classifiers as own_study

WORDS = "studies of classifiers"
ASKS = "decisions that keep promises about rates"
ROLES = ("outcome", "promises")
#: Roles whose columns new rows need besides the features.
NEW_ROWS_NEED = ("id",)
#: Another question of such a study.
ALSO = {("outcome", "keep_rate"): "chances, learned from a log that dropped zeros"}
KEYS = frozenset(
    {"selection", "weighting", "samples", "test_rows", "keep_rate", "paired_with", "user"}
    | {"deliver", "score", "rehearse"}
)
ITEM_KEYS = {
    "selection": {"calibration": "isotonic", "folds": 5},
    "weighting": {"max_weight": 50.0},
    "models": {"draws": 1},
}
#: Metrics that a results table shows unless told otherwise.
COLUMNS = ("accuracy", "balanced_accuracy", "auc", "log_loss", "brier")
#: What a table of one's own asks for in parts of a study, by the names that it has there.
CARRIED = {
    "models": {
        "promises": "constraints",
        **{key: key for key in ("confidence", "held_out", "repair")},
        "slack": "",
    },
    "evaluation": {"top": "top"},
}
PAGE = {
    "table": "counterweight.reporting.pages.selection_page:table",
    "page": "counterweight.reporting.pages.selection_page:PAGE",
}
__all__ = ["own_study", "plan_rehearsed", "rehearsals"]
_HERE = "counterweight.tasks.classification"


def complete(name, study, plan):
    study.setdefault("columns", [metric for metric in COLUMNS if metric in plan["metrics"]])
    absent = [metric for metric in study["columns"] if metric not in plan["metrics"]]
    if absent:
        raise CounterweightError(
            f"studies.{name}.columns shows {listed(absent)}, which metrics does not list: add it "
            "to metrics, or leave it out of columns."
        )
    protocol = study["evaluation"]["protocol"]
    if study["keep_rate"] < 1 and not components.declared("protocol", protocol, "WEIGHS", False):
        raise CounterweightError(
            f"studies.{name}.keep_rate cannot be combined with the protocol "
            f"{protocol}, which rejects rows itself: leave one of them out."
        )
    if study["keep_rate"] < 1 and components.declared(
        "labeling", study["labeling"]["rule"], "KEPT", False
    ):
        raise CounterweightError(
            f"studies.{name}.keep_rate rejects rows, and the labeling rule "
            f"{study['labeling']['rule']} is for rows of which some are lost: leave the study's "
            "keep_rate out."
        )
    if study["user"] and not components.declared("protocol", protocol, "BY_USER", False):
        raise CounterweightError(
            f"studies.{name}.user is for the protocol metrics, and this one has {protocol}: leave "
            "user out, or choose metrics."
        )
    study["rehearse"] = asked_rehearsal(name, study, plan, ("assumed",))
    if study["rehearse"] and (protocol != "rates" or _thinned(study)):
        raise CounterweightError(
            f"studies.{name}.rehearse is for promises about tables whose rows are all there: leave "
            "rehearse out."
        )


def finish(name, study):
    from counterweight.plan.measures import check_rates

    check_rates(name, study)
    _check_against(name, study)
    if study.get("deliver"):
        _check_delivered(name, study)
    swept = any(_swept_by_gamma(study, method) for method in study["methods"])
    if swept and "gamma" not in study["figures"]:
        study["figures"] = [*study["figures"], "gamma"]


def _thinned(study):
    """Whether test rows stand for others that were dropped."""
    rule = study["labeling"]["rule"]
    return study["keep_rate"] < 1 or components.declared("labeling", rule, "KEPT", False)


def _check_against(name, study):
    """Refuse a comparison with what is no method, or with several at once."""
    other, methods = study["evaluation"]["options"].get("against"), study["methods"]
    where = f"studies.{name}.evaluation"
    if not other:
        if study["evaluation"]["options"].get("segment"):
            raise CounterweightError(
                f"{where}.segment says where methods are compared, but not with which: name a "
                "method as against."
            )
        return
    check_method(f"{where}.against", other, methods)
    if methods[other]["sweep"]:
        raise CounterweightError(
            f"{where}.against is {other!r}, which has several settings: name a method without a "
            "sweep."
        )


def _swept_by_gamma(study, method):
    """Whether rows without a label are swept by Γ, with the chances of this method."""
    declared, spec = components.declared, study["methods"][method]
    rule, protocol = study["labeling"]["rule"], study["evaluation"]["protocol"]
    swept = declared("protocol", protocol, "SWEEPS_GAMMA", False) and study["keep_rate"] == 1
    incomplete = not declared("labeling", rule, "COMPLETE", False)
    return swept and incomplete and not (spec["oracle"] or spec["sweep"])


def _check_delivered(name, study):
    """Refuse to deliver what nobody could fit or apply."""
    given, methods = study["deliver"], study["methods"]
    where = f"studies.{name}.deliver"
    if "method" in given:
        given = study["deliver"] = given | {"among": []}
    else:
        among = given.get("among") or []
        if not among:
            raise CounterweightError(f"{where} needs a method, or methods under among.")
        given = study["deliver"] = given | {"method": among[0], "among": among}
    for method in dict.fromkeys((given["method"], *given["among"])):
        check_method(f"{where}.method", method, methods)
        known = _settings(methods[method])
        if given.get("setting", "") not in known:
            raise CounterweightError(
                f"{where}.setting is {given.get('setting', '')!r}, which {method} does not "
                f"have: choose one of {listed(map(repr, known), 30)}."
            )
    for method in _involved(study):
        weighting = study["weightings"].get(methods[method]["weights"])
        chosen = weighting and study["selectors"].get(weighting["selector"])
        if methods[method]["oracle"] or (chosen and chosen["oracle"]):
            raise CounterweightError(
                f"{where}.method is {given['method']!r}, which sees what is hidden elsewhere: "
                "choose a method that goes by what may be seen."
            )
    if study["keep_rate"] < 1:
        raise CounterweightError(
            f"{where} cannot be combined with keep_rate, which rejects rows of the test: leave one "
            "of them out."
        )


def _settings(method):
    """Names of the settings of a method, from its sweep; the one setting "" without any."""
    import itertools

    from counterweight.tables.parquet import setting_name

    sweep = method["sweep"] or {}
    points = itertools.product(*sweep.values())
    return [setting_name(dict(zip(sweep, point, strict=True))) for point in points]


def _involved(study):
    """The methods that may be delivered, and those that they begin from."""
    given = study["deliver"]
    asked = dict.fromkeys((given["method"], *given["among"]))
    return [one for name in asked for one in (name, *study["methods"][name]["starts"].values())]


def plan_label(plan, study, at):
    parts, uses = labeling_of(study)
    rule = study["labeling"]["rule"]
    given = {
        "repeats": study["repeats"],
        "test_share": study["test_share"],
        "targets": study["targets"],
        "keep_rate": study["keep_rate"],
        "complete": components.declared("labeling", rule, "COMPLETE", False),
        "informed": components.declared("labeling", rule, "FEATURES", False),
        "samples": study["samples"],
        "test_rows": study["test_rows"],
        "user": study["user"],
    } | roles_of(plan, study)
    if "roles" in given:
        told = (_promises(study, method) for method in study["methods"])
        given["promises"] = list(
            dict.fromkeys(text for one in told if one for text in one["texts"])
        )
    inputs = {"table": at.table, "known": at.known, "columns": at.columns}
    return Job(f"{_HERE}:label", inputs, parts | given | draws(plan, study), uses)


def label(job):
    from counterweight.labeling.columns import copies_of, refuse_blank_scores
    from counterweight.labeling.split import (
        describe_labels,
        labeled_repeats,
        prepared_rows,
        write_repeats,
    )

    given = job.given
    frame, features, *rest = prepared_rows(job, job.input.known, ordered=True)
    if scores := given.get("roles", {}).get("scores"):
        refuse_blank_scores(frame, scores)
    asked = (
        "seed",
        "repeats",
        "test_share",
        "targets",
        "keep_rate",
        "complete",
        "informed",
        "samples",
        "test_rows",
        "user",
    )
    repeats = labeled_repeats(
        frame,
        features,
        *rest,
        study=given["stream"],
        promises=given.get("promises", ()),
        copies=None if given["user"] else copies_of(job, frame),
        **{name: given[name] for name in asked},
    )
    dropped = len(frame) - len(features)
    job.log.info("%d rows kept, %d left out by the recipe", len(features), dropped)
    rule = given["labeling"]
    of_log = components.declared("labeling", rule["name"], "KEPT", False)
    before = rule["options"]["rows_before"] if of_log else None
    told = write_repeats(
        job, features, repeats, lambda *part: describe_labels(*part, dropped, before)
    )
    return [record for part in told for record in part]


def plan_select(plan, study, selector, at):
    spec = study["selectors"][selector]
    inputs = {
        "features": at.features,
        "labels": at.labels,
        "truth": at.truth if spec["oracle"] else [],
    }
    given = {"selector": spec} | draws(plan, study)
    return Job(f"{_HERE}:select", inputs, given, (("selector", spec["selector"]),))


def select(job):
    from counterweight.selection.selectors import selected
    from counterweight.tables.study_data import StudyData

    return selected(
        job, StudyData.read(job.input.features, job.input.labels, truth=job.input.truth)
    )


def plan_weigh(plan, study, weighting, at):
    spec = study["weightings"][weighting]
    inputs = {
        "features": at.features,
        "labels": at.labels,
        "selection": at.selection(spec["selector"]) if spec["selector"] else [],
    }
    return Job(f"{_HERE}:weigh", inputs, *weighing_of(plan, study, weighting))


def weigh(job):
    from counterweight.tables.study_data import StudyData
    from counterweight.weighting.importance_weights import weighed

    return weighed(job, StudyData.read(job.input.features, job.input.labels))


def plan_train(plan, study, method, at):
    spec = study["methods"][method]
    inputs = {
        "features": at.features,
        "labels": at.labels,
        "weights": at.weights(spec["weights"]) if spec["weights"] else [],
        "starts": [at.model(start) for start in spec["starts"].values()],
        "same_fits": [
            path
            for one in same_fits(study, method)
            for path in (at.predictions(one), at.model(one))
        ],
        "truth": at.truth if spec["oracle"] else [],
    }
    given = {
        "method": {key: spec[key] for key in ("model", "options", "sweep")},
        "starts": list(spec["starts"]),
        "repeats": spec["repeats"],
        "targets": study["targets"],
        "measures": study["evaluation"]["options"].get("measures"),
        "promises": _promises(study, method),
    }
    if spec["oracle_rows"] == "labeled":
        given["as_many_rows"] = True
    return Job(f"{_HERE}:train", inputs, given | draws(plan, study), looked_up(spec))


def train(job):
    from counterweight.models.training import train_study
    from counterweight.tables.study_data import StudyData

    told = {"weights": job.input.weights, "truth": job.input.truth}
    data = StudyData.read(job.input.features, job.input.labels, **told)
    if job.given.get("as_many_rows"):
        data.drawn_by = job.given["seed"], job.given["stream"]
    train_study(job, data)


def _promises(study, method):
    """What a method is held to, where the study's protocol looks at that."""
    from counterweight.numerics.rates.values import constraints_requested

    protocol = study["evaluation"]["protocol"]
    looks = components.declared("protocol", protocol, "CONSTRAINTS", False)
    return constraints_requested(study, method) if looks else None


def plan_evaluate(plan, study, method, at):
    parts, uses = protocol_of(study)
    inputs = {
        "predictions": at.predictions(method),
        "model": at.model(method),
        "truth": at.truth,
        "rates": at.labels if _thinned(study) else [],
        "labels": [],
    }
    starts, begun = study["methods"][method]["starts"], []
    if study["keep_rate"] == 1:
        begun = [target for target in study["targets"] if target in starts]
    inputs["before"] = [at.predictions(starts[target]) for target in begun]
    protocol = study["evaluation"]["protocol"]
    given = {
        "metrics": plan["metrics"],
        "begun": begun,
        "informed": components.declared("protocol", protocol, "INFORMED", False),
        "promises": _promises(study, method),
    }
    options, asked = study["evaluation"]["options"], []
    if options.get("against") not in (None, "", method):
        asked.append("compared_with")
        inputs["compared_with"] = at.predictions(options["against"])
        if options["segment"]:
            inputs["table"] = at.table
    given["asked"] = asked
    if _swept_by_gamma(study, method):
        inputs["labels"] = at.labels
    uses += tuple(("metric", metric) for metric in plan["metrics"])
    return Job(f"{_HERE}:evaluate", inputs, parts | given | draws(plan, study), uses)


def evaluate(job):
    from counterweight.evaluation.predictions import describe_fits, describe_moves
    from counterweight.tables.parquet import read_columns, read_models

    given = job.given
    metrics = {name: components.load("metric", name) for name in given["metrics"]}
    models = read_models(job.input.model)
    options = {}
    if job.input.rates:
        options["rates"] = read_columns(job.input.rates, ["repeat", "row", "keep_rate"])
    if given["informed"]:
        options["models"] = models
    if given["promises"]:
        options["constraints"] = given["promises"]
    texts = ["target", "setting"]
    predictions = read_columns(job.input.predictions, categories=texts)
    truth = read_columns(job.input.truth)
    if "compared_with" in given["asked"]:
        options |= _compared_with(job)
    records = components.configured("protocol", given["protocol"])(
        predictions, truth, metrics, seed=given["seed"], stream=given["stream"], **options
    )
    for target, path in zip(given["begun"], job.input.before, strict=True):
        before = read_columns(path, categories=texts)
        records += describe_moves(predictions, before, truth, target)
    records += describe_fits(models)
    if job.input.labels:
        from counterweight.evaluation.hidden_labels import sweep_predictions

        labels = read_columns(job.input.labels, ["repeat", "row", "selected"])
        records += sweep_predictions(predictions, labels, truth)
    return records


def _compared_with(job):
    """Predictions of the method that this one is compared with, and segments of the rows."""
    from counterweight.tables.parquet import read_columns, read_table

    other = read_columns(job.input.compared_with, categories=["target", "setting"])
    segment = job.given["protocol"]["options"]["segment"]
    if not segment:
        return {"compared_with": other}
    from counterweight.labeling.columns import require

    table = read_table(job.input.table)
    require(table, [segment], "key evaluation.segment")
    names = table[segment].astype(str).to_numpy(dtype=str)
    segments = {"row": table["row"].to_numpy(), "segment": names}
    return {"compared_with": other, "segments": segments}


def plan_deliver(plan, study, at):
    chosen = study.get("deliver")
    if not chosen:
        return None
    parts, uses = labeling_of(study)
    keys = ("model", "options", "sweep", "weights", "starts")
    methods = {
        name: {key: study["methods"][name][key] for key in keys} for name in _involved(study)
    }
    weightings = {
        spec["weights"]: study["weightings"][spec["weights"]]
        for spec in methods.values()
        if spec["weights"]
    }
    selectors = {
        spec["selector"]: study["selectors"][spec["selector"]]
        for spec in weightings.values()
        if spec["selector"]
    }
    uses += tuple(use for spec in methods.values() for use in looked_up(spec))
    uses += tuple(("weighting", spec["weighting"]) for spec in weightings.values())
    uses += tuple(("selector", spec["selector"]) for spec in selectors.values())
    targets = study["targets"]
    given = {
        "study": study["id"],
        "title": study["title"],
        "method": chosen["method"],
        "setting": chosen.get("setting", ""),
        "methods": methods,
        "weightings": weightings,
        "selectors": selectors,
        "samples": study["samples"],
        "measures": study["evaluation"]["options"].get("measures"),
        "target": "general" if "general" in targets else targets[0],
        "id": plan["datasets"][study["dataset"]].get("roles", {}).get("id"),
    }
    inputs = {"table": at.table, "features": at.features, "labels": at.labels}
    inputs["columns"] = at.columns
    outputs = {
        "model": f"{at.folder}/model.parquet",
        "table": f"{at.folder}/scores.parquet",
        "csv": f"{at.folder}/scores.csv",
    }
    if chosen["among"]:
        inputs["judged"] = [at.metrics(name) for name in chosen["among"]]
        inputs["sizes"] = at.metrics("labels")
        given["among"] = chosen["among"]
    if chosen["among"] or methods[chosen["method"]]["options"].get("constraints"):
        outputs["metrics"] = at.metrics("delivered")
    uses = tuple(dict.fromkeys(uses))
    return Job(f"{_HERE}:deliver", inputs, parts | given | draws(plan, study), uses, outputs)


def deliver(job):
    from counterweight.delivery.final_classifiers import final_classifier
    from counterweight.tables.parquet import (
        metrics_table,
        read_columns,
        read_facts,
        read_table,
        write_table,
    )
    from counterweight.tables.saved_form import write_answers

    _, outcome, _ = components.labeling_rules(job.given)
    chosen = []
    if job.given.get("among"):
        losses = _losses(job)
        job.given["method"] = min(losses, key=losses.get)
        chosen = [{"metric": "delivered", "part": job.given["method"], "value": 1.0}]
    saved, scores = final_classifier(
        read_table(job.input.table),
        read_table(job.input.columns) if job.input.columns else None,
        read_columns(job.input.features),
        read_columns(job.input.labels),
        outcome,
        job.given,
        read_facts(job.input.features).get("categories"),
    )
    if chosen:
        saved.facts["answers"] = _answers(job)
    saved.save(job.output.model)
    write_answers(job.output.table, job.output.csv, scores)
    job.log.info(
        "%d labels; %.3g of %d rows are decided yes",
        saved.facts["labeled"],
        scores["decision"].mean(),
        len(scores["decision"]),
    )
    for sentence in filter(None, [*saved.kept(), saved.certificate]):
        job.log.info("%s", sentence)
    if saved.facts["behind"]:
        job.log.warning("%s", saved.facts["behind"])
    if hasattr(job.output, "metrics"):
        place = {"target": "general", "rows": saved.facts["rows"]}
        records = [place | record for record in (*chosen, *saved.facts["shown"])]
        write_table(job.output.metrics, metrics_table(job.given["study"], "delivered", records))


def _losses(job):
    """Mean log loss on test rows of each method that may be delivered."""
    from counterweight.tables.parquet import read_table

    told = {}
    for name, path in zip(job.given["among"], job.input.judged, strict=True):
        lines = read_table(path).query("metric == 'log_loss' and part == '' and setting == ''")
        told[name] = float(lines["value"].mean())
    return told


def _answers(job):
    """What a notebook shows of chances: the share of ones of the log, and how they rank test rows.

    Of one split, as the page has it; nothing of several, whose intervals are of all of them.
    """
    import math

    from counterweight.numerics.estimate import normal_interval
    from counterweight.tables.parquet import read_table

    judged, told = dict(zip(job.given["among"], job.input.judged, strict=True)), {}
    for name, path, percent, metric, part in (
        ("share of ones, all rows of the log", job.input.sizes, True, "positive_share", "all"),
        ("AUC, rows held out", judged[job.given["method"]], False, "auc", ""),
    ):
        lines = read_table(path).query(
            f"metric == {metric!r} and part == {part!r} and setting == ''"
        )
        lines = lines[lines["target"] == "general"].set_index("variable")
        if lines.index.is_unique and "" in lines.index:
            value, error = lines.loc["", ["value", "standard_error"]].astype(float)
            # Of a number of rows that is known there is no interval.
            ends = normal_interval(value, error or math.nan, bounds=(0.0, 1.0))
            ends = lines["value"].get("low", ends[0]), lines["value"].get("high", ends[1])
            told[name] = [percent, value, *map(float, ends)]
    return told


def plan_apply(plan, study, at):
    if not study.get("deliver") or not study.get("score"):
        return None
    inputs = {"model": f"{at.folder}/model.parquet", "score": study["score"]}
    outputs = {"table": f"{at.folder}/new_scores.parquet", "csv": f"{at.folder}/new_scores.csv"}
    uses = looked_up(study["methods"][study["deliver"]["method"]])
    given = {"reading": plan["datasets"][study["dataset"]].get("reading", {})}
    return Job(f"{_HERE}:apply", inputs, given, uses, outputs, own=(study["score"],))


def apply(job):
    from counterweight.delivery.saved_classifiers import SavedClassifier

    saved, paths = SavedClassifier.read(job.input.model), (job.output.table, job.output.csv)
    rows = saved.score_file(str(job.input.score), *paths, job.given["reading"])
    job.log.info("%d new rows scored", rows)


def plan_rehearse(plan, study, copy, at):
    inputs = {name: getattr(at, name) for name in ("table", "columns", "features", "labels")}
    inputs["model"] = f"{at.folder}/model.parquet"
    told = {
        "rules": labeling_of(study)[0],
        "groups": list(plan["datasets"][study["dataset"]]["roles"].get("groups") or ()),
    }
    run = "counterweight.rehearsal:rehearse_promises"
    return plan_copy(run, plan, study, copy, at, inputs, **told)
