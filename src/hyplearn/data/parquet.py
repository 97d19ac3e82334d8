"""Read points from Parquet files in batches, and verify the checksums of pages."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.data.columns import Columns, TablePoints, Wanted, choose_columns
from hyplearn.data.labels import as_objects, as_strings
from hyplearn.data.points import Block, counted
from hyplearn.files import WatchedFile, check_kind, damage_named
from hyplearn.types import Array

PARQUET_MAGIC = b"PAR1"
# Size of the read buffer per column, in bytes. Row groups may be larger than memory, so they are read in parts.
BUFFER = 2**20
# pyarrow.dataset is not used. For one row group of 3e7 rows it takes the same time as this reader, but needs 902 MB
# instead of 106 MB. It also does not detect that a file is replaced or removed while it is read (pyarrow 26).


class ParquetPoints(TablePoints):
    """Source of points in one or more Parquet files that have the same columns.

    Blocks do not depend on how rows are divided into files and row groups. A file is open only while it is read.
    """

    def __init__(self, paths: Sequence[Path], wanted: Wanted) -> None:
        self.paths, self.files, self.counts = tuple(paths), [], []
        self.name = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {counted(len(paths) - 1, 'more file')}"
        for path in paths:
            with _opened(path) as file:
                columns, types = _columns(path, file.schema_arrow, wanted)
                self.counts.append(file.metadata.num_rows)
            self.files.append(WatchedFile(path))
            if len(self.files) == 1:
                self.columns, self.types = columns, types
            elif (columns.read, types) != (self.columns.read, self.types):
                raise ValueError(
                    f"{path} and {paths[0]} have different columns: {_described(columns, types)} and "
                    f"{_described(self.columns, self.types)}.\nWrite all files with the same columns, or pass points=."
                )
            elif columns.name is None:
                self.columns = self.columns._replace(name=None)
        self.n_rows = sum(self.counts)
        if not self.n_rows:
            raise ValueError(f"{self.name} holds no points: it has no rows.\nPass a table with at least one row.")
        self.feature_names = self.columns.coordinates
        self.n_features = len(self.feature_names)
        are_single = all(str(kind) == "float" for kind in self.types[: self.n_features])
        self.dtype = np.float32 if are_single else np.float64

    @property
    def identity(self) -> tuple[Any, ...]:
        """Tuple that identifies the table: its columns, and for each file its path and state.

        The state of a file consists of its size, its modification time and its inode number.
        """
        described = _described(self.columns, self.types)
        return described, *((str(file.path), *file.state) for file in self.files)

    def parts(self, start: int) -> Iterator[Block]:
        """Iterate over the batches of all files, starting at row ``start``."""
        ahead = 0
        for file, count in zip(self.files, self.counts, strict=True):
            if ahead + count > start:
                yield from self._parts_of(file, count, ahead, max(start - ahead, 0))
            ahead += count

    def _parts_of(self, file: WatchedFile, count: int, ahead: int, start: int) -> Iterator[Block]:
        """Iterate over the batches of one file, starting at its row ``start``.

        ``count`` is the number of rows of the file, and ``ahead`` the total number of rows of the files before it.
        """
        place = 0
        for first, batch in self._batches(file, self.columns.read, start):
            place = first + len(batch)
            part = batch.slice(max(start - first, 0))
            if len(part):
                yield self._block(file.path, part, ahead, place - len(part))
        if place != count:
            raise OSError(
                f"Only {place} of the {count} rows of {file.path} could be read.\nWrite or copy the file again."
            )

    def _block(self, path: Path, batch: Any, ahead: int, start: int) -> Block:
        coordinates, label, weight, *_ = self.columns
        columns = {name: batch.column(name) for name in self.columns.read}
        for name, column in columns.items():
            if column.null_count:
                row = start + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
                raise ValueError(
                    f"{path}, row {row} (counted from 0), column {name!r}: the value is missing.\n"
                    "Fill it in, or remove the row."
                )
        X = np.empty((len(batch), self.n_features), dtype=self.dtype)
        for j, name in enumerate(coordinates):
            X[:, j] = _numbers(columns[name])
        weights = None if weight is None else _numbers(columns[weight]).astype(np.float64)
        return Block(X, None if label is None else _labels(path, label, columns[label]), weights, ahead + start)

    def strings(self, column: str, most: int | None = None) -> list[str]:
        """Read one column as strings; if ``most`` is given, read only its first ``most`` values."""
        batches = (batch for file in self.files for _, batch in self._batches(file, [column]))
        values = chain.from_iterable(batch.column(0).to_pylist() for batch in batches)
        return list(map(str, islice(values, most)))

    def values(self, column: str) -> Array:
        """Read one column; missing values become NaN in a numeric column, and None in other columns."""
        import pyarrow as pa

        parts = [
            self._only(file.path, column, batch) for file in self.files for _, batch in self._batches(file, [column])
        ]
        is_number = pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal
        if all(any(check(part.type) for check in is_number) for part in parts):
            return np.concatenate([_numbers(part) for part in parts])
        return np.array(list(chain.from_iterable(part.to_pylist() for part in parts)), dtype=object)

    def _only(self, path: Path, column: str, batch: Any) -> Any:
        """Return the single column requested from a batch; raise an error if the file at ``path`` does not have it."""
        if not batch.num_columns:
            raise ValueError(f"{path} has no column {column!r}, which {self.paths[0]} has.\nPass another column.")
        return batch.column(0)

    def _batches(self, file: WatchedFile, names: list[str], start: int = 0) -> Iterator[tuple[int, Any]]:
        """Yield the batches of a file as pairs: the position of the first row, and the batch.

        The first batch is at the start of the row group that contains row ``start``.
        """
        with file.reading(), _opened(file.path) as opened:
            groups, place = _groups_from(opened.metadata, start)
            with damage_named(file.path):
                batches = opened.iter_batches(self.block_rows, row_groups=groups, columns=names, use_threads=False)
            while True:
                with damage_named(file.path):
                    batch = next(batches, None)
                if batch is None:
                    return
                yield place, batch
                place += len(batch)


def _columns(path: Path, schema: Any, wanted: Wanted) -> tuple[Columns, tuple[Any, ...]]:
    """Return the columns of a file, grouped by role, and the value types of the columns that are read."""
    import pyarrow as pa

    with damage_named(path):
        # Pandas stores the index of a data frame in columns named __index_level_0__, __index_level_1__, and so on. They
        # are ignored, because they would otherwise be taken for coordinates.
        types = {field.name: field.type for field in schema if not field.name.startswith("__index_level_")}
    is_number = pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal
    texts = {name for name, kind in types.items() if not any(check(kind) for check in is_number)}
    _refuse_nested(path, types, texts, wanted)
    columns = choose_columns(path, [field.name for field in schema if field.name in types], texts, wanted)
    kinds = [types[name] for name in columns.read]
    return columns, tuple(map(_value_type, kinds))


def _value_type(kind: Any) -> Any:
    """Return the type of a column's values, regardless of how strings and categories are stored."""
    import pyarrow as pa

    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if pa.types.is_large_string(values) else values


