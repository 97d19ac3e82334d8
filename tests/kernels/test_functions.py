"""Kernels of hyperbolic space match their formulas up to the rim and are positive definite."""

import mpmath
import numpy as np
import pytest
from sklearn.svm import SVC

from hyplearn.cone import cone_coordinates
from hyplearn.datasets import load_mammals
from hyplearn.geometry import frechet_mean, pairwise_distance, rotate, translate
from hyplearn.geometry.kernels import row_gaps
from hyplearn.kernels import heat_kernel, laplacian_kernel, secant_kernel
from hyplearn.kernels.functions import kernel_between, secant_profile
from hyplearn.kernels.heat import heat_coefficients, heat_profile
from hyplearn.kernels.nystrom import LandmarkKernel, add_linear_columns, nystrom
from support import exact
from support.balls import CURVATURES, at_gap, cloud

each = pytest.mark.parametrize("kernel", [laplacian_kernel, secant_kernel, heat_kernel])


def spread(seed, n, d, c=1.0):
    """Points with all gaps down to 1e-15, some of them close together."""
    rng = np.random.default_rng(seed)
    X = np.array([at_gap(rng, d, 10.0**-g, c) for g in rng.uniform(0, 15, n)])
    X[1::2] = X[::2][: n // 2] * (1 - 1e-9 * rng.uniform(0, 1, (n // 2, 1)))
    return X


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 10, 16])
@pytest.mark.parametrize("scale", [0.2, 1.0, 20.0])
def test_heat_kernel_is_the_derivative_of_a_gaussian_at_every_distance(d, scale):
    rho = np.array([0.0, 1e-8, 1e-3, 0.1, 0.7, 1.5, 3.0, 6.0])
    for r, computed in zip(rho, heat_profile(rho, scale, d), strict=True):
        assert exact.relative_error(computed, exact.heat_profile(r, scale, d // 2)) < 1e-12


@pytest.mark.parametrize("m", [2, 10, 50])
def test_coefficients_of_the_heat_kernel_are_integrals(m):
    rho = np.array([0.0, 0.3, 2.0, 5.0, 9.0])
    v = np.arange(-60, 60, 0.05)[:, None]
    naive = [0.05 * np.sum(((np.cosh(rho) + 1) / (np.cosh(v) + np.cosh(rho))) ** k, axis=0) for k in range(1, m + 1)]
    assert np.allclose(heat_coefficients(rho, m), naive, rtol=1e-12)


@pytest.mark.parametrize("d", [100, 1001])
def test_heat_kernel_falls_from_one_to_zero_in_many_dimensions(d):
    for scale in (0.05, 1.0, 30.0):
        values = heat_profile(np.linspace(0, 70, 200), scale, d)
        assert values[0] == 1
        assert np.all(np.diff(values) <= 0)
        assert np.all(values >= 0)


@each
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 12])
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_kernels_are_positive_definite_up_to_the_rim(kernel, d, scale):
    for X in (spread(0, 80, d), cloud(np.random.default_rng(1), 120, d, 1.0)):
        K = kernel(X, scale=scale)
        assert np.array_equal(K, K.T)
        assert np.all(np.diag(K) == 1)
        assert np.linalg.eigvalsh(K).min() > -1e-13 * len(X)


def test_a_gaussian_of_the_distance_is_not_positive_definite():
    """This is why the heat kernel is needed: the Gaussian has a negative eigenvalue on points of the disk."""
    X = cloud(np.random.default_rng(0), 200, 2, 1.0, smallest_gap=1e-3)
    assert np.linalg.eigvalsh(np.exp(-(pairwise_distance(X) ** 2) / 32)).min() < -1e-3


@each
@pytest.mark.parametrize("d", [2, 5])
def test_kernels_are_invariant_under_isometries(kernel, d):
    rng = np.random.default_rng(0)
    X, a = cloud(rng, 30, d, 1.0), at_gap(rng, d, 0.3, 1.0)
    moved = translate(rotate(X, np.linalg.qr(rng.standard_normal((d, d)))[0]), a)
    assert np.allclose(kernel(moved), kernel(X), rtol=1e-11, atol=0)


