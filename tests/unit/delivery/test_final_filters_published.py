"""Shares of groups that a filter is published with: noise of a known size, cells left out."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery import saved_filters as ft
from counterweight.delivery.final_filters import (
    EVEN,
    MEASURES,
    _measures,
    _parts,
    check_useful,
    describe_held_out,
    noisy_counts,
    published,
    shares_of,
    withheld,
)
from counterweight.errors import CounterweightError
from counterweight.models.filter_card import card

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from bench_promises import drawn, person_filter  # noqa: E402


@pytest.fixture(scope="module")
def saved():
    made, _ = person_filter(rows=600)
    facts = {"title": "Drawn", "method": "m", "repeat": 0.0}
    held = {("level", "value", -1): 0.95, ("rows", "value", -1): 100.0}
    held |= {(name, "bound", i): 0.2 for name in ("disclosivity", "released") for i in (-1, 0)}
    held |= {(name, "value", i): 0.1 for name in ("disclosivity", "released") for i in (-1, 0)}
    for kind in ("value", "low", "high"):
        held |= {("share_before", kind, k): 0.3 for k in range(3)}
        held |= {("share_after", kind, k): 0.3 for k in range(3)}
    return dataclasses.replace(made, facts=made.facts | facts, held=held)


def test_noise_is_laplace_of_the_stated_scale():
    counts = np.full((200_000, 2), 1e6)
    for classes, epsilon in (([2], 0.5), ([1, 1], 0.5)):
        noise = noisy_counts(counts, classes, epsilon, np.random.default_rng(0)) - counts
        scale = len(classes) / epsilon
        assert noise.mean() == pytest.approx(0, abs=0.02 * scale)
        assert np.abs(noise).mean() == pytest.approx(scale, rel=0.01)
        # Neighbouring tables: the odds of any answer differ by exp(epsilon / classes) a class.
        above = [(noise > x).mean() for x in (scale, scale + 1)]
        assert above[0] / above[1] == pytest.approx(np.exp(1 / scale), rel=0.02)


def test_noisy_shares_are_shares_and_near_where_epsilon_is_large(saved):
    rough, fine = (published(saved, np.random.default_rng(1), epsilon=e) for e in (0.01, 1e6))
    for one in (rough, fine):
        assert one.shares.min() >= 0
        assert one.shares.sum(axis=1) == pytest.approx(1) and one.base.sum() == pytest.approx(1)
    np.testing.assert_allclose(fine.shares, saved.shares, atol=1e-4)
    assert np.abs(rough.shares - saved.shares).max() > 0.05
    assert rough.digest() == saved.digest(), "who is accepted stays"
    assert not any(name.startswith("share_") for name, _, _ in rough.held)
    text = card(rough)
    assert "Laplace noise of epsilon 0.01" in text and "rows that it was fitted on" in text


def test_small_cells_are_withheld_and_never_one_alone(saved):
    counts = saved.facts["rows"] * saved.mass[:, None] * saved.shares
    least = np.sort(counts.min(axis=1))[0] + 1e-6
    told = published(saved, None, min_cell_count=least)
    gone = np.isnan(told.shares).all(axis=1)
    assert gone.sum() == 2 and gone[counts.min(axis=1) < least].all()
    np.testing.assert_array_equal(told.shares[~gone], saved.shares[~gone])
    np.testing.assert_array_equal(told.base, saved.base)
    assert "withheld" in card(told)
    nothing = published(saved, None, min_cell_count=10_000)
    assert np.isnan(nothing.shares).all() and np.isnan(nothing.base).all()
    assert "No leaf's shares may be told" in card(nothing)
    assert published(saved, None).shares is saved.shares


def test_what_is_withheld_stays_so_in_the_file_and_changes_no_answer(saved, tmp_path):
    told = published(saved, np.random.default_rng(2), epsilon=1.0, min_cell_count=40)
    told.save(tmp_path / "filter.parquet")
    again = ft.read_filter(tmp_path / "filter.parquet")
    np.testing.assert_array_equal(again.shares, told.shares)
    assert again.facts["epsilon"] == 1.0 and again.facts["min_cell_count"] == 40.0
    people = pd.DataFrame({"id": range(50), "a": 1.0, "b": 0.0, "c": np.arange(50) % 5})
    one, other = (ft.apply_filter(people, which, 1) for which in (saved, again))
    np.testing.assert_array_equal(one["accepted"], other["accepted"])


def test_withheld_hides_at_least_two_of_several():
    assert withheld(np.array([3.0, 50.0, 20.0]), 5).tolist() == [True, False, True]
    assert withheld(np.array([3.0, 4.0, 20.0]), 5).tolist() == [True, True, False]
    assert not withheld(np.array([30.0, 40.0]), 5).any()
    assert withheld(np.array([3.0]), 5).all()


def test_shares_are_within_each_class():
    counts = np.array([[1.0, 3.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    assert shares_of(counts, [2, 2]).tolist() == [[0.25, 0.75, 0.5, 0.5], [0.0] * 4]


def test_a_count_at_the_limit_is_told_and_of_two_alone_both_are_not():
    np.testing.assert_array_equal(withheld(np.array([5.0, 9, 7]), 5), [False] * 3)
    np.testing.assert_array_equal(withheld(np.array([4.0, 9, 7]), 5), [True, False, True])
    np.testing.assert_array_equal(withheld(np.array([4.0]), 5), [True])
    np.testing.assert_array_equal(withheld(np.array([4.0, 3, 9]), 5), [True, True, False])


def test_released_columns_of_many_values_are_parts_of_enough_rows():
    few = np.repeat(np.arange(20), 3)
    np.testing.assert_array_equal(_parts(few), few)
    many = _parts(np.arange(200) / 7)
    np.testing.assert_array_equal(many, np.arange(200) // 50)
    assert _parts(np.arange(49)).max() == 0 and _parts(np.arange(100_000)).max() == 19
    holes = _parts(np.array(["b", None, "a", "b"], object))
    assert len(set(holes)) == 3 and holes[0] == holes[3]


def test_a_filter_of_equal_chances_is_of_no_use_unless_groups_are_even(saved):
    flat = dataclasses.replace(saved, acceptance=np.full(len(saved.mass), 0.4))
    flat.base = flat.target + np.array([0.99 * EVEN, *np.zeros(len(flat.target) - 1)])
    check_useful(flat)
    flat.base = flat.target + np.array([1.01 * EVEN, *np.zeros(len(flat.target) - 1)])
    with pytest.raises(CounterweightError, match="accept everybody alike"):
        check_useful(flat)
    flat.acceptance = np.linspace(0.3, 0.4, len(saved.mass))
    check_useful(flat)


def test_a_filter_is_told_by_its_own_repeat_and_setting_alone():
    told = [(0, "a", 1.0), (1, "a", 2.0), (0, "b", 3.0)]
    repeat, setting, value = (np.array(column) for column in zip(*told, strict=True))
    metrics = {"repeat": repeat, "setting": setting, "value": value}
    metrics |= {"metric": np.repeat(MEASURES[0], 3), "target": np.repeat("train", 3)}
    metrics["part"] = np.repeat("", 3)
    for at, (turn, chosen, own) in enumerate(told):
        found = _measures(metrics, turn, chosen, ["g"], np.ones(1))
        assert found == {(MEASURES[0], "train"): own}, at


def test_rows_that_chose_among_several_filters_bound_each_with_a_part_of_the_doubt(saved):
    """Bonferroni: at a doubt of 30 % for three it is as sure as at 10 % for one."""
    X, Z = drawn(np.random.default_rng(1), 400)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(group=Z.argmax(axis=1))

    def bounds(level, tests):
        made = dataclasses.replace(saved, held={}, release=[])
        describe_held_out(made, frame, Z, np.random.default_rng(2), level, tests)
        return made.held

    several, one, plain = bounds(0.7, 3), bounds(0.9, 1), bounds(0.7, 1)
    asked = [key for key in several if key[1] in ("bound", "low", "high")]
    for key in asked:
        assert several[key] == pytest.approx(one[key], abs=1e-9), key
    assert one["disclosivity", "bound", -1] > plain["disclosivity", "bound", -1]
