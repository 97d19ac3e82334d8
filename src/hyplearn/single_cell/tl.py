"""Tools: cells brought into the Poincaré ball, their types predicted there, and carried to another data set."""

from typing import Any

import numpy as np
from sklearn.base import clone

from hyplearn.estimators import classifier_named
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.geometry import gap
from hyplearn.single_cell.cells import Cells, cell_points, check_adata, class_labels, labelled_cells
from hyplearn.single_cell.poincare_map import poincare_map
from hyplearn.single_cell.stored import model_bytes
from hyplearn.types import Array

__all__ = ["classify", "poincare_map", "transfer"]


def classify(
    adata: Any,
    label_key: str,
    *,
    basis: str = "X_poincare",
    model: Any = "softmax",
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Learn labels of cells from their points in the ball, and predict all cells.

    Cells without a label (NaN) have no part in training and are predicted like the others.

    Parameters
    ----------
    adata : AnnData
        The cells, with points of the ball in ``obsm[basis]``.
    label_key : str
        Column of ``obs`` with the labels.
    basis : str
        Key of the embedding in ``obsm``, with or without its ``"X_"``.
    model : {"softmax", "svc", "perceptron", "second-order"} or estimator
        The classifier; an estimator is cloned, and may be any of scikit-learn's that takes points.
    key_added : str, optional
        Name of what is written, by default ``f"{label_key}_predicted"``.
    copy : bool
        Whether to write to a copy and return that.

    Returns
    -------
    AnnData or None
        The copy, with ``copy=True``. Written are, under ``key = key_added``:

        ``obs[key]``
            Predicted labels, with the categories of ``obs[label_key]`` in their order.
        ``obs[f"{key}_probability"]``, ``obsm[f"{key}_probabilities"]``
            The probability of the predicted label, and those of all, in the order of ``uns[key]["classes"]``.
        ``obsm[f"{key}_distances"]``
            Signed hyperbolic distances to the boundary of each class against the rest (of two classes, to the one
            between them), where the classifier has such boundaries: all but "softmax".
        ``obsm[f"{key}_scores"]``
            Scores of the classes, where it has no such boundaries.
        ``uns[key]``
            ``params``, ``classes``, the certificate (``status``, ``dual_gap``), numbers of cells, and the model, which
            :func:`hyplearn.single_cell.stored_model` gives back.
        ``uns[f"{key}_colors"]``
            The colours of ``label_key``, if it has any.

    Raises
    ------
    KeyError
        If there is no such label or embedding.
    ValueError
        If points lie outside the ball, or fewer than two labels are left to learn from.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import hyplearn.single_cell as hs
    >>> from hyplearn.datasets import load_mammals
    >>> X, y = load_mammals(return_X_y=True)
    >>> cells = anndata.AnnData(np.zeros((len(X), 1)), obsm={"X_poincare": X})
    >>> cells.obs["order"] = y
    >>> hs.tl.classify(cells, "order")
    >>> print(f"{np.mean(cells.obs['order_predicted'] == cells.obs['order']):.1%}")
    99.1%
    """
    adata = check_adata(adata).copy() if copy else check_adata(adata)
    _predict(adata, adata, label_key, basis, model, key_added)
    return adata if copy else None


def transfer(
    reference: Any,
    query: Any,
    label_key: str,
    *,
    basis: str = "X_poincare",
    model: Any = "softmax",
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Learn labels from one set of cells and predict another that was embedded in the same ball.

    Parameters
    ----------
    reference : AnnData
        Cells with labels; not changed.
    query : AnnData
        The cells to predict; they need no labels.
    label_key, basis, model, key_added, copy
        As in :func:`classify`; what is written there is written to the query.

    Examples
    --------
    >>> import hyplearn.single_cell as hs
    >>> hs.tl.transfer(atlas, cells, "cell_type", model="svc")  # doctest: +SKIP
    """
    query = check_adata(query).copy() if copy else check_adata(query)
    _predict(check_adata(reference), query, label_key, basis, model, key_added)
    return query if copy else None


def _predict(reference: Any, query: Any, label_key: str, basis: str, model: Any, key_added: str | None) -> None:
    """Learn from one, write to the other; nothing is written unless all goes well."""
    cells, X = labelled_cells(reference, label_key, basis), cell_points(query, basis)
    if X.shape[1] != cells.X.shape[1]:
        raise ValueError(
            f"The query has points of {X.shape[1]} coordinates, the reference of {cells.X.shape[1]}.\n"
            "Embed both in one ball."
        )
    fitted = _fitted(model, cells, label_key, basis)
    key = f"{label_key}_predicted" if key_added is None else key_added
    params = {"label_key": label_key, "basis": basis, "model": repr(fitted)}
    written = _measured(fitted, X, key)
    about = {"params": params, "n_trained": int(cells.known.sum()), "n_predicted": len(X), **_about(fitted)}
    categories = _categories(reference.obs[label_key], fitted.classes_)
    _write(query, key, written, about, categories)
    _write_colours(reference, query, label_key, key, len(categories))


def _fitted(model: Any, cells: Cells, label_key: str, basis: str) -> Any:
    assert cells.labels is not None
    labels = class_labels(cells.labels[cells.known]) if cells.known.any() else np.array([])
    if len(np.unique(labels)) < 2:
        raise ValueError(
            f"obs[{label_key!r}] must name at least two classes; got {np.unique(labels).tolist()} on "
            f"{cells.known.sum()} labelled cells of {len(cells.known)}.\nLabel some cells of another class."
        )
    estimator = classifier_named(model) if isinstance(model, str) else clone(model)
    if getattr(estimator, "outside", None) == "raise":
        _check_inside(cells.X, estimator.curvature, basis)
    return estimator.fit(cells.X[cells.known], labels)


def _check_inside(X: Array, curvature: float, basis: str) -> None:
    """Refuse cells outside the ball, by their rows among all, with or without a label."""
    try:
        gap(X, c=absolute_curvature(curvature))
    except ValueError as error:
        problem = str(error).partition("\n")[0]
        raise ValueError(
            f"Of the basis {basis!r} {problem}\nPass basis=, the key of an embedding in the ball, or model=, an "
            'estimator with its curvature or with outside="project".'
        ) from None


def _measured(fitted: Any, X: Array, key: str) -> dict[str, dict[str, Any]]:
    """What is to be written, by where."""
    obs: dict[str, Any] = {key: fitted.predict(X)}
    obsm: dict[str, Array] = {}
    if hasattr(fitted, "predict_proba"):
        obsm[f"{key}_probabilities"] = fitted.predict_proba(X)
        obs[f"{key}_probability"] = obsm[f"{key}_probabilities"].max(axis=1)
    if hasattr(fitted, "distances"):
        obsm[f"{key}_distances"] = fitted.distances(X)
    elif hasattr(fitted, "decision_function"):
        obsm[f"{key}_scores"] = fitted.decision_function(X).reshape(len(X), -1)
    return {"obs": obs, "obsm": obsm}


def _about(fitted: Any) -> dict[str, Any]:
    """Classes, certificate and model, as values that h5ad and zarr keep."""
    about: dict[str, Any] = {"classes": _plain(fitted.classes_)}
    for name in ("status_", "dual_gap_", "converged_"):
        if hasattr(fitted, name):
            about[name.rstrip("_")] = _plain(getattr(fitted, name))
    kept = model_bytes(fitted)
    return about if kept is None else {**about, "model": kept}


def _plain(values: Any) -> Array:
    """An array whose text is of Python's strings: HDF5 knows none of a fixed number of characters."""
    values = np.asarray(values)
    return values.astype(object) if values.dtype.kind == "U" else values


def _categories(column: Any, classes: Array) -> list[Any]:
    """The categories of the labels in their order, with those that no cell has; else the classes."""
    if hasattr(column, "cat") and set(classes.tolist()) <= set(column.cat.categories.tolist()):
        return list(column.cat.categories)
    return classes.tolist()


def _write(query: Any, key: str, written: dict[str, dict[str, Any]], about: dict[str, Any], categories: Any) -> None:
    import pandas as pd

    written["obs"][key] = pd.Categorical(written["obs"][key].tolist(), categories=categories)
    _forget(query, key)
    for name, values in written["obs"].items():
        query.obs[name] = values
    for name, values in written["obsm"].items():
        query.obsm[name] = values
    query.uns[key] = about


def _forget(query: Any, key: str) -> None:
    """What an earlier classification of the same name has left."""
    for ending in ("probabilities", "distances", "scores"):
        query.obsm.pop(f"{key}_{ending}", None)
    if f"{key}_probability" in query.obs:
        del query.obs[f"{key}_probability"]
    query.uns.pop(f"{key}_colors", None)


def _write_colours(reference: Any, query: Any, label_key: str, key: str, n_categories: int) -> None:
    """The colours of the labels, where there is one for each category."""
    colours = reference.uns.get(f"{label_key}_colors")
    if colours is not None and len(colours) == n_categories:
        query.uns[f"{key}_colors"] = list(colours)
