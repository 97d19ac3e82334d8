"""Open the source of points for a path, an array, a Dask collection or an iterable of blocks."""

import glob
import os
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.data.arrays import ArrayFile, ArrayPoints, StoredArray, npz_points
from hyplearn.data.columns import Names, Wanted
from hyplearn.data.parquet import ParquetPoints
from hyplearn.data.points import Block, PointSource, checksum, point_type
from hyplearn.data.stores import Hdf5Array, Store, ZarrArray, ZarrMask, open_hdf5, open_zarr
from hyplearn.data.text import TextPoints
from hyplearn.files import missing_file, surprises_named

TEXT_SUFFIXES, PARQUET_SUFFIXES, HDF5_SUFFIXES = (".csv", ".tsv"), (".parquet", ".pq"), (".h5", ".hdf5", ".h5ad")
SUFFIXES = (".npz", ".npy", *TEXT_SUFFIXES, *PARQUET_SUFFIXES, *HDF5_SUFFIXES, ".zarr")


def open_points(
    source: Any,
    *,
    points: Names = None,
    label: Any = None,
    weight: Any = None,
    basis: str | None = None,
    block_rows: int | None = None,
    memory: int | None = None,
) -> PointSource:
    """Open labelled points that need not fit into memory, for ``fit``, ``partial_fit`` and ``predict_to_file``.

    Files are never memory-mapped, and no objects are unpickled. If a file is damaged, or changes while it is read, an
    error that names the file is raised.

    Parameters
    ----------
    source : path, array on disk, or iterable
        ``.parquet``, ``.pq``, a folder of ``.parquet`` files, or a pattern such as ``"cells/*.parquet"``
            The columns of a table. All files must have the same columns. Page checksums are verified if the files
            contain them. Requires pyarrow.
        ``.csv``, ``.tsv``
            The columns of a table in UTF-8 text. Without a header line, the columns are called "0", "1", ... Labels are
            integers if all of them are written like 7, floats if all of them are written like 7.0, and strings
            otherwise. If the points take more than `memory`, the file is parsed again in every pass.
        ``.npy``
            The points; `label` and `weight` are arrays, or paths of ``.npy`` files.
        ``.npz``
            Named arrays. Compressed arrays are loaded into memory; uncompressed arrays are read block by block.
        ``.h5``, ``.hdf5``, ``.h5ad``, ``.zarr``
            Named arrays, or an AnnData object: `basis` is the key of the embedding, and `label` and `weight` are
            columns of the observations (``obs``). Requires h5py or zarr.
        ``numpy.memmap``, ``h5py.Dataset``, ``zarr.Array``
            The points; `label` and `weight` are arrays of any kind. The file of a memory map is read directly, without
            using the map.
        Dask array or data frame
            The points, which stay on the workers of the current cluster; `label` and `weight` are Dask collections.
            Requires dask.
        iterable of ``(X, y)`` or ``(X, y, weights)``
            A list, or an object whose ``__iter__`` always starts at the first block. Each block must fit into memory.
    points : str or sequence of str, optional
        In a table, the names of the coordinate columns; by default all numeric columns except the label and the
        weight. In a file of named arrays, the name of the array of points; by default whichever of X, x, points,
        embedding, embeddings, data, X_train and x_train exists, or else the only two-dimensional array of floats. An
        error is raised if there are several candidates. For AnnData, the same as `basis`.
    label : str or array-like, optional
        In a table or an AnnData object, the name of the label column; by default whichever of label, labels, target and
        class exists, or else, in a table, the only non-numeric column that is not called name. In a file of named
        arrays, the name of the array of labels; by default y for X, y_train for X_train, and so on, or else whichever
        of y, label, labels and target exists. An error is raised if there are several candidates. For points in a
        single array, the labels themselves.
    weight : str or array-like, optional
        Name of the column or array of sample weights, or the weights themselves. By default all weights are 1.
    basis : str, optional
        AnnData only: the key of the embedding in ``obsm``, with or without the prefix ``"X_"``; by default X_poincare,
        or else the only key.
    block_rows : int, optional
        Number of rows that are read and processed at once; by default 2²⁰ divided by the number of coordinates. The
        blocks of an iterable and the chunks of a Dask collection keep their size.
    memory : int, optional
        Maximum size in bytes of points that are loaded into memory; by default 2²⁷. Larger sources are read again in
        every pass.

    Returns
    -------
    PointSource
        Source of points that can be read repeatedly. If the points take more than `memory`, only a few blocks are in
        memory at a time.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from hyplearn import PoincareSVC, open_points
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(1000, 2, margin=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "points.npy")
    ...     np.save(path, X)
    ...     svc = PoincareSVC(reference=p).fit(open_points(path, label=y))
    >>> print(svc.score(X, y))
    1.0
    """
    return opened(source, points, label, weight, basis).limited(block_rows=block_rows, memory=memory)


