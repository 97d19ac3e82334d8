"""The scikit-learn face of hyplearn."""

from hyplearn.estimators.logistic import PoincareLogisticRegression
from hyplearn.estimators.perceptron import PoincarePerceptron, PoincareSecondOrderPerceptron
from hyplearn.estimators.svc import PoincareSVC
from hyplearn.estimators.transformers import ExpMap, TangentSpace

__all__ = [
    "ExpMap",
    "PoincareLogisticRegression",
    "PoincarePerceptron",
    "PoincareSVC",
    "PoincareSecondOrderPerceptron",
    "TangentSpace",
]
