"""Random numbers as hashes of a seed and a position, so that every block draws its part of a sample by itself."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def uniform(seed, number):  # type: ignore[no-untyped-def]
    """A pseudo-random number in [0, 1): the finaliser of splitmix64."""
    state = np.uint64(seed) + (np.uint64(number) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return np.float64(state >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def uniforms(seed, numbers):  # type: ignore[no-untyped-def]
    """``uniform(seed, number)`` of every number."""
    out = np.empty(numbers.size)
    for i in range(numbers.size):
        out[i] = uniform(seed, numbers[i])
    return out
