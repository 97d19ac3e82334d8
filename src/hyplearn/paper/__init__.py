"""Classifiers for reproducing the paper (Chien, Pan, Tabaghi and Milenkovic, 2021).

This package contains the algorithms as printed in the paper, the SVM used for the paper's tables, and baselines.
"""

from hyplearn.paper.hyperboloid import HyperboloidPerceptron, HyperboloidSVC
from hyplearn.paper.svc import AuthorsSVC, EuclideanSVC, PaperSVC

__all__ = ["AuthorsSVC", "EuclideanSVC", "HyperboloidPerceptron", "HyperboloidSVC", "PaperSVC"]
