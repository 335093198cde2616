"""A classifier of labeled rows, moved to the unlabeled: in worlds where that is right or wrong."""

import copy
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from counterweight.errors import CounterweightError
from counterweight.evaluation.predictions import describe_fits
from counterweight.models import tilted as tilted_module
from counterweight.models.logistic import LogisticModel
from counterweight.models.tilted import DELTA, OPTIONS, Calibrated, TiltedClassifier
from counterweight.models.training import train_repeat
from counterweight.numerics.tilt import tilted
from counterweight.plan import components, config
from counterweight.plan.methods import looked_up
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages.selection_page import TILTS, assumptions
from counterweight.reporting.report_jobs import report_plan
from counterweight.reporting.sheets import build
from counterweight.tables.parquet import metrics_table
from counterweight.tables.study_data import StudyData
from scipy.special import expit, logit
from sklearn.naive_bayes import GaussianNB
from small_config import SMALL

DOCS = Path(__file__).resolve().parents[3] / "docs" / "tilt.md"
WAY = np.array([1.0, 0.7, 0.0])
KEEP = {"by": "em", "at_end": "keep"}
EM, LABEL_ONLY, RATE = {"by": "em"}, {"by": "label_only"}, {"by": "rate", "rate": 0.2}


def label_shift(seed, labeled=1500, target=2000, prior=0.4, rate=0.2):
    """Features given the label are alike; the true delta is the difference of the log odds."""
    rng = np.random.default_rng(seed)

    def drawn(n, share):
        y = (rng.random(n) < share).astype(int)
        return rng.normal(size=(n, 3)) + y[:, None] * WAY, y

    return *drawn(labeled, prior), *drawn(target, rate)


def other_features(seed, delta=-1.0, n=4000):
    """The tilt is right, and features differ whatever the label: no label shift."""
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + [0.0, 1.5]
    p, q = expit(X @ [1.0, 0.8] - 0.5), expit(U @ [1.0, 0.8] - 0.5 + delta)
    return X, (rng.random(n) < p).astype(int), U, (rng.random(n) < q).astype(int)


def fitted(X, y, U, **options):
    return TiltedClassifier(**options).fit(X, y, X_unlabeled=U, rng=np.random.default_rng(1))


@pytest.mark.parametrize("delta", [EM, LABEL_ONLY, {"by": "moments"}, RATE], ids=lambda d: d["by"])
def test_delta_is_found_where_its_model_holds(delta):
    true = logit(0.2) - logit(0.4)
    models = [fitted(*label_shift(seed)[:3], delta=delta).delta_ for seed in range(12)]
    z = np.array([(found.value - true) / found.standard_error for found in models])
    assert np.abs(z).max() < 3 and abs(z.mean()) < 3 / np.sqrt(len(z))


def test_answers_are_of_the_population_that_is_asked_for():
    X, y, U, hidden = label_shift(3, 20000, 20000)
    model = fitted(X, y, U)
    new = np.random.default_rng(9).normal(size=(4000, 3)) + 0.3
    seen, unseen, all_ = (
        model.predict_proba(new, target)[:, 1] for target in ("labeled", "unlabeled", "general")
    )
    # p(y|x, s) of this world in closed form; the general one mixes both by p(s|x).
    score = new @ WAY - WAY @ WAY / 2
    true = {rate: expit(logit(rate) + score) for rate in (0.4, 0.2)}
    dense = {rate: 1 - rate + rate * np.exp(score) for rate in (0.4, 0.2)}
    chosen = dense[0.4] / (dense[0.4] + dense[0.2])
    assert np.abs(seen - true[0.4]).mean() < 0.02
    assert np.abs(unseen - true[0.2]).mean() < 0.02
    assert np.abs(all_ - chosen * true[0.4] - (1 - chosen) * true[0.2]).mean() < 0.02
    np.testing.assert_allclose(unseen, tilted(seen, model.delta_.value))
    assert model.delta_.rate == pytest.approx(hidden.mean(), abs=0.02)
    assert model.gap_left_ < 0.15


