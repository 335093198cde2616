"""Pages and tables of studies of balanced filtering, by hand-made numbers."""

import math

import pandas as pd
import pytest
import report_filter as filters
from counterweight.numerics.estimate import paired_interval
from counterweight.plan import config
from counterweight.reporting import blocks, sheets
from counterweight.reporting.charts.filters_figures import draw_groups
from counterweight.reporting.numbers import TABLE, StudyNumbers
from counterweight.reporting.pages import filters_page
from counterweight.reporting.pages import filters_page as page
from counterweight.reporting.report_jobs import report_plan
from counterweight.reporting.study_page import StudyContext, study_page
from counterweight.tables.parquet import metrics_table, write_table
from report_example import holds

GIVEN = {"method": "alpha_beta", "setting": "alpha=0.2", "repeat": 0}


@pytest.fixture(scope="module")
def everything():
    plan = filters.plan()
    return plan, filters.metrics(plan)


@pytest.fixture
def small():
    return filters.small()


def numbers_of(metrics, settings=None, name="s", printed=()):
    return StudyNumbers(name, settings or filters.settings_of(), metrics, printed=printed)


def cells(sheet, numbers, reasons=None):
    """``{(row, head): Cell}`` of a sheet."""
    table = sheets.build(sheet, numbers, reasons)
    heads = [head.text for head in table.head[1:]]
    return {
        (row.label, head): cell
        for row in table.rows
        for head, cell in zip(heads, row.cells, strict=bool(row.cells))
    }


def page_of(numbers, **context):
    return study_page(page.PAGE, numbers, StudyContext(path="x.html", **context))[0]


def sentences(made):
    parts = [*made.blocks, *(block for section in made.sections for block in section.blocks)]
    return [part.text for part in parts if isinstance(part, blocks.Sentence)]


def delivered(certified=0.0, **values):
    """What was given away, as its job measures it."""
    place = {"repeat": 0, "target": "test", "setting": "alpha=0.2"}
    values = {"certified": certified, "confidence": 0.9, "imbalance": 0.123} | values
    records = [{"metric": "delivered", "value": 1.0, "part": "alpha_beta"}]
    records += [{"metric": name, "value": value} for name, value in values.items()]
    return metrics_table("s", "delivered", [place | one for one in records]).to_pandas()


def test_the_answer_says_what_is_promised_for_new_people(small):
    for certified, words in ((0.0, "Not certified: for new"), (1.0, "Certified: for new")):
        more = delivered(certified, disclosivity_at_most=0.31)
        told = page.answer(numbers_of(pd.concat([small, more]), filters.settings_of(given=GIVEN)))
        assert told.more[-1].startswith(words)
        assert "may tell up to 0.310" in told.more[-1] and "confidence 90" in told.more[-1]
        assert "imbalance is 0.123" in told.more[-1]
    again = numbers_of(pd.concat([small, delivered()]), filters.settings_of(given=GIVEN))
    assert "nothing says what it tells about new people" in page.answer(again).more[-1]
    chosen = {"method": "alpha_beta", "repeat": 0, "certified": {"alpha": 0.3, "level": 0.9}}
    numbers = numbers_of(pd.concat([small, more]), filters.settings_of(given=chosen))
    assert page.answer(numbers).sentence.startswith("Alpha_beta, α = 0.2")


@pytest.mark.parametrize(
    ("change", "falls", "sure"),
    [((-0.05, -0.02), True, True), ((-0.09, 0.02), False, False), ((0.01, 0.05), False, True)],
)
def test_a_filter_of_ones_own_is_said_to_balance_only_where_that_is_beyond_chance(
    small, change, falls, sure
):
    more = delivered(
        *(1.0,),
        **{"disclosivity_at_most": 0.31, "disclosivity": 0.2, "acceptance_rate": 0.25},
        **{"imbalance_before": 0.16, "imbalance_change": sum(change) / 2},
        **dict(zip(("imbalance_change_low", "imbalance_change_high"), change, strict=True)),
    )
    settings = filters.settings_of(given=GIVEN) | {"source": "own"}
    told = page.answer(numbers_of(pd.concat([small, more]), settings))
    assert ("the imbalance falls from 0.160 to 0.123" in told.sentence) == falls
    assert ("is not shown to make" in told.sentence) == (not falls)
    assert ("not beyond chance" in told.sentence) == (not sure)
    ends = "[{:.3f}, {:.3f}]".format(*change).replace("-", "−")
    card = next(card for card in told.cards if card.label == "Imbalance of the accepted")
    assert ends in told.sentence and ends in card.note
    assert told.todo[0].startswith("Do not turn people away") == (not falls)
    step = "ame the file of people who apply under score in the config and run it again"
    (told_so,) = [text for text in told.todo if step in text]
    assert told_so.startswith("To use it, n" if not falls else "N")
    known = page.answer(numbers_of(pd.concat([small, more]), settings | {"new_rows": True}))
    assert any("hose whom new_accepted.csv accepts, and name" in text for text in known.todo)
    assert [card.value for card in told.cards if "Accepted" in card.label] == ["25.0 %"]


