"""Find the coordinates, labels and weights among the columns of a table or the named arrays of a file.

Names passed by the caller take precedence over naming conventions.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hyplearn.data.points import Block, PointSource, regrouped
from hyplearn.types import Array

# Conventional names of the array of points and of the array of labels.
POINTS_NAMES = ("X", "x", "points", "embedding", "embeddings", "data", "X_train", "x_train")
LABEL_NAMES = ("y", "label", "labels", "target")
# Conventional names of label columns. "y" is not one of them, because a table may have coordinates "x" and "y".
LABEL_COLUMNS = ("label", "labels", "target", "class")
# Conventional names of the column of row names and of the array of row names. Row names are used as labels only if the
# caller passes label="name" or label="names".
NAME_COLUMN, NAMES_ARRAY = "name", "names"
# Number of rows that are read from the start of a text file to find its numeric columns, and from the start of a table
# to find the column that contains the class labels of a fitted model.
HEAD_ROWS = 10_000

Names: TypeAlias = str | Sequence[str] | None


class Wanted(NamedTuple):
    """Names that the caller passed for columns or arrays; without them, naming conventions are used."""

    # Names of the coordinate columns, or the name of the array of points.
    points: Names = None
    # Names of the columns or arrays of labels and weights. If the points are stored as a single array, ``label`` and
    # ``weight`` are the labels and the weights themselves, or the paths of .npy files that contain them.
    label: Any = None
    weight: Any = None
    # AnnData only: key of the embedding in obsm.
    basis: str | None = None
    # Tables only: names of the columns that a model was fitted on. They are used as coordinates if ``points`` is
    # None and the table has column names.
    fitted: Sequence[str] | None = None
    # Whether naming conventions are used to find the labels if ``label`` is None.
    labelled: bool = True


class Columns(NamedTuple):
    """Names of a table's columns, grouped by role: coordinates, labels, weights, row names, and ignored columns."""

    coordinates: list[str]
    label: str | None
    weight: str | None
    name: str | None
    unused: list[str]

    @property
    def names(self) -> list[str]:
        """Names of all columns of the table."""
        given = [one for one in (self.label, self.weight, self.name) if one is not None]
        return [*self.coordinates, *given, *self.unused]

    @property
    def read(self) -> list[str]:
        """Names of the columns to read: coordinates, labels and weights."""
        return [*self.coordinates, *(name for name in (self.label, self.weight) if name is not None)]


class TablePoints(PointSource):
    """Source of points in a table with named columns."""

    columns: Columns

    @abstractmethod
    def parts(self, start: int) -> Iterator[Block]:
        """Iterate over the rows in blocks of any size, starting at row ``start``."""

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """Iterate over blocks of ``block_rows`` rows."""
        start = first * self.block_rows
        return regrouped(self.parts(start), self.block_rows, start)

    @abstractmethod
    def strings(self, column: str, most: int | None = None) -> list[str]:
        """Read one column as strings; if ``most`` is given, read only its first ``most`` values."""

    def column(self, name: str) -> Array:
        """Read the column with this name; missing values become NaN in a numeric column, and None in other columns."""
        names = self.columns.names
        if names.count(name) != 1:
            there = "no column" if name not in names else "more than one column"
            raise ValueError(f"{self.name} has {there} {name!r}; its columns are {listed(names)}.\nPass one of these.")
        return self.values(name)

    @abstractmethod
    def values(self, column: str) -> Array:
        """Read an existing column; missing values become NaN in a numeric column, and None in other columns."""

    def row_names(self) -> Array | None:
        """Read the column "name"; return None if it does not exist, is numeric or has another role."""
        return None if self.columns.name is None else np.array(self.strings(self.columns.name), dtype=str)


