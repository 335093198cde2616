"""One's own tables, all kinds of them, run by config alone: real runs, and what later ones redo."""

import fnmatch
import hashlib
import os
import re
import shutil
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import Copy, copy_of, read_page
from own_logs import TRUTH
from own_tables import EXAMPLES, FILES, MINE, example, placed, quick, tables, with_tables, written

#: What each study gives away: its files, the id of a row, columns that stand there among others.
GIVEN = {
    "lender": ("scores", "customer", ["estimate", "low", "high", "supported", "decision"]),
    "school": ("offers", "applicant", ["best_offer", "best_p", "best_revenue"]),
    "panel": ("accepted", "person", ["accepted"]),
    "hiring": ("scores", "candidate", ["estimate", "decision"]),
}


@pytest.fixture
def again(mine, tmp_path):
    """A copy of the finished run, to change and run again."""
    return placed(Copy(copy_of(mine.folder, tmp_path / "copy")))


def test_only_ones_own_studies_are_run(mine):
    ended = {part for job in mine.first.jobs for part in re.findall("[a-z_]+", job)}
    assert {"lender", "school", "panel", "clicks", "hiring", "parts"} <= ended
    assert {path.name for path in (mine.folder / "results").iterdir()} == {"mine"}
    assert not [path for path in mine.results.rglob("*") if "claims" in path.name]
    folders = {path.name for path in mine.results.iterdir() if (path / "labels.parquet").exists()}
    assert folders == {*EXAMPLES, "parts", "in_parts"}
    assert not (mine.folder / "data").exists()


def test_jobs_open_only_what_their_rules_declare(mine):
    assert not mine.first.opened


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


def test_partitions_that_are_summed_apart_are_one_log(mine):
    for table in ("values", "comparisons"):
        apart, whole = (
            pd.read_parquet(mine.results / name / f"{table}.parquet")
            for name in ("in_parts", "parts")
        )
        pd.testing.assert_frame_equal(apart, whole, rtol=1e-12)
    page = read_page(mine.results / "report" / "in_parts.html")
    assert "Which policy would earn more than the one that made the log?" in page
    assert len(list((mine.results / "in_parts" / "sums").glob("*.parquet"))) == 3


def test_pages_are_about_ones_own_tables(mine):
    index = mine.text("results/mine/report.html")
    pages = {path.stem: read_page(path) for path in (mine.results / "report").glob("*.html")}
    assert {*EXAMPLES, "parts"} <= {*pages}
    for name in (*EXAMPLES, "parts"):
        assert f'href="report/{name}.html"' in index
        assert "Data: your own table." in pages[name]
    assert "Would new earn more than the policy that made the log?" in pages["clicks"]
    assert "“best one” would earn" in pages["parts"]
    for text in (index, *pages.values()):
        assert "downloaded originals" not in text
        for author in ("Zadrozny", "Elkan", "Mineiro", "Noor", "Deng", "Goh"):
            assert author not in text


def test_a_tilt_reaches_answers_new_rows_the_page_and_the_saved_model(again, mine):
    """What is not known is told from the first sentence on, with a tilt and without."""
    before = read_page(mine.results / "report" / "lender.html")
    assert "If labels are missing at random, " in before
    assert "othing in the table can show that" in before
    assert (mine.results / "lender/figures/gamma.svg").exists()
    plain = pd.read_parquet(mine.results / "lender/new_scores.parquet")
    setting("lender", tilt={"times": 2})(again)
    run = again.run(*MINE)
    assert run.status == 0, run.output
    moved = pd.read_parquet(again.results / "lender/new_scores.parquet")
    np.testing.assert_allclose(moved["at_random"], plain["estimate"])
    odds = moved["estimate"] / (1 - moved["estimate"]) * (1 - plain["estimate"])
    factor = odds / plain["estimate"]
    assert factor.between(1, 2).all() and factor.max() > 1.2
    after = read_page(again.results / "report" / "lender.html")
    assert (
        "If the odds of default = 1 among rows without an outcome are 2 times those of like rows"
        in after
    )
    assert "If labels are missing at random, " not in after


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


