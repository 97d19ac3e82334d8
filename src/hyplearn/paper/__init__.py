"""The paper to the letter: its algorithms as printed, its protocol, and its baselines, as good as they can be made."""

from hyplearn.paper.euclidean import EuclideanSVC
from hyplearn.paper.hyperboloid import HyperboloidPerceptron, HyperboloidSVC
from hyplearn.paper.svc import AuthorsSVC, PaperSVC

__all__ = ["AuthorsSVC", "EuclideanSVC", "HyperboloidPerceptron", "HyperboloidSVC", "PaperSVC"]
