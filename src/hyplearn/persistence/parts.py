"""Split composite attributes into parts with names such as "attribute.part", and restore them from the parts.

Model files contain the parts. Attributes from files of format version 1, written by hyplearn 0.1, are converted to the
current version of the format.
"""

import dataclasses
from typing import Any

import numpy as np

from hyplearn.decision import Calibration, Decision
from hyplearn.decision.calibration import FLAT
from hyplearn.decision.conformal import Neighbours
from hyplearn.embedding.descent import Hydra
from hyplearn.geometry import gap
from hyplearn.geometry.border import absolute_curvature
from hyplearn.kernels.nystrom import LandmarkKernel
from hyplearn.persistence.container import FlawError
from hyplearn.solvers.perceptron import Perceptron
from hyplearn.solvers.sgd import Descent

Values = dict[str, Any]
# Type of each composite attribute: a dict or a named tuple. If the attribute is a list with one item per binary
# problem, the type of its items is given instead, and the values of each field of the items are stored as one array.
COMPOSED: dict[str, type[Any]] = {
    "_descents": Descent,
    "_perceptrons": Perceptron,
    "mistake_bounds_": dict,
    "_sklearn_output_config": dict,
    "_hydra": Hydra,
    "_near": Neighbours,
}
# Fields that are stored for every decision. The classes and the curvature are not included, because they are stored as
# the attribute ``classes_`` and as a parameter.
DECISION_PARTS = ("link", "weights", "points", "intercepts", "gain", "through_points")
PREFIX = "decision_."


def take_apart(state: Values) -> Values:
    """Return a copy of ``state`` in which each composite attribute is replaced with its parts."""
    parts: Values = {}
    for name, value in state.items():
        if isinstance(value, Decision):
            parts |= _parts_of_decision(value)
        elif name not in COMPOSED:
            parts[name] = value
        elif isinstance(value, dict) or hasattr(value, "_asdict"):
            entries = value if isinstance(value, dict) else value._asdict()
            parts |= {f"{name}.{key}": part for key, part in entries.items()}
        elif value:
            for field in dataclasses.fields(COMPOSED[name]):
                parts[f"{name}.{field.name}"] = np.stack([np.asarray(getattr(item, field.name)) for item in value])
    return parts


def put_together(parts: Values, parameters: Values, *, streams: bool) -> Values:
    """Restore attributes from their parts.

    ``streams`` is True for classes that have the attribute ``_descents``. If an estimator of such a class is fitted,
    and its parts do not contain ``_descents``, the attribute is set to [].
    """
    state = {name: value for name, value in parts.items() if "." not in name}
    for name, made_of in COMPOSED.items():
        own = {key.partition(".")[2]: value for key, value in parts.items() if key.startswith(f"{name}.")}
        if own:
            state[name] = made_of(**own) if made_of is dict or hasattr(made_of, "_fields") else _items(made_of, own)
        elif name == "_descents" and streams and state:
            state[name] = []
    if decision := decision_parts(parts):
        c, kernel = absolute_curvature(parameters["curvature"]), None
        if "kernel" in decision:
            kernel = LandmarkKernel(decision["kernel"], state["scale_"], c, state["landmarks_"])
        state["decision_"] = _decision_from(decision, state["classes_"], c, kernel)
        if state["decision_"].calibration is not None and "calibration" in parameters:
            state["calibration_"] = state["decision_"].calibration
    return state


def _items(made_of: Any, columns: Values) -> list[Any]:
    """Create one object per binary problem; ``columns`` maps each field to its values, one value per problem."""
    given = {field.name for field in dataclasses.fields(made_of) if field.init}
    items = []
    for k in range(len(columns["w"])):
        row = {name: column[k].copy() if column.ndim > 1 else int(column[k]) for name, column in columns.items()}
        item = made_of(**{name: row[name] for name in given})
        for name in set(row) - given:
            setattr(item, name, row[name])
        items.append(item)
    return items


def decision_parts(attributes: Values) -> Values:
    """Return the attributes whose names start with ``decision_.``, without this prefix."""
    return {name.removeprefix(PREFIX): value for name, value in attributes.items() if name.startswith(PREFIX)}


def _parts_of_decision(decision: Decision) -> Values:
    parts: Values = {name: getattr(decision, name) for name in DECISION_PARTS}
    parts["gain"] = float(decision.gain)
    if decision.calibration is not None:
        parts |= {"slopes": decision.calibration.slopes, "offsets": decision.calibration.offsets}
        if decision.calibration.mixing is not None:
            parts["mixing"] = decision.calibration.mixing
        if decision.calibration.sharpness is not None:
            parts["sharpness"] = float(decision.calibration.sharpness)
        if decision.calibration.floor:
            parts["floor"] = float(decision.calibration.floor)
    if decision.kernel is not None:  # the scale and landmarks of the kernel are attributes of the estimator
        parts["kernel"] = decision.kernel.name
    return {PREFIX + name: value for name, value in parts.items()}


