"""Decisions of classifiers under constraints, and margins by which new rows keep these, too."""

import contextlib
import copy
import logging
import warnings
from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Number, Text
from counterweight.models.constraints.estimator import (
    PARAMETER_OPTIONS,
    RateEstimator,
    own,
    texts_of,
    two_columns,
)
from counterweight.models.constraints.thresholds import repaired
from counterweight.numerics.estimator import NamedColumns
from counterweight.numerics.rates.datasets import DataSets, named_masks
from counterweight.numerics.rates.language import BUILTIN_SETS, rates
from counterweight.numerics.rates.values import (
    RULES,
    constraint_values,
    plain_constraints,
    ratio_base,
    verdicts_of,
)
from counterweight.numerics.rates.values import compile as compile_rates

REPAIR_OPTIONS = {
    "repair": Choice("everyone", ["everyone", "by_group", "none"],
        "How deterministic decisions are brought to keep the constraints on the training rows: one shift of the "
        "threshold for everybody, one for each group (which then must be known of those to decide on), or not at all."),
    "groups": Array([],
        "Data sets whose members may have thresholds of their own (by_group); where none is named, those that the "
        "constraints name.", items={"type": "string"}),
}  # fmt: skip
CONFIDENCE_OPTIONS = {
    "confidence": Number(None,
        "Level at which constraints hold for new rows: bounds are kept with a margin from held-out rows (held_out), "
        "else from cross-fitting; null: none for chance.", minimum=0.5, below=1, null=True),
    "held_out": Number(0.0,
        "Share of the rows of each data set that only judge: the weights are fitted to the others, with the margins by "
        "which constraints hold on these; 0: none.", minimum=0, below=1),
}  # fmt: skip
OPTIONS = {
    "objective": Text("error(labeled)", "Sum of rates that thresholds make small where they must move."),
    "constraints": Array([], "Constraints, e.g. coverage(male) <= coverage(female) / kappa.", items={"type": "string"}),
    "above": Number(0.5, "A score above it is a yes, as long as constraints do not ask otherwise."),
    **PARAMETER_OPTIONS,
    **CONFIDENCE_OPTIONS,
    **REPAIR_OPTIONS,
}  # fmt: skip
LABEL = "Given scores"
RULE = "deterministic"
log = logging.getLogger("counterweight")
#: Scores are compared with thresholds after rounding to so many decimals.
DECIMALS = 12
#: Parts of cross-fitting, and how often margins are raised at most.
FOLDS, ROUNDS = 5, 8
#: By how many standard errors, of both parts of the rows, fits that held-out rows test have more
#: room than they need to pass: they pass in half of the cases, and in 93 %. Where the first of
#: these cannot be had, the most of `LESS` that can.
TRIED, LESS = (0.0, 1.5), (-0.75, -1.5)
#: A margin is raised by so much more than what is missed, so that few rounds do.
BEYOND = 1.05


def named_groups(options):
    """Data sets that thresholds of groups go by: named ones, else those of the constraints."""
    if options.get("groups"):
        return list(options["groups"])
    found = []
    for plain in plain_constraints(texts_of(options)):
        for rate in [*rates(plain.left), *rates(plain.right)]:
            found += [name for part in rate.sets for name in part if name not in BUILTIN_SETS]
    return list(dict.fromkeys(found))


