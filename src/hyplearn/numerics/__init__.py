"""Compiled arithmetic that is independent of geometry: elementary functions, typed array access, hashing."""
