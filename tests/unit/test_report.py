"""The report: complete, self-contained, escaped, and honest about its data."""

import re
from pathlib import Path

import pytest
import report_example as example
from counterweight.errors import CounterweightError
from counterweight.reporting.claim_files import load_claims
from counterweight.reporting.claims import decide
from counterweight.reporting.page.report import BANNERS, build_report, inline_svg
from counterweight.reporting.page.results import StudyResults
from counterweight.reporting.page.style import svg_text
from counterweight.reporting.page.tables import (
    LAYOUT,
    all_tables,
    failure_of,
    last_line,
    results_table,
)
from counterweight.reporting.page.wording import interval, number, percent

CLAIMS = Path(__file__).resolve().parents[2] / "workflow" / "claims" / "smith_elkan_2007.yaml"
FAILURE = {
    "study": "adult_married",
    "source": "generative",
    "stage": "train",
    "reason": "INFO: begun\nERROR: <script>alert('x')</script> & more.",
    "log": "logs/a&b.log",
}


def page(plan, metrics, failures=(), figures=None):
    claims, printed = load_claims([CLAIMS])
    return build_report(
        plan, metrics, decide(claims, metrics, plan, failures), failures, figures, printed
    )


@pytest.fixture(scope="module")
def html(plan, metrics):
    """The report of a whole run, one step of which logged markup."""
    return page(plan, metrics, [FAILURE])


def test_tables_hold_means_differences_and_figures_in_print(plan, metrics):
    printed = load_claims([CLAIMS])[1]
    table = results_table(metrics, plan, "adult_married", "general", printed)
    assert list(table.columns) == list(LAYOUT)
    table = table[table["metric"] == "accuracy"].set_index("method")
    rows = metrics.query("study == 'adult_married' and target == 'general' and setting == ''")
    rows = rows[rows["step"].isna() & (rows["metric"] == "accuracy")].pivot(
        index="repeat", columns="source", values="value"
    )
    assert table.loc["shifted_mixture", "mean"] == pytest.approx(rows["shifted_mixture"].mean())
    assert table.loc["shifted_mixture", "sd"] == pytest.approx(rows["shifted_mixture"].std())
    difference = (rows["shifted_mixture"] - rows["logistic"]).mean()
    assert table.loc["shifted_mixture", "diff"] == pytest.approx(difference)
    assert table.loc["logistic-oracle", "printed"] == 0.807
    assert table.loc["logistic-lemma1", "n"] == 10
    assert (table.loc["shifted_mixture-sweep", "setting"] != "").all()


def test_a_failed_method_keeps_its_row_with_the_reason(plan, metrics):
    some = metrics[(metrics["study"] != "adult_married") | (metrics["source"] != "generative")]
    table = results_table(some, plan, "adult_married", "general", (), [FAILURE])
    row = table[table["method"] == "generative"].iloc[0]
    assert row["status"] == "failed" and row["reason"].endswith("& more.")
    html = page(plan, some, [FAILURE])
    assert html.count('<tr class="failed"><th scope="row">Class mixtures</th>') == 2
    assert "<b>failed</b>: &lt;script&gt;" in html


def test_text_from_logs_is_escaped(html):
    assert "<script" not in html
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in html
    assert "logs/a&amp;b.log" in html


def test_nothing_is_loaded_from_elsewhere(plan, metrics):
    study = StudyResults("adult_married", plan["studies"]["adult_married"], metrics, ".")
    from counterweight.plan.components import load

    plan = example.plan()
    plan["studies"]["adult_married"]["figures"] = ["accuracy"]
    figures = {("adult_married", "accuracy"): svg_text(load("figure", "accuracy")(study))}
    html = page(plan, metrics, figures=figures)
    assert "<svg" in html
    assert not re.search(r"<(script|link|img|iframe|object|embed)\b", html)
    assert not re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", html)
    assert not re.search(r"url\(\s*[\"']?(?!#)", html) and "@import" not in html


def test_every_section_of_a_report_on_twins_carries_the_banner():
    plan = example.plan("generated")
    html = page(plan, example.metrics(plan))
    for section in re.findall(r"<section.*?</section>", html, re.DOTALL):
        simulated = BANNERS["simulated"] in section
        assert BANNERS["generated"] in section or simulated
    assert html.index(BANNERS["generated"]) < html.index("<section")


def test_a_report_on_real_data_marks_only_simulated_studies(html):
    assert BANNERS["generated"] not in html
    assert html.count(BANNERS["simulated"]) == 2


def test_tables_have_their_titles_and_a_sentence(html):
    for title in ("Table 1.", "Table 2.", "Table 3.", "Table 4."):
        assert title in html
    assert "the most accurate method that sees no hidden label is Shifted mixture" in html
    assert "Claims that rest on it: S01" in html
    assert "missing not at random" in html


def test_a_report_without_any_metrics_still_tells_why(plan, metrics):
    failure = {
        "study": "",
        "source": "adult",
        "stage": "download",
        "reason": "ERROR: no answer from the server.",
        "log": "l",
    }
    html = page(plan, metrics.iloc[:0], [failure])
    assert "make demo" in html
    assert "<b>failed</b>: no answer from the server" in html
    assert "<b>failed</b>: for the same reason" in html
    claims = html[: html.index("</table>")]
    assert claims.count("no answer from the server") > 10


def test_oracles_carry_a_dagger_and_its_note(html):
    assert "Logistic regression (oracle)\N{NO-BREAK SPACE}†" in html
    assert "† sees hidden labels" in html


def test_ids_of_inlined_figures_are_made_unique():
    text = '<?xml version="1.0"?><svg width="5pt" viewBox="0"><g id="a"/><use href="#a"/></svg>'
    assert inline_svg(text, "p") == '<svg viewBox="0"><g id="p-a"/><use href="#p-a"/></svg>'


def test_the_nearest_failure_explains_a_missing_result():
    shared = {"study": "", "source": "adult", "reason": "a"}
    study = {"study": "s", "source": "labels", "reason": "b"}
    own = {"study": "s", "source": "logistic", "reason": "c"}
    assert failure_of([shared, study, own], "s", "logistic", "adult") is own
    assert failure_of([shared, study], "s", "logistic", "adult") is study
    assert failure_of([shared], "s", "logistic", "adult") is shared
    assert failure_of([shared, study, own], "other", "logistic") is None


def test_the_error_line_of_a_log_is_its_reason():
    assert last_line("INFO: a\nERROR: The file is bad.\n  tried x") == "The file is bad."
    assert last_line("ERROR: unexpected error\nTraceback\nKeyError: 'a'") == "KeyError: 'a'"
    assert last_line(" \n") == "no reason was logged"


def test_all_tables_cover_each_target(plan, metrics):
    tables = all_tables(metrics, plan)
    assert len(tables) == 2 * len(plan["studies"])


def test_an_unknown_study_is_refused(plan, metrics):
    with pytest.raises(CounterweightError, match="no study 'none'"):
        results_table(metrics, plan, "none", "general")


def test_numbers_are_written_one_way():
    assert number(-0.5, 1) == "\N{MINUS SIGN}0.5"
    assert number(-0.001, 2, sign=True) == "0.00"
    assert number(12798, 0) == "12\N{NARROW NO-BREAK SPACE}798"
    assert number(float("nan")) == "–" and number(float("inf")) == "infinite"
    assert percent(0.742) == "74.2 %"
    assert interval(-1, 2, 1) == "[\N{MINUS SIGN}1.0, 2.0]" and interval(float("nan"), 1) == ""