@dataclass(eq=False, repr=False)
class RepairedDecisions(NamedColumns):
    """Decisions by thresholds that keep constraints where the scores alone do not.

    Attributes
    ----------
    thresholds_ : ndarray (A,)
        A positive decision is a score above it; 0 where nothing had to be repaired.
    threshold_groups_ : ndarray (A, G)
        Who has which threshold: 1 for members of each of `named_groups`; no columns for one
        threshold for everybody.
    repair_ : dict or None
        ``excess_before``, ``excess`` by constraint, ``cost_before`` and ``cost`` (the objective,
        deterministic, on the training rows), and ``missed``: constraints that no threshold of the
        family keeps.
    """

    objective: str = "error(labeled)"
    constraints: tuple = ()
    kappa: float | None = None
    target: float | None = None
    repair: str = "everyone"
    groups: tuple = ()

    repair_ = None

    def _clear_thresholds(self):
        self.thresholds_, self.threshold_groups_ = np.zeros(1), np.zeros((1, 0))

    def _settle(self, samples):
        self._repair(samples)
        super()._settle(samples)

    @property
    def repairs_(self):
        """Whether decisions may differ from the sign of the score."""
        return self.repair != "none" and bool(texts_of(vars(self)))

    def _repair(self, samples, problem=None):
        """Find thresholds for the training rows, or for coefficients that are given."""
        self._clear_thresholds()
        self.repair_ = parts = None
        if not self.repairs_:
            return
        scores = self.decision_function(samples.X)
        problem = self._repair_problem(samples) if problem is None else problem
        names = named_groups(vars(self)) if self.repair == "by_group" else ()
        if names:
            members = np.column_stack([samples.mask(((name,),)) for name in names])
            found, parts = np.unique(members, axis=0, return_inverse=True)
            self.threshold_groups_, parts = found.astype(float), parts.ravel()
        found, names = repaired(scores, problem, parts), problem.names
        self.thresholds_ = found.thresholds
        self.repair_ = {
            "excess_before": dict(zip(names, found.before.tolist(), strict=False)),
            "excess": dict(zip(names, found.excess.tolist(), strict=False)),
            "cost_before": found.cost_before,
            "cost": found.cost,
            "missed": [names[j] for j in found.missed],
        }
        if len(found.missed):
            warnings.warn(self.repairs_told_, UserWarning, stacklevel=4)

    def _repair_problem(self, samples):
        """Objective and constraints as coefficients on some rows."""
        return compile_rates(self.objective, texts_of(vars(self)), samples, self._numbers())

    @property
    def repairs_told_(self):
        """What the repair of decisions did, in a sentence; nothing where there was none."""
        done = self.repair_
        if not done or not any(over > 0 for over in done["excess_before"].values()):
            return ""
        by_group = self.repair == "by_group"
        who = "Thresholds of groups" if by_group else "One threshold for everybody"
        over = [f"{name} by {done['excess'][name]:.4g}" for name in done["missed"]]
        what = f"keep{'' if by_group else 's'} all constraints in deterministic decisions"
        if over:
            what = (
                "cannot keep all constraints in deterministic decisions: what is missed least is "
                f"{listed(over, 20)}"
            )
        return (
            f"{who} {what}; the deterministic objective on the training rows goes from "
            f"{done['cost_before']:.4g} to {done['cost']:.4g}."
        )

    def _thresholds_for(self, rows, samples):
        """The threshold of each row: a number, or (n,) where groups have their own."""
        names = named_groups(vars(self)) if self.repair == "by_group" else []
        thresholds = np.ravel(getattr(self, "thresholds_", 0.0))
        if not thresholds.any():
            return 0.0
        if not names:
            return float(thresholds[0])
        if samples is None or len(samples) != rows:
            raise CounterweightError(
                "Thresholds of groups need the groups of each row to decide: give datasets, with a "
                f"mask over these {rows} rows for each of {listed(names)}."
            )
        missing = [name for name in names if name not in samples.members]
        if missing:
            raise CounterweightError(
                f"The rows to decide on have no data set {listed(missing)}; they have "
                f"{listed(samples.members) or 'none'}."
            )
        members = np.column_stack([samples.members[name] for name in names])
        # Combinations of groups that no training row was in keep the score's own sign.
        of_row = np.zeros(rows)
        known = np.reshape(self.threshold_groups_, (len(thresholds), len(names))) > 0.5
        for part, threshold in zip(known, thresholds, strict=True):
            of_row[(members == part).all(axis=1)] = threshold
        return of_row

    def answers(self, X, samples=None):
        """Chances of a yes (n,), and decisions (n,) or None where they go by the score's sign."""
        scores = self.decision_function(X)
        decided = self._above(scores, samples) if self.repairs_ else None
        return self._randomised(scores)[:, 1], decided

    def _above(self, scores, samples):
        # Rounded, so that no decision hangs on the order in which a score was added up.
        return np.round(scores - self._thresholds_for(len(scores), samples), DECIMALS) > 0

    def predict(self, X, samples=None, datasets=None):
        """The deterministic classifier: the second class where f is above the threshold.

        `samples`, or `datasets` as of ``fit`` (or a data frame of masks), tell the members of the
        groups for ``repair: by_group``. Columns and functions that were given to ``fit`` are known.
        """
        scores = self.decision_function(X)
        if datasets is None and samples is None and self.repair == "by_group":
            datasets = self.data_set_rules_ or None
        if datasets is not None:
            datasets = named_masks(datasets, X)
            samples = DataSets(None, np.full(len(scores), -1), None, datasets)
        return self.classes_[self._above(scores, samples).astype(int)]


