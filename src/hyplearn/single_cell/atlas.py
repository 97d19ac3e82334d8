"""Store the map of an atlas in its AnnData object, together with the data that are needed to place new cells."""

import hashlib
import warnings
from typing import Any, NamedTuple

import numpy as np

from hyplearn.embedding import PoincareMap
from hyplearn.persistence import ModelFileError
from hyplearn.persistence.container import FlawError
from hyplearn.persistence.files import from_bytes, to_bytes
from hyplearn.single_cell.cells import MissingKeyError, cell_features, whole_matrix
from hyplearn.types import Array

# Default key of the points in obsm.
DEFAULT_KEY = "X_poincare"
# Maximum difference between recomputed and stored principal components, relative to the largest component. Differences
# arise because scanpy stores components in float32.
SAME_COMPONENTS = 1e-3
# Maximum ratio of the mean total per cell in one data set to that in another. If the ratio is larger, the data sets are
# assumed to be normalised in different ways.
SAME_SCALE = 3.0
# Largest share of the atlas's genes that a query may lack.
MOST_MISSING = 0.05
# A query is assumed to have been scaled separately from the atlas if the median over the genes of n m² / v is below
# ALONE, where n is the number of cells, and m and v are the mean and the variance of a gene. For cells that were scaled
# with the means and standard deviations of an atlas of the same tissue, the median is about 0.45.
ALONE = 0.01


def map_key(basis: str) -> str:
    """Return the key under which ``uns`` contains the map that produced the points ``obsm[basis]``."""
    return "poincare_map" if basis == DEFAULT_KEY else basis


class Matrix(NamedTuple):
    """Summary of a matrix: its kind ("counts", "non-negative" or "scaled"), mean total per cell, and maximum."""

    kind: str
    mean_total: float
    largest: float = 0.0

    @classmethod
    def of(cls, X: Any) -> "Matrix":
        """Summarise a dense or sparse matrix."""
        values = X.data if hasattr(X, "tocsr") else np.asarray(X)
        if values.size and values.min() < 0:
            kind = "scaled"
        elif values.size and values.max() > 1 and np.all(values == np.round(values)):
            kind = "counts"
        else:
            kind = "non-negative"
        total = float(np.mean(np.asarray(X.sum(axis=1)))) if X.shape[0] else 0.0
        return cls(kind, total, float(values.max(initial=0.0)))


class Features(NamedTuple):
    """Features of new cells and, if they are principal components of genes, how much the components explain.

    ``explained`` is the share of each cell's squared distance from the centre of the atlas that lies in the components.
    ``share`` is the share of all cells together, and ``by_chance`` the share if the genes varied independently.
    """

    X: Array
    explained: Array | None = None
    share: float = 1.0
    by_chance: float = 0.0


def kept_map(adata: Any, model: PoincareMap, use_rep: str) -> dict[str, Any]:
    """Return the map and the data needed to place new cells, as entries of a dict that is stored in ``uns``."""
    data = np.frombuffer(to_bytes(model), dtype=np.uint8).copy()
    kept: dict[str, Any] = {"model": data, "fingerprint": hashlib.sha256(data.tobytes()).hexdigest()}
    if use_rep == "X":
        X = whole_matrix(adata)
        kept["genes"] = np.asarray(adata.var_names, dtype=object)
    else:
        found = _loadings(adata, use_rep)
        if found is None:
            return kept
        X, used, kept["loadings"], kept["centre"] = found
        kept["genes"] = np.asarray(adata.var_names, dtype=object)[used]
    matrix = Matrix.of(X)
    return {**kept, "matrix": matrix._asdict()}


def _loadings(adata: Any, use_rep: str) -> tuple[Any, Array, Array, Array] | None:
    """Return the data from which scanpy's principal components can be recomputed.

    These are the matrix of the genes that the PCA used, the column numbers of these genes in X, the loadings, and the
    centre. The result is None if ``use_rep`` is not the key of a PCA, or if the data do not reproduce its components.
    """
    Z = cell_features(adata, use_rep)
    P = np.asarray(adata.varm["PCs"]) if "PCs" in adata.varm else None
    if P is None or use_rep.removeprefix("X_") != "pca" or adata.X is None or P.shape[1] != Z.shape[1]:
        return None
    used = np.flatnonzero(np.any(P != 0, axis=1))
    X = whole_matrix(adata)[:, used]
    P = P[used].astype(np.float64)
    centre = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    for c in (centre, np.zeros_like(centre)):  # with zero_center=False, scanpy does not subtract the mean
        again = np.asarray(X @ P) - c @ P
        if np.max(np.abs(again - Z)) <= SAME_COMPONENTS * np.max(np.abs(Z)):
            return X, used, P, c
    return None


