"""Columns of a table and what they are to a command: coordinates, labels, names; all others are left aside."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyplearn.data.columns import (
    LABEL_COLUMNS,
    NAME_COLUMN,
    NAMES_ARRAY,
    Head,
    choose_columns,
    damage_named,
    listed,
    the_only,
)
from hyplearn.data.parquet import parquet_column, parquet_head
from hyplearn.datasets.text_files import text_column, text_head
from hyplearn.types import Array

TEXT, PARQUET = (".csv", ".tsv"), ".parquet"


class Roles(NamedTuple):
    """Names of columns by what they are; ``named`` tells whether the file itself calls them so."""

    coordinates: list[str]
    label: str | None
    name: str | None
    aside: list[str]
    named: bool


def is_table(path: Path) -> bool:
    """Whether a file has columns."""
    return path.is_file() and path.suffix.lower() in (*TEXT, PARQUET)


def roles(path: Path, model: Any, points: Sequence[str] | None, label: str | None, *, labelled: bool) -> Roles:
    """What each column is: to a model that knows the names of its features and its classes, if there is one."""
    head = parquet_head(path) if path.suffix.lower() == PARQUET else text_head(path)
    wanted = points if model is None or not head.named else _of_the_fit(path, head, model, points)
    if model is not None and labelled and label is None:
        label, labelled = _label_of(path, head, model, wanted or ()), False
    coordinates, label = choose_columns(path, head.names, head.texts, wanted, label, labelled=labelled)
    used = {*coordinates, label}
    name = NAME_COLUMN if NAME_COLUMN in head.texts and NAME_COLUMN not in used else None
    return Roles(coordinates, label, name, [one for one in head.names if one not in {*used, name}], head.named)


def names_in(path: Path, column: str) -> Array:
    """What the rows are called."""
    return np.array((parquet_column if path.suffix.lower() == PARQUET else text_column)(path, column), dtype=str)


def names_in_archive(path: Path, n: int) -> Array | None:
    """What the rows are called, if a .npz file has an array of n names."""
    with damage_named(path), np.load(path, allow_pickle=False) as archive:
        names = archive[NAMES_ARRAY] if NAMES_ARRAY in archive.files else np.empty(0)
    return names.astype(str) if names.shape == (n,) and names.dtype.kind in "US" else None


def _of_the_fit(path: Path, head: Head, model: Any, points: Sequence[str] | None) -> Sequence[str] | None:
    """The columns that a model was fitted with, where it knows them."""
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        return points
    missing = [name for name in known if name not in head.names]
    if missing or (points is not None and list(points) != list(known)):
        what = f"has no column {listed(missing)}" if missing else f"is to give the coordinates {listed(points or ())}"
        raise ValueError(
            f"{path} {what}; the model was fitted on {listed(list(known))}, and the columns here are "
            f"{listed(head.names)}.\nCall the coordinates as in the fit; --points is not needed then."
        )
    return list(known)


def _label_of(path: Path, head: Head, model: Any, coordinates: Sequence[str]) -> str | None:
    """The column called like labels, or the one of text that holds classes of the model."""
    free = [name for name in head.names if name not in coordinates]
    classes = {str(label) for label in model.classes_.tolist()}
    found = [name for name in free if name in LABEL_COLUMNS] or [n for n in free if head.texts.get(n, set()) & classes]
    return the_only(found, "label", path, head.names) if found else None
