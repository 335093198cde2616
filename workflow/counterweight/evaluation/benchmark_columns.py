"""Γ against columns that are seen: how strong would a hidden column be that is as strong as one?

Each column (or group of columns) is left out in turn, and what its absence hides is measured. Let
x_j b_j be the part of column j in the log odds of having no outcome, by logistic regression on all
columns, and e_j what remains of that part after its regression on the other columns. Two rows that
are equal by the others differ in those odds by the factor exp(|e_j - e_j'|). Of pairs of rows drawn
at random 95 % differ by less than the column's **selection factor** Γs. The same of the odds of the
outcome, by a fit to labeled rows, is its **outcome factor** Γy; for a number it is that of a
logistic law with the residual spread: exp(pi / sqrt(3) d), d the difference in standard
deviations. A hidden column with these factors makes the odds of an outcome, at equal features,
differ between rows with and without one by

    Γ = ((1 + sqrt(Γs Γy)) / (sqrt(Γs) + sqrt(Γy)))^2

at most (`counterweight.numerics.sensitivity.joint_gamma`). This is Γ of the column; it grows to Γs
where the column decides the outcome. Coefficients of pure chance have factors above 1 as well, so
e_j is made smaller by sqrt(1 - k / W), W Wald's statistic of the column's k coefficients, and is 0
where W is less than k. The answer without a column is that of the fit that leaves it out, by one
Newton step from the fit with it: A the inverse Hessian, scores lose A[:, j] A[j, j]^-1 b_j.

Assumptions: the column that is hidden goes with those that are seen as column j goes with the
others, and its strength is that of fits that are linear, bent at the thirds of a number where there
are few features. A column that differs in fewer than 5 % of the pairs has the factor 1. Nothing
here says that a hidden column is as strong as any that is seen.

References
----------
Cinelli & Hazlett (2020), *JRSS B* 82, for hidden strength in multiples of a column's; Hsu & Small
(2013), *Biometrics* 69, for Γ calibrated by columns and its split into two; Franks, D'Amour &
Feller (2020), *JASA* 115.
"""

import numpy as np

from counterweight.numerics.checks import checked_weights
from counterweight.numerics.linear import expit, fit_logistic
from counterweight.numerics.sensitivity import EITHER, e_values, joint_gamma

#: Columns that are told of, the strongest.
TOLD = 12
#: Pairs of rows of which so many differ by less than a column's factor; points that stand for them.
OF_PAIRS, POINTS = 0.95, 200
#: Features up to which numbers are bent, and rows on each side that a fit takes.
BENT, LEAST = 40, 20
#: Most rows of a table that are looked at: of more, the first by content, as good as drawn.
LOOKED_ROWS = 100_000
#: Standard deviation of the logistic law.
LOGISTIC_SD = np.pi / np.sqrt(3)


