"""The classifier under constraints that does best on rows it was not fitted to.

On the rows of a fit every promise is kept and every error is small: the more a classifier can bend,
the more so. Here several learners, with several penalties, losses or sizes each, are fitted to
parts of the rows and answer for the others. Their scores there get the thresholds of least cost by
which the constraints hold there; so all are compared at promises that are kept on rows that they
have not seen, and the best is fitted to all rows.
"""

import contextlib
import copy
import inspect
import itertools
import logging
import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Array, Choice, Integer, Text
from counterweight.models.classifier import class_within, stored_within
from counterweight.models.constraints.certificates import CONFIDENCE_OPTIONS, MarginFit
from counterweight.models.constraints.cuts import TILTS, Repair, Repairs, judge, repaired
from counterweight.models.constraints.estimator import PARAMETER_OPTIONS, RateEstimator, own
from counterweight.models.constraints.feature_maps import dense
from counterweight.models.constraints.linear_svm import labeled_rows
from counterweight.models.constraints.majorisation import PROVED, prove_infeasible
from counterweight.models.constraints.thresholds import (
    DECIMALS,
    REPAIR_OPTIONS,
    STORED,
    STORED_NUMBERS,
    RepairedDecisions,
)
from counterweight.models.logistic import RidgeModel
from counterweight.models.training import choices_of, held_out_answers, narrowed, settings
from counterweight.numerics.linear import expit, fitted_factors, logit
from counterweight.numerics.rates.language import UndefinedRate
from counterweight.numerics.rates.values import compile as compile_rates
from counterweight.plan.components import load

OPTIONS = {
    "objective": Text("error(labeled)", "Sum of rates to minimise."),
    "constraints": Array([], "Constraints, e.g. coverage(male) <= coverage(female) / kappa.", items={"type": "string"}),
    **PARAMETER_OPTIONS,
    "candidates": Array([{"model": "logistic", "l2": None}],
        "Classifiers to choose from, each a model with its options, several by a sweep: of rows, labels and weights "
        "(then thresholds keep the constraints), or of constraints. The first is taken unless another one is clearly better.",
        items={"type": "object", "x-component-with-options": ["model", "model"],
            "properties": {"sweep": {"type": "object", "additionalProperties": {"type": "array", "minItems": 1}}}},
        minItems=1),
    "folds": Integer(5, "Parts of the rows, each of which judges fits to the others.", minimum=2),
    **CONFIDENCE_OPTIONS,
    **REPAIR_OPTIONS,
    "on_infeasible": Choice("raise", ["raise", "keep"],
        "When constraints contradict each other on the rows of the fit: stop, or keep what misses them least."),
}  # fmt: skip
LABEL = "Chosen by cross-validation"
RULE = "deterministic"
log = logging.getLogger("counterweight")
#: Chances nearer to 0 and 1 than this are taken for it.
EDGE = 1e-6
#: Another candidate than the first is taken that is better by so many standard errors, of what the
#: two differ in: by the log loss among classifiers of the outcome, then by the objective.
CLEAR = 1.0
#: A candidate under constraints that is behind the best one by so many in some folds is given up.
HOPELESS = 0.0
#: Lengths of tilts and rounds where bounds have margins, which are to move them by little.
FINE = (0.025, 0.05, *TILTS), 4
#: Lengths of such a tilt, of which a fit to some rows takes one, as parts of the one before.
LENGTHS = (1.0, 0.9, 1.1, 0.8, 1.25)
#: Begins the names of the arrays of each part, with its number.
PART = "part{}_"
#: Rows that choose: of more, an even share of every data set and class.
ASKED_ROWS = 20_000


class Part(NamedTuple):
    """A learner: its number among all settings, the candidate it is of, model, and options."""

    number: int
    candidate: int
    model: str
    options: dict

    @property
    def constrained(self):
        """Whether it is fitted under constraints."""
        return hasattr(load("model", self.model), "SAMPLED")


