"""The certificate of a softmax, from explicit rows in plain NumPy: it shares nothing with the solver it judges."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import entr, logsumexp, softmax

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.folding import columns_summed, in_any_order
from hyplearn.solvers.svm.solution import relative_gap
from hyplearn.types import Array


class SoftmaxCertificate(NamedTuple):
    """Result of :meth:`hyplearn.PoincareLogisticRegression.verify`; arrays of shape (1,), like the fitted attributes.

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


@checkpointable
class SoftmaxSums(NamedTuple):
    """Contributions of some rows: the loss, the weighted entropy, and ``Σ α xᵀ``."""

    loss: float
    entropy: float
    V: Array


def softmax_sums(rows: Array, codes: Array, costs: Array, W: Array) -> SoftmaxSums:
    """Contributions of explicit rows with the codes of their classes and their costs."""
    scores = rows @ W.T
    own, pi = np.eye(len(W))[codes], softmax(scores, axis=1)
    loss = float(costs @ (logsumexp(scores, axis=1) - np.sum(own * scores, axis=1)))
    return SoftmaxSums(loss, float(costs @ entr(pi).sum(axis=1)), (costs[:, None] * (own - pi)).T @ rows)


@in_any_order
def merge_softmax_sums(parts: Sequence[SoftmaxSums]) -> SoftmaxSums:
    """Contributions of several blocks together."""
    return SoftmaxSums(*columns_summed(parts))


def certify_softmax(sums: SoftmaxSums, W: Array) -> SoftmaxCertificate:
    """P, D and their relative gap at W."""
    primal, dual = 0.5 * float(np.sum(W**2)) + sums.loss, sums.entropy - 0.5 * float(np.sum(sums.V**2))
    return SoftmaxCertificate(*(np.array([value]) for value in (primal, dual, relative_gap(primal, dual))))
