"""Columns that tell what no feature may tell: an outcome, an answer, an offer, a reward, a group.

All families ask the same of their columns (`Secret`). Nothing here is a proof. A column is named
where an honest feature could hardly do what it does; each check says what it assumes.
"""

import numpy as np

from counterweight.labeling.exact_formulas import (
    LEAST,
    NEAR_PERFECT,
    explained,
    line_share,
    pairs,
    several_columns,
)

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
#: What to do about a column that was left out, as advice begins.
KEEP = "name it under columns.keep if it is"


class Secret:
    """What no feature may tell, and the checks of columns against it.

    Parameters
    ----------
    name : str
        Such as ``outcome``, with *the* or *an* before it in a sentence.
    values : array (n,)
        Floats, NaN where it is not known: two values are classes, more a number. Or integer codes
        of classes, -1 where it is not known.
    advice : str
        What to do about a column that was not meant.
    copies : bool
        Whether only a copy counts, which tells the secret and is told by it. Else a column counts
        that alone tells it near-perfectly.
    closely : bool
        Whether columns also count that tell for which rows it is known, and those that tell it
        exactly with another one.
    beside : dict of str to array (n,)
        Numbers with which a column may tell it, such as the offer beside the answer.

    Attributes
    ----------
    known : array of bool (n,)
    """

    def __init__(self, name, values, advice, *, copies=False, closely=False, beside=None):
        self.name, self.advice, self.copies, self.closely = name, advice, copies, closely
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

    @np.errstate(all="ignore")  # what is beyond numbers tells nothing
    def judged(self, values):
        """Why a column is no feature, and what is to be looked at where it may be one.

        Parameters
        ----------
        values : array (n,)
            Floats, or integer codes of texts (-1 missing).

        Returns
        -------
        why, doubt : str
            One of the two at most; "" for nothing.
        """
        why, doubt = self._of_blanks(values) if self.closely else "", ""
        if not why and copied(values[self.known], self._values[self.known]):
            why = f"a copy of the {self.name}"
        if not why and not self.copies:
            why, doubt = self._told_by(values, "alone")
            for name, other in self._beside.items() if values.dtype.kind == "f" else ():
                if not why:
                    why, more = self._told_by(values - other, f"with the {name}")
                    doubt = doubt or more
        return (f"{why}: {self.advice}", "") if why else ("", doubt)

    def _told_by(self, values, how):
        """That a column tells it too well, and that it does so nearly."""
        leaks, strong = [], []
        for part in self._parts:
            quality = part.alone(_of_size_one(values))
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
        if self.known.all():
            return ""
        one = f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name}"
        return {
            "": "",
            "labeled": f"known only for rows with {one}, it may give the {self.name} away",
            "unlabeled": f"known only for rows without {one}, so nothing is learnt of it",
            "same labeled": f"one value in all rows with {one} and in no other, it says which rows "
            "have it and nothing else is learnt of it",
            "same unlabeled": f"one number in all rows without {one} and in no other, it may give "
            f"the {self.name} away",
        }[known_by_label(present(values), self.known) or same_by_label(values, self.known)]

    @np.errstate(all="ignore")
    def together(self, columns, kept=()):
        """Columns with which others give the secret exactly: sums, differences, products, ratios.

        Every pair is tried, in any units and on rows that have both (half of them at least), then
        sums and products of several. Named of two is the one that tells more of an outcome alone,
        and less of an offer, most of which is told by what it was made from; of several the one
        of greatest share, until the others do not give the secret any more.

        Parameters
        ----------
        columns : dict of str to array (n,)
            Numbers, without those that were found before.
        kept : sequence of str
            Columns that somebody insists on: of two the other one is named.

        Returns
        -------
        dict of str to str
            The reason, by column.
        """
        if not self.closely or len(self._parts) != 1:
            return {}
        (part,) = self._parts
        if self.copies and part.classes:
            return {}
        found = part.together(columns, self._beside, kept, less=self.copies)
        return {
            name: f"the {self.name} is {formula}: {self.advice}" for name, formula in found.items()
        }


def learnt(name, values, **options):
    """The secret that is learnt of columns, all of which must have been known before it."""
    return Secret(name, values, f"{KEEP} known before the {name}", closely=True, **options)


