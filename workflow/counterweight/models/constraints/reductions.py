"""Constraints on rates for any classifier that takes weights, by reductions.

The Lagrangian of Problem 2 is, for any prices of the constraints, a sum over rows of what a yes
costs: to make it small is to classify with a cost for each row. Prices and classifiers play a game
whose value is that of the best mixture of classifiers (Agarwal, Beygelzimer, Dudik, Langford &
Wallach 2018, sections 3.1 and 3.2).
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Integer, Number, Option, Text
from counterweight.models.classifier import class_within, stored_within
from counterweight.models.constraints.estimator import (
    PARAMETER_OPTIONS,
    RateEstimator,
    own,
    two_columns,
)
from counterweight.models.constraints.feature_maps import dense
from counterweight.models.constraints.thresholds import (
    CONFIDENCE_OPTIONS,
    REPAIR_OPTIONS,
    STORED,
    STORED_NUMBERS,
    MarginFit,
    RepairedDecisions,
)
from counterweight.models.logistic import packed, unpacked
from counterweight.numerics.rates.values import ROUNDING
from counterweight.numerics.rates.values import compile as compile_rates

#: Prices begin at such a share of the objective's total cost.
FIRST_PRICE = 0.1
#: First step of exponentiated gradient, in logarithms of prices.
STEP = 1.0
#: Answers to prices of exponentiated gradient in a row that bring nothing before the end. A fit by
#: another loss than costs answers well, not best: a gap among such fits closes early.
PATIENCE = 8
#: Room for rounding in the constraints of a linear program.
ROOM = 1e-10
#: Classifiers of a smaller share are left out of a mixture.
SMALLEST = 1e-7


class Mixture(NamedTuple):
    """A mixture, and how near to the best one it is.

    `shares` (k,) of the classifiers in the order in which they were found sum to 1; `multipliers`
    (m,) are prices of the constraints among these; `violations` (m,) value minus bound; `gap` the
    duality gap, in units of the objective, at least 0.
    """

    shares: np.ndarray
    multipliers: np.ndarray
    objective: float
    violations: np.ndarray
    gap: float


def best_mixture(problem, respond, *, most, tol, fits, begun=()):
    """Mixture of least objective under constraints, over the classifiers that answer prices: a
    `Mixture`.

    Prices follow exponentiated gradient (with steps by the violations so far) and, in turn, the
    multipliers of the linear program over the mixtures of what was found; that program gives the
    mixture, too: of least objective among those that meet the constraints; where none of the
    classifiers found does, among those whose largest violation is least. The gap is that of the
    Lagrangian with prices up to the largest sum: where answers are best ones in a class, no mixture
    of the class that meets the constraints has an objective lower by more than it.

    `problem` is of `compile`. `respond` gives, from what a yes costs (n,), the decisions (n,) of a
    new classifier for which the sum of costs is small, at most `fits` times. `most` is the largest
    sum of prices, `tol` the gap at which to stop once answers bring no more than that, both in
    total costs of the objective. `begun` are decisions of known classifiers, the first of them the
    answer to prices of 0.
    """
    slopes = problem.positive - problem.negative
    fixed = problem.negative.sum(axis=1) + problem.constants
    fixed[1:] -= problem.bounds
    scale = np.abs(slopes[0]).sum()
    top, m = most * scale, len(problem.bounds)
    found = [slopes @ says + fixed for says in begun]
    asked = [np.zeros(m)] if found else []

    def ask(prices):
        found.append(slopes @ respond(slopes[0] + prices @ slopes[1:]) + fixed)
        asked.append(prices)

    if not found:
        ask(np.zeros(m))
    log_prices, seen = np.full(m, np.log(FIRST_PRICE / most)), 0.0
    lowest, idle = np.inf, 0
    while m and len(asked) < fits:
        values = np.array(found)
        shares, prices = _priced(values, top)
        reached = shares @ values[:, 0] + top * max((shares @ values[:, 1:]).max(), 0.0)
        if reached < lowest - tol * scale:
            lowest, idle = reached, 0
        near = _gap(values, shares, asked, top) <= tol * scale
        if near and (idle >= PATIENCE or not prices.any()):
            break
        if not near and len(asked) % 2 == 0:
            ask(prices)
            continue
        idle += 1
        # As shares of the largest sum; the rest of it is paid for nothing.
        highest = max(log_prices.max(), 0.0)
        shifted = np.exp(log_prices - highest)
        ask(top * shifted / (shifted.sum() + np.exp(-highest)))
        over = found[-1][1:]
        seen += np.abs(over).max() ** 2
        log_prices = log_prices + (STEP / np.sqrt(seen) * over if seen else 0.0)
    values = np.array(found)
    shares = _least(values)
    told = shares @ values
    return Mixture(
        shares, _priced(values, top)[1], float(told[0]), told[1:], _gap(values, shares, asked, top)
    )


def _priced(values, top):
    """Shares of least objective plus `top` times the largest violation, and the prices of that."""
    if values.shape[1] == 1:
        return _least(values), np.zeros(0)
    upper = np.column_stack([values[:, 1:].T, -np.ones(values.shape[1] - 1)])
    x, duals = _solved(np.append(values[:, 0], top), upper, np.zeros(len(upper)), 1)
    return x[:-1], np.maximum(-duals, 0.0)


def _least(values):
    """Shares of least objective under the constraints, or under the least largest violation."""
    count, m = len(values), values.shape[1] - 1
    if not m:
        return np.eye(1, count, int(np.argmin(values[:, 0])))[0]
    upper = np.column_stack([values[:, 1:].T, -np.ones(m)])
    least = _solved(np.append(np.zeros(count), 1.0), upper, np.zeros(m), 1)[0][-1]
    x, _ = _solved(values[:, 0], values[:, 1:].T, np.full(m, max(least, 0.0) + ROOM))
    shares = np.where(x > SMALLEST, x, 0.0)
    return shares / shares.sum()


def _solved(cost, upper, bounds, free=0):
    """A program over shares, which sum to 1, and further variables from 0 up.

    Gives the variables, and the dual of each upper bound.
    """
    import highspy

    count = len(cost)
    rows = np.vstack([upper, np.arange(count) < count - free])
    program = highspy.Highs()
    program.setOptionValue("output_flag", False)
    told = highspy.HighsLp()
    told.num_row_, told.num_col_ = rows.shape
    told.col_cost_, told.col_lower_ = cost, np.zeros(count)
    told.col_upper_ = np.full(count, np.inf)
    told.row_lower_ = np.append(np.full(len(bounds), -np.inf), 1.0)
    told.row_upper_ = np.append(bounds, 1.0)
    places, at = np.nonzero(rows.T)[::-1], np.count_nonzero(rows, axis=0)
    told.a_matrix_.start_ = np.append(0, at.cumsum())
    told.a_matrix_.index_, told.a_matrix_.value_ = places[0], rows[places]
    program.passModel(told)
    program.run()
    if program.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        reason = program.modelStatusToString(program.getModelStatus())
        raise RuntimeError(f"The linear program over mixtures was not solved: {reason}")
    found = program.getSolution()
    return np.array(found.col_value), np.array(found.row_dual)[:-1]


def _gap(values, shares, asked, top):
    """How far the Lagrangian of a mixture is above the best answer to any prices asked."""
    told = shares @ values
    over = told[1:].max(initial=0.0)
    reached = told[0] + top * (over if over > ROUNDING else 0.0)
    answered = (values[:, :1] + values[:, 1:] @ np.array(asked).T).min(axis=0)
    return float(max(reached - answered.max(), 0.0))


#: Where no classifier is named.
CLASSIFIER = {"model": "logistic"}
OPTIONS = {
    "objective": Text("error(labeled)", "Sum of rates to minimise."),
    "constraints": Array([], "Constraints, e.g. coverage(male) <= coverage(female) / kappa.", items={"type": "string"}),
    **PARAMETER_OPTIONS,
    "classifier": Option({"model": "logistic"},
        "Classifier that is fitted to weighted rows, again and again: model, and its options.",
        type="object", **{"x-component-with-options": ["model", "model"]}),
    "fits": Integer(40, "Most fits of the classifier.", minimum=1),
    "tol": Number(1.0e-3,
        "Duality gap at which fits end, as a share of the objective's total cost, once eight of them in a row bring no "
        "more than that.", above=0),
    "most": Number(100.0, "Largest sum of the constraints' multipliers, in total costs of the objective.", above=0),
    **CONFIDENCE_OPTIONS,
    **REPAIR_OPTIONS,
    "on_infeasible": Choice("raise", ["raise", "keep"],
        "When no mixture of the fits meets all constraints: stop, or keep the one whose largest violation is least."),
}  # fmt: skip
LABEL = "Reductions, {classifier}"
VALUE_LABELS = {
    "classifier": {
        "logistic": "logistic regression",
        "generative": "class mixtures",
        "gradient_boosting": "boosting",
    }
}
#: Costs that are smaller, as a share of the largest, are none.
NOTHING = 1e-12


@dataclass(eq=False, repr=False)
class ReductionsClassifier(MarginFit, RepairedDecisions, RateEstimator):
    """A random mixture of fits of any classifier with weights, under constraints on rates.

    For given multipliers of the constraints a yes has a cost in each row, from the objective and
    all constraints that the row is in. A fit to rows weighted by the size of that cost, labeled yes
    where it is below 0, is the answer to the multipliers (Agarwal et al. 2018, algorithm 1); hidden
    labels do not matter where constraints are about coverage. A row gets a yes with a chance of the
    summed shares of the fits that say yes to it. Constraints are met by these chances on the rows
    of the fit; decisions (more than half, or as `repair` found) by the repair where it can.

    What is guaranteed: constraints are met to `ROUNDING` where `feasible_`; and if each fit were
    the best answer in its class, no mixture of the class that meets the constraints on these rows
    would have an objective lower by more than `gap_`. A classifier that is fitted by another loss
    than yes-or-no errors answers well, not best: then that holds against all mixtures of fits
    found, and against answers that the classifier finds for the multipliers asked. Nothing is
    guaranteed for other rows; `check_constraints` tells.

    Options are those of `OPTIONS`; `classifier` is a name of the registry, ``model``, with its
    options, None for logistic regression. A fit at a `confidence` is some twelve fits.

    Attributes
    ----------
    models_, shares_, constant_ : list, ndarray (k,), ndarray (k,)
        Fitted classifiers of the mixture and their shares; None for one that says the same to all,
        which `constant_` has, NaN for others.
    multipliers_, objective_, gap_, converged_
        Of the plain constraints `constraints_` (m,); duality gap in units of the objective, and
        whether it is within the tolerance.
    violations_, excess_ : ndarray (m,)
        Left side minus bound of each plain constraint, randomised; of bounds with their margins,
        and of bounds as they were asked for.
    feasible_, collapsed_ : bool
        Collapsed: nobody or everybody is positive on the training rows.
    fits_ : int
        Fits that were made.
    constraint_checks_, thresholds_, threshold_groups_, repair_
        See `RepairedDecisions`; thresholds are of chances less 1/2.
    margins_, held_out_checks_, certified_, certificate_
        See `MarginFit`.
    """

    classifier: dict | None = None
    fits: int = 40
    tol: float = 1e-3
    most: float = 100.0
    on_infeasible: str = "raise"

    FITTED = {
        **own("shares", "constant", "multipliers", "violations"),
        "duality_gap": "gap_",
        **own("converged", "collapsed", "fits"),
        **STORED,
    }
    NUMBERS = {
        **{"duality_gap": float, "converged": bool, "collapsed": bool, "fits": int},
        **STORED_NUMBERS,
    }
    #: All of them, since arrays of classifiers have names of their own.
    KEPT = None
    FITTED_BY = "shares_"
    _options = {name: node for name, node in OPTIONS.items() if name != "classifier"}

    def _fit(self, samples, rng):
        """Refuses constraints that no mixture of fits meets, unless told to keep it."""
        self._fit_pooled(samples, rng, [])

    @classmethod
    def fit_sweep(cls, settings, data, rng):
        """Fit the settings of a sweep, each with the fits of those before among its own.

        None where they differ in more than numbers of the constraints, or have margins of their
        own.
        """
        models, pool = cls._swept(settings), []
        if models is None:
            return None
        for model in models:
            model.n_features_in_ = data.X.shape[1]
            model._fit_pooled(data, rng, pool)
            model._settle(data)
        return models

    def _fit_pooled(self, samples, rng, pool):
        """The fit, beside known ones of the same rows and objective, to which it adds its own."""
        name, options = self._within()
        component = class_within(name, "used in reductions")
        if "sample_weight" not in inspect.signature(component.fit).parameters:
            raise CounterweightError(
                f"The model {name} takes no weights, and reductions need a classifier that does: "
                "choose one such as logistic or gradient_boosting."
            )
        problem = compile_rates(self.objective, self.constraints, samples, self._numbers())
        if self._margins is not None:
            problem = problem._replace(bounds=problem.bounds - self._margins)
        if not (problem.positive[0] + problem.negative[0]).any():
            raise CounterweightError(
                f"The objective {self.objective} is the same for all classifiers."
            )
        X = dense(samples.X)

        def respond(cost):
            known, says = answer(component, options, X, cost, rng)
            pool.append((known, says))
            return says

        before, begun = len(pool), [says for _, says in pool]
        limits = {"most": self.most, "tol": self.tol, "fits": self.fits}
        best = best_mixture(problem, respond, **limits, begun=begun)
        used = np.flatnonzero(best.shares)
        self.shares_ = best.shares[used]
        known = [pool[at][0] for at in used]
        self.models_ = [None if isinstance(one, float) else one for one in known]
        self.constant_ = np.array([one if isinstance(one, float) else np.nan for one in known])
        self.multipliers_, self.violations_ = best.multipliers, best.violations
        self.excess_ = best.violations
        self.objective_, self.gap_ = best.objective, best.gap
        total = (problem.positive[0] + problem.negative[0]).sum()
        self.converged_ = bool(best.gap <= self.tol * total)
        self.feasible_ = bool(best.violations.max(initial=0.0) <= ROUNDING)
        self.constraints_, self.fits_ = problem.names, len(pool) - before
        share = self.shares_ @ np.array([pool[at][1].mean() for at in used])
        self.collapsed_ = bool(self.constraints_) and not ROUNDING < share < 1 - ROUNDING
        if not self.feasible_ and self.on_infeasible == "raise":
            raise CounterweightError(self.infeasibility_)
        self._log_warnings()

    @property
    def fit_warnings_(self):
        """What is wrong with the fit, in sentences."""
        told = [] if self.feasible_ else [self.infeasibility_]
        if self.collapsed_:
            told.append("On the training rows nobody, or everybody, is positive.")
        if not self.converged_:
            told.append(
                f"The duality gap after {self.fits_} fits is {self.gap_:.4g}, above the tolerance "
                "of reductions: allow more fits."
            )
        return told

    @property
    def infeasibility_(self):
        """What is missed by how much, in a sentence."""
        missed = [
            f"{text} by {over:.4g}"
            for text, over in zip(self.constraints_, self.violations_, strict=True)
            if over > ROUNDING
        ]
        return (
            f"No mixture of the {self.fits_} fits meets the constraints; the one whose largest "
            f"violation is least misses {listed(missed, 20)} (randomised, on the training rows): "
            "loosen one of them, allow more fits, or choose another classifier."
        )

    def _fitted(self):
        """The classifiers, brought back from numbers when they are first needed."""
        if not hasattr(self, "models_"):
            name, options = self._within()
            stored = (stored_within(name, options, own) for own in unpacked(self._packed))
            self.models_ = [next(stored) if np.isnan(at) else None for at in self.constant_]
        return self.models_

    def _within(self):
        """Name and options of the classifier."""
        asked = CLASSIFIER if self.classifier is None else self.classifier
        return asked.get("model"), {key: asked[key] for key in asked if key != "model"}

    def to_arrays(self):
        """Everything fitted, as arrays by name."""
        own = [model.to_arrays() for model in self._fitted() if model is not None]
        return super().to_arrays() | packed(own)

    @classmethod
    def from_arrays(cls, arrays):
        """What predicts, from `to_arrays`, once the option `classifier` is as it was."""
        model = super().from_arrays(arrays)
        model._packed = dict(arrays)
        return model

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Chance of a yes less 1/2, (n,)."""
        X = dense(self._checked(X))
        chance = np.zeros(len(X))
        members = zip(self.shares_, self.constant_, self._fitted(), strict=True)
        for share, constant, model in members:
            chance += share * (constant if model is None else yes(model, X))
        # The shares sum to 1 up to rounding.
        return np.clip(chance, 0.0, 1.0) - 0.5

    @staticmethod
    def _randomised(scores):
        return two_columns(0.5 + scores)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Chances (n, 2) of a no and a yes of the mixture; no estimates of p(y | x)."""
        return self._randomised(self.decision_function(X))


def yes(model, X):
    """Decisions of a fitted classifier, bool (n,)."""
    return model.predict_proba(X)[:, 1] >= 0.5


def answer(component, options, X, cost, rng):
    """A classifier for rows of which a yes has a cost (n,), and its decisions, bool (n,).

    1.0 or 0.0 in its place where all rows with a cost are to have the same answer.
    """
    size = np.abs(cost)
    used = size > NOTHING * size.max()
    wanted = cost[used] < 0
    if wanted.all() or not wanted.any():
        constant = float(wanted.any())
        return constant, np.full(len(cost), bool(constant))
    model = component(**options).fit(X[used], wanted.astype(int), size[used], rng=rng)
    return model, yes(model, X)
