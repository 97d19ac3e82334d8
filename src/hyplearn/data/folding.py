"""Map and reduce over blocks: a part is computed for each block, and the parts are merged into one result."""

import numbers
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache, reduce
from typing import Any, TypeAlias, TypeVar

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from hyplearn.types import Array

# Associative function that merges several parts into one; the parts may be results of earlier merges.
Merge: TypeAlias = Callable[[Sequence[Any]], Any]
M = TypeVar("M", bound=Merge)
# Merge functions that accept their parts in any order; see :func:`in_any_order`.
_IN_ANY_ORDER: set[Merge] = {max}
# Number of parts that are merged at a time: small enough that the parts fit into memory, and large enough that large
# parts are not copied for every block.
PENDING = 8
# Number of bytes that are copied at a time: few enough that an interrupt is handled within milliseconds.
PIECE = 2**23


def in_any_order(merge: M) -> M:
    """Mark a function as a merge whose result does not depend on the order of its parts, up to rounding.

    Sums can be merged in any order; concatenations cannot. With such a function, each worker of a cluster merges
    the parts of all its blocks, even if the blocks are not consecutive.
    """
    _IN_ANY_ORDER.add(merge)
    return merge


def needs_order(merge: Merge) -> bool:
    """Return whether parts must be merged in the order of their blocks."""
    return merge not in _IN_ANY_ORDER


class Folding:
    """Accumulator that merges the parts of a pass, ``PENDING`` parts at a time.

    Until the result is computed, only parts that cover the same number of blocks are merged. Thus only a few parts are
    in memory at a time, and each part is copied only O(log(number of blocks)) times. The order of merges depends only
    on the number of blocks, so that an interrupted pass can be resumed.
    """

    def __init__(self, merge: Merge, pending: Iterable[Any] = (), n_blocks: int = 0) -> None:
        self.merge, self.pending, self.n_blocks = merge, list(pending), n_blocks

    def add(self, part: Any) -> None:
        """Add the part that was computed for the next block."""
        self.pending.append(part)
        self.n_blocks += 1
        full = self.n_blocks
        while full % PENDING == 0:
            self.pending[-PENDING:] = [self.merge(self.pending[-PENDING:])]
            full //= PENDING

    def result(self) -> Any:
        """Merge all parts, and return the result."""
        return self.merge(self.pending)


def fold_parts(parts: Iterable[Any], merge: Merge) -> Any:
    """Merge parts in order, a few at a time."""
    folding = Folding(merge)
    for part in parts:
        folding.add(part)
    return folding.result()


def map_in_threads(
    function: Callable[..., Any], items: Iterable[Any], threads: int, arguments: Sequence[Any] = ()
) -> Iterator[Any]:
    """Yield ``function(item, *arguments)`` for every item, in order; the items are processed in threads."""
    items = list(items)
    if threads == 1 or len(items) == 1:
        for item in items:
            yield function(item, *arguments)
        return
    with ThreadPoolExecutor(threads) as pool:
        # Use a list of futures instead of pool.map, so that an interrupt can cancel tasks that have not started.
        futures = [pool.submit(function, item, *arguments) for item in items]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


@in_any_order
def summed(parts: Sequence[Any]) -> Any:
    """Return the sum of arrays or numbers, added in order."""
    return sum(parts[1:], parts[0])


@in_any_order
def columns_summed(parts: Sequence[Any]) -> tuple[Any, ...]:
    """For each position in the tuples, add the arrays or numbers at this position."""
    return tuple(summed(column) for column in zip(*parts, strict=True))


def columns_joined(parts: Sequence[Any]) -> tuple[Array, ...]:
    """For each position in the tuples, concatenate the arrays at this position.

    The arrays of a single tuple are not copied.
    """
    return tuple(joined(column) for column in zip(*parts, strict=True))


def joined(arrays: Sequence[Array], *, piece: int = PIECE) -> Array:
    """Concatenate arrays, copying at most ``piece`` bytes at a time, so that the copy can be interrupted.

    A single array is not copied.
    """
    if len(arrays) == 1:
        return arrays[0]
    dtype = reduce(np.promote_types, {array.dtype for array in arrays})
    out = np.empty((sum(map(len, arrays)), *arrays[0].shape[1:]), dtype)
    rows = max(1, piece // max(1, out[:1].nbytes))
    end = 0
    for array in arrays:
        for start in range(0, len(array), rows):
            part = array[start : start + rows]
            end += len(part)
            out[end - len(part) : end] = part
    return out


def threads_of(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``; None means all cores, but at most OMP_NUM_THREADS."""
    if n_jobs is None:
        return min(int(joblib.cpu_count()), _openmp_threads())
    if not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be None or an integer other than 0; got {n_jobs!r}.\n"
            "Pass None for all cores, or 1 for one core."
        )
    return int(joblib.effective_n_jobs(n_jobs))


def _openmp_threads() -> int:
    """Return the first number in OMP_NUM_THREADS, or 2**31 (no limit) if it is not set or OpenMP would ignore it."""
    outermost = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(outermost) if outermost.isdecimal() and int(outermost) > 0 else 2**31


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context manager that limits BLAS to one thread.

    More BLAS threads would change the rounding, and blocks are already processed in threads.
    """
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
