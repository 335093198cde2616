"""What a study of offers gives away: saved, loaded, delivered, applied to new people."""

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.datasets.own_table import read_typed
from counterweight.delivery.saved_offers import DRAWS
from counterweight.errors import CounterweightError
from counterweight.models.choice.offer_limits import _by_draws
from counterweight.plan import components
from counterweight.tables.parquet import model_arrays, model_table, read_facts, write_table
from counterweight.tables.saved_form import write_saved
from priced_survey import PRICE, QUICK, features_of, saved_of, survey
from scipy.special import expit
from stage_jobs import run_script

FAMILY = [
    name for name in components.registry("model") if components.task_of("model", name) == "offers"
]
SETTINGS = [(name, "") for name in FAMILY if name != "predictive_choice"]
SETTINGS += [("predictive_choice", "hard"), ("predictive_choice", "soft")]


@pytest.fixture(scope="module")
def family():
    return {pair: saved_of(*pair) for pair in SETTINGS}


def same(one, other, tol=1e-12):
    """Offers and decisions exactly, numbers to a tolerance."""
    assert [*one.columns] == [*other.columns]
    for name in one:
        a, b = one[name].to_numpy(), other[name].to_numpy()
        if name in ("best_p", "best_revenue", "segment_p", "p", "revenue"):
            assert np.allclose(a, b, rtol=tol, atol=tol, equal_nan=True), name
        else:
            assert pd.Series(a).equals(pd.Series(b)), name


@pytest.mark.parametrize("model", FAMILY)
def test_a_stored_model_predicts_as_before(model):
    frame = survey(400)
    _, X = features_of(frame)
    t = 1 - frame["price"].to_numpy() / 60
    kind = components.load("model", model)
    fitted = kind(**QUICK.get(model, {}))
    fitted.fit(X, (frame["bought"] == "yes").to_numpy(float), t, rng=np.random.default_rng(0))
    stored = model_arrays(model_table(fitted.to_arrays(), 0, "general").to_pandas())
    for arrays in (fitted.to_arrays(), stored):
        again = kind.from_arrays(arrays)
        assert np.array_equal(again.predict_acceptance(X, t), fitted.predict_acceptance(X, t))


@pytest.mark.parametrize("pair", SETTINGS)
def test_what_is_loaded_prices_as_what_was_saved(family, pair, tmp_path):
    saved, frame = family[pair], survey(300, seed=5)
    write_saved(tmp_path / "model.parquet", *saved.to_saved())
    loaded = load(tmp_path)
    same(saved.optimal_offers(frame), loaded.optimal_offers(frame), 0)
    assert np.array_equal(saved.acceptance(frame, 20.0), loaded.acceptance(frame, 20.0))
    assert loaded.facts == saved.facts


@pytest.mark.parametrize("pair", SETTINGS)
def test_offers_are_within_what_was_made_and_within_their_interval(family, pair):
    table = family[pair].optimal_offers(survey())
    offer = table["best_offer"]
    assert (offer >= table["offered_min"]).all() and (offer <= table["offered_max"]).all()
    if not family[pair]._pricer.has_draws:
        assert pair[0] in ("logistic_tree", "offer_naive_bayes", "offer_tree")
        assert table[["low", "high"]].isna().all(axis=None)
    else:
        assert ((table["low"] <= offer) & (offer <= table["high"])).all()
        assert (table["high"] > table["low"]).mean() > 0.5
        assert (table["low"] >= table["offered_min"]).all()
        assert (table["high"] <= table["offered_max"]).all()
    assert table["best_p"].between(0, 1).all()
    assert np.allclose(table["best_revenue"], table["best_p"] * offer)
    held = table["supported"] & (table["reason"] != "")
    ends = (offer == table["offered_max"]) | (offer == table["offered_min"])
    assert ends[held].all() and table["supported"].mean() > 0.97


