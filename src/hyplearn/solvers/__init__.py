"""Solvers that compute weights w from rows, labels and sample weights; they do not use hyperbolic geometry."""
