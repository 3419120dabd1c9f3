"""What the window shows of the Play tab: seats, actors, sessions and recorded episodes."""
