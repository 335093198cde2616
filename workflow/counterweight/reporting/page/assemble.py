"""Everything the report stage writes, from whatever measurements are there."""

import json
import sys
import tempfile
from pathlib import Path

from counterweight.errors import CounterweightError, listed
from counterweight.files.jobs import log
from counterweight.files.tables import METRICS, read_table, replacing, write_table
from counterweight.plan.components import load
from counterweight.reporting.claims import LAYOUT, decide, load_claims
from counterweight.reporting.page.report import build_report
from counterweight.reporting.page.results import StudyResults
from counterweight.reporting.page.style import save_svg
from counterweight.reporting.page.tables import all_tables


def first_failure(chain, dated=False):
    """The first step of a chain whose output is not there, or None.

    Parameters
    ----------
    chain : dict
        ``study``, ``source`` and ``steps``: each step with ``stage``, ``outputs``, ``log``.
    dated : bool
        Whether an output older than what it was made from counts as missing: after a run
        that was cut short it is left from an earlier one.

    Returns
    -------
    dict or None
        ``study``, ``source``, ``stage``, ``reason`` (the end of the log), ``log``, and
        ``affects``: the sources that have no result for it.
    """
    newest = 0.0
    for step in chain["steps"]:
        paths = [Path(path) for path in step["outputs"]]
        absent = [path for path in paths if not path.exists()]
        dates = [path.stat().st_mtime for path in paths if path.exists()]
        if not absent and (min(dates) >= newest or not dated):
            newest = max(dates)
            continue
        if absent:
            reason = _end_of_log(step["log"]) or (
                f"{listed(absent)}: not made, and no log was written; the run was interrupted or "
                "an earlier step failed."
            )
        else:
            reason = "Not made anew in this run, which was interrupted: run again."
        return {
            "study": step.get("study", chain["study"]),
            "source": step.get("source", chain["source"]),
            "stage": step["stage"],
            "reason": reason,
            "log": step["log"],
            "affects": [chain["source"]],
        }
    return None


def _end_of_log(path):
    """A log from its last error on; its last lines if it has none."""
    path = Path(path)
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    errors = [k for k, line in enumerate(lines) if line.startswith("ERROR:")]
    return "\n".join(lines[errors[-1] :] if errors else lines[-20:])


def measurements_and_failures(chains, dated=False):
    """The metrics of every whole chain, and why the others broke.

    A table behind a broken step may be left from an earlier run, so it is not read. One
    failed step is one failure, however many results it takes with it. For `dated` see
    `first_failure`.

    Returns
    -------
    metrics : pandas.DataFrame
    failures : list of dict
    """
    import pandas as pd

    tables, failures = [], {}
    for chain in chains:
        failure = first_failure(chain, dated)
        if failure is None:
            tables.append(read_table(chain["steps"][-1]["outputs"][0]))
            continue
        known = failures.setdefault((failure["stage"], failure["log"]), failure)
        known["affects"] = list(dict.fromkeys(known["affects"] + failure["affects"]))
    columns = [name for name, _ in METRICS]
    metrics = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
    return metrics, list(failures.values())


def draw_study(name, shown, metrics, results, folder=None):
    """Draw the figures of one study; return the paths by figure name.

    They go to `folder`, by default the study's own folder of figures.
    """
    paths = {}
    study = StudyResults(name, shown, metrics, Path(results) / name)
    for figure in shown["figures"]:
        paths[figure] = Path(folder or Path(results) / name / "figures") / f"{figure}.svg"
        save_svg(load("figure", figure)(study), paths[figure])
        log.info("%s: drew %s", name, figure)
    return paths


def draw(job):
    """Draw the figures of a study: stage draw."""
    import pandas as pd

    given = job.given
    metrics = pd.concat([read_table(path) for path in job.input.metrics], ignore_index=True)
    draw_study(given["study"], given["shown"], metrics, Path(job.output[0]).parents[2])


def report(job):
    """Assemble the report: stage report."""
    results = Path(job.output.html).parent
    assemble(job.given["shown"], job.given["chains"], job.input.claims, results)
    job.log.info("wrote %s", job.output.html)


def assemble(shown, chains, claims_files, results, *, partial=False):
    """Write the tables, the claims and the report.

    Parameters
    ----------
    shown : dict
        From ``counterweight.reporting.page.plan.report_plan``.
    chains : list of dict
        How each table of measurements comes about; see `first_failure`.
    claims_files : sequence of path
    results : path
        Folder of results.
    partial : bool
        Whether some chains may be broken. The report then marks what is missing; without
        it a broken chain is an error.

    Returns
    -------
    list of dict
        Failures.
    """
    results = Path(results)
    metrics, failures = measurements_and_failures(chains, dated=partial)
    if failures and not partial:
        names = listed(f"{failure['study']} {failure['source']}".strip() for failure in failures)
        raise CounterweightError(f"Measurements are missing ({names}): run the workflow again.")
    figures = {}
    for name, study in shown["studies"].items():
        if partial:
            drawn = _drawn_if_possible(name, study, metrics, results)
        else:
            drawn = {
                figure: (results / name / "figures" / f"{figure}.svg").read_text(encoding="utf-8")
                for figure in study["figures"]
            }
        figures |= {(name, figure): svg for figure, svg in drawn.items()}
    claims, printed = load_claims(claims_files)
    decided = decide(claims, metrics, shown, failures)
    html = build_report(shown, metrics, decided, failures, figures, printed)
    tables = {
        f"{study}-{target}": table
        for (study, target), table in all_tables(metrics, shown, printed, failures).items()
    }
    if not partial:
        write_table(results / "tables" / "metrics.parquet", metrics, METRICS)
        for name, table in tables.items():
            write_table(results / "tables" / f"{name}.parquet", table)
            with replacing(results / "tables" / f"{name}.csv") as path:
                table.to_csv(path, index=False)
        write_table(results / "claims.parquet", decided, LAYOUT)
        with replacing(results / "claims.csv") as path:
            decided.to_csv(path, index=False)
    with replacing(results / "report.html") as path:
        path.write_text(html, encoding="utf-8")
    return failures


def _drawn_if_possible(name, study, metrics, results):
    """Figures of what is there, as text; one that cannot be drawn is left out, and said.

    They are drawn aside: in their place, a later run would take them for the whole ones.
    """
    drawn = {}
    with tempfile.TemporaryDirectory() as folder:
        for figure in study["figures"]:
            try:
                paths = draw_study(name, study | {"figures": [figure]}, metrics, results, folder)
                drawn[figure] = paths[figure].read_text(encoding="utf-8")
            except (CounterweightError, KeyError, ValueError, IndexError) as error:
                log.warning("%s: figure %s cannot be drawn: %s", name, figure, error)
    return drawn


def main():
    """Partial report after a failed run; reads the arguments of `assemble` as JSON."""
    given = json.load(sys.stdin)
    try:
        failures = assemble(
            given["shown"], given["chains"], given["claims"], given["results"], partial=True
        )
    except CounterweightError as error:
        sys.exit(f"ERROR: {error}")
    for failure in failures:
        what = " ".join(filter(None, [failure["study"], failure["source"]]))
        print(f"FAILED {failure['stage']} {what} (log: {failure['log']})")
        for line in failure["reason"].splitlines()[-8:]:
            print(f"    {line}")
    if not failures:
        print("Nothing that the report needs is missing: see the messages above.")
    if any(failure["stage"] == "download" for failure in failures):
        print("No network? `make demo` runs the whole workflow on generated data without one.")
    print(f"{given['results']}/report.html shows what there is and marks what failed.")


if __name__ == "__main__":
    main()
