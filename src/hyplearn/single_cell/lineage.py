"""Compute the pseudotime and the branches of cells, given their points in the ball and a root."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from hyplearn.embedding.poincare_map.cells import root_row
from hyplearn.geometry import distance, frechet_mean, log_map, pairwise_distance
from hyplearn.geometry.border import is_integer
from hyplearn.geometry.kernels import row_gaps
from hyplearn.geometry.nearest import nearest, nearest_tree
from hyplearn.single_cell.cells import cell_labels, cell_points, check_adata, check_inside
from hyplearn.types import Array

# The root is considered to be at a tip if the mean of the unit vectors from the root towards the cells has a norm above
# ONE_SIDED (the norm is 1 if all directions are equal), and if the median distance to the cells is above FAR.
ONE_SIDED, FAR = 0.85, 3.0
# Advice for points outside the ball of curvature -1. Dividing points by r maps the ball of radius r to the ball of
# radius 1, and all distances are divided by r.
OTHER_BALL = (
    "Pass basis= with the key of an embedding in the ball of radius 1, or divide the points of a ball of radius r by r."
)


def root_of(adata: Any, X: Array, root: Any) -> int:
    """Return the row number of the root.

    If ``root`` is None, the root is ``uns["iroot"]`` or, if this entry is missing, the cell nearest to the centre of
    the ball.
    """
    if root is None:
        root = adata.uns.get("iroot")
    if root is None:
        return int(np.argmin(np.linalg.norm(X, axis=1)))
    return named_root(adata, root, lambda own: distance(X[own], frechet_mean(X[own])))


def named_root(adata: Any, root: Any, from_mean: Callable[[Array], Array]) -> int:
    """Return the row number of a root, which is given as a row number, a cell name, or a pair (column of obs, label).

    For a label, the root is the cell nearest to the mean of the cells with this label. The function ``from_mean`` is
    called with the row numbers of these cells, and returns the distance of each of them to their mean.
    """
    if isinstance(root, (tuple, list)):
        column, label = root
        labels, known = cell_labels(adata, column)
        own = np.flatnonzero(known & (labels == label))
        if not len(own):
            present = np.unique(labels[known].astype(str)).tolist()
            listed = ", ".join(map(repr, present[:8])) + (", ..." if len(present) > 8 else "")
            raise ValueError(
                f"No cell has the label {label!r} in obs[{column!r}]; it contains {listed or 'no labels'}.\n"
                "Pass a label of this column."
            )
        return int(own[np.argmin(from_mean(own))])
    row = root_row(int(root) if isinstance(root, np.integer | np.ndarray) else root, adata.obs_names, adata.n_obs)
    assert row is not None
    return row


def warn_if_at_tip(X: Array, root: int) -> None:
    """Warn if the cells lie in about the same direction from the root, and at least half of them are far away.

    The disk would show such cells within a few pixels.
    """
    others = np.arange(len(X)) != root
    vectors = log_map(X[others], X[root])
    lengths = np.linalg.norm(vectors, axis=1)
    far = float(np.median(distance(X[others], X[root])))
    one_sided = float(np.linalg.norm(np.mean(vectors[lengths > 0] / lengths[lengths > 0, None], axis=0)))
    if one_sided > ONE_SIDED and far > FAR:
        warnings.warn(
            "The root is at the edge of the map: the cells lie in about the same direction from the root, and half of "
            f"them are farther away than {far:.1f}, so the disk shows them within a few pixels.\nOmit root to centre "
            "the disk at the mean of all cells; tl.pseudotime has a separate root parameter.",
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
    """Compute the hyperbolic distance of each cell from a root, along geodesics and along branches.

    Parameters
    ----------
    adata : AnnData
        Cells, with points of the ball of curvature -1 in ``obsm[basis]``.
    root : int, str or (str, str), optional
        Row number or name of the root cell. A pair (column of ``obs``, label) selects the cell nearest to the Fréchet
        mean of all cells with this label. The default is ``uns["iroot"]`` or, if it is missing, the cell nearest to
        the centre of the ball.
    basis : str
        Key of the points in ``obsm``.
    n_neighbors : int
        Number of nearest neighbours of each cell in the neighbour graph, in which paths are computed.
    key_added : str
        Key of the results.
    copy : bool
        Whether to write the results to a copy of ``adata``, and return the copy.

    Returns
    -------
    AnnData or None
        The copy if ``copy=True``, otherwise None. The following results are written:

        ``obs[key_added]``
            Hyperbolic distance from the root, along the geodesic.
        ``obs[f"{key_added}_along"]``
            Length of the shortest path from the root in the neighbour graph. It is at least the distance, clearly
            larger if the geodesic leaves the branches, and infinite for cells that are not connected to the root.
        ``uns[key_added]``
            Row and name of the root, and ``basis``.

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
    check_inside(X, 1.0, basis, OTHER_BALL)
    row = root_of(adata, X, root)
    straight = distance(X, X[row])
    along = dijkstra(_neighbour_graph(X, n_neighbors), directed=False, indices=row)
    if lost := int(np.sum(np.isinf(along))):
        warnings.warn(
            f"{lost} of {len(X)} cells are not connected to the root by neighbouring cells, so their "
            f"{key_added}_along is infinite.\nRaise n_neighbors, or use {key_added}, the distance along geodesics.",
            UserWarning,
            stacklevel=2,
        )
    adata.obs[key_added] = straight
    adata.obs[f"{key_added}_along"] = along
    adata.uns[key_added] = {"root": row, "root_name": str(adata.obs_names[row]), "basis": basis}
    return adata if copy else None


