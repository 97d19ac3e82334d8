"""Predict cell types and prediction sets from points in the ball, and estimate the accuracy of predictions."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from hyplearn.data.labels import as_objects, as_strings, class_sizes, distinct, plain_string
from hyplearn.estimators import ConformalClassifier, classifier_named
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.single_cell.atlas import check_same_ball, fingerprint, map_key
from hyplearn.single_cell.cells import (
    Cells,
    cell_points,
    check_adata,
    check_inside,
    labelled_cells,
    model_bytes,
    obsm_key,
)
from hyplearn.single_cell.mapping import place
from hyplearn.single_cell.quality import (
    held_out_quality,
    warn_of_frequent_rare_types,
    warn_of_never_predicted,
    warn_of_single_cells,
)
from hyplearn.types import Array

# Number of distinct integer labels above which a warning is given, because the column may contain counts.
MANY_CLASSES = 50
# Advice for points outside the ball of the classifier.
OTHER_BALL = (
    "Pass basis= with the key of an embedding in the ball, or model= with an estimator that has the curvature of the "
    'embedding or outside="project".'
)


class Fitted(NamedTuple):
    """Fitted classifier, the conformal classifier (None without ``coverage``), and the accuracy and recall.

    ``counts`` contains the number of training cells of each class.
    """

    model: Any
    conformal: Any
    quality: dict[str, Any]
    counts: Array


def classify(
    adata: Any,
    label_key: str,
    *,
    basis: str = "X_poincare",
    model: Any = "softmax",
    coverage: float | None = None,
    hierarchy: Any = None,
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Fit a classifier to labelled cells in the ball, and predict the labels of all cells.

    Cells without a label (NaN) are not used for training, but their labels are predicted.

    Parameters
    ----------
    adata : AnnData
        Cells, with points of the ball in ``obsm[basis]``.
    label_key : str
        Column of ``obs`` with the labels.
    basis : str
        Key of the embedding in ``obsm``, with or without the prefix ``"X_"``.
    model : {"softmax", "softmax-cv", "svc", "perceptron", "second-order", "kernel", "neighbors"} or estimator
        Name of a classifier, or any scikit-learn classifier, which is cloned.
    coverage : float, optional
        Guaranteed probability that the prediction set of a cell contains its true type; None for no sets. The sets are
        computed with :class:`hyplearn.ConformalClassifier` and ``conformity="distance"``. The guarantee holds for each
        class separately.
    hierarchy : mapping, networkx.DiGraph or str, optional
        Tree of the types, as in :class:`hyplearn.ConformalClassifier`; requires ``coverage``.
    key_added : str, optional
        Key of the results; by default ``f"{label_key}_predicted"``.
    copy : bool
        Whether to write the results to a copy of ``adata``, and return the copy.

    Returns
    -------
    AnnData or None
        The copy if ``copy=True``, otherwise None. The following results are written, where ``key`` is ``key_added``:

        ``obs[key]``
            Predicted labels as categories. Categories without cells are dropped. The others are in the order of the
            categories of ``obs[label_key]`` or, if this column is not categorical, of ``uns[key]["classes"]``.
        ``obs[f"{key}_probability"]``, ``obsm[f"{key}_probabilities"]``
            Probability of the predicted label, and probabilities of all labels in the order of
            ``uns[key]["classes"]``, if the classifier computes probabilities.
        ``obsm[f"{key}_distances"]``
            Signed hyperbolic distances to the boundary between each class and all other classes (for two classes, to
            the boundary between them), if the classifier computes distances: "svc", "perceptron" and "second-order" do.
        ``obsm[f"{key}_scores"]``
            Decision scores, if the classifier computes scores but not distances.
        ``obs[f"{key}_set"]``, ``obsm[f"{key}_sets"]``, ``obs[f"{key}_unknown"]``
            With ``coverage``: the types in the prediction set of a cell, as a string joined by " | " and as a boolean
            matrix with columns in the order of ``uns[key]["classes"]``, and whether the set is empty. The guarantee is
            for new cells; the sets of training cells contain the true label more often than that.
        ``obs[f"{key}_answer"]``
            With ``hierarchy``: the root of the smallest subtree that contains the prediction set.
        ``uns[key]``
            A dict with these entries:

            - ``params`` and ``classes``;
            - ``status`` and ``dual_gap``, the certificate of the fit, or ``converged`` for "perceptron";
            - ``n_trained`` and ``n_predicted``, the numbers of cells with a known label and with a prediction;
            - ``transferred``, whether the classifier was fitted to the cells of another object;
            - ``training_accuracy``, the accuracy on the training cells;
            - ``training_predicted``, the number of training cells for which each class is predicted;
            - ``held_out``, the accuracy and the recall of each class in five-fold cross-validation;
            - ``model``, the classifier for :func:`hyplearn.single_cell.stored_model`, if it is a hyplearn estimator.
        ``uns[f"{key}_colors"]``
            Colours of ``label_key``, if they are stored in ``uns``.

    Warns
    -----
    UserWarning
        If a class is predicted for no training cell or for a single cell, if a rare class is in many prediction sets,
        or if the labels are integers that may be counts.

    Raises
    ------
    KeyError
        If the label column or the embedding does not exist.
    ValueError
        If points lie outside the ball, or if there are fewer than two different labels.

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
    98.8%
    """
    adata = check_adata(adata, copy)
    basis = obsm_key(adata, basis)
    _predict(adata, adata, label_key, basis, _Wanted(model, coverage, hierarchy), key_added)
    return adata if copy else None