def test_without_label_shift_a_known_rate_finds_delta_and_estimates_do_not():
    X, y, U, hidden = other_features(0)
    known = fitted(X, y, U, delta={"by": "rate", "rate": float(hidden.mean())})
    assert abs(known.delta_.value + 1) < 3 * known.delta_.standard_error < 0.5
    odds = fitted(X, y, U, delta={"by": "times", "times": np.exp(-1.0)})
    p = odds.predict_proba(U, "unlabeled")[:, 1]
    assert np.abs(p - expit(U @ [1.0, 0.8] - 1.5)).mean() < 0.03
    for delta in (EM, LABEL_ONLY, {"by": "moments"}):
        wrong = fitted(X, y, U, delta=delta | {"at_end": "keep"})
        assert wrong.delta_.value > 0 and wrong.gap_left_ > 0.3


def test_swapped_labels_give_the_other_class():
    X, y, U, _ = label_shift(4)
    for delta in (LABEL_ONLY, EM):
        one, other = fitted(X, y, U, delta=delta), fitted(X, 1 - y, U, delta=delta)
        assert other.delta_.value == pytest.approx(-one.delta_.value, abs=0.01)
        assert other.delta_.rate == pytest.approx(1 - one.delta_.rate, abs=0.003)


def test_units_of_features_change_nothing():
    X, y, U, _ = label_shift(5)
    scale = np.array([1e3, 1e-3, 7.0])
    for delta in (LABEL_ONLY, EM):
        one, other = fitted(X, y, U, delta=delta), fitted(X * scale, y, U * scale, delta=delta)
        assert other.delta_.value == pytest.approx(one.delta_.value, abs=1e-4)
        np.testing.assert_allclose(other.predict_proba(U * scale), one.predict_proba(U), atol=1e-4)


def test_any_classifier_is_calibrated_before_it_is_tilted():
    """Naive Bayes on a doubled feature is far too sure of itself."""
    X, y, U, _ = label_shift(6, 4000, 4000)
    X, U = np.column_stack([X, X[:, :2]]), np.column_stack([U, U[:, :2]])
    model = fitted(X, y, U, classifier=GaussianNB(), delta=EM)
    assert model.base_.calibration_.slope == pytest.approx(0.5, abs=0.1)
    true = logit(0.2) - logit(0.4)
    assert abs(model.delta_.value - true) < 3 * model.delta_.standard_error
    X, y, U, _ = label_shift(6, 4000, 4000)
    mixtures = {"model": "generative", "components": 1, "start": "separate"}
    p = fitted(X, y, U, classifier=mixtures).predict_proba(U, "unlabeled")[:, 1]
    assert np.abs(p - expit(logit(0.2) + U @ WAY - WAY @ WAY / 2)).mean() < 0.03


def test_no_row_is_calibrated_by_its_own_label():
    """Held-out probabilities are those of a fit to the other folds."""
    X, y, _, _ = label_shift(7, 300)
    base = Calibrated({"model": "logistic"}).fit(X, y, rng=np.random.default_rng(0), count=5)
    for fold in range(5):
        held = base.fold_ == fold
        alone = LogisticModel().fit(X[~held], y[~held])
        np.testing.assert_array_equal(
            base.held_[held], base.calibration_(alone.predict_proba(X[held])[:, 1])
        )


def test_slopes_of_named_features_add_to_what_is_given():
    X, y, U, _ = other_features(1)
    model = TiltedClassifier(delta={"by": "fixed", "value": 0.5, "slopes": {"b": -0.3}})
    model.fit(X, y, X_unlabeled=U, names=["a", "b"])
    p = model.base_.positive(U)
    np.testing.assert_allclose(
        model.predict_proba(U, "unlabeled")[:, 1], expit(logit(p) + 0.5 - 0.3 * U[:, 1])
    )
    met = TiltedClassifier(delta={"by": "rate", "rate": 0.25, "slopes": {"b": -0.3}})
    met.fit(X, y, X_unlabeled=U, names=["a", "b"])
    assert met.predict_proba(U, "unlabeled")[:, 1].mean() == pytest.approx(0.25)
    # Columns of a frame have their names, those of an array their places.
    framed = TiltedClassifier(delta=model.delta)
    framed.fit(
        pd.DataFrame(X, columns=["a", "b"]), y, X_unlabeled=pd.DataFrame(U, columns=["a", "b"])
    )
    np.testing.assert_array_equal(framed.slopes_, [0, -0.3])
    placed = TiltedClassifier(delta={"by": "fixed", "value": 0.5, "slopes": {1: -0.3}})
    np.testing.assert_array_equal(placed.fit(X, y, X_unlabeled=U).slopes_, [0, -0.3])
    with pytest.raises(CounterweightError, match="names c, which is no feature; features: a, b"):
        TiltedClassifier(delta={"by": "fixed", "value": 0.5, "slopes": {"c": 1.0}}).fit(
            X, y, X_unlabeled=U, names=["a", "b"]
        )
    with pytest.raises(CounterweightError, match="delta by em is estimated"):
        TiltedClassifier(delta={"by": "em", "slopes": {"b": 1.0}}).fit(
            X, y, X_unlabeled=U, names=["a", "b"]
        )


