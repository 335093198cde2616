"""A log of one's own in partitions: a job of its own sums each, one merges what they summed.

Sums are added, so the values are those of one pass over all rows. A partition that changed is
summed anew, the others are not. Rows are read as their roles ask, without a look at the whole log:
numbers for rewards and chances, text for users and actions.
"""

import functools
import os
import re
from pathlib import Path

from counterweight.errors import CounterweightError
from counterweight.plan.jobs import Job

_HERE = "counterweight.kinds.log_parts"
#: What a file of sums says it is.
SUMS = "sums of a log"


def files_of_parts(plan, study):
    """Files of the partitions of a study's log, by the names of their jobs.

    Raises
    ------
    CounterweightError
        Where the log is no folder.
    """
    path = plan["datasets"][study["dataset"]].get("path")
    if not path or Path(path).is_file():
        raise CounterweightError(
            f"studies.{study['id']}: by_partition is for a log that is a folder of files, and "
            f"{path or 'a query'} is none: leave by_partition out."
        )
    changed = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
    return _listed(path, changed)


@functools.lru_cache(8)
def _listed(path, changed):
    from counterweight.datasets.sources import ABSENT
    from counterweight.files.people import parts_of

    named = {}
    for file, keys in parts_of(path, ABSENT):
        name = re.sub("[^A-Za-z0-9]+", "_", str(file.relative_to(path).with_suffix("")))
        name = f"p{name}" if not name[:1].isalpha() else name
        while name in named:
            name += "_"
        named[name] = str(file), keys
    return named


def sum_job(plan, study, part, question):
    """The job that sums one partition."""
    file, keys = files_of_parts(plan, study)[part]
    given = question | {"keys": keys}
    given["reading"] = plan["datasets"][study["dataset"]].get("reading", {})
    return Job(f"{_HERE}:sums", {"files": [file]}, given, own=(file,))


def sums(job):
    """Sums of one partition, and what is counted in it."""
    from counterweight.evaluation.values.saved import SavedValues
    from counterweight.files.gifts import write_gift

    saved = SavedValues(_facts(job.given))
    (file,) = job.input.files
    try:
        whole, counted = saved.sums(str(file), job.given["reading"], job.given["keys"])
    except CounterweightError as error:
        raise CounterweightError(told_of(file, error, job.given["outcome"])) from error
    write_gift(job.output.sums, SUMS, counted, whole.to_arrays())
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
    """Facts of `SavedValues` from the question that a job is told."""
    from counterweight.evaluation.values.saved import types_by_role

    question = {key: given[key] for key in ("policies", "outcome", "labeling")}
    return question | given["protocol"] | {"types": types_by_role(question), "forms": {}}


def merge_job(plan, study, at, question):
    """The job that merges all partitions, in the place of labeling."""
    files = [at.sums(part) for part in files_of_parts(plan, study)]
    return Job(f"{_HERE}:merge", {"sums": files}, question)


def merge(job):
    """Merged sums, checked as one log; metric records of its sizes."""
    from counterweight.evaluation.values.saved import SavedValues
    from counterweight.files.gifts import read_gift, write_gift
    from counterweight.files.tables import write_table

    saved, files = SavedValues(_facts(job.given)), job.input.sums
    whole, counts = None, []
    for file in [files] if isinstance(files, str) else files:
        gift = read_gift(file)
        part = saved.begun().use(gift.arrays)
        counts.append(gift.facts)
        if whole is None:
            whole = part
        else:
            whole.merge(part)
    saved.check(counts)
    write_gift(job.output.labels, SUMS, {}, whole.to_arrays())
    for name in ("features", "truth"):
        write_table(getattr(job.output, name), {"row": []}, (("row", "int32"),))
    job.log.info(
        "%d rows in %d partitions, %d with a reward", whole.rows, len(counts), whole.nonzero
    )
    place = {"rows": whole.rows}
    log = {"target": "general", "part": "log"}
    return [
        place | {"metric": "rows_log", "value": whole.rows},
        place | {"metric": "rows_all", "value": whole.rows},
        place | log | {"metric": "rows_nonzero", "value": whole.nonzero},
        place
        | log
        | {"metric": "smallest_propensity", "value": min(one["least"] for one in counts)},
    ]


def evaluate_job(methods, method, at, question):
    """The job that tells what one policy is worth, from the merged sums."""
    given = question | {"methods": methods, "place": methods.index(method)}
    return Job(f"{_HERE}:evaluate", {"labels": at.labels}, given)


def evaluate(job):
    """Records of one policy, compared with those before it."""
    from counterweight.evaluation.values.own_values import records_of

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
    from counterweight.evaluation.values.saved import SavedValues
    from counterweight.files.gifts import read_gift

    saved = SavedValues(_facts(job.given))
    return saved.values_of_sums(saved.begun().use(read_gift(job.input.labels).arrays)), saved


def deliver(job):
    """Tables of values and comparisons, and the question, to ask it of another log."""
    from counterweight.evaluation.values.saved import SavedValues
    from counterweight.evaluation.values.value_tables import tables_of, write_tables
    from counterweight.files.gifts import write_gift

    known, saved = _known(job)
    logged = [known.logged.value, known.logged.standard_error]
    write_gift(
        job.output.model,
        *SavedValues(saved.facts | {"logged": logged, "rows": known.rows}).to_gift(),
    )
    write_tables(job.output, *tables_of(known))
    for (policy, estimator), support in known.support.items():
        job.log.info("%s by %s: support %s", policy, estimator, support.flag)
