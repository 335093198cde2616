"""The Bank Marketing table and its twin: types, nulls, places of errors, a truth that is true."""

import functools
import re

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets import bank_marketing as bank
from counterweight.datasets.bank_marketing import COLUMNS, BankMarketing
from scipy.stats import lognorm
from twin_checks import assert_probability, digests_of_a_twin, generated, mirror, refused

refusal = functools.partial(refused, BankMarketing)

ROWS = 30000
HEADER = ";".join(f'"{name}"' for name in COLUMNS)
NEW = (
    '58;"management";"married";"tertiary";"no";2143;"yes";"no";"unknown";5;"may";261;1;-1;0;'
    '"unknown";"no"'
)
KNOWN = (
    '33;"admin.";"single";"unknown";"no";-7;"no";"yes";"cellular";31;"dec";9;2;151;3;'
    '"success";"yes"'
)


def write(folder, *lines, header=HEADER, end="\n"):
    text = end.join([header, *(lines or (NEW, KNOWN)), ""])
    (folder / "bank-full.csv").write_bytes(text.encode())
    return folder


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    return generated(BankMarketing, tmp_path_factory.mktemp("bank"), ROWS)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_types_and_order(tmp_path, end):
    frame = BankMarketing.read(write(tmp_path, NEW, "", KNOWN, end=end))
    assert list(frame) == ["row", *COLUMNS]
    assert frame["row"].dtype == np.int32
    for name, kind in COLUMNS.items():
        assert str(frame[name].dtype) == ("Int64" if kind == "integer" else "str")
    assert frame["age"].tolist() == [58, 33]
    assert frame["balance"].tolist() == [2143, -7]
    assert frame["job"].tolist() == ["management", "admin."]
    assert frame["y"].tolist() == ["no", "yes"]


def test_unknown_is_null_in_text_and_never_contacted_is_null_in_days(tmp_path):
    frame = BankMarketing.read(write(tmp_path))
    nulls = frame.isna()
    assert nulls.loc[0][lambda n: n].index.tolist() == ["contact", "pdays", "poutcome"]
    assert nulls.loc[1][lambda n: n].index.tolist() == ["education"]
    assert frame["pdays"][1] == 151


def test_quotes_are_optional_and_may_hold_separators_and_quotes(tmp_path):
    bare = write(tmp_path, NEW.replace('"', ""), header=HEADER.replace('"', ""))
    assert BankMarketing.read(bare)["job"].tolist() == ["management"]
    odd = write(tmp_path, NEW.replace('"management"', '"a;b ""c"""'), NEW)
    assert BankMarketing.read(odd)["job"].tolist() == ['a;b "c"', "management"]
    blank = write(tmp_path, NEW.replace(";", "; "))
    assert BankMarketing.read(blank)["job"].tolist() == ["management"]


@pytest.mark.parametrize("word", ["maybe", "unknown", "1"])
def test_unknown_outcome_is_told(tmp_path, word):
    text = refusal(write(tmp_path, NEW, KNOWN.replace('"yes"', f'"{word}"')))
    assert "row 1 (counted from 0), column y: " in text
    assert "where yes or no is expected" in text


