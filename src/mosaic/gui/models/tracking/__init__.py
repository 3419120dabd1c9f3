"""What the window knows of TensorBoard and Weights & Biases."""
