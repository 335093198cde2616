"""How models of acceptance and their offers are told."""

MEASURES = {
    "given_away": {"label": "given away", "meaning": "The method whose offers are in the files."},
    "validated_log_loss": {
        "label": "log loss on answers not seen",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Mean log loss on answers that the method has not seen: of the test rows, or "
        "cross-validated where a study has none. The method of the least one is given away.",
    },
    "steeper_change": {
        "label": "change by steeper curves",
        "digits": 3,
        "meaning": "Root mean squared difference of acceptance at past offers between the fitted "
        "curves and the same with slopes of 60 where they are at their bound of 30.",
    },
    "rmse": {
        "label": "RMSE",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Root of the mean squared distance of predicted from true chances of acceptance "
        "at the offers that were made.",
    },
    "rmse_test": {
        "label": "RMSE on new people",
        "bounds": [0, None],
        "better": "less",
        "meaning": "RMSE on people whom the model has not seen.",
    },
    "rmse_component": {
        "label": "RMSE on a component",
        "bounds": [0, None],
        "better": "less",
        "meaning": "RMSE among the people of one true segment.",
    },
    "rmse_component_test": {
        "label": "RMSE on new people of a component",
        "bounds": [0, None],
        "better": "less",
        "meaning": "RMSE among new people of one true segment.",
    },
    "rmse_floor": {
        "label": "RMSE of the true parameters",
        "bounds": [0, None],
        "better": "less",
        "meaning": "RMSE that even the true segments have, since nobody's segment is known for "
        "sure.",
    },
    "rmse_floor_test": {
        "label": "RMSE of the true parameters on new people",
        "bounds": [0, None],
        "better": "less",
        "meaning": "RMSE of the true segments among people whom the model has not seen.",
    },
    "kl": {
        "label": "divergence of the mixtures",
        "unit": "nats",
        "bounds": [0, None],
        "better": "less",
        "meaning": "How different the fitted mixture is from the true one; 0 is the same.",
    },
    "mdl": {
        "label": "description length",
        "unit": "nats",
        "better": "less",
        "meaning": "What it takes to describe the data with a number of segments; the least is "
        "chosen.",
    },
    "components_chosen": {
        "label": "chosen number of segments",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Number of segments with the least description length.",
    },
    "likelihood_drop": {
        "label": "largest fall of the log-likelihood",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Largest relative fall of the log-likelihood between two iterations.",
    },
    "closed_form_gap": {
        "label": "distance of the closed form from the search",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Distance of the best offer by formula from the best one on a fine grid.",
    },
    "slopes_at_bound": {
        "label": "slopes at their bound",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Segments in which the offer separates the answers, so that the slope has no "
        "end.",
    },
    "monotone_active": {
        "label": "segments without a rise",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Segments in which acceptance does not rise with the offer.",
    },
    "one_answer_segments": {
        "label": "segments with one kind of answer",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Segments in which everybody said yes, or everybody no.",
    },
    "covariances_at_floor": {
        "label": "covariances at their floor",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Segments that have shrunk to hardly more than a point.",
    },
    "updates_held": {
        "label": "updates held back",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Updates of a segment that were left out since too few rows belonged to it.",
    },
    "rows_missing": {
        "label": "rows without features",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Rows whose features are missing.",
    },
    "components_capped": {
        "label": "most segments that there are rows for",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Largest number of segments that the rows allow, where more were to be tried; "
        "else 0.",
    },
    "one_answer_models": {
        "label": "models of one answer",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Models whose rows had one kind of answer.",
    },
    "cells_filled": {
        "label": "cells filled in",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Missing values that were filled in.",
    },
    "auc_missing": {
        "label": "AUC that could not be told",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Fits whose test rows had one kind of answer.",
    },
    "component_eta": {
        "label": "offer at which half accept",
        "meaning": "Offer at which half of a true segment accept.",
    },
    "component_k": {
        "label": "steepness of acceptance",
        "meaning": "How sharply acceptance rises with the offer in a true segment.",
    },
    "component_imbalance": {
        "label": "imbalance of answers",
        "bounds": [0, None],
        "meaning": "How far the share that accepts in a true segment is from one half.",
    },
    "component_overlap": {
        "label": "overlap with other segments",
        "bounds": [0, 1],
        "meaning": "How much a true segment is mixed up with others.",
    },
    "offer_variation": {
        "label": "share of segments whose offers hardly vary",
        "unit": "share",
        "meaning": "Share of segments in which offers are so alike that nothing can be learned of "
        "others.",
    },
    "best_offer": {
        "label": "best offer",
        "meaning": "Offer that earns most: the median over people.",
    },
    "best_offer_low": {
        "label": "lower quartile of the best offers",
        "meaning": "A quarter of the people have a best offer below it.",
    },
    "best_offer_high": {
        "label": "upper quartile of the best offers",
        "meaning": "A quarter of the people have a best offer above it.",
    },
    "single_offer": {
        "label": "best offer to everybody",
        "ends": ["single_offer_low", "single_offer_high"],
        "meaning": "The one offer to everybody that earns most by the model.",
    },
    "single_offer_low": {
        "label": "lower bound of the best offer to everybody",
        "meaning": "Lower end of the 95 % interval of the best single offer, by refits.",
    },
    "single_offer_high": {
        "label": "upper bound of the best offer to everybody",
        "meaning": "Upper end of the 95 % interval of the best single offer, by refits.",
    },
    "single_offer_acceptance": {
        "label": "share that accepts the one offer",
        "bounds": [0, 1],
        "percent": True,
        "meaning": "Share that accepts the best single offer, by the model.",
    },
    "single_offer_revenue": {
        "label": "revenue of the one offer",
        "better": "more",
        "meaning": "What the best single offer earns for each person, by the model.",
    },
    "offers_matched": {
        "label": "people whose offer was near",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "People whose logged offer was near the one that the method would make.",
    },
    "offers_unsupported": {
        "label": "people without a near offer",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "People for whom the log has hardly any offer near the one that the method "
        "would make.",
    },
    "offers_between": {
        "label": "offers between levels",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "People whose best offer lies between two that were ever made: its acceptance "
        "is interpolated, and the interval holds its bounds.",
    },
    "offers_beyond": {
        "label": "offers beyond levels",
        "bounds": [0, None],
        "digits": 0,
        "better": "less",
        "meaning": "People whose best offer lies beyond all that were ever made, where few were: "
        "then no value is given.",
    },
    "offers_bandwidth": {
        "label": "window of near offers",
        "bounds": [0, None],
        "meaning": "How near an offer must be to count, on the scale from 0 to 1.",
    },
    "revenue_smoothing": {
        "label": "change of revenue by the window",
        "meaning": "How much the window of near offers alone changes the revenue.",
    },
    "enrolment_predicted": {
        "label": "predicted enrolment",
        "bounds": [0, None],
        "ends": ["enrolment_predicted_low", "enrolment_predicted_high"],
        "digits": 0,
        "meaning": "How many would accept the offers that were made, by the model.",
    },
    "enrolment_actual": {
        "label": "actual enrolment",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "How many accepted the offers that were made.",
    },
    "enrolment_true": {
        "label": "true expected enrolment",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "How many would accept the offers that were made, by the true chances.",
    },
    "enrolment_error": {
        "label": "error of the enrolment",
        "better": "less",
        "meaning": "Distance of predicted from true enrolment, relative to it.",
    },
    "enrolment_claimed": {
        "label": "claimed enrolment with best offers",
        "bounds": [0, None],
        "ends": ["enrolment_claimed_low", "enrolment_claimed_high"],
        "digits": 0,
        "meaning": "How many would accept the best offers, by the model itself.",
    },
    "enrolment_optimal_true": {
        "label": "true enrolment with best offers",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "How many would accept the model's best offers, by the true chances.",
    },
    "enrolment_best_possible": {
        "label": "best possible enrolment",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "How many would accept the offers that really earn most.",
    },
    "revenue_predicted": {
        "label": "predicted revenue",
        "ends": ["revenue_predicted_low", "revenue_predicted_high"],
        "meaning": "What the offers that were made earn, by the model.",
    },
    "revenue_actual": {
        "label": "actual revenue",
        "meaning": "What the offers that were made earned.",
    },
    "revenue_true": {
        "label": "true expected revenue",
        "meaning": "What the offers that were made earn, by the true chances.",
    },
    "revenue_error": {
        "label": "error of the revenue",
        "better": "less",
        "meaning": "Distance of predicted from true revenue, relative to it.",
    },
    "revenue_claimed": {
        "label": "claimed revenue with best offers",
        "ends": ["revenue_claimed_low", "revenue_claimed_high"],
        "meaning": "What the best offers earn, by the model itself.",
    },
    "revenue_optimal_true": {
        "label": "true revenue with best offers",
        "better": "more",
        "meaning": "What the model's best offers earn, by the true chances.",
    },
    "revenue_best_possible": {
        "label": "best possible revenue",
        "meaning": "What the offers that really earn most would earn.",
    },
    "revenue_snips": {
        "label": "SNIPS revenue",
        "ends": ["revenue_snips_low", "revenue_snips_high"],
        "better": "more",
        "meaning": "What the best offers earn, estimated from people who were offered nearly that.",
    },
    "revenue_ips": {
        "label": "IPS revenue",
        "ends": ["revenue_ips_low", "revenue_ips_high"],
        "better": "more",
        "meaning": "What the best offers earn, estimated from people who were offered nearly that, "
        "without normalising.",
    },
    "regression_p": {
        "label": "p value",
        "bounds": [0, 1],
        "meaning": "Chance of so large a coefficient if the quantity had no influence on the "
        "error.",
    },
    "regression_beta": {
        "label": "standardised coefficient",
        "meaning": "By how many standard deviations the error changes with one of the quantity.",
    },
    "regression_coefficient": {
        "label": "coefficient",
        "ends": ["regression_low", "regression_high"],
        "meaning": "By how much the error changes with the quantity.",
    },
    "regression_low": {
        "label": "lower bound of the coefficient",
        "meaning": "Lower end of the coefficient's 95 % interval.",
    },
    "regression_high": {
        "label": "upper bound of the coefficient",
        "meaning": "Upper end of the coefficient's 95 % interval.",
    },
    "regression_r2": {
        "label": "R²",
        "bounds": [0, 1],
        "meaning": "Share of the differences in error that the quantities explain.",
    },
    "regression_adjusted_r2": {
        "label": "adjusted R²",
        "meaning": "R² less what chance would explain.",
    },
    "regression_missing": {
        "label": "regressions that could not be made",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Fits with too few segments for a regression.",
    },
    "enrolment_predicted_low": {
        "label": "lower bound of the predicted enrolment",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Lower end of the 95 % interval of the predicted enrolment.",
    },
    "enrolment_predicted_high": {
        "label": "upper bound of the predicted enrolment",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Upper end of the 95 % interval of the predicted enrolment.",
    },
    "enrolment_claimed_low": {
        "label": "lower bound of the claimed enrolment with best offers",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Lower end of the 95 % interval of the claimed enrolment with best offers.",
    },
    "enrolment_claimed_high": {
        "label": "upper bound of the claimed enrolment with best offers",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Upper end of the 95 % interval of the claimed enrolment with best offers.",
    },
    "revenue_predicted_low": {
        "label": "lower bound of the predicted revenue",
        "meaning": "Lower end of the 95 % interval of the predicted revenue.",
    },
    "revenue_predicted_high": {
        "label": "upper bound of the predicted revenue",
        "meaning": "Upper end of the 95 % interval of the predicted revenue.",
    },
    "revenue_claimed_low": {
        "label": "lower bound of the claimed revenue with best offers",
        "meaning": "Lower end of the 95 % interval of what best offers bring, by refits.",
    },
    "revenue_claimed_high": {
        "label": "upper bound of the claimed revenue with best offers",
        "meaning": "Upper end of the 95 % interval of what best offers bring, by refits.",
    },
    "revenue_snips_low": {
        "label": "lower bound of the SNIPS revenue",
        "meaning": "Lower end of the 95 % interval of the SNIPS revenue.",
    },
    "revenue_snips_high": {
        "label": "upper bound of the SNIPS revenue",
        "meaning": "Upper end of the 95 % interval of the SNIPS revenue.",
    },
    "revenue_ips_low": {
        "label": "lower bound of the IPS revenue",
        "meaning": "Lower end of the 95 % interval of the IPS revenue.",
    },
    "revenue_ips_high": {
        "label": "upper bound of the IPS revenue",
        "meaning": "Upper end of the 95 % interval of the IPS revenue.",
    },
    "leaves": {
        "label": "number of leaves",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Leaves of a tree.",
    },
    "values_missing": {
        "label": "values that could not be estimated",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Estimates that could not be made.",
    },
    "allotted_revenue": {
        "label": "expected revenue within limits",
        "meaning": "What the offers within all limits are expected to earn together, by the fitted "
        "model.",
    },
    "allotted_bound": {
        "label": "bound of revenue within limits",
        "meaning": "What no offers within the limits can earn, by the fitted model: the value of "
        "the dual, which is that of the linear programme over mixed offers.",
    },
    "allotted_free": {
        "label": "expected revenue without limits",
        "meaning": "What the same offers would earn if nothing limited them.",
    },
    "allotted_greedy": {
        "label": "expected revenue by the greedy rule",
        "meaning": "Everybody at their best offer, the best people first, up to the limits.",
    },
    "allotted_none": {
        "label": "people without an offer",
        "digits": 0,
        "meaning": "People who get no offer within the limits.",
    },
    "limit_used": {
        "label": "expected use",
        "bounds": [0, None],
        "meaning": "What those who are expected to accept use of a limit: their number, what they "
        "are given, their mean quality, the share of the group.",
    },
    "limit_bound": {"label": "limit", "meaning": "What was asked."},
    "limit_price": {
        "label": "price of a limit",
        "meaning": "What one more unit of the limit would earn: its multiplier. Of a least mean or "
        "share: for each unit by which the sum over those who accept may fall short.",
    },
    "limit_confidence": {
        "label": "confidence of a capacity",
        "meaning": "Chance with which no more than the capacity accept.",
    },
    "tried_revenue": {
        "label": "expected revenue of the experiment",
        "meaning": "What the offers that are drawn at random are expected to earn, by the model.",
    },
    "level_revenue": {
        "label": "expected revenue of the best levels",
        "meaning": "What the best of the experiment's offers for each person would earn.",
    },
    "tried_least_p": {
        "label": "least chance of an offer",
        "digits": 3,
        "meaning": "Least chance with which an offer of the experiment was drawn.",
    },
}
