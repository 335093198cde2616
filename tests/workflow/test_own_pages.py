"""Pages of one's own tables: one number a name in all that is given away, and what each must have.

A table of each kind, in two runs, with all pages in one file beside them.
"""

import html
import json
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from conftest import ROOT, Copy, Run
from counterweight import load
from counterweight.reporting.wording import amount, interval, number, percent
from own_tables import FILES, MINE, placed, quick, tables

sys.path[:0] = [str(ROOT / "tests" / "browser")]
from pages import browser, check_page, links_wrong, missing, opened  # noqa: E402

OTHERS = {"loans": "loans", "scored": "scored", "kept": "scored", "soil": "soil", "tried": "tried"}
#: Kinds, and the file of each.
KINDS = {name: files[0] for name, files in FILES.items()} | OTHERS


def scored(rng, rows=8000):
    """A log that kept all clicks and a tenth of the rest, with two columns of predictions."""
    x = rng.normal(size=rows)
    y = rng.random(rows) < 1 / (1 + np.exp(2.5 - x))
    good, bad = (1 / (1 + np.exp(2.5 - slope * x)) for slope in (1.0, 0.2))
    frame = pd.DataFrame({"clicked": y.astype(int), "new model": good, "old model": bad})
    return frame[y | (rng.random(rows) < 0.1)]


def write_tables(folder):
    """Tables of what the examples of `own_tables.py` have none of, and a config of both."""
    rng = np.random.default_rng(3)
    loans, _, truth = tables.lender(rng, 500, unseen=1.2)
    folder.mkdir(parents=True)
    loans.to_csv(folder / "loans.csv", index=False)
    scored(rng).to_csv(folder / "scored.csv", index=False)
    labels = tables.bought_labels(rng, loans, truth, 60)
    labels.to_csv(folder / "labels.csv", index=False)
    config = {"loans": yaml.safe_load((ROOT / "examples" / "bought.yaml").read_text())}
    config["loans"] |= {"table": "mine/loans.csv", "collected": "mine/labels.csv"}
    config["scored"] = {"table": "mine/scored.csv", "reward": "clicked", "keep_rate": 0.1}
    config["scored"]["predictions"] = {"new": "new model", "old": "old model"}
    config["kept"] = {"table": "mine/scored.csv", "outcome": "clicked", "keep_rate": 0.1}
    tables.plots(rng, 500)[0].to_csv(folder / "soil.csv", index=False)
    config["soil"] = yaml.safe_load((ROOT / "examples" / "plots.yaml").read_text())
    config["soil"] |= {"table": "mine/soil.csv", "collect": {"budget": 2000, "cost": "price"}}
    tables.school(rng, 400)[0].to_csv(folder / "tried.csv", index=False)
    config["tried"] = yaml.safe_load((ROOT / "examples" / "trial.yaml").read_text())["tables"][
        "aid"
    ]
    config["tried"].pop("score")
    config["tried"]["table"] = "mine/tried.csv"
    config |= {name: quick(config[name]) for name in ("loans", "soil")}
    (folder / "mine.yaml").write_text(yaml.safe_dump({"tables": config, "one_file": True}))


@pytest.fixture(scope="module")
def others(once, tree):
    """A run of the kinds that `mine` does not have."""

    def make(folder):
        shutil.copytree(tree, folder)
        write_tables(folder / "mine")
        return Copy(folder).run(*MINE).kept

    folder, kept = once("own_pages", make)
    copy = placed(Copy(folder))
    copy.first = Run(**kept)
    assert copy.first.status == 0, copy.first.output
    return copy


@pytest.fixture(scope="module")
def run(mine, others):
    """The run that a kind of table is in."""
    return lambda name: others if name in OTHERS else mine


