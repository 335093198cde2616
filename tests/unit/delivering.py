"""Runs the jobs of one study of a table of one's own, without Snakemake."""

from pathlib import Path
from types import SimpleNamespace

from counterweight.datasets.own_table import OwnTable
from counterweight.files.jobs import log
from counterweight.files.tables import write_table
from counterweight.plan import components, kinds
from counterweight.plan.config import resolve
from counterweight.plan.stages import Stages

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
#: Files that each stage makes, by role: attributes or methods of the study's paths.
OUTPUTS = {
    "label": {"features": "features", "labels": "labels", "truth": "truth"},
    "select": {"table": "selection", "model": "selection_model"},
    "weigh": {"table": "weights"},
    "train": {"model": "model", "predictions": "predictions"},
}


class Own:
    """A study over a table of one's own in a folder.

    Parameters
    ----------
    folder : Path
    frame : pandas.DataFrame
    study : dict
        Without its data set; ``deliver`` and ``score`` as the plan has them.
    roles : dict
        Column by role.
    """

    def __init__(self, folder, frame, study, roles=None):
        frame.to_csv(folder / "own.csv", index=False)
        study = dict(study)
        late = {key: study.pop(key, None) for key in ("deliver", "score")}
        given = {
            "results": str(folder / "results"),
            "data": str(folder / "data"),
            "seed": 7,
            "repeats": 1,
            "test_share": 0.3,
            "datasets": {"own_table": {"path": str(folder / "own.csv")}},
            "studies": {"mine": {"dataset": "own_table"} | study},
        }
        self.plan = resolve(given)
        self.study = self.plan["studies"]["mine"]
        self.study |= late
        self.plan["datasets"]["own_table"]["roles"] = roles or {}
        self.at = Stages(self.plan, SCRIPTS).paths.study("mine")
        kinds.module_of(self.study).finish("mine", self.study)
        write_table(self.at.table, OwnTable.read(folder / "own.csv"))

    def run(self, stage, item=""):
        """Run a job as its script would; give its files by role, or what it measured."""
        job = Stages(self.plan, SCRIPTS).job(stage, "mine", item)
        outputs = dict(job.outputs)
        for role, name in OUTPUTS.get(stage, {}).items():
            path = getattr(self.at, name)
            outputs[role] = path(item) if callable(path) else path
        running = SimpleNamespace(
            input=SimpleNamespace(**job.inputs),
            output=SimpleNamespace(**outputs),
            given=job.given,
            threads=1,
            log=log,
        )
        function = components.reference(job.run)
        with components.only(job.uses, job.modules):
            made = function(running)
        if stage == "evaluate":
            return made
        return {role: Path(path) for role, path in outputs.items()}
