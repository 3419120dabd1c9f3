"""Starting a controller: a process in a session of its own, which outlives the daemon that starts it."""

import os
import subprocess

from mosaic.spec.processes import secret_keys
from mosaic.spec.processes.python_child import PythonChild
from mosaic.spec.run_dir import Home
from mosaic.sweep.sweep_dir import SweepDir


def start(home: Home, sweep: SweepDir) -> "subprocess.Popen[bytes]":
    child = PythonChild(
        module="mosaic.sweep",
        words=(str(sweep.root),),
        # Not for itself: it starts the daemon again that was killed, whose exporters need them.
        keys=secret_keys.ALL,
        variables={"MOSAIC_HOME": str(home.root), "OMP_NUM_THREADS": "1"},
    )
    descriptor = os.open(sweep.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        return child.popen(stdin=subprocess.DEVNULL, stdout=descriptor, stderr=descriptor, start_new_session=True)
    finally:
        os.close(descriptor)