@pytest.mark.parametrize(("change", "worse"), [((0.01, 0.05), True), ((-0.01, 0.05), False)])
def test_a_column_that_gets_more_uneven_comes_first_whatever_the_others_gain(small, change, worse):
    def of(before, ends, part):
        names = ("imbalance_change_low", "imbalance_change_high")
        values = dict(zip(names, ends, strict=True)) | {"imbalance_change": sum(ends) / 2}
        values |= {"imbalance_before": before, "imbalance": before + sum(ends) / 2}
        return [{"metric": name, "value": value, "part": part} for name, value in values.items()]

    whole = {"disclosivity_at_most": 0.31, "disclosivity": 0.2, "acceptance_rate": 0.25}
    place = {"repeat": 0, "target": "test", "setting": "alpha=0.2"}
    records = of(0.16, (-0.05, -0.02), "") + of(0.1, (-0.06, -0.03), "town") + of(0.02, change, "s")
    records += [{"metric": name, "value": value} for name, value in whole.items()]
    records += [{"metric": "confidence", "value": 0.95}, {"metric": "certified", "value": 1.0}]
    more = metrics_table("s", "delivered", [place | one for one in records]).to_pandas()
    settings = filters.settings_of(given=GIVEN) | {"source": "own"}
    settings["filter"]["group"] = ["town", "s"]
    told = page.answer(numbers_of(pd.concat([small, more]), settings))
    first = "The filter makes more uneven s (imbalance from 0.020 to 0.050, +0.030 [0.010, 0.050])."
    assert told.sentence.startswith(first) == worse
    assert "the imbalance falls from 0.160 to 0.125" in told.sentence
    assert told.todo[0].startswith("Several columns are balanced as one") == worse
    text = " ".join(told.more)
    assert "Imbalance of town from 0.100 to 0.055, −0.045 [−0.060, −0.030]." in text
    assert "Imbalance of s from 0.020" in text


def test_the_first_sentence_tells_of_the_rarest_groups_and_the_most_changed_other(
    small, monkeypatch
):
    shares = {"a": (0.1, 0.2), "b": (0.15, 0.2), "c": (0.24, 0.235), "d": (0.51, 0.365)}
    records = [
        {"repeat": 0, "target": "test", "metric": "group_share", "part": name, "value": value}
        | ({"setting": "alpha=0.2"} if at else {})
        for name, pair in shares.items()
        for at, value in enumerate(pair)
    ]
    kept = small[small["metric"] != "group_share"]
    source = page.shown_filter(numbers_of(small, filters.settings_of(given=GIVEN))).source
    made = [
        metrics_table("s", where, [one for one in records if ("setting" in one) == own])
        for where, own in (("labels", False), (source, True))
    ]
    known = numbers_of(
        pd.concat([kept, *(one.to_pandas() for one in made)]),
        filters.settings_of(given=GIVEN | {"repeat": 0}),
    )
    said = page._who_is_accepted(known, page.shown_filter(known), "", "falls")
    assert "20.0 % are a (10.0 % of all" in said and "20.0 % are b (15.0 % of all" in said
    assert "36.5 % are d (51.0 % of all" in said and "are c" not in said


