"""A part that fails: the others finish, the report marks it, and a later run completes it."""

import copy
import hashlib
import html
import re

import pytest

CLOSED = "http://127.0.0.1:9/"
TOO_MANY = {"model": "generative", "components": 400, "name": "too_many"}
ADULT = "workflow/counterweight/datasets/adult.py"
RAW = ("adult.data", "adult.test")
PREPARED = "data/prepared/generated/adult.parquet"


def with_method(config, method):
    config["studies"]["twin"]["models"].append(dict(method))
    return config


def test_a_failed_method_does_not_stop_the_others(again):
    config, whole = again.config, again.text("results/report.html")
    config["studies"]["curved"]["models"].append({"model": "logistic", "oracle": True})
    again.config = with_method(config, TOO_MANY)

    run = again.run()
    assert run.status != 0
    assert "evaluate curved logistic-oracle" in run.jobs
    told = again.text("results/logs/train/twin/too_many.log").splitlines()[-1]
    assert told.startswith("ERROR: study twin, method too_many")
    assert "FAILED train twin too_many" in run.output
    assert "AssertionError" not in run.output
    page = again.text("results/report_partial.html")
    assert html.escape(told.removeprefix("ERROR: "), quote=False) in html.unescape(page)
    assert '<tr class="failed"><th scope="row">Class mixtures (components = 400)' in page
    assert 'class="failure"' in page
    # What the run before made stays, under names of its own.
    assert again.text("results/report.html") == whole
    assert (again.results / "claims.parquet").exists()

    config["studies"]["twin"]["models"][-1]["components"] = 2
    again.config = config
    run = again.run()
    assert run.status == 0, run.output
    assert {"train twin too_many", "evaluate twin too_many", "draw_twin", "report"} <= run.jobs
    assert 'class="failure"' not in again.text("results/report.html")
    assert not (again.results / "report_partial.html").exists()
    page = again.text("results/report/twin.html")
    assert 'class="failure"' not in page
    assert '<tr><th scope="row">Class mixtures [too_many]' in page
    assert again.plan() == set()


def test_what_two_methods_fail_by_is_told_once(again):
    config = with_method(with_method(again.config, TOO_MANY), TOO_MANY | {"name": "as_many"})
    again.config = config | {"only": ["twin"]}
    run = again.run("--quiet", "host", "--logger", "counterweight")
    assert run.status != 0
    assert run.output.count("ERROR: study twin, method ") == 1
    assert all(f"FAILED train twin {name}" in run.output for name in ("too_many", "as_many"))
    assert "1 more like those above: see the logs in results/logs." in run.output
    # Of one study the page tells once what failed.
    page = again.text("results/report_partial.html")
    told = re.findall(r'<article class="failure">(.*?)</article>', page, flags=re.S)
    assert told and len(told) == len({*told})
    assert page.count("Nothing was measured") <= 1


def test_taking_a_failed_method_out_again_gives_the_report_from_before(again):
    whole = again.text("results/report.html")
    before = again.digests(".parquet", ".svg")
    complete = again.config
    again.config = with_method(again.config, TOO_MANY)
    assert again.run().status != 0
    again.config = complete
    run = again.run()
    assert run.status == 0, run.output
    assert again.text("results/report.html") == whole
    assert again.digests(".parquet", ".svg") == before


@pytest.fixture
def unreachable(copied, small):
    """A copy that wants real data, with no server behind the addresses, for one of two studies."""
    studies = {name: small["studies"][name] for name in ("twin", "curved")}
    config = small | {"data_source": "download", "studies": studies}
    tree = copied(config)
    tree.replace(ADULT, "https://archive.ics.uci.edu/", CLOSED)
    tree.replace("workflow/counterweight/datasets/download.py", "retries=3", "retries=0")
    return tree


def test_a_data_set_that_cannot_be_reached_is_marked_in_the_report(unreachable):
    run = unreachable.run()
    assert run.status != 0
    assert "evaluate curved logistic-lemma1" in run.jobs
    end = run.output[-3000:]
    assert "FAILED download adult" in end
    assert "make demo" in end
    assert "COUNTERWEIGHT_MIRROR" in end
    page = unreachable.text("results/report_partial.html")
    for link in re.findall(r'href="((?:tables|provenance)/[^"#]+)"', page):
        assert (unreachable.results / link).exists(), link
    assert CLOSED in page and "make demo" in page
    assert 'id="page-curved"' in page and 'id="page-twin"' in page
    assert not (unreachable.folder / "data/raw/adult/adult.data").exists()
    assert not (unreachable.folder / "data/prepared/adult.parquet").exists()


