"""Read points from ``obsm``, labels from ``obs`` and classifiers from ``uns`` of AnnData objects, and check them."""

import os
from typing import Any, NamedTuple

import numpy as np

from hyplearn.data.opening import opened
from hyplearn.data.stores import gather_known
from hyplearn.geometry import gap
from hyplearn.persistence import ModelFileError
from hyplearn.persistence.container import FlawError
from hyplearn.persistence.files import from_bytes, to_bytes
from hyplearn.persistence.schema import SCHEMAS
from hyplearn.types import Array


class Cells(NamedTuple):
    """Points and names of cells, their labels if requested, and a mask of the cells with a known label."""

    X: Array
    names: Array
    labels: Array | None
    known: Array


class MissingKeyError(KeyError):
    """Raised if a key is missing from an AnnData object; unlike KeyError, it shows its message without quotes."""

    def __str__(self) -> str:
        return str(self.args[0])


def check_adata(adata: Any, copy: bool = False) -> Any:
    """Check that ``adata`` is an AnnData object; return it, or a copy if ``copy`` is True."""
    try:
        from anndata import AnnData
    except ImportError as error:
        raise ImportError("Single-cell functions need anndata: pip install 'hyplearn[single-cell]'.") from error
    if not isinstance(adata, AnnData):
        raise TypeError(
            f"adata must be an AnnData object; got {type(adata).__name__}.\nRead it with anndata.read_h5ad."
        )
    return adata.copy() if copy else adata


def cell_points(adata: Any, basis: str) -> Array:
    """Return the points of all cells, from ``obsm[basis]`` or ``obsm["X_" + basis]``."""
    X = _rows_of_obsm(adata, basis, "Pass basis= with the key of an embedding in the Poincaré ball.")
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise ValueError(
            f"The basis {basis!r} has {len(bad)} cells with NaN or infinite coordinates; the first is row {bad[0]}, "
            f"called {str(adata.obs_names[bad[0]])!r}.\nRemove these cells, or embed them again."
        )
    return X


def check_inside(X: Array, c: float, basis: str, advice: str) -> None:
    """Check that all cells lie inside the ball, including cells without a label; raise ValueError otherwise."""
    try:
        gap(X, c=c)
    except ValueError as error:
        problem = str(error).partition("\n")[0]
        raise ValueError(f"Basis {basis!r}: {problem}\n{advice}") from None


def cell_features(adata: Any, use_rep: str) -> Array:
    """Return the features of all cells from ``obsm``, or X as a dense matrix if ``use_rep="X"``."""
    if use_rep != "X":
        return _rows_of_obsm(adata, use_rep, 'Run scanpy.pp.pca first, or pass use_rep= with another key or "X".')
    if adata.X is None:
        raise ValueError("The AnnData object has no X.\nPass use_rep= with a key of obsm.")
    X = whole_matrix(adata)
    return X.toarray() if hasattr(X, "toarray") else X


def whole_matrix(adata: Any) -> Any:
    """Return X in memory, as a dense array or a CSR matrix."""
    X = adata.X.to_memory() if hasattr(adata.X, "to_memory") else adata.X  # X may be a sparse matrix in a backed file
    return X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)


def obsm_key(adata: Any, name: str) -> str:
    """Return the key of an array in ``obsm``, whose prefix ``"X_"`` may be missing in ``name``."""
    return name if name in adata.obsm or f"X_{name}" not in adata.obsm else f"X_{name}"


def _rows_of_obsm(adata: Any, name: str, advice: str) -> Array:
    key = obsm_key(adata, name)
    if key not in adata.obsm:
        raise MissingKeyError(f"obsm has no {name!r}; it {contents(adata.obsm)}.\n{advice}")
    X = np.asarray(adata.obsm[key])
    if X.ndim != 2 or X.dtype.kind not in "fiu":
        raise ValueError(
            f"obsm[{key!r}] must hold one point with real coordinates per cell; got shape {X.shape} and dtype "
            f"{X.dtype}.\nStore a dense array of shape (n_cells, d)."
        )
    return X