@pytest.mark.parametrize("pair", SETTINGS)
def test_no_other_offer_within_the_range_earns_more(family, pair):
    saved, frame = family[pair], survey(200, seed=3)
    table = saved.optimal_offers(frame)
    for share in np.linspace(0, 1, 23):
        other = (1 - share) * table["offered_min"] + share * table["offered_max"]
        earned = saved.acceptance(frame, other) * other
        assert (earned <= table["best_revenue"] * (1 + 1e-3) + 1e-9).all()
    chance = saved.acceptance(frame, table["best_offer"])
    assert np.allclose(chance, table["best_p"], rtol=1e-12)


@pytest.mark.parametrize("pair", SETTINGS)
def test_order_and_batches_do_not_matter(family, pair):
    saved, frame = family[pair], survey()
    whole = saved.optimal_offers(frame)
    order = np.random.default_rng(2).permutation(len(frame))
    mixed = saved.optimal_offers(frame.iloc[order]).iloc[np.argsort(order)]
    same(whole, mixed.reset_index(drop=True))
    parts = [frame.iloc[start : start + 7] for start in range(0, 70, 7)]
    same(whole[:70], pd.concat([saved.optimal_offers(p) for p in parts], ignore_index=True))


def test_intervals_shrink_with_the_square_root_of_the_rows():
    def width(rows):
        table = saved_of("offer_logistic", "", survey(rows, seed=8)).optimal_offers(survey(200))
        return (table["high"] - table["low"]).mean()

    assert 1.3 < width(1000) / width(4000) < 3.1


def test_intervals_cover_the_best_price_where_the_model_holds():
    """One line of log-odds for everybody: the best price of the true line is in 9 of 10."""
    covered = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, price = rng.normal(size=400), rng.uniform(0, 60, 400)
        bought = rng.random(400) < expit((25 + 4 * x - price) / 6)
        frame = pd.DataFrame({"x": x, "price": price, "bought": np.where(bought, "yes", "no")})
        frame.insert(0, "customer", np.arange(len(frame)))
        table = saved_of("offer_logistic", "", frame).optimal_offers(frame)
        line = np.linspace(0, 60, 6001)
        earned = expit((25 + 4 * np.array([[-1.0], [0.0], [1.0]]) - line) / 6) * line
        best = line[earned.argmax(axis=1)]
        near = [np.abs(x - at).argmin() for at in (-1, 0, 1)]
        covered.append(table["low"].to_numpy()[near] <= best)
        covered[-1] &= best <= table["high"].to_numpy()[near]
    assert np.mean(covered) >= 0.75


def test_intervals_hold_the_best_offers_of_rivals_too(family, tmp_path):
    """Offers and chances stay those of the model; a loaded one has the same rivals."""
    people, plain = survey(300, seed=5), family["offer_logistic", ""].optimal_offers
    other = family["offer_tree", ""]
    rival = {"model": "offer_tree", "options": {}, "setting": "", "arrays": other.model.to_arrays()}
    saved = saved_of("offer_logistic", "", rivals=[rival])
    write_saved(tmp_path / "model.parquet", *saved.to_saved())
    same(saved.optimal_offers(people), load(tmp_path).optimal_offers(people), 0)
    alone, found, its = plain(people), saved.optimal_offers(people), other.optimal_offers(people)
    assert alone["best_offer"].equals(found["best_offer"])
    assert np.array_equal(found["low"], np.minimum(alone["low"], its["best_offer"]))
    assert np.array_equal(found["high"], np.maximum(alone["high"], its["best_offer"]))
    assert (found["high"] > alone["high"]).any()
    # For a capacity they count as much as all draws together.
    X, choice = saved.encode(people), np.zeros(len(people), dtype=int)
    means, _ = _by_draws(saved, X, choice, np.array([20.0]))
    assert len(means) == 2 * DRAWS
    assert np.allclose(means[DRAWS:], other.accepted(X, np.full(len(X), 20.0)).sum())


