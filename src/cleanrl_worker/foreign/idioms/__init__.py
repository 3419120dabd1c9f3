"""Gymnasium 0.29 as its scripts knew it, on the Gymnasium that is installed.

What 0.29 promised and 1.x changed: an ended slot of a vector environment is reset in the same step, its last
observation and info are in `final_observation` and `final_info` (one entry a slot, None where nothing ended), episode
statistics are arrays of one number, wrappers hand on attributes, and some have other names or arguments.
"""
