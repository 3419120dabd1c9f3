"""Environments as functions of tensors: one definition for a CPU and a GPU, for any number of copies."""
