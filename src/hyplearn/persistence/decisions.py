"""The decision of a classifier in a model file: its parts, under the names "decision_.part".

Classes and curvature are not among them: the file holds these once, as ``classes_`` and as a parameter.
"""

from typing import Any

import numpy as np

from hyplearn.decision import Calibration, Decision
from hyplearn.persistence.container import FlawError
from hyplearn.persistence.kinds import Kind, number, points, real, truth_value, word
from hyplearn.types import Array

PREFIX = "decision_."
DECISION: dict[str, Kind] = {
    "decision_.link": word("arsinh", "frame", "z", "cone", "ball").perhaps,
    "decision_.weights": real("P", "m").perhaps,
    "decision_.points": points("P", "d").perhaps,
    "decision_.intercepts": real("P").perhaps,
    "decision_.gain": number(above=0.0).perhaps,
    "decision_.through_points": truth_value().perhaps,
    "decision_.slopes": real("P").perhaps,
    "decision_.offsets": real("P").perhaps,
    "decision_.sharpness": number(above=0.0).perhaps,
}
_ALWAYS = ("link", "weights", "points", "intercepts", "gain", "through_points")


def parts_of_decision(decision: Decision) -> dict[str, Any]:
    """The parts of a decision, by their names in a file."""
    parts: dict[str, Any] = {name: getattr(decision, name) for name in _ALWAYS}
    parts["gain"] = float(decision.gain)
    if decision.calibration is not None:
        parts |= {"slopes": decision.calibration.slopes, "offsets": decision.calibration.offsets}
        if decision.calibration.sharpness is not None:
            parts["sharpness"] = float(decision.calibration.sharpness)
    return {PREFIX + name: value for name, value in parts.items()}


def decision_parts(attributes: dict[str, Any]) -> dict[str, Any] | None:
    """The parts of a decision among the attributes of a file, or None if there are none."""
    parts = {name.removeprefix(PREFIX): value for name, value in attributes.items() if name.startswith(PREFIX)}
    return parts or None


def check_decision(attributes: dict[str, Any]) -> None:
    """Raise if parts are missing, or do not fit each other or the estimator."""
    parts = decision_parts(attributes) or {}
    if missing := [name for name in _ALWAYS if name not in parts]:
        raise FlawError(f"its decision lacks {', '.join(missing)}", "Fit it again.")
    if ("slopes" in parts) != ("offsets" in parts) or ("sharpness" in parts and "slopes" not in parts):
        raise FlawError("slopes and offsets of its decision belong together, and a sharpness needs them")
    d = attributes["n_features_in_"] + (parts["link"] == "cone")
    if parts["weights"].shape[1] != d:
        raise FlawError(f"the weights of its decision must have {d} columns")


def decision_from(parts: dict[str, Any], classes: Array, c: float) -> Decision:
    """The decision of checked parts."""
    calibration = None
    if "slopes" in parts:
        calibration = Calibration(parts["slopes"], parts["offsets"], parts.get("sharpness"))
    own = {name: parts[name] for name in _ALWAYS}
    return Decision(np.asarray(classes), c, calibration=calibration, **own)
