"""Points read into memory from files of any format that hyplearn knows."""

import os

from hyplearn.data.columns import Names
from hyplearn.data.opening import opened
from hyplearn.data.points import check_finite
from hyplearn.types import Array


def load_points(
    path: str | os.PathLike[str], *, points: Names = None, label: str | None = None, labelled: bool = True
) -> tuple[Array, Array | None]:
    r"""Read points, one per row, and their labels if there are any.

    The source is that of :func:`hyplearn.open_points`, read into memory and checked to be finite. Nothing is unpickled.

    Parameters
    ----------
    path : path
        A file whose suffix names its format, a folder of Parquet files, or a pattern of their names:

        ``.npz``
            The array named `points`, else the one called X, x, points, embedding, embeddings, data, X_train or
            x_train, else the only two-dimensional array of floats. Labels are the array named `label`, else y for X,
            y_train for X_train, and so on, else label, labels or target.
        ``.npy``
            The array; its labels are another such file, whose path is `label`.
        ``.csv``, ``.tsv``
            UTF-8 text with or without a line of names; without, columns are called "0", "1", ... The label is the
            column named `label`, else the one called label, labels, target or class, else the only one that holds no
            numbers and is not called name. Coordinates are the columns named `points`, else all others that hold
            numbers.
        ``.parquet``
            The same. Needs pyarrow.
        ``.h5``, ``.hdf5``, ``.zarr``
            As ``.npz``. Needs h5py or zarr.
        ``.h5ad``, or AnnData in ``.zarr``
            The embedding of ``obsm`` named `points`, else X_poincare, else the only one, and the column of ``obs``
            named `label`, else label, labels, target or class. Needs h5py or zarr.
    points : str or sequence of str, optional
        Name of the array of points, or names of the columns of coordinates.
    label : str, optional
        Name of the array or column of labels; for ``.npy`` the path of their file.
    labelled : bool, default=True
        Whether labels are looked for if `label` is None. If False, the columns of a table that hold no numbers are left
        out, and so are columns of numbers called label, labels, target or class.

    Returns
    -------
    X : ndarray of shape (n, d)
        The points: float32 if stored so, else float64. They are not checked to lie in a ball.
    y : ndarray of shape (n,) or None
        The labels. Those of text files become integers, or else floats, if all of them are written so.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, ambiguous, empty, or holds NaN or infinite coordinates.
    ImportError
        If a library that reads the format is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyplearn.datasets import load_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cells.csv")
    ...     _ = path.write_text("x,y,kind\n0.1,0.2,blood\n-0.5,0.3,nerve\n")
    ...     X, y = load_points(path)
    >>> print(X, y)
    [[ 0.1  0.2]
     [-0.5  0.3]] ['blood' 'nerve']
    """
    source = opened(path, points, label, None, None, labelled=labelled)
    block = source.gathered(labelled=False)
    check_finite(block, source.name)
    return block.X, block.y
