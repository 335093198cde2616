"""One call from a frame with blank outcomes to answers, the model and the page.

It plans the study that a config of ten lines would be and runs its jobs one after the other, in
this process and in a folder that goes afterwards: the numbers are those of the workflow.
"""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from counterweight.delivery.final_scores import ENDS
from counterweight.delivery.saved_scores import SavedScores
from counterweight.errors import CounterweightError, html_facts
from counterweight.numerics.checks import pandas_frame
from counterweight.numerics.estimate import Estimate
from counterweight.plan.config import resolve
from counterweight.plan.mistakes import none_of, refuse_all, secrets_in, unseen_in
from counterweight.plan.own import with_own_tables
from counterweight.plan.stages import Stages
from counterweight.plan.tasks import module_of
from counterweight.reporting.blocks import WHOLE
from counterweight.reporting.wording import leaks_in_words
from counterweight.tables.jobs import Running
from counterweight.tables.parquet import METRICS, metrics_table, read_table, replacing, write_table
from counterweight.tables.type_inference import plain_values

log = logging.getLogger("counterweight")

#: What the study is called, which decides nothing.
NAME = "frame"
#: Keys of a table that may be told besides those with a name of their own.
FURTHER = ("labeled", "weight", "time", "group", "columns", "title", "question", "study")
FURTHER += ("rehearse",)
#: Files that each stage makes besides those that its job names, by role: attributes or methods of
#: the paths of the study.
OUTPUTS = {
    "sum": {"sums": "sums"},
    "label": {"features": "features", "labels": "labels", "truth": "truth"},
    "select": {"table": "selection", "model": "selection_model"},
    "weigh": {"table": "weights"},
    "train": {"model": "model", "predictions": "predictions"},
    "rehearse": {"table": "rehearsal"},
}
#: Measurements that a stage makes, by the item that it is about.
MEASURED = {"label": "labels", "select": "selection_{}", "weigh": "weights_{}", "evaluate": "{}"}


@dataclass(frozen=True)
class Answers:
    """What `missing_outcomes` finds.

    Attributes
    ----------
    answer : Estimate
        Rate of the outcome 1, or mean, of those that answers are for, with its 95 % interval;
        ``largest_weight`` is NaN.
    bounds : tuple of float or None
        Between which it lies whatever those turn out as that no labeled row resembles. Only where
        they are too many for the interval of ``answer``, which rests on the form of the model
        there: these bounds are the answer then.
    sentence : str
        The answer in words, as the page begins, with what it assumes.
    scores : pandas.DataFrame
        The columns of ``scores.csv``, with the index of the frame.
    new_scores : pandas.DataFrame or None
        The same of the new rows, with their index.
    saved : SavedScores
        The delivered model, for new rows.
    metrics : pandas.DataFrame
        All measurements of the study, a row each: what ``tables/metrics.parquet`` holds.
    rehearsal : pandas.DataFrame or None
        What the copies of ``rehearse`` say together, a row a ``scenario`` and ``people``: in which
        share of ``copies`` the interval ``held`` the truth, how far ``off`` the estimate was on
        average, its ``rmse`` and that of the mean of the labeled rows, ``naive_rmse``.
    """

    answer: Estimate
    bounds: tuple | None
    sentence: str
    scores: pd.DataFrame
    new_scores: pd.DataFrame | None
    saved: SavedScores
    metrics: pd.DataFrame
    rehearsal: pd.DataFrame | None = None

    def _repr_html_(self):
        told = {"answer": self.sentence, "rows": f"{len(self.scores):,}"}
        return html_facts("Answers", told) + self.saved._repr_html_()