def stored_map(adata: Any, basis: str) -> tuple[PoincareMap, dict[str, Any]]:
    """Return the map of an atlas, and the dict in ``uns`` in which the map is stored."""
    kept = adata.uns.get(map_key(basis))
    if not isinstance(kept, dict) or "model" not in kept:
        raise MissingKeyError(
            f"uns[{map_key(basis)!r}] contains no map of the atlas.\n"
            "Run hyplearn.single_cell.tl.poincare_map on the atlas, and keep uns when you write or subset it."
        )
    try:
        model = from_bytes(np.asarray(kept["model"], dtype=np.uint8).tobytes())
    except FlawError as flaw:
        raise ModelFileError(
            f"uns[{map_key(basis)!r}] contains no usable map: {flaw.problem}.\n{flaw.advice}"
        ) from None
    return model, kept


def _components(X: Any, loadings: Array, centre: Array) -> Features:
    """Compute the principal components of new cells, and how much they explain; X has one column per gene."""
    Z = np.asarray(X @ loadings) - centre @ loadings
    squares = X.multiply(X) if hasattr(X, "multiply") else X * X
    inside, crossed = np.sum(Z**2, axis=1), 2 * np.asarray(X @ centre).ravel()
    total = np.asarray(squares.sum(axis=1)).ravel() - crossed + centre @ centre
    means = np.asarray(X.mean(axis=0)).ravel()
    of_genes = np.asarray(squares.mean(axis=0)).ravel() - 2 * centre * means + centre**2
    explained = np.where(total > 0, np.minimum(inside / np.where(total > 0, total, 1.0), 1.0), 1.0)
    by_chance = of_genes @ np.sum(loadings**2, axis=1) / max(float(of_genes.sum()), np.finfo(float).tiny)
    return Features(Z, explained, float(inside.sum() / max(float(total.sum()), np.finfo(float).tiny)), float(by_chance))


def placed_features(kept: dict[str, Any], query: Any, use_rep: str | None) -> Features:
    """Return the features of new cells in the feature space of the atlas.

    If ``use_rep`` is None or "X", the features are computed from the genes; otherwise, they are read from ``obsm``.
    """
    if use_rep is not None and use_rep != "X":
        return Features(cell_features(query, use_rep))
    if "genes" not in kept:
        raise ValueError(
            f"The features {kept['params']['use_rep']!r} of the atlas cannot be computed from its X, so new cells "
            "cannot be placed from their genes.\nRun scanpy.pp.pca and poincare_map on the current X of the atlas. Or "
            "compute the same features for the query (as scanpy.tl.ingest does), store them in obsm, and pass use_rep= "
            "to tl.place."
        )
    is_pca = "loadings" in kept
    X, present = _same_genes(query, kept["genes"], MOST_MISSING if is_pca else 0.0)
    _check_matrix(Matrix.of(X), Matrix(**kept["matrix"]))
    if str(kept["matrix"]["kind"]) == "scaled":
        _warn_if_scaled_alone(X)
    if not is_pca:
        return Features(np.asarray(X.toarray() if hasattr(X, "toarray") else X))
    loadings, centre = np.asarray(kept["loadings"])[present], np.asarray(kept["centre"])[present]
    return _components(X, loadings, centre)


def _same_genes(query: Any, genes: Any, most_missing: float) -> tuple[Any, Array]:
    """Return the matrix of the query with the atlas's genes as columns, and a mask of the genes that the query has.

    A share of at most ``most_missing`` of the genes may be missing; a warning then names some of them.
    """
    names = [str(name) for name in np.asarray(genes).tolist()]
    places = query.var_names.get_indexer(names) if query.var_names.is_unique else None
    if places is None:
        raise ValueError("The query's var_names are not unique.\nCall query.var_names_make_unique() first.")
    missing = [name for name, place in zip(names, places, strict=True) if place < 0]
    seen = (
        f"The query lacks {len(missing)} of the {len(names)} genes of the atlas's map, such as "
        f"{', '.join(missing[:5])}."
    )
    if len(missing) > most_missing * len(names):
        raise ValueError(
            f"{seen}\nCompute the map of the atlas with the genes that both data sets have, or rename var_names if "
            "they are symbols in one data set and identifiers in the other."
        )
    if missing:
        warnings.warn(
            f"{seen}\nThey are assumed to have their mean value in the atlas. Add them to the query if you can.",
            UserWarning,
            stacklevel=4,
        )
    present = places >= 0
    X = whole_matrix(query)[:, places[present]]
    if not np.all(np.isfinite(X.data if hasattr(X, "tocsr") else X)):
        bad = np.argwhere(~np.isfinite(X.toarray() if hasattr(X, "toarray") else X))
        cell, gene = query.obs_names[bad[0, 0]], np.array(names)[present][bad[0, 1]]
        raise ValueError(
            f"The query's X contains {len(bad)} NaN or infinite values; the first is in cell {str(cell)!r}, gene "
            f"{str(gene)!r}.\nImpute these values, or remove the cells."
        )
    return X, present


