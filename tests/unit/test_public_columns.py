"""Every public estimator and saved model goes by names of columns: right, or refused by name."""

import warnings

import counterweight as cw
import delivering
import filter_study
import numpy as np
import pandas as pd
import priced_survey
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import fitted_encoder
from own_logs import a_log, through, write_folder

ROWS = 240
#: Public names that take no rows of features, and so nothing that could be in another order.
NO_FEATURES = {
    *("CounterweightError", "load", "Estimate", "tilted", "kept_rows", "keep_weights"),
    *("rate_for_share", "general_weights", "unlabeled_weights", "cap_weights"),
    *("effective_sample_size", "metric_estimate", "grouped_estimate", "compare_metrics"),
    *("compare_segments", "ips", "snips", "doubly_robust", "value_from_parquet", "offer_value"),
    # Answers from bought labels go by arrays of outcomes, chances and predictions.
    *("inclusion_chances", "expected_half_width", "budget_for", "draw", "stopped_chances"),
    *("look_levels", "anytime_interval", "collected_mean", "collected_by_group", "class_shares"),
    *("collected_metric", "collected_calibration", "refusal_bounds", "refuted"),
    *("collected_difference", "collected_rates", "Decided"),
    # What it fits and how that goes by columns is the estimator's affair.
    "combined_model",
    # Tried by columns in their own test: what comes of a frame is asked by its index.
    *("missing_outcomes", "Answers", "LabelPlan", "LabelAnswers"),
    *("GroupPlan", "GroupAnswers", "OfferPlan", "TriedAnswers"),
}


def world():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(ROWS, 3)) * [1, 2, 5], columns=list("abc"))
    y = (X["a"] + rng.normal(size=ROWS) > 0).to_numpy(int)
    men = rng.random(ROWS) < 0.5
    return X, y, men, rng.random(ROWS)


X, Y, MEN, OFFERS = world()
HIDDEN = X.iloc[::-1] + 0.5
GROUPS = {"men": MEN, "women": ~MEN}
MEMBERS = np.column_stack([MEN, ~MEN]).astype(float)


def rng():
    return np.random.default_rng(1)


def chances(model, **asked):
    return lambda frame: model.predict_proba(frame, **asked)[:, 1]


def classifier(name, told=None, **options):
    def made(folder):
        return chances(getattr(cw, name)(**options).fit(X, Y, **(told or {})))

    return made


def selector(name, **options):
    return lambda folder: getattr(cw, name)(**options).fit(X, Y, rng=rng()).predict


def one_pass(name):
    model = getattr(cw, name)().fit(X, Y)
    # A later batch has the columns of the first.
    with pytest.raises(CounterweightError, match="same order"):
        model.partial_fit(X[["b", "a", "c"]], Y)
    return model.predict_proba if name.endswith("Classifier") else model.predict


def offers(name, **options):
    def made(folder):
        model = getattr(cw, name)(**options).fit(X, Y, OFFERS, rng=rng())
        return lambda frame: model.predict_acceptance(frame, OFFERS)

    return made


def proxy(name, **options):
    def made(folder):
        model = getattr(cw, name)(**options).fit(X, MEMBERS, classes=[2])
        return lambda frame: np.hstack([leaf for _, leaf in model.leaves(frame)])

    return made


def promised(name, **options):
    """Of models that need the groups of the rows that they predict, decisions of all groups."""

    def made(folder):
        model = getattr(cw, name)(**options).fit(X, Y, datasets=GROUPS)
        if not getattr(model, "GROUPED", False):
            return chances(model)
        from counterweight.numerics.rates.datasets import DataSets

        return chances(model, samples=DataSets(None, Y, None, GROUPS))

    return made


def shifted(folder):
    start = cw.GenerativeClassifier(components=1, n_init=1).fit(X, Y, rng=rng()).to_arrays()
    told = {"X_unlabeled": HIDDEN, "starts": {"labeled": start, "unlabeled": start}}
    return chances(cw.ShiftedMixtureClassifier(iterations=1).fit(X, Y, selected_share=0.5, **told))


def selection(folder):
    model = cw.LogisticSelector()
    return lambda frame: cw.selection_probabilities(model, X, Y, frame, rng())[1]


