"""Finding the daemon of a home, and starting one where there is none."""

import fcntl
import json
import os
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO, Any

import grpc

from mosaic.errors import HomeVanished, MosaicError
from mosaic.rpc.channel import open_channel, split_address
from mosaic.rpc.trainer_methods import TrainerStub
from mosaic.rpc.trainer_pb2 import Empty
from mosaic.spec.files.shared_files import scratch_file
from mosaic.spec.processes import home_claim, secret_keys
from mosaic.spec.processes.python_child import PythonChild
from mosaic.spec.run_dir import Home

START_TIMEOUT_S = 30.0
ANSWER_TIMEOUT_S = 5.0
LISTEN_TIMEOUT_S = 10.0
_started: "list[subprocess.Popen[bytes]]" = []
"""Kept, because Popen warns when it is forgotten while its process lives, as a daemon does."""


class DaemonUnavailable(MosaicError):
    """No daemon answers."""

    exit_code = 6


class DaemonStopped(DaemonUnavailable):
    """A user has ended the daemon: only a user starts it again."""

    def __init__(self, home: Home) -> None:
        super().__init__(f"the daemon of {home.root} was stopped; 'mosaic daemon start' starts it")


def refuse_silent(target: str) -> None:
    """DaemonUnavailable if nothing listens at an address."""
    try:
        if target.startswith("unix:"):
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(LISTEN_TIMEOUT_S)
                probe.connect(target.removeprefix("unix:"))
        else:
            host, port = split_address(target)
            socket.create_connection((host.strip("[]"), port), timeout=LISTEN_TIMEOUT_S).close()
    except OSError as error:
        why = f"nothing listens there ({error.strerror or error})"
        advice = "'mosaic daemon start --listen HOST:PORT' on that machine, or 'ssh -L', gives it a listener"
        raise DaemonUnavailable(f"no daemon at {target}: {why}; {advice}") from error


def running_address(home: Home) -> str | None:
    """Where the daemon of this home listens, or None if there is none.

    The lock is the kernel's: a file that a killed daemon left behind says nothing.
    """
    try:
        descriptor = os.open(home.lock, os.O_RDWR)
    except OSError:
        return None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _announced(descriptor).get("addresses", [""])[0]
        return None
    finally:
        os.close(descriptor)


def was_stopped(home: Home) -> bool:
    """Whether the last daemon of this home was told to end, rather than killed."""
    try:
        descriptor = os.open(home.lock, os.O_RDONLY)
    except OSError:
        return False
    try:
        return "stopped" in _announced(descriptor)
    finally:
        os.close(descriptor)


def bring_back(home: Home) -> str:
    """The address of a daemon that answers, for a client that had one: a killed daemon is started again.

    Not one that was told to stop (DaemonStopped), and not in a home that is gone (HomeVanished).
    """
    if (why := why_gone(home)) is not None:
        raise why
    return ensure_daemon(home)


def why_gone(home: Home) -> MosaicError | None:
    """Why the daemon of a home, which was there, is gone; None if it runs or was killed."""
    if running_address(home) is not None:
        return None
    if not home.lock.exists():
        return HomeVanished(home.root, pid=home_claim.claimant(home.root))
    return DaemonStopped(home) if was_stopped(home) else None


def _announced(lock: int) -> dict[str, Any]:
    """What the daemon wrote into its lock: `pid` and `addresses`, `stopped` at its end; empty while it starts."""
    text = os.pread(lock, 4096, 0)
    return json.loads(text) if text else {}


def ensure_daemon(home: Home, *, start: bool = True, flags: Sequence[str] = ()) -> str:
    """The address of a daemon that answers; starts one, with `flags`, if there is none."""
    deadline = time.monotonic() + START_TIMEOUT_S
    started: subprocess.Popen[bytes] | None = None
    with ExitStack() as stack:
        # A file, not a pipe: no process would read a pipe, and one that is full holds up its writer.
        said = stack.enter_context(scratch_file()) if start else None
        while True:
            address = running_address(home)
            if address and _answers(address):
                return address
            if address is None and started is None:
                if said is None:
                    raise DaemonUnavailable(f"no daemon runs for {home.root}; 'mosaic daemon start' starts one")
                started = _start(home, flags, said)
                _started.append(started)
            if started is not None and started.poll() not in (None, 0) and running_address(home) is None:
                raise DaemonUnavailable(f"the daemon ended at once: {_read(said)}")
            if time.monotonic() > deadline:
                raise DaemonUnavailable(f"the daemon of {home.root} does not answer; 'mosaic daemon logs' may say why")
            time.sleep(0.02)


def _start(home: Home, flags: Sequence[str], stderr: IO[bytes]) -> "subprocess.Popen[bytes]":
    """A daemon of its own session: it outlives this process and its terminal."""
    home.create()
    daemon = PythonChild(
        module="mosaic.trainer",
        words=("--log-file", str(home.trainer / "daemon.log"), *flags),
        keys=secret_keys.ALL,
        variables={"MOSAIC_HOME": str(home.root)},
    )
    return daemon.popen(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, start_new_session=True)


def _read(said: IO[bytes] | None) -> str:
    if said is None:
        return ""
    said.seek(0)
    text = said.read().decode(errors="replace").strip().removeprefix("error: ")
    return text or "'mosaic daemon logs' may say why"


def _answers(address: str) -> bool:
    with open_channel(address) as channel:
        try:
            TrainerStub(channel).GetHealth(Empty(), timeout=ANSWER_TIMEOUT_S)
        except grpc.RpcError:
            return False
    return True
