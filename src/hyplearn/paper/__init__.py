"""Reproduction of the paper: its algorithms as printed, its protocol, and baselines."""

from hyplearn.paper.hyperboloid import HyperboloidPerceptron, HyperboloidSVC
from hyplearn.paper.svc import AuthorsSVC, EuclideanSVC, PaperSVC

__all__ = ["AuthorsSVC", "EuclideanSVC", "HyperboloidPerceptron", "HyperboloidSVC", "PaperSVC"]
