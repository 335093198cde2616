"""How values of policies are told that are estimated from logs."""

MEASURES = {
    "value": {
        "label": "value",
        "meaning": "Mean reward that a policy would earn, estimated from a log of another one.",
    },
    "truth": {
        "label": "true value",
        "meaning": "Mean reward of the policy where it is known, or from its own log.",
    },
    "error": {"label": "error of the value", "meaning": "Estimated value minus the truth."},
    "covered": {
        "label": "coverage of the truth",
        "unit": "share",
        "meaning": "Share of 95 % intervals that contain the true value.",
    },
    "covered_whole": {
        "label": "coverage of the whole log's value",
        "bounds": [0, 1],
        "meaning": "Share of 95 % intervals that contain the value of the whole log.",
    },
    "subsampling_error": {
        "label": "error by subsampling",
        "meaning": "Value from the rows that were kept minus the value from all rows.",
    },
    "whole_value": {
        "label": "value from the whole log",
        "ends": ["whole_low", "whole_high"],
        "meaning": "Value estimated from every row of the log.",
    },
    "whole_low": {
        "label": "lower bound from the whole log",
        "meaning": "Lower end of the 95 % interval from every row of the log.",
    },
    "whole_high": {
        "label": "upper bound from the whole log",
        "meaning": "Upper end of the 95 % interval from every row of the log.",
    },
    "drop_zero_change": {
        "label": "effect of dropping zero rows on the value",
        "meaning": "Change of the value when rows without reward are dropped and counted.",
    },
    "zero_details_change": {
        "label": "effect of altering zero rows on the value",
        "meaning": "Change of the value when actions and chances of rows without reward are "
        "altered.",
    },
    "identity_gap": {
        "label": "error of the mean over kept rows",
        "unit": "relative",
        "meaning": "Distance of the weighted mean over kept rows from the mean over all rows.",
    },
    "ratio_bias": {
        "label": "bias of the ratio estimator",
        "unit": "relative",
        "meaning": "Mean error of the estimate that has lost the count of all rows, relative to "
        "the value.",
    },
    "ratio_bias_times_n": {
        "label": "bias times n",
        "meaning": "Bias of the ratio estimator times the number of rows: constant where it falls "
        "as 1/n.",
    },
    "rows_per_nonzero": {
        "label": "rows stored for each non-zero row",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Rows in storage for each row that has a reward.",
    },
    "values_missing": {
        "label": "values that could not be estimated",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Estimates that could not be made.",
    },
    "rows_unsupported": {
        "label": "rows without support",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Logged rows with an action that the policy never takes there.",
    },
    "largest_weight": {
        "label": "largest weight",
        "bounds": [0, None],
        "meaning": "Largest weight after the cap.",
    },
    "difference": {
        "label": "difference of values",
        "ends": ["difference_low", "difference_high"],
        "better": "more",
        "meaning": "Value of a policy minus that of another one, from the same rows.",
    },
    "lift": {
        "label": "lift over the log's own",
        "unit": "relative",
        "ends": ["lift_low", "lift_high"],
        "better": "more",
        "meaning": "Value of a policy over that of the policy that made the log, minus 1, from the "
        "same rows.",
    },
    "logged_value": {
        "label": "value of the log's own policy",
        "ends": ["logged_value_low", "logged_value_high"],
        "meaning": "Mean reward of the log: what the policy that made it earned.",
    },
    "mean_importance": {
        "label": "mean weight",
        "bounds": [0, None],
        "ends": ["mean_importance_low", "mean_importance_high"],
        "meaning": "Mean of the policy's probability over the propensity: 1 where the "
        "propensities are right and the log shows all that the policy does.",
    },
    "weight_lost": {
        "label": "weight lost by the limit",
        "bounds": [0, None],
        "meaning": "Mean of what a limit takes off the weights: times the largest reward it is how "
        "far off the limited estimate can be.",
    },
    "thin_share": {
        "label": "share on rare actions",
        "unit": "share",
        "percent": True,
        "meaning": "Share of what the policy does that the log shows with small probability.",
    },
    "largest_share": {
        "label": "largest share of a row",
        "unit": "share",
        "percent": True,
        "meaning": "Largest share of one row of the log in all the weight.",
    },
    "rows_rewarded": {
        "label": "rows with a reward",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Rows with a reward whose action the policy may take: the value rests on them.",
    },
    "rows_agreed": {
        "label": "rows that agree",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Rows whose action the policy may take.",
    },
    "support": {
        "label": "support",
        "digits": 0,
        "meaning": "Whether the log can tell the value: good; thin, where few rows carry it; "
        "outside, where the policy does what the log does not show; doubtful, where weights "
        "average more than 1.",
    },
    "clusters": {
        "label": "users, about",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "How many users, or whatever else has rows that are not independent; they are "
        "put together by a hash, so the number is not exact.",
    },
}
