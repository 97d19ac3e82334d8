"""Arrays in files, read block by block: never mapped, as a file that shrinks would take the process with it."""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.data.columns import damage_named
from hyplearn.data.points import Block, PointSource, checksum, point_type
from hyplearn.types import Array

# Bytes that are read at once where an array is scattered over them.
RANGE = 2**23


class WatchedFile:
    """A file that must stay as it was when it was opened."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.state = self._state()

    def _state(self) -> tuple[int, int, int]:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            raise FileNotFoundError(f"There is no file {self.path}.\nCheck the path.") from None
        return found.st_size, found.st_mtime_ns, found.st_ino

    def opened(self) -> FileIO:
        """The file, to read from."""
        try:
            return FileIO(self.path)
        except FileNotFoundError:
            self.check()
            raise

    def read_into(self, buffer: memoryview, place: int) -> None:
        """Fill a buffer with the bytes from a place on."""
        with self.opened() as stream:
            stream.seek(place)
            while len(buffer):
                count = stream.readinto(buffer)
                if not count:
                    self.check()
                    raise OSError(f"{self.path} ended {len(buffer)} bytes too early.\nWrite or copy it again.")
                buffer = buffer[count:]

    def check(self) -> None:
        """Raise if the file is not what it was."""
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} was removed while it was read.\nPut it back and run this again.")
        if self._state() != self.state:
            raise OSError(
                f"{self.path} was changed while it was read, so nothing was made of it.\n"
                "Run this again when nothing writes to the file."
            )


class StoredArray(ABC):
    """An array outside of memory, of which some rows are read at a time.

    Attributes
    ----------
    name : str
        What messages call it.
    shape : tuple of int
        Its shape; the first entry is the number of rows.
    dtype : dtype
        Type of what is read.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @abstractmethod
    def read(self, start: int, stop: int) -> Array:
        """Some rows."""

    @abstractmethod
    def check(self) -> None:
        """Raise if what was read may not be what was stored."""

    @property
    @abstractmethod
    def state(self) -> tuple[Any, ...]:
        """What changes with the files, where there are any."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While a library reads: its errors name the array, and those of a file that was changed say so."""
        try:
            with damage_named(self.name):
                yield
        except ValueError:
            self.check()
            raise


