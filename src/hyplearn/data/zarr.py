"""Arrays of zarr stores: read block by block, and refused where chunks are missing."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.data.arrays import StoredArray, WatchedFile
from hyplearn.data.columns import damage_named
from hyplearn.data.points import checksum
from hyplearn.types import Array


class WatchedFolder:
    """A folder whose files must stay as they were when it was opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state = self._state()

    def _state(self) -> str:
        digest = hashlib.sha256()
        for folder, folders, files in os.walk(self.path):
            folders.sort()
            for name in sorted(files):
                found = os.stat(os.path.join(folder, name))
                digest.update(f"{folder}/{name} {found.st_size} {found.st_mtime_ns} {found.st_ino}\n".encode())
        return digest.hexdigest()

    def check(self) -> None:
        """Raise if a file of the folder is not what it was, or if one is new or gone."""
        try:
            same = self._state() == self.state
        except FileNotFoundError:
            same = False
        if not same:
            raise OSError(
                f"{self.path} was changed while it was read, so nothing was made of it.\n"
                "Run this again when nothing writes to the folder."
            )


class ZarrArray(StoredArray):
    """An array of a zarr store.

    A chunk that is missing is read as zeros, and one that holds zeros alone is not stored by default; which of the two
    it is cannot be told, so neither is taken. Chunks within shards are not listed: rows of these are read twice at
    first, with two values in place of what is missing.

    Parameters
    ----------
    array : zarr.Array
        The array.
    """

    def __init__(self, array: Any) -> None:
        self.array, place = array, _place(array.store)
        self.name = f"{place or 'zarr array'}, /{array.path}"
        self.shape = array.shape
        self.dtype = np.dtype(str) if array.dtype.kind in "OT" else array.dtype
        self.watched: WatchedFolder | WatchedFile | None = None
        if place is not None:
            self.watched = WatchedFolder(place / array.path) if place.is_dir() else WatchedFile(place)
        self.twin, self.compared = None if array.shards is None else _filled_otherwise(array), 0
        self._check_chunks()

    def read(self, start: int, stop: int) -> Array:
        """Some rows."""
        rows = self._read(self.array, start, stop)
        if self.twin is not None and stop > self.compared:
            if checksum(rows) != checksum(self._read(self.twin, start, stop)):
                self._refuse(f"chunks of the rows {start} to {stop - 1}")
            if start <= self.compared:
                self.compared = stop
        return rows

    def _read(self, array: Any, start: int, stop: int) -> Array:
        with self.reading():
            rows = np.ascontiguousarray(array[start:stop])
        return np.array(rows.tolist(), dtype=str) if rows.dtype.kind in "OT" else rows

    def check(self) -> None:
        """Raise if a chunk is not what it was, or has gone."""
        if self.watched is not None:
            self.watched.check()
        else:
            self._check_chunks()

    @property
    def state(self) -> tuple[Any, ...]:
        """That of the folder or the file."""
        return () if self.watched is None else (self.watched.state,)

    def _check_chunks(self) -> None:
        missing = 0 if self.twin is not None else self.array.nchunks - self.array.nchunks_initialized
        if missing:
            self._refuse(f"{missing} of {self.array.nchunks} chunks")

    def _refuse(self, chunks: str) -> None:
        raise ValueError(
            f"{self.name}: {chunks} are missing, and would be read as zeros.\n"
            'Write the array again, with config={"write_empty_chunks": True} if it does hold such zeros.'
        )


def _filled_otherwise(array: Any) -> Any:
    """The same array with another value in place of what is missing."""
    import zarr

    is_number, fill = array.dtype.kind in "biuf", array.fill_value
    other: Any = array.dtype.type(fill == 0) if is_number else "" if fill else "?"
    metadata = replace(array.metadata, fill_value=other)
    return zarr.Array(zarr.AsyncArray(metadata=metadata, store_path=array.store_path))


def opened_zarr(path: Path) -> Any:
    """The array or the group of a path."""
    try:
        import zarr
    except ImportError as error:
        raise ImportError("Reading zarr needs zarr: pip install 'hyplearn[zarr]'.") from error
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.\nCheck the path.")
    with damage_named(path):
        return zarr.open(str(path), mode="r")


def _place(store: Any) -> Path | None:
    """The folder or the file of a store on this machine."""
    place = getattr(store, "root", None) or getattr(store, "path", None)
    return Path(place) if isinstance(place, (str, os.PathLike)) and Path(place).exists() else None
