"""Columns that tell what no feature may tell: an outcome, an answer, an offer, a reward, a group.

All families ask the same of their columns (`Secret`). Nothing here is a proof. A column is named
where an honest feature could hardly do what it does; each check says what it assumes.
"""

import re
from itertools import combinations, zip_longest

import numpy as np
from scipy.special import bdtr

from counterweight.labeling.column_statistics import (
    LEAST,
    compared,
    explained,
    known_by_label,
    line_share,
    plain_auc,
    plane_share,
)

#: AUC, or share of variance, from which something is told near-perfectly; share of the rows of a
#: class that are told.
NEAR_PERFECT = 0.995
#: Share of variance from which a sum, product or ratio of columns is exact.
EXACT = 1 - 1e-5
#: Share of variance, and of the rows of a class, on a few rows from which all are looked at.
LIKELY, LIKELY_OF_CLASS = 0.98, 0.9
#: Rows of the rarer class below which only perfect is near-perfect, and from which it need be no
#: nearer: between them an honest column is that good by chance, the fewer rows the more often.
FEW, MANY = 50, 400
#: AUC, or share of variance, from which a column that is a feature is to be looked at.
STRONG = 0.98
#: Share of variance from which numbers are others in another unit.
UNIT = 0.9999
#: Squared rank correlation from which two numbers whose orders agree are one, bent or rounded, and
#: share of neighbours that may disagree.
SAME_ORDER, DISAGREE = 0.98, 0.005
#: Most rows that are looked at, over all classes; least of them for one class; rows that are looked
#: at first, where there are twice as many, and what they say of numbers worth a further look.
ROWS, LEAST_ROWS = 50_000, 5_000
FIRST_ROWS, FURTHER = 4_000, 0.9
#: Rows of a level, in a copy, below which it is passed over.
LEAST_OF_LEVEL = 3
#: Different numbers up to which a column may be a code, whose order says nothing.
CODES = 50
#: Other values of a number up to which it may be a state, such as refused and withdrawn.
STATES = 2
#: AUC from which the order of numbers that are no feature tells for which rows something is known.
APART = 0.65
#: Chance that whole groups of rows have an outcome, or none of their rows, from which that is told.
BY_CHANCE = 1e-6
#: What to do about a column that was left out, as advice begins.
KEEP = "name it under columns.keep if it is"


