"""Texts about rates, checked without any data."""

from counterweight.errors import CounterweightError
from counterweight.numerics.rates.language import (
    BUILTIN_SETS,
    Parameter,
    Rate,
    check_parameter,
    check_set,
    check_trainable,
    nodes,
    parse_constraint,
    parse_expression,
)


def check_text(text, *, constraint=False, trained=False, sets=None, parameters=None):
    """Check one text of a config before anything runs.

    Parameters
    ----------
    text : str
    constraint : bool
        Whether it must be a constraint (else an expression).
    trained : bool
        Whether a model is trained for it, so that rates may not be multiplied or divided by.
    sets : iterable of str, optional
        Names of the study's data sets; the built-in ones are always known.
    parameters : iterable of str, optional
        Names of the parameters that have a value.

    Raises
    ------
    CounterweightError
    """
    if constraint:
        trees = [side for c in parse_constraint(text) for side in (c.left, c.right)]
    else:
        trees = [parse_expression(text)]
    for tree in trees:
        if trained:
            try:
                check_trainable(tree)
            except CounterweightError as error:
                raise CounterweightError(f"In {text!r}: {error}") from error
        for rate in nodes(tree, Rate):
            for name in (name for part in rate.sets for name in part):
                if sets is not None:
                    check_set(name, [*BUILTIN_SETS, *sets], f" ({text!r})")
        for parameter in nodes(tree, Parameter):
            if parameters is not None:
                check_parameter(parameter.name, parameters, f" ({text!r})")
