"""Records of how wrong an answer about rows without a label could be; see `numerics.sensitivity`.

Sweeps stand at the setting ``gamma=2.0``: the variables least and most are the bounds, fewer and
more what one shift of all rows gives, -log Γ or log Γ.

Γ against columns that are seen: how strong would a hidden column be that is as strong as one?

Each column (or group of columns) is left out in turn, and what its absence hides is measured. Let
x_j b_j be the part of column j in the log odds of having no outcome, by logistic regression on all
columns, and e_j what remains of that part after its regression on the other columns. Two rows that
are equal by the others differ in those odds by the factor exp(|e_j - e_j'|). Of pairs of rows drawn
at random 95 % differ by less than the column's **selection factor** Γs. The same of the odds of the
outcome, by a fit to labeled rows, is its **outcome factor** Γy; for a number it is that of a
logistic law with the residual spread: exp(pi / sqrt(3) d), d the difference in standard
deviations. A hidden column with these factors makes the odds of an outcome, at equal features,
differ between rows with and without one by

    Γ = ((1 + sqrt(Γs Γy)) / (sqrt(Γs) + sqrt(Γy)))^2

at most (`counterweight.numerics.sensitivity.joint_gamma`). This is Γ of the column; it grows to Γs
where the column decides the outcome. Coefficients of pure chance have factors above 1 as well, so
e_j is made smaller by sqrt(1 - k / W), W Wald's statistic of the column's k coefficients, and is 0
where W is less than k. The answer without a column is that of the fit that leaves it out, by one
Newton step from the fit with it: A the inverse Hessian, scores lose A[:, j] A[j, j]^-1 b_j.

Assumptions: the column that is hidden goes with those that are seen as column j goes with the
others, and its strength is that of fits that are linear, bent at the thirds of a number where there
are few features. A column that differs in fewer than 5 % of the pairs has the factor 1. Nothing
here says that a hidden column is as strong as any that is seen.

References
----------
Cinelli & Hazlett (2020), *JRSS B* 82, for hidden strength in multiples of a column's; Hsu & Small
(2013), *Biometrics* 69, for Γ calibrated by columns and its split into two; Franks, D'Amour &
Feller (2020), *JASA* 115.
"""

from dataclasses import dataclass, replace

import numpy as np

from counterweight.evaluation.cross_validation import gain_over, over_draws
from counterweight.numerics.checks import checked_weights
from counterweight.numerics.estimate import UNBOUNDED, Estimate, around
from counterweight.numerics.linear import expit, fit_logistic
from counterweight.numerics.sensitivity import (
    EITHER,
    MOST,
    NORMAL,
    TWICE,
    Repair,
    SweptMean,
    SweptNumber,
    accuracy_parts,
    brier_parts,
    e_values,
    ends_by_gamma,
    joint_gamma,
    turns_at,
)
from counterweight.numerics.tilt import Calibration
from counterweight.tables.parquet import setting_name
from counterweight.tables.study_data import by_repeat, found_rows, prediction_blocks

#: Who decides the same of everybody.
ALWAYS, NEVER = "always 1", "always 0"
#: Least rows on each side for a sweep or a fit to say anything.
LEAST = 20

#: Variables of the records by what they are of a sweep.
ENDS = {"least": "low", "most": "high", "fewer": "fewer", "more": "more"}
FALLING = ("least", "fewer")


