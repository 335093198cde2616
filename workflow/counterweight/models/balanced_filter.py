"""Whom a balanced filter accepts, and classifiers trained on them.

Beside them, as bounds, those trained on samples that are balanced by seeing everybody's group.

References
----------
Chawla, Bowyer, Hall & Kegelmeyer (2002), SMOTE: synthetic minority over-sampling technique.
"""

import logging

import numpy as np
import pyarrow as pa

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Integer, Number
from counterweight.numerics.checks import (
    check_options,
    checked_labels,
    checked_new_rows,
    checked_rows,
    features_named,
)
from counterweight.numerics.estimator import Parameters
from counterweight.numerics.groups import group_names, memberships
from counterweight.numerics.linear import fit_logistic, logistic_probability
from counterweight.plan.components import load
from counterweight.selection.group_proxies import setting_of
from counterweight.tables.parquet import blocks, numbers_of
from counterweight.tables.study_data import generator

log = logging.getLogger("counterweight")

TASK = "filter"
OPTIONS_BY_NAME = {
    "balanced_filter": {
        "classifier": Choice("logistic", ["logistic", "none"],
            "What is trained on the accepted rows, to see what the filter does to a model; none to leave it out."),
        "settings": Array([0, 0.1, 0.2, 0.4, 0.8, 1.0],
            "Values of alpha or eta at which it is trained; those that the method has not are passed over.",
            items={"type": "number", "minimum": 0, "maximum": 1}, uniqueItems=True),
        "l2": Number(1e-4, "Penalty on standardised coefficients, for each row.", above=0),
    },
    "seen_groups": {
        "by": Choice("sampling", ["sampling", "reweighting", "smote"],
            "How the training rows are balanced: rows are drawn, all rows are weighted, or rows of small groups are made "
            "up between neighbours (imbalanced-learn)."),
        "neighbours": Integer(5,
            "Neighbours among which SMOTE makes up rows; a group and outcome of no more rows than these has its rows "
            "repeated instead.", minimum=1),
        "l2": Number(1e-4, "Penalty on standardised coefficients, for each row.", above=0),
    },
}  # fmt: skip
LABEL_BY_NAME = {"balanced_filter": "{weights} {selector}", "seen_groups": "{by}, groups seen"}
ROLE_BY_NAME = {"seen_groups": "bound"}
VALUE_LABELS_BY_NAME = {
    "seen_groups": {"by": {"sampling": "sampling", "reweighting": "reweighting", "smote": "SMOTE"}}
}
#: All training rows, unfiltered.
EVERYONE = "everyone"
#: Largest entry of the gradient of the mean log loss where the search stops; most steps.
TOLERANCE, STEPS = 1e-5, 100
#: Columns of a table of predictions, in order.
PREDICTIONS = (("repeat", "int16"), ("row", "int32"), ("setting", "string"), ("p", "float64"))


def filter_rows(data, repeat):
    """Rows of a repeat of a `StudyData` in the order of its labels: ``X, row, train, y``.

    ``y`` is NaN where no outcome is seen; of test rows neither groups nor outcomes are.
    """
    labels = data.labels[repeat]
    return {
        "X": data.X[data.rows_of(repeat)],
        "row": labels["row"],
        "train": labels["role"] == "train",
        "y": np.asarray(labels["y_general"], dtype=float),
    }


def grouped_rows(data, repeat):
    """`filter_rows` with groups and outcomes of all rows, from the truth.

    They also have memberships ``Z`` (n, K), ``titles`` of the groups, sizes of the ``classes``, and
    the ``outcome``.
    """
    truth, columns = data.truth[repeat], data.group_columns
    if not np.array_equal(truth["row"], data.labels[repeat]["row"]):
        raise CounterweightError(
            f"The truth of repeat {repeat} is of other rows than its labels: delete the "
            "results of the study and run again."
        )
    words = [truth[data.GROUP + name].astype(object) for name in columns]
    names, titles = group_names(words, columns)
    return filter_rows(data, repeat) | {
        "Z": memberships(words, names),
        "titles": titles,
        "classes": [len(block) for block in names],
        "outcome": np.asarray(truth["y_general"], dtype=float),
    }


