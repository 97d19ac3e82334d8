"""A fitted model as one frozen value: scores, probabilities and boundaries."""

from hyplearn.decision.adapter import ForeignDecision, decision_of
from hyplearn.decision.calibration import Calibration
from hyplearn.decision.decision import Decision, Equidistant

__all__ = ["Calibration", "Decision", "Equidistant", "ForeignDecision", "decision_of"]
