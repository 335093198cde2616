"""The report: complete, self-contained, escaped, and honest about its data."""

import copy
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import report_example as example
from counterweight.plan.config import resolve
from counterweight.reporting import assemble, blocks, claims
from counterweight.reporting.charts import forms
from counterweight.reporting.charts.forms import drawn
from counterweight.reporting.claims import load_claims
from counterweight.reporting.numbers import (
    StudyNumbers,
    failure_of,
    last_line,
    measurements_and_failures,
    reason_of,
)
from counterweight.reporting.pages import selection_page
from counterweight.reporting.render import render
from counterweight.reporting.report_jobs import report_plan
from counterweight.reporting.wording import (
    amount,
    interval,
    listing,
    number,
    percent,
    shortened,
    told_apart,
)

CLAIMS = Path(__file__).resolve().parents[3] / "workflow" / "claims" / "smith_elkan_2007.yaml"
FAILURE = {
    "study": "adult_married",
    "source": "generative",
    "stage": "train",
    "reason": "INFO: begun\nERROR: <script>alert('x')</script> & more.",
    "log": "logs/a&b.log",
}


def made(plan, metrics, failures=()):
    """Every page of a report by its path, as blocks; of few draws of the repeats."""
    papers, pages, findings = (*load_claims([CLAIMS]), {}), [], {}
    for family in blocks.families(plan):
        some, known, _ = assemble.family_pages(
            plan, family, metrics, papers, Path("none"), failures
        )
        pages += some
        findings[family] = list(known.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "REDRAWS", 2)
        above, _, _ = assemble.index_pages(plan, metrics, papers, findings, failures)
    return {page.path: page for page in above + pages}


def as_html(plan, pages):
    known = blocks.site_of(plan)
    return {path: render(page, known) for path, page in pages.items()}


@pytest.fixture(scope="module")
def pages(plan, metrics):
    """A whole run, one step of which logged markup."""
    return made(plan, metrics, [FAILURE])


@pytest.fixture(scope="module")
def html(plan, pages):
    return as_html(plan, pages)


def numbers_of(plan, metrics, study, printed=()):
    return StudyNumbers(study, plan["studies"][study], metrics, printed=printed)


def failing(failures, plan, study="adult_married"):
    return lambda method: reason_of(failures, study, method, plan["studies"][study])


def test_tables_hold_means_differences_and_figures_in_print(plan, metrics):
    numbers = numbers_of(plan, metrics, "adult_married", load_claims([CLAIMS])[1])
    table = selection_page.table(numbers, "general", failing([], plan))
    assert example.holds(table)
    table = table[table["metric"] == "accuracy"].set_index("method")
    rows = metrics.query("study == 'adult_married' and target == 'general' and setting == ''")
    rows = rows[rows["step"].isna() & (rows["metric"] == "accuracy")].pivot(
        index="repeat", columns="source", values="value"
    )
    assert table.loc["shifted_mixture", "estimate"] == pytest.approx(rows["shifted_mixture"].mean())
    assert table.loc["shifted_mixture", "sd"] == pytest.approx(rows["shifted_mixture"].std())
    difference = (rows["shifted_mixture"] - rows["logistic"]).mean()
    assert table.loc["shifted_mixture", "diff"] == pytest.approx(difference)
    assert table.loc["logistic-oracle", "printed"] == 0.807
    assert table.loc["logistic-lemma1", "n"] == 10
    assert (table.loc["shifted_mixture-sweep", "setting"] != "").all()


def test_a_failed_method_keeps_its_row_with_the_reason(plan, metrics):
    some = metrics[(metrics["study"] != "adult_married") | (metrics["source"] != "generative")]
    numbers = numbers_of(plan, some, "adult_married")
    table = selection_page.table(numbers, "general", failing([FAILURE], plan))
    row = table[table["method"] == "generative"].iloc[0]
    assert row["status"] == "failed" and row["reason"].endswith("& more.")
    page = made(plan, some, [FAILURE])["report/adult_married.html"]
    results = next(section for section in page.sections if section.id == "results")
    failed = [row for table in results.blocks for row in table.rows if row.mark == "failed"]
    assert {row.label for row in failed} == {"generative"}
    assert all(row.reason.startswith("<script>") for row in failed)