def sweep_records(metric, sweep, errors=False, bounds=(-np.inf, np.inf), rest=None):
    """Records of a `counterweight.numerics.sensitivity.Sweep`, kept within bounds.

    With `errors` the bounds have standard errors; else repeats tell of chance. With a `rest`, what
    known outcomes add to the mean and the share of hidden ones, they have intervals, too: hidden
    outcomes, of which `bounds` are then, have theirs on a scale on which it stays within these. No
    end turns back as Γ grows, since what a larger Γ allows holds all that a smaller one does.
    """
    records = []
    known, share = rest or (0.0, 1.0)
    within = [known + share * end for end in bounds]
    values = {one: np.clip(getattr(sweep, end), *within) for one, end in ENDS.items()}
    told = {one: getattr(sweep, f"{end}_error", None) for one, end in ENDS.items() if errors}
    told = {one: error for one, error in told.items() if error is not None}
    ends = {}
    if rest:
        for one, error in told.items():
            ends[one] = ends_by_gamma(one in FALLING, values[one], error, bounds, known, share)
    for at, gamma in enumerate(sweep.gamma):
        place = {"metric": metric, "setting": setting_name({"gamma": float(gamma)})}
        for variable, value in values.items():
            if not np.isfinite(value[at]):
                continue
            place["variable"] = variable
            error = {"standard_error": float(told[variable][at])} if variable in told else {}
            records.append(place | {"value": float(value[at])} | error)
            records += [
                place | {"metric": f"{metric}_{name}", "value": float(one[at])}
                for name, one in zip(("low", "high"), ends.get(variable, ()), strict=False)
                if np.isfinite(one[at])
            ]
    return records


def turn_records(conclusion, mean, limit=0.0):
    """Records of `turns_at` for two conclusions on a mean: it is above a limit, and it is below.

    The value is the breakdown value, and `MOST` where there is none up to that; 1 where the
    conclusion does not hold at all. `conclusion` is what the mean is of, the part of the records.
    """
    turns = {
        "above": turns_at(lambda gamma: mean.low(gamma) - limit),
        "below": turns_at(lambda gamma: limit - mean.high(gamma)),
    }
    return [
        {"metric": "turns_at", "part": conclusion, "variable": side, "value": min(gamma, MOST)}
        for side, gamma in turns.items()
    ]


def begun_at(sweep, told, bounds, rest):
    """A `Sweep` moved to begin at a told `Estimate`, its errors in ratio to begin at its interval.

    The latter is by groups of rows, by weights that have an error of their own, by quantiles of t,
    or what is known at least where few rows rest on data. Where it reaches a bound, errors begin at
    the standard error.
    """
    offset, (known, share) = told.value - sweep.low[0], rest
    moved = {end: getattr(sweep, end) + offset for end in ("low", "high", "fewer", "more")}
    ends = told.value, told.low, told.high
    value, low, high = (np.clip((one - known) / share, *bounds) for one in ends)
    below, above = value - bounds[0], bounds[1] - value
    with np.errstate(all="ignore"):
        # Half the interval on the scale that `around` takes, over the slope of that.
        wide, slope = high - low, 2.0
        if np.isfinite(bounds[0]):
            wide, slope = np.log((high - bounds[0]) / (low - bounds[0])), 2 / below
        if np.isfinite(bounds[1]):
            wide, slope = wide + np.log((bounds[1] - low) / (bounds[1] - high)), slope + 2 / above
        by_ends = share * wide / slope / NORMAL
    error = by_ends if np.isfinite(by_ends) else told.standard_error
    if np.isfinite(error) and sweep.low_error[0] > 0:
        ends = ("low_error", "high_error")
        moved |= {end: getattr(sweep, end) * (error / sweep.low_error[0]) for end in ends}
    return replace(sweep, **moved)


def parts_beyond(parts, others):
    """Slope and base of a difference of two quantities."""
    return tuple(np.subtract(one, other) for one, other in zip(parts, others, strict=True))


def gamma_of(mean, truth):
    """The least Γ whose bounds hold the truth; `MOST` where none up to that does."""

    def outside(gamma):
        below = mean.low(gamma) - truth
        # A truth that is below all that Γ allows is not above it, too.
        return below if below > 0 else max(below, truth - mean.high(gamma))

    return min(turns_at(outside), MOST)