def test_an_oracle_is_told_the_hidden_rate_and_nothing_else():
    X, y, U, hidden = other_features(2)
    seen = TiltedClassifier(delta={"by": "rate"}).fit(X, y, X_unlabeled=U, y_unlabeled=hidden)
    told = TiltedClassifier(delta={"by": "rate", "rate": hidden.mean()}).fit(X, y, X_unlabeled=U)
    np.testing.assert_array_equal(seen.predict_proba(U), told.predict_proba(U))
    with pytest.raises(CounterweightError, match="or leave out oracle"):
        TiltedClassifier().fit(X, y, X_unlabeled=U, y_unlabeled=hidden)


def test_an_end_of_the_rate_is_reported_and_predictions_stay_finite(caplog):
    X, y, U, _ = label_shift(8)
    model = fitted(X, y, U - 8, delta=EM)
    assert model.delta_.end == "0" and model.to_arrays()["rate_at_end"] == 1
    assert "ends at a rate of 0" in caplog.text and "No tilt is made" in caplog.text
    assert model.delta_.value == 0 and model.delta_.rate < 0.01
    np.testing.assert_array_equal(
        model.predict_proba(U, "unlabeled"), model.predict_proba(U, "labeled")
    )
    model = fitted(X, y, U - 8, delta=EM | {"at_end": "keep"})
    assert model.delta_.rate == 0 and model.delta_.value == -np.inf
    np.testing.assert_array_equal(model.predict_proba(U, "unlabeled")[:, 1], 0)
    assert np.isfinite(model.predict_proba(U)).all()


def test_what_cannot_be_fitted_is_refused_in_a_sentence():
    X, y, U, _ = label_shift(9, 60, 60)
    with pytest.raises(CounterweightError, match="there are none: use the classifier itself"):
        fitted(X, y, U[:0])
    with pytest.raises(CounterweightError, match="set fewer folds"):
        fitted(X, np.r_[1, np.zeros(59, int)], U)
    with pytest.raises(CounterweightError, match="shifted_mixture cannot be tilted"):
        fitted(X, y, U, classifier={"model": "shifted_mixture"})
    with pytest.raises(CounterweightError, match="target must be general, unlabeled or labeled"):
        fitted(X, y, U).predict_proba(U, "test")
    with pytest.raises(CounterweightError, match="folds must be a whole number at least 2"):
        fitted(X, y, U, folds=1)


def planned(**item):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"]["models"] = [{"model": "logistic"}, {"model": "tilted", **item}]
    made["model_defaults"] = {"generative": {"n_init": 3}}
    return config.resolve(made)["studies"]["one"]["methods"]


def test_the_config_spells_out_the_classifier_within_and_declares_it():
    method = planned(classifier={"model": "generative", "components": 2}, delta=EM)["tilted"]
    known = components.options("model", "generative")
    assert method["options"]["classifier"] == {
        "model": "generative",
        **{name: node["default"] for name, node in known.items()},
        "components": 2,
        "n_init": 3,
    }
    assert method["options"]["selection"] == {"model": "logistic", "l2": 1e-6, "per_row": True}
    assert looked_up(method) == (
        ("model", "tilted"),
        ("model", "generative"),
        ("model", "logistic"),
    )
    assert method["label"] == "Tilted class mixtures by EM"
    swept = planned(sweep={"classifier": [{"model": "logistic"}, {"model": "generative"}]})[
        "tilted"
    ]
    assert swept["sweep"]["classifier"][1]["n_init"] == 3
    assert ("model", "generative") in looked_up(swept)


