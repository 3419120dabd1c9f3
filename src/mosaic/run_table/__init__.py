"""Runs as a table: columns, filters, sorting, groups and differences; the same in command line and window."""
