"""What a study may be asked beside its answer: which labels to buy, and to rehearse the answer.

The keys `collect` and `collected` of tables with blank outcomes (`tasks.missing_outcomes`), of
predictions of a log and of filters, and `rehearse` of every task that has copies of its table with
known truth (`counterweight.rehearsal`).
"""

from dataclasses import replace

from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.plan.jobs import Job, Paths, columns_job, draws
from counterweight.plan.tasks import jobs_of_answer, module_of

_HERE = "counterweight.tasks.beside_answers"
#: What is asked of a plan where it is not said.
DEFAULTS = {"budget": None, "half_width": None, "cost": None, "by": None}
DEFAULTS |= {"for": "mean", "floor": None, "batches": 1, "decision": None, "worth": None}
#: Keys of a table that labels bought by design take no account of, and why.
UNFIT = {
    "tilt": "bought labels tell how rows without an outcome differ",
    "weight": "chances go by rows, each of which counts once",
    "group": "chances go by single rows",
    "weights": "the answer goes by the chances of the bought labels",
}
#: What is asked of decisions by chance where it is not said.
EXPLORING = {"share": None, "monthly": None, "by": None, "months": 12}
EXPLORING |= {"loss": None, "gain": None}
#: The same of events of a log.
EVENTS = DEFAULTS | {"for": "all"}
_BY_EVENT = "chances go by single events, each of which counts once"
UNFIT_EVENTS = dict.fromkeys(
    ("weight", "keep_rate", "kept_where", "rows_before", "user", "group"), _BY_EVENT
)


#: Settings of a plan that are of an outcome: a filter asks for as many people of each leaf.
OF_OUTCOMES = ("half_width", "cost", "by", "for", "floor", "decision", "worth")
UNFIT_OFFERS = {"weight": "offers are made to people, each of whom counts once"}
UNFIT_GROUPS = {"weight": "what a filter tells is of people, each of whom counts once"}


def own_groups(entry):
    """Keys of a study of a filter of ``collect`` and ``collected``, with the figure of a plan."""
    collect, collected = entry.get("collect"), entry.get("collected")
    if collect is None and collected is None:
        return {"figures": []}
    _refused(entry, UNFIT_GROUPS)
    _check_settings(collect, OF_OUTCOMES, "asks for a filter")
    if collect is not None and "budget" not in collect:
        raise CounterweightError(
            "collect says how many people to ask for their group by budget: give it; the page "
            "says at which budget a certificate may be expected."
        )
    figures = ["certificate"] * (collect is not None)
    return {"collect": collect, "collected": collected, "figures": figures}


def own_offers(entry):
    """Keys of a study of offers of ``collect`` and ``collected``, with the figure of a plan."""
    collect, collected = entry.get("collect"), entry.get("collected")
    if collect is None and collected is None:
        return {"figures": []}
    _refused(entry, UNFIT_OFFERS)
    if collect is not None:
        _check_budget(collect)
        _check_settings(collect, ("cost", "by", "for", "decision", "worth"), "is of offers")
    return {"collect": collect, "collected": collected, "figures": ["collect"] * bool(collect)}


def own_events(entry):
    """Keys of a study of predictions of a log of ``collect`` and ``collected``, with its figure."""
    collect, collected = entry.get("collect"), entry.get("collected")
    if collect is None and collected is None:
        return {"figures": []}
    key = _refused(entry, UNFIT_EVENTS)
    if collect is not None:
        _check_budget(collect)
        _check_settings(collect, ("cost", "by", "decision", "worth"), "is a log of predictions")
        if collect.get("for") in ("mean", "rates"):
            raise CounterweightError(
                f"collect.for is {collect['for']}, and of predictions of a log it is auc, "
                "calibration or top: choose one of them, or leave it out for all of them together."
            )
    reward = entry["reward"] if isinstance(entry["reward"], dict) else {}
    for name in ("low", "high"):
        if reward.get(name) is not None:
            raise CounterweightError(
                f"{key} is for rewards of 0 and 1, and reward.{name} is of numbers: leave one of "
                "the two out."
            )
    return {"collect": collect, "collected": collected, "figures": ["collect"] * bool(collect)}


def asked_plan(study, defaults=None):
    """What is asked of a plan, spelled out; None where there is none."""
    return study["collect"] and (defaults or DEFAULTS) | study["collect"]


