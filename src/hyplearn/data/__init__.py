"""Where points come from: one reader per format, columns, label codes and class counts, checkpoints."""