def _neighbour_graph(X: Array, n_neighbors: int) -> Any:
    """Return a sparse matrix of the distances from each cell to its nearest neighbours."""
    n, k, gaps = len(X), min(n_neighbors, len(X) - 1), row_gaps(X, 1.0)
    values, columns = nearest(nearest_tree(X, gaps), X, gaps, k + 1, 1.0)
    # The k + 1 nearest cells include the cell itself, unless at least k + 1 other cells are at the same point.
    own = columns == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    values, columns = values[~own].reshape(n, k), columns[~own].reshape(n, k)
    # In a sparse matrix, a distance of 0 would mean that there is no edge.
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
    r"""Assign cells to the branches of the lineage that starts at a root.

    The geodesics from the root r to two cells x and y stay close to each other up to a distance from r that is about
    the Gromov product :math:`(x|y)_r = \tfrac12 (d(x, r) + d(y, r) - d(x, y))`. At depth t, two cells are on the same
    branch if they are connected by a chain of cells in which all consecutive pairs have a product above t. As t grows,
    a branch ends in a tip, or splits into two or more branches of at least ``min_cells`` cells each.

    Parameters
    ----------
    adata : AnnData
        Cells, with points of the ball of curvature -1 in ``obsm[basis]``.
    root
        As in :func:`pseudotime`.
    basis : str
        Key of the points in ``obsm``.
    min_cells : int, optional
        Minimum number of cells of a branch; by default 5 % of all cells, but at least 5.
    n_landmarks : int
        Maximum number of cells, besides the root, whose branches are computed from all pairwise distances, which take
        32 MB for 2,000 cells. These cells are the landmarks; each other cell gets the branch of the nearest landmark.
    key_added : str
        Key of the results.
    copy : bool
        Whether to write the results to a copy of ``adata``, and return the copy.

    Returns
    -------
    AnnData or None
        The copy if ``copy=True``, otherwise None. The following results are written:

        ``obs[key_added]``
            Branches as categories: "0" is the branch at the root, "0.1" and "0.2" are the branches into which it
            splits, with the largest first, and so on.
        ``uns[key_added]``
            Row and name of the root, ``basis``, the branches that split (``parted``), and the depths at which they
            split (``depths``).

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

    if not (min_cells is None or is_integer(min_cells, 2)):
        raise ValueError(
            f"min_cells must be an integer of at least 2; got {min_cells!r}.\n"
            "Pass min_cells=2 or more, or omit it for 5 % of all cells."
        )
    adata = check_adata(adata, copy)
    X = cell_points(adata, basis)
    check_inside(X, 1.0, basis, OTHER_BALL)
    row = root_of(adata, X, root)
    least = max(5, round(0.05 * len(X))) if min_cells is None else min_cells
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
    """Return the branch of each cell, and the depths at which branches split, as a dict from branches to depths.

    The dict contains only the branches that split. Every branch that results from a split has at least ``least`` cells.
    """
    r = distance(X, X[root])
    D = pairwise_distance(X)
    product = 0.5 * (r[:, None] + r[None, :] - D)
    # The edges between cells are weighted with Gromov products. Among all paths between two cells, the path in the
    # maximum spanning tree has the largest minimum product. The edges of this tree are therefore sufficient to
    # determine which cells are connected at each depth.
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
    """Return the smallest depth at which cells split into several large parts, and these parts.

    A part is large if it has at least ``least`` cells. If there is no such depth, the result is None.
    """
    place = np.full(int(max(cells.max(), edges.max(initial=0))) + 1, -1)
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
