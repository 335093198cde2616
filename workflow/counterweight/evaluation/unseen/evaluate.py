"""Quality of a method where hidden labels do not exist: out of fold, weighted to the target."""

import numpy as np

from counterweight.evaluation.unseen.quality import quality

KIND = "blanks"
OPTIONS = {}
LABEL = "cross-validated on labeled rows, weighted to the target"
#: Metrics by what `quality` calls them.
NAMES = {"calibration": "calibration_ratio", "bias": "mean_error"}


def unseen(y, prediction, weight, design, *, binary, target, group=None):
    """Metrics of out-of-fold predictions, on the target and on the labeled rows.

    Parameters
    ----------
    y, prediction : array (M,)
        Of the labeled rows that were tried on.
    weight, design : array (M,)
        Weights to the target population, and design weights alone.
    binary : bool
    target : str
        Population that the weights stand for.
    group : array (M,), optional

    Returns
    -------
    list of dict
        Records; part ``labeled`` is the quality on the labeled rows as they are. Variables
        ``low`` and ``high`` are the ends of the 95 % interval of a metric.
    """
    records = []
    kind = "binary" if binary else "number"
    for part, weights in (("", weight), ("labeled", design)):
        for name, known in quality(y, prediction, weights, kind=kind, group=group).items():
            place = {"target": target, "metric": NAMES.get(name, name), "part": part}
            place["rows"] = int(np.count_nonzero(weights))
            records.append(place | {"value": known.value, "standard_error": known.standard_error})
            # The interval is no mean ± error: it keeps to the bounds that a metric has.
            records += [
                place | {"variable": end, "value": getattr(known, end)}
                for end in ("low", "high")
                if np.isfinite(getattr(known, end))
            ]
    return records