def of_shops(size, seed=0):
    """Saved offers of a survey of which many shops are in few rows, its people, their best price.

    What a shop's people pay differs by `size` between shops, rare ones as much as others.
    """
    rng = np.random.default_rng(seed)
    often = np.r_[np.full(12, 6.0), np.full(30, 0.8)]
    shop = rng.choice(42, 1200, p=often / often.sum())
    price = rng.uniform(5, 45, 1200).round(2)
    worth = 25 + size * rng.normal(size=42)[shop]
    bought = rng.random(1200) < expit((worth - price) / 4)
    told = {"customer": [f"C{i:05d}" for i in range(1200)], "age": rng.normal(size=1200)}
    told |= {"shop": [f"s{k}" for k in shop], "price": price}
    frame = pd.DataFrame(told | {"bought": np.where(bought, "yes", "no")})
    saved = saved_of("offer_additive", "", frame, least_rows=15)
    line = np.linspace(5, 45, 801)
    best = line[(expit((worth[:, None] - line) / 4) * line).argmax(axis=1)]
    return saved, frame, best, (frame.groupby("shop")["price"].transform("size") < 15).to_numpy()


def test_intervals_of_people_with_a_rare_level_hold_what_other_levels_get(monkeypatch):
    saved, frame, best, rare = of_shops(6.0)
    assert 0.1 < rare.mean() < 0.4
    offers = saved.optimal_offers(frame)
    monkeypatch.setattr(type(saved), "_as_known_levels", lambda *told: iter(()))
    alone = saved.optimal_offers(frame)
    assert offers["best_offer"].equals(alone["best_offer"])

    def holds(told):
        return ((told["low"] <= best) & (best <= told["high"])).to_numpy()

    # Of twelve known levels the range holds another one with chance 11/13; there are thirty others.
    least = 11 / 13 - 2 * np.sqrt(11 / 13 * 2 / 13 / 30)
    assert holds(alone)[rare].mean() < 0.7 < least < holds(offers)[rare].mean()
    assert offers["supported"].equals(alone["supported"])
    assert offers.loc[~rare, ["low", "high"]].equals(alone.loc[~rare, ["low", "high"]])
    told = offers["reason"] == saved.pooled_reasons()["shop"]
    assert told[rare].mean() > 0.9 and not told[~rare].any()


def test_two_people_of_a_rare_level_bound_nobody(tmp_path):
    """Nor do they stand for a level never seen, whose people get offers of any known level."""
    frame = survey(900)
    people = frame.index[:2]
    frame.loc[people, "town"], frame.loc[people, "price"] = "isle", [6.0, 8.0]
    frame.loc[people, "bought"] = "no"
    saved = saved_of("offer_additive", "", frame, least_rows=9)
    write_saved(tmp_path / "model.parquet", *saved.to_saved())
    new = survey(200, seed=6)
    known = [
        saved.optimal_offers(new.assign(town=town)) for town in saved.encoder.categories("town")
    ]
    best = np.array([one["best_offer"] for one in known])
    for one in (saved, load(tmp_path)):
        moon, isle = (one.optimal_offers(new.assign(town=town)) for town in ("moon", "isle"))
        assert set(moon["reason"]) == {"a value of town that was never seen"}
        assert not moon["supported"].any()
        assert (isle["offered_min"] < 6).all() and (isle["offered_max"] > 50).all()
        for found in (moon, isle):
            assert (found["low"] <= best.min(axis=0)).mean() > 0.95
            assert (found["high"] >= best.max(axis=0)).mean() > 0.95


def test_a_rare_level_of_a_column_that_tells_nothing_is_not_told_of():
    saved, frame, _, rare = of_shops(0.0)
    told = saved.optimal_offers(frame)["reason"] == saved.pooled_reasons()["shop"]
    assert told[rare].mean() < 0.1


