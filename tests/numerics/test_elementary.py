"""The logarithm and the exponential of the row kernels, compared with mpmath."""

import mpmath
import numpy as np
import pytest
from numba import njit

from hyplearn.numerics import LN2_HIGH, LN2_LOW, LOWEST, bits_of, exp, float_of, log1p

ULP = 2.0**-53


@njit
def logarithms(x, out):
    for i in range(x.size):
        out[i] = log1p(x[i])


@njit
def exponentials(x, out):
    for i in range(x.size):
        out[i] = exp(x[i])


@njit
def there_and_back(x):
    return float_of(bits_of(x))


def exact(x):
    with mpmath.workdps(40):
        return [mpmath.log1p(mpmath.mpf(float(value))) for value in x]


def worst_error(x):
    """The largest relative error, in units of the last digit."""
    out = np.empty(len(x))
    logarithms(x, out)
    return max(abs(float((value - true) / true)) for value, true in zip(out, exact(x), strict=True)) / ULP


@pytest.mark.parametrize(
    ("low", "high"), [(1e-300, 1e-8), (1e-8, 0.5), (0.3, 3.0), (1.0, 1e3), (1e3, 1e40), (1e40, 1e300)]
)
def test_log1p_is_accurate_to_the_last_digits(low, high):
    assert worst_error(np.geomspace(low, high, 3001)) < 2


def test_log1p_has_all_its_digits_around_powers_of_two_and_where_their_exponent_changes():
    powers = np.outer(2.0 ** np.arange(1, 80), [1.0, np.sqrt(0.5), np.sqrt(2.0)]).ravel()
    near = (powers[:, None] * (1 + np.arange(-4, 5) * 2.0**-52)).ravel() - 1
    assert worst_error(near[near > 0]) < 2


def test_log1p_of_zero_is_zero():
    out = np.ones(1)
    logarithms(np.zeros(1), out)
    assert out[0] == 0


@pytest.mark.parametrize(("low", "high"), [(1e-300, 1e-8), (1e-8, 0.3), (0.3, 3.0), (3.0, 100.0), (100.0, -LOWEST)])
def test_exp_is_accurate_to_the_last_digits(low, high):
    x = -np.geomspace(low, high, 3001)
    out = np.empty(len(x))
    exponentials(x, out)
    with mpmath.workdps(40):
        true = [mpmath.exp(mpmath.mpf(float(value))) for value in x]
        assert max(abs(float((value - exact) / exact)) for value, exact in zip(out, true, strict=True)) / ULP < 2


def test_exp_of_zero_is_one_and_of_the_farthest_is_zero():
    x = np.array([0.0, -0.0, -5e-324, np.nextafter(LOWEST, -np.inf), -1e5, -np.finfo(float).max, -np.inf])
    out = np.empty(len(x))
    exponentials(x, out)
    assert out.tolist() == [1, 1, 1, 0, 0, 0, 0]


def test_the_parts_of_the_logarithm_of_two_are_exact():
    with mpmath.workdps(40):
        assert abs(mpmath.mpf(LN2_HIGH) + mpmath.mpf(LN2_LOW) - mpmath.log(2)) < mpmath.mpf(2) ** -85
    assert int(LN2_HIGH * 2**32) == LN2_HIGH * 2**32


def test_bits_round_trip():
    for x in (0.0, -0.0, 1.5, -3e-310, np.inf):
        assert np.float64(there_and_back(x)).tobytes() == np.float64(x).tobytes()
