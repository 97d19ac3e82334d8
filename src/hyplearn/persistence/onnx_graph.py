"""ONNX graphs written like formulas: float64 tensors with operators, and the functions that ONNX lacks."""

from typing import Any

import numpy as np

from hyplearn.cone import COSH_NEAR, NEAR, SINH_NEAR
from hyplearn.types import Array

# Old enough for every runtime of the last years; newer operators are not needed. spox and onnxscript give the same bits
# for arsinh, but cost 0.4 and 0.8 s of import and write a newer IR version.
OPSET, IR_VERSION = 17, 8


class Tensor:
    """The output of a node, named; arithmetic with numbers, arrays and other tensors adds nodes to its graph."""

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

    def __neg__(self) -> "Tensor":
        return self.graph.node("Neg", self)


class Graph:
    """Nodes and constants, in the order in which they were made."""

    def __init__(self, helpers: Any) -> None:
        self.onnx, self.nodes, self.constants = helpers, [], []  # type: ignore[var-annotated]

    def tensor(self, value: Any) -> Tensor:
        """A tensor as it is, a number or an array as a constant: float64, unless it is an array of another type."""
        if isinstance(value, Tensor):
            return value
        array = value if isinstance(value, np.ndarray) else np.array(value, dtype=np.float64)
        name = f"constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return Tensor(self, name)

    def node(self, operator: str, *inputs: Any, name: str | None = None, **attributes: Any) -> Tensor:
        """The output of one more node."""
        names = [self.tensor(value).name for value in inputs]
        out = name or f"{operator.lower()}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [out], **attributes))
        return Tensor(self, out)

    def sum_of_last(self, x: Tensor, *, keep: bool = False) -> Tensor:
        """Sums along the last axis."""
        return self.node("ReduceSum", x, np.array([-1]), keepdims=int(keep))

    def log1p(self, u: Tensor) -> Tensor:
        """``log(1 + u)`` for u ≥ 0 to the last digits (Kahan): the rounding of 1 + u cancels in the quotient."""
        t = u + 1.0
        return self.node("Where", self.node("Equal", t, 1.0), u, self.node("Log", t) * (u / (t - 1.0)))

    def arsinh(self, x: Tensor) -> Tensor:
        """``sign(x) log1p(|x| + x² / (1 + √(1 + x²)))``."""
        size = self.node("Abs", x)
        square = size * size
        # Where the square overflows, √(1 + x²) is |x|, and so is x² / (1 + √(1 + x²)).
        bent = self.node("Where", self.node("Less", size, 1e150), square / (self._root(square + 1.0) + 1.0), size)
        return self.node("Sign", x) * self.log1p(size + bent)

    def log_sigmoid(self, x: Tensor) -> Tensor:
        """``min(x, 0) - log1p(exp(-|x|))``."""
        return self.node("Min", x, 0.0) - self.log1p(self.node("Exp", -self.node("Abs", x)))

    def _root(self, x: Tensor) -> Tensor:
        return self.node("Sqrt", x)

    def rho_over_sinh(self, u: Tensor) -> Tensor:
        """``ρ / sinh ρ`` of ``u = sinh²(ρ/2)``; 1 at 0."""
        quotient = self.arsinh(self._root(u)) / (self._root(u) * self._root(u + 1.0))
        return self.node("Where", self.node("Greater", u, 0.0), quotient, 1.0)

    def shortening(self, cosh: Tensor) -> Tensor:
        """Factor that makes cone coordinates of hyperboloid coordinates with the given first one."""
        sinh = self._root((cosh - 1.0) * (cosh + 1.0))
        far = (self.node("Log", cosh + sinh) + (SINH_NEAR - NEAR)) / sinh
        return self.node("Where", self.node("Greater", cosh, COSH_NEAR), far, 1.0)

    def row_gaps(self, X: Tensor, c: float) -> Tensor:
        """``1 - c‖x‖²`` of every row, as a column; NaN outside the ball, so that such rows have no scores."""
        gap = self.tensor(1.0) - self.sum_of_last(X * X, keep=True) * c
        return self.node("Where", self.node("Greater", gap, 0.0), gap, np.nan)

    def row_products(self, X: Tensor, W: Array, P: Array, *, c: float, frame: bool) -> tuple[Tensor, Tensor]:
        """``⟨f, w⟩`` of the rows f of every point at p, for each pair (w, p); and ``cosh ρ`` times the length factor.

        As in :mod:`hyplearn.tangent`: ``f = along (s - bend p)`` with ``s = x - p`` and ``bend = c‖s‖² / g_p``.
        """
        gaps = self.row_gaps(X, c)
        s = self.node("Unsqueeze", X, np.array([1])) - P[None]
        bend = self.sum_of_last(s * s) * (c / (1 - c * np.sum(P**2, axis=1)))
        along = self.tensor(2.0) / gaps
        if frame:
            along = along * self.rho_over_sinh(bend / gaps)
        products = self.sum_of_last(s * W[None]) - bend * np.sum(P * W, axis=1)
        return along * products, along * (gaps * 0.5 + bend)

    def model(self, outputs: dict[str, tuple[Any, list[Any]]], n_features: int, name: str) -> Any:
        """The checked model of this graph, from float64 points ``X`` to the outputs."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        given = helper.make_tensor_value_info("X", double, [None, n_features])
        outs = [helper.make_tensor_value_info(out, kind, shape) for out, (kind, shape) in outputs.items()]
        graph = helper.make_graph(self.nodes, name, [given], outs, self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="hyplearn"
        )
        self.onnx.checker.check_model(model)
        return model
