"""Thirty small tables that people could have: in other languages, with weights, of figures.

``python tests/workflow/odd_tables.py`` asks each and prints question, first sentence and cards;
with words behind it, of those whose names begin so.
"""

import html
import re
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

import numpy as np
import pandas as pd
from counterweight import load
from counterweight.answers import run_jobs
from counterweight.plan.config import resolve
from counterweight.plan.reading import with_own_tables
from counterweight.plan.stages import Stages
from counterweight.plan.tasks import module_of
from counterweight.reporting.wording import amount, number, percent
from counterweight.tables.parquet import read_table
from own_tables import ROOT, tables

PLAIN = {"models": [{"model": "logistic", "l2": 1.0, "per_row": False}]}
OFFERS = {"models": [{"model": "offer_logistic"}], "bootstrap": 5}
#: By its name ``(frame, entry, what the first sentence has)``, the last a function of its answers.
MADE = {}


def made(function):
    """A table under the name of its function."""
    MADE[function.__name__] = function
    return function


def blanks(rng, rows=400, name="default", values=(0, 1)):
    frame, _, _ = tables.lender(rng, rows)
    frame[name] = frame.pop("default").map({0: values[0], 1: values[1]})
    return frame.drop(columns=["notes", "approved"])


def of_blank(frame, name, answers, weight=1):
    """What the estimates say of the rows without an outcome, in print."""
    blank = frame[name].isna().to_numpy()
    scores, weight = answers("scores")["estimate"], np.broadcast_to(weight, len(frame))
    return np.average(scores[blank], weights=weight[blank])


def asked_of_blank(name, event):
    def said(frame, answers):
        return [
            f"of the {frame[name].isna().sum()} rows without an outcome",
            f"an estimated {percent(of_blank(frame, name, answers))}",
            f"have {event}",
        ]

    return said


@made
def blanks_with_weights(rng):
    frame = blanks(rng).assign(w=rng.uniform(0.2, 5, 333))
    entry = {"id": "customer", "outcome": {"column": "default", "positive": 1}, "weight": "w"}

    def said(frame, answers):
        share = percent(of_blank(frame, "default", answers, frame["w"].to_numpy()))
        return ["weighted by design, of the", f"an estimated {share}"]

    return frame, entry | {"study": PLAIN}, said


@made
def blanks_in_french(rng):
    frame = blanks(rng, name="défaut de paiement", values=("non", "oui"))
    entry = {"id": "customer", "outcome": {"column": "défaut de paiement", "positive": "oui"}}
    said = asked_of_blank("défaut de paiement", "“défaut de paiement” = oui")
    return frame, entry | {"study": PLAIN}, said


@made
def blanks_in_russian(rng):
    frame = blanks(rng, name="дефолт", values=("нет", "да"))
    entry = {"id": "customer", "outcome": {"column": "дефолт", "positive": "да"}, "study": PLAIN}
    return frame, entry, asked_of_blank("дефолт", "дефолт = да")


@made
def blanks_whose_classes_are_figures(rng):
    frame = blanks(rng, name="7", values=(3, 9))
    entry = {"id": "customer", "outcome": {"column": "7", "positive": 9}, "study": PLAIN}
    return frame, entry, asked_of_blank("7", "“7” = 9")


@made
def blanks_of_few_rows(rng):
    frame = blanks(rng, rows=96)
    entry = {"id": "customer", "outcome": {"column": "default", "positive": 1}, "study": PLAIN}

    def said(frame, answers):
        return [f"the {frame['default'].isna().sum()} rows without an outcome", "have default = 1"]

    return frame, entry, said


@made
def blanks_of_many_rows(rng):
    frame = blanks(rng, rows=9000, name='said "yes"?', values=("no", "yes"))
    entry = {"id": "customer", "outcome": {"column": 'said "yes"?', "positive": "yes"}}

    def said(frame, answers):
        blank = number(frame['said "yes"?'].isna().sum(), 0)
        return [f"of the {blank} rows without an outcome", 'have “said "yes"?” = yes']

    return frame, entry | {"study": PLAIN}, said


