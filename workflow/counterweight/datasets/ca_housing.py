"""California Housing (1990 census block groups): file, typed table, twin."""

import numpy as np
from scipy.special import ndtr

from counterweight.datasets.published import Published, drawn, numbers, read_fields
from counterweight.tables.parquet import replacing

TITLE = "California Housing"
LICENCE = (
    "figshare deposit: CC BY 4.0 as reported (DOI 10.6084/m9.figshare.3829992.v2); "
    "StatLib original: no explicit licence"
)
ROWS = 6000
FILES = {"cal_housing.data": "a2b44dcc7e1c9091b43c4f458b25cbd1f7e8068d08edd26bc4703108d3fa6214"}
SOURCES = [
    {
        "url": "https://ndownloader.figshare.com/files/5976036",
        "sha256": "aaa5c9a6afe2225cc2aed2723682ae403280c4a3695a2ddda4ffb5d8215ea681",
        "members": {"cal_housing.data": "CaliforniaHousing/cal_housing.data"},
    },
    {
        "url": "https://www.dcc.fc.up.pt/~ltorgo/Regression/cal_housing.tgz",
        "members": {"cal_housing.data": "CaliforniaHousing/cal_housing.data"},
    },
]
COLUMNS = dict.fromkeys(
    (
        *("longitude", "latitude", "housingMedianAge", "totalRooms", "totalBedrooms"),
        *("population", "households", "medianIncome", "medianHouseValue"),
    ),
    "number",
)

# Latitude of places on the coast and on the eastern border, and their longitude (degrees).
COAST = (
    numbers("""
    32.5 -117.2   33.0 -117.35  33.6 -118.0   34.0 -118.6   34.3 -119.4   34.5 -120.5
    35.0 -120.75  36.0 -121.6   36.6 -121.98  37.0 -122.25  37.5 -122.55  38.0 -123.0
    38.3 -123.15  39.0 -123.8   40.0 -124.2   40.4 -124.4   41.0 -124.2   42.0 -124.3
""")
    .reshape(-1, 2)
    .T
)
BORDER = ((32.5, 34.5, 35.0, 39.0, 42.0), (-114.6, -114.3, -114.7, -119.9, -120.0))
#: The twin's coast is the strip of this many degrees of longitude along it.
STRIP = 0.4
#: Zones of the twin: share, and quantiles of latitude (0, 5, 25, 50, 75, 95, 100 %).
ZONES = {
    "north_coast": (0.140, (36.01, 36.62, 37.40, 37.66, 37.77, 40.78, 41.95)),
    "south_coast": (0.242, (32.54, 32.70, 33.06, 33.82, 33.99, 34.43, 36.0)),
    "north_inland": (0.288, (36.01, 36.52, 37.36, 37.88, 38.53, 39.76, 41.95)),
    "south_inland": (0.330, (32.61, 33.65, 33.91, 34.08, 34.18, 35.33, 36.0)),
}
# In each zone the logs of rooms, bedrooms/rooms, households/bedrooms, population/households
# and income (10,000 dollars) are normal: means by zone, one covariance for all.
MEANS = {
    "north_coast": (7.63, -1.59, -0.064, 0.94, 1.42),
    "south_coast": (7.62, -1.54, -0.052, 1.03, 1.27),
    "north_inland": (7.63, -1.59, -0.080, 1.02, 1.20),
    "south_inland": (7.63, -1.59, -0.076, 1.11, 1.23),
}
DEVIATIONS = (0.75, 0.24, 0.16, 0.26, 0.46)
CORRELATIONS = numbers("""
    1.0   -0.24 -0.05 -0.15 0.27
    -0.24 1.0   -0.14 -0.05 -0.72
    -0.05 -0.14 1.0   0.10  0.15
    -0.15 -0.05 0.10  1.0   -0.02
    0.27  -0.72 0.15  -0.02 1.0
""")
# Age (years, 1 to 52): mean and deviation of a normal density, and the extra share at 52.
AGES = {
    "north_coast": (34.0, 14.0, 0.15),
    "south_coast": (29.0, 12.5, 0.01),
    "north_inland": (26.5, 14.0, 0.04),
    "south_inland": (26.5, 13.5, 0.03),
}
# Log of the house value: normal around a line in those five logs and age; the zone shifts it.
SLOPES = (0.036, 0.68, 0.07, -0.32, 1.04)
AGE_SLOPE = 0.006
LEVELS = {"north_coast": 11.97, "south_coast": 11.85, "north_inland": 11.67, "south_inland": 11.69}
VALUE_DEVIATION = 0.36


