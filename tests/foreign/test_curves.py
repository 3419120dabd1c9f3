"""Around a script that works on this Gymnasium, nothing changes: the curve is that of the plain run."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

HERE = Path(__file__).parent


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Every scalar of TensorBoard's files but those that tell the time."""
    found: dict[str, list[tuple[int, float]]] = {}
    for file in sorted(folder.rglob("events.out.tfevents.*")):
        board = EventAccumulator(str(file), size_guidance={"scalars": 0})
        board.Reload()
        for tag in board.Tags()["scalars"]:
            if not tag.startswith("time/"):
                found.setdefault(tag, []).extend((one.step, one.value) for one in board.Scalars(tag))
    return found


@pytest.mark.parametrize("name", ["manners/plain.py", "more/today.py"])
def test_the_curve_is_that_of_the_plain_run(studio: Any, tmp_path: Path, name: str) -> None:
    run = studio.submit(name)
    plain = subprocess.run(
        [sys.executable, str(HERE / name)],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert plain.returncode == 0, plain.stderr.decode()
    run = studio.ended(run)
    assert run.state == "finished", (run.reason, run.stderr_tail)
    expected = curves(tmp_path)
    assert sum(map(len, expected.values())) > 20
    assert curves(Path(run.run_dir) / "work") == expected
    # What the record has is what the files have.
    recorded = [
        (event["global_step"], tag, value)
        for event in studio.events(run)
        if event["kind"] == "scalars"
        for tag, value in event["values"].items()
    ]
    for tag in set(expected) - {"charts/episodic_return", "charts/episodic_length"}:
        values = [(step, value) for step, found, value in recorded if found == tag]
        assert values == [(step, pytest.approx(value)) for step, value in expected[tag]]
