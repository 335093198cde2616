"""What labels that were bought say beside a mean: whether missing at random, which decisions.

No data test it as long as the rows without a label have none. Some of them that were bought with
known chances do, and say by how much the odds differ; and how far those who were asked and gave no
answer could move the mean. They also tell how often decisions of a rule in use are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import log_expit, ndtri

from counterweight.errors import CounterweightError
from counterweight.evaluation.collected import (
    EXPECTED,
    NEAREST,
    assisted,
    assisting_model,
    bought_rows,
    collected_mean,
)
from counterweight.labeling.columns import condition_mask
from counterweight.numerics.checks import as_marks
from counterweight.numerics.estimate import (
    COUNTED,
    Estimate,
    mean_interval,
    shape_of,
    share_interval,
)
from counterweight.numerics.linear import expit, fit_logistic, logit
from counterweight.numerics.sensitivity import step_bounds
from counterweight.numerics.tilt import tilted

#: Labels for which the variance of known outcomes counts beside that of those bought. Of a
#: lognormal outcome (sigma 1.3) at random 15, 60 and 200 labels then refute 0.02, 0.04 and 0.05,
#: where 0.18, 0.12 and 0.05 did, and with a shift of 0.6 of the mean 200 do in 0.91 for 0.93.
KNOWN = 60
#: Ends of an interval, variables of its records.
ENDS = ("low", "high")


@dataclass(frozen=True)
class Refutation:
    """Whether labels bought refute that labels are missing at random.

    Attributes
    ----------
    delta, error : float
        Shift of the log odds (of a number: of the mean) of rows without a label against what is
        expected of them, and its standard error, that of the expectation included.
    slope, slope_error : float
        Of the log odds of the outcome by those expected: 1 at random.
    z : float
        Delta over its error.
    gamma, low, high : float
        Factor of the odds ``exp(delta)``, NaN of a number, and its interval; of a number delta's.
    refuted : bool
    rows : int
        Labels that it rests on.
    groups : dict
        A `Refutation` a group.
    """

    delta: float
    error: float
    slope: float
    slope_error: float
    z: float
    gamma: float
    low: float
    high: float
    refuted: bool
    rows: int
    groups: dict


def refuted(
    outcome: ArrayLike,
    chances: ArrayLike,
    bought: ArrayLike,
    predicted: ArrayLike,
    predicted_error: ArrayLike | None = None,
    group: ArrayLike | None = None,
    *,
    seen: ArrayLike | None = None,
    spread: ArrayLike | None = None,
    level: float = 0.95,
) -> Refutation:
    """Test that rows without a label are as labeled ones at equal features, by labels bought.

    Under it the predictions f, right among labeled rows, are right among the others. Delta solves
    ``sum s (y - expit(logit f + delta)) / pi = 0`` (weighted maximum likelihood), and the slope is
    that of a fit of both; errors are sandwiches of independent rows, with what a row pulls at the
    fit put right (HC3).

    Parameters
    ----------
    outcome, chances, bought, predicted
        As of `collected_mean`.
    predicted_error : array (N,), optional
        Standard errors of the predictions. Errors of rows that come of one fit go together: they
        count as one error that all rows share, which is the most that they can come to.
    group : array (N,), optional
        Groups that are told, too.
    seen : (y, f, weight), optional
        Labels that were there before (M,), what was predicted for them without them, and their
        weights to the rows without one: then delta is the shift beyond the one that they show, with
        the error of both, and `predicted_error` is not needed.
    spread : array (N,), optional
        Of a number: standard deviation of the outcome about its prediction among labeled rows. What
        that gives counts in the error as `KNOWN` labels do: few that were bought miss a long tail.
    level : float

    References
    ----------
    White (1982), *Econometrica* 50, for the sandwich; Cox (1958), *Biometrika* 45, for slope and
    constant of log odds.
    """
    told = bought_rows(outcome, chances, bought, predicted)
    own, spread = (
        None if one is None else np.asarray(one, float)[told.at]
        for one in (predicted_error, spread)
    )
    found = _shift(told, np.arange(len(told.at)), own, seen, spread, level)
    if group is None:
        return found
    names, place = np.unique(np.asarray(group), return_inverse=True)
    groups = {}
    for k, name in enumerate(names):
        rows = np.flatnonzero(place[told.at] == k)
        key = name.item() if hasattr(name, "item") else name
        groups[key] = _shift(told, rows, own, seen, spread, level)
    return replace(found, groups=groups)


def _shift(told, rows, own_error, seen, spread, level):
    """The `Refutation` of some of the rows bought."""
    f, y, w = told.predicted[told.at][rows], told.outcome[rows], told.weight[rows]
    nan = float("nan")
    if len(rows) < 2:
        return Refutation(*[nan] * 8, False, len(rows), {})
    if told.binary and np.ptp(y) == 0:
        own = None if own_error is None else own_error[rows]
        return _of_one_class(f, y[0], own, seen, level)
    delta, error = _offset(f, y, w, told.binary)
    slope, slope_error = _slope(f, y, w, told.binary)
    if spread is not None and not told.binary:
        expected = float(np.linalg.norm(w * spread[rows]) / w.sum())
        error = np.sqrt((len(rows) * error**2 + KNOWN * expected**2) / (len(rows) + KNOWN))
    if seen is not None:
        before, before_error = _offset(
            *(np.asarray(part, float) for part in (seen[1], seen[0], seen[2])), told.binary
        )
        delta, error = delta - before, float(np.hypot(error, before_error))
    elif own_error is not None:
        # On the scale of delta an error of f is its own over f (1 - f), which is the bend.
        bend = f * (1 - f) if told.binary else np.ones(len(f))
        shared = float(w @ own_error[rows] / (w @ bend))
        error = float(np.hypot(error, shared))
    z = delta / error if error > 0 else nan
    quantile = float(ndtri(0.5 + level / 2))
    ends = [delta - quantile * error, delta, delta + quantile * error]
    low, gamma, high = np.exp(ends).tolist() if told.binary else (ends[0], nan, ends[2])
    return Refutation(
        delta,
        error,
        slope,
        slope_error,
        z,
        gamma,
        low,
        high,
        bool(abs(z) > quantile),
        len(rows),
        {},
    )


def _of_one_class(f, outcome, own_error, seen, level):
    """The `Refutation` by labels that are all alike: delta has one end, by the chance of that.

    The end is where they would be so in half of what the level leaves (Clopper and Pearson 1934,
    of unlike chances); the error of what is expected is added to it.
    """
    sign = 1.0 if outcome == 1 else -1.0
    score, nan = sign * logit(np.clip(f, NEAREST, 1 - NEAREST)), float("nan")
    rarest = np.log((1 - level) / 2)
    end = brentq(lambda delta: float(log_expit(score + delta).sum()) - rarest, -50.0, 50.0)
    quantile, end = float(ndtri(0.5 + level / 2)), sign * end
    if seen is not None:
        y, told, w = (np.asarray(part, float) for part in seen)
        before, error = _offset(told, y, w, True)
        end += -before - sign * quantile * error
    elif own_error is not None:
        end -= sign * quantile * float(own_error.mean() / (f * (1 - f)).mean())
    factor = float(np.exp(end))
    low, gamma, high = (factor, np.inf, np.inf) if sign > 0 else (0.0, 0.0, factor)
    refuted = bool(sign * end > 0)
    return Refutation(sign * np.inf, nan, nan, nan, nan, gamma, low, high, refuted, len(f), {})


def _offset(f, y, w, binary):
    """Shift of the log odds, or of the mean, and its sandwich error."""
    if not binary:
        shift = float(w @ (y - f) / w.sum())
        left = w * (y - f - shift) / (1 - w / w.sum())
        return shift, float(np.sqrt(left @ left) / w.sum())
    score, shift = logit(np.clip(f, NEAREST, 1 - NEAREST)), 0.0
    target, low, high = w @ y, -50.0, 50.0
    for _ in range(200):
        p = expit(score + shift)
        gap, bend = w @ p - target, w @ (p * (1 - p))
        low, high = (low, shift) if gap > 0 else (shift, high)
        new = shift - gap / max(bend, 1e-300)
        new = new if low < new < high else (low + high) / 2
        done, shift = abs(new - shift) < 1e-12, new
        if done:
            break
    p = expit(score + shift)
    bend = w * p * (1 - p)
    left = w * (y - p) / np.maximum(1 - bend / bend.sum(), 0.1)
    return float(shift), float(np.sqrt(left @ left) / bend.sum())


def _slope(f, y, w, binary):
    """Slope of the log odds of the outcome by those expected (of a number: of it by f)."""
    score = logit(np.clip(f, NEAREST, 1 - NEAREST)) if binary else f
    if not np.ptp(score) > 1e-12 or len(f) < 4:
        return float("nan"), float("nan")
    if binary:
        coefficient, constant, *_ = fit_logistic(score[:, None], y, w)
        p = expit(constant + coefficient[0] * score)
    else:
        mean = w @ score / w.sum()
        away = w * (score - mean)
        coefficient = [float(away @ y / (away @ score))]
        p = w @ y / w.sum() + coefficient[0] * (score - mean)
    bend = w * (p * (1 - p) if binary else 1.0)
    X = np.column_stack([np.ones(len(f)), score])
    inverse = np.linalg.pinv((X * bend[:, None]).T @ X, hermitian=True)
    leverage = bend * np.einsum("ij,ij->i", X @ inverse, X)
    left = w * (y - p) / np.maximum(1 - leverage, 0.1)
    moved = (X @ inverse)[:, 1] * left
    return float(coefficient[0]), float(np.sqrt(moved @ moved))


def refusal_bounds(
    outcome: ArrayLike,
    chances: ArrayLike,
    bought: ArrayLike,
    predicted: ArrayLike,
    *,
    gammas: Sequence[float] = (1.0, 2.0, np.inf),
    anything: tuple[float, float] | None = None,
    design: str = "poisson",
    binary: bool | None = None,
    level: float = 0.95,
) -> dict[float, tuple[Estimate, Estimate]]:
    """Bounds of the mean where some rows that were drawn have no outcome.

    At equal predictions the odds of those who did not answer differ from those of the ones who did
    by a factor of at most Γ; without end they may be anything. What they may be is filled in, and
    the mean is that of all rows drawn. With Γ it moves the answer of those who did answer, which
    has its interval: what is filled in is no outcome, and tells nothing of errors.

    Parameters
    ----------
    outcome : array (N,)
        NaN where a row that was drawn did not answer.
    chances, bought, predicted, design, binary, level
        As of `collected_mean`; `bought` are all rows drawn.
    gammas : sequence of float
        From 1 up; 1 takes those who did not answer for the others.
    anything : (float, float), optional
        Least and largest outcome; (0, 1) of a class, of a number the least and largest seen.

    Returns
    -------
    dict of gamma to (Estimate, Estimate)
        The least and the largest mean: the bound with its interval goes from ``low`` of the first
        to ``high`` of the second. That of 1 is the answer, and a larger Γ has all of a smaller one.

    References
    ----------
    Manski (2003), and `counterweight.numerics.sensitivity` for Γ.
    """
    y, drawn = np.asarray(outcome, float), as_marks(bought, "marks of rows drawn")
    answered = drawn & np.isfinite(y)
    told = bought_rows(y, chances, answered, predicted, design, None, binary)
    asked = {"design": design, "binary": told.binary, "level": level}
    model = assisting_model(told)
    left = told.outcome - model.expected[told.at]
    if anything is None:
        anything = (0.0, 1.0) if told.binary else (told.outcome.min(), told.outcome.max())
    finite = sorted({1.0, *(gamma for gamma in gammas if np.isfinite(gamma))})
    if not told.binary:
        low, high, *_ = step_bounds(left, told.weight, finite)
    share = answered.sum() / drawn.sum()
    answer = collected_mean(y, np.asarray(chances) * share, answered, predicted, **asked)
    within, found = (0.0, 1.0) if told.binary else (-np.inf, np.inf), {}
    ends = alike = None
    for gamma in sorted({1.0, *gammas}):
        made = []
        for side, end in zip((-1, 1), anything, strict=True):
            if not np.isfinite(gamma):
                filled = np.full(told.rows, float(end))
            elif told.binary:
                filled = tilted(model.expected, side * np.log(gamma))
            else:
                bound = low if side < 0 else high
                filled = model.expected + bound[finite.index(gamma)]
            whole = np.where(answered, y, filled)
            made.append(collected_mean(whole, chances, drawn, predicted, **asked))
        if alike is None:
            alike, ends = [one.value for one in made], (answer, answer)
        elif np.isfinite(gamma):
            pairs = zip(made, alike, strict=True)
            ends = tuple(_moved(answer, one.value - at, within) for one, at in pairs)
        else:
            least, most = made
            ends = (
                replace(least, low=min(least.low, ends[0].low)),
                replace(most, high=max(most.high, ends[1].high)),
            )
        found[gamma] = ends
    return {gamma: found[gamma] for gamma in gammas}


def _moved(found, by, within):
    """An `Estimate` that is moved, its ends no further than `within`."""
    ends = {name: getattr(found, name) + by for name in ("value", "low", "high")}
    return replace(found, **{name: float(np.clip(one, *within)) for name, one in ends.items()})


def half_width(which, value, binary, **place):
    """A record of half of an interval: of a rate in points, of a mean in the outcome's own unit."""
    name, factor = ("points", 100) if binary else ("half_width", 1)
    return place | {"metric": f"{which}_{name}", "value": factor * float(value)}


