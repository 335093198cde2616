"""What moved a score: it adds up, has the closed form of a line, and names what is largest."""

import numpy as np
import pandas as pd
import pytest
from counterweight.labeling.encoding import TabularEncoder
from counterweight.models.score_models import CombinedModel, EncodedModel, digits_for, most_moved
from counterweight.numerics.boosted_trees import raw_and_parts, trees_to_arrays
from sklearn.ensemble import HistGradientBoostingRegressor

TYPES = {"age": "number", "city": "text", "flat": "number", "member": "boolean"}


def table(rows, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(40, 10, rows)),
            "city": pd.Series(rng.choice(["Bonn", "Köln", "Trier"], rows)).astype("str"),
            "flat": rng.normal(size=rows),
            "member": pd.array(rng.integers(0, 2, rows), "Int64"),
        }
    )


@pytest.fixture(scope="module")
def encoder():
    return TabularEncoder().fit(table(800, 0), list(TYPES), TYPES)


def fitted(encoder, model, binary):
    frame, rng = table(800, 0), np.random.default_rng(1)
    y = np.nan_to_num(frame["age"], nan=50) / 10 + 2 * (frame["city"] == "Bonn")
    y = (y + rng.normal(size=800)).to_numpy()
    weight = rng.random(800) + 0.5
    y = (y > np.median(y)).astype(float) if binary else y
    return EncodedModel.learned(model, encoder.encode(frame), y, weight, binary=binary)


@pytest.mark.parametrize("model", ["linear", "boosting"])
@pytest.mark.parametrize("binary", [True, False])
def test_contributions_and_base_sum_to_the_score(encoder, model, binary):
    made = fitted(encoder, model, binary)
    rows = encoder.encode(table(300, 7))
    raw, base, parts = made.explained(rows)
    assert parts.shape == (300, len(TYPES))
    np.testing.assert_allclose(base + parts.sum(axis=1), raw, rtol=0, atol=1e-9)
    assert np.array_equal(made.answers(raw), made.predict(rows))
    again = EncodedModel.of_learner(model, made.to_arrays()).explained(rows)
    assert again[1] == base and np.array_equal(again[2], parts)


