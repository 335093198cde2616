"""Kakadu (what 1,827 Australians would pay for a national park, 1990): file, typed table, twin."""

import logging

import numpy as np
import pandas as pd

from counterweight.datasets.published import (
    Published,
    asked_twice,
    drawn,
    expect,
    numbers,
    read_fields,
    write_fields,
)

log = logging.getLogger("counterweight")

TITLE = "Kakadu survey"
LICENCE = "GPL-2 or later (R package Ecdat); Werner (1999)"
ROWS = 4000
FILES = {"Kakadu.csv": "a63f2a087bfb7df81495bf9c34bd35f7ab4d584595f4a86d530f47d13e47139c"}
SOURCES = [
    {
        "url": "https://vincentarelbundock.github.io/Rdatasets/csv/Ecdat/Kakadu.csv",
        "file": "Kakadu.csv",
    }
]
NONE_REFUSED = 999
#: First bid, bid after yes, bid after no, in dollars a year.
DESIGNS = ((100, 250, 50), (50, 100, 20), (20, 50, 5), (5, 20, 2))

#: Of the twin: share, dollars that half of a segment would pay, slope per dollar.
SEGMENTS = ((0.30, 3.0, 0.10), (0.25, 60.0, 0.05), (0.45, 220.0, 0.02))
#: Means of the attitude scales in each segment before rounding to 1 ... 5; deviation 1.1.
ATTITUDES = {
    "recparks": (3.7, 3.9, 3.7),
    "jobs": (3.4, 2.6, 1.8),
    "lowrisk": (4.0, 2.7, 1.9),
    "wildlife": (4.9, 5.5, 5.8),
    "future": (4.2, 4.8, 5.1),
    "aboriginal": (3.1, 3.7, 4.0),
    "finben": (4.0, 2.9, 2.1),
    "mineparks": (2.5, 3.8, 4.5),
    "moreparks": (3.2, 4.1, 4.5),
}
#: Shares of yes in each segment; of ``sex``, of female.
YES = {
    "envcon": (0.41, 0.52, 0.65),
    "vparks": (0.65, 0.69, 0.78),
    "conservation": (0.03, 0.07, 0.09),
    "major": (0.42, 0.54, 0.54),
    "sex": (0.40, 0.56, 0.51),
}
#: Values, and their shares in the first segment and in the two others.
CLASSES = {
    "gov": numbers("""
        1    2     3     4
        0.90 0.09  0.005 0.005
        0.93 0.065 0.004 0.001
    """),
    "tvenv": numbers("""
        1    2    3    4    5    6    7     9
        0.52 0.27 0.06 0.08 0.01 0.02 0.039 0.001
        0.63 0.23 0.05 0.06 0.01 0.01 0.01  0.0
    """),
    "age": numbers("""
        21   27   32   37   42   47   52   70
        0.07 0.08 0.10 0.10 0.10 0.10 0.17 0.28
        0.15 0.15 0.13 0.13 0.12 0.08 0.10 0.14
    """),
    "schooling": numbers("""
        0    1    2    3    4    5    6     8
        0.07 0.07 0.15 0.27 0.15 0.10 0.187 0.003
        0.04 0.05 0.12 0.23 0.18 0.13 0.247 0.003
    """),
    "income": numbers("""
        3    9    16   25   35   45   60   85    100
        0.11 0.24 0.19 0.24 0.12 0.05 0.03 0.01  0.01
        0.12 0.23 0.19 0.24 0.13 0.05 0.03 0.005 0.005
    """),
}
#: Columns of the file, in order.
WORDS = ("envcon", "vparks", "conservation", "major")
COLUMNS = {
    name: "text" if name in ("answer", "sex", *WORDS) else "integer"
    for name in (
        *("rownames", "lower", "upper", "answer", *ATTITUDES, "gov", "envcon", "vparks"),
        *("tvenv", "conservation", "sex", "age", "schooling", "income", "major"),
    )
}
#: Least and largest value of the numbers that people gave.
LIMITS = dict.fromkeys(ATTITUDES, (1, 5)) | {
    "future": (1, 9),
    "gov": (1, 4),
    "tvenv": (1, 9),
    "age": (0, 120),
    "schooling": (0, 99),
    "income": (0, 999),
}