class ArrayFile(StoredArray):
    """An array that lies in a file row by row; or column by column, or scattered among others, as strides tell."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        dtype: Any,
        shape: tuple[int, ...],
        offset: int,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        self.file, self.dtype, self.shape, self.offset = WatchedFile(path), np.dtype(dtype), shape, offset
        self.name = str(self.file.path)
        dense = _strides(shape, self.dtype)
        self.strides = dense if strides is None else strides
        self.is_dense = self.strides == dense
        needed = offset + _bounds(shape, self.strides, self.dtype)[1]
        if self.file.state[0] < needed:
            raise OSError(
                f"{self.file.path} is cut short: {shape[0]} rows need {needed} bytes, the file has "
                f"{self.file.state[0]}.\nWrite or copy it again."
            )

    @classmethod
    def npy(cls, path: str | os.PathLike[str], *, at: int = 0) -> "ArrayFile":
        """The array of a ``.npy`` file, or of one that is a part of another file and begins there."""
        with WatchedFile(path).path.open("rb") as stream:
            stream.seek(at)
            try:
                version = np.lib.format.read_magic(stream)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, fortran, dtype = read(stream)
            except ValueError as problem:
                raise ValueError(f"{path} is no .npy file: {problem}\nWrite it with numpy.save.") from None
            offset = stream.tell()
        if dtype.hasobject or not shape:
            kind = "Python objects" if dtype.hasobject else "one number"
            raise ValueError(f"{path} holds {kind}, which cannot be read row by row.\nSave rows of numbers or text.")
        return cls(path, dtype, shape, offset, _strides(shape[::-1], dtype)[::-1] if fortran else None)

    @classmethod
    def of(cls, X: np.memmap[Any, Any]) -> "ArrayFile":
        """The file behind a memory map, from where the first number of the map lies."""
        root = X
        while isinstance(root.base, np.memmap):
            root = root.base
        ahead = X.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        strides = None if X.flags.c_contiguous else X.strides
        return cls(str(root.filename), X.dtype, X.shape, root.offset + ahead, strides)

    def read(self, start: int, stop: int) -> Array:
        """Some rows."""
        out = np.empty((stop - start, *self.shape[1:]), dtype=self.dtype)
        place = self.offset + start * self.strides[0]
        if self.is_dense:
            self.file.read_into(out.reshape(-1).view(np.uint8).data, place)
        else:
            self._collect(out, place, self.strides)
        return out

    def _collect(self, out: Array, place: int, strides: tuple[int, ...]) -> None:
        """Fill an array with what is scattered from a place on: by columns where these lie apart, else by rows."""
        if out.ndim == 2 and abs(strides[0]) < abs(strides[1]):
            for j in range(out.shape[1]):
                self._collect(out[:, j], place + j * strides[1], strides[:1])
            return
        step = max(1, RANGE // max(1, abs(strides[0])))
        for first in range(0, len(out), step):
            part = out[first : first + step]
            low, high = _bounds(part.shape, strides, self.dtype)
            among = np.empty(high - low, dtype=np.uint8)
            self.file.read_into(among.data, place + first * strides[0] + low)
            part[...] = np.ndarray(part.shape, self.dtype, among.data, -low, strides)

    def check(self) -> None:
        """Raise if the file is not what it was."""
        self.file.check()

    @property
    def state(self) -> tuple[Any, ...]:
        """That of the file, and where in it the array lies."""
        return *self.file.state, self.offset, self.strides


def _strides(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Bytes from one entry to the next along each axis of an array that lies row by row."""
    return tuple(dtype.itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _bounds(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, int]:
    """Where the bytes of an array begin and end, seen from its first number."""
    if 0 in shape:
        return 0, 0
    reach = [max(0, n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    return sum(min(0, far) for far in reach), sum(max(0, far) for far in reach) + dtype.itemsize


class ArrayPoints(PointSource):
    """Points, labels and weights that can be sliced: arrays in files, in memory, or in a store of chunks.

    Parameters
    ----------
    X : array of shape (n, d)
        Points: float32, or other real numbers, which become float64.
    y, weights : arrays of shape (n,), optional
        Their labels and weights.
    """

    def __init__(self, X: Any, y: Any = None, weights: Any = None, *, name: str = "X") -> None:
        self.name = X.name if isinstance(X, StoredArray) else name
        if len(X.shape) != 2 or 0 in X.shape or X.dtype.kind not in "fiu":
            raise ValueError(
                f"{self.name} must hold rows of real numbers; got shape {tuple(X.shape)}, {X.dtype}.\n"
                "Pass points of shape (n, d), n ≥ 1 and d ≥ 1."
            )
        for what, array in (("labels", y), ("weights", weights)):
            if array is not None and tuple(array.shape) != X.shape[:1]:
                raise ValueError(f"{X.shape[0]} points need as many {what}; got shape {tuple(array.shape)}.")
            if array is not None and array.dtype.kind == "S":
                raise ValueError(f"The {what} must be numbers or text; got {array.dtype}.\nSave them by astype(str).")
        self.X, self.y, self.weights = X, y, weights
        self.paths = tuple(array.file.path for array in (X, y, weights) if isinstance(array, ArrayFile))
        self.n_rows, self.n_features = int(X.shape[0]), int(X.shape[1])
        self.in_memory = all(array is None or isinstance(array, np.ndarray) for array in (X, y, weights))
        self.dtype = point_type(X.dtype)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Shapes and types, the states of the files, and checksums of what is in memory."""
        arrays = [array for array in (self.X, self.y, self.weights) if array is not None]
        return tuple((tuple(array.shape), array.dtype.str, _state(array)) for array in arrays)

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """Blocks of the usual size."""
        n = int(self.X.shape[0])
        for start in range(first * self.block_rows, n, self.block_rows):
            cut = start, min(start + self.block_rows, n)
            X, y, weights = (None if array is None else _part(array, *cut) for array in (self.X, self.y, self.weights))
            assert X is not None
            X = X.astype(self.dtype, copy=False)
            yield Block(X, y, None if weights is None else weights.astype(np.float64), start)
        for array in (self.X, self.y, self.weights):
            if isinstance(array, StoredArray):
                array.check()


    def whole(self) -> Block:
        """All points of arrays in memory as one block, without a copy where their type allows it."""
        weights = None if self.weights is None else self.weights.astype(np.float64, copy=False)
        return Block(np.ascontiguousarray(self.X, dtype=self.dtype), self.y, weights, 0)


def _state(array: Any) -> tuple[Any, ...]:
    """What changes with the contents of an array; of one that is handed over by its store, nothing is known."""
    if isinstance(array, StoredArray):
        return (array.name, *array.state)
    return (checksum(array),) if isinstance(array, np.ndarray) else ()


def _part(array: Any, start: int, stop: int) -> Array:
    if isinstance(array, StoredArray):
        return array.read(start, stop)
    return np.ascontiguousarray(array[start:stop])
