"""Readers for local files: points in any supported format, images, and an embedding of mini-ImageNet.

The paper mentioned in the messages is by Chien, Pan, Tabaghi and Milenkovic (2021).
"""

import gzip
import math
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import Bunch

from hyplearn.data.columns import Names
from hyplearn.data.opening import opened
from hyplearn.data.points import check_finite
from hyplearn.types import Array

Location: TypeAlias = str | os.PathLike[str]

# Folder in which Debian's package dataset-fashion-mnist installs its files.
DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")
CLOTHES = ("T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
THINGS = ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "lorry")
IMAGENET = "mini-imagenet_images.npz"
EMBEDDING, POINTS = "mini-imagenet_poincare_embedding.npz", "mini-imagenet_reference_points_gt.npy"
_LAYOUT = (
    "x_train of shape (n, {0}) and x_test of shape (m, {0}), {1} (in the paper n = 5600, m = 2400, {2}), and y_train "
    "and y_test, their integer class numbers from 0"
)
_BALL_LAYOUT = _LAYOUT.format("d", "whose rows lie in the open unit ball", "d = 512")
_IMAGENET_LAYOUT = _LAYOUT.format("3, h, w", "both of dtype uint8", "h = w = 84")
_INSTALL = (
    "Install Debian's package dataset-fashion-mnist, or pass a directory that contains the four files of Fashion-MNIST "
    "as HYPLEARN_DATA or data_home."
)
_CIFAR_SHAPE = (3, 32, 32)


def load_points(
    path: Location, *, points: Names = None, label: str | None = None, labelled: bool = True
) -> tuple[Array, Array | None]:
    r"""Read points, one per row, and their labels if there are any.

    The same formats as in :func:`hyplearn.open_points` are supported. The points are read into memory, and all
    coordinates must be finite. Pickled objects are not loaded. An error is raised for a file that would take more than
    1 GiB of memory and more than 100 times its size.

    Parameters
    ----------
    path : path
        A file whose suffix names its format (``.npz``, ``.npy``, ``.csv``, ``.tsv``, ``.parquet``, ``.h5``, ``.hdf5``,
        ``.h5ad`` or ``.zarr``), a folder of Parquet files, or a pattern such as ``"cells/*.parquet"``.
    points : str or sequence of str, optional
        Name of the array of points, or names of the columns of coordinates. The default is the same as in
        :func:`hyplearn.open_points`.
    label : str, optional
        Name of the array or column of labels. The default is the same as in :func:`hyplearn.open_points`. For ``.npy``
        files, path of the file of labels.
    labelled : bool, default=True
        Whether to look for labels if `label` is None. If False, columns of a table that are called label, labels,
        target or class are used as coordinates only if `points` names them.

    Returns
    -------
    X : ndarray of shape (n, d)
        The points, as float32 if they are stored as float32, otherwise as float64. They need not lie in a ball.
    y : ndarray of shape (n,) or None
        The labels, or None if there are none. Labels in text files are integers if all of them are written like 7,
        floats if all of them are written like 7.0, and strings otherwise.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is damaged, ambiguous or empty, or contains NaN or infinite coordinates.
    ImportError
        If the library for the format is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyplearn.datasets import load_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cells.csv")
    ...     _ = path.write_text("x,y,kind\n0.1,0.2,blood\n-0.5,0.3,nerve\n")
    ...     X, y = load_points(path)
    >>> print(X, y)
    [[ 0.1  0.2]
     [-0.5  0.3]] ['blood' 'nerve']
    """
    source = opened(path, points, label, None, None, labelled=labelled)
    block = source.gathered(labelled=False)
    check_finite(block, source.name)
    return block.X, block.y


def load_fashion_mnist_images(*, data_home: Location | None = None) -> Bunch:
    """Load Fashion-MNIST: 60,000 training and 10,000 test images of 28 by 28 bytes, in 10 classes.

    The four files in idx format, ``train-images-idx3-ubyte`` and so on, are read with or without ``.gz``.

    Parameters
    ----------
    data_home : path, optional
        Directory that contains the files or the folder ``fashion-mnist`` with the files. By default, the directory
        named by the environment variable ``HYPLEARN_DATA`` is searched first, and then the directory in which Debian's
        package ``dataset-fashion-mnist`` installs the files.

    Returns
    -------
    Bunch
        Object with the fields ``X_train``, ``y_train``, ``X_test``, ``y_test`` and ``target_names``.

    Raises
    ------
    FileNotFoundError
        If a file is not in any of these places.
    ValueError
        If a file is damaged or has a different format.
    """
    return read_fashion_mnist(search_folders(data_home, "fashion-mnist", DEBIAN_FOLDER))


