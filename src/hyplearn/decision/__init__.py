"""Immutable objects that compute the scores, probabilities and boundaries of fitted models."""

from hyplearn.decision.adapter import ForeignDecision, decision_of
from hyplearn.decision.boundary import Boundary, Equidistant, Sphere
from hyplearn.decision.calibration import Calibration
from hyplearn.decision.decision import Decision

__all__ = ["Boundary", "Calibration", "Decision", "Equidistant", "ForeignDecision", "Sphere", "decision_of"]
