"""Imported first in a process: removes from Python what it has on Linux alone, so that whatever uses it fails."""

import os
import socket

NAMES = {
    os: ("memfd_create", "MFD_CLOEXEC", "posix_fallocate", "sched_getaffinity", "waitid", "O_PATH"),
    socket: ("SO_PEERCRED", "SOCK_CLOEXEC", "SOCK_NONBLOCK"),
}

for module, names in NAMES.items():
    for name in names:
        delattr(module, name)
