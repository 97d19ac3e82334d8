"""Synthetic data as in the paper (Chien, Pan, Tabaghi and Milenkovic, 2021).

The data are points of the ball on both sides of a geodesic hyperplane.
"""

import itertools
import numbers
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from hyplearn.geometry import signed_distance
from hyplearn.types import Array

# Points are drawn in blocks. BLOCK_NUMBERS is the maximum number of coordinates per block (1 MiB), chosen so that a
# block stays in the processor's cache while it is drawn and filtered. Within this limit, a block has at least
# LEAST_BLOCK_ROWS rows, even if n_samples is smaller: with smaller blocks, the search for a rare class would draw only
# a few points at a time.
BLOCK_NUMBERS = 2**17
LEAST_BLOCK_ROWS = 1000

# An error is raised if the number of points drawn exceeds MOST_DRAWN_PER_ROW times the sum of ROWS_OF_GRACE and the
# number of points kept, that is, if fewer than about one in 100 is kept after the first million points. In the paper,
# the share of points kept is larger: with the widest margin, 1, it is 50 % for d = 2 and 5 % for d = 1000.
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

    As in the paper (Chien, Pan, Tabaghi and Milenkovic, 2021), the points are uniform, in the Euclidean sense, in the
    ball of the given radius; p has a uniformly random direction, and w is a uniformly random unit vector. Points with
    :math:`d(x, H) \le` `margin` are replaced with new ones.

    Parameters
    ----------
    n_samples : int
        Number of points after the points within the margin have been removed; at least 2.
    n_features : int
        Dimension of the ball.
    margin : float
        All points are farther from the hyperplane than this hyperbolic distance.
    reference_norm : float
        Euclidean norm of p. The default is the paper's 2R/5 for the default radius R. A larger norm makes the boundary
        more curved and the classes less balanced.
    radius : float
        Euclidean radius R of the ball from which points are drawn; below 1.
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        Seed or random generator. The same seed always gives exactly the same points; a generator gives new points in
        each call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The points.
    y : ndarray of shape (n_samples,)
        The side of each point, -1 or 1; both sides occur.
    p, w : ndarrays of shape (n_features,)
        Reference point and unit normal of the hyperplane.

    Raises
    ------
    ValueError
        If a parameter is out of range, if the parameters allow a hyperplane that leaves one class empty, or if too few
        random points lie outside the margin or in one of the classes.

    Notes
    -----
    Within the ball of radius R, signed distances to H range from :math:`\delta_0 - \rho` to :math:`\delta_0 + \rho`,
    where :math:`\delta_0` is the signed distance of the origin and :math:`\rho = 2 \operatorname{artanh} R`. Moreover,
    :math:`|\delta_0| \le 2 \operatorname{artanh} \|p\|`, with equality if w is parallel to p. Therefore no class is
    empty for any w if

    .. math:: \text{margin} < 2 \operatorname{artanh} R - 2 \operatorname{artanh} \|p\|.

    The parameters must satisfy this condition. Without it, a class could be empty for some w. If such a w were replaced
    with a new one, w would not be uniform. If an error were raised instead, it would occur only for some seeds.

    If all `n_samples` points fall on one side, the last row is replaced with the next random point of the other side.

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
    """Draw X, y, p and w for :func:`make_ball_classification`, in blocks of at most ``block_numbers`` coordinates.

    An error is raised if the number of points drawn exceeds ``MOST_DRAWN_PER_ROW`` times the sum of ``rows_of_grace``
    and the number of rows filled so far.
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
    """Yield random points outside the margin, their sides (±1), and the number of points drawn so far.

    The points are yielded in blocks, without end.
    """
    for drawn in itertools.count(rows, rows):
        points = _uniform_in_ball(rng, rows, len(p), radius)
        distances = signed_distance(points, w, p)
        keep = np.abs(distances) > margin
        yield points[keep], np.sign(distances[keep]).astype(np.int64), drawn


def _fill(X: Array, y: Array, blocks: Blocks, margin: float, rows_of_grace: int) -> None:
    """Fill X with points from successive blocks, and y with the sides of these points.

    Raise ValueError if too few of the points drawn lie outside the margin (see :func:`sample_classes`).
    """
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
    """If a class is missing, replace the last row with the next random point of that class."""
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

    As 2e is distributed like the sum of two more squared normals, x/R consists of the first d coordinates of a uniform
    point on the unit sphere in d + 2 dimensions. It is therefore uniform in the unit ball (Barthe, Guédon, Mendelson
    and Naor, 2005).
    """
    x = rng.standard_normal((n, d))
    length = np.sqrt(np.einsum("ij,ij->i", x, x) + 2 * rng.standard_exponential(n))
    x *= (radius / length)[:, None]
    return x


def _direction(rng: np.random.Generator, d: int) -> Array:
    g = rng.standard_normal(d)
    return np.asarray(g / np.linalg.norm(g))


def _generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator for a seed, a RandomState or a generator; None means an unpredictable seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    if random_state is not None:
        wanted = "None, a non-negative integer, a numpy.random.RandomState or a numpy.random.Generator"
        _check("random_state", random_state, numbers.Integral, wanted, lambda seed: seed >= 0)
    return np.random.default_rng(random_state)


def _check(name: str, value: Any, kind: type, wanted: str, holds: Callable[[Any], bool]) -> None:
    """Check that a value is a number of the given kind for which ``holds`` is true; raise ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, kind) or not holds(value):
        raise ValueError(f"{name} must be {wanted}; got {value!r}.\nPass another value as {name}.")


def _check_extent(margin: float, reference_norm: float, radius: float) -> None:
    """Raise an error if a parameter is out of range, or if a class would be empty for some direction of w."""
    real = numbers.Real
    _check("radius", radius, real, "a number above 0 and below 1", lambda r: 0 < r < 1)
    below_radius = f"a non-negative number below radius={radius:g}"
    _check("reference_norm", reference_norm, real, below_radius, lambda r: 0 <= r < radius)
    _check("margin", margin, real, "a finite non-negative number", lambda m: 0 <= m < np.inf)
    extent = 2 * np.arctanh(radius) - 2 * np.arctanh(reference_norm)
    if margin >= extent:
        raise ValueError(
            f"margin={margin:g} can leave a class empty: in the ball of radius {radius:g}, all points on one side of a "
            f"boundary through a point of norm {reference_norm:g} may be within {extent:.6g} of the boundary.\n"
            f"Pass a margin below {extent:.6g}, a smaller reference_norm, or a larger radius."
        )
