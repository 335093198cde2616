"""The listing of parts in a terminal: which fit which, and what their options allow."""

import pytest
from counterweight import options
from counterweight.plan import components


def test_the_overview_says_which_parts_fit_which():
    text = "\n".join(options.overview())
    for kind in components.registry("task"):
        own, borrowed = options.fitting(kind)
        assert own["labeling"] and own["model"] and own["protocol"]
        for names in (*own.values(), *borrowed.values()):
            assert all(name in text for name in names)
    # What does not fit is not named: a filter's weighting for classifiers, and the other way.
    assert "quadratic" not in options.fitting("classification")[0]["weighting"]
    assert options.fitting("filter")[0]["weighting"] == ["equal", "quadratic", "relaxed"]
    assert "no_outcome" not in options.fitting("offers")[0]["outcome"]
    assert "lemma1" in options.fitting("missing_outcomes")[1]["weighting"]


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"enum": ["one", 2]}, "one of one, 2"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "whole number from 1 to 9"),
        ({"type": ["number", "null"], "exclusiveMinimum": 0}, "number above 0 or null"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "list of: one of a, b"),
        ({"type": "boolean"}, "true or false"),
        ({"anyOf": [{"enum": ["all"]}, {"type": "array"}]}, "one of all, or list"),
        ({"type": ["number", "string"], "pattern": "^(all|some)$"}, "number or all, some"),
        ({}, ""),
    ],
)
def test_what_an_option_allows_is_said_in_words(node, words):
    assert options.allowed(node) == words


def test_parts_are_asked_for_by_name(capsys):
    assert options.main(["shimodaira"]) == 0
    assert "shimodaira (for studies of classifiers)" in capsys.readouterr().out
    assert options.main(["metric"]) == 0
    assert "  auc" in capsys.readouterr().out
    assert options.main(["shimodara"]) == 1
    assert "did you mean 'shimodaira'?" in capsys.readouterr().out


def test_more_of_what_an_option_allows_in_words():
    assert options.allowed({"type": "string", "pattern": "^[a-z]+$"}) == "text"
    assert options.allowed({"type": "string", "pattern": "^(all|some)$"}) == "all, some"
    assert options.allowed({"type": "array"}) == "list"
    assert options.allowed({"x-component": "selector"}) == "a selector by its name"
    told = options.allowed({"x-component-with-options": ["learner", "by"]})
    assert told == "`by`: a learner by its name, with its options"
    among = {"exclusiveMinimum": 0, "exclusiveMaximum": 1}
    assert options.allowed({"type": "number"} | among) == "number above 0 below 1"


def test_what_is_left_out_has_a_default_or_is_needed():
    assert options.default_of({"default": 0.5}) == "default 0.5"
    assert options.default_of({"default": None}) == "default null"
    assert options.default_of({"default": ""}) == "default empty"
    assert options.default_of({}) == "needed" and options.default_of({}, needed=False) == ""


def test_options_within_options_stand_to_the_right_and_only_needed_ones_are_called_so():
    within = {"properties": {"c": {"type": "number"}, "d": {"type": "number"}}, "required": ["d"]}
    node = {"a": {"type": "array", "items": within, "default": [], "description": "Of b."}}
    assert [*options._options(node, 6)] == [
        "      a (list; default []): Of b.",
        "          c (number)",
        "          d (number; needed)",
    ]


def test_the_overview_is_narrow_and_says_what_is_borrowed_once(capsys):
    assert options.main([]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= options.WIDTH
    assert text.count("\n  labeling ") == len(components.registry("task"))
    takes = [one for task in components.registry("task") for one in options.fitting(task)[1]]
    assert text.count("also, where") == len(takes) > 0


def test_a_part_that_goes_with_every_task_names_none():
    assert options.words_of("outcome", "no_outcome") != ""
    assert options.words_of("metric", "auc") == "" and options.words_of("dataset", "adult") == ""
    (first, name, *_) = options.described("metric", ["auc"])
    assert (first, name) == ("metric", "  auc")
