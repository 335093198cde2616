"""What answers rest on is declared by each weighting; nothing finds it by a name."""

import pytest
from counterweight.plan import components
from counterweight.plan.components import assumed, declared_assumption

#: Weightings that a table with blank outcomes can use.
USABLE = sorted(
    name
    for name in components.registry("weighting")
    if components.task_of("weighting", name) in ("classification", "missing_outcomes")
)


@pytest.mark.parametrize("name", USABLE)
def test_each_weighting_for_blanks_says_what_it_rests_on(name):
    options = {
        option: node.get("default") or "distance"
        for option, node in components.options("weighting", name).items()
    }
    made = assumed(declared_assumption(name), options, "the people of new.csv")
    assert made["if"].startswith("If ") and made["if"][-1].isalnum()
    assert made["rests"].endswith(".") and "Nothing in the table can show" in made["rests"]
    assert "{" not in "".join(made.values())


def test_weights_by_what_no_column_shows_name_their_instrument():
    made = assumed(declared_assumption("heckman"), {"exclusion": "distance", "target": "general"})
    assert made["if"].startswith('If "distance" has no part in the outcome given the other columns')
    assert "jointly normal" in made["if"] and "missing at random" not in "".join(made.values())


def test_chosen_columns_are_named():
    pair = declared_assumption("rosset")
    assert assumed(pair, {"features": []})["if"].endswith(
        "goes by the outcome alone, in logistic form"
    )
    made = assumed(pair, {"features": ["age", "job"]})["if"]
    assert made.endswith('by the outcome and "age" and "job" alone, in logistic form')


def test_without_weights_labels_are_missing_at_random_but_for_models_that_say_more():
    assert declared_assumption() == declared_assumption("lemma2") == declared_assumption("bickel")
    assert declared_assumption()[0] == "If labels are missing at random"
    assert "times one factor" in declared_assumption("lemma1", "tilted")[0]
    assert declared_assumption("heckman", "logistic") == declared_assumption("heckman")


def test_those_of_another_table_are_named():
    made = assumed(declared_assumption("to_target"), {"table": "new.csv"}, "the people of new.csv")
    assert made["if"].startswith(
        "If the outcomes of the people of new.csv are like those of labeled"
    )
