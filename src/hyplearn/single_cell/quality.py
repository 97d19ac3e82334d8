"""Estimate the accuracy and recall of a classifier of cells, and warn about classes that are never predicted."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from hyplearn.data.columns import listed
from hyplearn.decision.conformal import deal_in_turn
from hyplearn.types import Array

# Number of cross-validation folds for held-out accuracy and recall.
FOLDS = 5
# A warning is given about a class with fewer than RARE training cells if it is in more than the fraction MANY_SETS of
# all prediction sets, and in more than MANY_TIMES as many as its fraction of the training cells suggests.
RARE, MANY_SETS, MANY_TIMES = 20, 0.25, 4


def held_out_quality(estimator: Any, model: Any, X: Array, labels: Array) -> dict[str, Any]:
    """Return the training accuracy and, from cross-validation, the overall accuracy and the recall of each class.

    The entry ``training_predicted`` gives the number of training cells for which each class is predicted. The recall of
    a class with a single cell is NaN.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    counts = np.bincount(codes)
    # The only cell of a class is never held out; its fold number is -1.
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
            f"{len(never)} of {len(classes)} classes {'is' if len(never) == 1 else 'are'} never predicted, not even "
            f"for the training cells: {named}"
            f'{", ..." if len(never) > 5 else ""}.\nMore dimensions (n_components), model="svc" or another embedding '
            "may separate them; pass coverage= to get, for each cell, the set of classes that it may belong to.",
            UserWarning,
            stacklevel=5,
        )


def warn_of_single_cells(predicted: Any) -> None:
    """Warn about classes that are predicted for a single cell, because scanpy cannot rank the genes of one cell."""
    sizes = predicted.value_counts()
    single = [label for label in predicted.categories if sizes[label] == 1]
    if single:
        warnings.warn(
            f"{'A class is' if len(single) == 1 else f'{len(single)} classes are'} predicted for a single cell: "
            f"{listed(single, 5)}.\nscanpy.tl.rank_genes_groups needs at least two cells per group: pass groups= "
            f"without {'this class' if len(single) == 1 else 'these classes'}.",
            UserWarning,
            stacklevel=4,
        )


def warn_of_frequent_rare_types(sets: Array, classes: Array, counts: Array) -> None:
    """Warn about rare classes that are in many prediction sets; ``counts`` are the numbers of training cells."""
    shares = sets.mean(axis=0)
    most = np.maximum(MANY_SETS, MANY_TIMES * counts / counts.sum())
    often = [k for k in np.argsort(-shares) if counts[k] < RARE and shares[k] > most[k]]
    if often:
        labels = classes.tolist()
        named = ", ".join(f"{labels[k]!r} ({counts[k]} cells, {shares[k]:.0%} of the sets)" for k in often[:5])
        warnings.warn(
            f"Classes with few labelled cells are in many prediction sets: {named}. Sets and answers are therefore "
            "less specific.\nRemove the labels of such classes, or label more of their cells.",
            UserWarning,
            stacklevel=4,
        )
