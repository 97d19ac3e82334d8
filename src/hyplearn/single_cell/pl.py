"""Plotting: cells in the Poincaré disk, with the colours of scanpy."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hyplearn.estimators.validation import absolute_curvature
from hyplearn.geometry import gap
from hyplearn.plotting import BoundaryDisplay
from hyplearn.plotting.canvas import INK, class_colours, draw_boundary, draw_legend, draw_rim, pyplot
from hyplearn.single_cell.cells import MissingKeyError, cell_points, check_adata, stored_model
from hyplearn.types import Array

UNKNOWN = "lightgray"
# Cells for which a boolean column is true stand out from the others.
YES = "#CC3311"
# Side of a panel in inches, and entries of a legend in one column beside it.
PANEL, ENTRIES = 4.2, 18
# Text of vector graphics stays text, which can be searched and edited.
TEXT_AS_TEXT = {"svg.fonttype": "none", "pdf.fonttype": 42, "ps.fonttype": 42}


class Panel(NamedTuple):
    """What one picture shows: its title, values, the colours of categories, and boundaries."""

    title: str
    values: Any
    colours: dict[Any, Any] | None
    lines: BoundaryDisplay | None


def disk(
    adata: Any,
    color: str | Sequence[str] | None = None,
    *,
    basis: str = "X_poincare",
    boundaries: bool | str = False,
    curvature: float = -1.0,
    palette: Any = None,
    size: float | None = None,
    cmap: str = "viridis",
    legend: bool = True,
    ncols: int = 4,
    ax: Any = None,
    save: str | os.PathLike[str] | None = None,
    show: bool = False,
) -> Any:
    """Draw cells in the Poincaré disk, one panel for each colouring.

    Parameters
    ----------
    adata : AnnData
        The cells, with two coordinates each in ``obsm[basis]``.
    color : str or list of str, optional
        Columns of ``obs``, or genes. Categories have the colours of ``uns[f"{color}_colors"]``, else hyplearn's; cells
        without a category are light grey. Numbers are shown with ``cmap`` and a colour bar.
    basis : str
        Key of the embedding in ``obsm``, with or without its ``"X_"``.
    boundaries : bool or str
        Whether to draw the boundaries of the classification ``color``, or the key of another one.
    curvature : float
        Sectional curvature of the disk.
    palette : dict, list or str, optional
        Colours of categories: by name, in their order, or those of a matplotlib colour map.
    size : float, optional
        Area of a marker in square points; by default it decreases with the number of cells, as in scanpy.
    cmap : str
        Colour map of numbers.
    legend : bool
        Whether to draw legends and colour bars. Panels with the same categories and colours share one legend.
    ncols : int
        Most panels in a row.
    ax : matplotlib axes, optional
        Axes to draw one panel in; by default a new figure is made.
    save : path, optional
        File to write: .png, .svg, .pdf. Text in vector graphics stays text.
    show : bool
        Whether to show the figure.

    Returns
    -------
    matplotlib axes, or list of them for a list of colourings

    Examples
    --------
    >>> import hyplearn.single_cell as hs
    >>> hs.pl.disk(adata, color=["cell_type", "cell_type_predicted"], save="cells.pdf")  # doctest: +SKIP
    """
    X, c = cell_points(check_adata(adata), basis), absolute_curvature(curvature)
    if X.shape[1] != 2:
        raise ValueError(f"The disk shows two coordinates; {basis!r} has {X.shape[1]}.\nPass a basis of two.")
    gap(X, c=c)  # raises for points outside the disk
    names = [color] if color is None or isinstance(color, str) else list(color)
    panels = [_panel(adata, name, boundaries, palette) for name in names]
    if ax is not None and len(panels) != 1:
        raise ValueError(f"ax= takes one panel; color= has {len(panels)}.\nLeave ax out, or draw them one by one.")
    size = float(np.clip(120_000 / len(X), 1, 30)) if size is None else size
    axes = _new_axes(len(panels), ncols) if ax is None else [ax]
    for one, panel in zip(axes, panels, strict=True):
        _draw_panel(one, X, panel, c, (cmap, size, legend))
    if legend:
        _draw_legends(axes, panels, own_figure=ax is None)
    figure = axes[0].figure
    if save is not None:
        with pyplot().rc_context(TEXT_AS_TEXT):
            figure.savefig(save, dpi=300, bbox_inches="tight")
    if show:
        pyplot().show()
    return axes[0] if color is None or isinstance(color, str) else axes


def _panel(adata: Any, color: str | None, boundaries: bool | str, palette: Any) -> Panel:
    values = None if color is None else _values(adata, color)
    categories = values.cat.categories if values is not None and hasattr(values, "cat") else None
    colours = None if categories is None else _palette(adata, color, categories, palette)
    return Panel(color or "", values, colours, _boundaries(adata, color if boundaries is True else boundaries))


def _new_axes(n: int, ncols: int) -> list[Any]:
    """Axes of a new figure, with space for legends."""
    columns = max(1, min(n, ncols))
    rows = -(-n // columns)
    figure = pyplot().figure(figsize=(PANEL * columns + 1.6, PANEL * rows), layout="constrained")
    return [figure.add_subplot(rows, columns, k + 1) for k in range(n)]


def _draw_panel(ax: Any, X: Array, panel: Panel, c: float, style: tuple[str, float, bool]) -> None:
    cmap, size, legend = style
    draw_rim(ax, c)
    if panel.values is None:
        ax.scatter(*X.T, s=size, color=UNKNOWN, linewidths=0, zorder=2)
    elif panel.colours is not None:
        _draw_categories(ax, X, panel.values, panel.colours, size)
    else:
        _draw_numbers(ax, X, np.asarray(panel.values, dtype=np.float64), cmap, size, legend)
    if panel.lines is not None:
        _draw_lines(ax, panel.lines)
    ax.set_title(panel.title)


def _draw_legends(axes: list[Any], panels: list[Panel], own_figure: bool) -> None:
    """Draw one legend for panels with the same categories and colours, else one for each."""
    named = [(ax, panel.colours) for ax, panel in zip(axes, panels, strict=True) if panel.colours is not None]
    if not own_figure:
        for ax, _ in named:
            draw_legend(ax)
        return
    if not _same_categories([colours or {} for _, colours in named]):
        for ax, _ in named:
            entries = ax.get_legend_handles_labels()
            ax.legend(*entries, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, **_LEGEND)
        return
    entries = {text: handle for ax, _ in named for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    categories = {str(label): None for _, colours in named for label in colours or {}}
    order = [text for text in [*categories, "NA"] if text in entries]
    if order:
        handles, columns = [entries[text] for text in order], -(-len(order) // ENTRIES)
        axes[0].figure.legend(handles, order, loc="outside right upper", ncols=columns, **_LEGEND)


def _same_categories(all_colours: list[dict[Any, Any]]) -> bool:
    """Whether the categories of every panel are among those of the panel with the most, in the same colours."""
    most = max(all_colours, key=len, default={})
    return all(label in most and most[label] == colour for own in all_colours for label, colour in own.items())


_LEGEND = {"frameon": False, "fontsize": "small", "markerscale": 2.0, "handletextpad": 0.2, "borderaxespad": 0.0}


def _values(adata: Any, color: str) -> Any:
    """Return a column of obs, strings and booleans as categories, or the expression of a gene."""
    if color not in adata.obs:
        if color in adata.var_names:
            return adata.obs_vector(color)
        raise MissingKeyError(
            f"{color!r} is neither a column of obs nor a gene; obs holds {', '.join(map(repr, adata.obs))}.\n"
            "Pass color= one of these, or one of var_names."
        )
    column = adata.obs[color]
    return column.astype("category") if column.dtype.kind in "OSUb" or hasattr(column, "cat") else column


def _palette(adata: Any, color: str | None, categories: Any, palette: Any) -> dict[Any, Any]:
    """Return the colours of categories: those passed, those in ``uns``, else hyplearn's."""
    if palette is not None:
        return _passed(palette, categories)
    given = adata.uns.get(f"{color}_colors", ())
    if len(given) >= len(categories):
        return dict(zip(categories, map(str, given), strict=False))
    if set(categories) <= {True, False}:
        return {False: UNKNOWN, True: YES}
    return class_colours(np.asarray(categories, dtype=object))


