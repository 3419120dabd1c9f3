"""One frame of an environment, drawn in a fork of this process: what a dry run in a warm worker can afford.

A worker draws with the variables that it has (`headless_defaults`), so that is what is tried first. Where this process
cannot be forked, or no frame comes, `preflight` looks for the reason in processes of its own.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.envs.rendering.render_preflight import RenderReport, backend_in_use, preflight
from mosaic.operating_system import threads

DRAW_TIMEOUT_S = 60.0


def try_frame(env_id: str, settings: Mapping[str, Any] | None = None) -> RenderReport:
    """Whether a worker like this one can draw this environment."""
    shape = _drawn(env_id, settings or {}) if _is_alone() else None
    if shape is None:
        return preflight(env_id, settings)
    return RenderReport(True, backend_in_use(), {}, shape, f"{env_id} renders frames of shape {shape}")


def _is_alone() -> bool:
    """Whether this process has one thread: a fork of one with more may hang on what the others held."""
    return threads() == 1


def _drawn(env_id: str, settings: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The shape of the frame; None if the fork did not bring one in time, whatever became of it."""
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _draw_and_end(env_id, settings, reader, writer)
    os.close(writer)
    try:
        said = _read(reader, time.monotonic() + DRAW_TIMEOUT_S)
        return tuple(json.loads(said)) if said else None
    finally:
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _read(reader: int, deadline: float) -> bytes:
    said = b""
    while (left := deadline - time.monotonic()) > 0 and select.select([reader], [], [], left)[0]:
        data = os.read(reader, 4096)
        if not data:
            return said
        said += data
    return b""


def _draw_and_end(env_id: str, settings: Mapping[str, Any], reader: int, writer: int) -> None:
    """In the fork: never returns."""
    try:
        os.close(reader)
        with Path(os.devnull).open("wb") as nowhere:
            for stream in (1, 2):
                os.dup2(nowhere.fileno(), stream)
        from mosaic.envs.rendering.render_probe import frame_shape  # with numpy, which describing alone does not need

        os.write(writer, json.dumps(frame_shape(env_id, settings)).encode())
    finally:
        os._exit(0)
