"""`mosaic play`, `replay`, `episodes` and `actors`, piped and in a terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import MOSAIC


def test_random_plays_is_recorded_listed_and_replayed(mosaic: Callable[..., Any]) -> None:
    said = mosaic("play", "CartPole-v1", "--episodes", "3", "--seed", "5", "--json")
    assert said.code == 0, said.err
    summary = said.objects[-1]
    assert [episode["seed"] for episode in summary["episodes"]] == [5, 6, 7]
    listed = mosaic("episodes", summary["run_id"], "--json").objects
    assert [(each["episode"], each["returns"]["agent_0"]) for each in listed] == [
        (episode["episode"], episode["return"]) for episode in reversed(summary["episodes"])
    ]
    again = mosaic("replay", summary["run_id"], "--episode", "2")
    assert (again.code, "bit for bit" in again.out) == (0, True), again.err
    missing = mosaic("replay", summary["run_id"], "--episode", "9")
    assert missing.code == 2
    assert "it recorded 3" in missing.err
    table = mosaic("play", "CartPole-v1", "--episodes", "2", "--env.max_episode_steps", "5")
    assert re.search(r"2 episodes: return [\d.]+ ± [\d.]+", table.out)
    assert "CartPole-v1 with max_episode_steps=5" in table.err
    assert mosaic("episodes", "--json").objects[0]["env_settings"] == {"max_episode_steps": 5}
    assert "CartPole-v1 max_episode_steps=5" in mosaic("episodes", "--limit", "1").out


def test_a_policy_of_a_run_plays_by_its_label(mosaic: Callable[..., Any], finished: str) -> None:
    said = mosaic("play", "CartPole-v1", "--actor", "policy:short one", "--episodes", "2", "--deterministic", "--json")
    assert said.code == 0, said.err
    episodes = mosaic("episodes", said.objects[-1]["run_id"], "--json").objects
    assert finished in episodes[0]["seats"]["agent_0"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["NoSuchEnv-v0"], "is not known"),
        (["CartPole-v1", "--actor", "randm"], "did you mean 'random'"),
        (["CartPole-v1", "--actor", "seat_9=random"], "has one seat, agent_0"),
        (["CartPole-v1", "--actor", "human"], "needs a terminal"),
        (["CartPole-v1", "--watch"], "needs a terminal"),
        (["CartPole-v1", "--actor", "policy:nothing like it"], "is not known"),
        (["CartPole-v1", "--episodes", "0"], "at least 1"),
    ],
)
def test_what_cannot_be_played_says_why(mosaic: Callable[..., Any], words: list[str], reason: str) -> None:
    said = mosaic("play", *words)
    assert said.code == 2
    assert reason in said.err


def test_actors_are_listed_with_what_does_not_fit(mosaic: Callable[..., Any]) -> None:
    found = {actor["id"]: actor for actor in mosaic("actors", "--json").objects}
    assert {"human", "random", "policy", "scripted"} <= found.keys()


def test_a_person_plays_in_a_terminal(mosaic: Callable[..., Any], tmp_path: Path) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    command = [MOSAIC, "play", "CliffWalking-v1", "--actor", "human"]
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, close_fds=True, env={**os.environ, "TERM": "xterm"}
    )
    os.close(slave)
    seen = ""

    def read_until(text: str, timeout_s: float = 300.0) -> None:
        nonlocal seen
        end = time.monotonic() + timeout_s
        while text not in seen:
            assert time.monotonic() < end, f"no {text!r} in {seen[-2000:]!r}"
            if select.select([master], [], [], 0.1)[0]:
                seen += os.read(master, 1 << 16).decode(errors="replace")

    try:
        read_until("step 0")
        assert "↑ up" in seen
        os.write(master, b"\x1b[A")
        read_until("step 1  return -1")
        os.write(master, b"\x1b[C\x1b[C")
        read_until("step 3  return -3")
        os.write(master, b"q")
        read_until("no episode came to its end")
        assert process.wait(300) == 0
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        os.close(master)
    [episode] = mosaic("episodes", "@last", "--json").objects
    assert (episode["length"], episode["outcome"]) == (3, "stopped")
