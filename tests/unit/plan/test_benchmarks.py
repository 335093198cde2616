"""The studies that a benchmark spells out."""

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import benchmarks
from counterweight.plan.benchmarks import studies_of


def test_words_stand_in_studies_and_an_unknown_one_is_refused():
    benchmark = {
        "study": {"dataset": "{set}", "outcome": {"rule": "equals", "value": "{positive}"}},
        "sets": {"a": {"words": {"positive": 1}}, "b": {"study": {"outcome": {"rule": "other"}}}},
        "conditions": {"c": {}, "d": {"study": {"repeats": 2}}},
    }
    found = [*studies_of("x", benchmark)]
    assert [one[:2] for one in found] == [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]
    # A word that stands alone keeps its type; another rule begins with none of the old options.
    assert found[0][2] == {"dataset": "a", "outcome": {"rule": "equals", "value": 1}}
    assert found[3][2] == {"dataset": "b", "outcome": {"rule": "other"}, "repeats": 2}
    # A condition has words, too.
    spoken = benchmark | {"sets": {"b": {}}, "conditions": {"c": {"words": {"positive": 2}}}}
    assert [*studies_of("x", spoken)][0][2]["outcome"] == {"rule": "equals", "value": 2}
    benchmark["sets"]["b"] = {}
    with pytest.raises(CounterweightError, match="data set b, condition c: '{positive}'"):
        [*studies_of("x", benchmark)]


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("{a}", 1),
        ("{a} of {b}", "1 of two"),
        ("plain", "plain"),
        ("{a}}", None),
        (["{b}", 3], ["two", 3]),
        ({"{b}": "{a}"}, {"two": 1}),
    ],
)
def test_words_in_braces_are_filled_in_wherever_they_stand(part, told):
    words = {"a": 1, "b": "two"}
    if told is None:
        with pytest.raises(CounterweightError, match="names a word that neither has"):
            benchmarks._filled(part, words, "here")
    else:
        assert benchmarks._filled(part, words, "here") == told


def test_changes_go_key_by_key_and_a_rule_begins_anew():
    study = {"repeats": 1, "labeling": {"rule": "a", "share": 0.5}}
    changed = benchmarks._changed(study, {"labeling": {"share": 0.2}, "repeats": 3})
    assert changed == {"repeats": 3, "labeling": {"rule": "a", "share": 0.2}}
    other = benchmarks._changed(study, {"labeling": {"rule": "b"}})
    assert other == {"repeats": 1, "labeling": {"rule": "b"}}
    assert study["labeling"] == {"rule": "a", "share": 0.5}
