"""Six numbers for each area of California Housing, as Smith & Elkan (2007) describe them."""

import numpy as np
import pandas as pd

from counterweight.fragments import Number
from counterweight.labeling.columns import add_noise, require

OPTIONS = {
    "noise": Number(0.25, "Half-width of the uniform noise on the median age; 0 for none.", minimum=0),
}  # fmt: skip

LOGGED = {
    "totalRooms": "log_rooms",
    "totalBedrooms": "log_bedrooms",
    "population": "log_population",
    "households": "log_households",
}


def ca_logged(frame, rng, *, outcome=None, noise=0.25):
    """Features of California Housing: income, age with noise, four logged counts.

    Longitude and latitude are left out: they decide who is labeled.

    Parameters
    ----------
    frame : pandas.DataFrame
        The prepared table.
    rng : numpy.random.Generator
    outcome : str, optional
        Not used: no outcome column is among the features.
    noise : float
        Half-width in years.

    Returns
    -------
    pandas.DataFrame
        ``row`` and 6 float columns.

    References
    ----------
    Smith & Elkan (2007), section 8.
    """
    require(frame, ["medianIncome", "housingMedianAge", *LOGGED], "features recipe ca_logged")
    columns = {
        "row": frame["row"].to_numpy(),
        "income": frame["medianIncome"].to_numpy(dtype=float),
        "age": frame["housingMedianAge"].to_numpy(dtype=float),
    }
    for name, feature in LOGGED.items():
        columns[feature] = np.log(frame[name].to_numpy(dtype=float))
    return add_noise(pd.DataFrame(columns), noise, ["age"], rng)
