"""What classifiers of 0 and 1 share with those of scikit-learn."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from counterweight.numerics.estimator import Estimator


class BinaryClassifier(Estimator, ClassifierMixin, BaseEstimator):
    """A classifier of two classes that estimates the probability of the second.

    Subclasses have ``fit``, and ``_positive(X)``, p(y = 1 | x) of shape (n,), or a
    ``predict_proba`` of their own. ``fit`` gets labels 0 and 1,
    whatever the two classes are: the second in order, of `classes_`, is 1.
    """

    LABELS = "classes"
    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        """Class probabilities, (n, 2)."""
        positive = self._positive(X)
        return np.column_stack([1 - positive, positive])

    def predict(self, X):
        """The class whose probability is larger, the second where both are 1/2, (n,)."""
        return self.classes_[(self.predict_proba(X)[:, 1] >= 0.5).astype(int)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def positive(model, X, target, selected=None):
    """p(y = 1 | x) of rows (n, d) in a target population, (n,).

    Only models whose predictions depend on the population, ``TARGETED``, are told which, and only
    those that go by who is labeled, ``SELECTED``, get `selected` (n,).
    """
    asked = {"target": target} if getattr(model, "TARGETED", False) else {}
    if getattr(model, "SELECTED", False):
        asked["selected"] = selected
    return model.predict_proba(X, **asked)[:, 1]
