"""Corners of two features where labeled rows should be and none is."""

from dataclasses import dataclass

import numpy as np

#: Cuts of each number in the search for empty corners.
CUTS = 48


@dataclass
class Corners:
    """Empty corners: a pair of features, a direction of each, and a staircase of edges.

    The corner holds z where ``sign_1 z_1`` is above the cut a and ``sign_2 z_2`` above the
    edge b of that cut, for one of the cuts.

    Attributes
    ----------
    first, second : int array (C,)
    sign_first, sign_second : array (C,)
    cuts, edges : array (C, CUTS)
        Ascending cuts; the edge is the least of those of all cuts up to it, infinite for none.
    """

    first: np.ndarray
    second: np.ndarray
    sign_first: np.ndarray
    sign_second: np.ndarray
    cuts: np.ndarray
    edges: np.ndarray

    @classmethod
    def none(cls):
        nobody = np.zeros(0, int)
        return cls(nobody, nobody, np.zeros(0), np.zeros(0), *np.zeros((2, 0, CUTS)))

    @classmethod
    def of(cls, arrays):
        first, second = (np.asarray(arrays[k], int).reshape(-1) for k in ("first", "second"))
        signs = (np.asarray(arrays[f"sign_{k}"], float).reshape(-1) for k in ("first", "second"))
        tables = (np.asarray(arrays[k], float).reshape(len(first), CUTS) for k in ("cuts", "edges"))
        return cls(first, second, *signs, *tables)

    def some(self, which):
        """Some of the corners."""
        return Corners(**{name: values[which] for name, values in vars(self).items()})

    def makers(self, c, Z):
        """Rows at the edge of a corner, one an edge: it would hold them, were they left out."""
        first = self.sign_first[c] * Z[:, self.first[c]]
        second = self.sign_second[c] * Z[:, self.second[c]]
        found = np.zeros(len(Z), bool)
        for edge in np.unique(self.edges[c][np.isfinite(self.edges[c])]):
            cut = self.cuts[c][np.argmax(self.edges[c] == edge)]
            at = np.flatnonzero((second == np.float32(edge)) & (first > cut))
            found[at] = len(at) == 1 or found[at]
        return found

    @classmethod
    def find(cls, Z, block):
        """Corners without any of the rows Z where many would be, and how many, array (C,).

        Many: so many that, among all corners looked at, less than one would be empty by chance
        (Poisson).
        """
        made = []
        n, d = Z.shape
        signed = [(k, 1.0) for k in range(d)] + [(k, -1.0) for k in range(d) if block[k] < 0]
        expected = 1.5 + np.log(10 * max(1, len(signed) * (len(signed) - 1) // 2))
        latent, cut = _latent(Z, block)
        relation = latent.T @ latent / n
        stretch = np.sqrt(np.maximum(np.diag(relation), 1e-12))
        relation /= stretch[:, None] * stretch
        for k, sign in signed:
            if block[k] >= 0:
                cuts = np.full(1, 0.5)
                place = np.full(1, cut[k])
                rows = [np.flatnonzero(Z[:, k] > 0.5)]
                if not len(rows[0]):
                    continue
                value = Z[rows[0]]
                tops = value.max(axis=0)[None], -value.min(axis=0)[None]
            else:
                order = np.argsort(sign * Z[:, k])[::-1]
                value = sign * Z[order, k]
                ends = np.unique(np.linspace(expected, 0.9 * n, CUTS).astype(int))
                ends = ends[ends < n]
                # Cuts between values, so that rows above are those before in the order.
                ends = ends[value[ends - 1] > value[np.minimum(ends, n - 1)]]
                if not len(ends):
                    continue
                cuts, place = value[ends], value[ends]
                ordered = Z[order]
                tops = (
                    np.maximum.accumulate(ordered)[ends - 1],
                    -np.minimum.accumulate(ordered)[ends - 1],
                )
            for j, side in signed:
                # A pair of numbers is found once from each side, which is what makes the
                # staircase whole; levels have one cut, and need their partner's cuts only once.
                if j == k or (block[j] == block[k] and block[k] >= 0):
                    continue
                if block[j] >= 0 and (block[k] < 0 or j < k):
                    continue
                edge = tops[0 if side > 0 else 1][:, j]
                if block[j] >= 0:
                    edge = np.where(edge > 0.5, np.inf, 0.5)
                    where = np.full(len(edge), cut[j])
                else:
                    where = edge
                count = n * _upper_corner(place, where, sign * side * relation[k, j])
                edge = np.where(count >= expected, edge, np.inf)
                if np.isfinite(edge).any():
                    most = count[np.isfinite(edge)].max()
                    made.append((most, k, j, sign, side, *_staircase(cuts, edge)))
        if not made:
            return cls.none(), np.zeros(0)
        strength, *parts = (np.array(part) for part in zip(*made, strict=True))
        return cls(*parts), strength

    def hold(self, Z):
        """Whether rows lie in each corner, bool (m, C)."""
        found = np.zeros((len(Z), len(self.first)), bool)
        for c, (k, j) in enumerate(zip(self.first, self.second, strict=True)):
            at = np.searchsorted(self.cuts[c], self.sign_first[c] * Z[:, k], side="left") - 1
            edge = np.where(at >= 0, self.edges[c][np.maximum(at, 0)], np.inf)
            found[:, c] = self.sign_second[c] * Z[:, j] > edge
        return found


def _staircase(cuts, edge):
    order = np.argsort(cuts)
    cuts, edge = cuts[order], np.minimum.accumulate(edge[order])
    return np.pad(cuts, (0, CUTS - len(cuts)), mode="edge"), np.pad(
        edge, (0, CUTS - len(edge)), mode="edge"
    )


def _latent(Z, block):
    """Columns with the normal-copula correlation that fits them, and each level's cut."""
    from scipy.special import ndtri

    n = len(Z)
    latent = Z.astype(float)
    latent -= latent.mean(axis=0)
    share = np.clip(Z.mean(axis=0, dtype=float), 0.5 / n, 1 - 0.5 / n)
    cut = np.where(block >= 0, ndtri(1 - share), 0.0)
    return latent, cut


def _upper_corner(h, k, rho):
    """P(U > h, V > k) of two standard normals with correlation rho (Plackett 1954)."""
    from scipy.special import ndtr

    node, weight = np.polynomial.legendre.leggauss(12)
    angle = np.arcsin(np.clip(rho, -0.99, 0.99)) / 2
    turn = angle * (node + 1)
    h, k = np.asarray(h, float)[:, None], np.asarray(k, float)[:, None]
    inside = -(h * h - 2 * h * k * np.sin(turn) + k * k) / (2 * np.cos(turn) ** 2)
    moved = angle * (np.exp(inside) @ weight) / (2 * np.pi)
    return np.maximum(ndtr(-h[:, 0]) * ndtr(-k[:, 0]) + moved, 0)
