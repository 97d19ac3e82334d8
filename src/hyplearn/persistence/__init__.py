"""Save estimators to model files without pickle, load them, and export classifiers to ONNX."""

from hyplearn.persistence.files import ModelFileError, load, read_metadata, save
from hyplearn.persistence.onnx_export import export_onnx

__all__ = ["ModelFileError", "export_onnx", "load", "read_metadata", "save"]