class CaHousing(Published):
    """The California Housing data: house values of block groups, 1990."""

    NAME = "California Housing"

    @staticmethod
    def table(folder):
        """Typed table in file order; see `Published.read`.

        The nine official columns are float64: degrees, years, counts, income in 10,000 dollars,
        value in dollars.
        """
        return read_fields(folder / "cal_housing.data", COLUMNS)

    @staticmethod
    def twin(folder, rows, rng):
        """Write the file of a twin; see `Published.generate`.

        The model: each row belongs to one of four zones (north or south of latitude 36;
        within `STRIP` degrees of longitude of the coast, or inland). Given the zone, the
        place, the age, and five logs of the counts and the income are independent blocks,
        the logs jointly normal. The log of the house value is normal around a line in the
        logs and age, plus a level of the zone. So labels that are seen near the northern
        coast only are not missing at random given the columns without the place. Values
        are capped at 500001 dollars, as upstream.

        ``truth.parquet`` has ``row`` and, computed before values are rounded,
        ``p_positive``: the probability, given all columns but place and value, that the
        value is above the twin's median; ``p_north_coast``: the probability of that zone
        given the same columns (the rule `coastal` selects nearly this zone, not exactly:
        it measures from the westernmost house); and for other thresholds t the mixture
        itself, P(value <= t) = sum over zones z of p_z Phi((log t - m_z)/sd), as columns
        ``p_{zone}``, ``m_{zone}`` and ``sd``.
        """
        values, truth = _draw(rows, rng)
        with replacing(folder / "cal_housing.data") as temporary:
            np.savetxt(temporary, values, fmt="%f", delimiter=",")
        return truth


def _draw(rows, rng):
    """Values of a twin, shape (rows, 9), and its truth."""
    shares = np.array([share for share, _ in ZONES.values()])
    zone = drawn(shares, rows, rng)
    latitude, longitude = _places(zone, rng)

    factor = np.linalg.cholesky(CORRELATIONS) * np.array(DEVIATIONS)[:, None]
    means = np.array(list(MEANS.values()))
    logs = means[zone] + rng.standard_normal((rows, 5)) @ factor.T
    years = np.arange(1, 53)
    ages = np.array([_age_shares(years, *law) for law in AGES.values()])
    cumulated = np.cumsum(ages, axis=1)
    age = np.empty(rows, dtype=np.int64)
    for z in range(len(ZONES)):
        here = zone == z
        age[here] = 1 + np.searchsorted(cumulated[z, :-1], rng.random(here.sum()), side="right")

    line = logs @ np.array(SLOPES) + AGE_SLOPE * age
    levels = np.array(list(LEVELS.values()))
    value = np.exp(line + levels[zone] + VALUE_DEVIATION * rng.standard_normal(rows))
    value = np.where(value > 500000, 500001.0, np.maximum(np.rint(value / 100) * 100, 14999.0))

    # Bayes' rule over the zones; the covariance is common.
    posterior = np.empty((rows, len(ZONES)))
    for z in range(len(ZONES)):
        whitened = np.linalg.solve(factor, (logs - means[z]).T)
        density = np.exp(-0.5 * (whitened**2).sum(axis=0))
        posterior[:, z] = shares[z] * ages[z, age - 1] * density
    posterior /= posterior.sum(axis=1, keepdims=True)
    centres = line[:, None] + levels
    above = ndtr((centres - np.log(np.median(value))) / VALUE_DEVIATION)
    truth = {"p_positive": (posterior * above).sum(axis=1), "p_north_coast": posterior[:, 0]}
    for z, name in enumerate(ZONES):
        truth[f"p_{name}"] = posterior[:, z]
        truth[f"m_{name}"] = centres[:, z]
    truth["sd"] = np.full(rows, VALUE_DEVIATION)

    # Rooms, bedrooms, households and population: each a ratio to the one before it.
    sizes = np.cumprod(np.exp(logs[:, :4]), axis=1)[:, [0, 1, 3, 2]]
    counts = np.maximum(np.rint(sizes), 1.0)
    income = np.round(np.exp(logs[:, 4]).clip(0.4999, 15.0001), 4)
    return np.column_stack([longitude, latitude, age, counts, income, value]), truth


def _age_shares(years, mean, deviation, oldest):
    shares = np.exp(-(((years - mean) / deviation) ** 2) / 2)
    shares *= (1 - oldest) / shares.sum()
    shares[-1] += oldest
    return shares


def _places(zone, rng):
    """Latitude and longitude, to two decimals, on the right side of both bounds."""
    levels = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
    draws = rng.random(len(zone))
    latitude = np.empty(len(zone))
    for z, (_, quantiles) in enumerate(ZONES.values()):
        here = zone == z
        latitude[here] = np.interp(draws[here], levels, quantiles)
    latitude = latitude.round(2)
    coast = np.interp(latitude, *COAST)
    width = np.interp(latitude, *BORDER) - coast
    near = STRIP * rng.beta(2.2, 1.3, len(zone))
    inland = STRIP + 0.02 + rng.gamma(1.1, 0.75, len(zone))
    # Beyond the border: anywhere inland instead.
    anywhere = STRIP + 0.02 + (width - STRIP - 0.02) * rng.random(len(zone))
    inland = np.where(inland > width, anywhere, inland)
    offset = np.where(zone < 2, near, inland)
    # Rounding outward keeps a coastal place coastal.
    return latitude, np.where(
        zone < 2, np.floor((coast + offset) * 100), np.ceil((coast + offset) * 100)
    ) / 100
