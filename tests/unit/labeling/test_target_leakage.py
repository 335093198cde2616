"""What tells an answer, an offer, a reward, a group or who is labeled is named in every family."""

import logging
import string
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling import target_leakage
from counterweight.labeling.column_report import column_report, report_table, secrets_of
from counterweight.labeling.column_statistics import (
    compared,
    known_by_label,
    line_share,
    plane_share,
)
from counterweight.labeling.split import tell_leaks
from counterweight.labeling.target_leakage import FIRST_ROWS, _Told
from counterweight.plan.components import columns_by_role
from counterweight.reporting.study_page import column_doubts
from scipy.special import expit
from test_column_report import ROWS, World, types_of


@pytest.fixture(scope="module")
def world():
    return World()


def asked(frame, roles, **options):
    """Facts by column, of a table that a config asks something of."""
    frame = frame.assign(row=np.arange(len(frame), dtype=np.int32))
    types = types_of(frame)
    secrets = secrets_of(frame, types, roles)
    facts = column_report(frame, types, {}, columns_by_role(roles), secrets=secrets, **options)
    return {fact.column: fact for fact in facts}


def names_left_out(facts):
    return [name for name, fact in facts.items() if fact.use == "left out"]


@pytest.mark.parametrize(
    ("amount", "formula"),
    [
        (lambda a, b: 833 * a * b, "833 × a × b"),
        (lambda a, b: a * b + 5, "a × b + 5"),
        (lambda a, b: np.round(20 * a * b), "20 × a × b"),
        (lambda a, b: np.round(703 * a / b, 1), "703 × a / b"),
        (lambda a, b: 703 * a / b**2, "703 × a^1 × b^-2"),
        (lambda a, b: 3 * a - 0.5 * b + 4, "3 × a - 0.5 × b + 4"),
        (lambda a, b: a * (1 - b), "a - a × b"),
    ],
)
def test_units_hide_no_formula(amount, formula):
    rng = np.random.default_rng(12)
    a, b = np.exp(rng.normal(size=ROWS)), rng.gamma(9, 2, ROWS)
    frame = pd.DataFrame({"a": a, "b": b, "other": rng.normal(size=ROWS), "y": amount(a, b)})
    facts = asked(frame, {"outcome": {"column": "y", "kind": "number"}})
    assert len(names_left_out(facts)) == 1
    assert formula in next(fact.why for fact in facts.values() if fact.use == "left out")
    # Who insists on one of two gives up the other, or insists on both.
    (left,) = names_left_out(facts)
    roles = {"outcome": {"column": "y", "kind": "number"}}
    assert names_left_out(asked(frame, roles, keep=[left])) == [{"a": "b", "b": "a"}[left]]
    assert names_left_out(asked(frame, roles, keep=["a", "b"])) == []
    # A thousandth of noise, and nothing is exact any more.
    noise = 1 + 0.01 * rng.normal(size=ROWS)
    assert not names_left_out(asked(frame.assign(y=frame["y"] * noise), roles))


def test_a_class_is_told_by_which_of_two_columns_is_larger():
    rng = np.random.default_rng(13)
    due, paid = rng.integers(0, 400, (2, ROWS)).astype(float)
    frame = pd.DataFrame({"due": due, "paid": paid, "late": (paid > due).astype(float)})
    facts = asked(frame, {"outcome": "late"})
    (left,) = names_left_out(facts)
    assert "told by which is larger, due or paid" in facts[left].why


def test_a_column_that_says_who_is_labeled_is_left_out_and_one_that_chose_them_stays(world):
    rng, labeled = np.random.default_rng(14), world.x > 0
    columns = {
        "flag": labeled.astype(float),
        "words": np.where(labeled, "taken", rng.choice(["late", "poor"], ROWS)),
        "paid out": np.where(labeled, world.income, 0.0),
        "points": np.round(3 * world.x),
        "office": np.where(labeled, rng.choice(["a", "b"], ROWS), rng.choice(["c", "d"], ROWS)),
    }
    frame = world.frame.assign(**columns, y=np.where(labeled, world.y, np.nan))
    facts = asked(frame, {"outcome": "y"})
    assert names_left_out(facts) == ["flag", "words", "paid out"]
    assert "it says which rows have it" in facts["flag"].why


