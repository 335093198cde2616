"""Saved filters: the same answers as in the study, alone and among others, by key and id."""

import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.delivery import saved_filters as ft
from counterweight.delivery.final_filters import delivered_records, describe_held_out, saved_filter
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import TabularEncoder
from counterweight.models.filter_card import card
from counterweight.numerics.coins import VARIABLE, own_key, read_key
from counterweight.numerics.geometry import distorted
from counterweight.numerics.groups import balance_change, imbalance
from counterweight.selection.split_tree import SplitTreeProxy
from counterweight.tables.parquet import metrics_table, write_table
from counterweight.tables.table_reader import read_people
from delivering import Own
from filter_study import CASES, GROUPS, SEED, case, people, study


def trained(folder, frame, entry):
    """A study of a person's table, run up to what it delivers."""
    made = Own(folder, frame, entry)
    made.run("label")
    for name in ("leaves_10", "leaves_25"):
        made.run("select", name)
        made.run("weigh", f"quadratic-{name}")
        made.run("train", name)
        write_table(made.at.metrics(name), metrics_table("mine", "m", []))
    return made


PLAIN = {"id": "person", "balance": "group", "certified": False}


def test_neither_names_nor_the_order_of_rows_and_columns_decide_whom_a_filter_accepts(tmp_path):
    frame = people().drop(columns="row")
    order = np.random.default_rng(4).permutation(len(frame))
    turned = frame.iloc[order, ::-1]
    # Coins go by the filter itself, names of its columns included.
    named = turned.rename(columns={"age": "zz", "home": "Bleibe"})
    own_key(tmp_path / "filter.key")
    told = []
    for name, one in (("first", frame), ("second", turned), ("third", named)):
        (tmp_path / name).mkdir()
        entry = PLAIN | {"filter_key": str(tmp_path / "filter.key"), "alpha": 0.3}
        files = trained(tmp_path / name, one, entry).run("deliver")
        answers = pd.read_parquet(files["table"])
        assert answers["person"].to_list() == one["person"].to_list()
        told.append((answers.set_index("person"), pd.read_parquet(files["metrics"])))
    (people_of, measured), (others, same), (_, renamed) = told
    pd.testing.assert_frame_equal(people_of, others.loc[people_of.index])
    for records in (same, renamed):
        pd.testing.assert_frame_equal(measured, records, check_exact=True)


def brought(path):
    return read_people(path, absent="bring it", nameless=True)


@pytest.fixture(scope="module", params=CASES)
def made(request, tmp_path_factory):
    return case(request.param, tmp_path_factory.mktemp("filter"))


def test_the_saved_filter_gives_the_imbalance_of_the_study_on_its_test_rows(made):
    for name, member in made.proxy.leaves(made.X[made.test]):
        if name in ("", made.setting):
            eta = made.weighed.eta or 0.0
            p = (1 - eta) * member @ made.weighed.rho + eta * made.weighed.rho.mean()
    hidden = made.Z[made.test]
    target = np.full(3, 1 / 3)
    candidates = made.frame[made.test].drop(columns=["group", "flat"])
    decided = ft.apply_filter(candidates, ft.read_filter(made.path), SEED)
    q = decided["probability"]
    np.testing.assert_allclose(q, p, atol=1e-12)
    assert (
        abs(imbalance(p @ hidden / p.sum(), target) - imbalance(q @ hidden / q.sum(), target))
        < 1e-9
    )


def test_leaves_and_acceptance_of_the_filter_are_those_of_the_study(made):
    saved = ft.read_filter(made.path)
    np.testing.assert_allclose(saved.mass, made.weighed.mass, atol=1e-12)
    np.testing.assert_allclose(saved.shares, made.weighed.shares, atol=1e-12)
    np.testing.assert_array_equal(saved.acceptance, made.weighed.rho)
    assert saved.groups == GROUPS and saved.classes == ["group"] * 3
    assert saved.measures["imbalance", "test"] == 0.123
    assert saved.rate == pytest.approx(made.weighed.rate)


