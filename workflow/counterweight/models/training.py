"""Train one method of a study in one repeat, for every target."""

import inspect
import itertools

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.classifier import positive, sibling
from counterweight.numerics.checks import features_named
from counterweight.plan.components import declared, load
from counterweight.tables.jobs import train_repeats
from counterweight.tables.parquet import (
    model_table,
    numbers_of,
    read_columns,
    read_models,
    setting_name,
)
from counterweight.tables.study_data import generator, predicted, prediction_blocks

#: Begins the names of the arrays of a feature map.
MAP = "map_"


def settings(sweep):
    """All combinations of a sweep (dict of option to list of values), as dicts."""
    names = list(sweep)
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*sweep.values())]


def train_study(job, data):
    """Train a method in every repeat of the data of a study; write its models and predictions."""
    given = job.given
    starts = {
        name: read_models(path)
        for name, path in zip(
            given.get("starts", ()), getattr(job.input, "starts", ()), strict=True
        )
    }
    told = {key: given.get(key) for key in ("measures", "promises")}
    told["same"] = _answers_of(*job.input.same_fits) if getattr(job.input, "same_fits", ()) else {}
    streams = {"seed": given["seed"], "study": given["stream"]}

    def one(repeat):
        fitted, predictions = train_repeat(
            data, given["method"], repeat, given["targets"], **streams, starts=starts, **told
        )
        return [model_table(arrays, repeat, target) for target, arrays in fitted], predictions

    with features_named(data.names):
        train_repeats(job, one, given.get("repeats", len(data.labels)))


class _Answers:
    """What is kept of a fit: its numbers by name, and its answers p for the test rows."""

    def __init__(self, numbers, p):
        self.numbers, self.p = numbers, p
        self.SWEPT = tuple(numbers)

    def to_arrays(self):
        return self.numbers

    def predict(self, _):
        return self.p


def _answers_of(predictions, models):
    """`_Answers` of the fits of a method, by repeat, target and setting, from its two files."""
    models, found = read_models(models), {}
    columns = ["repeat", "target", "setting", "p"]
    answers = read_columns(predictions, columns, categories=("target", "setting"))
    for repeat, target, setting, part in prediction_blocks(answers):
        numbers = {
            key[0]: values
            for key, values in models[repeat, target].items()
            if isinstance(key, tuple) and key[1] == setting
        }
        found[repeat, target, setting] = _Answers(numbers, answers["p"][part])
    return found


def cross_fitted(job, data):
    """Train a method in every repeat of `BlankData.cross_validated`; see `train_study`.

    Repeat 0 is the fit to all labeled rows, of which the model is kept; each further one tests a
    fold. Options that are null, and of which the model has ``choices``, are chosen: those with the
    least loss in the folds that decide (`_deciding`), weighted as the fits are, which all fits then
    have. A model of which a shorter fit is the beginning of a longer one (``PATH``) is
    fitted once for all lengths, and not again in the folds that decided. A model that is
    ``settled`` by the labeled rows is so for all fits.
    """
    given = job.given
    streams = {"seed": given["seed"], "study": given["stream"]}
    method = given["method"] | {"options": dict(given["method"]["options"])}
    (target,) = given["targets"]
    component = load("model", method["model"])
    component = sibling(component, not data.numbers, data.amounts)
    repeats = list(data.labels)
    if hasattr(component, "settled"):
        # Not kept under a name: the fit makes them again, and of many rows two are too many.
        told = seen_rows(component, data.taken_by(component), 0, target)[:3]
        method["options"] |= component(**method["options"]).settled(*told)
        del told
    tried, fits = choices_of(component, method["options"], int(data.labeled.sum())), {}
    if tried:
        losses, path = {}, getattr(component, "PATH", None)
        deciding = _deciding(data, repeats)
        most = ASKED_ROWS // len(deciding)
        for repeat in deciding:
            told = data, repeat, target, tried, streams, most
            for setting, loss in _tried(component, method, *told, fits):
                losses[setting] = losses.get(setting, 0.0) + loss
        best = dict(min(losses, key=losses.get))
        method["options"] |= best
        own = {name: value for name, value in best.items() if name != path}
        own = {repeat: fits.get((repeat, *own.items())) for repeat in deciding}
        fits = {one: fit.shortened(method["options"][path]) for one, fit in own.items() if fit}
    chosen = {k: v for k, v in method["options"].items() if v != given["method"]["options"].get(k)}
    if chosen:
        job.log.info("chosen: %s", setting_name(chosen))

    def one(repeat):
        told = given["targets"], fits.pop(repeat, None)
        fitted, predictions = train_repeat(data, method, repeat, *told, **streams)
        kept = [model_table(arrays, repeat, whose) for whose, arrays in fitted]
        return kept if repeat == 0 else [], predictions

    with features_named(data.names):
        train_repeats(job, one, repeats)


