"""A verb of the `mosaic` command, typed for the assistant."""

import subprocess
from collections.abc import Iterable

import anyio
from anyio import CapacityLimiter
from mcp.server.mcpserver.exceptions import ToolError

from mosaic.spec.processes import secret_keys
from mosaic.spec.processes.python_child import PythonChild

AT_ONCE = 2
"""Verbs at one time: an assistant that asks for many things must not slow the training."""
LIMIT_S = 120.0
LONG_S = 1800.0
"""For what plays episodes or tries a config in a worker."""
LONGEST = 60_000
"""Characters of one answer."""

_limiter = CapacityLimiter(AT_ONCE)


async def typed(verb: str, *words: str, limit_s: float = LIMIT_S) -> str:
    """What `mosaic VERB …` prints; ToolError with its message where it refuses. A cancelled call ends it."""
    # Where the host started us, so that relative paths mean what they mean to its user.
    child = PythonChild(module="mosaic.cli", words=(verb, *words), keys=secret_keys.ALL, cwd=None)
    try:
        with anyio.fail_after(limit_s):
            async with _limiter:
                done = await anyio.run_process(
                    child.command, env=child.environment, stdin=subprocess.DEVNULL, check=False
                )
    except TimeoutError:
        raise ToolError(f"'mosaic {verb}' was not through after {limit_s:g} s and was ended") from None
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode != 0:
        raise ToolError(f"{said.removeprefix('error: ')} (exit code {done.returncode})")
    remarks = "".join(f"remark: {line}\n" for line in said.splitlines())
    return shortened(remarks + done.stdout.decode(errors="replace"))


def shortened(text: str) -> str:
    """Its first lines, with how many were left out."""
    if len(text) <= LONGEST:
        return text or "nothing was found"
    kept = text[:LONGEST].rpartition("\n")[0] or text[:LONGEST]
    left = text.count("\n", len(kept) + 1) + 1
    return f"{kept}\n… {left:,} further lines were left out; ask for less"


def named(*values: str) -> tuple[str, ...]:
    """Names of runs and the like, as words of a command line; ToolError for one that would be read as a flag."""
    for value in values:
        if value.startswith("-") or not value.strip():
            raise ToolError(f"'{value}' is not a name")
    return values


def flags(**values: object) -> Iterable[str]:
    """`--name=value` for each that is there; None, False and empty ones are left out, True is the flag alone."""
    for name, value in values.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            yield flag
        elif value not in (None, False, ""):
            yield f"{flag}={value}"
