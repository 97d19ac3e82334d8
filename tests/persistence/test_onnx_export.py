"""ONNX graphs: the outputs of onnxruntime agree with the classifier."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import hyplearn
from hyplearn import (
    PoincareKernelClassifier,
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
    TangentSpace,
)
from hyplearn.paper import AuthorsSVC, EuclideanSVC, HyperboloidSVC, PaperSVC
from hyplearn.persistence import export_onnx
from support.balls import at_gap, cloud
from support.fitted_models import NAMES, ball
from support.two_classes import nested

runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime")
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:Probabilities of classes"
)

OLD = Path(__file__).parent / "version_0_1"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


def outputs(model, X, path):
    export_onnx(model, path)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": X})
    return dict(zip([one.name for one in session.get_outputs()], found, strict=True))


def assert_agrees(model, X, path):
    """Check that outputs agree to a relative 1e-6, and labels if there is no near tie."""
    found = outputs(model, X, path)
    decision = model.decision_function(X)
    np.testing.assert_allclose(found["decision"], decision, rtol=1e-6, atol=1e-12)
    ordered = np.sort(decision, axis=1) if decision.ndim == 2 else np.column_stack([-abs(decision), abs(decision)])
    clear = ordered[:, -1] - ordered[:, -2] > 1e-9
    assert clear.mean() > 0.95  # near the rim two of three classes may be equally certain
    assert found["label"][clear].tolist() == model.predict(X)[clear].tolist()
    has_chances = model.decision_.has_probabilities
    assert ("probabilities" in found) == has_chances
    if has_chances:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=1e-6, atol=1e-300)


MODELS = [
    PoincareSVC("boundary", folds=2),
    PaperSVC("boundary"),
    PoincareSVC("boundary", margin="exact", folds=2),
    PoincareSVC("boundary", calibration=None),
    PoincareSVC(folds=2),
    PoincareSVC(C=10.0, calibration=None),
    PoincareSVC(fit_intercept=False, folds=2),
    PoincareLogisticRegression(),
    PoincareLogisticRegression(fit_intercept=False),
    PoincareLogisticRegressionCV(Cs=(1, 10), cv=2),
    PoincareKernelClassifier(n_components=30),
    PoincareKernelClassifier("heat", scale=0.5, n_components=30),
    PoincareKernelClassifier("laplacian", n_components=30),
    PoincarePerceptron(max_epochs=5, folds=2),
    PoincareSecondOrderPerceptron(max_epochs=5, folds=2),
    AuthorsSVC("boundary"),
    EuclideanSVC(),
    HyperboloidSVC(max_iter=20),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_onnxruntime_matches_the_estimator(model, classes, path):
    X, y = ball(classes=classes)
    fitted = clone(model).fit(X, NAMES[y])
    rng = np.random.default_rng(1)
    near_the_rim = [at_gap(rng, 2, gap, 1.0) for gap in 10 ** rng.uniform(-9, -1, 100)]
    assert_agrees(
        fitted, np.vstack([cloud(rng, 400, 2, 1.0), near_the_rim, fitted.decision_.points, [[0.0, 0.0]]]), path
    )


def test_scores_next_to_a_boundary_keep_their_digits(path):
    X, y = ball(classes=2)
    model = PoincareSVC("boundary", calibration=None).fit(X, y)
    near = model.reference_ + model.coef_ * 10.0 ** -np.arange(3, 15)[:, None]
    np.testing.assert_allclose(outputs(model, near, path)["decision"], model.decision_function(near), rtol=1e-9)


def test_onnxruntime_matches_for_another_curvature_and_many_dimensions(path):
    rng = np.random.default_rng(0)
    X = cloud(rng, 120, 7, 0.3)
    y = (X[:, 0] + 0.3 * rng.standard_normal(120) > 0).astype(int) + (X[:, 1] > 0.8)
    svcs = PoincareSVC("mean", curvature=-0.3, folds=2), PoincareSVC(curvature=-0.3, folds=2)
    for model in (*svcs, PoincareLogisticRegression(curvature=-0.3)):
        assert_agrees(model.fit(X, y), cloud(rng, 300, 7, 0.3), path)


@pytest.mark.parametrize("d", [1, 3])
def test_onnxruntime_matches_for_the_heat_kernel_in_other_dimensions(d, path):
    rng = np.random.default_rng(0)
    X = cloud(rng, 120, d, 1.0)
    model = PoincareKernelClassifier("heat", scale=0.8, C=10.0, n_components=20).fit(X, X[:, 0] ** 2 > 0.2)
    assert_agrees(model, cloud(rng, 200, d, 1.0), path)


def test_onnxruntime_matches_for_a_class_inside_another(path):
    X, y = nested()
    model = PoincareSVC().fit(X, y)
    assert model.boundaries_[0].kind == "sphere"
    assert_agrees(model, np.vstack([X, cloud(np.random.default_rng(1), 300, 2, 1.0)]), path)


def test_onnxruntime_matches_for_the_widest_margin(path):
    X, _ = ball(classes=2)
    far = X[np.abs(X[:, 0]) > 0.3]
    model = PoincareSVC(C=np.inf, margin="exact").fit(far, far[:, 0] > 0)
    assert_agrees(model, cloud(np.random.default_rng(1), 300, 2, 1.0), path)


def test_models_of_version_0_1_give_the_same_results(path):
    expected, model = np.load(OLD / "expected.npz"), hyplearn.load(OLD / "softmax.hyp")
    assert model.decision_.link == "cone"
    found = outputs(model, expected["X"], path)
    np.testing.assert_allclose(found["probabilities"], expected["softmax.predict_proba"], rtol=1e-6, atol=1e-300)


def test_a_stream_can_be_exported(path):
    X, y = ball()
    assert_agrees(PoincarePerceptron("origin").partial_fit(X, y, classes=[0, 1, 2]), X, path)


@pytest.mark.parametrize(
    "labels",
    [np.array([7, -3, 40]), np.array([3, 4], dtype=np.uint8), np.array([False, True]), np.array([2.0, 5.0, 9.0]),
     np.array(["é", "b", "c"], dtype=object)],
    ids=lambda labels: labels.dtype.str,
)  # fmt: skip
def test_labels_of_every_type_are_exported(labels, path):
    X, y = ball(classes=len(labels))
    model = PoincareLogisticRegression().fit(X, labels[y])
    assert outputs(model, X, path)["label"].tolist() == model.predict(X).tolist()


def test_points_outside_the_ball_get_nan_scores(path):
    X, y = ball()
    found = outputs(PoincareLogisticRegression().fit(X, y), np.array([[1.5, 0.0], [1.0, 0.0], [0.1, 0.0]]), path)
    assert np.isnan(found["probabilities"]).all(axis=1).tolist() == [True, True, False]


def test_unsupported_exports_raise_clear_errors(path):
    X, y = ball()
    with pytest.raises(TypeError, match=r"kernel classifiers of hyplearn can be exported to ONNX; got TangentSpace"):
        export_onnx(TangentSpace(), path)
    points = cloud(np.random.default_rng(0), 30, 4, 1.0)
    with pytest.raises(ValueError, match="in up to 3 dimensions; the model has 4 features"):
        export_onnx(PoincareKernelClassifier("heat", n_components=5).fit(points, np.arange(30) % 2), path)
    with pytest.raises(NotFittedError):
        export_onnx(PoincareSVC(), path)
    model = PoincareLogisticRegression(outside="project").fit(X, y)
    with pytest.raises(ValueError, match=r"cannot move points into the ball; got outside='project'\.\nProject"):
        export_onnx(model, path)
    with pytest.raises(ValueError, match=r"end in \.onnx; got 'model.hyp'"):
        export_onnx(model, path.with_suffix(".hyp"))
    with pytest.raises(ValueError, match=r"got \|S1\.\nFit with labels"):
        export_onnx(PoincareLogisticRegression().fit(X, np.array([b"a", b"b", b"c"])[y]), path)
    assert not path.exists()


def test_without_onnx_the_error_names_the_extra(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    X, y = ball()
    with pytest.raises(ImportError, match=r"needs onnx: pip install 'hyplearn\[onnx\]'"):
        export_onnx(PoincareLogisticRegression().fit(X, y), path)
