"""What is told of the rates that a study measures: by their expressions, never by their names."""

import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.rates.language import parse_expression
from counterweight.plan import measures


@pytest.mark.parametrize(
    ("text", "label", "fields"),
    [
        ("coverage(d2)", "coverage on d2", {"unit": "share", "percent": True, "better": ""}),
        ("error(everyone)", "error", {"unit": "share", "percent": True, "better": "less"}),
        ("recall(d1)", "recall on d1", {"unit": "share", "percent": True, "better": "more"}),
        ("wins(d2)", "wins on d2", {"unit": "rows", "better": "more", "digits": 0}),
        ("losses(d2)", "losses on d2", {"unit": "rows", "better": "less", "digits": 0}),
        (
            "coverage(male) / coverage(female)",
            "coverage ratio, male to female",
            {"unit": "", "better": "", "bounds": [0, None]},
        ),
        (
            "recall(male) - recall(everyone)",
            "recall difference, male minus everyone",
            {"unit": "share", "percent": True, "better": "", "bounds": [-1, 1]},
        ),
        (
            "error(male) + error(female)",
            "error(male) + error(female)",
            {"unit": "", "better": "less"},
        ),
        ("error(male) + recall(male)", None, {"unit": "", "better": ""}),
        ("wins(male) + wins(female)", None, {"unit": "", "better": ""}),
        ("wins(d2) - losses(d2)", None, {"unit": "", "better": ""}),
    ],
)
def test_a_rate_is_told_by_its_expression(text, label, fields):
    tree = parse_expression(text)
    assert measures.fields_of(tree) == fields
    assert measures.label_of(tree, text) == (label or text)


def test_meanings_name_the_rows_and_every_rate_once():
    def meaning(text):
        return measures.meaning_of(parse_expression(text), text)

    assert meaning("precision(d2)") == "Share of the positive answers that are right, on d2"
    assert meaning("coverage(everyone)") == "Share of rows that get the positive answer"
    assert meaning("error(d1) / error(d2)") == (
        "The value of error(d1) / error(d2); error: share of rows that get the wrong answer"
    )


def study(constraint, **rates):
    method = {"options": {"constraints": [constraint]}}
    return {"methods": {"m": method}, "evaluation": {"options": {"measures": rates}}}


@pytest.mark.parametrize(
    ("constraint", "form"),
    [
        ("coverage(male) <= coverage(female) / kappa", ("ratio", "kappa", "at_most_inverse")),
        ("coverage(female) >= kappa * coverage(male)", ("ratio", "kappa", "at_most_inverse")),
        ("error(everyone) <= bound", ("wrong", "bound", "at_most")),
        ("recall(male) >= bound", ("found", "bound", "at_least")),
        ("coverage(female) <= kappa * coverage(male)", None),
        ("coverage(male) >= coverage(female) / kappa", None),
        ("error(everyone) <= 0.1", None),
        ("error(male) <= bound", None),
    ],
)
def test_what_is_asked_of_a_measure_is_read_from_the_constraints(constraint, form):
    rates = {"ratio": "coverage(male) / coverage(female)", "wrong": "error(everyone)"}
    asked = measures.asked_of(study(constraint, found="recall(male)", **rates))
    assert asked == (form and dict(zip(("measure", "option", "form"), form, strict=True)))


def test_a_measure_is_declared_in_one_way():
    known = {"auc": {"label": "area"}}
    measures._add(known, {"auc": {"label": "area"}, "brier": {"label": "b"}}, "here")
    assert list(known) == ["auc", "brier"]
    with pytest.raises(CounterweightError, match="here declares the metric 'auc' again"):
        measures._add(known, {"auc": {"label": "other"}}, "here")


def test_a_rate_has_metrics_of_decisions_and_of_what_does_not_carry_over():
    told = measures.of_any_rates({"wrong": "error(d1)", "odd": "error(d1"})
    assert list(told) == [f"{metric} of wrong" for metric in measures.OF_RATE]
    gap = told["gap of wrong"]
    assert (gap["better"], gap["bounds"]) == ("", [-1, 1])
    assert told["deterministic of wrong"]["label"] == "deterministic error on d1"
    counted = measures.of_any_rates({"won": "wins(d1)"})["gap of won"]
    assert counted["bounds"] == [None, None]
