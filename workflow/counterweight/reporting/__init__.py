"""Stage 7: tables, figures, claims, the report."""

FIGURES = {
    "accuracy": "counterweight.reporting.figures.accuracy:draw",
    "selection": "counterweight.reporting.figures.selection:draw",
    "weights": "counterweight.reporting.figures.weights:draw",
    "likelihood": "counterweight.reporting.figures.likelihood:draw",
    "sensitivity": "counterweight.reporting.figures.sensitivity:draw",
    "boundary": "counterweight.reporting.figures.boundary:draw",
    "value": "counterweight.reporting.figures.value:draw",
    "ratio_bias": "counterweight.reporting.figures.ratio_bias:draw",
    "deviation": "counterweight.reporting.figures.deviation:draw",
    "keep_rates": "counterweight.reporting.figures.keep_rates:draw",
    "reliability": "counterweight.reporting.figures.reliability:draw",
    "shares": "counterweight.reporting.figures.shares:draw",
    "segments": "counterweight.reporting.figures.segments:draw",
    "curves": "counterweight.reporting.figures.curves:draw",
    "model_order": "counterweight.reporting.figures.model_order:draw",
    "enrolment": "counterweight.reporting.figures.enrolment:draw",
    "profiles": "counterweight.reporting.figures.profiles:draw",
}
