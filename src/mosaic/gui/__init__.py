"""The window: app > window > tabs > widgets > models. No torch, no gymnasium, and the GUI thread never reads a file."""
