"""Fitted estimators in files: a closed format without pickle, and graphs for ONNX."""

from hyplearn.persistence.files import ModelFileError, load, read_metadata, save

__all__ = ["ModelFileError", "load", "read_metadata", "save"]
