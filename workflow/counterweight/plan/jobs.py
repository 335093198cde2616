"""What a job is, and where the files of a plan stand."""

from dataclasses import dataclass, field

from counterweight.plan import components, digests, tasks
from counterweight.plan.methods import begun_from


@dataclass(frozen=True)
class Job:
    """One job of a stage, as a task (or a source of data) plans it.

    Attributes
    ----------
    run : str
        ``module:function`` that the script of the stage calls.
    inputs, outputs : dict of str to (str or list of str)
        Files by role that it reads, an empty list where it needs none of that role, and writes
        (outputs for stages whose files differ by study).
    given : dict
        What it is told, JSON-able and no more than it needs: what stands here decides whether
        the job runs again.
    uses : tuple of (str, str)
        Kind and name of each component that it looks up by name. Any other look-up is refused.
    files : tuple of str
        Files that count as its code, e.g. templates.
    modules : tuple of str
        Modules that it imports by a text that it is told. Any other such import is refused.
    copies : bool
        Whether it hands on bytes as they are: then no version of a library makes it run again.
    own : tuple of str
        Files and folders of a person's own that it reads, most of them among its inputs: their
        content decides whether the job runs again, and never their date.
    key : str
        File of the secret key that randomisation goes by; "" where there is none.
    """

    run: str
    inputs: dict = field(default_factory=dict)
    given: dict = field(default_factory=dict)
    uses: tuple = ()
    outputs: dict = field(default_factory=dict)
    files: tuple = ()
    modules: tuple = ()
    copies: bool = False
    own: tuple = ()
    key: str = ""

    def spec(self, script, content=None):
        """The job spec, for params: what it runs, is told and looks up, its code and libraries.

        `content` has digests of files of one's own, by path.
        """
        parts = script, self.run, self.uses
        return {
            "run": self.run,
            "given": self.given,
            "uses": [list(pair) for pair in self.uses],
            "modules": list(self.modules),
            "code": digests.code(*parts, self.files, self.modules),
            "libraries": {} if self.copies else digests.libraries(*parts, self.modules),
        } | ({"content": content} if content else {})


def chosen(part, key):
    """A component of a study with its options, for a job spec."""
    return {"name": part[key], "options": part["options"]}


def draws(plan, study):
    """What every random stream of a study derives from."""
    return {"seed": plan["seed"], "stream": study["stream"]}


def columns_job(dataset, plan, paths):
    """The job that tells what each column of a table of one's own is; None for other data sets."""
    settings = plan["datasets"][dataset]
    if not paths.columns(dataset):
        return None
    given = {key: settings[key] for key in ("path", "reading") if key in settings}
    return Job(
        "counterweight.labeling.column_report:tell_columns",
        {"table": paths.prepared(dataset)},
        given
        | {"roles": settings.get("roles", {}), "keep": settings.get("columns", {}).get("keep", [])},
        outputs={"columns": paths.columns(dataset), "csv": paths.columns_read(dataset)},
    )


def roles_of(plan, study):
    """The roles of columns of a study's own table, for a job that reads its column report."""
    roles = plan["datasets"][study["dataset"]].get("roles")
    return {"roles": roles} if roles else {}


def labeling_of(study):
    """Rules of the labeling stage with their options, and as look-ups."""
    keys = {"features": "recipe", "outcome": "rule", "labeling": "rule"}
    given = {part: chosen(study[part], key) for part, key in keys.items()}
    return given, tuple((part, rules["name"]) for part, rules in given.items())


def weighing_of(plan, study, weighting):
    """What a job that computes weights is told, and as a look-up."""
    spec = study["weightings"][weighting]
    told = {key: value for key, value in spec.items() if key not in ("name", "selector")}
    return {"weighting": told} | draws(plan, study), (("weighting", spec["weighting"]),)


def protocol_of(study):
    """The protocol of a study with its options, and as a look-up."""
    given = {"protocol": chosen(study["evaluation"], "protocol")}
    return given, (("protocol", given["protocol"]["name"]),)


