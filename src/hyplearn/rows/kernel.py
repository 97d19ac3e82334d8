"""Rows of a kernel map: kept if they fit a memory budget, otherwise made some at a time in every pass."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.kernels.nystrom import KernelMap
from hyplearn.rows.built import KeptRows, row_costs, stream_rows
from hyplearn.rows.memory import ClassRows, RowSource
from hyplearn.types import Array

# Numbers up to which rows of points in memory are kept between passes: 256 MiB.
KEPT_NUMBERS = 2**25
# Last entry of every row, for an intercept: as long as a row is at most.
INTERCEPT = 1.0


@dataclass(frozen=True, kw_only=True)
class KernelRows(ClassRows):
    """Rows of a kernel map, made when they are read; ``X`` holds the points and ``gaps`` their gaps."""

    kernel_map: KernelMap
    gaps: Array
    per_row: ClassVar[tuple[str, ...]] = (*ClassRows.per_row, "gaps")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.X), self.kernel_map.projection.shape[1] + 1

    def __getitem__(self, index: slice | Array) -> Array:
        return kernel_rows(self.kernel_map, self.X[index], self.gaps[index])


def kernel_rows(kernel_map: KernelMap, X: Array, gaps: Array) -> Array:
    """Explicit rows with the constant column of an intercept."""
    return np.column_stack([kernel_map.rows(X, gaps), np.full(len(X), INTERCEPT)])


@dataclass(frozen=True)
class KernelRowBuilder:
    """Builds the rows of all classes of a kernel map, explicit or made when they are read."""

    kernel_map: KernelMap
    C: float
    n_classes: int
    explicit: bool

    def __call__(self, block: LabelledBlock) -> ClassRows:
        """Rows of a block."""
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
            kernel_map=self.kernel_map,
            gaps=block.gaps,
        )


def build_kernel_rows(
    data: TrainingData, kernel_map: KernelMap, C: float, *, kept_numbers: int = KEPT_NUMBERS
) -> RowSource:
    """Rows of the training data at C times their weights, kept between passes up to ``kept_numbers`` numbers."""
    K, columns = data.n_classes, kernel_map.projection.shape[1] + 1
    explicit = data.in_memory and data.n_rows * columns <= kept_numbers
    build = KernelRowBuilder(kernel_map, C, K, explicit)
    if data.in_memory:
        return KeptRows(build, data.blocks, data.n_rows, columns, K, data.threads)
    return stream_rows(data, build, C, columns, K, data.threads)
