"""Protocol: acceptance, enrolment and revenue of a method for offers, beside the truth.

References
----------
Noor, W., Dailey, M. N., Haddawy, P. (2014), section 4.
"""

import functools
import logging
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.evaluation.metrics import metric_estimate
from counterweight.evaluation.offer_value import offer_density, offer_value, single_offer
from counterweight.fragments import LEVEL, Choice, Integer, Number
from counterweight.models.choice.offer_model import (
    acceptance,
    optimal_offer,
    scale_of,
    soft_optimal_offer,
)
from counterweight.numerics.gaussian_mixture import Mixture
from counterweight.tables.parquet import blocks, by_setting
from counterweight.tables.study_data import by_repeat, found_rows, generator

log = logging.getLogger("counterweight")
_AGAIN = "are not of the same rows: delete the results of the study and run again."


class ErrorNames(NamedTuple):
    """Names of the root mean squared errors of one part of the rows."""

    every: str
    component: str
    floor: str


TRAINING = ErrorNames("rmse", "rmse_component", "rmse_floor")
TESTING = ErrorNames("rmse_test", "rmse_component_test", "rmse_floor_test")


class Repeat:
    """What is known of the rows of one repeat of a study of offers, the truth included.

    `scaling` is from `offer_model.scale_of`, `density` the kind and bins of the offers' density;
    where people and offers are the same as those `like`, so is the density of the offers.
    """

    def __init__(self, labels, truth, X, scaling, mixture, density, like=None):
        at = found_rows(truth["row"], labels["row"], f"Labels and truth {_AGAIN}")
        self.truth = {name: np.asarray(values)[at] for name, values in truth.items()}
        self.answer = np.asarray(self.truth["answer"], dtype=float).astype(int)
        self.t, self.offer = labels["t"], labels["offer"]
        self.X, (self.scale, self.grid) = X, scaling
        self.train = labels["role"] == "train"
        tested = bool((~self.train).any())
        self.used = ~self.train if tested else self.train
        self.roles = [(TRAINING, self.train), (TESTING, ~self.train)][: 1 + tested]
        self.p = self.truth.get("p")
        self.curved = self.p is not None and {"eta", "k"} <= set(self.truth)
        self.mixture = None
        if mixture is not None and X.shape[1] == np.shape(mixture["means"])[1]:
            self.mixture = Mixture(*(mixture[name] for name in ("weights", "means", "covariances")))
        self._density, self._like = density, like

    @functools.cached_property
    def density(self):
        """Distribution of the logged offers given the features, of all rows."""
        if self._like is not None:
            pairs = ((self.t, self._like.t), (self.X, self._like.X))
            if all(np.array_equal(*pair, equal_nan=True) for pair in pairs):
                return self._like.density
        kind, bins = self._density
        return offer_density(self.X, self.t, kind, bins)

    def posterior(self):
        """True p(component | x), (n, J), and the curves of the components; or None."""
        if self.mixture is None or not self.curved or "component" not in self.truth:
            return None
        component = self.truth["component"].astype(int)
        J = len(self.mixture.weights)
        if component.min() < 0 or component.max() >= J:
            raise CounterweightError(
                f"The truth has a component {component.max()}, but the mixture that drew the rows "
                f"has {J}, numbered from 0: prepare the data set anew."
            )
        curves = np.zeros((J, 2))
        for j in np.unique(component):
            first = int(np.argmax(component == j))
            curves[j] = self.truth["eta"][first], self.truth["k"][first]
        with np.errstate(divide="ignore"):
            joint = self.mixture.component_log_density(self.X) + np.log(self.mixture.weights)
        joint = np.exp(joint - joint.max(axis=1, keepdims=True))
        return joint / joint.sum(axis=1, keepdims=True), curves

    @functools.cached_property
    def facts(self):
        """What each true component is like, as columns, as far as it is known."""
        if "component" not in self.truth:
            return {}
        component = self.truth["component"].astype(int)
        held = np.unique(component[self.train])
        share = [self.answer[self.train & (component == j)].mean() for j in held]
        facts = {"component": held, "imbalance": imbalance(share)}
        if self.curved:
            first = [int(np.argmax(component == j)) for j in held]
            facts |= {name: self.truth[name][first] for name in ("eta", "k")}
        if self.mixture is not None and len(self.mixture.weights) > max(1, held.max()):
            from counterweight.datasets.simulated_offers import overlaps

            facts["overlap"] = overlaps(self.mixture.means, self.mixture.covariances)[held]
        return facts

    def floor_records(self):
        """RMSE by the true parameters where only the component is unknown: hard and soft."""
        known = self.posterior()
        if known is None:
            return []
        weights, curves = known
        by_curve = acceptance(np.asarray(self.t)[:, None], *curves.T)
        hard = by_curve[np.arange(len(weights)), weights.argmax(axis=1)]
        said = {"hard": hard, "soft": (weights * by_curve).sum(axis=1)}
        return [
            {
                "metric": names.floor,
                "setting": name,
                "value": rmse(p, self.p, rows),
                "rows": rows.sum(),
            }
            for name, p in said.items()
            for names, rows in self.roles
        ]


