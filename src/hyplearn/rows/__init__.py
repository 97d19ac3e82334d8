"""What a solver sees: rows of R^m with costs, in passes over blocks."""

from hyplearn.data.training import Costs
from hyplearn.rows.memory import ClassRows, HyperboloidRows, Rows
from hyplearn.rows.source import RowSource

__all__ = ["ClassRows", "Costs", "HyperboloidRows", "RowSource", "Rows"]
