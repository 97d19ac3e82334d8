"""Validate labels, find the classes, and encode labels as indices of classes.

Labels in object arrays are compared with Python's ``==``. NumPy's ``==`` is not used for them, because NumPy ignores
trailing NULs when it compares strings, and converts members of string enumerations to other strings.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hyplearn.data.points import counted
from hyplearn.types import Array

# Range of integer labels below which classes are found by counting, which is faster than sorting.
FEW_VALUES = 2**16


def as_labels(y: Any) -> Any:
    """Convert a list that contains strings to an array that preserves every label; return other input unchanged.

    Raise if labels in a one-dimensional object array are missing.
    """
    if isinstance(y, (list, tuple)) and any(isinstance(label, (str, bytes)) for label in y):
        array = np.asarray(y)
        y = array if array.tolist() == list(y) else as_objects(y)
    if getattr(getattr(y, "dtype", None), "kind", "") == "O" and y.ndim == 1:
        check_present(np.asarray(y).tolist())
    return y


def check_one_label_per_row(X: Any, y: Any) -> None:
    """Raise if X and y have different lengths; do nothing if one of the lengths is unknown."""
    rows, labels = _length(X), _length(y)
    if rows is not None and labels is not None and rows != labels:
        raise ValueError(
            f"X has {counted(rows, 'row')}, but y has {counted(labels, 'label')}.\nPass one label per row of X."
        )


def _length(array: Any) -> int | None:
    shape = getattr(array, "shape", None)
    if shape is not None:
        return shape[0] if len(shape) else None
    return len(array) if hasattr(array, "__len__") else None


def as_objects(labels: Iterable[Any]) -> Array:
    """Convert labels to an object array with one element per label."""
    kept = list(labels)
    array = np.empty(len(kept), dtype=object)
    array[:] = kept
    return array


def as_strings(labels: Array) -> Array:
    """Convert an object array of strings to a string dtype if this preserves every label; else return it unchanged."""
    if labels.dtype != object or not len(labels) or not all(isinstance(label, str) for label in labels):
        return labels
    array = labels.astype(str)
    return array if array.tolist() == labels.tolist() else labels


def plain_string(label: Any) -> str:
    """Convert a label to a string; for a member of a string enumeration, return its value instead of its name."""
    return str.__str__(label) if isinstance(label, str) else str(label)


def check_present(labels: Sequence[Any], start: int = 0) -> None:
    """Raise if labels are missing. The error names the row of the first one; ``labels[0]`` is in row ``start``."""
    missing = [row for row, label in enumerate(labels) if _is_missing(label)]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise ValueError(
            f"{len(missing)} of {len(labels)} labels {are} missing; the first is in row {start + missing[0]}: "
            f"{labels[missing[0]]!r}.\nRemove these rows, or give them a label such as 'other'."
        )


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, pandas.NA, or a value that is not equal to itself, such as NaN or NaT."""
    if label is None or isinstance(label, str):
        return label is None
    try:
        return bool(label != label)
    except (TypeError, ValueError):  # comparisons of pandas.NA cannot be converted to bool
        return type(label).__name__ == "NAType"


def distinct(y: Array, start: int = 0) -> tuple[Array, Array]:
    """Return the sorted distinct labels, and for each row the index of its label among them.

    Integers in a small range and floats with two distinct values are encoded without sorting the rows, which is faster.
    Objects are compared with Python's ``==``, because NumPy ignores trailing NULs when it compares strings. The
    position ``start`` of ``y[0]`` in the source is used only in error messages.
    """
    if (offsets := _offsets(y)) is not None:
        present = np.bincount(offsets) > 0
        return y.min() + np.flatnonzero(present).astype(y.dtype), (np.cumsum(present) - 1)[offsets]
    if (two := _two_values(y)) is not None:
        ends, is_larger = two
        return ends, is_larger.astype(np.int64)
    if y.dtype.kind != "O":
        classes, codes = np.unique(y, return_inverse=True)
        return classes, np.ravel(codes)
    labels = y.tolist()
    check_present(labels, start)
    classes = as_objects(_ordered(labels))
    return classes, object_codes(y, classes)


def class_sizes(y: Array, start: int = 0) -> tuple[Array, Array]:
    """Return the sorted distinct labels and the number of rows with each label.

    Numeric labels with two distinct values, and integer labels in a small range, are counted directly, which is
    faster than encoding every label first.
    """
    if (two := _two_values(y)) is not None:
        ends, is_larger = two
        larger = np.count_nonzero(is_larger)
        return ends, np.array([len(y) - larger, larger])
    if (offsets := _offsets(y)) is not None:
        sizes = np.bincount(offsets)
        present = np.flatnonzero(sizes)
        return y.min() + present.astype(y.dtype), sizes[present]
    classes, codes = distinct(y, start)
    return classes, np.bincount(codes, minlength=len(classes))


def _two_values(y: Array) -> tuple[Array, Array] | None:
    """Return both values of numeric labels and a mask of the larger one, or None if there are not exactly two."""
    if y.dtype.kind not in "iuf" or not len(y):
        return None
    low, high = y.min(), y.max()
    # The first rows are compared separately, because they usually suffice to find a third value.
    if low == high or not all(np.all((part == low) | (part == high)) for part in (y[:FEW_VALUES], y)):
        return None
    return np.array([low, high]), y == high


def _offsets(y: Array) -> Array | None:
    """Return the labels minus the smallest label, or None if they are not integers or span a large range."""
    if y.dtype.kind not in "iu" or not len(y):
        return None
    low, high = int(y.min()), int(y.max())
    if high - low >= FEW_VALUES:
        return None
    return y.astype(np.int64) - low if high < 2**63 else (y - y.min()).astype(np.int64)


def _ordered(labels: list[Any]) -> list[Any]:
    """Return the sorted distinct labels; raise if they cannot be compared."""
    try:
        return sorted(set(labels))
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        wrong = f"of one type; got {', '.join(kinds)}" if len(kinds) > 1 else f"comparable; got {kinds[0]}"
        raise ValueError(f"Labels must be {wrong}.\nConvert them to strings or integers.") from None


def check_kind(classes: Array) -> None:
    """Raise if labels are objects other than strings; scikit-learn does not allow such labels."""
    kinds = sorted({type(label).__name__ for label in classes.tolist() if not isinstance(label, str)})
    if kinds:
        raise ValueError(
            f"Unknown label type: y holds objects of type {', '.join(kinds)}; expected strings, or an array of numbers."
            "\nPass y.astype(str), or y.astype(int) if the labels are integers."
        )


def object_codes(y: Array, classes: Array) -> Array:
    """Return the index of each label in ``classes``; labels are compared with Python's ``==``."""
    table = {label: code for code, label in enumerate(classes.tolist())}
    return np.fromiter((table[label] for label in y.tolist()), dtype=np.int64, count=len(y))
