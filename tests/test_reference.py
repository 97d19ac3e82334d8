"""Where the reference point comes from."""

import numpy as np
import pytest

from balls import cloud
from hyplearn.geometry import distance, frechet_mean, midpoint, translate
from hyplearn.reference import FARTHEST_SHIFT, STRATEGIES, reference_point


@pytest.fixture
def labelled():
    X = cloud(np.random.default_rng(0), 30, 2, 1.0)
    return X, np.repeat(["a", "b"], [25, 5])


def test_equally_heavy_classes_meet_midway_between_their_means(labelled):
    X, y = labelled
    weights = np.where(y == "a", 5.0, 25.0)
    between = midpoint(frechet_mean(X[y == "a"]), frechet_mean(X[y == "b"]))
    assert distance(reference_point("means", X, y, weights, 1.0), between) < 1e-10


@pytest.mark.parametrize("heavy", ["a", "b"])
def test_a_heavier_class_pushes_the_point_towards_the_other(labelled, heavy):
    X, y = labelled
    weights = np.where(y == "a", 5.0, 25.0) * np.where(y == heavy, 1.5, 1.0)
    centre = {label: frechet_mean(X[y == label]) for label in "ab"}
    between = midpoint(centre["a"], centre["b"])
    p = reference_point("means", X, y, weights, 1.0)
    spread = np.average([distance(x, centre[label]) ** 2 for x, label in zip(X, y, strict=True)], weights=weights) / 2
    assert distance(p, between) == pytest.approx(np.log(1.5) * spread / distance(centre["a"], centre["b"]), rel=1e-6)
    assert distance(p, centre[heavy]) > distance(between, centre[heavy])


def test_the_push_is_limited(labelled):
    X, y = labelled
    p = reference_point("means", X, y, np.where(y == "a", 1e9, 1.0), 1.0)
    between = midpoint(frechet_mean(X[y == "a"]), frechet_mean(X[y == "b"]))
    assert distance(p, between) == pytest.approx(FARTHEST_SHIFT, rel=1e-6)


def test_classes_with_one_mean_have_it_as_their_point():
    X = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]])
    assert np.allclose(reference_point("means", X, np.array([0, 0, 1, 1]), None, 1.0), 0, atol=1e-12)


@pytest.mark.parametrize("name", ["mean", "means"])
def test_weights_count_as_copies_and_zero_as_absence(labelled, name):
    X, y = labelled
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    copies = reference_point(name, np.repeat(X, weights, axis=0), np.repeat(y, weights), None, 1.0)
    assert distance(reference_point(name, X, y, weights.astype(float), 1.0), copies) < 1e-10


@pytest.mark.parametrize("name", ["mean", "means"])
def test_strategies_move_with_the_points(labelled, name):
    X, y = labelled
    a = np.array([0.4, -0.5])
    moved = reference_point(name, translate(X, a), y, None, 1.0)
    assert distance(moved, translate(reference_point(name, X, y, None, 1.0), a)) < 1e-9


def test_a_class_without_weight_does_not_count(labelled):
    X, y = labelled
    only_a = reference_point("means", X, y, (y == "a").astype(float), 1.0)
    assert distance(only_a, frechet_mean(X[y == "a"])) < 1e-10


def test_an_array_is_taken_as_it_is(labelled):
    X, y = labelled
    assert np.array_equal(reference_point([0.1, 0.2], X, y, None, 1.0), [0.1, 0.2])


def test_bad_references_are_refused(labelled):
    X, y = labelled
    with pytest.raises(ValueError, match="'centroid' is no known strategy"):
        reference_point("centroid", X, y, None, 1.0)
    with pytest.raises(ValueError, match=r"must have shape \(2,\).*got \(3,\)"):
        reference_point([0.0, 0.0, 0.0], X, y, None, 1.0)
    with pytest.raises(ValueError, match=r"the point has norm 1\.5"):
        reference_point([1.5, 0.0], X, y, None, 1.0)
    with pytest.raises(ValueError, match='"means" needs labels'):
        reference_point("means", X, None, None, 1.0)


def test_a_strategy_is_a_function_in_the_table(labelled, monkeypatch):
    X, y = labelled
    monkeypatch.setitem(STRATEGIES, "first", lambda X, y, weights, c: X[0])
    assert np.array_equal(reference_point("first", X, y, None, 1.0), X[0])
