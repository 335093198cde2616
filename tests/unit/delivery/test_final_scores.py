"""Which method a study of a table with blanks delivers: clearly better ones, weights only if so."""

import numpy as np
from counterweight.delivery.final_scores import chosen_method
from counterweight.evaluation.cross_validation import OutOfFold

ROWS = 400
METHODS = {
    "linear": {"model": "logistic", "weights": False, "label": "Line"},
    "linear-lemma1": {"model": "logistic", "weights": True, "label": "Line, weighted"},
    "boosting": {"model": "gradient_boosting", "weights": False, "label": "Trees"},
    "boosting-lemma1": {"model": "gradient_boosting", "weights": True, "label": "Trees, weighted"},
}


def out_of_fold(*shifts, binary=False):
    """Outcomes, and predictions whose errors are `shifts` times those of the first method."""
    rng = np.random.default_rng(0)
    y, error = rng.normal(size=ROWS), rng.normal(size=ROWS)
    ones = np.ones(ROWS)
    predictions = [y + shift * error for shift in shifts]
    return OutOfFold(np.arange(ROWS), y, ones, ones, None, predictions, binary)


def test_the_first_is_kept_unless_another_is_clearly_better():
    name, why = chosen_method(out_of_fold(1.0, 1.0, 1.0, 1.0), METHODS)
    assert name == "linear" and "Trees and Line have the same mean squared error" in why[0]
    name, why = chosen_method(out_of_fold(1.0, 1.0, 0.5, 0.6), METHODS)
    assert name == "boosting" and "Trees has a smaller mean squared error than Line" in why[0]
    assert why[-1].startswith("Not weighted: weights raise")


def test_weights_are_kept_if_they_lower_the_loss_of_the_model_that_is_chosen():
    name, why = chosen_method(out_of_fold(1.0, 0.5, 1.5, 0.1), METHODS)
    assert name == "linear-lemma1", "weighted trees are not asked: plain trees were no better"
    assert why[-1].startswith("Weighted: weights lower")
    assert chosen_method(out_of_fold(1.0, 0.5, 0.9, 0.1), METHODS)[0] == "boosting-lemma1"


def test_what_is_asked_for_is_delivered():
    name, why = chosen_method(out_of_fold(1.0, 1.0, 0.1, 0.1), METHODS, "linear-lemma1")
    assert name == "linear-lemma1" and why == ["Line, weighted was asked for."]


def test_of_weighted_methods_alone_the_first_is_kept():
    alone = {"w": METHODS["linear-lemma1"]}
    assert chosen_method(out_of_fold(1.0), alone)[0] == "w"