class Market:
    """Honest columns, offers that were made from them, and answers by a known curve."""

    ROLES = {"offer": "price", "answer": {"column": "answer"}}

    def __init__(self, rows=1000, seed=0):
        rng = self.rng = np.random.default_rng(seed)
        x, wealth = rng.normal(size=(2, rows))
        listed = np.round(np.exp(3 + 0.5 * rng.normal(size=rows)), 2)
        self.discount = rng.choice([0.0, 0.05, 0.1, 0.2], rows)
        self.price = np.round(listed * (1 - self.discount), 2)
        self.answer = (rng.random(rows) < expit(1 + x - 0.1 * (self.price - 20))).astype(float)
        columns = {"x": x, "wealth": wealth, "listed": listed}
        columns["town"] = pd.Series(rng.choice(list("abcdef"), rows), dtype="str")
        self.frame = pd.DataFrame(columns | {"price": self.price, "answer": self.answer})


def offer_leaks(market):
    rng, price, yes = np.random.default_rng(15), market.price, market.answer > 0
    rows = len(price)
    gap = rng.exponential(3, rows) + 0.1
    return {
        # Of the answer.
        "status": np.where(yes, "won", "lost"),
        "stage": np.where(
            yes, rng.choice(["paid", "sent"], rows), rng.choice(["no", "late"], rows)
        ),
        "quantity": yes * (1.0 + rng.poisson(1, rows)),
        "paid": price * yes,
        "budget": np.round(price + np.where(yes, gap, -gap), 2),
        "delivered": np.where(yes, rng.normal(size=rows), np.nan),
        # Of the offer.
        "with tax": np.round(1.19 * price, 2),
        "in whole units": np.round(price),
        "logarithm": np.log(price),
        "left of 500": 500 - price,
        "discount": market.discount,
    }


@pytest.mark.parametrize("name", offer_leaks(Market()))
def test_what_gives_an_answer_or_an_offer_away_is_left_out(name):
    market = Market()
    assert not names_left_out(asked(market.frame, market.ROLES))
    frame = market.frame.assign(**{name: offer_leaks(market)[name]})
    facts = asked(frame, market.ROLES)
    assert names_left_out(facts) == [name]
    assert "columns.keep" in facts[name].why
    kept = asked(frame, market.ROLES, keep=[name])
    assert kept[name].use == "feature"


@pytest.mark.parametrize("prices", [(5.0, 10.0, 15.0), (5.0, 15.0)])
def test_columns_add_nothing_to_an_offer_that_tells_the_answer_by_itself(prices):
    market = Market()
    rng, rows = market.rng, len(market.price)
    price = rng.choice(prices, rows)
    owns, visits = rng.integers(0, 2, rows).astype(float), rng.uniform(10.5, 14.5, rows).round(1)
    frame = market.frame.drop(columns="listed").assign(owns=owns, visits=visits, price=price)
    facts = asked(frame.assign(answer=(price <= 10) * 1.0), market.ROLES)
    assert not names_left_out(facts)
    assert not any(fact.doubt for fact in facts.values())


