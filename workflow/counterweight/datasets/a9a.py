"""The data set a9a of LIBSVM (Adult, made binary): files, typed table, twin."""

import numpy as np
import pandas as pd
from scipy.special import expit

from counterweight.datasets.published import Published, drawn, in_published_format, numbers
from counterweight.errors import CounterweightError
from counterweight.tables.parquet import replacing

TITLE = "a9a (Adult as 123 binary features)"
LICENCE = "none stated by LIBSVM; derived from Adult, CC BY 4.0 (DOI 10.24432/C5XW20)"
ROWS = 9000
FILES = {
    "a9a": "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
    "a9a.t": "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
}
SOURCES = [
    {"url": "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/a9a", "file": "a9a"},
    {
        "url": "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/a9a.t",
        "file": "a9a.t",
    },
]
FEATURES = 123
#: First and last feature of each column of Adult: fifths of age, of weight (fnlwgt) and of
#: years of education (39 is the top one, from Bachelors up), categories of the others;
#: 72 is female and 73 male; 74 and 76 mean no capital gain and no loss.
BLOCKS = {
    "age": (1, 5), "workclass": (6, 13), "fnlwgt": (14, 18), "education": (19, 34),
    "education-num": (35, 39), "marital-status": (40, 46), "occupation": (47, 60),
    "relationship": (61, 66), "race": (67, 71), "sex": (72, 73), "capital-gain": (74, 75),
    "capital-loss": (76, 77), "hours-per-week": (78, 82), "native-country": (83, 123),
}  # fmt: skip
#: Columns that may be missing in a row; each other one has exactly one feature of its block.
OPTIONAL = ("workclass", "occupation", "native-country")


