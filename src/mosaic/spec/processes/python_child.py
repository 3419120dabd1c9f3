"""Every Python process that one of ours starts: its command, its environment and its working directory.

Python puts the current folder before all others on the path of `python -m`, so a file `numpy.py` that lies there would
be run. Therefore each child is started with the safe path (`-P`, and `PYTHONSAFEPATH` for what it starts itself), the
search paths that it inherits name no current folder, and it gets the keys that it needs and no others
(`mosaic.spec.processes.secret_keys`). A child that writes nothing into its working directory has the root folder for
one.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from mosaic.spec.processes import secret_keys

NOWHERE = Path("/")
"""Nothing of a user's lies there, and it is always there."""
SAFE_PATH = {"PYTHONSAFEPATH": "1"}
BY_HAND = ("cleanrl_worker.", "mosaic.play.")
"""Programs that users start in a folder of theirs on purpose."""
SEARCH_PATHS = ("PYTHONPATH", "LD_LIBRARY_PATH")
"""Variables in which an empty entry means the current folder, and a relative one a folder in it."""


@dataclass(frozen=True, kw_only=True)
class PythonChild:
    """One start of a module of ours. Every place that starts Python makes one of these."""

    module: str
    words: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """Whose keys it needs: names of `mosaic.spec.processes.secret_keys.KEYS`."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Beside those of this process."""
    base: Mapping[str, str] | None = None
    """In place of the variables of this process."""
    path: tuple[str, ...] = ()
    """Folders of a user's own code, put before all others on its path."""
    cwd: Path | None = NOWHERE
    """None is the working directory of this process."""

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-P", "-m", self.module, *self.words]

    @property
    def environment(self) -> dict[str, str]:
        return environment(self.keys, base=self.base, variables=self.variables, path=self.path)

    def popen(self, **options: Any) -> "subprocess.Popen[Any]":
        return subprocess.Popen(self.command, env=self.environment, cwd=self.cwd, **options)

    def run(self, **options: Any) -> "subprocess.CompletedProcess[Any]":
        run: Any = subprocess.run
        return run(self.command, env=self.environment, cwd=self.cwd, check=False, **options)

    def start_apart(self, log: Path) -> "subprocess.Popen[bytes]":
        """In a session of its own, which outlives the process that starts it; what it prints is appended to a file."""
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            return self.popen(stdin=subprocess.DEVNULL, stdout=descriptor, stderr=descriptor, start_new_session=True)
        finally:
            os.close(descriptor)

    def take_over(self) -> NoReturn:
        """This process becomes it."""
        os.execve(self.command[0], self.command, self.environment)


def wait_or_kill(process: "subprocess.Popen[Any]", wait_s: float) -> None:
    """Wait for the end of a process that was asked to end."""
    try:
        process.wait(wait_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def environment(
    needed: Iterable[str] = (),
    *,
    base: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    path: Iterable[str] = (),
) -> dict[str, str]:
    """The variables of a child: without the keys that it does not need, and without a way to the current folder."""
    found = secret_keys.without(os.environ if base is None else base, needed) | dict(variables or {}) | SAFE_PATH
    for name in SEARCH_PATHS:
        if name in found:
            found[name] = _absolute(found[name])
    if (home := found.get("MOSAIC_HOME", "")) and not home.startswith("~"):
        found["MOSAIC_HOME"] = str(Path(home).absolute())
    found["PYTHONPATH"] = os.pathsep.join(filter(None, (*path, found.get("PYTHONPATH", ""))))
    return {name: value for name, value in found.items() if value or name not in SEARCH_PATHS}


def own_path() -> tuple[str, ...]:
    """The folder in which a user started this worker by hand; nothing in all others.

    `python -m cleanrl_worker.cli` finds environments beside the user, so the processes that draw them must, too.
    """
    words = sys.orig_argv
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    by_hand = not sys.flags.safe_path and module.startswith(BY_HAND)
    return (sys.path[0],) if by_hand and sys.path and Path(sys.path[0]).is_absolute() else ()


def _absolute(search_path: str) -> str:
    """An empty entry is almost always a slip (`$PYTHONPATH:/mine`); a relative one is meant from here."""
    return os.pathsep.join(os.path.abspath(entry) for entry in search_path.split(os.pathsep) if entry)  # noqa: PTH100