def test_what_an_offer_was_made_from_stays_however_well_it_tells_it():
    """Prices a percent around a list price, by age in steps, or one for each of many products."""
    market = Market()
    rng, rows = market.rng, len(market.price)
    age = rng.integers(18, 90, rows).astype(float)
    product, rooms = rng.integers(0, 40, rows), rng.integers(1, 9, rows)
    for offer, columns in (
        (market.frame["listed"] * (1 + 0.02 * rng.normal(size=rows)), {}),
        (5.0 + age // 15, {"age": age}),
        (product % 5 + 3.0, {"product": np.array(list(string.ascii_letters))[product]}),
        (90 + 2.0 * product - 0.5 * age + 3.0 * rooms, {"age": age, "rooms": rooms, "n": product}),
    ):
        frame = market.frame.assign(price=offer, **columns)
        assert not names_left_out(asked(frame, market.ROLES))


@pytest.mark.parametrize("names", [("rival", "off", "gap", "share"), ("d", "c", "b", "a")])
@pytest.mark.parametrize("one_sum", [False, True])
def test_of_what_gives_an_offer_what_is_taken_off_another_was_made_from_it(names, one_sum):
    """Discounts vary more than list prices, so that they tell more of the offer than these do."""
    rng = np.random.default_rng(5)
    listed = rng.choice([1.79, 1.89, 1.99], 1000)
    off = rng.choice([0.0, 0.1, 0.2, 0.3, 0.4], 1000)
    rival, theirs = 2 + 0.1 * rng.integers(0, 5, (2, 1000))
    theirs -= 2
    price = listed - off
    gap = rival - theirs - price
    answer = (rng.random(1000) < expit(4 - 2 * price)).astype(float)
    made = dict(zip(names, (rival, off, gap, off / listed), strict=True))
    frame = pd.DataFrame({"listed": listed, "theirs": theirs, "price": price, "answer": answer})
    frame = frame.assign(**made)
    if not one_sum:
        frame["rival, less"] = rival - theirs
    facts = asked(frame, Market.ROLES)
    assert set(names_left_out(facts)) == {*names[1:]}
    assert all(frame[name].nunique() > 1 for name in names)


def test_copies_of_groups_decisions_and_actions_are_left_out_or_refused(world):
    rng = np.random.default_rng(16)
    region = rng.choice(["n", "s", "w"], ROWS)
    code = pd.Series(region).map({"n": 11.0, "s": 12.0, "w": 10.0}).to_numpy()
    state = np.char.add(region.astype(str), rng.choice(list("abc"), ROWS))
    near = np.where(rng.random(ROWS) < 0.95, code, 11)
    frame = world.frame.assign(region=region, code=code, state=state, near=near, y=world.y)
    # A filter is to go by no column that tells a group; promises only pass over the group itself.
    facts = asked(frame, {"balance": ["region"]})
    assert names_left_out(facts) == ["code", "state"]
    assert "columns.keep" in facts["state"].why
    invited = (world.x > 0).astype(float)
    roles = {"outcome": "y", "groups": ["region"], "decision": "invited"}
    facts = asked(frame.assign(invited=invited, called=1 - invited), roles)
    assert names_left_out(facts) == ["code", "called"]
    # Columns that a config names to learn from are refused, unless somebody insists.
    log = world.frame.assign(shown=region, reward=world.y)
    log["spent"], log["slot"] = np.where(world.y > 0, 2.0, 0.0), code
    roles = {"reward": {"column": "reward"}, "propensity": "y", "action": "shown"}
    for column, told in (("spent", "reward"), ("slot", "logged action"), ("x", None)):
        by = roles | {"reward_model.by": [column, "town"]}
        if told is None:
            assert asked(log, by)[column].use == "feature"
            continue
        with pytest.raises(CounterweightError, match=f"{column}.*{told}.*reward_model.by, or name"):
            asked(log, by)
        assert asked(log, by, keep=[column])[column].insisted


def test_what_tells_nearly_as_well_is_a_feature_to_be_looked_at():
    market = Market(3000)
    rng, yes = market.rng, market.answer
    slips = np.where(rng.random(3000) < 0.01, 1 - yes, yes)
    frame = market.frame.assign(slips=slips, score=2.2 * yes + rng.normal(size=3000))
    facts = asked(frame, market.ROLES)
    assert not names_left_out(facts)
    assert "tells the answer very well alone (AUC 0.9" in facts["slips"].doubt
    assert not any(fact.doubt for name, fact in facts.items() if name != "slips")


@pytest.mark.parametrize(
    ("days", "use", "told"),
    [
        (lambda y, z: 200 + 200 * y + 20 * z, "left out", "by the time since opened (AUC 1.0"),
        (lambda y, z: 200 + 64 * y + 20 * z, "feature", "very well by the time since opened"),
        (lambda y, z: 200 + 20 * y + 20 * z, "feature", ""),
    ],
)
def test_the_time_between_two_dates_tells_how_a_case_ended(days, use, told):
    rng, rows = np.random.default_rng(3), 2000
    y, opened = rng.random(rows) < 0.3, rng.integers(15000, 18000, rows).astype(float)
    frame = pd.DataFrame({"row": np.arange(rows, dtype=np.int32), "opened": opened})
    frame["closed"] = opened + days(y, rng.normal(size=rows)).round()
    frame["y"] = np.where(rng.random(rows) < 0.5, y, np.nan)
    types = types_of(frame) | dict.fromkeys(("opened", "closed"), "date")
    by = columns_by_role({"outcome": "y"})
    for keep in ([], ["closed"]):
        secrets = secrets_of(frame, types, {"outcome": "y"})
        facts = column_report(frame, types, {}, by, secrets=secrets, keep=keep)
        found = {fact.column: fact for fact in facts}
        assert found["opened"].use == "feature" and not found["opened"].doubt
        assert found["closed"].use == ("feature" if keep else use)
        assert told in f"{found['closed'].why} {found['closed'].doubt}"
    # Two numbers that are no dates may well differ by it.
    types = types_of(frame)
    secrets = secrets_of(frame, types, {"outcome": "y"})
    facts = column_report(frame, types, {}, by, secrets=secrets)
    assert not any("time since" in f"{fact.why}{fact.doubt}" for fact in facts)


def test_no_strong_and_honest_feature_of_generated_tables_is_named():
    """Scores of AUC .99, numbers of R² .99, list prices two percent off, proxies of AUC .97."""
    named = 0
    for seed in range(6):
        market = Market(400, seed)
        rng, yes, rows = market.rng, market.answer, 400
        frame = market.frame.drop(columns="price")
        frame["score"] = 3.3 * yes + rng.normal(size=rows)
        frame["near"] = market.price * (1 + 0.02 * rng.normal(size=rows))
        frame["region"] = np.where(2.7 * (frame["x"] > 0) + rng.normal(size=rows) > 1.35, "n", "s")
        part = np.where(frame["wealth"] > 0, yes, np.nan)
        number = 10 * frame["wealth"] + 3 * frame["x"] + rng.normal(size=rows)
        for given, roles in (
            (frame.assign(price=market.price), market.ROLES),
            (frame.assign(answer=part), {"outcome": "answer"}),
            (frame.assign(number=number), {"outcome": {"column": "number", "kind": "number"}}),
            (frame, {"balance": ["region", "town"]}),
            (frame, {"outcome": "answer", "groups": ["region", "town"]}),
        ):
            named += len(names_left_out(asked(given, roles)))
    assert named == 0


def test_the_page_begins_with_what_gives_something_away(tmp_path, world):
    clients = [f"C{number:04d}" for number in range(ROWS)]
    facts = world.report(copy=world.y, after=world.y * 2, client=clients)
    kept = world.report(copy=world.y, keep=["copy"])
    numbers = SimpleNamespace(
        plan={"dataset": "mine", "source": "own"},
        results=tmp_path / "results",
        places=lambda *_, **__: [],
    )
    assert column_doubts(numbers) == []
    path = tmp_path / "results" / "tables" / "mine.columns.csv"
    path.parent.mkdir(parents=True)
    for told, begins in ((facts, "Left out"), (kept, "Kept as requested")):
        pd.DataFrame(report_table(told.values())).to_csv(path, index=False)
        (said,) = (sentence.text for sentence in column_doubts(numbers))
        assert said.startswith(begins)
        assert "copy (a copy of the outcome)" in said
        assert ("after (" in said) == (told is facts)
        assert "client" not in said


def test_a_study_by_hand_is_told_of_what_gives_its_outcome_away(world, caplog):
    frame = world.frame.assign(copy=world.y * 2 + 1)
    given = {"outcome": {"options": {"column": "y"}}, "features": {"options": {}}}

    def outcome(frame, population):
        return frame["y"].to_numpy()

    with caplog.at_level(logging.WARNING, logger="counterweight"):
        tell_leaks(frame, outcome, given, logging.getLogger("counterweight"))
    (told,) = caplog.messages
    assert told.startswith("The feature 'copy': a copy of the outcome. Leave it out")
    caplog.clear()
    for options in ({"drop": ["copy"]}, {"columns": ["x"]}):
        tell_leaks(frame, outcome, given | {"features": {"options": options}}, logging.getLogger())
    assert not caplog.messages


def test_codes_tell_by_level_and_numbers_by_what_is_near():
    """Codes of a class each at random; and a class of the numbers far from 0, none alike."""
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(200), 20)
    assert _Told(rng.integers(0, 2, 200)[codes].astype(float)).alone(codes) == 1.0
    x = rng.normal(size=4000)
    assert _Told((np.abs(x) > 1).astype(float)).alone(x) > 0.99
    order = np.argsort(np.argsort(x))
    assert abs(_Told((np.abs(x) > 1).astype(float)).alone(order) - 0.5) < 0.05


