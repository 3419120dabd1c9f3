"""`mosaic doctor`: check this installation; exit code 1 if something essential is broken."""

import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata

from mosaic import __version__
from mosaic.cli.daemon.connection import current, look, parser
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import columns, pad, paint, print_json
from mosaic.errors import MosaicError
from mosaic.installation import DISTRIBUTION, install_line
from mosaic.rpc.locate import running_address
from mosaic.spec.processes.python_child import PythonChild
from mosaic.spec.run_dir import Home

MINIMUM_FREE_BYTES = 2**30
RENDER_TIMEOUT_S = 180
RENDERED = ("CartPole-v1", "LunarLander-v3", "HalfCheetah-v5", "ALE/Breakout-v5", "MiniGrid-Empty-5x5-v0")
PREFLIGHTS = "mosaic.envs.rendering.preflights"
"""A process of its own: only workers load environments."""
MARKS = {"ok": ("✓", "green"), "note": ("·", "dim"), "warning": ("!", "yellow"), "broken": ("✗", "red")}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; only `broken` is essential."""

    what: str
    level: str
    detail: str


def main(argv: Sequence[str]) -> int:
    words = parser("doctor", "Check Python, packages, rendering, GPU, disk and daemon.", json=True)
    words.add_argument("--quick", action="store_true", help="skip rendering a frame of each kind of environment")
    flags = words.parse_args(argv)
    broken = False
    for finding in _look(render=not flags.quick):
        broken |= finding.level == "broken"
        if flags.json:
            print_json(vars(finding))
        else:
            _show(finding)
    if not flags.json:
        print("\nsomething essential is broken" if broken else "\nall that is essential works")
    return int(broken)


def _show(finding: Finding) -> None:
    import textwrap

    mark, colour = MARKS[finding.level]
    first, *rest = textwrap.wrap(finding.detail, max(30, columns() - 20), break_long_words=False) or [""]
    print(f"{paint(mark, colour)} {pad(finding.what, 16)} {first}", flush=True)
    for line in rest:
        print(f"{'':19}{line}")


def _look(*, render: bool) -> Iterator[Finding]:
    yield Finding("mosaic", "ok", f"{__version__} in {sys.prefix}")
    new_enough = sys.version_info >= (3, 11)
    yield Finding("python", "ok" if new_enough else "broken", f"{platform.python_version()} on {platform.platform()}")
    yield from _packages()
    yield _gpu()
    yield from _home()
    yield _daemon()
    if render:
        yield from _render()


def _packages() -> Iterator[Finding]:
    for extra in ["", *known_extras()]:
        versions = {name: version_of(name) for name in needed(extra)}
        missing = [name for name, version in versions.items() if version is None]
        if not missing:
            there = ", ".join(f"{name} {version}" for name, version in versions.items())
            yield Finding(extra or "packages", "ok", there)
        else:
            advice = f"{', '.join(missing)} not installed: {install_line(extra)}"
            yield Finding(extra or "packages", "note" if extra else "broken", advice)


def _gpu() -> Finding:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Finding("GPU", "note", "none found (no nvidia-smi); runs train on the CPU")
    done = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        return Finding("GPU", "warning", f"nvidia-smi: {(done.stdout + done.stderr).strip()}")
    return Finding("GPU", "ok", ", ".join(line.split(" (UUID")[0] for line in done.stdout.splitlines()))


def _home() -> Iterator[Finding]:
    home = Home.resolve()
    try:
        home.create()
    except MosaicError as error:
        yield Finding("home", "broken", str(error))
        return
    free = shutil.disk_usage(home.root).free
    enough = free >= MINIMUM_FREE_BYTES
    yield Finding("home", "ok", str(home.root))
    yield Finding(
        "disk", "ok" if enough else "broken", f"{readable.size(free)} free" + ("" if enough else "; too little")
    )
    open_to_others = home.trainer.stat().st_mode & 0o077
    if open_to_others:
        yield Finding("permissions", "warning", f"others can look into {home.trainer}: chmod 700 {home.trainer}")
    if home.token.exists() and home.token.stat().st_mode & 0o077:
        yield Finding("token", "broken", f"others can read {home.token}: chmod 600 {home.token}")
    if "utf" not in (sys.stdout.encoding or "").lower():
        yield Finding("terminal", "warning", f"{sys.stdout.encoding}: sparklines need UTF-8; set LANG=C.UTF-8")


def _daemon() -> Finding:
    chosen = current()
    if not chosen.target and running_address(Home.resolve()) is None:
        return Finding("daemon", "note", "does not run; the next command that needs it starts it")
    try:
        with look() as client:
            health = client.health()
    except MosaicError as error:
        return Finding("daemon", "broken", str(error))
    detail = ", ".join(filter(None, [f"pid {health.pid}", health.address, readable.indexing(health)]))
    if health.version != __version__:
        return Finding("daemon", "warning", f"{detail}: version {health.version}; 'mosaic daemon stop' renews it")
    level = "warning" if health.warnings else "ok"
    return Finding("daemon", level, "; ".join([detail, *health.warnings]))


def _render() -> Iterator[Finding]:
    child = PythonChild(module=PREFLIGHTS, words=RENDERED, variables={"PYTHONWARNINGS": "ignore"})
    with child.popen(stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for line in process.stdout:
            env_id, ok, backend, message = json.loads(line)
            how = "" if backend in ("", "none") else f" ({backend})"
            # CartPole needs no more than what is always installed; the others come with an extra.
            level = "ok" if ok else "broken" if env_id == RENDERED[0] else "warning"
            yield Finding("rendering", level, message + how)
    if process.returncode:
        yield Finding("rendering", "broken", f"the worker's preflight ended with code {process.returncode}")


NOT_FOR_USERS = ("all", "dev")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[([^]]*)\])?")
_EXTRA = re.compile(r"extra == ['\"]([a-z0-9-]+)['\"]")
_PYTHON = re.compile(r"python_version (<|>=) ['\"](\d+)\.(\d+)['\"]")


def known_extras() -> list[str]:
    """Those that a user may ask for."""
    named = metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    return sorted(extra for extra in named if extra not in NOT_FOR_USERS)


def needed(extra: str) -> list[str]:
    """Packages of an extra; of no extra, those that are always needed."""
    return list(dict.fromkeys(_needed(DISTRIBUTION, extra)))


def version_of(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _needed(distribution: str, extra: str) -> Iterator[str]:
    """Also what stands behind a package that is named with extras: gymnasium[mujoco] needs mujoco."""
    for line in (metadata.requires(distribution) or []) if version_of(distribution) else []:
        requirement, _, marker = line.partition(";")
        of, match = _EXTRA.search(marker), _REQUIREMENT.match(requirement)
        if match is None or (of[1] if of else "") != extra or not _for_this_python(marker):
            continue
        if match[1] != DISTRIBUTION:
            yield match[1]
        for further in filter(None, (match[2] or "").split(",")):
            yield from _needed(match[1], further.strip())


def _for_this_python(marker: str) -> bool:
    here = sys.version_info[:2]
    bounds = [(sign, (int(major), int(minor))) for sign, major, minor in _PYTHON.findall(marker)]
    return all(here < bound if sign == "<" else here >= bound for sign, bound in bounds)
