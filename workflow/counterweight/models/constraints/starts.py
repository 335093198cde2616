"""The best of several starts of a constrained classifier, and the way along a sweep of settings.

Problem 2 has many local optima, and w = 0 can be a bad place to begin: so it is begun in several,
the unconstrained fit and its shifted and scaled versions always among them, and what is found is
compared with rules that need no training under constraints (`known_rules`).
"""

import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.convex_step import ROUNDING, ramp
from counterweight.models.constraints.feature_maps import told_boxes
from counterweight.models.constraints.known_rules import (
    Rates,
    known_rules,
    logistic,
    named_groups,
    nearby,
    sets_in,
    shifted_value,
)
from counterweight.models.constraints.majorisation import RateFit, minimise_rates

#: Convex steps from each start, before the best one goes on.
FIRST_STEPS = 2
#: Scores that are begun from beside zero, those of least value.
MOST_STARTS = 2
#: Another start of so many times the least value does not come near in the steps that there are:
#: it is as far as zero, which is begun from in any case.
FAR = 1.5
#: Steps of each setting of a sweep, begun at the solution of the next tighter one.
PATH_STEPS = 3
#: Tolerance of the steps before the last, in units of the last one's.
EARLY = 10.0
#: Of the objective's total cost: what a known rule may be better by.
BEHIND = 5e-4
#: Scales of the score that are tried: the larger, the more the coin follows the sign.
SCALES = 2.0 ** np.arange(0, 15)
#: Moves of the score that make its sign meet the constraints: how many, how long, and what they
#: may cost of the objective's total cost.
MOVES, LENGTHS, SIGN_COST = 8, (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25), 5e-3
#: The score next to a threshold, as a share of the largest, by which a coin is the rule itself.
STEEPEST = 1e-9
#: Share of yes, or of no, below which a start is next to the same answer for all.
FEW = 1e-3
#: Steps by which a start is moved along groups, at scales by which such shares have a chance.
LEVELLED, INSIDE = 30, (0.02, 0.1, 0.3, 0.6, 0.9)
#: Shares of the way from a start that meets the constraints to a fit without them.
WAY = np.linspace(0, 1, 33)
#: What steps began at that did not begin at zero.
STARTS = "a fit without constraints, or a known rule"
#: Fewer rows than this share with another answer are no answer at all.
NOBODY = 1e-6


@dataclass
class Begun:
    """What the settings of a sweep share: `rows` (`DistinctRows`), and lists of scores.

    `bases` are fits without constraints, the objective's own first; `judges` such fits by other
    losses, whose thresholds are compared with; `others` more fits to begin from, such as an
    imitation of the deployed model. `groups` and `tilts` are those of `known_rules.named_groups`.
    """

    rows: object
    bases: list = field(default_factory=list)
    judges: list = field(default_factory=list)
    groups: list = field(default_factory=list)
    tilts: list = field(default_factory=list)
    others: list = field(default_factory=list)


@dataclass
class Found:
    """What is returned, and the solution that the convex steps came to.

    They differ where a known rule, its score scaled, is better (`taken`), and where the score was
    moved a little for the sake of its sign. `name` says which it is.
    """

    fit: RateFit
    solution: RateFit
    taken: bool = False
    name: str = ""

    @property
    def words(self):
        """What is returned, in words."""
        return self.name or f"steps from {self.solution.begun or 'a given start'}"


def vector(rows, fit):
    """All coordinates of a fit, the bias last."""
    return np.append(fit.coefficient, fit.intercept)


def pair(rows, w):
    """Coefficients and intercept."""
    return w[: rows.features], float(w[rows.features :].sum())


def _unit(f):
    """The scale that spreads scores which hardly differ; 1 where they do."""
    return 1.0 / min(1.0, max(4.0 * float(np.std(f)), 1e-6))


class Coins:
    """Objective and constraints of the coins of one score f, scaled and shifted.

    Rows between chance 0 and 1 are a run of the sorted scores, whose sums are differences of sums
    over all rows up to each.
    """

    def __init__(self, f, costs):
        order = np.argsort(f, kind="stable")
        self.f, self.costs, slope = f[order], costs, costs.slope[:, order]
        self.sums, self.moments = (
            np.cumsum(np.pad(part, ((0, 0), (1, 0))), axis=1) for part in (slope, slope * self.f)
        )

    def values(self, scale, places):
        """Values (1 + m, places) of the coins of ``scale * f + places``."""
        low = np.searchsorted(self.f, (-0.5 - places) / scale, side="right")
        high = np.searchsorted(self.f, (0.5 - places) / scale)
        inside = self.sums[:, high] - self.sums[:, low]
        leaning = self.moments[:, high] - self.moments[:, low]
        sure = self.sums[:, -1:] - self.sums[:, high]
        return self.costs.fixed[:, None] + sure + (0.5 + places) * inside + scale * leaning


