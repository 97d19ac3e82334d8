"""Read points from csv and tsv files, with or without a header line."""

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hyplearn.data.columns import HEAD_ROWS, TablePoints, Wanted, choose_columns
from hyplearn.data.points import Block, counted
from hyplearn.files import WatchedFile, check_kind
from hyplearn.types import Array

# Number of lines per batch. With batches of 10,000 lines, garbage collection would more than double the time: 4.7 s
# instead of 2.0 s for 1e6 lines of 3 fields. Two faster readers are not used: numpy.loadtxt (1.1 s) does not read
# labels, and pyarrow.csv (0.45 s) by default treats the first row as a header, reads 007 as 7 and accepts an unclosed
# quote.
BATCH_ROWS = 300

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[+-]?[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?")

Row: TypeAlias = tuple[int, list[str]]


class TextPoints(TablePoints):
    """Source of points in a ``.csv`` or ``.tsv`` file, which is parsed again in every pass.

    The first line is a header if none of its fields is a number, or if it has two or more numbers and they are 0, 1, 2,
    ...; otherwise the columns are called "0", "1", ... The labels are integers if all of them are written like 7 (not
    like 007), floats if all of them are written like 7.0, and strings otherwise. Their type is determined in a first
    pass over the labels.
    """

    def __init__(self, path: Path, wanted: Wanted) -> None:
        check_kind(path)
        self.file, self.path, self.paths, self.name = WatchedFile(path), path, (path,), str(path)
        head = list(itertools.islice(_rows(path), HEAD_ROWS))
        self.names, self.named = _names(head)
        head = head[self.named :]
        if not head:
            raise ValueError(f"{path} holds no points: it has no rows of numbers.\nPass a file with at least one row.")
        texts = {name for j, name in enumerate(self.names) if not any(is_number(fields[j]) for _, fields in head)}
        self.columns = choose_columns(path, self.names, texts, wanted, named=self.named)
        self.n_features = len(self.columns.coordinates)
        self.feature_names = self.columns.coordinates if self.named else None
        if self.columns.label is not None:
            self.label_type, self.n_rows = self._label_type(self.columns.label)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Tuple that identifies the table.

        It contains the names of the columns that are read, and the path, size, modification time and inode number of
        the file.
        """
        return ", ".join(self.columns.read), str(self.path), *self.file.state

    def parts(self, start: int) -> Iterator[Block]:
        """Iterate over the rows in batches, starting at row ``start``."""
        coordinates, label, weight, *_ = self.columns
        is_whole = start == 0
        with self.file.reading():
            for batch in self._batches(start):
                X = np.column_stack([self._numbers(batch, name) for name in coordinates])
                y: Array | None = None if label is None else np.array(self._labels(batch, label), self.label_type)
                yield Block(X, y, None if weight is None else self._numbers(batch, weight), start)
                start += len(batch)
        if is_whole:
            self.n_rows = start

    def strings(self, column: str, most: int | None = None) -> list[str]:
        """Read one column as strings; if ``most`` is given, read only its first ``most`` values."""
        j = self.names.index(column)
        with self.file.reading():
            return [fields[j].strip() for _, fields in itertools.islice(self._below(), most)]

    def values(self, column: str) -> Array:
        """Read one column: as numbers if it has non-empty fields and all of them are numbers, otherwise as strings.

        An empty field becomes NaN in a column of numbers, and None in a column of strings.
        """
        fields = self.strings(column)
        given = [field for field in fields if field]
        if len(given) == len(fields) and all(map(_INTEGER.fullmatch, given)):
            return np.array(fields, dtype=np.int64)
        if given and all(map(is_number, given)):
            return np.array([field or "nan" for field in fields], dtype=np.float64)
        return np.array([field or None for field in fields], dtype=object)

    def _below(self) -> Iterator[Row]:
        """Iterate over the lines below the header, or over all lines if there is no header."""
        return itertools.islice(_rows(self.path), int(self.named), None)

    def _batches(self, start: int = 0) -> Iterator[list[Row]]:
        rows = itertools.islice(self._below(), start, None)
        return iter(lambda: list(itertools.islice(rows, BATCH_ROWS)), [])

    def _label_type(self, name: str) -> tuple[type, int]:
        """Return the type of the labels (integer, float or string), and the number of rows."""
        patterns: dict[type, re.Pattern[str]] = {np.int64: _INTEGER, np.float64: _FLOAT}
        count = 0
        with self.file.reading():
            for batch in self._batches():
                labels = set(self._labels(batch, name))
                patterns = {one: like for one, like in patterns.items() if all(map(like.fullmatch, labels))}
                count += len(batch)
        return next(iter(patterns), str), count

    def _labels(self, batch: Sequence[Row], name: str) -> list[str]:
        j = self.names.index(name)
        labels = [fields[j].strip() for _, fields in batch]
        if "" in labels:
            line, _ = batch[labels.index("")]
            raise ValueError(
                f"{self.path}, line {line}, column {name!r}: the label is missing.\nFill it in, or remove the line."
            )
        return labels

    def _numbers(self, batch: Sequence[Row], name: str) -> Array:
        j = self.names.index(name)
        try:
            return np.array([fields[j] for _, fields in batch], dtype=np.float64)
        except ValueError:
            line, value = next((line, fields[j]) for line, fields in batch if not is_number(fields[j]))
            raise ValueError(
                f"{self.path}, line {line}, column {name!r}: {value!r} is not a number.\n"
                "Correct it, or pass points= with the names of the coordinate columns and label= with the label column."
            ) from None


def text_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the fields of the header and of the lines below it, as strings."""
    check_kind(path)
    lines = [[field.strip() for field in fields] for _, fields in _rows(path)]
    if len(lines) < 2:
        raise ValueError(
            f"{path} has {counted(len(lines), 'non-blank line')}; expected a header and at least one row.\n"
            "Add the missing lines."
        )
    return lines[0], lines[1:]


def _rows(path: Path) -> Iterator[Row]:
    """Yield the line number and the fields of each non-blank line; all lines must have the same number of fields."""
    width, delimiter = 0, "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True, strict=True)
        try:
            for fields in reader:
                if not "".join(fields).strip():
                    continue
                if not width:
                    _check_delimiter(path, reader.line_num, fields, delimiter)
                    width = len(fields)
                if len(fields) != width:
                    raise ValueError(
                        f"{path}, line {reader.line_num}: found {len(fields)} fields, but the first line has {width}.\n"
                        "Correct this line; a field that contains the delimiter needs quotes."
                    )
                yield reader.line_num, fields
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}.\nCorrect this line.") from error
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 text: {error}.\nSave it as UTF-8.") from error


