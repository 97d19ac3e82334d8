r"""Baseline with its faults: the hyperboloid SVM of Cho et al. as it was used for the numbers in the paper.

The descent is that of :mod:`hyplearn.paper.arsinh_svm`, with fifty batches per epoch and a step of 0.001 that is halved
when epochs no longer reduce the loss. Three faults are reproduced, and the last two can be removed separately:

- every product is computed in a Python loop over the rows;
- every batch ends at the last row of the data (its slice has a maximum in place of a minimum), so that an epoch visits
  every row 25 times on average;
- the descent starts from a Euclidean SVM on the hyperboloid coordinates, but the Minkowski product needs the opposite
  sign of its space coordinates, so that the descent begins on the wrong side.

This classifier is not part of the library; it exists only to be measured.
"""

import math

import numpy as np
from sklearn.svm import LinearSVC

from hyplearn.paper.arsinh_svm import project
from hyplearn.paper.hyperboloid import hyperboloid_rows

BATCHES = 50
# Number of epochs without improvement before the step is halved, and number of halvings before the descent ends.
PATIENCE, HALVINGS = 3, 3


class LoopingHyperboloidSVC:
    """Projected gradient descent on the hyperboloid, row by row in Python; for labels ±1.

    Parameters
    ----------
    C : float
        Cost of margin violations.
    epochs : int
        Maximum number of epochs.
    right_batches, right_start : bool
        Whether to correct the fault of the batches, or of the start.
    """

    def __init__(self, C=10.0, *, epochs=500, right_batches=False, right_start=False):
        self.C = C
        self.epochs = epochs
        self.right_batches = right_batches
        self.right_start = right_start

    def fit(self, X, y):
        """Run the descent and keep the normal of the epoch with the lowest loss."""
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
        """Predict the side of the boundary for each row, -1 or 1."""
        return np.where(products(self.normal_, hyperboloid_rows(X, np.zeros(X.shape[1]), 1.0)) >= 0, 1, -1)

    def _start(self, R, y):
        u = LinearSVC(C=self.C, loss="hinge", fit_intercept=False, random_state=0).fit(R, y).coef_[0]
        u = u if self.right_start else np.concatenate([u[:1], -u[1:]])
        project(u, 1.0 - 1e-6)
        return u

    def _epoch(self, R, y, u, step, rng):
        """Run one epoch; returns the new normal and the sum of the losses of its batches."""
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
    """Compute the products ``⟨u, x⟩``, one row after the other."""
    return np.array([u[0] * x[0] + np.dot(u[1:], x[1:]) for x in R])
