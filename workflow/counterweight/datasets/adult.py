"""Adult (census income, 1994): files, typed table, twin."""

import numpy as np
import pandas as pd
from scipy.special import expit

from counterweight.datasets.published import (
    Published,
    by_name,
    drawn,
    expect,
    named,
    read_fields,
    write_fields,
)

TITLE = "Adult (census income)"
LICENCE = "CC BY 4.0 (UCI Machine Learning Repository, DOI 10.24432/C5XW20)"
ROWS = 6000
FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
SOURCES = [
    {
        "url": "https://archive.ics.uci.edu/static/public/2/adult.zip",
        "sha256": "7537312dd56c2b98035880805ce99e68183a30ee468aa5329d6df0fbb3cc21bb",
        "members": {"adult.data": "adult.data", "adult.test": "adult.test"},
    },
    {
        "url": "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
        "file": "adult.data",
    },
    {
        "url": "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.test",
        "file": "adult.test",
    },
]
COLUMNS = dict.fromkeys(
    (
        *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status"),
        *("occupation", "relationship", "race", "sex", "capital-gain", "capital-loss"),
        *("hours-per-week", "native-country", "income"),
    ),
    "text",
)
COLUMNS |= dict.fromkeys(("age", "fnlwgt", "education-num", "hours-per-week"), "integer")
COLUMNS |= dict.fromkeys(("capital-gain", "capital-loss"), "integer")

# Shares of the twin's categories: near those of the published files.
EDUCATION = by_name("""
    Preschool 0.0016 1st-4th 0.0052 5th-6th 0.0102 7th-8th 0.0198 9th 0.0158 10th 0.0287
    11th 0.0361 12th 0.0133 HS-grad 0.3225 Some-college 0.2239 Assoc-voc 0.0424 Assoc-acdm 0.0328
    Bachelors 0.1645 Masters 0.0529 Prof-school 0.0177 Doctorate 0.0127
""")
# Occupation: share, share of women in it, mean of education-num, effect on the log odds of income.
OCCUPATIONS = {
    "Adm-clerical": (0.1158, 0.67, 10.1, -0.1),
    "Armed-Forces": (0.0003, 0.02, 10.1, -0.3),
    "Craft-repair": (0.1259, 0.05, 9.1, 0.0),
    "Exec-managerial": (0.1249, 0.29, 11.4, 0.8),
    "Farming-fishing": (0.0305, 0.07, 8.6, -1.0),
    "Handlers-cleaners": (0.0421, 0.12, 8.5, -0.8),
    "Machine-op-inspct": (0.0615, 0.27, 8.5, -0.4),
    "Other-service": (0.1012, 0.55, 8.8, -0.9),
    "Priv-house-serv": (0.0046, 0.95, 7.4, -1.6),
    "Prof-specialty": (0.1271, 0.37, 12.9, 0.5),
    "Protective-serv": (0.0199, 0.12, 10.2, 0.5),
    "Sales": (0.1121, 0.35, 10.3, 0.2),
    "Tech-support": (0.0285, 0.38, 11.0, 0.5),
    "Transport-moving": (0.0490, 0.06, 8.8, -0.2),
}
NO_OCCUPATION = -0.6
WORKCLASSES = by_name("""
    Private 0.7388 Self-emp-not-inc 0.0827 Local-gov 0.0682 State-gov 0.0423 Self-emp-inc 0.0363
    Federal-gov 0.0313 Without-pay 0.0004
""")
RACES = by_name("""
    White 0.8543 Black 0.0959 Asian-Pac-Islander 0.0319 Amer-Indian-Eskimo 0.0096 Other 0.0083
""")
COUNTRIES = by_name("""
    United-States 0.9122 Mexico 0.0201 Philippines 0.0062 Germany 0.0043 Canada 0.0038
    Puerto-Rico 0.0036 El-Salvador 0.0034 India 0.0032 Cuba 0.0030 England 0.0029 Jamaica 0.0025
    South 0.0025 China 0.0023 Italy 0.0022 Dominican-Republic 0.0021 Vietnam 0.0021
    Guatemala 0.0020 Japan 0.0019 Poland 0.0018 Columbia 0.0018 Taiwan 0.0016 Haiti 0.0014
    Iran 0.0013 Portugal 0.0011 Nicaragua 0.0010 Peru 0.0010 France 0.0009 Greece 0.0009
    Ecuador 0.0009 Ireland 0.0007 Hong 0.0006 Cambodia 0.0006 Trinadad&Tobago 0.0006
    Thailand 0.0006 Laos 0.0006 Yugoslavia 0.0005 Outlying-US(Guam-USVI-etc) 0.0004
    Hungary 0.0004 Honduras 0.0004 Scotland 0.0004 Holand-Netherlands 0.0002
""")
# Unmarried people by age (up to 25, 40, 60, above).
UNMARRIED = {
    "Never-married": (0.945, 0.640, 0.280, 0.120),
    "Divorced": (0.025, 0.240, 0.500, 0.280),
    "Separated": (0.017, 0.080, 0.100, 0.050),
    "Widowed": (0.002, 0.012, 0.090, 0.520),
    "Married-spouse-absent": (0.011, 0.028, 0.030, 0.030),
}
#: Relationship of unmarried people, and their shares by marital status.
HOMES = ("Not-in-family", "Own-child", "Unmarried", "Other-relative")
RELATIONSHIPS = {
    "Never-married": (0.44, 0.42, 0.08, 0.06),
    "Divorced": (0.54, 0.075, 0.36, 0.025),
    "Separated": (0.41, 0.10, 0.44, 0.05),
    "Married-spouse-absent": (0.50, 0.11, 0.31, 0.08),
    "Widowed": (0.55, 0.02, 0.38, 0.05),
}


