"""Dask support: a source whose points stay on the workers of a cluster, and lazy predictions.

A fit consists of a few passes. In each pass, every worker receives the arguments of the pass, such as the normal vector
of the hyperplane, merges the results of its chunks, and sends back the merged results. For d features, K classes and s
rows near the margin of an SVM, the sizes of the merged results are:

==============  =================================================
pass            bytes from each worker
==============  =================================================
hinge           3 kB + 8 d + 8 (d + 2) s
squared hinge   0.5 kB + 8 d² + 8 d
class means     0.5 kB + 8 K (d² + d)
softmax         0.5 kB + 8 m² with m = K (d + 2) if m <= 300, else 8 d² + 8 K d
==============  =================================================

Every worker receives about 1 kB + 8 K d bytes per pass. The number s is at most 2²⁴ / (d + 16), unless the solver
needs more rows to make progress. In addition, the workers send the following once per fit:

- a sample of one row in 16, with at most 8 million elements in total, from which a solver computes its starting point;
- for each binary problem with the reference "boundary", the rows to which a convex loss is fitted: at most 2 million
  elements, or 200 rows per dimension if that is more;
- the support vectors, and their positions and dual variables (16 bytes per vector), unless a binary problem has more
  than 2 million support vectors;
- at most 4 million elements of the rows on which probabilities are calibrated;
- at most about 20,000 rows, from which the iteration for the Fréchet means starts;
- at most 10,000 rows for all other reference points.

These amounts are measured by ``benchmarks/bench_dask.py``.

Chunks should fit into the memory of their workers. If a worker is lost, its chunks are computed again; if they cannot
be recomputed, the fit fails. A fit also fails if the cluster has no workers for a minute.
"""

import copy
import pickle
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any, TypeAlias

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, default_client, futures_of, get_worker, wait

from hyplearn.data.folding import Merge, fold_parts, needs_order
from hyplearn.data.labels import as_strings
from hyplearn.data.points import Block, Build, Function, PointSource, Visitor, on_pieces
from hyplearn.types import Array

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
# Size in bytes above which the arguments of a pass are sent only once, in a separate task whose result all workers use.
LARGE = 2**20
# Dask configuration that turns off warnings about large graphs, because arguments of up to LARGE bytes are deliberately
# sent with every task.
NO_WARNING = {"distributed.admin.large-graph-warning-threshold": "10 GiB"}
# Fitted attributes that may be as large as the data and are not needed for predictions.
UNUSED = ("support_", "support_vectors_", "dual_coef_")
# Type of a chunk: points, labels and weights. Labels and weights are None if the source has none.
Chunk: TypeAlias = tuple[Array, Array | None, Array | None]
# Type of a group of chunks that are reduced together: the address of their worker ("" for any worker), and the indices
# of the chunks.
Group: TypeAlias = tuple[str, list[int]]


