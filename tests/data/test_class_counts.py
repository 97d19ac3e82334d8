"""The first pass over a source, compared with NumPy on all rows, and the rows that it rejects."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hyplearn.data.arrays import ArrayPoints
from hyplearn.data.class_counts import count_classes
from hyplearn.data.labels import distinct
from support.balls import cloud

FEW_FLOATS = st.sampled_from([-1.0, 0.0, 1.0, 2.5])


@given(
    st.sampled_from("bBhHiIlL").flatmap(lambda kind: arrays.arrays(kind, st.integers(1, 20)))
    | st.sampled_from("fd").flatmap(lambda kind: arrays.arrays(kind, st.integers(1, 6), elements=FEW_FLOATS))
)
def test_numbers_are_encoded_like_numpy_unique(y):
    classes, codes = distinct(y)
    twin, places = np.unique(y, return_inverse=True)
    assert np.array_equal(classes, twin)
    assert classes.dtype == y.dtype
    assert np.array_equal(codes, places)


@pytest.mark.parametrize("labels", [["b", "a", "c"], [3, -1, 7], [True, False], [0.5, 1.5, 2.5]])
@pytest.mark.parametrize("size", [1, 10, 1000])
def test_classes_are_counted_and_weighed_whatever_the_blocks(labels, size):
    rng = np.random.default_rng(0)
    X, y, weights = cloud(rng, 100, 2, 1.0), rng.choice(labels, 100), rng.uniform(size=100)
    weights[y == y[0]] *= rng.uniform(size=np.sum(y == y[0])) > 0.5
    found = count_classes(ArrayPoints(X, y, weights).limited(block_rows=size), 1.0, 1)
    assert np.array_equal(found.classes, np.unique(y))
    assert found.n_rows == 100
    assert found.outside.describe(100, 1.0) == ""
    for k, label in enumerate(found.classes):
        own = weights[y == label]
        assert found.counts[k] == len(own)
        assert found.totals[k] == pytest.approx(own.sum())
        assert found.lowest[k] == own[own > 0].min()
        assert found.highest[k] == own.max()


def counted(X, y=None, weights=None, block_rows=None):
    y = np.zeros(len(X), dtype=int) if y is None else y
    return count_classes(ArrayPoints(X, y, weights, name="cells").limited(block_rows=block_rows), 1.0, 1)


def refused(*arguments, **options):
    with pytest.raises(ValueError) as caught:
        counted(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_invalid_row_is_reported_with_its_position_in_the_source(bad):
    X = np.full((50, 2), 0.1)
    X[33, 1] = bad
    assert refused(X, block_rows=10) == (
        f"cells holds NaN or infinite coordinates; the first is {bad} in row 33.\n"
        "Remove these rows, or impute the values."
    )


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_rows_outside_are_counted_and_the_farthest_is_reported_with_its_position(size):
    X = np.full((50, 2), 0.1)
    X[33], X[[7, 48]] = [0.8, 0.8], [[1.0, 0.0], [0.0, -1.1]]
    found = counted(X, block_rows=size)
    assert found.outside.n_outside == 3
    assert found.outside.gap == pytest.approx(1 - 2 * 0.8**2)
    assert found.outside.describe(50, 1.0) == (
        "3 of 50 points lie outside the open ball of curvature -1; the farthest is row 33 with norm 1.13137."
    )


@pytest.mark.parametrize("labels", [["a", 1], [1, 1, 1, "a"]])
@pytest.mark.parametrize("size", [1, 10])
def test_labels_of_several_types_are_rejected(labels, size):
    y = np.array(labels, dtype=object)
    assert "Labels must be of one type; got int, str." in refused(np.full((len(y), 2), 0.1), y, block_rows=size)


@pytest.mark.parametrize("size", [1, 10])
def test_a_missing_label_is_reported_with_its_position_in_the_source(size):
    y = np.array(["a", "b", "a", None], dtype=object)
    assert "missing; the first is in row 3: None." in refused(np.full((4, 2), 0.1), y, block_rows=size)


def test_weights_must_be_finite_and_not_negative():
    X = np.full((5, 2), 0.1)
    for bad in (-1.0, np.nan, np.inf):
        assert f"row 2 has {bad}." in refused(X, weights=np.array([1, 1, bad, 1, 1]))
