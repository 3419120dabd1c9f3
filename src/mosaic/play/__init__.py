"""The play worker: one environment, an actor for each seat, every step recorded. Started by the daemon."""
