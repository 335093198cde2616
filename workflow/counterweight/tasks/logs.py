"""Studies of logged actions: the value of policies from a log, read as a stream.

Protocol: see `counterweight.tasks`. Who logged each row takes the place of who is labeled; a
method is a policy, and its prediction is the probability that it gives to the logged action.
A log of one's own has no truth: its policies are compared with each other and with the one that
made it, and their values are delivered.

A log of one's own that is a folder may be read by partition: a job of its own sums each, one merges
what they summed. Sums are added, so the values are those of one pass over all rows. A partition
that changed is summed anew, the others are not. Rows are read as their roles ask, without a look at
the whole log: numbers for rewards and chances, text for users and actions.
"""

import contextlib
import functools
import os
import re
from pathlib import Path

from counterweight.errors import CounterweightError, listed
from counterweight.labeling.logs import OF_LOG, known_number
from counterweight.plan import components
from counterweight.plan.jobs import Job, draws, labeling_of, protocol_of, roles_of
from counterweight.tasks.beside_answers import asked_rehearsal, plan_copy
from counterweight.tasks.beside_answers import copies as rehearsals
from counterweight.tasks.beside_answers import plan_summed_up as plan_rehearsed
from counterweight.tasks.own_studies import checked_reward, kept_by, refuse_columns

WORDS = "studies of logged actions"
KEYS = frozenset({"score", "rehearse"})
#: Keys of a table of one's own that ask for such a study, and what they ask.
ROLES = ("reward", "propensity")
ASKS = "what policies are worth, by a log of another one"
HINT = " (rates of such a study stand in evaluation.keep_rates)"
#: New rows are a log, too: they need every column with a role.
NEW_ROWS_NEED = "roles"
#: What a table of one's own asks for in parts of a study, by the names that it has there.
CARRIED = {"models": {"policies": "", "reward_model": ""}}
PAGE = {
    "table": "counterweight.reporting.pages.logs_page:table",
    "page": "counterweight.reporting.pages.logs_page:PAGE",
}
#: Keys of a table of one's own that its labeling rule takes as they are.
OPTIONAL = ("rows_before", "user", "weight", "by_partition")
__all__ = ["plan_rehearsed", "rehearsals"]
#: Rows are read in batches: memory does not grow with them.
STREAMS = True
_HERE = "counterweight.tasks.logs"
#: What a file of sums says it is.
SUMS = "sums of a log"


def complete(name, study, plan):
    study |= {"targets": ["general"], "test_share": 0.0, "repeats": 1, "columns": ["value"]}
    own, protocol = _is_own(study), study["evaluation"]["protocol"]
    if own != (protocol == "own_values"):
        raise CounterweightError(
            f"studies.{name}.evaluation.protocol is {protocol!r}, which does not go with the "
            f"labeling rule {study['labeling']['rule']}: of a log of one's own, labeled by "
            "own_log, values are told by own_values, of others by policy_value."
        )
    study["rehearse"] = asked_rehearsal(name, study, plan, ("assumed", "outcome"), 2)
    if study["rehearse"] and study["labeling"]["options"]["by_partition"]:
        raise CounterweightError(
            f"studies.{name}.rehearse makes copies of a whole log, which by_partition does not "
            "read at once: leave one of the two out."
        )


def _is_own(study):
    """Whether a study is of a log whose policies' values nobody knows."""
    return components.declared("labeling", study["labeling"]["rule"], "OWN_LOG", False)


