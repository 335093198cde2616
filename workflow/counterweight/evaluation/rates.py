"""Protocol of studies on dataset constraints: rates on named data sets, train and test.

Each measure is an expression of `counterweight.numerics.rates`. It is taken for two rules:
deterministic (positive where p > 1/2) and randomised (positive with probability p; Goh et al. 2016,
equation 3). Records by measure: ``deterministic`` and ``randomised`` on test rows (target general,
with standard error where it is known) and on training rows (target train); ``gap`` is the
randomised test value minus the training one; ``deployed``, of the deployed model if there is one;
``deterministic_at_equal`` and ``randomised_at_equal``, interpolated at the value of another measure
that the setting names (``ratio=1.5``). ``asked_excess_*`` is by how much what a setting requests is
broken, relative to it. Of each constraint, by its number as part: ``promise_left_*``,
``promise_right_*`` (its sides) and ``promise_excess_*`` (by how much it is broken), by rule, on
test and training rows. A value that is not defined (a ratio to nothing) is NaN. Of the fit:
`fit_records`.
"""

import copy

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics import grouped_estimate, known_name
from counterweight.fragments import Flag, Option, Text
from counterweight.numerics.rates.values import RULES, TOLD, constraint_values
from counterweight.tables.parquet import blocks, by_setting, numbers_of, setting_options
from counterweight.tables.study_data import by_repeat, found_rows

#: The fitted models are handed over beside the predictions.
INFORMED = True
#: It is told the constraints of a method, too.
CONSTRAINTS = True
#: Plain metrics that are told: those of decisions, and those of chances, which rules that only say
#: yes or no do not have.
_DECIDED, _CHANCES = ("accuracy", "balanced_accuracy"), ("auc", "brier")
#: Numbers of a fit that are reported as they are, if it has them.
_NUMBERS = (
    *("feasible", "penalty", "coefficient_norm", "accepted", "behind", "collapsed"),
    "duality_gap",
)
#: What is told of each classifier that one was chosen from.
_CANDIDATE = ("candidate_cost", "candidate_missed", "candidate_taken")
#: MM steps that the paper's second experiment takes.
_FEW = 5
#: A setting binds where training rows are so near to what is asked, as a share of it; so many
#: settings make a line.
_BINDS, _LINE = 0.02, 4
#: Objectives may rise and constraints be broken by so much: rounding.
_ROUNDING = 1e-9
#: Metrics of a measure at equal values of another one, by rule.
AT_EQUAL = {rule: f"{rule}_at_equal" for rule in RULES}
#: Two classifiers of 70 and 75 % accuracy, as in the paper: the share of rows on which they
#: disagree, and the share of these that the better one has right.
CASES = {"best": (0.05, 1.0), "worst": (0.55, 0.30 / 0.55)}
POWERS = (0.5, 0.8)
#: A search for more labels than this is given up: the two are as good as equal.
_MOST = 10_000_000


OPTIONS = {
    "measures": Option({}, "Expressions to measure, by name, e.g. error: error(everyone).", type="object", additionalProperties={"type": "string"}),
    "equal": Option(None,
        "Compare at equal values of one measure: another one, interpolated along the settings of a sweep, at these "
        "values.",
        type="object", additionalProperties=False, required=["measure", "of", "values"], null=True,
        properties={
            "measure": {"type": "string"}, "of": {"type": "string"},
            "values": {"type": "array", "minItems": 1, "items": {"type": "number"}, "uniqueItems": True},
        }),
    "asked": Option(None,
        "What an option asks of a measure: at most its value, at least its value, or at most one over it. By default "
        "what the constraints of the methods that sweep it ask of one of the measures.",
        type="object", additionalProperties=False, required=["measure", "option", "form"], null=True,
        properties={
            "measure": {"type": "string"}, "option": {"type": "string"},
            "form": {"enum": ["at_most", "at_least", "at_most_inverse"]},
        }),
    "sequence": Text(None,
        "Option of a sweep whose settings follow each other, such as models of one month after another: rates that "
        "speak of the deployed model (churn, win_rate) compare each setting with the one before; of the first they are "
        "not defined.", null=True),
    "sign_test": Flag(False, "Whether to compute how many labels a sign test between the deployed model and a new one needs."),
}  # fmt: skip
LABEL = "rates on named data sets"


