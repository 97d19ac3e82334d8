"""Points in Parquet files: columns by name, read a batch at a time, with the checksums of pages compared."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyplearn.data.arrays import WatchedFile
from hyplearn.data.columns import Head, Names, choose_columns, damage_named, listed
from hyplearn.data.points import Block, PointSource
from hyplearn.data.regrouping import regrouped
from hyplearn.types import Array

# Bytes that are read ahead of each column: a group of rows may be larger than memory.
BUFFER = 2**20
# Rows by which columns of text are told from one another.
HEAD_ROWS = 10_000


class Columns(NamedTuple):
    """Names and types of the columns that are read: coordinates, labels, weights."""

    coordinates: list[str]
    label: str | None
    weight: str | None
    types: tuple[Any, ...]

    @property
    def names(self) -> list[str]:
        """All names."""
        return [*self.coordinates, *(name for name in (self.label, self.weight) if name is not None)]


class ParquetPoints(PointSource):
    """Points in Parquet files that have the same columns, one file after the other.

    Blocks do not depend on how rows are divided into files, nor within them.

    Parameters
    ----------
    paths : sequence of paths
        The files, in order.
    points, label, weight : names, optional
        Columns of the coordinates, of labels and of weights. The label is by default the one called label, labels,
        target or class, else the only one that holds no numbers and is not called name; coordinates are all
        other columns of numbers.
    labelled : bool, default=True
        Whether labels are looked for.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        points: Names = None,
        label: str | None = None,
        weight: str | None = None,
        *,
        labelled: bool = True,
    ) -> None:
        self.files, self.paths = [WatchedFile(path) for path in paths], tuple(paths)
        self.name = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more files"
        opened = [_opened(path) for path in paths]
        found = [
            chosen_columns(path, file.schema_arrow, points, label, weight, labelled=labelled)
            for path, file in zip(paths, opened, strict=True)
        ]
        self.columns = found[0]
        for path, columns in zip(paths, found, strict=True):
            if columns != self.columns:
                raise ValueError(
                    f"{path} and {paths[0]} differ: {_described(columns)} and {_described(self.columns)}.\n"
                    "Write all files with the same columns, or name those of the points by points=."
                )
        self.counts = [file.metadata.num_rows for file in opened]
        self.n_rows = sum(self.counts)
        if not self.n_rows:
            raise ValueError(f"{self.name} holds no rows.\nWrite it again.")
        self.feature_names = self.columns.coordinates
        self.n_features = len(self.feature_names)
        single = all(str(kind) == "float" for kind in self.columns.types[: self.n_features])
        self.dtype = np.float32 if single else np.float64

    @property
    def identity(self) -> tuple[Any, ...]:
        """Columns, and the states of the files."""
        return _described(self.columns), *((str(file.path), *file.state) for file in self.files)

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """Blocks of the usual size."""
        return regrouped(self._parts(first * self.block_rows), self.block_rows, first * self.block_rows)

    def _parts(self, start: int) -> Iterator[Block]:
        """What the batches of all files hold, from a row on."""
        ahead = 0
        for file, count in zip(self.files, self.counts, strict=True):
            if ahead + count > start:
                yield from self._parts_of(file, count, ahead, max(start - ahead, 0))
            ahead += count

    def _parts_of(self, file: WatchedFile, count: int, ahead: int, start: int) -> Iterator[Block]:
        """The batches of one file with ``ahead`` rows before it, from one of its rows on."""
        file.check()
        opened = _opened(file.path)
        groups, place = _groups_from(opened.metadata, start)
        try:
            for batch in _batches(file.path, opened, self.block_rows, groups, self.columns.names):
                part = batch.slice(max(start - place, 0))
                if len(part):
                    yield self._block(file.path, part, ahead, place + len(batch) - len(part))
                place += len(batch)
        except ValueError:
            file.check()
            raise
        finally:
            opened.close()
        file.check()
        if place != count:
            raise OSError(f"{file.path} gave {place} of {count} rows.\nWrite or copy it again.")

    def _block(self, path: Path, batch: Any, ahead: int, start: int) -> Block:
        coordinates, label, weight, _ = self.columns
        columns = {name: batch.column(name) for name in self.columns.names}
        for name, column in columns.items():
            _check_present(path, name, column, start)
        X = np.empty((len(batch), self.n_features), dtype=self.dtype)
        for j, name in enumerate(coordinates):
            X[:, j] = _numbers(columns[name])
        weights = None if weight is None else _numbers(columns[weight]).astype(np.float64)
        return Block(X, None if label is None else _labels(path, label, columns[label]), weights, ahead + start)


