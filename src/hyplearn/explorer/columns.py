"""Columns of numbers or categories by which a page colours its points."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hyplearn.data.labels import distinct
from hyplearn.explorer.typed import code_array, shortened, typed_array
from hyplearn.plotting import palette
from hyplearn.types import Array

# NumPy dtype kinds that are shown as numbers; bool is shown as a category.
NUMBERS = "iuf"
MISSING = "missing"


def styles_of(labels: Any) -> list[dict[str, str]]:
    """Style of each label: its colours on a light and on a dark background, and its shape."""
    labels = list(labels)
    light, dark = palette.label_styles(labels), palette.label_styles(labels, dark=True)
    return [{"light": light[k].colour, "dark": dark[k].colour, "shape": light[k].shape} for k in labels]


def columns_json(columns: Any, n: int) -> list[dict[str, Any]]:
    """Convert columns (a mapping of names to values, or a data frame) to JSON values."""
    if columns is None:
        return []
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise ValueError(
            f"columns must be a mapping of names to values, or a data frame; got {type(columns).__name__}.\n"
            'Pass columns={"depth": depths}.'
        )
    names = list(columns) if isinstance(columns, Mapping) else list(columns.columns)
    return [_column(str(name), columns[name], n) for name in names]


def _column(name: str, values: Any, n: int) -> dict[str, Any]:
    categories = _categories(values)
    values = np.asarray(values)
    if values.shape != (n,):
        raise ValueError(
            f"Column {name!r} must hold one value for each of the {n} rows of X; got shape {values.shape}.\n"
            "Pass values in the order of the rows."
        )
    if categories is None and values.dtype.kind in NUMBERS:
        whole = values.dtype.kind in "iu"
        return {
            "name": shortened(name), "kind": "number", "values": typed_array(values, "<f4"), "is_whole": whole,
        }  # fmt: skip
    codes, texts = _coded(values, categories)
    return {
        "name": shortened(name),
        "kind": "category",
        "codes": code_array(codes, len(texts), name),
        "categories": [shortened(text) for text in texts],
        "styles": _category_styles(texts),
    }


def _categories(values: Any) -> list[str] | None:
    """Categories of a pandas categorical column, in their order; None for other columns."""
    known = getattr(getattr(values, "dtype", None), "categories", None)
    return None if known is None else [str(one) for one in known]


def _coded(values: Array, categories: list[str] | None) -> tuple[Array, list[str]]:
    """Return the category code of each value and the names of the categories, with missing values last."""
    texts = np.array([MISSING if _is_missing(value) else str(value) for value in values.tolist()], dtype=object)
    present = [str(one) for one in distinct(texts)[0]]
    known = categories if categories is not None else [one for one in present if one != MISSING]
    names = [*known, *(one for one in present if one not in set(known))]
    numbers = {one: k for k, one in enumerate(names)}
    return np.array([numbers[text] for text in texts], dtype=np.int64), names


def _is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _category_styles(names: list[str]) -> list[dict[str, str]]:
    """Style of each category; missing values are grey."""
    grey = {"light": palette.GREY, "dark": palette.GREY, "shape": palette.SHAPES[0]}
    found = iter(styles_of([name for name in names if name != MISSING]))
    return [grey if name == MISSING else next(found) for name in names]
