"""Functions with which the commands load classifiers, and read points from all files that ``open_points`` supports."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from sklearn.utils.validation import check_is_fitted

from hyplearn.data.columns import HEAD_ROWS, LABEL_COLUMNS, Columns, TablePoints, listed, the_only
from hyplearn.data.opening import opened
from hyplearn.data.points import PointSource, counted
from hyplearn.data.stores import gather_known
from hyplearn.embedding import BallNet
from hyplearn.estimators.validation import check_feature_names
from hyplearn.persistence import load
from hyplearn.types import Array

DATA = Annotated[
    Path,
    typer.Argument(help="Points, one per row: .npz, .npy, .csv, .tsv, .parquet (file or folder), .h5, .zarr, .h5ad."),
]
LABEL = Annotated[
    str | None,
    typer.Option(
        "--label",
        help="Column, array or obs key with the labels; for .npy points, a .npy file. Optional if unambiguous.",
    ),
]
POINTS = Annotated[
    str | None,
    typer.Option("--points", help="Array (npz, h5), comma-separated columns (csv, parquet) or obsm key (h5ad)."),
]
MODEL = Annotated[Path, typer.Argument(help="A model file (.hyp) written by `hyplearn fit`.")]
# Suffixes of data files, which are used to detect that a data file was passed instead of a model file.
OTHER_FILES = (".npz", ".npy", ".csv", ".tsv", ".parquet", ".h5", ".zarr", ".h5ad")
STREAM = Annotated[bool, typer.Option("--stream", help="Read the data in blocks, for files larger than memory.")]


class Data(NamedTuple):
    """Points from a file, with their labels and names.

    ``y`` and ``names`` are None if the file does not contain labels or names; ``y`` is also None if labels were not
    requested, or if :func:`read_points` found a point without a label. ``columns`` contains the column names of a
    table, grouped by role, and is None for other files. ``extras`` maps the names of additionally requested columns to
    their values. ``left_out`` is the number of rows that were omitted because they have no label.
    """

    path: Path
    X: Array
    y: Array | None
    names: Array | None
    columns: Columns | None
    feature_names: list[str] | None
    extras: dict[str, Array]
    left_out: int = 0

    def summary(self) -> str:
        """Return a one-line summary of the data."""
        classes = "" if self.y is None else f", {counted(len(np.unique(self.y)), 'class', 'classes')}"
        left = f" ({self.left_out:,} unlabelled points omitted)" if self.left_out else ""
        n, d = self.X.shape
        return f"{self.path.name}: {counted(n, 'point')}, {counted(d, 'coordinate')}{classes}{left}"

    def notes(self) -> list[str]:
        """Return a list with a note about the unused columns of a table; the list is empty if there are none."""
        unused = [] if self.columns is None else [name for name in self.columns.unused if name not in self.extras]
        if self.columns is None or not unused:
            return []
        return [f"{self.path.name}: coordinates are {listed(self.columns.coordinates)}; not used: {listed(unused)}."]


def open_data(
    path: Path, points: str | None, label: str | None, model: Any = None, *, labelled: bool = True
) -> PointSource:
    """Open a file of points and, if ``labelled``, their labels.

    If ``points`` is None and the model was fitted on named columns of a table, the same columns are the coordinates.

    If ``labelled`` is False, no labels are read, and the column that ``label`` names is not used as a coordinate. If
    ``labelled`` is True and ``label`` is None, the labels are found by naming conventions. If a model is given, the
    label column of a table can also be found because it contains classes of the model.
    """
    names = points.split(",") if points and "," in points else points
    fitted = getattr(model, "feature_names_in_", None)
    columns = None if fitted is None else list(fitted)
    by_conventions = labelled and (model is None or label is not None)
    source = opened(
        path, names, label if by_conventions else None, None, None, columns=columns, labelled=by_conventions
    )
    if model is not None:
        check_feature_names(model, source)
    if not labelled and isinstance(source, TablePoints) and label in source.columns.coordinates:
        others = [name for name in source.columns.coordinates if name != label]
        return opened(path, others, None, None, None, labelled=False)
    if by_conventions or not labelled:
        return source
    if isinstance(source, TablePoints):
        label = _label_column(path, source, model)
        if label is None:
            return source
    return opened(path, names, label, None, None, columns=columns)


def _label_column(path: Path, source: TablePoints, model: Any) -> str | None:
    """Find the label column by its name or by the classes that it contains; return its name, or None if not found."""
    free, classes = source.columns.unused, {str(label) for label in model.classes_.tolist()}
    found = [name for name in free if name in LABEL_COLUMNS]
    found = found or [name for name in free if classes.intersection(source.strings(name, HEAD_ROWS))]
    return the_only(found, "column", "label", path, free) if found else None


def read_points(
    path: Path,
    points: str | None,
    label: str | None,
    model: Any = None,
    *,
    labelled: bool = True,
    extras: Sequence[str] = (),
) -> Data:
    """Read all points of a file, with the columns ``extras``; labels are included if every point has one."""
    data, known = _read(path, open_data(path, points, label, model, labelled=labelled), model, extras)
    return data if known.all() else data._replace(y=None)


def read_labelled(
    path: Path, points: str | None, label: str | None, model: Any = None, *, extras: Sequence[str] = ()
) -> Data:
    """Read the labelled points of a file, with the columns ``extras``; raise an error if no point has a label."""
    data, known = _read(path, open_data(path, points, label, model), model, extras)
    if data.y is None or not known.any():
        raise ValueError(f"Cannot find labels in {path}.\nPass --label with the name of the label column or array.")
    if known.all():
        return data
    names = None if data.names is None else data.names[known]
    chosen = {name: values[known] for name, values in data.extras.items()}
    return data._replace(X=data.X[known], y=data.y[known], names=names, extras=chosen, left_out=int(np.sum(~known)))


def _read(path: Path, source: PointSource, model: Any, extras: Sequence[str]) -> tuple[Data, Array]:
    """Return the data and a mask of the labelled rows; raise if the model expects another number of coordinates."""
    block, known = gather_known(source)
    d = block.X.shape[1]
    expected = model.n_features_in_ if hasattr(model, "n_features_in_") else d
    if d != expected:
        raise ValueError(
            f"{path} has points with {counted(d, 'coordinate')}; the model was fitted on "
            f"{counted(expected, 'coordinate')}.\n"
            "Pass --points to select the coordinates, or --label if a numeric column contains the labels."
        )
    columns = source.columns if isinstance(source, TablePoints) else None
    values = {name: source.column(name) for name in extras}
    return Data(path, block.X, block.y, source.row_names(), columns, source.feature_names, values), known


def load_classifier(path: Path, *, in_ball: bool) -> Any:
    """Load a fitted classifier; if ``in_ball`` is True, check that it classifies points of the ball."""
    if path.suffix.lower() in OTHER_FILES:
        raise ValueError(f"{path} is not a model file (.hyp).\nPass the model first, then the points.")
    model = load(path)
    if not hasattr(model, "predict"):
        raise ValueError(
            f"{path} contains an estimator of class {type(model).__name__}, not a classifier.\n"
            "Pass the file of a classifier."
        )
    check_is_fitted(model)
    if len(shape := getattr(model, "input_shape_", ())) > 1:
        raise ValueError(
            f"{path} contains a network that takes images of shape {shape}; the command line supports only "
            "rows of features.\n"
            "Use it in Python: hyplearn.load(path).predict(images)."
        )
    if in_ball and isinstance(model, BallNet):
        raise ValueError(
            f"{path} contains a BallNet, which takes features; this command needs a classifier of points in the ball.\n"
            "Use hyplearn predict, or evaluate with --folds 0, or fit a classifier to the transformed points."
        )
    return model
