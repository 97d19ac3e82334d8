"""Rivals kept honest: other people's linear classifiers of the ball, as good as they can be made."""

from hyplearn.paper.authors import AuthorsSVC
from hyplearn.paper.euclidean import EuclideanSVC
from hyplearn.paper.hyperboloid_perceptron import HyperboloidPerceptron
from hyplearn.paper.hyperboloid_svc import HyperboloidSVC

__all__ = ["AuthorsSVC", "EuclideanSVC", "HyperboloidPerceptron", "HyperboloidSVC"]
