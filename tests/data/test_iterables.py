"""Blocks from a user-defined iterable."""

import numpy as np
import pytest

from hyplearn import PoincareSVC, open_points
from hyplearn.data.checkpoint import State, write_state
from support.stored import separated

X, Y = separated(20)


class Blocks:
    """Iterable of blocks with given lengths for each iteration; later iterations use the last lengths."""

    def __init__(self, *lengths):
        self.lengths, self.times = lengths, 0

    def __iter__(self):
        lengths = self.lengths[min(self.times, len(self.lengths) - 1)]
        self.times += 1
        start = 0
        for length in lengths:
            yield X[start : start + length], Y[start : start + length]
            start += length


def test_blocks_keep_their_size_and_empty_blocks_are_skipped():
    blocks = list(open_points(Blocks([0, 3, 0, 17])).blocks())
    assert [(block.start, len(block.X)) for block in blocks] == [(0, 3), (3, 17)]
    assert [block.start for block in open_points(Blocks([0, 3, 0, 17])).blocks(1)] == [3]


def test_blocks_may_contain_weights():
    block = open_points([(X, Y, np.arange(20))]).gathered()
    np.testing.assert_array_equal(block.weights, np.arange(20.0))


def test_objects_that_can_be_iterated_again_are_fitted():
    np.testing.assert_array_equal(PoincareSVC().fit(Blocks([7, 13])).coef_, PoincareSVC().fit(X, Y).coef_)


@pytest.mark.parametrize("once", [iter([(X, Y)]), (block for block in [(X, Y)]), map(tuple, [(X, Y)])])
def test_iterators_that_can_be_read_only_once_are_rejected(once):
    with pytest.raises(
        ValueError, match=r"reads its rows several times; got an iterator of type \w+, which can be read only once"
    ):
        PoincareSVC().fit(once)


@pytest.mark.parametrize("later", [[20, 0], [7, 12], [7]])
def test_another_number_of_rows_in_a_later_pass_is_an_error(later):
    points = open_points(Blocks([7, 13], [7, 13], [7, 13], later))
    points.gathered()
    if sum(later) == 20:
        assert len(points.gathered().X) == 20
        return
    points.gathered()
    with pytest.raises(ValueError, match=rf"yielded {sum(later)} rows, but 20 rows in an earlier pass"):
        points.gathered()


class Passes:
    """Iterable of two blocks with given rows for each pass; later passes use the last rows."""

    def __init__(self, *passes):
        self.passes, self.times = passes, 0

    def __iter__(self):
        rows, labels = self.passes[min(self.times, len(self.passes) - 1)]
        self.times += 1
        yield rows[:7], labels[:7]
        yield rows[7:], labels[7:]


@pytest.mark.parametrize("later", [(X, Y[::-1]), (X[::-1], Y[::-1]), (X * 0.5, Y)], ids=["labels", "order", "points"])
def test_other_rows_in_a_later_pass_are_an_error_and_no_model(later):
    model = PoincareSVC()
    with pytest.raises(ValueError, match="yielded 20 rows, some of which differ from those of an earlier pass"):
        model.fit(open_points(Passes((X, Y), (X, Y), (X, Y), (X, Y), later), memory=0))
    assert not hasattr(model, "coef_")


def test_object_labels_are_compared_by_value():
    points = open_points(Passes((X, Y.astype(object)), (X, Y.astype(object)), (X, Y.astype(object)[::-1])))
    points.gathered()
    with pytest.raises(ValueError, match="some of which differ from those of an earlier pass"):
        points.gathered()


@pytest.mark.parametrize("most", [0, 2**24], ids=["in blocks", "in memory"])
def test_blocks_may_reuse_the_same_memory(most):
    class Reader:
        def __iter__(self):
            rows, labels = np.empty((5, 2)), np.empty(5, dtype=Y.dtype)
            for start in range(0, 20, 5):
                rows[:], labels[:] = X[start : start + 5], Y[start : start + 5]
                yield rows, labels

    points = open_points(Reader(), memory=most)
    np.testing.assert_allclose(PoincareSVC().fit(points).coef_, PoincareSVC().fit(X, Y).coef_, rtol=1e-10)


def test_empty_blocks_are_accepted():
    points = open_points([(X, np.arange(20)), (np.empty((0, 2)), np.array([]))])
    np.testing.assert_array_equal(points.gathered().y, np.arange(20))


def test_blocks_may_be_lists_as_loaders_of_batches_give_them():
    class Loader:
        def __iter__(self):
            return iter([[X[:7], Y[:7]], [X[7:], Y[7:]]])

    np.testing.assert_array_equal(PoincareSVC().fit(Loader()).coef_, PoincareSVC().fit(X, Y).coef_)


def test_a_checkpoint_of_other_blocks_is_rejected(tmp_path):
    write_state(State(open_points([(X, Y)]).identity), tmp_path / "fit.checkpoint")
    open_points([(X.copy(), Y.copy())]).checkpointed(tmp_path / "fit.checkpoint")
    with pytest.raises(ValueError, match="was written for other data"):
        open_points([(X, Y[::-1])]).checkpointed(tmp_path / "fit.checkpoint")


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "yielded no rows"),
        ([(X[:0], Y[:0])], "yielded no rows"),
        (
            [(X, Y), (X, np.arange(20))],
            "starts at row 20 has parts of unequal length or differs from the first block; it has float64 of shape",
        ),
        ([(X, Y), (X, Y, np.ones(20))], "differs from the first block"),
        ([(X, Y), (X, Y[:3])], "differs from the first block"),
        ([(X[0], Y)], "must yield blocks"),
        ([(X, Y, Y, Y)], "must yield blocks"),
        (["points.npy"], "must yield blocks"),
    ],
)
def test_invalid_blocks_raise_errors(blocks, message):
    with pytest.raises(ValueError, match=message):
        open_points(blocks).gathered()


def test_blocks_of_another_width_and_without_labels_are_errors_of_fit():
    with pytest.raises(ValueError, match="the block that starts at row 20 has shape"):
        PoincareSVC().fit([(X, Y), (np.zeros((20, 3)), Y)])
    with pytest.raises(ValueError, match=r"each row must have one label; got 20 rows with no labels"):
        PoincareSVC().fit(open_points([X]))
