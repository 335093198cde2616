"""Training of methods for offers, and their best offers."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.offered import OfferScale
from counterweight.models.choice import offer_training
from counterweight.models.choice.baselines import OfferLogistic
from counterweight.models.choice.logitboost import LogisticTree, LogitBoost
from counterweight.models.choice.offer_model import acceptance, optimal_offer, searched_offers
from counterweight.models.choice.offer_training import (
    PREDICTIONS,
    Compared,
    answer_losses,
    offer_rows,
    train_offers_repeat,
)
from counterweight.tables.study_data import StudyData
from scipy.special import expit


class TwoSegments:
    """Stands in for a model of segments: the sign of the first feature, softened."""

    eta_, k_ = np.array([0.3, 0.7]), np.array([6.0, 12.0])

    def fit(self, X, y, t, *, rng):
        assert np.isfinite(y).all() and len(X) == len(t) == len(y)
        self.rows = len(X)
        return self

    def predict_segments(self, X):
        first = expit(2 * X[:, 0])
        return np.column_stack([first, 1 - first])

    def predict_acceptance(self, X, t, assignment="soft"):
        weights = self.predict_segments(X)
        if assignment == "hard":
            weights = np.eye(2)[weights.argmax(axis=1)]
        return (weights * acceptance(t[:, None], self.eta_, self.k_)).sum(axis=1)

    def bootstrap_totals(self, X, y, t, new_X, new_t, *, rng, draws, revenue, assignment):
        p = self.predict_acceptance(new_X, new_t, assignment)
        noise = rng.normal(size=draws)
        return p.sum() + noise, (p * (revenue[0] + revenue[1] * new_t)).sum() + noise

    def to_arrays(self):
        return {"eta": self.eta_, "k": self.k_}


METHODS = {
    "segments": TwoSegments,
    "offer_logistic": OfferLogistic,
    "logitboost": LogitBoost,
    "logistic_tree": LogisticTree,
}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(offer_training, "load", lambda kind, name: METHODS[name])


def study(rows=400, offer=None, repeats=2, seed=0):
    rng = np.random.default_rng(seed)
    low, high = (0.0, 1.0) if offer is None else (offer["low"], offer["high"])
    features = {"row": np.arange(rows), "a": rng.normal(size=rows), "b": rng.normal(size=rows)}
    labels = {name: [] for name in ("repeat", "row", "role", "offer", "t", "answer")}
    truth = {name: [] for name in ("repeat", "row", "answer", "component")}
    for repeat in range(repeats):
        t = rng.random(rows)
        component = (features["a"] < 0).astype(int)
        y = (rng.random(rows) < acceptance(t, np.array([0.3, 0.7])[component], 8)).astype(float)
        role = np.where(rng.random(rows) < 0.3, "test", "train").astype(object)
        up = offer is None or offer.get("direction", "up") == "up"
        own = {
            "repeat": np.full(rows, repeat),
            "row": features["row"],
            "role": role,
            "t": t,
            "offer": low + t * (high - low) if up else high - t * (high - low),
            "answer": y,
            "component": component,
        }
        for name in truth:
            truth[name].append(own[name])
        own["answer"] = np.where(role == "test", np.nan, y)
        for name in labels:
            labels[name].append(own[name])
    return features, *(
        {name: np.concatenate(parts) for name, parts in table.items()} for table in (labels, truth)
    )


def trained(model, offer=None, truth=None, labels=None, features=None, **options):
    made = study(offer=offer)
    data = StudyData(features or made[0], labels or made[1], truth=truth)
    method = {"model": model, "options": options}
    return train_offers_repeat(data, method, 1, offer=offer or {}, seed=3, study="s")


@pytest.mark.parametrize("model", METHODS)
def test_predictions_have_the_columns_and_no_missing_values(model):
    _, table = trained(model)
    for (name, kind), field in zip(PREDICTIONS.items(), table.schema, strict=True):
        text = pa.types.is_dictionary(field.type) or pa.types.is_string(field.type)
        assert field.name == name and (text or field.type == pa.type_for_alias(kind))
        assert table[name].null_count == 0
        if kind == "float64":
            assert np.isfinite(table[name].to_numpy()).all()
    settings = ["hard", "soft"] if model == "segments" else [""]
    assert table["setting"].unique().to_pylist() == settings
    assert len(table) == 400 * len(settings)


@pytest.mark.parametrize("model", METHODS)
def test_answers_of_predicted_rows_do_not_matter(model):
    features, labels, _ = study()
    other = dict(labels)
    test = labels["role"] == "test"
    other["answer"] = np.where(test, 1.0, labels["answer"])
    assert trained(model, labels=labels)[1].equals(trained(model, labels=other)[1])


@pytest.mark.parametrize("slope", [1e-3, 0.5, 5.0, 30.0])
def test_the_search_finds_the_closed_form(slope):
    eta = np.linspace(0, 1, 41)
    found = searched_offers(lambda t: acceptance(t, eta, slope), 41)
    exact = optimal_offer(eta, slope)
    assert np.abs(found - exact).max() < 5e-4
    gain = acceptance(found, eta, slope) * (1 - found)
    assert np.allclose(gain, acceptance(exact, eta, slope) * (1 - exact), atol=1e-6)


def test_only_offers_of_a_grid_are_made():
    eta = np.linspace(0.1, 0.9, 9)
    found = searched_offers(lambda t: acceptance(t, eta, 8), 9, grid=[0.25, 0.5, 0.75])
    assert np.array_equal(found, optimal_offer(eta, 8, grid=[0.25, 0.5, 0.75]))
    offer = {"low": 0, "high": 200, "direction": "down", "grid": [50, 100, 150]}
    for model in ("segments", "logitboost"):
        _, table = trained(model, offer)
        assert set(table["best_offer"].to_pylist()) <= {50.0, 100.0, 150.0}


def test_prices_are_in_the_users_units():
    offer = {"low": 20.0, "high": 120.0, "direction": "down", "revenue": None}
    _, table = trained("segments", offer)
    hard = table.filter(pa.array([s == "hard" for s in table["setting"].to_pylist()]))
    best, eta, k = (hard[name].to_numpy() for name in ("best_offer", "eta", "k"))
    prices = np.linspace(20, 120, 20001)
    for e, slope in zip(TwoSegments.eta_, TwoSegments.k_, strict=True):
        value = acceptance((120 - prices) / 100, e, slope) * prices
        assert np.allclose(best[eta == e], prices[value.argmax()], atol=0.01)
    p = acceptance((120 - best) / 100, eta, k)
    assert np.allclose(hard["best_p"].to_numpy(), p)
    assert np.allclose(hard["best_revenue"].to_numpy(), p * best)


def test_an_oracle_needs_and_uses_the_components():
    _, _, truth = study()
    with pytest.raises(CounterweightError, match="does not know"):
        trained("logitboost", per_component=True)
    arrays, _ = trained("logitboost", truth=truth, per_component=True)
    assert np.array_equal(arrays["components"], [0, 1])
    one, _ = trained("logitboost", truth=truth)
    assert np.array_equal(one["components"], [-1])


def test_hard_and_soft_use_the_segments_as_said():
    _, table = trained("segments")
    parts = {
        setting: table.filter(pa.array([s == setting for s in table["setting"].to_pylist()]))
        for setting in ("hard", "soft")
    }
    features, labels, _ = study()
    X = np.column_stack([features["a"], features["b"]])
    t, model = labels["t"][400:], TwoSegments()
    for setting, part in parts.items():
        assert np.allclose(part["p"].to_numpy(), model.predict_acceptance(X, t, setting))
        assert np.allclose(part["revenue"].to_numpy(), part["p"].to_numpy() * (1 - t))
        assert np.array_equal(part["segment"].to_numpy(), (X[:, 0] < 0).astype(int))
        best = part["best_offer"].to_numpy()
        assert np.allclose(part["best_p"].to_numpy(), model.predict_acceptance(X, best, setting))
        for shift in (-0.01, 0.01):
            other = np.clip(best + shift, 0, 1)
            gain = model.predict_acceptance(X, other, setting) * (1 - other)
            assert (gain <= part["best_revenue"].to_numpy() + 1e-9).all()


def test_bootstrap_intervals_are_stored_by_total_and_setting():
    features, labels, _ = study()
    arrays, table = train_offers_repeat(
        StudyData(features, labels),
        {"model": "segments", "options": {}},
        0,
        offer={},
        seed=1,
        study="s",
        bootstrap=500,
    )
    used = np.array(table["role"].to_pylist()) == "test"
    for setting in ("hard", "soft"):
        rows = used & (np.array(table["setting"].to_pylist()) == setting)
        for name, column in (("enrolment_predicted", "p"), ("revenue_predicted", "revenue")):
            low, high = arrays[name, setting]
            total = table[column].to_numpy()[rows].sum()
            assert low < total < high and high - low == pytest.approx(3.92, abs=0.8)


def test_labels_of_other_rows_are_refused():
    features, labels, _ = study()
    features = {name: values[:300] for name, values in features.items()}
    with pytest.raises(CounterweightError, match="do not have"):
        offer_rows(StudyData(features, labels), 0)


def test_claims_of_best_offers_cover_what_these_bring_or_have_no_interval(caplog):
    from counterweight.labeling.offered import OfferScale
    from counterweight.models.choice.offer_training import segment_predictions, totals_intervals
    from counterweight.models.choice.predictive_choice import PredictiveChoiceModel
    from scipy.special import expit

    scale, hits, optimism, fees = OfferScale(), [], [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        kind = rng.integers(3, size=900)
        X = np.column_stack([3.0 * kind, kind == 1]) + rng.normal(size=(900, 2))
        t = rng.random(900)
        eta, k = np.array([0.2, 0.5, 0.7])[kind], np.array([9.0, 5.0, 7.0])[kind]
        y = (rng.random(900) < expit(k * (t - eta))).astype(int)
        train = np.arange(900) < 600
        model = PredictiveChoiceModel(components=3, n_init=3)
        model.fit(X[train], y[train], t[train], rng=rng)
        said = segment_predictions(model, X, t, scale)
        rows = {"X": X, "t": t, "train": train, "answer": y[train].astype(float)}
        found = totals_intervals(model, rows, scale, said, rng, 60)
        offers = said["soft"]["best_offer"][~train]
        brought = (expit(k[~train] * (offers - eta[~train])) * (1 - offers)).sum()
        low, high = found["revenue_claimed", "soft"]
        hits.append(low <= brought <= high)
        claimed = said["soft"]["best_revenue"][~train].sum()
        optimism.append(claimed - (low + high) / 2)
        grid = np.linspace(0, 1, 1001)
        earned = expit(k[:, None] * (grid - eta[:, None])).mean(axis=0) * (1 - grid)
        low, high = found["single_offer", "soft"]
        fees.append(low - 1e-9 <= grid[earned.argmax()] <= high + 1e-9)
    assert np.mean(hits) >= 0.8 and np.mean(fees) >= 0.75
    assert np.mean(optimism) > 0
    model.offer_deviation_ = np.array([0.01, 0.3, 0.3])
    found = totals_intervals(model, rows, scale, said, rng, 10)
    assert ("revenue_claimed", "soft") not in found and ("revenue_predicted", "soft") in found
    assert "hardly varied" in caplog.text


def judged(each, fits=()):
    """`Compared` methods of two folds, of which the losses of people are told by place."""
    rows = len(each[0] if 0 in each else next(iter(each.values())))
    losses = [each[place].mean() if place in each else np.inf for place in range(4)]
    return Compared(losses, {}, each, np.arange(rows), np.arange(rows) % 2, fits)


def test_of_methods_within_chance_of_the_best_the_first_is_taken():
    noise = np.random.default_rng(3).normal(size=400)
    noise = (noise - noise.mean()) / noise.std()
    each = {0: 0.02 + 0.5 * noise, 1: np.zeros(400), 2: 0.2 + 0.5 * noise}
    assert judged(each).near_best() == 0
    each[0] = each[0] + 0.2
    assert judged(each).near_best() == 1


def test_rivals_are_told_where_a_method_misses_what_others_know():
    """Log odds are a sum of two parts: a method that knows one misses something, the truth not."""
    rng, rows = np.random.default_rng(4), 3000
    parts = 1.5 * rng.normal(size=(2, rows))
    y = (rng.random(rows) < expit(parts.sum(axis=0))).astype(float)
    # With noise in place of the truth's last part, a method that nobody needs.
    known = {0: parts[0], 1: parts[1], 2: parts.sum(axis=0), 3: rng.normal(size=rows)}
    names = [{"model": name, "options": {}, "setting": ""} for name in "abcd"]

    def rivals(place, *among):
        each = {at: answer_losses(expit(known[at]), y) for at in among}
        fits = {at: [SimpleNamespace(to_arrays=lambda at=at: {"at": at})] * 2 for at in among}
        one = judged(each, fits)
        return [(own["model"], own["arrays"]["at"]) for own in one.rivals(place, names, y)]

    assert rivals(0, 0, 1, 3) == [("a", 0)] * 2 + [("b", 1)] * 2
    assert rivals(2, 0, 1, 2, 3) == [] and rivals(2, 2, 3) == []


class Moved(TwoSegments):
    """Segments whose thresholds move with the second feature."""

    def threshold_moves(self, X):
        return 0.1 * X[:, 1]

    def predict_acceptance(self, X, t, assignment="soft"):
        return super().predict_acceptance(X, t - self.threshold_moves(X), assignment)


@pytest.mark.parametrize("kind", [TwoSegments, Moved])
def test_best_offers_are_told_with_the_chance_that_the_model_has_for_them(kind):
    rng = np.random.default_rng(0)
    X, t, scale = rng.normal(size=(50, 2)), rng.random(50), OfferScale(10.0, 20.0, "down")
    told = offer_training.segment_predictions(kind(), X, t, scale)
    for setting in ("hard", "soft"):
        best = scale.scaled(told[setting]["best_offer"])
        p = kind().predict_acceptance(X, best, setting)
        assert told[setting]["best_p"] == pytest.approx(p, rel=1e-9)
        # No offer of a grid earns more by the same chances.
        for other in np.linspace(0, 1, 101):
            earned = kind().predict_acceptance(X, np.full(50, other), setting)
            earned = earned * scale.revenue(scale.offers(other))
            assert (earned <= told[setting]["best_revenue"] + 1e-6).all()
