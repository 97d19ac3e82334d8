"""Every combination of parameters with which a classifier can be fitted gives a model that can be saved and loaded."""

from itertools import product

import numpy as np
import pytest

from hyplearn import (
    ConformalClassifier,
    ExpMap,
    PoincareKernelClassifier,
    PoincareKNeighborsClassifier,
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
)
from hyplearn.embedding import BallNet
from hyplearn.paper import AuthorsSVC, EuclideanSVC, HyperboloidPerceptron, HyperboloidSVC, PaperSVC
from hyplearn.persistence.files import from_bytes, to_bytes
from hyplearn.persistence.schema import SCHEMAS
from support.fitted_models import NAMES, quietly_fitted

# A point between the classes; all hard margins through it exist.
POINT = [0.01, 0.02]
STRATEGIES = ["boundary", "means", POINT]
CENTRES = ["mean", "means", POINT]
CALIBRATIONS = ["cross-fitted", "training", None]
WEIGHTS = [None, "balanced"]
WIDEST = PoincareSVC(C=np.inf, margin="exact", folds=2)


def separable(classes, n=60):
    """Points of the disk in well separated classes, one in each direction."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    directions = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    return ExpMap().fit_transform(2.0 * directions[y] + 0.2 * rng.standard_normal((n, 2))), y


def is_supported(options):
    """Whether a combination can be fitted: some parameters exclude each other."""
    hard_only = options.get("reference", "") is None and options.get("margin") == "exact"
    sgd_only = options.get("solver") == "sgd" and options["loss"] != "hinge"
    return not sgd_only and (not hard_only or options["C"] == np.inf)


GRIDS = {
    PoincareSVC: {
        "reference": [None, *STRATEGIES],
        "loss": ["hinge", "squared_hinge"],
        "C": [1.0, np.inf, "auto"],
        "margin": ["bound", "exact"],
        "fit_intercept": [True, False],
        "calibration": ["cross-fitted", None],
        "folds": [2],
    },
    PoincarePerceptron: {
        "reference": STRATEGIES,
        "keep": ["auto", "last", "average", "best"],
        "shuffle": [True, False],
        "class_weight": WEIGHTS,
        "calibration": ["cross-fitted", None],
        "folds": [2],
        "max_epochs": [2],
    },
    PoincareSecondOrderPerceptron: {
        "reference": STRATEGIES,
        "a": [0.0, 1.0],
        "keep": ["last", "average", "best"],
        "calibration": ["cross-fitted", None],
        "folds": [2],
        "max_epochs": [2],
    },
    PoincareLogisticRegression: {
        "reference": CENTRES,
        "C": [1.0, "auto"],
        "fit_intercept": [True, False],
        "class_weight": WEIGHTS,
    },
    PoincareLogisticRegressionCV: {"reference": CENTRES, "fit_intercept": [True, False], "Cs": [(1, 10)], "cv": [2]},
    PoincareKernelClassifier: {
        "kernel": ["laplacian", "secant", "heat"],
        "scale": ["auto", 0.5],
        "C": ["auto", 2.0],
        "n_components": [12],
    },
    PoincareKNeighborsClassifier: {"n_neighbors": [1, 4], "weights": ["uniform", "distance"]},
    HyperboloidSVC: {"solver": ["stages", "projected_gradient"], "calibration": CALIBRATIONS, "max_iter": [10]},
    EuclideanSVC: {
        "loss": ["hinge", "squared_hinge"],
        "fit_intercept": [True, False],
        "calibration": CALIBRATIONS,
    },
    AuthorsSVC: {"reference": STRATEGIES, "drop_intercept": [True, False], "calibration": CALIBRATIONS},
    PaperSVC: {
        "reference": STRATEGIES,
        "loss": ["hinge", "squared_hinge"],
        "solver": ["exact", "sgd"],
        "calibration": CALIBRATIONS,
        "max_iter": [5],
    },
    HyperboloidPerceptron: {"calibration": CALIBRATIONS, "max_epochs": [2]},
    ConformalClassifier: {
        "estimator": [PoincareLogisticRegression(), PoincareSVC("means", folds=2), WIDEST],
        "conformity": ["probability", "distance"],
        "by_class": [True, False],
        "folds": [2],
    },
}


def test_every_classifier_has_a_grid():
    classifiers = {schema.cls for schema in SCHEMAS.values() if hasattr(schema.cls, "predict")}
    assert set(GRIDS) == classifiers - {BallNet}  # networks are slow, and test_networks.py saves them


@pytest.mark.parametrize("cls", GRIDS)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_combination_of_parameters_can_be_saved(cls, classes):
    X, y = separable(classes)
    for values in product(*GRIDS[cls].values()):
        options = dict(zip(GRIDS[cls], values, strict=True))
        if not is_supported(options):
            continue
        model = quietly_fitted(cls(**options), X, NAMES[y])
        loaded = from_bytes(to_bytes(model))
        method = next(name for name in ("predict_set", "decision_function", "predict_proba") if hasattr(model, name))
        assert np.array_equal(getattr(model, method)(X), getattr(loaded, method)(X)), options
