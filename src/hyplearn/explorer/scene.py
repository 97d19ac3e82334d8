"""Compute the content of the page that :func:`hyplearn.explore` creates.

The content consists of points in the unit disk, classes, columns, and the predictions of each model.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hyplearn.decision import Boundary, Decision, Equidistant, ForeignDecision, Sphere, decision_of
from hyplearn.decision.adapter import fitted_classifier
from hyplearn.explorer.columns import UNKNOWN, checked_palette, columns_json, styles_of
from hyplearn.explorer.typed import MOST_CLASSES, code_array, shortened, typed_array
from hyplearn.geometry import gap
from hyplearn.plotting import palette
from hyplearn.plotting.boundary import margin_of, points_inside, predicted_regions, support_of
from hyplearn.plotting.canvas import all_classes, positions
from hyplearn.plotting.disk import check_edges, check_labelled
from hyplearn.plotting.plane import Plane, choose_plane, evaluate, predicted_codes
from hyplearn.types import Array

# Number of pixels along each side of the prediction table, for classifiers that the page cannot evaluate. The table
# takes 0.5 MB before base64 encoding.
TABLE_PIXELS = 512
# If the page cannot compute probabilities, the probabilities of the TOP most likely classes of each point are stored.
TOP = 3


@dataclass(frozen=True)
class Fitted:
    """Fitted classifier, its decision, and the plane and the two-dimensional decision that the page draws.

    ``plane`` is None if the points have two dimensions. ``shown`` is the two-dimensional decision, or None if the page
    cannot evaluate one and shows a table of predictions instead.
    """

    estimator: Any
    decision: Decision | ForeignDecision
    plane: Plane | None
    shown: Decision | None


@dataclass(frozen=True)
class Extras:
    """Optional content of a page: everything except the models, the points and their classes."""

    names: Any = None
    edges: Any = None
    parents: Any = None
    columns: Any = None
    palette: Any = None
    of: str | None = None
    title: str | None = None


def scene(estimators: list[Any], X: Any, y: Any, extras: Extras, curvature: float | None) -> dict[str, Any]:
    """Compute the content of a page as values that can be converted to JSON."""
    classifier = fitted_classifier(estimators[0])
    X, y = check_labelled(X, y)
    X = points_inside(classifier, X)
    models = _fitted(estimators, X, curvature)
    first = models[0]
    gap(X, c=first.decision.c)  # ``gap`` is called because it raises an error if a point is outside the ball
    names = _model_names(models)
    colours, of_columns = checked_palette(extras.palette)
    classes = _classes(first, y, colours)
    styles = dict(zip(classes["classes"], classes["styles"], strict=True))
    return {
        "title": " and ".join(names) if extras.title is None else str(extras.title),
        "dimensions": X.shape[1],
        "of": _of(extras.of),
        "root": float(np.sqrt(first.decision.c)),
        "plane": None if first.plane is None else first.plane.statement.replace("\n", " "),
        "points": _places(first, X),
        "names": None if extras.names is None else _names(extras.names, len(X)),
        "edges": _edges(extras, len(X)),
        "columns": [
            column
            for columns in (_set_columns(estimators[0], X), extras.columns)
            for column in columns_json(columns, len(X), styles, of_columns)
        ],
        "ramp": {"light": list(palette.ramp()), "dark": list(palette.ramp(dark=True))},
        "grey": palette.GREY,
        "pair": _pair(),
        **classes,
        "models": [_model(model, name, X) for model, name in zip(models, names, strict=True)],
    }


def _set_columns(estimator: Any, X: Array) -> dict[str, Array]:
    """Return columns that describe the prediction sets of a conformal classifier, or an empty dict for other models."""
    if not hasattr(estimator, "set_columns"):
        return {}
    columns = estimator.set_columns(estimator.predict_set(X))
    names = [name for name in ("set", "answer") if name in columns]
    return columns | {name: np.where(columns["unknown"], UNKNOWN, columns[name]) for name in names}


def _of(of: str | None) -> str:
    """Validate the parameter ``of``; return "training", "held-out" or, by default, "points"."""
    if of not in (None, "training", "held-out"):
        raise ValueError(
            f'The parameter `of` must be "training" or "held-out"; got {of!r}.\nOmit it if the points are neither.'
        )
    return of or "points"


def _pair() -> list[dict[str, str]]:
    """Return two styles, for correct and for wrong predictions, that differ in colour and in shape."""
    light, dark = palette.LIGHT, palette.DARK
    return [
        {"light": light[0], "dark": dark[0], "shape": "circle"},
        {"light": light[1], "dark": dark[1], "shape": "cross"},
    ]


def _fitted(estimators: list[Any], X: Array, curvature: float | None) -> list[Fitted]:
    """Combine each classifier with its decision and, in more than two dimensions, with the plane on which it is drawn.

    The plane is chosen for the first classifier. If there is a second classifier, its regions on this plane are
    estimated: each pixel gets the class that this classifier predicts for most of the nearest points.
    """
    decisions = [decision_of(estimator, curvature) for estimator in estimators]
    classifiers = [fitted_classifier(estimator) for estimator in estimators]
    first = decisions[0]
    if len(first.classes) > MOST_CLASSES:
        raise ValueError(
            f"A page can show at most {MOST_CLASSES} classes; got {len(first.classes)}.\nMerge classes first."
        )
    for other in decisions[1:]:
        if list(other.classes) != list(first.classes) or other.c != first.c:
            raise ValueError(
                "Two models on a page must have the same classes and the same curvature; got classes "
                f"{first.classes.tolist()!r:.60} and {other.classes.tolist()!r:.60}, and curvatures {-first.c:g} and "
                f"{-other.c:g}.\n"
                "Create a separate page for each model."
            )
    plane = choose_plane(classifiers[0], first.boundary(), X, first.c)
    models = []
    for k, (classifier, decision) in enumerate(zip(classifiers, decisions, strict=True)):
        shown = decision if isinstance(decision, Decision) else None
        own = plane
        if plane is not None:
            shown = _across(shown) if k == 0 and shown is not None else None
            own = plane if k == 0 else plane.with_votes(X, predicted_codes(classifier, None, X))
        models.append(Fitted(classifier, decision, own, shown))
    return models


def _model_names(models: list[Fitted]) -> list[str]:
    """Return the type of each estimator, such as "PoincareSVC"; if two types are equal, a number is appended."""
    names = [type(model.estimator).__name__ for model in models]
    return [f"{name} {k + 1}" if names.count(name) > 1 else name for k, name in enumerate(names)]


def _across(decision: Decision) -> Decision | None:
    """Restrict a decision to the plane that the page draws; return None if this is not possible.

    This is possible if the decision is binary and its scores depend only on the signed distance to a hyperplane, as for
    the links "arsinh" and "z". The centre of the plane is a point of this hyperplane, and the normal of the hyperplane
    points to the right.
    """
    found = decision.boundary()
    if not isinstance(found, Equidistant) or decision.link not in ("arsinh", "z"):
        return None
    # If the slope of the calibration is negative, the boundary's normal vector is opposite to the weights. Their inner
    # product is then negative, and so is the new weight.
    along = np.linalg.norm(decision.weights[0]) * np.sign(decision.weights[0] @ found.w)
    return replace(decision, weights=np.array([[along, 0.0]]), points=np.zeros((1, 2)), through_points=False)


def _classes(fitted: Fitted, y: Array | None, colours: dict[str, str]) -> dict[str, Any]:
    """Return the names and styles of all classes, the number of classes of the model, and the points' class codes."""
    known = fitted.decision.classes
    classes = known if y is None else all_classes(y, known)
    return {
        "classes": [shortened(label) for label in classes],
        "styles": styles_of(classes, colours),
        "known": len(known),
        "labels": None if y is None else code_array(positions(y, classes), len(classes)),
    }


