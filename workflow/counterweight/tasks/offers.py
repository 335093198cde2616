"""Studies of offers and answers: who would accept what, and the offer that pays most.

Protocol: see `counterweight.tasks`.
"""

import itertools

from counterweight.errors import CounterweightError, listed
from counterweight.plan import components
from counterweight.plan.jobs import Job, draws, labeling_of, protocol_of, roles_of
from counterweight.tasks.beside_answers import (
    asked_rehearsal,
    check_own_table,
    own_offers,
    plan_collection,
    plan_copy,
)
from counterweight.tasks.beside_answers import copies as rehearsals
from counterweight.tasks.beside_answers import plan_summed_up as plan_rehearsed

WORDS = "studies of offers and answers"
KEYS = frozenset({"paired_with", "deliver", "score", "limits", "experiment", "bootstrap"})
KEYS |= {"rehearse", "collect", "collected"}
#: Which offers to try goes by the model that is delivered.
COLLECTS_LAST = True
PAGE = {
    "table": "counterweight.reporting.pages.offers_page:table",
    "page": "counterweight.reporting.pages.offers_page:PAGE",
}
__all__ = ["plan_rehearsed", "rehearsals"]
_HERE = "counterweight.tasks.offers"
ROLES = ("offer", "answer")
#: Roles whose columns new rows need besides the features.
NEW_ROWS_NEED = ("id",)
ASKS = "which offer earns most from each person"


def own_study(entry):
    """The study of a table of one's own; see `counterweight.plan.own`."""
    offer, answer = (
        {"column": told} if isinstance(told, str) else dict(told)
        for told in (entry["offer"], entry["answer"])
    )
    told = {"offer": offer.pop("column"), "direction": "down", "low": None, "high": None}
    told["between"] = "made"
    low, high = ends = offer.get("low"), offer.get("high")
    odd = [end for end in ends if not isinstance(end, int | float | None)]
    if odd:
        raise CounterweightError(f"offer.low and offer.high are numbers, and {odd[0]!r} is none.")
    if None not in ends and not low < high:
        raise CounterweightError(
            f"offer.low is {low} and offer.high {high}: low must be below high."
        )
    plain, bought = {"model": "offer_logistic", "l2": None}, own_offers(entry)
    return {
        "roles": {"offer": told["offer"], "answer": answer},
        "features": {"recipe": "one_hot", "least_rows": None},
        "outcome": {"rule": "accepts", "blanks": "unanswered"} | answer,
        "labeling": {"rule": "offered", "blanks": "unanswered"} | told | offer,
        "targets": ["general"],
        "repeats": 5,
        "test_share": 0.3,
        "evaluation": {"protocol": "offers"},
        "bootstrap": 100,
        "models": [
            {"model": "offer_additive"},
            plain,
            plain | {"name": "offer_logistic-slopes", "interactions": True},
            {"model": "predictive_choice", "most_components": 5},
            {"model": "offer_boosting"},
        ],
        "figures": [
            *bought.pop("figures"),
            *["rehearsal"] * ("rehearse" in entry),
            *("curves", "profiles", "enrolment", "model_order"),
        ],
    } | bought


