"""Options of the (alpha, beta)-proxy: budgets of disclosure, stopping rules, the search."""

from counterweight.errors import CounterweightError

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
    "alphas": {
        "type": "array",
        "items": {"type": "number", "minimum": 0, "maximum": 1},
        "minItems": 1,
        "uniqueItems": True,
        "default": [
            0.0,
            0.05,
            0.1,
            0.15,
            0.2,
            0.25,
            0.3,
            0.35,
            0.4,
            0.45,
            0.5,
            0.55,
            0.6,
            0.65,
            0.7,
            0.75,
            0.8,
            0.85,
            0.9,
            0.95,
            1.0,
        ],
        "description": "Disclosivity budgets: how far a leaf's share of a group may be from the "
        "group's base share. One tree each.",
    },
    "preset": {
        "enum": ["paper", "deep", "regularised"],
        "default": "regularised",
        "description": "Stopping rule: paper (each split shrinks the distance by the factor 1 - "
        "gamma, stop below .1), deep (small drops accepted), regularised (leaves of at least 1 % "
        "of the rows, each split shrinks the distance by 5 %). Sets smallest_drop, smallest_leaf "
        "and stop_distance where they are null.",
    },
    "hull": {
        "enum": ["convex", "cone"],
        "default": "convex",
        "description": "Distance that splits shrink: to the convex hull of the leaves, or to "
        "their cone (the relaxed variant, leaf weights need not sum to 1).",
    },
    "splits": {
        "enum": ["randomised", "thresholded"],
        "default": "randomised",
        "description": "A row goes to a side with a probability, or always to the same one "
        "(deterministic trees; fewer splits keep within alpha).",
    },
    "gamma": {
        "type": "number",
        "exclusiveMinimum": 0,
        "exclusiveMaximum": 1,
        "default": 0.1,
        "description": "Least relative drop of the distance by a split in the preset paper.",
    },
    "height": {
        "type": "integer",
        "minimum": 0,
        "default": 20,
        "description": "Most splits from the root to a leaf.",
    },
    "most_leaves": {
        "type": "integer",
        "minimum": 1,
        "default": 40,
        "description": "Most leaves of a tree.",
    },
    "stop_distance": {
        "type": ["number", "null"],
        "minimum": 0,
        "default": None,
        "description": "A tree grows until the distance to the target is at most this; the "
        "target then counts as reached.",
    },
    "smallest_drop": {
        "type": ["number", "null"],
        "minimum": 0,
        "maximum": 1,
        "default": None,
        "description": "Least relative drop of the distance by a split.",
    },
    "smallest_leaf": {
        "type": ["number", "null"],
        "minimum": 0,
        "maximum": 0.5,
        "default": None,
        "description": "Least share of the training rows in a leaf; 0 for one row.",
    },
    "smallest_leaf_rows": {
        "type": "integer",
        "minimum": 1,
        "default": 1,
        "description": "Least training rows in a leaf, where that is more than the share.",
    },
    "thresholds": {
        "type": "integer",
        "minimum": 1,
        "default": 5,
        "description": "Levels Q of the split objective that are tried in each leaf.",
    },
    "rounds": {
        "type": "integer",
        "minimum": 1,
        "default": 8,
        "description": "Most rounds of the game between Learner and Auditor at each level.",
    },
    "epsilon": {
        "type": "number",
        "minimum": 0,
        "default": 1e-4,
        "description": "The search of a split ends when a further hypothesis would gain less "
        "than this share of the distance.",
    },
    "oracle_rows": {
        "enum": ["all", "leaf"],
        "default": "leaf",
        "description": "Rows of the oracle's regressions: all, unweighted, or those of the leaf "
        "by their weights.",
    },
    "ridge": {
        "type": "number",
        "minimum": 0,
        "default": 1e-6,
        "description": "Ridge penalty of the oracle's regressions on standardised features, per "
        "unit of weight.",
    },
    "target": {
        "type": ["array", "null"],
        "items": {"type": "number", "minimum": 0},
        "default": None,
        "description": "Shares to aim at, in the order of the groups; null for equal shares.",
    },
    "hypotheses": {
        "enum": ["linear", "stumps", "trees"],
        "default": "linear",
        "description": "What splits are mixed of: half-spaces by regressions of the groups, stumps "
        "(one feature against a cut), or shallow trees.",
    },
    "hypothesis_depth": {
        "type": "integer",
        "minimum": 1,
        "maximum": 5,
        "default": 2,
        "description": "Depth of the shallow trees that splits are mixed of.",
    },
    "solver": {
        "enum": ["program", "printed"],
        "default": "program",
        "description": "Who mixes a split: linear programs over the hypotheses that a short game "
        "plays, or Algorithm 3 as printed (the mean of so many rounds, then repaired with an even "
        "coin to keep alpha), which needs some hundred rounds.",
    },
}


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
