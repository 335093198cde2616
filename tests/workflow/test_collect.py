"""Labels that are bought: from a config to rows to label, filled in, to the answer by them."""

import re
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT, read_page
from counterweight import load
from own_tables import quick

sys.path[:0] = [str(ROOT / "examples")]
import tables  # noqa: E402

MINE = ("--configfile", "mine/mine.yaml")
BUDGET = 60
#: Jobs that go by the labels bought.
AFTER = {"collect_applicants", "deliver_applicants", "draw_applicants", "page_studies", "report"}


def asked(copy, **keys):
    """Write the config of the lender with some keys more."""
    entry = yaml.safe_load((ROOT / "examples" / "lender.yaml").read_text())
    entry |= {"table": "mine/applicants.csv", "study": {"figures": ["collect"]}}
    del entry["score"]
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(quick(entry | keys)))


def to_label(copy):
    return pd.read_csv(copy.results / "applicants/collect.csv")


def fill_in(copy, truth, rows=BUDGET):
    """Fill in the outcomes of the first rows of the plan."""
    labels = to_label(copy)
    known = labels["customer"].map(truth.set_index("customer")["default"]).astype("Int64")
    labels["default"] = known.where(np.arange(len(labels)) < rows)
    labels.to_csv(copy.folder / "mine/labels.csv", index=False)
    return labels


def metrics(copy, source, study="applicants"):
    table = pd.read_parquet(copy.results / f"{study}/metrics/{source}.parquet")
    return table.fillna({"part": "", "variable": ""}).set_index(["metric", "part", "variable"])[
        "value"
    ]


def with_one_key(copy):
    """A known key: of new ones one in twenty draws a sample whose interval misses the truth."""
    key = copy.folder / "filter.key"
    key.write_text("counterweight " * 4)
    key.chmod(0o600)


def test_the_demo_plans_labels_draws_what_to_expect_and_answers_by_those_that_came_back(copied):
    copy, folder = copied(), ROOT / "workflow/overlays/demo"
    table, _, truth = tables.lender(np.random.default_rng(8), 900, 0.8)
    text = dict.fromkeys(("customer", "default"), "string")
    labels, known = pd.read_csv(folder / "labels.csv", dtype=text), truth.astype("string")
    shown = pd.read_csv(folder / "refused.csv")
    expected = table.assign(default=table["default"].astype(float))
    pd.testing.assert_frame_equal(shown, expected, check_dtype=False, rtol=1e-12)
    came = labels.dropna(subset="default").merge(known, on="customer", suffixes=("", "_true"))
    assert (came["default"] == came["default_true"]).all() and len(came) < len(labels)
    only = ("--config", "only=[refused, bought]")
    run = copy.run("--configfile", "workflow/overlays/demo.yaml", *only)
    assert run.status == 0, run.output
    copy.results /= "demo"
    assert len(pd.read_csv(copy.results / "refused/collect.csv")) == len(labels)
    assert (copy.results / "refused/figures/collect.svg").exists()
    blank = table.loc[table["default"].isna(), "customer"]
    rate = truth.set_index("customer")["default"].loc[blank].mean()
    told = metrics(copy, "delivered", "bought")
    assert told["labels_bought", "", ""] == len(came) and told["random_refuted", "", ""]
    low, high = (told["target_rate", "unlabeled", end] for end in ("low", "high"))
    assert low < rate < high and not low < told["target_rate", "unlabeled at random", ""] < high
    assert copy.run("--configfile", "workflow/overlays/demo.yaml", *only).jobs == set()


@pytest.fixture(scope="module")
def bought(copied):
    """A plan, its labels, and the answer by them."""
    copy = copied()
    (copy.folder / "mine").mkdir()
    applicants, _, truth = tables.lender(np.random.default_rng(11), 900)
    applicants.to_csv(copy.folder / "mine/applicants.csv", index=False)
    asked(copy, collect={"budget": BUDGET})
    copy.first = copy.run(*MINE)
    assert copy.first.status == 0, copy.first.output
    copy.plan_of = to_label(copy)
    copy.truth, copy.applicants = truth, applicants
    fill_in(copy, truth)
    asked(copy, collect={"budget": BUDGET}, collected="mine/labels.csv")
    copy.second = copy.run(*MINE)
    assert copy.second.status == 0, copy.second.output
    return copy


