"""Where rows come from: an array, files read in blocks, a Dask collection. Solvers see passes over blocks of them."""

from hyplearn.rows.memory import ClassRows, HyperboloidRows, Rows
from hyplearn.rows.source import Costs, RowSource

__all__ = ["ClassRows", "Costs", "HyperboloidRows", "RowSource", "Rows"]
