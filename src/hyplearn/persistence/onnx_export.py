"""Export fitted classifiers as ONNX graphs, which can be used without Python."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.decision import Decision
from hyplearn.decision.decision import NEAR
from hyplearn.estimators.ball_classifier import BallClassifier
from hyplearn.files import write_whole
from hyplearn.geometry.kernels import row_gaps
from hyplearn.kernels.functions import log_cosh
from hyplearn.kernels.nystrom import LandmarkKernel
from hyplearn.persistence.files import PathLike
from hyplearn.types import Array

# Versions of the ONNX operators and of the file format (IR) that all recent runtimes support. Graphs are not built with
# the packages spox or onnxscript: in a test with arsinh, graphs built with them gave the same results, but the packages
# take 0.4 s and 0.8 s to import, and write a newer IR version.
OPSET, IR_VERSION = 17, 8


class Tensor:
    """Named value in a graph. Arithmetic with numbers, arrays or other tensors adds nodes to the graph."""

    def __init__(self, graph: "Graph", name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: Any) -> "Tensor":
        return self.graph.node("Add", self, other)

    def __sub__(self, other: Any) -> "Tensor":
        return self.graph.node("Sub", self, other)

    def __mul__(self, other: Any) -> "Tensor":
        return self.graph.node("Mul", self, other)

    def __truediv__(self, other: Any) -> "Tensor":
        return self.graph.node("Div", self, other)


class Graph:
    """ONNX graph under construction, with methods that add the nodes for functions such as log1p and arsinh."""

    def __init__(self, helpers: Any) -> None:
        self.onnx, self.nodes, self.constants = helpers, [], []  # type: ignore[var-annotated]

    def tensor(self, value: Any) -> Tensor:
        """Return a tensor unchanged; convert a number (to float64) or an array to a constant."""
        if isinstance(value, Tensor):
            return value
        array = value if isinstance(value, np.ndarray) else np.array(value, dtype=np.float64)
        name = f"constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return Tensor(self, name)

    def node(self, operator: str, *inputs: Any, name: str | None = None, **attributes: Any) -> Tensor:
        """Add a node and return its output."""
        names = [self.tensor(value).name for value in inputs]
        out = name or f"{operator.lower()}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [out], **attributes))
        return Tensor(self, out)

    def sum_of_last(self, x: Tensor, *, keep: bool = False) -> Tensor:
        """Return the sum over the last axis."""
        return self.node("ReduceSum", x, np.array([-1]), keepdims=int(keep))

    def log1p(self, u: Tensor) -> Tensor:
        """Compute ``log(1 + u)`` for u ≥ 0 with Kahan's formula, in which the rounding error of 1 + u cancels."""
        t = u + 1.0
        return self.node("Where", self.node("Equal", t, 1.0), u, self.node("Log", t) * (u / (t - 1.0)))

    def arsinh(self, x: Tensor) -> Tensor:
        """Compute ``arsinh x`` as ``sign(x) log1p(|x| + x² / (1 + √(1 + x²)))``."""
        size = self.node("Abs", x)
        square = size * size
        # For large |x| the square may overflow; x² / (1 + √(1 + x²)) is then equal to |x| up to rounding.
        root = self.node("Sqrt", square + 1.0)
        bent = self.node("Where", self.node("Less", size, 1e150), square / (root + 1.0), size)
        return self.node("Sign", x) * self.log1p(size + bent)

    def log_sigmoid(self, x: Tensor) -> Tensor:
        """Compute the logarithm of the sigmoid as ``min(x, 0) - log1p(exp(-|x|))``."""
        return self.node("Min", x, 0.0) - self.log1p(self.node("Exp", self.node("Neg", self.node("Abs", x))))

    def rho_over_sinh(self, u: Tensor) -> Tensor:
        """Compute ``ρ / sinh ρ`` from ``u = sinh²(ρ/2)``; the result is 1 at u = 0."""
        quotient = self.arsinh(self.node("Sqrt", u)) / (self.node("Sqrt", u) * self.node("Sqrt", u + 1.0))
        return self.node("Where", self.node("Greater", u, 0.0), quotient, 1.0)

    def shortening_of_0_1(self, cosh: Tensor) -> Tensor:
        """Compute the factor by which hyplearn 0.1 multiplied the hyperboloid coordinates of a point, from ``cosh ρ``.

        Here ρ is the distance of the point from the reference point, in units of 1/√c. The factor is 1 for ρ ≤ NEAR.
        """
        sinh = self.node("Sqrt", (cosh - 1.0) * (cosh + 1.0))
        far = (self.node("Log", cosh + sinh) + (np.sinh(NEAR) - NEAR)) / sinh
        return self.node("Where", self.node("Greater", cosh, np.cosh(NEAR)), far, 1.0)

    def row_products(self, X: Tensor, W: Array, P: Array, *, c: float, frame: bool) -> tuple[Tensor, Tensor]:
        """Return ``⟨z, w⟩`` and ``cosh ρ`` for each point x and each pair (w, p), with ``ρ = √c d(x, p)``.

        If ``frame`` is True, both results are multiplied by ρ / sinh ρ. As in :mod:`hyplearn.tangent`, the row z is
        ``z = along (s - bend p)`` with ``along = 2 / g_x``, ``s = x - p``, ``bend = c‖s‖² / g_p`` and the gaps
        ``g_x = 1 - c‖x‖²`` and ``g_p = 1 - c‖p‖²``.
        """
        gaps = self.tensor(1.0) - self.sum_of_last(X * X, keep=True) * c
        # The gaps of points outside the ball are set to NaN, so that the scores of these points are NaN.
        gaps = self.node("Where", self.node("Greater", gaps, 0.0), gaps, np.nan)
        s = self.node("Unsqueeze", X, np.array([1])) - P[None]
        bend = self.sum_of_last(s * s) * (c / (1 - c * np.sum(P**2, axis=1)))
        along = self.tensor(2.0) / gaps
        if frame:
            along = along * self.rho_over_sinh(bend / gaps)
        products = self.sum_of_last(s * W[None]) - bend * np.sum(P * W, axis=1)
        return along * products, along * (gaps * 0.5 + bend)

    def kernel_values(self, X: Tensor, kernel: LandmarkKernel) -> Tensor:
        """Compute the kernel values between points and landmarks, of shape (n, n_landmarks).

        The heat kernel is computed for up to three dimensions; in one dimension it is a Gaussian of the distance.
        """
        c, L = kernel.c, kernel.landmarks
        gaps = self.tensor(1.0) - self.sum_of_last(X * X, keep=True) * c
        gaps = self.node("Where", self.node("Greater", gaps, 0.0), gaps, np.nan)
        s = self.node("Unsqueeze", X, np.array([1])) - L[None]
        u = self.sum_of_last(s * s) * (c / row_gaps(L, c)) / gaps
        if kernel.name == "secant":
            return self.node("Exp", self.node("Log", u * 2.0 + 1.0) * (-1.0 / float(log_cosh(kernel.scale))))
        half = self.arsinh(self.node("Sqrt", u))
        if kernel.name == "laplacian":
            return self.node("Exp", half * (-2.0 / kernel.scale))
        gaussian = self.node("Exp", half * half * (-2.0 / kernel.scale**2))
        return gaussian if L.shape[1] == 1 else self.rho_over_sinh(u) * gaussian

    def model(self, outputs: dict[str, tuple[Any, list[Any]]], n_features: int, name: str, dtype: str) -> Any:
        """Build and check the ONNX model of this graph, with input ``X`` of type ``dtype`` and the given outputs."""
        helper = self.onnx.helper
        given = helper.make_tensor_value_info("X", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [None, n_features])
        outs = [helper.make_tensor_value_info(out, kind, shape) for out, (kind, shape) in outputs.items()]
        graph = helper.make_graph(self.nodes, name, [given], outs, self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="hyplearn"
        )
        self.onnx.checker.check_model(model)
        return model


