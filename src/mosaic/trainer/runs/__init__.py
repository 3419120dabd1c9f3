"""The life of runs: accepted, queued, started, followed, concluded."""
