"""The Bank Marketing table and its twin: types, nulls, places of errors, a truth that is true."""

import functools
import re

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets import bank_marketing as bank
from counterweight.datasets.bank_marketing import COLUMNS, BankMarketing
from scipy.stats import lognorm
from twin_checks import assert_probability, generated, mirror, refused

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


def test_wrong_separator_is_named(tmp_path):
    comma, tab = (NEW.replace(";", mark) for mark in ",\t")
    text = refusal(write(tmp_path, comma, header=HEADER.replace(";", ",")))
    assert "bank-full.csv, line 1 is no header of 17 columns; it looks separated by commas" in text
    assert "not semicolons" in text
    text = refusal(write(tmp_path, NEW, tab))
    assert "line 3 has a quote in the middle of a field; it looks separated by tabs, not" in text
    text = refusal(write(tmp_path, NEW, tab.replace('"', "")))
    assert "line 3 has 1 fields where 17 are expected; it looks separated by tabs" in text


def test_missing_columns_are_told(tmp_path):
    text = refusal(write(tmp_path, header=HEADER.replace('"day";', "")))
    assert "line 1 is a header without the column day." in text
    text = refusal(write(tmp_path, NEW, KNOWN.replace("31;", "")))
    assert "line 3 has 16 fields where 17 are expected; a column is missing out of age, " in text
    text = refusal(write(tmp_path, NEW + ";1"))
    assert "line 2 has 18 fields where 17 are expected." in text


def test_missing_header_other_order_and_unknown_names_are_told(tmp_path):
    text = refusal(write(tmp_path, NEW, header=KNOWN))
    assert "line 1 is not the header, which should name the columns age, job" in text
    swapped = HEADER.replace('"age";"job"', '"job";"age"')
    assert "line 1 is a header in another order than age, job" in refusal(
        write(tmp_path, header=swapped)
    )
    more = HEADER + ';"weight"'
    assert "line 1 is a header with the unknown column weight" in refusal(
        write(tmp_path, header=more)
    )
    assert "line 1 is blank where the header is expected" in refusal(write(tmp_path, header=""))


@pytest.mark.parametrize("word", ["many", "-", "1.5", '"x"', "unknown", "nan", ""])
def test_text_in_a_number_column_is_told(tmp_path, word):
    text = refusal(write(tmp_path, NEW, KNOWN.replace(";-7;", f";{word};")))
    bare = word.strip('"')
    assert f"line 3, column balance: '{bare}' where a whole number is expected" in text


@pytest.mark.parametrize("word", ['""', ""])
def test_empty_text_is_told(tmp_path, word):
    text = refusal(write(tmp_path, NEW, KNOWN.replace('"admin."', word)))
    assert "line 3, column job: '' where some text is expected" in text
    text = refusal(write(tmp_path, NEW, KNOWN.replace('"admin."', '" "')))
    assert "line 3, column job: ' ' where some text is expected" in text


@pytest.mark.parametrize("word", ["maybe", "unknown", "1"])
def test_unknown_outcome_is_told(tmp_path, word):
    text = refusal(write(tmp_path, NEW, KNOWN.replace('"yes"', f'"{word}"')))
    assert "line 3, column y: " in text
    assert "where yes or no is expected" in text


def test_other_negative_days_are_told(tmp_path):
    text = refusal(write(tmp_path, KNOWN.replace(";151;", ";-2;")))
    assert "line 2, column pdays: '-2' where -1 or a number of days is expected" in text


def test_quotes_that_do_not_close_are_told(tmp_path):
    text = refusal(write(tmp_path, NEW, NEW.replace('"married"', '"married'), NEW))
    assert "line 3 has a quote that does not close" in text
    both = NEW.replace('"married"', '"married').replace('"no"', 'no"')
    assert "line 2 has a quote" in refusal(write(tmp_path, both))
    inside = NEW.replace('"married"', 'mar"ri"ed')
    assert "line 2 has a quote in the middle of a field" in refusal(write(tmp_path, inside))
    after = NEW.replace('"married"', '"married" ?')
    assert "line 2 has a quote in the middle of a field" in refusal(write(tmp_path, after))


@pytest.mark.parametrize("at", [HEADER.index("job"), len(HEADER) + 2, len(HEADER) + 7])
def test_stray_carriage_return_is_told(tmp_path, at):
    path = write(tmp_path, NEW) / "bank-full.csv"
    content = path.read_bytes()
    path.write_bytes(content[:at] + b"\r" + content[at:])
    assert f"line {1 + (at > len(HEADER))} " in refusal(tmp_path)


def test_packed_bytes_in_place_of_the_table_are_told(tmp_path):
    for seed in range(20):
        (tmp_path / "bank-full.csv").write_bytes(np.random.default_rng(seed).bytes(20000))
        assert "bank-full.csv is not text" in refusal(tmp_path)
    write(tmp_path, end="\r")
    assert "bank-full.csv, line 1" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\n\n", HEADER.encode(), HEADER.encode() + b"\n\n"])
def test_empty_file_is_told(tmp_path, content):
    (tmp_path / "bank-full.csv").write_bytes(content)
    assert "bank-full.csv is empty" in refusal(tmp_path)


def test_absent_file_and_bytes_that_are_no_text_are_told(tmp_path):
    assert "bank-full.csv is not there" in refusal(tmp_path)
    write(tmp_path)
    path = tmp_path / "bank-full.csv"
    path.write_bytes(path.read_bytes().replace(b"admin.", b"adm\xff"))
    assert "bank-full.csv is not text (byte 0xff in line 3)" in refusal(tmp_path)


def test_bytes_0_and_other_encodings_are_told(tmp_path):
    path = write(tmp_path, NEW, KNOWN) / "bank-full.csv"
    good = path.read_bytes()
    path.write_bytes(good.replace(b"married", b"mar\0ried", 1))
    assert "is not text (byte 0x00 in line 2)" in refusal(tmp_path)
    path.write_bytes(good.decode().encode("utf-16"))
    assert "is not text (byte 0xff in line 1)" in refusal(tmp_path)


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