def proxy_rows(proxy, X, Z):
    """What a proxy goes by: features `X`, or memberships `Z` where it sees the groups (a bound)."""
    return Z if getattr(proxy, "sees_groups", False) else X


def acceptances(weights):
    """Acceptance (L,) of the leaves, ascending, by repeat and setting, in the order of the table.

    `weights` has the columns ``repeat, setting, leaf, acceptance``, the rows of a repeat together.
    """
    accepted = {}
    for part in blocks(weights, "repeat", "setting"):
        order = np.argsort(weights["leaf"][part], kind="stable")
        own = accepted.setdefault(int(weights["repeat"][part][0]), {})
        own[str(weights["setting"][part][0])] = weights["acceptance"][part][order]
    return accepted


def filtered(proxy, X, acceptance, settings=None):
    """Leaves of the rows at every setting of a filter, or at some: ``setting, M, eta, rho``.

    A setting ``eta=...`` is the proxy's only setting with noise (A.1.1): its memberships are
    (1 - eta) M + eta / L. They are not formed; what follows from M (n, L) follows from eta too,
    which is 0 for settings without noise. `acceptance` has rho (L,) by setting; refused where it
    and the proxy do not belong together.
    """
    asked = acceptance if settings is None else {name: acceptance[name] for name in settings}
    noise, done = {name: numbers_of(name).get("eta") for name in asked}, set()
    for name, M in proxy.leaves(X):
        for setting, rho in asked.items():
            noisy = name == "" and noise[setting] is not None
            if setting != name and not noisy:
                continue
            if len(rho) != M.shape[1]:
                raise CounterweightError(
                    f"The weights hold {len(rho)} leaves at {setting or 'the only setting'} and "
                    f"the proxy {M.shape[1]}: delete the weights of the study and run again."
                )
            done.add(setting)
            yield setting, M, noise[setting] if noisy else 0.0, rho
    absent = [setting for setting in asked if setting not in done]
    if absent:
        raise CounterweightError(
            f"The weights hold the setting {listed(absent)}, which the proxy has not: delete the "
            "weights of the study and run again."
        )


def accept_probability(memberships, eta, rho):
    """Probability of acceptance of each row, (1 - eta) M rho + eta mean(rho)."""
    return (1 - eta) * (memberships @ rho) + eta * rho.mean()


def row_uniforms(seed, study, repeat, rows):
    """One uniform number for each row of a repeat, shared by all methods and settings.

    A row is accepted where its number is below its probability. So the samples of two
    methods differ only where their probabilities do.
    """
    return generator(seed, study, repeat, "accept").random(rows)


