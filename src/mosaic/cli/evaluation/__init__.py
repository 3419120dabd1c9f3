"""Verbs about policies: list, evaluate, compare and publish them."""