def _refuse_nested(path: Path, types: dict[str, Any], texts: set[str], wanted: Wanted) -> None:
    """Raise if the points would have to be read from a nested column, such as a column of lists of coordinates."""
    from pyarrow.types import is_nested

    points = [wanted.points] if isinstance(wanted.points, str) else list(wanted.points or [])
    for name, kind in types.items():
        if is_nested(kind) and (name in points or (not points and len(texts) == len(types))):
            raise ValueError(
                f"{path}, column {name!r}, holds {kind}; each coordinate must be a column of numbers.\n"
                "Write one column per coordinate, or save the points as an array in .npy, HDF5 or zarr."
            )


def _numbers(column: Any) -> Array:
    import pyarrow as pa

    plain = column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column
    return plain.to_numpy(zero_copy_only=False)


def _labels(path: Path, name: str, column: Any) -> Array:
    """Convert a column of labels to an array of numbers, bools or strings."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.dictionary_encode()
    are_strings = False
    with damage_named(path):
        if pa.types.is_dictionary(column.type):
            values = column.dictionary.to_pylist()
            are_strings = all(isinstance(value, str) for value in values)
            distinct = as_strings(as_objects(values)) if are_strings else np.array(values)
            labels = distinct[column.indices.to_numpy(zero_copy_only=False)]
        else:
            labels = column.to_numpy(zero_copy_only=False)
    if labels.dtype.kind not in "biufU" and not are_strings:
        raise ValueError(
            f"{path}, column {name!r}: labels must be numbers or strings; got {kind}.\n"
            "Pass label= with the name of another column."
        )
    return labels


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Reading Parquet needs pyarrow: pip install 'hyplearn[parquet]'.") from error
    check_kind(path, PARQUET_MAGIC)
    with damage_named(path):
        file = pq.ParquetFile(
            path, memory_map=False, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True
        )
    try:
        yield file
    finally:
        file.close()


def _groups_from(metadata: Any, start: int) -> tuple[list[int], int]:
    """Return the indices of the row groups from row ``start`` on, and the number of rows before them.

    The first of these groups is the group that contains row ``start``.
    """
    place = 0
    for group in range(metadata.num_row_groups):
        if place + metadata.row_group(group).num_rows > start:
            return list(range(group, metadata.num_row_groups)), place
        place += metadata.row_group(group).num_rows
    return [], place


def _described(columns: Columns, types: Sequence[Any]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in zip(columns.read, types, strict=True))