def export_onnx(estimator: Any, path: PathLike, *, dtype: str = "float64") -> None:
    """Export a fitted classifier to a file as an ONNX graph.

    The input of the graph is ``X``, points of shape (n, n_features). Its outputs are ``label`` of shape (n,),
    ``decision`` (the values of ``decision_function``) and, if the classifier has probabilities, ``probabilities`` of
    shape (n, n_classes). The graph computes in float64. The relative difference of ``decision`` and ``probabilities``
    from the results of the estimator is below 1e-6 for points with a gap 1 - c‖x‖² above 1e-9, and grows towards the
    rim. For points outside the ball, ``label`` is arbitrary, and the other outputs are NaN, except for the graph of a
    ``EuclideanSVC``, whose outputs are finite everywhere.

    Parameters
    ----------
    estimator : SVM, perceptron, logistic regression or kernel classifier of hyplearn
        Fitted classifier with ``outside="raise"``.
    path : str or path
        Path that ends in ``.onnx``. An existing file is replaced.
    dtype : {"float64", "float32"}, default="float64"
        Type of the input ``X``; runtimes reject input of another type.

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
            "Only SVMs, perceptrons, logistic regressions and kernel classifiers of hyplearn can be exported to ONNX; "
            f"got {type(estimator).__name__}.\n"
            "Export the classifier of a pipeline or search by itself, or use hyplearn.save."
        )
    if dtype not in ("float64", "float32"):
        raise ValueError(f'dtype must be "float64" or "float32"; got {dtype!r}.')
    check_is_fitted(estimator)
    if estimator.outside != "raise":
        raise ValueError(
            f"An ONNX graph cannot move points into the ball; got outside={estimator.outside!r}.\n"
            'Project the points beforehand, and export the model after set_params(outside="raise").'
        )
    write_whole(path, _model(estimator, dtype).SerializeToString())


def _model(estimator: Any, dtype: str) -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("Exporting to ONNX needs onnx: pip install 'hyplearn[onnx]'.") from error
    graph, double, decision = Graph(onnx), onnx.TensorProto.DOUBLE, estimator.decision_
    if decision.kernel is not None and decision.kernel.name == "heat" and decision.n_features > 3:
        raise ValueError(
            f"The heat kernel can be exported in up to 3 dimensions; the model has {decision.n_features} features.\n"
            'Fit it with kernel="secant", or use hyplearn.save.'
        )
    K = len(decision.classes)
    X = Tensor(graph, "X") if dtype == "float64" else graph.node("Cast", Tensor(graph, "X"), to=double)
    scores, calibration = _values(graph, X, decision), decision.calibration
    if calibration is not None:
        mixed = calibration.mixing is not None
        scores = graph.node("MatMul", scores, calibration.mixing.T) if mixed else scores * calibration.slopes
        scores = scores + calibration.offsets
    graph.node("Identity", graph.sum_of_last(scores) if decision.is_binary else scores, name="decision")
    labels = _label_values(decision.classes)
    graph.node("Gather", labels, _index(graph, scores, decision), name="label")
    kind = onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
    outputs = {"label": (kind, [None]), "decision": (double, [None] if K == 2 else [None, K])}
    if calibration is not None:
        probabilities = _probabilities(graph, scores, decision)
        if calibration.floor:
            probabilities = probabilities * (1 - calibration.floor) + calibration.floor / K
        graph.node("Identity", probabilities, name="probabilities")
        outputs["probabilities"] = (double, [None, K])
    return graph.model(outputs, decision.n_features, type(estimator).__name__, dtype)


def _values(graph: Graph, X: Tensor, decision: Decision) -> Tensor:
    """Return the uncalibrated scores of all problems, of shape (n, n_problems), as in :meth:`Decision.values`."""
    W, P, c = decision.weights, decision.points, decision.c
    if decision.link == "arsinh":
        products, _ = graph.row_products(X, np.sqrt(c) * W, P, c=c, frame=False)
        return graph.arsinh(products) * decision.gain
    if decision.link in ("sphere", "sphere-arsinh", "cone"):
        products, times = graph.row_products(X, W[:, 1:], P, c=c, frame=False)
        values = times * W[:, 0] + products * np.sqrt(c)
        if decision.link == "cone":
            return graph.shortening_of_0_1(times) * values + decision.intercepts
        values = graph.rho_over_sinh((times - 1.0) * 0.5) * (values + decision.intercepts)
        return graph.arsinh(values) if decision.link == "sphere-arsinh" else values
    if decision.kernel is not None:
        return graph.node("MatMul", graph.kernel_values(X, decision.kernel), W.T) + decision.intercepts
    if decision.link == "ball":
        return graph.node("MatMul", X, W.T) + decision.intercepts
    return graph.row_products(X, W, P, c=c, frame=decision.link == "frame")[0]


def _probabilities(graph: Graph, scores: Tensor, decision: Decision) -> Tensor:
    if decision.is_binary:
        return graph.node("Exp", graph.log_sigmoid(scores * np.array([-1.0, 1.0])))
    sharpness = decision.calibration.sharpness  # type: ignore[union-attr]
    return graph.node("Softmax", scores if sharpness is None else graph.log_sigmoid(scores) * sharpness, axis=1)


def _index(graph: Graph, scores: Tensor, decision: Decision) -> Tensor:
    """Return the index of the predicted class, from the sign of the score (two classes) or the largest score."""
    if not decision.is_binary:
        return graph.node("ArgMax", scores, axis=1, keepdims=0)
    return graph.node("Cast", graph.node("Greater", graph.sum_of_last(scores), 0.0), to=7)  # 7 is the ONNX type int64


def _label_values(classes: Array) -> Array:
    """Convert labels to a dtype that ONNX supports: int64, bool, float64 or string."""
    kind = classes.dtype.kind
    if kind in "iu" and int(classes[-1]) < 2**63:
        return classes.astype(np.int64)
    if kind in "fb":
        return classes.astype(np.float64 if kind == "f" else bool)
    if kind in "UO" and all(isinstance(label, str) for label in classes):
        return classes.astype(object)
    raise ValueError(
        f"ONNX supports only labels that are strings, booleans, floats or integers below 2**63; got {classes.dtype}.\n"
        "Fit with labels of one of these types."
    )