def test_a_plan_lists_rows_without_an_outcome_and_the_chances_of_all(bought):
    blank = bought.applicants.loc[bought.applicants["default"].isna(), "customer"]
    listed, plan = bought.plan_of, pd.read_parquet(bought.results / "applicants/plan.parquet")
    assert len(listed) == BUDGET and listed["customer"].is_unique
    assert {*listed["customer"]} <= {*blank} and listed["default"].isna().all()
    assert {*plan["customer"]} == {*blank} and plan["drawn"].sum() == BUDGET
    assert ((plan["chance"] > 0) & (plan["chance"] <= 1)).all()
    assert plan["plan"].nunique() == 1 and (listed["plan"] == plan["plan"].iloc[0]).all()
    assert metrics(bought, "collect")["planned_points", "", ""] > 0


def test_only_what_goes_by_the_labels_is_made_anew_and_then_nothing(bought):
    assert bought.second.jobs == AFTER and not bought.second.opened
    assert not bought.plan(*MINE)


def test_the_answer_goes_by_the_labels(bought):
    known = metrics(bought, "delivered")
    low, high = (known["target_rate", "unlabeled", end] for end in ("low", "high"))
    assert low < known["target_rate", "unlabeled", ""] < high
    assert known["labels_bought", "", ""] == BUDGET and known["labels_refused", "", ""] == 0
    page = read_page(bought.results / "applicants/report/applicants.html")
    assert "bought</a> by design" in page or "bought by design" in page
    assert "If labels are missing at random" not in page
    scores = pd.read_csv(bought.results / "applicants/scores.csv").set_index("customer")
    own = scores.loc[bought.plan_of["customer"]]
    truth = bought.truth.set_index("customer")["default"].loc[own.index]
    assert (own["bought"] == "yes").all() and (own["estimate"] == truth).all()
    assert (scores["bought"] == "yes").sum() == BUDGET


def test_a_larger_plan_goes_on_where_the_smaller_one_ends(bought):
    asked(bought, collect={"budget": BUDGET + 40}, collected="mine/labels.csv")
    assert bought.plan(*MINE) == AFTER
    run = bought.run(*MINE)
    assert run.status == 0, run.output
    more = to_label(bought)
    assert len(more) == BUDGET + 40
    assert more["customer"].tolist()[:BUDGET] == bought.plan_of["customer"].tolist()
    assert more["default"].notna().sum() == BUDGET
    page = read_page(bought.results / "applicants/report/applicants.html")
    assert "40 rows of collect.csv are still to be" in page


def test_a_plan_stays_where_none_is_asked_for_any_more(bought):
    """It may be with those who label."""
    asked(bought)
    run = bought.run(*MINE)
    assert run.status == 0, run.output
    assert to_label(bought)["default"].notna().sum() == BUDGET
    assert "made anew by what is asked now: results/applicants/collect.csv, results" in run.output
    assert "Deleted" not in run.output
    asked(bought, collect={"budget": BUDGET + 40}, collected="mine/labels.csv")


def test_labels_that_nobody_drew_are_told_and_leave_nothing_behind(bought):
    labels = pd.read_csv(bought.folder / "mine/labels.csv", dtype=str)
    plan = pd.read_parquet(bought.results / "applicants/plan.parquet")
    strange = plan.loc[~plan["drawn"], "customer"].iloc[0]
    labels.assign(customer=[strange, *labels["customer"][1:]]).to_csv(
        bought.folder / "mine/labels.csv", index=False
    )
    run = bought.run(*MINE)
    assert run.status != 0
    assert "has 1 rows that the plan does not have" in run.output
    moved = sorted(labels["customer"])
    labels.assign(customer=moved).to_csv(bought.folder / "mine/labels.csv", index=False)
    run = bought.run(*MINE)
    assert run.status != 0
    # Of one key in so many as there are labels the first in the order has the least id.
    first = int(np.argmax(labels["customer"].to_numpy() != moved))
    told = f"first {moved[first]!r} with order {labels['order'][first]}"
    assert f"not that of their plan, {told}" in run.output
    assert not (bought.results / "applicants/collect.csv").exists()
    labels.to_csv(bought.folder / "mine/labels.csv", index=False)


