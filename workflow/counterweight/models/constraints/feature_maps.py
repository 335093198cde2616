"""Fixed feature maps that turn a linear classifier into a kernel one."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.rates.datasets import is_sparse

KINDS = ("fourier", "nystroem")
SCALE_ROWS = 1000
#: Rows denser than this stay dense in the solvers.
SPARSE_SHARE = 0.25


class FeatureMap:
    """Random features of a Gaussian kernel on standardised rows.

    The kernel is exp(-|x - x'|^2 / (2 scale^2)), each feature divided by its standard deviation
    first. ``fourier``: sqrt(2 / D) cos(w'x + u) with normal w and uniform u, whose inner products
    are the kernel in expectation (Rahimi & Recht 2007). ``nystroem``: the kernel with D rows drawn
    from the data, times the inverse root of the kernel among these; exact on them.

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
    remembered : list of (array, array) or None
        Rows, by identity, with their features, where models that share the map remember them: only
        while nobody changes the rows in place.
    """

    remembered = None

    def __init__(self, kind, count=300, scale=None):
        self.kind = kind
        self.count = count
        self.scale = scale

    def fit(self, X, rng):
        """Draw the map for rows (n, d), dense or csr."""
        if self.kind not in KINDS:
            raise CounterweightError(f"features must be none, fourier or nystroem: {self.kind!r}.")
        if self.count < 1 or (self.scale is not None and not self.scale > 0):
            raise CounterweightError("feature_count must be at least 1 and feature_scale above 0.")
        n, d = X.shape
        self.deviation_ = deviations(X)
        drawn = dense(X[np.sort(rng.permutation(n)[:SCALE_ROWS])]) / self.deviation_
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
        self.projection_ = (dense(X[chosen]) / self.deviation_).T.copy()
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
        features = np.empty((X.shape[0], self.projection_.shape[1]))
        for start in range(0, len(features), 1 << 14):
            part = slice(start, start + (1 << 14))
            features[part] = self._kernel(dense(X[part]) / self.deviation_) @ self.normalisation_
        return features

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
        drawn = cls(KINDS[int(np.ravel(arrays["map_kind"])[0])])
        drawn.projection_ = np.asarray(arrays["map_projection"], dtype=float)
        drawn.deviation_ = np.asarray(arrays["map_deviation"], dtype=float)
        drawn.scale_ = drawn.scale = float(np.ravel(arrays["map_scale"])[0])
        drawn.count = drawn.projection_.shape[1]
        part = "offset" if drawn.kind == "fourier" else "normalisation"
        setattr(drawn, f"{part}_", np.asarray(arrays[f"map_{part}"], dtype=float))
        return drawn


def means(X):
    """Mean of each feature, dense or sparse."""
    return np.asarray(X.mean(axis=0), dtype=float).ravel()


def deviations(X):
    """Standard deviation of each feature, dense or sparse; 1 for a constant one."""
    if is_sparse(X):
        squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(squares - means(X) ** 2, 0))
    else:
        deviation = X.std(axis=0)
    return np.where(deviation > 1e-12 * np.maximum(1, np.abs(means(X))), deviation, 1.0)


def standardised(rows, like=None):
    """Rows with features of standard deviation 1, and mean 0 unless sparse; their scale and centre.

    Means and deviations are those of the rows `like`, by default of `rows` themselves.
    """
    like = rows if like is None else like
    scale = deviations(like)
    if is_sparse(rows):
        from scipy import sparse

        return (rows @ sparse.diags(1 / scale)).tocsr(), scale, None
    centre = means(like)
    return (rows - centre) / scale, scale, centre


def thinned(rows):
    """Rows as csr_matrix where few of their values are not 0, else as they are."""
    if is_sparse(rows) or np.count_nonzero(rows) >= SPARSE_SHARE * rows.size:
        return rows
    from scipy import sparse

    return sparse.csr_matrix(rows)


def dense(X):
    """Rows as an array, sparse ones too."""
    return X.toarray() if is_sparse(X) else np.asarray(X)


def _squared_distances(a, b):
    squares = (a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * (a @ b.T)
    return np.maximum(squares, 0)
