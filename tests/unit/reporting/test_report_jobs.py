"""The part of the plan that the report shows."""

import pytest
from counterweight.reporting import report_jobs as jobs


def plan(*studies, families=()):
    known = {f"s{k}": {"family": family} for k, family in enumerate(studies)}
    return {"studies": known, "families": dict(families), "datasets": {}}


def test_families_have_the_title_that_is_given_or_their_name():
    titles = {"b": {"title": "Beta", "question": "Why?"}}
    found = jobs.families_of(plan("a_b", "b", jobs.OWN_FAMILY, "a_b", families=titles.items()))
    assert list(found) == ["a_b", "b", jobs.OWN_FAMILY]
    assert found["a_b"] == {"title": "A b", "question": ""}
    assert found["b"] == titles["b"] and found[jobs.OWN_FAMILY]["title"] == "Your studies"


@pytest.mark.parametrize(
    ("sources", "told"),
    [(["own"], False), (["own", "generated"], True), (["download"], True), ([], False)],
)
def test_claims_are_decided_where_not_all_is_about_ones_own_tables(sources, told):
    datasets = {str(k): {"source": source} for k, source in enumerate(sources)}
    assert jobs.has_ledger({"datasets": datasets}) == told
    found = jobs._claims({"datasets": datasets})
    assert bool(found["claims"]) == told and bool(found["schema"]) == told
    assert all(path.endswith(".yaml") for path in found["claims"])


def test_claims_name_studies_that_are_listed():
    named = jobs.claimed()
    assert {"adult_married", "ca_coastal"} <= named and len(named) > 10


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"model": "logistic"}, "Logistic regression"),
        ({"model": "constrained", "loss": "hinge"}, "("),
        ({"model": "logistic", "l2": 3.0}, "Logistic regression"),
    ],
)
def test_a_candidate_is_told_by_its_model_and_choices_that_are_not_the_usual(entry, told):
    text = jobs._candidate(entry)
    assert told in text and ", {" not in text and "l2" not in text
