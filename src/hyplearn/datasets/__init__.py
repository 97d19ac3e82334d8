"""Data to learn from: synthetic balls, published embeddings, a small set that ships with the package, your files."""

from hyplearn.datasets.files import load_points
from hyplearn.datasets.mammals import load_mammals
from hyplearn.datasets.mini_imagenet import load_mini_imagenet
from hyplearn.datasets.published import fetch_cifar10, fetch_fashion_mnist, fetch_olsson
from hyplearn.datasets.synthetic import make_ball_classification

__all__ = [
    "fetch_cifar10",
    "fetch_fashion_mnist",
    "fetch_olsson",
    "load_mammals",
    "load_mini_imagenet",
    "load_points",
    "make_ball_classification",
]
