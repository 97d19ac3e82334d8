"""Plots of cells in the Poincaré disk, with the colours that scanpy uses."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hyplearn.estimators.validation import absolute_curvature
from hyplearn.explorer import Explorer
from hyplearn.explorer import explore as hyplearn_explore
from hyplearn.explorer.columns import UNKNOWN as UNLIKE_ALL
from hyplearn.geometry import gap
from hyplearn.plotting import BoundaryDisplay
from hyplearn.plotting.canvas import (
    INK,
    MARKERS,
    MOST_MARKERS,
    draw_boundary,
    draw_legend,
    draw_rim,
    pyplot,
)
from hyplearn.plotting.palette import ClassStyle, class_styles, label_styles
from hyplearn.plotting.style import TEXT_AS_TEXT
from hyplearn.single_cell.atlas import check_same_map
from hyplearn.single_cell.cells import MissingKeyError, cell_points, check_adata, contents, stored_model
from hyplearn.types import Array

# Colour of cells without a category or value, and of the cells for which a boolean column is False.
UNKNOWN = "lightgray"
# Colour of the cells for which a boolean column is True, and of the crosses that mark unknown cells.
YES = "#CC3311"
# Sizes in inches: side length of a panel, height of its title, and minimum space between panels.
PANEL, TITLE, SPACE = 3.3, 0.4, 0.15
# Maximum number of legend entries in one column. If a colour bar covers at most this many integers, each of them has a
# tick.
ENTRIES = 20
_LEGEND = {"frameon": False, "fontsize": "small", "handletextpad": 0.2, "borderaxespad": 0.0, "alignment": "left"}
# Suffixes of the columns that tl.classify writes to obs. In plots of these columns, the cells whose prediction set is
# empty are marked as unknown.
OF_SETS = ("", "_set", "_answer", "_probability")


class Panel(NamedTuple):
    """Content of one panel: title, values, category styles, boundaries, and a mask of unknown cells.

    A cell is unknown if its prediction set is empty.
    """

    title: str
    values: Any
    styles: dict[Any, ClassStyle] | None
    lines: BoundaryDisplay | None
    unknown: Array | None


def disk(
    adata: Any,
    color: str | Sequence[str] | None = None,
    *,
    basis: str = "X_poincare",
    boundaries: bool | str = False,
    unknown: bool = True,
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
    """Draw cells in the Poincaré disk, with one panel for each colouring.

    Parameters
    ----------
    adata : AnnData
        Cells, with two-dimensional points in ``obsm[basis]``.
    color : str or list of str, optional
        Columns of ``obs``, or genes. Categories have the colours in ``uns[f"{color}_colors"]`` if it exists, and
        otherwise the colours of hyplearn, which are repeated with other marker shapes after ten categories. Cells
        without a category are light grey. Numbers are shown with ``cmap`` and a colour bar. For prediction sets,
        ``f"{key}_set"``, the number of types in each set is shown.
    basis : str
        Key of the embedding in ``obsm``, with or without the prefix ``"X_"``.
    boundaries : bool or str
        If True, draw the boundaries of the classification whose key is ``color``. A string is the key of the
        classification whose boundaries are drawn in every panel.
    unknown : bool
        Whether to mark cells with empty prediction sets, in panels of a classification with prediction sets.
    curvature : float
        Sectional curvature of the disk.
    palette : dict, list or str, optional
        Colours of categories: a dict from names to colours, a list of colours in the order of the categories, or the
        name of a matplotlib colour map.
    size : float, optional
        Area of a marker in square points; by default it decreases with the number of cells, as in scanpy.
    cmap : str
        Colour map for numbers.
    legend : bool
        Whether to draw legends and colour bars. Panels with the same categories and colours share one legend, to the
        right of the last of these panels.
    ncols : int
        Maximum number of panels in a row.
    ax : matplotlib axes, optional
        Axes in which a single panel is drawn; by default a new figure is created.
    save : path, optional
        File to write (.png, .svg or .pdf). In vector graphics, text is stored as text.
    show : bool
        Whether to show the figure.

    Returns
    -------
    matplotlib axes, or a list of axes if ``color`` is a list

    Examples
    --------
    >>> import hyplearn.single_cell as hs
    >>> hs.pl.disk(adata, color=["cell_type", "cell_type_predicted"], save="cells.pdf")  # doctest: +SKIP
    """
    X, c = cell_points(check_adata(adata), basis), absolute_curvature(curvature)
    if X.shape[1] != 2:
        raise ValueError(
            f"The disk needs points with two coordinates; the points in {basis!r} have {X.shape[1]}.\n"
            "Pass a two-dimensional basis."
        )
    gap(X, c=c)  # raises ValueError if a point lies outside the disk
    names = [color] if color is None or isinstance(color, str) else list(color)
    panels = [_panel(adata, name, boundaries, unknown, palette) for name in names]
    if ax is not None and len(panels) != 1:
        raise ValueError(
            f"Only one panel can be drawn in ax; got {len(panels)} colourings.\nOmit ax, or draw the panels one by one."
        )
    size = float(np.clip(120_000 / len(X), 1, 30)) if size is None else size
    axes = _new_axes(len(panels)) if ax is None else [ax]
    for one, panel in zip(axes, panels, strict=True):
        _draw_panel(one, X, panel, c, (cmap, size, legend))
    if legend and ax is not None:
        draw_legend(ax)
    elif legend:
        _draw_legends(axes, panels)
    if ax is None:
        _arrange(axes, ncols)
    figure = axes[0].figure
    if save is not None and not isinstance(save, (str, os.PathLike)):
        raise TypeError(f"save must be the path of a file; got {save!r}.\nPass a path, such as save='cells.pdf'.")
    if save is not None:
        with pyplot().rc_context(TEXT_AS_TEXT):
            figure.savefig(save, dpi=300, bbox_inches="tight")
    if show:
        pyplot().show()
    return axes[0] if color is None or isinstance(color, str) else axes


def explore(
    adata: Any,
    key: str,
    *,
    columns: Sequence[str] = (),
    basis: str = "X_poincare",
    path: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Explorer:
    """Create an interactive page of classified cells; see :func:`hyplearn.explore`.

    Parameters
    ----------
    adata : AnnData
        Cells that were classified with :func:`hyplearn.single_cell.tl.classify` or ``transfer``.
    key : str
        Name of the column of predictions: the ``key_added`` of ``classify`` or ``transfer``. If every cell has a label,
        the page shows the labels, and states whether the cells were used for training. If the cells were classified
        with ``coverage``, they can also be coloured by their prediction sets, by the sizes of these sets, and by
        whether the sets are empty; with ``hierarchy``, also by ``obs[f"{key}_answer"]``.
    columns : list of str
        Further columns of ``obs``, or genes, by which the cells can be coloured. The colours of categories are read
        from ``uns[f"{column}_colors"]``, if it exists.
    basis : str
        Key of the embedding in ``obsm``, with or without the prefix ``"X_"``.
    path : path, optional
        File to save the page to.
    **options
        Further arguments of :func:`hyplearn.explore`, such as ``title`` and ``palette``.

    Returns
    -------
    Explorer
    """
    adata = check_adata(adata)
    model, about = stored_model(adata, key), adata.uns[key]
    check_same_map(adata, key)
    label_key = about["params"]["label_key"]
    labels = adata.obs.get(label_key)
    y = None if labels is None or labels.isna().any() else labels.to_numpy()
    of = None if y is None or "transferred" not in about else "held-out" if about["transferred"] else "training"
    chosen = {column: _values(adata, column) for column in columns}
    colours = _stored_colours(adata, label_key) or _stored_colours(adata, key)
    defaults = {
        "names": list(adata.obs_names),
        "columns": _set_columns(adata, key) | chosen,
        "palette": colours | {column: _stored_colours(adata, column) for column in columns},
        "of": of,
    }
    return hyplearn_explore(model, cell_points(adata, basis), y, path=path, **defaults | options)


def _set_columns(adata: Any, key: str) -> dict[str, Any]:
    """Return columns that describe the prediction sets of a classification, or an empty dict if there are no sets."""
    if f"{key}_sets" not in adata.obsm:
        return {}
    names = [name for name in ("set", "answer") if f"{key}_{name}" in adata.obs]
    return {
        **{name: adata.obs[f"{key}_{name}"].astype(object).fillna(UNLIKE_ALL).to_numpy() for name in names},
        "set size": np.asarray(adata.obsm[f"{key}_sets"]).sum(axis=1),
        "unknown": adata.obs[f"{key}_unknown"].to_numpy(),
    }


def _stored_colours(adata: Any, column: str) -> dict[str, str]:
    """Return the colours of the categories of a column, as a dict; the dict is empty if ``uns`` has too few colours."""
    values, given = adata.obs.get(column), adata.uns.get(f"{column}_colors", ())
    categories = getattr(getattr(values, "cat", None), "categories", ())
    return dict(zip(map(str, categories), map(str, given), strict=False)) if len(given) >= len(categories) else {}


def _panel(adata: Any, color: str | None, boundaries: bool | str, unknown: bool, palette: Any) -> Panel:
    values = None if color is None else _values(adata, color)
    categories = values.cat.categories if values is not None and hasattr(values, "cat") else None
    styles = None if categories is None else _styles(adata, color, categories, palette)
    lines = _boundaries(adata, boundaries, color)
    return Panel(color or "", values, styles, lines, _unknown(adata, color) if unknown else None)


def _classification(adata: Any, color: str | None) -> str | None:
    """Return the key of the classification of the column ``color``, or None if it has no prediction sets."""
    keys = [color.removesuffix(ending) for ending in OF_SETS if color is not None and color.endswith(ending)]
    return next((key for key in keys if f"{key}_sets" in adata.obsm), None)


def _unknown(adata: Any, color: str | None) -> Array | None:
    """Return a mask of the unknown cells, or None if the classification of the column has no prediction sets."""
    key = _classification(adata, color)
    return None if key is None else np.asarray(adata.obs[f"{key}_unknown"], dtype=bool)


def _new_axes(n: int) -> list[Any]:
    """Create a figure, and return its n axes; :func:`_arrange` places the axes after the legends are drawn."""
    figure = pyplot().figure(figsize=(PANEL, PANEL))
    return [figure.add_subplot(label=str(k)) for k in range(n)]


def _arrange(axes: list[Any], ncols: int) -> None:
    """Arrange the panels in a grid of squares, with space for titles, legends and colour bars."""
    figure, dpi = axes[0].figure, axes[0].figure.dpi
    for ax in axes:
        ax.set_position([0, 0, 1, 1])
    figure.draw_without_rendering()
    # Space that legends and labels take on the left, on the right and below each panel. It is measured in pixels, and
    # then converted to inches.
    overhang = np.zeros((len(axes), 3))
    for k, ax in enumerate(axes):
        own, all_of_it = ax.get_window_extent(), ax.get_tightbbox()
        overhang[k] = own.x0 - all_of_it.x0, all_of_it.x1 - own.x1, own.y0 - all_of_it.y0
    overhang = np.maximum(overhang, 0) / dpi + SPACE
    columns = max(1, min(len(axes), ncols))
    rows = -(-len(axes) // columns)
    column, row = np.arange(len(axes)) % columns, np.arange(len(axes)) // columns
    left, right = (np.array([overhang[column == k, side].max() for k in range(columns)]) for side in (0, 1))
    below = np.array([overhang[row == k, 2].max() for k in range(rows)])
    x = np.cumsum(left + PANEL + right) - PANEL - right
    y = np.cumsum(TITLE + PANEL + below) - below
    width, height = x[-1] + PANEL + right[-1], y[-1] + below[-1]
    figure.set_size_inches(width, height)
    for k, ax in enumerate(axes):
        ax.set_position([x[column[k]] / width, 1 - y[row[k]] / height, PANEL / width, PANEL / height])


def _draw_panel(ax: Any, X: Array, panel: Panel, c: float, style: tuple[str, float, bool]) -> None:
    cmap, size, legend = style
    draw_rim(ax, c)
    known = np.ones(len(X), dtype=bool) if panel.unknown is None else ~panel.unknown
    # If there are many markers, they are rasterised: a hundred thousand vector markers would take many megabytes.
    markers = {"s": size, "linewidths": 0, "rasterized": len(X) > MOST_MARKERS}
    if panel.values is None:
        ax.scatter(*X.T, **markers, color=UNKNOWN, zorder=2)
    elif panel.styles is not None:
        _draw_categories(ax, X, panel.values, panel.styles, known, markers)
    else:
        drawn = _draw_numbers(ax, X, np.asarray(panel.values, dtype=np.float64), cmap, known, markers)
        if legend:
            bar = ax.figure.colorbar(drawn, cax=ax.inset_axes([1.03, 0.12, 0.04, 0.76]))
            shown = np.asarray(panel.values)[known]
            if shown.dtype.kind in "iu" and len(shown) and np.ptp(shown) < ENTRIES:
                bar.set_ticks(range(shown.min(), shown.max() + 1))
    if not known.all():
        style_of_unknown = {"marker": "x", "s": max(size, 12), "linewidths": 1.2, "color": YES}
        ax.scatter(*X[~known].T, **style_of_unknown, label="unknown", zorder=2.3)
    if panel.lines is not None:
        _draw_lines(ax, panel.lines)
    ax.set_title(panel.title)


def _draw_legends(axes: list[Any], panels: list[Panel]) -> None:
    """Draw legends to the right of the panels.

    Panels whose styles agree share one legend, which is drawn next to the last of these panels.
    """
    groups: list[list[int]] = []
    for k, panel in enumerate(panels):
        alike = [group for group in groups if _agree(panel.styles, *(panels[j].styles for j in group))]
        if alike:
            alike[0].append(k)
        else:
            groups.append([k])
    for group in groups:
        found = [axes[k].get_legend_handles_labels() for k in group]
        entries = {text: handle for handles, texts in found for handle, text in zip(handles, texts, strict=True)}
        categories = [str(label) for k in group for label in panels[k].styles or {}]
        order = [text for text in dict.fromkeys([*categories, "NA", "unknown"]) if text in entries]
        if order:
            _draw_legend(axes[group[-1]], [entries[text] for text in order], order)


def _draw_legend(ax: Any, handles: list[Any], names: list[str]) -> None:
    columns = -(-len(names) // ENTRIES)
    # If the panel has a colour bar, the legend of the unknown cells is placed below the colour bar.
    place = {
        "loc": "lower left" if ax.child_axes else "upper left",
        "bbox_to_anchor": (1.02, 0 if ax.child_axes else 1),
    }
    legend = ax.legend(handles, names, ncols=columns, **place, **_LEGEND)
    for text in legend.get_texts():
        text.set_parse_math(False)  # without this, a $ in a cell type would start a formula
    for handle in legend.legend_handles:
        handle.set_sizes(np.clip(handle.get_sizes(), 25, 60))


def _agree(one: dict[Any, ClassStyle] | None, *others: dict[Any, ClassStyle] | None) -> bool:
    """Return whether panels can share a legend: their styles must agree, and one panel must have all categories."""
    together = [styles or {} for styles in (one, *others)]
    most = max(together, key=len)
    return all(together) and all(most.get(label) == style for own in together for label, style in own.items())


def _values(adata: Any, color: str) -> Any:
    """Return the expression of a gene, or a column of obs, with strings and booleans as categories.

    For a column of prediction sets, return the sizes of the sets.
    """
    if color not in adata.obs:
        if color in adata.var_names:
            X = adata[:, color].X
            return np.ravel(X.toarray() if hasattr(X, "toarray") else X)
        of_obs = "one of these columns, or " if len(adata.obs.columns) else ""
        raise MissingKeyError(
            f"{color!r} is neither a column of obs nor a gene; obs {contents(adata.obs)}.\n"
            f"Pass {of_obs}a name in var_names as color=."
        )
    if color.endswith("_set") and _classification(adata, color) is not None:
        return np.asarray(adata.obsm[f"{color}s"]).sum(axis=1)
    column = adata.obs[color]
    return column.astype("category") if column.dtype.kind in "OSUb" or hasattr(column, "cat") else column


def _styles(adata: Any, color: str | None, categories: Any, palette: Any) -> dict[Any, ClassStyle]:
    """Return the style of each category, with colours from ``palette``, or else from ``uns``, or else from hyplearn."""
    if palette is not None:
        return _circles(_passed(palette, categories))
    given = adata.uns.get(f"{color}_colors", ())
    if len(given) >= len(categories):
        return _circles(dict(zip(categories, map(str, given), strict=False)))
    if categories.dtype.kind == "b":  # check the dtype, because integers 0 and 1 are equal to False and True
        return _circles({False: UNKNOWN, True: YES})
    key = _classification(adata, color)
    if key is not None and color == f"{key}_answer":
        return _answer_styles(adata, key, categories)
    return label_styles(categories)


def _answer_styles(adata: Any, key: str, categories: Any) -> dict[Any, ClassStyle]:
    """Return the style of each answer, which is a node of the hierarchy.

    A node that is a type has the style of its label. Inner nodes, which contain several types, are drawn as squares.
    """
    label_key = adata.uns[key]["params"]["label_key"]
    column = label_key if label_key in adata.obs else key
    types = adata.obs[column].astype("category").cat.categories
    styles = {str(label): style for label, style in _styles(adata, column, types, None).items()}
    broad = class_styles(len(categories))
    return {
        label: styles.get(label, ClassStyle(style.colour, "square"))
        for label, style in zip(sorted(categories, key=lambda label: label in styles), broad, strict=True)
    }


def _circles(colours: Mapping[Any, Any]) -> dict[Any, ClassStyle]:
    return {label: ClassStyle(colour, "circle") for label, colour in colours.items()}


def _passed(palette: Any, categories: Any) -> dict[Any, Any]:
    if isinstance(palette, str):
        import matplotlib

        colours = matplotlib.colormaps[palette]
        steps = np.arange(len(categories)) if colours.N < 50 else np.linspace(0, 1, len(categories))
        return dict(zip(categories, map(colours, steps), strict=True))
    if isinstance(palette, Mapping):
        missing = [label for label in categories if label not in palette]
        if missing:
            raise ValueError(
                f"palette lacks {len(missing)} categories; the first is {missing[0]!r}.\nAdd their colours."
            )
        return {label: palette[label] for label in categories}
    if len(palette) < len(categories):
        raise ValueError(
            f"palette has {len(palette)} colours for {len(categories)} categories.\nPass one colour per category."
        )
    return dict(zip(categories, palette, strict=False))


def _draw_categories(
    ax: Any, X: Array, values: Any, styles: dict[Any, ClassStyle], known: Array, markers: dict[str, Any]
) -> None:
    missing = values.isna().to_numpy() & known
    if missing.any():
        ax.scatter(*X[missing].T, **markers, color=UNKNOWN, label="NA", zorder=1.9)
    for label in values.cat.categories:
        own = (values == label).to_numpy() & known
        if own.any():
            look = {"color": styles[label].colour, "marker": MARKERS[styles[label].shape]}
            ax.scatter(*X[own].T, **markers, **look, label=label, zorder=2)


def _draw_numbers(ax: Any, X: Array, values: Array, cmap: str, known: Array, markers: dict[str, Any]) -> Any:
    missing = np.isnan(values) & known
    ax.scatter(*X[missing].T, **markers, color=UNKNOWN, zorder=1.9)
    # The largest values are drawn on top, as in scanpy, so that the few cells that express a gene are visible.
    shown = np.flatnonzero(known & ~np.isnan(values))
    order = shown[np.argsort(values[shown], kind="stable")]
    return ax.scatter(*X[order].T, c=values[order], **markers, cmap=cmap, zorder=2)


def _boundaries(adata: Any, boundaries: bool | str, color: str | None) -> BoundaryDisplay | None:
    """Return the boundaries of the classification with the key ``boundaries``.

    True means the classification with the key ``color``. False means no boundaries, and the result is None.
    """
    if boundaries is False:
        return None
    key = color if boundaries is True else boundaries
    if not isinstance(key, str):
        raise ValueError(
            "boundaries must be False, the key of a classification, or True if color is such a key; got "
            f"boundaries={boundaries!r} and color={color!r}.\nPass the name of a column of predictions that "
            "tl.classify wrote."
        )
    model = stored_model(adata, key)
    check_same_map(adata, key)
    return BoundaryDisplay.from_estimator(model)


def _draw_lines(ax: Any, display: BoundaryDisplay) -> None:
    """Draw the boundary arcs of the model or, if there are none, the edges of its regions."""
    for arc in display.boundaries:
        draw_boundary(ax, arc, None, linewidth=0.9)
    if not display.boundaries:
        display.draw_edges(ax, color=INK, linewidth=0.9, zorder=2.2)
