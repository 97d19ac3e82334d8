"""The perceptron on the hyperboloid, and where its normalisation does not exist."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numba import njit
from sklearn.utils import check_random_state

from hyplearn.paper.classifier import BaselineRows, check_count
from hyplearn.paper.hyperboloid import HyperboloidClassifier, boundary, hyperboloid_rows
from hyplearn.types import Array


@dataclass(eq=False, repr=False)
class HyperboloidPerceptron(HyperboloidClassifier):
    r"""Perceptron on the hyperboloid (Weber et al., 2020), as the paper prints it, to reproduce its counterexamples.

    With points x in hyperboloid coordinates and the Minkowski product :math:`[w, x] = -w^0 x^0 + \sum_j w^j x^j`, a
    point is scored by :math:`-[w, x]`, and each point on the wrong side of the boundary, or on it, changes w to

    .. math:: u = w + y x, \qquad w \leftarrow u / \min(1, \sqrt{[u, u]})

    The root exists only for :math:`[u, u] > 0`, and :math:`[u, u] = [w, w] + 2y[w, x] - 1`. So from w = 0 no update is
    possible; nor, from [w, w] = 1, one by a point on the boundary. These are the paper's two counterexamples to the
    theorem that it converges, and an error here. Where the rule is well-defined it still learns little: as
    :math:`-[x, x'] = \cosh d(x, x')`, an update moves the scores of all points to the same side, those of far points
    most. Take :class:`~hyplearn.PoincarePerceptron` for work.

    Parameters
    ----------
    start : array-like of shape (n_features + 1,), default=None
        The first w, in hyperboloid coordinates, w⁰ first. None is (0, 2, 0, …), from which a point on the boundary
        still allows an update.
    max_epochs : int, default=100
        Largest number of passes over the data.
    random_state : int, RandomState instance or None, default=0
        Seed of the order of rows, drawn again for each pass.
    class_weight, calibration, folds, curvature, outside
        As in :class:`~hyplearn.HyperboloidSVC`, but with ``calibration=None`` by default.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes. Two make one binary problem, K > 2 make K, each class against the rest.
    coef_ : ndarray of shape (n_problems, n_features)
        Normal vector of each boundary in frame coordinates at its point ``reference_``; its length is √[w, w]. Of all
        passes, it is from the one after which the least weight is misclassified.
    reference_ : ndarray of shape (n_problems, n_features)
        The point of each boundary next to the origin.
    status_ : ndarray of str of shape (n_problems,)
        "converged" if the last pass had no mistake, else "max_epochs", with a warning.
    n_iter_, n_updates_ : ndarrays of shape (n_problems,)
        Number of passes, and of updates.

    Raises
    ------
    ValueError
        From ``fit``, at the first update whose normalisation does not exist.

    Examples
    --------
    >>> from hyplearn.paper import HyperboloidPerceptron
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(1000, 2, margin=0.5, random_state=0)
    >>> HyperboloidPerceptron(start=[0, 0, 0]).fit(X, y)
    Traceback (most recent call last):
        ...
    ValueError: The normalisation of the hyperboloid perceptron does not exist ...
    """

    start: Any = None
    _: KW_ONLY
    max_epochs: int = 100
    random_state: Any = 0
    calibration: str | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _check_parameters(self) -> None:
        self._check_calibration()
        check_count("max_epochs", self.max_epochs)

    def _train(self, rows: BaselineRows) -> dict[str, Array]:
        c, d = rows.data.c, rows.X.shape[1]
        origin, start = np.zeros(d), self._first_weights(d)
        R = hyperboloid_rows(rows.X, origin, c)
        learned = [self._passes(R, self._signs(rows, k), rows.weights, start) for k in range(self._n_problems)]
        normals, squares, mistakes, epochs, updates = zip(*learned, strict=True)
        boundaries = []
        for n, square in zip(normals, squares, strict=True):
            length = np.sqrt(square)
            boundaries.append(boundary(length * n[1:] / np.linalg.norm(n[1:]), np.arcsinh(n[0] / length), origin, c))
        coef, reference = (np.stack(part) for part in zip(*boundaries, strict=True))
        unsolved = np.flatnonzero(mistakes)
        if unsolved.size:
            result = f"still made mistakes in the last of {self.max_epochs} passes"
            self._warn(unsolved, result, "On most data it never stops: take PoincarePerceptron.")
        return {
            "coef_": coef,
            "reference_": reference,
            "status_": np.where(np.array(mistakes) == 0, "converged", "max_epochs"),
            "n_iter_": np.array(epochs),
            "n_updates_": np.array(updates),
        }

    def _first_weights(self, d: int) -> Array:
        if self.start is None:
            return 2 * np.eye(d + 1)[1]
        start = np.asarray(self.start, dtype=np.float64)
        if start.shape != (d + 1,) or not np.all(np.isfinite(start)):
            raise ValueError(
                f"start must hold {d + 1} finite hyperboloid coordinates, w⁰ first; got {self.start!r:.80}."
            )
        return start

    def _passes(self, rows: Array, y: Array, weights: Array, start: Array) -> tuple[Array, float, int, int, int]:
        """Pass until a pass has no mistake: normal and its square, mistakes of the last pass, passes, updates."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        w, square = start.copy(), float(start[1:] @ start[1:] - start[0] ** 2)
        best, least, mistakes, updates, epochs = (w, square), np.inf, 1, 0, 0
        while mistakes and epochs < self.max_epochs:
            mistakes, square, failed = visit(rows, y, weights, rng.permutation(len(y)), w, square)
            updates, epochs = updates + mistakes, epochs + 1
            if failed >= 0 or square <= 0:
                self._refuse(rows, failed, square, updates)
            scores = rows[:, 0] * w[0] - rows[:, 1:] @ w[1:]
            if (error := float((y * scores <= 0) @ weights)) < least:
                best, least = (w.copy(), square), error
        return -best[0], best[1], mistakes, epochs, updates

    def _refuse(self, rows: Array, failed: int, square: float, updates: int) -> None:
        where = "for the first w" if failed < 0 else f"after {updates} updates, for the point with X = {rows[failed]}"
        raise ValueError(
            f"The normalisation of the hyperboloid perceptron does not exist {where:.200}: [u, u] = {square:.6g}, and "
            "w = u / min(1, √[u, u]) needs [u, u] > 0.\nBegin from another start with [w, w] > 1, or take "
            "PoincarePerceptron, which converges."
        )


