"""Estimate the accuracy and recall of a classifier of cells, and warn about classes that are never predicted."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from hyplearn.decision.conformal import deal_in_turn
from hyplearn.types import Array

# Number of cross-validation folds for held-out accuracy and recall.
FOLDS = 5


def held_out_quality(estimator: Any, model: Any, X: Array, labels: Array) -> dict[str, Any]:
    """Return the training accuracy and, from cross-validation, the overall accuracy and the recall of each class.

    The entry ``training_predicted`` gives the number of training cells for which each class is predicted. The recall of
    a class with a single cell is NaN.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    counts = np.bincount(codes)
    # If a class has only one cell, this cell is never held out, and has -1 instead of the number of a fold.
    dealt = np.where(counts[codes] > 1, deal_in_turn(codes, FOLDS), -1)
    predicted = model.predict(X)
    training = predicted == labels
    held = dealt >= 0
    right = np.zeros(len(labels), dtype=bool)
    for fold in range(FOLDS):
        new, old = dealt == fold, dealt != fold
        if new.any() and len(np.unique(codes[old])) > 1:
            right[new] = clone(estimator).fit(X[old], labels[old]).predict(X[new]) == labels[new]
    recall = np.array([right[held & (codes == k)].mean() if counts[k] > 1 else np.nan for k in range(len(classes))])
    return {
        "training_accuracy": float(training.mean()),
        "training_predicted": np.array([np.sum(predicted == label) for label in classes]),
        "held_out": {
            "accuracy": float(right[held].mean()) if held.any() else np.nan,
            "recall": recall,
            "folds": FOLDS,
            "n_cells": int(held.sum()),
        },
    }


def warn_of_never_predicted(quality: dict[str, Any], classes: Array, labels: Array) -> None:
    """Warn about classes that the model does not predict for any training cell."""
    never = [label for label, n in zip(classes.tolist(), quality["training_predicted"], strict=True) if n == 0]
    if never:
        named = ", ".join(f"{label!r} ({np.sum(labels == label)} cells)" for label in never[:5])
        warnings.warn(
            f"{len(never)} of {len(classes)} classes are never predicted, not even for the training cells: {named}"
            f'{", ..." if len(never) > 5 else ""}.\nMore dimensions (n_components), model="svc" or another embedding '
            "may separate them; pass coverage= to get, for each cell, the set of classes that it may belong to.",
            UserWarning,
            stacklevel=5,
        )
