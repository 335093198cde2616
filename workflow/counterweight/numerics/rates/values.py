"""Rates of predictions on data sets, and constraints on them.

As coefficients of each row (Problem 2), as values with standard errors, and kept or broken one by
one.
"""

import contextlib
import numbers
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.rates.language import (
    LEVELS,
    PARAMETERS,
    RATES,
    Number,
    Operation,
    Parameter,
    Rate,
    UndefinedRate,
    check_parameter,
    linear,
    nodes,
    parse_constraint,
    parse_expression,
    set_text,
)


class Parts(NamedTuple):
    """A rate is sum(positive * p + negative * (1 - p)) / sum(mass) over `rows`.

    `mass` is None for a count. p is the probability of a positive prediction.
    """

    rows: np.ndarray
    positive: np.ndarray
    negative: np.ndarray
    mass: np.ndarray | None


class Problem(NamedTuple):
    """Problem 2's coefficients: see `compile`."""

    positive: np.ndarray
    negative: np.ndarray
    bounds: np.ndarray
    constants: np.ndarray
    names: list

    def costing(self, costs):
        """The same with other costs (2, n) of a yes and a no; None: with those that it has."""
        if costs is None:
            return self
        positive, negative = self.positive.copy(), self.negative.copy()
        positive[0], negative[0] = costs
        return self._replace(positive=positive, negative=negative)


# y and d (the deployed model's positive prediction) are bool; what a positive prediction
# counts, what a negative one counts, and which rows are the denominator.
_COUNTED = {
    "coverage": lambda y, d: (True, False, True),
    "negative_rate": lambda y, d: (False, True, True),
    "error": lambda y, d: (~y, y, True),
    "accuracy": lambda y, d: (y, ~y, True),
    "recall": lambda y, d: (y, False, y),
    "false_negative_rate": lambda y, d: (False, y, y),
    "false_positive_rate": lambda y, d: (~y, False, ~y),
    "true_negative_rate": lambda y, d: (False, ~y, ~y),
    "true_positives": lambda y, d: (y, False, None),
    "true_negatives": lambda y, d: (False, ~y, None),
    "false_positives": lambda y, d: (~y, False, None),
    "false_negatives": lambda y, d: (False, y, None),
    "errors": lambda y, d: (~y, y, None),
    "churn": lambda y, d: (~d, d, True),
    "changes": lambda y, d: (~d, d, None),
    "wins": lambda y, d: (y & ~d, ~y & d, None),
    "losses": lambda y, d: (~y & ~d, y & d, None),
    "win_rate": lambda y, d: (y & ~d, ~y & d, True),
    "loss_rate": lambda y, d: (~y & ~d, y & d, True),
}


def rate_parts(name, sets, data):
    """What each row of a data set adds to a rate of `RATES` other than precision and fmeasure:
    `Parts`.

    Rates that need labels use the labeled rows of the set with their weights; the others use all
    its rows, with weights only where the set is ``labeled``. `UndefinedRate` where the set has no
    row, label, positive, negative or score that the rate needs.
    """
    kind, where = RATES[name], f"{name}({set_text(sets)})"
    chosen = data.mask(sets)
    if kind.labels:
        total = np.count_nonzero(chosen)
        chosen = chosen & (data.y >= 0)
        if not chosen.any():
            raise UndefinedRate(
                f"{where} needs labels, and none of the {total} rows of {set_text(sets)} has "
                "one: use coverage or churn, or give labels."
            )
    rows = np.flatnonzero(chosen)
    weighted = kind.labels or data.weighted(sets)
    weight = data.weight[rows] if weighted else np.ones(len(rows))
    deployed = deployed_positive(data, rows, where) if kind.deployed else None
    positive, negative, mass = _COUNTED[name](data.y[rows] == 1, deployed)
    if mass is not None:
        mass = weight * mass
        if not mass.any():
            label = {"recall": "positive", "false_negative_rate": "positive"}.get(
                name, "negative" if name.endswith(("positive_rate", "negative_rate")) else None
            )
            which = f"{label} label" if label and kind.labels else "row"
            raise UndefinedRate(
                f"{where} has nothing to be a share of: no {which} with a weight above 0 in "
                f"{set_text(sets)} ({len(rows)} rows)."
            )
    return Parts(rows, weight * positive, weight * negative, mass)


