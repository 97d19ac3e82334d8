"""Read points from HDF5 files and zarr stores that contain named arrays or AnnData objects.

An error is raised if rows were never written, because h5py and zarr would read them as zeros.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hyplearn.data.arrays import ArrayPoints, StoredArray
from hyplearn.data.columns import LABEL_COLUMNS, Wanted, choose_arrays, listed, the_only
from hyplearn.data.points import Block, PointSource, check_finite, checksum
from hyplearn.files import WatchedFile, WatchedFolder, check_kind, damage_named
from hyplearn.types import Array

HDF5_MAGIC = b"\x89HDF"
# Key of the embedding that is used by default if an AnnData file contains it; ``hyplearn.single_cell`` writes this key.
DEFAULT_BASIS = "X_poincare"
# Maximum number of chunks of a zarr array. The names of all chunks are listed to find missing chunks, and more names
# would take gigabytes of memory.
MOST_CHUNKS = 10**6


class Hdf5Array(StoredArray):
    """Dataset in an open HDF5 file. Strings are read as ``str``, not as ``bytes``."""

    def __init__(self, dataset: Any) -> None:
        import h5py

        if not dataset:
            raise ValueError("The file of an HDF5 dataset is closed.\nOpen it again, and keep it open during the fit.")
        path = Path(dataset.file.filename)
        self.name = f"{path}, {dataset.name}"
        # If the HDF5 file exists only in memory, there is no file on disk to watch for changes.
        self.file = WatchedFile(path) if path.is_file() else None
        is_string = h5py.check_string_dtype(dataset.dtype) is not None
        self.dataset = dataset.asstr() if is_string else dataset
        self.dtype, self.shape = np.dtype(str) if is_string else dataset.dtype, dataset.shape
        _check_written(dataset, self.name)

    def read(self, start: int, stop: int) -> Array:
        """Read the rows ``start:stop``."""
        with self.reading():
            rows = np.ascontiguousarray(self.dataset[start:stop])
        self.check()  # if the file was truncated, HDF5 returns zeros for the missing part
        return rows.astype(str) if self.dtype.kind == "U" else rows


def _check_written(dataset: Any, name: str) -> None:
    """Raise if parts of a dataset were never written, or if it is stored in other files."""
    if dataset.is_virtual or dataset.external:
        raise ValueError(
            f"{name} is stored in other files; if one of them is missing, HDF5 reads zeros instead.\n"
            "Copy it into one dataset, or pass the files one by one as blocks."
        )
    if dataset.chunks is None:
        expected, found = int(dataset.size > 0), int(dataset.id.get_storage_size() > 0)
    else:
        expected = int(np.prod([-(-n // m) for n, m in zip(dataset.shape, dataset.chunks, strict=True)]))
        found = dataset.id.get_num_chunks()
    if found < expected:
        raise ValueError(
            f"{name}: {expected - found} of {expected} chunks were never written, and would be read as zeros.\n"
            "Write the missing rows, or shorten the dataset to the rows that were written."
        )


class ZarrArray(StoredArray):
    """Array in a zarr store.

    zarr reads a missing chunk as the fill value, usually 0. A chunk is missing if it was never written, or if it
    contains only the fill value: by default, zarr does not store such chunks. Since the two cases cannot be
    distinguished, an error is raised if a chunk is missing. Chunks within shards cannot be listed. In the first pass,
    the rows of a sharded array are therefore read twice, with two different fill values: the two results differ in
    missing chunks.
    """

    def __init__(self, array: Any) -> None:
        self.array, place = array, _place(array.store)
        self.name = f"{place or 'zarr array'}, /{array.path}"
        self.shape = array.shape
        self.dtype = np.dtype(str) if array.dtype.kind in "OT" else array.dtype
        self.file = None
        if place is not None:
            self.file = WatchedFolder(place / array.path) if place.is_dir() else WatchedFile(place)
        self.twin, self.compared = None if array.shards is None else _filled_otherwise(array), 0
        self._check_chunks()

    def read(self, start: int, stop: int) -> Array:
        """Read the rows ``start:stop``."""
        rows = self._read(self.array, start, stop)
        if self.twin is not None and stop > self.compared:
            if checksum(rows) != checksum(self._read(self.twin, start, stop)):
                self._refuse(f"some chunks of the rows {start} to {stop - 1}")
            if start <= self.compared:
                self.compared = stop
        return rows

    def _read(self, array: Any, start: int, stop: int) -> Array:
        with self.reading():
            rows = np.ascontiguousarray(array[start:stop])
        return np.array(rows.tolist(), dtype=str) if rows.dtype.kind in "OT" else rows

    def check(self) -> None:
        """Raise if a chunk was changed or removed.

        If the store is not local, changed chunks are not detected. If the array is also sharded, removed chunks are not
        detected either.
        """
        super().check()
        if self.file is None:
            self._check_chunks()

    def _check_chunks(self) -> None:
        if self.twin is not None:
            return
        if self.array.nchunks > MOST_CHUNKS:
            raise ValueError(
                f"{self.name} has {self.array.nchunks} chunks; at most {MOST_CHUNKS} are supported.\n"
                "Write the array again with larger chunks."
            )
        if missing := self.array.nchunks - self.array.nchunks_initialized:
            self._refuse(f"{missing} of {self.array.nchunks} chunks")

    def _refuse(self, chunks: str) -> None:
        raise ValueError(
            f"{self.name}: {chunks} are missing, and would be read as the fill value.\n"
            'Write the array again, with config={"write_empty_chunks": True} if these values are intended.'
        )


class ZarrMask(ZarrArray):
    """Mask of missing values in a zarr store.

    Chunks of the mask may be missing, because AnnData does not store chunks in which all values are False.
    """

    def __init__(self, array: Any) -> None:
        super().__init__(array)
        self.twin = None

    def _check_chunks(self) -> None:
        """Do not check for missing chunks: in a mask, they are valid and are read as the fill value."""


def _filled_otherwise(array: Any) -> Any:
    """Return the same zarr array with a different fill value for missing chunks."""
    import zarr

    is_number, fill = array.dtype.kind in "biuf", array.fill_value
    other: Any = array.dtype.type(fill == 0) if is_number else "" if fill else "?"
    metadata = replace(array.metadata, fill_value=other)
    return zarr.Array(zarr.AsyncArray(metadata=metadata, store_path=array.store_path))


def _place(store: Any) -> Path | None:
    """Return the local folder or file of a zarr store, or None if the store is not local."""
    place = getattr(store, "root", None) or getattr(store, "path", None)
    return Path(place) if isinstance(place, (str, os.PathLike)) and Path(place).exists() else None


def open_hdf5(path: Path) -> Any:
    """Open the root group of an HDF5 file."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError("Reading HDF5 needs h5py: pip install 'hyplearn[hdf5]'.") from error
    if not h5py.is_hdf5(path):
        check_kind(path, HDF5_MAGIC)
    with damage_named(path):
        return h5py.File(path, "r")


