"""`python -m mosaic.track RUN_DIR`: export one run to a tracker, following it until its end."""

import argparse
import contextlib
import os
import signal
import sys
from pathlib import Path

from mosaic import log
from mosaic.errors import MosaicError
from mosaic.operating_system import lower_session_priority
from mosaic.spec.run_dir import RunDir
from mosaic.track.export_state import WANDB
from mosaic.track.export_to_wandb import export
from mosaic.track.local_export import export_local
from mosaic.track.trackers import everywhere
from mosaic.track.wandb_sync import sync

NICE_VARIABLE = "MOSAIC_EXPORT_NICE"
LOWEST = "19"


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m mosaic.track", description=__doc__)
    words.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    words.add_argument("--tracker", choices=everywhere(), default=WANDB, help="where to (default wandb)")
    words.add_argument("--sync", action="store_true", help="upload an offline export to W&B instead")
    words.add_argument("--background", action="store_true", help="give way to everything else on this machine")
    flags = words.parse_args()
    log.configure()
    if flags.background:
        give_way()
    try:
        run_dir = RunDir(flags.run_dir.absolute())
        if not run_dir.config.exists():
            raise MosaicError(f"{run_dir.root} holds no run")
        if flags.tracker != WANDB:
            return export_local(run_dir, flags.tracker)
        if not flags.sync:
            return export(run_dir)
        # As an error rather than at once: the upload is then ended too, and the export says so.
        signal.signal(signal.SIGTERM, _leave)
        sync(run_dir)
        return 0
    except MosaicError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code


def _leave(number: int, _: object) -> None:
    sys.exit(128 + number)


def give_way() -> None:
    """Lowest priority, unless told otherwise; where Linux shares the CPU by sessions first, of the session too."""
    chosen = os.environ.get(NICE_VARIABLE) or LOWEST
    with contextlib.suppress(OSError, ValueError):
        os.nice(int(chosen))
        lower_session_priority(chosen)


if __name__ == "__main__":
    raise SystemExit(main())
