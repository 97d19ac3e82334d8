"""Sources of labelled points, which are read repeatedly in blocks and need not fit into memory."""

import os
import threading
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from hyplearn.data.folding import Folding, Merge, joined, map_in_threads
from hyplearn.files import check_unpacked
from hyplearn.types import Array

T = TypeVar("T")
# Default memory budget of a source, in bytes. Sources that fit into it are loaded into memory, because repeated
# passes over a file would be much slower.
MEMORY = 2**27
# Default size of a block: its number of rows times its number of columns (8 MiB in float64). Processing a block takes a
# few milliseconds, so that threads can share a pass and interrupts are handled quickly. The value is the same for any
# number of threads, so that sums over blocks are the same, too.
BLOCK_NUMBERS = 2**20
# Size of a piece of a block: its number of rows times its number of columns. It is small enough for the features that a
# solver computes from a piece to stay in the processor's cache.
PIECE_NUMBERS = 2**17


class Block(NamedTuple):
    """Consecutive points of a source, with their labels and weights."""

    X: Array  # points of shape (n, d): float32 if they are stored as float32, otherwise float64
    y: Array | None  # labels of the points, if the source has labels
    weights: Array | None  # weights of the points, if the source has weights
    start: int  # position of the first point in the source

    def taken(self, index: Array | slice) -> "Block":
        """Return a block with the points at the given positions and the same ``start``."""
        y, weights = (None if array is None else array[index] for array in (self.y, self.weights))
        return Block(self.X[index], y, weights, self.start)


# Function that a pass calls with each block and the other arguments of the pass. If the pass has a function ``build``,
# blocks are split into pieces, and the function is called with ``build(piece)`` for each piece.
Function: TypeAlias = Callable[..., Any]
Build: TypeAlias = Callable[[Block], Any] | None
# Function that returns the next state, given a block, the current state (which it must not modify) and the number of
# threads to use.
Visitor: TypeAlias = Callable[[Block, T, int], T]


