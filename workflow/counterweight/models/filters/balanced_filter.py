"""Logistic regression on the rows that a filter accepts, at several settings of the filter."""

import logging

import numpy as np

from counterweight.fragments import Array, Choice, Number
from counterweight.numerics.checks import checked_labels, checked_new_rows, checked_rows
from counterweight.numerics.options import Parameters, check_options

log = logging.getLogger("counterweight")

KIND = "filter"
OPTIONS = {
    "classifier": Choice("logistic", ["logistic", "none"],
        "What is trained on the accepted rows, to see what the filter does to a model; none to leave it out."),
    "settings": Array([0, 0.1, 0.2, 0.4, 0.8, 1.0],
        "Values of alpha or eta at which it is trained; those that the method has not are passed over.",
        items={"type": "number", "minimum": 0, "maximum": 1}, uniqueItems=True),
    "ridge": Number(1e-4, "Penalty on standardised coefficients, for each row.", above=0),
}  # fmt: skip
LABEL = "{weights} {selector}"
#: All training rows, unfiltered.
EVERYONE = "everyone"
#: Largest entry of the gradient of the mean log loss where the search stops; most steps.
TOLERANCE, STEPS = 1e-5, 100


def setting_name(knob, value):
    """Name of a setting, e.g. ``alpha=0.05``."""
    return f"{knob}={round(float(value), 10):g}"


class BalancedFilter(Parameters):
    """Logistic regressions on accepted rows, one for each setting of a filter.

    Each minimises mean log loss + ridge/2 |coef|^2, the coefficients in units of the standard
    deviations of all training rows, so that the penalty is the same at every setting. The
    accepted rows have equal weight: the classifier is that of somebody who collects only
    them. The paper makes no claim about such a classifier.

    Parameters
    ----------
    classifier : str
        ``"logistic"`` or ``"none"``.
    settings : sequence of float
        Values of alpha or eta.
    ridge : float

    Attributes
    ----------
    coef_ : dict of str to ndarray (d,)
        By setting, in units of 1/feature.
    intercept_ : dict of str to float
    n_iter_, converged_, rows_ : dict of str to number
        ``rows_`` counts the rows accepted, those without an outcome included.
    missing_ : list of str
        Settings without a classifier: one class only among the accepted rows, or no row.
    """

    def __init__(self, classifier="logistic", settings=(0, 0.1, 0.2, 0.4, 0.8, 1.0), ridge=1e-4):
        self.classifier, self.settings, self.ridge = classifier, settings, ridge

    def asked(self, grid):
        """Settings of a method's grid that get a classifier, in the order of the grid."""
        names = {setting_name(knob, v) for knob in ("alpha", "eta") for v in self.settings}
        return [setting for setting in grid if setting in names or setting == ""]

    def fit(self, X, y, accepted):
        """Fit at every setting.

        Parameters
        ----------
        X : array (n, d)
            Training rows.
        y : array (n,) of 0, 1 and NaN
            NaN where there is no outcome: such rows teach nothing.
        accepted : mapping of str to array (n,) of bool
            Rows accepted, by setting.

        Returns
        -------
        BalancedFilter

        Raises
        ------
        CounterweightError
            When rows or outcomes are not usable, or an option is out of range.
        """
        X, y = checked_rows(X), np.asarray(y, dtype=float)
        known = ~np.isnan(y)
        checked_labels(y[known], int(known.sum()), "outcome")
        check_options(self.get_params(), {name: OPTIONS[name] for name in ("classifier", "ridge")})
        self.coef_, self.intercept_, self.n_iter_, self.converged_ = {}, {}, {}, {}
        self.rows_ = {name: int(np.sum(mask)) for name, mask in accepted.items()}
        self.missing_ = []
        if self.classifier == "none" or not known.any():
            return self
        solver, done = _Solver(X, np.where(known, y, 0.0), self.ridge), {}
        for name, mask in accepted.items():
            used = known & mask
            if not used.any() or np.ptp(y[used]) == 0:
                self.missing_.append(name)
                continue
            key = np.packbits(used).tobytes()
            if key not in done:
                done[key] = solver.solve(used)
            self.coef_[name], self.intercept_[name], steps, converged = done[key]
            self.n_iter_[name], self.converged_[name] = steps, converged
        return self

    def predict(self, X):
        """p(y = 1 | x) by setting: dict of str to array (n,)."""
        from scipy.special import expit

        if not self.coef_:
            return {}
        X = checked_new_rows(X, len(next(iter(self.coef_.values()))))
        return {name: expit(X @ w + self.intercept_[name]) for name, w in self.coef_.items()}

    def to_arrays(self):
        """Fitted numbers by name and setting."""
        arrays = {("rows_accepted", name): count for name, count in self.rows_.items()}
        arrays |= {("no_classifier", name): 1.0 for name in self.missing_}
        for name in self.coef_:
            arrays |= {
                ("coefficient", name): self.coef_[name],
                ("intercept", name): self.intercept_[name],
                ("iterations", name): self.n_iter_[name],
                ("converged", name): float(self.converged_[name]),
            }
        return arrays


