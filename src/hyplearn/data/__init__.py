"""Read points and labels from files, arrays and Dask collections, and prepare them as training data."""