def open_zarr(path: Path) -> Any:
    """Open the zarr array or group at a path."""
    try:
        import zarr
    except ImportError as error:
        raise ImportError("Reading zarr stores needs the package zarr: pip install 'hyplearn[zarr]'.") from error
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.\nCheck the path.")
    with damage_named(path):
        return zarr.open(str(path), mode="r")


class ObservationColumn(StoredArray):
    """Column of AnnData's observations (``obs``), which may have missing values.

    If ``categories`` are given, the values are category codes, which are negative for missing values. If a ``mask`` is
    given, it is True for missing values. Otherwise, missing values are NaN.
    """

    def __init__(self, values: StoredArray, categories: Array | None = None, mask: StoredArray | None = None) -> None:
        self.values, self.categories, self.mask = values, categories, mask
        self.name, self.shape, self.file = values.name, values.shape, values.file
        self.dtype = values.dtype if categories is None else categories.dtype

    def read(self, start: int, stop: int) -> Array:
        """Read the rows ``start:stop``; raise if a value is missing."""
        rows, known = self.read_known(start, stop)
        if not known.all():
            raise ValueError(
                f"{self.name}: row {start + known.argmin()} (counted from 0) has no value.\n"
                "Fill it in, or remove the row."
            )
        return rows

    def read_known(self, start: int, stop: int) -> tuple[Array, Array]:
        """Read the rows ``start:stop``, and return them with a mask of the rows that have a value."""
        rows = self.values.read(start, stop)
        if self.categories is not None:
            known = (rows >= 0) & (rows < len(self.categories))
            labels = np.zeros(len(rows), dtype=self.dtype)
            labels[known] = self.categories[rows[known]]
            return labels, known
        if self.mask is not None:
            return rows, ~self.mask.read(start, stop).astype(bool)
        return rows, ~np.isnan(rows) if rows.dtype.kind == "f" else np.ones(len(rows), dtype=bool)

    def check(self) -> None:
        """Raise if the column was changed or removed after it was opened."""
        self.values.check()
        if self.mask is not None:
            self.mask.check()


