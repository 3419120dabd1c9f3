"""Networks and optimisers in numpy, on the memory of torch's parameters."""