def test_only_offers_of_a_grid_are_made():
    grid = [10.0, 14.99, 19.99, 29.99, 49.99]
    for model, setting in SETTINGS:
        saved = saved_of(model, setting, offer=PRICE | {"grid": grid})
        table = saved.optimal_offers(survey(150, seed=4))
        for name in ("best_offer", "low", "high"):
            assert set(table[name].dropna()) <= set(grid)
        assert table["supported"].mean() > 0.97
    none = saved_of("offer_logistic", "", offer=PRICE | {"grid": [58.0, 59.0]})
    table = none.optimal_offers(survey(50))
    assert set(table["best_offer"]) == {58.0} and not table["supported"].any()


def test_people_like_nobody_are_flagged(family):
    saved, frame = family["predictive_choice", "soft"], survey(200, seed=6)
    odd = frame.assign(age=150.0)
    assert not saved.optimal_offers(odd)["supported"].any()
    table = family["offer_logistic", ""].optimal_offers(frame.assign(town="moon"))
    assert set(table["reason"]) <= {
        "a value of town that was never seen",
        "unlike nearly everybody whom an offer was made to",
    }
    assert not table["supported"].any()
    for one in family.values():
        assert one.optimal_offers(frame)["supported"].mean() > 0.95


def test_new_people_are_compared_with_those_of_the_fit(family, caplog):
    saved = family["offer_logistic", ""]
    _, X = features_of(survey())
    assert saved.drift(saved.sums(X)) == []
    halves = saved.sums(X[:300]) + saved.sums(X[300:])
    assert np.allclose(halves, saved.sums(X))
    older = saved.encode(survey(400, seed=9).assign(age=lambda f: f["age"] + 30))
    said = saved.drift(saved.sums(older))
    assert len(said) == 1 and "'age' has changed" in said[0] and "outside its range" in said[0]
    caplog.clear()
    saved.optimal_offers(survey(400, seed=9).assign(age=lambda f: f["age"] + 30))
    assert caplog.messages == said


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda f: f.drop(columns="age"), "table of people has no column age"),
        (lambda f: f.assign(age="old"), "'age' holds 'old' where a number is expected"),
        (lambda f: f.assign(age=np.inf), "'age' is infinite"),
        (lambda f: f.iloc[:0], "has no row"),
    ],
)
def test_bad_new_rows_are_told_in_a_sentence(family, change, told):
    with pytest.raises(CounterweightError, match=told):
        family["offer_logistic", ""].optimal_offers(change(survey(50)))


def test_offers_that_cannot_be_made_are_refused(family):
    for offer in (99.0, np.nan):
        with pytest.raises(CounterweightError, match="of 50 people is missing or outside"):
            family["offer_logistic", ""].acceptance(survey(50), offer)
    for offer in ("$6.00", [1.0, 2.0]):
        with pytest.raises(CounterweightError, match="nor one for each of 50 people"):
            family["offer_logistic", ""].acceptance(survey(50), offer)


def test_an_oracle_is_not_delivered():
    with pytest.raises(CounterweightError, match="nobody knows the component"):
        saved_of("offer_logistic", "", per_component=True)


# The stages, on a table of one's own.


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    frame = survey(700, seed=11)
    frame["answer"] = np.where(frame["bought"] == "yes", "Bought", "left")
    frame.loc[frame.index % 7 == 3, "answer"] = None
    frame.loc[frame.index % 14 == 3, "price"] = np.nan
    frame.drop(columns="bought").to_csv(folder / "survey.csv", index=False)
    new = survey(250, seed=12).drop(columns=["price", "bought"])
    new.to_csv(folder / "new.csv", index=False)
    write_table(folder / "table.parquet", read_typed(folder / "survey.csv").frame)
    return folder