def own_study(entry):
    """The study that a table of one's own asks for; see `counterweight.plan.own`."""
    if entry.get("by_partition"):
        refuse_columns(entry, "a log that is read by_partition")
    reward = checked_reward(entry["reward"])
    labeling = {"rule": "own_log", "propensity": entry["propensity"]}
    labeling |= {key: entry[key] for key in OPTIONAL if key in entry} | kept_by(entry)
    policies, models, modelled = entry.get("policies") or {}, [], _reward_model(entry)
    if not policies:
        raise CounterweightError(
            "A log needs policies to judge: add policies, such as {new: the column of the "
            "probability that the new policy gives to the logged action}."
        )
    for name, given in policies.items():
        shown = given.get("action", entry.get("action")) if isinstance(given, dict) else None
        given = {"column": given} if isinstance(given, str) else given
        if not isinstance(given, dict) or "column" not in given or {*given} - {"column", "action"}:
            raise CounterweightError(
                f"policies.{name} is {given!r}: give the column of the probability that it gives "
                "to the logged action, or {column: that of its action, action: that of the logged "
                "action}."
            )
        if str(name).strip().lower().replace("\u2019", "'").removesuffix(" policy") == OF_LOG:
            raise CounterweightError(
                f"policies has {str(name)!r}, which is what the policy that made the log is called "
                "in every table: give this one another name."
            )
        column = given["column"]
        if column == (shown or entry["propensity"]):
            raise CounterweightError(
                f"policies.{name} is the column {column!r} of the log's own policy, whose value is "
                "told beside all others: name another column, or leave it out."
            )
        options = {"takes": column, "shown": shown} if shown else {"probability": column}
        options |= modelled
        models.append({"model": "given_policy", "label": str(name)} | options)
    twice = [name for name, given in policies.items() if [*policies.values()].count(given) > 1]
    if twice:
        raise CounterweightError(
            f"policies has {listed(twice)}, which are one and the same: leave out all but one."
        )
    for item, identity in zip(models, identities(list(policies)), strict=True):
        item["name"] = identity
    alike = {}  # columns of actions, by that of the logged one
    for item in models:
        if "shown" in item:
            alike.setdefault(item["shown"], [item["shown"]]).append(item["takes"])
    return {
        "features": {"recipe": "no_features"},
        "outcome": {"rule": "logged_reward"} | reward,
        "labeling": labeling,
        "evaluation": {"protocol": "own_values"},
        "models": models,
        "figures": ["policies", *["rehearsal"] * ("rehearse" in entry)],
        "roles": _roles(entry, reward, labeling, models),
    } | ({"alike": [*alike.values()]} if alike else {})


def _reward_model(entry):
    """Options of policies for the reward model that a table of one's own asks for."""
    asked = entry.get("reward_model")
    if asked is None:
        return {}
    if entry.get("by_partition"):
        raise CounterweightError(
            "A reward model learns from the whole log, which by_partition does not read at once: "
            "leave reward_model or by_partition out."
        )
    return {"reward_model": asked.get("model", "linear"), "reward_by": asked["by"]}


def _roles(entry, reward, labeling, models):
    """Columns by role, none of which is anything else; and those by which a reward model goes."""
    rate = labeling.get("keep_rate")
    roles = {"reward": reward["column"], "propensity": labeling["propensity"]}
    roles |= {"keep_rate": rate} if isinstance(rate, str) else {}
    roles |= {"action": entry["action"]} if "action" in entry else {}
    policies = [
        (f"policy {item['label']}{' (logged action)' if key == 'shown' else ''}", item[key], key)
        for item in models
        for key in ("probability", "takes", "shown")
        if key in item
    ]
    # What a policy would do is known before the action; what goes by the action is not.
    after = roles | {role: column for role, column, key in policies if key != "takes"}
    by = (entry.get("reward_model") or {}).get("by", ())
    for column in by:
        named = [role.replace("_", " ") for role, own in after.items() if own == column]
        if named:
            raise CounterweightError(
                f"reward_model.by names the {named[0]} {column!r} itself: name columns that were "
                "known before the action was chosen."
            )
    roles |= {role: column for role, column, _ in policies} | kept_where(labeling)
    roles |= {key: labeling[key] for key in ("user", "weight") if key in labeling}
    shown = [item["shown"] for item in models if "shown" in item][:1]
    learned = {"reward": entry["reward"], "reward_model.by": by} | dict.fromkeys(
        shown and ["action"], *shown
    )
    return roles | (learned if by else {})


def kept_where(labeling):
    """Columns that say which rows were kept at a rate, by role."""
    columns = components.columns_of_condition(labeling.get("kept_where") or {})
    return {f"keep_rate where {column}": column for column in columns}


def identities(names):
    """Names of methods for names of policies: letters and figures, none twice."""
    made = []
    for name in names:
        plain = re.sub("[^A-Za-z0-9]+", "_", str(name)).strip("_")
        if not re.match("(?!labels$|selection_|weights_)[A-Za-z]", plain):
            plain = f"p_{plain}"
        while plain in made:
            plain += "_"
        made.append(plain)
    return made


