"""Simulated offers and yes/no answers in independent worlds: segments of people, and admissions."""

import functools

import numpy as np
import pandas as pd
from scipy.special import expit

from counterweight.errors import CounterweightError
from counterweight.tables.study_data import generator

SIMULATED = True
ROWS = 29240
WORLD_ROWS = 3655
TITLE = "Simulated admissions with financial aid"
ROWS_BY_NAME = {"three_segments": 15000, "eighteen_segments": 45000}
WORLD_ROWS_BY_NAME = {"three_segments": 1500, "eighteen_segments": 9000}
TITLE_BY_NAME = {
    "three_segments": "Simulated offers, three segments",
    "eighteen_segments": "Simulated offers, 18 segments",
}
LICENCE = "made by this program"
#: What is known of the segments of a world: ``weights`` (J,), ``means`` (J, M), ``covariances``
#: (J, M, M), thresholds ``eta`` (J,) and slopes ``k`` (J,) for offers in [0, 1].
MIXTURE = ("weights", "means", "covariances", "eta", "k")


class Worlds:
    """Worlds of one ``SIZE``, each drawn from a stream of its own; ``WHAT`` names them.

    A subclass has ``_world(world, rng)``, the columns of a world and what is known of its rows (see
    `answered`), and describes the columns.
    """

    SIZE, WHAT = 0, ""

    @classmethod
    def simulate(cls, rows, rng):
        """Draw people, offers and answers; `rows` are whole worlds, fewer the first ones of more.

        The frame has ``row`` (int32 from 0), ``world`` (int16 from 0) and the columns that the
        class describes; the truth ``row``, ``world``, ``component`` (int16 from 0), ``eta``, ``k``,
        and more.
        """
        worlds, rest = divmod(rows, cls.SIZE)
        if rest or worlds < 1:
            raise CounterweightError(
                f"One world of {cls.WHAT} has {cls.SIZE} rows, so {rows} rows are not a number of "
                f"whole worlds: choose a multiple of {cls.SIZE}."
            )
        world = np.repeat(np.arange(worlds, dtype=np.int16), cls.SIZE)
        numbers = pd.DataFrame({"row": np.arange(rows, dtype=np.int32), "world": world})
        parts = [cls._world(world, part) for world, part in enumerate(rng.spawn(worlds))]
        return tuple(
            numbers.assign(**{name: np.concatenate([p[name] for p in table]) for name in table[0]})
            for table in zip(*parts, strict=True)
        )


def answered(mixture, component, offers, rng):
    """Offers, the answers to them, and what is known of the people.

    An offer d is accepted with probability logistic(k (d - eta)), ``eta`` and ``k`` (J,) of the
    mixture by `component` (n,). Of `offers` by kind the frame has ``offer_{kind}`` and
    ``answer_{kind}`` (int8, 1 for accepted), kind by kind; the truth ``component``, ``eta``, ``k``.
    """
    eta, k, frame = mixture["eta"][component], mixture["k"][component], {}
    for kind, offer in offers.items():
        accepted = rng.random(len(component)) < expit(k * (offer - eta))
        frame |= {f"offer_{kind}": offer, f"answer_{kind}": accepted.astype(np.int8)}
    return frame, {"component": component.astype(np.int16), "eta": eta, "k": k}


#: Points of a segment in a world.
POINTS = 500
#: Shares of acceptance that the columns ``answer_02`` ... are moved to.
SHARES = {"02": 0.02, "05": 0.05, "10": 0.10, "25": 0.25, "50": 0.50}

#: Table 3 of the paper: threshold and slope, for offers in [0, 1].
THREE = ((0.15, 8.0), (0.90, 15.0), (0.50, 5.0))
#: Means, standard deviations and correlations, chosen here (the paper prints none).
THREE_PLACES = (
    (-4.0, 3.5, 1.00, 0.80, 0.30),
    (0.0, 0.0, 1.10, 0.75, 0.50),
    (2.82, -0.40, 0.90, 1.00, -0.30),
)

