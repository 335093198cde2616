"""A proxy that is told everybody's group: no filter, but what filters are bounded by."""

import numpy as np

from counterweight.numerics.geometry import closest
from counterweight.numerics.groups import checked_target, disclosivity, leaf_table
from counterweight.selection.proxies.attributes import joint_cells
from counterweight.selection.proxies.proxy import Proxy

KIND = "filter"
OPTIONS = {}
LABEL = "own group"
#: Its rows are memberships of groups in place of features: whoever uses it sees the groups.
SEES_GROUPS = True


class OwnGroupProxy(Proxy):
    """Leaves are the groups themselves (with several columns: their combinations).

    It can only be used where everybody's group is known, so no filter is made of it. What it
    reaches is what not seeing the groups costs at least.

    Attributes
    ----------
    cells_ : array (L, K) of 0/1
        Combinations of groups that training rows have.
    """

    predicts_groups = True
    sees_groups = True
    settings_ = ("",)

    def fit(self, X, Z, *, classes, target=None, rng=None):
        """Note which combinations of groups there are.

        Parameters
        ----------
        X, Z : array (n, K)
            Memberships, both times.
        classes : sequence of int
        target : array (K,), optional
            Only for the description; uniform by default.
        rng : numpy.random.Generator, optional
            Not used.
        """
        _, Z = self._checked(X, Z, classes, OPTIONS)
        self.cells_, _ = joint_cells(Z, classes)
        mass, A = leaf_table(self._memberships(Z), Z)
        distance = closest(A, checked_target(target, classes))[1]
        self._records = {
            "leaves": float(len(mass)),
            "distance": distance,
            "disclosivity": disclosivity(mass, A, Z.mean(axis=0)),
            "reached": float(distance <= 1e-6),
        }
        return self

    def _memberships(self, Z):
        columns = self.cells_.sum(axis=1)
        return (np.asarray(Z, dtype=float) @ self.cells_.T == columns).astype(float)

    def leaves(self, X):
        """Leaves of rows from their memberships `X`, (n, K).

        Yields
        ------
        setting : str
            Always "".
        memberships : array (n, L) of float64
            0 and 1; all 0 for a combination that no training row has.
        """
        yield "", self._memberships(X)

    def describe(self):
        """Facts of the fit, as partial metric records."""
        return [
            {"metric": metric, "setting": "", "value": value}
            for metric, value in self._records.items()
        ]

    def to_arrays(self):
        """The fitted proxy as named arrays."""
        return {"cells": self.cells_}

    @classmethod
    def from_arrays(cls, arrays, names=None):
        """The inverse of `to_arrays`; `names`, those of the features, is not used."""
        proxy = cls()
        proxy.cells_ = arrays["cells"]
        return proxy