def deliver(folder, *pairs):
    """Offers of a survey by the best of some methods and settings."""
    given = {
        "features": {"name": "one_hot", "options": {"drop": ["customer", "price"]}},
        "outcome": {
            "name": "accepts",
            "options": {"column": "answer", "positive": "bought", "blanks": "unanswered"},
        },
        "labeling": {
            "name": "offered",
            "options": {"offer": "price", "low": None, "high": None, "direction": "down"}
            | {"revenue": None, "grid": None, "blanks": "unanswered"},
        },
        "seed": 1,
        "stream": "mine",
        "repeats": 2,
        "test_share": 0.4,
    }
    uses = tuple((part, given[part]["name"]) for part in ("features", "outcome", "labeling"))
    labels = {name: str(folder / f"{name}.parquet") for name in ("features", "labels", "truth")}
    outputs = labels | {"metrics": str(folder / "label.parquet")}
    table = {"table": str(folder / "table.parquet")}
    run_script(
        "label", "tasks.offers:label", given, table | {"known": []}, outputs, folder / "l.log",
        uses, study="mine",
    )  # fmt: skip
    own = given | {
        "study": "mine",
        "title": "Mine",
        "candidates": [
            {"method": f"my-{model}", "model": model, "setting": setting}
            | {"options": QUICK.get(model, {})}
            for model, setting in pairs
        ],
        "everybody": True,
        "methods": [f"my-{model}" for model, _ in pairs],
        "id": "customer",
    }
    files = {"model": "model.parquet", "offers": "offers.parquet", "csv": "offers.csv"}
    run_script(
        "deliver",
        "tasks.offers:deliver",
        own,
        table | {"columns": [], "labels": labels["labels"], "model": []},
        {role: str(folder / name) for role, name in files.items()},
        folder / "d.log",
        (*uses, *(("model", model) for model in dict(pairs))),
        study="mine",
    )
    return pd.read_parquet(folder / "offers.parquet")


def apply(folder, score, model="predictive_choice"):
    run_script(
        "apply",
        "tasks.offers:apply",
        {"study": "mine", "reading": {}},
        {"model": str(folder / "model.parquet"), "score": str(score)},
        {"table": str(folder / "new.parquet"), "csv": str(folder / "new_offers.csv")},
        folder / "a.log",
        (("model", model),),
        study="mine",
    )
    return pd.read_parquet(folder / "new.parquet")


@pytest.mark.parametrize(("model", "setting"), [("predictive_choice", "soft"), ("logitboost", "")])
def test_a_survey_of_ones_own_is_priced_and_so_are_new_people(own, model, setting):
    offers = deliver(own, (model, setting))
    table = pd.read_csv(own / "survey.csv")
    assert offers["customer"].tolist() == table["customer"].tolist()
    assert offers["best_offer"].notna().all()
    assert offers["p"].isna().equals(table["price"].isna())
    # Who has no offer or no answer is in no split.
    blank = table["price"].isna() | table["answer"].isna()
    assert ((offers["role"] == "") == blank).all()
    rich = offers["best_offer"][table["town"] == "north"].median()
    assert rich > offers["best_offer"][table["town"] == "south"].median() + 2
    again = apply(own, own / "survey.csv", model)
    same(offers[[*again.columns]], again)
    new = apply(own, own / "new.csv", model)
    assert len(new) == 250 and new["best_offer"].notna().all()
    people, saved = pd.read_csv(own / "new.csv"), load(own)
    same(saved.optimal_offers(people), new)
    ends, told = read_facts(own / "new.parquet").get("ends"), saved.expected(people)
    assert ends == ([250 * told.low, 250 * told.high] if saved.has_draws else None)
    csv = pd.read_csv(own / "new_offers.csv", keep_default_na=False)
    assert csv["customer"].tolist() == new["customer"].tolist()
    assert np.allclose(csv["best_offer"], new["best_offer"])


def test_the_first_method_that_predicts_best_but_for_chance_is_delivered(own):
    deliver(own, ("predictive_choice", "soft"), ("logitboost", ""), ("predictive_choice", "hard"))
    saved = load(own)
    losses = saved.facts["losses"]
    assert set(losses) == {
        "my-predictive_choice soft",
        "my-predictive_choice hard",
        "my-logitboost",
    }
    assert min(losses, key=losses.get) == "my-logitboost"
    # In this small table the first one is as good but for chance.
    assert saved.facts["method"] == "my-predictive_choice"
    assert losses["my-predictive_choice soft"] < losses["my-logitboost"] + 0.05
    assert any("log loss" in sentence for sentence in saved.facts["rests_on"])