@pytest.mark.parametrize(("known", "told"), [(24, False), (25, True), (60, True)])
def test_a_quarter_of_the_rows_has_to_be_known(known, told):
    y = np.arange(100) % 2.0
    X = np.where(np.arange(100) < known, y, np.nan)[None]
    assert (line_share(y, X)[0] > 0.99) == told
    assert (plane_share(y, np.ones(100), X)[0] > 0.99) == told
    assert (compared(y, np.full(100, 0.5), X)[0] > 0.99) == told


@pytest.mark.parametrize(
    ("labeled", "others", "name"),
    [(100, 0, "labeled"), (10, 0, "labeled"), (9, 0, ""), (100, 1, "labeled"), (100, 2, "")],
)
def test_a_column_is_known_by_label_from_a_tenth_of_the_rows(labeled, others, name):
    rows = np.arange(300)
    is_labeled, present = rows < 100, (rows < labeled) | ((rows >= 100) & (rows < 100 + others))
    assert known_by_label(present, is_labeled) == name
    flipped = {"labeled": "unlabeled", "": ""}
    assert known_by_label(present, ~is_labeled) == flipped[name]
    assert known_by_label(present[91:], is_labeled[91:]) == "", "nine rows of one sort say nothing"


def test_a_level_tells_by_its_share_and_not_by_its_rows():
    """Of many rows one in five is a 1, of few nearly all: AUC as computed by hand."""
    codes = np.repeat([0, 1], [200, 40])
    y = np.r_[np.tile([1.0, 0, 0, 0, 0], 40), np.tile([1.0, 1, 1, 1, 0], 8)]
    ones, zeros = np.bincount(codes, y), np.bincount(codes, 1 - y)
    area = (ones[1] * zeros[0] + 0.5 * (ones * zeros).sum()) / (ones.sum() * zeros.sum())
    assert _Told(y).alone(codes) == pytest.approx(area, abs=0.01)


