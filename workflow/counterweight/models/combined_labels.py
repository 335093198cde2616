"""A model from old labels, of which nobody knows how they came about, and labels bought by design.

Those bought are few and stand for the population by 1 / chance; old ones are many and help as far
as they agree. How much one old label counts is chosen by the loss of bought rows that were left
out, which is unbiased for the population whatever the old labels are like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import checked_weights

#: What an old label may count beside a bought one; 0 leaves them out.
SHARES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
#: Chances nearer to 0 or 1 than this count as this far in the log loss.
NEAREST = 1e-6


class Combined(NamedTuple):
    """What `combined_model` gives.

    `model` is fitted to all labels; `share` is what an old one counts; `losses` dict of share to
    the cross-validated loss on bought rows, and `errors` of it to the standard error of its
    difference to the least.
    """

    model: Any
    share: float
    losses: dict
    errors: dict


def combined_model(
    model: object,
    old: tuple,
    bought: tuple,
    chances: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    shares: Sequence[float] = SHARES,
    folds: int = 5,
    draws: int = 4,
    generator: np.random.Generator | None = None,
    fit: Callable | None = None,
) -> Combined:
    """Fit a model to old and bought labels, each old one counting a share that is chosen.

    Parameters
    ----------
    model : callable
        ``model()`` makes an estimator with ``fit(X, y, sample_weight=...)`` and ``predict_proba``
        (of classes 0 and 1) or ``predict``.
    old, bought : (X, y)
        Features and labels. X are arrays or frames of the same columns.
    chances : array (m,)
        Of the bought rows to be bought.
    weight : array (M,), optional
        Of old rows, on any scale; such as those to the rows without a label.
    shares : sequence of float
        A share of 1 lets an old row of mean weight count as much as a bought one of mean weight.
    folds, draws : int
        Bought rows are left out by folds, which are drawn so often.
    generator : numpy.random.Generator
    fit : callable, optional
        ``fit(estimator, X, y, weights)`` where weights go another way.

    Returns
    -------
    Combined
        The share whose loss is least; of shares whose losses are equal the larger.

    Raises
    ------
    CounterweightError
        For fewer bought rows than folds, or bought labels of one class.
    """
    (X_old, y_old), (X_new, y_new) = old, bought
    y_old, y_new = np.asarray(y_old, float), np.asarray(y_new, float)
    own = 1 / np.asarray(chances, float)
    own, kept = own / own.mean(), checked_weights(weight, len(y_old))
    kept = kept / kept.mean()
    if len(y_new) < 2 * folds:
        raise CounterweightError(
            f"{len(y_new)} labels were bought, too few to leave out {folds} folds of them: buy "
            f"{2 * folds} at least."
        )
    generator = np.random.default_rng(0) if generator is None else generator
    fit = _fit if fit is None else fit
    classes = bool(np.isin(np.concatenate([y_old, y_new]), (0, 1)).all())
    parts = [_folds(len(y_new), folds, generator) for _ in range(draws)]

    def fitted(share, rows):
        used = X_old if share > 0 else _rows(X_old, slice(0, 0))
        X = _stacked(used, _rows(X_new, rows))
        y = np.concatenate([y_old if share > 0 else y_old[:0], y_new[rows]])
        weights = np.concatenate([share * kept if share > 0 else kept[:0], own[rows]])
        if classes and np.ptp(y) == 0:
            return None
        return fit(model(), X, y, weights)

    every = {}
    for share in shares:
        losses = np.zeros(len(y_new))
        for fold in parts:
            for k in range(folds):
                out = fold == k
                made = fitted(share, np.flatnonzero(~out))
                losses[out] += _losses(made, _rows(X_new, np.flatnonzero(out)), y_new[out], classes)
        every[share] = losses / draws
    means = {share: float(own @ losses / own.sum()) for share, losses in every.items()}
    best = min(means, key=lambda share: (means[share], -share))
    errors = {
        share: float(np.linalg.norm(own * (gap - own @ gap / own.sum())) / own.sum())
        for share, gap in ((share, losses - every[best]) for share, losses in every.items())
    }
    made = fitted(best, np.arange(len(y_new)))
    if made is None:
        raise CounterweightError("All labels are of one class: nothing can be fitted to them.")
    return Combined(made, best, means, errors)


def _fit(estimator, X, y, weights):
    return estimator.fit(X, y, sample_weight=weights)


def _folds(rows, folds, generator):
    fold = np.empty(rows, int)
    fold[generator.permutation(rows)] = np.arange(rows) % folds
    return fold


def _rows(X, at):
    return X.iloc[at] if hasattr(X, "iloc") else np.asarray(X)[at]


def _stacked(first, second):
    if hasattr(first, "iloc"):
        import pandas as pd

        return pd.concat([first, second], ignore_index=True) if len(first) else second
    return np.concatenate([first, second])


def _losses(made, X, y, classes):
    """Log loss, or squared error, of rows; of a model that could not be fitted that of a coin."""
    if made is None:
        return np.full(len(y), np.log(2))
    if not classes:
        return np.square(np.asarray(made.predict(X), float) - y)
    p = np.clip(np.asarray(made.predict_proba(X))[:, 1], NEAREST, 1 - NEAREST)
    return -np.where(y == 1, np.log(p), np.log1p(-p))
