"""Points from files: NumPy arrays, tables of text, Parquet. Nothing is ever unpickled."""

import csv
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import numpy as np

from hyplearn.geometry.arrays import Array
from hyplearn.rows.columns import Names, choose_columns, damage_named, label_name, listed, points_name
from hyplearn.rows.parquet import ParquetPoints

# Text is turned into numbers in batches, or it would need many times the memory of the numbers. Columns of text are
# told from columns of numbers by the first batch.
BATCH_ROWS = 10_000

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[+-]?[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?")

Row: TypeAlias = tuple[int, list[str]]


def load_points(
    path: str | os.PathLike[str], *, points: Names = None, label: str | None = None
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
            The array, without labels.
        ``.csv``, ``.tsv``
            UTF-8 text with or without a line of names; without, columns are called "0", "1", ... The label is the
            column named by `label`, else the one called label, labels, target or class, else the only one that holds
            no numbers. Coordinates are the columns named by `points`, else all others that hold numbers.
        ``.parquet``
            The same. Needs pyarrow.
    points : str or sequence of str, optional
        Name of the array of points, or names of the columns of coordinates.
    label : str, optional
        Name of the array or column of labels.

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
    X, y = read(path, points, label)
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


def _as_points(X: Array, path: Path) -> Array:
    if X.ndim != 2 or X.dtype.kind not in "fiu":
        raise ValueError(
            f"{path} must give a table of real numbers, one point per row; got shape {X.shape} of {X.dtype}.\n"
            "Save the points as an array of shape (n, d)."
        )
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


def _read_npy(path: Path, points: Names, label: str | None) -> tuple[Array, None]:
    if points is not None or label is not None:
        raise ValueError(
            f"{path} holds one array without a name; got points={points!r}, label={label!r}.\n"
            "Leave them out, or save points and labels together as .npz."
        )
    with path.open("rb") as file, damage_named(path):
        return np.load(file, allow_pickle=False), None


def _read_npz(path: Path, points: Names, label: str | None) -> tuple[Array, Array | None]:
    with path.open("rb") as file:
        with damage_named(path):
            archive = np.load(file, allow_pickle=False)
        name = points_name(path, archive.files, partial(_member, path, archive)) if points is None else points
        X = _member(path, archive, name)
        label = label_name(path, archive.files, str(name)) if label is None else label
        if label is None:
            return X, None
        return X, _as_labels(_member(path, archive, label), len(X), f"{path}, array {label!r},")


def _member(path: Path, archive: Any, name: Any) -> Array:
    if name not in archive.files:
        raise ValueError(f"{path} has no array {name!r}; it holds {listed(archive.files)}.\nName one of these.")
    with damage_named(path):
        return np.asarray(archive[name])


def _as_labels(y: Array, n: int, source: str) -> Array:
    if y.shape != (n,) or y.dtype.kind not in "biufUS":
        raise ValueError(
            f"{source} must hold {n} labels, numbers or text; got shape {y.shape} of {y.dtype}.\nName them by label=."
        )
    return y


def _read_text(path: Path, points: Names, label: str | None) -> tuple[Array, Array | None]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = _rows(path, _reader(path, file))
        batches = iter(lambda: list(itertools.islice(rows, BATCH_ROWS)), [])
        names, first = _split_header(next(batches, []))
        if not first:
            raise ValueError(f"{path} holds no points: it has no line of numbers.\nWrite it again.")
        texts = {name for j, name in enumerate(names) if not any(is_number(fields[j]) for _, fields in first)}
        coordinates, label = choose_columns(path, names, texts, points, label)
        parts, labels = [], []
        for batch in itertools.chain([first], batches):
            parts.append(_numbers(path, batch, {name: names.index(name) for name in coordinates}))
            if label is not None:
                labels += _label_texts(path, batch, label, names.index(label))
    return np.concatenate(parts), None if label is None else _labels_from_text(labels)


def text_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """The names of the columns of a text file, which are its first line, and the lines below, as they are written."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [[field.strip() for field in fields] for _, fields in _rows(path, _reader(path, file))]
    if len(lines) < 2:
        raise ValueError(f"{path} holds no line below that of the names.\nWrite it again.")
    return lines[0], lines[1:]


def _reader(path: Path, file: TextIO) -> Any:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    return csv.reader(file, delimiter=delimiter, skipinitialspace=True, strict=True)


def _rows(path: Path, reader: Any) -> Iterator[Row]:
    """Lines that hold anything, with their numbers, all of one length."""
    width = None
    try:
        for fields in reader:
            if not "".join(fields).strip():
                continue
            width = width or len(fields)
            if len(fields) != width:
                raise ValueError(
                    f"{path}, line {reader.line_num}: found {len(fields)} fields, the first line has {width}.\n"
                    "Mend that line; a field that holds the delimiter needs quotes."
                )
            yield reader.line_num, fields
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}.\nMend that line.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}.\nSave it as UTF-8.") from error


def _split_header(rows: list[Row]) -> tuple[list[str], list[Row]]:
    """Names of the columns and the lines below; a first line is names if no field of it is a number.

    Pandas calls unnamed columns 0, 1, 2, ...; no ball that anybody uses has a point there.
    """
    if not rows:
        return [], []
    fields = [field.strip() for field in rows[0][1]]
    numbers = [field for field in fields if is_number(field)]
    numbered = len(numbers) > 1 and numbers == [str(k) for k in range(len(numbers))]
    if numbered or not numbers:
        return fields, rows[1:]
    return [str(j) for j in range(len(fields))], rows


def is_number(text: str) -> bool:
    """Whether a field of a table is a number, and not the name of something."""
    # Python reads "1_2" as 12; in a file it is the name of something.
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _numbers(path: Path, batch: Sequence[Row], columns: dict[str, int]) -> Array:
    block = np.empty((len(batch), len(columns)))
    for k, (name, j) in enumerate(columns.items()):
        try:
            block[:, k] = np.array([fields[j] for _, fields in batch], dtype=np.float64)
        except ValueError:
            line, value = next((line, fields[j]) for line, fields in batch if not is_number(fields[j]))
            raise ValueError(
                f"{path}, line {line}, column {name!r}: {value!r} is not a number.\n"
                "Mend it, or name the columns of coordinates by points= and that of labels by label=."
            ) from None
    return block


def _label_texts(path: Path, batch: Sequence[Row], name: str, j: int) -> list[str]:
    texts = [fields[j].strip() for _, fields in batch]
    if "" in texts:
        line, _ = batch[texts.index("")]
        raise ValueError(f"{path}, line {line}, column {name!r}: the label is missing.\nFill it in.")
    return texts


def _labels_from_text(texts: Sequence[str]) -> Array:
    """Integers if all labels are written like 7 (not like 007), floats if all are like 7.0, else text."""
    kinds = set(texts)
    for pattern, dtype in ((_INTEGER, np.int64), (_FLOAT, np.float64)):
        if all(pattern.fullmatch(text) for text in kinds):
            return np.array(texts, dtype=dtype)
    return np.array(texts)


def _read_parquet(path: Path, points: Names, label: str | None) -> tuple[Array, Array | None]:
    block = ParquetPoints([path], points, label).gathered(labelled=False)
    return block.X, block.y


Reader: TypeAlias = Callable[[Path, Names, str | None], tuple[Array, Array | None]]
_FORMATS: dict[str, tuple[Reader, bytes]] = {
    ".npz": (_read_npz, b"PK"),
    ".npy": (_read_npy, b"\x93NUMPY"),
    ".csv": (_read_text, b""),
    ".tsv": (_read_text, b""),
    ".parquet": (_read_parquet, b"PAR1"),
}
