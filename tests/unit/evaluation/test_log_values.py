"""A log of one's own: values without a truth, what they rest on, what is refused, new logs."""

import itertools

import counterweight
import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.saved_log_values import tables_of
from counterweight.errors import CounterweightError
from counterweight.evaluation.log_values import log_values
from counterweight.evaluation.policy_value import PolicyValue, ips
from counterweight.labeling import log_files
from counterweight.labeling.columns import CLUSTERS, clusters
from counterweight.models.given_policy import GivenPolicy
from counterweight.numerics.estimate import ratio_mean
from counterweight.numerics.log_sums import begun
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages.logs_page import table
from counterweight.reporting.pages.own_logs_page import PAGE
from counterweight.reporting.report_jobs import study_plan
from counterweight.reporting.study_page import StudyContext, study_page
from counterweight.tasks.logs import own_study
from own_logs import CHANCE, ENTRY, TRUTH, a_log, planned, run_study


def batch_of(frame, keep_rate=1.0):
    return {
        "reward": frame["clicked"].to_numpy(float),
        "propensity": frame["p_logged"].to_numpy(),
        "keep_rate": np.full(len(frame), keep_rate),
        "weight": np.ones(len(frame)),
        "cluster": clusters(frame["user"]),
        "p": np.stack([frame["p_new"], frame["best"] == frame["shown"]], axis=1).astype(float),
    }


