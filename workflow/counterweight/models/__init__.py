"""Stage 5: models of p(y | x), trained on the labeled rows."""

MODELS = {
    "logistic": "counterweight.models.logistic:LogisticModel",
    "generative": "counterweight.models.generative:GenerativeClassifier",
    "shifted_mixture": "counterweight.models.shifted_mixture:ShiftedMixtureClassifier",
}
