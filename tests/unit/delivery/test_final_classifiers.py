"""What a study of classifiers delivers: scores of a table of one's own, and of new rows."""

from types import MappingProxyType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.constraints import GivenScores
from counterweight.delivery.final_classifiers import chosen_of, cuts_of, expected_rates
from counterweight.errors import CounterweightError
from counterweight.tables.parquet import read_facts
from counterweight.tasks.own_studies import columns_of, condition_of
from delivering import Own
from study_parts import stored_model

ROWS = 500
PROMISE = "coverage(women) >= 0.8 * coverage(men)"
ENTRY = {
    "id": "id",
    "outcome": {"column": "hired", "positive": "yes"},
    "promises": [PROMISE],
    "groups": {"women": {"sex": "Female"}, "men": {"sex": "Male"}},
}
STUDY = {
    "repeats": 1,
    "baseline": "unconstrained",
    "evaluation": {
        "protocol": "rates",
        "measures": {
            "error": "error(everyone)",
            "women": "coverage(women)",
            "men": "coverage(men)",
        },
    },
    "columns": ["accuracy"],
    "models": [
        {"model": "constrained", "name": "unconstrained", "standardise": True},
        {
            "model": "constrained",
            "name": "promised",
            "standardise": True,
            "constraints": [PROMISE],
            "steps": 4,
        },
        {
            "model": "constrained",
            "name": "swept",
            "standardise": True,
            "constraints": ["coverage(men) <= coverage(women) / kappa"],
            "steps": 2,
            "sweep": {"kappa": [0.8, 1.0]},
        },
        {"model": "group_thresholds", "name": "thresholds", "groups": ["men", "women"]},
        {"model": "shifted_threshold", "name": "shifted", "constraint": "coverage(men) <= 0.3"},
        {"model": "exponentiated_gradient", "name": "gradient", "groups": ["men", "women"]},
        {
            "model": "reductions",
            "name": "reduced",
            "classifier": {"model": "gradient_boosting", "max_iter": 5},
            "constraints": [PROMISE],
            "fits": 6,
        },
        {"model": "gradient_boosting", "name": "boosted", "max_iter": 10},
        {
            "model": "costing",
            "name": "costing",
            "classifier": {"model": "gradient_boosting", "max_iter": 5},
            "models": 3,
        },
        {"model": "map_adapted", "name": "adapted"},
    ],
}
WAYS = [("unconstrained", ""), ("promised", ""), ("swept", "kappa=0.8"), ("thresholds", "")]
WAYS += [("shifted", ""), ("gradient", ""), ("boosted", "")]
WAYS += [("costing", ""), ("adapted", ""), ("reduced", "")]


def people(n=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["Female", "Male"], n)
    score = rng.normal(size=n).round(4) + 0.4 * (sex == "Male")
    school = rng.choice(["none", "trade", "college"], n, p=[0.2, 0.5, 0.3])
    years = pd.Series(rng.integers(0, 30, n), dtype="Int64").mask(rng.random(n) < 0.1)
    z = score + 0.6 * (school == "college") + rng.normal(size=n) * 0.7 + 0.3 * (sex == "Male")
    return pd.DataFrame(
        {
            "id": [f"{at:05d}x" for at in rng.permutation(n)],
            "sex": sex,
            "score": score,
            "school": school,
            "years": years,
            "hired": np.where(z > 0.5, "yes", "no"),
        }
    )


def own(folder, way, score=None, study=STUDY, frame=None, entry=MappingProxyType({})):
    frame = people() if frame is None else frame
    deliver = {"method": way[0], "setting": way[1]}
    given = {"score": score} if score else {}
    made = Own(folder, frame, ENTRY | dict(entry) | given | {"study": study | {"deliver": deliver}})
    made.run("label")
    return made, frame


