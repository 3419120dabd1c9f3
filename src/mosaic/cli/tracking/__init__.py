"""Verbs about trackers: Weights & Biases, Trackio, MLflow, TensorBoard."""