def rmse(p, truth, rows):
    return float(np.sqrt(np.mean((p[rows] - truth[rows]) ** 2)))


TASK = "offers"
OPTIONS = {
    "density": Choice("estimated", ["estimated", "uniform"],
        "How the logged offers came about: to be estimated given the features, or known to be uniform on the declared "
        "range."),
    "bandwidth": Number(0.0, "Half the window on the scale of [0, 1]; 0 for 1.06 sd n^(-1/5).", minimum=0, maximum=1),
    "bins": Integer(10, "Bins of the offers for their density.", minimum=2),
    **LEVEL,
    "draws": Integer(20000, "Points drawn from the true mixture for the Kullback-Leibler divergence.", minimum=100),
    "least_spread": Number(0.05, "Standard deviation of the scaled offers below which they hardly vary within a segment.", minimum=0),
}  # fmt: skip
LABEL = "acceptance, enrolment and revenue"
#: The largest slope of a fitted curve.
STEEPEST = 30.0
#: Numbers of a fitted model that are reported as they are.
COUNTS = (
    *("slopes_at_bound", "monotone_active", "one_answer_segments", "covariances_at_floor"),
    *("updates_held", "rows_missing", "components_capped", "one_answer_models", "cells_filled"),
    *("iterations", "leaves"),
)
#: Totals with a bootstrap interval, stored for each assignment.
INTERVALS = (
    *("enrolment_predicted", "revenue_predicted", "enrolment_claimed", "revenue_claimed"),
    "single_offer",
)
#: Fewest components for the regressions of the paper's Tables 5 to 7.
LEAST_COMPONENTS = 8
#: Largest overlaps of the classes very small, small and medium: the printed ones leave gaps.
OVERLAP_UP_TO = (0.045, 0.155, 0.28)


class Regression(NamedTuple):
    """A multiple linear regression with intercept, by ordinary least squares.

    ``beta`` are standardised coefficients (standard deviations of the outcome for each of the
    variable), ``coefficient`` and the rest in the variables' own units; ``p`` of the two-sided t
    test, ``low, high`` the interval of the given level.
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

    Tests and intervals assume independent errors of one variance that are about normal. Refused
    where a value is not finite, rows are too few, a column or the outcome is constant, or a column
    is a combination of others.
    """
    # Its interface, ``statsmodels.api``, loads seven times as much as this needs.
    from statsmodels.regression.linear_model import OLS
    from statsmodels.tools.tools import add_constant

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
    told = zip((*names, "outcome"), (*X.T, y), strict=True)
    flat = [name for name, values in told if np.ptp(values) <= 1e-12 * np.abs(values).max()]
    if flat:
        raise CounterweightError(f"The same in all components: {listed(flat)}; leave it out.")
    centred = (X - X.mean(axis=0)) / X.std(axis=0)
    if np.linalg.matrix_rank(centred, tol=1e-9 * np.sqrt(rows)) < len(names):
        raise CounterweightError(
            f"Of {listed(names)} one is a combination of the others in these components: leave "
            "one out."
        )
    fit = OLS(y, add_constant(X, has_constant="add")).fit()
    beta = fit.params[1:] * X.std(axis=0) / y.std()
    each = (fit.params[1:], fit.bse[1:], fit.pvalues[1:], *fit.conf_int(alpha=1 - level)[1:].T)
    whole = (float(value) for value in (fit.params[0], fit.rsquared, fit.rsquared_adj))
    return Regression(names, beta, *each, *whole, rows)


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
    records, place = [], {"part": kind, "rows": regression.rows}
    for at, variable in enumerate(regression.names):
        for name in ("beta", "coefficient", "p", "low", "high"):
            value = float(getattr(regression, name)[at])
            record = place | {"variable": variable, "metric": f"regression_{name}", "value": value}
            if name == "coefficient":
                record["standard_error"] = float(regression.standard_error[at])
            records.append(record)
    whole = {name: getattr(regression, name) for name in ("r2", "adjusted_r2")}
    return records + [place | {"metric": f"regression_{n}", "value": v} for n, v in whole.items()]


