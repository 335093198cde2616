"""Parts of a study, made without its jobs: labels of all repeats in one table, a model as kept."""

import pandas as pd
from counterweight.labeling.split import labeled_repeats
from counterweight.models.training import settings
from counterweight.plan.components import load
from counterweight.tables.parquet import by_setting, setting_name


def label_rows(*rows, **options):
    """Labels and hidden truth of every repeat, each in one table."""
    parts = zip(*labeled_repeats(*rows, **options), strict=True)
    return tuple(pd.concat(part, ignore_index=True) for part in parts)


def stored_model(method, arrays, setting=""):
    """A fitted model of a study from the arrays that the study kept of it."""
    points = {setting_name(point): point for point in settings(method["sweep"] or {})}
    parts = by_setting(arrays)
    model = load("model", method["model"]).from_arrays(parts.get("", {}) | parts.get(setting, {}))
    return model.set_params(**method["options"] | points[setting])