class DaskPoints(PointSource):
    """Source of points, labels and weights in Dask collections; the chunks stay on their workers.

    In a pass, each worker runs one task, which processes the chunks of this worker, merges the results, and sends them
    to the client. The client merges the results of all workers in the order of rows. Chunks are assigned to workers at
    the start, so that all passes add numbers in the same order. If no client is passed, the client that was started
    last is used. The cluster is checked every ``check_seconds`` seconds, and a fit fails if there is no worker for
    ``patience`` seconds.
    """

    stays = True

    def __init__(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        client: Client | None = None,
        check_seconds: float = 2.0,
        patience: float = 60.0,
    ) -> None:
        _check_points(X)
        self.check_seconds, self.patience = check_seconds, patience
        self.client, self.name, self.n_features = _running_client(client), "X", int(X.shape[1])
        if isinstance(X, dd.DataFrame) and all(isinstance(name, str) for name in X.columns):
            self.feature_names = list(X.columns)
        chunks, runs = _place_chunks(self.client, _align_chunks(X, y, sample_weight), (X, y, sample_weight))
        counts = [self.client.submit(_count_rows, one, pure=False) for one in chunks]
        sizes = np.array(self._gathered(counts), dtype=np.int64)
        if not sizes.any():
            raise ValueError("X has no rows.\nPass at least one row.")
        self.n_rows = int(sizes.sum())
        kept = np.flatnonzero(sizes)
        self._chunks = [chunks[i] for i in kept]
        self._starts: list[int] = (np.cumsum(sizes) - sizes)[kept].tolist()
        self._groups = self._group_by_worker() if runs is None else _without_empty_chunks(runs, kept)

    def _group_by_worker(self) -> list[Group]:
        """Return the address of each worker and the indices of its chunks; workers are sorted by their first chunk."""
        holders = self.client.who_has(self._chunks)
        groups: dict[str, list[int]] = {}
        for i, one in enumerate(self._chunks):
            # If several workers have the chunk, choose the smallest address; if no worker has it any more, use "".
            groups.setdefault(min(holders[one.key], default=""), []).append(i)
        return list(groups.items())

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """Iterate over the chunks, transferring one at a time from the workers to the client."""
        for start, one in zip(self._starts[first:], self._chunks[first:], strict=True):
            X, y, weights = self._gathered([one])[0]
            yield Block(X, y, weights, start)

    def fold(self, function: Function, merge: Merge, *arguments: Any, build: Build = None, threads: int = 1) -> Any:
        """Run one pass: each worker reduces its chunks with all its threads, and the client merges the results.

        A worker merges the results of its chunks before it sends them. If ``merge`` depends on their order, the worker
        merges only the results of consecutive chunks, and sends one result for each run of consecutive chunks.
        """
        self.n_passes += 1
        load, pending = pickle.dumps((function, merge, needs_order(merge), build, arguments)), []
        with dask.config.set(NO_WARNING):
            sent = self.client.submit(bytes, load, pure=False) if len(load) > LARGE else load
            for worker, group in self._groups:
                chunks, starts = [self._chunks[i] for i in group], [self._starts[i] for i in group]
                place = {"workers": [worker], "allow_other_workers": True} if worker else {}
                pending.append(self.client.submit(_fold_on_worker, sent, group, starts, chunks, pure=False, **place))
        parts = sorted(chain.from_iterable(self._gathered(pending)), key=itemgetter(0))
        return fold_parts((part for _, part in parts), merge)

    def visited(self, function: Visitor[Any], state: Any, *, threads: int = 1) -> Any:
        """Run one sequential pass: each block is processed on its worker, with all threads of that worker."""
        self.n_passes += 1
        with dask.config.set(NO_WARNING):
            for start, one in zip(self._starts, self._chunks, strict=True):
                state = self.client.submit(_visit_chunk, function, start, one, state, pure=False)
        return self._gathered([state])[0]

    def _gathered(self, futures: Sequence[Any]) -> list[Any]:
        try:
            self._wait(list(futures))
            return list(self.client.gather(list(futures)))
        except CancelledError as lost:
            raise RuntimeError(
                "A worker was lost with data that cannot be recomputed, so the fit failed.\n"
                "Pass collections with a task graph, such as data read from files, or scatter them with broadcast=True."
            ) from lost

    def _wait(self, futures: list[Any]) -> None:
        """Wait for results; raise an error if there is no worker for ``patience`` seconds."""
        last_seen = time.monotonic()
        while True:
            try:
                wait(futures, timeout=self.check_seconds)
                return
            except TimeoutError:
                pass
            if self.client.nthreads():
                last_seen = time.monotonic()
                self.client.run_on_scheduler(_lift_restrictions)
            elif time.monotonic() - last_seen > self.patience:
                raise RuntimeError(
                    f"The Dask cluster has had no workers for {self.patience:.0f} seconds, so the fit failed.\n"
                    "Start workers, and fit again."
                )


def _lift_restrictions(dask_scheduler: Any) -> None:
    """Allow tasks that were assigned to a lost worker to run on any worker.

    Although these tasks were submitted with ``allow_other_workers=True``, the scheduler ignores this after all workers
    were lost (distributed 2026.3).
    """
    stuck = [task for task in dask_scheduler.unrunnable if task.loose_restrictions]
    for task in stuck:
        task.worker_restrictions = set()
    dask_scheduler.transitions({task.key: "waiting" for task in stuck}, stimulus_id="hyplearn-lift-restrictions")


def _count_rows(one: Chunk) -> int:
    return len(one[0])


def _visit_chunk(function: Visitor[Any], start: int, one: Chunk, state: Any) -> Any:
    return function(Block(*one, start), state, get_worker().state.nthreads)


