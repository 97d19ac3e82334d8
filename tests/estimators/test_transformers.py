"""TangentSpace and ExpMap."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from hyplearn import ExpMap, TangentSpace
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import distance, frechet_mean, signed_distance
from hyplearn.tangent import frame_coordinates
from support.balls import at_gap, cloud


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@parametrize_with_checks([TangentSpace(outside="project"), TangentSpace("origin", outside="project"), ExpMap()])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture
def X():
    return cloud(np.random.default_rng(0), 60, 3, 1.0)


def test_tangent_space_learns_the_mean_and_gives_frame_coordinates(X):
    space = TangentSpace().fit(X)
    assert distance(space.reference_, frechet_mean(X)) < 1e-11
    assert np.array_equal(space.transform(X), frame_coordinates(X, space.reference_))


def test_tangent_space_is_inverted_by_inverse_transform(X):
    space = TangentSpace("means").fit(X, np.arange(60) % 3)
    assert np.allclose(space.inverse_transform(space.transform(X)), X, rtol=1e-9)
    assert space.get_feature_names_out().tolist() == ["tangentspace0", "tangentspace1", "tangentspace2"]


def test_weights_move_the_reference_point_as_copies_do(X):
    weights = np.arange(60) % 4
    weighted = TangentSpace().fit(X, sample_weight=weights).reference_
    assert distance(weighted, TangentSpace().fit(np.repeat(X, weights, axis=0)).reference_) < 1e-10


def test_a_linear_classifier_on_frame_coordinates_has_a_geodesic_boundary():
    X, y, p, _ = make_ball_classification(300, 3, margin=0.05, random_state=1)
    model = make_pipeline(TangentSpace(p), LogisticRegression(fit_intercept=False, C=100)).fit(X, y)
    w = model[-1].coef_[0]
    assert np.array_equal(model.predict(X), np.sign(signed_distance(X, w, p)))


@pytest.mark.parametrize("curvature", [-0.25, -4.0])
def test_curvature_only_rescales_the_ball(X, curvature):
    radius = 1 / np.sqrt(-curvature)
    scaled = TangentSpace(curvature=curvature).fit_transform(radius * X)
    assert np.allclose(scaled, radius * TangentSpace().fit_transform(X), rtol=1e-9, atol=1e-10)


def test_names_and_frames_are_kept(X):
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    out = TangentSpace().set_output(transform="pandas").fit_transform(table)
    assert list(out.columns) == ["tangentspace0", "tangentspace1", "tangentspace2"]
    assert TangentSpace().fit(table).feature_names_in_.tolist() == ["a", "b", "c"]


def test_float32_stays_float32(X):
    space = TangentSpace().fit(X.astype(np.float32))
    assert space.transform(X.astype(np.float32)).dtype == np.float32
    assert space.inverse_transform(X.astype(np.float32)).dtype == np.float32
    assert ExpMap().fit_transform(X.astype(np.float32)).dtype == np.float32


def test_points_outside_the_ball_are_named_in_the_error(X):
    bad = np.concatenate([X, [[1.0, 0.0, 0.0], [0.0, 3.0, 0.0]]])
    with pytest.raises(ValueError) as error:
        TangentSpace().fit(bad)
    assert str(error.value) == (
        "2 of 62 points lie outside the open ball of curvature -1; the farthest is row 61 with norm 3.\n"
        'Rescale the embedding, pass outside="project", or set curvature to that of your embedding.'
    )
    with pytest.raises(ValueError, match="2 of 62"):
        TangentSpace().fit(X).transform(bad)


def test_points_outside_the_ball_are_moved_and_counted_on_request(X):
    bad = np.concatenate([X, [[0.0, 3.0, 0.0]]])
    with pytest.warns(DataConversionWarning, match="1 of 61 points lies outside.*moved to the largest"):
        space = TangentSpace(outside="project").fit(bad)
    with pytest.warns(DataConversionWarning):
        far = space.transform(bad)[-1]
    assert 30 < np.linalg.norm(far) < 45


@pytest.mark.parametrize("curvature", [1.0, 0, 0.0, np.nan, -np.inf, "-1", None, True])
def test_curvature_must_be_negative(X, curvature):
    for estimator in (TangentSpace(curvature=curvature), ExpMap(curvature=curvature)):
        with pytest.raises(ValueError, match=r"curvature must be a negative finite number.*\n.*pass curvature=-1.0"):
            estimator.fit(X)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (np.zeros((0, 2)), ValueError, "0 sample"),
        (np.zeros(3), ValueError, "Expected 2D array"),
        (np.full((2, 2), np.nan), ValueError, "X holds NaN or infinite coordinates; the first is nan in row 0"),
        (np.full((2, 2), np.inf), ValueError, "X holds NaN or infinite coordinates; the first is inf in row 0"),
        (np.ones((2, 2)) * 1j, ValueError, "Complex data not supported"),
        (np.array([["a", "b"]]), ValueError, "could not convert|dtype"),
    ],
)
def test_bad_arrays_are_rejected(bad, error, message):
    with pytest.raises(error, match=message):
        TangentSpace().fit(bad)


def test_bad_options_are_rejected(X):
    with pytest.raises(ValueError, match='outside must be "raise" or "project"; got \'clip\''):
        TangentSpace(outside="clip").fit(X)
    with pytest.raises(ValueError, match=r"must have shape \(3,\)"):
        TangentSpace(reference=[0.0, 0.0]).fit(X)
    with pytest.raises(NotFittedError):
        TangentSpace().transform(X)
    with pytest.raises(ValueError, match="expecting 3 features"):
        TangentSpace().fit(X).transform(X[:, :2])


def test_an_array_as_reference_survives_cloning(X):
    p = at_gap(np.random.default_rng(1), 3, 0.5, 1.0)
    assert np.array_equal(clone(TangentSpace(p)).fit(X).reference_, p)


def test_exponential_map_places_rows_at_their_length(X):
    points = ExpMap(curvature=-0.5).fit_transform(X)
    assert np.allclose(distance(points, np.zeros(3), c=0.5), np.linalg.norm(X, axis=1), rtol=1e-12)
    assert np.allclose(ExpMap(curvature=-0.5).fit(X).inverse_transform(points), X, rtol=1e-12)


def test_rows_too_long_for_the_ball_are_counted():
    far = np.array([[100.0, 0.0], [1.0, 0.0]])
    with pytest.warns(DataConversionWarning, match="1 of 2 rows are longer than 37.4, .* centre in float64"):
        ExpMap().fit_transform(far)
    with pytest.warns(DataConversionWarning, match="longer than 17.3, .* centre in float32"):
        ExpMap().fit_transform(far.astype(np.float32))
