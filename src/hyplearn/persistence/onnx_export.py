"""Fitted classifiers as ONNX graphs, for programs that have no Python."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.decision import Decision
from hyplearn.estimators.ball_classifier import BallClassifier
from hyplearn.files import write_whole
from hyplearn.persistence.files import PathLike
from hyplearn.persistence.onnx_graph import Graph, Tensor
from hyplearn.types import Array


def export_onnx(estimator: Any, path: PathLike) -> None:
    """Write a fitted classifier as an ONNX graph.

    The graph takes points as float64 ``X`` of shape (n, n_features) and gives ``label`` (n,), ``decision`` as
    ``decision_function`` does, and, where the classifier has them, ``probabilities`` (n, n_classes). It computes in
    plain float64: within 1e-6, relative, of the classifier for points with a gap 1 - c‖x‖² above 1e-9, and with fewer
    digits nearer to the rim. Of points outside the ball it tells NaN, and the label means nothing there.

    Parameters
    ----------
    estimator : classifier of hyplearn
        Fitted, with ``outside="raise"``.
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
    if not isinstance(estimator, BallClassifier):
        raise TypeError(
            f"Only classifiers of hyplearn can be exported to ONNX; got {type(estimator).__name__}.\n"
            "Export the classifier of a pipeline or search by itself, or use hyplearn.save."
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
    graph, double, decision = Graph(onnx), onnx.TensorProto.DOUBLE, estimator.decision_
    K = len(decision.classes)
    scores, calibration = _values(graph, decision), decision.calibration
    if calibration is not None:
        scores = scores * calibration.slopes + calibration.offsets
    graph.node("Identity", graph.sum_of_last(scores) if decision.is_binary else scores, name="decision")
    labels = _label_values(decision.classes)
    graph.node("Gather", labels, _index(graph, scores, decision), name="label")
    kind = onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
    outputs = {"label": (kind, [None]), "decision": (double, [None] if K == 2 else [None, K])}
    if calibration is not None:
        graph.node("Identity", _probabilities(graph, scores, decision), name="probabilities")
        outputs["probabilities"] = (double, [None, K])
    return graph.model(outputs, decision.n_features, type(estimator).__name__)


def _values(graph: Graph, decision: Decision) -> Tensor:
    """Values of all problems, of shape (n, P): the links of :mod:`hyplearn.decision.decision`."""
    X, W, P, c = Tensor(graph, "X"), decision.weights, decision.points, decision.c
    if decision.link == "arsinh":
        products, _ = graph.row_products(X, np.sqrt(c) * W, P, c=c, frame=False)
        return graph.arsinh(products) * decision.gain
    if decision.link == "cone":
        products, times = graph.row_products(X, W[:, 1:], P, c=c, frame=False)
        return graph.shortening(times) * (times * W[:, 0] + products * np.sqrt(c)) + decision.intercepts
    if decision.link == "ball":
        return graph.node("MatMul", X, W.T) + decision.intercepts
    return graph.row_products(X, W, P, c=c, frame=decision.link == "frame")[0]


def _probabilities(graph: Graph, scores: Tensor, decision: Decision) -> Tensor:
    if decision.is_binary:
        return graph.node("Exp", graph.log_sigmoid(scores * np.array([-1.0, 1.0])))
    sharpness = decision.calibration.sharpness  # type: ignore[union-attr]
    return graph.node("Softmax", scores if sharpness is None else graph.log_sigmoid(scores) * sharpness, axis=1)


def _index(graph: Graph, scores: Tensor, decision: Decision) -> Tensor:
    """Index of the class: by the sign of the score, or by the largest."""
    if not decision.is_binary:
        return graph.node("ArgMax", scores, axis=1, keepdims=0)
    return graph.node("Cast", graph.node("Greater", graph.sum_of_last(scores), 0.0), to=7)  # int64


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
        f"ONNX knows labels of integers, floats, booleans and text; got {classes.dtype}.\n"
        "Fit with labels of one of these types."
    )
