"""Rows with costs, which are the input of the solvers. They are stored in memory or read in blocks."""

from hyplearn.data.training import Costs
from hyplearn.rows.memory import ClassRows, HyperboloidRows, Rows, RowSource

__all__ = ["ClassRows", "Costs", "HyperboloidRows", "RowSource", "Rows"]
