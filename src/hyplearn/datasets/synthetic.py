"""The paper's synthetic data: points of the ball on both sides of a geodesic hyperplane."""

import itertools
import numbers
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from hyplearn.geometry import signed_distance
from hyplearn.types import Array

# Number of coordinates per block (1 MiB), and minimum number of rows per block. A block stays in the processor's cache
# while it is drawn and filtered; only X is larger. Without a minimum number of rows, the search for a rare class would
# take one call per point in very high dimensions.
BLOCK_NUMBERS = 2**17
LEAST_BLOCK_ROWS = 1000

# Drawing fails if fewer than one point in MOST_DRAWN_PER_ROW = 100 is kept, but only after a million points (100 times
# ROWS_OF_GRACE). With the paper's widest margin, 1, half of the points are kept at d = 2, and 5 % at d = 1000.
MOST_DRAWN_PER_ROW = 100
ROWS_OF_GRACE = 10_000


def make_ball_classification(
    n_samples: int = 1000,
    n_features: int = 2,
    *,
    margin: float = 0.01,
    reference_norm: float = 0.38,
    radius: float = 0.95,
    random_state: Any = None,
) -> tuple[Array, Array, Array, Array]:
    r"""Generate points of the Poincaré ball (c = 1), labelled by their side of a random hyperplane H(w, p).

    The paper's recipe: points uniform, in the Euclidean sense, in the ball of the given radius; p in a uniformly
    random direction; w a uniformly random unit vector; every point with :math:`d(x, H) \le` `margin` drawn again.

    Parameters
    ----------
    n_samples : int
        Number of points, counted after the margin is cut out; at least 2.
    n_features : int
        Dimension of the ball.
    margin : float
        Hyperbolic distance from the hyperplane that no point undercuts.
    reference_norm : float
        Euclidean norm of p. The default is the paper's 2R/5; a larger one bends the boundary more and makes the
        classes less equal.
    radius : float
        Euclidean radius R of the ball that the points fill; below 1.
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        The same seed gives the same bits. A generator is advanced.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The points.
    y : ndarray of shape (n_samples,)
        Their sides, -1 or 1; both occur.
    p, w : ndarrays of shape (n_features,)
        Reference point and unit normal of the hyperplane.

    Raises
    ------
    ValueError
        If the parameters allow a hyperplane that leaves one class empty, or if points that keep the margin, or points
        of one class, are too rare to be drawn.

    Notes
    -----
    Signed distances to H within the ball run from :math:`\delta_0 - \rho` to :math:`\delta_0 + \rho`, with
    :math:`\delta_0` that of the origin and :math:`\rho = 2 \operatorname{artanh} R`; and
    :math:`|\delta_0| \le 2 \operatorname{artanh} \|p\|`, with equality for w along p. Neither class is empty, for any
    w, if the following holds, which is required so that w stays uniform and errors do not depend on the seed:

    .. math:: \text{margin} < 2 \operatorname{artanh} R - 2 \operatorname{artanh} \|p\|.

    If all `n_samples` points fall on one side, the last row is replaced with the next point of the other side.

    Examples
    --------
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(200, 3, margin=0.1, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((200, 3), [-1, 1])
    >>> from hyplearn.geometry import signed_distance
    >>> print((y * signed_distance(X, w, p)).min() > 0.1)
    True
    """
    _check("n_samples", n_samples, numbers.Integral, "an integer of at least 2", lambda n: n >= 2)
    _check("n_features", n_features, numbers.Integral, "an integer of at least 1", lambda d: d >= 1)
    _check_extent(margin, reference_norm, radius)
    return sample_classes(
        n_samples, n_features, _generator(random_state), margin=margin, reference_norm=reference_norm, radius=radius
    )


