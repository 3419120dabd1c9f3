"""What the window knows of charts: curves, axes and what is saved of them."""
