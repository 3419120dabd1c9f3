"""An error that comes at every look is logged now and then, with how often it came."""

import json

import pytest

from mosaic import log
from mosaic.trainer.machine.repeated_errors import INTERVAL_S, RepeatedErrors

TICK_S = 0.2


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def lines(tmp_path):
    """What was logged."""
    log.configure(file=tmp_path / "log")
    yield lambda: [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    log.configure()


def test_the_same_error_at_every_tick_of_ten_minutes_is_twenty_lines(lines):
    clock = Clock()
    complaints = RepeatedErrors(clock)
    ticks = round(600 / TICK_S)
    for tick in range(ticks):
        clock.now = 1000.0 + tick * TICK_S
        complaints.tell("supervisor.tick", OSError(28, "No space left on device"), run_id="R")
    lines = lines()
    assert len(lines) == 600 / INTERVAL_S == 20
    assert sum(line.get("repeated", 0) + 1 for line in lines) + round(INTERVAL_S / TICK_S) - 1 == ticks
    assert all(line["run_id"] == "R" for line in lines)


@pytest.mark.parametrize(
    "other", [("supervisor.run", "a", "R"), ("supervisor.tick", "b", "R"), ("supervisor.tick", "a", "S")]
)
def test_another_error_event_or_run_is_told_at_once(lines, other):
    complaints = RepeatedErrors(Clock())
    event, message, run_id = other
    complaints.tell("supervisor.tick", OSError("a"), run_id="R")
    complaints.tell(event, OSError(message), run_id=run_id)
    assert len(lines()) == 2


def test_errors_that_do_not_come_back_are_forgotten(lines):
    clock = Clock()
    complaints = RepeatedErrors(clock)
    for number in range(1000):
        clock.now += INTERVAL_S
        complaints.tell("supervisor.tick", OSError(str(number)))
    assert len(complaints._told) <= 3
