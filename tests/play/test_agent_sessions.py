"""Agents in sessions of a daemon: plans that fail and endpoints that are down pause them; a key is written nowhere."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from mosaic.rpc.client import Client
from mosaic.spec import episode_file

from . import chat_server as chat

KEY = "sk-very-secret-key-9876543210"


def document(kit: Any, url: str, **options: Any) -> dict[str, Any]:
    params = {"base_url": url, "model": "test", "retries": 1, "backoff_s": 0.01}
    made = kit.document("CliffWalking-v1", "llm", actor_params={"llm": params}, **options)
    made["metadata"]["worker"]["config"]["extras"]["llm_api_key"] = KEY
    return made


def until(link: Any, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    for state in link:
        if "status" in state and holds(state):
            return state
    raise AssertionError("the session ended before")


def linked(client: Client, kit: Any, run_id: str) -> Any:
    kit.eventually(lambda: client.home.run(run_id).play_socket.exists())
    return closing(client.play(run_id))


def test_an_endpoint_that_goes_down_pauses_the_session_which_goes_on_when_it_is_back(client: Client, kit: Any) -> None:
    with chat.serving() as server:
        server.manners.extend(4 * [chat.well] + [chat.refuses(500, "on fire"), chat.refuses(500, "on fire")])
        [run] = client.submit(document(kit, server.url, interactive=True, episodes=1))
        with linked(client, kit, run.run_id) as link:
            paused = until(link, lambda state: state["status"] == "paused")
            assert "on fire" in paused["reason"]
            assert paused["t"] == 4
            assert len(episode_file.read(client.home.run(run.run_id).episode(1)).steps) == 4
    with linked(client, kit, run.run_id) as link:
        link.send("continue")
        paused = until(link, lambda state: state["status"] == "paused" and "cannot be reached" in state["reason"])
        assert f"{server.url} cannot be reached" in paused["reason"]
        with chat.serving(port=server.port):
            link.send("continue")
            [ended] = client.wait(run.run_id)
    assert ended.state == "finished"
    assert len(episode_file.read(client.home.run(run.run_id).episode(1)).steps) == 13


def test_a_plan_that_fails_pauses_the_session_which_goes_on_when_it_is_fixed(
    client: Client, kit: Any, tmp_path: Path
) -> None:
    plans = tmp_path / "walk.asl"
    plans.write_text("+!step : position(3, 0) <- act(up).\n+!step : position(_, C) & C < 4 <- act(right).\n")
    [run] = client.submit(kit.document("CliffWalking-v1", f"bdi:{plans}", interactive=True, episodes=1))
    with linked(client, kit, run.run_id) as link:
        paused = until(link, lambda state: state["status"] == "paused")
        assert paused["reason"] == f"'bdi:{plans}': walk.asl: no applicable plan for +!step/0"
        assert paused["t"] == 5
        plans.write_text("+!step : position(_, 11) <- act(down).\n+!step <- act(right).\n")
        link.send("continue")
        [ended] = client.wait(run.run_id)
    assert ended.state == "finished"
    assert len(episode_file.read(client.home.run(run.run_id).episode(1)).steps) == 13


def test_a_person_who_takes_over_breaks_the_request_off(client: Client, kit: Any) -> None:
    with chat.serving(chat.well, chat.hangs) as server:
        [run] = client.submit(document(kit, server.url, interactive=True, episodes=1))
        with linked(client, kit, run.run_id) as link:
            kit.eventually(lambda: len(server.requests) == 2)
            link.send("control", control="human")
            assert server.broken_off.wait(300)
            link.send("act", action=1)
            until(link, lambda state: state["t"] == 2)
            link.send("control", control="agent")
            [ended] = client.wait(run.run_id)
    assert ended.state == "finished"
    steps = episode_file.read(client.home.run(run.run_id).episode(1)).steps
    assert [step.actor for step in steps[:3]] == ["llm", "human", "llm"]


def test_the_key_of_the_terminal_reaches_the_endpoint_and_nothing_else(client: Client) -> None:
    with chat.serving(chat.refuses(500, f"who is {KEY}?")) as server:
        server.answer = lambda body: chat.along_the_edge(body).replace("from", f"{KEY} from")
        words = "play CliffWalking-v1 --actor llm:test --param llm.backoff_s=0.01 --param llm.memory=1 --json"
        told = {"MOSAIC_LLM_BASE_URL": server.url, "MOSAIC_LLM_API_KEY": KEY, "MOSAIC_HOME": str(client.home.root)}
        ended = subprocess.run(
            [sys.executable, "-c", "import mosaic.cli as c; raise SystemExit(c.main())", *words.split()],
            env={**os.environ, **told},
            capture_output=True,
            check=True,
            timeout=300,
        )
        assert {headers["Authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
        assert {body["model"] for body in server.requests} == {"test"}
        assert len(server.requests[-1]["messages"]) == 4
    summary = json.loads(ended.stdout)
    assert summary["actors"]["agent_0"]["requests"] == 14
    assert KEY.encode() not in ended.stdout + ended.stderr
    assert holding(client.home.root, KEY) == []


def test_a_kill_loses_nothing_that_was_said(client: Client, kit: Any) -> None:
    with chat.serving(*5 * [chat.well], chat.hangs) as server:
        [run] = client.submit(document(kit, server.url, episodes=1))
        kit.eventually(lambda: len(server.requests) == 6)
        os.kill(client.get(run.run_id).pid, signal.SIGKILL)
        client.wait(run.run_id)
    said = (client.home.run(run.run_id).root / "actors" / "llm-agent_0.jsonl").read_text()
    lines = [json.loads(line) for line in said.splitlines()]
    assert [line["kind"] for line in lines] == ["session", *5 * ["prompt", "attempt", "action"], "prompt"]


def holding(folder: Path, text: str) -> list[Path]:
    """Files that hold a text."""
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]
