"""Mistakes in studies of balanced filters are told before anything runs."""

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import config
from counterweight.plan.own import with_own_tables
from counterweight.plan.stages import Stages
from filter_plan import PEOPLE, applied, resolved


@pytest.mark.parametrize(
    ("method", "setting"),
    [("alpha_beta", "alpha=0.3"), ("alpha_beta", "alpha=0"), ("naive", "eta=0.5"), ("qp", "")],
)
def test_a_setting_of_the_method_is_taken(method, setting):
    plan = resolved(filter={"method": method, "setting": setting})
    assert plan["studies"]["people"]["filter"]["setting"] == setting
    assert applied(plan) == "people"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"method": "alpha_beta", "setting": "alpha=0.17"},
            "filter.setting is 'alpha=0.17', which alpha_beta does not have.*'alpha=0.1', ",
        ),
        ({"method": "alpha_beta", "setting": "alpha=0.30"}, "did you mean 'alpha=0.3'"),
        ({"method": "alpha_beta", "setting": "eta=0"}, "does not have"),
        ({"method": "naive", "setting": "alpha=0.1"}, "Its settings: 'eta=0', 'eta=0.5'"),
        ({"method": "qp", "setting": "eta=0"}, "Its settings: ''"),
        ({"method": "alphabeta", "setting": "alpha=0.1"}, "did you mean 'alpha_beta'"),
        ({"method": "alpha_beta", "setting": "alpha=0.1", "repeat": 2}, "has the repeats 0 to 1"),
        ({"method": "alpha_beta", "setting": 0.1}, "setting"),
        ({"method": "alpha_beta"}, "setting"),
    ],
)
def test_a_filter_that_is_none_is_told(given, said):
    with pytest.raises(CounterweightError, match=said):
        resolved(filter=given)


def test_a_method_without_weights_is_told():
    with pytest.raises(CounterweightError, match="naive has no weights.*add weights"):
        resolved(models=[{"model": "balanced_filter", "name": "naive"}])


def test_weightings_and_proxies_that_no_method_uses_are_left_out():
    study = resolved(models=PEOPLE["models"][2:])["studies"]["people"]
    assert list(study["weightings"]) == ["quadratic-grid"]
    assert list(study["selectors"]) == ["grid"]


@pytest.mark.parametrize("key", [1, True])
def test_groups_that_are_numbers_may_be_written_as_numbers(key):
    plan = resolved(target={key: 0.4, "other": 0.6})
    assert plan["studies"]["people"]["target"] == {str(key): 0.4, "other": 0.6}
    with pytest.raises(CounterweightError, match="studies.people.target names a group twice"):
        resolved(target={key: 0.5, str(key): 0.5})


def test_what_sees_the_groups_is_a_bound_and_never_given_away():
    parts = {
        "selection": [*PEOPLE["selection"], {"selector": "own_group"}],
        "models": [
            *PEOPLE["models"],
            {"model": "balanced_filter", "name": "seen", "weights": "quadratic"}
            | {"selector": "own_group"},
        ],
    }
    study = resolved(**parts)["studies"]["people"]
    assert study["methods"]["seen"]["role"] == "bound"
    assert study["main"] == "alpha_beta"
    with pytest.raises(CounterweightError, match="sees everybody's group"):
        resolved(**parts, filter={"method": "seen", "setting": ""})


def test_limits_of_a_table_of_ones_own_reach_the_optimisation_and_the_card(tmp_path):
    (tmp_path / "own.csv").write_text("who,town,group\n1,a,x\n2,b,y\n")
    given = {"table": str(tmp_path / "own.csv"), "name": "mine", "id": "who", "balance": "group"}
    limits = {"min_acceptance_rate": 0.2, "max_distortion": 0.1}
    plan = config.resolve(with_own_tables(given | limits, {}))
    study = plan["studies"]["mine"]
    assert limits.items() <= study["weightings"]["quadratic-leaves_25"]["options"].items()
    told = Stages(plan, "scripts").job("deliver", "mine", "").given["max_distortion"]
    assert told == {"leaves_10": 0.1, "leaves_25": 0.1}
    assert study["filter"]["min_cell_count"] == 10 and study["filter"]["certified"]["alpha"] == 0.1
    with pytest.raises(CounterweightError, match="max_distortion"):
        config.check(with_own_tables(given | {"max_distortion": 2}, {}))