class Kakadu(Published):
    """Yes/no answers to a yearly payment for keeping Kakadu free of mining.

    Each person was asked about a first bid, drawn from the four `DESIGNS`, and then about a
    second one that depended on the first answer. The file does not say which bid came
    first, only the highest bid accepted and the lowest refused.

    The unit of analysis is the person, the offer the first bid and the answer that to it: it
    alone was drawn without regard to what the person thinks. Both bids as two rows would
    make the offer depend on the person's own answer, and two rows of a person are not
    independent. The first bid follows from the bounds for everybody but those with one yes
    and one no whose bounds are 5 and 20, 20 and 50, or 50 and 100: either the lower bid came
    first (and was accepted) or the upper one (and was refused). Leaving them out would select
    on the answer: of those asked 20 first it would drop whoever would pay 5 to 50, keep
    the rest, and bend every response curve. Whoever would pay 5 to 20 meets both bids,
    whether 5 or 20 is asked first, so with the four designs equally likely each order has
    probability one half. So, of the people with the same bounds, in file order, every
    second one beginning with the first is taken to have been asked the lower bid first, the
    others the upper one: the shares of yes are then right on average for answers that agree
    with one willingness to pay. ``first_known`` is 0 for those people (208 of the 1,827
    published), so that a study can leave them out all the same.
    """

    NAME = "Kakadu"

    @staticmethod
    def table(folder):
        """Typed table in file order; see `Published.read`.

        The first column of the file, which numbers the rows, may have any name. The table has the
        attitudes ``recparks`` ... ``moreparks`` (1 to 5; one published ``future`` is 9, which is
        undocumented and kept), ``gov`` (1 to 4), ``envcon``, ``vparks``, ``conservation``,
        ``major`` (1 for yes), ``tvenv`` (1 to 9), ``female`` (0 or 1), ``age``, ``schooling`` and
        ``income`` (thousands), all Int64; ``offer`` and ``answer`` (1 for yes), see `Kakadu`;
        ``first_known`` (0 or 1); ``accepted``, the highest bid accepted, and ``refused``, the
        lowest bid refused, null for none. Bids are floats, in dollars.
        """
        path = folder / "Kakadu.csv"
        frame = read_fields(path, COLUMNS, header=True, quotes=True, numbered=True)
        answers, sex = frame["answer"], frame["sex"]
        bounds = list(zip(answers, frame["lower"], frame["upper"], strict=True))
        possible = _first_bids()
        among = "with this answer and this lower bound, a bid of the four designs (or 999 after yy)"
        expect(
            path,
            frame,
            ("answer", answers.isin(["nn", "ny", "yy"]), "nn, ny or yy"),
            ("upper", [place in possible for place in bounds], among),
            *(
                (name, frame[name].between(*ends), "a number from {} to {}".format(*ends))
                for name, ends in LIMITS.items()
            ),
            *((name, frame[name].isin(["yes", "no"]), "yes or no") for name in WORDS),
            ("sex", sex.isin(["female", "male"]), "female or male"),
        )

        firsts = [possible[place] for place in bounds]
        known = np.array([len(first) == 1 for first in firsts])
        # Two candidates: by turns, among people with the same bounds.
        turn = frame.groupby(["lower", "upper"]).cumcount().to_numpy() % 2
        pairs = zip(firsts, np.where(known, 0, turn), strict=True)
        offer, answer = np.array([first[which] for first, which in pairs]).T
        told = "first bid known for %d of %d people, halved for the other %d"
        log.info(told, known.sum(), len(known), (~known).sum())
        columns = {name: frame[name] for name in list(COLUMNS)[4:]}
        columns |= {name: (frame[name] == "yes").astype("Int64") for name in WORDS}
        columns["sex"] = (sex == "female").astype("Int64")
        lower, upper = frame["lower"].astype(float), frame["upper"].astype(float)
        columns |= {
            "offer": offer.astype(float),
            "answer": pd.array(answer, dtype="Int64"),
            "first_known": pd.array(known.astype(int), dtype="Int64"),
            "accepted": lower.where(lower > 0),
            "refused": upper.where(upper < NONE_REFUSED),
        }
        return pd.DataFrame(columns).rename(columns={"sex": "female"})

    @staticmethod
    def twin(folder, rows, rng):
        """Write the file of a twin; see `Published.generate`.

        A person belongs to one of `SEGMENTS`; all else about the person is independent given
        the segment (`ATTITUDES`, `YES`, `CLASSES`; the last two segments share those of
        `CLASSES`). What the person would pay is logistic: at least d with probability
        logistic(k (eta - d)). The first bid is one of the four with equal probability, and
        both answers follow from what the person would pay.

        ``truth.parquet`` has ``row``, ``component`` (from 0), ``eta`` (dollars) and ``k`` (per
        dollar) of the segment, ``first``, the bid that came first, ``p``, the probability of
        yes to it, and ``worth``, what the person would pay.
        """
        shares, eta, k = np.array(SEGMENTS).T
        component = rng.choice(len(SEGMENTS), rows, p=shares)
        (first, high, low), yes, again, truth = asked_twice(component, eta, k, DESIGNS, rng)
        columns = {
            "rownames": np.arange(1, rows + 1),
            "lower": np.select([yes & again, yes, again], [high, first, low], 0),
            "upper": np.select([~yes & ~again, ~yes, ~again], [low, first, high], NONE_REFUSED),
            "answer": np.select([yes & again, ~yes & ~again], ["yy", "nn"], "ny"),
        }
        for name, means in ATTITUDES.items():
            level = rng.normal(np.array(means)[component], 1.1)
            columns[name] = np.rint(level).clip(1, 5).astype(int)
        for name, share in YES.items():
            words = ("female", "male") if name == "sex" else ("yes", "no")
            columns[name] = np.where(rng.random(rows) < np.array(share)[component], *words)
        for name, (values, *shares) in CLASSES.items():
            columns[name] = values.astype(int)[drawn(shares, np.minimum(component, 1), rng)]
        fields = [columns[name] for name in COLUMNS]
        write_fields(folder / "Kakadu.csv", fields, before=",".join(COLUMNS) + "\n")
        return truth


def _first_bids():
    """First bids and their answers that lead to (answer, lower, upper), lower bid first."""
    possible = {}
    for first, high, low in sorted(DESIGNS):
        refused = {("nn", 0, low), ("ny", low, first)}
        for place in (*refused, ("ny", first, high), ("yy", high, NONE_REFUSED)):
            possible.setdefault(place, []).append((first, int(place not in refused)))
    return possible
