"""Every job of a plan, by stage: asked of the study's kind, of the data's source, of the report."""

import contextlib
import functools
import hashlib
import os
from pathlib import Path

from counterweight.errors import CounterweightError
from counterweight.plan import tasks
from counterweight.plan.digests import Contents
from counterweight.plan.jobs import Paths, columns_job

#: MB of memory by stage for each million values of a table: of its first `HELD` rows, held
#: whole, and of further ones. `needed` of tests/benchmarks/scale.py fits them to what jobs took
#: (tests/unit/plan/memory.csv); those of `collect` and `rehearse` are taken from stages like them.
#: A task whose jobs take less has numbers of its own (``MEMORY``).
MEMORY = {
    "prepare": (7, 37),
    "columns": (16, 52),
    "label": (65, 59),
    "select": (329, 63),
    "weigh": (274, 37),
    "train": (241, 133),
    "evaluate": (86, 111),
    "deliver": (420, 47),
    "collect": (420, 75),
    "rehearse": (420, 136),
    "draw": (21, 23),
}
#: MB of a job with its libraries and a small table, and how much more than was measured is asked.
OF_LIBRARIES, SPARE = 300, 1.2
#: Rows of which all is held at once; columns of a table that is not looked at.
HELD, COLUMNS = 100_000, 15
#: How many times as many bytes a packed text has.
PACKED = 5


