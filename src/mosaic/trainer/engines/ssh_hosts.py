"""The user's file of hosts for the engine `ssh`: `<home>/trainer/hosts.toml`.

[gpu1]
address = "you@gpu1.lab"                # what ssh is given; the name of the table without it
slots = 8                               # CPU slots
gpus = 2
python = "/home/you/mosaic/bin/python"  # of an environment there that has mosaic-rl
scratch = "~/.cache/mosaic-agent"       # where its runs lie while they train
ssh = ["-p", "2222"]                    # further words for ssh
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, cast

from annotated_types import Ge, Le, MinLen

from mosaic import config
from mosaic.errors import ConfigError, Problem

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
MAX_SLOTS = 4096
EXAMPLE = '[gpu1]\naddress = "you@gpu1.lab"\nslots = 8\ngpus = 2\npython = "/home/you/mosaic/bin/python"'


@dataclass(frozen=True, kw_only=True)
class Host:
    """One table of the file."""

    address: str = ""
    """What ssh is given; empty is the name of the table."""
    slots: Annotated[int, Ge(1), Le(MAX_SLOTS)] = 1
    """CPU slots."""
    gpus: Annotated[int, Ge(0), Le(64)] = 0
    """GPUs."""
    python: Annotated[str, MinLen(1)] = "python3"
    """Of an environment there that has mosaic-rl."""
    scratch: Annotated[str, MinLen(1)] = "~/.cache/mosaic-agent"
    """Folder there for runs while they train."""
    ssh: tuple[str, ...] = field(default=())
    """Further words for ssh."""


def read(path: Path) -> Mapping[str, Host]:
    """By name; ConfigError with all that is wrong with the file. Without the file there are none."""
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError([Problem("", f"it cannot be read: {error}")], what=str(path)) from error
    problems: list[Problem] = []
    hosts: dict[str, Host] = {}
    for name, table in tables.items():
        if not _NAME.fullmatch(name):
            problems.append(Problem(name, "is not a name of a host: letters, digits, dots, dashes"))
        elif not isinstance(table, dict):
            problems.append(Problem(name, f"stands outside of a table: begin each host with its name, [{name}]"))
        else:
            try:
                hosts[name] = config.from_json(Host, cast("dict[str, Any]", table), what=str(path))
            except ConfigError as error:
                problems += [Problem(f"{name}.{one.path}", one.message) for one in error.problems]
                continue
            if (hosts[name].address or name).startswith("-"):
                problems.append(Problem(f"{name}.address", "begins with a dash"))
    if problems:
        raise ConfigError(problems, what=str(path))
    return hosts