def test_shares_near_one_half_are_drawn_whole_with_their_intervals(small):
    place = {"repeat": 0, "target": "test", "setting": "alpha=0.2"}
    records = [
        place | {"metric": f"share_{when}{end}", "part": part, "value": share + off}
        for when, shares in (("before", (0.484, 0.516)), ("after", (0.4997, 0.5003)))
        for part, share in zip("ab", shares, strict=True)
        for end, off in (("", 0.0), ("_low", -0.02), ("_high", 0.03))
    ]
    more = metrics_table("s", "delivered", records).to_pandas()
    study = numbers_of(pd.concat([small, more]), filters.settings_of(given=GIVEN))
    drawing = draw_groups(study)
    left, right = drawing.figure.axes[0].get_xlim()
    assert left == 0 and right > 51.6 and not drawing.figure.axes[0].texts
    known = drawing.points.set_index(["series", "item"])
    assert known.loc[("accepted", "a"), ["value", "low", "high"]].tolist() == pytest.approx(
        [49.97, 47.97, 52.97]
    )
    assert known.loc[("among all", "b"), "low"] == pytest.approx(49.6)


def test_what_is_released_beside_the_leaf_is_told_where_it_tells_more(small):
    place = {"repeat": 0, "target": "test", "setting": "alpha=0.2", "metric": "released"}
    told = place | {"part": "all of them together", "value": 0.351}
    more = metrics_table("s", "delivered", [told]).to_pandas()
    numbers = numbers_of(pd.concat([small, delivered(), more]), filters.settings_of(given=GIVEN))
    (text,) = page._released(numbers, 0.25)
    assert "all columns together at most 0.351" in text
    assert not [*page._released(numbers, 0.351)]


def test_people_who_told_no_group_are_to_be_asked_once(small):
    settings = filters.settings_of(given=GIVEN)
    assert [*page._next_to_ask(numbers_of(small, settings))] == []
    left_out = filters.measured(labels=filters.at("rows_dropped", [40.0, 40.0]))
    dropped = pd.concat([small, left_out])
    (text,) = page._next_to_ask(numbers_of(dropped, settings))
    assert text.startswith("40 people told no group") and "collect: {budget: 300}" in text
    plan = {"target": "unlabeled", "metric": "labels_planned", "value": 9.0}
    plan = metrics_table("s", "collect", [plan]).to_pandas()
    assert [*page._next_to_ask(numbers_of(pd.concat([dropped, plan]), settings))] == []


def test_the_answer_is_of_the_filter_that_is_given_away(small):
    told = page.answer(numbers_of(small, filters.settings_of(given=GIVEN | {"repeat": 1})))
    assert "which is not a significant change" in told.sentence, "two repeats cannot tell"
    assert "from 0.500 to 0.350" in told.sentence
    assert "about anybody's group there (its limit is 0.2: open whether it is" in told.sentence
    text = " ".join(told.more)
    assert "could reach is 0.250." in text
    assert "No filter is delivered: alpha_beta has none to give" in text
    cards = {card.label: card for card in told.cards}
    imbalance = cards["Imbalance, test rows"]
    assert imbalance.value == "0.350" and imbalance.interval == "", "none from two repeats"
    assert cards["Disclosivity, test rows"].grade == "open"
    assert cards["Accepted"].value == "50.0 %"
    assert cards["Change of accuracy"].value == "−1.0"


def test_the_answer_names_another_filter_where_another_is_given_away(everything):
    plan, metrics = everything
    settings = plan["studies"]["bank_filter"]
    given = {"method": "relaxed_deep", "setting": "alpha=0.4", "repeat": 2}
    for facts, words in (({}, "Alpha_beta, α = 0.2"), ({"given": given}, "Relaxed_deep, α = 0.4")):
        numbers = numbers_of(
            metrics, settings | {"filter": settings["filter"] | facts}, "bank_filter"
        )
        assert page.answer(numbers).sentence.startswith(words)
        lines = [line.label for line in filters_page.each_at_middle(numbers)]
        assert words.lower() in lines
        assert any(line.startswith("naive_tree, η = 0") for line in lines), "as it was trained"
    assert "relaxed, α = 0.4" in lines, "methods are compared at the limit of what is delivered"


def test_without_its_results_the_answer_is_of_another_filter(small):
    settings = filters.settings_of(
        methods=("relaxed", "alpha_beta"), given=GIVEN | {"method": "relaxed"}
    )
    told = page.answer(numbers_of(small, settings))
    assert told.sentence.startswith("Alpha_beta") and "relaxed, has no result" in told.more[-1]
    assert page.answer(numbers_of(small.iloc[:0])) is None


