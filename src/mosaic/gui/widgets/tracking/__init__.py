"""What the window shows of TensorBoard and Weights & Biases."""
