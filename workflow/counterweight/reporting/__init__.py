"""Stage 7: tables, figures, claims, the report."""

FIGURES = {
    "accuracy": "counterweight.reporting.figures.accuracy:draw",
    "selection": "counterweight.reporting.figures.selection:draw",
    "weights": "counterweight.reporting.figures.weights:draw",
    "likelihood": "counterweight.reporting.figures.likelihood:draw",
    "sensitivity": "counterweight.reporting.figures.sensitivity:draw",
    "boundary": "counterweight.reporting.figures.boundary:draw",
}
