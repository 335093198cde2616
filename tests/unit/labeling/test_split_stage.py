"""What a labeling job writes, all repeats at once or one at a time."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.split import write_repeats, write_rows
from counterweight.tables.parquet import read_table
from delivering import Own


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"row": np.arange(n, dtype="int32"), "a": rng.normal(size=n), "y": rng.integers(0, 2, n)}
    )


def test_a_repeat_at_a_time_gives_the_bytes_of_all_at_once(tmp_path):
    rows = 60_000  # three repeats fill more than one row group
    features = table(rows)

    def repeats():
        for repeat in range(3):
            rng = np.random.default_rng(repeat)
            labels = pd.DataFrame(
                {"repeat": np.full(rows, repeat, "int16"), "row": features["row"]}
            )
            labels["role"] = rng.choice(["labeled", "test"], rows)
            seen = pd.Series(rng.integers(0, 2, rows), dtype="Int8")
            labels["y_general"] = seen.where(labels["role"] == "labeled")
            truth = labels[["repeat", "row"]].assign(y_general=seen, p=rng.random(rows))
            kept = rng.random(rows) < 0.9
            yield labels[kept], truth[kept]

    def job(folder):
        names = ("features", "labels", "truth")
        output = SimpleNamespace(**{name: folder / f"{name}.parquet" for name in names})
        return SimpleNamespace(output=output)

    whole = [pd.concat(part, ignore_index=True) for part in zip(*repeats(), strict=True)]
    write_rows(job(tmp_path / "whole"), features, *whole)
    told = write_repeats(job(tmp_path / "parts"), features, repeats(), lambda *both: map(len, both))
    assert [list(lengths) for lengths in told] == [[len(a), len(b)] for a, b in repeats()]
    for file in (tmp_path / "whole").iterdir():
        assert file.read_bytes() == (tmp_path / "parts" / file.name).read_bytes()


def test_a_repeat_that_fails_leaves_no_labels(tmp_path):
    def repeats():
        yield table(), table()
        raise CounterweightError("no classifier can be learned")

    output = SimpleNamespace(features=tmp_path / "f", labels=tmp_path / "l", truth=tmp_path / "t")
    with pytest.raises(CounterweightError):
        write_repeats(SimpleNamespace(output=output), table(), repeats(), lambda *_: None)
    assert {path.name for path in tmp_path.iterdir()} == {"f"}


#: What is asked of a table, by family, and its labels that say on which side a row is.
ASKED = {
    "blanks": ({"outcome": {"column": "y", "positive": 1}}, ["fold", "fold_1"]),
    "chances": ({"outcome": {"column": "sold", "positive": 1}, "keep_rate": 0.5}, ["role"]),
    "promises": (
        {
            "outcome": {"column": "sold", "positive": 1},
            "groups": {"old": {"age": {"at_least": 50}}},
            "promises": ["coverage(old) >= 0.8 * coverage(everyone)"],
        },
        ["role"],
    ),
    "offers": (
        {
            "offer": {"column": "price", "direction": "down"},
            "answer": {"column": "sold", "positive": 1},
        },
        ["role"],
    ),
    "filter": ({"balance": ["town"], "certified": False}, ["role"]),
}
ONCE = ("offers", "filter")


def sold(rows=400):
    rng = np.random.default_rng(4)
    frame = {"age": rng.uniform(20, 80, rows).round(3), "income": rng.normal(size=rows).round(3)}
    frame |= {"price": rng.uniform(5, 25, rows).round(2), "town": rng.choice([*"ab"], rows)}
    frame |= {"sold": rng.integers(0, 2, rows), "kind": np.arange(rows)}
    y = np.where(rng.random(rows) < 0.25, np.nan, rng.integers(0, 2, rows))
    return pd.DataFrame(frame | {"y": y})


def sides(folder, family, frame):
    """Labels of a table by the kind of its rows, and what was measured of them."""
    folder.mkdir()
    entry, names = ASKED[family]
    ids = {"id": "who", "columns": {"ignore": ["kind"] + ["y"] * (family != "blanks")}}
    own = Own(folder, frame, entry | ids)
    own.run("label")
    labels = read_table(own.at.labels)
    labels = labels[labels["repeat"] == 0]
    kind = frame["kind"].to_numpy()[labels["row"]]
    records = read_table(own.at.metrics("labels")).query("repeat == 0").set_index("metric")
    return labels.set_index(kind), names, records["value"]


@pytest.mark.parametrize("family", ASKED)
def test_copies_are_on_one_side_whatever_their_ids_and_order(family, tmp_path):
    plain = sold()
    twice = pd.concat([plain, plain[:200], plain[:20]], ignore_index=True)
    again = twice.sample(frac=1, random_state=2).reset_index(drop=True)
    found = [
        sides(tmp_path / name, family, frame.assign(who=[f"{name}{k}" for k in range(len(frame))]))
        for name, frame in (("plain", plain), ("twice", twice), ("again", again))
    ]
    (alone, names, sizes), (copied, _, measured), (other, *_) = found
    assert not {"copies", "user"} & {*alone} and "rows_different" not in sizes
    for name in names:
        by_kind = copied[name].groupby(level=0)
        assert (by_kind.nunique() == 1).all() and len(by_kind) == 400
        assert (by_kind.first() == other[name].groupby(level=0).first()).all()
    assert len(copied) == (400 if family in ONCE else 620)
    if family == "blanks":
        assert measured["rows_different"] == sizes["rows_labeled"] < measured["rows_labeled"]
    else:
        assert measured["rows_dropped"] == sizes["rows_dropped"] == 0
