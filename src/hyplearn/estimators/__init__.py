"""Classifiers and transformers with the interface of scikit-learn."""

from typing import Any

from hyplearn.estimators.conformal import ConformalClassifier
from hyplearn.estimators.kernel_classifier import PoincareKernelClassifier
from hyplearn.estimators.kernel_map import HyperbolicKernelMap
from hyplearn.estimators.logistic import PoincareLogisticRegression
from hyplearn.estimators.logistic_cv import PoincareLogisticRegressionCV
from hyplearn.estimators.neighbors import PoincareKNeighborsClassifier
from hyplearn.estimators.perceptron import PoincarePerceptron, PoincareSecondOrderPerceptron
from hyplearn.estimators.prediction_files import predict_to_file
from hyplearn.estimators.svc import PoincareSVC
from hyplearn.estimators.transformers import ExpMap, TangentSpace

__all__ = [
    "CLASSIFIERS",
    "ConformalClassifier",
    "ExpMap",
    "HyperbolicKernelMap",
    "PoincareKNeighborsClassifier",
    "PoincareKernelClassifier",
    "PoincareLogisticRegression",
    "PoincareLogisticRegressionCV",
    "PoincarePerceptron",
    "PoincareSVC",
    "PoincareSecondOrderPerceptron",
    "TangentSpace",
    "classifier_named",
    "predict_to_file",
]

# Classifiers by name; the command line and the single-cell tools use these names.
CLASSIFIERS: dict[str, Any] = {
    "softmax": PoincareLogisticRegression,
    "softmax-cv": PoincareLogisticRegressionCV,
    "svc": PoincareSVC,
    "perceptron": PoincarePerceptron,
    "second-order": PoincareSecondOrderPerceptron,
    "kernel": PoincareKernelClassifier,
    "neighbors": PoincareKNeighborsClassifier,
}


def classifier_named(name: str, **parameters: Any) -> Any:
    """Create a classifier with the given name and parameters.

    Examples
    --------
    >>> from hyplearn.estimators import classifier_named
    >>> classifier_named("svc", C=10.0)
    PoincareSVC(C=10.0)
    """
    if name not in CLASSIFIERS:
        raise ValueError(f"There is no classifier called {name!r}.\nPass one of {', '.join(CLASSIFIERS)}.")
    return CLASSIFIERS[name](**parameters)