class Adult(Published):
    """The Adult data: who earns more than 50,000 dollars a year."""

    NAME = "Adult"

    @staticmethod
    def table(folder):
        """Typed table of both files, in file order; see `Published.read`.

        The 15 columns have their official names: integers are Int64, text is strings, ``?`` is
        null. ``part`` is ``train`` or ``test``. ``income`` has no final period.
        """
        frames = []
        for file, part in (("adult.data", "train"), ("adult.test", "test")):
            path = folder / file
            frame = read_fields(path, COLUMNS, missing="?", comment="|")
            known = frame["income"].isin(["<=50K", ">50K", "<=50K.", ">50K."])
            expect(path, frame, ("income", known, "<=50K or >50K"))
            frame["income"] = frame["income"].str.rstrip(".")
            frames.append(frame.assign(part=part))
        return pd.concat(frames, ignore_index=True)

    @staticmethod
    def twin(folder, rows, rng):
        """Write both files of a twin, two thirds to ``adult.data``; see `Published.generate`.

        The model, in the order in which it draws. Age from a quantile table; sex, race
        and country by their shares; education by its shares (at most some college
        under 22); occupation by share x share of the sex in it x a normal density of
        education-num around the occupation's mean; hours by sex and age; capital gain
        (log-normal, rarely 99999) and loss by education and age; then, each logistic
        in the columns so far, marriage, and income *given* marriage. So selection by
        marriage is not at random: given all other columns, income and marriage still
        depend on each other. Other marital states depend on age; relationship follows
        from marital status and sex. ``?`` in workclass and occupation depends on age
        only, in country on nothing.

        ``truth.parquet`` has ``row``; ``p_selected``, the probability of
        Married-civ-spouse or Married-AF-spouse given all columns but marital status,
        relationship and income; ``p_spouse_absent``, the same of Married-spouse-absent;
        ``p_positive``, the probability of more than 50K given those columns, marriage
        summed out; and ``p_positive_married``, ``p_positive_unmarried``, given marriage
        as well. A method that sees fewer or noisier columns cannot reach these exactly.
        """
        columns, truth = _draw(rows, rng)
        train = round(rows * 2 / 3)
        *others, income = columns.values()
        for file, part, period, before in (
            ("adult.data", slice(0, train), "", ""),
            ("adult.test", slice(train, rows), ".", "|1x3 Cross validator\n"),
        ):
            fields = [values[part] for values in others] + [np.char.add(income[part], period)]
            write_fields(folder / file, fields, ", ", before, after="\n")
        return truth


