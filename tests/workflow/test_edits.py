"""A table of edits, and for each of them exactly the jobs that it makes anew.

Each edit is made in a copy of the finished small run, and a dry run says what would be done. The
expected jobs are patterns (``*`` stands for anything) over the jobs of the small run, set against
them in order: ``!`` takes out what earlier ones put in.
"""

import fnmatch
import os
import shutil
import subprocess

import pytest
from families import with_pages

LIBRARY = "workflow/counterweight"
DATA = "download_*; prepare_*"
#: Jobs of all studies of a data set or with a rule of the small run.
TWIN = "* twin *; draw_twin; report"
CURVED = "* curved; * curved *; draw_curved; report"
CLICKS = "* clicks; * clicks *; draw_clicks; report"
RANKING = "* ranking; * ranking *; draw_ranking; report"
LOG = "* log; * log *; draw_log; report"
OFFERS = "* offers; * offers *; d*_offers; report"
PEOPLE = "* people; * people *; d*_people; report"
RATES = "* rates; * rates *; draw_rates; report"
HELD = "* held; * held *; report"
KEPT = "* twin_kept; * twin_kept *; report"
OF_ADULT = f"label twin; {TWIN}; {HELD}; {KEPT}; {PEOPLE}"
#: From the weights of the labeled rows of the Adult twin on.
LEMMA1 = "train twin *-lemma1; evaluate twin *-lemma1"
LEMMA2 = (
    "train twin *-lemma2; evaluate twin *-lemma2; train twin shifted*; evaluate twin shifted*; "
    "draw_twin; report"
)


def setting(*path, to=None):
    """Set a key of the config, given by the way to it; take it out where `to` is None."""

    def edit(tree):
        config = part = tree.config
        for key in path[:-1]:
            part = part.setdefault(key, {}) if isinstance(part, dict) else part[key]
        if to is None:
            del part[path[-1]]
        elif path[-1] == "+":
            part.append(to)
        else:
            part[path[-1]] = to
        tree.config = config

    return edit


def reversed_studies(tree):
    tree.config = tree.config | {"studies": dict(reversed(tree.config["studies"].items()))}


def edited(*paths, text="# edited\n"):
    """Append to files; modules are named within the library."""

    def edit(tree):
        for path in paths:
            tree.append(path if "." in path else f"{LIBRARY}/{path}.py", text)

    return edit


def replaced(path, old, new):
    return lambda tree: tree.replace(path if "." in path else f"{LIBRARY}/{path}.py", old, new)


def touched(*paths):
    def edit(tree):
        for path in paths:
            (tree.folder / path).touch()

    return edit


def all_of(*edits):
    def edit(tree):
        for each in edits:
            each(tree)

    return edit


def moved(tree):
    tree.folder = tree.folder.rename(tree.folder.with_name("moved"))


def everything_touched(tree):
    """Newer dates, in an order that has nothing to do with what was made of what."""
    paths = [path for path in sorted(tree.folder.rglob("*")) if path.is_file()]
    for number, path in enumerate(sorted(paths, key=lambda path: path.name[::-1])):
        if ".snakemake" not in path.parts:
            os.utime(path, (2e9 - number, 2e9 - number))


def cloned(tree):
    """Code in a fresh folder, to which data, results and what Snakemake knows are copied."""
    old, tree.folder = tree.folder, tree.folder.with_name("clone")
    tree.folder.mkdir()
    for path in sorted(old.iterdir(), reverse=True):
        subprocess.run(["cp", "-r", path, tree.folder / path.name], check=True)


