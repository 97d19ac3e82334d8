"""HyperbolicKernelMap: rows whose products are a kernel."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import hyplearn
from hyplearn import HyperbolicKernelMap
from hyplearn.geometry import translate
from hyplearn.kernels import heat_kernel, laplacian_kernel, secant_kernel
from support.balls import at_gap, cloud

KERNELS = {"laplacian": laplacian_kernel, "secant": secant_kernel, "heat": heat_kernel}
both = pytest.mark.parametrize("kernel", KERNELS)


@parametrize_with_checks([HyperbolicKernelMap(), HyperbolicKernelMap("heat")])
def test_scikit_learns_checks_pass_inside_the_ball(estimator, check, inside_the_ball):
    check(estimator)


@pytest.fixture
def X():
    return cloud(np.random.default_rng(0), 80, 3, 1.0, smallest_gap=1e-8)


@both
def test_as_many_components_as_rows_give_the_exact_kernel(kernel, X):
    model = HyperbolicKernelMap(kernel, scale=0.8, n_components=80).fit(X)
    R = model.transform(X)
    assert np.allclose(R @ R.T, KERNELS[kernel](X, scale=0.8), atol=1e-12)
    assert model.lost_trace_ < 1e-12


@both
def test_products_with_landmarks_are_exact_and_norms_at_most_those_of_the_kernel(kernel, X):
    model = HyperbolicKernelMap(kernel, n_components=20).fit(X)
    R, at_landmarks = model.transform(X), model.transform(model.landmarks_)
    assert np.allclose(R @ at_landmarks.T, KERNELS[kernel](X, model.landmarks_, scale=model.scale_), atol=1e-10)
    lost = 1 - np.sum(R**2, axis=1)
    assert lost.min() > -1e-12
    assert model.lost_trace_ == pytest.approx(lost.mean(), abs=1e-12)


@both
def test_isometries_change_no_product(kernel, X):
    moved = translate(X, at_gap(np.random.default_rng(1), 3, 0.2, 1.0))
    R, S = (HyperbolicKernelMap(kernel, n_components=15).fit_transform(points) for points in (X, moved))
    assert np.allclose(R @ R.T, S @ S.T, atol=1e-9)


def test_curvature_only_rescales_the_ball(X):
    R = HyperbolicKernelMap(n_components=15).fit_transform(X)
    S = HyperbolicKernelMap(n_components=15, curvature=-4.0).fit_transform(X / 2)
    assert np.allclose(R, S, atol=1e-9)


def test_landmarks_represent_every_class_by_the_root_of_its_size():
    X, y = cloud(np.random.default_rng(0), 3303, 2, 1.0), np.repeat([0, 1, 2], [3000, 300, 3])
    chosen = HyperbolicKernelMap(n_components=100).fit(X, y).landmarks_
    counts = np.bincount(y[(X[:, None, 0] == chosen[:, 0]).any(axis=1)])
    assert np.allclose(counts[:2] / counts[1], np.sqrt([10, 1]), rtol=0.1)
    assert counts[2] == 3
    assert counts.sum() == 100


def test_copies_of_points_are_no_landmarks_and_harmless():
    X = np.repeat(cloud(np.random.default_rng(0), 10, 2, 1.0), 20, axis=0)
    model = HyperbolicKernelMap(n_components=40).fit(X)
    assert model.landmarks_.shape == (10, 2)
    assert HyperbolicKernelMap(landmarks=X).fit(X).transform(X).shape == (200, 10)


def test_close_points_lose_eigenvalues_and_give_no_nan():
    """A smooth kernel of close points has eigenvalues below the rounding error, which may come out negative."""
    X = 0.01 * cloud(np.random.default_rng(0), 60, 2, 1.0)
    R = HyperbolicKernelMap("heat", scale=2.0, n_components=60).fit_transform(X)
    assert R.shape[1] < 30
    assert np.allclose(R @ R.T, heat_kernel(X, scale=2.0), atol=1e-12)


def test_given_landmarks_are_used(X):
    model = HyperbolicKernelMap(landmarks=X[:5].tolist(), n_components=3).fit(X)
    assert np.array_equal(model.landmarks_, X[:5])
    assert model.get_feature_names_out().tolist() == [f"hyperbolickernelmap{k}" for k in range(3)]
    assert model.set_output(transform="pandas").transform(X).shape == (80, 3)


def test_float32_stays_float32(X):
    model = HyperbolicKernelMap(n_components=10).fit(X.astype(np.float32))
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.transform(X).dtype == np.float64


def test_a_linear_classifier_of_the_rows_follows_rings():
    """No linear boundary separates these concentric classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=600)
    radius, angle = np.tanh(0.4 * (y + rng.uniform(0.2, 0.8, 600))), rng.uniform(0, 2 * np.pi, 600)
    X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    assert make_pipeline(HyperbolicKernelMap(), LogisticRegression(C=100)).fit(X[::2], y[::2]).score(X, y) > 0.95


@pytest.mark.parametrize("model", [HyperbolicKernelMap(n_components=9), HyperbolicKernelMap("heat", scale=0.5)])
def test_a_model_file_restores_it_bit_for_bit(model, X, tmp_path):
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    hyplearn.save(model.fit(table), tmp_path / "map.hyp")
    loaded = hyplearn.load(tmp_path / "map.hyp")
    assert np.array_equal(loaded.transform(table), model.transform(table))
    assert loaded.lost_trace_ == model.lost_trace_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "gaussian"}, 'kernel must be "laplacian" or "secant" or "heat"; got \'gaussian\''),
        ({"kernel": None}, "kernel must be"),
        ({"scale": 0.0}, 'scale must be "auto" or a positive finite number; got 0.0'),
        ({"n_components": 0}, "n_components must be an integer of at least 1; got 0"),
        ({"landmarks": [[0.0, 0.0]]}, r"landmarks must have shape \(n, 3\)"),
        ({"landmarks": [[0.0, 0.0, 2.0]]}, "1 of 1 points lies outside"),
        ({"curvature": 1.0}, "curvature must be a negative finite number"),
        ({"outside": "clip"}, 'outside must be "raise" or "project"'),
    ],
)
def test_bad_parameters_are_rejected(parameters, message, X):
    with pytest.raises(ValueError, match=message):
        HyperbolicKernelMap(**parameters).fit(X)


def test_bad_inputs_are_rejected(X):
    with pytest.raises(ValueError, match="but y has 2 labels"):
        HyperbolicKernelMap().fit(X, [0, 1])
    with pytest.raises(ValueError, match="1 of 80 points lies outside"):
        HyperbolicKernelMap().fit(np.concatenate([X[1:], [[2.0, 0, 0]]]))
    with pytest.warns(DataConversionWarning):
        HyperbolicKernelMap(outside="project").fit(np.concatenate([X, [[2.0, 0, 0]]]))
    with pytest.raises(NotFittedError):
        HyperbolicKernelMap().transform(X)
    with pytest.raises(ValueError, match="up to 1001 dimensions"):
        HyperbolicKernelMap("heat").fit(np.zeros((2, 1002)))
