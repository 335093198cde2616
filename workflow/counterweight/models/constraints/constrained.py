"""Linear classifier trained under constraints on the rates of named data sets."""

import copy
import logging
from dataclasses import dataclass, fields

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Integer, Number, Text
from counterweight.models.constraints.convex_step import ramp
from counterweight.models.constraints.estimator import (
    MAP_OPTIONS,
    PARAMETER_OPTIONS,
    SVM_OPTIONS,
    MappedScore,
    RateEstimator,
    own,
)
from counterweight.models.constraints.feature_maps import GROUP_FEATURE_OPTIONS
from counterweight.models.constraints.linear_svm import best_penalty, labeled_rows
from counterweight.models.constraints.starts import (
    NOBODY,
    PATH_STEPS,
    Found,
    fit_settings,
    pair,
    repaired,
    vector,
)
from counterweight.models.constraints.thresholds import (
    CONFIDENCE_OPTIONS,
    REPAIR_OPTIONS,
    STORED,
    STORED_NUMBERS,
    MarginFit,
    RepairedDecisions,
)
from counterweight.numerics.checks import check_options
from counterweight.numerics.rates.datasets import DataSets
from counterweight.numerics.rates.language import RATES, Rate, nodes, parse_expression
from counterweight.numerics.rates.values import compile as compile_rates
from counterweight.numerics.rates.values import plain_constraints

OPTIONS = {
    "objective": Text("error(labeled)", "Sum of rates to minimise, e.g. error(d1) + false_positive_rate(d2)."),
    "constraints": Array([], "Constraints, e.g. coverage(male) <= coverage(female) / kappa.", items={"type": "string"}),
    **PARAMETER_OPTIONS,
    **SVM_OPTIONS,
    **MAP_OPTIONS,
    **GROUP_FEATURE_OPTIONS,
    "penalty": Number(None,
        "lambda of the penalty lambda/2 |w|^2. null: twice the objective's total cost by the summed weight of its rows "
        "(weights are taken at mean 1), which is 2/n for an error rate of n rows (LIBLINEAR's C = 1).", above=0, null=True),
    "loss": Choice("ramp", ["ramp", "hinge"],
        "ramp: rates of the randomised classifier, by majorisation-minimisation; hinge: their convex bounds, one step."),
    "steps": Integer(8, "Steps of majorisation-minimisation, each a convex problem; with hinge one does.", minimum=1),
    "method": Choice("newton", ["newton", "cutting_plane"],
        "Solver of the convex step: newton solves it whole with its constraints; cutting_plane goes by cuts over the "
        "multipliers (Algorithm 2)."),
    "tol": Number(1.0e-5,
        "Certified gap at which a convex step is solved, as a share of the objective's total cost. With start best, steps "
        "before the last one are solved to ten times as much, or to a tenth of what they have gained.", above=0),
    "start": Choice("best", ["zero", "svm", "deployed", "best"],
        "zero: w = 0; svm: the unconstrained fit, scaled and shifted to meet the constraints. best: from these, to the end from "
        "zero, from the unconstrained fit with the threshold, or the thresholds by group, of least cost, and from an imitation of "
        "the deployed model where the constraints speak of it; the best goes on, and no known rule that meets the "
        "constraints is better; each step is followed further for as long as that lowers the objective (not with a "
        "confidence). deployed: the same, and the imitation is needed."),
    **CONFIDENCE_OPTIONS,
    **REPAIR_OPTIONS,
    "on_infeasible": Choice("raise", ["raise", "keep"],
        "When no classifier that meets all constraints is found: stop with the least violation reached, or keep the "
        "classifier that has it."),
}  # fmt: skip
RETRAINED_OPTIONS = {
    **OPTIONS,
    "batches": Array(..., "Data sets in the order in which their rows come, such as months.", items={"type": "string"}, minItems=2),
    "after": Integer(None, "The model after so many batches; a sweep over it trains the sequence once. null: after all.", minimum=1, null=True),
}  # fmt: skip
OPTIONS_BY_NAME = {"constrained": OPTIONS, "retrained": RETRAINED_OPTIONS}
log = logging.getLogger("counterweight")
#: Share of the objective's total cost that a known rule may be better by without a warning.
WARNED = 1e-3
#: Penalties that cross-validation chooses from, in units of the one that is the default.
PENALTIES = (1.0, 10.0, 100.0)
LABEL_BY_NAME = {"constrained": "Constrained SVM", "retrained": "Retrained SVM"}
VALUE_LABELS = {
    "loss": {"ramp": "ramp", "hinge": "hinge"},
    "method": {"cutting_plane": "by cutting planes"},
    "start": {"svm": "from the SVM", "deployed": "from the deployed model"},
}


