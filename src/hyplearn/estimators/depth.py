r"""Warning about classes that lie too deep for coordinates about one centre.

For curvature -1, the directions of two points x and y, seen from a centre m, differ by about :math:`2 e^{-g}`, where g
is the Gromov product

.. math:: g = \tfrac12 \bigl( d(m, x) + d(m, y) - d(x, y) \bigr).

The product g is about the distance from m at which the geodesics to the two points separate. In a deep tree, it is
large for sibling branches, and a linear function of coordinates about m needs weights of about :math:`e^g` to separate
such branches.
"""

import warnings
from typing import Any

import numpy as np

from hyplearn.data.far_rows import robust_centres
from hyplearn.data.training import TrainingData
from hyplearn.geometry import distance
from hyplearn.types import Array

# Gromov product of two class centres, in units of 1/√c, above which the warning is given. On 7 tree embeddings with a
# product above 9.5, the accuracy of PoincareLogisticRegression is 1 to 36 percentage points lower than the accuracy of
# PoincareSVC("means"); on 12 embeddings with a product of 2 to 8.5, it is at least as high.
DEEPEST = 9.0
# Number of rows from which the class centres are estimated: SAMPLE rows, or SAMPLE_PER_CLASS times the number of
# classes if that is more.
SAMPLE, SAMPLE_PER_CLASS = 2**11, 128


def warn_of_depth(estimator: Any, data: TrainingData) -> None:
    """Warn if a model uses coordinates about one centre, from which two classes lie in almost the same direction."""
    centre = estimator.reference_[0]
    if np.any(estimator.reference_ != centre) or _radius(data, centre) < DEEPEST:
        return
    depth, one, other = deepest_classes(data, centre)
    if depth > DEEPEST:
        first, second = estimator.classes_[one], estimator.classes_[other]
        warnings.warn(
            f"{type(estimator).__name__} uses coordinates about one centre, and the geodesics from this centre to the "
            f"classes {first} and {second} separate only at a distance of {depth:.1f} radii of curvature. The "
            f"directions of these classes differ by about {2 * np.exp(-depth):.0e}, which is too little to distinguish "
            "them well."
            '\nUse PoincareKernelClassifier or PoincareSVC("means"), which do not depend on a single centre.',
            UserWarning,
            stacklevel=3,
        )


def deepest_classes(data: TrainingData, centre: Array) -> tuple[float, int, int]:
    """Return the largest Gromov product of two classes, seen from ``centre``, and the indices of the two classes.

    The Gromov product of two classes is computed from robust estimates of their centres. It is in units of 1/√c.
    """
    block, _ = data.subsampled(max(SAMPLE, SAMPLE_PER_CLASS * data.n_classes))
    part = block.taken(np.flatnonzero(block.present))
    found, codes = np.unique(part.codes, return_inverse=True)
    centres = robust_centres(part.X, codes, part.gaps, part.row_weights, len(found), data.c)
    depths = distance(centres, centre, c=data.c)
    # pairwise_distance is not used for these few distances, because compiling it would take a second.
    between = np.array([distance(centres, one, c=data.c) for one in centres])
    products = 0.5 * np.sqrt(data.c) * (depths[:, None] + depths - between)
    np.fill_diagonal(products, -np.inf)
    one, other = np.unravel_index(np.argmax(products), products.shape)
    return float(products[one, other]), int(found[one]), int(found[other])


def _radius(data: TrainingData, centre: Array) -> float:
    """Return an upper bound on the distance of any row from ``centre``, in units of 1/√c; inf if no bound is known."""
    if not data.least_gap > 0:
        return np.inf
    of_centre = 2 * np.arctanh(np.sqrt(data.c) * np.linalg.norm(centre))
    return float(2 * np.arccosh(1 / np.sqrt(data.least_gap)) + of_centre)