def test_a_method_that_refuses_is_passed_over(own, monkeypatch):
    monkeypatch.setitem(QUICK, "predictive_choice", {"components": 200})
    deliver(own, ("predictive_choice", "soft"), ("offer_logistic", ""))
    assert load(own).facts["model"] == "offer_logistic"
    assert "passed over: A model of 200 segments" in (own / "d.log").read_text()
    with pytest.raises(SystemExit):
        deliver(own, ("predictive_choice", "soft"), ("predictive_choice", "hard"))
    assert "No method can be delivered. A model of 200" in (own / "d.log").read_text()


def test_ids_of_numbers_are_numbers_in_a_text_file_too():
    frame = survey(120).assign(customer=np.arange(500, 620))
    saved = saved_of("offer_logistic", "", frame)
    saved.facts["id_numbers"] = True
    texts = saved.optimal_offers(frame.astype({"customer": str}))
    assert texts["customer"].tolist() == frame["customer"].tolist()
    with pytest.raises(CounterweightError, match="no column 'customer', which says who they are"):
        saved.optimal_offers(frame.drop(columns="customer"))
    saved.facts["id"] = None
    assert saved.optimal_offers(frame)["row"].tolist() == list(range(120))


def test_offers_under_limits_by_name():
    frame = survey(200).assign(worth=np.linspace(5, 30, 200))
    saved = saved_of("offer_logistic", "", frame)
    table, found = saved.allot(frame, capacity=40, share=("town", "north", 0.6))
    assert found.used["capacity"] <= 41 and table["p"].sum() == pytest.approx(
        found.used["capacity"]
    )
    assert table["revenue"].sum() == pytest.approx(found.value)
    taken = table["p"][frame["town"] == "north"].sum() / table["p"].sum()
    assert taken >= 0.6 - 1 / 40
    chance = saved.acceptance(frame, table["offer"].fillna(saved.scale.low).to_numpy())
    some = table["offer"].notna()
    np.testing.assert_allclose(chance[some], table["p"][some])
    rich, _ = saved.allot(frame, capacity=40, revenue="worth")
    assert rich["p"][100:].sum() > rich["p"][:100].sum()
    with pytest.raises(CounterweightError, match="no limit"):
        saved.allot(frame)
    with pytest.raises(CounterweightError, match="no column"):
        saved.allot(frame, quality=("grade", 3.0))


def test_answers_keep_the_index_of_the_frame(family):
    saved, frame = family["offer_logistic", ""], survey(60)
    old = frame[frame["age"] > 50].sample(frac=1, random_state=0)
    for answers in (
        saved.optimal_offers(old),
        saved.allot(old, capacity=5)[0],
        saved.experiment(old, np.random.default_rng(0)),
    ):
        assert answers.index.equals(old.index)
        assert answers["customer"].equals(old["customer"])


def test_limits_take_yes_and_no_as_a_file_has_them(family):
    saved, frame = family["offer_logistic", ""], survey(120)
    ones = np.random.default_rng(0).integers(0, 2, len(frame))
    asked = {"capacity": 20, "quality": ("member", 0.7)}
    expected, _ = saved.allot(frame.assign(member=ones), **asked)
    for words in (["no", "yes"], ["Nein", "Ja"], ["false", "true"]):
        told, _ = saved.allot(frame.assign(member=np.array(words)[ones]), **asked)
        pd.testing.assert_frame_equal(told, expected)
    with pytest.raises(CounterweightError, match="'member'.* holds text"):
        saved.allot(frame.assign(member="perhaps"), **asked)