def delta(folder):
    p = np.clip(OFFERS, 0.1, 0.9)
    told = {"by": "label_only", "X": X}
    return lambda frame: cw.estimate_delta(p, Y, p, X_target=frame, **told).value


def saved_classifier(folder):
    people = X.assign(person=np.arange(ROWS), y=Y)
    encoder = fitted_encoder(people, drop=("person", "y"))
    model = cw.LogisticModel().fit(encoder.transform(people), Y)
    facts = {"model": "logistic", "options": {}, "target": "general", "threshold": 0.5}
    facts |= {"id": "person", "groups": {}, "typed": {}, "labeled": ROWS, "promises": []}
    saved = cw.SavedClassifier.of(model, encoder.transform(people), encoder, facts)
    return saved.predict_proba, people[["a", "b", "c", "person"]]


def saved_scores(folder):
    people = delivering.people(300, 1)
    own, _ = delivering.delivered(folder, people)
    return cw.load(own.at.folder).predict_proba, people[["age", "city", "member", "since", "who"]]


def saved_offers(folder):
    people = priced_survey.survey(300)
    saved = priced_survey.saved_of("offer_logistic", "", people)
    return lambda frame: saved.optimal_offers(frame)["best_offer"], people[
        ["age", "town", "customer"]
    ]


def saved_values(folder):
    log = a_log(2_000, np.random.default_rng(0))
    write_folder(folder, log, 1)
    saved = cw.load(through(folder)[3])
    needed = ["clicked", "p_logged", "p_new", "best", "shown"]
    return lambda frame: saved.values(frame)["value"], log[needed]


def saved_filter(folder):
    study = filter_study.study(cw.TreeProxy(max_depth=4), "eta=0")
    saved = filter_study.saved_filter(**study.parts)
    key = filter_study.SEED
    people = study.frame[["age", "town", "income", "home", "flat", "person"]]
    return saved, lambda frame: saved.accept(frame, key)["accepted"], people


def through_function(folder):
    saved, _, people = saved_filter(folder)
    decide = cw.apply_filter
    return lambda frame: decide(frame, saved, filter_study.SEED)["probability"], people


def read_again(folder):
    saved, _, people = saved_filter(folder)
    saved.save(folder / "filter.parquet")
    again = cw.read_filter(folder / "filter.parquet")
    return lambda frame: again.accept(frame, filter_study.SEED)["accepted"], people


def sample(folder):
    target = X + [0.1, 0.2, 0.3]
    ours = cw.Sample(X, columns=list("abc"))
    return lambda frame: ours.adjust(frame).weights, target