def _model(fitted: Fitted, name: str, X: Array) -> dict[str, Any]:
    """Return the predictions of a model for the points, and the data with which the page evaluates the model."""
    support = None if fitted.shown is None else support_of(fitted.estimator)
    return {
        "name": shortened(name),
        "support": None if support is None else _places(fitted, support),
        "votes": _votes(fitted.plane),
        **_predictions(fitted, X),
        **_decision(fitted),
    }


def _votes(plane: Plane | None) -> float | None:
    """Return the fraction of the voting points of a plane that lie in the region of their predicted class.

    Return None if there is no plane, or if its regions are not determined by a vote of the nearest points.
    """
    return None if plane is None or plane.neighbours is None else plane.agreement


def _predictions(fitted: Fitted, X: Array) -> dict[str, Any]:
    """Return the predictions for the points of the ball, not for their projections to the disk, as JSON values."""
    estimator, probabilities, n_classes = fitted.estimator, None, len(fitted.decision.classes)
    if fitted.decision.has_probabilities:
        probabilities = np.asarray(evaluate(estimator, "predict_proba", None, X), dtype=np.float64)
    found: dict[str, Any] = {
        "predicted": code_array(predicted_codes(estimator, None, X), n_classes),
        "confidence": None if probabilities is None else typed_array(probabilities.max(axis=1), "<f4"),
        "top": None,
        "lead": None,
        "lead_name": None,
    }
    if fitted.shown is None:
        found |= _lead(estimator, probabilities, X)
    if probabilities is not None and fitted.shown is None:
        order = np.argsort(-probabilities, axis=1, kind="stable")[:, :TOP]
        found["top"] = {
            "per_point": order.shape[1],
            "codes": code_array(order.ravel(), n_classes),
            "probabilities": typed_array(np.take_along_axis(probabilities, order, axis=1).ravel(), "<f4"),
        }
    return found