class _Solver:
    """Logistic regressions on subsets of the same rows.

    Features are standardised and decorrelated once, by the curvature of the loss at the share
    of the outcome, so that a quasi-Newton search takes few steps; each search starts where the
    first one ended.
    """

    def __init__(self, X, y, ridge):
        from scipy.linalg import solve_triangular

        self.center, self.scale = X.mean(axis=0), X.std(axis=0)
        flat = self.scale <= 1e-12 * np.abs(self.center)
        self.scale[flat] = 1.0
        standard = np.where(flat, 0.0, (X - self.center) / self.scale)
        share = min(max(y.mean(), 0.01), 0.99)
        curvature = share * (1 - share)
        hessian = curvature * (standard.T @ standard) / len(X)
        hessian[np.diag_indices_from(hessian)] += ridge
        # Coordinates v with coefficients w = root v, in which the curvature is about 1.
        self.root = solve_triangular(np.linalg.cholesky(hessian), np.eye(len(hessian)), lower=True)
        self.root = self.root.T
        self.rows = np.column_stack([standard @ self.root, np.full(len(X), 1 / np.sqrt(curvature))])
        self.penalty = ridge * (self.root.T @ self.root)
        self.sign, self.start = np.where(y > 0, 1.0, -1.0), None

    def solve(self, used):
        """``coef, intercept, steps, converged`` of the rows `used`."""
        from scipy.optimize import minimize
        from scipy.special import expit

        rows, sign = (self.rows, self.sign) if used.all() else (self.rows[used], self.sign[used])
        count = len(rows)

        def loss(v):
            margin = sign * (rows @ v)
            pull = self.penalty @ v[:-1]
            slope = rows.T @ (-sign * expit(-margin)) / count
            slope[:-1] += pull
            return np.logaddexp(0, -margin).mean() + 0.5 * v[:-1] @ pull, slope

        def curved(v, move):
            p = expit(rows @ v)
            product = rows.T @ (p * (1 - p) * (rows @ move)) / count
            product[:-1] += self.penalty @ move[:-1]
            return product

        start = np.zeros(rows.shape[1]) if self.start is None else self.start
        search = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"gtol": TOLERANCE, "ftol": 0.0, "maxiter": STEPS, "maxcor": 20},
        )
        steps = search.nit
        if np.abs(search.jac).max() > TOLERANCE:
            # Few rows, nearly separable: the curvature is far from 1 there, Newton's is exact.
            search = minimize(
                loss,
                search.x,
                jac=True,
                hessp=curved,
                method="trust-ncg",
                options={
                    "gtol": TOLERANCE,
                    "maxiter": STEPS,
                    "initial_trust_radius": 10.0,
                    "max_trust_radius": 1e4,
                },
            )
            steps += search.nit
        if self.start is None:
            self.start = search.x
        coef = (self.root @ search.x[:-1]) / self.scale
        intercept = search.x[-1] * rows[0, -1] - coef @ self.center
        converged = bool(np.abs(search.jac).max() <= TOLERANCE)
        return coef, float(intercept), int(steps), converged
