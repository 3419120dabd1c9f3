"""A worker in a process of its own that is forked from one which has imported everything: it costs no start.

The daemon starts its workers in the same way (`cleanrl_worker.zygote`). One such process serves all tests of a session.
"""

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from cleanrl_worker.sdk.command import algorithm_catalogue

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "cleanrl_worker.cli",
        "cleanrl_worker.evaluate",
        "cleanrl_worker.sdk.record.event_publisher",
        "torch.utils.tensorboard",
        *(f"cleanrl_worker.algorithms.{name}" for name in algorithm_catalogue.names()),
    ]
)


class Forked:
    """As much of `subprocess.Popen` as the tests use."""

    def __init__(self, module: str, argv: Sequence[str], *, before: Callable[[], object] = bool) -> None:
        """`before` is called in the new process first."""
        descriptor, name = tempfile.mkstemp(prefix="mosaic-test-stderr-")
        os.close(descriptor)
        self._stderr = Path(name)
        self._process = _CONTEXT.Process(target=_become, args=(module, list(argv), dict(os.environ), name, before))
        self._process.start()
        pid = self._process.pid
        assert pid is not None
        self.pid = pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        assert self.returncode is not None, f"process {self.pid} goes on after {timeout} s"
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        self.wait(timeout)
        return b"", self._stderr.read_bytes()

    def close(self) -> None:
        self._stderr.unlink(missing_ok=True)


def _become(
    module: str, argv: list[str], environment: dict[str, str], stderr: str, before: Callable[[], object]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    for name, descriptor in ((os.devnull, 1), (stderr, 2)):
        opened = os.open(name, os.O_WRONLY)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.argv = [module, *argv]
    before()
    raise SystemExit(importlib.import_module(module).main(argv))
