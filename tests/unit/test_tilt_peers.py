"""What lenders' reject inference does, as R's scoringTools has it, beside the tilt's delta."""

import shutil
import subprocess

import numpy as np
import pytest
from counterweight.models.logistic import LogisticModel
from scipy.special import expit

LIBRARY = 'if (!requireNamespace("scoringTools", quietly = TRUE)) quit(status = 3)'
FUZZY = """
xf <- as.matrix(read.csv("financed.csv", header = FALSE))
xnf <- as.matrix(read.csv("refused.csv", header = FALSE))
yf <- scan("outcome.csv", quiet = TRUE)
fit <- scoringTools::fuzzy_augmentation(xf, xnf, yf)
write(fit@infered_model$coefficients, "coefficients.txt", ncolumns = 1)
"""


@pytest.fixture(scope="module")
def rscript():
    found = shutil.which("Rscript")
    if not found:
        pytest.skip("R is not installed")
    if subprocess.run([found, "-e", LIBRARY], capture_output=True).returncode:
        pytest.skip("the R package scoringTools is not installed")
    return found


def test_fuzzy_augmentation_leaves_the_fit_of_labeled_rows(rscript, tmp_path):
    """It is a delta of 0: its coefficients are those of the labeled rows alone."""
    rng = np.random.default_rng(0)
    X, refused = rng.normal(size=(800, 2)), rng.normal(size=(600, 2)) - 0.5
    y = (rng.random(800) < expit(X @ [1.0, -0.5] + 0.4)).astype(int)
    for name, table in (("financed", X), ("refused", refused), ("outcome", y)):
        np.savetxt(tmp_path / f"{name}.csv", table, delimiter=",")
    done = subprocess.run([rscript, "-e", FUZZY], cwd=tmp_path, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    peer = np.loadtxt(tmp_path / "coefficients.txt")
    own = LogisticModel().fit(X, y)
    np.testing.assert_allclose(peer, [own.intercept_, *own.coef_], atol=1e-3)
