"""Weights where selection goes by the outcome: moments of the features, and a selection model.

They are no ratio of densities of x.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import minimize
from scipy.special import chdtrc, log_ndtr, ndtr, ndtri, owens_t

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Text
from counterweight.numerics.checks import checked_rows
from counterweight.numerics.tilt import label_scores
from counterweight.weighting.importance_weights import (
    TARGET_LABELS,
    TARGET_OPTION,
    cap_weights,
    from_odds,
)

SEES = "rows"
NEEDS_P = False
#: Selection goes by the outcome: the weights are no ratio of densities of x.
RATIO = "outcome"
LABEL_BY_NAME = {
    "rosset": "Rosset et al. to {target}",
    "rosset_label_only": "Rosset et al., label only, to {target}",
    "heckman": "Heckman selection to {target}",
}
VALUE_LABELS = TARGET_LABELS
OPTIONS_BY_NAME = {
    "rosset_label_only": TARGET_OPTION,
    "rosset": {
        **TARGET_OPTION,
        "features": Array([], "Features, or columns of several, that selection may go by beside the label.", items={"type": "string"}, uniqueItems=True),
        "moments": Choice("means", ["means", "squares"],
            "What must be alike after weighting: means of all features, or of their squares, too."),
    },
    "heckman": {
        **TARGET_OPTION,
        "exclusion": Text(..., "Feature that tells who is labeled and, given the others, has nothing to do with the outcome."),
    },
}  # fmt: skip
ASSUMES_BY_NAME = {
    "rosset_label_only": (
        "If who has an outcome goes by the outcome alone",
        "Who has an outcome is taken to go by the outcome alone, so that, among rows of the same "
        "outcome, features are distributed alike with and without one (label shift). Nothing in "
        "the table can show that they are; where means of features clearly speak against it, the "
        "run stops.",
    ),
    "rosset": (
        "If who has an outcome goes by the outcome{features} alone, in logistic form",
        "Who has an outcome is taken to go by the outcome{features} alone, by a logistic "
        "function of them. Nothing in the table can show that it does; where means of further "
        "features clearly speak against it, the run stops.",
    ),
    "heckman": (
        'If "{exclusion}" has no part in the outcome given the other columns, and the unseen '
        "causes of the outcome and of having one are jointly normal",
        "Who has an outcome is taken to go by causes, too, that no column shows (selection on "
        'unobservables, Heckman\'s model): "{exclusion}" is taken to tell who has one and to '
        "have no part in it given the other columns (an exclusion restriction), and the unseen "
        "causes of both to be jointly normal. Nothing in the table can show that it is so.",
    ),
}
#: The function that gives the error of a mean by such weights, with their own estimation in it.
INFLUENCE_BY_NAME = {
    "heckman": "counterweight.weighting.outcome_selection:heckman_influence",
    "rosset": "counterweight.weighting.outcome_selection:moment_influence",
    "rosset_label_only": "counterweight.weighting.outcome_selection:label_only_influence",
}
#: The function that gives the mean of rows without an outcome by the model of selection itself.
MEAN_BY_NAME = {"heckman": "counterweight.weighting.outcome_selection:heckman_mean"}
#: Least rows of a class that label-only moments may give the unlabeled, and the largest effect of
#: a standard deviation that is looked for, in log odds.
LEAST, LARGEST = 0.5, 10.0
#: Share of the gap of feature means that weights by moments may leave, and the chance below which
#: what they leave is no accident; as of a tilt that is estimated.
MOST_LEFT, CHANCE = 1 / 3, 0.001


def label_only_weights(rows, *, target="general"):
    """Weights by the label alone, p(s=1|y) = sigma(a + b y).

    Right where features given the label are distributed alike in labeled and unlabeled rows (label
    shift); nothing else identifies b. One equation a feature, ``x0 = rate m1 + (1 - rate) m0``, by
    least squares in standard deviations of the unlabeled rows. A rate beyond 0 or 1, where label
    shift cannot hold, is put to half a row from the end.

    Rosset, Zhu, Zou & Hastie (2005), section 3.
    """
    y = np.asarray(rows.y_labeled)
    if not np.isin(y, (0, 1)).all():
        raise CounterweightError(
            "The weighting rosset_label_only is for an outcome of two classes, and this one is a "
            "number: name another (rosset goes by numbers, too), or leave weights out."
        )
    _, score = label_scores(rows.X_labeled, y, rows.X_unlabeled)
    end, prior = LEAST / len(score), y.mean()
    rate = float(np.clip(score.mean(), end, 1 - end))
    weight = np.where(y == 1, rate / prior, (1 - rate) / (1 - prior))
    rows.facts["label_effect"] = float(np.log(prior / rate * (1 - rate) / (1 - prior)))
    return from_odds(weight * (1 - rows.share) / rows.share, rows.share, target)


def moment_weights(rows, *, target="general", features=(), moments="means"):
    """Weights of p(s=1|x,y) = sigma(a + b y + c'x), x the chosen features, by moments.

    Sums of 1, of every feature (and of its square) over all rows must be those over labeled rows
    weighted by 1/p. With ``1/p = 1 + exp(-a - b y - c'x)`` that is

        sum over s=1 of g_i w_i / sum of w_i = mean over s=0 of g_i,   w = exp(-b y - c'x),

    solved by least squares in standard deviations of the unlabeled rows, and ``exp(a)`` is the sum
    of w over the number of unlabeled rows. It needs features that tell y and that selection does
    not go by: the chosen ones must leave enough moments. Where the form of p is wrong, or nothing
    but the chosen features tells y, the weights are wrong; ``moments_left`` is what least squares
    could not meet, and `refuse_refuted` tells whether it is more than chance.

    Returns
    -------
    numpy.ndarray, shape (M,)
        ``label_effect`` among the facts is b, of one unit of y, with its standard error.

    Rosset, Zhu, Zou & Hastie (2005), equation 3.
    """
    found = _moment_fit(rows, features, moments)
    way = np.linalg.pinv(found.slope)
    error = np.sqrt((way @ found.noise @ way.T)[0, 0])
    spread = np.asarray(rows.y_labeled, float).std()
    rows.facts["label_effect"] = (found.theta[0] / spread, error / spread)
    rows.facts["moments_left"] = float(np.sqrt(found.gap @ found.gap))
    return from_odds(found.share * len(rows.X_unlabeled), rows.share, target)


def refuse_refuted(rows, called, features=(), moments="means"):
    """Refuse weights by moments where the table speaks against what they suppose.

    More moments than unknowns are a test: at the right weights all are met but for noise. What is
    left, by the inverse of its variance, is Hansen's J; it goes by the F distribution with the
    effective rows of the smaller sample (Hotelling), as moments may be many. Refused is what, as
    with a tilt that is estimated, leaves much of the difference and more than chance would. The
    weighting is `called` as a config names it; `features` and `moments` are as of `moment_weights`.

    Hansen (1982), *Econometrica* 50; Hotelling (1931).
    """
    found = _moment_fit(rows, features, moments)
    left, chance = found.tested()
    if left > MOST_LEFT and chance < CHANCE:
        named = f" and {listed(list(features))}" if len(features) else ""
        raise CounterweightError(
            f"weights: {called} supposes that who has an outcome goes by the outcome{named} alone, "
            f"and the table speaks against it: {100 * left:.0f} % of the difference in feature "
            "means between rows with and without an outcome remains after weighting, and by chance "
            "alone nearly nothing would: leave weights out, or name the features that it goes by "
            "(weighting rosset)."
        )


@dataclass(frozen=True)
class _Moments:
    """What least squares of the moments found: of all d moments the means of labeled rows before
    weighting, what is left of them after it, its slope in theta and its variance."""

    theta: np.ndarray
    share: np.ndarray
    before: np.ndarray
    gap: np.ndarray
    slope: np.ndarray
    noise: np.ndarray
    rows: float

    def tested(self):
        """Share of the gap that is left, and the chance of as much; NaN where nothing tests it."""
        from scipy.special import fdtrc

        left = float(np.abs(self.gap).mean() / np.abs(self.before).mean())
        free = len(self.gap) - len(self.theta)
        effective = min(1 / (self.share @ self.share), self.rows)
        if not 0 < free < effective - 1:
            return left, np.nan
        across = np.linalg.qr(self.slope, mode="complete")[0][:, len(self.theta) :]
        rest = across.T @ self.gap
        found = rest @ np.linalg.solve(across.T @ self.noise @ across, rest)
        scale = (effective - free) / (free * (effective - 1))
        return left, float(fdtrc(free, effective - free, found * scale))


def _moment_fit(rows, features, moments):
    """Least squares of the moments of `moment_weights`, as `_Moments`."""
    X, X0 = checked_rows(rows.X_labeled), checked_rows(rows.X_unlabeled)
    y = np.asarray(rows.y_labeled, float)
    own = {name: _places_of(rows.names, name) for name in features}
    if strange := [name for name, at in own.items() if not at]:
        raise CounterweightError(
            f"The weighting rosset goes by {listed(strange)}, which is no feature; features are "
            f"{listed(list(rows.names), 30)}."
        )
    if not y.std() > 0:
        raise CounterweightError("Rosset's moments need labels that differ; all are alike.")
    center, scale = X0.mean(axis=0), X0.std(axis=0)
    varies = scale > 1e-12 * (1 + np.abs(center))
    X, X0 = ((table[:, varies] - center[varies]) / scale[varies] for table in (X, X0))
    chosen = np.isin(np.flatnonzero(varies), [k for at in own.values() for k in at])
    U = np.column_stack([(y - y.mean()) / y.std(), X[:, chosen]])
    U, _ = _distinct(U, U[:0])
    g, g0 = _distinct(*(_moments(table, moments == "squares") for table in (X, X0)))
    if g.shape[1] < U.shape[1]:
        raise CounterweightError(
            f"Rosset's moments are {g.shape[1]} equations for {U.shape[1]} unknowns: choose fewer "
            "features for selection, or moments: squares."
        )
    g, g0 = g - g0.mean(axis=0), g0 - g0.mean(axis=0)
    theta = _solution(U, g)
    share, gap, slope = _weighted(theta, U, g)
    noise = (g - gap).T @ ((g - gap) * share[:, None] ** 2) + g0.T @ g0 / len(g0) ** 2
    count = len(g0)
    if rows.group is not None:
        own, there = np.split(rows.group, [len(g)])
        parts = np.zeros((rows.group.max() + 1, g.shape[1]))
        np.add.at(parts, own, (g - gap) * share[:, None])
        np.subtract.at(parts, there, g0 / len(g0))
        noise, weight = parts.T @ parts, np.bincount(own, share)
        count = min(len(np.unique(there)), 1 / (weight @ weight))
    return _Moments(theta, share, g.mean(axis=0), gap, slope, noise, count)


def _moments(X, squared):
    """The features, and their squares if asked for, by column."""
    return np.hstack([X, X**2]) if squared else X


def _distinct(g, g0):
    """Without moments that follow from others, as the square of a yes or no does."""
    from scipy.linalg import qr

    table = np.concatenate([g, g0])
    table = np.column_stack([np.ones(len(table)), table])
    _, R, order = qr(table, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    kept = np.sort(order[: int((size > 1e-8 * size[0]).sum())])
    return (part[:, kept[kept > 0] - 1] for part in (g, g0))


def _weighted(theta, U, g):
    """Weights of sum 1, what is left of the moments, and its slope in theta."""
    power = -U @ theta
    share = np.exp(power - power.max())
    share /= share.sum()
    gap = share @ g
    slope = -((g - gap) * share[:, None]).T @ U
    return share, gap, slope


def _solution(U, g):
    """Least squares of the moments: the best of searches from three effects of the label."""
    from scipy.optimize import least_squares

    best = None
    for effect in (0.0, -1.0, 1.0):
        found = least_squares(
            lambda theta: _weighted(theta, U, g)[1],
            np.r_[effect, np.zeros(U.shape[1] - 1)],
            lambda theta: _weighted(theta, U, g)[2],
            bounds=(-LARGEST, LARGEST),
            xtol=1e-12,
            ftol=1e-12,
        )
        if best is None or found.cost < best.cost * (1 - 1e-9):
            best = found
    if not best.success:
        raise CounterweightError(
            "Rosset's moments have no solution for these rows: choose fewer features for "
            "selection, or the weighting rosset_label_only."
        )
    return best.x


#: Largest correlation that is looked for, and least probability.
NEAR_ONE, TINY = 0.99, 1e-10
#: Odds count up to so many mean odds where their sum is put right, as weights do by default.
FARTHEST = 50.0
#: Parts of the rows that are left out in turn for the error of weights by moments.
PARTS = 50


def heckman_weights(rows, *, exclusion, target="general"):
    """Weights 1 / p(s=1|x,z,y) where selection and outcome share an unseen normal cause.

    Two steps. A probit of s on x and the exclusion column z gives an index; then, among labeled
    rows, the outcome is regressed on x and on what selection says of the unseen: a number by least
    squares on x and the inverse Mills ratio, 0 and 1 by ``P(y=1|x,z,s=1) = Phi2(x b, index; rho) /
    Phi(index)``. The correlation rho of the two unseen parts then gives p(s=1|x,z,y).

    It rests on three things that no data tell: z has no part in the outcome given x, both unseen
    parts are jointly normal, and the indices are linear. Without z only the normal curve would
    identify rho, so z must be named. Fails of any of them give wrong weights without a sign, but
    that rho near 1 or -1 (``selection_correlation`` among the facts) is one. The `exclusion` is a
    feature, or the column of several: all levels of a text are excluded together.

    Heckman (1979); Van de Ven & Van Praag (1981) for an outcome of 0 and 1.
    """
    fit = _two_steps(rows, exclusion)
    rows.facts["exclusion_strength"] = fit.strength
    rows.facts["selection_correlation"] = fit.second.rho
    odds = 1 / np.clip(fit.chance(), TINY, 1) - 1
    if target == "general":
        # Of a fit that is right the odds sum to the number of unlabeled rows, which is known.
        mean = len(rows.X_unlabeled) / len(odds)
        odds = odds * mean / np.minimum(odds, FARTHEST * mean).mean()
    return from_odds(odds, rows.share, target)


def heckman_influence(rows, residual, design, *, exclusion, most=None):
    """What each row adds to the mean residual of rows without an outcome, by such weights.

    An estimate of a mean over these rows that is put right by weighted residuals has an error in
    the weights, too: of both steps, each by what it adds to first order (Newey & McFadden 1994,
    section 6). In the second step the first one's error comes back; for outcomes of 0 and 1 by the
    cross products of scores (Murphy & Topel 1985), for numbers by least squares. What is foretold
    is taken as given: where the weights are right its error does not count to first order.

    Of labeled rows, `residual` (M,) is the outcome less what a model foretold that had not seen it,
    `design` (M,) are design weights; `most` caps the weights towards the rows without an outcome.
    Returned are arrays of labeled (M,) and of blank rows (N,), whose sum of squares is the variance
    of the mean residual.
    """
    fit = _two_steps(rows, exclusion)
    p = np.clip(fit.chance(), TINY, 1)
    odds = (1 - p) / p
    weight = np.asarray(design, float) * odds
    free = np.ones(len(p), bool)
    if most is not None:
        ratio = from_odds(odds, rows.share, "unlabeled")
        free = ratio <= most
        weight = np.where(free, weight, weight * most / np.maximum(ratio, most))
    total = weight.sum()
    left = residual - weight @ residual / total
    # The mean moves by `slope` with p of each row, and that by both indices and the rest.
    slope = np.where(free, -design * left / p**2, 0.0) / total
    by_own, by_index, *by_rest = (slope * part for part in fit.slopes())
    by_second = np.r_[by_own @ fit.own, [part.sum() for part in by_rest]]
    labeled, blank = fit.influence(by_second, by_index @ fit.design[fit.s])
    return weight * left / total + labeled, blank


def heckman_mean(rows, design, *, exclusion, most=None):
    """The mean of a number over rows without an outcome by both steps, without weights.

    ``E[y | x, z, s=0] = x b - shift lambda(-index)``, lambda the inverse Mills ratio, `b` and
    `shift` of the second step. Where selection is strong few weights carry what this tells of all
    rows; caps then leave a part of the selection. Assumptions are those of `heckman_weights`, and
    that the outcome is linear in its features, which weights do not need.

    `design` (N,) is how many each row without an outcome stands for; `most`, of weights, is not
    used here. Returned are the mean, and what each labeled (M,) and blank row (N,) adds to its
    error: their sum of squares is its variance, but for that of the outcomes themselves. None in
    place of all three for an outcome of two classes.

    Heckman (1979), section 3; Newey & McFadden (1994), section 6.
    """
    fit, share = _two_steps(rows, exclusion), design / np.sum(design)
    if len(fit.second.extra) == 1:
        return None
    hidden, (shift, _) = fit.design[~fit.s], fit.second.extra
    own, index = np.delete(hidden, fit.places, axis=1), hidden @ fit.gamma
    mills = _mills(-index)
    by_second = np.r_[share @ own, -share @ mills, 0.0]
    by_first = -shift * (share * mills * (mills - index)) @ hidden
    mean = float(share @ (own @ fit.second.b - shift * mills))
    return mean, *fit.influence(by_second, by_first)


def moment_influence(rows, residual, design, *, most=None, **options):
    """As `heckman_influence`, of `moment_weights`; see `_left_out` and `refuse_refuted`."""
    refuse_refuted(rows, "rosset", **options)
    return (_left_out(moment_weights, rows, residual, design, most, options),)


def label_only_influence(rows, residual, design, *, most=None, **options):
    """As `heckman_influence`, of `label_only_weights`; see `_left_out` and `refuse_refuted`."""
    refuse_refuted(rows, "rosset_label_only")
    return (_left_out(label_only_weights, rows, residual, design, most, options),)


def _left_out(weights_of, rows, residual, design, most, options):
    """What the mean residual of rows without an outcome differs by without each part of the rows.

    A grouped jackknife (Shao & Tu 1995, section 2.2): the weights are made anew `PARTS` times. Of
    the differences, (PARTS,), the sum of squares is the variance. A row's part goes by its place,
    or by its group.
    """
    labeled, blank = len(rows.X_labeled), len(rows.X_unlabeled)
    places = np.arange(labeled), np.arange(blank)
    parts = min(PARTS, labeled, blank)
    if rows.group is not None:
        places, parts = np.split(rows.group, [labeled]), min(parts, rows.group.max() + 1)
    made = np.empty(parts)
    for part in range(parts):
        kept, there = (place % parts != part for place in places)
        left = replace(
            rows,
            X_labeled=rows.X_labeled[kept],
            y_labeled=np.asarray(rows.y_labeled)[kept],
            X_unlabeled=rows.X_unlabeled[there],
            facts={},
            group=None,
        )
        weight, _ = cap_weights(weights_of(left, target="unlabeled", **options), most)
        made[part] = np.average(residual[kept], weights=weight * design[kept])
    return np.sqrt((parts - 1) / parts) * (made - made.mean())


@dataclass
class _Second:
    """The second step: what it found, and how its estimates move.

    `extra` are the numbers after the coefficients b of the outcome, rho among or from them.
    Estimates move by ``inner^-1 (sum of scores - cross @ move of the first step)``.
    """

    b: np.ndarray
    extra: tuple
    rho: float
    chance: object
    scores: np.ndarray
    inner: np.ndarray
    cross: np.ndarray


@dataclass
class _Fit:
    """Both steps of a selection model; rows with an outcome stand first."""

    design: np.ndarray
    places: list
    gamma: np.ndarray
    s: np.ndarray
    curvature: np.ndarray
    scores: np.ndarray
    strength: float
    index: np.ndarray
    own: np.ndarray
    second: _Second

    def chance(self):
        """p(s=1|x,z,y) of labeled rows."""
        return self.second.chance(self.own @ self.second.b, self.index, *self.second.extra)

    def influence(self, by_second, by_first):
        """What each row adds, (M,) and (N,), to what goes by both steps' estimates.

        `by_second` and `by_first` are its slopes in them; in the second the first one's error
        comes back.
        """
        second = self.second
        back = np.linalg.lstsq(second.inner.T, by_second, rcond=None)[0]
        moved = by_first - back @ second.cross
        first = self.scores @ (np.linalg.pinv(self.curvature, hermitian=True) @ moved)
        return second.scores @ back + first[self.s], first[~self.s]

    def slopes(self, step=1e-5):
        """Its slopes in the outcome's index, in that of selection, and in what is beside them."""
        point = [self.own @ self.second.b, self.index, *self.second.extra]
        for at, value in enumerate(point):
            width = step * (1 + np.abs(value).max())
            ends = ([*point[:at], value + side * width, *point[at + 1 :]] for side in (1, -1))
            up, down = (self.second.chance(*end) for end in ends)
            yield (up - down) / (2 * width)


def _places_of(names, column):
    """Places of a feature, or of the levels of a column of texts."""
    own = [at for at, name in enumerate(names) if name == column]
    return own or [at for at, name in enumerate(names) if name.startswith(f"{column}=")]


def _features_of(names, exclusion):
    """Places of the features of an exclusion column, refused if there is none.

    A level alone is no exclusion: the others of its column tell it.
    """
    at = _places_of(names, exclusion)
    if not at:
        raise CounterweightError(
            f"The exclusion column {exclusion!r} of the weighting heckman is no feature; features "
            f"are {listed(list(names), 30)}."
        )
    column = exclusion.rpartition("=")[0]
    if column and sum(name.startswith(f"{column}=") for name in names) > 1:
        raise CounterweightError(
            f"The exclusion {exclusion!r} of the weighting heckman is one value of the column "
            f"{column!r}, whose other values tell it: name the column."
        )
    return at


def _refuse_told_by_others(design, places, names, exclusion):
    """Refuse an exclusion that other features make up: it has its part in the outcome by them.

    `design` has a constant first and then the features called `names`, in standard deviations.
    """
    rest = np.delete(design, places, axis=1)
    by = np.linalg.lstsq(rest, design[:, places], rcond=None)[0]
    if np.abs(design[:, places] - rest @ by).max() > 1e-8:
        return
    others = np.delete(names, np.array(places) - 1)[(np.abs(by[1:]) > 1e-6).any(axis=1)]
    raise CounterweightError(
        f"The exclusion column {exclusion!r} can be worked out from {listed(list(others), 6)}: "
        "what these say of the outcome, it says. Leave them out by columns.ignore, or name another."
    )


def _strength(design, s, places, gamma, curvature):
    """Standard errors from nothing at which features tell who has an outcome.

    Of one feature its coefficient over its error; of several, as far out as the likelihood ratio.
    """
    if len(places) == 1:
        (place,) = places
        return gamma[place] / np.sqrt(np.linalg.pinv(curvature, hermitian=True)[place, place])
    sign, rest = np.where(s, 1.0, -1.0), np.delete(design, places, axis=1)
    fits = (design, gamma), (rest, probit(rest, s)[0])
    whole, less = (log_ndtr(sign * (part @ b)).sum() for part, b in fits)
    free = np.linalg.matrix_rank(design) - np.linalg.matrix_rank(rest)
    ratio = max(2 * (whole - less), 0.0)
    chance = chdtrc(free, ratio) / 2 if free else 0.5
    return float(-ndtri(chance)) if chance > TINY else float(np.sqrt(ratio))


def _two_steps(rows, exclusion):
    """Both steps of `heckman_weights`, as a `_Fit`."""
    at = _features_of(rows.names, exclusion)
    X, X0 = checked_rows(rows.X_labeled), checked_rows(rows.X_unlabeled)
    both = np.concatenate([X, X0])
    center, scale = both.mean(axis=0), both.std(axis=0)
    varies = scale > 1e-12 * (1 + np.abs(center))
    if not varies[at].any():
        raise CounterweightError(
            f"The exclusion column {exclusion!r} has one value only, so it tells nothing of who "
            "is labeled: name another."
        )
    scale = np.where(varies, scale, np.inf)
    design = np.column_stack([np.ones(len(both)), (both - center) / scale])
    design = design[:, np.r_[True, varies]]
    s = np.arange(len(both)) < len(X)
    gamma, curvature = probit(design, s)
    places = [1 + int(varies[:one].sum()) for one in at if varies[one]]
    _refuse_told_by_others(design, places, np.asarray(rows.names, object)[varies], exclusion)
    strength = _strength(design, s, places, gamma, curvature)
    if abs(strength) < 3:
        raise CounterweightError(
            f"The exclusion column {exclusion!r} says too little of who is labeled ({strength:.2g} "
            "standard errors, 3 are needed): name another, or leave the weighting heckman out."
        )
    index = design @ gamma
    sign = np.where(s, 1.0, -1.0)
    scores = design * (sign * _mills(sign * index))[:, None]
    own, y = np.delete(design[s], places, axis=1), np.asarray(rows.y_labeled, float)
    second = _of_classes if np.isin(y, (0.0, 1.0)).all() else _of_numbers
    second = second(own, y, index[s], design[s])
    first = design, places, gamma, s, curvature, scores
    return _Fit(*first, abs(strength), index[s], own, second)


def _mills(index):
    """The inverse Mills ratio, density over distribution function."""
    return np.exp(-(index**2) / 2 - log_ndtr(index)) / np.sqrt(2 * np.pi)


def probit(X, s):
    """Coefficients of a probit of s on X, by maximum likelihood, and the curvature there."""
    sign = np.where(s, 1.0, -1.0)

    def value(b):
        q = sign * (X @ b)
        low = log_ndtr(q)
        mills = np.exp(-(q**2) / 2 - low) / np.sqrt(2 * np.pi)
        return -low.mean(), -(sign * mills) @ X / len(X)

    found = minimize(value, np.zeros(X.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-7})
    q = sign * (X @ found.x)
    mills = _mills(q)
    return found.x, (X * (mills * (mills + q))[:, None]).T @ X


def bivariate_normal(a, b, rho):
    """P(A < a, B < b) of two standard normals with correlation rho, (n,); Owen (1956)."""
    root = np.sqrt(1 - rho**2)
    a, b = (np.where(np.abs(v) < 1e-12, 1e-12, v) for v in (a, b))
    cross = np.where(a * b < 0, 0.5, 0.0)
    first, second = owens_t(a, (b / a - rho) / root), owens_t(b, (a / b - rho) / root)
    return np.clip((ndtr(a) + ndtr(b)) / 2 - first - second - cross, TINY, 1)


def _class_chance(y, a, index, rho):
    """p(s=1|x,z,y) of rows with y 0 and 1, by both indices."""
    one = np.minimum(bivariate_normal(a, index, rho), np.maximum(ndtr(index), TINY))
    chance = np.clip(ndtr(a), TINY, 1 - TINY)
    rest = np.maximum(ndtr(index), TINY) - one
    return np.where(y == 1, one / chance, rest / (1 - chance))


def _of_classes(X, y, index, design):
    """The second step of labeled rows with y 0 and 1: coefficients and correlation."""
    rows, selected = len(X), np.maximum(ndtr(index), TINY)

    def parts(b, rho):
        """Chance of s=1 and this y, and the slopes of its log in a, index and rho."""
        a, root = X @ b, np.sqrt(1 - rho**2)
        one = np.minimum(bivariate_normal(a, index, rho), selected - TINY)
        chance = np.where(y == 1, one, selected - one)
        sign = np.where(y == 1, 1.0, -1.0) / chance
        by_a = _density(a) * ndtr((index - rho * a) / root)
        by_index = _density(index) * ndtr((a - rho * index) / root)
        by_index = np.where(y == 1, by_index, _density(index) - by_index) / chance
        power = (a**2 - 2 * rho * a * index + index**2) / (2 * root**2)
        return chance, sign * by_a, by_index, sign * np.exp(-power) / (2 * np.pi * root)

    def value(theta):
        rho = NEAR_ONE * np.tanh(theta[-1])
        chance, by_a, _, by_rho = parts(theta[:-1], rho)
        by_last = by_rho * NEAR_ONE * (1 - np.tanh(theta[-1]) ** 2)
        return -np.log(chance / selected).mean(), -np.r_[by_a @ X, by_last.sum()] / rows

    first, _ = probit(X, y == 1)
    found = minimize(value, np.r_[first, 0.0], jac=True, method="BFGS", options={"gtol": 1e-6})
    b, rho = found.x[:-1], float(NEAR_ONE * np.tanh(found.x[-1]))
    _, by_a, by_index, by_rho = parts(b, rho)
    scores = np.column_stack([X * by_a[:, None], by_rho])
    cross = scores.T @ (design * (by_index - _mills(index))[:, None])
    return _Second(b, (rho,), rho, partial(_class_chance, y), scores, scores.T @ scores, cross)


def _density(value):
    return np.exp(-(value**2) / 2) / np.sqrt(2 * np.pi)


def _number_chance(y, a, index, shift, variance):
    """p(s=1|x,z,y) of rows whose y is a number."""
    sigma = np.sqrt(variance)
    rho = np.clip(shift / sigma, -NEAR_ONE, NEAR_ONE)
    return ndtr((index + rho * (y - a) / sigma) / np.sqrt(1 - rho**2))


def _of_numbers(X, y, index, design):
    """The same where y is a number: least squares with the inverse Mills ratio (Heckman 1979)."""
    mills = _mills(index)
    control = np.column_stack([X, mills])
    coef = np.linalg.lstsq(control, y, rcond=None)[0]
    left, shift = y - control @ coef, float(coef[-1])
    bend = mills * (mills + index)
    variance = float(np.mean(left**2) + shift**2 * np.mean(bend))
    rho = float(np.clip(shift / np.sqrt(variance), -NEAR_ONE, NEAR_ONE))
    scores = np.column_stack([control * left[:, None], left**2 + shift**2 * bend - variance])
    inner = np.zeros((scores.shape[1],) * 2)
    inner[:-1, :-1] = control.T @ control
    inner[-1, -2:] = -2 * shift * bend.sum(), len(y)
    by_index = mills - bend * (2 * mills + index)
    cross = -shift * np.vstack([control.T @ (design * bend[:, None]), shift * by_index @ design])
    known = coef[:-1], (shift, variance), rho, partial(_number_chance, y)
    return _Second(*known, scores, inner, cross)