QUICK = {"components": 1, "n_init": 1}
UNLABELED = {"X_unlabeled": HIDDEN}
ONE = "coverage(men) <= coverage(women) / 0.9"
#: For each public name a function of a folder that gives what answers for a frame: for that of the
#: fit, or for the frame that comes beside it.
CASES = {
    "LogisticModel": classifier("LogisticModel"),
    "BoostedClassifier": classifier("BoostedClassifier", max_iter=5),
    "CostingClassifier": classifier("CostingClassifier", {"rng": rng()}, models=2),
    "AdaptedLogistic": classifier("AdaptedLogistic", penalty=0.01),
    "JointClassifier": classifier("JointClassifier", UNLABELED),
    "GenerativeClassifier": classifier("GenerativeClassifier", {"rng": rng()}, **QUICK),
    "ShiftedMixtureClassifier": shifted,
    "TwoSourceClassifier": classifier("TwoSourceClassifier", UNLABELED | {"rng": rng()}, **QUICK),
    "TiltedClassifier": classifier("TiltedClassifier", UNLABELED, folds=2),
    "SubsampledClassifier": classifier("SubsampledClassifier", {"rng": rng()}, keep_rate=0.5),
    "BudgetedClassifier": classifier(
        "BudgetedClassifier", {"rng": rng()}, budget=100, min_samples_leaf=5
    ),
    "OnePassClassifier": lambda folder: one_pass("OnePassClassifier"),
    "OnePassRegressor": lambda folder: one_pass("OnePassRegressor"),
    "CalibratedSubsampleClassifier": lambda folder: chances(
        cw.CalibratedSubsampleClassifier(cw.LogisticModel()).fit(X, Y)
    ),
    "CalibratedSubsampleRegressor": lambda folder: (
        cw.CalibratedSubsampleRegressor(cw.OnePassRegressor()).fit(X, Y).predict
    ),
    "LogisticSelector": selector("LogisticSelector"),
    "GradientBoostingSelector": selector("GradientBoostingSelector", max_iter=5),
    "GaussianMixtureSelector": selector("GaussianMixtureSelector", components=1, n_init=1),
    "PredictiveChoiceModel": offers("PredictiveChoiceModel", **QUICK),
    "OfferAdditive": offers("OfferAdditive"),
    "OfferBoosting": offers("OfferBoosting"),
    "OfferLogistic": offers("OfferLogistic"),
    "OfferNaiveBayes": offers("OfferNaiveBayes"),
    "OfferTree": offers("OfferTree"),
    "LogitBoost": offers("LogitBoost"),
    "LogisticTree": offers("LogisticTree"),
    "SplitTreeProxy": proxy("SplitTreeProxy", alphas=[0.3], max_depth=2),
    "RegressionProxy": proxy("RegressionProxy"),
    "TreeProxy": proxy("TreeProxy", max_depth=2),
    "ConstrainedClassifier": promised("ConstrainedClassifier", constraints=(ONE,), steps=1),
    "CovarianceConstraint": promised("CovarianceConstraint", c=0.1, groups=("men", "women")),
    "GroupThresholds": promised("GroupThresholds", groups=("men", "women")),
    "GivenScores": promised("GivenScores", constraints=(ONE,)),
    "ReductionsClassifier": promised("ReductionsClassifier", constraints=(ONE,), fits=3),
    "ShiftedThreshold": promised("ShiftedThreshold", constraint="coverage(men) <= 0.3"),
    "NeymanPearsonSVM": promised("NeymanPearsonSVM", target=0.2),
    "RetrainedClassifier": promised("RetrainedClassifier", batches=("men", "women"), steps=1),
    "ExponentiatedGradientModel": promised(
        "ExponentiatedGradientModel", groups=("men", "women"), max_iter=2
    ),
    "ThresholdOptimizerModel": promised("ThresholdOptimizerModel", groups=("men", "women")),
    "selection_probabilities": selection,
    "estimate_delta": delta,
    "Sample": sample,
    "SavedScores": saved_scores,
    "SavedClassifier": saved_classifier,
    "SavedOffers": saved_offers,
    "SavedValues": saved_values,
    "SavedFilter": lambda folder: saved_filter(folder)[1:],
    "apply_filter": through_function,
    "read_filter": read_again,
}


def test_every_public_name_is_tried():
    assert (
        set(CASES) | NO_FEATURES == set(cw.__all__) - set(cw.TASKS) and not set(CASES) & NO_FEATURES
    )


@pytest.mark.filterwarnings("ignore:.*(cannot keep|converge|positional|drift)")
@pytest.mark.parametrize("name", CASES)
def test_columns_go_by_name_or_are_refused(name, tmp_path):
    if name in ("ExponentiatedGradientModel", "ThresholdOptimizerModel"):
        pytest.importorskip("fairlearn")
    made = CASES[name](tmp_path)
    answer, frame = made if isinstance(made, tuple) else (made, X)
    with warnings.catch_warnings():
        # Of the columns of the fit no word is said.
        warnings.filterwarnings("error", message=".*feature names")
        right = np.asarray(answer(frame))

    def same_or(refused, changed):
        try:
            found = np.asarray(answer(changed))
        except CounterweightError as error:
            assert refused in str(error)
            return False
        np.testing.assert_array_equal(found, right)
        return True

    first, *rest = frame.columns
    went = same_or("same order", frame[[*rest[::-1], first]])
    # What aligns columns by their names passes over those that it does not know; all others refuse.
    assert same_or("unseen at fit time:\n- more", frame.assign(more=1.0)) == went
    assert not same_or(first, frame[rest])
    if "Saved" in name or "filter" in name:
        # One person alone, or rows without names, are no table.
        for no_table in (frame.iloc[0], frame.to_numpy(), {"a": [1]}):
            assert not same_or(f"type {type(no_table).__name__}", no_table)
