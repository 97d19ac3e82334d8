"""Merging the results of the parts of a pass."""

import time
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.data.folding import PENDING, Folding, fold_parts, joined, map_in_threads


class Joining:
    """Merge of strings that records their lengths."""

    def __init__(self):
        self.lengths = []

    def __call__(self, parts):
        self.lengths.append([len(part) for part in parts])
        return "".join(parts)


@given(st.integers(1, 700))
def test_all_parts_are_merged_in_order(n):
    text = [chr(i) for i in range(n)]
    assert fold_parts(iter(text), "".join) == "".join(text)


def test_parts_of_equal_size_are_merged_and_few_are_pending():
    merge, waiting = Joining(), 0
    folding = Folding(merge)
    for _ in range(PENDING**3):
        folding.add("x")
        waiting = max(waiting, len(folding.pending))
    assert waiting <= 3 * (PENDING - 1)
    assert all(len(set(lengths)) == 1 and len(lengths) == PENDING for lengths in merge.lengths)
    copied = sum(sum(lengths) for lengths in merge.lengths)
    assert copied == 3 * PENDING**3


@pytest.mark.parametrize("stopped", [1, PENDING - 1, PENDING, PENDING + 1, 5 * PENDING + 3])
def test_a_resumed_pass_merges_like_an_uninterrupted_one(stopped):
    whole, merge = Joining(), Joining()
    fold_parts("x" * 100, whole)
    before = Folding(merge)
    for _ in range(stopped):
        before.add("x")
    after = Folding(merge, before.pending, stopped)
    for _ in range(stopped, 100):
        after.add("x")
    after.result()
    assert merge.lengths == whole.lengths


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 50])
def test_a_function_is_applied_to_every_item_in_order(threads, n):
    assert list(map_in_threads(pow, iter(range(n)), threads, (2, 7))) == [i * i % 7 for i in range(n)]


@pytest.mark.parametrize("threads", [1, 2])
def test_pending_items_are_not_processed_after_an_error(threads):
    seen = []

    def reciprocal(item):
        seen.append(item)
        time.sleep(0.01 if item > 1 else 0)
        return 1 / item

    with pytest.raises(ZeroDivisionError):
        list(map_in_threads(reciprocal, [1, 0, *range(2, 500)], threads))
    assert len(seen) < 250


class Counted(np.ndarray):
    """Array that records the number of bytes of each slice."""

    taken: ClassVar = []

    def __getitem__(self, index):
        part = super().__getitem__(index)
        self.taken.append(part.nbytes)
        return part


@pytest.mark.parametrize("piece", [1, 50, 10**6])
def test_arrays_are_joined_in_pieces_as_numpy_joins_them_at_once(piece):
    arrays = [np.arange(12.0).reshape(6, 2), np.empty((0, 2)), np.ones((70, 2), dtype=np.float32)]
    whole = joined(arrays, piece=piece)
    assert whole.dtype == np.float64
    assert np.array_equal(whole, np.concatenate(arrays))
    assert joined(arrays[:1]) is arrays[0]
    words = [np.array(["a" * n]) for n in range(1, 100)]
    assert np.array_equal(joined(words, piece=piece), np.concatenate(words))


def test_no_copy_of_a_join_is_longer_than_a_piece():
    """An interrupt is handled only between two pieces, and copying 5 GB in one NumPy call takes seconds."""
    large = np.zeros((1000, 4)).view(Counted)
    joined([large, large], piece=320)
    assert sum(Counted.taken) == 2 * large.nbytes
    assert max(Counted.taken) == 320
