"""What models of offers and answers share: checks of rows and offers, the ways to give an offer."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.checks import named, number_table


class OfferModel(BinaryClassifier):
    """A classifier of answers by features and an offer, the acceptance of which rises with it.

    Offers are an array `t` from 0 to 1, given beside the features wherever these are. Where ``fit``
    gets none they are the last column of X, there and in every other method, so that tools of
    scikit-learn can be used: on any scale, of which the least offer of the fit counts as 0 and
    the largest as 1. A subclass has ``fit``, and ``predict_acceptance(X, t)``.

    Attributes
    ----------
    offer_range_ : ndarray (2,) or None
        Least and largest offer of a fit by the last column of X.
    """

    #: Missing features are taken.
    BLANKS = True
    offer_range_ = None

    def _parted(self, X, t, fitting=False):
        """Features and scaled offers of rows that may hold the offer as their last column."""
        if fitting:
            self.offer_range_ = None
        elif self.offer_range_ is not None and t is not None:
            raise CounterweightError(
                "The offers of the fit were the last column of X: give new ones there, too."
            )
        if t is not None:
            return X, t
        X = number_table(X, empty=not fitting)
        if fitting:
            self.offer_range_ = self._range_of(X)
        elif self.offer_range_ is None:
            raise CounterweightError("The offers t are missing: give one for each row.")
        low, high = self.offer_range_
        return X[:, :-1], np.clip((X[:, -1] - low) / (high - low), 0.0, 1.0)

    def _range_of(self, X):
        offers = X[:, -1]
        if X.shape[1] < 2 or not np.isfinite(offers).all():
            raise CounterweightError(
                f"X has {X.shape[1]} feature(s): without offers t its last column must hold them, "
                "finite, beside a feature at least."
            )
        low, high = offers.min(), offers.max()
        return np.array([low, high if high > low else low + 1.0])

    def _features_of(self, X):
        """Rows without the offers that their last column may hold."""
        return X if self.offer_range_ is None else number_table(X, empty=True)[:, :-1]

    def predict_proba(self, X, t=None):
        """Probabilities that the offer is refused and accepted, (n, 2)."""
        p = self.predict_acceptance(X, t)
        return np.column_stack([1 - p, p])

    def predict(self, X, t=None):
        """The likelier answer, the second of `classes_` where both are as likely, (n,)."""
        return self.classes_[(self.predict_proba(X, t)[:, 1] >= 0.5).astype(int)]


def checked_offers(t, rows):
    """Offers as floats within [0, 1]; rounding errors beyond an end go to it.

    Raises
    ------
    CounterweightError
        When an offer is no number or outside, or their number is wrong.
    """
    try:
        t = np.asarray(t, dtype=float)
    except (TypeError, ValueError) as error:
        raise CounterweightError(f"The offers must be numbers: {error}.") from error
    if t.shape != (rows,):
        raise CounterweightError(f"There are {rows} rows but offers of shape {t.shape}.")
    bad = ~((t >= -1e-9) & (t <= 1 + 1e-9))
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise CounterweightError(
            f"{int(bad.sum())} of {rows} offers are missing or outside [0, 1] (first: row {first}, "
            f"{t[first]:g}): scale them by their declared range, or drop these rows."
        )
    return np.clip(t, 0.0, 1.0)


def checked_rows_with_gaps(X, feature_names=None, empty=False):
    """Rows as a float matrix in which NaN stands for a missing value.

    Raises
    ------
    CounterweightError
        When `X` is not a matrix of numbers, is empty (unless `empty`), or holds infinite values.
    """
    X = number_table(X, empty)
    bad = np.flatnonzero(np.isinf(X).any(axis=0))
    if len(bad):
        raise CounterweightError(
            f"Infinite values in feature {listed(named(bad, feature_names))}: replace them by "
            "numbers, or leave them empty."
        )
    return X


def checked_new_rows_with_gaps(X, features):
    """Rows to predict, perhaps none; refused where they have not as many features as the fit."""
    X = checked_rows_with_gaps(X, empty=True)
    if X.shape[1] != features:
        raise CounterweightError(
            f"The model was fitted to {features} features, but the rows have {X.shape[1]}."
        )
    return X