def repaired(rows, w, costs, penalty):
    """A score, scaled and shifted so that its coin meets the constraints, or misses them least.

    Of all scales and shifts that meet them the one with the least value of Problem 2. Gives the
    score, its largest violation (0 where there is none), and its objective with the penalty.
    """
    f, l2 = rows.scores(w), rows.regularisation(penalty)
    kept = np.append(w[:-1], 0.0)
    weight = l2 @ (kept * kept)
    shifts = np.append(0.0, np.quantile(f, np.linspace(0, 1, 33)[1:-1]))
    offsets = np.array([0.0, 0.25, -0.25])
    found, coins = [], Coins(f, costs)
    for scale in SCALES[:9:2] * _unit(f):
        places = np.unique((-scale * shifts[:, None] + offsets).ravel())
        values = coins.values(scale, places)
        missed = np.maximum(values[1:].max(axis=0, initial=0.0), 1e-12)
        cost = values[0] + scale**2 * weight / 2 + l2[-1] / 2 * (scale * w[-1] + places) ** 2
        best = np.lexsort((cost, missed))[0]
        found.append((missed[best], cost[best], scale, places[best]))
    missed, value, scale, place = min(found)
    scaled = scale * w
    scaled[-1] += place
    return scaled, max(missed - 1e-12, 0.0), value


def sharpened(rows, rule, costs, most):
    """A deterministic rule as a coin that is nearly as good, or None.

    The least scale at which both the coin and the sign have at most the objective `most`, and the
    coin meets the constraints.
    """
    f = rows.scores(rule.w)
    sign = costs.values(f > 0)[0]
    offsets = (0.0, 0.1, -0.1, 0.25, -0.25, 0.45, -0.45)
    for scale in SCALES * _unit(f):
        for offset in offsets:
            values = costs.values(ramp(scale * f + offset))
            if max(values[0], sign) <= most and (values[1:] <= 0).all():
                w = scale * rule.w
                if offset:
                    w[-1] += offset
                return w
    # So steep that nobody's chance is between 0 and 1: the rule itself.
    closest = float(np.abs(f).min())
    if sign > most or closest <= STEEPEST * float(np.abs(f).max()):
        return None
    return rule.w / closest


def _joined(first, more):
    """Two runs, the second of which began where the first ended."""
    accepted = len(first.gap) + more.accepted if more.accepted else first.accepted
    return replace(
        more,
        multipliers=np.vstack([first.multipliers, more.multipliers]),
        objective=np.append(first.objective, more.objective[1:]),
        violations=np.vstack([first.violations, more.violations[1:]]),
        gap=np.append(first.gap, more.gap),
        evaluations=np.append(first.evaluations, more.evaluations),
        states=first.states + more.states,
        messages=[*first.messages, *more.messages],
        accepted=accepted,
    )


def _order(fit):
    """Feasible fits by their objective, others by what they miss in sum."""
    if fit.feasible:
        return 0.0, fit.objective.min()
    return float(np.maximum(fit.violations, 0).sum(axis=1).min()), fit.objective.min()


