"""Points on the workers of a Dask cluster, as a source of blocks.

A fit is a handful of passes. In a pass every worker gets w (or another argument) and sends one part, merged from all of
its chunks. In bytes, for d features, K classes and s rows near the margin:

==============  =================================================
pass            bytes from each worker
==============  =================================================
hinge           3 kB + 8 d + 8 (d + 2) s
squared hinge   0.5 kB + 8 d² + 8 d
class means     0.5 kB + 8 K (d² + d)
softmax         0.5 kB + 8 (K (d + 2))² up to 300 weights; 8 d² + 8 K d beyond
==============  =================================================

and about 1 kB + 8 K d to each; s is at most 2²⁴ / (d + 16), unless so few rows do not suffice to get on. Once in a fit
rows travel: one in 16, at most 8 million numbers, from which a solver starts; for each binary problem with the
reference "boundary" the rows of its convex fit, 2 million numbers or 200 rows for each dimension; positions and dual
variables of the support vectors, 16 bytes each, and these themselves, unless they are more than 2 million; at most 4
million numbers for probabilities; 20,000 rows for the means; up to 10,000 rows for the reference point.
``benchmarks/bench_dask.py`` measures these.

Chunks should fit into the memory of their workers. A worker that is lost costs the time to compute its chunks again;
where they cannot be computed again, the fit ends with an error.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from itertools import islice, repeat
from operator import itemgetter
from typing import Any

import dask
import numpy as np
from distributed import Client, get_worker

from hyplearn.data.dask_chunks import Chunk, aligned, check_points, client_of, feature_names, placed, size
from hyplearn.data.folding import Merge, fold_parts, needs_order
from hyplearn.data.points import Block, PointSource, Visitor, on_pieces

# Bytes of a pass's arguments beyond which workers pass them on to each other.
LARGE = 2**20


class DaskPoints(PointSource):
    """Points, labels and weights in the chunks of Dask collections, which stay on the workers that hold them.

    A pass is one task per worker: it works on the chunks that lie there, merges what they yield, and sends that to the
    client, which merges it in the order of rows. Which worker has which chunks is settled at the beginning, so the
    order of all sums is too. Where a worker is lost, its chunks are computed again by another one, if they can be.

    Parameters
    ----------
    X : dask array of shape (n, d), or dask dataframe
        Points, float32 or float64.
    y, sample_weight : dask arrays of shape (n,), or dask series, optional
        Their labels and weights.
    client : distributed.Client, optional
        The cluster to work on; by default the one that was started last.
    """

    stays = True

    def __init__(self, X: Any, y: Any = None, sample_weight: Any = None, *, client: Client | None = None) -> None:
        check_points(X)
        self.client, self.name = client_of(client), "X"
        self.n_features, self.feature_names = int(X.shape[1]), feature_names(X)
        chunks = placed(self.client, aligned(X, y, sample_weight), (X, y, sample_weight))
        found = self._gathered([self._submitted(size, one) for one in chunks])
        sizes = np.array([rows for rows, _ in found], dtype=np.int64)
        if not sizes.any():
            raise ValueError("X holds no rows at all.\nCheck how it was made.")
        self.n_rows = int(sizes.sum())
        kept = np.flatnonzero(sizes)
        self._chunks = [chunks[i] for i in kept]
        self._starts = (np.cumsum(sizes) - sizes)[kept]
        self._groups = _by_worker(self._holders())

    def _holders(self) -> list[str]:
        """A worker that holds each chunk, the first in order of their addresses; "" where one was just lost."""
        found = self.client.who_has(self._chunks)
        return [min(found[one.key], default="") for one in self._chunks]

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """One chunk after the other, brought to the client."""
        for start, one in zip(self._starts[first:], self._chunks[first:], strict=True):
            X, y, weights = self._gathered([one])[0]
            yield Block(X, y, weights, int(start))

    def fold(
        self,
        function: Callable[..., Any],
        merge: Merge,
        *arguments: Any,
        build: Callable[[Block], Any] | None = None,
        threads: int = 1,
    ) -> Any:
        """One pass, in as many threads as the workers have: blocks are reduced on their workers and then here.

        Where the order of parts matters, only neighbours are merged on a worker, and the others travel.
        """
        self.n_passes += 1
        load = pickle.dumps((function, merge, needs_order(merge), build, arguments))
        parts = sorted((part for found in self.on_workers(load) for part in found), key=itemgetter(0))
        return fold_parts([part for _, part in parts], merge)

    def on_workers(self, load: bytes) -> list[list[tuple[int, Any]]]:
        """The parts of each worker, with the index of the first chunk of each, for the pickled function of a pass."""
        sent = self._submitted(bytes, load) if len(load) > LARGE else load
        pending = []
        for worker, group in self._groups:
            chunks, starts = [self._chunks[i] for i in group], [int(self._starts[i]) for i in group]
            pending.append(self._submitted(_fold_on_worker, sent, group, starts, chunks, worker=worker))
        return self._gathered(pending)

    def visited(self, function: Visitor[Any], state: Any, *, threads: int = 1) -> Any:
        """One pass from block to block, each visited where it lies, in as many threads as its worker has."""
        self.n_passes += 1
        for start, one in zip(self._starts, self._chunks, strict=True):
            state = self._submitted(_on_chunk, function, int(start), one, state)
        return self._gathered([state])[0]

    def _submitted(self, function: Callable[..., Any], *arguments: Any, worker: str | None = None) -> Any:
        place = {} if not worker else {"workers": [worker], "allow_other_workers": True}
        # Arguments travel as often as workers need them, which is not worth a warning.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10 GiB"}):
            return self.client.submit(function, *arguments, pure=False, **place)

    def _gathered(self, futures: Sequence[Any]) -> list[Any]:
        try:
            return list(self.client.gather(list(futures)))
        except CancelledError as lost:
            raise RuntimeError(
                "A worker was lost with data that cannot be computed again, so no model was made.\n"
                "Pass collections that are made by a graph, such as read from files, or scatter with broadcast=True."
            ) from lost


def _by_worker(holders: Sequence[str]) -> list[tuple[str, list[int]]]:
    """The workers, in the order of their first chunks, with the numbers of their chunks."""
    groups: dict[str, list[int]] = {}
    for i, holder in enumerate(holders):
        groups.setdefault(holder, []).append(i)
    return list(groups.items())


def _on_chunk(function: Visitor[Any], start: int, one: Chunk, state: Any) -> Any:
    return function(Block(*one, start), state, get_worker().state.nthreads)


def _fold_on_worker(load: bytes, group: list[int], starts: list[int], chunks: list[Chunk]) -> list[tuple[int, Any]]:
    """Reduce the chunks of a worker: to one part, or to one for every run of neighbours."""
    function, merge, in_order, build, arguments = pickle.loads(load)
    blocks = [Block(*one, start) for one, start in zip(chunks, starts, strict=True)]
    if build is not None:
        function, arguments = on_pieces, (build, function, merge, arguments)
    runs = np.split(np.array(group), np.flatnonzero(np.diff(group) > 1) + 1) if in_order else [group]
    with ThreadPoolExecutor(get_worker().state.nthreads) as pool:
        parts = pool.map(function, blocks, *(repeat(argument) for argument in arguments))
        return [(int(run[0]), fold_parts(islice(parts, len(run)), merge)) for run in runs]