def test_neither_names_nor_the_order_of_rows_and_columns_decide_who_gets_a_yes(tmp_path):
    called = {"score": "zz", "school": "Alter", "hired": "a"}
    frame = people()
    order = np.random.default_rng(4).permutation(ROWS)
    again = frame.rename(columns=called).iloc[order, ::-1]
    study = STUDY | {"repeats": 2, "models": [STUDY["models"][1], STUDY["models"][7]]}
    entry = {"outcome": ENTRY["outcome"] | {"column": "a"}}
    told = []
    for name, one, told_of in (("first", frame, {}), ("second", again, entry)):
        (tmp_path / name).mkdir()
        study["baseline"] = "promised"
        made, _ = own(tmp_path / name, ("promised", ""), study=study, frame=one, entry=told_of)
        measured = []
        for method in ("promised", "boosted"):
            made.run("train", method)
            measured += [pd.DataFrame(made.run("evaluate", method))]
        files = made.run("deliver")
        scores = pd.read_parquet(files["table"]).set_index("id")
        measured.append(pd.read_parquet(files["metrics"]))
        labels = pd.read_parquet(made.at.labels).set_index(["repeat", "row"])["role"].unstack(0)
        told.append((scores.join(labels.set_axis(one["id"])), *measured))
        assert list(pd.read_parquet(files["table"])["id"]) == one["id"].to_list()
    for ours, theirs in zip(*told, strict=True):
        pd.testing.assert_frame_equal(ours, theirs.loc[ours.index], check_exact=True)


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_new_rows_get_the_answers_that_the_table_got(tmp_path, way):
    if way[0] == "gradient":
        pytest.importorskip("fairlearn")
    # The same people in another order, without their outcome, with a column beside.
    frame = people()
    order = np.random.default_rng(1).permutation(ROWS)
    new = frame.drop(columns="hired").iloc[order].assign(beside="x")
    new.to_csv(tmp_path / "new.csv", index=False)
    made, _ = own(tmp_path, way, str(tmp_path / "new.csv"))
    files = made.run("deliver")
    told = pd.read_parquet(files["table"])
    assert list(told) == ["id", "estimate", "decision"]
    assert told["id"].tolist() == frame["id"].tolist()
    assert told["estimate"].between(0, 1).all() and 0 < told["decision"].mean() < 1
    applied = pd.read_parquet(table := made.run("apply")["table"])
    assert applied["id"].tolist() == frame["id"].iloc[order].tolist()
    assert applied["decision"].tolist() == told["decision"].iloc[order].tolist()
    np.testing.assert_allclose(applied["estimate"], told["estimate"].iloc[order], atol=1e-12)
    if way[0] in ("promised", "swept", "reduced"):
        women = told["decision"][frame["sex"] == "Female"]
        assert read_facts(table)["groups"]["women"] == [len(women), women.sum()]
        new.drop(columns="sex").to_csv(tmp_path / "new.csv", index=False)
        assert "groups" not in read_facts(made.run("apply")["table"])
    words = pd.read_csv(files["csv"], dtype={"id": str})
    assert (words["decision"] == "yes").tolist() == told["decision"].tolist()
    np.testing.assert_array_equal(words["estimate"], told["estimate"])

    # From Python, one by one and all at once.
    saved = load(files["model"].parent)
    np.testing.assert_array_equal(saved.decide(frame), told["decision"])
    assert saved.predict_proba(frame).shape == (ROWS, 2)
    some = [saved.predict_proba(frame.iloc[at : at + 1])[0, 1] for at in range(20)]
    np.testing.assert_allclose(some, told["estimate"][:20], atol=1e-12)
    assert saved.decide(frame.iloc[:1])[0] == told["decision"][0]


def test_the_final_fit_is_on_training_and_test_rows_and_reads_no_truth(tmp_path):
    made, frame = own(tmp_path, ("promised", ""))
    labels = pd.read_parquet(made.at.labels)
    assert (labels["role"] == "test").sum() == 150
    truth = made.at.truth
    pd.read_parquet(truth).assign(y_general=0).to_parquet(truth)
    saved = load(made.run("deliver")["model"].parent)
    assert saved.facts["labeled"] == saved.facts["rows"] == ROWS
    X, y = saved.encode(frame), (frame["hired"] == "yes").astype(int)
    from counterweight.models.constraints.constrained import ConstrainedClassifier

    again = ConstrainedClassifier(constraints=(PROMISE,), standardise=True, steps=4)
    groups = {"women": frame["sex"] == "Female", "men": frame["sex"] == "Male"}
    again.fit(X, y, datasets={name: mask.to_numpy() for name, mask in groups.items()})
    np.testing.assert_allclose(again.coef_, saved.model.coef_, atol=1e-12)


def test_promises_are_told_as_the_rows_of_the_fit_show_them(tmp_path):
    made, frame = own(tmp_path, ("promised", ""))
    told = pd.read_parquet(made.run("deliver")["table"])
    saved = load(made.at.folder)
    (promise,) = saved.promises
    women, men = (frame["sex"] == sex for sex in ("Female", "Male"))
    for name, value in (("excess", told["estimate"]), ("excess_decided", told["decision"] * 1.0)):
        excess = 0.8 * value[men].mean() - value[women].mean()
        assert promise[name] == pytest.approx(excess, abs=1e-12)
    assert promise["excess"] <= 1e-6
    assert saved.facts["measures"]["women"] == pytest.approx(
        [told["estimate"][women].mean(), told["decision"][women].mean()]
    )
    assert len(saved.kept()) == 1 and "by chances kept" in saved.kept()[0]
    unconstrained, _ = own(tmp_path, ("unconstrained", ""))
    unconstrained.run("deliver")
    assert load(unconstrained.at.folder).promises == []