NOTHING = {
    "modules that only plan": edited(
        "tables/fork_server",
        "plan/config",
        "plan/stages",
        "plan/jobs",
        "plan/tasks",
        "plan/renamed",
        "plan/digests",
        "plan/methods",
        "plan/reading",
        "plan/mistakes",
        "plan/measures",
        "reporting/report_jobs",
    ),
    "registries, the rules and other files that no job reads": all_of(
        *(
            replaced(f"{package}/__init__", f"{name} = {{", f'{name} = {{\n    "new": "{target}",')
            for package, name, target in (
                ("models", "MODELS", "counterweight.models.logistic:LogisticModel"),
                (
                    "weighting",
                    "WEIGHTINGS",
                    "counterweight.weighting.importance_weights:general_weights",
                ),
                ("evaluation", "METRICS", "counterweight.evaluation.metrics:auc"),
            )
        ),
        # The first kind of the registry is that of components that name none.
        replaced(
            "tasks/__init__",
            'tasks.filters",',
            'tasks.filters", "new": "counterweight.tasks.logs",',
        ),
        replaced("selection/__init__", "Stage 3", "Stage three"),
        edited("Snakefile", "workflow/rules/common.smk", "workflow/rules/train.smk"),
        edited("profiles/default/config.yaml", "envs/counterweight.yaml"),
        edited("workflow/report/report.rst", text="\nEdited.\n"),
        setting("data_mirror", to="."),
        setting("filter_study", to="people"),
    ),
    "the parts of kinds that plan": all_of(
        *(
            replaced(f"tasks/{kind}", f"def {function}(", f"# edited\n\n\ndef {function}(")
            for kind, function in (
                ("classification", "plan_train"),
                ("classification", "finish"),
                ("classification", "train"),
                ("filters", "plan_weigh"),
                ("logs", "complete"),
                ("offers", "plan_evaluate"),
            )
        ),
        replaced("tasks/classification", "    spec = study[", "    # edited\n    spec = study["),
        replaced("tasks/offers", '"""Studies of', '"""Edited: studies of'),
        replaced("datasets/sources", "    source, raw = ", "    # edited\n    source, raw = "),
    ),
    "the download, where all data are generated": edited("datasets/download"),
    "newer dates of some files": touched(
        "data/generated/adult/adult.data",
        "workflow/claims/noor_2014.yaml",
        "scripts/train.py",
        "results/twin/features.parquet",
        f"{LIBRARY}/models/logistic.py",
    ),
    "newer dates of every file": everything_touched,
    "another folder": moved,
    "a clone with results copied in": cloned,
}


@pytest.mark.parametrize("edit", NOTHING.values(), ids=NOTHING)
def test_what_makes_nothing_anew(again, edit):
    edit(again)
    assert again.plan() == set()


@pytest.mark.parametrize("others", [False, True])
def test_results_without_what_snakemake_knows_of_them(again, finished, others):
    """They are gone by in order of their dates alone, and this is told, whatever else is known."""
    shutil.rmtree(again.folder / ".snakemake")
    if others:
        (again.folder / ".snakemake/metadata").mkdir(parents=True)
        (again.folder / ".snakemake/metadata/b3RoZXI=").write_text("{}")
    run = again.run("--dry-run")
    assert run.status == 0 and run.jobs == set()
    assert "came without the folder .snakemake" in run.output
    assert "jobs have missing provenance/metadata" in run.output
    (again.folder / "data/generated/a9a/a9a").touch()
    assert again.plan() == expand(f"prepare_a9a; {RATES}", finished.first.jobs)


CONFIG = {
    "the seed": (setting("seed", to=2), "*"),
    "repeats": (
        setting("repeats", to=1),
        f"*; !{DATA.replace('; ', '; !')}; !* log; !* log *; !draw_log",
    ),
    "another folder of results": (setting("results", to="other"), "*; !download_*; !prepare_*"),
    "rows of a data set": (
        setting("datasets", "rare_clicks", "rows", to=6100),
        f"prepare_rare_clicks; {CLICKS}; {RANKING}",
    ),
    "defaults of a model": (
        setting("model_defaults", "generative", "components", to=3),
        "train twin generative*; evaluate twin generative; train twin shifted*; "
        "evaluate twin shifted*; draw_twin; report",
    ),
    "metrics": (
        setting("metrics", to=["accuracy", "auc", "brier", "log_loss", "calibration_error"]),
        "evaluate *; !evaluate log *; !evaluate offers *; !evaluate people *; draw_*; "
        "!draw_log; !draw_offers; !draw_people; report",
    ),
    "only some studies": (
        setting("only", to=["curved", "log"]),
        "page_selection_bias; page_subsampled_evaluation; report",
    ),
    "a study less": (setting("studies", "log"), "page_*; report"),
    "the order of the studies": (reversed_studies, "page_*; report"),
    "a title": (setting("studies", "curved", "title", to="Another"), "draw_curved; page_*; report"),
    "a method's name in print": (
        setting("studies", "curved", "models", 0, "label", to="Another"),
        "draw_curved; report",
    ),
    "what a method is in the comparison": (
        setting("studies", "curved", "main", to="logistic"),
        "draw_curved; report",
    ),
    "a question": (
        setting("studies", "curved", "question", to="Why?"),
        "page_selection_bias; report",
    ),
    "how a measure is told": (
        setting("studies", "curved", "measures", to={"auc": {"label": "area"}}),
        "draw_curved; report",
    ),
    "the title of a family": (
        setting("families", "selection_bias", "title", to="Another"),
        "page_*; report",
    ),
    "another family": (
        setting("studies", "held", "family", to="predictive_choice"),
        "page_*; report",
    ),
    "titles of tables": (
        setting("studies", "held", "tables", to={"general": "Another"}),
        "page_dataset_constraints; report",
    ),
    "the columns of a table": (
        setting("studies", "held", "columns", to=["auc"]),
        "page_dataset_constraints; report",
    ),
    "the baseline": (
        setting("studies", "curved", "baseline", to="logistic-lemma1"),
        "draw_curved; report",
    ),
    "the list of figures": (
        setting("studies", "curved", "figures", "+", to="selection"),
        "draw_curved; report",
    ),
    "a recipe's option": (setting("studies", "twin_kept", "features", "noise", to=0.3), KEPT),
    "an outcome's option": (setting("studies", "curved", "outcome", "value", to=0), CURVED),
    "a labeling rule's option": (
        setting("studies", "twin", "labeling", "spouse_absent", to=True),
        f"label twin; {TWIN}",
    ),
    "targets": (setting("studies", "curved", "targets", to=["general"]), CURVED),
    "samples": (setting("studies", "rates", "samples", "male", "value", to=0), RATES),
    "test rows": (
        setting("studies", "rates", "test_rows", to={"column": "x73", "value": 1}),
        RATES,
    ),
    "whom a study is paired with": (setting("studies", "held", "paired_with"), HELD),
    "shares of the groups": (
        setting("studies", "people", "target", to={"White": 0.5, "Black": 0.5}),
        PEOPLE,
    ),
    "folds of a selection model": (
        setting("studies", "twin", "selection", 0, "folds", to=3),
        f"select twin logistic; weigh twin *-logistic; {LEMMA1}; {LEMMA2}",
    ),
    "an option of one method": (
        setting("studies", "twin", "models", 5, "iterations", to=1),
        "* twin shifted_mixture; draw_twin; report",
    ),
    "a sweep": (
        setting("studies", "twin", "models", 6, "sweep", "iterations", to=[1, 3]),
        "* twin shifted_mixture-sweep; draw_twin; report",
    ),
    "draws of the offers' evaluation": (
        setting("studies", "offers", "evaluation", "draws", to=400),
        "evaluate offers *; draw_offers; report",
    ),
    "a method less": (setting("studies", "curved", "models", 1), "draw_curved; report"),
}


