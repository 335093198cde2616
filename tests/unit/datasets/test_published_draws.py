"""What twins are drawn with: shares of categories, and what somebody pays who is asked twice."""

import numpy as np
from counterweight.datasets.published import asked_twice, by_name, drawn, named, numbers
from scipy.special import expit


def test_categories_have_their_shares_in_each_group():
    rng = np.random.default_rng(0)
    shares, group = np.array([[1.0, 3.0, 0.0], [2.0, 0.0, 0.0]]), np.repeat([0, 1], 20_000)
    found = drawn(shares, group, rng)
    assert set(found[:20_000]) == {0, 1} and set(found[20_000:]) == {0}
    assert abs((found[:20_000] == 1).mean() - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 20_000)
    again = drawn([1.0, 3.0], 20_000, np.random.default_rng(0))
    assert (
        again.tolist() == drawn(shares[:1, :2], group[:20_000], np.random.default_rng(0)).tolist()
    )


def test_a_draw_at_an_edge_is_of_the_next_category():
    class Edges:
        def random(self, size):
            return np.array([0.0, 0.25, 0.5])[:size]

    assert drawn([1.0, 1.0, 2.0], 3, Edges()).tolist() == [0, 1, 2]


def test_texts_of_numbers_are_tables_and_names():
    assert numbers("\n 1 2.5\n -3 4 \n").tolist() == [[1.0, 2.5], [-3.0, 4.0]]
    assert by_name("a 0.5\n b-c 2") == {"a": 0.5, "b-c": 2.0}
    assert named({"x": 1, "y": 2}, np.array([True, False])).tolist() == ["y", "x"]


def test_who_is_asked_twice_answers_by_one_worth():
    designs = ((10, 30, 5), (20, 60, 8))
    component, n = np.repeat([0, 1], 20_000), 40_000
    eta, k = np.array([12.0, 40.0]), np.array([0.1, 0.05])
    bids, yes, again, truth = asked_twice(component, eta, k, designs, np.random.default_rng(1))
    first, high, low = bids
    assert {tuple(design) for design in bids.T[:100]} == set(designs)
    assert abs((first == 10).mean() - 0.5) < 4 * np.sqrt(0.25 / n)
    np.testing.assert_array_equal(yes, truth["worth"] >= first)
    np.testing.assert_array_equal(again, truth["worth"] >= np.where(yes, high, low))
    np.testing.assert_allclose(truth["p"], expit(k[component] * (eta[component] - first)))
    for part in (component == 0, component == 1):
        # Logistic: the mean is eta, the deviation pi / (k sqrt 3).
        spread = np.pi / np.sqrt(3) / k[component][part][0]
        assert abs(truth["worth"][part].mean() - eta[component][part][0]) < 4 * spread / 141
        assert abs(truth["worth"][part].std() / spread - 1) < 0.05
        assert abs(yes[part].mean() - truth["p"][part].mean()) < 0.02