def memory_of(stage, rows, columns, own=()):
    """MB that a job of a stage is to ask for, of a table of so many rows and columns.

    `own` are a task's numbers by stage, for those of `MEMORY`.
    """
    first, further = (MEMORY | dict(own)).get(stage, (0, 0))
    values = first * min(rows, HELD) + further * max(rows - HELD, 0)
    return int(-(-SPARE * (OF_LIBRARIES + values * columns / 1e6) // 100) * 100)


class Stages:
    """The jobs of a plan (of `counterweight.plan.config.resolve`).

    `scripts` is the folder of the scripts, one a stage; `kept` the file in which digests of large
    files of one's own are kept, see `Contents`.
    """

    def __init__(self, plan, scripts, kept=None):
        self.plan, self.paths, self.scripts = plan, Paths(plan), Path(scripts)
        self._contents = Contents(kept)
        self.job = functools.lru_cache(None)(self._job)
        self.spec = functools.lru_cache(None)(self._spec)
        self._size = functools.lru_cache(None)(self._size)

    def _job(self, stage, name="", item=""):
        """The job of a stage: of a data set, of a study, or of an item of a study."""
        from counterweight.datasets import sources
        from counterweight.reporting import report_jobs

        if stage in ("download", "prepare"):
            planned = {"download": sources.download_job, "prepare": sources.prepare_job}[stage]
            return planned(name, self.plan, self.paths)
        if stage == "columns":
            return columns_job(name, self.plan, self.paths)
        if stage == "report":
            return report_jobs.report_job(self.plan, self.paths, self._with_own_files)
        if stage == "page":
            return report_jobs.page_job(self.plan, self.paths, name, self._with_own_files)
        if stage == "draw":
            return report_jobs.draw_job(self.plan, self.paths, name)
        study = self.plan["studies"][name]
        planned = getattr(tasks.module_of(study), f"plan_{stage}")
        return planned(self.plan, study, *([item] if item else []), self.paths.study(name))

    def _spec(self, stage, name="", item=""):
        """The job spec for params; arguments as `job`."""
        job = self.job(stage, name, item)
        return job.spec(str(self.scripts / f"{stage}.py"), self.content(job))

    def _with_own_files(self, names):
        """Jobs of studies that read files of one's own: tables, parts, targets, new rows, keys."""
        asked = []
        for name in names:
            study = self.plan["studies"][name]
            asked.append(("prepare", study["dataset"]))
            parts = tasks.module_of(study).parts(self.plan, study)
            asked += [("sum", name, part) for part in parts]
            asked += [("weigh", name, weighting) for weighting in study["weightings"]]
            asked += [("collect", name), ("deliver", name)] + [("apply", name)] * bool(
                study["score"]
            )
        found = [self.job(*one) for one in dict.fromkeys(asked)]
        return [job for job in found if job and (job.own or job.key)]

    def content(self, job):
        """Digests of the files and folders of one's own that a job reads, by path.

        That of a folder is of its parts and their names, that of a key of what it may tell; "" of
        what is not there or cannot be read, which the job tells.
        """
        found = {path: self._content(path) for path in job.own}
        return found | ({job.key: _digest_of_key(job.key)} if job.key else {})

    def _content(self, path):
        from counterweight.tables.table_reader import parts_of

        with contextlib.suppress(OSError, CounterweightError):
            if not os.path.isdir(path):
                return self._contents.of(path)
            parts = [(self._contents.of(part), part) for part, _ in parts_of(path, "")]
            lines = [f"{digest}  {part.relative_to(path)}\n" for digest, part in parts]
            return hashlib.sha256("".join(lines).encode()).hexdigest()
        return ""

    def memory(self, stage, name, least):
        """MB that the first try of a job asks for, by the rows and columns of its table.

        `name` is of a data set or of a study; `least` is what the rule asks for small tables. Jobs
        of tasks that read rows in batches (``STREAMS``) need no more than that.
        """
        own = {}
        if name in self.plan["studies"] and stage not in ("prepare", "columns"):
            found = tasks.module_of(self.plan["studies"][name])
            if found.STREAMS:
                return least
            name, own = self.plan["studies"][name]["dataset"], found.MEMORY
        return max(least, memory_of(stage, *self._size(name), own))

    def _size(self, dataset):
        """Rows and columns of a data set, as far as its files tell; 0 rows where none does."""
        from counterweight.tables.table_reader import size_of

        settings = self.plan["datasets"][dataset]
        if "path" in settings:
            with contextlib.suppress(OSError, CounterweightError):
                return size_of(settings["path"], settings.get("reading"), PACKED)
        return settings.get("rows") or 0, COLUMNS

    def left_over(self):
        """Tables of answers in the folders of studies that no job of the plan makes.

        They are of another question, or of new rows that are not asked about any more.
        """
        found = []
        for name in self.plan["studies"]:
            at, steps = self.paths.study(name), self.paths.chains([name])
            made = {path for one in steps for step in one["steps"] for path in step["outputs"]}
            made |= {at.features, at.labels, at.truth}
            for stage in ("collect", "deliver", "apply"):
                made.update(job.outputs.values() if (job := self.job(stage, name)) else ())
            files = sorted(Path(at.folder).glob("*.*"))
            known = {os.path.abspath(path) for path in made}
            found += [
                str(file)
                for file in files
                if file.suffix in (".csv", ".parquet", ".md") and file.name[0] != "."
                if os.path.abspath(file) not in known
            ]
        return found

    def inputs(self, stage, name="", item="", making=False):
        """Inputs of a job by role; the key that it draws by among them.

        With `making` the key is made where there is none: before a run, so that the job finds what
        its parameters speak of.
        """
        from counterweight.numerics.coins import VARIABLE, own_key

        job = self.job(stage, name, item)
        if not job.key:
            return job.inputs
        there = os.path.exists(job.key)
        if making and not there and VARIABLE not in os.environ:
            own_key(job.key)
            there = True
        return job.inputs | {"key": job.key if there and VARIABLE not in os.environ else []}

    def applied(self):
        """Study whose saved model is applied to new rows; see `plan.tasks.applied`."""
        giving = [
            name
            for name, study in self.plan["studies"].items()
            if self.job("apply", name) and not study["score"]
        ]
        return tasks.applied(self.plan, giving)


def _digest_of_key(path):
    from counterweight.numerics.coins import read_key

    with contextlib.suppress(CounterweightError):
        return read_key(path).digest
    return ""
