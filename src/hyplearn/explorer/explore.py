"""The page: the scene, the template, and the modules of JavaScript in one file."""

import html
import json
import os
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.explorer.scene import Extras, scene
from hyplearn.explorer.widget import to_bytes, to_rows, widget_class
from hyplearn.files import write_whole
from hyplearn.types import Array

# Modules of JavaScript, each after those that it imports.
MODULES = (
    "geometry", "decision", "view", "colours", "shapes", "dom", "points", "model", "stamps", "haste", "regions",
    "nearest", "curves", "overlay", "disk", "filter", "colouring", "selection", "csv", "legend", "card", "camera",
    "address", "panel", "search", "theme", "host", "contour", "svg", "picture", "input", "main",
)  # fmt: skip
NOTEBOOK_HEIGHT = 680
# Inside a script element only these could end it, begin a comment, or (the last two) break a line.
UNSAFE = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})


class Explorer:
    """A page made by :func:`hyplearn.explore`; ``page.html`` is its text, and a notebook displays it.

    With anywidget (``pip install 'hyplearn[notebook]'``) the points that are selected in a notebook are
    :attr:`selection`, and setting it selects them there.
    """

    def __init__(self, parts: dict[str, str], n_points: int) -> None:
        self._parts, self._n_points = parts, n_points
        self._selection = np.empty(0, dtype=np.int64)
        self._widget: Any = None

    @property
    def html(self) -> str:
        """The page as text, with the points that are selected."""
        parts = self._parts | {"selection": json.dumps(self.selection.tolist(), separators=(",", ":"))}
        # In one pass, so that ``{{name}}`` in a label is left alone.
        return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("template.html"))

    @property
    def selection(self) -> Array:
        """Rows of X that are selected, in ascending order. Set rows, or a mask of all rows, to select others."""
        return self._selection if self._widget is None else to_rows(self._widget.selection)

    @selection.setter
    def selection(self, rows: Any) -> None:
        rows = self._checked_rows(np.asarray(rows))
        self._selection = rows
        if self._widget is not None:
            self._widget.selection = to_bytes(rows)

    def _checked_rows(self, rows: Array) -> Array:
        """Rows in ascending order, or an error."""
        if rows.dtype == bool and rows.shape == (self._n_points,):
            return np.flatnonzero(rows)
        if rows.size == 0:
            return np.empty(0, dtype=np.int64)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= self._n_points:
            raise ValueError(
                f"selection must hold rows of X, 0 to {self._n_points - 1}, or a mask of all of them; got "
                f"{rows.dtype} of shape {rows.shape}.\nPass an array of integers, such as np.flatnonzero(mask)."
            )
        return np.unique(rows).astype(np.int64)

    def __repr__(self) -> str:
        return f"<Explorer: a page of {self._parts['size']}; save(path) writes it>"

    def widget(self) -> Any:
        """The page as a widget of a notebook, which needs anywidget; a cell that ends with the page shows it too."""
        made = widget_class()
        if made is None:
            raise ImportError("Selections in a notebook need anywidget: pip install 'hyplearn[notebook]'.")
        if self._widget is None:
            self._widget = made(html=self.html, height=NOTEBOOK_HEIGHT, selection=to_bytes(self._selection))
        return self._widget

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget where anywidget is installed; the frame of :meth:`_repr_html_` remains for exported notebooks."""
        return {} if widget_class() is None else self.widget()._repr_mimebundle_(**kwargs)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style and the notebook's stay apart."""
        return (
            '<iframe title="hyplearn explorer" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;border:0;border-radius:10px" height="{NOTEBOOK_HEIGHT}" '
            f'srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file in one step, and return its path."""
        write_whole(path, self.html.encode())
        return Path(path)


def explore(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    names: Any = None,
    columns: Any = None,
    parents: Any = None,
    edges: Any = None,
    of: str | None = None,
    path: str | os.PathLike[str] | None = None,
    curvature: float | None = None,
    title: str | None = None,
) -> Explorer:
    r"""A page to explore a fitted classifier: its regions and boundaries in the disk, with the points.

    One self-contained HTML file that needs no network and no program but a browser. Dragging moves the disk by
    hyperbolic translations, the wheel or two fingers zoom, pointing at a point shows its name, class, probabilities and
    distances to boundaries. Points can be found by name, coloured by anything, and selected; the address keeps the
    view.

    Parameters
    ----------
    estimator : fitted classifier with `predict` and `classes_`, or a list of two
        Takes points of the ball, alone or at the end of a pipeline. The page evaluates classifiers of hyplearn itself,
        for every pixel and at any magnification; others are shown by a table of 512 × 512 predictions. Two classifiers
        are shown side by side, with stripes where they disagree.
    X : array-like of shape (n, d)
        Points of the ball, in more than two dimensions projected as in :class:`~hyplearn.plotting.BoundaryDisplay`
        for the first classifier.
    y : array-like of shape (n,), optional
        Their classes. Without them, points have the colours of their predictions.
    names : sequence of str, optional
        Name of each point.
    columns : mapping of names to values, or data frame, optional
        Further values of the points to colour them by, numbers or categories.
    parents : array-like of shape (n,), optional
        Row of the parent of each point in a tree, -1 for the root; geodesics join children and parents.
    edges : array-like of shape (m, 2), optional
        Pairs of rows of X to join by geodesics, for graphs other than trees.
    of : {"training", "held-out"}, optional
        What the points are to the model, which the page then says beside its counts; by default it says "these points".
    path : path, optional
        Where to save the page.
    curvature : float, optional
        Sectional curvature, by default that of the estimator, or -1 if it has none.
    title : str, optional
        Heading of the page; by default the name of the estimator's class.

    Returns
    -------
    Explorer
        With ``save(path)``, its text as ``page.html``, and a picture of itself in notebooks.

    Notes
    -----
    Coordinates are stored as float64: in float32 a point at hyperbolic radius 12, once dragged to the centre, would be
    a pixel off. With a curvature other than -1 they are scaled by √c, which moves points by up to 3e-16 / (1 - c‖x‖²).
    50,000 points without names make a page of 1.7 MB; a column of numbers adds 0.3 MB.

    Examples
    --------
    >>> import hyplearn
    >>> from hyplearn.datasets import load_mammals
    >>> mammals = load_mammals()
    >>> model = hyplearn.PoincareLogisticRegression().fit(mammals.data, mammals.target)
    >>> page = hyplearn.explore(model, mammals.data, mammals.target, names=mammals.names)
    >>> page
    <Explorer: a page of 0.1 MB; save(path) writes it>
    >>> page.html[:15]
    '<!DOCTYPE html>'
    """
    estimators = list(estimator) if isinstance(estimator, (list, tuple)) else [estimator]
    if not 1 <= len(estimators) <= 2:
        raise ValueError(f"A page shows one model, or two side by side; got {len(estimators)}.\nPass [first, second].")
    extras = Extras(names=names, edges=edges, parents=parents, columns=columns, of=of, title=title)
    found = scene(estimators, X, y, extras, curvature)
    parts = {"title": html.escape(found["title"]), "scene": script_json(found), "style": _read("style.css")}
    parts["script"] = _script()
    size = sum(len(part.encode()) for part in parts.values()) + len(_read("template.html"))
    explorer = Explorer(parts | {"size": f"{size / 1e6:.1f} MB"}, len(X))
    if path is not None:
        explorer.save(path)
    return explorer


def script_json(value: Any) -> str:
    """JSON that is safe inside a script element: a label such as ``</script>`` cannot end it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Lone surrogates of Python strings cannot be encoded in UTF-8.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.translate(UNSAFE)


@cache
def _script() -> str:
    """All modules in one script."""
    return "\n".join(_enclosed(name, _read(f"{name}.js")) for name in MODULES)


def _enclosed(name: str, source: str) -> str:
    """A module as a function that is called once and returns the exports, so that other names stay private."""
    exports = re.findall(r"^export (?:class|const|function\*?) (\w+)", source, flags=re.MULTILINE)
    source = re.sub(r'^import (\{.*\}) from "\./(\w+)\.js";$', r"const \1 = \2;", source, flags=re.MULTILINE)
    source = re.sub(r"^export ", "", source, flags=re.MULTILINE)
    # Comments and indentation, a third of the text, are for readers of the modules.
    source = re.sub(r"^[ ]*(//.*\n)?", "", source, flags=re.MULTILINE)
    return f"const {name} = (() => {{\n{source}return {{ {', '.join(exports)} }};\n}})();"


@cache
def _read(name: str) -> str:
    return resources.files("hyplearn.explorer").joinpath("page", name).read_text(encoding="utf-8")
