"""Which source stands behind what a user passes."""

from typing import Any

import numpy as np

from hyplearn.rows.files import ArrayFile, ArrayPoints
from hyplearn.rows.points import PointSource


def point_source(X: Any, y: Any, sample_weight: Any) -> PointSource | None:
    """The source that X, y and weights make, or None where X is an array in memory."""
    if isinstance(X, PointSource):
        if y is not None or sample_weight is not None:
            raise ValueError(f"{X.name} brings its own labels and weights.\nPass neither y nor sample_weight.")
        return X
    if isinstance(X, np.memmap) and X.ndim == 2 and X.flags.c_contiguous and y is not None:
        return ArrayPoints(ArrayFile.of(X), _on_disk(y), _on_disk(sample_weight))
    return None


def _on_disk(array: Any) -> Any:
    """An array, by its file if it is mapped."""
    if array is None:
        return None
    if isinstance(array, np.memmap) and array.flags.c_contiguous:
        return ArrayFile.of(array)
    return np.asarray(array)
