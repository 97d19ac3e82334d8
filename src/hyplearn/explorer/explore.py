"""The page: the scene, the template, and the modules of JavaScript in one file."""

import html
import json
import os
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from hyplearn.explorer.scene import scene
from hyplearn.files import write_whole

# Modules of JavaScript, each after those that it imports.
MODULES = (
    "geometry", "decision", "view", "colours", "points", "stamps", "regions", "nearest", "curves", "overlay", "filter",
    "card", "panel", "input", "picture", "main",
)  # fmt: skip
NOTEBOOK_HEIGHT = 680
# Inside a script element only these could end it, begin a comment, or (the last two) break a line.
UNSAFE = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})


class Explorer:
    """A page made by :func:`hyplearn.explore`; ``page.html`` is its text, and a notebook displays it."""

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def html(self) -> str:
        """The page as text."""
        return self._text

    def __repr__(self) -> str:
        return f"<Explorer: a page of {len(self._text) / 1e6:.1f} MB; save(path) writes it>"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style and the notebook's stay apart."""
        return (
            '<iframe title="hyplearn explorer" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;border:0;border-radius:10px" height="{NOTEBOOK_HEIGHT}" '
            f'srcdoc="{html.escape(self._text)}"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file in one step, and return its path."""
        write_whole(path, self._text.encode())
        return Path(path)


def explore(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    names: Any = None,
    edges: Any = None,
    of: str | None = None,
    path: str | os.PathLike[str] | None = None,
    curvature: float | None = None,
    title: str | None = None,
) -> Explorer:
    r"""A page to explore a fitted classifier: its regions and boundaries in the disk, with the points.

    One self-contained HTML file that needs no network and no program but a browser. Dragging moves the disk by
    hyperbolic translations, the wheel zooms, pointing at a point shows its name, class, probabilities and distances to
    boundaries. The reference point of two classes can be dragged to see the predictions of a boundary through another.

    Parameters
    ----------
    estimator : fitted classifier with `predict` and `classes_`
        Takes points of the ball, alone or at the end of a pipeline. The page evaluates classifiers of hyplearn itself,
        for every pixel and at any magnification; others are shown by a table of 512 × 512 predictions.
    X : array-like of shape (n, d)
        Points of the ball, in more than two dimensions projected as in :class:`~hyplearn.plotting.BoundaryDisplay`.
    y : array-like of shape (n,), optional
        Their classes. Without them, points have the colours of their predictions.
    names : sequence of str, optional
        Name of each point.
    edges : array-like of shape (m, 2), optional
        Pairs of rows of X to join by geodesics, such as a tree's children and parents.
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
    50,000 points without names make a page of 1.7 MB.

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
    found = scene(estimator, X, y, names, edges, of, curvature, title)
    parts = {"title": html.escape(found["title"]), "scene": script_json(found), "style": _read("style.css")}
    parts["script"] = _script()
    # In one pass, so that ``{{name}}`` in a label is left alone.
    explorer = Explorer(re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("template.html")))
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
    exports = re.findall(r"^export (?:class|const|function) (\w+)", source, flags=re.MULTILINE)
    source = re.sub(r'^import (\{.*\}) from "\./(\w+)\.js";$', r"const \1 = \2;", source, flags=re.MULTILINE)
    source = re.sub(r"^export ", "", source, flags=re.MULTILINE)
    return f"const {name} = (() => {{\n{source}return {{ {', '.join(exports)} }};\n}})();"


@cache
def _read(name: str) -> str:
    return resources.files("hyplearn.explorer").joinpath("page", name).read_text(encoding="utf-8")