def of_offers(answers, offers):
    """The secrets of people who got offers: their answers, and what was offered.

    Parameters
    ----------
    answers, offers : array (n,)
        NaN where there is none.

    Returns
    -------
    list of Secret
        An offer is only told by a copy: what it was made from is honest.
    """
    answers = np.where(np.isnan(offers), np.nan, answers)
    beside = {"offer": offers} if not np.isnan(offers).all() else {}
    return [learnt("answer", answers, beside=beside), learnt("offer", offers, copies=True)]


def present(values):
    """Where floats are not NaN, or codes not negative."""
    return ~np.isnan(values) if values.dtype.kind == "f" else values >= 0


def _of_size_one(values):
    """Numbers over their largest one, so that no square of them is beyond what numbers can be."""
    if values.dtype.kind != "f":
        return values
    largest = np.nanmax(np.abs(values), initial=0.0)
    return values / largest if largest > 0 else values


def known_by_label(present, labeled):
    """Whether a column is known for labeled rows only, or for the others only.

    Shapes: present, labeled of bool (n,).

    Returns
    -------
    str
        ``labeled``: known in at most one of 200 unlabeled rows, but in one of ten labeled rows
        or more, and so by chance in one table of 10,000. ``unlabeled``: the same of the others.
        ``""`` else, and where there are fewer than `LEAST` rows of either.
    """
    rows = labeled.sum(), (~labeled).sum()
    if min(rows) < LEAST:
        return ""
    known = present[labeled].sum(), present[~labeled].sum()
    for name, this, that in (("labeled", 0, 1), ("unlabeled", 1, 0)):
        share = known[this] / rows[this]
        # Where few are known, none among few rows is chance.
        chance = (1 - share) ** rows[that]
        if known[that] <= 0.005 * rows[that] and share >= 0.1 and chance < 1e-4:
            return name
    return ""


def same_by_label(values, labeled):
    """Whether a column has one value in the labeled rows that no other has, or the other way round.

    A number by which rows were chosen has several values on either side, and is honest. One value
    of the unlabeled only counts where labeled rows have more than `LEAST` others: then it stands
    for *does not apply*, as in the amount that was paid out.

    Shapes: values (n,); labeled of bool (n,).

    Returns
    -------
    str
        ``same labeled``, ``same unlabeled``, or "".
    """
    if min(labeled.sum(), (~labeled).sum()) < LEAST:
        return ""
    words, codes = np.unique(values, return_inverse=True)
    sizes = [np.bincount(codes[rows], minlength=len(words)) for rows in (labeled, ~labeled)]
    for name, this, that in (("same labeled", 0, 1), ("same unlabeled", 1, 0)):
        place = sizes[this].argmax()
        own = sizes[this][place] >= NEAR_PERFECT * sizes[this].sum()
        others = sizes[that][place] <= (1 - NEAR_PERFECT) * sizes[that].sum()
        many = values.dtype.kind == "f" and np.count_nonzero(sizes[that]) > LEAST
        if own and others and (this == 0 or many):
            return name
    return ""


def copied(values, secret):
    """Whether a column is a secret in other words, units or steps: each tells the other.

    Parameters
    ----------
    values, secret : array (n,)
        Floats or codes; the secret is known in all rows, what is missing of `values` is a level.

    Returns
    -------
    bool
        True where levels go with levels, one to one; where numbers are an affine function of
        each other; or where they never disagree in their order and lose little of it, as
        logarithms and rounded numbers. A code's order does not count. An honest feature by which
        an offer was made has another value at the same offer, and stays.
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

    Attributes
    ----------
    classes : bool
        Whether it is a class.
    near_perfect : float
        From which `alone` says that a column gives it away.
    enough : bool
        Whether rows are enough for less than that to say something.
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
            return _auc(y, predicted)
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
                found[(min if less else max)(free, key=alone.get)] = formula
        if not less:
            left = {name: sampled[name] for name in columns if name not in found}
            found |= several_columns(self.y, left)
        return found


def _auc(y, score):
    """Probability that a positive scores above a negative, ties half."""
    from scipy.stats import rankdata

    positive = y > 0
    m = positive.sum()
    if not 0 < m < len(y):
        return 0.0
    above = rankdata(score)[positive].sum() - m * (m + 1) / 2
    return above / (m * (len(y) - m))