def values_of(frame, keep_rate=1.0, users=False, parts=1, **options):
    cuts = np.linspace(0, len(frame), parts + 1).astype(int)
    batches = [
        batch_of(frame.iloc[start:stop], keep_rate) for start, stop in itertools.pairwise(cuts)
    ]
    count = CLUSTERS if users else 0
    return log_values(lambda: batches, ["new", "best"], clusters=count, **options)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A log of 100,000 rows, through every stage and applied to itself in another order."""
    folder = tmp_path_factory.mktemp("study")
    frame = a_log(100_000, np.random.default_rng(0))
    new = folder / "new.parquet"
    frame.sample(frac=1, random_state=1).to_parquet(new, row_group_size=7_777)
    metrics, tables = run_study(folder / "mine", frame, score=str(new))
    return folder / "mine", frame, metrics, tables


def test_values_hold_the_truth_and_agree_with_the_estimators_of_one_policy(study):
    _, frame, _, tables = study
    values = tables["values"].set_index(["policy", "estimator"])
    logged = values.loc["the log's own", "mean"]
    assert logged["low"] < TRUTH[""] < logged["high"]
    for name, p in {"new": frame["p_new"], "best": frame["best"] == frame["shown"]}.items():
        one = PolicyValue(("ips", "snips"), reward_range=(0, 1))
        one.update(frame["clicked"], frame["p_logged"], p)
        for estimator, known in {"ips": one.ips(), "snips": one.snips()}.items():
            row = values.loc[name, estimator]
            assert row["low"] < TRUTH[name] < row["high"]
            for column in ("value", "low", "high", "standard_error", "effective_rows"):
                assert row[column] == pytest.approx(getattr(known, column), rel=1e-9)
            assert row["gain"] == pytest.approx(row["value"] - logged["value"], rel=1e-9)
            assert row["gain_low"] < TRUTH[name] - TRUTH[""] < row["gain_high"]
            assert row["support"] == "good"
    pairs = tables["comparisons"]
    assert (pairs["verdict"] == "better").all()
    assert set(zip(pairs["policy"], pairs["other"], strict=True)) == {
        ("new", "the log's own"),
        ("best", "the log's own"),
        ("best", "new"),
    }


def test_paired_differences_are_tighter_than_independent_ones(study):
    values = study[3]["values"].set_index(["policy", "estimator"])
    pairs = study[3]["comparisons"].set_index(["policy", "other", "estimator"])
    for estimator in ("ips", "snips"):
        apart = np.hypot(
            *(values.loc[(name, estimator), "standard_error"] for name in ("new", "best"))
        )
        assert pairs.loc[("best", "new", estimator), "standard_error"] < 0.5 * apart


def test_apply_gives_what_was_delivered_in_any_order_and_batch(study, monkeypatch):
    folder, frame, _, tables = study
    for name in ("values", "comparisons"):
        new, old = tables[f"new_{name}"], tables[name]
        pd.testing.assert_frame_equal(new, old, rtol=1e-12, atol=0)
        told = pd.read_csv(folder / f"{name}.csv")
        assert list(told) == list(old)
    saved = counterweight.load(folder)
    monkeypatch.setattr(log_files, "NEW_ROWS", 999)
    again = saved.values(frame.sample(frac=1, random_state=2))
    pd.testing.assert_frame_equal(again, tables["values"], rtol=1e-11, check_dtype=False)


def test_a_text_file_is_valued_as_the_typed_table(study, tmp_path):
    folder, frame, _, tables = study
    frame.to_csv(tmp_path / "new.csv", index=False)
    again = counterweight.load(folder).values(tmp_path / "new.csv")
    pd.testing.assert_frame_equal(again, tables["values"], rtol=1e-12, check_dtype=False)


def test_a_log_kept_at_a_rate_says_what_the_whole_one_says(tmp_path):
    rng = np.random.default_rng(3)
    frame = a_log(100_000, rng)
    kept = (frame["clicked"] == 1) | (rng.random(len(frame)) < 0.1)
    part = frame[kept].reset_index(drop=True)
    whole = values_of(frame)
    rates = part.assign(rate=np.where(part["clicked"] == 1, np.nan, 0.1))
    one = run_study(tmp_path / "one", part, ENTRY | {"keep_rate": 0.1})[1]["values"]
    each = run_study(tmp_path / "each", rates, ENTRY | {"keep_rate": "rate"})[1]["values"]
    pd.testing.assert_frame_equal(one, each)
    assert one["estimator"].tolist() == ["mean", "ips", "snips", "ips", "snips"]
    for row in one.itertuples():
        known = whole.logged if row.estimator == "mean" else whole.values[row.policy, row.estimator]
        assert row.low < known.value < row.high
        assert row.standard_error < 2 * known.standard_error


def test_a_weight_is_as_many_rows():
    frame = a_log(2_000, np.random.default_rng(4))
    batch = batch_of(frame)
    heavy = batch | {"weight": np.where(np.arange(2_000) < 500, 3.0, 1.0)}
    twice = np.repeat(np.arange(2_000), np.where(np.arange(2_000) < 500, 3, 1))
    repeated = {name: values[twice] for name, values in batch.items()}
    by_weight, by_rows = (
        log_values(lambda rows=rows: [rows], ["new", "best"], clusters=CLUSTERS)
        for rows in (heavy, repeated)
    )
    for key, one in by_weight.values.items():
        assert one.value == pytest.approx(by_rows.values[key].value, rel=1e-12)
        assert one.high == pytest.approx(by_rows.values[key].high, rel=1e-9)


def test_users_of_one_row_are_rows_and_batches_do_not_matter():
    frame = a_log(3_000, np.random.default_rng(5))
    rows, parts = values_of(frame), values_of(frame, parts=7)
    users = values_of(frame, users=True, parts=3)
    for key, one in {**rows.values, **rows.differences}.items():
        for other, close in ((parts, 1e-10), (users, 0.05)):
            same = (other.values | other.differences)[key]
            assert same.value == pytest.approx(one.value, rel=1e-11)
            assert same.high - same.low == pytest.approx(one.high - one.low, rel=close)


def test_users_are_counted_through_their_clusters():
    frame = a_log(30_000, np.random.default_rng(13), users=9_000)
    known = values_of(frame, users=True).support["new", "ips"].clusters
    assert known == pytest.approx(frame["user"].nunique(), rel=0.01)


def test_users_whole_numbers_or_not_are_the_same_clusters():
    numbers = pd.Series([3, 1, 3, 2])
    assert (clusters(numbers) == clusters(numbers.astype(float))).all()
    assert clusters(pd.Series(["a", None]))[1] == -2


def lengths_over_known(found):
    """Mean length of intervals over that of 1.96 standard deviations of the values either way."""
    values, lengths = np.transpose(found)
    return lengths.mean() / (2 * 1.96 * values.std(ddof=1))


@pytest.mark.parametrize(
    ("rows", "keep_rate", "users"), [(3_000, 1.0, 0), (10_000, 0.1, 0), (4_000, 1.0, 200)]
)
def test_intervals_hold_the_truth(rows, keep_rate, users):
    """Over 400 logs: at least .95 minus 2 standard errors, for values, gains and comparisons.

    Their lengths are at most 1.25 times those of normal intervals that know the variance.
    """
    rng, logs = np.random.default_rng(11), 400
    held, found, naive = {}, {}, []
    for _ in range(logs):
        frame = a_log(rows, rng, keep_rate, users)
        known = values_of(frame, keep_rate, bool(users), reward_range=(0, 1))
        first = known.estimators[0]
        for key, one in known.values.items():
            if key[1] == first:
                held.setdefault(key, []).append(one.low <= TRUTH[key[0]] <= one.high)
                found.setdefault(key, []).append((one.value, one.high - one.low))
        for key, one in known.differences.items():
            if key[2] == first:
                truth = TRUTH[key[0]] - TRUTH[key[1]]
                held.setdefault(key, []).append(one.low <= truth <= one.high)
                found.setdefault(key, []).append((one.value, one.high - one.low))
        held.setdefault("log", []).append(known.logged.low <= TRUTH[""] <= known.logged.high)
        if users:
            plain = values_of(frame, keep_rate).logged
            naive.append(plain.low <= TRUTH[""] <= plain.high)
    least = 0.95 - 2 * np.sqrt(0.95 * 0.05 / logs)
    assert {key: np.mean(one) for key, one in held.items() if np.mean(one) < least} == {}
    assert {key: lengths_over_known(one) for key, one in found.items()} == {
        key: pytest.approx(1.0, abs=0.25) for key in found
    }
    assert not users or np.mean(naive) < 0.85  # rows taken for independent: too narrow


def test_what_the_support_is_told_by():
    frame = a_log(20_000, np.random.default_rng(6))

    def flags(frame, **changes):
        known = log_values(lambda: [batch_of(frame) | changes], ["new", "best"])
        return {name: one.flag for name, one in known.support.items() if name[1] == "snips"}

    assert set(flags(frame).values()) == {"good"}
    halved = flags(frame, propensity=frame["p_logged"].to_numpy() / 2)
    assert set(halved.values()) == {"doubtful"}
    doubled = flags(
        frame, p=batch_of(frame)["p"] * np.where(frame["shown"] == "right", 0, 1)[:, None]
    )
    assert doubled["new", "snips"] == "outside"
    assert set(flags(frame.head(200)).values()) == {"thin"}
    heavy = frame["p_logged"].to_numpy().copy()
    heavy[0] = 1e-6
    assert values_of(frame.assign(p_logged=heavy)).support["new", "snips"].flag != "good"
    # Weights that are fine, and one reward that is most of the value: thin by either estimator.
    large = frame["clicked"].to_numpy(float)
    large[0] = 5_000.0
    few = values_of(frame.assign(clicked=large)).support
    assert few["new", "snips"].flag == few["new", "ips"].flag == "thin"
    share = values_of(frame, thin=0.25).support["new", "snips"].thin_share
    rare = frame["p_logged"] < 0.25
    weight = frame["p_new"] / frame["p_logged"]
    assert share == pytest.approx(weight[rare].sum() / weight.sum())


def test_support_is_thin_where_few_rows_make_the_error():
    """A fifth of the sum of weights in 6 rows or in 60: none of them is much of it."""

    def flag(heavy, rows=6000):
        weight = np.where(np.arange(rows) < heavy, rows / 5 / heavy, 0.8 * rows / (rows - heavy))
        batch = {"reward": np.arange(rows) % 2.0, "propensity": 0.004 / weight}
        batch |= {name: np.ones(rows) for name in ("keep_rate", "weight")}
        batch |= {"cluster": np.arange(rows), "p": np.full((rows, 1), 0.004)}
        known = log_values(lambda: [batch], ["new"]).support["new", "snips"]
        assert known.mean_weight.value == pytest.approx(1.0)
        assert known.effective_rows > 100 and known.largest_share < 0.1
        return known.flag

    assert flag(6) == "thin" and flag(60) == "good"


def test_a_keep_rate_that_is_not_right_is_told():
    frame = a_log(40_000, np.random.default_rng(12), keep_rate=0.1)
    right, wrong = (values_of(frame, keep_rate) for keep_rate in (0.1, 0.5))
    assert right.support["best", "ips"].flag == "good"
    assert wrong.support["best", "ips"].flag == "doubtful"
    said = pd.DataFrame(tables_of(wrong)[0]).query("policy == 'best'")["rests_on"]
    assert said.str.contains("or the keep rate is not right").all()


def test_the_number_of_rows_before_is_divided_by():
    frame = a_log(60_000, np.random.default_rng(20), keep_rate=0.02)
    lost, known = (values_of(frame, 0.02, rows_before=rows) for rows in (0, 60_000))
    weight = np.array([batch_of(frame)["p"][:, k] / frame["p_logged"] for k in (0, 1)])
    for name, w in zip(("new", "best"), weight, strict=True):
        one = known.values[name, "ips"]
        assert one.value == pytest.approx((w * frame["clicked"]).sum() / 60_000, rel=1e-12)
        assert one.low < TRUTH[name] < one.high
        assert one.high - one.low < lost.values[name, "ips"].high - lost.values[name, "ips"].low
    only = values_of(frame[frame["clicked"] == 1], 0.02, rows_before=60_000)
    assert only.estimators == ("ips",)
    assert only.values["new", "ips"].value == pytest.approx(known.values["new", "ips"].value)
    assert ("new", "snips") not in only.values


def test_a_keep_rate_that_contradicts_the_rows_before_is_refused(tmp_path):
    frame = a_log(20_000, np.random.default_rng(21), keep_rate=0.1)
    right = run_study(tmp_path / "right", frame, ENTRY | {"keep_rate": 0.1, "rows_before": 20_000})
    assert right[1]["values"]["estimator"][1] == "ips"
    for rate, before, says in (
        (0.5, 20_000, "are a rate of 0.098"),
        (0.1, 100_000, "Correct keep_rate or rows_before"),
        (0.1, 10, "but rows_before is 10"),
    ):
        with pytest.raises(CounterweightError, match=says):
            run_study(tmp_path / "wrong", frame, ENTRY | {"keep_rate": rate, "rows_before": before})


def test_a_log_without_a_zero_needs_the_rows_before(tmp_path):
    frame = a_log(20_000, np.random.default_rng(22))
    ones = frame[frame["clicked"] == 1].reset_index(drop=True)
    with pytest.raises(CounterweightError, match="give their number as rows_before"):
        run_study(tmp_path / "no", ones, ENTRY | {"keep_rate": 0.01})
    entry = ENTRY | {"keep_rate": 0.01, "rows_before": 20_000}
    values = run_study(tmp_path / "yes", ones, entry)[1]["values"]
    assert values["estimator"].tolist() == ["mean", "ips", "ips"]
    whole = values_of(frame)
    assert values["value"][0] == pytest.approx(whole.logged.value)
    assert values["value"][1] == pytest.approx(whole.values["new", "ips"].value)


def test_a_lift_is_the_ratio_of_values():
    frame = a_log(20_000, np.random.default_rng(23))
    known = values_of(frame)
    for key, lift in known.lifts.items():
        assert lift.value == pytest.approx(known.values[key].value / known.logged.value - 1)
        truth = TRUTH[key[0]] / TRUTH[""] - 1
        assert lift.low < truth < lift.high
        gain = known.differences[key[0], "", key[1]]
        assert (lift.low > 0) == (gain.low > 0)
    for less, told in ((0.02, True), (0.5, False)):  # Over what may be a loss there is none.
        lower = values_of(frame.assign(clicked=frame["clicked"] - less))
        assert (lower.logged.low > 0) == told == np.isfinite(tables_of(lower)[0]["lift"][1])
        assert all(np.isfinite(lift.value) == told for lift in lower.lifts.values())


@pytest.mark.parametrize("limit", ["clip", "switch", "shrink"])
def test_limited_weights_know_their_bias(limit):
    """By hand, and the truth within the interval in all of 60 logs, though the bias is large."""
    rng, held = np.random.default_rng(26), []
    for _ in range(60):
        frame = a_log(4_000, rng)
        known = values_of(frame, reward_range=(0, 1), limit=limit, limit_at=3.0)
        one = known.values["new", "limited"]
        held.append(one.low <= TRUTH["new"] <= one.high)
        gain = known.differences["best", "new", "limited"]
        held.append(gain.low <= TRUTH["best"] - TRUTH["new"] <= gain.high)
    assert np.mean(held) > 0.95
    w = (frame["p_new"] / frame["p_logged"]).to_numpy()
    less = {"clip": np.minimum(w, 3), "switch": w * (w <= 3), "shrink": 3 * w / (w * w + 3)}[limit]
    assert one.value == pytest.approx((less * frame["clicked"]).mean(), rel=1e-12)
    assert known.lost["new"].value == pytest.approx((w - less).mean(), rel=1e-12)
    assert one.high >= one.value + known.lost["new"].value
    plain = values_of(frame, reward_range=(0, 1))
    assert plain.values["new", "ips"].low == pytest.approx(known.values["new", "ips"].low)


def test_a_limit_is_told_in_files(tmp_path):
    frame = a_log(3_000, np.random.default_rng(27))
    new = tmp_path / "new.parquet"
    frame.to_parquet(new)
    limit = {"limit": "clip", "limit_at": 2.0}
    metrics, tables = run_study(tmp_path, frame, ENTRY, str(new), limit)
    values = tables["values"]
    assert values["estimator"].tolist() == ["mean", *["snips", "ips", "limited"] * 2]
    assert (values["low"] <= values["value"]).all()
    assert (metrics["metric"] == "weight_lost").sum() == 2
    pd.testing.assert_frame_equal(tables["new_values"], values, rtol=1e-11)


@pytest.mark.parametrize("keep_rate", [1.0, 0.1])
def test_six_clicks_are_covered(keep_rate):
    """400 logs with six expected clicks, and weights from .3 to 5."""
    rng, held = np.random.default_rng(24), {}
    scale = 6 / 2_000 / TRUTH[""]
    for _ in range(400):
        frame = a_log(2_000, rng, keep_rate, chance=CHANCE * scale)
        known = values_of(frame, keep_rate, reward_range=(0, 1))
        first = known.estimators[0]
        for name in ("new", "best"):
            one = known.values[name, first]
            held.setdefault(name, []).append(one.low <= TRUTH[name] * scale <= one.high)
    assert {name: np.mean(one) for name, one in held.items() if np.mean(one) < 0.93} == {}


def test_values_and_gains_of_thin_logs_are_covered_and_python_agrees():
    """200 logs of 480 rows with some 15 rewards of unlike size: values, gains, `ips` in Python."""
    rng, held, width = np.random.default_rng(30), {}, []
    scale, money = 15 / 480 / TRUTH[""], np.exp(0.5)
    for _ in range(200):
        frame = a_log(480, rng, chance=CHANCE * scale)
        frame["clicked"] *= rng.lognormal(size=480)
        known = values_of(frame)
        for name in ("new", "best"):
            true = TRUTH[name] * scale * money
            gain = true - TRUTH[""] * scale * money
            for estimator in ("ips", "snips"):
                one, more = known.values[name, estimator], known.differences[name, "", estimator]
                held.setdefault((name, estimator), []).append(one.low <= true <= one.high)
                held.setdefault((name, estimator, ""), []).append(more.low <= gain <= more.high)
                width.append((one.high - one.low) / true)
        python = counterweight.ips(frame["clicked"], frame["p_logged"], frame["p_new"])
        one = known.values["new", "ips"]
        assert (python.low, python.high) == pytest.approx((one.low, one.high), rel=1e-9)
    assert {name: np.mean(one) for name, one in held.items() if np.mean(one) < 0.93} == {}
    assert np.median(width) < 6


def test_a_growing_log_may_be_looked_at_again_and_again():
    """Looked at 20 times, one interval misses more often than it says, the sequence does not."""
    rng, looks, logs = np.random.default_rng(25), np.arange(500, 5_001, 500), 60
    missed = {0: 0, 2_000: 0}
    for _ in range(logs):
        batch = batch_of(a_log(5_000, rng))
        for at in missed:
            for rows in looks:
                part = {name: values[:rows] for name, values in batch.items()}
                known = log_values(lambda part=part: [part], ["new", "best"], anytime=at)
                one = known.values["new", "ips"]
                if not one.low <= TRUTH["new"] <= one.high:
                    missed[at] += 1
                    break
    assert missed[2_000] <= 0.05 * logs + 2 * np.sqrt(0.05 * 0.95 * logs)
    assert missed[0] > missed[2_000]


def changed(**columns):
    frame = a_log(300, np.random.default_rng(7), users=20)
    for name, value in columns.items():
        if callable(value):
            frame[name] = value(frame)
        else:
            kept = object if isinstance(value, str) or frame[name].dtype == "str" else float
            frame[name] = frame[name].astype(kept)
            frame.loc[5, name] = value
    return frame


BAD = [
    ("propensity 0", {"p_logged": 0.0}, {}, "'p_logged' is 0 in 1 row (first: row 5)"),
    ("propensity missing", {"p_logged": np.nan}, {}, "'p_logged' is missing in 1 row"),
    ("propensity above 1", {"p_logged": 1.5}, {}, "'p_logged' is no probability in 1 row"),
    (
        "per cents",
        {"p_logged": lambda f: 100 * f["p_logged"]},
        {},
        "divide the column by 100 if it is in per cent, and divide 1 by the column if it has wei",
    ),
    (
        "weights",
        {"p_logged": lambda f: 1000 / f["p_logged"]},
        {},
        "divide 1 by the column if it has weights, or correct these rows",
    ),
    ("propensity text", {"p_logged": lambda f: "high"}, {}, "'p_logged' holds text ('high')"),
    ("propensity below 0", {"p_logged": -0.5}, {}, "first: -0.5 in row 5"),
    ("no column", {}, {"propensity": "p"}, "no column 'p', which is named as the propensity"),
    ("no reward column", {}, {"reward": "sold"}, "'sold', which is named as the reward"),
    ("reward missing", {"clicked": np.nan}, {}, "reward 'clicked' is missing or infinite"),
    ("reward infinite", {"clicked": np.inf}, {}, "reward 'clicked' is missing or infinite"),
    ("no reward", {"clicked": lambda f: 0}, {}, "'clicked' is 0 in all 300 rows"),
    (
        "a word among rewards",
        {"clicked": lambda f: f["clicked"].astype(str).where(f.index != 5, "n/a €")},
        {},
        "'clicked' is 'n/a €' in row 5, where most rows have numbers",
    ),
    (
        "a word among chances",
        {"p_new": lambda f: f["p_new"].astype(str).where(f.index != 5, "unknown")},
        {},
        "'p_new' is 'unknown' in row 5, where most rows have numbers",
    ),
    ("a decimal comma", {}, {"keep_rate": "0,1"}, "a number in a config has a point, 0.1"),
    ("reward in words", {"clicked": lambda f: "none"}, {}, "positive: none}"),
    (
        "reward out of its range",
        {"clicked": 7},
        {"reward": {"column": "clicked", "low": 0, "high": 1}},
        "outside the declared range from 0 to 1",
    ),
    (
        "an unknown reward",
        {"clicked": lambda f: f["clicked"].map({0: "no", 1: "yes"}).where(f.index != 5, "unknown")},
        {"reward": {"column": "clicked", "positive": "yes"}},
        "'clicked' has 2 values beside 'yes': no, unknown",
    ),
    ("keep rate 0", {}, {"keep_rate": 0}, "The keep rate is 0:"),
    ("keep rate in per cent", {}, {"keep_rate": 10}, "(10 per cent are 0.1)"),
    (
        "keep rates above 1",
        {"rate": lambda f: 1.5},
        {"keep_rate": "rate"},
        "'rate' is not above 0 and at most 1 in 300 rows",
    ),
    (
        "keep rates missing",
        {"rate": lambda f: np.nan},
        {"keep_rate": "rate"},
        "'rate' is missing in",
    ),
    ("user missing", {"user": None}, {"user": "user"}, "'user' is missing in 1 row"),
    ("weight below 0", {"w": lambda f: -1.0}, {"weight": "w"}, "'w' is missing, infinite or below"),
    ("policy above 1", {"p_new": 1.2}, {}, "'p_new' is no probability from 0 to 1 in 1 row"),
    ("policy missing", {"p_new": np.nan}, {}, "'p_new' is missing in 1 row of 300"),
    ("policy in words", {"p_new": lambda f: "left"}, {}, "{column: p_new, action:"),
    ("policy never agrees", {"p_new": lambda f: 0.0}, {}, "never takes a logged action"),
    ("action never agrees", {"best": lambda f: "up"}, {}, "in no row 'best' equals 'shown'"),
    ("action missing", {"best": None}, {}, "'best' is missing in 1 row"),
    ("no policy column", {}, {"policies": {"new": "q"}}, "no column q, which a policy names"),
    ("no policy", {}, {"policies": {}}, "A log needs policies to judge"),
    ("half a policy", {}, {"policies": {"new": {"action": "shown"}}}, "policies.new is"),
]


@pytest.mark.parametrize(
    ("columns", "entry", "says"), [case[1:] for case in BAD], ids=[case[0] for case in BAD]
)
def test_bad_input_is_told_in_a_sentence(tmp_path, columns, entry, says):
    with pytest.raises(CounterweightError) as caught:
        run_study(tmp_path, changed(**columns), ENTRY | entry)
    text = str(caught.value)
    assert says in text
    assert "\n" not in text
    assert not list(tmp_path.glob("*values*"))
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"p_logged": 0.0}, "'p_logged' is 0 in 1 row"),
        ({"p_new": 1.2}, "'p_new' is no probability"),
        ({"p_logged": "high"}, "p_logged"),
        ({"clicked": np.nan}, "reward 'clicked' is missing"),
    ],
)
def test_bad_new_rows_are_told_in_a_sentence(study, columns, says):
    saved = counterweight.load(study[0])
    with pytest.raises(CounterweightError) as caught:
        saved.values(changed(**columns))
    assert says in str(caught.value)
    with pytest.raises(CounterweightError, match="no column best"):
        saved.values(changed().drop(columns="best"))


def test_a_new_log_of_other_people_is_warned_of(study, caplog):
    richer = study[1].assign(clicked=1)
    counterweight.load(study[0]).values(richer)
    assert "more than chance explains" in caplog.text


def hardly_explored(rng, rows=500, actions=5, explored=0.05, agreed=0.6, right=0.8):
    """A log that takes its own action but in `explored` of its rows, and a policy whose action is
    another one in many: it is worth `right`, and every other action .3."""
    same, rare = rng.random(rows) < agreed, explored / actions
    often = 1 - explored + rare
    propensity = np.where(same, often, rare)
    taken = rng.random(rows) < propensity
    # The log's own action where the policy's is another one, and all others.
    other = np.where(~same & (rng.random(rows) < often / (1 - rare)), often, rare)
    return {
        "reward": (rng.random(rows) < np.where(taken, right, 0.3)).astype(float),
        "propensity": np.where(taken, propensity, other),
        "p": taken.astype(float)[:, None],
        "keep_rate": np.ones(rows),
        "weight": np.ones(rows),
    }


@pytest.mark.filterwarnings("ignore:The policy never takes")
def test_a_hardly_explored_log_is_not_told_more_surely_than_it_knows():
    rng, held, told_as_one = np.random.default_rng(3), [], []
    for _ in range(200):
        log = hardly_explored(rng)
        known = log_values(lambda log=log: [log], ["new"], reward_range=(0, 1))
        told = known.values["new", "snips"], known.values["new", "ips"]
        gain = known.differences["new", "", "snips"]
        assert known.support["new", "snips"].flag != "good"
        # One value, one interval, but that each holds its estimate.
        told_as_one.append(min(told[0].low, told[1].value) == min(told[1].low, told[0].value))
        one = ips(log["reward"], log["propensity"], log["p"][:, 0], reward_range=(0, 1))
        assert (one.low, one.high) == pytest.approx((told[1].low, told[1].high), abs=1e-12)
        truth = 0.8, 0.8 - (0.3 + 0.5 * (0.6 * 0.96 + 0.4 * 0.01))
        held.append([one.low <= truth[0] <= one.high for one in told])
        held[-1].append(gain.low <= truth[1] <= gain.high)
    # It was 64 to 74 % by the rows that were seen alone; two standard errors of 200 logs are .03.
    assert np.mean(held, axis=0).min() >= 0.92 and np.mean(told_as_one) > 0.8


def test_weights_that_many_rows_carry_leave_intervals_as_they_are():
    rng = np.random.default_rng(5)
    log = hardly_explored(rng, rows=20_000, explored=0.5)
    sums = begun(1)
    sums.add(log)
    known = log_values(lambda: [log], ["new"], reward_range=(0, 1))
    one = known.values["new", "snips"]
    assert not sums.heavy(0) and known.support["new", "snips"].flag == "good"
    w, r = log["p"][:, 0] / log["propensity"], log["reward"]
    mine = ratio_mean(r, w, bounds=(0, 1))
    # Rows of weight 0 are no draws there: its n / (n - 1) is another.
    assert (one.low, one.high) == pytest.approx((mine.low, mine.high), rel=1e-6)


def test_the_weight_of_a_row_that_could_have_been():
    ones = np.ones(4)
    seen = {"reward": np.array([1.0, 0, 0, 1]), "keep_rate": ones, "weight": ones}
    sums = begun(1)
    sums.add(seen | {"propensity": np.array([0.5, 0.5, 0.5, 0.02]), "p": ones[:, None] / 2})
    # Weights 1, 1, 1 and 25 average 7: none is missing, and the largest seen is taken.
    place = sums.columns.place
    made = sums.unseen(0, 1.0)
    assert made[place("weight")] == made[place("earned")] == 25 and made[0] == made[3 - 1] == 1
    sums = begun(1)
    sums.add(seen | {"propensity": np.array([0.9, 0.9, 0.9, 0.02]), "p": 0.09 * ones[:, None]})
    sums.add({name: np.repeat(values[:1], 400, axis=0) for name, values in seen.items()}
        | {"propensity": np.full(400, 0.9), "p": np.full((400, 1), 0.45)})  # fmt: skip
    # Weights of .5 and one of 4.5 average .51: what is missing could weigh .45 / .02.
    assert sums.unseen(0, 0.0)[place("weight")] == pytest.approx(22.5)
    assert sums.unseen(0, 0.0)[place("earned")] == 0


def test_rewards_of_any_size_and_words(tmp_path):
    frame = a_log(3_000, np.random.default_rng(8))
    words = frame.assign(clicked=np.where(frame["clicked"] == 1, "yes", "no"))
    entry = ENTRY | {"reward": {"column": "clicked", "positive": "yes"}}
    by_words = run_study(tmp_path / "words", words, entry)[1]["values"]
    by_numbers = run_study(tmp_path / "numbers", frame)[1]["values"]
    pd.testing.assert_frame_equal(by_words, by_numbers)
    euros = frame.assign(clicked=40.0 * frame["clicked"])
    large = run_study(tmp_path / "euros", euros)[1]["values"]
    for column in ("value", "low", "high", "gain_low"):
        np.testing.assert_allclose(large[column], 40 * by_numbers[column], rtol=1e-9)


def test_actions_as_numbers_and_words_agree():
    part = {"row": np.arange(3), "table": {"best": np.array([1.0, 2.0, 2.5]), "shown": None}}
    part["table"]["shown"] = np.array(["1", "3", "2.5"], object)
    policy = GivenPolicy(takes="best", shown="shown")
    assert policy.predict(part)["p"].tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(CounterweightError, match="name one or the other"):
        GivenPolicy(probability="p", takes="best", shown="shown")


def test_the_study_that_a_table_asks_for():
    made = own_study(
        ENTRY | {"keep_rate": 0.01, "user": "user", "policies": {"labels": "p", "é 1": "q"}}
    )
    assert made["labeling"] == {
        "rule": "own_log",
        "propensity": "p_logged",
        "keep_rate": 0.01,
        "user": "user",
    }
    assert [item["label"] for item in made["models"]] == ["labels", "é 1"]
    assert len({item["name"] for item in made["models"]}) == 2
    assert made["roles"]["reward"] == "clicked"
    both = own_study(ENTRY | {"action": "shown", "policies": {"a": "p", "b": {"column": "best"}}})
    assert [item.get("shown") for item in both["models"]] == [None, "shown"]
    planned(ENTRY)


def test_the_page_answers_without_a_truth_whatever_the_names(study, tmp_path):
    def page_of(metrics, entry):
        plan, resolved = planned(entry)
        shown = study_plan(resolved, plan["metrics"])
        assert shown["sheets"]["page"].endswith("own_logs_page:PAGE")
        numbers = StudyNumbers("mine", shown, metrics, study[0])
        assert (table(numbers, "general", lambda _: "")["status"] == "ok").all()
        return study_page(PAGE, numbers, StudyContext(path="mine"))

    page, finding = page_of(study[2], ENTRY)
    assert finding.question == "Which policy would earn more than the one that made the log?"
    told = "The policy best would earn 0.0938 [0.0892, 0.0986] a row, 0.0568"
    assert finding.answer.startswith(told)
    said = str(page)
    assert "truth to compare" in said
    assert "nan" not in said.lower().replace("dominan", "")
    names = {"policies": {"zz": "p_new", "aa": {"column": "best", "action": "shown"}}}
    metrics = run_study(tmp_path, study[1], ENTRY | names)[0]
    other = page_of(metrics, ENTRY | names)[1].answer
    assert other == finding.answer.replace("best", "aa")


def test_shuffled_propensities_are_the_first_sentence(tmp_path):
    """Right ones are not told of; the log names its actions for the policy `best`."""
    frame = a_log(5_000, np.random.default_rng(31))
    shuffled = frame.assign(p_logged=frame["p_logged"].sample(frac=1, random_state=0).to_numpy())
    answers = []
    for name, rows in (("right", frame), ("wrong", shuffled)):
        metrics = run_study(tmp_path / name, rows)[0]
        plan, resolved = planned(ENTRY)
        numbers = StudyNumbers("mine", study_plan(resolved, plan["metrics"]), metrics, tmp_path)
        answers.append(study_page(PAGE, numbers, StudyContext(path="mine"))[1].answer)
        chance = metrics.loc[metrics["metric"] == "propensity_p", "value"].item()
        assert (chance > 0.01) == (name == "right")
    assert "propensities are not those" not in answers[0]
    assert answers[1].startswith("The propensities are not those of the logged actions")


@pytest.mark.parametrize(
    ("moved", "told"), [(0.1, "stays open"), (0.0, "the same policy, so the gain is exactly 0")]
)
def test_a_policy_that_does_worse_or_is_open_is_told_so(tmp_path, moved, told):
    rng = np.random.default_rng(9)
    frame = a_log(20_000, rng)
    entry = ENTRY | {"policies": {"old": "p_near", "worst": "p_bad"}}
    frame["p_near"] = frame["p_logged"] * rng.uniform(1 - moved, 1, len(frame))
    frame["p_bad"] = np.where(frame["clicked"] == 1, 0.02, frame["p_logged"])
    metrics, tables = run_study(tmp_path, frame, entry)
    verdicts = tables["comparisons"].set_index(["policy", "other", "estimator"])["verdict"]
    assert verdicts["old", "the log's own", "snips"] == ("open" if moved else "the same")
    assert verdicts["worst", "the log's own", "snips"] == "worse"
    plan, resolved = planned(entry)
    numbers = StudyNumbers("mine", study_plan(resolved, plan["metrics"]), metrics, tmp_path)
    answer = PAGE.answer(numbers)
    assert told in answer.sentence
    assert "less than the log's own policy" in answer.more[0]
