"""A classifier within a model: named with its options, fitted, and brought back from numbers."""

from counterweight.errors import CounterweightError
from counterweight.plan.components import declared, load

#: What a classifier within may not ask for beyond rows, labels and weights.
ASKS = ("SAMPLED", "KEYED", "UNLABELED", "TARGETED")


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
    fits = declared("model", name, "KIND", "classification") == "classification"
    fits = fits and declared("model", name, "STARTS") is None and hasattr(component, "from_arrays")
    if not fits or any(getattr(component, asked, False) for asked in refused):
        raise CounterweightError(
            f"The model {name} cannot be {outer}: choose a classifier that learns from rows, "
            "labels and weights alone, such as logistic or generative."
        )
    return component


def stored_within(name, options, arrays):
    """A fitted classifier from the arrays and the options that it was stored with."""
    return load("model", name).from_arrays(arrays).set_params(**options)