def bases(constraints, data):
    """Rows that each rate of constraints is a share of, or counts: masks (n,) by the rate's text.

    Without rows where a set has none that the rate needs; scores of a deployed model are not asked.
    """
    found = {}
    for plain in plain_constraints(constraints):
        for rate in {*nodes(plain.left, Rate), *nodes(plain.right, Rate)}:
            name = {"precision": "error", "fmeasure": "recall"}.get(rate.name, rate.name)
            if RATES[name].deployed:
                name = "error" if RATES[name].labels else "coverage"
            mask = np.zeros(len(data), bool)
            with contextlib.suppress(UndefinedRate):
                parts = rate_parts(name, rate.sets, data)
                mask[parts.rows] = True if parts.mass is None else parts.mass > 0
            found[str(rate)] = mask
    return dict(sorted(found.items()))


def deployed_positive(data, rows, where):
    """The deployed model's predictions on some rows, bool; raises where one is not known."""
    if data.deployed is None:
        raise UndefinedRate(f"{where} needs the scores of a deployed model, and none is given.")
    scores = data.deployed[rows]
    missing = np.isnan(scores)
    if missing.any():
        raise UndefinedRate(
            f"{where}: the deployed model has no score for {int(missing.sum())} of {len(rows)} "
            "rows: fill in its column there, or leave these rows out of the table."
        )
    return scores > 0


def deployed_value(rate, data):
    """A rate of the deployed model: a number."""
    top = bottom = 0.0
    for name, (above, below) in (rate.counted or {rate.name: (1.0, 0.0)}).items():
        parts = rate_parts(name, rate.sets, data)
        predicted = deployed_positive(data, parts.rows, str(rate))
        total = np.where(predicted, parts.positive, parts.negative).sum()
        total = total if parts.mass is None else total / parts.mass.sum()
        top, bottom = top + above * total, bottom + below * total
    if not rate.counted:
        return float(top)
    if not bottom:
        raise UndefinedRate(f"{rate}: the deployed model has no positive prediction there.")
    return float(top / bottom)


class Constant(NamedTuple):
    """The best rule that uses no columns: a yes with one chance for all; what it costs."""

    chance: float
    cost: float
    keeps: bool

    @property
    def words(self):
        """The rule in words."""
        if self.chance in (0.0, 1.0):
            return f"a {'yes' if self.chance else 'no'} to everybody"
        return f"a yes to {100 * self.chance:.3g} % of the people, drawn at random"


def constant_rule(problem):
    """The `Constant` rule of least objective of those that keep all constraints of a `Problem`.

    Where none keeps them, the one of least objective of all. Objective and constraints are linear
    in the chance of a yes. They are missed by `ROUNDING` only where that leaves a chance and sums
    alone do not: with a slope near 0 much is within rounding that does not keep them.
    """
    no = problem.negative.sum(axis=1) + problem.constants
    slope = problem.positive.sum(axis=1) - problem.negative.sum(axis=1)
    change, room = slope[1:], problem.bounds - no[1:]
    keeps = bool((room[change == 0] >= -ROUNDING).all())
    up, down = change > 0, change < 0
    for missed in (SUMMED, ROUNDING):
        high = ((room[up] + missed) / change[up]).min(initial=1.0)
        low = ((room[down] + missed) / change[down]).max(initial=0.0)
        if low <= high:
            break
    if not keeps or low > high:
        low, high, keeps = 0.0, 1.0, False
    chance = low if slope[0] >= 0 else high
    chance = float(round(chance)) if abs(chance - round(chance)) < 10 * ROUNDING else float(chance)
    return Constant(chance, float(no[0] + slope[0] * chance), keeps)


