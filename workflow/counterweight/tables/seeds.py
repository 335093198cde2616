"""Random numbers: one stream for each (seed, study, repeat, purpose)."""

import hashlib


def _number(text):
    return int.from_bytes(hashlib.sha256(str(text).encode()).digest()[:8], "little")


def generator(seed, study, repeat, purpose):
    """Independent random generator for one use.

    `study` may be a data set, for draws that studies share; `purpose` says what the numbers are
    for, such as ``"split"``. Two different calls share no numbers, and the same call gives the same
    numbers in any order and on any number of cores.
    """
    import numpy as np

    return np.random.default_rng(
        np.random.SeedSequence([int(seed), _number(study), int(repeat), _number(purpose)])
    )
