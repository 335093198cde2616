"""Benchmarks: the studies that a key ``benchmarks`` of the config spells out, and their jobs.

A benchmark is one study on every one of many data sets, under every one of several conditions. What
a data set and a condition change stands beside it, as changes of a study do; texts of the study in
braces stand for the words of the data set. All studies of one data set are one job, which runs
their stages as a workflow would.
"""

import copy
from collections.abc import Mapping

from counterweight.errors import CounterweightError, listed
from counterweight.plan import tasks
from counterweight.plan.jobs import Job, Paths
from counterweight.plan.methods import begun_from

#: The folder of results that their files stand in.
FOLDER = "compared"
_RUN = "counterweight.benchmark"
#: Stages of a study, and the item of it that each is about.
STAGES = {"select": "selectors", "weigh": "weightings", "train": "methods", "evaluate": "methods"}
#: What the plan tells of itself to the studies of a job.
_TOLD = ("seed", "metrics", "rates")


def studies_of(name, benchmark):
    """Every study of a benchmark as a config would have it: data set, condition and study.

    The study is changed by what stands with the data set, then by what stands with the condition.
    """
    for one, of_set in benchmark["sets"].items():
        words = {"set": one} | (of_set.get("words") or {})
        for condition, changes in benchmark["conditions"].items():
            study = copy.deepcopy(benchmark["study"])
            for change in (of_set.get("study") or {}, changes.get("study") or {}):
                study = _changed(study, change)
            where = f"benchmarks.{name}, data set {one}, condition {condition}"
            yield one, condition, _filled(study, words | (changes.get("words") or {}), where)


def _changed(study, changes):
    """A study with changes, key by key: what is no mapping is replaced."""
    study = dict(study) if isinstance(study, Mapping) else {}
    for key, value in changes.items():
        study[key] = _changed(study.get(key), value) if isinstance(value, Mapping) else value
    # A rule has options of its own: another one begins anew.
    return dict(changes) if {"rule", "recipe", "protocol"} & changes.keys() else study


def _filled(part, words, where):
    """A part of a study with words in place of those in braces; one alone keeps its type."""
    if isinstance(part, Mapping):
        return {_filled(key, words, where): _filled(v, words, where) for key, v in part.items()}
    if isinstance(part, list):
        return [_filled(one, words, where) for one in part]
    if not isinstance(part, str) or "{" not in part:
        return part
    if part.startswith("{") and part.endswith("}") and part[1:-1] in words:
        return words[part[1:-1]]
    try:
        return part.format(**words)
    except (KeyError, IndexError, ValueError) as error:
        raise CounterweightError(
            f"{where}: {part!r} names a word that neither has; their words are {listed(words)}."
        ) from error


