"""Ids and leaks are found in many guises, and no ordinary feature is taken for one."""

import os
import string
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets.adult import Adult
from counterweight.datasets.bank_marketing import BankMarketing
from counterweight.datasets.ca_housing import CaHousing
from counterweight.errors import CounterweightError
from counterweight.labeling.column_report import (
    _codes_of_numbers,
    check_roles,
    column_report,
    copied_rows,
    report_lines,
    report_table,
    secrets_of,
)
from counterweight.labeling.columns import IN_COMMON, copies_together, look_at, roles_by_column
from counterweight.labeling.encoding import TabularEncoder
from counterweight.labeling.target_leakage import learnt
from counterweight.reporting.study_page import Answer, StudyContext, StudyPage, study_page
from counterweight.tables.parquet import read_table, write_table

ROWS = 600


def types_of(frame, **types):
    text = pd.api.types.is_string_dtype
    told = {name: "text" if text(frame[name]) else "number" for name in frame if name != "row"}
    return told | types


def outcome_of(values):
    return learnt("outcome", np.asarray(values, float))


class World:
    """Honest columns, a class and a number that depend on them, and who is labeled."""

    def __init__(self, rows=ROWS, seed=0):
        rng = self.rng = np.random.default_rng(seed)
        self.x = rng.normal(size=rows)
        self.income = np.round(np.exp(10 + 0.6 * rng.normal(size=rows)))
        self.town = rng.choice(list(string.ascii_uppercase[:12]), rows)
        self.y = (self.x + 0.5 * rng.logistic(size=rows) > 0.3).astype(float)
        self.amount = np.round(50 + 10 * self.x + rng.normal(size=rows), 2)
        self.labeled = rng.random(rows) < 0.6
        self.frame = pd.DataFrame(
            {
                "row": np.arange(rows, dtype=np.int32),
                "x": self.x,
                "income": self.income,
                "town": pd.Series(self.town, dtype="str"),
                "y": np.where(self.labeled, self.y, np.nan),
            }
        )

    def report(self, outcome=None, types=None, roles=None, made=None, **columns):
        """Facts by column, of the honest columns and others."""
        options = {name: columns.pop(name) for name in ("keep",) if name in columns}
        frame = self.frame.assign(**columns)
        outcome = np.where(self.labeled, self.y if outcome is None else outcome, np.nan)
        facts = column_report(
            frame,
            types_of(frame, **types or {}),
            made or {},
            roles or {"outcome": "y"},
            secrets=[outcome_of(outcome)],
            **options,
        )
        assert [fact.column for fact in facts] == [name for name in frame if name != "row"]
        return {fact.column: fact for fact in facts}


@pytest.fixture(scope="module")
def world():
    return World()


def used(facts):
    return [name for name, fact in facts.items() if fact.use == "feature"]


HONEST = ["x", "income", "town"]


def test_honest_columns_are_features(world):
    facts = world.report()
    assert used(facts) == HONEST
    assert facts["y"].use == "role"
    assert facts["y"].why == "the outcome"
    assert facts["town"][2:5] == ("text", 0.0, 12)


def letters(rng, rows, size):
    return ["".join(rng.choice(list("abcdef0123456789"), size)) for _ in range(rows)]


IDS = {
    "from 1": lambda rng: np.arange(1, ROWS + 1),
    "shuffled": lambda rng: rng.permutation(ROWS) + 10_000,
    "with gaps": lambda rng: np.sort(rng.choice(int(1.4 * ROWS), ROWS, replace=False)),
    "in tens": lambda rng: 10.0 * np.arange(ROWS) + 5,
    "account number": lambda rng: rng.integers(10**8, 10**9, ROWS),
    "customer_id": lambda rng: rng.integers(0, 10**6, ROWS) * 7919 % 15_485_863,
    "customerId of several rows": lambda rng: np.arange(ROWS) // 3 * 977,
    "long": lambda rng: rng.integers(2**60, 2**62, ROWS).astype(float),
    "words": lambda rng: [f"C{at:05d}" for at in rng.permutation(ROWS)],
    "hex": lambda rng: letters(rng, ROWS, 12),
    "names": lambda rng: [
        f"{a} {b}"
        for a, b in zip(letters(rng, ROWS, 4), rng.choice(["Li", "Ek"], ROWS), strict=True)
    ],
}