@pytest.mark.parametrize(
    ("item", "match"),
    [
        ({"classifier": {"model": "logistics"}}, r"did you mean 'logistic'"),
        ({"classifier": {"model": "logistic", "l22": 1}}, r"classifier\.l22; did you mean"),
        ({"classifier": {"l2": 1.0}}, r"classifier lacks the key 'model'"),
        ({"classifier": "logistic"}, r"classifier must be of type mapping, not text"),
        ({"delta": {"by": "times"}}, r"delta lacks the key 'times'"),
        ({"delta": {"by": "fixed"}}, r"delta lacks the key 'value'"),
        ({"delta": {"by": "rate", "rate": 1.5}}, r"delta\.rate is 1\.5"),
        ({"delta": {"by": "guess"}}, r"Choose one of: label_only, em, moments"),
    ],
)
def test_mistakes_in_the_config_are_told_before_anything_runs(item, match):
    with pytest.raises(CounterweightError, match=match):
        planned(**item)


def test_defaults_are_not_changed_by_a_fit():
    X, y, U, hidden = other_features(3, n=300)
    asked = {"by": "rate"}
    TiltedClassifier(delta=asked).fit(X, y, X_unlabeled=U, y_unlabeled=hidden)
    assert asked == {"by": "rate"}
    assert DELTA == OPTIONS["delta"]["default"] == LABEL_ONLY


def test_the_page_on_tilts_shows_what_works():
    text = DOCS.read_text(encoding="utf-8")
    (given,) = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    assert len([line for line in given.splitlines() if line]) == 10
    plan = config.resolve(yaml.safe_load(given) | {"data_source": "generated"})
    assert list(plan["studies"]["refused"]["methods"]) == ["logistic", "tilted", "known"]
    for by in OPTIONS["delta"]["properties"]["by"]["enum"]:
        assert f"`{by}`" in text


def test_means_of_both_populations_are_those_of_the_hidden_labels():
    X, y, U, hidden = label_shift(14, 5000, 5000)
    model = TiltedClassifier(delta={"by": "em"}).fit(X, y, X_unlabeled=U)
    p_refused = model.predict_proba(U, target="unlabeled")[:, 1]
    p_everyone = model.predict_proba(np.vstack([X, U]), target="general")[:, 1]
    assert p_refused.mean() == pytest.approx(hidden.mean(), abs=0.05)
    assert p_everyone.mean() == pytest.approx(np.r_[y, hidden].mean(), abs=0.04)


def test_fuzzy_augmentation_is_a_delta_of_0():
    """Each unlabeled row as both labels, weighted by p1: the fit stays where it was."""
    X, y, U, _ = label_shift(12)
    plain = LogisticModel().fit(X, y)
    p = plain.predict_proba(U)[:, 1]
    both = np.vstack([X, U, U])
    label = np.r_[y, np.ones(len(U), int), np.zeros(len(U), int)]
    again = LogisticModel().fit(both, label, np.r_[np.ones(len(y)), p, 1 - p])
    np.testing.assert_allclose(again.coef_, plain.coef_, atol=1e-4)
    assert again.intercept_ == pytest.approx(plain.intercept_, abs=1e-4)
    none = fitted(X, y, U, delta={"by": "fixed", "value": 0.0})
    np.testing.assert_array_equal(
        none.predict_proba(U, "unlabeled"), none.predict_proba(U, "labeled")
    )


def measured(models, **items):
    """Numbers of a study whose methods are fitted models."""
    import pandas as pd

    made = copy.deepcopy(SMALL)
    listed = [
        {"model": "logistic"},
        *({"model": "tilted", "name": n} | i for n, i in items.items()),
    ]
    made["studies"]["one"]["models"] = listed
    plan = report_plan(config.resolve(made))["studies"]["one"]
    tables = []
    for name, model in models.items():
        fits = {(0, target): model.to_arrays() for target in ("general", "unlabeled")}
        tables.append(metrics_table("one", name, describe_fits(fits)).to_pandas())
    return StudyNumbers("one", plan, pd.concat(tables))


