"""Synthetic points, published embeddings, two trees (mammals, Web of Life), and readers for local files."""

from hyplearn.datasets.files import (
    load_cifar10_images,
    load_fashion_mnist_images,
    load_mini_imagenet,
    load_mini_imagenet_images,
    load_points,
)
from hyplearn.datasets.published import fetch_cifar10, fetch_fashion_mnist, fetch_olsson, load_mammals
from hyplearn.datasets.synthetic import make_ball_classification
from hyplearn.datasets.web_of_life import fetch_web_of_life

__all__ = [
    "fetch_cifar10",
    "fetch_fashion_mnist",
    "fetch_olsson",
    "fetch_web_of_life",
    "load_cifar10_images",
    "load_fashion_mnist_images",
    "load_mammals",
    "load_mini_imagenet",
    "load_mini_imagenet_images",
    "load_points",
    "make_ball_classification",
]
