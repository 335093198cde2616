"""One's own tables, all kinds of them, run by config alone: real runs, and what later ones redo."""

import fnmatch
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT, Copy

sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "unit")]
import tables  # noqa: E402
from own_logs import TRUTH, a_log  # noqa: E402

EXAMPLES = ("lender", "school", "panel", "clicks", "hiring")
MINE = ("--configfile", "mine/mine.yaml")
#: What each study gives away: its files, the id of a row, columns that stand there among others.
GIVEN = {
    "lender": ("scores", "customer", ["estimate", "low", "high", "supported", "decision"]),
    "school": ("offers", "applicant", ["best_offer", "best_p", "best_revenue"]),
    "panel": ("accepted", "person", ["accepted"]),
    "hiring": ("scores", "candidate", ["estimate", "decision"]),
}
FILES = {  # of an example: its table and its new rows
    "lender": ("applicants", "new_applicants"),
    "school": ("survey", "new_survey"),
    "panel": ("people", "new_people"),
    "clicks": ("clicks", "new_clicks"),
    "hiring": ("candidates", "new_candidates"),
}


def drawn_tables():
    """The tables of the examples, smaller; ids of three of them have zeros in front."""
    rng, made, new = np.random.default_rng(7), {}, {}
    made["lender"], new["lender"], _ = tables.lender(rng, 720)
    made["school"], new["school"] = tables.school(rng, 400)
    made["panel"], new["panel"] = tables.panel(rng, 600)
    made["clicks"], truth = tables.clicks(rng, 20_000)
    new["clicks"], _ = tables.clicks(rng, 5_000)
    made["hiring"], new["hiring"] = tables.hiring(rng, 600)
    for name in ("lender", "school", "panel"):
        column, first = GIVEN[name][1], len(made[name])
        made[name][column] = [f"{number:05d}" for number in range(first)]
        new[name][column] = [f"{first + number:05d}" for number in range(len(new[name]))]
    return made, new, truth


def example(name, folder="mine"):
    """The config of an example, whose tables are in a folder."""
    entry = yaml.safe_load((ROOT / "examples" / f"{name}.yaml").read_text())
    return entry | {
        key: f"{folder}/{Path(entry[key]).name}".lstrip("/") for key in ("table", "score")
    }


def written(folder, config):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def with_tables(folder, config, made, new):
    """Write tables and a config that is about them into a folder."""
    written(folder, config)
    for name, files in FILES.items():
        for frame, file in zip((made[name], new[name]), files, strict=True):
            frame.to_csv(folder / f"{file}.csv", index=False)
    rng = np.random.default_rng(2)
    a_log(20_000, rng, 0.1).assign(day=lambda frame: np.arange(len(frame)) % 3).to_parquet(
        folder / "parts", partition_cols=["day"]
    )


@pytest.fixture(scope="module")
def drawn():
    return drawn_tables()


@pytest.fixture(scope="module")
def mine(once, tree, drawn):
    """All examples and a log in a folder of parts in one config, run once."""

    def make(folder):
        shutil.copytree(tree, folder)
        config = {name: example(name) for name in EXAMPLES}
        # Fewer fits than a person would want.
        quick = {"model": "offer_logistic"}, {"model": "logitboost"}
        config["school"]["study"] = {"models": [*quick], "bootstrap": 5, "figures": ["curves"]}
        config["parts"] = {
            "table": "mine/parts",
            "reward": "clicked",
            "propensity": "p_logged",
            "keep_rate": 0.1,
            "policies": {"new": "p_new", "best one": {"column": "best", "action": "shown"}},
        }
        with_tables(folder / "mine", {"tables": config}, *drawn[:2])
        first = Copy(folder).run(*MINE)
        return {"output": first.output, "status": first.status}

    from conftest import Run

    folder, first = once("mine", make)
    copy = Copy(folder)
    copy.first = Run(**first)
    assert copy.first.status == 0, copy.first.output
    return copy


