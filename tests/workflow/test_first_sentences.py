"""First sentences of made-up tables with odd names: the asked quantity, for the asked people.

Jobs run one after the other in this process, without figures.
"""

import re

import numpy as np
import odd_tables
import pytest
from counterweight.reporting.wording import amount, number, percent
from odd_tables import PLAIN, Told, answers
from test_own_pages import scored, tables

FIGURE = r"(−?\d[\d,]*\.?\d*)"


def in_order(text, shares=True):
    """Each interval holds its number, and those of shares lie between 0 and 100 %."""
    found = re.findall(rf"(?<![\d.]){FIGURE}( %)? (?:\w+ )?\[{FIGURE}, {FIGURE}\]", text)
    for value, unit, *ends in found:
        low, mean, high = (
            float(one.replace("−", "-").replace(",", "")) for one in (ends[0], value, ends[1])
        )
        assert low <= mean <= high, (value, ends)
        assert not (shares and unit) or 0 <= low <= high <= 100, (value, ends)


@pytest.fixture
def told(tmp_path, monkeypatch):
    """What is said of a table: a function of a frame and the keys of its entry."""
    monkeypatch.chdir(tmp_path)

    def say(frame, sep=",", **entry):
        found = Told(frame, sep, **entry)
        in_order(found.answer)
        return found.question, found.answer

    return say