def evaluate_rates(
    predictions,
    truth,
    metrics,
    *,
    measures,
    models=None,
    equal=None,
    asked=None,
    sequence=None,
    sign_test=False,
    rates=None,
    constraints=None,
    seed=None,
    stream=None,
):
    """Metric records of each repeat and setting; see `OPTIONS`, and the module for what there is.

    `predictions` are repeat, row, p (the chance of the positive answer), ``decision`` where answers
    are not p > 1/2, and target and setting as ``(codes, names)``; rows of one repeat, target and
    setting stand together. `truth` are repeat, row (each once in a repeat), y_general, in_{sample}
    and deployed; with ``user``, rows of one are one draw. `models` are arrays by repeat and target,
    `constraints` the ``texts`` and ``numbers`` that the method is held to. Accuracies among
    `metrics` are those of the deterministic rule; metrics that need probabilities inside (0, 1) are
    left out. Rows of a log that kept a part of its zeros weigh 1 / keep_rate, by `rates` (repeat,
    row, keep_rate), in rates that need labels and in all rates on ``labeled``.
    """
    rates = None if rates is None else by_repeat(rates)
    known, models = by_repeat(truth), models or {}
    records, points, lines, tested, deployed_done, earlier = [], {}, {}, {}, set(), {}
    for part in blocks(predictions, "repeat", "target", "setting"):
        place, rows, p, decided = _block(predictions, part)
        repeat, target, setting = (place[name] for name in ("repeat", "target", "setting"))
        if repeat not in tested or not np.array_equal(tested[repeat][0], rows):
            kept = None if rates is None else rates[repeat]
            tested[repeat] = rows, _test_data(known[repeat], rows, repeat, kept)
        data = tested[repeat][1]
        if sequence:
            data = _following(data, p, decided, setting, sequence, earlier)
        measured = _measured(data, p, decided, measures, setting)
        for name, (values, errors) in measured.items():
            of = place | {"measure": name}
            for rule, value, error in zip(RULES, values, errors, strict=True):
                records.append(of | {"metric": rule, "value": value, "standard_error": error})
        wanted = requested_value(asked, numbers_of(setting))
        if wanted == wanted:
            records += _asked_records(asked, measured[asked["measure"]][0], wanted, place)
        if constraints:
            records += _constraint_records(data, p, decided, constraints, place)
        decided = (p > 0.5 if decided is None else decided).astype(float)
        records += _metric_records(metrics, data, p, decided, place)
        if tested[repeat][1].deployed is not None and repeat not in deployed_done:
            deployed_done.add(repeat)
            records += _deployed_records(tested[repeat][1], place, measures)
        if sign_test and data.deployed is not None:
            records += _labels_needed(data, decided, place)
        if equal:
            points.setdefault((repeat, target), []).append(
                (measured[equal["measure"]][0], measured[equal["of"]][0])
            )
        fitted = by_setting(models.get((repeat, target), {})).get(setting, {})
        if wanted > 0 and "train_measures" in fitted:
            seen_in_fit = np.reshape(fitted["train_measures"], (len(measures), 2))
            kept = seen_in_fit[list(measures).index(asked["measure"]), 1]
            if abs(kept / wanted - 1) <= _BINDS:
                values = measured[asked["measure"]][0]
                lines.setdefault((repeat, target), []).append((wanted, *values))
        records += _train_records(fitted, measures, measured, place)
    for (repeat, target), pairs in points.items():
        records += _equal_records(pairs, equal, {"repeat": repeat, "target": target})
    for (repeat, target), asked_for in lines.items():
        records += _slope_records(np.array(asked_for), {"repeat": repeat, "target": target})
    for (repeat, target), arrays in models.items():
        records += fit_records(arrays, {"repeat": repeat, "target": target}, measures)
    if any("multipliers" in own for one in models.values() for own in by_setting(one).values()):
        records += bound_records()
    if sign_test:
        records += paper_cases()
    return records