def _fold_on_worker(load: bytes, group: list[int], starts: list[int], chunks: list[Chunk]) -> list[tuple[int, Any]]:
    """Reduce the chunks of a worker; return a pair for each run of chunks: the index of its first chunk and its result.

    If the merge depends on the order of its parts, a run consists of consecutive chunks. Otherwise, all chunks of the
    worker are one run.
    """
    function, merge, in_order, build, arguments = pickle.loads(load)
    blocks = [Block(*one, start) for one, start in zip(chunks, starts, strict=True)]
    if build is not None:
        function, arguments = on_pieces, (build, function, merge, arguments)
    runs = np.split(np.array(group), np.flatnonzero(np.diff(group) > 1) + 1) if in_order else [group]
    with ThreadPoolExecutor(get_worker().state.nthreads) as pool:
        parts = pool.map(function, blocks, *(repeat(argument) for argument in arguments))
        return [(int(run[0]), fold_parts(islice(parts, len(run)), merge)) for run in runs]


def _running_client(client: Client | None) -> Client:
    """Return ``client`` or, if it is None, the client that was started last; raise if this client cannot be used."""
    try:
        found = default_client() if client is None else client
    except ValueError:
        raise ValueError("There is no Dask cluster.\nStart one with distributed.Client(), or pass client=.") from None
    if found.status != "running" or found.asynchronous:
        state = "asynchronous" if found.status == "running" else found.status
        raise ValueError(
            f"The Dask client is {state}.\nPass a running, synchronous client such as distributed.Client()."
        )
    return found


def _check_points(X: Any) -> None:
    """Check that X is a two-dimensional collection of floats; raise TypeError otherwise."""
    if isinstance(X, da.Array) and X.ndim == 2:
        types = [X.dtype]
    elif isinstance(X, dd.DataFrame):
        types = list(X.dtypes)
    else:
        raise TypeError(
            f"X must be a Dask array of shape (n, d) or a Dask dataframe; got {_described(X)}.\n"
            "For points in memory, pass a NumPy array to the estimator."
        )
    if not types or any(kind not in FLOATS for kind in types):
        named = ", ".join(sorted({str(kind) for kind in types}))
        raise TypeError(
            f"X must have dtype float32 or float64; got {named or 'no columns'}.\nConvert it with X.astype(float)."
        )


def _align_chunks(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, ...]]:
    """Return the delayed points, labels and weights of each chunk of X.

    Arrays ``y`` and ``sample_weight`` are rechunked to match X if all chunk sizes are known.
    """
    columns = [_parts(X.rechunk({1: -1}) if isinstance(X, da.Array) else X)]
    for name, column in (("y", y), ("sample_weight", sample_weight)):
        columns.append([None] * len(columns[0]) if column is None else _parts(_cut_like(X, column, name)))
        if len(columns[-1]) != len(columns[0]):
            raise ValueError(
                f"X has {len(columns[0])} chunks, but {name} has {len(columns[-1])}, and the chunk sizes are unknown.\n"
                "Chunk both in the same way, or pass Dask arrays with known chunk sizes."
            )
    return list(zip(*columns, strict=True))


def _cut_like(X: Any, column: Any, name: str) -> Any:
    one_column = isinstance(column, dd.Series) or (isinstance(column, da.Array) and column.ndim == 1)
    if not one_column:
        raise TypeError(
            f"{name} must be a Dask array of shape (n,) or a Dask series, because X is a Dask collection; got "
            f"{_described(column)}.\nPass one column; for data in memory, pass "
            f"dask.array.from_array({name}, chunks={_sized(X)}.chunks[0])."
        )
    are_arrays = isinstance(X, da.Array) and isinstance(column, da.Array)
    if not are_arrays or np.isnan(X.shape[0]) or np.isnan(column.shape[0]):
        return column
    if X.shape[0] != column.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but {name} has {column.shape[0]}.\nPass one value per row of X.")
    return column.rechunk((X.chunks[0],))


def _sized(X: Any) -> str:
    """Return Python code that converts X to an array with known chunk sizes, for use in a message."""
    if isinstance(X, dd.DataFrame):
        return "X.to_dask_array(lengths=True)"
    return "X.compute_chunk_sizes()" if np.isnan(X.shape[0]) else "X"