def ratio_base(rate, p, data):
    """What a ratio of predictions is a share of, per labeled weight of its set; 1 for others.

    `compile` multiplies constraints on such rates by it.
    """
    if not rate.counted:
        return 1.0
    base = 0.0
    for name, (_, below) in rate.counted.items():
        parts = rate_parts(name, rate.sets, data)
        own = p[parts.rows]
        base += below * (parts.positive * own + parts.negative * (1 - own)).sum()
    return float(base / rate_parts("error", rate.sets, data).mass.sum())


def affine(tree, data, parameters):
    """An expression on rows as a number plus a dict of factors of rates; see `linear`."""

    def leaf(tree):
        if isinstance(tree, Number):
            return tree.value, {}
        if isinstance(tree, Parameter):
            check_parameter(tree.name, parameters)
            return float(parameters[tree.name]), {}
        return (deployed_value(tree, data), {}) if tree.deployed else (0.0, {tree: 1.0})

    return linear(tree, leaf)


def _row(terms, data):
    """Positive and negative coefficients (n,) of a sum of rates, and its constant.

    s_p + s_n = 1 for each row, so what a row counts for both predictions, and what it
    counts with a minus sign, becomes a constant: the remaining coefficients are >= 0.
    """
    slope = np.zeros(len(data))
    constant = 0.0
    for rate, value in terms.items():
        if rate.counted:
            raise CounterweightError(
                f"{rate} can only be compared with a number, as in {rate} >= 0.8."
            )
        parts = rate_parts(rate.name, rate.sets, data)
        scale = value if parts.mass is None else value / parts.mass.sum()
        slope[parts.rows] += scale * (parts.positive - parts.negative)
        constant += scale * parts.negative.sum()
    return np.maximum(slope, 0), np.maximum(-slope, 0), constant + np.minimum(slope, 0).sum()


def _ratio_terms(rate, value, constant, data):
    """``k bottom - top <= 0`` for a ratio of predictions >= k, as a share of the labeled weight.

    Of ``value * rate + constant <= 0``; e.g. ``k FP <= (1 - k) TP`` for precision.
    """
    level = -constant / value
    if not 0 < level < 1:
        raise CounterweightError(f"{rate} can be asked to be above 0 and below 1, not {level:g}.")
    if rate.name == "fmeasure":
        rate_parts("recall", rate.sets, data)  # of a set without positives it is no number
    parts = rate_parts("error", rate.sets, data)
    scale = (1.0 if value < 0 else -1.0) / parts.mass.sum()
    return {
        Rate(name, rate.sets): scale * (level * below - above)
        for name, (above, below) in rate.counted.items()
    }


def compile(objective, constraints, data, parameters=None):
    """Coefficients of Problem 2 for an objective and constraints given as text: a `Problem`.

    With p_i the probability that row i is predicted positive, expression j is ``positive[j] @ p +
    negative[j] @ (1 - p) + constants[j]``, all coefficients >= 0; j = 0 is the objective, the
    others must be at most ``bounds[j - 1]``. `positive` and `negative` are (1 + m, n), `constants`
    (1 + m,), `bounds` (m,), `names` the texts of the plain constraints. `parameters` are values of
    the names in the expressions, e.g. kappa; None counts as not given.

    Raises
    ------
    CounterweightError
        For texts that cannot be read, unknown data sets, parameters without a value, kappa that is
        not positive, products of rates, and data sets without what a rate needs.
    """
    parameters = checked_parameters(parameters)
    constant, terms = affine(parse_expression(objective), data, parameters)
    if not terms:
        raise CounterweightError(f"The objective {objective!r} has no rate of the model.")
    rows, bounds, names = [_row(terms, data)], [], []
    if isinstance(constraints, str):
        raise CounterweightError("Constraints are a list of texts, not one text.")
    for plain in plain_constraints(constraints):
        try:
            row, bound = _constraint_row(plain, data, parameters)
        except CounterweightError as error:
            raise CounterweightError(f"Constraint {plain.text}: {error}") from error
        rows.append(row)
        bounds.append(bound)
        names.append(plain.text)
    positive, negative, constants = (np.array(part) for part in zip(*rows, strict=True))
    constants[0] += constant
    return Problem(positive, negative, np.array(bounds, dtype=float), constants, names)


