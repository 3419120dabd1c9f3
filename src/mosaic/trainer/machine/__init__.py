"""The daemon's machine: GPUs, load, room on the disk, errors that come again."""