#: Names below the folder of results that are not of studies.
RESERVED = (
    "benchmarks",
    "compared",
    "findings",
    "logs",
    "prepared",
    "provenance",
    "report",
    "run",
    "tables",
)


@dataclass(frozen=True)
class StudyPaths:
    """Files of one study.

    ``table`` is the prepared table of its data set, ``known`` what is known of one whose truth is
    known, ``columns`` the column report of a table of one's own; an empty list where there is none.
    """

    folder: str
    table: str
    known: str | list
    columns: str | list = ()

    @property
    def features(self):
        return f"{self.folder}/features.parquet"

    @property
    def labels(self):
        return f"{self.folder}/labels.parquet"

    @property
    def truth(self):
        return f"{self.folder}/truth.parquet"

    def selection(self, selector):
        return f"{self.folder}/selection/{selector}.parquet"

    def selection_model(self, selector):
        return f"{self.folder}/selection/{selector}.model.parquet"

    def weights(self, weighting):
        return f"{self.folder}/weights/{weighting}.parquet"

    def sums(self, part):
        return f"{self.folder}/sums/{part}.parquet"

    def model(self, method):
        return f"{self.folder}/models/{method}.parquet"

    def predictions(self, method):
        return f"{self.folder}/predictions/{method}.parquet"

    def rehearsal(self, copy):
        return f"{self.folder}/rehearsal/{copy}.parquet"

    def metrics(self, source):
        return f"{self.folder}/metrics/{source}.parquet"