def point_source(X: Any, y: Any, sample_weight: Any) -> PointSource | None:
    """Return a source for X, y and the weights, or None if X has to be validated as an array or a data frame."""
    if any(is_dask(collection) for collection in (X, y, sample_weight)):
        return _dask_points(X, y, sample_weight)
    if isinstance(X, PointSource):
        if given := [name for name, value in (("y", y), ("sample_weight", sample_weight)) if value is not None]:
            raise ValueError(
                f"The labels and weights of a source must be passed to open_points; got {' and '.join(given)} in "
                f"addition to {X.name}.\nPass label= and weight= to open_points."
            )
        return X
    if isinstance(X, (str, os.PathLike)) or (y is not None and _is_on_disk(X)):
        return opened(X, None, y, sample_weight, None)
    if y is None and sample_weight is None and _gives_blocks(X):
        return BlockPoints(X)
    return None


def is_dask(collection: Any) -> bool:
    """Return whether an object is a Dask collection, without importing Dask."""
    return type(collection).__module__.partition(".")[0] in ("dask", "dask_expr")


def _dask_points(X: Any, y: Any, sample_weight: Any) -> PointSource:
    missing = [name for name in ("dask", "distributed", "pandas", "pyarrow") if find_spec(name) is None]
    if missing:
        raise ImportError(f"Distributed fitting needs {', '.join(missing)}: pip install 'hyplearn[dask]'.")
    from hyplearn.data.dask import DaskPoints

    return DaskPoints(X, y, sample_weight)


def opened(
    source: Any,
    points: Names,
    label: Any,
    weight: Any,
    basis: str | None,
    *,
    columns: Names = None,
    labelled: bool = True,
) -> PointSource:
    """Open a source as :func:`open_points` does, with the default block size and memory budget.

    ``columns`` are the names of the columns that a model was fitted on. They are used as coordinates if `points` is
    None and the source is a table with column names. If ``labelled`` is False and `label` is None, no labels are read.
    """
    if isinstance(source, (str, os.PathLike)):
        wanted = Wanted(points, label, weight, basis, fitted=columns, labelled=labelled)
        with surprises_named(str(source)):
            return _opened_path(Path(source).expanduser(), wanted)
    if is_dask(source) or isinstance(source, np.ndarray) or _is_on_disk(source):
        _refuse(source, points=points, basis=basis)
        if is_dask(source):
            return _dask_points(source, label, weight)
        return ArrayPoints(_array(source), _array(label), _array(weight))
    _refuse(source, points=points, label=label, weight=weight, basis=basis)
    if isinstance(source, PointSource):
        return source
    if isinstance(source, Iterable) and not hasattr(source, "shape"):
        return BlockPoints(source)
    raise ValueError(
        f"Points must be a path, an array on disk or an iterable of blocks (X, y); got {source!r:.80}.\n"
        "Pass one of these, or pass arrays in memory to fit."
    )


def _opened_path(path: Path, wanted: Wanted) -> PointSource:
    suffix = path.suffix.lower()
    is_zarr = suffix == ".zarr" or any((path / name).exists() for name in ("zarr.json", ".zarray", ".zgroup"))
    if suffix == ".npy" and not is_zarr:
        return _opened_array(path, ArrayFile.npy(path), wanted)
    if is_zarr or suffix in HDF5_SUFFIXES:
        content = (open_zarr if is_zarr else open_hdf5)(path)
        stored, mask = (ZarrArray, ZarrMask) if is_zarr else (Hdf5Array, Hdf5Array)
        if hasattr(content, "dtype"):
            return _opened_array(path, stored(content), wanted)
        _check_names(path, wanted)
        return Store(path, content, stored, mask).points(wanted)
    _refuse(path, basis=wanted.basis)
    _check_names(path, wanted)
    if suffix == ".npz":
        return npz_points(path, wanted)
    if suffix in TEXT_SUFFIXES:
        return TextPoints(path, wanted)
    return ParquetPoints(_parquet_paths(path), wanted)


