"""Bank Marketing (a Portuguese bank's phone campaigns, 2008 to 2010): file, typed table, twin."""

import numpy as np
import pyarrow as pa
from pyarrow import csv
from scipy.special import expit, log_ndtr

from counterweight.datasets.published import Published, drawn, expect, named, read_fields
from counterweight.tables.parquet import replacing

TITLE = "Bank Marketing"
LICENCE = "CC BY 4.0 (UCI Machine Learning Repository, DOI 10.24432/C5K306)"
ROWS = 8000
FILES = {"bank-full.csv": "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d"}
SOURCES = [
    {
        "url": "https://archive.ics.uci.edu/static/public/222/bank+marketing.zip",
        "sha256": "e0bf5f5de5b846e2f18e9d90606637267d46dfa260e0f17bb12e605db5efbeb4",
        "members": {"bank-full.csv": "bank.zip/bank-full.csv"},
    },
    {
        "url": "https://archive.ics.uci.edu/ml/machine-learning-databases/00222/bank.zip",
        "sha256": "99d7e8eb12401ed278b793984423915411ea8df099e1795f9fefe254f513fe5e",
        "members": {"bank-full.csv": "bank-full.csv"},
    },
]
COLUMNS = dict.fromkeys(
    (
        *("age", "job", "marital", "education", "default", "balance", "housing", "loan", "contact"),
        *("day", "month", "duration", "campaign", "pdays", "previous", "poutcome", "y"),
    ),
    "text",
)
COLUMNS |= dict.fromkeys(("age", "balance", "day", "duration"), "integer")
COLUMNS |= dict.fromkeys(("campaign", "pdays", "previous"), "integer")

# Shares and effects of the twin: near those of the published file.
# Job: share; mean and deviation of age; primary, secondary, tertiary, unknown education; effects
# on the log odds of a housing loan and of the outcome.
JOBS = {
    "admin.": (0.1144, 39.3, 9.4, 0.040, 0.816, 0.111, 0.033, 0.0, 0.0),
    "blue-collar": (0.2153, 40.0, 9.0, 0.386, 0.552, 0.015, 0.047, 0.37, -0.11),
    "entrepreneur": (0.0329, 42.2, 9.1, 0.123, 0.364, 0.461, 0.052, -0.05, -0.18),
    "housemaid": (0.0274, 46.4, 10.5, 0.506, 0.319, 0.140, 0.035, -0.62, -0.30),
    "management": (0.2092, 40.4, 9.4, 0.031, 0.119, 0.824, 0.026, -0.18, -0.04),
    "retired": (0.0501, 61.6, 9.5, 0.351, 0.435, 0.162, 0.052, -0.74, 0.18),
    "self-employed": (0.0349, 40.5, 9.7, 0.082, 0.365, 0.528, 0.025, -0.36, -0.11),
    "services": (0.0919, 38.7, 9.0, 0.083, 0.832, 0.049, 0.036, 0.15, -0.07),
    "student": (0.0207, 26.5, 4.8, 0.047, 0.542, 0.238, 0.173, -1.51, 0.05),
    "technician": (0.1680, 39.3, 8.9, 0.021, 0.688, 0.259, 0.032, 0.01, -0.05),
    "unemployed": (0.0288, 41.0, 9.8, 0.197, 0.559, 0.222, 0.022, -0.63, 0.12),
    "unknown": (0.0064, 47.6, 10.8, 0.177, 0.247, 0.135, 0.441, -2.21, -0.20),
}
# Month: share; cellular, telephone, unknown contact; share of clients contacted before; effects on
# the log odds of a housing loan and of the outcome; days.
MONTHS = {
    "jan": (0.0310, 0.902, 0.092, 0.006, 0.355, -2.38, -0.61, 31),
    "feb": (0.0586, 0.892, 0.103, 0.005, 0.349, -2.15, 0.07, 28),
    "mar": (0.0106, 0.874, 0.111, 0.015, 0.363, -2.81, 1.51, 31),
    "apr": (0.0649, 0.930, 0.068, 0.002, 0.381, -1.03, 0.45, 30),
    "may": (0.3045, 0.388, 0.033, 0.579, 0.183, 0.0, 0.0, 31),
    "jun": (0.1181, 0.136, 0.015, 0.849, 0.060, -2.25, 0.60, 30),
    "jul": (0.1525, 0.836, 0.124, 0.040, 0.037, -2.00, -0.18, 31),
    "aug": (0.1382, 0.953, 0.039, 0.008, 0.085, -3.44, -0.31, 31),
    "sep": (0.0128, 0.805, 0.114, 0.081, 0.541, -2.84, 1.02, 30),
    "oct": (0.0163, 0.754, 0.178, 0.068, 0.463, -2.85, 1.04, 31),
    "nov": (0.0878, 0.892, 0.095, 0.013, 0.290, -1.68, -0.37, 30),
    "dec": (0.0047, 0.813, 0.173, 0.014, 0.551, -3.16, 0.99, 31),
}
EDUCATION = {"primary": -0.17, "secondary": 0.0, "tertiary": 0.17, "unknown": 0.02}
CONTACT = {"cellular": 0.0, "telephone": -0.32, "unknown": -1.29}
# Marital state: effect; share up to the ages 27, 33, 40, 50, 60 and above.
AGES = (27, 33, 40, 50, 60)
MARITAL = {
    "married": (0.0, 0.196, 0.441, 0.615, 0.713, 0.753, 0.803),
    "divorced": (0.22, 0.015, 0.051, 0.104, 0.155, 0.186, 0.168),
    "single": (0.22, 0.789, 0.508, 0.281, 0.132, 0.061, 0.029),
}
# Outcome of the previous campaign: share among those contacted before, effect.
POUTCOME = {
    "failure": (0.5935, -0.29),
    "other": (0.2229, -0.03),
    "success": (0.1830, 1.90),
    "unknown": (0.0006, 0.0),
}
# Days since the last contact, of those contacted before: levels and quantiles.
PDAYS = (
    (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0),
    (1.0, 7.6, 79.0, 91.0, 133.0, 194.0, 327.0, 362.4, 370.0, 531.4, 872.0),
)
INTERCEPT = -1.85
#: Logarithm of the seconds of a call by outcome no, yes: mean and deviation of a normal density.
DURATION = ((5.06, 0.88), (6.04, 0.72))


