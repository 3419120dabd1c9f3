"""What crosses a process border: run configs, states, events, the run directory and its manifest."""
