"""Simulated admissions with financial aid: the setting of experiment 2 of Noor et al. (2014)."""

import numpy as np

from counterweight.datasets.generated.worlds import Worlds, answered

SIMULATED = True
ROWS = 29240
WORLD_ROWS = 3655
TITLE = "Simulated admissions with financial aid"
LICENCE = "made by this program"

#: Applicants of a world: three years to learn from, one to test on.
TRAIN, TEST = 2852, 803
FEATURES = ("AGE", "GPA", "GNI", "IRANK")
#: Share in a thousand; mean of AGE, GPA, GNI, IRANK; threshold and slope of the choice.
SEGMENTS = (
    (60, 24.0, 2.95, 2900.0, 5.5, 0.49, 9.0),
    (55, 26.5, 2.70, 1950.0, 3.6, 0.43, 7.0),
    (45, 29.0, 3.05, 6100.0, 6.8, 0.30, 6.0),
    (55, 23.5, 3.15, 1050.0, 6.2, 0.67, 11.0),
    (50, 32.5, 2.60, 3300.0, 2.9, 0.27, 5.0),
    (65, 27.0, 2.75, 1580.0, 1.5, 0.55, 4.0),
    (45, 25.0, 3.30, 5400.0, 4.9, 0.46, 8.0),
    (60, 26.0, 3.30, 3854.0, 8.5, 0.63, 5.0),
    (40, 35.0, 2.85, 2300.0, 5.0, 0.37, 10.0),
    (50, 25.5, 3.00, 4880.0, 7.9, 0.58, 13.0),
    (45, 28.0, 2.55, 7400.0, 4.2, 0.16, 6.0),
    (55, 30.5, 2.90, 1250.0, 4.0, 0.53, 8.0),
    (45, 23.0, 2.80, 4300.0, 2.6, 0.34, 9.0),
    (70, 24.5, 3.30, 1407.0, 8.4, 0.76, 15.0),
    (40, 33.0, 3.20, 4600.0, 6.0, 0.39, 5.0),
    (45, 27.5, 3.45, 2500.0, 7.2, 0.70, 9.0),
    (40, 37.5, 2.65, 1700.0, 2.4, 0.44, 6.0),
    (45, 22.5, 3.40, 7000.0, 8.0, 0.51, 12.0),
    (45, 29.5, 2.70, 950.0, 2.2, 0.65, 7.0),
    (45, 31.0, 3.10, 8700.0, 8.6, 0.33, 10.0),
)
#: Deviations of a segment: years, grade points, share of the mean income, rank.
SPREADS = (1.3, 0.13, 0.11, 0.45)
#: Slope of the choices of applicants without segments.
SMOOTH_SLOPE = 8.0
#: Noise on the aid of the two noisy policies, as a standard deviation.
NOISE = {"noisy": 0.10, "noisier": 0.25}


class Admissions(Worlds):
    """Applicants of 20 segments who were offered aid and enrolled or did not.

    The paper's data are private; these have its attributes (Table 8), numbers of rows,
    number of segments and magnitudes: about a quarter enrol, so about 202 of the 803
    applicants of the test year, and a revenue of about 141 tuitions when 1 minus the aid
    is kept. Its components 6, 8, 10 and 14 (Figure 4) are here with the printed means.

    An applicant belongs to one of `SEGMENTS`, and AGE (years), GPA (0 to 4), GNI (dollars)
    and IRANK (0 to 10) are independent normal given the segment, with the deviations of
    `SPREADS`; values beyond what is possible are moved to the bound (fewer than one in a
    thousand). The applicant accepts aid d, as a share of the tuition, with probability
    logistic(k (d - eta)) of the segment.

    The historical policy (``offer_policy``) is a function of x alone: it grows with
    merit (GPA, IRANK) and need (low GNI). Within a segment it hardly varies, so past answers
    say little of the slope there. ``offer_noisy`` and ``offer_noisier`` are the same policy
    with normal noise of deviation 0.10 and 0.25, folded back into [0, 1].

    A world has 3,655 rows, 2,852 to learn from and 803 to test on. Its columns are ``part``
    (``train`` or ``test``), ``AGE``, ``GPA``, ``GNI``, ``IRANK``, and by policy
    ``offer_policy``, ``answer_policy`` (1: enrolled), ``offer_noisy``, ``answer_noisy``,
    ``offer_noisier``, ``answer_noisier``.
    """

    SIZE, WHAT = TRAIN + TEST, "the simulated admissions"

    @staticmethod
    def mixture(world):
        """The true mixture and choices; see `segments.ThreeSegments.mixture`.

        All worlds have the same one. It is exact but for the bounds of GPA, GNI and IRANK.
        """
        table = np.array(SEGMENTS)
        means = table[:, 1:5]
        spread = np.tile(SPREADS, (len(means), 1))
        spread[:, 2] *= means[:, 2]
        return {
            "weights": table[:, 0] / table[:, 0].sum(),
            "means": means,
            "covariances": spread[:, :, None] ** 2 * np.eye(4),
            "eta": table[:, 5],
            "k": table[:, 6],
        }

    @classmethod
    def _world(cls, world, rng):
        mixture = cls.mixture(world)
        component, x, people, offers = applicants(mixture, cls.SIZE, rng)
        frame, truth = answered(mixture, component, offers, rng)
        return people | frame, truth


