"""Hashed uniform numbers, compared with the generator in Python integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.numerics import uniform, uniforms


def splitmix64(seed, number):
    """Output of the generator as a share of 2^53."""
    state = (seed + (number + 1) * 0x9E3779B97F4A7C15) % 2**64
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
    return ((state ^ (state >> 31)) >> 11) / 2**53


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**62))
def test_a_hashed_uniform_matches_splitmix64(seed, first):
    numbers = first + np.arange(30)
    due = [splitmix64(seed, number) for number in numbers.tolist()]
    assert uniforms(seed, numbers).tolist() == due
    assert [uniform(seed, number) for number in numbers] == due
