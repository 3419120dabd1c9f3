"""The daemon's end of the warm worker: `cleanrl_worker.zygote`, a pre-imported process that forks on request."""

import contextlib
import json
import select
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mosaic.log import get_logger
from mosaic.spec.processes.python_child import PythonChild
from mosaic.trainer.catalogue.sources_digest import sources_digest

MODULE = "cleanrl_worker.zygote"
FORK_REPLY_S = 30.0
"""Longer than the zygote may be importing what scripts need, on a busy machine."""
LOOK_S = 0.5
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")

log = get_logger()


class WarmWorker:
    """Ends with our end of the socket."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ready = False
        self._digest = sources_digest()
        # Thread pools are sized when a library is imported: one thread, which is what warm workers are for.
        threads: dict[str, str] = dict.fromkeys(THREAD_VARIABLES, "1")
        with theirs:
            child = PythonChild(module=MODULE, words=(str(theirs.fileno()),), variables=threads)
            self._process = child.popen(
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def usable(self) -> bool:
        """Whether it lives and has imported what is on disk now, not an earlier version of it."""
        return self._process.poll() is None and self._digest == sources_digest()

    @property
    def ready(self) -> bool:
        """Whether it has said that all is imported; does not wait."""
        if not self._ready:
            self._socket.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                self._ready = self._socket.recv(16) == b"ready"
        return self._ready and self._process.poll() is None

    def wait_until_ready(self, timeout_s: float) -> bool:
        """Whether it can be used. Asleep meanwhile: the digest of all sources, which `usable` takes, is not free."""
        deadline = time.monotonic() + timeout_s
        try:
            while not self.ready and self._process.poll() is None and (left := deadline - time.monotonic()) > 0:
                select.select([self._socket], [], [], min(left, LOOK_S))
            return self.ready and self.usable
        except (OSError, ValueError):  # It was closed meanwhile, by a thread that found it outdated.
            return False

    def fork(
        self, module: str, argv: Sequence[str], environment: Mapping[str, str], cwd: Path, files: Sequence[int]
    ) -> int | None:
        """The process id of a worker with these files (stdout, stderr, life lock), or None if there is no answer."""
        request = {"module": module, "argv": list(argv), "environment": dict(environment), "cwd": str(cwd)}
        try:
            self._socket.settimeout(FORK_REPLY_S)
            socket.send_fds(self._socket, [json.dumps(request).encode()], list(files))
            return int(json.loads(self._socket.recv(64))["pid"])
        except (OSError, ValueError, KeyError) as error:
            log.warning("zygote.failed", error=repr(error))
            self.close()
            return None

    def close(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()
