"""Features of a predictive choice model: which are used, as numbers or as categories."""

import logging
from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import named
from counterweight.numerics.emissions import Layout

log = logging.getLogger("counterweight")


@dataclass
class Features:
    """Numbers and categories of a fit, and how any rows are turned into them.

    A category is what a layout declares, or, unless told otherwise, a number with two values,
    ``low, high`` (NaN of all others). Numbers are centred and scaled. A number whose flag (the
    column ``flag``, -1 for none) is 1 is missing, whatever stands in its place; so is a category
    with a level that the fit has not seen. ``numbers`` are columns and ``categories`` places in the
    layout of those in use; ``constant`` and ``duplicated`` columns have one value, or are as good
    as one other.
    """

    layout: Layout
    low: np.ndarray
    high: np.ndarray
    flag: np.ndarray
    numbers: np.ndarray = None
    centre: np.ndarray = None
    scale: np.ndarray = None
    categories: np.ndarray = None
    constant: list = None
    duplicated: list = None

    @classmethod
    def fitted(cls, X, row_weights, floor, told=None, find=True, feature_names=None):
        """Find out how the columns of X (n, width), NaN where missing, are used.

        `floor` is of `used_features`, `told` a `Layout`; `find` says whether numbers with two
        values are categories. Refused where nothing varies, a category holds what is none of its
        levels, or squares of values overflow.
        """
        width = X.shape[1]
        told = Layout.of(width) if told is None else told
        flag = np.full(width, -1)
        for number, column in told.flags:
            flag[number] = column
        low, high = np.full(width, np.nan), np.full(width, np.nan)
        made = cls(told, low, high, flag)
        X = made._with_gaps(X)
        blocks, levels = list(told.categories), list(told.levels)
        for block, count in zip(blocks, levels, strict=True):
            if len(block) == 1 and count == 2:
                low[block[0]], high[block[0]] = 0.0, 1.0
        for column in told.numbers if find else ():
            there = X[~np.isnan(X[:, column]), column]
            ends = (there.min(), there.max()) if len(there) else (0.0, 0.0)
            if ends[0] < ends[1] and np.isin(there, ends).all():
                low[column], high[column] = ends
                blocks.append((column,))
                levels.append(2)
        taken = {column for block in blocks for column in block}
        numbers = tuple(column for column in range(width) if column not in taken)
        made.layout = Layout(numbers, tuple(blocks), tuple(levels))
        values, codes = made.layout.split(made._with_codes(X, strict=True))
        kept, alike = _distinct(codes, made.layout.levels)
        blocks = made.layout.categories
        made.categories = np.array(kept, dtype=int)
        left = sorted(column for at in alike for column in blocks[at])
        same = [
            column
            for at, block in enumerate(blocks)
            if at not in kept and at not in alike
            for column in block
        ]
        names = named(list(made.layout.numbers), feature_names)
        values = np.ascontiguousarray(values)
        found = used_features(values, row_weights, floor, names, alone=not len(kept))
        at = np.array(made.layout.numbers, dtype=int)
        made.numbers, made.centre, made.scale = at[found[0]], found[1], found[2]
        made.constant = sorted([*at[found[3]].tolist(), *same])
        made.duplicated = sorted([*at[found[4]].tolist(), *left])
        return made

    def without(self, places):
        """The same without some of the categories in use, by their places among these."""
        kept = np.delete(self.categories, places)
        return Features(**(self.__dict__ | {"categories": kept}))

    @property
    def levels(self):
        """Of each category in use."""
        return tuple(self.layout.levels[at] for at in self.categories)

    def columns(self, places):
        """Columns of some of the categories in use."""
        return [column for at in self.categories[places] for column in self.layout.categories[at]]

    def split(self, X):
        """Scaled numbers (n, a), NaN where missing, and codes (n, b), -1 where missing."""
        if not len(self.layout.categories) and not (self.flag >= 0).any():
            return (X[:, self.numbers] - self.centre) / self.scale, None
        X = self._with_codes(self._with_gaps(X))
        codes = self.layout.split(X)[1][:, self.categories]
        return (X[:, self.numbers] - self.centre) / self.scale, codes

    def _with_gaps(self, X):
        X = np.array(X, dtype=float)
        for number in np.flatnonzero(self.flag >= 0):
            X[X[:, self.flag[number]] == 1, number] = np.nan
        return X

    def _with_codes(self, X, strict=False):
        """Columns that are categories of their own as 0 and 1; unknown values are missing."""
        for column in np.flatnonzero(~np.isnan(self.low)):
            values, (low, high) = X[:, column], (self.low[column], self.high[column])
            unknown = (values != low) & (values != high)
            if strict and (unknown & ~np.isnan(values)).any():
                raise CounterweightError(
                    f"Feature column {column} is declared a category but is not 0 or 1 in some "
                    "rows: add no noise to categories, or declare it a number."
                )
            X[:, column] = np.where(unknown, np.nan, values == high)
        return X

    def to_arrays(self):
        """What `from_arrays` needs, by name."""
        layout = self.layout.to_arrays()
        return {
            "layout_category": layout["category"],
            "layout_levels": layout["levels"],
            "binary_low": np.nan_to_num(self.low),
            "binary_high": np.nan_to_num(self.high),
            "number_flag": self.flag,
            "categories_used": self.categories,
        }

    @classmethod
    def from_arrays(cls, arrays, numbers, centre, scale):
        """From what `to_arrays` gave; entries without values may be absent."""
        if "layout_category" not in arrays:
            # Stored before there were categories.
            width = int(arrays["n_features_in"])
            none, flag = np.full(width, np.nan), np.full(width, -1)
            used = np.empty(0, dtype=int)
            return cls(Layout.of(width), none, none, flag, numbers, centre, scale, used)
        category = np.asarray(arrays["layout_category"], dtype=int)
        told = {"category": category, "flag": np.full(len(category), -1)}
        layout = Layout.from_arrays(told | {"levels": arrays.get("layout_levels", ())})
        low, high = (np.array(arrays[f"binary_{end}"], dtype=float) for end in ("low", "high"))
        none = low == high
        low[none] = high[none] = np.nan
        flag = np.asarray(arrays["number_flag"], dtype=int)
        used = np.asarray(arrays.get("categories_used", ())).astype(int).reshape(-1)
        return cls(layout, low, high, flag, numbers, centre, scale, used)


