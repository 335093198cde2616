"""The Open Bandit logs: types, errors that name the place, and the twin."""

import functools
import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets.open_bandit import FILES, ITEMS, LOG_COLUMNS, SOURCES, OpenBandit
from stage_jobs import run_script
from twin_checks import generated, mirror, refused

refusal = functools.partial(refused, OpenBandit)

ROWS = 24000
#: Header lines of the upstream files.
HEADERS = {
    f"{policy}/{campaign}/{campaign}.csv": ",".join(
        [*LOG_COLUMNS, *(f"user-item_affinity_{k}" for k in range(count))]
    )
    for policy in ("random", "bts")
    for campaign, count in ITEMS.items()
}
ITEM_HEADER = ",item_id,item_feature_0,item_feature_1,item_feature_2,item_feature_3"


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    return generated(OpenBandit, tmp_path_factory.mktemp("bandit"), ROWS)


@pytest.fixture
def small(tmp_path):
    OpenBandit.generate(tmp_path, 40, np.random.default_rng(1))
    return tmp_path


def edit(folder, line, old, new, file="bts/men/men.csv"):
    path = folder / file
    lines = path.read_text().split("\n")
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    path.write_text("\n".join(lines))


def put(folder, line, column, value, file="bts/men/men.csv"):
    """Put a value in a field of a line."""
    path = folder / file
    lines = path.read_text().split("\n")
    fields = lines[line - 1].split(",")
    fields[lines[0].split(",").index(column)] = value
    lines[line - 1] = ",".join(fields)
    path.write_text("\n".join(lines))


def test_real_files_have_the_published_counts():
    frame = OpenBandit.read(mirror("open_bandit"))
    logs = frame.groupby(["policy", "campaign"])
    assert logs.size().to_dict() == dict.fromkeys(
        [("random", "men"), ("random", "women"), ("bts", "men"), ("bts", "women")], 10000
    )
    assert logs["click"].sum().to_dict() == {
        ("random", "men"): 46,
        ("random", "women"): 46,
        ("bts", "men"): 69,
        ("bts", "women"): 46,
    }
    low, high = logs["propensity"].min(), logs["propensity"].max()
    for campaign, count in ITEMS.items():
        assert low["random", campaign] == high["random", campaign] == 1 / count
        assert set(frame.loc[frame["campaign"] == campaign, "item"]) == set(range(count))
    assert (low["bts", "men"], high["bts", "men"]) == (0.000165, 0.72529)
    assert (low["bts", "women"], high["bts", "women"]) == (0.000001, 0.9628)
    assert frame["timestamp"].dt.day.between(24, 30).all()
    assert not frame.isna().any(axis=None)
    assert frame["affinity"].unique().tolist()[0] == 0.0


def test_affinity_and_feature_are_those_of_the_logged_item(twin):
    folder, frame, _ = twin
    raw = pd.read_csv(folder / "bts/women/women.csv")
    items = pd.read_csv(folder / "bts/women/item_context.csv")
    part = frame[(frame["policy"] == "bts") & (frame["campaign"] == "women")]
    for at in np.flatnonzero(part["affinity"])[:5].tolist() + [0, 7, len(raw) - 1]:
        item = raw["item_id"][at]
        assert part["item"].iloc[at] == item
        assert part["affinity"].iloc[at] == raw[f"user-item_affinity_{item}"][at]
        assert part["item_feature_0"].iloc[at] == items["item_feature_0"][item]


def test_columns_types_and_order(twin):
    _, frame, _ = twin
    assert frame.dtypes.astype(str).to_dict() == {
        "row": "int32",
        "campaign": "str",
        "policy": "str",
        "timestamp": "datetime64[us, UTC]",
        "item": "int16",
        "position": "int8",
        "click": "int8",
        "propensity": "float64",
        "user_feature_0": "str",
        "user_feature_1": "str",
        "user_feature_2": "str",
        "user_feature_3": "str",
        "affinity": "float64",
        "item_feature_0": "float64",
    }
    assert frame["row"].tolist() == list(range(ROWS))


def test_twin_has_the_upstream_format(twin):
    folder, _, _ = twin
    for file, header in HEADERS.items():
        lines = (folder / file).read_text().split("\n")
        assert lines[0] == header
        assert lines[-1] == ""
        assert len(lines) == ROWS // 4 + 2
        index, time, *_ = lines[4].split(",")
        assert index == "3"
        assert len(time) == len("2019-11-24 00:03:13.442536+00:00")
        assert time.startswith("2019-11-2")
        assert time.endswith("+00:00")
        assert sorted(line.split(",")[1] for line in lines[1:-1]) == [
            line.split(",")[1] for line in lines[1:-1]
        ]
        items = (folder / file).parent / "item_context.csv"
        assert items.read_text().split("\n")[0] == ITEM_HEADER
        assert len(items.read_text().split("\n")) == ITEMS[file.split("/")[1]] + 2
    first = (folder / "random/men/men.csv").read_text().split("\n")[1].split(",")
    assert first[5] == "0.029411764705882353"
    assert first[-1] == "0.0"