def choose_columns(
    path: Path, names: Sequence[str], texts: Collection[str], wanted: Wanted, *, named: bool = True
) -> Columns:
    """Assign a role to each column of a table; ``texts`` contains the names of its non-numeric columns.

    ``named`` is False if the file has no column names.
    """
    points = [wanted.points] if isinstance(wanted.points, str) else list(wanted.points or ())
    if not points and wanted.fitted is not None and named:
        points = list(wanted.fitted)
        missing = [name for name in points if name not in names]
        if missing:
            raise ValueError(
                f"{path} has no {'column' if len(missing) == 1 else 'columns'} {listed(missing)}; the model was fitted "
                f"on {listed(points)}, and the columns of this file are {listed(names)}.\n"
                "Rename the columns as in the training data."
            )
    label, weight = wanted.label, wanted.weight
    for name in [*points, *(one for one in (label, weight) if one is not None)]:
        if names.count(name) != 1:
            there = "no column" if name not in names else "more than one column"
            raise ValueError(f"{path} has {there} {name!r}; its columns are {listed(names)}.\nPass other names.")
    if weight in texts:
        raise ValueError(
            f"{path}, column {weight!r}, holds no numbers.\nPass weight= with the name of a numeric column."
        )
    free = [name for name in names if name not in points and name != weight]
    if label is None and wanted.labelled:
        words = [name for name in free if name in texts and name != NAME_COLUMN]
        candidates = [name for name in free if name in LABEL_COLUMNS] or words
        label = the_only(candidates, "column", "label", path, names) if candidates else None
    aside = {label, *texts, *(() if wanted.labelled else LABEL_COLUMNS)}
    coordinates = points or [name for name in free if name not in aside]
    _check_coordinates(path, names, texts, coordinates)
    used = {*coordinates, label, weight}
    name = NAME_COLUMN if NAME_COLUMN in texts and NAME_COLUMN not in used else None
    return Columns(coordinates, label, weight, name, [one for one in names if one not in {*used, name}])


def _check_coordinates(path: Path, names: Sequence[str], texts: Collection[str], coordinates: Sequence[str]) -> None:
    if not coordinates or any(name in texts for name in coordinates):
        which = listed([name for name in names if name in texts]) or "any column except labels and weights"
        raise ValueError(f"{path} holds no numbers in {which}.\nPass points= with the names of the coordinate columns.")
    if "" in coordinates or len(set(coordinates)) < len(coordinates):
        raise ValueError(
            f"{path} has coordinate columns without a name, or with the same name; its coordinate columns are "
            f"{listed(coordinates)}.\n"
            "Pass points= with the names of the coordinate columns, or write the table without its index."
        )


def choose_arrays(
    path: Path, names: Sequence[str], array: Callable[[str], Any], wanted: Wanted
) -> tuple[str, str | None]:
    """Return the names of the array of points and of the array of labels (None if there are no labels).

    ``array`` is a function that returns the array with a given name.
    """
    if wanted.points is None:
        found = [name for name in POINTS_NAMES if name in names] or [
            name for name in names if len((one := array(name)).shape) == 2 and one.dtype.kind == "f"
        ]
        points = the_only(found, "array", "points", path, names)
    elif isinstance(wanted.points, str):
        points = wanted.points
    else:
        raise ValueError(
            f"{path} holds arrays, not columns; got points={wanted.points!r}.\nPass the name of one array."
        )
    if wanted.label is not None or not wanted.labelled:
        return points, wanted.label
    if points[:1] in ("x", "X") and (pair := "y" + points[1:]) in names:
        return points, pair
    found = [name for name in LABEL_NAMES if name in names]
    return points, the_only(found, "array", "label", path, names) if found else None


def the_only(names: Sequence[str], kind: str, role: str, path: Path, present: Sequence[str]) -> str:
    """Return the only candidate for a role; if there is none or more than one, raise an error that lists them."""
    if len(names) == 1:
        return names[0]
    content = {"label": "labels", "points": "points", "basis": "embedding"}[role]
    raise ValueError(
        f"Cannot tell which {kind} of {path} holds the {content}; candidates: {listed(names) or 'none'} (available: "
        f"{listed(present) or 'none'}).\n"
        f"Pass {role}=."
    )


def listed(names: Sequence[str], most: int = 20) -> str:
    """Format names for a message: the first ``most`` names and, if there are more, the number of remaining names."""
    more = "" if len(names) <= most else f" and {len(names) - most} more"
    return ", ".join(repr(name) for name in names[:most]) + more
