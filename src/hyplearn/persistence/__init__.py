"""Fitted estimators in files: a closed format without pickle, and graphs for ONNX."""

from hyplearn.persistence.files import ModelFileError, load, read_metadata, save
from hyplearn.persistence.onnx_export import export_onnx

__all__ = ["ModelFileError", "export_onnx", "load", "read_metadata", "save"]
