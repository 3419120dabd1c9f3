"""What a queued run is said to wait for."""

from mosaic.spec.queue_place import about, in_order, seconds_left, why_queued
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState


def a_run(name: str, state: RunState, **fields: object) -> RunRecord:
    return RunRecord(run_id=name, state=state, **fields)  # pyright: ignore[reportArgumentType]


QUEUED, RUNNING = RunState.QUEUED, RunState.RUNNING
KNOWN = [
    a_run("A", RUNNING, total_timesteps=1000, global_step=400, steps_per_s=10.0),
    a_run("B", RUNNING, total_timesteps=1000, global_step=760, steps_per_s=1.0),
    a_run("C", QUEUED),
    a_run("D", QUEUED),
    a_run("E", QUEUED, priority=3),
    a_run("F", QUEUED, kind="play"),
    a_run("G", RunState.FINISHED),
]


def test_the_queue_is_in_the_order_in_which_the_daemon_starts_it() -> None:
    assert in_order(KNOWN) == ["E", "C", "D"]


def test_a_queued_run_is_said_to_wait_for_slots_its_place_and_the_next_end() -> None:
    order, left = in_order(KNOWN), seconds_left(KNOWN)
    assert left == [60.0, 240.0]
    said = [why_queued(name, order, left, slots=2, used=2) for name in "ECDA"]
    assert said == [
        "2 of 2 slots used, position 1, about 1 min",
        "2 of 2 slots used, position 2, about 4 min",
        "2 of 2 slots used, position 3",
        "",
    ]
    assert why_queued("D", order, [None], slots=0, used=0) == "position 3"


def test_an_estimate_is_as_rough_as_it_is() -> None:
    assert [about(seconds) for seconds in (5, 250, 5300, 9000)] == [
        "under a minute",
        "about 4 min",
        "about 88 min",
        "about 2 h",
    ]