def estimate_records(metric, found, **place):
    """Records of an `Estimate` with its interval, where it is known."""
    if not np.isfinite(found.value):
        return []
    place = {"metric": metric, "rows": found.rows} | place
    error = {"standard_error": found.standard_error} if np.isfinite(found.standard_error) else {}
    made = [place | {"value": found.value} | error]
    known = [end for end in ENDS if np.isfinite(getattr(found, end))]
    return made + [place | {"variable": end, "value": getattr(found, end)} for end in known]


def facts_of(found):
    """Numbers of an `Estimate`; JSON knows no NaN."""
    told = {name: getattr(found, name) for name in ("value", "standard_error", *ENDS)}
    return {name: float(one) if np.isfinite(one) else None for name, one in told.items()}


#: What a decision and an outcome may come to, and is worth something: decision, outcome.
CELLS = {"true_positive": (1, 1), "false_positive": (1, 0)}
CELLS |= {"false_negative": (0, 1), "true_negative": (0, 0)}


def _forms(d, worth):
    """Rates of a decision d (n,): what is summed over what, by rows of outcome 0 and of 1."""
    none, one = np.zeros(len(d)), np.ones(len(d))
    yield "recall", (none, d), (none, one)
    yield "false_positive_rate", (d, none), (one, none)
    yield "precision", (none, d), (d, d)
    yield "error", (d, 1 - d), (one, one)
    yield "coverage", (d, d), (one, one)
    if worth:
        told = {cell: float(worth.get(cell, 0)) for cell in CELLS}
        of_0 = np.where(d == 1, told["false_positive"], told["true_negative"])
        of_1 = np.where(d == 1, told["true_positive"], told["false_negative"])
        yield "value", (of_0, of_1), (one, one)


