"""Random numbers: one stream for each (seed, study, repeat, purpose)."""

import hashlib


def _number(text):
    return int.from_bytes(hashlib.sha256(str(text).encode()).digest()[:8], "little")


def generator(seed, study, repeat, purpose):
    """Independent random generator for one use.

    Two different calls share no numbers, and the same call gives the same numbers
    in any order and on any number of cores.

    Parameters
    ----------
    seed : int
        The seed of the config.
    study : str
        Name of the study (or of the data set, for draws that studies share).
    repeat : int
        Repetition, from 0.
    purpose : str
        What the numbers are for, e.g. ``"split"``.

    Returns
    -------
    numpy.random.Generator
    """
    import numpy as np

    return np.random.default_rng(
        np.random.SeedSequence([int(seed), _number(study), int(repeat), _number(purpose)])
    )