def blank(frame, rng):
    """The outcome is known of whom was taken, by an old rule that a column tells."""
    taken = frame["score"] + rng.normal(size=len(frame)) > -0.5
    old = pd.Series(np.where(taken, "taken", "sent away"), dtype="str")
    return frame.assign(old=old, hired=frame["hired"].where(taken))


OLD = {"deployed": {"column": "old", "positive": "taken"}}
BLANKS = STUDY | {
    "baseline": "weighted",
    "evaluation": {
        "protocol": "rates",
        "measures": {"error": "error(labeled)", "churn": "churn(everyone)"},
    },
    "models": [
        {
            "model": "constrained",
            "name": "promised",
            "standardise": True,
            "constraints": [PROMISE, "churn(everyone) <= 0.4"],
            "steps": 4,
        },
        {"model": "constrained", "name": "weighted", "standardise": True, "weights": "lemma1"},
    ],
    "selection": [{"selector": "logistic"}],
    "weighting": [{"weighting": "lemma1"}],
}


def test_blank_outcomes_and_old_decisions(tmp_path):
    frame = blank(people(800), np.random.default_rng(3))
    made, _ = own(tmp_path, ("promised", ""), study=BLANKS, frame=frame, entry=OLD)
    # Rows stand in the order of their content: here in that of the table.
    labels = pd.read_parquet(made.at.labels).sort_values("row", ignore_index=True)
    train = labels["role"] != "test"
    assert (labels["selected"] == frame["hired"].notna()).all()
    assert (labels["y_general"].notna() == (train & frame["hired"].notna())).all()
    made.run("train", "promised")
    records = pd.DataFrame(made.run("evaluate", "promised"))
    records = records[records["target"] == "general"]
    told = pd.read_parquet(made.at.predictions("promised")).sort_values("row", ignore_index=True)
    test = frame[~train]
    decided = told["decision"].to_numpy() > 0
    seen = test["hired"].notna().to_numpy()
    values = records[records["metric"] == "deterministic"].set_index("measure")["value"]
    wrong = decided[seen] != (test["hired"][seen] == "yes")
    assert values["error"] == pytest.approx(wrong.mean())
    assert values["churn"] == pytest.approx((decided != (test["old"] == "taken")).mean())
    accuracy = records.set_index("metric")["value"]["accuracy"]
    assert accuracy == pytest.approx(1 - wrong.mean())

    told = pd.read_parquet(made.run("deliver")["table"])
    saved = load(made.at.folder)
    assert saved.facts["labeled"] == seen.sum() + (train & frame["hired"].notna()).sum()
    assert len(told) == saved.facts["rows"] == 800
    churn = (told["decision"] != (frame["old"] == "taken")).mean()
    assert saved.facts["measures"]["churn"][1] == pytest.approx(churn)
    assert all(promise["excess"] <= 1e-6 for promise in saved.promises)
    # New people need no old decision.
    new = frame.drop(columns=["old", "hired", "sex"])
    np.testing.assert_array_equal(saved.decide(new), told["decision"])


def test_rates_among_rows_without_outcome_go_by_their_chances():
    """Chances of 0 and 1 that are right give the rates of the whole table, to the digit."""
    rng = np.random.default_rng(0)
    truth, decided, women = (rng.random((3, 400)) < [[0.4], [0.5], [0.3]]).astype(bool)
    seen = rng.random(400) < np.where(truth == decided, 0.8, 0.3)
    asked = ["recall(women) >= 0.7", "false_positive_rate(labeled) <= 0.3 * coverage(women)"]
    told = {
        name: SimpleNamespace(
            sampled=lambda repeat, target, y=y: {"X": None, "y": y, "members": {"women": women}}
        )
        for name, y in (("whole", truth * 1), ("blank", np.where(seen, truth, -1)))
    }
    answers = truth.astype(float), decided, {"constraints": asked}
    records = pd.DataFrame(expected_rates(told["blank"], "general", *answers))
    found = {name: rows.set_index("part")["value"] for name, rows in records.groupby("metric")}
    assert found["fit_labeled"].tolist() == [seen.sum()]
    for name, rows in (("seen", seen), ("expected", np.ones(400, bool))):
        recall = decided[rows & truth & women].mean()
        false = decided[rows & ~truth].mean()
        assert dict(found[f"rate_{name}"]) == {
            "recall(women)": pytest.approx(recall),
            "false_positive_rate(labeled)": pytest.approx(false),
        }
    assert not expected_rates(told["whole"], "general", *answers)
    answers = *answers[:2], {"constraints": ["coverage(women) >= 0.7"]}
    assert not expected_rates(told["blank"], "general", *answers)


