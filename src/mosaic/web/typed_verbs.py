"""Verbs of the `mosaic` command, typed for the page: what takes long or much memory has a process of its own."""

import asyncio
import json
import subprocess
from collections.abc import Sequence
from typing import Any

import anyio

from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.spec.processes.python_child import PythonChild

AT_ONCE = 2
LIMIT_S = 120.0


class VerbFailed(MosaicError):
    """It ended with an error, which it told."""

    exit_code = 2


_room = asyncio.Semaphore(AT_ONCE)


async def objects_of(verb: str, *words: str) -> list[Any]:
    """The JSON objects that `mosaic VERB …` prints."""
    child = PythonChild(module="mosaic.cli", words=("--no-start", verb, *words))
    try:
        with anyio.fail_after(LIMIT_S):
            async with _room:
                done = await anyio.run_process(
                    child.command, env=child.environment, cwd=child.cwd, stdin=subprocess.DEVNULL, check=False
                )
    except TimeoutError:
        raise VerbFailed(f"'mosaic {verb}' was not through after {LIMIT_S:g} s and was ended") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise VerbFailed(said.removeprefix("error: ") or f"'mosaic {verb}' ended with exit code {done.returncode}")
    return [json.loads(line) for line in done.stdout.decode(errors="replace").splitlines()]


def named(values: Sequence[str]) -> Sequence[str]:
    """Names as words of a command line; ConfigError for one that would be read as a flag."""
    for value in values:
        if value.startswith("-") or not value.strip():
            raise ConfigError([Problem("", f"'{value}' is not a name")], what="request")
    return values
