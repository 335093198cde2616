"""Every shipped rule moves with its numbers, and the verdict of its claim with the rule."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
import yaml
from counterweight.plan.config import resolve
from counterweight.plan.reading import with_listed_studies
from counterweight.reporting import claims
from counterweight.reporting.claim_quantities import Measurements, draws_of
from counterweight.reporting.claims import decide_rule, judged, load_claims
from counterweight.reporting.report_jobs import report_plan
from counterweight.tables.parquet import PLACE, metrics_table

ROOT = Path(__file__).resolve().parents[3]
CLAIMS = sorted((ROOT / "workflow" / "claims").glob("*.yaml"))
CLAIMED = load_claims(CLAIMS)[0]
#: What left sides are put to, as times the right side and as far from it.
FACTORS, MOVES = (1e-3, 1.0, 1e3), (-1e5, 0.0, 1e5)
SIDE = ("source", "metric", "target", *PLACE, "draws", "within", "distance_to", "study", "option")


@pytest.fixture(scope="module")
def standard():
    """The plan of the standard run, as the report has it."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    return report_plan(resolve(with_listed_studies(config, {}, ROOT / "workflow" / "studies")))


def side_of(rule, name):
    """A side with what the rule says of both; None of a number."""
    side = {"source": rule[name]} if isinstance(rule[name], str) else rule[name]
    return {**{k: rule[k] for k in SIDE if k in rule}, **side} if isinstance(side, dict) else None


def records(side, plan, value):
    """Measurements of one side at this value, in ten repeats and in each draw that it asks for."""
    place = {key: side[key] for key in PLACE if key in side}
    place |= {k: v.replace("*", "0.1") for k, v in place.items() if isinstance(v, str)}
    value, spread = value + side.get("distance_to", 0), side.get("draws") == "spread"
    if "option" in side:
        place["setting"] = f"{side['option']}=0.1"
    told = {side["metric"]: value}
    if "within" in side:
        told[side["within"]["metric"]] = -1.0  # below all limits
    return [
        {"study": side["study"], "source": source, "repeat": repeat, "target": side["target"]}
        | {"metric": metric, "value": 0.0 if at and spread else number, **place}
        for at, source in enumerate(draws_of(side, plan))
        for metric, number in told.items()
        for repeat in range(10)
    ]


def over_sets(rule, plan):
    """What a rule comes to that goes by the data sets of a benchmark, as its table is moved."""
    made = {}
    table = pd.read_csv(claims.KEPT / f"{rule['benchmark']}_pairs.csv")
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "KEPT", Path(folder))
        for verdict in ("holds", "undecided", "does not hold"):
            table.assign(verdict=verdict).to_csv(f"{folder}/{rule['benchmark']}_pairs.csv")
            outcome = decide_rule(rule, None, plan, ())
            made[outcome["verdict"]] = outcome
    return made


def outcomes_of(rule, plan):
    """What a rule comes to by verdict, as the left side is moved until it holds and fails."""
    if "benchmark" in rule:
        return over_sets(rule, plan)
    left, right = side_of(rule, "left"), side_of(rule, "right")
    level = 0.1 if right and "option" in right else 0.5 if right else float(rule["right"])
    made = {}
    values = [level * factor for factor in FACTORS] + [level + move for move in MOVES]
    for value in values:
        asked = {"option": right["option"]} if right and "option" in right else {}
        rows = records({"target": "", **left, **asked}, plan, value)
        if right and not asked:
            rows += records({"target": "", **right}, plan, level)
        measured = Measurements(metrics_table("", "", rows).to_pandas())
        outcome = decide_rule(rule, measured, plan, ())
        made.setdefault(outcome["verdict"], outcome)
        if {"holds", "fails"} <= {*made}:
            break
    return made


@pytest.mark.parametrize("claim", CLAIMED, ids=[claim["id"] for claim in CLAIMED])
def test_a_verdict_moves_with_the_numbers_of_each_rule(claim, standard):
    if "untestable" in claim:
        assert len(claim["untestable"]) > 20
        return
    moved = [outcomes_of(rule, standard) for rule in claim["decide"]]
    stuck = [
        one["label"]
        for one, m in zip(claim["decide"], moved, strict=True)
        if not {"holds", "fails"} <= {*m}
    ]
    assert not stuck
    held = [outcome["holds"] for outcome in moved]
    before = judged(claim, held)
    built = all(one["counts"] != "core" for one in held)
    assert before == ("holds by construction" if built else "holds")
    counted = {one["label"] for one in held if one["counts"] != "beside"}
    for at, outcome in enumerate(moved):
        after = judged(claim, [*held[:at], outcome["fails"], *held[at + 1 :]])
        others = {o["label"] for o in held if o["counts"] == "core"} - {outcome["fails"]["label"]}
        if outcome["fails"]["counts"] == "beside":
            assert after == before
        elif claim["asks"] in ("all", "both"):
            assert after == "does not hold"
        else:
            assert (after == "does not hold") == (not others)
    lost = [o if o["counts"] == "beside" else m["fails"] for o, m in zip(held, moved, strict=True)]
    assert counted and judged(claim, lost) == "does not hold"


def test_every_claim_has_a_condition_that_its_sentence_asks_for():
    for claim in CLAIMED:
        rules = claim.get("decide", ())
        assert "untestable" in claim or not all(rule.get("beside") for rule in rules), claim["id"]
        assert not any(rule.get("beside") and rule.get("identity") for rule in rules), claim["id"]
        # What a verdict depends on is asked of general statements alone.
        assert ("depends_on" in claim) <= (claim["asks"] == "general"), claim["id"]
        if claim["kind"] == "reproduction" and claim["asks"] == "all":
            core = [rule for rule in rules if not rule.get("beside")]
            assert core or "untestable" in claim
