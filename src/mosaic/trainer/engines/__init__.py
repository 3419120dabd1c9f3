"""Ways to start a worker: on this machine; later on a Ray or Slurm cluster."""
