"""A warning is given if classes lie too deep for coordinates about one centre."""

import warnings

import numpy as np
import pytest

from hyplearn import PoincareKernelClassifier, PoincareLogisticRegression, PoincareLogisticRegressionCV, PoincareSVC
from hyplearn.data.training import TrainingData
from hyplearn.estimators.depth import deepest_classes
from hyplearn.geometry import translate
from hyplearn.tangent import from_frame

SOFTMAXES = {
    "softmax": PoincareLogisticRegression,
    "softmax, C given": lambda **options: PoincareLogisticRegression(C=10.0, **options),
    "softmax, untrimmed": lambda **options: PoincareLogisticRegression(trim=False, **options),
    "softmax cv": lambda **options: PoincareLogisticRegressionCV(cv=2, **options),
}


def siblings(depth, shallow=12, c=1.0):
    """Two classes that part at the distance ``depth`` from the origin, and ``shallow`` classes around the origin."""
    rng = np.random.default_rng(0)
    angles = 2 * np.pi * (np.arange(shallow) + 0.5) / shallow
    centres = from_frame(np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(2), c=1.0)
    stem = from_frame(np.array([[depth, 0.0]]), np.zeros(2), c=1.0)[0]
    deep = translate(from_frame(np.array([[0.0, 2.0], [0.0, -2.0]]), np.zeros(2), c=1.0), stem)
    y = np.repeat(np.arange(shallow + 2), 8)
    spread = from_frame(0.2 * rng.standard_normal((len(y), 2)), np.zeros(2), c=1.0)
    return translate(spread, np.vstack([centres, deep])[y]) / np.sqrt(c), y


def depth_warnings(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [warning for warning in caught if "geodesics from this centre" in str(warning.message)]


@pytest.mark.parametrize("c", [1.0, 4.0])
@pytest.mark.parametrize("name", SOFTMAXES)
def test_a_softmax_warns_once_about_classes_that_part_far_from_its_centre(name, c):
    X, y = siblings(14.0, c=c)
    (warning,) = depth_warnings(SOFTMAXES[name](curvature=-c), X, np.array(list("abcdefghijklmn"))[y])
    assert "the classes m and n separate only at a distance of 1" in str(warning.message)
    assert warning.filename == __file__


@pytest.mark.parametrize("name", SOFTMAXES)
def test_classes_that_part_near_the_centre_give_no_warning(name):
    assert not depth_warnings(SOFTMAXES[name](), *siblings(6.0))


def test_an_svm_with_one_centre_warns_and_one_with_a_centre_per_class_does_not():
    X, y = siblings(12.0, shallow=60)
    model = PoincareSVC(C=1.0, calibration=None)
    assert len(depth_warnings(model, X, y)) == 1
    assert np.all(model.reference_ == model.reference_[0])
    X, y = siblings(14.0)
    assert not depth_warnings(model, X, y)
    assert np.any(model.reference_ != model.reference_[0])


def test_the_recommended_models_separate_the_deep_classes_without_a_warning():
    X, y = siblings(14.0)
    deep = y >= 12
    for model in (PoincareSVC("means"), PoincareKernelClassifier(n_components=20)):
        assert not depth_warnings(model, X, y)
        assert model.score(X[deep], y[deep]) == 1


@pytest.mark.parametrize("depth", [3.0, 10.0])
def test_the_depth_is_the_gromov_product_of_class_centres_and_invariant_under_isometries(depth):
    """Far from the origin, two ways that part at a right angle to the stem share about ``depth - log 2``."""
    X, y = siblings(depth)
    found = []
    for a in (np.zeros(2), np.array([0.3, -0.5])):
        data = TrainingData.of_arrays(translate(X, a), y, None, 1.0, n_classes=14, threads=1)
        found.append(deepest_classes(data, translate(np.zeros((1, 2)), a)[0]))
    assert found[0][1:] == found[1][1:] == (12, 13)
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-6)
    assert found[0][0] == pytest.approx(depth, abs=1.0)