@pytest.mark.parametrize("guise", IDS)
def test_ids_are_no_features(world, guise):
    name = guise.replace(" of several rows", "")
    values = IDS[guise](np.random.default_rng(3))
    fact = world.report(**{name: values})[name]
    assert fact.use == "left out"
    assert "id" in fact.why


@pytest.mark.parametrize("guise", ["cents", "income", "sorted", "float", "year"])
def test_numbers_that_differ_in_nearly_every_row_are_features(world, guise):
    rng = np.random.default_rng(4)
    values = {
        "cents": np.round(rng.lognormal(14, 0.7, ROWS)),
        "income": rng.choice(10**6, ROWS, replace=False),
        "sorted": np.sort(rng.choice(10**5, ROWS, replace=False)),
        "float": rng.random(ROWS),
        "year": rng.integers(1950, 2020, ROWS),
    }[guise]
    assert world.report(new=values)["new"].use == "feature"


def test_columns_without_use(world):
    rng = np.random.default_rng(5)
    words = np.array(["the", "client", "was", "late", "again", "today", "and", "paid"])
    notes = [" ".join(rng.choice(words, 8)) for _ in range(ROWS)]
    facts = world.report(
        types={"gone": "number", "void": "text", "day": "date", "applied": "date"},
        gone=np.nan,
        void=pd.Series([None] * ROWS, dtype="str"),
        flat=3.0,
        same="yes",
        notes=notes,
        day=np.where(np.arange(ROWS) == 5, 18001.0, 18000.0),
        applied=18000 + rng.random(ROWS) * 100,
        mark=np.where(rng.random(ROWS) < 0.3, 1.0, np.nan),
    )
    assert used(facts) == [*HONEST, "applied", "mark"]
    kept = world.report(notes=notes, keep=["notes"])["notes"]
    assert kept.why.startswith(
        "kept as asked; a reason against it: free text, 600 different in 600 rows; "
    )
    assert kept.why.endswith("no level has rows enough to be told apart")
    assert facts["gone"].why == facts["void"].why == "no value in any row"
    assert facts["flat"].why == "one value in all rows (3)"
    assert facts["same"].why == "one value in all rows (yes)"
    assert facts["notes"].why.startswith("free text")
    assert facts["day"].why == "nearly all rows have one date"


def test_roles_are_no_features_and_ids_and_outcomes_never_are(world):
    roles = {"outcome": "y", "id": "x", "time": "income", "labeled": ["town"]}
    facts = world.report(roles=roles)
    assert used(facts) == []
    assert [facts[name].role for name in ("x", "income", "town")] == ["id", "time", "labeled"]
    assert used(world.report(roles=roles, keep=["income"])) == ["income"]
    for name in ("x", "y"):
        with pytest.raises(CounterweightError, match=f"'{name}' is .* can be no feature"):
            world.report(roles=roles, keep=[name])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"keep": ["z"]}, r"columns.keep names z, no column"),
        ({"keep": ["z"]}, r"columns.keep names z, no column"),
        ({"roles": {"outcome": "y", "weight": "z"}}, r"weight names 'z', no column"),
    ],
)
def test_names_that_are_wrong_are_told(world, options, told):
    with pytest.raises(CounterweightError, match=told):
        world.report(**options)


def class_leaks(world):
    rng, y, labeled = np.random.default_rng(6), world.y, world.labeled
    loss = np.round(y * world.income / 7, 2)
    refused = np.where(labeled, None, rng.choice(["p", "q"], ROWS))
    return {
        "copy": np.where(labeled, y, np.nan),
        "copy of all": 1 - y,
        "words": np.where(y > 0, "bad", "good"),
        "reason": pd.Series(np.where(y > 0, rng.choice(["a", "b", "c"], ROWS), None), dtype="str"),
        "loss": loss,
        "score": y * 5 + rng.normal(size=ROWS) * 0.4,
        "after": np.where(labeled, rng.normal(size=ROWS), np.nan),
        "some after": np.where(labeled & (rng.random(ROWS) < 0.4), rng.normal(size=ROWS), np.nan),
        "refused for": pd.Series(refused, dtype="str"),
    }