class Search:
    """Problem 2 at one setting.

    Coefficients are those of `compile`, of all rows; options those of `minimise_rates`.
    """

    levelled = False

    def __init__(self, begun, positive, negative, bounds, constants, penalty, **options):
        self.begun, self.rows, self.penalty = begun, begun.rows, penalty
        self.problem = (positive, negative, bounds)
        self.options = options | {"constants": constants, "penalty": penalty}
        merged = self.rows.merge(positive), self.rows.merge(negative)
        self.costs = Rates.of(*merged, constants, bounds)

    def run(self, start, steps, begun="zero", **options):
        """Majorisation-minimisation from one start, which `begun` names."""
        fit = minimise_rates(
            self.rows, *self.problem, start=start, steps=steps, **self.options | options
        )
        return replace(fit, begun=begun)

    @cached_property
    def known(self):
        """Rules by the unconstrained fits that meet the constraints, the best last."""
        found = (rule for w in self.begun.bases + self.begun.judges for rule in self.rules(w))
        return sorted(found, key=lambda rule: -rule.value)

    def rules(self, w):
        """Rules by the thresholds of one score that meet the constraints, the best last."""
        return known_rules(self.rows, w, self.costs, self.begun.groups, self.begun.tilts)

    def value(self, w):
        """Problem 2's objective and constraints at a score, by its coin."""
        values = self.costs.values(ramp(self.rows.scores(w)))
        l2 = self.rows.regularisation(self.penalty)
        return values[0] + l2 @ (w * w) / 2, values[1:]

    def best(self, steps, near=None, near_steps=None, swap=True, signed=False):
        """The best of several starts, or of the way on from a neighbour's solution `near`.

        From there `near_steps` are taken. If `swap`, a known rule that is better may be the result;
        if `signed`, the sign of the score is to meet the constraints, too, if that costs little.
        """
        if not self.begun.bases:
            return Found(fit := self.run(None, steps), fit)
        fit = None
        if near is not None:
            over = self.value(vector(self.rows, near))[1]
            if (over <= ROUNDING * np.maximum(self.costs.size[1:], 1.0)).all():
                fit = self._on(near, near_steps)
        plain = None
        if fit is None or (self.known and self.behind(vector(self.rows, fit)) > BEHIND):
            found, plain = self._screened(self._starts(), steps)
            fit = min([found, *([fit] if fit else [])], key=_order)
        moved = self._by_sign(fit) if signed and fit.feasible else fit
        if not swap:
            return Found(moved, fit)
        found = self._compared(moved, fit, signed)
        if plain is not None and plain.feasible and found.fit.feasible:
            # By rates, too, nothing that is returned is worse than the path from zero.
            moved = self._by_sign(plain) if signed else plain
            own, other = (vector(self.rows, one) for one in (moved, found.fit))
            if self._above(own, signed, 0.0) < self._above(other, signed, 0.0):
                return Found(moved, plain)
        return found

    def _on(self, fit, steps):
        """More steps from a fit, the last state of its solver included."""
        warm = replace(fit, states=fit.states[-1:])
        start, begun = (fit.coefficient, fit.intercept), fit.begun
        return self.run(start, steps, begun, early=EARLY, warm=warm if warm.states else None)

    def _starts(self):
        """Scores to begin from, scaled and shifted; see `repaired`."""
        places = [*self.begun.bases, *(rule.w for rule in self.known[-1:]), *self.begun.others]
        found = [repaired(self.rows, w, self.costs, self.penalty) for w in places]
        others = found[len(found) - len(self.begun.others) :]
        imitated = [w for w, missed, _ in others if not missed]
        found += [self._on_the_way(w, base) for w in imitated for base in self.begun.bases]
        lines = [*(line for _, line in self.begun.groups), *self.begun.tilts]
        # Shares of yes among the distinct rows.
        some = [np.mean(ramp(self.rows.scores(w))) for w, missed, _ in found if not missed]
        if lines and not any(FEW < share < 1 - FEW for share in some):
            self.levelled = True
            for base in self.begun.bases:
                # By which few to most of the rows have a chance between 0 and 1.
                size = np.quantile(np.abs(self.rows.scores(base)), INSIDE)
                scales = 0.5 / np.maximum(size, 1e-9)
                moved = [self._levelled(scale * base, lines) for scale in scales]
                found.append(min(moved, key=lambda one: (max(one[1], 1e-12), one[2])))
        return found

    def _on_the_way(self, w, base):
        """The best start between one that meets the constraints and a fit without them."""
        f, g, l2 = *map(self.rows.scores, (w, base)), self.rows.regularisation(self.penalty)
        found = []
        for share in WAY:
            values, v = self.costs.values(ramp(f + share * (g - f))), w + share * (base - w)
            if not found or (values[1:] <= self.costs.slack).all():
                found.append((v, 0.0, values[0] + l2 @ (v * v) / 2))
        return min(found, key=lambda one: one[2])

    def _levelled(self, w, lines):
        """A start moved along groups until its coin meets the constraints, as equal rates ask.

        Gauss-Newton; rates of a coin are linear between kinks, so that it ends exactly.
        """
        rows, costs = self.rows, self.costs
        lines = [np.eye(1, len(w), len(w) - 1)[0], *lines]
        along, f = np.array([rows.scores(line) for line in lines]), rows.scores(w)
        t, values = np.zeros(len(lines)), costs.values(ramp(f))[1:]
        for _ in range(LEVELLED):
            at, asked = f + t @ along, values > -costs.slack
            if values.max(initial=0.0) <= 0:
                break
            inside = np.abs(at) < 0.5
            slope = costs.slope[1:][asked][:, inside] @ along[:, inside].T
            step = np.linalg.lstsq(slope, -values[asked] - costs.slack[asked], rcond=1e-10)[0]
            for length in 0.5 ** np.arange(12):
                moved = costs.values(ramp(at + length * step @ along))[1:]
                if moved.max() < values.max():
                    break
            t, values = t + length * step, moved
        w = w + t @ np.array(lines)
        value, over = self.value(w)
        return w, float(np.maximum(over - costs.slack, 0).max(initial=0.0)), value

    def _screened(self, starts, steps):
        """A few steps from each start, the rest from the best of these; and all those from zero.

        Gives the best of both, and the fit from zero, or None.
        """
        few = min(FIRST_STEPS, steps)
        # Rates that are to be equal leave further steps no room.
        goes_on = few < steps and not self.levelled
        # What costs more than to be wrong on all rows, by its penalty, is no place to begin in.
        most = self.costs.size[0]
        good = [start for start in starts if not start[1] and start[2] <= most]
        good.sort(key=lambda start: start[2])
        # Two starts of one value are one and the same.
        new = np.diff([one[2] for one in good], prepend=-np.inf) > 1e-12
        good = [one for one, kept in zip(good, new, strict=True) if kept]
        near = [one for one in good[:MOST_STARTS] if one[2] <= FAR * good[0][2]]
        good = [pair(self.rows, w) for w, _, _ in near]
        at_zero = self.costs.values(np.full(self.rows.shape[0], 0.5))[1:]
        fits, proved = [], False
        for start in good:
            fits.append(self.run(start, few, STARTS, early=EARLY, goes_on=goes_on))
            if proved := fits[-1].status == "proved_infeasible":
                break
        if not fits or (not proved and at_zero.max(initial=-1.0) <= ROUNDING):
            # Where zero is the only start it may take all steps to meet the constraints.
            told = {"steps": few, "goes_on": goes_on} if fits else {"steps": steps}
            fits.append(self.run(None, early=EARLY, **told))
            proved = fits[-1].status == "proved_infeasible"
        if not proved and not any(fit.feasible for fit in fits):
            ordered = sorted(starts, key=lambda start: start[1])
            fits += [self.run(pair(self.rows, w), steps, STARTS) for w, _, _ in ordered[:1]]
        fit = min(fits, key=_order)
        from_zero = next((one for one in fits if one.begun == "zero"), None)
        ended = fit
        if fit.feasible and len(fit.gap) < steps and not self.levelled:
            more = self._on(fit, steps - len(fit.gap))
            more.evaluations[0] += sum(one.evaluations.sum() for one in fits if one is not fit)
            ended = _joined(fit, more)
        if proved or self.levelled:
            return ended, None
        if from_zero is fit:
            return ended, ended
        from_zero = self._to_the_end(from_zero, steps)
        return min([ended, from_zero], key=_order), from_zero

    def _to_the_end(self, from_zero, steps):
        """All steps from zero, of which some may have been taken."""
        if from_zero is None:
            return self.run(None, steps, early=EARLY)
        if from_zero.feasible and len(from_zero.gap) < steps:
            return _joined(from_zero, self._on(from_zero, steps - len(from_zero.gap)))
        return from_zero

    def behind(self, w, signed=False):
        """By how much the best known rule is better than a score, by coin or by sign.

        As a share of the objective's total cost; NaN where no rule is known. If `signed`, the
        threshold is moved for the sign to meet the constraints; at worst it is wrong on all rows.
        """
        return self._above(w, signed, self.known[-1].value) if self.known else np.nan

    def _above(self, w, signed, value):
        """Objective of a score, by coin or by sign, less that of a rule; see `behind`."""
        f, total = self.rows.scores(w), max(self.costs.size[0], 1e-300)
        sign = shifted_value(f, self.costs) if signed else self.costs.values(f > 0)[0]
        worst = max(self.costs.values(ramp(f))[0], min(sign, total))
        return float((worst - value) / total)

    def _compared(self, fit, solution, signed):
        """The fit, or a known rule where that is clearly better."""
        w = vector(self.rows, fit)
        if not signed and (not self.known or (self.behind(w) <= BEHIND and fit.feasible)):
            return Found(fit, solution)
        for rule in sorted(self.known[-1:] + self.rules(w), key=lambda rule: rule.value):
            if fit.feasible and self._above(w, signed, rule.value) <= BEHIND:
                break
            others = [*self.begun.bases, *self.begun.judges, w]
            rule = nearby(self.rows, rule, self.costs, self.begun.groups, others)
            most = rule.value + 0.5 * BEHIND * self.costs.size[0]
            sharp = sharpened(self.rows, rule, self.costs, most)
            if sharp is not None:
                name = f"a known rule, thresholds of a score: {rule.name}"
                return Found(self.as_fit(sharp, fit), solution, taken=True, name=name)
        return Found(fit, solution)

    def _by_sign(self, fit):
        """A fit moved a little, in groups or for all, so that coin and sign meet the constraints.

        Greedily, by the moves that leave least of the violations of both; the fit itself where
        no few moves do, or where they cost more than the coin's own rounding of decisions.
        """
        rows, costs = self.rows, self.costs
        start = w = vector(rows, fit)
        one = np.zeros(len(w))
        one[-1] = 1.0
        lines = [one, *(line for _, line in self.begun.groups), *self.begun.tilts]
        along = [rows.scores(line) for line in lines]
        price = 10 * costs.size[0] / np.where(costs.size[1:] > 0, costs.size[1:], 1.0)

        def judged(f):
            sign, coin = costs.values(f > 0), costs.values(ramp(f))
            over = np.maximum(sign[1:] - costs.slack, 0) + np.maximum(coin[1:] - 1e-9, 0)
            return float(price @ over), max(sign[0], coin[0])

        f = rows.scores(w)
        first = now = judged(f)
        for _ in range(MOVES):
            if not now[0]:
                break
            sides = [sign * length for length in LENGTHS for sign in (1, -1)]
            moves = [
                (judged(f + length * direction), k, length)
                for k, direction in enumerate(along)
                for length in sides
            ]
            best, k, length = min(moves, key=lambda move: move[0][0] + move[0][1])
            if sum(best) >= sum(now):
                break
            now, f, w = best, f + length * along[k], w + length * lines[k]
        if now[0] or now[1] > first[1] + SIGN_COST * costs.size[0] or w is start:
            return fit
        coefficient, intercept = pair(rows, w)
        return replace(fit, coefficient=coefficient, intercept=intercept)

    def as_fit(self, w, before):
        """A score that no convex step gave, as a fit."""
        coefficient, intercept = pair(self.rows, w)
        value, over = self.value(w)
        return replace(
            before,
            coefficient=coefficient,
            intercept=intercept,
            multipliers=np.empty((0, len(over))),
            objective=np.array([value]),
            violations=over[None],
            gap=np.empty(0),
            evaluations=np.array([before.evaluations.sum()]),
            feasible=True,
            status="feasible",
            least_violation=0.0,
            states=[],
            accepted=0,
        )


