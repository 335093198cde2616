"""What classifiers of 0 and 1 share with those of scikit-learn, and classifiers within a model."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from counterweight.errors import CounterweightError
from counterweight.numerics.estimator import Estimator
from counterweight.plan.components import declared, load, task_of

#: What a classifier within may not ask for beyond rows, labels and weights.
ASKS = ("SAMPLED", "KEYED", "UNLABELED", "TARGETED")


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


def class_within(name, outer, refused=ASKS):
    """The class of a classifier that another model holds.

    Parameters
    ----------
    name : str
        In the registry of models.
    outer : str
        What cannot be done with it, in messages, such as "used in costing".
    refused : sequence of str
        Attributes of classes that will not do.

    Raises
    ------
    CounterweightError
        When it is no classifier, cannot be saved, or asks for more than it can be given.
    """
    component = load("model", name)
    fits = task_of("model", name) == "classification"
    fits = fits and declared("model", name, "STARTS") is None and hasattr(component, "from_arrays")
    if not fits or any(getattr(component, asked, False) for asked in refused):
        raise CounterweightError(
            f"The model {name} cannot be {outer}: choose a classifier that learns from rows, "
            "labels and weights alone, such as logistic or generative."
        )
    return component


def stored_within(name, options, arrays):
    """A fitted classifier from the arrays and the options that it was stored with.

    Options that an earlier version had, and this one has not, told how to fit: they are left out.
    """
    model = load("model", name).from_arrays(arrays)
    known = model.get_params(deep=False)
    return model.set_params(**{key: value for key, value in options.items() if key in known})
