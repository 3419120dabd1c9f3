"""Verbs about the daemon, the window and this installation, and which daemon a command talks to."""