@made
def blanks_of_a_number_below_zero(rng):
    frame = blanks(rng)
    seen = frame.pop("default").notna()
    frame["Δ °C"] = np.where(seen, rng.normal(-8, 2, len(frame)) + frame["debt"] / 20, np.nan)
    entry = {"id": "customer", "outcome": {"column": "Δ °C", "kind": "number"}}

    def said(frame, answers):
        mean = of_blank(frame, "Δ °C", answers)
        return [f"rows without an outcome, “Δ °C” is an estimated {number(mean, 2)} ["]

    return frame, entry | {"study": {"models": [{"model": "logistic", "l2": 1.0}]}}, said


@made
def blanks_for_a_population(rng):
    frame = blanks(rng)
    frame["sex"] = rng.choice(["f", "m"], len(frame), p=[0.3, 0.7])
    target = {"margins": {"sex": {"f": 0.6, "m": 0.4}}}
    entry = {"id": "customer", "outcome": {"column": "default", "positive": 1}, "target": target}
    return frame, entry | {"study": PLAIN}, lambda frame, answers: ["of them have default = 1"]


@made
def blanks_with_a_tilt(rng):
    frame = blanks(rng)
    entry = {"id": "customer", "outcome": {"column": "default", "positive": 1}}

    def said(frame, answers):
        share = percent(of_blank(frame, "default", answers))
        return ["are 2 times those of like rows", f"an estimated {share}"]

    return frame, entry | {"tilt": {"times": 2}, "study": PLAIN}, said


@made
def blanks_by_the_outcome_and_a_feature(rng):
    _, _, truth = tables.lender(np.random.default_rng(3), 2400)
    frame = blanks(np.random.default_rng(3), rows=2400)
    frame["default"] = truth["default"].to_numpy()[: len(frame)]
    chance = 1 / (1 + np.exp(-1 + frame["default"] + 0.02 * (frame["debt"] - 33)))
    frame["default"] = frame["default"].where(rng.random(len(frame)) < chance)
    entry = {"id": "customer", "outcome": {"column": "default", "positive": 1}}
    entry["weights"] = {"weighting": "rosset", "features": ["debt"]}

    def said(frame, answers):
        return ["If who has an outcome goes by the outcome and", "rows without an outcome"]

    return frame, entry | {"study": PLAIN}, said


def price_list(rng, rows=400, scale=1.0, names=("price", "bought"), values=("yes", "no")):
    frame, _ = tables.school(rng, rows)
    frame[names[0]] = ((13 - frame.pop("aid")) * scale).round(2)
    frame[names[1]] = frame.pop("came").map({"yes": values[0], "no": values[1]})
    entry = {"id": "applicant", "offer": {"column": names[0]}}
    return frame, entry | {"answer": {"column": names[1], "positive": values[0]}, "study": OFFERS}


def brings(frame, answers):
    size = number(len(answers("offers")), 0)
    # An interval and how it is known stand between the two.
    return [f"expected to bring {amount(brought())}", f", and all {size}"]


@made
def offers_in_thousands(rng):
    return *price_list(
        rng, scale=2500.0, names=("Miete (€)", "Vertrag"), values=("ja", "nein")
    ), brings


@made
def offers_of_cents(rng):
    return *price_list(rng, scale=0.004, names=("fee", "1"), values=("1", "0")), brings


@made
def offers_of_few_rows(rng):
    return *price_list(rng, rows=120), brings


@made
def offers_of_a_discount(rng):
    frame, _ = tables.school(rng, 500)
    frame = frame.rename(columns={"aid": "discount", "came": "kommt"})
    offer = {"column": "discount", "low": 0, "high": 12, "direction": "up"}
    offer["revenue"] = {"intercept": 12, "slope": -1}
    entry = {"id": "applicant", "offer": offer, "answer": "kommt", "study": OFFERS}
    return frame, entry, brings


def even(frame, column):
    entry = {"id": "person", "balance": [column], "alpha": 0.3, "certified": False}

    def said(frame, answers):
        return [f"nobody is asked for {column}", "the imbalance falls from"]

    return frame, entry, said


@made
def filter_of_groups_that_are_figures(rng):
    frame, _ = tables.panel(rng, 2000)
    frame["district"] = frame.pop("region").map({"north": 1, "south": 2, "east": 3})
    frame, entry, said = even(frame, "district")
    return frame, entry, lambda *told: [*said(*told), "% have district = 3 (", "= 1 ("]


@made
def filter_of_groups_of_words(rng):
    frame, _ = tables.panel(rng, 2000)
    frame["religion"] = frame.pop("region").map({"north": "r. k.", "south": "ev.", "east": "none"})
    frame, entry, said = even(frame, "religion")
    return frame, entry, lambda *told: [*said(*told), "% are “r. k.” (", "% are none ("]