def chosen_columns(
    path: Path, schema: Any, points: Names, label: str | None, weight: str | None = None, *, labelled: bool = True
) -> Columns:
    """The columns of a file that are named, or that convention names."""
    import pyarrow as pa

    types = _types(path, schema)
    names = [field.name for field in schema if field.name in types and field.name != weight]
    texts = _texts(types)
    if weight is not None and (weight not in types or weight in texts):
        raise ValueError(
            f"{path} has no weights {weight!r}; its columns are {listed(names)}.\nName a column of numbers."
        )
    _refuse_nested(path, types, points)
    coordinates, label = choose_columns(path, names, texts, points, label, labelled=labelled)
    kinds = [types[name] for name in [*coordinates, label, weight] if name is not None]
    plain = tuple(kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds)
    return Columns(coordinates, label, weight, plain)


def _types(path: Path, schema: Any) -> dict[str, Any]:
    """The type of each column; under the names that are left out Pandas keeps its row labels."""
    with damage_named(path):
        return {field.name: field.type for field in schema if not field.name.startswith("__index_level_")}


def _texts(types: dict[str, Any]) -> set[str]:
    import pyarrow.types as of

    numbers = of.is_floating, of.is_integer, of.is_decimal
    return {name for name, kind in types.items() if not any(is_number(kind) for is_number in numbers)}


def _refuse_nested(path: Path, types: dict[str, Any], points: Names) -> None:
    """An error for points that lie as lists in one column: named, or where there is no column of numbers at all."""
    import pyarrow as pa

    nested = [name for name, kind in types.items() if pa.types.is_nested(kind)]
    wanted = [points] if isinstance(points, str) else list(points or [])
    for name in nested:
        if name in wanted or (not wanted and len(_texts(types)) == len(types)):
            raise ValueError(
                f"{path}, column {name!r}, holds {types[name]}; each coordinate must be a column of numbers.\n"
                "Write such columns, or the points as an array: .npy, HDF5, zarr."
            )


def _numbers(column: Any) -> Array:
    import pyarrow as pa

    plain = column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column
    return plain.to_numpy(zero_copy_only=False)


def parquet_head(path: Path) -> Head:
    """What the schema and the first rows of a file tell of its columns."""
    opened = _opened(path)
    types = _types(path, opened.schema_arrow)
    texts = sorted(_texts(types))
    groups, _ = _groups_from(opened.metadata, 0)
    first = next(_batches(path, opened, HEAD_ROWS, groups, texts), None) if texts else None
    values = {name: set() if first is None else set(map(str, first.column(name).to_pylist())) for name in texts}
    return Head(list(types), values)


def parquet_column(path: Path, name: str) -> list[str]:
    """One column as text."""
    with damage_named(path):
        return list(map(str, _opened(path).read([name]).column(0).to_pylist()))


def _labels(path: Path, name: str, column: Any) -> Array:
    """Labels as numbers, truth values or text."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.dictionary_encode()
    with damage_named(path):
        if pa.types.is_dictionary(column.type):
            labels = np.array(column.dictionary.to_pylist())[column.indices.to_numpy(zero_copy_only=False)]
        else:
            labels = column.to_numpy(zero_copy_only=False)
    if labels.dtype.kind not in "biufU":
        raise ValueError(
            f"{path}, column {name!r}, must hold labels, numbers or text; got {kind}.\nName them by label=."
        )
    return labels


def _opened(path: Path) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Reading Parquet needs pyarrow: pip install 'hyplearn[parquet]'.") from error
    with damage_named(path):
        return pq.ParquetFile(
            path, memory_map=False, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True
        )


def _batches(path: Path, opened: Any, size: int, groups: list[int], names: list[str]) -> Iterator[Any]:
    """Some rows at a time of some groups of rows."""
    with damage_named(path):
        batches = opened.iter_batches(size, row_groups=groups, columns=names, use_threads=False)
    while True:
        with damage_named(path):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _groups_from(metadata: Any, start: int) -> tuple[list[int], int]:
    """The groups of rows from the one that holds a row on, and the rows before them."""
    place = 0
    for group in range(metadata.num_row_groups):
        if place + metadata.row_group(group).num_rows > start:
            return list(range(group, metadata.num_row_groups)), place
        place += metadata.row_group(group).num_rows
    return [], place


def _check_present(path: Path, name: str, column: Any, start: int) -> None:
    if column.null_count:
        row = start + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(f"{path}, row {row}, counted from 0, column {name!r}: the value is missing.\nFill it in.")


def _described(columns: Columns) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in zip(columns.names, columns.types, strict=True))
