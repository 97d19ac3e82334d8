"""Embed cells in the Poincaré ball, and place new cells in the ball of an atlas."""

import warnings
from typing import Any

import numpy as np
from numpy.linalg import norm
from scipy.spatial import cKDTree

from hyplearn.embedding import PoincareMap
from hyplearn.single_cell.atlas import DEFAULT_KEY, Features, Matrix, kept_map, map_key, placed_features, stored_map
from hyplearn.single_cell.cells import cell_features, check_adata
from hyplearn.single_cell.lineage import named_root, warn_if_at_tip
from hyplearn.types import Array

# Quantile of the nearest-neighbour distances within the atlas. A new cell is far if its distance to the nearest cell of
# the atlas exceeds this quantile.
FAR = 0.99
# Fraction of far cells above which a warning is given. Among the cells of the atlas itself, this fraction is 0.01.
MANY_FAR = 0.1
# Largest plausible value after log1p, which maps a million to 14. A larger value means that log1p was not applied.
LARGEST = 20
# A warning is given if the components explain less than this share of the variation that they would not explain by
# chance. On scanpy's pbmc68k_reduced, the share is 0.30 for cells like those of the atlas, 0.08 to 0.31 for four types
# that the atlas lacks, and 0.01 for noise.
LEAST_EXPLAINED = 0.04
# Text added to the advice about unnormalised matrices if the features are ``adata.X``.
PASS_COMPONENTS = ', and pass use_rep="X_pca"'


def poincare_map(
    adata: Any,
    *,
    use_rep: str = "X_pca",
    n_components: int = 2,
    n_neighbors: int | str = "auto",
    sigma: float | None = 0.5,
    gamma: float | str = "auto",
    root: Any = None,
    n_landmarks: int | str | None = "auto",
    random_state: int = 0,
    key_added: str = DEFAULT_KEY,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Embed cells in the Poincaré ball with a Poincaré map (Klimovskaia et al., 2020).

    Parameters
    ----------
    adata : AnnData
        Cells, with features in ``obsm[use_rep]``.
    use_rep : str
        Key of the features in ``obsm``, with or without the prefix ``"X_"``; ``"X"`` means the matrix X itself.
    n_components, n_neighbors, sigma, gamma, n_landmarks, random_state
        As in :class:`hyplearn.embedding.PoincareMap`.
    root : int, str or (str, str), optional
        Row number or name of the cell at the centre, such as a stem cell. A pair (column of ``obs``, label) selects
        the cell whose features are nearest to the mean of the features of all cells with this label. By default, the
        mean of all cells is at the centre.
    key_added : str
        Key of the points in ``obsm``.
    copy : bool
        Whether to write the results to a copy, and return the copy.
    **options
        Further parameters of :class:`hyplearn.embedding.PoincareMap`, such as ``verbose`` and ``max_iter``.

    Returns
    -------
    AnnData or None
        The copy if ``copy=True``, otherwise None. The following results are written:

        ``obsm[key_added]``
            Points in the ball.
        ``uns["poincare_map"]``, or ``uns[key_added]`` if ``key_added`` is not the default
            ``params``, ``gamma``, ``loss``, ``n_iter``, and the data that :func:`place` needs. These data are the model
            and its fingerprint. If the features are X or principal components of X, the names of the genes and a
            summary of X are added. For principal components, the loadings and the centre that was subtracted from X
            are added as well.

    Raises
    ------
    KeyError
        If the features, or the column of labels for the root, do not exist.
    ValueError
        If the root does not exist.

    Examples
    --------
    >>> import anndata
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> import hyplearn.single_cell as hs
    >>> cells = anndata.AnnData(scale(load_wine().data))
    >>> hs.tl.poincare_map(cells, use_rep="X", root="0")
    >>> cells.obsm["X_poincare"].shape, cells.obsm["X_poincare"][0].tolist()
    ((178, 2), [0.0, 0.0])
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
    warn_about_constants(use_rep, X)
    row = None if root is None else named_root(adata, root, lambda own: norm(X[own] - X[own].mean(axis=0), axis=1))
    model = PoincareMap(**parameters, root=row).fit(X)
    if row is not None:
        warn_if_at_tip(model.embedding_, row)
    kept = kept_map(adata, model, use_rep)
    if "matrix" in kept:
        warn_about_matrix(Matrix(**kept["matrix"]), use_rep)
    adata.obsm[key_added] = model.embedding_
    # If the root was given as a pair, its row number is stored. Parameters that are None are left out, because HDF5
    # cannot store None.
    named = root if isinstance(root, (int, str)) or root is None else row
    params = {"use_rep": use_rep, "root": named, **parameters}
    adata.uns[map_key(key_added)] = {
        "params": {name: value for name, value in params.items() if value is not None},
        "gamma": model.gamma_,
        "loss": model.loss_,
        "n_iter": model.n_iter_,
        **kept,
    }
    return adata if copy else None


def place(
    reference: Any, query: Any, *, basis: str = DEFAULT_KEY, use_rep: str | None = None, copy: bool = False
) -> Any:
    """Place new cells in the ball of an atlas, without changing the map of the atlas.

    Genes are matched by name, and the query must be normalised like the atlas.

    Parameters
    ----------
    reference : AnnData
        Atlas that was embedded with :func:`poincare_map`. It is not changed.
    query : AnnData
        New cells.
    basis : str
        Key of the points of the atlas in ``obsm``.
    use_rep : str, optional
        Key in ``obsm`` of the query's features. They must be in the feature space of the atlas, such as principal
        components that were computed with the loadings of the atlas. By default, the features are computed from X of
        the query.
    copy : bool
        Whether to write the results to a copy, and return the copy.

    Returns
    -------
    AnnData or None
        The copy if ``copy=True``, otherwise None. The following results are written:

        ``obsm[basis]``
            Points in the ball.
        ``obs[f"{basis}_atlas_distance"]``
            Distance from each cell to the nearest cell of the atlas in feature space, relative to the median distance
            from a cell of the atlas to its nearest neighbour. Typical values are about 1.
        ``obs[f"{basis}_explained"]``
            If the features are principal components of X: the share of the cell's squared distance from the centre of
            the atlas that lies in these components. Cells with a small share differ from the atlas in ways that the map
            cannot show.
        ``uns["poincare_map"]``, or ``uns[basis]`` if ``basis`` is not the default
            ``params``, and the fingerprint of the map of the atlas.

    Raises
    ------
    KeyError
        If the atlas contains no map.
    ValueError
        If genes are missing, or the matrices are not normalised in the same way.

    Examples
    --------
    >>> import anndata
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> import hyplearn.single_cell as hs
    >>> bottles = anndata.AnnData(scale(load_wine().data))
    >>> atlas, query = bottles[::2].copy(), bottles[1::2].copy()
    >>> hs.tl.poincare_map(atlas, use_rep="X")
    >>> hs.tl.place(atlas, query)
    >>> query.obsm["X_poincare"].shape
    (89, 2)
    """
    query = check_adata(query, copy)
    model, kept = stored_map(check_adata(reference), basis)
    features = placed_features(kept, query, use_rep)
    X = features.X
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"The query has {X.shape[1]} features; the map of the atlas was fitted on {model.n_features_in_} "
            "features.\nPass use_rep= with the key of features in the space of the atlas."
        )
    points, far = model.transform(X), _atlas_distance(model, X)
    query.obsm[basis] = points
    query.obs[f"{basis}_atlas_distance"] = far
    if features.explained is not None:
        query.obs[f"{basis}_explained"] = features.explained
        _warn_of_noise(features)
    query.uns[map_key(basis)] = {
        "params": {"placed": True, **({} if use_rep is None else {"use_rep": use_rep})},
        "fingerprint": kept["fingerprint"],
    }
    return query if copy else None