@made
def filter_of_two_columns(rng):
    frame, _ = tables.panel(rng, 2600)
    frame["sex"] = np.where(rng.random(len(frame)) < 0.3 + 0.2 * (frame["visits"] > 2), 1, 2)
    frame["区"] = frame.pop("region")
    entry = {"id": "person", "balance": ["区", "sex"], "alpha": 0.3, "certified": False}
    return frame, entry, lambda frame, answers: ["nobody is asked for 区 and sex"]


def chosen(rng, rows=500, column="did well", **more):
    frame, _ = tables.hiring(rng, rows)
    frame = frame.rename(columns={"did well": column, "sex": "gender"})
    promises = more.pop("promises", ["recall(women) >= 0.5"])
    models = [{"model": "chosen", "name": "promised", "candidates": [{"model": "logistic"}]}]
    models[0]["constraints"] = promises
    entry = {"id": "candidate", "outcome": {"column": column, "positive": "yes"}}
    entry |= {"groups": {"women": {"gender": "Female"}, "men": {"gender": "Male"}}} | more
    entry |= {"promises": promises, "study": {"repeats": 2, "models": models}}
    many = f"of {len(promises)} promise{'s' * (len(promises) > 1)}"
    return frame, entry, lambda frame, answers: [many, "they err in "]


@made
def promises_in_spanish(rng):
    return chosen(rng, column="rindió bien")


@made
def promises_of_few_rows(rng):
    return chosen(rng, rows=120)


@made
def promises_of_two_kinds(rng):
    told = ["coverage(women) >= 0.8 * coverage(men)", "churn(everyone) <= 0.4"]
    return chosen(rng, promises=told, deployed={"column": "invited", "positive": "yes"})


@made
def promises_of_everyone(rng):
    return chosen(rng, promises=["coverage(everyone) <= 0.3"])


def log_of(rng, rows=6000, rate=1.0, **policies):
    frame, _ = tables.clicks(rng, rows, rate)
    entry = {
        "reward": "clicked",
        "propensity": "p_logged",
        "policies": policies or {"new": "p_new"},
    }
    return frame, entry | ({"keep_rate": rate} if rate < 1 else {})


def worth(policy, figures=4):
    def said(frame, answers):
        values = answers("values")
        value = values[values["policy"].astype(str) == policy].iloc[0]["value"]
        return [f"would earn {number(value, figures)} ["]

    return said


@made
def log_whose_policy_is_its_own(rng):
    frame, entry = log_of(rng, **{"as before": "p_before"})
    frame["p_before"] = frame["p_logged"]

    def said(frame, answers):
        return ["“as before” would earn", "it is the same policy", "exactly 0"]

    return frame, entry, said


@made
def log_of_a_policy_that_is_a_figure(rng):
    frame, entry = log_of(rng, rate=0.2, **{"2024": "p_new"})
    return frame, entry, lambda *told: ["“2024” would earn", *worth("2024")(*told)]


@made
def log_of_amounts(rng):
    frame, entry = log_of(rng)
    frame["Umsatz"] = (frame.pop("clicked") * rng.gamma(2, 500, len(frame))).round(2)
    entry["reward"] = {"column": "Umsatz", "low": 0, "high": 9000}
    return frame, entry, lambda frame, answers: ["The policy new would earn", " a row"]


@made
def log_of_losses(rng):
    frame, entry = log_of(rng, user="user")
    frame["cost"] = -1.0 * (frame.pop("clicked") + 0.5 * (rng.random(len(frame)) < 0.3))
    entry = {"propensity": "p_logged", "policies": {"new": "p_new"}}
    entry["reward"] = {"column": "cost", "low": -2, "high": 0}
    return frame, entry, lambda frame, answers: ["The policy new would earn −", " a row"]


def judged(rng, names, rows=6000):
    x = rng.normal(size=rows)
    clicked = rng.random(rows) < 1 / (1 + np.exp(2 - x))
    frame = pd.DataFrame({"event": np.arange(rows), "clicked": clicked.astype(int)})
    for name, noise in zip(names, (0.0, 1.0), strict=False):
        frame[name] = 1 / (1 + np.exp(2 - x - noise * rng.normal(size=rows)))
    frame = frame[clicked | (rng.random(rows) < 0.2)]
    predictions = {name: name for name in names}

    def said(frame, answers):
        best = answers("measures").query("metric == 'auc'")["value"].max()
        return [f"have AUC of {number(best, 3)} ["]

    return frame, {"reward": "clicked", "keep_rate": 0.2, "predictions": predictions}, said


