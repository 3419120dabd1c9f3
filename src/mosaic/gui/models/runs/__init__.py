"""What the window knows of runs: their list, their order, what is done with them, and what each has left behind."""
