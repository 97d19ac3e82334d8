"""The border to AnnData: points from ``obsm``, labels from ``obs``, checked once."""

import os
from typing import Any, NamedTuple

import numpy as np

from hyplearn.data.opening import opened
from hyplearn.data.stores import gather_known
from hyplearn.types import Array

NEEDS = "Single cells need anndata: pip install 'hyplearn[single-cell]'."


class Cells(NamedTuple):
    """Cells as points with names and, where asked for, labels; ``known`` tells which cells have one."""

    X: Array
    names: Array
    labels: Array | None
    known: Array


def anndata() -> Any:
    """The library, or an error that tells how to install it."""
    try:
        import anndata as library
    except ImportError as error:
        raise ImportError(NEEDS) from error
    return library


def check_adata(adata: Any) -> Any:
    """The AnnData object itself; an error if it is none."""
    if not isinstance(adata, anndata().AnnData):
        raise TypeError(f"adata must be an AnnData object; got {type(adata).__name__}.\nRead it by anndata.read_h5ad.")
    return adata


def cell_points(adata: Any, basis: str) -> Array:
    """The points of all cells, from ``obsm[basis]`` or ``obsm["X_" + basis]``."""
    X = _rows_of_obsm(adata, basis, "Pass basis=, the key of an embedding in the Poincaré ball.")
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise ValueError(
            f"The basis {basis!r} has {len(bad)} cells with NaN or infinite coordinates; the first is row {bad[0]}, "
            f"called {str(adata.obs_names[bad[0]])!r}.\nRemove those cells, or embed them again."
        )
    return X


def cell_features(adata: Any, use_rep: str) -> Array:
    """The features of all cells: from ``obsm``, or with "X" the matrix itself, dense."""
    if use_rep != "X":
        return _rows_of_obsm(adata, use_rep, "Run scanpy.pp.pca first, or pass use_rep=, one of these.")
    if adata.X is None:
        raise ValueError("The AnnData object has no X.\nPass use_rep=, a key of obsm.")
    X = adata.X.to_memory() if hasattr(adata.X, "to_memory") else adata.X  # of a file, a sparse matrix
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def _rows_of_obsm(adata: Any, name: str, advice: str) -> Array:
    key = name if name in adata.obsm else f"X_{name}"
    if key not in adata.obsm:
        raise KeyError(f"obsm has no {name!r}; it holds {_listed(adata.obsm)}.\n{advice}")
    X = np.asarray(adata.obsm[key])
    if X.ndim != 2 or X.dtype.kind not in "fiu":
        raise ValueError(
            f"obsm[{key!r}] must hold one point of real coordinates per cell; got shape {X.shape} of {X.dtype}.\n"
            "Store a dense array of shape (n_cells, d)."
        )
    return X


def cell_labels(adata: Any, key: str) -> tuple[Array, Array]:
    """Labels of all cells as they are, and which of them are known: neither NaN nor None."""
    if key not in adata.obs:
        raise KeyError(f"obs has no column {key!r}; it holds {_listed(adata.obs)}.\nPass one of these.")
    column = adata.obs[key]
    known = column.notna().to_numpy()
    if known.any() and column.dtype.kind == "f" and np.any(column[known] % 1):
        raise ValueError(
            f"obs[{key!r}] holds real numbers, such as {column[known].iloc[0]}, and no classes.\n"
            "Pass a column of categories, text, booleans or whole numbers."
        )
    return np.array(column.astype(object), dtype=object), known


def labelled_cells(adata: Any, label_key: str | None, basis: str = "X_poincare") -> Cells:
    """Points, names and labels of an AnnData object; of labels, those that are not known are None.

    Parameters
    ----------
    adata : AnnData
        The cells.
    label_key : str or None
        Column of ``obs`` with the labels; None for none.
    basis : str
        Key of ``obsm`` with the points of the ball, with or without its ``"X_"``.
    """
    X, names = cell_points(check_adata(adata), basis), np.asarray(adata.obs_names, dtype=str)
    if label_key is None:
        return Cells(X, names, None, np.zeros(len(X), dtype=bool))
    labels, known = cell_labels(adata, label_key)
    labels[~known] = None
    return Cells(X, names, labels, known)


def class_labels(labels: Array) -> Array:
    """Known labels in an array of one plain type, as classifiers want them; mixed ones as text."""
    kinds = {type(label) for label in labels}
    return np.array(labels.tolist() if len(kinds) == 1 else [str(label) for label in labels])


def read_cells(path: str | os.PathLike[str], label_key: str | None, basis: str = "X_poincare") -> Cells:
    """Points, names and labels of an ``.h5ad`` file or a ``.zarr`` store, without its matrix of counts.

    Parameters
    ----------
    path : path
        The file or folder.
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


def _listed(mapping: Any) -> str:
    return ", ".join(repr(str(key)) for key in mapping) or "nothing"