#: Table 4 of the paper: threshold, slope and class of overlap.
EIGHTEEN = (
    (0.22, 5.0, "S"),
    (0.18, 11.0, "H"),
    (0.41, 7.0, "H"),
    (0.47, 14.0, "S"),
    (0.44, 10.0, "M"),
    (0.15, 13.0, "H"),
    (0.27, 15.0, "H"),
    (0.62, 5.0, "VS"),
    (0.75, 10.0, "S"),
    (0.50, 9.0, "VS"),
    (0.82, 8.0, "S"),
    (0.89, 16.0, "S"),
    (0.37, 13.0, "S"),
    (0.35, 6.0, "S"),
    (0.30, 10.0, "VS"),
    (0.71, 7.0, "VS"),
    (0.85, 6.0, "VS"),
    (0.60, 13.0, "VS"),
)
#: Bounds of the classes. The paper leaves gaps (4 to 5 %, ...), which no segment falls into.
OVERLAPS = {"VS": (0.0, 0.04), "S": (0.05, 0.15), "M": (0.16, 0.25), "H": (0.31, 0.40)}
#: Most overlap between segments of different groups (`_layout`).
APART = 0.035


class _Segments(Worlds):
    """Worlds of equally many points of each segment.

    The columns are the features ``x1`` and ``x2``, and by kind of offer ``offer_{kind}`` in
    [0, 1] and ``answer_{kind}`` (1 for accepted):

    - ``uniform``: the offer is drawn uniformly, whoever the person is;
    - ``biased``: density 0.1 + 0.9 Beta(4 m, 4 (1 - m)) at the offer, with
      m = 0.2 + 0.6 logistic(z), z the features' first principal direction of the true mixture
      in its standard deviations. The policy sees x alone and may make every offer to
      everybody: the setting of Theorem 1;
    - ``segment``: 0.05 + 0.9 eta, the same for all people of a segment. No segment gets two
      different offers, so the conditions of Theorem 1 do not hold and no data can tell
      threshold and slope apart.

    ``answer_02``, ``answer_05``, ``answer_10``, ``answer_25``, ``answer_50`` answer
    ``offer_uniform``, with all thresholds moved by one number so that this percentage of
    uniform offers is accepted on average; these are ``eta_02`` ... ``eta_50`` of the truth.
    Components come in the order of the paper's table.
    """

    WHAT = "these simulated segments"

    @classmethod
    def _world(cls, world, rng):
        mixture = cls.mixture(world)
        component = rng.permutation(np.repeat(np.arange(len(mixture["eta"])), POINTS))
        roots = np.linalg.cholesky(mixture["covariances"])
        noise = rng.standard_normal((cls.SIZE, 2))
        x = mixture["means"][component] + np.einsum("nij,nj->ni", roots[component], noise)

        between = np.cov(mixture["means"].T, bias=True) + mixture["covariances"].mean(axis=0)
        values, directions = np.linalg.eigh(between)
        direction = directions[:, -1] * np.sign(directions[np.abs(directions[:, -1]).argmax(), -1])
        score = (x - mixture["means"].mean(axis=0)) @ direction / np.sqrt(values[-1])
        offers = {
            "uniform": rng.random(cls.SIZE),
            "biased": offers_biased_in_x(score, rng),
            "segment": 0.05 + 0.9 * mixture["eta"][component],
        }
        frame, truth = answered(mixture, component, offers, rng)
        for name, move in shifts(mixture["eta"], mixture["k"]).items():
            truth[f"eta_{name}"] = truth["eta"] + move
            acceptance = expit(truth["k"] * (offers["uniform"] - truth["eta"] - move))
            frame[f"answer_{name}"] = (rng.random(cls.SIZE) < acceptance).astype(np.int8)
        return {"x1": x[:, 0], "x2": x[:, 1]} | frame, truth


class ThreeSegments(_Segments):
    """Ten worlds of three Gaussian segments, 500 points each, with the choices of Table 3.

    The paper gives neither means nor covariances. Those of `THREE_PLACES` make the true
    mixture assign 6 to 8 % of the points of the second and of the third segment to another
    one, and hardly any of the first; by `overlaps` the two are of the class "highly"
    (31 to 40 %) and the first "very small", as printed. All worlds are draws from the same mixture.
    """

    SIZE = POINTS * len(THREE)

    @staticmethod
    def mixture(world):
        """The true mixture and choices (`MIXTURE`), the same in every world."""
        m1, m2, s1, s2, r = np.array(THREE_PLACES).T
        covariances = np.array([[s1**2, r * s1 * s2], [r * s1 * s2, s2**2]]).transpose(2, 0, 1)
        parts = np.full(3, 1 / 3), np.column_stack([m1, m2]), covariances, *np.array(THREE).T
        return dict(zip(MIXTURE, parts, strict=True))