def test_names_of_study_and_columns_decide_nothing(bought, copied):
    copy = copied()
    (copy.folder / "mine").mkdir()
    shutil.copy2(bought.folder / "filter.key", copy.folder / "filter.key")
    names = {name: f"x{at}" for at, name in enumerate(bought.applicants)}
    bought.applicants.rename(columns=names).to_csv(copy.folder / "mine/other.csv", index=False)
    entry = {
        "table": "mine/other.csv",
        "name": "elsewhere",
        "id": names["customer"],
        "outcome": {"column": names["default"], "positive": 1},
        "labeled": {"where": {names["approved"]: "yes"}},
        "columns": {"ignore": [names["notes"]]},
        "collect": {"budget": BUDGET},
        "study": {"figures": []},
    }
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(quick(entry)))
    run = copy.run("results/elsewhere/collect.csv", *MINE)
    assert run.status == 0, run.output
    other = pd.read_csv(copy.results / "elsewhere/collect.csv").rename(
        columns={new: old for old, new in names.items()}
    )
    pd.testing.assert_frame_equal(other, bought.plan_of)


def test_a_judge_is_told_which_events_of_a_log_to_look_at(copied):
    copy = copied()
    (copy.folder / "mine").mkdir()
    frame, fraud = tables.transfers(np.random.default_rng(5), 1500)
    frame.to_csv(copy.folder / "mine/transfers.csv", index=False)
    entry = yaml.safe_load((ROOT / "examples" / "transfers.yaml").read_text())
    entry |= {"table": "mine/transfers.csv", "collect": {"budget": 150}}
    del entry["collected"]
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(entry))
    run = copy.run(*MINE)
    assert run.status == 0, run.output
    place = copy.results / "transfers"
    labels = pd.read_csv(place / "collect.csv")
    assert len(labels) == 150 and labels["fraud"].isna().all()
    page = read_page(place / "report/transfers.html")
    assert "150 rows whose reward to buy" in page and "The interval to expect" in page
    truth = pd.Series(np.where(fraud, "yes", "no"), frame["transfer"])
    labels.assign(fraud=labels["transfer"].map(truth)).to_csv(
        copy.folder / "mine/labels.csv", index=False
    )
    (copy.folder / "mine/mine.yaml").write_text(
        yaml.safe_dump(entry | {"collected": "mine/labels.csv"})
    )
    run = copy.run(*MINE)
    assert run.status == 0 and not run.opened, run.output
    told = pd.read_csv(place / "measures.csv").query("metric == 'auc'").set_index("predictions")
    assert (told["low"] < told["value"]).all() and (told["value"] < told["high"]).all()
    assert (told["rows"] == 150 + (frame["fraud"] != "").sum()).all()
    assert "150 labels were bought by design" in read_page(place / "report/transfers.html")
    assert not copy.plan(*MINE)


