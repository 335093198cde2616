"""Additive logistic regression of answers: effects of numbers and categories, as far as they pay.

The log-odds are a sum of blocks: a line in the offer, smooth effects of numbers, an effect of each
level of a category, products of two features, and products of features with the offer. Each block
has a normal prior whose variance is chosen by the evidence of the answers, so that one that tells
nothing goes to 0. The posterior by Laplace's method then holds what the answers leave open.
"""

import logging
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from counterweight.fragments import Flag, Integer
from counterweight.models.choice.baselines import OfferBaseline, OfferDesign, some_rows
from counterweight.models.choice.offer_model import checked_offers
from counterweight.numerics.linear import expit

log = logging.getLogger("counterweight")

TASK = "offers"
ROLE = "peer"
OPTIONS_BY_NAME = {
    "offer_additive": {
        "knots": Integer(12, "Knots of the smooth effect of a number, fewer where there are many numbers.", minimum=4, maximum=30),
        "pairs": Flag(True, "Whether products of two features count, as far as they pay and there are rows for them."),
        "most_columns": Integer(250, "Most columns of products of two features.", minimum=0),
    },
}  # fmt: skip
LABEL_BY_NAME = {"offer_additive": "Additive logistic regression"}
#: Least rows of a cell of two categories that has an effect of its own.
CELL = 5
#: Most columns of smooth effects, of all numbers together.
BENDS = 150
#: Standardised numbers count as at most this in products.
FARTHEST = 3.0
#: Prior precision of the line in the offer, and of the other blocks at the start.
LOOSE, START = 1e-3, 10.0
#: Steps of the last fit, and the change of the log-odds at which they end.
STEPS, SETTLED = 50, 1e-6
#: Least prior variance of what a block adds to the log-odds, unless it is of products: the answers
#: never show that an effect is 0.
LEAST = 0.03
#: Rounds of the evidence, the change of the log-odds at which they end, and the degrees of freedom
#: below which a block of products is left out.
ROUNDS, CLOSE, NOTHING = 60, 1e-3, 0.1
#: Rows, at most, by which variances are chosen: of more, some at random.
ASKED_ROWS = 20_000


