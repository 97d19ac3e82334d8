"""Kinds of rows for SVMs: features at a reference point of each problem, or cone coordinates without one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hyplearn.cone import plain_cone_rows
from hyplearn.data.training import TrainingData
from hyplearn.decision import Decision
from hyplearn.reference import reference_points
from hyplearn.reference.certified_margin import WidestMargin
from hyplearn.reference.widest import widest
from hyplearn.rows.built import ConeRowBuilder, RowBuilder, SignedRowBuilder
from hyplearn.tangent import Features, frame_coordinates, z_features
from hyplearn.types import Array


class RowKind(ABC):
    """Kind of rows of the binary problems, and the decision that linear functions of them define."""

    @abstractmethod
    def n_columns(self, d: int) -> int:
        """Number of columns of the rows for d coordinates."""

    @abstractmethod
    def references(self, data: TrainingData, sides: Sequence[Array]) -> Array:
        """Reference point of the rows of each problem."""

    @abstractmethod
    def builder(self, positive: int, p: Array, c: float, C: float) -> RowBuilder:
        """Row builder of a problem."""

    @abstractmethod
    def explicit(self, p: Array, c: float) -> Callable[[Array], Array]:
        """Function from points to unsigned rows, in plain NumPy, for certificates."""

    @abstractmethod
    def attributes(self, W: Array, d: int) -> dict[str, Array]:
        """Fitted attributes with the weights of all problems."""

    @abstractmethod
    def weights(self, fitted: Mapping[str, Array]) -> Array:
        """Weights of all problems in the solver's form, from the fitted attributes."""

    @abstractmethod
    def decision(self, classes: Array, c: float, fitted: Mapping[str, Array]) -> Decision:
        """Uncalibrated decision."""


@dataclass(frozen=True)
class PointRows(RowKind):
    """Frame coordinates or z features at a reference point of each problem, through which its boundary passes."""

    reference: Any
    features: Features

    def n_columns(self, d: int) -> int:
        """Number of columns: d."""
        return d

    def references(self, data: TrainingData, sides: Sequence[Array]) -> Array:
        """Reference points computed from the data."""
        return reference_points(self.reference, data, sides)

    def builder(self, positive: int, p: Array, c: float, C: float) -> RowBuilder:
        """Builder of implicit rows."""
        return SignedRowBuilder(positive, p, self.features, c, C)

    def explicit(self, p: Array, c: float) -> Callable[[Array], Array]:
        """Function from points to frame coordinates or z features."""
        return partial(frame_coordinates if self.features == "frame" else z_features, p=p, c=c)

    def attributes(self, W: Array, d: int) -> dict[str, Array]:
        """The normal vectors, as ``coef_``."""
        return {"coef_": W}

    def weights(self, fitted: Mapping[str, Array]) -> Array:
        """The normal vectors ``coef_``."""
        return fitted["coef_"]

    def decision(self, classes: Array, c: float, fitted: Mapping[str, Array]) -> Decision:
        """Signed distances to geodesic hyperplanes through the reference points."""
        return Decision.of_hyperplanes(classes, c, fitted["coef_"], fitted["reference_"])


@dataclass(frozen=True)
class WidestRows(PointRows):
    """z features at a point of the hyperplane with the widest margin of each problem; p is not given."""

    def references(self, data: TrainingData, sides: Sequence[Array]) -> Array:
        """For each problem, the point where the hulls of balls about both sides touch, or a point in both hulls."""
        return np.stack([_point_of(widest(data, side)) for side in sides])


def _point_of(found: WidestMargin) -> Array:
    if found.hyperplane is not None:
        return found.hyperplane[1]
    assert found.witness is not None
    return found.witness


@dataclass(frozen=True)
class FreeRows(RowKind):
    """Cone coordinates about the mean of all points: boundaries are generalised spheres, or geodesic hyperplanes."""

    intercept: bool

    def n_columns(self, d: int) -> int:
        """Number of columns: d + 1, or d + 2 with an intercept."""
        return d + 1 + self.intercept

    def references(self, data: TrainingData, sides: Sequence[Array]) -> Array:
        """The mean of all points, once per problem."""
        return reference_points("mean", data, [np.zeros(data.n_classes, dtype=np.int64)] * len(sides))

    def builder(self, positive: int, p: Array, c: float, C: float) -> RowBuilder:
        """Builder of explicit rows."""
        return ConeRowBuilder(positive, p, c, C, self.intercept)

    def explicit(self, p: Array, c: float) -> Callable[[Array], Array]:
        """Function from points to cone coordinates."""
        return partial(plain_cone_rows, centre=p, c=c, intercept=self.intercept)

    def attributes(self, W: Array, d: int) -> dict[str, Array]:
        """The coefficients, as ``coef_`` and ``intercept_``."""
        intercepts = W[:, d + 1].copy() if self.intercept else np.zeros(len(W))
        return {"coef_": np.ascontiguousarray(W[:, : d + 1]), "intercept_": intercepts}

    def weights(self, fitted: Mapping[str, Array]) -> Array:
        """``coef_`` and ``intercept_`` side by side."""
        return np.column_stack([fitted["coef_"], fitted["intercept_"]]) if self.intercept else fitted["coef_"]

    def decision(self, classes: Array, c: float, fitted: Mapping[str, Array]) -> Decision:
        """Decision whose values are the arsinh of linear functions of the rows."""
        parts = fitted["coef_"], fitted["reference_"], fitted["intercept_"]
        return Decision(classes, c, "sphere-arsinh", *parts)