def _check_points(name, study):
    """Refuse offers and points of lines that are not in order, and chances that are too large."""
    rule, limits = study["labeling"]["options"], study.get("limits") or {}
    lines = {f"limits.{key}": limits.get(key) for key in ("spent", "revenue")}
    lines = {key: [one[0] for one in line] for key, line in lines.items() if isinstance(line, list)}
    grid = rule.get("grid")
    lines |= {"labeling.grid": grid} if isinstance(grid, list) else {}
    for key, points in lines.items():
        if any(not one < other for one, other in itertools.pairwise(points)):
            raise CounterweightError(
                f"studies.{name}.{key} has the offers {listed(points)}: name each once, from the "
                "least to the largest."
            )
    ends = rule.get("low"), rule.get("high")
    grid = lines.get("labeling.grid", []) if None not in ends else []
    beyond = [one for one in grid if not ends[0] <= one <= ends[1]]
    if beyond:
        raise CounterweightError(
            f"studies.{name}.labeling.grid has the offer {beyond[0]}, which is not between low and "
            f"high ({ends[0]} and {ends[1]})."
        )
    revenue = rule.get("revenue")
    if isinstance(revenue, dict) and revenue.get("intercept") == 0 == revenue.get("slope"):
        raise CounterweightError(
            f"studies.{name}.labeling.revenue is 0 for every offer, so that none is best: correct "
            "intercept or slope."
        )
    by_person = isinstance(limits.get("revenue"), str) and not isinstance(revenue, dict)
    if by_person and rule.get("direction") == "up":
        raise CounterweightError(
            f"studies.{name}.limits.revenue names a column, which stands for the intercept of what "
            "an accepted offer earns, and no slope is said of offers of direction up: give "
            "offer.revenue, such as {intercept: 0, slope: -1} where each costs what it is."
        )
    asked = study.get("experiment") or {}
    if asked.get("least", 0) * asked.get("levels", 7) > 1:
        raise CounterweightError(
            f"studies.{name}.experiment asks for a chance of {asked['least']} for each of "
            f"{asked.get('levels', 7)} offers, and chances sum to 1: lower least."
        )


def complete(name, study, plan):
    _check_points(name, study)
    # Errors are of chances where these are known, else answers judge.
    study |= {"targets": ["general"], "columns": ["rmse", "log_loss"]}
    study["rehearse"] = asked_rehearsal(name, study, plan, ("assumed",))
    check_own_table(name, study, plan)
    # Each repeat of a simulated data set is a world of its own, so nothing is shared.
    if components.declared("dataset", study["dataset"], "SIMULATED", False):
        study["test_share"] = 0.0
        _check_worlds(name, study, plan["datasets"])


def _check_worlds(name, study, datasets):
    """Refuse more repeats than the simulated data set has worlds."""
    dataset = study["dataset"]
    size = components.declared("dataset", dataset, "WORLD_ROWS", 0)
    rows = (datasets.get(dataset) or {}).get("rows")
    rows = rows or components.declared("dataset", dataset, "ROWS", 0)
    if not size or study["repeats"] <= rows // size and rows % size == 0:
        return
    if rows % size:
        raise CounterweightError(
            f"datasets.{dataset}.rows is {rows}, and a world of {dataset} has {size} rows: choose "
            f"a multiple of {size}, such as {size * max(study['repeats'], rows // size)}."
        )
    raise CounterweightError(
        f"studies.{name}.repeats is {study['repeats']}, and the {rows} rows of {dataset} are "
        f"{rows // size} worlds, one for each repeat: set repeats to at most {rows // size}, or "
        f"datasets.{dataset}.rows to {size * study['repeats']}."
    )


def finish(name, study):
    """The report is about the offers that are delivered, held against a plain method's."""
    plain = []
    for method, spec in study["methods"].items():
        if spec["options"].get("per_component"):
            spec["role"] = spec["role"] or "bound"
        elif spec["reported"] and not spec["oracle"]:
            plain.append(method)
    main = study.get("main") or _offering(study)
    others = [method for method in plain if method != main]
    if main and others:
        study["main"] = main
        study.setdefault("baseline", others[0])


def plan_label(plan, study, at):
    parts, uses = labeling_of(study)
    given = {"repeats": study["repeats"], "test_share": study["test_share"]}
    given |= roles_of(plan, study)
    inputs = {"table": at.table, "known": at.known, "columns": at.columns}
    return Job(f"{_HERE}:label", inputs, parts | given | draws(plan, study), uses)


def label(job):
    from counterweight.labeling.columns import copies_of, once
    from counterweight.labeling.offered import LABELS, describe_offers, label_offers
    from counterweight.labeling.split import prepared_rows, write_rows

    given = job.given
    frame, features, known, rule, outcome = prepared_rows(job, job.input.known, ordered=True)
    labels, truth = label_offers(
        frame,
        features,
        known,
        once(rule, copies_of(job, frame)),
        outcome,
        seed=given["seed"],
        study=given["stream"],
        repeats=given["repeats"],
        test_share=given["test_share"],
        answer=given["outcome"]["options"].get("column"),
        judged=bool(given.get("roles")),
    )
    dropped = len(frame) - int((rule(frame)["kept"] & frame["row"].isin(features["row"])).sum())
    job.log.info("%d rows with offers and answers, %d left out", len(frame) - dropped, dropped)
    write_rows(job, features, labels, truth, LABELS)
    return describe_offers(labels, truth, dropped)