def _block(predictions, part):
    """Place of a block of predictions in the records, its rows, chances and decisions or None."""
    repeat, p = int(predictions["repeat"][part.start]), np.asarray(predictions["p"][part], float)
    wrong = ~((p >= 0) & (p <= 1))
    if wrong.any():
        raise CounterweightError(
            f"{int(wrong.sum())} predictions of repeat {repeat} are no probabilities (first: "
            f"row {predictions['row'][part][wrong][0]}): the model failed; see its log."
        )
    place = {"repeat": repeat}
    for name in ("target", "setting"):
        codes, names = predictions[name]
        place[name] = names[codes[part.start]]
    decided = predictions["decision"][part] if "decision" in predictions else None
    return place | {"rows": len(p)}, predictions["row"][part], p, decided


def _asked_records(asked, values, wanted, place):
    """By how much values break what is asked, relative to it; NaN where 0 is asked for."""
    for rule, value in zip(RULES, values, strict=True):
        excess = np.nan
        if wanted:
            at_least = asked["form"] == "at_least"
            excess = (wanted - value) / wanted if at_least else value / wanted - 1
        yield place | {"metric": f"asked_excess_{rule}", "value": excess}


def _metric_records(metrics, data, p, decided, place):
    """Plain metrics on the rows with a label."""
    seen = data.y >= 0
    told = _DECIDED if np.isin(p[seen], (0.0, 1.0)).all() else _DECIDED + _CHANCES
    for name, metric in metrics.items() if seen.any() else ():
        plain = known_name(metric)
        if plain is None or plain in told:
            shown = decided if plain in _DECIDED else p
            weight = data.weight[seen] if np.ptp(data.weight) else None
            rows = data.y[seen], shown[seen], weight
            value, error = metric(*rows)
            if data.copies is not None:
                groups = {"groups": data.copies[seen], "weight": weight}
                error = grouped_estimate(metric, *rows[:2], **groups).standard_error
            yield place | {"metric": name, "value": value, "standard_error": error}


def _test_data(known, rows, repeat, kept=None):
    """The test rows of a repeat as named data sets, with the labels that anybody knows; `kept` are
    rates at which rows of a log were kept."""
    from counterweight.numerics.rates import DataSets

    missing = (
        f"Predictions of repeat {repeat} are of rows that its truth does not have: delete the "
        "predictions of the study and run again."
    )
    where = found_rows(known["row"], rows, missing)
    members = {
        name.removeprefix("in_"): np.asarray(values[where], bool)
        for name, values in known.items()
        if name.startswith("in_")
    }
    deployed = np.asarray(known["deployed"][where], float) if "deployed" in known else None
    y = np.nan_to_num(np.asarray(known["y_general"][where], float), nan=-1).astype("int8")
    weight = None
    if kept is not None:
        weight = 1 / kept["keep_rate"][found_rows(kept["row"], rows, missing)]
    copies = known["user"][where] if "user" in known else None
    told = {"members": members, "deployed": deployed, "copies": copies}
    return DataSets(X=None, y=y, weight=weight, **told)


def _following(data, p, decided, setting, sequence, earlier):
    """Test rows of which the setting before is the deployed model; the first has none."""
    others = setting_options(setting)
    if sequence not in others:
        return data
    others.pop(sequence)
    of = (id(data), *others.items())
    now = np.where((p > 0.5) if decided is None else np.asarray(decided) > 0.5, 1.0, -1.0)
    data = copy.copy(data)
    data.deployed, earlier[of] = earlier.get(of), now
    return data


def _measured(data, p, decided, measures, setting):
    """``{name: (values, standard errors)}`` for both rules."""
    from counterweight.numerics.rates import measure

    told = {"errors": True, "undefined": "nan", "decided": decided}
    values = measure(p, data, measures, numbers_of(setting), **told)
    finite = {name: [_finite(value) for value in four] for name, four in values.items()}
    return {name: (four[:2], four[2:]) for name, four in finite.items()}


def _finite(value):
    return float(value) if np.isfinite(value) else np.nan


def _deployed_records(data, place, measures):
    """What the deployed model itself comes to; where it has no score it says no."""
    answers = (np.nan_to_num(data.deployed, nan=-1.0) > 0).astype(float)
    measured = _measured(data, answers, None, measures, place["setting"])
    for name, ((value, _), (error, _)) in measured.items():
        of = place | {"metric": "deployed", "measure": name, "setting": ""}
        yield of | {"value": value, "standard_error": error}


