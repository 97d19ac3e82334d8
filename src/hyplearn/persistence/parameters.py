"""Allowed values of the parameters of estimators: a description, a test and advice for each parameter name."""

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hyplearn.persistence.container import FlawError
from hyplearn.persistence.kinds import are_inside
from hyplearn.reference import STRATEGIES

# Maximum absolute value of ``n_jobs`` in a model file. No computer has as many cores, so a larger number is an error or
# an attack.
MOST_JOBS = 2**20


class Parameter(NamedTuple):
    """Allowed values of a parameter: a description, a test, and advice for values that cannot be stored."""

    words: str
    holds: Callable[[Any], bool]
    advice: str = "Set it with set_params, and save again."


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) and not np.isnan(float(value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and abs(int(value)) < 2**62


def number_in(*, above: float = -np.inf, below: float = np.inf, closed: bool = False) -> Parameter:
    """Return a parameter that accepts numbers in the interval (above, below), or in [above, below) if ``closed``."""
    lower = f"[{above:g}" if closed else f"({above:g}"
    return Parameter(
        f"a number in {lower}, {below:g})",
        lambda value: _is_number(value) and above <= value < below and (closed or value > above),
    )


def integer(least: int, *, none: bool = False, most: int = 2**62) -> Parameter:
    """Return a parameter that accepts integers from ``least`` to ``most`` and, if ``none`` is True, also None."""
    described = f"an integer of at least {least}" + (f" and at most {most}" if most < 2**62 else "")
    described += ", or None" if none else ""
    return Parameter(described, lambda value: (none and value is None) or (_is_whole(value) and least <= value <= most))


def choice(*allowed: str | None) -> Parameter:
    """Return a parameter that accepts only the given values, which are strings or None."""
    described = ", ".join("None" if word is None else f'"{word}"' for word in allowed)
    described = f"one of {described}" if len(allowed) > 1 else described
    return Parameter(described, lambda value: isinstance(value, str | None) and value in allowed)


def or_word(parameter: Parameter, *words: str | None) -> Parameter:
    """Return a parameter that accepts the values of ``parameter`` and the given words, which are strings or None."""
    others = choice(*words)
    return Parameter(
        f"{parameter.words}, or {others.words}", lambda value: others.holds(value) or parameter.holds(value)
    )


def _are_numbers(value: Any, right: Callable[[Any], Any], *dimensions: int) -> bool:
    """Return whether a value is a non-empty array, list or tuple of numbers that pass the test ``right``.

    ``dimensions`` lists the allowed numbers of axes.
    """
    if isinstance(value, (list, tuple)) and _has_numbers_only(value, max(dimensions)):
        try:
            value = np.array(value, dtype=np.float64)
        except ValueError:  # the rows have unequal lengths
            return False
    if type(value) is not np.ndarray or value.dtype.kind not in "iuf" or value.ndim not in dimensions or not value.size:
        return False
    return bool(np.all(right(value.astype(np.float64))))


def _has_numbers_only(value: Any, depth: int) -> bool:
    # Check the elements before they are converted to an array: in an array of strings, every element would take as much
    # memory as the longest string.
    if isinstance(value, (list, tuple)):
        return depth > 0 and all(_has_numbers_only(item, depth - 1) for item in value)
    return _is_number(value) or (type(value) is np.ndarray and value.ndim == 1 == depth and value.dtype.kind in "iuf")


def _are_costs(value: Any, *dimensions: int) -> bool:
    return _are_numbers(value, lambda costs: costs > 0, *dimensions)


def _is_class_weight(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value == "balanced"):
        return True
    return type(value) is dict and all(
        isinstance(key, (str, bool, int, float, np.generic)) and _is_number(weight) and 0 <= weight < np.inf
        for key, weight in value.items()
    )


def _is_hierarchy(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return True
    if type(value) is not dict or not all(isinstance(node, (str, int)) for node in value):
        return False
    lists = [parents if type(parents) is list else [parents] for parents in value.values()]
    return all(isinstance(node, (str, int, type(None))) for parents in lists for node in parents)


HIERARCHY = Parameter(
    "None, a Newick string, or a dict from strings or integers to a parent or a list of parents",
    _is_hierarchy,
    "Set hierarchy to a dict: {node: list(graph.predecessors(node)) for node in graph}, and save again.",
)
SWITCH = Parameter("True, False or an integer", lambda value: isinstance(value, (bool, np.bool_)) or _is_whole(value))
PARAMETERS = {
    "reference": Parameter(
        "a strategy's name, or finite points as an array or lists",
        lambda value: value in STRATEGIES if isinstance(value, str) else _are_numbers(value, np.isfinite, 1, 2),
        "Set it to the fitted points with set_params(reference=model.reference_) (reference_[0] for a logistic "
        "regression or one point), or to the name of a strategy, and save again.",
    ),
    "C": Parameter(
        "a positive number, or one per binary problem",
        lambda value: bool(value > 0) if _is_number(value) else _are_costs(value, 0, 1),
    ),
    "Cs": Parameter("positive numbers", lambda value: _are_costs(value, 1), "Pass a list of numbers, and save again."),
    "cv": integer(2, none=True)._replace(advice="Set cv to a number of folds, and save again: C_ is already chosen."),
    "a": number_in(above=0.0, closed=True),
    "start": Parameter("None, or finite numbers", lambda value: value is None or _are_numbers(value, np.isfinite, 1)),
    "kernel": choice("laplacian", "secant", "heat"),
    "weights": choice("uniform", "distance"),
    "landmarks": Parameter(
        "None, or finite points as an array or lists",
        lambda value: value is None or _are_numbers(value, np.isfinite, 2),
        "Pass an array or lists of numbers, and save again.",
    ),
    "tol": number_in(above=0.0),
    **dict.fromkeys(("max_iter", "max_epochs", "n_components", "n_neighbors"), integer(1)),
    "folds": integer(2),
    "n_jobs": Parameter(
        f"an integer from {-MOST_JOBS} to {MOST_JOBS} other than 0, or None",
        lambda value: value is None or (_is_whole(value) and 0 < abs(value) <= MOST_JOBS),
    ),
    "random_state": integer(0, none=True, most=2**32 - 1)._replace(
        advice="A model file cannot store the state of a generator: call set_params(random_state=0), and save again."
    ),
    "class_weight": Parameter(
        'None, "balanced", or a dict from labels to finite, non-negative weights', _is_class_weight
    ),
    "loss": choice("hinge", "squared_hinge"),
    "margin": choice("bound", "exact"),
    "keep": choice("auto", "last", "average", "best"),
    "calibration": choice("cross-fitted", "training", None),
    "outside": choice("raise", "project"),
    **dict.fromkeys(
        ("shuffle", "warm_start", "by_class", "fit_intercept", "drop_intercept", "verbose", "refine", "trim"), SWITCH
    ),
    "sigma": or_word(number_in(above=0.05, closed=True), None),
    "gamma": number_in(above=1e-3, below=1e3, closed=True),
    "init": choice("spectral", "random"),
    "early_exaggeration": number_in(above=1.0, below=1e3, closed=True),
    "n_landmarks": or_word(integer(3), "auto", None),
    "root": Parameter(
        "None, a string or an integer",
        lambda value: value is None or isinstance(value, str) or _is_whole(value),
        "A model file stores only node names that are strings or integers: relabel the nodes, and save again.",
    ),
    "layout": choice("sarkar", "wedges"),
    **dict.fromkeys(("spread", "scale"), or_word(number_in(above=0.0), "auto")),
    "curvature": number_in(below=0.0),
}


def check_parameters(found: dict[str, Any], expected: dict[str, Parameter]) -> None:
    """Check the names and values of the parameters, and that ``reference`` is inside the ball.

    Raise FlawError if the names differ from those in ``expected``, or if a value is not allowed.
    """
    if set(found) != set(expected):
        wrong = {"missing": set(expected) - set(found), "unknown": set(found) - set(expected)}
        listed = (f"{', '.join(map(repr, sorted(names))):.200} ({word})" for word, names in wrong.items() if names)
        raise FlawError(f"the parameters do not match the class of the estimator: {'; '.join(listed)}")
    for name, parameter in expected.items():
        if not parameter.holds(found[name]):
            shown = " ".join(repr(found[name]).split())  # on one line, because the repr of a torch module has many
            raise FlawError(f"{name} must be {parameter.words}; it is {shown:.80}", parameter.advice)
    reference = found.get("reference", "origin")
    if isinstance(reference, (list, tuple, np.ndarray)) and not are_inside(
        np.asarray(reference, float), -float(found["curvature"])
    ):
        raise FlawError("reference contains points outside the ball", PARAMETERS["reference"].advice)
