"""Where a fit of offers knows something: kinds of people, and the offers that were made to them.

People of a kind are those of one segment (models of segments) or those next to one centre of
k-means on the standardised features (other models). The offers of a kind reach from the 1 % to
the 99 % quantile of those that were made to its people, both of them offers that were made; of
fewer than a hundred people these are the least and the largest.
"""

import numpy as np

#: Quantiles of the offers that were made to a kind of people.
REACH = 0.01
#: Most kinds, and people for each.
MOST_KINDS, PEOPLE = 8, 100
#: Share of the people of a fit who are farther away than those who count as like them.
FAR = 0.002
#: A person is beyond a feature's range if by more than this share of it.
MARGIN = 1e-9


class Kinds:
    """Kinds of people by the nearest of some centres of standardised features.

    Parameters
    ----------
    centres : array (kinds, d)
    mean, scale : array (d,)
    """

    def __init__(self, centres, mean, scale):
        self.centres, self.mean, self.scale = centres, mean, scale

    @classmethod
    def fitted(cls, X, rng):
        """Centres by k-means: one for a hundred people, at most eight."""
        from sklearn.cluster import KMeans

        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        rows = (X - mean) / scale
        count = int(np.clip(len(X) // PEOPLE, 1, min(MOST_KINDS, len(np.unique(rows, axis=0)))))
        seed = int(rng.integers(2**31))
        return cls(
            KMeans(count, n_init=4, random_state=seed).fit(rows).cluster_centers_, mean, scale
        )

    def to_arrays(self):
        return {"centres": self.centres, "mean": self.mean, "scale": self.scale}

    def told(self, X):
        """Kind of each person, and minus the squared distance to its centre."""
        rows = (X - self.mean) / self.scale
        away = np.empty((len(X), len(self.centres)))
        for number, centre in enumerate(self.centres):
            away[:, number] = np.square(rows - centre).sum(axis=1)
        return away.argmin(axis=1), -away.min(axis=1)


def offers_made(offers, kind, kinds):
    """Least and largest offer made to each kind of people, (kinds, 2); see the module.

    A kind without people has the reach of all.
    """
    ends = [REACH, 1 - REACH]
    reach = np.tile(np.quantile(offers, ends, method="inverted_cdf"), (kinds, 1))
    for number in np.unique(kind):
        own = offers[kind == number]
        reach[number] = np.quantile(own, ends, method="inverted_cdf")
    return reach


def beyond(X, low, high):
    """Feature of each person that is outside its range of the fit, -1 if none is."""
    margin = MARGIN * np.maximum(high - low, 1e-300)
    outside = ~((low - margin <= X) & (high + margin >= X))
    return np.where(outside.any(axis=1), outside.argmax(axis=1), -1)
