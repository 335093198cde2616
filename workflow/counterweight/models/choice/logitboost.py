"""LogitBoost with simple linear regressions: logistic regression grown one feature at a time."""

from dataclasses import dataclass

import numpy as np

from counterweight.fragments import Choice, Integer
from counterweight.models.choice.baseline import BASELINE_OPTIONS, OfferBaseline

#: Largest working response |z|.
Z_LIMIT = 3.0
#: Boosting ends early where a step lowers the training log loss by less than this.
STALLED = 1e-10

KIND = "offers"
OPTIONS = {
    **BASELINE_OPTIONS,
    "iterations": Integer(0, "Number of boosting steps; 0 to choose it by cross-validation.", minimum=0),
    "most_iterations": Integer(500, "Largest number of steps that cross-validation tries.", minimum=1),
    "patience": Integer(50, "Steps without a new minimum after which cross-validation stops.", minimum=1),
    "folds": Integer(5, "Folds of the cross-validation.", minimum=2),
    "criterion": Choice("log_loss", ["log_loss", "misclassification"],
        "What cross-validation minimises. misclassification is the default of Weka's SimpleLogistic; where nobody is "
        "likelier than not to accept, it takes no step: p = 1/2 for everyone."),
}  # fmt: skip
LABEL = "LogitBoost"
ROLE = "peer"
VALUE_LABELS = {"per_component": {True: "by component"}}


class Boost:
    """LogitBoost on fixed rows, a step at a time (Friedman, Hastie & Tibshirani 2000, alg. 3).

    A step fits the working response ``z = (y - p) / (p (1 - p))`` by weighted least squares,
    weights ``w = p (1 - p)``, on each column alone (with an intercept), takes the column with
    the least weighted squared error, and adds its line to the log-odds. The sum is a linear
    model, a maximum-likelihood logistic regression in the limit.

    z is kept within [-3, 3] (the paper suggests 2 to 4), and where it is cut the weight
    becomes ``(y - p) / z``: so ``w z = y - p`` still holds, steps only get shorter, and the
    limit is that of the likelihood, which a cut of z alone would move.

    Parameters
    ----------
    Z : ndarray (n, p)
    y : ndarray (n,) of 0/1
    coef, intercept : optional
        Linear model to go on from; log-odds 0 without it.

    Attributes
    ----------
    coef, intercept
        Of the log-odds, in units of the columns.
    log_odds : ndarray (n,)
    """

    def __init__(self, Z, y, coef=None, intercept=0.0):
        self.y = np.asarray(y, dtype=float)
        self.center = Z.mean(axis=0)
        scale = Z.std(axis=0)
        used = (np.ptp(Z, axis=0) > 0) & (scale > 1e-12 * np.abs(self.center))
        self.scale = np.where(used, scale, 1.0)
        rows = np.where(used, (Z - self.center) / self.scale, 0.0)
        # Of each column: a contiguous line, and its squares, for the sums of each step.
        self.lines = np.ascontiguousarray(rows.T)
        self.both = np.vstack([self.lines, self.lines**2])
        self.coef = np.zeros(Z.shape[1]) if coef is None else np.array(coef, dtype=float)
        self.intercept = float(intercept)
        self.log_odds = Z @ self.coef + self.intercept
        self.loss = self.log_loss()

    def log_loss(self):
        """Mean -log p(y) of the rows."""
        entropy = np.logaddexp(0.0, self.log_odds).sum() - self.y @ self.log_odds
        return float(entropy) / len(self.y)

    def step(self):
        """Add one line; False where it gained nothing (then nothing is changed).

        Returns
        -------
        column : int
            -1 where nothing was gained.
        slope, level : float
            What was added to the log-odds: ``level + slope * column``.
        """
        p = 0.5 * (1.0 + np.tanh(0.5 * self.log_odds))
        residual = self.y - p
        # |z| = 1 / p(y), so the weight is |y - p| times p(y), and |y - p| / 3 where cut.
        own = 1.0 - np.abs(residual)
        weight = np.abs(residual) * np.maximum(own, 1.0 / Z_LIMIT)
        weight = np.maximum(weight, 1e-12)
        moments = self.both @ weight
        total, response, width = weight.sum(), residual.sum(), len(self.lines)
        mean = moments[:width] / total
        spread = moments[width:] / total - mean**2
        covariance = (self.lines @ residual - mean * response) / total
        usable = spread > 1e-10
        gain = np.where(usable, covariance**2 / np.where(usable, spread, 1.0), 0.0)
        best = int(np.argmax(gain))
        slope = covariance[best] / spread[best] if usable[best] else 0.0
        level = response / total - slope * mean[best]
        return self._moved(best, slope, level)

    def _moved(self, best, slope, level):
        line, before = self.lines[best], self.log_odds
        for _ in range(30):
            self.log_odds = before + level + slope * line
            loss = self.log_loss()
            if loss < self.loss - STALLED:
                self.loss = loss
                unscaled = slope / self.scale[best]
                shift = level - unscaled * self.center[best]
                self.coef[best] += unscaled
                self.intercept += shift
                return best, unscaled, shift
            if loss <= self.loss + STALLED:
                break
            # Newton steps overshoot at times; a shorter one does not.
            slope, level = slope / 2, level / 2
        self.log_odds = before
        return -1, 0.0, 0.0


