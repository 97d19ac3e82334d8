"""Rows of a kernel map, which are kept between passes if the points are in memory and the rows have few elements.

Otherwise the solvers use *raw* rows, which are computed again in every pass. A raw row contains the kernel values
between a point and the landmarks, and a constant for the intercept. The rows of the map are the products of raw rows
with :func:`raw_projection`; computing them takes three times as long.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.kernels.nystrom import KernelMap, LandmarkKernel
from hyplearn.rows.built import KeptRows, row_costs, stream_rows
from hyplearn.rows.memory import ClassRows, RowSource
from hyplearn.types import Array

# Maximum number of elements of rows that are kept between passes (32 MiB). For larger data, ``solve_softmax_by_sample``
# computes the rows again in every pass, but needs so few passes that it takes a third of the time of ``solve_softmax``
# with kept rows.
KEPT_NUMBERS = 2**22
# Value in the intercept column. It is the largest norm that the kernel features of a point can have.
INTERCEPT = 1.0


@dataclass(frozen=True)
class MatrixChunk:
    """Chunk of rows that are stored as a matrix."""

    rows: Array

    def scores(self, W: Array) -> Array:
        """Compute ``⟨W_k, u_i⟩`` for every class k and row u_i; return an array of shape (K, n)."""
        return W @ self.rows.T

    def sums(self, Q: Array) -> Array:
        """Compute the weighted sum of rows ``Σ_i Q_ki u_i`` for every class k."""
        return Q @ self.rows


@dataclass(frozen=True, kw_only=True)
class KernelRows(ClassRows):
    """Raw rows: the kernel values between each point and the landmarks, and a constant for the intercept.

    They are computed from the points ``X`` and their gaps ``1 - c‖x‖²`` when they are accessed.
    """

    kernel: LandmarkKernel
    gaps: Array
    per_row: ClassVar[tuple[str, ...]] = (*ClassRows.per_row, "gaps")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""
        return len(self.X), len(self.kernel.landmarks) + 1

    def __getitem__(self, index: slice | Array) -> Array:
        return raw_rows(self.kernel, self.X[index], self.gaps[index])

    def chunk(self, cut: slice) -> MatrixChunk:
        """Compute the rows of a slice."""
        return MatrixChunk(self[cut])


def kernel_rows(kernel_map: KernelMap, X: Array, gaps: Array) -> Array:
    """Compute the rows of a kernel map, with a constant column for the intercept."""
    return np.column_stack([kernel_map.rows(X, gaps), np.full(len(X), INTERCEPT)])


def raw_rows(kernel: LandmarkKernel, X: Array, gaps: Array) -> Array:
    """Compute the kernel values between points and landmarks, with a constant column for the intercept."""
    out = np.empty((len(X), len(kernel.landmarks) + 1))
    kernel.fill(X, gaps, out)
    out[:, -1] = INTERCEPT
    return out


def raw_projection(kernel_map: KernelMap) -> Array:
    """Return the matrix that maps raw rows to rows of the kernel map, including the intercept column."""
    rows, columns = kernel_map.projection.shape
    out = np.zeros((rows + 1, columns + 1))
    out[:-1, :-1], out[-1, -1] = kernel_map.projection, 1.0
    return out


@dataclass(frozen=True)
class KernelRowBuilder:
    """Callable that builds rows of a kernel map with class codes.

    If ``explicit`` is True, the rows of the map are computed and stored as a matrix. Otherwise the result contains raw
    rows, which are computed when they are accessed.
    """

    kernel_map: KernelMap
    C: float
    n_classes: int
    explicit: bool

    def __call__(self, block: LabelledBlock) -> ClassRows:
        """Build the rows of a block."""
        codes, costs = block.codes.astype(np.int64, copy=False), row_costs(block, self.C)
        if self.explicit:
            rows = kernel_rows(self.kernel_map, block.X, block.gaps)
            return replace(ClassRows.of(rows, codes, costs, self.n_classes), start=block.start)
        return KernelRows(
            *(block.X, np.zeros(0), costs, costs, costs),
            start=block.start,
            times=costs,
            codes=codes,
            n_classes=self.n_classes,
            kernel=self.kernel_map.kernel,
            gaps=block.gaps,
        )


def rows_are_kept(data: TrainingData, kernel_map: KernelMap, kept_numbers: int = KEPT_NUMBERS) -> bool:
    """Return whether the rows of the map are kept between passes.

    They are kept if the points are in memory and the rows have at most ``kept_numbers`` elements.
    """
    return data.in_memory and data.n_rows * (kernel_map.projection.shape[1] + 1) <= kept_numbers


def build_kernel_rows(
    data: TrainingData, kernel_map: KernelMap, C: float, *, kept_numbers: int = KEPT_NUMBERS
) -> RowSource:
    """Return the rows of the kernel map if they are kept between passes, and raw rows otherwise.

    :func:`rows_are_kept` decides whether they are kept. A raw row contains the kernel values between a point and the
    landmarks. The cost of a row is C times its weight.
    """
    K, explicit = data.n_classes, rows_are_kept(data, kernel_map, kept_numbers)
    columns = (kernel_map.projection.shape[1] if explicit else len(kernel_map.kernel.landmarks)) + 1
    build = KernelRowBuilder(kernel_map, C, K, explicit)
    if data.in_memory:
        return KeptRows(build, data.blocks, data.n_rows, columns, K, data.threads)
    return stream_rows(data, build, C, columns, K, data.threads)