def test_text_from_logs_is_escaped(html):
    page = html["report/adult_married.html"]
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in page
    assert "logs/a&amp;b.log" in page


def test_nothing_is_loaded_from_elsewhere(plan, metrics, html):
    plan = example.plan()
    plan["studies"]["adult_married"]["figures"] = ["accuracy"]
    study = numbers_of(plan, metrics, "adult_married")
    wide, narrow = (forms.svg_text(one.figure) for one in drawn("accuracy", study))
    figure = blocks.Figure("accuracy", "t", "c", "a", wide, narrow)
    page = blocks.Page("report/x.html", "x", (figure,))
    for text in (*html.values(), render(page, blocks.site_of(plan))):
        assert not re.search(
            r"<(link(?! rel=\"icon\" href=\"data:,\")|img|iframe|object|embed)\b", text
        )
        assert not re.search(r"<script[^>]+src", text)
        assert not re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", text)
        assert not re.search(r"url\(\s*[\"']?(?!#)", text) and "@import" not in text
    assert "<svg" in render(page, blocks.site_of(plan))


def test_links_lead_to_pages_that_are_made(plan, pages, html):
    for path, text in html.items():
        folder = Path(path).parent
        for href in re.findall(r'href="([^"#]+)(?:#[^"]*)?"', text):
            if href == "data:,":
                continue
            target = (Path("/") / folder / href).resolve().relative_to("/")
            made_elsewhere = (
                target.parts[0] in {"tables", "claims.csv", "provenance"}
                or "figures" in target.parts
            )
            assert str(target) in pages or made_elsewhere, f"{path} leads to {href}"


def test_every_page_on_twins_carries_the_banner():
    plan = example.plan("generated")
    pages = made(plan, example.metrics(plan))
    for path, page in pages.items():
        if path not in (blocks.CLAIMS, blocks.GLOSSARY):
            assert page.banner in blocks.BANNERS.values(), path
    assert pages[blocks.INDEX].banner == blocks.BANNERS["generated"]


def test_a_report_on_real_data_marks_only_simulated_studies(pages):
    marked = {path for path, page in pages.items() if page.banner}
    assert marked == {"report/curved.html", "report/straight.html"}


def test_a_study_begins_with_its_question_and_its_answer(plan, metrics, pages):
    page = pages["report/adult_married.html"]
    assert "logistic" in page.lead
    answer = page.blocks[0]
    assert answer.tone == "answer"
    gain = numbers_of(plan, metrics, "adult_married").against(
        "logistic", "logistic-lemma1", "accuracy"
    )
    assert f"{100 * gain.mean:+.1f} points [{100 * gain.low:.1f}, " in answer.text
    assert "makes up for" in answer.text and "better than" in page.blocks[1].text
    titles = {table.caption for table in page.sections[0].blocks}
    assert titles == {"Table 1", "Table 2"}


def test_the_index_has_one_finding_a_family_and_counts_claims_of_papers_that_were_run(pages):
    index = pages[blocks.INDEX]
    sections = {section.id: section for section in index.sections}
    assert len(sections["findings"].blocks) == 1
    cards = sections["claims"].blocks[0].cards
    claims = pages[blocks.CLAIMS].blocks[0].claims
    assert sum(int(card.value) for card in cards) == len(claims) > 10
    assert "not significantly different from it" in render(index, blocks.site_of(example.plan()))


def test_ones_own_study_alone_says_nothing_of_papers(metrics):
    plan = example.plan()
    own = {"mine": plan["studies"]["adult_married"] | {"family": "studies", "title": "Mine"}}
    rows = metrics[metrics["study"] == "adult_married"].assign(study="mine")
    alone = plan | {"studies": own, "papers": False}
    pages = made(alone, rows)
    index = pages[blocks.INDEX]
    assert [section.id for section in index.sections] == ["own", "files"]
    assert index.sections[0].blocks[0].title == "Mine"
    text = re.sub("<(script|style).*?</", "", render(index, blocks.site_of(alone)), flags=re.S)
    assert "Smith" not in text and "paper" not in text.lower()