@dataclass(eq=False, repr=False)
class MarginFit:
    """Fits with margins; for classifiers with `_fit`, `_repair` and ``_margins`` in their bounds.

    The rows that chose the weights flatter: on them a constraint holds exactly, on new rows it is
    broken every other time, and by more than chance. So a bound gamma becomes gamma less a margin.

    - ``confidence`` alone: cross-fitting. Fits to four fifths of the rows are judged on the others,
      which tells how much training rows flatter; the margin is that plus z standard errors of the
      rate, and the weights are fitted to all rows.
    - ``held_out``: two data sets, after Cotter et al. (2019). Weights are fitted to the other rows,
      and margins raised until the constraints hold on the held-out rows as they are measured there.
    - both: the held-out rows only test. The other rows, cross-fitted, set `TRIED` margins before
      the test; of these fits the first is kept of which the held-out rows show at the level that
      all constraints hold, which is a certificate. A fit that breaks any constraint on new rows is
      certified with probability at most 1 - confidence: each test has that level shared among the
      fits (Bonferroni), and must reject for every constraint, so that these need no sharing.

    With cross-fitting z is that of (1 - confidence) / m for m constraints (Bonferroni). Errors are
    those of the delta method for rows drawn independently, new ones as these; where rows depend on
    each other, or new ones differ, violations are more frequent.

    Attributes
    ----------
    margins_ : ndarray (2, m)
        By which each bound was kept, deterministic and randomised, in units of the constraint.
    held_out_checks_ : list of ConstraintCheck
        Each constraint on the held-out rows; empty without them.
    certified_ : bool
        Whether held-out rows show at the level `confidence` that new ones keep all constraints, by
        both rules (by the randomised one only where decisions are not repaired).
    """

    confidence: float | None = None
    held_out: float = 0.0

    margins_ = np.zeros((2, 0))
    held_out_checks_ = ()
    certified_ = False
    _margins = None
    #: Whether margins of chances move the fit; else there are thresholds only.
    _has_chances = True

    def _learn_all(self, samples, rng):
        plains = plain_constraints(self.constraints)
        self.held_out_checks_, self.certified_ = [], False
        self.margins_, self._margins = np.zeros((2, len(plains))), None
        if not plains or (self.confidence is None and not self.held_out):
            super()._learn_all(samples, rng)
            return
        raised = getattr(self, "on_infeasible", None)
        with self._on_the_way(raised):
            if self.held_out:
                self._judged(samples, rng, plains)
            else:
                z = self._quantile(len(plains))
                flattered, error, units = self._crossed(samples, rng, plains, z)
                self._fit_to(samples, rng, flattered + z * error, units, plains)
        for sentence in self.warnings_:
            log.warning("%s", sentence)
        missed = self.infeasibility_ if raised == "raise" and not self.feasible_ else ""
        if self._has_chances:
            self.excess_ = self.excess_ - self.margins_[1] * self._units(plains, samples)
        if missed:
            raise CounterweightError(
                f"With bounds less their margins for new rows: {missed} Or give more rows, or a "
                "lower confidence."
            )
        self._check_training(samples)

    @contextlib.contextmanager
    def _on_the_way(self, raised):
        """What is wrong with a fit on the way is not wrong with the last one."""
        was, log.disabled = log.disabled, True
        if raised:
            self.on_infeasible = "keep"
        try:
            yield
        finally:
            self._margins, log.disabled = None, was
            if raised:
                self.on_infeasible = raised

    def _quantile(self, shared):
        """z of each of several tests that share what is left of the level."""
        from scipy.special import ndtri

        return float(ndtri(1 - (1 - self.confidence) / shared))

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

    def _values(self, samples, decided=None):
        """(2, m) excess and standard error by both rules, of rows of the table as they are cut."""
        p, own = self.answers(samples.X, samples)
        decided = own if decided is None else decided
        values = constraint_values(p, decided, samples, self.constraints, self._numbers())
        return values[:, :, 2].T, values[:, :, 3].T

    def _judged(self, samples, rng, plains):
        """Two data sets."""
        held = samples.held_out(self.held_out, rng)
        fitted, judging = samples.only(~held), samples.only(held)
        self._clear_thresholds()
        try:
            compile_rates("coverage(everyone)", self.constraints, judging, self._numbers())
        except CounterweightError as error:
            raise CounterweightError(f"With held_out {self.held_out:g}: {error}") from error
        if self.confidence is None:
            self._matched(samples, fitted, judging, rng, plains)
        else:
            self._tested(fitted, judging, rng, plains)
        p, decided = self.answers(samples.X, samples)
        values = constraint_values(p, decided, judging, self.constraints, self._numbers())
        self.held_out_checks_ = verdicts_of(values, self.constraints, "held-out")

    def _tested(self, fitted, judging, rng, plains):
        """The first of some fits that the held-out rows certify, else the last that is feasible."""
        z, share = self._quantile(len(TRIED)), self.held_out
        flattered, error, units = self._crossed(fitted, rng, plains, z)
        of_test = error * np.sqrt((1 - share) / share)
        both, seen, before = np.hypot(error, of_test), slice(0 if self.repairs_ else 1, 2), None

        def fit_with_room(more):
            """Whether the constraints are kept with their margins on the rows of the fit."""
            margins = flattered + z * of_test + more * both
            self._fit_to(fitted, rng, margins, units, plains)
            return getattr(self, "feasible_", True) and not (self.repair_ or {}).get("missed")

        for more in TRIED:
            kept = fit_with_room(more)
            if not kept and before is None:
                kept = any(fit_with_room(less) for less in LESS)
            elif not kept:
                fit_with_room(before)
            if not kept:
                break
            before = more
            excess, error = self._values(judging)
            self.certified_ = bool((excess[seen] + z * error[seen] <= 1e-9).all())
            if self.certified_:
                break

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

    def _crossed(self, samples, rng, plains, z):
        """By how much training rows flatter, standard errors (2, m each), and units."""
        fold = samples.folds(FOLDS, copy.deepcopy(rng))
        self._clear_thresholds()
        self._fit_with(samples, rng, self.margins_[1])
        first, units = self._values(samples)[1] * z, self._units(plains, samples)
        p, decided = np.zeros(len(samples)), np.zeros(len(samples))
        seen = []
        for k in range(FOLDS):
            part = samples.only(fold != k)
            self._fit_with(part, rng, first[1], units)
            if self.repairs_:
                self._repair(part, self._tightened(part, first[0], plains))
            seen.append(self._values(part)[0])
            own, signs = self.answers(samples.X, samples)
            signs = own > 0.5 if signs is None else signs
            p[fold == k], decided[fold == k] = own[fold == k], signs[fold == k]
        values = constraint_values(p, decided, samples, self.constraints, self._numbers())
        crossed, error = values[:, :, 2].T, values[:, :, 3].T
        return np.maximum(crossed - np.mean(seen, axis=0), 0.0), error, units

    def _fit_to(self, samples, rng, margins, units, plains):
        """Weights and thresholds that keep the constraints with margins."""
        self.margins_ = np.nan_to_num(margins)
        self._fit_with(samples, rng, self.margins_[1], units)
        if self.repairs_:
            self._repair(samples, self._tightened(samples, self.margins_[0], plains))

    def _tightened(self, samples, margins, plains):
        problem = self._repair_problem(samples)
        return problem._replace(bounds=problem.bounds - margins * self._units(plains, samples))

    @property
    def certificate_(self):
        """What held-out rows show of new ones, in a sentence."""
        level = "" if self.confidence is None else f"{self.confidence:.0%}"
        if self.certified_:
            rules = " and ".join(RULES[::-1]) if self.repairs_ else RULES[1]
            return (
                f"Certified at {level}: held-out rows, which had no say in the weights, show that "
                f"new rows like them keep all {rules} constraints."
            )
        if level and self.held_out:
            return (
                f"Not certified: held-out rows do not show at {level} that new rows keep all "
                "constraints."
            )
        why = "all rows had a say in the weights, and none is left to judge them."
        if level:
            why = (
                f"margins for {level} come from cross-fitting, and all rows had a say in the "
                "weights."
            )
        elif self.held_out:
            why = "held-out rows set margins, and no confidence was asked for."
        return f"No certificate: {why}"


