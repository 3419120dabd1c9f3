"""Real daemons in homes of their own; every process that a test leaves behind is ended by its id."""

import os
import subprocess
import sys
import time

from processes import end_all_of

from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home

START_S = 300.0


class Daemon:
    """The daemon of a home, which can be killed and started again."""

    def __init__(self, home: Home, *flags: str) -> None:
        self.home, self.flags = home, flags
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Daemon":
        self.home.create()
        with (self.home.root / "daemon.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mosaic.trainer", *self.flags],
                env=os.environ | {"MOSAIC_HOME": str(self.home.root), "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + START_S
        while not running_address(self.home):
            assert self.process.poll() is None, (self.home.root / "daemon.log").read_text()
            assert time.monotonic() < end, "the daemon does not start"
            time.sleep(0.02)
        return self

    def kill(self) -> None:
        """kill -9; its workers go on."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        # A child that it was just making has its lock until it becomes another program. A window may already have
        # started the next daemon.
        end = time.monotonic() + START_S
        while running_address(self.home) and self._is_announced() and time.monotonic() < end:
            time.sleep(0.01)

    def _is_announced(self) -> bool:
        """Whether the lock still names the daemon that was started here."""
        assert self.process is not None
        return f'"pid": {self.process.pid},' in self.home.lock.read_text()

    def close(self) -> None:
        """End it, whichever daemon this home has by now, and all workers."""
        end_daemon(self.home)
        if self.process is not None:
            self.process.wait()


def end_daemon(home: Home) -> None:
    """Every daemon of a home, and all workers: a window starts one too, and one may wait for another to end."""
    end_all_of(home.root)
