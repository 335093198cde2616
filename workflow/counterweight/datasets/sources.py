"""Where data sets come from: stages download and prepare for each source of data.

`download` fetches official files (or generates twins of them), `prepare` makes the typed table:
of raw files, of a table of the user's own (see `own_table`), or by drawing it where the data set is
simulated.
"""

import os

from counterweight.datasets.queries import check_query, files_of, named_in
from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.plan.jobs import Job

_DATASETS = "counterweight.datasets"
_HERE = f"{_DATASETS}.sources"
#: What to do where a table of one's own is not there.
ABSENT = "correct the path of the table"


def download_job(dataset, plan, paths):
    """The job that brings the raw files of a data set; None where it has none.

    `plan` is from `counterweight.plan.config.resolve`.
    """
    source, raw = paths.source(dataset), paths.raw(dataset)
    if source == "download":
        given = {
            "dataset": dataset,
            "files": components.declared("dataset", dataset, "FILES"),
            "sources": components.declared("dataset", dataset, "SOURCES"),
        }
        return Job(f"{_HERE}:fetch", given=given, outputs={"files": raw}, copies=True)
    if source == "generated":
        rows = plan["datasets"][dataset]["rows"]
        given = {"dataset": dataset, "rows": rows, "seed": plan["seed"]}
        outputs = {"files": raw, "truth": paths.known(dataset)}
        return Job(f"{_HERE}:generate", {}, given, (("dataset", dataset),), outputs)
    return None


def prepare_job(dataset, plan, paths):
    """The job that makes the typed table of a data set; parameters as `download_job`."""
    settings, uses = plan["datasets"][dataset], (("dataset", dataset),)
    outputs = {"table": paths.prepared(dataset)}
    if settings["source"] == "own":
        from counterweight.tables.table_reader import parts_of

        if "query" in settings:
            check_query(**settings["query"])
        told = {key: settings[key] for key in ("path", "query", "alike") if key in settings}
        told["reading"] = settings.get("reading", {})
        asked = settings.get("columns", {})
        told["columns"] = {key: names for key, names in asked.items() if key != "keep"}
        answers = []
        if "query" in settings:
            answers = _answers(dataset, settings["query"], plan, paths)
            files = [name for name in files_of(**settings["query"]) if name not in answers]
        else:
            files = [str(part) for part, _ in parts_of(settings["path"], ABSENT)]
        # The files of a database may change while it is read, so that they are no inputs.
        inputs = {"files": [] if "query" in settings else files}
        inputs |= {"answers": answers} if answers else {}
        given = {"dataset": dataset} | told
        run = "queries:prepare_query" if "query" in settings else "own_table:prepare"
        return Job(f"{_DATASETS}.{run}", inputs, given, (), outputs, own=tuple(files))
    if settings["source"] == "simulated":
        given = {"dataset": dataset, "rows": settings["rows"], "seed": plan["seed"]}
        outputs |= {"truth": paths.known(dataset)}
        return Job(f"{_HERE}:simulate", {}, given, uses, outputs)
    digests = settings["files"] if settings["source"] == "download" else {}
    given = {"dataset": dataset, "digests": digests}
    return Job(f"{_HERE}:prepare", {"files": paths.raw(dataset)}, given, uses, outputs)


def _answers(dataset, query, plan, paths):
    """Files that a query of DuckDB names and another study of the plan makes: they come first."""
    named = named_in(query["sql"]) if query["url"].startswith("duckdb") else []
    others = [name for name, study in plan["studies"].items() if study["dataset"] != dataset]
    steps = [step for chain in paths.chains(others) for step in chain["steps"]] if named else []
    made = {os.path.abspath(path) for step in steps for path in step["outputs"]}
    return [name for name in dict.fromkeys(named) if os.path.abspath(name) in made]


def fetch(job):
    """Download the files of a data set, each checked against its pinned digest."""
    from counterweight.datasets.download import fetch

    given = job.given
    # A name may begin with a folder, so the data set's folder is what stands before it.
    folder = os.path.normpath(job.output.files[0].removesuffix(next(iter(given["files"]))))
    mirror = os.environ.get("COUNTERWEIGHT_MIRROR") or None
    fetch(given["dataset"], given["files"], given["sources"], folder, mirror=mirror)


def generate(job):
    """Draw a twin of a data set in its upstream format, with its truth."""
    from counterweight.tables.study_data import generator

    given = job.given
    rng = generator(given["seed"], given["dataset"], 0, "generate")
    dataset = components.load("dataset", given["dataset"])
    dataset.generate(os.path.dirname(job.output.truth), given["rows"], rng)
    job.log.info("%s: %d generated rows", given["dataset"], given["rows"])


def prepare(job):
    """Raw files to one typed table, nulls for what is missing."""
    from counterweight.tables.parquet import sha256, write_table

    name = job.given["dataset"]
    first = next(iter(components.declared("dataset", name, "FILES")))
    folder = os.path.normpath(job.input.files[0].removesuffix(first))
    for file, digest in job.given["digests"].items():
        path = os.path.join(folder, file)
        if (actual := sha256(path)) != digest:
            raise CounterweightError(
                f"{path} has the SHA-256 digest {actual}, not the pinned {digest}: it was changed "
                "or is another version; delete it, then run again to fetch it anew."
            )
    frame = components.load("dataset", name).read(folder)
    job.log.info("%s: %d rows, %d columns", name, len(frame), frame.shape[1])
    write_table(job.output.table, frame)


def simulate(job):
    """Draw the table of a data set whose model is known."""
    from counterweight.tables.parquet import write_table, writing
    from counterweight.tables.study_data import generator

    given = job.given
    rng = generator(given["seed"], given["dataset"], 0, "simulate")
    dataset = components.load("dataset", given["dataset"])
    if hasattr(dataset, "simulate_batches"):
        with writing(job.output.table, dataset.LAYOUT) as out:
            for frame in dataset.simulate_batches(given["rows"], rng):
                out.write({name: frame[name].to_numpy() for name in frame})
        truth = dataset.known_values()
    else:
        frame, truth = dataset.simulate(given["rows"], rng)
        write_table(job.output.table, frame)
    write_table(job.output.truth, truth)
