"""How fits under constraints are told; rates themselves go by their expressions."""

MEASURES = {
    "final_objective": {
        "label": "objective",
        "better": "less",
        "meaning": "What the fit makes small, at its end.",
    },
    "objective": {
        "label": "objective at a step",
        "better": "less",
        "meaning": "What the fit makes small, after a step.",
    },
    "objective_rise": {
        "label": "largest rise of the objective",
        "better": "less",
        "meaning": "Largest change upwards between two steps; below 0 it always fell.",
    },
    "objective_unexplained": {
        "label": "objective minus the measured rates and the penalty",
        "meaning": "What of the objective the rates and the penalty do not account for.",
    },
    "asked_excess_deterministic": {
        "label": "deterministic excess over what was asked",
        "unit": "relative",
        "better": "less",
        "meaning": "By how much the rule that goes by the sign of the score breaks what was asked; "
        "below 0 it is kept.",
    },
    "asked_excess_randomised": {
        "label": "randomised excess over what was asked",
        "unit": "relative",
        "better": "less",
        "meaning": "By how much the rule that tosses a coin near the boundary breaks what was "
        "asked; below 0 it is kept.",
    },
    "fit_confidence": {
        "label": "confidence asked for",
        "unit": "share",
        "meaning": "Level at which the model that is given away is to keep promises for new rows.",
    },
    "fit_certified": {
        "label": "certified",
        "bounds": [0, 1],
        "meaning": "1 where held-out rows show that new rows keep all promises at that level.",
    },
    "promise_left_deterministic": {
        "label": "left side of a promise, by decisions",
        "unit": "share",
        "bounds": [None, None],
        "meaning": "What stands before the sign of a promise, as it came about.",
    },
    "promise_right_deterministic": {
        "label": "right side of a promise, by decisions",
        "unit": "share",
        "bounds": [None, None],
        "meaning": "What stands behind the sign of a promise, as it came about.",
    },
    "promise_excess_deterministic": {
        "label": "excess over a promise, by decisions",
        "better": "less",
        "meaning": "By how much a promise is broken; at most 0 it is kept.",
    },
    "promise_left_randomised": {
        "label": "left side of a promise, by chances",
        "unit": "share",
        "bounds": [None, None],
        "meaning": "What stands before the sign of a promise, as it came about.",
    },
    "promise_right_randomised": {
        "label": "right side of a promise, by chances",
        "unit": "share",
        "bounds": [None, None],
        "meaning": "What stands behind the sign of a promise, as it came about.",
    },
    "promise_excess_randomised": {
        "label": "excess over a promise, by chances",
        "better": "less",
        "meaning": "By how much a promise is broken; at most 0 it is kept.",
    },
    "accepted": {
        "label": "convex steps that led to the classifier",
        "unit": "steps",
        "counted": True,
        "meaning": "Convex steps from its start to the classifier that is kept; 0: no step was "
        "accepted, or a rule that needs no training was better.",
    },
    "behind": {
        "label": "objective above that of a known rule",
        "unit": "share",
        "bounds": [None, None],
        "better": "less",
        "meaning": "By how much the objective is above that of the unconstrained fit with the "
        "threshold, or thresholds by group, of least cost that meets the constraints, on training "
        "rows, as a share of its total cost; below 0 no such rule is as good.",
    },
    "collapsed": {
        "label": "nobody or everybody positive",
        "unit": "share",
        "better": "less",
        "meaning": "Share of fits in which nobody, or everybody, of the training rows is positive.",
    },
    "duality_gap": {
        "label": "duality gap",
        "bounds": [0, None],
        "better": "less",
        "meaning": "By how much a mixture of the same classifiers that meets the constraints could "
        "at most have a lower objective on training rows, if each fit is the best answer to its "
        "weights.",
    },
    "steps_rising": {
        "label": "number of convex steps in which the objective rose",
        "unit": "steps",
        "better": "less",
        "counted": True,
        "meaning": "Convex steps in which the objective rose.",
    },
    "steps_violated": {
        "label": "number of convex steps that left the constraints",
        "unit": "steps",
        "better": "less",
        "counted": True,
        "meaning": "Convex steps after which a constraint was broken.",
    },
    "asked_slope_deterministic": {
        "label": "slope of the deterministic value on what was asked",
        "digits": 3,
        "meaning": "How values on test rows follow what is asked, both as logarithms, over the "
        "settings that bind; 1 if they rise together.",
    },
    "asked_slope_randomised": {
        "label": "slope of the randomised value on what was asked",
        "digits": 3,
        "meaning": "How values on test rows follow what is asked, both as logarithms, over the "
        "settings that bind; 1 if they rise together.",
    },
    "late_share": {
        "label": "share of the fall beyond step 1 that comes after step 5",
        "unit": "share",
        "bounds": [0, None],
        "meaning": "How much of what steps bring beyond the first one comes late.",
    },
    "late_fall": {
        "label": "share of the objective's fall after step 5",
        "unit": "share",
        "bounds": [0, None],
        "meaning": "How much of the fall of the objective comes late.",
    },
    "violation": {
        "label": "violation at a step",
        "better": "less",
        "meaning": "By how much a constraint is broken after a step; at most 0 it is kept.",
    },
    "largest_violation": {
        "label": "largest violation",
        "better": "less",
        "meaning": "By how much a constraint was broken on the way; at most 0 it was kept.",
    },
    "final_violation": {
        "label": "violation at the end",
        "better": "less",
        "meaning": "By how much a constraint is broken at the end; at most 0 it is kept.",
    },
    "multiplier": {
        "label": "multiplier",
        "bounds": [0, None],
        "meaning": "Price of a constraint: how much the objective would gain if it were loosened.",
    },
    "final_gap": {
        "label": "certified gap",
        "bounds": [0, None],
        "better": "less",
        "meaning": "How far the fit can be from the best one of its last step.",
    },
    "largest_gap": {
        "label": "certified gap of a step",
        "bounds": [0, None],
        "better": "less",
        "meaning": "How far the fit can be from the best one of a step, at worst.",
    },
    "evaluations": {
        "label": "evaluations",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Passes over the training rows.",
    },
    "evaluations_per_step": {
        "label": "evaluations in a step",
        "bounds": [0, None],
        "digits": 1,
        "meaning": "Passes over the training rows in a convex step.",
    },
    "bound_gap": {
        "label": "largest distance of bound and ramp at the current solution",
        "better": "less",
        "meaning": "Distance of the convex bound from the rate that it stands for where they "
        "should meet; 0 is tight.",
    },
    "bound_excess": {
        "label": "least of bound minus ramp",
        "meaning": "Least distance of the convex bound above the rate; at least 0 it is a bound.",
    },
    "penalty": {
        "label": "penalty",
        "bounds": [0, None],
        "meaning": "Weight of the coefficients' size in the objective.",
    },
    "coefficient_norm": {
        "label": "norm of the coefficients",
        "bounds": [0, None],
        "meaning": "Size of the coefficients.",
    },
    "feasible": {
        "label": "share of feasible fits",
        "bounds": [0, 1],
        "better": "more",
        "meaning": "Whether a fit found a model that keeps all constraints.",
    },
    "sign_test_labels": {
        "label": "labels that a sign test needs",
        "unit": "labels",
        "better": "less",
        "meaning": "Labels that it takes to show that one classifier is better than another.",
    },
    "sign_test_drawn": {
        "label": "rows to draw for a sign test",
        "unit": "rows",
        "better": "less",
        "meaning": "Rows to look at until enough of them are decided differently.",
    },
    "labels_needed": {
        "label": "labels that show the new model is better",
        "unit": "labels",
        "better": "less",
        "meaning": "Labels of rows on which both differ that it takes to show which model is "
        "better.",
    },
    "wins_share": {
        "label": "share of disagreements won",
        "unit": "share",
        "better": "more",
        "percent": True,
        "meaning": "Share of the rows decided differently that the new model decides right.",
    },
    "disagreement": {
        "label": "share of disagreements",
        "unit": "share",
        "percent": True,
        "meaning": "Share of rows that both models decide differently.",
    },
}
