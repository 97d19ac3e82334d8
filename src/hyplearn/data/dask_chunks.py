"""Dask collections as chunks of points, labels and weights that lie side by side on the workers."""

from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from distributed import Client, default_client, futures_of

from hyplearn.types import Array

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
# Points, labels (None where there are none) and weights (None where all are equal) of a chunk.
Chunk = tuple[Array, Array | None, Array | None]


def client_of(client: Client | None) -> Client:
    """The client that was passed, or the one that was started last."""
    try:
        found = default_client() if client is None else client
    except ValueError:
        raise ValueError(
            "There is no Dask cluster to work on.\nStart one by distributed.Client(), or pass client."
        ) from None
    if found.status != "running" or found.asynchronous:
        state = "asynchronous" if found.status == "running" else found.status
        raise ValueError(f"The Dask client is {state}.\nPass one that runs and waits, such as distributed.Client().")
    return found


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array, dataframe or series."""
    return isinstance(X, (da.Array, dd.DataFrame, dd.Series))


def feature_names(X: Any) -> list[str] | None:
    """The names of the columns of a dataframe, if all are text."""
    if not isinstance(X, dd.DataFrame) or not all(isinstance(name, str) for name in X.columns):
        return None
    return list(X.columns)


def check_points(X: Any) -> None:
    """Refuse what cannot be points."""
    if isinstance(X, da.Array) and X.ndim == 2:
        types = [X.dtype]
    elif isinstance(X, dd.DataFrame):
        types = list(X.dtypes)
    else:
        raise TypeError(
            f"X must be a Dask array of shape (n, d) or a Dask dataframe; got {_described(X)}.\n"
            "Points in memory need no Dask: pass them to the estimator of hyplearn itself."
        )
    if not types or any(kind not in FLOATS for kind in types):
        named = ", ".join(sorted({str(kind) for kind in types}))
        raise TypeError(f"X must hold float32 or float64; got {named or 'no column'}.\nConvert it by X.astype(float).")


def aligned(X: Any, y: Any, sample_weight: Any) -> list[list[Any]]:
    """For every chunk the delayed points, labels and weights; arrays of known sizes are cut as X is."""
    columns = [_parts(X.rechunk({1: -1}) if isinstance(X, da.Array) else X)]
    for name, column in (("y", y), ("sample_weight", sample_weight)):
        columns.append([None] * len(columns[0]) if column is None else _parts(_cut_like(X, column, name)))
        if len(columns[-1]) != len(columns[0]):
            raise ValueError(
                f"X has {len(columns[0])} chunks, {name} has {len(columns[-1])}, and their sizes are not known.\n"
                "Cut both in the same way, or call compute_chunk_sizes() on both."
            )
    return [list(row) for row in zip(*columns, strict=True)]


def _cut_like(X: Any, column: Any, name: str) -> Any:
    one_column = isinstance(column, dd.Series) or (isinstance(column, da.Array) and column.ndim == 1)
    if not one_column:
        raise TypeError(
            f"{name} must be a Dask array of shape (n,) or a Dask series, as X is a Dask collection; got "
            f"{_described(column)}.\nMake one by dask.array.from_array(y, chunks=X.chunks[0])."
        )
    if not isinstance(X, da.Array) or not isinstance(column, da.Array):
        return column
    if np.isnan(X.shape[0]) or np.isnan(column.shape[0]):
        return column
    if X.shape[0] != column.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, {name} has {column.shape[0]}.\nPass one for every row.")
    return column.rechunk((X.chunks[0],))


def _described(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"{type(value).__name__} of shape {shape}" if isinstance(shape, tuple) else f"{type(value).__name__}"


def _parts(collection: Any) -> list[Any]:
    return list(np.ravel(np.array(collection.to_delayed(), dtype=object)))


def placed(client: Client, parts: Sequence[Sequence[Any]], collections: Sequence[Any]) -> list[Any]:
    """The chunks as futures. What lies on workers already stays there; the rest goes in equal runs to all workers.

    Runs make where a chunk lies, and with it the last bits of a sum, a matter of the number of workers alone.
    """
    made = [dask.delayed(chunk, pure=False)(*row) for row in parts]
    workers = sorted(client.nthreads())
    if not workers:
        raise ValueError("The Dask cluster has no workers.\nStart some, or wait for them: client.wait_for_workers(1).")
    if futures_of([collection for collection in collections if collection is not None]):
        return list(client.compute(made))
    runs = np.array_split(np.arange(len(made)), len(workers))
    futures: list[Any] = []
    for worker, run in zip(workers, runs, strict=True):
        if len(run):
            futures += client.compute([made[i] for i in run], workers=[worker], allow_other_workers=True)
    return futures


def chunk(X: Any, y: Any, weights: Any) -> Chunk:
    """Arrays of what a collection holds in a chunk, without a copy where it is in order already."""
    points = np.ascontiguousarray(X)
    labels = None if y is None else _labels(y)
    weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    for name, column in (("labels", labels), ("weights", weights)):
        if column is not None and column.shape != points.shape[:1]:
            raise ValueError(
                f"A chunk of {len(points)} points has {len(column)} {name}.\nCut X, y and sample_weight alike."
            )
    return points, labels, weights


def _labels(y: Any) -> Array:
    """Labels as NumPy knows them: text of pandas as text, and no missing ones."""
    if hasattr(y, "isna") and y.isna().any():
        raise ValueError(f"{int(y.isna().sum())} labels of a chunk are missing.\nLeave out such rows before the fit.")
    labels = np.asarray(y)
    if labels.dtype == object and len(labels) and all(isinstance(label, str) for label in labels):
        return labels.astype(str)
    return labels


def size(chunk: Chunk) -> tuple[int, np.dtype[Any]]:
    """Number of rows of a chunk, and their type."""
    return len(chunk[0]), chunk[0].dtype
