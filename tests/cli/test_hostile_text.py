"""No text of a run steers the terminal of the person who looks at it: every verb, every field, every stream."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from hostile_text import BAD, EVIL, FAKE, harmful, plant_hostile
from processes import end_all_of

from mosaic.cli import VERBS
from mosaic.plain_text import json_text, plain
from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home, RunDir

from .conftest import Said


@pytest.fixture(scope="module")
def hostile(mosaic, tmp_path_factory) -> Generator[RunDir]:
    """A home with two such runs, and a daemon behind it."""
    assert mosaic("algos").code == 0
    home = Home(tmp_path_factory.mktemp("hostile"))
    home.create()
    planted = [plant_hostile(home), plant_hostile(home)][0]
    with pytest.MonkeyPatch.context() as patch, (home.root / "daemon.log").open("wb") as log:
        patch.setenv("MOSAIC_HOME", str(home.root))
        command = [sys.executable, "-m", "mosaic.trainer", "--no-warm"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 60
            while running_address(home) is None:
                assert time.monotonic() < deadline, "the daemon does not start"
                time.sleep(0.05)
            yield planted
        finally:
            process.terminate()
            process.wait(timeout=120)
            end_all_of(home.root)


WORDS: dict[str, list[list[str]]] = {
    "runs": [[], ["--json"], ["--state", "failed"], ["--text", BAD]],
    "logs": [["RUN"], ["RUN", "--stderr"], ["RUN", "--tail", "2"], ["RUN", "--follow"]],
    "metrics": [["RUN"], ["RUN", "--json"], ["RUN", "--csv"], ["RUN", "--tags", BAD]],
    "label": [["RUN", f"x{BAD}"], ["RUN", "--notes", BAD, "--json"]],
    "export": [["RUN", "OUT"], ["RUN", "OUT", "--json"], ["RUN", f"OUT/{BAD}/x"]],
    "policies": [[], ["--json"], ["--paths"], [BAD]],
    "episodes": [[], ["RUN"], ["--json"], ["--env-id", BAD]],
    "evaluate": [[BAD], ["OUT/none.cleanrl_model"]],
    "replay": [["RUN/1"], ["RUN/2"], [BAD]],
    "export-minari": [[BAD, BAD]],
    "track": [["RUN"], ["RUN", "--json"], [BAD]],
    "wandb": [["status", "RUN"], ["status", "RUN", "--json"], [BAD]],
    "scripts": [[], ["add", BAD], ["remove", BAD]],
    "import": [["DIR", "--dry-run"], [BAD], ["DIR"]],
    "train": [[BAD], ["--script", BAD], ["ppo", "--seed", BAD], ["ppo", f"--{BAD}"]],
    "publish": [[BAD], ["RUN", "--repo", BAD]],
    "daemon": [["status"], ["logs"], ["logs", "--json"], [BAD]],
    "tensorboard": [[BAD]],
    "play": [[BAD], ["--env-id", BAD, "--actor", BAD]],
    "match": [[BAD, BAD]],
    "compare": [[BAD]],
    "demo": [[f"--{BAD}"]],
    "gui": [[f"--{BAD}"]],
    "web": [[f"--{BAD}"], ["--port", BAD]],
    "algos": [[], [BAD]],
    "envs": [[BAD]],
    "actors": [[]],
    "doctor": [[f"--{BAD}"]],
    "completion": [["--", "mosaic", "show", ""], [BAD]],
    "reindex": [[f"--{BAD}"]],
    "version": [[]],
    "delete": [[BAD], ["RUN"]],
    "resume": [["RUN", "--from-step", "99"], [BAD]],
}
"""Every other verb gets a run, a run with --json, and a word that is none."""
ALWAYS = [["RUN"], ["RUN", "--json"], [BAD], ["RUN", "RUN"]]


@pytest.mark.parametrize("verb", [*(verb for verb in VERBS if verb != "delete"), "delete", BAD])
def test_no_verb_prints_what_a_terminal_would_carry_out(hostile, mosaic, tmp_path, verb):
    for number, words in enumerate(WORDS.get(verb, ALWAYS)):
        names = {"RUN": hostile.run_id, "OUT": str(tmp_path / str(number)), "DIR": str(hostile.root)}
        given = [names.get(word, word).replace("OUT/", f"{tmp_path}/") for word in words]
        # This verb becomes the server, so it is typed.
        said = typed(*given) if verb == "web" else mosaic(verb, *given)
        for text in (said.out, said.err):
            assert not harmful(text), (given, text)
            if "--csv" not in words:
                faked = [line for line in text.splitlines() if line.startswith(FAKE)]
                assert not faked or verb == "logs", (given, text)
        assert "Traceback" not in said.err, (given, said.err)
        if "--json" in words and said.code == 0:
            assert all(isinstance(json.loads(line), dict | list) for line in said.out.splitlines())


def typed(*words: str) -> Said:
    command = [Path(sys.executable).with_name("mosaic"), "web", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return Said(done.returncode, done.stdout, done.stderr)


def test_a_terminal_gets_our_own_colours_and_nothing_else(hostile):
    """In a real terminal, where colours, cursor moves and redrawn lines are on."""
    for words in (["runs"], ["show", hostile.run_id], ["logs", hostile.run_id], ["follow", hostile.run_id]):
        text = in_terminal(*words)
        ours = text.replace("\r\n", "\n")
        ours = re.sub(r"\x1b\[(?:\d+m|2K|J|G|\d+A)", "", ours)
        assert not harmful(ours), (words, ours)
        assert "\x1b[31mred" not in text
        assert "\x1b[" in text or words[0] == "logs"


def in_terminal(*words: str) -> str:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    command = [Path(sys.executable).parent / "mosaic", *words]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    try:
        while select.select([ours], [], [], 60)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:  # The other end is closed: it has ended.
                break
            if not data:
                break
            said += data
        assert process.wait(timeout=60) is not None
    finally:
        os.close(ours)
        process.kill()
    return said.decode()


def test_raw_logs_are_the_bytes_that_were_written(hostile):
    command = [Path(sys.executable).parent / "mosaic", "logs", "--raw", hostile.run_id]
    assert subprocess.run(command, capture_output=True, check=True).stdout == hostile.stdout.read_bytes()


def test_nothing_of_a_log_is_hidden(hostile, mosaic):
    """What was written over by a carriage return is there, and an escape character is shown."""
    said = mosaic("logs", hostile.run_id).out
    assert "progress 1%\nprogress 2%\n" in said
    assert "\\x1b]0;title\\x07" in said
    assert "red" in said
    assert "[31m" not in said.replace("\\x9b31m", "")


def test_json_keeps_every_letter(hostile, mosaic):
    [shown] = mosaic("show", "--json", hostile.run_id).objects
    assert shown["env_id"] == EVIL
    assert json.loads(json_text({"text": EVIL})) == {"text": EVIL}


def test_letters_of_all_languages_and_emoji_stay():
    for text in ("Grüße", "日本語", "نص عربي", "می\u200cخواهم", "👩\u200d🔬", "a\tb\nc", "→ ✓ █"):
        assert plain(text) == text
