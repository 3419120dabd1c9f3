"""Rendering without a display: found out, tried, and done in a fork."""
