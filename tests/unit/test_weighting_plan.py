"""What a study says of its weightings: names, caps, what they see, which models use them."""

import copy

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import config
from small_config import SMALL


def study(**changes):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"] |= {"models": [{"model": "logistic"}]} | changes
    return config.resolve(made)["studies"]["one"]


def test_one_weighting_with_two_caps():
    made = study(
        weighting=[
            {"weighting": "lemma1"},
            {"weighting": "lemma1", "name": "cut", "max_weight": 5},
            {"weighting": "lemma1", "name": "uncut", "max_weight": None, "label": "as it comes"},
        ],
        models=[{"model": "logistic", "weights": name} for name in ("lemma1", "cut", "uncut")],
    )
    caps = {
        name: made["weightings"][spec["weights"]]["max_weight"]
        for name, spec in made["methods"].items()
    }
    assert caps == {"logistic-lemma1": 50.0, "logistic-cut": 5, "logistic-uncut": None}
    assert [method["label"] for method in made["methods"].values()] == [
        "Logistic regression (Lemma 1)",
        "Logistic regression (Lemma 1 (max weight = 5))",
        "Logistic regression (as it comes)",
    ]


def test_a_weighting_of_rows_needs_no_selection_model():
    made = study(
        selection=[],
        weighting=[{"weighting": "bickel"}],
        models=[{"model": "logistic", "weights": "bickel"}],
    )
    assert made["weightings"]["bickel"]["selector"] is None
    assert made["weightings"]["bickel"]["sees"] == "rows"
    assert made["methods"]["logistic-bickel"]["weights"] == "bickel"


def test_beside_selection_models_it_is_computed_once():
    made = study(
        selection=[{"selector": "logistic"}, {"selector": "gradient_boosting"}],
        weighting=[{"weighting": "bickel", "target": "unlabeled"}, {"weighting": "lemma1"}],
    )
    assert list(made["weightings"]) == ["bickel", "lemma1-logistic", "lemma1-gradient_boosting"]
    assert made["weightings"]["bickel"]["target"] == "unlabeled"


def test_methods_have_no_more_repeats_than_their_weights():
    made = study(
        repeats=10,
        weighting=[{"weighting": "bickel", "repeats": 3}],
        models=[{"model": "logistic"}, {"model": "logistic", "weights": "bickel"}],
    )
    assert [method["repeats"] for method in made["methods"].values()] == [10, 3]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"weighting": [{"weighting": "bickel", "selector": "logistic"}]},
            r"weighting\[0\].selector is 'logistic', which the study does not fit",
        ),
        (
            {
                "selection": [{"selector": "logistic"}, {"selector": "gradient_boosting"}],
                "weighting": [{"weighting": "lemma1", "selector": "gradient_boosting"}],
                "models": [{"model": "logistic", "weights": "lemma1", "selector": "logistic"}],
            },
            "'logistic', which the study does not fit. Its selection models: gradient_boosting",
        ),
        (
            {"selection": [], "weighting": [{"weighting": "lemma1"}]},
            r"weighting\[0\] is lemma1, which goes by p\(s=1\|x\), and the study has no selection",
        ),
        (
            {
                "weighting": [{"weighting": "bickel"}],
                "models": [{"model": "logistic", "weights": "bickle"}],
            },
            "does not compute: add .* did you mean 'bickel'.*It computes: bickel",
        ),
        (
            {
                "weighting": [{"weighting": "bickel"}],
                "models": [{"model": "logistic", "weights": "bickel", "selector": "logistic"}],
            },
            "names a selector, and the weighting 'bickel' goes by none",
        ),
    ],
)
def test_what_cannot_be_is_told(changes, sentence):
    with pytest.raises(CounterweightError, match=sentence):
        study(**changes)


def test_the_given_away_classifier_is_fitted_with_weights_of_rows():
    """On all labeled rows, by the same component: the weights of the final fit are its own."""
    from counterweight.delivery.final_classifiers import seen_weights
    from counterweight.tables.study_data import StudyData
    from counterweight.weighting.density_ratios import discriminator_weights
    from counterweight.weighting.importance_weights import Rows

    rng = np.random.default_rng(0)
    n = 400
    X, row = rng.normal(size=(n, 2)), np.arange(n)
    selected = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    labels = {
        "repeat": np.zeros(n, int),
        "row": row,
        "role": np.where(selected, "labeled", "unlabeled").astype(object),
        "selected": selected,
        "y_general": np.where(selected, (X[:, 1] > 0).astype(float), np.nan),
    }
    data = StudyData({"row": row, "a": X[:, 0], "b": X[:, 1]}, labels)
    spec = study(selection=[], weighting=[{"weighting": "bickel", "target": "unlabeled"}])
    made = seen_weights(data, spec["weightings"]["bickel"], None, seed=1, study="one")
    seen = selected == 1
    rows = Rows(X[seen], None, X[~seen])
    np.testing.assert_array_equal(made["weight"], discriminator_weights(rows, target="unlabeled"))
    np.testing.assert_array_equal(made["row"], row[seen])