def sweep_predictions(predictions, labels, truth):
    """Sweeps of the predictions of a method of a study of classifiers, by repeat and target.

    What would be seen if labels were missing at random comes from the method's own predictions of
    test rows, calibrated on the labeled ones. By the chances of another method it would lose by
    construction, as nothing decides right more often than these themselves. Hidden labels count in
    the metric ``gamma_of_truth`` and as the truth alone.
    """
    seen, known = by_repeat(labels), by_repeat(truth)
    own = {key: (rows, p) for key, rows, p in _blocks(predictions)}
    records = []
    for (repeat, target), (rows, q) in own.items():
        absent = f"Labels of repeat {repeat} lack rows that are predicted: run the study again."
        hidden = seen[repeat]["selected"][found_rows(seen[repeat]["row"], rows, absent)] == 0
        y = known[repeat][f"y_{target}"][found_rows(known[repeat]["row"], rows, absent)]
        place = {"repeat": repeat, "target": target, "rows": len(rows)}
        labeled = _labeled(own, repeat, target, seen[repeat], known[repeat])
        if labeled is None or hidden.sum() < LEAST:
            continue
        calibration, rate = labeled
        p = np.where(hidden, calibration(q), y)
        records += [place | record for record in _swept(p, q, y, hidden, rate)]
    return records


def _blocks(predictions):
    """Repeat and target, rows and p of the blocks without a setting."""
    for repeat, target, setting, part in prediction_blocks(predictions):
        if setting == "":
            yield (repeat, target), predictions["row"][part], predictions["p"][part]


def _labeled(own, repeat, target, labels, truth):
    """Calibration of predictions on labeled test rows, and their rate; None for too few rows.

    The unlabeled target has no labeled row, so it takes the calibration of the general one, whose
    labels may be made by another rule.
    """
    whose = "general" if (repeat, "general") in own else target
    rows, p = own[repeat, whose]
    absent = f"Labels of repeat {repeat} lack rows that are predicted: run the study again."
    seen = labels["selected"][found_rows(labels["row"], rows, absent)] == 1
    where = found_rows(truth["row"], rows, absent)[seen]
    y = truth[f"y_{whose}"][where]
    if min((y == 0).sum(), (y == 1).sum()) < LEAST:
        return None
    return Calibration.fitted(p[seen], y.astype(int)), float(truth[f"y_{target}"][where].mean())


def _swept(p, q, y, hidden, rate):
    """Records of one block; `y` of hidden rows counts as the truth alone.

    `rate` is that of the labeled rows.
    """
    means = {
        "swept_accuracy": accuracy_parts(q),
        "swept_brier": brier_parts(q),
        "swept_rate": (np.ones(len(p)), np.zeros(len(p))),
    }
    records = []
    for metric, (slope, constant) in means.items():
        mean = SweptMean(p, slope, constant, hidden=hidden)
        records += sweep_records(metric, mean.sweep(errors=False))
        truth = float((constant + slope * y).mean())
        records.append({"metric": "gamma_of_truth", "part": metric, "value": gamma_of(mean, truth)})
        if metric == "swept_rate":
            records.append({"metric": metric, "variable": "truth", "value": truth})
            records += turn_records("rate", mean, rate)
    accuracy = means["swept_accuracy"]
    constants = accuracy_parts(np.full(len(q), float(p.mean() >= 0.5)))
    mean = SweptMean(p, *parts_beyond(accuracy, constants), hidden=hidden)
    return records + turn_records("constant", mean)


SHARE = (0.0, 1.0)


