"""Notes every file that a job opens and its rule does not declare: see `conftest.Copy.run`.

Python imports this by its name where the folder is on the search path. Opens by Python raise audit
events; pyarrow opens in C++, so what it is given by name is noted before.
"""

import json
import os
import sys
import threading

#: File that takes a line for each such open.
NOTES = os.environ.get("OPENED_NOTES")
#: What this opens and imports itself is no matter of the job's.
NOTING = threading.Event()


def declared(job):
    """Absolute paths of what a rule declares: files, and those whose digests it is told."""
    parts = job.input, job.output, job.log, job.params.job.get("content", ())
    return {os.path.abspath(path) for part in parts for path in part}


def allowed(path, job):
    """Whether a job may open a path: declared or on its way to be, code, libraries, temporary."""
    folder, name = os.path.split(path)
    if name.startswith(".") and name.endswith(".unfinished"):
        # `.NAME.RANDOM.unfinished` beside NAME.
        path = os.path.join(folder, name[1:].removesuffix(".unfinished").rpartition(".")[0])
    here, searched = os.getcwd(), [os.path.abspath(root) for root in sys.path]
    roots = {os.path.join(here, part) for part in ("workflow/counterweight", "scripts")}
    # Libraries and temporary files, but not all of this run where it lies in such a folder.
    outside = {sys.prefix, sys.base_prefix, os.environ.get("TMPDIR", "/tmp"), *searched}
    outside |= {"/proc", "/sys", "/dev", "/etc", "/usr", "/lib"}
    roots |= {root for root in outside if not f"{here}/".startswith(f"{root}/")}
    within = any(f"{path}/".startswith(f"{root}/") for root in roots)
    if path in searched or within:
        return True
    # Where jobs note what the terminal was told.
    within |= folder == os.environ.get("COUNTERWEIGHT_TOLD")
    # Folders of what is declared may be listed: those of tables in parts.
    return any(one == path or one.startswith(f"{path}/") for one in declared(job))


def note(path):
    job = getattr(sys.modules.get("__main__"), "snakemake", None)
    if job is None or not isinstance(path, (str, bytes, os.PathLike)) or NOTING.is_set():
        return
    NOTING.set()
    try:
        path = os.path.abspath(os.fsdecode(path))
        if not allowed(path, job):
            line = json.dumps({"rule": job.rule, "log": list(job.log), "path": path}) + "\n"
            with open(NOTES, "a") as notes:
                notes.write(line)
    finally:
        NOTING.clear()


def heard(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "sqlite3.connect"):
        # A path, or the number of a file that is open already.
        note(arguments[0])


def watch():
    from pyarrow.parquet import core

    # Every reader and writer of Parquet goes through it.
    found = core._resolve_filesystem_and_path

    def noting(path, *arguments, **options):
        note(path)
        return found(path, *arguments, **options)

    core._resolve_filesystem_and_path = noting
    sys.addaudithook(heard)


if NOTES:
    watch()