def test_files_put_by_hand_are_used_and_wrong_ones_refused(unreachable, finished):
    wrong = b"not the data\n"
    folder = unreachable.folder / "data/raw/adult"
    folder.mkdir(parents=True)
    for name in RAW:
        (folder / name).write_bytes(wrong)
    run = unreachable.run("data/prepared/adult.parquet")
    assert run.status != 0
    digest = hashlib.sha256(wrong).hexdigest()
    assert f"data/raw/adult/adult.data has the SHA-256 digest {digest}, not the" in run.output
    assert not (unreachable.folder / "data/prepared/adult.parquet").exists()

    # The twin's files stand in for the real ones: their digests become the pinned ones.
    for name in RAW:
        content = (finished.folder / "data/generated/adult" / name).read_bytes()
        (folder / name).write_bytes(content)
        pinned = unreachable.text(ADULT).partition(f'"{name}": "')[2][:64]
        unreachable.replace(ADULT, pinned, hashlib.sha256(content).hexdigest())
    run = unreachable.run("data/prepared/adult.parquet")
    assert run.status == 0, run.output
    assert "prepare_adult" in run.jobs
    assert CLOSED not in run.output


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "\n".join(line.rpartition(", ")[0] for line in text.splitlines()) + "\n",
        lambda text: text.replace(", ", ";"),
        lambda text: "",
    ],
    ids=["missing column", "wrong delimiter", "empty"],
)
def test_a_damaged_raw_file_is_refused_in_one_sentence(again, damage):
    raw = again.folder / "data/generated/adult/adult.data"
    raw.write_text(damage(raw.read_text()))
    # The report of what is there is about one study.
    again.config = again.config | {"only": ["twin"]}
    run = again.run(PREPARED)
    assert run.status != 0
    told = again.text("results/logs/prepare/adult.log").strip()
    assert len(told.splitlines()) == 1
    assert told.startswith("ERROR: data set adult: ")
    assert "data/generated/adult/adult.data" in told
    assert not (again.folder / PREPARED).exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda config: with_method(config, {"model": "logistik"}),
            "studies.twin.models[7].model is 'logistik', which is not a choice; "
            "did you mean 'logistic'?",
        ),
        (
            lambda config: config["studies"]["twin"].update(labelling={}) or config,
            "Unknown key studies.twin.labelling; did you mean 'labeling'?",
        ),
        (
            lambda config: config | {"model_defaults": {"generative": {"tol": "1e-7"}}},
            "write 1.0e-7",
        ),
    ],
    ids=["model", "key", "type"],
)
def test_a_mistake_in_the_config_is_told_before_anything_runs(copied, small, change, sentence):
    tree = copied(change(copy.deepcopy(small)))
    run = tree.run()
    assert run.status != 0
    assert sentence in run.output
    assert "Traceback" not in run.output
    assert "additionalProperties" not in run.output
    assert not tree.results.exists()


@pytest.mark.parametrize(
    ("constraint", "told"),
    [
        ("coverage(mal) <= 0.5", "There is no data set 'mal'"),
        ("covrage(male) <= 0.5", "there is no rate 'covrage'"),
        ("coverage(male) <= kapa", "'kapa' has no value"),
    ],
)
def test_a_mistaken_constraint_is_told_before_anything_runs(again, constraint, told):
    config = again.config
    config["studies"]["rates"]["models"][1]["constraints"] = [constraint]
    again.config = config
    run = again.run()
    assert run.status != 0 and not run.jobs
    assert told in run.output


def test_constraints_that_contradict_each_other_are_named(again):
    config = again.config
    method = config["studies"]["rates"]["models"][1]
    method["constraints"] = ["recall(labeled) >= 0.95", "coverage(labeled) <= 0.1"]
    del method["sweep"]
    again.config = config | {"only": ["rates"]}
    run = again.run("results/rates/metrics/ramp.parquet")
    assert run.status != 0
    told = again.text("results/logs/train/rates/ramp.log").splitlines()[-1]
    assert "recall(labeled) >= 0.95" in told and "coverage(labeled) <= 0.1" in told
    assert not (again.results / "rates" / "models" / "ramp.parquet").exists()
