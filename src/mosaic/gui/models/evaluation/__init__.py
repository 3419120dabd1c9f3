"""What the window knows of evaluations of policies: their form, their statistics and how they compare."""
