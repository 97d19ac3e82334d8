"""The paper to the letter: its algorithms as printed, its protocol, and its baselines, as good as they can be made."""

from hyplearn.paper.hyperboloid import HyperboloidPerceptron, HyperboloidSVC
from hyplearn.paper.svc import AuthorsSVC, EuclideanSVC, PaperSVC

__all__ = ["AuthorsSVC", "EuclideanSVC", "HyperboloidPerceptron", "HyperboloidSVC", "PaperSVC"]
