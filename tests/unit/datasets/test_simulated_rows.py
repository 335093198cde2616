"""Rare clicks: the stated rate and log odds are the true ones."""

import numpy as np
from counterweight.datasets.simulated_rows import INTERCEPT, RATE, RareClicks
from counterweight.plan.components import declared

ROWS = 200000


def drawn(seed=3, rows=ROWS):
    return RareClicks.simulate(rows, np.random.default_rng(seed))


def log_odds(x1, x2, x3, x4, x5, x6):
    line = INTERCEPT + 0.8 * x1 - 0.6 * x2 + 0.5 * x3 - 0.3 * x4 + 0.5 * x5 - 0.4 * x6
    return line - 1.2 * x1 * x6 + 0.2 * x2 * x2 + 1.5 * x5 * x5


def test_columns_and_declarations():
    frame, truth = drawn(rows=100)
    assert list(frame) == ["row", "x1", "x2", "x3", "x4", "x5", "x6", "click"]
    assert list(truth) == ["row", "p_positive"]
    assert frame["row"].tolist() == list(range(100))
    assert frame["row"].dtype == np.int32
    assert declared("dataset", "rare_clicks", "SIMULATED", False) is True
    assert declared("dataset", "rare_clicks", "ROWS") == ROWS
    assert frame.equals(drawn(rows=100)[0])
    assert not frame.equals(drawn(seed=4, rows=100)[0])


def test_truth_has_the_stated_log_odds():
    frame, truth = drawn(rows=5000)
    expected = log_odds(*(frame[f"x{i}"].to_numpy() for i in range(1, 7)))
    p = truth["p_positive"].to_numpy()
    np.testing.assert_allclose(np.log(p / (1 - p)), expected, rtol=0, atol=1e-9)


def test_expected_rate_is_the_stated_one():
    """Quadrature: given x2, x5 and x6 the log odds are normal, so one more sum is enough."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    evenly, even = np.polynomial.legendre.leggauss(24)
    x2, x5, x6, z = np.meshgrid(nodes, evenly, [0.0, 1.0], nodes, indexing="ij", sparse=True)
    deviation = np.sqrt((0.8 - 1.2 * x6) ** 2 + 0.5**2 + 0.3**2)
    p = 1 / (1 + np.exp(-(log_odds(0.0, x2, 0.0, 0.0, x5, x6) + deviation * z)))
    mean = np.einsum("abcd,a,b,c,d->", p, weights, even / 2, [0.7, 0.3], weights)
    assert abs(mean - RATE) < 1e-8


def test_clicks_follow_the_truth():
    frame, truth = drawn()
    p, click = truth["p_positive"].to_numpy(), frame["click"].to_numpy()
    tenths = np.searchsorted(np.quantile(p, np.linspace(0.1, 0.9, 9)), p)
    for group in [np.ones(ROWS, dtype=bool), *(tenths == tenth for tenth in range(10))]:
        assert abs((click - p)[group].sum()) < 4 * np.sqrt((p * (1 - p))[group].sum())
    assert abs(p.mean() - RATE) < 4 * p.std() / np.sqrt(ROWS)


def test_a_linear_model_is_misspecified_and_curves_repair_it():
    """The best linear log odds, fitted to the truth itself, lose likelihood."""
    frame, truth = drawn(rows=50000)
    x = frame[[f"x{i}" for i in range(1, 7)]].to_numpy()
    p = truth["p_positive"].to_numpy()
    extra = np.column_stack([x[:, 0] * x[:, 5], x[:, 1] ** 2, x[:, 4] ** 2])

    def loss(columns):
        design = np.column_stack([np.ones(len(p)), columns])
        beta = np.zeros(design.shape[1])
        beta[0] = np.log(p.mean() / (1 - p.mean()))
        for _ in range(30):
            q = 1 / (1 + np.exp(-design @ beta))
            hessian = (design * (q * (1 - q))[:, None]).T @ design
            beta += np.linalg.solve(hessian, design.T @ (p - q))
        q = 1 / (1 + np.exp(-design @ beta))
        return -(p * np.log(q) + (1 - p) * np.log1p(-q)).mean(), beta

    best = -(p * np.log(p) + (1 - p) * np.log1p(-p)).mean()
    assert 0.02 < loss(x)[0] / best - 1 < 0.15
    value, beta = loss(np.column_stack([x, extra]))
    assert abs(value - best) < 1e-9
    expected = [INTERCEPT, 0.8, -0.6, 0.5, -0.3, 0.5, -0.4, -1.2, 0.2, 1.5]
    np.testing.assert_allclose(beta, expected, atol=1e-6)
