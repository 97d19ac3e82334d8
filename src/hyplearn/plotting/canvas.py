"""Functions that all displays share: axes, class colours, points, the rim of the disk, and legends."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any, Self

import numpy as np

from hyplearn.data.labels import as_objects, distinct, object_codes
from hyplearn.plotting.palette import SHAPES, label_styles
from hyplearn.plotting.style import DPI, SMALL, TEXT_AS_TEXT
from hyplearn.types import Array

# Matplotlib markers for the shapes of the palette.
MARKERS = {
    "circle": "o", "triangle": "^", "square": "s", "cross": "X", "diamond": "D", "plus": "P", "star": "*",
    "triangle-down": "v",
}  # fmt: skip
# Proportion of the class colour in the tint of a class's region, for each of the first four marker shapes; for further
# shapes, the values are repeated. Classes with the same colour have different shapes, so up to 40 classes (ten colours
# and four shapes) have different tints.
TINTS = (0.24, 0.42, 0.14, 0.33)
# Maximum number of characters of a name in a legend. The middle of longer names is left out.
MOST_LETTERS = 40
# Space between the disk and the legend to its right, in inches.
SPACE = 0.1
# Colours of lines and of the background. They do not depend on the matplotlib style, because class colours are chosen
# for a light background.
INK, GROUND = "0.1", "white"
# Maximum number of support vectors that are drawn as rings. If there are more, dots are drawn, because rings would
# overlap.
MOST_RINGS = 200
# Maximum number of points that are drawn as markers. If there are more, a density image is drawn, because markers would
# cover each other and make vector graphics large.
MOST_MARKERS = 20_000
# Number of pixels along one side of the density image.
PIXELS = 200
# Opacity of a pixel of the density image that contains a single point. It is high enough that outliers are visible.
FAINTEST = 0.3


@dataclass(repr=False)
class Display:
    """Base class of displays, which are computed first and drawn later."""

    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    def __repr__(self) -> str:
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.repr}
        shown = [f"{name}={_short(value)}" for name, value in values.items() if value is not None]
        return f"{type(self).__name__}({', '.join(shown)})"

    def plot(self, ax: Any = None, *, size: float = 10.0, legend: bool = True) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; by default the axes of a new figure.
        size : float
            Area of a marker, in square points.
        legend : bool
            Whether to draw a legend to the right of the axes.

        Returns
        -------
        Display
            This display, with the axes in ``ax_`` and their figure in ``figure_``.
        """
        return self._plot(ax, size, legend)

    def _plot(self, ax: Any, size: float, legend: bool, **options: Any) -> Self:
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_, size, **options)
        if legend:
            draw_legend(self.ax_, own_figure=ax is None)
        return self

    def save(self, path: str | PathLike[str], *, dpi: float = DPI) -> None:
        """Write the figure to a .png, .svg or .pdf file. Call :meth:`plot` first.

        In vector graphics, text is stored as text instead of outlines, so that it can be searched and edited. PDF files
        contain the text in Type 42 fonts.
        """
        if self.figure_ is None:
            raise ValueError(f"This {type(self).__name__} has not been drawn.\nCall plot() before save().")
        with pyplot().rc_context(TEXT_AS_TEXT):
            self.figure_.savefig(path, dpi=dpi, bbox_inches="tight")

    def _draw(self, *args: Any, **options: Any) -> None:
        """Draw everything except the legend on the given axes, with markers of the given size."""
        raise NotImplementedError


def _short(value: Any) -> str:
    """Return a short representation of a value; arrays are represented by their shapes, and lists by their lengths."""
    if isinstance(value, np.ndarray):
        return f"<array of shape {value.shape}>"
    if isinstance(value, (list, tuple)):
        return f"<{len(value)} items>"
    return repr(value) if isinstance(value, (str, int, float, bool, Display)) else f"<{type(value).__name__}>"