@pytest.mark.parametrize("name", class_leaks(World()))
def test_what_gives_a_class_away_is_left_out(world, name):
    values = class_leaks(world)[name]
    facts = world.report(**{name: values})
    assert used(facts) == HONEST
    assert "columns.keep" in facts[name].why
    kept = world.report(**{name: values}, keep=[name])[name]
    assert kept.use == "feature"
    assert kept.insisted
    assert kept.why.startswith("kept as asked; a reason against it: ")
    assert "columns.keep" not in kept.why


def test_a_copy_is_found_in_a_rare_class(world):
    few = np.zeros(ROWS)
    few[np.flatnonzero(world.labeled)[:6]] = 1
    facts = world.report(outcome=few, flag=few)
    assert facts["flag"].why.startswith("a copy of the outcome")


def number_leaks(world):
    amount, rng = world.amount, np.random.default_rng(8)
    fee = np.round(rng.gamma(4, 5, ROWS), 2)
    return {
        "copy": {"copy": amount},
        "with tax": {"tax": 1.19 * amount + 4},
        "logarithm": {"log": np.log(amount)},
        "square of what is left": {"bent": (amount - 45) ** 3},
        "sum": {"total": amount + fee, "fee": fee},
        "difference": {"fee": fee, "net": amount - fee},
        "product": {"price": np.exp(rng.normal(size=ROWS)), "sold": None},
        "ratio": {"pieces": fee, "sales": amount * fee},
        "three": {"a": fee, "b": rng.gamma(3, 9, ROWS), "c": None},
    }


@pytest.mark.parametrize("name", number_leaks(World()))
def test_what_gives_a_number_away_is_left_out(world, name):
    columns = number_leaks(world)[name]
    if name == "product":
        columns["sold"] = world.amount / columns["price"]
    if name == "three":
        columns["c"] = world.amount - columns["a"] - columns["b"]
    facts = world.report(outcome=world.amount, **columns)
    left = [column for column, fact in facts.items() if fact.use == "left out"]
    assert len(left) == 1
    assert left[0] in columns
    assert set(HONEST) <= set(used(facts))


def test_an_honest_strong_feature_stays(world):
    rng = np.random.default_rng(9)
    facts = world.report(
        score=world.y * 3 + rng.normal(size=ROWS),
        street=np.array(letters(rng, 180, 5))[rng.integers(0, 180, ROWS)],
    )
    assert used(facts) == [*HONEST, "score", "street"]
    near = world.amount + rng.normal(size=ROWS)
    facts = world.report(outcome=world.amount, near=near, other=rng.normal(size=ROWS))
    assert used(facts) == [*HONEST, "near", "other"]


def test_a_strong_feature_of_a_small_table_stays():
    """Ten of a class are told apart by chance more often than one leaks: an AUC of .97."""
    left = 0
    for seed in range(60):
        small = World(100, seed)
        small.y = small.rng.permutation(np.arange(100) < 12).astype(float)
        small.labeled[:] = True
        score = 2.66 * small.y + small.rng.normal(size=100)
        left += small.report(score=score)["score"].use == "left out"
    assert left <= 3


def test_many_levels_do_not_look_like_a_leak_by_chance():
    for seed in range(5):
        small = World(60, seed)
        code = small.rng.integers(0, 25, 60)
        assert "code" in used(small.report(code=code, group=code.astype(str)))


def test_a_column_that_is_seldom_known_is_no_leak_of_few_unlabeled_rows(world):
    labeled = np.arange(ROWS) >= 12
    seldom = np.where(np.arange(ROWS) % 8 == 7, 1.5, np.nan)
    seldom[:12] = np.nan
    frame = world.frame.assign(seldom=seldom)
    outcome = np.where(labeled, world.y, np.nan)
    for values, use in ((seldom, "feature"), (np.where(labeled, world.x**2, np.nan), "left out")):
        facts = column_report(
            frame.assign(seldom=values),
            types_of(frame),
            {},
            {"outcome": "y"},
            secrets=[outcome_of(outcome)],
        )
        assert facts[-1].use == use


