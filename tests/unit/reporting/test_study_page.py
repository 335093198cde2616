"""The page of a study: sentences that compare, files, new rows, columns; by hand-made numbers."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import report_rates as rates
from counterweight.reporting import study_page as page
from counterweight.reporting.blocks import Section, Sentence, Table
from counterweight.reporting.numbers import Estimate, StudyNumbers
from counterweight.reporting.sheets import Points
from counterweight.reporting.wording import Measure
from counterweight.tables.parquet import metrics_table

MORE = Measure("accuracy", unit="share", better="more", percent=True)


def numbers(accuracies, plan=(), more=()):
    """A study with the accuracies of its methods by repeat; `svm` is the baseline."""
    methods = [rates.method(name, model="m") for name in ("svm", "ramp")]
    made = rates.study("A study", methods, {}, test_share=0.0, columns=["accuracy"]) | dict(plan)
    frames = [
        metrics_table(
            "mine",
            source,
            [
                {"metric": "accuracy", "target": "general", "repeat": repeat, "value": value}
                for repeat, value in enumerate(values)
            ]
            + [one for one in more if one.get("of", "svm") == source],
        ).to_pandas()
        for source, values in accuracies.items()
    ]
    return StudyNumbers("mine", made, pd.concat(frames, ignore_index=True), "nowhere/mine")


BETTER = {"svm": [0.70, 0.71, 0.72], "ramp": [0.80, 0.812, 0.82]}


def test_the_main_method_is_compared_with_the_baseline_on_the_same_repeats():
    told = page.compared(numbers(BETTER), "accuracy")
    assert told.startswith("On everyone, Ramp has an accuracy of 81.1 % [")
    assert "+10.1 points [" in told and told.endswith("better than Svm.")
    turned = page.compared(numbers({"svm": BETTER["ramp"], "ramp": BETTER["svm"]}), "accuracy")
    assert "worse than Svm." in turned
    alone = page.compared(numbers({"ramp": BETTER["ramp"]}), "accuracy")
    assert alone.startswith("On everyone, Ramp has") and "Svm" not in alone
    assert page.compared(numbers(BETTER), "auc") == ""


@pytest.mark.parametrize(
    ("low", "high", "better", "told"),
    [
        (0.1, 0.3, "more", "better than"),
        (0.1, 0.3, "less", "worse than"),
        (-0.3, -0.1, "more", "worse than"),
        (-0.3, -0.1, "less", "better than"),
        (-0.1, 0.3, "more", "not significantly different from"),
        (0.1, 0.3, "", "] from"),
        (np.nan, np.nan, "more", "(no interval) against"),
    ],
)
def test_a_difference_is_better_only_where_its_interval_says_so(low, high, better, told):
    gap = Estimate(0.2, 0.1, low, high, 5)
    assert page.difference_in_words(gap, Measure("m", better=better)).endswith(told)


def bounded(**accuracies):
    """Two plain methods and two that see hidden labels, one of them with weights."""
    oracle = {"oracle": True, "role": "bound"}
    methods = [rates.method("svm", model="m"), rates.method("ramp", model="m")]
    methods += [rates.method("seeing", model="m", **oracle)]
    methods += [rates.method("weighed", model="m", **oracle, weights="w")]
    methods += [rates.method("other", model="n", **oracle)]
    return numbers(accuracies, {"methods": methods})


def test_a_bound_is_of_the_model_of_the_main_method_and_without_weights():
    known = bounded(**BETTER)
    assert page._bounds(known) == ["seeing"]
    some = known.plan | {"methods": [one for one in known.plan["methods"] if one["id"] != "seeing"]}
    weighed = StudyNumbers("mine", some, known.metrics)
    assert page._bounds(weighed) == ["weighed"]
    rest = [one for one in some["methods"] if one["id"] != "weighed"]
    assert page._bounds(StudyNumbers("mine", some | {"methods": rest}, known.metrics)) == ["other"]


def test_what_is_recovered_is_a_share_of_what_the_bound_gains():
    known = bounded(**BETTER, seeing=[0.90, 0.914, 0.92])
    share, gap = page.recovered(known, "accuracy")
    base, mine, most = (np.mean(values) for values in (*BETTER.values(), [0.90, 0.914, 0.92]))
    assert share == pytest.approx((mine - base) / (most - base))
    assert gap.mean == pytest.approx(most - base)
    assert page.recovered(known, "accuracy", source="svm")[0] == 0
    nothing = bounded(**BETTER, seeing=[0.60, 0.914, 0.72])
    share, gap = page.recovered(nothing, "accuracy")
    assert np.isnan(share) and not gap.known


def test_the_question_of_a_study_that_has_none():
    assert page.default_question(numbers(BETTER)) == "Does Ramp have a better accuracy than Svm?"
    alone = numbers(BETTER, {"baseline": "ramp", "main": "ramp"})
    assert page.default_question(alone) == "What accuracy does Ramp have?"
    assert page.default_question(numbers(BETTER, {"columns": ["auc"]})) == ""


def test_counts_are_totals_over_repeats_and_shares_are_means():
    counted = {"label": "fits that failed", "counted": True, "unit": "", "meaning": "m"}
    share = counted | {"label": "share of rows lost", "unit": "share", "percent": True}
    measures = numbers(BETTER).plan["measures"] | {"failed": counted, "lost": share}
    more = [
        {"metric": name, "target": "general", "repeat": repeat, "value": value, "setting": setting}
        for name, values in (("failed", (1.0, 2.0)), ("lost", (0.25, 0.25)))
        for setting, factor in (("a=1", 1.0), ("a=2", 2.0))
        for repeat, value in enumerate(factor * np.array(values))
    ]
    told = [one.text for one in page._counted(numbers(BETTER, {"measures": measures}, more))]
    assert told == ["Fits that failed: Svm (6).", "Share of rows lost: Svm (50.0 %)."]
    zero = [one | {"value": 0.0} for one in more]
    assert not [*page._counted(numbers(BETTER, {"measures": measures}, zero))]


def shown(known, context=None, **parts):
    parts = {"answer": lambda _: page.Answer("So it is.", ("More.",), rest=("Rests.",))} | parts
    return page.study_page(page.StudyPage(**parts), known, context or page.StudyContext("a.html"))


def test_a_page_begins_with_the_answer_and_a_declared_one_stands_before_it():
    made, finding = shown(numbers(BETTER))
    assert made.blocks[0] == Sentence("So it is.", "answer") and finding.href == "a.html"
    assert finding.question == "Does Ramp have a better accuracy than Svm?"
    context = page.StudyContext("a.html", answer="Declared.")
    made, _ = shown(numbers(BETTER), context)
    assert [one.text for one in made.blocks[:3]] == ["Declared.", "So it is.", "More."]
    made, _ = shown(numbers(BETTER), answer=lambda _: None)
    assert made.blocks[0].text == "Nothing was measured."
    context = page.StudyContext("a.html", failures=(SimpleNamespace(name="f"),))
    made, _ = shown(numbers(BETTER), context, answer=lambda _: None)
    assert made.blocks[0].text == "Nothing was measured: see what failed."
    warned = page.Answer("So it is.", ("More.",), warning="Beware.")
    made, _ = shown(numbers(BETTER), answer=lambda _: warned)
    assert made.blocks[1] == Sentence("Beware.", "warning")


def test_single_answers_are_doubted_where_one_for_all_is_as_good():
    measure = Measure("R²", "", "more", 3)
    doubt = page.doubt_of_single("r2", Estimate(-0.02, 0.02, -0.06, 0.02), measure)
    assert "R² is −0.020 [−0.060, 0.020], where the mean of all has 0." in doubt
    assert not page.doubt_of_single("r2", Estimate(0.1, 0.02, 0.06, 0.14), measure)
    assert not page.doubt_of_single("r2", Estimate(), measure)
    assert not page.doubt_of_single("log_loss", Estimate(-1.0), measure)


def test_answers_that_are_too_good_are_doubted():
    measure = Measure("AUC", "", "more", 3)
    doubt = page.doubt_of_all("auc", Estimate(0.998, 0.001, 0.996, 0.999), measure)
    assert doubt.startswith("Too good to be true? AUC is 0.998 [0.996, 0.999]: ")
    assert not page.doubt_of_all("auc", Estimate(0.98, 0.001, 0.978, 0.982), measure)
    assert page.doubt_of_all("auc", Estimate(page.TOO_GOOD), measure)
    assert not page.doubt_of_all("auc", Estimate(), measure)
    assert not page.doubt_of_all("accuracy", Estimate(1.0), measure)


def test_the_figure_of_new_rows_stands_with_the_new_rows_and_not_first():
    names = ("a", "b", page.NEW_ROWS)
    first, second, new = (SimpleNamespace(name=name, title=name, alt="") for name in names)
    context = page.StudyContext("a.html", figures=(new, first, second))
    own = numbers(BETTER, {"source": "own", "dataset": "d"})
    made, _ = shown(own, context)
    assert [one for one in made.blocks if getattr(one, "name", "") == "a"] == [first]
    sections = {section.id: section for section in made.sections}
    (beside,) = sections["new"].blocks
    assert beside.blocks == (new,) and beside.fold and second in sections["details"].blocks
    assert sections["details"].fold and not sections["trust"].fold
    # What says that nothing is drawn, in title and alt alike, gives way to the next.
    nothing = SimpleNamespace(name="c", title="Nothing to draw.", alt="Nothing to draw.")
    made, _ = shown(own, page.StudyContext("a.html", figures=(nothing, first)))
    assert first in made.blocks and nothing not in made.blocks
    other, _ = shown(numbers(BETTER), page.StudyContext("a.html", figures=(first, second)))
    assert {section.id: section.blocks for section in other.sections}["figures"] == (second,)
    assert not any(section.fold for section in other.sections)


def test_other_measures_are_those_that_no_sheet_has_shown():
    known = numbers(BETTER, more=[{"metric": "auc", "target": "general", "value": 0.8}])
    assert {one.metric for one in page.everything(known).columns} == {"accuracy", "auc"}
    assert {one.metric for one in page.everything(known, {"accuracy"}).columns} == {"auc"}
    targets = [one.target for one in page.everything(known, {"accuracy"}).columns]
    assert targets == ["general", "train", "test"]


def test_the_first_two_sentences_on_trust_stand_open():
    said, table = [Sentence(text) for text in "abc"], Table("T.", (), (1, 2))
    *opened, folded = page._in_short([said[0], table, *said[1:]])
    assert opened == said[:2] and isinstance(folded, Section) and folded.fold
    assert folded.blocks[0] == said[2] and folded.blocks[1].fold == "T (2 rows)"
    assert page._in_short(said[:2]) == tuple(said[:2])
    assert page._folded(Table("T.", (), (), fold="F")).fold == "F"


def test_the_small_chart_has_marks_in_proportion():
    points = [("one", Estimate(1.0, 0, 0.0, 2.0, 3), True), ("two", Estimate(4.0), False)]
    text = page.small_chart(points, width=260, row=22, room=110)
    # From 0 at 118 to 4 at 252: 33.5 a unit.
    assert re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', text) == [
        ("151.5", "11.0"),
        ("252.0", "33.0"),
    ]
    assert "M118.0 11.0H185.0" in text and text.count("<path") == 2
    assert 'viewBox="0 0 260 60"' in text
    assert re.findall(r'<text x="0" y="([\d.]+)"', text) == ["15.0", "37.0"]
    # The axis goes from the least number that is drawn, the end of an interval, to the largest.
    assert 'd="M118.0 40v4H252.0v-4"' in text
    axis = re.findall(r'<text x="([\d.]+)" y="56" text-anchor="(\w+)".*?>([\d.]+)<', text)
    assert axis == [("118.0", "start", "0.0"), ("252.0", "end", "4.0")]
    assert page.small_chart(Points(points, "a < b")).count(">a &lt; b</text>") == 1
    assert page.small_chart(points[:1]) == "" == page.small_chart([("a", Estimate(), True)] * 2)
    same = [(name, Estimate(1.0), False) for name in "ab"]
    alike = page.small_chart(same)  # one number is no axis
    assert re.findall(r'cx="([\d.]+)"', alike) == ["176.0", "176.0"] and "<path" not in alike


def test_files_are_told_once_with_their_twins_and_models_last():
    paths = ["mine/model.parquet", "mine/scores.csv", "mine/scores.parquet", "mine/filter.md"]
    made = [*page.files([*paths, "mine/new_scores.parquet", "mine/new_offers.csv"])]
    told = {link.text: link.note for link in made}
    given = ["scores.csv", "new_scores.parquet", "new_offers.csv", "model.parquet", "filter.md"]
    assert list(told) == given
    assert told["scores.csv"] == f"{page.HOLDS['scores']} Also as Parquet."
    assert told["new_scores.parquet"] == told["new_offers.csv"] == "The same for the new rows."
    assert told["filter.md"].startswith("The card of the filter")


def with_drift(table, *said):
    table = table.copy()
    table.attrs["drift"] = [*said]
    return table


def test_estimates_of_new_rows_are_summed_up_in_their_unit():
    values = np.linspace(0, 1, 101)
    table = pd.DataFrame({"estimate": values, "decision": values > 0.5})
    (told,) = page.told_new({"new_scores": table}, {})
    assert told.startswith("101 new rows: the estimate is 50.0 % on average, and 5.0 to 95.0 %")
    assert "; 49.5 % are decided yes. They stand in new_scores.csv." in told
    words = table.assign(decision=np.where(table["decision"], "a", "b"))
    assert "decided yes" not in next(page.told_new({"new_scores": words}, {}))
    amounts = pd.DataFrame({"estimate": 1000 * values})
    assert "the estimate is 500.00 on average" in next(page.told_new({"new_scores": amounts}, {}))
    told, changed = page.told_new({"new_scores": with_drift(amounts, "'a' has changed.")}, {})
    assert changed == "'a' has changed."
    promised = {"methods": [{"options": None}, {"options": {"constraints": ["churn(a) <= 1"]}}]}
    (told,) = page.told_new({"new_scores": table}, promised)
    assert told == "Of 101 new rows 50 (49.5 %) get a yes. They stand in new_scores.csv."
    table.attrs["groups"] = {"women": [40, 10], "men": [50, 40], "others": [0, 0]}
    (told,) = page.told_new({"new_scores": table}, promised)
    assert (
        "25.0 % of women (40), 80.0 % of men (50) and no row is known to be of others. They" in told
    )
    assert [*page.told_new({"new_scores": table.iloc[:0], "new_else": table}, {})] == []


def test_a_sentence_that_an_earlier_one_holds_is_not_said_again():
    a, b, c = (Sentence(text) for text in ("Labels are taken so. It rests.", "It rests.", "Else."))
    table = Table("A", (), ())
    assert page._said_once([a, table, b, c, a, table]) == [a, table, c]


@pytest.mark.parametrize(
    ("estimates", "share"), [([0.0, 1.0], True), ([0.0, 1.01], False), ([-0.01, 0.5], False)]
)
def test_estimates_between_0_and_1_are_chances(estimates, share):
    table = pd.DataFrame({"estimate": estimates})
    assert page.is_share(table) == share and page.is_share(table.assign(decision="a"))
    assert not page.is_share(table.assign(low=0.0)), "a number, whatever it happens to lie between"


def test_rows_unlike_the_table_are_counted():
    table = pd.DataFrame({"supported": [True, False, True, False, True, True, True, True]})
    assert page.flagged(table).startswith("; 2 (25.0 %) are flagged")
    assert page.flagged(table[table["supported"]]).startswith("; none is flagged")
    assert page.flagged(table.drop(columns="supported")) == ""


def test_offers_acceptances_and_values_of_new_rows_are_summed_up():
    offers = pd.DataFrame({"best_offer": [1.0, 2, 3, 4, 5], "best_revenue": [10.0, 20, 30, 40, 50]})
    (told,) = page.told_new({"new_offers": offers}, {})
    assert "5 new people: the best offer is 3.00 at the median, and 2.00 to 4.00" in told
    assert "bring 30.00 a person, 150 in all, by the model's own claim" in told
    (told,) = page.told_new({"new_offers": offers}, {}, 2.0, 31.5)
    assert "bring 28.00 a person, 140 in all" in told
    assert "(best_revenue −2.0 a person; of the table's 31.50)" in told
    offers.attrs["ends"] = [120.0, 1175.0]
    (told,) = page.told_new({"new_offers": offers}, {})
    assert "150 [120, 1,175] in all, by the model's own claim" in told
    limited = offers.assign(allotted_offer=[2.0, np.nan, 3, 4, 5], allotted_revenue=10.0)
    limited.attrs["ends"] = [20.0, 55.0]
    (told,) = page.told_new({"new_offers": limited}, {})
    assert "4 of 5 people get an offer" in told
    assert "50.00 [20.00, 55.00] in all, 10.00 a person, by the model's own claim" in told
    (told,) = page.told_new({"new_offers": offers.assign(best_offer=3.0)}, {})
    assert told.startswith("5 new people: the offer to everybody is 3.00; it is expected to bring")
    accepted = pd.DataFrame({"accepted": [True, False, False, False]})
    (told,) = page.told_new({"new_accepted": accepted}, {})
    assert told.startswith("Of 4 new people 1 (25.0 %) are accepted")
    one = {"policy": "a", "value": 0.5, "low": 0.4, "high": 0.6, "rows": 9, "support": "good"}
    thin = one | {"policy": "b", "support": "outside"}
    values = pd.DataFrame([one, one | {"value": 9.0}, thin])
    (told,) = page.told_new({"new_values": values}, {})
    assert "(9 rows) earns: a 0.50" in told and "b 0.50" in told and "9.0" not in told
    assert told.count("support") == 1 and "(support: not enough)" in told


def column(name, **known):
    fact = dict.fromkeys(("role", "use", "type", "why", "made", "doubt", "leak"), "")
    fact |= {"column": name, "levels": "0", "pooled": "0", "missing": "0", "distinct": "2"}
    return fact | {"use": "feature", "type": "number"} | known


def reported(tmp_path, *facts, **plan):
    (tmp_path / "tables").mkdir(exist_ok=True)
    pd.DataFrame(facts).to_csv(tmp_path / "tables/d.columns.csv", index=False)
    plan = {"source": "own", "dataset": "d"} | plan
    return SimpleNamespace(results=tmp_path, plan=plan, places=lambda *_, **__: ())


def test_columns_are_told_with_their_levels_and_what_was_made_of_them(tmp_path):
    facts = [column("a", levels="12", pooled="3", missing="0.125", why="w", made="w")]
    facts.append(column("b", role="outcome", distinct="1200", type="text"))
    table = page.column_table(reported(tmp_path, *facts))
    first, second = ([cell.text for cell in row.cells] for row in table.rows)
    assert first == ["feature", "number", "12.5 %", "2", "w; 12 levels, 3 rare ones share one"]
    assert second == ["outcome", "text", "0 %", "1,200", ""]
    assert table.fold == "What each of the 2 columns was taken for"
    assert page.column_table(reported(tmp_path, *facts, column_report=False)) is None
    assert page.column_table(reported(tmp_path, *facts, source="download")) is None


@pytest.mark.parametrize("count", [page.MOST, page.MOST + 2])
def test_of_many_doubts_and_leaks_five_are_told_and_the_rest_counted(tmp_path, count):
    leaks = [column(f"l{k}", use="left out", leak="of the outcome") for k in range(count)]
    doubts = [column(f"d{k}", doubt="it is odd") for k in range(count)]
    told = [one.text for one in page.column_doubts(reported(tmp_path, *leaks, *doubts))]
    assert told[0].count("(of the outcome)") == page.MOST
    assert ("; 2 more." in told[0]) == (count > page.MOST)
    assert told[1 : page.MOST + 1] == [f"Look at the column d{k}: it is odd." for k in range(5)]
    assert (len(told) == page.MOST + 2) == (count > page.MOST)
    if count > page.MOST:
        assert told[-1].startswith("2 more columns should be looked at")
    kept = page.column_doubts(reported(tmp_path, column("k", leak="of the outcome")))
    assert [one.text for one in kept] == [
        "Kept as requested, though these numbers may then be too good: k (of the outcome)."
    ]
