"""Linear classifier trained under constraints on the rates of named data sets."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.models.constraints.estimator import RateEstimator, check_options
from counterweight.models.constraints.feature_maps import KINDS, FeatureMap, deviations, means
from counterweight.models.constraints.solver.convex import ramp
from counterweight.models.constraints.start import imitation_costs, nearest_feasible
from counterweight.numerics.rates.coefficients import compile as compile_rates
from counterweight.numerics.rates.datasets import DataSets, checked_features, is_sparse

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
    "kappa": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "Value of the parameter kappa in the expressions.",
    },
    "target": {
        "type": ["number", "null"],
        "default": None,
        "description": "Value of the parameter target in the expressions.",
    },
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
    "bias": {
        "enum": ["regularised", "free", "none"],
        "default": "regularised",
        "description": "regularised: a constant feature 1, penalised as the others; free: not "
        "penalised; none: through the origin.",
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
        "enum": ["zero", "svm", "deployed"],
        "default": "zero",
        "description": "zero: w = 0; svm: the unconstrained fit; deployed: an imitation of the "
        "deployed model. The last two are scaled and shifted to meet the constraints.",
    },
    "elastic": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "First price of a unit of violation, in units of the objective, while no "
        "feasible classifier is known; null: ten times the total cost of the objective for that "
        "of a constraint.",
    },
    "features": {
        "enum": ["none", "fourier", "nystroem"],
        "default": "none",
        "description": "Fixed map of the features that makes a kernel classifier.",
    },
    "linear_part": {
        "type": "boolean",
        "default": False,
        "description": "Whether the features themselves stand beside those of the map.",
    },
    "feature_count": {
        "type": "integer",
        "minimum": 1,
        "default": 300,
        "description": "Features of the map.",
    },
    "feature_scale": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "Scale of the map's Gaussian kernel in standard deviations of the "
        "features; null: the median distance of 1,000 rows.",
    },
    "standardise": {
        "type": "boolean",
        "default": False,
        "description": "Whether features are brought to mean 0 and standard deviation 1 before "
        "the penalty counts (sparse ones are scaled only).",
    },
    "held_out": {
        "type": "number",
        "minimum": 0,
        "exclusiveMaximum": 1,
        "default": 0.0,
        "description": "Share of the rows of each data set on which the constraints are held, "
        "and the objective is not; 0: both on all rows.",
    },
    "on_infeasible": {
        "enum": ["raise", "keep"],
        "default": "raise",
        "description": "When no classifier that meets all constraints is found: stop with the "
        "least violation reached, or keep the classifier that has it.",
    },
}

#: Rows denser than this stay dense in the solver.
SPARSE_SHARE = 0.25


class ConstrainedClassifier(RateEstimator):
    """Minimise rates on data sets, subject to bounds on rates on data sets.

    Problem 2 of Goh, Cotter, Gupta & Friedlander (2016): f(x) = <w, x> + intercept; the
    randomised classifier predicts positive with probability max(0, min(1, 1/2 + f)), the
    deterministic one iff f > 0. Constraints are met by the randomised classifier on the rows
    it is trained on; how far test rows and the deterministic one follow is to be measured.

    The problem is not convex: what is found is the best of a sequence of feasible points,
    no minimum over all classifiers. `counterweight.numerics.rates.language` tells the language.

    Parameters
    ----------
    objective, constraints, kappa, target, penalty, loss, steps, bias, method, chooser,
    tolerance, start, elastic, features, linear_part, feature_count, feature_scale, standardise,
    held_out, on_infeasible
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

    SAMPLED = DataSets
    KEPT = (
        "coefficient",
        "intercept",
        "objective",
        "multipliers",
        "violations",
        "excess",
        "gap",
        "feasible",
        "least_violation",
        "penalty",
        "evaluations",
        "coefficient_norm",
    )

    def __init__(
        self,
        objective="error(labeled)",
        constraints=(),
        kappa=None,
        target=None,
        penalty=None,
        loss="ramp",
        steps=8,
        bias="regularised",
        method="newton",
        chooser="centre",
        tolerance=1e-5,
        start="zero",
        elastic=None,
        features="none",
        linear_part=False,
        feature_count=300,
        feature_scale=None,
        standardise=False,
        held_out=0.0,
        on_infeasible="raise",
    ):
        self.objective = objective
        self.constraints = constraints
        self.kappa = kappa
        self.target = target
        self.penalty = penalty
        self.loss = loss
        self.steps = steps
        self.bias = bias
        self.method = method
        self.chooser = chooser
        self.tolerance = tolerance
        self.start = start
        self.elastic = elastic
        self.features = features
        self.linear_part = linear_part
        self.feature_count = feature_count
        self.feature_scale = feature_scale
        self.standardise = standardise
        self.held_out = held_out
        self.on_infeasible = on_infeasible

    def fit(
        self,
        X=None,
        y=None,
        sample_weight=None,
        *,
        datasets=None,
        deployed=None,
        rng=None,
        samples=None,
    ):
        """Fit the classifier.

        Parameters
        ----------
        X : array or scipy.sparse matrix (n, d)
            Rows of ``everyone``. Not looked at where `samples` are given.
        y : array (n,) of 0 and 1
            -1 where the label is hidden; such rows are in ``unlabeled``.
        sample_weight : array (n,), optional
            Weights of the labeled rows, e.g. of Lemma 1 or 2.
        datasets : dict of str to bool array (n,) or to tuple, optional
            The named data sets: masks over the rows of `X`, or tables ``(X2, y2)`` or
            ``(X2, y2, weight2)`` of their own, with None for `y2` where there are no labels.
        deployed : array (n,) or callable, optional
            Scores of the deployed model (positive iff above 0), or a function of features.
        rng : numpy.random.Generator, optional
            For the feature map and the held-out rows; a fixed one by default.
        samples : DataSets, optional
            All of the above in one.

        Returns
        -------
        ConstrainedClassifier

        Raises
        ------
        CounterweightError
            For data or texts that cannot be used, and when no feasible classifier is found.
        """
        from counterweight.models.constraints.solver.solver import minimise_rates

        check_options(self, OPTIONS)
        data = self._data(X, y, sample_weight, datasets, deployed) if samples is None else samples
        rng = np.random.default_rng(0) if rng is None else rng
        self.n_features_in_ = data.X.shape[1]
        problem = self._problem(data, rng)
        self.constraints_ = problem.names
        self.map_ = None
        if self.features != "none":
            self.map_ = FeatureMap(self.features, self.feature_count, self.feature_scale)
            self.map_.fit(data.X, rng)

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
        rows, centre, scale = self._rows(data.X, used)
        positive, negative = problem.positive[:, used], problem.negative[:, used]
        shared = {"penalty": self.penalty_, "bias": self.bias, "tolerance": self.tolerance}
        start = None
        if self.start == "svm":
            start = (positive[:1], negative[:1], self.penalty_)
        elif self.start == "deployed":
            asked = imitated[:, used]
            start = (asked[:1], asked[1:], min(self.penalty_, 2 * float(asked.sum(0).max())))
        if start is not None:
            first = minimise_rates(
                rows,
                start[0],
                start[1],
                np.empty(0),
                **shared | {"penalty": start[2]},
                loss="hinge",
                steps=1,
                svm_gap=None,
            )
            start = nearest_feasible(
                rows,
                first.coefficient,
                first.intercept,
                positive,
                negative,
                problem.constants,
                problem.bounds,
                self.penalty_,
                self.bias,
            )
        found = minimise_rates(
            rows,
            positive,
            negative,
            problem.bounds,
            constants=problem.constants,
            **shared,
            start=start,
            steps=self.steps if self.loss == "ramp" else 1,
            loss=self.loss,
            method=self.method,
            chooser=self.chooser,
            elastic=self.elastic,
        )
        p = ramp(rows @ found.coefficient + found.intercept)
        self.excess_ = positive[1:] @ p + negative[1:] @ (1 - p) + problem.constants[1:]
        self.excess_ -= problem.bounds
        self._keep(found, centre, scale)
        if not self.feasible_ and self.on_infeasible == "raise":
            raise CounterweightError(self.infeasibility_)
        return self

    @staticmethod
    def _data(X, y, sample_weight, datasets, deployed):
        if X is None or y is None:
            raise CounterweightError("fit needs X and y, or samples.")
        return DataSets.stack(X, y, sample_weight, datasets, deployed)

    def _problem(self, data, rng):
        """Coefficients; with held-out rows the constraints' come from these rows."""
        parameters = {"kappa": self.kappa, "target": self.target}
        if not self.held_out or not len(self.constraints):
            return compile_rates(self.objective, self.constraints, data, parameters)
        held = data.held_out(self.held_out, rng)
        try:
            free = compile_rates(self.objective, [], data.only(~held), parameters)
            # The objective of the second is not used: any that the rows allow will do.
            tied = compile_rates(
                "coverage(everyone)", self.constraints, data.only(held), parameters
            )
        except CounterweightError as error:
            raise CounterweightError(f"With held_out {self.held_out:g}: {error}") from error
        return tied._replace(
            positive=np.concatenate([free.positive, tied.positive[1:]]),
            negative=np.concatenate([free.negative, tied.negative[1:]]),
            constants=np.concatenate([free.constants, tied.constants[1:]]),
        )

    def _mapped(self, X):
        """Rows as the linear classifier sees them."""
        if self.map_ is None:
            return X
        mapped = self.map_.transform(X)
        if not self.linear_part:
            return mapped
        return np.hstack([X.toarray() if is_sparse(X) else X, mapped])

    def _rows(self, X, used):
        """Rows for the solver, and the centre and scale that they were given."""
        rows = X if used.all() else X[used]
        rows = self._mapped(rows)
        centre, scale = None, None
        if self.standardise and self.map_ is None:
            scale = deviations(X)
            if is_sparse(rows):
                from scipy import sparse

                return rows @ sparse.diags(1 / scale), centre, scale
            centre = means(X)
            rows = (rows - centre) / scale
        if not is_sparse(rows) and np.count_nonzero(rows) < SPARSE_SHARE * rows.size:
            from scipy import sparse

            rows = sparse.csr_matrix(rows)
        return rows, centre, scale

    def _keep(self, found, centre, scale):
        coefficient, intercept = np.asarray(found.coefficient, float), float(found.intercept)
        penalised = intercept if self.bias == "regularised" else 0.0
        self.norm_ = float(np.sqrt(coefficient @ coefficient + penalised**2))
        if scale is not None:
            coefficient = coefficient / scale
            if centre is not None:
                intercept -= float(centre @ coefficient)
        self.coef_, self.intercept_ = coefficient, intercept
        self.objective_ = np.asarray(found.objective, dtype=float)
        self.multipliers_ = np.asarray(found.multipliers, dtype=float)
        self.violations_ = np.asarray(found.violations, dtype=float)
        self.gap_ = np.asarray(found.gap, dtype=float)
        self.feasible_ = bool(found.feasible)
        self.evaluations_ = int(np.sum(found.evaluations))
        self.status_ = str(found.status)
        self.least_violation_ = float(found.least_violation)
        self.proof_ = np.asarray(found.proof, dtype=float)

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

    def decision_function(self, X):
        """f(x) of rows, dense or sparse; (n,)."""
        self._check_fitted()
        X = checked_features(X)
        if X.shape[1] != self.n_features_in_:
            raise CounterweightError(
                f"The model has {self.n_features_in_} features, the rows to predict {X.shape[1]}."
            )
        X = self._mapped(X)
        return np.asarray(X @ self.coef_).ravel() + self.intercept_

    def predict(self, X):
        """The deterministic classifier: 1 where f > 0, else 0."""
        return (self.decision_function(X) > 0).astype(int)

    def predict_proba(self, X):
        """The randomised classifier: probabilities (n, 2) of a negative and positive prediction.

        Column 1 is max(0, min(1, 1/2 + f)). It is no estimate of p(y | x).
        """
        positive = ramp(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def to_arrays(self):
        """Everything fitted, as arrays by name."""
        self._check_fitted()
        arrays = {
            "coefficient": self.coef_,
            "intercept": np.array([self.intercept_]),
            "objective": self.objective_,
            "multipliers": self.multipliers_,
            "violations": self.violations_,
            "excess": self.excess_,
            "least_violation": np.array([self.least_violation_]),
            "gap": self.gap_,
            "feasible": np.array([float(self.feasible_)]),
            "penalty": np.array([self.penalty_]),
            "evaluations": np.array([float(self.evaluations_)]),
            "coefficient_norm": np.array([self.norm_]),
            "features": np.array([float(self.n_features_in_)]),
        }
        return arrays | (self.map_.to_arrays() if self.map_ is not None else {})

    @classmethod
    def from_arrays(cls, arrays):
        """A fitted model from what `to_arrays` gave; it can predict."""
        model = cls()
        model.coef_ = np.asarray(arrays["coefficient"], dtype=float)
        model.intercept_ = float(np.ravel(arrays["intercept"])[0])
        model.n_features_in_ = int(np.ravel(arrays["features"])[0])
        model.map_ = FeatureMap.from_arrays(arrays) if "map_kind" in arrays else None
        if model.map_ is not None:
            model.features = KINDS[int(np.ravel(arrays["map_kind"])[0])]
            model.linear_part = len(model.coef_) > model.map_.projection_.shape[1]
        for name in ("objective", "multipliers", "violations", "excess", "gap"):
            # Arrays without any entry, such as the multipliers of no constraint, are not kept.
            setattr(model, f"{name}_", np.asarray(arrays.get(name, ()), dtype=float))
        model.least_violation_ = float(np.ravel(arrays["least_violation"])[0])
        model.feasible_ = bool(np.ravel(arrays["feasible"])[0])
        model.penalty_ = float(np.ravel(arrays["penalty"])[0])
        model.evaluations_ = int(np.ravel(arrays["evaluations"])[0])
        model.norm_ = float(np.ravel(arrays["coefficient_norm"])[0])
        return model