def test_a_column_that_is_missing_more_often_without_a_label_stays(world):
    rng = np.random.default_rng(10)
    hidden = rng.random(ROWS) < np.where(world.labeled, 0.1, 0.9)
    assert "half" in used(world.report(half=np.where(hidden, np.nan, rng.normal(size=ROWS))))


def test_without_labels_only_what_columns_look_like_counts(world):
    frame = world.frame.assign(copy=world.y)
    facts = column_report(frame, types_of(frame), {}, {"outcome": "y"})
    assert [fact.column for fact in facts if fact.use == "feature"] == [*HONEST, "copy"]


def test_levels_are_counted_as_the_encoder_keeps_them(world):
    rng = np.random.default_rng(11)
    towns = rng.zipf(1.6, ROWS).clip(max=200).astype(str)
    facts = world.report(city=towns)
    frame = world.frame.assign(city=towns)
    encoder = TabularEncoder().fit(frame, ["city"], {"city": "text"})
    (fact,) = encoder.statistics_
    assert (facts["city"].levels, facts["city"].pooled) == (len(fact.levels), len(fact.pooled))
    assert facts["city"].pooled > 1
    assert facts["city"].why == f"{len(fact.pooled)} rare levels pooled as other"


#: Values of a column that may hold codes of unknown, and what is named.
AGES = np.random.default_rng(3).integers(18, 91, 400).astype(float)
CODES = {
    "none": (AGES, ""),
    "-999 in a quarter": (np.where(np.arange(400) % 4, AGES, -999), "-999 stands in 100 of 400 r"),
    "99 in some": (np.where(np.arange(400) % 9, AGES, 99), "99 stands in 45 of 400 rows, and all"),
    "two codes": (
        np.where(np.arange(400) % 9, np.where(np.arange(400) % 8, AGES, 999), -9),
        "-9, 999 stand in 89 of 400 rows, and all others are from 18 to 90: if that means "
        "unknown, say columns: {missing: [{x: [-9, 999]}]}",
    ),
    "-1 in a few": (np.where(np.arange(400) % 50, AGES, -1), "-1 stands in 8 of 400 rows, and all"),
    "steps from -1 up": (np.resize(np.arange(-1.0, 20), 400), ""),
    "a class and 9": (np.resize([0.0, 1, 1, 9], 400), "9 stands in 100 of 400"),
    "answers from 1 to 9": (np.resize(np.arange(1.0, 10), 400), ""),
    "a scale around 0": (np.resize([-1.0, 0, 1], 400), ""),
    "counts with a tail": (np.minimum(np.floor(np.geomspace(1, 100, 400)), 99) - 1, ""),
    "money below 0": (np.random.default_rng(4).normal(0, 900, 400).round(), ""),
    "a 99 of many": (np.resize(np.arange(0.0, 100), 400), ""),
}


@pytest.mark.parametrize("case", CODES)
def test_codes_of_unknown_are_doubts(case):
    values, said = CODES[case]
    frame = pd.DataFrame({"row": np.arange(400), "x": values})
    (fact,) = column_report(frame, {"x": "number"}, {}, {})
    assert fact.doubt.startswith(said) and bool(said) == bool(fact.doubt)
    (told,) = column_report(frame, {"x": "number"}, {}, {"weight": "x"}, doubts={"x": "odd"})
    assert told.doubt.startswith("odd") and told.doubt.endswith(fact.doubt)
    lines = report_lines([told])
    assert lines[1] == "To be looked at (1)" and "odd" in lines[2]


def test_a_word_for_unknown_is_a_doubt_of_a_group_and_not_of_a_feature():
    frame = pd.DataFrame({"row": np.arange(90), "x": np.resize(["a", "b", "Unknown"], 90)})
    (group,) = column_report(frame, {"x": "text"}, {}, {"balance": ["x"]})
    (feature,) = column_report(frame, {"x": "text"}, {}, {})
    assert group.doubt.startswith("Unknown stands in 30 of 90 rows, and is a value like any other")
    assert not feature.doubt and feature.use == "feature"