class Benchmarks:
    """The benchmarks of a plan and their jobs; `stages` (of `counterweight.plan.stages`) has both
    the plan and the jobs that bring its data sets."""

    def __init__(self, stages):
        self.stages, self.plan, self.paths = stages, stages.plan, stages.paths
        self.names = list(self.plan["benchmarks"])

    def sets(self, name):
        return list(self.plan["benchmarks"][name]["sets"])

    def table(self, name, one):
        """Measurements of a data set."""
        return f"{self.plan['results']}/{FOLDER}/{name}/sets/{one}.parquet"

    def costs(self, name, one):
        """CPU seconds of a data set, which no two runs have alike."""
        return f"{self.plan['results']}/{FOLDER}/{name}/sets/{one}.costs.csv"

    def tables(self, name):
        """What is told of all data sets together, by role."""
        folder = f"{self.plan['results']}/tables"
        return {role: f"{folder}/{name}_{role}.csv" for role in ("methods", "pairs", "sets")}

    def job(self, stage, name, one=""):
        """The job of a data set (``compare``), or of what all say together (``compared``)."""
        benchmark = self.plan["benchmarks"][name]
        told = {"benchmark": name, "measures": benchmark["measures"]}
        if stage == "compared":
            return self._compared(name, benchmark, told)
        studies = benchmark["resolved"][one]
        inputs, given, uses, modules = {"table": []}, told | {"set": one}, {}, set()
        dataset = next(iter(studies.values()))["dataset"]
        settings = self.plan["datasets"][dataset]
        before = [("download", dataset)] * (settings["source"] == "generated")
        before += [("prepare", dataset)]
        if settings["source"] == "download":
            inputs, before = {"table": self.paths.prepared(dataset)}, []
        rows = benchmark["sets"][one].get("rows") or benchmark["rows"]
        given |= {"rows": rows, "studies": studies, "settings": settings}
        given["estimators"] = benchmark["estimators"]
        given |= {"plan": {key: self.plan[key] for key in _TOLD}, "before": before}
        for job in self._jobs(dataset, studies, before):
            uses |= dict.fromkeys(job.uses)
            modules |= {job.run.partition(":")[0], *job.modules}
        uses |= dict.fromkeys(("task", study["task"]) for study in studies.values())
        uses |= {("dataset", dataset): None}
        outputs = {"table": self.table(name, one), "costs": self.costs(name, one)}
        more = {"modules": tuple(sorted(modules))}
        return Job(f"{_RUN}:compare", inputs, given, tuple(uses), outputs, **more)

    def _compared(self, name, benchmark, told):
        sets = self.sets(name)
        inputs = {
            "tables": [self.table(name, one) for one in sets],
            "costs": [self.costs(name, one) for one in sets],
        }
        studies = [study for part in benchmark["resolved"].values() for study in part.values()]
        methods = {
            one: (study, spec) for study in studies for one, spec in study["methods"].items()
        }
        given = told | {key: benchmark[key] for key in ("plain", "equal", "pairs")}
        given |= {"sets": sets, "conditions": list(benchmark["conditions"])}
        given["oracles"] = [one for one, pair in methods.items() if _is_oracle(*pair)]
        given["parts"] = {one: _parts(study, one) for one, (study, _) in methods.items()}
        return Job(f"{_RUN}:compared", inputs, given, outputs=self.tables(name))

    def _jobs(self, dataset, studies, before):
        """The jobs whose code is that of a data set's job, too."""
        yield from (self.stages.job(*one) for one in before)
        for name, study in studies.items():
            at = Paths(self.plan | {"studies": {name: study}}).study(name)
            task = tasks.module_of(study)
            yield task.plan_label(self.plan, study, at)
            for stage, items in STAGES.items():
                yield from (
                    getattr(task, f"plan_{stage}")(self.plan, study, item, at)
                    for item in study[items]
                )

    def spec(self, stage, name, one=""):
        """The job spec for params."""
        return self.job(stage, name, one).spec(str(self.stages.scripts / f"{stage}.py"))

    def outputs(self):
        """The tables of all benchmarks."""
        return [path for name in self.names for path in self.tables(name).values()]


def _is_oracle(study, spec):
    """Whether a method saw what nobody sees: hidden outcomes, or chances that were drawn by."""
    selector = (study["weightings"].get(spec["weights"]) or {}).get("selector")
    return bool(spec["oracle"] or selector and study["selectors"][selector]["oracle"])


def _parts(study, method):
    """Stages and items that a method needs: its fit, its weights, models that it begins from."""
    spec = study["methods"][method]
    parts = [part for one in begun_from(study, method) for part in _parts(study, one)]
    if spec["weights"]:
        parts.append(["weigh", spec["weights"]])
        selector = study["weightings"][spec["weights"]]["selector"]
        parts += [["select", selector]] if selector else []
    return [*parts, ["train", method]]


def check_methods(name, benchmark):
    """Refuse references and pairs that are no methods of the studies."""
    if benchmark["estimators"]:
        return
    methods = {
        method
        for studies in benchmark["resolved"].values()
        for study in studies.values()
        for method in study["methods"]
    }
    named = {key: [benchmark[key]] for key in ("plain", "equal") if benchmark[key]}
    limits = {key: one["within"] or {} for key, one in benchmark["measures"].items()}
    instead = {key: one["instead"] for key, one in limits.items() if one.get("instead")}
    named |= {f"measures.{key}.within.instead": [method] for key, method in instead.items()}
    named |= {f"pairs.{claim}": pair["methods"] for claim, pair in benchmark["pairs"].items()}
    for key, chosen in named.items():
        for one in chosen:
            if one not in methods:
                raise CounterweightError(
                    f"benchmarks.{name}.{key} names {one!r}, which is no method of its studies; "
                    f"they are {listed(sorted(methods), 30)}."
                )
