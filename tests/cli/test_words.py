"""The pure parts: lines that fit, numbers for users, seeds, completion."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mosaic.cli import VERBS, completion
from mosaic.cli.runs.progress_line import line_of, summary_of
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.flag_names import as_flags
from mosaic.cli.terminal.plain_output import ESC
from mosaic.cli.terminal.printing import clean, fit, table, width_of
from mosaic.cli.train.train import seeds_of
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

RUN = RunRecord(
    run_id="01M7FHQSYWX90EQVV8XYM8P8GC",
    state=RunState.RUNNING,
    label="ppo",
    global_step=123_456_789,
    total_timesteps=500_000_000,
    steps_per_s=25_000.0,
    last_return=-1234.5,
    sparkline=tuple(float(value) for value in range(48)),
)


@pytest.mark.parametrize("width", range(12, 200, 7))
@pytest.mark.parametrize("state", RunState)
def test_a_progress_line_fits(width, state):
    run = replace(RUN, state=state, reason="a long reason " * 20, started_at=1.0, ended_at=99.0)
    for record in (run, replace(run, total_timesteps=0), replace(run, sparkline=(), last_return=None)):
        assert width_of(line_of(record, width)) <= width
        assert width_of(line_of(record, width, "seed 1")) <= width


def test_a_wide_progress_line_shows_everything():
    line = line_of(RUN, 119)
    for part in ("25%", "━", "123,456,789 / 500M", "25,000/s", "return -1234.5", "█", "left"):
        assert part in line


def test_the_days_between_two_attempts_are_no_training_time():
    ended = replace(RUN, state=RunState.FINISHED, started_at=1.0, ended_at=200_000.0)
    assert " in 2 d " in summary_of(replace(ended, attempt=1))
    assert " in 2 attempts, " in summary_of(replace(ended, attempt=2))


def test_widths_of_wide_and_combining_letters():
    assert width_of("日本") == 4
    assert width_of("e\u0301") == 1
    assert width_of(f"{ESC}[31mred{ESC}[0m") == 3
    assert fit("日本語", 5) == "日本…"
    assert clean("a\x1b[31m\nb") == "a [31m b"


def test_a_table_aligns_and_gives_way(monkeypatch):
    lines = table(("name", "steps"), [("a", "1"), ("日本", "1,000")], right=("steps",))
    assert [width_of(line) for line in lines] == [11, 11, 11]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.5, "0.5 s"), (42, "42 s"), (187, "3:07"), (7387, "2:03:07"), (273600, "3 d 04 h")]
)
def test_durations(seconds, text):
    assert readable.duration(seconds) == text


def test_seeds():
    assert seeds_of("") == []
    assert seeds_of("1-3, 7") == [1, 2, 3, 7]
    assert seeds_of("4294967295") == [2**32 - 1]


def test_completion_of_verbs_algorithms_flags_and_runs(mosaic, finished):
    assert completion.candidates(["trai"]) == ["train"]
    assert completion.candidates(["train", "ppo_c"]) == ["ppo_continuous_action"]
    assert "--learning-rate" in completion.candidates(["train", "ppo", "--le"])
    assert "--seeds" in completion.candidates(["train", "ppo", "--seed"])
    assert "CartPole-v1" in completion.candidates(["train", "ppo", "--env-id", "Cart"])
    assert finished in completion.candidates(["show", finished[:20]])
    assert completion.candidates(["show", "@"]) == ["@last"]
    assert completion.candidates(["daemon", "sta"]) == ["start", "status"]
    assert completion.candidates(["train", "nope", "--see"]) == ["--seeds"]
    assert mosaic("completion", "words", "--", "vers").out == "version\n"


@pytest.mark.parametrize("shell", completion.SCRIPTS)
def test_completion_scripts_are_valid(mosaic, shell):
    script = mosaic("completion", shell).out
    assert "mosaic completion words" in script
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True, check=False).returncode == 0


def test_bash_completes_through_the_script(mosaic):
    script = mosaic("completion", "bash").out
    ask = "mosaic() { echo train; }; "
    probe = script + ask + "COMP_WORDS=(mosaic tra); COMP_CWORD=1; _mosaic; echo ${COMPREPLY[0]}"
    assert subprocess.run(["bash", "-c", probe], capture_output=True, text=True, check=True).stdout == "train\n"


OTHER_PROGRAMS = ("gui", "web")
"""Verbs that become a program of their own, or start one: their help is its help."""


def test_every_verb_has_help(mosaic):
    for verb in VERBS:
        if verb not in OTHER_PROGRAMS:
            said = mosaic(verb, "--help")
            assert said.code == 0, verb
            assert "usage: mosaic" in said.out
    for verb in OTHER_PROGRAMS:
        command = [Path(sys.executable).with_name("mosaic"), verb, "--help"]
        assert "usage: mosaic" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert all(verb in mosaic("--help").out for verb in VERBS)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("run config: metadata.worker.config.algo: a.py lies in no folder", "run config: a.py lies in no folder"),
        ("run config: resources.gpus: 64 asked for", "run config: --gpus: 64 asked for"),
        ("run config: environment.settings.gravity: must be", "run config: --env.gravity: must be"),
        (
            "run config: 2 problems\n  metadata.worker.config.env_id: no\n"
            "  metadata.worker.config.extras.algo_params.gae_lambda: no",
            "run config: 2 problems\n  --env-id: no\n  --gae-lambda: no",
        ),
        ("run config: metadata.worker.config.extras.algo_params.script_flags: --key: is", "run config: --key: is"),
        ("run config: metadata.ui.preset: no", "run config: metadata.ui.preset: no"),
        ("the field resources.cpus: of a text", "the field resources.cpus: of a text"),
    ],
)
def test_what_the_daemon_says_of_a_config_names_flags(said, shown):
    assert as_flags(said) == shown
