"""Access to the results of one study, for figures."""

from pathlib import Path

import pandas as pd

from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics.intervals import normal_interval, paired_interval
from counterweight.files.settings import setting_options
from counterweight.files.tables import model_arrays, read_table
from counterweight.reporting.page.wording import method_label


class StudyResults:
    """What a figure may look at: the plan, the metrics and the files of one study.

    Parameters
    ----------
    name : str
    plan : dict
        The study's own part of the plan.
    metrics : pandas.DataFrame
        Layout `counterweight.files.tables.METRICS`; rows of other studies are dropped.
    folder : str or Path
        The study's folder of results.
    """

    def __init__(self, name, plan, metrics, folder):
        self.name = name
        self.plan = plan
        self.metrics = metrics[metrics["study"] == name]
        self.folder = Path(folder)

    def table(self, file):
        """A Parquet file of the study as a frame, e.g. ``"features.parquet"``."""
        return read_table(self.folder / file)

    def columns(self, file):
        """Names of the columns of a Parquet file of the study, without reading its rows."""
        import pyarrow.parquet as pq

        return pq.read_schema(self.folder / file).names

    def model(self, method, repeat=0, target="general"):
        """Named arrays of one fitted model.

        Raises
        ------
        CounterweightError
            When the file or the repeat and target are not there.
        """
        path = self.folder / "models" / f"{method}.parquet"
        rows = read_table(path)
        rows = rows[(rows["repeat"] == repeat) & (rows["target"] == target)]
        if rows.empty:
            raise CounterweightError(
                f"{path} has no model of repeat {repeat} for the target {target!r}: "
                "delete it and run again to make it anew."
            )
        return model_arrays(rows)

    def methods(self, swept=False):
        """Methods of the plan: those with a sweep, or those without."""
        return [one for one in self.plan["methods"] if bool(one.get("sweep")) == swept]

    def label(self, method_id):
        for one in self.plan["methods"]:
            if one["id"] == method_id:
                return method_label(one)
        return method_id

    def rows(self, source, metric, target=None):
        """Rows of one metric of one source."""
        rows = self.metrics[(self.metrics["source"] == source) & (self.metrics["metric"] == metric)]
        return rows if target is None else rows[rows["target"] == target]

    def means_by(self, column, source, metric, target=None):
        """Mean over repeats for each value of a column, such as ``part``, as a Series."""
        rows = self.rows(source, metric, target)
        return rows.groupby(column, sort=False)["value"].mean()

    def estimate(self, source, metric, target, setting=""):
        """``(mean, low, high)`` of a metric, by default of one without settings.

        The interval is the corrected resampled one; from a single split, the normal
        interval of its standard error. None when there is no value.
        """
        rows = self.rows(source, metric, target)
        rows = rows[(rows["setting"] == setting) & rows["value"].notna()]
        if rows.empty:
            return None
        if len(rows) > 1:
            return paired_interval(rows["value"], self.plan["test_share"])
        value, error = rows["value"].iloc[0], rows["standard_error"].iloc[0]
        low, high = (value, value) if pd.isna(error) else normal_interval(value, error)
        return value, low, high

    def curve(self, source, metric, option, target="general"):
        """A metric along the values of one option, the only one of its settings.

        Returns
        -------
        list of (float, float, float, float)
            ``(value of the option, mean, low, high)``, by that value; where there is no
            interval, both bounds are the mean.
        """
        points = []
        for setting in self.rows(source, metric, target)["setting"].unique():
            options = setting_options(setting)
            estimate = self.estimate(source, metric, target, setting)
            if estimate is None or set(options) != {option} or isinstance(options[option], str):
                continue
            mean, low, high = estimate
            points.append((options[option], mean, *((mean, mean) if low != low else (low, high))))
        return sorted(points)