@pytest.mark.parametrize("classes", [True, False])
def test_a_first_look_is_at_few_rows_of_every_value(classes):
    """Of a class as many of either as there can be, of a number rows over all of it."""
    rows = np.arange(5.0 * FIRST_ROWS)
    first = _Told(rows % 2 if classes else rows / 7).first
    assert len(first.y) == FIRST_ROWS and first.classes == classes
    assert first.at.min() < 10 and first.at.max() > len(rows) - 20
    assert not classes or first.counts.tolist() == [FIRST_ROWS / 2] * 2
    assert _Told(rows[: 2 * FIRST_ROWS]).first is None


@pytest.mark.parametrize("role", ["id", None], ids=["id", "left out"])
@pytest.mark.parametrize("late", [0.0, 0.7, 1.0], ids=["by chance", "mostly late", "late"])
def test_the_order_of_ids_that_tells_who_has_an_outcome_is_told(role, late):
    """Later numbers are without an outcome; the AUC by pairs, and nothing where it is chance."""
    rng = np.random.default_rng(3)
    rows = 400
    number = np.arange(1, rows + 1)
    hidden = np.where(rng.random(rows) < late, number > 250, rng.random(rows) < 0.4)
    outcome = np.where(hidden, np.nan, rng.normal(size=rows))
    frame = pd.DataFrame({"customer": number, "x": rng.normal(size=rows), "y": outcome})
    roles = {"outcome": {"column": "y", "kind": "number"}} | ({"id": "customer"} if role else {})
    fact = asked(frame, roles)["customer"]
    assert fact.use == ("role" if role else "left out")
    seen, blank = number[~hidden], number[hidden]
    auc = (blank[:, None] > seen).mean()
    assert (f"have larger values of it (AUC {auc:.2f})" in fact.doubt) == (late > 0)
    assert not asked(frame, roles)["x"].doubt
    kept = asked(frame, {"outcome": roles["outcome"]}, keep=["customer"])["customer"]
    assert kept.use == "feature" and "AUC" not in kept.doubt


@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("hidden", ["groups", "below", "chance"])
def test_rows_that_have_an_outcome_by_groups_are_told(kind, hidden):
    """Whole branches are without an outcome; those below a number are no groups, nor is chance."""
    rng = np.random.default_rng(4)
    branch, x = rng.permutation(np.repeat(np.arange(60), 8)), rng.normal(size=480)
    by_branch, by_row = rng.random(60) < 0.4, rng.random(480) < 0.4
    blank = {"groups": by_branch[branch], "below": branch < 25, "chance": by_row}[hidden]
    column = branch if kind is int else np.char.mod("b%02d", branch)
    frame = pd.DataFrame({"branch": column, "x": x, "y": np.where(blank, np.nan, x)})
    frame["y"] += rng.normal(size=480)
    roles = {"outcome": {"column": "y", "kind": "number"}}
    told = "all rows of one value have an outcome, or none has: if they belong together, name it"
    facts = asked(frame, roles)
    assert (told in facts["branch"].doubt) == (hidden == "groups")
    assert told not in facts["x"].doubt
    assert told not in asked(frame, roles | {"group": "branch"})["branch"].doubt


