"""Tables of one's own of every kind, and one config about them: `mine` of `conftest.py` runs it."""

import sys
from pathlib import Path

import numpy as np
import yaml
from counterweight.tasks.missing_outcomes import own_study
from counterweight.tasks.own_studies import promised

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "unit")]
import tables  # noqa: E402
from own_logs import a_log  # noqa: E402

EXAMPLES = ("lender", "school", "panel", "clicks", "hiring")
MINE = ("--configfile", "mine/mine.yaml")
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
    made["panel"], new["panel"] = tables.panel(rng, 2000)
    made["clicks"], truth = tables.clicks(rng, 20_000)
    new["clicks"], _ = tables.clicks(rng, 5_000)
    made["hiring"], new["hiring"] = tables.hiring(rng, 600)
    for name, column in (("lender", "customer"), ("school", "applicant"), ("panel", "person")):
        first = len(made[name])
        made[name][column] = [f"{number:05d}" for number in range(first)]
        new[name][column] = [f"{first + number:05d}" for number in range(len(new[name]))]
    return made, new, truth


def example(name, folder="mine"):
    """The config of an example, whose tables are in a folder."""
    entry = yaml.safe_load((ROOT / "examples" / f"{name}.yaml").read_text())
    return entry | {
        key: f"{folder}/{Path(entry[key]).name}".lstrip("/") for key in ("table", "score")
    }


def small(one):
    """A model of a study, where boosting has one small size."""
    if "candidates" in one:
        return one | {"candidates": [small(each) for each in one["candidates"]]}
    boosted = one["model"] == "gradient_boosting"
    return one | ({"max_iter": 20, "max_leaf_nodes": 4} if boosted else {})


def quick(entry):
    """The config of a table with fewer fits than a person would want, of all methods."""
    made = (promised if "promises" in entry else own_study)(entry)
    models = [small(one) for one in made["models"]]
    return entry | {"study": {"models": models} | entry.get("study", {})}


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


def config_of_all():
    """All examples, and a log in a folder of parts, as one log and by partition."""
    config = {name: example(name) for name in EXAMPLES}
    # Fewer fits than a person would want.
    config["lender"] = quick(config["lender"])
    offered = [{"model": "offer_logistic"}, {"model": "logitboost"}]
    config["school"]["study"] = {"models": offered, "bootstrap": 5, "figures": ["curves"]}
    config["hiring"] = quick(config["hiring"] | {"study": {"repeats": 3}})
    config["parts"] = {
        "table": "mine/parts",
        "reward": "clicked",
        "propensity": "p_logged",
        "keep_rate": 0.1,
        "policies": {"new": "p_new", "best one": {"column": "best", "action": "shown"}},
    }
    config["in_parts"] = config["parts"] | {"by_partition": True}
    return {"tables": config, "one_file": True}


def placed(copy):
    """Several tables in one config: their results have the name of its file."""
    copy.results = copy.folder / "results/mine"
    return copy