class SmoothAdmissions(Worlds):
    """The same applicants and aid, but thresholds that change smoothly, without segments.

    An applicant accepts aid d with probability logistic(`SMOOTH_SLOPE` (d - eta(x))), where eta is
    `smooth_threshold` of the attributes: who is better and better off needs more. No mixture of
    segments is this world; it shows what the choice model does where its form is wrong.

    Columns are those of `Admissions`; the truth has ``eta`` and ``k``, and no component.
    """

    SIZE, WHAT = TRAIN + TEST, "the simulated admissions"

    @classmethod
    def _world(cls, world, rng):
        _, x, people, offers = applicants(Admissions.mixture(world), cls.SIZE, rng)
        curves = {"eta": smooth_threshold(x), "k": np.full(cls.SIZE, SMOOTH_SLOPE)}
        frame, truth = answered(curves, np.arange(cls.SIZE), offers, rng)
        return people | frame, {name: truth[name] for name in ("eta", "k")}


def applicants(mixture, size, rng):
    """Segment, attributes (n, 4) and aid of applicants of a world, and their first columns."""
    component = rng.choice(len(SEGMENTS), size, p=mixture["weights"])
    spread = np.sqrt(np.diagonal(mixture["covariances"], axis1=1, axis2=2))
    x = rng.normal(mixture["means"][component], spread[component])
    x[:, 1] = x[:, 1].clip(0.0, 4.0)
    x[:, 2] = x[:, 2].clip(min=100.0)
    x[:, 3] = x[:, 3].clip(0.0, 10.0)
    offers = {"policy": aid(x)}
    for kind, width in NOISE.items():
        offers[kind] = folded(offers["policy"] + rng.normal(0.0, width, size))
    people = {"part": np.repeat(np.array(["train", "test"], dtype=object), [TRAIN, TEST])}
    return component, x, people | dict(zip(FEATURES, x.T, strict=True)), offers


def smooth_threshold(x):
    """Threshold (n,) of applicants without segments, by AGE, GPA, GNI and IRANK (n, 4).

    logistic(0.35 (GPA - 3) / 0.3 + 0.35 log10(GNI / 2800) / 0.3 + 0.2 (IRANK - 5) / 2.2 - 0.1).
    """
    better = (x[:, 1] - 3.0) / 0.3
    richer, ranked = np.log10(x[:, 2] / 2800) / 0.3, (x[:, 3] - 5.0) / 2.2
    return 1 / (1 + np.exp(0.1 - 0.35 * better - 0.35 * richer - 0.2 * ranked))


def aid(x):
    """Aid of the historical policy, as a share of the tuition.

    0.095 + 0.26 merit + 0.24 need, where merit is the mean of (GPA - 2.4) / 1.2 and IRANK / 10,
    and need is 1 - log(GNI / 800) / log(10); each part within [0, 1].

    Parameters
    ----------
    x : array (n, 4)
        AGE, GPA, GNI, IRANK. Age does not matter.

    Returns
    -------
    numpy.ndarray, shape (n,)
        Within [0.095, 0.595].
    """
    merit = (((x[:, 1] - 2.4) / 1.2).clip(0.0, 1.0) + x[:, 3] / 10) / 2
    need = (1 - np.log10(x[:, 2] / 800)).clip(0.0, 1.0)
    return 0.095 + 0.26 * merit + 0.24 * need


def folded(offers):
    """Offers beyond 0 or 1 reflected into [0, 1], so that neither bound gathers offers."""
    offers = np.abs(offers) % 2
    return np.minimum(offers, 2 - offers)
