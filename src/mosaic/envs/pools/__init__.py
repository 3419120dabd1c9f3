"""Environments of envpool: its pools, one at a time as an environment like others, and what it has."""