def test_one_offer_for_all_goes_to_everybody_and_is_loaded_as_such(tmp_path):
    frame, saved = survey(), saved_of("offer_logistic", "", l2=None)
    saved.facts |= {"single_offer": 21.5, "rests_on": ["Offers were drawn at random."]}
    saved.save(tmp_path / "model.parquet")
    loaded = load(tmp_path / "model.parquet")
    table = loaded.optimal_offers(frame)
    assert (table["best_offer"] == 21.5).all() and table["low"].isna().all()
    np.testing.assert_allclose(table["best_p"], saved.acceptance(frame, 21.5), rtol=1e-12)
    assert table["reason"].str.startswith("one price for all").any()
    assert loaded.facts["rests_on"] == ["Offers were drawn at random."]
    own, found = loaded.allot(frame, capacity=50, confidence=0.9)
    assert set(own["offer"].dropna()) == {21.5} and found.used["capacity"] < 50


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"capacity": 0}, "capacity is 0, within which"),
        ({"budget": 0}, "budget is 0, within which"),
        ({"capacity": 5, "confidence": 1.5}, "confidence is 1.5"),
    ],
)
def test_limits_that_leave_nobody_are_refused(asked, told):
    with pytest.raises(CounterweightError, match=told):
        saved_of("offer_logistic", "").allot(survey(), **asked)


def by_chance(rows, rng):
    """People with six features, by which nothing goes, prices, and what all alike accept."""
    frame = pd.DataFrame(rng.normal(size=(rows, 6)).round(3), columns=[*"abcdef"])
    frame["price"] = rng.uniform(0, 60, rows).round(2)
    yes = rng.random(rows) < expit((30 - frame["price"]) / 8)
    frame["bought"] = np.where(yes, "yes", "no")
    return frame.assign(customer=np.arange(rows))


def test_what_choosing_by_a_curve_adds_to_its_claim_is_taken_off():
    """Beside what the fit says of one price for all, by which its level is off by chance, too."""
    claims, told, held, one = [], [], 0, 24.0
    for seed in range(12):
        frame = by_chance(150, np.random.default_rng([31, seed]))
        saved = saved_of("offer_logistic", "", frame)
        table = saved.optimal_offers(frame)
        offers = table["best_offer"].to_numpy(float)
        truth = (offers * expit((30 - offers) / 8)).mean()
        level = one * (saved.acceptance(frame, one).mean() - expit((30 - one) / 8))
        found = saved.expected(frame)
        assert found.value == pytest.approx(table["best_revenue"].mean() - found.optimism)
        claims.append(table["best_revenue"].mean() - truth - level)
        told.append(found.value - truth - level)
        held += found.low <= truth <= found.high
    error = np.std(claims) / np.sqrt(len(claims))
    assert np.mean(claims) > 3 * error > abs(np.mean(told))
    assert held >= 11


@pytest.mark.parametrize("pair", SETTINGS)
def test_an_expectation_has_an_interval_where_there_are_draws(family, pair):
    saved, frame = family[pair], survey(200, seed=5)
    found = saved.expected(frame)
    _, within = saved.allot(frame, capacity=40)
    ends = [found.low, found.high, within.low, within.high]
    if not saved.has_draws:
        assert found.optimism == 0 and np.isnan(ends).all()
        return
    # A prior that answers chose holds curves back by what choosing adds.
    by_prior = pair[0] == "offer_additive"
    assert found.low < found.value < found.high and (found.optimism == 0) == by_prior
    assert saved.by_choosing(saved.encoded(frame)) > 0 <= found.optimism
    assert 0 <= within.low < within.value < within.high
    claimed = saved.optimal_offers(frame)["best_revenue"].mean()
    assert saved.rough == (pair[0] == "offer_boosting") and (
        found.high >= claimed or not saved.rough
    )
    own, draws = saved._pricer, {name: values[:3] for name, values in saved.part("draw").items()}
    about = own.about(saved.encoded(frame))
    t = np.random.default_rng(0).random((3, len(frame)))
    one_by_one = [
        own.accept_drawn(about, t[at], {name: values[[at]] for name, values in draws.items()})[0]
        for at in range(3)
    ]
    assert np.allclose(own.accept_drawn(about, t, draws), one_by_one, atol=1e-12)
    fitted = [own.accept(about, offers) for offers in t]
    assert np.allclose(own.accept_several(about, t), fitted, atol=1e-12)


