"""Helpers of all stages: the checked plan and its jobs.

The plan is the config with every default spelled out (counterweight.plan.config). The task of a
study decides what each of its jobs reads and is told (counterweight.tasks); a rule takes its inputs
and one job spec from there.
"""

import base64
import contextlib
import csv
import gc
import json
import logging
import shutil
import signal
import subprocess
import tempfile
import threading
import time

# Of this checkout, also where another workflow uses it as a module.
HOME = Path(str(workflow.current_basedir.get_path_or_uri(secret_free=True))).parents[1]
LIBRARY = HOME / "workflow"
sys.path.insert(0, str(LIBRARY))
# Jobs import the library from this checkout, on this machine and on a cluster.
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, [str(LIBRARY), os.getenv("PYTHONPATH")]))
)

from counterweight.errors import CounterweightError
from counterweight.errors import listed as listed_words
from counterweight.tables.fork_server import Forks, known_scripts, loaded_for, tell
from counterweight.tables.jobs import TOLD, largest_memory, repeats_told
from counterweight.tables.parquet import as_json, read_table, replacing, swept
from counterweight.plan.benchmarks import Benchmarks
from counterweight.plan.own import TABLES, tables_to_keep
from counterweight.plan.reading import planned
from counterweight.plan.stages import Stages
from counterweight.reporting.blocks import (
    COSTS,
    LEDGER,
    PARTIAL,
    families,
    write_costs,
)
from counterweight.reporting.report_jobs import partial_job
from counterweight.reporting.wording import leaks_in_words

from snakemake import __version__ as SNAKEMAKE
from snakemake.exceptions import WorkflowError

# What is loaded stays: to look for garbage among it takes a tenth of a plan and more.
gc.freeze()

try:
    from snakemake import script as SCRIPTS
except ImportError:
    SCRIPTS = None

try:
    # A module has the config that it is given, and no config.yaml below it.
    in_module = workflow.modifier.skip_configfile
    GIVEN = config if in_module else workflow.config_settings.overwrite_config
    PLAN = planned(config, GIVEN, workflow.configfiles, HOME)
    STAGES = Stages(PLAN, HOME / "scripts", ".snakemake/digests_of_own_files")
    APPLIED = STAGES.applied()
    BENCHMARKS = Benchmarks(STAGES)
    for dataset_name in PLAN["datasets"]:
        STAGES.job("prepare", dataset_name)
except CounterweightError as error:
    raise WorkflowError(f"The config has a mistake.\n{error}")

PATHS, STUDIES = STAGES.paths, PLAN["studies"]
RESULTS, PLACE = PATHS.results, PATHS.place
job, spec = STAGES.job, STAGES.spec
ENVIRONMENT = "../../envs/counterweight.yaml"
#: Where files go with `--default-storage-provider`; empty where that is this machine.
STORE = ""
if workflow.storage_settings.default_storage_provider:
    STORE = f"{workflow.storage_settings.default_storage_prefix or ''}".rstrip("/")
    STORE = f"{STORE}/"

# For --sdm apptainer; without that option the image is not looked at.
if PLAN["container"]:

    container: PLAN["container"]


# Where files are is no setting of a job: a path to a mirror in params would re-run downloads.
if PLAN["data_mirror"]:
    os.environ.update(COUNTERWEIGHT_MIRROR=PLAN["data_mirror"])


wildcard_constraints:
    study="[a-z][a-z0-9_]*",
    part="[A-Za-z][A-Za-z0-9_]*",
    selector="[A-Za-z][A-Za-z0-9_]*",
    rehearsal="[a-z]+_[0-9]+",
    weighting="[A-Za-z][A-Za-z0-9_-]*",
    method=r"(?!collect(?:\.|$)|labels(?:\.|$)|delivered(?:\.|$)|rehearsal(?:\.|$)|new_rows(?:\.|$)|selection_|weights_)[A-Za-z][A-Za-z0-9_.-]*",


#: What an item of a study is called in the files of a stage.
ITEMS = {
    "sum": "{part}",
    "label": "",
    "select": "{selector}",
    "weigh": "{weighting}",
    "train": "{method}",
    "evaluate": "{method}",
    "rehearse": "{rehearsal}",
}


def listed(outputs):
    """Every path among outputs by role."""
    parts = outputs.values()
    return [
        path for part in parts for path in ([part] if isinstance(part, str) else part)
    ]