class Curves(NamedTuple):
    """What a yes adds to each of m constraints, as d features tell it.

    A rate counts rows of a kind: of a group, with an outcome, with another decision before. What is
    expected of it is `amounts` (m, Q) times the chances of Q kinds, by `coef` (Q, d) and `level`
    (Q,): that a row is of a small group, or was refused before, is no line of its features.
    """

    coef: np.ndarray
    level: np.ndarray
    amounts: np.ndarray

    @classmethod
    def of(cls, X, slopes, rows=b"", known=None):
        """Fitted to what a yes to each row adds (m, n): a regression of each kind, bent after.

        `known`, a dict, keeps it for the next call by the bytes of the `rows` that X holds.
        """
        kinds, m = {}, len(slopes)
        amounts = np.zeros((m, 2 * m))
        for sign, (j, slope) in itertools.product((1, -1), enumerate(slopes)):
            side = np.maximum(sign * slope, 0.0)
            if (top := side.max()) > 0:
                share = (side / top).round(DECIMALS)
                kind, _ = kinds.setdefault(share.tobytes(), (len(kinds), share))
                amounts[j, kind] = sign * top
        shares = np.array([share for _, share in kinds.values()]).reshape(-1, len(X))
        found = [] if known is None else known.setdefault((rows, *map(hash, kinds)), [])
        lines = RidgeModel.of_several(X, shares) if kinds and not found else []
        X, shares = X[:ASKED_ROWS], shares[:, :ASKED_ROWS]
        for line, share in zip(lines, shares, strict=False):
            # As chances of two normal kinds of one spread go by the line of their regression.
            size = 1 / max(share.mean() * (1 - share.mean()), EDGE)
            told = size * line.predict(X)[:, None], share, np.ones(len(X))
            (bend,), level = fitted_factors(*told, True)
            found.append([*(bend * size * line.coef_), bend * size * line.intercept_ + level])
        found = np.reshape(found, (len(shares), X.shape[1] + 1))
        return cls(found[:, :-1], found[:, -1], amounts[:, : len(kinds)])

    def predict(self, X):
        """What is expected of rows, (m, n)."""
        return self.amounts @ expit(self.coef @ X.T + self.level[:, None])


@dataclass
class Rule:
    """A way to score rows: parts, each times a factor, and a constant; their names.

    `scores` (n,) are those of the rows by fits that have not seen them (`raw` before any tilt);
    `tilt` are the shares of each of the `lines` (m, n) that is taken off; `decided` (n,) what comes
    of it, with its `cost`, mean log `loss`, and the sum that it misses constraints by, `missed`.
    """

    name: str
    parts: list
    factors: np.ndarray
    constant: float
    scores: np.ndarray
    raw: np.ndarray = None
    lines: np.ndarray = None
    tilt: np.ndarray = None
    decided: np.ndarray = None
    cost: float = np.nan
    missed: float = np.nan
    loss: float = np.nan

    @property
    def key(self):
        """By which rules are compared: who keeps constraints goes first."""
        return round(self.missed, 12), self.cost


def expanded(candidates):
    """The learners among candidates, each setting of a sweep one."""
    found = []
    for candidate, entry in enumerate(candidates):
        options = {key: told for key, told in entry.items() if key not in ("model", "sweep")}
        for setting in settings(entry.get("sweep") or {}):
            found.append(Part(len(found), candidate, entry["model"], options | setting))
    return found