def test_decisions_by_chance_come_back_with_the_chances_they_were_made_by(copied):
    copy = copied()
    (copy.folder / "mine").mkdir()
    with_one_key(copy)
    applicants, _, truth = tables.lender(np.random.default_rng(12), 900)
    applicants.to_csv(copy.folder / "mine/applicants.csv", index=False)
    shares = {"office": 0.3, "trade": 0.1, "public": 0.2, "none": 1}
    explore = {"share": shares, "by": "job", "monthly": 400, "months": 6, "loss": 900}
    asked(copy, explore=explore, study={"figures": ["explore"]})
    run = copy.run(*MINE)
    assert run.status == 0, run.output
    place = copy.results / "applicants"
    listed = pd.read_csv(place / "explore.csv")
    job = listed["customer"].map(applicants.set_index("customer")["job"])
    assert listed["chance"].tolist() == job.map(shares).tolist()
    blank = applicants.loc[applicants["default"].isna()]
    refused = blank.loc[blank["job"] == "none", "customer"]
    assert {*refused} <= {*listed["customer"]} <= {*blank["customer"]}
    first = told = metrics(copy, "collect")
    monthly = 400 * blank["job"].map(shares).mean()
    assert told["explore_labels", "6", ""] == pytest.approx(6 * monthly)
    assert 0 < told["explore_cost", "6", ""] < told["explore_most", "6", ""]
    assert told["explore_points", "6", ""] < told["explore_points", "1", ""]
    page = read_page(place / "report/applicants.html")
    assert "rows that chance has drawn: decide in favour of each of them" in page
    # What to do next goes with it: collect does not.
    assert "Decide in favour of each row of explore.csv" in page and "budget: 200" not in page
    known = listed["customer"].map(truth.set_index("customer")["default"])
    listed.assign(default=known).to_csv(copy.folder / "mine/labels.csv", index=False)
    asked(copy, explore=explore, collected="mine/labels.csv", study={"figures": ["explore"]})
    run = copy.run(*MINE)
    assert run.status == 0 and not run.opened, run.output
    told = metrics(copy, "delivered")
    assert told["labels_bought", "", ""] == len(listed)
    # What it costs goes by these outcomes now, and nobody else is drawn.
    after, again = metrics(copy, "collect"), pd.read_csv(place / "explore.csv")
    assert again["customer"].tolist() == listed["customer"].tolist()
    assert again["default"].tolist() == known.tolist()
    assert ("explore_most", "6", "") not in after
    assert after["explore_cost", "6", ""] != pytest.approx(first["explore_cost", "6", ""], rel=0.01)
    page = read_page(place / "report/applicants.html")
    assert "a month, by the outcomes that are there" in page and "odds are three times" not in page
    assert "fill in more outcomes, of whole months" in page and "A plan of more labels" not in page
    rate = truth.set_index("customer")["default"].loc[blank["customer"]].mean()
    ends = [told["target_rate", "unlabeled", end] for end in ("low", "high")]
    assert ends[0] < rate < ends[1]
    assert not copy.plan(*MINE)
    # Ids that were sorted by themselves stand at other people's outcomes: nothing is told of them.
    listed.assign(default=known, customer=sorted(listed["customer"])).to_csv(
        copy.folder / "mine/labels.csv", index=False
    )
    run = copy.run(*MINE)
    assert run.status != 0 and "order or chance is not that of their plan" in run.output
    assert not (place / "explore.csv").exists()


def test_numbers_that_cost_are_bought_by_group_and_the_answer_is_near_the_truth(copied):
    copy = copied()
    (copy.folder / "mine").mkdir()
    with_one_key(copy)
    frame, laboratory = tables.plots(np.random.default_rng(3), 1000)
    frame.to_csv(copy.folder / "mine/plots.csv", index=False)
    entry = yaml.safe_load((ROOT / "examples" / "plots.yaml").read_text())
    entry = quick(entry | {"table": "mine/plots.csv", "study": {"figures": ["collect"]}})
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(entry))
    run = copy.run(*MINE)
    assert run.status == 0, run.output
    place, blank = copy.results / "plots", frame.loc[frame["carbon"].isna()].set_index("plot")
    listed = pd.read_csv(place / "collect.csv")
    plan = pd.read_parquet(place / "plan.parquet").set_index("plot")
    assert {*plan.index} == {*blank.index} and {*listed["plot"]} <= {*blank.index}
    assert plan["chance"] @ blank["price"] == pytest.approx(5000, rel=1e-6)
    labels = listed.drop(columns="carbon").merge(laboratory)
    labels.to_csv(copy.folder / "mine/labels.csv", index=False)
    (copy.folder / "mine/mine.yaml").write_text(
        yaml.safe_dump(entry | {"collected": "mine/labels.csv"})
    )
    run = copy.run(*MINE)
    assert run.status == 0 and not run.opened, run.output
    told = pd.read_parquet(place / "metrics/delivered.parquet").fillna({"part": "", "variable": ""})
    told = told.set_index(["metric", "part", "variable"])
    errors, told = told["standard_error"], told["value"]
    truth = laboratory.set_index("plot")["carbon"].loc[blank.index]
    at = "target_mean", "unlabeled", ""
    assert told[at] == pytest.approx(truth.mean(), abs=4 * errors[at])
    # One key in twenty draws an interval that misses the truth: of forty few do, and few are not.
    saved, held = load(place), []
    for key in range(40):
        plan = saved.collect(frame, 5000, cost="price", by="region", key=key)
        found = plan.with_labels(plan.frame.drop(columns="carbon").merge(laboratory)).mean
        held.append(found.low < truth.mean() < found.high)
    assert np.mean(held) >= 0.925
    # Farmers asked where there is more than the columns tell: at random it would be too high.
    assert told["target_mean", "unlabeled at random", "low"] > truth.mean()
    assert told["random_refuted", "", ""] == 1
    for region, own in truth.groupby(blank["region"]):
        at = "mean_by_group_collected", region, ""
        assert told[at] == pytest.approx(own.mean(), abs=4 * errors[at])
    page = read_page(place / "report/plots.html")
    assert "is lower by" in page and "By group, of the rows without an outcome" in page


