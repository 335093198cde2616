"""A log of one's own that had lost zeros before anybody looked: chances of all its rows."""

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.saved_classifiers import SavedClassifier
from counterweight.delivery.saved_models import load
from counterweight.errors import CounterweightError
from counterweight.models.subsampling.subsampled import SubsampledClassifier
from counterweight.numerics.zero_rejection import kept_rows
from delivering import Own
from scipy.special import expit

BEFORE, RATE = 40_000, 0.1


def clicks(seed, users=4_000):
    """Rows before any is dropped: their chances, and which a log keeps."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, BEFORE))
    p = expit(-4 + a + 0.5 * b)
    clicked = rng.random(BEFORE) < p
    frame = pd.DataFrame(
        {
            "age at visit": a.round(6),
            "stay": b.round(6),
            "who": [f"u{number}" for number in rng.integers(users, size=BEFORE)],
            "clicked": np.where(clicked, "ja", "nein"),
            "rate": np.where(b > 0, 2 * RATE, RATE),
        }
    )
    return frame, p, rng.random(BEFORE)


def kept_where(rate, stay):
    return {"keep_rate": {"rate": rate, "where": {"stay": stay}}}


ENTRY = {"outcome": {"column": "clicked", "positive": "ja"}, "keep_rate": RATE}
PROMISED = {"promises": ["coverage(everyone) >= 0.2"]}
#: Quick: no trees.
STUDY = {
    "models": [
        {"model": "subsampled", "name": "ours", "keep_rate": 1.0, "learner": "logistic"},
        {"model": "logistic", "name": "weighted"},
    ],
    "main": "ours",
    "baseline": "weighted",
    "evaluation": {"protocol": "metrics", "against": "weighted", "top": [1.0, 0.1]},
    "deliver": {"method": "ours"},
}


@pytest.mark.parametrize("correction", ["log_odds", "weights", "prior", "spline"])
def test_rows_kept_before_are_learned_from_like_rows_kept_here(correction):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    y = (rng.random(len(X)) < expit(-3 + X[:, 0])).astype(int)
    keys = np.arange(len(X))
    here = SubsampledClassifier(correction=correction, keep_rate=RATE)
    here.fit(X, y, keys=keys, rng=np.random.default_rng(1))
    rejection = int(np.random.default_rng(1).integers(2**62, size=3)[0])
    kept = kept_rows(y, keys, RATE, rejection)
    before = SubsampledClassifier(correction=correction, keep_rate=1.0)
    told = {"keys": keys[kept], "rates": np.full(kept.sum(), RATE)}
    before.fit(X[kept], y[kept], rng=np.random.default_rng(1), **told)
    ours = before.predict_proba(X)[:, 1]
    assert ours == pytest.approx(here.predict_proba(X)[:, 1], rel=1e-12)
    stored = SubsampledClassifier.from_arrays(before.to_arrays())
    assert np.array_equal(stored.predict_proba(X)[:, 1], ours)


@pytest.mark.parametrize("correction", ["log_odds", "weights", "prior"])
def test_rates_that_differ_are_allowed_for(correction):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200_000, 1))
    y = (rng.random(len(X)) < expit(-3 + X[:, 0])).astype(int)
    rates = np.where(X[:, 0] > 0, 0.4, 0.1)
    kept = kept_rows(y, np.arange(len(X)), rates, 5)
    given = X[kept], y[kept]
    told = {"rates": rates[kept], "rng": np.random.default_rng(3)}
    model = SubsampledClassifier(correction=correction, keep_rate=1.0).fit(*given, **told)
    at = np.linspace(-2, 2, 9)[:, None]
    assert model.predict_proba(at)[:, 1] == pytest.approx(expit(-3 + at[:, 0]), rel=0.2)


@pytest.mark.parametrize("rate", ["number", "column", "where"])
def test_a_log_of_ones_own_tells_the_chances_of_all_its_rows(tmp_path, rate):
    frame, p, draw = clicks(4)
    rates = {"number": RATE, "column": frame["rate"], "where": np.where(frame["stay"] < 0, RATE, 1)}
    kept = (frame["clicked"] == "ja") | (draw < rates[rate])
    entry = ENTRY | {"user": "who", "study": STUDY}
    entry |= {"keep_rate": "rate"} if rate == "column" else {"rows_before": BEFORE}
    if rate == "where":
        entry |= {"keep_rate": {"rate": RATE, "where": {"stay": {"below": 0}}}}
    log = frame[kept] if rate == "column" else frame[kept].drop(columns="rate")
    own = Own(tmp_path, log, entry)
    labels = pd.read_parquet(own.run("label")["labels"])
    clicked = frame.loc[kept, "clicked"].to_numpy()[labels["row"]]
    assert labels["keep_rate"][clicked == "ja"].eq(1).all()
    stand_for = (1 / labels["keep_rate"]).sum()
    assert stand_for == pytest.approx(BEFORE, rel=0.02)
    told = {}
    for method in ("ours", "weighted"):
        own.run("train", method)
    for method in ("ours", "weighted"):
        for one in own.run("evaluate", method):
            if not {"measure", "variable"} & one.keys():
                told[method, one["metric"], one.get("part", "")] = one["value"]
    features = pd.read_parquet(own.at.features)
    assert set(features.columns) == {"row", "age at visit", "stay"}
    for method in ("ours", "weighted"):  # the plain model weighs rows by their rates
        assert told[method, "predicted_over_observed", "top 1"] == pytest.approx(1, abs=0.12)
    # What a whole log would say: the log loss of the chances that drew it, nearly reached.
    y = (frame["clicked"] == "ja").to_numpy()
    best = -np.where(y, np.log(p), np.log1p(-p)).mean()
    assert told["ours", "log_loss", ""] == pytest.approx(best, rel=0.1)
    files = own.run("deliver")
    saved = load(files["model"].parent)
    assert isinstance(saved, SavedClassifier)
    scores = saved.scores(frame)
    assert scores["estimate"].mean() == pytest.approx(y.mean(), rel=0.06)


def test_what_is_drawn_of_a_log_that_dropped_zeros_goes_by_no_order_of_its_rows(tmp_path):
    frame, _, draw = clicks(4)
    log = frame[(frame["clicked"] == "ja") | (draw < RATE)].drop(columns="rate")[:1500]
    log = log.assign(row_id=[f"e{number}" for number in range(len(log))])
    half = {"model": "subsampled", "name": "ours", "keep_rate": 0.5, "correction": "spline"}
    study = STUDY | {"models": [half | {"learner": "logistic"}, STUDY["models"][1]], "repeats": 1}
    told = []
    for name, one in (("first", log), ("second", log.sample(frac=1, random_state=3))):
        (tmp_path / name).mkdir()
        own = Own(tmp_path / name, one, ENTRY | {"id": "row_id", "study": study})
        own.run("label")
        for method in ("ours", "weighted"):
            own.run("train", method)
        scores = pd.read_parquet(own.run("deliver")["table"]).set_index("row_id")
        told.append((scores, pd.DataFrame(own.run("evaluate", "ours"))))
    (scores, measured), (others, same) = told
    pd.testing.assert_frame_equal(scores, others.loc[scores.index], check_exact=True)
    pd.testing.assert_frame_equal(measured, same, check_exact=True)


def test_promises_of_a_log_that_dropped_zeros_are_kept_in_all_the_rows_that_there_were(tmp_path):
    """Rows left over, each as often as it stands for, say what everybody is told."""
    frame, _, draw = clicks(6)
    kept = (frame["clicked"] == "ja") | (draw < RATE)
    entry = {"outcome": ENTRY["outcome"], "keep_rate": RATE, "rows_before": BEFORE}
    entry |= {
        "groups": {"long": {"stay": {"at_least": 0}}, "short": {"stay": {"below": 0}}},
        "promises": ["coverage(short) >= 0.8 * coverage(long)", "recall(everyone) >= 0.6"],
        "columns": {"ignore": ["who", "rate"]},
        "study": {"repeats": 1},
    }
    own = Own(tmp_path, frame[kept].assign(stays=frame["stay"]), entry)
    own.run("label")
    own.run("train", "promised")
    told = {
        one["measure"]: one["value"]
        for one in own.run("evaluate", "promised")
        if one["metric"] == "deterministic"
    }
    saved = load(own.run("deliver")["model"].parent)
    everyone = saved.scores(frame.assign(stays=frame["stay"]))["decision"] == 1
    long = frame["stay"] >= 0
    shares = {"short": everyone[~long].mean(), "long": everyone[long].mean()}
    # Nothing but chance in rows that were left over is between the promise and everybody.
    assert shares["short"] >= 0.8 * shares["long"] - 0.01
    clicked = frame["clicked"] == "ja"
    assert everyone[clicked].mean() >= 0.57
    # What the model's file says of its rows, and the study of test rows by another fit.
    measured = {name: values[1] for name, values in saved.facts["measures"].items()}
    for name, kind in (("rate_1_1", "short"), ("rate_1_2", "long")):
        assert measured[name] == pytest.approx(shares[kind], abs=0.015)
        assert told[name] == pytest.approx(shares[kind], abs=0.05)
    assert told["error"] == pytest.approx((everyone != clicked).mean(), abs=0.05)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"rows_before": 4 * BEFORE}, "are a rate of 0.02"),
        ({"keep_rate": "share"}, "keep_rate names 'share'"),
        ({"keep_rate": 5}, "The keep rate is 5"),
        (kept_where(5, {"below": 0}), "The keep rate is 5"),
        ({"keep_rate": {"rate": RATE}}, "keep_rate lacks the key 'where'"),
        ({"keep_rate": {"rate": RATE, "where": {"stya": 1}}}, "keep_rate.where: .* no column"),
        (kept_where(RATE, 77), "None of the .* meets the condition"),
        (kept_where(RATE, {"at_least": 1, "below": 0}), "which nothing is"),
        (PROMISED | {"deployed": "stay"}, "leave deployed or keep_rate out"),
        (PROMISED | {"weight": "stay"}, "each of which counts once: leave weight out"),
        (kept_where(RATE, {"below": 0, "most": 9}), "where has most"),
        (PROMISED | {"labeled": {"where": {"stay": 1}}}, "leave labeled or keep_rate out"),
        ({"weight": "stay"}, "leave weight out"),
        ({"user": "whom"}, "'whom'"),
        ({"study": STUDY | {"evaluation": STUDY["evaluation"] | {"against": "me"}}}, "against is"),
        ({"study": STUDY | {"keep_rate": 0.5}}, "leave the study's keep_rate out"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_a_sentence(tmp_path, entry, says):
    frame, _, draw = clicks(5)
    kept = (frame["clicked"] == "ja") | (draw < RATE)
    with pytest.raises(CounterweightError, match=says):
        Own(tmp_path, frame[kept], ENTRY | {"study": STUDY} | entry).run("label")