def asked_explore(entry):
    """What is asked of decisions by chance, checked; None where nothing is."""
    explore = entry.get("explore")
    if explore is None:
        return None
    for other in ("collect", "tilt", "weight", "group", "weights", "rehearse"):
        if entry.get(other) is not None:
            raise CounterweightError(
                f"explore and {other} stand together, and rows have one chance each, their share: "
                "leave one of the two out."
            )
    if "id" not in entry:
        raise CounterweightError("explore needs the key id: by it a decision is drawn.")
    if isinstance(entry.get("target"), dict):
        raise CounterweightError(
            "explore decides rows of the table by chance, and target names other people: leave one "
            "of the two out."
        )
    if isinstance(explore["share"], dict) and not explore.get("by"):
        raise CounterweightError(
            "explore.share has a share by stratum, and nothing says which: name the column of "
            "strata as explore.by, or give one share."
        )
    _check_column("explore.by", explore.get("by"), entry)
    outcome = entry["outcome"] if isinstance(entry["outcome"], dict) else {}
    if outcome.get("kind") == "number":
        raise CounterweightError(
            "explore is for an outcome of two classes, and outcome.kind is number: leave explore "
            "out."
        )
    if explore.get("gain") is not None and explore.get("loss") is None:
        raise CounterweightError(
            "explore.gain is what a row without the outcome brings, and explore.loss, what one "
            "with it costs, is missing: give both."
        )
    return explore


def own_collection(entry, roles):
    """Keys of a study of a table's ``collect`` and ``collected``, with the figures that lead it.

    What a label costs becomes a role in `roles`.
    """
    collect, collected = entry.get("collect"), entry.get("collected")
    explore = asked_explore(entry)
    if collect is None and collected is None:
        figures = ["explore"] * (explore is not None)
        return {"figures": [*figures, "gamma"], "explore": explore}
    key = _refused(entry, UNFIT)
    if collected is not None and entry.get("rehearse") is not None:
        raise CounterweightError(
            "collected and rehearse stand together, and a rehearsal tries the answer that goes "
            "without bought labels: leave one of the two out."
        )
    if isinstance(entry.get("target"), dict):
        raise CounterweightError(
            f"{key} buys labels of rows of the table, and target names other people: leave one of "
            "the two out."
        )
    if collect is not None:
        _check(collect, entry)
        if "cost" in collect:
            roles["collect.cost"] = collect["cost"]
    figures = ["collect"] * (collect is not None) + ["explore"] * (explore is not None)
    figures += ["gamma"] * (collected is None)
    asked = {"collect": collect, "collected": collected, "explore": explore}
    return asked | {"figures": figures}


def _refused(entry, unfit):
    """The key that asks for labels, once those that do not go with it are refused."""
    key = "collect" if entry.get("collect") is not None else "collected"
    if "id" not in entry:
        raise CounterweightError(
            f"{key} needs the key id: by it a row is drawn, and its label is known again when it "
            "comes back."
        )
    for other, why in unfit.items():
        if entry.get(other) is not None:
            raise CounterweightError(
                f"{key} and {other} stand together, and {why}: leave one of the two out."
            )
    return key


def _check_settings(collect, unfit, this):
    """Refuse settings of a plan that are of an outcome; `this` says what the table is."""
    for name in unfit:
        if name in (collect or ()):
            raise CounterweightError(
                f"collect.{name} is for tables with an outcome, and this one {this}: leave it out."
            )


def _check_budget(collect):
    if len(collect.keys() & {"budget", "half_width"}) != 1:
        raise CounterweightError(
            "collect says how much to buy, by budget (how many labels, or what they may cost) or "
            "by half_width (of the interval that is wanted): give one of the two."
        )


def _check(collect, entry):
    """Refuse what a plan is asked for where it does not fit together, or not the table."""
    _check_budget(collect)
    told = DEFAULTS | collect
    outcome = entry["outcome"] if isinstance(entry["outcome"], dict) else {}
    if told["for"] != "mean" or told["decision"] or told["worth"]:
        from counterweight.numerics.checks import check_aim

        check_aim(told, number=outcome.get("kind") == "number")
    decision = told["decision"]
    told["decision"] = decision["column"] if isinstance(decision, dict) else decision
    for key in ("cost", "by", "decision"):
        _check_column(f"collect.{key}", told[key], entry)


