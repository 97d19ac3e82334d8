"""What a fitted estimator says of the points of a Dask collection, computed when it is asked for."""

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from hyplearn.types import Array


def lazily(local: Any, method: str, X: Any, columns: list[Any] | None, dtype: Any) -> Any:
    """The result of a method of a local estimator for every chunk: an array for an array, with the index for a frame.

    ``columns`` name those of a result with several, None stands for one number per row.
    """
    if isinstance(X, dd.DataFrame):
        return X.map_partitions(_of_partition, local, method, columns, dtype, meta=_frame(X._meta, columns, dtype))
    if not isinstance(X, da.Array):
        return getattr(local, method)(X)
    X = X.rechunk({1: -1})
    if columns is None:
        return X.map_blocks(_of_block, local, method, None, dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))
    width = len(columns)
    chunks, meta = (X.chunks[0], (width,)), np.empty((0, width), dtype=dtype)
    return X.map_blocks(_of_block, local, method, width, dtype, chunks=chunks, meta=meta)


def _of_block(X: Array, local: Any, method: str, width: int | None, dtype: Any) -> Array:
    if len(X):
        return getattr(local, method)(X)
    return np.empty(0 if width is None else (0, width), dtype=dtype)


def _of_partition(X: Any, local: Any, method: str, columns: list[Any] | None, dtype: Any) -> Any:
    values = _of_block(X, local, method, None if columns is None else len(columns), dtype)
    if columns is None:
        return pd.Series(values, index=X.index, dtype=dtype)
    return pd.DataFrame(values, index=X.index, columns=columns)


def _frame(meta: Any, columns: list[Any] | None, dtype: Any) -> Any:
    if columns is None:
        return pd.Series([], index=meta.index[:0], dtype=dtype)
    return pd.DataFrame(np.empty((0, len(columns)), dtype=dtype), index=meta.index[:0], columns=columns)
