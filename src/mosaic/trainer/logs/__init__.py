"""The log of a run in order of time: pages of it, what is found in it and how many lines it has."""
