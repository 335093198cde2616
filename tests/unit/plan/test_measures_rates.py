"""Texts about rates in a config: what is wrong with them is told before anything runs."""

import copy

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.plan.measures import check_rates
from counterweight.plan.mistakes import told


def method(**given):
    options = {
        name: node.get("default")
        for name, node in components.options("model", "constrained").items()
    }
    sweep = given.pop("sweep", None)
    return {"model": "constrained", "options": options | given, "sweep": sweep}


STUDY = {
    "labeling": {"rule": "everyone"},
    "samples": {"male": {}, "female": {}},
    "methods": {
        "svm": method(),
        "ramp": method(
            constraints=["coverage(male) <= coverage(female) / kappa"], sweep={"kappa": [0.5, 1.0]}
        ),
    },
    "evaluation": {
        "protocol": "rates",
        "options": {"measures": {"ratio": "coverage(male) / coverage(female)"}},
    },
}


def changed(change):
    study = copy.deepcopy(STUDY)
    change(study)
    return study


def constraint(text):
    return lambda s: s["methods"]["svm"]["options"].update(constraints=[text])


def evaluation(**options):
    return lambda s: s["evaluation"]["options"].update(options)


def test_a_sound_study_passes():
    check_rates("s", STUDY)
    check_rates("s", changed(constraint("recall(male) / 2 <= (0.1 + 0.2) * recall(female)")))
    check_rates("s", changed(constraint("coverage(male) / deployed_coverage(male) <= 1.2")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (constraint("coverage(male) / coverage(female) <= 1.2"), "svm, constraints: .*Dividing by"),
        (
            constraint("coverage(male) * coverage(female) <= 1"),
            "svm, constraints: .*product of the",
        ),
        (constraint("coverage(male) <= kappa"), "'kappa' has no value"),
        (
            lambda s: s["methods"]["ramp"]["sweep"].update(target=[0.1, 0.2]),
            "ramp: the sweep varies target, which none of its texts names .constraints, objective",
        ),
        (constraint("coverage(male) <= tolerance"), "'tolerance' has no value"),
        (constraint("coverage(mael) <= 1"), "did you mean male"),
        (
            lambda s: (s["labeling"].update(rule="deployed"), s["samples"].update(d1={})),
            "samples names 'd1', which the labeling rule deployed makes",
        ),
        (
            evaluation(measures={"gap": "coverage(male) - coverage(female) / kappa"}),
            "measures.gap: 'kappa' has no value",
        ),
        (evaluation(measures={"x": "recal(male)"}), "measures.x: .*did you mean recall"),
        (
            evaluation(asked={"measure": "rato", "option": "kappa", "form": "at_most"}),
            "evaluation.asked.measure is 'rato'.*did you mean ratio",
        ),
        (
            evaluation(equal={"measure": "ratio", "of": "error", "values": [2]}),
            "evaluation.equal.of is 'error'.*measures: ratio",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(change, message):
    with pytest.raises(CounterweightError, match=message):
        check_rates("s", changed(change))


def test_a_value_to_compare_at_stands_once():
    equal = {"measure": "ratio", "of": "error", "values": [0.5, 1, 1.0]}
    (sentence,) = told(components.options("protocol", "rates")["equal"], equal, ("equal",))
    assert "equal.values names something twice" in sentence


def test_a_measure_may_use_what_every_method_sweeps():
    study = changed(evaluation(measures={"gap": "coverage(male) - coverage(female) / kappa"}))
    del study["methods"]["svm"]
    check_rates("s", study)


@pytest.mark.parametrize(
    "name", ["constrained", "covariance_constraint", "group_thresholds", "shifted_threshold"]
)
def test_what_a_number_must_be_is_told_by_its_schema(name):
    """A choice of whole schemas would only say that none of them fits."""
    import jsonschema

    for option, node in components.options("model", name).items():
        if option in ("kappa", "penalty"):
            (told,) = jsonschema.Draft7Validator(node).iter_errors(0)
            assert "0 is less than or equal to the minimum of 0" in told.message