class Store:
    """Named arrays in an HDF5 file or a zarr store.

    The function ``stored`` converts an h5py dataset or a zarr array to a :class:`StoredArray`; the function ``mask``
    does the same for a mask of missing values.
    """

    def __init__(
        self, path: Path, content: Any, stored: Callable[[Any], StoredArray], mask: Callable[[Any], StoredArray]
    ) -> None:
        self.path, self.content, self.stored, self.mask = path, content, stored, mask

    def points(self, wanted: Wanted) -> ArrayPoints:
        """Return the points with labels and weights.

        If ``wanted`` does not name the arrays of points or labels, they are found by naming conventions.
        """
        is_array = isinstance(wanted.points, str) and wanted.points in self.content
        if wanted.basis is not None or ("obsm" in self.content and not is_array):
            return self._annotated(wanted)
        names = [name for name in self.content if hasattr(self.content[name], "dtype")]
        name, label = choose_arrays(self.path, names, self.content.__getitem__, wanted)
        columns = [None if one is None else self._array(self.content, one) for one in (label, wanted.weight)]
        points = ArrayPoints(self._array(self.content, name), *columns)
        points.opened_by_name = partial(self._array, self.content)
        return points

    def _annotated(self, wanted: Wanted) -> ArrayPoints:
        """Return the points of an AnnData embedding, with labels and weights from columns of ``obs``."""
        for part in ("obsm", "obs"):
            if part not in self.content:
                raise ValueError(
                    f"{self.path} is not an AnnData file: it has no {part!r}.\nPass points= with the name of an array."
                )
            if hasattr(self.content[part], "dtype"):
                raise ValueError(
                    f"{self.path} was written by AnnData before 0.7.\n"
                    "Read it and write it again with a newer version of AnnData."
                )
        obs, obsm = self.content["obs"], self.content["obsm"]
        X = self._array(obsm, self._basis(list(obsm), wanted), "obsm")
        label = wanted.label
        if label is None and wanted.labelled:
            found = [name for name in LABEL_COLUMNS if name in obs]
            label = the_only(found, "column", "label", self.path, list(obs)) if found else None
        points = ArrayPoints(X, *(None if one is None else self._column(obs, one) for one in (label, wanted.weight)))
        index = obs.attrs.get("_index")
        points.names = partial(self._array, obs, index) if index in obs else None
        points.opened_by_name = self._observed
        return points

    def _observed(self, name: str) -> Any:
        """Return the column of ``obs`` or, if it does not exist, the expression of the gene with the given name."""
        obs = self.content["obs"]
        if name in obs:
            return self._column(obs, name)
        found = np.flatnonzero(self._genes() == name)
        if len(found) != 1:
            raise ValueError(
                f"{self.path}: {name!r} is neither a column of obs nor the name of exactly one gene; obs holds "
                f"{listed(list(obs))}.\n"
                "Pass one of these, or the name of a gene."
            )
        X = self.content["X"]
        if hasattr(X, "dtype"):
            self.stored(X)  # this raises an error if some rows were never written
        return _expression(X, int(found[0]))

    def _genes(self) -> Array:
        """Return the gene names, one per column of AnnData's ``X``; an empty array if ``X`` or ``var`` is missing."""
        if not all(part in self.content for part in ("X", "var")):
            return np.empty(0, dtype=str)
        index = self._array(self.content["var"], str(self.content["var"].attrs.get("_index", "_index")), "var")
        return index.read(0, index.shape[0]).astype(str)

    def _basis(self, keys: list[str], wanted: Wanted) -> str:
        """Return the key of the embedding: the given key (with "X_" added if needed), the default, or the only key."""
        basis = wanted.points if wanted.basis is None else wanted.basis
        if basis is not None:
            return f"X_{basis}" if basis not in keys and f"X_{basis}" in keys else str(basis)
        return DEFAULT_BASIS if DEFAULT_BASIS in keys else the_only(keys, "key of obsm", "basis", self.path, keys)

    def _column(self, obs: Any, name: str) -> ObservationColumn:
        """Return a column of ``obs``, which is stored as an array, as category codes, or as values with a mask."""
        found = self._found(obs, name, "obs")
        if hasattr(found, "dtype"):
            if "categories" in found.attrs:
                raise ValueError(
                    f"{self.path} was written by AnnData before 0.8.\n"
                    "Read it and write it again with a newer version of AnnData."
                )
            return ObservationColumn(self.stored(found))
        if "codes" in found and "categories" in found:
            categories, codes = (self._array(found, part, f"obs, {name}") for part in ("categories", "codes"))
            for array, kinds, content in ((codes, "iu", "integers"), (categories, "biufUM", "values")):
                if len(array.shape) != 1 or array.dtype.kind not in kinds:
                    raise ValueError(
                        f"{array.name} must be a one-dimensional array of {content}; got shape {array.shape} and dtype "
                        f"{array.dtype}.\nWrite the column again with AnnData."
                    )
            return ObservationColumn(codes, categories.read(0, categories.shape[0]))
        if _is_masked(found):
            return self._masked(found)
        raise ValueError(
            f"{self.path}, obs, {name} is neither an array nor a categorical column; it holds {listed(list(found))}.\n"
            "Save the column as an array or a categorical."
        )

    def _array(self, group: Any, name: str, part: str = "") -> StoredArray:
        """Return an array, which may be stored as values with a mask.

        AnnData stores strings in this form if pandas 3 is installed.
        """
        found = self._found(group, name, part)
        if hasattr(found, "dtype"):
            return self.stored(found)
        if _is_masked(found):
            return self._masked(found)
        raise ValueError(
            f"{self.path}, {part and part + ', '}{name} is not an array; it holds {listed(list(found))}.\n"
            "Pass the name of an array."
        )

    def _masked(self, group: Any) -> ObservationColumn:
        values, mask = self.stored(group["values"]), self.mask(group["mask"])
        if values.shape != mask.shape:
            raise ValueError(
                f"{mask.name} has shape {mask.shape}, but the values have shape {values.shape}.\n"
                "Write the file again with AnnData."
            )
        return ObservationColumn(values, mask=mask)

    def _found(self, group: Any, name: str, part: str) -> Any:
        if name not in group:
            where = f"{self.path}, {part}," if part else self.path
            raise ValueError(f"{where} has no {name!r}; it holds {listed(list(group))}.\nPass one of these.")
        return group[name]


