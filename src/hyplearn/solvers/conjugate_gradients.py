"""Conjugate gradient method for Newton steps, which needs only products with the Hessian and does not store it."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hyplearn.types import Array

Operator: TypeAlias = Callable[[Array], Array]
# Default maximum number of products with the matrix of a linear system.
MOST_PRODUCTS = 200


def conjugate_gradients(
    product: Operator, precondition: Operator, right: Array, target: float, most: int = MOST_PRODUCTS
) -> tuple[Array, int]:
    """Solve the linear system ``product(x) = right``; return x and the number of products.

    ``product`` multiplies a vector by a symmetric positive definite matrix, and ``precondition`` multiplies it by an
    approximate inverse of this matrix. The iteration stops when the norm of the residual is at most ``target``, or
    after ``most`` products. The search directions are those of Polak and Ribière, which allow a preconditioner that
    changes between steps.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.solvers.conjugate_gradients import conjugate_gradients
    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> x, products = conjugate_gradients(lambda v: A @ v, lambda v: v, np.array([3.0, 4.0]), 1e-12)
    >>> print(x.round(6), products)
    [1. 1.] 2
    """
    x, residual, products = np.zeros_like(right), right, 0
    direction, previous, energy = np.zeros_like(right), right, 1.0
    while np.linalg.norm(residual) > target and products < most:
        preconditioned = precondition(residual)
        direction = preconditioned + np.sum(preconditioned * (residual - previous)) / energy * direction
        energy, previous = float(np.sum(residual * preconditioned)), residual
        image = product(direction)
        length = np.sum(residual * direction) / np.sum(direction * image)
        x, residual, products = x + length * direction, residual - length * image, products + 1
    return x, products
