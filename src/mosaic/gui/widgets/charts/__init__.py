"""What the window shows of charts: curves, axes and what is saved of them."""