@pytest.mark.parametrize(("keep", "use"), [((), "role"), (["x"], "feature")])
def test_a_group_that_no_promise_is_about_is_a_doubt_unless_its_column_is_kept(world, keep, use):
    roles = {"outcome": "y", "groups": ["x", "town"], "groups.unpromised": ["x"]}
    frame = world.frame[["row", "x", "town", "y"]]
    facts = {one.column: one for one in column_report(frame, types_of(frame), {}, roles, keep=keep)}
    assert facts["x"].use == use and facts["x"].role == facts["town"].role == "groups"
    assert ("no promise is about" in facts["x"].doubt) == (not keep) and not facts["town"].doubt


def test_what_the_config_explains_is_no_doubt():
    frame = pd.DataFrame({"row": np.arange(400), "y": CODES["a class and 9"][0]})
    facts = [
        column_report(frame, {"y": "number"}, {}, {"outcome": "y"}, explained=names)
        for names in ((), ("y",))
    ]
    assert [bool(fact.doubt) for (fact,) in facts] == [True, False]


def test_doubts_stand_on_the_first_screen_of_a_page(tmp_path):
    (tmp_path / "tables").mkdir()
    frame = pd.DataFrame({"row": np.arange(400), "age": CODES["-999 in a quarter"][0]})
    facts = column_report(frame, {"age": "number"}, {}, {})
    pd.DataFrame(report_table(facts)).to_csv(tmp_path / "tables/mine.columns.csv", index=False)
    plan = {"dataset": "mine", "source": "own", "title": "Mine", "targets": ["general"]}
    numbers = SimpleNamespace(
        plan=plan,
        folder=tmp_path / "mine",
        results=tmp_path,
        summary=pd.DataFrame(
            {"mean": [], "n": []}, pd.MultiIndex.from_tuples([], names=["source", "metric"])
        ),
        methods=lambda: [],
        places=lambda *_, **__: (),
        rows=lambda *_: pd.DataFrame({"value": []}),
    )
    page = StudyPage(answer=lambda _: Answer("So it is."), question=lambda _: "Is it so?")
    made, _ = study_page(page, numbers, StudyContext(path="mine.html"))
    (doubt,) = [block for block in made.blocks if getattr(block, "tone", "") == "warning"]
    assert doubt.text.startswith("Look at the column age: -999 stands in 100 of 400 rows")
    numbers.plan = plan | {"source": "download"}
    made, _ = study_page(page, numbers, StudyContext(path="mine.html"))
    assert not [block for block in made.blocks if getattr(block, "tone", "") == "warning"]


def test_table_and_lines(tmp_path, world):
    long = "what the applicant told us of the house in which she lives"
    facts = world.report(
        made={"x": "decimal commas"},
        **{"copy": world.y, "client": IDS["words"](world.rng), long: world.x**2},
        keep=["client"],
    )
    write_table(tmp_path / "columns.parquet", report_table(facts.values()))
    read = read_table(tmp_path / "columns.parquet")
    assert read["column"].tolist() == list(facts)
    assert read["use"].tolist() == [fact.use for fact in facts.values()]
    assert read["missing"].tolist() == [fact.missing for fact in facts.values()]
    assert read["insisted"].sum() == 1
    lines = report_lines(facts.values())
    assert max(map(len, lines)) <= 100
    titles = [line for line in lines if not line.startswith(" ")]
    assert titles == ["Left out (1)", "Kept as asked (1)", "Features (4)", "With a role (1)"]
    (line,) = [line for line in lines if line.strip().startswith("x ")]
    assert line.endswith("decimal commas")
    assert any("what the applicant told u…" in line for line in lines)


def real(name):
    folder = Path(os.environ.get("COUNTERWEIGHT_MIRROR", ""), name)
    if not os.environ.get("COUNTERWEIGHT_MIRROR") or not folder.is_dir():
        pytest.skip("needs the real files: COUNTERWEIGHT_MIRROR names no folder that has them")
    return folder


