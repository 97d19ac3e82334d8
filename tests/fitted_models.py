"""Estimators of every class that a model file holds, fitted to a few points."""

import warnings
from functools import cache

import numpy as np

from hyplearn import (
    ExpMap,
    HyperboloidSVC,
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
    TangentSpace,
)
from hyplearn.baselines import AuthorsSVC, EuclideanSVC, HyperboloidPerceptron
from hyplearn.embedding import HyperbolicMDS, PoincareMap, TreeEmbedding
from hyplearn.geometry import pairwise_distance

NAMES = np.array(["ash", "birch", "cedar"])


def ball(n=60, classes=3, seed=0):
    """Overlapping classes of the disk, by number."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    corners = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    return ExpMap().fit_transform(corners[y] + 0.6 * rng.standard_normal((n, 2))), y


def estimators():
    """One of every class, not fitted, with few passes."""
    return [
        PoincareSVC(folds=2),
        PoincarePerceptron(max_epochs=5),
        PoincareSecondOrderPerceptron(max_epochs=5),
        PoincareLogisticRegression(),
        PoincareLogisticRegressionCV(Cs=(1, 10), cv=2),
        HyperboloidSVC(max_iter=20, calibration="training"),
        EuclideanSVC(),
        AuthorsSVC("means"),
        HyperboloidPerceptron(max_epochs=3),
        TangentSpace(),
        ExpMap(),
    ]


def quietly_fitted(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


def embedders():
    """Every class of embedders, fitted to what it takes."""
    X, _ = ball(20)
    return [
        TreeEmbedding().fit("((ash,birch)leafy,cedar)tree;"),
        TreeEmbedding(3, root=2).fit([-1, 0, 0, 1]),
        HyperbolicMDS().fit(pairwise_distance(X)),
        HyperbolicMDS(curvature="auto", refine=False).fit(2.0 * pairwise_distance(X)),
        PoincareMap(n_neighbors=4, root=3, tol=1e-3).fit(X),
        PoincareMap(3, sigma=None, n_neighbors=5, n_landmarks=12, random_state=0, tol=1e-2).fit(X),
    ]


@cache
def fitted():
    """All of them, of three classes and of two, and streams in their middle; made once, to be changed by nobody."""
    found = []
    for classes in (3, 2):
        X, y = ball(classes=classes)
        found += [quietly_fitted(estimator, X, NAMES[y]) for estimator in estimators()]
        found += [
            estimator.partial_fit(X[:20], y[:20], classes=np.unique(y))
            for estimator in (
                PoincareSVC("origin"),
                PoincarePerceptron("origin"),
                PoincareSecondOrderPerceptron("origin"),
                PoincareSecondOrderPerceptron("origin", a=0.0),
            )
        ]
    return found + embedders()