def test_headers_of_the_real_files_are_those_of_the_twin():
    folder = mirror("open_bandit")
    for file, header in HEADERS.items():
        assert (folder / file).read_text().split("\n")[0] == header
        items = (folder / file).parent / "item_context.csv"
        assert items.read_text().split("\n")[0] == ITEM_HEADER


def test_twin_truth_is_the_probability_of_a_click(twin):
    _, frame, truth = twin
    p, click = truth["p_click"], frame["click"]
    for group in [np.ones(ROWS, bool), *(p > np.quantile(p, q) for q in (0.25, 0.5, 0.75, 0.9))]:
        assert abs((click - p)[group].sum()) < 4 * np.sqrt((p * (1 - p))[group].sum())


def test_twin_propensities_are_the_probabilities_of_the_items(twin):
    """Sum of 1 / propensity over an item's rows estimates the number of rows."""
    _, frame, _ = twin
    for policy in ("random", "bts"):
        for campaign, count in ITEMS.items():
            part = frame[(frame["policy"] == policy) & (frame["campaign"] == campaign)]
            weight = (1 / part["propensity"]).groupby(part["item"]).agg(["sum", "std", "size"])
            square = (1 / part["propensity"] ** 2).groupby(part["item"]).sum()
            error = np.sqrt(square)
            assert len(weight) == count
            assert (abs(weight["sum"] - len(part)) < 5 * error).all()


def test_twin_values_of_policies_are_those_of_reweighted_clicks(twin):
    """Both policies' values follow from the random log by importance weighting."""
    _, frame, truth = twin
    for policy in ("random", "bts"):
        own = (frame["policy"] == policy).to_numpy()
        excess = (truth["p_click"] - truth[f"value_{policy}"])[own]
        assert abs(excess.mean()) < 4 * excess.std() / np.sqrt(own.sum())
    assert truth["value_bts"].mean() > truth["value_random"].mean()


def test_missing_affinity_column_is_told(small):
    edit(small, 1, "user-item_affinity_33", "other", file="random/men/men.csv")
    text = refusal(small)
    assert "random/men/men.csv is not in its published format (its columns are " in text


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("click", "2", "0 or 1"),
        ("propensity_score", "0.0", "a probability above 0 and at most 1"),
        ("propensity_score", "-0.1", "a probability above 0 and at most 1"),
        ("propensity_score", "1.01", "a probability above 0 and at most 1"),
        ("item_id", "34", "an item of item_context.csv (0 to 33)"),
        ("item_id", "-1", "an item of item_context.csv"),
        ("position", "4", "1, 2 or 3"),
        ("user_feature_1", "", "a value"),
        ("timestamp", "soon", "a time"),
    ],
)
def test_wrong_value_is_told_by_file_line_and_column(small, column, value, expected):
    put(small, 4, column, value)
    text = refusal(small)
    assert (
        f"bts/men/men.csv, row 2 (counted from 0), column {column}: {value!r} where {expected}"
        in text
    )


def test_wrong_item_table_is_told(small):
    put(small, 3, "item_id", "0", file="bts/men/item_context.csv")
    text = refusal(small)
    assert "row 1 (counted from 0), column item_id: '0' where an item that does not stand" in text
    put(small, 3, "item_id", "99", file="bts/men/item_context.csv")
    assert "'99' where an item from 0 to 33 is expected" in refusal(small)


@pytest.mark.parametrize("data", ["data", "./data", "deep/data"])
def test_scripts_find_files_in_folders_of_their_own(tmp_path, monkeypatch, data):
    """Generate, then fetch the generated files from a mirror, then prepare them."""
    monkeypatch.chdir(tmp_path)
    uses, log = [("dataset", "open_bandit")], tmp_path / "log"

    def script(stage, run, inputs, outputs, **given):
        run_script(
            stage,
            f"datasets.sources:{run}",
            {"dataset": "open_bandit"} | given,
            inputs,
            outputs,
            log,
            uses,
        )

    made = [f"{data}/generated/open_bandit/{name}" for name in FILES]
    truth = f"{data}/generated/open_bandit/truth.parquet"
    script("download", "generate", {}, {"files": made, "truth": truth}, rows=40, seed=1)
    assert all(Path(path).is_file() for path in [*made, truth])
    files = {
        name: hashlib.sha256(Path(path).read_bytes()).hexdigest()
        for name, path in zip(FILES, made, strict=True)
    }
    monkeypatch.setenv("COUNTERWEIGHT_MIRROR", f"{data}/generated")
    fetched = [f"{data}/raw/open_bandit/{name}" for name in FILES]
    script("download", "fetch", {}, {"files": fetched}, files=files, sources=[])
    for raw in (made, fetched):
        table = tmp_path / "t.parquet"
        script("prepare", "prepare", {"files": raw}, {"table": table}, digests=files)
        assert len(pd.read_parquet(table)) == 40
    Path(fetched[3]).write_text("other")
    with pytest.raises(SystemExit):
        script("prepare", "prepare", {"files": fetched}, {"table": None}, digests=files)
    assert "not the pinned" in log.read_text()


def test_each_file_has_a_source_of_its_own_path():
    assert [source["file"] for source in SOURCES] == list(FILES)
    assert all(source["url"].endswith("/obd/" + source["file"]) for source in SOURCES)
