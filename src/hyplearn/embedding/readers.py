"""Conversion of embeddings from other tools and other models of hyperbolic space to points of the unit ball.

Every function returns points of the ball of curvature -1, the default everywhere in hyplearn, and raises an error if a
row is not a point of the expected model. Distances in an embedding of curvature -c are ``1/√c`` times the distances
between the returned points.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.files import missing_file
from hyplearn.geometry import gap, half_space_to_ball, hyperboloid_to_ball, klein_to_ball
from hyplearn.geometry.border import absolute_curvature, as_rows, check_parameter
from hyplearn.types import Array, Points


def from_ball(X: Points, *, curvature: float = -1.0) -> Array:
    """Convert points of a Poincaré ball of any negative curvature to points of the unit ball.

    Examples
    --------
    >>> from hyplearn.embedding import from_ball
    >>> from_ball([[1.0, 0.0]], curvature=-0.25)
    array([[0.5, 0. ]])
    """
    c = absolute_curvature(curvature)
    X = as_rows(X, "X")
    gap(X, c=c)
    return np.sqrt(c).astype(X.dtype) * X


def from_hyperboloid(X: Points, *, curvature: float = -1.0, time: str = "first") -> Array:
    """Convert points of the hyperboloid to points of the unit ball.

    The hyperboloid consists of the points x with ``[x, x] = 1/curvature`` and a positive time-like coordinate, where
    ``[x, x]`` is the Minkowski product of ``hyplearn.geometry.models``.

    Parameters
    ----------
    X : array-like of shape (n, d + 1)
        Points of the hyperboloid.
    curvature : float, default=-1.0
        Curvature of the embedding.
    time : {"first", "last"}, default="first"
        Position of the time-like coordinate, which is at least ``1/sqrt(-curvature)`` for every point.

    Examples
    --------
    >>> from hyplearn.embedding import from_hyperboloid
    >>> from_hyperboloid([[5 / 3, 4 / 3, 0.0]])
    array([[0.5, 0. ]])
    """
    check_parameter("time", time, time in ("first", "last"), '"first" or "last"')
    rows = np.sqrt(absolute_curvature(curvature)) * as_rows(X, "X")
    return hyperboloid_to_ball(np.roll(rows, 1, axis=1) if time == "last" else rows)


def from_klein(X: Points, *, curvature: float = -1.0) -> Array:
    """Convert points of the Klein ball of radius ``1/sqrt(-curvature)`` to points of the unit ball.

    Examples
    --------
    >>> from hyplearn.embedding import from_klein
    >>> from_klein([[0.8, 0.0]])
    array([[0.5, 0. ]])
    """
    c = absolute_curvature(curvature)
    X = as_rows(X, "X")
    gap(X, c=c)
    return np.sqrt(c).astype(X.dtype) * klein_to_ball(X, c=c)


def from_half_space(X: Points) -> Array:
    """Convert points of the half-space, whose last coordinate is positive, to points of the unit ball.

    The half-space is the same set of points for every curvature, so there is no parameter ``curvature``.

    Examples
    --------
    >>> from hyplearn.embedding import from_half_space
    >>> from_half_space([[0.0, 3.0]])
    array([[0. , 0.5]])
    """
    return half_space_to_ball(as_rows(X, "X"))


def from_gensim(source: Any) -> tuple[Array, list[str]]:
    r"""Read points in the unit ball and their names from a gensim Poincaré embedding.

    Parameters
    ----------
    source : PoincareModel, PoincareKeyedVectors or path
        A model of ``gensim.models.poincare``, its ``kv``, or a text file written by ``kv.save_word2vec_format``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyplearn.embedding import from_gensim
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "vectors.txt")
    ...     _ = path.write_text("2 2\nmammal 0.1 0.0\ndog 0.6 0.6\n")
    ...     from_gensim(path)
    (array([[0.1, 0. ],
           [0.6, 0.6]]), ['mammal', 'dog'])
    """
    if isinstance(source, (str, os.PathLike)):
        X, names = _read_word2vec(Path(source).expanduser())
    else:
        vectors = getattr(source, "kv", source)
        if not hasattr(vectors, "vectors") or not hasattr(vectors, "index_to_key"):
            raise TypeError(
                f"Expected gensim's PoincareModel, its kv, or a path; got {type(source).__name__}.\n"
                "Save the vectors with kv.save_word2vec_format and pass the path."
            )
        X, names = np.asarray(vectors.vectors), [str(name) for name in vectors.index_to_key]
    return from_ball(X), names


def _read_word2vec(path: Path) -> tuple[Array, list[str]]:
    """Read the rows and names of a text file whose first line gives the numbers of rows and coordinates."""
    if not path.is_file():
        raise missing_file(path)
    with path.open(encoding="utf-8") as lines:
        try:
            n, d = (int(number) for number in next(lines, "").split())
        except ValueError:
            raise ValueError(
                f"{path} does not start with the numbers of rows and coordinates.\n"
                "Save the vectors of a gensim model with model.kv.save_word2vec_format(path, binary=False); read other "
                "tables with hyplearn.datasets.load_points."
            ) from None
        rows, names = np.empty((n, d)), []
        for row, line in enumerate(lines):
            # The line is split from the right, because the name at its start may contain spaces.
            name, *coordinates = line.rstrip().rsplit(" ", d)
            if len(coordinates) != d or row == n:
                raise ValueError(
                    f"{path}, line {row + 2}: expected {n} rows, each with a name and {d} coordinates; got "
                    f"{line.rstrip()[:60]!r}.\nWrite the file again."
                )
            try:
                rows[row] = [float(value) for value in coordinates]
            except ValueError as error:
                raise ValueError(f"{path}, line {row + 2}: {error}.\nCorrect that line.") from None
            names.append(name)
    if len(names) < n:
        raise ValueError(
            f"{path} declares {n} rows but has {len(names)}.\nWrite the file again, or get a complete copy."
        )
    return rows, names
