"""Simulated data sets of offers and yes/no answers that consist of independent worlds."""

import numpy as np
import pandas as pd
from scipy.special import expit

from counterweight.errors import CounterweightError


class Worlds:
    """Worlds of one size, each drawn from a stream of its own.

    A subclass has ``_world(world, rng)``, the columns of a world and what is known of its rows
    (see `answered`), and describes the columns.

    Attributes
    ----------
    SIZE : int
        Rows of a world.
    WHAT : str
        The data set, for messages, e.g. ``"these simulated segments"``.
    """

    SIZE, WHAT = 0, ""

    @classmethod
    def simulate(cls, rows, rng):
        """Draw people, offers and answers.

        Parameters
        ----------
        rows : int
            A multiple of `SIZE`. Fewer worlds are the first ones of more.
        rng : numpy.random.Generator

        Returns
        -------
        frame : pandas.DataFrame
            ``row`` (int32 from 0), ``world`` (int16 from 0), and the columns that the class
            describes.
        truth : pandas.DataFrame
            ``row``, ``world``, ``component`` (int16 from 0), ``eta``, ``k``, and what else the
            class says.

        Raises
        ------
        CounterweightError
            When `rows` is not a positive multiple of `SIZE`.
        """
        worlds, rest = divmod(rows, cls.SIZE)
        if rest or worlds < 1:
            raise CounterweightError(
                f"One world of {cls.WHAT} has {cls.SIZE} rows, so {rows} rows are not a number of "
                f"whole worlds: choose a multiple of {cls.SIZE}."
            )
        parts = [cls._world(world, part) for world, part in enumerate(rng.spawn(worlds))]
        numbers = {
            "row": np.arange(rows, dtype=np.int32),
            "world": np.repeat(np.arange(worlds, dtype=np.int16), cls.SIZE),
        }
        return tuple(
            pd.DataFrame(
                numbers
                | {name: np.concatenate([part[name] for part in table]) for name in table[0]}
            )
            for table in zip(*parts, strict=True)
        )


def answered(mixture, component, offers, rng):
    """Offers, the answers to them, and what is known of the people.

    Parameters
    ----------
    mixture : dict
        With ``eta`` and ``k`` (J,): an offer d is accepted with probability
        logistic(k (d - eta)).
    component : array (n,) of int
        Segment of each person.
    offers : dict of str to array (n,)
        By kind.
    rng : numpy.random.Generator

    Returns
    -------
    frame : dict of str to ndarray (n,)
        ``offer_{kind}`` and ``answer_{kind}`` (int8, 1 for accepted), kind by kind.
    truth : dict of str to ndarray (n,)
        ``component`` (int16), ``eta``, ``k``.
    """
    eta, k = mixture["eta"][component], mixture["k"][component]
    frame = {}
    for kind, offer in offers.items():
        accepted = rng.random(len(component)) < expit(k * (offer - eta))
        frame |= {f"offer_{kind}": offer, f"answer_{kind}": accepted.astype(np.int8)}
    return frame, {"component": component.astype(np.int16), "eta": eta, "k": k}