def _atlas_distance(model: PoincareMap, X: Array) -> Array:
    """Return the distance of each new cell to the nearest cell of the atlas; warn if many are far away.

    The unit is the median distance from a cell of the atlas to its nearest neighbour.
    """
    tree = cKDTree(model._cells)
    # Use the second nearest cell, because the nearest is the cell itself.
    within = tree.query(model._cells, k=2)[0][:, 1]
    unit = float(np.median(within)) or 1.0
    distances = tree.query(X)[0] / unit
    far = np.mean(distances > np.quantile(within, FAR) / unit)
    if far > MANY_FAR:
        warnings.warn(
            f"{far:.0%} of the query's cells are far from the atlas: their distance to its nearest cell exceeds the "
            f"nearest-neighbour distances of {FAR:.0%} of the atlas's cells.\nThey may have types that the atlas "
            "lacks, or come from another batch. Check the column that ends in _atlas_distance, and pass coverage= to "
            "tl.transfer to mark such cells as unknown.",
            UserWarning,
            stacklevel=3,
        )
    return distances


def _warn_of_noise(found: Features) -> None:
    """Warn if the components of the atlas explain hardly more of the query than they would of independent genes."""
    if found.share - found.by_chance < LEAST_EXPLAINED * (1 - found.by_chance):
        warnings.warn(
            f"The principal components of the atlas explain {found.share:.0%} of the variation of the query's genes, "
            f"but {found.by_chance:.0%} would be expected even if the genes varied independently. The positions of the "
            "new cells therefore say little about them.\nCheck the normalisation, the gene names and the quality of "
            "the query.",
            UserWarning,
            stacklevel=3,
        )


def warn_about_matrix(matrix: Matrix, use_rep: str) -> None:
    """Warn if a matrix contains counts, or values too large to be results of log1p.

    Such values make nearest neighbours unreliable.
    """
    if matrix.kind == "scaled" or matrix.largest <= LARGEST:
        return
    made = "" if use_rep == "X" else f", from which {use_rep!r} was computed"
    if matrix.kind == "counts":
        seen = f"X contains counts up to {matrix.largest:g}{made}, so distances depend on the sequencing depth."
    else:
        seen = (
            f"X contains values up to {matrix.largest:.4g}{made}, so a few genes dominate the distances. Is log1p "
            "missing?"
        )
    warnings.warn(
        f"{seen}\nRun scanpy.pp.normalize_total, scanpy.pp.log1p and scanpy.pp.pca first"
        f"{PASS_COMPONENTS if use_rep == 'X' else ''}.",
        UserWarning,
        stacklevel=3,
    )


def warn_about_constants(use_rep: str, X: Array) -> None:
    """Warn about features that have the same value in all cells."""
    constant = int(np.sum(np.ptp(X, axis=0) == 0)) if len(X) else 0
    if constant:
        warnings.warn(
            f"{constant} of {X.shape[1]} features of {use_rep!r} are the same in all cells and carry no information.\n"
            "Remove them: scanpy.pp.filter_genes(adata, min_cells=1), or choose highly variable genes.",
            UserWarning,
            stacklevel=3,
        )
