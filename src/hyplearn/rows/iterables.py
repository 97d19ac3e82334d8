"""Points in blocks that a user's own object gives, as often as it is asked."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from hyplearn.rows.points import Block, PointSource


class BlockPoints(PointSource):
    """Points of an iterable of blocks, taken as they come: ``X``, ``(X, y)`` or ``(X, y, weights)``.

    Parameters
    ----------
    source : iterable
        It is iterated anew in every pass, and gives the same blocks each time.
    """

    def __init__(self, source: Any, name: str = "the source of blocks") -> None:
        if iter(source) is (again := iter(source)):
            raise ValueError(
                f"A fit reads its rows several times; got a {type(source).__name__}, which can be read once.\n"
                "Pass a list of blocks, or an object whose __iter__ begins anew each time."
            )
        self.source, self.name = source, name
        self.n_rows: int | None = None
        first = next((block for block in map(self._block, again) if len(block[0])), None)
        if first is None:
            raise ValueError(f"{name} gave no rows.\nPass blocks (X, y) of at least one row.")
        self.n_features, self.parts = first[0].shape[1], len(first)
        self.kind = _kind(first)

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """The user's blocks, without those that are empty."""
        start = number = 0
        for parts in map(self._block, self.source):
            self._check_like_first(parts, start)
            if len(parts[0]) and number >= first:
                X, y, weights = (*parts, None, None)[:3]
                yield Block(X, y, None if weights is None else weights.astype(np.float64), start)
            start += len(parts[0])
            number += len(parts[0]) > 0
        if self.n_rows is None:
            self.n_rows = start
        if start != self.n_rows:
            raise ValueError(
                f"{self.name} gave {start} rows, in an earlier pass {self.n_rows}.\nGive the same rows each time."
            )

    def _block(self, given: Any) -> tuple[Any, ...]:
        """Arrays of points, labels and weights of one block."""
        parts = given if isinstance(given, tuple) else (given,)
        arrays = tuple(np.ascontiguousarray(part) for part in parts)
        if not 1 <= len(arrays) <= 3 or arrays[0].ndim != 2 or arrays[0].dtype.kind != "f":
            raise ValueError(
                f"{self.name} must give blocks (X, y) or (X, y, weights) with float rows X; got {given!r:.80}.\n"
                "Pass tuples of arrays of the same length."
            )
        return arrays

    def _check_like_first(self, parts: tuple[Any, ...], start: int) -> None:
        lengths = [part.shape[:1] for part in parts]
        if len(parts) != self.parts or len(set(lengths)) > 1 or _kind(parts) != self.kind:
            described = ", ".join(f"{part.dtype} of shape {part.shape}" for part in parts)
            raise ValueError(
                f"{self.name}: the block from row {start} on is unlike the first; it holds {described}.\n"
                "Give each block points, labels of one type and weights, or leave the same out of all."
            )


def _kind(parts: tuple[Any, ...]) -> str:
    """What labels are: numbers and text would become one type in silence."""
    if len(parts) < 2:
        return "none"
    return {"u": "i", "S": "U"}.get(parts[1].dtype.kind, parts[1].dtype.kind)
