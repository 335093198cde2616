"""Natural Park (what 312 Portuguese would pay for a park, 1987): file, typed table, twin."""

from pathlib import Path

from counterweight.datasets.bids import drawn, named_index, write_fields
from counterweight.errors import CounterweightError
from counterweight.files.reading import read_fields, refuse
from counterweight.files.tables import write_table

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
COLUMNS = {
    "rownames": "integer",
    "bid1": "integer",
    "bidh": "integer",
    "bidl": "integer",
    "answers": "text",
    "age": "integer",
    "sex": "text",
    "income": "integer",
}
ANSWERS = ("nn", "ny", "yn", "yy")
#: First bid, bid after yes, bid after no, in euros.
DESIGNS = ((6, 18, 3), (12, 24, 6), (24, 48, 12), (48, 120, 24))
#: Of the twin: share, euros that half of a segment would pay, slope per euro; share of women;
#: shares of the 6 classes of age and of the 8 classes of income.
SEGMENTS = (
    (
        0.35,
        2.0,
        0.22,
        0.60,
        (0.10, 0.10, 0.20, 0.25, 0.18, 0.17),
        (0.34, 0.38, 0.20, 0.05, 0.03, 0.0, 0.0, 0.0),
    ),
    (
        0.30,
        20.0,
        0.15,
        0.55,
        (0.25, 0.20, 0.25, 0.20, 0.06, 0.04),
        (0.18, 0.38, 0.30, 0.09, 0.03, 0.01, 0.0, 0.01),
    ),
    (
        0.35,
        60.0,
        0.08,
        0.52,
        (0.32, 0.22, 0.23, 0.14, 0.05, 0.04),
        (0.11, 0.32, 0.31, 0.16, 0.04, 0.02, 0.01, 0.03),
    ),
)


class NaturalPark:
    """Yes/no answers to what somebody would pay to keep the Alentejo natural park.

    Each person was asked about a first bid, drawn from `DESIGNS` whoever the person was, and
    then about a higher one after yes or a lower one after no. The first bid and its answer
    are the offer and the answer here: they are known for everybody and the bid says nothing
    of the person. The second bid depends on the first answer, so it is no offer drawn
    without regard to the person; it and its answer are kept in columns of their own.
    """

    @staticmethod
    def read(folder):
        """Typed table in file order.

        Parameters
        ----------
        folder : str or Path
            Holds ``NaturalPark.csv``. Its first column, which numbers the rows, may have any
            name.

        Returns
        -------
        pandas.DataFrame
            ``row`` (int32 from 0); ``age`` (class 1 to 6), ``female`` (0 or 1), ``income``
            (class 1 to 8), all Int64; ``offer``, the first bid in euros (float), and
            ``answer`` (Int64: 1 for yes); ``second_offer`` and ``second_answer``, likewise.

        Raises
        ------
        CounterweightError
            When the file is missing or malformed: names file, line and column.
        """
        import numpy as np
        import pandas as pd

        path = Path(folder) / "NaturalPark.csv"
        frame, lines = read_fields(path, named_index(path, COLUMNS), header=True, quotes=True)
        refuse(path, "bidl", frame["bidl"] <= 0, frame["bidl"], lines, "a bid above 0")
        refuse(
            path,
            "bid1",
            frame["bid1"] <= frame["bidl"],
            frame["bid1"],
            lines,
            "a first bid above the one after no (bidl)",
        )
        refuse(
            path,
            "bidh",
            frame["bidh"] <= frame["bid1"],
            frame["bidh"],
            lines,
            "a bid after yes above the first bid (bid1)",
        )
        for name, allowed, text in (
            ("answers", ANSWERS, "nn, ny, yn or yy"),
            ("age", range(1, 7), "a class from 1 to 6"),
            ("sex", ("female", "male"), "female or male"),
            ("income", range(1, 9), "a class from 1 to 8"),
        ):
            refuse(path, name, ~frame[name].isin(list(allowed)), frame[name], lines, text)
        first = frame["answers"].str[0] == "y"
        second = frame["bidl"].where(~first, frame["bidh"])
        return pd.DataFrame(
            {
                "row": np.arange(len(frame), dtype=np.int32),
                "age": frame["age"],
                "female": (frame["sex"] == "female").astype("Int64"),
                "income": frame["income"],
                "offer": frame["bid1"].astype(float),
                "answer": first.astype("Int64"),
                "second_offer": second.astype(float),
                "second_answer": (frame["answers"].str[1] == "y").astype("Int64"),
            }
        )

    @staticmethod
    def generate(folder, rows, rng):
        """Write a twin: the file in the upstream format, and the truth.

        A person belongs to one of `SEGMENTS`; age, sex and income are independent given the
        segment. What the person would pay is logistic: at least d with probability
        logistic(k (eta - d)). The first bid is one of the four with equal probability, and
        both answers follow from what the person would pay. Upstream the answers to a bid
        depend on the order of the bids; here they do not.

        ``truth.parquet`` has ``row``, ``component`` (from 0), ``eta`` (euros) and ``k`` (per
        euro) of the segment, ``p``, the probability of yes to the first bid, and ``worth``,
        what the person would pay.

        Parameters
        ----------
        folder : str or Path
        rows : int
        rng : numpy.random.Generator

        Raises
        ------
        CounterweightError
            When `rows` is less than 3 or the folder cannot be written.
        """
        import numpy as np
        from scipy.special import expit

        if rows < 3:
            raise CounterweightError(f"A twin of Natural Park needs at least 3 rows, not {rows}.")
        shares, eta, k, women = np.array([segment[:4] for segment in SEGMENTS]).T
        component = rng.choice(len(SEGMENTS), rows, p=shares)
        draw = {
            name: 1 + drawn(np.array([segment[at] for segment in SEGMENTS]), component, rng)
            for name, at in (("age", 4), ("income", 5))
        }
        sex = np.where(rng.random(rows) < women[component], "female", "male")
        worth = eta[component] + rng.logistic(size=rows) / k[component]
        first, high, low = np.array(DESIGNS)[rng.integers(len(DESIGNS), size=rows)].T
        yes = worth >= first
        again = worth >= np.where(yes, high, low)
        answers = np.array(ANSWERS)[2 * yes + again]
        fields = [np.arange(1, rows + 1), first, high, low, answers, draw["age"], sex]
        write_fields(Path(folder) / "NaturalPark.csv", COLUMNS, [*fields, draw["income"]])
        eta, k = eta[component], k[component]
        truth = {
            "row": np.arange(rows, dtype=np.int32),
            "component": component.astype(np.int16),
            "eta": eta,
            "k": k,
            "p": expit(k * (eta - first)),
            "worth": worth,
        }
        write_table(Path(folder) / "truth.parquet", truth)