def _check_delimiter(path: Path, line: int, fields: list[str], delimiter: str) -> None:
    """Raise an error if the first line is a single field that contains a delimiter other than ``delimiter``."""
    others = [mark for mark in ",;\t" if mark != delimiter and mark in fields[0]]
    if len(fields) == 1 and others:
        raise ValueError(
            f"{path}, line {line}: {fields[0]!r} is one field, because fields in {path.suffix} files are separated by "
            f"{delimiter!r}, not by {others[0]!r}.\nSave the file with commas as .csv, or with tabs as .tsv."
        )


def _names(rows: Sequence[Row]) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether the first line is a header."""
    if not rows:
        return [], False
    fields = [field.strip() for field in rows[0][1]]
    numbers = [field for field in fields if is_number(field)]
    # pandas writes the header 0, 1, 2, ... for unnamed columns. Such a line is not taken for a point: at the default
    # curvature, -1, a point with these coordinates would not lie inside the ball.
    if not numbers or (len(numbers) > 1 and numbers == [str(k) for k in range(len(numbers))]):
        return fields, True
    return [str(j) for j in range(len(fields))], False


def is_number(field: str) -> bool:
    """Return whether a field of a table is a number; "nan" and "inf" count as numbers."""
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field  # in Python, float("1_2") is 12.0, but "1_2" in a file is a name
