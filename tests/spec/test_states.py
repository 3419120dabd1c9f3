"""The states of a run: which moves there are, and that an end is an end."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.errors import InvalidTransition
from mosaic.spec.states import LIVE, TERMINAL, RunState, can_move, move

# Rows are where a run is, columns where it may go; docs/protocols/states.md draws the same.
TABLE = """
             queued starting running paused stopping finished failed cancelled lost
queued       .      x        .       .      .        .        x      x         .
starting     .      .        x       .      x        x        x      x         x
running      .      .        .       x      x        x        x      x         x
paused       x      .        x       .      x        x        x      x         x
stopping     .      .        .       .      .        x        x      x         x
finished     .      .        .       .      .        .        .      .         .
failed       .      .        .       .      .        .        .      .         .
cancelled    .      .        .       .      .        .        .      .         .
lost         .      .        .       .      .        .        .      .         .
"""


def allowed() -> set[tuple[RunState, RunState]]:
    columns, *rows = (line.split() for line in TABLE.strip().splitlines())
    return {
        (RunState(current), RunState(wanted))
        for current, *marks in rows
        for wanted, mark in zip(columns, marks, strict=True)
        if mark == "x"
    }


ALLOWED = allowed()


@pytest.mark.parametrize(("current", "wanted"), list(product(RunState, RunState)))
def test_every_pair_of_states_moves_as_the_table_says(current: RunState, wanted: RunState) -> None:
    assert can_move(current, wanted) is ((current, wanted) in ALLOWED)
    if can_move(current, wanted):
        assert move(current, wanted, run_id="R") is wanted
    else:
        with pytest.raises(InvalidTransition, match=f"run R .*{current}.*{wanted}"):
            move(current, wanted, run_id="R")


def test_the_states_are_words() -> None:
    assert [str(state) for state in RunState] == [state.value for state in RunState]
    assert RunState("running") is RunState.RUNNING


def test_every_state_is_queued_live_or_terminal() -> None:
    assert {RunState.QUEUED} | LIVE | TERMINAL == set(RunState)
    assert not LIVE & TERMINAL


def test_every_state_that_is_not_terminal_can_end() -> None:
    for state in set(RunState) - TERMINAL:
        assert any(can_move(state, end) for end in TERMINAL)


@given(st.lists(st.sampled_from(list(RunState)), max_size=30))
def test_a_terminal_state_is_written_once_and_never_changes(wishes: list[RunState]) -> None:
    state, history = RunState.QUEUED, [RunState.QUEUED]
    for wanted in wishes:
        if can_move(state, wanted):
            state = move(state, wanted, run_id="R")
            history.append(state)
        else:
            with pytest.raises(InvalidTransition):
                move(state, wanted, run_id="R")
    assert sum(state in TERMINAL for state in history) <= 1
    assert not TERMINAL & set(history[:-1])


def test_a_move_from_a_terminal_state_says_that_the_run_ended() -> None:
    with pytest.raises(InvalidTransition, match="run R already ended as failed; it cannot become running"):
        move(RunState.FAILED, RunState.RUNNING, run_id="R")
