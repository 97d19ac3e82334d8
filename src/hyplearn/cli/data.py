"""Data of a command: any file that load_points knows, or an AnnData file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from hyplearn.cli.tables import Roles, is_table, names_in, names_in_archive, roles
from hyplearn.data.columns import listed
from hyplearn.data.opening import open_points
from hyplearn.data.opening import opened as opened_points
from hyplearn.data.points import PointSource
from hyplearn.datasets import load_points
from hyplearn.single_cell.cells import class_labels, read_cells
from hyplearn.types import Array

DATA = Annotated[Path, typer.Argument(help="Points, one per row: .npz, .npy, .csv, .tsv, .parquet or .h5ad.")]
LABEL = Annotated[
    str | None,
    typer.Option("--label", help="Column, array, obs key or .npy file of the labels; found by itself if unmistakable."),
]
POINTS = Annotated[
    str | None,
    typer.Option("--points", help="Array (npz), columns with commas between (csv, parquet) or obsm key (h5ad)."),
]
MODEL = Annotated[Path, typer.Argument(help="A model file (.hyp) that `hyplearn fit` has written.")]
STREAM = Annotated[
    bool, typer.Option("--stream", help="Read in blocks what is larger than memory: npy, npz, parquet, h5ad, folders.")
]
DEFAULT_BASIS = "X_poincare"


class Data(NamedTuple):
    """Points, labels where known, names where the file has them; of a table, what its columns are.

    ``left_out`` is the number of rows left out without a label.
    """

    path: Path
    X: Array
    y: Array | None
    names: Array | None
    left_out: int = 0
    columns: Roles | None = None

    def summary(self) -> str:
        """One line about the data."""
        classes = "" if self.y is None else f", {len(np.unique(self.y))} classes"
        left = f" ({self.left_out:,} without a label left out)" if self.left_out else ""
        return f"{self.path.name}: {len(self.X):,} points, {self.X.shape[1]} coordinates{classes}{left}"

    def notes(self) -> list[str]:
        """A note on the columns of a table that are left aside, if there are any."""
        if self.columns is None or not self.columns.aside:
            return []
        coordinates, aside = listed(self.columns.coordinates), listed(self.columns.aside)
        return [f"{self.path.name}: coordinates are {coordinates}; left aside: {aside}."]

    def omissions(self) -> list[str]:
        """A note on cells that are not shown, if there are any."""
        if not self.left_out:
            return []
        return [f"{self.path.name}: {self.left_out:,} without a label are not shown; without --label all are."]

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the columns that were taken for coordinates in whatever is found wrong with the points."""
        try:
            yield
        except ValueError as error:
            if self.columns is None:
                raise
            raise ValueError(f"{self.path}, coordinates {listed(self.columns.coordinates)}: {error}") from error


def read_points(path: Path, points: str | None, label: str | None, model: Any = None, *, labelled: bool = True) -> Data:
    """All points of a file, by the columns that a model knows; labels only if every row has one, and if asked for."""
    if path.suffix.lower() == ".h5ad":
        cells = read_cells(path, label, points or DEFAULT_BASIS)
        known = cells.labels is not None and cells.known.all()
        return Data(path, cells.X, class_labels(cells.labels) if known else None, cells.names)  # type: ignore[arg-type]
    if not is_table(path):
        X, y = load_points(path, points=points, label=label, labelled=labelled)
        return Data(path, X, y, names_in_archive(path, len(X)) if path.suffix.lower() == ".npz" else None)
    columns = roles(path, model, None if points is None else points.split(","), label, labelled=labelled)
    own = columns.label if labelled else None
    X, y = load_points(path, points=columns.coordinates, label=own, labelled=False)
    names = None if columns.name is None else names_in(path, columns.name)
    return Data(path, X, y, names, columns=columns)


def read_shown(path: Path, points: str | None, label: str | None, model: Any) -> Data:
    """The points of a file to be shown: all, or of cells whose labels are asked for those that have one."""
    if path.suffix.lower() == ".h5ad" and label is not None:
        return _labelled_cells(path, points, label)
    return read_points(path, points, label, model)


def opened(path: Path, points: str | None, label: str | None, model: Any = None) -> PointSource:
    """The points of a file, read in blocks: with labels, or by the columns of a model that is to predict them."""
    if path.suffix.lower() == ".h5ad":
        return open_points(path, basis=points or DEFAULT_BASIS, label=label)
    names = points.split(",") if points and "," in points else points
    known = None if points else getattr(model, "feature_names_in_", None)
    columns = None if known is None else list(known)
    return opened_points(path, names, label, None, None, columns=columns, labelled=model is None)


def read_labelled(path: Path, points: str | None, label: str | None, model: Any = None) -> Data:
    """The points of a file that have labels; an error if none has."""
    if path.suffix.lower() == ".h5ad":
        return _labelled_cells(path, points, label)
    data = read_points(path, points, label, model)
    if data.y is None:
        raise ValueError(f"{path} has no labels that could be found.\nName them by --label.")
    return data


def _labelled_cells(path: Path, points: str | None, label: str | None) -> Data:
    if label is None:
        raise ValueError(f"{path} is an AnnData file, whose labels are a column of obs.\nName it by --label.")
    cells = read_cells(path, label, points or DEFAULT_BASIS)
    known = cells.known
    if cells.labels is None or not known.any():
        raise ValueError(f"{path} has no cell with a label in obs[{label!r}].\nName another column by --label.")
    return Data(path, cells.X[known], class_labels(cells.labels[known]), cells.names[known], int(np.sum(~known)))


def check_width(model: Any, data: Data) -> None:
    """Refuse points of another number of coordinates than the model was fitted on."""
    expected = getattr(model, "n_features_in_", data.X.shape[1])
    if data.X.shape[1] != expected:
        raise ValueError(
            f"{data.path} has points of {data.X.shape[1]} coordinates; the model was fitted on {expected}.\n"
            "Name the coordinates by --points, or the column of labels, if it holds numbers, by --label."
        )
