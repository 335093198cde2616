"""Studies of offers and answers: who would accept what, and the offer that pays most.

Protocol: see `counterweight.kinds`.
"""

from counterweight.plan import components
from counterweight.plan.jobs import Job, draws, labeling_of, protocol_of

WORDS = "studies of offers and answers"
KEYS = frozenset({"paired_with"})
PAGE = {
    "table": "counterweight.reporting.pages.offers:table",
    "page": "counterweight.reporting.pages.offers:PAGE",
}
_HERE = "counterweight.kinds.offers"


def complete(name, study, plan):
    # Errors are of chances where these are known, else answers judge.
    study |= {"targets": ["general"], "columns": ["rmse", "log_loss"]}
    # Each repeat of a simulated data set is a world of its own, so nothing is shared.
    if components.declared("dataset", study["dataset"], "SIMULATED", False):
        study["test_share"] = 0.0


def finish(name, study):
    """The report is about the offers that are given away, held against a plain method's."""
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
    inputs = {"table": at.table, "known": at.known}
    return Job(f"{_HERE}:label", inputs, parts | given | draws(plan, study), uses)


def label(job):
    from counterweight.labeling.offered import LABELS, describe_offers, label_offers
    from counterweight.labeling.stage import prepared_rows, write_rows

    given = job.given
    frame, features, known, rule, outcome = prepared_rows(job, job.input.known)
    labels, truth = label_offers(
        frame,
        features,
        known,
        rule,
        outcome,
        seed=given["seed"],
        study=given["stream"],
        repeats=given["repeats"],
        test_share=given["test_share"],
        answer=given["outcome"]["options"].get("column"),
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
    from counterweight.files.jobs import train_repeats
    from counterweight.files.study_data import StudyData
    from counterweight.files.tables import model_table
    from counterweight.models.choice.training import train_offers_repeat

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
    from counterweight.files.tables import read_columns, read_models

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


def _offering(study):
    """The method whose offers a study gives away: its first that makes segments."""
    for method, spec in study["methods"].items():
        if components.declared("model", spec["model"], "OFFERS", False):
            return method
    return None


def plan_deliver(plan, study, at):
    method = _offering(study)
    if method is None:
        return None
    inputs = {"labels": at.labels, "predictions": at.predictions(method)}
    given = {"study": study["id"], "offer": study["labeling"]["options"]}
    outputs = {"offers": f"{at.folder}/offers.parquet"}
    return Job(f"{_HERE}:deliver", inputs, given, (), outputs)


def deliver(job):
    from counterweight.files.tables import read_arrow, read_columns, write_table
    from counterweight.models.choice.training import offers_table

    table = offers_table(
        read_arrow(job.input.predictions), read_columns(job.input.labels), job.given["offer"]
    )
    job.log.info("offers for %d people", len(table["row"]))
    write_table(job.output.offers, table)


def shown(study):
    options = study["labeling"]["options"]
    return {
        "offer": {key: options[key] for key in ("low", "high", "direction", "revenue")},
        # As `deliver` takes them.
        "given_away": {"method": _offering(study), "setting": "hard"},
    }