@dataclass(eq=False, repr=False)
class ChosenClassifier(MarginFit, RepairedDecisions, RateEstimator):
    """The best of several classifiers under constraints, by rows that they were not fitted to.

    Each candidate is fitted to all folds but one and scores that one. Candidates that learn from
    rows, labels and weights give log odds; several of these are combined, too, with factors from 0
    up. All scores then get the thresholds of least cost by which the constraints hold on the
    held-out rows, for everybody or by group (`repair`); where one threshold for everybody has to
    keep promises about groups, the score is first tilted along what the features tell of these
    (the expectation, given the features, of what a yes adds to each constraint), as the best rule
    that does not see the groups is. What costs least is fitted to all rows. Its thresholds keep the
    constraints on these and, by the fits that had not seen them, on rows held out.

    Without `confidence` nothing is promised for new rows: held-out rates had a say.

    Attributes
    ----------
    chosen_ : str
        What was taken.
    held_out_ : list of tuple
        Of each rule: name, objective on held-out rows where constraints are kept there, what it
        misses these by in sum, whether it was taken.
    candidate_costs_ : ndarray (K + 1, 3)
        The same of the best setting of each candidate, the combined ones last; NaN of what was not
        judged.
    candidate_losses_ : ndarray (K + 1,), mean log losses there, NaN of those under constraints
    tilt_, tilt_constant_, tilt_amounts_ : ndarray (Q, d), (Q,), (Q,)
        What is taken off the score: Q chances, by coefficients and a constant, times an amount.
    constraint_checks_, thresholds_, threshold_groups_, repair_
        See `RepairedDecisions`.
    margins_, held_out_checks_, certified_, certificate_
        See `MarginFit`; both lines of the margins are of decisions.
    """

    candidates: tuple = ({"model": "logistic", "l2": None},)
    folds: int = 5
    on_infeasible: str = "raise"

    FITTED = {
        **own("factors", "constant", "part_numbers", "tilt", "tilt_constant", "candidate_costs"),
        **own("tilt_amounts", "candidate_losses"),
        **STORED,
    }
    NUMBERS = {"constant": float} | STORED_NUMBERS
    #: All of it, since arrays of parts have names of their own.
    KEPT = None
    FITTED_BY = "factors_"
    _options = {name: node for name, node in OPTIONS.items() if name != "candidates"}
    _has_chances = False
    #: Estimates are chances of the outcome, which decide by thresholds.
    ESTIMATES = True
    _rule = _unseen = _expected = _first = _own = _fold = _seen_raw = _made = None

    def _learn_all(self, samples, rng):
        self._fold = samples.folds(self.folds, copy.deepcopy(rng), self.constraints)
        self._rule, self._rules, self._made, self._tilted, self._fits = None, {}, {}, {}, {}
        self._boxes = {}
        super()._learn_all(samples, rng)
        self._rules, self._made, self._fits, self._boxes = {}, {}, {}, {}
        self._first = self._own = self._fold = self._seen_raw = None
        self.feasible_ = self.feasible_ and not (self.repair_ or {}).get("missed")

    def _fit(self, samples, rng):
        """Choose once, fit what was chosen; refuse constraints that no classifier can meet, unless
        what misses them least is to be kept."""
        problem = self._repair_problem(samples)
        self.constraints_, self.feasible_, self.infeasibility_ = problem.names, True, ""
        X = dense(samples.X)
        rows = samples.main.tobytes()
        if self._rule is None:
            self._check_possible(problem)
            asked, judged, fold = samples, problem, self._fold
            if samples.main.sum() > ASKED_ROWS:
                parts = int(np.ceil(samples.main.sum() / ASKED_ROWS))
                asked = samples.only(samples.folds(parts, copy.deepcopy(rng)) == 0)
                fold = asked.folds(self.folds, copy.deepcopy(rng), self.constraints)
                judged = self._repair_problem(asked)
            try:
                self._choose(X, asked, judged, fold, rng)
            except CounterweightError as error:
                if not isinstance(error.__cause__, UndefinedRate):
                    raise
                raise CounterweightError(
                    f"{error} Each of the {self.folds} parts of the rows by which classifiers are "
                    "chosen needs some of it."
                ) from error
            self._rules[asked.main.tobytes()] = self._rule, self._expected
        if rows not in self._rules:
            self._rules[rows] = self._crossed_again(X, samples, problem, rng)
        rule, self._expected = self._rules[rows]
        if self._first is None:
            self._first = samples, problem, rule, self._expected
        self.factors_, self.constant_ = rule.factors, rule.constant
        self.part_numbers_ = np.array([part.number for part in rule.parts])
        if rows not in self._made:
            models = [self._fitted_part(part, X, samples, rng) for part in rule.parts]
            self._made[rows] = models, self._lines(X, samples, problem) if self._tilts else []
        self.models_, lines = self._made[rows]
        self._own = rule, lines, problem.bounds
        self._take(rule)

    def _take(self, rule):
        """Its scores of rows that were not seen, and what is taken off the score of new ones."""
        self._unseen = rule.scores
        self.tilt_ = np.zeros((0, self.n_features_in_))
        self.tilt_constant_ = self.tilt_amounts_ = np.zeros(0)
        if rule.tilt.any():
            curves = self._own[1]
            amounts = rule.tilt @ curves.amounts
            used = amounts != 0
            self.tilt_, self.tilt_constant_ = curves.coef[used], curves.level[used]
            self.tilt_amounts_ = amounts[used]

    def _repair(self, samples, problem=None):
        """Tilt and thresholds go together, by the margins that the bounds of a problem have.

        The tilt is as long as is best for both by the fits that had not seen the rows and by this;
        where no length keeps constraints that have no margins by this fit, another one is sought.
        """
        rule, curves, bounds = self._own
        problem = self._repair_problem(samples) if problem is None else problem
        # Other numbers of bounds are of rows that judge, too, which have no margins.
        if self._tilts and len(problem.names) and len(problem.bounds) == len(bounds):
            tilt = self._tilt_for(rule, bounds - problem.bounds)
            X, costed = dense(samples.X), problem.costing(self._expected)
            raw, along = self._raw(X), curves.predict(X)
            if tilt.any():
                raws, lines = np.append(rule.raw, raw), np.hstack([rule.lines, along])
                both = Repairs(self._twice(costed))
                keys = [both.of(raws - length * tilt @ lines).key for length in LENGTHS]
                tilt = LENGTHS[keys.index(min(keys))] * tilt
            exact = (problem.bounds == bounds).all()
            if exact and len(repaired(raw - tilt @ along, costed).missed):
                seen = replace(rule, scores=raw)
                judge(seen, problem, costed, None, along, True, *FINE, tilt)
                tilt = seen.tilt
            self._take(replace(rule, tilt=tilt, scores=rule.raw - tilt @ rule.lines))
        super()._repair(samples, problem)

    def _tilt_for(self, rule, margins):
        """What the score of a rule is tilted by for bounds less margins.

        Tilts are chosen on the rows of the first fit, so that fits to parts of them differ in what
        they learned, not in a choice among few values.
        """
        key = tuple(np.round(margins, DECIMALS))
        if not any(key):
            return rule.tilt
        if key not in self._tilted:
            first, of, one, expected = self._first
            tight = of._replace(bounds=of.bounds - margins)
            one = replace(one, scores=one.raw)
            near = [rule.tilt, *self._tilted.values()][-1]
            self._weigh(one, first, tight, expected, one.lines, *FINE, near)
            self._tilted[key] = one.tilt
        return self._tilted[key]

    def _check_possible(self, problem):
        """Refuse constraints that contradict each other."""
        raw = problem.positive[1:], problem.negative[1:], problem.constants[1:] - problem.bounds
        proof = prove_infeasible(*raw) if len(problem.names) else None
        if proof is None or proof.least_violation <= PROVED:
            return
        named = [problem.names[j] for j in np.flatnonzero(proof.multipliers > 0)]
        clash = "contradict each other" if len(named) > 1 else "asks for what cannot be"
        self.feasible_, self.infeasibility_ = (
            False,
            f"The constraints cannot be met: {' and '.join(named)} {clash} on the training rows, "
            f"where the violations of any classifier, linear or not, sum to at least "
            f"{proof.least_violation:.4g}. Loosen one of them.",
        )
        if self.on_infeasible == "raise":
            raise CounterweightError(self.infeasibility_)

    # Candidates.

    def _choose(self, X, samples, problem, fold, rng):
        """The rule that does best on rows that its fits have not seen."""
        seen, parts = labeled_rows(samples), expanded(self.candidates)
        lines = self._crossed_lines(X, samples, problem, fold) if self._tilts else None
        told = X, samples, seen, fold, rng
        with _quiet():
            rules = [self._crossed_chances(p, *told) for p in parts if not p.constrained]
            if len(rules) > 1:
                rules.append(_combined(rules, samples, seen))
            self._expected = None
            if rules:
                self._expected = self._expected_costs(samples, problem, expit(rules[-1].scores))
            judged = samples, problem, self._expected, lines
            first = _first(rules, samples, seen) if rules else None
            for rule in rules:
                self._weigh(rule, *judged)
            for part in (part for part in parts if part.constrained):
                rival = _best(rules, first, problem) if rules else None
                for rule in self._crossed_fits(part, *told, rival, problem):
                    self._weigh(rule, *judged)
                    rules.append(rule)
        self._rule = best = _best(rules, first or rules[0], problem)
        self.chosen_ = best.name
        self.held_out_ = [(r.name, r.cost, r.missed, r is best) for r in rules]
        told = np.full((len(self.candidates) + 1, 4), np.nan)
        for rule in sorted(rules, key=lambda rule: (rule is best, *(-at for at in rule.key))):
            at = rule.parts[0].candidate if len(rule.parts) == 1 else len(self.candidates)
            told[at] = rule.cost, rule.missed, rule is best, rule.loss
        self.candidate_costs_, self.candidate_losses_ = told[:, :3], told[:, 3]
        log.info("chosen on held-out rows: %s", best.name)

    def _crossed_again(self, X, samples, problem, rng):
        """What was chosen, for other rows: scores of fits to parts of these, and what they cost.

        The parts are those of the whole table, so that fits without two of them serve both.
        """
        fold, seen = self._fold, labeled_rows(samples)
        lines = self._crossed_lines(X, samples, problem, fold) if self._tilts else None
        told, expected = (X, samples, seen, fold, rng), None
        with _quiet():
            if self._rule.parts[0].constrained:
                (rule,) = self._crossed_fits(self._rule.parts[0], *told, None, problem)
            else:
                rules = [self._crossed_chances(part, *told) for part in self._rule.parts]
                rule = _combined(rules, samples, seen) if len(rules) > 1 else rules[0]
                expected = self._expected_costs(samples, problem, expit(rule.scores))
            self._weigh(rule, samples, problem, expected, lines)
        return rule, expected

    def _weigh(self, rule, samples, problem, expected, lines, *how):
        """Tilt a rule and tell what it costs; see `judge`."""
        told = problem.costing(expected), self._parted(samples)[1], lines, self.repairs_
        judge(rule, problem, *told, *how)

    def _crossed_fits(self, part, X, samples, seen, fold, rng, rival, problem):
        """Rules of a candidate under constraints: one for each value of what it leaves open.

        Those that are behind a `rival` in some folds are not fitted to more.
        """
        component, options = load("model", part.model), dict(part.options)
        tried = choices_of(component, component(**options).get_params(), int(seen.sum()))
        found = []
        for setting in settings(tried):
            own = part._replace(options=options | setting)
            rule = Rule(_named(own, setting), [own], np.ones(1), 0.0, np.zeros(len(X)))
            for k in range(self.folds):
                held = fold == k
                model = self._fitted_part(own, X, samples.only(~held), rng, judged=False)
                rule.scores[held] = model.decision_function(X[held])
                if rival and _clearly(rival.decided, rule.scores > 0, problem, fold <= k, HOPELESS):
                    break
            else:
                found.append(rule)
        return found

    def _crossed_chances(self, part, X, samples, seen, fold, rng):
        """The rule of a classifier of the outcome, what it leaves open chosen by the log loss."""
        component, options = load("model", part.model), dict(part.options)
        class_within(part.model, "chosen under constraints")
        given = component(**options)
        if hasattr(component, "settled"):
            options |= given.settled(X[seen], samples.y[seen], samples.weight[seen])
        tried = choices_of(component, given.get_params(), int(seen.sum()))
        answers, losses = {}, {}
        for k in range(self.folds):
            held, rows = fold == k, seen & (fold != k)

            def fitted(options, rows=rows):
                return self._fitted_once(part._replace(options=options), X, samples, rows, rng)

            found = held_out_answers(component, options, tried, fitted, X[held])
            if len(np.unique(samples.y[rows])) < 2:  # nothing can be learned of the other class
                share = np.average(samples.y[seen] == 1, weights=samples.weight[seen])
                found = ((setting, np.full(held.sum(), share)) for setting in settings(tried))
            for setting, p in found:
                key = tuple(setting.items())
                score = answers.setdefault(key, np.zeros(len(X)))
                score[held] = logit(np.clip(p, EDGE, 1 - EDGE))
                own = seen[held]
                y, f = samples.y[held][own], score[held][own]
                loss = samples.weight[held][own] @ (np.logaddexp(0, f) - y * f)
                losses[key] = losses.get(key, 0.0) + loss
            best = min(losses, key=losses.get)
            tried = narrowed(component, tried, dict(best)) if seen[held].any() else tried
            losses = {key: losses[key] for key in (tuple(s.items()) for s in settings(tried))}
        own = part._replace(options=options | dict(best))
        return Rule(_named(own, {}), [own], np.ones(1), 0.0, answers[best])

    def _fitted_part(self, part, X, samples, rng, judged=True):
        component, rng = load("model", part.model), copy.deepcopy(rng)
        if part.constrained:
            known = component(**part.options).get_params()
            asked = ("objective", "constraints", "kappa", "target")
            shared = {name: getattr(self, name) for name in asked}
            shared |= {"repair": "none", "on_infeasible": "keep"}
            shared = {name: told for name, told in shared.items() if name in known}
            model = component(**part.options | shared)
            model._judged_here, model._told = judged, self._boxes
            with _quiet():
                return model.fit(samples=samples, rng=rng)
        return self._fitted_once(part, X, samples, labeled_rows(samples), rng)

    def _fitted_once(self, part, X, samples, rows, rng):
        """A classifier fitted to some rows, once, and for all lengths of a path."""
        component, options = load("model", part.model), dict(part.options)
        path = getattr(component, "PATH", None)
        size = options.pop(path, None)
        key = part.model, repr(sorted(options.items())), rows.tobytes()
        longest, model = self._fits.get(key, (None, None))
        if model is None or (size or 0) > (longest or 0):
            told = X[rows], samples.y[rows].astype(int), samples.weight[rows]
            model = component(**part.options).fit(*told, rng=copy.deepcopy(rng))
            self._fits[key] = size, model
        return model if path is None or size == self._fits[key][0] else model.shortened(size)

    def _expected_costs(self, samples, problem, chance):
        """What a yes and a no are expected to cost at a chance of the outcome: (2, n), or None.

        Fewer rows are needed to tell a threshold by these than by the outcomes themselves. Not for
        objectives whose shares are of the rows with an outcome of one kind.
        """
        seen, sides = samples.y >= 0, []
        for y in (0, 1):
            other = copy.copy(samples)
            other.y = np.where(seen, y, samples.y).astype(samples.y.dtype)
            try:
                one = compile_rates(self.objective, [], other, self._numbers())
            except CounterweightError:
                return None
            sides.append(np.array([one.positive[0], one.negative[0]]))
        total = (problem.positive[0] + problem.negative[0]).sum()
        if not np.allclose([one.sum() for one in sides], total):
            return None
        return (1 - chance) * sides[0] + chance * sides[1]

    @property
    def _tilts(self):
        return self.repairs_ and self.repair == "everyone"

    def _lines(self, X, samples, problem, rows=True):
        """What a yes adds, by some `rows`, in units of all samples: scores less this compare."""
        inside = np.logical_or.reduce([samples.main, *samples.members.values()])
        slopes, rows = (problem.positive - problem.negative)[1:] * inside.sum(), rows & inside
        return Curves.of(X[rows], slopes[:, rows], rows.tobytes(), self._made)

    def _crossed_lines(self, X, samples, problem, fold):
        lines = np.zeros((len(problem.names), len(X)))
        for k in range(self.folds):
            rows = fold != k
            lines[:, ~rows] = self._lines(X, samples, problem, rows).predict(X[~rows])
        return lines

    # Decisions.

    def _thresholds(self, scores, problem, parts):
        """Thresholds by which constraints hold by fits that had not seen the rows, and by this one.

        Where these cannot be had together, those of this one.
        """
        unseen = self._unseen
        if unseen is None:
            return repaired(scores, problem, parts)
        twice = None if parts is None else np.append(parts, parts)
        costed = problem.costing(self._expected)
        found = repaired(np.append(unseen, scores), self._twice(costed), twice)
        if len(found.missed):
            return repaired(scores, problem, parts)
        fixed, m = problem.constants.copy(), len(problem.bounds)
        fixed[1:] -= problem.bounds
        of_row = found.thresholds[np.zeros(len(scores), int) if parts is None else parts]
        told = []
        for threshold in (0.0, of_row):
            yes = (scores > threshold).astype(float)
            told.append(problem.positive @ yes + problem.negative @ (1 - yes) + fixed)
        before, after = told
        return Repair(found.thresholds, found.excess[m:], before[1:], after[0], before[0])

    def _twice(self, problem):
        """Constraints on rows by two scores each, and what the first ones cost."""
        many = {}
        for side in ("positive", "negative"):
            costs = getattr(problem, side)
            first = np.hstack([costs, np.zeros_like(costs)])
            second = np.hstack([np.zeros_like(costs), costs])[1:]
            many[side] = np.vstack([first, second])
        return problem._replace(
            **many,
            constants=np.append(problem.constants, problem.constants[1:]),
            bounds=np.append(problem.bounds, problem.bounds),
            names=[*problem.names, *problem.names],
        )

    def decision_function(self, X):
        """The score before any threshold, (n,): log odds, or the score of a machine."""
        X = dense(self._checked(X))
        told = X @ self.tilt_.reshape(-1, X.shape[1]).T + self.tilt_constant_
        if not self.tilt_amounts_.size:  # none, or a line, by an earlier version
            return self._raw(X) - told.sum(axis=1)
        return self._raw(X) - expit(told) @ self.tilt_amounts_

    def _raw(self, X):
        """The score before any tilt, (n,); on the way of a fit that of its rows is kept."""
        models, (seen, known) = self._fitted(), self._seen_raw or (None, None)
        if seen is not None and seen[0] is X and seen[1] is models:
            return known.copy()
        found = np.full(len(X), self.constant_)
        for factor, model in zip(self.factors_, models, strict=True):
            found += factor * _score(model, X)
        if self._own is not None:
            self._seen_raw = (X, models), found.copy()
        return found

    def answers(self, X, samples=None):
        """Decisions (n,), and the same as chances of a yes: nobody tosses a coin."""
        decided = self._above(self.decision_function(X), samples)
        return decided.astype(float), decided

    def predict_proba(self, X, samples=None):
        """Chances (n, 2) of the outcome, by the classifier that was chosen.

        Of one that is fitted under constraints, what stands for it: .5 plus its score.
        """
        X = dense(self._checked(X))
        p = _chance(self._raw(X), self._fitted())
        return np.column_stack([1 - p, p])

    # The saved form.

    def _fitted(self):
        """The classifiers, brought back from numbers when they are first needed."""
        if not hasattr(self, "models_"):
            parts = expanded(self.candidates)
            self.models_ = []
            for place, number in enumerate(np.ravel(self.part_numbers_).astype(int)):
                begins = PART.format(place)
                arrays = {
                    name.removeprefix(begins): values
                    for name, values in self._packed.items()
                    if name.startswith(begins)
                }
                part = parts[number]
                self.models_.append(stored_within(part.model, part.options, arrays))
        return self.models_

    def to_arrays(self):
        """Everything fitted, as arrays by name."""
        arrays = super().to_arrays()
        for place, model in enumerate(self._fitted()):
            begins = PART.format(place)
            arrays |= {begins + name: values for name, values in model.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays):
        """What predicts, from `to_arrays`, once the option `candidates` is as it was."""
        model = super().from_arrays(arrays)
        model._packed = dict(arrays)
        return model


