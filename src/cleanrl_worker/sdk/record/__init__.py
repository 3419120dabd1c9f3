"""What a run writes and sends while it learns: events, logs, TensorBoard files, the manifest."""
