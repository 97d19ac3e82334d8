"""Points and labels among the named arrays of an HDF5 file or a zarr store; of AnnData, an embedding and a column."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.data.arrays import ArrayPoints, StoredArray
from hyplearn.data.columns import LABEL_COLUMNS, Names, label_name, listed, points_name, the_only
from hyplearn.types import Array


class CategoricalArray(StoredArray):
    """A categorical column as AnnData stores it: the number of the category of each row.

    Parameters
    ----------
    codes : StoredArray
        Numbers of categories, -1 where there is none.
    categories : ndarray
        What they stand for.
    """

    def __init__(self, codes: StoredArray, categories: Array) -> None:
        self.codes, self.categories = codes, categories
        self.name, self.shape, self.dtype = codes.name, codes.shape, categories.dtype

    def read(self, start: int, stop: int) -> Array:
        """The categories of some rows."""
        codes = self.codes.read(start, stop)
        wrong = np.flatnonzero((codes < 0) | (codes >= len(self.categories)))
        if len(wrong):
            raise ValueError(f"{self.name}: row {start + wrong[0]}, counted from 0, has no label.\nFill it in.")
        return self.categories[codes]

    def check(self) -> None:
        """Raise if what was read may not be what was stored."""
        self.codes.check()

    @property
    def state(self) -> tuple[Any, ...]:
        """That of the codes."""
        return self.codes.state


class Group:
    """Named arrays that lie in one place.

    Parameters
    ----------
    path : Path
        The place.
    content : h5py.Group or zarr.Group
        What it holds.
    stored : callable
        Makes a :class:`StoredArray` of one of its arrays.
    """

    def __init__(self, path: Path, content: Any, stored: Callable[[Any], StoredArray]) -> None:
        self.path, self.content, self.stored = path, content, stored

    def points(self, points: Names, label: str | None, weight: str | None, basis: str | None) -> ArrayPoints:
        """Points with labels and weights, by their names or by convention."""
        if basis is not None or (points is None and "obsm" in self.content):
            return self._annotated(basis, label, weight)
        names = [name for name in self.content if hasattr(self.content[name], "dtype")]
        name = points if isinstance(points, str) else points_name(self.path, names, self.content.__getitem__)
        label = label_name(self.path, names, name) if label is None else label
        return ArrayPoints(self._array(name), *(None if one is None else self._array(one) for one in (label, weight)))

    def _annotated(self, basis: str | None, label: str | None, weight: str | None) -> ArrayPoints:
        """An embedding of AnnData with columns of its observations."""
        for part in ("obsm", "obs"):
            if part not in self.content:
                raise ValueError(f"{self.path} is not of AnnData: it has no {part!r}.\nName its arrays by points=.")
        if basis is None:
            basis = the_only(list(self.content["obsm"]), "basis", self.path, list(self.content["obsm"]))
        if label is None:
            columns = list(self.content["obs"])
            found = [name for name in LABEL_COLUMNS if name in columns]
            label = the_only(found, "label", self.path, columns) if found else None
        columns = [None if one is None else self._array(one, "obs") for one in (label, weight)]
        return ArrayPoints(self._array(basis, "obsm"), *columns)

    def _array(self, name: str, part: str | None = None) -> StoredArray:
        content = self.content if part is None else self.content[part]
        if name not in content:
            where = self.path if part is None else f"{self.path}, {part},"
            raise ValueError(f"{where} has no {name!r}; it holds {listed(list(content))}.\nName one of these.")
        found = content[name]
        if hasattr(found, "dtype"):
            return self.stored(found)
        if "codes" in found and "categories" in found:
            categories = self.stored(found["categories"])
            return CategoricalArray(self.stored(found["codes"]), categories.read(0, categories.shape[0]))
        raise ValueError(
            f"{self.path}, {name} is neither an array nor a categorical column; it holds {listed(list(found))}.\n"
            "Save it as one of these."
        )
