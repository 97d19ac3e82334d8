"""Tools: embed cells in the Poincaré ball, place new cells, predict cell types, and order cells along branches."""

from hyplearn.single_cell.classification import classify, transfer
from hyplearn.single_cell.lineage import branches, pseudotime
from hyplearn.single_cell.mapping import place, poincare_map

__all__ = ["branches", "classify", "place", "poincare_map", "pseudotime", "transfer"]
