"""An assistant, as the protocol's own client: it looks, and changes things only where it is allowed to."""

import json
import os
import pty
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import anyio
from mcp import Client, StdioServerParameters, stdio_client

from .conftest import MOSAIC

Mosaic = Callable[..., Any]
Answer: TypeAlias = tuple[bool, str]
LOOKING = {"list_runs", "show_run", "compare_runs", "metrics", "read_log", "statistics", "plot", "read_documentation"}
CHANGING = {"check_run", "start_run", "resume_run", "cancel_runs", "evaluate", "start_sweep", "cancel_sweep"}


def talk(ask: Callable[[Client], Awaitable[Any]], *words: str) -> Any:
    """What `ask` finds out of a server that is started as an assistant starts it."""

    async def conversation() -> Any:
        server = StdioServerParameters(command=str(MOSAIC), args=["mcp", *words], env=dict(os.environ))
        async with Client(stdio_client(server)) as client:
            return await ask(client)

    return anyio.run(conversation)


def answers(*calls: tuple[str, dict[str, Any]], words: Sequence[str] = ()) -> list[Answer]:
    """Whether each call was refused, and its text."""

    async def ask(client: Client) -> list[Answer]:
        found: list[Answer] = []
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            found.append((bool(result.is_error), getattr(result.content[0], "text", "")))
        return found

    return talk(ask, *words)


def test_it_looks_and_refuses_in_the_words_of_the_terminal(mosaic: Mosaic, finished: str) -> None:
    async def ask(client: Client) -> Any:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        picture = await client.call_tool("plot", {"groups": [finished]})
        return tools, picture.content[0]

    tools, picture = talk(ask)
    assert set(tools) >= LOOKING
    assert not set(tools) & CHANGING
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())
    assert picture.mime_type == "image/png"

    listed, shown, points, log, page, unknown, flag, started = answers(
        ("list_runs", {"fitting": "label:short", "limit": 1}),
        ("show_run", {"run": finished}),
        ("metrics", {"run": finished, "tags": ["charts/episodic_return"], "points": 4}),
        ("read_log", {"run": finished, "lines": 1}),
        ("read_documentation", {"page": "statistics"}),
        ("show_run", {"run": "no such run"}),
        ("show_run", {"run": "--help"}),
        ("start_run", {"algorithm": "ppo", "env_id": "CartPole-v1", "total_timesteps": 100}),
    )
    assert json.loads(listed[1].splitlines()[-1])["run_id"] == finished
    told = json.loads(shown[1])
    assert told["state"] == "finished"
    assert any(line.startswith("mosaic evaluate") for line in told["next"])
    assert len(json.loads(points[1])["values"]) == 4
    assert log == (False, mosaic("logs", "--tail", "1", finished).out)
    assert page[1].startswith("# ")
    refusal = mosaic("show", "no such run")
    assert unknown == (
        True,
        f"Error executing tool show_run: {refusal.err.strip().removeprefix('error: ')} (exit code {refusal.code})",
    )
    assert flag[0]
    assert "'--help' is not a name" in flag[1]
    assert started == (True, "Unknown tool: start_run")


def test_with_control_it_starts_what_has_a_name_and_cancels_it(
    mosaic: Mosaic, until: Callable[..., None], state: Callable[[str], str]
) -> None:
    where = {"algorithm": "ppo", "env_id": "resting:Resting-v0", "total_timesteps": 100_000_000}
    [(refused, text)] = answers(("start_run", where | {"settings": {"anneal_lr": False}}), words=["--allow-control"])
    assert not refused, text
    run_id = json.loads(text.splitlines()[-1])["run_id"]
    params = mosaic("show", run_id, "--json").objects[0]["config"]["metadata"]["worker"]["config"]["extras"]
    assert params["algo_params"]["anneal_lr"] is False
    misspelt, command, file, small, ended = answers(
        ("start_run", where | {"settings": {"learning_rat": 0.1}}),
        ("start_run", where | {"settings": {"alert_to": "a receiver"}}),
        ("start_run", where | {"algorithm": "./mine.py"}),
        ("start_run", {"algorithm": "ppo", "env_id": "CartPole-v1", "total_timesteps": 10}),
        ("cancel_runs", {"runs": [run_id]}),
        words=["--allow-control"],
    )
    assert "ppo has no setting 'learning_rat': learning_rate" in misspelt[1]
    assert "ppo has no setting 'alert_to'" in command[1]
    assert "'./mine.py' is a file" in file[1]
    assert small[0]
    assert "--total-timesteps" in small[1]
    assert not ended[0]
    until(lambda: state(run_id) == "cancelled")


def test_a_person_in_a_terminal_is_told_what_it_is_for(mosaic: Mosaic) -> None:
    ours, theirs = pty.openpty()
    try:
        said = subprocess.run([MOSAIC, "mcp"], stdin=theirs, capture_output=True, text=True, check=False)
    finally:
        os.close(ours)
        os.close(theirs)
    assert said.returncode == 2
    assert "'mosaic mcp' talks to a program" in said.stderr