def test_a_model_that_sees_unlabeled_rows_is_given_away(tmp_path):
    frame = blank(people(600), np.random.default_rng(3))
    models = [{"model": "bickel_joint", "name": "promised", "loss": "exponential"}]
    models += [one for one in STUDY["models"] if one.get("constraints") == [PROMISE]][:1]
    models[1] = models[1] | {"name": "kept"}
    study = BLANKS | {"baseline": "promised", "models": models}
    made, _ = own(tmp_path, ("promised", ""), study=study, frame=frame, entry=OLD)
    told = pd.read_parquet(made.run("deliver")["table"])
    saved = load(made.at.folder)
    assert saved.facts["labeled"] == frame["hired"].notna().sum() < saved.facts["rows"]
    np.testing.assert_array_equal(saved.decide(frame), told["decision"])
    X, seen = saved.encode(frame), frame["hired"].notna().to_numpy()
    from counterweight.models.joint_fits import JointClassifier

    again = JointClassifier(loss="exponential")
    again.fit(X[seen], (frame["hired"][seen] == "yes").to_numpy(int), X_unlabeled=X[~seen])
    np.testing.assert_allclose(told["estimate"], again.predict_proba(X)[:, 1], atol=1e-9)


def test_weights_of_the_final_fit_are_those_of_the_whole_table(tmp_path):
    frame = blank(people(800), np.random.default_rng(3))
    made, _ = own(tmp_path, ("weighted", ""), study=BLANKS, frame=frame, entry=OLD)
    made.run("deliver")
    saved = load(made.at.folder)
    from counterweight.models.constraints.constrained import ConstrainedClassifier
    from counterweight.numerics.linear import fit_logistic, logistic_probability

    X, known = saved.encode(frame), frame["hired"].notna().to_numpy()
    p = logistic_probability(X, *fit_logistic(X, known.astype(int))[:2])[known]
    y = np.where(known, frame["hired"] == "yes", -1)
    # With the plain inverse chances, which cross-fitting and calibration move a little.
    again = ConstrainedClassifier(standardise=True)
    plain = again.fit(X, y).predict_proba(X)[:, 1]
    weight = np.ones(len(X))
    weight[known] = known.mean() / p
    weighted = again.fit(X, y, weight).predict_proba(X)[:, 1]
    given = saved.predict_proba(frame)[:, 1]
    assert np.abs(given - weighted).mean() < 0.5 * np.abs(plain - weighted).mean()


def test_a_tilt_is_given_away_with_the_classifiers_within(tmp_path):
    """Of the target that the study asks for; fitted to all rows, those without labels included."""
    frame = blank(people(800), np.random.default_rng(3))
    new = frame.drop(columns=["hired", "old"])
    new.to_csv(tmp_path / "new.csv", index=False)
    trees = {"model": "gradient_boosting", "max_iter": 5}
    tilt = {"model": "tilted", "delta": {"by": "times", "times": 0.5}, "selection": trees}
    study = BLANKS | {"models": [*BLANKS["models"], tilt], "selection": [{"selector": "logistic"}]}
    made, _ = own(tmp_path, ("tilted", ""), str(tmp_path / "new.csv"), study, frame, OLD)
    made.run("train", "tilted")
    told = pd.read_parquet(made.run("deliver")["table"])
    applied = pd.read_parquet(made.run("apply")["table"])
    np.testing.assert_allclose(applied["estimate"], told["estimate"], atol=1e-12)
    saved = load(made.at.folder)
    X = saved.encode(frame)
    p = {to: saved.model.predict_proba(X, to)[:, 1] for to in ("general", "labeled", "unlabeled")}
    np.testing.assert_array_equal(saved.predict_proba(frame)[:, 1], p["general"])
    odds = [p[to] / (1 - p[to]) for to in ("unlabeled", "labeled")]
    np.testing.assert_allclose(odds[0], 0.5 * odds[1])
    s = frame["hired"].notna()
    chosen = saved.model.chooser_.positive(X)
    assert chosen[s].mean() > chosen[~s].mean() + 0.1 and saved.facts["labeled"] == s.sum()