class BankMarketing(Published):
    """The Bank Marketing data: who subscribes to a term deposit after a phone call."""

    NAME = "Bank Marketing"

    @staticmethod
    def table(folder):
        """Typed table in file order, upstream that of the calls; see `Published.read`.

        The 17 columns have their published names: integers are Int64, text is strings. The word
        ``unknown`` becomes null in text columns. ``pdays`` -1, which means that the client was
        never contacted before, becomes null (``previous`` is 0 in those rows). ``y`` is ``yes``
        or ``no``. ``duration`` is known only after the call: as a feature it leaks ``y``.
        """
        path = folder / "bank-full.csv"
        words = [name for name, kind in COLUMNS.items() if kind == "text" and name != "y"]
        missing = dict.fromkeys(words, "unknown")
        form = {"separator": ";", "header": True, "quotes": True}
        frame = read_fields(path, COLUMNS, missing=missing, **form)
        days = frame["pdays"]
        expect(
            path,
            frame,
            ("y", frame["y"].isin(["yes", "no"]), "yes or no"),
            ("pdays", days >= -1, "-1 or a number of days"),
        )
        frame["pdays"] = days.mask(days == -1)
        return frame

    @staticmethod
    def twin(folder, rows, rng):
        """Write the file of a twin; see `Published.generate`.

        The model, in the order in which it draws. Month and job by their shares; age
        normal (at least 18) and education by job; marital state by age; credit in default
        by its share; the year's mean balance negative (more often in default), zero or
        positive, with a log-normal size; housing loan logistic in month, job and age;
        personal loan by housing loan; contact type by month; day of the month; number of
        contacts geometric; whether contacted before by month, then days since, number and
        outcome. The outcome y is logistic in those columns (see `INTERCEPT` and the tables
        of effects; young and old clients subscribe more often, more so the further from
        the ages 30 and 60; it grows with log balance and log previous, falls with log
        campaign). Seconds of the call are log-normal given y, rounded down. Unknown job,
        education and contact are categories with effects of their own. Rows are
        independent; upstream they follow the calendar.

        ``truth.parquet`` has ``row``; ``p_positive``, the probability of y = yes given all
        columns but duration; ``p_positive_after``, given duration as well; and
        ``p_selected`` = logistic(0.8 + 0.6 [housing = yes] - 0.04 (age - 40)), a labeling at
        random given the columns, which the published file has no counterpart of.
        """
        columns, truth = _draw(rows, rng)
        with replacing(folder / "bank-full.csv") as temporary:
            # Text is quoted, and so is the header, as upstream.
            csv.write_csv(pa.table(columns), temporary, csv.WriteOptions(delimiter=";"))
        return truth


