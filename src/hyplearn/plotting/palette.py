"""Marker colours and shapes for classes, on light and dark backgrounds. This module does not import matplotlib.

There are ten colours for each background. Readers with normal vision and readers with any type of dichromacy can
distinguish them: for each of these readers, the CIEDE2000 difference of any two colours is at least 13. Each colour has
a contrast of at least 3 : 1 against its background. If there are more than ten classes, the colours are repeated with
another shape. The colours were computed with ``experiments/colour_vision.py``, which defines and measures these
properties.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

# Class colours on light and dark backgrounds: blue, orange, teal, wine, sky, sage, brown, mauve, plum, olive.
LIGHT = (
    "#2A3FB8", "#E8660C", "#057A71", "#B9255D", "#1097FE", "#7A9D69", "#521700", "#BE80A5", "#401D48", "#675601",
)  # fmt: skip
DARK = (
    "#6B86FF", "#F48A21", "#0ABF9D", "#BA3B73", "#C1D2FE", "#A1FF91", "#AB7665", "#FFD1DB", "#9483A2", "#776D08",
)  # fmt: skip
# Background colours against which contrast is measured: white paper, and the disk on a dark page.
LIGHT_GROUND, DARK_GROUND = "#FFFFFF", "#191C22"
# Grey for the class called "other" and for points without a class, on both backgrounds.
GREY = "#8A8A8A"
# Marker shapes, the most distinct first. The first ten classes have the first shape, the next ten the second, and so
# on.
SHAPES = ("circle", "triangle", "square", "cross", "diamond", "plus", "star", "triangle-down")
# Perceptually uniform colour maps for continuous values, from low to high. High values have the strongest contrast
# with the background.
LIGHT_RAMP = (
    "#40A47E", "#249E84", "#009789", "#00908D", "#008990", "#008292", "#007B94", "#007395", "#006B97",
    "#006197", "#135796", "#244D94", "#30438F", "#373787", "#392A7A", "#381A6A", "#360657",
)  # fmt: skip
DARK_RAMP = (
    "#7B5AAE", "#6F67BB", "#6173C4", "#517FC8", "#3E8AC9", "#2895C7", "#13A1C7", "#00ADC6", "#0EB9C2",
    "#2BC3BC", "#48CDB5", "#60D7AC", "#7BE09F", "#99E790", "#B8EC81", "#D4EF72", "#EFF166",
)  # fmt: skip


class ClassStyle(NamedTuple):
    """Colour and marker shape of a class."""

    colour: str  # colour as "#RRGGBB"
    shape: str  # marker shape, one of SHAPES


def class_styles(n: int, *, dark: bool = False) -> list[ClassStyle]:
    """Return the colours and marker shapes of n classes.

    Up to 80 classes have different styles; if there are more classes, styles are repeated.

    Parameters
    ----------
    n : int
        Number of classes.
    dark : bool
        Whether the background is dark.

    Examples
    --------
    >>> from hyplearn.plotting.palette import class_styles
    >>> class_styles(11)[0], class_styles(11)[10]
    (ClassStyle(colour='#2A3FB8', shape='circle'), ClassStyle(colour='#2A3FB8', shape='triangle'))
    """
    colours = DARK if dark else LIGHT
    rounds = [divmod(i, len(colours)) for i in range(n)]
    return [ClassStyle(colours[k], SHAPES[turn % len(SHAPES)]) for turn, k in rounds]


def label_styles(labels: Iterable[Any], *, dark: bool = False) -> dict[Any, ClassStyle]:
    """Return a dict from labels to styles, in the order of ``labels``; "other" is moved to the end and is grey."""
    labels = list(labels)
    named = [label for label in labels if str(label) != "other"]
    styles = dict(zip(named, class_styles(len(named), dark=dark), strict=True))
    return styles | {label: ClassStyle(GREY, SHAPES[0]) for label in labels if str(label) == "other"}


def ramp(*, dark: bool = False) -> tuple[str, ...]:
    """Return equally spaced colours of a continuous colour map, from low to high values, for linear interpolation."""
    return DARK_RAMP if dark else LIGHT_RAMP