class _Form(NamedTuple):
    """A rate as ``(above + up y) / (below + down y)``, y (N,) being outcomes that are not known.

    `counts` are those of known rows above and below, `if_0` and `if_1` (N, 2) those of a row.
    """

    counts: np.ndarray
    if_0: np.ndarray
    if_1: np.ndarray

    @property
    def start(self):
        return self.counts + self.if_0.sum(axis=0)

    @property
    def slopes(self):
        return (self.if_1 - self.if_0).T


class Decided:
    """A decision of 0 and 1 that a rule in use made of each row, whatever the rows' outcomes.

    Parameters
    ----------
    decision : array (n,)
        0 and 1.
    outcome : array (n,), optional
        0 and 1, and NaN where it is not known; it is known of nobody by default.
    group : array (n,), optional
        Names of groups whose rates are wanted, too.
    worth : dict, optional
        What a ``true_positive``, ``false_positive``, ``false_negative`` and ``true_negative`` is
        worth, 0 where it is not said: the mean of it is the decision's ``value``.
    """

    def __init__(
        self,
        decision: ArrayLike,
        outcome: ArrayLike | None = None,
        group: ArrayLike | None = None,
        worth: dict | None = None,
    ) -> None:
        d = np.asarray(decision, float)
        if not np.isin(d, (0, 1)).all():
            raise CounterweightError("Decisions are 0 and 1, and there are others: code them.")
        for strange in (worth or {}).keys() - CELLS.keys():
            raise CounterweightError(
                f"worth has no {strange!r}; it has {', '.join(CELLS)}: correct it."
            )
        y = np.full(len(d), np.nan) if outcome is None else np.asarray(outcome, float)
        names = np.full(len(d), "", object) if group is None else np.asarray(group).astype(str)
        blank, self.bounds, self.forms = np.isnan(y), {}, {}
        for part in ["", *np.unique(names[names != ""])]:
            own = (names == part) | (part == "")
            for name, *sides in _forms(d, worth):
                ends = [np.column_stack(one) * own[:, None] for one in zip(*sides, strict=True)]
                known = np.where(y[~blank, None] == 1, ends[1][~blank], ends[0][~blank])
                form = _Form(known.sum(axis=0), ends[0][blank], ends[1][blank])
                self.forms[name, str(part)] = form
                told = [*(worth or {}).values()] + [0.0] * (len(worth or {}) < len(CELLS))
                self.bounds[name] = (min(told), max(told)) if name == "value" else (0.0, 1.0)

    def moves(self, chance: ArrayLike) -> dict:
        """How far the outcome of each row that has none, of a chance (N,), moves each rate.

        A dict of (rate, group), without those that go by no outcome, to moves (N,), in parts of how
        far a row moves the mean of these rows.
        """
        found = {}
        for key, form in self.forms.items():
            up, down = form.slopes
            above, below = form.start + form.slopes @ chance
            if below > 0 and (moves := np.abs(up - above / below * down) / below).any():
                found[key] = len(chance) * moves
        return found


