"""Type aliases for arguments and results."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
# What a caller may pass: anything that NumPy reads as real numbers. Behind the border it is a float64 array.
Points: TypeAlias = Any
Scalars: TypeAlias = Any
# C of an SVM: one number, or one per binary problem. Not ArrayLike, which takes any string.
EachCost: TypeAlias = float | Sequence[float] | Array
EachCostOrAuto: TypeAlias = EachCost | Literal["auto"]
CostOrAuto: TypeAlias = float | Literal["auto"]
