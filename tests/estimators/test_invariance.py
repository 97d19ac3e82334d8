"""Methods that depend only on hyperbolic distances: isometries change nothing, and curvature only changes the unit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyplearn import HyperbolicKernelMap, PoincareKernelClassifier, PoincareKNeighborsClassifier
from hyplearn.geometry import rotate, translate
from support.balls import cloud, points

KERNELS = ("laplacian", "secant", "heat")
each = pytest.mark.parametrize("kernel", KERNELS)
seeds, dimensions = st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 7])
# Curvatures: powers of 4 scale coordinates exactly, the others with rounding errors.
curvatures = st.sampled_from([0.01, 0.25, 0.3, 4.0, 50.0])


def labelled(seed, d, n=90, classes=3):
    """Points of the unit ball in three overlapping classes, and further points."""
    rng = np.random.default_rng(seed)
    X, y = cloud(rng, n, d, 1.0, smallest_gap=0.02), np.arange(n) % classes
    X[y == 1] = translate(0.5 * X[y == 1], np.full(d, 0.4 / np.sqrt(d)))
    return X[: n // 3 * 2], y[: n // 3 * 2], X[n // 3 * 2 :]


@st.composite
def isometries(draw):
    """Strategy for a seed, a dimension, and an isometry of the ball: a rotation or reflection, then a translation."""
    seed, d = draw(seeds), draw(dimensions)
    a = draw(points(d=d, smallest_gap=0.05))
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    return seed, d, lambda X: translate(rotate(X, Q), a)


def models(curvature=-1.0):
    """Classifiers with fixed parameters, and with automatically chosen ones."""
    return (
        PoincareKernelClassifier(n_components=20, tol=1e-10, curvature=curvature),
        PoincareKernelClassifier("laplacian", scale=1.5, C=3.0, n_components=20, tol=1e-10, curvature=curvature),
        PoincareKNeighborsClassifier(5, curvature=curvature),
        PoincareKNeighborsClassifier(5, weights="distance", curvature=curvature),
    )


@each
@settings(max_examples=15, deadline=None)
@given(case=isometries())
def test_products_of_the_map_are_invariant_under_isometries(kernel, case):
    seed, d, move = case
    X, y, Q = labelled(seed, d)
    ours, moved = (HyperbolicKernelMap(kernel, n_components=20).fit(points, y) for points in (X, move(X)))
    assert moved.scale_ == pytest.approx(ours.scale_, rel=1e-9)
    R, S = ours.transform(Q), moved.transform(move(Q))
    assert np.allclose(R @ R.T, S @ S.T, atol=1e-8)


@settings(max_examples=8, deadline=None)
@given(case=isometries())
def test_predictions_are_invariant_under_isometries(case):
    seed, d, move = case
    X, y, Q = labelled(seed, d)
    for ours, moved in zip(models(), models(), strict=True):
        before, after = ours.fit(X, y).predict_proba(Q), moved.fit(move(X), y).predict_proba(move(Q))
        assert np.allclose(before, after, atol=1e-4)
        clear = np.diff(np.sort(before, axis=1)[:, -2:])[:, 0] > 1e-3
        assert np.array_equal(ours.predict(Q)[clear], moved.predict(move(Q))[clear])


@each
@settings(max_examples=10, deadline=None)
@given(seed=seeds, d=dimensions, c=curvatures)
def test_the_map_of_another_curvature_is_that_of_scaled_points(kernel, seed, d, c):
    X, y, Q = labelled(seed, d)
    ours = HyperbolicKernelMap(kernel, n_components=20).fit(X, y)
    scaled = HyperbolicKernelMap(kernel, n_components=20, curvature=-c).fit(X / np.sqrt(c), y)
    assert scaled.scale_ == pytest.approx(ours.scale_, rel=1e-9)
    R, S = ours.transform(Q), scaled.transform(Q / np.sqrt(c))
    assert np.allclose(R @ R.T, S @ S.T, atol=1e-8)


@settings(max_examples=8, deadline=None)
@given(seed=seeds, d=dimensions, c=curvatures)
def test_predictions_of_another_curvature_are_those_of_scaled_points(seed, d, c):
    X, y, Q = labelled(seed, d)
    for ours, scaled in zip(models(), models(-c), strict=True):
        before = ours.fit(X, y).predict_proba(Q)
        after = scaled.fit(X / np.sqrt(c), y).predict_proba(Q / np.sqrt(c))
        assert np.allclose(before, after, atol=1e-4)


@settings(max_examples=10, deadline=None)
@given(case=isometries(), c=curvatures)
def test_neighbours_are_invariant_and_distances_scale_with_the_radius_of_curvature(case, c):
    seed, d, move = case
    X, y, Q = labelled(seed, d)
    distances, rows = PoincareKNeighborsClassifier(4).fit(X, y).kneighbors(Q)
    moved = PoincareKNeighborsClassifier(4, curvature=-c).fit(move(X) / np.sqrt(c), y).kneighbors(move(Q) / np.sqrt(c))
    assert np.allclose(moved[0], distances / np.sqrt(c), rtol=1e-9)
    assert np.array_equal(moved[1], rows)
