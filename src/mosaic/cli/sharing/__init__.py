"""Pages that show runs to others: one HTML file, which loads nothing."""
