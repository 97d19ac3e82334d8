"""Type aliases for arguments and results."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
# Arguments that NumPy can convert to an array of real numbers; validation converts them to floating-point arrays.
Points: TypeAlias = Any
Scalars: TypeAlias = Any
# Cost C of an SVM: one number, or one number per binary problem. ArrayLike is not used, because it also allows
# strings.
EachCost: TypeAlias = float | Sequence[float] | Array
EachCostOrAuto: TypeAlias = EachCost | Literal["auto"]
CostOrAuto: TypeAlias = float | Literal["auto"]