@pytest.fixture
def again(mine, tmp_path):
    """A copy of the finished run, to change and run again."""
    shutil.copytree(mine.folder, tmp_path / "copy")
    return Copy(tmp_path / "copy")


def test_only_ones_own_studies_are_run(mine):
    ended = {part for job in mine.first.jobs for part in re.findall("[a-z_]+", job)}
    assert {"lender", "school", "panel", "clicks", "hiring", "parts"} <= ended
    folders = {path.name for path in mine.results.iterdir() if (path / "labels.parquet").exists()}
    assert folders == {*EXAMPLES, "parts"}
    assert not list((mine.folder / "data").glob("raw*"))
    assert {path.name for path in (mine.folder / "data/prepared").iterdir()} == {"own"}


def test_every_row_and_every_new_row_has_an_answer(mine, drawn):
    for name, (file, identity, columns) in GIVEN.items():
        for before, frame in zip(("", "new_"), (drawn[0][name], drawn[1][name]), strict=True):
            path = mine.results / name / f"{before}{file}"
            answers = pd.read_parquet(path.with_suffix(".parquet"))
            assert answers[identity].tolist() == frame[identity].tolist()
            assert {*columns} <= {*answers} and answers[columns].notna().all(axis=None)
            text = pd.read_csv(path.with_suffix(".csv"), dtype=str)
            assert text[identity].tolist() == frame[identity].astype(str).tolist()
            assert list(text) == list(answers)


def test_a_filter_releases_nothing_but_who_is_accepted(mine):
    for file in ("accepted", "new_accepted"):
        assert list(pd.read_parquet(mine.results / "panel" / f"{file}.parquet")) == [
            "person",
            "accepted",
        ]


def test_values_of_policies_are_those_of_the_world_that_drew_the_log(mine, drawn):
    names = {"clicks": drawn[2] | {"the log's own": drawn[2]["logged"]}}
    names["parts"] = {"new": TRUTH["new"], "best one": TRUTH["best"], "the log's own": TRUTH[""]}
    for file in ("clicks/values", "clicks/new_values", "parts/values"):
        values = pd.read_parquet(mine.results / f"{file}.parquet")
        truth = names[file.split("/")[0]]
        assert {*values["policy"]} == {*truth} - {"logged"}
        for row in values.itertuples():
            # Nearly all of 95 % intervals hold the truth; their length says whether they may.
            assert abs(row.value - truth[row.policy]) < 4 * row.standard_error
            assert row.high - row.low < 6 * row.standard_error


def test_pages_are_about_ones_own_tables(mine):
    index = mine.text("results/report.html")
    pages = {path.stem: path.read_text() for path in (mine.results / "report").glob("*.html")}
    assert {*EXAMPLES, "parts"} <= {*pages}
    for name in (*EXAMPLES, "parts"):
        assert f'href="report/{name}.html"' in index
        assert "Data: your own table." in pages[name]
    assert "Would new earn more than the one that made the log?" in pages["clicks"]
    assert "Best one would earn" in pages["parts"]
    for text in (index, *pages.values()):
        assert "downloaded originals" not in text
        for author in ("Zadrozny", "Elkan", "Mineiro", "Noor", "Deng", "Goh"):
            assert author not in text


def changed(path, change):
    """Write a table anew, changed."""

    def edit(copy):
        frame = pd.read_csv(copy.folder / "mine" / path, dtype=str, keep_default_na=False)
        change(frame).to_csv(copy.folder / "mine" / path, index=False)

    return edit


def setting(name, **keys):
    def edit(copy):
        config = yaml.safe_load(copy.text("mine/mine.yaml"))
        config["tables"][name] |= keys
        written(copy.folder / "mine", config)

    return edit


def edited(module):
    return lambda copy: copy.append(f"workflow/counterweight/{module}.py", "# edited\n")


def touched(copy):
    for path in sorted((copy.folder / "mine").rglob("*")):
        path.touch()


