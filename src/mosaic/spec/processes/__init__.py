"""Processes of ours: how they start, who lives, what each may know."""
