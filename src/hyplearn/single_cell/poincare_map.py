"""Cells into the Poincaré ball, from their principal components."""

from typing import Any

from hyplearn.embedding import PoincareMap
from hyplearn.embedding.poincare_map_cells import root_row
from hyplearn.single_cell.cells import cell_features, check_adata

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
    """Bring cells into the Poincaré ball by a map of their neighbourhoods (Klimovskaia et al., 2020).

    Parameters
    ----------
    adata : AnnData
        The cells, with features in ``obsm[use_rep]``.
    use_rep : str
        Key of the features in ``obsm``, with or without its ``"X_"``; ``"X"`` for the matrix itself.
    n_components, n_neighbors, sigma, gamma, n_landmarks, random_state
        As in :class:`hyplearn.embedding.PoincareMap`.
    root : int or str, optional
        Row or name of the cell that comes to the centre, such as a stem cell; by default the mean of all cells does.
    key_added : str
        Key of the points in ``obsm``.
    copy : bool
        Whether to write to a copy and return that.
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
    adata = check_adata(adata).copy() if copy else check_adata(adata)
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
    # What is None is left out: HDF5 has no None.
    params = {"use_rep": use_rep, "root": root, **parameters}
    adata.uns["poincare_map" if key_added == DEFAULT_KEY else key_added] = {
        "params": {name: value for name, value in params.items() if value is not None},
        "loss": model.loss_,
        "n_iter": model.n_iter_,
    }
    return adata if copy else None
