"""`mosaic scripts` and `mosaic train --script`: allowed once, run with their own flags, refused with what to type."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "foreign"
PPO = FOLDER / "checkout" / "cleanrl" / "dqn.py"


@pytest.fixture
def allowed(mosaic: Callable[..., Any]) -> Any:
    said = mosaic("scripts", "add", str(FOLDER / "checkout"))
    assert said.code == 0, said.err
    assert "1 of them" in said.out
    yield
    assert mosaic("scripts", "remove", str(FOLDER / "checkout")).code == 0


def test_a_script_is_refused_until_its_folder_is_allowed(mosaic: Callable[..., Any]) -> None:
    said = mosaic("train", "--script", str(PPO), "--", "--total-timesteps", "150")
    assert said.code == 2
    assert f"mosaic scripts add {PPO.parent}" in said.err


def test_a_module_of_an_allowed_folder_trains(mosaic: Callable[..., Any], allowed: None) -> None:
    listed = mosaic("scripts", "--json").objects
    assert [(one["path"], one["flags"], one["gymnasium"]) for one in listed] == [(str(PPO), "tyro", "0.29")]
    words = ("--total-timesteps", "150", "--learning-starts", "100")
    said = mosaic("train", "--module", "cleanrl.dqn", "--label", "by module", "--follow", "--json", "--", *words)
    assert said.code == 0, said.err
    last = said.objects[-1]
    assert (last["state"], last["algo"], last["total_timesteps"]) == ("finished", "dqn.py", 150)
    shown = mosaic("show", last["run_id"]).out
    assert "mosaic metrics" in shown
    assert "mosaic evaluate" not in shown  # it was not asked to save a model


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--script", str(PPO), "--capture-video"), "stands behind '--'"),
        (("--script", str(PPO), "--module", "cleanrl.dqn"), "give one of them"),
        (("--script", "/no/such/script.py"), "cannot be read"),
        (("--script", "script.txt"), "is not a Python file"),
        (("--module", "no.such"), "is in none of"),
        (("--script", str(PPO), "--script-idioms", "0.21"), "not one of auto, 0.29, 1.x"),
    ],
)
def test_what_makes_no_sense_is_refused(mosaic: Callable[..., Any], words: tuple[str, ...], reason: str) -> None:
    said = mosaic("train", *words)
    assert said.code == 2
    assert reason in said.err