def transfer(
    reference: Any,
    query: Any,
    label_key: str,
    *,
    basis: str = "X_poincare",
    model: Any = "softmax",
    coverage: float | None = None,
    hierarchy: Any = None,
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Fit a classifier to the cells of a reference, and predict the labels of a query in the same ball.

    If the query has no points, and ``reference.uns`` contains the map of the reference, the query is first placed in
    the ball of the reference with :func:`hyplearn.single_cell.tl.place`. If the query has points that were not computed
    with this map, an error is raised.

    Parameters
    ----------
    reference : AnnData
        Labelled cells. The reference is not changed.
    query : AnnData
        Cells whose labels are predicted. They need not have labels.
    label_key, basis, model, coverage, hierarchy, key_added, copy
        As in :func:`classify`; the results are written to the query.

    Examples
    --------
    >>> import hyplearn.single_cell as hs
    >>> hs.tl.transfer(atlas, cells, "cell_type", model="svc")  # doctest: +SKIP
    """
    reference, query = check_adata(reference), check_adata(query, copy)
    basis = obsm_key(reference, basis)
    if basis not in query.obsm and map_key(basis) in reference.uns:
        place(reference, query, basis=basis)
    check_same_ball(reference, query, basis)
    _predict(reference, query, label_key, basis, _Wanted(model, coverage, hierarchy), key_added)
    return query if copy else None


class _Wanted(NamedTuple):
    """Parameters of a classification: the classifier, and the coverage and hierarchy of prediction sets."""

    model: Any
    coverage: float | None
    hierarchy: Any


def _predict(reference: Any, query: Any, label_key: str, basis: str, wanted: _Wanted, key_added: str | None) -> None:
    """Fit a classifier to the reference, and write predictions to the query; if an error occurs, write nothing."""
    cells, X = labelled_cells(reference, label_key, basis), cell_points(query, basis)
    if X.shape[1] != cells.X.shape[1]:
        raise ValueError(
            f"The points of the query have {X.shape[1]} coordinates, but those of the reference have "
            f"{cells.X.shape[1]}.\nEmbed both in the same ball."
        )
    fitted = _fit(wanted, cells, label_key, basis)
    key = f"{label_key}_predicted" if key_added is None else key_added
    params: dict[str, Any] = {"label_key": label_key, "basis": basis, "model": repr(fitted.model)}
    if used := fingerprint(query, basis):
        params["map"] = used
    if wanted.coverage is not None:
        params["coverage"] = float(wanted.coverage)
    about = {
        "params": params,
        "transferred": reference is not query,
        "n_trained": int(cells.known.sum()),
        "n_predicted": len(X),
        **_description(fitted.model),
    }
    categories = _categories(reference.obs[label_key], fitted.model.classes_)
    obs, obsm = _predictions(fitted.model, X, key, categories)
    if fitted.conformal is not None:
        sets_obs, obsm[f"{key}_sets"] = _sets(fitted.conformal, X, key)
        obs |= sets_obs
        warn_of_frequent_rare_types(obsm[f"{key}_sets"], fitted.conformal.classes_, fitted.counts)
    warn_of_single_cells(obs[key])
    _write(query, key, obs, obsm)
    query.uns[key] = {**about, **fitted.quality}
    colours = reference.uns.get(f"{label_key}_colors")
    if colours is not None and len(colours) == len(categories):
        of = dict(zip(categories, colours, strict=True))
        query.uns[f"{key}_colors"] = [of[label] for label in obs[key].categories]


def _fit(wanted: _Wanted, cells: Cells, label_key: str, basis: str) -> Fitted:
    labels = _plain_labels(cells, label_key)
    if wanted.hierarchy is not None and wanted.coverage is None:
        raise ValueError(
            "hierarchy= requires coverage=, because it summarises prediction sets.\nPass, for example, coverage=0.9."
        )
    estimator = classifier_named(wanted.model) if isinstance(wanted.model, str) else clone(wanted.model)
    if getattr(estimator, "outside", None) == "raise":
        check_inside(cells.X, absolute_curvature(estimator.curvature), basis, OTHER_BALL)
    X = cells.X[cells.known]
    conformal = None
    if wanted.coverage is None:
        model = clone(estimator).fit(X, labels)
    else:
        conformal = ConformalClassifier(
            estimator, coverage=wanted.coverage, hierarchy=wanted.hierarchy, conformity="distance"
        ).fit(X, labels)
        model = conformal.estimator_
    quality = held_out_quality(estimator, model, X, labels)
    warn_of_never_predicted(quality, model.classes_, labels)
    return Fitted(model, conformal, quality, class_sizes(labels)[1])


def _plain_labels(cells: Cells, label_key: str) -> Array:
    """Return the known labels as an array of one type; labels of mixed types become strings."""
    assert cells.labels is not None
    known = cells.labels[cells.known].tolist()
    kinds = {type(label) for label in known}
    if len(kinds) == 1 and not isinstance(known[0], str):
        labels = np.array(known)
    else:
        labels = as_strings(as_objects(map(plain_string, known)))
    classes = distinct(labels)[0]
    if len(classes) < 2:
        found = f"only {classes.tolist()[0]!r}" if len(classes) else "none"
        raise ValueError(
            f"obs[{label_key!r}] must contain at least two classes; got {found} in "
            f"{cells.known.sum()} labelled cells of {len(cells.known)}.\nLabel some cells of another class."
        )
    if labels.dtype.kind in "iu" and len(classes) > MANY_CLASSES:
        warnings.warn(
            f"obs[{label_key!r}] contains {len(classes)} different integers from {classes[0]} to {classes[-1]}, which "
            "are used as classes.\nIf they are counts, pass a column of types or clusters instead.",
            UserWarning,
            stacklevel=5,
        )
    return labels


def _sets(conformal: Any, X: Array, key: str) -> tuple[dict[str, Any], Array]:
    """Return new columns for ``obs`` (sets, answers, unknown cells), and the matrix of prediction sets."""
    import pandas as pd

    sets = conformal.predict_set(X)
    columns = conformal.set_columns(sets)
    texts = [name for name in ("set", "answer") if name in columns]
    obs: dict[str, Any] = {f"{key}_{name}": pd.Categorical(columns[name]) for name in texts}
    return obs | {f"{key}_unknown": columns["unknown"]}, sets


def _predictions(fitted: Any, X: Array, key: str, categories: list[Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Predict the labels of cells; return new columns for ``obs`` and new arrays for ``obsm``."""
    import pandas as pd

    predicted = pd.Categorical(fitted.predict(X).tolist(), categories=categories)
    # Remove unused categories, because scanpy.tl.rank_genes_groups fails if a category is empty.
    obs: dict[str, Any] = {key: predicted.remove_unused_categories()}
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
    """Return the classes, the certificate and the serialised model, as values that h5ad and zarr can store."""
    names = ("classes_", "status_", "dual_gap_", "converged_")
    about = {name.rstrip("_"): _storable(getattr(fitted, name)) for name in names if hasattr(fitted, name)}
    kept = model_bytes(fitted)
    return about if kept is None else {**about, "model": kept}


def _storable(values: Any) -> Array:
    """Return the values as an array that HDF5 can store; NumPy strings are converted to Python strings."""
    values = np.asarray(values)
    return values.astype(object) if values.dtype.kind == "U" else values


def _categories(column: Any, classes: Array) -> list[Any]:
    """Return the categories of a categorical column if they include all ``classes``, otherwise ``classes``."""
    if hasattr(column, "cat") and set(classes.tolist()) <= set(column.cat.categories.tolist()):
        return list(column.cat.categories)
    return classes.tolist()


def _write(query: Any, key: str, obs: dict[str, Any], obsm: dict[str, Array]) -> None:
    """Write the predictions, and remove the results of an earlier classification with the same key."""
    for ending in ("probabilities", "distances", "scores", "sets"):
        query.obsm.pop(f"{key}_{ending}", None)
    for ending in ("probability", "set", "answer", "unknown"):
        if f"{key}_{ending}" in query.obs:
            del query.obs[f"{key}_{ending}"]
    query.uns.pop(f"{key}_colors", None)
    for name, column in obs.items():
        query.obs[name] = column
    for name, array in obsm.items():
        query.obsm[name] = array
