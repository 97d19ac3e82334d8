"""Tables of text: csv and tsv, with or without a line of names."""

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import numpy as np

from hyplearn.data.columns import Head, Names, choose_columns
from hyplearn.types import Array

# Text is turned into numbers in batches, or it would need many times the memory of the numbers. Columns of text are
# told from columns of numbers by the first batch.
BATCH_ROWS = 10_000

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[+-]?[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?")

Row: TypeAlias = tuple[int, list[str]]


def read_text(path: Path, points: Names, label: str | None, labelled: bool) -> tuple[Array, Array | None]:
    """Points, and labels if there are any: see :func:`hyplearn.datasets.load_points`."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = _rows(path, _reader(path, file))
        batches = iter(lambda: list(itertools.islice(rows, BATCH_ROWS)), [])
        names, first = _below_header(path, next(batches, []))
        coordinates, label = choose_columns(path, names, _texts(names, first), points, label, labelled=labelled)
        parts, labels = [], []
        for batch in itertools.chain([first], batches):
            parts.append(_numbers(path, batch, {name: names.index(name) for name in coordinates}))
            if label is not None:
                labels += _label_texts(path, batch, label, names.index(label))
    return np.concatenate(parts), None if label is None else _labels_from_text(labels)


def text_head(path: Path) -> Head:
    """What the first lines of a text file tell of its columns."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(itertools.islice(_rows(path, _reader(path, file)), BATCH_ROWS))
    names, first = _below_header(path, rows)
    values = {name: {fields[names.index(name)].strip() for _, fields in first} for name in _texts(names, first)}
    return Head(names, values, named=len(first) < len(rows))


def text_column(path: Path, name: str) -> list[str]:
    """One column as it is written; the file has a line of names."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = _rows(path, _reader(path, file))
        _, names = next(rows)
        place = [field.strip() for field in names].index(name)
        return [fields[place].strip() for _, fields in rows]


def _texts(names: Sequence[str], rows: Sequence[Row]) -> set[str]:
    """The columns in which no line has a number."""
    return {name for j, name in enumerate(names) if not any(is_number(fields[j]) for _, fields in rows)}


def _below_header(path: Path, rows: list[Row]) -> tuple[list[str], list[Row]]:
    """Names of the columns and the lines below; an error if there are none."""
    names, below = _split_header(rows)
    if not below:
        raise ValueError(f"{path} holds no points: it has no line of numbers.\nWrite it again.")
    return names, below


def text_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """The names of the columns of a text file, which are its first line, and the lines below, as they are written."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [[field.strip() for field in fields] for _, fields in _rows(path, _reader(path, file))]
    if len(lines) < 2:
        raise ValueError(f"{path} holds no line below that of the names.\nWrite it again.")
    return lines[0], lines[1:]


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _reader(path: Path, file: TextIO) -> Any:
    return csv.reader(file, delimiter=_delimiter(path), skipinitialspace=True, strict=True)


def _rows(path: Path, reader: Any) -> Iterator[Row]:
    """Lines that hold anything, with their numbers, all of one length."""
    width = None
    try:
        for fields in reader:
            if not "".join(fields).strip():
                continue
            if width is None:
                _check_delimiter(path, reader.line_num, fields)
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


def _check_delimiter(path: Path, line: int, fields: list[str]) -> None:
    """Refuse a first line whose fields are divided by something else."""
    others = [mark for mark in ",;\t" if mark != _delimiter(path) and mark in fields[0]]
    if len(fields) == 1 and others:
        raise ValueError(
            f"{path}, line {line}: {fields[0]!r} is one field, as {_delimiter(path)!r} divides those of "
            f"{path.suffix} files, and not {others[0]!r}.\nSave it with commas as .csv, or with tabs as .tsv."
        )


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
