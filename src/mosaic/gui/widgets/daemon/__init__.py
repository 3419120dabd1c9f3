"""What the window shows of the daemon: the connection, and what comes from it."""