def decided_of(frame, collect, outcome=None, group=None):
    """The `Decided` of rows of a frame whose decision the settings of a plan name; else None."""
    asked = collect["decision"]
    if asked is None:
        return None
    asked = {"column": asked} if isinstance(asked, str) else asked
    name, values = asked["column"], frame[asked["column"]]
    if values.isna().any():
        raise CounterweightError(
            f"collect.decision is {name!r}, which is blank in {int(values.isna().sum())} rows: "
            "fill in what was decided of each."
        )
    number = pd.api.types.is_numeric_dtype(values)  # as truths are, too
    if (positive := asked.get("positive")) is None and not number:
        raise CounterweightError(
            f"collect.decision is {name!r}, which holds text: say by positive which value is a "
            f"yes, as {{column: {name}, positive: {values.iloc[0]}}}."
        )
    if positive is None:
        made = values.to_numpy(float) > asked.get("above", 0.5)
    else:
        made = condition_mask(frame, {"column": name, "value": positive}, "collect.decision")
    if made.all() or not made.any():
        raise CounterweightError(
            f"collect.decision is {name!r}, and it is {'a yes' if made.all() else 'no yes'} in all "
            f"{len(made)} rows, which tells no rates: correct it."
        )
    return Decided(made, outcome, group, collect["worth"])


