"""What the surveys of bids and yes/no answers share."""

import csv

import numpy as np
from scipy.special import expit


def named_index(path, columns):
    """Columns of a file whose first one numbers the rows, under the name that the file has.

    The published files have had several names for it, and none.

    Parameters
    ----------
    path : Path
    columns : dict of str to str
        As in `read_fields`.

    Returns
    -------
    dict of str to str
    """
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            header = next(csv.reader([file.readline()]), [])
    except (OSError, csv.Error):
        return columns  # the reader says what is wrong
    own, *others = columns
    if header[1:] == others and header[0] not in columns:
        return {header[0]: columns[own]} | {name: columns[name] for name in others}
    return columns


def asked_twice(component, eta, k, designs, rng):
    """Bids and answers of people whose worth of a thing is logistic in their segment.

    The first bid is one of the designs with equal probability, the second one the higher of it
    after yes and the lower after no; somebody says yes to a bid that is not above the worth.

    Parameters
    ----------
    component : array (n,) of int
        Segment of each person.
    eta, k : array (J,)
        A person is worth at least d with probability logistic(k (eta - d)).
    designs : array (G, 3)
        First bid, bid after yes, bid after no.
    rng : numpy.random.Generator

    Returns
    -------
    bids : ndarray (3, n)
        As in `designs`.
    yes, again : ndarray of bool (n,)
        Both answers.
    truth : dict of str to ndarray (n,)
        ``component`` (int16), ``eta`` and ``k`` of the segment, ``first``, the first bid, ``p``,
        the probability of yes to it, and ``worth``.
    """
    eta, k = eta[component], k[component]
    worth = eta + rng.logistic(size=len(component)) / k
    bids = np.array(designs)[rng.integers(len(designs), size=len(component))].T
    first, high, low = bids
    yes = worth >= first
    truth = {
        "component": component.astype(np.int16),
        "eta": eta,
        "k": k,
        "first": first.astype(float),
        "p": expit(k * (eta - first)),
        "worth": worth,
    }
    return bids, yes, worth >= np.where(yes, high, low), truth