@dataclass(frozen=True)
class TargetRows:
    """Rows that an answer is for, and the labeled rows that put its mean right.

    `where` (T,) are their places in the table, `hidden` (T,) says of which no outcome is seen,
    `weight` (T,) are design weights, or weights to the target where labeled rows stand for it.
    `tested` (M,) are the places of labeled rows, with their outcomes `y` and weights `to_target`;
    `own` (M,) is a row's own share of the target, `labeled_mean` their mean outcome by design
    weights. `finite` says that the target are these rows, and not a population of them.
    """

    where: np.ndarray
    hidden: np.ndarray
    weight: np.ndarray
    tested: np.ndarray
    y: np.ndarray
    to_target: np.ndarray
    own: np.ndarray
    labeled_mean: float
    finite: bool = True
    most: float = np.inf

    @property
    def bounds(self):
        """What no mean lies beyond: 0 of outcomes none of which is below, and the largest."""
        return 0.0 if self.y.min() >= 0 else -np.inf, self.most

    def rest(self, headline, hidden):
        """What known outcomes add to the mean, and the share of the rows without one.

        Of `Estimate` of the mean over the target and over the latter.
        """
        share = float(self.weight[self.hidden].sum() / self.weight.sum())
        return headline.value - share * hidden.value, share

    @classmethod
    def here(cls, data, tested, target):
        """A target among the rows of the table."""
        mask = ~data.labeled if target == "unlabeled" else data.labeled | True
        mask = mask if mask.any() else data.labeled | True
        where = np.flatnonzero(mask)
        places = np.searchsorted(data.rows, tested.row)
        weight = data.weight[where]
        own = np.where(mask[places], data.weight[places] / weight.sum(), 0.0)
        mean = float(np.average(tested.y, weights=tested.design))
        return cls(
            where,
            ~data.labeled[where],
            weight,
            places,
            tested.y,
            tested.weight,
            own,
            mean,
            most=tested.most,
        )

    @classmethod
    def elsewhere(cls, data, tested):
        """A target that is not in the table: labeled rows stand for it by their weights."""
        places = np.searchsorted(data.rows, tested.row)
        all_of_them, none = np.ones(len(places), bool), np.zeros(len(places))
        weight, mean = tested.weight, float(np.average(tested.y, weights=tested.design))
        return cls(
            places, all_of_them, weight, places, tested.y, weight, none, mean, False, tested.most
        )

    def mean(self, p, parts=(1.0, 0.0), slope=1.0, centre=0.0):
        """The `SweptMean` of a quantity, from the chances of all rows of the table."""
        repair = Repair(self.y - p[self.tested], p[self.tested], self.to_target, self.own, slope)
        told = {"repair": repair, "centre": centre, "finite": self.finite}
        return SweptMean(p[self.where], *parts, self.weight, self.hidden, **told)

    def quality(self, p, parts, centre=0.0, known=None):
        """As `mean`, of slope and base of all rows of the table, of a population of such rows.

        Of rows whose outcome is seen they are `known`, if they are others.
        """
        pairs = zip(parts, known or parts, strict=True)
        told = [np.where(self.hidden, one[self.where], own[self.where]) for one, own in pairs]
        return replace(self.mean(p, told, parts[0][self.tested], centre), finite=False)

    def number(self, values):
        """The `SweptNumber`, from the estimates of all rows of the table."""
        repair = Repair(self.y - values[self.tested], values[self.tested], self.to_target, self.own)
        told = values[self.where], repair, self.weight, self.hidden
        return SweptNumber(*told, finite=self.finite)