def read_fashion_mnist(folders: Sequence[Path]) -> Bunch:
    """Read the four files of Fashion-MNIST, each from the first folder that contains it."""
    parts: dict[str, Array] = {}
    for part, prefix in (("train", "train"), ("test", "t10k")):
        X = read_idx(_find(f"{prefix}-images-idx3-ubyte", folders, _INSTALL), 3)
        y = read_idx(_find(f"{prefix}-labels-idx1-ubyte", folders, _INSTALL), 1)
        _check_pairs(f"the {prefix} files of {folders[0]}", X, y, len(CLOTHES))
        parts |= {f"X_{part}": X, f"y_{part}": y.astype(np.int64)}
    return Bunch(**parts, target_names=np.array(CLOTHES))


def load_cifar10_images(*, data_home: Location | None = None) -> Bunch:
    """Load the binary version of CIFAR10: 50,000 training and 10,000 test images of 3 by 32 by 32 bytes, in 10 classes.

    The files are ``data_batch_1.bin`` to ``data_batch_5.bin`` and ``test_batch.bin``. The Python version is not
    supported, because its files are pickles, which could run code.

    Parameters
    ----------
    data_home : path, optional
        Directory that contains the files or the folder ``cifar-10-batches-bin`` with the files. The default is the
        directory named by the environment variable ``HYPLEARN_DATA``.

    Returns
    -------
    Bunch
        Object with the fields ``X_train``, ``y_train``, ``X_test``, ``y_test`` and ``target_names``.
    """
    folders = search_folders(data_home, "cifar-10-batches-bin")
    advice = (
        "Download cifar-10-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html, and unpack it in a "
        "directory. Pass that directory as HYPLEARN_DATA or data_home."
    )
    batches = [_read_cifar(_find(f"data_batch_{k}.bin", folders, advice)) for k in range(1, 6)]
    X_test, y_test = _read_cifar(_find("test_batch.bin", folders, advice))
    X_train, y_train = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    return Bunch(X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test, target_names=np.array(THINGS))


def load_mini_imagenet_images(*, data_home: Location | None = None) -> Bunch:
    """Load images of mini-ImageNet from an archive that you have saved.

    The paper by Chien, Pan, Tabaghi and Milenkovic (2021) uses 5,600 training and 2,400 test images in 20 classes.

    Save the images as::

        np.savez("mini-imagenet_images.npz", x_train=..., y_train=..., x_test=..., y_test=...)

    Parameters
    ----------
    data_home : path, optional
        Directory that contains this archive. The default is the directory named by the environment variable
        ``HYPLEARN_DATA``.

    Returns
    -------
    Bunch
        Object with the fields ``X_train``, ``y_train``, ``X_test`` and ``y_test``.
    """
    path = _find(
        IMAGENET,
        search_folders(data_home, ""),
        f"Save your images in this file, with {_IMAGENET_LAYOUT}. Pass its directory as HYPLEARN_DATA or data_home.",
    )
    images = _read_split(path, _IMAGENET_LAYOUT)
    for part in ("train", "test"):
        X, y = images[f"X_{part}"], images[f"y_{part}"]
        if X.dtype != np.uint8 or X.ndim != 4 or X.shape[1:] != images.X_train.shape[1:] or X.shape[1] != 3:
            raise ValueError(
                f"{path} contains an array of {X.dtype} with shape {X.shape}, which is not the expected layout.\n"
                f"Save it again, with {_IMAGENET_LAYOUT}."
            )
        _check_pairs(str(path), X, y, math.inf)
        images[f"y_{part}"] = y.astype(np.int64)
    return images


def load_mini_imagenet(*, data_home: Location | None = None) -> Bunch:
    """Load an embedding of mini-ImageNet that you have computed and saved.

    The paper by Chien, Pan, Tabaghi and Milenkovic (2021) uses an embedding of 5,600 training and 2,400 test images in
    512 dimensions, computed as in Khrulkov et al. (2020). The authors of the paper did not publish this embedding. Save
    your own embedding in the format of the embeddings that they published::

        np.savez("mini-imagenet_poincare_embedding.npz", x_train=..., y_train=..., x_test=..., y_test=...)
        np.save("mini-imagenet_reference_points_gt.npy", points)  # optional, one row for each class

    Parameters
    ----------
    data_home : path, optional
        Directory of these files. The default is the directory named by the environment variable ``HYPLEARN_DATA``.

    Returns
    -------
    Bunch
        Object with the fields ``X_train``, ``y_train``, ``X_test``, ``y_test`` and ``reference_points`` (None if their
        file is missing).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from hyplearn.datasets import load_mini_imagenet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mini-imagenet_poincare_embedding.npz")
    ...     X, y = np.array([[0.1, 0.2], [0.3, -0.4]]), np.array([0, 1])
    ...     np.savez(path, x_train=X, y_train=y, x_test=-X, y_test=y)
    ...     images = load_mini_imagenet(data_home=folder)
    >>> images.X_train.shape, images.reference_points
    ((2, 2), None)
    """
    advice = (
        f"The authors of the paper did not publish this file. Save your own embedding under this name, with "
        f"{_BALL_LAYOUT}. Pass its directory as HYPLEARN_DATA or data_home."
    )
    path = _find(EMBEDDING, search_folders(data_home, ""), advice)
    images = _read_split(path, _BALL_LAYOUT)
    for part in ("train", "test"):
        X, y = images[f"X_{part}"], images[f"y_{part}"]
        d, integers = images.X_train.shape[-1], y.astype(np.int64)
        if X.ndim != 2 or X.shape[1] != d or y.shape != X.shape[:1] or np.any(y != integers):
            raise ValueError(
                f"{path} contains points of shape {X.shape} with labels of shape {y.shape}, which is not the expected "
                "layout.\n"
                f"Save it again, with {_BALL_LAYOUT}."
            )
        images[f"y_{part}"] = integers
    points = path.with_name(POINTS)
    images.reference_points = np.load(points, allow_pickle=False) if points.is_file() else None
    return images


