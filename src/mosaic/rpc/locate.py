"""Finding the daemon of a home, and starting one where there is none."""

import fcntl
import json
import os
import subprocess
import sys
import time

import grpc

from mosaic.errors import MosaicError
from mosaic.rpc.channel import open_channel
from mosaic.rpc.trainer_pb2 import Empty
from mosaic.rpc.trainer_pb2_grpc import TrainerStub
from mosaic.spec.run_dir import Home

START_TIMEOUT_S = 30.0
ANSWER_TIMEOUT_S = 5.0


class DaemonUnavailable(MosaicError):
    """No daemon answers."""

    exit_code = 6


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
            text = os.pread(descriptor, 4096, 0)
            return json.loads(text)["addresses"][0] if text else ""
        return None
    finally:
        os.close(descriptor)


def ensure_daemon(home: Home, *, start: bool = True) -> str:
    """The address of a daemon that answers; starts one if there is none."""
    deadline = time.monotonic() + START_TIMEOUT_S
    started: subprocess.Popen[bytes] | None = None
    while True:
        address = running_address(home)
        if address and _answers(address):
            return address
        if address is None and started is None:
            if not start:
                raise DaemonUnavailable(f"no daemon runs for {home.root}; 'mosaic daemon start' starts one")
            started = _start(home)
        if started is not None and started.poll() not in (None, 0) and running_address(home) is None:
            raise DaemonUnavailable(f"the daemon ended at once; {home.trainer / 'daemon.log'} says why{_said(started)}")
        if time.monotonic() > deadline:
            raise DaemonUnavailable(f"the daemon of {home.root} does not answer; 'mosaic daemon logs' may say why")
        time.sleep(0.02)


def _start(home: Home) -> "subprocess.Popen[bytes]":
    """A daemon of its own session: it outlives this process and its terminal."""
    home.create()
    return subprocess.Popen(
        [sys.executable, "-m", "mosaic.trainer", "--log-file", str(home.trainer / "daemon.log")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "MOSAIC_HOME": str(home.root)},
        cwd=home.root,
    )


def _said(process: "subprocess.Popen[bytes]") -> str:
    text = process.stderr.read().decode(errors="replace").strip() if process.stderr else ""
    return f": {text.removeprefix('error: ')}" if text else ""


def _answers(address: str) -> bool:
    with open_channel(address) as channel:
        try:
            TrainerStub(channel).GetHealth(Empty(), timeout=ANSWER_TIMEOUT_S)
        except grpc.RpcError:
            return False
    return True
