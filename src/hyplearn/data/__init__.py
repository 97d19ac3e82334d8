"""Sources of points: readers for files, roles of columns, encoding of labels, class counts, and checkpoints."""
