"""scikit-learn's habits for classifiers that are trained on rates, without importing it."""

import inspect

import numpy as np

from counterweight.errors import CounterweightError, listed

_KINDS = {
    "number": ("a number", lambda v: isinstance(v, (int, float, np.integer, np.floating))),
    "integer": ("a whole number", lambda v: isinstance(v, (int, np.integer))),
    "boolean": ("true or false", lambda v: isinstance(v, (bool, np.bool_))),
    "string": ("a text", lambda v: isinstance(v, str)),
    "array": ("a list of texts", lambda v: isinstance(v, (list, tuple, np.ndarray))),
}


def check_options(model, options):
    """Refuse values of constructor arguments that their entry in `OPTIONS` excludes.

    Parameters
    ----------
    model : object
        With an attribute for each option.
    options : dict of str to dict
        JSON-schema fragments: enum, or type ("null" last) and bounds.

    Raises
    ------
    CounterweightError
        Names the option, what it must be, and its value.
    """
    for name, node in options.items():
        value = getattr(model, name)
        if not _meets(value, node):
            raise CounterweightError(f"{name} must be {_asked(node)}, not {value!r}.")


def _meets(value, node):
    if "enum" in node:
        return isinstance(value, str) and value in node["enum"]
    if value is None:
        return "null" in _kinds(node)
    kind = _kinds(node)[0]
    if not _KINDS[kind][1](value) or (isinstance(value, (bool, np.bool_)) and kind != "boolean"):
        return False
    if kind not in ("number", "integer"):
        return True
    return bool(
        np.isfinite(value)
        and value >= node.get("minimum", -np.inf)
        and value > node.get("exclusiveMinimum", -np.inf)
        and value <= node.get("maximum", np.inf)
        and value < node.get("exclusiveMaximum", np.inf)
    )


def _kinds(node):
    """Types of a fragment, "null" last."""
    return [node["type"]] if isinstance(node["type"], str) else node["type"]


def _asked(node):
    if "enum" in node:
        return f"one of {listed(node['enum'])}"
    bounds = [
        f"{word} {node[key]}"
        for key, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        )
        if key in node
    ]
    return " ".join([_KINDS[_kinds(node)[0]][0], " and ".join(bounds)]).strip()


class RateEstimator:
    """Parameters by name, the score, and the tags that scikit-learn's tools ask for.

    Subclasses set `coef_` in ``fit`` and have ``predict_proba``.
    """

    _estimator_type = "classifier"
    classes_ = np.array([0, 1])

    def get_params(self, deep=True):
        """Constructor arguments by name, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **options):
        """Set constructor arguments by name."""
        known = self.get_params()
        for name, value in options.items():
            if name not in known:
                raise CounterweightError(f"There is no option {name!r}: {listed(known, 30)}.")
            setattr(self, name, value)
        return self

    def predict(self, X, **sets):
        """1 where the probability of the positive prediction is above 1/2, else 0.

        `sets` go to ``predict_proba`` (``samples``, of models that need groups to predict).
        """
        return (self.predict_proba(X, **sets)[:, 1] > 0.5).astype(int)

    def score(self, X, y, sample_weight=None):
        """Share of rows that the deterministic classifier gets right, weighted if asked."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    def __repr__(self):
        given = inspect.signature(type(self)).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(given[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coef_")

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(sparse=True),
        )

    def _check_fitted(self):
        if not hasattr(self, "coef_"):
            raise CounterweightError(f"This {type(self).__name__} is not fitted yet: call fit.")
