"""Type aliases for arguments and results."""

from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
# What a caller may pass: anything that NumPy reads as real numbers. Behind the border it is a float64 array.
Points: TypeAlias = Any
Scalars: TypeAlias = Any