@pytest.mark.parametrize("name", odd_tables.MADE)
def test_odd_tables_are_told_what_was_asked(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    frame, entry, said = odd_tables.MADE[name](np.random.default_rng(3))
    found = Told(frame, **entry)
    for text in said(frame, answers):
        assert text in found.answer
    # One number a name: a card says it as the sentence does, and the page as the terminal.
    told = [re.search(rf"{FIGURE}(?: %)?(?: \[.*?\])?", value)[0] for _, value in found.cards[:2]]
    assert any(figure in found.answer for figure in told)
    assert "".join(found.answer.split()) in "".join(found.page.split())
    in_order(found.answer)
    in_order(found.page, shares=False)  # relative changes have no bounds


GERMAN = {"customer": "Kundennummer", "income": "Einkommen", "default": "Zahlung ausgefallen?"}


@pytest.mark.parametrize("target", ["everyone", "unlabeled"])
def test_blanks_in_another_language_have_its_words(told, target):
    frame, _, _ = tables.lender(np.random.default_rng(1), 500)
    frame = frame.rename(columns=GERMAN).drop(columns=["notes", "approved"])
    name = GERMAN["default"]
    frame[name] = frame[name].map({0: "nein", 1: "ja, ganz"})
    question, answer = told(
        frame,
        sep=";",
        id="Kundennummer",
        outcome={"column": name, "positive": "ja, ganz"},
        target=target,
        study=PLAIN,
    )
    blank = frame[name].isna().to_numpy()
    estimate = answers("scores")["estimate"]
    asked = f"of the {blank.sum()} rows without an outcome, an estimated "
    assert question == f"What would “{name}” be where it is blank?"
    assert (
        f"{asked}{percent(estimate[blank].mean())} [" in answer
        and f"“{name}” = “ja, ganz”" in answer
    )
    everyone = f"of all {len(frame)} rows, known outcomes and estimates together, "
    assert (everyone in answer) == (target == "everyone")
    assert target != "everyone" or everyone + percent(estimate.mean()) in answer


def test_a_table_without_blanks_is_not_asked_what_is_blank(told):
    frame, _, truth = tables.lender(np.random.default_rng(7), 500)
    known = frame["customer"].map(truth.set_index("customer")["default"])
    frame = frame.drop(columns=["notes", "approved"]).assign(default=known)
    question, answer = told(frame, id="customer", outcome="default", study=PLAIN)
    assert question == "What is default, and how well do the other columns foretell it?"
    rate = percent(frame["default"].mean())
    assert f"Of all {len(frame)} rows, {rate} have " in answer
    assert "; on rows that it has not seen, the model has AUC " in answer


def test_a_number_with_a_unit_is_told_with_one_number_of_digits(told):
    rng = np.random.default_rng(2)
    frame, _, _ = tables.lender(rng, 500)
    frame["loss in EUR"] = (rng.gamma(2, 500, len(frame)) + 3 * frame["debt"]).round(2)
    frame.loc[frame["approved"] == "no", "loss in EUR"] = np.nan
    frame = frame.drop(columns=["notes", "approved", "default"])
    models = {"models": [{"model": "logistic", "l2": 1.0}]}
    outcome = {"column": "loss in EUR", "kind": "number"}
    _, answer = told(frame, id="customer", outcome=outcome, study=models)
    blank = frame["loss in EUR"].isna()
    mean = answers("scores")["estimate"][blank].mean()
    asked = f"over the {blank.sum()} rows without an outcome, “loss in EUR” is an estimated "
    assert asked + number(mean, 0 if mean >= 1000 else 2) in answer
    places = {
        len(one.partition(".")[2]) for one in re.findall(FIGURE, answer.partition(" if, ")[0])
    }
    assert places - {0} in (set(), {2})


def test_prices_lead_with_what_they_bring(told):
    frame, _ = tables.school(np.random.default_rng(3), 400)
    frame = frame.rename(columns={"aid": "Preis in €", "came": "gekauft"})
    frame["Preis in €"] = (13 - frame["Preis in €"]).round(1)
    frame["gekauft"] = frame["gekauft"].map({"yes": "ja", "no": "nein"})
    _, answer = told(
        frame,
        sep=";",
        id="applicant",
        offer={"column": "Preis in €"},
        answer={"column": "gekauft", "positive": "ja"},
        study={"models": [{"model": "offer_logistic"}], "bootstrap": 5},
    )
    asked = f"a person is expected to bring {amount(odd_tables.brought())} [INTERVAL], by the model"
    asked += f"'s claim put right by answers, and all {len(answers('offers'))}"
    pattern = re.escape(asked).replace(r"INTERVAL", rf"{FIGURE}, {FIGURE}")
    assert re.search(pattern, answer)


def test_groups_of_several_words_stand_in_quotation_marks(told):
    frame, _ = tables.panel(np.random.default_rng(4), 1500)
    frame["region"] = frame["region"].map({"north": "ev.", "south": "r. k.", "east": "keine"})
    frame = frame.rename(columns={"region": "Konfession"})
    _, answer = told(frame, id="person", balance=["Konfession"], alpha=0.3, certified=False)
    assert "% are “r. k.” (" in answer and "% are keine (" in answer
    assert "the imbalance falls from" in answer and "is asked for Konfession" in answer


def test_a_policy_of_several_words_stands_in_quotation_marks(told):
    rng = np.random.default_rng(5)
    log, _ = tables.clicks(rng, 4000)
    log["revenue ($)"] = (log["clicked"] * rng.gamma(2, 5, len(log))).round(2)
    log["old rule"] = "a"
    policies = {"always a": {"column": "old rule", "action": "item"}}
    reward = {"column": "revenue ($)", "low": 0, "high": 90}
    question, answer = told(
        log, reward=reward, propensity="p_logged", policies=policies, keep_rate=0.1
    )
    value = answers("values").query("policy == 'always a' and estimator == 'ips'").iloc[0]
    assert question == "Would “always a” earn more than the policy that made the log?"
    assert answer.startswith(f"The policy “always a” would earn {amount(value['value'], 3)} [")


def test_a_log_that_dropped_zeros_says_how_many_ones_there_were(told):
    log = scored(np.random.default_rng(6)).drop(columns="old model")
    question, answer = told(log, outcome="clicked", keep_rate=0.1)
    ones, zeros = log["clicked"].sum(), (1 - log["clicked"]).sum()
    share = ones / (ones + 10 * zeros)
    # Of that very log: a zero that was kept stands for ten, and chance kept it.
    error = share * (90 * zeros) ** 0.5 / (ones + 10 * zeros)
    assert question == "How likely is clicked = 1 in a row?"
    start = "Of all rows of the log, those that were dropped included, "
    assert answer.startswith(f"{start}{percent(share)} [")
    ends, rest = answer.removeprefix(f"{start}{percent(share)} [").split("] ", 1)
    assert rest.startswith("have clicked = 1; on rows held out")
    ends = [float(end) / 100 for end in ends.split(",")]
    assert ends == pytest.approx([share - 1.96 * error, share + 1.96 * error], abs=0.0015)


def test_promises_are_counted_and_the_price_is_told(told):
    frame, _ = tables.hiring(np.random.default_rng(7), 500)
    frame = frame.rename(columns={"did well": "a réussi", "sex": "sexe"})
    _, answer = told(
        frame,
        id="candidate",
        outcome={"column": "a réussi", "positive": "yes"},
        groups={"femmes": {"sexe": "Female"}},
        promises=["recall(femmes) >= 0.5"],
        study={
            "repeats": 1,
            "models": [
                {
                    "model": "chosen",
                    "name": "promised",
                    "candidates": [{"model": "logistic"}],
                    "constraints": ["recall(femmes) >= 0.5"],
                }
            ],
        },
    )
    assert re.search(r"keeps? (1|0) of 1 promise", answer), answer
