"""Points from files: NumPy arrays, tables of text, Parquet. Nothing is ever unpickled."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hyplearn.data.columns import Names, damage_named, label_name, listed, points_name
from hyplearn.data.parquet import ParquetPoints
from hyplearn.datasets.text_files import read_text
from hyplearn.types import Array


def load_points(
    path: str | os.PathLike[str], *, points: Names = None, label: str | None = None, labelled: bool = True
) -> tuple[Array, Array | None]:
    r"""Read points, one per row, and their labels if there are any.

    Parameters
    ----------
    path : path
        A file whose suffix says what it is:

        ``.npz``
            The array named by `points`, else the one called X, x, points, embedding, embeddings, data, X_train or
            x_train, else the only two-dimensional array of floats. Labels are the array named by `label`, else the
            one that is to y what the points are to x (y, y_train), else label, labels or target.
        ``.npy``
            The array; its labels are another such file, whose path is `label`.
        ``.csv``, ``.tsv``
            UTF-8 text with or without a line of names; without, columns are called "0", "1", ... The label is the
            column named by `label`, else the one called label, labels, target or class, else the only one that holds
            no numbers and is not called name. Coordinates are the columns named by `points`, else all others that
            hold numbers.
        ``.parquet``
            The same. Needs pyarrow.
    points : str or sequence of str, optional
        Name of the array of points, or names of the columns of coordinates.
    label : str, optional
        Name of the array or column of labels; of ``.npy``, the path of their file.
    labelled : bool, default=True
        Whether labels are looked for where `label` names none. Without, columns of text are left aside, and so are
        those of numbers that are called label, labels, target or class.

    Returns
    -------
    X : ndarray of shape (n, d)
        The points, float32 if stored so, else float64. Whether they lie in a ball is for their user to say.
    y : ndarray of shape (n,) or None
        The labels. Those of text files become integers, or else floats, if all of them read so.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, ambiguous, empty, or holds NaN or infinite coordinates.
    ImportError
        If a Parquet file is to be read without pyarrow.

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
    path = Path(path).expanduser()
    if path.suffix.lower() not in _FORMATS:
        raise ValueError(
            f"{path} has the suffix {path.suffix!r}; known are {', '.join(_FORMATS)}.\nConvert it, or rename it."
        )
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.\nCheck the path; it was looked for from {Path.cwd()}.")
    read, magic = _FORMATS[path.suffix.lower()]
    _check_magic(path, magic)
    X, y = read(path, points, label, labelled)
    return _as_points(X, path), y


def _check_magic(path: Path, magic: bytes) -> None:
    """Tell files of another kind from damaged ones, and before NumPy takes them for pickles."""
    with path.open("rb") as file:
        start = file.read(max(1, len(magic)))
    if not start:
        raise ValueError(f"{path} is empty.\nWrite it again.")
    if not start.startswith(magic):
        raise ValueError(
            f"{path} is not a {path.suffix} file: it begins with {start!r}, not with {magic!r}.\nCheck its suffix."
        )


def _check_table(X: Array, path: Path) -> None:
    if X.ndim != 2 or X.dtype.kind not in "fiu":
        raise ValueError(
            f"{path} must give a table of real numbers, one point per row; got shape {X.shape} of {X.dtype}.\n"
            "Save the points as an array of shape (n, d)."
        )


def _as_points(X: Array, path: Path) -> Array:
    _check_table(X, path)
    if X.size == 0:
        raise ValueError(f"{path} holds no points: the table has shape {X.shape}.\nWrite it again.")
    finite = np.isfinite(X)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(
            f"{path} holds {np.count_nonzero(~finite.all(axis=1))} rows with NaN or infinite coordinates; the first is "
            f"row {row}, counted from 0, with {X[row, column]}.\nRemove those rows or impute them."
        )
    return np.ascontiguousarray(X, dtype=np.float32 if X.dtype.kind == "f" and X.dtype.itemsize == 4 else np.float64)


def _read_npy(path: Path, points: Names, label: str | None, labelled: bool) -> tuple[Array, Array | None]:
    if points is not None:
        raise ValueError(
            f"{path} holds one array without a name; got points={points!r}.\nLeave it out, or save arrays as .npz."
        )
    X = _array_in(path)
    _check_table(X, path)
    if label is None:
        return X, None
    beside = Path(label).expanduser()
    if beside.suffix.lower() != ".npy" or not beside.is_file():
        raise ValueError(
            f"{path} holds points alone, and label={label!r} is no .npy file beside it.\n"
            "Pass the path of an array of labels, or save points and labels together as .npz."
        )
    return X, _as_labels(_array_in(beside), len(X), str(beside))


def _array_in(path: Path) -> Array:
    with path.open("rb") as file, damage_named(path):
        return np.load(file, allow_pickle=False)


def _read_npz(path: Path, points: Names, label: str | None, labelled: bool) -> tuple[Array, Array | None]:
    with path.open("rb") as file:
        with damage_named(path):
            archive = np.load(file, allow_pickle=False)
        name = points_name(path, archive.files, partial(_member, path, archive)) if points is None else points
        X = _member(path, archive, name)
        _check_table(X, path)
        label = label_name(path, archive.files, str(name)) if label is None and labelled else label
        if label is None:
            return X, None
        return X, _as_labels(_member(path, archive, label), len(X), f"{path}, array {label!r},")


def _member(path: Path, archive: Any, name: Any) -> Array:
    if name not in archive.files:
        raise ValueError(f"{path} has no array {name!r}; it holds {listed(archive.files)}.\nName one of these.")
    with damage_named(path):
        return np.asarray(archive[name])


def _as_labels(y: Array, n: int, source: str) -> Array:
    if y.shape != (n,) or y.dtype.kind not in "biufU":
        raise ValueError(
            f"{source} must hold {n} labels, numbers or text; got shape {y.shape} of {y.dtype}.\n"
            "Name others by label=, or save them so: bytes by astype(str), a column by ravel()."
        )
    missing = np.isnan(y) if y.dtype.kind == "f" else np.zeros(n, dtype=bool)
    if missing.any():
        raise ValueError(
            f"{source} lacks {missing.sum()} of {n} labels; the first is of row {missing.argmax()}, counted from 0.\n"
            "Remove those rows, or fill the labels in."
        )
    return y


def _read_parquet(path: Path, points: Names, label: str | None, labelled: bool) -> tuple[Array, Array | None]:
    block = ParquetPoints([path], points, label, labelled=labelled).gathered(labelled=False)
    return block.X, block.y


Reader: TypeAlias = Callable[[Path, Names, str | None, bool], tuple[Array, Array | None]]
_FORMATS: dict[str, tuple[Reader, bytes]] = {
    ".npz": (_read_npz, b"PK"),
    ".npy": (_read_npy, b"\x93NUMPY"),
    ".csv": (read_text, b""),
    ".tsv": (read_text, b""),
    ".parquet": (_read_parquet, b"PAR1"),
}
