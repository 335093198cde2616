"""Margins by which new rows keep constraints, too, and what rows that only judge show of them."""

import contextlib
import copy
import itertools
import logging
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from counterweight.errors import CounterweightError
from counterweight.fragments import Number
from counterweight.numerics.rates.language import rates
from counterweight.numerics.rates.limits import (
    BOUNDS,
    LOOSER,
    least_loosened,
    loosened_text,
    rows_needed,
    upper_limits,
)
from counterweight.numerics.rates.values import (
    ROUNDING,
    RULES,
    Constant,
    constant_rule,
    constraint_values,
    plain_constraints,
    ratio_base,
    verdicts_of,
)
from counterweight.numerics.rates.values import compile as compile_rates

CONFIDENCE_OPTIONS = {
    "confidence": Number(None,
        "Level at which constraints hold for new rows. Rules from careful to bold are tested on rows that did not fit "
        "them: held-out ones (held_out), else all by cross-fitting; null: nothing for chance.",
        minimum=0.5, below=1, null=True),
    "held_out": Number(0.0,
        "Share of the rows of each data set that only judge: the weights are fitted to the others. With confidence "
        "these rows certify by exact tests; alone they set the margins by which constraints hold on them; 0: none.",
        minimum=0, below=1),
}  # fmt: skip
log = logging.getLogger("counterweight")
#: Parts of cross-fitting, and how often margins are raised at most.
FOLDS, ROUNDS = 5, 8
#: Margins of the fits that held-out rows test, from careful to bold, in standard errors of these.
ROOMS = (6.0, 4.0, 2.8, 2.0, 1.4, 0.8, 0.0)
#: Margins of thresholds for each fit that held-out rows test.
BETWEEN = 4
#: The same of cross-fitting, in margins that its test needs on the average: of the fits, and of
#: thresholds from careful to bold.
CROSSED, THRESHOLDS = 1.1, (1.6, 1.4, 1.2, 1.1, 1.0, 0.9, 0.8)
#: Of the largest margin that any answers have, with which a fit is tried where no test can pass.
PART = 0.5
#: Steps of majorisation-minimisation of fits with a confidence, at most: there are many.
STEPS = 4
#: Times the rows at hand that are still told as what constraints would take.
MOST = 1000
#: A margin is raised by so much more than what is missed, so that few rounds do.
BEYOND = 1.05


class Trivial(NamedTuple):
    """The best rule that uses no columns beside a classifier of an objective, on some rows.

    `rule` keeps the constraints, where any such rule does; `free` is the best of all.
    """

    rule: Constant
    cost: float
    rows: str
    free: Constant

    @classmethod
    def of(cls, problem, cost, rows):
        """Beside a classifier of this `cost`, by a `Problem` of these rows."""
        free = problem._replace(bounds=np.full(len(problem.bounds), np.inf))
        return cls(constant_rule(problem), cost, rows, constant_rule(free))

    @property
    def behind(self):
        """Whether the classifier is no better."""
        return bool(self.cost >= self.rule.cost - ROUNDING)


class Shown(NamedTuple):
    """What rows that judge show of constraints for new rows.

    All constraints are kept if looser by `share` (0 as asked; None: none is shown), as `texts` say;
    `rows` judged. About `needed` rows would show them as asked, infinite where none would.
    `stable`: whether the fit to all rows is like those to parts of them, which speak for it. `by`:
    the constraint that needs the most rows, by its place; None where none needs more.
    """

    share: float | None
    texts: tuple
    rows: int
    needed: float
    stable: bool = True
    by: int | None = None


def most_room(problem, margins):
    """How many times given margins any answers have to all constraints at once; at most 100.

    A linear program over kinds of rows: what a yes to them does to the constraints of a `Problem`.
    """
    from scipy.optimize import linprog

    slope = (problem.positive - problem.negative)[1:]
    fixed = problem.negative.sum(axis=1)[1:] + problem.constants[1:]
    kinds, counts = np.unique(slope.round(15), axis=1, return_counts=True)
    done = linprog(
        np.append(np.zeros(len(counts)), -1.0),
        np.column_stack([kinds, margins]),
        problem.bounds - fixed,
        bounds=[*((0, count) for count in counts), (0, 100)],
    )
    return 0.0 if done.x is None else float(done.x[-1])


