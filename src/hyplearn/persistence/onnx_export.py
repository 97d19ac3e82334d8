"""Fitted classifiers as ONNX graphs, for programs that have no Python."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.estimators import (
    PoincareLogisticRegression,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
)
from hyplearn.estimators.classifier import TangentClassifier
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.files import write_whole
from hyplearn.persistence.files import PathLike
from hyplearn.persistence.onnx_graph import Graph, Tensor
from hyplearn.types import Array

EXPORTED = (PoincareSVC, PoincareLogisticRegression, PoincarePerceptron, PoincareSecondOrderPerceptron)


def export_onnx(estimator: Any, path: PathLike) -> None:
    """Write a fitted classifier as an ONNX graph.

    The graph takes points as float64 ``X`` of shape (n, n_features) and gives ``label`` (n,), ``decision`` as
    ``decision_function`` does, and, where the classifier has them, ``probabilities`` (n, n_classes). It computes in
    plain float64: within 1e-6, relative, of the classifier for points with a gap 1 - c‖x‖² above 1e-9, and with fewer
    digits nearer to the rim. Of points outside the ball it tells NaN, and the label means nothing there.

    Parameters
    ----------
    estimator : PoincareSVC, PoincareLogisticRegression, PoincarePerceptron or PoincareSecondOrderPerceptron
        A fitted classifier with ``outside="raise"``; :class:`~hyplearn.PoincareLogisticRegressionCV` too.
    path : str or path
        Where to; ends in ``.onnx``. A file that is there is replaced.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyplearn import PoincareSVC
    >>> from hyplearn.datasets import make_ball_classification
    >>> from hyplearn.persistence import export_onnx
    >>> X, y, p, w = make_ball_classification(200, 2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(PoincareSVC(p).fit(X, y), pathlib.Path(folder, "model.onnx"))
    """
    path = Path(path).expanduser()
    if path.suffix != ".onnx":
        raise ValueError(f"ONNX files end in .onnx; got {path.name!r}.\nPass {str(path.with_suffix('.onnx'))!r}.")
    if not isinstance(estimator, EXPORTED):
        known = ", ".join(one.__name__ for one in EXPORTED)
        raise TypeError(
            f"{type(estimator).__name__} cannot become an ONNX graph; known are {known}.\nUse hyplearn.save."
        )
    check_is_fitted(estimator)
    if estimator.outside != "raise":
        raise ValueError(
            f"A graph moves no points into the ball; got outside={estimator.outside!r}.\n"
            'Project the points before, and export the model with set_params(outside="raise").'
        )
    write_whole(path, _model(estimator).SerializeToString())


def _model(estimator: Any) -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError("Exporting to ONNX needs onnx: pip install 'hyplearn[onnx]'.") from error
    graph, double = Graph(onnx), onnx.TensorProto.DOUBLE
    K = len(estimator.classes_)
    outcome = _softmax if isinstance(estimator, PoincareLogisticRegression) else _one_vs_rest
    decision, probabilities = outcome(graph, estimator)
    graph.node("Identity", decision, name="decision")
    labels = _label_values(estimator.classes_)
    graph.node("Gather", labels, _index(graph, decision, K), name="label")
    kind = onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
    outputs = {"label": (kind, [None]), "decision": (double, [None] if K == 2 else [None, K])}
    if probabilities is not None:
        graph.node("Identity", probabilities, name="probabilities")
        outputs["probabilities"] = (double, [None, K])
    return graph.model(outputs, estimator.n_features_in_, type(estimator).__name__)


def _softmax(graph: Graph, estimator: Any) -> tuple[Tensor, Tensor]:
    """Scores of a logistic regression, and their softmax."""
    c = absolute_curvature(estimator.curvature)
    coef, intercepts = estimator._per_class(estimator.coef_), estimator._per_class(estimator.intercept_)
    centres = np.tile(estimator.reference_[:1], (len(coef), 1))
    products, times = graph.row_products(Tensor(graph, "X"), coef[:, 1:], centres, c=c, frame=False)
    scores = graph.shortening(times) * (times * coef[:, 0] + products * np.sqrt(c)) + intercepts
    probabilities = graph.node("Softmax", scores, axis=1)
    if len(coef) > 2:
        return scores, probabilities
    return graph.sum_of_last(scores * np.array([-1.0, 1.0])), probabilities


def _one_vs_rest(graph: Graph, estimator: TangentClassifier) -> tuple[Tensor, Tensor | None]:
    """What the sigmoids make of distances, or of the rows' products where they were fitted to these."""
    two = len(estimator.classes_) == 2
    distances = _distances(graph, estimator)
    if not hasattr(estimator, "sigmoids_"):
        return (graph.sum_of_last(distances) if two else distances), None
    slopes, offsets = estimator.sigmoids_.T
    logits = (_values(graph, estimator) if estimator.calibration == "training" else distances) * slopes + offsets
    if two:
        sides = graph.log_sigmoid(logits * np.array([-1.0, 1.0]))
        decision = logits if estimator.calibration == "training" else distances - estimator.shift_
        return graph.sum_of_last(decision), graph.node("Exp", sides)
    chances = graph.log_sigmoid(logits) * estimator.sharpness_
    return graph.node("LogSoftmax", chances, axis=1), graph.node("Softmax", chances, axis=1)


def _distances(graph: Graph, estimator: TangentClassifier) -> Tensor:
    c = absolute_curvature(estimator.curvature)
    norms = np.linalg.norm(estimator.coef_, axis=1, keepdims=True)
    units = np.sqrt(c) * estimator.coef_ / np.where(norms > 0, norms, 1.0)
    heights, _ = graph.row_products(Tensor(graph, "X"), units, estimator.reference_, c=c, frame=False)
    return graph.arsinh(heights) / np.sqrt(c)


def _values(graph: Graph, estimator: TangentClassifier) -> Tensor:
    """``⟨f, w⟩`` of the rows that were learned from."""
    c, frame = absolute_curvature(estimator.curvature), estimator._features == "frame"
    return graph.row_products(Tensor(graph, "X"), estimator.coef_, estimator.reference_, c=c, frame=frame)[0]


def _index(graph: Graph, decision: Tensor, K: int) -> Tensor:
    """The number of the class: by the sign of the decision, or by the largest."""
    if K > 2:
        return graph.node("ArgMax", decision, axis=1, keepdims=0)
    return graph.node("Cast", graph.node("Greater", decision, 0.0), to=7)  # int64


def _label_values(classes: Array) -> Array:
    """Labels as ONNX knows them: int64, bool, float64 or text."""
    if classes.dtype.kind in "iu" and int(classes[-1]) < 2**63:
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    if classes.dtype.kind in "UO" and all(isinstance(label, str) for label in classes):
        return classes.astype(object)
    if classes.dtype.kind == "b":
        return classes
    raise ValueError(
        f"ONNX knows labels of whole numbers, floats, booleans and text; got {classes.dtype}.\n"
        "Fit with labels of one of these types."
    )