def inputs_of(stage, *name):
    """Function that gives the inputs of a job; of its wildcards' study where none is named.

    Of one's own files the content stands in params, so their dates say nothing. In a module they
    may come from rules of the other workflow, which Snakemake follows by dates.
    """

    def asked(wildcards):
        named = name or (wildcards.study, ITEMS[stage].format(**wildcards))
        making = workflow.is_main_process and not workflow.dryrun
        own = set() if in_module else {*job(stage, *named).own}
        given = STAGES.inputs(stage, *named, making=making)

        return all_here(given, own)

    return asked


#: Folders of what jobs make.
MADE = (Path(RESULTS), Path(PLAN["data"]))


def all_here(inputs, own=()):
    """Inputs by role; what no job makes is on this machine, also where results are in object storage.

    The dates of one's own files say nothing.
    """

    def marked(part):
        if not isinstance(part, str):
            return [marked(path) for path in part]
        of_a_job = any(folder in Path(part).parents for folder in MADE)
        path = part if in_module or of_a_job else local(part)
        return ancient(path) if part in own else path

    return {role: marked(part) for role, part in inputs.items()}


def spec_of(stage, *name):
    """The same of job specs: with digests of one's own files, so only where a job is looked at."""
    planned = BENCHMARKS.spec if stage in ("compare", "compared") else spec
    return lambda wildcards: planned(
        stage, *(name or (wildcards.study, ITEMS[stage].format(**wildcards)))
    )


def more(amount):
    """Memory (MB) or time (minutes) of a rule: as much again at each new try of a failed job."""
    return lambda wildcards, attempt: amount * attempt


def needed(stage, least, name=None):
    """Memory (MB) of a rule by the rows and columns of its table, of a job's study if none is named.

    It is at least so much, and as much again at each new try.
    """
    return lambda wildcards, attempt: attempt * STAGES.memory(
        stage, name or wildcards.study, least
    )


def downloaded(dataset):
    """Raw files of a data set; those that were put there by hand are not deleted first."""
    outputs = dict(job("download", dataset).outputs)
    if PATHS.source(dataset) == "download":
        outputs["files"] = [update(path) for path in outputs["files"]]
    return outputs


def ledger():
    """Files of the claims of the papers, where there are any."""
    captions = {"claims_csv": ("claims", "Claims"), "claims_page": ("report", "Pages")}
    outputs = job("report").outputs
    files = {role: outputs[role] for role in LEDGER if role in outputs}
    for role in captions.keys() & files.keys():
        caption, category = captions[role]
        caption = f"../report/{caption}.rst"
        files[role] = report(files[role], caption=caption, category=category)
    return files


def given_away():
    """Everything that the studies give away, and its use on new rows that the config names."""
    jobs = [job(stage, study) for stage in ("collect", "deliver") for study in STUDIES]
    jobs += [job("apply", study) for study in STUDIES if STUDIES[study]["score"]]
    return [path for gift in jobs if gift for path in gift.outputs.values()]


def note(kind, path):
    """File of a note of Snakemake's on a file."""
    name = base64.urlsafe_b64encode(path.encode()).decode()
    *dirs, last = (name[at : at + 254] for at in range(0, len(name), 254))
    return Path(".snakemake", kind, *(f"@{d}" for d in dirs), last)


def noted(path):
    """Whether Snakemake has a note on what a file was made from, or that it is half made."""
    return any(note(kind, path).exists() for kind in ("metadata", "incomplete"))


def left_by(path):
    """Rule whose job left a file as it is now; "" of files that nobody noted or changed since."""
    with contextlib.suppress(OSError, ValueError):
        known = json.loads(note("metadata", path).read_text(encoding="utf-8"))
        if os.path.getmtime(path) <= known["endtime"] + 1:
            return known["rule"] or ""
    return ""


def asked_for():
    """Files of all jobs of what this run was asked for, done or to do."""
    return {str(path) for one in workflow.dag.jobs for path in one.output}


def cleared(old):
    """Delete what jobs of earlier runs made and the plan does not; the files.

    They are among `old`, and pages and tables of the report, where this run was asked for one. A
    plan of labels stays: it may be with those who label.
    """
    made = asked_for()
    if f"{RESULTS}/report.html" not in made:
        return []
    gone = [path for path in old if left_by(path).startswith(("deliver_", "apply_"))]
    for folder in ("findings", "provenance", "report", "tables"):
        folder = f"{RESULTS}/{folder}"
        names = os.listdir(folder) if os.path.isdir(folder) else ()
        files = (f"{folder}/{name}" for name in names)
        of_pages = (
            one for one in files if left_by(one).startswith(("page_", "report"))
        )
        gone += sorted({*of_pages} - made)
    for path in gone:
        os.unlink(path)
    return gone


