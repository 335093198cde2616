"""The settings of a sweep of a constrained classifier, fitted on the way from one to the next."""

import copy

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.group_features import told_boxes
from counterweight.models.constraints.solver.convex import ramp
from counterweight.models.constraints.solver.solver import minimise_rates
from counterweight.models.constraints.starts.known import named_groups, sets_in
from counterweight.models.constraints.starts.logistic import logistic
from counterweight.models.constraints.starts.search import Begun, Search, vector

#: Distinct rows times features squared, above which no logistic regression is compared with.
MOST_WORK = 2e9
#: Shares of one side of an objective's cost below which it says nothing of the other answer.
ONE_SIDED = 1e-9


def fit_settings(models, data, rng):
    """Fit constrained classifiers that differ in the numbers of their constraints only.

    Rows are prepared once. From the setting whose constraints ask most of the unconstrained fit
    the solver goes on to the others, each begun where the one before ended: that classifier
    keeps looser constraints, too.

    Parameters
    ----------
    models : sequence of ConstrainedClassifier
        Equal but for `kappa` and `target`.
    data : DataSets
    rng : numpy.random.Generator
        Every model gets the same draws.

    Raises
    ------
    CounterweightError
        For constraints that no classifier is found to meet, unless the model keeps them.
    """
    first = models[0]
    if first.inner != "newton" and first.method == "newton" and first.constraints:
        raise CounterweightError(
            f"inner: {first.inner} solves the SVMs of the cutting plane, and method newton solves "
            "a step with its constraints whole: set method to cutting_plane or bisection, or leave "
            "out inner."
        )
    problems = [model._problem(data) for model in models]
    first._draw_map(data.X, copy.deepcopy(rng))
    first.group_boxes_ = _group_boxes(first, data, problems[0].names)
    first._choose_penalty(data, copy.deepcopy(rng))
    imitated = first._checked_start(data)
    used = np.zeros(len(data), bool)
    for problem in problems:
        used |= (problem.positive + problem.negative).any(axis=0)
    if imitated is not None:
        used |= imitated.any(axis=0)
    rows, scale, centre = first._distinct_rows(data.X, used)
    begun = Begun(rows)
    searches = []
    for model, problem in zip(models, problems, strict=True):
        model.map_, model.constraints_ = first.map_, problem.names
        model.group_boxes_ = first.group_boxes_
        model.n_features_in_ = data.X.shape[1]
        model._chosen = first._chosen
        model.penalty_ = model._penalty(problem, data)
        positive, negative = problem.positive[:, used], problem.negative[:, used]
        search = Search(
            begun,
            positive,
            negative,
            problem.bounds,
            problem.constants,
            model.penalty_,
            method=model.method,
            chooser=model.chooser,
            inner=model.inner,
            tolerance=model.tolerance,
            elastic=model.elastic,
            loss=model.loss,
        )
        if not begun.bases and len(problem.names):
            begun.bases, sides, penalty = _unconstrained(search, data, used)
            if np.prod(rows.shape) * rows.shape[1] <= MOST_WORK:
                begun.judges = [logistic(rows, *map(rows.merge, sides), penalty / 2)]
            begun.groups, begun.tilts = named_groups(
                rows, {name: mask[used] for name, mask in data.members.items()}, problem.names
            )
            if imitated is not None:
                begun.others.append(_imitation(search, imitated[:, used]))
        searches.append(search)
    near, refused = None, None
    for place in _tightest_first(searches):
        model, search = models[place], searches[place]
        found = model._solved(search, near)
        model._keep(found, search, scale, centre)
        near = found if model.path_steps else None
        if not model.feasible_ and model.on_infeasible == "raise":
            refused = refused or model.infeasibility_
    if refused:
        raise CounterweightError(refused)


def _group_boxes(model, data, texts):
    """Groups that constraints name and a column tells; rows of tables of their own tell nothing."""
    if model.group_features == "none" or model.bias == "none":
        return told_boxes(data.X, [])
    parts = sets_in(texts)
    groups = [np.all([data.members[name] for name in part], axis=0)[data.main] for part in parts]
    X = data.X if data.main.all() or not groups else data.X[data.main]
    return told_boxes(X, groups, model.map_ is None or model.linear_part)


def _tightest_first(searches):
    """Places of the settings: those first whose bounds the unconstrained fit keeps least."""
    begun = searches[0].begun
    if not begun.bases:
        return range(len(searches))
    p = ramp(begun.rows.scores(begun.bases[0]))
    asked = [-search.costs.values(p)[1:].sum() for search in searches]
    return np.argsort(asked, kind="stable")


def _svm(rows, positive, negative, penalty, **options):
    fit = minimise_rates(
        rows,
        positive[None],
        negative[None],
        np.empty(0),
        penalty=penalty,
        loss="hinge",
        steps=1,
        **options,
    )
    return vector(rows, fit)


def _unconstrained(search, data, used):
    """SVMs without constraints, the costs of a yes and a no that they go by, and the penalty.

    That of the objective, or of the error where the objective knows one answer only; where its
    answers are far rarer than they should be, also one with equal total costs of both sides,
    whose scores still tell the rows apart.
    """
    positive, negative = search.problem[0][0], search.problem[1][0]
    sides, penalty = np.array([positive.sum(), negative.sum()]), search.penalty
    if sides.min() <= ONE_SIDED * sides.max():
        y, weight = data.y[used], np.where(data.y >= 0, data.weight, 0.0)[used]
        positive, negative = weight * (y == 0), weight * (y == 1)
        sides = np.array([positive.sum(), negative.sum()])
        if not sides.all():
            plain = _svm(search.rows, *search.problem[0][:1], search.problem[1][0], penalty)
            return [plain], (positive, negative), penalty
        penalty = 2.0
    plain = _svm(search.rows, positive, negative, penalty)
    rows = search.rows
    share = np.bincount(rows.group, positive + negative, rows.shape[0])
    covered = share @ (rows.scores(plain) > 0) / share.sum() * sides.sum() / sides[1]
    if 0.6 <= covered <= 1 / 0.6:
        return [plain], (positive, negative), penalty
    even = sides.mean() / sides
    more = _svm(search.rows, positive * even[0], negative * even[1], penalty)
    return [plain, more], (positive, negative), penalty


def _imitation(search, costs):
    """The SVM that imitates the deployed model."""
    penalty = min(search.penalty, 2 * float(costs.sum(axis=0).max()))
    return _svm(search.rows, *costs, penalty, svm_gap=None)