@made
def predictions_of_one(rng):
    return judged(rng, ["p̂"])


@made
def predictions_whose_names_are_figures(rng):
    return judged(rng, ["1", "2"])


def to_collect(rng, **more):
    frame = blanks(rng, rows=700)
    entry = {"id": "customer", "outcome": {"column": "default", "positive": 1}, "study": PLAIN}
    return frame, entry | more, asked_of_blank("default", "default = 1")


@made
def labels_to_buy(rng):
    return to_collect(rng, collect={"budget": 40})


@made
def chances_to_explore(rng):
    return to_collect(rng, explore={"share": 0.1, "monthly": 300})


@made
def offers_to_try(rng):
    frame, _ = tables.school(rng, 500)
    offer = {"column": "aid", "low": 0, "high": 12, "direction": "up", "grid": [0, 4, 8, 12]}
    offer["revenue"] = {"intercept": 12, "slope": -1}
    entry = {"id": "applicant", "offer": offer, "answer": "came", "study": OFFERS}
    return frame, entry | {"experiment": {"how": "around", "spread": 0.2, "least": 0.03}}, brings


def jobs_of(plan, name):
    """Stages of a study in the order in which they run, to its page."""
    study = plan["studies"][name]
    parts = module_of(study).parts(plan, study)
    yield from ((stage, name) for stage in ("prepare", "columns"))
    yield from (("sum", name, part) for part in parts)
    yield "label", name
    for stage, items in {"select": "selectors", "weigh": "weightings", "train": "methods"}.items():
        yield from ((stage, name, one) for one in study.get(items) or ())
    yield from (("evaluate", name, one) for one in study["methods"])
    if study.get("collect") or study.get("explore"):
        yield "collect", name
    yield from (
        (stage, name) for stage in ("deliver", "apply") if study.get("score") or stage != "apply"
    )
    yield "page", study["family"]


class Told:
    """What is said of a table: its jobs run in turn in this process, without figures."""

    def __init__(self, frame, sep=",", **entry):
        frame.to_csv("odd.csv", index=False, sep=sep, decimal="," if sep == ";" else ".")
        given = {"results": "results", "data": "data", "seed": 5, "table": "odd.csv"} | entry
        plan = resolve(with_own_tables(given, given))
        (name,), stages = plan["only"], Stages(plan, ROOT / "scripts")
        study = plan["studies"][name]
        asked = [one for one in jobs_of(plan, name) if stages.job(*one)]
        run_jobs(stages, name, asked)
        found = read_table(stages.job("page", study["family"]).outputs["findings"]).iloc[0]
        self.question, self.answer = found["question"], found["answer"]
        page = Path("results", found["href"]).read_text(encoding="utf-8")
        self.page = plain(page.partition("<main")[2].partition("</main>")[0])
        pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)
        self.cards = [(plain(label), plain(value)) for label, value in pairs]


def plain(part):
    """HTML as it is read, with a blank for each tag."""
    part = re.sub(r"<(style|script|svg).*?</\1>", " ", part, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", part))).strip()


def brought():
    """What best offers bring a person: put right by answers where these tell, else the claim."""
    known = pd.read_parquet("results/odd/metrics/delivered.parquet")
    known = known[~known["part"].fillna("").eq("single")].set_index("metric")["value"]
    if "drawn_doubly_robust_low" in known:
        return known["drawn_doubly_robust"]
    return answers("offers")["best_revenue"].mean() - load("results/odd").facts["optimism"]


def answers(file):
    return pd.read_csv(f"results/odd/{file}.csv")


def main(starts):
    for name, function in MADE.items():
        if not starts or name.startswith(tuple(starts)):
            with tempfile.TemporaryDirectory() as folder, chdir(folder):
                frame, entry, said = function(np.random.default_rng(3))
                told = Told(frame, **entry)
                lacking = [text for text in said(frame, answers) if text not in told.answer]
            print(f"\n{name}\n  {told.question}\n  {told.answer}")
            print(*(f"    {label}: {value}" for label, value in told.cards), sep="\n")
            print(f"  LACKS {lacking}" if lacking else "", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
