"""For which Pythons packages have wheels, where not for all that MOSAIC runs on: what no `pip install` can bring.

Looked up on PyPI in November 2026; docs/environments.md has the table with the versions.
"""

import sys
from dataclasses import dataclass

Version = tuple[int, int]


@dataclass(frozen=True)
class Wheels:
    what: str
    """The package, and who asks for it."""
    newest: Version
    """The last Python for which there is one."""
    instead: str = ""
    """What to do on a newer one."""


OF_EXTRA = {
    "dmcontrol": Wheels("labmaze, which dm_control asks for,", (3, 12)),
    "box2d": Wheels("Box2D", (3, 13), "building it from its source needs SWIG and a compiler"),
    "envpool": Wheels("envpool", (3, 14)),
    "procgen": Wheels("envpool, which brings these games,", (3, 14)),
}
OF_MODULE = {
    "procgen": Wheels(
        "OpenAI's package procgen", (3, 10), "'mosaic envs procgen' lists its games as this installation has them"
    ),
}
"""Packages that are not part of any extra, and that users name as `module:Env-v0`."""


def no_wheel(wheels: Wheels | None, python: Version | None = None) -> str:
    """Why it cannot be installed for this Python, and for which it can; empty if it can be."""
    here = python or (sys.version_info.major, sys.version_info.minor)
    if wheels is None or here <= wheels.newest:
        return ""
    why = f"{wheels.what} has wheels up to Python {_text(wheels.newest)}, and this is Python {_text(here)}"
    return f"{why}; {wheels.instead}" if wheels.instead else why


def _text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"
