"""What an algorithm sees of an environment: vectors, pixels, Atari's frames."""