def test_people_are_asked_for_their_group_and_a_filter_has_a_bound_for_them(copied):
    copy, rng = copied(), np.random.default_rng(6)
    (copy.folder / "mine").mkdir()
    with_one_key(copy)
    frame, _ = tables.panel(rng, 6000)
    truth = frame.set_index("person")["region"]
    # Who is in the east tells it less often: those who told none are others.
    silent = rng.random(len(frame)) < np.where(frame["region"] == "east", 0.6, 0.3)
    frame["region"] = frame["region"].mask(silent)
    frame.to_csv(copy.folder / "mine/people.csv", index=False)
    entry = {"table": "mine/people.csv", "id": "person", "balance": ["region"], "alpha": 0.25}
    entry |= {"collect": {"budget": 300}, "study": {"figures": ["certificate", "groups"]}}
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(entry))
    run = copy.run(*MINE)
    assert run.status == 0 and "InputFunctionException" not in run.output, run.output
    place = copy.results / "people"
    listed = pd.read_csv(place / "collect.csv")
    assert len(listed) == 300 and listed["region"].isna().all()
    assert {*listed["person"]} <= {*frame.loc[silent, "person"]}
    told = metrics(copy, "collect", "people")
    assert 0 < told["planned_disclosivity", "", "low"] < told["planned_disclosivity", "", "high"]
    assert told["expected_disclosivity", "75", "plan"] > told["planned_disclosivity", "", ""]
    page = read_page(place / "report/people.html")
    assert "300 of the people who told no group" in page and "The bound to expect" in page
    labels = listed.assign(region=listed["person"].map(truth))
    labels.to_csv(copy.folder / "mine/labels.csv", index=False)
    asked = entry | {"collected": "mine/labels.csv"}
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(asked))
    run = copy.run(*MINE)
    assert run.status == 0 and not run.opened, run.output
    assert run.jobs == {"collect_people", "draw_people", "page_studies", "report"}
    told = metrics(copy, "collect", "people")
    assert told["labels_bought", "", ""] == 300 and told["labels_refused", "", ""] == 0
    share = truth.loc[frame.loc[silent, "person"]].eq("east").mean()
    ends = [told["share_before_collected", "east", end] for end in ("low", "high")]
    assert ends[0] < share < ends[1]
    plan = pd.read_parquet(place / "plan.parquet").set_index("person")
    groups = pd.crosstab(plan["group"], truth.loc[plan.index], normalize="index")
    base = truth.loc[plan.index].value_counts(normalize=True)
    assert told["collected_at_most", "", ""] >= (groups - base).abs().to_numpy().max()
    assert told["imbalance_collected", "", ""] < told["imbalance_before_collected", "", ""]
    page = read_page(place / "report/people.html")
    assert "300 of them who were asked by design" in page and 'href="../filter.md"' in page
    # Two certificates of two kinds of people; the table of the groups and its CSV agree.
    assert "ertificate by who told" in page and "ertificate by who was asked" in page
    (table,) = (pd.read_csv(file) for file in place.rglob("tables/people-*.csv"))
    shares = table[table["metric"] == "share_before_collected"].set_index("part")
    for group in truth.unique():
        for column, end in (("estimate", ""), ("low", "low"), ("high", "high")):
            assert shares[column][group] == told["share_before_collected", group, end]
    # The page, the figure's CSV and the card of the filter say the same of them.
    card = (place / "filter.md").read_text().partition("## People who had told no group")[2]
    drawn = pd.read_csv(place / "figures/certificate.csv").set_index("series").loc["reached"]
    (bound,) = re.findall(r"is further than ([\d.]+) from", card)
    assert bound == f"{drawn['value']:.3f}" and drawn["at"] == 300
    (found,) = re.findall(r"\(found: ([\d.]+)\)", card)
    assert f"tells at most {bound} about anybody" in page and f"(found: {found})" in page
    before, after = re.findall(r"is ([\d.]+), and ([\d.]+) among those", card)[0]
    assert f"the imbalance is {before}, and {after} among those of them" in page
    assert ("**Certified" in card) == (told["certified_collected", "", ""] == 1)
    assert ("Certified for people who told no group" in page) == ("**Certified" in card)
    groups = re.findall(r"^\| (\w+) \| ([\d.]+) % .*?\| ([\d.]+) % ", card, re.MULTILINE)
    text = re.sub(r"<[^>]+>|\s", " ", page)  # also the blank that holds a unit
    said = " ".join(text.split())
    assert f"With 300 people asked the bound is {bound}" in said
    # All are back: nothing is expected of them, and those who told are not all people.
    assert "is expected" not in said and "of the people who told no group" not in said
    assert "of all who told, " in said and "; of those who told no group, by 300 who were" in said
    for group, *shares in groups:
        for when, share in zip(("before", "after"), shares, strict=True):
            assert share == f"{100 * told[f'share_{when}_collected', group, '']:.1f}"
            assert f"{share} %" in text
    assert len(groups) == 3
    # By the file alone, without the plan: the same shares by the chances in it.
    alone = {key: one for key, one in asked.items() if key != "collect"}
    alone["study"] = {"figures": ["groups"]}
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(alone))
    run = copy.run(*MINE)
    assert run.status == 0 and not run.opened, run.output
    again = metrics(copy, "collect", "people")
    key = "collected_at_most", "", ""
    assert again[key] == pytest.approx(told[key], rel=1e-9)
    back = copy.folder / alone["collected"]
    pd.read_csv(back).assign(chance=1).to_csv(back, index=False)
    run = copy.run(*MINE)
    assert run.status != 0 and "for some 300 rows without a group" in run.output, run.output


