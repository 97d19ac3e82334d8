"""Rivals kept honest: other people's linear classifiers of the ball, as good as they can be made."""

from hyplearn.baselines.authors import AuthorsSVC
from hyplearn.baselines.euclidean import EuclideanSVC
from hyplearn.baselines.hyperboloid_perceptron import HyperboloidPerceptron
from hyplearn.baselines.hyperboloid_svc import HyperboloidSVC

__all__ = ["AuthorsSVC", "EuclideanSVC", "HyperboloidPerceptron", "HyperboloidSVC"]
