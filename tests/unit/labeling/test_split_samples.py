"""Named data sets: the conditions of their rows, and draws of so many."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.split import sample_masks

ROWS = 2000


def table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "row": np.arange(ROWS, dtype=np.int32) * 3,
            "age": pd.array(rng.integers(17, 91, ROWS), dtype="Int64"),
            "x73": rng.integers(0, 2, ROWS).astype(np.int8),
            "sex": np.array(["Male", "Female", None], dtype=object)[rng.integers(0, 3, ROWS)],
            "income": rng.normal(size=ROWS),
        }
    ).astype({"sex": "str"})
    frame.loc[:9, "age"] = pd.NA
    frame.loc[5:14, "income"] = np.nan
    return frame


def masks(spec, frame=None, seed=1):
    return sample_masks(table() if frame is None else frame, spec, np.random.default_rng(seed))


def refusal(condition, rng=True):
    with pytest.raises(CounterweightError) as caught:
        sample_masks(table(), {"d": condition}, np.random.default_rng(1) if rng else None)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_conditions_give_the_rows_that_they_say():
    frame = table()
    age, income = frame["age"].astype(float), frame["income"]
    sampled = masks(
        {
            "male": {"column": "x73", "value": 1},
            "text": {"column": "sex", "value": "Male"},
            "two": {"column": "sex", "values": ["Male", "Female"]},
            "old": {"column": "age", "at_least": 60},
            "young": {"column": "age", "below": 30},
            "middle": {"column": "age", "at_least": 30, "below": 60},
            "poor": {"column": "income", "below": 0.5},
            "both": {"all": [{"column": "x73", "value": 1}, {"column": "age", "at_least": 60}]},
        }
    )
    assert list(sampled) == ["male", "text", "two", "old", "young", "middle", "poor", "both"]
    assert (sampled["male"] == (frame["x73"] == 1)).all()
    assert (sampled["text"] == (frame["sex"] == "Male")).all()
    assert (sampled["two"] == frame["sex"].notna()).all()
    assert (sampled["old"] == (age >= 60)).all()
    assert (sampled["young"] == (age < 30)).all()
    assert (sampled["poor"] == (income < 0.5)).all()
    three = sampled["young"].astype(int) + sampled["middle"] + sampled["old"]
    assert (three == age.notna()).all()
    assert (sampled["both"] == (sampled["male"] & sampled["old"])).all()
    assert all(mask.dtype == bool for mask in sampled.values())


def test_most_draws_that_many_of_the_rows_and_no_more_than_there_are():
    spec = {"column": "age", "at_least": 60}
    whole = masks({"d": spec})["d"]
    part = masks({"d": spec | {"most": 100}})["d"]
    assert part.sum() == 100
    assert not (part & ~whole).any()
    assert (masks({"d": spec | {"most": 10**6}})["d"] == whole).all()
    smaller = masks({"d": spec | {"most": 40}})["d"]
    assert smaller.sum() == 40
    assert not (smaller & ~part).any(), "the same draw, fewer rows"


def test_the_draw_goes_by_row_id_and_name_alone():
    spec = {"column": "x73", "value": 1, "most": 50}
    frame = table()
    first = set(frame["row"][masks({"d": spec}, frame)["d"]])
    shuffled = frame.sample(frac=1, random_state=4)
    assert set(shuffled["row"][masks({"d": spec}, shuffled)["d"]]) == first
    more = masks({"other": {"column": "age", "below": 40, "most": 7}, "d": spec}, frame)
    assert set(frame["row"][more["d"]]) == first
    assert set(frame["row"][masks({"e": spec}, frame)["e"]]) != first
    assert set(frame["row"][masks({"d": spec}, frame, seed=2)["d"]]) != first


def test_the_draw_is_even():
    """Each row of the data set is drawn equally often, within 4.5 sd."""
    frame = table()
    rows = frame["x73"] == 1
    size = int(rows.sum())
    count = sum(
        masks({"d": {"column": "x73", "value": 1, "most": size // 4}}, frame, seed)["d"].astype(int)
        for seed in range(200)
    )
    share = (size // 4) / size
    assert np.abs(count[rows] - 200 * share).max() < 4.5 * np.sqrt(200 * share * (1 - share))
    assert not count[~rows].any()


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (
            {"column": "agee", "at_least": 60},
            "the group or data set d: the data set has no column 'agee'; did you mean age?",
        ),
        ({"column": "zzz", "value": 60}, "no column 'zzz'; it has row, age, x73"),
        ({"column": "x73", "value": 2}, "none of 2,000 rows meets the condition x73 = 2"),
        ({"column": "sex", "value": 1}, "the column holds text, e.g. "),
        ({"column": "age", "at_least": 200}, "age >= 200 (it runs from 17 to 90)"),
        (
            {"all": [{"column": "age", "below": 30}, {"column": "age", "at_least": 30}]},
            "the condition age < 30 and age >= 30",
        ),
        ({"column": "sex", "at_least": 1}, "at_least needs numbers, but the column sex is text"),
    ],
)
def test_wrong_conditions_are_told_in_a_sentence(condition, text):
    assert text in refusal(condition)


def test_at_most_so_many_of_all_rows():
    assert masks({"d": {"most": 70}})["d"].sum() == 70
    assert masks({"d": {"most": ROWS}})["d"].all()


def test_without_random_numbers_nothing_is_drawn():
    fixed = sample_masks(table(), {"test_rows": {"column": "sex", "value": "Male"}}, None)
    assert (fixed["test_rows"] == (table()["sex"] == "Male")).all()
    assert "draws at random" in refusal({"column": "x73", "value": 1, "most": 3}, rng=False)
