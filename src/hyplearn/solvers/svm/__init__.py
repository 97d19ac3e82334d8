"""Solvers for support vector machines on rows, with a certificate of optimality."""

from hyplearn.solvers.solution import Progress, Report, Solution, Status, relative_gap
from hyplearn.solvers.svm.solve import solve_svm

__all__ = ["Progress", "Report", "Solution", "Status", "relative_gap", "solve_svm"]
