"""Rows with costs, in blocks: the input of the solvers."""

from hyplearn.data.training import Costs
from hyplearn.rows.memory import ClassRows, HyperboloidRows, Rows, RowSource

__all__ = ["ClassRows", "Costs", "HyperboloidRows", "RowSource", "Rows"]
