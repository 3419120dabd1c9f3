"""Environments and wrappers of a user's own files: loaded, made, and checked."""
