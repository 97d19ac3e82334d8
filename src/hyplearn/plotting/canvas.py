"""What every display needs of matplotlib: axes, imported late; colours of classes; the rim of the disk; a legend."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from hyplearn.types import Array

# Paul Tol's "muted" scheme, made to be told apart by the colour-blind, and five more, in an order in which few classes
# differ most: dark blue and orange, then teal. Grey is left for "other".
COLOURS = (
    "#332288", "#EE7733", "#44AA99", "#882255", "#DDCC77", "#4477AA", "#117733",
    "#CC6677", "#88CCEE", "#661100", "#AA4499", "#999933", "#222222", "#F4A6C0",
)  # fmt: skip
OTHER = "#9A9A9A"
# Shapes of markers, one for each round of colours.
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
# Ink and colours are made for a light ground, which pictures and legends have in figures of any style.
INK, GROUND = "0.1", "white"
# More rings than this would run into one another.
MOST_RINGS = 200


@dataclass(repr=False)
class Display:
    """A picture, computed first and drawn second; ``plot`` keeps its axes in ``ax_``, their figure in ``figure_``."""

    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    def __repr__(self) -> str:
        """What there is to draw, arrays by their shapes."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.repr}
        told = [f"{name}={_short(value)}" for name, value in values.items() if value is not None]
        return f"{type(self).__name__}({', '.join(told)})"

    def _take(self, ax: Any) -> Any:
        """The axes to draw on: those given, or matplotlib's current ones."""
        self.ax_ = current_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<array of shape {value.shape}>"
    if isinstance(value, (list, tuple)):
        return f"<{len(value)} items>"
    return repr(value) if isinstance(value, (str, int, float, bool, Display)) else f"<{type(value).__name__}>"


def pyplot() -> Any:
    """Return matplotlib's pyplot, or an error that tells how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Drawing needs matplotlib: pip install 'hyplearn[plots]'.") from error
    return plt


def current_axes() -> Any:
    """The current axes of matplotlib; new ones, where a figure has none, with room for a legend beside them."""
    figure = pyplot().gcf()
    if not figure.axes and figure.get_layout_engine() is None:
        figure.set_layout_engine("compressed")
    return figure.gca()


def class_colours(classes: Array) -> dict[Any, str]:
    """One colour per class in their order; a class called "other" is grey, and colours repeat beyond fourteen."""
    named = [label for label in classes if str(label) != "other"]
    return {label: COLOURS[i % len(COLOURS)] for i, label in enumerate(named)} | {
        label: OTHER for label in classes if str(label) == "other"
    }


def class_markers(classes: Array) -> dict[Any, str]:
    """One shape per class, by which those of one colour differ."""
    named = [label for label in classes if str(label) != "other"]
    rounds = {label: i // len(COLOURS) % len(MARKERS) for i, label in enumerate(named)}
    return {label: MARKERS[rounds.get(label, 0)] for label in classes}


def draw_rim(ax: Any, c: float) -> None:
    """The empty disk: its ground, its rim of radius 1/√c, no axes."""
    from matplotlib.patches import Circle

    radius = 1 / np.sqrt(c)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_xlim(-1.03 * radius, 1.03 * radius)
    ax.set_ylim(-1.03 * radius, 1.03 * radius)
    ax.add_patch(Circle((0, 0), radius, facecolor=GROUND, edgecolor="none", zorder=-1))
    angle = np.linspace(0, 2 * np.pi, 721)
    ax.plot(radius * np.cos(angle), radius * np.sin(angle), color="0.25", linewidth=1, solid_capstyle="butt", zorder=3)


def draw_boundary(ax: Any, curve: Array, label: str | None = "decision boundary", **style: Any) -> None:
    """A boundary, which ends where its last point is."""
    ax.plot(*curve.T, **{"color": INK, "linewidth": 1.6, "zorder": 2.2, "solid_capstyle": "butt"} | style, label=label)


def draw_margins(ax: Any, curves: list[Array], label: str) -> None:
    """The margins on both sides, named once."""
    for i, curve in enumerate(curves):
        style = {"color": INK, "linewidth": 0.9, "linestyle": (0, (4, 2.5)), "zorder": 2.2}
        ax.plot(*curve.T, **style, label=None if i else label)


def draw_reference(ax: Any, p: Array, label: str = "reference point p", colour: str = INK) -> None:
    """A star with a light edge, to be seen on any ground."""
    ax.scatter(*p, marker="*", s=130, color=colour, edgecolors="white", linewidths=0.8, label=label, zorder=2.6)


def draw_support(ax: Any, X: Array, size: float) -> None:
    """Rings around the support vectors, wider than markers of the given size; dots where there are many."""
    if len(X) > MOST_RINGS:
        ax.scatter(*X.T, s=2, color=INK, linewidths=0, label="support vectors", zorder=2.4)
        return
    style = {"facecolors": "none", "edgecolors": INK, "linewidths": 0.8, "zorder": 2.4}
    ax.scatter(*X.T, s=3 * size + 20, **style, label="support vectors")


def draw_legend(ax: Any) -> None:
    """Name all that has a label, to the right of the picture, in as many columns as its height asks for."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    # The free room goes to the legend, not to both sides.
    ax.set_anchor("W")
    style = {"facecolor": GROUND, "labelcolor": INK, "edgecolor": "none", "framealpha": 1, "fontsize": "small"}
    columns = -(-len(handles) // _lines_beside(ax))
    legend = ax.legend(handles, labels, loc="center left", bbox_to_anchor=(1, 0.5), ncols=columns, **style)
    for text in legend.get_texts():
        text.set_parse_math(False)  # names of classes are no formulas
    # Markers that are small in the picture are larger here.
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes(np.clip(handle.get_sizes(), 30, 90))


def _lines_beside(ax: Any) -> int:
    """Lines of a legend that find room in the height of the axes."""
    from matplotlib.font_manager import FontProperties

    height = ax.get_window_extent().height * 72 / ax.figure.dpi
    line = FontProperties(size="small").get_size_in_points() * (1 + pyplot().rcParams["legend.labelspacing"])
    return max(1, int(height / line))
