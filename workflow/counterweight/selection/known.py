"""The true selection probability of a generated data set: an oracle."""

OPTIONS = {}
LABEL = "known"

#: Reads the truth, so everything that builds on it is marked as an oracle.
ORACLE = True


class KnownSelector:
    """p(s = 1 | x) as the generator of the data knows it; nothing is fitted."""