def test_a_report_without_any_metrics_still_tells_why(plan, metrics):
    failure = {
        "study": "",
        "source": "adult",
        "stage": "download",
        "reason": "ERROR: no answer from the server.",
        "log": "l",
    }
    pages = made(plan, metrics.iloc[:0], [failure])
    html = as_html(plan, pages)
    assert "make demo" in html[blocks.INDEX]
    assert "no answer from the server" in html["report/adult_married.html"]
    claims = pages[blocks.CLAIMS].blocks[0].claims
    untested = [claim for claim in claims if "no answer from the server" in str(claim.details)]
    assert len(untested) > 10


def test_bounds_are_marked_in_every_table(pages):
    page = pages["report/adult_married.html"]
    rows = [row for table in page.sections[0].blocks for row in table.rows]
    assert {row.label for row in rows if row.mark == "oracle"} == {
        "logistic, oracle",
        "generative, oracle",
    }
    assert all("†" in table.note for table in page.sections[0].blocks)


def test_claims_have_every_rule_with_its_numbers(plan, metrics, pages):
    claim = next(c for c in pages[blocks.CLAIMS].blocks[0].claims if c.details and c.effect)
    assert claim.interval.startswith("[")
    assert claim.verdict in {
        "holds",
        "holds by construction",
        "holds where it could be decided",
        "does not hold",
        "depends",
    } or (claim.verdict in {"undecided", "cannot be tested"})


def test_renaming_every_method_changes_names_only(plan, metrics):
    names = [one["id"] for one in plan["studies"]["adult_married"]["methods"]]
    new = {name: f"m{place:02d}" for place, name in enumerate(names)}

    def renamed(text):
        study = json.loads(text)
        for one in study["methods"]:
            one["id"] = new[one["id"]]
        study["baseline"], study["main"] = new[study["baseline"]], new[study["main"]]
        return study

    old = plan["studies"]["adult_married"]
    rows = metrics[metrics["study"] == "adult_married"].assign(study="mine")
    methods = rows["source"].isin(names) & (rows["target"] != "")
    changed = rows.assign(source=rows["source"].where(~methods, rows["source"].map(new)))
    before = made(plan | {"studies": {"mine": old}}, rows)
    after = made(plan | {"studies": {"mine": renamed(json.dumps(old))}}, changed)
    assert before["report/mine.html"] == after["report/mine.html"]
    assert before[blocks.INDEX].sections[0] == after[blocks.INDEX].sections[0]


def test_the_plan_of_the_shipped_studies_has_all_that_pages_need():
    """Pages of the shipped plan without any number: none of them breaks."""
    root = Path(__file__).resolve().parents[3]
    from counterweight.plan.reading import with_listed_studies
    from yaml import safe_load

    config = safe_load((root / "config.yaml").read_text(encoding="utf-8"))
    plan = report_plan(resolve(with_listed_studies(config, {}, root / "workflow" / "studies")))
    pages = made(plan, example.metrics(example.plan()).iloc[:0])
    assert {blocks.page_of(name) for name in plan["studies"]} <= {*pages}
    assert all(page.lead for path, page in pages.items() if path != blocks.GLOSSARY)


def test_long_lists_of_methods_wrap_on_the_index(html):
    cells = re.findall(r"<td><span( class=\"long\")?>([^<]+)</span>", html[blocks.INDEX])
    lengths = {kind: [len(text) for mark, text in cells if bool(mark) == kind] for kind in (0, 1)}
    assert len(lengths[1]) > 10 and max(lengths[0]) < 60 < max(lengths[1])


