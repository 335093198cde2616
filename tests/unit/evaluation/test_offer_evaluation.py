"""The protocol for offers against known truths."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation import offer_evaluation
from counterweight.evaluation.offer_evaluation import OPTIONS, Repeat, drawn, evaluate_offers
from counterweight.evaluation.offer_value import offer_density, offer_value
from counterweight.models.choice.offer_model import acceptance, expected_revenue, optimal_offer
from counterweight.numerics.gaussian_mixture import Mixture
from records import where

ETA, K = np.array([0.15, 0.9, 0.5]), np.array([8.0, 15.0, 5.0])


def mixture(gap=3.0):
    return {
        "weights": np.array([0.2, 0.3, 0.5]),
        "means": gap * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
        "covariances": np.tile(np.eye(2), (3, 1, 1)),
    }


def world(rows=3000, gap=3.0, repeats=1, test_share=0.25, seed=0, offers=None):
    """Features, labels, truth of `repeats` worlds drawn from the mixture."""
    rng = np.random.default_rng(seed)
    known = mixture(gap)
    count = rows * repeats
    component = rng.choice(3, size=count, p=known["weights"])
    X = known["means"][component] + rng.normal(size=(count, 2))
    t = rng.random(count) if offers is None else offers(component, rng)
    p = acceptance(t, ETA[component], K[component])
    y = (rng.random(count) < p).astype(int)
    row = np.arange(count)
    repeat = np.repeat(np.arange(repeats), rows)
    test = rng.random(count) < test_share
    features = {"row": row, "x1": X[:, 0], "x2": X[:, 1]}
    labels = {
        "repeat": repeat,
        "row": row,
        "role": np.where(test, "test", "train").astype(object),
        "offer": t,
        "t": t,
        "answer": np.where(test, np.nan, y),
    }
    truth = {
        "repeat": repeat,
        "row": row,
        "answer": y,
        "component": component,
        "eta": ETA[component],
        "k": K[component],
        "p": p,
    }
    return features, labels, truth


def said(truth, labels, p, best, setting="hard", eta=None, segment=None):
    """Predictions of a model that says acceptance p, and the true curve of its best offer."""
    count = len(p)
    best_p = acceptance(best, truth["eta"], truth["k"])
    return {
        "repeat": truth["repeat"],
        "row": truth["row"],
        "role": labels["role"],
        "setting": (np.zeros(count, int), [setting]),
        "p": p,
        "segment": truth["component"] if segment is None else segment,
        "segment_p": np.ones(count),
        "eta": truth["eta"],
        "k": truth["k"],
        "best_offer": best,
        "best_p": best_p,
        "best_revenue": best_p * (1 - best),
        "revenue": p * (1 - labels["t"]),
    }


def evaluated(made, predictions, models=None, offer=None, known=mixture, **options):
    features, labels, truth = made
    options.setdefault("density", "uniform")
    records = evaluate_offers(
        predictions,
        labels,
        truth,
        models or {},
        features,
        offer=offer or {},
        mixture=None if known is None else lambda world: known(),
        seed=1,
        stream="s",
        **options,
    )
    assert np.isfinite([record["value"] for record in records]).all()
    return {(record["repeat"], record["metric"], *where(record)): record for record in records}


def perfect(made):
    truth = made[2]
    best = optimal_offer(truth["eta"], truth["k"])
    return said(truth, made[1], truth["p"], best)


def test_the_truth_has_no_error_and_claims_what_is_true():
    made = world()
    found = evaluated(made, perfect(made))
    value = {metric: record["value"] for (_, metric, *_), record in found.items()}
    test = made[1]["role"] == "test"
    truth = {name: values[test] for name, values in made[2].items()}
    assert value["rmse"] == value["rmse_test"] == 0
    assert value["enrolment_predicted"] == pytest.approx(truth["p"].sum())
    assert value["enrolment_true"] == pytest.approx(truth["p"].sum())
    assert value["enrolment_actual"] == truth["answer"].sum()
    earned = 1 - made[1]["offer"][test]
    assert value["revenue_actual"] == pytest.approx((truth["answer"] * earned).sum())
    assert value["revenue_true"] == pytest.approx((truth["p"] * earned).sum())
    best = optimal_offer(truth["eta"], truth["k"])
    most = expected_revenue(best, truth["eta"], truth["k"]).sum()
    for name in ("revenue_claimed", "revenue_optimal_true", "revenue_best_possible"):
        assert value[name] == pytest.approx(most)
    assert value["enrolment_optimal_true"] == pytest.approx(value["enrolment_claimed"])
    noise = found[0, "enrolment_actual", "hard"]["standard_error"]
    assert noise == pytest.approx(np.sqrt((truth["p"] * (1 - truth["p"])).sum()))


def test_the_value_from_the_log_covers_the_truth_of_the_policy():
    made = world(8000)
    found = evaluated(made, perfect(made))
    true = found[0, "revenue_optimal_true", "hard"]["value"]
    for name in ("ips", "snips"):
        low, high = (found[0, f"revenue_{name}_{end}", "hard"]["value"] for end in ("low", "high"))
        assert low < true < high
        assert found[0, f"revenue_{name}", "hard"]["standard_error"] < 0.15 * true
    # The records are the value of the policy, as sums over the test rows.
    test, best = made[1]["role"] == "test", optimal_offer(made[2]["eta"], made[2]["k"])
    t, count = made[1]["t"][test], int(test.sum())
    X = np.column_stack([made[0]["x1"], made[0]["x2"]])[test]
    one = offer_value(t, made[2]["answer"][test], best[test], offer_density(X, t, "uniform"))
    for metric, value in (
        ("revenue_smoothing", count * one.smoothing),
        ("revenue_ips", count * one.ips.value),
        ("revenue_snips_low", count * one.snips.low),
        ("offers_matched", one.rows_matched),
        ("offers_bandwidth", one.bandwidth),
    ):
        assert found[0, metric, "hard"]["value"] == pytest.approx(value)
    error = found[0, "revenue_ips", "hard"]["standard_error"]
    assert error == pytest.approx(count * one.ips.standard_error)


def test_errors_by_component_add_up():
    made = world()
    rng = np.random.default_rng(1)
    p = np.clip(made[2]["p"] + 0.1 * rng.normal(size=3000), 0, 1)
    found = evaluated(made, said(made[2], made[1], p, np.full(3000, 0.5)))
    parts = [found[0, "rmse_component", "hard", str(j)] for j in range(3)]
    whole = found[0, "rmse", "hard"]
    squares = sum(part["value"] ** 2 * part["rows"] for part in parts)
    assert sum(part["rows"] for part in parts) == whole["rows"]
    assert squares == pytest.approx(whole["value"] ** 2 * whole["rows"])


def test_components_are_described():
    made = world()
    found = evaluated(made, perfect(made))
    own = (made[1]["role"] == "train") & (made[2]["component"] == 1)
    share = made[2]["answer"][own].mean()
    assert found[0, "component_imbalance", "1"]["value"] == pytest.approx((0.5 - share) ** 2)
    assert found[0, "component_eta", "1"]["value"] == 0.9
    assert found[0, "component_k", "2"]["value"] == 5
    # Two unit Gaussians at distance 3: exp(-9 / 8).
    assert found[0, "component_overlap", "1"]["value"] == pytest.approx(np.exp(-9 / 8))


def test_errors_of_sums_and_quartiles_of_offers():
    made = world()
    predictions = said(made[2], made[1], 1.1 * made[2]["p"] - 0.0, np.linspace(0, 1, 3000))
    predictions["p"] = np.minimum(predictions["p"], 1.0)
    found = evaluated(made, predictions)
    test = made[1]["role"] == "test"
    ratio = predictions["p"][test].sum() / made[2]["p"][test].sum()
    assert found[0, "enrolment_error", "hard"]["value"] == pytest.approx(ratio - 1)
    assert found[0, "best_offer", "hard"]["value"] == pytest.approx(0.5, abs=0.05)
    assert found[0, "best_offer_high", "hard"]["value"] == pytest.approx(0.75, abs=0.05)


def test_the_floor_is_nothing_where_components_are_far_apart():
    made = world(gap=50.0)
    found = evaluated(made, perfect(made), known=lambda: mixture(50.0))
    for setting in ("hard", "soft"):
        assert found[0, "rmse_floor", setting]["value"] < 1e-9


def test_the_floor_where_features_say_nothing_is_the_spread_of_the_curves():
    made = world(gap=0.0)
    found = evaluated(made, perfect(made), known=lambda: mixture(0.0))
    train = made[1]["role"] == "train"
    t, p = made[1]["t"][train], made[2]["p"][train]
    curves = acceptance(t[:, None], ETA, K)
    soft = np.sqrt(np.mean((curves @ mixture()["weights"] - p) ** 2))
    hard = np.sqrt(np.mean((curves[:, 2] - p) ** 2))
    assert found[0, "rmse_floor", "soft"]["value"] == pytest.approx(soft)
    assert found[0, "rmse_floor", "hard"]["value"] == pytest.approx(hard)


def test_soft_assignment_has_the_lower_floor():
    made = world(20000, gap=2.0)
    found = evaluated(made, perfect(made), known=lambda: mixture(2.0))
    soft, hard = (found[0, "rmse_floor", name]["value"] for name in ("soft", "hard"))
    assert 0 < soft < hard


def test_the_divergence_is_nothing_for_the_truth_and_known_for_shifted_gaussians():
    made = world(400)
    arrays = {name: np.array(values) for name, values in mixture().items()}
    found = evaluated(made, perfect(made), {(0, "general"): arrays})
    assert found[0, "kl"]["value"] == 0
    assert found[0, "components_chosen"]["value"] == 3
    one = {"weights": np.ones(1), "means": np.zeros((1, 2)), "covariances": np.eye(2)[None]}
    moved = one | {"means": np.array([[0.3, 0.4]])}
    made[2]["component"][:] = 0
    found = evaluated(made, perfect(made), {(0, "general"): moved}, known=lambda: one)
    kl = found[0, "kl"]
    assert kl["value"] == pytest.approx(0.125, abs=4 * kl["standard_error"])


def test_draws_have_the_moments_of_the_mixture():
    known = Mixture(**mixture())
    X = drawn(known, 200000, np.random.default_rng(0))
    mean = known.weights @ known.means
    between = known.means - mean
    expected = np.eye(2) + np.einsum("j,ja,jb->ab", known.weights, between, between)
    assert np.allclose(X.mean(axis=0), mean, atol=0.02)
    assert np.allclose(np.cov(X.T), expected, atol=0.04)


def test_offers_that_do_not_vary_within_segments_are_counted(caplog):
    still = world(offers=lambda component, rng: np.array([0.2, 0.5, 0.8])[component])
    found = evaluated(still, perfect(still))
    assert found[0, "offer_variation", "hard"]["value"] == 1
    assert "hardly vary" in caplog.text
    lively = world()
    assert evaluated(lively, perfect(lively))[0, "offer_variation", "hard"]["value"] == 0


def test_counts_curves_and_intervals_of_the_fit_are_passed_on():
    made = world(400)
    arrays = {
        "slopes_at_bound": np.array(2.0),
        "sizes": np.array([1.0, 2.0]),
        "mdl": np.array([900.0, 850.0]),
        "log_likelihoods": np.array([-800.0, -700.0]),
        "log_likelihood": np.array(-700.0),
        ("revenue_claimed", "hard"): np.array([3.0, 5.0]),
    }
    found = evaluated(made, perfect(made), {(0, "general"): arrays})
    expected = {
        ("slopes_at_bound",): 2,
        ("mdl", 1): 900,
        ("mdl", 2): 850,
        ("log_likelihood", 2): -700,
        ("log_likelihood",): -700,
        ("revenue_claimed_low", "hard"): 3,
        ("revenue_claimed_high", "hard"): 5,
    }
    assert {key: found[0, *key]["value"] for key in expected} == expected


def test_a_table_without_truth_is_evaluated_by_its_answers(caplog):
    features, labels, truth = world(500)
    known = {name: truth[name] for name in ("repeat", "row", "answer")}
    predictions = said(truth, labels, truth["p"], np.full(500, 0.5), "", segment=np.full(500, -1))
    found = evaluated((features, labels, known), predictions, known=None, density="estimated")
    metrics = {metric for _, metric, *_ in found}
    assert {"log_loss", "brier", "auc", "enrolment_actual", "revenue_snips"} <= metrics
    assert not {"rmse", "rmse_floor", "revenue_best_possible", "offer_variation"} & metrics


def test_without_test_rows_the_training_rows_are_used():
    made = world(500, test_share=0.0)
    found = evaluated(made, perfect(made))
    assert found[0, "enrolment_actual", "hard"]["value"] == made[2]["answer"].sum()
    assert "rmse_test" not in {metric for _, metric, *_ in found}


def test_prices_earn_themselves():
    features, labels, truth = world(800)
    prices = dict(labels, offer=100 * (1 - labels["t"]))
    predictions = said(truth, labels, truth["p"], np.full(800, 0.5))
    predictions["best_offer"] = np.full(800, 50.0)
    offer = {"low": 0.0, "high": 100.0, "direction": "down"}
    found = evaluated((features, prices, truth), predictions, offer=offer)
    test = labels["role"] == "test"
    actual = (truth["answer"] * prices["offer"])[test].sum()
    assert found[0, "revenue_actual", "hard"]["value"] == pytest.approx(actual)
    at_half = 50 * acceptance(0.5, truth["eta"], truth["k"])[test].sum()
    assert found[0, "revenue_optimal_true", "hard"]["value"] == pytest.approx(at_half)


def test_repeats_are_evaluated_apart():
    made = world(300, repeats=3)
    found = evaluated(made, perfect(made))
    for repeat in range(3):
        own = (made[2]["repeat"] == repeat) & (made[1]["role"] == "test")
        actual = made[2]["answer"][own].sum()
        assert found[repeat, "enrolment_actual", "hard"]["value"] == actual


def test_predictions_of_other_rows_are_refused():
    made = world(300)
    wrong = perfect(made) | {"row": made[2]["row"][::-1]}
    with pytest.raises(CounterweightError, match="not of the rows"):
        evaluated(made, wrong)


def test_defaults_are_those_of_the_options():
    import inspect

    parameters = inspect.signature(evaluate_offers).parameters
    for name, option in OPTIONS.items():
        assert parameters[name].default == option["default"]


def test_a_mixture_of_other_components_is_refused():
    made = world(300)
    made[2]["component"][:] = 7
    with pytest.raises(CounterweightError, match="component 7"):
        evaluated(made, perfect(made))


def test_the_single_best_offer_is_that_of_a_grid_by_hand():
    from counterweight.evaluation.offer_value import single_offer
    from counterweight.labeling.offered import OfferScale

    scale = OfferScale(low=0.0, high=40.0, direction="down")
    own = {"eta": np.array([0.3, 0.3, 0.8, 0.5]), "k": np.array([8.0, 8.0, 12.0, 5.0])}
    used = np.array([True, True, True, False])
    found = single_offer(own["eta"][used], own["k"][used], scale)
    fees = np.linspace(0, 40, 4001)
    t = (40 - fees) / 40
    share = (2 / (1 + np.exp(-8 * (t - 0.3))) + 1 / (1 + np.exp(-12 * (t - 0.8)))) / 3
    best = np.argmax(fees * share)
    assert found["single_offer"] == pytest.approx(fees[best], abs=0.05)
    assert found["single_offer_revenue"] == pytest.approx(fees[best] * share[best], rel=1e-4)
    assert found["single_offer_acceptance"] == pytest.approx(share[best], abs=2e-3)
    # Where only some can be made it is the best of these.
    few = np.array([0.1, 0.35, 0.9])
    told = single_offer(own["eta"][used], own["k"][used], scale, grid=few)
    value = [
        scale.offers(one) * acceptance(one, own["eta"][used], own["k"][used]).mean() for one in few
    ]
    assert told["single_offer"] == scale.offers(few[np.argmax(value)])
    assert told["single_offer_revenue"] == pytest.approx(max(value))


def test_what_steeper_curves_change_is_measured_at_the_bound_of_slopes():
    from counterweight.evaluation.offer_evaluation import STEEPEST, steeper
    from counterweight.models.choice.steps import MOST_SLOPE

    assert STEEPEST == MOST_SLOPE
    eta, t = np.full(3, 0.5), np.array([0.5, 0.6, 0.6])
    fitted, steep = steeper(eta, np.array([30.0, 30.0, 12.0]), t)
    assert fitted[0] == steep[0] == 0.5 and fitted[2] == steep[2]
    assert steep[1] == pytest.approx(1 / (1 + np.exp(-6.0))) and fitted[1] < steep[1]


@pytest.mark.parametrize(("shift", "refused"), [(0, False), (1, True), (-1, True)])
def test_components_are_numbered_from_0_as_the_mixture_has_them(shift, refused):
    features, labels, truth = world(200)
    truth["component"] = truth["component"] + shift
    X = np.column_stack([features["x1"], features["x2"]])
    scaling = (1.0, np.linspace(0, 1, 11))
    rows = Repeat(labels, truth, X, scaling, mixture(), ("uniform", 10))
    if refused:
        with pytest.raises(CounterweightError, match="numbered from 0"):
            rows.posterior()
    else:
        chances, curves = rows.posterior()
        assert chances.sum(axis=1) == pytest.approx(np.ones(200))
        assert curves == pytest.approx(np.column_stack([ETA, K]))


def test_a_drop_of_the_likelihood_is_relative_and_needs_two_steps():
    def drop(*history):
        told = offer_evaluation._fit_records({"history": np.array(history)})
        return [one["value"] for one in told if one["metric"] == "likelihood_drop"]

    assert drop(-3.0) == [] and drop(-3.0, -2.0) == [0.0]
    assert drop(-3.0, -2.0, -2.5) == pytest.approx([0.2])