def replaced(module, old, new):
    """Of a module with functions of several jobs an edit counts for those that its lines are of."""
    return lambda copy: copy.replace(f"workflow/counterweight/{module}.py", old, new)


def touched(copy):
    for path in [*sorted((copy.folder / "mine").rglob("*")), copy.folder / "filter.key"]:
        path.touch()


def exchanged(*files, date):
    """Another file comes in place of each, as `mv` or `cp -p` brings it: with a date of its own."""

    def edit(copy):
        for name in files:
            (path,) = copy.folder.glob(name)
            new = path.with_name(f"new {path.name}")
            if path.suffix == ".parquet":
                pd.read_parquet(path).iloc[1:].to_parquet(new)
            elif path.suffix == ".key":
                new.write_text("another secret of some length\n")
                new.chmod(0o600)
            else:
                lines = path.read_text().splitlines(keepends=True)
                new.write_text("".join([lines[0], *lines[2:]]))
            known = path.stat()
            os.utime(new, ns=(known.st_atime_ns, known.st_mtime_ns + date))
            os.replace(new, path)

    return edit


def one_figure(copy):
    """One figure of a table changed in its place, its length and its date as they were."""
    path = copy.folder / "mine/candidates.csv"
    known, text = path.stat(), path.read_text()
    line = text.splitlines()[5]
    figure = re.search("[1-8]", line)
    other = line[: figure.start()] + str(int(figure[0]) + 1) + line[figure.end() :]
    path.write_text(text.replace(line, other))
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert path.stat().st_size == known.st_size and path.stat().st_mtime_ns == known.st_mtime_ns


def shorter_part(copy):
    (file, *_) = sorted((copy.folder / "mine/parts/day=1").iterdir())
    pd.read_parquet(file).iloc[:-1].to_parquet(file)


def one_less(frame):
    return frame.iloc[:-1]


