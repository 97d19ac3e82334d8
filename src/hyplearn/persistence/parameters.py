"""Kinds of parameters: what each name must be in every estimator, as a description and as a test."""

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hyplearn.persistence.container import FlawError
from hyplearn.persistence.kinds import are_inside
from hyplearn.reference import STRATEGIES


class Parameter(NamedTuple):
    """Description of a parameter, its test, and the next step for a value that no file can hold."""

    words: str
    holds: Callable[[Any], bool]
    advice: str = "Set it with set_params, and save again."


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) and not np.isnan(float(value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and abs(int(value)) < 2**62


def number(*, above: float = -np.inf, below: float = np.inf, closed: bool = False) -> Parameter:
    """Number between bounds; the lower one included if ``closed``."""
    lower = f"[{above:g}" if closed else f"({above:g}"
    return Parameter(
        f"a number in {lower}, {below:g})",
        lambda value: _is_number(value) and above <= value < below and (closed or value > above),
    )


def whole(least: int, *, none: bool = False, most: int = 2**62) -> Parameter:
    """Integer between bounds."""
    described = f"an integer from {least}" + (" or None" if none else "")
    return Parameter(described, lambda value: (none and value is None) or (_is_whole(value) and least <= value <= most))


def choice(*allowed: str | None) -> Parameter:
    """One of a few strings, or None if that is among them."""
    described = ", ".join("None" if word is None else f'"{word}"' for word in allowed)
    return Parameter(
        f"one of {described}", lambda value: (value is None or isinstance(value, str)) and value in allowed
    )


def or_word(parameter: Parameter, *words: str | None) -> Parameter:
    """Value of the parameter, or one of a few strings."""
    others = choice(*words)
    return Parameter(
        f"{parameter.words}, or {others.words}", lambda value: others.holds(value) or parameter.holds(value)
    )


def _plain_numbers(value: Any, *dimensions: int) -> np.ndarray[Any, Any] | None:
    """Return the numbers of an array, of lists or of tuples as float64; None for anything else."""
    if isinstance(value, (list, tuple)) and _are_numbers(value, max(dimensions)):
        try:
            value = np.array(value, dtype=np.float64)
        except ValueError:  # of unequal lengths
            return None
    if type(value) is not np.ndarray or value.dtype.kind not in "iuf" or value.ndim not in dimensions or not value.size:
        return None
    return value.astype(np.float64)


def _are_numbers(value: Any, depth: int) -> bool:
    if isinstance(value, (list, tuple)):
        return depth > 0 and all(_are_numbers(item, depth - 1) for item in value)
    return _is_number(value) or (type(value) is np.ndarray and value.ndim == 1 == depth and value.dtype.kind in "iuf")


def _are_finite(value: Any, *dimensions: int) -> bool:
    found = _plain_numbers(value, *dimensions)
    return found is not None and bool(np.all(np.isfinite(found)))


def _are_costs(value: Any, *dimensions: int) -> bool:
    costs = _plain_numbers(value, *dimensions)
    return costs is not None and bool(np.all(costs > 0))


def _is_cost(value: Any) -> bool:
    return bool(value > 0) if _is_number(value) else _are_costs(value, 0, 1)


def _is_reference(value: Any) -> bool:
    return value in STRATEGIES if isinstance(value, str) else _are_finite(value, 1, 2)


def _is_class_weight(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value == "balanced"):
        return True
    return type(value) is dict and all(
        isinstance(key, (str, bool, int, float, np.generic)) and _is_number(weight) and 0 <= weight < np.inf
        for key, weight in value.items()
    )


_POINTS = (
    "Set it to the points that were found, set_params(reference=model.reference_) (reference_[0] for a logistic "
    "regression or one point), or to the name of a strategy, and save again."
)
CURVATURE = number(below=0.0)
SWITCH = Parameter("True, False or an integer", lambda value: isinstance(value, (bool, np.bool_)) or _is_whole(value))
PARAMETERS = {
    "reference": Parameter("a strategy's name, or finite points as an array or lists", _is_reference, _POINTS),
    "C": Parameter("a positive number, or one per binary problem", _is_cost),
    "Cs": Parameter("positive numbers", lambda value: _are_costs(value, 1), "Pass a list of numbers, and save again."),
    "cv": whole(2, none=True)._replace(advice="Set cv to a number of folds, and save again: C_ is chosen already."),
    "a": number(above=0.0, closed=True),
    "start": Parameter("None, or finite numbers", lambda value: value is None or _are_finite(value, 1)),
    "tol": number(above=0.0),
    **dict.fromkeys(("max_iter", "max_epochs", "n_components", "n_neighbors"), whole(1)),
    "folds": whole(2),
    "n_jobs": whole(-(2**20), none=True, most=2**20),
    "random_state": whole(0, none=True, most=2**32 - 1)._replace(
        advice="A file holds no state of a generator: set_params(random_state=0), or another integer, and save again."
    ),
    "class_weight": Parameter('None, "balanced", or a dict of label to non-negative weight', _is_class_weight),
    "loss": choice("hinge", "squared_hinge"),
    "margin": choice("bound", "exact"),
    "keep": choice("auto", "last", "average", "best"),
    "calibration": choice("cross-fitted", "training", None),
    "outside": choice("raise", "project"),
    **dict.fromkeys(("shuffle", "warm_start", "fit_intercept", "drop_intercept", "verbose", "refine"), SWITCH),
    "sigma": or_word(number(above=0.05, closed=True), None),
    "gamma": number(above=1e-3, below=1e3, closed=True),
    "init": choice("spectral", "random"),
    "early_exaggeration": number(above=1.0, below=1e3, closed=True),
    "n_landmarks": or_word(whole(3), "auto", None),
    "root": Parameter(
        "None, a text or an integer",
        lambda value: value is None or isinstance(value, str) or _is_whole(value),
        "A file holds names of nodes that are texts or integers: relabel them, and save again.",
    ),
    "layout": choice("sarkar", "wedges"),
    **dict.fromkeys(("spread", "scale"), or_word(number(above=0.0), "auto")),
    "curvature": CURVATURE._replace(holds=lambda value: CURVATURE.holds(value) and value > -np.inf),
}


def check_parameters(found: dict[str, Any], expected: dict[str, Parameter]) -> None:
    """Raise if parameters have other names or kinds than expected."""
    if set(found) != set(expected):
        missing, unknown = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
        raise FlawError(f"of its parameters {missing!r:.200} are missing and {unknown!r:.200} are unknown")
    for name, parameter in expected.items():
        if not parameter.holds(found[name]):
            shown = " ".join(repr(found[name]).split())  # the repr of a torch module has many lines
            raise FlawError(f"{name} must be {parameter.words}; it is {shown:.80}", parameter.advice)
    reference = found.get("reference", "origin")
    if not isinstance(reference, str) and not are_inside(np.asarray(reference, float), -float(found["curvature"])):
        raise FlawError("reference holds points outside the ball of its curvature", PARAMETERS["reference"].advice)