def _draw(rows, rng):
    """Columns of a twin as numpy arrays in file order, and its truth."""
    months, jobs = np.array(list(MONTHS.values())), np.array(list(JOBS.values()))
    states, outcomes = np.array(list(MARITAL.values())), np.array(list(POUTCOME.values()))
    month = drawn(months[:, 0], rows, rng)
    job = drawn(jobs[:, 0], rows, rng)
    age = np.rint(rng.normal(jobs[job, 1], jobs[job, 2])).astype(np.int64)
    age = np.where(age < 18, rng.integers(18, 31, rows), np.minimum(age, 95))
    education = drawn(jobs[:, 3:7], job, rng)
    marital = drawn(states[:, 1:].T, np.searchsorted(AGES, age), rng)

    default = rng.random(rows) < 0.018
    sign = drawn([[0.075, 0.079, 0.846], [0.540, 0.060, 0.400]], default * 1, rng)
    size = np.where(sign == 0, rng.normal(5.13, 1.25, rows), rng.normal(6.40, 1.50, rows))
    size = np.rint(np.exp(size)).clip(1, np.where(sign == 0, 8019, 102127))
    balance = ((sign - 1) * size).astype(np.int64)
    young, old = (30 - age).clip(min=0), (age - 60).clip(min=0)
    odds = 2.28 + months[month, 5] + jobs[job, 7] - 0.054 * (age - 40).clip(min=0)
    housing = rng.random(rows) < expit(odds - 0.10 * young)
    loan = rng.random(rows) < np.where(housing, 0.174, 0.143)
    contact = drawn(months[:, 1:4], month, rng)
    day = 1 + (rng.random(rows) * months[month, 7]).astype(np.int64)
    campaign = rng.geometric(0.39, rows).clip(max=63)
    before = rng.random(rows) < months[month, 4]
    pdays = np.where(before, np.interp(rng.random(rows), *PDAYS).astype(np.int64), -1)
    previous = np.where(before, rng.geometric(0.33, rows), 0)
    unknown = len(POUTCOME) - 1
    poutcome = np.where(before, drawn(outcomes[:, 0], rows, rng), unknown)

    score = INTERCEPT + jobs[job, 8] + states[marital, 0]
    score = score + np.array([*EDUCATION.values()])[education]
    score = score + 0.14 * default - 0.51 * housing - 0.36 * loan
    score = score + np.array([*CONTACT.values()])[contact] + months[month, 6]
    score = score + outcomes[poutcome, 1] + 0.05 * np.sign(balance) * np.log1p(np.abs(balance))
    score = score + 0.05 * old + 0.08 * young
    score = score - 0.28 * np.log(campaign) + 0.20 * np.log1p(previous)
    positive = rng.random(rows) < expit(score)
    laws = np.array(DURATION)[positive.astype(int)]
    duration = np.floor(np.exp(rng.normal(laws[:, 0], laws[:, 1]))).astype(np.int64)
    truth = {
        "p_positive": expit(score),
        "p_positive_after": expit(score + _log_ratio(duration)),
        "p_selected": expit(0.8 + 0.6 * housing - 0.04 * (age - 40)),
    }
    answers = ["no", "yes"]
    fields = (
        *(age, named(JOBS, job), named(MARITAL, marital), named(EDUCATION, education)),
        *(named(answers, default), balance, named(answers, housing), named(answers, loan)),
        *(named(CONTACT, contact), day, named(MONTHS, month), duration, campaign, pdays, previous),
        *(named(POUTCOME, poutcome), named(answers, positive)),
    )
    return dict(zip(COLUMNS, fields, strict=True)), truth


def _log_ratio(duration):
    """log P(duration | yes) - log P(duration | no), whole seconds."""
    with np.errstate(divide="ignore"):
        edges = np.log([duration, duration + 1.0])
    logs = []
    for mean, deviation in DURATION:
        low, high = (edges - mean) / deviation
        # In the upper tail both are near 1: there the mirrored interval is subtracted.
        low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
        below, upto = log_ndtr(low), log_ndtr(high)
        logs.append(upto + np.log1p(-np.exp(below - upto)))
    return logs[1] - logs[0]
