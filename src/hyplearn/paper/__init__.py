"""Classifiers for reproducing the paper (Chien, Pan, Tabaghi and Milenkovic, 2021).

They are the paper's algorithms as printed, the SVM used for its tables, and baselines.
"""

from hyplearn.paper.hyperboloid import HyperboloidPerceptron, HyperboloidSVC
from hyplearn.paper.svc import AuthorsSVC, EuclideanSVC, PaperSVC

__all__ = ["AuthorsSVC", "EuclideanSVC", "HyperboloidPerceptron", "HyperboloidSVC", "PaperSVC"]