def _opened_array(path: Path, array: StoredArray, wanted: Wanted) -> ArrayPoints:
    """Return a source of points in one array, with labels and weights from other arrays."""
    _refuse(path, points=wanted.points, basis=wanted.basis)
    return ArrayPoints(array, _array(wanted.label), _array(wanted.weight))


def _parquet_paths(path: Path) -> list[Path]:
    """Return the path itself, the sorted files of a folder (except hidden files), or the files that match a pattern."""
    if path.is_dir():
        found = sorted(file for file in path.glob("*.parquet") if not file.name.startswith("."))
    elif path.exists() or not glob.has_magic(str(path)):
        found = [path]
    else:
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    if not found:
        where, hint = f" {path}", f"the working directory is {Path.cwd()}"
        if path.is_dir():
            where = f" directly in the folder {path}"
            hint = f"pass {str(path / '**' / '*.parquet')!r} for files in its subfolders"
        raise FileNotFoundError(f"There is no Parquet file{where}.\nCheck the path; {hint}.")
    for file in found:
        if file.suffix.lower() not in PARQUET_SUFFIXES:
            raise ValueError(
                f"{file} has {f'the suffix {file.suffix!r}' if file.suffix else 'no suffix'}; supported suffixes are "
                f"{', '.join(SUFFIXES)}.\n"
                "Convert the file, or rename it."
            )
    return found


def _is_on_disk(array: Any) -> bool:
    """Return whether an array is stored on disk, so that rows are read only when they are accessed."""
    return _is_mapped(array) or isinstance(array, StoredArray) or _library(array) in ("h5py", "zarr")


def _is_mapped(array: Any) -> bool:
    """Return whether an array is a memory map of a file; False for copies and copy-on-write maps."""
    return isinstance(array, np.memmap) and array.filename is not None and array.mode != "c" and array.ndim > 0


def _library(array: Any) -> str:
    # Look up dtype on the type, because the dtype of an h5py dataset raises an error if the file is closed.
    return type(array).__module__.split(".")[0] if hasattr(type(array), "dtype") else ""


def _array(array: Any) -> Any:
    """Convert a memory map, a ``.npy`` path or a dataset to a ``StoredArray``, and any other array to a NumPy array."""
    if array is None or isinstance(array, StoredArray):
        return array
    if isinstance(array, (str, os.PathLike)):
        path = Path(array).expanduser()
        if path.suffix.lower() != ".npy" or not path.is_file():
            raise ValueError(
                f"If the points are an array, labels and weights must be arrays or existing .npy files; "
                f"got {str(path)!r}.\nPass one of these, or save points and labels together in an .npz file."
            )
        return ArrayFile.npy(path)
    if _is_mapped(array):
        return ArrayFile.of(array)
    known = {"h5py": Hdf5Array, "zarr": ZarrArray}.get(_library(array))
    return np.asarray(array) if known is None else known(array)


def _gives_blocks(X: Any) -> bool:
    """Return whether X is an iterable of blocks rather than a table of numbers."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and isinstance(X[0], tuple) and len(X[0]) in (2, 3) and np.ndim(X[0][0]) == 2
    return isinstance(X, Iterable) and not isinstance(X, (bytes, dict)) and not hasattr(X, "shape")


def _refuse(source: Any, **given: Any) -> None:
    """Raise an error if an argument is passed that does not apply to this kind of source."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} does not apply to {source!s:.80}; got {name}={value!r:.80}.\nLeave it out.")


def _check_names(path: Path, wanted: Wanted) -> None:
    """Check that labels and weights are given by name; raise ValueError otherwise.

    If the file is missing too, raise FileNotFoundError instead.
    """
    for name in (wanted.label, wanted.weight):
        if name is not None and not isinstance(name, str):
            if not path.exists() and not glob.has_magic(str(path)):
                raise missing_file(path)
            raise ValueError(
                f"Labels and weights must be names of columns or arrays in {path}; got {name!r:.80}.\nPass a name."
            )