# Shares and effects of the twin, near those of the published files. A last entry one beyond
# the block is the share of missing values. Rows: race by sex (female, male); education by age;
# marital status and hours by sex and age; relationship by marital status and sex; occupation
# by sex and years of education; class of worker by occupation. Very rare categories are raised
# to some in a thousand, so that small twins have every feature.
MALE = 0.6685
AGE = (0.197, 0.179, 0.21, 0.195, 0.219)
RACE = ((0.805, 0.032, 0.011, 0.01, 0.143), (0.88, 0.031, 0.009, 0.008, 0.073))
EDUCATION = numbers("""
    0.107 0.345 0.084 0.295 0.001 0.025 0.025 0.017 0.009 0.03  0.007 0.002 0.043 0.001 0.008 0.002
    0.207 0.206 0.03  0.334 0.014 0.039 0.054 0.013 0.011 0.01  0.04  0.003 0.024 0.006 0.009 0.001
    0.187 0.195 0.025 0.341 0.019 0.043 0.053 0.013 0.011 0.01  0.06  0.004 0.02  0.012 0.007 0.001
    0.192 0.204 0.021 0.296 0.027 0.037 0.048 0.011 0.017 0.008 0.09  0.005 0.016 0.018 0.011 0.001
    0.135 0.169 0.027 0.347 0.024 0.022 0.033 0.023 0.047 0.01  0.073 0.01  0.038 0.023 0.017 0.003
""")
MARITAL = numbers("""
    0.054 0.03  0.886 0.018 0.001 0.01  0.003
    0.175 0.18  0.554 0.06  0.007 0.02  0.004
    0.221 0.335 0.317 0.082 0.021 0.022 0.003
    0.201 0.44  0.181 0.092 0.061 0.024 0.003
    0.16  0.349 0.105 0.055 0.309 0.022 0.003
    0.143 0.013 0.83  0.008 0.001 0.006 0.003
    0.512 0.063 0.391 0.021 0.001 0.009 0.002
    0.685 0.1   0.176 0.026 0.001 0.011 0.003
    0.754 0.123 0.085 0.02  0.005 0.013 0.003
    0.813 0.085 0.046 0.014 0.031 0.01  0.003
""")
RELATIONSHIP = numbers("""
    0.929 0.029 0.0   0.003 0.038 0.0
    0.0   0.004 0.99  0.001 0.005 0.0
    0.0   0.052 0.0   0.45  0.029 0.47
    0.0   0.094 0.0   0.695 0.025 0.186
    0.0   0.41  0.0   0.419 0.049 0.121
    0.0   0.426 0.0   0.459 0.063 0.051
    0.0   0.083 0.0   0.261 0.054 0.603
    0.0   0.115 0.0   0.658 0.048 0.179
    0.0   0.013 0.0   0.55  0.045 0.392
    0.0   0.032 0.0   0.607 0.049 0.312
    0.0   0.132 0.0   0.385 0.059 0.424
    0.0   0.065 0.0   0.657 0.111 0.167
    0.92  0.04  0.0   0.0   0.04  0.0
    0.0   0.0   1.0   0.0   0.0   0.0
""")
OCCUPATION = numbers("""
    0.008 0.024 0.326 0.156 0.024 0.018 0.029 0.121 0.083 0.013 0.011 0.048 0.008 0.003 0.133
    0.021 0.031 0.216 0.124 0.075 0.028 0.027 0.078 0.284 0.005 0.014 0.017 0.006 0.003 0.074
    0.045 0.015 0.157 0.138 0.106 0.061 0.01  0.028 0.311 0.007 0.006 0.006 0.01  0.003 0.101
    0.087 0.023 0.109 0.082 0.126 0.181 0.007 0.018 0.286 0.004 0.005 0.005 0.007 0.003 0.061
    0.038 0.006 0.041 0.089 0.198 0.439 0.002 0.006 0.131 0.003 0.001 0.003 0.007 0.003 0.036
    0.003 0.221 0.135 0.051 0.029 0.011 0.116 0.113 0.023 0.089 0.113 0.002 0.011 0.003 0.085
    0.015 0.258 0.078 0.089 0.076 0.019 0.075 0.106 0.056 0.051 0.108 0.0   0.027 0.003 0.041
    0.035 0.178 0.077 0.138 0.126 0.058 0.053 0.056 0.083 0.033 0.057 0.0   0.04  0.003 0.063
    0.078 0.222 0.053 0.113 0.132 0.09  0.03  0.053 0.07  0.045 0.037 0.0   0.047 0.003 0.031
    0.034 0.042 0.018 0.14  0.264 0.361 0.009 0.011 0.049 0.015 0.013 0.0   0.017 0.003 0.027
""")
WORKCLASS = numbers("""
    0.798 0.029 0.006 0.066 0.04  0.06  0.003 0.0   0.0
    0.777 0.131 0.027 0.015 0.035 0.015 0.003 0.0   0.0
    0.824 0.056 0.009 0.011 0.061 0.039 0.003 0.0   0.0
    0.807 0.107 0.076 0.003 0.003 0.004 0.003 0.0   0.0
    0.656 0.096 0.101 0.044 0.054 0.047 0.003 0.0   0.0
    0.552 0.093 0.04  0.041 0.172 0.102 0.003 0.0   0.0
    0.928 0.01  0.003 0.017 0.031 0.009 0.003 0.0   0.0
    0.954 0.02  0.006 0.006 0.008 0.006 0.003 0.0   0.0
    0.75  0.012 0.008 0.087 0.075 0.067 0.003 0.0   0.0
    0.45  0.438 0.055 0.006 0.029 0.017 0.005 0.0   0.0
    0.798 0.078 0.016 0.016 0.066 0.025 0.003 0.0   0.0
    1.0   0.0   0.0   0.0   0.0   0.0   0.003 0.0   0.0
    0.304 0.007 0.005 0.048 0.458 0.178 0.003 0.0   0.0
    0.0   0.0   0.0   1.0   0.0   0.0   0.0   0.0   0.0
    0.0   0.0   0.0   0.0   0.0   0.0   0.0   0.06  0.94
""")
HOURS = numbers("""
    0.481 0.096 0.349 0.027 0.047
    0.164 0.105 0.537 0.066 0.128
    0.181 0.11  0.507 0.067 0.135
    0.155 0.118 0.494 0.082 0.15
    0.287 0.119 0.441 0.048 0.105
    0.318 0.07  0.437 0.053 0.121
    0.065 0.046 0.516 0.101 0.272
    0.044 0.038 0.477 0.108 0.333
    0.045 0.041 0.477 0.112 0.325
    0.168 0.045 0.456 0.075 0.256
""")
COUNTRY = (
    0.8974, 0.001, 0.0026, 0.0038, 0.0037, 0.0042, 0.001, 0.0031, 0.0019, 0.001, 0.0024, 0.0025,
    0.0028, 0.0012, 0.001, 0.006, 0.0021, 0.0018, 0.0022, 0.0018, 0.0195, 0.0014, 0.001, 0.001,
    0.0021, 0.001, 0.001, 0.0013, 0.0015, 0.0017, 0.001, 0.0018, 0.001, 0.001, 0.001, 0.001,
    0.0032, 0.001, 0.001, 0.001, 0.001, 0.0175,
)  # fmt: skip
GAIN = (0.047, 0.065, 0.064, 0.088, 0.139)
LOSS = (0.027, 0.037, 0.04, 0.044, 0.076)
EFFECTS = (
    -1.35, -0.37, 0.2, 0.5, 0.49, 0.31, -0.13, 0.53, 0.72, 0.1, -0.04, -0.13, -0.02, -0.27,
    -0.09, -0.08, -0.05, -0.03, -0.28, -0.05, 0.05, -0.23, 0.6, 0.06, -0.03, -0.29, -0.42, 0.42,
    0.02, -0.48, -0.04, 0.61, -0.19, -0.26, -1.21, -0.23, -0.05, 0.03, 1.25, 1.41, -0.64, -0.84,
    -0.67, -0.29, -0.37, 0.89, 0.7, 0.16, -0.64, 0.42, 0.88, 0.68, -0.51, -0.24, 0.15, -0.64,
    0.05, -0.53, 0.72, 0.16, 1.0, -0.65, -0.22, 0.1, -0.55, -0.19, -0.01, 0.11, -0.39, 0.04,
    -0.25, -0.65, 0.22, -1.09, 0.57, -0.79, 0.28, -1.02, -0.21, -0.02, 0.3, 0.44, 0.31, 0.37,
    0.57, -0.15, 0.69, 0.21, -0.12, -0.08, 0.04, 0.09, -0.68, -0.39, 0.24, 0.09, -0.01, 0.39,
    0.59, 0.02, 0.19, -0.59, -0.49, 0.45, 0.59, 0.41, -0.46, -0.25, -0.09, 0.06, 0.06, -0.93,
    0.13, -0.16, -0.18, -0.25, -0.22, 0.27, -0.35, -0.32, -0.34, -0.12, 0.0,
)  # fmt: skip
INTERCEPT = -0.85
#: Fifth of the years of education (from 0) of each of the 16 degrees.
YEARS = (4, 2, 0, 1, 4, 3, 3, 0, 0, 0, 4, 0, 0, 4, 0, 0)


