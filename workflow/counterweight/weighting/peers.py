"""Density ratios of other packages, for tables that compare: none of them is needed otherwise.

They are the extra ``peers``. Each gets standardised features of the labeled rows and of those that
these are to stand for, and its own defaults but for what is said here. A package that is not
installed is said to be missing, and nothing takes its place. balance (Meta) is not among them: its
releases ask for a numpy below 2 or a pandas below 3.
"""

import importlib
import warnings

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Choice
from counterweight.weighting.importance_weights import AT_RANDOM, TARGET_LABELS, TARGET_OPTION

#: Package, class and options of each.
WAYS = {
    "skada_kliep": ("skada", "KLIEPReweightAdapter", {"gamma": "auto"}),
    "skada_discriminator": ("skada", "DiscriminatorReweightAdapter", {}),
    "skada_density": ("skada", "DensityReweightAdapter", {}),
    "skada_nearest": ("skada", "NearestNeighborReweightAdapter", {}),
    "adapt_kliep": ("adapt.instance_based", "KLIEP", {"kernel": "rbf"}),
    "adapt_ulsif": ("adapt.instance_based", "ULSIF", {"kernel": "rbf"}),
    "adapt_rulsif": ("adapt.instance_based", "RULSIF", {"kernel": "rbf"}),
}
SEES = "rows"
NEEDS_P = False
OPTIONS = {
    **TARGET_OPTION,
    "by": Choice(..., ["skada_kliep", "skada_discriminator", "skada_density", "skada_nearest", "adapt_kliep", "adapt_ulsif", "adapt_rulsif"],
        "Package and way."),
}  # fmt: skip
LABEL = "{by}, to {target}"
VALUE_LABELS = TARGET_LABELS
ASSUMES = AT_RANDOM


def peer_weights(rows, *, by, target="general"):
    """Weights of labeled rows by a density ratio of another package; see `WAYS`.

    Returns
    -------
    numpy.ndarray, shape (M,)
        Not capped, of mean 1.

    Raises
    ------
    CounterweightError
        Where the package is not installed, or its weights are no weights.
    """
    package, name, options = WAYS[by]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            way = getattr(importlib.import_module(package), name)
    except ImportError as error:
        raise CounterweightError(
            f"The weighting peer_ratio asks for the package {package.partition('.')[0]}, which "
            f"cannot be loaded ({error}): pip install 'counterweight[peers]', or leave it out."
        ) from error
    labeled, others = np.asarray(rows.X_labeled, float), np.asarray(rows.X_unlabeled, float)
    stood_for = np.concatenate([labeled, others]) if target == "general" else others
    centre, scale = stood_for.mean(axis=0), stood_for.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    labeled, stood_for = (labeled - centre) / scale, (stood_for - centre) / scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if package == "skada":
            weights = _of_skada(way, options, labeled, stood_for)
        else:
            made = way(**options, gamma=1.0 / labeled.shape[1], verbose=0, random_state=0)
            weights = made.fit_weights(labeled, stood_for)
    weights = np.asarray(weights, float).ravel()[: len(labeled)]
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise CounterweightError(
            f"The weights of {by} are not all finite and at least 0, some above 0: leave it out."
        )
    return weights / weights.mean()


def _of_skada(way, options, labeled, stood_for):
    """Weights of its adapters, which take both samples in one array and tell them by a sign."""
    X = np.concatenate([labeled, stood_for])
    domain = np.where(np.arange(len(X)) < len(labeled), 1, -2)
    if "gamma" in options:
        options = options | {"gamma": 1.0 / X.shape[1], "random_state": 0}
    made = way(**options)
    made.fit(X, sample_domain=domain)
    found = made.compute_weights(X, sample_domain=domain)
    return found[: len(labeled)]