def _lead(estimator: Any, probabilities: Array | None, X: Array) -> dict[str, Any]:
    """Return the difference between the two largest scores of each point, as JSON values.

    If there is one score per point, return its absolute value instead. If the estimator has no ``decision_function``,
    use probabilities instead of scores; if it has no probabilities either, return an empty dict.
    """
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(evaluate(estimator, "decision_function", None, X), dtype=np.float64)
        name = "lead of the highest score"
    elif probabilities is not None:
        scores, name = probabilities, "lead of the highest probability"
    else:
        return {}
    if scores.ndim == 1:
        return {"lead": typed_array(np.abs(scores), "<f4"), "lead_name": name}
    best = -np.sort(-scores, axis=1)[:, :2]
    return {"lead": typed_array(best[:, 0] - best[:, -1], "<f4"), "lead_name": name}


def _decision(fitted: Fitted) -> dict[str, Any]:
    """Return the decision as JSON values, or a table of predicted classes if the page cannot evaluate the decision.

    The result also contains the margin, if it is known, and whether the boundary can be moved on the page.
    """
    decision = fitted.shown
    if decision is None:
        regions = predicted_regions(fitted.estimator, fitted.plane, TABLE_PIXELS, fitted.decision.c)[1]
        table = {"size": TABLE_PIXELS, "codes": typed_array(np.where(regions < 0, MOST_CLASSES, regions), "<u2")}
        return {"decision": None, "table": table, "margin": None, "movable": False}
    margin = None if decision.boundary() is None else margin_of(fitted.estimator, None, fitted.decision.c)
    movable = decision.through_points and decision.is_binary
    return {"decision": decision_json(decision), "table": None, "margin": margin, "movable": movable}


def decision_json(decision: Decision) -> dict[str, Any]:
    """Convert a two-dimensional decision to JSON values, in coordinates of the unit disk.

    In these coordinates, vectors are √c times as long. The weights of decisions with the link "frame", "z" or "ball"
    are therefore divided by √c.
    """
    root, calibration, boundaries = float(np.sqrt(decision.c)), decision.calibration, decision.boundaries
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
        "floor": 0.0 if calibration is None else calibration.floor,
        "through_points": decision.through_points,
        "kernel": None
        if kernel is None
        else {"name": kernel.name, "scale": kernel.scale, "landmarks": (root * kernel.landmarks).tolist()},
        "boundaries": None if boundaries is None else [found and _boundary_json(found, root) for found in boundaries],
    }


def _boundary_json(found: Boundary, root: float) -> dict[str, Any]:
    """Convert a boundary to JSON values, with coordinates and distances in the unit disk; ``root`` is √c."""
    place = {"kind": found.kind, "p": (root * found.p).tolist()}
    if isinstance(found, Sphere):
        return {**place, "radius": root * found.radius, "side": found.side}
    return {**place, "w": found.w.tolist(), "height": root * found.height}


def _places(fitted: Fitted, X: Array) -> dict[str, Any]:
    """Return where each point lies in the unit disk that the page draws."""
    x = np.sqrt(fitted.decision.c) * (X if fitted.plane is None else fitted.plane.project(X))
    return {"x": typed_array(x[:, 0], "<f8"), "y": typed_array(x[:, 1], "<f8")}


def _names(names: Any, n: int) -> list[str]:
    """Validate the names, one string per point, and shorten long names."""
    texts = [str(name) for name in names] if np.ndim(names) == 1 else []
    if len(texts) != n:
        raise ValueError(
            f"names must have one string for each of the {n} rows of X; got shape {np.shape(names)}.\n"
            "Pass a list of names in the order of the rows."
        )
    return [shortened(text) for text in texts]


def _edges(extras: Extras, n: int) -> dict[str, str] | None:
    """Return the pairs of rows to connect: the given edges, and an edge from each row to its parent."""
    if extras.edges is None and extras.parents is None:
        return None
    pairs = [] if extras.edges is None else [check_edges(extras.edges, n)]
    if extras.parents is not None:
        pairs.append(_parent_edges(np.asarray(extras.parents), n))
    return typed_array(np.concatenate(pairs).ravel(), "<u4")


def _parent_edges(parents: Array, n: int) -> Array:
    """Return pairs of a row and its parent; roots, whose parent is -1 or the root itself, are omitted."""
    if parents.shape != (n,) or parents.dtype.kind not in "iu" or (n and not -1 <= parents.min() <= parents.max() < n):
        raise ValueError(
            f"parents must have one row number (0 to {n - 1}, or -1 for a root) for each of the {n} rows of X; "
            f"got dtype {parents.dtype} and shape {parents.shape}"
            f"{f', from {parents.min()} to {parents.max()}' if parents.size and parents.dtype.kind in 'iu' else ''}.\n"
            "Pass the row number of each row's parent."
        )
    rows = np.flatnonzero((parents >= 0) & (parents != np.arange(n)))
    return np.stack([rows, parents[rows]], axis=1)
