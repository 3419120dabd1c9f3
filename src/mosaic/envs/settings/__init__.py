"""Settings of an environment: the arguments of its constructor as a JSON Schema, and as values for the constructor."""