def plan_train(plan, study, method, at):
    spec = study["methods"][method]
    inputs = {
        "features": at.features,
        "labels": at.labels,
        "truth": at.truth if spec["options"].get("per_component") else [],
    }
    given = {
        "method": {key: spec[key] for key in ("model", "options")},
        "repeats": spec["repeats"],
        "offer": study["labeling"]["options"],
        "bootstrap": study["bootstrap"],
    }
    return Job(f"{_HERE}:train", inputs, given | draws(plan, study), (("model", spec["model"]),))


def train(job):
    from counterweight.models.choice.offer_training import train_offers_repeat
    from counterweight.numerics.checks import features_named
    from counterweight.tables.jobs import train_repeats
    from counterweight.tables.parquet import model_table
    from counterweight.tables.study_data import StudyData

    given = job.given
    data = StudyData.read(job.input.features, job.input.labels, truth=job.input.truth)

    def one(repeat):
        arrays, predictions = train_offers_repeat(
            data,
            given["method"],
            repeat,
            offer=given["offer"],
            seed=given["seed"],
            study=given["stream"],
            bootstrap=given["bootstrap"],
        )
        return [model_table(arrays, repeat, "general")], [predictions]

    with features_named(data.names):
        train_repeats(job, one)


def plan_evaluate(plan, study, method, at):
    parts, uses = protocol_of(study)
    inputs = {
        "features": at.features,
        "labels": at.labels,
        "truth": at.truth,
        "model": at.model(method),
        "predictions": at.predictions(method),
    }
    # Only simulated data sets know the mixture that drew their rows.
    known = study["dataset"] if study["source"] == "simulated" else ""
    given = {"offer": study["labeling"]["options"], "dataset": known}
    uses += (("dataset", known),) if known else ()
    return Job(f"{_HERE}:evaluate", inputs, parts | given | draws(plan, study), uses)


def evaluate(job):
    from counterweight.tables.parquet import read_columns, read_models

    given = job.given
    known = components.load("dataset", given["dataset"]) if given["dataset"] else None
    records = components.configured("protocol", given["protocol"])(
        read_columns(job.input.predictions, categories=["setting"]),
        read_columns(job.input.labels),
        read_columns(job.input.truth),
        read_models(job.input.model),
        read_columns(job.input.features),
        offer=given["offer"],
        mixture=getattr(known, "mixture", None),
        seed=given["seed"],
        stream=given["stream"],
    )
    job.log.info("%d measurements", len(records))
    return records


def delivered(study):
    """Method and setting of the offers that a study delivers; None where it has none.

    Those that ``deliver`` names. Else the method None: the one that predicts held-out answers best.
    """
    asked = study.get("deliver") or {}
    method = asked.get("method")
    if method is None:
        none = study["source"] != "own" and _offering(study) is None
        return None if none else {"method": None, "setting": ""}
    return {"method": method, "setting": asked.get("setting") or _settings(study, method)[0]}


def _settings(study, method):
    """Ways to price people by a method, the usual one first."""
    model = study["methods"][method]["model"]
    return ["soft", "hard"] if components.declared("model", model, "OFFERS", False) else [""]


def _candidates(study):
    """Methods and settings that may be delivered: the one that is named, or all."""
    chosen, methods = delivered(study), study["methods"]
    pairs = [(chosen["method"], chosen["setting"])]
    if chosen["method"] is None:
        known = [name for name, spec in methods.items() if not spec["options"].get("per_component")]
        pairs = [(name, setting) for name in known for setting in _settings(study, name)]
    return [
        {"method": name, "setting": setting}
        | {key: methods[name][key] for key in ("model", "options")}
        for name, setting in pairs
    ]


