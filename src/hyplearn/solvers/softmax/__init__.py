"""Solvers for multinomial logistic regression on rows, with a certificate of optimality."""

from hyplearn.solvers.softmax.sampled import solve_softmax_by_sample
from hyplearn.solvers.softmax.solve import solve_softmax

__all__ = ["solve_softmax", "solve_softmax_by_sample"]