class Paths:
    """Files of a plan, as `counterweight.plan.config.resolve` makes it."""

    def __init__(self, plan):
        self.plan = plan
        self.results, self.data = plan["results"], plan["data"]
        #: Where the folders of studies stand: a study that has a run of its own shares its folder.
        self.place = plan.get("place", plan["results"])

    def source(self, dataset):
        """Where a data set comes from: download, generated, simulated or own."""
        return self.plan["datasets"][dataset]["source"]

    def raw(self, dataset):
        """Raw files of a data set, downloaded or generated."""
        folder = "generated" if self.source(dataset) == "generated" else "raw"
        names = components.declared("dataset", dataset, "FILES", {})
        return [f"{self.data}/{folder}/{dataset}/{name}" for name in names]

    def prepared(self, dataset):
        """The typed table of a data set."""
        # What columns of a table of one's own are depends on what is asked of them, so it stands
        # with the answers: another question keeps its own.
        folder = {
            "generated": f"{self.data}/prepared/generated",
            "own": f"{self.results}/prepared",
        }.get(self.source(dataset), f"{self.data}/prepared")
        return f"{folder}/{dataset}.parquet"

    def columns(self, dataset):
        """The column report of a table of one's own; an empty list for others."""
        if self.source(dataset) != "own":
            return []
        return f"{self.results}/prepared/{dataset}.columns.parquet"

    def columns_read(self, dataset):
        """The same for people, as CSV beside the report's tables."""
        if not self.columns(dataset):
            return []
        return f"{self.results}/tables/{dataset}.columns.csv"

    def known(self, dataset):
        """What is known of a data set whose truth is known; an empty list for real data."""
        if self.source(dataset) == "generated":
            return f"{self.data}/generated/{dataset}/truth.parquet"
        if self.source(dataset) == "simulated":
            return f"{self.data}/prepared/{dataset}.truth.parquet"
        return []

    def study(self, name):
        dataset = self.plan["studies"][name]["dataset"]
        return StudyPaths(
            f"{self.place}/{name}",
            self.prepared(dataset),
            self.known(dataset),
            self.columns(dataset),
        )

    def log(self, *parts):
        return "/".join([self.results, "logs", *parts]) + ".log"

    def figures(self, study):
        """Files of every figure of a study, wide, narrow and its numbers; then all titles."""
        folder, figures = f"{self.place}/{study}/figures", self.plan["studies"][study]["figures"]
        endings = (".svg", "-narrow.svg", ".csv")
        files = [f"{folder}/{figure}{ending}" for figure in figures for ending in endings]
        return [*files, f"{folder}/figures.parquet"] if files else []

    def chains(self, studies=None):
        """How each table of measurements, and what is delivered, comes about, step by step.

        What a failed run leaves is told apart by them: ``study``, ``source``, ``measured`` (whether
        the first output of the last step is a table of measurements) and ``steps``, each with
        ``stage``, ``source``, ``outputs`` and ``log``.
        """
        names = self.plan["studies"] if studies is None else studies
        return [chain for name in names for chain in self._chains_of(name)]

    def measurements(self, studies=None):
        """Every table of measurements of the studies (all of them by default)."""
        chains = [chain for chain in self.chains(studies) if chain["measured"]]
        return [chain["steps"][-1]["outputs"][0] for chain in chains]

    def _chains_of(self, name):
        study, at = self.plan["studies"][name], self.study(name)

        def step(stage, source, *outputs):
            log = self.log(stage, name, source)
            return {"stage": stage, "source": source, "outputs": list(outputs), "log": log}

        def chain(source, steps, measured=True):
            return {"study": name, "source": source, "steps": steps, "measured": measured}

        task = tasks.module_of(study)
        parts = task.parts(self.plan, study)
        before = [step("sum", part, at.sums(part)) for part in parts]
        labeled = (before or self._dataset_steps(study["dataset"])) + [
            step("label", "labels", at.metrics("labels"), at.labels)
            | {"log": self.log("label", name)}
        ]
        yield chain("labels", labeled)
        selected, weighted, trained = {}, {}, {}
        for selector in study["selectors"]:
            outputs = at.metrics(f"selection_{selector}"), at.selection(selector)
            selected[selector] = labeled + [step("select", selector, *outputs)]
            yield chain(selector, selected[selector])
        for weighting, spec in study["weightings"].items():
            outputs = at.metrics(f"weights_{weighting}"), at.weights(weighting)
            before = selected.get(spec["selector"], labeled)
            weighted[weighting] = before + [step("weigh", weighting, *outputs)]
            yield chain(weighting, weighted[weighting])
        # Models that others begin from come first.
        begins = {method: begun_from(study, method) for method in study["methods"]}
        for method in sorted(begins, key=lambda one: bool(begins[one])):
            spec = study["methods"][method]
            steps = list(weighted.get(spec["weights"], labeled))
            for begun in begins[method]:
                steps += [part for part in trained[begun] if part not in steps]
            trained[method] = steps
            if not parts:
                files = at.predictions(method), at.model(method)
                trained[method] = [*steps, step("train", method, *files)]
            if spec["reported"]:
                measured = step("evaluate", method, at.metrics(method))
                yield chain(method, trained[method] + [measured])
        steps, order = labeled, ["collect", "deliver", "apply"]
        if task.COLLECTS_LAST:
            order = ["deliver", "collect", "apply"]
        for stage in order:
            planned = getattr(task, f"plan_{stage}")
            job = planned(self.plan, study, at)
            if not job or (stage == "apply" and not study["score"]):
                continue
            outputs = dict(job.outputs)
            table = outputs.pop("metrics", None)
            source = {"deliver": "delivered", "apply": "new rows"}.get(stage, stage)
            made = step(stage, source, *filter(None, [table, *outputs.values()]))
            steps = steps + [made | {"log": self.log(stage, name)}]
            yield chain(source, steps, table is not None)
        if rehearsed := task.plan_rehearsed(self.plan, study, at):
            made = step("rehearsed", "rehearsal", rehearsed.outputs["metrics"])
            yield chain("rehearsal", steps + [made | {"log": self.log("rehearsed", name)}])

    def _dataset_steps(self, dataset):
        """Steps from the source of a data set to its typed table."""
        steps = [("prepare", [self.prepared(dataset)])]
        if self.raw(dataset):
            steps.insert(0, ("download", self.raw(dataset)))
        if self.columns(dataset):
            steps.append(("columns", [self.columns(dataset)]))
        whose = {"study": "", "source": dataset}
        return [
            whose | {"stage": stage, "outputs": outputs, "log": self.log(stage, dataset)}
            for stage, outputs in steps
        ]
