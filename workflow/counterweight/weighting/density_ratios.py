"""Weights by the ratio of target to labeled rows: a discriminator, kernel means, a power of it.

Those of other packages, the extra ``peers``, are for tables that compare. They get standardised
features and keep their own defaults but for what `WAYS` says. A package that is not installed is
said to be missing, and nothing takes its place. balance (Meta) is not among them: its releases ask
for a numpy below 2 or a pandas below 3.
"""

import importlib
import warnings

import numpy as np
from scipy.special import expit

from counterweight.errors import CounterweightError
from counterweight.fragments import Choice, Integer, Number
from counterweight.numerics.checks import checked_rows
from counterweight.numerics.linear import RIDGE, fit_logistic
from counterweight.weighting.importance_weights import (
    AT_RANDOM,
    TARGET_LABELS,
    TARGET_OPTION,
    from_odds,
)

SEES_BY_NAME = {
    "bickel": "rows",
    "shimodaira": "rows",
    "kernel_mean_matching": "rows",
    "peer_ratio": "rows",
}
NEEDS_P_BY_NAME = {"bickel": False, "kernel_mean_matching": False, "peer_ratio": False}
#: Its weights match moments; they are no estimate of the density ratio of single rows.
RATIO_BY_NAME = {"kernel_mean_matching": "moments"}
OPTIONS_BY_NAME = {
    "bickel": TARGET_OPTION | RIDGE,
    "shimodaira": {
        **TARGET_OPTION,
        "exponent": Number(None,
            "Power of the ratio: 0 for equal weights, 1 for those of a lemma. Chosen by the information criterion unless "
            "given.", minimum=0, maximum=1, null=True),
    },
    "kernel_mean_matching": {
        **TARGET_OPTION,
        "bound": Number(1000.0, "Largest weight that the matching may give, before the study's cap.", above=1),
        "bandwidth": Number(1.0, "Width of the kernel, in median distances of standardised rows.", above=0),
        "landmarks": Integer(None,
            "Rows that the kernel is approximated by (Nystroem); as many as there are rows for the exact kernel. 300 to "
            "1000 unless given, fewer for more labeled rows.", minimum=2, null=True),
        "slack": Number(None, "How far the mean weight may be from 1; (sqrt(M) - 1) / sqrt(M) for M labeled rows unless given.", minimum=0, null=True),
        "tol": Number(1e-4, "The search stops when 50 steps gain less than this share of the squared moment distance of unit weights.", above=0),
    },
    "peer_ratio": {
        **TARGET_OPTION,
        "by": Choice(..., ["skada_kliep", "skada_discriminator", "skada_density", "skada_nearest", "adapt_kliep", "adapt_ulsif", "adapt_rulsif"],
            "Package and way."),
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "bickel": "Bickel et al., two stages, to {target}",
    "shimodaira": "Shimodaira, to {target}",
    "kernel_mean_matching": "kernel mean matching to {target}",
    "peer_ratio": "{by}, to {target}",
}
VALUE_LABELS = TARGET_LABELS
VALUE_LABELS_BY_NAME = {"shimodaira": TARGET_LABELS | {"exponent": {}}}
ASSUMES = AT_RANDOM


def discriminator_weights(rows, *, target="general", l2=1e-6):
    """Weights p(s=1)/p(s=0) exp(-v'x) of a logistic regression of s on x.

    First stage of Bickel et al.: v is fitted to who is labeled alone; the second stage is any
    weighted fit. No cross-fitting and no calibration: where log p(x|s=0)/p(x|s=1) is linear in x
    these are the weights of least variance, and where it is not they are off by as much as the
    logistic form is. Weights (M,) are not capped, and of mean about 1. `l2` is the penalty on
    standardised coefficients, for each row; None: chosen by rows left out.

    Bickel, Brueckner & Scheffer (2007), section 4.
    """
    X = np.concatenate([rows.X_labeled, rows.X_unlabeled])
    s = np.arange(len(X)) < len(rows.X_labeled)
    coef, intercept, *_ = fit_logistic(X, s.astype(int), l2=l2)
    with np.errstate(over="ignore"):
        return from_odds(np.exp(-(rows.X_labeled @ coef + intercept)), rows.share, target)


#: Exponents that the criterion is asked about.
GRID = tuple(k / 10 for k in range(11))
#: Largest ratio, in mean ratios, that the criterion looks at: its sums are of squares.
MOST = 50.0


def tempered_weights(rows, *, target="general", exponent=None):
    """Weights r^lambda, r the ratio of target to labeled rows by the lemma of the target.

    A small lambda has less variance and more bias. The criterion is that of a linear or logistic
    regression fitted with these weights, an estimate of its expected loss over the target:
    ``-2 sum r_i log p(y_i|x_i) + 2 tr(J H^-1)``, J the sum of ``r r^lambda g g'`` over gradients g
    of the rows and H the curvature of the weighted loss. It takes the ratio as known and assumes
    labels missing at random; another model may like another exponent. `rows` have p; weights (M,)
    are of mean 1, and ``exponent`` is among the facts.

    Shimodaira (2000), equations 4.1 and 4.4.
    """
    with np.errstate(divide="ignore"):
        ratio = from_odds(1 / np.asarray(rows.p, float) - 1, rows.share, target)
    if not (np.isfinite(ratio).all() and ratio.any()):
        raise CounterweightError(
            "A labeled row has selection probability 0, or all have 1, so there is no ratio: "
            "calibrate the selection model, or choose another selector."
        )
    if exponent is None:
        X, y = checked_rows(rows.X_labeled), np.asarray(rows.y_labeled, float)
        known = np.minimum(ratio, MOST * ratio.mean())
        values = [information_criterion(X, y, known, power) for power in GRID]
        exponent = GRID[int(np.argmin(values))]
    rows.facts["exponent"] = exponent
    weights = ratio**exponent
    return weights / weights.mean()


def information_criterion(X, y, ratio, power):
    """Shimodaira's criterion of a regression fitted with weights ratio^power.

    Logistic where y is 0 and 1, else linear with the noise of the unweighted fit.

    Shapes: X (M, d); y, ratio (M,).

    Returns float: twice an estimate of the target's expected loss times the rows, up to a constant.
    """
    ratio = ratio / ratio.mean()
    weights = ratio**power
    scale = X.std(axis=0)
    varies = scale > 1e-12 * (1 + np.abs(X.mean(axis=0)))
    Z = np.column_stack([np.ones(len(X)), (X[:, varies] - X[:, varies].mean(0)) / scale[varies]])
    if np.isin(y, (0.0, 1.0)).all():
        coef, constant, *_ = fit_logistic(Z[:, 1:], y.astype(int), weights)
        eta = Z[:, 1:] @ coef + constant
        mean = expit(eta)
        loss, residual, bend = np.logaddexp(0, eta) - y * eta, y - mean, mean * (1 - mean)
    else:
        free = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
        noise = max(float(free @ free) / len(y), 1e-300)
        root = np.sqrt(weights)
        residual = y - Z @ np.linalg.lstsq(Z * root[:, None], y * root, rcond=None)[0]
        loss, residual, bend = residual**2 / (2 * noise), residual / noise, 1 / noise
    J = (Z * (ratio * weights * residual**2)[:, None]).T @ Z
    H = (Z * (weights * bend)[:, None]).T @ Z
    return float(2 * ratio @ loss + 2 * np.trace(np.linalg.pinv(H, hermitian=True) @ J))


#: Rows that the median distance is taken of, rows treated at a time, also by a step, most steps.
SAMPLED, BLOCK, CACHED, STEPS = 1000, 1000, 128, 2000
#: Landmarks unless given: this many numbers in the table of features, within these bounds.
NUMBERS, LANDMARKS = 4_000_000, (300, 1000)


def matching_weights(
    rows, *, target="general", bound=1000.0, bandwidth=1.0, landmarks=None, slack=None, tol=1e-4
):
    """Weights whose weighted mean in the feature space of a Gaussian kernel is the target's.

    Minimises ``|1/M sum_i b_i phi(x_i) - mean phi(target)|^2`` over ``0 <= b <= bound`` with the
    mean of b within `slack` of 1. Right under labels missing at random; elsewhere the features
    are matched and p(y | x) is not. Where supports do not overlap, what cannot be matched stays:
    ``moment_distance`` among the facts tells it. The weights match moments and are nothing like
    smooth in x: they correlate with the log ratio at 0.3 to 0.6.

    The kernel is that of landmarks drawn from both samples (Nystroem), plus the diagonal that
    these miss, so that memory and time are linear in rows; accelerated projected gradient with
    restarts (Beck & Teboulle 2009; O'Donoghue & Candes 2015) finds the one least value. For the
    options see `OPTIONS`; weights (M,) are not capped.

    Huang, Smola, Gretton, Borgwardt & Schoelkopf (2007), equations 10 to 13.
    """
    X, goal = checked_rows(rows.X_labeled), checked_rows(rows.population(target))
    both = np.concatenate([X, checked_rows(rows.X_unlabeled)])
    center, scale = both.mean(axis=0), both.std(axis=0)
    scale = np.where(scale > 1e-12 * (1 + np.abs(center)), scale, np.inf)
    X, goal, both = ((table - center) / scale for table in (X, goal, both))
    width = bandwidth * median_distance(both, rows.rng)
    landmarks = landmarks or int(np.clip(NUMBERS // len(X), *LANDMARKS))
    chosen = rows.rng.choice(len(both), min(landmarks, len(both)), replace=False)
    features = Landmarks(both[np.sort(chosen)], width)
    Z = features.of(X)
    aim = features.mean(goal)
    missed = np.maximum(1 - np.einsum("ij,ij->i", Z, Z), 0)
    if slack is None:
        slack = (np.sqrt(len(X)) - 1) / np.sqrt(len(X))
    # Towards everybody each labeled row is one of the target's, too.
    own = 1 / len(goal) if target == "general" else 0.0
    problem = Matching(Z, aim, missed, own)
    weights = problem.solved(bound, slack, tol)
    for name, made in (("moment_distance_before", np.ones(len(X))), ("moment_distance", weights)):
        # Up to what the landmarks miss of the target's own mean, which no weight changes.
        rows.facts[name] = max(2 * problem.value(made) / len(X), 0.0)
    return weights


def median_distance(X, rng):
    """Median distance of two rows, of a sample of at most `SAMPLED`."""
    some = X[rng.choice(len(X), min(SAMPLED, len(X)), replace=False)]
    pairs = np.sqrt(_squared_distances(some, some)[np.triu_indices(len(some), 1)])
    median = np.median(pairs)
    if not median > 0:
        median = pairs.mean()
    if not median > 0:
        raise CounterweightError(
            "Kernel mean matching needs rows that differ, and no feature varies: choose another "
            "weighting, or other features."
        )
    return float(median)


class Landmarks:
    """Nystroem features of the Gaussian kernel exp(-|a - b|^2 / (2 width^2)).

    Shapes: places (k, d).
    """

    def __init__(self, places, width):
        self.places, self.width = places, width
        values, vectors = np.linalg.eigh(self._kernel(places))
        kept = values > 1e-10 * values[-1]
        self.map = vectors[:, kept] / np.sqrt(values[kept])

    def of(self, X):
        """Features (n, r): their products are the kernel's, as far as landmarks tell."""
        made = np.empty((len(X), self.map.shape[1]))
        for start in range(0, len(X), BLOCK):
            made[start : start + BLOCK] = self._kernel(X[start : start + BLOCK]) @ self.map
        return made

    def mean(self, X):
        """Mean of the features of rows X, (r,)."""
        total = np.zeros(len(self.places))
        for start in range(0, len(X), BLOCK):
            total += self._kernel(X[start : start + BLOCK]).sum(axis=0)
        return total / len(X) @ self.map

    def _kernel(self, X):
        return np.exp(_squared_distances(X, self.places) / (-2 * self.width**2))


def _squared_distances(A, B):
    across = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1)
    return np.maximum(across - 2 * A @ B.T, 0)


class Matching:
    """Half of M |Z'b/M - aim|^2 + sum of missed b (b/M - 2 own), over weights b of M rows.

    `Z` (M, r) are features of the labeled rows, `aim` (r,) their mean over the target, `missed`
    (M,) the squared length of each row that its features lack, `own` the share of the target that
    each labeled row itself makes up.
    """

    def __init__(self, Z, aim, missed, own):
        self.Z, self.aim, self.missed, self.own = Z, aim, missed, own
        # What steps go by; see `solved`.
        self.near = Z

    def value(self, b, sums=None):
        """The quadratic to be least; its double over M is the squared moment distance."""
        rows = len(b)
        gap = (b @ self.Z if sums is None else sums) / rows - self.aim
        return (rows * gap @ gap + self.missed @ (b * (b / rows - 2 * self.own))) / 2

    def step(self, b, sums, length, bound, slack):
        """The weights after a step against the slope at b, and Z' of them; `sums` are Z'b.

        Rows are gone through once, a part that stays in the cache at a time, unless the mean has
        to be brought into its band.
        """
        rows = len(b)
        gap = sums / rows - self.aim
        pull, total = self.missed * (b / rows - self.own), np.zeros(len(gap))
        moved, nearest = np.empty((2, rows))
        steep = gap.astype(self.near.dtype)
        for start in range(0, rows, CACHED):
            at = slice(start, start + CACHED)
            Z, part = self.near[at], nearest[at]
            moved[at] = b[at] - length * (Z @ steep + pull[at])
            # In two, which of so few numbers takes a third of the time of `clip`.
            np.minimum(np.maximum(moved[at], 0, out=part), bound, out=part)
            total += part.astype(Z.dtype, copy=False) @ Z
        new = projected(moved, bound, 1 - slack, 1 + slack)
        return new, total if (new == nearest).all() else new @ self.Z

    def solved(self, bound, slack, tol):
        """The weights of least value in the box and band of `projected`, (M,).

        Steps take products in single precision, whose error is far below what is left when they
        stop; sums over parts of the rows, and values, are in double precision.
        """
        rows, self.near = len(self.Z), self.Z.astype(np.float32)
        steepest = np.linalg.eigvalsh(self.Z.T @ self.Z / rows)[-1] + self.missed.max() / rows
        limits = 1 / steepest, bound, slack
        b = ahead = np.ones(rows)
        sums = sums_ahead = b @ self.Z
        momentum, known = 1.0, []
        for number in range(STEPS):
            if number % 50 == 0:
                known.append(self.value(b, sums))
                if number and known[-2] - known[-1] <= tol * abs(known[0]):
                    break
            new, told = self.step(ahead, sums_ahead, *limits)
            if (ahead - new) @ (new - b) > 0:
                # Past the valley: begin again from where it stands.
                momentum = 1.0
                new, told = self.step(b, sums, *limits)
            later = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            along = (momentum - 1) / later
            ahead, sums_ahead = new + along * (new - b), told + along * (told - sums)
            b, sums, momentum = new, told, later
        return b


def projected(b, bound, low, high):
    """The nearest weights from 0 to `bound` whose mean is from `low` to `high`, (M,)."""
    nearest = np.clip(b, 0, bound)
    if low <= nearest.mean() <= high:
        return nearest
    mean = low if nearest.mean() < low else high
    # The nearest of a given mean is a clipped shift; the mean falls as the shift grows.
    least, most = b.min() - bound, b.max()
    for _ in range(100):
        shift = (least + most) / 2
        if np.clip(b - shift, 0, bound).mean() > mean:
            least = shift
        else:
            most = shift
    return np.clip(b - most, 0, bound)


#: Package, class and options of each.
WAYS = {
    "skada_kliep": ("skada", "KLIEPReweightAdapter", {"gamma": "auto"}),
    "skada_discriminator": ("skada", "DiscriminatorReweightAdapter", {}),
    "skada_density": ("skada", "DensityReweightAdapter", {}),
    "skada_nearest": ("skada", "NearestNeighborReweightAdapter", {}),
    "adapt_kliep": ("adapt.instance_based", "KLIEP", {"kernel": "rbf"}),
    "adapt_ulsif": ("adapt.instance_based", "ULSIF", {"kernel": "rbf"}),
    "adapt_rulsif": ("adapt.instance_based", "RULSIF", {"kernel": "rbf"}),
}


def peer_weights(rows, *, by, target="general"):
    """Weights of labeled rows by a density ratio of another package; see `WAYS`.

    Returns
    -------
    numpy.ndarray, shape (M,)
        Not capped, of mean 1.

    Raises
    ------
    CounterweightError
        Where the package is not installed, or its weights are no weights.
    """
    package, name, options = WAYS[by]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            way = getattr(importlib.import_module(package), name)
    except ImportError as error:
        raise CounterweightError(
            f"The weighting peer_ratio asks for the package {package.partition('.')[0]}, which "
            f"cannot be loaded ({error}): pip install 'counterweight[peers]', or leave it out."
        ) from error
    labeled, others = np.asarray(rows.X_labeled, float), np.asarray(rows.X_unlabeled, float)
    stood_for = np.concatenate([labeled, others]) if target == "general" else others
    centre, scale = stood_for.mean(axis=0), stood_for.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    labeled, stood_for = (labeled - centre) / scale, (stood_for - centre) / scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if package == "skada":
            weights = _of_skada(way, options, labeled, stood_for)
        else:
            made = way(**options, gamma=1.0 / labeled.shape[1], verbose=0, random_state=0)
            weights = made.fit_weights(labeled, stood_for)
    weights = np.asarray(weights, float).ravel()[: len(labeled)]
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise CounterweightError(
            f"The weights of {by} are not all finite and at least 0, some above 0: leave it out."
        )
    return weights / weights.mean()


def _of_skada(way, options, labeled, stood_for):
    """Weights of its adapters, which take both samples in one array and tell them by a sign."""
    X = np.concatenate([labeled, stood_for])
    domain = np.where(np.arange(len(X)) < len(labeled), 1, -2)
    if "gamma" in options:
        options = options | {"gamma": 1.0 / X.shape[1], "random_state": 0}
    made = way(**options)
    made.fit(X, sample_domain=domain)
    found = made.compute_weights(X, sample_domain=domain)
    return found[: len(labeled)]
