"""Predictions for Dask collections, computed lazily."""

import copy
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd

from hyplearn.types import Array

UNUSED = ("support_", "support_vectors_", "dual_coef_")


def lazy_result(estimator: Any, method: str, X: Any, columns: list[Any] | None, dtype: Any) -> Any:
    """The result of a method of a fitted estimator for every chunk: an array for an array, with the index for a frame.

    Parameters
    ----------
    estimator : classifier
        Fitted; only its predictions travel to the workers.
    method : str
        Name of the method.
    X : dask array or dataframe
        Points of the ball.
    columns : list or None
        Names of the columns of the result; None for one value per row.
    dtype : dtype
        Type of the result.
    """
    local = _without_proof(estimator)
    if isinstance(X, dd.DataFrame):
        return X.map_partitions(_of_partition, local, method, columns, dtype, meta=_frame(X._meta, columns, dtype))
    X = X.rechunk({1: -1})
    if columns is None:
        return X.map_blocks(_of_block, local, method, None, dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))
    width = len(columns)
    chunks, meta = (X.chunks[0], (width,)), np.empty((0, width), dtype=dtype)
    return X.map_blocks(_of_block, local, method, width, dtype, chunks=chunks, meta=meta)


def _without_proof(estimator: Any) -> Any:
    """A copy that predicts the same without the dual variables, which may be as large as the data."""
    local = copy.copy(estimator)
    for name in UNUSED:
        vars(local).pop(name, None)
    return local


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