def test_people_are_made_offers_and_their_answers_say_what_offers_earn(copied):
    copy, rng = copied(), np.random.default_rng(7)
    (copy.folder / "mine").mkdir()
    with_one_key(copy)
    survey, new = tables.school(rng, 2500)
    everybody = pd.concat([survey, new], ignore_index=True)
    everybody.to_csv(copy.folder / "mine/survey.csv", index=False)
    entry = yaml.safe_load((ROOT / "examples" / "school.yaml").read_text())
    del entry["score"]
    study = {"models": [{"model": "offer_logistic"}], "bootstrap": 0, "figures": ["collect"]}
    entry |= {"table": "mine/survey.csv", "collect": {"budget": 200}, "study": study}
    entry |= {"experiment": {"levels": 5, "least": 0.05}}
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(entry))
    run = copy.run(*MINE)
    assert run.status == 0, run.output
    place = copy.results / "survey"
    listed = pd.read_csv(place / "collect.csv")
    assert list(listed)[:4] == ["applicant", "order", "aid", "came"] and len(listed) == 200
    assert {*listed["applicant"]} <= {*new["applicant"]} and listed["came"].isna().all()
    # The same offers stand beside everybody: there is one draw.
    beside = pd.read_csv(place / "offers.csv").set_index("applicant").loc[listed["applicant"]]
    np.testing.assert_allclose(beside["tried_offer"], listed["aid"], rtol=1e-9)
    assert (listed["chance"].to_numpy() <= beside["propensity"].to_numpy() + 1e-12).all()
    told = metrics(copy, "collect", "survey")
    assert 0 < told["planned_half_width", "", ""] < told["expected_half_width", "50", "plan"]
    page = read_page(place / "report/survey.html")
    assert "200 people without an answer" in page and "The interval to expect" in page
    # They come where the aid is what they need: as the survey's people did.
    home = new.set_index("applicant").loc[listed["applicant"]]
    needed = 4 + 2 * home["grade"] + home["home"].map({"near": -2.0, "far": 0.5, "abroad": 2.0})
    chance = 1 / (1 + np.exp(-0.9 * (listed["aid"].to_numpy() - needed.to_numpy())))
    came = np.where(rng.random(200) < chance, "yes", "no")
    labels = listed.assign(came=came)
    labels.loc[190:, "came"] = None
    labels.to_csv(copy.folder / "mine/labels.csv", index=False)
    asked = entry | {"collected": "mine/labels.csv"}
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(asked))
    run = copy.run(*MINE)
    assert run.status == 0 and not run.opened, run.output
    assert run.jobs == {"collect_survey", "draw_survey", "page_studies", "report"}
    told = metrics(copy, "collect", "survey")
    assert told["labels_bought", "", ""] == 190 and told["labels_waiting", "", ""] == 10
    low, high = (told["revenue_collected", "best", end] for end in ("low", "high"))
    assert low < told["collected_claim", "best", ""] < high
    page = read_page(place / "report/survey.html")
    assert "By 190 answers to offers that were drawn" in page and "10 offers of collect.csv" in page
    # By the file alone all that was made counts as asked.
    alone = {key: one for key, one in asked.items() if key != "collect"}
    alone["study"] = study | {"figures": []}
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(alone))
    run = copy.run(*MINE)
    assert run.status == 0, run.output
    assert metrics(copy, "collect", "survey")["labels_refused", "", ""] == 10
    labels.assign(chance=1).to_csv(copy.folder / "mine/labels.csv", index=False)
    run = copy.run(*MINE)
    assert run.status != 0 and "rows without an answer (the sum" in run.output, run.output
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(asked))
    labels["aid"] = 0.5
    labels.to_csv(copy.folder / "mine/labels.csv", index=False)
    run = copy.run(*MINE)
    assert run.status != 0 and "offers that are not those of the plan" in run.output


