"""What the window shows of evaluations of policies: their form, their statistics and how they compare."""
