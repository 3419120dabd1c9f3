"""Rendering without a display: find, by really rendering a frame, the graphics backend that works on this machine."""

import ctypes
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from mosaic.envs.families import family_of
from mosaic.envs.family import Family
from mosaic.spec.processes.python_child import PythonChild, own_path

PROBE_TIMEOUT_S = 120


@dataclass(frozen=True)
class RenderReport:
    """What `preflight` found. Set `variables` in os.environ before the simulator is imported."""

    ok: bool
    backend: str
    """What worked: egl, osmesa, glfw, dummy (SDL's), or none where none is needed; empty if nothing did."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    frame_shape: tuple[int, ...] | None = None
    message: str = ""


def headless_defaults() -> dict[str, str]:
    """Set what SDL and pygame need in a worker; call it before any environment is made. Returns what it set.

    SDL would otherwise take over SIGINT and SIGTERM, pygame would print a banner on stdout, and where there is no
    display both would look for one. Values that are already set stay.
    """
    wanted = {"SDL_NO_SIGNAL_HANDLERS": "1", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
    if not _has_display():
        wanted |= {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", **_mujoco_backend()}
    changed = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(changed)
    return changed


def _mujoco_backend() -> dict[str, str]:
    """The first library that loads: cheap enough for every start; `preflight` proves it by a frame."""
    for name, library in (("egl", "libEGL.so.1"), ("osmesa", "libOSMesa.so.8")):
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        return {"MUJOCO_GL": name}
    return {}


def preflight(env_id: str, settings: Mapping[str, Any] | None = None) -> RenderReport:
    """Render one frame of `env_id`, in a process of its own for each way to do it, and report the first that works.

    A process each, because MuJoCo and SDL read their variables once, when they are loaded, and a wrong one can crash.
    """
    return _preflight(env_id, json.dumps(dict(settings or {})))


@cache
def _preflight(env_id: str, settings: str) -> RenderReport:
    family = family_of(env_id)
    failures: list[str] = []
    for variables in _candidates(family):
        shape, failure = _probe(env_id, settings, variables)
        if shape is not None:
            name = _backend_name(variables)
            return RenderReport(True, name, variables, shape, f"{env_id} renders frames of shape {shape}")
        failures.append(f"{_backend_name(variables)}: {failure}")
    return RenderReport(False, "", message=_advice(env_id, family, failures))


def backend_in_use() -> str:
    """What this process draws with, as far as its variables say."""
    return _backend_name(os.environ)


def _has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _candidates(family: Family) -> list[dict[str, str]]:
    candidates = [dict(each) for each in family.graphics]
    names = {name for each in candidates for name in each}
    chosen = {name: os.environ[name] for name in names if os.environ.get(name)}
    if chosen:
        candidates.insert(0, chosen)
    if _has_display() and "MUJOCO_GL" in names:
        candidates.append({"MUJOCO_GL": "glfw"})
    return [each for at, each in enumerate(candidates) if each not in candidates[:at]]


def _backend_name(variables: Mapping[str, str]) -> str:
    return variables.get("MUJOCO_GL") or variables.get("SDL_VIDEODRIVER") or "none"


def _probe(env_id: str, settings: str, variables: Mapping[str, str]) -> tuple[tuple[int, ...] | None, str]:
    import subprocess

    try:
        # MuJoCo writes its warnings into the current folder.
        with tempfile.TemporaryDirectory(prefix="mosaic-probe-") as folder:
            child = PythonChild(
                module="mosaic.envs.rendering.render_probe",
                words=(env_id, settings),
                variables=variables,
                path=own_path(),
                cwd=Path(folder),
            )
            done = child.run(capture_output=True, text=True, timeout=PROBE_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None, f"no frame within {PROBE_TIMEOUT_S} s"
    if done.returncode == 0:
        return tuple(json.loads(done.stdout.splitlines()[-1])), ""
    said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("Exception ignored")]
    errors = [line for line in said if "Error" in line.split(":")[0]]
    return None, (errors or said or [f"exit status {done.returncode}"])[-1].strip()


def _advice(env_id: str, family: Family, failures: list[str]) -> str:
    tried = "; ".join(failures)
    if not family.debian_packages:
        return f"{env_id} cannot be rendered here ({tried})"
    packages = " ".join(family.debian_packages)
    return f"{env_id} cannot be rendered here ({tried}); on Debian: apt-get install {packages}"
