"""Leases: a reader says that it looks, and what it wants to see; without one the worker renders nothing.

A lease is a small file beside the ring, `<ring>.lease-<pid>-<random>`, that its reader rewrites every second:
    {"at": 123.4, "changed": 100.0, "mode": "grid", "slot": 0, "fps": 30, "tile_width": 320, "budget": 0.05,
     "explain": false}
`at` and `changed` are CLOCK_MONOTONIC seconds. It counts for three seconds after `at`, so a killed reader is forgotten.
`mode`, `slot`, `fps` and `budget` may be null: as the run was configured. Where several readers want different things,
the one whose wishes changed last decides; the highest rate is served.

A reader that wants to be woken binds a unix datagram socket at the same path with `.wake-` for `.lease-`; the writer
sends it one empty datagram a frame, and does not care whether it arrives.
"""

import contextlib
import json
import math
import os
import secrets
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

VALID_S = 3.0
RENEW_S = 1.0
FORGET_S = 30.0
"""A lease this old is removed, whichever viewer left it."""
MAX_FPS = 120.0
MIN_FPS = 0.1
USUAL_FPS, USUAL_BUDGET = 30.0, 0.05
MIN_BUDGET = 0.001
MIN_TILE_WIDTH, MAX_TILE_WIDTH = 16, 1280

Mode = Literal["single", "grid", "off"]


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What a viewer wants."""

    mode: Mode | None = None
    """One environment, a grid of them, or nothing for now; None as the run was configured."""
    slot: int | None = None
    """Environment shown in single mode, None as the run was configured; in a grid the one that is drawn most often."""
    fps: float | None = None
    """At most so many pictures of each tile a second; the budget may allow fewer. None as the run was configured."""
    tile_width: int = 320
    """Tiles are scaled down to this in the worker; never up."""
    budget: float | None = None
    """Share of the learner's time that rendering may take; None as the run was configured."""
    explain: bool = False
    """Say what the environment of `slot` (else the first one) observes, and what the agent makes of it."""

    @property
    def explained(self) -> int | None:
        """The environment that is to be explained; None is none."""
        return (self.slot or 0) if self.explain else None


@dataclass(frozen=True)
class Demand:
    """What all readers of a ring want together."""

    wishes: Wishes
    fps: float
    budget: float
    sockets: tuple[str, ...]
    """Who wants to be woken."""


class Lease:
    """A reader's lease; renew it at least every `RENEW_S`."""

    def __init__(self, ring: Path, wishes: Wishes) -> None:
        self._path = ring.with_name(f"{ring.name}.lease-{os.getpid()}-{secrets.token_hex(4)}")
        self._wishes = wishes
        self._changed = time.monotonic()
        self.wake = _bound(_socket_of(self._path))
        """Readable when there is a new frame; None where no socket could be made: look now and then."""
        self.renew()

    def ask(self, wishes: Wishes) -> None:
        """Change what is shown."""
        if wishes != self._wishes:
            self._wishes = wishes
            self._changed = time.monotonic()
        self.renew()

    def renew(self) -> None:
        content = {**asdict(self._wishes), "at": time.monotonic(), "changed": self._changed}
        temporary = self._path.with_name(self._path.name.replace(".lease-", ".new-"))
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(content, file)
        temporary.replace(self._path)

    def close(self) -> None:
        if self.wake is not None:
            self.wake.close()
        _socket_of(self._path).unlink(missing_ok=True)
        self._path.unlink(missing_ok=True)


def current(ring: Path, *, fps: float = USUAL_FPS, budget: float = USUAL_BUDGET) -> Demand | None:
    """What the readers of a ring want now, or None if no viewer is connected; forgotten leases are removed.

    `fps` and `budget` are those of readers that left them open.
    """
    now = time.monotonic()
    valid: dict[str, dict[str, Any]] = {}
    prefix = f"{ring.name}.lease-"
    with os.scandir(ring.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(prefix)]
    for name in names:
        path = ring.with_name(name)
        content = _read(path)
        age_s = math.inf if content is None else now - content["at"]
        if content is not None and age_s <= VALID_S:
            valid[str(_socket_of(path))] = content
        elif age_s > FORGET_S:
            path.unlink(missing_ok=True)
            _socket_of(path).unlink(missing_ok=True)
    if not valid:
        return None
    last = max(valid.values(), key=lambda lease: lease["changed"])
    fps = max(fps if lease["fps"] is None else lease["fps"] for lease in valid.values())
    fps = min(max(fps, MIN_FPS), MAX_FPS)
    budget = min(max(budget if last["budget"] is None else last["budget"], MIN_BUDGET), 1.0)
    wishes = Wishes(
        mode=last["mode"],
        slot=None if last["slot"] is None else max(0, int(last["slot"])),
        fps=fps,
        tile_width=int(min(max(last["tile_width"], MIN_TILE_WIDTH), MAX_TILE_WIDTH)),
        budget=budget,
        # A viewer of an earlier version does not say.
        explain=last.get("explain") is True,
    )
    return Demand(wishes, fps, budget, tuple(valid))


class Lookout:
    """`current`, for one system call while no viewer comes or goes: each lease that is renewed is renamed."""

    def __init__(self, ring: Path, *, fps: float = USUAL_FPS, budget: float = USUAL_BUDGET) -> None:
        self._ring, self._fps, self._budget = ring, fps, budget
        self._folder_changed = -1
        self._last: Demand | None = None

    def look(self) -> Demand | None:
        changed = os.stat(self._ring.parent).st_mtime_ns  # noqa: PTH116
        if changed != self._folder_changed or self._last is not None:
            self._folder_changed = changed
            self._last = current(self._ring, fps=self._fps, budget=self._budget)
        return self._last


def _socket_of(lease: Path) -> Path:
    return lease.with_name(lease.name.replace(".lease-", ".wake-"))


def _bound(path: Path) -> socket.socket | None:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.setblocking(False)
    with contextlib.suppress(OSError):  # A path too long for a socket, a file system without them.
        made.bind(str(path))
        path.chmod(0o600)
        return made
    made.close()
    return None


def _read(path: Path) -> dict[str, Any] | None:
    """A whole lease, or None; another version, or another program, may have written it."""
    try:
        content = json.loads(path.read_bytes())
        numbers = [content[name] for name in ("at", "changed", "tile_width")]
        numbers += [content[name] for name in ("fps", "budget") if content[name] is not None]
        slot, mode = content["slot"], content["mode"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    whole = all(type(value) in (int, float) and math.isfinite(value) for value in numbers)
    return content if whole and type(slot) in (int, type(None)) and mode in ("single", "grid", "off", None) else None