def one_less(frame):
    return frame.iloc[:-1]


#: Edits, and the jobs that they make anew: patterns over the jobs of the first run.
EDITS = {
    "newer dates of tables and config": (touched, ""),
    "a column to ignore": (
        setting("lender", columns={"ignore": ["notes", "debt"]}),
        "*_lender; * lender; * lender *; page_studies; report",
    ),
    "a row of a table": (
        changed("candidates.csv", one_less),
        "*_hiring; * hiring; * hiring *; page_studies; report",
    ),
    "new rows": (changed("new_survey.csv", one_less), "apply_school"),
    "other new rows": (setting("clicks", score="mine/clicks.csv"), "apply_clicks"),
    "the linear score": (
        edited("models/scores/linear"),
        "train lender linear*; evaluate lender linear*; *_lender; !prepare_lender; page_studies; "
        "report",
    ),
    "the report of columns": (edited("labeling/own/column_report"), "*"),
    "intervals of scores": (
        edited("numerics/bands"),
        "*_lender; !prepare_lender; page_studies; report",
    ),
    # The pages name the method that was given away, and what it measured.
    "saved offers": (
        edited("models/choice/delivered/saved"),
        "d*_school; apply_school; page_studies; report",
    ),
}


@pytest.mark.parametrize(("edit", "patterns"), EDITS.values(), ids=EDITS)
def test_what_an_edit_makes_anew(again, mine, edit, patterns):
    edit(again)
    expected = set()
    for pattern in filter(None, patterns.split("; ")):
        matching = {*fnmatch.filter(mine.first.jobs, pattern.removeprefix("!"))}
        assert matching, f"no job matches {pattern!r}"
        expected = expected - matching if pattern[0] == "!" else expected | matching
    assert again.plan(*MINE) == expected


def test_bytes_do_not_depend_on_cores_nor_on_where_files_are(copied, mine, tmp_path):
    """On one core, tables beside a config elsewhere, results and data in other folders."""
    copy, elsewhere = copied(), tmp_path / "elsewhere"
    shutil.copytree(mine.folder / "mine", elsewhere)
    config = yaml.safe_load((elsewhere / "mine.yaml").read_text())
    for entry in config["tables"].values():
        for key in {"table", "score"} & entry.keys():
            entry[key] = Path(entry[key]).name
    written(elsewhere, config | {"results": str(tmp_path / "out"), "data": str(tmp_path / "kept")})
    wanted = [
        f"{tmp_path}/out/{name}/{file}.csv"
        for name, (kind, *_) in (GIVEN | {"clicks": ("values",)}).items()
        for file in (kind, f"new_{kind}")
    ]
    run = copy.run(*wanted, "--configfile", str(elsewhere / "mine.yaml"), cores=1)
    assert run.status == 0, run.output
    made = [path for path in (tmp_path / "out").rglob("*") if path.suffix in (".parquet", ".csv")]
    assert len(made) > 60
    for path in made:
        other = mine.results / path.relative_to(tmp_path / "out")
        assert path.read_bytes() == other.read_bytes(), path
    assert not copy.results.exists()


def test_from_another_workflow(tree, mine, tmp_path):
    shutil.copytree(tree, tmp_path / "library" / "counterweight")
    shutil.copytree(mine.folder / "mine", tmp_path / "mine")
    (tmp_path / "config.yaml").write_text("studies: of another workflow\n")
    entry = example("clicks") | {"results": "out/counterweight", "data": "out/data"}
    (tmp_path / "Snakefile").write_text(
        "module counterweight:\n"
        '    snakefile: "library/counterweight/Snakefile"\n'
        f"    config: {entry!r}\n\n\n"
        "use rule * from counterweight as cw_*\n\n\n"
        "rule best:\n"
        "    default_target: True\n"
        '    input: "out/counterweight/clicks/new_values.csv"\n'
        '    output: "best.csv"\n'
        '    shell: "cp {input} {output}"\n\n\n'
        "rule everything:\n"
        "    input: rules.cw_all.input, rules.cw_report.output\n"
    )
    copy = Copy(tmp_path)
    run = copy.run()
    assert run.status == 0, run.output
    assert {job.split()[0] for job in run.jobs} == {
        *("cw_prepare_clicks", "cw_label", "cw_train", "cw_deliver_clicks", "cw_apply_clicks"),
        "best",
    }
    assert (tmp_path / "best.csv").read_bytes() == (
        mine.results / "clicks" / "new_values.csv"
    ).read_bytes()
    assert copy.plan() == set()
    assert {"cw_page_studies", "cw_report"} <= copy.plan("everything")


