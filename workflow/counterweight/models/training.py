"""Train one method of a study in one repeat, for every target."""

import itertools

import numpy as np
import pyarrow as pa

from counterweight.components import declared, load
from counterweight.seeds import generator
from counterweight.tables import constant


def setting_name(setting):
    """Text for a point of a sweep, e.g. ``inertia=0.9,shifts=all``."""
    return ",".join(f"{name}={_text(value)}" for name, value in setting.items())


def _text(value):
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def settings(sweep):
    """All combinations of a sweep (dict of option to list of values), as dicts."""
    names = list(sweep)
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*sweep.values())]


def train_repeat(data, method, repeat, targets, *, seed, study, starts=None):
    """Fit and predict one repeat of one method.

    Parameters
    ----------
    data : StudyData
    method : dict
        ``model``, ``options``, ``sweep`` (or None) of the method.
    repeat : int
    targets : sequence of str
    seed : int
    study : str
        Name that the random streams go by.
    starts : dict of str to (dict of (repeat, target) to arrays), optional
        Fitted models that this one begins from.

    Returns
    -------
    fitted : list of (target, dict of str to array)
    predictions : list of pyarrow.Table
    """
    component = load("model", method["model"])
    needs_starts = declared("model", method["model"], "STARTS") is not None
    fitted, predictions, seen = [], [], {}
    for target in targets:
        X, y, weight = data.training(repeat, target)
        # The same rows with the same labels give the same fit: do it once.
        key = (X.shape, y.tobytes(), data.truth is not None and target)
        if not needs_starts and key in seen:
            variants = seen[key]
        else:
            purpose = f"train {method['model']} {method['options'].get('draw', 0)}"
            rng = generator(seed, study, repeat, purpose)
            if needs_starts:
                variants = _from_starts(component, method, data, repeat, target, starts)
            else:
                variants = [
                    (
                        setting_name(setting),
                        component(**(method["options"] | setting)).fit(X, y, weight, rng=rng),
                    )
                    for setting in settings(method["sweep"] or {})
                ]
            seen[key] = variants
        test = data.test(repeat, target)
        arrays = {}
        for setting, model in variants:
            numbers = model.to_arrays()
            if setting:
                arrays |= {
                    f"{name}@{setting}": np.ravel(numbers[name])[-1:] for name in model.SWEPT
                }
            else:
                arrays = numbers
            proba = (
                model.predict_proba(data.X[test], target=target)
                if needs_starts
                else model.predict_proba(data.X[test])
            )
            predictions.append(
                pa.table(
                    {
                        "repeat": np.full(len(test), repeat, "int16"),
                        "target": constant(target, len(test)),
                        "setting": constant(setting, len(test)),
                        "row": data.rows[test].astype("int32"), "p": proba[:, 1],
                    }
                )
            )  # fmt: skip
        fitted.append((target, arrays))
    return fitted, predictions


def _from_starts(component, method, data, repeat, target, starts):
    """Variants of a model that begins from fitted ones and shifts on unlabeled rows.

    Settings that differ only in the number of iterations share one run.
    """
    options = dict(method["options"])
    steps = [options.pop("iterations")]
    sweep = dict(method["sweep"] or {})
    steps = sorted(sweep.pop("iterations", steps))
    shared = {
        "starts": {name: arrays[repeat, target] for name, arrays in starts.items()},
        "selected_share": data.selected_share(repeat),
        "iterations": steps,
    }
    X_unlabeled = data.X[data.positions(repeat, data.role(repeat, "unlabeled"))]
    variants = []
    for setting in settings(sweep):
        for count, model in component.path(X_unlabeled, **(options | setting | shared)):
            named = setting | ({"iterations": count} if len(steps) > 1 else {})
            variants.append((setting_name(named), model))
    return variants
