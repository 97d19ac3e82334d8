"""Sources of points: one reader per format, columns, label codes and class counts, checkpoints."""
