"""The content of a page, computed once: points in the unit disk, classes, predictions, the decision, and notes."""

import base64
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hyplearn.decision import Boundary, Decision, Equidistant, ForeignDecision, Sphere, decision_of
from hyplearn.decision.adapter import fitted_classifier
from hyplearn.geometry import gap
from hyplearn.plotting.boundary import margin_of, points_inside, predicted_regions, support_of
from hyplearn.plotting.canvas import all_classes, class_colours, positions
from hyplearn.plotting.disk import check_edges, check_labelled
from hyplearn.plotting.plane import Plane, choose_plane, evaluate, predicted_codes
from hyplearn.types import Array

# Pixels along the diameter of the table of a classifier that the page cannot evaluate: 0.5 MB of base64.
TABLE_PIXELS = 512
# Probabilities per point in the page if it cannot compute them.
TOP = 3
# A code is stored in two bytes, and the last one means outside the disk.
MOST_CLASSES = 2**16 - 1
# Letters of a name that are shown: longer ones would push everything else off the page.
MOST_LETTERS = 200
# Little-endian types of NumPy and the typed arrays of JavaScript that read them.
TYPES = {"<f8": "Float64Array", "<f4": "Float32Array", "<u4": "Uint32Array", "<u2": "Uint16Array"}


@dataclass(frozen=True)
class Fitted:
    """A classifier, its decision, the plane of the picture, and the decision that the page evaluates there."""

    estimator: Any
    decision: Decision | ForeignDecision
    plane: Plane | None
    shown: Decision | None


def scene(
    estimator: Any,
    X: Any,
    y: Any,
    names: Any,
    edges: Any,
    of: str | None,
    curvature: float | None,
    title: str | None,
) -> dict[str, Any]:
    """The content of the page, as values of JSON."""
    X, y = check_labelled(X, y)
    X = points_inside(fitted_classifier(estimator), X)
    fitted = _fitted(estimator, X, curvature)
    gap(X, c=fitted.decision.c)  # raises for points outside
    support = None if fitted.shown is None else support_of(fitted.estimator)
    return {
        "title": type(fitted.estimator).__name__ if title is None else str(title),
        "model": type(fitted.estimator).__name__,
        "dimensions": X.shape[1],
        "of": _of(of),
        "root": float(np.sqrt(fitted.decision.c)),
        "plane": None if fitted.plane is None else fitted.plane.statement.replace("\n", " "),
        "points": _places(fitted, X),
        "names": None if names is None else _names(names, len(X)),
        "edges": None if edges is None else typed_array(check_edges(edges, len(X)).ravel(), "<u4"),
        "support": None if support is None else _places(fitted, support),
        **_classes(fitted, y),
        **_predictions(fitted, X),
        **_decision(fitted),
    }


def _of(of: str | None) -> str:
    """What the points are to the model."""
    if of not in (None, "training", "held-out"):
        raise ValueError(f'of must be "training" or "held-out"; got {of!r}.\nLeave it out for other points.')
    return of or "points"


def _fitted(estimator: Any, X: Array, curvature: float | None) -> Fitted:
    decision, estimator = decision_of(estimator, curvature), fitted_classifier(estimator)
    if len(decision.classes) > MOST_CLASSES:
        raise ValueError(
            f"The page shows up to {MOST_CLASSES} classes; got {len(decision.classes)}.\nMerge classes first."
        )
    plane = choose_plane(estimator, decision.boundary(), X, decision.c)
    shown = decision if isinstance(decision, Decision) else None
    return Fitted(estimator, decision, plane, shown if shown is None or plane is None else _across(shown))


def _across(decision: Decision) -> Decision | None:
    """The decision on a plane across the boundary of two classes, if scores depend only on the distance to it.

    On that plane the point of the boundary is the centre and its normal points to the right.
    """
    found = decision.boundary()
    if not isinstance(found, Equidistant) or decision.link not in ("arsinh", "z"):
        return None
    # The normal of the boundary is turned around where a sigmoid falls; that of the weights is not.
    along = np.linalg.norm(decision.weights[0]) * np.sign(decision.weights[0] @ found.w)
    return replace(decision, weights=np.array([[along, 0.0]]), points=np.zeros((1, 2)), through_points=False)


def _classes(fitted: Fitted, y: Array | None) -> dict[str, Any]:
    """Names and colours of all classes, those of the classifier first, and the class of each point where known."""
    known = fitted.decision.classes
    classes = known if y is None else all_classes(y, known)
    colours = class_colours(classes)
    return {
        "classes": [_shortened(str(label)) for label in classes],
        "colours": [colours[label] for label in classes],
        "known": len(known),
        "labels": None if y is None else typed_array(positions(y, classes), "<u2"),
    }


