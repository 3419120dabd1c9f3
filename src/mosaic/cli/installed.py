"""Which packages the distribution asks for, by extra, and which of them are there."""

import re
import sys
from collections.abc import Iterator
from importlib import metadata

from mosaic.installation import DISTRIBUTION

NOT_FOR_USERS = ("all", "dev")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[([^]]*)\])?")
_EXTRA = re.compile(r"extra == ['\"]([a-z0-9-]+)['\"]")
_PYTHON = re.compile(r"python_version (<|>=) ['\"](\d+)\.(\d+)['\"]")


def extras() -> list[str]:
    named = metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    return sorted(extra for extra in named if extra not in NOT_FOR_USERS)


def needed(extra: str) -> list[str]:
    """Packages of an extra; of no extra, those that are always needed."""
    return list(dict.fromkeys(_needed(DISTRIBUTION, extra)))


def version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _needed(distribution: str, extra: str) -> Iterator[str]:
    """Also what stands behind a package that is named with extras: gymnasium[mujoco] needs mujoco."""
    for line in (metadata.requires(distribution) or []) if version(distribution) else []:
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