def test_that_rows_were_drawn_once_is_told_of_ones_own_table_alone(small):
    for source in ("own", "download", "simulated"):
        numbers = numbers_of(small, filters.settings_of() | {"source": source})
        told = filters_page.start_note(numbers)
        assert ("filter.md draw it once" in told) == (source == "own"), source


def test_known_numbers_stand_in_their_cells(small):
    known = cells(page.OVERVIEW, numbers_of(small))
    row = {head: cell for (label, head), cell in known.items() if label == "alpha_beta, α = 0.2"}
    assert float(row["Imbalance, test rows"].text) == 0.35
    assert float(row["Floor"].text) == 0.25
    # From 0.5 to the floor 0.25: 0.2 of 0.25 in one split, 0.1 in the other.
    assert row["Way to the floor"].text == "60 %"
    assert (row["Beyond its limit"].text, row["Beyond its limit"].grade) == ("0.030", "open")
    assert row["Accepted, training rows"].text == "50.00 %"
    assert float(row["Rows accepted, training"].text) == 500
    known = cells(page.OTHERS, numbers_of(small))
    assert float(known["α = 0.2", "Imbalance, training rows"].text) == 0.25
    assert float(known["α = 0.2", "Leaves"].text) == 3.5


def test_a_limit_is_kept_broken_or_open_by_the_interval(small):
    rows = (small["metric"] == "disclosivity") & (small["setting"] == "alpha=0.2")
    rows &= small["target"] == "test"
    for values, grade in (
        ((0.1, 0.11, 0.11), "pass"),
        ((0.3, 0.3001, 0.3), "fail"),
        ((0.1, 0.4, 0.3), "open"),
        ((0.3, 0.3001), "open"),
        ((0.3, 0.3), "fail"),
    ):
        more = small[rows & (small["repeat"] == 1)].assign(repeat=2)
        changed = pd.concat([small, *[more] * (len(values) - 2)], ignore_index=True)
        again = (changed["metric"] == "disclosivity") & (changed["setting"] == "alpha=0.2")
        changed.loc[again & (changed["target"] == "test"), "value"] = values
        known = cells(page.OVERVIEW, numbers_of(changed))
        assert known["alpha_beta, α = 0.2", "Beyond its limit"].grade == grade


def test_methods_without_a_limit_promise_nothing(everything):
    plan, metrics = everything
    numbers = numbers_of(metrics, plan["studies"]["bank_filter"], "bank_filter")
    known = cells(page.OVERVIEW, numbers)
    assert known["qp_tree, η = 0", "Beyond its limit"].text == "–"
    assert known["alpha_beta, α = 0.2", "Beyond its limit"].grade
    lines = list(page.BOUNDS.lines(numbers))
    assert lines and all(line.place["setting"].startswith("alpha=") for line in lines)


def test_no_room_between_no_filter_and_the_floor_is_no_way_to_go(small):
    line = sheets.Line("alpha_beta", "", {"setting": "alpha=0"})
    assert not page.way(numbers_of(small), line).known


def test_groups_are_told_before_and_after_with_figures_in_print(small):
    entry = {
        "study": "s",
        "source": "alpha_beta",
        "setting": "alpha=0.2",
        "part": "b",
        "metric": "group_gain",
        "target": "test",
        "value": 4.5,
    }
    known = cells(page.GROUPS, numbers_of(small, printed=[entry]))
    row = {head: cell.text for (label, head), cell in known.items() if label == "b"}
    assert row["Wanted"] == "50.00 %" and row["Before, test rows"] == "20.00 %"
    assert row["Accepted, test rows"] == row["Accepted, training rows"] == "40.00 %"
    assert float(row["Gain, test rows"]) == 2 and float(row["In print"]) == 4.5


def test_the_wanted_shares_are_equal_within_a_class_or_as_told(everything):
    plan, metrics = everything

    def share(numbers, part):
        return filters_page.wanted(numbers, sheets.Line("", "", {"part": part})).mean

    two = numbers_of(metrics, plan["studies"]["adult_filter_two"], "adult_filter_two")
    assert share(two, "race=White") == pytest.approx(1 / 5)
    assert share(two, "sex=Male") == pytest.approx(1 / 2)
    headings = [line.group for line in page.group_lines(two) if line.group]
    assert headings == ["race", "sex"]
    settings = filters.settings_of("bank_filter", target={"student": 0.3})
    one = numbers_of(metrics, settings, "bank_filter")
    assert share(one, "student") == 0.3 and share(one, "retired") == 0.0