def evaluate_offers(
    predictions,
    labels,
    truth,
    models,
    features,
    *,
    offer,
    mixture=None,
    seed=0,
    stream="",
    density="estimated",
    bandwidth=0.0,
    bins=10,
    level=0.95,
    draws=20000,
    least_spread=0.05,
):
    """Records of one method in one study, for ``tables.metrics_table``; see `OPTIONS`.

    Root mean squared errors are over the training rows, as in the paper, and over the test rows in
    ``..._test``. Sums (enrolment, revenue) and scores are over the test rows, or over the training
    rows where a study has no others; values from the log are then of offers that were fitted to the
    same answers, and flatter them. The standard error of ``enrolment_actual`` is the binomial noise
    of that count. ``enrolment_error`` and ``revenue_error`` are the distances of the predicted sums
    from the true expected ones, as shares of these. ``best_offer`` is the median over people,
    ``.._low`` and ``.._high`` the quartiles.

    Parameters
    ----------
    predictions : dict of str to array
        Columns of ``offer_training.PREDICTIONS``, setting as ``(codes, names)``; all rows
        of a repeat, in the order of the labels.
    labels, truth, features : dict of str to array
        Of all repeats; `truth` with ``answer`` and, where known, ``component, eta, k, p``.
    models : dict of (repeat, target) to dict of str to array
        From ``tables.read_models``.
    offer : dict
        Options of the labeling rule.
    mixture : callable, optional
        ``mixture(repeat)`` gives ``weights, means, covariances`` of the features of that
        world, the components numbered as in the truth.
    """
    scaling = scale_of(offer, labels["offer"])
    labels, truth = by_repeat(labels), by_repeat(truth)
    X = np.column_stack([values for name, values in features.items() if name != "row"])
    records, seen, (codes, names) = [], {}, predictions["setting"]
    columns = {name: v for name, v in predictions.items() if not isinstance(v, tuple)}
    for part in blocks(predictions, "repeat", "setting"):
        repeat = int(predictions["repeat"][part.start])
        own = {name: values[part] for name, values in columns.items()}
        place = {"repeat": repeat, "target": "general"}
        if repeat not in seen:
            absent = f"Features and labels of repeat {repeat} {_AGAIN}"
            at = found_rows(features["row"], labels[repeat]["row"], absent)
            drew = None if mixture is None else mixture(repeat)
            rows, like = (labels[repeat], truth[repeat], X[at]), next(iter(seen.values()), None)
            known = seen[repeat] = Repeat(*rows, scaling, drew, (density, bins), like)
            fresh = generator(seed, stream, repeat, "divergence")
            arrays = models.get((repeat, "general"), {})
            shared = _fit_records(arrays) + known.floor_records()
            shared += [
                {"metric": f"component_{name}", "part": str(j), "value": float(value)}
                for name, values in known.facts.items()
                if name != "component"
                for j, value in zip(known.facts["component"], values, strict=True)
            ]
            shared += _divergence(arrays, known.mixture, draws, fresh)
            records += [place | record for record in shared]
        if not np.array_equal(own["row"], labels[repeat]["row"]):
            raise CounterweightError(
                f"Predictions of repeat {repeat} are not of the rows of its labels: delete the "
                "predictions of the study and run again."
            )
        place["setting"] = setting = names[codes[part.start]]
        measured = _setting_records(own, seen[repeat], setting, least_spread)
        measured += _policy_records(own, seen[repeat], bandwidth, level)
        records += [place | record for record in measured]
    return records