def test_a_filter_of_two_columns_asks_for_both_and_has_one_bound(copied):
    copy, rng = copied(), np.random.default_rng(8)
    (copy.folder / "mine").mkdir()
    with_one_key(copy)
    frame, _ = tables.panel(rng, 6000)
    frame["sex"] = np.where(rng.random(len(frame)) < 0.3 + 0.01 * frame["age"] / 2, "f", "m")
    columns, truth = ["region", "sex"], frame.set_index("person")[["region", "sex"]]
    frame["region"] = frame["region"].mask(rng.random(len(frame)) < 0.2)
    frame["sex"] = frame["sex"].mask(
        rng.random(len(frame)) < np.where(frame["sex"] == "f", 0.5, 0.2)
    )
    frame.to_csv(copy.folder / "mine/people.csv", index=False)
    entry = {"table": "mine/people.csv", "id": "person", "balance": columns, "alpha": 0.3}
    entry |= {"collect": {"budget": 300}, "study": {"figures": ["certificate"]}}
    (copy.folder / "mine/mine.yaml").write_text(yaml.safe_dump(entry))
    run = copy.run(*MINE)
    assert run.status == 0, run.output
    place = copy.results / "people"
    told = frame.set_index("person")[columns]
    listed = pd.read_csv(place / "collect.csv").set_index("person")
    pd.testing.assert_frame_equal(listed[columns], told.loc[listed.index])
    assert len(listed) == 300 and listed[columns].isna().any(axis=1).all()
    listed[columns] = truth.loc[listed.index]
    listed.loc[listed.index[:4], "sex"] = None  # one of two is no answer
    listed.reset_index().to_csv(copy.folder / "mine/labels.csv", index=False)
    (copy.folder / "mine/mine.yaml").write_text(
        yaml.safe_dump(entry | {"collected": "mine/labels.csv"})
    )
    run = copy.run(*MINE)
    assert run.status == 0, run.output
    made = metrics(copy, "collect", "people")
    assert made["labels_bought", "", ""] == 296 and made["labels_refused", "", ""] == 4
    plan = pd.read_parquet(place / "plan.parquet").set_index("person")
    assert {*plan.index} == {*told.index[told.isna().any(axis=1)]}
    for column in columns:
        own = truth.loc[plan.index, column]
        groups = pd.crosstab(plan["group"], own, normalize="index")
        shift = (groups - own.value_counts(normalize=True)).abs().to_numpy().max()
        # Whoever those are who refused. Without them the bound of 95 % misses in one of twenty
        # draws, here in 2 of 28; test_group_plans holds it to the truth over draws.
        assert made["collected_at_worst", "", ""] >= shift
        shares = [made["share_before_collected", f"{column}={one}", ""] for one in own.unique()]
        assert sum(shares) == pytest.approx(1)
    filled = pd.read_csv(place / "collect.csv").set_index("person")
    assert filled.loc[listed.index[4:], columns].equals(listed.loc[listed.index[4:], columns])
    head = "## People who had not told all their groups"
    card = (place / "filter.md").read_text().partition(head)[2]
    assert "region=east" in card and "sex=f" in card
