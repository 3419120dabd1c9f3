"""Around a user's script: it runs unmodified, and what it does becomes a run (docs/scripts.md)."""
