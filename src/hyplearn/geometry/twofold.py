"""Arrays with twice the precision of float64: each element is the unevaluated sum of two floats.

The error-free sum and product are those of Knuth and Dekker. The operations built on them (Joldes, Muller and Popescu,
2017) have relative errors of a few times 2⁻¹⁰⁶ for values between 1e-140 and 1e140.
"""

from typing import Any, NamedTuple, Union

import numpy as np

from hyplearn.types import Array

# Factor that splits a float64 into two halves of 26 bits, whose products are exact.
SPLITTER = 2.0**27 + 1.0
# e^x - 1 is computed from the first TERMS terms of its series at r = (x - k ln 2) / 2^HALVINGS, with the integer k
# nearest to x / ln 2. Therefore |r| ≤ ln 2 / 64, and the last term is below 2⁻¹⁰⁶ |r|. The first DOUBLE terms are
# computed in twice the precision; the others sum to less than 2⁻⁵⁶ |r|, so float64 is enough for them.
TERMS, DOUBLE, HALVINGS = 13, 7, 5


class Twofold(NamedTuple):
    """Numbers stored as unevaluated sums ``high + low``; low is at most half a unit in the last place of high."""

    high: Array
    low: Array

    @classmethod
    def of(cls, a: Array) -> "Twofold":
        """Convert a float64 array to a Twofold."""
        return cls(a, np.zeros_like(a))

    @classmethod
    def sum_of(cls, a: Array, b: Array) -> "Twofold":
        """Return the exact sum ``a + b`` of two float64 values."""
        return cls(*_sum(a, b))

    @classmethod
    def product_of(cls, a: Array, b: Array) -> "Twofold":
        """Return the exact product ``a b`` of two float64 values."""
        return cls(*_product(a, b))

    def __add__(self, other: Union["Twofold", Array, float]) -> "Twofold":  # type: ignore[override]
        if not isinstance(other, Twofold):
            high, error = _sum(self.high, other)
            return Twofold(*_quick_sum(high, error + self.low))
        high, error = _sum(self.high, other.high)
        low, small = _sum(self.low, other.low)
        high, error = _quick_sum(high, error + low)
        return Twofold(*_quick_sum(high, error + small))

    def __neg__(self) -> "Twofold":
        return Twofold(-self.high, -self.low)

    def __sub__(self, other: Union["Twofold", Array, float]) -> "Twofold":
        return self + (-other)

    def __mul__(self, other: Union["Twofold", Array, float]) -> "Twofold":  # type: ignore[override]
        if not isinstance(other, Twofold):
            high, error = _product(self.high, other)
            return Twofold(*_quick_sum(high, error + self.low * other))
        high, error = _product(self.high, other.high)
        return Twofold(*_quick_sum(high, error + (self.high * other.low + self.low * other.high)))

    def __truediv__(self, other: "Twofold") -> "Twofold":
        first = self.high / other.high
        rest = self - other * first
        second = rest.high / other.high
        third = (rest - other * second).high / other.high
        return Twofold(*_quick_sum(first, second)) + third

    def scaled(self, power: Array | float) -> "Twofold":
        """Multiply exactly by a power of two."""
        return Twofold(self.high * power, self.low * power)

    def sqrt(self) -> "Twofold":
        """Compute the square root of a positive number with one step of Newton's method."""
        root = np.sqrt(self.high)
        rest = self - Twofold.product_of(root, root)
        return Twofold(*_quick_sum(root, rest.high / (2 * root)))

    def sum(self) -> "Twofold":
        """Compute the sum over the last axis."""
        high, low, n = self.high.copy(), self.low.copy(), self.high.shape[-1]
        while n > 1:
            pairs = n // 2  # if n is odd, the middle column is added in a later pass
            first, last = (..., slice(pairs)), (..., slice(n - pairs, n))
            high[first], low[first] = Twofold(high[first], low[first]) + Twofold(high[last], low[last])
            n -= pairs
        return Twofold(high[..., 0][()], low[..., 0][()])

    def column(self) -> "Twofold":
        """Return the same values with an additional last axis of length 1."""
        return Twofold(self.high[..., None], self.low[..., None])

    def expm1(self) -> "Twofold":
        """Compute ``e^x - 1`` for x between -700 and 0."""
        k = np.round(self.high / LN2.high)
        r = (self - LN2 * k).scaled(0.5**HALVINGS)
        tail = INVERSE_FACTORIALS[-1].high
        for factor in INVERSE_FACTORIALS[-2 : DOUBLE - 1 : -1]:
            tail = tail * r.high + factor.high
        series = INVERSE_FACTORIALS[DOUBLE - 1] + tail * r.high
        for factor in INVERSE_FACTORIALS[DOUBLE - 2 :: -1]:
            series = series * r + factor
        series = series * r
        for _ in range(HALVINGS):  # this uses e^(2x) - 1 = (e^x - 1) (2 + (e^x - 1))
            series = series.scaled(2.0) + series * series
        # The result is 2^k (1 + series) - 1. For k = 0, this equals the series, which is then returned unchanged,
        # because adding and subtracting 1 would cancel digits of a small result.
        grown = (series + 1.0).scaled(np.exp2(k)) - 1.0
        small = k == 0
        return Twofold(np.where(small, series.high, grown.high)[()], np.where(small, series.low, grown.low)[()])


def _sum(a: Array, b: Array | float) -> tuple[Array, Array]:
    """Return ``a + b`` and its rounding error."""
    high = a + b
    arrived = high - a
    return high, (a - (high - arrived)) + (b - arrived)


def _quick_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return ``a + b`` and its rounding error, for |b| ≤ |a|."""
    high = a + b
    return high, b - (high - a)


def _product(a: Array, b: Array | float) -> tuple[Array, Array]:
    """Return ``a b`` and its rounding error."""
    high = a * b
    a_high, b_high = _upper(a), _upper(b)
    a_low, b_low = a - a_high, b - b_high
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


def _upper(a: Array | float) -> Any:
    scaled = SPLITTER * a
    return scaled - (scaled - a)


LN2 = Twofold(np.asarray(0.6931471805599453), np.asarray(2.3190468138462996e-17))


def _inverse_factorials() -> list[Twofold]:
    factors = [Twofold.of(np.asarray(1.0))]
    for k in range(2, TERMS + 1):
        factors.append(factors[-1] / Twofold.of(np.asarray(float(k))))
    return factors


INVERSE_FACTORIALS = _inverse_factorials()