def _draw(rows, rng):
    """Columns of a twin as numpy arrays in file order, and its truth."""
    levels = [0.0, 0.01, 0.05, 0.25, 0.50, 0.75, 0.95, 0.99, 1.0]
    ages = [17.0, 17.6, 19.5, 28.5, 37.5, 48.5, 63.5, 74.5, 91.0]
    age = np.interp(rng.random(rows), levels, ages).astype(np.int64)
    male = rng.random(rows) < 0.669
    race, country = (drawn([*shares.values()], rows, rng) for shares in (RACES, COUNTRIES))
    shares = np.array([*EDUCATION.values()])
    early = np.where(np.arange(16) < 10, shares, 0.0)
    early[5:8] *= 3.0
    education = np.where(age < 22, drawn(early, rows, rng), drawn(shares, rows, rng))
    years = education + 1
    occupation, workclass, work = _draw_work(age, male, education, rng)
    country = np.where(rng.random(rows) < 0.0179, len(COUNTRIES), country)

    usual = np.where(male, 43.5, 37.5) - np.select([age < 22, age > 62], [12.0, 7.0], default=0.0)
    full = rng.random(rows) < np.where((age < 22) | (age > 62), 0.25, 0.5)
    hours = np.where(full, 40, np.rint(rng.normal(usual, 13.5)).clip(1, 99)).astype(np.int64)
    gain = np.rint(np.exp(rng.normal(8.65, 0.75, rows))).clip(114, 41310).astype(np.int64)
    gain[rng.random(rows) < 0.059] = 99999
    standing = 0.16 * (years - 10) + 0.02 * (age.clip(max=60) - 38)
    gain[rng.random(rows) >= expit(-2.58 + standing)] = 0
    loss = np.rint(rng.normal(1871, 377, rows)).clip(155, 4356).astype(np.int64)
    loss[(rng.random(rows) >= expit(-2.98 + 0.6 * standing)) | (gain > 0)] = 0
    weight = np.rint(rng.gamma(3.2, 59300.0, rows)).clip(12285, 1484705).astype(np.int64)

    young, old = age.clip(max=45) - 38, (age - 60).clip(min=0)
    odds = -1.52 + 2.35 * male + 0.14 * young - 0.035 * old + 0.05 * (years - 10)
    p_married = expit(odds + 0.012 * (hours - 40) - 0.9 * (race == 1))
    married = rng.random(rows) < p_married
    score = -3.38 + 0.30 * (years - 10) + 0.075 * young - 0.03 * old + 0.03 * (hours - 40)
    score = score + 0.15 * male + work + 0.28 * np.log1p(gain) + 0.08 * np.log1p(loss)
    score = score - 0.2 * (race == 1)
    p_if_married, p_if_not = expit(score + 2.6), expit(score)
    positive = rng.random(rows) < np.where(married, p_if_married, p_if_not)

    by_age = np.array([*UNMARRIED.values()]).T
    by_age /= by_age.sum(axis=1, keepdims=True)
    ages, states = np.searchsorted([25, 40, 60], age), [*UNMARRIED]
    state = drawn(by_age, ages, rng)
    marital = np.where(married, 5 + (rng.random(rows) < 0.0015), state)
    home = drawn([RELATIONSHIPS[name] for name in states], state, rng)
    fields = (
        *(age, workclass, weight, named(EDUCATION, education), years),
        named([*states, "Married-civ-spouse", "Married-AF-spouse"], marital),
        occupation,
        named([*HOMES, "Husband", "Wife"], np.where(married, np.where(male, 4, 5), home)),
        *(named(RACES, race), np.where(male, "Male", "Female"), gain, loss, hours),
        named([*COUNTRIES, "?"], country),
        np.where(positive, ">50K", "<=50K"),
    )
    truth = {
        "p_positive": p_married * p_if_married + (1 - p_married) * p_if_not,
        "p_selected": p_married,
        "p_spouse_absent": (1 - p_married) * by_age[ages, states.index("Married-spouse-absent")],
        "p_positive_married": p_if_married,
        "p_positive_unmarried": p_if_not,
    }
    return dict(zip(COLUMNS, fields, strict=True)), truth


def _draw_work(age, male, education, rng):
    """Names of occupation and class of worker, and the effect of the first on the log odds."""
    rows, table = len(age), np.array([*OCCUPATIONS.values()])
    fit = np.exp(-(((np.arange(1, 17)[:, None] - table[:, 2]) / 2.2) ** 2) / 2)
    by_sex = np.stack([table[:, 1], 1 - table[:, 1]])
    shares = (table[:, 0] * by_sex[:, None, :] * fit).reshape(-1, len(table))
    occupation = drawn(shares, 16 * male + education, rng)
    classes = np.tile([*WORKCLASSES.values()], (len(table), 1))
    names = [*OCCUPATIONS]
    classes[names.index("Armed-Forces")] = np.eye(7)[5]
    classes[names.index("Priv-house-serv")] = np.eye(7)[0]
    classes[names.index("Farming-fishing"), 1] *= 6.0
    classes[names.index("Protective-serv"), 2] *= 10.0
    workclass = drawn(classes, occupation, rng)
    out_of_work = np.select([age < 22, age < 26, age <= 60], [0.16, 0.06, 0.035], default=0.14)
    idle = rng.random(rows) < out_of_work
    never = idle & (age < 30) & (rng.random(rows) < 0.01)
    worker = np.where(never, 8, np.where(idle, 7, workclass))
    return (
        named([*names, "?"], np.where(idle, len(names), occupation)),
        named([*WORKCLASSES, "?", "Never-worked"], worker),
        np.where(idle, NO_OCCUPATION, table[occupation, 3]),
    )
