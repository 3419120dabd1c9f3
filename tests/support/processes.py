"""The processes of a home, by what the kernel knows of them: also those that are not written down yet."""

import contextlib
import os
from pathlib import Path

import psutil


def end_all_of(home: Path) -> None:
    """kill -9 of every process whose command line or home names this folder or one in it, until none is left."""
    while found := [process for process in psutil.process_iter() if _is_of(process, str(home))]:
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(found, timeout=300)


def _is_of(process: psutil.Process, home: str) -> bool:
    if process.pid == os.getpid():
        return False
    with contextlib.suppress(psutil.Error):
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        words = (process.environ().get("MOSAIC_HOME", ""), *process.cmdline())
        return any(word == home or f"{home}/" in word for word in words)
    return False