def _read_split(path: Path, layout: str) -> Bunch:
    """Read the four arrays of an archive; if one is missing, raise an error that describes the layout."""
    names = ("x_train", "y_train", "x_test", "y_test")
    with np.load(path, allow_pickle=False) as archive:
        if missing := [name for name in names if name not in archive.files]:
            raise ValueError(f"{path} does not contain {', '.join(missing)}.\nSave it again, with {layout}.")
        return Bunch(**{name.replace("x", "X"): archive[name] for name in names})


def search_folders(data_home: Any, inside: str, *others: Path) -> list[Path]:
    """Return the folders to search for a file: ``data_home`` and its subfolder ``inside``.

    If ``data_home`` is None, the folder named by the environment variable HYPLEARN_DATA (if it is set) is used instead,
    and the folders ``others`` are searched last. If ``inside`` is empty, no subfolder is searched.
    """
    named = os.environ.get("HYPLEARN_DATA") if data_home is None else data_home
    first = [Path(named).expanduser()] if named else []
    return [*first, *(folder / inside for folder in first if inside), *(others if data_home is None else ())]


def _find(name: str, folders: Sequence[Path], advice: str) -> Path:
    """Return the path of the first file with this name, with or without ``.gz``, in the given folders."""
    for folder in folders:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    where = f"is not in {' or '.join(map(str, folders))}" if folders else "was not found: HYPLEARN_DATA is not set"
    raise FileNotFoundError(f"{name} {where}.\n{advice}")


def read_idx(path: Path, n_axes: int) -> Array:
    """Read an idx file of bytes: two zero bytes, the type code 8, the number of axes, their sizes, and the data."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is damaged: {error}.\nDownload the file again.") from None
    head = struct.calcsize(f">4B{n_axes}I")
    if len(content) < head or content[:4] != bytes([0, 0, 8, n_axes]):
        raise ValueError(
            f"{path} is not an idx file of bytes with {n_axes} axes: it starts with {content[:4]!r} instead of "
            f"{bytes([0, 0, 8, n_axes])!r} and the sizes of the axes.\nDownload the file again."
        )
    shape = struct.unpack(f">{n_axes}I", content[4:head])
    if len(content) - head != math.prod(shape):
        raise ValueError(
            f"{path} has {len(content) - head:,} bytes of data; the shape {shape} needs {math.prod(shape):,}.\n"
            "Download the file again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=head).reshape(shape)


def _read_cifar(path: Path) -> tuple[Array, Array]:
    """Read a batch of CIFAR10; each image is stored as a label byte, then its red, green and blue planes."""
    content = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    width = 1 + math.prod(_CIFAR_SHAPE)
    if not content.size or content.size % width:
        raise ValueError(
            f"{path} has {content.size:,} bytes; expected a positive multiple of {width:,}.\nDownload the file again."
        )
    rows = content.reshape(-1, width)
    X, y = rows[:, 1:].reshape(-1, *_CIFAR_SHAPE), rows[:, 0].astype(np.int64)
    _check_pairs(str(path), X, y, len(THINGS))
    return X, y


def _check_pairs(where: str, X: Array, y: Array, n_classes: float) -> None:
    """Check that each image has one label, a non-negative integer below ``n_classes``; raise ValueError otherwise."""
    if y.shape != X.shape[:1]:
        raise ValueError(
            f"Expected one label per image in {where}; got {len(X):,} images, but labels of shape {y.shape}.\n"
            "Download or save the files again."
        )
    wrong = (y != np.floor(y)) | (y < 0) | (y >= n_classes)
    if wrong.any():
        limit = "" if n_classes == math.inf else f" below {n_classes:g}"
        raise ValueError(
            f"Labels must be non-negative integers{limit}; got {y[wrong][0]} in {where}.\nCorrect the labels."
        )
