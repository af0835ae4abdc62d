"""Folders of pictures: found, decoded, embedded by an ONNX model, and added to an index."""

from onlinehash.images.embedder import Embedder
from onlinehash.images.find import Skipped
from onlinehash.images.folder import Report, add_folder

__all__ = ["Embedder", "Report", "Skipped", "add_folder"]
