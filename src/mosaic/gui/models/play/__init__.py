"""What the window knows of the Play tab: seats, actors, sessions and recorded episodes."""
