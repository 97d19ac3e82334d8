"""Fitted estimators of every class that can be stored in a model file."""

import warnings
from functools import cache
from importlib.util import find_spec

import numpy as np

from hyplearn import (
    ConformalClassifier,
    ExpMap,
    HyperbolicKernelMap,
    HyperboloidSVC,
    PoincareKernelClassifier,
    PoincareKNeighborsClassifier,
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
    TangentSpace,
)
from hyplearn.embedding import BallNet, HyperbolicMDS, PoincareMap, TreeEmbedding
from hyplearn.geometry import pairwise_distance
from hyplearn.paper import AuthorsSVC, EuclideanSVC, HyperboloidPerceptron, PaperSVC

HAS_TORCH = find_spec("torch") is not None
NAMES = np.array(["ash", "birch", "cedar"])


def ball(n=60, classes=3, seed=0):
    """Overlapping classes of the disk, with integers as labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    corners = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    return ExpMap().fit_transform(corners[y] + 0.6 * rng.standard_normal((n, 2))), y


def estimators():
    """Unfitted classifiers of every class, with few passes."""
    return [
        PoincareSVC(folds=2),
        PoincareSVC("boundary", folds=2),
        PoincareSVC(C=2.0, fit_intercept=False, calibration=None),
        PoincarePerceptron(max_epochs=5),
        PoincareSecondOrderPerceptron(max_epochs=5),
        PoincareLogisticRegression(),
        PoincareLogisticRegressionCV(Cs=(1, 10), cv=2),
        HyperboloidSVC(max_iter=20, calibration="training"),
        EuclideanSVC(),
        AuthorsSVC("means"),
        PaperSVC("means"),
        HyperboloidPerceptron(max_epochs=3),
        PoincareKernelClassifier(n_components=12),
        PoincareKNeighborsClassifier(4),
        TangentSpace(),
        ExpMap(),
        HyperbolicKernelMap(n_components=8),
        ConformalClassifier(PoincareLogisticRegression(), folds=2),
        ConformalClassifier(PoincareSVC(folds=2), conformity="distance", folds=3),
    ]


def quietly_fitted(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


def embedders():
    """Fitted embedders of every class."""
    X, _ = ball(20)
    return [
        TreeEmbedding().fit("((ash,birch)leafy,cedar)tree;"),
        TreeEmbedding(3, root=2).fit([-1, 0, 0, 1]),
        HyperbolicMDS().fit(pairwise_distance(X)),
        HyperbolicMDS(curvature="auto", refine=False).fit(2.0 * pairwise_distance(X)),
        PoincareMap(n_neighbors=4, root=3, tol=1e-3).fit(X),
        PoincareMap(3, sigma=None, n_neighbors=5, n_landmarks=12, random_state=0, tol=1e-2).fit(X),
    ]


def images(n=24, classes=3):
    """Small images in which each class has a different bright corner."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    X = rng.integers(0, 50, (n, 8, 9), dtype=np.uint8)
    for k, (row, column) in enumerate([(0, 0), (0, 5), (4, 0)][:classes]):
        X[y == k, row : row + 4, column : column + 4] += 200
    return X, y


@cache
def networks():
    """Fitted networks with all encoders and heads, for rows and images; an empty list if torch is not installed."""
    if not HAS_TORCH:
        return []
    quick = {"epochs": 2, "batch_size": 8}
    X, y = images()
    rows = X.reshape(len(X), -1)[:, ::9]
    return [
        BallNet(**quick).fit(rows, NAMES[y]),
        BallNet(3, encoder="mlp", head="euclidean", validation_fraction=0.25, **quick).fit(X, y),
        BallNet(encoder="conv", curvature=-0.5, max_radius=2.0, **quick).fit(X, NAMES[y]),
        BallNet(3, encoder="conv", head="euclidean", **quick).fit(np.stack([X, X, X], axis=1), y > 0),
    ]


def rows_like_those_of(network, n):
    """Zeros in the shape of a network's training rows; images may have been given without a channel axis."""
    shape = network.input_shape_
    return np.zeros((n, *(shape if network.n_features_in_ == shape[0] else shape[1:])), dtype=np.float32)


@cache
def fitted():
    """All fitted models, of three and of two classes, some after one ``partial_fit``; cached, so do not modify them."""
    found = []
    for classes in (3, 2):
        X, y = ball(classes=classes)
        found += [quietly_fitted(estimator, X, NAMES[y]) for estimator in estimators()]
        found += [
            estimator.partial_fit(X[:20], y[:20], classes=np.unique(y))
            for estimator in (
                PoincareSVC("origin", loss="hinge"),
                PoincareSVC(loss="hinge"),
                PoincarePerceptron("origin"),
                PoincareSecondOrderPerceptron("origin"),
                PoincareSecondOrderPerceptron("origin", a=0.0),
            )
        ]
    return found + embedders() + networks()
