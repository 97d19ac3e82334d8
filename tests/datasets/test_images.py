import gzip
import struct

import numpy as np
import pytest

from hyplearn.datasets import load_cifar10_images, load_fashion_mnist_images, load_mini_imagenet_images
from hyplearn.datasets.files import IMAGENET, read_fashion_mnist, read_idx, search_folders

RNG = np.random.default_rng(0)


def zipped(data):
    """Compress without a timestamp: the bytes are part of test names, which must be the same on all workers."""
    return gzip.compress(data, mtime=0)


def idx(array):
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def draw(*shape, below=256):
    return RNG.integers(below, size=shape, dtype=np.uint8)


@pytest.fixture(autouse=True)
def nothing_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv("HYPLEARN_DATA", str(tmp_path))


def write_clothes(folder, packed=True):
    """Write the four files with a few images; returns the images and labels."""
    folder.mkdir(exist_ok=True)
    held = {}
    for part, prefix, n in (("train", "train", 6), ("test", "t10k", 4)):
        held[part] = draw(n, 28, 28), draw(n, below=10)
        for array, kind in zip(held[part], ("images-idx3", "labels-idx1"), strict=True):
            path = folder / f"{prefix}-{kind}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(zipped(idx(array)) if packed else idx(array))
    return held


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("place", ["", "fashion-mnist", "debian"])
def test_fashion_mnist_is_found_packed_or_not_in_each_of_its_places(tmp_path, place, packed):
    held = write_clothes(tmp_path / place, packed)
    clothes = read_fashion_mnist(search_folders(None, "fashion-mnist", tmp_path / "debian"))
    for part in ("train", "test"):
        np.testing.assert_array_equal(clothes[f"X_{part}"], held[part][0])
        np.testing.assert_array_equal(clothes[f"y_{part}"], held[part][1])
    assert clothes.X_train.dtype == np.uint8
    assert clothes.y_train.dtype == np.int64
    assert len(clothes.target_names) == 10


def test_fashion_mnist_is_looked_for_in_hyplearn_data_first(tmp_path):
    held = write_clothes(tmp_path)
    np.testing.assert_array_equal(load_fashion_mnist_images().X_test, held["test"][0])


def test_data_home_is_the_only_folder_searched(tmp_path):
    write_clothes(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"train-images-idx3-ubyte is not in .*elsewhere.*\nInstall Debian's"):
        load_fashion_mnist_images(data_home=tmp_path / "elsewhere")


def test_without_any_directory_the_error_says_so(monkeypatch):
    monkeypatch.delenv("HYPLEARN_DATA")
    with pytest.raises(FileNotFoundError, match="was not found: HYPLEARN_DATA is not set"):
        load_cifar10_images()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (zipped(idx(draw(3)))[:-9], "is damaged"),
        (b"no gzip at all", "is damaged"),
        (
            zipped(b"\0\0\x0d\x01" + bytes(8)),
            r"is not an idx file of bytes with 1 axes: it starts with .* instead of b'\\x00\\x00\\x08\\x01'",
        ),
        (zipped(idx(draw(3, 2))), "is not an idx file .* starts with"),
        (zipped(b"\0\0\x08\x01\0"), "is not an idx file .* starts with"),
        (zipped(idx(draw(3))[:-1]), r"has 2 bytes of data; the shape \(3,\) needs 3"),
        (zipped(idx(draw(3)) + b"x"), r"has 4 bytes of data; the shape \(3,\) needs 3"),
    ],
)
def test_damaged_idx_files_are_named_with_what_is_wrong(tmp_path, content, problem):
    path = tmp_path / "labels.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"labels.gz {problem}"):
        read_idx(path, 1)


def test_images_without_labels_and_labels_of_no_class_are_rejected(tmp_path):
    write_clothes(tmp_path, packed=False)
    path = tmp_path / "train-labels-idx1-ubyte"
    path.write_bytes(idx(draw(5, below=10)))
    with pytest.raises(ValueError, match=r"6 images, but labels of shape \(5,\)"):
        load_fashion_mnist_images()
    path.write_bytes(idx(np.full(6, 10, dtype=np.uint8)))
    with pytest.raises(ValueError, match="integers below 10; got 10 in"):
        load_fashion_mnist_images()


@pytest.mark.parametrize("place", ["", "cifar-10-batches-bin"])
def test_cifar10_is_read_in_the_order_of_its_batches(tmp_path, place):
    (tmp_path / place).mkdir(exist_ok=True)
    held = [(draw(2, 3, 32, 32), draw(2, below=10)) for _ in range(6)]
    names = [*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"]
    for name, (X, y) in zip(names, held, strict=True):
        (tmp_path / place / name).write_bytes(np.column_stack([y, X.reshape(2, -1)]).tobytes())
    things = load_cifar10_images()
    np.testing.assert_array_equal(things.X_train, np.concatenate([X for X, _ in held[:5]]))
    np.testing.assert_array_equal(things.y_train, np.concatenate([y for _, y in held[:5]]))
    np.testing.assert_array_equal(things.X_test, held[5][0])
    (tmp_path / place / "data_batch_3.bin").write_bytes(bytes(3072))
    with pytest.raises(ValueError, match=r"data_batch_3\.bin has 3,072 bytes; expected a positive multiple of 3,073"):
        load_cifar10_images()


def test_mini_imagenet_is_an_archive_of_images(tmp_path):
    held = {"x_train": draw(4, 3, 9, 9), "y_train": np.arange(4.0), "x_test": draw(2, 3, 9, 9), "y_test": np.arange(2)}
    np.savez(tmp_path / IMAGENET, **held)
    found = load_mini_imagenet_images()
    np.testing.assert_array_equal(found.X_train, held["x_train"])
    assert found.y_train.dtype == np.int64
    for broken, problem in (
        ({"x_test": draw(2, 9, 9, 3)}, r"contains an array of uint8 with shape \(2, 9, 9, 3\)"),
        ({"x_train": held["x_train"] / 255}, "contains an array of float64"),
        ({"y_test": np.array([0.5, 1])}, "non-negative integers; got 0.5"),
        ({"y_test": np.array([0, -1])}, "non-negative integers; got -1"),
        ({"y_test": np.arange(3)}, "2 images, but labels"),
    ):
        np.savez(tmp_path / IMAGENET, **held | broken)
        with pytest.raises(ValueError, match=problem):
            load_mini_imagenet_images()
    np.savez(tmp_path / IMAGENET, x_train=held["x_train"])
    with pytest.raises(ValueError, match="does not contain y_train, x_test, y_test"):
        load_mini_imagenet_images()