def missing_outcomes(
    frame: pd.DataFrame,
    outcome: str,
    positive: object = None,
    *,
    id: str | None = None,
    target: str | pd.DataFrame | dict = "everyone",
    weights: str | None = None,
    tilt: dict | None = None,
    new: pd.DataFrame | None = None,
    page: str | Path | None = None,
    seed: int | None = None,
    **keys: object,
) -> Answers:
    """Estimate an outcome where it is blank: every row, the whole table, new rows.

    Assumes that labels are missing at random given the columns, unless `tilt` or `weights` say
    otherwise; ``sentence`` of the result says what was assumed. A column that gives the outcome
    away is left out with a warning, unless ``columns={"keep": [...]}`` names it.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row a person; all columns without a role are features. Types are kept, but that yes and
        no and dates are read from texts, as in a CSV; numbers that are texts stay texts. Neither
        names nor the order of rows and columns decide anything.
    outcome : str or dict
        Column of the outcome, blank where it is not known; or the mapping that a config has.
    positive : scalar, optional
        Value that counts as 1, where the outcome is a class.
    id : str, optional
        Column that says who a row is.
    target : str, dict or pandas.DataFrame
        For whom answers are: ``"everyone"``, ``"unlabeled"``, a frame of other people, or the
        mapping that a config has, whose ``table`` may be a frame.
    weights, tilt : str or dict, optional
        As in a config.
    new : pandas.DataFrame, optional
        New rows to score.
    page : path, optional
        File to write the page of the study to, one file of HTML. It calls the result ``found``.
    seed : int, optional
        That of ``config.yaml`` where it is left out.
    **keys
        Further keys of a table in a config: ``labeled``, ``weight``, ``time``, ``group``,
        ``columns``, ``title``, ``question``, ``study``; ``rehearse``, how many synthetic copies of
        the frame with known outcomes the whole answer is made on, or the mapping that a config has
        (seconds a copy at a thousand rows).

    Raises
    ------
    CounterweightError
        A sentence on what is wrong with the frame, or with what is asked.
    """
    from threadpoolctl import threadpool_limits

    for strange in keys.keys() - {*FURTHER}:
        raise none_of(f"missing_outcomes has no argument {strange!r}", strange, FURTHER, "Further")
    frame = pandas_frame(frame, "rows of the frame")
    new = new if new is None else pandas_frame(new, "new rows")
    with tempfile.TemporaryDirectory(prefix="counterweight-") as place:
        files = _Files(Path(place))
        if positive is not None:
            outcome = {"column": outcome, "positive": positive}
        if hasattr(target, "columns"):
            target = {"table": target}
        asked = {"outcome": outcome, "id": id, "target": target, "weights": weights, "tilt": tilt}
        asked |= keys
        entry = {key: _plain(value) for key, value in asked.items() if value is not None}
        told = {"seed": seed} if seed is not None else {}
        try:
            entry |= {"table": files.written("frame", frame), "name": NAME}
            if isinstance(entry.get("target"), dict) and "table" in entry["target"]:
                people = files.written("the target frame", entry["target"]["table"])
                entry["target"] = entry["target"] | {"table": people}
            if new is not None:
                entry["score"] = files.written("new", new)
            called = outcome.get("column", NAME) if isinstance(outcome, Mapping) else outcome
            entry.setdefault("title", str(called))
            if page is None:
                entry["study"] = {"figures": []} | entry.get("study", {})
            told |= {"results": f"{place}/results", "data": f"{place}/data"}
            told |= {"one_file": page is not None}
            # One thread, so that sums have the order that they have in the workflow.
            with threadpool_limits(1):
                return _answers(told | entry, frame.index, new, page)
        except CounterweightError as error:
            raise CounterweightError(files.renamed(str(error))) from error.__cause__


class _Files:
    """Frames as Parquet files of a folder, whose paths nobody is told."""

    def __init__(self, folder):
        self.folder, self.words = folder, {}

    def written(self, name, frame):
        """The path of a frame that is written with the types of its columns."""
        what = {"new": "new rows", "the target frame": "target frame"}.get(name, name)
        frame = pandas_frame(frame, f"rows of the {what}")
        path = str(self.folder / f"{name}.parquet")
        self.words[path] = f"The {what}"
        try:
            made = frame.set_axis([str(column) for column in frame.columns], axis=1)
            table = pa.Table.from_pandas(made.apply(plain_values), preserve_index=False)
            pq.write_table(table.replace_schema_metadata(), path)
        except (pa.ArrowException, ValueError, TypeError) as error:
            why = " ".join(str(part) for part in getattr(error, "args", ()))
            raise CounterweightError(
                f"The {what} cannot be taken as a table ({' '.join(why.split())}): give each "
                "column one type and a name of its own."
            ) from error
        return path

    def renamed(self, text):
        """A message in which frames stand in place of their files."""
        for path, words in self.words.items():
            text = text.replace(repr(path), words).replace(path, words)
        return text


def _plain(value):
    """What a config may hold: numbers of numpy as those of Python."""
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _answers(config, index, new, page):
    """Run the study of a config; what it found."""
    refuse_all(secrets_in(config) or unseen_in(config))
    plan = resolve(with_own_tables(config, {}))
    stages, study = Stages(plan, ""), plan["studies"][NAME]
    run_jobs(stages, NAME, _order(study, page))
    for told in leaks_in_words(read_table(stages.paths.columns(NAME)).to_dict("records")):
        log.warning("%s", told)
    made = stages.job("deliver", NAME).outputs
    pages = stages.job("page", study["family"]).outputs
    metrics = pd.concat(
        [read_table(path) for path in stages.paths.measurements()], ignore_index=True
    )
    if page is not None:
        whole = Path(plan["results"], WHOLE).read_text(encoding="utf-8")
        with replacing(page) as path:
            path.write_text(of_frames(whole), encoding="utf-8")
    new_scores = None
    if new is not None:
        new_scores = read_table(stages.job("apply", NAME).outputs["scores"]).set_axis(new.index)
    return Answers(
        *headline(metrics[metrics["source"] == "delivered"]),
        str(read_table(pages["findings"])["answer"].iloc[0]),
        read_table(made["scores"]).set_axis(index),
        new_scores,
        SavedScores.read(made["model"]),
        metrics,
        _by_scenario(metrics[metrics["source"] == "rehearsal"]) if study["rehearse"] else None,
    )