@dataclass(eq=False, repr=False)
class ConstrainedClassifier(MarginFit, RepairedDecisions, MappedScore):
    """Minimise rates on data sets, subject to bounds on rates on data sets.

    Problem 2 of Goh, Cotter, Gupta & Friedlander (2016): f(x) = <w, x> + intercept; the randomised
    classifier predicts positive with probability max(0, min(1, 1/2 + f)), the deterministic one iff
    f > 0, or above the threshold that `repair` found. Constraints are met by the randomised
    classifier on the rows it is trained on, and by the deterministic one where its repair can;
    `constraint_checks_` tells of each, `check_constraints` how far other rows follow.

    The problem is not convex: what is found is the best of a sequence of feasible points, no
    minimum over all classifiers. `counterweight.numerics.rates.language` tells the language,
    `OPTIONS` the parameters.

    Attributes
    ----------
    coef_, intercept_, norm_, group_boxes_
        See `LinearScore`.
    objective_ : ndarray (T + 1,)
        Objective with its penalty (`penalty_`) at the start and after each step.
    violations_ : ndarray (T + 1, m)
        Left side minus bound of each plain constraint (`constraints_`), randomised; `excess_` (m,)
        of the classifier that is returned.
    multipliers_, gap_ : ndarray (T, m), (T,)
        Of each convex step; the gap is certified.
    feasible_, status_ : bool, str
        feasible, not_reached, or proved_infeasible; then `least_violation_` is what the violations
        of any classifier, linear or not, sum to at least, else 0.
    accepted_, evaluations_ : int
        Convex steps that led to it (0: it is the start, or a known rule), and Newton steps or SVMs.
    behind_ : float
        By how much the objective (randomised or deterministic, the worse) is above that of the
        unconstrained fit with the threshold or the thresholds by group of least cost, as a share of
        its total cost; NaN where none of these meets the constraints.
    collapsed_ : bool
        Whether nobody or everybody is positive on the training rows.
    rule_ : str
        What is returned: steps and where they began, or a known rule. With `start` best and no
        `penalty` it is no worse on the training rows, by chances and decisions, than all steps from
        zero; a known rule is no solution of the problem with its penalty, so that the
        `objective_`, of its score made steep, says nothing.
    warnings_ : list of str
        What is wrong with the result, in sentences; also logged.
    constraint_checks_, thresholds_, threshold_groups_, repair_
        See `RepairedDecisions`.
    margins_, held_out_checks_, certified_, certificate_
        See `MarginFit`.
    """

    loss: str = "ramp"
    steps: int = 8
    method: str = "newton"
    tol: float = 1e-5
    start: str = "best"
    group_features: str = "auto"
    on_infeasible: str = "raise"

    FITTED = {
        "coefficient": "coef_",
        **own("intercept", "objective", "multipliers", "violations", "excess", "least_violation"),
        **own("gap", "penalty", "evaluations", "accepted", "behind", "collapsed"),
        "coefficient_norm": "norm_",
        **own("group_boxes", "map"),
        **STORED,
    }
    NUMBERS = {
        "collapsed": bool,
        **dict.fromkeys(["evaluations", "accepted"], int),
        **STORED_NUMBERS,
        **dict.fromkeys(
            ["intercept", "least_violation", "penalty", "behind", "coefficient_norm"], float
        ),
    }
    KEPT = tuple(name for name in FITTED if name not in ("features", "map"))
    _options = OPTIONS
    _chosen = None
    #: Whether what is found is compared with known rules, for a warning; not where others compare.
    _judged_here = True
    #: Boxes of groups by rows, of fits to the same table that are made one after the other.
    _told = None

    @property
    def _begins_elsewhere(self):
        """Whether the fit begins at what needs no constraints, or is compared with such."""
        alone = self.start == "zero" or (self.start == "best" and self.loss == "hinge")
        return self._judged_here or not alone

    @staticmethod
    def choices(rows):
        """Values of options that are null, by the number of rows of a fit."""
        return {"penalty": tuple(2 / rows * factor for factor in PENALTIES)}

    def _fit(self, data, rng):
        """Refuses constraints that no classifier is found to meet, unless told to keep it."""
        fit_settings([self], data, rng)

    @classmethod
    def fit_sweep(cls, settings, data, rng):
        """Fit the settings of a sweep together, each from its neighbour (see `PATH_STEPS`).

        None where they differ in more than numbers of the constraints, or have margins of their
        own.
        """
        models = cls._swept(settings)
        if models is None:
            return None
        fit_settings(models, data, rng)
        if models[0].map_ is not None:
            models[0].map_.remembered = []
        for model in models:
            model._settle(data)
        return models

    def _imitated(self, data):
        """Costs (2, n) of a yes and a no as errors against the deployed model, to begin from."""
        trees = [parse_expression(self.objective)]
        trees += [
            side for one in plain_constraints(self.constraints) for side in (one.left, one.right)
        ]
        rates = [rate for tree in trees for rate in nodes(tree, Rate)]
        asked = any(rate.deployed or RATES[rate.name].deployed for rate in rates)
        best = self.start == "best" and asked and data.deployed is not None
        if self.start != "deployed" and not best:
            return None
        if data.deployed is None:
            raise CounterweightError(
                "start: deployed needs the scores of a deployed model, and none is given."
            )
        known = ~np.isnan(data.deployed)
        if not known.any():
            raise CounterweightError("The deployed model has no score for any row.")
        positive = known & (data.deployed > 0)
        return np.array([known & ~positive, positive]) / known.sum()

    def _penalty(self, problem, data):
        """lambda; by default twice the objective's cost for a unit of weight, the mean one."""
        cost = problem.positive[0] + problem.negative[0]
        if not cost.any():
            raise CounterweightError(
                f"The objective {self.objective} is the same for all classifiers."
            )
        if self.penalty is not None:
            return self.penalty
        if self.penalties:
            return self._chosen * float(cost.sum())
        seen = (data.y >= 0) & (data.weight > 0)
        scale = data.weight[seen].mean() if seen.any() else 1.0
        weight = np.where(data.y >= 0, data.weight / scale, 1.0)[cost > 0]
        return 2 * float(cost.sum() / weight.sum())

    def _choose_penalty(self, data, rng):
        """Choose among `penalties` by plain SVMs of the labeled rows."""
        if not self.penalties:
            return
        seen = labeled_rows(data)
        rows = self._solver_rows(data.X, seen)[0]
        told = rows, data.y[seen], data.weight[seen]
        self._chosen = best_penalty(*told, self.penalty, self.penalties, rng)
        log.info("penalty chosen on held-out rows: %g", self._chosen)

    def _solved(self, search, near):
        """The fit from the start that is asked for; see `fit_settings`."""
        steps, near = self.steps if self.loss == "ramp" else 1, near and near.solution
        if self.loss == "ramp" and self.start in ("best", "deployed"):
            near = near if near and near.feasible else None
            swap = self.penalty is None
            return search.best(steps, near, PATH_STEPS, swap=swap, signed=self.repairs_)
        if self.start in ("zero", "best"):
            fit = search.run(None, steps, warm=near if steps == 1 else None)
        else:
            first = search.begun.bases if self.start == "svm" else search.begun.others
            first = repaired(search.rows, first[0], search.costs, search.penalty)[0]
            fit = search.run(pair(search.rows, first), steps)
        return Found(fit, fit)

    def _keep(self, found, search, scale, centre):
        """Keep what was found, and warn of what is no good result."""
        fit, rows, costs = found.fit, search.rows, search.costs
        w = vector(rows, fit)
        f = rows.scores(w)
        by_hinge = self.loss == "hinge"
        self.excess_ = fit.violations[fit.accepted] if by_hinge else costs.values(ramp(f))[1:]
        self._keep_score(fit.coefficient, fit.intercept, scale, centre)
        for name in (
            "objective",
            "multipliers",
            "violations",
            "gap",
            "feasible",
            "status",
            "proof",
        ):
            setattr(self, f"{name}_", getattr(fit, name))
        self.evaluations_, self.accepted_ = int(np.sum(fit.evaluations)), int(fit.accepted)
        self.least_violation_ = float(fit.least_violation)
        self.behind_, self.collapsed_, self.fit_warnings_ = np.nan, False, []
        self.rule_ = found.words
        if not self.constraints_:
            return
        log.info("returned: %s", self.rule_)
        if self._judged_here:
            self.behind_ = search.behind(w, self.repairs_)
        share = np.bincount(rows.group, minlength=rows.shape[0]) / len(rows.group)
        covered = np.array([share @ ramp(f), share @ (f > 0)])
        self.collapsed_ = bool((np.minimum(covered, 1 - covered) <= NOBODY).any())
        if self.collapsed_:
            who = "nobody" if covered.min() <= NOBODY else "everybody"
            self.fit_warnings_.append(f"On the training rows {who} is positive.")
        if self.behind_ > WARNED:
            self.fit_warnings_.append(
                f"The unconstrained fit ({search.known[-1].name}) meets the constraints, too, and "
                f"its objective is lower by {self.behind_:.4g} of its total cost."
            )
        if not self.accepted_ and not found.taken and self.start != "best":
            self.fit_warnings_.append("No step was accepted: the classifier is the start.")
        self._log_warnings()

    def _problem(self, data):
        """Coefficients; bounds less the margins of a fit for new rows."""
        problem = compile_rates(self.objective, self.constraints, data, self._numbers())
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