def _check_column(key, name, entry):
    """Refuse a column that cannot tell rows without an outcome apart, or that is not read."""
    if name is None:
        return
    outcome = entry["outcome"]
    if name in (outcome if isinstance(outcome, str) else outcome.get("column"), entry["id"]):
        raise CounterweightError(
            f"{key} is {name!r}, which is the outcome or the id: name another column."
        )
    if name in ((entry.get("columns") or {}).get("ignore") or ()):
        raise CounterweightError(
            f"{key} is {name!r}, which columns.ignore names: keep one of the two."
        )


def plan_collection(plan, study, at, inputs, given, uses, run=f"{_HERE}:collect"):
    """The job of which labels to buy next, beside the files and settings of what is delivered."""
    dataset = plan["datasets"][study["dataset"]]
    collected = study["collected"] or []
    inputs = inputs | {"collected": collected}
    told = {"collect": asked_plan(study), "id": dataset["roles"]["id"], "key": plan["filter_key"]}
    told["reading"] = dataset.get("reading", {})
    outputs = {"metrics": at.metrics("collect")}
    if study["collect"]:
        outputs["csv"] = f"{at.folder}/collect.csv"
        outputs["plan"] = f"{at.folder}/plan.parquet"
    own = (collected,) if collected else ()
    key = plan["filter_key"]
    return Job(run, inputs, told | given, uses, outputs, own=own, key=key)


def plan_exploring(plan, study, at, inputs, given, uses):
    """The job of who is decided by chance, beside files and settings of what is delivered."""
    dataset, collected = plan["datasets"][study["dataset"]], study["collected"] or []
    inputs = inputs | {"collected": collected, "plan": []}
    told = {"explore": EXPLORING | study["explore"], "key": plan["filter_key"], "collect": None}
    told |= {"id": dataset["roles"]["id"], "reading": dataset.get("reading", {})}
    outputs = {"metrics": at.metrics("collect"), "csv": f"{at.folder}/explore.csv"}
    outputs["plan"] = f"{at.folder}/plan.parquet"
    run, key, own = f"{_HERE}:explore", plan["filter_key"], (collected,) if collected else ()
    return Job(run, inputs, given | told, uses, outputs, own=own, key=key)


def explore(job):
    """Write who is decided by chance, and what that costs and teaches."""
    from counterweight.delivery.collected_answers import explored_labels

    _write(job, *explored_labels(job))


def collect(job):
    """Write which labels to buy, with the chances of all rows, and what they will tell."""
    from counterweight.delivery.collected_answers import planned_labels

    _write(job, *planned_labels(job))


def collect_events(job):
    """As `collect`, of the events of a log of predictions."""
    from counterweight.delivery.collected_answers import planned_events

    _write(job, *planned_events(job))


def collect_groups(job):
    """As `collect`, of people whose group is to be asked for, with what those asked say.

    With the card of the filter, which says it, too.
    """
    from counterweight.delivery.group_plans import planned_groups
    from counterweight.models.filter_card import card
    from counterweight.tables.parquet import write_text

    saved, asked, plan, records, answers = planned_groups(job)
    write_text(job.output.card, card(saved, answers, own=True))
    _write(job, asked, plan, records)


def collect_offers(job):
    """As `collect`, of offers to make, with what answers to those made say."""
    from counterweight.delivery.offer_plans import planned_offers

    _write(job, *planned_offers(job))


def _write(job, rows, plan, records):
    from counterweight.tables.parquet import METRICS, metrics_table, write_table
    from counterweight.tables.saved_form import write_csv

    if plan is not None:
        write_csv(job.output.csv, rows)
        write_table(job.output.plan, plan)
    table = metrics_table(job.given["study"], "collect", records)
    write_table(job.output.metrics, table, METRICS)


def with_collected(plan, study, at, job):
    """The job of what is delivered where labels were bought: these have the last word."""
    dataset = plan["datasets"][study["dataset"]]
    inputs = job.inputs | {"collected": study["collected"], "plan": []}
    if study["collect"] or study["explore"]:
        inputs["plan"] = f"{at.folder}/plan.parquet"
    given = job.given | {"collect": asked_plan(study), "reading": dataset.get("reading", {})}
    modules = (*job.modules, "counterweight.models.score_tilt")
    own = (*job.own, study["collected"])
    run = f"{job.run}_collected"
    return replace(job, run=run, inputs=inputs, given=given, own=own, modules=modules)


#: A rehearsal where no more is said of it than how many copies.
REHEARSED = {"copies": 50, "gamma": 2.0}
#: Keys of a study that say nothing of how its answer is computed.
UNTOLD = ("title", "question", "family", "rehearse", "figures", "score", "columns", "labels")
UNTOLD += ("collect", "collected", "explore")