TABLES = {
    "adult": (Adult.read, "income", ">50K"),
    "bank_marketing": (BankMarketing.read, "y", "yes"),
    "ca_housing": (CaHousing.read, "medianHouseValue", None),
    "practice": (lambda folder: pd.read_csv(folder / "hmeq.csv"), "BAD", None),
}


@pytest.mark.parametrize("hidden", ["at random", "by a number"])
@pytest.mark.parametrize("name", TABLES)
def test_no_feature_of_ordinary_tables_is_left_out(name, hidden):
    read, outcome, positive = TABLES[name]
    frame = read(real(name))
    y = frame[outcome]
    y = y.to_numpy(float) if positive is None else (y == positive).to_numpy(float)
    if hidden == "at random":
        labeled = np.random.default_rng(0).random(len(frame)) < 0.3
    else:
        number = frame.select_dtypes("number").drop(columns=["row", outcome], errors="ignore")
        labeled = (number.iloc[:, 0] > number.iloc[:, 0].median()).to_numpy(bool)
    frame = frame.drop(columns="row", errors="ignore")
    facts = column_report(
        frame,
        types_of(frame),
        {},
        {"outcome": outcome},
        secrets=[outcome_of(np.where(labeled, y, np.nan))],
    )
    assert [fact.column for fact in facts if fact.use == "feature"] == [
        column for column in frame if column != outcome
    ]


def test_a_role_of_no_column_names_the_nearest():
    with pytest.raises(CounterweightError, match=r"outcome names 'bat'.*is it 'bad'\?.*correct"):
        check_roles(["id", "bad", "x"], roles_by_column({"id": "id", "outcome": "bat"}))


def test_a_filter_goes_by_dates_only_where_that_is_asked():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"row": np.arange(200), "joined": 18000 + rng.integers(0, 100, 200)})
    frame["town"] = np.array(["a", "b"])[rng.integers(0, 2, 200)]
    frame["region"] = np.array(["n", "s"])[rng.integers(0, 2, 200)]
    types = {"joined": "date", "town": "text", "region": "text"}
    for roles, keep, features in (
        ({"balance": ["region"]}, [], ["town"]),
        ({"balance": ["region"]}, ["joined"], ["joined", "town"]),
        ({"group": "region"}, [], ["joined", "town"]),
    ):
        facts = column_report(frame, types, {}, roles, keep=keep)
        assert [fact.column for fact in facts if fact.use == "feature"] == features


def test_beside_scores_no_other_column_is_doubted_or_said_to_give_the_answer_away():
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"row": np.arange(200), "good": rng.integers(0, 2, 200)})
    frame["vendor"], frame["peek"] = rng.normal(size=(2, 200)) + frame[["good"]].to_numpy().T * 0.5
    frame["peek"] = frame["good"] + 0.001 * frame["peek"]
    frame["code"] = np.where(rng.random(200) < 0.1, -999, rng.integers(0, 9, 200))
    types = dict.fromkeys(["good", "vendor", "peek", "code"], "number")
    secrets = [outcome_of(frame["good"].to_numpy(float))]
    roles = {"outcome": "good", "scores": "vendor"}
    facts = {one.column: one for one in column_report(frame, types, {}, roles, secrets=secrets)}
    assert [name for name, one in facts.items() if one.use == "feature"] == ["vendor"]
    assert not any(one.leak or one.doubt for one in facts.values())


def test_a_code_stands_beyond_two_other_values_at_least():
    def codes(*values, counts=5):
        counts = np.broadcast_to(counts, len(values))
        return _codes_of_numbers(np.array(values, float), counts, int(counts.sum()))

    assert codes(1, 99) == [] and codes(1, 2, 99) == [2] and codes(-9, 1, 2) == [0]
    assert codes(-1, 0, 1, counts=np.array([3, 90, 60])) == [0], "few, beside yes and no"
    assert codes(-1, 0, 1) == [], "as often as the others: three levels"
    assert codes(1, 2, 98) == [2] and codes(1, 2, 96) == [], "96 is no code"
    assert codes(1, 2, 7) == [2] and codes(1, 3, 7) == [], "at a distance of five, at least"
    assert codes(0, 45, 90, 99) == [] and codes(0, 30, 49, 99) == [3], "and of their range"
    assert codes(1, 2, 99, counts=[5, 5, 1]) == [], "once is a mistake of typing"


