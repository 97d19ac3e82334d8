"""Any classifier as a decision: those of this package bring their own, others answer through their methods."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.decision.decision import Decision
from hyplearn.geometry.border import absolute_curvature
from hyplearn.types import Array


@dataclass(frozen=True)
class ForeignDecision:
    """A classifier that is known only by its methods: a pipeline, a wrapped model, nearest neighbours.

    Attributes
    ----------
    estimator : object
        The fitted classifier.
    classes : ndarray of shape (K,)
        Its labels.
    c : float
        Absolute curvature of the points it takes.
    """

    estimator: Any
    classes: Array
    c: float

    has_hyperplanes = False

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.classes) == 2

    @property
    def has_probabilities(self) -> bool:
        """Whether the classifier has probabilities."""
        return hasattr(self.estimator, "predict_proba")

    def boundary(self) -> None:
        """Unknown: predictions of this classifier may change anywhere."""

    def steepness(self) -> None:
        """Unknown, as the boundaries are."""


def fitted_classifier(estimator: Any) -> Any:
    """The classifier itself, or the best one that a search found; an error if it is not a fitted classifier."""
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    estimator = getattr(estimator, "best_estimator_", estimator)
    if not hasattr(estimator, "predict") or not hasattr(estimator, "classes_"):
        raise ValueError(
            f"A picture of classes needs a classifier with predict and classes_; got {type(estimator).__name__}.\n"
            "Pass a fitted classifier, alone or at the end of a pipeline."
        )
    return estimator


def decision_of(estimator: Any, curvature: float | None = None) -> Decision | ForeignDecision:
    """The decision of a fitted classifier.

    Parameters
    ----------
    estimator : classifier
        Fitted; a search stands for its best estimator.
    curvature : float, optional
        Sectional curvature, for classifiers that have none of their own.
    """
    estimator = fitted_classifier(estimator)
    own = curvature_of(estimator, curvature)
    decision = getattr(estimator, "decision_", None)
    if isinstance(decision, Decision):
        return decision
    return ForeignDecision(estimator, np.asarray(estimator.classes_), absolute_curvature(own))


def curvature_of(estimator: Any, given: float | None) -> float:
    """Curvature of the estimator, or of the first estimator within it that has one; otherwise the given one, or -1."""
    within = estimator.get_params().values() if hasattr(estimator, "get_params") else ()
    own = next((one.curvature for one in [estimator, *within] if hasattr(one, "curvature")), None)
    if own is not None and given is not None and own != given:
        raise ValueError(
            f"{type(estimator).__name__} was fitted with curvature={own}; got curvature={given} for its picture.\n"
            "Leave curvature out."
        )
    curvature = next((value for value in (own, given) if value is not None), -1.0)
    absolute_curvature(curvature)
    return float(curvature)