def checked_parameters(parameters):
    """Parameters that have a value, as floats; kappa must be above 0."""
    known = {name: value for name, value in (parameters or {}).items() if value is not None}
    for name, value in known.items():
        good = isinstance(value, numbers.Real) and np.isfinite(value)
        if not good or (name == "kappa" and value <= 0):
            asked = "a number above 0" if name == "kappa" else "a number"
            raise CounterweightError(f"{name} must be {asked}, not {value!r}.")
    return {name: float(value) for name, value in known.items()}


def _constraint_row(constraint, data, parameters):
    """Coefficients and constant of a plain constraint's left side, and its bound."""
    for level, kind in constraint.levels:
        value, _ = affine(level, data, parameters)
        holds, asked = LEVELS[kind]
        if not holds(value):
            raise CounterweightError(f"the level must be {asked}, not {value:g}.")
    constant, terms = affine(Operation("-", constraint.left, constraint.right), data, parameters)
    if constraint.sign == ">=":
        constant, terms = -constant, {rate: -value for rate, value in terms.items()}
    terms = {rate: value for rate, value in terms.items() if value != 0}
    if not terms:
        raise CounterweightError("the rates cancel out, so there is nothing to ask for.")
    (rate, value), *more = terms.items()
    if rate.counted and not more:
        terms, constant = _ratio_terms(rate, value, constant, data), 0.0
    return _row(terms, data), -constant


def measure(
    p, data, expressions, parameters=None, *, errors=False, undefined="raise", decided=None
):
    """Measure expressions of rates, deterministic (p > 1/2) and randomised (p).

    Ratios and products of rates may be measured; a ratio with denominator 0 is NaN or infinite.

    Parameters
    ----------
    p : array (n,)
        Probability of a positive prediction, in [0, 1].
    data : DataSets
        Its ``X`` is not looked at.
    expressions : dict of str to str
    parameters : dict of str to float, optional
    errors : bool
        Whether standard errors are wanted, too: of the delta method for rows drawn independently,
        the model given, and of the randomised rule's expected rate.
    undefined : {"raise", "nan"}
        What a data set without the rows, labels or scores that a rate needs gives.
    decided : array (n,), optional
        Deterministic predictions, 0 or 1, where they are not p > 1/2.

    Returns
    -------
    dict of str to tuple of float
        (deterministic, randomised), with `errors` also the standard error of each. Raises for texts
        that cannot be read, probabilities outside [0, 1], and as `undefined` says.
    """
    meter = meter_of(p, data, parameters, decided=decided, errors=errors, undefined=undefined)
    values = {}
    for name, text in expressions.items():
        tree = parse_expression(text)
        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                both, change = meter.value(tree)
                change = data.by_draw(np.broadcast_to(change, (2, len(data))))
                spread = np.sqrt((change**2).sum(1))
        except CounterweightError as error:
            raise CounterweightError(f"Measure {name} ({text}): {error}") from error
        values[name] = (float(both[0]), float(both[1]))
        if errors:
            meter.known.clear()  # influences are 2n numbers for each rate
            values[name] += (float(spread[0]), float(spread[1]))
    return values


def meter_of(p, data, parameters=None, *, decided=None, errors=False, undefined="raise"):
    """What gives values of parsed expressions by both rules; arguments as of `measure`."""
    p = np.asarray(p, dtype=float)
    if p.shape != (len(data),):
        raise CounterweightError(f"There are {len(data)} rows but predictions of shape {p.shape}.")
    bad = ~((p >= 0) & (p <= 1))
    if bad.any():
        raise CounterweightError(
            f"{int(bad.sum())} of {len(p)} predictions are no probability (first: row "
            f"{int(np.argmax(bad))}): they must be between 0 and 1."
        )
    signs = p > 0.5 if decided is None else np.asarray(decided, dtype=float)
    return _Meter(np.array([signs, p]), data, checked_parameters(parameters), errors, undefined)