def parts(plan, study):
    """Names of the partitions that have jobs of their own; none of other studies."""
    return files_of_parts(plan, study) if _by_partition(study) else {}


def _by_partition(study):
    return _is_own(study) and study["labeling"]["options"]["by_partition"]


def files_of_parts(plan, study):
    """Files of the partitions of a study's log, which is a folder, by the names of their jobs."""
    path = plan["datasets"][study["dataset"]].get("path")
    if not path or Path(path).is_file():
        raise CounterweightError(
            f"studies.{study['id']}: by_partition is for a log that is a folder of files, and "
            f"{path or 'a query'} is none: leave by_partition out."
        )
    changed = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
    return _named_files(path, changed)


@functools.lru_cache(8)
def _named_files(path, changed):
    from counterweight.datasets.sources import ABSENT
    from counterweight.tables.table_reader import parts_of

    named = {}
    for file, keys in parts_of(path, ABSENT):
        name = re.sub("[^A-Za-z0-9]+", "_", str(file.relative_to(path).with_suffix("")))
        name = f"p{name}" if not name[:1].isalpha() else name
        while name in named:
            name += "_"
        named[name] = str(file), keys
    return named


def plan_sum(plan, study, part, at):
    question = question_of(study) | {"id": id_of(plan, study)}
    return part_job(f"{_HERE}:sum_part", plan, study, files_of_parts(plan, study)[part], question)


def id_of(plan, study):
    """The column of ids of a study's log, "" where it has none or a user is told by it.

    Nor is it one called row, as rows are counted by.
    """
    name = (plan["datasets"][study["dataset"]].get("roles") or {}).get("id") or ""
    return "" if name in ("row", study["labeling"]["options"].get("user")) else name


def part_job(run, plan, study, part, question):
    """The job of a partition, a file with what the names of its folders say."""
    file, keys = part
    reading = plan["datasets"][study["dataset"]].get("reading", {})
    return Job(run, {"files": [file]}, question | {"keys": keys, "reading": reading}, own=(file,))


@contextlib.contextmanager
def part_of(job):
    """The file of the job of a partition; what it has wrong is told with it."""
    (file,) = job.input.files
    try:
        yield file
    except CounterweightError as error:
        raise CounterweightError(told_of(file, error, job.given["outcome"])) from error


def sum_part(job):
    """Sums of one partition, and what is counted in it."""
    from counterweight.labeling.log_files import LogQuestion
    from counterweight.tables.saved_form import write_saved

    with part_of(job) as file:
        question, given = LogQuestion(_facts(job.given)), job.given
        whole, counted = question.sums(str(file), given["reading"], given["keys"])
    write_saved(job.output.sums, SUMS, counted, whole.to_arrays())
    job.log.info("%s: %d rows, %d with a reward", file, whole.rows, whole.nonzero)


def told_of(file, error, outcome):
    """What a partition has wrong, with its file, and what rewards that are words need."""
    told = str(error)
    told = told if str(file) in told else f"{file}: {told}"
    column = outcome["column"]
    if f"column {column!r} holds" in told and outcome.get("positive") is None:
        told += f" Of words, name the one that is a 1: reward: {{column: {column}, positive: ...}}."
    return told


def _facts(given):
    """Facts of `LogQuestion` from the question that a job is told."""
    from counterweight.labeling.log_files import types_by_role

    question = {key: given[key] for key in ("policies", "outcome", "labeling", "id")}
    return question | given["protocol"] | {"types": types_by_role(question), "forms": None}


def question_of(study):
    """What is asked of a log, as `LogQuestion` has it."""
    # Another log is valued without a reward model, which this one was fitted to.
    methods, given = study["methods"], ("probability", "takes", "shown")
    return {
        "policies": {
            methods[name]["label"]: {key: methods[name]["options"][key] for key in given}
            for name in _reported(study)
        },
        "outcome": study["outcome"]["options"],
        "labeling": study["labeling"]["options"],
        "protocol": study["evaluation"]["options"],
    }


