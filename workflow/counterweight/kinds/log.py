"""Studies of logged actions: the value of policies from a log, read as a stream.

Protocol: see `counterweight.kinds`. Who logged each row takes the place of who is labeled; a
method is a policy, and its prediction is the probability that it gives to the logged action.
"""

from counterweight.plan import components
from counterweight.plan.jobs import Job, draws, labeling_of, protocol_of

WORDS = "studies of logged actions"
KEYS = frozenset()
HINT = " (rates of such a study stand in evaluation.keep_rates)"
PAGE = {
    "table": "counterweight.reporting.pages.logs:table",
    "page": "counterweight.reporting.pages.logs:PAGE",
}
_HERE = "counterweight.kinds.log"


def complete(name, study, plan):
    study |= {"targets": ["general"], "test_share": 0.0, "repeats": 1, "columns": ["value"]}


def plan_label(plan, study, at):
    given, uses = labeling_of(study)
    inputs = {"table": at.table, "known": at.known}
    return Job(f"{_HERE}:label", inputs, given | draws(plan, study), uses)


def label(job):
    from counterweight.files.seeds import generator
    from counterweight.labeling.logs import label_log

    given = job.given
    recipe, outcome, rule = components.labeling_rules(given)
    records = label_log(
        job.input.table,
        job.input.known or None,
        {name: getattr(job.output, name) for name in ("features", "labels", "truth")},
        recipe=recipe,
        outcome=outcome,
        rule=rule,
        rng=generator(given["seed"], given["stream"], 0, "noise"),
        reward=given["outcome"]["options"].get("column"),
    )
    counts = {record["metric"]: record["value"] for record in records}
    job.log.info("%d rows of the log, %d on policy", counts["rows_log"], counts["rows_on_policy"])
    return records


def plan_train(plan, study, method, at):
    spec = study["methods"][method]
    inputs = {"table": at.table, "features": at.features, "labels": at.labels}
    given = {"method": {key: spec[key] for key in ("model", "options")}}
    return Job(f"{_HERE}:train", inputs, given | draws(plan, study), (("model", spec["model"]),))


def train(job):
    from counterweight.files.streams import writing
    from counterweight.files.tables import MODEL, model_table, write_table
    from counterweight.models.policies.log_rows import log_rows

    method = job.given["method"]
    policy = components.load("model", method["model"])(**method["options"])

    def rows():
        return log_rows(job.input.features, job.input.labels, job.input.table, policy.columns)

    policy.fit(rows())
    with writing(job.output.predictions, policy.layout) as out:
        for part in rows():
            out.write({"row": part["row"]} | policy.predict(part))
    job.log.info("predicted %d rows", out.rows)
    write_table(job.output.model, model_table(policy.to_arrays(), 0, "general"), MODEL)


def plan_evaluate(plan, study, method, at):
    parts, uses = protocol_of(study)
    inputs = {
        "predictions": at.predictions(method),
        "model": at.model(method),
        "labels": at.labels,
        "truth": at.truth,
    }
    given = {"policy": study["methods"][method]["options"].get("probability", "")}
    return Job(f"{_HERE}:evaluate", inputs, parts | given | draws(plan, study), uses)


def evaluate(job):
    from counterweight.evaluation.metrics.evaluate import describe_fits
    from counterweight.files.tables import read_models

    given = job.given
    records = components.configured("protocol", given["protocol"])(
        job.input.labels,
        job.input.predictions,
        job.input.truth,
        policy=given["policy"],
        seed=given["seed"],
        stream=given["stream"],
    )
    job.log.info("%d measurements", len(records))
    return records + describe_fits(read_models(job.input.model))