def _decision_from(parts: Values, classes: Any, c: float, kernel: LandmarkKernel | None) -> Decision:
    calibration = None
    if "slopes" in parts:
        shape = parts.get("sharpness"), parts.get("mixing"), parts.get("floor", 0.0)
        calibration = Calibration(parts["slopes"], parts["offsets"], *shape)
    own = {name: parts[name] for name in DECISION_PARTS}
    return Decision(np.asarray(classes), c, calibration=calibration, kernel=kernel, **own)


TANGENT = ("PoincareSVC", "PoincarePerceptron", "PoincareSecondOrderPerceptron")
SOFTMAX = ("PoincareLogisticRegression", "PoincareLogisticRegressionCV")
BASELINES = ("HyperboloidSVC", "HyperboloidPerceptron", "EuclideanSVC", "AuthorsSVC")


def upgrade(name: str, parameters: Values, attributes: Values) -> tuple[Values, Values]:
    """Convert parameters and attributes from a file written by hyplearn 0.1 to the current version of the format.

    Predictions do not change. The perceptrons and PoincareSVC no longer support ``calibration="training"``. This
    value is replaced with the default, which takes effect in the next fit.
    """
    if name not in (*TANGENT, *SOFTMAX, *BASELINES):
        return parameters, attributes
    try:
        return _upgrade(name, dict(parameters), dict(attributes))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise FlawError(
            f"the file does not contain the attributes that {name} had in version 0.1 ({str(error)[:80]})"
        ) from None


def _upgrade(name: str, parameters: Values, attributes: Values) -> tuple[Values, Values]:
    if name == "PoincareSVC":
        parameters.pop("solver", None)
        parameters["fit_intercept"] = True
    if name in (*TANGENT, *SOFTMAX):
        parameters["trim"] = False
    if name == "PoincareLogisticRegression" and "classes_" in attributes:
        attributes["C_"] = float(parameters["C"])
    if name == "PoincareSVC" and "classes_" in attributes:
        attributes["C_"] = np.broadcast_to(np.asarray(parameters["C"], float), (len(attributes["coef_"]),)).copy()
    if "classes_" in attributes:
        attributes |= _parts_of_decision(_old_decision(name, parameters, attributes))
    for old in ("sigmoids_", "sharpness_", "shift_"):
        attributes.pop(old, None)
    if parameters.get("calibration") == "training" and name in TANGENT:
        parameters["calibration"] = "cross-fitted"
    return parameters, attributes


def _old_decision(name: str, parameters: Values, attributes: Values) -> Decision:
    classes, c = attributes["classes_"], -float(parameters["curvature"])
    coef = np.asarray(attributes["coef_"], dtype=np.float64)
    calibration = _old_calibration(parameters, attributes)
    points = attributes.get("reference_", np.zeros_like(coef))
    intercepts, link, gain, through = np.zeros(len(coef)), "arsinh", 1.0, name in (*TANGENT, "AuthorsSVC")
    if name in SOFTMAX:
        link, intercepts, calibration = "cone", attributes["intercept_"], Calibration.identity(len(coef))
    elif name in TANGENT and calibration is not None and parameters.get("calibration") == "training":
        link = "frame" if parameters.get("margin") == "bound" else "z"
    elif name in TANGENT:
        lengths = np.linalg.norm(coef, axis=1, keepdims=True)
        coef, gain = coef / np.where(lengths > 0, lengths, 1.0), 1 / np.sqrt(c)
    elif name == "EuclideanSVC":
        link, intercepts = "ball", attributes["intercept_"]
    elif name == "AuthorsSVC":
        link, coef = "frame", gap(points, c=c)[:, None] / 2 * coef
    return Decision(classes, c, link, coef, points, intercepts, float(gain), calibration, through)  # type: ignore[arg-type]


def _old_calibration(parameters: Values, attributes: Values) -> Calibration | None:
    if "sigmoids_" not in attributes:
        return None
    slopes, offsets = np.array(attributes["sigmoids_"], dtype=np.float64).T.copy()
    if len(slopes) == 1 and parameters.get("calibration") != "training" and slopes[0] <= 0:
        # Version 0.1 predicted the class from the sign of the score; a positive slope and no offset keep this sign.
        slopes, offsets = np.array([FLAT]), np.zeros(1)
    return Calibration(slopes, offsets, float(attributes["sharpness_"]))