class AdditiveDesign(OfferDesign):
    """Columns of the blocks: see the module. Numbers are standardised, levels 0 and 1.

    ``numbers_`` and ``levels_`` are places of features, ``groups_`` the category of each level,
    ``centre_`` and ``scale_`` of the numbers; ``knots_`` (a, K) and ``smooth_`` (a, K - 2, K - 2)
    make natural cubic splines whose coefficients have the sum of squares of the integral of the
    squared second derivative; ``products_`` (q, 2) are places among numbers and levels; ``block_``
    is the number of the block of each column, -1 of the offer.
    """

    NAMES = (
        "numbers",
        "levels",
        "groups",
        "centre",
        "scale",
        "knots",
        "smooth",
        "products",
        "block",
    )

    def fit(self, X, layout=None, knots=12, pairs=True, most=250):
        """Learn scales, knots and which products there are rows for."""
        super().fit(X)
        features = self._features(X)
        width = features.shape[1]
        groups = np.full(width, -1)
        for number, block in enumerate(layout.categories if layout else ()):
            groups[list(block)] = number
        # Without a word on categories a column of two values is one of its own.
        two = np.array([len(np.unique(column)) <= 2 for column in features.T], dtype=bool)
        alone = np.flatnonzero((groups < 0) & two)
        groups[alone] = groups.max(initial=-1) + 1 + np.arange(len(alone))
        self.numbers_, self.levels_ = np.flatnonzero(groups < 0), np.flatnonzero(groups >= 0)
        self.groups_ = groups[self.levels_]
        values = features[:, self.numbers_]
        self.centre_, self.scale_ = values.mean(axis=0), values.std(axis=0)
        values = (values - self.centre_) / self.scale_
        knots = int(np.clip(BENDS // max(len(self.numbers_), 1) + 2, 4, knots))
        shares = np.linspace(0.01, 0.99, knots)
        self.knots_ = np.quantile(values, shares, axis=0).T
        # Half by where people are, half evenly, so that tails may bend, too.
        ends = self.knots_[:, :1], self.knots_[:, -1:]
        even = ends[0] + np.linspace(0.0, 1.0, knots) * (ends[1] - ends[0])
        self.knots_ = (self.knots_ + even) / 2
        # Numbers of few values have fewer places to bend at: these are spread over their range.
        for at, own in enumerate(self.knots_):
            if (np.diff(own) < 1e-6).any():
                self.knots_[at] = np.linspace(own[0], own[-1] + 1e-3, knots)
        self.smooth_ = np.array([_whitened(own) for own in self.knots_])
        self.smooth_ = self.smooth_.reshape(len(self.numbers_), knots - 2, knots - 2)
        self.products_ = np.empty((0, 2), dtype=int)
        if pairs:
            self.products_ = self._products(features, min(most, len(X) // 5))
        self.block_ = self._blocks()
        return self

    def _features(self, X):
        X = np.asarray(X, dtype=float)
        missing = np.isnan(X)
        return np.hstack([np.where(missing, self.fill_, X), missing[:, self.marked_].astype(float)])

    def _parts(self, X):
        """Standardised numbers (n, a) and levels (n, b)."""
        features = self._features(X)
        return (features[:, self.numbers_] - self.centre_) / self.scale_, features[:, self.levels_]

    def _products(self, features, most):
        """Pairs of places of numbers, then levels: first the pairs of features with few columns."""
        a, found = len(self.numbers_), []
        of = {-1 - at: np.array([at]) for at in range(a)}
        of |= {
            group: a + np.flatnonzero(self.groups_ == group) for group in np.unique(self.groups_)
        }
        marks = features[:, self.levels_]
        for one, other in combinations(of, 2):
            pairs = np.array([(i, j) for i in of[one] for j in of[other]])
            if one >= 0:
                counts = np.einsum("nk,nk->k", marks[:, pairs[:, 0] - a], marks[:, pairs[:, 1] - a])
                pairs = pairs[counts >= CELL]
            found.append(pairs)
        found.sort(key=len)
        sizes = np.cumsum([len(pairs) for pairs in found])
        found = [pairs for pairs, size in zip(found, sizes, strict=True) if size <= most]
        return np.concatenate(found) if found else np.empty((0, 2), dtype=int)

    def _blocks(self):
        """Block of each column, in the order of `columns`.

        Products of two categories are a block for each pair; those of numbers are one, and those
        of numbers with categories.
        """
        a, bend = len(self.numbers_), self.smooth_.shape[1]
        kinds = [("line",)] * a + [("bend", at) for at in range(a) for _ in range(bend)]
        kinds += [("level", group) for group in self.groups_.tolist()]
        # Numbers own no category.
        owner = np.r_[np.full(a, -1), self.groups_].astype(int)
        for one, other in owner[self.products_].tolist():
            kinds.append(("product", one, other if one >= 0 else min(other, 0)))
        kinds += [("slope", -1)] * a + [("slope", group) for group in self.groups_.tolist()]
        self.product_ = np.array([kind[0] == "product" for kind in kinds] + [False])
        names = {kind: at for at, kind in enumerate(dict.fromkeys(kinds))}
        return np.array([names[kind] for kind in kinds] + [-1], dtype=int)

    def columns(self, X, t):
        """Design matrix (n, p); the offer, less 1/2, is last."""
        values, marks = self._parts(X)
        t = checked_offers(t, len(values)) - 0.5
        bends = [
            _natural(values[:, at], own) @ smooth
            for at, (own, smooth) in enumerate(zip(self.knots_, self.smooth_, strict=True))
        ]
        both = np.hstack([np.clip(values, -FARTHEST, FARTHEST), marks])
        products = both[:, self.products_[:, 0]] * both[:, self.products_[:, 1]]
        slopes = both * t[:, None]
        return np.hstack([values, *bends, marks, products, slopes, t[:, None]])


def _natural(x, knots):
    """Natural cubic splines (n, K - 2) of some knots, without constant and line."""
    cubes = np.maximum(x[:, None] - knots, 0.0) ** 3
    parts = (cubes[:, :-1] - cubes[:, -1:]) / (knots[-1] - knots[:-1])
    return parts[:, :-1] - parts[:, -1:]


def _whitened(knots):
    """Matrix by which splines get coefficients of independent normal priors of one variance."""
    x = np.linspace(knots[0], knots[-1], 401)
    second = 6.0 * np.maximum(x[:, None] - knots, 0.0)
    parts = (second[:, :-1] - second[:, -1:]) / (knots[-1] - knots[:-1])
    bend = parts[:, :-1] - parts[:, -1:]
    rough = bend.T @ bend * (x[1] - x[0])
    values, vectors = np.linalg.eigh(rough)
    values = np.maximum(values, 1e-10 * values[-1])
    return vectors / np.sqrt(values)


@dataclass(eq=False, repr=False)
class OfferAdditive(OfferBaseline):
    """Additive logistic regression of the answer on features and offer; see the module.

    Every person's log-odds are a line in the offer. Variances are by MacKay's rule: of a block with
    coefficients b, precision l and p columns, l = (p - l tr V) / |b|^2, V being the posterior
    covariance; it is the fixed point of the evidence (Wood & Fasiolo 2017 for smooths).

    Attributes
    ----------
    models_ : list of dict
        One, with ``coef`` (p,), ``intercept``, ``ridge`` (p,) the prior precision of each
        coefficient, infinite where its block is left out, ``iterations``, ``converged``.

    References
    ----------
    MacKay (1992), Neural Computation 4; Wood & Fasiolo (2017), Biometrics 73.
    """

    CATEGORIES = True
    STORED = ("coef", "intercept", "ridge", "iterations", "converged")

    knots: int = 12
    pairs: bool = True
    most_columns: int = 250

    def _designed(self, X, categories):
        return AdditiveDesign().fit(X, categories, self.knots, self.pairs, self.most_columns)

    def _fit(self, Z, y, rng):
        block = self.design_.block_
        ridge = np.where(block < 0, LOOSE, START)
        asked = some_rows(len(Z), ASKED_ROWS, rng)
        product = self.design_.product_
        beta, ridge, rounds, settled = _evidence(Z[asked], y[asked], block, product, ridge)
        beta, steps, converged = _mode(Z, y, ridge, beta)
        found = {"coef": beta[:-1], "intercept": float(beta[-1]), "ridge": ridge}
        return found | {"iterations": rounds + steps, "converged": float(settled and converged)}

    def _constant(self, log_odds, p):
        return super()._constant(log_odds, p) | {"ridge": np.full(p, np.inf), "converged": 1.0}

    def precision(self):
        """Prior precision of each coefficient of `models_`."""
        return np.asarray(self.models_[0]["ridge"], dtype=float)

    def to_arrays(self):
        """Fitted numbers by name."""
        arrays = super().to_arrays()
        return arrays | {
            f"design_{name}": getattr(self.design_, f"{name}_") for name in AdditiveDesign.NAMES
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = super().from_arrays(arrays)
        design = AdditiveDesign()
        vars(design).update(vars(model.design_))
        whole = ("numbers", "levels", "groups", "products", "block")
        for name in AdditiveDesign.NAMES:
            values = np.asarray(arrays[f"design_{name}"])
            setattr(design, f"{name}_", values.astype(int if name in whole else float))
        model.design_ = design
        return model


def _evidence(Z, y, block, product, ridge):
    """Coefficients (p + 1,), constant last, precisions (p,), rounds, and whether they settled."""
    rows, ridge = np.column_stack([Z, np.ones(len(Z))]), ridge.copy()
    beta, blocks = np.zeros(rows.shape[1]), np.unique(block[block >= 0])
    width = Z.var(axis=0)
    start = float(np.clip(y.mean(), 1e-6, 1 - 1e-6))
    beta[-1] = np.log(start / (1 - start))
    before = rows @ beta
    for number in range(1, ROUNDS + 1):
        used = np.append(np.isfinite(ridge), True)
        part, own = rows[:, used], beta[used]
        own, inverse = _newton_step(part, y, np.append(ridge[used[:-1]], 0.0), own)
        beta = np.zeros(len(used))
        beta[used] = own
        spread = np.zeros(len(used))
        spread[used] = np.diag(inverse)
        for one in blocks:
            mine = (block == one) & used[:-1]
            if not mine.any():
                continue
            places = np.flatnonzero(mine)
            precision = ridge[places[0]]
            freedom = len(places) - precision * spread[places].sum()
            if product[places[0]] and number > 5 and freedom < NOTHING:
                ridge[places] = np.inf
                beta[places] = 0.0
                continue
            most = 1e8 if product[places[0]] else width[places].sum() / LEAST
            size = max(float(beta[places] @ beta[places]), 1e-12)
            ridge[places] = np.clip(freedom / size, 1e-3, most)
        score = rows @ beta
        moved, before = np.abs(score - before).max(), score
        if number > 6 and moved <= CLOSE:
            return beta, ridge, number, True
    return beta, ridge, ROUNDS, bool(moved <= 0.05)


def _newton_step(rows, y, ridge, beta):
    """Coefficients after one Newton step, which moves scores by 5 at most, and the inverse of H."""
    chance = expit(rows @ beta)
    bend = chance * (1 - chance)
    hessian = (rows * bend[:, None]).T @ rows
    hessian[np.diag_indices_from(hessian)] += ridge + 1e-9
    inverse = np.linalg.inv(hessian)
    move = inverse @ (rows.T @ (y - chance) - ridge * beta)
    far = np.abs(rows @ move).max()
    return beta + move * min(1.0, 5.0 / max(far, 1e-300)), inverse


def _mode(Z, y, ridge, beta):
    """The most probable coefficients at given precisions, the steps, and whether they converged."""
    used = np.append(np.isfinite(ridge), True)
    rows, own = np.column_stack([Z, np.ones(len(Z))])[:, used], beta[used]
    steps, moved = 0, np.inf
    while moved > SETTLED and steps < STEPS:
        new, _ = _newton_step(rows, y, np.append(ridge[used[:-1]], 0.0), own)
        moved, own, steps = np.abs(rows @ (new - own)).max(), new, steps + 1
    found = np.zeros(len(used))
    found[used] = own
    return found, steps, bool(moved <= SETTLED)
