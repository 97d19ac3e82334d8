"""Columns by which :func:`hyplearn.explore` can colour the points of its page.

The columns are converted to JSON values, and each category gets a style, that is, its colours and its marker shape.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hyplearn.data.labels import distinct
from hyplearn.explorer.typed import code_array, shortened, typed_array
from hyplearn.plotting import palette
from hyplearn.types import Array

# Kinds of NumPy dtypes that are shown as numbers. All other dtypes, such as bool, are shown as categories.
NUMBERS = "iuf"
# Name of the category of missing values.
MISSING = "missing"
# Name of the category of points whose prediction set is empty.
UNKNOWN = "unknown"

Style = dict[str, str]


def styles_of(labels: Any, colours: Mapping[str, str]) -> list[Style]:
    """Return the style of each label: its colours on light and dark backgrounds, and its marker shape.

    A label in ``colours`` is drawn as a circle of the given colour on both backgrounds.
    """
    labels = list(labels)
    light, dark = palette.label_styles(labels), palette.label_styles(labels, dark=True)
    default = [{"light": light[k].colour, "dark": dark[k].colour, "shape": light[k].shape} for k in labels]
    return [_circle(colours[str(k)]) if str(k) in colours else style for k, style in zip(labels, default, strict=True)]


def _circle(colour: str) -> Style:
    return {"light": colour, "dark": colour, "shape": palette.SHAPES[0]}


def checked_palette(given: Any) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Validate a palette; return the colours of the classes and, for each column, the colours of its categories.

    All colours are strings of the form "#RRGGBB".
    """
    if given is None:
        return {}, {}
    if not isinstance(given, Mapping):
        raise ValueError(
            f"palette must be a mapping of labels to colours; got {type(given).__name__}.\n"
            'Pass a mapping such as {"cat": "#E8660C"}.'
        )
    own = {name: colour for name, colour in given.items() if not isinstance(colour, Mapping)}
    of_columns = {str(name): _hex_colours(colours) for name, colours in given.items() if isinstance(colours, Mapping)}
    return _hex_colours(own), of_columns


def _hex_colours(given: Mapping[Any, Any]) -> dict[str, str]:
    return {str(label): _hex_colour(colour) for label, colour in given.items()}


def _hex_colour(colour: Any) -> str:
    """Convert a colour to "#RRGGBB"; names of colours and tuples of numbers require matplotlib."""
    if isinstance(colour, str) and re.fullmatch("#[0-9a-fA-F]{6}", colour):
        return colour
    try:
        from matplotlib.colors import to_hex
    except ImportError as error:
        raise ImportError(
            f"The colour {colour!r} needs matplotlib: pip install 'hyplearn[plots]', or pass \"#RRGGBB\"."
        ) from error
    try:
        return to_hex(colour)
    except ValueError:
        raise ValueError(
            f'{colour!r:.80} in palette is not a colour.\nPass "#RRGGBB" or the name of a matplotlib colour.'
        ) from None


def columns_json(
    columns: Any, n: int, classes: Mapping[str, Style], colours: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """Convert columns (a mapping of names to values, or a data frame) to JSON values.

    ``colours`` maps the names of columns to the colours of their categories. Categories without such a colour get the
    style of the class with the same name, if there is one.
    """
    if columns is None:
        return []
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise ValueError(
            f"columns must be a mapping of names to values, or a data frame; got {type(columns).__name__}.\n"
            'Pass a mapping such as {"depth": depths}.'
        )
    names = list(columns) if isinstance(columns, Mapping) else list(columns.columns)
    return [_column(str(name), columns[name], n, classes, colours.get(str(name), {})) for name in names]


def _column(name: str, values: Any, n: int, classes: Mapping[str, Style], colours: Mapping[str, str]) -> dict[str, Any]:
    categories = _categories(values)
    values = np.asarray(values)
    if values.shape != (n,):
        raise ValueError(
            f"Column {name!r} must have one value for each of the {n} rows of X; got shape {values.shape}.\n"
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
        "styles": _category_styles(texts, classes, colours),
    }


def _categories(values: Any) -> list[str] | None:
    """Return the categories of a pandas categorical column in their order, or None for other columns."""
    known = getattr(getattr(values, "dtype", None), "categories", None)
    return None if known is None else [str(one) for one in known]


def _coded(values: Array, categories: list[str] | None) -> tuple[Array, list[str]]:
    """Return the code of each value, and the names of the categories; missing values have the category "missing"."""
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


def _category_styles(names: Sequence[str], classes: Mapping[str, Style], colours: Mapping[str, str]) -> list[Style]:
    """Return the style of each category.

    A category in ``colours`` is drawn as a circle of the given colour. Otherwise, ``MISSING`` and ``UNKNOWN`` have
    fixed styles, a category with the name of a class has the style of this class, and every other category has a new
    style.
    """
    grey = {"light": palette.GREY, "dark": palette.GREY, "shape": palette.SHAPES[0]}
    cross = {"light": palette.LIGHT[1], "dark": palette.DARK[1], "shape": "cross"}
    known = {**classes, MISSING: grey, UNKNOWN: cross}
    # If a column contains both classes and other categories, the other categories get styles that no class has.
    used = [name for name in classes if any(one in classes for one in names)]
    rest = [name for name in names if name not in known]
    found = dict(zip(rest, styles_of([*used, *rest], {})[len(used) :], strict=True))
    given = {name: _circle(colour) for name, colour in colours.items()}
    return [given.get(name) or known.get(name) or found[name] for name in names]
