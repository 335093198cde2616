"""What README and docs show: configs are accepted, Python runs, links and messages are there."""

import ast
import contextlib
import copy
import doctest
import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import counterweight
import numpy as np
import pandas as pd
import pytest
import yaml
from counterweight.plan import components
from counterweight.plan.config import resolve
from counterweight.plan.own import with_own_tables
from counterweight.plan.reading import with_listed_studies
from counterweight.plan.stages import Stages
from counterweight.plan.tasks import module_of
from counterweight.tables.jobs import log
from counterweight.tables.parquet import METRICS, metrics_table, write_table
from counterweight.tasks.own_studies import check_headers
from delivering import OUTPUTS, SCRIPTS, few_sizes
from sklearn.calibration import CalibrationDisplay
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import (
    DetCurveDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    average_precision_score,
    roc_auc_score,
)
from snakemake.utils import update_config

ROOT = SCRIPTS.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
#: As in a run: what a notebook keeps is what a user's run gives.
SEED = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))["seed"]
SETTINGS = {"results": "results", "data": "data", "seed": SEED}


def blocks(page, language, section=""):
    """Blocks of a language on a page, of one section or of all."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if section:
        text = re.search(rf"^## {section}\n(.*?)^## ", text, re.M | re.S)[1]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


#: Pages that say what is asked of a table of one's own, a question each.
OWN = [ROOT / "docs" / "own_table.md", *sorted((ROOT / "docs" / "own_table").glob("*.md"))]
CONFIGS = [text for page in (*OWN, ROOT / "docs" / "targets.md") for text in blocks(page, "yaml")]
CONFIGS += blocks("README.md", "yaml", "Your own table")
FAMILIES = sorted((ROOT / "docs" / "families").glob("*.md"))
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
#: Configs of other pages: tables of one's own, or studies that are written out.
SHOWN = [
    pytest.param(text, id=f"{path.stem}-{number}")
    for path in [*FAMILIES, *TUTORIALS, ROOT / "docs" / "studies.md", ROOT / "docs" / "collect.md"]
    for number, text in enumerate(blocks(path, "yaml"))
]
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in ROOT.glob("*.md") if path.name != "README.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.md")),
    ROOT / "config" / "README.md",
]


def planned(given):
    return resolve(with_own_tables(SETTINGS | given, given))


@pytest.mark.parametrize("text", CONFIGS, ids=range(len(CONFIGS)))
def test_every_config_that_is_shown_is_accepted(text):
    given = yaml.safe_load(text)
    plan = planned(given)
    stages = Stages(plan, SCRIPTS)
    for name in plan["studies"]:
        assert stages.job("deliver", name) and stages.job("label", name)
    own = {"table", "tables"} & given.keys()
    assert plan["only"] == (list(plan["studies"]) if own else [])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_accepted(path):
    planned(yaml.safe_load(path.read_text()))


def test_pages_tell_how_many_examples_there_are():
    words = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"]
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    told = re.findall(r"\[(\w+)(?: worked)? examples\]\(|(\w+) configs for tables", texts)
    assert len(told) > 2
    assert {"".join(one).lower() for one in told} == {words[len(EXAMPLES) - 10]}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder in which the tables of the examples have been drawn."""
    place = tmp_path_factory.mktemp("drawn")
    runpy.run_path(str(ROOT / "examples" / "tables.py"))["write"](place / "examples/tables")
    return place


@pytest.mark.parametrize("text", [text for text in CONFIGS if "examples/tables/" in text])
def test_configs_fit_the_tables_that_they_name(text, drawn, monkeypatch):
    monkeypatch.chdir(drawn)
    named = re.findall(r"examples/tables/[\w.]+", text)
    if all(Path(path).exists() for path in named):  # not so of labels that are to come back
        check_headers(planned(yaml.safe_load(text)))


