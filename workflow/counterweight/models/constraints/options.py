"""Options that the classifiers under constraints on rates share, as JSON-schema fragments."""

from counterweight.fragments import Array, Choice, Flag, Integer, Number

PARAMETER_OPTIONS = {
    "kappa": Number(None, "Value of the parameter kappa in the expressions.", above=0, null=True),
    "target": Number(None, "Value of the parameter target in the expressions.", null=True),
}  # fmt: skip
GROUP_OPTIONS = {
    "groups": Array(["male", "female"], "Names of the two data sets.", items={"type": "string"}, minItems=2, maxItems=2),
}  # fmt: skip
SVM_OPTIONS = {
    "penalty": Number(None, "lambda of the SVM's penalty lambda/2 |w|^2. null: 2/n for n labeled rows (LIBLINEAR's C = 1).", above=0, null=True),
    "penalties": Array([],
        "In place of penalty, several to choose from, as of an error rate: that whose SVM without constraints errs "
        "least on a fifth of the labeled rows, which it does not see.", items={"type": "number", "exclusiveMinimum": 0}),
    "bias": Choice("regularised", ["regularised", "free", "none"],
        "regularised: a constant feature 1, penalised as the others; free: not penalised; none: through the origin."),
    "standardise": Flag(False, "Whether features are brought to mean 0 and standard deviation 1 before the penalty counts (sparse ones are scaled only)."),
}  # fmt: skip
MAP_OPTIONS = {
    "features": Choice("none", ["none", "fourier", "nystroem"], "Fixed map of the features that makes a kernel classifier."),
    "linear_part": Flag(False, "Whether the features themselves stand beside those of the map."),
    "feature_count": Integer(300, "Features of the map.", minimum=1),
    "feature_scale": Number(None,
        "Scale of the map's Gaussian kernel in standard deviations of the features; null: the median distance of 1,000 "
        "rows.", above=0, null=True),
}  # fmt: skip