def expand(patterns, jobs):
    """The jobs that patterns stand for; each of them stands for one at least."""
    expected = set()
    for pattern in patterns.split("; "):
        matching = fnmatch.filter(jobs, pattern.removeprefix("!"))
        assert matching, f"no job of the small run matches {pattern!r}"
        expected = expected - {*matching} if pattern[0] == "!" else expected | {*matching}
    return with_pages(expected)


@pytest.mark.parametrize(("edit", "patterns"), CONFIG.values(), ids=CONFIG)
def test_a_change_of_the_config(again, finished, edit, patterns):
    edit(again)
    assert again.plan() == expand(patterns, finished.first.jobs)


CODE = {
    "a data set": (edited("datasets/adult"), f"download_adult; prepare_adult; {OF_ADULT}"),
    "simulated data sets, drawn and known": (
        edited("datasets/simulated_rows", "datasets/simulated_offers"),
        "prepare_rare_clicks; prepare_logged_clicks; prepare_three_segments; prepare_curved; "
        f"{CLICKS}; {RANKING}; {LOG}; {OFFERS}; {CURVED}",
    ),
    "the check of raw files": (
        replaced(
            "datasets/sources", "        path = os.path", "        # edited\n        path = os.path"
        ),
        f"prepare_adult; prepare_a9a; {OF_ADULT}; {RATES}",
    ),
    "rules of labeling": (
        edited("labeling/labeling_rules"),
        f"label twin; {TWIN}; {HELD}; {KEPT}; {CLICKS}; {RANKING}; {RATES}; {CURVED}",
    ),
    "the labeling of groups": (edited("labeling/sensitive"), PEOPLE),
    "selection models": (
        edited("selection/selectors"),
        "select *; !select people *; weigh *; !weigh people *; train * *-lemma1; "
        f"evaluate * *-lemma1; {LEMMA2}; draw_curved",
    ),
    "a proxy, by its helper": (
        edited("selection/split_game"),
        "* people*alpha_beta; d*_people; report",
    ),
    "the weights of rows": (
        edited("weighting/importance_weights"),
        f"weigh *; !weigh people *; train * *-lemma1; evaluate * *-lemma1; {LEMMA2}; draw_curved; "
        "* twin generative",
    ),
    "the acceptance of leaves": (
        edited("weighting/acceptance"),
        "weigh people *; train people *; evaluate people *; d*_people; report",
    ),
    "mixtures": (
        edited("models/class_mixtures"),
        "train twin generative*; evaluate twin generative; train twin shifted*; "
        "evaluate twin shifted*; draw_twin; report",
    ),
    "one model of each other family": (
        edited(
            "models/subsampling/budgeted",
            "models/log_policies",
            "models/choice/baselines",
            "models/constraints/linear_svm",
        ),
        "* clicks tree-progressive; * log stochastic; * offers offer_logistic; "
        "* offers predictive_choice; * rates thresholds; * rates svm; * rates ramp; "
        "* held constrained-lemma1; draw_clicks; draw_log; draw_offers; draw_rates; "
        "deliver_offers; report",
    ),
    "the card of a filter": (edited("models/filter_card"), "d*_people; report"),
    "filters": (
        edited("models/balanced_filter"),
        "train people *; evaluate people *; d*_people; report",
    ),
    "metrics of predictions": (
        edited("evaluation/metrics"),
        "evaluate *; !evaluate people *; d*; !download_*; !draw_people; !deliver_*; report",
    ),
    "one protocol of each family": (
        edited(
            "evaluation/resampled_logs",
            "evaluation/offer_value",
            "evaluation/filter_evaluation",
            "evaluation/rates",
        ),
        "evaluate *; !evaluate twin *; !evaluate twin_kept *; !evaluate curved *; "
        # Offers that are delivered are held against one for all by the same estimators.
        "!evaluate clicks *; !evaluate ranking *; d*; !download_*; !draw_twin; !draw_curved; "
        "!draw_clicks; !draw_ranking; report",
    ),
    "the claims": (edited("reporting/claims"), "page_*; report"),
    "what all pages have": (
        edited("reporting/render", "reporting/sheets"),
        "page_*; draw_twin; draw_curved; draw_clicks; draw_ranking; draw_log; draw_people; "
        "draw_rates; report",
    ),
    "the pages of one family": (
        edited("reporting/pages/offers_page"),
        "page_predictive_choice; report",
    ),
    "a chart": (edited("reporting/charts/offers_figures"), "draw_offers; report"),
    "words of pages and of charts": (edited("reporting/wording"), "draw_*; report"),
    "a component's name in print": (
        replaced("models/logistic", '"logistic": "Logistic', '"logistic": "Plain logistic'),
        "draw_twin; draw_curved; draw_clicks; draw_ranking; report",
    ),
    "what is known of a measure": (
        replaced("workflow/counterweight/reporting/measures.csv", "bias of the AUC", "AUC bias"),
        "draw_ranking; report",
    ),
    "the caption of a figure": (
        replaced(
            "reporting/charts/offers_figures", '"curves": (', '"curves": (\n        "Edited. "'
        ),
        "page_predictive_choice; report",
    ),
    "a template": (
        edited(f"{LIBRARY}/reporting/templates/page.html", text="<!-- edited -->\n"),
        "page_*; report",
    ),
    "a file of claims": (edited("workflow/claims/noor_2014.yaml"), "page_*; report"),
    "tables": (edited("tables/parquet"), "*"),
    "the look-up of components": (edited("plan/components"), "*"),
    "arithmetic of leaves": (
        edited("numerics/geometry"),
        "select people tree; select people alpha_beta; weigh people *; train people *; "
        "evaluate people *; d*_people; report",
    ),
    "a stage of one kind": (
        replaced("tasks/classification", "def train(job):\n", "def train(job):\n    # edited\n"),
        "train *; evaluate *; d*; !download_*; !* log *; !* offers *; !* people *; "
        "!d*_log; !d*_offers; !d*_people; report",
    ),
    "what a kind gives away": (
        replaced("tasks/offers", "def deliver(job):\n", "def deliver(job):\n    # edited\n"),
        "d*_offers; report",
    ),
    "a script": (edited("scripts/deliver.py"), "deliver_*; draw_people; draw_offers; report"),
    "the script of a stage in the middle": (
        edited("scripts/select.py"),
        f"select *; weigh *; {LEMMA1}; {LEMMA2}; * curved logistic-lemma1; draw_curved; "
        "* held constrained-lemma1; * people *; d*_people",
    ),
    "where a registry points to, in the same module": (
        replaced(
            "weighting/__init__",
            "importance_weights:general_weights",
            "importance_weights:unlabeled_weights",
        ),
        "weigh * lemma1-*; * *-lemma1; draw_twin; draw_curved; report",
    ),
    "a docstring of a module": (
        replaced(
            "models/class_mixtures", "Generative classifiers:", "Edited. Generative classifiers:"
        ),
        "* twin shifted*; * twin generative*; draw_twin; report",
    ),
    "a raw file": (
        edited("data/generated/adult/adult.data", text="\n"),
        f"prepare_adult; {OF_ADULT}",
    ),
    "a table of results": (
        lambda tree: shutil.copy(
            tree.results / "curved/weights/lemma1-known.parquet",
            tree.results / "held/weights/lemma1-logistic.parquet",
        ),
        "* held constrained-lemma1; report",
    ),
}


@pytest.mark.parametrize(("edit", "patterns"), CODE.values(), ids=CODE)
def test_an_edit_of_code_or_files(again, finished, edit, patterns):
    edit(again)
    assert again.plan() == expand(patterns, finished.first.jobs)