def of_unknown_origin():
    """Studies whose results came without Snakemake's notes on what each file was made from."""
    for study in STUDIES:
        made = [path for path in PATHS.measurements([study]) if Path(path).exists()]
        if made and not any(map(noted, made)):
            yield study


if workflow.is_main_process and (unknown := [*of_unknown_origin()]):
    which = (
        "The files"
        if len(unknown) == len(STUDIES)
        else f"Those of {listed_words(unknown)}"
    )
    print(
        f"{which} in {RESULTS} came without the folder .snakemake, which says what each was "
        "made from. They are taken as they are, or made anew where they are older than what "
        "they were made from; other differences cannot be seen. Copy .snakemake as well, or "
        "make all anew: delete them, or run with --forceall.",
        file=sys.stderr,
    )


def tell_left_over(files):
    """Say which files in the folders of studies are not of what is asked now."""
    told = listed_words(files)
    if files:
        print(
            f"Of an earlier run, and not made anew by what is asked now: {told}.",
            file=sys.stderr,
        )


if in_module and workflow.is_main_process:  # its runs end as the other workflow says
    tell_left_over(STAGES.left_over())


def applying_only():
    """Whether this run was asked for nothing but the rule `apply`."""
    return set(workflow.dag_settings.targets or ()) == {"apply"}


def started():
    """What a run begins with: leftovers of killed jobs go, and the limit of submissions."""
    if gone := swept([RESULTS, PLAN["data"]]):
        print(
            f"Removed {gone} unfinished files that killed jobs left.", file=sys.stderr
        )
    if (tables := tables_to_keep(PLAN)) is not None:
        with replacing(Path(RESULTS, TABLES)) as path:
            path.write_text(as_json(tables, indent=1) + "\n", encoding="utf-8")
    # A log that cannot be written, as on a full disk, is told once, by what else fails there.
    logging.raiseExceptions = False
    os.environ[TOLD] = tempfile.mkdtemp(prefix="counterweight-told-")
    submit_without_limit()
    fork_jobs()
    if not says_little():
        tell_progress()


def says_little():
    """Whether the terminal has our own lines (make's `SAID`) in place of Snakemake's."""
    return "counterweight" in workflow.output_settings.log_handler_settings


#: Seconds between two lines on how far a run is.
TOLD_EVERY = 60


def tell_progress():
    """Say once a minute how many jobs are left; jobs differ, so no time is foretold."""
    begun = told = time.monotonic()

    def tell(record):
        nonlocal told
        done, now = getattr(record, "done", 0), time.monotonic()
        left = getattr(record, "total", 0) - done
        if done and left > 0 and now - told >= TOLD_EVERY:
            told, minutes = now, round((now - begun) / 60)
            unit = "minute" if minutes == 1 else "minutes"
            print(
                f"{left} jobs are left after {minutes} {unit}.",
                file=sys.stderr,
                flush=True,
            )

    follower = logging.Handler()
    follower.emit = tell
    logging.getLogger("snakemake.logging").addHandler(follower)


def submit_without_limit():
    """Lift Snakemake's limit of submissions for jobs of this machine; a cluster keeps it.

    With the limit each job that ends starts one more timer that renews itself, and each tick looks
    at all jobs that are ready: in a long run that is as much work as the jobs.
    """
    if workflow.local_exec and hasattr(workflow.scheduler, "job_rate_limiter"):
        workflow.scheduler.job_rate_limiter = None


#: Fewer jobs than this do not pay for the process that they would be forks of.
FORKED_FROM = 5
#: Most MB of memory that a job had.
LARGEST = [0]


def fork_jobs():
    """Run the scripts of this machine ourselves: then how each ends is known, and said.

    On Linux they are forks of a process that has the libraries loaded. Elsewhere (cluster,
    container, conda, a Snakemake that begins scripts in another way) Snakemake runs them. Its
    interface for executors knows no script of a job, only the call of another Snakemake for it:
    docs/operations.md has what that takes.
    """
    jobs = sum(1 for _ in workflow.dag.needrun_jobs())
    if os.name != "posix" or not workflow.local_exec:
        return
    if not (scripts := known_scripts(SCRIPTS)):
        print(
            f"Snakemake {SNAKEMAKE} begins scripts in a way that is not known here: each "
            "job loads its libraries by itself, which takes a second. Results are the same.",
            file=sys.stderr,
        )
        return
    forks = Forks(sys.platform == "linux" and jobs >= FORKED_FROM, loaded_for(jobs))
    plain = scripts.execute_script

    def forked(script, file, edit=False):
        if edit or script.conda_env or script.container_img or script.env_modules:
            return plain(script, file, edit)
        # What an earlier try said is not why this one ends.
        with contextlib.suppress(OSError):
            os.unlink(script.log[0])
        folder = script.resources.get("tmpdir")
        began = time.time()
        _, ended = forks.begun(file, {"TMPDIR": folder} if folder else {})
        end = ended()
        LARGEST[0] = max(*LARGEST, end.memory or 0)
        if record := script.bench_record:
            record.running_time = time.time() - began
            if end.memory is not None:
                # The system's count of the whole job. Snakemake would look twice a second, which
                # costs a tenth of a run of short jobs, and misses most of them.
                record.cpu_time, record.cpu_usage = end.seconds, 100 * end.seconds
                record.max_rss, record.data_collected = end.memory, True
        if end.status:
            raise WorkflowError(tell(script.log[0], end))

    scripts.execute_script = forked
    stop_once(forks)


