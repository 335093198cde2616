"""Natural Park (what 312 Portuguese would pay for a park, 1987): file, typed table, twin."""

import numpy as np
import pandas as pd

from counterweight.datasets.published import (
    Published,
    asked_twice,
    drawn,
    expect,
    read_fields,
    write_fields,
)

TITLE = "Natural Park survey"
LICENCE = "GPL-2 or later (R package Ecdat); Nunes (2000)"
ROWS = 3000
FILES = {"NaturalPark.csv": "e54057b7b2e41de590a2e20d2e10f00c0b77346da9dd525a080ee896fa0573bb"}
SOURCES = [
    {
        "url": "https://vincentarelbundock.github.io/Rdatasets/csv/Ecdat/NaturalPark.csv",
        "file": "NaturalPark.csv",
    }
]
NAMES = ("rownames", "bid1", "bidh", "bidl", "answers", "age", "sex", "income")
COLUMNS = {name: "text" if name in ("answers", "sex") else "integer" for name in NAMES}
ANSWERS = ("nn", "ny", "yn", "yy")
#: First bid, bid after yes, bid after no, in euros.
DESIGNS = ((6, 18, 3), (12, 24, 6), (24, 48, 12), (48, 120, 24))
#: Of the twin: share, euros that half of a segment would pay, slope per euro; share of women.
SEGMENTS = ((0.35, 2.0, 0.22, 0.60), (0.30, 20.0, 0.15, 0.55), (0.35, 60.0, 0.08, 0.52))
#: Shares of the 6 classes of age and of the 8 classes of income in each segment.
AGES = (
    (0.10, 0.10, 0.20, 0.25, 0.18, 0.17),
    (0.25, 0.20, 0.25, 0.20, 0.06, 0.04),
    (0.32, 0.22, 0.23, 0.14, 0.05, 0.04),
)
INCOMES = (
    (0.34, 0.38, 0.20, 0.05, 0.03, 0.0, 0.0, 0.0),
    (0.18, 0.38, 0.30, 0.09, 0.03, 0.01, 0.0, 0.01),
    (0.11, 0.32, 0.31, 0.16, 0.04, 0.02, 0.01, 0.03),
)


class NaturalPark(Published):
    """Yes/no answers to what somebody would pay to keep the Alentejo natural park.

    Each person was asked about a first bid, drawn from `DESIGNS` whoever the person was, and
    then about a higher one after yes or a lower one after no. The first bid and its answer
    are the offer and the answer here: they are known for everybody and the bid says nothing
    of the person. The second bid depends on the first answer, so it is no offer drawn
    without regard to the person; it and its answer are kept in columns of their own.
    """

    NAME = "Natural Park"

    @staticmethod
    def table(folder):
        """Typed table in file order; see `Published.read`.

        The first column of the file, which numbers the rows, may have any name. The table has
        ``age`` (class 1 to 6), ``female`` (0 or 1), ``income`` (class 1 to 8), all Int64;
        ``offer``, the first bid in euros (float), and ``answer`` (Int64: 1 for yes);
        ``second_offer`` and ``second_answer``, likewise.
        """
        path = folder / "NaturalPark.csv"
        frame = read_fields(path, COLUMNS, header=True, quotes=True, numbered=True)
        low, bid, high = (frame[name] for name in ("bidl", "bid1", "bidh"))
        expect(
            path,
            frame,
            ("bidl", low > 0, "a bid above 0"),
            ("bid1", bid > low, "a first bid above the one after no (bidl)"),
            ("bidh", high > bid, "a bid after yes above the first bid (bid1)"),
            ("answers", frame["answers"].isin(ANSWERS), "nn, ny, yn or yy"),
            ("age", frame["age"].between(1, 6), "a class from 1 to 6"),
            ("sex", frame["sex"].isin(["female", "male"]), "female or male"),
            ("income", frame["income"].between(1, 8), "a class from 1 to 8"),
        )
        first = frame["answers"].str[0] == "y"
        second = low.where(~first, high)
        return pd.DataFrame(
            {
                "age": frame["age"],
                "female": (frame["sex"] == "female").astype("Int64"),
                "income": frame["income"],
                "offer": bid.astype(float),
                "answer": first.astype("Int64"),
                "second_offer": second.astype(float),
                "second_answer": (frame["answers"].str[1] == "y").astype("Int64"),
            }
        )

    @staticmethod
    def twin(folder, rows, rng):
        """Write the file of a twin; see `Published.generate`.

        A person belongs to one of `SEGMENTS`; age, sex and income are independent given the
        segment. What the person would pay is logistic: at least d with probability
        logistic(k (eta - d)). The first bid is one of the four with equal probability, and
        both answers follow from what the person would pay. Upstream the answers to a bid
        depend on the order of the bids; here they do not.

        ``truth.parquet`` has ``row``, ``component`` (from 0), ``eta`` (euros) and ``k`` (per
        euro) of the segment, ``p``, the probability of yes to the first bid, and ``worth``,
        what the person would pay.
        """
        shares, eta, k, women = np.array(SEGMENTS).T
        component = rng.choice(len(SEGMENTS), rows, p=shares)
        age, income = (1 + drawn(table, component, rng) for table in (AGES, INCOMES))
        sex = np.where(rng.random(rows) < women[component], "female", "male")
        bids, yes, again, truth = asked_twice(component, eta, k, DESIGNS, rng)
        answers = np.array(ANSWERS)[2 * yes + again]
        fields = [np.arange(1, rows + 1), *bids, answers, age, sex, income]
        write_fields(folder / "NaturalPark.csv", fields, before=",".join(COLUMNS) + "\n")
        del truth["first"]
        return truth
