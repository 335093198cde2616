"""Simulated offers to people of known segments, in the plane: Noor et al. (2014), experiment 1."""

import functools

import numpy as np
from scipy.special import expit

from counterweight.datasets.generated.worlds import Worlds, answered
from counterweight.files.seeds import generator

SIMULATED = True
ROWS_BY_NAME = {"three_segments": 15000, "eighteen_segments": 45000}
WORLD_ROWS_BY_NAME = {"three_segments": 1500, "eighteen_segments": 9000}
TITLE_BY_NAME = {
    "three_segments": "Simulated offers, three segments",
    "eighteen_segments": "Simulated offers, 18 segments",
}
LICENCE = "made by this program"

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
    (31 to 40 %) and the first "very small", as printed. All worlds are draws from the same
    mixture.
    """

    SIZE = POINTS * len(THREE)

    @staticmethod
    def mixture(world):
        """The true mixture and choices of a world.

        Parameters
        ----------
        world : int
            From 0. It does not matter here.

        Returns
        -------
        dict of str to numpy.ndarray
            ``weights`` (J,), ``means`` (J, M), ``covariances`` (J, M, M), ``eta`` (J,),
            ``k`` (J,), for offers in [0, 1].
        """
        m1, m2, s1, s2, r = np.array(THREE_PLACES).T
        covariances = np.array([[s1**2, r * s1 * s2], [r * s1 * s2, s2**2]]).transpose(2, 0, 1)
        eta, k = np.array(THREE).T
        return {
            "weights": np.full(3, 1 / 3),
            "means": np.column_stack([m1, m2]),
            "covariances": covariances,
            "eta": eta,
            "k": k,
        }


class EighteenSegments(_Segments):
    """Five worlds of 18 Gaussian segments, 500 points each, with the choices of Table 4.

    The paper gives neither means nor covariances, only a class of overlap for each segment.
    Here a segment's overlap is its largest Bhattacharyya coefficient with another segment
    (`overlaps`). The paper does not say how it measured. This measure agrees with it where
    that can be checked: two equal Gaussians of which 6 to 8 % are misclassified have a
    coefficient of 0.31 to 0.37, and the paper calls such segments highly overlapping.

    Each world has a layout of its own (`mixture`): highly overlapping segments in pairs, one
    of them with the moderately overlapping segment at its other side, those of small overlap
    in two pairs and a chain of three, and six by themselves; partners, shapes, directions
    and the overlaps within their class are drawn, and the groups packed together as closely
    as a coefficient of at most 0.035 between groups allows.
    """

    SIZE = POINTS * len(EIGHTEEN)

    @staticmethod
    def mixture(world):
        """The true mixture and choices of a world; see `ThreeSegments.mixture`.

        It depends on the number of the world alone, not on the seed of the config.
        """
        means, covariances = _layout(int(world))
        eta, k = np.array([choice[:2] for choice in EIGHTEEN]).T
        return {
            "weights": np.full(18, 1 / 18),
            "means": means.copy(),
            "covariances": covariances.copy(),
            "eta": eta,
            "k": k,
        }


def bhattacharyya(mean, covariance, means, covariances):
    """Bhattacharyya coefficients of one Gaussian with others: 1 for equal ones, 0 far apart.

    The integral of the square root of the product of both densities (Bhattacharyya 1943).

    Parameters
    ----------
    mean : array (M,)
    covariance : array (M, M)
    means : array (J, M)
    covariances : array (J, M, M)

    Returns
    -------
    numpy.ndarray, shape (J,)
    """
    middle = (covariance + covariances) / 2
    gap = np.asarray(means) - mean
    distance = np.einsum("ji,ji->j", gap, np.linalg.solve(middle, gap[..., None])[..., 0]) / 8
    sizes = np.linalg.slogdet(covariances)[1] + np.linalg.slogdet(covariance)[1]
    return np.exp(-distance - np.linalg.slogdet(middle)[1] / 2 + sizes / 4)


def overlaps(means, covariances):
    """The largest Bhattacharyya coefficient of each segment with another one.

    Parameters
    ----------
    means : array (J, M)
    covariances : array (J, M, M)

    Returns
    -------
    numpy.ndarray, shape (J,)
    """
    pairs = np.array(
        [bhattacharyya(m, c, means, covariances) for m, c in zip(means, covariances, strict=True)]
    )
    np.fill_diagonal(pairs, 0.0)
    return pairs.max(axis=1)


def misclassified(mixture, points, component):
    """Share of the points of each segment that the true mixture assigns to another one.

    Parameters
    ----------
    mixture : dict
        From `ThreeSegments.mixture`.
    points : array (n, M)
    component : array (n,) of int
        The segment that drew each point.

    Returns
    -------
    numpy.ndarray, shape (J,)
    """
    logs = []
    for weight, mean, covariance in zip(
        mixture["weights"], mixture["means"], mixture["covariances"], strict=True
    ):
        root = np.linalg.cholesky(covariance)
        scaled = np.linalg.solve(root, (points - mean).T)
        logs.append(np.log(weight / np.diag(root).prod()) - (scaled**2).sum(axis=0) / 2)
    wrong = np.argmax(logs, axis=0) != component
    return np.bincount(component, wrong) / np.bincount(component)


def mean_acceptance(eta, k):
    """Acceptance of an offer that is uniform on [0, 1], averaged over segments of equal size."""
    return np.mean((np.logaddexp(0, k * (1 - eta)) - np.logaddexp(0, -k * eta)) / k)


def shifts(eta, k):
    """What to add to all thresholds for each share of `SHARES`, by its name."""
    from scipy.optimize import brentq

    return {
        name: brentq(lambda move, share=share: mean_acceptance(eta + move, k) - share, -3.0, 3.0)
        for name, share in SHARES.items()
    }


def offers_biased_in_x(score, rng):
    """Offers by a policy of x that may make every offer: see `_Segments`.

    Parameters
    ----------
    score : array (n,)
        The larger, the higher the offers.
    rng : numpy.random.Generator
    """
    middle = 0.2 + 0.6 * expit(score)
    uniform = rng.random(len(score))
    return np.where(rng.random(len(score)) < 0.1, uniform, rng.beta(4 * middle, 4 * (1 - middle)))


@functools.lru_cache(None)
def _layout(world):
    """Means and covariances of the 18 segments of a world, to three decimals."""
    rng = generator(0, "eighteen_segments", world, "layout")
    sizes = np.exp(rng.uniform(np.log(0.6), np.log(1.2), (18, 2)))
    turn = rng.uniform(0, np.pi, 18)
    axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]).transpose(
        2, 0, 1
    )
    covariances = np.round(axes @ (sizes[:, :, None] ** 2 * axes.transpose(0, 2, 1)), 3)
    means = np.zeros((18, 2))
    of_class = {name: [j for j in range(18) if EIGHTEEN[j][2] == name] for name in OVERLAPS}
    for members in of_class.values():
        rng.shuffle(members)
    high, small = of_class["H"], of_class["S"]
    chains = [
        [*high[:2], *of_class["M"]],
        high[2:],
        small[:2],
        small[2:4],
        small[4:],
        *([single] for single in of_class["VS"]),
    ]
    placed = []
    for number in rng.permutation(len(chains)):
        chain = chains[number]
        heading = rng.uniform(0, 2 * np.pi)
        for before, after in zip(chain[:-1], chain[1:], strict=True):
            low, high_bound = OVERLAPS[EIGHTEEN[after][2]]
            wanted = rng.uniform(low + 0.01, high_bound - 0.01)
            step = _distance(covariances[before], covariances[after], heading, wanted)
            means[after] = means[before] + step
            heading += rng.uniform(-0.6, 0.6)
        chain = np.array(chain)
        means[chain] -= means[chain].mean(axis=0)
        if placed:
            means[chain] += _free_place(means, covariances, chain, np.array(placed), rng)
        placed += chain.tolist()
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
    free = np.ones(steps.shape[:2], bool)
    for j in chain:
        for other in placed:
            middle = (covariances[j] + covariances[other]) / 2
            gap = means[j] - means[other] + steps
            distance = np.einsum("...i,ij,...j->...", gap, np.linalg.inv(middle), gap) / 8
            most = bhattacharyya(
                np.zeros(2), covariances[j], np.zeros((1, 2)), covariances[[other]]
            )
            free &= np.exp(-distance) * most[0] <= APART
    first = np.where(free.any(axis=1), free.argmax(axis=1), free.shape[1])
    best = int(first.argmin())
    return steps[best, first[best]]