def test_findings_go_through_their_file(tmp_path, pages):
    from counterweight.tables.parquet import read_table, write_table

    sections = {section.id: section for section in pages[blocks.INDEX].sections}
    finding = sections["findings"].blocks[0]
    row = {"study": "s"} | {name: getattr(finding, name) for name, _ in assemble.FINDINGS[1:]}
    write_table(tmp_path / "f.parquet", pd.DataFrame([row]), assemble.FINDINGS)
    back = read_table(tmp_path / "f.parquet").drop(columns="study").to_dict("records")
    assert [blocks.Finding(**one) for one in back] == [finding]


def test_the_nearest_failure_explains_a_missing_result():
    shared = {"study": "", "source": "adult", "reason": "a"}
    study = {"study": "s", "source": "labels", "reason": "b"}
    own = {"study": "s", "source": "logistic", "reason": "c"}
    assert failure_of([shared, study, own], "s", "logistic", "adult") is own
    assert failure_of([shared, study], "s", "logistic", "adult") is study
    assert failure_of([shared], "s", "logistic", "adult") is shared
    assert failure_of([shared, study, own], "other", "logistic") is None


def test_what_a_run_that_was_cut_short_did_not_begin_is_not_called_failed(
    tmp_path, monkeypatch, capsys, plan
):
    monkeypatch.chdir(tmp_path)
    chains = []
    for name in ("broken", "waiting", "later"):
        step = {"study": "s", "source": name, "stage": "train", "log": f"{name}.log"}
        chains.append(step | {"measured": False, "steps": [step | {"outputs": [f"{name}.out"]}]})
    Path("broken.log").write_text("ERROR: no rows\n")
    given = {"shown": plan, "chains": chains, "claims": [], "results": ".", "told": True}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(given)))
    monkeypatch.setattr(assemble, "unpacked", lambda shown: shown)
    monkeypatch.setattr(
        assemble,
        "assemble_what_is_there",
        lambda shown, chains, claims, results: measurements_and_failures(chains, dated=True)[1],
    )
    assemble.main()
    first, second, _ = capsys.readouterr().out.splitlines()
    assert first == "FAILED train s broken (log: broken.log)"
    assert second == "Not begun when the run ended: 2 more steps."


def test_the_error_line_of_a_log_is_its_reason():
    assert last_line("INFO: a\nERROR: The file is bad.\n  tried x") == "The file is bad."
    assert last_line("ERROR: unexpected error\nTraceback\nKeyError: 'a'") == "KeyError: 'a'"
    assert last_line(" \n") == "no reason was logged"


def test_papers_are_those_of_the_studies_that_were_run():
    claims = pd.DataFrame(
        {"paper": ["a", "b"], "rules": [json.dumps([{"study": "s"}]), json.dumps([])]}
    )
    assert assemble.papers_run(claims, {"s"}) == {"a"}
    assert assemble.papers_run(claims, {"t"}) == set()


def test_numbers_are_written_one_way():
    assert number(-0.5, 1) == "\N{MINUS SIGN}0.5"
    assert number(-0.001, 2, sign=True) == "0.00"
    assert number(12798, 0) == "12,798"
    assert number(float("nan")) == "–" and number(float("inf")) == "infinite"
    assert percent(0.742) == "74.2 %"
    assert interval(-1, 2, 1) == "[\N{MINUS SIGN}1.0, 2.0]" and interval(float("nan"), 1) == ""


def test_amounts_keep_their_figures():
    told = [amount(one) for one in (5.5, 1234.4, 12345.6, 3000)]
    assert told == ["5.500", "1,234", "12,346", "3,000"]
    assert amount(0.5, 3, True) == "+0.500"


def test_names_are_cut_between_words_and_stay_apart():
    assert shortened("a long name with many words in it", 20) == "a long name…in it"
    assert shortened("x" * 40, 20) == "x" * 12 + "…" + "x" * 7
    same = ["the very long name of one thing", "the very long other of one thing"]
    assert told_apart(same, 16, 5) == same
    assert told_apart([same[0], "short"], 16, 9) == ["the…one thing", "short"]