def test_nineteen_of_twenty_texts_that_differ_look_like_names():
    def why(texts):
        (fact,) = column_report(
            pd.DataFrame({"x": pd.Series(texts, dtype="str")}), {"x": "text"}, {}, {}
        )
        return fact.why

    names = [f"n{k}" for k in range(20)]
    assert why([*names[:19], "n0"]).startswith("unique in nearly every row")
    assert why([*names[:18], "n0", "n1"]).startswith("18 different texts in 20 rows")
    assert why([f"one of many words {k}" for k in "abcde"]) == "", "five are a few levels"


def doubled(rows=300, share=1.0):
    """A table of which a share of rows stands twice, each under an id of its own."""
    frame = World(rows).frame
    frame = pd.concat([frame, frame.iloc[: int(share * rows)]], ignore_index=True)
    return frame.assign(row=np.arange(len(frame)), who=[f"A{row}" for row in range(len(frame))])


@pytest.mark.parametrize(("share", "told"), [(1.0, 600), (0.05, 30), (0.0, 0)])
def test_rows_that_stand_twice_are_told(share, told):
    frame = doubled(share=share)
    again, said = copied_rows(frame, {"id": "who"})
    assert again.sum() == told / 2 and not again[:300].any()
    assert [text.split(" rows")[0] for text in said.values()] == [f"{told} of {len(frame)}"] * (
        told > 0
    )


def test_what_is_done_with_copies_is_told():
    for roles in ({}, {"offer": "x"}, {"balance": ["town"]}):
        _, said = copied_rows(doubled(), {"id": "who"} | roles)
        (told,) = (look_at(column, text) for column, text in said.items())
        assert told.startswith("Look at the rows, by the column ")
        assert "none is judged by what was learned from another" in told
    assert look_at("x", "it is odd") == "Look at the column x: it is odd."


def test_copies_are_those_that_are_told_of_and_have_one_number():
    frame, roles, report = doubled(), {"id": "who"}, {"doubt": ["", f"4 rows {IN_COMMON}"]}
    kind = copies_together(frame, report, roles)
    np.testing.assert_array_equal(kind, np.r_[kind[:300], kind[:300]])
    assert len(np.unique(kind)) == 300
    # Another id of theirs tells nothing, and who has no value in the finest column is no copy.
    again = frame.assign(number=np.arange(600)[::-1], who="A")
    np.testing.assert_array_equal(copies_together(again, report, {}), kind)
    some = frame["x"].rank() <= 20
    apart = copies_together(frame.assign(x=frame["x"].where(~some), income=1.0), report, roles)
    assert (np.bincount(apart)[apart] == np.where(some, 1, 2)).all()
    assert copies_together(frame, {"doubt": ["", "it is odd"]}, roles) is None
    assert copies_together(doubled(share=0.0), report, roles) is None


def test_a_copy_makes_no_honest_column_a_leak():
    """Each value of a fine column has both its copies in one class: it would tell the outcome."""
    frame, roles = doubled(), {"outcome": {"column": "y"}}
    types = types_of(frame)
    again, _ = copied_rows(frame, {"outcome": "y", "id": "who"})
    named = {"outcome": "y", "id": "who"}

    def leaks(secrets, once):
        made = column_report(frame, types, {}, named, secrets=secrets, once=once)
        return [fact.column for fact in made if fact.leak]

    assert "income" in leaks(secrets_of(frame, types, roles), None)
    assert leaks(secrets_of(frame[~again], types, roles), ~again) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.assign(x=frame["x"].round(), income=frame["income"] // 10_000),
        lambda frame: frame.drop(columns=["x", "town"]),
        lambda frame: frame.assign(x=np.random.default_rng(1).normal(size=len(frame))),
    ],
    ids=["coarse columns", "two columns", "all columns but one"],
)
def test_rows_that_agree_by_chance_or_not_in_all_are_no_copies(change):
    assert copied_rows(change(doubled()), {"id": "who"})[1] == {}


