"""Published embeddings and their splits, which all experiments share."""

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from hyplearn.datasets import fetch_cifar10, fetch_fashion_mnist, fetch_olsson

PUBLISHED = {"olsson": fetch_olsson, "cifar10": fetch_cifar10, "fashion-mnist": fetch_fashion_mnist}


def official(data):
    """Return the training rows and labels, and the test rows and labels, of the published split."""
    return data.X_train, data.y_train, data.X_test, data.y_test


def all_rows(data):
    """Return the rows and labels of the training and test parts together."""
    return np.concatenate([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])


def resampled(data, seed):
    """Return a random stratified split with the sizes of the official split."""
    X, y = all_rows(data)
    return cut(X, y, *train_test_split(np.arange(len(y)), test_size=len(data.y_test), stratify=y, random_state=seed))


def folds(X, y, count, seed):
    """Return the splits of a stratified cross-validation."""
    return [cut(X, y, *fold) for fold in StratifiedKFold(count, shuffle=True, random_state=seed).split(X, y)]


def cut(X, y, train, test):
    """Return the training rows and labels, and the test rows and labels."""
    return X[train], y[train], X[test], y[test]
