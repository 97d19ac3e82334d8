"""Adapter that gives any classifier some methods of :class:`~hyplearn.decision.Decision`, to find its boundaries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.decision.boundary import Equidistant, Hyperplane, plane_boundary
from hyplearn.decision.decision import Decision
from hyplearn.geometry.border import absolute_curvature
from hyplearn.types import Array


@dataclass(frozen=True)
class ForeignDecision:
    """Decision rule of an arbitrary classifier with the scikit-learn interface, such as a pipeline.

    The boundaries between the classes are known in two cases:

    - The classifier has a method ``hyperplane_between(a, b)``. It takes two labels, and returns the normal w and a
      point p of the hyperplane between these two classes. The normal points towards class ``a``. If the classifier has
      ``fit_intercept=True``, its boundaries are not hyperplanes and are treated as unknown.
    - The classifier has ``coef_`` and ``reference_`` of equal shape, with one normal and one point per binary problem.
    """

    # Fitted classifier.
    estimator: Any
    # Labels of the classes.
    classes: Array
    # Absolute value of the curvature.
    c: float

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.classes) == 2

    @property
    def has_probabilities(self) -> bool:
        """Whether the classifier predicts probabilities."""
        return hasattr(self.estimator, "predict_proba")

    @property
    def has_hyperplanes(self) -> bool:
        """Whether ``weights`` and ``points`` define a geodesic hyperplane for each binary problem.

        False if the classifier has a method ``hyperplane_between``, which is used instead.
        """
        shapes = [np.shape(part) for part in (self.weights, self.points)]
        return len(shapes[0]) == 2 and shapes[0] == shapes[1] and not self._has("hyperplane_between")

    through_points = has_hyperplanes

    @property
    def is_pairwise(self) -> bool:
        """Whether :meth:`hyperplane_between` returns the exact boundary for every pair of classes."""
        return self._has("hyperplane_between") and not getattr(self.estimator, "fit_intercept", False)

    @property
    def weights(self) -> Array:
        """Normals of the hyperplanes, one row per problem; empty if they are unknown."""
        return np.asarray(self.estimator.coef_ if self._has("coef_") else ())

    @property
    def points(self) -> Array:
        """Points on the hyperplanes, one row per problem; empty if they are unknown."""
        return np.asarray(self.estimator.reference_ if self._has("reference_") else ())

    def _has(self, name: str) -> bool:
        # An estimator with ``decision_`` gets a ForeignDecision only if it overrides a prediction method of hyplearn;
        # see decision_of. Attributes such as ``coef_`` then do not describe its predictions.
        return hasattr(self.estimator, name) and not hasattr(self.estimator, "decision_")

    def boundary(self) -> Equidistant | None:
        """Return the hyperplane between the two classes; None if it is unknown or there are more than two classes."""
        if not self.is_binary:
            return None
        if self.is_pairwise:
            plane = self.hyperplane_between(1, 0)
            return None if plane is None else plane_boundary(*plane)
        if not self.has_hyperplanes or not np.any(self.weights[0]):
            return None
        return plane_boundary(self.weights[0], self.points[0])

    def hyperplane_between(self, a: int, b: int) -> Hyperplane | None:
        """Return the classifier's hyperplane between the classes with the codes a and b; None if there is none."""
        try:
            found = self.estimator.hyperplane_between(self.classes[a], self.classes[b])
        except ValueError:
            return None
        return None if found is None else (np.asarray(found[0]), np.asarray(found[1]))

    def steepness(self) -> Array | None:
        """Return one factor per class, as in ``Decision.steepness``.

        The result is None if there are two classes, or if a hyperplane is unknown. All factors are 1: the classifier is
        assumed to predict the class with the largest signed distance.
        """
        if self.is_binary or not self.has_hyperplanes or not np.all(np.any(self.weights, axis=1)):
            return None
        return np.ones(len(self.weights))


def fitted_classifier(estimator: Any) -> Any:
    """Return a fitted classifier, or the best estimator of a fitted search; raise an error for other objects."""
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    estimator = getattr(estimator, "best_estimator_", estimator)
    if not hasattr(estimator, "predict") or not hasattr(estimator, "classes_"):
        raise ValueError(
            f"A plot of classes needs a classifier with predict and classes_; got {type(estimator).__name__}.\n"
            "Pass a fitted classifier, or a pipeline that ends with one."
        )
    return estimator


def decision_of(estimator: Any, curvature: float | None = None) -> Decision | ForeignDecision:
    """Return the decision rule of a fitted classifier.

    ``curvature`` is used only if the classifier has no attribute ``curvature``.
    """
    estimator = fitted_classifier(estimator)
    own = curvature_of(estimator, curvature)
    decision = getattr(estimator, "decision_", None)
    if isinstance(decision, Decision) and _evaluates_it(estimator):
        return decision
    return ForeignDecision(estimator, np.asarray(estimator.classes_), absolute_curvature(own))


def _evaluates_it(estimator: Any) -> bool:
    """Return whether the estimator predicts with ``decision_``.

    This is the case if all its prediction methods are defined in hyplearn, and none is overridden elsewhere.
    """
    methods = (getattr(estimator, name, None) for name in ("predict", "predict_proba", "decision_function"))
    return all(method.__module__.startswith("hyplearn.") for method in methods if method is not None)


def curvature_of(estimator: Any, given: float | None) -> float:
    """Return the curvature of the estimator or of a nested estimator.

    If neither has a curvature, the result is ``given``, or -1 if ``given`` is None. Raise ValueError if ``given``
    differs from the curvature of the estimator.
    """
    within = estimator.get_params().values() if hasattr(estimator, "get_params") else ()
    own = next((one.curvature for one in [estimator, *within] if hasattr(one, "curvature")), None)
    if own is not None and given is not None and own != given:
        raise ValueError(
            f"{type(estimator).__name__} was fitted with curvature={own}; got curvature={given} for the plot.\n"
            "Omit curvature."
        )
    curvature = next((value for value in (own, given) if value is not None), -1.0)
    absolute_curvature(curvature)
    return float(curvature)
