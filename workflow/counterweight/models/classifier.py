"""What classifiers of 0 and 1 share with those of scikit-learn, and classifiers within a model."""

import functools

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from counterweight.errors import CounterweightError
from counterweight.numerics.estimator import TwoClasses
from counterweight.plan.components import declared, load, task_of

#: What a classifier within may not ask for beyond rows, labels and weights.
ASKS = ("SAMPLED", "KEYED", "UNLABELED", "TARGETED")
#: Array of a stored classifier whose classes are not 0 and 1.
CLASSES = "class_values"


class BinaryClassifier(TwoClasses, ClassifierMixin, BaseEstimator):
    """A classifier of two classes, as scikit-learn has them; stored with its classes."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        stored, restored = (getattr(cls, name, None) for name in ("to_arrays", "from_arrays"))
        if stored and not hasattr(stored, "__wrapped__"):
            cls.to_arrays = _with_classes(stored)
        if restored and not hasattr(restored, "__wrapped__"):
            cls.from_arrays = classmethod(_of_classes(restored.__func__))


def _with_classes(to_arrays):
    @functools.wraps(to_arrays)
    def told(self):
        classes = self.classes_
        plain = np.array_equal(classes, BinaryClassifier.classes_)
        return to_arrays(self) | ({} if plain else {CLASSES: classes})

    return told


def _of_classes(from_arrays):
    @functools.wraps(from_arrays)
    def made(cls, arrays, **options):
        own = {key: values for key, values in arrays.items() if key != CLASSES}
        model = from_arrays(cls, own, **options)
        if CLASSES in arrays:
            model.classes_ = np.asarray(arrays[CLASSES])
        return model

    return made


def positive(model, X, target, selected=None):
    """p(y = 1 | x) of rows (n, d) in a target population, (n,); of a number, what is expected.

    Only models whose predictions depend on the population, ``TARGETED``, are told which, and only
    those that go by who is labeled, ``SELECTED``, get `selected` (n,).
    """
    asked = {"target": target} if getattr(model, "TARGETED", False) else {}
    if getattr(model, "SELECTED", False):
        asked["selected"] = selected
    return (
        model.predict_proba(X, **asked)[:, 1]
        if hasattr(model, "predict_proba")
        else model.predict(X)
    )


def class_within(name, outer, refused=ASKS):
    """The class of a classifier of the registry that another model holds.

    `outer` is what cannot be done with it, in messages, such as "used in costing". Refused where it
    is no classifier, cannot be saved, or has one of the attributes `refused`.
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


def sibling(component, binary, amounts=False):
    """What learns a class, a number or an amount, one from 0 up, in a component's place."""
    if binary:
        return component
    return (
        getattr(component.NUMBERS, "AMOUNTS", component.NUMBERS) if amounts else component.NUMBERS
    )


def stored_within(name, options, arrays, binary=True):
    """A fitted classifier (of a number its sibling) from what it was stored with.

    Options that an earlier version had, and this one has not, told how to fit: they are left out.
    """
    # Of amounts there is a largest score, of other numbers none.
    component = sibling(load("model", name), binary, "top" in arrays)
    model = component.from_arrays(arrays)
    known = model.get_params(deep=False)
    return model.set_params(**{key: value for key, value in options.items() if key in known})