def plan_label(plan, study, at):
    if _by_partition(study):
        files = [at.sums(part) for part in files_of_parts(plan, study)]
        given = question_of(study) | {"id": id_of(plan, study)}
        return Job(f"{_HERE}:merge_parts", {"sums": files}, given)
    given, uses = labeling_of(study)
    if _is_own(study):
        inputs = {"table": at.table, "columns": at.columns}
        given |= roles_of(plan, study) | draws(plan, study)
        options = [study["methods"][name]["options"] for name in study["methods"]]
        given["actions"] = [[one["shown"], one["takes"]] for one in options if one.get("takes")]
        # A reward model takes propensities for those given its columns.
        given["learned"] = sorted({name for one in options for name in one.get("reward_by") or ()})
        return Job(f"{_HERE}:label_own", inputs, given, uses)
    inputs = {"table": at.table, "known": at.known}
    return Job(f"{_HERE}:label", inputs, given | draws(plan, study), uses)


def label(job):
    return _label(job, job.given, job.input.known or None)


def label_own(job):
    from counterweight.labeling.log_files import log_rows
    from counterweight.labeling.logs import propensity_records, roles_of

    types, forms = _columns(job)
    options = _typed_reward(job.given["outcome"]["options"], types, forms)
    given = job.given | {"outcome": job.given["outcome"] | {"options": options}}
    records = _label(job, given, None, roles_of(options, given["labeling"]["options"]))
    for action in dict.fromkeys(shown for shown, _ in given["actions"]):
        takes = [name for shown, name in given["actions"] if shown == action]
        contexts = takes + [
            name for name in given["learned"] if types.get(name) in ("text", "boolean")
        ]
        files = job.output.features, job.output.labels, job.input.table
        rows = log_rows(*files, list(dict.fromkeys([action, *contexts])))
        records += propensity_records(rows, action, contexts, takes)
    return records


def _label(job, given, known, roles=None):
    from counterweight.labeling.log_files import label_log
    from counterweight.tables.study_data import generator

    recipe, outcome, rule = components.labeling_rules(given)
    records = label_log(
        job.input.table,
        known,
        {name: getattr(job.output, name) for name in ("features", "labels", "truth")},
        recipe=recipe,
        outcome=outcome,
        rule=rule,
        rng=generator(given["seed"], given["stream"], 0, "noise"),
        reward=given["outcome"]["options"].get("column"),
        roles=roles,
    )
    job.log.info("%d rows of the log", records[0]["value"])
    return records


def merge_parts(job):
    """Merged sums, checked as one log; metric records of its sizes."""
    from counterweight.labeling.log_files import LogQuestion
    from counterweight.tables.saved_form import read_saved, write_saved

    question, whole, counts = LogQuestion(_facts(job.given)), None, []
    for saved in map(read_saved, _listed(job.input.sums)):
        part = question.begun().use(saved.arrays)
        counts.append(saved.facts)
        if whole is None:
            whole = part
        else:
            whole.merge(part)
    question.check(counts)
    write_saved(job.output.labels, SUMS, {}, whole.to_arrays())
    told = {
        "rows_nonzero": whole.nonzero,
        "smallest_propensity": min(one["least"] for one in counts),
    }
    return merged_sizes(job, whole.rows, told, question.again)


def merged_sizes(job, rows, told, again=(0.0, 0.0, 0)):
    """Metric records of merged partitions, whose features and truth are empty files.

    `again` are rows that share their id with others, their standard error and all rows.
    """
    from counterweight.labeling.columns import ids_again
    from counterweight.tables.parquet import write_table

    for name in ("features", "truth"):
        write_table(getattr(job.output, name), {"row": []}, (("row", "int32"),))
    job.log.info(
        "%d rows in %d partitions, %d with a reward",
        rows,
        len(_listed(job.input.sums)),
        told["rows_nonzero"],
    )
    log = {"rows": rows, "target": "general", "part": "log"}
    records = [
        *({"rows": rows, "metric": name, "value": rows} for name in ("rows_log", "rows_all")),
        *(log | {"metric": name, "value": value} for name, value in told.items()),
    ]
    count, error, whole = again
    if count:
        person, user = job.given["id"], job.given["labeling"].get("user")
        said = ids_again(count, whole, user, error > 0)
        job.log.warning("Look at the column %s: %s.", person, said)
        shared = {"metric": "rows_sharing_id", "value": count, "standard_error": error}
        records.append(log | shared | {"variable": person})
    return records


