"""Multinomial logistic regression on rows, solved to a certificate of optimality."""

from hyplearn.solvers.softmax.solve import solve_softmax

__all__ = ["solve_softmax"]
