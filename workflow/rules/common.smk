"""Helpers of all stages: the checked plan, the code digests, the paths.

The plan is the config with every default spelled out (counterweight.config). Rules read
it here, and hand each job only the part that it needs, as params.
"""

LIBRARY = Path(workflow.basedir) / "workflow"
sys.path.insert(0, str(LIBRARY))
# Jobs import the library from this checkout, on this machine and on a cluster.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(LIBRARY)] + [p for p in [os.environ.get("PYTHONPATH")] if p]
)

from counterweight import components
from counterweight.config import resolve
from counterweight.errors import CounterweightError

from snakemake.exceptions import WorkflowError

try:
    PLAN = resolve(config)
except CounterweightError as error:
    raise WorkflowError(f"The config has a mistake.\n{error}")

RESULTS = PLAN["results"]
DATA = PLAN["data"]
STUDIES = PLAN["studies"]
ENVIRONMENT = "../../envs/counterweight.yaml"

# Where files are is no setting of a job: a path to a mirror in params would re-run downloads.
if PLAN["data_mirror"]:
    os.environ["COUNTERWEIGHT_MIRROR"] = PLAN["data_mirror"]


wildcard_constraints:
    study="[a-z][a-z0-9_]*",
    dataset="[a-z][a-z0-9_]*",
    selector="[A-Za-z][A-Za-z0-9_]*",
    weighting="[A-Za-z][A-Za-z0-9_]*",
    method="[A-Za-z][A-Za-z0-9_.-]*",
    figure="[a-z_]+",


def code(script, *used, files=()):
    """Digest of a script's library imports and of the components that a job looks up."""
    modules = components.script_imports(LIBRARY.parent / "scripts" / script)
    modules += [components.locate(kind, name)[0] for kind, name in used]
    return components.digest(modules, files)


def study_of(wildcards):
    return STUDIES[wildcards.study]


def raw_files(dataset):
    """Raw files of a data set, downloaded or generated."""
    folder = "raw" if PLAN["data_source"] == "download" else "generated"
    return [f"{DATA}/{folder}/{dataset}/{name}" for name in components.declared("dataset", dataset, "FILES")]


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


def measurements():
    """Every table of measurements of every study."""
    return [
        f"{RESULTS}/{study}/metrics/{source}.parquet"
        for study, parts in STUDIES.items()
        for source in [
            "labels",
            *(f"selection_{selector}" for selector in parts["selectors"]),
            *(f"weights_{weighting}" for weighting in parts["weightings"]),
            *(method for method, spec in parts["methods"].items() if spec["reported"]),
        ]
    ]


def drawn():
    """Every figure of every study."""
    return [
        f"{RESULTS}/{study}/figures/{figure}.svg"
        for study, parts in STUDIES.items()
        for figure in parts["figures"]
    ]
