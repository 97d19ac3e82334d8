"""Points outside the ball: points of another model are recognised, and are not projected if they are the majority."""

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline

from hyplearn import ExpMap, PoincareLogisticRegression, PoincarePerceptron, PoincareSVC, TangentSpace
from hyplearn.embedding import from_hyperboloid
from hyplearn.geometry import ball_to_hyperboloid, distance
from support.balls import cloud

Y = np.arange(60) % 2


@pytest.fixture
def X():
    return cloud(np.random.default_rng(0), 60, 3, 1.0)


def refused(action):
    with pytest.raises(ValueError) as caught:
        action()
    return str(caught.value)


@pytest.mark.parametrize("outside", ["raise", "project"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("curvature", [-1.0, -0.25])
@pytest.mark.parametrize("time", ["first", "last"])
def test_points_of_a_hyperboloid_are_recognised(X, outside, dtype, curvature, time):
    rows = ball_to_hyperboloid(X).astype(dtype) / np.sqrt(-curvature)
    rows = np.roll(rows, -1, axis=1) if time == "last" else rows
    given = ("" if curvature == -1 else ", curvature=-0.25") + ("" if time == "first" else ', time="last"')
    told = refused(lambda: PoincareSVC(outside=outside).fit(rows, Y))
    assert told.endswith(
        f" The rows lie on the hyperboloid of curvature {curvature:g}, with the time coordinate {time}.\n"
        f"Convert them with hyplearn.embedding.from_hyperboloid(X{given})."
    )
    assert np.allclose(from_hyperboloid(rows, curvature=curvature, time=time), X, atol=1e-5)


def test_geometry_and_streams_recognise_a_hyperboloid_too(X):
    rows = ball_to_hyperboloid(X)
    assert "from_hyperboloid(X)" in refused(lambda: distance(rows, rows))
    assert "from_hyperboloid(X)" in refused(lambda: PoincarePerceptron().partial_fit(rows, Y, classes=[0, 1]))
    assert "from_hyperboloid(X)" in refused(lambda: TangentSpace().fit(rows))


def test_other_points_outside_are_not_taken_for_a_hyperboloid(X):
    told = refused(lambda: PoincareSVC().fit(3 * X / np.linalg.norm(X, axis=1, keepdims=True), Y))
    assert "hyperboloid" not in told
    assert "project" not in told  # which is an error if most points lie outside
    X[0] *= 3 / np.linalg.norm(X[0])
    assert 'pass outside="project"' in refused(lambda: PoincareSVC().fit(X, Y))


def test_projecting_most_of_an_embedding_is_an_error(X):
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    X[:30] = 1.5 * units[:30]
    with pytest.warns(DataConversionWarning, match="30 of 60 points lie outside"):
        model = PoincareSVC(outside="project").fit(X, Y)
    X[30] = 1.5 * units[30]
    assert refused(lambda: PoincareSVC(outside="project").fit(X, Y)).endswith(
        ' outside="project" is for embeddings with only a few points outside.\n'
        "Rescale the embedding, or set curvature to that of your embedding."
    )
    with pytest.warns(DataConversionWarning, match="1 of 1 points lies outside"):
        model.predict(X[:1])


def test_permutation_importance_shuffles_tangent_coordinates(X):
    """Shuffled ball coordinates may be outside the ball, but shuffled tangent coordinates are always valid."""
    y = (X[:, 0] > 0).astype(int)
    model = make_pipeline(ExpMap(), PoincareLogisticRegression()).fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() == 0
