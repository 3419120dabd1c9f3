"""From the words of a worker's command line to a training run: flags, config files, algorithms, the run's start."""