def _warn_if_scaled_alone(X: Array) -> None:
    """Warn if a scaled query has gene means so close to 0 that it was probably scaled separately from the atlas."""
    means, variances = X.mean(axis=0), X.var(axis=0)
    varies = variances > 0
    if len(X) > 2 and varies.any() and np.median(len(X) * means[varies] ** 2 / variances[varies]) < ALONE:
        warnings.warn(
            "The genes of the query have mean 0, as after scanpy.pp.scale on the query alone. Differences between the "
            "query and the atlas are then lost, and types may be confused.\nScale the query with the atlas's values: "
            "subtract var['mean'] of the atlas and divide by its var['std'].",
            UserWarning,
            stacklevel=4,
        )


def _check_matrix(query: Matrix, atlas: Matrix) -> None:
    """Raise ValueError if the two matrices appear to be normalised in different ways."""
    if str(atlas.kind) != query.kind:
        raise ValueError(
            f"The query's X contains {_described(query)}, but the atlas's X contains {_described(atlas)}.\n"
            "Normalise the query's counts like the atlas's: normalize_total with the same target_sum, then log1p. If "
            "the atlas was scaled, subtract its var['mean'] and divide by its var['std']; do not call scanpy.pp.scale "
            "on the query."
        )
    ratio = query.mean_total / atlas.mean_total if atlas.mean_total > 0 and query.mean_total > 0 else 1.0
    if query.kind != "scaled" and not 1 / SAME_SCALE < ratio < SAME_SCALE:
        raise ValueError(
            f"The mean total per cell, over the genes of the atlas, is {query.mean_total:.4g} in the query and "
            f"{atlas.mean_total:.4g} in the atlas.\nNormalise the query like the atlas: check log1p and target_sum."
        )


def _described(matrix: Matrix) -> str:
    return {"counts": "counts", "scaled": "scaled values, some below 0"}.get(
        matrix.kind, "non-negative values that are not counts"
    )


def check_same_ball(reference: Any, query: Any, basis: str) -> None:
    """Check that the coordinates of the query and of the reference come from the same map; raise ValueError otherwise.

    Maps are compared by their fingerprints. Two maps without a fingerprint are assumed to be the same; for points of
    :func:`hyplearn.single_cell.tl.poincare_map`, which stores a fingerprint, a warning is given.
    """
    own, other = (fingerprint(adata, basis) for adata in (reference, query))
    if own == other:
        if not own and basis == DEFAULT_KEY:
            warnings.warn(
                f"Neither the reference nor the query contains the map of {basis!r} in uns, so it is not checked that "
                "their points come from one map. The coordinates of different maps are not comparable.\nKeep uns when "
                "you write, subset or concatenate cells, or place the query with hyplearn.single_cell.tl.place.",
                UserWarning,
                stacklevel=3,
            )
        return
    if not own:
        raise ValueError(
            f"The reference's {basis!r} comes from an unknown map, because uns[{map_key(basis)!r}] has no fingerprint "
            "of this map. The maps of the reference and of the query cannot be compared.\nKeep uns when you write or "
            "subset the reference. Or run hyplearn.single_cell.tl.poincare_map on the reference, and then "
            "tl.place(reference, query)."
        )
    seen = "from a different map" if other else "from an unknown map"
    raise ValueError(
        f"The query's {basis!r} comes {seen}, so it is not comparable with the map of the reference.\n"
        "Call hyplearn.single_cell.tl.place(reference, query). If the reference was itself placed in an atlas, pass "
        "this atlas instead of the reference."
    )


def fingerprint(adata: Any, basis: str) -> str:
    """Return the fingerprint of the map that produced ``obsm[basis]``; empty if it is unknown."""
    kept = adata.uns.get(map_key(basis))
    return str(kept.get("fingerprint", "")) if isinstance(kept, dict) else ""


def check_same_map(adata: Any, key: str) -> None:
    """Check that the points of a classification have not been replaced with those of another map."""
    params = adata.uns[key]["params"]
    if params.get("map", "") not in ("", fingerprint(adata, params["basis"])):
        raise ValueError(
            f"The classification {key!r} was computed from another map than the one that {params['basis']!r} contains "
            "now, so its boundaries do not fit the points.\nRun hyplearn.single_cell.tl.classify or transfer again."
        )
