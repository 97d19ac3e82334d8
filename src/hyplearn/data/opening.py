"""Which source stands behind what a user passes."""

import glob
import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.data.arrays import ArrayFile, ArrayPoints, StoredArray
from hyplearn.data.columns import Names
from hyplearn.data.groups import Group
from hyplearn.data.hdf5 import Hdf5Array, opened_hdf5
from hyplearn.data.iterables import BlockPoints
from hyplearn.data.npz import npz_points
from hyplearn.data.parquet import ParquetPoints
from hyplearn.data.points import PointSource
from hyplearn.data.zarr import ZarrArray, opened_zarr

HDF5_SUFFIXES = (".h5", ".hdf5", ".h5ad")
ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")


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
    """Labelled points that need not fit into memory, for ``fit``, ``partial_fit`` and ``predict_to_file``.

    Files are never mapped: a file that is cut short, changed or damaged while it is read is an error that names it.

    Parameters
    ----------
    source : path, array on disk, or iterable
        ``.parquet``, a folder of such files, or a pattern such as ``"cells/*.parquet"``
            Columns by name; all files must have the same. Checksums of pages are compared where there are any. Needs
            pyarrow.
        ``.npy``
            The points; `label` and `weight` are arrays, or paths of ``.npy`` files.
        ``.npz``
            Arrays by name, if they are not compressed.
        ``.h5``, ``.hdf5``, ``.h5ad``, ``.zarr``
            Arrays by name. Of AnnData, `basis` names the embedding, `label` and `weight` columns of the observations.
            Needs h5py or zarr.
        ``numpy.memmap``, ``h5py.Dataset``, ``zarr.Array``
            The points; `label` and `weight` are arrays of any kind. A map is read by its file.
        Dask array or data frame
            The points, which stay on the workers of the current cluster; `label` and `weight` are Dask collections.
            Needs dask.
        iterable of ``(X, y)`` or ``(X, y, weights)``
            A list, or an object whose ``__iter__`` begins anew each time. Each block must fit into memory.
    points : str or sequence of str, optional
        Columns of the coordinates, by default all that hold numbers and are not the label's; or the array of points,
        by default the one called X, x, points, embedding, embeddings, data, X_train or x_train, or the only table of
        floats.
    label : str or array-like, optional
        Column or array of labels, by default the one called label, labels, target or class (of arrays: y, label,
        labels, target); of Parquet else the only column that holds no numbers.
    weight : str or array-like, optional
        Column or array of weights.
    basis : str, optional
        Of AnnData, the embedding in ``obsm``; not needed where there is only one.

    block_rows : int, optional
        Rows that are read and worked on at once; by default those of 2²⁰ numbers. Blocks of an iterable stay as given.
    memory : int, optional
        Bytes up to which the points are read into memory once, 2²⁷ by default; larger sources are read again in every
        pass.

    Returns
    -------
    PointSource
        It can be read again and again; only a few blocks of it are in memory at a time.

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
    """The source that X, y and weights make, or None where X is an array or a data frame in memory."""
    if any(is_dask(collection) for collection in (X, y, sample_weight)):
        return _dask_points(X, y, sample_weight)
    if isinstance(X, PointSource):
        if y is not None or sample_weight is not None:
            raise ValueError(f"{X.name} brings its own labels and weights.\nPass neither y nor sample_weight.")
        return X
    if isinstance(X, (str, os.PathLike)) or (y is not None and _is_on_disk(X)):
        return opened(X, None, y, sample_weight, None)
    if y is None and sample_weight is None and _gives_blocks(X):
        return BlockPoints(X)
    return None


def is_dask(collection: Any) -> bool:
    """Whether something is a Dask collection, without importing Dask."""
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
    """As :func:`open_points`; of files with columns, ``columns`` are the coordinates.

    Of these files, labels that are not named are looked for only if ``labelled``.
    """
    if isinstance(source, (str, os.PathLike)):
        path = Path(source).expanduser()
        return _opened_path(path, points, label, weight, basis, columns=columns, labelled=labelled)
    if is_dask(source):
        _refuse(source, points=points, basis=basis)
        return _dask_points(source, label, weight)
    if isinstance(source, np.ndarray) or _is_on_disk(source):
        _refuse(source, points=points, basis=basis)
        return ArrayPoints(_array(source), _array(label), _array(weight))
    _refuse(source, points=points, label=label, weight=weight, basis=basis)
    if isinstance(source, PointSource):
        return source
    if isinstance(source, Iterable) and not hasattr(source, "shape"):
        return BlockPoints(source)
    raise ValueError(
        f"Points must be a path, an array on disk or an iterable of blocks (X, y); got {source!r:.80}.\n"
        "Pass one of these, or arrays in memory to fit itself."
    )


def _opened_path(
    path: Path, points: Names, label: Any, weight: Any, basis: str | None, *, columns: Names, labelled: bool
) -> PointSource:
    suffix = path.suffix.lower()
    is_zarr = suffix == ".zarr" or any((path / name).exists() for name in ZARR_FILES)
    if suffix == ".npy":
        _refuse(path, points=points, basis=basis)
        return ArrayPoints(ArrayFile.npy(path), _array(label), _array(weight))
    if is_zarr or suffix in HDF5_SUFFIXES:
        return _opened_store(path, is_zarr, points, label, weight, basis)
    _refuse(path, basis=basis)
    _check_names(path, label, weight)
    if suffix == ".npz":
        return npz_points(path, points, label, weight)
    wanted = points if columns is None else columns
    return ParquetPoints(_parquet_paths(path), wanted, label, weight, labelled=labelled)


def _opened_store(path: Path, is_zarr: bool, points: Names, label: Any, weight: Any, basis: str | None) -> ArrayPoints:
    content, stored = (opened_zarr(path), ZarrArray) if is_zarr else (opened_hdf5(path), Hdf5Array)
    if hasattr(content, "dtype"):
        _refuse(path, points=points, basis=basis)
        return ArrayPoints(stored(content), _array(label), _array(weight))
    _check_names(path, label, weight)
    return Group(path, content, stored).points(points, label, weight, basis)


def _parquet_paths(path: Path) -> list[Path]:
    """The file, those of a folder, or those of a pattern, in order; hidden files, which others leave, are neither's."""
    if path.is_dir():
        found = sorted(file for file in path.glob("*.parquet") if not file.name.startswith("."))
    elif path.exists():
        found = [path]
    else:
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    if not found and path.is_dir():
        raise FileNotFoundError(
            f"There is no Parquet file right in the folder {path}.\n"
            f"Check the path; files in folders below it are found by {str(path / '**' / '*.parquet')!r}."
        )
    if not found:
        raise FileNotFoundError(
            f"There is no Parquet file {path}.\nCheck the path; it was looked for from {Path.cwd()}."
        )
    for file in found:
        if file.suffix.lower() not in (".parquet", ".pq"):
            raise ValueError(
                f"{file} cannot be read in blocks; known are .parquet, .npy, .npz, .zarr, {', '.join(HDF5_SUFFIXES)}.\n"
                "Convert it, or read it whole with hyplearn.datasets.load_points."
            )
    return found


