"""What the page shows, computed once: points in the unit disk, classes, predictions, the decision, and notes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hyplearn.estimators.validation import absolute_curvature
from hyplearn.explorer.decision import Decision, across, decision_of
from hyplearn.explorer.encoding import typed_array
from hyplearn.geometry import gap
from hyplearn.plotting.boundary import chosen_plane
from hyplearn.plotting.canvas import class_colours
from hyplearn.plotting.cloud import all_classes, positions
from hyplearn.plotting.disk import check_edges, check_labelled
from hyplearn.plotting.fitted import curvature_of, fitted_classifier, hyperplane, margin_of
from hyplearn.plotting.plane import Plane
from hyplearn.plotting.regions import answers, predicted_codes, predicted_regions
from hyplearn.types import Array

# Pixels along the diameter of the table that stands for a classifier whose decision only Python knows.
TABLE_PIXELS = 512
# Probabilities of a point that travel with it where the page cannot compute them.
TOP = 3
# A class number travels in two bytes, and the last one means outside the disk.
MOST_CLASSES = 2**16 - 1


@dataclass(frozen=True)
class Fitted:
    """A classifier with what is needed to draw it."""

    estimator: Any
    c: float
    plane: Plane | None
    decision: Decision | None


def scene(
    estimator: Any, X: Any, y: Any, names: Any, edges: Any, curvature: float | None, title: str | None
) -> dict[str, Any]:
    """Everything that the page needs, as values that JSON knows."""
    X, y = check_labelled(X, y)
    fitted = _fitted(estimator, X, curvature)
    gap(X, c=fitted.c)  # refuses points outside
    root = float(np.sqrt(fitted.c))
    x = root * (X if fitted.plane is None else fitted.plane.project(X))
    return {
        "title": type(fitted.estimator).__name__ if title is None else str(title),
        "model": type(fitted.estimator).__name__,
        "dimensions": X.shape[1],
        "root": root,
        "plane": None if fitted.plane is None else fitted.plane.statement.replace("\n", " "),
        "points": {"x": typed_array(x[:, 0], "<f8"), "y": typed_array(x[:, 1], "<f8")},
        "names": None if names is None else _names(names, len(X)),
        "edges": None if edges is None else typed_array(check_edges(edges, len(X)).ravel(), "<u4"),
        "support": _support(fitted, root),
        **_classes(fitted, y),
        **_predictions(fitted, X),
        **_decision(fitted),
    }


def _fitted(estimator: Any, X: Array, curvature: float | None) -> Fitted:
    estimator = fitted_classifier(estimator)
    if len(estimator.classes_) > MOST_CLASSES:
        raise ValueError(
            f"The page shows up to {MOST_CLASSES} classes; got {len(estimator.classes_)}.\nMerge classes first."
        )
    c = absolute_curvature(curvature_of(estimator, curvature))
    found = hyperplane(estimator)
    plane = chosen_plane(estimator, found, X, c)
    if plane is None:
        return Fitted(estimator, c, None, decision_of(estimator))
    return Fitted(estimator, c, plane, across(estimator) if found is not None else None)


def _classes(fitted: Fitted, y: Array | None) -> dict[str, Any]:
    """Names and colours of all classes, those of the classifier first, and the class of each point where known."""
    classes = all_classes(y, fitted.estimator.classes_) if y is not None else np.asarray(fitted.estimator.classes_)
    colours = class_colours(classes)
    return {
        "classes": [str(label) for label in classes],
        "colours": [colours[label] for label in classes],
        "known": len(fitted.estimator.classes_),
        "labels": None if y is None else typed_array(positions(y, classes), "<u2"),
    }


def _predictions(fitted: Fitted, X: Array) -> dict[str, Any]:
    """What the classifier says of the points themselves, wherever the picture has to put them."""
    chances = _chances(fitted.estimator, X)
    found: dict[str, Any] = {
        "predicted": typed_array(predicted_codes(fitted.estimator, None, X), "<u2"),
        "confidence": None if chances is None else typed_array(chances.max(axis=1), "<f4"),
        "top": None,
    }
    if chances is not None and fitted.decision is None:
        order = np.argsort(-chances, axis=1, kind="stable")[:, :TOP]
        found["top"] = {
            "per_point": order.shape[1],
            "codes": typed_array(order.ravel(), "<u2"),
            "chances": typed_array(np.take_along_axis(chances, order, axis=1).ravel(), "<f4"),
        }
    return found


def _chances(estimator: Any, X: Array) -> Array | None:
    """Probabilities, if the classifier has any."""
    if not hasattr(estimator, "predict_proba"):
        return None
    try:
        return np.asarray(answers(estimator, "predict_proba", None, X), dtype=np.float64)
    except AttributeError:  # that of a stream, which has none
        return None


def _decision(fitted: Fitted) -> dict[str, Any]:
    """The decision by its numbers, or a table of the classes all over the disk."""
    decision = fitted.decision
    if decision is None:
        regions = predicted_regions(fitted.estimator, fitted.plane, TABLE_PIXELS, fitted.c)[1]
        table = {"size": TABLE_PIXELS, "codes": typed_array(np.where(regions < 0, MOST_CLASSES, regions), "<u2")}
        return {"decision": None, "table": table, "margin": None, "movable": False}
    movable = decision.has_reference and len(decision.problems) == 1
    return {"decision": decision.as_json(), "table": None, "margin": _margin(fitted), "movable": movable}


def _margin(fitted: Fitted) -> float | None:
    """The hyperbolic distance of the margins from the geodesic boundary of two classes."""
    found = hyperplane(fitted.estimator)
    return None if found is None else margin_of(fitted.estimator, found[0], None, fitted.c)


def _support(fitted: Fitted, root: float) -> dict[str, Any] | None:
    vectors = np.asarray(getattr(fitted.estimator, "support_vectors_", ()), dtype=np.float64)
    if fitted.decision is None or len(vectors) == 0:
        return None
    x = root * (vectors if fitted.plane is None else fitted.plane.project(vectors))
    return {"x": typed_array(x[:, 0], "<f8"), "y": typed_array(x[:, 1], "<f8")}


def _names(names: Any, n: int) -> list[str]:
    """One text per point, or an error."""
    texts = [str(name) for name in names] if np.ndim(names) == 1 else []
    if len(texts) != n:
        raise ValueError(
            f"names must hold one text for each of the {n} rows of X; got shape {np.shape(names)}.\n"
            "Pass a list of names in the order of the rows."
        )
    return texts
