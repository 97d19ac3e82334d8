"""Reference points between class means."""

import numpy as np
import pytest

from hyplearn.geometry import distance, frechet_mean, midpoint
from hyplearn.reference import reference_point
from hyplearn.reference.means import FARTHEST_SHIFT


def test_equally_heavy_classes_meet_midway_between_their_means(labelled):
    X, y = labelled
    weights = np.where(y == "a", 5.0, 25.0)
    between = midpoint(frechet_mean(X[y == "a"]), frechet_mean(X[y == "b"]))
    assert distance(reference_point("means", X, y, weights, 1.0), between) < 1e-10


@pytest.mark.parametrize("heavy", ["a", "b"])
def test_a_heavier_class_shifts_the_point_towards_the_other(labelled, heavy):
    X, y = labelled
    weights = np.where(y == "a", 5.0, 25.0) * np.where(y == heavy, 1.5, 1.0)
    centre = {label: frechet_mean(X[y == label]) for label in "ab"}
    between = midpoint(centre["a"], centre["b"])
    p = reference_point("means", X, y, weights, 1.0)
    spread = np.average([distance(x, centre[label]) ** 2 for x, label in zip(X, y, strict=True)], weights=weights) / 2
    assert distance(p, between) == pytest.approx(np.log(1.5) * spread / distance(centre["a"], centre["b"]), rel=1e-6)
    assert distance(p, centre[heavy]) > distance(between, centre[heavy])


def test_the_shift_towards_the_lighter_class_is_limited(labelled):
    X, y = labelled
    p = reference_point("means", X, y, np.where(y == "a", 1e9, 1.0), 1.0)
    between = midpoint(frechet_mean(X[y == "a"]), frechet_mean(X[y == "b"]))
    assert distance(p, between) == pytest.approx(FARTHEST_SHIFT, rel=1e-6)


def test_classes_with_one_mean_have_it_as_their_point():
    X = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]])
    assert np.allclose(reference_point("means", X, np.array([0, 0, 1, 1]), None, 1.0), 0, atol=1e-12)


def test_the_mean_of_slightly_more_rows_than_a_sample_is_exact():
    """The sample that Newton's method starts from is at most every other row."""
    rng = np.random.default_rng(0)
    X = 0.5 / np.sqrt(1000) * rng.standard_normal((5000, 1000))
    assert distance(reference_point("mean", X, np.arange(5000) % 2, None, 1.0), frechet_mean(X)) < 1e-6