def sensitivity(
    data, rows, name, answers, tilt, asked, headline, hidden, elsewhere, *, excluded=None
):
    """Records of how wrong the answer could be, and of how strong the columns are.

    Of the method `name`; `answers` are those of all methods, as told of a new row and as told of
    rows without an outcome, `tilt` is fitted as `asked` for; see `sensitivity_records` and
    `strength_records`.
    """
    if not rows.hidden.any():
        return []
    answers, hidden_answers = answers
    p, centre, met = hidden_answers.of(name), 0.0, None
    made = {one: answers.of(one) for one in answers.methods} if data.binary else {}
    if tilt is not None:
        p, centre = tilt.calibrated(p), tilt.delta
        if "rate" in asked:
            met = asked["rate"], np.where(data.labeled, data.y, p)
        # Rows whose outcome is seen are decided on as labeled ones are.
        seen, unmixed = made, replace(tilt, chance=None)
        made = {one: unmixed.moved(data.encoded, q, q, q)[0] for one, q in made.items()}
    told = {"binary": data.binary, "centre": centre, "told": (headline, hidden)}
    told |= {"seen": None if tilt is None else seen, "met": met}
    if data.binary and tilt is None:
        drawn = dict(zip(answers.methods, answers.tested.draws, strict=True))
        told["quality"] = over_draws(answers.tested, drawn[name], only=("accuracy", "brier"))
        told["gains"] = {
            one: gain_over(answers.tested, drawn[name], drawn.get(one, one == ALWAYS))
            for one in (*made, ALWAYS, NEVER)
        }
    records = sensitivity_records(rows, p, made, name, **told)
    told = met[1] if met else p, headline, hidden, centre, elsewhere
    return records + strength_records(data, rows, *told, excluded=excluded)


def sensitivity_records(
    rows,
    p,
    answers,
    delivered,
    *,
    binary,
    centre=0.0,
    told=None,
    seen=None,
    quality=None,
    gains=None,
    met=None,
):
    """Sweeps and breakdown values of the `delivered` method.

    `p` (n,) are estimates of all rows of the table as among labeled ones, of labeled rows out of
    fold; `answers` (n,) those of each method after a tilt, `seen` before it, by which rows with an
    outcome are decided on, `centre` the tilt that is swept around.
    The sweep of the mean outcome begins where it is `told` elsewhere: `Estimate` of the target and
    of its hidden rows; those of accuracy and Brier score where `quality` tells them, by name.
    Gains in right decisions over other methods, over `ALWAYS` and over `NEVER` are those of `gains`
    by name, `Estimate` in shares of 1; without, those of the sweep at Γ = 1 with its error. `met`
    is the rate of hidden rows where it is given, and `p` with known outcomes in place of estimates,
    so that what labeled rows show does not move it; all else begins where it is met.
    """
    if not rows.hidden.any():
        return []
    metric, bounds = ("swept_rate", SHARE) if binary else ("swept_mean", rows.bounds)
    mean = rows.mean(met[1] if met else p, centre=centre) if binary else rows.number(p)
    sweep = mean.sweep()
    begun, rest = sweep, None
    if told:
        rest = rows.rest(*told)
        begun = begun_at(sweep, told[0], bounds, rest)
    records = sweep_records(metric, begun, True, bounds, rest)
    records += turn_records("rate", mean, rows.labeled_mean - (begun.low[0] - sweep.low[0]))
    if not binary:
        return records
    q, before = answers[delivered], (seen or answers)[delivered]
    for name, parts in (("swept_accuracy", accuracy_parts), ("swept_brier", brier_parts)):
        found = rows.quality(p, parts(q), centre, parts(before))
        known = _met(found, met, SHARE) or (quality or {}).get(name.removeprefix("swept_"))
        found = found.sweep()
        if known:
            found = begun_at(found, known, SHARE, (0.0, 1.0))
        records += sweep_records(name, found, True, SHARE)
    always = bool(mean.mean(0.0) >= 0.5)
    alike = {"constant": np.full(len(q), float(always))}
    for name, other in (alike | answers).items():
        if name != delivered:
            pairs = (q, other), (before, (alike | (seen or answers))[name])
            parts, known = (parts_beyond(*map(accuracy_parts, pair)) for pair in pairs)
            size = (gains or {}).get((NEVER, ALWAYS)[always] if name == "constant" else name)
            gain = rows.quality(p, parts, centre, known)
            records += _gained(name, gain, _met(gain, met) or size)
    # Rows without an outcome are decided on as such.
    blank = (p if seen is None else q)[rows.where][rows.hidden]
    odds = np.maximum(blank, 1 - blank) / np.maximum(np.minimum(blank, 1 - blank), 1e-12)
    open_ones = float(np.average(odds <= TWICE, weights=rows.weight[rows.hidden]))
    return records + [{"metric": "decisions_open", "value": open_ones}]