#: Distinct rows times features squared, above which no logistic regression is compared with.
MOST_WORK = 2e9
#: Shares of one side of an objective's cost below which it says nothing of the other answer.
ONE_SIDED = 1e-9


def fit_settings(models, data, rng):
    """Fit constrained classifiers that differ in the numbers of their constraints only.

    Rows are prepared once. From the setting whose constraints ask most of the unconstrained fit the
    solver goes on to the others, each begun where the one before ended: that classifier keeps
    looser constraints, too. Every model gets the same draws. Raises for constraints that no
    classifier is found to meet, unless the model keeps them.
    """
    first = models[0]
    problems = [model._problem(data) for model in models]
    first._draw_map(data.X, copy.deepcopy(rng))
    first.group_boxes_ = _group_boxes(first, data, problems[0].names)
    first._choose_penalty(data, copy.deepcopy(rng))
    imitated = first._imitated(data)
    used = np.zeros(len(data), bool) if imitated is None else imitated.any(axis=0)
    for problem in problems:
        used |= (problem.positive + problem.negative).any(axis=0)
    rows, scale, centre = first._distinct_rows(data.X, used)
    begun, searches = Begun(rows), []
    for model, problem in zip(models, problems, strict=True):
        model.map_, model.constraints_ = first.map_, problem.names
        model.group_boxes_, model._chosen = first.group_boxes_, first._chosen
        model.n_features_in_ = data.X.shape[1]
        model.penalty_ = model._penalty(problem, data)
        costs = problem.positive[:, used], problem.negative[:, used]
        options = {name: getattr(model, name) for name in ("method", "tol", "loss")}
        # Certified rules erred more on new rows where their fits had been followed further.
        options["further"] = model.confidence is None
        fixed = problem.bounds, problem.constants, model.penalty_
        search = Search(begun, *costs, *fixed, **options)
        if not begun.bases and len(problem.names) and first._begins_elsewhere:
            _begin(search, problem.names, data, used, imitated)
        searches.append(search)
    near, refused = None, None
    for place in _tightest_first(searches):
        model, search = models[place], searches[place]
        found = model._solved(search, near)
        model._keep(found, search, scale, centre)
        near = found
        if not model.feasible_ and model.on_infeasible == "raise":
            refused = refused or model.infeasibility_
    if refused:
        raise CounterweightError(refused)