class _Meter:
    """Values of expressions with each row's influence on them.

    A value is an array (2,): deterministic, randomised. Influences are (2, n), or 0 where they are
    not asked for; the standard error is the root of the sum of their squares.
    """

    def __init__(self, predictions, data, parameters, errors, undefined):
        self.predictions, self.data, self.parameters = predictions, data, parameters
        self.errors, self.undefined, self.known = errors, undefined, {}

    def value(self, tree):
        if isinstance(tree, Number):
            return np.full(2, tree.value), 0.0
        if isinstance(tree, Parameter):
            check_parameter(tree.name, self.parameters)
            return np.full(2, self.parameters[tree.name]), 0.0
        if isinstance(tree, Rate):
            if tree not in self.known:
                self.known[tree] = self._rate(tree)
            return self.known[tree]
        left, dleft = self.value(tree.left)
        right, dright = self.value(tree.right)
        if tree.sign == "+":
            return left + right, dleft + dright
        if tree.sign == "-":
            return left - right, dleft - dright
        if tree.sign == "*":
            return left * right, dleft * right[:, None] + dright * left[:, None]
        return _ratio(left, dleft, right, dright)

    def _rate(self, rate):
        try:
            if not rate.counted:
                return self._plain(rate.name, rate)
            if rate.name == "fmeasure":
                rate_parts("recall", rate.sets, self.data)
            top = dtop = bottom = dbottom = 0.0
            for name, (above, below) in rate.counted.items():
                value, change = self._plain(name, rate)
                top, dtop = top + above * value, dtop + above * change
                bottom, dbottom = bottom + below * value, dbottom + below * change
        except UndefinedRate:
            if self.undefined != "nan":
                raise
            return np.full(2, np.nan), np.nan if self.errors else 0.0
        return _ratio(top, dtop, bottom, dbottom)

    def _plain(self, name, rate):
        parts = rate_parts(name, rate.sets, self.data)
        if rate.deployed:
            positive = np.array([deployed_positive(self.data, parts.rows, str(rate))] * 2)
        else:
            positive = self.predictions[:, parts.rows]
        counted = parts.negative + positive * (parts.positive - parts.negative)
        total = counted.sum(1)
        mass = 1.0 if parts.mass is None else parts.mass.sum()
        value = total / mass
        if not self.errors:
            return value, 0.0
        change = np.zeros((2, len(self.data)))
        if parts.mass is None:
            change[:, parts.rows] = counted
            change -= (total / len(self.data))[:, None]
        else:
            change[:, parts.rows] = (counted - value[:, None] * parts.mass) / mass
        return value, change


def _ratio(top, dtop, bottom, dbottom):
    ratio = top / bottom
    return ratio, (dtop - ratio[:, None] * dbottom) / bottom[:, None]


#: Rules of prediction, in the order of all arrays here.
RULES = ("deterministic", "randomised")
#: A constraint is kept that is missed by no more than this: rounding of a solver.
ROUNDING = 1e-6
#: What sums of shares over rows are off by.
SUMMED = 1e-12
#: What is told of a constraint by each rule, in the order of the arrays of `constraint_values`.
TOLD = ("left", "right", "excess", "standard_error")


class ConstraintCheck(NamedTuple):
    """A plain constraint by one rule on some rows.

    ``excess`` is by how much it is broken (at most 0 where it is kept): left minus right side for
    ``<=``, right minus left for ``>=``; ``low`` to ``high`` is its interval. ``verdict`` is kept,
    broken or undecided.
    """

    constraint: str
    rule: str
    rows: str
    left: float
    right: float
    excess: float
    low: float
    high: float
    verdict: str


def plain_constraints(constraints):
    """The plain constraints of texts, shorthands written out."""
    if isinstance(constraints, str):
        constraints = [constraints]
    return [plain for text in constraints for plain in parse_constraint(text)]