class EighteenSegments(_Segments):
    """Five worlds of 18 Gaussian segments, 500 points each, with the choices of Table 4.

    The paper gives neither means nor covariances, only a class of overlap for each segment, and
    not how it measured. Here it is the segment's largest Bhattacharyya coefficient with another
    (`overlaps`), which agrees where that can be checked: two equal Gaussians of which 6 to 8 % are
    misclassified have a coefficient of 0.31 to 0.37, and the paper calls such segments highly
    overlapping. Each world has a layout of its own (`mixture`): highly overlapping segments in
    pairs, one of them with the moderately overlapping segment at its other side, those of small
    overlap in two pairs and a chain of three, and six by themselves; partners, shapes, directions
    and the overlaps within their class are drawn, and the groups packed together as closely as a
    coefficient of at most 0.035 between groups allows.
    """

    SIZE = POINTS * len(EIGHTEEN)

    @staticmethod
    def mixture(world):
        """The true mixture and choices of a world, by its number alone; see `MIXTURE`."""
        means, covariances = _layout(int(world))
        curves = np.array([choice[:2] for choice in EIGHTEEN]).T
        parts = np.full(18, 1 / 18), means.copy(), covariances.copy(), *curves
        return dict(zip(MIXTURE, parts, strict=True))


def bhattacharyya(mean, covariance, means, covariances):
    """Bhattacharyya coefficients (J,) of one Gaussian with others: 1 for equal ones, 0 far apart.

    The integral of the square root of the product of both densities (Bhattacharyya 1943).
    """
    middle = (covariance + covariances) / 2
    gap = np.asarray(means) - mean
    distance = np.einsum("ji,ji->j", gap, np.linalg.solve(middle, gap[..., None])[..., 0]) / 8
    sizes = np.linalg.slogdet(covariances)[1] + np.linalg.slogdet(covariance)[1]
    return np.exp(-distance - np.linalg.slogdet(middle)[1] / 2 + sizes / 4)


def overlaps(means, covariances):
    """The largest Bhattacharyya coefficient (J,) of each segment with another one."""
    pairs = np.array(
        [bhattacharyya(m, c, means, covariances) for m, c in zip(means, covariances, strict=True)]
    )
    np.fill_diagonal(pairs, 0.0)
    return pairs.max(axis=1)


def shifts(eta, k):
    """What to add to all thresholds for each share of `SHARES`, by its name."""
    from scipy.optimize import brentq

    def beyond(move, share):
        """Mean acceptance of an offer that is uniform on [0, 1], less the share."""
        low, high = -k * (eta + move), k * (1 - (eta + move))
        return np.mean((np.logaddexp(0, high) - np.logaddexp(0, low)) / k) - share

    return {name: brentq(beyond, -3.0, 3.0, args=(share,)) for name, share in SHARES.items()}


def offers_biased_in_x(score, rng):
    """Offers (n,) by a policy of x that may make every offer, higher by `score`."""
    middle = 0.2 + 0.6 * expit(score)
    uniform = rng.random(len(score))
    return np.where(rng.random(len(score)) < 0.1, uniform, rng.beta(4 * middle, 4 * (1 - middle)))


@functools.lru_cache(None)
def _layout(world):
    """Means and covariances of the 18 segments of a world, to three decimals."""
    rng = generator(0, "eighteen_segments", world, "layout")
    sizes = np.exp(rng.uniform(np.log(0.6), np.log(1.2), (18, 2)))
    turn = rng.uniform(0, np.pi, 18)
    axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    axes = axes.transpose(2, 0, 1)
    covariances = np.round(axes @ (sizes[:, :, None] ** 2 * axes.transpose(0, 2, 1)), 3)
    means, placed = np.zeros((18, 2)), []
    of_class = {name: [j for j in range(18) if EIGHTEEN[j][2] == name] for name in OVERLAPS}
    for members in of_class.values():
        rng.shuffle(members)
    high, small = of_class["H"], of_class["S"]
    chains = [[*high[:2], *of_class["M"]], high[2:], small[:2], small[2:4], small[4:]]
    chains += [[single] for single in of_class["VS"]]
    for number in rng.permutation(len(chains)):
        chain, heading = chains[number], rng.uniform(0, 2 * np.pi)
        for before, after in zip(chain[:-1], chain[1:], strict=True):
            low, high_bound = OVERLAPS[EIGHTEEN[after][2]]
            wanted = rng.uniform(low + 0.01, high_bound - 0.01)
            step = _distance(covariances[before], covariances[after], heading, wanted)
            means[after] = means[before] + step
            heading += rng.uniform(-0.6, 0.6)
        means[chain] -= means[chain].mean(axis=0)
        if placed:
            means[chain] += _free_place(means, covariances, chain, placed, rng)
        placed += chain
    return np.round(means - means.mean(axis=0), 3), covariances


