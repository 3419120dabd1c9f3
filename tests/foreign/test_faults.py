"""Scripts that misbehave: the run fails with the reason and the last lines, and nothing else is touched."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from mosaic.rpc.client import Refused


@pytest.mark.parametrize(
    ("name", "reason", "tail"),
    [
        ("import_crash.py", r"KeyError: 'nothing' \(import_crash.py, line 5\)", "KeyError: 'nothing'"),
        ("missing_package.py", r"no_such_package_at_all.*line 7.* install no_such_package_at_all", "ModuleNotFound"),
        ("exits.py", r"ended itself with exit code 3", "about to leave"),
    ],
)
def test_a_script_that_crashes_says_where_and_why(studio: Any, name: str, reason: str, tail: str) -> None:
    run = studio.ended(studio.submit(f"faults/{name}"))
    assert run.state == "failed"
    assert re.search(reason, run.reason), run.reason
    assert any(tail in line for line in run.stderr_tail)
    assert not any("cleanrl_worker" in line for line in run.stderr_tail), run.stderr_tail


def test_a_syntax_error_is_refused_with_its_line_before_anything_is_made(studio: Any) -> None:
    document = studio.document("faults/exits.py")
    broken = studio.own / "broken.py"
    broken.write_text("import gymnasium\n\ndef broken(:\n    pass\n")
    document["metadata"]["worker"]["config"]["algo"] = str(broken)
    before = len(studio.client.list())
    with pytest.raises(Refused, match=r"line 3: invalid syntax"):
        studio.client.submit(document)
    assert len(studio.client.list()) == before


def test_a_script_that_begins_with_a_missing_package_is_refused_with_what_to_type(studio: Any) -> None:
    document = studio.document("faults/exits.py")
    lacking = studio.own / "lacking.py"
    lacking.write_text("import gymnasium\nimport no_such_package_at_all\n")
    document["metadata"]["worker"]["config"]["algo"] = str(lacking)
    before = len(studio.client.list())
    with pytest.raises(
        Refused, match=r"lacking.py needs no_such_package_at_all, .* install no_such_package_at_all"
    ) as no:
        studio.client.submit(document)
    assert no.value.exit_code == 3
    assert len(studio.client.list()) == before


def test_a_script_of_no_allowed_folder_is_refused_with_what_to_type(studio: Any, tmp_path: Path) -> None:
    elsewhere = tmp_path / "mine.py"
    elsewhere.write_text("import gymnasium\n")
    document = studio.document("faults/exits.py")
    document["metadata"]["worker"]["config"]["algo"] = str(elsewhere)
    with pytest.raises(Refused, match=f"mosaic scripts add {tmp_path}"):
        studio.client.submit(document)


@pytest.mark.parametrize("how", ["python", "torch", "shell", "record"])
def test_a_script_writes_nowhere_but_into_its_own_folder(studio: Any, how: str) -> None:
    run = studio.ended(studio.submit("faults/writes_outside.py", "--target", str(studio.outside), "--how", how))
    assert run.state == "failed"
    assert list(studio.outside.iterdir()) == []
    assert (Path(run.run_dir) / "work" / "mine.txt").read_text() == "allowed"
    if how in ("python", "record"):
        assert "it may write into its working directory only" in run.reason
    assert [event["seq"] for event in studio.events(run)] == list(range(1, len(studio.events(run)) + 1))


def test_a_script_that_prints_without_end_is_ended_and_its_log_cut(studio: Any) -> None:
    run = studio.ended(studio.submit("faults/prints.py"))
    assert run.state == "failed"
    assert "printed more than 64 MiB" in run.reason
    assert "a dull log" in run.stderr_tail[0]
    log = studio.home.run(run.run_id).stdout
    assert log.stat().st_size < 2 * 2**20
    assert b"[cut here: too much output]" in log.read_bytes()


def test_what_a_script_forks_keeps_no_record_and_ends_with_it(studio: Any) -> None:
    run = studio.ended(studio.submit("faults/forks.py"))
    assert run.state == "finished", run.reason
    tags = {tag for event in studio.events(run) if event["kind"] == "scalars" for tag in event["values"]}
    assert tags == {"charts/parent"}
    assert [event["seq"] for event in studio.events(run)] == list(range(1, len(studio.events(run)) + 1))
    work = str(Path(run.run_dir) / "work")
    assert [one for one in psutil.process_iter() if _cwd(one) == work] == []


def test_a_script_that_never_ends_saves_when_it_is_told_to_end(studio: Any, eventually: Callable[..., Any]) -> None:
    run = studio.submit("faults/never_ends.py")
    eventually(lambda: studio.client.get(run.run_id).global_step > 0)
    studio.client.pause(run.run_id)
    held = eventually(lambda: _stands_still(studio, run.run_id))
    studio.client.go_on(run.run_id)
    eventually(lambda: studio.client.get(run.run_id).global_step > held)
    studio.client.cancel(run.run_id)
    run = studio.ended(run)
    assert (run.state, run.reason) == ("cancelled", "ended by the user")
    assert "saved before the end" in studio.home.run(run.run_id).stdout.read_text()


def test_a_script_that_will_not_end_is_killed(studio: Any, eventually: Callable[..., Any]) -> None:
    run = studio.submit("faults/never_ends.py", "--stubborn")
    eventually(lambda: studio.client.get(run.run_id).global_step > 0)
    studio.client.cancel(run.run_id)
    assert "killed after it did not end by itself" in studio.ended(run).reason


def _stands_still(studio: Any, run_id: str) -> int:
    """The step at which a run is held; 0 while it moves. Heartbeats go on: the last three tell the same step."""
    beats = [event for event in studio.events(studio.client.get(run_id)) if event["kind"] == "run.heartbeat"][-3:]
    steps = {event["global_step"] for event in beats}
    return steps.pop() if len(beats) == 3 and len(steps) == 1 else 0


def _cwd(process: psutil.Process) -> str:
    try:
        return process.cwd()
    except (psutil.Error, OSError):
        return ""


def test_an_episode_is_one_however_long_the_process_stood_still_within_it(studio: Any) -> None:
    run = studio.ended(studio.submit("faults/held_up.py"))
    assert (run.state, run.reason) == ("finished", "")
    episodes = [event for event in studio.events(run) if event["kind"] == "episode"]
    assert [(one["episodic_return"], one["episodic_length"]) for one in episodes] == [(7.0, 5)]