def _is_on_disk(array: Any) -> bool:
    """Whether rows of an array are read from a file when they are asked for."""
    return _is_mapped(array) or isinstance(array, StoredArray) or _library(array) in ("h5py", "zarr")


def _is_mapped(array: Any) -> bool:
    """Whether an array is the contents of a file: no copy, which may call itself a map too, and no private version."""
    return isinstance(array, np.memmap) and array.filename is not None and array.mode != "c" and array.ndim > 0


def _library(array: Any) -> str:
    # Of the type: a dataset whose file was closed has none to tell.
    return type(array).__module__.split(".")[0] if hasattr(type(array), "dtype") else ""


def _array(array: Any) -> Any:
    """Something that gives rows: by its file if it is mapped, a path of a ``.npy`` file, or an array in memory."""
    if array is None or isinstance(array, StoredArray):
        return array
    if isinstance(array, (str, os.PathLike)):
        return _npy(Path(array).expanduser())
    if _is_mapped(array):
        return ArrayFile.of(array)
    known = {"h5py": Hdf5Array, "zarr": ZarrArray}.get(_library(array))
    return np.asarray(array) if known is None else known(array)


def _npy(path: Path) -> ArrayFile:
    if path.suffix.lower() != ".npy":
        raise ValueError(
            f"Beside points without names, labels and weights are arrays or .npy files; got {str(path)!r}.\n"
            "Pass such an array or path."
        )
    return ArrayFile.npy(path)


def _gives_blocks(X: Any) -> bool:
    """Whether X is to be iterated for blocks, and is no table of numbers."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and isinstance(X[0], tuple) and len(X[0]) in (2, 3) and np.ndim(X[0][0]) == 2
    return isinstance(X, Iterable) and not isinstance(X, (bytes, dict)) and not hasattr(X, "shape")


def _refuse(source: Any, **given: Any) -> None:
    """An error for what says nothing about this kind of source."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{source!s:.80} knows no {name}; got {name}={value!r:.80}.\nLeave it out.")


def _check_names(path: Path, *names: Any) -> None:
    for name in names:
        if name is not None and not isinstance(name, str):
            raise ValueError(f"{path} has its labels and weights inside; got {name!r:.80}.\nPass their names.")
