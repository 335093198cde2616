"""Every weighting of the registry against a density ratio that is known."""

import numpy as np
import pytest
from counterweight.numerics.linear import fit_logistic
from counterweight.plan import components
from counterweight.selection.selectors import LogisticSelector, selection_probabilities
from counterweight.weighting.density_ratios import discriminator_weights
from counterweight.weighting.importance_weights import Rows, made_weights

#: Labeled rows are normal at -shift/2, unlabeled ones at +shift/2, all of unit variance.
SHIFT = np.array([1.0, -0.5, 0.0])
M, N = 3000, 4000
WEIGHTINGS = [
    name
    for name in components.registry("weighting")
    if components.task_of("weighting", name) == "classification"
    # Ratios of other packages are tried where those are, see tests/workflow/test_benchmark.py.
    and name != "peer_ratio"
]
POPULATIONS = ("general", "unlabeled")


@pytest.fixture(scope="module")
def gaussian():
    """Rows of two normal populations, p(s=1|x) by the logistic selector, the true log ratio."""
    rng = np.random.default_rng(0)
    labeled, unlabeled = rng.normal(size=(M, 3)) - SHIFT / 2, rng.normal(size=(N, 3)) + SHIFT / 2
    y = (labeled[:, 0] + rng.normal(size=M) > -0.5).astype(float)
    s = np.r_[np.ones(M, int), np.zeros(N, int)]
    X = np.concatenate([labeled, unlabeled])
    p = selection_probabilities(LogisticSelector(), X, s, X[:0], rng)[0][:M]
    return labeled, y, unlabeled, p, labeled @ SHIFT


def weights_of(name, gaussian, population="unlabeled", **options):
    """Weights by the registry's component, towards a population where it can choose."""
    labeled, y, unlabeled, p, _ = gaussian
    known = components.options("weighting", name)
    made = {option: node.get("default") for option, node in known.items()} | options
    # The whole ratio, where a weighting may choose a power of it.
    made |= {"target": population, "exponent": 1.0}
    made = {option: value for option, value in made.items() if option in known}
    target = made.get("target") or components.declared("weighting", name, "TARGET", "")
    rows = Rows(labeled, y, unlabeled, np.random.default_rng(1), p)
    spec = {
        "sees": components.declared("weighting", name, "SEES", "p"),
        "options": made,
        "max_weight": None,
    }
    return made_weights(components.load("weighting", name), spec, rows)[1], target


def least_correlation(name):
    """Parametric ones must find the log ratio; kernel matching finds moments, not ratios."""
    return {"moments": 0.2}.get(components.declared("weighting", name, "RATIO", ""), 0.95)


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("name", WEIGHTINGS)
def test_a_gaussian_log_ratio_is_found_the_right_way_up(name, population, gaussian):
    if components.declared("weighting", name, "RATIO", "") == "outcome":
        pytest.skip("goes by the label; its truths are in test_outcome_selection.py")
    weights, target = weights_of(name, gaussian, population)
    share = M / (M + N)
    ratio = np.exp(gaussian[-1])
    truth = np.log(ratio if target == "unlabeled" else share + (1 - share) * ratio)
    known = weights > 0
    correlation = np.corrcoef(np.log(weights[known]), truth[known])[0, 1]
    assert correlation > least_correlation(name)
    assert weights.mean() == pytest.approx(1, abs=0.1)
    # Means of the features move to those of the target, not away.
    labeled, _, unlabeled, _, _ = gaussian
    aim = unlabeled if target == "unlabeled" else np.concatenate([labeled, unlabeled])
    before = np.abs(labeled.mean(axis=0) - aim.mean(axis=0)).max()
    after = np.abs(np.average(labeled, axis=0, weights=weights) - aim.mean(axis=0)).max()
    assert after < 0.25 * before


def test_two_stage_weights_are_the_odds_of_a_logistic_discriminator(gaussian):
    labeled, _, unlabeled, _, _ = gaussian
    X, s = np.concatenate([labeled, unlabeled]), np.r_[np.ones(M, int), np.zeros(N, int)]
    coef, intercept, *_ = fit_logistic(X, s)
    rows = Rows(labeled, None, unlabeled)
    weights = discriminator_weights(rows, target="unlabeled")
    p = 1 / (1 + np.exp(-(labeled @ coef + intercept)))
    np.testing.assert_allclose(weights, M / N * (1 - p) / p, rtol=1e-9)
    both = discriminator_weights(rows, target="general")
    np.testing.assert_allclose(both, M / (M + N) / p, rtol=1e-9)
