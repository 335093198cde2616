"""Stage 3: models of the labeling, p(s = 1 | x)."""

SELECTORS = {
    "logistic": "counterweight.selection.selectors:LogisticSelector",
    "gradient_boosting": "counterweight.selection.selectors:GradientBoostingSelector",
    "better_of_two": "counterweight.selection.selectors:BetterOfTwoSelector",
    "gaussian_mixture": "counterweight.selection.mixture_selector:GaussianMixtureSelector",
    "known": "counterweight.selection.selectors:KnownSelector",
    "split_tree": "counterweight.selection.split_tree:SplitTreeProxy",
    "regression_proxy": "counterweight.selection.group_proxies:RegressionProxy",
    "tree_proxy": "counterweight.selection.group_proxies:TreeProxy",
    "own_group": "counterweight.selection.group_proxies:OwnGroupProxy",
}
