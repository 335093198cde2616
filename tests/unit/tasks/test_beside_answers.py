"""Labels to buy and rehearsals beside an answer: what fits together, and what a copy is told."""

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import config
from counterweight.plan.own import with_own_tables

TABLE = {"table": "t.csv", "id": "who", "outcome": "y"}


def planned(**given):
    asked = {"results": "r", "data": "d", "filter_key": "k"} | TABLE | given
    return config.resolve(with_own_tables(asked, asked))["studies"]["t"]


@pytest.mark.parametrize(
    ("given", "figures"),
    [
        ({"collect": {"budget": 9}}, {"collect", "gamma"}),
        ({"collected": "b.csv"}, set()),
        ({"collect": {"budget": 9}, "collected": "b.csv"}, {"collect"}),
    ],
)
def test_figures_are_of_what_is_bought_and_of_what_is_not_known(given, figures):
    shown = {*planned(**given)["figures"]}
    assert shown & {"collect", "gamma"} == figures


@pytest.mark.parametrize(
    "collect",
    [
        {"budget": 9},
        {"half_width": 0.02},
        {"budget": 9, "by": "city"},
        {"budget": 9, "for": "auc"},
        {"half_width": 0.02, "by": "city"},
        {
            "budget": 9,
            "by": "city",
            "for": "rates",
            "decision": "flag",
            "worth": {"true_positive": 2},
        },
    ],
)
def test_a_plan_that_fits_together_is_taken(collect):
    assert planned(collect=collect)["collect"].items() >= collect.items()


@pytest.mark.parametrize(
    ("collect", "given", "told"),
    [
        ({"by": "city"}, {}, "give one of the two"),
        ({"budget": 9, "half_width": 0.1}, {}, "give one of the two"),
        ({"budget": 9, "for": "auc", "by": "city"}, {}, "collect.by is of the mean"),
        ({"half_width": 0.1, "for": "auc"}, {}, "collect.half_width is of the mean"),
        ({"budget": 9, "for": "auc"}, {"outcome": {"column": "y", "kind": "number"}}, "of a class"),
        ({"budget": 9, "for": "rates"}, {}, "collect.decision names its column: give both"),
        ({"budget": 9, "decision": "flag"}, {}, "collect.decision names its column: give both"),
        ({"budget": 9, "worth": {"true_positive": 1}}, {}, "collect.for is not rates"),
        ({"budget": 9, "for": "rates", "decision": "y"}, {}, "which is the outcome or the id"),
        ({"half_width": 0.1, "for": "rates", "decision": "flag"}, {}, "half_width is of the mean"),
        ({"budget": 9, "by": "y"}, {}, "which is the outcome or the id"),
        ({"budget": 9, "cost": "who"}, {}, "which is the outcome or the id"),
        ({"budget": 9, "by": "city"}, {"columns": {"ignore": ["city"]}}, "keep one of the two"),
    ],
)
def test_what_does_not_fit_together_is_refused(collect, given, told):
    with pytest.raises(CounterweightError, match=told):
        planned(collect=collect, **given)


def test_a_mean_of_numbers_may_be_bought():
    outcome = {"column": "y", "kind": "number"}
    assert planned(collect={"budget": 9}, outcome=outcome)["collect"] == {"budget": 9}
