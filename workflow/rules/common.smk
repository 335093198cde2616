"""Helpers of all stages: the checked plan, the code digests, the paths.

The plan is the config with every default spelled out (counterweight.plan.config). Rules read
it here, and hand each job only the part that it needs, as params.
"""

import json
import subprocess
from types import SimpleNamespace

LIBRARY = Path(workflow.basedir) / "workflow"
sys.path.insert(0, str(LIBRARY))
# Jobs import the library from this checkout, on this machine and on a cluster.
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, [str(LIBRARY), os.getenv("PYTHONPATH")]))
)

from counterweight.plan import components
from counterweight.plan.config import check_folders, resolve
from counterweight.plan.filters import filter_to_apply
from counterweight.errors import CounterweightError
from counterweight.reporting.page.plan import report_plan, sheet_modules

from snakemake.exceptions import WorkflowError

try:
    PLAN = resolve(config)
    check_folders(PLAN)
    FILTER_STUDY = filter_to_apply(PLAN)
except CounterweightError as error:
    raise WorkflowError(f"The config has a mistake.\n{error}")

RESULTS = PLAN["results"]
DATA = PLAN["data"]
STUDIES = PLAN["studies"]
ENVIRONMENT = "../../envs/counterweight.yaml"

# Where files are is no setting of a job: a path to a mirror in params would re-run downloads.
if PLAN["data_mirror"]:
    os.environ.update(COUNTERWEIGHT_MIRROR=PLAN["data_mirror"])


wildcard_constraints:
    study="[a-z][a-z0-9_]*",
    dataset="[a-z][a-z0-9_]*",
    selector="[A-Za-z][A-Za-z0-9_]*",
    weighting="[A-Za-z][A-Za-z0-9_]*",
    method=r"(?!labels(?:\.|$)|selection_|weights_)[A-Za-z][A-Za-z0-9_.-]*",
    figure="[a-z_]+",


def code(script, *used, files=(), modules=()):
    """Digest of a script's library imports and of the components that a job looks up."""
    modules = [*components.imports(LIBRARY.parent / "scripts" / script), *modules]
    modules += [components.locate(kind, name)[0] for kind, name in used]
    return components.digest(modules, files)


def any_of(task):
    """Pattern of the names of the studies of a kind; of nothing where there are none."""
    return "|".join(name for name in STUDIES if STUDIES[name]["task"] == task) or "(?!)"


def study_of(wildcards):
    return STUDIES[wildcards.study]


def selector_of(wildcards):
    return study_of(wildcards)["selectors"][wildcards.selector]


def weighting_of(wildcards):
    return study_of(wildcards)["weightings"][
        f"{wildcards.weighting}-{wildcards.selector}"
    ]


def method_of(wildcards):
    return study_of(wildcards)["methods"][wildcards.method]


def weights_of(wildcards):
    weights = method_of(wildcards)["weights"]
    return f"{RESULTS}/{wildcards.study}/weights/{weights}.parquet" if weights else []


def offering(study):
    """Predictions of the method whose offers a study gives away: its first choice model."""
    for method, spec in STUDIES[study]["methods"].items():
        if spec["model"] == "predictive_choice":
            return f"{RESULTS}/{study}/predictions/{method}.parquet"
    return []


def offers_to_write():
    """The tables of offers of all studies that make some."""
    return [
        f"{RESULTS}/{study}/offers.parquet"
        for study, parts in STUDIES.items()
        if parts["task"] == "offers" and offering(study)
    ]


def proxy_name(wildcards):
    return study_of(wildcards)["weightings"][method_of(wildcards)["weights"]][
        "selector"
    ]


def proxy_spec(wildcards):
    """The proxy behind a method's filter, with its options."""
    spec = study_of(wildcards)["selectors"][proxy_name(wildcards)]
    return {key: spec[key] for key in ("selector", "options")}


def proxy_table(wildcards):
    return f"{RESULTS}/{wildcards.study}/selection/{proxy_name(wildcards)}.parquet"


def given_away(study):
    """The method whose filter a study gives away, as wildcards of it."""
    return SimpleNamespace(study=study, method=STUDIES[study]["filter"]["method"])


def filters_to_write():
    """The filters that studies give away, each with its card."""
    return [
        f"{RESULTS}/{study}/filter.{kind}"
        for study, parts in STUDIES.items()
        if parts.get("filter")
        for kind in ("parquet", "md")
    ]


def starts_of(wildcards):
    return [
        f"{RESULTS}/{wildcards.study}/models/{start}.parquet"
        for start in method_of(wildcards)["starts"].values()
    ]


def raw_files(dataset):
    """Raw files of a data set, downloaded or generated."""
    folder = "raw" if PLAN["data_source"] == "download" else "generated"
    return [
        f"{DATA}/{folder}/{dataset}/{name}"
        for name in components.declared("dataset", dataset, "FILES")
    ]


def prepared(dataset):
    """The typed table of a data set."""
    if PLAN["datasets"][dataset]["source"] == "generated":
        return f"{DATA}/prepared/generated/{dataset}.parquet"
    return f"{DATA}/prepared/{dataset}.parquet"


def known_truth(dataset):
    """What is known of a generated data set; nothing for real data."""
    source = PLAN["datasets"][dataset]["source"]
    if source == "generated":
        return f"{DATA}/generated/{dataset}/truth.parquet"
    if source == "simulated":
        return f"{DATA}/prepared/{dataset}.truth.parquet"
    return []


def chosen(part, key):
    """A component of a study with its options, for params."""
    return {"name": part[key], "options": part["options"]}


#: Names of the third and fourth step where they are not those of classifiers.
STEPS = {"filter": ("fit_proxy", "compute_acceptance")}