def test_bad_new_rows_are_refused_in_a_sentence(tmp_path):
    made, frame = own(tmp_path, ("thresholds", ""))
    made.run("deliver")
    saved = load(made.at.folder)
    cases = [
        (frame.iloc[:0], "no row"),
        (frame.drop(columns="score"), "no column score"),
        (frame.drop(columns="sex"), "no column sex"),
        (frame.assign(score=["high"] + ["1"] * (ROWS - 1)), "row 0.*'score' holds 'high'"),
        (frame.assign(score=np.inf), "infinite"),
    ]
    for bad, message in cases:
        with pytest.raises(CounterweightError, match=message) as caught:
            saved.predict_proba(bad)
        assert "\n" not in str(caught.value)
    with pytest.raises(CounterweightError, match="no column 'id'"):
        saved.scores(frame.drop(columns="id"))


def test_what_cannot_be_given_away_is_refused_before_anything_runs(tmp_path):
    for way, message in (
        (("promise", ""), "deliver.method is 'promise', which is none.*did you mean 'promised'"),
        (("swept", "kappa=0.9"), "deliver.setting is 'kappa=0.9'.*'kappa=0.8'"),
        (("swept", ""), "deliver.setting is ''"),
    ):
        with pytest.raises(CounterweightError, match=message):
            own(tmp_path, way)


def test_new_people_that_are_unlike_those_of_the_fit_are_told(tmp_path, caplog):
    frame = people()
    frame.assign(score=frame["score"] * 1000).to_csv(tmp_path / "new.csv", index=False)
    made, _ = own(tmp_path, ("unconstrained", ""), str(tmp_path / "new.csv"))
    made.run("deliver")
    made.run("apply")
    assert "'score' has changed" in caplog.text and "'years' has" not in caplog.text


def test_ten_lines_make_a_study_of_promises(tmp_path):
    frame = blank(people(350), np.random.default_rng(3)).assign(
        begun=pd.date_range("2020-01-01", periods=350).strftime("%d.%m.%Y"),
        wage=[f"{value:.2f}".replace(".", ",") for value in np.linspace(8, 30, 350)],
    )
    new = frame.drop(columns=["hired", "sex", "old"]).iloc[::-1]
    new.to_csv(tmp_path / "new.csv", index=False)
    promises = [PROMISE, "churn(everyone) <= 0.4"]
    entry = ENTRY | OLD | {"promises": promises, "score": str(tmp_path / "new.csv")}
    made = Own(tmp_path, frame, entry)
    assert list(made.study["methods"]) == ["logistic", "unconstrained", "promised"]
    made.run("label")
    features = pd.read_parquet(made.at.features)
    assert {"begun", "wage", "score", "years"} <= set(features)
    assert not [name for name in features if name.split("=")[0] in ("sex", "old", "hired", "id")]
    for method in made.study["methods"]:
        made.run("train", method)
        assert len(made.run("evaluate", method)) > 10
    told = pd.read_parquet(made.run("deliver")["table"])
    saved = load(made.at.folder)
    assert [kept["excess"] <= 1e-6 for kept in saved.promises] == [True, True]
    applied = pd.read_parquet(made.run("apply")["table"])
    assert applied["id"].tolist() == told["id"].tolist()[::-1]
    assert applied["decision"].tolist() == told["decision"].tolist()[::-1]
    np.testing.assert_allclose(applied["estimate"], told["estimate"][::-1], atol=1e-12)


@pytest.mark.parametrize(
    "told, condition",
    [
        ({"sex": "Female"}, {"column": "sex", "value": "Female"}),
        ({"sex": ["a", "b"]}, {"column": "sex", "values": ["a", "b"]}),
        ({"age": {"at_least": 60}}, {"column": "age", "at_least": 60}),
        (
            {"sex": "a", "age": {"below": 9}},
            {"all": [{"column": "sex", "value": "a"}, {"column": "age", "below": 9}]},
        ),
        ({"column": "sex", "value": "a"}, {"column": "sex", "value": "a"}),
    ],
)
def test_conditions_are_as_short_as_people_write_them(told, condition):
    assert condition_of(told) == condition
    assert columns_of({"one": condition}) in (["sex"], ["age"], ["sex", "age"])


