"""Store the map of an atlas in its AnnData object, together with the data that are needed to place new cells."""

import hashlib
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
# Maximum ratio of the mean totals per cell of two data sets. If the ratio is larger, the data sets are assumed to be
# normalised in different ways.
SAME_SCALE = 3.0


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


def placed_features(kept: dict[str, Any], query: Any, use_rep: str | None) -> Array:
    """Return the features of new cells in the feature space of the atlas.

    If ``use_rep`` is None or "X", the features are computed from the genes; otherwise, they are read from ``obsm``.
    """
    if use_rep is not None and use_rep != "X":
        return cell_features(query, use_rep)
    if "genes" not in kept:
        raise ValueError(
            f"The features {kept['params']['use_rep']!r} of the atlas cannot be computed from its X, so new cells "
            "cannot be placed from their genes.\nRun scanpy.pp.pca and poincare_map on the current X of the atlas. Or "
            "compute the same features for the query (as scanpy.tl.ingest does), store them in obsm, and pass use_rep= "
            "to tl.place."
        )
    X = _same_genes(query, kept["genes"])
    _check_matrix(Matrix.of(X), Matrix(**kept["matrix"]))
    if "loadings" not in kept:
        return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    loadings = np.asarray(kept["loadings"])
    return np.asarray(X @ loadings) - np.asarray(kept["centre"]) @ loadings


def _same_genes(query: Any, genes: Any) -> Any:
    """Return the matrix of the query with the given genes of the atlas as columns, in the given order."""
    names = [str(name) for name in np.asarray(genes).tolist()]
    places = query.var_names.get_indexer(names) if query.var_names.is_unique else None
    if places is None:
        raise ValueError("The query's var_names are not unique.\nCall query.var_names_make_unique() first.")
    missing = [name for name, place in zip(names, places, strict=True) if place < 0]
    if missing:
        raise ValueError(
            f"The query lacks {len(missing)} of the {len(names)} genes of the atlas's map, such as "
            f"{', '.join(missing[:5])}.\nCompute the map of the atlas with the genes that both data sets have, or "
            "rename var_names if they are symbols in one data set and identifiers in the other."
        )
    return whole_matrix(query)[:, places]


def _check_matrix(query: Matrix, atlas: Matrix) -> None:
    """Raise ValueError if the two matrices appear to be normalised in different ways."""
    if str(atlas.kind) != query.kind:
        raise ValueError(
            f"The query's X contains {_described(query)}, but the atlas's X contains {_described(atlas)}.\n"
            "Normalise the query's counts in the same way as the atlas's (scanpy.pp.normalize_total, log1p, scale)."
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

    Maps are compared by their fingerprints. Two maps without a fingerprint are assumed to be the same.
    """
    own, other = (_fingerprint(adata, basis) for adata in (reference, query))
    if own == other:
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


def _fingerprint(adata: Any, basis: str) -> str:
    kept = adata.uns.get(map_key(basis))
    return str(kept.get("fingerprint", "")) if isinstance(kept, dict) else ""
