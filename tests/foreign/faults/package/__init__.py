"""A package whose script imports from it."""