def pyplot() -> Any:
    """Import ``matplotlib.pyplot``; if it is not installed, raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Drawing needs matplotlib: pip install 'hyplearn[plots]'.") from error
    return plt


def new_axes() -> Any:
    """Create a figure with space for a legend to the right of the axes, and return the axes."""
    return pyplot().figure(layout="compressed").add_subplot()


def class_colours(classes: Iterable[Any]) -> dict[Any, str]:
    """Return a colour for each class; a class called "other" is grey, and colours repeat after ten classes."""
    return {label: style.colour for label, style in label_styles(classes).items()}


def class_markers(classes: Iterable[Any]) -> dict[Any, str]:
    """Return a marker for each class; up to 80 classes have different combinations of colour and marker."""
    return {label: MARKERS[style.shape] for label, style in label_styles(classes).items()}


def class_tints(classes: Iterable[Any]) -> dict[Any, Array]:
    """Return a pale RGB colour for the region of each class; up to 40 classes have different colours."""
    from matplotlib.colors import to_rgb

    styles = label_styles(classes).items()
    shares = {label: TINTS[SHAPES.index(style.shape) % len(TINTS)] for label, style in styles}
    return {label: 1 - shares[label] + shares[label] * np.array(to_rgb(style.colour)) for label, style in styles}


def draw_rim(ax: Any, c: float) -> None:
    """Draw the background and the rim of the disk of radius 1/√c, and hide the axes."""
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
    """Draw a decision boundary."""
    ax.plot(*curve.T, **{"color": INK, "linewidth": 1.6, "zorder": 2.2, "solid_capstyle": "butt"} | style, label=label)


def draw_margins(ax: Any, curves: list[Array], label: str) -> None:
    """Draw the margins on both sides of a boundary, with one entry in the legend."""
    for i, curve in enumerate(curves):
        style = {"color": INK, "linewidth": 0.9, "linestyle": (0, (4, 2.5)), "zorder": 2.2}
        ax.plot(*curve.T, **style, label=None if i else label)


def draw_reference(ax: Any, p: Array, label: str = "reference point p", colour: str = INK) -> None:
    """Draw the reference point as a star with a white edge, so that it is visible on any background."""
    ax.scatter(*p, marker="*", s=130, color=colour, edgecolors="white", linewidths=0.8, label=label, zorder=2.6)


def draw_support(ax: Any, X: Array, size: float) -> None:
    """Draw support vectors as rings around markers of the given size, or as dots if there are many."""
    if len(X) > MOST_RINGS:
        ax.scatter(*X.T, s=2, color=INK, linewidths=0, label="support vectors", zorder=2.4)
        return
    style = {"facecolors": "none", "edgecolors": INK, "linewidths": 0.8, "zorder": 2.4}
    ax.scatter(*X.T, s=3 * size + 20, **style, label="support vectors")


def draw_wrong(ax: Any, X: Array, n: int, size: float) -> None:
    """Draw crosses on the misclassified points X; the legend gives their number and the total number n."""
    style = {"marker": "x", "s": 1.6 * size, "color": INK, "linewidths": 0.7, "zorder": 2.4}
    ax.scatter(*X.T, **style, label=f"misclassified: {len(X):,} of {n:,}")


def draw_legend(ax: Any, *, own_figure: bool = False) -> None:
    """Draw a legend to the right of the plot, with enough columns to fit into the height of the plot.

    If the figure was created for this plot (``own_figure``), it is made wide enough for the plot and the legend.
    Otherwise, the axes are made narrower, unless the figure has a layout engine, which reserves the space.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    # Move the plot to the left, so that all free space is available for the legend.
    ax.set_anchor("W")
    columns = -(-len(handles) // _lines_beside(ax))
    style = {"facecolor": GROUND, "edgecolor": "none", "framealpha": 1, "borderaxespad": 0.3, "columnspacing": 1.0}
    place = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "ncols": columns}
    legend = ax.legend(handles, [shorten(str(text)) for text in labels], **place, **style, **_text_style())
    finish_legend(legend)
    figure = ax.figure
    width = legend.get_window_extent().width / figure.dpi + SPACE
    if own_figure:
        side = min(figure.get_size_inches())
        figure.set_size_inches(side + width, figure.get_size_inches()[1])
    elif figure.get_layout_engine() is None:
        place = ax.get_position(original=True)
        narrower = place.width - width / figure.get_size_inches()[0]
        ax.set_position([place.x0, place.y0, max(narrower, place.width / 4), place.height])


