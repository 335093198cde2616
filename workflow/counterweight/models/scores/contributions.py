"""What moved a score: contributions of each column of a table, and the largest of them in words.

A model that has ``explained(rows) -> raw, base, parts`` says how its raw score (log odds of a
class, or the expected number) comes about: ``base`` is its mean over the labeled rows, ``parts (n,
k)`` what each column of `column_names` adds to it, and ``base + parts.sum(axis=1)`` is the raw
score. Linear models give ``coef (x - mean)``, summed over the features that a column became;
boosted trees give the changes on the way from root to leaf (see
`counterweight.numerics.boosted_trees.raw_and_parts`).
"""

import numpy as np

#: How many columns are named beside a score, and what the columns of names are called.
NAMED = 3
MOVED = tuple(f"moved_{k + 1}" for k in range(NAMED))


def column_names(encoder):
    """Columns of the table that contributions are of: numbers, then categories."""
    return list(encoder.names)


def linear_parts(rows, X, coef, centre):
    """Contributions of columns to a linear score, (n, k).

    Parameters
    ----------
    rows : counterweight.labeling.encoding.Encoded
    X : array (n, d)
        ``rows.dense()``.
    coef, centre : array (d,)
        Coefficients, and means over the labeled rows.
    """
    names = column_names(rows.encoder)
    place = [names.index(feature.column) for feature in rows.encoder.features_]
    spread = np.zeros((len(coef), len(names)))
    spread[np.arange(len(coef)), place] = coef
    return X @ spread - centre @ spread


def digits_for(values):
    """Digits behind the point for contributions to a number: a hundredth of its spread shows."""
    spread = float(np.std(values))
    return int(np.clip(2 - np.floor(np.log10(spread)), 0, 12)) if spread > 0 else 2


def most_moved(parts, names, digits=2):
    """The columns that contribute most, in words such as ``late payments +0.83``.

    Parameters
    ----------
    parts : array (n, k)
    names : sequence of str
        Of the k columns.
    digits : int
        Behind the point; what rounds to 0 is not named.

    Returns
    -------
    dict of str to array of str (n,)
        `MOVED`, the largest in absolute size first; "" where fewer columns contribute. Of equals
        the first column comes first.
    """
    import pandas as pd

    # Rounded beforehand, so that a last bit decides neither order nor figures.
    ticks = np.rint(np.round(parts * 10.0**digits, 5)).T
    sizes = np.abs(ticks)
    made, every = {}, np.arange(ticks.shape[1])
    for title in MOVED[: len(names)]:
        which = sizes.argmax(axis=0)
        tick = np.where(sizes[which, every] > 0, ticks[which, every], 0.0)
        sizes[which, every] = -1.0
        code, known = pd.factorize(tick * len(names) + np.where(tick == 0, 0, which))
        column = np.mod(known, len(names)).astype(int)
        value = (known - column) / len(names) / 10.0**digits
        words = [
            f"{names[at]} {size:+.{digits}f}" if size else ""
            for at, size in zip(column.tolist(), value.tolist(), strict=True)
        ]
        made[title] = np.array(words, object)[code]
    return made | {title: np.full(len(every), "", object) for title in MOVED[len(names) :]}