@dataclass(eq=False, repr=False)
class GivenScores(MarginFit, RepairedDecisions, RateEstimator):
    """The first feature as a score, with the thresholds of least cost by which constraints hold.

    Nothing is learned but thresholds, on the training rows. The features must be the score alone
    (``features: {recipe: one_hot, only: [score]}``); of others nothing is looked at. Options:
    `OPTIONS`.

    Attributes
    ----------
    coef_ : ndarray (d,)
        1 for the score, else 0.
    thresholds_, threshold_groups_, repair_, constraint_checks_
        See `RepairedDecisions`; thresholds are distances from `above`.
    margins_, held_out_checks_, certified_, certificate_
        See `MarginFit`; both lines of the margins are of decisions.
    """

    above: float = 0.5

    FITTED = {"coefficient": "coef_"} | own(
        "thresholds", "threshold_groups", "margins", "certified"
    )
    NUMBERS = {"certified": bool}
    KEPT = tuple(FITTED)
    _options = OPTIONS
    _has_chances = False

    def _fit(self, samples, rng):
        self.coef_ = np.eye(1, samples.X.shape[1])[0]

    def decision_function(self, X):
        """The score less `above`, (n,)."""
        return np.asarray(self._checked(X) @ self.coef_).ravel() - self.above

    def answers(self, X, samples=None):
        """Decisions (n,), and the same as chances of a yes: nobody tosses a coin."""
        decided = self._above(self.decision_function(X), samples)
        return decided.astype(float), decided

    def predict_proba(self, X, samples=None):
        """1 for what is decided, (n, 2); see `RepairedDecisions.predict` for `samples`."""
        return two_columns(self.answers(X, samples)[0])