def cell_labels(adata: Any, key: str) -> tuple[Array, Array]:
    """Return the labels of all cells (None if unknown), and a mask of the cells with known labels."""
    if key not in adata.obs:
        advice = "Pass one of these." if len(adata.obs.columns) else "Add the labels of the cells as a column of obs."
        raise MissingKeyError(f"obs has no column {key!r}; it {contents(adata.obs)}.\n{advice}")
    column = adata.obs[key]
    known = column.notna().to_numpy()
    if known.any() and column.dtype.kind == "f" and np.any(column[known] % 1):
        raise ValueError(
            f"obs[{key!r}] contains real numbers, such as {column[known].iloc[0]}, not classes.\n"
            "Pass a column of categories, strings, booleans or integers."
        )
    labels = np.array(column.astype(object), dtype=object)
    labels[~known] = None
    return labels, known


def labelled_cells(adata: Any, label_key: str | None, basis: str = "X_poincare") -> Cells:
    """Return the points, names and labels of the cells in an AnnData object; unknown labels are None.

    Parameters
    ----------
    adata : AnnData
        Cells, with points of the ball in ``obsm[basis]``.
    label_key : str or None
        Column of ``obs`` with the labels; None for no labels.
    basis : str
        Key of the points in ``obsm``, with or without the prefix ``"X_"``.
    """
    X, names = cell_points(check_adata(adata), basis), np.asarray(adata.obs_names, dtype=str)
    if label_key is None:
        return Cells(X, names, None, np.zeros(len(X), dtype=bool))
    return Cells(X, names, *cell_labels(adata, label_key))


def read_cells(path: str | os.PathLike[str], label_key: str | None, basis: str = "X_poincare") -> Cells:
    """Read points, names and labels of cells from an ``.h5ad`` file or a ``.zarr`` store, without the count matrix.

    Parameters
    ----------
    path : path
        Path of the file or store.
    label_key, basis
        As in :func:`labelled_cells`.
    """
    source = opened(path, None, label_key, None, basis, labelled=False)
    block, known = gather_known(source)
    labels = None if block.y is None else block.y.astype(object)
    if labels is not None:
        labels[~known] = None
    names = source.row_names()
    return Cells(block.X, np.arange(len(block.X)).astype(str) if names is None else names, labels, known)


def contents(mapping: Any) -> str:
    """Describe the keys of obs or obsm, for a message."""
    keys = ", ".join(repr(str(key)) for key in mapping)
    return f"holds {keys}" if keys else "is empty"


def model_bytes(model: Any) -> Array | None:
    """Serialise a hyplearn classifier to a byte array for AnnData files; return None for other classifiers."""
    if all(type(model) is not schema.cls for schema in SCHEMAS.values()):
        return None
    return np.frombuffer(to_bytes(model), dtype=np.uint8).copy()


def stored_model(adata: Any, key: str) -> Any:
    """Return the classifier that was fitted and stored by :func:`hyplearn.single_cell.tl.classify` or ``transfer``.

    Parameters
    ----------
    adata : AnnData
        Classified cells, in memory or from a file.
    key : str
        Name of the column of predictions: the ``key_added`` of ``classify`` or ``transfer``.

    Examples
    --------
    >>> import hyplearn.single_cell as hs
    >>> model = hs.stored_model(adata, "cell_type_predicted")  # doctest: +SKIP
    """
    kept = adata.uns.get(key)
    if not isinstance(kept, dict) or "params" not in kept:
        raise MissingKeyError(f"uns has no classification {key!r}.\nRun hyplearn.single_cell.tl.classify first.")
    if "model" not in kept:
        raise MissingKeyError(
            f"uns[{key!r}] contains no model, because {kept['params']['model']} is not an estimator of hyplearn.\n"
            "Classify with an estimator of hyplearn, or store the fitted model elsewhere."
        )
    try:
        return from_bytes(np.asarray(kept["model"], dtype=np.uint8).tobytes())
    except FlawError as flaw:
        raise ModelFileError(f"uns[{key!r}] contains no usable model: {flaw.problem}.\n{flaw.advice}") from None
