"""Read arrays from ``.npy`` and ``.npz`` files, and provide points from arrays in files or in memory.

Uncompressed arrays are read block by block. Files are not memory-mapped, because the process would crash if a mapped
file were truncated.
"""

import math
import os
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from hyplearn.data.columns import NAMES_ARRAY, Wanted, choose_arrays, listed
from hyplearn.data.points import Block, PointSource, checksum, point_type
from hyplearn.files import Watched, WatchedFile, check_kind, check_unpacked, damage_named
from hyplearn.types import Array

NPY_MAGIC, ZIP_MAGIC = b"\x93NUMPY", b"PK"
# Approximate number of bytes per read of an array that is not stored in C order. Larger reads need fewer calls but more
# memory.
SPAN = 2**23
# In a zip file, a local file header starts with a fixed part of LOCAL_HEADER bytes. The lengths of the variable parts
# that follow are stored at the offset LENGTHS_AT.
LOCAL_HEADER, LENGTHS_AT = 30, 26
# Number of bytes per read while a checksum is verified. Larger reads need fewer calls but more memory.
CHUNK = 2**20


class StoredArray(ABC):
    """Array in a file or store that is read in slices of rows. The file must not change while the array is in use."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    # File or folder of the array; None if the array is in memory or on another machine.
    file: Watched | None

    @abstractmethod
    def read(self, start: int, stop: int) -> Array:
        """Read the rows ``start:stop``."""

    def check(self) -> None:
        """Raise if the array's file or folder was changed or removed after the array was opened."""
        if self.file is not None:
            self.file.check()

    @property
    def state(self) -> tuple[Any, ...]:
        """Tuple that changes whenever the array's file or folder changes; empty if the array has none."""
        return () if self.file is None else (self.file.state,)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Add the array's name to read errors; if the file was changed, raise an error about the change instead."""
        try:
            with damage_named(self.name):
                yield
        except ValueError:
            self.check()
            raise