def _distinct(codes, levels):
    """Categories with two levels or more, and those of them that tell what an earlier one does."""
    kept, alike = [], []
    for at in range(codes.shape[1]):
        own = codes[:, at] + 1
        if len(np.unique(own[own > 0])) < 2:
            continue
        count = len(np.unique(own))
        for other in kept:
            pairs = own * (levels[other] + 1) + codes[:, other] + 1
            if count == len(np.unique(codes[:, other])) == len(np.unique(pairs)):
                alike.append(at)
                break
        else:
            kept.append(at)
    return kept, alike


def used_features(X, row_weights, floor, feature_names=None, alone=True):
    """Features (n, d) in use; their centre and scale; constant and duplicated ones.

    Constant features and linear functions of one other are left out. The scale is the standard
    deviation. That of a feature with few values is stretched, so that the floor (the least variance
    of a scaled feature in a segment) is its `least_variance`; without this, segments shrink to
    single values. Refused where no feature varies (unless others do, not `alone`) or squares
    overflow.
    """
    seen = ~np.isnan(X)
    mass = np.maximum(row_weights @ seen, 1e-300)
    with np.errstate(over="ignore", invalid="ignore"):
        centre = row_weights @ np.where(seen, X, 0.0) / mass
        rest = np.where(seen, X - centre, 0.0)
        deviation = np.sqrt(row_weights @ np.square(rest) / mass)
    if not np.isfinite(deviation).all():
        raise CounterweightError("Values of the features are too large to square: rescale them.")
    spread = np.where(seen, X, -np.inf).max(axis=0) > np.where(seen, X, np.inf).min(axis=0)
    varies = spread & (deviation > 1e-12 * np.abs(centre))
    constant = np.flatnonzero(~varies).tolist()
    used = np.flatnonzero(varies)
    if not len(used) and alone:
        raise CounterweightError(
            f"All {X.shape[1]} features are constant over the {len(X)} rows given, so there "
            "are no segments to tell apart: add features that vary."
        )
    standard = rest[:, used] / deviation[used]
    likeness = np.abs((standard * row_weights[:, None]).T @ standard)
    same = np.triu(likeness > (1 - 1e-10) * np.sqrt(np.outer(mass[used], mass[used])), 1)
    present = seen[:, used].sum(axis=0)
    same &= present[:, None] == present
    twice = same.any(axis=0)
    duplicated = used[twice].tolist()
    used = used[~twice]
    for left_out, what in ((constant, "constant"), (duplicated, "duplicated")):
        if left_out:
            names = listed(named(left_out, feature_names))
            log.warning("Left out as %s: feature %s.", what, names)
    scale = deviation[used]
    for place, feature in enumerate(used):
        _, values = np.unique(X[seen[:, feature], feature], return_inverse=True)
        shares = np.bincount(values, row_weights[seen[:, feature]])
        scale[place] *= np.sqrt(max(least_variance(shares) / floor, 1.0))
    return used, centre[used], scale, constant, duplicated


def least_variance(shares):
    """Variance, in units of the whole one, below which segments would shrink to single values.

    `shares` are the rows, by weight, of each value. Of a feature with two values, p of the rarer,
    it is the least variance at which no mixture is likelier than one Gaussian, so that a category
    alone makes no segments. One Gaussian of variance v is the best mixture with this variance
    exactly if E exp(s x) is at most exp(s^2 v / 2) for all s, and the least such v of a Bernoulli
    variable is (1 - 2p) / (2 log((1 - p)/p)) (Kearns & Saul 1998); that is the variance itself if p
    = 1/2.

    With more values of entropy H it is exp(1 - 2H), or 1/(2H) if H is below 1/2: there, one
    narrow Gaussian for each value is no likelier than one for all. It is near 0 for many
    different values.
    """
    shares = shares[shares > 0] / shares.sum()
    if len(shares) == 2:
        p = shares.min()
        if p > 0.5 - 1e-6:
            return 1.0
        return float((1 - 2 * p) / (2 * np.log((1 - p) / p)) / (p * (1 - p)))
    entropy = -(shares * np.log(shares)).sum()
    return float(np.exp(1 - 2 * entropy) if entropy >= 0.5 else 0.5 / max(entropy, 1e-12))