#: Edits, and the jobs that they make anew: patterns over the jobs of the first run.
EDITS = {
    "newer dates of tables, config and key": (touched, ""),
    "an older table, older new rows": (
        exchanged("mine/candidates.csv", "mine/new_applicants.csv", date=-(10**15)),
        "*_hiring; * hiring; * hiring *; apply_lender; draw_lender; page_studies; report",
    ),
    "a part, new rows and a key of the same date": (
        exchanged("mine/parts/day=1/*.parquet", "mine/new_survey.csv", "filter.key", date=0),
        "sum in_parts day_1*; label in_parts; evaluate in_parts*; deliver_in_parts; "
        "* parts; * parts *; *e_parts; columns_parts; deliver_parts; apply_school; deliver_panel; "
        "apply_panel; draw_in_parts; draw_parts; draw_school; draw_panel; page_studies; report",
    ),
    "a figure of a table": (one_figure, "*_hiring; * hiring; * hiring *; page_studies; report"),
    "a column to ignore": (
        setting("lender", columns={"ignore": ["notes", "debt"]}),
        "*_lender; * lender; * lender *; page_studies; report",
    ),
    "a row of a table": (
        changed("candidates.csv", one_less),
        "*_hiring; * hiring; * hiring *; page_studies; report",
    ),
    "one partition": (
        shorter_part,
        "sum in_parts day_1*; label in_parts; evaluate in_parts*; deliver_in_parts; "
        "* parts; * parts *; *e_parts; columns_parts; deliver_parts; draw_in_parts; draw_parts; "
        "page_studies; report",
    ),
    "what is known of rows without an outcome": (
        setting("lender", tilt={"times": 2}),
        "d*_lender; apply_lender; page_studies; report",
    ),
    # The page sums up the answers for new rows, and draws them.
    "new rows": (
        changed("new_survey.csv", one_less),
        "apply_school; draw_school; page_studies; report",
    ),
    "other new rows": (
        setting("clicks", score="mine/clicks.csv"),
        "apply_clicks; draw_clicks; page_studies; report",
    ),
    "the linear score": (
        edited("models/score_models"),
        # Rewards of policies are models of this module, too.
        "train lender *; evaluate lender *; *_lender; !prepare_lender; !columns_lender; "
        "train clicks new; evaluate clicks new; deliver_clicks; apply_clicks; "
        "train parts best_one; train parts new; evaluate parts best_one; evaluate parts new; "
        "deliver_parts; draw_clicks; draw_parts; page_studies; report",
    ),
    "the report of columns": (
        replaced(
            "labeling/column_report",
            "    _check_ids(frame, roles, told)\n",
            "    _check_ids(frame, roles, told)  # edited\n",
        ),
        "*; !prepare_*; !sum in_parts*; !label in_parts; !evaluate in_parts*; !deliver_in_parts; "
        "!draw_in_parts",
    ),
    "intervals of scores": (
        edited("delivery/saved_scores"),
        "*_lender; !prepare_lender; !columns_lender; page_studies; report",
    ),
    # The pages name the method that was given away, and what it measured.
    "saved offers": (
        edited("delivery/saved_offers"),
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


def test_another_question_of_the_same_table_reads_no_columns_of_the_first(again, mine):
    """The outcome of the second question was a feature of the first."""
    debt = example("lender") | {"outcome": {"column": "debt", "kind": "number"}}
    for key in ("labeled", "score"):
        del debt[key]
    written(again.folder / "mine", debt | {"name": "debt"})
    run = again.run("results/debt/metrics/linear.parquet", *MINE)
    assert run.status == 0, run.output
    metrics = pd.read_parquet(again.folder / "results/debt/metrics/linear.parquet")
    # Debt is drawn without a word from the other columns; with itself among them it was 1.
    assert (metrics.loc[metrics["metric"] == "r2", "value"] < 0.2).all()
    assert "r2" in {*metrics["metric"]}
    debt = again.folder / "results/debt"
    used = [
        pd.read_csv(report).set_index("column")["role"]["debt"]
        for report in (mine.results / "tables/lender.columns.csv", debt / "tables/debt.columns.csv")
    ]
    assert used[0] != used[1] == "outcome"
    for end in ("parquet", "columns.parquet"):
        shutil.copy(mine.results / f"prepared/lender.{end}", debt / f"prepared/debt.{end}")
    wrong = again.run("--force", "results/debt/labels.parquet", *MINE)
    assert wrong.status != 0 and "was made for another question" in wrong.output


def test_what_is_asked_no_more_is_deleted_but_what_somebody_wrote(again):
    """Answers and pages of an earlier config stood beside those of this one, as if of it."""
    config = yaml.safe_load((again.folder / "mine/mine.yaml").read_text())
    del config["tables"]["clicks"], config["tables"]["in_parts"]
    for name in ("lender", "school", "hiring"):
        del config["tables"][name]["score"]
    written(again.folder / "mine", config)
    before = {*again.digests()}
    changed_by_hand = again.results / "school/new_offers.csv"
    changed_by_hand.write_text("mine\n")
    os.utime(changed_by_hand, (time.time() + 60,) * 2)
    (again.results / "tables/clicks-mine.csv").write_text("mine\n")
    run = again.run(*MINE)
    assert run.status == 0, run.output
    gone = before - {*again.digests()}
    answers = {
        f"{name}/new_scores.{end}" for name in ("lender", "hiring") for end in ("csv", "parquet")
    }
    pages = {
        file.format(name)
        for name in ("clicks", "in_parts")
        for file in ("report/{}.html", "provenance/{}.yaml", "tables/{}.tex")
        + ("tables/{}-general.csv", "tables/{}-general.parquet")
    }
    expected = answers | pages | {"school/new_offers.parquet"}
    assert gone == {f"results/mine/{path}" for path in expected}
    told = re.search("Of an earlier run, and not made anew by what is asked now: .*", run.output)
    assert told[0].endswith("now: results/mine/school/new_offers.csv.")
    assert again.plan(*MINE) == set()


def test_provenance_has_the_digest_of_every_own_file(mine):
    told = yaml.safe_load(mine.text("results/mine/provenance/run.yaml"))["own_files"]
    folder = mine.folder / "mine"
    files = [f"mine/{path.name}" for path in folder.glob("*.csv")]
    files += [str(path.relative_to(mine.folder)) for path in folder.rglob("*.parquet")]
    assert {*told} == {*files, "filter.key"}
    for file in files:
        assert told[file] == hashlib.sha256((mine.folder / file).read_bytes()).hexdigest()
    # A key is told by what says nothing of it.
    assert told["filter.key"] in mine.text("results/mine/panel/filter.md")


def test_bytes_do_not_depend_on_cores_nor_on_where_files_are(copied, mine, tmp_path):
    """On one core, tables beside a config elsewhere, results and data in other folders."""
    copy, elsewhere = copied(), tmp_path / "elsewhere"
    # Coins are drawn by the key: with a new one other people would be accepted.
    shutil.copy(mine.folder / "filter.key", copy.folder)
    shutil.copytree(mine.folder / "mine", elsewhere)
    config = yaml.safe_load((elsewhere / "mine.yaml").read_text())
    for entry in config["tables"].values():
        for key in {"table", "score"} & entry.keys():
            entry[key] = Path(entry[key]).name
    written(elsewhere, config | {"results": str(tmp_path / "out"), "data": str(tmp_path / "kept")})
    wanted = [
        f"{tmp_path}/out/{name}/{file}.csv"
        for name, (kind, *_) in GIVEN.items()
        for file in (kind, f"new_{kind}")
    ]
    run = copy.run(*wanted, "--configfile", str(elsewhere / "mine.yaml"), cores=1)
    assert run.status == 0, run.output
    made = [path for path in (tmp_path / "out").rglob("*") if path.suffix in (".parquet", ".csv")]
    assert len(made) > 50
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
        '    snakefile: "library/counterweight/workflow/Snakefile"\n'
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
        *(
            "cw_prepare_clicks",
            "cw_columns_clicks",
            "cw_label",
            "cw_train",
            "cw_deliver_clicks",
            "cw_apply_clicks",
        ),
        "best",
    }
    assert (tmp_path / "best.csv").read_bytes() == (
        mine.results / "clicks" / "new_values.csv"
    ).read_bytes()
    assert copy.plan() == set()
    assert {"cw_page_studies", "cw_report"} <= copy.plan("everything")
    # The file of the top folder, which that one includes, is the same workflow.
    text = (tmp_path / "Snakefile").read_text()
    (tmp_path / "Snakefile").write_text(text.replace("counterweight/workflow/", "counterweight/"))
    assert copy.plan() == set()


#: Tables that are wrong: whose example, what becomes of its config and of its table, what is told.
WRONG = {
    "absent_column": (
        "lender",
        {"columns": {"ignore": ["nots"]}},
        None,
        "has no column 'nots', which columns.ignore names (is it 'notes'?)",
    ),
    "absent_balance": ("panel", {"balance": "county"}, None, "balance names 'county', no column"),
    "absent_policy": (
        "clicks",
        {"policies": {"new": "nope"}},
        None,
        "policy new names 'nope', no column",
    ),
    "absent_group": (
        "hiring",
        {"groups": {"women": {"gender": "F"}, "men": {"gender": "M"}}},
        None,
        "groups names 'gender', no column",
    ),
    "two_words": (
        "hiring",
        {"outcome": "did well"},
        lambda frame: frame.replace({"did well": {"yes": "good", "no": "bad"}}),
        "say by outcome.positive which counts as 1",
    ),
    "nobody": (
        "lender",
        {"labeled": {"where": {"approved": "maybe"}}},
        None,
        "No row has 'maybe' in the column 'approved', whose values are no, yes",
    ),
    "one_class": (
        "lender",
        {},
        lambda frame: frame.assign(default=0),
        "The outcome 'default' is 0 wherever it is not blank",
    ),
    "blank": (
        "lender",
        {"labeled": {"where": {"approved": "yes"}}},
        lambda frame: frame.assign(default=""),
        "outcome names 'default', a column that is empty in every row",
    ),
    "impossible": (
        "clicks",
        {},
        lambda frame: frame.assign(p_logged=0),
        "The propensity 'p_logged' is 0 in ",
    ),
    "unanswered": (
        "school",
        {},
        lambda frame: frame.assign(came=""),
        "answer names 'came', a column that is empty in every row",
    ),
    "broken": ("panel", {}, None, "mine/broken.csv, line 8 has 7 fields where the header has 5"),
}
#: New rows that are wrong, by example: what becomes of them, and what is told.
NEW_WRONG = {
    "lender": (lambda frame: frame.drop(columns="income"), "income"),
    "school": (lambda frame: frame.drop(columns="home"), "home"),
    "panel": (lambda frame: frame.drop(columns="age"), "age"),
    "clicks": (lambda frame: frame.drop(columns="p_new"), "p_new"),
    "hiring": (lambda frame: frame.assign(years="many"), "years"),
}
TABLES = (".parquet", ".csv")


def failures(copy, run):
    """What a failed run says at its end: a sentence for each log of a job that failed."""
    assert run.status != 0
    told = re.findall(r"^FAILED [^\n]*\(log: (.*)\)\n +ERROR: (.*)$", run.output, re.MULTILINE)
    assert f"{copy.results.relative_to(copy.folder)}/report_partial.html shows" in run.output
    return dict(told)


def one_sentence(run):
    """No traceback anywhere, also of the report of what is there."""
    assert "Traceback" not in run.output


def test_wrong_tables_are_told_in_a_sentence_and_leave_nothing(copied, drawn):
    copy, config = placed(copied()), {}
    (copy.folder / "mine").mkdir()
    for name, (whose, keys, change, _) in WRONG.items():
        config[name] = example(whose) | keys | {"table": f"mine/{name}.csv"}
        del config[name]["score"]
        frame = drawn[0][whose]
        text = (change(frame) if change else frame).to_csv(index=False)
        lines = text.splitlines()
        lines[7] += ",one more,and more" if name == "broken" else ""
        (copy.folder / config[name]["table"]).write_text("\n".join(lines) + "\n")
    written(copy.folder / "mine", {"tables": config})
    run = copy.run(*(f"results/mine/{name}/labels.parquet" for name in config), *MINE)
    one_sentence(run)
    told = failures(copy, run)
    assert {Path(log).stem for log in told} == {*WRONG}
    for log, sentence in told.items():
        assert WRONG[Path(log).stem][-1] in sentence
    for name in WRONG:
        assert not [path for path in (copy.results / name).rglob("*") if path.is_file()]
    typed = [path for path in (copy.results / "prepared").rglob("*") if path.is_file()]
    # What is wrong with roles of columns is told after a table is typed, which stays whole.
    assert {path.name.split(".")[0] for path in typed} == {*WRONG} - {"broken", "absent_column"}


def test_wrong_new_rows_are_told_in_a_sentence_and_leave_nothing(again):
    for name, (change, _) in NEW_WRONG.items():
        changed(f"{FILES[name][1]}.csv", change)(again)
    run = again.run(*MINE)
    one_sentence(run)
    told = {Path(log).stem: sentence for log, sentence in failures(again, run).items()}
    # The page of a filter tells of its new rows, so that the whole report waits for them.
    assert run.jobs == {f"apply_{name}" for name in NEW_WRONG}
    for name, (_, column) in NEW_WRONG.items():
        assert column in told[name] and f"mine/{FILES[name][1]}.csv" in told[name]
        files = {path.name for path in (again.results / name).iterdir() if path.is_file()}
        assert not [file for file in files if file.startswith(("new_", ".", "tmp"))]
        assert "model.parquet" in files or "filter.parquet" in files


def test_the_terminal_has_few_lines_and_a_failure_once(copied, drawn):
    copy, config = copied(), example("lender") | {"study": {"models": [{"model": "logistic"}]}}
    del config["score"]
    frame, said = drawn[0]["lender"], ("--quiet", "host", "--logger", "counterweight")
    with_tables(copy.folder / "mine", config, *drawn[:2])
    run = copy.run(*said, *MINE)
    assert run.status == 0, run.output
    lines = run.output.splitlines()
    assert len(lines) <= 25
    assert "have default = 1" in lines[-3] and lines[-2].startswith("Files: ")
    assert lines[-1].startswith("Done: open results/applicants/report.html.")

    few = frame.assign(default=frame["default"].where(frame["default"].cumsum() <= 1))
    few.to_csv(copy.folder / "mine/applicants.csv", index=False)
    run = copy.run(*said, *MINE)
    assert run.status != 0 and len(run.output.splitlines()) <= 6
    assert run.output.count("rows are labeled, and 20 are needed") == 1
    assert run.output.count("FAILED") == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"labled": {"where": {"approved": "yes"}}}, "labled; did you mean 'labeled'?"),
        ({"table": "mine/nobody.csv"}, "'mine/nobody.csv', which is no file"),
        ({"outcome": None}, "outcome"),
        ({"promises": ["coverage(women) >= 0.9"]}, "There is no data set 'women'"),
    ],
    ids=["unknown key", "missing file", "nothing asked", "unknown group"],
)
def test_a_mistake_in_the_config_is_told_before_anything_runs(copied, drawn, change, sentence):
    copy = copied()
    with_tables(copy.folder / "mine", {"tables": {"mine": example("lender") | change}}, *drawn[:2])
    run = copy.run(*MINE)
    assert run.status != 0 and not run.jobs
    assert sentence in run.output
    one_sentence(run)
    assert not copy.results.exists()


