"""Options that the classifiers under constraints on rates share, as JSON-schema fragments."""

PARAMETER_OPTIONS = {
    "kappa": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "Value of the parameter kappa in the expressions.",
    },
    "target": {
        "type": ["number", "null"],
        "default": None,
        "description": "Value of the parameter target in the expressions.",
    },
}
GROUP_OPTIONS = {
    "groups": {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 2,
        "maxItems": 2,
        "default": ["male", "female"],
        "description": "Names of the two data sets.",
    }
}
SVM_OPTIONS = {
    "penalty": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "lambda of the SVM's penalty lambda/2 |w|^2. null: 2/n for n labeled rows "
        "(LIBLINEAR's C = 1).",
    },
    "penalties": {
        "type": "array",
        "items": {"type": "number", "exclusiveMinimum": 0},
        "default": [],
        "description": "In place of penalty, several to choose from, as of an error rate: that "
        "whose SVM without constraints errs least on a fifth of the labeled rows, which it does "
        "not see.",
    },
    "bias": {
        "enum": ["regularised", "free", "none"],
        "default": "regularised",
        "description": "regularised: a constant feature 1, penalised as the others; free: not "
        "penalised; none: through the origin.",
    },
    "standardise": {
        "type": "boolean",
        "default": False,
        "description": "Whether features are brought to mean 0 and standard deviation 1 before "
        "the penalty counts (sparse ones are scaled only).",
    },
}
MAP_OPTIONS = {
    "features": {
        "enum": ["none", "fourier", "nystroem"],
        "default": "none",
        "description": "Fixed map of the features that makes a kernel classifier.",
    },
    "linear_part": {
        "type": "boolean",
        "default": False,
        "description": "Whether the features themselves stand beside those of the map.",
    },
    "feature_count": {
        "type": "integer",
        "minimum": 1,
        "default": 300,
        "description": "Features of the map.",
    },
    "feature_scale": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "Scale of the map's Gaussian kernel in standard deviations of the "
        "features; null: the median distance of 1,000 rows.",
    },
}
