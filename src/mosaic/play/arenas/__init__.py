"""What is played: one environment, a game for several, or copies in lock-step; and what can be told of it."""