def _constraint_records(data, p, decided, constraints, place):
    """What test rows make of each constraint."""
    numbers = constraints["numbers"] | numbers_of(place["setting"])
    values = constraint_values(p, decided, data, constraints["texts"], numbers)
    yield from _told_constraints(values, place, place["rows"])


def _told_constraints(values, place, rows):
    for j, both in enumerate(values):
        for rule, told in zip(RULES, both, strict=True):
            told = [_finite(value) for value in told]
            for name, value in zip(TOLD[:3], told[:3], strict=True):
                record = {"metric": f"promise_{name}_{rule}", "part": str(j), "value": value}
                more = {"standard_error": told[3]} if name == "excess" else {}
                yield place | record | more | {"rows": rows}


def _labels_needed(data, decided, place):
    """Share of disagreements with the deployed model, who is right there, labels to show it."""
    has = np.isfinite(data.deployed) & (data.y >= 0)
    old, new = data.deployed[has] > 0, decided[has] > 0.5
    differ = old != new
    yield place | {"metric": "disagreement", "value": float(differ.mean())}
    if differ.any():
        wins = float((new[differ] == (data.y[has][differ] == 1)).mean())
        yield place | {"metric": "wins_share", "value": wins, "rows": int(differ.sum())}
        if wins > 0.5:
            yield place | {"metric": "labels_needed", "value": sign_test_rows(wins)}


def _train_records(arrays, measures, measured, place):
    """Measures and constraints on training rows, and how far test values are from them."""
    if "train_promises" in arrays:
        values = np.reshape(arrays["train_promises"], (-1, len(RULES), len(TOLD)))
        yield from _told_constraints(values, place | {"target": "train"}, 0)
    if "train_measures" not in arrays:
        return
    values = np.reshape(arrays["train_measures"], (len(measures), 2))
    for (name, (tested, errors)), pair in zip(measured.items(), values, strict=True):
        of = place | {"measure": name}
        for rule, value in zip(RULES, pair, strict=True):
            yield of | {"target": "train", "metric": rule, "value": _finite(value), "rows": 0}
        # Of the classifier as it is, whose training value is known: the error is of the test rows.
        gap = {"metric": "gap", "value": tested[1] - float(pair[1])}
        yield of | gap | {"standard_error": errors[1]}


def _slope_records(asked_for, place):
    """How test values follow what is requested: slope of their logarithms, over settings that bind.

    1 if they rise as what is requested does. What all settings of a split have in common, such as a
    ratio that is 5 % too high, does not move it.
    """
    asked_for = asked_for[(asked_for > 0).all(axis=1) & np.isfinite(asked_for).all(axis=1)]
    if len(np.unique(asked_for[:, 0])) < _LINE:
        return
    logs = np.log(asked_for)
    x = logs[:, 0] - logs[:, 0].mean()
    for rule, slope in zip(RULES, x @ logs[:, 1:] / (x @ x), strict=True):
        yield place | {"metric": f"asked_slope_{rule}", "value": float(slope)}


def _equal_records(pairs, equal, place):
    """The second measure where the first has given values, for both rules."""
    place = place | {"measure": equal["of"]}
    for k, rule in enumerate(RULES):
        x = np.array([first[k] for first, _ in pairs])
        y = np.array([second[k] for _, second in pairs])
        for value, height in zip(equal["values"], at_equal(x, y, equal["values"]), strict=True):
            if np.isfinite(height):
                where = {"metric": AT_EQUAL[rule], "setting": equal_setting(equal, value)}
                yield place | where | {"value": height}