def _met(swept, met, bounds=UNBOUNDED):
    """`Estimate` of a `SweptMean` where a rate of the hidden rows is met; None where none is."""
    if met is None:
        return None
    value, error = swept.at_rate(met[0]).at(0.0)
    ends = around(value, NORMAL * error, bounds)
    return Estimate(value, error, *ends, len(swept.p), np.nan, np.nan)


def _gained(name, gain, told):
    """Records of a gain in right decisions over a method: its size, in points, and where it turns.

    `gain` is swept; where it is `told` elsewhere, the sweep begins there.
    """
    begun = gain.sweep([1.0])
    start, error = float(begun.low[0]), float(begun.low_error[0])
    size = {"value": start, "standard_error": error}
    size |= {"low": start - NORMAL * error, "high": start + NORMAL * error}
    if told:
        size = {end: getattr(told, end) for end in size}
    turns = turn_records(name, gain, start - size["value"])
    place, size = {"metric": "right_gain", "part": name}, {k: 100 * v for k, v in size.items()}
    ends = [place | {"variable": end, "value": size.pop(end)} for end in ("low", "high")]
    return [place | size, *ends, *turns]


#: Columns that are told of, the strongest.
TOLD = 12
#: Pairs of rows of which so many differ by less than a column's factor; points that stand for them.
OF_PAIRS, POINTS = 0.95, 200
#: Features up to which numbers are bent.
BENT = 40
#: Most rows of a table that are looked at: of more, the first by content, as good as drawn.
LOOKED_ROWS = 100_000
#: Standard deviation of the logistic law.
LOGISTIC_SD = np.pi / np.sqrt(3)


def column_strengths(
    X, columns, labeled, y, weight=None, *, hidden, binary=True, span=None, excluded=None
):
    """How strong each column is, as metric records: the Γ that its absence would mean.

    X (n, d) are features of all rows, finite, `columns` (d,) the column of the table, or group of
    columns, that each is of; y (n,) has outcomes of `labeled` rows (a mask), others are not looked
    at. `weight` (n,) are design weights; `hidden` (n,) is of each row the share of the answer that
    is estimated for it: 0 for rows whose outcome is known or that are not of the target.
    ``span(gammas)`` gives the least and the largest answer at values of Γ. The column `excluded` is
    not told of, though it counts beside the others.

    By the column as ``part``, strongest first, `TOLD` at most: ``column_gamma`` (Γ, and as
    variables ``selection`` and ``outcome`` the factors Γs and Γy), ``column_move`` (answer of the
    linear fit without the column minus that with it) and, with `span`, ``column_range`` (``least``
    and ``most`` at the column's Γ). `EITHER` has the largest of each factor. Names and order of
    columns and rows do not count, but for rounding. Nothing where there are too few rows or only
    one column.
    """
    labeled, columns = np.asarray(labeled, bool), np.asarray(columns, object)
    weight = checked_weights(weight, len(labeled))
    Z, columns = _features(np.asarray(X, float), columns, weight)
    names = np.unique(columns.astype(str))
    if len(names) < 2 or min(labeled.sum(), (~labeled).sum()) < LEAST:
        return []
    seen = weight * labeled
    answered = np.where(labeled, np.asarray(y, float), 0.0)
    if binary and not 0 < answered[seen > 0].sum() < (seen > 0).sum():
        return []
    selection = _Fit(Z, 1.0 - labeled, weight, True)
    outcome = _Fit(Z, answered, seen, binary)
    share = weight / weight.sum()
    alike = np.linalg.inv((Z * share[:, None]).T @ Z + 1e-9 * np.eye(Z.shape[1]))
    own = [np.flatnonzero(columns == name) for name in names]
    sizes = [[fit.size(one) for one in own] for fit in (selection, outcome)]
    size = sum(np.array(one) / max(max(one), 1e-300) for one in sizes)
    told = np.lexsort((names, -np.round(size, 12)))
    told = told[names[told] != str(excluded)][:TOLD]
    factors = []
    for at in told:
        here = own[at]
        left = Z @ alike[:, here] @ np.linalg.inv(alike[np.ix_(here, here)])
        parts = [left @ fit.sure(here) for fit in (selection, outcome)]
        factors.append(np.exp([_apart(part, weight) for part in parts]))
    factors = np.array(factors)
    # One more, as strong as the strongest is of either.
    factors = np.vstack([factors, factors.max(axis=0)])
    gamma = joint_gamma(*factors.T)
    low, high = span(gamma) if span else (None, None)
    records = []
    for rank in np.lexsort((np.arange(len(gamma)), -np.round(gamma, 12))):
        one = rank < len(told)
        place = {"part": str(names[told[rank]]) if one else EITHER}
        found = {("column_gamma", ""): gamma[rank]}
        found |= {("column_gamma", "selection"): factors[rank, 0]}
        found |= {("column_gamma", "outcome"): factors[rank, 1]}
        if one:
            found |= {("column_move", ""): outcome.move(own[told[rank]], hidden)}
        if span:
            found |= {("column_range", "least"): low[rank], ("column_range", "most"): high[rank]}
        records += [
            {"metric": metric, "variable": variable, "value": float(value)} | place
            for (metric, variable), value in found.items()
        ]
    return records


