"""Every rule of the shipped claims moves with its numbers, and every claim says what it asks."""

from pathlib import Path

import pytest
import report_example
import report_filter
import report_offers
import report_rates
import report_subsampled
import yaml
from counterweight.reporting.claims import Measurements, decide_rule, load_claims

CLAIMS = Path(__file__).resolve().parents[3] / "workflow" / "claims"
RUNS = {
    "smith_elkan_2007": report_example,
    "mineiro_2010": report_subsampled,
    "noor_2014": report_offers,
    "deng_2023": report_filter,
    "goh_2016": report_rates,
}
#: Left sides are put to these times what they are, and moved by these.
FACTORS, MOVES = (1e-3, 1.0, 1e3), (-1e5, 0.0, 1e5)


def moved(metrics, rule, factor, move):
    """The metrics with other values where the left side of a rule is, and with those alone."""
    left = rule["left"] if isinstance(rule["left"], dict) else {"source": rule["left"]}
    side = {key: left.get(key, rule.get(key)) for key in ("study", "source", "metric")}
    at = (metrics["study"] == side["study"]) & (metrics["metric"] == side["metric"])
    own = at & (metrics["source"] == side["source"])
    if "draws" in {**rule, **left}:
        own = at & metrics["source"].str.startswith(side["source"])
    for key in ("measure", "setting", "part", "variable"):
        wanted = left.get(key, rule.get(key))
        if wanted and "*" not in wanted:
            own &= metrics[key] == wanted
    target = left.get("target", rule.get("target", ""))
    own &= metrics["target"] == target
    if "step" in left:
        own &= metrics["step"] == left["step"]
    return metrics.assign(value=metrics["value"].where(~own, factor * metrics["value"] + move))


@pytest.mark.parametrize("paper", RUNS)
def test_every_rule_moves_when_its_numbers_do(paper):
    run = RUNS[paper]
    plan = run.plan()
    metrics = run.metrics(plan)
    claims, _ = load_claims([CLAIMS / f"{paper}.yaml"])
    rules = [(claim["id"], rule) for claim in claims for rule in claim.get("decide", ())]
    known = [(name, rule) for name, rule in rules if rule["study"] in plan["studies"]]
    assert len(known) > len(rules) / 3
    stuck = []
    for name, rule in known:
        sides = (rule, *(one for one in (rule["left"], rule["right"]) if isinstance(one, dict)))
        asked = {key: {one[key] for one in sides if key in one} for key in ("study", "metric")}
        asked["metric"] |= {one["within"]["metric"] for one in sides if "within" in one}
        own = metrics[metrics["study"].isin(asked["study"])]
        own = own[own["metric"].isin(asked["metric"])]
        level = rule["right"] if not isinstance(rule["right"], (dict, str)) else middle(own, rule)
        changes = [(factor, 0.0) for factor in FACTORS] + [(1.0, move) for move in MOVES]
        changes.append((0.0, level))
        found = {
            decide_rule(rule, Measurements(moved(own, rule, *change)), plan, ())["verdict"]
            for change in changes
        }
        if found != {"cannot"} and len(found - {"cannot", "nothing"}) < 2:
            stuck.append((name, rule["label"], found))
    assert not stuck


def middle(metrics, rule):
    """Mean of the right side of a rule."""
    right = rule["right"] if isinstance(rule["right"], dict) else {"source": rule["right"]}
    own = metrics
    for key in ("study", "source", "metric", "measure", "setting", "part", "variable"):
        wanted = right.get(key, rule.get(key))
        if wanted and "*" not in wanted:
            own = own[own[key] == wanted]
    return float(own["value"].mean()) if len(own) else 0.0


@pytest.mark.parametrize("paper", RUNS)
def test_every_claim_has_a_condition_that_its_sentence_asks_for(paper):
    document = yaml.safe_load((CLAIMS / f"{paper}.yaml").read_text(encoding="utf-8"))
    for claim in document["claims"]:
        rules = claim.get("decide", ())
        assert "untestable" in claim or not all(rule.get("beside") for rule in rules), claim["id"]
        assert not any(rule.get("beside") and rule.get("identity") for rule in rules), claim["id"]
        # What a verdict depends on is asked of general statements alone.
        assert ("depends_on" in claim) <= (claim["asks"] == "general"), claim["id"]
        if claim["kind"] == "reproduction" and claim["asks"] == "all":
            core = [rule for rule in rules if not rule.get("beside")]
            assert core or "untestable" in claim
