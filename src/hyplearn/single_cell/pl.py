"""Plotting: cells in the Poincaré disk, with the colours of scanpy."""

from typing import Any

import numpy as np

from hyplearn.estimators.validation import absolute_curvature
from hyplearn.geometry import gap
from hyplearn.plotting import BoundaryDisplay
from hyplearn.plotting.canvas import INK, class_colours, draw_boundary, draw_legend, draw_rim, new_axes
from hyplearn.single_cell.cells import MissingKeyError, cell_points, check_adata, stored_model
from hyplearn.types import Array

UNKNOWN = "lightgray"


def disk(
    adata: Any,
    color: str | None = None,
    *,
    basis: str = "X_poincare",
    boundaries: bool | str = False,
    curvature: float = -1.0,
    size: float | None = None,
    cmap: str = "viridis",
    legend: bool = True,
    ax: Any = None,
) -> Any:
    """Draw cells in the Poincaré disk.

    Parameters
    ----------
    adata : AnnData
        The cells, with two coordinates each in ``obsm[basis]``.
    color : str, optional
        A column of ``obs``, or a gene. Categories have the colours of ``uns[f"{color}_colors"]``, else hyplearn's;
        cells without a category are light grey. Numbers are shown with ``cmap`` and a colour bar.
    basis : str
        Key of the embedding in ``obsm``, with or without its ``"X_"``.
    boundaries : bool or str
        Whether to draw the boundaries of the classification ``color``, or the key of another one.
    curvature : float
        Sectional curvature of the disk.
    size : float, optional
        Area of a marker in square points; by default it decreases with the number of cells, as in scanpy.
    cmap : str
        Colour map of numbers.
    legend : bool
        Whether to draw the legend or the colour bar.
    ax : matplotlib axes, optional
        Axes to draw in; by default the current ones.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import hyplearn.single_cell as hs
    >>> hs.pl.disk(adata, color="cell_type_predicted", boundaries=True)  # doctest: +SKIP
    """
    X, c = cell_points(check_adata(adata), basis), absolute_curvature(curvature)
    if X.shape[1] != 2:
        raise ValueError(f"The disk shows two coordinates; {basis!r} has {X.shape[1]}.\nPass a basis of two.")
    gap(X, c=c)  # raises for points outside the disk
    values = None if color is None else _values(adata, color)
    lines = _boundaries(adata, color if boundaries is True else boundaries)
    ax = new_axes() if ax is None else ax
    draw_rim(ax, c)
    size = float(np.clip(120_000 / len(X), 1, 30)) if size is None else size
    if values is None:
        ax.scatter(*X.T, s=size, color=UNKNOWN, linewidths=0, zorder=2)
    elif hasattr(values, "cat"):
        _draw_categories(ax, X, values, _palette(adata, color, values.cat.categories), size)
    else:
        _draw_numbers(ax, X, np.asarray(values, dtype=np.float64), cmap, size, legend)
    if lines is not None:
        _draw_lines(ax, lines)
    if legend and hasattr(values, "cat"):
        draw_legend(ax)
    ax.set_title(color or "")
    return ax


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


def _palette(adata: Any, color: str | None, categories: Any) -> dict[Any, str]:
    """Return the colours of categories: those in ``uns``, else hyplearn's."""
    given = adata.uns.get(f"{color}_colors", ())
    if len(given) >= len(categories):
        return dict(zip(categories, map(str, given), strict=False))
    return class_colours(np.asarray(categories, dtype=object))


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
