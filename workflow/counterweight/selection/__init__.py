"""Stage 3: models of the labeling, p(s = 1 | x)."""

SELECTORS = {
    "logistic": "counterweight.selection.logistic:LogisticSelector",
    "gradient_boosting": "counterweight.selection.gradient_boosting:GradientBoostingSelector",
    "better_of_two": "counterweight.selection.better_of_two:BetterOfTwoSelector",
    "gaussian_mixture": "counterweight.selection.gaussian_mixture:GaussianMixtureSelector",
    "known": "counterweight.selection.known:KnownSelector",
    "split_tree": "counterweight.selection.proxies.split_tree:SplitTreeProxy",
    "regression_proxy": "counterweight.selection.proxies.attributes:RegressionProxy",
    "tree_proxy": "counterweight.selection.proxies.attributes:TreeProxy",
    "own_group": "counterweight.selection.proxies.attributes:OwnGroupProxy",
}
