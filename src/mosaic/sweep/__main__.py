"""`python -m mosaic.sweep FOLDER`: the controller of one sweep. Its daemon starts it, and starts it again if it dies.

It ends with 0 when there is nothing more to do: the sweep has ended or is paused, or a user has stopped the daemon.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from mosaic import log
from mosaic.errors import HomeVanished, MosaicError
from mosaic.rpc.client import Client, DaemonUnavailable
from mosaic.rpc.locate import DaemonStopped, bring_back
from mosaic.spec.run_dir import Home
from mosaic.sweep.controller import Controller
from mosaic.sweep.sweep_dir import SweepDir
from mosaic.sweep.trial_log import HasController, TrialLog, only_controller

NICE = 5
"""It sleeps nearly always, and what it does can wait for those who train."""
RETRY_S = 0.5


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m mosaic.sweep", description=__doc__)
    words.add_argument("folder", type=Path, metavar="FOLDER")
    flags = words.parse_args()
    log.configure()
    os.nice(NICE)
    try:
        return control(SweepDir(flags.folder.absolute()))
    except HasController:
        return 0
    except MosaicError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code


def control(sweep: SweepDir) -> int:
    home = Home(sweep.root.parent.parent.parent)
    with only_controller(sweep):
        trials = TrialLog(sweep)
        try:
            while True:
                try:
                    with Client(bring_back(home), home=home) as client:
                        Controller(sweep, trials, client).run()
                    return 0
                except (DaemonStopped, HomeVanished):
                    # The next daemon of this home starts a controller again.
                    return 0
                except DaemonUnavailable as error:
                    log.get_logger().warning("daemon.away", sweep_id=sweep.sweep_id, error=str(error))
                    time.sleep(RETRY_S)
        finally:
            trials.close()


if __name__ == "__main__":
    raise SystemExit(main())
