"""What a model's error by component depends on: the regressions of Noor et al., Tables 5 to 7."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError, listed

#: Classes of overlap as numbers, and the largest overlap of each: the printed ones leave gaps.
OVERLAP = {"VS": 1, "S": 2, "M": 3, "H": 4}
OVERLAP_UP_TO = (0.045, 0.155, 0.28)
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


@dataclass(frozen=True)
class Regression:
    """A multiple linear regression with intercept, by ordinary least squares.

    Attributes
    ----------
    names : tuple of str
        Explanatory variables, in order; the intercept is not among them.
    beta : ndarray
        Standardised coefficients: in standard deviations of the outcome for each of the
        variable.
    coefficient, standard_error, p, low, high : ndarray
        In the variables' own units; p of the two-sided t test, interval of the given level.
    intercept, r2, adjusted_r2 : float
    rows : int
    """

    names: tuple
    beta: np.ndarray
    coefficient: np.ndarray
    standard_error: np.ndarray
    p: np.ndarray
    low: np.ndarray
    high: np.ndarray
    intercept: float
    r2: float
    adjusted_r2: float
    rows: int


def regress(columns, outcome, level=0.95):
    """`Regression` of an outcome (n,) on named columns; `level` is that of its intervals.

    Tests and intervals assume independent errors of one variance that are about normal.

    Raises
    ------
    CounterweightError
        When a value is not finite, rows are too few, a column or the outcome is constant, or a
        column is a combination of others.
    """
    import statsmodels.api as sm

    names = tuple(columns)
    X = np.column_stack([np.asarray(columns[name], dtype=float) for name in names])
    y = np.asarray(outcome, dtype=float)
    rows = len(y)
    if X.shape[0] != rows or not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise CounterweightError(
            "A regression needs one finite value of each variable for each component."
        )
    if rows < len(names) + 2:
        raise CounterweightError(
            f"{rows} components are too few for a regression on {listed(names)}: at least "
            f"{len(names) + 2} are needed."
        )
    flat = [
        name
        for name, column in zip((*names, "outcome"), (*X.T, y), strict=True)
        if np.ptp(column) <= 1e-12 * np.abs(column).max()
    ]
    if flat:
        raise CounterweightError(f"The same in all components: {listed(flat)}; leave it out.")
    centred = (X - X.mean(axis=0)) / X.std(axis=0)
    if np.linalg.matrix_rank(centred, tol=1e-9 * np.sqrt(rows)) < len(names):
        raise CounterweightError(
            f"Of {listed(names)} one is a combination of the others in these components: leave "
            "one out."
        )
    fit = sm.OLS(y, sm.add_constant(X, has_constant="add")).fit()
    interval = np.asarray(fit.conf_int(alpha=1 - level))
    return Regression(
        names=names,
        beta=fit.params[1:] * X.std(axis=0) / y.std(),
        coefficient=fit.params[1:],
        standard_error=fit.bse[1:],
        p=fit.pvalues[1:],
        low=interval[1:, 0],
        high=interval[1:, 1],
        intercept=float(fit.params[0]),
        r2=float(fit.rsquared),
        adjusted_r2=float(fit.rsquared_adj),
        rows=rows,
    )


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


def overlap_class(overlap):
    """Overlaps in [0, 1] as 1 (very small) to 4 (high), as in Tables 3 and 4."""
    return 1.0 + np.searchsorted(OVERLAP_UP_TO, np.asarray(overlap, dtype=float))


def imbalance(share):
    """``(1/2 - P(Y = 1))^2``, the paper's measure."""
    return (0.5 - np.asarray(share, dtype=float)) ** 2


def regression_records(regression, kind=""):
    """Metric records of a regression; `kind` says which it is, the part of each.

    By variable ``regression_beta, regression_coefficient`` (with its standard error),
    ``regression_p, regression_low, regression_high``; of the whole regression
    ``regression_r2, regression_adjusted_r2``.
    """
    records = []
    for at, name in enumerate(regression.names):
        place = {"part": kind, "variable": name, "rows": regression.rows}
        values = {
            "regression_beta": regression.beta[at],
            "regression_coefficient": regression.coefficient[at],
            "regression_p": regression.p[at],
            "regression_low": regression.low[at],
            "regression_high": regression.high[at],
        }
        for metric, value in values.items():
            record = place | {"metric": metric, "value": float(value)}
            if metric == "regression_coefficient":
                record["standard_error"] = float(regression.standard_error[at])
            records.append(record)
    place = {"part": kind, "rows": regression.rows}
    return records + [
        place | {"metric": "regression_r2", "value": regression.r2},
        place | {"metric": "regression_adjusted_r2", "value": regression.adjusted_r2},
    ]
