"""How good a classifier of cells is: accuracy and recall of held-out cells, and classes that it never predicts."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from hyplearn.decision.conformal import deal_in_turn
from hyplearn.types import Array

# Folds of the held-out quality.
FOLDS = 5


def held_out_quality(estimator: Any, model: Any, X: Array, labels: Array) -> dict[str, Any]:
    """Accuracy of the training cells, and accuracy and recall of cells by models that have not seen them."""
    classes, codes = np.unique(labels, return_inverse=True)
    counts = np.bincount(codes)
    dealt = np.where(counts[codes] > 1, deal_in_turn(codes, FOLDS), -1)  # nothing can be learned of a held-out class
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
    """Warn of classes that the model predicts for no training cell."""
    never = [label for label, n in zip(classes.tolist(), quality["training_predicted"], strict=True) if n == 0]
    if never:
        named = ", ".join(f"{label!r} ({np.sum(labels == label)} cells)" for label in never[:5])
        warnings.warn(
            f"{len(never)} of {len(classes)} classes are never predicted, not even for a training cell: {named}"
            f'{", ..." if len(never) > 5 else ""}.\nMore dimensions (n_components), model="svc" or another embedding '
            "may tell them apart; coverage= lists them where they are possible.",
            UserWarning,
            stacklevel=6,
        )