def train_filter_repeat(data, method, repeat, *, proxy, acceptance, seed, study):
    """Draw whom a filter accepts and train a classifier on them, at several settings.

    `method` has ``model`` and ``options``; `acceptance` is by setting, of this repeat; `study` is
    the name that the random streams go by. Gives the arrays of the fitted classifiers by name and
    setting (`BalancedFilter.to_arrays`), and a table of `PREDICTIONS` of the test rows, in which
    ``everyone`` is the classifier of all training rows.
    """
    rows = filter_rows(data, repeat)
    train = rows["train"]
    model = load("model", method["model"])(**method["options"])
    uniform = row_uniforms(seed, study, repeat, len(train))[train]
    seeing, Z = getattr(model, "sees_groups", False), None
    if seeing or getattr(proxy, "sees_groups", False):
        words = [data.labels[repeat][data.GROUP + name][train] for name in data.group_columns]
        Z = memberships(words, group_names(words, data.group_columns)[0])
    settings = model.requested(acceptance)
    if model.classifier != "none" and not settings:
        log.warning(
            "Repeat %d: none of the settings %s is on the grid of the filter (%s), so no "
            "classifier is trained on accepted rows: change the settings of the model.",
            repeat,
            listed(f"{value:g}" for value in model.settings),
            listed(acceptance, 30),
        )
    chance = {EVERYONE: np.ones(int(train.sum()))}
    told = proxy_rows(proxy, rows["X"][train], Z)
    if settings:
        for setting, M, eta, rho in filtered(proxy, told, acceptance, settings):
            chance[setting] = accept_probability(M, eta, rho)
    accepted = {name: uniform < chance[name] for name in (EVERYONE, *settings)}
    seen = {}
    if seeing:
        seen = {"chance": chance, "Z": Z, "rng": generator(seed, study, repeat, "seen groups")}
    with features_named(data.names):
        model.fit(rows["X"][train], rows["y"][train], accepted, **seen)
    if model.missing_:
        counts = (f"{n or 'the only setting'} ({model.rows_[n]} rows)" for n in model.missing_)
        log.warning(
            "Repeat %d: the accepted rows have not both outcomes at %s, so no classifier was "
            "trained there.",
            repeat,
            listed(counts),
        )
    unfinished = [name for name, done in model.converged_.items() if not done]
    if unfinished:
        log.warning("Repeat %d: the classifier at %s did not converge.", repeat, listed(unfinished))
    said = model.predict(rows["X"][~train])
    tested = rows["row"][~train]
    columns = {
        "repeat": np.full(len(tested) * len(said), repeat),
        "row": np.tile(tested, len(said)),
        "setting": np.repeat(np.array(list(said), dtype=object), len(tested)),
        "p": np.concatenate([*said.values(), np.zeros(0)]),
    }
    types = {name: pa.type_for_alias(kind) for name, kind in PREDICTIONS}
    table = pa.table({name: pa.array(columns[name], kind) for name, kind in types.items()})
    return model.to_arrays(), table


