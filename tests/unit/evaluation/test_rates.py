"""Rates as an evaluation protocol: known rates, their errors, what a fit says of itself."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics import accuracy, auc
from counterweight.evaluation.rates import (
    CASES,
    _slope_records,
    at_equal,
    bound_records,
    evaluate_rates,
    fit_records,
    paper_cases,
    sign_test_power,
    sign_test_rows,
)
from records import where
from scipy.stats import binomtest

MEASURES = {"error": "error(everyone)", "ratio": "coverage(male) / coverage(female)"}
SETTINGS = ["kappa=0.5", "kappa=1.0"]


def tables(p, y, members, deployed=None, settings=("",)):
    """Predictions and truth of one repeat; p is (settings, rows)."""
    p = np.atleast_2d(p)
    many, rows = p.shape
    predictions = {
        "repeat": np.zeros(many * rows, int),
        "row": np.tile(np.arange(rows), many),
        "target": (np.zeros(many * rows, int), ["general"]),
        "setting": (np.repeat(np.arange(many), rows), list(settings)),
        "p": p.ravel(),
    }
    truth = {"repeat": np.zeros(rows, int), "row": np.arange(rows), "y_general": np.asarray(y)}
    truth |= {f"in_{name}": np.asarray(mask) for name, mask in members.items()}
    if deployed is not None:
        truth["deployed"] = np.asarray(deployed, float)
    return predictions, truth


@pytest.fixture(scope="module")
def small():
    """Ten rows: six men, of whom three get a yes; four women, of whom one does."""
    male = np.array([1, 1, 1, 1, 1, 1, 0, 0, 0, 0], bool)
    p = np.array([0.9, 0.8, 0.6, 0.5, 0.1, 0.0, 1.0, 0.4, 0.2, 0.2])
    y = np.array([1, 1, 0, 1, 0, 0, 1, 0, 0, 1])
    return p, y, {"male": male, "female": ~male}


def value(records, metric, *place, target="general", column="value"):
    """One number; a `place` begins with the measure, if the metric is of one."""
    (found,) = [
        record[column]
        for record in records
        if record["metric"] == metric and record["target"] == target and where(record) == place
    ]
    return found


def test_rates_of_both_rules_are_the_counted_ones(small):
    p, y, members = small
    records = evaluate_rates(*tables(p, y, members), {"accuracy": accuracy}, measures=MEASURES)
    # A score of exactly 0 (p = 1/2) is a no, for the accuracy as well.
    assert value(records, "deterministic", "error") == pytest.approx(3 / 10)
    assert value(records, "accuracy") == pytest.approx(1 - 3 / 10)
    assert value(records, "deterministic", "ratio") == pytest.approx((3 / 6) / (1 / 4))
    wrong = np.where(y == 1, 1 - p, p)
    assert value(records, "randomised", "error") == pytest.approx(wrong.mean())
    assert value(records, "randomised", "ratio") == pytest.approx((2.9 / 6) / (1.8 / 4))


def test_standard_errors_are_binomial_and_those_of_a_ratio_of_independent_rates(small):
    p, y, members = small
    measures = MEASURES | {"cover": "coverage(male)"}
    records = evaluate_rates(*tables(p, y, members), {}, measures=measures)

    def error(metric, measure):
        return value(records, metric, measure, column="standard_error")

    assert error("deterministic", "error") == pytest.approx(np.sqrt(0.3 * 0.7 / 10))
    assert error("deterministic", "cover") == pytest.approx(np.sqrt(0.25 / 6))
    assert error("randomised", "cover") == pytest.approx(np.std(p[:6]) / np.sqrt(6))
    relative = (0.25 / 6) / 0.5**2 + (0.25 * 0.75 / 4) / 0.25**2
    assert error("deterministic", "ratio") == pytest.approx(2 * np.sqrt(relative))


def test_a_ratio_to_nothing_is_no_number(small):
    _, y, members = small
    records = evaluate_rates(*tables(np.zeros(10), y, members), {}, measures=MEASURES)
    assert np.isnan(value(records, "deterministic", "ratio"))
    assert value(records, "deterministic", "error") == pytest.approx(0.5)


def test_training_values_are_the_models_and_gaps_are_test_minus_training(small):
    p, y, members = small
    arrays = {"train_measures": np.array([[0.1, 0.2], [1.5, 1.6]])}
    records = evaluate_rates(
        *tables(p, y, members), {}, measures=MEASURES, models={(0, "general"): arrays}
    )
    assert value(records, "deterministic", "error", target="train") == 0.1
    assert value(records, "randomised", "ratio", target="train") == 1.6
    tested = value(records, "randomised", "ratio")
    assert value(records, "gap", "ratio") == pytest.approx(tested - 1.6)
    # What is known of the rows of the fit is no chance: the error is that of the test value.
    errors = {
        one["metric"]: one["standard_error"]
        for one in records
        if one.get("measure") == "ratio" and one.get("target") != "train"
    }
    assert errors["gap"] == errors["randomised"] > 0


def test_a_measure_named_objective_takes_nobodys_name(small):
    p, y, members = small
    models = {
        (0, "general"): {
            "objective": np.array([1.0, 0.5]),
            "multipliers": np.zeros((1, 1)),
            "violations": np.zeros((2, 1)),
            "gap": np.array([1e-4]),
            "feasible": np.array([1.0]),
            "penalty": np.array([0.1]),
            "coefficient_norm": np.array([1.0]),
            "train_measures": np.array([[0.3, 0.4]]),
        }
    }
    records = evaluate_rates(
        *tables(p, y, members), {}, measures={"objective": "error(everyone)"}, models=models
    )
    keys = [
        (record.get("repeat"), record.get("target"), record["metric"], where(record))
        for record in records
    ]
    assert len(set(keys)) == len(keys)


def test_training_values_belong_to_their_setting(small):
    p, y, members = small
    arrays = {("train_measures", name): np.full((2, 2), k + 1.0) for k, name in enumerate(SETTINGS)}
    records = evaluate_rates(
        *tables(np.stack([p, p]), y, members, settings=SETTINGS),
        {},
        measures=MEASURES,
        models={(0, "general"): arrays},
    )
    for k, name in enumerate(SETTINGS):
        assert value(records, "randomised", "error", name, target="train") == k + 1.0


def test_interpolation_at_equal_values_is_exact_on_a_line():
    x = np.array([3.0, 1.0, 2.0, np.nan])
    found = at_equal(x, 10 - 2 * x, [1.0, 1.3, 2.75, 0.9, 3.1])
    assert found[:3] == pytest.approx([8.0, 7.4, 4.5])
    assert np.isnan(found[3:]).all()
    assert at_equal([2.0, 2.0], [1.0, 3.0], [2.0])[0] == 2.0
    assert np.isnan(at_equal([np.nan], [1.0], [1.0])).all()


def test_equal_ratios_are_compared_within_a_repeat(small):
    _, y, members = small
    first = np.array([1, 1, 1, 1, 0, 0, 1, 0, 0, 0.0])
    second = np.array([1, 1, 1, 0, 0, 0, 1, 1, 0, 0.0])
    predictions, truth = tables(np.stack([first, second]), y, members, settings=SETTINGS)
    equal = {"measure": "ratio", "of": "error", "values": [1.0, 2.0, 3.0]}
    records = evaluate_rates(predictions, truth, {}, measures=MEASURES, equal=equal)
    ratios, errors = (4 / 6 / 0.25, 1.0), (0.2, 0.4)
    expected = np.interp(2.0, ratios[::-1], errors[::-1])
    assert value(records, "deterministic_at_equal", "error", "ratio=2") == pytest.approx(expected)
    assert value(records, "deterministic_at_equal", "error", "ratio=1") == pytest.approx(0.4)
    assert not [one for one in records if one["setting"] == "ratio=3"]


def test_excess_is_relative_to_what_is_asked(small):
    p, y, members = small
    predictions, truth = tables(np.stack([p, p]), y, members, settings=SETTINGS)
    asked = {"measure": "ratio", "option": "kappa", "form": "at_most_inverse"}
    records = evaluate_rates(predictions, truth, {}, measures=MEASURES, asked=asked)
    # The ratio is 2; asked were 1 / 0.5 = 2 and 1 / 1 = 1.
    assert value(records, "asked_excess_deterministic", "kappa=0.5") == pytest.approx(0.0)
    assert value(records, "asked_excess_deterministic", "kappa=1.0") == pytest.approx(1.0)
    asked = {"measure": "error", "option": "kappa", "form": "at_least"}
    records = evaluate_rates(predictions, truth, {}, measures=MEASURES, asked=asked)
    assert value(records, "asked_excess_deterministic", "kappa=0.5") == pytest.approx(0.4)


def test_a_deployed_model_is_measured_and_compared(small):
    p, y, members = small
    deployed = np.array([1, 1, -1, -1, -1, -1, 1, 1, -1, -1.0])
    measures = {"error": "error(everyone)", "churn": "churn(everyone)"}
    records = evaluate_rates(
        *tables(p, y, members, deployed), {}, measures=measures, sign_test=True
    )
    assert value(records, "deterministic", "churn") == pytest.approx(2 / 10)
    assert value(records, "deployed", "churn") == 0
    assert value(records, "deployed", "error") == pytest.approx(3 / 10)
    assert value(records, "disagreement") == pytest.approx(2 / 10)
    assert value(records, "wins_share") == pytest.approx(1 / 2)
    assert not [one for one in records if one["metric"] == "labels_needed"]


def test_what_a_fit_says_is_told_step_by_step():
    arrays = {
        ("objective", "kappa=0.5"): [1.0, 0.5, 0.4, 0.4],
        ("multipliers", "kappa=0.5"): [[0.1], [0.2], [0.3]],
        ("violations", "kappa=0.5"): [[-0.1], [0.0], [-0.2], [0.0]],
        ("gap", "kappa=0.5"): [1e-3, 1e-4, 1e-5],
        ("evaluations", "kappa=0.5"): [30.0],
        ("feasible", "kappa=0.5"): [1.0],
        ("penalty", "kappa=0.5"): [0.02],
        ("coefficient_norm", "kappa=0.5"): [2.0],
        ("train_measures", "kappa=0.5"): [[0.3, 0.36]],
    }
    place = {"repeat": 0, "target": "general"}
    records = list(fit_records(arrays, place, ["objective"]))
    setting = "kappa=0.5"
    assert value(records, "objective", setting, 1) == 0.5
    assert value(records, "multiplier", setting, "0", 3) == 0.3
    assert value(records, "violation", setting, "0", 0) == -0.1
    assert value(records, "steps_rising", setting) == value(records, "steps_violated", setting) == 0
    assert value(records, "largest_violation", setting) == 0.0
    assert value(records, "final_gap", setting) == 1e-5
    assert value(records, "evaluations_per_step", setting) == 10.0
    assert value(records, "late_fall", setting) == 0.0
    # 0.4 less a penalty of 0.02 / 2 * 4 is the measured 0.36.
    assert value(records, "objective_unexplained", setting) == pytest.approx(0.0, abs=1e-12)


def test_what_was_taken_adds_up_over_repeats_in_which_some_were_given_up():
    nan, taken = np.nan, []
    for repeat, costs in enumerate(([[0.3, 0, 1], [nan] * 3], [[0.3, 0, 0], [0.2, 0, 1]])):
        records = fit_records({"candidate_costs": costs}, {"repeat": repeat, "target": "general"})
        records = list(records)
        costs = [one["part"] for one in records if one["metric"] == "candidate_cost"]
        assert costs == [["0"], ["0", "1"]][repeat]
        taken += [one for one in records if one["metric"] == "candidate_taken"]
    shares = pd.DataFrame(taken).groupby("part")["value"].mean()
    assert shares.to_dict() == {"0": 0.5, "1": 0.5}


def test_the_log_loss_by_which_classifiers_are_compared_is_told_of_those_that_have_one():
    arrays = {"candidate_costs": np.full((3, 3), 0.2), "candidate_losses": [0.5, np.nan, 0.4]}
    records = fit_records(arrays, {"repeat": 0, "target": "general"})
    told = {one["part"]: one["value"] for one in records if one["metric"] == "candidate_loss"}
    assert told == {"0": 0.5, "2": 0.4}


def test_rises_and_violations_are_counted_not_hidden():
    arrays = {"objective": [1.0, 0.5, 0.6], "violations": [[-0.1, 0.0], [0.2, 0.0], [0.0, 0.1]]}
    place = {"repeat": 0, "target": "general"}
    records = list(fit_records(arrays, place))
    assert value(records, "steps_rising") == 1 and value(records, "steps_violated") == 2
    assert value(records, "objective_rise") == pytest.approx(0.1)
    assert value(records, "largest_violation") == pytest.approx(0.2)
    gaps = {**arrays, "gap": [0.1, 0.2], "feasible": [0.0]}
    assert "largest_gap" not in {one["metric"] for one in fit_records(gaps, place)}
    begun = {**arrays, "violations": [[0.1, 0.0], [0.2, 0.0], [0.0, 0.1]]}
    found = {one["metric"] for one in fit_records(begun, place)}
    assert "steps_violated" not in found and "final_violation" in found


def test_flattened_steps_are_taken_apart():
    arrays = {
        "objective": [1.0, 0.5, 0.4],
        "multipliers": np.arange(4.0),
        "violations": -np.arange(6.0),
    }
    records = list(fit_records(arrays, {"repeat": 0, "target": "general"}))
    assert value(records, "multiplier", "1", 2) == 3.0
    assert value(records, "violation", "0", 2) == -4.0


def test_convex_bounds_are_tight_and_never_below():
    found = {one["metric"]: one["value"] for one in bound_records()}
    assert 0 <= found["bound_gap"] <= 1e-12
    assert -1e-12 <= found["bound_excess"] <= 1e-2


def test_a_step_that_bounds_nothing_is_found_out(monkeypatch):
    from counterweight.models.constraints.convex_step import ConvexStep

    whole = ConvexStep.rates
    monkeypatch.setattr(ConvexStep, "rates", lambda step, f: 0.99 * whole(step, f))
    found = {one["metric"]: one["value"] for one in bound_records()}
    assert found["bound_gap"] > 1e-4 and found["bound_excess"] < -1e-4


@pytest.mark.parametrize("power, height", [(1.0, 1.0), (1.0, 1.3), (0.5, 0.9)])
def test_the_slope_along_what_is_asked_is_that_of_the_logarithms(power, height):
    wanted = np.array([1.0, 1.25, 2.0, 4.0, 0.0])
    lines = np.column_stack([wanted, height * wanted**power, wanted**2])
    slopes = {one["metric"]: one["value"] for one in _slope_records(lines, {})}
    assert slopes["asked_slope_deterministic"] == pytest.approx(power)
    assert slopes["asked_slope_randomised"] == pytest.approx(2)
    assert not list(_slope_records(lines[:3], {}))


def test_predictions_that_are_no_probabilities_are_refused(small):
    p, y, members = small
    with pytest.raises(CounterweightError, match="2 predictions of repeat 0"):
        evaluate_rates(*tables(np.r_[1.5, -1, p[2:]], y, members), {}, measures=MEASURES)


def test_kept_rows_count_as_often_as_they_stand_for(small):
    """Weighing a row by 1 / rate is what that many such rows would give."""
    p, y, members = small
    times = np.where(y == 0, 4, 1)
    rates = {"repeat": np.zeros(10, int), "row": np.arange(10), "keep_rate": 1 / times}
    measures = {"error": "error(labeled)", "coverage": "coverage(male & labeled)"}
    kept, whole = (
        evaluate_rates(*tables(*of), {"accuracy": accuracy}, measures=measures, rates=told)
        for of, told in (
            ((p, y, members), rates),
            (
                (
                    np.repeat(p, times),
                    np.repeat(y, times),
                    {name: np.repeat(mask, times) for name, mask in members.items()},
                ),
                None,
            ),
        )
    )
    for place in (("deterministic", "error"), ("randomised", "coverage"), ("accuracy",)):
        assert value(kept, *place) == pytest.approx(value(whole, *place), rel=1e-12)


def test_other_metrics_take_probabilities(small):
    p, y, members = small
    records = evaluate_rates(*tables(p, y, members), {"auc": auc}, measures=MEASURES)
    assert value(records, "auc") == pytest.approx(auc(y, p)[0])


def test_copies_of_test_rows_are_one_draw(small):
    p, y, members = small
    twice = {name: np.tile(mask, 2) for name, mask in members.items()}
    predictions, truth = tables(np.tile(p, 2), np.tile(y, 2), twice)
    told = {"accuracy": accuracy, "auc": auc}
    apart = evaluate_rates(predictions, truth, told, measures=MEASURES)
    truth["user"] = np.tile(np.arange(10), 2)
    joint = evaluate_rates(predictions, truth, told, measures=MEASURES)
    single = evaluate_rates(*tables(p, y, members), told, measures=MEASURES)
    for place in (("deterministic", "error"), ("deterministic", "ratio"), ("accuracy",), ("auc",)):
        values = [value(found, *place) for found in (single, joint, apart)]
        assert values == pytest.approx([values[0]] * 3)
        one, same, less = (
            value(found, *place, column="standard_error") for found in (single, joint, apart)
        )
        # An AUC of few rows alone has the error of DeLong, which is not that of groups.
        assert less < 0.8 * same and same == pytest.approx(one, rel=0.06)


def test_sign_tests_have_the_power_that_they_promise():
    rows = sign_test_rows(0.6, 0.8)
    assert sign_test_power(rows, 0.6) >= 0.8 > sign_test_power(rows - 1, 0.6)
    assert (sign_test_power(np.arange(int(rows), 2000), 0.6) >= 0.8).all()
    assert sign_test_rows(1.0) == 6 and sign_test_rows(1.0, sides=1) == 5
    assert sign_test_rows(0.5 + 1e-6) == float("inf")


def test_the_critical_count_of_a_sign_test_is_scipys():
    for rows in (5, 6, 13, 40):
        wins = [k for k in range(rows + 1) if 2 * k > rows and binomtest(k, rows).pvalue <= 0.05]
        chance = 0.7
        from scipy.stats import binom

        expected = binom.sf(min(wins) - 1, rows, chance) if wins else 0.0
        assert sign_test_power(rows, chance) == pytest.approx(expected)


def test_the_papers_cases_are_computed():
    found = {
        where(one): one["value"] for one in paper_cases() if one["metric"] == "sign_test_labels"
    }
    assert found["power=0.8", "best"] == 6
    assert 900 < found["power=0.8", "worst"] < 1100


def test_a_target_of_nothing_has_no_relative_excess():
    everyone = np.ones(4, bool)
    predictions, truth = tables(
        [1, 0, 0, 0], [1, 0, 0, 1], {"all": everyone}, [1, -1, -1, -1], settings=["target=0.0"]
    )
    asked = {"measure": "kept", "option": "target", "form": "at_most"}
    records = evaluate_rates(predictions, truth, {}, measures={"kept": "churn(all)"}, asked=asked)
    found = {r["metric"]: r["value"] for r in records}
    assert found["deterministic"] == 0 and np.isnan(found["asked_excess_deterministic"])


def test_the_final_violation_is_that_of_the_classifier_that_is_kept():
    """Of infeasible constraints the one with the least violation is kept, not the last."""
    arrays = {
        "objective": [1.0, 0.5],
        "violations": [[0.45, 0.3], [0.05, 0.18]],
        "excess": [0.04, 0.15],
        "feasible": [0.0],
        "multipliers": [[1.0, 1.0]],
        "gap": [0.0],
    }
    found = {r["metric"]: r["value"] for r in fit_records(arrays, {})}
    assert found["final_violation"] == 0.15


def test_names_of_measures_and_metrics_decide_nothing(small):
    p, y, members = small
    predictions, truth = tables(np.stack([p, p]), y, members, settings=SETTINGS)
    metrics, known = {"accuracy": accuracy, "auc": auc}, {"form": "at_most_inverse"}

    def told(renamed):
        def own(name):
            return renamed.get(name, name)

        return evaluate_rates(
            predictions,
            truth,
            {own(name): metric for name, metric in metrics.items()},
            measures={own(name): text for name, text in MEASURES.items()},
            equal={"measure": own("ratio"), "of": own("error"), "values": [2]},
            asked=known | {"measure": own("ratio"), "option": "kappa"},
        )

    # Each by a name that another one has, or that means something elsewhere.
    renamed = {"accuracy": "auc", "auc": "log_loss", "ratio": "churn", "error": "ratio"}

    def words(value):
        head, *rest = str(value).split("=")
        return "=".join([renamed.get(head, head), *rest])

    keys = ("metric", "measure", "setting", "part")
    expected = [one | {k: words(one[k]) for k in keys if k in one} for one in told({})]
    assert len(expected) > 15
    np.testing.assert_equal(told(renamed), expected)


def test_metrics_of_the_second_repeat_stand_beside_those_of_the_first(small):
    p, y, members = small
    predictions, truth = tables(p, y, members)

    def twice(table):
        return {
            name: (np.tile(own[0], 2), own[1]) if isinstance(own, tuple) else np.tile(own, 2)
            for name, own in table.items()
        } | {"repeat": np.repeat([0, 1], len(y))}

    metrics = {"accuracy": accuracy}
    once = evaluate_rates(predictions, truth, metrics, measures=MEASURES)
    both = evaluate_rates(twice(predictions), twice(truth), metrics, measures=MEASURES)
    for repeat in (0, 1):
        own = [one | {"repeat": 0} for one in both if one["repeat"] == repeat]
        np.testing.assert_equal(own, once)


def test_the_fall_of_an_objective_is_told_by_shares():
    objective = np.array([10.0, 5.0, 4.0, 3.5, 3.2, 3.1, 3.0])
    gaps = np.array([0.2, 0.1, 0.3, 0.1, 0.1, 0.05])
    arrays = {"objective": objective, "gap": gaps, "evaluations": np.arange(6.0)}
    found = {record["metric"]: record for record in fit_records(arrays, {})}
    expected = {
        "final_objective": 3.0,
        "objective_rise": -0.1,
        "steps_rising": 0,
        "late_fall": 0.1 / 7,
        "late_share": 0.1 / 2,
        "final_gap": 0.05,
        "largest_gap": 0.3,
        "evaluations": 15,
        "evaluations_per_step": 15 / 6,
    }
    for metric, value in expected.items():
        assert found[metric]["value"] == pytest.approx(value), metric
    assert found["objective"]["step"] == 6
    rising = {"objective": np.array([1.0, 0.5, 0.5 + 2e-9, 0.5 + 2.5e-9])}
    told = {record["metric"]: record["value"] for record in fit_records(rising, {})}
    assert told["steps_rising"] == 1 and "late_share" not in told


def test_rows_to_draw_are_labels_by_the_share_of_disagreements():
    records = {(one["part"], one["setting"], one["metric"]): one for one in paper_cases()}
    for case, (disagree, wins) in CASES.items():
        labels = records[case, "power=0.8", "sign_test_labels"]["value"]
        assert labels == sign_test_rows(wins, 0.8)
        drawn = records[case, "power=0.8", "sign_test_drawn"]["value"]
        assert labels / disagree <= drawn < labels / disagree + 1