def at_equal(x, y, values):
    """Interpolate y linearly along x at `values`; NaN where x does not reach, or x or y is.

    Points of equal x count by the mean of their y. Nothing is extrapolated.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    kept = np.isfinite(x) & np.isfinite(y)
    if not kept.any():
        return np.full(len(values), np.nan)
    places, index = np.unique(x[kept], return_inverse=True)
    heights = np.bincount(index, y[kept]) / np.bincount(index)
    return np.interp(values, places, heights, left=np.nan, right=np.nan)


def fit_records(arrays, place, measures=()):
    """What the optimiser says of one fitted model, setting by setting.

    By step t ``objective`` (value of Problem 2 at the start, t = 0, and after MM step t); by step t
    and constraint j (the part) ``violation`` (at most 0 where the constraint holds) and
    ``multiplier``; ``final_objective``, ``objective_rise`` (largest rise over a step) and
    ``steps_rising``, ``late_fall`` (share of the fall of the objective that comes after step 5),
    ``largest_violation`` (over all steps, if the start was feasible) and ``steps_violated``,
    ``final_violation`` (of the classifier that is kept), ``final_gap`` and ``largest_gap`` (of
    feasible fits), ``evaluations``, ``evaluations_per_step``, ``objective_unexplained`` (the
    objective minus penalty and the measure named objective on training rows). Of a classifier that
    was chosen, by candidate (the part): `_CANDIDATE` and ``candidate_loss``.
    """
    for setting, own in by_setting(arrays).items():
        own = {name: np.asarray(values, float) for name, values in own.items()}
        yield from _fit(own, place | {"setting": setting}, list(measures))


def _fit(own, place, measures):
    def one(metric, value, **more):
        return place | {"metric": metric} | more | {"value": float(value)}

    for name in _NUMBERS:
        if name in own and np.isfinite(value := np.ravel(own[name])[0]):
            yield one(name, value)
    if "candidate_costs" in own:
        for k, told in enumerate(np.reshape(own["candidate_costs"], (-1, len(_CANDIDATE)))):
            judged = np.isfinite(told).all()
            for metric, value in zip(_CANDIDATE, told, strict=True):
                if judged:
                    yield one(metric, value, part=str(k))
            if not judged:  # what was given up in some repeats was not taken there
                yield one(_CANDIDATE[-1], 0.0, part=str(k))
    for k, loss in enumerate(np.ravel(own.get("candidate_losses", ()))):
        if np.isfinite(loss):
            yield one("candidate_loss", loss, part=str(k))
    # Of a model without convex steps, an objective, a gap or a count is another thing.
    steps = np.size(own.get("objective", ()))
    if steps > 1:
        for metric, value, more in _falls(np.ravel(own["objective"])):
            yield one(metric, value, **more)
    for name, metric, first in (("violations", "violation", 0), ("multipliers", "multiplier", 1)):
        values = own.get(name)
        if values is None or not values.size:
            continue
        if values.ndim < 2:
            values = values.reshape(max(steps - first, 1) if steps else 1, -1)
        for (t, j), value in np.ndenumerate(values):
            yield one(metric, value, step=t + first, part=str(j))
        if metric == "violation":
            # The classifier that is kept need not be that of the last step.
            yield one("final_violation", np.max(own.get("excess", values[-1])))
            if len(values) > 1 and values[0].max() <= _ROUNDING:
                worst = values[1:].max(axis=1)
                yield one("largest_violation", worst.max())
                yield one("steps_violated", (worst > _ROUNDING).sum())
    # Where constraints are broken, the gap is one of prices, not of the problem itself.
    kept = bool(np.ravel(own.get("feasible", 1.0))[0])
    if steps > 1 and kept and "gap" in own and own["gap"].size:
        gaps = np.ravel(own["gap"])
        yield one("final_gap", gaps[-1])
        yield one("largest_gap", gaps.max())
    if steps > 1 and "evaluations" in own:
        total = np.sum(own["evaluations"])
        yield one("evaluations", total)
        yield one("evaluations_per_step", total / (steps - 1))
    needed = {"objective", "penalty", "coefficient_norm", "train_measures"}
    if "objective" in measures and needed <= set(own):
        seen = np.reshape(own["train_measures"], (len(measures), 2))[measures.index("objective")]
        shrunk = np.ravel(own["penalty"])[0] / 2 * np.ravel(own["coefficient_norm"])[0] ** 2
        yield one("objective_unexplained", np.ravel(own["objective"])[-1] - shrunk - seen[1])


def bound_records(problems=20, rows=60, points=200):
    """How the convex steps that the solver solves lie to the ramp rates, on drawn problems.

    For each problem (costs of both predictions of each row, current scores) and many other scores:
    ``bound_gap`` is the largest distance of a step's sums from the ramp's at the current scores (0
    is tight), ``bound_excess`` the least of step minus ramp anywhere (at least 0 is above); the
    part is ``steps``. The draws are the same in every run.
    """
    from counterweight.models.constraints.convex_step import ConvexStep, ramp

    rng, gap, excess = np.random.default_rng(0), 0.0, np.inf
    for _ in range(problems):
        positive, negative = rng.exponential(size=(2, 3, rows)) / rows
        now = rng.normal(scale=1.5, size=rows)
        step = ConvexStep.of_ramps(None, positive, negative, np.zeros(3), np.zeros(1), now)

        def ramps(f, positive=positive, negative=negative):
            return positive @ ramp(f) + negative @ ramp(-f)

        gap = max(gap, float(np.abs(step.rates(now) - ramps(now)).max()))
        for _ in range(points):
            f = now + rng.normal(size=rows) * rng.exponential()
            excess = min(excess, float((step.rates(f) - ramps(f)).min()))
    for metric, value in (("bound_gap", gap), ("bound_excess", excess)):
        yield {"target": "general", "part": "steps", "metric": metric, "value": value}


def _falls(objective):
    """Metric, value and step of what the objective does from step to step."""
    for t, value in enumerate(objective):
        yield "objective", value, {"step": t}
    yield "final_objective", objective[-1], {}
    rises = np.diff(objective)
    yield "objective_rise", rises.max(), {}
    yield "steps_rising", (rises > _ROUNDING).sum(), {}
    fall = objective[0] - objective[-1]
    if fall > 0:
        late = objective[min(_FEW, len(objective) - 1)] - objective[-1]
        yield "late_fall", late / fall, {}
        # The first step leaves the start, which may be as bad as one likes.
        if len(objective) > _FEW + 1 and objective[1] > objective[-1]:
            yield "late_share", late / (objective[1] - objective[-1]), {}


def requested_value(asked, options):
    """The value that an option asks of a measure; NaN where it asks for nothing."""
    value = options.get(asked["option"]) if asked else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return np.nan
    if asked["form"] == "at_most_inverse":
        return 1 / value if value else np.nan
    return float(value)


def equal_setting(equal, value):
    """Setting that a comparison at an equal value stands for, e.g. ``ratio=1.5``."""
    return f"{equal['measure']}={value:g}"


def sign_test_power(rows, wins, level=0.05, sides=2):
    """Chance that a sign test of some disagreements finds the candidate better.

    `rows` are labels of rows on which the two classifiers disagree, an int or an array, `wins` the
    chance that the candidate is right on such a row. The test is exact, so that its true size is at
    most `level`; of a two-sided one only the outcome "the candidate is better" counts.
    """
    from scipy.stats import binom

    rows = np.asarray(rows)
    # The least number of wins whose chance under 1/2 is at most the level of this side.
    needed = binom.isf(level / sides, rows, 0.5) + 1
    return binom.sf(needed - 1, rows, wins)


def sign_test_rows(wins, power=0.8, level=0.05, sides=2):
    """Labels of disagreements from which on a sign test has a power.

    The candidate is right where the two disagree with the chance `wins`, above 1/2 and at most 1.
    Power saws up and down with the number of rows, so this is the number from which it stays;
    infinite where more than ten million labels would be needed.
    """
    from scipy.special import ndtri

    spread = float(ndtri(1 - level / sides)) / 2
    spread += max(float(ndtri(power)), 0.0) * np.sqrt(wins * (1 - wins))
    guess = (spread / (wins - 0.5)) ** 2
    if guess > _MOST:
        return float("inf")
    # The teeth are of the order of the root of the guess.
    rows = np.arange(1, int(guess + 20 * np.sqrt(guess) + 60))
    short = np.flatnonzero(sign_test_power(rows, wins, level, sides) < power)
    return float(rows[short[-1]] + 1) if len(short) else 1.0


def paper_cases():
    """Metric records of the two cases of the paper: part ``best``, setting ``power=0.8``.

    ``sign_test_labels`` are labels of rows on which the two disagree, ``sign_test_drawn`` the rows
    that have to be drawn to find so many of them.
    """
    for case, (disagree, wins) in CASES.items():
        for power in POWERS:
            labels = sign_test_rows(wins, power)
            place = {"target": "general", "part": case, "setting": f"power={power:g}"}
            yield place | {"metric": "sign_test_labels", "value": labels}
            yield place | {"metric": "sign_test_drawn", "value": float(np.ceil(labels / disagree))}