def test_the_page_shows_the_examples_as_they_are():
    shown = [yaml.safe_load(text) for text in CONFIGS + blocks("docs/collect.md", "yaml")]
    missing = [path.name for path in EXAMPLES if yaml.safe_load(path.read_text()) not in shown]
    assert not missing


#: What each job in the folder of the examples was told when it was run there, by study and stage.
MADE = {}


class Studies:
    """The studies of a config, whose files are made when they are asked for, without Snakemake.

    A job that was told the same before (`MADE`), and needs nothing that is made anew, is not run.
    """

    def __init__(self, given):
        plan = planned(given)
        self.stages, self.made, self.makers = Stages(plan, SCRIPTS), set(), {}
        self.anew = set()
        self.names = list(plan["studies"])
        for name, study in plan["studies"].items():
            items = [("prepare", ""), ("columns", ""), ("label", ""), ("deliver", "")]
            items += [("apply", "")] if study.get("score") else []
            items += [("collect", "")] if study.get("collect") else []
            items += [("sum", part) for part in module_of(study).parts(plan, study)]
            items += [("select", one) for one in study.get("selectors", {})]
            items += [("weigh", one) for one in study.get("weightings", {})]
            items += [(stage, one) for one in study["methods"] for stage in ("train", "evaluate")]
            for stage, item in items:
                if self.stages.job(stage, name, item) is None:
                    continue  # predictions that a log holds are not learned
                made = self.outputs(name, stage, item).values()
                self.makers |= dict.fromkeys(made, (name, stage, item))

    def outputs(self, name, stage, item):
        paths, at = dict(self.stages.job(stage, name, item).outputs), self.stages.paths.study(name)
        for role, file in OUTPUTS.get(stage, {}).items():
            path = getattr(at, file)
            paths[role] = path(item) if callable(path) else path
        if stage in ("label", "evaluate"):
            paths["metrics"] = at.metrics(item or "labels")
        return paths

    def make(self, name, stage, item=""):
        """Run a job after those that it needs."""
        if (name, stage, item) in self.made:
            return
        self.made.add((name, stage, item))
        job, outputs = self.stages.job(stage, name, item), self.outputs(name, stage, item)
        needed = set()
        for files in job.inputs.values():
            for path in [files] if isinstance(files, str) else files:
                if path in self.makers:
                    self.make(*self.makers[path])
                    needed.add(self.makers[path])
        told = repr((job.run, job.given, job.inputs))
        if MADE.get((name, stage, item)) == told and not needed & self.anew:
            return
        MADE[name, stage, item] = told
        self.anew.add((name, stage, item))
        told = {"input": job.inputs, "output": outputs}
        told = {part: SimpleNamespace(**files) for part, files in told.items()}
        running = SimpleNamespace(**told, given=job.given, threads=1, log=log)
        function = components.reference(job.run)
        with components.only(job.uses, job.modules):
            records = function(running)
        if stage in ("label", "evaluate"):
            told = metrics_table(name, item or "labels", records)
            write_table(outputs["metrics"], told, METRICS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the tables of the examples, and what their studies give away."""
    place = tmp_path_factory.mktemp("docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        # A known key: of new ones one in twenty draws offers whose interval misses the truth.
        (place / "filter.key").write_text("counterweight " * 4)
        (place / "filter.key").chmod(0o600)
        runpy.run_path(str(ROOT / "examples" / "tables.py"))["write"](place / "examples/tables")
        for path in EXAMPLES:
            studies = Studies(yaml.safe_load(path.read_text()))
            # Of these no page shows a number: labels that were bought stand for themselves.
            with few_sizes() if path.stem in ("bought", "plots") else contextlib.nullcontext():
                for name in studies.names:
                    studies.make(name, "deliver")
                    if studies.stages.job("collect", name, ""):
                        studies.make(name, "collect")
    return place


def test_who_was_accepted_is_whom_promises_are_about(folder):
    place = folder / "results/volunteers"
    people = pd.read_csv(folder / "examples/tables/volunteers.csv").set_index("person")
    accepted = pd.read_parquet(place / "panel/accepted.parquet").set_index("person")["accepted"]
    scores = pd.read_parquet(place / "invited/scores.parquet").set_index("person")
    assert set(scores.index) == set(accepted.index[accepted])
    # Regions are evener among them, and promises hold of them.
    before, after = (
        frame["region"].value_counts(normalize=True).max()
        for frame in (people, people.loc[scores.index])
    )
    assert after < before
    yes = scores["decision"].groupby(people.loc[scores.index, "sex"]).mean()
    assert yes["woman"] >= 0.8 * yes["man"] - 1e-9


def test_a_trial_says_what_one_offer_for_all_would_have_brought(folder):
    answers = pd.read_csv(folder / "examples/tables/answers.csv")["comes_from"]
    values = pd.read_parquet(folder / "results/trial/tried/values.parquet")
    six = values[(values["policy"] == "six for all") & (values["estimator"] == "ips")].squeeze()
    assert six["low"] < 6 * (answers <= 6).mean() < six["high"]
    tried = pd.read_parquet(folder / "results/trial/aid/new_offers.parquet")
    own = values[values["policy"] == "the log's own"]["value"].item()
    came = answers.to_numpy() <= tried["tried_offer"]
    assert own == pytest.approx(((12 - tried["tried_offer"]) * came).mean(), rel=1e-12)


def test_labels_of_a_judge_tell_which_model_ranks_better(folder):
    place = folder / "results/transfers"
    own = pd.read_csv(place / "comparisons.csv").set_index("metric")
    assert own.loc["auc", "predictions"] == "new" and own.loc["auc", "low"] > 0
    told = pd.read_csv(place / "measures.csv").query("metric == 'predicted_over_observed'")
    now = told.query("predictions == 'now' and top == 1").squeeze()
    assert now["low"] > 1  # it says too much


@pytest.mark.parametrize("text", SHOWN)
def test_every_config_of_a_family_is_accepted(text):
    given = yaml.safe_load(text)
    studies = planned(given)["studies"]
    assert set(given.get("studies", {})) <= set(studies) and studies


def scored(got):
    assert len(got["p"]) == len(got["answers"]) == len(got["new"])


def planned_by_design(got):
    assert len(got["labels"]) == 100 and got["bought"].refused == 0


def weighed(got):
    assert got["chance"].shape == (2500,) and got["weights"].min() > 0


def told_of_the_log(got):
    assert got["model"].predict_proba(got["X"]).shape == (4000, 2)
    assert got["value"].low < got["value"].value < got["value"].high
    assert got["loss"].largest_weight == 10
    assert got["auc"].rows == got["kept"].sum() and got["streamed"]["ips"].rows == 4000


def priced(got):
    assert len(got["offers"]) == len(got["people"]) == len(got["chance"])
    # Half of the aid is worth more to some segments than to others.
    chance = got["chance_at_half"]
    assert chance.min() < got["answer"].mean() < chance.max()


def accepted(got):
    assert len(got["accepted"]) == len(got["people"])
    assert sum(got["shares"].values()) == pytest.approx(1)


def promised(got):
    p = got["model"].predict_proba(got["X"])[:, 1]
    men = got["men"]
    assert set(got["decided"]) == {"no", "yes"} and p[men].mean() <= p[~men].mean() / 0.8 + 1e-9


def stands_for_the_target(got):
    table = got["adjusted"].balance().set_index(["column", "level"])
    assert table.loc[("device", "phone"), "adjusted"] == pytest.approx(0.51, abs=1e-8)
    assert table.loc[("age", ""), "adjusted"] == pytest.approx(41.2, abs=1e-6)


def tilted(got):
    assert len(got["p_refused"]) + got["known"].sum() == len(got["p_everyone"])
    assert np.all(
        (got["shares"].low < [0.15, 0.25, 0.6]) & (got["shares"].high > [0.15, 0.25, 0.6])
    )


#: Examples of a plan: the file of what came back, its column.
CAME_BACK = {"plots": ("labels.csv", "carbon"), "members": ("regions.csv", "region")}
CAME_BACK |= {"visitors": ("answers.csv", "came")}


def answered(got):
    """Each plan is filled in, and its answer holds what is true of those who are asked about."""
    told, truth = {}, {}
    for name, (file, column) in CAME_BACK.items():
        back, plan = pd.read_csv(file), pd.read_csv(f"results/{name}/collect.csv")
        assert len(back) == len(plan) > 0 and back[column].notna().all()
        assert back.iloc[:, 0].tolist() == plan.iloc[:, 0].tolist()
        entry = yaml.safe_load((ROOT / "examples" / f"{name}.yaml").read_text())
        studies = Studies(entry | {"collected": file})
        studies.make(name, "deliver")
        studies.make(name, "collect")
        paths = [f"results/{name}/metrics/{stage}.parquet" for stage in ("delivered", "collect")]
        made = pd.concat([pd.read_parquet(path) for path in paths if Path(path).exists()])
        made = made.fillna({"part": "", "variable": ""})
        told[name] = made.set_index(["metric", "part", "variable"])["value"]
        people = pd.read_csv(f"examples/tables/{name}.csv")
        truth[name] = people[people[column].isna()][[people.columns[0]]]
    carbon = truth["plots"].merge(pd.read_csv("examples/tables/laboratory.csv"))["carbon"].mean()
    low, high = (told["plots"]["target_mean", "unlabeled", end] for end in ("low", "high"))
    assert low < carbon < high
    shares = truth["members"].merge(pd.read_csv("examples/tables/regions.csv"))["region"]
    for region, share in shares.value_counts(normalize=True).items():
        place = "share_before_collected", region
        assert told["members"][*place, "low"] < share < told["members"][*place, "high"]
    offers = pd.read_csv("results/visitors/offers.csv")[["visitor", "best_offer"]]
    offers = truth["visitors"].merge(offers).merge(pd.read_csv("examples/tables/willing.csv"))
    earned = (offers["best_offer"] * (offers["best_offer"] <= offers["pays_up_to"])).mean()
    low, high = (told["visitors"]["revenue_collected", "best", end] for end in ("low", "high"))
    assert low < earned < high


#: What holds after the Python of a page.
AFTER = {
    "examples": answered,
    "README": scored,
    "python": scored,
    "collect": planned_by_design,
    "targets": stands_for_the_target,
    "tilt": tilted,
    "selection_bias": weighed,
    "subsampled_logs": told_of_the_log,
    "offers": priced,
    "balanced_filters": accepted,
    "constraints": promised,
}
#: Pages with Python but for that on extending, whose blocks are files of a checkout, run by a test
#: of the workflow.
WITH_PYTHON = [path for path in PAGES if blocks(path, "python") and path.stem != "extending"]


@pytest.mark.parametrize("path", WITH_PYTHON, ids=lambda path: path.stem)
def test_the_python_of_a_page_runs_as_it_stands(folder, monkeypatch, path):
    monkeypatch.chdir(folder)
    names = {}
    for number, text in enumerate(blocks(path, "python")):
        exec(compile(text, f"{path.name}, block {number}", "exec"), names)
    AFTER["examples" if path.parent.name == "examples" else path.stem](names)


#: A study of each kind of saved model, the table of its rows, and a word that a notebook shows.
SHOWN_IN_NOTEBOOKS = [
    ("applicants", ["customer", "AUC, cross-validated", "of everyone"]),
    ("candidates", ["promise 1"]),
    ("clicks", ["policies", "value of the log"]),
    ("people", ["aim 33.3 %"]),
    ("survey", ["0 to 12", "by the best offers, as the model expects"]),
]


@pytest.mark.parametrize(("study", "words"), SHOWN_IN_NOTEBOOKS)
def test_a_saved_model_shows_itself_in_a_notebook(folder, study, words):
    saved = counterweight.load(folder / "results" / study)
    text = saved._repr_html_()
    assert all(word in text for word in (*words, type(saved).__name__))
    assert "constraint" not in text and not re.search(r"\d%|[ \[]-\d|\d\.0<", text)
    assert ElementTree.fromstring(text).tag == "table"
    saved.facts["title"] = "<b>&"
    assert "&lt;b&gt;&amp;" in saved._repr_html_()
    line = repr(saved)
    assert line.startswith(f"{type(saved).__name__}(") and "\n" not in line
    assert len(line) < 250 and " object at " not in line and "_" not in line, line
    # Of pages, not of configs and files; a threshold only where something is decided.
    assert not re.search("general|offer_logistic|split_tree|stacked", text + line)
    assert ("yes from" in text) == bool(getattr(saved, "binary", False))


CLASSIFIERS = [("applicants", "default", "income"), ("candidates", "did well", "test")]


@pytest.mark.parametrize(("study", "outcome", "column"), CLASSIFIERS)
def test_what_scikit_learn_shows_of_classifiers_it_shows_of_saved_ones(
    folder, study, outcome, column
):
    saved = counterweight.load(folder / "results" / study)
    frame = pd.read_csv(folder / "examples" / "tables" / f"{study}.csv")
    frame = frame[frame[outcome].notna() & frame[column].notna()].head(300)
    y = frame[outcome].to_numpy()
    p, positive = saved.predict_proba(frame)[:, 1], saved.classes_[1]
    told = {"pos_label": positive}
    roc = RocCurveDisplay.from_estimator(saved, frame, y, **told)
    assert roc.roc_auc == pytest.approx(roc_auc_score(y == positive, p))
    recall = PrecisionRecallDisplay.from_estimator(saved, frame, y, **told)
    assert recall.average_precision == pytest.approx(average_precision_score(y == positive, p))
    det = DetCurveDisplay.from_estimator(saved, frame, y, **told)
    assert np.all(np.diff(det.fpr) <= 0)
    calibration = CalibrationDisplay.from_estimator(saved, frame, y, **told)
    assert np.array_equal(calibration.y_prob, p)
    weights = np.arange(1, len(y) + 1)
    right = np.average(saved.predict(frame) == y, weights=weights)
    assert saved.score(frame, y, sample_weight=weights) == pytest.approx(right)
    told = {"n_repeats": 2, "random_state": 0}
    moved = permutation_importance(saved, frame, y, **told).importances_mean
    assert moved[frame.columns.get_loc(outcome)] == 0 and moved.max() > 0
    told = {"grid_resolution": 4, "response_method": "predict_proba"}
    dependence = partial_dependence(saved, frame, [column], **told)
    at = dependence["grid_values"][0][1]
    mean = saved.predict_proba(frame.assign(**{column: at}))[:, 1].mean()
    assert dependence["average"][0, 1] == pytest.approx(mean)
    # As Docs tell of whole numbers, which scikit-learn refuses.
    whole = frame.assign(**{column: frame[column].round().astype(int)})
    with pytest.raises(ValueError, match="integer data"):
        partial_dependence(saved, whole, [column], **told)
    floats = partial_dependence(saved, whole.astype({column: float}), [column], **told)
    assert len(floats["grid_values"][0]) == 4


PARSER = doctest.DocTestParser()
EXAMPLES_OF = dict(
    re.findall(
        r"^### (\w+)\n\n```pycon\n(.*?)\n```$",
        (ROOT / "docs" / "python_examples.md").read_text(encoding="utf-8"),
        re.M | re.S,
    )
) | {name: getattr(counterweight.plots, name).__doc__ for name in counterweight.NAMES["plots"]}


def test_every_public_name_has_an_example():
    names = {name for names in counterweight.NAMES.values() for name in names}
    assert EXAMPLES_OF.keys() == names | counterweight.PUBLIC.keys()


@pytest.fixture(scope="module")
def answered_once():
    """Six examples begin with one question about one table, two notebooks with another: each is
    answered for the first that asks it."""
    own, known = counterweight.selection.missing_outcomes, {}

    def ask(frame, *told, **keys):
        question = frame.to_csv(), repr(told), repr(keys)
        if question not in known:
            known[question] = own(frame, *told, **keys)
        return copy.deepcopy(known[question])

    return ask


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", EXAMPLES_OF)
def test_the_example_of_a_public_name_says_what_it_says(folder, answered_once, monkeypatch, name):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(counterweight.selection, "missing_outcomes", answered_once)
    monkeypatch.setenv("MPLBACKEND", "agg")
    run = doctest.DocTestRunner(verbose=False)
    told = []
    run.run(PARSER.get_doctest(EXAMPLES_OF[name], {}, name, None, 0), out=told.append)
    assert run.tries and not run.failures, "".join(told)


HOOKS = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def told_by(outputs):
    """Words and numbers of what a cell shows."""
    texts = [
        "".join(text)
        for output in outputs
        for kind, text in output["data"].items()
        if kind != "image/png"
    ]
    number = r"(?<![\w.])-?\d+\.\d+(?:e-?\d+)?"
    found = re.findall(number, "\n".join(texts))
    return re.sub(number, "#", "\n".join(texts)), np.array(found, float)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_keeps(folder, answered_once, monkeypatch, path):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(counterweight.selection, "missing_outcomes", answered_once)
    monkeypatch.setenv("MPLBACKEND", "agg")
    cells = HOOKS["notebooks"].read(path)["cells"]
    kept = [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]
    made = HOOKS["notebooks"].run(cells, path.name)
    for shown, known in zip(made, kept, strict=True):
        assert [set(one["data"]) for one in shown] == [set(one["data"]) for one in known]
        (words, numbers), (words_kept, numbers_kept) = told_by(shown), told_by(known)
        assert words == words_kept, "python docs/notebooks.py keeps what they show now"
        assert numbers == pytest.approx(numbers_kept, rel=1e-3, abs=1e-6)


def test_the_gallery_has_every_figure_with_its_code():
    made = HOOKS["notebooks"].pages()
    shown = dict(re.findall(r"^## (\w+)\n\n!\[.+\]\((.+?)\)", made["notebooks/gallery.md"], re.M))
    assert shown.keys() == counterweight.NAMES["plots"].keys()
    for image in shown.values():
        assert made[f"notebooks/{image}"].startswith(b"\x89PNG")
    assert {f"notebooks/{path.stem}.md" for path in NOTEBOOKS} <= made.keys()


def anchors(path):
    """Names of the headings of a page, as links call them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_link_is_broken(path):
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    wrong = []
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        there = (path.parent / place).resolve() if place else path
        if not there.exists() or (anchor and anchor not in anchors(there)):
            wrong.append(link)
    assert not wrong


def test_the_readme_is_short_and_leads_to_every_page():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 150
    linked = set(re.findall(r"\]\((docs/[^)#\s]+\.md)", text))
    below = re.findall(r"\]\((own_table/[^)#\s]+\.md)", OWN[0].read_text(encoding="utf-8"))
    linked |= {f"docs/{page}" for page in below}
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages - linked <= {"docs/filter_format.md", "docs/python_examples.md"}, (
        "the README leads to no such page"
    )


def test_no_command_names_what_it_makes_after_its_config():
    """`--configfile` of Snakemake takes all that follows for files."""
    told = [ROOT / "Makefile", ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = []
    for path in told:
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        named += re.findall(r"snakemake [^`]*?--configfile[ \n]+([^\s`]+)([^`\n]*)", text)
    assert len(named) > 8
    wrong = [rest for _, rest in named if rest.strip() and rest.split()[0][0] not in "-|\\"]
    assert not wrong, wrong


def test_the_messages_of_troubleshooting_are_said_somewhere():
    said = [(ROOT / "Makefile").read_text(encoding="utf-8")]
    said += [path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk")]
    for path in (ROOT / "workflow" / "counterweight").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        said += [node.value for node in nodes if isinstance(getattr(node, "value", None), str)]
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1] for row in page.splitlines() if row.startswith("| `")]
    parts = [
        part for row in rows if "Snakemake" not in row for part in re.findall(r"`([^`]+)`", row)
    ]
    assert len(parts) > 30
    assert not [part for part in parts if not any(part in text for text in said)]


def test_the_figures_of_the_families_are_those_of_a_run(tmp_path):
    known = runpy.run_path(str(ROOT / "docs" / "figures.py"))
    # The picture of the page of sizes is drawn by a program of its own.
    pictures = {path.stem for path in (ROOT / "docs" / "images").glob("*.svg")} - {"scale"}
    assert set(known["TAKEN"]) == {path.stem for path in FAMILIES} == pictures
    studies = {}
    for path in (ROOT / "workflow" / "studies").glob("*.yaml"):
        studies |= yaml.safe_load(path.read_text())["studies"]
    for study, figure in known["TAKEN"].values():
        assert figure in studies[study]["figures"]
        (tmp_path / study / "figures").mkdir(parents=True)
        ground = '<svg><path style="fill: none"/><path style="fill: none"/></svg>'
        (tmp_path / study / "figures" / f"{figure}.svg").write_text(ground)
    known["take"](tmp_path, tmp_path)
    text = (tmp_path / "offers.svg").read_text()
    assert text == '<svg><path style="fill: #ffffff"/><path style="fill: none"/></svg>\n'


def test_each_family_has_a_drawing_of_who_is_seen_and_a_tutorial():
    drawings = runpy.run_path(str(ROOT / "docs" / "drawings.py"))
    made = {draw.__name__: draw() for draw in drawings["DRAWN"]}
    plan = ROOT / "docs" / "collect.md"
    assert made.keys() == {path.stem for path in (*FAMILIES, plan)}
    assert len(TUTORIALS) == len(FAMILIES)
    for path in (*FAMILIES, plan):
        there = ROOT / "docs" / "images" / "seen" / f"{path.stem}.svg"
        assert there.read_text(encoding="utf-8") == made[path.stem], "python docs/drawings.py"
        assert ElementTree.fromstring(made[path.stem]).tag.endswith("svg")
        text = path.read_text(encoding="utf-8")
        section = text.partition("\n## What it assumes\n")[2].partition("\n## ")[0]
        assert f"images/seen/{path.stem}.svg" in section
    for path in FAMILIES:
        text = path.read_text(encoding="utf-8")
        (tutorial,) = re.findall(r"\(\.\./tutorials/(\w+)\.md\)", text)
        back = (ROOT / "docs" / "tutorials" / f"{tutorial}.md").read_text(encoding="utf-8")
        assert f"../families/{path.name}#what-it-assumes" in back


def words(given):
    """Every text in nested settings."""
    if isinstance(given, dict):
        return set().union(*map(words, given.values()), given)
    return set().union(*map(words, given)) if isinstance(given, list) else {given}


def test_the_page_of_studies_lists_every_part_and_who_uses_it():
    text = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    alone = text[text.index("In no study of the papers") :]
    files = (ROOT / "config.yaml", ROOT / "workflow" / "overlays" / "paper.yaml")
    config, overlay = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in files)
    update_config(config, overlay)
    given = with_listed_studies(config, overlay, ROOT / "workflow" / "studies")
    used = words(resolve(given)["studies"])
    kinds = ("labeling", "outcome", "features", "selector", "weighting", "model", "protocol")
    for kind in (*kinds, "dataset"):
        for part in {*components.registry(kind)} - {"own_table"}:
            # What somebody adds for studies of their own is none of these pages'.
            assert (f"`{part}`" in text) or part not in used, f"{kind} {part}"
            assert f"`{part}`" not in alone or part not in used, f"{kind} {part}"
