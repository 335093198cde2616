"""Fixed feature maps that turn a linear classifier into a kernel one."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.rates.datasets import is_sparse

KINDS = ("fourier", "nystroem")
SCALE_ROWS = 1000


class FeatureMap:
    """Random features of a Gaussian kernel on standardised rows.

    The kernel is exp(-|x - x'|^2 / (2 scale^2)), each feature divided by its standard
    deviation first. ``fourier``: sqrt(2 / D) cos(w'x + u) with normal w and uniform u, whose
    inner products are the kernel in expectation (Rahimi & Recht 2007). ``nystroem``: the
    kernel with D rows drawn from the data, times the inverse root of the kernel among these;
    exact on them.

    Parameters
    ----------
    kind : {"fourier", "nystroem"}
    count : int
        Features D; Nystroem has at most one for each row.
    scale : float, optional
        In standard deviations. By default the median distance of 1,000 random rows.

    Attributes
    ----------
    projection_ : ndarray (d, D)
        Fourier: w for each feature in its own unit; Nystroem: the drawn rows, transposed, in
        standard deviations.
    offset_ : ndarray (D,)
        Fourier only.
    normalisation_ : ndarray (D, D)
        Nystroem only.
    deviation_ : ndarray (d,)
    scale_ : float
    """

    def __init__(self, kind, count=300, scale=None):
        self.kind = kind
        self.count = count
        self.scale = scale

    def fit(self, X, rng):
        """Draw the map.

        Parameters
        ----------
        X : array or csr_matrix (n, d)
        rng : numpy.random.Generator
        """
        if self.kind not in KINDS:
            raise CounterweightError(f"features must be none, fourier or nystroem: {self.kind!r}.")
        if self.count < 1 or (self.scale is not None and not self.scale > 0):
            raise CounterweightError("feature_count must be at least 1 and feature_scale above 0.")
        n, d = X.shape
        self.deviation_ = deviations(X)
        drawn = _dense(X[np.sort(rng.permutation(n)[:SCALE_ROWS])]) / self.deviation_
        self.scale_ = self.scale
        if self.scale is None:
            distances = _squared_distances(drawn, drawn)[np.triu_indices(len(drawn), 1)]
            positive = distances[distances > 0]
            self.scale_ = float(np.sqrt(np.median(positive))) if len(positive) else 1.0
        if self.kind == "fourier":
            self.projection_ = rng.normal(size=(d, self.count)) / self.scale_
            self.projection_ /= self.deviation_[:, None]
            self.offset_ = rng.uniform(0, 2 * np.pi, self.count)
            return self
        chosen = np.sort(rng.permutation(n)[: self.count])
        self.projection_ = (_dense(X[chosen]) / self.deviation_).T.copy()
        value, vector = np.linalg.eigh(self._kernel(self.projection_.T))
        # Directions that the drawn rows hardly span would only magnify rounding.
        keep = value > 1e-10 * value[-1]
        inverse = np.where(keep, 1 / np.sqrt(np.where(keep, value, 1)), 0)
        self.normalisation_ = (vector * inverse) @ vector.T
        return self

    def _kernel(self, rows):
        return np.exp(_squared_distances(rows, self.projection_.T) / (-2 * self.scale_**2))

    def transform(self, X):
        """Features (n, D) of rows, dense or csr."""
        if self.kind == "fourier":
            angles = X @ self.projection_
            angles += self.offset_
            np.cos(angles, out=angles)
            angles *= np.sqrt(2 / len(self.offset_))
            return angles
        found = np.empty((X.shape[0], self.projection_.shape[1]))
        for start in range(0, len(found), 1 << 14):
            part = slice(start, start + (1 << 14))
            found[part] = self._kernel(_dense(X[part]) / self.deviation_) @ self.normalisation_
        return found

    def to_arrays(self):
        """The map as arrays, by name."""
        arrays = {
            "map_kind": np.array([float(KINDS.index(self.kind))]),
            "map_projection": self.projection_,
            "map_deviation": self.deviation_,
            "map_scale": np.array([self.scale_]),
        }
        if self.kind == "fourier":
            return arrays | {"map_offset": self.offset_}
        return arrays | {"map_normalisation": self.normalisation_}

    @classmethod
    def from_arrays(cls, arrays):
        """A map from what `to_arrays` gave."""
        found = cls(KINDS[int(np.ravel(arrays["map_kind"])[0])])
        found.projection_ = np.asarray(arrays["map_projection"], dtype=float)
        found.deviation_ = np.asarray(arrays["map_deviation"], dtype=float)
        found.scale_ = found.scale = float(np.ravel(arrays["map_scale"])[0])
        found.count = found.projection_.shape[1]
        if found.kind == "fourier":
            found.offset_ = np.asarray(arrays["map_offset"], dtype=float)
        else:
            found.normalisation_ = np.asarray(arrays["map_normalisation"], dtype=float)
        return found


def means(X):
    """Mean of each feature, dense or sparse."""
    return np.asarray(X.mean(axis=0), dtype=float).ravel()


def deviations(X):
    """Standard deviation of each feature, dense or sparse; 1 for a constant one."""
    if is_sparse(X):
        squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        found = np.sqrt(np.maximum(squares - means(X) ** 2, 0))
    else:
        found = X.std(axis=0)
    return np.where(found > 1e-12 * np.maximum(1, np.abs(means(X))), found, 1.0)


def _dense(X):
    return X.toarray() if is_sparse(X) else np.asarray(X)


def _squared_distances(a, b):
    squares = (a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * (a @ b.T)
    return np.maximum(squares, 0)