def test_boosting_that_was_saved_without_draws_still_has_its_offers(family):
    whole, frame = family["offer_boosting", ""], survey(200, seed=5)
    arrays = {name: own for name, own in whole.arrays.items() if not name.startswith("draw.")}
    saved = type(whole)(whole.facts, arrays)
    made, told = saved.optimal_offers(frame), whole.optimal_offers(frame)
    same(made.drop(columns=["low", "high"]), told.drop(columns=["low", "high"]), 0)
    assert made[["low", "high"]].isna().all(axis=None) and saved.expected(frame).optimism == 0
    with pytest.raises(CounterweightError, match="no bootstrap draws"):
        saved.experiment(frame, np.random.default_rng(0), how="thompson")


def test_an_experiment_by_an_unknown_word_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(CounterweightError, match="'banana' is not known: choose around or"):
        saved_of("offer_logistic", "").experiment(survey(), rng, how="banana")
    with pytest.raises(CounterweightError, match="two levels at least"):
        saved_of("offer_logistic", "").experiment(survey(), rng, levels=1)


def test_a_confidence_counts_what_the_fit_is_not_sure_of():
    """By the coins alone more are let in, and the capacity is kept in fewer of the draws."""
    frame, people = survey(300, seed=3), survey(400, seed=9)
    saved = saved_of("offer_additive", "", frame)
    own, found = saved.allot(people, capacity=60, confidence=0.95)
    given = own["offer"].notna().to_numpy()
    X, t = saved.encoded(people)[given], saved.scale.scaled(own["offer"].to_numpy(float)[given])
    p = saved._pricer.accept_drawn(saved._pricer.about(X), t, saved.part("draw"))
    rng = np.random.default_rng(1)
    accepted = (rng.random((20, *p.shape)) < p).sum(axis=-1)
    assert 0.93 <= (accepted <= 60).mean() <= 0.975
    fit = saved.acceptance(people, own["offer"].fillna(30).to_numpy())[given]
    coins = 60.5 - 1.645 * np.sqrt((fit * (1 - fit)).sum())
    assert found.used["capacity"] < coins - 1


def test_that_a_confidence_counts_the_coins_alone_is_told(caplog):
    frame = survey(300, seed=3)
    saved_of("offer_additive", "", frame).allot(frame, capacity=60, confidence=0.95)
    assert not caplog.records
    saved_of("offer_boosting", "", frame).allot(frame, capacity=60, confidence=0.95)
    assert not caplog.records
    tree = saved_of("offer_tree", "", frame)
    tree.allot(frame, capacity=60)
    assert not caplog.records
    tree.allot(frame, capacity=60, confidence=0.95)
    (told,) = caplog.messages
    assert "0.95 is over the chance in answers alone" in told


def test_an_offer_at_an_end_of_what_was_made_was_made_and_one_beyond_was_not():
    saved = saved_of("offer_logistic", "")
    frame = survey(5)
    X = saved.encoder.transform(frame)
    X, low, high = np.repeat(X[:1], 5, axis=0), saved.scale.low, saved.scale.high
    least, most = np.full(5, low + 1), np.full(5, high - 1)
    offers = np.array([low + 0.5, low + 1, low + 2, high - 1, high - 0.5])
    close, none = np.full(5, np.inf), np.full(5, "", object)
    supported, told = saved._reasons(X, close, offers, least, most, none)
    assert supported.tolist() == [False, True, True, True, False]
    beyond = "no price to choose from was made to such people"
    made = "price that was made to such people"
    assert told.tolist() == [beyond, f"the least {made}", "", f"the largest {made}", beyond]
    # At the ends of the range itself no other could be made.
    ends = np.full(5, low), np.full(5, high)
    assert not any(saved._reasons(X, close, ends[0], *ends, none)[1])
