"""Gradient descent on the ball."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hyplearn.embedding.descent import SMALLEST_GAP, Descent, descend
from hyplearn.embedding.mds import Scaling
from hyplearn.geometry import distance, frechet_mean, gap, log_map, pairwise_distance
from support.balls import cloud

ORIGIN = np.zeros(2)


def test_the_mean_of_points_is_found():
    points = cloud(np.random.default_rng(0), 20, 2, 1.0, 0.01)

    def half_squares(X):
        frame = 2 / gap(X)[:, None] * log_map(points, X[0])
        return float(np.sum(distance(points, X[0]) ** 2)) / 2, -frame.sum(axis=0, keepdims=True)

    reported = []
    found = descend(
        points[:1],
        half_squares,
        stiffness=20.0,
        tol=1e-14,
        max_iter=100,
        report=lambda step, value, gain: reported.append((step, value, gain)),
    )
    assert found.status == "converged"
    assert distance(found.X[0], frechet_mean(points)) < 1e-6
    assert [step for step, _, _ in reported] == list(range(1, len(found.values)))
    np.testing.assert_allclose([gain for _, _, gain in reported], -np.diff(found.values))


def outwards(X):
    """Function without a minimum, which decreases with the distance from the origin."""
    return float(np.sum(100 - distance(X, ORIGIN))), -X / np.linalg.norm(X, axis=1, keepdims=True)


def test_points_pulled_outwards_stay_where_floats_are_accurate_and_this_is_no_convergence():
    found = descend(np.array([[0.1, 0.2]]), outwards, stiffness=1.0, tol=1e-9, max_iter=200)
    assert found.status == "stalled"
    assert gap(found.X).min() > SMALLEST_GAP
    assert distance(found.X, ORIGIN).max() > 30


def test_a_descent_that_reaches_max_iter_warns():
    found = descend(np.array([[0.1, 0.2]]), outwards, stiffness=1.0, tol=1e-9, max_iter=3)
    assert found.status == "max_iter"
    assert len(found.values) == 4


def test_a_descent_to_an_exact_embedding_converges_although_the_line_search_fails():
    """The stress decreases by more than ``tol`` in every step until it is a rounding error."""
    for seed in range(10):
        D = pairwise_distance(cloud(np.random.default_rng(seed), 20, 2, 1.0, 0.01))
        _, _, found = Scaling(2, tol=1e-6).solve(D)
        assert found.values[-2] - found.values[-1] > 1e-6 * found.values[-1]
        assert found.values[-1] < 1e-20
        assert found.status == "converged"


def test_a_descent_that_stalls_warns():
    stalled = Descent(np.array([[0.0, 0.5]]), [2.0], "stalled")
    message = "The loss did not converge: after 0 steps, .* largest hyperbolic radius is 1.1;(.|\n)*\nRaise gamma."
    with pytest.warns(ConvergenceWarning, match=message):
        stalled.warn_if_not_converged("loss", 500, "Raise gamma.")
