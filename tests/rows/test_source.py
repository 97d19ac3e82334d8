"""How the parts of a pass become one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.data.folding import Folding, folded
from hyplearn.rows.source import PENDING


class Joining:
    """A merge of texts that remembers how long they were."""

    def __init__(self):
        self.lengths = []

    def __call__(self, parts):
        self.lengths.append([len(part) for part in parts])
        return "".join(parts)


@given(st.integers(1, 700))
def test_all_parts_are_merged_in_order(n):
    text = [chr(i) for i in range(n)]
    assert folded(iter(text), "".join) == "".join(text)


def test_parts_of_as_many_blocks_are_merged_and_few_wait():
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
def test_a_pass_that_goes_on_merges_as_one_that_was_not_stopped(stopped):
    whole, merge = Joining(), Joining()
    folded("x" * 100, whole)
    before = Folding(merge)
    for _ in range(stopped):
        before.add("x")
    after = Folding(merge, before.pending, stopped)
    for _ in range(stopped, 100):
        after.add("x")
    after.result()
    assert merge.lengths == whole.lengths
