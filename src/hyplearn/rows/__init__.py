"""Rows with costs, stored or read in blocks, which are the input of the solvers."""

from hyplearn.data.training import Costs
from hyplearn.rows.memory import ClassRows, HyperboloidRows, Rows, RowSource

__all__ = ["ClassRows", "Costs", "HyperboloidRows", "RowSource", "Rows"]