#: Folds that decide between settings, rows of each that are learned from, and asked in all folds;
#: of more, the first in the order of a fit, which is by content and so as good as drawn.
CHOSEN_IN, ASKED_ROWS = 5, 100_000


def _deciding(data, repeats):
    """Repeats whose folds decide between settings, the first `CHOSEN_IN`.

    Where these are drawn row by row, and learn from `ASKED_ROWS`, only as many as ask as many: the
    fits of more folds would differ by hardly more than chance.
    """
    first = repeats[1 : 1 + CHOSEN_IN]
    whole = (data.group >= 0).any() or (data.folds[0][data.labeled] < 0).any()
    if whole or data.role(first[0], "labeled").sum() <= ASKED_ROWS:
        return first
    asked = np.cumsum([data.role(repeat, "test").sum() for repeat in first])
    return first[: 1 + int(np.searchsorted(asked, ASKED_ROWS))]


def choices_of(component, options, rows):
    """Values to choose from of the options that are null, by name."""
    if not hasattr(component, "choices"):
        return {}
    return {
        name: values for name, values in component.choices(rows).items() if options[name] is None
    }


def _tried(component, method, data, repeat, target, tried, streams, most, fits=None):
    """Each setting (pairs of option and value) with its summed weighted loss in a repeat's fold.

    Where more than `ASKED_ROWS` rows could be learned from, `most` rows of the fold are asked;
    else `fits` gets what was fitted, by repeat and setting: the longest along a ``PATH``.
    """
    data = data.taken_by(component)
    X, y, weight, told = seen_rows(component, data, repeat, target)
    test, of_test = data.test(repeat, target), data.tested_weights(repeat)
    path = getattr(component, "PATH", None)
    kept = None not in (path, fits) and len(X) <= ASKED_ROWS
    if len(X) > ASKED_ROWS:
        X, y, weight = (None if v is None else v[:ASKED_ROWS] for v in (X, y, weight))
        some = data.in_order(test)[:most]
        test, of_test = test[some], of_test[some]
    truth = data.y[test]

    def fitted(options):
        rng = generator(streams["seed"], streams["study"], repeat, f"choose {method['model']}")
        model = component(**options).fit(X, y, weight, rng=rng, **told)
        if kept:
            fits[repeat, *((name, options[name]) for name in tried if name != path)] = model
        return model

    for own, p in held_out_answers(
        component, method["options"], tried, fitted, data.X[test], target
    ):
        if data.numbers:
            loss = (p - truth) ** 2
        else:
            p = np.clip(p, 1e-12, 1 - 1e-12)
            loss = -np.log(np.where(truth == 1, p, 1 - p))
        yield tuple(own.items()), float(of_test @ loss)


#: A path is followed to so many times what was best of it in the folds so far.
FURTHER = 5


def narrowed(component, tried, best):
    """Values that are still tried after some folds, of which the setting `best` lost least."""
    path = getattr(component, "PATH", None)
    if path not in tried:
        return tried
    return tried | {path: tuple(size for size in tried[path] if size <= FURTHER * best[path])}


def held_out_answers(component, options, tried, fitted, X, target="general"):
    """Each setting of the values that are `tried`, by option, with its answers for rows X.

    `fitted` gives the model of some options; one of which a shorter fit is the beginning of a
    longer one (``PATH``) is fitted once for all lengths.
    """
    path = getattr(component, "PATH", None)
    short = tried.get(path, ())
    for setting in settings({name: values for name, values in tried.items() if name != path}):
        model = fitted(options | setting | ({path: max(short)} if short else {}))
        if short:
            for size, p in zip(short, model.along(X, short), strict=True):
                yield setting | {path: size}, p
        else:
            yield setting, positive(model, X, target)