@each
@pytest.mark.parametrize("c", CURVATURES)
def test_curvature_only_rescales_the_ball(kernel, c):
    X, Y = (cloud(np.random.default_rng(seed), 9, 3, 1.0) for seed in (0, 1))
    assert np.allclose(kernel(X / np.sqrt(c), Y / np.sqrt(c), scale=0.7, c=c), kernel(X, Y, scale=0.7), rtol=1e-13)


@each
def test_float32_stays_float32(kernel):
    X = cloud(np.random.default_rng(0), 5, 2, 1.0).astype(np.float32)
    assert kernel(X).dtype == np.float32
    assert np.allclose(kernel(X), kernel(X.astype(np.float64)), rtol=1e-6)


@each
def test_kernels_work_with_scikit_learn(kernel):
    X, y = load_mammals(return_X_y=True)
    assert SVC(kernel=kernel, C=10).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.85


@each
@pytest.mark.parametrize("scale", [0, -1.0, np.nan, np.inf, "auto", True])
def test_scale_must_be_positive(kernel, scale):
    with pytest.raises(ValueError, match="scale must be a positive finite number; got"):
        kernel([[0.1, 0.2]], scale=scale)


def test_dimensions_beyond_the_range_of_floats_are_rejected():
    with pytest.raises(ValueError, match=r"up to 1001 dimensions; got 1002 dimensions.\nUse the secant or"):
        heat_kernel(np.zeros((2, 1002)))
    assert laplacian_kernel(np.zeros((2, 1002))).shape == (2, 2)


@pytest.mark.parametrize("scale", [1e-3, 0.5, 3.0, 1e4])
def test_secant_kernel_is_a_power_of_cosh_that_is_1_over_e_at_its_scale(scale):
    rho = np.array([0.0, 1e-8, 1e-3, 0.7, 3.0, 20.0, 70.0])
    lam = 1 / mpmath.log(mpmath.cosh(mpmath.mpf(scale)))
    for r, computed in zip(rho, secant_profile(rho, scale, 2), strict=True):
        assert computed == pytest.approx(float(mpmath.cosh(mpmath.mpf(r)) ** -lam), rel=1e-12)
    assert secant_profile(np.array([scale]), scale, 2)[0] == pytest.approx(1 / np.e, rel=1e-12)


@pytest.mark.parametrize("name", ["laplacian", "secant", "heat"])
def test_kernels_of_landmarks_match_the_definition(name):
    X, L = spread(0, 60, 3), spread(1, 20, 3)
    values = LandmarkKernel(name, 0.8, 1.0, L).values(X, row_gaps(X, 1.0))
    assert np.allclose(values, kernel_between(name, X, L, scale=0.8, c=1.0), rtol=1e-12, atol=1e-290)


@pytest.mark.parametrize("name", ["laplacian", "secant", "heat"])
@pytest.mark.parametrize("d", [1, 2, 5, 40])
@pytest.mark.parametrize("c", [1e-300, 0.3, 7.0, 1e300])
def test_kernels_of_landmarks_are_accurate_in_every_dimension_and_curvature(name, d, c):
    X, L = (cloud(np.random.default_rng(seed), n, d, c, smallest_gap=1e-9) for seed, n in ((0, 30), (1, 600)))
    kernel = LandmarkKernel(name, 1.5, c, L)
    due = kernel_between(name, X, L, scale=1.5, c=c)
    assert np.allclose(kernel.values(X, row_gaps(X, c)), due, rtol=1e-11, atol=1e-290)
    wide = np.full((30, 603), 7.0)
    kernel.fill(X, row_gaps(X, c), wide)
    assert np.array_equal(wide[:, :600], kernel.values(X, row_gaps(X, c)))
    assert np.all(wide[:, 600:] == 7.0)


@pytest.mark.parametrize("name", ["laplacian", "secant"])
def test_linear_columns_have_the_values_of_cone_coordinates_at_landmarks(name):
    L = cloud(np.random.default_rng(0), 80, 2, 1.0, smallest_gap=1e-3)
    cone = cone_coordinates(L, frechet_mean(L))
    for scale in (0.5, 5.0, 5e3):
        found = nystrom(L, name, scale, 1.0, 80)
        columns = add_linear_columns(found).rows(L, row_gaps(L, 1.0))[:, found.projection.shape[1] :]
        assert np.allclose(columns * np.sqrt(np.mean(np.sum(cone**2, axis=1))), cone, atol=2e-2)