def test_rows_that_belong_together_by_the_config_are_no_copies_and_no_event_is_masked():
    for roles in ({"group": "town"}, {"user": "town"}):
        assert copied_rows(doubled(), {"id": "who"} | roles)[1] == {}
    again, said = copied_rows(doubled(), {"id": "who", "reward": "y"})
    assert not again.any() and "more often than by chance" in "".join(said.values())


def logged(rows, times, seed=1, minutes=10**9):
    """Events of a log, each of the first of them so many `times` more."""
    rng = np.random.default_rng(seed)
    made = {"minute": rng.integers(0, minutes, rows), "action": rng.choice([*"ab"], rows)}
    made |= {"y": (rng.random(rows) < 0.1).astype(float), "p": 0.5}
    frame = pd.DataFrame(made)
    frame = pd.concat([frame, *(frame.iloc[:count] for count in times)], ignore_index=True)
    return frame.assign(row=np.arange(len(frame)))


@pytest.mark.parametrize(
    ("rows", "times", "told"),
    [(900, [300], 600), (500, [500], 1000), (20_000, [900], 1800), (500, [500, 500], 1500)],
)
def test_events_that_stand_more_often_than_by_chance_are_told(rows, times, told):
    again, said = copied_rows(logged(rows, times), {"reward": "y"})
    assert not again.any(), "which one is the copy nobody knows"
    assert said["minute"].startswith(f"{told} of {rows + sum(times)} rows have its value and")
    assert "name the column as user" in said["minute"]
    _, said = copied_rows(logged(rows, times), {"reward": "y", "user": "action"})
    assert "as user" not in said["minute"]
    frame = logged(rows, times).assign(event=lambda frame: frame["row"])
    assert copied_rows(frame, {"reward": "y"})[1] == {}, "a column tells them apart"
    again, said = copied_rows(frame, {"reward": "y", "id": "event"})
    assert not again.any() and said["minute"].startswith(f"{told} of {rows + sum(times)} rows")
    assert copied_rows(frame, {"reward": "y", "id": "event", "user": "event"})[1] == {}


@pytest.mark.parametrize("minutes", [1, 30, 300, 1000, 3000, 30_000])
@pytest.mark.parametrize("seed", range(20))
def test_events_that_agree_by_chance_are_no_copies(minutes, seed):
    frame = logged(2000, [], seed, minutes).assign(event=lambda frame: frame["row"])
    for one, roles in ((frame, {"id": "event"}), (frame.drop(columns="event"), {})):
        assert copied_rows(one, {"reward": "y"} | roles)[1] == {}


def test_ids_that_stand_twice_in_a_log_are_told_and_no_row_is_left_out():
    frame = pd.DataFrame({"row": range(5), "event": ["a", "b", "b", None, None], "y": 0.0})
    again, said = copied_rows(frame, {"id": "event", "reward": "y"})
    assert not again.any() and said["event"].startswith("2 of 5 rows share theirs with others")
    assert said["event"].endswith("or, if a person has several rows, name the column as user")
    assert copied_rows(frame, {"id": "event", "reward": "y", "user": "event"})[1] == {}
    _, said = copied_rows(frame, {"id": "event", "reward": "y", "user": "row"})
    assert said["event"].endswith("each counts as a row of its own: leave out copies")


@pytest.mark.parametrize("role", ["balance", "x"])
def test_texts_that_differ_in_capitals_or_blanks_alone_are_doubts(role):
    words = ["north", "North", "New York", "new york", "south", "NewYork"]
    frame = pd.DataFrame({"row": np.arange(60), "where": pd.Series(words * 10, dtype="str")})
    roles = {role: "where"} if role == "balance" else {}
    (fact,) = column_report(frame, {"where": "text"}, {}, roles)
    assert fact.doubt == (
        "New York, NewYork, new york (and 1 more) differ in capitals or blanks alone, and "
        "count as different: write them alike if they mean the same"
    )
    (fact,) = column_report(
        frame[frame["where"].isin(["north", "south"])], *({"where": "text"}, {}, {})
    )
    assert fact.doubt == ""