def test_the_best_of_several_starts_is_no_worse_than_either_by_chance_and_by_decision():
    from counterweight import ConstrainedClassifier

    frame = people(600)
    X = frame[["score"]].assign(years=frame["years"].fillna(0)).to_numpy(float)
    y = (frame["hired"] == "yes").astype(int).to_numpy()
    women = (frame["sex"] == "Female").to_numpy()

    def worst(start, steps):
        """The larger error of a fit: that of its chances, or that of its decisions."""
        fit = ConstrainedClassifier(
            constraints=(PROMISE,), standardise=True, steps=steps, start=start
        ).fit(X, y, datasets={"women": women, "men": ~women})
        assert fit.feasible_ and fit.get_params()["start"] == start
        chance = fit.predict_proba(X)[:, 1]
        return max(np.abs(y - chance).mean(), (fit.predict(X) != y).mean())

    for steps in (3, 8):
        errors = {start: worst(start, steps) for start in ("zero", "svm", "best")}
        assert errors["best"] <= min(errors["zero"], errors["svm"]) + 5e-4


def against_old(rows=600):
    """A table with old decisions, and with scores that somebody else made."""
    rng = np.random.default_rng(5)
    frame = people(rows, 5)
    score = 1 / (1 + np.exp(-frame["score"] - rng.normal(size=rows) * 0.3))
    old = np.where(frame["score"] + rng.normal(size=rows) * 0.4 > 0.4, "taken", "left")
    return frame.assign(old=old, theirs=score.round(4))


def test_recall_fairness_and_churn_against_old_decisions_by_config_alone(tmp_path):
    frame = against_old()
    frame.drop(columns=["hired", "old"]).to_csv(tmp_path / "new.csv", index=False)
    promises = [
        "recall(labeled) >= deployed_recall(labeled)",
        "coverage(women) >= 0.7 * coverage(men)",
        "churn(everyone) <= 0.3",
    ]
    entry = {key: ENTRY[key] for key in ("id", "outcome", "groups")} | {
        "deployed": {"column": "old", "positive": "taken"},
        "promises": promises,
        "score": str(tmp_path / "new.csv"),
        "study": {"repeats": 1},
    }
    made = Own(tmp_path, frame, entry)
    made.run("label")
    assert "old=taken" not in set(pd.read_parquet(made.at.features))
    for method in ("unconstrained", "promised"):
        made.run("train", method)
        records = pd.DataFrame(made.run("evaluate", method))
        told = records[records["metric"] == "promise_excess_deterministic"]
        assert told.groupby("target")["part"].nunique().to_dict() == {"general": 3, "train": 3}
        assert told.loc[told["target"] == "general", "standard_error"].gt(0).all()
        if method == "promised":
            assert told.loc[told["target"] == "train", "value"].max() <= 1e-6
    told = pd.read_parquet(made.run("deliver")["table"])
    saved = load(made.at.folder)
    decided, old = told["decision"].to_numpy(), (frame["old"] == "taken").to_numpy()
    yes = (frame["hired"] == "yes").to_numpy()
    assert decided[yes].mean() >= old[yes].mean() - 1e-9
    assert (decided != old).mean() <= 0.3 + 1e-9
    women = (frame["sex"] == "Female").to_numpy()
    assert decided[women].mean() >= 0.7 * decided[~women].mean() - 1e-9
    assert [one.verdict for one in saved.promises_] == ["kept"] * 6
    assert saved.certificate.startswith("No certificate: all rows had a say")
    applied = pd.read_parquet(made.run("apply")["table"])
    assert applied["decision"].tolist() == told["decision"].tolist()


@pytest.mark.parametrize("repair", ["everyone", "by_group"])
def test_scores_of_others_are_decided_on_under_promises(tmp_path, repair):
    frame = against_old()
    new = frame.drop(columns=["hired", "old", "score", "school", "years"])
    new.to_csv(tmp_path / "new.csv", index=False)
    entry = {key: ENTRY[key] for key in ("id", "outcome", "groups")} | {
        "scores": {"column": "theirs", "above": 0.6},
        "repair": repair,
        "promises": ["coverage(women) >= 0.9 * coverage(men)", "coverage(everyone) <= 0.5"],
        "score": str(tmp_path / "new.csv"),
        "study": {"repeats": 1},
    }
    made = Own(tmp_path, frame, entry)
    made.run("label")
    assert list(pd.read_parquet(made.at.features)) == ["row", "theirs"]
    told = pd.read_parquet(made.run("deliver")["table"])
    saved = load(made.at.folder)
    women = (frame["sex"] == "Female").to_numpy()
    cut = saved.model.thresholds_ + 0.6
    own = cut[women.astype(int) * 0] if repair == "everyone" else None
    if repair == "everyone":
        assert told["decision"].tolist() == (frame["theirs"] > own).tolist()
    else:
        # Members of women come last in the order of 0 and 1.
        of_women = cut[saved.model.threshold_groups_.reshape(2, 2)[:, 0].argmax()]
        of_men = cut[saved.model.threshold_groups_.reshape(2, 2)[:, 1].argmax()]
        expected = frame["theirs"] > np.where(women, of_women, of_men)
        assert told["decision"].tolist() == expected.tolist()
        assert of_women < of_men
    assert [one.verdict for one in saved.promises_] == ["kept"] * 4
    applied = pd.read_parquet(made.run("apply")["table"])
    assert applied["decision"].tolist() == told["decision"].tolist()