@pytest.mark.parametrize("model", ["linear", "boosting"])
def test_the_base_is_the_mean_score_of_the_labeled(encoder, model):
    made = fitted(encoder, model, True)
    raw, base, parts = made.explained(encoder.encode(table(800, 0)))
    assert base == pytest.approx(raw.mean(), abs=1e-9)
    if model == "linear":
        np.testing.assert_allclose(parts.mean(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("model", ["linear", "boosting"])
def test_the_order_of_the_rows_changes_nothing(encoder, model):
    made, frame = fitted(encoder, model, True), table(20_000, 8)
    order = np.random.default_rng(2).permutation(len(frame))
    straight = made.explained(encoder.encode(frame))[2]
    mixed = made.explained(encoder.encode(frame.iloc[order]))[2]
    np.testing.assert_allclose(mixed, straight[order], rtol=0, atol=1e-12)
    names = encoder.names
    words, others = most_moved(straight, names), most_moved(mixed, names)
    assert all((others[title] == words[title][order]).all() for title in words)


def test_a_line_moves_a_score_by_its_slope_times_the_distance_from_the_mean(encoder):
    made, frame = fitted(encoder, "linear", False), table(800, 0)
    _, _, parts = made.explained(encoder.encode(frame))
    parts = dict(zip(encoder.names, parts.T, strict=True))
    names = [feature.name for feature in encoder.features_]
    slope = dict(zip(names, made.model.coef_, strict=True))
    flat = frame["flat"].to_numpy()
    np.testing.assert_allclose(parts["flat"], slope["flat"] * (flat - flat.mean()), atol=1e-12)
    missing = frame["age"].isna().to_numpy(float)
    age = frame["age"].fillna(frame["age"].median()).to_numpy()
    expected = slope["age"] * (age - age.mean())
    expected += slope["age_missing"] * (missing - missing.mean())
    np.testing.assert_allclose(parts["age"], expected, atol=1e-12)
    cities = pd.get_dummies(frame["city"]).astype(float)
    level = [next(name for name in names if name.endswith(city)) for city in cities]
    expected = (cities - cities.mean()).to_numpy() @ [slope[name] for name in level]
    np.testing.assert_allclose(parts["city"], expected, atol=1e-12)


def test_a_feature_that_no_tree_uses_contributes_nothing():
    X = np.random.default_rng(0).normal(size=(500, 3))
    X[:, 1] = 4.0
    model = HistGradientBoostingRegressor(max_iter=20).fit(X, X[:, 0])
    _, _, parts = raw_and_parts(trees_to_arrays(model), X)
    assert (parts[:, 1] == 0).all() and np.abs(parts[:, 0]).max() > 1


def test_a_coefficient_of_0_contributes_nothing(encoder):
    made = fitted(encoder, "linear", True)
    made.model.coef_ = np.where(
        [f.column == "flat" for f in encoder.features_], 0.0, made.model.coef_
    )
    _, _, parts = made.explained(encoder.encode(table(50, 3)))
    assert (parts[:, encoder.names.index("flat")] == 0).all()


def test_trees_of_one_feature_move_by_the_distance_from_the_mean():
    """With one feature all is put down to it: Shapley values, and these, are score - mean."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(900, 1))
    model = HistGradientBoostingRegressor(max_iter=30).fit(x, np.sin(3 * x[:, 0]))
    raw, base, parts = raw_and_parts(trees_to_arrays(model), x)
    np.testing.assert_allclose(parts[:, 0], raw - raw.mean(), atol=1e-9)
    assert base == pytest.approx(raw.mean(), abs=1e-9)


def test_a_tree_of_two_splits_by_hand():
    """One tree on a and b: its node means give the steps a path takes."""
    X = np.array([[0.0, 0.0]] * 40 + [[1.0, 0.0]] * 30 + [[1.0, 1.0]] * 30)
    y = np.r_[np.zeros(40), np.full(30, 4.0), np.full(30, 10.0)]
    options = {"max_iter": 1, "learning_rate": 1.0, "min_samples_leaf": 1}
    model = HistGradientBoostingRegressor(max_leaf_nodes=3, **options).fit(X, y)
    raw, base, parts = raw_and_parts(trees_to_arrays(model), X[[0, 40, 70]])
    assert base == pytest.approx(4.2)
    np.testing.assert_allclose(raw, [0, 4, 10], atol=1e-6)
    # The first split is by b, which explains more; the rows with b = 0 have the mean 12/7.
    mean = 12 / 7
    expected = [[-mean, mean - 4.2], [4 - mean, mean - 4.2], [0, 10 - 4.2]]
    np.testing.assert_allclose(parts, expected, atol=1e-6)


def test_words_name_the_largest_first_and_stay_silent_on_nothing():
    parts = np.array([[0.5, -2.0, 0.004, 1.0], [0.0, 0.0, 0.0, -0.1], [1.0, 1.0, -1.0, 0.0]])
    made = most_moved(parts, ["a", "b", "c", "late payments"])
    assert list(made["top_feature_1"]) == ["b -2.00", "late payments -0.10", "a +1.00"]
    assert list(made["top_feature_2"]) == ["late payments +1.00", "", "b +1.00"]
    assert list(made["top_feature_3"]) == ["a +0.50", "", "c -1.00"]
    made = most_moved(np.array([[1200.0, -31.0]]), ["a", "b"], digits=0)
    assert [made[title][0] for title in made] == ["a +1200", "b -31", ""]


@pytest.mark.parametrize(("spread", "digits"), [(270.0, 0), (3.0, 2), (0.5, 3), (40.0, 1)])
def test_figures_show_a_hundredth_of_the_spread(spread, digits):
    assert digits_for(np.array([-spread, spread])) == digits


def test_shares_of_fits_that_tell_nothing_are_numbers():
    """Where all factors are 0 the constant alone answers, and files hold no NaN."""
    combined = CombinedModel([None, None], [0.0, 0.0], 0.4)
    assert combined.shares.tolist() == [0.0, 0.0]
    assert CombinedModel([None, None], [1.0, 3.0], 0.4).shares.tolist() == [0.25, 0.75]
    assert combined.score([0, 0, 0]).tolist() == [0.4] * 3


@pytest.mark.parametrize("binary", [True, False])
def test_rows_that_were_explained_are_not_scored_a_second_time(encoder, binary, monkeypatch):
    parts = [fitted(encoder, learner, binary) for learner in ("linear", "boosting")]
    parts.append(fitted(encoder, "linear", binary))
    model = CombinedModel(parts, [0.5, 0.4, 0.0], 0.1)
    rows = encoder.encode(table(300, 7))
    scores = [part.score(encoder.encode(table(300, 7))) for part in parts]
    with model.remembering(rows):
        told = [model.explained(rows[part])[0] for part in (slice(200), slice(200, None))]
    asked = []
    raw = EncodedModel.raw
    monkeypatch.setattr(
        EncodedModel, "raw", lambda own, *rest: asked.append(own) or raw(own, *rest)
    )
    for part, score in zip(parts, scores, strict=True):
        np.testing.assert_array_equal(part.score(rows), score)
    # That which nothing was asked of, and it alone.
    assert asked == parts[2:]
    np.testing.assert_allclose(np.concatenate(told), model.score(rows), rtol=0, atol=1e-12)
    assert parts[0].score(rows[:5]).shape == (5,) and asked[1:] == parts[:1]
