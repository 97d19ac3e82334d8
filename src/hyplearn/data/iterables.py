"""Points in blocks from an iterable of the user."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from hyplearn.data.points import Block, PointSource, checksum, point_type


class BlockPoints(PointSource):
    """Points of an iterable of blocks ``X``, ``(X, y)`` or ``(X, y, weights)``, which keep their size.

    Blocks are copied: the next one is read while one is processed, and may overwrite its memory.

    Parameters
    ----------
    source : iterable
        Iterated in every pass; it must give the same rows each time.
    """

    def __init__(self, source: Any, name: str = "the source of blocks") -> None:
        if iter(source) is (again := iter(source)):
            raise ValueError(
                f"A fit reads its rows several times; got a {type(source).__name__}, which can be read once.\n"
                "Pass a list of blocks, or an object whose __iter__ begins anew each time."
            )
        self.source, self.name = source, name
        self.n_rows: int | None = None
        self.sums: list[int] | None = None
        first = next((block for block in map(self._block, again) if len(block[0])), None)
        if first is None:
            raise ValueError(f"{name} gave no rows.\nPass blocks (X, y) of at least one row.")
        self.n_features, self.parts = first[0].shape[1], len(first)
        self.kind = _kind(first)
        self.first_sums = [checksum(part) for part in first]

    @property
    def identity(self) -> tuple[Any, ...]:
        """Number of coordinates, and checksums of the first block."""
        return self.name, self.n_features, *self.first_sums

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """The blocks of the iterable, without empty ones."""
        start, number, sums = 0, 0, [0] * self.parts
        for parts in map(self._block, self.source):
            if not len(parts[0]):
                continue
            self._check_like_first(parts, start)
            sums = [checksum(part, so_far) for part, so_far in zip(parts, sums, strict=True)]
            if number >= first:
                X, y, weights = (*parts, None, None)[:3]
                yield Block(X, y, None if weights is None else weights.astype(np.float64), start)
            start, number = start + len(parts[0]), number + 1
        self._check_same(start, sums)

    def _check_same(self, n_rows: int, sums: list[int]) -> None:
        """Raise if a pass differs from the first: a solver would mix the results of both."""
        if self.n_rows is None or self.sums is None:
            self.n_rows, self.sums = n_rows, sums
        if n_rows != self.n_rows:
            raise ValueError(
                f"{self.name} gave {n_rows} rows, in an earlier pass {self.n_rows}.\nGive the same rows each time."
            )
        if sums != self.sums:
            raise ValueError(
                f"{self.name} gave {n_rows} rows, of which some differ from those of an earlier pass.\n"
                "Give the same rows in the same order each time; do not shuffle them."
            )

    def _block(self, given: Any) -> tuple[Any, ...]:
        """Arrays of points, labels and weights of one block."""
        parts = tuple(given) if isinstance(given, tuple) or _is_listed(given) else (given,)
        arrays = tuple(np.array(part, order="C") for part in parts)
        if not 1 <= len(arrays) <= 3 or arrays[0].ndim != 2 or arrays[0].dtype.kind not in "fiu":
            raise ValueError(
                f"{self.name} must give blocks (X, y) or (X, y, weights) with rows X of numbers; got {given!r:.80}.\n"
                "Pass tuples of arrays of the same length."
            )
        return arrays[0].astype(point_type(arrays[0].dtype), copy=False), *arrays[1:]

    def _check_like_first(self, parts: tuple[Any, ...], start: int) -> None:
        lengths = [part.shape[:1] for part in parts]
        if len(parts) != self.parts or len(set(lengths)) > 1 or _kind(parts) != self.kind:
            described = ", ".join(f"{part.dtype} of shape {part.shape}" for part in parts)
            raise ValueError(
                f"{self.name}: the block from row {start} on is unlike the first; it holds {described}.\n"
                "Give each block points, labels of one type and weights, or leave the same out of all."
            )


def _is_listed(given: Any) -> bool:
    """Whether a list is a batch of points with labels, as data loaders give it, and not a table of numbers."""
    return isinstance(given, list) and len(given) in (2, 3) and np.ndim(given[0]) == 2


def _kind(parts: tuple[Any, ...]) -> str:
    """Kind of the labels: NumPy would silently turn numbers and strings into one type."""
    if len(parts) < 2:
        return "none"
    return {"u": "i", "S": "U"}.get(parts[1].dtype.kind, parts[1].dtype.kind)
