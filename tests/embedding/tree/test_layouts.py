from decimal import Decimal

import numpy as np
import pytest

from hyplearn.embedding.tree.layouts import spherical_code, wedges
from hyplearn.embedding.tree.sources import RootedTree


def least_angle(code):
    products = code @ code.T
    np.fill_diagonal(products, -1)
    return np.degrees(np.arccos(np.clip(products.max(), -1, 1)))


@pytest.mark.parametrize("d", [2, 3, 5, 9])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 30, 100])
def test_points_lie_on_the_sphere(n, d):
    code = spherical_code(n, d)
    assert code.shape == (n, d)
    np.testing.assert_allclose(np.linalg.norm(code, axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_few_points_reach_the_largest_possible_distance(d):  # Rankin's bounds
    for n in range(2, d + 2):
        assert least_angle(spherical_code(n, d)) == pytest.approx(np.degrees(np.arccos(-1 / (n - 1))))
    assert least_angle(spherical_code(2 * d, d)) == pytest.approx(90)


# Smallest angles of the best known spherical codes on S², from N. J. A. Sloane's tables.
@pytest.mark.parametrize(("n", "best"), [(7, 77.87), (12, 63.43), (24, 43.69), (48, 30.77)])
def test_repelled_lattices_come_near_the_best_known_codes(n, best):
    assert 0.92 * best <= least_angle(spherical_code(n, 3)) <= best + 0.01


def test_long_lattices_keep_their_points_apart():
    # Upper bound on the smallest angle, from the densest possible packing of n equal caps.
    n = 2000
    ideal = np.degrees(np.sqrt(8 * np.pi / (np.sqrt(3) * n)))
    assert least_angle(spherical_code(n, 3)) > 0.8 * ideal


def test_the_points_of_edges_of_any_length_are_the_same_on_every_machine():
    """Mathematical libraries round the exponential differently; here it is the float nearest to the exact value."""
    tree = RootedTree.of(range(2), np.array([[0, 1]]), np.ones(1), None)
    for length in [1.0, *np.random.default_rng(0).uniform(0.01, 30, 200).tolist()]:
        growth = float(Decimal(length).exp())
        expected = [[0.0, 0.0], [(growth - 1) / (growth + 1), 0.0]]
        assert np.array_equal(wedges(tree, np.array([0.0, length])), expected)