#: Tables that are wrong: whose example, what becomes of its config and tables, what is told.
WRONG = {
    "absent_column": ("lender", {"columns": {"ignore": ["nots"]}}, None, "nots"),
    "absent_group": ("panel", {"balance": ["county"]}, None, "county"),
    "absent_policy": ("clicks", {"policies": {"new": "nope"}}, None, "nope"),
    "absent_promise": ("hiring", {"groups": {"women": {"gender": "F"}}}, None, "gender"),
    "two_words": (
        "hiring",
        {"outcome": "did well"},
        lambda frame: frame.assign(**{"did well": frame["did well"].replace("yes", "good")}),
        "positive",
    ),
    "nobody": ("lender", {"labeled": {"where": {"approved": "maybe"}}}, None, "approved"),
    "one_class": ("lender", {}, lambda frame: frame.assign(default="0"), "default"),
    "impossible": ("clicks", {}, lambda frame: frame.assign(p_logged="0"), "p_logged"),
    "unanswered": ("school", {}, lambda frame: frame.assign(came=""), "came"),
}
NEW_WRONG = {
    "school": (lambda frame: frame.drop(columns="home"), "home"),
    "clicks": (lambda frame: frame.drop(columns="p_new"), "p_new"),
    "hiring": (lambda frame: frame.assign(years="many"), "years"),
}


def files_of(copy, name):
    """Files of a study and of its table."""
    places = copy.results / name, copy.results / "tables", copy.folder / "data"
    return [
        path
        for place in places
        for path in place.rglob("*")
        if path.is_file() and (place.name == name or name in path.name)
    ]


def test_wrong_tables_are_told_in_a_sentence_and_leave_nothing(copied, drawn):
    copy, config = copied(), {}
    for name, (whose, keys, change, _) in WRONG.items():
        config[name] = example(whose) | keys
        table = drawn[0][whose].astype(str).replace({"<NA>": "", "nan": ""})
        config[name]["table"] = f"mine/{name}.csv"
        (copy.folder / "mine").mkdir(exist_ok=True)
        (change(table) if change else table).to_csv(
            copy.folder / config[name]["table"], index=False
        )
        del config[name]["score"]
    config["broken"] = config["absent_group"] | {"table": "mine/broken.csv", "balance": "region"}
    lines = drawn[0]["panel"].to_csv(index=False).splitlines()
    lines[7] += ",one more,and more"
    (copy.folder / "mine/broken.csv").write_text("\n".join(lines) + "\n")
    written(copy.folder / "mine", {"tables": config})
    wanted = [path for path in ("labels", "models/linear") for _ in ()]
    wanted = [f"results/{name}/labels.parquet" for name in config]
    run = copy.run(*wanted, *MINE)
    assert run.status != 0
    for name, sentence in {name: told for name, (*_, told) in WRONG.items()} | {
        "broken": "line 8"
    }.items():
        log = [*(copy.results / "logs").rglob(f"{name}.log")]
        told = [path.read_text().strip().splitlines() for path in log]
        told = [lines[-1] for lines in told if lines[-1:] and lines[-1].startswith("ERROR")]
        print(name, told, files_of(copy, name))
    assert 0