def loss(criterion, log_odds, y):
    """Mean loss of rows; p = 1/2 counts as a refusal."""
    y = np.asarray(y, dtype=float)
    if criterion == "misclassification":
        return float(np.mean((log_odds > 0) != (y > 0.5)))
    return float(np.mean(np.logaddexp(0.0, log_odds) - y * log_odds))


def fold_numbers(y, folds, rng):
    """Fold of each row, each class spread evenly over the folds.

    Parameters
    ----------
    y : ndarray (n,) of 0/1
    folds : int
    rng : numpy.random.Generator
    """
    order = rng.permutation(len(y))
    order = order[np.argsort(np.asarray(y)[order], kind="stable")]
    numbers = np.empty(len(y), dtype=int)
    numbers[order] = np.arange(len(y)) % folds
    return numbers


def cross_validated_iterations(Z, y, rng, *, folds=5, most=500, patience=50, criterion="log_loss"):
    """Number of steps with the least cross-validated loss; the first one on ties.

    The folds advance together, and end where the mean loss had no new minimum for `patience`
    steps. A fold whose steps gain no more stays as it is.

    Returns
    -------
    iterations : int
    losses : ndarray
        Mean loss after 0, 1, 2 ... steps.
    """
    number = fold_numbers(y, folds, rng)
    parts = [
        (Boost(Z[number != k], y[number != k]), Z[number == k], y[number == k])
        for k in np.unique(number)
        if (number != k).any()
    ]
    held = [np.zeros(len(own)) for _, _, own in parts]
    sizes = np.array([len(own) for _, _, own in parts], dtype=float)
    losses = [_mean_loss(criterion, held, parts, sizes)]
    moving = [True] * len(parts)
    while len(losses) <= most and any(moving):
        for k, (boost, columns, _) in enumerate(parts):
            if moving[k]:
                best, slope, level = boost.step()
                moving[k] = best >= 0
                if moving[k]:
                    held[k] = held[k] + level + slope * columns[:, best]
        losses.append(_mean_loss(criterion, held, parts, sizes))
        if len(losses) - 1 - int(np.argmin(losses)) >= patience:
            break
    return int(np.argmin(losses)), np.array(losses)


def _mean_loss(criterion, held, parts, sizes):
    own = [loss(criterion, log_odds, y) for log_odds, (_, _, y) in zip(held, parts, strict=True)]
    return float(np.dot(own, sizes) / sizes.sum())


def boosted(Z, y, iterations, coef=None, intercept=0.0):
    """Linear model after a number of steps.

    Returns
    -------
    coef : ndarray (p,)
    intercept : float
    log_odds : ndarray (n,)
    steps : int
        Fewer than `iterations` where no step gained more.
    """
    boost = Boost(Z, y, coef, intercept)
    steps = 0
    while steps < iterations and boost.step()[0] >= 0:
        steps += 1
    return boost.coef, boost.intercept, boost.log_odds, steps


@dataclass(eq=False, repr=False)
class LogitBoost(OfferBaseline):
    """LogitBoost on features and offer, the number of steps by cross-validation.

    The "LR" of Noor et al.: as in Weka's SimpleLogistic, steps are simple linear regressions
    and their number minimises a cross-validated loss, here log loss (there the number of
    misclassified rows, which is the other choice of `criterion`). Early stopping both selects
    and shrinks features. Before the first step p = 1/2 for everyone, and with
    "misclassification" that is the choice where less than half accept everywhere: no step can
    then lower the number of errors.

    Parameters
    ----------
    interactions, per_component : bool
    iterations : int
        0 for cross-validation.
    most_iterations, patience, folds : int
    criterion : {"log_loss", "misclassification"}

    Attributes
    ----------
    models_ : list of dict
        ``coef`` (p,), ``intercept`` and ``iterations`` of each model.

    References
    ----------
    Friedman, Hastie & Tibshirani (2000), Annals of Statistics 28(2), algorithm 3.
    Landwehr, Hall & Frank (2005), Machine Learning 59, section 2.
    """

    STORED = ("coef", "intercept", "iterations")

    iterations: int = 0
    most_iterations: int = 500
    patience: int = 50
    folds: int = 5
    criterion: str = "log_loss"

    def _fit(self, Z, y, rng):
        steps = self.iterations
        if not steps:
            how = {"folds": self.folds, "patience": self.patience, "criterion": self.criterion}
            steps, _ = cross_validated_iterations(Z, y, rng, most=self.most_iterations, **how)
        coef, intercept, _, steps = boosted(Z, y, steps)
        return {"coef": coef, "intercept": intercept, "iterations": steps}

    def refitted(self, Z, y, times):
        """``coef, intercept`` after as many steps on rows of the design taken so many times."""
        steps = int(self.models_[0]["iterations"])
        return boosted(np.repeat(Z, times, axis=0), np.repeat(y, times), steps)[:2]
