"""Model files of version 0.1: their attributes in the names and with the decision of this version."""

from typing import Any

import numpy as np

from hyplearn.decision import Calibration, Decision
from hyplearn.decision.calibration import FLAT
from hyplearn.geometry import gap
from hyplearn.persistence.container import FlawError
from hyplearn.persistence.decisions import parts_of_decision

Values = dict[str, Any]
TANGENT = ("PoincareSVC", "PoincarePerceptron", "PoincareSecondOrderPerceptron")
SOFTMAX = ("PoincareLogisticRegression", "PoincareLogisticRegressionCV")
BASELINES = ("HyperboloidSVC", "HyperboloidPerceptron", "EuclideanSVC", "AuthorsSVC")
SIGMOIDS = ("sigmoids_", "sharpness_", "shift_")


def upgrade(name: str, parameters: Values, attributes: Values) -> tuple[Values, Values]:
    """Parameters and attributes of a file of version 0.1, as this version has them.

    Predictions stay the same. A calibration on training scores becomes the default one in the parameters, which a new
    fit would use.
    """
    if name not in (*TANGENT, *SOFTMAX, *BASELINES):
        return parameters, attributes
    try:
        return _upgraded(name, dict(parameters), dict(attributes))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise FlawError(f"its attributes are not those of {name} in version 0.1 ({str(error)[:80]})") from None


def _upgraded(name: str, parameters: Values, attributes: Values) -> tuple[Values, Values]:
    trained = parameters.get("calibration") == "training"
    if name == "PoincareSVC":
        parameters.pop("solver", None)
    if "classes_" in attributes:
        decision = _decision(name, parameters, attributes, trained and "sigmoids_" in attributes)
        attributes |= parts_of_decision(decision)
    for old in SIGMOIDS:
        attributes.pop(old, None)
    if trained and name in TANGENT:
        parameters["calibration"] = "cross-fitted"
    return parameters, attributes


def _decision(name: str, parameters: Values, attributes: Values, trained: bool) -> Decision:
    classes, c = attributes["classes_"], -float(parameters["curvature"])
    coef = np.asarray(attributes["coef_"], dtype=np.float64)
    if name in SOFTMAX:
        identity = Calibration.identity(len(coef))
        return Decision(
            classes, c, "cone", coef, attributes["reference_"], attributes["intercept_"], calibration=identity
        )
    points = attributes.get("reference_", np.zeros_like(coef))
    nothing, link, gain, through = np.zeros(len(coef)), "arsinh", 1.0, name in (*TANGENT, "AuthorsSVC")
    if name in TANGENT and trained:
        link = "frame" if parameters.get("margin") == "bound" else "z"
    elif name in TANGENT:
        lengths = np.linalg.norm(coef, axis=1, keepdims=True)
        coef, gain = coef / np.where(lengths > 0, lengths, 1.0), 1 / np.sqrt(c)
    elif name == "EuclideanSVC":
        link, nothing = "ball", attributes["intercept_"]
    elif name == "AuthorsSVC":
        link, coef = "frame", gap(points, c=c)[:, None] / 2 * coef
    calibration = _calibration(attributes, parameters.get("calibration") == "training")
    return Decision(classes, c, link, coef, points, nothing, float(gain), calibration, through)  # type: ignore[arg-type]


def _calibration(attributes: Values, trained: bool) -> Calibration | None:
    if "sigmoids_" not in attributes:
        return None
    slopes, offsets = np.array(attributes["sigmoids_"], dtype=np.float64).T.copy()
    if len(slopes) == 1 and not trained and slopes[0] <= 0:
        slopes, offsets = np.array([FLAT]), np.zeros(1)  # the sign of the distance decided
    return Calibration(slopes, offsets, float(attributes["sharpness_"]))
