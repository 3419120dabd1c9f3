"""How this MOSAIC was installed, and so the line to type that adds packages to it.

a checkout's own .venv         make extras atari
a checkout in another venv     python -m pip install -e '/home/me/mosaic[atari]'
pip                            python -m pip install 'mosaic-rl[atari]'
a venv that uv made            uv pip install 'mosaic-rl[atari]'
uv tool install                uv tool install 'mosaic-rl[atari,gui]'
pipx                           pipx runpip mosaic-rl install 'mosaic-rl[atari]'
"""

import json
import os
import shlex
import shutil
import sys
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "mosaic-rl"
PYTHON_NAMES = ("python", "python3")


def install_line(extra: str) -> str:
    """The line that adds an extra of mosaic-rl to this installation; without one, mosaic-rl's own packages."""
    return Installation.here().with_extra(extra)


def package_line(*packages: str) -> str:
    """The line that adds packages of others beside this installation."""
    return Installation.here().with_packages(packages)


@dataclass(frozen=True)
class Installation:
    """Where and by which tool."""

    prefix: Path
    """Root of the environment of this interpreter."""
    python: str
    """How a shell starts this interpreter: `python` where that is it, else its path."""
    checkout: Path | None
    """The source folder of an editable installation."""
    current_folder: Path
    active: bool
    """Whether the shell has activated this environment (VIRTUAL_ENV)."""

    @classmethod
    def here(cls) -> "Installation":
        return cls(
            prefix=Path(sys.prefix),
            python=_python(),
            checkout=_checkout(),
            current_folder=Path(os.path.realpath(os.curdir)),
            active=os.environ.get("VIRTUAL_ENV", "") == sys.prefix,
        )

    def with_extra(self, extra: str) -> str:
        if self.checkout is not None:
            return self._in_checkout(self.checkout, extra)
        if (receipt := self.prefix / "uv-receipt.toml").exists():
            # `uv tool install` installs anew: without those that are there they would go.
            return f"uv tool install {_requirement(*sorted({extra, *_extras_of_tool(receipt)}))}"
        return f"{self._installer()} {_requirement(extra)}"

    def with_packages(self, packages: tuple[str, ...]) -> str:
        names = " ".join(map(shlex.quote, packages))
        if (self.prefix / "uv-receipt.toml").exists():
            return f"uv tool install {DISTRIBUTION} {' '.join(f'--with {shlex.quote(name)}' for name in packages)}"
        return f"{self._installer()} {names}"

    def _in_checkout(self, checkout: Path, extra: str) -> str:
        if self.prefix != checkout / ".venv":
            return f"{self._installer()} -e {shlex.quote(f'{checkout}[{extra}]' if extra else str(checkout))}"
        there = "" if self.current_folder == checkout else f" -C {shlex.quote(str(checkout))}"
        return f"make{there} extras {extra}" if extra else f"make{there} setup"

    def _installer(self) -> str:
        if (self.prefix / "pipx_metadata.json").exists():
            return f"pipx runpip {DISTRIBUTION} install"
        if _made_by_uv(self.prefix):
            # It comes without pip; an environment that is not active has to be named.
            return "uv pip install" if self.active else f"uv pip install --python {shlex.quote(str(self.prefix))}"
        return f"{self.python} -m pip install"


def _requirement(*extras: str) -> str:
    named = ",".join(filter(None, extras))
    return shlex.quote(f"{DISTRIBUTION}[{named}]") if named else DISTRIBUTION


def _python() -> str:
    """A name where the shell finds this very interpreter by it, with its environment; else the path."""
    here = Path(sys.executable)
    for name in PYTHON_NAMES:
        # In the same folder: the interpreters of two environments may be links to the same file.
        found = shutil.which(name)
        if found and Path(found).absolute().parent == here.absolute().parent and Path(found).samefile(here):
            return name
    return shlex.quote(sys.executable)


def _checkout() -> Path | None:
    """The folder of an editable installation, as pip and uv note it (direct_url.json, PEP 610)."""
    try:
        noted = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None
    found: dict[str, Any] = json.loads(noted or "{}")
    if not found.get("dir_info", {}).get("editable"):
        return None
    folder = Path(unquote(urlsplit(str(found["url"])).path))
    return folder if (folder / "pyproject.toml").exists() else None


def _made_by_uv(prefix: Path) -> bool:
    try:
        lines = (prefix / "pyvenv.cfg").read_text().splitlines()
    except OSError:
        return False
    return any(line.partition("=")[0].strip() == "uv" for line in lines)


def _extras_of_tool(receipt: Path) -> list[str]:
    """What `uv tool install` was asked for before."""
    requirements: list[dict[str, Any]] = tomllib.loads(receipt.read_text()).get("tool", {}).get("requirements", [])
    return [extra for one in requirements if one.get("name") == DISTRIBUTION for extra in one.get("extras", [])]