def column_strengths(X, columns, labeled, y, weight=None, *, hidden, binary=True, span=None):
    """How strong each column is, as metric records: the Γ that its absence would mean.

    Parameters
    ----------
    X : array (n, d)
        Features of all rows, finite.
    columns : sequence of str (d,)
        Column of the table, or group of columns, that each feature is of.
    labeled : bool array (n,)
    y : array (n,)
        Outcomes of labeled rows: 0 and 1, or numbers; others are not looked at.
    weight, hidden : array (n,)
        Design weights; of each row the share of the answer that is estimated for it: 0 for rows
        whose outcome is known or that are not of the target.
    binary : bool
    span : callable, optional
        ``span(gammas) -> low, high``, arrays (G,): the least and the largest answer at values of Γ.

    Returns
    -------
    list of dict
        By the column as ``part``, strongest first, `TOLD` at most: ``column_gamma`` (Γ, and as
        variables ``selection`` and ``outcome`` the factors Γs and Γy), ``column_move`` (answer of
        the linear fit without the column minus that with it) and, with `span`, ``column_range``
        (``least`` and ``most`` at the column's Γ). `EITHER` has the largest of each factor. Names
        and order of columns and rows do not count, but for rounding. Nothing where there are too
        few rows or only one column.
    """
    labeled, columns = np.asarray(labeled, bool), np.asarray(columns, object)
    weight = checked_weights(weight, len(labeled))
    Z, columns = _features(np.asarray(X, float), columns, weight)
    names = np.unique(columns.astype(str))
    if len(names) < 2 or min(labeled.sum(), (~labeled).sum()) < LEAST:
        return []
    seen = weight * labeled
    answered = np.where(labeled, np.asarray(y, float), 0.0)
    if binary and not 0 < answered[seen > 0].sum() < (seen > 0).sum():
        return []
    selection = _Fit(Z, 1.0 - labeled, weight, True)
    outcome = _Fit(Z, answered, seen, binary)
    share = weight / weight.sum()
    alike = np.linalg.inv((Z * share[:, None]).T @ Z + 1e-9 * np.eye(Z.shape[1]))
    own = [np.flatnonzero(columns == name) for name in names]
    sizes = [[fit.size(one) for one in own] for fit in (selection, outcome)]
    size = sum(np.array(one) / max(max(one), 1e-300) for one in sizes)
    told = np.lexsort((names, -np.round(size, 12)))[:TOLD]
    factors = []
    for at in told:
        here = own[at]
        left = Z @ alike[:, here] @ np.linalg.inv(alike[np.ix_(here, here)])
        parts = [left @ fit.sure(here) for fit in (selection, outcome)]
        factors.append(np.exp([_apart(part, weight) for part in parts]))
    factors = np.array(factors)
    # One more, as strong as the strongest is of either.
    factors = np.vstack([factors, factors.max(axis=0)])
    gamma = joint_gamma(*factors.T)
    low, high = span(gamma) if span else (None, None)
    records = []
    for rank in np.lexsort((np.arange(len(gamma)), -np.round(gamma, 12))):
        one = rank < len(told)
        place = {"part": str(names[told[rank]]) if one else EITHER}
        found = {("column_gamma", ""): gamma[rank]}
        found |= {("column_gamma", "selection"): factors[rank, 0]}
        found |= {("column_gamma", "outcome"): factors[rank, 1]}
        if one:
            found |= {("column_move", ""): outcome.move(own[told[rank]], hidden)}
        if span:
            found |= {("column_range", "least"): low[rank], ("column_range", "most"): high[rank]}
        records += [
            {"metric": metric, "variable": variable, "value": float(value)} | place
            for (metric, variable), value in found.items()
        ]
    return records


def _features(X, columns, weight):
    """Standardised features that vary, bent at the thirds where they are few, and their columns."""
    share = weight / weight.sum()
    if X.shape[1] <= BENT:
        knots = np.quantile(X[weight > 0], [1 / 3, 2 / 3], axis=0)
        # Two values are no number: nothing to bend.
        many = [len(np.unique(column[:2000])) > 2 for column in X.T]
        bent = [np.maximum(X - knot, 0)[:, many] for knot in knots]
        X, columns = np.hstack([X, *bent]), np.concatenate([columns, *[columns[many]] * 2])
    centre = share @ X
    X = X - centre
    scale = np.sqrt(share @ np.square(X))
    varies = scale > 1e-9 * np.maximum(np.abs(centre), 1e-300)
    return X[:, varies] / scale[varies], columns[varies]