class A9a(Published):
    """Who earns more than 50,000 dollars a year, from 123 binary features."""

    NAME = "a9a"

    @staticmethod
    def table(folder):
        """Typed table of both files, in file order; see `Published.read`.

        The files are those of Adult row by row: ``a9a`` holds adult.data, ``a9a.t`` adult.test.
        In LIBSVM's text a line is a label, ``+1`` or ``-1``, and the features that are 1 as
        ``number:1`` in ascending order, with a blank at its end. ``a9a.t`` has no feature 123; the
        table has it all the same. Rows without exactly one feature of a block (see `BLOCKS`) are
        refused.

        ``label`` (int8: 1 for +1, 0 for -1), ``x1`` to ``x123`` (int8, 0 or 1) and ``part``
        (``train`` or ``test``).
        """
        tables = [_read(folder / file) for file in FILES]
        labels, features = (np.concatenate(part) for part in zip(*tables, strict=True))
        parts = np.repeat(["train", "test"], [len(table[0]) for table in tables])
        names = [f"x{number}" for number in range(1, FEATURES + 1)]
        frame = pd.DataFrame(features, columns=names)
        frame.insert(0, "label", labels)
        return frame.assign(part=pd.Series(parts, dtype="str"))

    @staticmethod
    def twin(folder, rows, rng):
        """Write both files of a twin, two thirds to ``a9a``; see `Published.generate`.

        The model, in the order in which it draws. Sex and the fifth of age by their shares;
        race by sex; education by age, which gives the fifth of its years; marital status by
        sex and age; relationship by marital status and sex; occupation by sex and years of
        education, then the class of worker by occupation; capital gain and loss by years of
        education; hours by sex and age; weight and country by their shares, but each country
        at least once (in 41 rows drawn at random). The label is logistic in the 123 features
        with the coefficients `EFFECTS` and the constant `INTERCEPT`, so a linear model is the
        right one. But for the countries, rows are independent.

        ``truth.parquet`` has ``row``; ``p_positive``, the probability of +1 given all
        features; and ``p_selected`` = logistic(0.6 + 0.8 x40 - 0.5 x39), a labeling at random
        given the features, which the published files have no counterpart of.
        """
        features = _draw(rows, rng)
        score = INTERCEPT + np.append(0.0, EFFECTS)[features].sum(axis=1)
        positive = rng.random(rows) < expit(score)
        married, degree = ((features == number).any(axis=1) for number in (40, 39))
        train = round(rows * 2 / 3)
        for file, part in (("a9a", slice(0, train)), ("a9a.t", slice(train, rows))):
            _write(folder / file, positive[part], features[part])
        selected = expit(0.6 + 0.8 * married - 0.5 * degree)
        return {"p_positive": expit(score), "p_selected": selected}


