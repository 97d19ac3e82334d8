"""hyplearn: linear classification in hyperbolic space.

scikit-learn estimators whose decision boundaries are geodesic hyperplanes of the Poincaré ball.
"""

from hyplearn.data.opening import open_points
from hyplearn.estimators import (
    ConformalClassifier,
    ExpMap,
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
    TangentSpace,
    predict_to_file,
)
from hyplearn.explorer import explore
from hyplearn.paper import HyperboloidSVC
from hyplearn.persistence import load, save

__version__ = "0.1.0"
__all__ = [
    "ConformalClassifier",
    "ExpMap",
    "HyperboloidSVC",
    "PoincareLogisticRegression",
    "PoincareLogisticRegressionCV",
    "PoincarePerceptron",
    "PoincareSVC",
    "PoincareSecondOrderPerceptron",
    "TangentSpace",
    "explore",
    "load",
    "open_points",
    "predict_to_file",
    "save",
]
