"""What the window knows of the daemon: the connection, and what comes from it."""