@njit(cache=True, nogil=True, error_model="numpy")
def visit(R, y, weights, order, w, square):  # type: ignore[no-untyped-def]
    """Visit all rows in the given order; update w in place, and ``square = [w, w]`` by what an update adds to it.

    A row of weight k is visited up to k times in a row, the last time with the step of the fraction that is left. An
    update takes 1 from y[w, x] and, while that is 1 or more, makes [w, w] grow beyond 1, where nothing is normalised:
    visits that follow one another until the row is right are one step. Returns the number of updates, the square, and
    the row whose update has no norm (-1 if all have; the visit ends there, with the square of u).
    """
    updates = 0
    for i in order:
        left, wrong = weights[i], -y[i] * w[0] * R[i, 0]
        for j in range(1, w.size):
            wrong += y[i] * w[j] * R[i, j]
        while left > 0.0 and wrong >= 0.0:
            step = min(left, np.floor(wrong) + 1.0 if square > 0.0 else 1.0)
            left -= step
            updates += int(np.ceil(step))
            square += step * (2.0 * wrong - step)
            if not square > 0.0:
                return updates, square, i
            scale = 1.0 / min(1.0, np.sqrt(square))
            for j in range(w.size):
                w[j] = scale * (w[j] + step * y[i] * R[i, j])
            square *= scale * scale
            wrong = scale * (wrong - step)
    return updates, square, -1
