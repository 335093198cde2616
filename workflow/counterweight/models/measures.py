"""How facts about fitted models are told."""

MEASURES = {
    "log_likelihood": {
        "label": "unlabeled log-likelihood",
        "unit": "nats per row",
        "better": "more",
        "meaning": "How well a mixture explains the features; more is better.",
    },
    "unlabeled_log_likelihood": {
        "label": "unlabeled log-likelihood of a sweep",
        "unit": "nats per row",
        "better": "more",
        "meaning": "How well a mixture explains the features of unlabeled rows.",
    },
    "restart_log_likelihood": {
        "label": "log-likelihood of a restart",
        "unit": "nats",
        "better": "more",
        "meaning": "How well each start of a fit came to explain its rows.",
    },
    "iterations": {
        "label": "iterations",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Rounds that a fit took.",
    },
    "converged": {
        "label": "share of fits that converged",
        "bounds": [0, 1],
        "better": "more",
        "meaning": "Whether a fit came to rest within its tolerance.",
    },
    "components_held": {
        "label": "component updates held back",
        "unit": "updates",
        "better": "less",
        "counted": True,
        "meaning": "Updates of a mixture component that were left out since too few rows belonged "
        "to it.",
    },
    "components_small": {
        "label": "components held back",
        "unit": "components",
        "better": "less",
        "meaning": "Components of a mixture of which an update was left out, since too few rows "
        "belonged to them.",
    },
    "decisions_moved": {
        "label": "decisions that moved",
        "unit": "share",
        "meaning": "Share of test rows whose yes or no changed when the model was moved to the "
        "target population.",
    },
    "least_curvature": {
        "label": "least curvature",
        "better": "more",
        "digits": 4,
        "meaning": "Least second derivative of what a fit minimises, over some points and all "
        "directions, as a share of the largest at the same point: below 0 it is not convex, and a "
        "search may end in a local optimum.",
    },
    "moved_right": {
        "label": "net gain among moved decisions",
        "unit": "share",
        "bounds": [-1, 1],
        "better": "more",
        "meaning": "Of the test decisions that shifting moved: the share that is right after it "
        "minus the share that was right before.",
    },
    "log_likelihood_falls": {
        "label": "falls of the log-likelihood",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Iterations in which the log-likelihood fell.",
    },
    "delta": {
        "label": "shift of the log odds",
        "digits": 2,
        "meaning": "What is added to the log odds of labeled rows for unlabeled rows with the same "
        "features.",
    },
    "rate_unlabeled": {
        "label": "estimated rate of the unlabeled",
        "unit": "share",
        "percent": True,
        "meaning": "Share of positives among the unlabeled rows, as a tilt has it.",
    },
    "rate_at_end": {
        "label": "share of tilts at an end",
        "bounds": [0, 1],
        "better": "less",
        "counted": True,
        "meaning": "Whether the estimated rate of the unlabeled rows came out as 0 or 1.",
    },
    "label_shift_assumed": {
        "label": "delta is estimated",
        "bounds": [0, 1],
        "digits": 0,
        "meaning": "Whether delta is estimated, which assumes that features given the label are "
        "distributed alike in labeled and unlabeled rows.",
    },
    "gap_left": {
        "label": "gap of features that is left",
        "unit": "share",
        "bounds": [0, None],
        "better": "less",
        "percent": True,
        "meaning": "Mean gap of the features between labeled and unlabeled rows once labeled rows "
        "are weighted, by label, to the estimated rate, as a share of the gap without weights; 0 "
        "but for noise where features given the label are alike.",
    },
    "rows_trained": {
        "label": "rows trained on",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Rows that were left to train on after subsampling.",
    },
    "spline_gap": {
        "label": "distance from the spline of all calibration rows",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Mean distance of the calibration curve of the kept rows from that of all rows.",
    },
    "predictions_out_of_range": {
        "label": "predictions outside 0 and 1",
        "unit": "share",
        "better": "less",
        "percent": True,
        "counted": True,
        "meaning": "Share of training rows whose raw prediction is outside 0 and 1; it is moved to "
        "the nearer.",
    },
    "rows_bought": {
        "label": "rows bought",
        "unit": "rows",
        "meaning": "Training rows whose label was bought.",
    },
    "chosen_share": {
        "label": "chosen share of positives",
        "bounds": [0, 1],
        "meaning": "Share of positives that a method chose for its training rows.",
    },
    "budget_excess": {
        "label": "rows bought beyond the budget",
        "unit": "rows",
        "bounds": [None, None],
        "better": "less",
        "counted": True,
        "meaning": "Training rows bought beyond what the budget allows.",
    },
    "constant_model": {
        "label": "share of constant models",
        "bounds": [0, 1],
        "better": "less",
        "counted": True,
        "meaning": "Whether a model gives everybody the same answer.",
    },
    "rows_without_policy": {
        "label": "rows without an imitated policy",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Rows in whose cell the imitated policy was never seen.",
    },
    "actions_unseen": {
        "label": "actions never seen",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Actions of the policy that the training log does not have.",
    },
}
