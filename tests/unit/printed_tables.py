"""Tables 4 to 7 of Noor et al. (2014) as printed, and regressions that follow from the first."""

import numpy as np
from counterweight.evaluation.offer_evaluation import regress

#: Classes of overlap as numbers.
OVERLAP = {"VS": 1, "S": 2, "M": 3, "H": 4}
#: Printed Table 4: overlap, imbalance, eta, k, RMSE of PCM, LR, LMT; component 1 first.
PRINTED_TABLE_4 = (
    ("S", 0.09986, 0.22, 5.0, 0.123, 0.151, 0.151),
    ("H", 0.11424, 0.18, 11.0, 0.089, 0.175, 0.175),
    ("H", 0.00078, 0.41, 7.0, 0.106, 0.077, 0.077),
    ("S", 0.00040, 0.47, 14.0, 0.065, 0.068, 0.165),
    ("M", 0.00006, 0.44, 10.0, 0.090, 0.068, 0.068),
    ("H", 0.12390, 0.15, 13.0, 0.086, 0.069, 0.069),
    ("H", 0.05290, 0.27, 15.0, 0.138, 0.049, 0.107),
    ("VS", 0.00384, 0.62, 5.0, 0.056, 0.052, 0.052),
    ("S", 0.10112, 0.75, 10.0, 0.106, 0.130, 0.130),
    ("VS", 0.00292, 0.50, 9.0, 0.056, 0.042, 0.167),
    ("S", 0.08644, 0.82, 8.0, 0.056, 0.380, 0.392),
    ("S", 0.14440, 0.89, 16.0, 0.086, 0.438, 0.438),
    ("S", 0.01166, 0.37, 13.0, 0.021, 0.054, 0.054),
    ("S", 0.01124, 0.35, 6.0, 0.087, 0.056, 0.056),
    ("VS", 0.02756, 0.30, 10.0, 0.033, 0.124, 0.124),
    ("VS", 0.08880, 0.71, 7.0, 0.174, 0.177, 0.177),
    ("VS", 0.10890, 0.85, 6.0, 0.054, 0.363, 0.363),
    ("VS", 0.01210, 0.60, 13.0, 0.025, 0.021, 0.021),
)
#: Printed Tables 5 to 7: standardised coefficient, p value, interval of the plain coefficient.
PRINTED_REGRESSIONS = {
    "PCM": {
        "imbalance": (0.294, 0.262, -0.189, 0.640),
        "overlap": (0.474, 0.150, -0.007, 0.040),
        "eta": (0.091, 0.765, -0.093, 0.124),
        "k": (-0.331, 0.196, -0.010, 0.002),
    },
    "LR": {
        "imbalance": (0.602, 0.001, 0.735, 2.196),
        "eta": (0.503, 0.003, 0.109, 0.429),
        "k": (-0.049, 0.725, -0.012, 0.009),
    },
    "LMT": {
        "imbalance": (0.503, 0.008, 0.363, 2.002),
        "eta": (0.534, 0.005, 0.096, 0.455),
        "k": (0.041, 0.803, -0.011, 0.013),
    },
}
#: Printed R2; the last one is the adjusted one (the plain one is .654).
PRINTED_R2 = {"PCM": 0.32, "LR": 0.744, "LMT": 0.579}
#: What the paper regresses on: overlap cannot matter to models trained on one component.
VARIABLES = {
    "PCM": ("imbalance", "overlap", "eta", "k"),
    "LR": ("imbalance", "eta", "k"),
    "LMT": ("imbalance", "eta", "k"),
}


def printed_columns():
    """``imbalance, overlap`` (as 1 to 4), ``eta, k, PCM, LR, LMT`` of the printed Table 4."""
    overlap, *rest = zip(*PRINTED_TABLE_4, strict=True)
    columns = {"overlap": np.array([OVERLAP[name] for name in overlap], dtype=float)}
    names = ("imbalance", "eta", "k", "PCM", "LR", "LMT")
    return columns | {name: np.array(values) for name, values in zip(names, rest, strict=True)}


def printed_regression(model, level=0.95):
    """Tables 5 (PCM), 6 (LR) and 7 (LMT), recomputed from the printed Table 4."""
    columns = printed_columns()
    return regress({name: columns[name] for name in VARIABLES[model]}, columns[model], level)
