"""Kernels of hyperbolic space (positive definite functions of the distance), and features based on these kernels."""

from hyplearn.kernels.functions import heat_kernel, laplacian_kernel, secant_kernel

__all__ = ["heat_kernel", "laplacian_kernel", "secant_kernel"]
