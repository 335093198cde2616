"""Draws the tables of the examples: ``python examples/tables.py`` writes them to examples/tables.

Each is a small world whose truth is known, told the way people have their tables: with blanks,
yes and no, dates, a column that says nothing, names of rows that are no features.
"""

from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent / "tables"


def _chance(z):
    return 1 / (1 + np.exp(-z))


def lender(rng, rows=3000, unseen=0.0):
    """Applicants of a lender: who was refused has no outcome.

    With `unseen` the officer who decides sees something that no column has, and that goes with the
    outcome so strongly: blanks can then not be made up for from the table.

    Returns
    -------
    applicants, new, truth : pandas.DataFrame
        ``truth`` has ``customer`` and the outcome of everybody, also of those in ``new``.
    """
    income = rng.lognormal(10.3, 0.5, rows).round(2)
    debt = (rng.beta(2, 4, rows) * 100).round(1)
    job = rng.choice(["office", "trade", "public", "none"], rows, p=[0.4, 0.3, 0.2, 0.1])
    late = rng.poisson(0.6, rows)
    risk = -2 - 0.8 * (np.log(income) - 10.3) + 0.03 * (debt - 33) + 0.7 * late + (job == "none")
    if unseen:
        risk = risk + unseen * rng.normal(0, 1, rows)
    default = (rng.random(rows) < _chance(risk)).astype(int)
    approved = rng.random(rows) < _chance(1 - 1.2 * (risk + 1.5))
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, rows), unit="D")
    frame = pd.DataFrame(
        {
            "customer": [f"C{number:05d}" for number in rng.permutation(rows)],
            "applied": days.strftime("%Y-%m-%d"),
            "income": np.where(rng.random(rows) < 0.05, np.nan, income),
            "debt": debt,
            "job": job,
            "late payments": late,
            "notes": [f"call {number}" for number in rng.integers(0, 10**6, rows)],
            "approved": np.where(approved, "yes", "no"),
            "default": pd.array(np.where(approved, default, 0), "Int64"),
        }
    )
    frame.loc[~approved, "default"] = pd.NA
    truth = pd.DataFrame({"customer": frame["customer"], "default": default})
    known = rows * 5 // 6
    return frame[:known], frame[known:].drop(columns=["approved", "default"]), truth


def bought_labels(rng, applicants, truth, count=200):
    """Labels that the lender bought: so many of the refused, drawn at random, got a small loan.

    Three moved away, and nobody knows.

    Returns
    -------
    labels : pandas.DataFrame
        ``customer``, ``default`` and ``chance``, that of being drawn.
    """
    refused = applicants.loc[applicants["approved"] == "no", "customer"].to_numpy()
    drawn = rng.choice(refused, count, replace=False)
    known = truth.set_index("customer")["default"].loc[drawn].astype("Int64").to_numpy()
    labels = pd.DataFrame({"customer": drawn, "default": known, "chance": count / len(refused)})
    labels.loc[:2, "default"] = pd.NA
    return labels


def school(rng, rows=2000):
    """Offers of aid that a school made to applicants, and whether they came.

    Returns
    -------
    survey, new : pandas.DataFrame
    """
    grade = rng.normal(0, 1, rows)
    home = rng.choice(["near", "far", "abroad"], rows, p=[0.5, 0.35, 0.15])
    needed = 4 + 2 * grade + np.select([home == "near", home == "far"], [-2.0, 0.5], 2.0)
    aid = np.round(rng.uniform(0, 12, rows), 1)
    came = rng.random(rows) < _chance(0.9 * (aid - needed))
    frame = pd.DataFrame(
        {
            "applicant": np.arange(10001, 10001 + rows),
            "grade": grade.round(2),
            "home": home,
            "siblings": rng.poisson(1.2, rows),
            "aid": aid,
            "came": np.where(came, "yes", "no"),
        }
    )
    known = rows * 4 // 5
    return frame[:known], frame[known:].drop(columns=["aid", "came"])


def panel(rng, rows=4000):
    """People who told their group once, and what is known of everybody.

    Returns
    -------
    people, new : pandas.DataFrame
    """
    group = rng.choice(["north", "south", "east"], rows, p=[0.6, 0.3, 0.1])
    shift = np.select([group == "north", group == "south"], [0.0, 1.0], 2.0)
    frame = pd.DataFrame(
        {
            "person": [f"p{number}" for number in rng.permutation(rows)],
            "region": group,
            "age": (40 + 6 * shift + rng.normal(0, 10, rows)).round(),
            "visits": rng.poisson(2 + shift),
            "device": np.where(rng.random(rows) < 0.3 + 0.2 * shift, "phone", "desk"),
        }
    )
    known = rows * 3 // 4
    return frame[:known], frame[known:].drop(columns="region")