def collected_rates(
    outcome: ArrayLike,
    chances: ArrayLike,
    bought: ArrayLike,
    predicted: ArrayLike,
    decided: Decided,
    *,
    level: float = 0.95,
) -> dict:
    """Rates of a decision by labels that were bought by design, a dict of (rate, group) to
    `Estimate`; the group "" is all rows.

    ``recall`` (of the rows with the outcome 1, those decided 1), ``false_positive_rate``,
    ``precision``, ``error``, ``coverage`` (the share decided 1, for which no label is needed) and,
    where outcomes are worth something, ``value``. Each is a ratio of totals: those of known
    outcomes as they are, and of the others by the difference estimator with the model that is
    fitted to the labels. Its error is that of its linearised variable; a share with few labels on
    one side has the interval of as many as it is worth, if that is shorter. A rate without a label
    that moves it has NaN.

    Parameters
    ----------
    outcome, chances, bought, predicted
        As of `counterweight.collected_mean`, of the rows (N,) whose outcome was not known.
    decided : Decided
        Of all rows, those in their order.

    References
    ----------
    Särndal, Swensson & Wretman (1992), sections 5.6 (ratios) and 6.3; Woodruff (1971) for
    linearised variables.
    """
    told = bought_rows(outcome, chances, bought, predicted, binary=True)
    y, w, pi, at = told.outcome, told.weight, told.pi, told.at
    if np.ptp(y) == 0:
        raise CounterweightError(
            f"All {len(y)} labels are of one class, which tells no rates of decisions: buy more."
        )
    model, found = assisting_model(told), {}
    noise = (1 - pi) * w**2 * (own := model.expected[at]) * (1 - own)
    for (name, part), form in decided.forms.items():
        if not form.slopes.any():
            above, below = form.start
            share = float(above / below) if below > 0 else np.nan
            rows = len(form.if_0)
            found[name, part] = Estimate(share, 0.0, share, share, rows, rows, 1.0, level)
            continue
        totals = [assisted(told, model, slope)[0] * told.rows for slope in form.slopes]
        above, below = form.start + totals
        share = float(above / below) if below > 0 else np.nan
        up, down = form.slopes
        moves = up - share * down
        if not np.isfinite(share) or not moves[at].any():
            found[name, part] = Estimate(*[np.nan] * 4, 0, 0.0, np.nan, level)
            continue
        rows = assisted(told, model, moves)[1] * told.rows / below
        sums = form.counts + np.where(y[:, None] == 1, form.if_1[at], form.if_0[at]).sum(axis=0)
        expected = float(noise @ moves[at] ** 2) / below**2
        count = int((moves[at][pi < 1] != 0).sum())
        known = decided.bounds[name], None if name == "value" else sums
        found[name, part] = _of_rate(told, share, rows, (count, expected), known, level)
    return found