def _columns(job):
    """Types of the columns of the log and how their texts were read, by the column report."""
    from counterweight.labeling.columns import forms_of, recorded_columns, types_of
    from counterweight.labeling.log_files import types_of_table
    from counterweight.tables.parquet import read_table

    if not job.input.columns:
        return types_of_table(job.input.table), {}
    told = "roles" in job.given  # to the job that labels
    columns = recorded_columns(job) if told else read_table(job.input.columns)
    return types_of(columns), forms_of(columns)


def _typed_reward(options, types, forms):
    """Options of the reward, the value that counts as 1 being one of the typed column."""
    from counterweight.datasets.own_table import typed_value

    column, positive = options["column"], options["positive"]
    if positive is None or column not in types:
        return options
    value = typed_value("the log", column, positive, types, forms)
    return options | {"positive": str(value) if types[column] == "text" else float(value)}


def plan_train(plan, study, method, at):
    spec = study["methods"][method]
    inputs = {"table": at.table, "features": at.features, "labels": at.labels}
    given = {"method": {key: spec[key] for key in ("model", "options")}}
    return Job(f"{_HERE}:train", inputs, given | draws(plan, study), (("model", spec["model"]),))


def train(job):
    from counterweight.labeling.log_files import log_rows
    from counterweight.tables.parquet import MODEL, model_table, write_table, writing

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
    if _by_partition(study):
        methods = _reported(study)
        given = question_of(study) | {"id": id_of(plan, study)}
        given |= {"methods": methods, "place": methods.index(method)}
        return Job(f"{_HERE}:evaluate_parts", {"labels": at.labels}, given)
    if _is_own(study):
        # Each pair of policies is compared once: by the later one.
        others = _reported(study)
        others = others[: others.index(method)]
        files = [at.predictions(method), *map(at.predictions, others)]
        inputs = {"labels": at.labels, "predictions": files, "measured": at.metrics("labels")}
        bounds = [study["outcome"]["options"].get(end) for end in ("low", "high")]
        given = parts | {"policies": [method, *others], "bounds": bounds}
        given |= {"rows_before": known_number(study["labeling"]["options"])}
        return Job(f"{_HERE}:evaluate_own", inputs, given, uses)
    inputs = {
        "predictions": at.predictions(method),
        "model": at.model(method),
        "labels": at.labels,
        "truth": at.truth,
    }
    given = {"policy": study["methods"][method]["options"].get("probability", "")}
    return Job(f"{_HERE}:evaluate", inputs, parts | given | draws(plan, study), uses)


def evaluate(job):
    from counterweight.evaluation.predictions import describe_fits
    from counterweight.tables.parquet import read_models

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


def evaluate_own(job):
    given = job.given
    own, *others = _listed(job.input.predictions)
    records = components.configured("protocol", given["protocol"])(
        job.input.labels,
        own,
        dict(zip(given["policies"][1:], others, strict=True)),
        reward_range=given["bounds"],
        rows_before=given["rows_before"],
        wrong=_wrong_propensities(job),
    )
    job.log.info("%d measurements", len(records))
    return records


def _wrong_propensities(job, columns=""):
    """What the test of a log's propensities said, as `values_of_sums` has it; `columns`: the column
    report, for words that name copies."""
    from counterweight.labeling.columns import in_common
    from counterweight.labeling.logs import wrong_propensities
    from counterweight.tables.parquet import read_table

    copies = bool(columns) and in_common(read_table(columns))
    return wrong_propensities(read_table(job.input.measured).to_dict("records"), copies)


def evaluate_parts(job):
    """Records of one policy, compared with those before it."""
    from counterweight.evaluation.log_values import records_of

    known, _ = _known(job)
    names, place = list(job.given["policies"]), job.given["place"]
    records = records_of(known, names[place], names[:place])
    # Sums know policies as they are called; records go by the ids of methods.
    ids = dict(zip(names, job.given["methods"], strict=True))
    return [
        one | {"part": ids.get(one["part"], one["part"])} if "part" in one else one
        for one in records
    ]


def _known(job):
    from counterweight.evaluation.log_values import values_of_parts
    from counterweight.labeling.log_files import LogQuestion
    from counterweight.tables.saved_form import read_saved

    question = LogQuestion(_facts(job.given))
    sums = question.begun().use(read_saved(job.input.labels).arrays)
    return values_of_parts(question, sums), question


