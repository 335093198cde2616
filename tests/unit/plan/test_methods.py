"""The methods of a study: what they begin from, their draws, sweeps and labels."""

import copy
import itertools

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import config
from counterweight.plan.methods import begun_from, same_fits, spelled_out
from counterweight.reporting.report_jobs import study_plan
from small_config import SMALL, changed


def test_models_that_begin_from_others_bring_them_along():
    methods = config.resolve(SMALL)["studies"]["one"]["methods"]
    assert list(methods) == ["logistic", "shifted_mixture", "generative", "generative-lemma2"]
    assert methods["shifted_mixture"]["starts"] == {
        "labeled": "generative",
        "unlabeled": "generative-lemma2",
    }
    assert not methods["generative"]["reported"]


def test_model_defaults_reach_every_use():
    made = copy.deepcopy(SMALL) | {"model_defaults": {"generative": {"n_init": 3}}}
    methods = config.resolve(made)["studies"]["one"]["methods"]
    assert methods["generative-lemma2"]["options"]["n_init"] == 3


def test_model_defaults_reach_models_within_models_whose_own_options_come_first():
    plan = {"model_defaults": {"logistic": {"l2": 7.0, "max_iter": 9}}}
    told = {"candidates": [{"model": "logistic"}, {"model": "logistic", "l2": 2.0}]}
    first, second = spelled_out("chosen", told, plan)["candidates"]
    assert (first["l2"], second["l2"]) == (7.0, 2.0)
    (plain, _) = spelled_out("chosen", told, {"model_defaults": {}})["candidates"]
    assert plain["l2"] != 7.0 and plain.keys() == first.keys()


def ordered(*models):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"]["models"] = [{"model": "logistic"}, *models]
    return config.resolve(made)["studies"]["one"]["methods"]


@pytest.mark.parametrize(
    "order", list(itertools.permutations(["shifted_mixture", "generative", "generative-lemma2"]))
)
def test_models_may_be_listed_in_any_order(order):
    entries = {
        "shifted_mixture": {"model": "shifted_mixture"},
        "generative": {"model": "generative"},
        "generative-lemma2": {"model": "generative", "weights": "lemma2"},
    }
    methods = ordered(*(entries[name] for name in order))
    assert list(methods) == ["logistic", *order]
    assert all(method["reported"] for method in methods.values())
    assert set(methods["shifted_mixture"]["starts"].values()) == {"generative", "generative-lemma2"}


def test_draws_are_further_fits_that_stand_in_no_table():
    made = changed(
        "studies",
        "one",
        "models",
        value=[
            {"model": "shifted_mixture", "draws": 3},
            {"model": "generative", "draws": 3},
            {"model": "generative", "weights": "lemma2", "draws": 2},
            {"model": "generative", "draw": 1, "name": "redrawn"},
        ],
    )
    study = config.resolve(made)["studies"]["one"]
    methods = study["methods"]
    # The second draw is listed by itself, and not fitted again.
    assert methods["generative"]["draws"] == ["generative", "redrawn", "generative-draw-2"]
    assert [methods[name]["options"]["draw"] for name in methods["generative"]["draws"]] == [
        0,
        1,
        2,
    ]
    one, two = (methods[name] for name in methods["shifted_mixture"]["draws"][1:])
    assert one["starts"] == {"labeled": "redrawn", "unlabeled": "generative-lemma2-draw-1"}
    assert two["starts"]["labeled"] == "generative-draw-2"
    third = methods[two["starts"]["unlabeled"]]
    assert (third["weights"], third["options"]["draw"]) == ("lemma2-logistic", 2)
    assert not third["reported"], "it is a start and nothing else"
    assert two["reported"] and two["draw_of"] == "shifted_mixture"
    shown = study_plan(study)
    assert [method["id"] for method in shown["methods"]] == [
        *("shifted_mixture", "generative", "generative-lemma2", "redrawn")
    ]
    assert shown["draws"]["generative-lemma2"] == ["generative-lemma2", "generative-lemma2-draw-1"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": [{"model": "logistic", "draws": 2}]}, "nothing in the model logistic begins"),
        (
            {
                "labeling": {"rule": "offered"},
                "selection": [],
                "weighting": [],
                "outcome": {"rule": "accepts", "column": "label"},
                "evaluation": {"protocol": "offers"},
                "models": [{"model": "logitboost", "draws": 2}],
            },
            "draws has no meaning",
        ),
    ],
)
def test_what_has_no_draws_is_told(changes, message):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"] |= changes
    with pytest.raises(CounterweightError, match=message):
        config.resolve(made)


