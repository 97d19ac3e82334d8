"""The ball in torch agrees with hyplearn.geometry, and its gradients agree with the formulas."""

import numpy as np
import pytest
import torch

from hyplearn.embedding.ball_net.network import HyperbolicHead, clip_radius, exp_map, hyperboloid, signed_distances
from hyplearn.geometry import ball_to_hyperboloid, conformal_factor, signed_distance
from hyplearn.tangent import from_frame

CURVATURES = [1.0, 0.3, 4.0]
cs = pytest.mark.parametrize("c", CURVATURES)


def vectors(n, d, longest, c, seed=0):
    """Vectors of various lengths, in units of the curvature's radius, including zero."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal((n, d))
    v *= np.linspace(0, longest / np.sqrt(c), n)[:, None] / np.linalg.norm(v, axis=1, keepdims=True)
    return v


@cs
@pytest.mark.parametrize("d", [2, 7])
def test_the_exponential_map_matches_the_library(c, d):
    v = vectors(50, d, 10, c)
    np.testing.assert_allclose(exp_map(torch.tensor(v), c).numpy(), from_frame(v, np.zeros(d), c=c), rtol=1e-12)


@cs
def test_hyperboloid_coordinates_match_the_library(c):
    v = vectors(50, 3, 10, c)
    time, space = hyperboloid(torch.tensor(v), c)
    found = ball_to_hyperboloid(from_frame(v, np.zeros(3), c=c), c=c)
    np.testing.assert_allclose(time[:, 0].numpy(), found[:, 0], rtol=1e-9)
    np.testing.assert_allclose(space.numpy(), found[:, 1:], rtol=1e-9, atol=1e-12)


@cs
@pytest.mark.parametrize(("dtype", "longest", "tolerance"), [("float64", 10, 1e-9), ("float32", 4, 2e-4)])
def test_distances_to_hyperplanes_match_the_library(c, dtype, longest, tolerance):
    v, q, a = vectors(40, 3, longest, c), vectors(6, 3, 3, c, seed=1), vectors(7, 3, 2, c, seed=2)[1:]
    found = signed_distances(*(torch.tensor(part, dtype=getattr(torch, dtype)) for part in (v, a, q)), c)
    x, p = from_frame(v, np.zeros(3), c=c), from_frame(q, np.zeros(3), c=c)
    expected = np.stack([signed_distance(x, a[k], p[k], c=c) for k in range(6)], axis=1)
    assert np.abs(expected).max() > longest / np.sqrt(c)
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance / np.sqrt(c))


@cs
def test_logits_match_ganea_et_al(c):  # equation 25, with normal vectors in coordinates of the ball
    torch.manual_seed(0)
    head = HyperbolicHead(2, 3, c, max_radius=5 / np.sqrt(c)).double()
    torch.nn.init.normal_(head.references)
    v = vectors(20, 2, 5, c)
    logits = head(torch.tensor(v)).detach().numpy()
    x, p = (from_frame(u, np.zeros(2), c=c) for u in (v, head.references.detach().numpy()))
    for k in range(3):
        length = conformal_factor(p[k], c=c)
        a = head.normals.detach().numpy()[k] / length
        expected = length * np.linalg.norm(a) * signed_distance(x, a, p[k], c=c)
        np.testing.assert_allclose(logits[:, k], expected, rtol=1e-9, atol=1e-9)


def test_a_radius_is_kept_up_to_the_largest_and_direction_always():
    v = vectors(41, 3, 8, 1.0)
    clipped = clip_radius(torch.tensor(v), 4.0).numpy()
    lengths = np.linalg.norm(v, axis=1)
    assert np.count_nonzero(lengths > 4) == 20
    np.testing.assert_array_equal(clipped[lengths <= 4], v[lengths <= 4])
    np.testing.assert_allclose(clipped[lengths > 4], 4 * (v / np.maximum(lengths, 1e-9)[:, None])[lengths > 4])


@cs
def test_gradients_match_finite_differences(c):
    v, q, a = vectors(6, 2, 3, c)[1:], vectors(4, 2, 2, c, seed=1)[1:], vectors(4, 2, 2, c, seed=2)[1:]
    given = [torch.tensor(part, requires_grad=True) for part in (v, a, q)]
    assert torch.autograd.gradcheck(lambda *parts: signed_distances(*parts, c), given)
    assert torch.autograd.gradcheck(lambda part: exp_map(part, c), given[:1])
    short = 1.7 / np.sqrt(c)  # between the lengths of the vectors
    assert torch.autograd.gradcheck(lambda part: clip_radius(part, short), given[:1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_at_the_origin_are_finite(dtype):
    v = torch.zeros((2, 3), dtype=dtype, requires_grad=True)
    q = torch.zeros((4, 3), dtype=dtype, requires_grad=True)
    a = torch.eye(4, 3, dtype=dtype) + 0.1
    signed_distances(clip_radius(v, 4.0), a, q, 1.0).pow(2).sum().add(exp_map(v, 1.0).sum()).backward()
    signed_distances(v, a, q, 1.0).sum().backward()
    # At the origin the distance grows like ⟨v, n⟩ with v, and falls in the same way with q.
    normal = (a / torch.linalg.vector_norm(a, dim=1, keepdim=True)).sum(dim=0)
    torch.testing.assert_close(v.grad, normal.expand(2, 3) + 0.5)
    assert torch.isfinite(q.grad).all()