def constraint_values(p, decided, data, constraints, parameters=None, level=0.95):
    """Sides, excess and standard error of each plain constraint, by both rules: (m, 2, 4).

    By constraint and by `RULES`: `TOLD`, NaN where a set lacks the rows, labels or scores. `p` (n,)
    are chances of a positive prediction, `decided` (n,) the deterministic predictions or None for p
    > 1/2; `level` is that of the intervals that the standard errors are for.
    """
    known = checked_parameters(parameters)
    meter = meter_of(p, data, known, decided=decided, errors=True, undefined="nan")
    found = np.full((len(plains := plain_constraints(constraints)), 2, 4), np.nan)
    for j, plain in enumerate(plains):
        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                (left, dleft), (right, dright) = meter.value(plain.left), meter.value(plain.right)
                change = data.by_draw(np.broadcast_to(dleft - dright, (2, len(data))))
        except CounterweightError as error:
            raise CounterweightError(f"Constraint {plain.text}: {error}") from error
        sign = 1.0 if plain.sign == "<=" else -1.0
        variance = (change**2).sum(axis=1) + small_sample(plain, data, known, level)
        # Two rules a line: sides are numbers where they hold no rate.
        lines = [left, right, sign * (left - right), np.sqrt(variance)]
        found[j] = np.column_stack([np.broadcast_to(line, 2) for line in lines])
        meter.known.clear()  # influences are 2n numbers for each rate
    return found


def small_sample(plain, data, parameters, level):
    """What Wilson's interval adds to the variance of a share: z^2 / 4n^2 for each rate.

    Without it a share of 0 or 1 among few rows would count as known for certain.
    """
    from scipy.special import ndtri

    try:
        _, terms = affine(Operation("-", plain.left, plain.right), data, parameters)
        added = 0.0
        for rate, factor in terms.items():
            name = {"precision": "error", "fmeasure": "recall"}.get(rate.name, rate.name)
            parts = rate_parts(name, rate.sets, data)
            if parts.mass is not None:
                mass = data.by_draw(parts.mass, parts.rows)
                added += factor**2 * (np.dot(mass, mass) / mass.sum() ** 2) ** 2
    except UndefinedRate:
        return np.nan
    return added * float(ndtri(0.5 + level / 2)) ** 2 / 4


def verdict(excess, low, high, fact=False):
    """kept, broken or undecided; of a fact the interval does not matter."""
    low, high = (excess, excess) if fact else (low, high)
    if not np.isfinite(excess):
        return "undecided"
    return "kept" if high <= ROUNDING else "broken" if low > ROUNDING else "undecided"


def verdicts_of(values, constraints, rows, level=0.95):
    """What `constraint_values` gave, as a list of `ConstraintCheck`.

    Of ``training`` `rows` the verdict is a fact, else it goes by the interval, a normal one with
    rows drawn independently.
    """
    from scipy.special import ndtri

    z, told = float(ndtri(0.5 + level / 2)), []
    for plain, both in zip(plain_constraints(constraints), values, strict=True):
        for rule, (left, right, excess, error) in zip(RULES, both, strict=True):
            low, high = excess - z * error, excess + z * error
            says = verdict(excess, low, high, rows == "training")
            numbers = map(float, (left, right, excess, low, high))
            told.append(ConstraintCheck(plain.text, rule, rows, *numbers, says))
    return told


def constraints_requested(study, method):
    """What a method is held to: its own constraints, else those of the main method.

    Those of the main method only where no number in them is swept. A dict of ``texts`` and of the
    ``numbers`` that stand in them, or None.
    """
    for name in filter(None, dict.fromkeys([method, study.get("main")])):
        options, sweep = (study["methods"][name][key] or {} for key in ("options", "sweep"))
        texts = [*(options.get("constraints") or ())]
        texts += [options["constraint"]] if options.get("constraint") else []
        if texts and (name == method or not {*PARAMETERS} & {*sweep}):
            known = {key: options.get(key) for key in PARAMETERS}
            numbers = {key: value for key, value in known.items() if value is not None}
            return {"texts": texts, "numbers": numbers}
    return None
