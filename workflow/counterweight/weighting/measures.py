"""How weights are told, and the acceptance of leaves."""

MEASURES = {
    "effective_sample_size": {
        "label": "effective rows",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "How many rows of equal weight would say as much as the weighted ones.",
    },
    "effective_share": {
        "label": "share of effective rows",
        "bounds": [0, 1],
        "better": "more",
        "meaning": "Effective rows over labeled rows.",
    },
    "largest_weight": {
        "label": "largest weight",
        "bounds": [0, None],
        "meaning": "Largest weight after the cap.",
    },
    "largest_uncapped": {
        "label": "largest weight before the cap",
        "bounds": [0, None],
        "meaning": "Largest weight before the cap.",
    },
    "rows_capped": {
        "label": "rows at the cap",
        "unit": "rows",
        "better": "less",
        "counted": True,
        "meaning": "Rows whose weight was cut to the cap.",
    },
    "rows_zero": {
        "label": "rows of weight zero",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Labeled rows that count for nothing.",
    },
    "mean_weight": {
        "label": "mean weight",
        "bounds": [0, None],
        "meaning": "1 where the model of who is labeled is right.",
    },
    "balance_before": {
        "label": "imbalance before weighting",
        "unit": "sd",
        "meaning": "Mean of a feature over the labeled rows minus its mean over the target, in "
        "standard deviations.",
    },
    "balance_after": {
        "label": "imbalance after weighting",
        "unit": "sd",
        "meaning": "Weighted mean of a feature minus its mean over the target, in standard "
        "deviations.",
    },
    "balance_z": {
        "label": "imbalance",
        "unit": "standard errors",
        "meaning": "Imbalance after weighting over its standard error.",
    },
    "moment_distance_before": {
        "label": "squared moment distance before weighting",
        "bounds": [0, None],
        "better": "less",
        "digits": 4,
        "meaning": "Squared distance of the labeled rows' mean from the target's, in the feature "
        "space of a Gaussian kernel.",
    },
    "moment_distance": {
        "label": "squared moment distance",
        "bounds": [0, None],
        "better": "less",
        "digits": 5,
        "meaning": "The same of the weighted rows; what is left is where nobody labeled is.",
    },
    "label_effect": {
        "label": "effect of the label on selection",
        "unit": "log odds",
        "meaning": "Log of how much the odds of being labeled are multiplied by for y = 1, as "
        "Rosset's moments find it.",
    },
    "moments_left": {
        "label": "moments left",
        "bounds": [0, None],
        "better": "less",
        "digits": 4,
        "meaning": "Size of the standardised moments that no weights of the asked form could meet.",
    },
    "selection_correlation": {
        "label": "correlation of what is unseen in selection and outcome",
        "bounds": [-1, 1],
        "meaning": "Of the unseen causes of being labeled and of the outcome, by a Heckman-type "
        "model; near 1 or -1 is a sign that its form is wrong.",
    },
    "exclusion_strength": {
        "label": "strength of the exclusion column",
        "unit": "standard errors",
        "better": "more",
        "meaning": "Coefficient of the exclusion column in the model of who is labeled.",
    },
    "exponent": {
        "label": "exponent on the ratio",
        "meaning": "Power of the density ratio that Shimodaira's criterion chose; 0 is no weights.",
    },
    "acceptance_rate": {
        "label": "acceptance rate",
        "bounds": [0, 1],
        "better": "more",
        "percent": True,
        "meaning": "Share of people that the filter accepts.",
    },
    "imbalance_expected": {
        "label": "imbalance of the realised distribution",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Distance from the target of the groups' shares that the acceptance should "
        "give.",
    },
    "disclosivity_expected": {
        "label": "expected disclosivity",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Disclosivity of the leaves among the training rows.",
    },
}
