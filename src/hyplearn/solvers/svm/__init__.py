"""Support vector machines on rows, solved to a certificate of optimality."""

from hyplearn.solvers.solution import Progress, Report, Solution, Status, relative_gap
from hyplearn.solvers.svm.solve import solve_svm

__all__ = ["Progress", "Report", "Solution", "Status", "relative_gap", "solve_svm"]