def train_repeat(
    data,
    method,
    repeat,
    targets,
    fit=None,
    *,
    seed,
    study,
    starts=None,
    measures=None,
    promises=None,
    same=None,
):
    """Fit and predict one repeat of one method (``model``, ``options``, ``sweep`` or None).

    `fit` is the model where it is fitted already. `study` is the name that the random streams go
    by, `starts` fitted models that this one begins from: arrays by name, repeat and target. Models
    of named data sets are measured by the rates `measures` on their training rows, and held to
    `promises` (``texts`` and ``numbers``). `same` are `_Answers` of a method whose fits are those
    of this one. Gives by target the arrays for ``tables.model_table``, those of a sweep by name and
    setting, and tables of predictions.
    """
    component = load("model", method["model"])
    component = sibling(component, not data.numbers, data.amounts)
    needs_starts = declared("model", method["model"], "STARTS") is not None
    fitted, predictions, earlier = [], [], {}
    if hasattr(component, "SAMPLED"):
        for target in targets:
            arrays, tables = train_sampled(
                component, method, data, repeat, target, seed, study, measures or {}, promises
            )
            fitted.append((target, arrays))
            predictions += tables
        return fitted, predictions
    data = data.taken_by(component)
    for target in targets:
        if needs_starts:
            begun = {name: arrays[repeat, target] for name, arrays in starts.items()}
            variants = _shifted(component, method, data, repeat, begun, earlier)
        else:
            told = seed, study, earlier, same or {}
            variants = [("", fit)] if fit and not method["sweep"] else None
            variants = variants or _trained(component, method, data, repeat, target, *told)
        test = data.test(repeat, target)
        selected = data.labels[repeat]["selected"][data.tested(repeat, target)]
        arrays = {}
        for setting, model in variants:
            numbers = model.to_arrays()
            if setting:
                swept = getattr(model, "SWEPT", ())
                arrays |= {(name, setting): np.ravel(numbers[name])[-1:] for name in swept}
                arrays["settings"] = len(variants)
            else:
                arrays = numbers
            if len(test):
                # Labeled rows may turn out otherwise than those of a target (MOVES).
                moves = data.tests_labeled and getattr(model, "MOVES", False)
                p = positive(model, data.X[test], "labeled" if moves else target, selected)
                predictions.append(predicted(repeat, target, setting, data.rows[test], p))
        fitted.append((target, arrays))
    return fitted, predictions


def seen_rows(component, data, repeat, target):
    """What a model learns from: X (M, d), y, weight (M,) or None, further arguments of ``fit``.

    By what its class asks for. ``UNLABELED``: it sees the features of unlabeled rows, too; as an
    oracle it then gets the hidden labels of these beside the labeled rows, and is refused where it
    has no use for them. ``KEYED``: it gets keys to draw its rows by. ``CATEGORIES``: it gets the
    layout of features of which the recipe declares some to be categories. ``NAMED``: it gets the
    names of its features. ``RATED``: it gets the rates at which rows of a log were kept; others
    weigh them by these.
    """
    two = getattr(component, "UNLABELED", False)
    X, y, weight, rows = data.training(repeat, target, seen=two)
    told = {"keys": data.keys(rows)} if getattr(component, "KEYED", False) else {}
    if getattr(component, "CATEGORIES", None) and data.categories:
        told["categories"] = component.CATEGORIES.named(data.names, **data.categories)
    if getattr(component, "NAMED", False):
        told["names"] = data.names
    if data.categorical is not None:
        told["categorical"] = data.categorical
    rates = data.keep_rates(repeat, target)
    if rates is not None and getattr(component, "RATED", False):
        told["rates"] = rates
    elif rates is not None:
        weight = (1.0 if weight is None else weight) / rates
    if two:
        told["X_unlabeled"], hidden = data.unlabeled(repeat, target)
        if hidden is not None:
            if "y_unlabeled" not in inspect.signature(component.fit).parameters:
                raise CounterweightError(
                    f"{component.__name__} learns from labeled and unlabeled rows and has no use "
                    "for hidden labels: leave out oracle."
                )
            told["y_unlabeled"] = hidden
    return X, y, weight, told