def text_of(part):
    """HTML as it is read."""
    part = re.sub(r"<svg.*?</svg>|<small>|</small>", "", part, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", part)))


class Shown:
    """A page of a study: its text, answer and cards."""

    def __init__(self, run, name):
        self.path = run(name).results / f"report/{name}.html"
        self.raw = self.path.read_text()
        self.text = text_of(self.raw.partition("<main")[2].partition("</main>")[0])
        self.answer = text_of(re.search('<p class="answer">(.*?)</p>', self.raw)[1])
        found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", self.raw)
        self.cards = [(text_of(label), text_of(value)) for label, value in found]

    def card(self, label):
        """The value of the first card with a label, with its interval and note."""
        return next(value for name, value in self.cards if name == label)


@pytest.fixture(params=KINDS)
def kind(request, run):
    return request.param, Shown(run, request.param)


def csv(run, name, file):
    return pd.read_csv(run(name).results / name / f"{file}.csv")


def measured(run, name, source, metric, **place):
    table = pd.read_parquet(run(name).results / name / f"metrics/{source}.parquet")
    table = table[table["metric"] == metric]
    for column, value in place.items():
        table = table[table[column].fillna("") == value]
    return float(table["value"].mean())


def test_the_answer_is_the_same_on_page_card_and_in_the_terminal(run, kind):
    name, page = kind
    run = run(name)
    index = text_of((run.results / "report.html").read_text())
    assert page.answer in index
    assert f"{name}: {page.answer}" in re.sub(r"\s+", " ", run.first.output)
    findings = pd.read_parquet(run.results / "findings/studies.parquet").set_index("study")
    assert findings.loc[name, "answer"] == page.answer


def test_every_kind_has_answer_files_figure_and_next_step(run, kind):
    name, page = kind
    run, new = run(name), name not in OTHERS
    assert 'class="next"' in page.raw and page.raw.count("<figure") >= 1 + new
    assert new == ('id="new"' in page.raw)
    given = [*(run.results / name).glob("*.csv"), *(run.results / name).glob("*.md")]
    given += [path for path in (run.results / name).glob("*.parquet") if path.stem == "model"]
    linked = re.findall(rf'href="\.\./{name}/([^"/]+)"', page.raw)
    assert given and {path.name for path in given} <= {*linked}


def strict(text):
    """What a text of JSON says; NaN and infinity, which JSON does not have, are a ValueError."""

    def refused(word):
        raise ValueError(word)

    return json.loads(text, parse_constant=refused)


def test_nothing_given_away_has_nan_or_infinity(mine, others):
    for run in (mine, others):
        tables, texts = [*run.results.rglob("*.csv")], [*run.results.rglob("*.html")]
        read = [strict(path.read_text()) for path in run.results.rglob("*.json")]
        for path in run.results.rglob("*.parquet"):
            kept = pq.read_metadata(path).metadata or {}
            read += [strict(kept[b"facts"])] if b"facts" in kept else []
            if path.stem == "model":
                facts = pd.read_parquet(path).query("part == 'fact'")["text"]
                read += [strict(text) for text in facts]
        for path in texts:
            text = path.read_text()
            found = re.findall('<script type="application/json"[^>]*>(.*?)</script>', text)
            read += [strict(one) for one in found]
            main = text_of(text.partition("<main")[2].partition("</main>")[0])
            assert not re.search(r"\b(nan|inf)\b", main), path
        for path in tables:
            for line in path.read_text().splitlines():
                assert not re.search(r"(^|,)-?(nan|inf)(,|$)", line, re.IGNORECASE), (path, line)
        assert tables and texts and read


def test_every_page_says_what_it_was_made_from(run, kind):
    name, page = kind
    run = run(name)
    digests = yaml.safe_load((run.results / "provenance/run.yaml").read_text())["own_files"]
    told = {file for file, digest in digests.items() if digest in page.text}
    own = {f"mine/{KINDS[name]}.csv"}
    tables = {f"mine/{file}.csv" for file in KINDS.values()} - own
    assert own <= told and not told & tables and tables & digests.keys()
    assert re.search(r"Made on \d{4}-\d\d-\d\d", page.raw) and "numpy" in page.raw


@pytest.mark.parametrize("one", ["lender", "loans"])
def test_no_link_is_dead_in_pages_or_in_one_file(run, one):
    run = run(one)
    pages = [*run.results.glob("report*.html"), *(run.results / "report").glob("*.html")]
    assert run.results / "report_whole.html" in pages
    for page in pages:
        links = re.findall(r'<a\b[^>]*? href="([^"]*)"', page.read_text())
        assert len(links) > 5
        assert links_wrong(map(html.unescape, links), page) == [], page.name
        # One file is to be sent alone.
        outside = {one for one in links if not re.match("#|https?:", one)}
        assert bool(outside) == (page.name != "report_whole.html"), (page.name, outside)


@pytest.fixture(scope="module")
def seen():
    if missing():
        pytest.skip(missing())
    with browser() as shown:
        yield shown


def test_everybody_can_read_it_on_a_phone_and_a_desk_light_and_dark(seen, kind):
    _, page = kind
    assert check_page(seen, page.path, (390, 1440)) == []


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1440, 900)])
def test_details_begin_after_three_screens_at_most(seen, kind, width, height):
    _, page = kind
    with opened(seen, page.path, width, height=height) as (shown, _):
        for place in ("files", "trust"):
            assert shown.locator(f"#{place}").is_visible()
        assert shown.locator("main > .next").is_visible()
        assert shown.locator("main > figure").is_visible()
        top = shown.locator("#details").evaluate("e => e.getBoundingClientRect().top + scrollY")
    assert top <= 3 * height


