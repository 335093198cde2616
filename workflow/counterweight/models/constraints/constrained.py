"""Linear classifier trained under constraints on the rates of named data sets."""

import copy
from dataclasses import dataclass, replace

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.models.constraints.estimator import LinearScore
from counterweight.models.constraints.options import MAP_OPTIONS, PARAMETER_OPTIONS, SVM_OPTIONS
from counterweight.models.constraints.promises.margins import CONFIDENCE_OPTIONS, MarginFit
from counterweight.models.constraints.promises.promising import REPAIR_OPTIONS, RepairedDecisions
from counterweight.models.constraints.solver.convex import ramp
from counterweight.models.constraints.start import imitation_costs, nearest_feasible
from counterweight.numerics.rates.coefficients import compile as compile_rates

OPTIONS = {
    "objective": {
        "type": "string",
        "default": "error(labeled)",
        "description": "Sum of rates to minimise, e.g. error(d1) + false_positive_rate(d2).",
    },
    "constraints": {
        "type": "array",
        "items": {"type": "string"},
        "default": [],
        "description": "Constraints, e.g. coverage(male) <= coverage(female) / kappa.",
    },
    **PARAMETER_OPTIONS,
    **SVM_OPTIONS,
    **MAP_OPTIONS,
    "penalty": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "lambda of the penalty lambda/2 |w|^2. null: twice the mean coefficient "
        "of the objective's rows, which is 2/n for an error rate of n rows (LIBLINEAR's C = 1).",
    },
    "loss": {
        "enum": ["ramp", "hinge"],
        "default": "ramp",
        "description": "ramp: rates of the randomised classifier, by majorisation-minimisation; "
        "hinge: their convex bounds, one step.",
    },
    "steps": {
        "type": "integer",
        "minimum": 1,
        "default": 8,
        "description": "Steps of majorisation-minimisation, each a convex problem; with hinge "
        "one does.",
    },
    "method": {
        "enum": ["newton", "cutting_plane", "bisection"],
        "default": "newton",
        "description": "Solver of the convex step: newton solves it whole with its constraints; "
        "cutting_plane goes by cuts over the multipliers (Algorithm 2); bisection is that for "
        "one constraint.",
    },
    "chooser": {
        "enum": ["maximum", "centre"],
        "default": "centre",
        "description": "Next multipliers of cutting_plane: where the cuts are highest, or the "
        "centre of mass of what they leave.",
    },
    "tolerance": {
        "type": "number",
        "exclusiveMinimum": 0,
        "default": 1.0e-5,
        "description": "Certified gap at which a convex step is solved, as a share of the "
        "objective's total cost.",
    },
    "start": {
        "enum": ["zero", "svm", "deployed", "best"],
        "default": "zero",
        "description": "zero: w = 0; svm: the unconstrained fit; deployed: an imitation of the "
        "deployed model. The last two are scaled and shifted to meet the constraints. best: what "
        "comes of zero or of svm, the one that meets the constraints at less cost.",
    },
    "elastic": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "First price of a unit of violation, in units of the objective, while no "
        "feasible classifier is known; null: ten times the total cost of the objective for that "
        "of a constraint.",
    },
    "linear_part": {
        "type": "boolean",
        "default": False,
        "description": "Whether the features themselves stand beside those of the map.",
    },
    **CONFIDENCE_OPTIONS,
    **REPAIR_OPTIONS,
    "on_infeasible": {
        "enum": ["raise", "keep"],
        "default": "raise",
        "description": "When no classifier that meets all constraints is found: stop with the "
        "least violation reached, or keep the classifier that has it.",
    },
}
LABEL = "Constrained SVM"
VALUE_LABELS = {
    "loss": {"ramp": "ramp", "hinge": "hinge"},
    "method": {"cutting_plane": "by cutting planes"},
    "start": {"svm": "from the SVM", "deployed": "from the deployed model"},
}


