"""Build an interactive page as one HTML file from a template, a style sheet, JavaScript modules and the data."""

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

# Names of the JavaScript modules. Each module comes after the modules that it imports.
MODULES = (
    "geometry", "decision", "view", "colours", "shapes", "dom", "points", "model", "stamps", "haste", "regions",
    "nearest", "curves", "overlay", "disk", "filter", "colouring", "runs", "selection", "pencil", "csv", "legend",
    "card", "camera", "address", "panel", "search", "theme", "host", "contour", "svg", "picture", "input", "main",
)  # fmt: skip
# Height of the page in a notebook, in pixels.
NOTEBOOK_HEIGHT = 680
# Characters that are escaped inside a script element, because they could end the element, start a comment or break a
# line.
UNSAFE = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})


class Explorer:
    """Interactive page created by :func:`hyplearn.explore`. Notebooks display it, and :meth:`save` writes it to a file.

    If anywidget is installed (``pip install 'hyplearn[notebook]'``), :attr:`selection` contains the row numbers of the
    points that are selected in the notebook; assign to it to change the selection.
    """

    def __init__(self, parts: dict[str, str], n_points: int) -> None:
        self._parts, self._n_points = parts, n_points
        self._selection = np.empty(0, dtype=np.int64)
        self._widget: Any = None

    @property
    def html(self) -> str:
        """HTML source of the page, including the current selection."""
        parts = self._parts | {"selection": json.dumps(self.selection.tolist(), separators=(",", ":"))}
        # Replace all placeholders in one pass, so that ``{{name}}`` in a label is not replaced.
        return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("template.html"))

    @property
    def selection(self) -> Array:
        """Sorted indices of the selected rows of X. Assign indices or a boolean mask to change the selection."""
        return self._selection if self._widget is None else to_rows(self._widget.selection)

    @selection.setter
    def selection(self, rows: Any) -> None:
        rows = self._checked_rows(np.asarray(rows))
        self._selection = rows
        if self._widget is not None:
            self._widget.selection = to_bytes(rows)

    def _checked_rows(self, rows: Array) -> Array:
        """Validate row indices or a boolean mask; return the row indices in ascending order, without duplicates."""
        if rows.dtype == bool and rows.shape == (self._n_points,):
            return np.flatnonzero(rows)
        if rows.size == 0:
            return np.empty(0, dtype=np.int64)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= self._n_points:
            raise ValueError(
                f"selection must be row numbers of X, from 0 to {self._n_points - 1}, or a mask of all rows; got dtype "
                f"{rows.dtype} and shape {rows.shape}.\nPass an array of integers, such as np.flatnonzero(mask)."
            )
        return np.unique(rows).astype(np.int64)

    def __repr__(self) -> str:
        return f"<Explorer: a page of {self._parts['size']}; save(path) writes it>"

    def widget(self) -> Any:
        """Return a notebook widget that shows the page; requires anywidget.

        If the last expression of a notebook cell is the page, the widget is displayed automatically.
        """
        made = widget_class()
        if made is None:
            raise ImportError("Selections in a notebook need anywidget: pip install 'hyplearn[notebook]'.")
        if self._widget is None:
            self._widget = made(html=self.html, height=NOTEBOOK_HEIGHT, selection=to_bytes(self._selection))
        return self._widget

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the MIME bundle of the widget, or, without anywidget, {} so that :meth:`_repr_html_` is used."""
        return {} if widget_class() is None else self.widget()._repr_mimebundle_(**kwargs)

    def _repr_html_(self) -> str:
        """Return the page in an iframe, which separates its styles from the styles of the notebook."""
        return (
            '<iframe title="hyplearn explorer" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;border:0;border-radius:10px" height="{NOTEBOOK_HEIGHT}" '
            f'srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file atomically, and return the path of the file."""
        write_whole(path, self.html.encode())
        return Path(path)


