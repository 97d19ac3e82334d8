"""The certificate of a softmax, from explicit rows and in plain NumPy: nothing is shared with the solver it judges."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import entr, logsumexp, softmax

from hyplearn.solvers.svm.solution import relative_gap
from hyplearn.types import Array


class SoftmaxCertificate(NamedTuple):
    """What :meth:`hyplearn.PoincareLogisticRegression.verify` finds; arrays of shape (1,), like the fitted attributes.

    Attributes
    ----------
    primal, dual : ndarray
        P(W) of the fitted model and D of its own probabilities, from scratch; no W has a lower P than D.
    gap : ndarray
        ``(P - D) / max(1, |P|)``: how far P can be from the optimum.
    """

    primal: Array
    dual: Array
    gap: Array


def softmax_certificate(W: Array, blocks: Iterable[tuple[Array, Array, Array]]) -> SoftmaxCertificate:
    """P, D and their gap at W, over blocks of rows, codes of their classes, and costs."""
    loss, entropy, V = 0.0, 0.0, np.zeros_like(W)
    for rows, codes, C in blocks:
        scores = rows @ W.T
        own, pi = np.eye(len(W))[codes], softmax(scores, axis=1)
        loss += float(C @ (logsumexp(scores, axis=1) - np.sum(own * scores, axis=1)))
        entropy += float(C @ entr(pi).sum(axis=1))
        V += (C[:, None] * (own - pi)).T @ rows
    primal, dual = 0.5 * float(np.sum(W**2)) + loss, entropy - 0.5 * float(np.sum(V**2))
    return SoftmaxCertificate(*(np.array([value]) for value in (primal, dual, relative_gap(primal, dual))))