class BalancedFilter(Parameters):
    """Logistic regressions on accepted rows, one for each setting of a filter.

    Each minimises mean log loss + l2/2 |coef|^2, the coefficients in units of the standard
    deviations of all training rows, so that the penalty is the same at every setting. The
    accepted rows have equal weight: the classifier is that of somebody who collects only
    them. The paper makes no claim about such a classifier.

    Parameters
    ----------
    classifier : str
        ``"logistic"`` or ``"none"``.
    settings : sequence of float
        Values of alpha or eta.
    l2 : float

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

    OPTIONS = OPTIONS_BY_NAME["balanced_filter"]

    def __init__(self, classifier="logistic", settings=(0, 0.1, 0.2, 0.4, 0.8, 1.0), l2=1e-4):
        self.classifier, self.settings, self.l2 = classifier, settings, l2

    def requested(self, grid):
        """Settings of a method's grid that get a classifier, in the order of the grid."""
        names = {setting_of(by, value) for by in ("alpha", "eta") for value in self.settings}
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
        """
        X, y, known = self._begin(X, y, ("classifier", "l2"))
        self.rows_ = {name: int(np.sum(mask)) for name, mask in accepted.items()}
        if self.classifier == "none" or not known.any():
            return self
        solver, done = _Solver(X, np.where(known, y, 0.0), self.l2), {}
        for name, mask in accepted.items():
            used = known & mask
            if not used.any() or np.ptp(y[used]) == 0:
                self.missing_.append(name)
                continue
            key = np.packbits(used).tobytes()
            if key not in done:
                done[key] = solver.solve(used)
            self._keep(name, *done[key])
        return self

    def _begin(self, X, y, options):
        """Rows and outcomes, checked, and which have one; nothing is fitted yet."""
        X, y = checked_rows(X), np.asarray(y, dtype=float)
        known = ~np.isnan(y)
        checked_labels(y[known], int(known.sum()), "outcome")
        check_options(self.get_params(), {name: self.OPTIONS[name] for name in options})
        self.coef_, self.intercept_, self.n_iter_, self.converged_ = {}, {}, {}, {}
        self.rows_, self.missing_ = {}, []
        return X, y, known

    def _keep(self, name, coef, intercept, steps, converged):
        self.coef_[name], self.intercept_[name] = coef, float(intercept)
        self.n_iter_[name], self.converged_[name] = int(steps), bool(converged)

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

    def __init__(self, X, y, l2):
        from scipy.linalg import solve_triangular

        self.center, self.scale = X.mean(axis=0), X.std(axis=0)
        flat = self.scale <= 1e-12 * np.abs(self.center)
        self.scale[flat] = 1.0
        standard = np.where(flat, 0.0, (X - self.center) / self.scale)
        share = min(max(y.mean(), 0.01), 0.99)
        curvature = share * (1 - share)
        hessian = curvature * (standard.T @ standard) / len(X)
        hessian[np.diag_indices_from(hessian)] += l2
        # Coordinates v with coefficients w = root v, in which the curvature is about 1.
        self.root = solve_triangular(np.linalg.cholesky(hessian), np.eye(len(hessian)), lower=True)
        self.root = self.root.T
        self.rows = np.column_stack([standard @ self.root, np.full(len(X), 1 / np.sqrt(curvature))])
        self.penalty = l2 * (self.root.T @ self.root)
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
        options = {"gtol": TOLERANCE, "ftol": 0.0, "maxiter": STEPS, "maxcor": 20}
        search = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
        steps = search.nit
        if np.abs(search.jac).max() > TOLERANCE:
            # Few rows, nearly separable: the curvature is far from 1 there, Newton's is exact.
            options = {"gtol": TOLERANCE, "maxiter": STEPS}
            options |= {"initial_trust_radius": 10.0, "max_trust_radius": 1e4}
            search = minimize(
                loss, search.x, jac=True, hessp=curved, method="trust-ncg", options=options
            )
            steps += search.nit
        if self.start is None:
            self.start = search.x
        coef = (self.root @ search.x[:-1]) / self.scale
        intercept = search.x[-1] * rows[0, -1] - coef @ self.center
        converged = bool(np.abs(search.jac).max() <= TOLERANCE)
        return coef, float(intercept), int(steps), converged


#: More rows than so many times the training rows are not made up.
MOST = 50


class SeenGroupsClassifier(BalancedFilter):
    """Logistic regression on training rows balanced by one of three ways that see the groups.

    The shares that are aimed at are those among the accepted of the filter that it stands beside:
    of `OwnGroupProxy` and quadratic acceptance, the target itself. With ``sampling`` the rows are
    those drawn; with ``reweighting`` each row counts by its probability of acceptance; with
    ``smote`` no row is left out, and rows are made up for each group, of each outcome as many as
    it has by share. SMOTE interpolates standardised features, categories (0 and 1) included.

    Parameters
    ----------
    by : str
    neighbours : int
    l2 : float

    Attributes
    ----------
    taught_ : dict of str to ndarray (K,)
        Shares of the groups among the rows that were learned from, weights counted.
    coef_, intercept_, n_iter_, converged_, rows_, missing_
        As `BalancedFilter`.
    """

    #: What `BalancedFilter.requested` goes by: the setting of `OwnGroupProxy`.
    classifier, settings, sees_groups = "logistic", (), True
    OPTIONS = OPTIONS_BY_NAME["seen_groups"]

    def __init__(self, by="sampling", neighbours=5, l2=1e-4):
        self.by, self.neighbours, self.l2 = by, neighbours, l2

    def fit(self, X, y, accepted, *, chance, Z, rng):
        """Fit at every setting.

        As `BalancedFilter.fit`, but rows without an outcome are left out. `chance` (n,) is the
        probability of acceptance at the same settings, `Z` (n, K) are memberships. Refused where
        imbalanced-learn is missing, or more rows would have to be made up than `MOST` times those
        there are.
        """
        X, y, known = self._begin(X, y, self.OPTIONS)
        self.taught_ = {}
        X, y, Z = X[known], y[known], np.asarray(Z, dtype=float)[known]
        for name, mask in accepted.items():
            made, at, weight = self._made(X, y, Z, mask[known], chance[name][known], rng)
            self.rows_[name] = len(at)
            if not len(at) or np.ptp(y[at]) == 0:
                self.missing_.append(name)
                continue
            self.taught_[name] = np.average(Z[at], axis=0, weights=weight)
            self._keep(name, *fit_logistic(made, y[at], weight, self.l2))
        return self

    def _made(self, X, y, Z, accepted, chance, rng):
        """Features to learn from, the row whose group and outcome each has, and weights or None."""
        if self.by == "sampling" or np.ptp(chance) == 0:
            at = np.flatnonzero(accepted)
            return X[at], at, None
        able = np.flatnonzero(chance > 0)
        if self.by == "reweighting":
            return X[able], able, chance[able]
        _, group = np.unique(Z[able], axis=0, return_inverse=True)
        wanted = np.bincount(group, chance[able]) / np.bincount(group)
        factor = wanted / wanted.min()
        cell = 2 * group + (y[able] > 0.5)
        counts = np.bincount(cell, minlength=2 * len(factor))
        goal = np.rint(counts * np.repeat(factor, 2)).astype(int)
        if goal.sum() > MOST * len(able):
            raise CounterweightError(
                f"SMOTE would have to make {goal.sum():,} rows of {len(able):,} for the shares "
                "that are wanted: leave by: smote out, or aim at shares nearer to those of all."
            )
        made, at = smote(X[able], cell, goal, self.neighbours, rng)
        return made, able[at], None

    def predict(self, X):
        """p(y = 1 | x) by setting: dict of str to array (n,)."""
        X = checked_new_rows(X, len(next(iter(self.coef_.values())))) if self.coef_ else X
        fitted = {name: (w, self.intercept_[name]) for name, w in self.coef_.items()}
        return {name: logistic_probability(X, *line) for name, line in fitted.items()}

    def to_arrays(self):
        """Fitted numbers by name and setting."""
        taught = {("taught", name): shares for name, shares in self.taught_.items()}
        return super().to_arrays() | taught


def smote(X, cell, goal, neighbours, rng):
    """Rows as they are, and rows made up until each cell has as many as wanted.

    `cell` (n,) numbers from 0; `goal` (C,) is at least the rows that each cell has. Cells of no
    more rows than `neighbours` have them repeated in turn. Gives the rows made (m, d), and for
    each a row (m,) of its cell.
    """
    try:
        from imblearn.over_sampling import SMOTE
    except ImportError as error:
        raise CounterweightError(
            "by: smote needs the package imbalanced-learn (0.14.2), which is not installed: "
            f"install it, or leave the method out ({error})."
        ) from error
    counts = np.bincount(cell, minlength=len(goal))
    able = counts > neighbours
    if able.sum() < 2:
        able[:] = False
    rows = [
        np.resize(np.flatnonzero(cell == one), goal[one])
        for one in np.flatnonzero(~able & (counts > 0))
    ]
    at = np.concatenate([np.zeros(0, int), *rows])
    if not able.any():
        return X[at], at
    spread = X.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    own = np.flatnonzero(able[cell])
    sampler = SMOTE(
        sampling_strategy={int(one): int(goal[one]) for one in np.flatnonzero(able)},
        k_neighbors=neighbours,
        random_state=int(rng.integers(2**31)),
    )
    made, label = sampler.fit_resample(X[own] / scale, cell[own])
    first = np.unique(cell, return_index=True)
    row_of = np.zeros(len(goal), int)
    row_of[first[0]] = first[1]
    return np.concatenate([X[at], made * scale]), np.concatenate([at, row_of[label]])
