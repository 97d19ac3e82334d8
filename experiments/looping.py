r"""Baseline with its faults: the hyperboloid SVM of Cho et al. as it was used for the numbers in the paper.

The descent is that of :mod:`hyplearn.paper.arsinh_svm`, with fifty batches an epoch and a step of 0.001
that is halved when epochs stop helping. Three faults are kept, and two of them can be taken away one by one:

- every product is computed in a Python loop over the rows;
- a batch ends at the last row instead of its own (a maximum in place of a minimum in its slice), so that an epoch
  visits every row 25 times on average;
- the start, a Euclidean SVM of the hyperboloid coordinates, is scored by the Minkowski product without turning the sign
  of its coordinates in space, so that the descent begins on the wrong side.

It belongs to no library: it is here to be measured.
"""

import math

import numpy as np
from sklearn.svm import LinearSVC

from hyplearn.paper.arsinh_svm import project
from hyplearn.paper.hyperboloid import hyperboloid_rows

BATCHES = 50
# Epochs in a row that do not help before the step is halved, and halvings before the descent ends.
PATIENCE, HALVINGS = 3, 3


class LoopingHyperboloidSVC:
    """Projected gradient descent on the hyperboloid, row by row in Python; for labels ±1.

    Parameters
    ----------
    C : float
        Cost of a violated margin.
    epochs : int
        Largest number of epochs.
    right_batches, right_start : bool
        Whether that fault is mended.
    """

    def __init__(self, C=10.0, *, epochs=500, right_batches=False, right_start=False):
        self.C = C
        self.epochs = epochs
        self.right_batches = right_batches
        self.right_start = right_start

    def fit(self, X, y):
        """Descend, and keep the normal of the epoch with the least loss."""
        R = hyperboloid_rows(X, np.zeros(X.shape[1]), 1.0)
        u, step, rng = self._start(R, y), 0.001, np.random.default_rng(0)
        least, waited, halvings, self.n_iter_ = np.inf, 0, 0, 0
        while self.n_iter_ < self.epochs and halvings <= HALVINGS:
            u, loss = self._epoch(R, y, u, step, rng)
            self.n_iter_ += 1
            if loss < least:
                least, self.normal_ = loss, u
                continue
            waited += 1
            if waited == PATIENCE:
                step, waited, halvings = step / 2, 0, halvings + 1
        return self

    def predict(self, X):
        """The side of the boundary."""
        return np.where(products(self.normal_, hyperboloid_rows(X, np.zeros(X.shape[1]), 1.0)) >= 0, 1, -1)

    def _start(self, R, y):
        u = LinearSVC(C=self.C, loss="hinge", fit_intercept=False, random_state=0).fit(R, y).coef_[0]
        u = u if self.right_start else np.concatenate([u[:1], -u[1:]])
        project(u, 1.0 - 1e-6)
        return u

    def _epoch(self, R, y, u, step, rng):
        """One epoch, and the sum of the losses that its batches had."""
        n, order, total = len(R), rng.permutation(len(R)), 0.0
        size = max(1, n // BATCHES)
        for start in range(0, n, size):
            rows = order[start : min(start + size, n) if self.right_batches else n]
            u = u - step * self._gradient(R[rows], y[rows], u)
            project(u, 1.0 - 1e-6)
            total += self._loss(R[rows], y[rows], u)
        return u, total

    def _gradient(self, R, y, u):
        margins = y * products(u, R)
        pulls = np.where(margins < 1, self.C * y / np.sqrt(1 + margins**2), 0.0)
        return np.concatenate([-u[:1], u[1:]]) - pulls @ R

    def _loss(self, R, y, u):
        losses = math.asinh(1) - np.arcsinh(y * products(u, R))
        return 0.5 * (u[1:] @ u[1:] - u[0] ** 2) + self.C * np.sum(np.maximum(losses, 0))


def products(u, R):
    """``⟨u, x⟩``, one row after the other."""
    return np.array([u[0] * x[0] + np.dot(u[1:], x[1:]) for x in R])
