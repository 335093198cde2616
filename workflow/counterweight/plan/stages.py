"""Every job of a plan, by stage: asked of the study's kind, of the data's source, of the report."""

import functools
from pathlib import Path

from counterweight.plan import kinds
from counterweight.plan.paths import Paths


class Stages:
    """The jobs of a plan.

    Parameters
    ----------
    plan : dict
        From ``counterweight.plan.config.resolve``.
    scripts : str or Path
        Folder of the scripts, one a stage.
    """

    def __init__(self, plan, scripts):
        self.plan, self.paths, self.scripts = plan, Paths(plan), Path(scripts)
        self.job = functools.lru_cache(None)(self._job)
        self.spec = functools.lru_cache(None)(self._spec)

    def _job(self, stage, name="", item=""):
        """The job of a stage: of a data set, of a study, or of an item of a study.

        Parameters
        ----------
        stage : str
        name : str
            Data set, study, or family of studies (of a page); "" for the report.
        item : str
            Selector, weighting or method, by id.

        Returns
        -------
        counterweight.plan.jobs.Job or None
            None where there is nothing to do.
        """
        from counterweight.datasets import sources
        from counterweight.reporting.page import jobs

        if stage in ("download", "prepare"):
            planned = {"download": sources.download_job, "prepare": sources.prepare_job}[stage]
            return planned(name, self.plan, self.paths)
        if stage in ("draw", "page", "report"):
            planned = getattr(jobs, f"{stage}_job")
            return planned(self.plan, self.paths, *([name] if name else []))
        study = self.plan["studies"][name]
        planned = getattr(kinds.module_of(study), f"plan_{stage}")
        return planned(self.plan, study, *([item] if item else []), self.paths.study(name))

    def _spec(self, stage, name="", item=""):
        """The job spec for params; arguments as `job`."""
        return self.job(stage, name, item).spec(str(self.scripts / f"{stage}.py"))

    def applied(self):
        """Study whose gift is applied to new rows; see `counterweight.plan.kinds.applied`."""
        giving = [
            name
            for name, study in self.plan["studies"].items()
            if self.job("apply", name) and not study["score"]
        ]
        return kinds.applied(self.plan, giving)