class Secret:
    """What no feature may tell, and the checks of columns against it.

    `name` is such as ``outcome``, with *the* or *an* before it in a sentence. `values` are floats,
    NaN where it is not known (two values are classes, more a number), or integer codes of classes,
    -1 where it is not known. `advice` says what to do about a column that was not meant. With
    `copies` only a copy counts, which tells the secret and is told by it; else a column that alone
    tells it near-perfectly. With `closely` columns also count that tell for which rows it is known,
    and those that tell it exactly with another one. `beside` has numbers, by name, with which a
    column may tell it, such as the offer beside the answer: it counts where it tells much more
    than they do alone. ``known`` is the mask of the rows where it is known.
    """

    def __init__(self, name, values, advice, *, copies=False, closely=False, beside=None):
        self.name, self.advice, self.copies, self.closely = name, advice, copies, closely
        self.one = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
        self._values, self._beside = np.asarray(values), beside or {}
        self.known = present(self._values)
        self._parts = []
        if self._values.dtype.kind == "f":
            self._parts = [_Told(self._values)]
        elif not copies:
            sizes = np.bincount(self._values[self.known])
            levels = np.flatnonzero(sizes >= LEAST)[: CODES + 1]
            if np.count_nonzero(sizes) == 2:
                levels = levels[:1]  # the other one is told with it
            if len(levels) > CODES:
                levels = []  # no group, and told so where rows are labeled
            rows = max(LEAST_ROWS, ROWS // max(len(levels), 1))
            self._parts = [
                _Told(np.where(self.known, self._values == level, np.nan), rows) for level in levels
            ]
        with np.errstate(all="ignore"):
            self._alone = {
                name: [part.alone(_of_size_one(other)) for part in self._parts]
                for name, other in self._beside.items()
            }

    @np.errstate(all="ignore")  # what is beyond numbers tells nothing
    def judged(self, values):
        """Why a column is no feature, and what is to be looked at where it may be one.

        Values (n,) are floats, or integer codes of texts (-1 missing). One of the two sentences at
        most is not "".
        """
        why, chosen = self._of_blanks(values) if self.closely else ("", "")
        doubt = ""
        if not why and copied(values[self.known], self._values[self.known]):
            why = f"a copy of the {self.name}"
        if not why and not self.copies:
            why, doubt = self._told_by(values, "alone")
            for name, other in self._beside.items() if values.dtype.kind == "f" else ():
                if not why:
                    how = f"with the {name}"
                    why, more = self._told_by(values - other, how, self._alone[name])
                    doubt = doubt or more
        return (f"{why}: {self.advice}", "") if why else ("", doubt or chosen)

    def _told_by(self, values, how, without=()):
        """That a column tells it too well, and that it does so nearly.

        `without` is how well each part is told without the column: it must leave less than half of
        what was left to tell, which is nothing where that is near-perfect by itself.
        """
        leaks, strong = [], []
        for part, before in zip_longest(self._parts, without, fillvalue=0.0):
            quality = part.alone(_of_size_one(values))
            if before >= part.near_perfect or 1 - quality >= (1 - before) / 2:
                continue
            measure = "AUC" if part.classes else "R²"
            if quality >= part.near_perfect:
                leaks.append((quality, f"{how} ({measure} {quality:.4f})"))
            elif quality >= STRONG and part.enough and self.closely:
                strong.append((quality, f"{how} ({measure} {quality:.4f})"))
        if leaks:
            return f"gives the {self.name} away, {max(leaks)[1]}", ""
        if strong:
            known = f"make sure that it is known before the {self.name}"
            return "", f"tells the {self.name} very well {max(strong)[1]}: {known}"
        return "", ""

    def _of_blanks(self, values):
        """That a column tells who has it, and that rows were chosen by it."""
        if self.known.all():
            return "", ""
        one = self.one
        how = known_by_label(present(values), self.known) or same_by_label(values, self.known)
        how = how or filled_by_label(values, self.known, self._values)
        doubts = {
            "chosen": f"all rows with {one} have one value of it and nearly all others have "
            f"another, so these are like no row with {one}: if it only says who has one, leave it "
            "out by columns.ignore",
            "filled": f"all rows without {one} have one value of it, which many with {one} do not "
            f"have: if other values come with the {self.name}, leave it out by columns.ignore",
        }
        return {
            "": "",
            "labeled": f"known only for rows with {one}, it may give the {self.name} away",
            "unlabeled": f"known only for rows without {one}, so nothing is learnt of it",
            "same labeled": f"one value in all rows with {one} and in no other, it says which rows "
            "have it and nothing else is learnt of it",
            "same unlabeled": f"one number in all rows without {one} and in no other, it may give "
            f"the {self.name} away",
            "away": f"rows without {one} hardly have values that go with one {self.name} alone, "
            "so it may be filled in afterwards",
        }.get(how, ""), doubts.get(how, "")

    def of_order(self, values):
        """That numbers of a column which is no feature tell for which rows it is known, or "".

        By their order, as ids that go with time do: an AUC of `APART`, beyond chance.
        """
        there = present(values)
        known = self.known[there]
        m, n = int(known.sum()), int((~known).sum())
        if not self.closely or values.dtype.kind != "f" or min(m, n) < LEAST:
            return ""
        auc = plain_auc(known, values[there])
        beyond_chance = 5 * np.sqrt((m + n + 1) / (12 * m * n))
        if abs(auc - 0.5) < max(APART - 0.5, beyond_chance):
            return ""
        told = f"rows without {self.one} have {'smaller' if auc > 0.5 else 'larger'} values of it"
        return (
            f"{told} (AUC {max(auc, 1 - auc):.2f}), and no answer goes by it: if its order goes "
            f"with time or with the {self.name}, give what it stands for as a column, as time or "
            "under columns.keep"
        )

    def of_groups(self, values):
        """That it is known of all rows with one value of a column, or of none, or "".

        Where by chance that would be rarer than `BY_CHANCE`, with `LEAST` values of two rows or
        more, and where those that have it are no range of numbers, as rows that were chosen by the
        column are.
        """
        if not self.closely or self.known.all():
            return ""
        step = max(1, -(-len(values) // ROWS))
        values, known = values[::step], self.known[::step]
        there = present(values)
        _, codes, sizes = np.unique(values[there], return_inverse=True, return_counts=True)
        several, share = sizes >= 2, known[there].mean() if there.any() else 0.0
        if several.sum() < LEAST or not 0 < share < 1:
            return ""
        seen = np.bincount(codes, known[there])
        chance = np.logaddexp(sizes * np.log(share), sizes * np.log1p(-share))[several].sum()
        apart = np.count_nonzero(np.diff(seen > 0)) >= share * (1 - share) * len(sizes)
        whole = ((seen == 0) | (seen == sizes)).all()
        if not (whole and apart and chance <= np.log(BY_CHANCE)):
            return ""
        return (
            f"all rows of one value have {self.one}, or none has: if they belong together, "
            "name it as group, for an interval takes each row for one of its own"
        )

    def between(self, dates):
        """As `judged`, of the time between two of some dates (n,) by name: the later one is named.

        A case that is closed sooner or later by how it ended tells it by no date alone.
        """
        for one, other in combinations(dates if self.closely else (), 2):
            apart = dates[other] - dates[one]
            first, last = (one, other) if np.nanmedian(apart) >= 0 else (other, one)
            why, doubt = self._told_by(apart, f"by the time since {first}")
            yield last, f"{why}: {self.advice}" if why else "", doubt

    @np.errstate(all="ignore")
    def together(self, columns, kept=()):
        """Columns with which others give the secret exactly: why, by column.

        Sums, differences, products, ratios: every pair of `columns` (numbers, without those that
        were found before) is tried, in any units and on rows that have both (half of them at
        least), then sums and products of several. Named of two is the one that tells more of an
        outcome alone, and less of an offer, most of which is told by what it was made from; of
        those that are `kept`, the other one; of several the one of greatest share, until the others
        do not give the secret any more. What is taken off others to give an offer was made from it.
        """
        if not self.closely or len(self._parts) != 1:
            return {}
        (part,) = self._parts
        if self.copies and part.classes:
            return {}
        beside = {
            name: other
            for name, other in self._beside.items()
            if self._alone[name][0] < part.near_perfect
        }
        found = part.together(columns, beside, kept, less=self.copies)
        return {
            name: f"the {self.name} is {formula}: {self.advice}" for name, formula in found.items()
        }


def learnt(name, values, **options):
    """The secret that is learnt of columns, all of which must have been known before it."""
    return Secret(name, values, f"{KEEP} known before the {name}", closely=True, **options)


def of_offers(answers, offers):
    """The secrets of people who got offers: their answers, and what was offered; NaN for none."""
    answers = np.where(np.isnan(offers), np.nan, answers)
    beside = {"offer": offers} if not np.isnan(offers).all() else {}
    return [learnt("answer", answers, beside=beside), learnt("offer", offers, copies=True)]


def without_advice(why):
    """Why a column is no feature, without what to do about it."""
    return re.split(f"[:;] {KEEP}", why)[0]


def present(values):
    """Where floats are not NaN, or codes not negative."""
    return ~np.isnan(values) if values.dtype.kind == "f" else values >= 0


def _of_size_one(values):
    """Numbers over their largest one, so that no square of them is beyond what numbers can be."""
    if values.dtype.kind != "f":
        return values
    largest = np.nanmax(np.abs(values), initial=0.0)
    return values / largest if largest > 0 else values


def same_by_label(values, labeled):
    """Whether a column has one value in the labeled rows that no other has, or the other way round.

    A number by which rows were chosen has several values on either side, and is honest. So it is
    where labeled rows have one and the others more than `STATES`, as of those who were chosen for a
    0. One value of the unlabeled only counts where labeled rows have more than `LEAST` others: then
    it stands for *does not apply*, as in the amount that was paid out. ``chosen``, ``same
    labeled``, ``same unlabeled`` or "".
    """
    if min(labeled.sum(), (~labeled).sum()) < LEAST:
        return ""
    words, codes = np.unique(values, return_inverse=True)
    sizes = [np.bincount(codes[rows], minlength=len(words)) for rows in (labeled, ~labeled)]
    for name, this, that in (("same labeled", 0, 1), ("same unlabeled", 1, 0)):
        place = sizes[this].argmax()
        own = sizes[this][place] >= NEAR_PERFECT * sizes[this].sum()
        others = sizes[that][place] <= (1 - NEAR_PERFECT) * sizes[that].sum()
        number = values.dtype.kind == "f"
        many = number and np.count_nonzero(sizes[that]) > (LEAST if this == 1 else STATES)
        if own and others and (many or this == 0):
            return "chosen" if many and this == 0 else name
    return ""


def filled_by_label(values, labeled, secret):
    """Whether labels brought values that unlabeled rows do not have, as after a default; or "".

    These have `own` values, hardly one (1 %) another, beyond chance. ``away`` where the others are
    of one of two classes, beyond chance; ``filled`` where there is one `own` value and a tenth of
    the labeled rows have another: so are honest columns by one value of which rows were chosen.
    """
    words, codes = np.unique(values, return_inverse=True)
    sizes, count = np.bincount(codes[~labeled], minlength=len(words)), (~labeled).sum()
    own = sizes > (1 - NEAR_PERFECT) * count
    other, more = labeled & ~own[codes], count - sizes[own].sum()
    share = other.sum() / max(labeled.sum(), 1)
    if min(count, other.sum()) < LEAST or more > 2 * (1 - NEAR_PERFECT) * count:
        return ""
    if bdtr(more, count, share) > 1e-4:
        return ""
    names, of = np.unique(secret[labeled], return_inverse=True)
    told = np.bincount(of[other[labeled]], minlength=len(names))
    chance = (np.bincount(of).max() / labeled.sum()) ** other.sum()
    alike = told.max() >= NEAR_PERFECT * told.sum() and chance < 1e-4
    if len(names) == 2 and alike:
        return "away"
    return "filled" if share >= 0.1 and own.sum() == 1 and not more else ""


def copied(values, secret):
    """Whether a column is a secret in other words, units or steps: each tells the other.

    Both are floats or codes; the secret is known in all rows, what is missing of `values` is a
    level. True where levels go with levels, one to one; where numbers are an affine function of
    each other; or where they never disagree in their order and lose little of it, as logarithms and
    rounded numbers. A code's order does not count. An honest feature by which an offer was made has
    another value at the same offer, and stays.
    """
    step = max(1, -(-len(secret) // ROWS))
    values, secret = _of_size_one(values[::step]), _of_size_one(secret[::step])
    if len(secret) < LEAST:
        return False
    if _levels_alike(values, secret):
        return True
    return secret.dtype.kind == "f" and _one_number(values, secret)


def _levels_alike(values, secret):
    """Whether nearly all rows are in pairs of levels that go with each other alone."""
    own, mine = (np.unique(x, return_inverse=True)[1] for x in (values, secret))
    pairs, rows = np.unique(mine * np.int64(own.max() + 1) + own, return_counts=True)
    first, second = pairs // (own.max() + 1), pairs % (own.max() + 1)
    of_secret, of_values = np.bincount(mine), np.bincount(own)
    told = rows >= NEAR_PERFECT * np.maximum(of_secret[first], of_values[second])
    enough = of_secret >= LEAST_OF_LEVEL
    if np.count_nonzero(enough) < 2 or rows[told].sum() < NEAR_PERFECT * len(own):
        return False
    return not set(np.flatnonzero(enough)) - set(first[told])


def _one_number(values, secret):
    """Whether a column is a number in another unit, bent or rounded, in rows where it is known."""
    known = present(values)
    if known.sum() < max(2 * LEAST, 0.1 * len(known)):
        return False
    x, y = values[known], secret[known]
    codes, sizes = np.unique(x, return_inverse=True, return_counts=True)[1:]
    if x.dtype.kind == "f" and line_share(y, x[None])[0] >= UNIT:
        return True
    if len(y) < FEW:
        return False
    coded = x.dtype.kind == "i" or len(sizes) <= CODES
    if coded and len(sizes) > len(y) / 5:
        return False
    if coded:  # levels in the order of their means, each apart from the others
        x = np.argsort(np.argsort(np.bincount(codes, y) / sizes, kind="stable"))[codes]
    few = slice(None, None, max(1, len(y) // 500))
    return _same_order(x[few], y[few]) and _same_order(x, y)


def _same_order(x, y):
    """Whether the orders of two numbers agree, up or down, and ties hide little of either."""
    from scipy.stats import rankdata

    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return False
    ranks = np.corrcoef(rankdata(x), rankdata(y))[0, 1]
    if ranks**2 < SAME_ORDER:
        return False
    x = x if ranks > 0 else -x
    steps = np.diff(x[np.lexsort((x, y))])
    return np.count_nonzero(steps < 0) <= DISAGREE * np.count_nonzero(steps)


class _Told:
    """How well columns tell a class or a number of rows that they were not fitted on.

    ``classes``: whether it is a class; ``near_perfect``: from which `alone` says that a column
    gives it away; ``enough``: whether rows are enough for less than that to say something.
    """

    def __init__(self, values, rows=ROWS):
        at = np.flatnonzero(~np.isnan(values))
        self.at = at[:: max(1, -(-len(at) // rows))]
        self.y = np.asarray(values, float)[self.at]
        there, self.counts = np.unique(self.y, return_counts=True)
        self.classes = len(there) == 2
        if self.classes:
            self.y = (self.y == there[1]).astype(float)
        # Every other row, of each class: neither half is of early rows only, or of one class.
        order = np.argsort(self.y, kind="stable") if self.classes else np.arange(len(self.y))
        self.half = np.empty(len(self.y), bool)
        self.half[order] = np.arange(len(self.y)) % 2 == 0
        least = self.counts.min() if len(there) else 0
        enough = least >= LEAST if self.classes else len(self.y) >= 2 * LEAST
        self.told = bool(len(there) > 1 and enough)
        self.enough = not self.classes or least >= FEW
        self.first = self._thinned(values) if len(self.y) > 2 * FIRST_ROWS else None
        rows = 0 if least < FEW else min(least, MANY)
        self.near_perfect = 1 - (1 - NEAR_PERFECT) * (rows / MANY if self.classes else 1)

    def _thinned(self, values):
        """The same of a few rows, as many of either class as there can be."""
        thin = np.full(len(values), np.nan)
        parts = [self.y == one for one in (0.0, 1.0)] if self.classes else [self.y == self.y]
        for part in parts:
            at = self.at[part]
            at = at[:: max(1, len(at) * len(parts) // FIRST_ROWS)]
            thin[at] = values[at]
        return _Told(thin)

    def alone(self, values):
        """How well a column alone tells the values of rows that it was not fitted on.

        Of a class it is the AUC of category means, of means of 50 bins, and of the number
        itself; of a number the share of variance of the same, of a line and of a curve through
        the other half's points. A column of many levels does not look well by chance, since
        each half is told by the other: the worse of both counts. Where the column is often
        missing, rows that have it are also looked at by themselves.
        """
        if not self.told:
            return 0.0
        if self.first and values.dtype.kind == "f":
            quality = self.first.alone(values)
            if quality < FURTHER:
                return quality
        x = values[self.at]
        ways = [self._by_level] if x.dtype.kind == "i" else [self._by_bin, self._by_curve]
        ways += [] if x.dtype.kind == "i" else [self._by_line]
        quality = [[way(x, half) for half in (self.half, ~self.half)] for way in ways]
        best = float(np.max(np.min(quality, axis=1)))
        known = present(x)
        if best < self.near_perfect and 0.1 <= known.mean() < 1:
            apart = _Told(np.where(known, self.y, np.nan))
            if apart.told and (not self.classes or apart.counts.min() >= FEW):
                best = max(best, apart.alone(x))
        return best

    def _quality(self, predicted, half):
        y = self.y[~half]
        if self.classes:
            return plain_auc(y > 0, predicted)
        return explained(y, predicted)

    def _by_level(self, x, half):
        return self._by_code(np.unique(x, return_inverse=True)[1], half)

    def _by_bin(self, x, half):
        there = np.sort(x[half & ~np.isnan(x)])
        if not len(there):
            return 0.0
        edges = np.unique(there[np.linspace(0, len(there) - 1, 51).astype(int)])
        which = np.where(np.isnan(x), len(edges) + 1, np.searchsorted(edges, x))
        return self._by_code(which, half)

    def _by_code(self, which, half):
        """By the mean of a code in one half, the mean of all where it has none."""
        most = which.max() + 1
        rows = np.bincount(which[half], minlength=most)
        sums = np.bincount(which[half], self.y[half], minlength=most)
        means = np.where(rows > 0, sums / np.maximum(rows, 1), self.y[half].mean())
        return self._quality(means[which[~half]], half)

    def _by_curve(self, x, half):
        fit = half & ~np.isnan(x)
        if not fit.any():
            return 0.0
        points, which = np.unique(x[fit], return_inverse=True)
        heights = np.bincount(which, self.y[fit]) / np.bincount(which)
        filled = np.where(np.isnan(x), np.nan, np.interp(x, points, heights))
        return self._quality(self._with_missing(filled, half)[~half], half)

    def _by_line(self, x, half):
        fit = half & ~np.isnan(x)
        if not fit.any() or np.ptp(x[fit]) == 0:
            return 0.0
        centred = x - x[fit].mean()
        slope = centred[fit] @ self.y[fit] / (centred[fit] @ centred[fit])
        line = self.y[fit].mean() + slope * centred
        return self._quality(self._with_missing(line, half)[~half], half)

    def _with_missing(self, predicted, half):
        """Predictions with the mean of the missing where the column is missing."""
        missing = np.isnan(predicted)
        if not missing.any():
            return predicted
        rows = half & missing if (half & missing).any() else half
        return np.where(missing, self.y[rows].mean(), predicted)

    def together(self, columns, beside, kept, less):
        """What columns are with others, by the one that is named; see `Secret.together`."""
        found, alone = {}, {}
        if not self.told:
            return found
        sampled = {name: x[self.at] for name, x in (columns | beside).items()}
        for a, b, formula in pairs(self.y, sampled):
            free = [name for name in (a, b) if name in columns]
            free = [name for name in free if name not in kept] or free
            if free and not {a, b} & found.keys():
                alone |= {n: self.alone(columns[n]) for n in free if n not in alone}
                named = (min if less else max)(free, key=alone.get)
                gap = less and _taken_off(self.y, sampled[a], sampled[b])
                found[(a, b)[gap - 1] if gap and (a, b)[gap - 1] in free else named] = formula
        left = {name: sampled[name] for name in columns if name not in found}
        return found | several_columns(self.y, left, less)


def pairs(y, columns):
    """Pairs of columns that give y exactly, in any units: both names, and the formula in words.

    y (n,) is of zeros and ones, or of numbers; columns are floats, NaN where missing. On a few rows
    first: nearly every pair fails there. Then on all that have both columns, half of them at least.
    Exact is also what is off by no more than y was rounded. Of a pair the formula that was found
    first is told, such as ``price × pieces``.
    """
    names, classes = list(columns), _classes(y)
    if len(names) < 2:
        return
    X = np.array(list(columns.values()))
    few = np.argsort(y, kind="stable")
    few = np.unique(np.append(few[:: max(1, len(few) // 200)], few[[0, -1]]))
    if classes:
        rows = [np.flatnonzero(y == one) for one in (0.0, 1.0)]
        few = np.concatenate([one[:: max(1, len(one) // 100)] for one in rows])
    short = X[:, few]
    for i in range(len(names) - 1):
        likely = _likely(y[few], short[i], short[i + 1 :], classes)
        for at in np.flatnonzero(likely.any(axis=0)):
            j = i + 1 + at
            formula = _formula(y, names[i], X[i], names[j], X[j], likely[:, at], classes)
            if formula:
                yield names[i], names[j], formula


def _classes(y):
    return bool(np.isin(y, (0.0, 1.0)).all())


def _likely(y, a, others, classes):
    """Which formulas of one column and each other one may be exact, (formulas, others)."""
    told = [plane_share(y, a, others)]
    told += [line_share(y, value) for value in (a * others, a / others, others / a)]
    if classes:
        likely = [*(share >= LIKELY for share in told)]
        return np.array([*likely, compared(y, a, others) >= LIKELY_OF_CLASS])
    logs = (np.log(np.where(x > 0, x, np.nan)) for x in (y, a, others))
    return np.array([*told, plane_share(*logs), plane_share(y, a, others, both=True)]) >= LIKELY


def _formula(y, a, x, b, z, likely, classes):
    """The formula of two columns that is exact on all rows, in words, or ""."""
    known = np.isfinite(x) & np.isfinite(z)
    if not _enough(y, known):
        return ""
    x, z, y, n = x[known], z[known], y[known], len(y)
    with np.errstate(all="ignore"):
        if likely[0] and (told := _exact(y, x, z)):
            return _in_words(told, {a: x, b: z}, y)
        ways = ((f"{a} × {b}", x * z), (f"{a} / {b}", x / z), (f"{b} / {a}", z / x))
        for (words, value), may in zip(ways, likely[1:4], strict=True):
            there = np.isfinite(value)
            enough = may and _enough(y, there, n)
            if enough and (told := _exact(y[there], value[there])):
                return _in_words(told, {words: value[there]}, y)
        if classes:
            above = likely[4] and compared(y, x, z[None])[0] >= NEAR_PERFECT
            return f"told by which is larger, {a} or {b}" if above else ""
        if likely[4] and (told := _exact(y, x, z, powers=True)):
            return f"{np.exp(told[2]):.4g} × {a}^{told[0]:.3g} × {b}^{told[1]:.3g}"
        told = _exact(y, x, z, x * z) if likely[5] else []
    return _in_words(told, {a: x, b: z, f"{a} × {b}": x * z}, y) if told else ""


def _enough(y, known, rows=None):
    """Whether rows with values are at least half of all, and of both classes often enough."""
    rows, y = rows or len(y), y[known]
    if len(y) < max(LEAST, 0.5 * rows) or np.ptp(y) == 0:
        return False
    return not _classes(y) or min(y.sum(), (1 - y).sum()) >= LEAST


def _exact(y, *columns, powers=False):
    """Coefficients, the constant last, where columns give y up to its rounding, else none."""
    X = np.array([*columns, np.ones(len(y))])
    if powers:
        if y.min() <= 0 or X.min() <= 0:
            return []
        X[:-1] = np.log(X[:-1])
    scale = np.abs(X).max(axis=1)
    if not scale.all():
        return []
    fitted = np.linalg.lstsq((X / scale[:, None]).T, np.log(y) if powers else y)[0] / scale
    predicted = np.exp(fitted @ X) if powers else fitted @ X
    share = explained(y, predicted)
    if share < NEAR_PERFECT:
        return []
    rounded = np.mean(np.abs(y - predicted) <= 0.55 * _step(y)) >= NEAR_PERFECT
    return fitted.tolist() if share >= EXACT or (rounded and not _classes(y)) else []


def _taken_off(y, x, z):
    """Which of two columns is taken off the other one to give y, 1 or 2; 0 for neither.

    A discount or a gap between prices was made from an offer, and what it was taken off was not.
    """
    known = np.isfinite(x) & np.isfinite(z)
    x, z, y = x[known], z[known], y[known]
    if not (_exact(y, x, z) or _exact(y, x, z, x * z)):
        return 0
    slopes = np.linalg.lstsq(np.array([x - x.mean(), z - z.mean()]).T, y - y.mean())[0]
    return int(slopes[0] < 0 < slopes[1]) + 2 * int(slopes[1] < 0 < slopes[0])


def several_columns(y, columns, less=False):
    """What y is, by the column of greatest share in sums and products that give it exactly.

    Until the others do not give y any more; y and `columns` as of `pairs`. Of an offer (`less`) it
    is one that was taken off others in their unit; of other sums and products it may be made.
    """
    found = {}
    for powers, words in ((False, "a sum"), (True, "a product of powers"))[: 1 if less else 2]:
        left = {name: x for name, x in columns.items() if name not in found}
        while named := _largest(y, left, powers, less):
            found[named] = f"{words} of {named} and other columns"
            del left[named]
    return found


def _largest(y, numbers, powers, less=False):
    """The column of greatest share where all of them give y, or None; see `several_columns`."""
    if powers and (_classes(y) or y.min() <= 0):
        return None
    if powers:
        numbers = {name: x for name, x in numbers.items() if np.nanmin(x, initial=1.0) > 0}
    numbers = {name: x for name, x in numbers.items() if np.isnan(x).mean() < 0.1}
    numbers = {name: x for name, x in numbers.items() if np.nanmin(x) < np.nanmax(x)}
    if not numbers:
        return None
    X = np.array(list(numbers.values()))
    known = np.flatnonzero(np.isfinite(X).all(axis=0))
    known = known[:: max(1, len(known) // 5000)]
    X, y = X[:, known], y[known]
    if len(y) < 5 * (len(X) + 1) or np.ptp(y) == 0 or not X.std(axis=1).all():
        return None
    told = _exact(y, *(X if powers else X - X.mean(axis=1, keepdims=True)), powers=powers)
    if not told:
        return None
    share = np.array(told[:-1]) * (np.log(X) if powers else X).std(axis=1)
    if not less:
        return list(numbers)[int(np.argmax(np.abs(share)))]
    # Of other sums the offer was made: prices that go by size and age.
    others = {k: np.delete(X - X.mean(axis=1, keepdims=True), k, 0) for k in np.argsort(share)}
    gaps = [k for k, rest in others.items() if share[k] < 0 and _exact(y + X[k], *rest)]
    alone = [k for k in gaps if not _exact(y, *others[k])]
    return list(numbers)[(alone or gaps)[0]] if gaps else None


def _in_words(coefficients, columns, y):
    """A sum as it is written, without parts that are nothing beside y."""
    *slopes, constant = coefficients
    least, words = 1e-3 * y.std(), []
    for slope, (name, values) in zip(slopes, columns.items(), strict=True):
        if abs(slope) * values.std() > least:
            size = f"{abs(slope):.4g}"
            words.append((slope, name if size == "1" else f"{size} × {name}"))
    words.sort(key=lambda part: part[0] < 0)
    words += [(constant, f"{abs(constant):.4g}")] if abs(constant) > least else []
    text = " ".join(f"{'-' if part < 0 else '+'} {word}" for part, word in words)
    return text.removeprefix("+ ")


def _step(y):
    """The largest power of ten of which all values are multiples, 0 where there is none."""
    for power in range(6, -7, -1):
        parts = y / 10.0**power
        near = 1e-6 + 1e-9 * (most := np.abs(parts).max())
        # Values that are all small beside a power are no multiples of it.
        if most > 0.5 and near < 0.1 and np.abs(parts - np.rint(parts)).max() <= near:
            return 10.0**power
    return 0.0
