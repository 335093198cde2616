"""Named data sets of the constrained classifier by columns, functions and masks of data frames."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sklearn
from counterweight.errors import CounterweightError
from counterweight.models.constraints.constrained import ConstrainedClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

PARITY = {"constraints": ["parity(men, women, 0.9)"], "steps": 2}


def people(n=600, seed=0):
    """Numbers, categories, and an outcome that men have more often."""
    rng = np.random.default_rng(seed)
    man = rng.random(n) < 0.5
    frame = pd.DataFrame(
        {
            "score": rng.normal(size=n) + 0.8 * man,
            "age": rng.integers(20, 60, n),
            "man": man,
            "city": rng.choice(["Bath", "Cork", "Dover"], n),
        },
        index=rng.permutation(n) + 1000,
    )
    y = (frame["score"] + (frame["city"] == "Cork") + rng.normal(size=n) > 1).astype(int)
    return frame, y.to_numpy()


def told(frame):
    man = frame["man"].to_numpy()
    return {
        "masks": {"men": man, "women": ~man},
        "columns": {"men": "man", "women": lambda X: ~X["man"]},
        "frame": pd.DataFrame({"men": man, "women": ~man}, index=frame.index),
        "longer": {
            name: pd.concat([own, pd.Series([True], index=[-1])])
            for name, own in {"men": frame["man"], "women": ~frame["man"]}.items()
        },
        "functions": {"men": lambda X: X["man"] == 1, "women": lambda X: X["man"] == 0},
    }


def test_however_data_sets_are_told_the_fit_is_the_same():
    frame, y = people()
    rows = frame[["score", "age", "man"]]
    first = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sets in told(frame).values():
            model = ConstrainedClassifier(**PARITY).fit(rows, y, datasets=sets)
            first = model.coef_ if first is None else first
            assert np.array_equal(model.coef_, first)
            values = [one.left for one in model.check_constraints(rows, y, datasets=sets)]
            assert values == [one.left for one in model.constraint_checks_]
    plain = ConstrainedClassifier(**PARITY)
    plain.fit(rows.to_numpy(float), y, datasets=told(frame)["masks"])
    assert np.array_equal(plain.coef_, first)


@pytest.mark.parametrize("way", ["columns", "functions"])
def test_a_cross_validation_cuts_rules_with_the_rows(way):
    frame, y = people()
    rows, sets = frame[["score", "age", "man"]], told(frame)[way]
    model, folds = ConstrainedClassifier(**PARITY), KFold(3)
    scores = cross_val_score(model, rows, y, cv=folds, params={"datasets": sets})
    assert np.array_equal(scores, by_hand(rows, y, told(frame)["frame"], folds))


def by_hand(rows, y, masks, folds):
    scores = []
    for train, test in folds.split(rows):
        model = ConstrainedClassifier(**PARITY)
        own = {name: masks[name].to_numpy()[train] for name in masks}
        model.fit(rows.iloc[train], y[train], datasets=own)
        scores.append((model.predict(rows.iloc[test]) == y[test]).mean())
    return scores


def test_masks_are_cut_by_scikit_learns_routing():
    frame, y = people()
    rows, masks, folds = frame[["score", "age", "man"]], told(frame)["frame"], KFold(3)
    weight = np.ones(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = ConstrainedClassifier(**PARITY).set_fit_request(datasets=True)
        scores = cross_val_score(model, rows, y, cv=folds, params={"datasets": masks})
        assert np.array_equal(scores, by_hand(rows, y, masks, folds))
        # In a pipeline, too, whose steps see no frame.
        steps = make_pipeline(StandardScaler(), model)
        made = cross_validate(
            steps, rows, y, cv=folds, params={"datasets": masks}, return_estimator=True
        )
        for fitted, (train, _) in zip(made["estimator"], folds.split(rows), strict=True):
            part = rows.iloc[train]
            p = fitted.predict_proba(part)[:, 1]
            share = [p[part["man"] == value].mean() for value in (True, False)]
            assert min(share) >= 0.9 * max(share) - 1e-6
        weighted = ConstrainedClassifier(**PARITY)
        weighted.set_fit_request(datasets=True, sample_weight=True)
        weighted.set_score_request(sample_weight=True)
        search = GridSearchCV(weighted, {"penalty": [0.001, 0.01]}, cv=folds)
        search.fit(rows, y, datasets=masks, sample_weight=weight)
        own = ConstrainedClassifier(**PARITY, penalty=search.best_params_["penalty"])
        own.fit(rows, y, weight, datasets=masks)
        assert np.array_equal(search.best_estimator_.coef_, own.coef_)


def test_arrays_that_are_not_cut_are_refused_with_what_to_do():
    frame, y = people()
    rows = frame[["score", "age", "man"]]
    sets = {"men": frame["man"].to_numpy(), "women": ~frame["man"].to_numpy()}
    with pytest.raises(ValueError, match="400 rows.*a cross-validation cuts masks where"):
        cross_val_score(
            ConstrainedClassifier(**PARITY),
            rows,
            y,
            cv=3,
            params={"datasets": sets},
            error_score="raise",
        )


def test_categories_are_one_hot_and_told_by_functions():
    frame, y = people()
    sets = {"men": "man", "women": lambda X: ~X["man"], "cork": lambda X: X["city"] == "Cork"}
    asked = PARITY | {"constraints": [*PARITY["constraints"], "recall(cork) >= 0.5"]}
    model = ConstrainedClassifier(**asked).fit(frame, y, datasets=sets)
    cities = np.array(["Bath", "Cork", "Dover"])
    dummies = (frame["city"].to_numpy()[:, None] == cities).astype(float)
    by_hand = np.column_stack([dummies, frame[["score", "age", "man"]].to_numpy(float)])
    masks = {
        name: (frame[rule] if isinstance(rule, str) else rule(frame)).to_numpy()
        for name, rule in sets.items()
    }
    plain = ConstrainedClassifier(**asked).fit(by_hand, y, datasets=masks)
    assert np.array_equal(model.coef_, plain.coef_)
    assert np.array_equal(model.predict(frame), plain.predict(by_hand))
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list(frame.columns)
    on_frame = model.check_constraints(frame, y, datasets=sets)
    assert [one.left for one in on_frame] == [one.left for one in plain.constraint_checks_]
    words = np.array(["bad", "good"])[y]
    named = ConstrainedClassifier(**asked).fit(frame, words, datasets=sets)
    assert named.check_constraints(frame, words, datasets=sets) == on_frame
    # Of rows from elsewhere: an unknown city has no column, as typed in a category or a text.
    new, _ = people(50, seed=1)
    new["city"] = new["city"].replace("Dover", "Ely").astype("category")
    coded = by_hand[:50].copy()
    coded[:, :3] = new["city"].to_numpy().astype(object)[:, None] == cities
    coded[:, 3:] = new[["score", "age", "man"]].to_numpy(float)
    assert np.array_equal(model.predict_proba(new), plain.predict_proba(coded))
    assert len(cross_val_score(model, frame, y, cv=3, params={"datasets": sets})) == 3
    with pytest.raises(CounterweightError, match="pickle"):
        model.to_arrays()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(frame), model.predict(frame))


def test_a_missing_category_is_one_however_it_is_told():
    frame, y = people()
    frame["city"] = frame["city"].astype(object)
    frame.loc[frame["man"], "city"] = None
    model = ConstrainedClassifier().fit(frame, y)
    assert len(model.coef_) == 3 + 4
    for other in (frame["city"].astype("category"), frame["city"].astype("string")):
        assert np.array_equal(
            model.predict_proba(frame.assign(city=other)), model.predict_proba(frame)
        )


def test_thresholds_of_groups_find_their_groups_in_a_frame():
    frame, y = people()
    rows = frame[["score", "age", "man"]]
    sets = told(frame)["columns"]
    model = ConstrainedClassifier(**PARITY, repair="by_group").fit(rows, y, datasets=sets)
    decided = model.predict(rows)
    assert np.array_equal(decided, model.predict(rows, datasets=told(frame)["masks"]))
    share = [decided[frame["man"] == value].mean() for value in (True, False)]
    assert min(share) >= 0.9 * max(share) - 1e-6
    assert (cross_val_score(model, rows, y, cv=3, params={"datasets": sets}) > 0.5).all()


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({"men": "men"}, "no column 'men' for the data set men; did you mean man"),
        ({"men": "city"}, "'city' of the data set men must be true or false.*lambda X"),
        ({"men": "age"}, "'age' of the data set men must be true or false"),
        ({"men": lambda X: X["sex"]}, "function of the data set men cannot use.*KeyError"),
        ({"men": lambda X: X["age"]}, "men needs one true or false"),
        ({"men": pd.Series([True] * 600)}, "men has another index than the rows"),
    ],
)
def test_data_sets_that_cannot_be_told_are_named(sets, message):
    frame, y = people()
    with pytest.raises(ValueError, match=message):
        ConstrainedClassifier(constraints=["coverage(men) <= 0.5"]).fit(frame, y, datasets=sets)
    if "no column" in message:
        with pytest.raises(ValueError, match="the rows are no data frame"):
            ConstrainedClassifier().fit(frame[["age"]].to_numpy(), y, datasets=sets)


def test_columns_that_are_no_categories_are_refused():
    frame, y = people()
    frame["name"] = [f"person {k}" for k in range(len(frame))]
    with pytest.raises(ValueError, match="'name' of the features has 600 different texts"):
        ConstrainedClassifier().fit(frame, y)
    frame["name"] = pd.Timestamp("2020-01-01")
    with pytest.raises(ValueError, match="'name' of the features holds dates"):
        ConstrainedClassifier().fit(frame, y)
    model = ConstrainedClassifier().fit(frame.drop(columns="name"), y)
    with pytest.raises(ValueError, match="yet now missing:\n- man\n- city"):
        model.predict(frame[["score", "age"]])


def test_frames_of_other_libraries_answer_as_pandas_do():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=300), "kind": rng.choice(["u", "v"], 300)})
    y = (frame["a"] + rng.normal(size=300) > 0).astype(int)
    asked = {"constraints": ["recall(women) >= 0.6"]}
    sets = {"women": lambda rows: rows["kind"] == "u"}
    mine = ConstrainedClassifier(**asked).fit(frame, y, datasets=sets)
    other = ConstrainedClassifier(**asked).fit(pa.table(frame), y, datasets=sets)
    assert mine.feature_names_in_.tolist() == other.feature_names_in_.tolist() == ["a", "kind"]
    told = mine.predict_proba(frame)
    np.testing.assert_array_equal(told, other.predict_proba(frame))
    np.testing.assert_array_equal(told, mine.predict_proba(pa.table(frame)))