@dataclass(eq=False, repr=False, kw_only=True)
class RetrainedClassifier(ConstrainedClassifier):
    """Classifiers trained batch by batch, each under constraints against the one before.

    After the first batch a classifier is fitted without constraints; it is the trusted one. After
    each further batch one is fitted to all rows so far, under the constraints, for which the
    classifier before is the deployed one: ``churn(everyone) <= target`` keeps answers near its
    answers (stability, section 1 of Goh et al. 2016). ``everyone`` and ``labeled`` are the rows so
    far; a data set that is a batch to come has no rows yet. Rows in no batch are not looked at.
    `batches` and `after` are those of `RETRAINED_OPTIONS`, the others those of
    `ConstrainedClassifier`.

    Attributes
    ----------
    learned_ : DataSets
        What the last fit saw: its rows, and the answers of the classifier before as those of the
        deployed one; the first has none before it, and its constraints no value.
    """

    batches: tuple
    after: int | None = None

    _options = RETRAINED_OPTIONS

    def _learn_all(self, samples, rng):
        """Refuses batches that there are not."""
        self._chain([self], samples, rng)

    @classmethod
    def fit_sweep(cls, settings, data, rng):
        """Fit the settings of a sweep over `after` in one sequence; None for other sweeps."""
        models = [cls(**options) for options in settings]
        same = [{k: v for k, v in vars(model).items() if k != "after"} for model in models]
        if any(options != same[0] for options in same):
            return None
        for model in models:
            check_options(vars(model), cls._options)
        models[0]._chain(models, data, rng)
        return models

    def _chain(self, models, samples, rng):
        """Fit the sequence; each of `models` is the one after as many batches as it asks for."""
        count = len(self.batches)
        asked = {model: count if model.after is None else model.after for model in models}
        most = max(asked.values())
        unknown = [name for name in self.batches if name not in samples.members]
        if unknown:
            raise CounterweightError(
                f"The data sets {listed(unknown)} of batches are not there; there are "
                f"{listed(samples.members) or 'none'}."
            )
        if most > count:
            raise CounterweightError(
                f"after is {most}, and there are {count} batches: ask for one of these."
            )
        names, last = {one.name for one in fields(self)}, None
        for k in range(1, most + 1):
            learned = self._until(samples, k, last)
            last = type(self)(**{name: getattr(self, name) for name in names})
            if k == 1:
                last.constraints = ()
            ConstrainedClassifier._learn_all(last, learned, copy.deepcopy(rng))
            last.constraints, last.learned_ = self.constraints, learned
            if k == 1:
                # Constraints are told, without a value; no other rule stands beside this one by
                # what was not asked of it.
                RateEstimator._check_training(last, learned)
            fitted = {name: value for name, value in vars(last).items() if name not in names}
            for model in models:
                if asked[model] == k:
                    vars(model).update(fitted)

    def _until(self, samples, k, last):
        """Rows of the first k batches, the last model as the deployed one."""
        rows = np.any([samples.members[name] for name in self.batches[:k]], axis=0)
        members = {name: mask[rows] for name, mask in samples.members.items()}
        learned = DataSets(samples.X[rows], samples.y[rows], samples.weight[rows], members)
        if last is not None:
            # Decisions as scores of a deployed model.
            p, decided = last.answers(learned.X, learned)
            yes = (p > 0.5) if decided is None else decided > 0.5
            learned.deployed = np.where(yes, 1.0, -1.0)
        return learned

    def fitted_on(self, samples):
        """What the constraints and measures of training are of."""
        return self.learned_
