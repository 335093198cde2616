"""Any classifier of 0 and 1, calibrated on rows that it has not seen."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.within import class_within, stored_within
from counterweight.numerics.checks import checked_labels, checked_rows
from counterweight.numerics.tilt import Calibration
from counterweight.selection.crossfit import folds


class Calibrated:
    """A classifier fitted to all rows, with a calibration found on rows that it has not seen.

    The rows are split into folds; each fold gets the probabilities of a classifier that was
    fitted to the others. Slope and constant of the log odds are fitted to these, and serve for the
    classifier of all rows: it is assumed to be as well calibrated as those of most rows.

    Parameters
    ----------
    classifier : dict or estimator
        ``model``, a name of the registry, with its options; or an estimator with ``fit(X, y,
        sample_weight)`` and ``predict_proba``, of which copies are fitted.

    Attributes
    ----------
    model_
        Fitted to all rows.
    calibration_ : Calibration
    held_ : array (M,)
        Calibrated probability of each row by a classifier that has not seen it.
    fold_ : array (M,)
    parts_ : list
        The classifiers of all but a fold. `held_`, `fold_` and `parts_` are not stored.
    converged_ : bool
    """

    def __init__(self, classifier):
        self.classifier = classifier

    def fit(self, X, y, sample_weight=None, *, rng, count=10, categories=None):
        """Fit to rows (M, d), labels (M,) and weights (M,), in `count` folds.

        `categories`, a layout of the features, goes to a classifier that asks for it.

        The calibration takes all rows alike: p(y|x) of the rows as they are.

        Raises
        ------
        CounterweightError
            For fewer rows of a class than folds.
        """
        X = checked_rows(X)
        y = checked_labels(y, len(X))
        least = np.bincount(y, minlength=2).min()
        if least < count:
            raise CounterweightError(
                f"The calibration needs a row of each class in each of its {count} folds, and "
                f"one class has {least}: set fewer folds, or collect more labels."
            )
        self.fold_ = folds(y, count, rng)
        held, self.parts_ = np.empty(len(y)), []
        for fold in range(count):
            rest = self.fold_ != fold
            weight = None if sample_weight is None else sample_weight[rest]
            part = self._fitted(X[rest], y[rest], weight, rng, categories)
            held[~rest] = part.predict_proba(X[~rest])[:, 1]
            self.parts_.append(part)
        self.calibration_ = Calibration.fitted(held, y)
        self.held_ = self.calibration_(held)
        self.model_ = self._fitted(X, y, sample_weight, rng, categories)
        fits = [np.min(getattr(model, "converged_", 1.0)) for model in (*self.parts_, self.model_)]
        self.converged_ = bool(min(fits))
        return self

    def positive(self, X, fold=None):
        """Calibrated p(y = 1 | x), (n,); of the classifier of all but a fold where one is named."""
        model = self.model_ if fold is None else self.parts_[fold]
        return self.calibration_(model.predict_proba(X)[:, 1])

    def to_arrays(self):
        """Fitted numbers by name."""
        own = {f"model_{name}": values for name, values in self.model_.to_arrays().items()}
        return own | {"calibration": np.array(self.calibration_)}

    @classmethod
    def from_arrays(cls, classifier, arrays):
        """What predicts, from `to_arrays` and the name and options of the classifier."""
        made, prefix = cls(classifier), "model_"
        own = {n.removeprefix(prefix): v for n, v in arrays.items() if n.startswith(prefix)}
        options = {key: value for key, value in classifier.items() if key != "model"}
        made.model_ = stored_within(classifier["model"], options, own)
        made.calibration_ = Calibration(*np.ravel(arrays["calibration"]).astype(float))
        return made

    def _fitted(self, X, y, weight, rng, categories):
        if not isinstance(self.classifier, dict):
            from sklearn.base import clone

            told = {} if weight is None else {"sample_weight": weight}
            return clone(self.classifier).fit(X, y, **told)
        component = class_within(self.classifier.get("model"), "tilted")
        options = {key: value for key, value in self.classifier.items() if key != "model"}
        told = {"rng": rng}
        if categories is not None and getattr(component, "CATEGORIES", False):
            told["categories"] = categories
        return component(**options).fit(X, y, weight, **told)