def chains(studies=None):
    """How each table of measurements comes about: its steps, their outputs and logs.

    The last step's first output is the table. What a failed run leaves is told apart by them.
    """
    found = []
    for study, parts in STUDIES.items():
        if studies is not None and study not in studies:
            continue
        folder, logs = f"{RESULTS}/{study}", f"{RESULTS}/logs"
        metrics = f"{folder}/metrics"
        dataset = parts["dataset"]
        start = dataset_steps(dataset)
        labeled = start + [
            {
                "stage": "label",
                "source": "labels",
                "outputs": [f"{metrics}/labels.parquet", f"{folder}/labels.parquet"],
                "log": f"{logs}/label/{study}.log",
            }
        ]
        found.append({"study": study, "source": "labels", "steps": labeled})
        selected = {}
        fitting, weighing = STEPS.get(
            parts["task"], ("fit_selection", "compute_weights")
        )
        for selector in parts["selectors"]:
            selected[selector] = labeled + [
                {
                    "stage": fitting,
                    "source": selector,
                    "outputs": [
                        f"{metrics}/selection_{selector}.parquet",
                        f"{folder}/selection/{selector}.parquet",
                    ],
                    "log": f"{logs}/{fitting}/{study}/{selector}.log",
                }
            ]
            found.append(
                {"study": study, "source": selector, "steps": selected[selector]}
            )
        weighted = {}
        for weighting, spec in parts["weightings"].items():
            weighted[weighting] = selected[spec["selector"]] + [
                {
                    "stage": weighing,
                    "source": weighting,
                    "outputs": [
                        f"{metrics}/weights_{weighting}.parquet",
                        f"{folder}/weights/{weighting}.parquet",
                    ],
                    "log": f"{logs}/{weighing}/{study}/{weighting}.log",
                }
            ]
            found.append(
                {"study": study, "source": weighting, "steps": weighted[weighting]}
            )
        trained = {}
        # Models that others begin from come first.
        for method, spec in sorted(
            parts["methods"].items(), key=lambda part: bool(part[1]["starts"])
        ):
            steps = list(weighted.get(spec["weights"], labeled))
            for begun in spec["starts"].values():
                steps += [step for step in trained[begun] if step not in steps]
            trained[method] = steps + [
                {
                    "stage": "train",
                    "source": method,
                    "outputs": [
                        f"{folder}/predictions/{method}.parquet",
                        f"{folder}/models/{method}.parquet",
                    ],
                    "log": f"{logs}/train/{study}/{method}.log",
                }
            ]
            evaluated = {
                "stage": "evaluate",
                "outputs": [f"{metrics}/{method}.parquet"],
                "log": f"{logs}/evaluate/{study}/{method}.log",
            }
            if spec["reported"]:
                found.append(
                    {
                        "study": study,
                        "source": method,
                        "steps": trained[method] + [evaluated],
                    }
                )
    return found


def dataset_steps(dataset):
    """Steps from the source of a data set to its typed table."""
    source, logs = PLAN["datasets"][dataset]["source"], f"{RESULTS}/logs"
    whose = {"study": "", "source": dataset}
    table = {"outputs": [prepared(dataset)]} | whose
    if source == "own":
        return [{"stage": "prepare", "log": f"{logs}/prepare/{dataset}.log"} | table]
    if source == "simulated":
        return [{"stage": "simulate", "log": f"{logs}/simulate/{dataset}.log"} | table]
    first = "download" if source == "download" else "generate"
    return [
        {
            "stage": first,
            "outputs": raw_files(dataset),
            "log": f"{logs}/{first}/{dataset}.log",
        }
        | whose,
        {"stage": "prepare", "log": f"{logs}/prepare/{dataset}.log"} | table,
    ]


def measurements(studies=None):
    """Every table of measurements of the studies (all of them by default)."""
    return [chain["steps"][-1]["outputs"][0] for chain in chains(studies)]


def drawn():
    """Every figure of every study."""
    return [
        f"{RESULTS}/{study}/figures/{figure}.svg"
        for study, parts in STUDIES.items()
        for figure in parts["figures"]
    ]


SHOWN = report_plan(PLAN)
# Relative, so that a folder that was moved has nothing to do.
CLAIMS = sorted(os.path.relpath(path) for path in (LIBRARY / "claims").glob("*.yaml"))
TEMPLATES = sorted((LIBRARY / "counterweight" / "reporting" / "page" / "templates").glob("*"))
TABLES = [
    f"{RESULTS}/tables/{study}-{target}"
    for study, parts in STUDIES.items()
    for target in parts["targets"]
]


def filtering_only():
    """Whether this run was asked for nothing but the rule `filter`."""
    return set(workflow.dag_settings.targets or ()) == {"filter"}


def what_was_made():
    made = "filtered.csv" if filtering_only() else "report.html"
    return f"Done: open {RESULTS}/{made}"


def report_what_is_there():
    """Make the page from what is there, in such a way that the next run makes it anew.

    Snakemake takes outputs that exist for finished ones, so the other outputs of the report,
    which would belong to an earlier run, are removed.
    """
    if filtering_only():
        # A mistake in a table of candidates says nothing about the studies.
        return
    given = {"shown": SHOWN, "chains": chains(), "claims": CLAIMS, "results": RESULTS}
    try:
        made = subprocess.run(
            [sys.executable, "-m", "counterweight.reporting.page.assemble"],
            input=json.dumps(given),
            text=True,
        )
        if made.returncode:
            print(
                f"The report of what is there could not be made; see the logs in {RESULTS}/logs."
            )
        for path in rules.report.output:
            if path != rules.report.output.html:
                Path(path).unlink(missing_ok=True)
    except OSError as error:
        print(f"The report of what is there could not be made: {error}")