def check_own_table(name, study, plan):
    """Refuse to buy labels of a data set of the library, whose rows nobody can ask."""
    asked = next((key for key in ("collect", "collected") if study[key] is not None), None)
    if asked and "roles" not in plan["datasets"].get(study["dataset"], ()):
        raise CounterweightError(
            f"studies.{name}.{asked} is of people who can be asked, in a table of one's own, and "
            f"{study['dataset']} is a data set of the library: leave {asked} out."
        )


def asked_rehearsal(name, study, plan, scenarios, usual=1):
    """What is rehearsed, spelled out; None where nothing is.

    `scenarios` are those that copies of the task's tables have, the first `usual` of them made
    where none is named.
    """
    asked = study.get("rehearse")
    if asked is None:
        return None
    if "roles" not in plan["datasets"].get(study["dataset"], ()):
        raise CounterweightError(
            f"studies.{name}.rehearse makes copies of a table of one's own, and the truth of "
            f"{study['dataset']} is known: leave rehearse out."
        )
    asked = dict(asked) if isinstance(asked, dict) else {"copies": asked}
    told = REHEARSED | {"scenarios": list(scenarios[:usual])} | asked
    strange = [one for one in told["scenarios"] if one not in scenarios]
    if strange:
        raise CounterweightError(
            f"studies.{name}.rehearse.scenarios has {strange[0]!r}, of which "
            f"{module_of(study).WORDS} have no copies: choose among {', '.join(scenarios)}."
        )
    if "rate" in (study.get("tilt") or {}):
        raise CounterweightError(
            f"studies.{name}.rehearse tries what is estimated of rows without an outcome, and tilt "
            "gives their rate: leave one of the two out."
        )
    at_random = components.declared_assumption()
    for weighting in (item["weighting"] for item in study.get("weighting", ())):
        if components.declared_assumption(weighting) != at_random:
            raise CounterweightError(
                f"studies.{name}.rehearse makes copies in which labels are missing at random, or "
                f"by a dial away from it, and {weighting} supposes another law: leave rehearse "
                "out, or these weights."
            )
    return told


def copies(study):
    """Names of the copies of its table that a study is run on, a job each."""
    asked = study.get("rehearse") or {"scenarios": (), "copies": 0}
    return [
        f"{scenario}_{copy}" for scenario in asked["scenarios"] for copy in range(asked["copies"])
    ]


def plan_copy(run, plan, study, copy, at, inputs, **told):
    """The job that makes the answer of a study on a copy of its table; `told` is the task's own."""
    scenario, _, number = copy.rpartition("_")
    dataset = plan["datasets"][study["dataset"]]
    given = {
        "study": study["id"],
        "scenario": scenario,
        "copy": int(number),
        "gamma": study["rehearse"]["gamma"],
        "target": study["targets"][0],
        "roles": [
            name
            for role, names in components.columns_by_role(dataset["roles"]).items()
            for name in ([names] if isinstance(names, str) else names)
            if role != "labeled"
        ],
        "as": {key: value for key, value in study.items() if key not in UNTOLD},
        "dataset": {key: value for key, value in dataset.items() if key not in ("path", "query")},
        "plan": {key: plan[key] for key in ("seed", "metrics", "data_source")},
    }
    jobs = [columns_job(study["dataset"], plan, Paths(plan))]
    jobs += [job for _, job in jobs_of_answer(plan, study, at)]
    # A copy is planned in its job, which asks the task.
    uses = dict.fromkeys([("task", study["task"]), *(pair for job in jobs for pair in job.uses)])
    uses |= dict.fromkeys([("protocol", study["evaluation"]["protocol"])])
    modules = {job.run.partition(":")[0] for job in jobs}
    modules |= {name for job in jobs for name in job.modules}
    modules |= {"counterweight.models.score_tilt"} if study.get("tilt") else set()
    given |= draws(plan, study) | told
    return Job(run, inputs, given, tuple(uses), modules=tuple(sorted(modules)))


def plan_summed_up(plan, study, at):
    """The job that sums up the copies of a study; None where it has none."""
    if not study.get("rehearse"):
        return None
    inputs = {"copies": [at.rehearsal(copy) for copy in copies(study)]}
    outputs = {"metrics": at.metrics("rehearsal")}
    return Job("counterweight.rehearsal:rehearsed", inputs, {"study": study["id"]}, outputs=outputs)
