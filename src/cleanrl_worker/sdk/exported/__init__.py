"""Policies as files that need no MOSAIC: ONNX, and plain torch."""