def told_of_hidden_labels(plan, metrics, gain):
    """What is said of hidden labels where they are worth `gain` in every split, near enough."""
    own = metrics[metrics["study"] == "adult_married"].copy()
    wanted = (own["source"] == "logistic-oracle") & (own["metric"] == "accuracy")
    main = own[(own["source"] == "logistic-lemma1") & (own["metric"] == "accuracy")]
    base = main.set_index(["repeat", "target"])["value"]
    places = list(zip(own.loc[wanted, "repeat"], own.loc[wanted, "target"], strict=True))
    noise = [0.002 if repeat % 2 else -0.002 for repeat, _ in places]
    own.loc[wanted, "value"] = base[places].to_numpy() + gain + noise
    return list(selection_page.missing_at_random(numbers_of(plan, own, "adult_married")))


@pytest.mark.parametrize(("gain", "helps"), [(0.05, True), (0.0, False), (-0.05, False)])
def test_what_weights_leave_open_is_never_called_missing_at_random(plan, metrics, gain, helps):
    (sentence,) = told_of_hidden_labels(plan, metrics, gain)
    assert sentence.startswith("Seeing the hidden labels helps beyond") == helps
    assert ("does not show that labels are missing at random" in sentence) != helps
    assert f"{100 * abs(gain):.1f} points" in sentence


def test_what_hidden_labels_are_worth_is_never_told_of_known_chances(plan, metrics):
    # Weights by known chances see no hidden label, and come before the labels here.
    study = copy.deepcopy(plan["studies"]["curved"])
    study["methods"][3] |= {"role": "bound"}
    assert study["methods"][3]["id"] == "logistic-lemma1-known"
    own = metrics[metrics["study"] == "curved"].copy()
    same = (own["source"] == "logistic-oracle") & (own["metric"] == "accuracy")
    plain = (own["source"] == "logistic") & (own["metric"] == "accuracy")
    for target in ("general", "unlabeled"):
        at = own["target"] == target
        own.loc[same & at, "value"] = own.loc[plain & at, "value"].to_numpy()
    changed = {"studies": {"curved": study}}
    text = " ".join(selection_page.answer(numbers_of(changed, own, "curved")).more)
    assert "hidden labels" not in text


def test_lists_in_sentences():
    # A table whose rows all resemble labeled ones had no page.
    assert [listing("abc"[:count]) for count in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_no_figure_of_an_earlier_run_is_shown_where_none_is_asked_for(tmp_path):
    (tmp_path / "figures.parquet").write_bytes(b"of an earlier version, in another form")
    assert [*assemble.drawings(tmp_path, "mine", {"figures": []})] == []


def test_own_pages_are_found_by_words_that_stand_on_none():
    site = SimpleNamespace(entries=({"path": blocks.page_of("mine"), "title": "Mine"},))
    found = [*assemble._index_words(site, {"mine": ["curves"]})]
    assert ["revenue curve", "report/mine.html#figure-curves", "see Mine", "", ""] in found
    other = [*assemble._index_words(site, {"mine": ["collect"]})]
    assert {hit[0] for hit in found} - {hit[0] for hit in other} >= {"revenue curve"}
    assert ["version", "report/mine.html#details", "see Mine", "", ""] in found
    assert ["model file", "report/mine.html#files", "see Mine", "", ""] in found
    assert [*assemble._index_words(site)] == []


def test_words_lead_to_no_section_that_the_index_has_not():
    entries = tuple({"path": path, "title": path} for path in (blocks.INDEX, "report/mine.html"))
    site = SimpleNamespace(entries=entries)
    there, not_there = (
        [*assemble._index_words(site, {"mine": []}, of)] for of in ({"methods"}, set())
    )
    assert {hit[1] for hit in there if hit[0] == "best method"} == {
        f"{blocks.INDEX}#methods",
        "report/mine.html#results",
    }
    assert {hit[1] for hit in not_there if hit[0] == "best method"} == {"report/mine.html#results"}
