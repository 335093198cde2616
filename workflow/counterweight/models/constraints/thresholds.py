"""Thresholds of scores that keep constraints at least cost, of all people or by groups.

With them deterministic decisions are repaired: a classifier whose randomised rule keeps constraints
may break them by the sign of its score. One threshold for everybody, or one of each group for who
may use groups when deciding, brings them back where that family can. A scale of the scores moves no
decision but by the threshold that goes with it.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Number, Text
from counterweight.models.constraints.certificates import CONFIDENCE_OPTIONS, MarginFit, Trivial
from counterweight.models.constraints.cuts import cheapest_cut, repaired
from counterweight.models.constraints.estimator import (
    PARAMETER_OPTIONS,
    RateEstimator,
    own,
    texts_of,
    two_columns,
)
from counterweight.numerics.estimator import NamedColumns
from counterweight.numerics.ranking import auc_estimate
from counterweight.numerics.rates.datasets import DataSets, named_masks
from counterweight.numerics.rates.language import BUILTIN_SETS, rates
from counterweight.numerics.rates.values import compile as compile_rates
from counterweight.numerics.rates.values import plain_constraints

REPAIR_OPTIONS = {
    "repair": Choice("everyone", ["everyone", "by_group", "none"],
        "How deterministic decisions are brought to keep the constraints on the training rows: one shift of the "
        "threshold for everybody, one for each group (which then must be known of those to decide on), or not at all."),
    "groups": Array([],
        "Data sets whose members may have thresholds of their own (by_group); where none is named, those that the "
        "constraints name.", items={"type": "string"}),
}  # fmt: skip

OPTIONS = {
    "objective": Text("error(labeled)", "Sum of rates that thresholds make small where they must move."),
    "constraints": Array([], "Constraints, e.g. coverage(male) <= coverage(female) / kappa.", items={"type": "string"}),
    "above": Number(0.5, "A score above it is a yes, as long as constraints do not ask otherwise; null for the cut of "
        "least objective on the training rows.", null=True),
    **PARAMETER_OPTIONS,
    **CONFIDENCE_OPTIONS,
    **REPAIR_OPTIONS,
}  # fmt: skip

LABEL = "Given scores"

RULE = "deterministic"

#: The arrays that every fit with `MarginFit` and `RepairedDecisions` stores, and its numbers.
STORED = {
    "features": "n_features_in_",
    **own("feasible", "margins", "certified", "thresholds", "threshold_groups"),
}
STORED_NUMBERS = {"features": int, "feasible": bool, "certified": bool}
log = logging.getLogger("counterweight")
#: Scores are compared with thresholds after rounding to so many decimals.
DECIMALS = 12


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

    repair_ = trivial_ = None

    def _check_training(self, samples):
        super()._check_training(samples)
        self.trivial_ = None
        if texts_of(vars(self)):
            p, decided = self._seen
            problem = self._repair_problem(samples)
            yes = decided if self.repairs_ and decided is not None else p
            cost = problem.positive[0] @ yes + problem.negative[0] @ (1.0 - yes)
            cost = float(cost + problem.constants[0])
            self.trivial_ = Trivial.of(problem, cost, "training")
            # With a confidence the rows that judge tell it.
            if self.trivial_told_ and getattr(self, "confidence", None) is None:
                log.warning("%s", self.trivial_told_)

    @property
    def trivial_told_(self):
        """What a rule that uses no columns would do, where the classifier is no better; else ""."""
        one = self.trivial_
        if one is None or not one.behind:
            return ""
        keeps = "which keeps all constraints, too," if one.rule.keeps else "which breaks some,"
        return (
            f"The classifier is no better than a rule that uses no columns: its {self.objective} "
            f"on the {one.rows} rows is {one.cost:.3g}, and {one.rule.words}, {keeps} has "
            f"{one.rule.cost:.3g}."
        )

    @property
    def warnings_(self):
        """What is wrong with the result, in sentences; also logged."""
        return [*super().warnings_, *filter(None, [self.trivial_told_])]

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
        self.repair_ = None
        if not self.repairs_:
            return
        scores = self.decision_function(samples.X)
        problem = self._repair_problem(samples) if problem is None else problem
        self.threshold_groups_, parts = self._parted(samples)
        found, names = self._thresholds(scores, problem, parts), problem.names
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

    def _parted(self, samples):
        """Who has a threshold of their own, as `threshold_groups_`, and the part of each row."""
        names = named_groups(vars(self)) if self.repair == "by_group" else ()
        if not names:
            return np.zeros((1, 0)), None
        members = np.column_stack([samples.mask(((name,),)) for name in names])
        found, parts = np.unique(members, axis=0, return_inverse=True)
        return found.astype(float), parts.ravel()

    def _thresholds(self, scores, problem, parts):
        """The thresholds of least cost, as a `Repair`."""
        return repaired(scores, problem, parts)

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
        # What is left of a sum that rounds to 0 is 0.
        costs = [f"{round(done[key], 12) + 0.0:.4g}" for key in ("cost_before", "cost")]
        moves = f"goes from {costs[0]} to {costs[1]}" if costs[0] != costs[1] else "does not change"
        return f"{who} {what}; the deterministic objective on the training rows {moves}."

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

    def predict(
        self, X: ArrayLike, samples: ArrayLike | None = None, datasets: object = None
    ) -> np.ndarray:
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


def turned_round(auc):
    """What to do with a score of which small values speak for a yes, by its AUC."""
    return (
        f"High scores go with a no (AUC {auc:.3f}), and scores are not turned round here: name a "
        "column of minus the score, or, where the other outcome is meant, that as positive."
    )


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
    above_ : float
        `above`; where that is None, the cut of least objective on the training rows.
    auc_ : Estimate or None
        AUC of the score on the training rows with a label; None where they are of one class. Below
        .5 beyond chance is a warning: small scores speak for a yes, and nothing is turned round.
    thresholds_, threshold_groups_, repair_, constraint_checks_
        See `RepairedDecisions`; thresholds are distances from `above_`.
    margins_, held_out_checks_, certified_, certificate_
        See `MarginFit`; both lines of the margins are of decisions.
    """

    above: float | None = 0.5

    FITTED = {"coefficient": "coef_"} | own(
        "thresholds", "threshold_groups", "margins", "certified", "above"
    )
    NUMBERS = {"certified": bool, "above": float}
    KEPT = tuple(FITTED)
    _options = OPTIONS
    _has_chances = False
    above_ = None  # as in files of 1.0.0
    auc_ = None
    #: A score that is not there is not to be filled.
    WHOLE = True

    def _fit(self, samples, rng):
        self.coef_, self.above_ = np.eye(1, samples.X.shape[1])[0], 0.0
        self.fit_warnings_ = []
        if {0, 1} <= {*samples.y.tolist()}:
            seen = samples.y >= 0
            told = samples.y[seen], self.decision_function(samples.X)[seen], samples.weight[seen]
            self.auc_ = auc_estimate(*told)
            if self.auc_.high < 0.5:
                self.fit_warnings_.append(turned_round(self.auc_.value))
                self._log_warnings()
        if self.above is None:
            cost = compile_rates(self.objective, [], samples, self._numbers())
            self.above_ = cheapest_cut(self.decision_function(samples.X), cost)
        else:
            self.above_ = float(self.above)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """The score less `above_`, (n,)."""
        above = self.above if self.above_ is None else self.above_
        return np.asarray(self._checked(X) @ self.coef_).ravel() - above

    def answers(self, X, samples=None):
        """Decisions (n,), and the same as chances of a yes: nobody tosses a coin."""
        decided = self._above(self.decision_function(X), samples)
        return decided.astype(float), decided

    def predict_proba(self, X: ArrayLike, samples: ArrayLike | None = None) -> np.ndarray:
        """1 for what is decided, (n, 2); see `RepairedDecisions.predict` for `samples`."""
        return two_columns(self.answers(X, samples)[0])
