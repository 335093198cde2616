"""Labels to buy for a frame, by a saved model: plans that go on, answers that hold, mistakes."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.delivery.bought_file import check_at_random, word
from counterweight.delivery.label_plans import (
    DEFAULTS,
    PlannedRows,
    asked_to_explore,
    explored,
    spans_of,
)
from counterweight.delivery.saved_scores import CalibrationBand
from counterweight.errors import CounterweightError, in_brackets
from counterweight.evaluation.collected import collected_mean
from counterweight.evaluation.refutation import refuted
from counterweight.labeling.sensitive import by_stratum
from counterweight.numerics.coins import key_of_seed
from counterweight.numerics.designs import draw, expected_half_width, inclusion_chances
from counterweight.numerics.ranking import moves_of_auc
from counterweight.tables.parquet import read_table
from delivering import delivered, people

pytestmark = pytest.mark.usefixtures("few_trees")

SEED = 12


@pytest.fixture(scope="module", params=["class", "number"])
def study(request, tmp_path_factory):
    """A saved model, the frame of its fit, and what the outcomes of the blank rows are."""
    folder = tmp_path_factory.mktemp(request.param)
    frame = people(600, 3, number=request.param == "number")
    _, files = delivered(folder, frame)
    saved = load(files["model"])
    blank = frame["y"].isna().to_numpy()
    estimate = saved.predict_proba(frame[blank])[:, 1] if saved.binary else None
    rng = np.random.default_rng(1)
    if saved.binary:
        truth = saved.classes_[(rng.random(blank.sum()) < 0.2 + 0.7 * estimate).astype(int)]
    else:
        truth = saved.predict(frame[blank]) + rng.normal(1, 1, blank.sum())
    return saved, frame, pd.Series(truth, index=frame["who"][blank].to_numpy())


def filled(plan, truth, rows=None):
    """The rows to label with the outcomes of the first `rows` filled in."""
    labels = plan.frame.copy()
    told = labels["who"].map(truth).astype(object)
    labels["y"] = told if rows is None else told.where(np.arange(len(labels)) < rows, "")
    return labels


@pytest.mark.parametrize("names", [("no", "yes"), (0, 1), (False, True)])
def test_shares_of_a_column_of_yes_and_no_are_found_however_a_config_writes_them(names):
    shares = by_stratum(dict(zip(map(word, names), (0.1, 0.3), strict=True)), {"no", "yes"})
    assert shares == {"no": 0.1, "yes": 0.3}
    assert by_stratum({"0": 0.1, "2": 0.3}, {"0", "2"}) == {"0": 0.1, "2": 0.3}


def test_the_workflow_names_groups_of_a_column_of_yes_and_no_as_the_table_does(tmp_path):
    frame = people(300, 5)
    frame["member"] = np.where(np.arange(300) % 3 == 0, "yes", "no")
    frame.loc[frame["y"].isna().idxmax(), "member"] = None
    own, _ = delivered(tmp_path, frame, collect={"budget": 30, "by": "member"})
    made = own.run("collect")
    told = read_table(made["metrics"]).query("metric == 'labels_planned'")
    assert set(told["part"]) == {"", "no", "yes", "not known"}


def test_of_a_plan_for_the_auc_its_half_width_is_told(tmp_path):
    frame = people(300, 5)
    own, files = delivered(tmp_path, frame, collect={"budget": 60, "for": "auc"})
    told = read_table(own.run("collect")["metrics"]).set_index("metric")["value"]
    scores = read_table(files["scores"])
    estimate = scores.loc[frame["y"].isna().to_numpy(), "estimate"].to_numpy()
    up, down = moves_of_auc(estimate)
    spread = np.sqrt(estimate * (1 - estimate)) * np.abs(up - down)
    chances = inclusion_chances(spread, 60)
    # Half-width of a mean of what each row moves the AUC by, in parts of all rows.
    expected = expected_half_width(chances, spread, binary=True)
    assert told["planned_auc"] == pytest.approx(expected, rel=0.1)


def test_a_larger_plan_begins_with_a_smaller_one_whatever_the_order_of_the_frame(study):
    saved, frame, _ = study
    small, large = (saved.collect(frame, budget, key=SEED) for budget in (40, 90))
    assert list(small.frame["who"]) == list(large.frame["who"][:40])
    assert list(small.frame["order"]) == list(range(1, 41))
    assert set(small.frame["plan"]) == set(large.frame["plan"])
    turned = saved.collect(frame.iloc[::-1, ::-1], 40, key=SEED).frame
    pd.testing.assert_frame_equal(turned, small.frame)
    assert (saved.collect(frame, 40, key=SEED + 1).frame["who"] != small.frame["who"]).any()
    assert not set(small.frame["who"]) & set(frame["who"][frame["y"].notna()])
    # Chances are those of all rows with an early stop: their sum is about the budget.
    assert small.people["chance"].sum() == pytest.approx(40, rel=0.35)
    assert small.people["drawn"].sum() == 40
    shown = small._repr_html_()
    assert "LabelPlan" in shown and all(who in shown for who in map(str, small.frame["who"][:5]))
    assert repr(small) == f"LabelPlan(rows to ask 40, of {len(small.people)})"


def test_what_is_expected_of_numbers_with_a_long_tail_is_near_what_labels_reach():
    """The ends of intervals know of no tail of one in 25, by which a third of it was told."""
    rng, collect = np.random.default_rng(8), DEFAULTS | {"budget": 150}
    f = rng.uniform(5, 10, 34_000)
    y = f + rng.normal(size=len(f)) * np.where(rng.random(len(f)) < 0.04, 9.0, 0.5)
    band = CalibrationBand("number").fit(y[:30_000], f[:30_000])
    f, y = f[30_000:], y[30_000:]
    rows = PlannedRows.of(f, band, False, None, collect)
    chance, reached = rows.chances(150), []
    for _ in range(40):
        mask = draw(chance, rng.random(len(f)), design="poisson").mask
        found = collected_mean(y, chance, mask, f, binary=False)
        reached.append((found.high - found.low) / 2)
    assert 0.65 < rows.half(chance) / np.median(reached) < 1.2
    band.spread_ = band.tails_ = None
    assert PlannedRows.of(f, band, False, None, collect).half(chance) < 0.4 * np.median(reached)


def test_a_rare_share_has_as_many_labels_as_its_half_width_takes():
    """36 were asked for ±20 points at 5 %, which ten reach, and an end of 100 points was told."""
    rng, collect = np.random.default_rng(4), DEFAULTS | {"half_width": 0.2}
    f = rng.beta(5, 85, 900)
    rows = PlannedRows.of(f, CalibrationBand("binary"), True, None, collect)
    budget, reached = rows.enough(0.2), []
    chance = rows.chances(budget)
    for _ in range(100):
        y, mask = (rng.random(len(f)) < f) * 1.0, rng.random(len(f)) < chance
        if mask.sum() > 1:
            found = collected_mean(y, chance, mask, f, binary=True)
            reached.append((found.high - found.low) / 2)
    assert rows.half(chance) <= 0.2 < rows.half(rows.chances(budget - 1))
    assert rows.half(chance) == pytest.approx(np.median(reached), rel=0.15)
    told = rows.curves(budget).dropna()  # of three labels nothing is told
    assert (told["low"] <= told["plan"]).all() and (told["plan"] <= told["high"]).all()
    assert told[["wrong", "plain", "high"]].max().max() < 0.5


def test_it_is_the_plan_that_the_workflow_makes_with_the_same_key(tmp_path):
    frame = people(300, 5)
    own, files = delivered(tmp_path, frame, collect={"budget": 30})
    made = own.run("collect")
    told = pd.read_csv(made["csv"], dtype={"who": str})
    plan = load(files["model"]).collect(frame, 30, key=tmp_path / "filter.key")
    assert list(plan.frame["who"]) == list(told["who"]) and len(told) == 30
    np.testing.assert_allclose(plan.frame["chance"], told["chance"], rtol=1e-9)
    assert list(plan.frame["reason"]) == list(told["reason"])
    assert set(plan.frame["plan"]) == set(told["plan"])
    assert set(told["plan"]).pop().isalpha()
    # What is expected of it is one number: by budget, of the plan, and in Python.
    known = read_table(made["metrics"]).set_index(["metric", "part", "variable"])["value"]
    curve = plan.expected().set_index("budget")
    for end, column in (("", "plan"), ("low", "low"), ("high", "high")):
        at = known["expected_points", "30", column]
        assert known["planned_points", "", end] == at == pytest.approx(100 * curve[column][30])


def test_what_a_plan_expects_narrows_and_is_what_the_labels_then_give(study):
    saved, frame, truth = study
    plan = saved.collect(frame, 100, key=SEED)
    curve = plan.expected()
    assert (np.diff(curve["plan"]) < 0).all() and (curve["plan"] <= curve["wrong"] + 1e-12).all()
    ends = curve[["low", "high"]]
    within = (ends["low"] < curve["plan"]) & (curve["plan"] < ends["high"])
    # The labels of all rows leave nothing open; of a number odds say nothing.
    assert within[:-1].all() if saved.binary else ends.isna().all(axis=None)
    answers = plan.with_labels(filled(plan, truth))
    mean = answers.mean
    shown = in_brackets(mean.value, mean.low, mean.high, saved.binary)
    told = f"answers 100, of rows {len(plan.people)}, no answer 0, still to ask 0"
    assert repr(answers) == f"LabelAnswers(mean {shown}, {told})"
    assert shown in answers._repr_html_() and "still to ask" in answers._repr_html_()
    half = (answers.mean.high - answers.mean.low) / 2
    told = curve.loc[curve["budget"] == 100, "plan"].item()
    assert half == pytest.approx(told, rel=0.3)
    # The first labels put what is expected right, here where the truth is off what the model says.
    after = plan.expected(filled(plan, truth, 60))
    assert (after["budget"] == curve["budget"]).all()
    assert [*after] == ["budget", "plan", "wrong", "plain"]
    right = after.loc[after["budget"] == 100, "plan"].item()
    assert half == pytest.approx(right, rel=0.25)
    wanted = saved.collect(frame, half_width=told * 1.0001, key=SEED)
    assert abs(wanted.budget - 100) <= 1


def half_of(found):
    return (found.high - found.low) / 2


def test_who_was_asked_and_gave_no_answer_is_counted_in_what_is_expected_of_others(study):
    saved, frame, truth = study
    frame = frame.assign(part=np.where(np.arange(len(frame)) % 3 == 0, "few", "many"))
    plan = saved.collect(frame, 100, key=SEED, by="part")
    group = plan.people.set_index("id")["group"]
    labels = filled(plan, truth)
    silent = (labels["who"].map(group) == "few") & (labels.index % 4 > 0)
    labels.loc[silent, "y"] = None
    answers, curve = plan.with_labels(labels), plan.expected(labels).set_index("budget")["plan"]
    assert answers.waiting == 0 and answers.refused == silent.sum() > 20
    # All who are drawn were asked: what is expected of the plan is what it has given.
    assert curve[100] == pytest.approx(half_of(answers.mean), rel=1e-12)
    rows = plan._rows.after(answers).going_on(answers, plan.budget)
    assert rows.enough(half_of(answers.mean) * 0.99) > 100
    # Labels of all rows that would answer do not tell those who would not.
    assert rows.least > 0 == plan._rows.least
    few, many = (rows.answered[plan.people["group"] == name] for name in ("few", "many"))
    asked = (labels["who"].map(group) == "few").sum()
    share = 1 - silent.mean()
    assert few == pytest.approx((asked - silent.sum() + share) / (asked + 1))
    assert many == pytest.approx(1, abs=0.02)
    # Before the last one is in, more of them are expected to be silent, and it comes out so.
    part = labels.copy()
    part.loc[part.index >= 60, "y"] = None
    early, glad = plan.expected(part), plan.expected(filled(plan, truth, 60))
    early, glad = (one.set_index("budget")["plan"] for one in (early, glad))
    assert (early[:-1] > glad[:-1]).all()
    assert early[100] == pytest.approx(curve[100], rel=0.2)


def test_labels_tell_the_truth_of_the_blank_rows_also_where_buying_stops(study):
    saved, frame, truth = study
    y = (truth == saved.classes_[1]).to_numpy(float) if saved.binary else truth.to_numpy(float)
    held = []
    for key in range(40):
        plan = saved.collect(frame, 80, key=key)
        whole = plan.with_labels(filled(plan, truth))
        part = plan.with_labels(filled(plan, truth, 50))
        assert (whole.refused, whole.waiting) == (0, 0)
        assert (part.refused, part.waiting) == (0, 30)
        assert part.mean.rows == 50
        # By the chances in the file alone it is the same answer.
        again = saved.with_labels(filled(plan, truth), frame)
        assert again.mean.value == pytest.approx(whole.mean.value, rel=1e-12)
        held += [one.mean.low <= y.mean() <= one.mean.high for one in (whole, part)]
    # Of 80 intervals of 95 %, 69 hold in all but one of 1,000 cases.
    assert sum(held) >= 69


def test_buying_stops_anywhere_in_the_order_where_labels_have_prices_too(study):
    """Who comes behind the last label was not asked; chances are those of the rows up to there."""
    saved, frame, truth = study
    y = (truth == saved.classes_[1]).to_numpy(float) if saved.binary else truth.to_numpy(float)
    priced = frame.assign(price=np.random.default_rng(4).choice([1.0, 4.0], len(frame)))
    held, totals = [], []
    for key in range(40):
        plan = saved.collect(priced, 180.0, key=key, cost="price")
        labels, stop = filled(plan, truth, len(plan.frame) - 25), len(plan.frame) - 25
        labels.loc[labels.index[[3, 8, 20]], "y"] = None
        part, whole = plan.with_labels(labels), plan.with_labels(filled(plan, truth))
        assert (part.refused, part.waiting, part.mean.rows) == (3, 25, stop - 3)
        assert (whole.refused, whole.waiting) == (0, 0)
        np.testing.assert_array_equal(whole.chances, plan.people["chance"])
        totals.append((1 / part.asked[part.drawn]).sum() / len(y))
        held += [one.mean.low <= y.mean() <= one.mean.high for one in (whole, part)]
    # Rows asked over their chances are all rows in expectation.
    assert np.mean(totals) == pytest.approx(1, abs=4 * np.std(totals) / np.sqrt(40))
    assert sum(held) >= 69


def test_a_row_that_is_drawn_for_certain_is_not_called_hard_to_foretell(study):
    saved, frame, _ = study
    every = saved.collect(frame, int(frame["y"].isna().sum()), key=SEED).frame["reason"]
    assert every.str.startswith("drawn for certain at this budget: estimate ").all()
    assert not every.str.contains("hard to foretell").any()


def test_answers_go_by_group_and_tell_who_refused(study):
    saved, frame, truth = study
    plan = saved.collect(frame, 90, key=SEED)
    labels = filled(plan, truth)
    labels.loc[labels.index % 9 == 0, "y"] = None
    answers = plan.with_labels(labels)
    early = plan.with_labels(labels, level=0.999)
    assert early.mean.low < answers.mean.low < answers.mean.high < early.mean.high
    assert answers.refused == 10 and answers.bought.sum() == 80
    low, high = answers.refusals()[np.inf]
    assert low.value < answers.mean.value < high.value
    group = np.where(np.arange(len(truth)) % 2, "odd", "even")
    by_group = answers.by_group(group)
    assert set(by_group) == {"odd", "even"}
    for own in (answers, saved.with_labels(labels, frame)):
        # A column of the frame is known by its index, whatever its order and its other rows.
        whole = pd.Series(np.arange(len(frame)) % 3, frame.index)
        blank = whole[frame["y"].isna()]
        want = own.by_group(blank.to_numpy())
        for turned in (blank, blank.sample(frac=1, random_state=1), whole[::-1]):
            assert own.by_group(turned) == want
        assert own.by_group(blank.reset_index(drop=True)) == want
    more = frame[frame["y"].isna()].head(60)
    more = more.assign(**{saved.facts["id"]: [f"new {k}" for k in range(60)]})
    with pytest.raises(CounterweightError, match=r"came since \(60\) had no chance to be asked"):
        saved.with_labels(labels, pd.concat([frame, more]))
    assert sum(one.rows for one in by_group.values()) == 80
    found = answers.refuted(group)
    assert np.isfinite(found.delta) and set(found.groups) == {"odd", "even"}
    otherwise = SimpleNamespace(facts={"assumes": {"if": "If z has no part in the outcome"}})
    with pytest.raises(CounterweightError, match="the estimates of this model assume something"):
        check_at_random(otherwise)
    # The model's own error is in it, of a class and of a number.
    assert found.error > refuted(*answers.told()).error
    assert saved.binary or found.low < found.delta < found.high
    if saved.binary:
        area = answers.metric("auc")
        assert area.low < area.value < area.high
        assert answers.calibration().value == pytest.approx(
            answers.predicted.mean() / answers.mean.value
        )


def test_labels_without_their_plan_need_all_rows_that_were_asked(study):
    """What came back of a plan that stopped stands for fewer rows than there are."""
    saved, frame, truth = study
    plan = saved.collect(frame, 120, key=SEED)
    labels = filled(plan, truth, 40)
    assert saved.with_labels(labels, frame).refused == 80
    with pytest.raises(CounterweightError, match=f"The 40 rows .* there are {len(truth)}"):
        saved.with_labels(labels.head(40), frame)
    assert plan.with_labels(labels.head(40)).waiting == 80


def test_costs_and_groups_move_the_chances(study):
    saved, frame, _ = study
    rng = np.random.default_rng(4)
    priced = frame.assign(price=rng.choice([1.0, 16.0], len(frame)))
    plan = saved.collect(priced, 300.0, key=SEED, cost="price")
    blank = priced["price"][priced["y"].isna()]
    chance = plan.people["chance"]
    assert chance @ blank == pytest.approx(300)
    ratio = chance[blank == 1].mean() / chance[blank == 16].mean()
    assert 1 <= ratio < 4.5
    few = np.where(np.arange(len(frame)) % 10 == 0, "few", "many")
    plan = saved.collect(frame.assign(part=few), 60, key=SEED, by="part")
    drawn = plan.people[plan.people["drawn"]]
    share = (drawn["group"] == "few").mean()
    assert share > 0.3


def test_mistakes_end_in_one_sentence(study):
    saved, frame, truth = study
    plan = saved.collect(frame, 40, key=SEED)
    labels = filled(plan, truth)
    other = frame["who"][frame["y"].isna() & ~frame["who"].isin(labels["who"])].iloc[0]
    aim, words_of_aim = {"for": "auc"}, "is of the mean" if saved.binary else "is of a class"
    for broken, words in (
        (lambda: saved.collect(frame, key=SEED), "give one of the two"),
        (lambda: saved.collect(frame, 40, half_width=0.1, key=SEED), "give one of the two"),
        (lambda: saved.collect("people", 40, key=SEED), "give a data frame"),
        (lambda: saved.collect(frame, "many", key=SEED), "collect.budget is 'many'"),
        (lambda: saved.collect(frame, -4, key=SEED), "collect.budget is -4"),
        (lambda: saved.collect(frame, float("nan"), key=SEED), "collect.budget is nan"),
        (lambda: saved.collect(frame, 40, floor=2, key=SEED), "floor is 2: .* and up to 1"),
        (lambda: saved.collect(frame, 40, batches=0, key=SEED), "batches is 0: give a whole"),
        (lambda: saved.collect(frame, 40, batches=1.5, key=SEED), "batches is 1.5: give a whole"),
        (lambda: saved.collect(frame, 40, key=SEED, **{"for": "top"}), "for is top, .* of a log"),
        (lambda: saved.collect(frame, 40, key=SEED, **{"for": "f1"}), "for is 'f1': choose mean"),
        (lambda: saved.collect(frame, key=SEED, **aim, half_width=0.1), words_of_aim),
        (lambda: saved.collect(frame, 40, key=SEED, **aim, by="who"), words_of_aim),
        (lambda: plan.with_labels("labels"), "give a data frame"),
        (lambda: saved.collect(frame, 40, key=SEED, price="x"), "collect has no 'price'"),
        (lambda: saved.collect(frame, 40, key=SEED, cost="x"), "no column 'x'"),
        (lambda: saved.collect(frame.drop(columns="who"), 40, key=SEED), "no column 'who'"),
        (lambda: saved.collect(frame[frame["y"].notna()], 40, key=SEED), "there is none"),
        (lambda: plan.with_labels(labels.drop(columns="y")), "no column 'y'"),
        (lambda: plan.with_labels(labels.assign(who=["?", *labels["who"][1:]])), "1 ids"),
        (lambda: plan.with_labels(labels.assign(who=[other, *labels["who"][1:]])), "by hand"),
        (lambda: plan.with_labels(labels.assign(y="")), "10 labels are needed at least"),
        (lambda: plan.with_labels(labels.assign(order=range(40, 0, -1))), "was sorted or changed"),
        (lambda: plan.with_labels(labels.assign(plan="abcdefghijkl")), "40 rows of another plan"),
        (lambda: saved.with_labels(labels.drop(columns="chance"), frame), "no column 'chance'"),
        (lambda: saved.with_labels(labels.assign(chance=1.0), frame), "for some 40 rows without"),
        (lambda: saved.with_labels(labels.assign(chance=1e-5), frame), "some 4,000,000 rows"),
        (lambda: saved.with_labels(labels.head(12), frame), "leave rows without an answer in"),
    ):
        with pytest.raises(CounterweightError, match=words):
            broken()
    if saved.binary:
        with pytest.raises(CounterweightError, match="does not know"):
            plan.with_labels(labels.assign(y=["?", *labels["y"][1:]]))
    # A column of one's own that has the name of one of a plan says nothing of it.
    assert plan.with_labels(labels.assign(plan="gold", order=7)).mean.rows == 40


def test_the_range_of_a_half_width_is_that_of_the_odds_it_goes_over():
    """Of rows that are alike it goes as their spread, which is largest at one half."""
    chance = np.full(4000, 0.05)
    ((low, high),) = spans_of([chance], np.full(4000, 0.2), 3.0)

    def at(p):
        return expected_half_width(chance, np.full(4000, np.sqrt(p * (1 - p))))

    # Odds of 1 in 4, over and times 3.
    assert low == pytest.approx(at(1 / 13)) and high == pytest.approx(at(3 / 7))
    assert low < at(0.2) < high
    ((low, high),) = spans_of([chance], np.full(4000, 0.4), 3.0)
    assert high == pytest.approx(at(0.5), rel=1e-3)
    # Estimates that are sure may be so for nothing: then it is that of their mean.
    ((_, high),) = spans_of([chance], np.tile([1e-6, 1 - 1e-6], 2000), 1.0)
    assert high == pytest.approx(at(0.5))


def test_a_rows_outcome_moves_the_auc_by_the_pairs_that_it_is_in():
    """Against the AUC of soft labels itself, with a row a little more of a positive."""
    p = np.random.default_rng(1).choice([0.1, 0.3, 0.35, 0.6, 0.9], 40)

    def auc(ones, zeros):
        gap = np.sign(p[:, None] - p[None, :])
        return ones @ ((gap + 1) / 2) @ zeros / ones.sum() / zeros.sum()

    step, moved = 1e-6, []
    for row in range(40):
        more = step * np.eye(40)[row]
        up = auc(p + more, 1 - p - more)
        down = auc(p - more, 1 - p + more)
        moved.append(abs(up - down) / (2 * step) * 40)
    assert np.abs(np.subtract(*moves_of_auc(p))) == pytest.approx(moved, rel=1e-5)


EXPLORE = {"share": 0.1, "monthly": 400, "months": 6, "loss": 900.0, "gain": 100.0, "by": None}
ASKED = {"floor": None, "cost": None, "batches": 1}


def refused(p, group=""):
    """Rows that would be refused, with the chances `p` of the outcome."""
    own = np.full(len(p), group, object) if isinstance(group, str) else group
    ones = np.ones(len(p))
    return PlannedRows(p, np.sqrt(p * (1 - p)), ones, None, ones, own, True, ASKED)


def test_decisions_by_chance_have_the_chances_that_were_said_and_go_on():
    rng = np.random.default_rng(3)
    p, group = rng.uniform(0.1, 0.6, 400), np.array(["far", "near"] * 200, object)
    rows, ids = refused(p, group), [f"r{k}" for k in range(400)]
    shares, y = {"far": 0.3, "near": 0.1}, (rng.random(400) < p).astype(float)
    drawn, found = np.zeros(400), []
    for seed in range(200):
        plan, _ = explored(rows, ids, key_of_seed(seed), EXPLORE | {"share": shares, "by": "g"})
        mask, chance = plan["drawn"].to_numpy(), plan["chance"].to_numpy()
        drawn += mask
        if seed < 100:
            found.append(collected_mean(y, chance, mask, p))
    for name, share in shares.items():
        seen = drawn[group == name].mean() / 200
        assert seen == pytest.approx(share, abs=4 * np.sqrt(share / 40_000))
    # What comes back is a sample with known chances: no assumption on who was refused.
    values = np.array([one.value for one in found])
    assert values.mean() == pytest.approx(y.mean(), abs=4 * values.std() / 10)
    assert np.mean([one.low <= y.mean() <= one.high for one in found]) >= 0.88
    less, more = (
        explored(rows, ids, key_of_seed(1), EXPLORE | {"share": share})[0]["drawn"]
        for share in (0.1, 0.2)
    )
    assert (more | ~less).all() and more.sum() > less.sum()
    wrong = {"share": {"near": 0.1, "fra": 0.3}, "by": "g"}
    with pytest.raises(CounterweightError, match="no share for far.*It names fra, which no such"):
        explored(rows, ids, key_of_seed(1), EXPLORE | wrong)


def test_what_exploring_costs_and_teaches_is_what_its_chances_say():
    p = np.full(500, 0.3)
    months = explored(refused(p), [f"r{k}" for k in range(500)], key_of_seed(1), EXPLORE)[
        1
    ].set_index("month")
    assert months.loc[3, "labels"] == pytest.approx(0.1 * 400 * 3)
    assert months.loc[3, "events"] == pytest.approx(0.1 * 400 * 3 * 0.3)
    rare = explored(refused(1 - p / 2), [f"r{k}" for k in range(500)], key_of_seed(1), EXPLORE)[1]
    assert rare.set_index("month").loc[3, "events"] == pytest.approx(0.1 * 400 * 3 * 0.15)
    assert months.loc[3, "cost"] == pytest.approx(0.1 * 400 * 3 * (0.3 * 900 - 0.7 * 100))
    odds = 3 * 0.3 / 0.7
    worse = odds / (1 + odds)
    assert months.loc[1, "most"] == pytest.approx(40 * (worse * 900 - (1 - worse) * 100))
    # Of 240 rows in six months, about as a simple sample of them.
    assert months.loc[6, "half_width"] == pytest.approx(1.97 * np.sqrt(0.21 / 240), rel=0.02)
    assert (np.diff(months["half_width"]) < 0).all()
    free = explored(
        refused(p), [f"r{k}" for k in range(500)], key_of_seed(1), EXPLORE | {"loss": None}
    )[1]
    assert free["cost"].isna().all()


def test_outcomes_that_are_there_change_what_exploring_costs_and_not_who_is_drawn():
    rows, ids = refused(np.full(500, 0.3)), [f"r{k}" for k in range(500)]
    asked = rows, ids, key_of_seed(1), EXPLORE
    (plan, before), (same, after) = explored(*asked), explored(*asked, refused(np.full(500, 0.5)))
    pd.testing.assert_frame_equal(plan, same)
    assert after.loc[0, "cost"] == pytest.approx(40 * (0.5 * 900 - 0.5 * 100))
    assert after["most"].isna().all() and before["most"].notna().all()
    wider = after["half_width"] / before["half_width"]
    np.testing.assert_allclose(wider, np.sqrt(0.25 / 0.21), rtol=0.01)


def test_a_saved_model_explores_and_takes_the_outcomes_that_come(study):
    saved, frame, truth = study
    if not saved.binary:
        with pytest.raises(CounterweightError, match="two classes, and this one is a number"):
            saved.explore(frame, 0.4, 100, key=SEED)
        return
    plan = saved.explore(frame, 0.4, 100, key=SEED, loss=5)
    assert plan.people["drawn"].sum() == len(plan.frame) > 20
    assert (plan.frame["chance"] == 0.4).all() and (plan.months["cost"] > 0).all()
    bought = plan.with_labels(filled(plan, truth))
    rate = (truth == saved.classes_[1]).mean()
    assert bought.refused == 0 and bought.mean.low < rate < bought.mean.high
    with pytest.raises(CounterweightError, match="chance 0.2 .in the plan 0.4.: a column was"):
        plan.with_labels(filled(plan, truth).assign(chance=0.2))


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"share": 2}, "share is 2: give a number above 0 and up to 1"),
        ({"months": 0}, "months is 0"),
        ({"monthly": -1}, "monthly is -1"),
        ({"share": {"a": 0.1}}, "name the column of strata"),
        ({"month": 3}, "explore has no 'month'"),
    ],
)
def test_exploring_without_a_config_is_checked_alike(wrong, match):
    with pytest.raises(CounterweightError, match=match):
        asked_to_explore(EXPLORE | wrong, True)


def test_the_workflow_explores_by_the_same_coins(tmp_path):
    frame = people(300, 5)
    own, files = delivered(tmp_path, frame, explore={"share": 0.3, "monthly": 50})
    told = pd.read_csv(own.run("collect")["csv"], dtype={"who": str})
    plan = load(files["model"]).explore(frame, 0.3, 50, key=tmp_path / "filter.key")
    assert list(plan.frame["who"]) == list(told["who"]) and (told["chance"] == 0.3).all()


def test_a_plan_for_rates_of_decisions_answers_them_and_says_what_is_wrong(study):
    saved, frame, truth = study
    frame = frame.assign(flag=np.where(frame["age"].fillna(40) > 44, "stop", "go"))
    asked = {"for": "rates", "decision": {"column": "flag", "positive": "stop"}, "by": "member"}
    if not saved.binary:
        with pytest.raises(CounterweightError, match="which is of a class"):
            saved.collect(frame, 100, key=SEED, **asked)
        return
    plan = saved.collect(frame, 120, key=SEED, **asked)
    assert set(plan.people["group"]) == {"no", "yes"}
    found = plan.with_labels(filled(plan, truth)).rates()
    blank = frame[frame["y"].isna()].reset_index(drop=True)
    y = (truth == saved.classes_[1]).to_numpy(float)
    for part in ("", "no", "yes"):
        mine = ((blank["member"] == part) | (part == "")).to_numpy()
        d = (blank["flag"] == "stop").to_numpy(float)[mine]
        error, coverage = found["error", part], found["coverage", part]
        assert coverage.low == coverage.high == pytest.approx(d.mean())
        assert abs(error.value - (d != y[mine]).mean()) < 3.5 * error.standard_error
    with pytest.raises(CounterweightError, match="rates are of a plan with for: rates"):
        plan = saved.collect(frame, 120, key=SEED)
        plan.with_labels(filled(plan, truth)).rates()
    for decision, told in (
        ("flag", "holds text: say by positive"),
        ("since_when", "has no column 'since_when'"),
        ({"column": "flag", "positive": "halt"}, "it is no yes in all"),
        ({"column": "age", "above": 44}, "which is blank in"),
    ):
        with pytest.raises(CounterweightError, match=told):
            saved.collect(frame, 100, key=SEED, **{"for": "rates", "decision": decision})