def explore(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    names: Any = None,
    columns: Any = None,
    palette: Any = None,
    parents: Any = None,
    edges: Any = None,
    of: str | None = None,
    path: str | os.PathLike[str] | None = None,
    curvature: float | None = None,
    title: str | None = None,
) -> Explorer:
    r"""Create an interactive page that shows the regions and boundaries of a fitted classifier, and points in the disk.

    The page is one self-contained HTML file, which needs only a browser and no network. Dragging moves the disk by
    hyperbolic translations, the mouse wheel or a pinch gesture zooms, and hovering over a point shows its name, class,
    probabilities and distances to boundaries. Points can be searched by name, coloured by any column, and selected. The
    URL contains the current view.

    Parameters
    ----------
    estimator : fitted classifier with `predict` and `classes_`, or a list of two
        Classifier of points in the ball, or a pipeline that ends with a classifier. In two dimensions, classifiers of
        hyplearn are evaluated in the page, for every pixel and at any magnification. Other classifiers, and most
        classifiers in more dimensions, are shown as a grid of 512 × 512 predictions. Two classifiers, which must have
        the same classes and the same curvature, are shown side by side, with stripes where they disagree.
    X : array-like of shape (n, d)
        Points in the ball. In more than two dimensions, points are projected to a plane, which is chosen for the first
        classifier as in :class:`~hyplearn.plotting.BoundaryDisplay`.
    y : array-like of shape (n,), optional
        Classes of the points. If they are not given, points are coloured by their predicted class.
    names : sequence of str, optional
        Name of each point.
    columns : mapping of names to values, or data frame, optional
        Further columns of numbers or categories, by which the points can be coloured. Categories with the name of a
        class have the colour of this class. For a :class:`~hyplearn.ConformalClassifier`, columns with the prediction
        sets and, if it has a hierarchy, with the answers in the hierarchy are added automatically.
    palette : mapping, optional
        Mapping of class labels to colours, such as ``{"cat": "#E8660C"}``. The name of a column can be mapped to
        a second mapping, from the categories of this column to colours. All other classes and categories keep their
        default colours.
    parents : array-like of shape (n,), optional
        Row number of each point's parent in a tree, or -1 for the root. Children and parents are connected by
        geodesics.
    edges : array-like of shape (m, 2), optional
        Pairs of rows of X to connect by geodesics, for graphs other than trees.
    of : {"training", "held-out"}, optional
        Whether the points are training or held-out data. The page says so next to the accuracy; by default, it says
        "these points".
    path : path, optional
        File to save the page to.
    curvature : float, optional
        Sectional curvature, for an estimator that has no curvature; by default -1.
    title : str, optional
        Heading of the page; by default the type of each estimator, such as "PoincareSVC".

    Returns
    -------
    Explorer
        Page that notebooks display. ``page.save(path)`` writes it to a file, and ``page.html`` is its source.

    Notes
    -----
    Coordinates are stored as float64. In float32, a point at hyperbolic radius 12 would be displaced by a pixel after
    it is dragged to the centre. For curvatures other than -1, coordinates are multiplied by √c, where c is the absolute
    curvature; the rounding error moves a point x by a distance of up to 3e-16 / (1 - c‖x‖²), in units of the radius of
    curvature. The size of a page with 50,000 points is 1.7 MB without names; each column of numbers adds 0.3 MB.

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
        raise ValueError(
            f"A page can show one or two models; got {len(estimators)}.\nPass one classifier or a list of two."
        )
    extras = Extras(names=names, edges=edges, parents=parents, columns=columns, palette=palette, of=of, title=title)
    found = scene(estimators, X, y, extras, curvature)
    # Replace lone surrogates, which cannot be encoded in UTF-8.
    shown = found["title"].encode("utf-8", "replace").decode("utf-8")
    parts = {"title": html.escape(shown), "scene": script_json(found), "style": _read("style.css")}
    parts["script"] = _script()
    size = sum(len(part.encode()) for part in parts.values()) + len(_read("template.html"))
    explorer = Explorer(parts | {"size": f"{size / 1e6:.1f} MB"}, len(X))
    if path is not None:
        explorer.save(path)
    return explorer


def script_json(value: Any) -> str:
    """Convert a value to JSON that can be embedded in a script element, even if a label contains ``</script>``."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Escape lone surrogates, which cannot be encoded in UTF-8.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.translate(UNSAFE)


@cache
def _script() -> str:
    """Join all modules into one script."""
    return "\n".join(_enclosed(name, _read(f"{name}.js")) for name in MODULES)


def _enclosed(name: str, source: str) -> str:
    """Wrap a module in a function that is called once and returns its exports; all other names are private."""
    exports = re.findall(r"^export (?:class|const|function\*?) (\w+)", source, flags=re.MULTILINE)
    source = re.sub(r'^import (\{.*\}) from "\./(\w+)\.js";$', r"const \1 = \2;", source, flags=re.MULTILINE)
    source = re.sub(r"^export ", "", source, flags=re.MULTILINE)
    # Remove comments and indentation, which make up a third of the source.
    source = re.sub(r"^[ ]*(//.*\n)?", "", source, flags=re.MULTILINE)
    return f"const {name} = (() => {{\n{source}return {{ {', '.join(exports)} }};\n}})();"


@cache
def _read(name: str) -> str:
    return resources.files("hyplearn.explorer").joinpath("page", name).read_text(encoding="utf-8")
