"""Train states on disk: their files, arrays and pages."""
