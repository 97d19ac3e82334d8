"""Plain Python versions of the functions of :mod:`hyplearn.numerics`, which are used if NUMBA_DISABLE_JIT=1 is set."""

import math
import struct
import warnings

from hyplearn.types import Array

# Integer overflow and infinite quotients are intended. Compiled code does not warn about them, so NumPy's warnings
# about them are suppressed.
warnings.filterwarnings("ignore", ".* encountered in scalar", RuntimeWarning, "hyplearn")
SPLITTER = 2.0**27 + 1.0
MASK = 2**64 - 1


def fma(a: float, b: float, c: float) -> float:
    """Compute ``a * b + c``, corrected for the rounding error of the product."""
    product = a * b
    if not math.isfinite(product):
        return product + c
    a_high, b_high = _upper(a), _upper(b)
    a_low, b_low = a - a_high, b - b_high
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return (product + c) + lost


def _upper(a: float) -> float:
    scaled = SPLITTER * a
    return scaled - (scaled - a)


def bits_of(x: float) -> int:
    """Return the bits of a float64 as an integer."""
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def float_of(bits: int) -> float:
    """Return the float64 with the given bits."""
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def coordinate(X: Array, i: int, j: int, d: int) -> float:
    """Return ``X[i, j]`` as float64."""
    return float(X[i, j])


def log1p(x: float) -> float:
    """Compute ``log(1 + x)``."""
    return math.log1p(x)


def exp(x: float) -> float:
    """Compute ``e^x`` for x ≤ 0; the result is 0 for x below -708, where e^x is tiny and floats lose precision."""
    return math.exp(x) if x >= -708.0 else 0.0


def uniform(seed: int, number: int) -> float:
    """Compute a pseudo-random number in [0, 1) from the integers ``seed`` and ``number``, as in splitmix64."""
    state = (int(seed) + (int(number) + 1) * 0x9E3779B97F4A7C15) & MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    state ^= state >> 31
    return float(state >> 11) * 2.0**-53