class BlockPoints(PointSource):
    """Source of points in an iterable of blocks ``X``, ``(X, y)`` or ``(X, y, weights)`` of any size.

    The iterable must yield the same rows in every pass. Each block is copied, because the next block is read while the
    current block is processed, and the iterable may use the same memory for both.
    """

    def __init__(self, source: Any, name: str = "the source of blocks") -> None:
        if iter(source) is (again := iter(source)):
            raise ValueError(
                f"A fit reads its rows several times; got an iterator of type {type(source).__name__}, which can be "
                "read only once.\n"
                "Pass a list of blocks, or an object whose __iter__ starts from the first block each time."
            )
        self.source, self.name = source, name
        self.sums: list[int] | None = None
        first = next((block for block in map(self._block, again) if len(block[0])), None)
        if first is None:
            raise ValueError(f"{name} yielded no rows.\nPass blocks (X, y) with at least one row.")
        self.n_features, self.parts, self.kind = first[0].shape[1], len(first), _kind(first)
        self.first_sums = [checksum(part) for part in first]

    @property
    def identity(self) -> tuple[Any, ...]:
        """Tuple that identifies the source: its name, its number of coordinates, and checksums of its first block."""
        return self.name, self.n_features, *self.first_sums

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """Iterate over the non-empty blocks of the iterable."""
        start, number, sums = 0, 0, [0] * self.parts
        for parts in map(self._block, self.source):
            if not len(parts[0]):
                continue
            self._check_like_first(parts, start)
            sums = [checksum(part, so_far) for part, so_far in zip(parts, sums, strict=True)]
            if number >= first:
                X, y, weights = (*parts, None, None)[:3]
                yield Block(X, y, None if weights is None else weights.astype(np.float64), start)
            start, number = start + len(parts[0]), number + 1
        self._check_same(start, sums)

    def _check_same(self, n_rows: int, sums: list[int]) -> None:
        """Raise if the rows of a pass differ from the rows of the first pass."""
        if self.sums is None:
            self.n_rows, self.sums = n_rows, sums
        if n_rows != self.n_rows:
            raise ValueError(
                f"{self.name} yielded {n_rows} rows, but {self.n_rows} rows in an earlier pass.\n"
                "Yield the same rows in every pass."
            )
        if sums != self.sums:
            raise ValueError(
                f"{self.name} yielded {n_rows} rows, some of which differ from those of an earlier pass.\n"
                "Yield the same rows in the same order in every pass; do not shuffle them."
            )

    def _block(self, given: Any) -> tuple[Any, ...]:
        """Convert a block to a tuple of arrays: points, and labels and weights if the block has them."""
        parts = tuple(given) if isinstance(given, tuple) or _is_listed(given) else (given,)
        arrays = tuple(np.array(part, order="C") for part in parts)
        if not 1 <= len(arrays) <= 3 or arrays[0].ndim != 2 or arrays[0].dtype.kind not in "fiu":
            raise ValueError(
                f"{self.name} must yield blocks X, (X, y) or (X, y, weights) with numeric rows X; got {given!r:.80}.\n"
                "Yield tuples of arrays of the same length."
            )
        return arrays[0].astype(point_type(arrays[0].dtype), copy=False), *arrays[1:]

    def _check_like_first(self, parts: tuple[Any, ...], start: int) -> None:
        lengths = [part.shape[:1] for part in parts]
        if len(parts) != self.parts or len(set(lengths)) > 1 or _kind(parts) != self.kind:
            described = ", ".join(f"{part.dtype} of shape {part.shape}" for part in parts)
            raise ValueError(
                f"{self.name}: the block that starts at row {start} has parts of unequal length or differs from the "
                f"first block; it has {described}.\n"
                "Yield blocks with the same parts (points, labels, weights), of equal length, and labels of one type."
            )


def _is_listed(given: Any) -> bool:
    """Return whether an object is a list [X, y] or [X, y, weights], as yielded by data loaders, and not a table."""
    return isinstance(given, list) and len(given) in (2, 3) and np.ndim(given[0]) == 2


def _kind(parts: tuple[Any, ...]) -> str:
    """Return the dtype kind of the labels, or "none" if there are no labels.

    Unsigned integers count as "i", and bytes as "U". All blocks must have labels of the same kind, because NumPy would
    silently convert numbers to strings when it joins the labels of several blocks.
    """
    if len(parts) < 2:
        return "none"
    return {"u": "i", "S": "U"}.get(parts[1].dtype.kind, parts[1].dtype.kind)