def _is_masked(group: Any) -> bool:
    """Return whether a group contains the arrays ``values`` and ``mask`` of a column with missing values."""
    return all(one in group and hasattr(group[one], "dtype") for one in ("values", "mask"))


def _expression(X: Any, gene: int) -> Array:
    """Read one column of AnnData's ``X``, which is an array, a CSR matrix or a CSC matrix."""
    if hasattr(X, "dtype"):
        return np.asarray(X[:, gene])
    by_rows = X.attrs["encoding-type"] == "csr_matrix"
    parts = tuple(X[part][:] for part in ("data", "indices", "indptr"))
    matrix = (sparse.csr_matrix if by_rows else sparse.csc_matrix)(parts, shape=tuple(X.attrs["shape"]))
    return matrix[:, [gene]].toarray()[:, 0]


def gather_known(source: PointSource) -> tuple[Block, Array]:
    """Load all points and check that they are finite; return them with a mask of the points that have a label."""
    if not isinstance(source, ArrayPoints) or not isinstance(source.y, ObservationColumn):
        block = source.gathered(labelled=False)
        check_finite(block, source.name)
        return block, np.full(len(block.X), block.y is not None)
    block = ArrayPoints(source.X).gathered(labelled=False)
    check_finite(block, source.name)
    y, known = source.y.read_known(0, len(block.X))
    return block._replace(y=y), known