def clicks(rng, rows=20000, rate=0.1):
    """A log of shown items, of which rows without a click were kept at a rate only.

    Returns
    -------
    log : pandas.DataFrame
    truth : dict of str to float
        Value of each policy.
    """
    shown = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    logged = np.array([0.4, 0.3, 0.2, 0.1])
    worth = np.array([0.02, 0.03, 0.05, 0.09])
    new = np.array([0.1, 0.2, 0.3, 0.4])
    clicked = rng.random(rows) < worth[shown]
    kept = clicked | (rng.random(rows) < rate)
    frame = pd.DataFrame(
        {
            "user": rng.integers(0, rows // 3, rows),
            "item": np.array(list("abcd"))[shown],
            "p_logged": logged[shown],
            "p_new": new[shown],
            "clicked": clicked.astype(int),
        }
    )[kept]
    return frame, {"new": float(new @ worth), "logged": float(logged @ worth)}


def hiring(rng, rows=3000):
    """Applicants for a job, a group, who was invited by the old rule, and whether they did well.

    Returns
    -------
    people, new : pandas.DataFrame
    """
    sex = rng.choice(["Female", "Male"], rows, p=[0.4, 0.6])
    test = rng.normal(0, 1, rows) + 0.4 * (sex == "Male")
    years = rng.gamma(2, 3, rows).round(1)
    well = rng.random(rows) < _chance(-1 + test + 0.1 * years)
    degree = rng.choice(["none", "BA", "MA"], rows)
    invited = test + 0.1 * years + rng.normal(0, 1, rows) > 1.2
    frame = pd.DataFrame(
        {
            "candidate": [f"k{number}" for number in range(rows)],
            "sex": sex,
            "test": test.round(3),
            "years": years,
            "degree": degree,
            "invited": np.where(invited, "yes", "no"),
            "did well": np.where(well, "yes", "no"),
        }
    )
    known = rows * 5 // 6
    return frame[:known], frame[known:].drop(columns=["did well", "invited"])


def volunteers(rng, rows=4000):
    """People who once took part, where they live, and who of them stayed to the end.

    Returns
    -------
    people : pandas.DataFrame
    """
    people, _ = panel(rng, rows * 4 // 3)
    sex = rng.choice(["woman", "man"], len(people))
    stays = _chance(-1 + 0.5 * people["visits"] + 0.8 * (sex == "man") - 0.02 * people["age"])
    drawn = rng.random(len(people)) < stays
    return people.assign(sex=sex, stayed=np.where(drawn, "yes", "no"))


def trial(rng, rows=2400):
    """Applicants of the next year, and what each will say when an aid is offered.

    Returns
    -------
    people : pandas.DataFrame
        What is known of them before.
    answers : pandas.DataFrame
        ``applicant`` and ``comes_from``, the least aid with which they come: a trial asks for one
        aid, and sees whether they do.
    """
    survey, new = school(rng, rows)
    people = pd.concat([survey.drop(columns=["aid", "came"]), new], ignore_index=True)
    people["applicant"] += 10_000
    grade, home = people["grade"], people["home"]
    needed = 4 + 2 * grade + np.select([home == "near", home == "far"], [-2.0, 0.5], 2.0)
    comes = needed + rng.logistic(0, 1 / 0.9, rows)
    return people, people[["applicant"]].assign(comes_from=comes.round(3))


def transfers(rng, rows=6000):
    """Transfers with the scores of two models for fraud, which is known of the few that were held.

    Returns
    -------
    frame : pandas.DataFrame
        The logit of fraud is z - 3, with z normal of deviation 1.6; ``now`` sees z with noise and
        says too much, ``new`` with less noise and is right. Held were, by chance, some of those
        that ``now`` scores high.
    truth : bool array (rows,)
    """
    z = 1.6 * rng.normal(size=rows)
    fraud = rng.random(rows) < _chance(z - 3)
    now = _chance(0.7 * z + 0.9 * rng.normal(size=rows) - 2)
    new = _chance(z + 0.5 * rng.normal(size=rows) - 3.05)
    held = rng.random(rows) < 0.5 * now**2
    frame = pd.DataFrame({"transfer": np.arange(500_000, 500_000 + rows)})
    return frame.assign(
        now=now.round(4), new=new.round(4), fraud=np.where(held, np.where(fraud, "yes", "no"), "")
    ), fraud


def judged(rng, frame, truth, count=400):
    """Labels of a judge: transfers without one, drawn with chances that rise with ``now``.

    Returns
    -------
    pandas.DataFrame
        ``transfer``, ``fraud`` and ``chance``, that of being drawn.
    """
    blank = (frame["fraud"] == "").to_numpy()
    size = np.sqrt(frame["now"] * (1 - frame["now"])) + 0.05
    chance = np.minimum(1, count * size / size[blank].sum())
    drawn = blank & (rng.random(len(frame)) < chance)
    told = np.where(truth, "yes", "no")[drawn]
    return frame.loc[drawn, ["transfer"]].assign(fraud=told, chance=chance[drawn].round(6))


def plots(rng, rows=1800):
    """Plots of farmers with the carbon of their soil, which was measured where they asked for it.

    Returns
    -------
    frame : pandas.DataFrame
        ``price`` is what a sample costs; it rises with the way to the plot.
    laboratory : pandas.DataFrame
        ``plot`` and ``carbon`` of all, in tonnes a hectare: what a sample would say. It is 60 +
        .02 (rain - 700) + .6 (clay - 20), 9 less where the plot is tilled, with noise of 8;
        farmers ask for a sample where there is more of it than their columns tell.
    """
    region = rng.choice(["hills", "plain", "coast"], rows, p=[0.2, 0.65, 0.15])
    rain = rng.normal(700, 90, rows) + 150 * (region == "coast")
    clay = rng.gamma(6, 4, rows)
    tilled = rng.random(rows) < np.where(region == "hills", 0.3, 0.7)
    noise = rng.normal(0, 8, rows)
    carbon = 60 + 0.02 * (rain - 700) + 0.6 * (clay - 20) - 9 * tilled + noise
    asked = rng.random(rows) < _chance(-1 + 0.12 * noise)
    frame = pd.DataFrame(
        {
            "plot": [f"P{number:04d}" for number in rng.permutation(rows)],
            "region": region,
            "rain": rain.round(),
            "clay": clay.round(1),
            "tilled": np.where(tilled, "yes", "no"),
            "price": (25 + 5 * rng.poisson(np.where(region == "hills", 6, 2))),
            "carbon": np.where(asked, carbon, np.nan).round(1),
        }
    )
    return frame, frame[["plot"]].assign(carbon=carbon.round(1))


def members(rng, rows=6000):
    """Members of a club, of whom some told their region; those in the east less often.

    Returns
    -------
    frame : pandas.DataFrame
        ``region`` is blank of who did not tell it.
    regions : pandas.DataFrame
        ``member`` and ``region`` of all: what they say when they are asked.
    """
    people, _ = panel(rng, rows * 4 // 3)
    people = people.rename(columns={"person": "member"})
    silent = rng.random(len(people)) < np.where(people["region"] == "east", 0.6, 0.3)
    frame = people.assign(region=people["region"].mask(silent))
    return frame, people[["member", "region"]]


def visitors(rng, rows=2500):
    """Visitors of a museum who were shown a fee, and those to whom one is to be shown.

    Returns
    -------
    frame : pandas.DataFrame
        ``fee`` and ``came`` are blank of one in three.
    willing : pandas.DataFrame
        ``visitor`` and ``pays_up_to``, the highest fee with which each comes. It is 9 and 3 more
        from abroad, 4 less with children, .08 a kilometre less, with logistic noise of scale 2.
    """
    abroad, children = rng.random(rows) < 0.3, rng.random(rows) < 0.4
    distance = rng.gamma(2, 10, rows).round(1)
    worth = 9 + 3 * abroad - 4 * children - 0.08 * distance + rng.logistic(0, 2, rows)
    fee = (rng.integers(2, 41, rows) / 2).round(1)
    shown = rng.random(rows) < 2 / 3
    frame = pd.DataFrame(
        {
            "visitor": [f"V{number:04d}" for number in rng.permutation(rows)],
            "from": np.where(abroad, "abroad", "here"),
            "children": np.where(children, "yes", "no"),
            "distance": distance,
            "fee": np.where(shown, fee, np.nan),
            "came": np.where(shown, np.where(worth >= fee, "yes", "no"), ""),
        }
    )
    return frame, frame[["visitor"]].assign(pays_up_to=worth.round(3))


def write(folder=FOLDER, seed=7):
    """Write all tables to a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    applicants, new, _ = lender(rng)
    tables = {"applicants": applicants, "new_applicants": new}
    tables["survey"], tables["new_survey"] = school(rng)
    tables["people"], tables["new_people"] = panel(rng)
    tables["clicks"], _ = clicks(rng)
    tables["new_clicks"], _ = clicks(rng, 5000)
    tables["candidates"], tables["new_candidates"] = hiring(rng)
    tables["volunteers"] = volunteers(rng)
    tables["next_year"], tables["answers"] = trial(rng)
    tables["loans"], _, truth = lender(rng, unseen=1.2)
    tables["bought_labels"] = bought_labels(rng, tables["loans"], truth)
    tables["transfers"], fraud = transfers(rng)
    tables["judged"] = judged(rng, tables["transfers"], fraud)
    tables["plots"], tables["laboratory"] = plots(rng)
    tables["members"], tables["regions"] = members(rng)
    tables["visitors"], tables["willing"] = visitors(rng)
    for name, frame in tables.items():
        frame.to_csv(folder / f"{name}.csv", index=False)


if __name__ == "__main__":
    write()