def test_a_start_with_too_few_repeats_is_not_used():
    methods = ordered({"model": "generative", "repeats": 1}, {"model": "shifted_mixture"})
    assert methods["generative"]["repeats"] == 1
    start = methods["shifted_mixture"]["starts"]["labeled"]
    assert start == "generative-start-of-shifted_mixture"
    assert methods[start]["repeats"] == 10


def test_the_selector_of_a_shifted_mixture_reaches_its_start():
    made = copy.deepcopy(SMALL)
    made["studies"]["one"]["selection"].append({"selector": "gradient_boosting"})
    made["studies"]["one"]["models"][1]["selector"] = "gradient_boosting"
    methods = config.resolve(made)["studies"]["one"]["methods"]
    start = methods["shifted_mixture"]["starts"]["unlabeled"]
    assert methods[start]["weights"] == "lemma2-gradient_boosting"


def test_the_main_method_is_the_one_that_is_named_or_the_first_that_is_no_baseline():
    def roles(**changes):
        made = copy.deepcopy(SMALL)
        made["studies"]["one"] |= changes
        study = config.resolve(made)["studies"]["one"]
        return study["main"], {name: one["role"] for name, one in study["methods"].items()}

    main, known = roles()
    assert main == "shifted_mixture"
    assert (known["logistic"], known["shifted_mixture"]) == ("baseline", "main")
    main, known = roles(main="logistic", baseline="shifted_mixture")
    assert main == "logistic"
    assert (known["logistic"], known["shifted_mixture"]) == ("main", "baseline")


def test_labels_that_are_alike_have_the_names_behind_them():
    methods = ordered(
        {"model": "logistic", "name": "twin"}, {"model": "logistic", "name": "third", "l2": 3}
    )
    labels = [method["label"] for method in methods.values()]
    assert labels[0].endswith("[logistic]") and labels[1].endswith("[twin]")
    assert labels[2] == "Logistic regression (l2 = 3)"
    same = ({"model": "logistic", "name": one, "label": "Same"} for one in ("twin", "third"))
    told = ordered(*same)
    assert [method["label"] for method in told.values()][1:] == ["Same [twin]", "Same [third]"]


def test_answers_are_made_of_those_of_a_method_with_the_same_fits_and_no_fewer_repeats():
    sweep = {"keep_rate": [1.0, 0.1]}
    plain = {"model": "subsampled", "correction": "none", "sweep": sweep}
    prior = plain | {"correction": "prior", "name": "prior"}

    def found(*models, targets=("general",)):
        made = copy.deepcopy(SMALL)
        made["studies"]["one"] |= {"models": [{"model": "logistic"}, *models]}
        study = config.resolve(made)["studies"]["one"] | {"targets": list(targets)}
        assert begun_from(study, "prior") == same_fits(study, "prior")
        return same_fits(study, "prior")

    assert found(plain | {"name": "plain"}, prior) == ["plain"]
    others = (
        {"learner": "boosting"},
        {"repeats": 1},
        {"sweep": {"keep_rate": [0.1]}},
        {"correction": "spline"},
    )
    for other in others:
        assert found(plain | {"name": "plain"} | other, prior) == []
    assert found(plain | {"name": "plain"}, prior, targets=("general", "unlabeled")) == []
    # Without a sweep all of a fit is kept.
    plain, prior = ({k: v for k, v in one.items() if k != "sweep"} for one in (plain, prior))
    assert found(plain | {"name": "plain"}, prior) == []