def test_the_classifier_stands_beside_one_of_all_rows(small):
    known = cells(page.CLASSIFIERS, numbers_of(small))
    assert list(dict.fromkeys(label for label, _ in known)) == [
        "All training rows",
        "alpha_beta, α = 0.2",
    ]
    change = known["alpha_beta, α = 0.2", "Change, points"]
    assert (change.text, change.grade) == ("−1.0", "fail"), "more than half a point lost"
    assert known["All training rows", "Change, points"].text == "–"


def test_a_tree_beyond_its_limit_in_training_is_told(small):
    text = next(iter(page.trust(numbers_of(small))))
    assert "all filters keep to their limits in every split" in text
    worse = small.copy()
    rows = (worse["metric"] == "disclosivity") & (worse["target"] == "train")
    worse.loc[rows & (worse["setting"] == "alpha=0.2") & (worse["repeat"] == 1), "value"] = 0.25
    text = next(iter(page.trust(numbers_of(worse))))
    assert "alpha_beta, α = 0.2 tells 0.050 more" in text, "the worst split, not the mean"


def test_samples_of_hardly_any_rows_and_rows_left_out_are_told(small):
    few = small.copy()
    few.loc[few["metric"] == "collected", "value"] = 12.0
    known = cells(page.OVERVIEW, numbers_of(few))
    assert known["alpha_beta, α = 0.2", "Rows accepted, training"].grade == "fail"
    dropped = filters.measured(labels=filters.at("rows_dropped", [7.0, 9.0]))
    made = page_of(numbers_of(pd.concat([few, dropped])))
    assert any(text == "Rows left out: 8 of the data." for text in sentences(made))


def test_methods_are_compared_at_equal_disclosivity(everything):
    plan, metrics = everything
    numbers = numbers_of(metrics, plan["studies"]["bank_filter"], "bank_filter")
    for name in ("relaxed", "qp_tree"):
        least = page.within(0.2)(numbers, sheets.Line(name, "")).mean
        means = metrics[
            (metrics["study"] == "bank_filter")
            & (metrics["source"] == name)
            & (metrics["target"] == "test")
            & metrics["metric"].isin(["imbalance", "disclosivity"])
        ].pivot_table(index="setting", columns="metric", values="value")
        assert least == pytest.approx(means.loc[means["disclosivity"] <= 0.2, "imbalance"].min())


def test_failed_methods_keep_a_row_with_the_reason(small):
    settings = filters.settings_of(methods=("alpha_beta", "qp_tree"))
    numbers = numbers_of(small, settings)
    reasons = {"qp_tree": "no memory", "alpha_beta": "no result was found"}
    rows = sheets.build(page.OVERVIEW, numbers, reasons).rows
    assert [(row.label, row.mark, row.reason) for row in rows[:1]] == [
        ("qp_tree", "failed", "no memory")
    ]
    assert [row.label for row in sheets.build(page.EQUAL, numbers, reasons).rows] == ["alpha_beta"]
    table = page.table(numbers, "general", reasons.get)
    failed = table[table["status"] == "failed"]
    assert failed["method"].tolist() == ["qp_tree"] and failed["reason"].tolist() == ["no memory"]


def test_a_study_without_any_result_is_a_page(small):
    made = page_of(numbers_of(small.iloc[:0]), reasons={"alpha_beta": "the group has one value"})
    assert "Nothing was measured" in made.blocks[0].text


def test_the_table_holds_every_number_of_every_setting_in_order(everything, tmp_path):
    plan, metrics = everything
    numbers = numbers_of(metrics, plan["studies"]["bank_filter"], "bank_filter")
    table = page.table(numbers, "general", dict().get)
    assert holds(table)
    rows = table.query("method == 'relaxed' and metric == 'imbalance' and target == 'test'")
    assert rows["setting"].tolist() == [f"alpha={alpha:g}" for alpha in filters.ALPHAS]
    assert table["method"].drop_duplicates().tolist() == list(filters.METHODS)
    own = metrics[(metrics["study"] == "bank_filter") & (metrics["source"] == "relaxed")]
    own = own[(own["metric"] == "imbalance") & (own["target"] == "test")]
    values = own[own["setting"] == "alpha=0.3"]["value"]
    row = rows[rows["setting"] == "alpha=0.3"].iloc[0]
    expected = paired_interval(values, 1 / 3, bounds=(0.0, None))
    assert tuple(row[["estimate", "low", "high"]]) == pytest.approx(expected)
    assert row["sd"] == pytest.approx(values.std()) and row["n"] == 5
    write_table(tmp_path / "t.parquet", table, TABLE)