def _begin(search, texts, data, used, imitated):
    """What all settings begin from: unconstrained fits, groups, an imitation of the old model."""
    begun, rows = search.begun, search.rows
    begun.bases, sides, by = _unconstrained(search, data, used)
    if np.prod(rows.shape) * rows.shape[1] <= MOST_WORK:
        begun.judges = [logistic(rows, *map(rows.merge, sides), by / 2)]
    members = {name: mask[used] for name, mask in data.members.items()}
    begun.groups, begun.tilts = named_groups(rows, members, texts)
    if imitated is not None:
        costs = imitated[:, used]
        penalty = min(search.penalty, 2 * float(costs.sum(axis=0).max()))
        begun.others.append(_svm(rows, *costs, penalty, svm_gap=None))


def _group_boxes(model, data, texts):
    """Groups that constraints name and a column tells; rows of tables of their own tell nothing."""
    if model.group_features == "none":
        return told_boxes(data.X, [])
    parts = sets_in(texts)
    groups = [np.all([data.members[name] for name in part], axis=0)[data.main] for part in parts]
    linear, known = model.map_ is None or model.linear_part, model._told
    key = data.main.tobytes(), linear, tuple(parts)
    if known is None or key not in known:
        X = data.X if data.main.all() or not groups else data.X[data.main]
        known = {} if known is None else known
        known[key] = told_boxes(X, groups, linear)
    return known[key]


