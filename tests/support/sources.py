"""The same points as every kind of source."""

import itertools

import numpy as np

from hyplearn import open_points
from hyplearn.data.arrays import ArrayPoints
from support import stored


def in_blocks(X, y=None, weights=None, *, rows=None):
    """Source of arrays that is read in blocks of ``rows`` rows and never held in memory."""
    points = ArrayPoints(X, y, weights)
    points.in_memory = False
    return points.limited(block_rows=rows, memory=0)


class Blocks:
    """An iterable of blocks of uneven sizes."""

    def __init__(self, X, y, weights, rows):
        self.parts, self.rows = [part for part in (X, y, weights) if part is not None], rows

    def __iter__(self):
        edges = np.cumsum([0, 1, self.rows, 3] + [self.rows] * (len(self.parts[0]) // self.rows + 1))
        for start, stop in itertools.pairwise(edges):
            yield tuple(part[start:stop] for part in self.parts)


def arguments(kind, folder, X, y, weights=None, rows=37):
    """Arguments of ``fit`` that pass the points as a source of the given kind, in blocks of ``rows`` rows."""
    if kind == "array":
        return X, y, weights
    if kind == "frame":
        import pandas as pd

        return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), pd.Series(y), weights
    if kind == "dask":
        import dask.array as da

        cut = [None if a is None else da.from_array(a, chunks=(rows, *a.shape[1:])) for a in (X, y, weights)]
        return tuple(cut)
    if kind == "iterable":
        return (open_points(Blocks(X, y, weights, rows), memory=0),)
    if kind == "memmap":
        np.save(folder / "map.npy", X)
        mapped = np.load(folder / "map.npy", mmap_mode="r")
        return (open_points(mapped, label=y, weight=weights, block_rows=rows, memory=0),)
    path, names = stored.written(kind, folder, X, y, weights)
    return (open_points(path, **names, block_rows=rows, memory=0),)


KINDS = ("frame", "memmap", "npz", "parquet", "hdf5", "zarr", "iterable", "dask")
