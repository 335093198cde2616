"""How many labels it takes to show that one classifier is better than another.

Goh et al. (2016, section 1): of two classifiers only the rows count on which they disagree. If a
share `wins` of these go to the candidate, an exact sign test of "more than half" needs some number
of labels to come out significant; the more a candidate churns, the nearer that share is to 1/2.
"""

import numpy as np

from counterweight.errors import CounterweightError

#: Two classifiers of 70 and 75 % accuracy, as in the paper: the share of rows on which they
#: disagree, and the share of these that the better one has right.
CASES = {"best": (0.05, 1.0), "worst": (0.55, 0.30 / 0.55)}
POWERS = (0.5, 0.8)
#: A search for more labels than this is given up: the two are as good as equal.
_MOST = 10_000_000


def sign_test_power(rows, wins, level=0.05, sides=2):
    """Chance that a sign test of some disagreements finds the candidate better.

    Parameters
    ----------
    rows : int or array of int
        Labels of rows on which the two classifiers disagree.
    wins : float
        Chance that the candidate is right on such a row, in [0, 1].
    level : float
        Size of the test; it is exact, so that its true size is at most that.
    sides : int
        1 or 2. Of a two-sided test only the outcome "the candidate is better" counts.

    Returns
    -------
    float or array
    """
    from scipy.stats import binom

    rows = np.asarray(rows)
    # The least number of wins whose chance under 1/2 is at most the level of this side.
    needed = binom.isf(level / sides, rows, 0.5) + 1
    return binom.sf(needed - 1, rows, wins)


def sign_test_rows(wins, power=0.8, level=0.05, sides=2):
    """Labels of disagreements from which on a sign test has a power.

    Parameters
    ----------
    wins : float
        Chance that the candidate is right where the two disagree; above 1/2 and at most 1.
    power : float
        Wanted chance of a significant result, in (0, 1).
    level : float
    sides : int

    Returns
    -------
    float
        Power saws up and down with the number of rows, so this is the number from which it
        stays; infinite where more than ten million labels would be needed.

    Raises
    ------
    CounterweightError
        When a share is out of range: at 1/2 and below no number of labels is enough.
    """
    from scipy.special import ndtri

    if not 0.5 < wins <= 1:
        raise CounterweightError(
            f"The candidate wins a share {wins:g} of the disagreements: no number of labels can "
            "show that it is better; give a share above 0.5 and at most 1."
        )
    if not 0 < power < 1 or not 0 < level < 1 or sides not in (1, 2):
        raise CounterweightError(
            f"power {power:g}, level {level:g} and sides {sides}: give a power and a level between "
            "0 and 1, and one side or two."
        )
    spread = float(ndtri(1 - level / sides)) / 2
    spread += max(float(ndtri(power)), 0.0) * np.sqrt(wins * (1 - wins))
    guess = (spread / (wins - 0.5)) ** 2
    if guess > _MOST:
        return float("inf")
    # The teeth are of the order of the root of the guess.
    rows = np.arange(1, int(guess + 20 * np.sqrt(guess) + 60))
    short = np.flatnonzero(sign_test_power(rows, wins, level, sides) < power)
    return float(rows[short[-1]] + 1) if len(short) else 1.0


def paper_cases():
    """Metric records of the two cases of the paper: part ``best``, setting ``power=0.8``.

    ``sign_test_labels`` are labels of rows on which the two disagree, ``sign_test_drawn`` the rows
    that have to be drawn to find so many of them.
    """
    for case, (disagree, wins) in CASES.items():
        for power in POWERS:
            labels = sign_test_rows(wins, power)
            place = {"target": "general", "part": case, "setting": f"power={power:g}"}
            yield place | {"metric": "sign_test_labels", "value": labels}
            yield place | {"metric": "sign_test_drawn", "value": float(np.ceil(labels / disagree))}
