"""Blocks of another size."""

from collections.abc import Iterator, Sequence

import numpy as np

from hyplearn.data.points import Block


def regrouped(parts: Iterator[Block], size: int, start: int) -> Iterator[Block]:
    """The same rows in blocks of one size."""
    waiting: list[Block] = []
    count = 0
    for part in parts:
        waiting.append(part)
        count += len(part.X)
        while count >= size:
            joined = _joined(waiting, start)
            yield _cut(joined, slice(size), start)
            start, count = start + size, count - size
            waiting = [_cut(joined, slice(size, None), start)]
    if count:
        yield _joined(waiting, start)


def _joined(blocks: Sequence[Block], start: int) -> Block:
    X, y, weights = (
        None if column[0] is None else np.concatenate(column) for column in list(zip(*blocks, strict=True))[:3]
    )
    assert X is not None
    return Block(X, y, weights, start)


def _cut(block: Block, rows: slice, start: int) -> Block:
    y, weights = (None if array is None else array[rows] for array in (block.y, block.weights))
    return Block(block.X[rows], y, weights, start)
