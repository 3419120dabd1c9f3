"""The terminal shows upstream's lines; its loss, or that of the log's disk, is not a reason to end a run."""

import io
import os
import sys
import threading
from pathlib import Path
from typing import TextIO, cast

import pytest

from cleanrl_worker.sdk.record.console import Console
from cleanrl_worker.sdk.record.log_copy import _Tee, logged_to
from mosaic.spec.events import (
    CheckpointSaved,
    Episode,
    EvalBatch,
    Event,
    EventBody,
    Heartbeat,
    PolicySaved,
    RunStarted,
    Scalars,
    Warned,
)
from mosaic.spec.run_dir import RunDir

EPISODE = Episode(global_step=512, slot=0, episodic_return=21.0, episodic_length=21)
SCALARS = Scalars(global_step=512, values={"losses/td_loss": 0.5, "charts/SPS": 1234.0})


def printed(body: EventBody, capsys: pytest.CaptureFixture[str], *, quiet: bool = False) -> str:
    console = Console(quiet=quiet)
    console.write([Event(1, 0.0, body)])
    console.close()
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (EPISODE, "global_step=512, episodic_return=21.0\n"),
        (SCALARS, "SPS: 1234\n"),
        (PolicySaved(global_step=1, path="runs/x/ppo.cleanrl_model"), "model saved to runs/x/ppo.cleanrl_model\n"),
        (Scalars(global_step=3, values={"eval/episodic_return": 9.0}), "eval_episode=3, episodic_return=9.0\n"),
        (
            CheckpointSaved(global_step=5, path="checkpoints/step-5", reason="end"),
            "checkpoint saved to checkpoints/step-5\n",
        ),
        (
            RunStarted(algo="ppo", env_id="x", seed=1, total_timesteps=9, attempt=2, resumed_from_step=5),
            "resumed from global_step=5\n",
        ),
        (
            EvalBatch(batch=2, episodes=50, mean=100.0, std=0.0, minimum=1.0, maximum=2.0, duration_s=1.0),
            "eval batch 2 | episodes=50 avg=100.0 min=1.0 max=2.0\n",
        ),
        (Warned(message="look out"), "warning: look out\n"),
        (Heartbeat(global_step=1, steps_per_s=1.0), ""),
        (RunStarted(algo="ppo", env_id="x", seed=1, total_timesteps=9), ""),
    ],
    ids=lambda value: value.kind if hasattr(value, "kind") else "",
)
def test_the_lines_are_upstreams(body: EventBody, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(body, capsys) == line


def test_a_quiet_console_leaves_out_what_comes_with_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(EPISODE, capsys, quiet=True) + printed(SCALARS, capsys, quiet=True) == ""
    assert printed(Warned(message="look out"), capsys, quiet=True) == "warning: look out\n"


def test_a_terminal_that_stands_still_holds_no_run_up(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()

    class Still(io.StringIO):
        def write(self, text: str) -> int:
            assert goes_on.wait(300)
            return super().write(text)

    monkeypatch.setattr(sys, "stdout", still := Still())
    console = Console()
    for _ in range(1000):
        console.write([Event(1, 0.0, EPISODE)])
    assert still.getvalue() == ""
    goes_on.set()
    console.close()
    assert still.getvalue().count("episodic_return=21.0") == 1000


def test_a_terminal_that_breaks_is_reported_at_the_next_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(sys, "stdout", Broken())
    console = Console()
    console.write([Event(1, 0.0, EPISODE)])
    console._thread.join(120)
    with pytest.raises(BrokenPipeError):
        console.write([Event(2, 0.0, EPISODE)])
    console.close()


def test_both_streams_are_copied_and_put_back(run_dir: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    run_dir.create()
    before = sys.stdout, sys.stderr
    with logged_to(run_dir):
        sys.stdout.write("out\n")
        sys.stderr.write("err\n")
    assert (sys.stdout, sys.stderr) == before
    assert (run_dir.stdout.read_text(), run_dir.stderr.read_text()) == ("out\n", "err\n")
    assert capsys.readouterr() == ("out\n", "err\n")


def test_a_closed_pipe_leaves_the_copy_going(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream, (tmp_path / "log").open("w") as copy:
        tee = _Tee(stream, copy)
        for line in ("one\n", "two\n"):
            tee.write(line)
            tee.flush()
        assert os.path.samestat(os.fstat(stream.fileno()), Path(os.devnull).stat())
    text = (tmp_path / "log").read_text()
    assert text.startswith("one\n")
    assert text.endswith("two\n")
    assert "was closed; this log goes on" in text


def test_a_full_disk_leaves_the_terminal_going() -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    stream = io.StringIO()
    tee = _Tee(stream, cast(TextIO, Full()))
    tee.write("one\n")
    tee.write("two\n")
    said = "this log gets no further copy in the run directory: [Errno 28] No space left on device\n"
    assert stream.getvalue() == f"{said}one\ntwo\n"
