r"""A fitted classifier as the few numbers by which the page decides as ``predict`` does.

The page knows the unit disk: coordinates and tangent vectors arrive there times √c. With s = x - p, a and b the gaps of
p and x, z the scaled tangent vector and ρ the distance to p, problem k has one of these scores (``LINKS``):

========  ==============================================================
arsinh    gain · arsinh ⟨z, w⟩, for unit w and gain 1/√c the distance
z         ⟨z, w⟩
frame     ⟨f, w⟩, f = z ρ / sinh ρ
cone      (w₀ cosh ρ + ⟨z, w⟩) s(ρ) / sinh ρ + b, s as in cone_length
ball      ⟨x, w⟩ + b
========  ==============================================================

The class of the largest score is taken as it is, or after sigmoids; of two classes with one score, its sign.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from hyplearn.cone import NEAR
from hyplearn.estimators import (
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
)
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.geometry import gap
from hyplearn.paper import AuthorsSVC, EuclideanSVC, HyperboloidPerceptron, HyperboloidSVC
from hyplearn.types import Array

Link = Literal["arsinh", "z", "frame", "cone", "ball"]


@dataclass(frozen=True)
class Problem:
    """One score of the unit disk: the reference point, the weights, and what is added."""

    p: tuple[float, float]
    w: tuple[float, float]
    w0: float = 0.0
    b: float = 0.0


@dataclass(frozen=True)
class Decision:
    """All scores, and how they become classes and probabilities.

    Parameters
    ----------
    link : str
        What kind of score; see the module.
    problems : list of Problem
        One per score.
    gain : float
        Factor of scores by arsinh.
    sigmoids : list of pairs of float or None
        Slope and offset of each score's sigmoid; None for scores as they are.
    sharpness : float
        Power of the sigmoids of many classes.
    shift : float or None
        Of two classes with one score: where predictions change; None if where the sigmoid is ½.
    is_softmax : bool
        Whether scores are log-odds of classes.
    near : float
        Distance up to which cone coordinates are not shortened.
    has_reference : bool
        Whether p is the point that the classifier learned its boundary through.
    """

    link: Link
    problems: list[Problem]
    gain: float = 1.0
    sigmoids: list[tuple[float, float]] | None = None
    sharpness: float = 1.0
    shift: float | None = 0.0
    is_softmax: bool = False
    near: float = NEAR
    has_reference: bool = False

    def as_json(self) -> dict[str, Any]:
        """For the page."""
        return asdict(self)


def decision_of(estimator: Any) -> Decision | None:
    """The decision of a classifier of the disk; None if it is of a kind that only ``predict`` knows."""
    # By the very type: a subclass may decide otherwise.
    reader = READERS.get(type(estimator))
    return None if reader is None or estimator.n_features_in_ != 2 else reader(estimator)


def across(estimator: Any) -> Decision | None:
    """The decision on a plane across the boundary of two classes in more dimensions, where distance alone decides."""
    reader = READERS.get(type(estimator))
    decision = None if reader is None else reader(estimator)
    if decision is None or decision.link != "arsinh":
        return None
    # On that plane p is the centre and w points to the right.
    length = float(np.linalg.norm(estimator.coef_[0])) if reader is _hyperboloid else 1.0
    return Decision(**{**vars(decision), "problems": [Problem((0.0, 0.0), (length, 0.0))], "has_reference": False})


def _tangent(estimator: Any) -> Decision:
    """Hyperplanes through reference points: scores are distances, or in the paper's calibration the rows' values."""
    root = np.sqrt(absolute_curvature(estimator.curvature))
    is_rows = estimator.calibration == "training" and hasattr(estimator, "sigmoids_")
    lengths = np.linalg.norm(estimator.coef_, axis=1, keepdims=True)
    w = estimator.coef_ / root if is_rows else estimator.coef_ / np.where(lengths > 0, lengths, 1.0)
    return _one_vs_rest(estimator, estimator._features if is_rows else "arsinh", w, gain=1 / root, has_reference=True)


def _hyperboloid(estimator: Any) -> Decision:
    return _one_vs_rest(estimator, "arsinh", estimator.coef_)


def _authors(estimator: Any) -> Decision:
    """Logarithms in coordinates of the ball, half the gap of p times those in the frame."""
    c = absolute_curvature(estimator.curvature)
    shrunk = gap(estimator.reference_, c=c)[:, None] / (2 * np.sqrt(c)) * estimator.coef_
    return _one_vs_rest(estimator, "frame", shrunk, has_reference=True)


def _euclidean(estimator: Any) -> Decision:
    root = np.sqrt(absolute_curvature(estimator.curvature))
    return _one_vs_rest(estimator, "ball", estimator.coef_ / root)


def _softmax(estimator: Any) -> Decision:
    root = np.sqrt(absolute_curvature(estimator.curvature))
    coef, intercepts = (estimator._per_class(values) for values in (estimator.coef_, estimator.intercept_))
    p = _pair(root * estimator.reference_[0])
    rows = zip(coef, intercepts, strict=True)
    return Decision("cone", [Problem(p, _pair(w[1:]), float(w[0]), float(b)) for w, b in rows], is_softmax=True)


def _one_vs_rest(estimator: Any, link: Link, w: Array, *, gain: float = 1.0, has_reference: bool = False) -> Decision:
    """Scores of one class against the rest, with their sigmoids where there are any."""
    root = np.sqrt(absolute_curvature(estimator.curvature))
    points = root * getattr(estimator, "reference_", np.zeros_like(w))
    added = getattr(estimator, "intercept_", np.zeros(len(w)))
    problems = [Problem(_pair(p), _pair(row), b=float(b)) for p, row, b in zip(points, w, added, strict=True)]
    if not hasattr(estimator, "sigmoids_"):
        return Decision(link, problems, gain, has_reference=has_reference)
    return Decision(
        link,
        problems,
        gain,
        [_pair(sigmoid) for sigmoid in estimator.sigmoids_],
        float(estimator.sharpness_),
        None if estimator.calibration == "training" else float(getattr(estimator, "shift_", 0.0)),
        has_reference=has_reference,
    )


def _pair(values: Array) -> tuple[float, float]:
    """The first two coordinates; of more dimensions the caller knows others."""
    return float(values[0]), float(values[1])


READERS: dict[type, Callable[[Any], Decision]] = {
    PoincareSVC: _tangent,
    PoincarePerceptron: _tangent,
    PoincareSecondOrderPerceptron: _tangent,
    PoincareLogisticRegression: _softmax,
    PoincareLogisticRegressionCV: _softmax,
    HyperboloidSVC: _hyperboloid,
    HyperboloidPerceptron: _hyperboloid,
    AuthorsSVC: _authors,
    EuclideanSVC: _euclidean,
}
