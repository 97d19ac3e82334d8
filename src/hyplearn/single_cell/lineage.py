"""Time and branches of cells, from their points in the ball and a root."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from hyplearn.embedding.poincare_map.cells import root_row
from hyplearn.geometry import distance, frechet_mean, log_map, pairwise_distance
from hyplearn.geometry.kernels import row_gaps
from hyplearn.geometry.nearest import nearest, nearest_tree
from hyplearn.single_cell.cells import cell_labels, cell_points, check_adata
from hyplearn.types import Array

# A root is at a tip if the directions to all cells have a mean of this length (1: one direction), and half of the cells
# are this far.
ONE_SIDED, FAR = 0.85, 3.0


def root_of(adata: Any, X: Array, root: Any) -> int:
    """Row of the root: ``uns["iroot"]`` for None, else the cell nearest to the centre of the ball."""
    if root is None:
        root = adata.uns.get("iroot")
    if root is None:
        return int(np.argmin(np.linalg.norm(X, axis=1)))
    return named_root(adata, root, lambda own: distance(X[own], frechet_mean(X[own])))


def named_root(adata: Any, root: Any, from_mean: Callable[[Array], Array]) -> int:
    """Row of a root given as a row, as the name of a cell, or as a pair (column of obs, label).

    Of the cells with that label it is the one nearest to their mean; ``from_mean`` returns the distances of some cells
    to the mean of these.
    """
    if isinstance(root, (tuple, list)):
        column, label = root
        labels, known = cell_labels(adata, column)
        own = np.flatnonzero(known & (labels == label))
        if not len(own):
            raise ValueError(
                f"No cell has the label {label!r} in obs[{column!r}]; it holds "
                f"{', '.join(map(repr, np.unique(labels[known].astype(str)).tolist()[:8]))}.\nPass one of these."
            )
        return int(own[np.argmin(from_mean(own))])
    row = root_row(int(root) if isinstance(root, np.integer | np.ndarray) else root, adata.obs_names, adata.n_obs)
    assert row is not None
    return row


def warn_if_at_tip(X: Array, root: int) -> None:
    """Warn if all cells lie in one direction from the root, where the disk shows them in a few pixels."""
    others = np.arange(len(X)) != root
    vectors = log_map(X[others], X[root])
    lengths = np.linalg.norm(vectors, axis=1)
    far = float(np.median(distance(X[others], X[root])))
    one_sided = float(np.linalg.norm(np.mean(vectors[lengths > 0] / lengths[lengths > 0, None], axis=0)))
    if one_sided > ONE_SIDED and far > FAR:
        warnings.warn(
            f"The root is at a tip: all cells lie in one direction from it, half of them beyond the distance {far:.1f},"
            " where the disk shows them in a few pixels.\nLeave root out to have the centre of all cells in the middle;"
            " tl.pseudotime takes the root by itself.",
            UserWarning,
            stacklevel=3,
        )


def pseudotime(
    adata: Any,
    *,
    root: Any = None,
    basis: str = "X_poincare",
    n_neighbors: int = 15,
    key_added: str = "poincare_pseudotime",
    copy: bool = False,
) -> Any:
    """Order cells by their hyperbolic distance from a root, straight and along branches.

    Parameters
    ----------
    adata : AnnData
        The cells, with points of the ball of curvature -1 in ``obsm[basis]``.
    root : int, str or (str, str), optional
        Row of the root cell, its name, or a column of ``obs`` and a label: of the cells with that label the one nearest
        to their Fréchet mean. By default ``uns["iroot"]``, else the cell nearest to the centre of the ball.
    basis : str
        Key of the points in ``obsm``.
    n_neighbors : int
        Number of nearest cells in the ball that a path may step to.
    key_added : str
        Key of the results.
    copy : bool
        Whether to write to a copy and return it.

    Returns
    -------
    AnnData or None
        The copy, with ``copy=True``. Written are:

        ``obs[key_added]``
            Hyperbolic distance from the root, along the geodesic.
        ``obs[f"{key_added}_along"]``
            Length of the shortest path from the root over neighbouring cells. It is larger where the geodesic leaves
            the branches; infinite for cells that no path reaches.
        ``uns[key_added]``
            The row and name of the root.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import hyplearn.single_cell as hs
    >>> cells = anndata.AnnData(np.zeros((3, 1)), obsm={"X_poincare": np.array([[0.0, 0.0], [0.5, 0.0], [0.8, 0.0]])})
    >>> hs.tl.pseudotime(cells, root="0")
    >>> cells.obs["poincare_pseudotime"].round(2).tolist()
    [0.0, 1.1, 2.2]
    """
    adata = check_adata(adata, copy)
    X = cell_points(adata, basis)
    row = root_of(adata, X, root)
    straight = distance(X, X[row])
    along = dijkstra(_neighbour_graph(X, n_neighbors), directed=False, indices=row)
    adata.obs[key_added] = straight
    adata.obs[f"{key_added}_along"] = along
    adata.uns[key_added] = {"root": row, "root_name": str(adata.obs_names[row]), "basis": basis}
    return adata if copy else None


def _neighbour_graph(X: Array, n_neighbors: int) -> Any:
    """Distances of each cell to its nearest ones, as a sparse matrix."""
    n, k, gaps = len(X), min(n_neighbors, len(X) - 1), row_gaps(X, 1.0)
    values, columns = nearest(nearest_tree(X, gaps), X, gaps, k + 1, 1.0)
    # Among k + 1 nearest cells is the cell itself, unless k + 1 others have its point.
    own = columns == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    values, columns = values[~own].reshape(n, k), columns[~own].reshape(n, k)
    # A distance of 0 would be no edge.
    values = np.maximum(values, np.finfo(np.float64).tiny)
    return sparse.csr_array((values.ravel(), columns.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def branches(
    adata: Any,
    *,
    root: Any = None,
    basis: str = "X_poincare",
    min_cells: int | None = None,
    n_landmarks: int = 2000,
    key_added: str = "poincare_branch",
    copy: bool = False,
) -> Any:
    r"""Find which cells lie on which branch of the lineage that starts at a root.

    The geodesics from the root r to two cells run together for about their Gromov product,
    :math:`(x|y)_r = \tfrac12 (d(x, r) + d(y, r) - d(x, y))`. At depth t two cells are on one branch if a chain of cells
    joins them whose neighbours all have a product above t. With growing t a branch ends in a tip, or parts into two or
    more of at least ``min_cells`` cells each.

    Parameters
    ----------
    adata : AnnData
        The cells, with points of the ball of curvature -1 in ``obsm[basis]``.
    root
        As in :func:`pseudotime`.
    basis : str
        Key of the points in ``obsm``.
    min_cells : int, optional
        Least number of cells of a branch; by default 5 % of all cells, and at least 5.
    n_landmarks : int
        Number of cells whose branches are found from the distances of all pairs, 32 MB for 2,000. The others take the
        branch of the nearest of these.
    key_added : str
        Key of the results.
    copy : bool
        Whether to write to a copy and return it.

    Returns
    -------
    AnnData or None
        The copy, with ``copy=True``. Written are:

        ``obs[key_added]``
            Branches as categories: "0" is the one at the root, "0.1" and "0.2" are those into which it parts, the
            larger first, and so on.
        ``uns[key_added]``
            The row and name of the root, and the depths at which branches part.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import hyplearn.single_cell as hs
    >>> arms = [[r * np.cos(a), r * np.sin(a)] for a in (0, 2, 4) for r in np.linspace(0.1, 0.95, 20)]
    >>> cells = anndata.AnnData(np.zeros((61, 1)), obsm={"X_poincare": np.array([[0.0, 0.0], *arms])})
    >>> hs.tl.branches(cells, root="0")
    >>> cells.obs["poincare_branch"].value_counts().sort_index().to_dict()
    {...}
    """
    import pandas as pd

    adata = check_adata(adata, copy)
    X = cell_points(adata, basis)
    row = root_of(adata, X, root)
    least = max(5, round(0.05 * len(X))) if min_cells is None else int(min_cells)
    if least < 2:
        raise ValueError(f"min_cells must be an integer of at least 2; got {min_cells!r}.")
    kept = np.unique(np.r_[row, np.linspace(0, len(X) - 1, min(len(X), n_landmarks)).astype(int)])
    names, depths = _parted(X[kept], int(np.searchsorted(kept, row)), least * len(kept) / len(X))
    if len(kept) < len(X):
        tree = nearest_tree(X[kept], row_gaps(X[kept], 1.0))
        names = names[nearest(tree, X, row_gaps(X, 1.0), 1, 1.0)[1][:, 0]]
    adata.obs[key_added] = pd.Categorical(names, categories=sorted(set(names), key=_order))
    adata.uns[key_added] = {
        "root": row,
        "root_name": str(adata.obs_names[row]),
        "basis": basis,
        "parted": np.array(list(depths), dtype=object),
        "depths": np.array(list(depths.values()), dtype=np.float64),
    }
    return adata if copy else None


def _order(name: str) -> list[int]:
    return [int(part) for part in name.split(".")]


def _parted(X: Array, root: int, least: float) -> tuple[Array, dict[str, float]]:
    """Branch of each cell, and the depth at which each branch parts."""
    r = distance(X, X[root])
    D = pairwise_distance(X)
    product = 0.5 * (r[:, None] + r[None, :] - D)
    # The chain with the largest least product between two cells runs over edges of the tree with the largest products.
    cost = product.max() + 1.0 - product
    np.fill_diagonal(cost, 0.0)
    tree = minimum_spanning_tree(cost).tocoo()
    edges = np.column_stack([tree.row, tree.col])
    depth = product[tree.row, tree.col]
    names, depths = np.array(["0"] * len(X), dtype=object), {}
    waiting = [("0", np.arange(len(X)))]
    while waiting:
        name, cells = waiting.pop()
        found = _first_parting(cells, edges, depth, least)
        if found is None:
            continue
        depths[name], parts = found
        for number, part in enumerate(sorted(parts, key=len, reverse=True), start=1):
            names[part] = f"{name}.{number}"
            waiting.append((f"{name}.{number}", part))
    return names, depths


def _first_parting(cells: Array, edges: Array, depth: Array, least: float) -> tuple[float, list[Array]] | None:
    """Least depth at which two or more parts of the cells are large enough; None if there is none."""
    place = np.full(int(edges.max()) + 1, -1)
    place[cells] = np.arange(len(cells))
    inside = (place[edges[:, 0]] >= 0) & (place[edges[:, 1]] >= 0)
    own, depths = place[edges[inside]], depth[inside]
    for cut in np.sort(depths):
        kept = own[depths > cut]
        graph = sparse.coo_array((np.ones(len(kept)), tuple(kept.T)), shape=(len(cells), len(cells)))
        _, part = connected_components(graph, directed=False)
        sizes = np.bincount(part)
        large = np.flatnonzero(sizes >= least)
        if len(large) == 0:
            return None
        if len(large) > 1:
            return float(cut), [cells[part == k] for k in large]
    return None
