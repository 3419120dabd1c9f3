"""Words of a user at the command line: numbers, names that are nearly right, @last, and errors in one style."""

import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home

from .test_terminal import at_terminal

MISTYPED = {
    "verb": (("metrcs",), "did you mean 'mosaic metrics'?"),
    "verb of a verb": (("daemon", "strt"), "did you mean start"),
    "flag": (("evaluate", "short one", "--epsiodes", "3"), "--epsiodes: is not a flag; did you mean --episodes?"),
    "flag of an algorithm": (("train", "ppo", "--total-timestps", "9"), "did you mean --total-timesteps?"),
    "flag for all verbs": (("runs", "--tagret", "x:1"), "did you mean --target"),
    "choice": (("runs", "--state", "runing"), "--state: 'runing' is not known; did you mean running?"),
    "choice of an algorithm": (("train", "ppo", "--env-backend", "bar"), "--env-backend: must be"),
    "algorithm": (("train", "pppo"), "algorithm 'pppo' is not known; did you mean ppo?"),
    "page of an algorithm": (("algos", "PPO-Atari"), "did you mean ppo_atari"),
    "environment": (("actors", "--env-id", "cartpole"), "did you mean CartPole-v"),
    "family": (("envs", "atri"), "did you mean atari?"),
    "no family": (("envs", "nosuchfamily"), "'mosaic envs' lists the families"),
    "run": (("show", "Short oen"), "(short one)"),
    "metric": (("metrics", "short one", "--tags", "charts/episodic_retrn"), "did you mean charts/episodic_return"),
    "kind": (("runs", "--kind", "eval"), "did you mean policy_eval"),
    "tracker": (("track", "short one", "--to", "mlfow"), "did you mean mlflow?"),
    "part of a whole": (
        ("evaluate", "short one", "--episodes", "1.5"),
        "--episodes: must be a whole number (got '1.5')",
    ),
    "no number": (("play", "CartPole-v1", "--speed", "fast"), "--speed: is not a number"),
    "no value": (("runs", "--limit"), "--limit: needs a value"),
    "no run": (("show",), "RUN is missing"),
    "daemon's flag": (("daemon", "run", "--cpus", "1.5"), "--cpus: must be a whole number (got '1.5')"),
    "window's flag": (("gui", "--theme", "drak"), "must be 'last', 'dark' or 'light'"),
}