@pytest.mark.parametrize("name", filters.GROUPS)
@pytest.mark.parametrize("repeats", [1, 3])
def test_every_study_has_a_whole_page(name, repeats, everything):
    plan, metrics = everything
    settings = plan["studies"][name] | {"repeats": repeats}
    numbers = numbers_of(metrics[metrics["repeat"] < repeats], settings, name)
    made = page_of(numbers)
    assert [section.heading for section in made.sections] == [
        "Results",
        "How far to trust it",
        "Details",
    ]
    assert made == page_of(numbers)
    assert "nan" not in repr(made)
    intervals = [
        cell.bracket
        for section in made.sections
        for table in section.blocks
        if isinstance(table, blocks.Table)
        for row in table.rows
        for cell in row.cells
        if cell.bracket
    ]
    if repeats > 1:
        assert intervals


def test_names_decide_nothing(everything):
    plan, metrics = everything
    settings = plan["studies"]["bank_filter"]
    settings = settings | {"filter": settings["filter"] | {"given": GIVEN}}
    metrics = metrics[metrics["study"] == "bank_filter"]
    methods = {name: f"«{place}»" for place, name in enumerate(reversed(filters.METHODS))}
    groups = {name: f"‹{place}›" for place, name in enumerate(filters.JOBS)}
    labeled = settings | {
        "methods": [one | {"label": f"<{one['id']}>"} for one in settings["methods"]]
    }
    before = repr(page_of(numbers_of(metrics, labeled, "bank_filter")))
    other = filters.renamed(settings, metrics, methods, groups)
    after = repr(page_of(numbers_of(other[1], other[0], "bank_filter")))
    for old, new in methods.items():
        assert new in after
        after = after.replace(new, f"<{old}>")
    for old, new in groups.items():
        assert new in after
        after = after.replace(new, old)
    assert after == before


#: As in the README: one tree with few limits, no classifier, no noise.
OWN = {
    "dataset": "own_table",
    "test_share": 1 / 3,
    "features": {"recipe": "one_hot", "drop": ["group"]},
    "outcome": {"rule": "no_outcome"},
    "labeling": {"rule": "sensitive", "group": ["group"]},
    "targets": ["general"],
    "evaluation": {"protocol": "filtering"},
    "selection": [
        {"selector": "tree_proxy", "name": "tree"},
        {"selector": "split_tree", "name": "split", "alphas": [0.0, 0.1, 0.2]},
    ],
    "weighting": [{"weighting": "quadratic"}],
    "models": [
        {"model": "balanced_filter", "name": "plain", "weights": "quadratic", "selector": "tree"},
        {"model": "balanced_filter", "name": "mine", "weights": "quadratic", "selector": "split"},
    ],
}


def own_plan(tmp_path, **changes):
    (tmp_path / "mine.csv").write_text("age,group\n1,a\n2,b\n")
    datasets = {"own_table": {"path": str(tmp_path / "mine.csv")}}
    plan = config.resolve({"studies": {"s": OWN | changes}, "datasets": datasets})
    return report_plan(plan)["studies"]["s"]


def test_a_filter_of_ones_own_table_has_a_page_about_it(tmp_path):
    own = own_plan(tmp_path, filter={"method": "mine", "setting": "alpha=0.1"})
    assert own["filter"]["swept"] == {"plain": "", "mine": "alpha"}
    assert own["main"] == "mine" == own_plan(tmp_path)["main"], "given away, or with a limit"
    given = {"method": "plain", "setting": ""}
    assert own_plan(tmp_path, filter=given)["main"] == "plain"
    rows = filters.small()
    rows = rows[~rows["metric"].str.startswith("accuracy") & (rows["setting"] != "everyone")]
    mine = rows.assign(
        source=rows["source"].replace("alpha_beta", "mine"),
        setting=rows["setting"].replace("alpha=0.2", "alpha=0.1"),
    )
    made = page_of(numbers_of(mine, own))
    label = next(one["label"] for one in own["methods"] if one["id"] == "mine")
    assert made.blocks[0].text.startswith(f"{label}, α = 0.1 ") and "over group" in made.lead
    # A tree without any setting promises nothing.
    plain = mine[mine["setting"] != "alpha=0"].replace(
        {"setting": {"alpha=0.1": ""}, "source": {"mine": "plain"}}
    )
    made = page_of(numbers_of(plain, own_plan(tmp_path, filter=given)))
    assert "from 0.500 to 0.350" in made.blocks[0].text
    assert any("no limit is promised" in text for text in sentences(made))


