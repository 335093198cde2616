"""Weighted mixtures of Gaussians, and of categories beside them, by EM, many restarts at once.

Alone, or as a prior and a mixture of the features for each of two classes, with Bayes' rule.
"""

import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import (
    check_options,
    checked_labels,
    checked_new_rows,
    checked_rows,
    checked_weights,
    mean_one_weights,
    named,
)
from counterweight.numerics.emissions import (
    COVARIANCES,
    Layout,
    MixedRows,
    gaussian_log_density,
    log_sum_exp,
    mixed_log_density,
)
from counterweight.numerics.mixture_steps import (
    Parameters,
    QuadraticRows,
    chosen,
    extrapolated,
    floored,
    maximisation,
    split_moments,
)

LIMITS = {
    "components": {"type": "integer", "minimum": 1},
    "n_init": {"type": "integer", "minimum": 1},
    "tol": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    "max_iter": {"type": "integer", "minimum": 1},
    "reg_covar": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
}
#: Relative change of the log-likelihood at which a rough search leaves a start, and how many
#: of the best are run on to the end.
ROUGH_TOL, FINISHED = 1e-6, 3
#: Rows, at least, and rows for each number of a mixture, of the sample that large tables are
#: searched on; from how many times its rows it is drawn, and starts for each that is asked for.
SAMPLE_ROWS, SAMPLE_ROWS_A_NUMBER = 6_000, 5
WORTH_SAMPLING, STARTS_ON_SAMPLE = 1.5, 2


