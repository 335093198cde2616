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
        "meaning": "Share of 95 % intervals that contain the value of the whole log.",
    },
    "subsampling_error": {
        "label": "error by subsampling",
        "meaning": "Value from the rows that were kept minus the value from all rows.",
    },
    "whole_value": {
        "label": "value from the whole log",
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
        "better": "less",
        "meaning": "Rows in storage for each row that has a reward.",
    },
    "values_missing": {
        "label": "values that could not be estimated",
        "digits": 0,
        "counted": True,
        "meaning": "Estimates that could not be made.",
    },
    "rows_unsupported": {
        "label": "rows without support",
        "digits": 0,
        "counted": True,
        "meaning": "Logged rows with an action that the policy never takes there.",
    },
    "largest_weight": {"label": "largest weight", "meaning": "Largest weight after the cap."},
}