def _setting_records(own, known, setting, least_spread):
    """What the predictions of one setting come to, beside the answers and the truth."""
    used, records = known.used, []
    count = int(used.sum())
    p, answer = own["p"], known.answer[used]

    def add(metric, value, rows=count, **more):
        records.append({"metric": metric, "value": float(value), "rows": rows} | more)

    for name in ("log_loss", "brier", "auc"):
        if name == "auc" and answer.min() == answer.max():
            add("auc_missing", 1)
            continue
        estimate = metric_estimate(name, answer, p[used])
        add(name, estimate.value, standard_error=estimate.standard_error)
    earned = known.scale.revenue(known.offer)[used]
    chance = (known.p if known.p is not None else p)[used]
    noise = chance * (1 - chance)
    error = float(np.sqrt(noise.sum())), float(np.sqrt((noise * earned**2).sum()))
    add("enrolment_predicted", p[used].sum())
    add("enrolment_actual", answer.sum(), standard_error=error[0])
    add("revenue_predicted", own["revenue"][used].sum())
    add("revenue_actual", (answer * earned).sum(), standard_error=error[1])
    add("enrolment_claimed", own["best_p"][used].sum())
    add("revenue_claimed", own["best_revenue"][used].sum())
    quartiles = np.quantile(own["best_offer"][used], [0.5, 0.25, 0.75])
    for name, value in zip(("", "_low", "_high"), quartiles, strict=True):
        add(f"best_offer{name}", value)
    if known.p is not None:
        truth = {"enrolment": known.p[used].sum(), "revenue": (known.p[used] * earned).sum()}
        for name, predicted in (("enrolment", p), ("revenue", own["revenue"])):
            add(f"{name}_true", truth[name])
            if truth[name]:
                add(f"{name}_error", abs(predicted[used].sum() / truth[name] - 1))
        for names, rows in known.roles:
            add(names.every, rmse(p, known.p, rows), rows=int(rows.sum()))
    if known.curved:
        eta, k = (known.truth[name][used] for name in ("eta", "k"))
        offers, scale = own["best_offer"][used], known.scale
        true_p = acceptance(scale.scaled(offers), eta, k)
        add("enrolment_optimal_true", true_p.sum())
        add("revenue_optimal_true", (true_p * scale.revenue(offers)).sum())
        best = optimal_offer(eta, k, revenue=scale.scaled_revenue(), grid=known.grid)
        best_p = acceptance(best, eta, k)
        add("revenue_best_possible", (best_p * scale.revenue(scale.offers(best))).sum())
        add("enrolment_best_possible", best_p.sum())
    if "component" in known.truth and known.p is not None:
        records += _component_records(p, known)
    if (own["segment"] >= 0).all():
        if setting != "soft":
            curves = own["eta"][used], own["k"][used]
            best = single_offer(*curves, known.scale, grid=known.grid)
            for metric, value in best.items():
                add(metric, value)
            add("steeper_change", rmse(*steeper(own["eta"], own["k"], known.t), used))
        records += _spread_records(own["segment"], known, setting, least_spread)
    return records


def _spread_records(segment, known, setting, least_spread):
    """How much offers varied within the segments that people are assigned to."""
    train = known.train
    held, rows = np.unique(segment[train], return_counts=True)
    spreads = np.array([np.std(known.t[train & (segment == j)]) for j in held])
    still = spreads < least_spread
    if still.any() and setting != "soft":
        log.warning(
            "In %d of %d segments the offers hardly vary (standard deviation below %g on the "
            "scale of 0 to 1): their slopes, and gains claimed from them, rest on the form of "
            "the curve rather than on the data.",
            int(still.sum()),
            len(held),
            least_spread,
        )
    whole = {"metric": "offer_variation", "value": float(still.mean()), "rows": int(train.sum())}
    return [whole] + [
        {"metric": "offer_spread", "value": float(spread), "rows": int(count), "part": str(j)}
        for j, spread, count in zip(held, spreads, rows, strict=True)
    ]


def steeper(eta, k, t):
    """Acceptance as fitted, and by curves twice as steep where the slope is at its bound."""
    return acceptance(t, eta, k), acceptance(t, eta, np.where(k < STEEPEST - 1e-6, k, 2 * STEEPEST))


def _component_records(p, known):
    """RMSE of each true component, and what it depends on."""
    component, records, errors = known.truth["component"].astype(int), [], []
    facts = known.facts
    for j in facts["component"]:
        for names, rows in known.roles:
            rows = rows & (component == j)
            if rows.any():
                value = rmse(p, known.p, rows)
                record = {"metric": names.component, "part": str(j)}
                records.append(record | {"value": value, "rows": int(rows.sum())})
                if names is TRAINING:
                    errors.append(value)
    if len(facts["component"]) < LEAST_COMPONENTS or not {"eta", "overlap"} <= set(facts):
        return records
    columns = {name: facts[name] for name in ("imbalance", "overlap", "eta", "k")}
    columns["overlap"] = overlap_class(columns["overlap"])
    try:
        # The variant with overlap is that of Table 5, the one without of Tables 6 and 7.
        fitted = {"with_overlap": regress(columns, errors)}
        columns.pop("overlap")
        fitted["without_overlap"] = regress(columns, errors)
    except CounterweightError as error:
        log.warning("No regression of the errors by component: %s", error)
        return records + [{"metric": "regression_missing", "value": 1.0}]
    for kind, regression in fitted.items():
        records += regression_records(regression, kind)
    return records