def test_the_page_says_both_assumptions_and_what_contradicts_the_second():
    shifted, other = label_shift(13, 8000, 8000)[:3], other_features(4)[:3]
    for data, verdict in ((shifted, "proves nothing"), (other, "does not hold here")):
        models = {"mine": fitted(*data, delta=EM)}
        numbers = measured(models, mine={"delta": EM})
        first, second, third = assumptions(numbers)
        assert "times one number" in first and "distributed alike in both" in second
        assert verdict in third
        (row,) = build(TILTS, numbers).rows
        assert row.label == "Tilted logistic regression by EM"
        if data is shifted:
            number = f"{models['mine'].delta_.value:.2f}".replace("-", "\u2212")
            assert row.cells[0].text.startswith(number)
    given = fitted(*other, delta={"by": "times", "times": 0.5})
    numbers = measured({"mine": given}, mine={"delta": {"by": "times", "times": 0.5}})
    assert len(list(assumptions(numbers))) == 1


def test_a_number_that_is_not_finite_has_no_value():
    X, y, U, _ = label_shift(8)
    records = describe_fits({(0, "general"): fitted(X, y, U - 8, delta=KEEP).to_arrays()})
    found = {record["metric"]: record["value"] for record in records}
    assert np.isnan(found["delta"]) and found["rate_at_end"] == 1 and found["rate_unlabeled"] == 0


def test_every_point_of_a_sweep_is_another_tilt():
    X, y, U, hidden = label_shift(15, 400, 400)
    n = len(y) + len(hidden)
    role = np.repeat(["labeled", "unlabeled"], n // 2).astype(object)
    role[::4] = "test"
    known = np.where(role == "labeled", np.r_[y, hidden], np.nan)
    labels = {"repeat": np.zeros(n, "int16"), "row": np.arange(n), "role": role}
    labels |= {"selected": np.repeat([1, 0], n // 2).astype("int8"), "y_general": known}
    features = dict(zip("abc", np.vstack([X, U]).T, strict=True))
    data = StudyData({"row": np.arange(n)} | features, labels)
    points = [{"by": "times", "times": k} for k in (0.5, 2.0)]
    spec = {"model": "tilted", "options": {"folds": 3}, "sweep": {"delta": points}}
    ((_, arrays),), tables = train_repeat(data, spec, 0, ["general"], seed=1, study="s")
    names = [f"delta=times+{k}" for k in (0.5, 2.0)]
    assert [table["setting"][0].as_py() for table in tables] == names
    assert [float(arrays["delta", name][0]) for name in names] == pytest.approx(np.log([0.5, 2]))
    low, high = (table["p"].to_numpy() for table in tables)
    assert (low < high).all()


@pytest.mark.parametrize("delta", [EM, RATE], ids=lambda d: d["by"])
def test_a_stored_model_answers_as_before_for_all_populations(delta):
    X, y, U, _ = label_shift(3, 300, 300)
    model = fitted(X, y, U, delta=delta)
    again = TiltedClassifier.from_arrays(model.to_arrays()).set_params(**model.get_params())
    for target in ("labeled", "unlabeled", "general"):
        p = [one.predict_proba(U, target=target) for one in (again, model)]
        np.testing.assert_array_equal(*p)
    told = [(one.delta_.value, one.delta_.rate, one.delta_.by) for one in (again, model)]
    assert told[0] == told[1] and again.gap_left_ == model.gap_left_


def test_the_error_of_delta_is_the_jackknifes_where_that_is_larger(monkeypatch):
    X, y, U, _ = label_shift(4, 300, 200)
    model = fitted(X, y, U, delta=EM, folds=4)
    for parts, own in (([0.1, 0.3, -0.2, 0.4], 0.01), ([0.1, 0.1, 0.1, 0.1], 0.02)):
        values = iter([0.15, *parts])
        seen = []

        def estimate(p, y, p_target, *, values=values, seen=seen, own=own, **asked):
            seen.append((len(p), asked["fitted"]))
            return replace(model.delta_, value=next(values), error_labeled=own, end="")

        monkeypatch.setattr(tilted_module, "estimate_delta", estimate)
        found = model._delta(X, y, U, dict(EM))
        # Of each fold the rows of the others, by a classifier that saw none of them.
        assert seen[0] == (300, True) and [rows for rows, _ in seen[1:]] == [225] * 4
        assert not any(fit for _, fit in seen[1:]) and found.value == 0.15
        jackknife = np.sqrt(3 * np.var(parts))
        assert found.error_labeled == pytest.approx(max(jackknife, own))