def test_figures_show_their_values_and_can_be_taken_away(run, kind):
    _, page = kind
    for figure in re.findall(r"<figure.*?</figure>", page.raw, flags=re.DOTALL):
        wide = re.search(r"<svg.*?</svg>", figure, flags=re.DOTALL)[0]
        # Cells of a map have their numbers in them; one text says that nothing is drawn.
        marks, texts = wide.count("<title>") - 1, wide.count("<text")
        assert marks > 0 or texts == 1 or texts > 20, text_of(figure)[:200]
        files = re.findall(r'href="([^"]+\.(?:csv|svg))"', figure)
        assert [Path(file).suffix for file in files] == [".csv", ".svg"]
        assert all((page.path.parent / unquote(file)).exists() for file in files)


def test_no_interval_leaves_out_its_number_nor_goes_beyond_bounds(run, kind):
    _, page = kind
    # With a blank for each tag, so that neighbours in a table stay apart.
    text = re.sub(r"<(style|script|svg).*?</\1>", " ", page.raw, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", " ", text)))
    figure = r"([+−]?\d[\d,]*\.?\d*)"
    found = re.findall(rf"(?<![\d.]){figure}( %)? (?:\w+ )?\[{figure}, {figure}\]", text)
    assert found or "<small>" not in page.raw
    for value, unit, *ends in found:
        mean, low, high = (float(one.replace("−", "-").replace(",", "")) for one in (value, *ends))
        assert low <= mean <= high, (value, ends)
        assert not unit or value[0] in "+−" or 0 <= low <= high <= 100


#: How a card names a mean over known outcomes and estimates together.
BOTH = "known and estimated"


def test_blanks_are_one_number_a_name(run):
    page, scores = Shown(run, "lender"), csv(run, "lender", "scores")
    blank = pd.read_csv(run("lender").folder / "mine/applicants.csv")["default"].isna().to_numpy()
    everyone = percent(scores["estimate"].mean())
    assert f"The mean of its column estimate over all is {everyone}." in page.text
    cards = [page.card(f"default = 1, {how}") for how in ("estimated where blank", BOTH)]
    assert cards[0].startswith(percent(scores["estimate"][blank].mean()))
    assert cards[1].startswith(everyone)
    for value in cards:
        assert value.partition("]")[0] in page.answer
    # The range at Γ = 2 is the same wherever it stands, and is what the figure draws.
    before = page.text.partition("cross-validated")[0]
    (span,) = {*re.findall(r"[\d.]+ to [\d.]+ %(?= at Γ = 2)", before)}
    assert f"or {span} if the odds" in page.answer
    drawn = csv(run, "lender", "figures/gamma")
    drawn = drawn[drawn["at"].eq(2) & drawn["panel"].str.startswith("Rate")]
    drawn = drawn[drawn["series"] == "worst end for each row"]
    assert f"{number(drawn['low'].min(), 1)} to {number(drawn['high'].max(), 1)} %" == span
    # The table by Γ begins with the intervals of the headline and of the table of methods.
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", page.raw, flags=re.DOTALL)
    at_random = next(text for text in map(text_of, rows) if text.startswith("Γ = 1"))
    assert at_random.count(cards[1].partition("]")[0].removeprefix(everyone)) == 2
    method = re.search("Accuracy of (.+?), everyone", page.text)[1]
    tried = next(one for one in map(text_of, rows) if one.startswith(method) and "[" in one)
    (accuracy,) = re.findall(r"[\d.]+ % \[[\d., ]+\]", tried)
    assert at_random.count(accuracy) == 2
    new = csv(run, "lender", "new_scores")
    assert f"the estimate is {percent(new['estimate'].mean())} on average" in page.text
    assert f"New rows: estimate {percent(new['estimate'].mean())} on average" in page.text


def test_bought_labels_are_one_number_a_name(run):
    page = Shown(run, "loans")
    for part, whom, how in (("unlabeled", "the", "estimated where blank"), ("", "all", BOTH)):
        place = {"target": "general", "part": part}
        known = [
            measured(run, "loans", "delivered", "target_rate", variable=end, **place)
            for end in ("", "low", "high")
        ]
        told = f"{percent(known[0])} {interval(*(100 * one for one in known[1:]), 1)}"
        assert told in page.answer
        card = page.card(f"default = 1, {how}")
        assert card.startswith(told) and whom in card
    labels = pd.read_csv(run("loans").folder / "mine/labels.csv")["default"].notna().sum()
    assert page.card("Labels bought").startswith(str(labels))


def test_offers_are_one_number_a_name(run):
    page, offers = Shown(run, "school"), csv(run, "school", "offers")
    off = measured(run, "school", "delivered", "expected_optimism")
    claim, count = offers["best_revenue"], len(offers)
    file = f"{amount(claim.mean())} on average and {number(claim.sum(), 0)} in all"
    assert f"best_revenue of offers.csv is the model's own claim, {file}. The" in page.text
    assert f"by {off:.2g} a person by draws of the fit" in page.text
    people = pd.read_csv(run("school").folder / "mine/survey.csv")
    expected = load(run("school").results / "school").expected(people)
    assert expected.value == pytest.approx(claim.mean() - off)
    # Answers to offers that were drawn lead, with the interval of that very estimate.
    right, low, high = (
        measured(run, "school", "delivered", f"drawn_doubly_robust{end}", part="best")
        for end in ("", "_low", "_high")
    )
    assert low < right < high
    right, low, high = (f"{one:.3f}" for one in (right, low, high))
    led = f"bring {right} [{low}, {high}], by the model's claim put right by answers, and all"
    assert led in page.answer and page.card("Revenue a person").startswith(f"{right} [{low}")
    told, total = amount(offers["revenue"].mean()), number(offers["revenue"].sum(), 0)
    assert f"with past offers it is {told} a person and {total} in all" in page.answer
    assert page.card("With past offers").startswith(f"{told}{total} in all")
    new = csv(run, "school", "new_offers")
    mean, total = new["best_revenue"].mean() - off, (new["best_revenue"] - off).sum()
    beside = (
        f"best_revenue {amount(-off, 2, True)} a person; of the table's {amount(expected.value)})"
    )
    told = load(run("school").results / "school").expected(
        pd.read_csv(run("school").folder / "mine/new_survey.csv")
    )
    ends = interval(told.low * len(new), told.high * len(new), 0)
    said = f"bring {number(mean, 2)} a person, {number(total, 0)} {ends} in all, by the model's own"
    assert f"{said} claim ({beside}" in page.text and count == len(people)


def test_a_filter_is_one_number_a_name(run):
    page, card = Shown(run, "panel"), (run("panel").results / "panel/filter.md").read_text()
    (accepted,) = re.findall(r"It accepts ([\d.]+) % ", card)
    assert page.card("Accepted of held-out rows").startswith(f"{accepted} %")
    # Where leaves are too small to be told of, what is released stands for them.
    (told,) = re.findall(r"held-out rows the largest shift is ([\d.]+)", card) or re.findall(
        r"^\| `accepted` \| ([\d.]+) \|", card, re.MULTILINE
    )
    assert page.card("Told on held-out rows").startswith(told)
    (bound,) = re.findall(r"(?:is further than|may be up to) ([\d.]+) from the share", card)
    label = "Certificate" if "**Certified" in card else "No certificate"
    assert page.card(label).startswith(f"≤ {bound}") and f"at most {bound} about" in page.text
    after, before = re.findall(r"is ([\d.]+) among the accepted and ([\d.]+) among all", card)[0]
    assert f"the imbalance falls from {before} to {after}" in page.answer
    change = re.search(r"a change of (\S+) \((\S+) to (\S+)\)", card).groups()
    change = " (a change of {} [{}, {}])".format(*change)
    assert page.card("Imbalance of the accepted") == f"{after}{before} among all{change}"
    assert f"to {after}{change}, and nobody is asked" in page.answer
    row = r"^\| (\w+) \| ([\d.]+) % \(.*?\| ([\d.]+) % \(.*\| ([\d.]+) % \|$"
    groups = re.findall(row, card, re.MULTILINE)
    assert len(groups) == 3
    for name, *shares in groups:
        first, share, wanted = shares
        told = rf"([\d.]+) % are {name} \(([\d.]+) % of all, ([\d.]+) % wanted"
        told = re.search(told, page.answer).groups()
        assert told == (share, first, wanted)
    new = csv(run, "panel", "new_accepted")["accepted"]
    new = new.astype(str).isin({"yes", "True"})
    assert f"Of {number(len(new), 0)} new people {new.sum()} ({percent(new.mean())})" in page.text


def test_values_of_policies_are_one_number_a_name(run):
    page = Shown(run, "clicks")
    for stem in ("values", "new_values"):
        for one in csv(run, "clicks", stem).drop_duplicates("policy").itertuples():
            told = f"{number(one.value, 4)} {interval(one.low, one.high, 4)}"
            assert told in page.text
            if stem == "values":
                assert any(value.startswith(told) for _, value in page.cards)
    best = csv(run, "clicks", "values").set_index("policy").loc["new"].iloc[0]
    assert number(best["value"], 4) in page.answer


def test_predictions_are_one_number_a_name(run):
    page, known = Shown(run, "scored"), csv(run, "scored", "measures")
    known = known[known["metric"] == "auc"]
    assert len(known) == 2
    for one in known.itertuples():
        told = f"{number(one.value, 3)} {interval(one.low, one.high, 3)}"
        assert any(value.startswith(told) for _, value in page.cards)
    assert number(known["value"].max(), 3) in page.answer


def test_a_log_that_dropped_zeros_is_one_number_a_name(run):
    page, log = Shown(run, "kept"), pd.read_csv(run("kept").folder / "mine/scored.csv")
    ones = log["clicked"].sum()
    share = percent(ones / (ones + 10 * (len(log) - ones)))
    assert re.search(rf"{re.escape(share)} \[[\d.]+, [\d.]+\] have clicked = 1", page.answer)
    place = {"variable": "", "part": "", "target": "general"}
    for name, label in (("boosting", "Gradient boosting"), ("logistic", "Logistic regression")):
        told = number(measured(run, "kept", name, "auc", **place), 3)
        assert page.card(label).startswith(told) and f"{told} [" in page.answer
    shown = load(run("kept").results / "kept")._repr_html_()
    assert re.search(rf"{re.escape(share)} (\[[\d.]+, [\d.]+\])", page.answer)[1] in shown
    assert re.search(r"have AUC [\d.]+ (\[[\d.]+, [\d.]+\])", page.answer)[1] in shown
    # A yes counts for the rows that it stands for, in the order of the table.
    yes = csv(run, "kept", "scores")["decision"].astype(str).isin({"yes", "1", "True"})
    stands = log["clicked"].map({1: 1, 0: 10})
    told = measured(run, "kept", "delivered", "fit_yes")
    assert told == pytest.approx((yes * stands).sum() / stands.sum(), abs=1e-12)


def test_promises_are_one_number_a_name(run):
    page, new = Shown(run, "hiring"), csv(run, "hiring", "new_scores")
    yes = new["decision"].astype(str).isin({"yes", "1", "True"})
    assert f"Of {len(new)} new rows {yes.sum()} ({percent(yes.mean())}) get a yes" in page.text
    assert f"{percent(yes.mean())} of the new rows get a yes" in page.text
    people = pd.read_csv(run("hiring").folder / "mine/new_candidates.csv")
    women = new["candidate"].map(people.set_index("candidate")["sex"]).eq("Female")
    assert f": {percent(yes[women].mean())} of women ({women.sum()})" in page.text
    kept = page.card("Promises kept by decisions, held-out rows")
    assert re.search(r"keeps (\d) of 3 promises", page.answer)[1] == kept[0]
    price = r"they err in ([\d.]+ %).*, [+−]?[\d.]+ points .*Logistic regression without promises"
    error = page.card("Error by decisions, held-out rows")
    assert error.startswith(re.search(price, page.answer)[1])
