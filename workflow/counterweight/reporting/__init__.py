"""Stage 7: tables, figures, claims, the report."""

FIGURES = {
    "accuracy": "counterweight.reporting.charts.selection_figures:draw_accuracy",
    "selection": "counterweight.reporting.charts.selection_figures:draw_selection",
    "weights": "counterweight.reporting.charts.selection_figures:draw_weights",
    "likelihood": "counterweight.reporting.charts.selection_figures:draw_likelihood",
    "sensitivity": "counterweight.reporting.charts.selection_figures:draw_sensitivity",
    "gamma": "counterweight.reporting.charts.selection_figures:draw_gamma",
    "rehearsal": "counterweight.reporting.charts.selection_figures:draw_rehearsal",
    "collect": "counterweight.reporting.charts.selection_figures:draw_collect",
    "boundary": "counterweight.reporting.charts.selection_figures:draw_boundary",
    "value": "counterweight.reporting.charts.logs_figures:draw_value",
    "ratio_bias": "counterweight.reporting.charts.logs_figures:draw_ratio_bias",
    "deviation": "counterweight.reporting.charts.logs_figures:draw_deviation",
    "keep_rates": "counterweight.reporting.charts.logs_figures:draw_keep_rates",
    "reliability": "counterweight.reporting.charts.logs_figures:draw_reliability",
    "shares": "counterweight.reporting.charts.logs_figures:draw_shares",
    "segments": "counterweight.reporting.charts.offers_figures:draw_segments",
    "curves": "counterweight.reporting.charts.offers_figures:draw_curves",
    "model_order": "counterweight.reporting.charts.offers_figures:draw_model_order",
    "enrolment": "counterweight.reporting.charts.offers_figures:draw_enrolment",
    "response": "counterweight.reporting.charts.offers_figures:draw_response",
    "profiles": "counterweight.reporting.charts.offers_figures:draw_profiles",
    "fairness": "counterweight.reporting.charts.rates_figures:draw_fairness",
    "asked_ratio": "counterweight.reporting.charts.rates_figures:draw_asked_ratio",
    "churn": "counterweight.reporting.charts.rates_figures:draw_churn",
    "multipliers": "counterweight.reporting.charts.rates_figures:draw_multipliers",
    "bounds": "counterweight.reporting.charts.rates_figures:draw_bounds",
    "sequence": "counterweight.reporting.charts.rates_figures:draw_sequence",
    "promises": "counterweight.reporting.charts.rates_figures:draw_promises",
    "tradeoff": "counterweight.reporting.charts.filters_figures:draw_tradeoff",
    "frontier": "counterweight.reporting.charts.filters_figures:draw_frontier",
    "proportions": "counterweight.reporting.charts.filters_figures:draw_proportions",
    "heatmap": "counterweight.reporting.charts.filters_figures:draw_heatmap",
    "tree": "counterweight.reporting.charts.filters_figures:draw_tree",
    "sections": "counterweight.reporting.charts.section_figures:draw_sections",
}

#: Pages of studies with a component, in place of that of their kind: of the main model, else of the
#: protocol.
PAGES = {
    "model subsampled": "counterweight.reporting.pages.subsampling_page:PAGE",
    "model budgeted": "counterweight.reporting.pages.subsampling_page:PAGE",
    "protocol ranking_resamples": "counterweight.reporting.pages.subsampling_page:PAGE",
    "protocol score_metrics": "counterweight.reporting.pages.own_logs_page:PREDICTIONS",
    "protocol own_values": "counterweight.reporting.pages.own_logs_page:PAGE",
    "protocol rates": "counterweight.reporting.pages.rates_page:PAGE",
}