@dataclass(eq=False, repr=False)
class ConstrainedClassifier(MarginFit, RepairedDecisions, LinearScore):
    """Minimise rates on data sets, subject to bounds on rates on data sets.

    Problem 2 of Goh, Cotter, Gupta & Friedlander (2016): f(x) = <w, x> + intercept; the
    randomised classifier predicts positive with probability max(0, min(1, 1/2 + f)), the
    deterministic one iff f > 0, or above the threshold that `repair` found. Constraints are met by
    the randomised classifier on the rows it is trained on, and by the deterministic one where its
    repair can; `promises_` tells of each, `test_promises` how far other rows follow.

    The problem is not convex: what is found is the best of a sequence of feasible points,
    no minimum over all classifiers. `counterweight.numerics.rates.language` tells the language.

    Parameters
    ----------
    objective, constraints, kappa, target, penalty, loss, steps, bias, method, chooser,
    tolerance, start, elastic, features, linear_part, feature_count, feature_scale, standardise,
    confidence, held_out, repair, groups, on_infeasible
        See `OPTIONS`.

    Attributes
    ----------
    coef_ : ndarray (d,)
        For features in their own units (of the map's features, if there is a map).
    intercept_ : float
    objective_ : ndarray (T + 1,)
        Objective with its penalty at the start and after each step.
    multipliers_ : ndarray (T, m)
    violations_ : ndarray (T + 1, m)
        Left side minus bound of each plain constraint, for the randomised classifier.
    excess_ : ndarray (m,)
        The same for the classifier that is returned.
    gap_ : ndarray (T,)
        Certified gap of each convex step.
    feasible_ : bool
    constraints_ : list of str
        The plain constraints.
    promises_, thresholds_, threshold_groups_, repair_
        See `counterweight.models.constraints.promises.promising`.
    margins_, held_out_promises_, certified_, certificate_
        See `counterweight.models.constraints.promises.margins`.
    penalty_ : float
    norm_ : float
        Length of w, the bias included where it is penalised, in the solver's units.
    evaluations_ : int
    status_ : str
        feasible, not_reached, or proved_infeasible.
    least_violation_ : float
        What the violations of any classifier, linear or not, sum to at least; 0 unless that
        is a proof that the constraints contradict each other.
    """

    objective: str = "error(labeled)"
    constraints: tuple = ()
    kappa: float | None = None
    target: float | None = None
    penalty: float | None = None
    loss: str = "ramp"
    steps: int = 8
    bias: str = "regularised"
    method: str = "newton"
    chooser: str = "centre"
    tolerance: float = 1e-5
    start: str = "zero"
    elastic: float | None = None
    features: str = "none"
    linear_part: bool = False
    feature_count: int = 300
    feature_scale: float | None = None
    standardise: bool = False
    confidence: float | None = None
    held_out: float = 0.0
    repair: str = "everyone"
    groups: tuple = ()
    on_infeasible: str = "raise"

    FITTED = {
        "coefficient": "coef_",
        "intercept": "intercept_",
        "objective": "objective_",
        "multipliers": "multipliers_",
        "violations": "violations_",
        "excess": "excess_",
        "least_violation": "least_violation_",
        "gap": "gap_",
        "feasible": "feasible_",
        "penalty": "penalty_",
        "evaluations": "evaluations_",
        "coefficient_norm": "norm_",
        "features": "n_features_in_",
        "margins": "margins_",
        "certified": "certified_",
        "thresholds": "thresholds_",
        "threshold_groups": "threshold_groups_",
        "map": "map_",
    }
    NUMBERS = {
        "intercept": float,
        "least_violation": float,
        "feasible": bool,
        "certified": bool,
        "penalty": float,
        "evaluations": int,
        "coefficient_norm": float,
        "features": int,
    }
    KEPT = tuple(name for name in FITTED if name not in ("features", "map"))
    _options = OPTIONS

    def _fit(self, data, rng):
        """Refuses constraints that no classifier is found to meet, unless told to keep it."""
        from counterweight.models.constraints.solver.solver import minimise_rates

        if self.start == "best":
            self._fit_best(data, rng)
            return
        problem = self._problem(data)
        self.constraints_ = problem.names
        self._draw_map(data.X, rng)
        cost = problem.positive[0] + problem.negative[0]
        self.penalty_ = self.penalty
        if self.penalty is None:
            if not cost.any():
                raise CounterweightError(
                    f"The objective {self.objective} is the same for all classifiers."
                )
            self.penalty_ = 2 * float(cost[cost > 0].mean())
        used = (problem.positive + problem.negative).any(axis=0)
        imitated = imitation_costs(data) if self.start == "deployed" else None
        if imitated is not None:
            used |= imitated.any(axis=0)
        rows, scale, centre = self._solver_rows(data.X, used)
        positive, negative = problem.positive[:, used], problem.negative[:, used]
        shared = {"bias": self.bias, "tolerance": self.tolerance}
        start = None
        if self.start == "svm":
            start = (positive[:1], negative[:1], self.penalty_)
        elif self.start == "deployed":
            asked = imitated[:, used]
            start = (asked[:1], asked[1:], min(self.penalty_, 2 * float(asked.sum(0).max())))
        if start is not None:
            first = minimise_rates(
                rows,
                *start[:2],
                np.empty(0),
                **shared,
                penalty=start[2],
                loss="hinge",
                steps=1,
                svm_gap=None,
            )
            start = nearest_feasible(
                rows, first, positive, negative, problem, self.penalty_, self.bias
            )
        fit = minimise_rates(
            rows,
            positive,
            negative,
            problem.bounds,
            constants=problem.constants,
            **shared,
            penalty=self.penalty_,
            start=start,
            steps=self.steps if self.loss == "ramp" else 1,
            loss=self.loss,
            method=self.method,
            chooser=self.chooser,
            elastic=self.elastic,
        )
        p = ramp(rows @ fit.coefficient + fit.intercept)
        self.excess_ = positive[1:] @ p + negative[1:] @ (1 - p) + problem.constants[1:]
        self.excess_ -= problem.bounds
        self._keep_score(fit.coefficient, fit.intercept, scale, centre)
        self.objective_, self.multipliers_ = fit.objective, fit.multipliers
        self.violations_, self.gap_ = fit.violations, fit.gap
        self.feasible_, self.evaluations_ = fit.feasible, int(np.sum(fit.evaluations))
        self.status_, self.proof_ = fit.status, fit.proof
        self.least_violation_ = float(fit.least_violation)
        if not self.feasible_ and self.on_infeasible == "raise":
            raise CounterweightError(self.infeasibility_)

    def _fit_best(self, data, rng):
        """Fit from both starts, with equal draws, and take the better one."""
        tried = []
        for start in ("zero", "svm"):
            one = replace(self, start=start, on_infeasible="keep")
            one.n_features_in_, one._margins = self.n_features_in_, self._margins
            one._fit(data, copy.deepcopy(rng))
            tried.append(one)
        missed = [np.maximum(one.excess_, 0).sum() for one in tried]
        keys = [
            (not one.feasible_, gap if not one.feasible_ else 0.0, one.objective_[-1])
            for one, gap in zip(tried, missed, strict=True)
        ]
        chosen = tried[keys.index(min(keys))]
        options = self.get_params()
        vars(self).update(vars(chosen) | options)
        self.evaluations_ = sum(one.evaluations_ for one in tried)
        if not self.feasible_ and self.on_infeasible == "raise":
            raise CounterweightError(self.infeasibility_)

    def _problem(self, data):
        """Coefficients; bounds less the margins of a fit for new rows."""
        parameters = {"kappa": self.kappa, "target": self.target}
        problem = compile_rates(self.objective, self.constraints, data, parameters)
        if self._margins is None:
            return problem
        return problem._replace(bounds=problem.bounds - self._margins)

    @property
    def infeasibility_(self):
        """What is missed by how much, in a sentence."""
        missed = [
            f"{text} is {f'missed by {over:.4g}' if over > 0 else 'met'}"
            for text, over in zip(self.constraints_, self.excess_, strict=True)
        ]
        least = np.maximum(self.excess_, 0).sum()
        reached = (
            f"The least violation reached is {least:.4g} in sum ({listed(missed, 20)}; randomised "
            "rates on the training rows)."
        )
        if self.status_ == "proved_infeasible":
            named = [self.constraints_[j] for j in np.flatnonzero(self.proof_ > 0)]
            clash = "contradict each other" if len(named) > 1 else "asks for what cannot be"
            return (
                f"The constraints cannot be met: {' and '.join(named)} {clash} on "
                f"the training rows, where the violations of any classifier, linear or not, sum "
                f"to at least {self.least_violation_:.4g}. {reached} Loosen one of them."
            )
        several = "the constraint" if len(missed) == 1 else f"all {len(missed)} constraints"
        scaled = "" if self.standardise else ", standardised features"
        return (
            f"No classifier that meets {several} was found. {reached} Loosen "
            f"one of them, or try another start, a smaller penalty{scaled} or a feature map."
        )