@dataclass
class Judged:
    """Answers of rows by fits that did not see them: chances and decisions (n,).

    `seen` (2, m) is the excess on the rows of these fits, by both rules, `cost` the objective
    there; both are means over fits. `kept`: all of them kept the constraints with their margins.
    """

    answers: tuple
    seen: np.ndarray
    cost: float = 0.0
    kept: bool = True


@dataclass(eq=False, repr=False)
class MarginFit:
    """Fits with margins; for classifiers with `_fit`, `_repair` and ``_margins`` in their bounds.

    The rows that chose the weights flatter: on them a constraint holds exactly, on new rows it is
    broken every other time, and by more than chance. So a bound gamma becomes gamma less a margin.

    - ``held_out`` with ``confidence``: the held-out rows only test. Fits to the others, with
      margins from careful to bold, and thresholds between these, stand in a line that is fixed
      before; each is tested at the whole level, up to the first that fails (a fixed sequence,
      Angelopoulos et al. 2021), and for each constraint, so that neither many rules nor many
      constraints cost anything (Berger 1982). The last that passes is certified: that it breaks
      any constraint on new rows has at most the chance 1 - confidence. Tests are those of
      `upper_limits`.
    - ``confidence`` alone: the same tests on all rows, by cross-fitting. Each row is judged by fits
      to the other four fifths, with the same margins; the rule that passes is fitted to all rows.
      It has the same rates up to terms of the order 1/n, so that this level is one for many rows.
    - ``held_out`` alone: two data sets, after Cotter et al. (2019). Weights are fitted to the other
      rows, and margins raised until the constraints hold on the held-out rows as measured there.

    Where no rule passes, the most careful one is given for which fits to parts of the rows speak,
    and what it is shown to keep: the constraints looser by the least share that the same test
    shows, and how many rows would do.
    Rows are taken to be drawn independently, new ones as these; where they depend on each other, or
    new ones differ, violations are more frequent.

    Attributes
    ----------
    line_ : list of (float or None, float)
        Of each rule that was looked at, the least share by which looser constraints (below 0:
        stricter ones) are shown by it alone, and its objective, on the rows that judge.
    margins_ : ndarray (2, m)
        By which each bound was kept, deterministic and randomised, in units of the constraint.
    held_out_checks_ : list of ConstraintCheck
        Each constraint on the rows that judge; empty without them.
    certified_ : bool
        Whether these show at the level `confidence` that new rows keep all constraints: by the
        decisions, by chances where decisions are not repaired.
    shown_ : Shown or None
        What was shown, where a confidence was asked for.

    References
    ----------
    Angelopoulos, Bates, Candes, Jordan & Lei (2021), Learn then test.
    Bayle, Bayle, Janson & Mackey (2020), Cross-validation confidence intervals for test error.
    """

    confidence: float | None = None
    held_out: float = 0.0

    margins_ = np.zeros((2, 0))
    held_out_checks_ = line_ = ()
    certified_ = False
    shown_ = _margins = None
    #: Whether margins of chances move the fit; else there are thresholds only.
    _has_chances = True

    def _learn_all(self, samples, rng):
        plains = plain_constraints(self.constraints)
        self.held_out_checks_, self.certified_, self.shown_ = [], False, None
        self.line_ = []
        self.margins_, self._margins = np.zeros((2, len(plains))), None
        if not plains or (self.confidence is None and not self.held_out):
            super()._learn_all(samples, rng)
            return
        raised = getattr(self, "on_infeasible", None)
        judged = samples, None
        with self._on_the_way(raised):
            if self.held_out:
                judged = self._judged(samples, rng, plains)
            else:
                judged = samples, self._crossed(samples, rng, plains)
        if (self.repair_ or {}).get("missed"):
            warnings.warn(self.repairs_told_, UserWarning, stacklevel=3)
        missed = self.infeasibility_ if raised == "raise" and not self.feasible_ else ""
        if self._has_chances:
            self.excess_ = self.excess_ - self.margins_[1] * self._units(plains, samples)
            missed = missed if (self.excess_ > ROUNDING).any() else ""
        if missed:
            raise CounterweightError(missed)
        self._check_training(samples)
        if self.confidence is not None:
            self._show(samples, *judged, plains)
        for sentence in self.warnings_:
            log.warning("%s", sentence)

    @contextlib.contextmanager
    def _on_the_way(self, raised):
        """What is wrong with a fit on the way is not wrong with the last one."""
        was, log.disabled, steps = log.disabled, True, getattr(self, "steps", None)
        if steps and self.confidence is not None:
            self.steps = min(steps, STEPS)
        if raised:
            self.on_infeasible = "keep"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                yield
        finally:
            self._margins, log.disabled = None, was
            if steps:
                self.steps = steps
            if raised:
                self.on_infeasible = raised

    def _units(self, plains, samples):
        """Factors (m,) from a constraint as it is written to the coefficients of the problem.

        Other than 1 for precision and F-measure only, which are multiplied out.
        """
        factors = np.ones(len(plains))
        for j, plain in enumerate(plains):
            one = [*rates(plain.left), *rates(plain.right)]
            if len(one) == 1 and one[0].counted:
                factors[j] = ratio_base(one[0], self.answers(samples.X, samples)[0], samples)
        return factors

    def _fit_with(self, samples, rng, margins, units=1.0):
        """The same draws with other margins, so that fits differ by these alone."""
        self._margins = margins * units
        self._fit(samples, copy.deepcopy(rng))

    def _values(self, samples):
        """(2, m) excess and standard error by both rules, of rows of the table as they are cut."""
        return self._values_of(samples, *self.answers(samples.X, samples))

    def _values_of(self, samples, p, decided):
        values = constraint_values(p, decided, samples, self.constraints, self._numbers())
        return values[:, :, 2].T, values[:, :, 3].T

    def _errors(self, samples):
        """Standard errors (2, m), 0 where a rate is not defined, as precision of a no to all."""
        return np.nan_to_num(self._values(samples)[1], nan=0.0, posinf=0.0)

    def _judged(self, samples, rng, plains):
        """Two data sets: the rows that judged, and no answers but the rule's own."""
        held = samples.held_out(self.held_out, rng)
        fitted, judging = samples.only(~held), samples.only(held)
        self._clear_thresholds()
        try:
            compile_rates("coverage(everyone)", self.constraints, judging, self._numbers())
        except CounterweightError as error:
            raise CounterweightError(f"With held_out {self.held_out:g}: {error}") from error
        if self.confidence is None:
            self._matched(samples, fitted, judging, rng, plains)
            p, decided = self.answers(samples.X, samples)
            values = constraint_values(p, decided, judging, self.constraints, self._numbers())
            self.held_out_checks_ = verdicts_of(values, self.constraints, "held-out")
        else:
            self._tested(fitted, judging, rng, plains)
        return judging, None

    def _tested(self, fitted, judging, rng, plains):
        """The last rule of a line from careful to bold before the first that fails a test."""
        share, nothing = self.held_out, np.zeros((2, len(plains)))
        self._fit_to(fitted, rng, nothing, 1.0, plains)
        plain, units = dict(vars(self)), self._units(plains, fitted)
        error = self._errors(fitted) * np.sqrt((1 - share) / share)
        problem, found, careful, line = self._repair_problem(fitted), None, None, []
        most = most_room(problem, error.max(axis=0) * units)
        trivial = Trivial.of(problem, 0.0, "training")
        best, useful = trivial.rule.cost, trivial.free.cost
        for _ in self._rooms(fitted, rng, error, units, plains, most):
            cost = self._cost(fitted)
            if cost >= best - ROUNDING:
                continue  # no better than a more careful one, or than a constant answer
            best, now = cost, dict(vars(self))
            careful = now if careful is None and cost < useful else careful
            answered = self.answers(judging.X, judging)
            line.append(self._place(judging, answered))
            if found is not False and self._passes(judging, *answered):
                found = now
            elif found:
                break
            else:
                found = False  # what follows is bolder, and no longer tested
                if careful:
                    break
        vars(self).update(found or careful or plain)
        self.line_ = line

    def _rooms(self, fitted, rng, error, units, plains, most):
        """Margins of fits and thresholds, each set when it is asked for; those kept in the fit."""
        rooms = [room for room in ROOMS if room < most] if most < ROOMS[0] else [*ROOMS]
        for room, bolder in itertools.pairwise([*rooms, 0.0]):
            self._fit_with(fitted, rng, room * error[1], units)
            self.margins_ = room * error
            if not getattr(self, "feasible_", True):
                continue
            if not self.repairs_:
                yield room
                continue
            for between in np.linspace(room, bolder, BETWEEN if room else 1, endpoint=False):
                self.margins_ = np.array([between * error[0], room * error[1]])
                self._repair(fitted, self._tightened(fitted, self.margins_[0], plains))
                if not self.repair_["missed"]:
                    yield between

    def _passes(self, judging, p, decided):
        """Whether rows show that all constraints are kept."""
        return bool((self._limits(judging, p, decided)[:, 1, 0] <= ROUNDING).all())

    def _place(self, judging, answered):
        """The least share by which looser constraints are shown, and the objective, on rows."""
        limits = self._limits(judging, *answered, BOUNDS)[:, 1]
        return least_loosened(limits, BOUNDS), self._cost(judging, answered)

    def _limits(self, judging, p, decided, loosened=(0.0,)):
        """Excess and upper limits (m, 2, L) of the rule that promises are about."""
        predicted = decided if self.repairs_ and decided is not None else p
        asked = judging, self.constraints, self._numbers(), self.confidence, loosened
        return upper_limits(predicted, *asked)

    def _cost(self, samples, answered=None):
        """The objective of the rule that promises are about, on some rows."""
        p, decided = self.answers(samples.X, samples) if answered is None else answered
        yes = decided if self.repairs_ and decided is not None else p
        problem = self._repair_problem(samples)
        own = problem.positive[0] @ yes + problem.negative[0] @ (1.0 - yes)
        return float(own + problem.constants[0])

    def _matched(self, samples, fitted, judging, rng, plains):
        """Margins by which the constraints hold on the held-out rows as they are measured there."""
        margins, units = np.zeros((2, len(plains))), np.ones(len(plains))
        for _ in range(ROUNDS):
            self._fit_with(fitted, rng, margins[1], units)
            over = self._values(judging)[0][1]
            units = self._units(plains, fitted)
            if not (self._has_chances and (over > 0).any()):
                break
            margins[1] += np.where(over > 0, BEYOND * over + 1e-6, 0.0)
        if self.repairs_:
            margins[0] = self._repair_judged(samples, judging)
        self.margins_ = margins

    def _repair_judged(self, samples, judging):
        """Thresholds by which decisions hold on all rows, and on the held-out ones."""
        everyone, few = self._repair_problem(samples), self._repair_problem(judging)
        plains = plain_constraints(self.constraints)
        margins = np.zeros(len(plains))
        for _ in range(ROUNDS):
            tight = few.bounds - margins * self._units(plains, judging)
            both = everyone._replace(
                positive=np.concatenate([everyone.positive, few.positive[1:]]),
                negative=np.concatenate([everyone.negative, few.negative[1:]]),
                constants=np.concatenate([everyone.constants, few.constants[1:]]),
                bounds=np.concatenate([everyone.bounds, tight]),
                names=[*everyone.names, *(f"{name} (held-out rows)" for name in few.names)],
            )
            self._repair(samples, both)
            excess = self._values(judging)[0][0]
            if not (excess > 0).any():
                break
            # Beyond what these thresholds have, since there may be no others within a little more.
            margins = np.where(excess > 0, (BEYOND - 1) * excess + 1e-6, margins)
        return margins

    def _crossed(self, samples, rng, plains):
        """A rule fitted to all rows; gives its answers as fits to other rows have them."""
        z = float(ndtri(self.confidence))
        fold = samples.folds(FOLDS, copy.deepcopy(rng), self.constraints)
        self._clear_thresholds()
        self._fit_with(samples, rng, np.zeros(len(plains)))
        units, error = self._units(plains, samples), z * self._errors(samples)
        problem, careful, self.line_ = self._repair_problem(samples), [], []
        most = PART * most_room(problem, error.max(axis=0) * units)
        trivial = Trivial.of(problem, 0.0, "training")
        best, useful = trivial.rule.cost, trivial.free.cost
        flattered, fit, tested = np.zeros_like(error), min(CROSSED, most), most >= CROSSED
        for part in (1.0, 1.0, PART) if tested else (1.0, PART):
            margins = np.nan_to_num(flattered + fit * part * error)
            rooms = [flattered[0] + fit / CROSSED * part * room * error[0] for room in THRESHOLDS]
            found, usable, stopped = [], [], not tested or part < 1
            line = self._folds(samples, fold, rng, margins, units, plains, rooms)
            for own, judged in zip(rooms, line, strict=True):
                if not judged.kept or judged.cost >= best - ROUNDING:
                    continue
                one = np.array([own, margins[1]]), judged
                self.line_.append(self._place(samples, judged.answers))
                usable += [one] * (judged.cost < useful)
                stopped = stopped or not self._passes(samples, *judged.answers)
                found += [one] * (not stopped)
            careful = careful or usable
            if found or (careful and stopped and not tested):
                break
            values = self._values_of(samples, *line[-1].answers)
            flattered = np.maximum(values[0] - line[-1].seen, 0.0) if tested else flattered
        given = found[::-1] or careful
        if not given:
            margins = np.zeros((2, len(plains)))
            told = self._folds(samples, fold, rng, margins, units, plains, margins[:1])
            given = [(margins, told[0])]
        # The first for which fits to parts of the rows speak, by what they say of their own rows.
        for margins, judged in [*given, given[0]]:
            self._fit_to(samples, rng, margins, units, plains)
            if len(given) == 1 or self._stable(samples, judged):
                break
        return judged

    def _stable(self, samples, judged):
        """Whether the fit to all rows is like those to parts of them, by cost and constraints."""
        rule, cost = 0 if self.repairs_ else 1, self._cost(samples, judged.answers)
        error = 2 * np.sqrt(max(cost * (1 - cost), 0.0) / int(samples.main.sum()))
        limits = self._limits(samples, *judged.answers)[:, :, 0]
        apart = np.abs(self._values(samples)[0][rule] - judged.seen[rule])
        near = abs(self._cost(samples) - judged.cost) <= max(error, 1e-3 * abs(cost))
        return bool(near and (apart <= limits[:, 1] - limits[:, 0] + ROUNDING).all())

    def _folds(self, samples, fold, rng, margins, units, plains, rooms):
        """Answers to each fold by fits to the others, with thresholds of several margins."""
        n = len(samples)
        made = [Judged((np.zeros(n), np.zeros(n)), np.zeros((2, len(plains)))) for _ in rooms]
        for k in range(FOLDS):
            part, own = samples.only(fold != k), fold == k
            self._fit_with(part, rng, margins[1], units)
            feasible, values = getattr(self, "feasible_", True), None
            for room, judged in zip(rooms, made, strict=True):
                if self.repairs_ and not judged.kept and judged is not made[-1]:
                    continue  # nobody asks for these answers any more
                if self.repairs_:
                    self._repair(part, self._tightened(part, room, plains))
                    feasible = feasible and not self.repair_["missed"]
                elif values is not None:
                    continue
                p, decided = self.answers(samples.X, samples)
                decided = p > 0.5 if decided is None else decided
                values = self._values_of(part, p, decided)
                judged.answers[0][own], judged.answers[1][own] = p[own], decided[own]
                judged.seen += values[0] / FOLDS
                judged.cost += self._cost(part, (p, decided)) / FOLDS
                judged.kept = judged.kept and bool(feasible)
        return made if self.repairs_ else made[:1] * len(made)

    def _fit_to(self, samples, rng, margins, units, plains):
        """Weights and thresholds that keep the constraints with margins."""
        self.margins_ = np.nan_to_num(margins)
        self._fit_with(samples, rng, self.margins_[1], units)
        if self.repairs_:
            self._repair(samples, self._tightened(samples, self.margins_[0], plains))

    def _tightened(self, samples, margins, plains):
        problem = self._repair_problem(samples)
        return problem._replace(bounds=problem.bounds - margins * self._units(plains, samples))

    def _show(self, samples, judging, judged, plains):
        """What the rows that judge show of new ones, and what a rule says that sees nobody."""
        rows, rule = "held-out" if self.held_out else "cross-fitted", 0 if self.repairs_ else 1
        answered = self.answers(samples.X, samples) if judged is None else judged.answers
        values = constraint_values(*answered, judging, self.constraints, self._numbers())
        self.held_out_checks_ = verdicts_of(values, self.constraints, rows)
        limits, cost = self._limits(judging, *answered, LOOSER), self._cost(judging, answered)
        problem, in_fit = self._repair_problem(judging), self._values(samples)[0][rule]
        self.trivial_ = Trivial.of(problem, cost, rows)
        stable = judged is None or self._stable(samples, judged)
        share, used = least_loosened(limits[:, 1]) if stable else None, int(judging.main.sum())
        self.certified_ = share == 0.0
        needed = [
            rows_needed(len(samples), *one[:, 0], seen) if one[1, 0] > ROUNDING else 0.0
            for one, seen in zip(limits, in_fit, strict=True)
        ]
        texts = (
            []
            if share is None
            else [loosened_text(plain, share, self._numbers()) for plain in plains]
        )
        by = int(np.argmax(needed)) if max(needed) > 0 else None
        self.shown_ = Shown(share, tuple(texts), used, float(max(needed)), stable, by)

    @property
    def certificate_(self):
        """What rows that judge show of new ones, in a sentence."""
        if self.shown_ is None:
            why = "all rows had a say in the weights, and none is left to judge them."
            if self.held_out:
                why = "held-out rows set margins, and no confidence was asked for."
            return f"No certificate: {why}"
        level, rule = f"{self.confidence:.0%}", RULES[0 if self.repairs_ else 1]
        if not self.certified_:
            return f"Not certified at {level}: {self._not_shown()}"
        if self.held_out:
            return (
                f"Certified at {level}: held-out rows, which had no say in the weights, show that "
                f"new rows like them keep all {rule} constraints."
            )
        return (
            f"Certified at {level} by cross-fitting: rows judged by fits that did not see them "
            f"show that new rows like them keep all {rule} constraints. The classifier is fitted "
            "to all rows, so that this level is one for many rows; held_out has it for few."
        )

    def _not_shown(self):
        """What is shown in place of the constraints, and what it would take."""
        shown, rows = self.shown_, f"the {self.shown_.rows} rows that judge"
        if not shown.stable:
            return (
                "fits to parts of the rows are unlike the one to all, so that nothing speaks for "
                "it: give held_out, or loosen the constraints."
            )
        if shown.share is None:
            told = f"{rows} do not show that new rows keep all constraints, nor looser ones."
        else:
            told = (
                f"{rows} do not show that new rows keep all constraints. What they show is looser "
                f"by {shown.share:.0%}: {'; '.join(shown.texts)}."
            )
        if shown.needed <= MOST * shown.rows:
            return f"{told} As asked it would take some {rounded(shown.needed)} rows in all."
        return f"{told} No number of rows of any use would show them as asked by this rule."


def rounded(rows):
    """A number of rows to two digits, as text."""
    step = 10 ** max(int(np.floor(np.log10(max(rows, 1.0)))) - 1, 0)
    return f"{int(np.ceil(rows / step) * step):,}"