def test_the_table_is_the_same_when_written_again(made, tmp_path):
    ft.read_filter(made.path).save(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == made.path.read_bytes()


def test_only_the_chosen_setting_is_given_away():
    found = study(
        SplitTreeProxy(alphas=[0.0, 0.1, 0.3], min_weight_fraction_leaf=0.05), "alpha=0.1"
    )
    saved = saved_filter(**found.parts)
    assert list(saved.proxy.settings_) == ["alpha=0.1"]
    with pytest.raises(CounterweightError, match="alpha=0.1"):
        saved_filter(**found.parts | {"facts": found.parts["facts"] | {"setting": "alpha=0.7"}})


def test_draws_follow_the_probabilities_and_the_leaf_decides(made):
    frame = pd.concat([made.frame] * 40, ignore_index=True)
    frame["person"] = np.arange(len(frame))
    saved = ft.read_filter(made.path)
    decided = ft.apply_filter(frame, saved, SEED)
    p, accepted = decided["probability"], decided["accepted"]
    assert abs(accepted.sum() - p.sum()) < 5 * np.sqrt((p * (1 - p)).sum()) + 1e-9
    member = saved.memberships(np.tile(made.X, (40, 1)))
    rows = np.arange(len(frame))
    assert (member[rows, decided["leaf"]] > 0).all()
    counts = np.bincount(decided["leaf"], minlength=len(saved.mass))
    spread = np.sqrt((member * (1 - member)).sum(axis=0))
    assert (np.abs(counts - member.sum(axis=0)) <= 5 * spread + 1e-6).all()
    assert not accepted[saved.acceptance[decided["leaf"]] == 0].any()
    assert accepted[saved.acceptance[decided["leaf"]] == 1].all()


def test_a_person_gets_the_same_answer_alone_and_in_any_order_and_file(made):
    saved = ft.read_filter(made.path)
    whole = pd.DataFrame(ft.apply_filter(made.frame, saved, SEED)).set_index("id")
    assert whole.index.tolist() == made.frame["person"].tolist()
    mixed = made.frame.sample(frac=1.0, random_state=1)
    for part in (mixed, mixed[:100], *(made.frame[at : at + 1] for at in range(0, 1500, 50))):
        again = pd.DataFrame(ft.apply_filter(part, saved, SEED)).set_index("id")
        pd.testing.assert_frame_equal(again, whole.loc[again.index], check_exact=True)


def test_ids_are_texts_and_each_stands_once(made):
    saved = ft.read_filter(made.path)
    same = made.frame[:1]
    draws = [
        ft.apply_filter(pd.concat([same] * 40).assign(person=ids), saved, SEED)["leaf"]
        for ids in (range(40), [float(at) for at in range(40)], [f" {at}" for at in range(40)])
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[0], draws[2])
    for ids, word in (
        (["a", " a"], "stood before .a."),
        (["a", None], "row 1"),
        (["", "b"], "row 0"),
    ):
        with pytest.raises(CounterweightError, match=word):
            ft.apply_filter(made.frame[:2].assign(person=ids), saved, SEED)
    with pytest.raises(CounterweightError, match="no column 'person'"):
        saved.accept(made.frame.drop(columns="person"), SEED)


def test_another_key_is_refused_and_only_its_digest_is_kept(made, tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    saved = ft.read_filter(made.path)
    with pytest.raises(CounterweightError, match="not the one"):
        saved.accept(made.frame, SEED + 1)
    key = own_key(tmp_path / "deep" / "filter.key")
    file = tmp_path / "deep" / "filter.key"
    assert file.stat().st_mode & 0o777 == 0o600
    assert own_key(file).secret == key.secret == read_key(file).secret
    assert [path.name for path in file.parent.iterdir()] == ["filter.key"]
    facts = made.parts["facts"] | {"key": key.digest}
    mine = saved_filter(**made.parts | {"facts": facts})
    mine.save(tmp_path / "filter.parquet")
    for path in (tmp_path / "filter.parquet",):
        assert file.read_text().strip().encode() not in path.read_bytes()
    first = mine.accept(made.frame, file)["accepted"]
    monkeypatch.setenv(VARIABLE, file.read_text())
    np.testing.assert_array_equal(load(tmp_path).accept(made.frame)["accepted"], first)
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(CounterweightError, match="no key at"):
        mine.accept(made.frame, tmp_path / "other.key")
    secret = file.read_text().strip()
    with pytest.raises(CounterweightError, match="text of a key") as told:
        mine.accept(made.frame, secret)
    assert secret not in str(told.value)
    monkeypatch.chdir(tmp_path)  # where no key lies
    with pytest.raises(CounterweightError, match=r"accept\(frame, key=\.\.\.\)"):
        mine.accept(made.frame)
    file.chmod(0o644)
    with pytest.raises(CounterweightError, match="chmod 600"):
        mine.accept(made.frame, file)
    (tmp_path / "short.key").write_text("abc")
    (tmp_path / "short.key").chmod(0o600)
    with pytest.raises(CounterweightError, match="at least 16"):
        mine.accept(made.frame, tmp_path / "short.key")


def test_a_reader_of_pandas_alone_gives_the_same_answers(made, tmp_path):
    if not isinstance(made.proxy, SplitTreeProxy):
        return
    script = Path(__file__).resolve().parents[3] / "examples" / "read_filter.py"
    assert len(script.read_text().splitlines()) < 80
    frame = made.frame[:200].assign(town=["new town", *made.frame["town"][1:200]])
    frame.drop(columns="group").to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "key").write_text(f"seed {SEED}")
    files = [made.path, tmp_path / "people.csv", tmp_path / "key"]
    run = subprocess.run([sys.executable, script, *files], capture_output=True, text=True)
    told = dict(line.split(",") for line in run.stdout.split())
    released = ft.read_filter(made.path).accept(frame, SEED)
    mine = ["yes" if one else "no" for one in released["accepted"]]
    assert told == dict(zip(released["person"], mine, strict=True)), run.stderr


def test_candidates_unlike_the_training_rows_are_told(made, caplog):
    saved = replace(ft.read_filter(made.path), ranges={})  # a file of 1.0.0 does not refuse them
    for times, told in ((1, False), (1000, True)):
        caplog.clear()
        frame = made.frame.assign(
            age=made.frame["age"] * times, income=made.frame["income"] * times
        )
        with caplog.at_level(logging.WARNING, "counterweight"):
            saved.accept(frame, SEED)
        # A filter of one leaf asks nothing, so nothing can drift.
        assert ("not like the rows" in caplog.text) == (told and len(saved.mass) > 1)


def test_a_part_of_the_candidates_that_is_unlike_the_training_rows_is_told(made, caplog):
    saved, frame = ft.read_filter(made.path), made.frame
    for some, told in ((0, False), (len(frame) // 4, True)):
        caplog.clear()
        times = np.where(np.arange(len(frame)) < some, 1000, 1)
        saved.accept(frame.assign(age=frame["age"] * times), SEED)
        assert (f" of {len(frame)} candidates are unlike" in caplog.text) == told
        assert ("by age" in caplog.text) == told


def test_the_filters_digest_changes_with_what_decides_and_with_nothing_else(made):
    saved = ft.read_filter(made.path)
    assert saved.digest() == saved.facts["digest"] == made.saved.digest()
    saved.measures, saved.release = {}, ["accepted", "leaf"]
    assert saved.digest() == saved.facts["digest"]
    saved.acceptance = saved.acceptance * 0.5
    assert saved.digest() != saved.facts["digest"]


def test_csv_and_parquet_candidates_are_decided_alike(made, tmp_path):
    saved = ft.read_filter(made.path)
    made.frame.drop(columns="group").to_csv(tmp_path / "people.csv", index=False)
    made.frame.drop(columns="row").to_parquet(tmp_path / "people.parquet")
    made.frame.to_csv(tmp_path / "semicolons.txt", index=False, sep=";")
    whole = ft.apply_filter(made.frame, saved, SEED)
    for name in ("people.csv", "people.parquet", "semicolons.txt"):
        decided = ft.apply_filter(brought(tmp_path / name), saved, SEED)
        for key, values in whole.items():
            np.testing.assert_array_equal(decided[key], values)


def test_a_table_that_is_no_filter_is_refused(tmp_path, made):
    half = SimpleNamespace(**vars(ft.read_filter(made.path)) | {"encoder": TabularEncoder.of([])})
    ft.SavedFilter.save(half, tmp_path / "half.parquet")
    with pytest.raises(CounterweightError, match="is no filter"):
        ft.read_filter(tmp_path / "half.parquet")


def test_only_who_is_accepted_is_released_unless_more_is_asked_for(made, tmp_path):
    saved = ft.read_filter(made.path)
    released = saved.accept(made.frame, SEED)
    assert list(released) == ["person", "accepted"]
    decided = ft.apply_filter(made.frame, saved, SEED)
    np.testing.assert_array_equal(released["accepted"], decided["accepted"])
    saved.release = ["accepted", "leaf", "note"]
    frame = made.frame.assign(note=made.frame["group"])
    held = frame[made.test].reset_index(drop=True)
    describe_held_out(saved, held, made.Z[made.test], np.random.default_rng(1), 0.95)
    saved.save(tmp_path / "filter.parquet")
    again = load(tmp_path)
    released = again.accept(frame, SEED)
    assert list(released) == ["person", "accepted", "leaf", "note"]
    np.testing.assert_array_equal(released["leaf"], decided["leaf"])
    for i in (0, 1, 2, -1):
        assert again.held["released", "bound", i] >= again.held["released", "value", i]
    assert all(
        again.held["released", "value", -1] >= again.held["released", "value", i] for i in range(3)
    )
    known = {r["part"]: r["value"] for r in delivered_records(again) if r["metric"] == "released"}
    assert known["all of them together"] == again.held["released", "bound", -1] > known["leaf"]
    text = card(again)
    # The note says the group itself: nothing is farther from the shares of all than that.
    most = 1 - made.Z[made.test].mean(axis=0).min()
    assert again.held["released", "value", 2] == pytest.approx(most)
    assert "| `note` |" in text and "all of them together" in text
    with pytest.raises(CounterweightError, match="releases the column note"):
        again.accept(made.frame, SEED)


def test_each_of_several_columns_has_its_own_change(made):
    saved, Z = ft.read_filter(made.path), made.Z[made.test]
    held = made.frame[made.test].reset_index(drop=True)
    p = saved.memberships(saved.encoder.transform(held)) @ saved.acceptance
    # A column that is even among all, and not among those who are likely to be accepted.
    side = np.argsort(np.argsort(p, kind="stable")) < len(p) // 2
    two = np.column_stack([Z, side, ~side]).astype(float)
    whole = replace(
        saved,
        groups=[*(f"group={name}" for name in saved.groups), "side=a", "side=b"],
        classes=["group"] * 3 + ["side"] * 2,
        base=two.mean(axis=0),
        target=np.r_[saved.target, 0.5, 0.5],
        shares=np.hstack([saved.shares, np.full((len(saved.mass), 2), 0.5)]),
    )
    describe_held_out(whole, held, two, np.random.default_rng(1), 0.95)
    changes = whole.changes()
    assert list(changes) == ["group", "side"]
    for name, block in (("group", slice(0, 3)), ("side", slice(3, 5))):
        change, *ends = balance_change(p, two[:, block], whole.target[block])
        before, after, *found = changes[name]
        assert found == pytest.approx(ends) and after - before == pytest.approx(change)
    text, rises = card(whole), np.ptp(p) > 0
    assert (changes["side"][2] > 0) == rises and "\n| side | 0.00" in text
    assert ("**It makes side more uneven.**" in text) == rises
    assert "imbalance of side" in whole.shown()
    told = [r for r in delivered_records(whole) if r["metric"] == "imbalance"]
    parts = {r.get("part", ""): r["value"] for r in told}
    assert parts["side"] == changes["side"][1] and set(parts) == {"group", "side", ""}
    # A single column has one change alone.
    assert saved.changes() == {} and "more uneven" not in card(saved)


def test_what_held_out_rows_bound_lower_stands_beside_a_certificate(made):
    held = made.frame[made.test].reset_index(drop=True)
    given = held, made.Z[made.test]
    plain = ft.read_filter(made.path)
    describe_held_out(plain, *given, np.random.default_rng(1), 0.95, tests=3)
    own = plain.held["disclosivity", "bound", -1]
    for alpha, lower in ((own + 0.2, True), (own / 2, False)):
        saved = ft.read_filter(made.path)
        saved.facts |= {"alpha": alpha, "level": 0.95}
        describe_held_out(saved, *given, np.random.default_rng(1), 0.95, tests=3)
        assert saved.held["disclosivity", "bound", -1] == alpha
        told = {one["metric"]: one["value"] for one in delivered_records(saved)}
        assert (told.get("disclosivity_alone") == own) == lower
        assert (f"By themselves these rows bound it at {own:.3f}" in card(saved)) == lower


def test_people_of_ones_own_table_and_new_ones_are_told_by_their_id(tmp_path):
    frame = people().drop(columns=["row", "flat"])
    frame["person"] = [f"p{at}" for at in np.random.default_rng(1).permutation(len(frame))]
    frame.insert(0, "person", frame.pop("person"))
    frame.drop(columns="group").to_csv(tmp_path / "new.csv", index=False)
    mine = {"id": "person", "balance": "group", "alpha": 0.3, "score": str(tmp_path / "new.csv")}
    mine |= {"max_distortion": 0.05, "certified": False, "min_cell_count": 0}
    made = trained(tmp_path, frame, mine)
    files = made.run("deliver")
    told = pd.read_parquet(files["table"])
    assert list(told) == ["person", "accepted"] and files["table"].name == "accepted.parquet"
    assert told["person"].tolist() == frame["person"].tolist()
    assert 0 < told["accepted"].mean() < 1
    saved = ft.read_filter(files["filter"])
    assert saved.facts["max_distortion"] == 0.05
    assert distorted(saved.acceptance * saved.mass, saved.mass, saved.shares).max() <= 0.05 + 1e-9
    assert "At most 5 % were asked for" in files["card"].read_text()
    words = pd.read_csv(files["csv"])
    assert (words["accepted"] == "yes").tolist() == told["accepted"].tolist()
    new = made.run("apply")
    assert new["csv"].name == "new_accepted.csv"
    pd.testing.assert_frame_equal(pd.read_parquet(new["table"]), told)


def test_a_group_of_a_few_people_is_questioned(tmp_path, caplog):
    frame = people().drop(columns=["row", "flat"])
    frame["group"] = frame["group"].where(frame.index > 7, "rare")
    made = trained(tmp_path, frame, PLAIN)
    files = made.run("deliver")
    assert "Groups of fewer than 10 people in the fit are among rare, red." in caplog.text
    assert "They count in the target and in the imbalance" in files["card"].read_text()


def test_a_table_too_small_for_any_split_gets_a_sentence_and_no_filter(tmp_path):
    frame = people(60).drop(columns=["row", "flat"])
    made = trained(tmp_path, frame, PLAIN)
    told = "40 of 60 rows fitted it, and a leaf has at least 100.*more than 300 rows"
    with pytest.raises(CounterweightError, match=told) as refused:
        made.run("deliver")
    assert "certified: false" not in str(refused.value), "it has that already"


def test_a_raw_frame_is_read_as_the_table_was(tmp_path):
    frame = people().drop(columns=["row", "flat", "age"]).head(700)
    random = np.random.default_rng(2)
    group = frame["group"].map({name: at for at, name in enumerate(GROUPS)})
    frame["member"] = np.where(random.random(len(frame)) < 0.2 + 0.3 * group, "Yes", "No")
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, len(frame)), "D")
    frame["since"] = days.strftime("%d.%m.%Y")
    frame["income"] = [f"{one:.2f}".replace(".", ",") for one in frame["income"]]
    made = trained(tmp_path, frame, PLAIN)
    files = made.run("deliver")
    expected = pd.read_parquet(files["table"]).set_index("person")["accepted"]
    raw = pd.read_csv(tmp_path / "own.csv")
    some = raw[raw["member"] == "Yes"].sample(frac=0.5, random_state=0)
    saved, key = load(made.at.folder), tmp_path / "filter.key"
    assert {"member", "since", "income"} & set(saved.types)
    released = saved.accept(some, key)
    assert released.index.equals(some.index)
    np.testing.assert_array_equal(released["accepted"], expected.loc[some["person"]])
    assert ft.apply_filter(some, saved, key)["id"].tolist() == some["person"].tolist()
    # Ids that were texts are told as such: pandas drops the zeros of 007.
    saved.types["person"] = ("text", {})
    with pytest.raises(CounterweightError, match="'person' of the candidates holds numbers, and"):
        saved.accept(some.assign(person=np.arange(len(some))), key)
    np.testing.assert_array_equal(
        saved.accept(some.astype({"person": str}), key)["accepted"], released["accepted"]
    )
    # Codes of one length get their zeros back.
    saved.types["person"] = ("text", {"digits": 6})
    ids = [f"{at:06d}" for at in range(len(some))]
    whole, short = some.assign(person=ids), some.assign(person=[one.lstrip("0") for one in ids])
    short.iloc[0, short.columns.get_loc("person")] = "0"
    for told in (short, some.assign(person=np.arange(len(some)))):
        np.testing.assert_array_equal(
            saved.accept(told, key)["accepted"], saved.accept(whole, key)["accepted"]
        )
    # A reader of pandas alone, too: it takes milliseconds a person.
    script = Path(__file__).resolve().parents[3] / "examples" / "read_filter.py"
    pd.read_csv(tmp_path / "own.csv", dtype=str).head(400).to_csv(tmp_path / "few.csv", index=False)
    run = [sys.executable, script, files["filter"], tmp_path / "few.csv", key]
    told = subprocess.run(run, capture_output=True, text=True)
    lines = [f"{name},{'yes' if one else 'no'}" for name, one in expected.head(400).items()]
    assert told.stdout.split() == lines, told.stderr


def test_candidates_unlike_the_rows_of_the_fit_are_told_and_beyond_half_nobody_is_accepted(made):
    saved, frame = ft.read_filter(made.path), made.frame
    found = ft.apply_filter(frame, saved, SEED)
    assert (found["unlike"] != "").mean() <= 0.02
    ages, rest = frame["age"].notna(), frame.copy()
    rest.loc[ages, "age"] *= np.where(np.arange(ages.sum()) < 300, 1000, 1)
    again = ft.apply_filter(rest, saved, SEED)
    assert (again["unlike"] == "age").sum() == 300 + (found["unlike"] == "age")[300:].sum()
    same = again["unlike"] == found["unlike"]
    np.testing.assert_array_equal(again["leaf"][same], found["leaf"][same])
    with pytest.raises(CounterweightError, match=r"Nobody is accepted: 1\d+ of 1500.*age lies out"):
        ft.apply_filter(frame.assign(age=frame["age"] * 1000), saved, SEED)


def test_a_blank_number_is_unlike_the_rows_of_a_fit_that_had_none(made):
    saved, frame = ft.read_filter(made.path), made.frame
    assert saved.encoder.has("age", "blank") and not saved.encoder.has("income", "blank")
    found, few = ft.apply_filter(frame, saved, SEED), frame.copy()
    few.loc[frame.index[:300], ["age", "income"]] = np.nan
    told = ft.apply_filter(few, saved, SEED)["unlike"]
    assert (told[:300] != "").all() and (told[:300] == "income").mean() > 0.9
    np.testing.assert_array_equal(told[300:], found["unlike"][300:])
    with pytest.raises(CounterweightError, match="income lies outside .* or is blank in 1500 of"):
        ft.apply_filter(frame.assign(income=np.nan), saved, SEED)


def test_texts_that_the_fit_never_saw_are_unlike_and_files_without_ranges_know_none(made, tmp_path):
    saved = ft.read_filter(made.path)
    strange = made.frame.assign(home="boat")
    with pytest.raises(CounterweightError, match="home is a text that the fit never saw in 1500"):
        ft.apply_filter(strange, saved, SEED)
    # Files of 1.0.0 have no ranges: they accept the same people as ever.
    replace(saved, ranges={}).save(tmp_path / "old.parquet")
    old = ft.read_filter(tmp_path / "old.parquet")
    assert old.ranges == {} and len(saved.ranges) == len(saved.encoder.columns_)
    assert old.digest() == saved.digest()
    now, then = (ft.apply_filter(made.frame, one, SEED)["accepted"] for one in (saved, old))
    np.testing.assert_array_equal(now, then)
    assert len(ft.apply_filter(strange, old, SEED)["accepted"]) == len(strange)


def test_ranges_leave_few_rows_of_the_fit_outside_and_tell_no_single_value():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{at}": (rng.random(2000) < 0.004) * 1.0 for at in range(200)})
    frame["x0"] = rng.normal(size=2000)
    frame.loc[0, "x0"] = 1e6
    types = dict.fromkeys(frame, "number")
    encoder = TabularEncoder().fit(frame, [*frame], types)
    X = encoder.encode(frame).dense()
    ranges = ft.ranges_of(encoder, X)
    out = ft.outside({name: frame[name].to_numpy() for name in frame}, ranges)
    assert np.any(out, axis=0).mean() <= 0.01
    assert -20 < ranges["x0"][0] < -4 and 4 < ranges["x0"][1] < 1e3


def test_what_a_page_says_of_new_people_is_counted(made):
    saved = ft.read_filter(made.path)
    frame = made.frame.assign(age=made.frame["age"].where(made.frame.index >= 100, 9000))
    found = ft.apply_filter(frame, saved, SEED)
    told = {(r["metric"], r.get("part", "")): r["value"] for r in ft.new_records(saved, found)}
    assert (
        told["candidates", ""] == 1500
        and told["candidates_accepted", ""] == found["accepted"].sum()
    )
    assert told["unlike", "age"] >= 100
    assert told["unlike", ""] == sum(v for (name, by), v in told.items() if name == "unlike" and by)