def _described(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"{type(value).__name__} of shape {shape}" if isinstance(shape, tuple) else f"{type(value).__name__}"


def _parts(collection: Any) -> list[Any]:
    return list(np.ravel(np.array(collection.to_delayed(), dtype=object)))


def _place_chunks(
    client: Client, parts: Sequence[Sequence[Any]], collections: Sequence[Any]
) -> tuple[list[Any], list[Group] | None]:
    """Start computing the chunks; return their futures, and one group of chunks per worker.

    If a collection is persisted, its chunks are already on workers, and None is returned instead of the groups.
    Otherwise each worker gets consecutive chunks, which remain one group even if another worker computes some of them.
    The rounding of sums therefore depends only on the number of workers.
    """
    made = [dask.delayed(_as_chunk, pure=False)(*row) for row in parts]
    workers = sorted(client.nthreads())
    if not workers:
        raise ValueError(
            "The Dask cluster has no workers.\nStart workers, or wait for them with client.wait_for_workers(1)."
        )
    if futures_of([collection for collection in collections if collection is not None]):
        return list(client.compute(made)), None
    cuts = np.array_split(np.arange(len(made)), len(workers))
    runs = [(worker, cut.tolist()) for worker, cut in zip(workers, cuts, strict=True) if len(cut)]
    futures: list[Any] = []
    for worker, run in runs:
        futures += client.compute([made[i] for i in run], workers=[worker], allow_other_workers=True)
    return futures, runs


def _without_empty_chunks(groups: list[Group], kept: Array) -> list[Group]:
    """Remove empty chunks and empty groups, and renumber the other chunks.

    ``kept`` contains the indices of the non-empty chunks; the new index of a chunk is its position in ``kept``.
    """
    places = {int(i): place for place, i in enumerate(kept)}
    renumbered = [(worker, [places[i] for i in run if i in places]) for worker, run in groups]
    return [(worker, run) for worker, run in renumbered if run]


def _as_chunk(X: Any, y: Any, weights: Any) -> Chunk:
    """Convert the points, labels and weights of one chunk to contiguous arrays; copy them only if needed."""
    points = np.ascontiguousarray(X)
    labels = None if y is None else _labels(y)
    weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    for name, column in (("labels", labels), ("weights", weights)):
        if column is not None and column.shape != points.shape[:1]:
            raise ValueError(
                f"A chunk of {len(points)} points has {len(column)} {name}.\n"
                "Use the same chunks for X, y and sample_weight."
            )
    return points, labels, weights


def _labels(y: Any) -> Array:
    """Convert labels to a NumPy array, with a string dtype if this preserves them; raise if labels are missing."""
    if hasattr(y, "isna") and y.isna().any():
        raise ValueError(
            f"A chunk has {int(y.isna().sum())} missing labels.\nRemove the rows without labels before the fit."
        )
    return as_strings(np.asarray(y))


def lazy_result(estimator: Any, method: str, X: Any, columns: list[Any] | None, dtype: Any) -> Any:
    """Apply a method of a fitted estimator lazily to every chunk of X; if X is a data frame, its index is kept.

    ``columns`` lists the names of the result's columns; None means one value per row. The workers receive a copy of the
    estimator without support vectors and dual variables.
    """
    local = copy.copy(estimator)
    for name in UNUSED:
        vars(local).pop(name, None)
    if isinstance(X, dd.DataFrame):
        arguments = local, method, columns, dtype
        return X.map_partitions(_of_partition, *arguments, meta=_of_partition(X._meta, *arguments))
    X, width = X.rechunk({1: -1}), None if columns is None else len(columns)
    shape = {"drop_axis": 1} if width is None else {"chunks": (X.chunks[0], (width,))}
    return X.map_blocks(
        _of_block, local, method, width, dtype, **shape, meta=_of_block((), local, method, width, dtype)
    )


def _of_block(X: Any, local: Any, method: str, width: int | None, dtype: Any) -> Array:
    if len(X):
        return getattr(local, method)(X)
    return np.empty(0 if width is None else (0, width), dtype=dtype)


def _of_partition(X: Any, local: Any, method: str, columns: list[Any] | None, dtype: Any) -> Any:
    values = _of_block(X, local, method, None if columns is None else len(columns), dtype)
    if columns is None:
        return pd.Series(values, index=X.index, dtype=dtype)
    return pd.DataFrame(values, index=X.index, columns=columns)
