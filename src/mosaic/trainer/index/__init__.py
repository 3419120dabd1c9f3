"""What the daemon knows of run directories: the index, metrics, episodes, policies, artifacts."""
