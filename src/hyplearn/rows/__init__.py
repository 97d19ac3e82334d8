"""What a solver sees: rows of R^m with costs, in passes over blocks."""

from hyplearn.rows.memory import ClassRows, HyperboloidRows, Rows
from hyplearn.rows.source import Costs, RowSource

__all__ = ["ClassRows", "Costs", "HyperboloidRows", "RowSource", "Rows"]
