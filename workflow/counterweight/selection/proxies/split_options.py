"""Options of the (alpha, beta)-proxy: budgets of disclosure, stopping rules, the search."""

from counterweight.errors import CounterweightError
from counterweight.fragments import Array, Choice, Integer, Number

#: What a preset stands for; an option that is given comes before it. The least drop of
#: `regularised` was chosen among .005, .01, .02, .03 and .05 on thirds held out within training
#: rows: the smaller ones gain in sample and lose on the rows held out (Adult at alpha .2: .60 to
#: .55), where they end in samples of hardly any rows.
PRESETS = {
    "paper": {"smallest_drop": None, "smallest_leaf": 0.0, "stop_distance": 0.1},
    "deep": {"smallest_drop": 0.005, "smallest_leaf": 0.0, "stop_distance": 0.002},
    "regularised": {"smallest_drop": 0.05, "smallest_leaf": 0.01, "stop_distance": 0.002},
}

OPTIONS = {
    "alphas": Array([0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0],
        "Disclosivity budgets: how far a leaf's share of a group may be from the group's base share. One tree each.",
        items={"type": "number", "minimum": 0, "maximum": 1}, minItems=1, uniqueItems=True),
    "preset": Choice("regularised", ["paper", "deep", "regularised"],
        "Stopping rule: paper (each split shrinks the distance by the factor 1 - gamma, stop below .1), deep (small "
        "drops accepted), regularised (leaves of at least 1 % of the rows, each split shrinks the distance by 5 %). "
        "Sets smallest_drop, smallest_leaf and stop_distance where they are null."),
    "hull": Choice("convex", ["convex", "cone"],
        "Distance that splits shrink: to the convex hull of the leaves, or to their cone (the relaxed variant, leaf "
        "weights need not sum to 1)."),
    "splits": Choice("randomised", ["randomised", "thresholded"],
        "A row goes to a side with a probability, or always to the same one (deterministic trees; fewer splits keep "
        "within alpha)."),
    "gamma": Number(0.1, "Least relative drop of the distance by a split in the preset paper.", above=0, below=1),
    "height": Integer(20, "Most splits from the root to a leaf.", minimum=0),
    "most_leaves": Integer(40, "Most leaves of a tree.", minimum=1),
    "stop_distance": Number(None, "A tree grows until the distance to the target is at most this; the target then counts as reached.", minimum=0, null=True),
    "smallest_drop": Number(None, "Least relative drop of the distance by a split.", minimum=0, maximum=1, null=True),
    "smallest_leaf": Number(None, "Least share of the training rows in a leaf; 0 for one row.", minimum=0, maximum=0.5, null=True),
    "smallest_leaf_rows": Integer(1, "Least training rows in a leaf, where that is more than the share.", minimum=1),
    "thresholds": Integer(5, "Levels Q of the split objective that are tried in each leaf.", minimum=1),
    "rounds": Integer(8, "Most rounds of the game between Learner and Auditor at each level.", minimum=1),
    "epsilon": Number(1e-4, "The search of a split ends when a further hypothesis would gain less than this share of the distance.", minimum=0),
    "oracle_rows": Choice("leaf", ["all", "leaf"], "Rows of the oracle's regressions: all, unweighted, or those of the leaf by their weights."),
    "ridge": Number(1e-6, "Ridge penalty of the oracle's regressions on standardised features, per unit of weight.", minimum=0),
    "target": Array(None, "Shares to aim at, in the order of the groups; null for equal shares.", items={"type": "number", "minimum": 0}, null=True),
    "hypotheses": Choice("linear", ["linear", "stumps", "trees"],
        "What splits are mixed of: half-spaces by regressions of the groups, stumps (one feature against a cut), or "
        "shallow trees."),
    "hypothesis_depth": Integer(2, "Depth of the shallow trees that splits are mixed of.", minimum=1, maximum=5),
    "solver": Choice("program", ["program", "printed"],
        "Who mixes a split: linear programs over the hypotheses that a short game plays, or Algorithm 3 as printed "
        "(the mean of so many rounds, then repaired with an even coin to keep alpha), which needs some hundred rounds."),
}  # fmt: skip


def setting_name(alpha):
    """Name of a setting in files."""
    return f"alpha={round(float(alpha), 10):g}"


def checked_alphas(alphas):
    """Alphas as floats.

    Raises
    ------
    CounterweightError
        When there is none, one is outside [0, 1], or two share a name.
    """
    try:
        alphas = [float(alpha) for alpha in alphas]
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"alphas is {alphas!r}: give a list of numbers in [0, 1]."
        ) from error
    if not alphas:
        raise CounterweightError("The list alphas is empty: give at least one number in [0, 1].")
    wrong = [alpha for alpha in alphas if not 0 <= alpha <= 1]
    if wrong:
        raise CounterweightError(
            f"{len(wrong)} of {len(alphas)} alphas are outside [0, 1] (first: {wrong[0]:g}): a "
            "share differs from another by at most 1."
        )
    names = [setting_name(alpha) for alpha in alphas]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise CounterweightError(f"The list alphas holds {twice[0]} twice: leave one out.")
    return alphas
