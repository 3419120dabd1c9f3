"""Benchmarks: speed (`python -m bench`) and learning (`python -m bench.learning`) against Stable-Baselines3."""
