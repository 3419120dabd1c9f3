"""`python -m mosaic.alerts HOME`: tell the receivers what waits in the journal, then end.

The daemon starts it when there is something to tell. It is a process of its own session: what hangs or fails in it
reaches neither the daemon nor a run, and it goes on when the daemon is killed.
"""

import argparse
import fcntl
import os
import sys
from pathlib import Path

from mosaic import log
from mosaic.alerts.telling import Telling
from mosaic.errors import MosaicError
from mosaic.spec.run_dir import Home

NICE = 10


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m mosaic.alerts", description=__doc__)
    words.add_argument("home", type=Path, metavar="HOME")
    flags = words.parse_args()
    log.configure()
    os.nice(NICE)
    home = Home(flags.home.absolute())
    descriptor = os.open(home.alerts_sender_lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 0  # Another one does it.
    try:
        Telling(home).run()
    except MosaicError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
