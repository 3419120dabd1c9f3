"""The agent: one small program on another machine that runs one start of one run there and relays it to the daemon."""