def train_sampled(component, method, data, repeat, target, seed, study, measures, promises=None):
    """Fit and predict a model that goes by named data sets, unlabeled ones included.

    Its class names in ``SAMPLED`` the class of data sets that it takes, in ``KEPT`` what is
    kept of each setting of a sweep (None: all), and with ``GROUPED`` that predictions need the
    sets, too.
    """
    X, y, weight, _ = data.training(repeat, target)
    samples = component.SAMPLED(**data.sampled(repeat, target))
    tested = component.SAMPLED(**data.sampled(repeat, target, test=True))
    test = data.test(repeat, target)
    if len(test) != len(tested.X):
        raise CounterweightError(
            f"The model {method['model']} goes by named data sets, whose test rows are all rows: "
            "set targets: [general]."
        )
    weight, kept = weight if data.weights is not None else None, data.keep_rates(repeat, target)
    if kept is not None:
        weight = (1.0 if weight is None else weight) / kept
    purpose = f"train {method['model']} {method['options'].get('draw', 0)}"
    arrays, predictions, first = {}, [], {}
    swept = settings(method["sweep"] or {})
    together = None
    if len(swept) > 1 and hasattr(component, "fit_sweep"):
        together = component.fit_sweep(
            [method["options"] | setting for setting in swept],
            samples,
            generator(seed, study, repeat, purpose),
        )
    for place, setting in enumerate(swept):
        name, options = setting_name(setting), method["options"] | setting
        if together:
            model = together[place]
        else:
            model = component(**options).fit(
                X, y, weight, rng=generator(seed, study, repeat, purpose), samples=samples
            )
        numbers = {
            part: values
            for part, values in model.to_arrays().items()
            if not name or component.KEPT is None or part in component.KEPT or part.startswith(MAP)
        }
        learned = model.fitted_on(samples)
        seen, decided = model.training_answers(learned)
        if measures:
            measured = learned.measure(seen, measures, options, decided=decided)
            numbers["train_measures"] = np.array([measured[part][:2] for part in measures], float)
        if promises:
            told = promises["numbers"] | numbers_of(name)
            numbers["train_promises"] = learned.constraint_values(
                seen, decided, promises["texts"], told
            )
        for part, values in numbers.items():
            # A map that the settings of a sweep share is kept once.
            shared = not name or (
                part.startswith(MAP) and np.array_equal(first.setdefault(part, values), values)
            )
            arrays[part if shared else (part, name)] = values
        p, decided = model.answers(tested.X, tested)
        predictions.append(predicted(repeat, target, name, data.rows[test], p, decided))
    return arrays, predictions


def _trained(component, method, data, repeat, target, seed, study, earlier, same):
    """Variants of a model that learns from rows with labels.

    `earlier` remembers the fits of this repeat: the same rows with the same labels give
    the same fit, and the same rows with other labels may share a part of it. `same` are those of
    `train_repeat`.
    """
    X, y, weight, told = seen_rows(component, data, repeat, target)
    # An oracle that sees both parts of the rows learns from the same ones for each target.
    hidden = told.get("y_unlabeled")
    rows = "labeled" if data.truth is None or hidden is not None else target
    key = rows, y.tobytes(), None if hidden is None else hidden.tobytes()
    if key in earlier:
        return earlier[key]
    purpose = f"train {method['model']} {method['options'].get('draw', 0)}"
    part = getattr(component, "REUSED", None)
    variants = []
    for setting in settings(method["sweep"] or {}):
        name = setting_name(setting)
        if (found := same.get((repeat, target, name))) and "rates" not in told:
            p = component.derived(method["options"] | setting, found.p, found.numbers)
            if p is not None:
                variants.append((name, _Answers(found.numbers, p)))
                continue
        reused = {part: earlier[rows, name]} if (rows, name) in earlier else {}
        model = component(**(method["options"] | setting)).fit(
            X, y, weight, rng=generator(seed, study, repeat, purpose), **reused, **told
        )
        if part:
            earlier[rows, name] = getattr(model, f"{part}_")
        variants.append((name, model))
    earlier[key] = variants
    return variants


def _shifted(component, method, data, repeat, starts, earlier):
    """Variants of a model that begins from fitted ones and shifts on unlabeled rows.

    Settings that differ only in the number of iterations share one run; targets whose
    start models are the same share all.
    """
    key = tuple(values.tobytes() for arrays in starts.values() for values in arrays.values())
    if key in earlier:
        return earlier[key]
    options = dict(method["options"])
    steps = [options.pop("iterations")]
    sweep = dict(method["sweep"] or {})
    steps = sorted(sweep.pop("iterations", steps))
    shared = {"starts": starts, "selected_share": data.selected_share(repeat), "iterations": steps}
    X_unlabeled = data.X[data.positions(repeat, data.role(repeat, "unlabeled"))]
    variants = []
    for setting in settings(sweep):
        for count, model in component.path(X_unlabeled, **(options | setting | shared)):
            named = setting | ({"iterations": count} if len(steps) > 1 else {})
            variants.append((setting_name(named), model))
    earlier[key] = variants
    return variants
