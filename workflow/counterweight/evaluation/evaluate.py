"""Every metric of every block of predictions."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics import CLIP

#: Numbers that a fitted model may carry, and the metric that reports them.
FITTED = {
    "log_likelihood": "log_likelihood",
    "unlabeled_log_likelihood": "log_likelihood",
    "restart_log_likelihood": "restart_log_likelihood",
    "iterations": "iterations",
    "converged": "converged",
    "components_held": "components_held",
    "decisions_moved": "decisions_moved",
    "log_likelihood_falls": "log_likelihood_falls",
}


def evaluate_predictions(predictions, truth, metrics):
    """Metric records for each repeat, target and setting.

    Parameters
    ----------
    predictions : pandas.DataFrame
        Columns repeat, target, setting, row, p; blocks of equal repeat, target and
        setting stand together.
    truth : pandas.DataFrame
        Columns repeat, row and ``y_{target}``.
    metrics : dict of str to callable
        ``metric(y, p) -> (value, standard error)``.

    Returns
    -------
    list of dict
    """
    keys = predictions[["repeat", "target", "setting"]]
    edges = np.flatnonzero((keys != keys.shift()).any(axis=1).to_numpy())
    p_all = predictions["p"].to_numpy()
    rows_all = predictions["row"].to_numpy()
    if not np.isfinite(p_all).all():
        raise CounterweightError(
            f"{int((~np.isfinite(p_all)).sum())} predictions are not finite numbers: the model "
            "failed; see its log."
        )
    by_repeat = {
        int(repeat): part.set_index("row") for repeat, part in truth.groupby("repeat", sort=False)
    }
    records = []
    for start, stop in zip(edges, [*edges[1:], len(predictions)], strict=True):
        repeat, target, setting = keys.iloc[start]
        y = by_repeat[int(repeat)][f"y_{target}"].loc[rows_all[start:stop]].to_numpy()
        p = p_all[start:stop]
        where = {"repeat": int(repeat), "target": target, "item": setting, "rows": len(p)}
        for name, metric in metrics.items():
            value, error = metric(y, p)
            records.append(where | {"metric": name, "value": value, "standard_error": error})
        clipped = int(((p < CLIP) | (p > 1 - CLIP)).sum())
        records.append(where | {"metric": "probabilities_clipped", "value": clipped})
    return records


def describe_fits(models):
    """Metric records of what the fitted models say of themselves.

    Parameters
    ----------
    models : pandas.DataFrame
        Long table of fitted models (layout ``tables.MODEL``).
    """
    records = []
    for (name, repeat, target), part in models.groupby(
        ["parameter", "repeat", "target"], sort=False
    ):
        name, _, setting = name.partition("@")
        if name not in FITTED:
            continue
        values = part["value"].to_numpy()
        for k, value in enumerate(values):
            item = setting or (str(k) if len(values) > 1 else "")
            metric = name if setting else FITTED[name]
            records.append(
                {"repeat": repeat, "target": target, "metric": metric, "item": item, "value": value}
            )
    return records
