"""Runs as objects, for a notebook or a program: `mosaic.train`, `mosaic.run`, `mosaic.runs` (docs/notebook.md)."""