@pytest.mark.parametrize("what", MISTYPED)
def test_a_mistyped_word_is_answered_on_one_line_with_what_is_near(
    mosaic: Callable[..., Any], finished: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    words, near = MISTYPED[what]
    if words[:2] == ("daemon", "run") or words[0] == "gui":  # This process would become the daemon.
        code, said = at_terminal(list(words), 200)
    else:
        answer = mosaic(*words)
        code, said = answer.code, answer.err
        assert not answer.out
    assert code == 2
    assert said.startswith("error: ")
    assert near in said
    assert len(said.strip().splitlines()) == 1
    assert "│" not in said


@pytest.mark.parametrize(("word", "steps"), [("1e3", 1000), ("2k", 2000), ("0.001M", 1000)])
def test_numbers_as_users_write_them(mosaic: Callable[..., Any], word: str, steps: int) -> None:
    [found] = mosaic("train", "ppo", "--total-timesteps", word, "--dry-run", "--json").objects
    assert found["summary"]["args"]["total_timesteps"] == steps


@pytest.fixture
def session(mosaic: Callable[..., Any]) -> str:
    """A play session, newer than any training."""
    assert mosaic("play", "CartPole-v1", "--episodes", "2e0", "--label", "a session").code == 0
    [newest] = mosaic("runs", "--kind", "play", "--limit", "1", "--json").objects
    return newest["run_id"]


def test_sessions_of_play_are_listed_on_demand(mosaic: Callable[..., Any], finished: str, session: str) -> None:
    def listed(*flags: str) -> list[str]:
        return [run["run_id"] for run in mosaic("runs", "--limit", "0", "--json", *flags).objects]

    assert finished in listed()
    assert session not in listed()
    assert session in listed("--kind", "play")
    assert {finished, session} <= {*listed("--kind", "all")}
    assert {*listed("--kind", "train", "--kind", "play")} == {*listed("--kind", "train"), *listed("--kind", "play")}
    assert "--kind play lists" in mosaic("runs").err


def test_runs_says_how_many_more_there_are(mosaic: Callable[..., Any], finished: str) -> None:
    every = mosaic("runs", "--limit", "0", "--json").objects
    said = mosaic("runs", "--limit", "1")
    assert len(said.out.splitlines()) == 2, "the heading and one run"
    assert (f"{len(every) - 1:,} more: --limit 0 lists all" in said.err) is (len(every) > 1)
    assert "more:" not in mosaic("runs", "--limit", "0").err


def test_last_is_the_last_run_of_the_kind_that_a_verb_needs(
    mosaic: Callable[..., Any], finished: str, session: str
) -> None:
    assert mosaic("evaluate", finished, "--episodes", "1").code == 0
    [training] = mosaic("runs", "--kind", "train", "--limit", "1", "--json").objects
    assert mosaic("metrics", "@last", "--tags", "charts/SPS").code == 0
    assert training["run_id"] in mosaic("metrics", "@last", "--tags", "nope").err
    assert mosaic("evaluate", "@last", "--episodes", "1").code == 0
    [newest] = mosaic("runs", "--kind", "all", "--limit", "1", "--json").objects
    assert mosaic("show", "@last", "--json").objects[0]["run_id"] == newest["run_id"]
    # A replay is a session too, but not one that is meant.
    assert mosaic("replay", "@last").code == 0
    assert {one["run_id"] for one in mosaic("episodes", "@last", "--json").objects} == {session}
    assert mosaic("replay", "@last/2").code == 0


def test_a_label_goes_before_a_piece_of_an_id(mosaic: Callable[..., Any], finished: str, session: str) -> None:
    for label in (finished[-1], session[-1].lower()):
        assert mosaic("label", finished, label).code == 0
        assert mosaic("show", label, "--json").objects[0]["run_id"] == finished
    assert mosaic("label", finished, "short one").code == 0


@pytest.mark.parametrize("verb", ["frame", "clip"])
def test_pictures_of_a_run_that_has_ended_are_refused(
    mosaic: Callable[..., Any], finished: str, verb: str, tmp_path: Path
) -> None:
    said = mosaic(verb, finished, str(tmp_path / ("x.png" if verb == "frame" else "x.mp4")))
    assert said.code == 2
    assert f"run {finished} is finished: only a run that goes on has live frames" in said.err
    assert f"mosaic evaluate {finished} --video" in said.err


@pytest.mark.parametrize("words", [("policies",), ("episodes",), ("runs", "--limit", "0"), ("runs", "--kind", "play")])
def test_piped_tables_have_whole_ids_and_dates(
    mosaic: Callable[..., Any], finished: str, session: str, words: tuple[str, ...]
) -> None:
    rows = [line.split() for line in mosaic(*words).out.splitlines()[1:]]
    assert {finished, session} & {row[0] for row in rows}
    assert all(len(row[0]) == 26 for row in rows)
    assert "ago" not in mosaic(*words).out


@pytest.fixture
def full(mosaic: Callable[..., Any], until: Callable[..., None], state: Callable[[str], str]) -> Iterator[str]:
    """A run that takes every slot."""
    [health] = mosaic("daemon", "status", "--json").objects
    resting = ("--env-id", "resting:Resting-v0", "--total-timesteps", "100M", "--cpus", str(health["cpu_slots"]))
    run_id = mosaic("train", "ppo", *resting).out.strip()
    until(lambda: state(run_id) == "running")
    yield run_id
    mosaic("cancel", run_id)
    until(lambda: state(run_id) == "cancelled")


def test_an_evaluation_behind_a_full_queue_says_where_it_stands(
    mosaic: Callable[..., Any], finished: str, full: str
) -> None:
    first = mosaic("evaluate", finished, "--episodes", "1", "--detach").out.strip()
    code, said = at_terminal(["evaluate", finished, "--episodes", "1"], 120, interrupt_after=rb"in use")
    assert code == 130
    assert "queued: number 2 of 2 in the queue" in said
    [last] = mosaic("runs", "--kind", "policy_eval", "--limit", "1", "--json").objects
    assert mosaic("cancel", first, last["run_id"]).code == 0


def test_that_nothing_listens_is_said_before_anything_else(
    mosaic: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_TOKEN_FILE", str(tmp_path / "no token"))
    for target in ("127.0.0.1:1", f"unix:{tmp_path}/nothing"):
        said = mosaic("runs", "--target", target)
        assert said.code == 6
        assert said.err.startswith(f"error: no daemon at {target}: nothing listens there")


def test_a_certificate_is_looked_for_where_the_user_is(
    mosaic: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*command, *subject], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    files = ("--certificate", "cert.pem", "--key=key.pem")
    said = mosaic("daemon", "start", "--no-warm", "--listen", "127.0.0.1:0", *files)
    try:
        assert said.code == 0, said.err
        [health] = mosaic("daemon", "status", "--json").objects
        host, port = health["address"].split()[1].split(":")
        assert "BEGIN CERTIFICATE" in ssl.get_server_certificate((host, int(port)))
    finally:
        mosaic("daemon", "stop")
        assert running_address(Home(tmp_path / "home")) is None
