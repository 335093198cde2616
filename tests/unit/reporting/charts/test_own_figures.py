"""Figures of one's own tables: new rows beside old ones, groups and promises."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from drawn_studies import draw, drawn_values


def with_files(folder, /, methods=(), **tables):
    """What a figure of new rows asks of a study: its methods, its folder, the tables in it."""
    for name, table in tables.items():
        pd.DataFrame(table).to_parquet(folder / f"{name}.parquet")
    read = lambda name: pd.read_parquet(folder / name)  # noqa: E731
    return SimpleNamespace(folder=Path(folder), table=read, plan={"methods": methods})


def test_new_rows_and_those_of_the_table_stand_on_the_same_bins(tmp_path):
    rng = np.random.default_rng(1)
    new, old, tried = rng.uniform(0.2, 0.5, 80), rng.uniform(size=50), np.full(50, np.nan)
    tried[:20] = rng.uniform(0, 0.1, 20)  # known outcomes, foretold without them
    table = {"estimate": old, "cross_validated": tried}
    drawing = draw("new_rows", with_files(tmp_path, new_scores={"estimate": new}, scores=table))
    shown = np.where(np.isnan(tried), old, tried)
    ends = min(new.min(), shown.min()), max(new.max(), shown.max())
    for name, values in (("new rows", new), ("rows of the table", shown)):
        part = drawing.points[drawing.points["series"] == name]
        heights, edges = np.histogram(values, len(part), ends)
        assert part["value"].tolist() == pytest.approx((100 * heights / len(values)).tolist())
        assert part["at"].to_numpy() == pytest.approx(50 * (edges[1:] + edges[:-1]))
        assert part["value"].sum() == pytest.approx(100)
    for mean in (new.mean(), shown.mean()):
        assert f"{100 * mean:.1f} %" in drawing.title


def test_rows_of_the_table_count_for_as_many_as_they_stand_for(tmp_path):
    table, new = {"estimate": [0.1, 0.1, 0.9]}, {"estimate": [0.1, 0.5]}
    for kept, heights in (
        ({"keep_rate": [0.2, 0.2, 1.0]}, (1000 / 11, 100 / 11)),
        ({"weight": [1.0, 2.0, 6.0]}, (100 / 3, 200 / 3)),
    ):
        rows = {"repeat": [0, 0, 0], "row": [0, 1, 2]} | kept
        again = {name: [*values, *values] for name, values in rows.items()}
        again["repeat"] = [0, 0, 0, 1, 1, 1]
        told = {"new_scores": new, "scores": table, "labels": again}
        drawing = draw("new_rows", with_files(tmp_path, **told))
        part = drawing.points[drawing.points["series"] == "rows of the table"]["value"]
        assert (part.iloc[0], part.iloc[-1]) == pytest.approx(heights)
        assert f"{0.1 * heights[0] + 0.9 * heights[1]:.1f} %" in drawing.title


def test_new_rows_that_are_all_alike_have_a_width(tmp_path):
    alike = {"best_offer": [2.0, 2.0]}
    points = draw("new_rows", with_files(tmp_path, new_offers=alike, offers=alike)).points
    new = points[points["series"] == "new rows"]
    assert new["at"].min() > 1.5 and new["at"].max() < 2.5 and new["value"].max() == 100


def test_shares_of_accepted_people_and_no_new_ones(tmp_path):
    tables = {"new_accepted": {"accepted": [1, 0, 0, 0]}, "accepted": {"accepted": [1, 1, 0, 0]}}
    drawing = draw("new_rows", with_files(tmp_path, **tables))
    assert drawing.points["value"].tolist() == [25, 50]
    assert drawing.title == "25.0 % of the new people are accepted; of the table 50.0 %"
    none = {"new_accepted": {"accepted": []}, "accepted": {"accepted": [1]}}
    assert draw("new_rows", with_files(tmp_path, **none)).title == "No new rows were answered."


def test_people_without_an_offer_are_in_no_histogram_of_offers(tmp_path):
    none, some = {"best_offer": [np.nan] * 3}, {"best_offer": [2.0, np.nan, 4.0]}
    study = with_files(tmp_path, new_offers=some, offers=some)
    assert draw("new_rows", study).title.startswith("New rows: best offer 3")
    study = with_files(tmp_path, new_offers=some, offers=none)
    assert draw("new_rows", study).title.startswith("Here no offer is better")


def test_decisions_that_keep_promises_are_counted_and_captions_say_what_is_drawn(tmp_path):
    table = {"estimate": [0.1, 0.9, 0.4, 0.2], "decision": [True, True, True, False]}
    tables = {"new_scores": table, "scores": table | {"decision": [True, False, False, False]}}
    promised = [{"options": {"constraints": ["recall(a) >= 0.5"]}}]
    drawing = draw("new_rows", with_files(tmp_path, methods=promised, **tables))
    assert drawing.title == "75.0 % of the new rows get a yes; of the table 25.0 %"
    assert drawing.points["value"].tolist() == [75, 25] and "decision is yes" in drawing.caption
    tables["labels"] = {"row": [3, 1, 2, 0], "keep_rate": [0.25, 0.5, 0.5, 1.0]}
    drawing = draw("new_rows", with_files(tmp_path, methods=promised, **tables))
    assert drawing.title.endswith("of the table 11.1 %"), "one of 1 + 2 + 2 + 4 rows"
    plain = draw("new_rows", with_files(tmp_path, methods=[{"options": None}], **tables))
    assert plain.title.startswith("New rows: estimate 40.0 %") and plain.caption == ""


def test_values_of_a_new_log_stand_above_those_of_the_old(tmp_path):
    def log(names, value):
        rows = {"policy": names, "estimator": "ips", "value": value}
        return pd.DataFrame(rows).assign(
            low=lambda t: t["value"] - 1, high=lambda t: t["value"] + 1
        )

    new, old = log(["a", "b", "b"], [1.0, 2.0, 9.0]), log(["a"], [5.0])
    drawing = draw("new_rows", with_files(tmp_path, new_values=new, values=old))
    assert drawn_values(drawing.points, series="new log") == [1, 2]
    assert drawn_values(drawing.points, series="log of the table") == [5]
    first = drawing.points.iloc[0]
    assert (first["low"], first["high"]) == (0, 2) and drawing.title == "New log: b 2.00 a row"
    lines = [line for line in drawing.figure.axes[0].lines if line.get_marker() == "o"]
    rows = {round(float(line.get_ydata()[0]), 2) for line in lines if len(line.get_ydata()) == 1}
    assert rows >= {-0.14, 0.86}


def test_groups_stand_by_their_share_from_the_smallest(study_of):
    study = study_of("groups")
    drawing = draw("groups", study)
    first = drawn_values(drawing.points, series="among all")
    assert first == sorted(first) and len(first) > 2
    parts = study.places("part", "labels", "group_share", "test")
    known = [100 * study.get("labels", "group_share", "test", part=part).mean for part in parts]
    assert set(np.round(first, 9)) <= set(np.round(known, 9))
    accepted, wanted = (drawn_values(drawing.points, series=one) for one in ("accepted", "wanted"))
    told = f"{first[0]:.1f} % of all, {accepted[0]:.1f} % of the accepted; wanted {wanted[0]:.1f} %"
    assert told in drawing.title


def test_promises_are_counted_that_are_kept_beyond_chance(study_of):
    study = study_of("kept")
    drawing = draw("kept", study)
    count = len(drawing.figure.axes[0].get_yticklabels())
    main = drawing.points[drawing.points["series"] == study.label(study.main)]
    kept = (main["high"] < 0).sum()
    assert drawing.title.startswith(f"{kept} of {count} promises") and 0 < kept < count


def test_sections_are_drawn_in_the_unit_of_their_measure(study_of):
    study = study_of("sections")
    points = draw("sections", study).points
    known = 100 * study.get(study.main, "accuracy").mean
    for form in ("Drawn as dots", "Drawn as bars"):
        assert len(points) and np.isclose(points["value"], known).sum() >= 2, form
    brier = study.get(study.main, "brier").mean
    assert np.isclose(points["value"], brier).any()
    title = draw("sections", study).title
    assert f": {study.label(study.main)} has " in title and f"{known:.1f}" in title
    heat = points[points["measures"] == "value"]
    assert len(heat) and np.isclose(heat["value"], known / 100).any()
