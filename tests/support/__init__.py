"""Code shared by the tests: naive versions of the paper's formulas, exact values by mpmath, data and stored files."""
