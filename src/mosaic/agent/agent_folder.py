"""Where an agent keeps what it needs, on the disk of its node.

<scratch>/<RUN>-<epoch>/
    order.json      who it is, and where it reaches the daemon; for the owner alone: it holds the token
    agent.lock      locked (flock) by the agent as long as it lives, so that there is one
    agent.log       what it did
    lease           until when the worker may work (`mosaic.spec.processes.lease_file`)
    id              made at random, once: another folder is another agent
    started         there once a worker was started: none is started a second time
    home/           a home with this one run, in which the local engine works
"""

import contextlib
import json
import os
import secrets
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, MinLen

from mosaic import config
from mosaic.errors import HomeUnusable
from mosaic.spec.files.shared_files import read_small, write_atomically
from mosaic.spec.run_dir import Home, RunDir, checked_run_id

DEAD_S = 60.0
"""A socket that takes no connection is removed once it is so old: a younger one may be in the making."""
LONGEST_SOCKETS = 60
"""Of the folder of sockets: names follow behind it, and an address of a socket holds 104 bytes."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What an agent is started with."""

    run_id: str
    """ULID."""
    epoch: Annotated[int, Ge(1)]
    """Number of the start."""
    token: Annotated[str, MinLen(16)]
    """What it proves itself with."""
    home_id: Annotated[str, MinLen(1)] = ""
    """Which daemon it belongs to: the name of its tunnel."""
    scratch: str = "~/.cache/mosaic-agent"
    """Folder for runs while they train."""
    target: str = ""
    """Where it reaches the daemon; empty is the tunnel of `home_id`."""


@dataclass(frozen=True)
class AgentFolder:
    """Every path of one agent."""

    root: Path

    @classmethod
    def of(cls, order: Order) -> "AgentFolder":
        return cls(scratch_of(order.scratch) / f"{checked_run_id(order.run_id)}-{order.epoch}")

    @property
    def order(self) -> Path:
        return self.root / "order.json"

    @property
    def lock(self) -> Path:
        return self.root / "agent.lock"

    @property
    def log(self) -> Path:
        return self.root / "agent.log"

    @property
    def lease(self) -> Path:
        return self.root / "lease"

    @property
    def started(self) -> Path:
        return self.root / "started"

    @property
    def id(self) -> str:
        """Made when it is first asked for; only one agent at a time asks."""
        path = self.root / "id"
        if not path.exists():
            write_atomically(path, secrets.token_hex(16))
        return path.read_text()

    @property
    def home(self) -> Home:
        return Home(self.root / "home")

    def run_dir(self, order: Order) -> RunDir:
        return self.home.run(order.run_id)

    def write_order(self, order: Order) -> None:
        make_private(self.root)
        write_atomically(self.order, json.dumps(config.to_json(order)), mode=0o600)

    def read_order(self) -> Order:
        return config.from_json_text(Order, read_small(self.order), what=str(self.order))


def scratch_of(text: str) -> Path:
    return Path(text).expanduser().absolute()


def sockets_of(scratch: Path) -> Path:
    """Where tunnels end: in the scratch folder, or in a short private one where that path is too long."""
    folder = scratch / "s"
    if len(os.fsencode(folder)) > LONGEST_SOCKETS:
        folder = Path(f"/tmp/mosaic-agent-{os.getuid()}")
    make_private(folder)
    return folder


def remove_dead_sockets(folder: Path) -> None:
    """Those of tunnels whose connection broke: nothing there had the time to remove them."""
    for path in folder.glob("*-*.sock"):
        with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime < DEAD_S:
                continue
            probe.settimeout(1)
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()


def make_private(folder: Path) -> None:
    """Readable by its owner only; refused if it belongs to another user."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise HomeUnusable(f"{folder} cannot be made: {error.strerror}; choose another scratch folder") from error
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise HomeUnusable(f"{folder} is not this user's alone: chmod 700 {folder}, or choose another scratch folder")