def draw_legend_below(figure: Any, axes: Iterable[Any], ncols: int) -> Any:
    """Draw one legend for several axes, below all of them; the figure must have ``layout="constrained"``."""
    entries = {text: handle for ax in axes for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    names = [shorten(name) for name in entries]
    return finish_legend(
        figure.legend(entries.values(), names, loc="outside lower center", ncols=ncols, **_below_style())
    )


def draw_legend_under(ax: Any, ncols: int = 1) -> Any:
    """Draw the legend below a plot, without shortening names."""
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": ncols}
    return finish_legend(ax.legend(**place, **_below_style()))


def _below_style() -> dict[str, Any]:
    return {"frameon": False, "columnspacing": 1.2, "handletextpad": 0.4, **_text_style()}


def finish_legend(legend: Any) -> Any:
    """Show the names in a legend literally, not as formulas, and limit the areas of its markers.

    The area of each marker is set to at least 30 and at most 90 square points.
    """
    for text in legend.get_texts():
        text.set_parse_math(False)  # without this, a $ in a class name would start a formula
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes(np.clip(handle.get_sizes(), 30, 90))
    return legend


def shorten(name: str, most: int = MOST_LETTERS) -> str:
    """Shorten a long name by leaving out its middle; return other names unchanged."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail].rstrip()}…{name[-tail:].lstrip()}"


def _text_style() -> dict[str, Any]:
    """Return the text colour and the font size of legends.

    The font size is that of matplotlib's legends, but at least 8 and at most 9 points.
    """
    from matplotlib.font_manager import FontProperties

    own = FontProperties(size=pyplot().rcParams["legend.fontsize"]).get_size_in_points()
    return {"labelcolor": INK, "fontsize": max(SMALL, min(own, 9.0))}


def _lines_beside(ax: Any) -> int:
    """Return the number of legend lines that fit into the height of the axes."""
    height = ax.get_window_extent().height * 72 / ax.figure.dpi
    return max(1, int(height / (_text_style()["fontsize"] * (1 + pyplot().rcParams["legend.labelspacing"]))))


@dataclass(frozen=True)
class Cloud:
    """Points of several classes, which are drawn as markers, or as a density image if there are many points."""

    X: Array  # coordinates of the points in the plot, of shape (n, 2)
    y: Array | None  # classes of the points
    classes: Array  # all classes, in the order of their colours; some may have no points in X
    centre: Array  # centre of the plot
    reach: float  # half the side length of the plot
    counts: Array | None = None  # number of points per class and pixel, bottom row first; None if markers are drawn

    @classmethod
    def of(
        cls, X: Array, y: Array | None, classes: Array | None, centre: Array, reach: float, most_markers: int
    ) -> Self:
        """Create a cloud; if there are more than ``most_markers`` points, count the points in each pixel."""
        classes = all_classes(y, classes)
        if len(X) <= most_markers:
            return cls(X, y, classes, centre, reach)
        codes = np.zeros(len(X), dtype=int) if y is None else positions(y, classes)
        column, row = np.clip((((X - centre) / reach + 1) * PIXELS / 2).astype(int), 0, PIXELS - 1).T
        shape = (max(1, len(classes)), PIXELS, PIXELS)
        places = np.ravel_multi_index((codes, row, column), shape)
        return cls(X, y, classes, centre, reach, np.bincount(places, minlength=np.prod(shape)).reshape(shape))

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, lower and upper limits of the plot."""
        (x, y), reach = self.centre, self.reach
        return x - reach, x + reach, y - reach, y + reach

    def image(self) -> Array:
        """Return an RGBA image; each pixel mixes the colours of its classes, and its opacity grows with log(count)."""
        from matplotlib.colors import to_rgb

        assert self.counts is not None
        colours = class_colours(self.classes)
        palette = np.array([to_rgb(colours[label]) for label in self.classes] or [to_rgb(INK)])
        total = self.counts.sum(axis=0)
        mixed = np.tensordot(self.counts, palette, axes=(0, 0)) / np.maximum(total, 1)[..., None]
        depth = np.log(np.maximum(total, 1)) / np.log(max(total.max(), 2))
        return np.dstack([mixed, np.where(total > 0, FAINTEST + (1 - FAINTEST) * depth, 0)])

    def draw(self, ax: Any, size: float) -> None:
        """Draw the points, as markers or as a density image; points without classes have the colour INK."""
        if self.counts is not None:
            ax.imshow(self.image(), extent=self.extent, origin="lower", interpolation="nearest", zorder=2)
        shown = self.X if self.counts is None else np.empty((0, 2))
        if self.y is None:
            ax.scatter(*shown.T, s=size, color=INK, linewidths=0, zorder=2)
            return
        style, shapes = {"s": size, "edgecolors": "white", "linewidths": 0.2, "zorder": 2}, class_markers(self.classes)
        codes, order = positions(self.y, self.classes), self.classes.tolist()
        for label, colour in class_colours(self.classes).items():
            points = shown[codes == order.index(label)] if self.counts is None else shown
            ax.scatter(*points.T, color=colour, marker=shapes[label], label=label, **style)


def all_classes(y: Array | None, classes: Array | None) -> Array:
    """Return the given classes, followed by all other classes of y; without y, return an empty array."""
    present = np.array([]) if y is None else distinct(y)[0]
    if y is None or classes is None:
        return present
    known = np.asarray(classes).tolist()
    return as_objects(known + [label for label in present.tolist() if label not in known])


def positions(y: Array, classes: Array) -> Array:
    """Return the index in ``classes`` of the class of each point."""
    present, codes = distinct(y)
    return object_codes(present, classes)[codes]
