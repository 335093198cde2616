"""Which method a study of a table with blanks delivers: the combined one, else a better one."""

import numpy as np
from counterweight.delivery.final_scores import chosen_method
from counterweight.labeling.missing_outcomes import OutOfFold

ROWS = 400
METHODS = {
    "linear": {"model": "logistic", "label": "Line"},
    "linear-lemma1": {"model": "logistic", "label": "Line, weighted"},
    "boosting": {"model": "gradient_boosting", "label": "Trees"},
}
COMBINED = {"all": {"model": "stacked", "label": "Combined"}}


def out_of_fold(*shifts, binary=False):
    """Outcomes, and predictions whose errors are `shifts` times those of the first method."""
    rng = np.random.default_rng(0)
    y, error = rng.normal(size=ROWS), rng.normal(size=ROWS)
    ones, folds = np.ones(ROWS), np.arange(ROWS)[None] % 5
    draws = [np.stack([y + shift * error, y - shift * error]) for shift in shifts]
    return OutOfFold(np.arange(ROWS), y, ones, ones, None, draws, folds, ones / ROWS / 2, binary)


def test_the_first_is_kept_unless_another_is_clearly_better():
    name, why = chosen_method(out_of_fold(1.0, 1.0, 1.0), METHODS)
    assert name == "linear" and "Trees and Line have the same mean squared error" in why[1]
    name, why = chosen_method(out_of_fold(1.0, 1.0, 0.5), METHODS)
    assert name == "boosting" and "Trees has a smaller mean squared error than Line" in why[1]


def test_what_combines_the_others_is_delivered_where_there_is_one():
    assert chosen_method(out_of_fold(1.0, 1.0, 0.1, 0.5), METHODS | COMBINED) == ("all", [])


def test_what_is_asked_for_is_delivered():
    name, why = chosen_method(out_of_fold(1.0, 1.0, 0.1, 0.1), METHODS | COMBINED, "linear-lemma1")
    assert name == "linear-lemma1" and why == ["Line, weighted was asked for."]


def test_of_everyone_labeled_rows_stand_for_themselves_and_for_like_ones():
    tested = out_of_fold(1.0)
    tested.weight = np.arange(ROWS) + 1.0
    beyond = tested.to_hidden("general")
    share = tested.weight / tested.weight.sum()
    assert np.allclose(beyond, np.maximum(share - 1 / ROWS / 2, 0))
    assert (tested.to_hidden("unlabeled") == tested.weight).all()
    assert np.allclose(tested.predictions[0], tested.y), "draws are averaged"