@contextlib.contextmanager
def _quiet():
    """What is wrong with a candidate is told by what it costs."""
    was, log.disabled = log.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.disabled = was


def _score(model, X):
    """Log odds of classifiers of the outcome, scores of those under constraints; (n,)."""
    if hasattr(model, "SAMPLED"):
        return model.decision_function(X)
    return logit(np.clip(model.predict_proba(X)[:, 1], EDGE, 1 - EDGE))


def _chance(score, models):
    """The chance of the outcome that a score says; of a machine what stands for it."""
    if any(hasattr(model, "SAMPLED") for model in models):
        return np.clip(0.5 + score, 0.0, 1.0)
    return expit(score)


def _named(part, setting):
    """A candidate in words: what it says that is no default, and what was chosen."""
    usual = inspect.signature(load("model", part.model)).parameters
    told = {k: v for k, v in part.options.items() if k in usual and v != usual[k].default}
    told |= setting
    words = [f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in told.items()]
    return f"{part.model} ({', '.join(words)})" if words else part.model


def _combined(rules, samples, seen):
    """Classifiers of the outcome made one, by their chances for rows that they have not seen."""
    scores = np.column_stack([rule.scores for rule in rules])
    told = scores[seen], samples.y[seen].astype(float), samples.weight[seen]
    factors, constant = fitted_factors(*told, True)
    parts = [rule.parts[0] for rule in rules]
    return Rule("combined", parts, factors, constant, scores @ factors + constant)