def _distance(first, second, heading, wanted):
    """Step between two Gaussians with the wanted Bhattacharyya coefficient."""
    direction = np.array([np.cos(heading), np.sin(heading)])
    middle = (first + second) / 2
    at_zero = bhattacharyya(np.zeros(2), first, np.zeros((1, 2)), second[None])[0]
    square = direction @ np.linalg.solve(middle, direction) / 8
    return direction * np.sqrt(np.log(at_zero / wanted) / square)


def _free_place(means, covariances, chain, placed, rng):
    """The place for a group nearest the middle, of 24 directions, that is far enough away."""
    angles = rng.uniform(0, 2 * np.pi, 24)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    steps = (np.arange(400) * 0.1)[None, :, None] * directions[:, None]
    free, here = np.ones(steps.shape[:2], bool), np.zeros(2)
    for j in chain:
        for other in placed:
            middle = (covariances[j] + covariances[other]) / 2
            gap = means[j] - means[other] + steps
            distance = np.einsum("...i,ij,...j->...", gap, np.linalg.inv(middle), gap) / 8
            most = bhattacharyya(here, covariances[j], here[None], covariances[[other]])
            free &= np.exp(-distance) * most[0] <= APART
    first = np.where(free.any(axis=1), free.argmax(axis=1), free.shape[1])
    best = int(first.argmin())
    return steps[best, first[best]]


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
    logistic(k (d - eta)) of the segment. The historical policy (``offer_policy``) is a function of
    x alone: it grows with merit (GPA, IRANK) and need (low GNI). Within a segment it hardly varies,
    so past answers say little of the slope there. ``offer_noisy`` and ``offer_noisier`` are the
    same policy with normal noise of deviation 0.10 and 0.25, folded back into [0, 1].

    A world has 3,655 rows, 2,852 to learn from and 803 to test on (``part``). Its columns are
    ``part``, ``AGE``, ``GPA``, ``GNI``, ``IRANK``, and by policy ``offer_policy``,
    ``answer_policy`` (1: enrolled) and the same with ``noisy`` and ``noisier``.
    """

    SIZE, WHAT = TRAIN + TEST, "the simulated admissions"

    @staticmethod
    def mixture(world):
        """The true mixture and choices (`MIXTURE`) of all worlds, exact but for the bounds."""
        table = np.array(SEGMENTS)
        means, weights = table[:, 1:5], table[:, 0] / table[:, 0].sum()
        spread = np.tile(SPREADS, (len(means), 1))
        spread[:, 2] *= means[:, 2]
        parts = weights, means, spread[:, :, None] ** 2 * np.eye(4), table[:, 5], table[:, 6]
        return dict(zip(MIXTURE, parts, strict=True))

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
    """Aid (n,) of the historical policy, as a share of the tuition, within [0.095, 0.595].

    0.095 + 0.26 merit + 0.24 need, where merit is the mean of (GPA - 2.4) / 1.2 and IRANK / 10, and
    need is 1 - log(GNI / 800) / log(10), each part within [0, 1]; `x` (n, 4) has AGE, GPA, GNI,
    IRANK, and age does not matter.
    """
    merit = (((x[:, 1] - 2.4) / 1.2).clip(0.0, 1.0) + x[:, 3] / 10) / 2
    need = (1 - np.log10(x[:, 2] / 800)).clip(0.0, 1.0)
    return 0.095 + 0.26 * merit + 0.24 * need


def folded(offers):
    """Offers beyond 0 or 1 reflected into [0, 1], so that neither bound gathers offers."""
    offers = np.abs(offers) % 2
    return np.minimum(offers, 2 - offers)