def test_answers_of_one_table_are_the_rows_of_the_next(tree, tmp_path, drawn):
    """A filter's accepted people are whom promises are about, in one run, and anew with another
    key; predictions of a log that lost rows by a condition are held against it where highest."""
    shutil.copytree(tree, tmp_path / "chain")
    copy = Copy(tmp_path / "chain")
    people = tables.volunteers(np.random.default_rng(3), 1200)
    accepted = "results/mine/panel/accepted.parquet"
    sql = f"select v.* from 'mine/people.csv' v join '{accepted}' a using (person) where a.accepted"
    sql += " and v.stayed is not null"
    rng = np.random.default_rng(5)
    p = rng.beta(1, 20, 8_000)
    log = pd.DataFrame({"p": p, "clicked": rng.random(8_000) < p, "way": ["web", "app"] * 4_000})
    lost = (log["way"] == "web") & ~log["clicked"] & (rng.random(8_000) < 0.8)
    told = {
        "panel": {
            "table": "mine/people.csv",
            "id": "person",
            "balance": "region",
            "alpha": 0.3,
            "certified": False,
            "columns": {"ignore": ["sex", "stayed"]},
        },
        "invited": {
            "table": {"sql": sql, "url": "duckdb:///:memory:"},
            "id": "person",
            "outcome": {"column": "stayed", "positive": "yes"},
            "groups": {"women": {"sex": "woman"}, "men": {"sex": "man"}},
            "promises": ["coverage(women) >= 0.8 * coverage(men)"],
            "study": {"repeats": 1},
        },
        "judged": {
            "table": "mine/log.csv",
            "reward": "clicked",
            "predictions": {"mine": "p"},
            "keep_rate": {"rate": 0.2, "where": {"way": "web"}},
            "top": [0.05],
        },
    }
    told["invited"] = quick(told["invited"])
    written(copy.folder / "mine", {"tables": told})
    people.to_csv(copy.folder / "mine/people.csv", index=False)
    log[~lost].astype({"clicked": int}).to_csv(copy.folder / "mine/log.csv", index=False)
    first = copy.run(*MINE)
    assert first.status == 0, first.output

    def chosen():
        rows = pd.read_parquet(copy.folder / accepted)
        return set(rows.loc[rows["accepted"], "person"])

    scores = copy.folder / "results/mine/invited/scores.parquet"
    before = chosen()
    assert set(pd.read_parquet(scores)["person"]) == before and len(before) < len(people)
    measures = pd.read_csv(copy.folder / "results/mine/judged/measures.csv")
    top = measures[measures["top"] == 0.05].squeeze()
    assert top["low"] < 1 < top["high"] and top["rows"] > 100
    page = read_page(copy.folder / "results/mine/report/judged.html")
    assert "Where predictions are highest" in page
    assert "that rows of reward 0 with way = web were kept at the rate 0.2" in page
    (copy.folder / "filter.key").write_text("another secret of some length\n")
    again = copy.run(*MINE)
    assert again.status == 0, again.output
    assert chosen() != before and set(pd.read_parquet(scores)["person"]) == chosen()
    assert not [job for job in again.jobs if "judged" in job]
