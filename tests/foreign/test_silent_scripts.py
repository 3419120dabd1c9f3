"""A script that steps Gymnasium environments and logs nothing has steps, progress, episodes and returns."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic.rpc.client import Refused

COUNTED = Path(__file__).parent / "counted.py"


@pytest.mark.parametrize(
    ("name", "words", "steps", "lengths"),
    [
        ("silent_loop.py", (), 900, None),
        ("silent_words.py", ("3",), 600, [200, 200, 200]),
        ("silent_sb3.py", (), 512, None),
    ],
)
def test_a_script_that_logs_nothing_has_steps_and_returns(
    studio: Any, name: str, words: tuple[str, ...], steps: int, lengths: list[int] | None
) -> None:
    run = studio.ended(studio.submit(f"more/{name}", *words))
    assert run.state == "finished", (run.reason, run.stderr_tail)
    assert run.global_step == steps
    assert run.done == 1.0
    episodes = [event for event in studio.events(run) if event["kind"] == "episode"]
    assert len(episodes) >= 3
    assert run.last_return is not None
    if lengths is None:
        # CartPole gives 1 for each step.
        assert all(one["episodic_return"] == one["episodic_length"] for one in episodes)
        assert sum(one["episodic_length"] for one in episodes) <= steps
    else:
        assert [one["episodic_length"] for one in episodes] == lengths
        assert all(one["episodic_return"] < 0 for one in episodes)
    assert [one["global_step"] for one in episodes] == sorted(one["global_step"] for one in episodes)


def test_a_return_in_another_spelling_is_the_runs_return(studio: Any) -> None:
    run = studio.ended(studio.submit("more/spelled.py"))
    assert run.state == "finished", (run.reason, run.stderr_tail)
    assert run.last_return == pytest.approx(30.0)
    assert run.done == 1.0


def test_steps_are_those_of_the_outermost_wrapper_and_returns_those_of_the_environment() -> None:
    """In a process of its own: the classes of Gymnasium are changed."""
    done = subprocess.run([sys.executable, str(COUNTED)], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "all counted\n"), done.stderr


def test_what_ran_before_numpy_2_and_gymnasium_runs(studio: Any) -> None:
    run = studio.ended(studio.submit("more/yesterday.py"))
    assert run.state == "finished", (run.reason, run.stderr_tail)
    assert "all of it ran" in studio.home.run(run.run_id).stdout.read_text()


def test_a_relative_import_names_the_module_to_run(studio: Any) -> None:
    run = studio.ended(studio.submit("faults/package/relative.py"))
    assert run.state == "failed"
    assert "mosaic train --module package.relative" in run.reason, run.reason


def test_all_missing_packages_are_named_at_once(studio: Any) -> None:
    wanted = "install no_such_package_one cv2_that_is_not_there no_such_package_two"
    with pytest.raises(Refused, match=wanted):
        studio.submit("faults/missing_several.py")
