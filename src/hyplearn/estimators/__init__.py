"""The scikit-learn face of hyplearn."""

from hyplearn.estimators.logistic import PoincareLogisticRegression
from hyplearn.estimators.logistic_cv import PoincareLogisticRegressionCV
from hyplearn.estimators.perceptron import PoincarePerceptron, PoincareSecondOrderPerceptron
from hyplearn.estimators.prediction_files import predict_to_file
from hyplearn.estimators.svc import PoincareSVC
from hyplearn.estimators.transformers import ExpMap, TangentSpace

__all__ = [
    "ExpMap",
    "PoincareLogisticRegression",
    "PoincareLogisticRegressionCV",
    "PoincarePerceptron",
    "PoincareSVC",
    "PoincareSecondOrderPerceptron",
    "TangentSpace",
    "predict_to_file",
]
