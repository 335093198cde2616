"""What settings of dataset constraints ask for, and how it is told: shared with the report."""

import numpy as np

#: Rules of prediction, in the order of a model's measures: sign of the score, or a coin.
RULES = ("deterministic", "randomised")
#: Metrics of a measure at equal values of another one, by rule.
AT_EQUAL = {rule: f"{rule}_at_equal" for rule in RULES}


def asked_value(asked, options):
    """The value that an option asks of a measure; NaN where it asks for nothing.

    Parameters
    ----------
    asked : dict or None
        ``measure``, ``option`` and ``form``; see the protocol rates.
    options : dict
        Options of a method with their values.
    """
    value = options.get(asked["option"]) if asked else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return np.nan
    if asked["form"] == "at_most_inverse":
        return 1 / value if value else np.nan
    return float(value)


def excess_over(asked, value, wanted):
    """By how much a value breaks what is asked, relative to it; negative where it is kept.

    NaN where 0 is asked for: nothing is relative to that.
    """
    if not wanted:
        return np.nan
    return (wanted - value) / wanted if asked["form"] == "at_least" else value / wanted - 1


def equal_setting(equal, value):
    """Setting that a comparison at an equal value stands for, e.g. ``ratio=1.5``."""
    return f"{equal['measure']}={value:g}"
