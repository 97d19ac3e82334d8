"""hyplearn: linear classification in hyperbolic space.

scikit-learn estimators whose decision boundaries are geodesic hyperplanes of the Poincaré ball.
"""

from hyplearn.baselines import HyperboloidSVC
from hyplearn.estimators import (
    ExpMap,
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
    TangentSpace,
)
from hyplearn.explorer import explore
from hyplearn.persistence import load, save

__version__ = "0.1.0"
__all__ = [
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
    "save",
]
