"""How columns and arrays of files are called, and what is said of files that are damaged."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

POINTS_NAMES = ("X", "x", "points", "embedding", "embeddings", "data", "X_train", "x_train")
LABEL_NAMES = ("y", "label", "labels", "target")
# Not "y", which beside "x" is a coordinate.
LABEL_COLUMNS = ("label", "labels", "target", "class")
# What rows are called; taken for labels only by who says so.
NAME_COLUMN, NAMES_ARRAY = "name", "names"

Names: TypeAlias = str | Sequence[str] | None


class Head(NamedTuple):
    """What the beginning of a table tells: its columns, and of those of text the first values.

    ``named`` is false where the file has no line of names, and columns are called by their numbers.
    """

    names: list[str]
    texts: dict[str, set[str]]
    named: bool = True


def the_only(names: Sequence[str], role: str, path: Path, present: Sequence[str]) -> str:
    """The only candidate for a role, or an error that shows what there is."""
    if len(names) == 1:
        return names[0]
    found = "none" if not names else listed(names)
    raise ValueError(
        f"{path} must leave no doubt about its {role}; candidates: {found}, among {listed(present)}.\nPass {role}=."
    )


def listed(names: Sequence[str], most: int = 20) -> str:
    """Some names, for a message."""
    more = "" if len(names) <= most else f" and {len(names) - most} more"
    return ", ".join(repr(name) for name in names[:most]) + more


@contextmanager
def damage_named(path: Path | str) -> Iterator[None]:
    """Name the file in whatever its reader finds wrong with it; readers raise a dozen kinds of errors."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        if "Object arrays" in str(error):
            raise ValueError(
                f"{path} holds Python objects, and nothing is unpickled.\nSave numbers, or labels as text: astype(str)."
            ) from None
        raise ValueError(f"{path} is damaged: {error}.\nWrite it again, or get a whole copy.") from error


def choose_columns(
    path: Path,
    names: Sequence[str],
    texts: Collection[str],
    points: Names,
    label: str | None,
    *,
    labelled: bool = True,
) -> tuple[list[str], str | None]:
    """Columns of coordinates, in order, and the column of labels, which is looked for if ``labelled``."""
    wanted = [points] if isinstance(points, str) else list(points or [])
    for name in [*wanted, *([] if label is None else [label])]:
        if names.count(name) != 1:
            there = "no column" if name not in names else "more than one column"
            raise ValueError(f"{path} has {there} {name!r}; its columns are {listed(names)}.\nName others.")
    if label is None and labelled:
        free = [name for name in names if name not in wanted]
        words = [name for name in free if name in texts and name != NAME_COLUMN]
        candidates = [name for name in free if name in LABEL_COLUMNS] or words
        label = the_only(candidates, "label", path, names) if candidates else None
    aside = {label, *texts, *(() if labelled else LABEL_COLUMNS)}
    coordinates = wanted or [name for name in names if name not in aside]
    _check_coordinates(path, names, texts, coordinates)
    return coordinates, label


def _check_coordinates(path: Path, names: Sequence[str], texts: Collection[str], coordinates: Sequence[str]) -> None:
    if not coordinates or any(name in texts for name in coordinates):
        which = listed([name for name in names if name in texts]) or "any column but the label"
        raise ValueError(f"{path} holds no numbers in {which}.\nName the columns of coordinates by points=.")
    if "" in coordinates or len(set(coordinates)) < len(coordinates):
        raise ValueError(
            f"{path} has columns of numbers with no name, or with the same: {listed(coordinates)}.\n"
            "Name the coordinates by points=, or write the table without its index."
        )


def points_name(path: Path, names: Sequence[str], array: Callable[[str], Any]) -> str:
    """The name of the array of points, among named arrays: by convention, or the only table of floats."""
    found = [name for name in POINTS_NAMES if name in names]
    if not found:
        arrays = {name: array(name) for name in names}
        found = [name for name, one in arrays.items() if len(one.shape) == 2 and one.dtype.kind == "f"]
    return the_only(found, "points", path, names)


def label_name(path: Path, names: Sequence[str], points: str) -> str | None:
    """The name of the array of labels: the one that is to y what the points are to x, or by convention; or none."""
    if points[:1] in ("x", "X") and (pair := "y" + points[1:]) in names:
        return pair
    found = [name for name in LABEL_NAMES if name in names]
    return the_only(found, "label", path, names) if found else None