def _passed(palette: Any, categories: Any) -> dict[Any, Any]:
    if isinstance(palette, str):
        import matplotlib

        colours = matplotlib.colormaps[palette]
        steps = np.arange(len(categories)) if colours.N < 50 else np.linspace(0, 1, len(categories))
        return dict(zip(categories, map(colours, steps), strict=True))
    if isinstance(palette, Mapping):
        missing = [label for label in categories if label not in palette]
        if missing:
            raise ValueError(f"palette lacks {len(missing)} categories, first {missing[0]!r}.\nAdd their colours.")
        return {label: palette[label] for label in categories}
    if len(palette) < len(categories):
        raise ValueError(f"palette has {len(palette)} colours for {len(categories)} categories.\nPass one for each.")
    return dict(zip(categories, palette, strict=False))


def _draw_categories(ax: Any, X: Array, values: Any, colours: dict[Any, str], size: float) -> None:
    unknown = values.isna().to_numpy()
    if unknown.any():
        ax.scatter(*X[unknown].T, s=size, color=UNKNOWN, linewidths=0, label="NA", zorder=1.9)
    for label in values.cat.categories:
        own = (values == label).to_numpy()
        if own.any():
            ax.scatter(*X[own].T, s=size, color=colours[label], linewidths=0, label=label, zorder=2)


def _draw_numbers(ax: Any, X: Array, values: Array, cmap: str, size: float, legend: bool) -> None:
    unknown = np.isnan(values)
    ax.scatter(*X[unknown].T, s=size, color=UNKNOWN, linewidths=0, zorder=1.9)
    # The largest values on top, as in scanpy: few cells express a gene.
    order = np.flatnonzero(~unknown)[np.argsort(values[~unknown], kind="stable")]
    drawn = ax.scatter(*X[order].T, c=values[order], s=size, cmap=cmap, linewidths=0, zorder=2)
    if legend:
        ax.figure.colorbar(drawn, ax=ax, fraction=0.046, pad=0.02)


def _boundaries(adata: Any, key: str | bool | None) -> BoundaryDisplay | None:
    if key is False:
        return None
    if not isinstance(key, str):
        raise ValueError(f"boundaries=True needs color=, the key of a classification; got color={key!r}.\nName it.")
    return BoundaryDisplay.from_estimator(stored_model(adata, key))


def _draw_lines(ax: Any, display: BoundaryDisplay) -> None:
    """Draw arcs if the model has them, else the edges of the regions."""
    from matplotlib.patches import Circle

    for arc in display.boundaries:
        draw_boundary(ax, arc, None, linewidth=0.9)
    if display.boundaries:
        return
    rim = Circle((0, 0), 1 / np.sqrt(absolute_curvature(display.curvature)), transform=ax.transData)
    inside = display.regions >= 0
    for k in range(len(display.classes)):
        # Outside the disk nothing is predicted, and no line belongs there.
        own = np.ma.array(display.regions == k, mask=~inside)
        if own.any() and not own[inside].all():
            style = {"levels": [0.5], "colors": INK, "linewidths": 0.9, "zorder": 2.2}
            ax.contour(display.grid, display.grid, own, **style).set_clip_path(rim)