def stop_once(forks):
    """Let Ctrl-C stop the run once; who presses it again has the jobs at work killed."""

    def stop(*_):
        signal.signal(signal.SIGINT, lambda *_: forks.kill())
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, stop)


def what_was_made():
    """How a run ends: the answers of tables of one's own, their files, the page."""
    tell_repeats()
    made = "filtered.csv" if applying_only() else "report.html"
    said = [] if applying_only() or tables_to_keep(PLAN) is None else [*own_answers()]
    if STORE:
        return "\n".join(
            [*said, f"Done: it is in object storage, {STORE}{RESULTS}/{made}."]
        )
    Path(RESULTS, PARTIAL).unlink(missing_ok=True)
    write_costs(RESULTS)
    old = STAGES.left_over()
    if gone := cleared(old):
        told = listed_words(gone)
        print(
            f"Deleted, since they are of an earlier run and not asked for now: {told}."
        )
    tell_left_over([path for path in old if path not in gone])
    done = f"Done: open {RESULTS}/{made}. Time and memory by rule: {RESULTS}/{COSTS}"
    return "\n".join([*said, done])


def tell_nothing_to_do(record):
    """Tell the answer and where it is also where all is there: no hook is called then."""
    done = record.getMessage().startswith("Nothing to be done") and not workflow.dryrun
    if done and f"{RESULTS}/report.html" in asked_for():
        print(what_was_made())


if workflow.is_main_process and not in_module:
    follower = logging.Handler()
    follower.emit = tell_nothing_to_do
    logging.getLogger("snakemake.logging").addHandler(follower)


def tell_repeats():
    """Say how many warnings and errors the terminal was spared, since it had their like."""
    if not (folder := os.environ.pop(TOLD, None)):  # a dry run
        return
    if more := repeats_told(folder):
        print(f"{more} more like those above: see the logs in {RESULTS}/logs.")
    shutil.rmtree(folder, ignore_errors=True)


def own_answers():
    """The first sentence of each study, and the files that people open."""
    for family in families(PLAN):
        findings = job("page", family).outputs["findings"]
        if not os.path.exists(findings):  # a run was asked for single files
            continue
        found = read_table(findings)
        for study, answer in zip(found["study"], found["answer"]):
            first = f"{study}: " if len(STUDIES) > 1 else ""
            if answer:
                yield f"{first}{answer}"
            columns = Path(
                RESULTS, "tables", f"{STUDIES[study]['dataset']}.columns.csv"
            )
            if columns.exists():
                with open(columns, newline="", encoding="utf-8") as lines:
                    yield from (
                        first + told
                        for told in leaks_in_words([*csv.DictReader(lines)])
                    )
    files = [path for path in given_away() if not path.endswith(".parquet")]
    if files:
        yield f"Files: {', '.join(STORE + path for path in files)}"


def report_what_is_there():
    """Make one page of its own name from what is there; what earlier runs made stays."""
    tell_repeats()
    if applying_only():
        # A mistake in a table of new rows says nothing about the studies.
        return
    # Jobs of this machine have said in the terminal why they failed.
    told = workflow.local_exec and says_little()
    try:
        made = subprocess.run(
            [sys.executable, "-m", "counterweight.reporting.assemble"],
            input=json.dumps(partial_job(PLAN, PATHS) | {"told": told}),
            text=True,
            start_new_session=True,  # Ctrl-C is for the run
        )
        if made.returncode:
            print(
                f"The report of what is there could not be made; see the logs in {RESULTS}/logs."
            )
        largest = max(largest_memory(of_children=True), *LARGEST)
        print(f"The largest job of this run had {largest:.0f} MB of memory.")
    except OSError as error:
        print(f"The report of what is there could not be made: {error}")