def _tightest_first(searches):
    """Places of the settings: those first whose bounds the unconstrained fit keeps least."""
    begun = searches[0].begun
    if not begun.bases:
        return range(len(searches))
    p = ramp(begun.rows.scores(begun.bases[0]))
    asked = [-search.costs.values(p)[1:].sum() for search in searches]
    return np.argsort(asked, kind="stable")


def _svm(rows, positive, negative, penalty, **options):
    """An SVM by the costs of a yes and of a no to each row."""
    options |= {"penalty": penalty, "loss": "hinge", "steps": 1}
    fit = minimise_rates(rows, positive[None], negative[None], np.empty(0), **options)
    return vector(rows, fit)


def _unconstrained(search, data, used):
    """SVMs without constraints, the costs of a yes and a no that they go by, and the penalty.

    That of the objective, or of the error where the objective knows one answer only; where its
    answers are far rarer than they should be, also one with equal total costs of both sides,
    whose scores still tell the rows apart.
    """
    rows, penalty = search.rows, search.penalty
    costs = positive, negative = search.problem[0][0], search.problem[1][0]
    sides = np.array([positive.sum(), negative.sum()])
    if sides.min() <= ONE_SIDED * sides.max():
        y, weight = data.y[used], np.where(data.y >= 0, data.weight, 0.0)[used]
        errors = weight * (y == 0), weight * (y == 1)
        sides = np.array([one.sum() for one in errors])
        if not sides.all():
            return [_svm(rows, *costs, penalty)], errors, penalty
        costs, penalty = errors, 2.0
    plain = _svm(rows, *costs, penalty)
    share = np.bincount(rows.group, costs[0] + costs[1], rows.shape[0])
    covered = share @ (rows.scores(plain) > 0) / share.sum() * sides.sum() / sides[1]
    if 0.6 <= covered <= 1 / 0.6:
        return [plain], costs, penalty
    even = sides.mean() / sides
    more = _svm(rows, costs[0] * even[0], costs[1] * even[1], penalty)
    return [plain, more], costs, penalty