def sample_classes(
    n: int,
    d: int,
    rng: np.random.Generator,
    *,
    margin: float,
    reference_norm: float,
    radius: float,
    block_numbers: int = BLOCK_NUMBERS,
    rows_of_grace: int = ROWS_OF_GRACE,
) -> tuple[Array, Array, Array, Array]:
    """Draw X, y, p and w for :func:`make_ball_classification`, in blocks of ``block_numbers`` coordinates.

    Gives up after ``MOST_DRAWN_PER_ROW`` points for each row filled and for each of ``rows_of_grace`` more.
    """
    p = reference_norm * _direction(rng, d)
    w = _direction(rng, d)
    X, y = np.empty((n, d)), np.empty(n, dtype=np.int64)
    rows = max(1, min(block_numbers // d, max(n, LEAST_BLOCK_ROWS)))
    blocks = _blocks(rng, w, p, margin, radius, rows)
    _fill(X, y, blocks, margin, rows_of_grace)
    _ensure_both_classes(X, y, blocks, rows_of_grace)
    return X, y, p, w


Blocks: TypeAlias = Iterator[tuple[Array, Array, int]]


def _blocks(rng: np.random.Generator, w: Array, p: Array, margin: float, radius: float, rows: int) -> Blocks:
    """Yield blocks endlessly: points outside the margin, their sides, and the number of points drawn so far."""
    for drawn in itertools.count(rows, rows):
        points = _uniform_in_ball(rng, rows, len(p), radius)
        distances = signed_distance(points, w, p)
        keep = np.abs(distances) > margin
        yield points[keep], np.sign(distances[keep]).astype(np.int64), drawn


def _fill(X: Array, y: Array, blocks: Blocks, margin: float, rows_of_grace: int) -> None:
    """Fill X and y, row by row, with the points of the blocks and their sides."""
    filled = 0
    for points, sides, drawn in blocks:
        taken = min(len(points), len(X) - filled)
        X[filled : filled + taken], y[filled : filled + taken] = points[:taken], sides[:taken]
        filled += taken
        if filled == len(X):
            return
        if drawn > MOST_DRAWN_PER_ROW * (filled + rows_of_grace):
            raise ValueError(
                f"Only {filled} of {drawn} random points lie farther than margin={margin:g} from the boundary.\n"
                "Lower margin, or raise radius."
            )


def _ensure_both_classes(X: Array, y: Array, blocks: Blocks, rows_of_grace: int) -> None:
    """If a class is missing, replace the last row with the next point of that class."""
    if np.any(y != y[0]):
        return
    for points, sides, drawn in blocks:
        others = np.flatnonzero(sides != y[0])
        if others.size:
            X[-1], y[-1] = points[others[0]], sides[others[0]]
            return
        if drawn > MOST_DRAWN_PER_ROW * (len(X) + rows_of_grace):
            raise ValueError(
                f"None of {drawn} random points lies in class {-y[0]}: the boundary cuts off too small a part of the "
                "ball.\nLower margin or reference_norm, or try another random_state."
            )


def _uniform_in_ball(rng: np.random.Generator, n: int, d: int, radius: float) -> Array:
    r"""Draw points uniformly from the Euclidean ball of the given radius.

    .. math:: x = \frac{R \, g}{\sqrt{\|g\|^2 + 2 e}}, \qquad g \sim \mathcal N(0, I_d), \; e \sim \operatorname{Exp}(1)

    2e is the sum of two more squared normals, so x/R is the first d coordinates of a uniform point on the unit sphere
    of d + 2 dimensions, and these are uniform in the ball (Barthe, Guédon, Mendelson and Naor, 2005).
    """
    x = rng.standard_normal((n, d))
    length = np.sqrt(np.einsum("ij,ij->i", x, x) + 2 * rng.standard_exponential(n))
    x *= (radius / length)[:, None]
    return x


def _direction(rng: np.random.Generator, d: int) -> Array:
    g = rng.standard_normal(d)
    return np.asarray(g / np.linalg.norm(g))


def _generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator for any random_state that scikit-learn accepts; None means an unpredictable seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    if random_state is not None:
        wanted = "None, a non-negative integer, a numpy.random.RandomState or a numpy.random.Generator"
        _check("random_state", random_state, numbers.Integral, wanted, lambda seed: seed >= 0)
    return np.random.default_rng(random_state)


def _check(name: str, value: Any, kind: type, wanted: str, holds: Callable[[Any], bool]) -> None:
    """Raise unless a value is a number of the given kind that satisfies the condition."""
    if isinstance(value, bool) or not isinstance(value, kind) or not holds(value):
        raise ValueError(f"{name} must be {wanted}; got {value!r}.")


def _check_extent(margin: float, reference_norm: float, radius: float) -> None:
    """Raise if a parameter is out of range, or if a class would be empty for some direction of w."""
    real = numbers.Real
    _check("radius", radius, real, "a number above 0 and below 1, the radius of the ball", lambda r: 0 < r < 1)
    below_radius = f"a number from 0 to below radius={radius:g}"
    _check("reference_norm", reference_norm, real, below_radius, lambda r: 0 <= r < radius)
    _check("margin", margin, real, "a finite non-negative number, a hyperbolic distance", lambda m: 0 <= m < np.inf)
    extent = 2 * np.arctanh(radius) - 2 * np.arctanh(reference_norm)
    if margin >= extent:
        raise ValueError(
            f"margin={margin:g} can leave a class empty: in the ball of radius {radius:g} a boundary through a point "
            f"of norm {reference_norm:g} may have only {extent:.6g} of hyperbolic distance on one side.\n"
            f"Pass a margin below {extent:.6g}, a smaller reference_norm, or a larger radius."
        )
