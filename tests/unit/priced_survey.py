"""A survey of prices and answers, and models of offers that are fitted to it and saved."""

import numpy as np
import pandas as pd
from counterweight.delivery.saved_offers import SavedOffers
from counterweight.labeling.encoding import fitted_encoder
from scipy.special import expit

QUICK = {"predictive_choice": {"components": 2, "n_init": 2}}
PRICE = {"low": 0.0, "high": 60.0, "direction": "down", "revenue": None, "column": "price"}


def survey(rows=600, seed=0):
    """Prices and answers: the north pays more; the old were only offered low prices."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, rows).astype(float)
    town = rng.choice(["north", "south", "west"], rows, p=[0.4, 0.4, 0.2]).astype(object)
    price = np.where(town == "north", rng.uniform(5, 55, rows), rng.uniform(5, 35, rows)).round(2)
    worth = 18 + 14 * (town == "north") + 0.1 * age
    bought = rng.random(rows) < expit((worth - price) / 4)
    age[rng.random(rows) < 0.05] = np.nan
    town[rng.random(rows) < 0.03] = None
    frame = pd.DataFrame({"customer": [f"C{i:05d}" for i in range(rows)]})
    return frame.assign(age=age, town=town, price=price, bought=np.where(bought, "yes", "no"))


def features_of(frame, least_rows=1):
    encoder = fitted_encoder(frame, drop=("customer", "price", "bought"), least_rows=least_rows)
    return encoder, encoder.transform(frame)


def saved_of(model, setting, frame=None, offer=PRICE, rivals=(), least_rows=1, **options):
    frame = survey() if frame is None else frame
    encoder, X = features_of(frame, least_rows)
    return SavedOffers.fitted(
        X,
        frame["price"].to_numpy(),
        (frame["bought"] == "yes").to_numpy(float),
        encoder,
        method={"model": model, "options": QUICK.get(model, {}) | options},
        setting=setting,
        offer=offer,
        rng=np.random.default_rng(1),
        facts={"id": "customer"},
        rivals=rivals,
    )