class PointSource(ABC):
    """Source of points, such as a file or an array on disk, that can be read repeatedly in blocks.

    Attributes
    ----------
    name : str
        Name of the source in messages.
    paths : tuple of Path
        Files that contain the points, if any.
    n_features : int
        Number of coordinates of each point.
    n_rows : int or None
        Number of points, or None if it is not known yet.
    feature_names : list of str or None
        Names of the coordinates, or None if they have no names.
    stays : bool
        Whether the points stay on the workers of a cluster, even if they would fit into memory.
    in_memory : bool
        Whether the points, labels and weights are all arrays in memory.
    memory : int
        Maximum size in bytes of points that are loaded into memory and kept between passes.
    on_block : callable or None
        Function that a pass calls after each block, with the number of rows in the block; a pass over points on workers
        does not call it.
    n_passes : int
        Number of passes so far.
    """

    name: str
    paths: tuple[Path, ...] = ()
    n_features: int
    memory: int = MEMORY
    n_rows: int | None = None
    feature_names: list[str] | None = None
    stays: bool = False
    in_memory: bool = False
    on_block: Callable[[int], None] | None = None
    n_passes: int = 0

    @cached_property
    def block_rows(self) -> int:
        """Number of rows per block; ignored if the source is already divided into blocks."""
        return max(1, BLOCK_NUMBERS // self.n_features)

    @abstractmethod
    def blocks(self, first: int = 0) -> Iterator[Block]:
        """Iterate over the non-empty blocks, starting at block ``first``; every pass yields the same blocks."""

    def limited(self, *, block_rows: int | None = None, memory: int | None = None) -> Self:
        """Set the number of rows per block and the memory budget in bytes, and return the source.

        A value is left unchanged if its argument is None.
        """
        for name, value, least in (("block_rows", block_rows, 1), ("memory", memory, 0)):
            if value is not None:
                if not isinstance(value, (int, np.integer)) or value < least:
                    raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")
                setattr(self, name, int(value))
        return self

    def map(self, function: Callable[..., T], *arguments: Any, threads: int = 1, first: int = 0) -> Iterator[T]:
        """Yield ``function(block, *arguments)`` for each block, in order, starting at block ``first``.

        The function is called in ``threads`` threads. If the points are not in memory, one more thread reads the next
        block in the meantime.
        """
        if self.in_memory:
            yield from self.map_blocks(self.blocks(first), function, arguments, threads)
            return
        with ThreadPoolExecutor(threads) as pool:
            pending: deque[tuple[int, Future[T]]] = deque()
            for block in chain(read_ahead(self.blocks(first)), repeat(None)):
                if block is not None:
                    pending.append((len(block.X), pool.submit(function, block, *arguments)))
                if block is None or len(pending) > threads:
                    if not pending:
                        return
                    rows, future = pending.popleft()
                    result = future.result()
                    if self.on_block is not None:
                        self.on_block(rows)
                    yield result

    def map_blocks(
        self, blocks: Iterable[Any], function: Callable[..., T], arguments: Sequence[Any], threads: int
    ) -> Iterator[T]:
        """Yield ``function(block, *arguments)`` for each of the given blocks in memory, and report the rows of each."""
        for rows, result in map_in_threads(_with_length, blocks, threads, (function, *arguments)):
            if self.on_block is not None:
                self.on_block(rows)
            yield result

    def visits(self, function: Visitor[T], state: T, *, threads: int = 1, first: int = 0) -> Iterator[T]:
        """Compute ``state = function(block, state, threads)`` for each block, and yield each new state.

        The blocks are processed in order, starting at block ``first``.
        """
        for block in read_ahead(self.blocks(first)):
            state = function(block, state, threads)
            if self.on_block is not None:
                self.on_block(len(block.X))
            yield state

    def visited(self, function: Visitor[T], state: T, *, threads: int = 1) -> T:
        """Run one sequential pass, and return the last state that :meth:`visits` yields."""
        self.n_passes += 1
        return deque(self.visits(function, state, threads=threads), maxlen=1)[0]

    def fold(self, function: Function, merge: Merge, *arguments: Any, build: Build = None, threads: int = 1) -> Any:
        """Run one pass: compute ``function(block, *arguments)`` for every block and merge the results in order.

        If ``build`` is given, each block is split into pieces, and the function is called with ``build(piece)`` for
        each piece, not with the whole block.
        """
        self.n_passes += 1
        if build is not None:
            function, arguments = on_pieces, (build, function, merge, arguments)
        folding = Folding(merge)
        for part in self.map(function, *arguments, threads=threads):
            folding.add(part)
        return folding.result()

    @property
    def identity(self) -> tuple[Any, ...]:
        """Value that identifies the source; it changes when the contents change, if the source can detect this."""
        return self.name, self.n_features

    def checkpointed(self, path: str | os.PathLike[str], *, every: float = 30.0) -> "PointSource":
        """Return a source of the same points that stores the results of passes in a file.

        If a fit is killed and run again, it continues from this file, and gives exactly the result of an uninterrupted
        fit. The file is written at most once every ``every`` seconds, and removed when the fit is finished.
        """
        from hyplearn.data.checkpoint import CheckpointedPoints  # imported here to avoid a circular import

        return CheckpointedPoints(self, path, every)

    def finished(self) -> None:  # noqa: B027, most sources keep nothing
        """Release the results of passes; called at the end of a fit, when they are no longer needed."""

    def row_names(self) -> Array | None:
        """Return the names of all points as strings, or None if the source has no names."""
        return None

    def column(self, name: str) -> Array:
        """Read the column with this name; missing values become NaN in a numeric column, and None in other columns."""
        raise ValueError(
            f"{self.name} has no named columns; got {name!r}.\n"
            "Save the points in a table, an .npz file or an .h5ad file."
        )

    def gathered(self, *, labelled: bool = True) -> Block:
        """Load all points into memory as one block; raise if ``labelled`` is True but there are no labels."""
        if self.n_rows is not None and self.paths and all(path.is_file() for path in self.paths):
            advice = "Pass the path or open_points(path) to fit, which reads the file in blocks."
            check_unpacked(
                self.name, 8 * self.n_rows * self.n_features, sum(path.stat().st_size for path in self.paths), advice
            )
        blocks: list[Block] = []
        for block in self.blocks():
            check_shapes(block, self.name, self.n_features, labelled=labelled)
            blocks.append(block)
        return join_blocks(blocks)

    def within_memory(self) -> Block | None:
        """Load all points into memory; return None if they exceed the memory budget or stay on workers."""
        if self.stays or (self.n_rows is not None and 8 * self.n_rows * self.n_features > self.memory):
            return None
        blocks, size = [], 0
        for block in self.blocks():
            check_shapes(block, self.name, self.n_features, labelled=True)
            size += 8 * block.X.size
            if size > self.memory:
                return None
            blocks.append(block)
        return join_blocks(blocks)


def _with_length(block: Any, function: Callable[..., T], *arguments: Any) -> tuple[int, T]:
    return len(block.X), function(block, *arguments)


def join_blocks(blocks: Sequence[Block], start: int = 0) -> Block:
    """Concatenate blocks into one block, whose first row is at position ``start`` in the source."""
    if len(blocks) == 1:
        return blocks[0]._replace(start=start)
    columns = list(zip(*blocks, strict=True))[:3]
    X, y, weights = (None if column[0] is None else joined(column) for column in columns)
    assert X is not None
    return Block(X, y, weights, start)


def on_pieces(block: Any, build: Callable[[Any], Any], function: Function, merge: Merge, arguments: Any) -> Any:
    """Compute ``function(build(piece), *arguments)`` for every piece of a block, and merge the results."""
    step = max(1, PIECE_NUMBERS // block.X.shape[1])
    cuts = (slice(first, first + step) for first in range(0, len(block.X), step))
    pieces = (block.taken(cut)._replace(start=block.start + cut.start) for cut in cuts)
    return merge([function(build(piece), *arguments) for piece in pieces])


def point_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype for coordinates of a given dtype: float32 stays float32, all others become float64."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize == 4 else np.float64)


def checksum(array: Array, so_far: int = 0) -> int:
    """Return the CRC-32 of earlier data followed by an array's contents.

    ``so_far`` is the CRC-32 of the earlier data, or 0 if there are none.
    """
    plain = np.ascontiguousarray(array.astype(str) if array.dtype.hasobject else array)
    return zlib.crc32(plain.view(np.uint8).data, so_far)


def check_shapes(block: Block, name: str, n_features: int, *, labelled: bool) -> None:
    """Check that a block has ``n_features`` columns of floats, and one label and one weight per row.

    Weights must be finite and not negative. Labels are optional if ``labelled`` is False; weights are always optional.
    Raise ValueError if the block is invalid.
    """
    X, y, weights = block.X, block.y, block.weights
    if X.ndim != 2 or X.shape[1] != n_features or X.dtype not in (np.float32, np.float64):
        raise ValueError(
            f"{name}: the block that starts at row {block.start} has shape {X.shape} and dtype {X.dtype}; expected "
            f"{n_features} columns of float32 or float64.\nAll blocks must have the same number of columns."
        )
    if (y is None and labelled) or (y is not None and y.shape != (len(X),)):
        got = "no labels" if y is None else f"labels of shape {y.shape}"
        raise ValueError(
            f"{name}: each row must have one label; got {counted(len(X), 'row')} with {got}, starting at row "
            f"{block.start}.\nPass one label per row, or the name of the label column."
        )
    if weights is not None and weights.shape != (len(X),):
        raise ValueError(
            f"{name}: each row must have one weight; got {counted(len(X), 'row')} with weights of shape "
            f"{weights.shape}, starting at row {block.start}.\nPass one weight per row."
        )
    if weights is not None and len(bad := np.flatnonzero(~((weights >= 0) & (weights < np.inf)))):
        raise ValueError(
            f"{name}: weights must be finite and not negative; row {block.start + bad[0]} has {weights[bad[0]]}.\n"
            "Pass weight 0 to leave a row out."
        )


@contextmanager
def rows_named(block: Block, name: str) -> Iterator[None]:
    """Context manager that adds the source's name and the block's position to the message of a raised ValueError."""
    try:
        yield
    except ValueError as problem:
        raise ValueError(
            f"{name}, in the block that starts at row {block.start} (row numbers in this message count from there): "
            f"{problem}"
        ) from problem


def check_finite_rows(X: Array, name: str) -> None:
    """Raise if coordinates are NaN or infinite; the error reports the first affected row."""
    finite = np.isfinite(X)
    if not finite.all():
        where = tuple(np.argwhere(~finite)[0])
        count = int(np.count_nonzero(~finite.reshape(len(X), -1).all(axis=1)))
        raise ValueError(
            f"{name} holds {counted(count, 'row')} with NaN or infinite coordinates; the first is row {where[0]}, "
            f"counted from 0, with {X[where]}.\nRemove these rows, or impute the values."
        )


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Format a number with a noun, such as "1 row" or "2 rows"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def check_finite(block: Block, name: str) -> None:
    """Raise if coordinates are NaN or infinite, or labels are NaN; the error reports the first affected row."""
    check_finite_rows(block.X, name)
    if block.y is not None and block.y.dtype.kind == "f" and (missing := np.isnan(block.y)).any():
        raise ValueError(
            f"{name} lacks {missing.sum()} of {len(block.y)} labels; the first missing label is in row "
            f"{missing.argmax()}, counted from 0.\nRemove these rows, or fill in the labels."
        )


def regrouped(parts: Iterator[Block], size: int, start: int) -> Iterator[Block]:
    """Regroup rows into blocks of ``size`` rows; the last block may be smaller.

    ``start`` is the position of the first row in the source.
    """
    waiting: list[Block] = []
    count = 0
    for part in parts:
        waiting.append(part)
        count += len(part.X)
        while count >= size:
            joined = join_blocks(waiting, start)
            yield joined.taken(slice(size))
            start, count = start + size, count - size
            waiting = [joined.taken(slice(size, None))]
    if count:
        yield join_blocks(waiting, start)


def read_ahead(blocks: Iterator[T]) -> Iterator[T]:
    """Iterate over the blocks; a thread reads the next block while the current one is processed."""
    with ThreadPoolExecutor(1) as reader:
        stop = threading.Event()

        def following() -> T | None:
            return None if stop.is_set() else next(blocks, None)

        upcoming = reader.submit(following)
        try:
            while (block := upcoming.result()) is not None:
                upcoming = reader.submit(following)
                yield block
        finally:
            stop.set()