def _features(X, columns, weight):
    """Standardised features that vary, bent at the thirds where they are few, and their columns."""
    share = weight / weight.sum()
    if X.shape[1] <= BENT:
        knots = np.quantile(X[weight > 0], [1 / 3, 2 / 3], axis=0)
        # Two values are no number: nothing to bend.
        many = [len(np.unique(column[:2000])) > 2 for column in X.T]
        bent = [np.maximum(X - knot, 0)[:, many] for knot in knots]
        X, columns = np.hstack([X, *bent]), np.concatenate([columns, *[columns[many]] * 2])
    centre = share @ X
    X = X - centre
    scale = np.sqrt(share @ np.square(X))
    varies = scale > 1e-9 * np.maximum(np.abs(centre), 1e-300)
    return X[:, varies] / scale[varies], columns[varies]


class _Fit:
    """A regression on standardised features, and what it becomes without some of them.

    The penalty is that of one row in all: a normal prior of variance 1.
    """

    def __init__(self, Z, y, weight, binary):
        used = weight > 0
        self.rows, self.binary, self.y, self.weight = np.c_[Z, np.ones(len(Z))], binary, y, weight
        share = weight / weight[used].mean()
        penalty = np.append(np.ones(Z.shape[1]), 0.0)
        if binary:
            told = fit_logistic(Z[used], y[used].astype(int), weight[used], 1 / used.sum())
            self.coef = np.append(*told[:2])
            p = expit(self.rows @ self.coef)
            self.spread, curve = LOGISTIC_SD, p * (1 - p)
        else:
            gram = (self.rows * share[:, None]).T @ self.rows + np.diag(penalty)
            self.coef = np.linalg.solve(gram, self.rows.T @ (share * y))
            left = np.where(used, y - self.rows @ self.coef, 0.0)
            self.spread = float(np.sqrt(max(share @ left**2 / used.sum(), 1e-300)))
            curve = np.full(len(Z), self.spread**-2)
        hessian = (self.rows * (share * curve)[:, None]).T @ self.rows + np.diag(penalty)
        self.inverse = np.linalg.inv(hessian)

    def _solved(self, own):
        """``A[j, j]^-1 b[j]``, and Wald's statistic of the coefficients."""
        solved = np.linalg.solve(self.inverse[np.ix_(own, own)], self.coef[own])
        return solved, float(self.coef[own] @ solved)

    def size(self, own):
        """Wald's statistic beyond what chance makes: ranks columns."""
        return max(self._solved(own)[1] - len(own), 0.0)

    def sure(self, own):
        """Coefficients of some features, made smaller by what chance makes; in log odds."""
        _, wald = self._solved(own)
        kept = np.sqrt(max(1 - len(own) / wald, 0.0)) if wald > 0 else 0.0
        return kept * self.coef[own] * (LOGISTIC_SD / self.spread)

    def move(self, own, share):
        """Mean answer by shares (n,) without the features, minus that with them.

        The constant is put right, so that labeled rows keep their mean.
        """
        with_them = self.rows @ self.coef
        lost = self.rows @ (self.inverse[:, own] @ self._solved(own)[0])
        without, used = with_them - lost, self.weight > 0
        if not self.binary:
            return float(share @ (without - with_them))
        target = self.weight[used] @ self.y[used]
        for _ in range(8):
            p = expit(without[used])
            without = without + (target - self.weight[used] @ p) / max(
                self.weight[used] @ (p * (1 - p)), 1e-12
            )
        return float(share @ (expit(without) - expit(with_them)))


