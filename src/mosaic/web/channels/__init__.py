"""What a page can look at over its WebSocket: a file for each kind."""
