"""Reference points between hulls, and whether classes are separable."""

import numpy as np
import pytest

from hyplearn.data.class_counts import count_classes
from hyplearn.data.training import Encoder, TrainingData
from hyplearn.geometry import (
    closest_points,
    closest_vertices,
    distance,
    frechet_mean,
    graham_scan,
    midpoint,
    signed_distance,
    translate,
)
from hyplearn.reference import hulls, reference_point, separable
from support.sources import in_blocks
from support.two_classes import apart, overlapping


@pytest.mark.parametrize("d", [2, 10])
def test_classes_on_two_sides_of_a_hyperplane_are_separated_by_the_one_returned(d):
    X, y = apart(n=2000, d=d)
    found = separable(X, y)
    assert found.separable
    assert found.witness is None
    margins = y * signed_distance(X, *found.hyperplane)
    assert margins.min() == pytest.approx(found.margin, rel=1e-6)
    assert found.margin >= found.lower_bound / 2 * (1 - 1e-9)
    assert 0 < found.lower_bound <= found.distance


@pytest.mark.parametrize("n", [300, 30_000])
def test_the_witness_of_overlapping_classes_lies_in_both_hulls(n):
    X, y = overlapping(n=n)
    found = separable(X, y)
    assert not found.separable
    assert found.hyperplane is None
    assert found.margin == found.lower_bound == 0
    for label in (-1, 1):
        assert closest_points(X[y == label], [found.witness]).distance < 1e-9


def test_many_rows_are_separated_and_not_only_a_sample_of_them():
    X, y = apart(n=30_000)
    found = separable(X, y)
    assert found.separable
    assert np.all(y * signed_distance(X, *found.hyperplane) > 0)


def test_one_row_on_the_wrong_side_makes_classes_inseparable():
    """The second row of its class is not in any evenly spaced sample."""
    X, y = apart(n=30_000)
    X[np.flatnonzero(y < 0)[1]] = frechet_mean(X[y > 0])
    assert not separable(X, y).separable


@pytest.mark.parametrize("rows", [37, 1000])
@pytest.mark.parametrize("sample", [20, 400])
def test_classes_in_blocks_are_separated_from_a_sample_of_any_size(rows, sample):
    X, y = apart(n=3000)
    points = in_blocks(X, y, rows=rows)
    encoder = Encoder(np.array([-1.0, 1.0]), np.ones(2), 1.0)
    data = TrainingData.counted(points, count_classes(points, 1.0, 1), encoder, 1)
    found, due = hulls.separation(data, np.array([0, 1]), sample=sample), separable(X, y)
    assert found.separable
    assert np.min(y * signed_distance(X, *found.hyperplane)) == pytest.approx(found.margin, rel=1e-6)
    assert found.margin == pytest.approx(due.margin, rel=1e-9)
    assert distance(found.hyperplane[1], due.hyperplane[1]) < 1e-9


def test_touching_hulls_are_not_strictly_separable():
    found = separable([[-0.5, 0.0], [0.0, 0.0], [0.0, 0.0], [0.5, 0.0]], [0, 0, 1, 1])
    assert not found.separable
    assert np.allclose(found.witness, 0, atol=1e-9)


def test_a_hyperplane_that_misses_a_row_is_not_called_separating(monkeypatch):
    """The certificate is not trusted alone: the hyperplane is checked on every row."""
    X, y = apart()
    true = closest_points(X[y < 0], X[y > 0])
    monkeypatch.setattr(hulls, "closest_points", lambda X_a, X_b, c, **_: closest_points(X_a[:3], X_b[:3], c=c))
    found = separable(X, y)
    assert true.lower_bound > 0
    assert not found.separable
    assert found.hyperplane is None


def test_separation_needs_exactly_two_classes():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"exactly 2 classes; y has 3: 0, 1, 2\."):
        separable(X, [0, 1, 2])
    with pytest.raises(ValueError, match="exactly 2 classes; y has 1"):
        separable(X, ["a", "a", "a"])
    with pytest.raises(ValueError, match=r"one label for each of the 3 rows of X; got shape \(2,\)"):
        separable(X, [0, 1])


def test_hull_is_the_midpoint_of_the_closest_vertices():
    X, y = apart()
    V_a, V_b = (X[y == label][graham_scan(X[y == label])] for label in (-1, 1))
    i, j = closest_vertices(V_a, V_b)
    assert distance(reference_point("hull", X, y, None, 1.0), midpoint(V_a[i], V_b[j])) < 1e-12


def test_hulls_need_few_dimensions():
    X, y = apart(d=6)
    with pytest.raises(ValueError, match="up to 5 dimensions; X has 6"):
        reference_point("hull", X, y, None, 1.0)


@pytest.mark.parametrize("name", ["closest", "boundary"])
def test_separable_classes_have_the_midpoint_of_their_hulls_closest_points(name):
    X, y = apart()
    pair = closest_points(X[y < 0], X[y > 0], tol=1e-12)
    assert distance(reference_point(name, X, y, None, 1.0), midpoint(pair.a, pair.b)) < 1e-11


def test_closest_is_the_witness_where_hulls_meet():
    X, y = overlapping()
    # Rows are sorted for a reference point, so the last bits may differ.
    assert distance(reference_point("closest", X, y, None, 1.0), separable(X, y).witness) < 1e-11


def test_closest_moves_with_points_that_are_apart():
    """Only separable classes are tested: if hulls meet, the choice of the common point is arbitrary."""
    X, y = apart()
    a = np.array([0.4, -0.5])
    moved = reference_point("closest", translate(X, a), y, None, 1.0)
    assert distance(moved, translate(reference_point("closest", X, y, None, 1.0), a)) < 1e-6