def _by_scenario(records):
    """What the copies of a rehearsal say together, a row a scenario and whom it is of."""
    whole = records[records["step"].isna() & records["variable"].fillna("").eq("")]
    # Of a target of its own the part "" is the target, whose rows have a name, too.
    whole = whole[whole["part"].ne("") | whole["target"].eq("general")]
    wide = whole.pivot_table("value", ["setting", "part", "rows"], "metric", sort=False)
    wide = wide.rename(columns=lambda name: name.removeprefix("rehearsed_"))
    # Where every copy had bounds no interval was held.
    wide = wide.reindex(columns=wide.columns.union(["held", "half_width"], sort=False))
    wide = wide.reset_index()
    names = {"setting": "scenario", "part": "people", "rows": "copies"}
    wide["part"] = wide["part"].replace("", "everyone")
    return wide.rename(columns=names).rename_axis(columns=None)


#: What the page of a frame says in place of what it says of files, which nobody keeps.
_UNKEPT = (
    (rf"(?:<li>)?(?:[^<>.]*: )?<code>(?:{NAME}|tables|provenance)/[^<]*</code>"
     r"(?: <span class=\"soft\">[^<]*</span>)?(?:</li>)?", ""),
    (r'<ul class="links">\s*</ul>\s*', ""),
    (r"<section><h\d[^>]*>(?:(?!</?section).)*</h\d>\s*</section>\s*", ""),
    ("name (?:a file of people who come later|the table of target) under score",
     "give people who come later as new"),
    (rf"(?:{NAME}/)?\b(new_)?scores\.csv", r"found.\1scores"),
    ("Files named by their path lie in the folder of results that this one comes from",
     "found is what missing_outcomes gave: found.saved is its model, found.metrics all measurements"),
)  # fmt: skip


def of_frames(text):
    """The page of a frame: it names the parts of `Answers`, and no file of a run."""
    for said, instead in _UNKEPT:
        text = re.sub(said, instead, text, flags=re.S)
    return text


def _order(study, page):
    """Stages of a study and what each is about, in the order in which they run."""
    yield from (("prepare", NAME), ("columns", NAME), ("label", NAME))
    items = {"select": "selectors", "weigh": "weightings", "train": "methods"}
    for stage, item in items.items():
        yield from ((stage, NAME, name) for name in study[item])
    yield from (("evaluate", NAME, name) for name in study["methods"])
    if study["collect"]:
        yield "collect", NAME
    yield "deliver", NAME
    if study["score"]:
        yield "apply", NAME
    copies = module_of(study).rehearsals(study)
    yield from (("rehearse", NAME, copy) for copy in copies)
    if copies:
        yield "rehearsed", NAME
    if page is not None:
        yield "draw", NAME
    yield "page", study["family"]
    if page is not None:
        yield "report", ""


def run_jobs(stages, name, asked):
    """Run the jobs of a study one after the other; `asked` has stage, name and item of each."""
    at = stages.paths.study(name)
    for one in asked:
        _run(stages, at, *one)


def _run(stages, at, stage, name, item=""):
    """Run a job as the script of its stage does, which writes down what it measured."""
    job = stages.job(stage, name, item)
    outputs = dict(job.outputs)
    for role, attribute in OUTPUTS.get(stage, {}).items():
        path = getattr(at, attribute)
        outputs[role] = path(item) if callable(path) else path
    if stage == "report":
        results = stages.paths.results
        outputs |= {
            "html": f"{results}/report.html",
            "metrics": f"{results}/tables/metrics.parquet",
        }
    spec = {"run": job.run, "given": job.given, "uses": job.uses, "modules": job.modules}
    files = stages.paths.figures(name) if stage == "draw" else SimpleNamespace(**outputs)
    found = Running(
        SimpleNamespace(
            input=SimpleNamespace(**job.inputs),
            output=files,
            threads=1,
            params=SimpleNamespace(job=spec),
        )
    ).run()
    if stage in MEASURED:
        table = metrics_table(name, item or MEASURED[stage], found)
        write_table(at.metrics(MEASURED[stage].format(item)), table, METRICS)


def headline(records, part=""):
    """An answer by the records of what is delivered: estimate, and bounds where they stand for it.

    `part` is ``""`` for those that answers are for, ``"unlabeled"`` for the rows without an
    outcome, of which there is None where no record tells of them.
    """

    def value(metric, variable="", of=part):
        there = records["metric"].eq(metric) & records["part"].fillna("").eq(of)
        there = records.loc[there & records["variable"].fillna("").eq(variable)]
        return there.iloc[0] if len(there) else pd.Series({"value": np.nan})

    metric = "target_rate" if records["metric"].eq("target_rate").any() else "target_mean"
    known = value(metric)
    if np.isnan(known["value"]):
        return None, None
    ends = (float(value(metric, end)["value"]) for end in ENDS)
    told = int(known["rows"]), float(value("effective_rows", of="")["value"]), float("nan")
    answer = Estimate(float(known["value"]), float(known["standard_error"]), *ends, *told)
    worst = (value("target_bounds", end, f"{part} worst".strip())["value"] for end in ENDS)
    bounded = value("unsupported_headline", of="")["value"] == 1
    return answer, tuple(map(float, worst)) if bounded else None