def _of_rate(told, share, rows, variance, known, level):
    """An `Estimate` of a rate from influences (m,).

    `variance` are labels that move it, and the variance that the model expects; `known` its bounds
    and, of a share, what is counted above and below.
    """
    parts, (count, expected), (bounds, sums) = np.sqrt(1 - told.pi) * rows, variance, known
    squares = parts * parts
    second = (count * float(squares.sum()) + EXPECTED * expected) / (count + EXPECTED)
    moments = float(squares.sum()), float(squares @ parts), float(squares @ squares)
    shape, error = shape_of(len(parts), 1.0, *moments), float(np.sqrt(second))
    share = float(np.clip(share, *bounds))
    about = {"kurtosis": shape.kurtosis, "scale": "plain"}
    low, high = mean_interval(share, error, shape.skewness, len(parts), level, bounds, **about)
    if error == 0 and (told.pi == 1).all():
        low = high = share
    elif sums is not None and error > 0 and min(sums[0], sums[1] - sums[0]) < COUNTED:
        ends = (low, high), share_interval(share, error, float(sums[1]), level)
        low, high = min(ends, key=np.ptp)
    w = told.weight
    effective, largest = float(w.sum() ** 2 / (w @ w)), float(w.max())
    ends = float(min(low, share)), float(max(high, share))
    return Estimate(share, error, *ends, count, effective, largest, level)