def test_other_negative_days_are_told(tmp_path):
    text = refusal(write(tmp_path, KNOWN.replace(";151;", ";-2;")))
    assert "column pdays: '-2' where -1 or a number of days is expected" in text


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path):
    path = write(tmp_path, NEW, KNOWN) / "bank-full.csv"
    frame = BankMarketing.read(tmp_path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert BankMarketing.read(tmp_path).equals(frame)


def test_twin_has_the_upstream_format(twin):
    content = (twin[0] / "bank-full.csv").read_bytes()
    assert b"\r" not in content
    lines = content.decode("ascii").split("\n")
    assert lines.pop() == ""
    assert lines.pop(0) == HEADER
    assert len(lines) == ROWS
    kinds = {"integer": r"-?\d+", "text": r'"[a-z.-]+"'}
    shape = re.compile(";".join(kinds[kind] for kind in COLUMNS.values()))
    assert all(shape.fullmatch(line) for line in lines)


def test_truth_is_the_probability_of_yes_before_and_after_the_call(twin):
    _, frame, truth = twin
    positive = frame["y"] == "yes"
    assert truth["row"].tolist() == frame["row"].tolist()
    assert_probability(truth["p_positive"], positive)
    assert_probability(truth["p_positive_after"], positive)
    before, after = (
        -np.log(np.where(positive, p, 1 - p)).mean()
        for p in (truth["p_positive"], truth["p_positive_after"])
    )
    assert after < before - 0.05, "the duration of the call tells the outcome"
    assert truth["p_selected"].between(0.05, 0.95).all()


def log_odds(p):
    return np.log(p / (1 - p)).to_numpy()


def test_truth_has_the_documented_log_odds_of_the_columns_in_the_file(twin):
    _, frame, truth = twin
    words = frame.fillna({name: "unknown" for name, kind in COLUMNS.items() if kind == "text"})
    balance, age = (frame[name].to_numpy(float) for name in ("balance", "age"))
    expected = (
        bank.INTERCEPT
        + words["job"].map({name: effects[8] for name, effects in bank.JOBS.items()})
        + words["marital"].map({name: effects[0] for name, effects in bank.MARITAL.items()})
        + words["education"].map(bank.EDUCATION)
        + words["contact"].map(bank.CONTACT)
        + words["month"].map({name: effects[6] for name, effects in bank.MONTHS.items()})
        + words["poutcome"].map({name: effects[1] for name, effects in bank.POUTCOME.items()})
        + 0.14 * (words["default"] == "yes")
        - 0.51 * (words["housing"] == "yes")
        - 0.36 * (words["loan"] == "yes")
        + 0.05 * np.sign(balance) * np.log1p(np.abs(balance))
        + 0.05 * np.maximum(age - 60, 0)
        + 0.08 * np.maximum(30 - age, 0)
        - 0.28 * np.log(frame["campaign"].to_numpy(float))
        + 0.20 * np.log1p(frame["previous"].to_numpy(float))
    )
    np.testing.assert_allclose(log_odds(truth["p_positive"]), expected, rtol=0, atol=1e-9)
    selected = 0.8 + 0.6 * (words["housing"] == "yes") - 0.04 * (age - 40)
    np.testing.assert_allclose(log_odds(truth["p_selected"]), selected, rtol=0, atol=1e-9)


def test_truth_given_the_duration_is_bayes_rule(twin):
    """The odds change by P(duration | yes) / P(duration | no), of a log-normal rounded down."""
    _, frame, truth = twin
    change = log_odds(truth["p_positive_after"]) - log_odds(truth["p_positive"])
    assert np.isfinite(change).all()
    seconds = frame["duration"].to_numpy(float)
    masses = []
    for mean, deviation in bank.DURATION:
        law = lognorm(deviation, scale=np.exp(mean))
        masses.append(law.cdf(seconds + 1) - law.cdf(seconds))
    known = np.minimum(*masses) > 1e-6  # beyond, the difference above has lost its digits
    assert known.mean() > 0.98
    ratio = np.log(masses[1][known] / masses[0][known])
    np.testing.assert_allclose(change[known], ratio, rtol=0, atol=1e-6)
    by_duration = pd.Series(change).groupby(seconds)
    assert (by_duration.max() - by_duration.min()).max() < 1e-8
    for answer, (mean, deviation) in zip(("no", "yes"), bank.DURATION, strict=True):
        law = lognorm(deviation, scale=np.exp(mean))
        drawn = seconds[frame["y"] == answer]
        for level in (30, 100, 300, 1000):
            share = law.cdf(level)
            error = np.sqrt(share * (1 - share) / len(drawn))
            assert abs((drawn < level).mean() - share) < 4 * error


def test_twin_is_near_the_published_shares(twin):
    _, frame, _ = twin
    assert abs((frame["y"] == "yes").mean() - 0.117) < 0.01
    nulls = frame.isna().mean()
    for name, share in {
        "job": 0.0064,
        "education": 0.0411,
        "contact": 0.288,
        "poutcome": 0.8175,
        "pdays": 0.8174,
    }.items():
        assert abs(nulls[name] - share) < 4 * np.sqrt(share * (1 - share) / ROWS) + 0.002
    assert nulls[nulls > 0].index.tolist() == ["job", "education", "contact", "pdays", "poutcome"]
    assert (frame["pdays"].isna() == (frame["previous"] == 0)).all()
    assert (frame["poutcome"].isna() >= frame["pdays"].isna()).all()
    assert abs((frame["housing"] == "yes").mean() - 0.556) < 0.02
    assert abs(frame["duration"].median() - 180) < 15


def test_twin_uses_only_words_of_the_real_file(twin):
    real, frame = BankMarketing.read(mirror("bank_marketing")), twin[1]
    for name, kind in COLUMNS.items():
        if kind == "text":
            assert set(frame[name].dropna()) == set(real[name].dropna())
        else:
            assert frame[name].min() >= real[name].min()


def test_real_file_has_the_published_counts():
    frame = BankMarketing.read(mirror("bank_marketing"))
    assert len(frame) == 45211
    assert (frame["y"] == "yes").sum() == 5289
    nulls = frame.isna().sum()
    assert nulls[nulls > 0].to_dict() == {
        "job": 288,
        "education": 1857,
        "contact": 13020,
        "pdays": 36954,
        "poutcome": 36959,
    }
    assert (frame["pdays"].isna() == (frame["previous"] == 0)).all()
    assert frame["job"].nunique() == 11


def test_the_twin_of_a_seed_is_the_same_in_every_version(tmp_path):
    assert digests_of_a_twin(BankMarketing, tmp_path) == ["fb53d0d9caff", "1200dce84a74"]