def test_settings_next_to_a_value_are_found_on_any_grid():
    pairs = [(0.0, "a"), (0.125, "b"), (0.25, "c"), (1.0, "d")]
    chosen = [filters_page.nearest(pairs, value) for value in (0.05, 0.1875, 0.9)]
    assert chosen == ["a", "c", "d"], "of two the larger"
    line = sheets.Line("alpha_beta", "")
    assert math.isnan(filters_page.limit_of(numbers_of(filters.small()), line))


def test_new_people_unlike_the_rows_of_the_fit_stand_on_the_page(small):
    place = {"repeat": 0, "target": "unlabeled", "setting": ""}
    values = [("candidates", "", 5000.0), ("candidates_accepted", "", 1236.0), ("drift", "", 0.25)]
    values += [("unlike", "", 60.0), ("unlike", "wage", 10.0), ("unlike", "age", 50.0)]
    records = [place | {"metric": m, "part": part, "value": v} for m, part, v in values]
    more = metrics_table("s", "new rows", records).to_pandas()
    (told,) = page.newcomers(numbers_of(pd.concat([small, more])))
    assert told.startswith("Of 5,000 new people 1,236 are accepted. 60 are unlike the rows")
    assert "by age and wage" in told and "Where more than half are unlike" in told
    assert "differ from those of the fit by 25 % of the people" in told.replace("25.0", "25")
    assert [*page.newcomers(numbers_of(small))] == []


def test_groups_of_few_people_have_no_shares_on_the_page(everything):
    plan, metrics = everything
    name = "adult_filter"
    for least, few in ((None, set()), (10, set()), (200, {"Amer-Indian-Eskimo", "Other"})):
        told = plan["studies"][name]["filter"] | {"given": GIVEN | {"min_cell_count": least}}
        numbers = numbers_of(metrics, plan["studies"][name] | {"filter": told}, name)
        assert page.too_few(numbers) == few
        lines = {line.place["part"] for line in page.group_lines(numbers)}
        assert lines == set(filters.RACES) - few
        said = [*page._untold_groups(numbers)]
        assert bool(said) == bool(few) and all("of 2 of 5 groups" in one for one in said)
        parts = set(page.table(numbers, "general", lambda name: "")["part"])
        assert parts & set(filters.RACES) == lines
    # One alone would be told by the others.
    told["given"]["min_cell_count"] = 130
    numbers = numbers_of(metrics, plan["studies"][name] | {"filter": told}, name)
    assert page.too_few(numbers) == {"Amer-Indian-Eskimo", "Other"}


def test_the_answer_is_of_the_method_that_held_out_rows_chose_and_of_the_alpha_asked_for(
    everything,
):
    plan, metrics = everything
    settings, place = plan["studies"]["bank_filter"], {"repeat": 0, "target": "test"}
    found = place | {"setting": "alpha=0.4", "metric": "delivered", "part": "relaxed", "value": 1.0}
    more = metrics_table("bank_filter", "delivered", [found]).to_pandas()
    for way in ("certified", "chosen"):
        given = {"method": "alpha_beta", "repeat": 0, way: {"alpha": 0.5, "level": 0.95}}
        settings = settings | {"filter": settings["filter"] | {"given": given}}
        numbers = numbers_of(pd.concat([metrics, more]), settings, "bank_filter")
        told = page.answer(numbers)
        assert told.sentence.startswith("Relaxed, α = 0.4")
        assert "its limit is 0.5: kept" in told.sentence
        # One limit for all lines of a table: that of their setting.
        (own,) = [one for one in page.each_at_middle(numbers) if one.source == "relaxed"]
        assert page.limit_of(numbers, own) == 0.4 and page.limit_of(numbers, own, True) == 0.5
        line = page.at_middle(numbers, "alpha_beta")
        assert line.place == {"setting": "alpha=0.4"} and page.limit_of(numbers, line) == 0.4