@pytest.mark.parametrize("given", [{}, {"scores": {"column": "theirs", "above": 0.6}}])
def test_a_certified_fit_is_given_away_as_such(tmp_path, given):
    frame = people(1500, 3)
    frame["theirs"] = np.random.default_rng(3).normal(0.5, 0.3, len(frame)).round(3)
    entry = (
        ENTRY
        | given
        | {
            "promises": ["coverage(women) >= 0.5 * coverage(men)"],
            "confidence": 0.9,
            "held_out": 0.4,
            "study": {"repeats": 1},
        }
    )
    made = Own(tmp_path, frame, entry)
    made.run("label")
    told = pd.read_parquet(made.run("deliver")["metrics"]).set_index("metric")["value"]
    known = {"confidence": 0.9, "certified": 1, "held_out": 0.4, "shown": 0, "needed": 0}
    known |= {"stable": 1, "judges": 600}
    assert {name: told[f"fit_{name}"] for name in known} == known
    assert (told["fit_cost"] >= told["fit_constant"]) == bool(told["fit_behind"])
    assert (told["fit_constant"] >= told["fit_free"]) and "bound_cost" in told
    saved = load(made.at.folder)
    assert saved.certificate.startswith("Certified at 90%") and saved.model.certified_
    assert {one.rows for one in saved.held_out_promises_} == {"held-out"}
    # It is the fit that was certified: that of all rows, of which a part only judged.
    assert saved.facts["rows"] == 1500
    assert all(one.high <= 0.02 for one in saved.held_out_promises_)


def test_a_model_of_a_sweep_decides_new_rows_as_the_run_did(tmp_path):
    from counterweight.tables.parquet import read_models

    made, frame = own(tmp_path, ("swept", "kappa=0.8"))
    made.run("train", "swept")
    run = pd.read_parquet(made.at.predictions("swept"))
    method = made.study["methods"]["swept"]
    kept = read_models(made.at.model("swept"))[0, "general"]
    features = pd.read_parquet(made.at.features).set_index("row")
    assert run["setting"].nunique() == 2
    for setting, part in run.groupby("setting", observed=True):
        model = stored_model(method, kept, str(setting))
        p, decided = model.answers(features.loc[part["row"]].to_numpy())
        np.testing.assert_array_equal(p, part["p"])
        np.testing.assert_array_equal(decided, part["decision"] > 0)


def test_a_raw_frame_gets_labels_as_its_table_has_them(tmp_path):
    from sklearn.metrics import accuracy_score

    rng, frame = np.random.default_rng(3), people()
    frame["member"] = np.where(
        rng.random(ROWS) < 0.3 + 0.3 * (frame["hired"] == "yes"), "Ja", "Nein"
    )
    frame["score"] = [f"{one:.4f}".replace(".", ",") for one in frame["score"]]
    made, _ = own(tmp_path, ("boosted", ""), frame=frame)
    files = made.run("deliver")
    told = pd.read_parquet(files["table"]).set_index("id")
    saved, raw = load(made.at.folder), pd.read_csv(tmp_path / "own.csv", dtype={"id": str})
    old = raw[raw["years"] > 10].sample(frac=1, random_state=0)
    scores = saved.scores(old)
    assert scores.index.equals(old.index) and saved.classes_.tolist() == ["no", "yes"]
    expected = told.loc[old["id"]]
    np.testing.assert_array_equal(scores["decision"], expected["decision"])
    np.testing.assert_allclose(saved.predict_proba(old)[:, 1], expected["estimate"], atol=1e-12)
    right = ((old["hired"] == "yes").to_numpy() == expected["decision"].to_numpy()).mean()
    assert accuracy_score(old["hired"], saved.predict(old)) == right