def _policy_records(own, known, bandwidth, level):
    """Value of the method's best offers from the logged ones, as sums over the rows."""
    used, count = known.used, int(known.used.sum())
    density = replace(known.density, probability=known.density.probability[used])
    value = offer_value(
        known.t[used],
        known.answer[used],
        known.scale.scaled(own["best_offer"][used]),
        density,
        revenue=known.scale.scaled_revenue(),
        bandwidth=bandwidth,
        level=level,
    )
    told = {
        "offers_matched": value.rows_matched,
        "offers_unsupported": value.rows_unsupported,
        "offers_between": value.rows_between,
        "offers_beyond": value.rows_beyond,
        "offers_bandwidth": value.bandwidth,
        "revenue_smoothing": count * value.smoothing,
    }
    errors = {}
    for name in ("ips", "snips"):
        estimate = getattr(value, name)
        if estimate is None or not np.isfinite(estimate.standard_error):
            told[f"{name}_missing"] = 1.0
            continue
        for end, number in (("", estimate.value), ("_low", estimate.low), ("_high", estimate.high)):
            told[f"revenue_{name}{end}"] = count * number
        errors[f"revenue_{name}"] = {"standard_error": count * estimate.standard_error}
    return [
        {"metric": "values_missing" if metric.endswith("_missing") else metric}
        | {"value": float(number), "rows": count}
        | errors.get(metric, {})
        for metric, number in told.items()
        if np.isfinite(number)
    ]


def _fit_records(arrays):
    """What the fitted model says of itself."""
    told = {name: np.ravel(arrays[name]).sum() for name in COUNTS if name in arrays}
    if "means" in arrays and "weights" in arrays:
        told["components_chosen"] = len(arrays["weights"])
    if "log_likelihood" in arrays:
        told["log_likelihood"] = arrays["log_likelihood"]
    if "converged" in arrays:
        told["converged"] = np.mean(arrays["converged"])
    if "history" in arrays and np.size(arrays["history"]) > 1:
        history = np.ravel(arrays["history"])
        drop = max(0.0, -float(np.diff(history).min())) / max(abs(float(history[-1])), 1e-300)
        told["likelihood_drop"] = drop
    if {"eta", "k"} <= set(arrays):
        eta, k = np.ravel(arrays["eta"]), np.ravel(arrays["k"])
        searched = soft_optimal_offer(np.eye(len(eta)), eta, k)
        told["closed_form_gap"] = np.abs(optimal_offer(eta, k) - searched).max()
    records = [{"metric": name, "value": float(value)} for name, value in told.items()]
    for metric, name in (("mdl", "mdl"), ("log_likelihood", "log_likelihoods")):
        if name in arrays and "sizes" in arrays:
            pairs = zip(np.ravel(arrays["sizes"]), np.ravel(arrays[name]), strict=True)
            records += [
                {"metric": metric, "value": float(value), "step": int(size)}
                for size, value in pairs
                if np.isfinite(value)
            ]
    for setting, own in by_setting(arrays).items():
        records += [
            {"metric": f"{total}_{end}", "setting": setting, "value": float(value)}
            for total in INTERVALS
            if total in own
            for end, value in zip(("low", "high"), np.ravel(own[total]), strict=True)
        ]
    return records


def _divergence(arrays, true, draws, rng):
    """KL(true || fitted) of the mixtures of x, by points drawn from the true one."""
    names = ("weights", "means", "covariances")
    if true is None or not {*names} <= set(arrays) or "shares" in arrays:
        return []
    fitted = Mixture(*(np.asarray(arrays[name]) for name in names))
    if fitted.means.shape[1:] != true.means.shape[1:]:
        return []
    X = drawn(true, draws, rng)
    values = true.log_density(X) - fitted.log_density(X)
    error = float(values.std(ddof=1) / np.sqrt(draws))
    told = {"metric": "kl", "value": float(values.mean()), "rows": draws}
    return [told | {"standard_error": error}]


def drawn(mixture, count, rng):
    """Points (count, d) of a Gaussian mixture."""
    component = rng.choice(len(mixture.weights), size=count, p=mixture.weights)
    roots = np.linalg.cholesky(mixture.covariances)
    noise = rng.standard_normal((count, mixture.means.shape[1]))
    return mixture.means[component] + np.einsum("nij,nj->ni", roots[component], noise)