@pytest.mark.parametrize(("labels", "told"), [(30, True), (31, False), (200, False)])
def test_columns_as_many_as_rows_with_an_outcome_are_told(labels, told):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.normal(size=(200, 30)), columns=[f"x{k}" for k in range(30)])
    frame["y"] = np.where(np.arange(200) < labels, rng.normal(size=200), np.nan)
    doubt = asked(frame, {"outcome": {"column": "y", "kind": "number"}})["y"].doubt
    assert ("30 rows have an outcome, and 30 columns are learned from" in doubt) == told


@pytest.mark.parametrize("kept", [(), ("zip",)])
@pytest.mark.parametrize("by", ["zip", "chance"])
def test_a_text_of_too_many_values_by_which_outcomes_are_missing_is_told(by, kept):
    """As none is in rows enough to learn from, no answer can go by it."""
    rng = np.random.default_rng(5)
    place, effect = rng.integers(0, 400, 900), 1.5 * rng.normal(size=400)
    chance = 1 / (1 + np.exp(-effect[place])) if by == "zip" else np.full(900, 0.5)
    y = np.where(rng.random(900) < chance, rng.normal(size=900), np.nan)
    frame = pd.DataFrame({"zip": np.char.mod("Z%03d", place), "x": rng.normal(size=900), "y": y})
    doubt = asked(frame, {"outcome": {"column": "y", "kind": "number"}}, keep=kept)["zip"].doubt
    assert ("two rows of one value agree in whether they have an outcome" in doubt) == (by == "zip")
    assert ("by chance in 50 %" in doubt) == (by == "zip")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("goes", ["names", "trend", "limit", "season", "chance"])