MACHINE = {"model": "constrained", "standardise": True, "loss": "hinge", "steps": 2}


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ({"model": "given_scores", "above": 0.2}, "decision"),
        ({"model": "chosen", "candidates": [{"model": "logistic"}]}, "outcome"),
        ({"model": "chosen", "candidates": [MACHINE]}, "yes"),
        (MACHINE, "yes"),
    ],
)
def test_what_is_given_away_says_what_its_estimates_are(tmp_path, model, kind):
    models = [model | {"name": "promised", "constraints": [PROMISE]}]
    features = {"recipe": "one_hot", "only": ["score"]}
    changed = STUDY | {"models": models, "baseline": "promised", "features": features}
    files = own(tmp_path, ("promised", ""), study=changed)[0].run("deliver")
    told = pd.read_parquet(files["metrics"]).query("metric == 'estimate'")
    assert told["part"].tolist() == [kind]
    scores = pd.read_parquet(files["table"])
    assert scores["estimate"].isin([0, 1]).all() == (kind == "decision")


@pytest.mark.parametrize("at", [0, 2])
def test_what_is_given_away_of_several_is_told(at):
    costs = np.full((3, 3), np.nan)
    costs[:, 2] = np.arange(3) == at
    (record,) = chosen_of(SimpleNamespace(candidate_costs_=costs))
    assert record["part"] == str(at)
    assert chosen_of(SimpleNamespace(candidate_costs_=costs[:2])) == []


@pytest.mark.parametrize("repair", ["everyone", "by_group"])
def test_the_cut_that_is_told_makes_the_decisions(repair):
    rng = np.random.default_rng(4)
    men, label = rng.random(500) < 0.5, rng.random(500) < 0.4
    score = np.round(500 + 60 * label + 30 * men + rng.normal(0, 40, 500))[:, None]
    asked = {"constraints": ["parity(men, women, 0.95)"], "above": None, "repair": repair}
    groups = {"men": men, "women": ~men}
    model = GivenScores(**asked).fit(score, label.astype(int), datasets=groups)
    (auc, *told) = cuts_of(model)
    assert auc["metric"] == "score_auc" and auc["value"] == model.auc_.value > 0.7
    cuts = {one["part"]: one["value"] for one in told}
    assert set(cuts) == ({""} if repair == "everyone" else {"men", "women"})
    cut = np.where(men, cuts.get("men", cuts.get("")), cuts.get("women", cuts.get("")))
    decided = model.predict(score, datasets=groups)
    np.testing.assert_array_equal(decided, (score[:, 0] > cut).astype(int))
    assert cuts_of(SimpleNamespace()) == []


def test_a_score_of_which_small_values_speak_for_a_yes_is_told(caplog):
    rng = np.random.default_rng(4)
    label = (rng.random(500) < 0.4).astype(int)
    for sign in (1, -1):
        score = (sign * label + rng.normal(size=500))[:, None]
        model = GivenScores(above=None).fit(score, label)
        turned = [one for one in cuts_of(model) if one["metric"] == "score_turned"]
        told = [line for line in caplog.messages if line.startswith("High scores go with a no")]
        assert len(turned) == len(told) == (sign < 0)


def test_who_is_in_no_group_that_has_a_cut_is_told(tmp_path, caplog):
    made, frame = own(tmp_path, ("thresholds", ""))
    made.run("deliver")
    saved, told = load(made.at.folder), "3 of 500 people are in none of the groups men, women"
    saved.scores(frame)
    assert not [line for line in caplog.messages if "in none of the groups" in line]
    saved.scores(frame.assign(sex=frame["sex"].mask(frame.index < 3, "f")))
    assert [line for line in caplog.messages if line.startswith(told)]


def test_who_has_no_score_is_not_decided_by_it(tmp_path):
    frame = against_old()
    entry = {key: ENTRY[key] for key in ("id", "outcome", "groups", "promises")}
    entry |= {"scores": "theirs", "study": {"repeats": 1}}
    holes = frame.assign(theirs=frame["theirs"].mask(frame.index % 50 == 3))
    (tmp_path / "holes").mkdir()
    with pytest.raises(CounterweightError, match=r"'theirs' is missing in 12 of 600 .*row 3,"):
        Own(tmp_path / "holes", holes, entry).run("label")
    made = Own(tmp_path, frame, entry)
    made.run("label")
    made.run("deliver")
    with pytest.raises(CounterweightError, match=r"'theirs' is missing in 12 of 600 .*row 3,"):
        load(made.at.folder).scores(holes)