def _offering(study):
    """The first method that makes segments."""
    return next((name for name in study["methods"] if len(_settings(study, name)) > 1), None)


def plan_deliver(plan, study, at):
    if delivered(study) is None:
        return None
    candidates, (parts, uses) = _candidates(study), labeling_of(study)
    own, many, asked = study["source"] == "own", len(candidates) > 1, _asked(study)
    methods = list(dict.fromkeys(one["method"] for one in candidates))
    inputs = {
        "table": at.table,
        "columns": getattr(at, "columns", []),
        "labels": at.labels,
        # A fit on every answer is used again; on one's own table methods are fitted anew. Methods
        # are judged by the answers that the study kept from them, where it did.
        "model": [] if own else [at.model(method) for method in methods],
        "predictions": [at.predictions(method) for method in methods if not own and many],
    }
    roles = roles_of(plan, study)
    given = {
        "study": study["id"],
        "title": study["title"],
        "candidates": candidates,
        "everybody": own,
        "methods": methods,
        "id": roles.get("roles", {}).get("id"),
    }
    given |= roles | asked
    key = _key_of(plan, study)
    given |= {"key": key} if key else {}
    outputs = {
        "model": f"{at.folder}/model.parquet",
        "offers": f"{at.folder}/offers.parquet",
        "csv": f"{at.folder}/offers.csv",
    }
    if own or many or asked:
        outputs["metrics"] = at.metrics("delivered")
    uses += _models(candidates)
    told = parts | given | draws(plan, study)
    return Job(f"{_HERE}:deliver", inputs, told, uses, outputs, key=key)


def _key_of(plan, study):
    """The key that offers to try are drawn by, of people of one's own table; "" without any."""
    person = plan["datasets"][study["dataset"]].get("roles", {}).get("id")
    return plan["filter_key"] if person and study["experiment"] is not None else ""


def _asked(study):
    """Limits of the offers and the next experiment, where a study asks for them."""
    return {key: study[key] for key in ("limits", "experiment") if study[key] is not None}


def _models(candidates):
    return tuple(("model", name) for name in dict.fromkeys(one["model"] for one in candidates))


def deliver(job):
    from counterweight.delivery.final_offers import final_offers

    final_offers(job)


def plan_apply(plan, study, at):
    if delivered(study) is None or not study.get("score"):
        return None
    inputs = {"model": f"{at.folder}/model.parquet", "score": study["score"]}
    outputs = {"table": f"{at.folder}/new_offers.parquet", "csv": f"{at.folder}/new_offers.csv"}
    reading = plan["datasets"][study["dataset"]].get("reading", {})
    given = {"study": study["id"], "reading": reading} | _asked(study)
    given |= draws(plan, study) if "experiment" in given else {}
    key = _key_of(plan, study)
    given |= {"key": key} if key else {}
    uses = _models(_candidates(study))
    return Job(f"{_HERE}:apply", inputs, given, uses, outputs, own=(study["score"],), key=key)


def apply(job):
    from counterweight.delivery.saved_offers import price_file

    price_file(job)


def plan_collect(plan, study, at):
    if not (study["collect"] or study["collected"]):
        return None
    inputs = {"table": at.table, "columns": at.columns, "model": f"{at.folder}/model.parquet"}
    given = {"study": study["id"], "outcome": study["outcome"]["options"]}
    given["experiment"] = study["experiment"]
    run = "counterweight.tasks.beside_answers:collect_offers"
    return plan_collection(plan, study, at, inputs, given, _models(_candidates(study)), run)


def plan_rehearse(plan, study, copy, at):
    inputs = {"table": at.table, "model": f"{at.folder}/model.parquet"}
    run, told = "counterweight.rehearsal:rehearse_offers", labeling_of(study)[0]
    return plan_copy(run, plan, study, copy, at, inputs, rules=told)


def shown(study):
    options, names = study["labeling"]["options"], ("low", "high", "direction", "revenue", "grid")
    return {
        "offer": {key: options.get(key) for key in names},
        # As `deliver` takes them.
        "given_away": delivered(study) or {"method": None, "setting": ""},
    }