def test_codes_that_are_held_as_numbers_are_told_by_who_has_an_outcome(goes, seed):
    """Shares that go up, by a limit, by a season or not at all are those of a number."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 30, 1500)
    logit = {
        "names": rng.normal(size=30)[code],
        "trend": code / 5 - 3,
        "limit": np.where(code < 12, -1.5, 2.0),
        "season": 2 * np.sin(code / 30 * 2 * np.pi),
        "chance": 0.3 + 0 * code,
    }[goes]
    seen, x = rng.random(1500) < 1 / (1 + np.exp(-logit)), rng.normal(size=1500)
    frame = pd.DataFrame({"branch": 100 + 7 * code, "x": x, "y": np.where(seen, x, np.nan)})
    frame["y"] += rng.normal(size=1500)
    facts, told = asked(frame, {"outcome": {"column": "y", "kind": "number"}}), "columns.text"
    assert (told in facts["branch"].doubt) == (goes == "names")
    assert told not in facts["x"].doubt


@pytest.mark.parametrize(("others", "left_out"), [(1, True), (2, True), (3, False), (60, False)])
def test_a_number_that_rows_with_an_outcome_have_one_value_of_is_a_state_or_a_cut(others, left_out):
    """Only who has no debt was chosen: nobody with one has an outcome, which support has to see."""
    rng = np.random.default_rng(6)
    debt = np.where(rng.random(400) < 0.5, 0, 1 + np.arange(400) % others)
    y = np.where(debt == 0, rng.normal(size=400), np.nan)
    frame = pd.DataFrame({"debt": debt, "x": rng.normal(size=400), "y": y})
    fact = asked(frame, {"outcome": {"column": "y", "kind": "number"}})["debt"]
    assert (fact.use == "left out") == left_out
    assert ("one value in all rows with an outcome and in no other" in fact.why) == left_out
    assert ("if it only says who has one, leave it out" in fact.doubt) == (not left_out)


@pytest.mark.parametrize("kind", [float, str])
@pytest.mark.parametrize(
    ("column", "found"),
    [("away", 1), ("nearly", 1), ("stage", 1), ("seldom", 1)]
    + [("chosen", 2), ("rare", 0), ("few", 0), ("often", 0)],
)
def test_a_default_that_all_rows_without_an_outcome_have_is_told(kind, column, found):
    """Reminders come with a yes, and stay 0 where nothing is known yet, but in three rows, or with
    two values, or of few; a rule is to be looked at; what few have is 0 there by chance."""
    rng = np.random.default_rng(8)
    y, known = rng.random(900) < 0.4, rng.random(900) < 0.6
    sent = 1 + rng.poisson(2, 900)
    values = {
        "away": np.where(y & (rng.random(900) < 0.8), sent, 0),
        "nearly": np.where(y & (rng.random(900) < 0.8), sent, 0),
        "often": np.where(y & (rng.random(900) < 0.8), sent, 0),
        "stage": np.where(y & known, 1 + np.arange(900) % 3, np.arange(900) % 2),
        "seldom": np.where(y & (rng.random(900) < 0.15), 1, 0),
        "chosen": np.where(rng.random(900) < 0.5, sent, 0),
        "rare": np.where(rng.random(900) < 0.03, sent, 0),
        "few": np.where(rng.random(900) < 0.5, sent, 0),
    }[column]
    values = values if column == "stage" else np.where(known, values, 0)
    # Of 354 rows without an outcome three, or forty, have a value that is no default.
    some = np.flatnonzero(~known)[: {"nearly": 3, "often": 40}.get(column, 0)]
    values[some] = sent[some]
    values = values.astype(kind)
    x, y = rng.normal(size=900), np.where(known, y, np.nan)
    if column == "few":
        some = np.flatnonzero(known)[:300]
        some = np.append(some, np.flatnonzero(~known)[:9])
        values, x, y = values[some], x[some], y[some]
    frame = pd.DataFrame({"sent": values, "x": x, "y": y})
    fact = asked(frame, {"outcome": {"column": "y", "positive": 1}})["sent"]
    assert ("it may be filled in afterwards" in fact.why) == (found == 1)
    assert (fact.use == "left out") == (found == 1)
    assert ("all rows without an outcome have one value of it" in fact.doubt) == (found == 2)


def test_codes_of_a_number_in_steps_tell_it_whatever_their_order_and_sizes():
    rng = np.random.default_rng(7)
    y = rng.exponential(size=4000)
    steps = np.digitize(y, np.linspace(0, 5, 60))
    codes = rng.permutation(steps.max() + 1)[steps]
    assert target_leakage._one_number(codes, y)
    assert not target_leakage._one_number(rng.permutation(codes), y)


def test_levels_that_go_with_each_other_are_a_copy_only_if_nearly_all_rows_do():
    """Codes by other names are the same column; of few rows that go their own way it is not."""
    rng = np.random.default_rng(0)
    secret = np.repeat(np.arange(2), 350)
    assert target_leakage.copied(7 - 3 * secret, secret)
    assert not target_leakage.copied(rng.permutation(secret), secret)
    assert not target_leakage.copied(np.zeros(700, int), secret)
    rare = np.append(secret, 10 + np.arange(300) // 2)
    assert target_leakage.copied(rare[::-1].copy(), rare[::-1].copy())
    mixed = np.append(secret, 10 + rng.permutation(300) // 2)
    assert not target_leakage.copied(mixed, rare)


@pytest.mark.parametrize("power", range(-3, 5))
def test_the_step_of_values_is_the_power_of_ten_of_which_all_are_multiples(power):
    step, rng = 10.0**power, np.random.default_rng(0)
    whole = rng.integers(-900, 900, 40) * 10 + rng.integers(1, 10, 40)
    assert target_leakage._step(whole * step) == pytest.approx(step, rel=1e-12)
    # Digits far beyond the eighth are rounding.
    long = (12_345_670 + whole) * step * (1 + 1e-10 * rng.uniform(-1, 1, 40))
    assert target_leakage._step(long) == pytest.approx(step, rel=1e-12)
    assert target_leakage._step(rng.normal(size=40) * step) == 0.0


@pytest.mark.parametrize("unit", [1e-3, 1.0, 100.0])
def test_an_outcome_of_any_unit_is_made_of_columns_where_it_is_rounded_and_not_where_it_is_near(
    unit,
):
    x, z = (rng := np.random.default_rng(1)).random((2, 800))
    y = 0.4 * x + 0.3 * z + 0.1
    near = unit * (y + 2e-3 * rng.normal(size=800))
    assert target_leakage._exact(near, x, z) == []
    told = target_leakage._exact(unit * np.round(y, 2), x, z)
    np.testing.assert_allclose(told, unit * np.array([0.4, 0.3, 0.1]), rtol=0.01)
