"""What the window shows of runs: their list, their order, what is done with them, and what each has left behind."""
