"""The rates and shorthands that the language knows by name."""

from typing import NamedTuple


class Kind(NamedTuple):
    """What a rate needs of the rows of its data set."""

    labels: bool
    deployed: bool
    meaning: str


RATES = {
    "coverage": Kind(False, False, "share of positive predictions, s_p(D)"),
    "negative_rate": Kind(False, False, "share of negative predictions, s_n(D)"),
    "error": Kind(True, False, "errors / labeled rows"),
    "accuracy": Kind(True, False, "1 - error"),
    "recall": Kind(True, False, "true positives / positives, s_p(D+)"),
    "false_negative_rate": Kind(True, False, "false negatives / positives, s_n(D+)"),
    "false_positive_rate": Kind(True, False, "false positives / negatives, s_p(D-)"),
    "true_negative_rate": Kind(True, False, "true negatives / negatives, s_n(D-)"),
    "precision": Kind(True, False, "true positives / positive predictions"),
    "fmeasure": Kind(True, False, "(1 + b^2) TP / ((1 + b^2) TP + FP + b^2 FN), b = 1 by default"),
    "true_positives": Kind(True, False, "count, |D+| s_p(D+)"),
    "true_negatives": Kind(True, False, "count, |D-| s_n(D-)"),
    "false_positives": Kind(True, False, "count, |D-| s_p(D-)"),
    "false_negatives": Kind(True, False, "count, |D+| s_n(D+)"),
    "errors": Kind(True, False, "count, false positives + false negatives"),
    "churn": Kind(False, True, "changes / rows"),
    "changes": Kind(False, True, "count of predictions that differ from the deployed model's"),
    "wins": Kind(True, True, "count: right where the deployed model is wrong"),
    "losses": Kind(True, True, "count: wrong where the deployed model is right"),
    "win_rate": Kind(True, True, "wins / labeled rows"),
    "loss_rate": Kind(True, True, "losses / labeled rows"),
}
ALIASES = {
    "positive_rate": "coverage",
    "error_rate": "error",
    "true_positive_rate": "recall",
    "sensitivity": "recall",
    "specificity": "true_negative_rate",
    "churn_rate": "churn",
    "f1": "fmeasure",
    "f1_score": "fmeasure",
}
#: Names that are numbers wherever they stand.
PARAMETERS = ("kappa", "target")


class Shorthand(NamedTuple):
    """A constraint that stands for plain ones.

    ``sets`` are the data sets of its ``lines``, by a letter each; with `groups`, any number of
    two or more may be given, and the lines are there for every ordered pair (a, b) of them.
    ``level`` is the kind of number k that follows, a key of `LEVELS`, or None.
    """

    sets: str
    level: str | None
    lines: tuple
    groups: bool = False

    @property
    def may_be_left_out(self):
        """Whether the level is 1 where none is given."""
        return self.level == "ratio"


def _between_groups(*rates, level="ratio", k="{k}"):
    lines = tuple(f"{rate}({{a}}) >= {k} * {rate}({{b}})" for rate in rates)
    return Shorthand("ab", level, lines, groups=True)


SHORTHANDS = {
    "fairness": Shorthand("ab", "positive", ("coverage({a}) >= {k} * coverage({b})",)),
    "demographic_parity": _between_groups("coverage"),
    "four_fifths": _between_groups("coverage", level=None, k="0.8"),
    "equal_opportunity": _between_groups("recall"),
    "equalised_odds": _between_groups("recall", "false_positive_rate"),
    "egregious_positives": Shorthand("d", "share", ("recall({d}) >= {k}",)),
    "egregious_negatives": Shorthand("d", "share", ("true_negative_rate({d}) >= {k}",)),
    "egregious": Shorthand("d", "share", ("recall({d}) >= {k}", "true_negative_rate({d}) >= {k}")),
    "neyman_pearson": Shorthand("d", "share", ("false_positive_rate({d}) <= {k}",)),
    "stability": Shorthand("d", "share", ("churn({d}) <= {k}",)),
}
SHORTHANDS["parity"] = SHORTHANDS["demographic_parity"]
SHORTHANDS["equalized_odds"] = SHORTHANDS["equalised_odds"]
LEVELS = {
    "positive": (lambda k: k > 0, "above 0"),
    "ratio": (lambda k: 0 < k <= 1, "above 0 and at most 1"),
    "share": (lambda k: 0 <= k <= 1, "between 0 and 1"),
}
