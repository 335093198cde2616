"""Twelve numbers for each person of Adult, as Smith & Elkan (2007) describe them."""

import numpy as np
import pandas as pd

from counterweight.fragments import Choice, Flag, Number
from counterweight.labeling.columns import add_noise, declare_categories, require

OPTIONS = {
    "noise": Number(0.25, "Half-width of the uniform noise on discrete features; 0 for none.", minimum=0),
    "noise_on": Choice("all", ["all", "numbers"], "numbers: the binary features stay 0 and 1, and are declared categories."),
    "binaries": Flag(True, "Whether the six binary features are used; the paper uses them."),
}  # fmt: skip

BINARY = {
    "workclass": ("private_employer", ("Private",)),
    "education": ("degree", ("Bachelors", "Masters", "Doctorate", "Prof-school")),
    "occupation": ("professional", ("Exec-managerial", "Prof-specialty")),
    "race": ("white", ("White",)),
    "sex": ("male", ("Male",)),
    "native-country": ("native_born", ("United-States",)),
}
INTEGER = {
    "age": "age",
    "fnlwgt": "fnlwgt",
    "education-num": "education_num",
    "hours-per-week": "hours_per_week",
}
LOGGED = {"capital-gain": "log_capital_gain", "capital-loss": "log_capital_loss"}


def adult_binary(frame, rng, *, outcome=None, noise=0.25, noise_on="all", binaries=True):
    """Features of Adult: integers, logged capital, one binary for each categorical.

    Rows with unknown workclass or native country are left out, which gives the
    45,232 rows of the paper; an unknown occupation counts as "not professional".
    Marital status and relationship are left out, since they give the labeling away.
    The paper does not say which categories its binaries join; the ones here are a
    reading. Noise goes on every feature that is binary or an integer upstream; the
    logged capital columns are among them, since most of their values are log(1) = 0.

    Parameters
    ----------
    frame : pandas.DataFrame
        The prepared Adult table.
    rng : numpy.random.Generator
    outcome : str, optional
        Not used: no outcome column is among the features.
    noise : float
        Half-width, in units of the feature.
    noise_on : {"all", "numbers"}
        numbers: binary features stay as they are; the noise of the others is the same. Binary
        features without noise are declared categories.
    binaries : bool
        False leaves the six binary features out: a diagnostic, not the paper's setting.

    Returns
    -------
    pandas.DataFrame
        ``row`` and 12 float columns, for the rows kept.

    References
    ----------
    Smith & Elkan (2007), sections 6 and 7.
    """
    require(frame, [*BINARY, *INTEGER, *LOGGED], "features recipe adult_binary")
    frame = frame[frame["workclass"].notna() & frame["native-country"].notna()]
    columns = {"row": frame["row"].to_numpy()}
    for name, feature in INTEGER.items():
        columns[feature] = frame[name].to_numpy(dtype=float)
    for name, feature in LOGGED.items():
        columns[feature] = np.log1p(frame[name].to_numpy(dtype=float))
    for name, (feature, ones) in BINARY.items() if binaries else ():
        columns[feature] = frame[name].isin(ones).to_numpy(dtype=float)
    features = pd.DataFrame(columns)
    exact = [feature for feature, _ in BINARY.values()] if binaries else []
    kept = features[exact].copy()
    features = add_noise(features, noise, list(features.columns[1:]), rng)
    if noise and noise_on == "all":
        return features
    features[exact] = kept
    return declare_categories(features, [[name] for name in exact])
