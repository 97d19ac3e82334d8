"""Classifiers for reproducing the paper: its algorithms as printed, the SVM used for its tables, and baselines."""

from hyplearn.paper.hyperboloid import HyperboloidPerceptron, HyperboloidSVC
from hyplearn.paper.svc import AuthorsSVC, EuclideanSVC, PaperSVC

__all__ = ["AuthorsSVC", "EuclideanSVC", "HyperboloidPerceptron", "HyperboloidSVC", "PaperSVC"]
