"""Solvers that compute the weights w from rows, labels and sample weights, independent of hyperbolic geometry."""
