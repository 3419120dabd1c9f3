"""Leases: a reader says that it looks, and what it wants to see; without one the worker renders nothing.

A lease is a small file beside the ring, `<ring>.lease-<pid>-<random>`, that its reader rewrites every second:
    {"at": 123.4, "changed": 100.0, "mode": "grid", "slot": 0, "fps": 30, "tile_width": 320, "budget": 0.05}
`at` and `changed` are CLOCK_MONOTONIC seconds. It counts for three seconds after `at`, so a killed reader is forgotten.
Where several readers want different things, the one whose wishes changed last decides; the highest rate is served.
"""

import json
import os
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

VALID_S = 3.0
RENEW_S = 1.0
MAX_FPS = 120.0

Mode = Literal["single", "grid", "off"]


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What a viewer wants."""

    mode: Mode = "grid"
    slot: int = 0
    fps: float = 30.0
    tile_width: int = 320
    budget: float = 0.05
    """Share of the learner's time that rendering may take."""


class Lease:
    """A reader's lease; renew it at least every `RENEW_S`."""

    def __init__(self, ring: Path, wishes: Wishes) -> None:
        self._path = ring.with_name(f"{ring.name}.lease-{os.getpid()}-{secrets.token_hex(4)}")
        self._wishes = wishes
        self._changed = time.monotonic()
        self.renew()

    def ask(self, wishes: Wishes) -> None:
        """Change what is shown."""
        if wishes != self._wishes:
            self._wishes = wishes
            self._changed = time.monotonic()
        self.renew()

    def renew(self) -> None:
        content = {**asdict(self._wishes), "at": time.monotonic(), "changed": self._changed}
        temporary = self._path.with_name(f"{self._path.name}.tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(content, file)
        temporary.replace(self._path)

    def close(self) -> None:
        self._path.unlink(missing_ok=True)


def current(ring: Path) -> Wishes | None:
    """What the readers of a ring want now, or None if nobody looks; forgotten leases are swept."""
    now = time.monotonic()
    valid: list[dict[str, Any]] = []
    for path in ring.parent.glob(f"{ring.name}.lease-*"):
        content = _read(path)
        if content is not None and now - content["at"] <= VALID_S:
            valid.append(content)
        elif content is None or now - content["at"] > 10 * VALID_S:
            path.unlink(missing_ok=True)
    if not valid:
        return None
    last = max(valid, key=lambda lease: lease["changed"])
    fps = min(max(float(lease["fps"]) for lease in valid), MAX_FPS)
    return Wishes(
        mode=last["mode"],
        slot=max(0, int(last["slot"])),
        fps=max(fps, 0.1),
        tile_width=min(max(int(last["tile_width"]), 16), 1280),
        budget=min(max(float(last["budget"]), 0.001), 1.0),
    )


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_bytes())
        complete = {"at", "changed", "mode", "slot", "fps", "tile_width", "budget"} <= content.keys()
        return content if complete and content["mode"] in ("single", "grid", "off") else None
    except (OSError, ValueError, AttributeError):
        return None