def _predictions(fitted: Fitted, X: Array) -> dict[str, Any]:
    """Predictions for the points of the ball, not for their projections."""
    estimator, probabilities = fitted.estimator, None
    if fitted.decision.has_probabilities:
        probabilities = np.asarray(evaluate(estimator, "predict_proba", None, X), dtype=np.float64)
    found: dict[str, Any] = {
        "predicted": typed_array(predicted_codes(estimator, None, X), "<u2"),
        "confidence": None if probabilities is None else typed_array(probabilities.max(axis=1), "<f4"),
        "top": None,
    }
    if probabilities is not None and fitted.shown is None:
        order = np.argsort(-probabilities, axis=1, kind="stable")[:, :TOP]
        found["top"] = {
            "per_point": order.shape[1],
            "codes": typed_array(order.ravel(), "<u2"),
            "probabilities": typed_array(np.take_along_axis(probabilities, order, axis=1).ravel(), "<f4"),
        }
    return found


def _decision(fitted: Fitted) -> dict[str, Any]:
    """The decision, or a table of the predicted classes over the disk."""
    decision = fitted.shown
    if decision is None:
        regions = predicted_regions(fitted.estimator, fitted.plane, TABLE_PIXELS, fitted.decision.c)[1]
        table = {"size": TABLE_PIXELS, "codes": typed_array(np.where(regions < 0, MOST_CLASSES, regions), "<u2")}
        return {"decision": None, "table": table, "margin": None, "movable": False}
    margin = None if decision.boundary() is None else margin_of(fitted.estimator, None, fitted.decision.c)
    movable = decision.through_points and decision.is_binary
    return {"decision": decision_json(decision), "table": None, "margin": margin, "movable": movable}


def decision_json(decision: Decision) -> dict[str, Any]:
    """A decision of two dimensions as values of JSON, in coordinates of the unit disk.

    There z is √c times as long, so that weights of the links "frame", "z" and "ball" are divided by √c.
    """
    root, calibration, boundaries = float(np.sqrt(decision.c)), decision.calibration, decision.boundaries()
    weights = decision.weights / (root if decision.link in ("frame", "z", "ball") else 1.0)
    kernel = decision.kernel
    return {
        "link": decision.link,
        "gain": float(decision.gain),
        "weights": weights.tolist(),
        "points": (root * decision.points).tolist(),
        "intercepts": decision.intercepts.tolist(),
        "slopes": None if calibration is None else calibration.slopes.tolist(),
        "offsets": None if calibration is None else calibration.offsets.tolist(),
        "mixing": None if calibration is None or calibration.mixing is None else calibration.mixing.tolist(),
        "sharpness": None if calibration is None else calibration.sharpness,
        "through_points": decision.through_points,
        "kernel": None
        if kernel is None
        else {"name": kernel.name, "scale": kernel.scale, "landmarks": (root * kernel.landmarks).tolist()},
        "boundaries": None if boundaries is None else [found and _boundary_json(found, root) for found in boundaries],
    }


def _boundary_json(found: Boundary, root: float) -> dict[str, Any]:
    """A boundary in coordinates and units of the unit disk."""
    place = {"kind": found.kind, "p": (root * found.p).tolist()}
    if isinstance(found, Sphere):
        return {**place, "radius": root * found.radius, "side": found.side}
    return {**place, "w": found.w.tolist(), "height": root * found.height}


def _places(fitted: Fitted, X: Array) -> dict[str, Any]:
    """Positions of points of the ball in the unit disk of the page."""
    x = np.sqrt(fitted.decision.c) * (X if fitted.plane is None else fitted.plane.project(X))
    return {"x": typed_array(x[:, 0], "<f8"), "y": typed_array(x[:, 1], "<f8")}


def _names(names: Any, n: int) -> list[str]:
    """One string per point, or an error."""
    texts = [str(name) for name in names] if np.ndim(names) == 1 else []
    if len(texts) != n:
        raise ValueError(
            f"names must hold one string for each of the {n} rows of X; got shape {np.shape(names)}.\n"
            "Pass a list of names in the order of the rows."
        )
    return [_shortened(text) for text in texts]


def _shortened(text: str) -> str:
    """A name that a card or a legend can show."""
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def typed_array(values: Array, dtype: str) -> dict[str, str]:
    """Bytes of an array in base64, with the name of its JavaScript type."""
    data = np.ascontiguousarray(values, dtype=np.dtype(dtype))
    return {"type": TYPES[dtype], "base64": base64.b64encode(data.tobytes()).decode("ascii")}
