"""Thresholds by which constraints hold: whose they are, and what is said of them."""

import logging

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.thresholds import GivenScores, named_groups
from counterweight.numerics.rates import DataSets

MEN = np.arange(40) % 2 == 0
GROUPS = {"men": MEN, "women": ~MEN}
SCORE = np.linspace(0.01, 0.99, 40)[:, None]
LABELS = (SCORE[:, 0] > 0.5).astype(int)


def fitted(*constraints, **options):
    model = GivenScores(constraints=constraints, **options)
    return model.fit(SCORE, LABELS, datasets=GROUPS)


def test_without_constraints_a_score_above_the_limit_is_a_yes():
    for above in (0.5, 0.3):
        model = fitted(above=above)
        assert (model.predict(SCORE) == (SCORE[:, 0] > above)).all()
        assert not model.repairs_ and model.repair_ is None and model.repairs_told_ == ""
    # On the limit, and within what rounding leaves of it, it is a no.
    assert fitted().predict([[0.5], [0.5 + 1e-13], [0.5 + 1e-11]]).tolist() == [0, 0, 1]
    chances = fitted().predict_proba(SCORE)
    assert (chances[:, 1] == fitted().predict(SCORE)).all() and (chances.sum(axis=1) == 1).all()


def test_one_threshold_moves_as_far_as_the_constraint_asks():
    model = fitted("coverage(everyone) <= 0.25")
    decided = model.predict(SCORE)
    assert decided.sum() == 10 and (np.flatnonzero(decided) >= 30).all()
    assert model.repair_["cost_before"] == pytest.approx(0) and model.repair_[
        "cost"
    ] == pytest.approx(10 / 40)
    assert max(model.repair_["excess"].values()) <= 1e-9
    assert next(iter(model.repair_["excess_before"].values())) == pytest.approx(0.25)
    told = model.repairs_told_
    assert told.startswith("One threshold for everybody keeps all") and "to 0.25" in told
    # What holds already moves nothing.
    assert (fitted("coverage(everyone) <= 0.5").predict(SCORE) == LABELS).all()
    loose = fitted("coverage(everyone) <= 0.2", repair="none")
    assert not loose.repairs_ and (loose.predict(SCORE) == LABELS).all()


def test_thresholds_of_groups_are_of_their_members():
    model = fitted("coverage(men) <= 0.2", "coverage(women) >= 0.7", repair="by_group")
    decided = model.predict(SCORE, datasets=GROUPS)
    assert decided[MEN].mean() == pytest.approx(0.2) and decided[~MEN].mean() == pytest.approx(0.7)
    assert model.repairs_told_.startswith("Thresholds of groups keep all")
    # Everybody's own score decides who is in no group that was there in training.
    nobody = {"men": np.zeros(40, bool), "women": np.zeros(40, bool)}
    assert (model.predict(SCORE, datasets=nobody) == LABELS).all()
    rows = DataSets(None, np.full(40, -1), None, GROUPS)
    assert (model.predict(SCORE, samples=rows) == decided).all()
    chance, sure = model.answers(SCORE, rows)
    assert (sure == decided).all() and (chance == decided).all()


@pytest.mark.parametrize(
    ("datasets", "said"),
    [
        ({"men": MEN}, "no data set women; they have"),
        (None, "over these 40 rows for each of men, women"),
    ],
)
def test_groups_that_are_not_told_are_asked_for(datasets, said):
    model = fitted("coverage(men) <= 0.2", "coverage(women) >= 0.7", repair="by_group")
    samples = None if datasets is None else DataSets(None, np.full(40, -1), None, datasets)
    with pytest.raises(CounterweightError, match=said):
        model.answers(SCORE, samples)
    other = DataSets(None, np.full(9, -1), None, {name: one[:9] for name, one in GROUPS.items()})
    with pytest.raises(CounterweightError, match="over these 40 rows"):
        model.answers(SCORE, other)


def test_what_no_threshold_keeps_is_named_with_what_is_missed():
    asked = ("coverage(men) <= 0.2", "coverage(women) >= 0.7")
    with pytest.warns(UserWarning, match="cannot keep all constraints"):
        model = fitted(*asked)
    assert model.repair_["missed"]
    for name in model.repair_["missed"]:
        assert f"{name} by {model.repair_['excess'][name]:.4g}" in model.repairs_told_


def test_groups_are_those_that_the_constraints_name_unless_others_are_said():
    asked = ["coverage(men) <= coverage(women)", "recall(men) >= 0.5", "coverage(everyone) <= 0.5"]
    assert named_groups({"constraints": asked}) == ["men", "women"]
    assert named_groups({"constraints": asked, "groups": ("old",)}) == ["old"]


def test_a_rule_that_looks_at_nobody_is_told_where_it_is_as_good(caplog):
    """Of labels that no threshold foretells, yes to nobody errs least."""
    labels = (np.arange(40) % 10 == 0).astype(int)
    turned = SCORE[np.argsort(labels, kind="stable")][::-1]
    model = GivenScores(constraints=["coverage(everyone) <= 0.5"], above=0.4)
    with caplog.at_level(logging.WARNING, "counterweight"):
        model.fit(np.where(labels[:, None] == 1, 0.1, turned), labels)
    assert model.trivial_.behind
    assert "a no to everybody" in model.trivial_told_ and model.trivial_told_ in caplog.text
    assert model.trivial_told_ in model.warnings_
    assert fitted("coverage(everyone) <= 0.5").trivial_told_ == ""


def test_a_score_of_any_scale_is_cut_where_it_errs_least_if_nobody_says_where():
    rng = np.random.default_rng(3)
    label = rng.random(400) < 0.3
    score = np.round(500 + 60 * label + rng.normal(0, 40, 400))
    cuts = np.unique(score) + 0.5
    errors = [((score > cut) != label).mean() for cut in cuts]
    asked = {"constraints": ["coverage(everyone) >= 0.01"], "above": None}
    model = GivenScores(**asked).fit(score[:, None], label.astype(int))
    decided = model.predict(score[:, None])
    assert (decided != label).mean() == min(errors) and model.above_ > 400
    assert not model.thresholds_.any() and not model.trivial_.behind
    # Scale and origin move no decision; what is kept of the model decides alike.
    moved = GivenScores(**asked).fit(7 * score[:, None] - 4000, label.astype(int))
    assert (moved.predict(7 * score[:, None] - 4000) == decided).all()
    again = GivenScores.from_arrays(model.to_arrays()).set_params(**asked)
    assert (again.predict(score[:, None]) == decided).all()
    bound = model.fit(score[:, None], label.astype(int)).set_params(
        constraints=["recall(everyone) >= 0.95"]
    )
    decided = bound.fit(score[:, None], label.astype(int)).predict(score[:, None])
    least = min(
        e for e, cut in zip(errors, cuts, strict=True) if (score > cut)[label].mean() >= 0.95
    )
    assert (decided != label).mean() == least
