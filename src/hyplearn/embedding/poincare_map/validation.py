"""What a map of cells takes: its parameters and features, checked once."""

import numbers
import warnings
from typing import Any

import numpy as np

from hyplearn.types import Array

LARGEST_FEATURE = 1e150
# Below, the least weights of edges, exp(-1 / (2 sigma²)), come near to the range of floats.
LEAST_SIGMA = 0.05
# Beyond, powers and logarithms leave it too.
GAMMAS = (1e-3, 1e3)
# Least values of the whole numbers among the parameters.
LEAST = {"n_components": 1, "n_neighbors": 1, "max_iter": 1}


def check_parameters(given: dict[str, Any]) -> None:
    """Refuse parameters with which no map can be made."""
    for name, least in LEAST.items():
        if not _is_whole(given[name], least):
            raise ValueError(f"{name} must be a whole number of at least {least}; got {given[name]!r}.")
    sigma, gamma, tol = given["sigma"], given["gamma"], given["tol"]
    if not _is_number(tol, 0.0) or tol == 0:
        raise ValueError(f"tol must be a positive number; got {tol!r}.")
    if not _is_number(gamma, *GAMMAS):
        raise ValueError(f"gamma must be a number from {GAMMAS[0]:g} to {GAMMAS[1]:g}; got {gamma!r}.")
    if not (sigma is None or _is_number(sigma, LEAST_SIGMA)):
        raise ValueError(f"sigma must be a number of at least {LEAST_SIGMA}, or None for equal weights; got {sigma!r}.")
    if given["init"] not in ("spectral", "random"):
        raise ValueError(f'init must be "spectral" or "random"; got {given["init"]!r}.')
    if not _is_number(exaggeration := given["early_exaggeration"], 1.0, 1e3):
        raise ValueError(f"early_exaggeration must be a number from 1 to 1000; got {exaggeration!r}.")
    if not ((number := given["n_landmarks"]) is None or number == "auto" or _is_whole(number, 3)):
        raise ValueError(f'n_landmarks must be "auto", None for all cells, or a whole number from 3; got {number!r}.')


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least


def _is_number(value: Any, least: float, most: float = float(np.finfo(np.float64).max)) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and least <= float(value) <= most


def root_row(root: Any, names: Any, n: int) -> int | None:
    """The row of the root: by its number, or by its name among those of the cells; None for none."""
    if root is None:
        return None
    if _is_whole(root, 0) and root < n:
        return int(root)
    if isinstance(root, str) and names is not None and (rows := np.flatnonzero(names == root)).size:
        return int(rows[0])
    known = "cells have no names" if names is None else f"the first are called {[str(name) for name in names[:3]]}"
    raise ValueError(
        f"root must be a row from 0 to {n - 1}, or the name of a cell; got {root!r}, and {known}.\n"
        "Pass the number of its row."
    )


def in_range(X: Array) -> Array:
    """The features, with one kind of zero; an error if their squares are none of float64's."""
    if (largest := np.max(np.abs(X))) > LARGEST_FEATURE:
        raise ValueError(
            f"Squared distances of features of up to {largest:.3g} are beyond the range of float64.\n"
            "Scale them, for example by sklearn.preprocessing.StandardScaler."
        )
    return X + 0.0


def warn_of_copies(n: int, n_different: int) -> None:
    """Say that cells are the same."""
    if n_different < n:
        warnings.warn(
            f"{n - n_different} of {n} cells are copies of others, feature by feature. Copies share one point, and "
            "count once.\nLook whether the features are as they should be.",
            UserWarning,
            stacklevel=3,
        )


def check_enough(cells: Array, n_components: int) -> None:
    """Refuse fewer different cells than span a map."""
    least = max(3, n_components + 1)
    if len(cells) < least:
        raise ValueError(
            f"A map of {n_components} components needs at least {least} different cells; got {len(cells)}.\n"
            "Take fewer components or more cells; features that are constant do not tell cells apart."
        )
