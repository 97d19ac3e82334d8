"""Certificates recomputed from explicit rows in plain NumPy; they share nothing with the solvers that they check."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import entr, logsumexp, softmax

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.folding import columns_summed, in_any_order
from hyplearn.solvers.solution import relative_gap
from hyplearn.types import Array

# A hard margin holds if rows keep it to this share.
ROUNDING = 1e-9


class Certificate(NamedTuple):
    """Result of :meth:`hyplearn.PoincareSVC.verify`, one entry per binary problem.

    Attributes
    ----------
    primal, dual : ndarray
        P(w) of ``coef_`` and D(α) of ``dual_coef_``, from scratch; no w has a lower P than D.
    gap : ndarray
        ``(P - D) / max(1, |P|)``: how far P can be from the optimum.
    violation : ndarray
        How far α leaves its box, relative to the largest α; 0 makes D a proof, and NaN or infinity in α is infinite.
        The box is [0, C] for the hinge, [0, ∞) for the squared hinge, and [0, 0] for rows of weight 0.
    """

    primal: Array
    dual: Array
    gap: Array
    violation: Array


@checkpointable
class CertificateSums(NamedTuple):
    """Contributions of some rows to the certificate of one problem."""

    loss: float  # loss of the soft margin
    slack: float  # largest max(0, 1 - ⟨u, w⟩)
    v: Array  # Σ α u
    penalty: float  # Σ α² / (4 C), for the squared hinge
    total: float  # Σ α
    excess: float  # largest distance of an α to its box
    largest: float  # largest |α|


def certificate_sums(rows: Array, alpha: Array, costs: Array, w: Array, loss: str) -> CertificateSums:
    """Contributions of explicit signed rows with their α and costs."""
    paid = costs > 0
    slack = np.maximum(0, 1 - rows @ w)[paid]
    below, penalty = 0.0, 0.0
    if np.all(np.isfinite(costs)):
        below = float(costs[paid] @ (slack if loss == "hinge" else slack**2))
        penalty = 0.0 if loss == "hinge" else float(np.sum(alpha[paid] ** 2 / (4 * costs[paid])))
    most = costs if loss == "hinge" else np.where(paid, np.inf, 0.0)
    excess = np.max(np.maximum(-alpha, alpha - most), initial=0.0)
    return CertificateSums(
        below,
        float(slack.max(initial=0.0)),
        alpha @ rows,
        penalty,
        float(alpha.sum()),
        float(excess) if np.all(np.isfinite(alpha)) else np.inf,
        float(np.abs(alpha).max(initial=0.0)),
    )


@in_any_order
def merge_certificates(parts: Sequence[CertificateSums]) -> CertificateSums:
    """Contributions of several blocks together."""
    losses, slacks, vs, penalties, totals, excesses, largest = zip(*parts, strict=True)
    return CertificateSums(sum(losses), max(slacks), sum(vs), sum(penalties), sum(totals), max(excesses), max(largest))


def certify(sums: CertificateSums, w: Array, hard: bool) -> tuple[float, float, float, float]:
    """P, D, their relative gap, and how far α leaves its box."""
    primal = 0.5 * float(w @ w) + (sums.loss if not hard else 0.0 if sums.slack <= ROUNDING else np.inf)
    dual = float(sums.total - 0.5 * (sums.v @ sums.v) - sums.penalty)
    violation = max(0.0, sums.excess / max(sums.largest, 1e-300)) if np.isfinite(sums.excess) else np.inf
    return primal, dual, relative_gap(primal, dual), violation


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
