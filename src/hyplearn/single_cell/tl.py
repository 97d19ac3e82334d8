"""Tools: embed cells in the Poincaré ball, predict their types there, and transfer types to another data set."""

from typing import Any

import numpy as np
from sklearn.base import clone

from hyplearn.embedding import PoincareMap
from hyplearn.embedding.poincare_map.cells import root_row
from hyplearn.estimators import classifier_named
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.geometry import gap
from hyplearn.single_cell.cells import Cells, cell_features, cell_points, check_adata, labelled_cells, model_bytes
from hyplearn.types import Array

__all__ = ["classify", "poincare_map", "transfer"]
DEFAULT_KEY = "X_poincare"


def poincare_map(
    adata: Any,
    *,
    use_rep: str = "X_pca",
    n_components: int = 2,
    n_neighbors: int = 15,
    sigma: float | None = 0.5,
    gamma: float = 2.0,
    root: int | str | None = None,
    n_landmarks: int | str | None = "auto",
    random_state: int = 0,
    key_added: str = DEFAULT_KEY,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Embed cells in the Poincaré ball with a map of their neighbourhoods (Klimovskaia et al., 2020).

    Parameters
    ----------
    adata : AnnData
        The cells, with features in ``obsm[use_rep]``.
    use_rep : str
        Key of the features in ``obsm``, with or without its ``"X_"``; ``"X"`` for the matrix itself.
    n_components, n_neighbors, sigma, gamma, n_landmarks, random_state
        As in :class:`hyplearn.embedding.PoincareMap`.
    root : int or str, optional
        Row or name of the cell at the centre, such as a stem cell; by default the mean of all cells is there.
    key_added : str
        Key of the points in ``obsm``.
    copy : bool
        Whether to write to a copy and return it.
    **options
        Further parameters of :class:`hyplearn.embedding.PoincareMap`, such as ``verbose`` and ``max_iter``.

    Returns
    -------
    AnnData or None
        The copy, with ``copy=True``. Written are:

        ``obsm[key_added]``
            The points.
        ``uns["poincare_map"]``, or ``uns[key_added]`` for another key than the default
            ``params``, ``loss`` and ``n_iter``.

    Raises
    ------
    KeyError
        If there are no such features, or no such root.

    Examples
    --------
    >>> import anndata
    >>> from sklearn.datasets import load_iris
    >>> import hyplearn.single_cell as hs
    >>> cells = anndata.AnnData(load_iris().data[::2])
    >>> hs.tl.poincare_map(cells, use_rep="X", root="0")
    >>> cells.obsm["X_poincare"].shape, cells.obsm["X_poincare"][0].tolist()
    ((75, 2), [0.0, 0.0])
    """
    adata = check_adata(adata, copy)
    X = cell_features(adata, use_rep)
    parameters = {
        "n_components": n_components,
        "n_neighbors": n_neighbors,
        "sigma": sigma,
        "gamma": gamma,
        "n_landmarks": n_landmarks,
        "random_state": random_state,
        **options,
    }
    model = PoincareMap(**parameters, root=root_row(root, adata.obs_names, adata.n_obs)).fit(X)
    adata.obsm[key_added] = model.embedding_
    # HDF5 has no None.
    params = {"use_rep": use_rep, "root": root, **parameters}
    adata.uns["poincare_map" if key_added == DEFAULT_KEY else key_added] = {
        "params": {name: value for name, value in params.items() if value is not None},
        "loss": model.loss_,
        "n_iter": model.n_iter_,
    }
    return adata if copy else None


def classify(
    adata: Any,
    label_key: str,
    *,
    basis: str = "X_poincare",
    model: Any = "softmax",
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Fit a classifier to the labels of cells and their points in the ball, and predict all cells.

    Cells without a label (NaN) are left out of the training and predicted like the others.

    Parameters
    ----------
    adata : AnnData
        The cells, with points of the ball in ``obsm[basis]``.
    label_key : str
        Column of ``obs`` with the labels.
    basis : str
        Key of the embedding in ``obsm``, with or without its ``"X_"``.
    model : {"softmax", "svc", "perceptron", "second-order", "kernel", "neighbors"} or estimator
        The classifier; an estimator is cloned, and may be any scikit-learn classifier.
    key_added : str, optional
        Key of the results, by default ``f"{label_key}_predicted"``.
    copy : bool
        Whether to write to a copy and return it.

    Returns
    -------
    AnnData or None
        The copy, with ``copy=True``. Written are, under ``key = key_added``:

        ``obs[key]``
            Predicted labels, with the categories of ``obs[label_key]`` in their order.
        ``obs[f"{key}_probability"]``, ``obsm[f"{key}_probabilities"]``
            Probability of the predicted label, and of all labels in the order of ``uns[key]["classes"]``.
        ``obsm[f"{key}_distances"]``
            Signed hyperbolic distances to the boundary of each class against the rest (for two classes, to the one
            between them), for all classifiers with such boundaries, that is all but "softmax".
        ``obsm[f"{key}_scores"]``
            Scores of the classes, for the other classifiers.
        ``uns[key]``
            ``params``, ``classes``, the certificate (``status``, ``dual_gap``), numbers of cells, and the model for
            :func:`hyplearn.single_cell.stored_model`.
        ``uns[f"{key}_colors"]``
            The colours of ``label_key``, if there are any.

    Raises
    ------
    KeyError
        If there is no such label or embedding.
    ValueError
        If points lie outside the ball, or there are fewer than two different labels.

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
    adata = check_adata(adata, copy)
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
    """Fit a classifier to one set of cells and predict another one that was embedded in the same ball.

    Parameters
    ----------
    reference : AnnData
        Cells with labels; not changed.
    query : AnnData
        The cells to predict; they need no labels.
    label_key, basis, model, key_added, copy
        As in :func:`classify`; the results are written to the query.

    Examples
    --------
    >>> import hyplearn.single_cell as hs
    >>> hs.tl.transfer(atlas, cells, "cell_type", model="svc")  # doctest: +SKIP
    """
    query = check_adata(query, copy)
    _predict(check_adata(reference), query, label_key, basis, model, key_added)
    return query if copy else None


def _predict(reference: Any, query: Any, label_key: str, basis: str, model: Any, key_added: str | None) -> None:
    """Fit to the reference and write predictions to the query; in case of an error nothing is written."""
    cells, X = labelled_cells(reference, label_key, basis), cell_points(query, basis)
    if X.shape[1] != cells.X.shape[1]:
        raise ValueError(
            f"The query has points of {X.shape[1]} coordinates, the reference of {cells.X.shape[1]}.\n"
            "Embed both in one ball."
        )
    fitted = _fit(model, cells, label_key, basis)
    key = f"{label_key}_predicted" if key_added is None else key_added
    params = {"label_key": label_key, "basis": basis, "model": repr(fitted)}
    about = {"params": params, "n_trained": int(cells.known.sum()), "n_predicted": len(X), **_description(fitted)}
    categories = _categories(reference.obs[label_key], fitted.classes_)
    _write(query, key, *_predictions(fitted, X, key, categories))
    query.uns[key] = about
    colours = reference.uns.get(f"{label_key}_colors")
    if colours is not None and len(colours) == len(categories):
        query.uns[f"{key}_colors"] = list(colours)


def _fit(model: Any, cells: Cells, label_key: str, basis: str) -> Any:
    assert cells.labels is not None
    known = cells.labels[cells.known].tolist()
    # One plain type, as classifiers need it: labels of several types become strings.
    labels = np.array(known if len({type(label) for label in known}) == 1 else [str(label) for label in known])
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
    """Raise if cells, labelled or not, lie outside the ball; the error gives their rows among all cells."""
    try:
        gap(X, c=absolute_curvature(curvature))
    except ValueError as error:
        problem = str(error).partition("\n")[0]
        raise ValueError(
            f"Of the basis {basis!r} {problem}\nPass basis=, the key of an embedding in the ball, or model=, an "
            'estimator with its curvature or with outside="project".'
        ) from None


def _predictions(fitted: Any, X: Array, key: str, categories: list[Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the new columns of obs and arrays of obsm."""
    import pandas as pd

    obs: dict[str, Any] = {key: pd.Categorical(fitted.predict(X).tolist(), categories=categories)}
    obsm: dict[str, Array] = {}
    if hasattr(fitted, "predict_proba"):
        obsm[f"{key}_probabilities"] = fitted.predict_proba(X)
        obs[f"{key}_probability"] = obsm[f"{key}_probabilities"].max(axis=1)
    if hasattr(fitted, "distances"):
        obsm[f"{key}_distances"] = fitted.distances(X)
    elif hasattr(fitted, "decision_function"):
        obsm[f"{key}_scores"] = fitted.decision_function(X).reshape(len(X), -1)
    return obs, obsm


def _description(fitted: Any) -> dict[str, Any]:
    """Return classes, certificate and model, as values that h5ad and zarr can store."""
    names = ("classes_", "status_", "dual_gap_", "converged_")
    about = {name.rstrip("_"): _storable(getattr(fitted, name)) for name in names if hasattr(fitted, name)}
    kept = model_bytes(fitted)
    return about if kept is None else {**about, "model": kept}


def _storable(values: Any) -> Array:
    """Return an array, of objects if it holds strings: HDF5 has no strings of fixed width in characters."""
    values = np.asarray(values)
    return values.astype(object) if values.dtype.kind == "U" else values


def _categories(column: Any, classes: Array) -> list[Any]:
    """Return all categories of the labels in their order; the classes if the labels are not categorical."""
    if hasattr(column, "cat") and set(classes.tolist()) <= set(column.cat.categories.tolist()):
        return list(column.cat.categories)
    return classes.tolist()


def _write(query: Any, key: str, obs: dict[str, Any], obsm: dict[str, Array]) -> None:
    """Write the predictions, and remove those of an earlier classification with the same key."""
    for ending in ("probabilities", "distances", "scores"):
        query.obsm.pop(f"{key}_{ending}", None)
    if f"{key}_probability" in query.obs:
        del query.obs[f"{key}_probability"]
    query.uns.pop(f"{key}_colors", None)
    for name, column in obs.items():
        query.obs[name] = column
    for name, array in obsm.items():
        query.obsm[name] = array