@dataclass(frozen=True)
class Mixture:
    """A fitted Gaussian mixture, in the units of the rows that it was fitted to.

    Attributes
    ----------
    weights, means, covariances : ndarrays (K,), (K, d), (K, d, d)
    log_likelihood : float
        Sum over rows of row weight times log p(x), for exactly these parameters.
    history, converged, n_iter
        Log-likelihood at each iteration of the restart that won; whether it met the tolerance.
    restart_log_likelihood, restart_iterations : ndarrays (R,)
        Last value of each restart on all rows, and how many; after a search those that were not
        run on have what it left them at.
    updates_held, components_small : int
        Component updates of the winner held back for lack of rows; components with one.
    shares : ndarray (K, L), optional
        Of the levels of categories, where there are any.
    layout : Layout, optional
        Which columns are numbers, those of means and covariances, and which are categories.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    log_likelihood: float = float("nan")
    history: np.ndarray = None
    restart_log_likelihood: np.ndarray = None
    restart_iterations: np.ndarray = None
    converged: bool = True
    n_iter: int = 0
    updates_held: int = 0
    shares: np.ndarray = None
    layout: Layout = None
    components_small: int = 0

    def component_log_density(self, X):
        """Log density of each row under each component, (n, K); the weights are not in it."""
        if self.layout is None:
            return gaussian_log_density(X, self.means, self.covariances)
        parts = (self.means, self.covariances, self.shares, self.layout.offsets)
        return mixed_log_density(*self.layout.split(X), *parts)

    def log_density(self, X):
        """Log density of each row under the mixture, (n,)."""
        with np.errstate(divide="ignore"):
            joint = self.component_log_density(X) + np.log(self.weights)
        return log_sum_exp(joint)


class Standardised:
    """Rows (n, d) centred and scaled by weighted mean and standard deviation, and the way back.

    Rows of weight zero are left out; `feature_names` are for messages. Rows are divided by `scale`
    (d,), if given, instead of their standard deviation.
    """

    def __init__(self, X, row_weights, feature_names=None, block=1984, scale=None):
        self.used = np.flatnonzero(row_weights > 0)
        if len(self.used) < len(X):
            X, row_weights = X[self.used], row_weights[self.used]
        self.total = row_weights.sum()
        self.mean = row_weights @ X / self.total
        rows = X - self.mean
        self.scale = np.sqrt(row_weights @ np.square(rows) / self.total)
        constant = np.flatnonzero(
            (self.scale <= 1e-12 * np.abs(self.mean)) | (np.ptp(X, axis=0) == 0)
        )
        if len(constant):
            raise CounterweightError(
                f"Feature {listed(named(constant, feature_names))} is constant over the "
                f"{len(X)} rows given, so a full covariance does not exist: drop the feature "
                "or add noise to it."
            )
        if scale is not None:
            self.scale = np.asarray(scale, dtype=float)
        rows /= self.scale
        self.features = QuadraticRows(rows, row_weights, block=block)
        self.log_jacobian = self.total * np.log(self.scale).sum()

    def inward(self, start, floor):
        """Parameters (K, 1, ...) of a `Mixture` in the units of the rows."""
        means = (np.asarray(start.means) - self.mean) / self.scale
        covariances = np.asarray(start.covariances) / np.outer(self.scale, self.scale)
        return Parameters(
            np.asarray(start.weights, dtype=float)[:, None],
            means[:, None],
            floored(covariances, floor)[:, None],
        )

    def outward(self, parameters):
        """Weights, means and covariances of one mixture of a batch of one, by name."""
        return {
            "weights": parameters.weights[:, 0],
            "means": self.mean + self.scale * parameters.means[:, 0],
            "covariances": np.outer(self.scale, self.scale) * parameters.covariances[:, 0],
        }

    def batch(self, weights, means, covariances, shares):
        """Parameters of standardised rows, each with the axes (K, R); there are no shares."""
        return Parameters(weights, means, covariances)

    def moments(self, moments):
        """Totals (...), first (..., d) and second (..., d, d) moments, and counts of levels."""
        return *split_moments(moments, len(self.mean)), moments[..., :0]

    def shares(self, counts):
        """Shares of levels from their counts: there are none."""
        return counts

    def normalised(self, shares):
        """Shares as they are: there are none."""
        return shares

    def part(self, counts):
        """The rows that are counted, as often as they are, in the same units."""
        at, part = np.flatnonzero(counts), copy.copy(self)
        features = self.features
        part.features = QuadraticRows(features.rows[at], counts[at], block=features.block)
        part.total = counts.sum()
        return part

    def log_prior(self, parameters):
        """Nothing is added to the log-likelihood."""
        return 0.0

    def maximisation(self, moments, previous, held, floor):
        """See `mixture_steps`."""
        return maximisation(moments, previous, held, floor)


def fit_mixture(
    X,
    n_components,
    *,
    sample_weight=None,
    n_init=25,
    tol=1e-7,
    max_iter=2000,
    rng=None,
    start=None,
    responsibilities=None,
    screen=True,
    reg_covar=1e-6,
    minimum_rows=None,
    feature_names=None,
    block=1984,
    scale=None,
    layout=None,
    covariance="full",
):
    """Fit a Gaussian mixture by weighted EM and keep the best of several restarts, a `Mixture`.

    Each restart starts from uniform random responsibilities and stops when the relative change of
    the log-likelihood, that of the standardised rows and at least one nat a row, falls below
    `tol` (Smith & Elkan 2007, section 5). A component with fewer than `minimum_rows` rows
    assigned to it (2d if None) is not updated. EM assumes that the mixture is the true family; with
    another truth it finds the closest in Kullback-Leibler divergence that the restarts reach.

    `X` (n, d) is finite, without a constant feature; a row of `sample_weight` two counts as two
    rows, in the likelihood and in `minimum_rows`. It starts at random by `rng`, or once from the
    Mixture `start`, or from `responsibilities` (R, n, K), which sum to one. With `screen`
    random starts are searched roughly, those of large tables on a sample, and the few best are run
    on to the end on all rows; without, all are. `reg_covar` is the least eigenvalue of a
    covariance in units of `scale`, the weighted standard deviations if None; mixtures that are
    compared need the same. With a `layout` of numbers and categories missing entries integrate out,
    and the history is that of the log-likelihood plus the log prior of the smoothed levels.
    """
    if layout is None and covariance != "full":
        layout = Layout.of(np.shape(X)[1])
    X = checked_rows(X, feature_names) if layout is None else np.asarray(X, dtype=float)
    n, d = len(X), X.shape[1] if layout is None else layout.features
    row_weights = checked_weights(sample_weight, n)
    if start is not None:
        n_components = len(start.weights)
    given = {"components": n_components, "n_init": n_init, "tol": tol, "max_iter": max_iter}
    check_options(given | {"reg_covar": reg_covar}, LIMITS)
    minimum_rows = 2 * d if minimum_rows is None else int(minimum_rows)
    used = int((row_weights > 0).sum())
    needed = n_components * max(minimum_rows, 1)
    present = row_weights.sum() if sample_weight is not None else used
    if present < needed:
        counted = f"{used}" if sample_weight is None else f"{present:.6g} by weight, in {used} rows"
        raise CounterweightError(
            f"A mixture of {n_components} components of {d} features needs at least {needed} "
            f"rows with a positive weight, but there are {counted}: ask for at most "
            f"{int(present // max(minimum_rows, 1))} components, give more rows, or scale the "
            "weights to a mean of 1."
        )
    if layout is None:
        data = Standardised(X, row_weights, feature_names, block, scale)
    else:
        data = MixedRows(X, row_weights, layout, covariance, block, scale)
    rule = {"tol": tol, "max_iter": max_iter, "floor": reg_covar, "minimum_rows": minimum_rows}
    if start is not None:
        first, part = data.inward(_fitting(start, layout, d), reg_covar), data
    else:
        first, part = _starts(data, n, n_components, responsibilities, n_init, rng, screen)
        first = data.maximisation(first, None, None, reg_covar)
    if screen and first.weights.shape[1] > FINISHED:
        return _best_of_searched(data, part, first, rule)
    climb = _climb(data, first, np.float64, **rule)
    return _mixture(data, climb, int(np.argmax(climb.last)), climb.last, climb.iterations)


def _fitting(start, layout, d):
    """A mixture to start from, if it has the features and categories of the rows."""
    if start.layout != layout:
        raise CounterweightError(
            "The mixture to start from has other categories than the rows: give it the same."
        )
    if layout is None and np.shape(start.means)[1] != d:
        raise CounterweightError(
            f"The mixture to start from has {np.shape(start.means)[1]} features, the rows {d}."
        )
    return start


def _starts(data, n, k, responsibilities, n_init, rng, screen):
    """Moments of responsibilities that are given, or else random, and the rows that they are of.

    Few runs of many end at the best optimum. On a sample, drawn by weight, more random ones cost
    less, so large tables are searched there.
    """
    if responsibilities is None and rng is None:
        raise CounterweightError("A random start needs a random generator: give rng.")
    if responsibilities is None:
        weights = data.features.row_weights
        sample = max(SAMPLE_ROWS, SAMPLE_ROWS_A_NUMBER * k * data.features.width)
        if screen and n_init > 1 and len(weights) > WORTH_SAMPLING * sample:
            data = data.part(_drawn(weights, sample, rng))
            n_init = max(STARTS_ON_SAMPLE * n_init, FINISHED + 1)
        return data.features.random_moments(k, n_init, rng), data
    responsibilities = np.asarray(responsibilities, dtype=float)
    if responsibilities.ndim != 3 or responsibilities.shape[1:] != (n, k):
        raise CounterweightError(
            f"Responsibilities must have the shape (restarts, {n}, {k}), "
            f"not {responsibilities.shape}."
        )
    return data.features.moments(responsibilities[:, data.used]), data


@dataclass
class _Climb:
    """What EM left of a batch of mixtures: see `Mixture` for the meaning."""

    parameters: Parameters
    last: np.ndarray
    iterations: np.ndarray
    converged: np.ndarray
    updates_held: np.ndarray
    ever_held: np.ndarray
    history: list


def _best_of_searched(data, part, first, rule):
    """Search roughly, among the rows `part`; finish the best few on all rows.

    What the rough search leaves to be gained is small beside what parts one optimum from another,
    so it is in single precision and stops early. The end is as exact as without a search.
    """
    found = _climb(part, first, np.float32, **rule | {"tol": max(ROUGH_TOL, rule["tol"])})
    reached = found.last
    if part is not data:
        reached = data.features.expectation(found.parameters, np.float32, False).log_likelihood
        reached = reached - data.log_jacobian + data.log_prior(found.parameters)
    best = np.argsort(-reached, kind="stable")[:FINISHED]
    climb = _climb(data, found.parameters.restarts(best), np.float64, **rule)
    reached[best] = climb.last
    found.iterations[best] += climb.iterations
    return _mixture(data, climb, int(np.argmax(climb.last)), reached, found.iterations)


def _drawn(weights, size, rng):
    """How often each row is drawn, (n,), by systematic sampling of `size` rows by weight."""
    order, counts = rng.permutation(len(weights)), np.empty(len(weights))
    places = np.cumsum(weights[order]) * (size / weights.sum()) + rng.random()
    counts[order] = np.diff(np.floor(places), prepend=0.0)
    return counts


def _mixture(data, climb, index, reached, iterations):
    """The mixture at `index` of a climb, with what all restarts reached, in how many iterations."""
    best = climb.parameters.restarts([index])
    history = np.array([row[index] for row in climb.history])
    return Mixture(
        **data.outward(best),
        log_likelihood=float(climb.last[index] - np.sum(data.log_prior(best))),
        history=history[~np.isnan(history)],
        restart_log_likelihood=reached,
        restart_iterations=iterations,
        converged=bool(climb.converged[index]),
        n_iter=int(climb.iterations[index]),
        updates_held=int(climb.updates_held[index]),
        components_small=int(climb.ever_held[:, index].sum()),
    )


def _climb(data, parameters, dtype, *, tol, max_iter, floor, minimum_rows):
    """Run EM on a batch of mixtures until each has converged, every third step extrapolated.

    Squared extrapolation (Varadhan & Roland 2008, S3): from two steps of EM a third one is
    foretold, and undone where the log-likelihood is less there. A restart stops when a step of
    EM itself gains no more than the tolerance. In single precision it also stops when its
    log-likelihood falls by such a step, which only rounding can make it do.
    """
    n_init = parameters.weights.shape[1]
    live, reach = np.arange(n_init), np.ones(n_init)
    climb = _Climb(
        parameters=type(parameters)(*(values.copy() for values in parameters)),
        last=np.full(n_init, -np.inf),
        iterations=np.zeros(n_init, dtype=int),
        converged=np.zeros(n_init, dtype=bool),
        updates_held=np.zeros(n_init, dtype=int),
        ever_held=np.zeros(parameters.weights.shape, dtype=bool),
        history=[],
    )
    path, far = [], False
    while True:
        statistics = data.features.expectation(parameters, dtype, minimum_rows > 0)
        current = statistics.log_likelihood - data.log_jacobian + data.log_prior(parameters)
        change = current - climb.last[live]
        fell = ~(change >= 0) if far else np.zeros(len(live), dtype=bool)
        if not np.isfinite(current[~fell]).all():
            raise CounterweightError(
                "The log-likelihood of a mixture is not finite: a row lies too far from all "
                "components. Look for extreme values in the features."
            )
        climb.last[live[~fell]] = current[~fell]
        climb.history.append(np.full(n_init, np.nan))
        climb.history[-1][live[~fell]] = current[~fell]
        done = np.zeros(len(live), dtype=bool)
        if not far:
            # Relative to the likelihood of standardised rows: units must not move the stop.
            size = np.maximum(np.abs(statistics.log_likelihood), data.total)
            done = np.abs(change) <= tol * size
            if dtype == np.float32:
                done |= change < 0
        climb.converged[live[done]] = True
        keep = ~done & ((climb.iterations[live] < max_iter) | fell)
        if not keep.all():
            for final, values in zip(climb.parameters, parameters, strict=True):
                final[:, live[~keep]] = values[:, ~keep]
            parameters, fell, live = parameters.restarts(keep), fell[keep], live[keep]
            path = [earlier.restarts(keep) for earlier in path]
        if not len(live):
            return climb
        hard, moments = statistics.hard[:, keep], statistics.moments[:, keep]
        held = (hard < minimum_rows) | (moments[..., 0] <= 1e-10 * data.total)
        climb.updates_held[live] += (held & ~fell).sum(axis=0)
        climb.ever_held[:, live] |= held & ~fell
        new = data.maximisation(moments, parameters, held | fell, floor)
        climb.iterations[live] += ~fell
        if far:
            reach[live] = np.where(fell, np.maximum(reach[live] / 4, 1.0), reach[live])
            parameters, path, far = chosen(fell, path[-1], new), [], False
        else:
            path.append(parameters)
            parameters = new
            if len(path) == 2:
                path.append(new)
                parameters, reach[live] = extrapolated(path, reach[live], floor, data.normalised)
                far = True


class ClassMixtures(NamedTuple):
    """Mixtures of K components over d features for class 0 and class 1.

    Attributes
    ----------
    prior : ndarray (2,)
    weights : ndarray (2, K)
    means : ndarray (2, K, d)
    covariances : ndarray (2, K, d, d)
    shares : ndarray (2, K, L), optional
        Of the levels of categories; then d counts the numbers alone.
    layout : Layout, optional
        Which columns are numbers and which are categories; None where all are numbers.
    covariance : {"full", "diagonal", "tied"}
        What the covariances of a class were fitted as.
    """

    prior: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    shares: np.ndarray = None
    layout: Layout = None
    covariance: str = "full"

    @property
    def width(self):
        """Columns that rows must have."""
        return self.means.shape[-1] if self.layout is None else self.layout.width

    def joint_log_density(self, X):
        """Log p(y) + log p(x | y) of rows (n, d) for both classes, (n, 2)."""
        k, d = self.means.shape[1:]
        parts = (self.means.reshape(2 * k, d), self.covariances.reshape(2 * k, d, d))
        if self.layout is None:
            density = gaussian_log_density(checked_new_rows(X, d), *parts)
        else:
            parts += (self.shares.reshape(2 * k, -1), self.layout.offsets)
            density = mixed_log_density(*self.layout.split(X), *parts)
        with np.errstate(divide="ignore"):
            density = density.reshape(-1, 2, k) + np.log(self.weights)
            return log_sum_exp(density) + np.log(self.prior)

    def to_arrays(self):
        """The parameters as arrays of at most three dimensions, by name."""
        d = self.means.shape[-1]
        arrays = self._asdict() | {"covariances": self.covariances.reshape(-1, d, d)}
        layout, shares = arrays.pop("layout"), arrays.pop("shares")
        kind = np.array([COVARIANCES.index(arrays.pop("covariance"))])
        if layout is None:
            return arrays
        told = {f"layout_{name}": values for name, values in layout.to_arrays().items()}
        return arrays | {"shares": shares, "layout_covariance": kind} | told

    @classmethod
    def from_arrays(cls, arrays):
        """The parameters from what `to_arrays` gave, among other arrays."""
        mixtures = cls(*(np.asarray(arrays[name], dtype=float) for name in cls._fields[:4]))
        _, k, d = mixtures.means.shape
        mixtures = mixtures._replace(covariances=mixtures.covariances.reshape(2, k, d, d))
        if "layout_category" not in arrays:
            return mixtures
        prefix = "layout_"
        told = {n.removeprefix(prefix): v for n, v in arrays.items() if n.startswith(prefix)}
        # Arrays of no element, those of rows without any category, need not have been kept.
        shares = np.asarray(arrays.get("shares", np.empty((2, k, 0))), dtype=float)
        return mixtures._replace(
            shares=shares.reshape(2, k, -1),
            layout=Layout.from_arrays(told),
            covariance=COVARIANCES[int(np.ravel(told["covariance"])[0])],
        )


def posterior(joint):
    """Class probabilities (n, 2) from log joint densities (n, 2)."""
    return np.exp(joint - log_sum_exp(joint)[:, None])


def fit_class_mixtures(
    X,
    y,
    components,
    *,
    sample_weight=None,
    rng=None,
    base=None,
    separate=False,
    layout=None,
    covariance="full",
    **options,
):
    """Fit a mixture to the rows of each class by weighted EM.

    Both start from one mixture of all rows, `base`, fitted first if there is none; or, if
    `separate`, each from random starts of its own. Weights may be on any scale: their mean is made
    1. Tied covariances are alike in the components of a class. `options` are restarts, tolerance,
    max_iter and reg_covar of `fit_mixture`.

    Returns `mixtures` ClassMixtures; `fitted` list of Mixture: those of all rows (if there is one),
    of class 0 and of class 1; `log_likelihood` float: sum over rows of row weight times log p(x,
    y).
    """
    if layout is None and covariance != "full":
        layout = Layout.of(np.shape(X)[1])
    X = checked_rows(X) if layout is None else np.asarray(X, dtype=float)
    row_weights, unit = mean_one_weights(sample_weight, len(X))
    y = checked_labels(y, len(X))
    members = [np.flatnonzero((y == label) & (row_weights > 0)) for label in (0, 1)]
    for label in (0, 1):
        if not len(members[label]):
            raise CounterweightError(
                f"No labeled row with a positive weight has the label {label}: "
                "a classifier needs both classes, not one class alone."
            )
    # One scale for both classes: a floor in units of each class would move the boundary.
    scale = _scale(X if layout is None else layout.split(X)[0], row_weights)
    options |= {"rng": rng, "scale": scale, "layout": layout, "covariance": covariance}
    if separate:
        base = None
    elif base is None:
        base = fit_mixture(X, components, sample_weight=row_weights, **options)
    elif len(base.means) != components or (base.layout, base.means.shape[1]) != (
        layout,
        X.shape[1] if layout is None else len(layout.numbers),
    ):
        raise CounterweightError(
            f"The mixture to start from has the shape {base.means.shape}, "
            f"not {(components, X.shape[1])}."
        )
    classes = []
    for label, rows in enumerate(members):
        weight = row_weights[rows]
        try:
            classes.append(
                fit_mixture(X[rows], components, sample_weight=weight, start=base, **options)
            )
        except CounterweightError as error:
            raise CounterweightError(f"Rows with the label {label}: {error}") from error
    mass = np.array([row_weights[rows].sum() for rows in members])
    prior = mass / mass.sum()
    mixtures = ClassMixtures(
        prior,
        np.array([mixture.weights for mixture in classes]),
        np.array([mixture.means for mixture in classes]),
        np.array([mixture.covariances for mixture in classes]),
    )
    if layout is not None:
        shares = np.array([mixture.shares for mixture in classes])
        mixtures = mixtures._replace(shares=shares, layout=layout, covariance=covariance)
    value = sum(mixture.log_likelihood for mixture in classes) + mass @ np.log(prior)
    return mixtures, ([] if base is None else [base]) + classes, float(value * unit)


def _scale(X, row_weights):
    """Weighted standard deviation of each feature, of the rows that have it; 1 for constants."""
    there = ~np.isnan(X)
    if there.all():
        center = np.average(X, axis=0, weights=row_weights)
        scale = np.sqrt(np.average((X - center) ** 2, axis=0, weights=row_weights))
    else:
        seen = np.maximum(row_weights @ there, np.finfo(float).tiny)
        center = row_weights @ np.where(there, X, 0.0) / seen
        scale = np.sqrt(row_weights @ np.where(there, X - center, 0.0) ** 2 / seen)
    return np.where(scale > 0, scale, 1.0)