class ArrayFile(StoredArray):
    """Array that is stored in a file in C order, in Fortran order, or with arbitrary strides."""

    file: WatchedFile

    def __init__(
        self,
        path: str | os.PathLike[str],
        dtype: Any,
        shape: tuple[int, ...],
        offset: int,
        strides: tuple[int, ...] | None = None,
        *,
        name: str | None = None,
        span: int = SPAN,
    ) -> None:
        self.file, self.dtype, self.shape, self.offset = WatchedFile(path), np.dtype(dtype), shape, offset
        self.name, self.span = name or str(path), span
        dense = _strides(shape, self.dtype)
        self.strides = dense if strides is None else strides
        self.is_dense = self.strides == dense
        needed, found = offset + _bounds(shape, self.strides, self.dtype)[1], self.file.state[0]
        if found < needed or min(shape, default=0) < 0:
            raise ValueError(
                f"{path} is damaged: an array of shape {shape} would end at byte {needed}, but the file has only "
                f"{found} bytes.\nWrite or copy it again."
            )

    @classmethod
    def npy(cls, path: str | os.PathLike[str], *, at: int = 0, name: str | None = None) -> "ArrayFile":
        """Open the array in a ``.npy`` file, or in an uncompressed archive member that starts at byte ``at``."""
        if not at:
            check_kind(Path(path), NPY_MAGIC)
        with Path(path).open("rb") as stream:
            stream.seek(at)
            with damage_named(name or str(path)):
                shape, fortran, dtype = _npy_header(stream)
            offset = stream.tell()
        _refuse_objects(dtype, name or str(path))
        return cls(path, dtype, shape, offset, _strides(shape[::-1], dtype)[::-1] if fortran else None, name=name)

    @classmethod
    def of(cls, X: np.memmap[Any, Any], *, span: int = SPAN) -> "ArrayFile":
        """Open the file of a memory map, so that the array is read from the file instead of from the map."""
        root = X
        while isinstance(root.base, np.memmap):
            root = root.base
        ahead = X.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        strides = None if X.flags.c_contiguous else X.strides
        return cls(str(root.filename), X.dtype, X.shape, root.offset + ahead, strides, span=span)

    def read(self, start: int, stop: int) -> Array:
        """Read the rows ``start:stop``."""
        out = np.empty((stop - start, *self.shape[1:]), dtype=self.dtype)
        place = self.offset + start * self.strides[0]
        if self.is_dense:
            self.file.read_into(out.reshape(-1).view(np.uint8).data, place)
        else:
            self._collect(out, place, self.strides)
        return out

    def _collect(self, out: Array, place: int, strides: tuple[int, ...]) -> None:
        """Fill ``out`` with values that are not contiguous in the file.

        Arrays in Fortran order are read column by column.
        """
        if out.ndim == 2 and abs(strides[0]) < abs(strides[1]):
            for j in range(out.shape[1]):
                self._collect(out[:, j], place + j * strides[1], strides[:1])
            return
        step = max(1, self.span // max(1, abs(strides[0])))
        for first in range(0, len(out), step):
            part = out[first : first + step]
            low, high = _bounds(part.shape, strides, self.dtype)
            among = np.empty(high - low, dtype=np.uint8)
            self.file.read_into(among.data, place + first * strides[0] + low)
            part[...] = np.ndarray(part.shape, self.dtype, among.data, -low, strides)

    @property
    def state(self) -> tuple[Any, ...]:
        """Tuple that changes whenever the file changes; it also contains the offset and the strides of the array."""
        return self.file.state, self.offset, self.strides


def _npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of a ``.npy`` file; return the shape, whether the array is in Fortran order, and the dtype."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(stream)


def _refuse_objects(dtype: np.dtype[Any], name: str) -> None:
    if dtype.hasobject:
        raise ValueError(
            f"{name} holds Python objects, which are not loaded, because unpickling them could run arbitrary code.\n"
            "Save numbers instead, or convert the objects to strings with astype(str)."
        )


def _strides(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Return the strides, in bytes, of an array in C order."""
    return tuple(dtype.itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _bounds(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the start and the end of the byte range of an array, relative to its first element."""
    if 0 in shape:
        return 0, 0
    reach = [max(0, n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    return sum(min(0, far) for far in reach), sum(max(0, far) for far in reach) + dtype.itemsize


class ArrayPoints(PointSource):
    """Source of points, labels and weights in arrays, which may be in files, in memory or in chunked stores.

    float32 points stay float32; all other points and all weights are converted to float64.
    """

    # Function that reads the row names; None if the source has no row names.
    names: Callable[[], Any] | None = None
    # Function that opens an array by its name or, for AnnData, a column of ``obs`` or the expression of a gene; None if
    # the source has no named arrays.
    opened_by_name: Callable[[str], Any] | None = None

    def __init__(self, X: Any, y: Any = None, weights: Any = None, *, name: str = "X") -> None:
        self.name = X.name if isinstance(X, StoredArray) else name
        shape = tuple(X.shape)
        if len(shape) != 2 or X.dtype.kind not in "fiu":
            raise ValueError(
                f"{self.name} must hold real numbers, one point per row; got shape {shape} and dtype {X.dtype}.\n"
                "Pass an array of shape (n, d)."
            )
        if 0 in shape:
            raise ValueError(
                f"{self.name} holds no coordinates: its shape is {shape}.\n"
                "Pass at least one point with at least one coordinate."
            )
        for role, array, kinds in (("labels", y, "biufUOM"), ("weights", weights, "biuf")):
            allowed = kinds + "S" if isinstance(X, np.ndarray) and role == "labels" else kinds
            if array is not None and (tuple(array.shape) != shape[:1] or array.dtype.kind not in allowed):
                raise ValueError(
                    f"{getattr(array, 'name', role)} must hold {shape[0]} numbers"
                    f"{' or strings' if role == 'labels' else ''}, one per point; got shape {tuple(array.shape)} and "
                    f"dtype {array.dtype}.\nPass one {role[:-1]} per point, and convert bytes with "
                    f"astype({'str' if role == 'labels' else 'float'})."
                )
        self.X, self.y, self.weights = X, y, weights
        stored = [array.file for array in (X, y, weights) if isinstance(array, StoredArray)]
        self.paths = tuple(file.path for file in stored if file is not None)
        self.n_rows, self.n_features = int(X.shape[0]), int(X.shape[1])
        self.in_memory = all(array is None or isinstance(array, np.ndarray) for array in (X, y, weights))
        self.dtype = point_type(X.dtype)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Tuple that identifies the source: for each array its shape, its dtype and its state.

        The state changes when the contents change; for an array in memory, it is the checksum.
        """
        arrays = [array for array in (self.X, self.y, self.weights) if array is not None]
        return tuple((tuple(array.shape), array.dtype.str, _state(array)) for array in arrays)

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """Iterate over blocks of ``block_rows`` rows."""
        n, arrays = int(self.X.shape[0]), (self.X, self.y, self.weights)
        for start in range(first * self.block_rows, n, self.block_rows):
            stop = min(start + self.block_rows, n)
            X, y, weights = (None if array is None else _part(array, start, stop) for array in arrays)
            assert X is not None
            X = X.astype(self.dtype, copy=False)
            yield Block(X, y, None if weights is None else weights.astype(np.float64), start)
        for array in arrays:
            if isinstance(array, StoredArray):
                array.check()

    def row_names(self) -> Array | None:
        """Return the row names, or None if the source has no array of names with one string per row."""
        names = None if self.names is None else self.names()
        if names is None or tuple(names.shape) != self.X.shape[:1] or names.dtype.kind not in "US":
            return None
        return _part(names, 0, self.X.shape[0]).astype(str)

    def column(self, name: str) -> Array:
        """Read the array with this name; missing values become NaN in a numeric array, and None in other arrays."""
        if self.opened_by_name is None:
            return super().column(name)
        array, n = self.opened_by_name(name), self.X.shape[0]
        if (shape := tuple(array.shape)) != (n,):
            raise ValueError(
                f"{self.name}: {name!r} must hold one value for each of the {n} points; got shape {shape}.\n"
                "Pass the name of another array."
            )
        values = _part(array, 0, n) if not hasattr(array, "read_known") else _with_missing(*array.read_known(0, n))
        return values.astype(str).astype(object) if values.dtype.kind == "S" else values


def _with_missing(values: Array, known: Array) -> Array:
    """Replace the values where ``known`` is False with NaN if the values are numbers, and with None otherwise."""
    if known.all():
        return values
    if values.dtype.kind in "iuf":
        return np.where(known, values, np.nan)
    found = values.astype(object)
    found[~known] = None
    return found


def _state(array: Any) -> tuple[Any, ...]:
    """Return a tuple that changes when an array's contents change, if changes can be detected."""
    if isinstance(array, StoredArray):
        return (array.name, *array.state)
    return (checksum(array),) if isinstance(array, np.ndarray) else ()


def _part(array: Any, start: int, stop: int) -> Array:
    return array.read(start, stop) if isinstance(array, StoredArray) else np.ascontiguousarray(array[start:stop])


def npz_points(path: Path, wanted: Wanted) -> ArrayPoints:
    """Open the points, labels and weights of an ``.npz`` archive.

    Compressed arrays are loaded into memory. Uncompressed arrays are read from the file block by block.
    """
    check_kind(path, ZIP_MAGIC)
    with damage_named(path), ZipFile(path) as archive:
        members = {info.filename[:-4]: info for info in archive.infolist() if info.filename.endswith(".npy")}

    def array(name: str) -> Any:
        if name not in members:
            raise ValueError(
                f"{path} has no array {name!r}; it contains {listed(list(members)) or 'no arrays'}.\n"
                "Pass the name of another array, or another file."
            )
        return _member(path, members[name])

    name, label = choose_arrays(path, list(members), array, wanted)
    X, y, weights = (None if one is None else array(one) for one in (name, label, wanted.weight))
    points = ArrayPoints(X, y, weights, name=f"{path}, array {name!r}")
    points.paths = (path,)
    points.names = partial(array, NAMES_ARRAY) if NAMES_ARRAY in members else None
    points.opened_by_name = array
    return points


def _member(path: Path, info: ZipInfo) -> Any:
    """Open an array in an ``.npz`` archive; it is loaded into memory only if it is compressed."""
    name = f"{path}, array {info.filename[:-4]!r}"
    with ZipFile(path) as archive:
        if info.compress_type != ZIP_STORED:
            with damage_named(name), archive.open(info) as stream:
                shape, _, dtype = _npy_header(stream)
                needed = stream.tell() + dtype.itemsize * math.prod(shape)
                if needed != info.file_size and not dtype.hasobject:
                    raise ValueError(
                        f"an array of shape {shape} needs {needed} bytes with its header; got {info.file_size}"
                    )
            _refuse_objects(dtype, name)
            check_unpacked(name, info.file_size, info.compress_size, "Save it uncompressed, with numpy.savez.")
            with damage_named(name), archive.open(info) as stream:
                return np.lib.format.read_array(stream, allow_pickle=False)
        with damage_named(path), archive.open(info) as stream:
            while stream.read(CHUNK):  # zipfile verifies the checksum after all bytes have been read
                pass
    with damage_named(path), path.open("rb") as file:
        file.seek(info.header_offset + LENGTHS_AT)
        at = info.header_offset + LOCAL_HEADER + sum(struct.unpack("<HH", file.read(4)))
    return ArrayFile.npy(path, at=at, name=name)