def _clearly(first, second, problem, rows=slice(None), errors=CLEAR):
    """Whether decisions cost less than others, by some standard errors of the difference."""
    gain = ((problem.positive - problem.negative)[0] * (1.0 * second - first))[rows]
    return gain.sum() > errors * np.sqrt((gain**2).sum())


def _first(rules, samples, seen):
    """The first rule, or that with the least log loss if it is clearly less; each gets its own."""
    y, weight = samples.y[seen], samples.weight[seen]
    losses = [weight * (np.logaddexp(0, f) - y * f) for f in (one.scores[seen] for one in rules)]
    for rule, loss in zip(rules, losses, strict=True):
        rule.loss = loss.sum() / weight.sum()
    best = int(np.argmin([loss.sum() for loss in losses]))
    gain = losses[0] - losses[best]
    return rules[best if gain.sum() > CLEAR * np.sqrt((gain**2).sum()) else 0]


def _best(rules, first, problem):
    """The first rule, or the best that is clearly better, the more so where there are many."""
    errors = CLEAR * np.sqrt(2 * np.log(max(len(rules), 2)))
    for rule in sorted(rules, key=lambda rule: rule.key):
        clear = _clearly(rule.decided, first.decided, problem, errors=errors)
        if rule.missed < first.missed or (rule.missed == first.missed and clear):
            return rule
    return first