def _reported(study):
    return [name for name, method in study["methods"].items() if method["reported"]]


def _listed(files):
    return [files] if isinstance(files, str) else list(files)


def plan_deliver(plan, study, at):
    if not _is_own(study):
        return None
    policies, given = _reported(study), question_of(study) | {"id": id_of(plan, study)}
    inputs = {"labels": at.labels, "predictions": [at.predictions(name) for name in policies]}
    inputs |= {"table": at.table, "columns": at.columns, "measured": at.metrics("labels")}
    files = {"model": "model.parquet"} | _tables("")
    outputs = {role: f"{at.folder}/{file}" for role, file in files.items()}
    if _by_partition(study):
        return Job(f"{_HERE}:deliver_parts", {"labels": at.labels}, given, (), outputs)
    return Job(f"{_HERE}:deliver", inputs, given, (), outputs)


def _tables(before):
    """Files of values and comparisons by role."""
    return {
        f"{name}_{form}": f"{before}{name}.{form}"
        for name in ("values", "comparisons")
        for form in ("parquet", "csv")
    }


def deliver(job):
    """Tables of values and comparisons, and the question, to ask it of another log."""
    from counterweight.delivery.saved_log_values import delivered
    from counterweight.evaluation.log_values import values_of_files
    from counterweight.labeling.log_files import columns_of

    given, options = job.given, job.given["protocol"]
    bounds = [given["outcome"].get(end) for end in ("low", "high")]
    files = dict(zip(given["policies"], _listed(job.input.predictions), strict=True))
    options = options | {"rows_before": known_number(given["labeling"])}
    options["wrong"] = _wrong_propensities(job, job.input.columns)
    known = values_of_files(job.input.labels, files, reward_range=bounds, **options)
    types, forms = _columns(job)
    question = {key: given[key] for key in ("policies", "labeling", "id")}
    question["outcome"] = _typed_reward(given["outcome"], types, forms)
    needed = columns_of(question)
    read = {
        "types": {name: types[name] for name in needed},
        "forms": {name: forms[name] for name in needed if name in forms},
    }
    delivered(job.output, known, question | options | read)


def deliver_parts(job):
    from counterweight.delivery.saved_log_values import delivered

    known, question = _known(job)
    delivered(job.output, known, question.facts)


def plan_apply(plan, study, at):
    if not (_is_own(study) and study.get("score")):
        return None
    inputs = {"model": f"{at.folder}/model.parquet", "score": study["score"]}
    outputs = {role: f"{at.folder}/{file}" for role, file in _tables("new_").items()}
    given = {"reading": plan["datasets"][study["dataset"]].get("reading", {})}
    return Job(f"{_HERE}:apply", inputs, given, (), outputs, own=(study["score"],))


def apply(job):
    from counterweight.delivery.saved_log_values import SavedValues, write_tables

    saved = SavedValues.read(job.input.model)
    values, comparisons = saved.tables(str(job.input.score), job.given["reading"])
    write_tables(job.output, values, comparisons)
    job.log.info("%d rows of a new log", values["rows"][0])


def plan_rehearse(plan, study, copy, at):
    policies = _reported(study)
    inputs = {"table": at.table, "labels": at.labels}
    inputs["predictions"] = [at.predictions(name) for name in policies]
    options = [study["methods"][name]["options"] for name in policies]
    actions = [plan["datasets"][study["dataset"]]["roles"].get("action")]
    actions += [one["shown"] for one in options]
    action = next(filter(None, actions), None)
    by = [action, *(one[key] for one in options for key in ("shown", "takes"))]
    by += [name for one in options for name in one["reward_by"]]
    told = {
        "policies": policies,
        "labels": {name: study["methods"][name]["label"] for name in policies},
        "by": [name for name in dict.fromkeys(by) if name],
        "action": action,
        "user": study["labeling"]["options"]["user"],
    }
    return plan_copy("counterweight.rehearsal:rehearse_log", plan, study, copy, at, inputs, **told)


def shown(study):
    # Of a log of one's own: what its values take for granted.
    if not _is_own(study):
        return {}
    options = study["labeling"]["options"]
    return {"log": {key: options[key] for key in OPTIONAL}}
