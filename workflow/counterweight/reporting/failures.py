"""Which steps of a run have no result, and why: for the report of what is there."""

from pathlib import Path

import pandas as pd

from counterweight.errors import listed
from counterweight.reporting import blocks
from counterweight.tables.parquet import METRICS, read_table

_KILLED = (
    "ERROR: The job ended without a word, and nobody saw how: it was killed (SIGKILL) by hand, "
    "by the limit of a queue, or since memory ran out. Look there, then run again."
)


def first_failure(chain, dated=False):
    """The first step of a chain (of `counterweight.plan.jobs.Paths`) without its output, or None.

    With `dated`, an output older than what it was made from counts as missing: after a run that was
    cut short it is left from an earlier one. A failure has ``study``, ``source``, ``stage``,
    ``reason`` (the end of the log), ``log``, and ``affects``: the sources that have no result for
    it.
    """
    newest = 0.0
    for step in chain["steps"]:
        paths = [Path(path) for path in step["outputs"]]
        absent = [path for path in paths if not path.exists()]
        dates = [path.stat().st_mtime for path in paths if path.exists()]
        if not absent and (min(dates) >= newest or not dated):
            newest = max(dates)
            continue
        reason = "Not made anew in this run, which was interrupted: run again."
        if absent:
            reason = _reason(step["log"]) or (
                f"{listed(absent)}: not made, and no log was written; the run was interrupted or "
                "an earlier step failed."
            )
        failure = {"study": chain["study"], "source": chain["source"]} | step
        failure = {key: failure[key] for key in ("study", "source", "stage", "log")}
        return failure | {"reason": reason, "affects": [chain["source"]]}
    return None


def _reason(path):
    """A log from its last error on; its last lines, and what they mean, if it has none."""
    path = Path(path)
    if not path.exists():
        return ""
    lines = path.read_text(errors="replace").splitlines()
    errors = [k for k, line in enumerate(lines) if line.startswith("ERROR:")]
    return "\n".join(lines[errors[-1] :] if errors else [*lines[-20:], _KILLED])


def measurements_and_failures(chains, dated=False):
    """The metrics of every whole chain, and why the others broke; for `dated` see `first_failure`.

    A table behind a broken step may be left from an earlier run, so it is not read. One failed step
    is one failure, however many results it takes with it.
    """
    tables, failures = [], {}
    for chain in chains:
        failure = first_failure(chain, dated)
        if failure is None:
            if chain["measured"]:
                tables.append(read_table(chain["steps"][-1]["outputs"][0]))
            continue
        known = failures.setdefault((failure["stage"], failure["log"]), failure)
        known["affects"] = list(dict.fromkeys(known["affects"] + failure["affects"]))
    columns = [name for name, _ in METRICS]
    metrics = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
    return metrics, list(failures.values())


def failure_of(failures, study, source, dataset=None):
    """The failure that explains why a source of a study has no result, or None.

    The source's own comes first, then one of its study, then one of the data set that the study
    needs (``study`` empty, ``source`` its name).
    """
    own = failures_of(failures, study, dataset)
    named = [one for one in own if source in (one["source"], *one.get("affects", ()))]
    return (named or own or [None])[0]


def failures_of(failures, study, dataset=None):
    """Failures of a study and of the data set that it needs; the study's own first."""
    own = [one for one in failures if one["study"] == study]
    shared = [one for one in failures if dataset and not one["study"] and one["source"] == dataset]
    return own + shared


def last_line(text):
    """The line of a log that says what went wrong: the last error, else the last line."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    for line in reversed(lines):
        if line.startswith("ERROR: ") and line != "ERROR: unexpected error":
            return line.removeprefix("ERROR: ")
    return lines[-1] if lines else "no reason was logged"


def reason_of(failures, study, source, settings):
    """Why a source of a study has no result, in one line."""
    failure = failure_of(failures, study, source, settings.get("dataset"))
    return last_line(failure["reason"]) if failure else "no result was found"


def failure_block(failure):
    """A failure for a page, with what to do about it."""
    lines = [line for line in str(failure["reason"]).splitlines() if line.strip()]
    stage = str(failure.get("stage") or "")
    advice = "Read the log, correct the cause, and run again: only what is missing is made."
    if "download" in stage:
        advice = (
            "Put the file where the message says, or set data_mirror to a folder that has "
            "it, and run again. Without network, make demo shows the whole workflow on "
            "generated data."
        )
    return blocks.Failure(
        failure.get("study") or "",
        failure.get("source") or "",
        stage,
        last_line(failure["reason"]),
        "\n".join(lines[-15:]),
        failure.get("log") or "",
        advice,
    )
