"""A little room kept back on the disk of the home: with it a daemon starts, and deletes runs, on a disk that is full.

    <home>/trainer/reserve/0 … 7   files of 64 KiB, made of zeros, given up while a daemon starts

What a start needs of it: the index's two side files, the lock's text, the socket, and an inode for each.
"""

import shutil

from mosaic.log import get_logger
from mosaic.spec.run_dir import Home

FILES = 8
FILE_BYTES = 64 * 2**10

log = get_logger()


def give_up(home: Home) -> None:
    shutil.rmtree(home.reserve, ignore_errors=True)


def keep(home: Home) -> None:
    """For the next start; without it where there is no room."""
    try:
        home.reserve.mkdir(mode=0o700, exist_ok=True)
        for number in range(FILES):
            # Written rather than made longer: a hole takes no room.
            (home.reserve / str(number)).write_bytes(bytes(FILE_BYTES))
    except OSError as error:
        log.warning("daemon.no_reserve", error=str(error))
        give_up(home)
