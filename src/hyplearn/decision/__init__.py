"""What a fitted model says: scores, probabilities and boundaries, as one frozen value."""

from hyplearn.decision.adapter import ForeignDecision, decision_of
from hyplearn.decision.calibration import Calibration
from hyplearn.decision.decision import Decision, Equidistant

__all__ = ["Calibration", "Decision", "Equidistant", "ForeignDecision", "decision_of"]
