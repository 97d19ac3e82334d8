"""Sources of points: file readers, column roles, label codes, class counts and checkpoints."""
