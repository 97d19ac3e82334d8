"""The data of a command, from any file that :func:`hyplearn.open_points` reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from hyplearn.data.columns import HEAD_ROWS, LABEL_COLUMNS, Columns, TablePoints, listed, the_only
from hyplearn.data.opening import opened
from hyplearn.data.points import PointSource
from hyplearn.data.stores import gather_known
from hyplearn.estimators.validation import check_feature_names
from hyplearn.types import Array

DATA = Annotated[
    Path,
    typer.Argument(
        help="Points, one per row: .npz, .npy, .csv, .tsv, .parquet or a folder of these, .h5, .zarr, .h5ad."
    ),
]
LABEL = Annotated[
    str | None,
    typer.Option("--label", help="Column, array, obs key or .npy file of the labels; may be left out if unambiguous."),
]
POINTS = Annotated[
    str | None,
    typer.Option("--points", help="Array (npz, h5), columns separated by commas (csv, parquet) or obsm key (h5ad)."),
]
MODEL = Annotated[Path, typer.Argument(help="A model file (.hyp) written by `hyplearn fit`.")]
STREAM = Annotated[bool, typer.Option("--stream", help="Read in blocks data that do not fit into memory.")]


class Data(NamedTuple):
    """Points with their labels and names, where there are any.

    ``left_out`` is the number of rows without a label that were left out; ``columns`` are those of a table by role.
    """

    path: Path
    X: Array
    y: Array | None
    names: Array | None
    left_out: int = 0
    columns: Columns | None = None
    feature_names: list[str] | None = None

    def summary(self) -> str:
        """One line about the data."""
        classes = "" if self.y is None else f", {len(np.unique(self.y))} classes"
        left = f" ({self.left_out:,} without a label left out)" if self.left_out else ""
        return f"{self.path.name}: {len(self.X):,} points, {self.X.shape[1]} coordinates{classes}{left}"

    def notes(self) -> list[str]:
        """A note on the columns of a table that are not used, if there are any."""
        if self.columns is None or not self.columns.unused:
            return []
        coordinates, unused = listed(self.columns.coordinates), listed(self.columns.unused)
        return [f"{self.path.name}: coordinates are {coordinates}; not used: {unused}."]

    def omissions(self) -> list[str]:
        """A note on cells that are not shown, if there are any."""
        if not self.left_out:
            return []
        return [f"{self.path.name}: {self.left_out:,} without a label are not shown; without --label all are."]

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the columns of the coordinates in an error about the points."""
        try:
            yield
        except ValueError as error:
            if self.columns is None:
                raise
            raise ValueError(f"{self.path}, coordinates {listed(self.columns.coordinates)}: {error}") from error


def open_data(
    path: Path, points: str | None, label: str | None, model: Any = None, *, labelled: bool = True
) -> PointSource:
    """The source of a file.

    A model tells which columns of a table are read: those that it was fitted on, and the column of labels that holds
    its classes.
    """
    names = points.split(",") if points and "," in points else points
    fitted = getattr(model, "feature_names_in_", None)
    known: dict[str, Any] = {"columns": None if fitted is None else list(fitted)}
    if labelled and (model is None or label is not None):
        source = opened(path, names, label, None, None, **known)
    else:
        source = opened(path, names, None, None, None, **known, labelled=False)
    if model is not None:
        check_feature_names(model, source)
    if not labelled and isinstance(source, TablePoints) and label in source.columns.coordinates:
        others = [name for name in source.columns.coordinates if name != label]
        return opened(path, others, None, None, None, labelled=False)
    if labelled and model is not None and label is None:
        label = _label_column(path, source, model) if isinstance(source, TablePoints) else None
        if label is not None or not isinstance(source, TablePoints):
            return opened(path, names, label, None, None, **known)
    return source


def _label_column(path: Path, source: TablePoints, model: Any) -> str | None:
    """The column called like labels, or the one that holds classes of the model."""
    free, classes = source.columns.unused, {str(label) for label in model.classes_.tolist()}
    found = [name for name in free if name in LABEL_COLUMNS]
    found = found or [name for name in free if classes.intersection(source.strings(name, HEAD_ROWS))]
    return the_only(found, "column", "label", path, free) if found else None


def read_points(path: Path, points: str | None, label: str | None, model: Any = None, *, labelled: bool = True) -> Data:
    """All points of a file; with labels if all points have one."""
    data, known = _read(path, open_data(path, points, label, model, labelled=labelled))
    return data if known.all() else data._replace(y=None)


def read_shown(path: Path, points: str | None, label: str | None, model: Any) -> Data:
    """The points of a file for a picture: all, or those with a label if labels are asked for."""
    return read_points(path, points, label, model) if label is None else read_labelled(path, points, label, model)


def read_labelled(path: Path, points: str | None, label: str | None, model: Any = None) -> Data:
    """The points of a file that have labels; an error if there are none."""
    data, known = _read(path, open_data(path, points, label, model))
    if data.y is None or not known.any():
        raise ValueError(f"{path} has no labels that could be found.\nPass --label.")
    if known.all():
        return data
    names = None if data.names is None else data.names[known]
    return data._replace(X=data.X[known], y=data.y[known], names=names, left_out=int(np.sum(~known)))


def _read(path: Path, source: PointSource) -> tuple[Data, Array]:
    block, known = gather_known(source)
    columns = source.columns if isinstance(source, TablePoints) else None
    return Data(path, block.X, block.y, source.row_names(), 0, columns, source.feature_names), known


def check_width(model: Any, data: Data) -> None:
    """Raise if the points have another number of coordinates than those that the model was fitted on."""
    expected = getattr(model, "n_features_in_", data.X.shape[1])
    if data.X.shape[1] != expected:
        raise ValueError(
            f"{data.path} has points of {data.X.shape[1]} coordinates; the model was fitted on {expected}.\n"
            "Pass --points, the coordinates, or --label, if the labels are a column of numbers."
        )