def _apart(values, weight):
    """By how much less than all but 5 % of pairs of rows differ, rows drawn by weight."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weight[order])
    at = np.searchsorted(mass, mass[-1] * (np.arange(POINTS) + 0.5) / POINTS)
    grid = values[order][np.minimum(at, len(order) - 1)]
    return float(np.quantile(np.abs(grid[:, None] - grid), OF_PAIRS))


def strength_records(
    data, rows, p, headline, hidden, centre=0.0, elsewhere=False, *, excluded=None
):
    """`column_strengths` of a table with blanks around its answer, and the E-value of that.

    `data` are `BlankData`, `rows` `TargetRows`; p (n,) are estimates of all rows as among labeled
    ones, of labeled rows out of fold; `headline` and `hidden` are the answer, and that of rows
    without an outcome, `Estimate`. `centre` is the tilt that answers are swept around; with one
    there is no E-value, which is against labels missing at random. Where the target is `elsewhere`,
    not in the table, who is of it is not seen by the columns. The column `excluded` is taken to
    have no part in the outcome: no hidden one is held against it.
    """
    records = []
    if not centre:
        spread = None if data.binary else float(np.sqrt(np.cov(rows.y)))
        ends = hidden.value, hidden.low, hidden.high
        found = e_values(*ends, rows.labeled_mean, spread)
        records = [
            {"metric": "e_value", "part": "rate", "variable": variable, "value": value}
            for variable, value in zip(("", "interval"), found, strict=True)
            if np.isfinite(value)
        ]
    if elsewhere:
        return records
    mean = rows.mean(p, centre=centre) if data.binary else rows.number(p)

    def span(gammas):
        swept = mean.sweep([1.0, *gammas])
        offset, (known, part) = headline.value - swept.low[0], rows.rest(headline, hidden)
        bounds = [known + part * end for end in ((0.0, 1.0) if data.binary else rows.bounds)]
        return tuple(np.clip(ends[1:] + offset, *bounds) for ends in (swept.low, swept.high))

    share = np.zeros(len(data.labeled))
    share[rows.where] = np.where(rows.hidden, rows.weight, 0.0) / rows.weight.sum()
    columns = [feature.column for feature in data.encoder.features_]
    looked = np.flatnonzero(data.order < LOOKED_ROWS) if len(share) > LOOKED_ROWS else slice(None)
    if len(share) > LOOKED_ROWS:
        share = share * (share.sum() / max(share[looked].sum(), 1e-300))
    told = {"hidden": share[looked], "binary": data.binary, "span": span}
    told |= {"excluded": excluded}
    told |= {"labeled": data.labeled[looked], "y": data.y[looked], "weight": data.weight[looked]}
    return records + column_strengths(data.X[looked], columns, **told)
