"""Simulated segments: overlaps near the printed ones, acceptance as the truth says."""

import numpy as np
import pytest
from counterweight.datasets import simulated_offers as segments
from counterweight.datasets.simulated_offers import (
    EIGHTEEN,
    OVERLAPS,
    EighteenSegments,
    ThreeSegments,
    bhattacharyya,
    overlaps,
    smooth_threshold,
)
from counterweight.errors import CounterweightError
from counterweight.plan.components import declared
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import multivariate_normal, norm

KINDS = ("uniform", "biased", "segment")
BOTH = [(ThreeSegments, 15000), (EighteenSegments, 45000)]


def misclassified(mixture, points, component):
    """Share (J,) of the points of each segment that the true mixture assigns to another one.

    `component` (n,) is the segment that drew each of the points (n, M).
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


@pytest.fixture(scope="module", params=BOTH, ids=["three", "eighteen"])
def drawn(request):
    dataset, rows = request.param
    return dataset, *dataset.simulate(rows, np.random.default_rng(3))


def points(mixture, each, rng):
    """Many points of each segment."""
    component = np.repeat(np.arange(len(mixture["eta"])), each)
    roots = np.linalg.cholesky(mixture["covariances"])[component]
    noise = rng.standard_normal((len(component), 2))
    return mixture["means"][component] + np.einsum("nij,nj->ni", roots, noise), component


def test_rows_worlds_and_columns(drawn):
    dataset, frame, truth = drawn
    components = len(dataset.mixture(0)["eta"])
    shares = [f"{name:02}" for name in (2, 5, 10, 25, 50)]
    answers = [f"{what}_{kind}" for kind in KINDS for what in ("offer", "answer")]
    assert list(frame) == [
        "row",
        "world",
        "x1",
        "x2",
        *answers,
        *(f"answer_{name}" for name in shares),
    ]
    assert list(truth) == [
        "row",
        "world",
        "component",
        "eta",
        "k",
        *(f"eta_{name}" for name in shares),
    ]
    assert frame["row"].tolist() == truth["row"].tolist() == list(range(len(frame)))
    sizes = truth.groupby(["world", "component"]).size()
    assert (sizes == 500).all()
    assert len(sizes) == components * (10 if components == 3 else 5)
    assert frame["row"].dtype == np.int32
    assert frame["world"].dtype == truth["component"].dtype == np.int16
    for name in [column for column in frame if column.startswith("answer")]:
        assert set(frame[name]) == {0, 1}
    first = truth["component"][: 2 * components].to_numpy()
    assert (np.diff(first) != 0).any(), "the order of the rows says nothing of the segment"


def test_the_default_rows_are_declared_and_others_are_whole_worlds():
    assert declared("dataset", "curved", "ROWS") == 5000
    assert segments.ROWS_BY_NAME == {"three_segments": 15000, "eighteen_segments": 45000}
    for rows in (0, 1499, 1501, -1500):
        with pytest.raises(CounterweightError, match="multiple of 1500"):
            ThreeSegments.simulate(rows, np.random.default_rng(1))
    with pytest.raises(CounterweightError, match="multiple of 9000"):
        EighteenSegments.simulate(1500, np.random.default_rng(1))


def test_fewer_worlds_are_the_first_of_more(drawn):
    dataset, frame, truth = drawn
    size = int((frame["world"] == 0).sum())
    fewer, known = dataset.simulate(2 * size, np.random.default_rng(3))
    assert fewer.equals(frame[: 2 * size])
    assert known.equals(truth[: 2 * size])


def test_truth_is_the_mixture_of_the_world(drawn):
    dataset, frame, truth = drawn
    for world in range(int(frame["world"].max()) + 1):
        mixture = dataset.mixture(world)
        mine = (frame["world"] == world).to_numpy()
        part, known = frame[mine], truth[mine]
        component = known["component"].to_numpy()
        np.testing.assert_array_equal(known["eta"], mixture["eta"][component])
        np.testing.assert_array_equal(known["k"], mixture["k"][component])
        x = part[["x1", "x2"]].to_numpy()
        for j in range(len(mixture["eta"])):
            here = x[component == j]
            scaled = np.linalg.solve(
                np.linalg.cholesky(mixture["covariances"][j]), (here - mixture["means"][j]).T
            )
            assert np.abs(scaled.mean(axis=1)).max() < 5 / np.sqrt(500)
            assert np.abs(np.cov(scaled) - np.eye(2)).max() < 5 * np.sqrt(2 / 500)


def test_answers_follow_the_offers_and_the_true_choices(drawn):
    _, frame, truth = drawn
    shares = {f"answer_{name}": (f"eta_{name}", "uniform") for name in segments.SHARES}
    plain = {f"answer_{kind}": ("eta", kind) for kind in KINDS}
    for answer, (eta, kind) in (plain | shares).items():
        p = expit(truth["k"] * (frame[f"offer_{kind}"] - truth[eta])).to_numpy()
        left = frame[answer].to_numpy() - p
        group = truth["component"].to_numpy() * 3 + np.searchsorted([0.3, 0.7], p)
        spread = np.sqrt(np.bincount(group, p * (1 - p)))
        assert (np.abs(np.bincount(group, left)) < 5 * spread + 1e-9).all()


def test_moved_thresholds_give_the_wanted_shares(drawn):
    dataset, frame, truth = drawn
    eta, k = dataset.mixture(0)["eta"], dataset.mixture(0)["k"]
    for name, share in segments.SHARES.items():
        moved = truth[f"eta_{name}"] - truth["eta"]
        assert np.ptp(moved) < 1e-12
        exact = np.mean(
            [
                quad(lambda d, e=e, s=s: expit(s * (d - e)), 0, 1)[0]
                for e, s in zip(eta + moved[0], k, strict=True)
            ]
        )
        assert exact == pytest.approx(share, abs=1e-9)
        error = np.sqrt(share * (1 - share) / len(frame))
        assert abs(frame[f"answer_{name}"].mean() - share) < 4 * error


def test_thresholds_without_segments_are_those_of_three_applicants_worked_out():
    """AGE, GPA, GNI and IRANK of the middle; then one of them moved by a unit of its own."""
    x = np.array([[22.0, 3.0, 2800.0, 5.0]] * 4)
    x[1, 1], x[2, 2], x[3, 3] = 3.3, 2800.0 * 10**0.3, 7.2
    np.testing.assert_allclose(logit(smooth_threshold(x)), [-0.1, 0.25, 0.25, 0.1])


def test_three_kinds_of_offers(drawn):
    _, frame, truth = drawn
    uniform, biased = frame["offer_uniform"], frame["offer_biased"]
    assert abs(uniform.mean() - 0.5) < 4 / np.sqrt(12 * len(frame))
    assert np.abs(np.corrcoef(uniform, frame["x1"])[0, 1]) < 4 / np.sqrt(len(frame))
    assert frame[[f"offer_{kind}" for kind in KINDS]].stack().between(0, 1).all()
    # The biased policy depends on x, not on the segment given x, and makes every offer.
    x = frame[["x1", "x2"]].to_numpy()
    first = x[(frame["world"] == 0).to_numpy()]
    offers = biased[: len(first)].to_numpy()
    beta = np.linalg.lstsq(np.column_stack([np.ones(len(first)), first]), offers, rcond=None)[0]
    fitted = beta[0] + first @ beta[1:]
    assert np.corrcoef(fitted, offers)[0, 1] > 0.3
    for third in np.array_split(np.argsort(fitted), 3):
        share = np.histogram(offers[third], np.linspace(0, 1, 11))[0] / len(third)
        assert (share > 0.005).all(), "every tenth of the offers has density 0.1 or more"
    # The policy of the segment never varies within one.
    by_segment = frame["offer_segment"].groupby([truth["world"], truth["component"]])
    assert (by_segment.nunique() == 1).all()
    np.testing.assert_allclose(frame["offer_segment"], 0.05 + 0.9 * truth["eta"], rtol=1e-15)


def test_bhattacharyya_is_the_integral_of_the_root_of_the_product():
    a, b = np.array([[1.0, 0.3], [0.3, 0.5]]), np.array([[0.4, -0.1], [-0.1, 1.2]])
    shift = np.array([0.7, -0.4])
    grid = np.stack(np.meshgrid(*[np.linspace(-9, 9, 721)] * 2), -1)
    root = np.sqrt(
        multivariate_normal([0, 0], a).pdf(grid) * multivariate_normal(shift, b).pdf(grid)
    )
    found = bhattacharyya(np.zeros(2), a, shift[None], b[None])[0]
    assert found == pytest.approx(root.sum() * (18 / 720) ** 2, abs=1e-6)
    assert bhattacharyya(shift, a, shift[None], a[None])[0] == pytest.approx(1.0, abs=1e-12)


def test_the_measure_agrees_with_the_paper_where_it_can_be_checked():
    """6 to 8 % misclassified between two equal Gaussians is a coefficient of 0.31 to 0.37."""
    distance = -2 * norm.ppf([0.06, 0.08])
    np.testing.assert_allclose(np.exp(-(distance**2) / 8), [0.2985, 0.3727], atol=1e-3)


def test_three_segments_overlap_as_asked():
    """6 to 8 % of the second and third are misclassified by the truth, hardly any of the first."""
    mixture = ThreeSegments.mixture(0)
    x, component = points(mixture, 200_000, np.random.default_rng(1))
    share = misclassified(mixture, x, component)
    assert share[0] < 0.002
    assert ((share[1:] > 0.062) & (share[1:] < 0.078)).all()
    found = overlaps(mixture["means"], mixture["covariances"])
    assert found[0] < 0.04
    assert ((found[1:] > 0.30) & (found[1:] < 0.40)).all()
    assert ThreeSegments.mixture(7)["means"].tolist() == mixture["means"].tolist()


def test_misclassified_shares_are_those_of_the_densities():
    mixture = ThreeSegments.mixture(0)
    x, component = points(mixture, 2000, np.random.default_rng(2))
    densities = [
        w * multivariate_normal(m, c).pdf(x)
        for w, m, c in zip(*(mixture[n] for n in ("weights", "means", "covariances")), strict=True)
    ]
    wrong = np.argmax(densities, axis=0) != component
    expected = [wrong[component == j].mean() for j in range(3)]
    np.testing.assert_allclose(misclassified(mixture, x, component), expected, atol=1e-12)


@pytest.mark.parametrize("world", range(5))
def test_eighteen_segments_overlap_as_printed(world):
    mixture = EighteenSegments.mixture(world)
    found = overlaps(mixture["means"], mixture["covariances"])
    for (_, _, printed), overlap in zip(EIGHTEEN, found, strict=True):
        low, high = OVERLAPS[printed]
        assert low <= overlap <= high
    assert (np.linalg.eigvalsh(mixture["covariances"]) > 0.2).all()
    x, component = points(mixture, 4000, np.random.default_rng(1))
    share = misclassified(mixture, x, component)
    printed = np.array([name for _, _, name in EIGHTEEN])
    means = [share[printed == name].mean() for name in ("VS", "S", "M", "H")]
    assert means == sorted(means)
    assert means[0] < 0.03
    assert 0.05 < means[3] < 0.12


def test_layouts_differ_by_world_and_are_the_same_each_time():
    layouts = [EighteenSegments.mixture(world) for world in range(5)]
    for a in range(5):
        for b in range(a):
            assert np.abs(layouts[a]["means"] - layouts[b]["means"]).max() > 1
        np.testing.assert_array_equal(layouts[a]["eta"], layouts[0]["eta"])
    layouts[0]["means"][:] = 0  # what a caller does to its copy stays there
    segments._layout.cache_clear()
    again = EighteenSegments.mixture(0)["means"]
    assert np.abs(again).max() > 1
    np.testing.assert_array_equal(again, np.round(again, 3))
    rounded = {"weights": 1 / 18, "eta": 0.22, "k": 5.0}
    for name, value in rounded.items():
        assert EighteenSegments.mixture(4)[name][0] == pytest.approx(value)
