"""Labels missing completely at random, at random, not at random, by one dial; and drift."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.labeling_rules import earlier, missingness_mechanism
from counterweight.labeling.outcome_rules import equals
from counterweight.labeling.split import describe_labels
from counterweight.numerics.linear import fit_logistic
from scipy.special import expit, logit
from study_parts import label_rows

ROWS = 40_000


def world(rows=ROWS, seed=0):
    """Rows whose p(y = 1 | x) is a logistic regression."""
    rng = np.random.default_rng(seed)
    x = rng.normal(3.0, 2.0, rows)
    y = rng.random(rows) < expit(0.8 * (x - 3.0) - 0.5)
    return pd.DataFrame({"row": np.arange(rows, dtype="int32"), "x": x, "y": y.astype(int)})


def labels(frame, seed=1, **options):
    rng = np.random.default_rng(seed)
    return missingness_mechanism(
        frame, None, rng, features=None, outcome=frame["y"].to_numpy(), **options
    )


@pytest.mark.parametrize("share", [0.02, 0.4, 0.9])
@pytest.mark.parametrize("options", [{}, {"columns": {"x": 2.0}}, {"positive": -3.0}])
def test_the_chances_have_the_share_asked_for_as_their_mean(share, options):
    found = labels(world(), share=share, **options)
    assert found["p_selected"].mean() == pytest.approx(share, abs=1e-9)
    error = np.sqrt(share * (1 - share) / ROWS)
    assert abs(found["selected"].mean() - share) < 4 * error


def test_without_a_dial_all_chances_are_alike():
    np.testing.assert_allclose(labels(world(), share=0.3)["p_selected"], 0.3, atol=1e-9)


def test_log_odds_of_a_label_rise_by_the_slope_for_each_deviation_and_for_positives():
    frame = world()
    odds = logit(labels(frame, columns={"x": 1.5}, positive=0.7)["p_selected"])
    y = frame["y"].to_numpy()
    z = (frame["x"] - frame["x"].mean()).to_numpy() / frame["x"].std(ddof=0)
    rest = odds - 1.5 * z - 0.7 * y
    assert np.ptp(rest) < 1e-8


@pytest.mark.parametrize("positive", [0.0, 1.5])
def test_the_dial_is_the_distance_of_the_log_odds_of_the_two_populations(positive):
    # logit p(y | x, s = 1) - logit p(y | x, s = 0) = c: a regression of y on x and s has it.
    frame = world()
    selected = labels(frame, columns={"x": 1.0}, positive=positive)["selected"]
    X = np.column_stack([frame["x"], selected])
    coefficients, *_ = fit_logistic(X, frame["y"].to_numpy())
    assert coefficients[1] == pytest.approx(positive, abs=4 * 2.5 / np.sqrt(ROWS) * 2)


def test_a_column_may_be_gone_by_in_logarithms():
    frame = world(500).assign(price=np.exp(world(500)["x"]))
    by_log = labels(frame, columns={"price": 1.5}, logged=["price"])["p_selected"]
    np.testing.assert_allclose(by_log, labels(frame, columns={"x": 1.5})["p_selected"], rtol=1e-9)
    with pytest.raises(CounterweightError, match="above 0"):
        labels(frame, columns={"x": 1.5}, logged=["x"])


def test_the_true_chances_are_hidden_and_kept():
    frame = world(500)
    features = frame[["row", "x"]]
    rule = partial(missingness_mechanism, columns={"x": 1.0}, positive=2.0)
    seen, hidden = label_rows(
        frame,
        features,
        None,
        rule,
        partial(equals, column="y", value=1),
        seed=1,
        study="s",
        repeats=2,
        test_share=0.4,
        informed=True,
    )
    assert "p_selected" not in seen
    assert hidden["p_selected"].between(0, 1).all()
    first, second = (hidden[hidden["repeat"] == repeat]["p_selected"] for repeat in (0, 1))
    np.testing.assert_array_equal(first, second)
    draws = seen.groupby("repeat")["selected"].apply(list)
    assert draws[0] != draws[1], "each repeat draws anew"


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"x": 1.0}, {"columns": {"x": 1.0}}, "one value in all rows"),
        ({}, {"columns": {"z": 1.0}}, "needs the column 'z'|needs the column z"),
        ({"y": np.nan}, {}, "none is known"),
    ],
)
def test_what_has_no_mechanism_is_told(change, options, message):
    with pytest.raises(CounterweightError, match=message):
        labels(world(50).assign(**change), **options)


def test_a_study_may_have_the_unlabeled_alone_as_its_target():
    frame = world(400)
    seen, hidden = label_rows(
        frame,
        frame[["row", "x"]],
        None,
        partial(earlier, share=0.5),
        partial(equals, column="y", value=1),
        seed=1,
        study="s",
        repeats=1,
        test_share=0.4,
        targets=["unlabeled"],
    )
    records = describe_labels(seen, hidden, 0)
    shares = {r["part"]: r["value"] for r in records if r["metric"] == "positive_share"}
    assert set(shares) == {"labeled", "unlabeled", "test", "all", "target"}
    assert shares["all"] == frame["y"].mean()