class _Fit:
    """A regression on standardised features, and what it becomes without some of them.

    The penalty is that of one row in all: a normal prior of variance 1.
    """

    def __init__(self, Z, y, weight, binary):
        used = weight > 0
        self.rows, self.binary, self.y, self.weight = np.c_[Z, np.ones(len(Z))], binary, y, weight
        share = weight / weight[used].mean()
        penalty = np.append(np.ones(Z.shape[1]), 0.0)
        if binary:
            told = fit_logistic(Z[used], y[used].astype(int), weight[used], 1 / used.sum())
            self.coef = np.append(*told[:2])
            p = expit(self.rows @ self.coef)
            self.spread, curve = LOGISTIC_SD, p * (1 - p)
        else:
            gram = (self.rows * share[:, None]).T @ self.rows + np.diag(penalty)
            self.coef = np.linalg.solve(gram, self.rows.T @ (share * y))
            left = np.where(used, y - self.rows @ self.coef, 0.0)
            self.spread = float(np.sqrt(max(share @ left**2 / used.sum(), 1e-300)))
            curve = np.full(len(Z), self.spread**-2)
        hessian = (self.rows * (share * curve)[:, None]).T @ self.rows + np.diag(penalty)
        self.inverse = np.linalg.inv(hessian)

    def _solved(self, own):
        """``A[j, j]^-1 b[j]``, and Wald's statistic of the coefficients."""
        solved = np.linalg.solve(self.inverse[np.ix_(own, own)], self.coef[own])
        return solved, float(self.coef[own] @ solved)

    def size(self, own):
        """Wald's statistic beyond what chance makes: ranks columns."""
        return max(self._solved(own)[1] - len(own), 0.0)

    def sure(self, own):
        """Coefficients of some features, made smaller by what chance makes; in log odds."""
        _, wald = self._solved(own)
        kept = np.sqrt(max(1 - len(own) / wald, 0.0)) if wald > 0 else 0.0
        return kept * self.coef[own] * (LOGISTIC_SD / self.spread)

    def move(self, own, share):
        """Mean answer by shares (n,) without the features, minus that with them.

        The constant is put right, so that labeled rows keep their mean.
        """
        with_them = self.rows @ self.coef
        lost = self.rows @ (self.inverse[:, own] @ self._solved(own)[0])
        without, used = with_them - lost, self.weight > 0
        if not self.binary:
            return float(share @ (without - with_them))
        target = self.weight[used] @ self.y[used]
        for _ in range(8):
            p = expit(without[used])
            without = without + (target - self.weight[used] @ p) / max(
                self.weight[used] @ (p * (1 - p)), 1e-12
            )
        return float(share @ (expit(without) - expit(with_them)))


def _apart(values, weight):
    """By how much less than all but 5 % of pairs of rows differ, rows drawn by weight."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weight[order])
    at = np.searchsorted(mass, mass[-1] * (np.arange(POINTS) + 0.5) / POINTS)
    grid = values[order][np.minimum(at, len(order) - 1)]
    return float(np.quantile(np.abs(grid[:, None] - grid), OF_PAIRS))


def strength_records(data, rows, p, headline, hidden, centre=0.0, elsewhere=False):
    """`column_strengths` of a table with blanks around its answer, and the E-value of that.

    Parameters
    ----------
    data : counterweight.labeling.missing_outcomes.BlankData
    rows : counterweight.evaluation.hidden_labels.TargetRows
    p : array (n,)
        Estimates of all rows as among labeled ones, of labeled rows out of fold.
    headline, hidden : counterweight.numerics.estimate.Estimate
        The answer, and that of rows without an outcome.
    centre : float
        The tilt that answers are swept around; with one there is no E-value, which is against
        labels missing at random.
    elsewhere : bool
        Whether the target is not in the table: then who is of it is not seen by the columns.
    """
    records = []
    if not centre:
        spread = None if data.binary else float(np.sqrt(np.cov(rows.y)))
        ends = hidden.value, hidden.low, hidden.high
        found = e_values(*ends, rows.labeled_mean, spread)
        records = [
            {"metric": "e_value", "part": "rate", "variable": variable, "value": value}
            for variable, value in zip(("", "interval"), found, strict=True)
            if np.isfinite(value)
        ]
    if elsewhere:
        return records
    mean = rows.mean(p, centre=centre) if data.binary else rows.number(p)

    def span(gammas):
        swept = mean.sweep([1.0, *gammas])
        offset, bounds = headline.value - swept.low[0], (rows.least, 1.0 if data.binary else None)
        return tuple(np.clip(ends[1:] + offset, *bounds) for ends in (swept.low, swept.high))

    share = np.zeros(len(data.labeled))
    share[rows.where] = np.where(rows.hidden, rows.weight, 0.0) / rows.weight.sum()
    columns = [feature.column for feature in data.encoder.features_]
    looked = np.flatnonzero(data.order < LOOKED_ROWS) if len(share) > LOOKED_ROWS else slice(None)
    if len(share) > LOOKED_ROWS:
        share = share * (share.sum() / max(share[looked].sum(), 1e-300))
    told = {"hidden": share[looked], "binary": data.binary, "span": span}
    told |= {"labeled": data.labeled[looked], "y": data.y[looked], "weight": data.weight[looked]}
    return records + column_strengths(data.X[looked], columns, **told)