def _read(path):
    """Labels (n,) and features (n, 123) of one file as int8, with one feature of each block."""
    from sklearn.datasets import load_svmlight_file

    with in_published_format(path):
        features, labels = load_svmlight_file(str(path), n_features=FEATURES, zero_based=False)
    features, known = features.toarray().astype(np.int8), np.isin(labels, [-1, 1])
    if not known.all():
        raise CounterweightError(
            f"{path}, row {np.argmin(known)} (counted from 0): {labels[np.argmin(known)]:g} where "
            "a label, +1 or -1, is expected: fetch the file anew."
        )
    for name, (low, high) in BLOCKS.items():
        count = features[:, low - 1 : high].sum(axis=1)
        wrong = np.flatnonzero((count > 1) | ((count == 0) & (name not in OPTIONAL)))
        if len(wrong):
            raise CounterweightError(
                f"{path}, row {wrong[0]} (counted from 0) has {count[wrong[0]]} of the features "
                f"{low} to {high} ({name}) where {'at most ' if name in OPTIONAL else ''}1 is "
                f"expected, as have {len(wrong) - 1} more: fetch the file anew."
            )
    return (labels > 0).astype(np.int8), features


def _write(path, positive, features):
    words = np.array(["", *(f"{number}:1 " for number in range(1, FEATURES + 1))], dtype=object)
    with replacing(path) as temporary, open(temporary, "w", encoding="ascii", newline="") as out:
        for start in range(0, len(features), 1 << 14):
            part = slice(start, start + (1 << 14))
            lines = np.where(positive[part], "+1 ", "-1 ").astype(object)
            out.write("".join((lines + words[features[part]].sum(axis=1) + "\n").tolist()))


def _draw(rows, rng):
    """Numbers of the features of a twin, one column for each block; 0 where it is missing."""
    male = (rng.random(rows) < MALE).astype(np.int64)
    age = drawn(AGE, rows, rng)
    race = drawn(RACE, male, rng)
    education = drawn(EDUCATION, age, rng)
    years = np.array(YEARS)[education]
    marital = drawn(MARITAL, 5 * male + age, rng)
    relationship = drawn(RELATIONSHIP, 2 * marital + male, rng)
    occupation = drawn(OCCUPATION, 5 * male + years, rng)
    workclass = drawn(WORKCLASS, occupation, rng)
    gain, loss = (rng.random(rows) < np.array(share)[years] for share in (GAIN, LOSS))
    hours = drawn(HOURS, 5 * male + age, rng)
    weight = drawn(np.full(5, 0.2), rows, rng)
    country = drawn(COUNTRY, rows, rng)
    # Rare countries would be absent from a small twin, which no recipe takes for a feature.
    once = rng.permutation(rows)[:41]
    country[once] = np.arange(len(once))
    categories = [age, workclass, weight, education, years, marital, occupation, relationship]
    categories += [race, male, gain, loss, hours, country]
    bounds = np.array(list(BLOCKS.values()))
    features = np.column_stack(categories) + bounds[:, 0]
    return np.where(features <= bounds[:, 1], features, 0)
