"""The Gaussian-mixture EM against scikit-learn's and R's mclust, all on one thread.

Same rows, same starting responsibilities, same stopping rule (relative change of the
log-likelihood below 1e-7), 25 restarts of 6 components with full covariances: at least 10 times as
fast as scikit-learn, at a best log-likelihood that is lower by no more than 1e-6 relative. mclust
(its function `me`, model VVV) stops at the same change of the same log-likelihood; it runs 5 of
the starts, and its seconds are for 25.

The rows are the labeled rows of Adult (married people, 60 % of the complete rows) if
COUNTERWEIGHT_MIRROR names a folder with the official files, else a made-up table of the
same shape, and the table says which.
"""

import os
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import r_peer
from counterweight.numerics.gaussian_mixture import fit_mixture
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from table import Case, Timed, require

COMPONENTS = 6
RESTARTS = 25
TOLERANCE = 1e-7
#: Starts that mclust gets: its text of starts grows with rows times components.
STARTED = 5
MCLUST = """
X <- as.matrix(d[, grepl("^x", names(d))]); found <- c()
seconds <- 0
for (s in 0:%d) {
  z <- as.matrix(d[, grepl(paste0("^z", s, "_"), names(d))])
  seconds <- seconds + sum(system.time(
    m <- me(X, "VVV", z, control = emControl(tol = c(1e-7, 1e-7), itmax = c(2000, 2000)))
  )[c("user.self", "sys.self")])
  found <- c(found, m$loglik)
}
"""
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
)


def adult_rows(folder, rng):
    """Labeled training rows of the Adult study: 12 features, with uniform noise."""
    parts = [
        pd.read_csv(folder / name, names=COLUMNS, skipinitialspace=True, skiprows=skip)
        for name, skip in (("adult.data", 0), ("adult.test", 1))
    ]
    table = pd.concat(parts).dropna(subset=["age"])
    table = table[(table[["workclass", "country"]] != "?").all(axis=1)]
    degree = ["Bachelors", "Masters", "Doctorate", "Prof-school"]
    X = np.column_stack(
        [
            table.age,
            table.fnlwgt,
            table.education_num,
            np.log1p(table.gain),
            np.log1p(table.loss),
            table.hours,
            table.workclass == "Private",
            table.education.isin(degree),
            table.occupation.isin(["Exec-managerial", "Prof-specialty"]),
            table.race == "White",
            table.sex == "Male",
            table.country == "United-States",
        ]
    ).astype(float)
    X += rng.uniform(-0.25, 0.25, X.shape)
    married = table.marital.isin(["Married-civ-spouse", "Married-AF-spouse"]).to_numpy()
    chosen = rng.permutation(len(X))[: int(0.6 * len(X))]
    return X[chosen][married[chosen]]


def made_up_rows(rng, n=12800):
    """Rows shaped like those of Adult: six skewed features, six noisy binary ones."""
    hidden = rng.normal(size=(n, 6))
    measured = np.exp(0.4 * hidden @ rng.normal(size=(6, 6)))
    binary = hidden @ rng.normal(size=(6, 6)) + rng.normal(size=(n, 6)) > 0.8
    return np.hstack([measured, binary + rng.uniform(-0.25, 0.25, binary.shape)])


class StartedMixture(GaussianMixture):
    """scikit-learn's mixture from given responsibilities."""

    def __init__(self, responsibilities, tol):
        super().__init__(COMPONENTS, tol=tol, max_iter=2000, reg_covar=1e-9)
        self.responsibilities = responsibilities

    def _initialize_parameters(self, X, random_state, **_):
        self._initialize(X, self.responsibilities)


def cases():
    rng = np.random.default_rng(0)
    mirror = os.environ.get("COUNTERWEIGHT_MIRROR")
    X = adult_rows(Path(mirror) / "adult", rng) if mirror else made_up_rows(rng)
    # Both stop by the log-likelihood of standardised rows; scikit-learn does not standardise.
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    start = rng.random((RESTARTS, len(X), COMPONENTS))
    start /= start.sum(axis=2, keepdims=True)

    # No component of ours is held back for lack of rows, since theirs has no such rule.
    rule = {"responsibilities": start, "tol": TOLERANCE, "minimum_rows": 0}
    ours = partial(fit_mixture, X, COMPONENTS, **rule)
    each = ours().restart_log_likelihood

    def sklearn():
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for responsibilities, own in zip(start, each, strict=True):
                # Theirs compares the absolute change of the mean log-likelihood.
                tol = TOLERANCE * max(abs(own) / len(X), 1.0)
                found.append(StartedMixture(responsibilities, tol).fit(X).score(X) * len(X))
        return found

    def mclust():
        columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
        for at in range(STARTED):
            columns |= {f"z{at}_{k}": start[at, :, k] for k in range(COMPONENTS)}
        found, seconds = r_peer.run(("mclust",), pd.DataFrame(columns), MCLUST % (STARTED - 1))
        return Timed(found, seconds * RESTARTS / STARTED)

    def same(mine, theirs):
        own = mine.restart_log_likelihood[: len(theirs) if theirs else None].max()
        best = own if theirs is None else max(theirs)
        gap = (own - best) / abs(best)
        require(gap >= -1e-6, f"the best log-likelihood is lower by {-gap:.1e} of its value")
        return f"best log-likelihood {own:.6g}, {gap:+.0e} of the peer's"

    rows = "Adult's labeled rows" if mirror else "made-up rows"
    what = f"Gaussian mixture, {len(X):,} {rows}, {RESTARTS} starts"
    yield Case("selection", what, ours, same, "sklearn.GaussianMixture", sklearn, at_most=0.1)
    yield Case("selection", what, ours, same, "mclust (R)", mclust, at_most=1)
