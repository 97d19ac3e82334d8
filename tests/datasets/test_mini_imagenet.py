import numpy as np
import pytest

from hyplearn.datasets import load_mini_imagenet
from hyplearn.datasets.files import EMBEDDING, POINTS


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    parts = {"x_train": 0.1 * rng.standard_normal((6, 5)), "x_test": 0.1 * rng.standard_normal((3, 5))}
    return parts | {"y_train": np.array([0.0, 1, 2, 0, 1, 2]), "y_test": np.array([2.0, 1, 0])}


@pytest.fixture
def folder(tmp_path, monkeypatch, arrays):
    monkeypatch.setenv("HYPLEARN_DATA", str(tmp_path))
    np.savez(tmp_path / EMBEDDING, **arrays)
    return tmp_path


def test_a_file_of_the_published_layout_is_found_through_hyplearn_data(folder, arrays):
    images = load_mini_imagenet()
    np.testing.assert_array_equal(images.X_train, arrays["x_train"])
    np.testing.assert_array_equal(images.X_test, arrays["x_test"])
    assert images.y_train.dtype == images.y_test.dtype == np.int64
    assert images.y_test.tolist() == [2, 1, 0]
    assert images.reference_points is None


def test_reference_points_are_read_if_present(folder):
    np.save(folder / POINTS, np.full((3, 5), 0.1))
    assert load_mini_imagenet().reference_points.shape == (3, 5)


def test_data_home_takes_precedence_over_hyplearn_data(folder, monkeypatch):
    monkeypatch.setenv("HYPLEARN_DATA", "/nowhere")
    assert len(load_mini_imagenet(data_home=folder).X_train) == 6


@pytest.mark.parametrize("named", [True, False])
def test_an_absent_file_is_an_error_that_names_file_and_layout(tmp_path, monkeypatch, named):
    monkeypatch.delenv("HYPLEARN_DATA", raising=False)
    if named:
        monkeypatch.setenv("HYPLEARN_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError) as caught:
        load_mini_imagenet()
    for part in (EMBEDDING, "HYPLEARN_DATA", "x_train of shape (n, d)", "y_train and y_test"):
        assert part in str(caught.value)
    assert (str(tmp_path) in str(caught.value)) == named


def test_missing_arrays_are_named(folder, arrays):
    del arrays["x_test"], arrays["y_test"]
    np.savez(folder / EMBEDDING, **arrays)
    with pytest.raises(ValueError, match=r"does not contain x_test, y_test\.\nSave it again, with x_train of shape"):
        load_mini_imagenet()


@pytest.mark.parametrize("broken", [{"y_test": [0.5, 1, 2]}, {"y_test": [0, 1]}, {"x_test": np.zeros((3, 4))}])
def test_arrays_that_do_not_fit_are_rejected_with_their_shapes(folder, arrays, broken):
    np.savez(folder / EMBEDDING, **arrays | broken)
    with pytest.raises(ValueError, match=r"contains points of shape \(3, .\) with labels of shape"):
        load_mini_imagenet()
