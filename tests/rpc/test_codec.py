"""Records and messages: what one says the other says."""

from dataclasses import fields, replace

from hypothesis import given, strategies

from mosaic.rpc.codec import to_message, to_record
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

ONLY_FOR_THE_DAEMON = {"cpus", "gpus", "client_key", "resume_from", "cancel_asked", "gpu_ids"}


def full_record() -> RunRecord:
    return RunRecord(
        run_id="01K9CG05J5Y0FFQMT1T920EZK2",
        state=RunState.RUNNING,
        reason="because",
        label="läbel",
        seed=2**32 - 1,
        priority=-3,
        exit_code=-9,
        stderr_tail=("a", "b"),
        total_timesteps=2**40,
        global_step=2**39,
        steps_per_s=1000.0,
        last_return=-1.5,
        best_return=0.0,
        sparkline=(1.0, 2.5),
        last_seq=7,
        revision=2**50,
        attempt=2,
        pid=123,
    )


def test_a_record_survives_the_wire():
    record = full_record()
    again = to_record(to_message(record))
    for field in fields(RunRecord):
        if field.name not in ONLY_FOR_THE_DAEMON:
            assert getattr(again, field.name) == getattr(record, field.name), field.name


def test_what_is_absent_stays_absent():
    again = to_record(to_message(replace(full_record(), last_return=None, best_return=None, exit_code=None)))
    assert (again.last_return, again.best_return, again.exit_code) == (None, None, None)


@given(state=strategies.sampled_from(list(RunState)), label=strategies.text(strategies.characters(codec="utf-8")))
def test_any_state_and_label_survive(state, label):
    again = to_record(to_message(replace(full_record(), state=state, label=label)))
    assert (again.state, again.label) == (state, label)
